"""Exercises of chapter 17, derivatives."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
from tiny_ops import Op
"""
FILES = ["tiny_ops.py"]

CALLS = {
    "x + c": lambda x, c: x + c,
    "x * c": lambda x, c: x * c,
    "x / c": lambda x, c: x / c,
    "c / x": lambda x, c: c / x,
    "x.sigmoid()": lambda x, c: x.sigmoid(),
}


class WhatIsKept(Exercise):
    """What is kept

    `x` requires grad, `c` does not, and both have the same shape. Which tensors does the node of each call
    keep? Write `""` for none, else the letters `"x"`, `"c"`, `"xc"`, or `"out"` for the result. Derive the
    formula first, and run nothing.
    """

    kind = "warm-up"
    idea = "What one call saves"
    stub = """
        kept = {
            "x + c": None,
            "x * c": None,
            "x / c": None,
            "c / x": None,
            "x.sigmoid()": None,
        }
    """
    hints = [
        "Write the gradient by $x$ alone. Which values occur in it?",
        "$(c/x)' = -c/x^2$. And for $s = \\sigma(x)$, the derivative is $s(1 - s)$.",
    ]
    solution = """
        kept = {
            "x + c": "",
            "x * c": "c",
            "x / c": "c",
            "c / x": "xc",
            "x.sigmoid()": "out",
        }
    """
    reason = """
        Division is not symmetric. The slope by the dividend is $1/c$; the slope by the divisor contains both. The
        formula of a sigmoid in terms of its result keeps what the next op probably keeps as well.
    """
    wrong = [
        Wrong(
            'kept = {"x + c": "", "x * c": "xc", "x / c": "xc", "c / x": "xc", "x.sigmoid()": "out"}',
            says="only x requires grad",
            why="The formula by `c` asks for `x`, but the gradient by `c` is not wanted, so it keeps nothing.",
        ),
        Wrong(
            'kept = {"x + c": "", "x * c": "c", "x / c": "c", "c / x": "x", "x.sigmoid()": "out"}',
            says="-c / x",
            why="The derivative of $c/x$ by $x$ contains $c$, too.",
        ),
        Wrong(
            'kept = {"x + c": "", "x * c": "c", "x / c": "c", "c / x": "xc", "x.sigmoid()": "x"}',
            says="its own result",
            why="It would be possible: compute the sigmoid of `x` again. The result saves that.",
        ),
        Wrong(
            'kept = {"x + c": "xc", "x * c": "c", "x / c": "c", "c / x": "xc", "x.sigmoid()": "out"}',
            says="slope 1",
            why="A sum has slope 1 by both terms, whatever they are.",
        ),
    ]

    def check(kept):
        x, c = torch.rand(3, requires_grad=True), torch.rand(3)
        remarks = {
            ("x + c", "xc"): "A sum has slope 1: what would its formula need?",
            ("x * c", "xc"): "Which gradient is wanted? In x * c, only x requires grad.",
            ("c / x", "x"): "The derivative of c / x by x is -c / x**2.",
            ("x.sigmoid()", "x"): "The slope of a sigmoid can be had from its own result.",
        }
        for text, call in CALLS.items():
            came = kept[text]
            require((text, came) not in remarks, remarks.get((text, came), ""))
            node, letters = call(x, c).grad_fn, set()
            for name in dir(node):
                value = getattr(node, name) if name.startswith("_saved_") else None
                if isinstance(value, torch.Tensor):
                    letters.add("x" if value is x else "c" if value is c else "out")
            found = "out" if letters == {"out"} else "".join(sorted(letters, reverse=True))
            given = came if came == "out" else "".join(sorted(str(came), reverse=True))
            expect(given, found, f"what {text} keeps")


