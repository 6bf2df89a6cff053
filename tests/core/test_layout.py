"""Layout arithmetic, held against NumPy: the one equation, view rule, broadcasting, contiguity."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorlab as T
from tests.oracle import require_torch

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


def counted(shape):
    """The numbers 0, 1, 2, ... in this shape, as a tensor and as an array of their own."""
    n = int(np.prod(shape))
    return T.arange(n).reshape(shape), np.arange(n).reshape(shape)


@st.composite
def views(draw):
    """A tensor and an array after the same few view operations."""
    x, a = counted(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)))
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["slice", "permute", "expand", "select"]))
        if kind == "slice":
            dim = draw(st.integers(0, a.ndim - 1)) if a.ndim else None
            if dim is None:
                continue
            step = draw(st.integers(1, 3))
            start = draw(st.integers(0, a.shape[dim]))
            index = (slice(None),) * dim + (slice(start, None, step),)
            x, a = x[index], a[index]
        elif kind == "permute":
            order = draw(st.permutations(range(a.ndim)))
            x, a = x.permute(*order) if a.ndim else x, a.transpose(order)
        elif kind == "expand" and a.ndim < 4:
            n = draw(st.integers(1, 3))
            x, a = x.expand(n, *x.shape), np.broadcast_to(a, (n, *a.shape))
        elif kind == "select" and a.ndim and a.shape[0]:
            x, a = x[0], a[0]
    return x, a


@given(views())
def test_element_i_lies_at_offset_plus_sum_of_index_times_stride(pair):
    x, a = pair
    assert x.tolist() == a.tolist()
    flat = x.untyped_storage().tolist()
    for index in np.ndindex(*a.shape):
        at = x.storage_offset() + sum(i * s for i, s in zip(index, x.stride(), strict=True))
        assert flat[8 * at] == a[index] % 256


@given(views())
def test_is_contiguous_agrees_with_numpy_on_memory_of_the_same_strides(pair):
    x, _ = pair
    array = x.numpy()
    assert x.is_contiguous() == array.flags.c_contiguous or x.numel() == 0


def shapes_of(n):
    """Shapes with n elements, those of size 1 in between included."""

    @st.composite
    def draw_shape(draw):
        rest, shape = n, draw(st.lists(st.just(1), max_size=1))
        while rest > 1:
            size = draw(st.sampled_from([d for d in range(2, rest + 1) if rest % d == 0]))
            shape += [size, *draw(st.lists(st.just(1), max_size=1))]
            rest //= size
        return tuple(shape) if n else (*shape, 0)

    return draw_shape()


@given(views(), st.data())
def test_view_shares_memory_or_raises_and_reshape_always_gives_the_values(pair, data):
    x, a = pair
    shape = data.draw(shapes_of(a.size))
    expected = a.reshape(shape)
    assert x.reshape(shape).tolist() == expected.tolist()
    if not np.shares_memory(x.numpy().reshape(shape), x.numpy()) and a.size:
        with pytest.raises(RuntimeError, match="reshape"):
            x.view(shape)
    else:
        view = x.view(shape)
        assert view.tolist() == expected.tolist()
        assert view.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@given(shapes, shapes)
@settings(max_examples=200)
def test_broadcasting_agrees_with_numpy(one, two):
    x, y = T.zeros(one), T.zeros(two)
    try:
        expected = np.broadcast_shapes(one, two)
    except ValueError:
        with pytest.raises(RuntimeError, match="broadcast"):
            x * y
    else:
        assert tuple((x * y).shape) == expected


@given(views())
def test_a_pointwise_result_has_the_values_in_any_layout(pair):
    x, a = pair
    assert (x * 3).tolist() == (a * 3).tolist()
    assert (x * x).tolist() == (a * a).tolist()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: T.empty(2**62), RuntimeError),
        (lambda: T.empty(2**40, 2**40), RuntimeError),
        (lambda: T.empty(2**64), (RuntimeError, TypeError)),
        (lambda: T.empty(-1), RuntimeError),
        (lambda: T.ones(3).view(-2), RuntimeError),
        (lambda: T.ones(6).view(-1, -1), RuntimeError),
        (lambda: T.ones(6).view(4), RuntimeError),
        (lambda: T.ones(1).expand(2**62, 2**62), RuntimeError),
        (lambda: T.ones(3).expand(2), RuntimeError),
        (lambda: T.ones(2, 3).transpose(0, 2), IndexError),
        (lambda: T.ones(2, 3).permute(0, 0), RuntimeError),
        (lambda: T.ones(3).as_strided((4,), (1,)), RuntimeError),
        (lambda: T.ones(3).as_strided((2,), (1,), -1), RuntimeError),
        (lambda: T.ones(3).narrow(0, 2, 2), RuntimeError),
        (lambda: T.ones(3).select(0, 3), IndexError),
        (lambda: T.ones(*[1] * 17), RuntimeError),
    ],
)
def test_shapes_that_cannot_be_raise_what_pytorch_raises(make, error):
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("size", [2**70, -(2**70), np.uint64(2**63)], ids=repr)
@pytest.mark.parametrize(
    "call",
    [
        lambda size: T.zeros(2, size),
        lambda size: T.ones(2, 1).expand(2, size),
        lambda size: T.ones(2, 1).reshape([2, size]),
        lambda size: T.ones(2, 1).as_strided((2, size), (1, 1)),
        lambda size: T.ones(2, 1).repeat(2, size),
    ],
)
def test_a_size_that_needs_more_than_64_bits_is_named(call, size):
    with pytest.raises(RuntimeError, match=f"size {size} at position 1 does not fit in 64 bits"):
        call(size)


@pytest.mark.parametrize(
    "name", ["size", "stride", "numel", "dim", "data_ptr", "storage_offset", "is_inference"]
)
def test_a_method_called_with_something_else_is_an_error(name):
    for other in ([1, 2], None, 5, np.ones(3)):
        with pytest.raises(TypeError):
            getattr(T.Tensor, name)(other)


def test_memory_formats_have_the_strides_of_pytorch_for_all_small_sizes():
    torch = require_torch()

    def strides(package, shape, memory_format):
        x = package.zeros(shape).contiguous(memory_format=getattr(package, memory_format))
        results = x, package.empty_like(x), x.clone(), x + 1, x.to(package.float64), x[:1] * 2
        return [(one.stride(), one.is_contiguous(memory_format=package.channels_last))
                if one.ndim == 4 else one.stride() for one in results]  # fmt: skip

    for memory_format, ndim in (("channels_last", 4), ("channels_last_3d", 5)):
        for shape in itertools.product((1, 2, 3), repeat=ndim):
            assert strides(T, shape, memory_format) == strides(torch, shape, memory_format), shape
        for shape in ((2, 3), (2,) * (ndim - 1), (2,) * (ndim + 1)):
            with pytest.raises(RuntimeError, match=f"{memory_format}.* needs {ndim} dimensions"):
                T.zeros(shape).contiguous(memory_format=getattr(T, memory_format))
