"""uint16, uint32, uint64, floating types of 8 bits and complex32: what computes, and what is refused."""

import numpy as np
import pytest

import tensorlab as T
from tests.core.few_ops import FLOAT8, NEW, UNSIGNED, same
from tests.oracle import require_torch

torch = require_torch()
pytestmark = pytest.mark.filterwarnings("ignore:.*omplex")  # PyTorch's ComplexHalf is experimental


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
