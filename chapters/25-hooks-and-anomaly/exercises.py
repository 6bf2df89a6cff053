"""Exercises of chapter 25, hooks and anomaly mode: three to practise. The hunts are in exercises_hunts.py."""

import tensorlab as T
from tensorlab.learn import Exercise, Wrong, expect, require
from tensorlab.viz.hooks import read_hooks

IMPORTS = """
import warnings

import tensorlab as T
"""


class WhatTheySee(Exercise):
    """What does each of them see?

    Three hooks note a number. Which? Replace each `None` before you run anything.

        x = T.tensor(3.0, requires_grad=True)
        x.grad = T.tensor(10.0)
        y = x * x
        y.register_hook(lambda gradient: gradient * 2)
        y.grad_fn.register_prehook(...)  # notes gradients[0]: prehook
        x.register_hook(...)  # notes its gradient: leaf_hook
        x.register_post_accumulate_grad_hook(...)  # notes x.grad: accumulated
        (y + y).backward()
    """

    kind = "warm-up"
    idea = "Five places"
    stub = """
        prehook = None
        leaf_hook = None
        accumulated = None
    """
    hints = [
        "`y` is used twice. Is its hook called once or twice, and with what?",
        "Once, with 1 + 1. It makes 4 of that, before the prehook.",
        "The node of `x * x` has two edges to `x`. The hook of `x` is called once, after both "
        "gradients came.",
    ]
    solution = """
        prehook = 4.0
        leaf_hook = 24.0
        accumulated = 34.0
    """
    reason = """
        2 arrives at `y`, the tensor hook makes it 4, and the prehook comes after that. The node passes
        4 · 3 along each of two edges: the sum is 24. The leaf adds it to the 10 that were there.
    """
    wrong = [
        Wrong(
            "prehook = 2.0\nleaf_hook = 24.0\naccumulated = 34.0",
            says="before the prehook",
            why="The gradient as it arrives. Tensor hooks come first.",
        ),
        Wrong(
            "prehook = 4.0\nleaf_hook = 12.0\naccumulated = 34.0",
            says="one of two edges",
            why="`x * x` has two edges to `x`, and a hook sees the sum.",
        ),
        Wrong(
            "prehook = 4.0\nleaf_hook = 24.0\naccumulated = 24.0",
            says="were there already",
            why="`.grad` accumulates. That is what the name of the hook says.",
        ),
    ]

    def check(prehook, leaf_hook, accumulated):
        seen = {}
        x = T.tensor(3.0, requires_grad=True)
        x.grad = T.tensor(10.0)
        y = x * x
        y.register_hook(lambda gradient: gradient * 2)
        y.grad_fn.register_prehook(lambda gradients: seen.update(prehook=gradients[0].item()))
        x.register_hook(lambda gradient: seen.update(leaf_hook=gradient.item()))
        x.register_post_accumulate_grad_hook(lambda x: seen.update(accumulated=x.grad.item()))
        (y + y).backward()
        require(prehook != 2.0, "The tensor hook has doubled it before the prehook.")
        require(leaf_hook != 12.0, "That comes along one of two edges.")
        require(accumulated != 24.0, "10 were there already.")
        expect(prehook, seen["prehook"], "what the prehook sees")
        expect(leaf_hook, seen["leaf_hook"], "what the hook of x sees")
        expect(accumulated, seen["accumulated"], "x.grad in the post-accumulate hook")


