"""Ctrl-C ends a call that would take long, soon and with a KeyboardInterrupt."""

import os
import signal
import subprocess
import sys
import time

import pytest

PROGRAM = """
import signal, sys, tensorlab
signal.signal(signal.SIGINT, signal.default_int_handler)     # a background job may have begun without
x = tensorlab.zeros(300_000_000, dtype=tensorlab.uint8)
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    import os
    os._exit(0)         # without waiting for what was made so far
print("finished", flush=True)
"""

CALLS = {
    "tensor_split": "tensorlab.zeros(10).tensor_split(2**31)",
    "split": "x.split(1)",
    "chunk": "tensorlab.zeros(2**40, device='meta').chunk(2**40)",
    "tolist": "x.tolist()",
    "repr": "tensorlab.set_printoptions(threshold=10**10); repr(x)",
}


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("name", CALLS)
def test_a_long_call_can_be_interrupted(name):
    program = PROGRAM.format(call=CALLS[name])
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.4)
        started = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        assert time.monotonic() - started < 5
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
