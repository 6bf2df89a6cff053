"""A loop that gets no memory for its buffers raises MemoryError, and runs when there is some again."""

import subprocess
import sys

import pytest

pytest.importorskip("resource")

PROGRAM = """
import resource
import sys
import tensorlab as T

T.set_num_threads(1)
call, more = eval(sys.argv[1]), int(sys.argv[2])
x = T.ones(4_000_000, 2)                    # 32 MB
call(x[:4000])
T.empty_cache()
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
limits = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (more << 20), limits[1]))
try:
    call(x)
except MemoryError as error:
    print("refused:", error)
resource.setrlimit(resource.RLIMIT_AS, limits)
print(call(x[:4000]).shape[0])
"""
CALLS = {  # the call, the MB that it may take: enough for the result, not for the buffers; what it says
    "a scan": ("lambda x: x.cumsum(0)", 45, "not enough memory for the buffers of slices"),
    "a sort": ("lambda x: x.sort(0)[0]", 120, ""),
    "softmax": ("lambda x: x.softmax(0)", 45, "not enough memory for the buffers of slices"),
    "a convolution": (
        "lambda x: T.conv1d(x[:8192].t(), T.ones(1, 2, min(len(x), 8192) // 4))",
        30,
        "conv: no memory for the patches",
    ),
    "the padded planes of a convolution by channels": (
        "lambda x: T.conv1d(x[:2000000].reshape(2, -1), T.ones(2, 1, 3), groups=2)",
        20,
        "conv: no memory for the patches",
    ),
    "the places of a convolution": (
        "lambda x: T.conv1d(x.reshape(2, -1), T.ones(8, 2, 3))",
        160,
        "conv: no memory for the panels",
    ),
    "the filters of a convolution": (
        "lambda x: T.conv1d(x[:1024].t(), T.ones(len(x) // 1000, 2, 512))",
        30,
        "conv: no memory for the panels",
    ),
    "the padded copy of a convolution": (
        "lambda x: T.conv1d(x.reshape(1, -1, 100), T.ones(4, x.numel() // 100, 3))",
        25,
        "conv: no memory for the panels",
    ),
}


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="reads /proc and limits the address space"
)
@pytest.mark.parametrize("name", CALLS)
def test_a_loop_without_memory_for_its_buffers_raises(name):
    call, more, text = CALLS[name]
    command = [sys.executable, "-c", PROGRAM, call, str(more)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    first, second = ran.stdout.splitlines()
    assert first.startswith(f"refused: {text}")
    assert int(second) > 0
