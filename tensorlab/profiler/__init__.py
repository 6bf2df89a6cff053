"""The profiler: which ops a program runs, how long each takes, and what is between them.

    with profile() as prof:
        train()
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    print(prof.explain())
    prof.export_chrome_trace("trace.json")      # for ui.perfetto.dev

While it records, it is a layer that all threads have entered (_core/dispatch/layers.pyx), just
above autograd; the engine, optimizers, loaders and compiled code tell it of themselves. Off, none
of this is there.

    schedule.py         when it records
    recording.py        from start to stop; the records are made in _core/profiling.pyx
    events.py           records become events, which lie inside each other
    averages.py         sums by name; table.py writes them
    chrome_trace.py, stacks.py, memory_timeline.py     files
    explain.py          sentences
    pictures.py         events over time, and a flame picture
"""

from tensorlab import _missing
from tensorlab.profiler import profiler
from tensorlab.profiler.profiler import *  # noqa: F403 (the same names, which profiler.py lists)

__all__: list[str] = []
__all__ += profiler.__all__


__getattr__ = _missing.refusing(__name__)