class SumBack(Exercise):
    """Summing back by hand

    Write `sum_back(grad, shape)`, which sums a gradient over all axes along which an operand of that shape
    was broadcast, and returns it in exactly that shape. Use `sum`; `sum_to_size` would be too easy.
    """

    kind = "implement"
    idea = "Summing back"
    stub = """
        def sum_back(grad, shape):
            return grad  # not yet
    """
    hints = [
        "Shapes are aligned at the right. Which axes of `grad` did the operand not have at all?",
        "The first `grad.dim() - len(shape)` ones: sum them away, without `keepdim`. Then look at the rest, "
        "axis by axis.",
        "Where `shape[i]` is 1 and `grad.shape[i]` is not: `grad = grad.sum(i, keepdim=True)`.",
    ]
    solution = """
        def sum_back(grad, shape):
            while grad.dim() > len(shape):
                grad = grad.sum(0)
            for i, size in enumerate(shape):
                if size == 1 and grad.shape[i] != 1:
                    grad = grad.sum(i, keepdim=True)
            return grad
    """
    reason = """
        Leading axes first: then the axes of gradient and operand have the same numbers. Summing them one by one
        reads the memory several times. `sum_to_size` collects all axes in a mask and reads it once.
    """
    wrong = [
        Wrong(
            """
            def sum_back(grad, shape):
                while grad.dim() > len(shape):
                    grad = grad.sum(0)
                return grad
            """,
            says="size 1",
            why="An axis that the operand had with size 1 was repeated as well.",
        ),
        Wrong(
            """
            def sum_back(grad, shape):
                for i, size in enumerate(shape):
                    if size == 1 and grad.shape[i] != 1:
                        grad = grad.sum(i, keepdim=True)
                return grad
            """,
            says="leading",
            why="An operand of fewer dimensions was repeated along each dimension that it did not have.",
        ),
        Wrong(
            """
            def sum_back(grad, shape):
                while grad.dim() > len(shape):
                    grad = grad.sum(0)
                for i, size in enumerate(shape):
                    if size == 1:
                        grad = grad.sum(0, keepdim=True)
                return grad.reshape(shape)
            """,
            says="another axis",
            why="The loop finds axis `i` and sums axis 0. In a square only the numbers show it.",
        ),
        Wrong(
            """
            def sum_back(grad, shape):
                while grad.dim() > len(shape):
                    grad = grad.mean(0)
                for i, size in enumerate(shape):
                    if size == 1 and grad.shape[i] != 1:
                        grad = grad.mean(i, keepdim=True)
                return grad
            """,
            says="a mean",
            why="An element that was used four times has four times the influence.",
        ),
    ]

    def check(sum_back):
        def came_for(grad, shape):
            came = sum_back(grad, shape)
            require(isinstance(came, torch.Tensor), "A Tensor is expected.")
            return came

        grad = torch.arange(12.0).view(3, 4)
        came = came_for(grad, (4,))
        require(
            came.dim() == 1,
            "The operand of shape (4,) has no leading axis; the gradient still has.",
        )
        require(
            came.tolist() != grad.mean(0).tolist(),
            "This is a mean. What is used three times counts three times.",
        )
        expect(came, grad.sum(0), "for the shape (4,)")
        square = torch.arange(9.0).view(3, 3)
        came = came_for(square, (3, 1))
        require(
            tuple(came.shape) == (3, 1),
            "Of an operand of shape (3, 1) the axis of size 1 was repeated, too.",
        )
        turned = square.sum(0).view(3, 1).tolist()
        require(came.tolist() != turned, "For (3, 1) you have summed over another axis.")
        expect(came, square.sum(1, keepdim=True), "for the shape (3, 1)")
        grad = torch.rand(2, 3, 4, 5)
        for shape in (
            (2, 3, 4, 5),
            (3, 4, 5),
            (1, 4, 1),
            (2, 1, 4, 1),
            (1, 3, 1, 5),
            (5,),
            (1,),
            (),
        ):
            came = came_for(grad, shape)
            expect(tuple(came.shape), shape, f"the shape, from (2, 3, 4, 5) to {shape}")
            expected = grad.sum_to_size(shape).tolist()
            expect(came, expected, f"the numbers, from (2, 3, 4, 5) to {shape}", tolerance=1e-5)
        draw = random.Random()
        for _ in range(100):
            sizes = [draw.randint(1, 4) for _ in range(draw.randint(1, 6))]
            shape = tuple(draw.choice((1, n)) for n in sizes[draw.randint(0, len(sizes)) :])
            grad = torch.rand(*sizes, dtype=torch.float64)
            came, about = came_for(grad.clone(), shape), f"from {tuple(sizes)} to {shape}"
            expect(tuple(came.shape), shape, f"the shape, {about}")
            expected = grad.sum_to_size(shape).tolist()
            expect(came, expected, f"the numbers, {about}", tolerance=1e-9)


