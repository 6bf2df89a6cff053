"""Dtypes: promotion against PyTorch for every pair, limits, the default type, conversion."""

import pickle
import platform

import numpy as np
import pytest

import tensorlab as T
from tests.oracle import require_torch

NAMES = (
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
)


@pytest.mark.parametrize("one", NAMES)
@pytest.mark.parametrize("two", NAMES)
def test_promotion_is_pytorchs(one, two):
    torch = require_torch()
    expected = str(torch.promote_types(getattr(torch, one), getattr(torch, two)))
    assert str(T.promote_types(getattr(T, one), getattr(T, two))) == expected.replace(
        "torch", "tensorlab"
    )


@pytest.mark.parametrize("tensor", NAMES)
@pytest.mark.parametrize("other", ["True", "2", "2.5", *[f"zero-d {name}" for name in NAMES]])
def test_numbers_and_0d_tensors_rank_below_tensors(tensor, other):
    torch = require_torch()

    def result(module):
        x = module.ones(2, dtype=getattr(module, tensor))
        if other.startswith("zero-d"):
            y = module.ones((), dtype=getattr(module, other.split()[1]))
        else:
            y = eval(other)
        return str((x * y).dtype).split(".")[1]

    assert result(T) == result(torch)


def test_the_default_type_governs_numbers():
    assert T.get_default_dtype() is T.float32
    T.set_default_dtype(T.float64)
    try:
        assert T.tensor(1.5).dtype is T.float64
        assert (T.ones(2, dtype=T.int64) * 1.5).dtype is T.float64
    finally:
        T.set_default_dtype(T.float32)
    with pytest.raises(TypeError, match="floating"):
        T.set_default_dtype(T.int64)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo_is_numpys(name):
    ours, theirs = T.finfo(getattr(T, name)), np.finfo(name)
    assert (ours.bits, ours.eps, ours.max, ours.min, ours.tiny) == (
        theirs.bits,
        float(theirs.eps),
        float(theirs.max),
        float(theirs.min),
        float(theirs.tiny),
    )


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo_is_numpys(name):
    ours, theirs = T.iinfo(getattr(T, name)), np.iinfo(name)
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)


@pytest.mark.parametrize(("info", "dtype"), [(T.finfo, T.int32), (T.iinfo, T.float32)])
def test_the_wrong_kind_of_info_is_refused(info, dtype):
    with pytest.raises(TypeError):
        info(dtype)


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_are_singletons_even_through_pickle(name):
    dtype = getattr(T, name)
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert repr(dtype) == f"tensorlab.{name}"
    assert dtype.itemsize == T.empty(0, dtype=dtype).itemsize


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_every_conversion_is_pytorchs(source, target):
    torch = require_torch()
    values = [0, 1, 2, 100] if source in ("bool", "uint8") else [-100, -1, 0, 1, 2, 100]
    if source.startswith(("float", "bfloat")):
        values += [0.25, -0.75, 1.5, 77.7]
        if target.startswith(("float", "bfloat")):
            values += [float("inf"), float("-inf"), 1e-7, 65519.0, 3e4]
    if target == "uint8":
        values = [abs(v) for v in values]
    ours = T.tensor(values, dtype=getattr(T, source)).to(getattr(T, target))
    theirs = torch.tensor(values, dtype=getattr(torch, source)).to(getattr(torch, target))
    assert ours.tolist() == theirs.tolist()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="C leaves these open")
@pytest.mark.parametrize("source", NAMES[6:])
@pytest.mark.parametrize("target", NAMES[:6])
@pytest.mark.parametrize("repeats", [1, 10], ids=["short", "long"])
def test_casts_that_c_leaves_open_give_what_pytorch_gives_on_x86(source, target, repeats):
    torch = require_torch()
    values = [float("inf"), float("-inf"), float("nan"), 3e38, -3e38, 70000.0, -70000.0, 257.5]
    values += [
        2.0**31,
        -(2.0**31) - 1,
        4e9,
        -4e9,
        1e10,
        2.0**63,
        -(2.0**63),
        2.0**64,
        300.0,
        -300.0,
    ]
    ours = T.tensor(values * repeats, dtype=T.float64).to(getattr(T, source))
    theirs = torch.tensor(values * repeats, dtype=torch.float64).to(getattr(torch, source))
    assert ours.to(getattr(T, target)).tolist() == theirs.to(getattr(torch, target)).tolist()


@pytest.mark.parametrize("source", NAMES[1:6])
@pytest.mark.parametrize("target", NAMES)
def test_integers_that_do_not_fit_wrap_or_round_as_in_pytorch(source, target):
    torch = require_torch()
    values = [127, 128, 255, 256, -129, 32768, 65519, 65520, 2049, 2051, 257, 259, 2**24 + 1]
    values += [2**31, 2**32 - 1, 2**53 + 1, 2**62 + 1, 2**63 - 1, -(2**63)]
    ours = T.tensor(values, dtype=T.int64).to(getattr(T, source))
    theirs = torch.tensor(values, dtype=torch.int64).to(getattr(torch, source))
    assert ours.tolist() == theirs.tolist()
    assert ours.to(getattr(T, target)).tolist() == theirs.to(getattr(torch, target)).tolist()
