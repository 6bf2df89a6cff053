"""autograd.functional: values against formulas and PyTorch, and what it raises."""

import itertools
import warnings

import pytest

import tensorlab
from tensorlab.autograd import functional
from tensorlab.errors import GradientError
from tests.autograd.functions import doubles
from tests.oracle import require_torch

ALL = ["vjp", "jvp", "jacobian", "hessian", "vhp", "hvp"]
PRODUCTS = ["vjp", "jvp", "vhp", "hvp"]
SCALAR = ["hessian", "vhp", "hvp"]


# Functions of tensors, written once for both packages: (function, inputs).
def one_to_one(T):
    return lambda x: x * x.sum() + x.tanh(), doubles(T, 3)


def one_to_two(T):
    return lambda x: (x.exp(), (x * x).sum(0)), doubles(T, 2, 3)


def two_to_one(T):
    return lambda x, y: (x @ y).tanh(), (doubles(T, 2, 3), doubles(T, 3, start=0.5))


def two_to_two(T):
    return lambda x, y: (x * y, (x * y * y).sum()), (doubles(T, 2), doubles(T, 2, start=0.9))


def independent(T):
    return lambda x, y: (x * x, T.ones(2, dtype=T.float64)), (doubles(T, 2), doubles(T, 3))


def linear(T):
    return lambda x: 3 * x, doubles(T, 2)


def numbers(T):
    return lambda x: x**3, doubles(T)


def scalar(T):
    return lambda x: (x**3).sum() * x[0], doubles(T, 3)


def scalar_of_two(T):
    return lambda x, y: (x * x @ y).sum() + y.prod(), (doubles(T, 2, 3), doubles(T, 3, start=0.5))


def scalar_linear(T):
    return lambda x, y: (3 * x).sum() + y.exp().sum(), (doubles(T, 2), doubles(T, 2))


def scalar_of_one_only(T):
    return lambda x, y: (x**3).sum(), (doubles(T, 2), doubles(T, 2))


FUNCTIONS = [one_to_one, one_to_two, two_to_one, two_to_two, independent, linear, numbers]
SCALARS = [scalar, scalar_of_two, scalar_linear, scalar_of_one_only]
CASES = [
    *itertools.product(["vjp", "jvp", "jacobian"], FUNCTIONS),
    *itertools.product(ALL, SCALARS),
]


def vectors_for(T, name, function, inputs):
    """A v that fits: of the outputs' shapes for vjp, else of the inputs'."""
    like = function(*inputs) if isinstance(inputs, tuple) else function(inputs)
    like = like if name == "vjp" else inputs
    if isinstance(like, tuple):
        return tuple(doubles(T, *x.shape, start=0.7).detach() for x in like)
    return doubles(T, *like.shape, start=0.7).detach()


def outcome(T, name, make, are_leaves=True, **options):
    """Nested lists of what comes out, with shapes, dtypes and requires_grad; or the class of the error."""
    function, inputs = make(T)
    if not are_leaves:
        inputs = tuple(x.detach() for x in inputs) if isinstance(inputs, tuple) else inputs.detach()
    arguments = [function, inputs]
    if name in PRODUCTS:
        arguments.append(vectors_for(T, name, function, inputs))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch uses what it has deprecated
            return visible(getattr(T.autograd.functional, name)(*arguments, **options))
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__


def visible(result):
    if isinstance(result, (tuple, list)):  # PyTorch's forward mode gives lists of lists
        return [visible(one) for one in result]
    return {
        "values": pytest.approx(result.detach().reshape(-1).tolist(), rel=1e-12, abs=1e-12),
        "shape": tuple(result.shape),
        "dtype": str(result.dtype).rpartition(".")[2],
        "requires_grad": result.requires_grad,
    }


def same(ours, theirs, but=()):
    """Compare two outcomes in everything but some keys. (pytest.approx compares with numbers: one side gives them.)"""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        keys = {"shape", "dtype", "requires_grad"} - set(but)
        equal = all(ours[key] == theirs[key] for key in keys)
        return equal and ours["values"] == theirs["values"].expected
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(
            same(one, other, but) for one, other in zip(ours, theirs, strict=True)
        )
    return ours == theirs


