"""Exercises of chapter 41, subclasses and modes."""

import tensorlab as T
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, expect_error, require

IMPORTS = "import tensorlab as T"


class WhoseClass(Exercise):
    """Whose class?

    `Child` inherits `Parent`, `Parent` and `Loner` inherit `T.Tensor`, and none of the three defines a hook. With

        child, parent = T.ones(2).as_subclass(Child), T.ones(2).as_subclass(Parent)
        loner, weight = T.ones(2).as_subclass(Loner), T.nn.Parameter(T.ones(2))

    name the class of each result, as a string; `"error"` if it raises. Replace the `None`s before you run anything.
    """

    kind = "warm-up"
    idea = "Whose hook is called"
    stub = """
        answers = {
            "parent * 2": None,
            "parent + child": None,
            "weight + parent": None,
            "weight + weight": None,
            "T.cat([loner, parent])": None,
            "child.sum().tolist()": None,
        }
    """
    hints = [
        "A default hook answers if its class inherits all the classes that are asked. Else it passes.",
        "`Parameter` has switched its hook off: it is not among the classes that are asked.",
        "`Loner` and `Parent` know nothing of each other, so both pass. And a list of numbers is no tensor.",
    ]
    solution = """
        answers = {
            "parent * 2": "Parent",
            "parent + child": "Child",
            "weight + parent": "Parent",
            "weight + weight": "Tensor",
            "T.cat([loner, parent])": "error",
            "child.sum().tolist()": "float",
        }
    """
    reason = """
        `Child` is asked before `Parent` although it stands on the right, because it inherits `Parent`. Where no
        class inherits all others there is no answer, and that is an error, not a guess.
    """
    wrong = [
        Wrong(
            """
            answers = {
                "parent * 2": "Parent",
                "parent + child": "Parent",
                "weight + parent": "Parent",
                "weight + weight": "Tensor",
                "T.cat([loner, parent])": "error",
                "child.sum().tolist()": "float",
            }
            """,
            says="not the first one wins",
            why="Operands are asked from left to right, but a class comes before those that it inherits.",
        ),
        Wrong(
            """
            answers = {
                "parent * 2": "Parent",
                "parent + child": "Child",
                "weight + parent": "Parent",
                "weight + weight": "Parameter",
                "T.cat([loner, parent])": "error",
                "child.sum().tolist()": "float",
            }
            """,
            says="switched its hook off",
            why="A sum of two parameters is no parameter: it should not be learned.",
        ),
        Wrong(
            """
            answers = {
                "parent * 2": "Parent",
                "parent + child": "Child",
                "weight + parent": "Parent",
                "weight + weight": "Tensor",
                "T.cat([loner, parent])": "Loner",
                "child.sum().tolist()": "float",
            }
            """,
            says="knows nothing of",
            why="`Loner` stands first, but it does not inherit `Parent`, so its default hook passes.",
        ),
    ]

    def check(answers):
        class Parent(T.Tensor):
            pass

        class Child(Parent):
            pass

        class Loner(T.Tensor):
            pass

        child, parent = T.ones(2).as_subclass(Child), T.ones(2).as_subclass(Parent)
        loner, weight = T.ones(2).as_subclass(Loner), T.nn.Parameter(T.ones(2))
        names = {"T": T, "child": child, "parent": parent, "loner": loner, "weight": weight}
        truth = {}
        for program in answers:
            try:
                truth[program] = type(eval(program, names)).__name__
            except TypeError:
                truth[program] = "error"
        remarks = {
            ("parent + child", "Parent"): "With two classes, not the first one wins.",
            ("weight + weight", "Parameter"): "Parameter has switched its hook off.",
            (
                "T.cat([loner, parent])",
                "Loner",
            ): "Loner knows nothing of Parent, so its hook passes.",
        }
        for (program, said), remark in remarks.items():
            require(answers[program] != said, remark)
        expect(answers, truth, "the classes")