class Gate(Exercise):
    """An op with a gate

    Declare the derivatives of `x * sigmoid(y)`, a value `x` that a gate `y` lets through, for the class `Op` of
    the chapter. They must be right for all shapes, differentiable again, and thrifty: a call that is
    differentiated by $x$ alone keeps `y` only, and no call ever keeps `x`.
    """

    kind = "extend"
    idea = "An op of your own"
    beside = "the answer declares an op of the library"
    stub = """
        gate = Op("gate(x, y)", lambda x, y: x * y.sigmoid())


        @gate.derivative("x")
        def gate_derivative_x(grad, x, y):
            return grad  # not yet


        @gate.derivative("y")
        def gate_derivative_y(grad, x, y):
            return grad  # not yet
    """
    hints = [
        "With $s = \\sigma(y)$: the slope by $x$ is $s$, and that by $y$ is $x\\,s\\,(1 - s)$.",
        "In the second, $x\\,s$ is something that forward has computed already.",
        "It is the result: $z\\,(1 - s)$. So that formula asks for `grad`, `y` and `out`.",
    ]
    solution = """
        gate = Op("gate(x, y)", lambda x, y: x * y.sigmoid())


        @gate.derivative("x")
        def gate_derivative_x(grad, y):
            return grad * y.sigmoid()


        @gate.derivative("y")
        def gate_derivative_y(grad, y, out):
            return grad * (out * (1 - y.sigmoid()))
    """
    reason = """
        The parameter names are the list of what is kept, so being thrifty is a matter of what you write between the
        parentheses. You need not think of shapes: the engine sums back. And you must not leave the tensors
        (`.item()`, `.detach()`), or the second derivative is lost.
    """
    wrong = [
        Wrong(
            """
            gate = Op("gate(x, y)", lambda x, y: x * y.sigmoid())
            gate.derivative("x")(lambda grad, y: grad * y.sigmoid())
            gate.derivative("y")(lambda grad, x, y: grad * (x * y.sigmoid() * (1 - y.sigmoid())))
            """,
            says="keeps x",
            why="Right and not thrifty: $x\\,s$ is the result, so `out` serves.",
        ),
        Wrong(
            """
            gate = Op("gate(x, y)", lambda x, y: x * y.sigmoid())
            gate.derivative("x")(lambda grad, y: grad * y.sigmoid())
            gate.derivative("y")(lambda grad, out: grad * out)
            """,
            says="slope of the sigmoid",
            why="The slope of $\\sigma$ is $\\sigma\\,(1 - \\sigma)$; the second factor is missing.",
        ),
        Wrong(
            """
            gate = Op("gate(x, y)", lambda x, y: x * y.sigmoid())
            gate.derivative("x")(lambda grad, y: grad * y.detach().sigmoid())
            gate.derivative("y")(lambda grad, y, out: grad * (out * (1 - y.detach().sigmoid())))
            """,
            says="second derivative",
            why="`detach` cuts the way by which a second derivative would come.",
        ),
        Wrong(
            """
            gate = Op("gate(x, y)", lambda x, y: x * y.sigmoid())
            gate.derivative("x")(lambda grad, y, out: grad * y.sigmoid())
            gate.derivative("y")(lambda grad, y, out: grad * (out * (1 - y.sigmoid())))
            """,
            says="by x alone",
            why="A name in the parentheses is kept, whether the formula uses it or not.",
        ),
    ]

    def check(gate):
        def gradients(call, shapes):
            torch.manual_seed(1)
            operands = [
                torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes
            ]
            out = call(*operands)
            first = torch.autograd.grad(
                out, operands, torch.rand(*out.shape).double(), create_graph=True
            )
            total = sum((g * g).sum() for g in first)
            return first, torch.autograd.grad(total, operands, allow_unused=True)

        def plain(x, y):
            return x * y.sigmoid()

        for shapes in (((3,), (3,)), ((4, 1), (3,)), ((2, 3), (2, 1))):
            came, expected = gradients(gate, shapes), gradients(plain, shapes)
            x_grad, y_grad = came[0]
            about = f"for operands of shape {shapes[0]} and {shapes[1]}"
            x, y = (torch.randn(*shape, dtype=torch.float64) for shape in shapes)
            expect(
                gate(x, y).tolist(),
                plain(x, y).tolist(),
                f"the value of the gate {about}; only its derivatives were missing",
                tolerance=1e-9,
            )
            expect(
                x_grad.tolist(),
                expected[0][0].tolist(),
                f"the gradient by x {about}",
                tolerance=1e-9,
            )
            right = (y_grad - expected[0][1]).abs().max().item() < 1e-9
            require(right, f"The gradient by y is wrong {about}. What is the slope of the sigmoid?")
            for one, other in zip(came[1], expected[1], strict=True):
                same = one is not None and (one - other).abs().max().item() < 1e-9
                require(
                    same, "The gradients are right, but a second derivative is wrong or missing."
                )
        require(
            gate.saves(["x"]) == ["y"],
            f"Differentiated by x alone, a call keeps {gate.saves(['x'])}.",
        )
        require("x" not in gate.saves(["x", "y"]), "All gradients are right, but a call keeps x.")


