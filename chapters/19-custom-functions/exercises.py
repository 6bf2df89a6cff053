"""Exercises of chapter 19, custom functions."""

import gc
import weakref

import numpy as np

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, expect_error, require

IMPORTS = """
import numpy as np

import tensorlab as torch
from tensorlab.autograd.function import once_differentiable
"""


class CountTheGradients(Exercise):
    """How many, and for whom?

    Read this function and its call. What is `ctx.needs_input_grad`? How many gradients does `backward`
    get, not counting `ctx`, and how many must it return? Replace each `None` before you run anything.

        class Weighted(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, weight, power=2, rows=None):
                ctx.save_for_backward(x, weight)
                ctx.power = power
                order = x.argsort()
                return weight * x**power, order, "done"

        x = torch.ones(3, requires_grad=True)
        weight = torch.tensor([1.0, 2.0, 3.0])
        y, order, text = Weighted.apply(x * 2, weight, 3, torch.tensor([0, 1]))
    """

    kind = "warm-up"
    idea = "What backward gets, and must return"
    stub = """
        needs_input_grad = None
        gets = None
        returns = None
    """
    hints = [
        "`backward` mirrors `forward`: its arguments are the outputs' gradients, its results the "
        "arguments'.",
        "The mirror is by position. An argument that isn't a tensor has its place, too, with `None` in it.",
        "A flag asks whether the argument of `apply` needs a gradient. `x * 2` does: it was "
        "computed from a leaf "
        "that does. `weight` was never asked to.",
    ]
    solution = """
        needs_input_grad = (True, False, False, False)
        gets = 3
        returns = 4
    """
    reason = """
        Three things are returned, so three gradients come, two of them `None`: integers and text have none.
        Four arguments were given, so four gradients go back. (More are forgiven if the surplus is `None`,
        and so is nothing else.)
    """
    wrong = [
        Wrong(
            "needs_input_grad = (True, False, False, False)\ngets = 1\nreturns = 4",
            says="by position",
            why="Only one output has a gradient, but each has a place.",
        ),
        Wrong(
            "needs_input_grad = (True, True, False, False)\ngets = 3\nreturns = 4",
            says="never asked to",
            why="`weight` is a floating tensor, but does not require grad.",
        ),
        Wrong(
            "needs_input_grad = (False, False, False, False)\ngets = 3\nreturns = 4",
            says="from a leaf",
            why="The argument is `x * 2`, which isn't a leaf. Its gradient is needed on the way to `x`.",
        ),
        Wrong(
            "needs_input_grad = (True, False, False, False)\ngets = 3\nreturns = 2",
            says="a place for each argument",
            why="Gradients go back to arguments, and 3 and the index tensor are arguments.",
        ),
    ]

    def check(needs_input_grad, gets, returns):
        flags = tuple(needs_input_grad)
        require(
            flags[:1] != (False,),
            "x * 2 was computed from a leaf that requires grad: is it needed?",
        )
        require(flags[1:2] != (True,), "weight was never asked to require grad.")
        require(gets != 1, "Gradients come by position, None for what has none.")
        require(returns != 2, "There is a place for each argument, tensor or not.")
        expect(flags, (True, False, False, False), "needs_input_grad")
        expect(gets, 3, "the gradients that backward gets")
        expect(returns, 4, "the gradients that backward returns")


