"""Exercises of chapter 47, capture and guards."""

import contextlib
import io
import math
import random
import warnings

from tiny_capture import exactly

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = "import tensorlab as torch"
FILES = ["tiny_capture.py"]


def halve(x, k):
    for _ in range(int(k)):
        x = x * 0.5
    return x


def times(x, k):
    return x * k


def complain(x):
    if x.sum() < 0:
        print("negative")
    return x + 1


def double(x):
    return x + x


def python_runs():
    """Return how many calls of each program run Python, as counted by the compiler."""
    x = torch.ones(4)
    square, table = torch.ones(4, 4), {"rate": 2.0}

    def rated(x):
        return x * table["rate"]

    programs = {
        "halve(x, k)": (halve, [(x, k) for k in (1, 2, 3, 1, 2, 3)]),
        "halve(x, tensor of k)": (halve, [(x, torch.tensor(k)) for k in (1, 2, 3, 1, 2, 3)]),
        "x * k": (times, [(x, k) for k in (1, True, 1.0, 1, True, 1.0)]),
        "x * zero": (times, [(x, k) for k in (0.0, -0.0, 0.0, -0.0)]),
        "x + x": (double, [(one,) for one in (square, square.t(), square[:2], square)]),
        "complain(x)": (complain, [(x * sign,) for sign in (1, -1, 2, -2, 3, -3)]),
        "x * table['rate']": (rated, [(x,)] * 6),
    }
    found = {}
    for name, (function, calls) in programs.items():
        compiled = torch.compile(function, backend="eager")
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            for i, given in enumerate(calls):
                table["rate"] = 3.0 if i in (2, 3) else 2.0
                compiled(*given)
        counts = compiled.compiled.counts
        found[name] = counts["recorded"] + counts["as Python"]
    return found


