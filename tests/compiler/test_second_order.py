"""Gradients of gradients through compiled calls: those of the function, in the recorded call and in a replay."""

import copy
import gc

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler.second_order import SecondOrder

F = nn.functional

pytestmark = pytest.mark.usefixtures("fresh")


def second(function, a, b):
    """The gradients of a and b, and those of a penalty on the first ones."""
    a, b = a.clone().requires_grad_(), b.clone().requires_grad_()
    out = function(a, b)
    first = torch.autograd.grad(out.sum(), (a, b), create_graph=True)
    assert all(one.requires_grad for one in first)
    penalty = sum((one * one).sum() for one in first) + out.mean()
    return [*first, *torch.autograd.grad(penalty, (a, b))]


def are_close(mine, others):
    return all(torch.allclose(*pair, atol=1e-6) for pair in zip(mine, others, strict=True))


@pytest.mark.parametrize("backend", ["tensorlab", "aot_eager", "eager"])
def test_gradients_of_gradients_are_those_of_the_function(backend):
    f = lambda a, b: (a @ b).tanh() * torch.sigmoid(a.sum(1, keepdim=True) * 2)
    g = torch.compile(f, backend=backend)
    for _ in range(3):
        a, b = torch.randn(3, 4), torch.randn(4, 2)
        assert are_close(second(g, a, b), second(f, a, b))
    assert g.compiled.counts == {"replayed": 2, "recorded": 1, "as Python": 0}


def test_derivatives_of_every_order():
    g = torch.compile(lambda a: (a * 2).sin() * a)
    g(torch.ones(2, requires_grad=True))
    a = torch.tensor([0.3, 1.2], requires_grad=True)
    found, expected = [g(a)], [(a * 2).sin() * a]
    for results in (found, expected):
        for _ in range(3):
            results += torch.autograd.grad(results[-1].sum(), a, create_graph=True)
    assert are_close(found, expected)
    assert g.compiled.counts["replayed"] == 1


