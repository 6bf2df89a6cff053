"""histogramdd counts what PyTorch's and NumPy's count, and refuses what PyTorch's refuses."""

import numpy as np
import pytest

import tensorlab
from tests.ops.agreement import agree

SHAPES = [(0, 2), (1, 1), (30, 1), (50, 2), (4, 5, 3), (2, 3, 4, 2)]


def points(T, shape, dtype="float64", seed=0):
    rng = np.random.default_rng(seed)
    return T.from_numpy(np.round(rng.normal(size=shape), 1)).to(getattr(T, dtype))


def parts(result):
    return [result[0].tolist(), [edges.tolist() for edges in result[1]]]


OPTIONS = {
    "an int": lambda T, x, d: (x, 3),
    "ints": lambda T, x, d: (x, [2, 4, 3, 5][:d]),
    "edges": lambda T, x, d: (x, [T.tensor([-1.0, 0.0, 0.5, 1.0]).to(x.dtype)] * d),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("bins", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_counts_are_those_of_pytorch(shape, bins, dtype):
    d = shape[-1]
    for options in ({}, {"density": True}, {"range": [-1.0, 1.0] * d} if "int" in bins else {}):
        agree(
            lambda T, options=options: parts(
                T.histogramdd(*OPTIONS[bins](T, points(T, shape, dtype), d), **options)
            ),
            tolerance=1e-6,
        )


@pytest.mark.parametrize("shape", SHAPES[2:])
def test_weights_count_as_in_pytorch(shape):
    def program(T):
        weight = points(T, shape[:-1], seed=1)
        return parts(T.histogramdd(points(T, shape), 3, weight=weight))

    agree(program, tolerance=1e-12)


@pytest.mark.parametrize("density", [False, True])
def test_counts_are_those_of_numpy(density):
    x = np.random.default_rng(2).normal(size=(500, 3))
    got = tensorlab.histogramdd(
        tensorlab.from_numpy(x), [4, 5, 6], range=[-2, 2, -1, 3, -3, 3], density=density
    )
    counts, edges = np.histogramdd(x, [4, 5, 6], range=[(-2, 2), (-1, 3), (-3, 3)], density=density)
    np.testing.assert_allclose(got.hist.numpy(), counts, rtol=1e-12)
    for ours, theirs in zip(got.bin_edges, edges, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-12)


def test_edges_belong_to_the_range_on_their_right_and_the_last_one_to_that_on_its_left():
    x = tensorlab.tensor([[0.0], [1.0], [2.0], [2.0], [2.1], [-0.1]])
    assert tensorlab.histogramdd(x, 2, range=[0, 2]).hist.tolist() == [1, 3]


def test_points_that_are_nan_do_not_count():
    x = tensorlab.tensor([[0.5, float("nan")], [0.5, 0.5]])
    assert tensorlab.histogramdd(x, 1, range=[0, 1, 0, 1]).hist.sum() == 1


def test_it_has_no_gradient_and_leaves_its_input():
    x = tensorlab.tensor([[0.0], [1.0]], requires_grad=True)
    result = tensorlab.histogramdd(x, 2)
    assert not result.hist.requires_grad
    assert result.bin_edges[0].requires_grad is False
    assert x._version == 0


BAD = {
    "one dimension": lambda T: T.histogramdd(T.ones(3), 2),
    "whole points": lambda T: T.histogramdd(T.ones(3, 2, dtype=T.int64), 2),
    "too few bins": lambda T: T.histogramdd(T.ones(3, 2), [2]),
    "no bins": lambda T: T.histogramdd(T.ones(3, 2), 0),
    "no bins in one dimension": lambda T: T.histogramdd(T.ones(3, 2), [2, 0]),
    "too short a range": lambda T: T.histogramdd(T.ones(3, 2), 2, range=[0.0, 1.0]),
    "a range that falls": lambda T: T.histogramdd(T.ones(3, 1), 2, range=[1.0, 0.0]),
    "a range of nan": lambda T: T.histogramdd(T.ones(3, 1), 2, range=[0.0, float("nan")]),
    "points that are infinite": lambda T: T.histogramdd(T.tensor([[0.0], [float("inf")]]), 2),
    "edges of another type": lambda T: T.histogramdd(T.ones(3, 1), [T.ones(3).double()]),
    "edges in two dimensions": lambda T: T.histogramdd(T.ones(3, 1), [T.ones(3, 1)]),
    "one edge": lambda T: T.histogramdd(T.ones(3, 1), [T.ones(1)]),
    "no edges": lambda T: T.histogramdd(T.ones(3, 1), [T.ones(0)]),
    "weights of another type": lambda T: T.histogramdd(T.ones(3, 1), 2, weight=T.ones(3).double()),
    "weights of another shape": lambda T: T.histogramdd(T.ones(3, 1), 2, weight=T.ones(2)),
    "no tensor": lambda T: T.histogramdd([[1.0]], 2),
    "bins that are a word": lambda T: T.histogramdd(T.ones(3, 1), "auto"),
    "bins that are no number": lambda T: T.histogramdd(T.ones(3, 1), [None]),
    "fractions of bins": lambda T: T.histogramdd(T.ones(3, 1), [2.5]),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_the_class_of_pytorch(name):
    agree(lambda T: parts(BAD[name](T)))
    with pytest.raises(Exception, match="histogramdd"):
        BAD[name](tensorlab)
