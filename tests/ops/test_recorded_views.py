"""Views, joins, factories and changes of layout are ops: a recorder sees each, and its calls can be replayed."""

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab._core.dispatch.recorder import Recorder

OPS = [
    *("permute", "transpose", "transpose_", "t", "t_", "squeeze"),
    *("squeeze_", "unsqueeze", "unsqueeze_", "expand", "select", "slice"),
    *("diagonal", "unfold", "view_backward", "view", "view_dtype", "reshape"),
    *("as_strided", "as_strided_", "restride", "cat", "stack", "split"),
    *("split_with_sizes", "unbind", "flip", "rot90", "roll", "repeat"),
    *("repeat_interleave", "as_subclass", "lazy_clone", "resize_", "set_", "getitem_alias"),
    *("getitem_select", "getitem_slice", "getitem_unsqueeze", "getitem_backward", "copy", "empty"),
    *("zeros", "ones", "full", "empty_strided", "empty_like", "zeros_like"),
    *("ones_like", "full_like", "detach", "detach_", "data", "set_data"),
    *("make_subclass",),
]


class Named(tensorlab.Tensor):
    pass


# What is called with a 3 x 4 matrix, and the names of the ops that it makes
CALLS = {
    "permute": (lambda x: x.permute(1, 0), "permute"),
    "T": (lambda x: x.T, "permute"),
    "movedim": (lambda x: x.movedim(0, -1), "permute"),
    "swapaxes": (lambda x: x.swapaxes(0, -1), "transpose"),
    "mT": (lambda x: x.mT, "transpose"),
    "t": (lambda x: x.t(), "t"),
    "squeeze": (lambda x: x[:1].squeeze(), "getitem_slice squeeze"),
    "squeeze of a dim": (lambda x: x[:1].squeeze(-2), "getitem_slice squeeze"),
    "unsqueeze": (lambda x: x.unsqueeze(-1), "unsqueeze"),
    "expand": (lambda x: x.expand(2, -1, 4), "expand"),
    "expand_as": (lambda x: x[:1].expand_as(x), "getitem_slice expand"),
    "select": (lambda x: x.select(-1, -2), "select"),
    "narrow": (lambda x: x.narrow(1, 1, 2), "slice"),
    "diagonal": (lambda x: x.diagonal(1), "diagonal"),
    "unfold": (lambda x: x.unfold(1, 2, 1), "unfold"),
    "view": (lambda x: x.view(2, -1), "view"),
    "view_as": (lambda x: x.view_as(x), "view"),
    "view of bytes": (lambda x: x.view(tensorlab.int32), "view_dtype"),
    "reshape to a view": (lambda x: x.reshape(6, 2), "view"),
    "reshape to a copy": (lambda x: x.T.reshape(-1), "permute reshape"),
    "flatten": (lambda x: x.flatten(), "view"),
    "unflatten": (lambda x: x.unflatten(1, (2, -1)), "view"),
    "as_strided": (lambda x: x.as_strided((2, 2), (1, 2), 1), "as_strided"),
    "int": (lambda x: x[-1], "getitem_select"),
    "slice": (lambda x: x[1:], "getitem_slice"),
    "ints": (lambda x: x[0, 1], "getitem_select"),
    "a mixture": (lambda x: x[:, None, ::2], "getitem_slice"),
    "None": (lambda x: x[..., None], "getitem_unsqueeze"),
    "Ellipsis": (lambda x: x[...], "getitem_alias"),
    "split": (lambda x: x.split(3, 1), "split"),
    "split_with_sizes": (lambda x: x.split([1, 3], 1), "split_with_sizes"),
    "chunk": (lambda x: x.chunk(2), "split"),
    "chunk of nothing": (lambda x: x[:0].chunk(2), "getitem_slice split_with_sizes"),
    "unbind": (lambda x: x.unbind(-1), "unbind"),
    "iteration": (lambda x: tuple(x), "unbind"),
    "tensor_split": (lambda x: x.tensor_split(2), "slice slice"),
    "cat": (lambda x: tensorlab.cat([x, x[:1]], -2), "getitem_slice cat"),
    "cat of an empty one": (lambda x: tensorlab.cat([x, tensorlab.zeros(0)]), "zeros cat"),
    "stack": (lambda x: tensorlab.stack([x, x], -1), "stack"),
    "flip": (lambda x: x.flip(-1, 0), "flip"),
    "rot90": (lambda x: x.rot90(), "rot90"),
    "roll": (lambda x: x.roll(1), "roll"),
    "roll of dims": (lambda x: x.roll((1, -2), (0, 1)), "roll"),
    "repeat": (lambda x: x.repeat(2, 1), "repeat"),
    "tile": (lambda x: x.tile(2), "repeat"),
    "lazy clone": (lambda x: x._lazy_clone(), "lazy_clone"),
    "as_subclass": (lambda x: x.as_subclass(Named), "as_subclass"),
    "zeros": (lambda x: tensorlab.zeros(2, dtype=tensorlab.int64), "zeros"),
    "ones": (lambda x: tensorlab.ones(2, 3), "ones"),
    "full": (lambda x: tensorlab.full((2,), 7), "full"),
    "scalar_tensor": (lambda x: tensorlab.scalar_tensor(2), "full"),
    "zeros_like": (lambda x: tensorlab.zeros_like(x), "zeros_like"),
    "ones_like": (lambda x: tensorlab.ones_like(x), "ones_like"),
    "full_like": (lambda x: tensorlab.full_like(x, 3), "full_like"),
    "new_zeros": (lambda x: x.new_zeros(2), "new_zeros"),
    "new_ones": (lambda x: x.new_ones(2), "new_ones"),
    "new_full": (lambda x: x.new_full((2,), 4), "new_full"),
    "zeros into out": (lambda x: tensorlab.zeros(2, out=tensorlab.ones(2)), "ones zero_"),
    "ones into out": (lambda x: tensorlab.ones(2, out=tensorlab.zeros(2)), "zeros fill_"),
    "full into out": (lambda x: tensorlab.full((2,), 7, out=tensorlab.zeros(2)), "zeros fill_"),
    "cast": (lambda x: x.double(), "to_copy"),
    "cast to integers": (lambda x: x.long(), "to_integers"),
    "squeeze_": (lambda x: x[:1].clone().squeeze_(), "getitem_slice clone squeeze_"),
    "unsqueeze_": (lambda x: x.clone().unsqueeze_(-1), "clone unsqueeze_"),
    "t_": (lambda x: x.clone().t_(), "clone t_"),
    "swapdims_": (lambda x: x.clone().swapdims_(0, 1), "clone transpose_"),
    "as_strided_": (lambda x: x.clone().as_strided_((2, 2), (1, 1)), "clone as_strided_"),
}
WRITES = {  # these without autograd
    "resize_": (lambda x: x.clone().resize_(2, 2), "clone resize_"),
    "set_": (lambda x: tensorlab.zeros(2).set_(x.clone()), "zeros clone set_"),
    "detach_": (lambda x: x.requires_grad_().clone().detach_(), "clone detach_"),
    "data": (lambda x: x.data.mul_(2), "data mul_"),
    "set data": (lambda x: set_data(x.clone(), x[0]), "clone getitem_select set_data"),
    "Parameter": (lambda x: tensorlab.nn.Parameter(x[0]), "getitem_select make_subclass"),
    "an input that a custom function returns": (lambda x: Itself.apply(x), "view"),
    "set a row": (lambda x: put(x.clone(), 1, 5.0), "clone getitem_select fill_"),
    "set an element": (lambda x: put(x.clone(), (0, 1), 5.0), "clone getitem_select fill_"),
    "set all": (lambda x: put(x.clone(), ..., x[0]), "clone getitem_select view expand copy_"),
}


