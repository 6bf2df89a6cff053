"""Norms with their statistics, reductions by segments, and what else PyTorch shows at its front, next to PyTorch."""

import math

import pytest

import tensorlab
from tensorlab.errors import DimensionError
from tests.ops.agreement import agree


def numbers(T, *shape, requires_grad=False):
    x = (T.arange(T.empty(shape).numel()) * 7 % 11 - 4.5) / 4
    return x.double().reshape(shape).requires_grad_(requires_grad)


def with_gradients(T, function, *given):
    """What a function returns, and the gradients of all its results together."""
    results = function(*given)
    results = results if isinstance(results, tuple) else (results,)
    total = sum((one * one.cos()).sum() for one in results if one.requires_grad)
    leaves = [one for one in given if one is not None and one.requires_grad]
    grads = T.autograd.grad(total, leaves)
    return [one.detach().tolist() for one in (*results, *grads)]


# ---------------------------------------------------------------- norms
@pytest.mark.parametrize("has_weight", [True, False])
def test_layer_norm_with_its_statistics(has_weight):
    def call(T):
        x = numbers(T, 2, 3, 4, requires_grad=True)
        weight = numbers(T, 3, 4, requires_grad=True) if has_weight else None
        return with_gradients(
            T, lambda x, weight: T.native_layer_norm(x, (3, 4), weight, weight, 1e-5), x, weight
        )

    agree(call, 1e-9)
    with pytest.raises(RuntimeError, match="last dimensions"):
        tensorlab.native_layer_norm(tensorlab.ones(2, 3), (2,), None, None, 0.0)


@pytest.mark.parametrize("has_weight", [True, False])
def test_group_norm_with_its_statistics(has_weight):
    def call(T):
        x = numbers(T, 2, 6, 3, requires_grad=True)
        weight = numbers(T, 6, requires_grad=True) if has_weight else None
        return with_gradients(
            T, lambda x, w: T.native_group_norm(x, w, w, 2, 6, 3, 2, 1e-5), x, weight
        )

    agree(call, 1e-9)


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_with_its_statistics(training):
    def call(T):
        x, weight = numbers(T, 3, 2, 4, requires_grad=True), numbers(T, 2, requires_grad=True)
        mean, variance = T.zeros(2).double(), T.ones(2).double()
        found = with_gradients(
            T,
            lambda x, w: T.native_batch_norm(x, w, None, mean, variance, training, 0.3, 1e-5),
            x,
            weight,
        )
        out = [T.empty(3, 2, 4).double(), T.empty(2).double(), T.empty(2).double()]
        if training:
            T.native_batch_norm(x.detach(), None, None, None, None, True, 0.1, 1e-5, out=out)
            found += [one.tolist() for one in out]
        return found, mean.tolist(), variance.tolist()

    agree(call, 1e-9)


# ---------------------------------------------------------------- segments
@pytest.mark.parametrize("initial", [None, 0.25])
@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "max", "min"])
def test_segments(reduce, initial):
    def call(T):
        options = {"initial": initial}
        x, rows = numbers(T, 6, requires_grad=True), numbers(T, 2, 4, 3, requires_grad=True)

        def reduced(x, rows):
            return (
                T.segment_reduce(x, reduce, lengths=T.tensor([1, 3, 2]), **options),
                T.segment_reduce(
                    rows, reduce, lengths=T.tensor([[1, 3], [2, 2]]), axis=1, **options
                ),
                T.segment_reduce(x, reduce, offsets=T.tensor([0, 2, 6]), **options),
                T.segment_reduce(x, reduce, offsets=T.tensor([1, 2, 4]), **options),
                T.segment_reduce(x, reduce, lengths=T.tensor([1, 2]), unsafe=True, **options),
            )

        return with_gradients(T, reduced, x, rows)

    agree(call, 1e-9)
    agree(lambda T: T.segment_reduce(T.ones(2), reduce, lengths=T.tensor([0, 2]), initial=initial))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"lengths": [1, 2]},
        {"lengths": [1, 5]},
        {"lengths": [-1, 5]},
        {"lengths": [4], "offsets": [0, 4]},
        {"indices": [0]},
        {"lengths": [[4]]},
    ],
)
def test_segments_that_do_not_fit(options):
    def call(T):
        T.segment_reduce(T.ones(4), "sum", **{name: T.tensor(v) for name, v in options.items()})

    with pytest.raises(RuntimeError, match="segment_reduce: "):
        call(tensorlab)


