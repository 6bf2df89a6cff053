"""Where PyTorch warns of what may surprise, so do we: the same calls, the same classes, and as often."""

import math
import subprocess
import sys
import warnings

import pytest

import tensorlab
from tests.oracle import require_torch


def leaf(T):
    return T.tensor(1.0, requires_grad=True)


def expanded(T):
    return T.zeros(1).expand(3)


CALLS = {
    "float": lambda T: float(leaf(T)),
    "float, computed": lambda T: float(leaf(T) * 2),
    "float, no_grad": lambda T: T.no_grad()(lambda: float(leaf(T)))(),
    "float, detached": lambda T: float(leaf(T).detach()),
    "complex": lambda T: complex(leaf(T)),
    "sqrt": lambda T: math.sqrt(leaf(T)),
    "int": lambda T: int(leaf(T)),
    "bool": lambda T: bool(leaf(T)),
    "item": lambda T: leaf(T).item(),
    "format": lambda T: f"{leaf(T):.2f}",
    "index_put_": lambda T: expanded(T).index_put_((T.tensor([0]),), T.tensor(1.0)),
    "index_put_, accumulate": lambda T: expanded(T).index_put_(
        (T.tensor([0]),), T.tensor(1.0), accumulate=True
    ),
    "index_put_, whole": lambda T: T.zeros(3).index_put_((T.tensor([0]),), T.tensor(1.0)),
    "setitem": lambda T: expanded(T).__setitem__(T.tensor([0]), 1.0),
    "index_fill_": lambda T: expanded(T).index_fill_(0, T.tensor([0]), 1.0),
    "index_fill": lambda T: expanded(T).index_fill(0, T.tensor([0]), 1.0),
    "meshgrid": lambda T: T.meshgrid(T.arange(2), T.arange(3)),
    "meshgrid, list": lambda T: T.meshgrid([T.arange(2), T.arange(3)]),
    "meshgrid, ij": lambda T: T.meshgrid(T.arange(2), T.arange(3), indexing="ij"),
    "cartesian_prod": lambda T: T.cartesian_prod(T.arange(2), T.arange(3)),
    "T, vector": lambda T: T.ones(2).T,
    "T, matrix": lambda T: T.ones(2, 2).T,
    "T, batch": lambda T: T.ones(2, 2, 2).T,
    "T, number": lambda T: T.tensor(1).T,
    "mT": lambda T: T.ones(2, 2, 2).mT,
    "dropout2d, matrix": lambda T: T.nn.functional.dropout2d(T.ones(2, 3)),
    "dropout2d, 3-d": lambda T: T.nn.Dropout2d()(T.ones(2, 3, 4)),
    "dropout2d, 4-d": lambda T: T.nn.functional.dropout2d(T.ones(2, 3, 4, 4)),
    "dropout3d, 3-d": lambda T: T.nn.functional.dropout3d(T.ones(2, 3, 4)),
    "dropout3d, 4-d": lambda T: T.nn.functional.dropout3d(T.ones(2, 3, 4, 4)),
    "InstanceNorm1d": lambda T: T.nn.InstanceNorm1d(5)(T.rand(2, 3, 4)),
    "InstanceNorm2d, no batch": lambda T: T.nn.InstanceNorm2d(5)(T.rand(3, 4, 4)),
    "InstanceNorm2d, fits": lambda T: T.nn.InstanceNorm2d(3)(T.rand(2, 3, 4, 4)),
    "Variable": lambda T: T.autograd.Variable(T.ones(1), volatile=True),
    "set_default_tensor_type": lambda T: T.set_default_tensor_type(T.FloatTensor),
    "std of one": lambda T: T.ones(1).std(),
    "gradient of no leaf": lambda T: (leaf(T) * 2).grad,
    "mse_loss": lambda T: T.nn.functional.mse_loss(T.ones(2, 1), T.ones(2)),
    "kl_div": lambda T: T.nn.functional.kl_div(T.zeros(2, 3), T.ones(2, 3)),
    "softmax": lambda T: T.nn.Softmax()(T.ones(2, 3)),
    "uint8 index": lambda T: T.ones(2)[T.tensor([1, 0], dtype=T.uint8)],
    "out": lambda T: T.add(T.ones(2), 1, out=T.ones(3)),
}


def warned(T, call):
    """The classes of the warnings of a call."""
    torch = require_torch()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            call(T)
    finally:
        torch.set_warn_always(False)
    return [one.category for one in seen]


@pytest.mark.parametrize("call", CALLS)
def test_a_call_warns_where_pytorch_does(call):
    assert warned(tensorlab, CALLS[call]) == warned(require_torch(), CALLS[call])


@pytest.mark.parametrize(
    "call", ["float", "index_put_", "index_fill_", "meshgrid", "T, batch", "dropout2d, matrix"]
)
def test_a_warning_names_the_line_of_the_program(call):
    with pytest.warns(UserWarning, match=r"\w") as seen:
        CALLS[call](tensorlab)
    assert [one.filename for one in seen] == [__file__]
    assert [one.lineno for one in seen] == [CALLS[call].__code__.co_firstlineno]


def test_what_is_refused_by_a_filter_has_changed_nothing():
    x = tensorlab.zeros(1)
    view = x.expand(3)
    for call in (
        lambda: view.index_put_((tensorlab.tensor([0]),), tensorlab.tensor(1.0)),
        lambda: view.index_fill_(0, tensorlab.tensor([0]), 1.0),
    ):
        with pytest.raises(UserWarning, match="is expanded"):
            call()
        assert (x.item(), x._version) == (0.0, 0)


def test_a_program_hears_some_warnings_once():
    program = """
import tensorlab
for _ in range(3):
    tensorlab.meshgrid(tensorlab.arange(2))
    float(tensorlab.ones(1, requires_grad=True))
    tensorlab.ones(3).T
print("--")
tensorlab.set_warn_always(True)
for _ in range(2):
    tensorlab.ones(3).T
"""
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.count("UserWarning") == 3 + 2
