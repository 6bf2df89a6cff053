"""Exercises of chapter 18, the engine."""

import random
import sys

from tiny_engine import Node, backward, count, steps

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
from tiny_engine import Node, backward, count, steps
"""
FILES = ["tiny_engine.py"]


class CountsByHand(Exercise):
    """How many gradients does each node wait for?

    Each of `w`, `z`, `y` and `x` has a node. When you call `w.backward()`, how many gradients from other nodes
    does each of them wait for? Draw the graph first, with one arrow for each time a number is used. Then
    replace each `None`.

        y = x * x
        z = y * x
        w = z * y
    """

    kind = "warm-up"
    idea = "Counting"
    stub = """
        waits = {"w": None, "z": None, "y": None, "x": None}
    """
    hints = [
        "An edge leads from the node of each product to the node of each of its two factors. How many "
        "edges are there in all?",
        "Six. Each of the four counts is the number of arrows that *arrive*; together they make six.",
        "Nothing inside the pass points to `w`, and `z` is used once.",
    ]
    solution = """
        waits = {"w": 0, "z": 1, "y": 2, "x": 3}
    """
    reason = """
        `w` is the root: nothing inside the pass points to it, and its gradient comes from outside. `z` is
        used by `w`, `y` by `z` and `w`, and `x` once by `z` and *twice* by `y`.
    """
    wrong = [
        Wrong(
            'waits = {"w": 0, "z": 1, "y": 2, "x": 2}',
            says="edges, not ops",
            why="This counts the ops that used `x`. The engine counts edges, and `x * x` has two.",
        ),
        Wrong(
            'waits = {"w": 1, "z": 1, "y": 2, "x": 3}',
            says="waits for nothing",
            why="The root's gradient is given to it before the pass begins, so it need not wait.",
        ),
        Wrong(
            'waits = {"w": 2, "z": 2, "y": 2, "x": 0}',
            says="point away",
            why="These are the arrows that leave each node. A node waits for those that arrive.",
        ),
    ]

    def check(waits):
        x = torch.tensor(2.0, requires_grad=True)
        y = x * x
        z = y * x
        w = z * y
        leaf = y.grad_fn.next_functions[0][0]
        names = {w.grad_fn: "w", z.grad_fn: "z", y.grad_fn: "y", leaf: "x"}
        truth = {names[node]: waiting for node, waiting in count(w.grad_fn).items()}
        leaving = {"w": 2, "z": 2, "y": 2, "x": 0}
        require(waits != leaving, "You counted the edges that point away from a node.")
        require(waits.get("w") in (0, None), "The root, w, waits for nothing inside the pass.")
        require(waits.get("x") != 2, "Count edges, not ops: x * x has two edges to x.")
        expect(sorted(waits), sorted(truth), "the names in waits")
        for name, waiting in truth.items():
            expect(waits[name], waiting, f"how many gradients the node of {name} waits for")


def compare_needed(needed, root, targets, graph):
    """Compare an answer to 18.2 with the truth, and say what it mistakes."""
    leads = set(targets)
    before = -1
    while len(leads) != before:
        before = len(leads)
        leads |= {n for n in count(root) if any(child in leads for child, _ in n.next_functions)}
    given = list(targets)
    came = set(needed(root, targets))
    require(targets == given, "needed() changed the list of targets that it was given.")

    def names(nodes):
        return " and ".join(sorted(node.name for node in nodes))

    asked = f"with the targets {names(targets)} in {graph}"
    absent, missing = set(targets) - came, leads - came
    require(not absent, f"Missing: {names(absent)}. The targets themselves are needed, {asked}.")
    near = {n for n in missing if any(child in targets for child, _ in n.next_functions)}
    require(not near, f"Missing: {names(near)}, which points straight to a target, {asked}.")
    require(
        not missing, f"Missing: {names(missing)}, more than one step away from a target, {asked}."
    )
    extra = came - leads
    beyond = extra - set(count(root))
    require(not beyond, f"{names(beyond)} cannot be reached from the root, {asked}.")
    require(not extra, f"Not needed, as it can lead to no target: {names(extra)}, {asked}.")


class Needed(Exercise):
    """Which nodes have to run?

    With `inputs=`, nodes that lead to none of the inputs are left out. Write `needed(root, targets)` for
    the small engine. It returns a set: of all nodes that can be reached from the root, those from which a
    target can be reached, the targets included. Every target can be reached from the root. Don't recurse,
    because a graph may be deep, and don't follow every path, because there may be millions.
    """

    kind = "implement"
    idea = "inputs="
    beside = "answer and check walk over the same graph"
    stub = """
        def needed(root, targets):
            return set(targets)  # not yet
    """
    hints = [
        "A node is needed if one of the nodes it points to is. In which order must you look at the nodes, "
        "so that those it points to are judged already?",
        "`steps(root)` yields `(node, dependencies, ready)` in an order in which each node comes before all "
        "the nodes that it points to. The reverse is the order you want.",
        "Put the nodes of `steps(root)` in a list, go through it with `reversed`, and add a node where "
        "`any(target in found for target, _ in node.next_functions)`.",
    ]
    solution = """
        def needed(root, targets):
            order = [node for node, _, _ in steps(root)]
            found = set(targets)
            for node in reversed(order):  # what a node points to comes before it
                if any(next_node in found for next_node, _ in node.next_functions):
                    found.add(node)
            return found
    """
    reason = """
        `steps` yields a node before the nodes that it points to. In reverse order, a node's inputs are decided
        before the node itself, so one look at each edge is enough.
    """
    wrong = [
        Wrong(
            """
            def needed(root, targets):
                order = [node for node, _, _ in steps(root)]
                found = set(targets)
                for node in reversed(order):
                    if any(next_node in found for next_node, _ in node.next_functions):
                        found.add(node)
                return found - set(targets)
            """,
            says="targets themselves are needed",
            why="A target's own node must run, too: its hooks are called, and `.grad` is filled there.",
        ),
        Wrong(
            "def needed(root, targets):\n    return set(count(root))",
            says="lead to no target",
            why="This keeps every node that can be reached from the root. That is `count`, and it keeps "
            "`right` when you ask for `p` alone.",
        ),
        Wrong(
            """
            def needed(root, targets):
                found = set(targets)
                for node in count(root):
                    if any(next_node in targets for next_node, _ in node.next_functions):
                        found.add(node)
                return found
            """,
            says="more than one step away",
            why="This finds what points to a target directly, and not what points to that.",
        ),
        Wrong(
            """
            def needed(root, targets):
                def leads(node):
                    return node in targets or any([leads(n) for n, _ in node.next_functions])

                return {node for node in count(root) if leads(node)}
            """,
            says="RecursionError",
            why="Right for small graphs; a deep one overflows Python's stack, and a wide one takes as many "
            "steps as there are paths.",
        ),
    ]

    def check(needed):
        p, q = Node("p"), Node("q")
        left, right = Node("left", (p, 2.0)), Node("right", (q, 3.0))
        top = Node("top", (left, 1.0), (right, 1.0))
        Node("unused", (p, 1.0))  # leads to p, but the root does not lead to it
        for targets in ([p], [right], [p, q], [left, p]):
            compare_needed(needed, top, targets, "top → left → p, top → right → q")
        rng = random.Random()
        for size in (3, 6, 12, 12, 12):
            nodes = [Node(f"leaf {i}") for i in range(3)]
            for i in range(size):
                nodes.append(Node(f"node {i}", *[(rng.choice(nodes), 1.0) for _ in range(2)]))
            there = list(count(nodes[-1]))
            targets = rng.sample(there, min(2, len(there)))
            compare_needed(needed, nodes[-1], targets, "a graph made by chance")
        first = Node("first")
        deep, wide = [first], [first]
        for i in range(1500):
            deep.append(Node(f"link {i}", (deep[-1], 1.0)))
        for i in range(25):
            wide.append(Node(f"sum {i}", (wide[-1], 1.0), (wide[-1], 1.0)))
        expect(len(needed(deep[-1], [first])), 1501, "how many nodes of a chain of 1501")
        expect(len(needed(wide[-1], [first])), 26, "how many nodes of 25 sums and x")


class WatchedNode(Node):
    """A node that counts how often its slopes are read."""

    reads = 0

    @property
    def slopes(self):
        self.reads += 1
        return self.kept

    @slopes.setter
    def slopes(self, values):
        self.kept = values


def random_graph(rng, size):
    """Return the nodes of a random graph, the root last; small whole slopes, so that sums are exact."""
    nodes = [WatchedNode(f"leaf {i}") for i in range(2)]
    for i in range(size):
        inputs = [(rng.choice(nodes[-4:]), float(rng.randint(-2, 3))) for _ in range(2)]
        nodes.append(WatchedNode(f"node {i}", *inputs))
    return nodes


def calls_of(function, *arguments):
    """Call a function; return which of `count` and `steps` were called meanwhile."""
    watched, seen = {count.__code__: "count", steps.__code__: "steps"}, set()

    def note(frame, event, _):
        if event == "call" and frame.f_code in watched:
            seen.add(watched[frame.f_code])

    previous = sys.getprofile()
    sys.setprofile(note)
    try:
        function(*arguments)
    finally:
        sys.setprofile(previous)
    return seen


class WithoutCounts(Exercise):
    """Backward without counts

    The queue always returns the node made last. Are the counts needed at all, then? Write
    `backward_without_counts(root)` for the small engine: it gives every node its gradient in `node.grad`,
    runs each once, and never calls `count` or `steps`. When it works, think about why tensorlab counts
    anyway.
    """

    kind = "extend"
    idea = "The ready queue"
    beside = "answer and check walk over the same graph"
    stub = """
        def backward_without_counts(root):
            root.grad = 1.0  # not yet
    """
    hints = [
        "Every edge leads to a node that was made *earlier*: `node.number` says when. If a node still "
        "waits for a gradient, what do you know about the numbers of the nodes that will send it?",
        "They are larger. So of all nodes where something waits, the one made last has everything.",
        "Keep `waiting = {root: 1.0}`. Take `max(waiting, key=lambda node: node.number)` out of it, and add "
        "what it brings to its inputs, until nothing waits.",
    ]
    solution = """
        def backward_without_counts(root):
            waiting = {root: 1.0}
            while waiting:
                node = max(waiting, key=lambda node: node.number)
                node.grad = waiting.pop(node)
                for (next_node, _), slope in zip(node.next_functions, node.slopes):
                    waiting[next_node] = waiting.get(next_node, 0.0) + node.grad * slope
    """
    reason = """
        An edge always leads to a node with a smaller number, so while a node still waits for something,
        some node with a larger number is in the queue. But that holds only as long as one thread numbers
        all nodes and one thread runs them. In PyTorch each thread counts for itself, several threads run
        one pass, and the largest number in *this* queue says nothing about a gradient still being computed
        in another. A count is right whatever the numbers are. And as you saw, accumulate nodes have no
        true number at all.
    """
    wrong = [
        Wrong(
            """
            def backward_without_counts(root):
                waiting, queue = {root: 1.0}, [root]
                while queue:
                    node = queue.pop(0)
                    if node not in waiting:
                        continue
                    node.grad = waiting.pop(node)
                    for (next_node, _), slope in zip(node.next_functions, node.slopes):
                        waiting[next_node] = waiting.get(next_node, 0.0) + node.grad * slope
                        queue.append(next_node)
            """,
            says="ran more than once",
            why="First come, first served: a node runs before all its gradients are there, and again for "
            "the rest. What it had passed on the first time is only a part.",
        ),
        Wrong(
            """
            def backward_without_counts(root, gradient=1.0):
                root.grad = (root.grad or 0.0) + gradient
                for (next_node, _), slope in zip(root.next_functions, root.slopes):
                    backward_without_counts(next_node, gradient * slope)
            """,
            says="every path",
            why="The recursive engine. Its gradients are right, and it takes as many steps as there are "
            "paths.",
        ),
        Wrong(
            """
            def backward_without_counts(root):
                waiting = {root: 1.0}
                while waiting:
                    node = max(waiting, key=lambda node: node.number)
                    node.grad = waiting.pop(node)
                    for (next_node, _), slope in zip(node.next_functions, node.slopes):
                        waiting[next_node] = node.grad * slope
            """,
            says="is overwritten",
            why="What arrives second must be added to what waits.",
        ),
        Wrong(
            "def backward_without_counts(root):\n    backward(root)",
            says="counting is back",
            why="`backward` counts: it calls `steps`, which calls `count` before the first node runs.",
        ),
    ]

    def check(backward_without_counts):
        for n in range(1, 8):
            x = 3.0
            leaf = WatchedNode("x")
            node, value, made = leaf, x, [leaf]
            for _ in range(n - 1):
                node = WatchedNode("product", (node, x), (leaf, value))
                made.append(node)
                value *= x
            used = calls_of(backward_without_counts, node)
            require(not used, f"You called {' and '.join(sorted(used))}: counting is back.")
            came, expected = leaf.grad, n * x ** (n - 1)
            about = f"the derivative of x**{n} at 3"
            if n == 2 and came == x:
                about += ": one of the two gradients is overwritten"
            often = max(node.reads for node in made)
            lost = often > 1 and came != expected
            require(
                not lost, f"For x**{n} a node ran more than once, and passed on parts of its sum."
            )
            expect(came, expected, about)
        node = WatchedNode("x")
        made = [node]
        for i in range(12):
            node = WatchedNode(f"sum {i}", (node, 1.0), (node, 1.0))
            made.append(node)
        backward_without_counts(node)
        most = max(node.reads for node in made)
        require(most < 50, f"Twelve sums: a node ran {most} times, once for every path to it.")
        expect(made[0].grad, 4096.0, "the gradient of twelve sums")
        rng = random.Random()
        for _ in range(20):
            nodes = random_graph(rng, 8)
            backward_without_counts(nodes[-1])
            came = [node.grad for node in nodes]
            for node in nodes:
                node.grad = None
            backward(nodes[-1])
            for node, grad in zip(nodes, came, strict=True):
                edges = ", ".join(
                    f"{n.name} by {s:g}" for n, s in zip(*edges_of(node), strict=True)
                )
                about = f"the gradient of {node.name} ({edges or 'no inputs'}) in a random graph"
                expect(grad, node.grad, about)


def edges_of(node):
    return [child for child, _ in node.next_functions], node.kept


class HuntInTheEngine(BugHunt):
    """A test for an engine

    Three people wrote `backward(root)` for the small engine, and each version has a bug. Write
    `test(backward)`: it builds graphs of `Node`s, runs `backward` on them and asserts something about
    `node.grad`. It must pass on the right engine and fail on each of the three.
    """

    idea = "The loop"
    stub = """
        def test(backward):
            x = Node("x")
            y = Node("y", (x, 3.0))  # y = 3 x
            z = Node("z", (y, 2.0))  # z = 2 y
            backward(z)
            assert x.grad == 6.0
    """
    hints = [
        "A chain tests almost nothing: no number is used twice. With which two kinds of graph did the "
        "chapter break engines? And which edge is counted, according to *The loop*, though it brings nothing?",
        "One is broken where a number is used twice, one where paths of *unequal length* meet. Think of the "
        "third as someone who saves work: which edge seems to bring nothing?",
        "A slope of 0 brings a gradient of 0, and the node behind it must still be counted down: let one "
        "path to `x` have slope 0 and another not.",
    ]
    solution = """
        def test(backward):
            x = Node("x")
            backward(Node("x + x", (x, 1.0), (x, 1.0)))
            assert x.grad == 2.0  # twice used

            x = Node("x")  # x**4 at 3: paths of length 1, 2 and 3
            square = Node("x**2", (x, 3.0), (x, 3.0))
            cube = Node("x**3", (square, 3.0), (x, 9.0))
            backward(Node("x**4", (cube, 3.0), (x, 27.0)))
            assert x.grad == 108.0

            x = Node("x")
            zero = Node("0 * x", (x, 0.0))
            backward(Node("x + 0 * x", (x, 1.0), (zero, 1.0)))
            assert x.grad == 1.0
    """
    reason = """
        Each graph is the smallest that shows its bug. A test on random graphs, compared with a difference
        quotient, finds the first two quickly and the third hardly ever: random slopes are not zero. Edge
        cases have to be thought of.
    """
    wrong = [
        Wrong(
            """
            def test(backward):
                x = Node("x")
                backward(Node("x * x", (x, 3.0), (x, 3.0)))
                assert x.grad == 6.0
            """,
            says="2 of 3 planted bugs",
            why="A square finds who overwrites, but its paths are all equally long.",
        ),
        Wrong(
            """
            def test(backward):
                x = Node("x")
                square = Node("x**2", (x, 3.0), (x, 3.0))
                cube = Node("x**3", (square, 3.0), (x, 9.0))
                backward(Node("x**4", (cube, 3.0), (x, 27.0)))
                assert x.grad == 108.0
            """,
            says="1 of 3 planted bugs",
            why="The fourth power has everything but a slope of 0.",
        ),
        Wrong(
            """
            def test(backward):
                x = Node("x")
                backward(Node("x * x", (x, 3.0), (x, 3.0)))
                assert x.grad == 9.0
            """,
            says="The first half fails",
            why="Along two paths gradients are added, not multiplied: 3 + 3.",
        ),
    ]

    right = backward

    def overwrites(root):
        """a gradient overwrites the one that waits, where it must be added"""
        waiting = {root: 1.0}
        for node, _, _ in steps(root):
            node.grad = waiting.pop(node)
            for (next_node, _), slope in zip(node.next_functions, node.slopes, strict=True):
                waiting[next_node] = node.grad * slope

    def hurries(root):
        """a node runs as soon as something has arrived, and what comes later is lost"""
        waiting, queue, done = {root: 1.0}, [root], set()
        while queue:
            node = queue.pop(0)
            if node in done:
                continue
            done.add(node)
            node.grad = waiting.pop(node)
            for (next_node, _), slope in zip(node.next_functions, node.slopes, strict=True):
                waiting[next_node] = waiting.get(next_node, 0.0) + node.grad * slope
                queue.append(next_node)

    def skips_zeros(root):
        """an edge with slope 0 is skipped, and the node behind it waits forever"""
        dependencies, ready, waiting = count(root), [root], {root: 1.0}
        while ready:
            node = max(ready, key=lambda node: node.number)
            ready.remove(node)
            node.grad = waiting.pop(node)
            for (next_node, _), slope in zip(node.next_functions, node.slopes, strict=True):
                if slope == 0.0:
                    continue
                waiting[next_node] = waiting.get(next_node, 0.0) + node.grad * slope
                dependencies[next_node] -= 1
                if dependencies[next_node] == 0:
                    ready.append(next_node)

    bugs = [overwrites, hurries, skips_zeros]
