"""Exercises of chapter 15, a scalar engine."""

import math
import random

from scalar_engine import Number, ancestors, backward, last_made_first

from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
from scalar_engine import Number, ancestors, backward, last_made_first, number
"""
FILES = ["scalar_engine.py"]


class OneWalk(Exercise):
    """Backward by hand

    `x` is a leaf with value 2, and `y = x * x * x + x`. What is `x.grad` after `backward(y)`? How
    many numbers are in the graph, `x` and `y` included? How many multiplications by a slope does
    `backward` do?
    """

    kind = "warm-up"
    idea = "Worked trace"
    stub = """
        gradient = None
        numbers = None
        slopes = None
    """
    hints = [
        "Differentiate $y = x^3 + x$. Then write each operator on its own line, with a name for its result.",
        "A number that is used four times is still one number. But each use is an arrow with a slope.",
    ]
    solution = """
        gradient = 13.0
        numbers = 4
        slopes = 6
    """
    reason = """
        The gradient is $3x^2 + 1 = 13$. The numbers are `x`, `x * x`, `x * x * x` and the sum. Each of
        the three operators has two inputs, so there are six arrows. Four of them lead to `x`.
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
        Wrong(
            "gradient = 13.0\nnumbers = 4\nslopes = 4",
            says="the arrows that lead to x",
            why="Two more arrows lead to `x * x` and to `x * x * x`.",
        ),
    ]

    def check(gradient, numbers, slopes):
        x = Number(2.0)
        y = x * x * x + x
        backward(y)
        found = ancestors(y)
        require(gradient != 12.0, "gradient: the last term, + x, has a derivative, too.")
        expect(gradient, x.grad, "gradient, which is x.grad")
        require(numbers != 7, "numbers: 7 counts x once for each use.")
        expect(numbers, len(found), "numbers, how many are in the graph")
        require(slopes != 4, "slopes: 4 counts only the arrows that lead to x.")
        edges = sum(len(node.inputs) for node in found)
        expect(slopes, edges, "slopes, how many multiplications: one for each arrow")


