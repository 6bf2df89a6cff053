"""Clipping, parameters as a vector, padded sequences: as in PyTorch."""

import math

import pytest

import tensorlab
from tensorlab import nn
from tests.oracle import assert_same_values, require_torch


def with_gradients(T):
    values = ([[3.0, -4.0], [0.5, 2.0]], [12.0, -0.25], None)
    parameters = [T.zeros(2, 2, requires_grad=True), T.zeros(2, requires_grad=True)]
    parameters += [T.zeros(3, requires_grad=True)]
    for parameter, value in zip(parameters, values, strict=True):
        parameter.grad = None if value is None else T.tensor(value)
    return parameters


@pytest.mark.parametrize("order", [2.0, 1, math.inf, 3])
@pytest.mark.parametrize("most", [1.0, 5.0, 1000.0])
def test_the_norm_of_gradients_is_clipped(order, most):
    torch = require_torch()
    ours, theirs = with_gradients(tensorlab), with_gradients(torch)
    total = nn.utils.clip_grad_norm_(iter(ours), most, order)
    assert_same_values(total, torch.nn.utils.clip_grad_norm_(theirs, most, order), 1e-6)
    for x, y in zip(ours[:2], theirs[:2], strict=True):
        assert_same_values(x.grad, y.grad, 1e-6)
    assert ours[2].grad is None


def test_a_norm_that_is_not_finite_can_be_an_error():
    x = tensorlab.zeros(2, requires_grad=True)
    x.grad = tensorlab.tensor([math.nan, 1.0])
    with pytest.raises(RuntimeError, match="total norm of order 2.0 is nan"):
        nn.utils.clip_grad_norm_(x, 1.0, error_if_nonfinite=True)
    assert nn.utils.clip_grad_norm_([tensorlab.zeros(2)], 1.0).item() == 0


def test_values_of_gradients_are_clipped():
    parameters = with_gradients(tensorlab)
    nn.utils.clip_grad_value_(parameters, 2)
    assert parameters[0].grad.tolist() == [[2.0, -2.0], [0.5, 2.0]]


def test_parameters_go_to_a_vector_and_back():
    model = nn.Linear(2, 3)
    vector = nn.utils.parameters_to_vector(model.parameters())
    assert vector.shape == (9,)
    weight = model.weight
    nn.utils.vector_to_parameters(tensorlab.arange(9.0), model.parameters())
    assert model.weight is weight
    assert model.bias.tolist() == [6.0, 7.0, 8.0]
    with pytest.raises(TypeError, match="vec is a list"):
        nn.utils.vector_to_parameters([1.0], model.parameters())


@pytest.mark.parametrize("options", [{}, {"batch_first": True}, {"padding_value": 7.0}])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_sequences_are_padded_to_the_longest(options, side, shape):
    torch = require_torch()
    results = []
    for T in (tensorlab, torch):
        pieces = [T.ones(n, *shape) * n for n in (3, 1, 4)]
        results.append(T.nn.utils.rnn.pad_sequence(pieces, padding_side=side, **options))
    assert results[0].tolist() == results[1].tolist()


def test_padding_is_taken_away_again():
    pieces = [tensorlab.arange(3), tensorlab.arange(5)]
    lengths = tensorlab.tensor([3, 5])
    for first in (False, True):
        padded = nn.utils.rnn.pad_sequence(pieces, batch_first=first)
        back = nn.utils.rnn.unpad_sequence(padded, lengths, batch_first=first)
        assert [x.tolist() for x in back] == [x.tolist() for x in pieces]
    with pytest.raises(RuntimeError, match="there is no sequence"):
        nn.utils.rnn.pad_sequence([])


@pytest.mark.parametrize("refuses", [False, True])
@pytest.mark.parametrize("value", [1e-6, 1.0, math.inf, math.nan])
def test_gradients_of_odd_sizes_are_clipped_as_in_pytorch(value, refuses):
    def clip(T):
        parameter = T.zeros(2, requires_grad=True)
        parameter.grad = T.tensor([value, 0.0])
        try:
            total = T.nn.utils.clip_grad_norm_([parameter], 1e-6, error_if_nonfinite=refuses)
        except RuntimeError:
            return "raises"
        return [str(number) for number in [total.item(), *parameter.grad.tolist()]]

    assert clip(tensorlab) == clip(require_torch())


def test_gradients_are_scaled_by_a_norm_that_is_known():
    torch = require_torch()
    for most in (1.0, 100.0):
        ours, theirs = with_gradients(tensorlab), with_gradients(torch)
        nn.utils.clip_grads_with_norm_(ours, most, tensorlab.tensor(10.0))
        torch.nn.utils.clip_grads_with_norm_(theirs, most, torch.tensor(10.0))
        for x, y in zip(ours[:2], theirs[:2], strict=True):
            assert_same_values(x.grad, y.grad, 1e-6)


def test_the_older_name_of_clipping_warns():
    parameters = with_gradients(tensorlab)
    with pytest.warns(FutureWarning, match="in favor of `torch.nn.utils.clip_grad_norm_`") as found:
        total = nn.utils.clip_grad_norm(parameters, 1.0, 1.0)
    assert found[0].filename == __file__
    assert total.item() == pytest.approx(21.75)
    assert sum(p.grad.abs().sum() for p in parameters[:2]).item() == pytest.approx(1.0, abs=1e-5)
    parameters[0].grad.fill_(float("nan"))
    with pytest.raises(RuntimeError, match="is nan"), pytest.warns(FutureWarning):
        nn.utils.clip_grad_norm(parameters, 1.0, error_if_nonfinite=True)


def test_clipping_an_empty_generator_warns():
    with pytest.warns(UserWarning, match="empty generator") as warned:
        assert nn.utils.clip_grad_norm_((p for p in ()), 1.0).item() == 0
    assert warned[0].filename == __file__


def test_a_total_norm_is_that_of_one_tensor_or_of_all_that_an_iterator_gives():
    x = tensorlab.tensor([[3.0, -4.0], [0.0, 12.0]])
    assert nn.utils.get_total_norm(x).item() == 13
    assert nn.utils.get_total_norm(iter([x[0], x[1]])).item() == 13
    assert nn.utils.get_total_norm(iter([])).item() == 0


@pytest.mark.parametrize("dims", [2, 3])
def test_the_weights_of_convolutions_change_their_layout(dims):
    last = {2: tensorlab.channels_last, 3: tensorlab.channels_last_3d}[dims]
    kinds = getattr(nn, f"Conv{dims}d"), getattr(nn, f"ConvTranspose{dims}d")
    net = nn.Sequential(kinds[0](4, 6, 3), nn.Sequential(kinds[1](6, 4, 3)), nn.Linear(2, 2))
    convert = getattr(nn.utils, f"convert_conv{dims}d_weight_memory_format")
    before = [p.detach().clone() for p in net.parameters()]
    assert convert(net, last) is net
    assert net[0].weight.is_contiguous(memory_format=last)
    assert net[1][0].weight.is_contiguous(memory_format=last)
    for p, value in zip(net.parameters(), before, strict=True):
        assert tensorlab.equal(p, value)
    other = getattr(nn.utils, f"convert_conv{5 - dims}d_weight_memory_format")
    other(net, tensorlab.contiguous_format)
    assert net[0].weight.is_contiguous(memory_format=last)


def test_parameters_that_are_given_and_an_empty_list_are_not_warned_of():
    layer = nn.Linear(2, 1)
    layer.weight.grad = tensorlab.ones(1, 2)
    assert nn.utils.clip_grad_norm_(layer.parameters(), 1.0).item() == pytest.approx(2**0.5)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0
