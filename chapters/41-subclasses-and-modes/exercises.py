"""Exercises of chapter 41, subclasses and modes."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, expect_error, require

IMPORTS = "import tensorlab as torch"


COUNTED_CALLS = [  # the name that a hook sees, what it stands for, the call
    ("sum", "x.sum(dim=1, keepdim=True)", lambda x: x.sum(dim=1, keepdim=True)),
    ("mul", "3 * x", lambda x: 3 * x),
    ("sub", "torch.ones(2, 2) - x", lambda x: torch.ones(2, 2) - x),
    ("amax", "x.amax(dim=0)", lambda x: x.amax(dim=0)),
    ("cat", "torch.cat([torch.ones(1, 2), x])", lambda x: torch.cat([torch.ones(1, 2), x])),
    ("mm", "torch.mm(torch.ones(2, 2), x)", lambda x: torch.mm(torch.ones(2, 2), x)),
    ("div", "torch.div(torch.ones(2), other=x)", lambda x: torch.div(torch.ones(2), other=x)),
    ("unbind", "x.unbind()", lambda x: x.unbind()),
    ("__getitem__", "x[1]", lambda x: x[1]),
    ("sqrt", "x.sqrt()", lambda x: x.sqrt()),
    ("tolist", "x.tolist()", lambda x: x.tolist()),
]


def numbers_of(result):
    """Return the numbers of a tensor, or of a tuple of them, as lists."""
    if isinstance(result, tuple):
        return [one.tolist() for one in result]
    return result.tolist() if isinstance(result, torch.Tensor) else result


class WhoseClass(Exercise):
    """Whose class?

    `Child` inherits `Parent`, `Parent` and `Loner` inherit `torch.Tensor`, and none of the three defines a hook. With

        child, parent = torch.ones(2).as_subclass(Child), torch.ones(2).as_subclass(Parent)
        loner, weight = torch.ones(2).as_subclass(Loner), torch.nn.Parameter(torch.ones(2))

    which class does each result have? Write its name as a string, or `"error"` if the program raises. Replace
    each `None` before you run anything.
    """

    kind = "warm-up"
    idea = "Whose hook is called"
    stub = """
        answers = {
            "parent * 2": None,
            "parent + child": None,
            "weight + parent": None,
            "weight + weight": None,
            "torch.cat([loner, parent])": None,
            "child.sum().tolist()": None,
        }
    """
    hints = [
        "A default hook answers if its class inherits all the classes that are asked. Otherwise it passes.",
        "`Parameter` disables its hook, so it isn't among the classes that are asked.",
        "`Loner` and `Parent` aren't related, so both pass. And `tolist()` returns plain Python numbers.",
    ]
    solution = """
        answers = {
            "parent * 2": "Parent",
            "parent + child": "Child",
            "weight + parent": "Parent",
            "weight + weight": "Tensor",
            "torch.cat([loner, parent])": "error",
            "child.sum().tolist()": "float",
        }
    """
    reason = """
        `Child` is asked before `Parent`, although it stands on the right, because it inherits `Parent`. If no class
        inherits all the others, all of them pass, and that's an error.
    """
    wrong = [
        Wrong(
            """
            answers = {
                "parent * 2": "Parent",
                "parent + child": "Parent",
                "weight + parent": "Parent",
                "weight + weight": "Tensor",
                "torch.cat([loner, parent])": "error",
                "child.sum().tolist()": "float",
            }
            """,
            says="a class comes before",
            why="The rule is from left to right, but a class comes before those that it inherits.",
        ),
        Wrong(
            """
            answers = {
                "parent * 2": "Parent",
                "parent + child": "Child",
                "weight + parent": "Parent",
                "weight + weight": "Parameter",
                "torch.cat([loner, parent])": "error",
                "child.sum().tolist()": "float",
            }
            """,
            says="disables its hook",
            why="A sum of two parameters isn't a parameter: it should not be learned.",
        ),
        Wrong(
            """
            answers = {
                "parent * 2": "Parent",
                "parent + child": "Child",
                "weight + parent": "Parent",
                "weight + weight": "Tensor",
                "torch.cat([loner, parent])": "Loner",
                "child.sum().tolist()": "float",
            }
            """,
            says="aren't related",
            why="`Loner` is asked first, but it doesn't inherit `Parent`, so its default hook passes.",
        ),
        Wrong(
            """
            answers = {
                "parent * 2": "Tensor",
                "parent + child": "Tensor",
                "weight + parent": "Tensor",
                "weight + weight": "Tensor",
                "torch.cat([loner, parent])": "Tensor",
                "child.sum().tolist()": "float",
            }
            """,
            says="inherits a hook",
            why="The kernels do make plain tensors. But afterwards the default hook converts them.",
        ),
        Wrong(
            "answers = {}",
            says="the programs in answers",
            why="Every program needs an answer.",
        ),
    ]

    def check(answers):
        class Parent(torch.Tensor):
            pass

        class Child(Parent):
            pass

        class Loner(torch.Tensor):
            pass

        child, parent = torch.ones(2).as_subclass(Child), torch.ones(2).as_subclass(Parent)
        loner, weight = torch.ones(2).as_subclass(Loner), torch.nn.Parameter(torch.ones(2))
        names = {"torch": torch, "child": child, "parent": parent, "loner": loner, "weight": weight}
        truth = {}
        for program in (
            "parent * 2",
            "parent + child",
            "weight + parent",
            "weight + weight",
            "torch.cat([loner, parent])",
            "child.sum().tolist()",
        ):
            try:
                truth[program] = type(eval(program, names)).__name__
            except TypeError:
                truth[program] = "error"
        require(isinstance(answers, dict), "answers must be a dict, as in the stub.")
        expect(sorted(answers, key=str), sorted(truth), "the programs in answers")
        remarks = {
            (
                "parent * 2",
                "Tensor",
            ): "parent * 2: an empty class inherits a hook, and that hook converts the result.",
            (
                "parent + child",
                "Parent",
            ): "parent + child: a class comes before those that it inherits.",
            (
                "weight + parent",
                "error",
            ): "weight + parent: Parameter disables its hook. Who is left to be asked?",
            ("weight + parent", "Parameter"): "weight + parent: Parameter disables its hook.",
            ("weight + weight", "Parameter"): "weight + weight: Parameter disables its hook.",
            (
                "torch.cat([loner, parent])",
                "Loner",
            ): "torch.cat([loner, parent]): Loner and Parent aren't related, so Loner's hook passes.",
            (
                "torch.cat([loner, parent])",
                "Tensor",
            ): "torch.cat([loner, parent]): tensors in lists are asked, too. What if they all pass?",
            (
                "child.sum().tolist()",
                "Child",
            ): "child.sum().tolist(): tolist() doesn't return a tensor.",
        }
        for program, name in truth.items():
            said = answers[program]
            require((program, said) not in remarks, remarks.get((program, said), ""))
            expect(said, name, f"the class of {program}")


class Counted(Exercise):
    """A tensor that counts calls

    Write a class `Counted` that inherits `torch.Tensor` and computes what a plain tensor computes. Its
    results are `Counted`, too. Its dict `Counted.calls` says how often each function was called with a
    `Counted` among its arguments: after `x + x` and `x.exp()` it is `{"add": 1, "exp": 1}`. Calls that the
    hook itself makes must not count.
    """

    kind = "implement"
    idea = "A logging tensor"
    beside = "the answer is a class that the library itself calls"
    stub = """
        class Counted(torch.Tensor):
            calls = {}
    """
    hints = [
        "`LoggingTensor` is nearly what you need. Which of its lines must be different?",
        "`@classmethod`, `__torch_function__(cls, func, types, args=(), kwargs=None)`, and the name is "
        "`func.__name__`.",
        "`cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1`, and then "
        "`return super().__torch_function__(func, types, args, kwargs)`.",
    ]
    solution = """
        class Counted(torch.Tensor):
            calls = {}

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1
                return super().__torch_function__(func, types, args, kwargs)
    """
    reason = """
        The parent's hook runs the function with hooks disabled, so the calls inside it aren't counted. Then
        it converts the result to `Counted`.
    """
    wrong = [
        Wrong(
            """
            class Counted(torch.Tensor):
                calls = {}

                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1
                    with torch.DisableTorchFunctionSubclass():
                        return func(*args, **(kwargs or {}))
            """,
            says="lost its class",
            why="With hooks disabled, the function returns a plain tensor, and nothing converts it to a `Counted`.",
        ),
        Wrong(
            """
            class Counted(torch.Tensor):
                calls = {}

                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    cls.calls[func.__name__] = 1
                    return super().__torch_function__(func, types, args, kwargs)
            """,
            says="after call number 2",
            why="Each call sets the count to 1 again.",
        ),
        Wrong(
            """
            class Counted(torch.Tensor):
                calls = {}

                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1
                    return super().__torch_function__(func, types, args)
            """,
            says="keyword",
            why="The keyword arguments are lost on the way, so another call is made than the user wrote.",
        ),
        Wrong(
            """
            class Counted(torch.Tensor):
                calls = {}

                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    if args and isinstance(args[0], cls):
                        cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1
                    return super().__torch_function__(func, types, args, kwargs)
            """,
            says="was not counted",
            why="The `Counted` can be the second argument, or inside a list, or a keyword argument.",
        ),
        Wrong(
            """
            class Counted(torch.Tensor):
                calls = {}

                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1
                    with torch.DisableTorchFunctionSubclass():
                        result = func(*args, **(kwargs or {}))
                    return result.as_subclass(cls) if isinstance(result, torch.Tensor) else result
            """,
            says="each tensor in it",
            why="Some functions return several tensors, in a tuple.",
        ),
    ]

    def check(Counted):
        rng = random.Random()
        values = [[rng.randint(1, 9), rng.randint(1, 9)] for _ in range(2)]
        plain = torch.tensor(values, dtype=torch.float32)
        x, count = plain.as_subclass(Counted), {}
        Counted.calls.clear()
        for name, written, call in [
            ("add", "x + x", lambda y: y + y),
            ("exp", "x.exp()", lambda y: y.exp()),
            COUNTED_CALLS[0],
            *rng.choices(COUNTED_CALLS, k=12),
            *rng.sample(COUNTED_CALLS, len(COUNTED_CALLS)),
        ]:
            expected, came = call(plain), call(x)
            count[name] = count.get(name, 0) + 1
            if isinstance(came, tuple):
                several = all(type(one) is Counted for one in came)
                require(several, f"{written} returns a tuple: each tensor in it must be a Counted.")
            elif isinstance(came, torch.Tensor):
                kind = type(came).__name__
                require(type(came) is Counted, f"{written} has lost its class: it is a {kind}.")
            with torch.DisableTorchFunctionSubclass():
                right = numbers_of(came) == numbers_of(expected)
            keyword = " A keyword argument was lost." if "=" in written else ""
            require(right, f"{written} computes something else than a plain tensor does.{keyword}")
            found = dict(Counted.calls)
            require(name in found, f"{written} was not counted as a call of {name}.")
            about = f"Counted.calls[{name!r}] after call number {count[name]} of {name}"
            expect(found[name], count[name], about)
            expect(sorted(found), sorted(count), f"the names in Counted.calls after {written}")
            expect(found, count, f"Counted.calls after {written}")
        plain + plain
        expect(dict(Counted.calls), count, "Counted.calls after a call with plain tensors")
        require(x.add_(1) is x, "x.add_(1) must return x itself.")
        expect_error(RuntimeError, lambda: x @ torch.ones(3), about="x @ ones(3)")


FORBIDDEN_CALLS = {  # a function's name, and a call of it, with a tensor of a class
    "zeros": lambda x: torch.zeros(2),
    "exp": lambda x: torch.exp(x),
    "expand": lambda x: x.expand(3, 2),
    "add": lambda x: 1 + x,
    "add_": lambda x: x.add_(1),
    "zeros_like": lambda x: torch.zeros_like(input=x),
    "cat": lambda x: torch.cat([torch.ones(2), x]),
    "sum": lambda x: torch.ones(3).sum(),
    "cumsum": lambda x: x.cumsum(0),
    "tensor": lambda x: torch.tensor([1.0]),
}


def check_names(Forbid, x):
    """Check that each of some names is forbidden, and no other."""
    every = list(FORBIDDEN_CALLS)
    several = [random.sample(every, random.randint(2, 4)) for _ in range(8)]
    for names in [*([name] for name in every), *several, []]:
        mode = f"Forbid({', '.join(map(repr, names))})"
        before = x.tolist()
        with Forbid(*names):
            for name in [*names, *(name for name in every if name not in names)]:
                call = FORBIDDEN_CALLS[name]
                if name in names:
                    without = name in ("zeros", "tensor")
                    remark = ": also forbidden if no argument is a tensor" if without else ""
                    expect_error(
                        RuntimeError,
                        lambda call=call: call(x),
                        about=f"{name} inside {mode}{remark}",
                    )
                    with torch.DisableTorchFunction():
                        same = x.tolist() == before
                    about = f"{name} inside {mode} raised an error, but the function has run."
                    require(same, about)
                    continue
                try:
                    call(x)
                except RuntimeError:
                    allowed = False
                else:
                    allowed = True
                about = f"{name} inside {mode} raised an error, but {name} is another function."
                require(allowed, about)


def check_nested(Forbid, x):
    """Check a block in another, the same mode twice, and what is left after an error."""
    outer, inner = Forbid("exp"), Forbid("sqrt")
    for _ in range(2):
        with outer:
            with inner:
                for name in ("exp", "sqrt"):
                    about = f"{name} inside Forbid('sqrt') inside Forbid('exp')"
                    expect_error(RuntimeError, getattr(x, name), about=about)
            x.sqrt()  # the inner block has ended
            expect_error(
                RuntimeError, x.exp, about="exp after the inner block, inside Forbid('exp')"
            )
    try:
        with Forbid("exp"):
            x.exp()
    except RuntimeError:
        x.exp()


class Forbidden(Exercise):
    """A mode that forbids

    Write a mode `Forbid(*names)`. Inside `with Forbid("item", "tolist"):`, a call of a function with one of
    these names raises `RuntimeError`, whatever its arguments are, and the function doesn't run. All other
    calls run as if the mode were not there.
    """

    kind = "extend"
    idea = "Modes"
    beside = "the answer is a class that the library itself calls"
    stub = """
        class Forbid(torch.overrides.TorchFunctionMode):
            def __init__(self, *names):
                self.names = names
    """
    hints = [
        "A mode's hook is an ordinary method: `__torch_function__(self, func, types, args=(), kwargs=None)`.",
        "Look at `func.__name__` first, and raise. Otherwise call `func` with what you were given.",
        "`return func(*args, **(kwargs or {}))`. While its hook runs, the mode doesn't intercept this call.",
    ]
    solution = """
        class Forbid(torch.overrides.TorchFunctionMode):
            def __init__(self, *names):
                self.names = names

            def __torch_function__(self, func, types, args=(), kwargs=None):
                if func.__name__ in self.names:
                    raise RuntimeError(f"{func.__name__}: forbidden here")
                return func(*args, **(kwargs or {}))
    """
    reason = """
        A mode like this finds the `item()` in a training loop that makes every step wait. The mode is off the
        stack while its hook runs, so `func(...)` doesn't come back to it. Modes further out still intercept
        the call.
    """
    wrong = [
        Wrong(
            """
            class Forbid(torch.overrides.TorchFunctionMode):
                def __init__(self, *names):
                    self.names = names

                def __torch_function__(self, func, types, args=(), kwargs=None):
                    if func.__name__ in self.names:
                        return None
                    return func(*args, **(kwargs or {}))
            """,
            says="inside the block",
            why="A forbidden call that silently returns `None` hides what it should show.",
        ),
        Wrong(
            """
            class Forbid(torch.overrides.TorchFunctionMode):
                def __init__(self, *names):
                    self.names = names

                def __torch_function__(self, func, types, args=(), kwargs=None):
                    if func.__name__ in self.names:
                        raise RuntimeError(func.__name__)
                    with torch.DisableTorchFunctionSubclass():
                        return func(*args, **(kwargs or {}))
            """,
            says="as if the mode were not there",
            why="It disables the hooks of classes, too, so tensors lose their class inside the block.",
        ),
        Wrong(
            """
            class Forbid(torch.overrides.TorchFunctionMode):
                def __init__(self, *names):
                    self.names = names

                def __torch_function__(self, func, types, args=(), kwargs=None):
                    if func.__name__ in self.names:
                        raise RuntimeError(func.__name__)
                    return func(*args)
            """,
            says="keyword",
            why="The keyword arguments are lost.",
        ),
        Wrong(
            """
            class Forbid(torch.overrides.TorchFunctionMode):
                def __init__(self, *names):
                    self.names = names

                def __torch_function__(self, func, types, args=(), kwargs=None):
                    result = func(*args, **(kwargs or {}))
                    if func.__name__ in self.names:
                        raise RuntimeError(func.__name__)
                    return result
            """,
            says="has run",
            why="When the error comes, an in-place function has already written.",
        ),
        Wrong(
            """
            class Forbid(torch.overrides.TorchFunctionMode):
                def __init__(self, *names):
                    self.names = names

                def __torch_function__(self, func, types, args=(), kwargs=None):
                    if any(name in func.__name__ for name in self.names):
                        raise RuntimeError(func.__name__)
                    return func(*args, **(kwargs or {}))
            """,
            says="is another function",
            why="`exp` is a part of the name `expand`, and `zeros` of `zeros_like`. Compare whole names.",
        ),
        Wrong(
            """
            class Forbid(torch.overrides.TorchFunctionMode):
                def __init__(self, *names):
                    self.names = names

                def __torch_function__(self, func, types, args=(), kwargs=None):
                    if func.__name__ in self.names and any(isinstance(one, torch.Tensor) for one in args):
                        raise RuntimeError(func.__name__)
                    return func(*args, **(kwargs or {}))
            """,
            says="if no argument is a tensor",
            why="A mode sees calls without a tensor, too, such as `zeros(2)`.",
        ),
    ]

    def check(Forbid):
        class Sub(torch.Tensor):
            pass

        x, one, sub = torch.ones(2, 3), torch.tensor(1.0), torch.ones(2).as_subclass(Sub)
        with Forbid("item", "tolist"):
            expect((x + 1).shape, (2, 3), "the shape of x + 1")
            kept = x.sum(dim=1, keepdim=True).shape
            require(kept == (2, 1), "x.sum(dim=1, keepdim=True): a keyword argument was lost.")
            kind = type(sub + 1).__name__
            require(
                kind == "Sub",
                "Other calls run as if the mode were not there, those of classes too.",
            )
            require(x.add_(1) is x, "x.add_(1) must return x itself, as without the mode.")
            expect_error(RuntimeError, one.item, about="one.item() inside the block")
            expect_error(RuntimeError, sub.tolist, about="tolist() of a subclass inside the block")
            expect_error(RuntimeError, one.item, about="one.item() inside the block, once more")
        expect(one.item(), 1.0, "one.item() after the block")
        with Forbid("exp"):
            expect_error(IndexError, lambda: x[9], about="x[9], which is not forbidden")
        check_names(Forbid, sub)
        check_nested(Forbid, x)


def unit_of(name, units, *, compared=None, add_to=dict, halved=lambda power: power / 2):
    """Say which unit a result has; the planted bugs replace parts of it."""
    if name == "add":
        if any(unit != units[0] for unit in (units if compared is None else compared(units))):
            raise TypeError(f"add: {units} differ")
        return dict(units[0])
    if name == "sqrt":
        return {base: halved(power) for base, power in units[0].items()}
    powers, sign = add_to(units[0]), 1 if name == "mul" else -1
    for base, power in units[1].items():
        powers[base] = powers.get(base, 0) + sign * power
    return powers


def without_zeros(powers):
    return {base: power for base, power in powers.items() if power != 0}


class HuntRules(BugHunt):
    """A test for rules of units

    `unit_of(name, units)` says which unit the result of a function has. A unit is a dict of powers without
    zeros: `{"m": 1, "s": -1}` is m/s, and `{}` belongs to plain numbers. The function knows `add` (two or
    more units; `TypeError` if they differ), `mul` and `div` (two units) and `sqrt` (one unit; powers may
    become fractions). It must not change the dicts that it is given. Six people wrote it, and each of them
    made one mistake. Write `test(unit_of)`, which passes on the right one and fails on each of theirs.
    """

    idea = "A tensor with a unit"
    stub = """
        def test(unit_of):
            assert unit_of("mul", [{"m": 1}, {"s": 1}]) == {"m": 1, "s": 1}
            assert unit_of("add", [{"m": 1}, {"m": 1}]) == {"m": 1}
    """
    hints = [
        "Write one line for each function, with units whose result you know: m / s, sqrt of m^2 and of m, s + s.",
        "What is m / m? And does `add` raise if only the *third* unit differs, or if one is a plain number?",
        'Call `unit_of("mul", [a, b])` and look at `a` and `b` afterwards.',
    ]
    solution = """
        def test(unit_of):
            metre, second = {"m": 1}, {"s": 1}
            assert unit_of("mul", [metre, second]) == {"m": 1, "s": 1}
            assert metre == {"m": 1} and second == {"s": 1}
            assert unit_of("div", [metre, second]) == {"m": 1, "s": -1}
            assert unit_of("div", [metre, metre]) == {}
            assert unit_of("sqrt", [{"m": 2, "s": -1}]) == {"m": 1, "s": -0.5}
            assert unit_of("add", [metre, metre, metre]) == metre
            for units in ([metre, second], [metre, metre, second], [metre, {}]):
                try:
                    unit_of("add", units)
                except TypeError:
                    continue
                raise AssertionError(units)
    """
    reason = """
        Each line of the test is a fact of physics or a promise of the text. You don't need to know the code.
        Such rules typically break at the third operand, at a quotient of equals, at an odd power and at an
        argument that is changed.
    """
    wrong = [
        Wrong(
            """
            def test(unit_of):
                assert unit_of("div", [{"m": 1}, {"s": 1}]) == {"m": 1, "s": -1}
                assert unit_of("sqrt", [{"m": 2}]) == {"m": 1}
            """,
            says="5 of 6 planted bugs",
            why="These are facts about powers only. What about m / m, about `add`, and about the dicts?",
        ),
        Wrong(
            """
            def test(unit_of):
                assert unit_of("div", [{"m": 1}, {"m": 1}]) == {"m": 0}
            """,
            says="AssertionError",
            why="The text says that a unit has no zeros. A ratio of lengths is a plain number.",
        ),
    ]

    def right(name, units):
        return without_zeros(unit_of(name, units))

    def compares_the_first_two(name, units):
        """add compares only the first two units"""
        return without_zeros(unit_of(name, units, compared=lambda units: units[:2]))

    def keeps_zeros(name, units):
        """a power that has become zero stays in the unit"""
        return unit_of(name, units)

    def changes_its_argument(name, units):
        """mul and div change the unit of the first operand in place"""
        return without_zeros(unit_of(name, units, add_to=lambda unit: unit))

    def lets_numbers_pass(name, units):
        """plain numbers can be added to anything"""
        return without_zeros(unit_of(name, units, compared=lambda units: filter(None, units)))

    def halves_to_integers(name, units):
        """sqrt rounds odd powers down"""
        return without_zeros(unit_of(name, units, halved=lambda power: power // 2))

    def always_multiplies(name, units):
        """div multiplies"""
        return without_zeros(unit_of("mul" if name == "div" else name, units))

    bugs = [
        compares_the_first_two,
        keeps_zeros,
        changes_its_argument,
        lets_numbers_pass,
        halves_to_integers,
        always_multiplies,
    ]
