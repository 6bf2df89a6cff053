"""Exercises of chapter 46, fx."""

import operator
import random

import tensorlab as torch
from tensorlab import fx
from tensorlab.learn import Exercise, Wrong, expect, require

IMPORTS = "import tensorlab as torch\nfrom tensorlab import fx"

LINES = [
    "y = x.sum()",
    "print('running')",
    "y = -x if x[0] > 0 else x",
    "noise = torch.rand(2) + x",
    "rows = x.shape[0]",
    "for row in x: pass",
    "n = len([1, 2, 3])",
    "a, b = x",
]


def fate_of(line):
    """Trace a function that has this line, and say what became of it."""
    scope = {"torch": torch, "print": lambda text: None}
    exec(f"def f(x):\n    {line}\n    return x", scope)
    try:
        graph = fx.symbolic_trace(scope["f"]).graph
    except fx.TraceError:
        return "error"
    ops = [node.op for node in graph.nodes if node.op not in ("placeholder", "output")]
    if not ops:
        return "gone"
    return "frozen" if "get_attr" in ops else "node"


class WhatIsLeft(Exercise):
    """What is left

    A function `f(x)` contains the line, then `return x`, and `x` is a tensor of two numbers. What does
    `symbolic_trace(f)` make of the line? Write `"node"` if there are nodes that will do it again in each call,
    `"frozen"` if there are nodes but a number in them stays as it was while tracing, `"gone"` if there is no
    node for it, and `"error"` if tracing stops.
    """

    kind = "warm-up"
    idea = "What Python keeps to itself"
    stub = """
        answers = {
            "y = x.sum()": None,
            "print('running')": None,
            "y = -x if x[0] > 0 else x": None,
            "noise = torch.rand(2) + x": None,
            "rows = x.shape[0]": None,
            "for row in x: pass": None,
            "n = len([1, 2, 3])": None,
            "a, b = x": None,
        }
    """
    hints = [
        "Ask for each line: does it do something to `x`, or to a value made of `x`? If not, no proxy hears of it.",
        "An `if` and a `for` ask for a value now. `a, b = x` asks for exactly two items, and says so.",
        "`torch.rand(2)` has no proxy among its arguments, so it runs while tracing, and the sum holds its result.",
    ]
    solution = """
        answers = {
            "y = x.sum()": "node",
            "print('running')": "gone",
            "y = -x if x[0] > 0 else x": "error",
            "noise = torch.rand(2) + x": "frozen",
            "rows = x.shape[0]": "node",
            "for row in x: pass": "error",
            "n = len([1, 2, 3])": "gone",
            "a, b = x": "node",
        }
    """
    reason = """
        A proxy records what is done to it. What is done to other things happens once, while tracing. What asks
        the proxy for a value stops the tracing.
    """
    wrong = [
        Wrong(
            """
            answers = {
                "y = x.sum()": "gone", "print('running')": "gone", "y = -x if x[0] > 0 else x": "error",
                "noise = torch.rand(2) + x": "frozen", "rows = x.shape[0]": "node", "for row in x: pass": "error",
                "n = len([1, 2, 3])": "gone", "a, b = x": "node",
            }
            """,
            says="nothing uses y",
            why="Tracing records calls, used or not. Removing unused ones is a pass of its own.",
        ),
        Wrong(
            """
            answers = {
                "y = x.sum()": "node", "print('running')": "node", "y = -x if x[0] > 0 else x": "error",
                "noise = torch.rand(2) + x": "frozen", "rows = x.shape[0]": "node", "for row in x: pass": "error",
                "n = len([1, 2, 3])": "gone", "a, b = x": "node",
            }
            """,
            says="doesn't touch x",
            why="`print` gets a string. No proxy hears of it.",
        ),
        Wrong(
            """
            answers = {
                "y = x.sum()": "node", "print('running')": "gone", "y = -x if x[0] > 0 else x": "node",
                "noise = torch.rand(2) + x": "frozen", "rows = x.shape[0]": "node", "for row in x: pass": "error",
                "n = len([1, 2, 3])": "gone", "a, b = x": "node",
            }
            """,
            says="asks for the truth",
            why="An `if` in one line is an `if`.",
        ),
        Wrong(
            """
            answers = {
                "y = x.sum()": "node", "print('running')": "gone", "y = -x if x[0] > 0 else x": "error",
                "noise = torch.rand(2) + x": "node", "rows = x.shape[0]": "node", "for row in x: pass": "error",
                "n = len([1, 2, 3])": "gone", "a, b = x": "node",
            }
            """,
            says="no proxy among its arguments",
            why="The sum is a node, but the random numbers in it were drawn once.",
        ),
        Wrong(
            """
            answers = {
                "y = x.sum()": "node", "print('running')": "gone", "y = -x if x[0] > 0 else x": "error",
                "noise = torch.rand(2) + x": "frozen", "rows = x.shape[0]": "frozen", "for row in x: pass": "error",
                "n = len([1, 2, 3])": "gone", "a, b = x": "node",
            }
            """,
            says="a proxy has no shape",
            why="The shape of a proxy is another proxy, so it is read again in each call.",
        ),
        Wrong(
            """
            answers = {
                "y = x.sum()": "node", "print('running')": "gone", "y = -x if x[0] > 0 else x": "error",
                "noise = torch.rand(2) + x": "frozen", "rows = x.shape[0]": "node", "for row in x: pass": "error",
                "n = len([1, 2, 3])": "gone", "a, b = x": "error",
            }
            """,
            says="how many items",
            why="Python says that it wants two items, so the proxy gives two.",
        ),
        Wrong("answers = {}", says="the lines in answers", why="Every line needs an answer."),
    ]

    def check(answers):
        require(isinstance(answers, dict), "answers must be a dict, as in the stub.")
        expect(sorted(answers, key=str), sorted(LINES), "the lines in answers")
        remarks = {
            ("y = x.sum()", "gone"): "y = x.sum(): nothing uses y, but tracing records every call.",
            (
                "print('running')",
                "node",
            ): "print('running'): it doesn't touch x, so no proxy hears of it.",
            (LINES[2], "node"): f"{LINES[2]}: the condition asks for the truth of a proxy.",
            (
                LINES[3],
                "node",
            ): f"{LINES[3]}: rand has no proxy among its arguments. When does it run?",
            (LINES[4], "frozen"): f"{LINES[4]}: a proxy has no shape yet, so what can x.shape be?",
            (LINES[7], "error"): f"{LINES[7]}: here Python says how many items it wants.",
        }
        for line in LINES:
            said = answers[line]
            require((line, said) not in remarks, remarks.get((line, said), ""))
            expect(said, fate_of(line), f"what becomes of {line}")


