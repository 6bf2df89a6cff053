"""LBFGS where something is zero, infinite or not a number."""

import math

import pytest

import tensorlab
from tests.oracle import require_torch

LOSSES = {
    "flat": lambda T, p: (p * 0).sum(),
    "no gradient": lambda T, p: T.tensor(1.0),
    "stairs": lambda T, p: (p.floor() + p * 0).sum(),
    "minimum": lambda T, p: ((p - p.detach()) ** 2).sum(),
    "parabola": lambda T, p: (2 * (p - 3) ** 2).sum(),
    "line": lambda T, p: p.sum(),
    "corner": lambda T, p: p.abs().sum(),
    "steep": lambda T, p: (p * 1e30).sum(),
    "nan": lambda T, p: (p * math.nan).sum(),
    "infinite": lambda T, p: (p * math.inf).sum(),
    "soon nan": lambda T, p: (p.log() + p * p).sum(),
}
SEARCHES = [None, "strong_wolfe"]
# PyTorch converts tensors with a gradient to numbers
pytestmark = pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True")


def minimize(T, name, **options):
    """Return the losses before two steps, the parameters after them, and how much was done."""
    p = T.tensor([0.5, 1.5, 2.0], dtype=T.float64, requires_grad=True)
    optimizer = T.optim.LBFGS([p], max_iter=7, **options)

    def closure():
        optimizer.zero_grad()
        loss = LOSSES[name](T, p)
        if loss.requires_grad:
            loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(2)]
    state = optimizer.state[p]
    return [*losses, *p.tolist(), state["n_iter"], state["func_evals"]]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("change", [1e-9, 0.0, -1.0, -math.inf, math.inf])
@pytest.mark.parametrize("tolerance", [1e-7, 0.0, -1.0, -math.inf, math.inf])
@pytest.mark.parametrize("name", ["flat", "no gradient", "stairs", "minimum", "parabola"])
def test_tolerances_that_nothing_or_everything_meets_are_taken_as_in_pytorch(
    name, tolerance, change, search
):
    ours, theirs = (
        minimize(T, name, tolerance_grad=tolerance, tolerance_change=change, line_search_fn=search)
        for T in (tensorlab, require_torch())
    )
    assert ours == pytest.approx(theirs, rel=1e-8, nan_ok=True)


@pytest.mark.parametrize("rate", [1.0, 0.1])
@pytest.mark.parametrize("name", ["line", "corner", "steep"])
def test_a_search_along_a_straight_line_goes_far(name, rate):
    """The least place of a line is infinitely far: there the search divided by zero."""
    first, second, *point, _, _ = minimize(tensorlab, name, lr=rate, line_search_fn="strong_wolfe")
    assert second < first
    assert all(map(math.isfinite, point))
    assert (min(point) < -1000) == (name != "corner")


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", ["nan", "infinite", "soon nan"])
def test_a_loss_that_is_no_number_ends_the_step(name, search):
    """PyTorch's search raises IndexError for some of them."""
    assert minimize(tensorlab, name, line_search_fn=search)[-1] <= 18


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("name", ["parabola", "line", "corner"])
def test_a_rate_of_zero_changes_nothing(name, search):
    assert minimize(tensorlab, name, lr=0.0, line_search_fn=search)[2:5] == [0.5, 1.5, 2.0]
