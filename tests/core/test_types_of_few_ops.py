"""uint16, uint32, uint64, floating types of 8 bits and complex32: conversions, printing, files, and what computes."""

import copy
import io
import itertools
import math
import pickle
import warnings

import numpy as np
import pytest

import tensorlab as T
from tests.core.test_dtypes import NAMES
from tests.oracle import require_torch

torch = require_torch()
pytestmark = pytest.mark.filterwarnings("ignore:.*omplex")  # PyTorch's ComplexHalf is experimental

UNSIGNED = ("uint16", "uint32", "uint64")
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
NEW = (*UNSIGNED, *FLOAT8, "complex32")
ALL = (*NAMES, *NEW, "complex64", "complex128")


def to_torch(x):
    """The same bytes as a tensor of PyTorch's."""
    name = str(x.dtype).rpartition(".")[2]
    data = x.contiguous().reshape(-1).view(T.uint8).numpy()
    return torch.from_numpy(data.copy()).view(getattr(torch, name)).reshape(tuple(x.shape))


def bytes_of(x):
    """Dtype, shape and bytes of a tensor of either package; nan has many bytes, and counts as one."""
    if x.is_floating_point() or x.is_complex():
        wide = x.to((T if isinstance(x, T.Tensor) else torch).complex128)
        parts = [(one.real, one.imag) for one in flat(wide.tolist())]
        values = [tuple("nan" if math.isnan(p) else p.hex() for p in pair) for pair in parts]
    else:
        values = flat(x.tolist())
    return str(x.dtype).rpartition(".")[2], tuple(x.shape), values


def flat(nested):
    return list(itertools.chain(*map(flat, nested))) if isinstance(nested, list) else [nested]


def outcome(module, call):
    """What a call gives, as text and numbers that are equal for both packages; "refused" if it raises."""
    try:
        found = call(module)
    except (RuntimeError, TypeError, ValueError, OverflowError, IndexError):
        return "refused"
    return described(found)


def described(found):
    if isinstance(found, T.Tensor | torch.Tensor):
        return bytes_of(found)
    if isinstance(found, tuple | list):
        return [described(one) for one in found]
    return str(found).replace("torch.", "").replace("tensorlab.", "")


def same(call):
    ours, theirs = outcome(T, call), outcome(torch, call)
    assert theirs != "refused", "PyTorch refuses this; leave it out"
    assert ours == theirs


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


# ---------------------------------------------------------------- what computes
def numbers(m, name):
    return m.tensor([[1, 2], [3, 1]]).to(getattr(m, name))


MOVES = {
    "slice": lambda m, x: x[0],
    "step": lambda m, x: x[:, ::2],
    "index": lambda m, x: x[m.tensor([1, 0])],
    "mask": lambda m, x: x[m.tensor([[True, False], [True, True]])],
    "transpose": lambda m, x: x.t().contiguous(),
    "flip": lambda m, x: x.flip(0),
    "roll": lambda m, x: x.roll(1),
    "repeat": lambda m, x: x.repeat(2, 2),
    "repeat_interleave": lambda m, x: x.repeat_interleave(2),
    "diag": lambda m, x: x.diag(),
    "diag_embed": lambda m, x: x.diag_embed(),
    "unfold": lambda m, x: x.unfold(0, 1, 1),
    "index_select": lambda m, x: x.index_select(0, m.tensor([0])),
    "cat": lambda m, x: m.cat([x, x]),
    "stack": lambda m, x: m.stack([x, x], 1),
    "block_diag": lambda m, x: m.block_diag(x, x),
    "split": lambda m, x: x.split(1),
    "bytes": lambda m, x: x.view(m.uint8),
    "int16 seen": lambda m, x: x.view(m.int16),
    "where": lambda m, x: m.where(m.tensor([True, False]), x, x.flip(0)),
    "where a number": lambda m, x: m.where(m.tensor([True, False]), x, 2),
    "resize": lambda m, x: x.clone().resize_(3),
    "set a slice": lambda m, x: x.__setitem__(0, 2) or x,
    "set a row": lambda m, x: x.__setitem__(0, x[1].clone()) or x,
    "eq": lambda m, x: x == x.flip(0),
    "eq of a number": lambda m, x: x == 2,
    "ne": lambda m, x: x != x.flip(0),
    "mul": lambda m, x: x * x,
    "any": lambda m, x: x.any(0),
    "all": lambda m, x: x.all(),
    "isnan": lambda m, x: x.isnan(),
    "sum of int64": lambda m, x: x.sum(dtype=m.int64),
    "mean of float32": lambda m, x: x.mean(dtype=m.float32),
    "cumsum of int64": lambda m, x: x.cumsum(0, dtype=m.int64),
}


