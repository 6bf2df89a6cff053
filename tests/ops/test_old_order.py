"""Old programs put the factor before the operands, as in `x.add_(-rate, grad)`: PyTorch takes it, with a warning."""

import pytest

import tensorlab
from tests.ops.agreement import agree

CALLS = [
    "x.add(0.5, y)",
    "T.add(x, 0.5, y)",
    "x.add_(-0.5, y)",
    "x.add_(2, 1)",
    "x.add(T.tensor(0.5), y)",
    "x.sub_(T.tensor(2), y)",
    "x.addcmul(T.tensor(0.5), y, y)",
    "x.sub(0.5, y)",
    "x.sub_(0.5, y)",
    "x.addcmul(0.5, y, y)",
    "x.addcmul_(0.5, y, y)",
    "T.addcdiv(x, 0.5, y, y)",
    "x.addcdiv_(0.5, y, y)",
]
REFUSED = [
    "x.add(y, y)",
    "x.add_(y, y)",
    "x.add(0.5, y, alpha=2)",
    "x.addcmul(y, y, y)",
    "x.addcdiv(0.5, y, y, value=2)",
    "x.addcmul(1, y)",
    "x.addcdiv_(y, 1.0)",
]


def call(text):
    def run(T):
        names = {"T": T, "x": T.tensor([1.0, 2.0]), "y": T.tensor([3.0, 5.0])}
        return eval(text, names), names["x"]

    return run


@pytest.mark.parametrize("text", CALLS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_factor_may_stand_before_the_operands(text):
    agree(call(text))


@pytest.mark.parametrize("text", CALLS)
def test_it_warns(text):
    with pytest.warns(UserWarning, match="stands before the operands"):
        call(text)(tensorlab)


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_no_such_call_is_refused(text):
    agree(call(text))
