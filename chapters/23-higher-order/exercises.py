"""Exercises of chapter 23, derivatives of derivatives."""

import math
import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = "import tensorlab as torch"


class WhatAccumulates(Exercise):
    """What accumulates

    What is `x.grad` when this program has ended? Replace `None` before you run anything.

        x = torch.tensor(3.0, requires_grad=True)
        y = x**3
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.backward(retain_graph=True)
        y.backward()
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        grad = None
    """
    hints = [
        "Which of the lines write to `x.grad`? `autograd.grad` is not among them.",
        "`g.backward()` adds the derivative of $g = 3x^2$, and `y.backward()` adds that of $y$.",
    ]
    solution = """
        grad = 45.0
    """
    reason = """
        `autograd.grad` returns its gradients and leaves every `.grad` alone. Then 6x = 18 is added, and 3x² = 27.
    """
    wrong = [
        Wrong(
            "grad = 27.0", says="first derivative alone", why="`g.backward()` has already added 6x."
        ),
        Wrong(
            "grad = 18.0",
            says="second derivative alone",
            why="`y.backward()` adds to `.grad`; it doesn't replace it.",
        ),
        Wrong(
            "grad = 72.0",
            says="autograd.grad",
            why="27 + 18 + 27: it counts the call of `autograd.grad`, which doesn't write to `.grad`.",
        ),
    ]

    def check(grad):
        x = torch.tensor(3.0, requires_grad=True)
        y = x**3
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.backward(retain_graph=True)
        y.backward()
        remarks = {
            27.0: "That is the first derivative alone. Which line came before?",
            18.0: "That is the second derivative alone. Does the last line replace it?",
            72.0: "Does autograd.grad write to x.grad?",
        }
        require(grad == x.grad.item() or grad not in remarks, remarks.get(grad, ""))
        expect(grad, x.grad.item(), "x.grad at the end")


class HessianTimesVector(Exercise):
    """A product with a Hessian

    Write `hvp(f, x, v)`: `f` takes a tensor and returns one number, and the result is $H v$, a tensor in the shape of
    `x` without a history. Call `f` once, and don't use `autograd.functional`. `x` may or may not require grad, and
    its `.grad` must stay as it was.
    """

    kind = "implement"
    idea = "Worked trace"
    stub = """
        def hvp(f, x, v):
            return v  # not yet
    """
    hints = [
        "Take a leaf of your own: `x = x.detach().requires_grad_()`.",
        "Two calls of `torch.autograd.grad`. What does the first one need, so that its result can be differentiated?",
        "`create_graph=True`. The second differentiates `(g * v).sum()`.",
    ]
    solution = """
        def hvp(f, x, v):
            x = x.detach().requires_grad_()
            (g,) = torch.autograd.grad(f(x), x, create_graph=True)
            (product,) = torch.autograd.grad((g * v).sum(), x)
            return product
    """
    reason = """
        Two passes for any size. `torch.autograd.grad(g, x, v)` is the same as differentiating `(g * v).sum()`: the
        vector of a vector-Jacobian product is a weighted sum.
    """
    wrong = [
        Wrong(
            """
            def hvp(f, x, v):
                x = x.detach().requires_grad_()
                (g,) = torch.autograd.grad(f(x), x)
                (product,) = torch.autograd.grad((g * v).sum(), x)
                return product
            """,
            says="does not require grad",
            why="Without `create_graph` the gradient is a plain number, and the second call has no graph.",
        ),
        Wrong(
            """
            def hvp(f, x, v):
                x = x.detach().requires_grad_()
                (g,) = torch.autograd.grad(f(x), x, create_graph=True)
                (product,) = torch.autograd.grad(g.sum(), x)
                return product * v
            """,
            says="times v afterwards",
            why="The derivative of the *sum* of g is H times ones. The vector has to go in before.",
        ),
        Wrong(
            """
            def hvp(f, x, v):
                x = x.detach().requires_grad_()
                (g,) = torch.autograd.grad(f(x), x, create_graph=True)
                (product,) = torch.autograd.grad((g * v).sum(), x, create_graph=True)
                return product
            """,
            says="history",
            why="The right numbers, but with a graph for third derivatives that nothing needs.",
        ),
        Wrong(
            """
            def hvp(f, x, v):
                step = 1e-4
                slopes = []
                for place in (x + step * v, x - step * v):
                    leaf = place.detach().requires_grad_()
                    slopes.append(torch.autograd.grad(f(leaf), leaf)[0])
                return (slopes[0] - slopes[1]) / (2 * step)
            """,
            says="called f 2 times",
            why="A difference of two gradients: not exact, and f is called twice.",
        ),
    ]

    def check(hvp):
        calls = []

        def f(x):
            calls.append(None)
            return (x[0] ** 2 * x[1]) + x[2].exp() * x[0]

        x = torch.tensor([3.0, 2.0, 0.5], dtype=torch.float64, requires_grad=True)
        v = torch.tensor([1.0, 10.0, -1.0], dtype=torch.float64)
        e = math.exp(0.5)
        H = torch.tensor([[4.0, 6.0, e], [6.0, 0.0, 0.0], [e, 0.0, 3 * e]], dtype=torch.float64)
        came = hvp(f, x, v)
        require(len(calls) == 1, f"It called f {len(calls)} times, and should call it once.")
        require(
            not torch.allclose(came, H.sum(1) * v),
            "This is H times ones, and times v afterwards: the vector comes too late.",
        )
        require(not came.requires_grad, "The result has a history, but it should be plain numbers.")
        expect(came, H @ v, "H v", tolerance=1e-12)
        require(x.grad is None, "It has written to x.grad.")
        expect(hvp(f, x.detach(), v), H @ v, "H v where x doesn't require grad", tolerance=1e-12)
        for shape in ((4,), (2, 3), ()):
            x, v, a, b = (torch.randn(shape, dtype=torch.float64) for _ in range(4))
            x.requires_grad_()
            x.grad = torch.ones(shape, dtype=torch.float64)
            came = hvp(lambda x, a=a, b=b: (a * x).sum().sin() + (b * x**3).sum(), x, v)
            with torch.no_grad():
                wanted = -(a * x).sum().sin() * (a * v).sum() * a + 6 * b * x * v
            expect(
                came,
                wanted,
                f"H v for a random function of a tensor of shape {shape}",
                tolerance=1e-9,
            )
            require(x.grad.eq(1).all().item(), "It has changed x.grad.")


