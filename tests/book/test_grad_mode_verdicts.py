"""Chapter 22's predictions come out as PyTorch's, which were recorded."""

import importlib.util
import json
from pathlib import Path

import pytest

import tensorlab as T

CHAPTER = Path(__file__).resolve().parents[2] / "chapters/22-grad-modes"


@pytest.fixture(scope="module")
def programs():
    specification = importlib.util.spec_from_file_location("verdicts", CHAPTER / "verdicts.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_program_says_what_it_says_under_pytorch(programs):
    recorded = json.loads((CHAPTER / "recorded.json").read_text())["verdicts"]
    assert programs.verdicts(T) == recorded


def test_the_programs_leave_recording_on(programs):
    programs.verdicts(T)
    assert T.is_grad_enabled()
