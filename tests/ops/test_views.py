"""Views: layouts, in-place forms, and what autograd says to writes through them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorlab
from tests.ops.agreement import agree


def numbers(T, *shape):
    return T.arange(int(np.prod(shape)), dtype=T.float32).view(shape)


LAYOUTS = {
    "view of nothing": lambda T: T.zeros(0, 3).view(-1, 3),
    "view of nothing unknown": lambda T: T.zeros(0, 3).view(-1, 0),
    "view of a slice": lambda T: numbers(T, 4, 6)[:, :4].view(4, 2, 2),
    "view of sizes of 1": lambda T: numbers(T, 4, 3).t()[:, :1].view(1, 3, 1),
    "view 0-d": lambda T: T.zeros(1).view(()),
    "view dtype": lambda T: numbers(T, 2, 3).view(T.int32),
    "view dtype smaller": lambda T: numbers(T, 2, 3).view(T.int16),
    "view dtype larger": lambda T: numbers(T, 2, 4).view(T.float64).shape,
    "view dtype uneven": lambda T: numbers(T, 2, 3).view(T.int64),
    "view dtype strided": lambda T: numbers(T, 2, 3).t().view(T.int16),
    "view dtype 0-d": lambda T: T.zeros(()).view(T.int16),
    "view dtype is not followed": lambda T: (numbers(T, 2).requires_grad_() * 2).view(T.float32),
    "transpose of one": lambda T: numbers(T, 2, 3).transpose(0, 0),
    "transpose 0-d": lambda T: T.zeros(()).transpose(0, -1),
    "squeeze strides": lambda T: T.zeros(1, 2, 1).squeeze(1),
    "squeeze none": lambda T: T.zeros(1, 2, 1).squeeze(()),
    "squeeze several": lambda T: T.zeros(1, 2, 1).squeeze(0, 2),
    "unsqueeze strides": lambda T: numbers(T, 2, 3).t().unsqueeze(1),
    "expand 0-d": lambda T: T.zeros(()).expand(1),
    "expand new": lambda T: T.zeros(2, 1).expand(1, 2, 1),
    "expand to none": lambda T: T.zeros(2, 1).expand(0, 2, 1),
    "narrow to none": lambda T: numbers(T, 2, 3).narrow(1, 3, 0),
    "narrow by tensor": lambda T: numbers(T, 2, 3).narrow(1, T.tensor(1), 1),
    "select of nothing": lambda T: T.zeros(0, 3).select(1, 1),
    "diagonal beyond": lambda T: numbers(T, 2, 3).diagonal(-5),
    "diag beyond": lambda T: numbers(T, 2, 3).diag(5),
    "unfold 0-d": lambda T: T.tensor(3.0).unfold(0, 1, 1),
    "unfold none": lambda T: T.tensor(3.0).unfold(0, 0, 1),
    "split of nothing": lambda T: T.zeros(0).split(0),
    "chunk of nothing": lambda T: T.zeros(0, 2).chunk(3),
    "unbind of nothing": lambda T: T.zeros(2, 0).unbind(1),
    "tensor_split beyond": lambda T: numbers(T, 2, 3).tensor_split((1, 5, -1), 1),
    "tensor_split by tensor": lambda T: numbers(T, 5).tensor_split(T.tensor([1, 3])),
    "flatten 0-d": lambda T: T.zeros(()).flatten(),
    "flatten is itself": lambda T: (lambda x: x.flatten() is x)(T.zeros(3)),
    "contiguous is itself": lambda T: (lambda x: x.contiguous() is x)(T.zeros(3)),
    "reshape is not itself": lambda T: (lambda x: x.reshape(3) is x)(T.zeros(3)),
    "contiguous of sizes of 1": lambda T: numbers(T, 4, 3).t()[:, :1].contiguous().stride(),
    "cat of channels last": lambda T: T.cat(
        [T.zeros(2, 3, 4, 5).to(memory_format=T.channels_last)] * 2, 1
    ).stride(),
    "cat of one channel": lambda T: T.cat(
        [T.zeros(2, 1, 4, 5).to(memory_format=T.channels_last)] * 2, 1
    ).stride(),
    "cat of layouts": lambda T: T.cat(
        [T.zeros(2, 3, 4, 5).to(memory_format=T.channels_last), T.zeros(2, 3, 4, 5)]
    ).stride(),
    "cat of permuted": lambda T: T.cat([T.zeros(2, 3, 4, 5).permute(3, 2, 1, 0)] * 2, 1).stride(),
    "cat of volumes": lambda T: T.cat(
        [T.zeros(2, 3, 4, 5, 6).to(memory_format=T.channels_last_3d)] * 2
    ).stride(),
    "stack of channels last": lambda T: [
        T.stack([T.zeros(2, 3, 4, 5).to(memory_format=T.channels_last)] * 2, d).stride()
        for d in range(5)
    ],
    "cat of skipped": lambda T: T.cat([T.zeros(0), T.zeros(0)], 1),
    "cat out of integers": lambda T: T.cat([T.zeros(2)], out=T.zeros(2, dtype=T.int64)),
    "cat out of itself": lambda T: (lambda x: T.cat([x, x], out=x))(T.zeros(2)),
    "flip of a transpose": lambda T: numbers(T, 2, 3).t().flip(0),
    "flip of a slice": lambda T: numbers(T, 4, 6)[1:, ::2].flip(0, 1),
    "roll of a transpose": lambda T: numbers(T, 2, 3).t().roll(1, 0),
    "rot90 strides": lambda T: [numbers(T, 2, 3).rot90(k) for k in range(-1, 4)],
    "repeat many": lambda T: numbers(T, 2, 1, 2).repeat(1, 2, 2, 1, 2, 1, 2),
    "H": lambda T: (numbers(T, 2, 3).H, T.zeros(2, 2, 2).mH.shape),
    "H of a batch": lambda T: T.zeros(2, 2, 2).H,
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_that_of_pytorch(name):
    agree(LAYOUTS[name])


IN_PLACE = {
    "t_": lambda x: x.t_(),
    "transpose_": lambda x: x.transpose_(0, 1),
    "swapaxes_": lambda x: x.swapaxes_(0, 1),
    "squeeze_": lambda x: x.squeeze_(),
    "unsqueeze_": lambda x: x.unsqueeze_(0),
    "as_strided_": lambda x: x.as_strided_((2,), (1,), 1),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_an_in_place_form_changes_the_tensor_and_its_version(name):
    change = IN_PLACE[name]
    agree(lambda T: change(numbers(T, 2, 3)))
    agree(lambda T: change(numbers(T, 2, 3).requires_grad_()))

    def gradient(T):
        x = numbers(T, 2, 3).requires_grad_()
        y = x * 2
        assert change(y) is y
        (y * y).sum().backward()
        return y, x.grad

    def of_a_view(T):
        x = numbers(T, 2, 3).requires_grad_()
        y = x * 2
        z = y.view(3, 2)
        change(z)
        other = y.view(6)
        (z * z).sum().backward()
        return z, y, other, x.grad

    agree(gradient)
    agree(of_a_view)


@pytest.mark.parametrize("name", ["split", "chunk", "unbind"])
def test_views_returned_together_refuse_writes(name):
    call = {
        "split": lambda x: x.split(1),
        "chunk": lambda x: x.chunk(2),
        "unbind": lambda x: x.unbind(),
    }[name]
    x = tensorlab.ones(2, 3, requires_grad=True) * 2
    first = call(x)[0]
    with pytest.raises(RuntimeError, match="one of several"):
        first.mul_(2)
    assert first.tolist() == call(x)[0].tolist()
    with tensorlab.no_grad():
        first.mul_(2)
    assert x[0].tolist() == [4.0, 4.0, 4.0]


def test_views_made_one_by_one_accept_writes():
    def program(T):
        x = numbers(T, 4).requires_grad_()
        y = x * 2
        first, _ = y.tensor_split(2)
        first.mul_(3)
        y.sum().backward()
        return y, x.grad

    agree(program)


def test_what_has_the_common_shape_is_no_view_of_itself():
    x = tensorlab.zeros(2, 3)
    agree(lambda T: [one._is_view() for one in T.broadcast_tensors(T.zeros(2, 3), T.zeros(3))])
    assert tensorlab.broadcast_tensors(x, x[0])[0] is x


def test_as_strided_stays_inside_the_storage():
    x = tensorlab.arange(6.0)
    for size, stride, offset in [
        ((7,), (1,), 0),
        ((2, 4), (3, 1), 0),
        ((1,), (1,), 6),
        ((1,), (1,), -1),
    ]:
        with pytest.raises(RuntimeError, match=r"^as_strided"):
            x.as_strided(size, stride, offset)
    assert x.as_strided((0, 20), (1, 1), 100).shape == (0, 20)
    agree(lambda T: T.arange(6.0).as_strided((2, 2), (1,)))
    agree(lambda T: T.arange(6.0).as_strided((2, 2), (1, -1)))
    agree(lambda T: T.arange(6.0).as_strided(2, 1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_gradients_add_up_where_windows_overlap(dtype):
    def program(T):
        x = numbers(T, 6).to(getattr(T, dtype)).requires_grad_()
        x.unfold(0, 3, 1).sum().backward()
        windows = x.grad.clone()
        x.grad = None
        x.as_strided((4, 2), (1, 1)).sum().backward()
        return windows, x.grad

    agree(program)


def test_resize_keeps_places_and_refuses_what_would_move_others():
    agree(lambda T: numbers(T, 2, 3).resize_(2, 2))
    agree(lambda T: numbers(T, 2, 3).t().resize_(3, 2))
    agree(lambda T: numbers(T, 2, 3).resize_(-1, 3))
    agree(lambda T: numbers(T, 2, 3).requires_grad_().resize_(3))
    agree(lambda T: numbers(T, 2, 3).resize_as_(T.zeros(2)))
    x = tensorlab.arange(3)
    assert x.resize_(2, 3).shape == (2, 3)
    view = x.view(3, 2)
    with pytest.raises(RuntimeError, match="other tensors look at its storage"):
        x.resize_(100)
    assert view.tolist() == [[0, 1], [2, 0], [0, 0]]
    with pytest.raises(RuntimeError, match="belongs to another object"):
        tensorlab.from_numpy(np.zeros(3)).resize_(100)


def test_set_shows_other_memory():
    agree(
        lambda T: (lambda x, y: (x.set_(y), x.data_ptr() == y.data_ptr()))(
            T.zeros(2), numbers(T, 2, 3).t()[1:]
        )
    )
    agree(lambda T: T.zeros(2).set_())
    agree(lambda T: T.zeros(2).set_().untyped_storage().nbytes())
    for offset in (0, 2, 6):
        ours = tensorlab.zeros(2).set_(numbers(tensorlab, 6).untyped_storage(), offset)
        assert ours.tolist() == numbers(tensorlab, 6)[offset:].tolist()
    agree(lambda T: T.zeros(2).set_(numbers(T, 6).untyped_storage(), 1, (2, 2), (1, 2)))
    agree(lambda T: T.zeros(2).set_(T.zeros(2, dtype=T.int64)))
    agree(lambda T: T.zeros(2, requires_grad=True).set_(T.zeros(2)))
    with pytest.raises(RuntimeError, match=r"^set_: .*reach outside"):
        tensorlab.zeros(2).set_(tensorlab.zeros(2).untyped_storage(), 0, (3,))


# ---------------------------------------------------------------- random chains of views
@st.composite
def chains(draw):
    """A shape, and view operations as (method, arguments that fit whatever comes before)."""
    shape = draw(st.lists(st.integers(0, 4), max_size=4))
    steps = draw(
        st.lists(
            st.tuples(
                st.sampled_from(
                    [
                        "transpose",
                        "narrow",
                        "select",
                        "unsqueeze",
                        "squeeze",
                        "expand",
                        "flatten",
                        "diagonal",
                        "t",
                    ]
                ),
                st.integers(0, 100),
                st.integers(0, 100),
            ),
            max_size=6,
        )
    )
    return shape, steps


def follow(x, steps):
    """Apply the steps, with arguments taken from the random numbers."""
    for method, a, b in steps:
        n = max(x.dim(), 1)
        dim = a % n
        size = x.shape[dim] if x.dim() else 1
        if method == "transpose":
            x = x.transpose(dim, b % n)
        elif method == "narrow" and x.dim():
            start = b % (size + 1)
            x = x.narrow(dim, start, (a + b) % (size - start + 1))
        elif method == "select" and x.dim() and size:
            x = x.select(dim, b % size)
        elif method == "unsqueeze" and x.dim() < 5:
            x = x.unsqueeze(b % (x.dim() + 1))
        elif method == "squeeze":
            x = x.squeeze() if b % 2 else x.squeeze(dim)
        elif method == "expand" and x.dim() < 5:
            x = x.expand(b % 2 + 1, *[3 if s == 1 and a % 2 else s for s in x.shape])
        elif method == "flatten" and x.dim() > 1:
            x = x.flatten(min(dim, b % n), max(dim, b % n))
        elif method == "diagonal" and x.dim() > 1 and dim != b % n:
            x = x.diagonal(a % 5 - 2, dim, b % n)
        elif method == "t" and x.dim() <= 2:
            x = x.t()
    return x


@given(chains())
@settings(max_examples=300, deadline=None)
def test_chains_of_views_have_pytorchs_layout_values_and_copies(chain):
    shape, steps = chain
    agree(lambda T: follow(numbers(T, *shape), steps))
    agree(lambda T: follow(numbers(T, *shape), steps).clone())
    agree(lambda T: follow(numbers(T, *shape), steps).reshape(-1))
    agree(lambda T: T.empty_like(follow(numbers(T, *shape), steps)).stride())


def test_a_single_element_anywhere_gets_its_gradient():
    for offset, twice in itertools.product((0, 1, 5), (False, True)):

        def call(T, offset=offset, twice=twice):
            x = numbers(T, 2, 3).double()
            x = (x.expand(2, 2, 3) if twice else x).requires_grad_()
            y = x.as_strided((), (), offset)
            return y.detach(), T.autograd.grad((y * y).sum(), x)[0].tolist()

        agree(call)


def test_sizes_and_strides_are_asked_for_by_any_number():
    for dim in (0, 1, 2, -1, -3, 3, -4, np.int64(1), np.int64(-3), True, 1.0, "1", None):
        agree(lambda T, dim=dim: numbers(T, 2, 3, 4).size(dim))
        agree(lambda T, dim=dim: numbers(T, 2, 3, 4).permute(2, 0, 1).stride(dim))
        agree(lambda T, dim=dim: numbers(T, 2, 3, 4).size(dim=dim))
        agree(lambda T, dim=dim: numbers(T, 2, 3, 4).stride(dim=dim))
    for name in ("size", "stride"):
        with pytest.raises(IndexError, match=f"^{name}: "):
            getattr(numbers(tensorlab, 2, 3), name)(2)
        with pytest.raises(TypeError, match=f"^{name}: "):
            getattr(numbers(tensorlab, 2, 3), name)(1.5)


@pytest.mark.parametrize(
    "look_up",
    [
        lambda T, view, index: view[index],
        lambda T, view, index: T.nn.functional.embedding(index, view),
    ],
    ids=["index", "embedding"],
)
def test_a_view_that_cannot_be_brought_up_to_date_is_a_worse_error_than_a_bad_index(look_up):
    def call(T):
        base = numbers(T, 4, 3).requires_grad_().clone()
        view = base.split(2)[0]
        base.mul_(2)
        return look_up(T, view, T.tensor([9]))

    agree(call)
    with pytest.raises(tensorlab.errors.GradientError, match="one of several"):
        call(tensorlab)


def test_a_tensor_that_was_set_to_other_memory_is_no_view_any_more():
    leaf, other = tensorlab.zeros(4, requires_grad=True), tensorlab.ones(2, 3, requires_grad=True)
    with tensorlab.no_grad():
        view = leaf[:2]
        view.set_(tensorlab.ones(2, 3))
    view.mul_(other).t_().sum().backward()
    assert view.shape == (3, 2)
    assert other.grad.tolist() == [[1.0] * 3] * 2


def test_resize_wants_sizes():
    with pytest.raises(TypeError, match=r"sizes are needed, as in resize_\(2, 3\)"):
        tensorlab.zeros(2).resize_()


def test_the_gradient_of_squeeze_has_the_strides_of_pytorchs():
    def call(T):
        x = numbers(T, 1, 4, 1).double().requires_grad_()
        y = x.permute(2, 1, 0)
        z = y.squeeze(-1)
        return T.autograd.grad((z * z).sum(), y)[0].detach()

    agree(call)
    agree(lambda T: call(T).stride())
