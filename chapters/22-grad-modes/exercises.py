"""Exercises of chapter 22, grad modes."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import contextlib

import tensorlab as torch
"""


class WhoRequiresGrad(Exercise):
    """Who requires grad?

    Replace each `None` by True or False before you run anything.

        x = torch.ones(3, requires_grad=True)
        c = torch.ones(3)
        with torch.no_grad():
            a = x * 2
            b = x[1:]
            with torch.enable_grad():
                d = c * 2
                e = x * a
        f = x.detach() * x
        with torch.inference_mode():
            g = x + 1
        h = g + x
    """

    kind = "warm-up"
    idea = "Where the switch is read"
    stub = """
        requires_grad = {
            "a": None,
            "b": None,
            "d": None,
            "e": None,
            "f": None,
            "g": None,
            "h": None,
        }
    """
    hints = [
        "Ask two questions of each op: is grad mode on at that moment, and does one of its inputs require grad?",
        "`b` is no result of a computation but a view. What does `needs_grad` ask a view?",
        "A sum needs to save nothing. So what can keep `g + x` from being recorded?",
    ]
    solution = """
        requires_grad = {
            "a": False,
            "b": True,
            "d": False,
            "e": True,
            "f": True,
            "g": False,
            "h": True,
        }
    """
    reason = """
        `a` and `g` were not recorded. `b` is a view of something that requires grad, whatever the mode was. In
        `d` the mode is on, and nothing requires grad. In `e`, `f` and `h` the mode is on, and one input,
        `x`, is enough.
    """
    wrong = [
        Wrong(
            'requires_grad = {"a": False, "b": False, "d": False, "e": True, "f": True, "g": False, "h": True}',
            says="needs_grad",
            why="A view requires grad because its base does. Only no node leads from this one to the base.",
        ),
        Wrong(
            'requires_grad = {"a": False, "b": True, "d": True, "e": True, "f": True, "g": False, "h": True}',
            says="nothing requires",
            why="`enable_grad` makes it possible to record. `c` does not require grad, so there is nothing to record.",
        ),
        Wrong(
            'requires_grad = {"a": False, "b": True, "d": False, "e": False, "f": True, "g": False, "h": True}',
            says="inner block",
            why="The modes nest: inside `enable_grad` recording is on, whatever is around it.",
        ),
        Wrong(
            'requires_grad = {"a": False, "b": True, "d": False, "e": True, "f": True, "g": False, "h": False}',
            says="saves nothing",
            why="An inference tensor cannot be *saved*. A sum saves neither of its terms.",
        ),
    ]

    def check(requires_grad):
        x, c = torch.ones(3, requires_grad=True), torch.ones(3)
        with torch.no_grad():
            a, b = x * 2, x[1:]
            with torch.enable_grad():
                d, e = c * 2, x * a
        f = x.detach() * x
        with torch.inference_mode():
            g = x + 1
        h = g + x
        remarks = {
            "b": "b is a view of x. What does needs_grad ask of a view?",
            "d": "In d the mode is on, and nothing requires grad.",
            "e": "In e the inner block decides.",
            "h": "A sum saves nothing, and x requires grad.",
        }
        for name, tensor in {"a": a, "b": b, "d": d, "e": e, "f": f, "g": g, "h": h}.items():
            came, truth = requires_grad[name], tensor.requires_grad
            require(came == truth or name not in remarks, remarks.get(name, ""))
            expect(came, truth, f"whether {name} requires grad")