class HowOften(Exercise):
    """How often does Python run?

    Seven compiled programs. How many of their calls run Python, because they are recorded or because they
    can't be? `x` has four ones.

    | program | calls |
    |---|---|
    | `halve(x, k)` loops `range(int(k))` times | `k` is 1, 2, 3, 1, 2, 3 |
    | `halve(x, tensor of k)`, the same function | `k` is a tensor with these numbers |
    | `x * k` | `k` is 1, True, 1.0, 1, True, 1.0 |
    | `x * zero` | `zero` is 0.0, -0.0, 0.0, -0.0 |
    | `x + x` | `s`, `s.t()`, `s[:2]`, `s`, where `s` is `torch.ones(4, 4)` |
    | `complain(x)` prints if the sum is negative | `x`, `-x`, `2 * x`, `-2 * x`, `3 * x`, `-3 * x` |
    | `x * table['rate']` | the rate is 2, 2, 3, 3, 2, 2 |
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        runs = {
            "halve(x, k)": None,
            "halve(x, tensor of k)": None,
            "x * k": None,
            "x * zero": None,
            "x + x": None,
            "complain(x)": None,
            "x * table['rate']": None,
        }
    """
    hints = [
        "For each program: what does Python read, and is it a guard, a branch or a refusal?",
        "A value is recorded once, whether it's a guard or a branch. An old recording fits again when the old "
        "value comes back.",
        "Types and signs count, strides count, and a print runs Python each time, but only where it's reached.",
    ]
    solution = """
        runs = {
            "halve(x, k)": 3,
            "halve(x, tensor of k)": 3,
            "x * k": 3,
            "x * zero": 2,
            "x + x": 3,
            "complain(x)": 4,
            "x * table['rate']": 2,
        }
    """
    reason = """
        Both forms of `halve` are recorded three times: once as guards, once as branches. `complain` is recorded
        for the positive sign and runs as Python three times. A recording isn't thrown away when a guard fails.
    """
    wrong = [
        Wrong(
            """
            runs = {"halve(x, k)": 3, "halve(x, tensor of k)": 1, "x * k": 3, "x * zero": 2, "x + x": 3}
            runs |= {"complain(x)": 4, "x * table['rate']": 2}
            """,
            says="Python reads the number",
            why="A number in a tensor is only data until `int` reads it. Then it decides about the loop.",
        ),
        Wrong(
            """
            runs = {"halve(x, k)": 3, "halve(x, tensor of k)": 3, "x * k": 1, "x * zero": 2, "x + x": 3}
            runs |= {"complain(x)": 4, "x * table['rate']": 2}
            """,
            says="types differ",
            why="`1 == True == 1.0`, but the results have different dtypes.",
        ),
        Wrong(
            """
            runs = {"halve(x, k)": 3, "halve(x, tensor of k)": 3, "x * k": 3, "x * zero": 1, "x + x": 3}
            runs |= {"complain(x)": 4, "x * table['rate']": 2}
            """,
            says="sign bit",
            why="`0.0 == -0.0`, and still a program can tell them apart.",
        ),
        Wrong(
            """
            runs = {"halve(x, k)": 3, "halve(x, tensor of k)": 3, "x * k": 3, "x * zero": 2, "x + x": 2}
            runs |= {"complain(x)": 4, "x * table['rate']": 2}
            """,
            says="same size, but not the same layout",
            why="The transposed matrix has other strides.",
        ),
        Wrong(
            """
            runs = {"halve(x, k)": 3, "halve(x, tensor of k)": 3, "x * k": 3, "x * zero": 2, "x + x": 3}
            runs |= {"complain(x)": 6, "x * table['rate']": 2}
            """,
            says="doesn't print in every call",
            why="The print refuses the calls that reach it, and only those.",
        ),
        Wrong(
            """
            runs = {"halve(x, k)": 3, "halve(x, tensor of k)": 3, "x * k": 3, "x * zero": 2, "x + x": 3}
            runs |= {"complain(x)": 4, "x * table['rate']": 3}
            """,
            says="comes back",
            why="The first recording is still there, and its guards hold again.",
        ),
    ]

    def check(runs):
        require(isinstance(runs, dict), "runs must be a dict, as in the stub.")
        truth = python_runs()
        expect(sorted(runs, key=str), sorted(truth), "the programs in runs")
        remarks = {
            ("halve(x, k)", 1): "halve(x, k): the loop has another length for each k.",
            (
                "halve(x, tensor of k)",
                1,
            ): "halve(x, tensor of k): Python reads the number with int(k).",
            ("x * k", 1): "x * k: these numbers are equal, but their types differ.",
            ("x * k", 2): "x * k: int, bool and float are three types.",
            ("x * zero", 1): "x * zero: these numbers are equal, but not in their sign bit.",
            ("x + x", 2): "x + x: s and s.t() have the same size, but not the same layout.",
            ("x + x", 1): "x + x: s[:2] has another size, and that's a guard.",
            ("complain(x)", 6): "complain(x): it doesn't print in every call.",
            ("complain(x)", 2): "complain(x): a call that prints can't be replayed.",
            (
                "complain(x)",
                3,
            ): "complain(x): the calls with a plus run Python, too, at least once.",
            (
                "x * table['rate']",
                3,
            ): "x * table['rate']: what happens when the old value comes back?",
            ("x * table['rate']", 1): "x * table['rate']: the rate changes, and it's a guard.",
        }
        for program, count in truth.items():
            said = runs[program]
            is_count = isinstance(said, int) and not isinstance(said, bool)
            require(is_count, f"{program}: write a number of calls.")
            require((program, said) not in remarks, remarks.get((program, said), ""))
            require(said == count, f"{program}: {said} isn't the number of calls that run Python.")


class Secretive:
    """An object whose == must not be asked."""

    def __eq__(self, other):
        raise AssertionError("== of an object was called")

    __hash__ = None


class Celsius(float):
    pass


def random_value(depth=2):
    """Return a number, a string, None, or a list or tuple of such."""
    if depth and random.random() < 0.5:
        parts = [random_value(depth - 1) for _ in range(random.randint(0, 3))]
        return parts if random.random() < 0.5 else tuple(parts)
    leaves = [random.randint(2, 9), 10**20 + random.randint(0, 9), random.random(), 0.0, math.nan]
    return random.choice([*leaves, "word", "", None, True, False, 0, 1])


def made_again(value):
    """Return an equal value of which as much as possible is another object."""
    if type(value) in (list, tuple):
        return type(value)(made_again(one) for one in value)
    if type(value) in (int, float):
        return type(value)(str(value))
    return "".join(list(value)) if type(value) is str else value


PAIRS = [  # (one, other, what distinguishes them)
    (1, True, "an int and a bool"),
    (1, 1.0, "an int and a float"),
    (0, False, "an int and a bool"),
    (0.0, -0.0, "the sign bit"),
    (2, 3, "the value"),
    (math.inf, -math.inf, "the value"),
    (math.nan, 1.0, "the value"),
    ("a", "b", "the value"),
    ("1", 1, "a string and an int"),
    (None, False, "None and a bool"),
    (None, 0, "None and an int"),
    ([1, 2], (1, 2), "a list and a tuple"),
    ([1, 2], [1, 2, 3], "the length"),
    ([1, 2, 3], [1, 2], "the length"),
    ((), (None,), "the length"),
    ([1, 2], [2, 1], "the order"),
    ([[1], 2], [[1.0], 2], "an item of an inner list"),
    ((0.0, ("a", [-0.0])), (0.0, ("a", [0.0])), "an item of an inner list"),
    ({1, 2}, {1, 2}, "which set it is: sets are compared by identity"),
    ({"a": 1}, {"a": 1}, "which dict it is: dicts are compared by identity"),
    (Celsius(1.0), 1.0, "the class"),
    (Celsius(1.0), Celsius(1.0), "which object it is"),
    (3 + 0j, 3.0, "the class"),
    (Secretive(), Secretive(), "which object it is"),
    ([Secretive()], [Secretive()], "which object it is, in a list"),
]


