"""The small programs of chapter 3 do what the library does."""

import importlib.util
from math import prod
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T
from tests.core.test_layout import shapes_of

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/03-strides/tiny_view.py"


@pytest.fixture(scope="module")
def tiny():
    specification = importlib.util.spec_from_file_location("tiny_view", PROGRAM)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def both(tiny):
    """The same 4 x 6 matrix in both worlds, a part of a larger storage."""
    x = T.arange(40).as_strided((4, 6), (8, 1), 3)
    return tiny.View(list(range(40)), (4, 6), (8, 1), 3), x


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda v: v, lambda x: x),
        (lambda v: v.select(0, 2), lambda x: x[2]),
        (lambda v: v.select(1, 5), lambda x: x[:, 5]),
        (lambda v: v.transpose(), lambda x: x.t()),
        (lambda v: v.slice(1, 1, 6, 2), lambda x: x[:, 1:6:2]),
        (lambda v: v.slice(0, 1, 2).expand(0, 3), lambda x: x[1:2].expand(3, 6)),
        (lambda v: v.diagonal(), lambda x: x.diagonal()),
        (lambda v: v.unfold(3, 2), lambda x: x.unfold(1, 3, 2)),
        (lambda v: v.slice(0, 1, 4).transpose().diagonal(), lambda x: x[1:4].t().diagonal()),
    ],
)
def test_each_view_of_the_tiny_class_is_the_tensor_s(tiny, ours, theirs):
    view, x = both(tiny)
    view, x = ours(view), theirs(x)
    assert (view.shape, view.strides, view.offset) == (
        tuple(x.shape),
        x.stride(),
        x.storage_offset(),
    )
    assert view.tolist() == x.tolist()


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_the_view_rule_by_chunks_is_the_library_s(tiny, shape, data):
    order = data.draw(st.permutations(range(len(shape))))
    step = data.draw(st.integers(1, 2))
    wanted = data.draw(shapes_of(prod(shape)))
    x = T.arange(step * prod(shape)).reshape(*shape, step).select(-1, 0).permute(*order)
    found = tiny.view_strides(tuple(x.shape), x.stride(), wanted)
    try:
        expected = x.view(wanted).stride()
    except RuntimeError:
        expected = None
    assert (found is None) == (expected is None)
    if found:  # the stride of a dimension of size 1 is never used, and may be anything
        used = [d for d, size in enumerate(wanted) if size > 1]
        assert [found[d] for d in used] == [expected[d] for d in used]
