"""The small engine that grows through chapters 18, 20 and 21, and that it does what the real one does."""

import importlib.util
import inspect
import random
import sys
from pathlib import Path

import pytest

import tensorlab as torch

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"


def load(path):
    spec = importlib.util.spec_from_file_location(Path(path).stem, CHAPTERS / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that inspect finds its source
    spec.loader.exec_module(module)
    return module


tiny = load("18-the-engine/tiny_engine.py")
versions = load("20-version-counters/tiny_versions.py")
views = load("21-views-and-in-place/tiny_views.py")


def doubled(n):
    """Return the nodes of x, 2x, 4x, ...: each is the sum of the one before and itself."""
    nodes = [tiny.Node("x")]
    for i in range(n):
        nodes.append(tiny.Node(f"sum {i}", (nodes[-1], 1.0), (nodes[-1], 1.0)))
    return nodes


def test_counts_are_the_edges_that_arrive():
    nodes = doubled(3)
    assert list(tiny.count(nodes[-1]).values()) == [0, 2, 2, 2]
    unused = tiny.Node("unused", (nodes[1], 1.0))
    assert unused not in tiny.count(nodes[-1])
    assert tiny.count(nodes[-1])[nodes[1]] == 2


def test_each_node_runs_once_however_many_paths_lead_to_it():
    nodes = doubled(40)
    assert len(list(tiny.steps(nodes[-1]))) == 41
    tiny.backward(nodes[-1])
    assert nodes[0].grad == 2.0**40


def test_gradients_of_a_diamond():
    x = 2.0
    leaf = tiny.Node("x")
    a = tiny.Node("a = x * x", (leaf, x), (leaf, x))
    b = tiny.Node("b = 3 * a", (a, 3.0))
    c = tiny.Node("c = a + x", (a, 1.0), (leaf, 1.0))
    d = tiny.Node("d = b * c", (b, x * x + x), (c, 3 * x * x))
    tiny.backward(d)
    assert leaf.grad == 12 * x**3 + 9 * x**2


def test_a_deep_chain_needs_no_stack():
    node = first = tiny.Node("x")
    for i in range(20_000):
        node = tiny.Node(i, (node, 1.0))
    tiny.backward(node)
    assert first.grad == 1.0


def test_the_steps_are_those_of_the_real_engine():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a = x * x
    b = a * 3
    c = a + x
    d = b * c
    runs = []
    for name, tensor in {"x": x, "a": a, "b": b, "c": c, "d": d}.items():
        tensor.register_hook(lambda grad, name=name: runs.append(name))
    names = {a.grad_fn: "a", b.grad_fn: "b", c.grad_fn: "c", d.grad_fn: "d"}
    predicted = [names.get(node, "x") for node, _, _ in tiny.steps(d.grad_fn)]
    d.backward(torch.ones(2))
    assert runs == predicted == ["d", "c", "b", "a", "x"]


# ---------------------------------------------------------------- chapter 20
def test_each_stage_takes_over_what_does_not_change():
    for name in ("count", "steps"):
        text = inspect.getsource(getattr(tiny, name))
        assert inspect.getsource(getattr(versions, name)) == text
    for name in ("Node", "count", "steps", "backward", "Counter", "Saved", "times", "same"):
        text = inspect.getsource(getattr(versions, name))
        assert inspect.getsource(getattr(views, name)) == text


WRITES = {
    "detach": lambda y, zeros: y.detach().write_(zeros),
    "data": lambda y, zeros: y.data.write_(zeros),
    "itself": lambda y, zeros: y.write_(zeros),
    "nothing": lambda y, zeros: None,
}
REAL_WRITES = {
    "detach": lambda y: y.detach().zero_(),
    "data": lambda y: y.data.zero_(),
    "itself": lambda y: y.detach().zero_(),
    "nothing": lambda y: None,
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("combine", [lambda y: y * y, lambda y: y + y])
def test_a_write_is_noticed_where_the_real_engine_notices_it(write, combine):
    def ours():
        x = versions.Tensor([1.0, 2.0])
        y = x + versions.Tensor([0.0, 0.0])
        z = combine(y)
        WRITES[write](y, [0.0, 0.0])
        versions.backward(z.node, [1.0, 1.0])
        return x.node.grad

    def theirs():
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        y = x + 0
        z = combine(y)
        REAL_WRITES[write](y)
        z.sum().backward()
        return x.grad.tolist()

    def ending(program):
        try:
            return program()
        except RuntimeError:
            return "an error"

    assert ending(ours) == ending(theirs)


def test_a_product_in_place_has_the_gradient_of_the_product():
    x, f = versions.Tensor([2.0, 3.0]), versions.Tensor([5.0, 7.0])
    y = x + versions.Tensor([0.0, 0.0])
    assert y.mul_(f).values == [10.0, 21.0]
    assert y.counter.version == 1
    versions.backward(y.node, [1.0, 1.0])
    assert (x.node.grad, f.node.grad) == ([5.0, 7.0], [2.0, 3.0])


def test_a_product_in_place_that_raises_changes_nothing():
    y = versions.Tensor([2.0, 3.0])
    node = y.node
    with pytest.raises(ValueError, match="3 factors for 2"):
        y.mul_(versions.Tensor([1.0, 1.0, 1.0]))
    assert (y.values, y.counter.version, y.node) == ([2.0, 3.0], 0, node)


# ---------------------------------------------------------------- chapter 21
def random_writes(rng):
    """Return (start, stop, step) of some views, and writes: (view, factor, or 0 for a square)."""
    spans = []
    for _ in range(rng.randint(2, 4)):
        start, stop = sorted(rng.sample(range(7), 2))
        spans.append(slice(start, stop, rng.choice([1, 2])))
    return spans, [(rng.randrange(len(spans)), rng.choice([0, 2, 3])) for _ in range(4)]


@pytest.mark.parametrize("seed", range(20))
def test_writes_through_views_have_the_gradients_of_the_real_engine(seed):
    spans, writes = random_writes(random.Random(seed))
    numbers = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    x = views.Tensor(list(numbers))
    leaf, seen = x.node, [x[span] for span in spans]
    real_x = torch.tensor(numbers, dtype=torch.float64, requires_grad=True)
    y = real_x * 1
    real = [y[span] for span in spans]
    for view, factor in writes:
        if factor:
            seen[view].change_(lambda v, f=factor: f * v, lambda v, f=factor: f)
            real[view].mul_(factor)
        else:
            seen[view].change_(lambda v: v * v, lambda v: 2 * v)
            real[view].square_()
    assert x.values == y.tolist()
    for ours, theirs in zip([x, *seen], [y, *real], strict=True):
        assert ours.values == theirs.tolist()
        views.backward(ours.grad_fn(), [1.0] * len(ours.values))
        (grad,) = torch.autograd.grad(theirs.sum(), real_x, retain_graph=True)
        assert leaf.grad == grad.tolist()


def test_a_view_of_a_view_has_the_same_base_and_only_a_stale_view_gets_a_new_node():
    y = views.Tensor([1.0, 2.0, 3.0, 4.0])
    left = y[:3]
    part, other = left[1:], y[2:]
    assert part.base is left.base is y
    assert list(part.places) == [1, 2]
    node = other.grad_fn()
    assert other.grad_fn() is node
    part.change_(lambda v: 10 * v, lambda v: 10)
    assert other.grad_fn() is not node
    assert other.grad_fn() is other.grad_fn()


def test_a_product_of_views_notices_a_write_through_another_view():
    y = views.Tensor([1.0, 2.0, 3.0])
    product = y[:2] * y[1:]
    y[2:].change_(lambda v: 10 * v, lambda v: 10)
    with pytest.raises(RuntimeError, match="at version 1, but saved at 0"):
        views.backward(product.grad_fn(), [1.0, 1.0])