class Evaluate(Exercise):
    """An evaluation that leaves nothing behind

    Write `evaluate(model, batches)`: the mean over all batches of `((model(x) - y) ** 2).mean()`, as a float.
    `batches` yields pairs `(x, y)`. While the model runs nothing is recorded; afterwards grad mode is what
    the caller had, also if the model raises.
    """

    kind = "implement"
    idea = "An evaluation that keeps its graphs"
    stub = """
        def evaluate(model, batches):
            total = 0.0
            for x, y in batches:
                total = total + ((model(x) - y) ** 2).mean()
            return total / len(batches)  # not yet
    """
    hints = [
        "Which of the four modes restores what was before, whatever happens in between?",
        "`@torch.no_grad()` above the function, or `with torch.no_grad():` around the loop. And `.item()` "
        "returns a float.",
        "`batches` may be a generator, which has no `len`: count as you go.",
    ]
    solution = """
        @torch.no_grad()
        def evaluate(model, batches):
            total, count = 0.0, 0
            for x, y in batches:
                total += ((model(x) - y) ** 2).mean().item()
                count += 1
            return total / count
    """
    reason = """
        The decorator leaves the mode on every way out of the function, an exception included. `inference_mode` would
        do as well: nothing that is made here comes back to a graph.
    """
    wrong = [
        Wrong(
            """
            def evaluate(model, batches):
                losses = [((model(x) - y) ** 2).mean().item() for x, y in batches]
                return sum(losses) / len(losses)
            """,
            says="is recorded while",
            why="`.item()` lets each graph go, but it has been built.",
        ),
        Wrong(
            """
            def evaluate(model, batches):
                torch.set_grad_enabled(False)
                losses = [((model(x) - y) ** 2).mean().item() for x, y in batches]
                torch.set_grad_enabled(True)
                return sum(losses) / len(losses)
            """,
            says="caller had it off",
            why="This switches recording on at the end, whatever it was before; and after an exception it stays off.",
        ),
        Wrong(
            """
            def evaluate(model, batches):
                was = torch.is_grad_enabled()
                torch.set_grad_enabled(False)
                losses = [((model(x) - y) ** 2).mean().item() for x, y in batches]
                torch.set_grad_enabled(was)
                return sum(losses) / len(losses)
            """,
            says="model raised",
            why="The mode is remembered; but the line that restores it is not reached if the model raises.",
        ),
        Wrong(
            """
            @torch.no_grad()
            def evaluate(model, batches):
                losses = [((model(x) - y) ** 2).mean() for x, y in batches]
                return sum(losses) / len(losses)
            """,
            says="a float",
            why="A tensor comes back. It has no history here, but a log that it is added to keeps it alive.",
        ),
    ]

    def check(evaluate):
        weight = torch.ones(2, requires_grad=True)
        modes = []

        def model(x):
            modes.append(torch.is_grad_enabled())
            return x * weight

        def batches(count=3):
            for i in range(count):
                yield torch.full((4, 2), float(i)), torch.full((4, 2), (1.0, -1.0, 3.0)[i])

        came = evaluate(model, batches())
        require(not any(modes), "Everything is recorded while the model runs.")
        require(isinstance(came, float), "The value should be a float, and not a tensor.")
        expect(came, 2.0, "the mean loss of three batches, 1, 4 and 1", tolerance=1e-6)
        require(torch.is_grad_enabled(), "Recording is off after the call.")
        draw = random.Random()
        for count in (1, 2, draw.randint(4, 9)):
            sizes = [draw.randint(1, 5) for _ in range(count)]  # the last batch is often smaller
            pairs = [(torch.randn(n, 2), torch.randn(n, 2)) for n in sizes]
            losses = [((x - y) ** 2).mean().item() for x, y in pairs]
            modes.clear()
            came = evaluate(model, iter(pairs))
            require(len(modes) == count, f"Of {count} batches the model has seen {len(modes)}.")
            require(not any(modes), "A later batch is recorded while the model runs.")
            about = f"the mean of the {count} losses of batches of {sizes} rows"
            expect(came, sum(losses) / count, about, tolerance=1e-5)
        with torch.no_grad():
            evaluate(model, batches())
            require(
                not torch.is_grad_enabled(), "The caller had it off, and after the call it is on."
            )

        def broken(x):
            raise ArithmeticError("on purpose")

        try:
            evaluate(broken, batches())
        except ArithmeticError:
            require(torch.is_grad_enabled(), "The model raised, and recording stays off.")
        else:
            require(False, "The model's exception should come out of evaluate.")


