"""Every sample with complex numbers in place of floating ones, against PyTorch: values and gradients, or a refusal."""

import warnings

import numpy as np
import pytest

import tensorlab
from tests.ops.agreement import agree
from tests.ops.every_sample import FLOATING, as_tuple, dtype_name, each_sample
from tests.ops.samples import is_floating
from tests.oracle import require_torch

torch = require_torch()

# What PyTorch says where it has no formula for complex numbers; in some of these cases we have one.
NO_DERIVATIVE = "does not support automatic differentiation for outputs with complex dtype"
# Samples of ops that take complex numbers in PyTorch and refuse them here, and why.
NOT_HERE: dict[str, str] = {
    **dict.fromkeys(
        [
            f"{cell}{form}"
            for cell in ("rnn_tanh", "gru", "lstm")
            for form in ("", " plain", "_cell")
        ],
        "the loops of recurrent layers are for real numbers",
    ),
    "adaptive_avg_pool2d all": "pooling is for real numbers; PyTorch's, too, but for this size",
}
# Samples whose results differ on purpose, and why.
OTHERWISE: dict[str, str] = {
    "cumprod dtype": "PyTorch's formula reads the imaginary part that the call has dropped",
}


def complex_inputs(sample):
    """The arrays of a sample; each floating one has an imaginary part, which is another row of numbers."""
    rng = np.random.default_rng(len(sample.name))
    return [with_imaginary_part(x, rng) if is_floating(x) else x for x in sample.arrays()]


def with_imaginary_part(array, rng):
    found = np.empty(array.shape, "complex128")
    found.real, found.imag = array, rng.permutation(array.ravel()).reshape(array.shape)
    return found


def tensors_in(T, arrays):
    return [
        T.from_numpy(np.array(one)).requires_grad_() if one.dtype.kind == "c" else T.from_numpy(one)
        for one in (np.asarray(array) for array in arrays)
    ]


def outcome(T, sample):
    """The results of a call, or its error; and the gradients of a real loss of them."""
    tensors = tensors_in(T, complex_inputs(sample))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        T.manual_seed(0)
        try:
            results = as_tuple(sample.call(T, *tensors))
        except Exception as error:
            if NO_DERIVATIVE in str(error):
                with T.no_grad():
                    return as_tuple(sample.call(T, *tensors)), error
            return error, None
        followed = [one for one in results if hasattr(one, "grad_fn") and one.requires_grad]
        if not followed or not sample.derivatives:
            return results, ()
        try:
            loss = sum((one * one.conj()).real.sum() + one.real.sum() for one in followed)
            leaves = [x for x in tensors if x.requires_grad]
            return results, T.autograd.grad(loss, leaves, allow_unused=True)
        except Exception as error:
            return results, error


def numbers(x):
    x = x.detach()
    return np.array((x.resolve_conj().resolve_neg() if x.is_complex() else x).tolist())


@each_sample([sample for sample in FLOATING if sample.in_pytorch])
def test_complex_numbers_are_as_in_pytorch(sample):
    theirs, their_gradients = outcome(torch, sample)
    ours, our_gradients = outcome(tensorlab, sample)
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception), f"PyTorch refuses: {theirs}"
        return
    if sample.name in NOT_HERE:
        assert isinstance(ours, RuntimeError | TypeError)
        return
    assert not isinstance(ours, Exception), ours
    if sample.name in OTHERWISE:
        return
    compare(ours, theirs, "result")
    if isinstance(their_gradients, Exception):
        return
    assert not isinstance(our_gradients, Exception), our_gradients
    compare(our_gradients, their_gradients, "gradient")


def compare(ours, theirs, what):
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        if y is None or not hasattr(y, "dtype"):
            assert x == y or (x is not None and not np.any(numbers(x))), what
            continue
        assert dtype_name(x) == dtype_name(y), what
        assert tuple(x.shape) == tuple(y.shape), what
        np.testing.assert_allclose(numbers(x), numbers(y), rtol=1e-8, atol=1e-8, err_msg=what)


