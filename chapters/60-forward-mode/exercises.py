"""Exercises of chapter 60, forward mode."""

import math
import random

from tensorlab._core.dispatch.levels import box_of, without_boxes

import tensorlab as torch
from tensorlab import func
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
from tensorlab import func
"""


class HowFastItMoves(Exercise):
    """How fast it moves

    With $\\varepsilon^2 = 0$, this is a dual number:

    $$(2 + \\varepsilon)\\,(3 + 4\\varepsilon) + \\sin(5\\varepsilon)$$

    What is its tangent? Replace `None`, and use paper instead of a program.
    """

    kind = "warm-up"
    idea = "A number that knows how it moves"
    stub = """
        tangent = None
    """
    hints = [
        "Multiply out the product, and drop the term with $\\varepsilon^2$. Which two terms have one $\\varepsilon$?",
        "The sine of a dual number has the tangent $a' \\cos a$. Here $a = 0$.",
    ]
    solution = """
        tangent = 16.0
    """
    reason = """
        The product has 1·3 + 2·4 = 11, and the sine 5·cos 0 = 5.
    """
    wrong = [
        Wrong(
            "tangent = 13.0",
            says="two terms",
            why="2·4 + 5: the tangent of the first factor is missing.",
        ),
        Wrong(
            "tangent = 9.0",
            says="square of epsilon",
            why="1·4 + 5: that multiplies the tangents, but their product belongs to the dropped term.",
        ),
        Wrong("tangent = 11.0", says="the sine", why="The sine of zero is 0, but it moves."),
    ]

    def check(tangent):
        remarks = {
            13.0: "The product rule has two terms, and one is missing.",
            9.0: "The product of the two tangents goes with the square of epsilon, which is zero.",
            11.0: "And the sine? Its value is 0, but does it move?",
        }
        require(tangent not in remarks, remarks.get(tangent, ""))
        expect(tangent, 16.0, "the tangent")


class RuleOfAnOp(Exercise):
    """The forward rule of a new op

    `Unit` divides each row of a tensor by its length: $y = x / \\lVert x \\rVert$ along the last dimension. Write its
    forward rule, `jvp`, and save in `setup_context` what it needs. It must be right for a derivative of a derivative
    too. There's no need for a backward.
    """

    kind = "implement"
    idea = "A rule of your own"
    beside = "the check nests your rule, and boxes don't travel between processes"
    stub = """
        class Unit(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x / x.norm(dim=-1, keepdim=True)

            @staticmethod
            def setup_context(ctx, inputs, output):
                pass  # what does jvp need?

            @staticmethod
            def jvp(ctx, t):
                return t  # not yet
    """
    hints = [
        "Differentiate $x / r$ with $r = \\lVert x \\rVert$: both move. The derivative of $r$ along $t$ is "
        "$x \\cdot t / r$.",
        "$t / r - x\\,(x \\cdot t) / r^3$, with a dot product for each row.",
        "`ctx.save_for_forward(*inputs)`, and then `(x,) = ctx.saved_tensors`.",
    ]
    solution = """
        class Unit(torch.autograd.Function):
            @staticmethod
            def forward(x):
                return x / x.norm(dim=-1, keepdim=True)

            @staticmethod
            def setup_context(ctx, inputs, output):
                ctx.save_for_forward(*inputs)

            @staticmethod
            def jvp(ctx, t):
                (x,) = ctx.saved_tensors
                r = x.norm(dim=-1, keepdim=True)
                y = x / r
                return (t - y * (y * t).sum(-1, keepdim=True)) / r
    """
    reason = """
        The result keeps its length 1, so it can only move at right angles to itself: the rule takes away what t has
        along y, and divides by the length.
    """
    wrong = [
        Wrong(
            """
            class Unit(torch.autograd.Function):
                @staticmethod
                def forward(x):
                    return x / x.norm(dim=-1, keepdim=True)

                @staticmethod
                def setup_context(ctx, inputs, output):
                    ctx.save_for_forward(*inputs)

                @staticmethod
                def jvp(ctx, t):
                    (x,) = ctx.saved_tensors
                    return t / x.norm(dim=-1, keepdim=True)
            """,
            says="length moves, too",
            why="It takes the length for a constant, so a term is missing.",
        ),
        Wrong(
            """
            class Unit(torch.autograd.Function):
                @staticmethod
                def forward(x):
                    return x / x.norm(dim=-1, keepdim=True)

                @staticmethod
                def setup_context(ctx, inputs, output):
                    ctx.save_for_forward(*inputs)

                @staticmethod
                def jvp(ctx, t):
                    (x,) = ctx.saved_tensors
                    r = x.norm(dim=-1, keepdim=True)
                    y = x / r
                    return (t - y * (y * t).sum()) / r
            """,
            says="2 rows",
            why="One dot product for all rows: it's right for a single one.",
        ),
        Wrong(
            """
            class Unit(torch.autograd.Function):
                @staticmethod
                def forward(x):
                    return x / x.norm(dim=-1, keepdim=True)

                @staticmethod
                def setup_context(ctx, inputs, output):
                    ctx.save_for_forward(inputs[0].detach())

                @staticmethod
                def jvp(ctx, t):
                    x = ctx.saved_tensors[0].detach()
                    x = torch.tensor(x.tolist(), dtype=x.dtype)
                    r = x.norm(dim=-1, keepdim=True)
                    y = x / r
                    return (t - y * (y * t).sum(-1, keepdim=True)) / r
            """,
            says="derivative of the derivative",
            why="Numbers copied to a list have no tangents, so the second derivative takes the rule for a constant.",
        ),
    ]

    def check(Unit):
        def plain(x):
            return x / (x * x).sum(-1, keepdim=True).sqrt()

        for shape in ((3,), (2, 3), (2, 1, 4)):
            x, t, u = (torch.randn(shape, dtype=torch.float64) for _ in range(3))
            x = x + x.sign()  # away from zero
            wanted = func.jvp(plain, (x,), (t,))
            value, moved = func.jvp(Unit.apply, (x,), (t,))
            require(
                not torch.allclose(moved, t / x.norm(dim=-1, keepdim=True)),
                "This is t divided by the length. But the length moves, too.",
            )
            where = "one row" if len(shape) == 1 else f"{shape[0]} rows, shape {shape}"
            expect(value, wanted[0], f"the value for {where}", tolerance=1e-12)
            expect(moved, wanted[1], f"the tangent for {where}", tolerance=1e-10)
            second = [
                func.jvp(lambda x, f=f, t=t: func.jvp(f, (x,), (t,))[1], (x,), (u,))[1]
                for f in (Unit.apply, plain)
            ]
            expect(second[0], second[1], "the derivative of the derivative", tolerance=1e-9)


class ForwardOverReverse(Exercise):
    """A Hessian-vector product that nests

    Write `hvp(f, x, v)`: `f` takes a tensor and returns one number, and the result is $H v$ in the shape of `x`.
    Chapter {chapter}`23` has one too. This one must work inside of other transforms: `func.jvp` around it gives
    third derivatives. Outside of transforms, the result has no history.
    """

    kind = "implement"
    idea = "Hessian-vector products"
    beside = "the check differentiates your function, and boxes don't travel between processes"
    stub = """
        def hvp(f, x, v):
            return v  # not yet
    """
    hints = [
        "$H v$ is a directional derivative of a function. Of which one?",
        "Of the gradient: `func.grad(f)`. Along $v$: `func.jvp`.",
        "`func.jvp` takes tuples, and returns the value first.",
    ]
    solution = """
        def hvp(f, x, v):
            return func.jvp(func.grad(f), (x,), (v,))[1]
    """
    reason = """
        Functions of functions nest without a plan: each opens a level of its own.
    """
    wrong = [
        Wrong(
            """
            def hvp(f, x, v):
                x = x.detach().requires_grad_()
                (g,) = torch.autograd.grad(f(x), x, create_graph=True)
                return torch.autograd.grad(g, x, v)[0]
            """,
            says="does not require grad",
            why="Right numbers outside, but `autograd.grad` doesn't nest with levels: inside of a transform it fails.",
        ),
        Wrong(
            """
            def hvp(f, x, v):
                return func.grad(f)(x) * v
            """,
            says="H v",
            why="That's the gradient times v, element by element; it has no second derivative in it.",
        ),
        Wrong(
            """
            def hvp(f, x, v):
                return func.jvp(func.grad(f), (x,), (v,))[0]
            """,
            says="is the gradient",
            why="The first result of `jvp` is the value.",
        ),
    ]

    def check(hvp):
        def f(x, a, b):
            return (a * x).sum().sin() + (b * x**3).sum()

        def product(x, a, b, v):
            return -(a * x).sum().sin() * (a * v).sum() * a + 6 * b * x * v

        for shape in ((4,), (2, 3), ()):
            x, v, a, b, u = (torch.randn(shape, dtype=torch.float64) for _ in range(5))
            own = lambda x, a=a, b=b: f(x, a, b)  # noqa: E731
            came = hvp(own, x, v)
            require(
                not torch.allclose(came, func.grad(own)(x)),
                "This is the gradient: jvp returns the value first.",
            )
            require(not came.requires_grad, "The result has a history.")
            expect(came, product(x, a, b, v), f"H v for shape {shape}", tolerance=1e-9)
            third = func.jvp(lambda x, own=own, v=v: hvp(own, x, v), (x,), (u,))[1]
            wanted = func.jvp(lambda x, a=a, b=b, v=v: product(x, a, b, v), (x,), (u,))[1]
            expect(third, wanted, "the third derivative, by jvp around it", tolerance=1e-9)


class SharedColumns(Exercise):
    """Columns that share a pass

    `f` maps a tensor of n numbers to n numbers, and output i depends on inputs i - 1, i and i + 1 only, as far as they
    exist. So its Jacobian has three diagonals. Write `banded(f, x)`, which returns the whole matrix, by forward mode.
    It may push three tangents through `f`, however large n is.
    """

    kind = "extend"
    idea = "Where forward and reverse cross"
    beside = "the check looks into the boxes that f gets, and they don't travel between processes"
    stub = """
        def banded(f, x):
            return func.jacfwd(f)(x)  # n tangents
    """
    hints = [
        "Columns 0 and 3 have no row in which both are nonzero. What do you get from a tangent with ones at 0 and 3?",
        "Ones at 0, 3, 6, ... give the columns 0, 3, 6, ... in one vector. In row i stands the entry of the one "
        "column that's at most 1 away from i.",
        "For shift 0, 1, 2: the tangent has ones at j = shift, shift + 3, ... Then J[i, j] is moved[i] for i from "
        "j - 1 to j + 1.",
    ]
    solution = """
        def banded(f, x):
            n = len(x)
            J = torch.zeros(n, n, dtype=x.dtype)
            for shift in range(min(3, n)):
                t = torch.zeros(n, dtype=x.dtype)
                t[shift::3] = 1
                _, moved = func.jvp(f, (x,), (t,))
                for j in range(shift, n, 3):
                    rows = slice(max(j - 1, 0), j + 2)
                    J[rows, j] = moved[rows]
            return J
    """
    reason = """
        A forward pass gives a sum of columns. If no two of them share a row, the sum keeps them apart. Simulations of
        physics have such Jacobians; finding few groups of columns is a problem of colouring a graph.
    """
    wrong = [
        Wrong(
            """
            def banded(f, x):
                return func.jacfwd(f)(x)
            """,
            says="tangents",
            why="The right matrix, but n tangents.",
        ),
        Wrong(
            """
            def banded(f, x):
                n = len(x)
                J = torch.zeros(n, n, dtype=x.dtype)
                t = torch.zeros(n, dtype=x.dtype)
                for shift in range(min(3, n)):
                    t[shift::3] = 1
                    _, moved = func.jvp(f, (x,), (t,))
                    for j in range(shift, n, 3):
                        rows = slice(max(j - 1, 0), j + 2)
                        J[rows, j] = moved[rows]
                return J
            """,
            says="reset",
            why="The ones of the last pass are still in the tangent.",
        ),
        Wrong(
            """
            def banded(f, x):
                n = len(x)
                J = torch.zeros(n, n, dtype=x.dtype)
                for shift in range(min(2, n)):
                    t = torch.zeros(n, dtype=x.dtype)
                    t[shift::2] = 1
                    _, moved = func.jvp(f, (x,), (t,))
                    for j in range(shift, n, 2):
                        rows = slice(max(j - 1, 0), j + 2)
                        J[rows, j] = moved[rows]
                return J
            """,
            says="the Jacobian for n",
            why="With every second column, row 1 holds the sum of the columns 0 and 2.",
        ),
    ]

    def check(banded):
        for n in (1, 2, 3, 7, random.randint(20, 30)):
            a, b, c, x = (torch.randn(n, dtype=torch.float64) for _ in range(4))
            pushed = []

            def f(x, a=a, b=b, c=c, n=n, pushed=pushed):
                found = box_of(x)
                while found is not None and found.tangent is None:
                    found = box_of(found.value)
                if found is not None:
                    pushed.append(without_boxes(found.tangent).numel() // n)
                edge = torch.zeros(1, dtype=x.dtype)
                before, after = torch.cat([edge, x[:-1]]), torch.cat([x[1:], edge])
                return a * before.sin() + b * x * x + c * after * x

            came = banded(f, x)
            wanted = torch.diag(2 * b * x + c * torch.cat([x[1:], x.new_zeros(1)]))
            for i in range(n - 1):
                wanted[i + 1, i] = a[i + 1] * x[i].cos()
                wanted[i, i + 1] = c[i] * x[i]
            if n > 1 and tuple(came.shape) == (n, n) and not torch.allclose(came, wanted):
                require(
                    not torch.allclose(came[:, ::3], wanted[:, ::3]),
                    "The columns 0, 3, ... are right, the others aren't: did you reset the tangent?",
                )
            expect(came, wanted, f"the Jacobian for n = {n}", tolerance=1e-10)
            require(sum(pushed) > 0, "No tangent went through f. Use forward mode.")
            require(
                sum(pushed) <= 3,
                f"{sum(pushed)} tangents went through f for n = {n}; three are enough.",
            )


class _Number:
    """A number with a slope, at a level: what the engines of the hunt calculate with."""

    def __init__(self, value, slope, level):
        self.value, self.slope, self.level = value, slope, level

    def parts(self, other):
        level = max(self.level, other.level if isinstance(other, _Number) else 0)
        return level, *_split(self, level), *_split(other, level)

    def __add__(self, other):
        level, a, da, b, db = self.parts(other)
        return type(self)(a + b, da + db, level)

    def __mul__(self, other):
        level, a, da, b, db = self.parts(other)
        return type(self)(a * b, da * b + a * db, level)

    __radd__, __rmul__ = __add__, __mul__

    def sin(self):
        return type(self)(_sin(self.value), self.slope * _cos(self.value), self.level)

    def cos(self):
        return type(self)(_cos(self.value), self.slope * _sin(self.value) * -1.0, self.level)


class _Forgetful(_Number):
    def __mul__(self, other):
        level, a, da, b, _ = self.parts(other)
        return type(self)(a * b, da * b, level)

    __rmul__ = __mul__


def _split(x, level):
    return (x.value, x.slope) if isinstance(x, _Number) and x.level == level else (x, 0.0)


def _sin(x):
    return x.sin() if isinstance(x, _Number) else math.sin(x)


def _cos(x):
    return x.cos() if isinstance(x, _Number) else math.cos(x)


_depth = [0]


def _gradient(f, x, number=_Number, resets=True, counts=True):
    """All derivatives of f by forward mode, a pass for each."""
    _depth[0] += 1
    level = _depth[0] if counts else 1
    try:
        found, seeds = [], [0.0] * len(x)
        for i in range(len(x)):
            if resets:
                seeds = [0.0] * len(x)
            seeds[i] = 1.0
            y = f([number(value, seed, level) for value, seed in zip(x, seeds, strict=True)])
            found.append(_split(y, level)[1])
        return found
    finally:
        _depth[0] -= 1


class HuntForward(BugHunt):
    """A test for a forward engine

    `gradient(f, x)` computes all derivatives of a function by forward mode, one pass for each: `f` takes a list of
    numbers and returns one, `x` is a list of floats, and the result is a list of floats. The numbers know `+`, `*` and
    `.sin()`. Inside of `f`, you may call `gradient` again. Three people wrote it in three wrong ways. Write
    `test(gradient)`, which passes on the right function and fails on each of theirs.
    """

    idea = "Break it"
    stub = """
        def test(gradient):
            (slope,) = gradient(lambda x: 3.0 * x[0] + x[0].sin(), [0.0])
            assert abs(slope - 4.0) < 1e-9
    """
    hints = [
        "The stub has one input, a product with a constant, and one level. Each of these hides one bug.",
        "Two inputs find the tangent that isn't reset; `x[0] * x[1]` finds the missing term.",
        "For the third, the inner function must use the outer variable: the derivative of `x * d/dy (x + y)` is 1.",
    ]
    solution = """
        def test(gradient):
            found = gradient(lambda x: x[0] * x[1] + x[1], [2.0, 5.0])
            assert abs(found[0] - 5.0) < 1e-9 and abs(found[1] - 3.0) < 1e-9
            (slope,) = gradient(lambda x: x[0] * gradient(lambda y: x[0] + y[0], [1.0])[0], [1.0])
            assert abs(slope - 1.0) < 1e-9
    """
    reason = """
        The two derivatives of $xy + y$ differ at (2, 5), so a sum of columns shows; and both factors move. The nested
        function uses the outer x inside: without that, one epsilon for all is enough.
    """
    wrong = [
        Wrong(
            """
            def test(gradient):
                found = gradient(lambda x: x[0] * x[1] + x[1], [2.0, 5.0])
                assert abs(found[0] - 5.0) < 1e-9 and abs(found[1] - 3.0) < 1e-9
            """,
            says="(number 2)",
            why="It doesn't nest, so it can't see whether there are levels.",
        ),
        Wrong(
            """
            def test(gradient):
                (slope,) = gradient(lambda x: x[0] * x[0], [3.0])
                assert abs(slope - 6.0) < 1e-9
                (slope,) = gradient(lambda x: x[0] * gradient(lambda y: x[0] + y[0], [1.0])[0], [1.0])
                assert abs(slope - 1.0) < 1e-9
            """,
            says="(number 3)",
            why="With one input there's nothing to reset.",
        ),
        Wrong(
            """
            def test(gradient):
                found = gradient(lambda x: x[0] * x[1], [2.0, 5.0])
                assert found == [2.0, 5.0]
            """,
            says="AssertionError",
            why="The derivative by the first factor is the second one: the right engine fails too.",
        ),
    ]

    def right(f, x):
        return _gradient(f, x)

    def forgets_a_term(f, x):
        """the rule of the product has only one of its two terms"""
        return _gradient(f, x, number=_Forgetful)

    def shares_an_epsilon(f, x):
        """all derivatives share one epsilon: perturbation confusion"""
        return _gradient(f, x, counts=False)

    def keeps_the_tangent(f, x):
        """the tangent isn't reset before the next input's turn, so columns add up"""
        return _gradient(f, x, resets=False)

    bugs = [forgets_a_term, shares_an_epsilon, keeps_the_tangent]
