"""The logging and the unit-carrying tensor of chapter 41 compute what plain tensors compute."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorlab as T

FOLDER = Path(__file__).resolve().parents[2] / "chapters/41-subclasses-and-modes"


def load(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def units():
    return load("unit_tensor")


@pytest.fixture(scope="module")
def logging():
    return load("logging_tensor")


# ---------------------------------------------------------------- the logging tensor
def test_the_log_has_a_line_for_each_call(logging):
    x = logging.logged([[1.0, 2.0], [3.0, 4.0]])
    y = T.cat([(x @ x).relu().sum(1), T.ones(1)])
    assert logging.LoggingTensor.log == [
        "matmul(2x2, 2x2) -> 2x2",
        "relu(2x2) -> 2x2",
        "sum(2x2, 1) -> 2",
        "cat([2, 1]) -> 3",
    ]
    assert type(y) is logging.LoggingTensor
    assert y.tolist() == [17.0, 37.0, 1.0]


def test_logging_changes_no_number_and_no_gradient(logging):
    def run(x):
        x = x.requires_grad_()
        (x.exp() * x[0]).sum().backward()
        return x.grad.tolist()

    assert run(logging.logged([0.5, 2.0])) == run(T.tensor([0.5, 2.0]))


# ---------------------------------------------------------------- the hook below autograd
def test_what_runs_below_autograd_is_heard_and_right():
    program = load("below_tensor")
    x = program.below([[1.0, 2.0], [3.0, 4.0]]).requires_grad_()
    y = (x @ x - 2).relu().sum(1)
    assert program.BelowTensor.log[:3] == [
        "aten.mm.default",
        "aten.sub.Tensor",
        "aten.relu.default",
    ]
    y.sum().backward()
    plain = T.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (plain @ plain - 2).relu().sum().backward()
    assert type(x.grad) is program.BelowTensor
    assert x.grad.inner.tolist() == plain.grad.tolist()
    assert program.BelowTensor.log.count("aten.mm.default") == 3


# ---------------------------------------------------------------- units
powers = st.dictionaries(st.sampled_from("msk"), st.integers(-3, 3), max_size=3)


@given(powers, powers)
def test_units_form_a_group(a, b):
    Unit = load("unit_tensor").Unit
    a, b = Unit(**a), Unit(**b)
    assert a * b == b * a
    assert (a * b) / b == a
    assert a / a == Unit()
    assert (a**2) ** 0.5 == a
    assert 0 not in (a * b).values()


def test_units_are_written_as_in_books(units):
    assert str(units.Unit(m=1, s=-2)) == "m/s^2"
    assert str(units.Unit()) == "1"
    assert str(units.Unit(s=-1)) == "1/s"
    assert str(units.Unit(m=0.5, k=2)) == "m^0.5*k^2"


CALLS = {
    "a * b": ("m*s", lambda a, b: a * b),
    "a / b": ("m/s", lambda a, b: a / b),
    "2 / b": ("1/s", lambda a, b: 2 / b),
    "3 * a": ("m", lambda a, b: 3 * a),
    "a @ b": ("m*s", lambda a, b: a @ b),
    "a + a": ("m", lambda a, b: a + a),
    "-a": ("m", lambda a, b: -a),
    "a[0]": ("m", lambda a, b: a[0]),
    "mean": ("m", lambda a, b: a.mean()),
    "square": ("m^2", lambda a, b: a.square()),
    "sqrt": ("m", lambda a, b: T.sqrt(a * a)),
    "cat": ("m", lambda a, b: T.cat([a, a])),
    "unbind": ("m", lambda a, b: a.unbind()[1]),
    "T": ("m", lambda a, b: a.reshape(1, 2).T),
    "compare": ("1", lambda a, b: a > a / 2),
}


@pytest.mark.parametrize("name", CALLS)
def test_units_follow_the_numbers(units, name):
    expected, call = CALLS[name]
    result = call(units.with_unit([3.0, 4.0], m=1), units.with_unit([1.5, 2.0], s=1))
    assert str(result.unit) == expected
    assert result.tolist() == call(T.tensor([3.0, 4.0]), T.tensor([1.5, 2.0])).tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, b: a + b, "add: m and s do not go together"),
        (lambda a, b: T.add(a, other=b), "add: m and s"),
        (lambda a, b: T.cat([a, a, b]), "cat: m and s"),
        (lambda a, b: a + 1.0, "add: m and 1"),
        (lambda a, b: a > b, "gt: m and s"),
        (lambda a, b: a.exp(), "exp: no rule"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(units, call, message):
    a, b = units.with_unit([3.0, 4.0], m=1), units.with_unit([1.5, 2.0], s=1)
    with pytest.raises(TypeError, match=message):
        call(a, b)
    assert (a.tolist(), b.tolist(), a._version) == ([3.0, 4.0], [1.5, 2.0], 0)


def test_gradients_flow_through_units(units):
    t = units.with_unit([1.5, 2.0], s=1)
    leaf = units.with_unit([3.0, 4.0], m=1).requires_grad_()
    ((leaf / t) * (leaf / t)).sum().backward()
    assert leaf.grad.tolist() == pytest.approx([4 / 1.5, 2.0])
    assert type(leaf.grad) is T.Tensor
    assert repr(leaf.detach()) == "tensor([3., 4.]) m"
