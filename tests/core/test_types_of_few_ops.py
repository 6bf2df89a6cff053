"""uint16, uint32, uint64, floating types of 8 bits and complex32: conversions, printing, and files."""

import copy
import io
import math
import pickle
import warnings

import numpy as np
import pytest

import tensorlab as T
from tests.core.few_ops import ALL, FLOAT8, NEW, UNSIGNED, bytes_of, outcome, same, to_torch
from tests.core.test_dtypes import NAMES
from tests.oracle import require_torch

torch = require_torch()
pytestmark = pytest.mark.filterwarnings("ignore:.*omplex")  # PyTorch's ComplexHalf is experimental


# ---------------------------------------------------------------- what is known of a type
@pytest.mark.parametrize("name", NEW)
def test_properties_are_pytorchs(name):
    same(
        lambda m: [
            getattr(getattr(m, name), what)
            for what in ("is_floating_point", "is_complex", "is_signed", "itemsize")
        ]
    )
    same(lambda m: m.ones(2, dtype=getattr(m, name)).type())
    same(lambda m: [m.ones(2, dtype=getattr(m, name)).element_size(), getattr(m, name).to_real()])
    assert T.ones(2).type(T.ones(1, dtype=getattr(T, name)).type()).dtype is getattr(T, name)


@pytest.mark.parametrize("one", ALL)
@pytest.mark.parametrize("two", ALL)
def test_promotion_is_pytorchs(one, two):
    ours, theirs = (
        outcome(m, lambda m: m.promote_types(getattr(m, one), getattr(m, two))) for m in (T, torch)
    )
    if "bool" in (one, two) and theirs == "refused":  # as in where, whose condition is of bools
        theirs = one if two == "bool" else two
    assert ours == theirs


@pytest.mark.parametrize("one", NEW)
@pytest.mark.parametrize("two", ALL)
def test_can_cast_is_pytorchs(one, two):
    same(lambda m: m.can_cast(getattr(m, one), getattr(m, two)))
    same(lambda m: m.can_cast(getattr(m, two), getattr(m, one)))


def test_what_has_no_common_type_says_so():
    x, y = T.ones(2, dtype=T.uint16), T.ones(2, dtype=T.int64)
    for call in (lambda: x + y, lambda: T.cat([x, y]), lambda: T.block_diag(x, y), lambda: x == y):
        with pytest.raises(T.errors.DTypeError, match=r"uint16 and .*int64 have no common type"):
            call()
    assert (x * T.tensor(3)).dtype is T.uint16  # 0-d tensors and numbers rank below
    assert (x * 3).dtype is T.uint16
    assert (x * 1.5).dtype is T.float32
    with pytest.raises(T.errors.DTypeError, match=r"float8_e5m2 and .*float32"):
        T.ones(2, dtype=T.float8_e5m2) * T.ones(2)


@pytest.mark.parametrize("name", UNSIGNED)
def test_iinfo(name):
    ours, theirs = T.iinfo(getattr(T, name)), np.iinfo(name)
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)


@pytest.mark.parametrize("name", FLOAT8)
def test_finfo(name):
    ours, theirs = T.finfo(getattr(T, name)), torch.finfo(getattr(torch, name))
    for what in ("bits", "max", "min", "tiny", "smallest_normal", "resolution", "dtype"):
        assert getattr(ours, what) == getattr(theirs, what), what
    one = T.ones(1, dtype=getattr(T, name)).view(T.uint8)
    assert (one + 1).view(getattr(T, name)).item() == 1 + ours.eps


# ---------------------------------------------------------------- conversions
VALUES = {
    "bool": [0, 1],
    "integer": [0, 1, 2, 3, 7, 100, 127],
    "signed": [-1, -2, -100, -128],
    "floating": [
        0.0,
        -0.0,
        0.1,
        -0.7,
        1.5,
        2.5,
        0.75,
        60000.0,
        -3.0,
        1e-3,
        math.inf,
        -math.inf,
        math.nan,
    ],
}


