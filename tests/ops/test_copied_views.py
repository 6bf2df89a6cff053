"""The copies of views: values, layout and gradients of PyTorch's; they share no memory."""

import pytest

import tensorlab
from tensorlab.ops import copied_views
from tests.ops.agreement import agree


def numbers(T, requires_grad=False):
    return T.arange(24, dtype=T.float64).reshape(2, 3, 4).requires_grad_(requires_grad)


CALLS = {
    "alias_copy": lambda T, x: T.alias_copy(x),
    "as_strided_copy": lambda T, x: T.as_strided_copy(x, (2, 2), (4, 1), 3),
    "as_strided_copy of overlaps": lambda T, x: T.as_strided_copy(x, (3, 3), (1, 1)),
    "detach_copy": lambda T, x: T.detach_copy(x),
    "diagonal_copy": lambda T, x: T.diagonal_copy(x, 1, 0, 2),
    "expand_copy": lambda T, x: T.expand_copy(x[:, :1], (2, 3, 4)),
    "expand_copy with -1": lambda T, x: T.expand_copy(x, (5, -1, -1, -1)),
    "narrow_copy": lambda T, x: T.narrow_copy(x, 2, 1, 2),
    "permute_copy": lambda T, x: T.permute_copy(x, (2, 0, 1)),
    "select_copy": lambda T, x: T.select_copy(x, 1, -1),
    "slice_copy": lambda T, x: T.slice_copy(x, 2, 1, 4, 2),
    "slice_copy of all": lambda T, x: T.slice_copy(x),
    "slice_copy backward": lambda T, x: T.slice_copy(x, -2, -2, None),
    "squeeze_copy": lambda T, x: T.squeeze_copy(x[:1]),
    "squeeze_copy of one": lambda T, x: T.squeeze_copy(x[:1, :, :1], 0),
    "squeeze_copy of two": lambda T, x: T.squeeze_copy(x[:1, :, :1], (0, 2)),
    "t_copy": lambda T, x: T.t_copy(x[0]),
    "t_copy of a row": lambda T, x: T.t_copy(x[0, 0]),
    "transpose_copy": lambda T, x: T.transpose_copy(x, 0, -1),
    "unfold_copy": lambda T, x: T.unfold_copy(x, 2, 2, 1),
    "unsqueeze_copy": lambda T, x: T.unsqueeze_copy(x, -2),
    "view_as_real_copy of complex": lambda T, x: T.view_as_real_copy(T.complex(x, x + 1)),
    "view_copy": lambda T, x: T.view_copy(x, (4, 6)),
    "view_copy of a type": lambda T, x: T.view_copy(x.detach(), T.int64),
}
LISTS = {
    "split_copy": lambda T, x, **o: T.split_copy(x, 2, 1, **o),
    "split_with_sizes_copy": lambda T, x, **o: T.split_with_sizes_copy(x, [1, 3], 2, **o),
    "unbind_copy": lambda T, x, **o: T.unbind_copy(x, 1, **o),
}
UNSAFE = {
    "unsafe_chunk": lambda T, x: T.unsafe_chunk(x, 2, 1),
    "unsafe_split": lambda T, x: T.unsafe_split(x, 2, 1),
    "unsafe_split_with_sizes": lambda T, x: T.unsafe_split_with_sizes(x, [1, 2], 1),
    "unsafe_chunk of a tensor": lambda T, x: x.unsafe_chunk(2, dim=1),
    "unsafe_split of a tensor": lambda T, x: x.unsafe_split(2, dim=1),
    "unsafe_split_with_sizes of a tensor": lambda T, x: x.unsafe_split_with_sizes([1, 2], dim=1),
}
ALL = {**CALLS, **LISTS}


def seen(result):
    """What programs can see of results whose strides are not told."""
    if isinstance(result, (tuple, list)):
        return [seen(one) for one in result]
    return [tuple(result.shape), str(result.dtype).rpartition(".")[2], result.tolist()]