class AllDerivatives(Exercise):
    """All derivatives

    Write `derivatives(f, x, count)`: `f` maps a tensor of one number to another, `x` is a Python float. Return a list
    of floats, $f(x), f'(x), \\dots$, up to the derivative of order `count`, in float64. It must also work for
    polynomials, whose derivatives are zero from some order on.
    """

    kind = "extend"
    idea = "tanh, eight times"
    stub = """
        def derivatives(f, x, count):
            x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
            return [f(x).item()]  # and the others?
    """
    hints = [
        "Call `torch.autograd.grad(y, x, create_graph=True)` again and again, each time on its last result.",
        "The derivative of $3x$ is a constant that doesn't depend on `x`. So it doesn't require grad, and asking for "
        "its derivative raises an error.",
        "`if not y.requires_grad:` the rest is zeros.",
    ]
    solution = """
        def derivatives(f, x, count):
            x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
            y = f(x)
            found = [y.item()]
            for _ in range(count):
                if y.requires_grad:
                    (y,) = torch.autograd.grad(y, x, create_graph=True)
                else:
                    y = torch.zeros_like(y)
                found.append(y.item())
            return found
    """
    reason = """
        A constant has no graph, so the engine can't find its derivative, which is zero. The
        functions of `autograd.functional` make the same decision, unless you say `strict=True`.
    """
    wrong = [
        Wrong(
            """
            def derivatives(f, x, count):
                x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
                y = f(x)
                found = [y.item()]
                for _ in range(count):
                    (y,) = torch.autograd.grad(y, x, create_graph=True)
                    found.append(y.item())
                return found
            """,
            says="does not require grad",
            why="It fails for the polynomial: the engine has no graph for the derivative of a constant.",
        ),
        Wrong(
            """
            def derivatives(f, x, count):
                x = torch.tensor(x, requires_grad=True)
                y = f(x)
                found = [y.item()]
                for _ in range(count):
                    if y.requires_grad:
                        (y,) = torch.autograd.grad(y, x, create_graph=True)
                    else:
                        y = y * 0
                    found.append(y.item())
                return found
            """,
            says="float32",
            why="`torch.tensor(0.5)` is float32, and the numbers have seven digits.",
        ),
        Wrong(
            """
            def derivatives(f, x, count):
                x = torch.tensor(x, dtype=torch.float64, requires_grad=True)
                y = f(x)
                found = [y.item()]
                for _ in range(count):
                    if not y.requires_grad:
                        break
                    (y,) = torch.autograd.grad(y, x, create_graph=True)
                    found.append(y.item())
                return found
            """,
            says="too short",
            why="It stops at the constant, and leaves the zeros out.",
        ),
    ]

    def check(derivatives):
        came = derivatives(lambda x: x**3, 2.0, 5)
        require(
            len(came) == 6,
            f"The list has {len(came)} entries and should have 6: too short for x³ up to order 5."
            if len(came) < 6
            else f"The list has {len(came)} entries; 6 belong there.",
        )
        expect(came, [8.0, 12.0, 12.0, 6.0, 0.0, 0.0], "the derivatives of x³ at 2")
        came = derivatives(torch.tanh, 0.5, 4)
        t = math.tanh(0.5)
        s = 1 - t * t
        truth = [t, s, -2 * t * s, s * (6 * t * t - 2), s * (16 * t - 24 * t**3)]
        require(
            max(abs(a - b) for a, b in zip(came, truth, strict=True)) < 1e-10
            or max(abs(a - b) for a, b in zip(came, truth, strict=True)) > 1e-4,
            "Seven digits are right: these numbers were float32 on the way.",
        )
        expect(came, truth, "the derivatives of tanh at 0.5", tolerance=1e-12)
        for _ in range(5):
            x, rate, count = random.uniform(-1, 1), random.uniform(0.5, 2), random.randint(0, 6)
            came = derivatives(lambda x, rate=rate: (x * rate).exp(), x, count)
            truth = [rate**order * math.exp(rate * x) for order in range(count + 1)]
            expect(came, truth, f"the derivatives of exp({rate:.3f} x) at {x:.3f}", tolerance=1e-9)


