"""Corners of autograd that random programs found: each small program does what PyTorch does with it."""

import numpy as np
import pytest

import tensorlab
from tests.ops.agreement import agree
from tests.oracle import require_torch


def leaf(T, *values):
    return T.tensor(values, dtype=T.float64, requires_grad=True)


def computed(T, *values):
    return leaf(T, *values) * 1


# ------------------------------------------------------------ writing through a subscript
def write_and_go_back_twice(subscript):
    def program(T):
        x = computed(T, 1, 2)
        exec(f"x[{subscript}] = 0.25", {"x": x})
        x.backward(T.ones_like(x))
        x.backward(T.ones_like(x))

    return program


@pytest.mark.parametrize(
    "subscript", [":", "0:", "0:9:1", "...", "-2:", "-2::1", ":, None", "None"]
)
def test_only_slices_from_0_write_to_the_tensor_itself(subscript):
    agree(write_and_go_back_twice(subscript))


GRADIENTS = {
    "first an empty part": lambda T, x: x.as_strided((0,), (1,)),
    "windows": lambda T, x: x.as_strided((2, 2), (1, 1)),
    "an expanded tensor in windows": lambda T, x: x.expand(3, 4).as_strided((2,), (1,)),
    "None, then a number": lambda T, x: x[None, 0],
    "None, Ellipsis, a number": lambda T, x: x[None, ..., 0],
    "None beside a whole slice": lambda T, x: x[None, :],
    "None beside a slice from the end": lambda T, x: x[None, -4:],
    "a number, then None": lambda T, x: x[0, None],
    "a slice, then None": lambda T, x: x[1:, None],
    "two Ellipses": lambda T, x: x[..., None, ...],
    "a whole slice": lambda T, x: x[:],
    "a tuple of a whole slice": lambda T, x: x[:,],
    "joined empty parts": lambda T, x: T.cat([x[:0], x[:0]]),
    "a broadcast write": lambda T, x: write(T.zeros(3, 4, dtype=x.dtype), slice(0, 2), x[None]),
    "a broadcast column": lambda T, x: write(
        T.zeros(4, 3, dtype=x.dtype), slice(0, 4), x.view(4, 1)
    ),
    "a write of nothing": lambda T, x: write(T.zeros(3, 4, dtype=x.dtype), slice(3, 9), x[None]),
    "masked_scatter_": lambda T, x: T.zeros(4, dtype=x.dtype).masked_scatter_(
        T.tensor([True, False, True, False]), x
    ),
    "prod with a zero": lambda T, x: (x - 1).prod(0),
    "prod with zeros": lambda T, x: ((x - 1) * (x - 2)).prod(0, keepdim=True),
    "prod of single elements": lambda T, x: (x - 1).view(4, 1).prod(1),
    "reflected division": lambda T, x: 2 / x,
    "layer_norm": lambda T, x: T.nn.functional.layer_norm(x.view(2, 2), (2,), eps=0.1) + 1,
}


def write(x, index, value):
    x[index] = value
    return x


@pytest.mark.parametrize("creates_graph", [False, True])
@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_has_pytorchs_form_version_and_history(name, creates_graph):
    def program(T):
        x = leaf(T, 1, 2, 3, 4)
        out = GRADIENTS[name](T, x)
        (first,) = T.autograd.grad(
            (out * out).sum(), [x], create_graph=creates_graph, allow_unused=True
        )
        if not creates_graph:
            return [first]
        form = [first.stride(), first._version, first.requires_grad, first.tolist()]
        if not first.requires_grad:
            return form
        return form + list(T.autograd.grad((first * first).sum(), [x]))

    agree(program, tolerance=1e-12)


def test_gradients_of_joined_empty_tensors_are_added():
    def program(T):
        x = T.zeros(0, requires_grad=True)
        out = T.cat([x, x])
        return list(T.autograd.grad(out.sum(), [x]))

    agree(program)


def test_a_reflected_division_needs_its_operand_no_more():
    def program(T):
        x = leaf(T, 1, 2)
        y = 2 / x
        with T.no_grad():
            x.mul_(2)
        y.sum().backward()
        return [y, x.grad]

    agree(program)


