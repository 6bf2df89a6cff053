"""Exercises of chapter 49, ahead-of-time autograd."""

import operator
import random
from math import inf
from unittest import mock

from tiny_joint import RULES, joint_graph, read_by_backward, split

import tensorlab as torch
from tensorlab.compiler.joint.min_cut import min_cut
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require

IMPORTS = "import tensorlab as torch"
FILES = ["tiny_joint.py"]

SAVING = {
    "x + y": lambda x, y: x + y,
    "tanh(x) * y": lambda x, y: torch.tanh(x) * y,
    "exp(sin(exp(x)))": lambda x, y: torch.exp(torch.sin(torch.exp(x))),
    "tanh(x @ y)": lambda x, y: torch.tanh(x @ y),
    "exp(x).t() * y": lambda x, y: torch.exp(x).t() * y,
    "exp(softmax(x, 1))": lambda x, y: torch.exp(torch.softmax(x, 1)),
    "x * sin(rand_like(x))": lambda x, y: x * torch.sin(torch.rand_like(x)),
}


def saved_values(function, recompute):
    """Return how many values forward saves, inputs aside, as the compiler does it."""
    inputs = [torch.ones(4, 4, requires_grad=True) for _ in range(2)]
    options = {"recompute": recompute}
    compiled = torch.compile(function, backend="aot_eager", options=options)
    compiled(*inputs)
    whole = compiled.compiled.entries[0].program.whole
    outputs = whole.forward.output_node().args[0]
    return sum(one.op != "placeholder" for one in outputs[len(outputs) - whole.saved :])


