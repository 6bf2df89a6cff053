"""compile: modules called with tensors from outside are recorded, and never with those of another call."""

import warnings

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.func import functional_call, grad, jvp, stack_module_state, vmap
from tensorlab.utils._pytree import tree_leaves

F = nn.functional

pytestmark = pytest.mark.usefixtures("fresh")


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.Flatten(), nn.Linear(48, 5))


def random_state(module, requires_grad=False):
    return {
        name: torch.randn_like(p).requires_grad_(requires_grad)
        for name, p in module.named_parameters()
    }


def batch(count=4):
    return torch.randn(count, 1, 6, 6), torch.randint(0, 5, (count,))


def agree(function, *calls, replays):
    """Each call of the compiled function gives what the function gives, and so many are replayed."""
    compiled = torch.compile(function)
    for args in calls:
        expected, found = (tree_leaves(f(*args)) for f in (function, compiled))
        for x, y in zip(expected, found, strict=True):
            torch.testing.assert_close(y, x, rtol=1e-4, atol=1e-5)
    assert compiled.compiled.counts["replayed"] == replays, compiled.compiled.counts


@pytest.mark.parametrize("in_dims", [(None, 0, 0), (0, 0, 0)])
def test_per_sample_gradients_are_one_graph(in_dims):
    net = network()

    def loss(params, x, y):
        return F.cross_entropy(functional_call(net, params, (x[None],)), y[None])

    def per_sample(params, x, y):
        return vmap(grad(loss), in_dims=in_dims)(params, x, y)

    def state():
        if in_dims[0] is None:
            return random_state(net)
        return stack_module_state([network() for _ in range(4)])[0]

    before = dict(net.named_parameters())
    agree(per_sample, *[(state(), *batch()) for _ in range(4)], replays=3)
    assert all(p is before[name] for name, p in net.named_parameters())


def test_jvp_of_a_module_is_replayed():
    net = network()

    def push(params, tangents, x):
        return jvp(lambda p: functional_call(net, p, (x,)), (params,), (tangents,))

    calls = [(random_state(net), random_state(net), batch()[0]) for _ in range(3)]
    agree(push, *calls, replays=2)


def test_backward_reaches_the_given_tensors_and_no_others():
    net = nn.Linear(3, 2)
    compiled = torch.compile(lambda params, x: functional_call(net, params, (x,)).tanh().sum())
    for _ in range(3):
        params, x = random_state(net, requires_grad=True), torch.randn(4, 3)
        compiled(params, x).backward()
        slope = 1 - (x @ params["weight"].T + params["bias"]).tanh() ** 2
        torch.testing.assert_close(params["weight"].grad, (slope.T @ x).detach())
    assert net.weight.grad is None
    assert compiled.compiled.counts["replayed"] == 2


def test_other_shapes_are_another_recording():
    net = nn.Linear(3, 2)
    call = lambda params, x: functional_call(net, params, (x,))
    sizes = ((2, 3), (5, 3), (2, 3), (1, 3))
    calls = [
        ({"weight": torch.randn(size), "bias": torch.randn(size[0])}, torch.randn(4, 3))
        for size in sizes
    ]
    agree(call, *calls, replays=1)


def test_parameters_of_the_module_itself_and_others_after_them():
    net = nn.Linear(3, 2)
    call = lambda params, x: functional_call(net, params, (x,)) + net(x)
    x = torch.randn(4, 3)
    own = {name: p.detach() for name, p in net.named_parameters()}
    agree(call, (dict(net.named_parameters()), x), (random_state(net), x), (own, x), replays=1)


def test_one_weight_is_replaced_and_the_other_followed():
    net = nn.Linear(3, 2)
    call = torch.compile(lambda weight, x: functional_call(net, {"weight": weight}, (x,)))
    x = torch.randn(4, 3)
    for _ in range(4):
        weight = torch.randn(2, 3)
        with torch.no_grad():
            net.bias.add_(1.0)
        torch.testing.assert_close(call(weight, x), F.linear(x, weight, net.bias))
    net.bias = None
    torch.testing.assert_close(call(weight, x), F.linear(x, weight))
    assert call.compiled.counts["replayed"] == 3


def test_attributes_of_the_module_are_guarded():
    net = nn.Sequential(nn.Linear(3, 3), nn.LeakyReLU(0.5), nn.Dropout(0.5))
    call = torch.compile(lambda params, x: functional_call(net, params, (x,)))
    state, x = random_state(net), torch.randn(4, 3)
    net.eval()
    for slope in (0.5, 0.25, 0.5):
        net[1].negative_slope = slope
        torch.testing.assert_close(call(state, x), functional_call(net, state, (x,)))
    net.train()
    assert (call(state, x) == 0).any()


def test_two_modules_of_one_shape_and_shared_weights():
    one, two = nn.Linear(3, 3), nn.Linear(3, 3)
    two.weight = one.weight
    both = nn.Sequential(one, two)

    def call(p, q, x):
        inner = functional_call(both, {"0.weight": p, "0.bias": q}, (x,))
        return inner + functional_call(one, {"weight": p * 2}, (x,)) + both(x)

    calls = [(torch.randn(3, 3), torch.randn(3), torch.randn(2, 3)) for _ in range(3)]
    agree(call, *calls, replays=2)


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls = self.calls + 1
        return x * self.calls


def test_a_buffer_that_forward_replaces_is_one_of_the_dict():
    module = Counting()
    call = torch.compile(lambda buffers, x: functional_call(module, buffers, (x,)))
    buffers, x = {"calls": torch.zeros(())}, torch.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = [call(buffers, x) for _ in range(5)]
    assert [r[0].item() for r in results] == [1, 2, 3, 4, 5]
    assert buffers["calls"].item() == 5
    assert module.calls.item() == 0


def test_running_statistics_are_written_to_the_given_tensors():
    norm = nn.BatchNorm1d(3)
    call = lambda state, x: functional_call(norm, state, (x,))
    compiled = torch.compile(call)
    mine = {name: value.detach().clone() for name, value in norm.state_dict().items()}
    other = {name: value.clone() for name, value in mine.items()}
    for _ in range(4):
        x = torch.randn(5, 3)
        torch.testing.assert_close(compiled(mine, x), call(other, x))
    torch.testing.assert_close(mine, other)
    assert norm.num_batches_tracked.item() == 0
    assert compiled.compiled.counts["replayed"] == 3


def test_a_compiled_module_is_called_with_other_tensors():
    net = nn.Linear(3, 2)
    compiled = torch.compile(net)
    x = torch.randn(4, 3)
    for _ in range(3):
        state = random_state(net)
        outer = {f"_orig_mod.{name}": value for name, value in state.items()}
        expected = F.linear(x, state["weight"], state["bias"])
        torch.testing.assert_close(functional_call(compiled, outer, (x,)), expected)
        torch.testing.assert_close(compiled(x), net(x))


def test_inside_of_a_transform_a_compiled_function_says_what_to_compile():
    compiled = torch.compile(lambda x: (x.sin() * x).sum())
    x = torch.randn(4, 3)
    with pytest.warns(
        UserWarning, match="inside of a transform such as grad; compile the function"
    ):
        found = vmap(grad(compiled))(x)
    torch.testing.assert_close(found, x.sin() + x * x.cos())
    assert [compiled(x[0]).item() for _ in range(3)] == [(x[0].sin() * x[0]).sum().item()] * 3
    assert compiled.compiled.counts["replayed"] == 2
