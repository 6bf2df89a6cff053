"""gradcheck and gradgradcheck: they pass what is right, fail what is wrong, and say where and why."""

import importlib
import math
import re
import warnings

import pytest

import tensorlab
from tensorlab.autograd import backward_rules, gradcheck, gradgradcheck, numerical
from tensorlab.errors import GradcheckError, MemoryLayoutError
from tests.autograd.functions import CASES, WRONG, WRONG_SECOND, doubles, function, square, verdict
from tests.oracle import require_torch

CONSTANT = ["only_a_constant_output", "no_gradient_at_all"]  # nothing to differentiate twice
both_modes = pytest.mark.parametrize("fast_mode", [False, True], ids=["slow", "fast"])


def failure(checker, func, inputs, **settings):
    """The text of the GradcheckError."""
    with pytest.raises(GradcheckError) as caught:
        checker(func, inputs, **settings)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------ verdicts
@both_modes
@pytest.mark.parametrize("name", CASES)
def test_wrong_first_derivatives_fail_and_right_ones_pass(name, fast_mode):
    assert verdict(tensorlab, name, "gradcheck", fast_mode=fast_mode) is (name not in WRONG)


@both_modes
@pytest.mark.parametrize("name", WRONG_SECOND)
def test_wrong_second_derivatives_fail(name, fast_mode):
    assert verdict(tensorlab, name, "gradgradcheck", fast_mode=fast_mode) is False


@both_modes
@pytest.mark.parametrize("checker", ["gradcheck", "gradgradcheck"])
@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_that_of_pytorch(name, checker, fast_mode):
    torch = require_torch()
    if checker == "gradgradcheck" and name in CONSTANT:
        with pytest.raises(ValueError, match="no output requires grad"):
            gradgradcheck(*CASES[name](tensorlab)[:2])
        return
    ours = verdict(tensorlab, name, checker, fast_mode=fast_mode)
    assert ours == verdict(torch, name, checker, fast_mode=fast_mode)


def test_fast_mode_steps_no_further_than_eps_in_any_direction():
    x = doubles(tensorlab, 1000)  # a vector of 1000 numbers below 1 is 18 long
    assert gradcheck(lambda x: (1e4 * x).sin(), x, fast_mode=True)


def test_outputs_that_are_not_numbers_with_a_fraction_have_no_gradient():
    x = tensorlab.rand(4, dtype=tensorlab.float64, requires_grad=True)
    assert tensorlab.autograd.gradcheck(lambda x: (x > 0.5, x * x, x.argsort()), (x,))
    assert tensorlab.autograd.gradcheck(lambda x: x > 0.5, (x,))


def test_a_report_names_the_function():
    def three_halves(x):
        return square(tensorlab, lambda x, grad: 3 * x * grad)(x)

    class Callable:
        def __call__(self, x):
            return three_halves(x)

    x = doubles(tensorlab, 2)
    for func, name in ((three_halves, "three_halves"), (Callable(), "Callable")):
        assert name in failure(gradcheck, func, x).splitlines()[0]


@both_modes
def test_the_random_numbers_of_a_check_are_its_own(fast_mode):
    tensorlab.manual_seed(3)
    expected = tensorlab.rand(3)
    tensorlab.manual_seed(3)
    x = doubles(tensorlab, 3)
    assert gradcheck(lambda x: x.sin(), x, fast_mode=fast_mode, check_batched_grad=True)
    assert gradgradcheck(lambda x: x.sin(), x, fast_mode=fast_mode)
    assert tensorlab.rand(3).tolist() == expected.tolist()


def test_a_curve_is_not_taken_for_a_kink():
    func = square(tensorlab, lambda x, grad: 3 * x * grad)
    x = tensorlab.tensor([5.0], dtype=tensorlab.float64, requires_grad=True)
    text = failure(gradcheck, func, x, eps=1e-3)  # slopes to both sides: 10 - 0.001 and 10 + 0.001
    assert "entry is 1.5 times" in text
    assert "kink" not in text
    assert "jump" not in text


def test_fast_mode_misses_what_slow_mode_finds_in_one_entry_of_many():
    factors = tensorlab.ones(30, dtype=tensorlab.float64)
    factors[7] = 1.005
    func = square(tensorlab, lambda x, grad: 2 * x * grad * factors)
    x = doubles(tensorlab, 30)
    assert gradcheck(func, x, fast_mode=True)
    assert "input 0 [7]" in failure(gradcheck, func, x)


