"""compile: what the Python of a function reads may change between its calls, and is noticed."""

import pytest

import tensorlab as torch
from tensorlab import nn
from tests.compiler.comparing import equal

pytestmark = pytest.mark.usefixtures("fresh")

x, y = torch.randn(4, 5), torch.randn(4, 5)


SCALE = 2.0
TABLE = {"factor": 3.0}


def test_a_changed_global_is_noticed(monkeypatch):
    def f(a):
        return a * SCALE

    g = torch.compile(f)
    for value in (2.0, 2.0, 5.0, 2.0, 5.0):
        monkeypatch.setitem(globals(), "SCALE", value)
        assert equal(g(x), x * value)
    assert g.compiled.counts["replayed"] == 3


def test_a_changed_dict_list_or_closure_is_noticed():
    factor, layers = 2.0, [1.0]

    def f(a):
        for one in layers:
            a = a + one
        return a * factor * TABLE["factor"]

    g = torch.compile(f)
    for change in range(6):
        assert equal(g(x), f(x))
        assert equal(g(x), f(x))
        if change == 0:
            layers.append(2.0)
        elif change == 1:
            layers[0] = 5.0
        elif change == 2:
            factor = 3.0
        elif change == 3:
            TABLE["factor"] = 4.0
        elif change == 4:
            layers.clear()
    assert g.compiled.counts["replayed"] == 6


def test_a_function_that_is_replaced_is_noticed(monkeypatch):
    def f(a):
        return helper(a)  # noqa: F821

    g = torch.compile(f)
    monkeypatch.setitem(globals(), "helper", lambda a: a + 1)
    assert equal(g(x), x + 1)
    assert equal(g(x), x + 1)
    monkeypatch.setitem(globals(), "helper", lambda a: a + 2)
    assert equal(g(x), x + 2)


def test_attributes_of_modules_are_noticed():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale, self.inner = 2.0, nn.Linear(5, 5)

        def forward(self, a):
            return self.inner(a) * self.scale if self.training else a

    net = Net()
    call = torch.compile(net)
    for change in (
        lambda: None,
        net.eval,
        net.train,
        lambda: setattr(net, "scale", 3.0),
        lambda: setattr(net, "inner", nn.Linear(5, 5)),
        lambda: setattr(net.inner, "weight", nn.Parameter(torch.ones(5, 5))),
        lambda: net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()}),
        lambda: net.inner.requires_grad_(False),
        net.double,
    ):
        change()
        given = x.to(net.inner.weight.dtype)
        for _ in range(2):
            assert equal(call(given), net(given))
    assert call.forward.compiled.counts["replayed"] >= 9


def test_modes_are_noticed():
    weight = torch.ones(5, requires_grad=True)

    def f(a):
        return a * weight

    g = torch.compile(f)
    for _ in range(2):
        assert g(x).requires_grad
        with torch.no_grad():
            assert not g(x).requires_grad
        with torch.inference_mode():
            assert g(x).is_inference()


def test_the_default_dtype_is_noticed():
    g = torch.compile(lambda a: a.int() / 2)
    assert g(x).dtype == g(x).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert g(x).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