def tensor_pairs():
    """Yield (one, other, what distinguishes them) for tensors."""
    x = torch.randn(3, 4)
    yield x, torch.randn(4, 3), "the shape"
    yield x, torch.randn(12), "the shape"
    yield x, x.double(), "the dtype"
    yield x, torch.randn(4, 3).t(), "the strides"
    yield x, torch.randn(6, 4)[::2], "the strides"
    yield x, torch.randn(3, 4, requires_grad=True), "whether gradients are wanted"
    yield x, 1.0, "a tensor and a number"
    yield [x], [x.double()], "the dtype of a tensor in a list"
    yield torch.tensor(1.0), 1.0, "a tensor and a number"


class SameForAGuard(Exercise):
    """The same for a guard

    Write `same(x, y)`: may a recording that was made with `x` be replayed with `y`?

    - Numbers, strings, bools and `None`: the same type and exactly the same value. `nan` is the same as
      `nan`, and `0.0` isn't the same as `-0.0`.
    - Lists and tuples: the same type, the same length, and items that are the same.
    - Tensors: the same shape, strides, dtype and `requires_grad`. Their values don't matter.
    - Anything else, sets, dicts and your own classes included: only if it's the same object. Never call `==`
      of such an object: it may run code.
    """

    kind = "implement"
    idea = "What must be the same"
    stub = """
        def same(x, y):
            return x == y
    """
    hints = [
        "Compare the types first: `type(x) is not type(y)` answers most questions.",
        "Two floats: `x.hex() == y.hex()` compares all bits, and it's `'nan'` for each nan.",
        "Lists and tuples: the same length, and `all(same(a, b) for a, b in zip(x, y))`. At the end: `x is y`.",
    ]
    solution = """
        def same(x, y):
            if type(x) is not type(y):
                return False
            if isinstance(x, torch.Tensor):
                layouts = [(z.shape, z.stride(), z.dtype, z.requires_grad) for z in (x, y)]
                return layouts[0] == layouts[1]
            if type(x) is float:
                return x.hex() == y.hex()
            if type(x) in (int, bool, str):
                return x == y
            if type(x) in (list, tuple):
                return len(x) == len(y) and all(same(a, b) for a, b in zip(x, y))
            return x is y
    """
    reason = """
        The order matters: the types are compared before anything else, and `is` is the answer for everything that
        isn't known. `None` needs no line of its own, because there is only one.
    """
    wrong = [
        Wrong(
            """
            def same(x, y):
                if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor):
                    return (x.shape, x.stride(), x.dtype, x.requires_grad) == (
                        y.shape, y.stride(), y.dtype, y.requires_grad)
                if type(x) in (list, tuple):
                    return type(x) is type(y) and len(x) == len(y) and all(map(same, x, y))
                if type(x) is float and type(y) is float:
                    return x.hex() == y.hex()
                return x is y or (type(x) in (int, float, bool, str) and x == y)
            """,
            says="an int and a bool",
            why="`1 == True` holds. The types have to be compared, not only the values.",
        ),
        Wrong(
            """
            def same(x, y):
                if type(x) is not type(y):
                    return False
                if isinstance(x, torch.Tensor):
                    return (x.shape, x.dtype, x.requires_grad) == (y.shape, y.dtype, y.requires_grad)
                if type(x) is float:
                    return x.hex() == y.hex()
                if type(x) in (list, tuple):
                    return len(x) == len(y) and all(map(same, x, y))
                return x is y or (type(x) in (int, bool, str) and x == y)
            """,
            says="the strides",
            why="A transposed tensor has the same shape, but its elements lie elsewhere.",
        ),
        Wrong(
            """
            def same(x, y):
                if type(x) is not type(y):
                    return False
                if isinstance(x, torch.Tensor):
                    return (x.shape, x.stride(), x.dtype, x.requires_grad) == (
                        y.shape, y.stride(), y.dtype, y.requires_grad)
                if type(x) is float:
                    return x.hex() == y.hex()
                if type(x) in (list, tuple):
                    return all(map(same, x, y))
                return x is y or (type(x) in (int, bool, str) and x == y)
            """,
            says="the length",
            why="`zip` and `map` stop where the shorter one ends.",
        ),
        Wrong(
            """
            def same(x, y):
                if type(x) is not type(y):
                    return False
                if isinstance(x, torch.Tensor):
                    return (x.shape, x.stride(), x.dtype, x.requires_grad) == (
                        y.shape, y.stride(), y.dtype, y.requires_grad)
                if type(x) is float:
                    return x == y and str(x) == str(y)
                if type(x) in (list, tuple):
                    return len(x) == len(y) and all(map(same, x, y))
                return x is y or (type(x) in (int, bool, str) and x == y)
            """,
            says="nan",
            why="A nan isn't equal to itself. With this check, its guard never holds.",
        ),
        Wrong(
            """
            def same(x, y):
                return type(x) is type(y) and (x is y or x == y)
            """,
            says="a tensor with other values",
            why="`==` of two tensors compares values, and a guard must not look at them.",
        ),
        Wrong(
            """
            def same(x, y):
                if type(x) is not type(y):
                    return False
                if isinstance(x, torch.Tensor):
                    return (x.shape, x.stride(), x.dtype, x.requires_grad) == (
                        y.shape, y.stride(), y.dtype, y.requires_grad)
                if type(x) is float:
                    return x.hex() == y.hex()
                if type(x) in (list, tuple):
                    return len(x) == len(y) and all(map(same, x, y))
                return x == y
            """,
            says="compared by identity",
            why="Two sets that are equal now needn't be equal later, and `==` may run code.",
        ),
    ]

    def check(same):
        x = torch.randn(3, 4)
        layouts = [
            (x, torch.randn(3, 4)),
            (torch.randn(2, 3).t(), torch.randn(2, 3).t()),
            ([x, 1], [x + 1, 1]),
        ]
        for one, other in layouts:
            require(
                same(one, other) is True,
                "The layout is what counts: a tensor with other values is the same.",
            )
        require(
            same(float("nan"), float("nan")) is True,
            "same(nan, nan) must be True: a recording that was made with nan is right for nan.",
        )
        for one, other, what in [*PAIRS, *tensor_pairs()]:
            for pair in ((one, other), (other, one)):
                came = same(*pair)
                require(
                    came is False,
                    f"same({shown(pair[0])}, {shown(pair[1])}) gave {came!r}, but they differ: {what}.",
                )
        for thing in ({1, 2}, {"a": 1}, Secretive(), Celsius(2.0), len, [Secretive()]):
            again = list(thing) if type(thing) is list else thing
            require(
                same(thing, again) is True,
                f"same({shown(thing)}, the same object) must be True.",
            )
        for _ in range(300):
            value = random_value()
            twin = made_again(value)
            require(
                same(value, twin) is True, f"same({value!r}, an equal copy of it) must be True."
            )
            other = random_value()
            expected = exactly(value) == exactly(other)
            expect(same(value, other), expected, f"same({value!r}, {other!r})")


