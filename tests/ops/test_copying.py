"""Copies and casts: forms of `to`, overlapping memory, fills, and what is an error."""

import numpy as np
import pytest
from hypothesis import given

import tensorlab
from tests.core.test_layout import views
from tests.ops.agreement import agree

TO = {
    "dtype": lambda T: T.zeros(2, 3).to(T.int64),
    "python type": lambda T: T.zeros(2, 3).to(float),
    "nothing": lambda T: (lambda x: x.to() is x)(T.zeros(2)),
    "None": lambda T: (lambda x: x.to(None) is x)(T.zeros(2)),
    "same": lambda T: (lambda x: x.to(T.float32) is x)(T.zeros(2)),
    "same copied": lambda T: (lambda x: x.to(T.float32, copy=True) is x)(T.zeros(2)),
    "device": lambda T: (lambda x: x.to("cpu") is x)(T.zeros(2)),
    "device and dtype": lambda T: T.zeros(2).to("cpu", T.float64, True, True),
    "keywords": lambda T: T.zeros(2).to(device="cpu", dtype=T.int8),
    "flags": lambda T: T.zeros(2).to(T.float64, True, True),
    "other": lambda T: T.zeros(2).to(T.zeros(2, dtype=T.int8), copy=True),
    "a flag too many": lambda T: T.zeros(2).to(T.float64, True, True, True),
    "a flag too many after two": lambda T: T.zeros(2).to("cpu", T.float64, True, True, True),
    "a number as flag": lambda T: T.zeros(2).to(T.float64, True, 1),
    "device twice": lambda T: T.zeros(2).to("cpu", device="cpu"),
    "dtype twice": lambda T: T.zeros(2).to(T.float64, dtype=T.float64),
    "dtype twice after a device": lambda T: T.zeros(2).to("cpu", T.float64, dtype=T.float64),
    "other and dtype": lambda T: T.zeros(2).to(T.zeros(2), dtype=T.float64),
    "two dtypes": lambda T: T.zeros(2).to(T.int64, T.float32),
    "number": lambda T: T.zeros(2).to(3),
    "no device": lambda T: T.zeros(2).to("foo"),
    "channels_last": lambda T: T.zeros(2, 3, 4, 5).to(memory_format=T.channels_last),
    "channels_last of 2-d": lambda T: T.zeros(2, 3).to(T.int8, memory_format=T.channels_last),
    "strides kept": lambda T: T.zeros(2, 3).t().to(T.float64),
    "strides of a slice": lambda T: T.zeros(4, 6)[:, ::2].t().to(T.float64),
    "type_as": lambda T: T.zeros(2).type_as(T.zeros(2, dtype=T.int8)),
    "type": lambda T: T.zeros(2).type(T.int8),
    "type by name": lambda T: T.zeros(2).type(
        "torch.LongTensor" if T.__name__ == "torch" else "tensorlab.LongTensor"
    ),
    "type by bad name": lambda T: T.zeros(2).type("nothing"),
    "cpu": lambda T: (lambda x: x.cpu() is x)(T.zeros(2)),
    "history": lambda T: T.zeros(2, requires_grad=True).double().requires_grad,
    "no history": lambda T: T.zeros(2, requires_grad=True).long().requires_grad,
    "negative to uint8": lambda T: T.tensor([-1.0, -2.7, 3.9]).to(T.uint8),
    "large to int8": lambda T: T.tensor([300, -129]).to(T.int8),
    "nan to bool": lambda T: T.tensor([0.0, float("nan"), -0.0, 0.5]).bool(),
    "bool to half": lambda T: T.tensor([True, False]).half(),
    "large to half": lambda T: T.tensor([1e6, 65504.0, 65520.0, 1e-8]).half(),
    "to bfloat16": lambda T: T.tensor([1.00390625, 1.01171875, 3e38]).bfloat16(),
    "contiguous channels_last": lambda T: T.zeros(2, 3, 4, 5).contiguous(
        memory_format=T.channels_last
    ),
    "is_contiguous": lambda T: T.zeros(2, 3, 4, 5).is_contiguous(memory_format=T.channels_last),
    "is_contiguous of one channel": lambda T: T.zeros(2, 1, 4, 5).is_contiguous(
        memory_format=T.channels_last
    ),
    "one channel to channels_last": lambda T: T.zeros(2, 1, 4, 5).to(memory_format=T.channels_last),
    "clone row-major": lambda T: T.zeros(2, 3).t().clone(memory_format=T.contiguous_format),
    "clone of expanded": lambda T: T.zeros(1, 3).expand(2, 3).clone(),
}


@pytest.mark.parametrize("name", TO)
def test_a_form_of_to_does_what_pytorch_does(name):
    agree(TO[name])


