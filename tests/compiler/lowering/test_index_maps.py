"""Forms and index maps: a view's map is right for every element, or there is none."""

import itertools
import random

import pytest

from tensorlab.compiler.lowering import index_maps
from tensorlab.compiler.lowering.index_maps import CutLoop, NoMap


def indices(loops):
    return itertools.product(*map(range, loops))


def value_of(form, at):
    return form[-1] + sum(factor * i for factor, i in zip(form[:-1], at, strict=True))


def mapped(flat, shape, loops):
    """split_flat, with loops cut as it asks; returns the map and the loops, and the flat form over them."""
    while True:
        try:
            return index_maps.split_flat(flat, shape, loops), loops, flat
        except CutLoop as request:
            loop, inner = request.loop, request.inner
            step = flat[loop]
            loops = index_maps.cut(loops, loop, inner)
            flat = (*flat[:loop], step * inner, step, *flat[loop + 1 :])


def test_a_row_major_position_becomes_the_indices_that_it_has():
    rng, found = random.Random(0), 0
    for _ in range(400):
        shape = tuple(rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.randint(1, 4)))
        loops = tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(1, 3)))
        flat = (*(rng.choice([0, 1, 2, 3, 4, 6, 12]) for _ in loops), rng.choice([0, 0, 1, 5]))
        strides = index_maps.row_major_strides(shape)
        size = shape[0] * strides[0]
        if index_maps.largest(flat, loops) >= size:
            continue
        try:
            result, loops, flat = mapped(flat, shape, loops)
        except NoMap:
            continue
        found += 1
        for at in indices(loops):
            position = [value_of(form, at) for form in result]
            assert all(0 <= i < n for i, n in zip(position, shape, strict=True))
            assert sum(i * s for i, s in zip(position, strides, strict=True)) == value_of(flat, at)
    assert found > 100


@pytest.mark.parametrize(("loops", "shape"), [((6, 4), (8, 3)), ((4, 6), (3, 8)), ((10,), (3, 4))])
def test_shapes_whose_rows_end_at_different_places_have_no_map(loops, shape):
    flat = (*index_maps.row_major_strides(loops), 0)
    with pytest.raises(NoMap):
        mapped(flat, shape, loops)


def test_a_start_that_carries_into_the_next_row_has_no_map():
    with pytest.raises(NoMap):
        index_maps.split_flat((1, 2), (2, 3), (3,))
    assert index_maps.split_flat((1, 3), (2, 3), (3,)) == ((0, 1), (1, 0))


def test_loops_that_continue_each_other_are_one():
    sizes, forms = index_maps.simplified(
        (2, 1, 3, 4), [(12, 9, 4, 1, 0), (0, 7, 4, 1, 5)], (12, 9, 4, 1, 0)
    )
    assert sizes == (2, 12)
    assert forms == [(12, 1, 0), (0, 1, 5)]


def test_the_loop_of_the_smallest_stride_is_the_innermost():
    sizes, forms = index_maps.simplified((3, 5), [(1, 3, 0)], (1, 3, 0))
    assert sizes == (15,)
    assert forms == [(1, 0)]
    sizes, forms = index_maps.simplified((3, 5), [(5, 1, 0), (1, 3, 0)], (1, 3, 0))
    assert sizes == (5, 3)
    assert forms == [(1, 5, 0), (3, 1, 0)]