@pytest.mark.filterwarnings("ignore:.*imaginary part")
@pytest.mark.parametrize("name", NEW)
@pytest.mark.parametrize("call", MOVES)
def test_moved_as_in_pytorch(name, call):
    same(lambda m: MOVES[call](m, numbers(m, name)))


INTEGERS = {
    "div": lambda m, x: x / 3,
    "and": lambda m, x: x & 3,
    "or": lambda m, x: x | x.flip(0),
    "xor": lambda m, x: x ^ 1,
    "mul of a float": lambda m, x: x * 1.5,
    "mul of float32": lambda m, x: x * m.ones(2),
    "mul of a 0-d tensor": lambda m, x: x * m.tensor(2),
    "mul wraps": lambda m, x: x * -1,
    "eq of float32": lambda m, x: x == m.ones(2),
    "sqrt": lambda m, x: x.sqrt(),
    "exp": lambda m, x: x.exp(),
    "floor": lambda m, x: x.floor(),
    "round": lambda m, x: x.round(),
    "isfinite": lambda m, x: x.isfinite(),
    "nan_to_num": lambda m, x: x.nan_to_num(),
    "signbit": lambda m, x: x.signbit(),
    "sum": lambda m, x: x.sum(0),
    "prod": lambda m, x: x.prod(),
    "cumsum": lambda m, x: x.cumsum(0),
    "cumprod": lambda m, x: x.cumprod(1),
    "sort": lambda m, x: tuple(x.sort(1)),
    "sort down": lambda m, x: tuple(x.flatten().sort(descending=True, stable=True)),
    "argsort": lambda m, x: x.argsort(),
    "unique": lambda m, x: m.unique(x, return_counts=True),
    "unique_consecutive": lambda m, x: x.unique_consecutive(),
    "equal": lambda m, x: m.equal(x, x),
    "allclose": lambda m, x: m.allclose(x, x),
    "kron": lambda m, x: m.kron(x, x),
    "outer": lambda m, x: m.outer(x[0], x[1]),
    "randint": lambda m, x: (m.manual_seed(3), m.randint(0, 60000, (20,), dtype=x.dtype))[1],
}


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize("call", INTEGERS)
def test_unsigned_numbers_as_in_pytorch(name, call):
    same(lambda m: INTEGERS[call](m, numbers(m, name)))


LARGE = [0, 1, 5, 2**15, 2**16 - 1, 2**31 + 7, 2**32 - 1, 2**63, 2**63 + 5, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("name", UNSIGNED)
@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x // (y | 1),
        lambda x, y: x % (y | 1),
        lambda x, y: x < y,
        lambda x, y: x <= y,
        lambda x, y: x > y,
        lambda x, y: x >= y,
        lambda x, y: x == y,
        lambda x, y: x & y,
        lambda x, y: ~x,
        lambda x, y: x**2,
    ],
)
def test_large_unsigned_numbers_as_in_numpy(name, call):
    """What PyTorch refuses but for products: the numbers wrap as C's do."""
    most = np.iinfo(name).max
    one = np.array([n for n in LARGE if n <= most], dtype=name)
    x, y = (np.ascontiguousarray(part) for part in np.meshgrid(one, one))
    found = call(T.from_numpy(x), T.from_numpy(y))
    expected = call(x, y)
    assert found.numpy().dtype == expected.dtype
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("name", UNSIGNED)
def test_large_unsigned_numbers_in_order(name):
    numbers = [n for n in LARGE if n <= np.iinfo(name).max]
    x = T.tensor(numbers[::-1] * 9, dtype=getattr(T, name))
    assert x.sort().values.tolist() == sorted(numbers * 9)
    assert x.sort(descending=True).values.tolist() == sorted(numbers * 9, reverse=True)
    assert x.unique().tolist() == numbers
    assert T.maximum(x[:2], x[1:3]).tolist() == numbers[::-1][:2]
    if name != "uint64":
        assert (x.max().item(), x.min().item(), x.argmin().item()) == (
            numbers[-1],
            0,
            len(numbers) - 1,
        )