def shown(value):
    if isinstance(value, torch.Tensor):
        return f"tensor of shape {tuple(value.shape)}"
    if isinstance(value, Secretive):
        return "an object"
    if isinstance(value, Celsius):
        return "Celsius(...)"
    return "[an object]" if type(value) is list and any(map(is_object, value)) else repr(value)


def is_object(value):
    return isinstance(value, Secretive | torch.Tensor)


PLAIN = [True, False, 2, 3, 4.5, "a", "b"]  # == keeps these apart
SEEN = [True, False, 1, 0, 1.0, 0.0, -0.0, math.nan, (1, 2), (1.0, 2)]


def random_program(depth, choices, name="q"):
    """Return a program that asks questions: a nested dict {"ask": name, key: (value, program)}, or a result."""
    if depth == 0 or (len(name) > 2 and random.random() < 0.3):
        return random.choice([None, 0, name, [name]])
    branches = {
        exactly(one): (one, random_program(depth - 1, choices, f"{name}{number}"))
        for number, one in enumerate(random.sample(choices, 3))
    }
    return {"ask": name, **branches}


def paths_of(program):
    """Yield (path, result) of each way through a program."""
    if not isinstance(program, dict):
        yield [], program
        return
    for key, branch in program.items():
        if key != "ask":
            for path, result in paths_of(branch[1]):
                yield [(program["ask"], branch[0]), *path], result


