"""The small fuser of chapter 48 gives the bits of the ops, and keeps a kernel for each source."""

import importlib.util
import json
import math
import subprocess
from pathlib import Path

import pytest

import tensorlab as torch
from tensorlab import fx

FOLDER = Path(__file__).resolve().parents[2] / "chapters/48-fusion-and-codegen"


def load(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


tiny, programs = load("tiny_fuser"), load("programs")
WRITERS = [tiny.one_loop, tiny.in_blocks]
EDGES = [0.0, -0.0, 1.0, -1.5, 1e-40, -3e38, 200.0, math.inf, -math.inf, math.nan]


@pytest.fixture(autouse=True)
def no_kernels_yet(monkeypatch):
    monkeypatch.setattr(tiny.Fused, "kernels", {})


def every_op(x, y):
    z = (x + y * 0.1 - 3) / (torch.abs(y) + 2)
    return torch.relu(z) - torch.exp(-x) * torch.sqrt(torch.abs(torch.tanh(y))) / 7


def bits(x):
    kind = {torch.float32: torch.int32, torch.float64: torch.int64}[x.dtype]
    return torch.where(x != x, torch.full_like(x, 0), x).view(kind).tolist(), (x != x).tolist()


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_fused_function_has_the_bits_of_its_ops(write, dtype):
    torch.manual_seed(0)
    for function in (every_op, lambda x, y: programs.gelu(x) - programs.cheap(y)):
        fused = tiny.Fused(function, write)
        for size in (0, 1, 511, 512, 513, 1500):  # in blocks, the last one may be shorter
            x, y = torch.randn(size, dtype=dtype) * 3, torch.randn(size, dtype=dtype) * 3
            assert bits(fused(x, y)) == bits(function(x, y))
        x = torch.tensor(EDGES, dtype=dtype).repeat(len(EDGES))
        y = torch.tensor(EDGES, dtype=dtype).repeat_interleave(len(EDGES))
        assert bits(fused(x, y)) == bits(function(x, y))


@pytest.mark.parametrize("write", WRITERS)
def test_names_that_mean_something_in_c_are_no_trouble(write):
    def function(n, i, result, double, tensors):
        return (n - i) * result / (double + tensors)

    given = [torch.randn(20) + 5 for _ in range(5)]
    assert torch.equal(tiny.Fused(function, write)(*given), function(*given))


def test_shapes_and_strides_of_the_inputs_are_respected():
    x = torch.randn(3, 5).t()
    fused = tiny.Fused(lambda x, y: x * 2 - y)
    y = torch.randn(5, 3)
    assert torch.equal(fused(x, y), x * 2 - y)
    assert fused(x, y).shape == (5, 3)
    for other in (torch.randn(3, 5), torch.randn(5, 3, dtype=torch.float64)):
        with pytest.raises(ValueError, match="one shape and one dtype"):
            fused(x, other)


def test_what_the_table_lacks_is_refused_by_name():
    x = torch.ones(2)
    for function, name in ((lambda x: torch.sin(x), "sin"), (lambda x: x.relu(), "relu")):
        with pytest.raises(NotImplementedError, match=f"knows no .*{name}"):
            tiny.Fused(function)(x)


def test_a_kernel_is_compiled_once_for_each_source(monkeypatch):
    runs, run = [], subprocess.run
    monkeypatch.setattr(tiny.subprocess, "run", lambda *a, **k: (runs.append(1), run(*a, **k))[1])
    x = torch.ones(4)
    for number, compiled in ((2, 1), (2, 1), (3, 2), (0.0, 3), (-0.0, 4)):
        assert torch.equal(tiny.Fused(lambda x: x * number)(x), x * number)  # noqa: B023
        assert len(runs) == compiled
    tiny.Fused(lambda x: x * 2)(x.double())
    assert len(runs) == 5


def test_one_loop_has_a_load_for_each_input_and_one_store():
    graph = fx.symbolic_trace(programs.gelu).graph
    source = tiny.source_of(graph, torch.float32)
    assert source.count("x_in[i]") == 1
    assert source.count("result[i] =") == 1
    assert source.count("for (") == 1
    assert tiny.source_of(graph, torch.float32, tiny.in_blocks).count("for (") == 11


def test_the_programs_become_what_the_chapter_says():
    x = torch.randn(200, 200)
    found = {}
    for letter, function in programs.PREDICTED.items():
        (piece,) = torch.compiler.explain(function)(x).pieces
        found[letter] = len(piece.kernels), len(piece.steps) - len(piece.kernels)
    expected = {"A": (1, 0), "B": (1, 0), "C": (0, 1), "D": (1, 0), "E": (1, 1), "F": (2, 1)}
    assert found == expected
    gelu = torch.compiler.explain(programs.gelu)(x)
    assert (gelu.bytes_eager, gelu.bytes_fused) == (21 * x.nbytes, 2 * x.nbytes)


def test_the_programs_have_as_many_stages_as_the_chapter_says():
    found = {}
    for name in ("gelu", "side_by_side", "twice", "in_a_row", "row_of_nine"):
        explanation = torch.compiler.explain(getattr(programs, name))(torch.randn(40, 25))
        (kernel,) = explanation.pieces[0].kernels
        found[name] = kernel.source.split("void fused")[1].count("for (int64_t i = ")
    expected = {"gelu": 1, "side_by_side": 1, "twice": 2, "in_a_row": 9, "row_of_nine": 9}
    assert found == expected


def test_what_was_recorded_names_programs_that_are_there():
    recorded = json.loads((FOLDER / "recorded.json").read_text(encoding="utf-8"))
    for name in (*recorded["kernels"], *recorded["ratios"], *recorded["nanoseconds"]):
        assert callable(getattr(programs, name))