def as_list(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("name", ALL)
def test_copies_are_those_of_pytorch(name):
    agree(lambda T: [seen(ALL[name](T, numbers(T))), ALL[name](T, numbers(T)) is None])


@pytest.mark.parametrize("name", ALL)
def test_copies_of_other_layouts_are_those_of_pytorch(name):
    for change in (
        lambda x: x.transpose(0, 2).contiguous().transpose(0, 2),
        lambda x: x[:, :, :].flip(1),
    ):
        if name.startswith(("view_copy", "as_strided")):
            continue  # what they show depends on strides
        agree(lambda T, change=change: seen(ALL[name](T, change(numbers(T)))))


@pytest.mark.parametrize("name", ALL)
def test_copies_share_no_memory_and_are_row_major(name):
    x = numbers(tensorlab)
    for made in as_list(ALL[name](tensorlab, x)):
        assert made.is_contiguous()
        assert not made._is_view()
        made.zero_()
    assert tensorlab.equal(x, numbers(tensorlab))
    assert x._version == 0


@pytest.mark.parametrize(
    "name", [name for name in ALL if name not in ("detach_copy", "view_copy of a type")]
)
def test_gradients_are_those_of_pytorch(name):
    def program(T):
        x = numbers(T, requires_grad=True)
        results = as_list(ALL[name](T, x))
        sum((one * T.arange(one.numel()).reshape(one.shape)).sum() for one in results).backward()
        return x.grad.tolist()

    agree(program)


def test_a_detached_copy_has_no_gradient():
    assert not tensorlab.detach_copy(numbers(tensorlab, True)).requires_grad


OUT = [name for name in CALLS if name in dir(tensorlab) and name != "narrow_copy"]


@pytest.mark.parametrize("name", OUT)
def test_out_is_written_and_returned(name):
    x, want = numbers(tensorlab), CALLS[name](tensorlab, numbers(tensorlab))
    arguments = {
        "as_strided_copy": ((2, 2), (4, 1), 3), "diagonal_copy": (1, 0, 2), "expand_copy": ((2, 3, 4),),
        "permute_copy": ((2, 0, 1),), "select_copy": (1, -1), "slice_copy": (2, 1, 4, 2),
        "transpose_copy": (0, -1), "unfold_copy": (2, 2, 1), "unsqueeze_copy": (-2,), "view_copy": ((4, 6),),
    }.get(name, ())  # fmt: skip
    x = {"expand_copy": x[:, :1], "squeeze_copy": x[:1], "t_copy": x[0]}.get(name, x)
    out = tensorlab.empty(0, dtype=x.dtype)
    assert getattr(tensorlab, name)(x, *arguments, out=out) is out
    assert tensorlab.equal(out, want)


@pytest.mark.parametrize("name", LISTS)
def test_lists_of_outs_are_written(name):
    want = LISTS[name](tensorlab, numbers(tensorlab))
    outs = [tensorlab.empty(0, dtype=tensorlab.float64) for _ in want]
    LISTS[name](tensorlab, numbers(tensorlab), out=outs)
    for out, one in zip(outs, want, strict=True):
        assert tensorlab.equal(out, one)


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_functions_give_what_those_of_pytorch_give(name):
    agree(lambda T: seen(UNSAFE[name](T, numbers(T))))

    def gradient(T):
        x = numbers(T, requires_grad=True)
        parts = UNSAFE[name](T, x)
        (parts[0].sum() + 2 * parts[-1].sum()).backward()
        return x.grad.tolist()

    agree(gradient)


def test_every_function_is_called():
    public = {
        name for name in vars(copied_views) if name.endswith("_copy") or name.startswith("unsafe_")
    }
    public -= {
        "view_as_complex_copy"
    }  # PyTorch's has no derivative; its example says what it gives
    assert public <= {name.split()[0] for name in {**ALL, **UNSAFE}}


BAD = {
    "a number": lambda T: T.alias_copy(3.0),
    "a dimension out of range": lambda T: T.select_copy(T.ones(2, 3), 2, 0),
    "an index out of range": lambda T: T.select_copy(T.ones(2, 3), 0, 2),
    "a transpose out of range": lambda T: T.transpose_copy(T.ones(2, 3), 0, 2),
    "a matrix of three dimensions": lambda T: T.t_copy(T.ones(2, 3, 4)),
    "a step of 0": lambda T: T.slice_copy(T.ones(4), 0, 0, 2, 0),
    "a slice of no dimension": lambda T: T.slice_copy(T.ones(4), 1),
    "a slice of a 0-d tensor": lambda T: T.slice_copy(T.tensor(1.0), 0),
    "a size that does not fit": lambda T: T.view_copy(T.ones(4), (3,)),
    "an expansion that does not fit": lambda T: T.expand_copy(T.ones(4), (3,)),
    "sizes that do not add up": lambda T: T.split_with_sizes_copy(T.ones(4), [1, 1]),
    "a window that is too large": lambda T: T.unfold_copy(T.ones(4), 0, 5, 1),
    "a permutation with a gap": lambda T: T.permute_copy(T.ones(2, 3), (0, 0)),
    "an out of another type": lambda T: T.t_copy(T.ones(2, 3), out=T.ones(3, 2, dtype=T.int64)),
    "a step below 0": lambda T: T.slice_copy(T.ones(4), 0, 0, 2, -1),
    "no chunks": lambda T: T.unsafe_chunk(T.ones(4), 0),
    "a split below 0": lambda T: T.unsafe_split(T.ones(4), -1),
    "unsafe sizes that do not add up": lambda T: T.unsafe_split_with_sizes(T.ones(4), [1]),
    "a split of a number": lambda T: T.unsafe_split(4, 1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_the_class_of_pytorch(name):
    agree(lambda T: seen(BAD[name](T)))