class HuntPenalty(BugHunt):
    """A test for a penalty

    `penalty(f, x)` is a {term}`gradient penalty`: `f` maps a batch of points, one in each row of `x`, to one number
    each, and the penalty is the mean over the rows of $(\\lVert \\nabla f \\rVert - 1)^2$. It goes into a loss, so
    it must be differentiable. Three people wrote it in three wrong ways. Write `test(penalty)`, which passes on the
    right function and fails on each of theirs.
    """

    idea = "Break it"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(penalty):
            w = torch.tensor([3.0, 4.0], requires_grad=True)
            value = penalty(lambda x: x @ w, torch.zeros(1, 2))
            assert abs(value.item() - 16.0) < 1e-4  # the length of w is 5
    """
    hints = [
        "The stub has one row. Which formulas give the same for one row, and other values for two?",
        "With `x` of two rows the value is still 16. That finds the two that mix up the rows.",
        "The third has the right value. Call `value.backward()`, or ask whether it requires grad.",
    ]
    solution = """
        def test(penalty):
            w = torch.tensor([3.0, 4.0], requires_grad=True)
            value = penalty(lambda x: x @ w, torch.zeros(3, 2))
            assert abs(value.item() - 16.0) < 1e-4
            assert value.requires_grad
            value.backward()
            assert abs(w.grad[0].item() - 2 * 4 * 0.6) < 1e-4
    """
    reason = """
        The gradient of $(\\lVert w \\rVert - 1)^2$ by $w$ is $2 (\\lVert w \\rVert - 1)\\, w / \\lVert w \\rVert$, so
        the first entry is $2 \\cdot 4 \\cdot 3/5$. A linear function has the same gradient everywhere, and that makes
        a good test: you know every number by hand.
    """
    wrong = [
        Wrong(
            """
            def test(penalty):
                w = torch.tensor([3.0, 4.0], requires_grad=True)
                value = penalty(lambda x: x @ w, torch.zeros(3, 2))
                assert abs(value.item() - 16.0) < 1e-4
            """,
            says="(number 1)",
            why="It looks only at the value, and a detached penalty has the right one.",
        ),
        Wrong(
            """
            def test(penalty):
                w = torch.tensor([3.0, 4.0], requires_grad=True)
                value = penalty(lambda x: x @ w, torch.zeros(1, 2))
                assert value.requires_grad
                assert abs(value.item() - 16.0) < 1e-4
            """,
            says="(number 2, 3)",
            why="With one row, a mean and a sum are the same.",
        ),
        Wrong(
            """
            def test(penalty):
                w = torch.tensor([3.0, 4.0], requires_grad=True)
                value = penalty(lambda x: x @ w, torch.zeros(3, 2))
                assert value.requires_grad
                assert value.item() == 25.0
            """,
            says="AssertionError",
            why="The length is 5, and the penalty is the square of its distance from 1: the right one fails too.",
        ),
    ]

    def right(f, x):
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        return ((g.square().sum(1).add(1e-12).sqrt() - 1) ** 2).mean()

    def forgets_create_graph(f, x):
        """the gradient is a plain number, so that the penalty asks for nothing"""
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(f(x).sum(), x)
        return ((g.square().sum(1).add(1e-12).sqrt() - 1) ** 2).mean()

    def divides_by_the_batch(f, x):
        """it differentiates the mean of f, so that each gradient is divided by the number of rows"""
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(f(x).mean(), x, create_graph=True)
        return ((g.square().sum(1).add(1e-12).sqrt() - 1) ** 2).mean()

    def one_length_for_all(f, x):
        """it takes the length of all rows together"""
        x = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        return (g.square().sum().add(1e-12).sqrt() - 1) ** 2

    bugs = [forgets_create_graph, divides_by_the_batch, one_length_for_all]
