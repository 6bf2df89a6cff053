"""SobolEngine draws PyTorch's points, skips and starts again, and fills a cube evenly."""

import math

import numpy as np
import pytest

import tensorlab
from tensorlab.quasirandom import SobolEngine
from tests.ops.agreement import agree


@pytest.mark.parametrize("dimension", [1, 2, 3, 21, 500])
@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_points_are_those_of_pytorch(dimension, n):
    agree(lambda T: T.quasirandom.SobolEngine(dimension).draw(n).tolist())


def test_points_of_the_largest_dimension_are_those_of_pytorch():
    agree(lambda T: T.quasirandom.SobolEngine(21201).draw(3)[:, -5:].tolist())


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64"])
def test_types(dtype):
    agree(lambda T: T.quasirandom.SobolEngine(3).draw(5, dtype=getattr(T, dtype)).tolist())


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize("dimension", [1, 3, 40])
def test_scrambled_points_after_a_seed_are_those_of_pytorch(dimension, seed):
    def program(T):
        T.manual_seed(3)
        engine = T.quasirandom.SobolEngine(dimension, scramble=True, seed=seed)
        return engine.draw(9, dtype=T.float64), T.rand(2, dtype=T.float64)

    agree(program, tolerance=2.0**-24)  # PyTorch rounds the first point to float32


PROGRAMS = {
    "one draw after another": lambda e: [e.draw(3), e.draw(1), e.draw(4)],
    "reset": lambda e: [e.draw(3), e.reset().draw(2), e.num_generated],
    "fast forward": lambda e: [e.fast_forward(5).draw(2), e.fast_forward(1).draw(1)],
    "fast forward after a draw": lambda e: [e.draw(1), e.fast_forward(6).draw(2)],
    "powers of 2": lambda e: [e.draw_base2(2), e.draw_base2(2), e.draw_base2(3), e.num_generated],
    "a text": lambda e: repr(e),
    "what it knows of itself": lambda e: [e.dimension, e.scramble, e.seed, e.MAXBIT, e.MAXDIM],
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 5}])
def test_programs_give_what_they_give_in_pytorch(name, options):
    def program(T):
        result = PROGRAMS[name](T.quasirandom.SobolEngine(4, **options))
        return [x.tolist() if hasattr(x, "tolist") else x for x in result]

    agree(program)


def test_out_is_resized_and_returned():
    out = tensorlab.zeros(1, dtype=tensorlab.float64)
    points = SobolEngine(2).draw(4, out=out, dtype=tensorlab.float64)
    assert points is out
    assert tensorlab.equal(out, SobolEngine(2).draw(4, dtype=tensorlab.float64))


@pytest.mark.parametrize("scramble", [False, True])
def test_each_dimension_has_one_point_in_each_part(scramble):
    """Of 2**m points, in one dimension, each range of width 2**-m holds one: they are a net."""
    points = SobolEngine(12, scramble=scramble, seed=1).draw_base2(7, dtype=tensorlab.float64)
    parts = (points * 128).long().sort(0).values
    assert tensorlab.equal(parts, tensorlab.arange(128)[:, None].expand(128, 12))


def test_a_mean_over_points_is_nearer_than_one_over_random_numbers():
    points = SobolEngine(4, scramble=True, seed=2).draw_base2(10, dtype=tensorlab.float64)
    tensorlab.manual_seed(2)
    random = tensorlab.rand(1024, 4, dtype=tensorlab.float64)
    error = lambda x: abs((x * x).sum(1).exp().mean().item() - exact)
    exact = np.mean(np.exp(((np.arange(100000) + 0.5) / 100000) ** 2)) ** 4
    assert error(points) < error(random) / 5


def test_what_was_drawn_before_a_refusal_stays():
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match="power of 2"):
        engine.draw_base2(2)
    with pytest.raises(RuntimeError, match="at least 1"):
        engine.draw(0)
    assert engine.num_generated == 3


BAD = {
    "dimension 0": lambda T: T.quasirandom.SobolEngine(0),
    "a dimension too many": lambda T: T.quasirandom.SobolEngine(21202),
    "unbalanced": lambda T: T.quasirandom.SobolEngine(2).fast_forward(1).draw_base2(3),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_the_class_of_pytorch(name):
    agree(BAD[name])


def test_the_sequence_ends():
    engine = SobolEngine(1).fast_forward(2**30 - 1)
    assert 0 <= engine.draw(1).item() < 1
    with pytest.raises(RuntimeError, match="ends after"):
        engine.draw(1)


def test_a_copy_goes_on_by_itself():
    import copy
    import pickle

    engine = SobolEngine(3, scramble=True, seed=4)
    engine.draw(5)
    twin, pickled = copy.deepcopy(engine), pickle.loads(pickle.dumps(engine))
    want = engine.draw(2).tolist()
    assert twin.draw(2).tolist() == pickled.draw(2).tolist() == want
    assert not math.isnan(sum(want[0]))