def samples(name):
    """Numbers of a type, as many as make several pieces of a row."""
    dtype = getattr(T, name)
    if dtype.is_complex:
        parts = T.tensor(VALUES["floating"], dtype=T.float64)
        x = T.complex(parts.repeat_interleave(len(parts)), parts.repeat(len(parts))).to(dtype)
    elif dtype.is_floating_point:
        x = T.tensor(VALUES["floating"], dtype=dtype)
    elif name == "bool":
        x = T.tensor([False, True])
    else:
        limits = T.iinfo(dtype)
        numbers = [*VALUES["integer"], limits.max, limits.max - 1, limits.max // 2 + 1]
        if dtype.is_signed:
            numbers += [*VALUES["signed"], limits.min]
        x = T.tensor(numbers, dtype=dtype)
    return x.repeat(1100 // len(x) + 1)


def is_defined(x, target):
    """Where C says what the number becomes: it is in the range of the type."""
    wide = x.to(torch.complex128).real if x.is_complex() else x.to(torch.float64)
    if target.is_floating_point or target.is_complex or target == torch.bool:
        return torch.ones(len(x), dtype=torch.bool)
    if not (x.is_floating_point() or x.is_complex()):
        return torch.ones(len(x), dtype=torch.bool)
    limits = torch.iinfo(target)
    low = -1.0 if limits.min == 0 else float(limits.min) - 1
    return (wide > low) & (wide < float(limits.max))


# Those among the other types are in test_dtypes.py.
PAIRS = [(a, b) for a in ALL for b in ALL if a not in NAMES or b not in NAMES]


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_conversion_is_pytorchs(source, target):
    x = samples(source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in (x, x[::3], x[:1]):
            ours, y = part.to(getattr(T, target)), to_torch(part)
            theirs = y.to(getattr(torch, target))
            chosen = is_defined(y, getattr(torch, target))
            ours = ours[T.from_numpy(chosen.numpy())]
            assert bytes_of(ours) == bytes_of(theirs[chosen])


@pytest.mark.parametrize("name", FLOAT8)
def test_all_codes_of_8_bits(name):
    codes = T.arange(256).to(T.uint8).view(getattr(T, name))
    for wide in ("float32", "float64", "float16", "bfloat16"):
        assert bytes_of(codes.to(getattr(T, wide))) == bytes_of(
            to_torch(codes).to(getattr(torch, wide))
        )
    back = codes.float().to(codes.dtype)
    assert bytes_of(back) == bytes_of(codes)


@pytest.mark.parametrize("name", FLOAT8)
def test_all_numbers_of_float16_in_8_bits(name):
    x = T.arange(65536).to(T.int16).view(T.float16)
    ours = x.to(getattr(T, name)).view(T.uint8)
    theirs = to_torch(x).to(getattr(torch, name)).view(torch.uint8)
    assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("name", FLOAT8)
def test_ties_and_their_neighbours(name):
    codes = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(getattr(torch, name)).double()
    codes = codes[codes.isfinite()].unique()
    ties = ((codes[1:] + codes[:-1]) / 2).float()
    up, down = (torch.nextafter(ties, torch.tensor(end)) for end in (math.inf, -math.inf))
    x = torch.cat([ties, up, down])
    ours = T.from_numpy(x.numpy()).to(getattr(T, name)).view(T.uint8)
    assert ours.tolist() == x.to(getattr(torch, name)).view(torch.uint8).tolist()


# ---------------------------------------------------------------- numbers
@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize(
    "call",
    [
        lambda m, d: m.tensor([[1, 2], [3, 4]], dtype=d),
        lambda m, d: m.tensor(1.5).to(d),
        lambda m, d: m.tensor([], dtype=d),
        lambda m, d: m.zeros(2, 3, dtype=d),
        lambda m, d: m.ones(2, dtype=d),
        lambda m, d: m.full((2,), 3, dtype=d),
        lambda m, d: m.full((2,), -3, dtype=d),
        lambda m, d: m.zeros_like(m.ones(2, dtype=d)),
        lambda m, d: m.ones(3).to(d).fill_(2.5),
        lambda m, d: m.ones(3).to(d).fill_(-1),
        lambda m, d: m.ones(3).to(d).zero_(),
        lambda m, d: m.ones(3).to(d).copy_(m.arange(3)),
        lambda m, d: m.arange(3).copy_(m.ones(3).to(d)),
        lambda m, d: m.tensor([3, 1, 2]).to(d).tolist(),
        lambda m, d: m.tensor([3, 1, 2]).to(d)[1].item(),
        lambda m, d: [bool(one) for one in m.tensor([0, 1, 2]).to(d)],
        lambda m, d: int(m.tensor(3, dtype=m.uint8).to(d).to(m.int64)),
        lambda m, d: m.ones(2, dtype=d).new_full((2,), 3),
    ],
)
def test_made_and_read_as_in_pytorch(name, call):
    same(lambda m: call(m, getattr(m, name)))


@pytest.mark.parametrize("name", UNSIGNED)
def test_numbers_at_the_ends_of_the_range(name):
    dtype, most = getattr(T, name), T.iinfo(getattr(T, name)).max
    assert T.tensor([0, most], dtype=dtype).tolist() == [0, most]
    assert T.full((1,), most, dtype=dtype).item() == most
    assert T.full((1,), -1, dtype=dtype).item() == most  # as in PyTorch, and as uint8 does
    assert T.tensor([most], dtype=dtype)[0] == most
    assert (T.tensor([most], dtype=dtype) == -1).tolist() == [False]
    assert (T.tensor([most], dtype=dtype) == most).tolist() == [True]
    assert (T.tensor([most], dtype=dtype) == 2**65).tolist() == [False]
    assert [10, 20, 30][T.tensor(2, dtype=dtype)] == 30
    with pytest.raises((RuntimeError, OverflowError, ValueError)):
        T.tensor([most + 1], dtype=dtype)
    with pytest.raises((RuntimeError, OverflowError)):
        T.full((1,), most + 1, dtype=dtype)
    assert T.arange(5, dtype=dtype).tolist() == list(range(5))


@pytest.mark.parametrize("name", FLOAT8[:4])
def test_a_number_that_is_too_large_to_fill_with(name):
    dtype = getattr(T, name)
    with pytest.raises(T.errors.DTypeError, match="does not fit"):
        T.full((2,), 1e9, dtype=dtype)
    assert T.tensor(1e9, dtype=dtype).view(T.uint8).item() == (
        torch.tensor(1e9, dtype=getattr(torch, name)).view(torch.uint8).item()
    )


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("values", [[[1, 2], [3, 4]], [1, 300, 40000], [], [0.1, 0.25, 3.0]])
def test_printed_as_in_pytorch(name, values):
    ours, theirs = (repr(m.tensor(values).to(getattr(m, name))) for m in (T, torch))
    assert ours.replace("tensorlab", "torch").split() == theirs.split()  # but for line breaks


# ---------------------------------------------------------------- other packages and files
@pytest.mark.parametrize("name", UNSIGNED)
def test_numpy_both_ways(name):
    x = T.tensor([1, T.iinfo(getattr(T, name)).max], dtype=getattr(T, name))
    assert x.numpy().dtype == name
    assert x.numpy().tolist() == x.tolist()
    back = T.from_numpy(x.numpy())
    assert back.dtype is x.dtype
    assert back.data_ptr() == x.data_ptr()
    assert T.tensor(x.numpy()[1]).item() == x[1].item()
    assert memoryview(x).tolist() == x.tolist()


def test_numpys_second_name_of_uint64():
    array = np.array([1, 2**64 - 1], dtype=np.ulonglong)
    assert T.from_numpy(array).tolist() == array.tolist()


@pytest.mark.parametrize("name", [*FLOAT8, "complex32"])
def test_numpy_lacks_these(name):
    with pytest.raises(TypeError, match=f"NumPy has no .*{name}"):
        T.ones(2, dtype=getattr(T, name)).numpy()


@pytest.mark.parametrize("name", NEW)
def test_dlpack_both_ways(name):
    x = T.tensor([1, 2, 4]).to(getattr(T, name))
    there = torch.from_dlpack(x)
    assert bytes_of(there) == bytes_of(x)
    back = T.from_dlpack(there)
    assert bytes_of(back) == bytes_of(x)
    assert back.data_ptr() == x.data_ptr()


@pytest.mark.parametrize("name", NEW)
def test_pickles_and_copies(name):
    x = T.tensor([[1, 2], [3, 4]]).to(getattr(T, name)).t()
    for back in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone()):
        assert bytes_of(back) == bytes_of(x)
        assert back.stride() == x.stride()
    assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype


@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("weights_only", [True, False])
def test_files_both_ways(name, weights_only):
    def made(m):
        x = m.tensor([[1, 2], [3, 4]]).to(getattr(m, name))
        parameter = m.nn.Parameter(x, requires_grad=False)
        return {"x": x, "view": x.t()[1:], "parameter": parameter, "dtype": getattr(m, name)}

    for writer, reader in ((T, torch), (torch, T), (T, T)):
        file = io.BytesIO()
        writer.save(made(writer), file)
        file.seek(0)
        found, expected = reader.load(file, weights_only=weights_only), made(reader)
        assert found["dtype"] is expected["dtype"]
        for key in ("x", "view", "parameter"):
            assert type(found[key]) is type(expected[key])
            assert bytes_of(found[key]) == bytes_of(expected[key])
        assert found["view"].data_ptr() == found["x"][:, 1:].data_ptr()