LAID_OUT = {
    "relu": lambda T, x: T.relu(x),
    "relu_": lambda T, x: (x * 1).relu_(),
    "clamp": lambda T, x: x.clamp(2, 3),
    "clamp from below": lambda T, x: x.clamp(min=2),
    "clamp from above": lambda T, x: x.clamp(max=2),
    "masked_fill": lambda T, x: x.masked_fill(x > 2, 0.5),
    "norm": lambda T, x: x.norm() + T.zeros(3, 2, dtype=x.dtype),
}


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("name", LAID_OUT)
def test_a_gradient_has_pytorchs_order_of_dimensions(name, is_turned):
    def program(T):
        x = T.arange(6.0, dtype=T.float64)
        x = (x.view(2, 3).t() if is_turned else x.view(3, 2)).detach().requires_grad_()
        grad = T.arange(6.0, dtype=T.float64)
        grad = grad.view(3, 2) if is_turned else grad.view(2, 3).t()
        return list(T.autograd.grad(LAID_OUT[name](T, x), [x], grad))

    agree(program, tolerance=1e-12)


def test_a_result_of_reflected_division_is_laid_out_as_the_divisor():
    agree(lambda T: 2 / (T.ones(2, 6, 2).as_strided((2, 6, 1, 2), (6, 1, 1, 6)) + 1))


# ------------------------------------------------------------ elements that share a place
SHARED = {
    "copy_ of the same elements": lambda T, x, b: x.copy_(b.expand(2, 3)),
    "copy_ of itself": lambda T, x, b: x.copy_(x[:]),
    "copy_ of another layout": lambda T, x, b: x.copy_(b),
    "setitem of the same elements": lambda T, x, b: write(x, ..., b[None]),
    "fill_ with a number": lambda T, x, b: x.fill_(2),
    "fill_ with a tensor": lambda T, x, b: x.fill_(b[0]),
    "setitem of a number": lambda T, x, b: write(x, ..., 2.0),
    "masked_fill_": lambda T, x, b: x.masked_fill_(x > 1, 5),
    "masked_fill_ with a tensor": lambda T, x, b: x.masked_fill_(b > 1, T.tensor(5.0)),
    "cumsum_ along a dimension that is not there": lambda T, x, b: x.cumsum_(3),
}


def test_windows_are_read_before_they_are_written_where_types_differ():
    def program(T):
        x = T.tensor([[1.0, 2.0, 4.0]])
        windows = x.unfold(1, 2, 1)
        windows.div_(T.tensor([3.0], dtype=T.float64))
        return [windows, x]

    agree(program)


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize("name", SHARED)
def test_writing_to_an_expanded_tensor_does_what_pytorch_does(name, is_recorded):
    def program(T):
        b = computed(T, 0, 1, 2)
        b = b if is_recorded else b.detach()
        x = b.expand(2, 3)
        return [SHARED[name](T, x, b), x, b]

    agree(program)


def test_a_running_product_in_place_keeps_what_it_was_for_the_gradient():
    def program(T):
        start = leaf(T, 1, 2, 3)
        x = (start * 1).cumprod_(0)
        x.sum().backward()
        return [x, start.grad]

    agree(program)


def test_no_gradient_leads_through_a_write_to_an_expanded_tensor():
    def program(T):
        x = computed(T, 1, 2).expand(3, 2)
        x.masked_fill_(x > 1, 0.5)
        x.sum().backward()

    agree(program)


# ------------------------------------------------------------ integers that require grad
INTEGERS = [
    "x.to(T.int32)",
    "x.to(T.bool)",
    "x.to(T.float64)",
    "x * 1.5",
    "x > 1",
    "x.argmax()",
    "x.clone()",
    "x + 1",
    "x[0]",
    "x.sum()",
    "x.max(1)[0]",
    "x.sort(1)[0]",
    "T.stack([x, x])",
    "T.where(x > 0, x, x)",
    "x.squeeze()",
    "x.neg_()",
    "x.copy_(T.ones(3, requires_grad=True))",
]


def integers(T):
    x = T.ones(1, 2, 3, dtype=T.int64)
    x[0, 0] = T.tensor(0.25, requires_grad=True)
    return x


@pytest.mark.parametrize("expression", INTEGERS)
def test_integers_that_require_grad_do_what_pytorchs_do(expression):
    agree(lambda T: eval(expression, {"T": T, "x": integers(T)}))


@pytest.mark.parametrize("expression", INTEGERS)
def test_views_of_such_integers_made_under_no_grad_do_so_too(expression):
    def program(T):
        with T.no_grad():
            x = integers(T).expand(1, 2, 3)
        return eval(expression, {"T": T, "x": x})

    agree(program)


def test_squeezing_such_integers_in_place_changes_nothing():
    x = integers(tensorlab)
    with pytest.raises(RuntimeError, match="integers have no gradient"):
        x.squeeze_()
    assert x.shape == (1, 2, 3)
    assert x._version == 1


