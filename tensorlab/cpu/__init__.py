"""The processor, asked as if it were an accelerator: it is always there, and never lags behind."""

import functools
import os
import platform
import types

from tensorlab import _missing, _streams
from tensorlab.cpu import amp, memory
from tensorlab.cpu.memory import (
    MemoryHistory,
    get_per_process_memory_fraction,
    max_memory_allocated,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_summary,
    reset_peak_memory_stats,
    set_per_process_memory_fraction,
)

__all__ = [
    "MemoryHistory",
    "Stream",
    "StreamContext",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "get_capabilities",
    "get_per_process_memory_fraction",
    "is_available",
    "max_memory_allocated",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "stream",
    "synchronize",
]

# Sets of instructions as PyTorch names them, and as Linux does where that is different.
INSTRUCTIONS = """
    aes amx_bf16 amx_fp16 amx_int8 amx_tile avx avx2 avx512_4fmaps avx512_4vnniw avx512_bf16
    avx512_bitalg avx512_bw=avx512bw avx512_cd=avx512cd avx512_dq=avx512dq avx512_f=avx512f avx512_fp16
    avx512_ifma=avx512ifma avx512_vbmi2 avx512_vbmi=avx512vbmi avx512_vl=avx512vl avx512_vnni
    avx512_vp2intersect avx512_vpopcntdq avx_vnni bmi2 bmi=bmi1 clflush clflushopt clwb f16c fma3=fma fma4
    lzcnt=abm popcnt sha=sha_ni sse sse2 sse3=pni sse4_1 sse4_2 sse4a ssse3
"""


def __getattr__(name):
    raise _missing.refuse(__name__, name)


def is_available():
    """True: tensors are computed here.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cpu.is_available()
    True
    """
    return True


def device_count():
    """1: all processors together count as one device.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cpu.device_count()
    1
    """
    return 1


def current_device():
    """Return "cpu".

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cpu.current_device()
    'cpu'
    """
    return "cpu"


class Stream(_streams.Stream):
    """The order in which the cpu works: a call is done when it returns, so nothing is ever waited for.

    >>> Stream().query()
    True
    """

    def __init__(self, priority=-1):
        super().__init__("cpu", priority=priority)


def current_stream(device=None):
    """Return the stream that calls go to.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cpu.current_stream() == tensorlab.cpu.current_stream()
    True
    """
    return _streams.current_stream("cpu")


class StreamContext:
    """A block that puts its calls into a stream; None: into the current one.

    Examples
    --------
    >>> import tensorlab
    >>> with tensorlab.cpu.StreamContext(None):
    ...     x = tensorlab.ones(2)
    """

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return self.stream

    def __exit__(self, *exception):
        """Nothing has to be put back: the cpu's calls are done in any case."""


def stream(stream):
    """Return a block that puts its calls into a stream.

    Examples
    --------
    >>> import tensorlab
    >>> with tensorlab.cpu.stream(tensorlab.cpu.Stream()):
    ...     x = tensorlab.ones(2)
    """
    return StreamContext(stream)


def synchronize(device=None):
    """Wait until all is computed: it is, when a call returns.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.cpu.synchronize()
    """


@functools.cache
def get_capabilities():
    """Return what the processor can do: a mapping from "avx2" and others to bools, with its name.

    Linux tells the sets of instructions; elsewhere they are missing, so that `.get("avx2", False)` is False.

    >>> import tensorlab
    >>> tensorlab.cpu.get_capabilities()["num_logical_cores"] > 0
    True
    """
    found = _described_by_linux()
    flags = found.get("flags", "").split()
    named = (one.partition("=") for one in INSTRUCTIONS.split())
    known = {name: (other or name) in flags for name, _, other in named}
    return types.MappingProxyType(
        {
            **(known if flags else {}),
            "architecture": platform.machine(),
            "cpu_name": found.get("model name", platform.processor()),
            "num_logical_cores": os.cpu_count(),
        }
    )


def _described_by_linux():
    """Read what Linux says of the first processor, or {}."""
    try:
        with open("/proc/cpuinfo") as file:
            lines = file.read().partition("\n\n")[0].splitlines()
    except OSError:
        return {}
    return {name.strip(): value.strip() for name, _, value in (one.partition(":") for one in lines)}