def test_conjugates_around_a_formula_give_the_gradient_of_a_real_loss():
    """By hand: of |z|^2 the gradient is 2 z, so that a step against it makes z smaller."""
    z = tensorlab.tensor([3 + 4j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [6 + 8j]


def test_a_real_number_in_a_complex_calculation_has_a_real_gradient():
    x = tensorlab.tensor(2.0, requires_grad=True)
    (x * (1 + 3j)).abs().backward()
    assert x.grad.dtype == tensorlab.float32
    np.testing.assert_allclose(x.grad.item(), abs(1 + 3j), rtol=1e-6)


def test_parts_are_views_that_can_be_written():
    z = tensorlab.tensor([1 + 2j, 3 + 4j])
    z.real.mul_(10)
    z.imag = tensorlab.tensor([0.0, 1.0])
    assert z.tolist() == [10 + 0j, 30 + 1j]
    assert z.real.data_ptr() == z.data_ptr()


def test_a_write_to_a_part_is_followed_by_autograd():
    x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    z = tensorlab.tensor([1 + 2j, 3 + 4j], requires_grad=True)
    y = z * 1
    y.imag.mul_(x)
    y.imag.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    assert z.grad.tolist() == [1j, 2j]


@pytest.mark.parametrize("call", ["lt", "clamp_min", "floor", "sort", "amax", "relu", "median"])
def test_what_needs_an_order_is_refused(call):
    z = tensorlab.tensor([1 + 2j])
    before = z.tolist()
    arguments = (z,) if call in ("lt", "clamp_min") else (0,) if call == "amax" else ()
    function = getattr(z, call) if call != "relu" else tensorlab.relu
    with pytest.raises((RuntimeError, TypeError), match="complex64"):
        function(*((z,) if call == "relu" else arguments))
    assert z.tolist() == before


def test_a_row_of_complex_numbers_may_begin_at_a_real_tensor():
    row = tensorlab.linspace(
        tensorlab.tensor(0), tensorlab.tensor(2.0), 3, dtype=tensorlab.complex64
    )
    assert row.tolist() == [0, 1, 2]
    assert row.dtype is tensorlab.complex64


@pytest.mark.parametrize("value", [1j, tensorlab.tensor(1j)])
def test_a_real_tensor_is_not_filled_with_complex_numbers(value):
    x = tensorlab.ones(2)
    with pytest.raises(RuntimeError, match="masked_fill_: .*complex"):
        x.masked_fill_(x > 0, value)
    assert x.tolist() == [1, 1]


def test_gradcheck_takes_complex_numbers():
    z = tensorlab.randn(3, dtype=tensorlab.complex128, requires_grad=True)
    w = tensorlab.randn(3, dtype=tensorlab.complex128, requires_grad=True)
    assert tensorlab.autograd.gradcheck(lambda z, w: z.exp() / w, (z, w))
    assert tensorlab.autograd.gradgradcheck(lambda z, w: (z * w).abs(), (z, w))


def test_equal_numbers_have_a_deviation_whose_gradient_is_zero():
    z = tensorlab.full((2, 3), 1 + 2j, requires_grad=True)
    deviations = z.std(-1)
    deviations.sum().backward()
    assert deviations.tolist() == [0, 0]
    assert z.grad.abs().max().item() == 0


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_zeros_have_no_imaginary_part_wherever_they_are_written(dtype):
    """A zero as wide as a real number was written, and what lay behind it in memory."""
    dtype = getattr(tensorlab, dtype)
    z = tensorlab.full((5, 5), 1 + 2j, dtype=dtype)
    z.diagonal().zero_()
    assert z.diagonal().tolist() == [0] * 5
    assert z[0, 1].item() == 1 + 2j
    large = tensorlab.full((100, 200), 1 + 2j, dtype=dtype)
    large.t()[::2].zero_()
    assert large[:, ::2].abs().max().item() == 0
    assert large[:, 1::2].sum().item() == 100 * 100 * (1 + 2j)
    assert tensorlab.zeros(100, 200, dtype=dtype).t().abs().max().item() == 0


def test_infinite_parts_and_signs_of_zeros_are_kept():
    """Parts go in, out and from type to type one by one: re + im * i would make nan of 1 + inf i, and 0 of -0."""
    inf = float("inf")
    numbers = [complex(1, inf), complex(-inf, 2), complex(-0.0, -0.0), complex(-0.0, 1)]
    for name in ("complex32", "complex64", "complex128"):
        ways = [
            tensorlab.tensor(numbers, dtype=getattr(tensorlab, name)),
            tensorlab.tensor(numbers, dtype=tensorlab.complex64).to(getattr(tensorlab, name)),
            tensorlab.tensor(numbers, dtype=tensorlab.complex128).to(getattr(tensorlab, name)),
            tensorlab.stack(
                [tensorlab.full((), x, dtype=getattr(tensorlab, name)) for x in numbers]
            ),
        ]
        for x in ways:
            assert list(map(str, x.tolist())) == list(map(str, numbers))
            assert str(x[2].item()) == "(-0-0j)"
    assert str(tensorlab.tensor([-0.0]).to(tensorlab.complex64).real.tolist()) == "[-0.0]"


RANKS = [
    (kind, f"{shape}, dtype={kind}", number)
    for kind in ("float16", "bfloat16", "float32", "float64", "int32")
    for shape in ("(2,)", "()")
    for number in ("1j", "T.tensor(1j)", "T.tensor(1j, dtype=T.complex128)")
]


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize("kind, tensor, number", RANKS)
def test_a_complex_number_of_lower_rank_leaves_a_tensor_its_digits(kind, tensor, number):
    def found(T):
        shape = eval(tensor.partition(", dtype")[0])
        return dtype_name(T.ones(shape, dtype=getattr(T, kind)) * eval(number, {"T": T}))

    assert found(tensorlab) == found(torch)


def test_int_and_float_of_a_complex_number_that_is_real():
    x = tensorlab.tensor(3 + 0j)
    assert (int(x), float(x), complex(x)) == (3, 3.0, 3 + 0j)
    for function in (int, float):
        with pytest.raises(RuntimeError, match="imaginary part, which would be lost"):
            function(tensorlab.tensor(3 + 1j))


def test_running_logarithms_of_complex_sums():
    """Small terms in front of large ones aren't lost, and imaginary parts beyond pi stay."""
    inf = float("inf")
    rows = [
        [0.5 + 7j, 1 - 2j, -3 + 4j, 0.1j],
        [-1000, 0, 5 + 3j, 900 + 4j],
        [complex(-inf, 0), complex(-inf, 0), 1 + 1j, 1 + 4j],
    ]

    def call(T):
        x = T.tensor(rows, dtype=T.complex128, requires_grad=True)
        y = T.logcumsumexp(x, 1)
        (grad,) = T.autograd.grad(T.view_as_real(y[:2]).sin().sum(), x)
        return [
            T.view_as_real(one.detach().resolve_conj()).contiguous() + 0 for one in (y, grad[:2])
        ]

    agree(call, 1e-12)
    agree(lambda T: T.logcumsumexp(T.tensor([complex(inf, 0), 1 + 0j]), 0).real + 0)
    x = tensorlab.randn(2, 4, dtype=tensorlab.complex128, requires_grad=True)
    assert tensorlab.autograd.gradcheck(lambda x: x.logcumsumexp(1), (x,))
    assert tensorlab.autograd.gradgradcheck(lambda x: x.logcumsumexp(1), (x,))


@pytest.mark.parametrize("count", [1, 31, 32, 63, 64, 65, 511, 512, 4097, 9001])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sums_of_any_length_keep_the_parts_apart(dtype, count):
    x = (np.arange(count) % 7 + 1j * (np.arange(count) % 5 - 9)).astype(dtype)
    stack = np.stack([x, -x, 2 * x])
    assert tensorlab.from_numpy(x).sum().item() == x.sum()
    assert tensorlab.from_numpy(stack).sum(1).tolist() == stack.sum(1).tolist()
    assert tensorlab.from_numpy(stack.T.copy()).sum(0).tolist() == stack.sum(1).tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("arrange", ["alike", "transposed", "different", "gaps", "broadcast"])
def test_a_complex_number_has_its_parts_however_these_lie_in_memory(arrange, dtype):
    real = tensorlab.arange(70_000).remainder(97).reshape(350, 200).to(getattr(tensorlab, dtype))
    imag = -2 * real - 1
    if arrange == "transposed":
        real, imag = real.T, imag.T
    if arrange == "different":
        imag = imag.T.contiguous().T
    if arrange == "gaps":
        real, imag = real[:, ::2], imag[:, ::2]
    if arrange == "broadcast":
        imag = imag[0]
    z = tensorlab.complex(real, imag)
    parts = tensorlab.view_as_real(z)
    assert tensorlab.equal(parts[..., 0], real)
    assert tensorlab.equal(parts[..., 1], imag.expand(real.shape))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda T: T.ones(9)[1:].view(4, 2), "storage_offset"),
        (lambda T: T.ones(9).as_strided((3, 2), (3, 1)), "even|divisible"),
        (lambda T: T.ones(2, 2).t(), "stride"),
    ],
)
def test_numbers_that_do_not_begin_at_every_second_element_are_refused(make, message):
    for package in (tensorlab, torch):
        with pytest.raises(RuntimeError, match=message):
            package.view_as_complex(make(package))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"win_length": 5},
        {"win_length": 3, "hop_length": 2},
        {"win_length": 12, "normalized": True},
    ],
)
def test_frames_of_a_signal_are_those_of_pytorch(options):
    """With what is a quarter, or all, of n_fft unless given, and shorter windows, padded on both sides."""
    x = np.random.default_rng(0).standard_normal(40)
    results = []
    for package in (tensorlab, torch):
        signal = package.from_numpy(x)
        window = package.hann_window(options.get("win_length", 12), dtype=package.float64)
        for given in (None, window):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # PyTorch's, of a window that is missing
                made = package.stft(signal, 12, window=given, return_complex=True, **options)
            results.append(made.resolve_conj().numpy())
    for ours, theirs in zip(results[:2], results[2:], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_the_spectrum_of_a_real_signal_must_be_told_its_form():
    for package in (tensorlab, torch):
        with pytest.raises(RuntimeError, match="return_complex"):
            package.stft(package.ones(16), 8, window=package.ones(8))


COMPLEX_EDGES = [0.0, 1.0, 79.0, 81.0, 710.0, 3e7, np.inf]
FUNCTIONS = {
    "exp": np.exp,
    "abs": np.abs,
    "angle": np.angle,
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "silu": lambda z: z / (1 + np.exp(-z)),
}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_keep_their_digits(name, dtype):
    """A row of usual numbers, and rows in which one of them has a part that is too large for vector code."""
    rng = np.random.default_rng(0)
    z = (rng.standard_normal(900) * 4 + 1j * rng.standard_normal(900) * 9).astype(dtype)
    for unusual in (None, 3e7j, -85.0):
        if unusual is not None:
            z[100] = unusual
        exact = FUNCTIONS[name](z.astype(np.clongdouble))
        function = getattr(tensorlab, name, None) or getattr(tensorlab.nn.functional, name)
        error = np.abs(function(tensorlab.from_numpy(z)).numpy() - exact) / np.abs(exact)
        assert error.max() < 8 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", ["exp", "abs", "angle"])
def test_functions_at_the_ends_are_those_of_c(name, dtype):
    parts = [*COMPLEX_EDGES, *np.negative(COMPLEX_EDGES), np.nan]
    z = np.array([complex(re, im) for re in parts for im in parts]).astype(dtype)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name](z)
    together = getattr(tensorlab, name)(tensorlab.from_numpy(z)).numpy()
    alone = [
        getattr(tensorlab, name)(tensorlab.from_numpy(z[i : i + 1])).numpy() for i in range(z.size)
    ]
    for found in (together, np.concatenate(alone)):
        np.testing.assert_allclose(found, expected, rtol=8 * np.finfo(found.dtype).eps)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("unusual", [None, 0, 1e30, np.inf])
