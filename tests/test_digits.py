"""The program of chapter 1 learns, and it learns what PyTorch learns: same losses, step by step."""

import re
import types
from pathlib import Path

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

PROGRAM = Path(__file__).resolve().parents[1] / "chapters/01-a-network-in-sixty-lines/digits.py"


def load_program(package):
    """Return digits.py as a module, with the name of the package replaced; nothing else is."""
    pytest.importorskip("sklearn", reason="the digits come from scikit-learn")
    module = types.ModuleType(f"digits_of_{package}")
    text = PROGRAM.read_text(encoding="utf-8").replace("tensorlab", package)
    exec(compile(text, str(PROGRAM), "exec"), module.__dict__)
    return module


def test_the_first_100_losses_are_pytorch_s():
    losses = {}
    for package in (tensorlab, require_torch()):
        program = load_program(package.__name__)
        package.manual_seed(0)
        learning, *_ = program.load()
        losses[package.__name__] = program.train(program.Classifier(), learning, epochs=3)[:100]
    assert len(losses["tensorlab"]) == 100
    np.testing.assert_allclose(losses["tensorlab"], losses["torch"], rtol=0, atol=1e-4)


def test_at_least_97_of_100_unseen_digits_are_read():
    program = load_program("tensorlab")
    tensorlab.manual_seed(0)
    learning, choosing, judging = program.load()
    model = program.Classifier()
    program.train(model, learning)
    assert program.accuracy(model, judging) >= 0.97
    used = [set(part.indices) for part in (learning, choosing, judging)]
    assert len(set.union(*used)) == sum(map(len, used)) == 1797  # no image is in two parts


def test_the_program_fits_on_a_page():
    assert len(PROGRAM.read_text(encoding="utf-8").splitlines()) <= 64


def test_the_chapter_s_map_covers_every_line_that_calls_the_library():
    chapter = PROGRAM.with_name("index.md").read_text(encoding="utf-8")
    table = chapter.partition("### Every line has a chapter")[2].partition("###")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    words = [word for row in rows for word in re.findall(r"`([^`]+)`", row.split("|")[1])]
    stems = [word.removesuffix("...)").removesuffix(")") for word in words]
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    code = [line for line in lines if not re.match(r"import|from|def|\s*(#|\"|def )", line)]
    calls = re.compile(r"torch\.|nn\.|F\.|Data|random_split|optimizer\.|loss\.|model\(|self\.\w+\(")
    uncovered = [line for line in code if calls.search(line) and not any(s in line for s in stems)]
    assert uncovered == []
    assert [stem for stem in stems if not any(stem in line for line in lines)] == []
