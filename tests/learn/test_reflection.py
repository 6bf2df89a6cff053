"""What deceives a check in its own process is noticed, and what calculates is not."""

import tomllib
from pathlib import Path

import pytest

from tensorlab.learn.exercise import all_chapters
from tensorlab.learn.reflection import reaches

ANSWERS = Path(__file__).with_name("answers")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import sys", "the module sys"),
        ("from os import _exit", "the module os._exit"),
        ("from tensorlab import learn", "the module tensorlab.learn"),
        ("import tensorlab.learn.expect as e", "the module tensorlab.learn.expect"),
        ("import tensorlab\ntensorlab.learn.expect.same = print", "tensorlab.learn"),
        ("import tensorlab as torch\ntorch.equal = print", "an assignment to torch.equal"),
        ("T = torch.Tensor\nT.equal = print", "an assignment to T.equal"),
        ("from tensorlab import Tensor\nTensor.equal = print", "an assignment to Tensor.equal"),
        ("import math as m\nsetattr(m, 'pi', 3)", "setattr"),
        ("eval('1')", "eval"),
        ("def f(e=eval):\n    e('1')", "eval"),
        ("def f(eval):\n    pass\neval('1')", "eval"),
        ("def f(x):\n    return f.__globals__", "the attribute __globals__"),
        ("def f(x):\n    return getattr(f, '__closure__')", "the name __closure__"),
        ("def f(e):\n    return e.tb_frame.f_back", "the attribute f_back"),
        ("().__class__.__subclasses__()", "the attribute __subclasses__"),
        ("__builtins__['len'] = print", "__builtins__"),
    ],
)
def test_what_an_answer_does_not_need_is_named(code, expected):
    assert expected in list(reaches(code, "import tensorlab as torch"))


@pytest.mark.parametrize(
    "code",
    [
        "class Layer(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = 1",
        "def f(ctx, x):\n    ctx.saved = x\n    x.grad = None\n    return x",
        "def test(compile):\n    assert compile(print)",
        "from tiny_pool import cut\nimport threading",
        "import math, itertools\nprint(math.pi)",
        "def (",
    ],
)
def test_what_calculates_is_free(code):
    imports = "import threading\nimport tensorlab as torch\nfrom tiny_pool import boundary"
    assert list(reaches(code, imports)) == []


def test_hardly_any_right_answer_is_suspicious():
    noticed, count = [], 0
    for chapter in all_chapters():
        answers = tomllib.loads((ANSWERS / f"{chapter.number}.toml").read_text(encoding="utf-8"))
        for exercise in chapter.exercises:
            if not exercise.beside:
                continue
            assert list(reaches(exercise.solution, chapter.imports)) == [], exercise.id
            for answer in answers["right"]:
                if answer["exercise"] == exercise.id:
                    count += 1
                    noticed += [exercise.id] * any(reaches(answer["code"], chapter.imports))
    assert len(noticed) <= 0.02 * count, noticed