class Counted(Exercise):
    """A tensor that counts calls

    Write a class `Counted` that inherits `T.Tensor` and behaves as a plain tensor, and whose dict `Counted.calls`
    says how often each function was called with a `Counted`, by name: after `x + x` and `x.exp()` it is
    `{"add": 1, "exp": 1}`. Results are `Counted` too. What the hook itself does must not count.
    """

    kind = "implement"
    idea = "A logging tensor"
    stub = """
        class Counted(T.Tensor):
            calls = {}
    """
    hints = [
        "`LoggingTensor` is nearly it. What does it do before, and what after it has called its parent?",
        "`@classmethod`, `__torch_function__(cls, func, types, args=(), kwargs=None)`, and the name is "
        "`func.__name__`.",
        "`cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1`, and then "
        "`return super().__torch_function__(func, types, args, kwargs)`.",
    ]
    solution = """
        class Counted(T.Tensor):
            calls = {}

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1
                return super().__torch_function__(func, types, args, kwargs)
    """
    reason = """
        The parent's hook runs the function with hooks off, so the calls inside it are not counted, and makes the
        result a `Counted`.
    """
    wrong = [
        Wrong(
            """
            class Counted(T.Tensor):
                calls = {}

                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1
                    with T.DisableTorchFunctionSubclass():
                        return func(*args, **(kwargs or {}))
            """,
            says="lost its class",
            why="With hooks off the function gives a plain tensor, and nothing turns it into a `Counted` again.",
        ),
        Wrong(
            """
            class Counted(T.Tensor):
                calls = {}

                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    cls.calls[func.__name__] = 1
                    return super().__torch_function__(func, types, args, kwargs)
            """,
            says="called twice",
            why="A count that starts again with every call.",
        ),
        Wrong(
            """
            class Counted(T.Tensor):
                calls = {}

                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    cls.calls[func.__name__] = cls.calls.get(func.__name__, 0) + 1
                    return super().__torch_function__(func, types, args)
            """,
            says="keyword",
            why="The keyword arguments are forgotten on the way, and the call is another one.",
        ),
    ]

    def check(Counted):
        x = T.ones(2, 2).as_subclass(Counted)
        Counted.calls.clear()
        y = x + x
        require(type(y) is Counted, f"x + x has lost its class: it is a {type(y).__name__}.")
        y.exp()
        z = x + 1
        require(
            Counted.calls.get("add") == 2, "add was called twice, and that is not what calls says."
        )
        expect(Counted.calls, {"add": 2, "exp": 1}, "Counted.calls")
        total = z.sum(dim=0, keepdim=True)
        require(total.shape == (1, 2), "z.sum(dim=0, keepdim=True): a keyword was lost on the way.")
        expect(Counted.calls, {"add": 2, "exp": 1, "sum": 1}, "Counted.calls after a sum")
        expect_error(RuntimeError, lambda: x @ T.ones(3), about="x @ ones(3)")


