"""Products of matrices, layers, losses and steps of optimizers as ops: what is seen of them, and what they refuse."""

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab._core.dispatch.recorder import Recorder
from tensorlab.errors import DeviceError
from tests.ops.replay import replay


def test_the_noise_of_dropout_is_seen():
    x, other = tensorlab.ones(3, 4), tensorlab.full((3, 4), 2.0)
    for dropout in (tensorlab.dropout, tensorlab.feature_dropout, tensorlab.alpha_dropout):
        tensorlab.manual_seed(0)
        with Recorder() as recorder:
            recorded = dropout(x, 0.5, True)
        tensorlab.manual_seed(0)
        renewed = replay(recorder.calls, [(x, other)])(recorded)
        tensorlab.manual_seed(0)
        assert renewed.equal(dropout(other, 0.5, True))


def test_running_averages_are_written_by_an_op():
    x, mean, variance = tensorlab.rand(5, 3), tensorlab.zeros(3), tensorlab.ones(3)
    with Recorder() as recorder:
        tensorlab.nn.functional.batch_norm(x, mean, variance, training=True)
    assert [call.op.name for call in recorder.calls] == [
        *("batch_norm", "update_average_", "mul", "update_average_"),
    ]
    assert (mean._version, variance._version) == (1, 1)


# ------------------------------------------------------------------------------------------------ called by themselves
def rows():
    return tensorlab.ones(2, 3)