class Frozen(Exercise):
    """Frozen for a while

    Write the context manager `frozen(parameters)`: inside the block none of these leaves requires grad;
    afterwards each has the flag that it had before, also if the block raises. Gradients must still be able
    to pass *through* a frozen layer to what lies before it.
    """

    kind = "extend"
    idea = "Out of the graph for good"
    beside = "the check looks at parameters while the answer is at work"
    stub = """
        @contextlib.contextmanager
        def frozen(parameters):
            yield  # not yet
    """
    hints = [
        "Which of the six ways concerns leaves, and which would also stop the gradients that pass through?",
        "`p.requires_grad_(False)`. Note the old flags first: some may be False already. And `parameters` may be a "
        "generator, which can be read once.",
        "`parameters = list(parameters)`, then the flags, then `try: yield` and `finally:` restore them.",
    ]
    solution = """
        @contextlib.contextmanager
        def frozen(parameters):
            parameters = list(parameters)
            flags = [p.requires_grad for p in parameters]
            for p in parameters:
                p.requires_grad_(False)
            try:
                yield
            finally:
                for p, flag in zip(parameters, flags):
                    p.requires_grad_(flag)
    """
    reason = """
        `no_grad` is about the moment: within it nothing is recorded, and no gradient comes through. Freezing is
        about tensors: the op is still recorded, because its *other* input requires grad, and saves only what the
        gradient by that one needs. This is how a generator is trained against a fixed critic.
    """
    wrong = [
        Wrong(
            """
            @contextlib.contextmanager
            def frozen(parameters):
                with torch.no_grad():
                    yield
            """,
            says="through the frozen",
            why="Under `no_grad` nothing at all is recorded.",
        ),
        Wrong(
            """
            @contextlib.contextmanager
            def frozen(parameters):
                parameters = list(parameters)
                for p in parameters:
                    p.requires_grad_(False)
                try:
                    yield
                finally:
                    for p in parameters:
                        p.requires_grad_(True)
            """,
            says="frozen before",
            why="A parameter that was frozen before the block is thawed by it.",
        ),
        Wrong(
            """
            @contextlib.contextmanager
            def frozen(parameters):
                parameters = list(parameters)
                flags = [p.requires_grad for p in parameters]
                for p in parameters:
                    p.requires_grad_(False)
                yield
                for p, flag in zip(parameters, flags):
                    p.requires_grad_(flag)
            """,
            says="block raised",
            why="An exception in the block comes out of the `yield`; the lines below need a `finally`.",
        ),
        Wrong(
            """
            @contextlib.contextmanager
            def frozen(parameters):
                flags = [(p, p.requires_grad) for p in parameters]
                for p in parameters:
                    p.requires_grad_(False)
                try:
                    yield
                finally:
                    for p, flag in flags:
                        p.requires_grad_(flag)
            """,
            says="read twice",
            why="`model.parameters()` is a generator: after the first loop it is empty, so nothing is frozen.",
        ),
    ]

    def check(frozen):
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        still = torch.ones(2)
        x = torch.ones(2, requires_grad=True)
        with frozen([a, b]):
            out = (x * a + b).sum()
            flags = [a.requires_grad, b.requires_grad]
        require(out.requires_grad, "No gradient can pass through the frozen layer to x.")
        out.backward()
        expect(x.grad.tolist(), [1.0, 1.0], "the gradient that passed through")
        require(flags == [False, False], "Inside of the block a parameter still requires grad.")
        require(a.grad is None and b.grad is None, "A frozen parameter got a gradient.")
        expect([a.requires_grad, b.requires_grad], [True, True], "the flags after the block")
        with frozen([a, still]):
            pass
        require(
            not still.requires_grad, "A tensor that was frozen before the block is not afterwards."
        )
        try:
            with frozen([a]):
                raise ArithmeticError("on purpose")
        except ArithmeticError:
            pass
        require(a.requires_grad, "The block raised, and the parameter stays frozen.")
        flags = [random.random() < 0.5 for _ in range(7)] + [True, False]
        many = [torch.ones(2, requires_grad=flag) for flag in flags]
        try:
            with frozen(many):
                inside = [p.requires_grad for p in many]
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        expect(inside, [False] * 9, "the flags of nine parameters inside of the block")
        after = [p.requires_grad for p in many]
        expect(after, flags, "their flags after a block that Ctrl-C has ended")
        with frozen(p for p in [a, b]):
            flags = [a.requires_grad, b.requires_grad]
        require(
            flags == [False, False],
            "The parameters may come from a generator, which cannot be read twice.",
        )