# ------------------------------------------------------------ custom functions
def tripling(T):
    class Triple(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(3)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    return Triple


def test_a_tensor_marked_dirty_loses_its_gradient():
    def program(T):
        x = computed(T, 1, 2)
        x.retain_grad()
        x.sum().backward(retain_graph=True)
        tripling(T).apply(x)
        return [x, x.grad]

    agree(program)


def test_a_leaf_marked_dirty_under_no_grad_comes_back_detached():
    def program(T):
        x = leaf(T, 1, 2)
        with T.no_grad():
            y = tripling(T).apply(x)
        return [x, y, x is y]

    agree(program)


def test_relu_keeps_the_sign_of_zero():
    agree(lambda T: T.relu(T.full((17,), -0.0)).reciprocal())


def test_a_number_that_does_not_fit_is_noticed_before_an_index_that_is_not_there():
    agree(lambda T: write(T.zeros(0, dtype=T.uint8), (None, 0), -1.5))


# ------------------------------------------------------------ sums that should be exactly 0
LAYOUTS = [(n,) for n in range(1, 40)] + [(a, b) for a in range(1, 16) for b in range(1, 12)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layout", ["row-major", "transposed"])
@pytest.mark.parametrize("dim", [None, 0, -1])
def test_short_sums_equal_pytorchs_to_the_last_bit(dtype, layout, dim):
    torch = require_torch()
    generator = np.random.default_rng(0)
    for shape in LAYOUTS:
        numbers = generator.standard_normal(shape).astype(dtype)
        numbers = numbers if layout == "row-major" else numbers.T
        ours, theirs = (
            T.from_numpy(numbers).sum() if dim is None else T.from_numpy(numbers).sum(dim)
            for T in (tensorlab, torch)
        )
        assert ours.tolist() == theirs.tolist(), shape


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_layer_norm_of_short_rows_equals_pytorchs_to_the_last_bit(dtype):
    torch = require_torch()
    generator = np.random.default_rng(0)
    for n in range(1, 40):
        numbers = generator.standard_normal((5, n)).astype(dtype)
        ours, theirs = (
            T.nn.functional.layer_norm(T.from_numpy(numbers), (n,), eps=0.1)
            for T in (tensorlab, torch)
        )
        assert ours.tolist() == theirs.tolist(), n


# ------------------------------------------------------------ layouts
def test_parts_stacked_behind_the_last_dimension_may_lie_channels_last():
    def program(T):
        x = T.arange(4.0).reshape(2, 2).unfold(1, 2, 1)  # strides (2, 1, 1)
        return [T.stack([x, x], dim) for dim in range(4)]

    agree(program)


def test_squeezing_nothing_hands_the_gradient_on_as_it_is():
    def program(T):
        x = T.tensor(0.5, requires_grad=True)
        x.squeeze().backward()
        return [x.grad]

    agree(program)


def test_permute_counts_dimensions_before_it_looks_at_them():
    agree(lambda T: [T.ones(3).permute((1, 0))])
    agree(lambda T: [T.ones(3, 2).permute((0, 2))])


# ------------------------------------------------------------ gradients that are views keep the memory they show
@pytest.mark.parametrize("n", [1, 2])
def test_gradients_of_a_product_with_itself_are_added_where_pytorch_adds_them(n):
    def program(T):
        x = T.full((n, n), -0.5).requires_grad_()
        y = x @ x
        return list(T.autograd.grad((y * y).sum(), [x]))

    agree(program)


def test_the_gradient_of_an_expanded_number_is_a_sum():
    def program(T):
        x = T.tensor(-1.5, requires_grad=True)
        y = x.expand(())
        return list(T.autograd.grad((y * y).sum(), [x]))

    agree(program)


def test_the_gradient_of_stacked_parts_may_be_written():
    def program(T):
        x = T.ones(3, requires_grad=True) * 1
        y = T.stack([x, x], 0)
        (grad,) = T.autograd.grad((y * y).sum(), [x], create_graph=True)
        grad[2] *= 3
        return [grad]

    agree(program)


def test_repeating_a_tensor_that_has_as_many_dimensions_as_there_can_be_is_refused():
    x = tensorlab.ones([1] * 16)
    with pytest.raises(RuntimeError, match="16"):
        x.repeat_interleave(2, 0)
    assert x[0].repeat_interleave(2, 0).shape == (2, *[1] * 14)
