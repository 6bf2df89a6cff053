"""Exercises of chapter 25, hooks and anomaly mode: three to practise. The hunts are in exercises_hunts.py."""

import tensorlab as torch
from tensorlab.learn import Exercise, Wrong, expect, require
from tensorlab.viz.hooks import read_hooks

IMPORTS = """
import warnings

import tensorlab as torch
"""


class WhatTheySee(Exercise):
    """What does each of them see?

    Three hooks note a number each. Which numbers? Replace each `None` before you run anything.

        x = torch.tensor(3.0, requires_grad=True)
        x.grad = torch.tensor(10.0)
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
        "Once, with 1 + 1. It returns 4, and that is before the prehook.",
        "The node of `x * x` has two edges to `x`. The hook of `x` is called once, after both "
        "gradients have arrived.",
    ]
    solution = """
        prehook = 4.0
        leaf_hook = 24.0
        accumulated = 34.0
    """
    reason = """
        2 arrives at `y`, the tensor hook turns it into 4, and the prehook comes after that. The node sends
        4 · 3 along each of its two edges, so the sum is 24. The leaf adds it to the 10 that was there.
    """
    wrong = [
        Wrong(
            "prehook = 2.0\nleaf_hook = 24.0\naccumulated = 34.0",
            says="before the prehook sees",
            why="That is the gradient as it arrives, but tensor hooks come first.",
        ),
        Wrong(
            "prehook = 4.0\nleaf_hook = 12.0\naccumulated = 34.0",
            says="one of two edges",
            why="`x * x` has two edges to `x`, and a hook sees the sum.",
        ),
        Wrong(
            "prehook = 4.0\nleaf_hook = 24.0\naccumulated = 24.0",
            says="were there already",
            why="`.grad` accumulates, as the name of the hook says.",
        ),
    ]

    def check(prehook, leaf_hook, accumulated):
        seen = {}
        x = torch.tensor(3.0, requires_grad=True)
        x.grad = torch.tensor(10.0)
        y = x * x
        y.register_hook(lambda gradient: gradient * 2)
        y.grad_fn.register_prehook(lambda gradients: seen.update(prehook=gradients[0].item()))
        x.register_hook(lambda gradient: seen.update(leaf_hook=gradient.item()))
        x.register_post_accumulate_grad_hook(lambda x: seen.update(accumulated=x.grad.item()))
        (y + y).backward()
        require(prehook != 2.0, "The tensor hook doubles it before the prehook sees it.")
        require(leaf_hook != 12.0, "That comes along one of two edges.")
        require(accumulated != 24.0, "The 10 from before were there already.")
        expect(prehook, seen["prehook"], "what the prehook sees")
        expect(leaf_hook, seen["leaf_hook"], "what the hook of x sees")
        expect(accumulated, seen["accumulated"], "x.grad in the post-accumulate hook")


class SavedBytes(Exercise):
    """How much does forward keep?

    Write `saved_bytes(run, leaves)`: it calls `run()` once and returns how many bytes of memory the graph keeps
    for backward. If the same memory is saved several times, or through several views, it counts once, and as a whole.
    The memory of the `leaves`, a list of tensors, exists anyway, so it doesn't count.
    """

    kind = "implement"
    idea = "What forward keeps"
    beside = "the check looks at the graph that the answer records"
    stub = """
        def saved_bytes(run, leaves):
            run()
            return 0  # not yet
    """
    hints = [
        "Put `torch.autograd.graph.saved_tensors_hooks(pack, unpack)` around `run()`. What does `pack` get, and "
        "what must it return?",
        "Two tensors look at the same memory if `t.untyped_storage().data_ptr()` is the same number. The storage "
        "knows its `nbytes()`.",
        "Keep a dict from that number to the bytes, leave out the numbers of the leaves, and add up the values. "
        "Hold the result of `run()` until then, because memory that is freed may be used again.",
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

            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                result = run()  # alive until we have counted
            return sum(sizes.values())
    """
    reason = """
        What is kept is memory, so count storages and not tensors. A view keeps the whole memory of its base alive,
        however small the view is. This function is the first thing to write when a network doesn't fit.
    """
    wrong = [
        Wrong(
            """
            def saved_bytes(run, leaves):
                seen = []

                def pack(tensor):
                    seen.append(tensor.nbytes)
                    return tensor

                with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                    run()
                return sum(seen)
            """,
            says="twice, or a leaf",
            why="Each saved tensor counts here, even if another one looks at the same memory.",
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

                with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
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
                before = torch.memory_stats()["allocated_bytes"]
                result = run()
                return torch.memory_stats()["allocated_bytes"] - before
            """,
            says="nothing but the result",
            why="This also counts the result of `run()`, and what the allocator adds by rounding up.",
        ),
    ]

    def check(saved_bytes):
        n = torch.randint(500, 2000, ()).item()
        x, w = (torch.rand(n, requires_grad=True) for _ in "xw")
        double = torch.rand(n, dtype=torch.float64, requires_grad=True)
        about = f"with x of {n} float32:"
        kept = saved_bytes(lambda: x + 1, [x])
        expect(kept, 0, "x + 1, which keeps nothing but the result")
        expect(saved_bytes(lambda: x.exp(), [x]), 4 * n, f"{about} x.exp(), which saves its result")

        def fourth_power():
            y = x * x
            return y * y

        came = saved_bytes(fourth_power, [x])
        require(
            came == 4 * n,
            f"{about} y = x * x, then y * y: {came} bytes; {4 * n} is right. Is something counted twice, or a leaf?",
        )

        def two_ends():
            y = x + 1
            return y[:100] * y[-100:]

        came = saved_bytes(two_ends, [x])
        require(
            came == 4 * n,
            "Two ends of one tensor: each keeps the whole of its memory, counted once.",
        )
        came = saved_bytes(lambda: x[10:20] * x[20:30], [x])
        expect(came, 0, "two slices of a leaf")
        came = saved_bytes(lambda: x[10:20] * w[20:30], [w])
        expect(came, 4 * n, f"{about} slices of x and w, where only w is among the leaves")
        came = saved_bytes(lambda: x.exp() * w.exp(), [x, w])
        expect(came, 8 * n, f"{about} x.exp() * w.exp(), which saves both results")
        came = saved_bytes(lambda: double.sin() * double, [x, double])
        expect(came, 8 * n, f"d.sin() * d for a leaf d of {n} float64")
        runs = []
        saved_bytes(lambda: runs.append(x.exp()), [x])
        expect(len(runs), 1, "how often run() is called")


class FirstNan(Exercise):
    """The NaN hunt, by hand

    Write `first_nan(loss)`: it calls `loss.backward()` and returns the name of the first node, in the order
    of the pass, that *made* a NaN, which means that it sends one out. If there is none, it returns `None`. The pass
    itself must go on to its end, so don't use anomaly mode. Remove your hooks afterwards. A graph may be 10 000 nodes
    deep.
    """

    kind = "extend"
    idea = "Anomaly mode: the NaN"
    beside = "the check looks at the graph that the answer records"
    stub = """
        def first_nan(loss):
            loss.backward()
            return None  # not yet
    """
    hints = [
        "You can reach every node from `loss.grad_fn` through `next_functions`, a tuple of (node or None, number). "
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
        A NaN that goes out of a node was either made there or came in. The first node of the pass that sends
        one out can't have got it from another node. Anomaly mode does the same inside the engine, and also
        remembers lines.
    """
    wrong = [
        Wrong(
            """
            def first_nan(loss):
                try:
                    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        loss.backward()
                except RuntimeError as error:
                    return str(error).split("'")[1]
                return None
            """,
            says="did not reach x",
            why="Anomaly mode ends the pass with its error, so `x` gets no gradient.",
        ),
        Wrong(
            """
            def first_nan(loss):
                found, nodes, stack = [], set(), [loss.grad_fn]
                while stack:
                    node = stack.pop()
                    if node is None or node in nodes:
                        continue
                    nodes.add(node)
                    stack += [child for child, _ in node.next_functions]

                    def hook(gone_out, come_in, node=node):
                        if not all(g is None or g.isfinite().all() for g in gone_out):
                            found.append(node.name())

                    node.register_hook(hook)
                loss.backward()
                return found[0] if found else None
            """,
            says="is infinite, not NaN",
            why="Infinity is a legal result, and it may come before the NaN.",
        ),
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
            why="A prehook sees what comes *in*, so this names the node after the culprit.",
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
            why="This is right for small graphs. But it makes one call inside the other for each node, which is too "
            "many for Python, and a node with several paths to it gets several hooks.",
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
            why="This follows only the first edge of each node.",
        ),
    ]

    def check(first_nan):
        x = torch.tensor([0.0, 4.0], requires_grad=True)
        c = torch.tensor([0.0, 1.0])
        expect(first_nan((x * 2).exp().sum()), None, "a loss without NaN")
        expect(x.grad, 2 * (x * 2).exp().detach(), "x.grad after a loss without NaN")
        x.grad = None
        came = first_nan((x.sqrt() * c).exp().sum())
        require(
            came != "AccumulateGrad", "This is the node that received it, not the one that made it."
        )
        expect(came, "SqrtBackward0", "the culprit in (x.sqrt() * c).exp().sum()")
        require(x.grad is not None, "The pass did not reach x: x.grad is still None.")
        came = first_nan(x.sqrt().sum())
        require(
            came is None, f"x.sqrt().sum(): the slope at 0 is infinite, not NaN, but {came} came."
        )
        came = first_nan((x * c).sqrt().sum())
        expect(came, "MulBackward0", "(x * c).sqrt().sum(), where the product makes inf * 0")
        y = x * 1
        came = first_nan((y.exp() + (y.sqrt() * c).tanh()).sum())
        require(came == "SqrtBackward0", f"{came} got it: the NaN was made on another branch.")
        makers = {
            "SqrtBackward0": torch.sqrt,
            "LogBackward0": torch.log,
            "PowBackward0": half_power,
        }
        names = [list(makers)[i] for i in torch.randperm(3)]
        y = x * 1
        loss = sum((makers[name](y) * c).sum() for name in names)
        about = f"three branches make a NaN, and {names[2]} was recorded last"
        expect(first_nan(loss), names[2], about)
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


def half_power(x):
    return x**0.5