def test_fast_mode_calls_the_function_as_often_for_large_inputs_as_for_small_ones():
    calls = []

    def counted(x):
        calls.append(x.numel())
        return x.tanh().sum()

    for size in (2, 200):
        gradcheck(counted, doubles(tensorlab, size), fast_mode=True)
    assert calls.count(2) == calls.count(200)
    gradcheck(counted, doubles(tensorlab, 100))
    assert calls.count(100) > 200


def test_without_raise_exception_only_failed_checks_become_false():
    assert gradcheck(tensorlab.relu, doubles(tensorlab, 3) * 0, raise_exception=False) is False
    with pytest.raises(RuntimeError, match="matmul"):
        gradcheck(lambda x: x @ tensorlab.ones(5, 5), doubles(tensorlab, 3), raise_exception=False)


# ------------------------------------------------------------------------------------------------ reports
def test_the_report_names_function_input_output_entry_and_both_values():
    class Twins(tensorlab.autograd.Function):
        @staticmethod
        def forward(ctx, n, x, y):
            ctx.save_for_backward(x, y)
            return x * 1, x * y

        @staticmethod
        def backward(ctx, first, second):
            x, y = ctx.saved_tensors
            wrong = tensorlab.tensor([[1.0, 1.0, 1.0], [1.0, 3.0, 1.0]], dtype=tensorlab.float64)
            return None, first + second * y, second * x * wrong

    x, y = doubles(tensorlab, 2, 3), doubles(tensorlab, 2, 3, start=1.0)
    text = failure(gradcheck, Twins.apply, (7, x, y))
    assert text.startswith(
        "gradcheck of Twins.apply: Jacobian mismatch for output 1 with respect to input 2\n1 of 36 entries"
    )
    assert "d output 1 [1, 1] / d input 2 [1, 1]:" in text
    numbers = dict(line.split() for line in text.splitlines()[3:5])
    assert float(numbers["numerical:"]) == pytest.approx(x[1, 1].item())
    assert float(numbers["analytical:"]) == pytest.approx(3 * x[1, 1].item())


@pytest.mark.parametrize(
    ("name", "clue"),
    [
        ("half_the_gradient", "every analytical entry is 0.5 times the numerical one"),
        ("the_wrong_sign", "every analytical entry is -1 times"),
        ("a_transpose_forgotten", "the other transposed"),
        ("no_gradient_for_one_input", "nothing but zeros"),
        ("a_detached_factor", "every analytical entry is 0.5 times"),
        ("a_kink", "the slope there is 0 to the left and 1 to the right"),
        ("nan_from_backward", "infinities or NaN"),
        ("noise_in_backward", "backward is not deterministic (not reentrant)"),
        ("a_small_constant_added", "backward not multiplied by grad_output: for gradients of zero"),
        (
            "no_gradient_at_all",
            "expected to be zero: no output requires grad, but output 0 changes",
        ),
        ("a_missing_gradient_replaced_by_ones", "undefined"),
    ],
)
def test_the_report_says_what_the_mistake_looks_like(name, clue):
    func, inputs, settings = CASES[name](tensorlab)
    assert clue in failure(gradcheck, func, inputs, **settings)


def test_a_jump_is_told_from_a_wrong_formula():
    name = "a_jump_in_the_first_derivative"
    func, inputs, _ = CASES[name](tensorlab)
    text = failure(gradgradcheck, func, inputs)
    assert "At a jump there is no derivative" in text
    nearer, slope = re.search(r"an eighth of eps gives (\S+) instead of (\S+)\.", text).groups()
    assert float(nearer) == pytest.approx(8 * float(slope), rel=1e-3)


def test_low_precision_is_warned_of_and_named_in_the_report():
    x = doubles(tensorlab, 3).detach().float().requires_grad_()
    with (
        pytest.warns(UserWarning, match="input 0 is tensorlab.float32"),
        pytest.raises(
            GradcheckError, match="input 0 is tensorlab.float32; finite differences need float64"
        ),
    ):
        gradcheck(lambda x: (x * 1000).tanh() + x * 100, x)


