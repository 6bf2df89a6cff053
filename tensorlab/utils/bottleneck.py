"""bottleneck: a program under three profilers, one after the other.

    python -m tensorlab.utils.bottleneck script.py --its --arguments

runs the program once under Python's cProfile, which knows functions, and once under tensorlab's
profiler, which knows ops, and prints what took most time in each, and what `explain` says.
"""

import argparse
import contextlib
import cProfile
import io
import os
import platform
import pstats
import sys

from tensorlab.profiler import profile
from tensorlab.threads import get_num_threads
from tensorlab.version import __version__

__all__ = ["main", "report"]

ROWS = 15
RULE = "-" * 80


def main(arguments=None):
    """Run a script under the profilers and print the report; returns the exit code.

    Parameters
    ----------
    arguments : list of str, the script and its own arguments; those of the command line unless given
    """
    parser = argparse.ArgumentParser(
        prog="python -m tensorlab.utils.bottleneck",
        description="Run a program under Python's profiler and tensorlab's, and say what takes its time.",
    )
    parser.add_argument("scriptfile", help="the program, a file")
    parser.add_argument("args", nargs=argparse.REMAINDER, help="its arguments")
    given = parser.parse_args(arguments)
    if not os.path.exists(given.scriptfile):
        print(f"bottleneck: there is no file {given.scriptfile!r}", file=sys.stderr)
        return 2
    print(report(given.scriptfile, given.args))
    return 0


def report(path, arguments=()):
    """Run a script twice and return the report, as text.

    Parameters
    ----------
    path : str, the script
    arguments : sequence of str, what it finds in `sys.argv`
    """
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    functions = cProfile.Profile()
    with as_main(path, arguments) as names:
        functions.runctx(code, names, None)
    with as_main(path, arguments) as names, profile(profile_memory=True, with_stack=True) as ops:
        exec(code, names)
    sections = [
        ("Environment", environment()),
        ("Functions (cProfile), by the time in them alone", table_of_functions(functions)),
        ("Ops, by the time in them alone", table_of_ops(ops)),
        ("In words", str(ops.explain())),
    ]
    return "\n".join(f"{RULE}\n  {title}\n{RULE}\n{text}\n" for title, text in sections)


@contextlib.contextmanager
def as_main(path, arguments):
    """Let a script find what it would find if it were started."""
    before, folder = sys.argv, os.path.dirname(os.path.abspath(path))
    sys.argv = [path, *arguments]
    sys.path.insert(0, folder)
    try:
        yield {"__file__": path, "__name__": "__main__", "__package__": None}
    except SystemExit:  # the script has ended itself
        pass
    finally:
        sys.argv = before
        sys.path.remove(folder)


def environment():
    """The machine and the versions, in a line."""
    return (
        f"tensorlab {__version__}, Python {platform.python_version()}, {platform.platform()}, "
        f"{get_num_threads()} threads"
    )


def table_of_functions(functions):
    """What cProfile has seen."""
    text = io.StringIO()
    pstats.Stats(functions, stream=text).sort_stats("tottime").print_stats(ROWS)
    return text.getvalue().strip()


def table_of_ops(ops):
    """What the profiler has seen."""
    return ops.key_averages().table(sort_by="self_cpu_time_total", row_limit=ROWS)


if __name__ == "__main__":
    sys.exit(main())
