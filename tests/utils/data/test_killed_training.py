"""A training program that is killed again and again ends with the weights of one that was left alone."""

import multiprocessing
import os
import random
import subprocess
import sys
import time

import pytest

from .killed_training import EPOCHS, STEPS

pytestmark = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="needs fork"
)


def run(folder, lines, delay=0.0):
    """Run the program until it has printed so many lines, and so long after; return what it printed last."""
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.utils.data.killed_training", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    last = ""
    for _ in range(lines):
        line = program.stdout.readline()
        if not line:
            break
        last = line.strip()
    time.sleep(delay)
    program.kill()
    rest, errors = program.communicate()
    assert errors == ""
    return rest.split()[-1] if rest else last


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.nightly)])
def test_a_training_that_is_killed_ends_with_the_same_weights(tmp_path, kills):
    (tmp_path / "whole").mkdir()
    expected = run(tmp_path / "whole", EPOCHS * STEPS + 1)
    assert len(expected) == 64
    moments = random.Random(kills)
    for killed in range(kills):
        folder = tmp_path / f"{killed % (kills // 2)}"
        folder.mkdir(exist_ok=True)
        # within the step after this one, wherever that is: a step takes a few milliseconds
        run(folder, moments.randint(1, EPOCHS * STEPS // 2), moments.random() * 0.01)
    for number in range(kills // 2):
        assert run(tmp_path / f"{number}", EPOCHS * STEPS + 1) == expected
