"""Another thread may rewrite an index or a mask while an op runs: the process must live."""

import subprocess
import sys

import pytest

import tensorlab as T
from tests.ops.racing_indices import BY_INDEX, BY_MASK

NAMES = [*(f"index: {name}" for name in BY_INDEX), *(f"mask: {name}" for name in BY_MASK)]
SOME = 10  # share a process: it takes longer to start than to race


@pytest.mark.parametrize("seconds", ["0.1", pytest.param("0.5", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("first", range(0, len(NAMES), SOME))
def test_an_index_rewritten_by_another_thread_does_not_end_the_process(first, seconds):
    names = NAMES[first : first + SOME]
    command = [sys.executable, "-m", "tests.ops.racing_indices", seconds, *names]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    done = [line.rpartition(": returned")[0] for line in ran.stdout.splitlines()[: len(names)]]
    assert ran.returncode == 0, (
        f"the process ended with {ran.returncode} in {names[len(done) : len(done) + 1]}\n{ran.stderr}"
    )
    assert done == names
    assert ran.stdout.endswith("done\n")


def test_a_bad_index_still_changes_nothing():
    x, index = T.zeros(100), T.zeros(20000, dtype=T.int64)
    index[-1] = 100
    for write in (
        lambda: x.scatter_(0, index, T.ones(20000)),
        lambda: x.scatter_add_(0, index, T.ones(20000)),
        lambda: x.scatter_reduce_(0, index, T.ones(20000), "amax"),
        lambda: x.index_add_(0, index, T.ones(20000)),
        lambda: x.index_copy_(0, index, T.ones(20000)),
        lambda: x.index_put_((index,), T.ones(20000), accumulate=True),
    ):
        with pytest.raises((IndexError, RuntimeError), match="index 100 is out of range"):
            write()
        assert not x.any()


@pytest.mark.parametrize("n", [*range(20), 63, 64, 65, 200])
def test_nonzero_finds_all(n):
    T.manual_seed(n)
    for share in (0.0, 0.05, 0.5, 1.0):
        mask = T.rand(n) < share
        assert mask.nonzero().flatten().tolist() == [i for i in range(n) if mask[i]]
