"""Versions: what counts as a write, and what exchanges a tensor's data without being one."""

import pytest

import tensorlab
from tests.ops.agreement import agree

EXCHANGES = {
    "same form": lambda T, x: setattr(x, "data", T.zeros(4)),
    "other shape": lambda T, x: setattr(x, "data", T.zeros(2, 3)),
    "other type": lambda T, x: setattr(x, "data", T.zeros(4, dtype=T.float64)),
    "twice": lambda T, x: [setattr(x, "data", T.zeros(n).add_(1)) for n in (2, 3)],
    "write to data": lambda T, x: x.data.add_(1),
    "write to detached": lambda T, x: x.detach().add_(1),
    "set_": lambda T, x: x.set_(T.zeros(4)),
    "resize_": lambda T, x: x.resize_(2),
    "resize_ to the same": lambda T, x: x.resize_(4),
    "resize_as_": lambda T, x: x.resize_as_(T.ones(2, 2)),
    "detach_": lambda T, x: x.detach_(),
    "requires_grad_": lambda T, x: x.requires_grad_(),
    "unsqueeze_": lambda T, x: x.unsqueeze_(0),
    "out": lambda T, x: T.add(T.ones(4), 1, out=x),
    "write to a view": lambda T, x: x.view(2, 2).add_(1),
    "numpy": lambda T, x: x.numpy().__setitem__(0, 3),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_versions_count_what_they_count_in_pytorch(name):
    def program(T):
        x = T.ones(4)
        view = x[:2]
        x.mul_(2)
        EXCHANGES[name](T, x)
        versions = [x._version, view._version]
        x.add_(1)
        return [*versions, x._version, x, view]

    agree(program)


CONVERSIONS = {
    "double": lambda T, layer: layer.double(),
    "half": lambda T, layer: layer.half(),
    "to": lambda T, layer: layer.to(T.bfloat16),
    "float": lambda T, layer: layer.float(),
    "data": lambda T, layer: setattr(layer.weight, "data", T.ones(3, 3)),
    "load": lambda T, layer: layer.load_state_dict(layer.state_dict()),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_parameters_that_are_converted_keep_their_version(name):
    def program(T):
        layer = T.nn.Linear(2, 2)
        weight, before = layer.weight, layer.weight._version
        CONVERSIONS[name](T, layer)
        return [layer.weight._version - before, layer.weight is weight, str(weight.dtype)[-7:]]

    agree(program)


@pytest.mark.parametrize("data", [tensorlab.zeros(3), tensorlab.zeros(2, dtype=tensorlab.float64)])
def test_a_node_notices_that_what_it_saved_has_other_data(data):
    w = tensorlab.ones(2, requires_grad=True)
    y = (w * w).sum()
    w.data = data
    with pytest.raises(
        RuntimeError, match=r"saved at 0 and has been given other data since, of shape \([23],\)"
    ):
        y.backward()


def test_data_of_another_form_concern_one_tensor_and_not_its_views():
    def through_the_view(T):
        x = T.ones(3, requires_grad=True)
        view = x.view(3)
        y = (view * view).sum()
        x.data = T.zeros(5)
        return T.autograd.grad(y, view)[0]

    def through_a_part(T):
        z, base = T.ones(2, requires_grad=True), T.ones(4)
        y = (z * base[:2]).sum()
        base.data = T.zeros(5)
        return T.autograd.grad(y, z)[0]

    agree(through_the_view)
    agree(through_a_part)
