"""Anomaly mode: NaN is found where it is made, errors name lines of the program; writes through `.data` can be seen."""

import traceback
import warnings
import weakref

import pytest

import tensorlab as T
from tests.autograd.programs import collection, leaf

program, check = collection()


def quietly(M, mode=True, **options):
    """The context of anomaly mode; its warnings are not the subject here."""
    warnings.simplefilter("ignore")
    return M.autograd.set_detect_anomaly(mode, **options)


# ---------------------------------------------------------------- switches
@program
def the_switch_and_the_contexts(M):
    seen = [M.is_anomaly_enabled()]
    with quietly(M):
        seen.append((M.is_anomaly_enabled(), M.is_anomaly_check_nan_enabled()))
        with M.autograd.detect_anomaly(check_nan=False):
            seen.append((M.is_anomaly_enabled(), M.is_anomaly_check_nan_enabled()))
        with quietly(M, False):
            seen.append(M.is_anomaly_enabled())
        seen.append((M.is_anomaly_enabled(), M.is_anomaly_check_nan_enabled()))
    seen.append(M.is_anomaly_enabled())
    M.autograd.set_detect_anomaly(True)
    seen.append(M.is_anomaly_enabled())
    M.autograd.set_detect_anomaly(False)
    seen.append(M.is_anomaly_enabled())
    return seen


# ---------------------------------------------------------------- NaN
def nan_maker(M):
    x = leaf(M, 0.0, 1.0)
    return x, (x.sqrt() * M.tensor([0.0, 1.0], dtype=M.float64)).sum()


@program
def nan_is_an_error_in_anomaly_mode(M):
    with quietly(M):
        nan_maker(M)[1].backward()


@program
def nan_is_none_of_our_business_otherwise(M):
    x, y = nan_maker(M)
    y.backward()
    return x.grad[1]


@program
def nan_is_not_looked_for_without_check_nan(M):
    with quietly(M, check_nan=False):
        x, y = nan_maker(M)
        y.backward()
    return x.grad[1]


@program
def a_function_of_ones_own_that_makes_nan(M):
    class Bad(M.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad * float("nan")

    with quietly(M):
        Bad.apply(leaf(M, 1.0)).sum().backward()


@program
def infinities_are_no_anomaly(M):
    with quietly(M):
        x = leaf(M, 0.0)
        x.log().sum().backward()
    return x.grad


@program
def the_graph_of_a_second_derivative_knows_its_parent(M):
    x = leaf(M, 2.0)
    with quietly(M):
        (first,) = M.autograd.grad((x**3).sum(), x, create_graph=True)
    return "parent_" in first.grad_fn.metadata, "traceback_" in first.grad_fn.metadata


@program
def a_node_keeps_its_stack_as_text(M):
    with quietly(M):
        y = leaf(M, 2.0) * 2
    stack = y.grad_fn.metadata["traceback_"]
    return type(stack), {type(line) for line in stack}, stack[-1].splitlines()[1]


test_a_program_has_the_same_outcome_as_with_pytorch = check()


def test_the_error_names_the_function_and_the_output():
    with quietly(T):
        _, y = nan_maker(T)
        with pytest.raises(
            RuntimeError, match="'SqrtBackward0' returned nan values in its 0th output"
        ) as caught:
            y.backward()
    assert "test_anomaly_mode.py" in caught.value.__notes__[0]
    assert "x.sqrt()" in caught.value.__notes__[0]


def test_a_warning_shows_the_stack_of_the_forward_call():
    with T.autograd.set_detect_anomaly(True):
        _, y = nan_maker(T)
        with (
            pytest.warns(UserWarning, match="SqrtBackward0") as caught,
            pytest.raises(RuntimeError),
        ):
            y.backward()
    assert "Traceback of forward call that caused the error" in str(caught[0].message)
    assert "in nan_maker" in str(caught[0].message)


@pytest.mark.parametrize("is_recorded", [True, False])
def test_where_warnings_are_errors_the_error_itself_is_raised(T, is_recorded, capsys):
    with quietly(T, is_recorded):
        _, y = nan_maker(T)
    with quietly(T), warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="nan"):
            y.backward()
    assert "Error detected in SqrtBackward0" in capsys.readouterr().err


def test_without_a_recorded_forward_the_warning_says_so():
    _, y = nan_maker(T)
    with (
        T.autograd.set_detect_anomaly(True),
        pytest.warns(UserWarning, match="No forward pass information"),
        pytest.raises(RuntimeError, match="nan"),
    ):
        y.backward()


