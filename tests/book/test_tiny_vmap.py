"""The small vmap of chapter 61: every rule gives what a loop over the examples gives."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T

PATH = Path(__file__).resolve().parents[2] / "chapters/61-vmap/tiny_vmap.py"
specification = importlib.util.spec_from_file_location("tiny_vmap", PATH)
tiny = importlib.util.module_from_spec(specification)
specification.loader.exec_module(tiny)


def loop(function, in_dims, *args):
    size = next(x.shape[d] for x, d in zip(args, in_dims, strict=True) if d is not None)
    return T.stack(
        [
            function(
                *[x if d is None else x.select(d, i) for x, d in zip(args, in_dims, strict=True)]
            )
            for i in range(size)
        ]
    )


PROGRAMS = {
    "layer": (lambda x, w, b: (x @ w + b).tanh().sum(-1), [(3,), (3, 4), (4,)]),
    "matrices": (lambda x, w, b: (x @ w + b).sum(0), [(2, 3), (3, 4), (4,)]),
    "matrix and vector": (lambda w, x, b: w @ x + b, [(4, 3), (3,), ()]),
    "dot": (lambda x, y, z: x @ y + z, [(3,), (3,), (2, 3)]),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("which", range(1, 8))
def test_every_pattern_of_batched_arguments_equals_a_loop(name, which):
    function, shapes = PROGRAMS[name]
    T.manual_seed(0)
    in_dims, args = [], []
    for i, shape in enumerate(shapes):
        dim = None if not which >> i & 1 else len(shape) if i == 1 else 0  # behind, or in front
        in_dims.append(dim)
        args.append(T.randn(shape if dim is None else (*shape[:dim], 5, *shape[dim:])))
    expected = loop(function, in_dims, *args)
    assert T.allclose(tiny.vmap(function, in_dims)(*args), expected, atol=1e-6)


def test_a_result_that_is_the_same_for_all_is_shown_for_each():
    assert tiny.vmap(lambda x: T.ones(2), (0,))(T.zeros(3)).shape == (3, 2)


def test_it_has_at_most_sixty_lines():
    lines = PATH.read_text(encoding="utf-8").splitlines()
    assert sum(line.strip() != "" for line in lines) <= 60