class TreeOfBranches(Exercise):
    """A tree of branches

    Here, a recording has a path and a result. The path is a list of pairs `(question, value)`: the function
    asked these questions in this order, and saw these values. Which question comes next depends only on the
    values seen so far. Write two functions.

    - `add(tree, path, result)` adds a recording to `tree`, a dict that is empty at first. How you use it is
      up to you.
    - `find(tree, ask)` walks down: `ask(question)` says which value the question has now. It returns the result
      that was recorded for these values, and raises `KeyError` where none was. It asks each question on its
      way once, and no others.

    Values are the same if `exactly` of `tiny_capture.py` gives equal keys. A path may be empty, and a result
    may be `None`.
    """

    kind = "implement"
    idea = "A tree of what was seen"
    stub = """
        from tiny_capture import exactly


        def add(tree, path, result):
            tree["result"] = result


        def find(tree, ask):
            return tree["result"]
    """
    hints = [
        "Each node needs its question, its children, and at the end of a path, a result.",
        'Let a node be a dict: `node["ask"]` is the question, `node["below"]` maps `exactly(value)` to nodes. '
        "`dict.setdefault` makes a node that isn't there yet.",
        'In `find`: `while "ask" in node: node = node["below"][exactly(ask(node["ask"]))]`, then `node["result"]`.',
    ]
    solution = """
        from tiny_capture import exactly


        def add(tree, path, result):
            node = tree
            for question, value in path:
                node["ask"] = question
                node = node.setdefault("below", {}).setdefault(exactly(value), {})
            node["result"] = result


        def find(tree, ask):
            node = tree
            while "ask" in node:
                node = node["below"][exactly(ask(node["ask"]))]
            return node["result"]
    """
    reason = """
        Paths share their nodes up to the first value that differs, so a question is asked once for all of them. Both
        lookups raise `KeyError` by themselves where nothing was recorded.
    """
    wrong = [
        Wrong(
            """
            def add(tree, path, result):
                node = tree
                for question, value in path:
                    node["ask"] = question
                    node = node.setdefault("below", {}).setdefault(value, {})
                node["result"] = result


            def find(tree, ask):
                node = tree
                while "ask" in node:
                    node = node["below"][ask(node["ask"])]
                return node["result"]
            """,
            says="exactly",
            why="A dict takes 1, 1.0 and True for one key, and never finds a nan again.",
        ),
        Wrong(
            """
            from tiny_capture import exactly


            def add(tree, path, result):
                key = tuple((question, exactly(value)) for question, value in path)
                tree[key] = result


            def find(tree, ask):
                for key, result in tree.items():
                    if all(exactly(ask(question)) == value for question, value in key):
                        return result
                raise KeyError
            """,
            says="more than once",
            why="In a replay, to ask means to run ops. A list of paths asks the first question again and again.",
        ),
        Wrong(
            """
            from tiny_capture import exactly


            def add(tree, path, result):
                node = tree
                for question, value in path:
                    node["ask"] = question
                    node["below"] = {exactly(value): node.get("below", {}).get(exactly(value), {})}
                    node = node["below"][exactly(value)]
                node["result"] = result


            def find(tree, ask):
                node = tree
                while "ask" in node:
                    node = node["below"][exactly(ask(node["ask"]))]
                return node["result"]
            """,
            says="was recorded, but",
            why="A new dict of children throws the other branches away.",
        ),
        Wrong(
            """
            from tiny_capture import exactly


            def add(tree, path, result):
                node = tree
                for question, value in path:
                    node["ask"] = question
                    node = node.setdefault("below", {}).setdefault(exactly(value), {})
                node["result"] = result


            def find(tree, ask):
                node = tree
                while "ask" in node:
                    node = node["below"].get(exactly(ask(node["ask"])))
                    if node is None:
                        return None
                return node["result"]
            """,
            says="raise KeyError. called:",
            why="`None` may be a result. An unseen value needs an error.",
        ),
    ]

    def check(add, find):
        for depth in (0, 1, 2, 3, 3):
            check_program(add, find, random_program(depth, PLAIN), "")
        remark = " Is each value looked up by exactly(value)?"
        for depth in (1, 1, 2, 2, 3, 3, 4):
            check_program(add, find, random_program(depth, SEEN), remark)
        one_and_true = {"ask": "q", **{exactly(v): (v, repr(v)) for v in SEEN}}
        for _ in range(4):
            check_program(add, find, one_and_true, remark)