class SavedBytes(Exercise):
    """How much does forward keep?

    Write `saved_bytes(run, leaves)`: it calls `run()` and returns how many bytes of memory the graph keeps
    for backward. Memory that is saved several times, or through several views, counts once, and as a whole;
    the memory of the `leaves`, a list of tensors, is there anyway and does not count.
    """

    kind = "implement"
    idea = "What forward keeps"
    stub = """
        def saved_bytes(run, leaves):
            run()
            return 0  # not yet
    """
    hints = [
        "`T.autograd.graph.saved_tensors_hooks(pack, unpack)` around `run()`: what is `pack` "
        "given, and what must "
        "it return?",
        "Two tensors look at the same memory if `t.untyped_storage().data_ptr()` is the same "
        "number. The storage "
        "knows its `nbytes()`.",
        "Keep a dict from that number to the bytes, leave out the numbers of the leaves, and add "
        "up the values. "
        "Hold the result of `run()` meanwhile: memory that is freed may be used again.",
    ]
    solution = """
        def saved_bytes(run, leaves):
            known = {leaf.untyped_storage().data_ptr() for leaf in leaves}
            sizes = {}

            def pack(tensor):
                storage = tensor.untyped_storage()
                if storage.data_ptr() not in known:
                    sizes[storage.data_ptr()] = storage.nbytes()
                return tensor

            with T.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                result = run()  # alive until we have counted
            return sum(sizes.values())
    """
    reason = """
        What is kept is memory, so count storages and not tensors. A view keeps all of its base alive,
        however small it is. This function is the first thing to write when a network does not fit.
    """
    wrong = [
        Wrong(
            """
            def saved_bytes(run, leaves):
                seen = []

                def pack(tensor):
                    seen.append(tensor.nbytes)
                    return tensor

                with T.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                    run()
                return sum(seen)
            """,
            says="twice, or a leaf",
            why="Each saved tensor is counted, whosever memory it looks at.",
        ),
        Wrong(
            """
            def saved_bytes(run, leaves):
                known = {leaf.data_ptr() for leaf in leaves}
                sizes = {}

                def pack(tensor):
                    if tensor.data_ptr() not in known:
                        sizes[tensor.data_ptr()] = tensor.nbytes
                    return tensor

                with T.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                    result = run()
                return sum(sizes.values())
            """,
            says="keeps the whole",
            why="`data_ptr()` of a tensor is the place of its first element, and a view may begin "
            "anywhere.",
        ),
        Wrong(
            """
            def saved_bytes(run, leaves):
                before = T.memory_stats()["allocated_bytes"]
                result = run()
                return T.memory_stats()["allocated_bytes"] - before
            """,
            says="nothing but the result",
            why="This counts the result of `run()` as well, and what the allocator adds to round up.",
        ),
    ]

    def check(saved_bytes):
        x = T.ones(1000, requires_grad=True)
        expect(saved_bytes(lambda: x + 1, [x]), 0, "x + 1, which keeps nothing but the result")
        expect(saved_bytes(lambda: x.exp(), [x]), 4000, "x.exp(), which saves its result")
        about = "(x * x) * (x * x), with y = x * x saved twice"

        def fourth_power():
            y = x * x
            return y * y

        came = saved_bytes(fourth_power, [x])
        require(came == 4000, f"{about}: {came} bytes. Is something counted twice, or a leaf?")

        def two_ends():
            y = x + 1
            return y[:100] * y[900:]

        came = saved_bytes(two_ends, [x])
        require(came == 4000, "Two ends of one tensor: each keeps the whole of its memory, once.")
        came = saved_bytes(lambda: x[10:20] * x[20:30], [x])
        expect(came, 0, "two slices of a leaf")