class UnitVector(Exercise):
    """A direction

    Write a function `Unit` of a vector $x$ that returns $u = x / \\lVert x \\rVert$. Its gradient is

    $$ \\bar x = \\frac{\\bar u - u\\,(u \\cdot \\bar u)}{\\lVert x \\rVert} . $$

    Second derivatives must be right as well, and you must write the derivative yourself, with `forward`
    called once.
    """

    kind = "implement"
    idea = "Saving the wrong tensor"
    beside = "the answer is a class that the library itself calls"
    stub = """
        class Unit(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x / (x * x).sum().sqrt()

            @staticmethod
            def backward(ctx, grad):
                return grad  # not yet
    """
    hints = [
        "What does the formula need? $u$, which is an output, and the length, which is neither "
        "input nor output.",
        "The length is made in `forward`, where nothing is recorded: saved, it would be a constant "
        "to the second derivative. Compute it again in `backward`, from something that was saved.",
        "Save `x` alone. In `backward`, `length = (x * x).sum().sqrt()` and `u = x / length`; then "
        "the formula, with `(u * grad).sum()` for the dot product.",
    ]
    solution = """
        class Unit(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x / (x * x).sum().sqrt()

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                length = (x * x).sum().sqrt()
                u = x / length
                return (grad - u * (u * grad).sum()) / length
    """
    reason = """
        Everything in `backward` is computed from an input that has a history, so autograd can differentiate
        it. The length was broadcast over the whole vector; that is where the term with the dot product
        comes from.
    """
    wrong = [
        Wrong(
            """
            class Unit(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    ctx.save_for_backward(x)
                    return x / (x * x).sum().sqrt()

                @staticmethod
                def backward(ctx, grad):
                    (x,) = ctx.saved_tensors
                    return grad / (x * x).sum().sqrt()
            """,
            says="length as a constant",
            why="The length depends on all of $x$, and every element was divided by it.",
        ),
        Wrong(
            """
            class Unit(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    length = (x * x).sum().sqrt()
                    u = x / length
                    ctx.save_for_backward(u, length)
                    return u

                @staticmethod
                def backward(ctx, grad):
                    u, length = ctx.saved_tensors
                    return (grad - u * (u * grad).sum()) / length
            """,
            says="second derivative",
            why="The first derivative is right. `length` is an intermediate, without a history.",
        ),
        Wrong(
            """
            class Unit(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    length = (x * x).sum().sqrt()
                    ctx.u, ctx.length = x / length, length
                    return ctx.u

                @staticmethod
                def backward(ctx, grad):
                    return (grad - ctx.u * (ctx.u * grad).sum()) / ctx.length
            """,
            says="cycle collector",
            why="The output as an attribute: node and output own each other. And writes go unchecked.",
        ),
    ]

    def check(Unit):
        x = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
        u = Unit.apply(x)
        expect([round(value, 9) for value in u.tolist()], [0.6, 0.8], "the unit vector of (3, 4)")
        was_on = gc.isenabled()
        gc.disable()
        y = Unit.apply(x)
        watch = weakref.ref(y)
        del y
        is_freed = watch() is None
        if was_on:
            gc.enable()
        require(is_freed, "The result is not freed before Python's cycle collector comes by.")
        (came,) = torch.autograd.grad(u[0], x)
        came = [round(value, 9) for value in came.tolist()]
        require(
            came != [0.2, 0.0],
            "This is the gradient with the length as a constant: x / 5 gives it.",
        )
        expect(came, [0.128, -0.096], "the gradient of the first element at (3, 4)")
        x = torch.tensor([0.3, -1.2, 0.7], dtype=torch.float64, requires_grad=True)
        ok = torch.autograd.gradcheck(Unit.apply, x, raise_exception=False)
        require(ok, "gradcheck of Unit.apply fails at (0.3, -1.2, 0.7).")
        try:
            ok = torch.autograd.gradgradcheck(Unit.apply, x, raise_exception=False)
        except RuntimeError:
            ok = False
        require(ok, "The gradient is right, but the second derivative is not: gradgradcheck fails.")