class HuntInTheModes(BugHunt):
    """A test for a decorator

    `without_grad(function)` returns a function that does the same and records nothing, for plain functions and
    for generators. Three people wrote it, and each forgot one thing. Write `test(without_grad)`, which passes
    on the right one and fails on each of theirs.
    """

    idea = "Modes as decorators"
    beside = "the test looks at the modes of functions that it defines"
    stub = """
        def test(without_grad):
            x = torch.ones(2, requires_grad=True)

            @without_grad
            def double():
                return x * 2

            assert not double().requires_grad
            assert torch.is_grad_enabled()
    """
    hints = [
        "In which three situations did the chapter find a mode that was not what it should be?",
        "After an exception; inside of another mode; and in a generator. For the first: let the function raise, "
        "catch it, and ask for the mode.",
        "For the second, call it under `torch.no_grad()` and ask whether recording is still *off* afterwards. For the "
        "third, ask each yielded result, and the mode of the consumer.",
    ]
    solution = """
        def test(without_grad):
            x = torch.ones(2, requires_grad=True)

            @without_grad
            def double():
                return x * 2

            with torch.no_grad():
                assert not double().requires_grad
                assert not torch.is_grad_enabled()
            assert not double().requires_grad
            assert torch.is_grad_enabled()

            @without_grad
            def fails():
                raise ArithmeticError

            try:
                fails()
            except ArithmeticError:
                pass
            assert torch.is_grad_enabled()

            @without_grad
            def doubles():
                yield x * 2
                yield x * 3

            for y in doubles():
                assert not y.requires_grad
                assert torch.is_grad_enabled()
    """
    reason = """
        "It restores what was before" is three promises: on every way out, to what was before and not to what is
        usual, and also where control leaves in the middle. The obvious test asks for none of them.
    """
    wrong = [
        Wrong(
            """
            def test(without_grad):
                x = torch.ones(2, requires_grad=True)

                @without_grad
                def fails():
                    raise ArithmeticError

                try:
                    fails()
                except ArithmeticError:
                    pass
                assert torch.is_grad_enabled()
            """,
            says="(number 2, 3)",
            why="This asks about exceptions only.",
        ),
        Wrong(
            """
            def test(without_grad):
                x = torch.ones(2, requires_grad=True)

                @without_grad
                def doubles():
                    yield x * 2

                with torch.no_grad():
                    assert not next(doubles()).requires_grad
                    assert not torch.is_grad_enabled()
            """,
            says="(number 1, 3)",
            why="Under `no_grad` the generator cannot record anyway: ask it where recording is on.",
        ),
        Wrong(
            """
            def test(without_grad):
                @without_grad
                def nothing():
                    pass

                nothing()
                assert not torch.is_grad_enabled()
            """,
            says="must pass on the right",
            why="Afterwards the mode is what it was, and here it was on.",
        ),
    ]

    def right(function):
        return torch.no_grad()(function)

    def forgets_exceptions(function):
        """after an exception recording stays off"""
        quiet = torch.no_grad()(function)

        def wrapper(*arguments, **named):
            try:
                return quiet(*arguments, **named)
            except Exception:
                torch.set_grad_enabled(False)
                raise

        return wrapper

    def switches_on(function):
        """afterwards recording is on, whatever it was before"""

        def wrapper(*arguments, **named):
            result = torch.no_grad()(function)(*arguments, **named)
            torch.set_grad_enabled(True)
            return result

        return wrapper

    def forgets_generators(function):
        """a generator's body runs with recording on"""

        def wrapper(*arguments, **named):
            with torch.no_grad():
                return function(*arguments, **named)

        return wrapper

    bugs = [forgets_exceptions, switches_on, forgets_generators]