FUNCTIONS = [torch.relu, torch.tanh, torch.neg, torch.sin]


def random_program(rng, repeated):
    """A function of two tensors that calls each of FUNCTIONS, one of them repeatedly, in a random order."""
    steps = [*FUNCTIONS, repeated, *rng.choices(FUNCTIONS, k=rng.randint(0, 3))]
    rng.shuffle(steps)

    def f(x, y):
        for step in steps:
            x = step(x) + y
        return x, x.relu()

    return f, steps


def shape_of(graph):
    """Kinds and arguments of the nodes of a graph, with places for nodes."""
    places = {node: f"node {place}" for place, node in enumerate(graph.nodes)}
    return [(node.op, fx.map_arg((node.args, node.kwargs), places.get)) for node in graph.nodes]


class Swap(Exercise):
    """A pass that swaps a function

    Write `swap(gm, old, new)`. It changes the GraphModule `gm` so that it calls the function `new` wherever it
    called the function `old`, and returns how many calls it changed. Calling `gm` must run the new functions.
    Methods, such as `x.relu()`, stay as they are, and so do the arguments.
    """

    kind = "implement"
    idea = "A pass of your own"
    beside = "the answer changes a graph that the check made"
    stub = """
        def swap(gm, old, new):
            return 0
    """
    hints = [
        "`gm.graph.nodes` are the nodes. Which two attributes of a node say that it calls `old`?",
        '`node.op == "call_function"` and `node.target is old`. You may assign `node.target`.',
        "The graph isn't what runs: the generated source is. Which method writes it again?",
    ]
    solution = """
        def swap(gm, old, new):
            count = 0
            for node in gm.graph.nodes:
                if node.op == "call_function" and node.target is old:
                    node.target = new
                    count += 1
            gm.recompile()
            return count
    """
    reason = "A target is an attribute like any other. `recompile` makes the change run."
    wrong = [
        Wrong(
            """
            def swap(gm, old, new):
                nodes = [node for node in gm.graph.nodes if node.target is old]
                for node in nodes:
                    node.target = new
                return len(nodes)
            """,
            says="recompile",
            why="The graph has changed, but the generated source hasn't.",
        ),
        Wrong(
            """
            def swap(gm, old, new):
                count = 0
                for node in gm.graph.nodes:
                    if node.op.startswith("call") and old.__name__ in str(node.target):
                        node.op, node.target = "call_function", new
                        count += 1
                gm.recompile()
                return count
            """,
            says="x.relu()",
            why="A method of the same name was changed as well.",
        ),
        Wrong(
            """
            def swap(gm, old, new):
                for node in gm.graph.nodes:
                    if node.target is old:
                        node.target = new
                        gm.recompile()
                        return 1
                return 0
            """,
            says="go on to the end",
            why="It stops after the first.",
        ),
        Wrong(
            """
            def swap(gm, old, new):
                count = 0
                for node in gm.graph.nodes:
                    if node.op == "call_function":
                        node.target = new
                        count += 1
                gm.recompile()
                return count
            """,
            says="of them called the old function",
            why="It changes every function, additions too.",
        ),
    ]

    def check(swap):
        rng = random.Random()
        for old in FUNCTIONS:
            f, steps = random_program(rng, repeated=old)
            new = rng.choice([torch.exp, torch.cos, torch.abs])
            gm = fx.symbolic_trace(f)
            before = shape_of(gm.graph)
            methods = [node.target for node in gm.graph.nodes if node.op == "call_method"]
            count = swap(gm, old, new)
            after = [node.target for node in gm.graph.nodes if node.op == "call_method"]
            require(methods == after, "x.relu() is a call of a method. It must stay.")
            calls = steps.count(old)
            require(
                count == 0 or count >= calls,
                f"{count} calls were changed, and {calls} are there: go on to the end.",
            )
            require(
                count <= calls,
                f"{count} calls were changed, and only {calls} of them called the old function.",
            )
            expect(count, calls, "how many calls swap changed")
            gm.graph.lint()
            found = [node.target for node in gm.graph.nodes if node.op == "call_function"]
            wanted = [new if step is old else step for step in steps]
            expected = [one for step in wanted for one in (step, operator.add)]
            require(found == expected, f"The graph calls {found}, and should call {expected}.")
            require(
                shape_of(gm.graph) == before, "Only targets change: kinds and arguments must stay."
            )
            x, y = torch.randn(3), torch.randn(3)
            value = x
            for step in wanted:
                value = step(value) + y
            same = torch.allclose(gm(x, y)[0], value, equal_nan=True)
            require(
                same, "The graph is right, but gm(x, y) still runs the old source: recompile it."
            )
        expect(
            swap(fx.symbolic_trace(lambda x: x), torch.relu, torch.exp),
            0,
            "the calls of an empty graph",
        )