WRITES = {
    "copy shape": lambda T: T.zeros(2, 3).copy_(T.zeros(3, 2)),
    "copy more dims": lambda T: T.zeros(2, 3).copy_(T.zeros(1, 2, 3)),
    "copy number": lambda T: T.zeros(2, 3).copy_(3),
    "copy list": lambda T: T.zeros(3).copy_([1, 2, 3]),
    "copy to expanded": lambda T: T.zeros(1).expand(3).copy_(T.ones(3)),
    "copy to itself": lambda T: (lambda x: x.copy_(x))(T.ones(3)),
    "copy to itself expanded": lambda T: (lambda x: x.copy_(x))(T.ones(1).expand(3)),
    "copy over itself": lambda T: (lambda x: x[1:].copy_(x[:-1]))(T.arange(4.0)),
    "copy casts": lambda T: T.zeros(2, dtype=T.int64).copy_(T.tensor([1.7, -1.7])),
    "copy to integers is not followed": lambda T: T.zeros(2, dtype=T.int64).copy_(
        T.ones(2, requires_grad=True)
    ),
    "copy is followed": lambda T: T.zeros(2).copy_(T.ones(2, requires_grad=True)),
    "fill expanded": lambda T: T.zeros(1).expand(3).fill_(1),
    "zero expanded": lambda T: T.ones(1).expand(3).zero_(),
    "fill with dims": lambda T: T.zeros(2).fill_(T.ones(2)),
    "fill text": lambda T: T.zeros(2).fill_("a"),
    "fill wraps": lambda T: T.zeros(2, dtype=T.uint8).fill_(-1),
    "fill too large": lambda T: T.zeros(2, dtype=T.uint8).fill_(256),
    "fill far too large": lambda T: T.zeros(2, dtype=T.int64).fill_(2**70),
    "fill tensor": lambda T: T.zeros(2).fill_(T.tensor(3)),
    "fill by own element": lambda T: (lambda x: x.fill_(x[1]))(T.arange(3.0)),
    "fill half": lambda T: T.zeros(2, dtype=T.float16).fill_(0.1),
    "fill strided": lambda T: (lambda x: (x.t()[::2].fill_(2.0), x))(T.zeros(2, 3)),
    "minus zero": lambda T: [1 / v if v else str(v) for v in T.ones(2).fill_(-0.0).tolist()],
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_does_what_pytorch_does(name):
    agree(WRITES[name])


@given(views())
def test_clone_always_copies_and_contiguous_and_to_only_if_they_must(pair):
    x, array = pair
    copies = [x.clone(), x.to(tensorlab.float64), x.to(x.dtype, copy=True)]
    if not x.is_contiguous():
        copies.append(x.contiguous())
    for copy in copies:
        assert copy.tolist() == array.tolist()
        assert copy is not x
        assert copy.untyped_storage() is not x.untyped_storage()
    assert x.to(x.dtype) is x
    assert (x.contiguous() is x) == x.is_contiguous()
    assert x.contiguous().is_contiguous()


def test_a_copy_over_itself_reads_before_it_writes():
    x = tensorlab.arange(12.0).view(3, 4)
    x[:, 1:].copy_(x[:, :-1])
    assert x.tolist() == [[0, 0, 1, 2], [4, 4, 5, 6], [8, 8, 9, 10]]


@pytest.mark.parametrize("shape", [(3, 4), (20, 50), (300, 700)])
@pytest.mark.parametrize(
    "write, read",
    [
        (np.s_[1:, 1:], np.s_[:-1, :-1]),
        (np.s_[:-1, :-1], np.s_[1:, 1:]),
        (np.s_[1:, :-1], np.s_[:-1, 1:]),
        (np.s_[:, 1:], np.s_[:, :-1]),
    ],
)
def test_what_a_part_takes_from_an_overlapping_part_is_what_stood_there(shape, write, read):
    """As in NumPy, at every size. PyTorch's result depends on the order in which it happens to copy."""
    expected = np.arange(float(shape[0] * shape[1])).reshape(shape)
    x = tensorlab.from_numpy(expected.copy())
    expected[write] = expected[read]
    x[write] = x[read]
    assert x.tolist() == expected.tolist()


def test_a_copy_over_itself_longer_than_a_tile_reads_before_it_writes():
    x = tensorlab.arange(10_000)[::2]  # with gaps, so that it is moved in tiles
    x[1:].copy_(x[:-1])
    assert x.tolist() == [0, *range(0, 9_998, 2)]


@pytest.mark.parametrize("shape", [(100, 200), (257, 130), (16, 16), (3, 1000), (64, 5, 70)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint8", "bfloat16"])
def test_large_transposed_copies_move_every_element(shape, dtype):
    def program(T):
        x = T.arange(2 * shape[0] * shape[1] * (shape[2] if len(shape) > 2 else 1))
        x = (x % 251).to(getattr(T, dtype)).view(2, *shape)[1]
        return x.transpose(0, -1).contiguous(), x.transpose(0, -1)[1:, 1:].to(
            T.float64, memory_format=T.contiguous_format
        )

    agree(program)


@pytest.mark.parametrize(
    "name, dtype",
    [
        *(
            ("float", "float32"),
            ("double", "float64"),
            ("half", "float16"),
            ("bfloat16", "bfloat16"),
        ),
        *(("long", "int64"), ("int", "int32"), ("short", "int16"), ("char", "int8")),
        *(("byte", "uint8"), ("bool", "bool")),
    ],
)
def test_a_cast_to_the_type_that_a_tensor_has_gives_the_tensor(name, dtype):
    x = tensorlab.zeros(2, dtype=getattr(tensorlab, dtype))
    assert getattr(x, name)() is x
    other = tensorlab.zeros(2, dtype=tensorlab.float64 if dtype != "float64" else tensorlab.float32)
    assert getattr(other, name)().dtype == x.dtype
