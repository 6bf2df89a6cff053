"""compile: its arguments, the functions and modules that it returns, stances and reset."""

import copy
import pickle

import pytest

import tensorlab as torch
from tensorlab import nn
from tests.compiler.comparing import equal

pytestmark = pytest.mark.usefixtures("fresh")

x = torch.randn(4, 5)


def test_compile_is_a_decorator_with_and_without_options():
    @torch.compile
    def f(a):
        """Adds one."""
        return a + 1

    @torch.compile(backend="eager")
    def g(a):
        return a + 1

    assert equal(f(x), x + 1)
    assert equal(g(x), x + 1)
    assert f.__name__ == "f"
    assert f.__doc__ == "Adds one."


def test_a_method_can_be_compiled():
    class Scaler:
        def __init__(self, scale):
            self.scale = scale

        @torch.compile
        def apply(self, a):
            return a * self.scale

    two, three = Scaler(2.0), Scaler(3.0)
    for _ in range(3):
        assert equal(two.apply(x), x * 2)
        assert equal(three.apply(x), x * 3)
    two.scale = 5.0
    assert equal(two.apply(x), x * 5)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"backend": "nothing"}, RuntimeError, "there is no backend 'nothing'; choose from"),
        ({"backend": 3}, TypeError, "must be a name or a function, not int"),
        ({"mode": "fast"}, RuntimeError, "mode 'fast' is unknown"),
        ({"options": {"speed": 1}}, RuntimeError, "the option 'speed' is unknown"),
        ({"options": {"code": 1}}, RuntimeError, "expected a bool"),
        ({"mode": "default", "options": {}}, RuntimeError, "either mode or options"),
    ],
)
def test_bad_options_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        torch.compile(lambda a: a, **options)


def test_what_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="a function or a Module is needed, not int"):
        torch.compile(3)


def test_disable_returns_the_function_itself():
    f = lambda a: a
    assert torch.compile(f, disable=True) is f


def test_an_optimized_module_is_its_module():
    net = nn.Sequential(nn.Linear(5, 5), nn.ReLU())
    call = torch.compile(net)
    assert list(call.state_dict()) == [f"_orig_mod.{name}" for name in net.state_dict()]
    assert next(iter(call.parameters())) is net[0].weight
    assert call.get_submodule("_orig_mod.0") is net[0]
    call.marker = 3
    assert net.marker == 3
    assert call.marker == 3
    assert call._orig_mod is net
    del call.marker
    assert not hasattr(net, "marker")
    call.eval()
    assert not net[0].training
    assert call.training is False
    net.train()
    assert call.training is True
    assert torch.compile(nn.Dropout().eval()).training is False
    unfinished = type(call).__new__(type(call))  # as copy and pickle make it
    with pytest.raises(AttributeError, match="has no module yet"):
        unfinished._orig_mod  # noqa: B018


def test_a_module_compiled_in_place_copies_and_pickles_as_itself():
    net = nn.Linear(5, 5)
    net.compile()
    for _ in range(3):
        assert equal(net(x), net.forward(x))
    assert net._compiled_call_impl.compiled.counts["replayed"] == 2
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        with torch.no_grad():
            other.weight.zero_()
        assert equal(other(x), other.forward(x))
        assert "_compiled_call_impl" not in other.__dict__
    handle = net.register_forward_hook(lambda module, args, out: out * 2)
    assert equal(net(x), net.forward(x) * 2)
    handle.remove()
    assert equal(net(x), net.forward(x))


def test_a_stance_runs_everything_as_python():
    g = torch.compile(lambda a: a + 1)
    g(x)
    with torch.compiler.set_stance("force_eager"):
        g(x)
    assert g.compiled.counts["replayed"] == 0
    g(x)
    assert g.compiled.counts["replayed"] == 1
    with pytest.raises(RuntimeError, match="'fast' is unknown"):
        torch.compiler.set_stance("fast")


def test_reset_forgets_recordings():
    g = torch.compile(lambda a: a + 1)
    g(x)
    g(x)
    torch.compiler.reset()
    assert g.compiled.counts == {"replayed": 0, "recorded": 0, "as Python": 0}
    assert equal(g(x), x + 1)