class WhatIsSaved(Exercise):
    """What is saved?

    `x` and `y` are 4 by 4 and want gradients. How many values does the compiled forward of each program save,
    not counting `x` and `y`? Write a pair: the number in mode "save", and with `recompute`.

    The derivative of `tanh`, `exp` and `softmax` reads the result, that of `sin` reads the argument. A product
    reads both factors. `softmax` is not a pointwise op. If backward reads the result of the whole program, this
    one is saved, too, and counts.
    """

    kind = "warm-up"
    idea = "What backward reads"
    stub = """
        saved = {
            "x + y": (None, None),
            "tanh(x) * y": (None, None),
            "exp(sin(exp(x)))": (None, None),
            "tanh(x @ y)": (None, None),
            "exp(x).t() * y": (None, None),
            "exp(softmax(x, 1))": (None, None),
            "x * sin(rand_like(x))": (None, None),
        }
    """
    hints = [
        'In mode "save": which values does each op\'s derivative read? A value that is read twice is saved once.',
        "Inputs aren't counted, and a view isn't saved: its base is.",
        "With `recompute`: what can be computed from `x` and `y` by pointwise ops alone? Matrix products, softmax "
        "and random numbers can't be.",
    ]
    solution = """
        saved = {
            "x + y": (0, 0),
            "tanh(x) * y": (1, 0),
            "exp(sin(exp(x)))": (2, 0),
            "tanh(x @ y)": (1, 1),
            "exp(x).t() * y": (1, 0),
            "exp(softmax(x, 1))": (2, 1),
            "x * sin(rand_like(x))": (1, 1),
        }
    """
    reason = """
        `exp(sin(exp(x)))` reads the inner `exp` twice, as its own result and as the argument of `sin`, and saves it
        once. Behind a product, a softmax or a draw, one value has to be saved, whichever it is.
    """
    wrong = [
        Wrong(
            """
            saved = {"x + y": (2, 0), "tanh(x) * y": (1, 0), "exp(sin(exp(x)))": (2, 0), "tanh(x @ y)": (1, 1)}
            saved |= {"exp(x).t() * y": (1, 0), "exp(softmax(x, 1))": (2, 1), "x * sin(rand_like(x))": (1, 1)}
            """,
            says="reads neither",
            why="The gradient of a sum is the tangent itself.",
        ),
        Wrong(
            """
            saved = {"x + y": (0, 0), "tanh(x) * y": (2, 0), "exp(sin(exp(x)))": (2, 0), "tanh(x @ y)": (1, 1)}
            saved |= {"exp(x).t() * y": (1, 0), "exp(softmax(x, 1))": (2, 1), "x * sin(rand_like(x))": (1, 1)}
            """,
            says="saved once",
            why="Both `tanh` and the product read the same tensor, the result of `tanh`.",
        ),
        Wrong(
            """
            saved = {"x + y": (0, 0), "tanh(x) * y": (1, 0), "exp(sin(exp(x)))": (3, 0), "tanh(x @ y)": (1, 1)}
            saved |= {"exp(x).t() * y": (1, 0), "exp(softmax(x, 1))": (2, 1), "x * sin(rand_like(x))": (1, 1)}
            """,
            says="the argument of sin is the result of exp",
            why="The two uses of the inner `exp` are one value, and no one reads the result of `sin`.",
        ),
        Wrong(
            """
            saved = {"x + y": (0, 0), "tanh(x) * y": (1, 0), "exp(sin(exp(x)))": (2, 0), "tanh(x @ y)": (1, 0)}
            saved |= {"exp(x).t() * y": (1, 0), "exp(softmax(x, 1))": (2, 1), "x * sin(rand_like(x))": (1, 1)}
            """,
            says="a product isn't computed again",
            why="`tanh` may be computed again, but only from the product.",
        ),
        Wrong(
            """
            saved = {"x + y": (0, 0), "tanh(x) * y": (1, 0), "exp(sin(exp(x)))": (2, 0), "tanh(x @ y)": (1, 1)}
            saved |= {"exp(x).t() * y": (2, 0), "exp(softmax(x, 1))": (2, 1), "x * sin(rand_like(x))": (1, 1)}
            """,
            says="a view isn't saved",
            why="The transposed tensor is made again of its base, at no cost.",
        ),
        Wrong(
            """
            saved = {"x + y": (0, 0), "tanh(x) * y": (1, 0), "exp(sin(exp(x)))": (2, 0), "tanh(x @ y)": (1, 1)}
            saved |= {"exp(x).t() * y": (1, 0), "exp(softmax(x, 1))": (2, 0), "x * sin(rand_like(x))": (1, 1)}
            """,
            says="softmax isn't a pointwise op",
            why="Each element of a softmax depends on its whole row.",
        ),
        Wrong(
            """
            saved = {"x + y": (0, 0), "tanh(x) * y": (1, 0), "exp(sin(exp(x)))": (2, 0), "tanh(x @ y)": (1, 1)}
            saved |= {"exp(x).t() * y": (1, 0), "exp(softmax(x, 1))": (2, 1), "x * sin(rand_like(x))": (1, 0)}
            """,
            says="other random numbers",
            why="Backward can't draw the numbers of forward again.",
        ),
    ]

    def check(saved):
        require(isinstance(saved, dict), "saved must be a dict, as in the stub.")
        expect(sorted(saved, key=str), sorted(SAVING), "the programs in saved")
        remarks = {
            ("x + y", 0): "the derivative of a sum reads neither argument.",
            ("tanh(x) * y", 0): "tanh and the product read the same tensor, and it's saved once.",
            ("exp(sin(exp(x)))", 0): "the argument of sin is the result of exp: one value.",
            ("tanh(x @ y)", 1): "a product isn't computed again, so it or its tanh is saved.",
            ("exp(x).t() * y", 0): "a view isn't saved, its base is.",
            ("exp(softmax(x, 1))", 1): "softmax isn't a pointwise op, so it is saved.",
            ("x * sin(rand_like(x))", 1): "a second draw would give other random numbers.",
        }
        for program, function in SAVING.items():
            pair = saved[program]
            is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
            require(is_pair, f"{program}: write a pair of numbers.")
            for i, (said, mode) in enumerate(zip(pair, ("save", "recompute"), strict=True)):
                is_count = isinstance(said, int) and not isinstance(said, bool)
                require(is_count, f"{program}, {mode}: write a number of values.")
                count = saved_values(function, bool(i))
                remark = remarks.get((program, i), "ask which values backward reads.")
                require(
                    said == count,
                    f"{program}, {mode}: {said} isn't the number. Look again: {remark}",
                )