class Division(Exercise):
    """Division

    Write `divided(x, y)`. It returns the quotient of two Numbers as a new Number, which remembers
    its inputs and the slopes, so that `backward` works through it.
    """

    kind = "implement"
    idea = "A number that remembers"
    beside = "answer and check make numbers of one engine"
    stub = """
        def divided(x, y):
            return Number(x.value / y.value)  # not yet: its inputs are missing
    """
    hints = [
        "What is the derivative of $x / y$ with respect to $x$, and what with respect to $y$?",
        "They are $1/y$ and $-x/y^2$. A slope is a float and not a Number, so compute with the values.",
    ]
    solution = """
        def divided(x, y):
            quotient = x.value / y.value
            return Number(quotient, (x, 1 / y.value), (y, -quotient / y.value), made_by="div")
    """
    reason = """
        As $-x/y^2 = -(x/y)/y$, the second slope can be computed from the result. `tanh` does the
        same. That's why an op of the real engine can save its result instead of an input.
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
            says="Nothing arrives at the divisor",
            why="`inverse` is a new leaf, which doesn't remember `y`. The graph ends there.",
        ),
        Wrong(
            """
            def divided(x, y):
                slopes = (x, Number(1 / y.value)), (y, Number(-x.value / y.value**2))
                return Number(x.value / y.value, *slopes)
            """,
            says="slope must be a plain float",
            why="If the slopes are Numbers, the gradients are, too.",
        ),
        Wrong(
            """
            def divided(x, y):
                quotient = x.value / y.value
                return Number(quotient, (x, quotient / x.value), (y, -quotient / y.value))
            """,
            says="ZeroDivisionError",
            why="$1/y = (x/y)/x$, but only if $x$ isn't 0. And 0 divided by 2 is a fine quotient.",
        ),
    ]

    def check(divided):
        rng = random.Random()
        pairs = [(6.0, 3.0), (1.0, -4.0), (0.5, 0.25), (0.0, 2.0)]
        pairs += [(rng.uniform(-3, 3), rng.choice([-1, 1]) * rng.uniform(0.5, 3)) for _ in range(8)]
        for a, b in pairs:
            x, y, about = Number(a), Number(b), f"{a:g} / {b:g}"
            result = divided(x, y)
            require(isinstance(result, Number), f"divided returned no Number for {about}.")
            expect(result.value, a / b, f"the value of {about}", tolerance=1e-12)
            expect([x.value, y.value], [a, b], f"the values of x and y after {about}")
            require(x.grad == y.grad == 0, "divided fills in grad itself; leave that to backward.")
            factor = 1.0 if (a, b) in pairs[:4] else rng.uniform(0.5, 2)
            backward(result * factor)
            about = f"of {about}" if factor == 1 else f"of {factor:g} * ({about})"
            for number in (x, y):
                plain = isinstance(number.grad, (int, float))
                require(plain, "A gradient came out as a Number: a slope must be a plain float.")
            expect(x.grad, factor / b, f"the gradient of the dividend {about}", tolerance=1e-9)
            arrived = a == 0 or y.grad != 0
            require(arrived, "Nothing arrives at the divisor; the dividend is right.")
            falls = a == 0 or y.grad * -a / b**2 > 0
            require(falls, "The quotient of positive numbers gets smaller the larger the divisor.")
            slope = -factor * a / b**2
            expect(y.grad, slope, f"the gradient of the divisor {about}", tolerance=1e-9)
        for a in (3.0, rng.uniform(0.5, 2)):
            x = Number(a)
            backward(divided(x, x * x))
            expect(x.grad, -1 / a**2, f"the gradient of x / (x * x) at {a:g}", tolerance=1e-9)
            x = Number(a)
            backward(divided(x, x))
            expect(x.grad, 0.0, f"the gradient of x / x at {a:g}", tolerance=1e-9)


class ForwardMode(Exercise):
    """Derivatives without a graph

    You can differentiate without a graph. A `Dual` carries a value and its derivative with respect to
    *one* input, and every operator computes both. Write the class with `+`, `-`, `*` and the method
    `tanh`. Plain numbers may stand on either side of an operator. Keep `derivative` as it is.
    """

    kind = "extend"
    idea = "Idea"
    beside = "the check calculates with numbers of the answer's own class"
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
        "`__radd__` and `__rmul__` are the same as `__add__` and `__mul__`. `__rsub__` differs from `__sub__`.",
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
        This is *forward mode*. It needs neither a graph nor an order. But one run gives the derivative with
        respect to one input. A network has one loss and perhaps a million weights, so you'd need a million
        runs. Backward needs one. Chapter {chapter}`60` says when forward mode is the better way.
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
            why="The derivative of a product isn't the product of the derivatives. Try $x \\cdot x$.",
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
            why="Subtraction doesn't commute: `1 - x` calls `__rsub__`, which must not return `x - 1`.",
        ),
        Wrong(
            """
            import math


            class Dual:
                def __init__(self, value, slope=0.0):
                    self.value, self.slope = value, slope

                def __add__(self, other):
                    return Dual(self.value + (other.value if isinstance(other, Dual) else other))

                def __mul__(self, other):
                    return Dual(self.value * (other.value if isinstance(other, Dual) else other))

                def __sub__(self, other):
                    return self + -1.0 * other

                def __rsub__(self, other):
                    return -1.0 * self + other

                def tanh(self):
                    return Dual(math.tanh(self.value))

                __radd__, __rmul__ = __add__, __mul__


            def derivative(function, x, h=1e-5):
                return (function(Dual(x + h)).value - function(Dual(x - h)).value) / (2 * h)
            """,
            says="the slope of x + y",
            why="Finite differences come close, but these Duals carry no slope at all.",
        ),
    ]

    def check(derivative, Dual):
        expect(derivative(lambda x: x + x, 3.0), 2.0, "the derivative of x + x", tolerance=1e-6)
        square = derivative(lambda x: x * x, 3.0)
        require(square != 1.0, "The derivative of a product is not the product of the derivatives.")
        expect(square, 6.0, "the derivative of x * x at 3", tolerance=1e-6)
        flipped = derivative(lambda x: 1 - x, 3.0)
        require(flipped != 1.0, "1 - x came out the other way round.")
        expect(flipped, -1.0, "the derivative of 1 - x", tolerance=1e-6)
        rng = random.Random()
        a, b, s, t = (rng.uniform(-1.5, 1.5) for _ in range(4))
        c, k = rng.uniform(-3, 3), rng.randint(2, 9)
        check_operators(Dual, a, b, s, t, c, k)
        expect(Dual(a).slope, 0.0, "the slope of a Dual that is made without one")
        for _ in range(40):
            text, function = random_program(rng)
            value = rng.choice([0.0, rng.uniform(-1.2, 1.2)])
            leaf = Number(value)
            backward(function(leaf))
            came = derivative(function, value)
            expect(came, leaf.grad, f"the derivative of {text} at {value:g}", tolerance=1e-9)


def check_operators(Dual, a, b, s, t, c, k):
    """Compare value and slope after each operator, with Duals and plain numbers."""
    e = math.tanh(a)
    for text, operator, value, slope in [
        ("x + y", lambda x, y: x + y, a + b, s + t),
        ("x - y", lambda x, y: x - y, a - b, s - t),
        ("x * y", lambda x, y: x * y, a * b, s * b + a * t),
        (f"x + {c:g}", lambda x, y: x + c, a + c, s),
        (f"{c:g} + x", lambda x, y: c + x, c + a, s),
        (f"x - {c:g}", lambda x, y: x - c, a - c, s),
        (f"{c:g} - x", lambda x, y: c - x, c - a, -s),
        (f"x * {c:g}", lambda x, y: x * c, a * c, s * c),
        (f"{c:g} * x", lambda x, y: c * x, c * a, c * s),
        (f"x * {k}", lambda x, y: x * k, a * k, s * k),
        (f"{k} - x", lambda x, y: k - x, k - a, -s),
        ("x.tanh()", lambda x, y: x.tanh(), e, (1 - e * e) * s),
        ("x * x", lambda x, y: x * x, a * a, 2 * a * s),
    ]:
        x, y = Dual(a, s), Dual(b, t)
        result = operator(x, y)
        about = f"of {text}, x = Dual({a:g}, {s:g})" + (
            f", y = Dual({b:g}, {t:g})" if "y" in text else ""
        )
        require(isinstance(result, Dual), f"{text} returned no Dual.")
        expect(result.value, value, f"the value {about}", tolerance=1e-9)
        expect(result.slope, slope, f"the slope {about}", tolerance=1e-9)
        kept = [x.value, x.slope, y.value, y.slope] == [a, s, b, t]
        require(kept, f"{text} changed one of its operands; it must return a new Dual.")


def random_program(rng):
    """Return a random expression in x and the function that computes it, for Numbers and Duals."""
    text, functions = ["x"], [lambda x: x]
    for _ in range(4):
        i, j = rng.randrange(len(text)), rng.randrange(len(text))
        f, g, c = functions[i], functions[j], round(rng.uniform(-2, 2), 2)
        new_text, new = rng.choice(
            [
                (f"({text[i]} + {text[j]})", lambda x, f=f, g=g: f(x) + g(x)),
                (f"({text[i]} - {text[j]})", lambda x, f=f, g=g: f(x) - g(x)),
                (f"({text[i]} * {text[j]})", lambda x, f=f, g=g: f(x) * g(x)),
                (f"({text[i]} + {c:g}).tanh()", lambda x, f=f, c=c: (f(x) + c).tanh()),
                (f"{c:g} * {text[i]}", lambda x, f=f, c=c: c * f(x)),
            ]
        )
        text.append(new_text)
        functions.append(new)
    return text[-1], functions[-1]


class EnginesTested(BugHunt):
    """A test for engines

    Four people wrote their own `backward`, and each version has a bug. Write `test(backward)`: it
    computes something with `Number`s, calls `backward`, and asserts something about `grad`. It must pass
    on the right engine and fail on each of the four.
    """

    idea = "The check that needs no derivative"
    stub = """
        def test(backward):
            x = Number(0.5)
            backward(x.tanh())
            assert abs(x.grad - (1 - x.tanh().value ** 2)) < 1e-12
    """
    hints = [
        "Which programs did both engines of *Break it* get wrong?",
        "What does a second `backward` do to `grad`? And what is the derivative of a leaf with respect to itself?",
        "One overwrites, one hurries, one sets `grad` where it should add, and one forgets results that are leaves.",
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
        A program in which a number is used at different depths shows the first two bugs. To see the third,
        you have to call `backward` twice. The fourth shows only if the result itself is a leaf: it's worth a
        line to test the smallest case.
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
            why="One call can't show what a second one does, nor what happens if the result is a leaf.",
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
            why="The gradients of several calls add up, so 12 is right.",
        ),
    ]

    def right(result):
        backward(result)

    def overwrites(result):
        """what arrives replaces what is there"""
        arrived = {result: 1.0}
        for node in last_made_first(ancestors(result)):
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