def test_fast_mode_reports_the_entry_and_says_if_only_the_combination_differs():
    func, inputs, _ = CASES["half_the_gradient"](tensorlab)
    text = failure(gradcheck, func, inputs, fast_mode=True)
    assert "fast mode, v J u:" in text
    assert "d output 0 [" in text
    u = tensorlab.rand(2, generator=tensorlab.Generator(), dtype=tensorlab.float64)  # as fast mode
    slope = tensorlab.stack([u[1], -u[0]])  # across u, where nothing changes
    wrong = slope * tensorlab.tensor([1.0005, 1.0], dtype=tensorlab.float64)
    func = function(tensorlab, lambda ctx, x: (x * slope).sum(), lambda ctx, grad: grad * wrong)
    text = failure(gradcheck, func, doubles(tensorlab, 2), fast_mode=True)
    assert "fast_mode=False might pass" in text
    assert gradcheck(func, doubles(tensorlab, 2))


def test_gradgradcheck_names_gradients_and_grad_outputs():
    func, inputs, _ = CASES["a_backward_that_detaches"](tensorlab)
    text = failure(gradgradcheck, func, inputs)
    assert "mismatch for gradient of input 0 with respect to input 0" in text
    func = square(tensorlab, lambda x, grad: 2 * x * grad.detach())
    text = failure(gradgradcheck, func, doubles(tensorlab, 3))
    assert "mismatch for gradient of input 0 with respect to grad_output 0" in text


@pytest.mark.parametrize("first", [1.0, 1.5])
def test_of_two_gradients_that_may_differ_the_first_is_compared(first):
    def checked(T):
        calls = []

        def backward(ctx, grad):
            calls.append(grad)
            return grad * (first if len(calls) % 2 else 2.5 - first)

        func = function(T, lambda ctx, x: x * 1.0, backward)
        return T.autograd.gradcheck(func, doubles(T, 1), nondet_tol=1.0, raise_exception=False)

    assert checked(tensorlab) == checked(require_torch()) == (first == 1.0)


# ------------------------------------------------------------------------------------------------ arguments
def test_gradcheck_error_is_where_pytorch_has_it():
    module = importlib.import_module("tensorlab.autograd.gradcheck")
    assert module.GradcheckError is GradcheckError
    assert issubclass(GradcheckError, RuntimeError)
    assert tensorlab.autograd.gradcheck is gradcheck


def test_inputs_of_which_none_requires_grad_are_refused():
    with pytest.raises(ValueError, match="none of the 2 inputs requires grad"):
        gradcheck(tensorlab.add, (tensorlab.ones(2), 3))


def test_an_expanded_input_is_refused():
    x = tensorlab.ones(3, 1, dtype=tensorlab.float64).expand(3, 2).requires_grad_()
    with pytest.raises(MemoryLayoutError, match="stride 0"):
        gradcheck(tensorlab.exp, x)


def test_forward_mode_is_checked_too():
    x = doubles(tensorlab, 2)
    everything = {"check_forward_ad": True, "check_batched_grad": True}
    assert gradcheck(tensorlab.tanh, x, check_batched_forward_grad=True, **everything)
    assert gradcheck(tensorlab.tanh, x, check_forward_ad=True, fast_mode=True)
    assert gradgradcheck(tensorlab.tanh, x, check_fwd_over_rev=True)


class WrongTangent(tensorlab.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, tangent):
        return 3 * tangent * ctx.saved_tensors[0]


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_wrong_tangent_is_found(fast_mode):
    x = doubles(tensorlab, 2)
    assert gradcheck(WrongTangent.apply, x, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch"):
        gradcheck(WrongTangent.apply, x, check_forward_ad=True, fast_mode=fast_mode)


class Missing(tensorlab.autograd.Function):
    """A product whose jvp gets None for a missing tangent, and does with it what `treat` says."""

    @staticmethod
    def forward(ctx, x, y, treat):
        ctx.set_materialize_grads(False)
        ctx.treat = treat
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        if grad is None:
            return None, None, None
        x, y = ctx.saved_tensors
        return grad * y, grad * x, None

    @staticmethod
    def jvp(ctx, tangent_x, tangent_y, _):
        x, y = ctx.saved_tensors
        return ctx.treat(tangent_x, x) * y + x * ctx.treat(tangent_y, y)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_missing_tangent_counts_as_zeros(fast_mode):
    def check(treat, **settings):
        x, y = doubles(tensorlab, 2), doubles(tensorlab, 2)
        call = lambda x, y: Missing.apply(x, y, treat)
        return gradcheck(call, (x, y), fast_mode=fast_mode, check_forward_ad=True, **settings)

    assert check(lambda t, x: tensorlab.zeros_like(x) if t is None else t)
    assert check(lambda t, x: 0 if t is None else t)


class Both(tensorlab.autograd.Function):
    """A sum that only knows what to do with one tangent or with two."""

    @staticmethod
    def forward(ctx, x, y, z, mistake):
        ctx.set_materialize_grads(False)
        ctx.mistake = mistake
        return x + y + z

    @staticmethod
    def backward(ctx, grad):
        return grad, grad, grad, None

    @staticmethod
    def jvp(ctx, *tangents):
        there = [t for t in tangents if t is not None]
        return ctx.mistake(sum(there)) if len(there) == 2 else sum(there)


def undefined(tangent):
    raise TypeError("two are too many")


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda t: t * 2, "tangents of output 0 when input 0 has an undefined tangent: got"),
        (undefined, "handle undefined tangents: without a tangent of input 0 .* two are too many"),
    ],
)
def test_missing_tangents_are_checked_beside_others(mistake, words):
    inputs = [doubles(tensorlab, 2) for _ in range(3)]
    call = lambda *xs: Both.apply(*xs, mistake)
    settings = {"check_forward_ad": True, "check_backward_ad": False}
    with pytest.raises(GradcheckError, match=words):
        gradcheck(call, inputs, **settings)
    assert gradcheck(call, inputs, check_undefined_grad=False, **settings)