class HuntInSummingBack(BugHunt):
    """A test for summing back

    Three people wrote `sum_back(grad, shape)`, which should do what `grad.sum_to_size(shape)` does. Write
    `test(sum_back)`, which passes on the right one and fails on each of theirs.
    """

    idea = "The wrong axis, in a square"
    stub = """
        def test(sum_back):
            grad = torch.ones(4, 3)
            assert sum_back(grad, (3,)).tolist() == [4.0, 4.0, 4.0]
    """
    hints = [
        "With ones everywhere, a sum over one axis looks like a sum over another of the same size. Which "
        "numbers would show the difference?",
        "All different ones: `torch.arange(9.0).view(3, 3)`. And which kinds of shapes are there? A row, a column, "
        "both, a 0-d tensor.",
        "A square for the axes that are confused, and a column for the one who takes means.",
    ]
    solution = """
        def test(sum_back):
            for grad in (torch.arange(9.0).view(3, 3), torch.arange(12.0).view(4, 3)):
                n, m = grad.shape
                for shape in ((n, m), (m,), (n, 1), (1, m), (1, 1), ()):
                    came = sum_back(grad, shape)
                    assert tuple(came.shape) == shape
                    assert came.tolist() == grad.sum_to_size(shape).tolist()
    """
    reason = """
        Squares and numbers that are all different: the shape cannot help, and no two axes have the same sums. Here you
        have a function that is right to compare with. Without one, take `sum` over the axes that you name yourself.
    """
    wrong = [
        Wrong(
            """
            def test(sum_back):
                grad = torch.arange(12.0).view(4, 3)
                for shape in ((3,), (4, 1), (1, 3)):
                    assert sum_back(grad, shape).tolist() == grad.sum_to_size(shape).tolist()
            """,
            says="(number 1, 2)",
            why="Without a square, the sizes of the axes give the right one away.",
        ),
        Wrong(
            """
            def test(sum_back):
                grad = torch.arange(9.0).view(3, 3)
                assert sum_back(grad, (3,)).tolist() == grad.sum_to_size(3).tolist()
            """,
            says="(number 2, 3)",
            why="A row only asks for leading axes. An axis of size 1 is a case of its own.",
        ),
        Wrong(
            """
            def test(sum_back):
                grad = torch.arange(9.0).view(3, 3)
                assert sum_back(grad, (3, 1)).tolist() == grad.sum(1).tolist()
            """,
            says="must pass on the right",
            why="`sum(1)` drops the axis. An operand of shape (3, 1) needs a gradient of shape (3, 1).",
        ),
    ]

    def right(grad, shape):
        return grad.sum_to_size(shape)

    def goes_by_size(grad, shape):
        """the axis to be summed is found by its size, which fails where two axes are equally long"""
        while grad.dim() > len(shape):
            strange = [d for d in range(grad.dim()) if grad.shape[d] not in shape]
            grad = grad.sum(strange[0] if strange else -1)
        return grad.sum_to_size(shape)

    def sums_the_first_axis(grad, shape):
        """for an axis of size 1, axis 0 is summed instead"""
        while grad.dim() > len(shape):
            grad = grad.sum(0)
        for i, size in enumerate(shape):
            if size == 1 and grad.shape[i] != 1:
                axis = 0 if grad.shape[0] == grad.shape[i] else i
                sizes = [1 if d == i else n for d, n in enumerate(grad.shape)]
                grad = grad.sum(axis).reshape(sizes)
        return grad

    def averages_columns(grad, shape):
        """over an axis of size 1 a mean is taken"""
        while grad.dim() > len(shape):
            grad = grad.sum(0)
        for i, size in enumerate(shape):
            if size == 1 and grad.shape[i] != 1:
                grad = grad.mean(i, keepdim=True)
        return grad

    bugs = [goes_by_size, sums_the_first_axis, averages_columns]
