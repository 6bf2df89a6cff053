"""Every pointwise op gives the bits of its eager loop when it is compiled: all types and numbers.

Both are made from the op's scalar expression (tests/core/test_scalar.py), but for those that a block has of its own.
"""

import itertools

import numpy as np
import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.compiler.lowering import Kernel
from tests.cases import by_day
from tests.compiler.driver import compiled
from tests.ops.replay import same_bits
from tests.ops.samples_pointwise import SCIPYS

COMPLEX_ONLY = {"angle_of_complex"}  # generated code has real numbers only
POINTWISE = [
    name
    for name, op in REGISTRY.items()
    if op.is_pointwise and not op.writes and name not in COMPLEX_ONLY
]
EXPRESSIONS = [name for name in POINTWISE if REGISTRY[name].scalar is not None]
DTYPES = [
    getattr(tensorlab, name)
    for name in [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
    ]
]
FLOATS = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.5, 0.1, -0.9, 7.25, 1e-3, -1e-30, 1e-40),
    *(5e-324, -1e-310, 88.7, -88.0, 104.5, -745.2, 1e6, 1048577.0, -3e7, 65504.0, 1e10, 3.4e38),
    *(-1e300, float("inf"), float("-inf"), float("nan")),
]
NUMBERS = {"eps": [0.1, -1.0], "n": [2.0, 3.0], "x": [2, 0.5, -3.0, 1.5], "factor": [100.0, 0.3]}
PAIRS = [
    *("float32 int64", "int8 uint8", "bool int32", "float16 bfloat16", "float64 float32"),
    *("int16 bool", "bfloat16 float32", "int64 float16", "uint8 float64"),
]
SCALARS = [2, -1, 0.5, True, float("inf"), 0, 1.5e-3]


def tensors_of(name):
    """Count the arguments of an op that are tensors."""
    return [p.type.word for p in REGISTRY[name].signature.parameters].count("Tensor")


def samples(dtype, seed=0):
    """Special numbers of a type, and random ones."""
    rng = np.random.default_rng(seed)
    if dtype is tensorlab.bool:
        return tensorlab.tensor([True, False, True, False, False])
    if dtype.is_floating_point:
        numbers = [*FLOATS, *rng.standard_normal(16), *(rng.standard_normal(4) * 1e4)]
        return tensorlab.tensor(numbers, dtype=tensorlab.float64).to(dtype)
    info = tensorlab.iinfo(dtype)
    numbers = [
        info.min,
        info.max,
        0,
        1,
        2,
        3,
        7,
        8,
        31,
        63,
        100,
        *((-1, -2, -7, -64) if info.min else (200, 255)),
    ]
    return tensorlab.tensor([*numbers, *map(int, rng.integers(info.min, info.max, 8))], dtype=dtype)


def operands(op, dtype, others, seed):
    """Tensors for an op's parameters whose broadcast is every combination of the first two, and some of the rest."""
    tensors, numbers = [], {}
    for parameter in op.signature.parameters:
        if parameter.type.word == "Tensor":
            tensors.append(parameter.name)
        else:
            numbers[parameter.name] = NUMBERS.get(parameter.name, [2.0, -0.5])
    rows = [samples(dtype if k == 0 else others, seed + k) for k in range(len(tensors))]
    shaped = []
    for k, row in enumerate(rows):
        if k == 0:
            shaped.append(row.reshape(-1, 1) if len(rows) > 1 else row)
        else:
            shaped.append(row[: 1 + len(row) // k] if k > 1 else row)
    if len(rows) > 2:  # a third operand varies with both
        wide = [row.numel() for row in shaped]
        shape = (wide[0], wide[1])
        for k in range(2, len(rows)):
            row = rows[k]
            index = (
                tensorlab.arange(shape[0]).reshape(-1, 1) * 7 + tensorlab.arange(shape[1]) * (k + 1)
            ) % len(row)
            shaped[k] = row[index]
    for choice in itertools.product(*numbers.values()):
        given = dict(zip(numbers, choice, strict=True))
        at = dict(zip(tensors, shaped, strict=True))
        yield [at[p.name] if p.name in at else given[p.name] for p in op.signature.parameters]


def supported(op, arguments):
    try:
        op(*arguments)
    except (NotImplementedError, RuntimeError):
        return False
    return True


def check(op, cases):
    """Compile an op with several lists of arguments, all at once, and compare with eager results."""
    tensors = [one for case in cases for one in case if isinstance(one, tensorlab.Tensor)]

    def calls(*given):
        given = iter(given)
        return [
            op(*(next(given) if isinstance(one, tensorlab.Tensor) else one for one in case))
            for case in cases
        ]

    (results, steps), wanted = compiled(calls, *tensors), calls(*tensors)
    assert all(isinstance(step, Kernel) for step in steps)
    for got, want, case in zip(results, wanted, cases, strict=True):
        assert same_bits(got, want), (op.name, first_difference(got, want, case))


def first_difference(got, want, arguments):
    if (got.shape, got.stride(), got.dtype) != (want.shape, want.stride(), want.dtype):
        return got.shape, got.stride(), got.dtype, want.stride()
    got, want = got.double().numpy(), want.double().numpy()
    where = np.argwhere(~((got == want) | (np.isnan(got) & np.isnan(want))))
    if not len(where):
        return "other zeros"
    at = tuple(where[0])
    values = [
        np.broadcast_to(one.double().numpy(), got.shape)[at]
        if isinstance(one, tensorlab.Tensor)
        else one
        for one in arguments
    ]
    return len(where), got[at], want[at], values


def test_every_pointwise_op_has_an_expression_but_scipys():
    assert set(POINTWISE) - SCIPYS == set(EXPRESSIONS)


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_an_op_has_the_bits_of_its_loop(name):
    op = REGISTRY[name]
    cases = [
        case for dtype in DTYPES for case in operands(op, dtype, dtype, 1) if supported(op, case)
    ]
    assert cases
    check(op, cases)


def promotion_cases(name):
    """Arguments of an op of several tensors: of two types, and with numbers."""
    op, count = REGISTRY[name], tensors_of(name)
    cases = []
    for pair in PAIRS:
        dtype, other = (getattr(tensorlab, word) for word in pair.split())
        cases += itertools.islice(operands(op, dtype, other, 5), 1)
    for dtype, (k, number) in itertools.product(DTYPES[::3], enumerate(SCALARS)):
        arguments = next(operands(op, dtype, dtype, 6))
        arguments[1 + k % (count - 1)] = number
        cases.append(arguments)
    return [case for case in cases if supported(op, case)]


# A compiler needs a second for each; test_blocks.py promotes the operands of all of them without one.
@pytest.mark.parametrize(
    "name", by_day([name for name in sorted(EXPRESSIONS) if tensors_of(name) > 1], every=4)
)
def test_numbers_and_other_types_are_promoted_as_in_eager_mode(name):
    cases = promotion_cases(name)
    assert cases
    check(REGISTRY[name], cases)
