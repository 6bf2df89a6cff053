"""Exercises of chapter 15, a scalar engine."""

from scalar_engine import Number, ancestors, backward

from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
from scalar_engine import Number, ancestors, backward, number
"""
FILES = ["scalar_engine.py"]


class OneWalk(Exercise):
    """One walk by hand

    `x` is a leaf with value 2, and `y = x * x * x + x`. What is `x.grad` after `backward(y)`? How
    many numbers are in the graph, `x` and `y` included? How many slopes does the walk multiply by?
    """

    kind = "warm-up"
    idea = "Worked trace"
    stub = """
        gradient = None
        numbers = None
        slopes = None
    """
    hints = [
        "$y = x^3 + x$: derive it. Then write each operator on a line of its own, with a name for its result.",
        "A number that is used four times is still one number. But each use is an arrow, with a slope.",
    ]
    solution = """
        gradient = 13.0
        numbers = 4
        slopes = 6
    """
    reason = """
        $3x^2 + 1 = 13$. The numbers are `x`, `x * x`, `x * x * x` and the sum. Each of the three
        operators has two inputs, so there are six arrows; four of them lead to `x`.
    """
    wrong = [
        Wrong(
            "gradient = 13.0\nnumbers = 7\nslopes = 6",
            says="once for each use",
            why="Every use of `x` is an arrow to the same number.",
        ),
        Wrong(
            "gradient = 12.0\nnumbers = 4\nslopes = 6",
            says="last term",
            why="The derivative of the last term, `+ x`, is 1.",
        ),
    ]

    def check(gradient, numbers, slopes):
        x = Number(2.0)
        y = x * x * x + x
        backward(y)
        found = ancestors(y)
        require(gradient != 12.0, "The last term, + x, has a derivative, too.")
        expect(gradient, x.grad, "x.grad")
        require(numbers != 7, "This counts x once for each use.")
        expect(numbers, len(found), "the numbers in the graph")
        expect(slopes, sum(len(node.inputs) for node in found), "the slopes")


class Division(Exercise):
    """Division

    Write `divided(x, y)`, the quotient of two Numbers as a Number that remembers its inputs and
    their slopes.
    """

    kind = "implement"
    idea = "A number that remembers"
    stub = """
        def divided(x, y):
            return Number(x.value / y.value)  # not yet: it remembers nothing
    """
    hints = [
        "What is the derivative of $x / y$ by $x$, and by $y$?",
        "$1/y$ and $-x/y^2$. A slope is a float, not a Number: use the values.",
    ]
    solution = """
        def divided(x, y):
            quotient = x.value / y.value
            return Number(quotient, (x, 1 / y.value), (y, -quotient / y.value), made_by="div")
    """
    reason = """
        $-x/y^2 = -(x/y)/y$: the result is at hand, and saves a multiplication. `tanh` uses its
        result in the same way. The real engine can save a result instead of an input, for this
        reason.
    """
    wrong = [
        Wrong(
            """
            def divided(x, y):
                return Number(x.value / y.value, (x, 1 / y.value), (y, x.value / y.value**2))
            """,
            says="smaller the larger",
            why="The quotient falls as the divisor grows, so that slope is negative.",
        ),
        Wrong(
            """
            def divided(x, y):
                inverse = Number(1 / y.value)
                return x * inverse
            """,
            says="nothing arrives at the divisor",
            why="`inverse` is a new leaf, which does not remember `y`. The chain of inputs is cut.",
        ),
    ]

    def check(divided):
        for a, b in [(6.0, 3.0), (1.0, -4.0), (0.5, 0.25)]:
            x, y = Number(a), Number(b)
            result = divided(x, y)
            expect(result.value, a / b, "the value", tolerance=1e-12)
            backward(result * 1.0)
            expect(x.grad, 1 / b, "the gradient of the dividend", tolerance=1e-9)
            require(y.grad != 0.0, "The dividend is right, but nothing arrives at the divisor.")
            require(y.grad * -a / b**2 > 0, "The quotient gets smaller the larger the divisor.")
            expect(y.grad, -a / b**2, "the gradient of the divisor", tolerance=1e-9)
        x = Number(3.0)
        backward(divided(x, x * x))
        expect(x.grad, -1 / 9, "the gradient of x / (x * x) at 3", tolerance=1e-9)


class ForwardMode(Exercise):
    """The walk that is none

    There is a way to derive without a graph. A `Dual` carries a value and its derivative by *one*
    input, and every operator computes both. Write the class with `+`, `-`, `*` and `tanh`, also
    with plain numbers on either side.
    """

    kind = "extend"
    idea = "Idea"
    stub = """
        class Dual:
            def __init__(self, value, slope=0.0):
                self.value, self.slope = value, slope

            def __add__(self, other):
                return Dual(self.value + other.value, self.slope + other.slope)


        def derivative(function, x):
            return function(Dual(x, 1.0)).slope
    """
    hints = [
        "The product rule: $(ab)' = a'b + ab'$. And $(\\tanh a)' = (1 - \\tanh^2 a)\\, a'$.",
        "A plain number is a Dual with slope 0. Turn `other` into one first, as `number` does in the engine.",
        "`__radd__` and `__rmul__` are the same as `__add__` and `__mul__`. `__rsub__` is not the same as `__sub__`.",
    ]
    solution = """
        import math


        class Dual:
            def __init__(self, value, slope=0.0):
                self.value, self.slope = value, slope

            def __add__(self, other):
                other = dual(other)
                return Dual(self.value + other.value, self.slope + other.slope)

            def __mul__(self, other):
                other = dual(other)
                slope = self.slope * other.value + self.value * other.slope
                return Dual(self.value * other.value, slope)

            def __sub__(self, other):
                return self + -1.0 * dual(other)

            def __rsub__(self, other):
                return dual(other) - self

            def tanh(self):
                y = math.tanh(self.value)
                return Dual(y, (1 - y * y) * self.slope)

            __radd__, __rmul__ = __add__, __mul__


        def dual(x):
            return x if isinstance(x, Dual) else Dual(x)


        def derivative(function, x):
            return function(Dual(x, 1.0)).slope
    """
    reason = """
        This is *forward mode*. It needs no memory of the past and no order, but one run gives the
        derivative by one input. A network has one loss and a million weights, so it would need a
        million runs. Walking back needs one.
    """
    wrong = [
        Wrong(
            """
            import math


            class Dual:
                def __init__(self, value, slope=0.0):
                    self.value, self.slope = value, slope

                def __add__(self, other):
                    other = other if isinstance(other, Dual) else Dual(other)
                    return Dual(self.value + other.value, self.slope + other.slope)

                def __mul__(self, other):
                    other = other if isinstance(other, Dual) else Dual(other)
                    return Dual(self.value * other.value, self.slope * other.slope)

                def __sub__(self, other):
                    return self + -1.0 * other

                def __rsub__(self, other):
                    return -1.0 * self + other

                def tanh(self):
                    y = math.tanh(self.value)
                    return Dual(y, (1 - y * y) * self.slope)

                __radd__, __rmul__ = __add__, __mul__


            def derivative(function, x):
                return function(Dual(x, 1.0)).slope
            """,
            says="derivative of a product",
            why="It is not the product of the derivatives. Try $x \\cdot x$.",
        ),
        Wrong(
            """
            import math


            class Dual:
                def __init__(self, value, slope=0.0):
                    self.value, self.slope = value, slope

                def __add__(self, other):
                    other = other if isinstance(other, Dual) else Dual(other)
                    return Dual(self.value + other.value, self.slope + other.slope)

                def __mul__(self, other):
                    other = other if isinstance(other, Dual) else Dual(other)
                    slope = self.slope * other.value + self.value * other.slope
                    return Dual(self.value * other.value, slope)

                def __sub__(self, other):
                    return self + -1.0 * other

                def tanh(self):
                    y = math.tanh(self.value)
                    return Dual(y, (1 - y * y) * self.slope)

                __radd__, __rmul__, __rsub__ = __add__, __mul__, __sub__


            def derivative(function, x):
                return function(Dual(x, 1.0)).slope
            """,
            says="the other way round",
            why="Subtraction does not commute: `1 - x` calls `__rsub__`, which must not give `x - 1`.",
        ),
    ]

    def check(derivative):
        expect(derivative(lambda x: x + x, 3.0), 2.0, "the derivative of x + x")
        square = derivative(lambda x: x * x, 3.0)
        require(square != 1.0, "The derivative of a product is not the product of the derivatives.")
        expect(square, 6.0, "the derivative of x * x at 3")
        flipped = derivative(lambda x: 1 - x, 3.0)
        require(flipped != 1.0, "1 - x came out the other way round.")
        expect(flipped, -1.0, "the derivative of 1 - x")
        functions = [
            lambda x: 2.0 * x + 1,
            lambda x: x.tanh() * x - 3 * x,
            lambda x: ((x * x).tanh() + x) * (x - 0.5).tanh(),
        ]
        for function in functions:
            for value in (-0.7, 0.0, 1.3):
                leaf = Number(value)
                backward(function(leaf))
                expect(derivative(function, value), leaf.grad, f"at {value}", tolerance=1e-9)


class EnginesTested(BugHunt):
    """A test for engines

    Four people wrote `backward` anew, and each made a mistake of their own. Write `test(backward)`,
    which passes on the right one and fails on theirs. `Number` is as in the chapter.
    """

    idea = "The check that needs no derivative"
    stub = """
        def test(backward):
            x = Number(0.5)
            backward(x.tanh())
            assert abs(x.grad - (1 - x.tanh().value ** 2)) < 1e-12
    """
    hints = [
        "Which programs did the two engines of *Break it* get right?",
        "What does a second `backward` on the same numbers do to `grad`? And what is the slope of a leaf by itself?",
        "One overwrites, one hurries, one sets `grad` where it should add, one forgets that the result may be a leaf.",
    ]
    solution = """
        def test(backward):
            a, b = Number(2.0), Number(3.0)
            c = a * b
            d = c + a
            e = d * c
            backward(e)
            assert (a.grad, b.grad) == (48.0, 28.0)
            backward(e)
            assert (a.grad, b.grad) == (96.0, 56.0)
            x = Number(1.0)
            backward(x)
            assert x.grad == 1.0
    """
    reason = """
        A program in which numbers are used at different depths tells the first two apart from the
        right one. The third needs a second walk, the fourth a walk of no steps at all: the smallest
        case is worth a line.
    """
    wrong = [
        Wrong(
            """
            def test(backward):
                x = Number(3.0)
                backward(x * x + x)
                assert x.grad == 7.0
            """,
            says="2 of 4 planted bugs",
            why="One walk cannot show what a second one does, nor what happens to a leaf alone.",
        ),
        Wrong(
            """
            def test(backward):
                x = Number(3.0)
                y = x * x
                backward(y)
                backward(y)
                assert x.grad == 6.0
            """,
            says="must pass on the right",
            why="Gradients of several walks add up, so 12 is right.",
        ),
    ]

    def right(result):
        backward(result)

    def overwrites(result):
        """what arrives replaces what is there"""
        arrived = {result: 1.0}
        for node in sorted(ancestors(result), key=lambda n: n.birth, reverse=True):
            gradient = arrived.pop(node)
            if not node.inputs:
                node.grad += gradient
            for source, slope in node.inputs:
                arrived[source] = slope * gradient

    def hurries(result):
        """a number sends before everything has arrived"""
        arrived, seen, stack = {result: 1.0}, {result}, [result]
        while stack:
            node = stack.pop()
            gradient = arrived[node]
            if not node.inputs:
                node.grad += gradient
            for source, slope in node.inputs:
                arrived[source] = arrived.get(source, 0.0) + slope * gradient
                if source not in seen:
                    seen.add(source)
                    stack.append(source)

    def forgets_the_last_walk(result):
        """a leaf's gradient is set, not added to"""
        for node in ancestors(result):
            node.grad = 0.0
        backward(result)

    def needs_inputs(result):
        """a result that is a leaf gets nothing"""
        if result.inputs:
            backward(result)

    bugs = [overwrites, hurries, forgets_the_last_walk, needs_inputs]
