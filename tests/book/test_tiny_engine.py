"""The small engine of chapter 18, and that it predicts the real one."""

import importlib.util
from pathlib import Path

import tensorlab as T

CHAPTER = Path(__file__).resolve().parents[2] / "chapters/18-the-engine"


def load(name):
    spec = importlib.util.spec_from_file_location(name, CHAPTER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tiny = load("tiny_engine")


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
    x = T.tensor([1.0, 2.0], requires_grad=True)
    a = x * x
    b = a * 3
    c = a + x
    d = b * c
    runs = []
    for name, tensor in {"x": x, "a": a, "b": b, "c": c, "d": d}.items():
        tensor.register_hook(lambda grad, name=name: runs.append(name))
    names = {a.grad_fn: "a", b.grad_fn: "b", c.grad_fn: "c", d.grad_fn: "d"}
    predicted = [names.get(node, "x") for node, _, _ in tiny.steps(d.grad_fn)]
    d.backward(T.ones(2))
    assert runs == predicted == ["d", "c", "b", "a", "x"]