class SolveWithNumPy(Exercise):
    """A solver from NumPy

    `np.linalg.solve(A, b)` gives the $y$ with $A y = b$. Make a function `Solve` of it, for a square matrix
    and a vector. The gradients: $A^{\\mathsf T} \\bar b = \\bar y$ is a system for $\\bar b$, and then
    $\\bar A = -\\bar b\\, y^{\\mathsf T}$. Solve no system that is not needed, compute no $\\bar A$ that is not
    wanted, and let a second derivative be refused.
    """

    kind = "extend"
    idea = "A second derivative"
    beside = "the answer is a class that the library itself calls"
    stub = """
        class Solve(torch.autograd.Function):
            @staticmethod
            def forward(ctx, A, b):
                return torch.from_numpy(np.linalg.solve(A.detach().numpy(), b.detach().numpy()))

            @staticmethod
            def backward(ctx, grad):
                return None, None  # not yet
    """
    hints = [
        "What must be saved? $A$, an input, and $y$, the output. Both go into `save_for_backward`.",
        "$\\bar b$ is one more `np.linalg.solve`, with the transpose. $\\bar A$ is the outer product "
        "`-by_b.unsqueeze(1) * y`: it needs $\\bar b$, whether or not that is wanted itself.",
        "`ctx.needs_input_grad[0]` says whether $\\bar A$ is wanted. `@staticmethod` first and "
        "`@once_differentiable` below it.",
    ]
    solution = """
        class Solve(torch.autograd.Function):
            @staticmethod
            def forward(ctx, A, b):
                y = torch.from_numpy(np.linalg.solve(A.detach().numpy(), b.detach().numpy()))
                ctx.save_for_backward(A, y)
                return y

            @staticmethod
            @once_differentiable
            def backward(ctx, grad):
                A, y = ctx.saved_tensors
                by_b = torch.from_numpy(np.linalg.solve(A.detach().numpy().T, grad.detach().numpy()))
                by_A = -by_b.unsqueeze(1) * y if ctx.needs_input_grad[0] else None
                return by_A, by_b
    """
    reason = """
        One more system gives the gradient of $b$, and an outer product that of $A$. That is why no one
        differentiates *through* the elimination: the result is enough. NumPy's part has no history, so the
        decorator refuses.
    """
    wrong = [
        Wrong(
            """
            class Solve(torch.autograd.Function):
                @staticmethod
                def forward(ctx, A, b):
                    y = torch.from_numpy(np.linalg.solve(A.detach().numpy(), b.detach().numpy()))
                    ctx.save_for_backward(A, y)
                    return y

                @staticmethod
                @once_differentiable
                def backward(ctx, grad):
                    A, y = ctx.saved_tensors
                    by_b = torch.from_numpy(np.linalg.solve(A.detach().numpy(), grad.detach().numpy()))
                    return -by_b.unsqueeze(1) * y, by_b
            """,
            says="with the transpose",
            why="A vjp multiplies by the *transpose* of the Jacobian, here that of $A^{-1}$. A "
            "symmetric matrix hides it.",
        ),
        Wrong(
            """
            class Solve(torch.autograd.Function):
                @staticmethod
                def forward(ctx, A, b):
                    y = torch.from_numpy(np.linalg.solve(A.detach().numpy(), b.detach().numpy()))
                    ctx.save_for_backward(A, y)
                    return y

                @staticmethod
                def backward(ctx, grad):
                    A, y = ctx.saved_tensors
                    by_b = torch.from_numpy(np.linalg.solve(A.detach().numpy().T, grad.detach().numpy()))
                    by_A = -by_b.unsqueeze(1) * y if ctx.needs_input_grad[0] else None
                    return by_A, by_b
            """,
            says="backward for a second",
            why="Right, once. A second derivative is a number, and a wrong one.",
        ),
        Wrong(
            """
            class Solve(torch.autograd.Function):
                @staticmethod
                def forward(ctx, A, b):
                    y = torch.from_numpy(np.linalg.solve(A.detach().numpy(), b.detach().numpy()))
                    ctx.save_for_backward(A, b)
                    return y

                @staticmethod
                @once_differentiable
                def backward(ctx, grad):
                    A, b = ctx.saved_tensors
                    A, b = A.detach().numpy(), b.detach().numpy()
                    by_b = torch.from_numpy(np.linalg.solve(A.T, grad.detach().numpy()))
                    y = torch.from_numpy(np.linalg.solve(A, b))
                    return -by_b.unsqueeze(1) * y, by_b
            """,
            says="two are enough",
            why="$y$ was there already: an output may be saved.",
        ),
    ]

    def check(Solve):
        A = torch.tensor([[2.0, 1.0], [0.0, 4.0]], dtype=torch.float64, requires_grad=True)
        b = torch.tensor([4.0, 8.0], dtype=torch.float64, requires_grad=True)
        original, systems = np.linalg.solve, []

        def counted(*args):
            systems.append(args)
            return original(*args)

        np.linalg.solve = counted
        try:
            y = Solve.apply(A, b)
            expect(y.tolist(), [1.0, 2.0], "the solution")
            weights = torch.tensor([1.0, 3.0], dtype=torch.float64)
            by_A, by_b = torch.autograd.grad(y, (A, b), weights, allow_unused=True)
        finally:
            np.linalg.solve = original
        require(by_A is not None and by_b is not None, "A gradient is None where one is wanted.")
        wrong_way = by_b.tolist() == original(A.detach().numpy(), weights.numpy()).tolist()
        require(not wrong_way, "The system of backward is to be solved with the transpose.")
        expect(by_b.tolist(), [0.5, 0.625], "the gradient of b")
        expect(by_A.tolist(), [[-0.5, -1.0], [-0.625, -1.25]], "the gradient of A")
        count = len(systems)
        require(count < 3, f"{count} systems were solved for forward and backward; two are enough.")
        torch.manual_seed(0)
        A = (torch.randn(3, 3) + 3 * torch.eye(3)).double().requires_grad_()
        b = torch.randn(3).double().requires_grad_()
        ok = torch.autograd.gradcheck(Solve.apply, (A, b), raise_exception=False)
        require(ok, "gradcheck of Solve.apply fails on a random system of three equations.")
        y = Solve.apply(A.detach(), b)
        returned = []
        y.grad_fn.register_hook(lambda grads, _: returned.extend(grads))
        y.sum().backward()
        require(returned[0] is None, "A does not require grad here, and its gradient was computed.")
        energy = (Solve.apply(A, b) ** 2 + b**3).sum()
        (first,) = torch.autograd.grad(energy, b, create_graph=True)
        expect_error(RuntimeError, first.sum().backward, about="backward for a second derivative")


