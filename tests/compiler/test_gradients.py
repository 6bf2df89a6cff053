"""compile: gradients through compiled functions are those of the functions."""

import gc

import pytest
from tensorlab.compiler.compiled_node import CompiledFunctionBackward

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler import logs, program
from tensorlab.compiler.cannot_compile import CannotCompile
from tensorlab.errors import GradientError
from tests.compiler.comparing import equal

F = nn.functional

pytestmark = pytest.mark.usefixtures("fresh")

x, y = torch.randn(4, 5), torch.randn(4, 5)


def gradients(function, inputs):
    leaves = [one.detach().clone().requires_grad_() for one in inputs]
    out = function(*leaves)
    out.backward(torch.ones_like(out) * 0.5)
    return [out.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.parametrize("backend", ["tensorlab", "aot_eager", "eager"])
def test_gradients_are_those_of_the_function(backend):
    def f(a, b):
        h = torch.tanh(a @ b.t()) * 2
        return F.softmax(h, -1).log() + h.exp().mean()

    g = torch.compile(f, backend=backend)
    for _ in range(3):
        for mine, other in zip(gradients(g, (x, y)), gradients(f, (x, y)), strict=True):
            assert equal(mine, other) or torch.allclose(mine, other, rtol=1e-5, atol=1e-6)
    assert g.compiled.counts["replayed"] == 2


def test_a_gradient_that_is_wanted_of_some_inputs_only():
    f = lambda a, b: (a * b).sin()
    g = torch.compile(f)
    for wanted in ((True, False), (False, True), (True, True), (False, False)) * 2:
        results = []
        for function in (f, g):
            a, b = x.clone().requires_grad_(wanted[0]), y.clone().requires_grad_(wanted[1])
            out = function(a, b).sum()
            if any(wanted):
                out.backward()
            results.append([out.detach(), a.grad, b.grad])
        assert equal(*results)


@pytest.mark.parametrize("backend", ["tensorlab", "aot_eager"])
@pytest.mark.parametrize("view", [lambda a: a.expand(2, *a.shape), lambda a: a.unfold(0, 2, 1)])
def test_a_result_that_shows_places_twice_has_the_gradients_of_all_its_elements(view, backend):
    f = lambda a: view(a * 2)
    g = torch.compile(f, backend=backend)
    for weigh in (
        lambda out: torch.arange(float(out.numel())).view(out.shape) * out,
        lambda out: out,
    ):
        found = []
        for function in (f, g, g):
            a = x.clone().requires_grad_()
            weigh(function(a)).sum().backward()
            found.append(a.grad)
        assert equal(found[0], found[1])
        assert equal(found[0], found[2])
    assert g.compiled.counts["replayed"] == 3


def test_only_some_results_are_used():
    f = lambda a: (a.sin(), a.cos(), a.argmax())
    g = torch.compile(f)
    for used in (0, 1, 0):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        f(a)[used].sum().backward()
        g(b)[used].sum().backward()
        assert equal(a.grad, b.grad)
        assert not g(b)[2].requires_grad


def test_a_backward_that_is_made_late_draws_no_random_numbers(monkeypatch):
    """Passes may run ops to see what they give."""
    g = torch.compile(lambda a: (a.sin(), a.cos()))
    a = x.clone().requires_grad_()
    g(a)
    make_pieces = program.make_pieces
    monkeypatch.setattr(
        program, "make_pieces", lambda *given: (torch.rand(3), make_pieces(*given))[1]
    )
    before = torch.get_rng_state()
    g(a)[1].sum().backward()
    assert equal(torch.get_rng_state(), before)
    assert equal(a.grad, -x.sin())


def test_what_no_used_result_depends_on_gets_no_gradient():
    """Zeros for the unused results would give zeros, and nan where a derivative is infinite."""
    f = lambda a, b: (a.sqrt(), a * b, b.exp())
    g = torch.compile(f)
    for used in ((0,), (1,), (2,), (0, 2), (0, 1, 2), (2,), (1, 2)):
        results = []
        for function in (f, g):
            a = torch.tensor([0.0, 4.0], requires_grad=True)
            b = torch.tensor([2.0, 1000.0], requires_grad=True)
            out = function(a, b)
            sum(out[i].sum() for i in used).backward()
            results.append([a.grad, b.grad])
        assert equal(*results), used
    assert g.compiled.counts["replayed"] == 6


@pytest.mark.parametrize("backend", ["tensorlab", "aot_eager"])
def test_a_gradient_that_is_always_zero_is_none_if_its_result_is_not_used(backend):
    """A pass folds it to a constant, which depends on no tangent any more."""
    f = lambda a, b: (a.sin(), (b * 1).fill_(2.0), a * 3)
    g = torch.compile(f, backend=backend)
    for used in (0, 1, 0, 2):
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        g(a, b)[used].sum().backward()
        assert (a.grad is None, b.grad is None) == (used == 1, used != 1)


def test_gradients_flow_through_written_arguments():
    def f(a, b):
        a.mul_(b)
        return a.sin()

    def run(function):
        a, b = x.clone().requires_grad_(), y.clone().requires_grad_()
        work = a * 1
        out = function(work, b)
        (out.sum() + work.sum()).backward()
        return out.detach(), work.detach(), a.grad, b.grad

    g = torch.compile(f)
    expected = [run(f) for _ in range(3)]
    with pytest.warns(UserWarning, match="changes what autograd knows of"):
        found = [run(g) for _ in range(3)]
    assert equal(found, expected)


# views that are made without grad mode, of a tensor that is computed from what requires grad
VIEWS_WITHOUT_GRAD = {
    "of a result of an op": lambda b: [b[1:]],
    "of a view": lambda b: [b[1:][1:]],
    "one of several": lambda b: [b.chunk(2)[1]],
    "with its base": lambda b: [b[1:], b],
    "two": lambda b: [b[1:], b[:2]],
    "of no history": lambda b: [b.detach()[1:]],
    "and no longer followed": lambda b: [b[1:].detach()],
    "of what is computed there": lambda b: [(b + 1)[1:]],
}


@pytest.mark.parametrize("backend", ["tensorlab", "aot_eager", "eager"])
@pytest.mark.parametrize("name", VIEWS_WITHOUT_GRAD)
def test_a_view_made_under_no_grad_requires_grad_as_its_base_does(name, backend):
    def f(a):
        b = a * 2
        with torch.no_grad():
            return VIEWS_WITHOUT_GRAD[name](b)

    def g(a):
        b = a.sort()[0]
        with torch.no_grad():
            views = VIEWS_WITHOUT_GRAD[name](b)
        return [*views, views[0].view(-1), views[0] * 3]

    for function in (f, g):
        facts = []
        compiled = torch.compile(function, backend=backend)
        compiled(torch.arange(4.0, requires_grad=True))
        for one in (function, compiled):
            a = torch.arange(4.0, requires_grad=True)
            results = one(a)
            for out in results:
                if out.requires_grad:
                    out.sum().backward(retain_graph=True)
            assert not any(out.grad is not None for out in results if out.is_leaf)
            facts.append(a.grad if a.grad is None else a.grad.tolist())
            facts += [
                (out.tolist(), out.requires_grad, out.is_leaf, out.grad_fn is None)
                for out in results
            ]
        assert facts[: len(facts) // 2] == facts[len(facts) // 2 :]
        assert compiled.compiled.counts["replayed"] == 1


def test_a_view_made_under_no_grad_of_a_view_made_before():
    def f(a):
        part = (a * 2)[1:]
        with torch.no_grad():
            return part[1:]

    g = torch.compile(f)
    for _ in range(2):
        out = g(torch.ones(4, requires_grad=True))
        assert (out.tolist(), out.requires_grad, out.is_leaf) == ([2, 2], True, True)
    assert g.compiled.counts["replayed"] == 1


def test_a_view_of_what_gets_its_history_by_a_write_is_returned_with_its_base():
    def f(a):
        b = torch.zeros(4)
        b.add_(a)
        with torch.no_grad():
            return b[1:]

    g = torch.compile(f)
    for _ in range(2):
        out = g(torch.ones(4, requires_grad=True))
        assert (out.tolist(), out.requires_grad, out.is_leaf) == ([1, 1, 1], True, True)
    assert g.compiled.counts["replayed"] == 1


def without_grad(f, a):
    with torch.no_grad():
        return f(a)


@pytest.mark.parametrize(
    ("f", "requires_grad"),
    [
        (lambda a: without_grad(lambda a: (a * 2)[1:], a), True),
        (lambda a: without_grad(lambda a: (a * 2).detach()[1:], a), True),
        (lambda a: (a * 2)[1:], True),
        (lambda a: without_grad(lambda b: b.detach(), a * 2), True),
        (lambda a: without_grad(lambda b: b[1:], a * 2), False),
    ],
)
def test_other_views_are_returned_as_they_are(f, requires_grad):
    g, a = torch.compile(f), torch.ones(3, requires_grad=requires_grad)
    g(a)
    assert equal(g(a), f(a))
    assert g.compiled.counts["replayed"] == 1
    (entry,) = g.compiled.entries
    assert [one.views for one in entry.program.functional.results] == [()]


def test_saved_values_that_are_written_are_noticed():
    g = torch.compile(lambda a: a * a)
    for _ in range(2):
        a = x.clone().requires_grad_()
        work = a * 1
        out = g(work)
    work.add_(1)
    with pytest.raises(RuntimeError, match="version"):
        out.sum().backward()


def memory_of_backward(function, weights, **options):
    """The most bytes that are in use at once during backward, beyond those from before it."""
    for weight in weights:
        weight.grad = None
    out = function(torch.ones(64, 64), weights).sum()
    gc.collect()
    torch.reset_peak_memory_stats()
    before = torch.memory_stats()["allocated_bytes"]
    out.backward(**options)
    return torch.memory_stats()["peak_bytes"] - before


def test_backward_frees_what_it_has_read_unless_the_graph_is_kept():
    """Each product saves a matrix, and backward makes a gradient for each: the two must not add up."""
    weights, matrix = [torch.rand(64, 64, requires_grad=True) for _ in range(8)], 64 * 64 * 4

    def f(a, weights):
        for w in weights:
            a = torch.tanh(a @ w)
        return a

    g = torch.compile(f)
    memory_of_backward(g, weights)
    assert memory_of_backward(g, weights) <= memory_of_backward(f, weights) < 4 * matrix
    assert memory_of_backward(g, weights, retain_graph=True) > 8 * matrix


@pytest.mark.parametrize("backend", ["tensorlab", "eager"])
def test_a_graph_that_is_kept_can_be_gone_through_again(backend):
    leaf = torch.rand(3, requires_grad=True)
    g = torch.compile(lambda a: (a.sin() * a).sum(), backend=backend)
    for _ in range(2):
        leaf.grad = None
        out = g(leaf)
        out.backward(retain_graph=True)
        once = leaf.grad.clone()
        out.backward()
        assert equal(leaf.grad, 2 * once)
        with pytest.raises(RuntimeError, match="retain_graph=True to run it twice"):
            out.backward()


def test_hooks_and_retain_grad_on_arguments_and_results():
    g = torch.compile(lambda a: (a * 3).sin())
    seen = []
    for _ in range(3):
        a = x.clone().requires_grad_()
        a.register_hook(lambda grad: seen.append(grad.sum().item()))
        out = g(a)
        out.retain_grad()
        out.sum().backward()
        assert equal(out.grad, torch.ones_like(out))
    assert len(seen) == 3
    assert len(set(seen)) == 1


@pytest.mark.parametrize("recompute", [False, True])
def test_training_takes_the_same_steps(recompute):
    def make():
        torch.manual_seed(1)
        net = nn.Sequential(
            nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Dropout(0.2), nn.Linear(16, 3)
        )
        return net, torch.optim.AdamW(net.parameters(), lr=0.01)

    data, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))

    def train(compiled):
        net, optimizer = make()
        call = torch.compile(net, options={"recompute": recompute}) if compiled else net
        torch.manual_seed(2)
        losses = []
        for _ in range(10):
            loss = F.cross_entropy(call(data), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [one.detach() for one in net.parameters()]

    (mine, weights), (others, other_weights) = train(True), train(False)
    assert mine == pytest.approx(others, abs=1e-6)
    for a, b in zip(weights, other_weights, strict=True):
        assert torch.allclose(a, b, atol=1e-5)


@pytest.mark.parametrize("code", [True, False])
@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_whole_training_step_can_be_one_recording(name, code):
    data, labels = torch.randn(8, 6), torch.randint(0, 3, (8,))

    def train(compiled):
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.01)

        def step(inputs, targets):
            loss = F.cross_entropy(net(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        call = torch.compile(step, options={"code": code}) if compiled else step
        losses = [call(data, labels).item() for _ in range(10)]
        gradients = [one.grad for one in net.parameters()]
        return losses, [one.detach() for one in net.parameters()], gradients, call

    mine, others = train(True), train(False)
    # in generated code the sums of the bias's gradients have another order
    tolerance = 1e-5 if code else 0
    torch.testing.assert_close(mine[:3], others[:3], rtol=tolerance, atol=tolerance / 100)
    assert mine[3].compiled.counts["replayed"] >= 6


def test_the_option_recompute_saves_less():
    def f(a):
        for _ in range(4):
            a = (a * 2).sigmoid()
        return a

    a = torch.randn(5, requires_grad=True)
    saved = []
    for recompute in (False, True):
        g = torch.compile(f, options={"recompute": recompute})
        g(a)
        assert equal(
            torch.autograd.grad(g(a).sum(), a), torch.autograd.grad(f(a).sum(), a)
        )  # fmt: skip
        (entry,) = g.compiled.entries
        saved.append(len(entry.program.plans.forward.outputs))
    assert saved[0] > saved[1]


def test_without_a_backward_graph_autograd_records_the_calls(monkeypatch, capsys):
    def joint(*given):
        raise CannotCompile("no formula")

    monkeypatch.setattr(program, "joint", joint)
    logs.set_logs("graph")
    a = torch.randn(5, requires_grad=True)
    g = torch.compile(lambda a: (a * 2).exp())
    try:
        g(a)
    finally:
        logs.set_logs()
    assert "backward is not compiled: no formula" in capsys.readouterr().err
    assert equal(torch.autograd.grad(g(a).sum(), a), torch.autograd.grad((a * 2).exp().sum(), a))
    assert g.compiled.counts["replayed"] == 1


def test_a_node_of_no_call_can_be_called():
    node = CompiledFunctionBackward()
    with pytest.raises(GradientError, match="what it had saved was freed"):
        node(None)


def scale_real_part(a, b):
    z = torch.complex(a, b)
    z.real.mul_(2)
    return z.imag * z.real


def write_imaginary_part(a, b):
    z = torch.complex(a, b) * 1j
    z.imag.copy_(b * b)
    torch.view_as_real(z)[0].mul_(a.sum())
    return z.abs()


def add_to_a_column(a, b):
    z = (torch.complex(a, b).exp() * 1).reshape(1, 2)
    z[:, 0].mul_(z[:, 1].clone())
    return z.real


@pytest.mark.parametrize("code", [True, False])
@pytest.mark.parametrize("function", [scale_real_part, write_imaginary_part, add_to_a_column])
def test_a_write_to_a_part_of_complex_numbers_has_its_gradient(function, code):
    """A write through a view moves elements only: no conjugate belongs around its derivative."""
    found = []
    for one in (function, torch.compile(function, options={"code": code})):
        for _ in range(2):
            a = torch.tensor([0.3, 0.5], requires_grad=True)
            b = torch.tensor([0.7, -0.2], requires_grad=True)
            one(a, b).sum().backward()
        found.append((a.grad, b.grad))
    torch.testing.assert_close(found[1], found[0])
