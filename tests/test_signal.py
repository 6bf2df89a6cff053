"""Windows: values of SciPy and PyTorch, lengths of 0 and 1, options, bad input."""

import math

import numpy as np
import pytest
import scipy.signal

import tensorlab
from tensorlab.signal import windows
from tests.ops.agreement import agree

ARGUMENTS = {
    "bartlett": [{}],
    "blackman": [{}],
    "cosine": [{}],
    "exponential": [{}, {"tau": 2.5}, {"tau": 1.5, "sym": False, "center": 0.5}],
    "gaussian": [{}, {"std": 2.0}],
    "general_cosine": [{"a": [0.5, 0.3, 0.2]}, {"a": (0.4, 0.6)}, {"a": [1.0]}],
    "general_hamming": [{}, {"alpha": 0.6}],
    "hamming": [{}],
    "hann": [{}],
    "kaiser": [{}, {"beta": 0.0}, {"beta": 5.5}],
    "nuttall": [{}],
}
LENGTHS = [0, 1, 2, 3, 4, 7, 16, 101]
CASES = [(name, options) for name, rows in ARGUMENTS.items() for options in rows]
AT_THE_FRONT = {
    "bartlett_window": [{}],
    "blackman_window": [{}],
    "hamming_window": [{}, {"alpha": 0.6, "beta": 0.4}],
    "hann_window": [{}],
    "kaiser_window": [{}, {"beta": 0.0}, {"beta": 5.5}],
}
FRONT_CASES = [(name, options) for name, rows in AT_THE_FRONT.items() for options in rows]


def test_each_window_has_a_case():
    assert sorted(ARGUMENTS) == windows.__all__


# ------------------------------------------------------------------------------ values
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_window_is_that_of_pytorch(name, options, dtype, length):
    for sym in [options["sym"]] if "sym" in options else [True, False]:
        agree(
            lambda T, sym=sym: getattr(T.signal.windows, name)(
                length, **{**options, "sym": sym, "dtype": getattr(T, dtype)}
            ),
            tolerance=1e-6 if dtype == "float32" else 1e-12,
        )


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_window_is_that_of_scipy(name, options, length):
    if length == 1 and "center" in options:
        return  # SciPy's single sample is 1, wherever the centre is; PyTorch's is not
    theirs = {**options, "std": options.get("std", 1.0)} if name == "gaussian" else {**options}
    if name == "kaiser":
        theirs.setdefault("beta", 12.0)
    if name == "general_hamming":
        theirs.setdefault("alpha", 0.54)
    for sym in [False] if "center" in options else [True, False]:
        theirs["sym"] = sym
        got = getattr(windows, name)(length, **{**options, "sym": sym}, dtype=tensorlab.float64)
        want = getattr(scipy.signal.windows, name)(length, **theirs)
        np.testing.assert_allclose(got.numpy(), want, atol=1e-14)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_float32_values_are_those_of_float64_rounded(name, options):
    exact = getattr(windows, name)(1000, **options, dtype=tensorlab.float64)
    assert tensorlab.equal(getattr(windows, name)(1000, **options), exact.float())


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), FRONT_CASES)
def test_a_function_of_the_package_gives_what_that_of_pytorch_gives(name, options, dtype, length):
    tolerance = 2e-6 if dtype == "float32" else 1e-12
    for periodic in (True, False):
        call = lambda T, periodic=periodic: getattr(T, name)(
            length, periodic=periodic, **options, dtype=getattr(T, dtype)
        )
        agree(call, tolerance)
    agree(lambda T: getattr(T, name)(length, dtype=getattr(T, dtype)), tolerance)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", AT_THE_FRONT)
def test_windows_of_half_types_are_rounded_once(name, dtype):
    dtype = getattr(tensorlab, dtype)
    function = getattr(tensorlab, name)
    assert tensorlab.equal(
        function(50, dtype=dtype), function(50, dtype=tensorlab.float64).to(dtype)
    )


# ------------------------------------------------------------------------------ options
OPTIONS = {
    "a gradient": lambda T: T.hann_window(4, requires_grad=True),
    "a gradient of windows": lambda T: T.signal.windows.hann(4, requires_grad=True),
    "the default type": lambda T: T.signal.windows.hann(4).dtype,
    "a layout": lambda T: T.hamming_window(4, layout=T.strided),
    "a layout of windows": lambda T: T.signal.windows.hamming(4, layout=T.strided),
    "a device": lambda T: T.hann_window(4, device="cpu").device.type,
    "meta": lambda T: tuple(T.signal.windows.kaiser(4, device="meta").shape),
    "meta at the front": lambda T: tuple(T.kaiser_window(4, device="meta").shape),
    "positions": lambda T: T.hamming_window(5, False, 0.5, 0.5),
    "positions of kaiser": lambda T: T.kaiser_window(5, False, 3.0),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_those_of_pytorch(name):
    agree(OPTIONS[name], 1e-6)


def test_the_default_type_is_taken_when_it_is_called():
    tensorlab.set_default_dtype(tensorlab.float64)
    try:
        assert tensorlab.hann_window(3).dtype is windows.hann(3).dtype is tensorlab.float64
    finally:
        tensorlab.set_default_dtype(tensorlab.float32)


# ------------------------------------------------------------------------------ bad input
BAD = {
    "a length below 0": lambda T: T.signal.windows.hann(-1),
    "a length that is no int": lambda T: T.signal.windows.hann(2.5),
    "a whole type": lambda T: T.signal.windows.hann(4, dtype=T.int64),
    "a half type": lambda T: T.signal.windows.hann(4, dtype=T.float16),
    "a tau of 0": lambda T: T.signal.windows.exponential(4, tau=0),
    "a centre of a symmetric window": lambda T: T.signal.windows.exponential(4, center=1.0),
    "a std of 0": lambda T: T.signal.windows.gaussian(4, std=0),
    "weights that are no list": lambda T: T.signal.windows.general_cosine(4, a=0.5),
    "no weights": lambda T: T.signal.windows.general_cosine(4, a=[]),
    "a beta below 0": lambda T: T.signal.windows.kaiser(4, beta=-1),
    "an unknown option": lambda T: T.signal.windows.hann(4, dtyp=T.float32),
    "too many positions": lambda T: T.signal.windows.hann(4, True),
    "a length that is a tensor": lambda T: T.signal.windows.hann(T.tensor(4)[None]),
    "a length that is a tensor at the front": lambda T: T.hann_window(T.tensor([4.0])),
    "a length below 0 at the front": lambda T: T.hann_window(-1),
    "a length that is no int at the front": lambda T: T.hann_window(2.5),
    "a whole type at the front": lambda T: T.hann_window(4, dtype=T.int64),
    "an unknown option at the front": lambda T: T.hann_window(4, dtyp=T.float32),
    "out": lambda T: T.hann_window(4, out=T.zeros(4)),
    "an unknown argument": lambda T: T.hann_window(4, beta=1.0),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_raises_the_class_of_pytorch_and_says_which_window(name):
    agree(BAD[name])
    with pytest.raises(Exception, match=r"hann|exponential|gaussian|general_cosine|kaiser"):
        BAD[name](tensorlab)


@pytest.mark.parametrize("name", AT_THE_FRONT)
def test_lengths_of_0_and_1(name):
    function = getattr(tensorlab, name)
    assert function(0).shape == (0,)
    assert function(1).tolist() == function(1, False).tolist() == [1]


def test_a_window_of_nan_stays_nan():
    assert tensorlab.kaiser_window(3, beta=math.nan).isnan().all()