# ------------------------------------------------------------------------------------------------ PyTorch
@pytest.mark.parametrize("strict", [False, True], ids=["", "strict"])
@pytest.mark.parametrize("create_graph", [False, True], ids=["", "create_graph"])
@pytest.mark.parametrize(("name", "make"), CASES)
def test_results_and_errors_are_those_of_pytorch(name, make, create_graph, strict):
    torch = require_torch()
    options = {"create_graph": create_graph, "strict": strict}
    ours, theirs = outcome(tensorlab, name, make, **options), outcome(torch, name, make, **options)
    assert same(ours, theirs), f"{ours} != {theirs}"


@pytest.mark.parametrize("make", FUNCTIONS + SCALARS)
def test_vectorized_jacobians_are_those_of_pytorch(make):
    torch = require_torch()
    for options in ({}, {"create_graph": True}, {"strict": True}):
        ours, theirs = (
            outcome(T, "jacobian", make, vectorize=True, **options) for T in (tensorlab, torch)
        )
        # Blocks of zeros lead back to the inputs in PyTorch's, without need.
        assert same(ours, theirs, but=["requires_grad"]), options


@pytest.mark.parametrize("make", FUNCTIONS + SCALARS)
def test_forward_mode_gives_the_same_jacobian_column_by_column(make):
    torch = require_torch()
    options = {"vectorize": True, "strategy": "forward-mode", "are_leaves": False}
    ours = outcome(tensorlab, "jacobian", make, **options)
    assert same(ours, outcome(torch, "jacobian", make, **options))
    assert same(ours, outcome(tensorlab, "jacobian", make))


@pytest.mark.parametrize("make", SCALARS)
def test_forward_mode_gives_the_same_hessian(make):
    torch = require_torch()
    options = {
        "vectorize": True,
        "outer_jacobian_strategy": "forward-mode",
        "are_leaves": False,
    }
    ours = outcome(tensorlab, "hessian", make, **options)
    # What PyTorch hands out without create_graph still has its history here.
    assert same(ours, outcome(torch, "hessian", make, **options), but=["requires_grad"])
    assert same(ours, outcome(tensorlab, "hessian", make))


@pytest.mark.parametrize(
    "options", [{"create_graph": True}, {"strict": True}, {"vectorize": False}]
)
def test_forward_mode_refuses_what_pytorch_refuses(options):
    torch = require_torch()
    options = {"vectorize": True, "strategy": "forward-mode", **options}
    ours = outcome(tensorlab, "jacobian", one_to_one, **options)
    assert ours == outcome(torch, "jacobian", one_to_one, **options)
    assert isinstance(ours, str)


# ------------------------------------------------------------------------------------------------ formulas
def test_the_jacobian_of_a_linear_map_is_its_matrix():
    matrix = doubles(tensorlab, 2, 3).detach()
    found = functional.jacobian(lambda x: matrix @ x, doubles(tensorlab, 3))
    assert found.tolist() == matrix.tolist()


def test_the_hessian_of_a_quadratic_form_is_its_matrix_and_transpose():
    matrix = doubles(tensorlab, 3, 3).detach()
    x, v = doubles(tensorlab, 3), doubles(tensorlab, 3, start=0.1).detach()
    for strategy in ("reverse-mode", "forward-mode"):
        found = functional.hessian(
            lambda x: x @ matrix @ x, x, vectorize=True, outer_jacobian_strategy=strategy
        )
        tensorlab.testing.assert_close(found, matrix + matrix.t())
    for product in (functional.vhp, functional.hvp):
        _, found = product(lambda x: x @ matrix @ x, x, v)
        tensorlab.testing.assert_close(found, (matrix + matrix.t()) @ v)


def test_products_are_those_of_the_jacobian():
    function, x = one_to_one(tensorlab)
    matrix = functional.jacobian(function, x)
    v = doubles(tensorlab, 3, start=0.1).detach()
    tensorlab.testing.assert_close(functional.vjp(function, x, v)[1], v @ matrix)
    tensorlab.testing.assert_close(functional.jvp(function, x, v)[1], matrix @ v)