def column_scale(sums=lambda rows: rows.sum(0), reads=lambda factor: factor, uses_attributes=False):
    """A Function that multiplies columns; its parts can be replaced by wrong ones."""

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            if uses_attributes:
                ctx.kept = x, factor
            else:
                ctx.save_for_backward(x, factor)
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            x, factor = ctx.kept if uses_attributes else ctx.saved_tensors
            return grad * reads(factor), sums(grad * x)

    return Scale


class HuntInAFunction(BugHunt):
    """A test for someone else's function

    `scale(x, factor)` multiplies the columns of a matrix by `factor`, with a derivative written by hand.
    Three people have made one, and in each the values are right. Write `test(scale)`, which passes on the
    right one and fails on each of theirs.
    """

    idea = "Break it"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(scale):
            x = torch.ones(2, 2, requires_grad=True)
            factor = torch.tensor([2.0, 3.0], requires_grad=True)
            y = scale(x, factor)
            assert y.tolist() == [[2.0, 3.0], [2.0, 3.0]]
            y.sum().backward()
            assert x.grad.tolist() == [[2.0, 3.0], [2.0, 3.0]]
    """
    hints = [
        "Equal rows and a square matrix hide much. Which function compares *all* entries of a "
        "derivative with the truth?",
        "`torch.autograd.gradcheck(scale, (x, factor))`, with float64 and random numbers. It finds one, "
        "`gradgradcheck` another.",
        "The third keeps its tensors as attributes. What does such a function not notice between "
        "forward and backward?",
    ]
    solution = """
        def test(scale):
            torch.manual_seed(0)
            x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
            factor = torch.randn(3, dtype=torch.float64, requires_grad=True)
            try:
                assert torch.autograd.gradcheck(scale, (x, factor))
                assert torch.autograd.gradgradcheck(scale, (x, factor))
            except RuntimeError as error:
                raise AssertionError("the derivative is wrong") from error

            y = scale(x, factor)
            with torch.no_grad():
                factor.mul_(2)
            try:
                y.sum().backward()
            except RuntimeError:
                return
            raise AssertionError("a write to factor was not noticed")
    """
    reason = """
        Two lines compare every number, and the rest asks for what numbers cannot show. A function that
        passes these three can be trusted with a network.
    """
    wrong = [
        Wrong(
            """
            def test(scale):
                torch.manual_seed(0)
                x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
                factor = torch.randn(3, dtype=torch.float64, requires_grad=True)
                assert torch.autograd.gradcheck(scale, (x, factor))
            """,
            says="2 of 3 planted bugs",
            why="First derivatives at rest: no second one is asked for, and nothing is written in "
            "between.",
        ),
        Wrong(
            """
            def test(scale):
                torch.manual_seed(0)
                x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
                factor = torch.randn(3, dtype=torch.float64, requires_grad=True)
                assert torch.autograd.gradcheck(scale, (x, factor))
                assert torch.autograd.gradgradcheck(scale, (x, factor))
            """,
            says="1 of 3 planted bugs",
            why="All derivatives are compared. The third function is right as long as nothing is written.",
        ),
        Wrong(
            """
            def test(scale):
                x = torch.ones(2, 3, requires_grad=True)
                factor = torch.ones(3, requires_grad=True)
                assert torch.autograd.gradcheck(scale, (x, factor))
            """,
            says="The first half fails",
            why="float32 has too few digits for a finite difference: the right function fails as well.",
        ),
    ]

    def right(x, factor):
        return column_scale().apply(x, factor)

    def one_row(x, factor):
        """the gradient of `factor` is the first row's times the number of rows, instead of the sum"""
        return column_scale(sums=lambda rows: rows[0] * len(rows)).apply(x, factor)

    def unguarded(x, factor):
        """tensors are kept as attributes of ctx, and a write to them goes unnoticed"""
        return column_scale(uses_attributes=True).apply(x, factor)

    def once(x, factor):
        """`factor` goes through NumPy in backward, and is a constant to the second derivative"""
        return column_scale(reads=lambda t: torch.from_numpy(t.detach().numpy())).apply(x, factor)

    bugs = [one_row, unguarded, once]
