"""Chapter 60: its small forward engine gives the tangents of func.jvp, at two levels too."""

import importlib.util
from pathlib import Path

import numpy as np

import tensorlab as T
from tensorlab import func

FOLDER = Path(__file__).resolve().parents[2] / "chapters/60-forward-mode"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_forward", FOLDER / "tiny_forward.py")
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)

RANDOM = np.random.default_rng(0)
MATRIX = RANDOM.standard_normal((3, 3))
X, T1, T2 = RANDOM.standard_normal((3, 3))


def program(ops, matrix):
    def function(x):
        return ops.exp(ops.sin(ops.matmul(matrix, x)) * x) + x * 2.0

    return function


def test_tangents_are_those_of_tensorlab():
    value, tangent = tiny.jvp(program(tiny, MATRIX), X, T1)
    x, t = T.from_numpy(X), T.from_numpy(T1)
    wanted = func.jvp(program(T, T.from_numpy(MATRIX)), (x,), (t,))
    np.testing.assert_allclose(value, wanted[0].numpy())
    np.testing.assert_allclose(tangent, wanted[1].numpy())


def test_second_tangents_are_those_of_tensorlab():
    f, g = program(tiny, MATRIX), program(T, T.from_numpy(MATRIX))
    _, found = tiny.jvp(lambda x: tiny.jvp(f, x, T1)[1], X, T2)
    x, t1, t2 = map(T.from_numpy, (X, T1, T2))
    _, wanted = func.jvp(lambda x: func.jvp(g, (x,), (t1,))[1], (x,), (t2,))
    np.testing.assert_allclose(found, wanted.numpy())


def test_an_inner_derivative_does_not_see_the_outer_variable():
    assert tiny.jvp(lambda x: x * tiny.jvp(lambda y: x + y, 1.0, 1.0)[1], 1.0, 1.0)[1] == 1.0


def test_a_constant_has_no_tangent_and_levels_end():
    value, tangent = tiny.jvp(lambda x: np.ones(2), X, T1)
    assert value.tolist() == [1, 1]
    assert tangent.tolist() == [0, 0]
    assert tiny.running == []