CALLS = {  # name: (op, functions that call it, whether inputs are positive)
    "truediv": (
        operator.truediv,
        [lambda x, y: x / y, lambda x, y: 3.0 / y + x, lambda x, y: x / 4.0 * y],
        True,
    ),
    "sigmoid": (torch.sigmoid, [lambda x, y: torch.sigmoid(x + y)], False),
    "sqrt": (torch.sqrt, [lambda x, y: torch.sqrt(x + y)], True),
    "relu": (torch.relu, [lambda x, y: torch.relu(x + y)], False),
}
MIXED = [
    lambda x, y: torch.sqrt(torch.sigmoid(x) / y) * torch.relu(x),
    lambda x, y: torch.relu(y / torch.sqrt(x)) / (torch.sigmoid(y) + x),
]


def checked(name, rule, count):
    """Return a rule that says what is wrong with what it returns, or with how it is called."""

    def call(grad, out, *args):
        try:
            found = rule(grad, out, *args)
        except torch.fx.proxy.TraceError:
            found = NotImplemented
        require(
            found is not NotImplemented,
            f"The rule of {name} asks a proxy for a value, by `if` or by a loop. Write it with operators.",
        )
        is_tuple = isinstance(found, (tuple, list)) and len(found) == count
        require(
            is_tuple,
            f"The rule of {name} must return a tuple of {count}, one gradient for each argument.",
        )
        return found

    return call


def after_a_sum(op):
    return lambda x: op(x + 1)


def gradients_by_rules(function, inputs, tangent):
    """The gradients by the joint graph, and by autograd."""
    graph = joint_graph(function)
    forward, backward = split(graph, read_by_backward(graph))
    _, *kept = forward(*inputs)
    leaves = [x.clone().requires_grad_() for x in inputs]
    return backward(*kept, tangent), torch.autograd.grad(function(*leaves), leaves, tangent)