def set_data(x, value):
    x.data = value
    return x


class Itself(tensorlab.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def put(x, index, value):
    x[index] = value
    return x


def replay(calls, known):
    """Run the calls again, with other tensors in the place of those in `known` (old and new ones)."""
    new = {id(old): other for old, other in known}

    def renewed(value):
        if isinstance(value, (tuple, list)):
            return type(value)([renewed(one) for one in value])
        return new[id(value)] if isinstance(value, tensorlab.Tensor) else value

    for call in calls:
        result = call.op(*renewed(call.arguments))
        for old, other in zip(flat(call.result), flat(result), strict=True):
            new[id(old)] = other
    return renewed


def flat(result):
    """The tensors of a result: none, if the op has read a value for Python."""
    if isinstance(result, tensorlab.Tensor):
        return [result]
    return list(result) if isinstance(result, (tuple, list)) else []


def matrix():
    return tensorlab.arange(12.0).reshape(3, 4) / 7


@pytest.mark.parametrize("name", OPS)
def test_each_can_be_called(name):
    assert name in REGISTRY
    with pytest.raises(TypeError, match="the argument|arguments were given"):
        REGISTRY[name](*[object()] * 20)  # it has a kernel: what is wrong are the arguments


@pytest.mark.parametrize("requires_grad", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_what_was_recorded_can_be_replayed(name, requires_grad):
    function, names = CALLS[name]
    x = matrix().requires_grad_(requires_grad)
    with Recorder() as recorder:
        expected = function(x)
    assert [call.op.name for call in recorder.calls] == names.split()
    y = matrix().requires_grad_(requires_grad)
    renewed = replay(recorder.calls, [(x, y)])
    plain = function(matrix().requires_grad_(requires_grad))  # without layers
    for one, other, third in zip(flat(expected), flat(renewed(expected)), flat(plain), strict=True):
        for copy in (other, third):
            assert tensorlab.equal(one, copy)
            assert one.stride() == copy.stride()
            assert type(one) is type(copy)
            assert one.requires_grad == copy.requires_grad
            assert one._is_view() == copy._is_view()
            assert type(one.grad_fn).__name__ == type(copy.grad_fn).__name__


@pytest.mark.parametrize("name", WRITES)
def test_writes_can_be_replayed(name):
    function, names = WRITES[name]
    x, y = matrix(), matrix()
    with Recorder() as recorder:
        expected = function(x)
    assert [call.op.name for call in recorder.calls] == names.split()
    copy = replay(recorder.calls, [(x, y)])(expected)
    assert tensorlab.equal(expected, copy)
    assert tensorlab.equal(expected, function(matrix()))


@pytest.mark.parametrize(
    "name", [name for name, (_, names) in CALLS.items() if "zeros" not in name]
)
def test_backward_is_recorded_too(name):
    function, _ = CALLS[name]
    x = matrix().requires_grad_()
    with Recorder() as recorder:
        results = [one for one in flat(function(x)) if one.requires_grad]
        if not results:
            return
        weights = [tensorlab.full_like(one, 2) for one in results]
        (gradient,) = tensorlab.autograd.grad(results, x, weights)
    y = matrix().requires_grad_()
    copy = replay(recorder.calls, [(x, y)])(gradient)
    assert tensorlab.equal(gradient, copy)


def test_a_result_that_says_it_has_no_derivative_is_recorded():
    x = tensorlab.tensor([1.0, 1.0, 3.0], requires_grad=True)
    with Recorder() as recorder:
        result = tensorlab.unique(x)
    assert any(result is call.result for call in recorder.calls)


def test_repeat_interleave_is_an_op_of_the_numbers_of_repetitions():
    x, counts = matrix(), tensorlab.tensor([2, 0, 1])
    with Recorder() as recorder:
        tensorlab.repeat_interleave(x, counts, 0)
    assert recorder.calls[0].op.name == "repeat_interleave"
    assert recorder.calls[0].arguments == (
        counts,
        None,
    )


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("permute", (3,), TypeError),
        ("permute", ((0,),), RuntimeError),
        ("permute", ((0, 0),), RuntimeError),
        ("slice", (0, 0, 2, 0), RuntimeError),
        ("slice", (2, 0, 1, 1), IndexError),
        ("select", (0, 3), IndexError),
        ("view", ((5,),), RuntimeError),
        ("reshape", ((5,),), RuntimeError),
        ("expand", ((3, 5),), RuntimeError),
        ("as_strided", ((9, 9), (1, 1), 0), RuntimeError),
        ("restride", ((2, 2), (1, 1), 0, (2,), (1,), 0, True), RuntimeError),
        ("restride", ((3, 4), (4, 1), -1, (2,), (1,), 0, True), RuntimeError),
        ("split", (0, 0), RuntimeError),
        ("split", (-1, 0), RuntimeError),
        ("split", ((1, 2), 0), TypeError),
        ("split_with_sizes", ((1, 1), 0), RuntimeError),
        ("split_with_sizes", ((4, -1), 0), RuntimeError),
        ("split_with_sizes", (3, 0), TypeError),
        ("getitem_select", (0,), TypeError),
        ("getitem_select", ((3,),), IndexError),
        ("getitem_slice", (([0, 1],),), TypeError),
        ("getitem_backward", ((0,), (3, 4)), RuntimeError),
        ("view_backward", ((3, 4), "select", (0, 0)), TypeError),
        ("view_backward", ((3, 4), REGISTRY["select"], (0,)), TypeError),
        ("view_backward", ((3, 4), REGISTRY["select"], (0, 0)), RuntimeError),
        ("roll", (1, 0), TypeError),
        ("repeat", ((-1, 1),), RuntimeError),
        ("as_subclass", (int,), TypeError),
        ("resize_", ((-1,),), RuntimeError),
        ("set_", (3,), TypeError),
        ("full_like", ("a",), TypeError),
    ],
)
def test_kernels_check_their_arguments(name, arguments, error):
    with pytest.raises(error, match="."):
        REGISTRY[name](matrix(), *arguments)


def test_copy_without_writing_casts_and_broadcasts():
    x, source = matrix(), tensorlab.tensor([1, 2, 3, 4])
    copy = REGISTRY["copy"](x, source)
    assert tensorlab.equal(copy, source.float().expand(3, 4))
    assert tensorlab.equal(x, matrix())
    with pytest.raises(RuntimeError, match="cannot be broadcast"):
        REGISTRY["copy"](x, source[:3])


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((), [0, 1, 2, 3, 4]),
        ((None, None, 2), [0, 2, 4]),
        ((1, 9), [1, 2, 3, 4]),
        ((-3, -1), [2, 3]),
        ((-9, 2), [0, 1]),
        ((3, 1), []),
        ((7,), []),
    ],
)
def test_the_bounds_of_a_slice_are_pythons(bounds, expected):
    x = tensorlab.arange(5.0).requires_grad_()
    part = REGISTRY["slice"](x, 0, *bounds)
    assert part.tolist() == expected
    part.sum().backward()
    assert x.grad.tolist() == [float(i in expected) for i in range(5)]
