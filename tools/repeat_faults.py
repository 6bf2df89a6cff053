"""Run every test of a failing worker or rank many times, and show how long the slowest took.

    python tools/repeat_faults.py [TIMES] [pytest options]

Tests are those marked `fault`. A run in which a process, a descriptor or a file in /dev/shm is left, or that raises
anything else than it should, is a failure; the exit status says whether there were any. What a failing run showed is
written to build/faults.txt as it happens, and printed again at the end.
"""

import os
import statistics
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT / "tests/utils/data", ROOT / "tests/distributed")
SHARED = Path("/dev/shm")
SHOWN = ROOT / "build" / "faults.txt"


class Repeat:
    """A plugin that runs each test `times` times and keeps how long it took."""

    def __init__(self, times):
        self.times = times
        self.seconds = defaultdict(list)
        self.failed = defaultdict(int)
        self.shown = []

    def pytest_generate_tests(self, metafunc):
        if metafunc.definition.get_closest_marker("fault"):
            metafunc.fixturenames.append("repetition")
            metafunc.parametrize("repetition", range(self.times))

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.rpartition("::")[2].rpartition("[")[0]
        if report.when == "call":
            self.seconds[name].append(report.duration)
        if report.failed:
            self.failed[name] += 1
            self.keep(report)

    def keep(self, report):
        """Keep all that a failing run showed, in its set-up and clean-up too."""
        parts = [f"==== {report.nodeid}: {report.when} failed", report.longreprtext]
        parts += [f"---- {title}\n{text}" for title, text in report.sections]
        self.shown.append("\n".join(parts))
        SHOWN.parent.mkdir(exist_ok=True)
        # whole each time: a run that is cut off later has told what it saw
        SHOWN.write_text("\n\n".join(self.shown) + "\n", encoding="utf-8")

    def pytest_report_teststatus(self, report):
        if report.passed:
            return "", "", ""  # thousands of dots help no one
        return None


def main(times, *options):
    repeat = Repeat(times)
    SHOWN.unlink(missing_ok=True)
    before = set(SHARED.iterdir()) if SHARED.is_dir() else set()
    status = pytest.main(
        ["-q", "-m", "fault", "-p", "no:cacheprovider", *map(str, FOLDERS), *options],
        [repeat],
    )
    left = set(SHARED.iterdir()) - before if SHARED.is_dir() else set()
    print(f"{'runs':>6} {'failed':>7} {'median':>8} {'slowest':>8}   seconds")
    for name, seconds in sorted(repeat.seconds.items()):
        middle, most = statistics.median(seconds), max(seconds)
        print(f"{len(seconds):6} {repeat.failed[name]:7} {middle:8.2f} {most:8.2f}   {name}")
    print(f"left in /dev/shm: {len(left)}")
    if repeat.shown:
        print(*repeat.shown, f"all of this is in {SHOWN}", sep="\n\n")
    return int(status) or bool(left)


if __name__ == "__main__":
    os.chdir(ROOT)
    given = sys.argv[1:]
    sys.exit(main(int(given.pop(0)) if given and given[0].isdigit() else 200, *given))