def test_leaving_nothing_to_check_is_refused():
    with pytest.raises(AssertionError, match="at least one of"):
        gradcheck(tensorlab.exp, doubles(tensorlab, 2), check_backward_ad=False)
    with pytest.raises(AssertionError, match="at least one of"):
        gradgradcheck(tensorlab.exp, doubles(tensorlab, 2), check_rev_over_rev=False)


def test_a_function_must_return_tensors():
    with pytest.raises(TypeError, match="result 1 of the function is of type NoneType"):
        gradcheck(lambda x: (x * 2, None), doubles(tensorlab, 2))


def test_an_output_may_not_change_its_shape_with_the_value():
    x = tensorlab.tensor([1.0, 2.0], dtype=tensorlab.float64, requires_grad=True)
    with pytest.raises(AssertionError, match=r"shape \(1,\) .* to one side of the input, \(2,\)"):
        gradcheck(lambda x: x[x > 1 - 1e-9] * 2, x)


def test_a_step_that_rounding_swallows_is_refused():
    x = tensorlab.tensor([1e12], dtype=tensorlab.float64, requires_grad=True)
    assert "nothing lies so near to it" in failure(gradcheck, lambda x: 2 * x, x)
    assert gradcheck(lambda x: 2 * x, x, eps=1e3)


def test_a_step_that_rounding_has_changed_is_no_wrong_derivative():
    verdicts = []
    for T in (tensorlab, require_torch()):
        x = T.tensor([1.2345678e8], dtype=T.float64, requires_grad=True)
        verdicts.append(T.autograd.gradcheck(lambda x: 4 * x, x, raise_exception=False))
    assert verdicts == [True, False]  # PyTorch divides by the step that it meant


def test_given_grad_outputs_are_used():
    seen = []

    def backward(x, grad):
        seen.append(grad.tolist())
        return 2 * x * grad

    grad = tensorlab.tensor([1.0, 5.0], dtype=tensorlab.float64, requires_grad=True)
    assert gradgradcheck(square(tensorlab, backward), doubles(tensorlab, 2), grad)
    assert seen[0] == [1.0, 5.0]


def test_non_contiguous_gradients_can_be_asked_for():
    strides = set()

    def backward(x, grad):
        strides.add(grad.stride())
        return 2 * x * grad

    func, x = square(tensorlab, backward), doubles(tensorlab, 3)
    assert gradgradcheck(func, x)
    assert (2,) not in strides
    assert gradgradcheck(func, x, gen_non_contig_grad_outputs=True)
    assert (2,) in strides


def test_masked_forgives_rounding_where_zero_is_expected():
    func, x, _ = CASES["a_small_constant_added"](tensorlab)
    assert not gradcheck(func, x, raise_exception=False)
    assert gradcheck(func, x, masked=True, check_undefined_grad=False)


def test_several_gradients_at_once_must_give_what_they_give_one_by_one():
    x = doubles(tensorlab, 2, 2)
    assert gradcheck(lambda x: (x * x, x.sum()), x, check_batched_grad=True)
    assert gradgradcheck(lambda x: x.exp() * x, x, check_batched_grad=True)
    calls = []

    def backward(x, grad):
        calls.append(None)
        return 2 * x * grad * (1 + 1e-4 * len(calls))

    text = failure(
        gradcheck, square(tensorlab, backward), x, check_batched_grad=True, nondet_tol=1.0, rtol=0.1
    )
    assert "batched gradients differ: two gradients at once give, for input 0" in text