class Forbidden(Exercise):
    """A mode that forbids

    Write a mode `Forbid(*names)`: inside `with Forbid("item", "tolist"):` a call of a function of that name
    raises `RuntimeError`, whatever its operands are, and all other calls run as if the mode were not there.
    """

    kind = "extend"
    idea = "Modes: everybody's calls"
    stub = """
        class Forbid(T.overrides.TorchFunctionMode):
            def __init__(self, *names):
                self.names = names
    """
    hints = [
        "A mode's hook is an ordinary method: `__torch_function__(self, func, types, args=(), kwargs=None)`.",
        "Look at `func.__name__` first, and raise. Otherwise call `func` with what you were given.",
        "`return func(*args, **(kwargs or {}))`; inside its own hook a mode does not intercept that call.",
    ]
    solution = """
        class Forbid(T.overrides.TorchFunctionMode):
            def __init__(self, *names):
                self.names = names

            def __torch_function__(self, func, types, args=(), kwargs=None):
                if func.__name__ in self.names:
                    raise RuntimeError(f"{func.__name__}: forbidden here")
                return func(*args, **(kwargs or {}))
    """
    reason = """
        Modes of this kind find the `item()` in a training loop that makes every step wait. The mode
        is off while its hook runs, so `func(...)` does not come back to it; modes around it still intercept the call.
    """
    wrong = [
        Wrong(
            """
            class Forbid(T.overrides.TorchFunctionMode):
                def __init__(self, *names):
                    self.names = names

                def __torch_function__(self, func, types, args=(), kwargs=None):
                    if func.__name__ in self.names:
                        return None
                    return func(*args, **(kwargs or {}))
            """,
            says="RuntimeError",
            why="A forbidden call that quietly gives None is worse than no mode at all.",
        ),
        Wrong(
            """
            class Forbid(T.overrides.TorchFunctionMode):
                def __init__(self, *names):
                    self.names = names

                def __torch_function__(self, func, types, args=(), kwargs=None):
                    if func.__name__ in self.names:
                        raise RuntimeError(func.__name__)
                    with T.DisableTorchFunctionSubclass():
                        return func(*args, **(kwargs or {}))
            """,
            says="as if the mode were not there",
            why="It switches off the hooks of classes too, and subclasses lose their class inside the block.",
        ),
        Wrong(
            """
            class Forbid(T.overrides.TorchFunctionMode):
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
    ]

    def check(Forbid):
        class Sub(T.Tensor):
            pass

        x, sub = T.ones(2, 3), T.ones(2).as_subclass(Sub)
        with Forbid("item", "tolist"):
            expect((x + 1).shape, (2, 3), "the shape of x + 1")
            kept = x.sum(dim=1, keepdim=True).shape
            require(kept == (2, 1), "x.sum(dim=1, keepdim=True): a keyword argument was lost.")
            kind = type(sub + 1).__name__
            require(
                kind == "Sub",
                "Other calls run as if the mode were not there, those of classes too.",
            )
            expect_error(RuntimeError, x[0, 0].item, about="x.item() inside the block")
            expect_error(RuntimeError, sub.tolist, about="tolist() of a subclass")
        expect(x[0, 0].item(), 1.0, "x.item() after the block")


class HuntRules(BugHunt):
    """A test for rules of units

    `unit_of(name, units)` says which unit the result of a function has. A unit is a dict of powers without zeros,
    `{"m": 1, "s": -1}` is m/s, and `{}` belongs to plain numbers. It knows `add` (any number of units; `TypeError`
    if they differ), `mul`, `div` and `sqrt`, and must not change the dicts that it is given. Four people wrote it, and
    each of the four made one mistake. Write `test(unit_of)`, which passes on the right one and fails on each of theirs.
    """

    idea = "A unit-carrying tensor"
    stub = """
        def test(unit_of):
            assert unit_of("mul", [{"m": 1}, {"s": 1}]) == {"m": 1, "s": 1}
            assert unit_of("add", [{"m": 1}, {"m": 1}]) == {"m": 1}
    """
    hints = [
        "One line for each function, with units whose result you know: m / s, sqrt of m^2, s - s.",
        "What is m / m? And does `add` raise if it is the *third* unit that differs?",
        'Call `unit_of("mul", [a, b])` and look at `a` afterwards.',
    ]
    solution = """
        def test(unit_of):
            metre, second = {"m": 1}, {"s": 1}
            assert unit_of("mul", [metre, second]) == {"m": 1, "s": 1}
            assert metre == {"m": 1} and second == {"s": 1}
            assert unit_of("div", [metre, second]) == {"m": 1, "s": -1}
            assert unit_of("div", [metre, metre]) == {}
            assert unit_of("sqrt", [{"m": 2, "s": -2}]) == {"m": 1, "s": -1}
            assert unit_of("add", [metre, metre, metre]) == metre
            for units in ([metre, second], [metre, metre, second], [metre, {}]):
                try:
                    unit_of("add", units)
                except TypeError:
                    continue
                raise AssertionError(units)
    """
    reason = """
        Each line of the test is a fact of physics or a promise of the text, and none needs the code. The third
        operand, the quotient of equals and the argument that is changed are where such rules break.
    """
    wrong = [
        Wrong(
            """
            def test(unit_of):
                assert unit_of("div", [{"m": 1}, {"s": 1}]) == {"m": 1, "s": -1}
                assert unit_of("sqrt", [{"m": 2}]) == {"m": 1}
            """,
            says="(number",
            why="Facts about powers only: what about m / m, about add, and about the dicts?",
        ),
        Wrong(
            """
            def test(unit_of):
                assert unit_of("div", [{"m": 1}, {"m": 1}]) == {"m": 0}
            """,
            says="AssertionError",
            why="The text says that a unit has no zeros: a ratio of lengths is a plain number.",
        ),
    ]

    def right(name, units):
        powers = dict(units[0])
        if name == "add":
            if any(unit != units[0] for unit in units):
                raise TypeError(f"add: {units} differ")
            return powers
        if name == "sqrt":
            return {base: power / 2 for base, power in powers.items()}
        sign = 1 if name == "mul" else -1
        for base, power in units[1].items():
            powers[base] = powers.get(base, 0) + sign * power
        return {base: power for base, power in powers.items() if power != 0}

    def compares_the_first_two(name, units):
        """only the first two units of a sum are compared"""
        powers = dict(units[0])
        if name == "add":
            if units[0] != units[1]:
                raise TypeError(f"add: {units} differ")
            return powers
        if name == "sqrt":
            return {base: power / 2 for base, power in powers.items()}
        sign = 1 if name == "mul" else -1
        for base, power in units[1].items():
            powers[base] = powers.get(base, 0) + sign * power
        return {base: power for base, power in powers.items() if power != 0}

    def keeps_zeros(name, units):
        """a power that has become zero stays in the unit"""
        powers = dict(units[0])
        if name == "add":
            if any(unit != units[0] for unit in units):
                raise TypeError(f"add: {units} differ")
            return powers
        if name == "sqrt":
            return {base: power / 2 for base, power in powers.items()}
        sign = 1 if name == "mul" else -1
        for base, power in units[1].items():
            powers[base] = powers.get(base, 0) + sign * power
        return powers

    def changes_its_argument(name, units):
        """the unit of the first operand is changed in place"""
        powers = units[0]
        if name == "add":
            if any(unit != units[0] for unit in units):
                raise TypeError(f"add: {units} differ")
            return dict(powers)
        if name == "sqrt":
            return {base: power / 2 for base, power in powers.items()}
        sign = 1 if name == "mul" else -1
        for base, power in units[1].items():
            powers[base] = powers.get(base, 0) + sign * power
        return {base: power for base, power in powers.items() if power != 0}

    def lets_numbers_pass(name, units):
        """plain numbers are added to anything"""
        powers = dict(units[0])
        if name == "add":
            if any(unit != units[0] for unit in units if unit):
                raise TypeError(f"add: {units} differ")
            return powers
        if name == "sqrt":
            return {base: power / 2 for base, power in powers.items()}
        sign = 1 if name == "mul" else -1
        for base, power in units[1].items():
            powers[base] = powers.get(base, 0) + sign * power
        return {base: power for base, power in powers.items() if power != 0}

    bugs = [compares_the_first_two, keeps_zeros, changes_its_argument, lets_numbers_pass]
