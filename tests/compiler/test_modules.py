"""Compiled modules: hooks run as often as without the compiler, and copies are compiled modules of their own."""

import copy
import io
import pickle

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.nn.modules import module as of_all

pytestmark = [
    pytest.mark.usefixtures("fresh"),
    pytest.mark.filterwarnings("ignore:compile", "ignore:Using a non-full backward hook"),
]


def fifty_fold(module, args, out):
    return out * 50


def shifted(module, args):
    return (args[0] + 1,)


def three_fold(module, grad_input, grad_output):
    return tuple(None if one is None else one * 3 for one in grad_input)


def five_fold(module, grad_output):
    return (grad_output[0] * 5,)


OF_ALL = {
    "forward": lambda: of_all.register_module_forward_hook(fifty_fold),
    "forward, always called": lambda: of_all.register_module_forward_hook(
        fifty_fold, always_call=True
    ),
    "forward, with keywords": lambda: of_all.register_module_forward_hook(
        lambda module, args, kwargs, out: out * 50, with_kwargs=True
    ),
    "before forward": lambda: of_all.register_module_forward_pre_hook(shifted),
    "backward": lambda: of_all.register_module_full_backward_hook(three_fold),
    "before backward": lambda: of_all.register_module_full_backward_pre_hook(five_fold),
    "of the last node": lambda: of_all.register_module_backward_hook(three_fold),
}
OF_ONE = {
    "forward": lambda net: net.register_forward_hook(fifty_fold),
    "forward, always called": lambda net: net.register_forward_hook(fifty_fold, always_call=True),
    "before forward": lambda net: net.register_forward_pre_hook(shifted),
    "backward": lambda net: net.register_full_backward_hook(three_fold),
    "before backward": lambda net: net.register_full_backward_pre_hook(five_fold),
}


def net_of_two():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(2, 2), nn.Tanh())


def values(net):
    """What a call of a net gives, and the gradients."""
    x = torch.tensor([[0.5, -1.0]], requires_grad=True)
    out = net(x)
    out.sum().backward()
    grads = [x.grad, *(one.grad for one in net.parameters())]
    for one in net.parameters():
        one.grad = None
    return [out.detach(), *grads]


def same(one, other):
    return all(torch.allclose(x, y) for x, y in zip(one, other, strict=True))


@pytest.mark.parametrize("calls_before", [0, 3])
@pytest.mark.parametrize("name", OF_ALL)
def test_hooks_of_all_modules_run_once(name, calls_before):
    net, compiled, in_place = net_of_two(), torch.compile(net_of_two()), net_of_two()
    in_place.compile()
    for _ in range(calls_before):
        before = values(net)
        assert same(values(compiled), before)
        assert same(values(in_place), before)
    handle = OF_ALL[name]()
    try:
        for _ in range(3):
            expected = values(net)
            assert same(values(compiled), expected)
            assert same(values(in_place), expected)
    finally:
        handle.remove()
    expected = values(net)
    assert same(values(compiled), expected)
    assert same(values(in_place), expected)


@pytest.mark.parametrize("calls_before", [0, 3])
@pytest.mark.parametrize("where", ["the wrapper", "the original", "a part", "in place"])
@pytest.mark.parametrize("name", OF_ONE)
def test_hooks_of_one_module_run_once(name, where, calls_before):
    net, original = net_of_two(), net_of_two()
    if where == "in place":
        original.compile()
    compiled = original if where == "in place" else torch.compile(original)
    for _ in range(calls_before):
        values(compiled)
    places = {"the wrapper": compiled, "a part": original[0]}
    handles = [
        OF_ONE[name](net[0] if where == "a part" else net),
        OF_ONE[name](places.get(where, original)),
    ]
    for _ in range(3):
        assert same(values(compiled), values(net))
    for handle in handles:
        handle.remove()
    for _ in range(3):
        assert same(values(compiled), values(net))


def test_a_hook_of_all_modules_sees_the_modules_that_run_without_the_compiler():
    seen = []
    compiled = torch.compile(net_of_two())
    compiled(torch.ones(1, 2))
    handle = of_all.register_module_forward_hook(lambda one, *_: seen.append(type(one).__name__))
    compiled(torch.ones(1, 2))
    handle.remove()
    assert seen == ["Linear", "Tanh", "Sequential"]


# ------------------------------------------------------------------------------------------------ copies
def pickled(net):
    return pickle.loads(pickle.dumps(net))


def saved(net):
    file = io.BytesIO()
    torch.save(net, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("copied", [copy.deepcopy, pickled, saved])
def test_a_copy_of_a_compiled_module_is_compiled(copied):
    x = torch.ones(1, 2)
    net = torch.compile(net_of_two(), options={"code": False})
    for _ in range(3):
        net(x)
    net.register_forward_hook(fifty_fold)
    other = copied(net)
    assert type(other) is type(net)
    assert type(other._orig_mod) is nn.Sequential
    assert other._orig_mod is not net._orig_mod
    assert list(other.state_dict()) == list(net.state_dict())
    with torch.no_grad():
        other._orig_mod[0].weight.fill_(1)
        other._orig_mod[0].bias.zero_()
    expected = torch.full((1, 2), 50 * torch.tanh(torch.tensor(2.0)).item())
    for _ in range(3):
        assert torch.allclose(other(x), expected)
    assert not torch.allclose(net(x), expected)
    assert other.forward.compiled.counts == {"replayed": 2, "recorded": 1, "as Python": 0}
    assert other.forward.compiled.settings == net.forward.compiled.settings


def test_a_shallow_copy_shares_the_module():
    net = torch.compile(net_of_two())
    other = copy.copy(net)
    assert other._orig_mod is net._orig_mod
    assert torch.equal(other(torch.ones(1, 2)), net(torch.ones(1, 2)))
    other.register_forward_hook(fifty_fold)


@torch.compile
def plus_one(x):
    return x + 1


def test_a_compiled_function_is_copied_and_pickled_by_its_name():
    assert copy.deepcopy(plus_one) is plus_one
    assert pickled(plus_one) is plus_one
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(torch.compile(net_of_two))