def test_powers_keep_the_digits_that_a_logarithm_and_an_exponential_leave(unusual, dtype):
    """An error of y log x is a relative one of the result; the logarithm of a base of size 1 is nearly imaginary."""
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal((2, 900)) * 2 + 1j * rng.standard_normal((2, 900))).astype(dtype)
    x[::3] /= np.abs(x[::3])
    if unusual is not None:
        x[100] = unusual
    with np.errstate(all="ignore"):
        exact = np.exp(y.astype(np.clongdouble) * np.log(x.astype(np.clongdouble)))
        found = tensorlab.pow(tensorlab.from_numpy(x), tensorlab.from_numpy(y)).numpy()
        error = np.abs(found - exact) / np.abs(exact) / (1 + np.abs(y * np.log(x)))
    error[100] = 0 if unusual is not None else error[100]
    assert error.max() < 4 * np.finfo(dtype).eps
    theirs = torch.pow(torch.from_numpy(x[100:101]), torch.from_numpy(y[100:101])).numpy()
    np.testing.assert_allclose(found[100:101], theirs, rtol=100 * np.finfo(dtype).eps)


@pytest.mark.parametrize("library", ["tensorlab", "torch"])
def test_conjugated_in_place_it_is_written_and_differentiated(library):
    T = torch if library == "torch" else tensorlab
    x = T.tensor([1 + 2j, -3j], requires_grad=True)
    y = x * 2
    assert y.conj_physical_() is y
    assert y.tolist() == [2 - 4j, 6j]
    assert y._version == 1
    y.backward(T.tensor([1 + 1j, 2j]))
    assert x.grad.tolist() == [2 - 2j, -4j]
