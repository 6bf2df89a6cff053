"""A cell that measures time is found, however it gets at the clock, and others are left alone."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs"))

from measuring_cells import measuring_cells


@pytest.mark.parametrize(
    "cell",
    [
        "start = time.perf_counter()",
        "from time import thread_time\nbegun = thread_time()",
        "now = time.time()",
        "best = min(timeit.repeat(call))",
        "time.sleep(0.1)",
        "%matplotlib inline\nstart = time.monotonic_ns()",
    ],
)
def test_a_cell_that_names_a_clock_measures(cell, tmp_path):
    assert measuring_cells(["x = 1", cell], tmp_path) == {1}


def test_a_cell_that_calls_a_function_with_a_clock_in_it_measures(tmp_path):
    cells = [
        "def seconds(call):\n    start = time.perf_counter()\n    call()\n    return time.perf_counter() - start",
        "def race(calls):\n    return [seconds(call) for call in calls]",
        "found = race([f, g])",
        "print(found)",
        "plt.plot(found)",
    ]
    assert measuring_cells(cells, tmp_path) == {0, 1, 2}


def test_a_program_beside_the_page_may_hold_the_clock(tmp_path):
    (tmp_path / "speed.py").write_text(
        "import time\n\ndef best():\n    return time.perf_counter()\n\ndef other():\n    return 1\n"
    )
    (tmp_path / "tiny.py").write_text("def best_of_all():\n    return 1\n")
    cells = [
        "from tiny import best_of_all\nbest_of_all()",
        "from speed import best",
        "best()",
        "other()",
        'subprocess.run([sys.executable, "speed.py"])',
    ]
    assert measuring_cells(cells, tmp_path) == {1, 2, 4}


def test_a_cell_that_is_no_python_does_not_measure(tmp_path):
    assert measuring_cells(["x = (", "", "time = 3", "x.time()"], tmp_path) == set()