class MoreRules(Exercise):
    """More rules

    The table `RULES` of `tiny_joint.py` knows seven functions. Write a dict `rules` with four more, of the same
    form: `operator.truediv` (that is `x / y`), `torch.sigmoid`, `torch.sqrt` and `torch.relu`. A rule is called
    with the gradient, the result and the arguments. In `x / y`, one of the two may be a number.

    Let forward save little: the rules of `sigmoid`, `sqrt` and `relu` must not read their argument `x`.
    """

    kind = "implement"
    idea = "Rules that write a graph"
    beside = "the check calls the answer on values that it traces"
    stub = """
        import operator

        rules = {
            operator.truediv: lambda grad, out, x, y: (None, None),
            torch.sigmoid: lambda grad, out, x: (None,),
            torch.sqrt: lambda grad, out, x: (None,),
            torch.relu: lambda grad, out, x: (None,),
        }
    """
    hints = [
        "The rule of `tanh` doesn't read `x`, either: $1 - \\tanh^2 x$ is written with the result. Do the same for "
        "the sigmoid and the root.",
        "If $s$ is the sigmoid of $x$, its derivative is $s (1 - s)$, and that of the root $r$ is $1 / (2r)$. The "
        "derivative of $x / y$ is $1 / y$ for $x$, and for $y$ it is $-x / y^2$, which is $-(x / y) / y$.",
        "The result of `relu` is positive exactly where `x` is. `out > 0` of a proxy is a node as well, and a "
        "product with it is 0 where it's false.",
    ]
    solution = """
        import operator

        rules = {
            operator.truediv: lambda grad, out, x, y: (grad / y, -grad * out / y),
            torch.sigmoid: lambda grad, out, x: (grad * out * (1 - out),),
            torch.sqrt: lambda grad, out, x: (grad / (2 * out),),
            torch.relu: lambda grad, out, x: (grad * (out > 0),),
        }
    """
    reason = """
        The comparison in the rule of `relu` isn't decided while the rule runs. It becomes a node, and backward
        decides for each element.
    """
    wrong = [
        Wrong(
            """
            import operator

            rules = {
                operator.truediv: lambda grad, out, x, y: (grad / y, grad * out / y),
                torch.sigmoid: lambda grad, out, x: (grad * out * (1 - out),),
                torch.sqrt: lambda grad, out, x: (grad / (2 * out),),
                torch.relu: lambda grad, out, x: (grad * (out > 0),),
            }
            """,
            says="the gradient of y in a program with truediv",
            why="If the divisor grows, the quotient shrinks.",
        ),
        Wrong(
            """
            import operator

            rules = {
                operator.truediv: lambda grad, out, x, y: (grad / y, -grad * out / y),
                torch.sigmoid: lambda grad, out, x: (grad * torch.sigmoid(x) * (1 - torch.sigmoid(x)),),
                torch.sqrt: lambda grad, out, x: (grad / (2 * out),),
                torch.relu: lambda grad, out, x: (grad * (out > 0),),
            }
            """,
            says="backward reads the argument of sigmoid",
            why="The gradient is right, but the argument has to be saved.",
        ),
        Wrong(
            """
            import operator


            def relu(grad, out, x):
                return (grad,) if out > 0 else (grad * 0,)


            rules = {
                operator.truediv: lambda grad, out, x, y: (grad / y, -grad * out / y),
                torch.sigmoid: lambda grad, out, x: (grad * out * (1 - out),),
                torch.sqrt: lambda grad, out, x: (grad / (2 * out),),
                torch.relu: relu,
            }
            """,
            says="asks a proxy for a value",
            why="A rule runs once, before there are numbers.",
        ),
        Wrong(
            """
            import operator

            rules = {
                operator.truediv: lambda grad, out, x, y: (grad / y, -grad * out / y),
                torch.sigmoid: lambda grad, out, x: grad * out * (1 - out),
                torch.sqrt: lambda grad, out, x: (grad / (2 * out),),
                torch.relu: lambda grad, out, x: (grad * (out > 0),),
            }
            """,
            says="must return a tuple",
            why="One gradient is a tuple of one. The comma is missing.",
        ),
        Wrong(
            """
            import operator

            rules = {
                operator.truediv: lambda grad, out, x, y: (grad / y, -grad * out / y),
                torch.sigmoid: lambda grad, out, x: (grad * out * (1 - out),),
                torch.sqrt: lambda grad, out, x: (grad / 2 * out,),
                torch.relu: lambda grad, out, x: (grad * (out > 0),),
            }
            """,
            says="the gradient of x in a program with sqrt",
            why="`grad / 2 * out` is `(grad / 2) * out`.",
        ),
        Wrong(
            """
            import operator

            rules = {
                operator.truediv: lambda grad, out, x, y: (grad / y, -grad * out / y),
                torch.sigmoid: lambda grad, out, x: (grad * out * (1 - out),),
                torch.sqrt: lambda grad, out, x: (grad / (2 * out),),
                torch.relu: lambda grad, out, x: (grad * (out >= 0),),
            }
            """,
            says="the gradient of x in a program with relu",
            why="The result is never negative, so this is always true.",
        ),
    ]

    def check(rules):
        require(isinstance(rules, dict), "rules must be a dict, as in the stub.")
        for name, (op, _, _) in CALLS.items():
            require(callable(rules.get(op)), f"rules has no function for {name}.")
        known = {
            op: checked(name, rules[op], 2 if name == "truediv" else 1)
            for name, (op, _, _) in CALLS.items()
        }
        with mock.patch.dict(RULES, known):
            for name, (op, functions, is_positive) in CALLS.items():
                for function in functions:
                    check_rules(name, function, is_positive)
                if name == "truediv":
                    continue
                graph = joint_graph(after_a_sum(op))
                is_read = "add" in [node.name for node in read_by_backward(graph)]
                require(
                    not is_read,
                    f"The gradient is right, but backward reads the argument of {name}.",
                )
            for function in MIXED:
                check_rules("all four", function, True)


def check_rules(name, function, is_positive):
    """Compare the gradients of a function of x and y by the rules with those of autograd."""
    for _ in range(3):
        x, y, tangent = (torch.randn(6, dtype=torch.float64) for _ in range(3))
        if is_positive:
            x, y = x.abs() + 0.5, y.abs() + 0.5
        elif name == "relu":
            y[0] = -x[0]  # relu of 0
        try:
            found, expected = gradients_by_rules(function, [x, y], tangent)
        except (AttributeError, KeyError):  # None, where the graph needs a node
            found = None
        require(found, f"A program with {name} has no gradient for one of its inputs.")
        for letter, one, other in zip("xy", found, expected, strict=True):
            expect(one, other, f"the gradient of {letter} in a program with {name}", tolerance=1e-7)


