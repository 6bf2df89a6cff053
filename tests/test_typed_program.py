"""A program with types checks under mypy's strict rules and runs; programs with mistakes are refused."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

pytest.importorskip("mypy")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def complaints(path, cache):
    """Return the lines that mypy prints about a program."""
    # As users see it: with no configuration of ours, and errors of their own program only.
    options = ["--strict", "--config-file=", "--follow-imports=silent", "--no-error-summary"]
    command = [sys.executable, "-m", "mypy", *options, "--cache-dir", cache, path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("program", ["typed_program.py", "typed_calls.py"])
def test_a_program_has_no_errors_under_strict_rules(program, cache):
    path = ROOT / "tests" / program
    assert path.read_text(encoding="utf-8").count("assert_type(") > 15
    assert complaints(path, cache) == []


def test_the_calls_run():
    runpy.run_path(str(ROOT / "tests/typed_calls.py"))


def test_the_program_runs_and_learns():
    from tests import typed_program

    assert typed_program.main() > 0.8


SETUP = "import tensorlab as torch\nfrom tensorlab import nn\nx = torch.randn(2, 3)\nnet = nn.Linear(3, 2)\n"
MISTAKES = {
    'torch.randn("2")': "call-overload|arg-type",
    'x.sum(dim="0")': "arg-type",
    "x.sums()": "attr-defined",
    "net(3)": "arg-type",
    "net(x, x)": "call-arg",
    'nn.Linear("3", 2)': "arg-type",
    "nn.Linear(3)": "call-arg",
    "nn.Sequential(3)": "arg-type|call-overload",
    "nn.Conv2d(1, 2, 3, paddings=1)": "call-arg",
    "torch.optim.SGD(net.parameters(), rate=0.1)": "call-arg",
    'x @ "a"': "operator",
    "torch.zeros(2, dtype=float)": "arg-type",
    "n: int = x.shape": "assignment",
    "k: int = x.max(1)": "assignment",
    "nn.functional.relu(net)": "arg-type",
    "torch.no_grad(3)": "call-overload|type-var",
}


def test_mistakes_are_refused(tmp_path, cache):
    path = tmp_path / "mistakes.py"
    path.write_text(SETUP + "\n".join(MISTAKES) + "\n", encoding="utf-8")
    found = {}
    for line in complaints(path, cache):
        place, is_error, text = line.partition(": error: ")
        if is_error:
            found[int(place.rpartition(":")[2])] = text.rpartition("[")[2].rstrip("]")
    first = SETUP.count("\n") + 1
    got = {mistake: found.get(first + i, "no error") for i, mistake in enumerate(MISTAKES)}
    assert {
        mistake: kind for mistake, kind in got.items() if kind not in MISTAKES[mistake].split("|")
    } == {}