class Sizes(Exercise):
    """How large is each value?

    Write `sizes(gm, *args)`, which runs the GraphModule `gm` with the arguments and returns a dict from the name
    of each node to the number of elements of its value. A value that isn't a tensor has 0; a tuple or list of
    tensors has the sum of theirs.
    """

    kind = "extend"
    idea = "Interpreter"
    beside = "the answer reads a graph that the check made"
    stub = """
        def sizes(gm, *args):
            return {}
    """
    hints = [
        "Which class runs a graph node by node, and which of its methods runs one node?",
        "Subclass `fx.Interpreter`, override `run_node(self, n)`: call the parent's, look at the result, return it.",
        "`value.numel()` if it is a tensor, `sum(...)` over the items if it is a tuple or list, else 0.",
    ]
    solution = """
        def count(value):
            if isinstance(value, torch.Tensor):
                return value.numel()
            return sum(map(count, value)) if isinstance(value, (tuple, list)) else 0


        def sizes(gm, *args):
            found = {}

            class Noting(fx.Interpreter):
                def run_node(self, n):
                    value = super().run_node(n)
                    found[n.name] = count(value)
                    return value

            Noting(gm).run(*args)
            return found
    """
    reason = "`run_node` sees every value once, right after it was computed."
    wrong = [
        Wrong(
            """
            def sizes(gm, *args):
                interpreter = fx.Interpreter(gm)
                interpreter.run(*args)
                return {node.name: value.numel() if isinstance(value, torch.Tensor) else 0
                        for node, value in interpreter.env.items()}
            """,
            says="the nodes in the dict",
            why="The interpreter forgets a value after its last use, unless `garbage_collect_values=False`.",
        ),
        Wrong(
            """
            def sizes(gm, *args):
                interpreter = fx.Interpreter(gm, garbage_collect_values=False)
                interpreter.run(*args)
                return {node.name: value.numel() if isinstance(value, torch.Tensor) else 0
                        for node, value in interpreter.env.items()}
            """,
            says="tuple of two tensors",
            why="A tuple of tensors, such as that of `max` with a dimension, counts as 0.",
        ),
        Wrong(
            """
            def sizes(gm, *args):
                interpreter = fx.Interpreter(gm, garbage_collect_values=False)
                interpreter.run(*args)
                return {node.name: value.shape[0] if isinstance(value, torch.Tensor) and value.dim() else 0
                        for node, value in interpreter.env.items()}
            """,
            says="number of rows",
            why="The number of rows isn't the number of elements.",
        ),
    ]

    def check(sizes):
        rng = random.Random()

        def f(x, y, scale=2):
            z = x @ y
            values, places = z.max(1)
            return [values, places.sum()], z.split(1), x.shape[0] * scale

        def g(x):
            return torch.relu(x).sum(0, keepdim=True)

        for _ in range(4):
            a, b, c = (rng.randint(2, 5) for _ in range(3))
            x, y = torch.randn(a, b), torch.randn(b, c)
            expected = {
                "x": a * b,
                "y": b * c,
                "scale": 0,
                "matmul": a * c,
                "max_1": 2 * a,
                "getitem": a,
                "getitem_1": a,
                "sum_1": 1,
                "split": a * c,
                "getattr_1": 0,
                "getitem_2": 0,
                "mul": 0,
                "output": a + 1 + a * c,
            }
            came = sizes(fx.symbolic_trace(f), x, y)
            require(isinstance(came, dict), "sizes must return a dict.")
            expect(sorted(came, key=str), sorted(expected), "the nodes in the dict")
            require(came["x"] != a, "x: the number of rows isn't the number of elements.")
            require(came["max_1"] != 0, "max_1: its value is a tuple of two tensors; count both.")
            for name, size in expected.items():
                expect(came[name], size, f"the size of {name}")
            came = sizes(fx.symbolic_trace(g), x)
            expect(
                came,
                {"x": a * b, "relu": a * b, "sum_1": b, "output": b},
                "the sizes of a shorter program",
            )