def missing_for(parents, fixed, saved, wanted):
    """Return a wanted value that can't be made of what is saved, and what is missing for it; or two None."""
    for value in wanted:
        stack = [value]
        while stack:
            one = stack.pop()
            if one in fixed and one not in saved:
                return value, one
            if one not in saved:
                stack += parents[one]
    return None, None


def least_price(parents, price, fixed, wanted):
    """Return the price of a cheapest set, by a minimum cut."""
    edges = [((one, "out"), "sink", inf) for one in wanted]
    edges += [((one, "in"), (one, "out"), price[one]) for one in price]
    edges += [("source", (one, "in"), inf) for one in fixed]
    edges += [
        ((one, "out"), (value, "in"), inf)
        for value in price
        if value not in fixed
        for one in parents[value]
    ]
    below = min_cut(edges, "source", "sink")
    return sum(n for start, end, n in edges if start not in below and end in below)


def random_forward(size):
    """Return a random graph as in the exercise: parents, price, fixed, wanted."""
    names = [f"v{i}" for i in range(size)]
    random.shuffle(names)
    inputs = random.randint(1, 3)
    parents = {one: [] for one in names[:inputs]}
    for i in range(inputs, size):
        parents[names[i]] = random.sample(names[:i], min(i, random.choice([1, 1, 2, 2, 3])))
    price = {one: random.randint(1, 9) for one in names}
    price |= {one: 0 for one in names[:inputs] if random.random() < 0.5}
    fixed = {*names[:inputs], *(one for one in names if random.random() < 0.2)}
    wanted = random.sample(names, random.randint(1, max(size // 2, 1)))
    shown = names[:]
    random.shuffle(shown)  # not in an order in which they can be computed
    return {one: parents[one] for one in shown}, {one: price[one] for one in shown}, fixed, wanted


FORWARDS = [  # (parents, price, fixed, wanted, remark)
    (
        {"x": [], "a": ["x"]},
        {"x": 0, "a": 8},
        {"x"},
        ["a"],
        "Backward can compute a again from x, which costs nothing.",
    ),
    ({"x": [], "mm": ["x"], "a": ["mm"]}, {"x": 0, "mm": 4, "a": 6}, {"x", "mm"}, ["a"], ""),
    (
        {"h": [], "s": ["h"], "a": ["s"]},
        {"h": 8, "s": 2, "a": 8},
        {"h"},
        ["a"],
        "A narrow value may lie between what is fixed and what is wanted.",
    ),
    (
        {"x": [], "a": ["x"], "b": ["a"]},
        {"x": 0, "a": 8, "b": 8},
        {"x"},
        ["b"],
        "Look further back than one step.",
    ),
    (
        {"v": [], "a": ["v"], "b": ["v"], "c": ["a", "b"]},
        {"v": 5, "a": 3, "b": 3, "c": 20},
        {"v"},
        ["c"],
        "A value that is used twice is paid for once.",
    ),
    (
        {"v": [], "a": ["v"], "b": ["v"]},
        {"v": 5, "a": 3, "b": 3},
        {"v"},
        ["a", "b"],
        "Two wanted values can share what they are computed from.",
    ),
    ({"v": [], "a": ["v"], "b": ["v"]}, {"v": 7, "a": 3, "b": 3}, {"v"}, ["a", "b"], ""),
    (
        {"h": [], "mean": ["h"], "sub": ["h", "mean"], "tanh": ["sub"]},
        {"h": 8, "mean": 2, "sub": 8, "tanh": 8},
        {"h", "mean"},
        ["h", "sub", "tanh"],
        "",
    ),
    ({"x": [], "a": ["x"]}, {"x": 3, "a": 2}, {"x"}, [], "Nothing is wanted."),
    ({"v": []}, {"v": 3}, {"v"}, ["v"], ""),
]


class CheapestSet(Exercise):
    """The cheapest set

    A graph of forward is given by names. `parents[v]` is the list of values that `v` is computed from, and
    `price[v]` its bytes. The values in the set `fixed` can't be computed by backward: inputs, matrix products,
    draws. All others can, if their parents are saved or can be computed. `wanted` is the list of values that
    backward reads.

    Write `cheapest(parents, price, fixed, wanted)`. It returns a set of values to save, from which backward can
    get everything in `wanted`. No set that does may be cheaper. If there are several cheapest ones, return any.
    The graphs have at most nine values, so you may try all sets.
    """

    kind = "extend"
    idea = "The cheapest cut"
    stub = """
        def cheapest(parents, price, fixed, wanted):
            return set(wanted)
    """
    hints = [
        "First write the question: can backward get this value? Yes if it's saved. No if it's fixed and not "
        "saved. Else if it can get all of its parents.",
        "`itertools.combinations(price, n)` for each `n` from 0 to the number of values gives all sets. Keep the "
        "cheapest one that gives everything.",
        "Or build the network of the chapter, two places for each value, and call `min_cut` of "
        "`tensorlab.compiler.joint.min_cut`. Then the saved values are those whose edge leads into its set.",
    ]
    solution = """
        from itertools import combinations


        def cheapest(parents, price, fixed, wanted):
            def has(value, saved):
                if value in saved:
                    return True
                return value not in fixed and all(has(one, saved) for one in parents[value])

            sets = [set(some) for n in range(len(price) + 1) for some in combinations(price, n)]
            enough = [saved for saved in sets if all(has(value, saved) for value in wanted)]
            return min(enough, key=lambda saved: sum(price[one] for one in saved))
    """
    reason = """
        This is the definition, turned into a search. It takes twice as long for each further value, and a
        network has thousands. The minimum cut gives the same price and is done in a moment.
    """
    wrong = [
        Wrong(
            """
            def cheapest(parents, price, fixed, wanted):
                return set(wanted)
            """,
            says="from x, which costs nothing",
            why='This is mode "save".',
        ),
        Wrong(
            """
            def cheapest(parents, price, fixed, wanted):
                return {value for value in parents if not parents[value]}
            """,
            says="isn't saved and can't be computed",
            why="A product or a draw in the middle can't be computed again.",
        ),
        Wrong(
            """
            def cheapest(parents, price, fixed, wanted):
                saved, stack = set(), list(wanted)
                while stack:
                    value = stack.pop()
                    if value in fixed:
                        saved.add(value)
                    else:
                        stack += parents[value]
                return saved
            """,
            says="A narrow value may lie between",
            why="It's not always best to compute everything again that can be.",
        ),
        Wrong(
            """
            def cheapest(parents, price, fixed, wanted):
                saved = set()
                for value in wanted:
                    before = sum(price[one] for one in parents[value])
                    saved |= {value} if value in fixed or price[value] <= before else set(parents[value])
                return saved
            """,
            says="further back than one step",
            why="The arguments of a value may themselves be computed again.",
        ),
        Wrong(
            """
            from math import inf

            from tensorlab.compiler.joint.min_cut import min_cut


            def cheapest(parents, price, fixed, wanted):
                edges = [(value, "sink", price[value]) for value in wanted]
                for value in price:
                    if value in fixed:
                        edges.append(("source", value, inf))
                    else:
                        edges += [(one, value, price[one]) for one in parents[value]]
                below = min_cut(edges, "source", "sink")
                return {start for start, end, _ in edges if start not in below and end in below}
            """,
            says="used twice is paid for once",
            why="With an edge for each use, the cut pays for a value once for each of its users.",
        ),
        Wrong(
            """
            from itertools import combinations


            def cheapest(parents, price, fixed, wanted):
                def has(value, saved):
                    if value in saved:
                        return True
                    return value not in fixed and all(has(one, saved) for one in parents[value])

                sets = [set(some) for n in range(len(price) + 1) for some in combinations(price, n)]
                found = set()
                for value in wanted:
                    enough = [saved for saved in sets if has(value, saved)]
                    found |= min(enough, key=lambda saved: sum(price[one] for one in saved))
                return found
            """,
            says="can share what they are computed from",
            why="The best set for each value alone needn't be a part of the best set for all of them.",
        ),
    ]

    def check(cheapest):
        graphs = [*FORWARDS, *((*random_forward(random.randint(3, 9)), "") for _ in range(60))]
        for parents, price, fixed, wanted, remark in graphs:
            copies = {one: list(found) for one, found in parents.items()}
            came = cheapest(copies, dict(price), set(fixed), list(wanted))
            require(
                isinstance(came, (set, frozenset, list, tuple)),
                f"cheapest must return a set, and returned {describe(came)}.",
            )
            unknown = [str(one) for one in came if one not in price]
            graph = f"parents={parents}, price={price}, fixed={sorted(fixed)}, wanted={wanted}"
            require(not unknown, f"There's no value {', '.join(unknown)} in the graph {graph}.")
            saved = sorted(set(came))
            value, lost = missing_for(parents, fixed, saved, wanted)
            require(
                not lost,
                f"{saved} isn't enough: {value} needs {lost}, which isn't saved and can't be computed. Graph: {graph}.",
            )
            paid, least = (
                sum(price[one] for one in saved),
                least_price(parents, price, fixed, wanted),
            )
            require(
                paid == least,
                f"{saved} costs {paid}, and a set of {least} would do. {remark} Graph: {graph}.",
            )


def tangents_of(results, grads, bug):
    """Return the results of the second run with the gradients that backward begins with."""
    pairs = list(zip(results, grads, strict=True))
    if bug == "zeros":
        pairs = [(y, torch.zeros_like(y) if grad is None else grad) for y, grad in pairs]
    if bug == "ones":
        pairs = [(y, None if grad is None else torch.ones_like(y)) for y, grad in pairs]
    pairs = [(y, grad) for y, grad in pairs if grad is not None and y.requires_grad]
    return pairs[:1] if bug == "one result" else pairs


def after(gradients, inputs, bug):
    """Return the gradients as the bug leaves them."""
    if bug == "zeros":
        return [
            torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients, strict=True)
        ]
    if bug == "one input":
        return [g if i == 0 else None for i, g in enumerate(gradients)]
    if bug == "one use":
        places = [x.data_ptr() for x in inputs]
        return [
            g if places.index(one) == i else None
            for i, (one, g) in enumerate(zip(places, gradients, strict=True))
        ]
    return gradients


def recomputing(function, bug=""):
    """A function with its gradients, that saves its inputs and runs again in backward; perhaps with a bug."""
    first = []

    class Recomputed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*inputs)
            ctx.state, ctx.runs = torch.get_rng_state(), 0
            first[:] = first or [x.detach().clone() for x in inputs]
            results = function(*inputs)
            return tuple(results) if isinstance(results, (list, tuple)) else results

        @staticmethod
        def backward(ctx, *grads):
            ctx.runs += 1
            inputs = first if bug == "first call" else ctx.saved_tensors
            leaves = [x.detach().clone().requires_grad_() for x in inputs]
            state = torch.get_rng_state()
            if bug != "draws":
                torch.set_rng_state(ctx.state)
            with torch.enable_grad():
                results = function(*leaves)
            torch.set_rng_state(ctx.state if bug == "rewinds" else state)
            several = isinstance(results, (list, tuple))
            pairs = tangents_of(results if several else [results], grads, bug)
            if not pairs or (bug == "once" and ctx.runs > 1):
                return tuple([None] * len(leaves))
            results, grads = map(list, zip(*pairs, strict=True))
            found = torch.autograd.grad(results, leaves, grads, allow_unused=True)
            return tuple(after(found, inputs, bug))

    return lambda *inputs: Recomputed.apply(*inputs)


class AlmostTheGradients(BugHunt):
    """Almost the gradients

    `compile(f)` returns a function that gives what `f` gives, for the same inputs and the same state of the
    random generator. It saves the inputs only, and runs `f` again in backward. `f` takes one or more tensors of
    floats, which all want gradients, and returns a tensor or a tuple of tensors; it may draw random numbers. It
    doesn't write to anything. Inputs may have other values or shapes in each call.

    After backward, each input has the gradient that it has without `compile`, `None` included. The random
    generator is where it is without `compile`, too. As always, backward can run twice if `retain_graph=True`.

    Write a test that raises `AssertionError` if `compile` is wrong.
    """

    idea = "Break it"
    beside = "the test looks at the graph of a function"
    stub = """
        def test(compile):
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            compile(torch.exp)(x).sum().backward()
            assert torch.allclose(x.grad, x.exp())
    """
    hints = [
        "Write a helper that calls `f` and `compile(f)` from the same seed, with leaves of their own, and "
        "compares all gradients. Then choose functions for it: several inputs, several results, random numbers.",
        "Which results go into the loss? All, one of them, and not always the first. And not always by `sum()`: its "
        "tangents are all ones.",
        "What happens in the second call, in a second backward, to the random numbers after backward, and for "
        "`f(x, x)`, one tensor as two inputs?",
    ]
    solution = """
        def run(f, inputs, use):
            torch.manual_seed(3)
            leaves = [x.clone().requires_grad_() for x in inputs]
            results = f(*leaves)
            results = results if isinstance(results, tuple) else (results,)
            loss = sum((results[i] * torch.arange(2.0, 4.0)).sum() for i in use)
            for _ in range(2):
                loss.backward(retain_graph=True)
            return [x.grad for x in leaves], torch.rand(1).item()


        def same(one, other):
            return one is other if one is None or other is None else torch.allclose(one, other)


        def test(compile):
            def draw(x):
                return x.sin() * torch.rand(2)

            def two(x, y):
                return x.exp(), x * y, y.sin()

            for f, number, uses in (draw, 1, [[0]]), (two, 2, [[0], [1], [2], [0, 1], [0, 1, 2]]):
                compiled = compile(f)
                for use in uses:
                    inputs = [torch.randn(2) for _ in range(number)]
                    expected, after = run(f, inputs, use)
                    found, later = run(compiled, inputs, use)
                    assert all(map(same, expected, found)) and after == later
            x = torch.tensor([1.0, 2.0], requires_grad=True)
            compile(two)(x, x)[1].sum().backward()
            assert torch.allclose(x.grad, 2 * x)
    """
    reason = """
        Most tests of gradients use one input, one result, `sum()` and one call. Each of these habits hides a bug.
        `None` needs a comparison of its own, and so does what happens *after* backward.
    """
    wrong = [
        Wrong(
            """
            def test(compile):
                for f in (torch.exp, torch.sin, torch.tanh):
                    for _ in range(3):
                        x = torch.randn(3, requires_grad=True)
                        y = x.detach().clone().requires_grad_()
                        compile(f)(x).sum().backward()
                        f(y).sum().backward()
                        assert torch.allclose(x.grad, y.grad)
            """,
            says="planted bugs",
            why="One input, one result, all tangents 1, and `compile` is called anew each time.",
        ),
        Wrong(
            """
            def test(compile):
                x = torch.ones(2, requires_grad=True)
                y = torch.ones(2, requires_grad=True)
                compile(lambda x, y: (x.exp(), y.exp()))(x, y)[0].sum().backward()
                assert torch.equal(y.grad, torch.zeros(2))
            """,
            says="The first half fails",
            why="`y` has no gradient, and that is `None`. The test fails for the right `compile`.",
        ),
    ]

    def right(f):
        return recomputing(f)

    def draws_again(f):
        """backward draws other random numbers than forward did"""
        return recomputing(f, "draws")

    def rewinds_the_generator(f):
        """after backward the random generator goes on from where forward began"""
        return recomputing(f, "rewinds")

    def gives_zeros_for_none(f):
        """an input that no used result depends on gets zeros"""
        return recomputing(f, "zeros")

    def takes_ones_for_tangents(f):
        """the gradient of the result is ignored, and ones are taken instead"""
        return recomputing(f, "ones")

    def follows_one_result(f):
        """only the first of the used results has a gradient"""
        return recomputing(f, "one result")

    def forgets_the_second_input(f):
        """only the first input gets a gradient"""
        return recomputing(f, "one input")

    def forgets_the_second_use(f):
        """a tensor that is given twice gets the gradient of one use"""
        return recomputing(f, "one use")

    def keeps_the_first_call(f):
        """backward of a later call uses the inputs of the first one"""
        return recomputing(f, "first call")

    def works_once(f):
        """a second backward through the same graph gives nothing"""
        return recomputing(f, "once")

    bugs = [
        draws_again,
        rewinds_the_generator,
        gives_zeros_for_none,
        takes_ones_for_tangents,
        follows_one_result,
        forgets_the_second_input,
        forgets_the_second_use,
        keeps_the_first_call,
        works_once,
    ]