@pytest.mark.parametrize("name", FLOAT8)
@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + x,
        lambda x: x - 1,
        lambda x: x / x,
        lambda x: x < x,
        lambda x: x.exp(),
        lambda x: x.sum(),
        lambda x: x.prod(),
        lambda x: x.max(),
        lambda x: x.sort(),
        lambda x: x @ x,
        lambda x: x.softmax(0),
        lambda x: x.clamp(0, 1),
        lambda x: x.cumsum(0),
        lambda x: x.norm(),
        lambda x: x.relu(),
        lambda x: x.topk(1),
        lambda x: T.arange(3, dtype=x.dtype),
        lambda x: T.linspace(0, 1, 3, dtype=x.dtype),
        lambda x: x.clone().uniform_(),
    ],
)
def test_arithmetic_in_8_bits_is_refused(name, call):
    x = T.tensor([[1, 2], [3, 1]]).to(getattr(T, name))
    with pytest.raises((T.errors.DTypeError, TypeError), match=r"float8|floating"):
        call(x)


@pytest.mark.parametrize(
    "name, call",
    [
        ("sum", lambda x, i: x.sum()),
        ("prod", lambda x, i: x.prod()),
        ("index_add", lambda x, i: x.index_add(0, i, x[:2])),
        ("index_put", lambda x, i: x.index_put((i,), x[:2], accumulate=True)),
        ("scatter_add", lambda x, i: x.scatter_add(0, i, x[:2])),
        ("scatter_reduce", lambda x, i: x.scatter_reduce(0, i, x[:2], "prod")),
        ("cumsum", lambda x, i: x.cumsum(0)),
        ("sort", lambda x, i: x.sort()),
    ],
)
def test_a_refusal_names_the_op(name, call):
    x = T.ones(3, dtype=T.float8_e5m2)
    with pytest.raises(T.errors.UnsupportedDType, match=f"^{name}.*: not implemented for .*e5m2"):
        call(x, T.tensor([0, 0]))


COMPLEX = {
    "add": lambda m, x: x + x,
    "sub": lambda m, x: x - 2,
    "neg": lambda m, x: -x,
    "add of half": lambda m, x: x + m.ones(2, dtype=m.float16),
    "add of float": lambda m, x: x + m.ones(2),
    "add of a number": lambda m, x: x + 2j,
    "abs": lambda m, x: x.abs(),
    "real": lambda m, x: x.real,
    "imag": lambda m, x: x.imag,
    "view_as_real": lambda m, x: m.view_as_real(x),
    "view_as_complex": lambda m, x: m.view_as_complex(m.ones(3, 2, dtype=m.float16)),
    "complex": lambda m, x: m.complex(x.real.contiguous(), x.imag.contiguous()),
    "conj": lambda m, x: x.conj().resolve_conj(),
    "chalf": lambda m, x: x.to(m.complex64).chalf(),
    "half times i": lambda m, x: m.ones(2, dtype=m.float16) * 1j,
    "index_put": lambda m, x: x.index_put((m.tensor([0]),), x[1:]),
    "masked_fill": lambda m, x: x.masked_fill(m.tensor([True, False]), 1j),
    "nonzero": lambda m, x: x.nonzero(),
    "diff": lambda m, x: x.diff(),
    "tril": lambda m, x: x.tril(),
}


@pytest.mark.parametrize("call", COMPLEX)
def test_complex32_as_in_pytorch(call):
    def made(m):
        return m.tensor([[1 + 2j, 2 - 1j], [3j, -0.5]], dtype=m.complex64).to(m.complex32)

    same(lambda m: COMPLEX[call](m, made(m)))


def test_complex32_has_no_products_of_matrices():
    x = T.ones(2, 2, dtype=T.complex32)
    for call in (lambda: x @ x, lambda: T.linalg.inv(x), lambda: x < x, lambda: x.sort()):
        with pytest.raises(T.errors.DTypeError, match="complex32"):
            call()


def test_gradients_pass_through_stored_types():
    for name in (*FLOAT8, "complex32"):
        x = T.ones(2, dtype=getattr(T, name)).requires_grad_()
        (x.to(T.complex64 if name == "complex32" else T.float32) * 3).real.sum().backward()
        assert x.grad.dtype is x.dtype
        assert x.grad.tolist() == T.tensor([3, 3]).to(x.dtype).tolist()
    with pytest.raises(RuntimeError, match="floating"):
        T.ones(2, dtype=T.uint16).requires_grad_()


def test_compiled_programs_leave_these_types_to_the_ops():
    x = T.arange(8, dtype=T.uint16)
    found = T.compile(lambda x: ((x * 3 + 1).float().exp(), x.to(T.float8_e5m2).float() + 1))(x)
    for one, other in zip(
        found, ((x * 3 + 1).float().exp(), x.to(T.float8_e5m2).float() + 1), strict=True
    ):
        assert one.tolist() == other.tolist()