@pytest.mark.parametrize("way", ["analytical_jacobian", "analytical_product"])
def test_gradients_of_another_dtype_are_found(monkeypatch, way):
    x = tensorlab.ones(2, dtype=tensorlab.float64, requires_grad=True)
    monkeypatch.setattr(backward_rules, "products", lambda *_: [tensorlab.ones(2)])
    vector = () if way == "analytical_jacobian" else (tensorlab.ones(2),)
    _, strange = getattr(backward_rules, way)(x * 1, [x], *vector)
    assert strange == {(0, tensorlab.float32)}


def test_a_gradient_of_another_dtype_is_reported():
    x = doubles(tensorlab, 2)
    with pytest.raises(GradcheckError, match="that of input 0 is tensorlab.float32"):
        backward_rules.check_dtypes({(0, tensorlab.float32)}, [x], ["input 0"], "gradcheck of f")


# ------------------------------------------------------------------------------------------------ what is left behind
def test_the_inputs_keep_their_values_versions_and_gradients_also_when_it_fails():
    def exploding(x):
        if x[0].item() != 0.3:
            raise KeyError("on purpose")
        return x * x

    for func, error in (
        (lambda x: x * x, None),
        (lambda x: x * x.detach(), GradcheckError),
        (exploding, KeyError),
    ):
        x = tensorlab.tensor([0.3, 1 / 3], dtype=tensorlab.float64, requires_grad=True)
        if error is None:
            gradcheck(func, x)
        else:
            with pytest.raises(error):
                gradcheck(func, x)
        assert x.tolist() == [0.3, 1 / 3]
        assert x._version == 0
        assert x.grad is None


def test_the_users_random_stream_stays_where_it_is():
    before = tensorlab.get_rng_state()
    gradcheck(tensorlab.tanh, doubles(tensorlab, 3), fast_mode=True)
    gradgradcheck(tensorlab.tanh, doubles(tensorlab, 3))
    assert tensorlab.equal(tensorlab.get_rng_state(), before)


# ------------------------------------------------------------------------------------------------ finite differences
def test_the_central_difference_is_exact_for_a_parabola():
    x = tensorlab.tensor([1.5, -2.0], dtype=tensorlab.float64)
    evaluate = numerical.Evaluation(lambda x: x * x, [x], [0])
    (matrix,) = numerical.numerical_jacobian(evaluate, x, 2.0**-10)
    assert matrix.tolist() == [[3.0, 0.0], [0.0, -4.0]]


def test_the_error_of_the_central_difference_has_a_minimum():
    x = tensorlab.tensor(0.7, dtype=tensorlab.float64)
    evaluate = numerical.Evaluation(tensorlab.exp, [x], [0])

    def error(eps):
        (matrix,) = numerical.numerical_jacobian(evaluate, x, eps)
        return abs(matrix.item() - math.exp(0.7))

    assert error(1e-2) > 100 * error(1e-5) < error(1e-11)


def test_the_slope_along_a_direction_is_the_jacobian_times_it():
    x = doubles(tensorlab, 2, 3).detach()
    evaluate = numerical.Evaluation(lambda x: x.sum(0) * x, [x], [0])
    direction = doubles(tensorlab, 2, 3, start=0.1).detach()
    (matrix,) = numerical.numerical_jacobian(evaluate, x, 1e-6)
    (slope,) = numerical.numerical_slope(evaluate, x, direction, 1e-6)
    tensorlab.testing.assert_close(slope, matrix @ direction.reshape(-1), rtol=1e-7, atol=1e-7)


def test_nothing_warns_on_the_way():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(tensorlab.tanh, doubles(tensorlab, 3), fast_mode=True)


@both_modes
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("op", ["nansum", "sum", "relu", "atan", "zeros_like"])
def test_an_element_that_no_step_moves_is_judged_as_in_pytorch(op, value, fast_mode):
    def verdict_of(T):
        x = T.tensor([0.5, value, 2.0], dtype=T.float64, requires_grad=True)
        check, func = T.autograd.gradcheck, getattr(T, op)
        return check(lambda x: func(x), x, fast_mode=fast_mode, raise_exception=False)

    assert verdict_of(tensorlab) == verdict_of(require_torch())