def test_a_gradient_penalty_trains_a_module():
    plain = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1))
    other = copy.deepcopy(plain)
    call, data = torch.compile(other), torch.randn(5, 3)

    def step(model, parameters):
        x = data.clone().requires_grad_()
        out = model(x)
        (first,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        ((first.norm(dim=1) - 1).square().mean() + out.square().mean()).backward()
        with torch.no_grad():
            for one in parameters:
                one -= 0.1 * one.grad
                one.grad = None

    for _ in range(4):
        step(plain, list(plain.parameters()))
        step(call, list(other.parameters()))
    assert are_close(list(other.state_dict().values()), list(plain.state_dict().values()))
    assert call.forward.compiled.counts["replayed"] == 3


def test_what_was_drawn_in_forward_is_drawn_again_and_no_more():
    def f(a):
        noise = torch.randn(5)
        unused = torch.rand(3) * 2  # noqa: F841 - draws numbers
        return F.dropout((a * noise).tanh(), 0.5) * torch.rand(5)

    g = torch.compile(f)
    g(torch.ones(5, requires_grad=True))
    found = []
    for function in (f, g):
        torch.manual_seed(3)
        a = torch.linspace(-1, 1, 5, requires_grad=True)
        out = function(a)
        torch.rand(4)
        (first,) = torch.autograd.grad(out.sum(), a, create_graph=True)
        (more,) = torch.autograd.grad(first.square().sum(), a)
        found.append([out, first, more, torch.rand(700)])
    assert are_close(*found)
    assert torch.equal(found[0][3], found[1][3])
    assert g.compiled.counts["replayed"] == 1


def test_the_generator_is_put_back_where_the_second_forward_fails(monkeypatch):
    def gradients(self, inputs, tangents):
        torch.rand(700)
        raise ValueError("no memory")

    monkeypatch.setattr(SecondOrder, "gradients", gradients)
    g = torch.compile(lambda a: (a * torch.rand(2)).exp())
    for _ in range(2):
        a = torch.ones(2, requires_grad=True)
        out = g(a).sum()
    state = torch.get_rng_state()
    with pytest.raises(ValueError, match="no memory"):
        torch.autograd.grad(out, a, create_graph=True)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_function_with_a_generator_of_its_own_is_refused():
    generator = torch.Generator().manual_seed(1)
    g = torch.compile(lambda a: (a * torch.rand(2, generator=generator)).exp())
    g(torch.ones(2, requires_grad=True))
    a = torch.ones(2, requires_grad=True)
    out = g(a)
    assert g.compiled.counts["replayed"] == 1
    with pytest.raises(RuntimeError, match="a generator of its own cannot be differentiated twice"):
        torch.autograd.grad(out.sum(), a, create_graph=True)
    assert torch.autograd.grad(out.sum(), a)[0].shape == (2,)


def test_inputs_that_were_written_to_are_noticed():
    g = torch.compile(lambda a, b, c: ((a * b).exp() * b.cos(), c + 1))
    scale, shift = torch.ones(2), torch.ones(2)
    a = torch.ones(2, requires_grad=True)
    for _ in range(2):
        work = a * 1
        out, _ = g(work, scale, shift)
    shift.add_(1)  # of which the result does not depend
    torch.autograd.grad(out.sum(), a, create_graph=True)
    for written in (scale, work):
        out, _ = g(work, scale, shift)
        with torch.no_grad():
            written.add_(1)
        with pytest.raises(RuntimeError, match="is at version"):
            torch.autograd.grad(out.sum(), a, create_graph=True)
    assert g.compiled.counts["replayed"] == 3


def test_a_buffer_that_the_call_itself_writes_may_be_written():
    """Batch norm reads its averages to keep them up; its result doesn't depend on them."""
    norm = nn.BatchNorm1d(3)
    call = torch.compile(nn.Sequential(norm, nn.Tanh()))
    for _ in range(2):
        a = torch.randn(4, 3, requires_grad=True)
        out = call(a)
    before = norm.running_mean.clone()
    (first,) = torch.autograd.grad(out.square().sum(), a, create_graph=True)
    assert torch.equal(norm.running_mean, before)
    (found,) = torch.autograd.grad(first.square().sum(), a)
    plain = F.batch_norm(a, None, None, norm.weight, norm.bias, True).tanh()
    (first,) = torch.autograd.grad(plain.square().sum(), a, create_graph=True)
    assert torch.allclose(found, torch.autograd.grad(first.square().sum(), a)[0], atol=1e-4)


def test_hooks_of_an_input_see_each_gradient_once():
    g = torch.compile(lambda a: (a * 2).sin())
    seen = []
    for _ in range(2):
        seen.clear()
        a = torch.ones(2, requires_grad=True)
        work = a * 1
        for one in (a, work):
            one.register_hook(lambda grad: seen.append(grad.sum().item()))
        torch.autograd.grad(g(work).sum(), a, create_graph=True)
        assert len(seen) == 2
    assert g.compiled.counts["replayed"] == 1


@pytest.mark.parametrize("used", [(0,), (1,), (0, 1)])
def test_results_that_are_not_used_and_inputs_without_a_gradient(used):
    def f(a, b, c):
        return (a * b).sin(), (b * b).exp() * c

    g = torch.compile(f)
    inputs = [torch.tensor([0.5, 2.0]) for _ in range(3)]
    found = []
    for function in (f, g, g):
        a, b, c = (one.clone().requires_grad_(i != 2) for i, one in enumerate(inputs))
        out = function(a, b, c)
        first = torch.autograd.grad(
            sum(out[i].sum() for i in used), (a, b), create_graph=True, allow_unused=True
        )
        more = torch.autograd.grad(first[1].sum(), (a, b), allow_unused=True)
        found.append([*first, *more])
    for mine in found[1:]:
        for one, other in zip(mine, found[0], strict=True):
            assert (one is None) == (other is None)
            assert one is None or torch.allclose(one, other)
    assert g.compiled.counts["replayed"] == 1


def test_what_was_freed_is_told():
    g = torch.compile(lambda a: (a * 2).sin())
    for _ in range(2):
        a = torch.ones(2, requires_grad=True)
        out = g(a).sum()
    out.backward()
    with pytest.raises(RuntimeError, match="has run before"):
        torch.autograd.grad(out, a, create_graph=True)


def test_an_inference_tensor_may_be_an_input_that_has_no_gradient():
    with torch.inference_mode():
        limit = torch.ones(2)
    g = torch.compile(lambda a, limit: (a * 2).sin() * (a > limit))
    found = []
    for _ in range(2):
        a = torch.tensor([0.5, 2.0], requires_grad=True)
        (first,) = torch.autograd.grad(g(a, limit).sum(), a, create_graph=True)
        found.append([first, *torch.autograd.grad(first.sum(), a)])
    assert are_close(*found)


def test_a_call_lets_go_of_its_inputs_when_backward_has_run():
    g = torch.compile(lambda a: (a * 2).sin())
    g(torch.ones(2, requires_grad=True) * 1)
    gc.collect()  # what others left would go meanwhile
    before = torch.live_tensors()
    a = torch.ones(2, requires_grad=True)
    out = g(a * 1)
    loss = out.sum()
    loss.backward()
    assert torch.live_tensors() - before == 4  # a, out, loss and a.grad
    del out, loss, a
    assert torch.live_tensors() == before


def test_a_call_keeps_its_inputs_as_they_are():
    g = torch.compile(lambda a: (a * 2).sin())
    a = torch.ones(2, requires_grad=True)
    g(a)
    out = g(a).sum()
    gc.collect()  # what others left would go meanwhile
    before = torch.live_tensors()
    for _ in range(3):
        torch.autograd.grad(out, a, create_graph=True)
        assert torch.live_tensors() == before


def test_a_long_chain_of_calls_is_freed():
    g = torch.compile(lambda a: (a * 0.5).sin())
    a = torch.ones(2, requires_grad=True)
    out = a * 1
    for _ in range(30_000):
        out = g(out)
    del out
    assert g.compiled.counts["replayed"] == 29_999
