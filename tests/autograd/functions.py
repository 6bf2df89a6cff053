"""Functions with right and with wrong derivatives, written once for both packages.

    CASES[name](T) -> (function, inputs, settings of gradcheck)

Wrong in the first derivative are those in WRONG, in the second only those in WRONG_SECOND.
"""

import warnings

CASES = {}
WRONG, WRONG_SECOND = [], []


def case(mark=None):
    def add(make):
        name = make.__name__
        CASES[name] = make
        if mark is not None:
            mark.append(name)
        return make

    return add


def doubles(T, *shape, start=0.3):
    """A few different numbers between 0.3 and 2."""
    count = 1
    for size in shape:
        count *= size
    numbers = start + 1.7 * (T.arange(count, dtype=T.float64) * 0.618) % 1.0
    return numbers.view(shape).requires_grad_()


def function(T, forward, backward):
    """apply of a Function whose forward and backward get ctx; inputs are saved."""

    class Custom(T.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return forward(ctx, *inputs)

        @staticmethod
        def backward(ctx, *grads):
            return backward(ctx, *grads)

    return Custom.apply


def square(T, backward):
    """x * x with a backward (x, grad) -> grad of x."""
    return function(T, lambda ctx, x: x * x, lambda ctx, grad: backward(ctx.saved_tensors[0], grad))


# ---------------------------------------------------------------- right
@case()
def a_product(T):
    return lambda x, y: x * y, (doubles(T, 2, 3), doubles(T, 3, start=0.5)), {}


@case()
def a_custom_square(T):
    return square(T, lambda x, grad: 2 * x * grad), doubles(T, 4), {}


@case()
def two_outputs_of_several_inputs(T):
    return (
        lambda x, n, y: [x.exp() * n, (x * y).sum()],
        (doubles(T, 3), 2, doubles(T, 3, start=1.0)),
        {},
    )


@case()
def a_view(T):
    return lambda x: x.t()[1:], doubles(T, 3, 2), {}


@case()
def a_non_contiguous_input(T):
    x = doubles(T, 4, 3).detach().t()[:, ::2].requires_grad_()
    return lambda x: x.tanh() * x, x, {}


@case()
def an_input_of_no_dimensions(T):
    return T.exp, doubles(T), {}


@case()
def an_empty_input(T):
    return lambda x, y: x.sum() + y, (doubles(T, 0, 3), doubles(T, 2)), {}


@case()
def outputs_without_a_gradient(T):
    return lambda x: (x * x, (x > 1).long(), (x > 1).double()), doubles(T, 3), {}


@case()
def only_a_constant_output(T):
    return lambda x: (x > 100).double(), doubles(T, 3), {}


@case()
def a_linear_function(T):
    return lambda x: 3 * x, doubles(T, 3), {}


@case()
def an_unused_input(T):
    return lambda x, y: x * x, (doubles(T, 3), doubles(T, 2)), {}


@case()
def a_float32_gradient(T):  # which both engines convert
    return (
        square(T, lambda x, grad: (2 * x * grad).float()),
        doubles(T, 3),
        {"check_grad_dtypes": True},
    )


@case()
def a_float32_gradient_that_no_one_asks_about(T):
    return square(T, lambda x, grad: (2 * x * grad).float()), doubles(T, 3), {}


@case()
def a_gradient_of_the_broadcast_shape(T):  # which both engines sum
    return square(T, lambda x, grad: (2 * x * grad).expand(2, 3) / 2), doubles(T, 3), {}


@case()
def an_intermediate_tensor_as_input(T):
    return lambda x: x * x, doubles(T, 3) * 2, {}


@case()
def a_closure_over_the_input(T):
    x = doubles(T, 3)
    return lambda _: x * x, x, {}


@case()
def a_backward_within_the_tolerance(T):
    return square(T, lambda x, grad: 2.0001 * x * grad), doubles(T, 3), {}


@case()
def missing_gradients_taken_for_zeros(T):
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * x, x * 1

    def backward(ctx, first, second):
        x = ctx.saved_tensors[0]
        found = [2 * x * first] if first is not None else []
        return (
            sum(found + ([second] if second is not None else [])) if first is not second else None
        )

    return function(T, forward, backward), doubles(T, 3), {}


# ---------------------------------------------------------------- wrong
@case(WRONG)
def half_the_gradient(T):
    return square(T, lambda x, grad: x * grad), doubles(T, 4), {}


@case(WRONG)
def the_wrong_sign(T):
    return square(T, lambda x, grad: -2 * x * grad), doubles(T, 4), {}


@case(WRONG)
def a_tolerance_too_small(T):
    return square(T, lambda x, grad: 2.0001 * x * grad), doubles(T, 3), {"rtol": 1e-6, "atol": 1e-6}


@case(WRONG)
def a_transpose_forgotten(T):
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        return grad @ w, x.t() @ grad

    inputs = (doubles(T, 2, 3), doubles(T, 3, 3, start=0.4))
    return function(T, lambda ctx, x, w: x @ w, backward), inputs, {}


@case(WRONG)
def no_gradient_for_one_input(T):
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[1], None

    return (
        function(T, lambda ctx, x, y: x * y, backward),
        (doubles(T, 3), doubles(T, 3, start=1.0)),
        {},
    )


@case(WRONG)
def a_detached_factor(T):
    return lambda x: x * x.detach(), doubles(T, 3), {}


@case(WRONG)
def one_wrong_entry(T):
    def backward(x, grad):
        found = 2 * x * grad
        return found * T.tensor([1.0, 1.0, 1.5, 1.0], dtype=T.float64)

    return square(T, backward), doubles(T, 4), {}


@case(WRONG)
def grad_output_forgotten(T):
    return square(T, lambda x, grad: 2 * x), doubles(T, 1), {}


@case(WRONG)
def a_small_constant_added(T):  # too small for the tolerance, and yet not linear
    return square(T, lambda x, grad: 2 * x * grad + 1e-9), doubles(T, 3), {}


@case(WRONG)
def noise_in_backward(T):
    calls = []

    def backward(x, grad):
        calls.append(None)
        return 2 * x * grad * (1 + 1e-9 * len(calls))

    return square(T, backward), doubles(T, 3), {}


@case()
def noise_that_is_allowed(T):
    function, x, _ = noise_in_backward(T)
    return function, x, {"nondet_tol": 1e-3}


@case(WRONG)
def wrong_for_other_strides_than_the_contiguous(T):
    def backward(x, grad):
        return 2 * grad * (x if x.is_contiguous() else x.t().contiguous().view(x.shape))

    x = doubles(T, 3, 3).detach().t().requires_grad_()
    return square(T, backward), x, {}


@case(WRONG)
def a_missing_gradient_replaced_by_ones(T):
    def with_hook(x):
        y = x * 2
        y.register_hook(lambda grad: T.ones_like(x) if grad is None else grad)
        return y

    return with_hook, doubles(T, 3), {}


@case()
def the_same_where_no_one_asks(T):
    function, x, _ = a_missing_gradient_replaced_by_ones(T)
    return function, x, {"check_undefined_grad": False}


@case(WRONG)
def no_gradient_at_all(T):
    return lambda x: x.detach() * 2, doubles(T, 3), {}


@case(WRONG)
def a_kink(T):
    return T.relu, T.zeros(2, dtype=T.float64, requires_grad=True), {}


@case(WRONG)
def nan_from_backward(T):
    return (
        lambda x: T.where(x > 0, x, x.sqrt()),
        T.tensor([1.0, -0.0], dtype=T.float64, requires_grad=True),
        {},
    )


@case(WRONG)
def a_second_output_wrong(T):
    def backward(ctx, first, second):
        return first + 3 * second

    apply = function(T, lambda ctx, x: (x * 1, x * 2), backward)
    return apply, doubles(T, 3), {}


# ---------------------------------------------------------------- wrong in the second derivative
@case(WRONG_SECOND)
def a_backward_that_detaches(T):
    return square(T, lambda x, grad: 2 * x.detach() * grad), doubles(T, 3), {}


@case(WRONG_SECOND)
def a_backward_with_a_constant_kept(T):
    def forward(ctx, x):
        ctx.kept = x.detach().clone()
        return x**3

    return (
        function(T, forward, lambda ctx, grad: 3 * ctx.kept * ctx.saved_tensors[0] * grad),
        doubles(T, 3),
        {},
    )


@case(WRONG_SECOND)
def a_jump_in_the_first_derivative(T):
    return lambda x: x.abs() + x * x, T.zeros(1, dtype=T.float64, requires_grad=True), {}


def verdict(T, name, checker, **settings):
    """True, False, or the class of the exception that is not a failed check."""
    function, inputs, more = CASES[name](T)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns besides
            return getattr(T.autograd, checker)(
                function, inputs, raise_exception=False, **more, **settings
            )
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__