def test_with_create_graph_a_jacobian_can_be_differentiated():
    x = doubles(tensorlab, 3)
    matrix = functional.jacobian(lambda x: x**3, x, create_graph=True)
    matrix.sum().backward()
    tensorlab.testing.assert_close(x.grad, 6 * x.detach())
    v = tensorlab.ones(3, dtype=tensorlab.float64)
    assert tensorlab.autograd.gradcheck(
        lambda x: functional.jvp(lambda x: x.exp() * x.sum(), x, v, create_graph=True)[1], x
    )


def test_a_tensor_that_the_function_reaches_otherwise_is_a_constant():
    x = doubles(tensorlab, 3)
    found = functional.jacobian(lambda y: y * x, x)
    tensorlab.testing.assert_close(found, x.detach().diag())


def test_nothing_is_left_behind():
    x = doubles(tensorlab, 3)
    output, product = functional.vjp(lambda x: x * x, x, tensorlab.ones(3, dtype=tensorlab.float64))
    assert not output.requires_grad
    assert not product.requires_grad
    assert x.grad is None
    with tensorlab.no_grad():
        assert functional.jacobian(lambda x: x * x, x).sum().item() > 0


def test_an_output_without_elements_has_an_empty_jacobian():
    assert functional.jacobian(lambda x: x[:0], doubles(tensorlab, 3)).shape == (0, 3)


# ------------------------------------------------------------------------------------------------ errors
@pytest.mark.parametrize("name", PRODUCTS)
def test_a_vector_that_does_not_fit_is_refused(name):
    product = getattr(functional, name)
    function, x = scalar(tensorlab)
    for v, message in (
        (tensorlab.ones(4, dtype=tensorlab.float64), r"shape \(4,\)"),
        ((x.detach(), x.detach()), "v has 2 entries; it must be a single Tensor"),
    ):
        with pytest.raises(RuntimeError, match=f"^{name}: .*{message}"):
            product(function, x, v)
    with pytest.raises(TypeError, match=f"^{name}: v is of type list"):
        product(function, x, [1.0])


@pytest.mark.parametrize("name", ["jvp", "vhp", "hvp"])
def test_a_vector_is_needed_for_several_elements(name):
    function, x = scalar(tensorlab)
    with pytest.raises(GradientError, match=f"^{name}: v can only be left away where the input is"):
        getattr(functional, name)(function, x)


@pytest.mark.parametrize("name", ALL)
def test_inputs_and_outputs_must_be_tensors(name):
    function = getattr(functional, name)
    with pytest.raises(TypeError, match=f"^{name}: inputs is of type list; a Tensor or a tuple"):
        function(lambda x: x, [tensorlab.ones(1)])
    with pytest.raises(TypeError, match=f"^{name}: inputs, entry 1, is of type int"):
        function(lambda x, y: x, (tensorlab.ones(1), 2))
    with pytest.raises(TypeError, match=f"^{name}: the result of the function is of type float"):
        function(lambda x: x.item(), tensorlab.ones(1))


@pytest.mark.parametrize("name", SCALAR)
def test_second_derivatives_want_one_element(name):
    function, x = getattr(functional, name), tensorlab.ones(1)
    with pytest.raises(GradientError, match=f"^{name}: .* single Tensor, not a tuple"):
        function(lambda x: (x, x), x)
    with pytest.raises(GradientError, match=rf"^{name}: .* not a Tensor of shape \(2,\)"):
        function(lambda x: x.expand(2) * x, x)


def test_an_unknown_strategy_is_refused():
    with pytest.raises(AssertionError, match="jacobian: the strategy is 'sideways'"):
        functional.jacobian(tensorlab.exp, tensorlab.ones(1), strategy="sideways")
    with pytest.raises(AssertionError, match="hessian: the strategy is 'sideways'"):
        functional.hessian(tensorlab.exp, tensorlab.ones(1), outer_jacobian_strategy="sideways")


def test_strict_says_which_input_does_not_matter():
    function, inputs = scalar_of_one_only(tensorlab)
    for name in ("jacobian", "hessian"):
        with pytest.raises(GradientError, match="independent of input 1; strict=True refuses that"):
            getattr(functional, name)(function, inputs, strict=True)