class FirstNan(Exercise):
    """The NaN hunt, by hand

    Write `first_nan(loss)`: it calls `loss.backward()` and returns the name of the first node, in the order
    of the pass, that *made* a NaN: one is among the gradients that it sends out. If there is none, `None`.
    Do without anomaly mode, and take your hooks away again. A graph may be 10 000 nodes deep.
    """

    kind = "extend"
    idea = "Anomaly mode: the NaN"
    stub = """
        def first_nan(loss):
            loss.backward()
            return None  # not yet
    """
    hints = [
        "Every node can be reached from `loss.grad_fn` through `next_functions`, a tuple of (node "
        "or None, number). "
        "Keep a list of nodes still to visit, and a set of those that you have seen.",
        "`node.register_hook(hook)` calls `hook(gone_out, come_in)` after the node has run; "
        "entries may be `None`.",
        "Append `node.name()` to a list if some `g.isnan().any()` in `gone_out`. The first in the "
        "list is the answer.",
    ]
    solution = """
        def first_nan(loss):
            found = []

            def watch(node):
                def hook(gone_out, come_in):
                    if any(g is not None and g.isnan().any().item() for g in gone_out):
                        found.append(node.name())

                return node.register_hook(hook)

            nodes, stack = set(), [loss.grad_fn]
            while stack:
                node = stack.pop()
                if node is not None and node not in nodes:
                    nodes.add(node)
                    stack += [child for child, _ in node.next_functions]
            handles = [watch(node) for node in nodes]
            try:
                loss.backward()
            finally:
                for handle in handles:
                    handle.remove()
            return found[0] if found else None
    """
    reason = """
        A NaN that goes out of a node is made there, or has come in. The first node of the pass that sends
        one out cannot have got it from another. Anomaly mode does the same inside the engine, and remembers
        lines besides.
    """
    wrong = [
        Wrong(
            """
            def first_nan(loss):
                found, stack = [], [loss.grad_fn]
                while stack:
                    node = stack.pop()
                    if node is not None:
                        name = node.name()
                        node.register_prehook(
                            lambda grads, name=name: found.append(name)
                            if any(g is not None and g.isnan().any().item() for g in grads)
                            else None
                        )
                        stack += [child for child, _ in node.next_functions]
                loss.backward()
                return found[0] if found else None
            """,
            says="that received it",
            why="A prehook sees what comes *in*: the node after the culprit.",
        ),
        Wrong(
            """
            def first_nan(loss):
                found = []

                def watch(node):
                    if node is None:
                        return
                    node.register_hook(
                        lambda out, _: found.append(node.name())
                        if any(g is not None and g.isnan().any().item() for g in out)
                        else None
                    )
                    for child, _ in node.next_functions:
                        watch(child)

                watch(loss.grad_fn)
                loss.backward()
                return found[0] if found else None
            """,
            says="RecursionError",
            why="Right for small graphs. One call for each node, one inside the other, is too many for"
            " Python; and a node "
            "with several paths to it gets several hooks.",
        ),
        Wrong(
            """
            def first_nan(loss):
                nodes, node = [], loss.grad_fn
                while node is not None:
                    nodes.append(node)
                    node = node.next_functions[0][0] if node.next_functions else None
                found = []
                for node in nodes:
                    node.register_hook(
                        lambda out, _, node=node: found.append(node.name())
                        if any(g is not None and g.isnan().any().item() for g in out)
                        else None
                    )
                loss.backward()
                return found[0] if found else None
            """,
            says="on another branch",
            why="This follows the first edge of each node only.",
        ),
    ]

    def check(first_nan):
        x = T.tensor([0.0, 4.0], requires_grad=True)
        expect(first_nan((x * 2).exp().sum()), None, "a loss without NaN")
        came = first_nan((x.sqrt() * T.tensor([0.0, 1.0])).exp().sum())
        require(
            came != "AccumulateGrad", "This is the node that received it, not the one that made it."
        )
        expect(came, "SqrtBackward0", "the culprit in (x.sqrt() * c).exp().sum()")
        y = x * 1
        came = first_nan((y.exp() + (y.sqrt() * T.tensor([0.0, 1.0])).tanh()).sum())
        require(came == "SqrtBackward0", f"{came} got it: the NaN was made on another branch.")
        y = x * 1
        for _ in range(10_000):
            y = y + 0.001
        expect(first_nan(y.sum()), None, "a chain of 10 000 nodes")
        y = x * 1
        loss = y.sum()
        first_nan(loss)
        left = [*read_hooks(loss.grad_fn, []), *read_hooks(y.grad_fn, [])]
        require(not left, f"After the call these hooks are still there: {', '.join(left)}.")
        y = x * 1
        for _ in range(40):
            y = y + y
        expect(first_nan(y.sum()), None, "a graph of 40 sums with two edges each, and 2**40 paths")