def check_program(add, find, program, remark):
    """Check trees of half of a program's paths."""
    paths = list(paths_of(program))
    random.shuffle(paths)
    known, unknown = paths[: len(paths) // 2 + 1], paths[len(paths) // 2 + 1 :]
    tree, other = {}, {}
    for path, result in known + known[:2]:
        add(tree, list(path), result)
    for one in known + unknown:
        check_path(find, tree, one, [path for path, _ in known], remark)
    check_path(find, other, paths[0], [], remark)


def check_path(find, tree, recording, known, remark):
    """Check what `find` says and asks where the questions have the values of a path; known: the recorded paths."""
    path, result = recording
    values, asked = dict(path), []

    def ask(question):
        asked.append(question)
        require(asked.count(question) == 1, f"find asks {question!r} more than once.")
        require(question in values, f"find asks {question!r}, a question of another path.{remark}")
        value = values[question]
        return float("nan") if value != value else value

    keys = [[(q, exactly(v)) for q, v in one] for one in known]
    mine = [(q, exactly(v)) for q, v in path]
    try:
        came = find(tree, ask)
    except KeyError:
        require(
            mine not in keys, f"The path {path} was recorded, but find raises KeyError.{remark}"
        )
        longest = max((common(one, mine) for one in keys), default=-1)
        expected = [question for question, _ in path[: longest + 1]]
        require(
            asked == expected,
            f"For {path}, find asks {asked} before it raises KeyError, and should ask {expected}.{remark}",
        )
        return
    require(mine in keys, f"{path} was never recorded, so find must raise KeyError.{remark}")
    right = type(came) is type(result) and came == result
    require(right, f"The result of {path} is {came!r}, and should be {result!r}.{remark}")
    questions = [question for question, _ in path]
    require(asked == questions, f"For {path}, find asks {asked}, and should ask {questions}.")


def common(one, other):
    """Return how many pairs two paths share at their beginning."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


class Part:
    """A step that notes whether it ran inside of a compiled function."""

    def __init__(self, name, breaks, world):
        self.name, self.breaks, self.world = name, breaks, world

    def __call__(self, x):
        self.world["ran"].append((self.name, self.world["inside"]))
        return x * 2 + self.name


class BreakAtParts(Exercise):
    """A graph break at module calls

    A model is a list of parts: functions of one tensor that are called one after the other. Some of them
    can't be recorded. Write `compile_parts(parts, can_record, compile)`. It returns a function that does
    what the parts do, in order.

    - Parts that follow each other and for which `can_record(part)` is true become *one* function, and
      `compile` is called on it. It returns the compiled function, and that is what runs.
    - The other parts run as they are, outside of any compiled function.
    - `compile` is called once for each such group, also if the function that you return is called often, and
      never for an empty group.
    """

    kind = "extend"
    idea = "Six graph breaks"
    stub = """
        def compile_parts(parts, can_record, compile):
            def run(x):
                for part in parts:
                    x = part(x)
                return x

            return compile(run)
    """
    hints = [
        "First make a list of groups, then compile the groups, then return a function that runs the list.",
        "`itertools.groupby(parts, can_record)` yields pairs of the answer and the parts that share it.",
        "A function made in a loop sees the loop's variable as it is *later*. Make it in a function of its own: "
        "`def chain(group): ...` returns the function that runs a group.",
    ]
    solution = """
        from itertools import groupby


        def chain(group):
            def run(x):
                for part in group:
                    x = part(x)
                return x

            return run


        def compile_parts(parts, can_record, compile):
            steps = []
            for is_recorded, group in groupby(parts, can_record):
                step = chain(list(group))
                steps.append(compile(step) if is_recorded else step)
            return chain(steps)
    """
    reason = """
        The returned function is a chain of chains. `chain` is called for each group, so that each function has its
        own `group`: functions made in the loop itself would all see the last one.
    """
    wrong = [
        Wrong(
            """
            def compile_parts(parts, can_record, compile):
                steps = [compile(part) if can_record(part) else part for part in parts]

                def run(x):
                    for step in steps:
                        x = step(x)
                    return x

                return run
            """,
            says="one function for each group",
            why="Each part became a graph of its own. Chains that follow each other can't be fused then.",
        ),
        Wrong(
            """
            from itertools import groupby


            def compile_parts(parts, can_record, compile):
                steps = []
                for is_recorded, group in groupby(parts, can_record):
                    group = list(group)

                    def step(x):
                        for part in group:
                            x = part(x)
                        return x

                    steps.append(compile(step) if is_recorded else step)

                def run(x):
                    for step in steps:
                        x = step(x)
                    return x

                return run
            """,
            says="runs the parts",
            why="All the functions `step` share one variable `group`, and at the end it holds the last group.",
        ),
        Wrong(
            """
            from itertools import groupby


            def compile_parts(parts, can_record, compile):
                groups = [(is_recorded, list(group)) for is_recorded, group in groupby(parts, can_record)]

                def chain(group):
                    def run(x):
                        for part in group:
                            x = part(x)
                        return x

                    return run

                def run(x):
                    for is_recorded, group in groups:
                        x = compile(chain(group))(x) if is_recorded else chain(group)(x)
                    return x

                return run
            """,
            says="in later calls",
            why="A function that is compiled again in each call is recorded again in each call.",
        ),
        Wrong(
            """
            def compile_parts(parts, can_record, compile):
                def run(x):
                    for part in parts:
                        x = part(x)
                    return x

                return compile(run) if all(map(can_record, parts)) else run
            """,
            says="never compiled",
            why="One part that can't be recorded is no reason to give up the others.",
        ),
        Wrong(
            """
            from itertools import groupby


            def compile_parts(parts, can_record, compile):
                def chain(group):
                    def run(x):
                        for part in group:
                            x = part(x)
                        return x

                    return run

                steps = []
                for is_recorded, group in groupby(parts, can_record):
                    group = list(group)
                    steps.append(compile(chain(group)))
                return chain(steps)
            """,
            says="inside of a compiled function",
            why="These are the parts that can't be recorded.",
        ),
    ]

    def check(compile_parts):
        patterns = ["RR", "RRBRR", "BRRRB", "RBRBR", "BB", "B", "R", ""]
        patterns += [
            "".join(random.choice("RRB") for _ in range(random.randint(4, 9))) for _ in range(12)
        ]
        for pattern in patterns:
            check_pattern(compile_parts, pattern)


def check_pattern(compile_parts, pattern):
    """Check one model: R is a part that can be recorded, B one that can't."""
    world = {"inside": 0, "ran": [], "compiled": 0}
    parts = [Part(i + 1, letter == "B", world) for i, letter in enumerate(pattern)]

    def compile(function):
        world["compiled"] += 1
        mark = world["compiled"]

        def compiled(x):
            before, world["inside"] = world["inside"], mark
            result = function(x)
            world["inside"] = before
            return result

        return compiled

    groups = len([one for one in pattern.split("B") if one])
    model = compile_parts(list(parts), lambda part: not part.breaks, compile)
    about = f"A model with the parts {' '.join(pattern) or '(none)'}, where R can be recorded"
    for call in range(3):
        world["ran"].clear()
        x = expected = torch.tensor([random.random(), 1.0])
        for part in parts:
            expected = expected * 2 + part.name
        came = model(x)
        names = [name for name, _ in world["ran"]]
        order = [part.name for part in parts]
        require(names == order, f"{about}: it runs the parts {names}, but should run {order}.")
        expect(came, expected, f"the result of a model with the parts {' '.join(pattern)}")
        for name, inside in world["ran"]:
            if pattern[name - 1] == "B":
                require(not inside, f"{about}: part {name} ran inside of a compiled function.")
            else:
                require(inside, f"{about}: part {name} was never compiled.")
        marks = [inside for _, inside in world["ran"]]
        together = all(
            marks[i] == marks[i + 1] for i in range(len(marks) - 1) if pattern[i : i + 2] == "RR"
        )
        require(together, f"{about}: there must be one function for each group of parts.")
        if call:
            require(
                world["compiled"] <= groups, f"{about}: compile is called again in later calls."
            )
        expect(
            world["compiled"],
            groups,
            f"how often compile is called for the parts {' '.join(pattern)}",
        )


def careless_key(value, *, number=None, listed=None, tensor=None):
    """Return `exactly(value)`, with other rules for numbers, for lists and tuples, or for tensors."""
    if number is not None and type(value) in (int, float, bool):
        return number(value)
    if isinstance(value, list | tuple):
        if listed is not None:
            return listed(value)
        rules = {"number": number, "tensor": tensor}
        return type(value), *(careless_key(one, **rules) for one in value)
    if tensor is not None and isinstance(value, torch.Tensor):
        return tensor(value)
    return exactly(value)


class KeysThatForget(BugHunt):
    """Keys that forget

    `key(value)` is what the guards of `tiny_capture.py` compare. Two values have equal keys only if no program
    can tell them apart. A value and an equal copy of it have equal keys, and so have two tensors of one
    layout. Values are numbers, strings, `None`, tensors, and lists and tuples of these. A key is something that
    a dict can use.

    Write a test that raises `AssertionError` if a key is wrong.
    """

    idea = "Guards that forget"
    stub = """
        def test(key):
            assert key(1) != key(2)
            assert key([1, 2]) == key([1, 2])
    """
    hints = [
        "Test in both directions: what must have different keys, and what must have equal ones.",
        "Numbers: types, the sign of zero, nan. Lists: order, length, items of items, and a list that is changed "
        "between two calls of `key`.",
        "Tensors: shape, strides, dtype, `requires_grad`. Other values in the same layout must not matter.",
    ]
    solution = """
        def test(key):
            row = torch.arange(6.0).reshape(2, 3)
            different = [(1, True), (1, 1.0), (0.0, -0.0), ([1, 2], (1, 2)), ([1, 2], [2, 1])]
            different += [([1], [1, 1]), ([[1]], [[2]]), ("1", 1), (None, False)]
            different += [(row, row.reshape(3, 2)), (row, row.double()), (row, row.clone().requires_grad_())]
            different += [(row, row.t().contiguous().t()), ([row], [row.double()])]
            for one, other in different:
                assert key(one) != key(other), (one, other)
            for one, other in ((row, row + 1), ([0.5], [0.5]), (float("nan"), float("nan"))):
                assert key(one) == key(other), (one, other)
            items = [1.0]
            before = key(items)
            items[0] = 2.0
            assert key(items) != before
    """
    reason = """
        A key that keeps too much apart is a bug as well: each call would be a new recording. And a list may change
        between two calls, so its identity says nothing.
    """

    wrong = [
        Wrong(
            """
            def test(key):
                for one, other in ((1, True), (1, 1.0), (0.0, -0.0), (1, 2), ([1, 2], (1, 2))):
                    assert key(one) != key(other)
            """,
            says="planted bugs",
            why="Only numbers: most bugs are in lists and tensors, or keep too much apart.",
        ),
        Wrong(
            """
            def test(key):
                x = torch.zeros(2, 3)
                assert key(x) != key(x + 1)
                assert key(x) == key(x)
            """,
            says="The first half fails",
            why="The values of a tensor must not be in its key, or each call would be a new recording.",
        ),
    ]

    def right(value):
        return exactly(value)

    def takes_true_for_one(value):
        """numbers are compared by ==, so 1, 1.0 and True are one key"""
        return careless_key(value, number=lambda n: "nan" if n != n else str(n + 0.0))

    def forgets_int_and_float(value):
        """2 and 2.0 have one key"""
        return careless_key(
            value,
            number=lambda n: exactly(n) if type(n) is bool else (float, float(n).hex()),
        )

    def forgets_the_sign_of_zero(value):
        """0.0 and -0.0 have one key"""
        return careless_key(value, number=lambda n: exactly(n if n else type(n)(0)))

    def never_finds_nan(value):
        """nan has another key each time"""
        return careless_key(value, number=lambda n: exactly(n) if n == n else ("nan", object()))

    def keeps_lists_by_identity(value):
        """a list that was changed has its old key"""
        return careless_key(
            value,
            listed=lambda v: ("list", id(v)) if type(v) is list else (tuple, *map(exactly, v)),
        )

    def takes_a_list_for_a_tuple(value):
        """a list and a tuple of the same items have one key"""
        return careless_key(value, listed=lambda v: ("items", *map(exactly, v)))

    def forgets_the_order(value):
        """the items of a list are sorted"""
        return careless_key(value, listed=lambda v: (type(v), *sorted(map(exactly, v), key=str)))

    def looks_into_the_outer_list_only(value):
        """of lists in lists, only the length counts"""

        def items(v):
            return tuple(len(one) if isinstance(one, list | tuple) else exactly(one) for one in v)

        return careless_key(value, listed=lambda v: (type(v), items(v)))

    def forgets_the_strides(value):
        """a tensor and one with other strides have one key"""
        return careless_key(
            value, tensor=lambda x: ("tensor", tuple(x.shape), x.dtype, x.requires_grad)
        )

    def forgets_the_dtype(value):
        """a float32 and a float64 tensor have one key"""
        return careless_key(
            value, tensor=lambda x: ("tensor", tuple(x.shape), x.stride(), x.requires_grad)
        )

    def forgets_gradients(value):
        """whether a tensor wants gradients is left out"""
        return careless_key(value, tensor=lambda x: ("tensor", tuple(x.shape), x.stride(), x.dtype))

    def looks_at_values(value):
        """a tensor with other values has another key"""
        return careless_key(value, tensor=lambda x: (*exactly(x), str(x.detach().tolist())))

    bugs = [
        takes_true_for_one,
        forgets_int_and_float,
        forgets_the_sign_of_zero,
        never_finds_nan,
        keeps_lists_by_identity,
        takes_a_list_for_a_tuple,
        forgets_the_order,
        looks_into_the_outer_list_only,
        forgets_the_strides,
        forgets_the_dtype,
        forgets_gradients,
        looks_at_values,
    ]
