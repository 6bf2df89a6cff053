"""The sources ask for dtypes by class, `is_in(x.dtype_, FLOATING | INTEGRAL)`, and never by the order of their codes.

So a new type is a row in dtypes.pyx and a bit in the classes of dtypes.pxd: nothing takes it for another one.
"""

import re
from pathlib import Path

import pytest

import tensorlab as T
from tests.core.test_dtypes import NAMES
from tests.oracle import require_torch

PACKAGE = Path(T.__file__).parent
SOURCES = sorted(path for end in ("pyx", "pxd") for path in PACKAGE.rglob(f"*.{end}"))
CODE = rf"(?:{'|'.join(name.upper() for name in NAMES)}|NUM_DTYPES)\b"
ORDER = re.compile(rf"(?:(?<!<)[<>]=?|[-+]) *{CODE}|\b{CODE} *(?:[<>]=?|[-+] )")
TWO_WAYS = re.compile(
    r"(?:\[(?:float|double)\]|_(?:float|double)) if .*[=!]= FLOAT(?:32|64) else\b"
)


def lines_with(pattern, sources):
    """Return "path: line" for the lines of code, without comments, that a pattern is in."""
    return [
        f"{path.relative_to(PACKAGE)}: {line.strip()}"
        for path in sources
        for line in path.read_text().splitlines()
        if pattern.search(line.partition("#")[0])
    ]


@pytest.mark.parametrize(
    "line",
    [
        "return code >= FLOAT16",
        "if UINT8 <= dtype:",
        "x.dtype_ == INT8 + 1",
        "for a in range(INT8, INT64 + 1):",
        "BOOL + UINT8 - x.dtype_",
    ],
)
def test_the_pattern_finds_orders_of_codes(line):
    assert ORDER.search(line)


@pytest.mark.parametrize(
    "line",
    [
        "f[float](x) if dtype == FLOAT32 else <ssize>1",
        "item_size[INT64] * d",
        "FLOATING | 1 << INT64",
    ],
)
def test_the_pattern_leaves_other_code_alone(line):
    assert not ORDER.search(line)


def test_no_code_depends_on_the_order_of_codes():
    others = [path for path in SOURCES if path.stem != "dtypes"]
    assert lines_with(ORDER, others) == [], "ask is_in(code, CLASS): see dtypes.pxd"


def test_no_choice_of_two_takes_every_other_type_for_a_float():
    assert lines_with(TWO_WAYS, SOURCES) == [], "ask is_double(kernel), which refuses other types"


@pytest.mark.parametrize("name", NAMES)
def test_each_type_is_in_the_classes_that_pytorch_says(name):
    torch = require_torch()
    ours, theirs = getattr(T, name), getattr(torch, name)
    for what in ("is_floating_point", "is_complex", "is_signed", "itemsize"):
        assert getattr(ours, what) == getattr(theirs, what), what


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_can_cast_is_pytorchs(source, target):
    torch = require_torch()
    expected = torch.can_cast(getattr(torch, source), getattr(torch, target))
    assert T.can_cast(getattr(T, source), getattr(T, target)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_integers_and_bools_are_summed_in_int64(name):
    dtype = getattr(T, name)
    expected = dtype if dtype.is_floating_point else T.int64
    x = T.ones(2, 2, dtype=dtype)
    results = [x.sum(), x.prod(), x.sum(0), x.sum_to_size(1, 2)]
    if name != "bool":
        results += [x.cumsum(0), x.cumprod(0), x.trace()]
    assert [one.dtype for one in results] == [expected] * len(results)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_no_elements_need_no_loop(name, shape):
    torch = require_torch()
    for dtype in ("int64", "bool", "float16"):
        for dim in (0, 1):
            ours = getattr(T.empty(shape, dtype=getattr(T, dtype)), name)(dim)
            theirs = getattr(torch.empty(shape, dtype=getattr(torch, dtype)), name)(dim)
            assert (tuple(ours.shape), str(ours.dtype).partition(".")[2]) == (
                tuple(theirs.shape),
                str(theirs.dtype).partition(".")[2],
            )


def test_narrow_takes_its_start_from_a_tensor_of_integers_alone():
    x = T.arange(3)
    assert x.narrow(0, T.tensor(1, dtype=T.uint8), 2).tolist() == [1, 2]
    for start in (T.tensor(True), T.tensor(1.0)):
        with pytest.raises(T.errors.ArgumentTypeError, match="0-d tensor of integers"):
            x.narrow(0, start, 1)