def test_segments_of_a_dimension_that_is_not_there():
    with pytest.raises(DimensionError, match="axis 1"):
        tensorlab.segment_reduce(tensorlab.ones(4), "sum", lengths=tensorlab.tensor([4]), axis=1)


# ---------------------------------------------------------------- memory and parts
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_empty_permuted_lies_in_the_order_that_is_given(order):
    agree(lambda T: (T.empty_permuted((2, 3, 4), order).stride(), T.empty_permuted((), ()).shape))


@pytest.mark.parametrize("order", [(0,), (0, 0), (0, 2), (0, -1)])
def test_empty_permuted_names_each_dimension_once(order):
    agree(lambda T: T.empty_permuted((2, 3), order))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_chunks_of_several_tensors_are_joined(dim):
    agree(lambda T: T._chunk_cat([numbers(T, 2, 5), numbers(T, 2, 5)], dim, 3))
    agree(lambda T: T._chunk_cat([numbers(T, 3), numbers(T, 4)], dim, 2))
    agree(lambda T: T._chunk_cat([numbers(T, 3), numbers(T, 3)], 0, 0))


def test_masked_indices_may_lie_anywhere():
    def call(T):
        x = numbers(T, 3, 4, requires_grad=True)
        mask = T.tensor([True, False, True])
        indices = [T.tensor([0, 90, -1]), T.tensor([3, -70, 1])]
        values = numbers(T, 3, requires_grad=True)
        found = with_gradients(T, lambda x: T._unsafe_masked_index(x, mask, indices, 7.0), x)
        put = T._unsafe_masked_index_put_accumulate
        return found + with_gradients(T, lambda x, v: put(x, mask, indices, v), x, values)

    agree(call, 1e-9)


# ---------------------------------------------------------------- ops.aten
@pytest.mark.parametrize("dtype", [None, "float64"])
def test_softmax_of_scores_that_are_all_masked_out(dtype):
    def call(T):
        x = T.tensor([[0.0, 1.0, -math.inf], [-math.inf] * 3], requires_grad=True)
        dtypes = () if dtype is None else (getattr(T, dtype),)
        y = T.ops.aten._safe_softmax.default(x, 1, *dtypes)
        (grad,) = T.autograd.grad((y * y).sum(), x)
        return y.detach(), grad

    agree(call, 1e-6)


@pytest.mark.parametrize(
    "options", [(2, 2, 0, 1), (2, 1, 1, 1), (2, 2, 1, 2), ([3, 2], 2, [1, 0], 1)]
)
def test_gradients_of_maxima_by_their_places(options):
    def call(T):
        size, stride, padding, dilation = options
        x = numbers(T, 2, 5, 6, requires_grad=True)
        names = {"kernel_size": size, "stride": stride, "padding": padding, "dilation": dilation}
        out, indices = T.nn.functional.max_pool2d(x, **names, return_indices=True)
        grad = numbers(T, *out.shape, requires_grad=True)
        backward = T.ops.aten.max_pool2d_with_indices_backward.default
        pairs = [[one] * 2 if isinstance(one, int) else one for one in options]
        made = backward(grad, x, *pairs, False, indices)
        twice = T.autograd.grad((made * made).sum(), [grad, x])
        return [one.detach().contiguous() + 0 for one in (made, *twice)]

    agree(call, 1e-12)