def test_an_error_of_a_second_derivative_shows_both_forward_calls():
    with T.autograd.set_detect_anomaly(True):
        x = leaf(T, 0.0)
        y = x**1.5
        (first,) = T.autograd.grad(y.sum(), x, create_graph=True)  # 1.5 * x**0.5
        with (
            pytest.warns(UserWarning, match="induced the previous calculation") as caught,
            pytest.raises(RuntimeError, match="PowBackward0"),
        ):
            (first * 0).sum().backward()  # 0 * inf
    first_call, *others = str(caught[0].message).split("induced")
    assert "create_graph=True" in first_call
    assert len(others) == 1
    assert "y = x**1.5" in others[0]


# ---------------------------------------------------------------- what a node keeps of the stack
def called_deeply(function, frames):
    if frames > 0:
        return called_deeply(function, frames - 1)
    return function()


def test_the_stack_of_a_node_reads_as_the_traceback_module_writes_it():
    x = leaf(T, 2.0)

    def here_and_there():
        return x * 2, traceback.format_stack()

    with quietly(T):
        y, expected = called_deeply(here_and_there, 10)
    assert y.grad_fn.metadata["traceback_"] == expected
    assert y.grad_fn.metadata["traceback_"] is y.grad_fn.metadata["traceback_"]


def test_a_node_keeps_no_variables_of_the_frames_above_it():
    class Thing:
        pass

    def forward():
        thing = Thing()
        return leaf(T, 2.0) * 2, weakref.ref(thing)

    with quietly(T):
        y, reference = forward()
    assert reference() is None
    assert "in forward" in y.grad_fn.metadata["traceback_"][-1]


# ---------------------------------------------------------------- in-place damage
def damaged():
    x = leaf(T, 1.0, 2.0)
    y = x.exp()
    y.add_(1)  # the damage
    return y.sum()


def test_in_place_damage_names_the_line_of_the_forward_op_and_of_the_write():
    with quietly(T), pytest.raises(RuntimeError, match=r"y\.add_\(1\)  # the damage") as caught:
        damaged().backward()
    assert "test_anomaly_mode.py" in str(caught.value)
    assert "y = x.exp()" in caught.value.__notes__[0]


def test_a_write_within_the_package_is_named_by_the_line_that_called_it():
    x = leaf(T, 1.0, 2.0)
    y = x.exp()
    with quietly(T):
        T.nn.init.zeros_(y.detach())  # the damage
        with pytest.raises(RuntimeError, match=r"zeros_\(y\.detach\(\)\)  # the damage"):
            y.sum().backward()


def test_in_place_damage_points_to_anomaly_mode_where_that_is_off():
    with pytest.raises(RuntimeError, match="set_detect_anomaly"):
        damaged().backward()


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.mul_(2),
        lambda y: y.__setitem__(0, 5.0),
        lambda y: y.zero_(),
        lambda y: y.view(2, 1).add_(1),
        lambda y: y.copy_(T.zeros(2)),
        lambda y: T.add(y.detach(), 1, out=y.detach()),
        lambda y: y.index_fill_(0, T.tensor([0]), 1.0),
        lambda y: y.uniform_(),
    ],
)
def test_every_kind_of_write_leaves_its_line(write):
    with quietly(T):
        y = leaf(T, 1.0, 2.0).exp()
        write(y)
        with pytest.raises(RuntimeError, match="last one at .*test_anomaly_mode.py"):
            y.sum().backward()


# ---------------------------------------------------------------- .data
def through_data():
    x = leaf(T, 1.0, 2.0)
    y = x * 1
    z = y**2
    y.data.mul_(100)
    return x, z.sum()


def test_a_write_through_data_is_not_seen_as_in_pytorch():
    x, z = through_data()
    z.backward()
    assert x.grad.tolist() == [200.0, 400.0]  # wrong, in silence


def test_a_write_through_data_is_seen_under_the_debug_switch():
    with T.autograd.set_detect_data_writes(True):
        x, z = through_data()
        with pytest.raises(RuntimeError, match="in-place operation changed it"):
            z.backward()
    assert x.grad is None
    test_a_write_through_data_is_not_seen_as_in_pytorch()


def test_assigning_to_data_is_seen_under_the_debug_switch():
    with T.autograd.set_detect_data_writes(True):
        x = leaf(T, 1.0)
        y = x * 1
        z = y**2
        y.data = T.zeros(1, dtype=T.float64)
        with pytest.raises(RuntimeError, match="in-place operation changed it"):
            z.backward()