BAD_CALLS = {
    "mm": lambda: (rows(), rows()),
    "dot": lambda: (rows(), rows()),
    "mv": lambda: (rows(), tensorlab.ones(2)),
    "vm": lambda: (tensorlab.ones(3), rows()),
    "bmm": lambda: (rows(), rows()),
    "matmul": lambda: (tensorlab.ones(3), rows()),
    "addmm": lambda: (rows(), rows(), rows()),
    "addmm_": lambda: (rows(), rows(), tensorlab.ones(3, 2)),
    "baddbmm": lambda: (rows(), rows(), rows()),
    "linear": lambda: (rows(), rows(), tensorlab.ones(5)),
    "softmax": lambda: (rows(), 2),
    "softmax_backward": lambda: (rows(), tensorlab.ones(2), 0),
    "log_softmax_backward": lambda: (tensorlab.ones(2), rows(), 0),
    "nll_loss": lambda: (rows(), tensorlab.tensor([0, 3])),
    "cross_entropy": lambda: (rows(), tensorlab.tensor([0, 3])),
    "max_pool2d": lambda: (rows(), (2, 2), (1, 1), (0, 0), (1, 1), False),
    "avg_pool2d": lambda: (rows(), (2, 2), (1, 1), (0, 0), False, True, None),
    "avg_pool_backward": lambda: (
        *(tensorlab.ones(1, 4, 4), (4, 4), (2, 2), (2, 2), (0, 0), False, True, None),
    ),
    "adaptive_avg_pool2d": lambda: (tensorlab.ones(1, 4, 4), (-1, 2)),
    "max_pool3d": lambda: (rows(), (2,) * 3, (1,) * 3, (0,) * 3, (1,) * 3, False),
    "avg_pool3d": lambda: (rows(), (2,) * 3, (1,) * 3, (0,) * 3, False, True, None),
    "adaptive_avg_pool3d": lambda: (tensorlab.ones(1, 4, 4, 4), (-1, 2, 2)),
    "adaptive_max_pool2d": lambda: (tensorlab.ones(1, 4, 4), (-1, 2)),
    "adaptive_max_pool3d": lambda: (tensorlab.ones(1, 4, 4, 4), (-1, 2, 2)),
    "fractional_max_pool2d": lambda: (
        *(tensorlab.ones(1, 4, 4), (2, 2), (3,), tensorlab.zeros(1, 1, 2)),
    ),
    "fractional_max_pool3d": lambda: (
        *(tensorlab.ones(1, 4, 4, 4), (2,) * 3, (4, 3, 3), tensorlab.zeros(1, 1, 3)),
    ),
    "adaptive_avg_pool_backward": lambda: (tensorlab.ones(1, 4, 4), (4, 4), (2, 2)),
    "layer_norm": lambda: (rows(), (2,)),
    "layer_norm_backward": lambda: (
        *(rows(), rows(), (3,), None, 1e-5, tensorlab.ones(1), tensorlab.ones(2)),
    ),
    "layer_norm_backward_weight": lambda: (
        *(rows(), tensorlab.ones(3, 3), (3,), 1e-5, tensorlab.ones(3), tensorlab.ones(3)),
    ),
    "batch_norm": lambda: (rows(), tensorlab.ones(2), None, 1e-5),
    "batch_norm_with": lambda: (rows(), None, None, tensorlab.ones(2), tensorlab.ones(3), 1e-5),
    "batch_norm_backward": lambda: (
        *(rows(), rows(), None, 1e-5, tensorlab.ones(2), tensorlab.ones(3)),
    ),
    "batch_norm_backward_weight": lambda: (
        *(tensorlab.ones(3), rows(), 1e-5, tensorlab.ones(3), tensorlab.ones(3)),
    ),
    "update_average_": lambda: (tensorlab.ones(2), tensorlab.ones(3), 0.1),
    "conv": lambda: (
        *(tensorlab.ones(1, 2, 5), tensorlab.ones(4, 3, 3), None, (1, 4, 3), (1,), (0,), (1,), 1),
    ),
    "conv_input": lambda: (
        *(tensorlab.ones(1, 4, 3), tensorlab.ones(4, 3, 3), (1, 3, 5), (0,), (0,), (1,), 1),
    ),
    "conv_weight": lambda: (
        *(tensorlab.ones(1, 2, 5), tensorlab.ones(1, 4, 3), (4, 2, 3), (1,), (0,), (1,), 0),
    ),
    "sgd_step_": lambda: (
        *([rows()], [rows(), rows()], [], 0.1, 0.0, 0.0, 0.0, False, False, False),
    ),
    "adam_step_": lambda: (
        *([rows()], [rows()], [rows()], [], [], [tensorlab.zeros(())], 0.1, (0.9, 0.99), 1e-8),
        *(0.0, False, False),
    ),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_an_op_checks_what_it_is_called_with(name):
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        REGISTRY[name](*BAD_CALLS[name]())


@pytest.mark.parametrize("name", ["conv", "conv_input", "conv_weight"])
def test_operands_of_a_convolution_are_of_one_type(name):
    x, weight, grad = (tensorlab.ones(*sizes) for sizes in [(1, 3, 5), (4, 3, 3), (1, 4, 3)])
    numbers = (1,), (0,), (1,), 1
    call, first, second = {
        "conv": (lambda: REGISTRY[name](x.double(), weight, None, grad.shape, *numbers), 64, 32),
        "conv_input": (lambda: REGISTRY[name](grad, weight.double(), x.shape, *numbers), 64, 32),
        "conv_weight": (lambda: REGISTRY[name](x, grad.double(), weight.shape, *numbers), 32, 64),
    }[name]
    message = f"^{name}: the tensors have types tensorlab.float{first} and tensorlab.float{second}"
    with pytest.raises(RuntimeError, match=message):
        call()


def test_operands_on_several_devices_are_refused():
    x, away = tensorlab.ones(2, 3), tensorlab.ones(3, device="meta")
    functional = tensorlab.nn.functional
    labels = tensorlab.tensor([0, 1])
    for call in (
        lambda: functional.linear(x, x, away[:2]),
        lambda: functional.linear(tensorlab.ones(2, 3, device="meta"), away.expand(2, 3), x[0, :2]),
        lambda: tensorlab.addmm(away, x, tensorlab.ones(3, 3)),
        lambda: functional.layer_norm(x, (3,), away),
        lambda: functional.group_norm(x, 1, away),
        lambda: functional.group_norm(x, 1, None, away),
        lambda: functional.batch_norm(x, away, None, training=True),
        lambda: functional.batch_norm(x, x[0], away),
        lambda: functional.cross_entropy(x, labels, away),
        lambda: functional.nll_loss(x, labels, away),
        lambda: functional.binary_cross_entropy(x[0], away),
        lambda: functional.conv1d(x, tensorlab.ones(3, 2, 1), away),
    ):
        with pytest.raises(DeviceError, match="they must be on one device"):
            call()


class Boasting(tensorlab.Tensor):
    """Tells a shape that is none of its own."""

    @property
    def shape(self):
        return tensorlab.Size([7, 7, 7, 7, 7])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: tensorlab.einsum("ii,ij->j", x, x),
        lambda x: tensorlab.tensordot(x, x, 1),
        lambda x: tensorlab.kron(x, x),
        lambda x: tensorlab.inner(x, x),
        lambda x: tensorlab.nn.functional.conv1d(x, tensorlab.ones(2, 4, 2)),
        lambda x: tensorlab.nn.functional.batch_norm(x, None, None, training=True),
        lambda x: tensorlab.nn.functional.layer_norm(x, (4,), tensorlab.ones(4)),
        lambda x: tensorlab.nn.functional.group_norm(x, 2),
        lambda x: tensorlab.nn.functional.mse_loss(x, x * 2),
        lambda x: tensorlab.nn.functional.cross_entropy(x, tensorlab.tensor([0, 1, 2, 3])),
    ],
)
def test_what_a_subclass_says_of_its_shape_leads_no_op_astray(call):
    x = tensorlab.arange(16.0).reshape(4, 4)
    boasting = x.as_subclass(Boasting).requires_grad_()
    x.requires_grad_()
    out, expected = call(boasting), call(x)
    out.sum().backward()
    expected.sum().backward()
    assert out.tolist() == expected.tolist()
    assert boasting.grad.tolist() == x.grad.tolist()
