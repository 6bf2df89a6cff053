"""Exercises of chapter 24, gradcheck."""

import math

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = "import tensorlab as torch"


class ChooseTheStep(Exercise):
    """Choose the step

    The one-sided quotient $(f(x + \\varepsilon) - f(x)) / \\varepsilon$ errs by about $\\varepsilon / 2$ because $f$
    bends, and by about $u / \\varepsilon$ because numbers are short. In float64, with $u = 10^{-16}$: which power
    of ten is the best step, and what is left of the error there? Replace both `None`, as in `1e-3`, before you
    run anything.
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        step = None
        error = None
    """
    hints = [
        "Where the sum of two errors is smallest, neither is much larger than the other.",
        "Set $\\varepsilon = u / \\varepsilon$ and leave the factor 2 alone.",
    ]
    solution = """
        step = 1e-8
        error = 1e-8
    """
    reason = """
        $\\varepsilon^2 = u$, so the best step is $\\sqrt u = 10^{-8}$, and both errors are of that size: half of the
        sixteen digits are gone. The central difference errs by $\\varepsilon^2$, so its best step may be
        larger, $u^{1/3}$, and its error smaller, $u^{2/3}$.
    """
    wrong = [
        Wrong(
            "step = 1e-5\nerror = 1e-10",
            says="central",
            why="The central difference: its first error is the *square* of the step.",
        ),
        Wrong(
            "step = 1e-16\nerror = 1e-16",
            says="rounding",
            why="With the smallest step the quotient is nothing but rounding.",
        ),
        Wrong(
            "step = 1e-8\nerror = 1e-16",
            says="step / 2",
            why="The step is the best, but no step leaves all digits.",
        ),
    ]

    def check(step, error):
        require(
            isinstance(step, float) and isinstance(error, float),
            "Two numbers such as 1e-3, please.",
        )
        require(
            not 3e-7 < step < 3e-4,
            "Near that step lies the best of the central difference. This one is one-sided.",
        )
        require(
            step > 1e-12,
            "With so small a step the difference is all rounding: u / step is 1 or so.",
        )
        expect(round(math.log10(step)), -8, "the power of ten of the step")
        require(error > 1e-12, "The step is right. But put it into step / 2 + u / step.")
        expect(round(math.log10(error)), -8, "the power of ten of the error")


class Gradient(Exercise):
    """The gradient by differences

    Write `numerical_gradient(f, x, eps)`: `f` takes a tensor and returns a tensor of one element; the result is a
    tensor in the shape of `x`, whose elements are the central differences. `x` may have any shape, and must have
    its old values afterwards.
    """

    kind = "implement"
    idea = "Move one element"
    stub = """
        def numerical_gradient(f, x, eps):
            grad = torch.zeros_like(x)
            return grad  # not yet
    """
    hints = [
        "Move one element at a time. How do you reach element number `i` of a tensor of any shape?",
        "Work on a copy: `flat = x.detach().clone().reshape(-1)`, change `flat[i]`, and call "
        "`f(flat.view(x.shape))`.",
        "Call it at `old + eps` and at `old - eps`, and put `old` back before the next element.",
    ]
    solution = """
        def numerical_gradient(f, x, eps):
            flat = x.detach().clone().reshape(-1)
            grad = torch.zeros_like(flat)
            for i in range(flat.numel()):
                old = flat[i].item()
                flat[i] = old + eps
                above = f(flat.view(x.shape)).item()
                flat[i] = old - eps
                below = f(flat.view(x.shape)).item()
                flat[i] = old
                grad[i] = (above - below) / (2 * eps)
            return grad.view(x.shape)
    """
    reason = """
        The copy leaves the user's tensor alone. `gradcheck` moves the user's own memory instead, because a function may
        reach the tensor by another way than its argument; then `finally` has to put things right.
    """
    wrong = [
        Wrong(
            """
            def numerical_gradient(f, x, eps):
                flat = x.detach().clone().reshape(-1)
                grad = torch.zeros_like(flat)
                here = f(x).item()
                for i in range(flat.numel()):
                    old = flat[i].item()
                    flat[i] = old + eps
                    grad[i] = (f(flat.view(x.shape)).item() - here) / eps
                    flat[i] = old
                return grad.view(x.shape)
            """,
            says="to one side only",
            why="The one-sided quotient: cheaper by half, and worse by decades.",
        ),
        Wrong(
            """
            def numerical_gradient(f, x, eps):
                grad = torch.zeros_like(x)
                flat, out = x.data.view(-1), grad.view(-1)
                for i in range(flat.numel()):
                    flat[i] += eps
                    above = f(x).item()
                    flat[i] -= 2 * eps
                    out[i] = (above - f(x).item()) / (2 * eps)
                return grad
            """,
            says="old values",
            why="It moves the user's own memory and does not put the old value back.",
        ),
        Wrong(
            """
            def numerical_gradient(f, x, eps):
                return (f(x + eps) - f(x - eps)) / (2 * eps) * torch.ones_like(x)
            """,
            says="all elements at once",
            why="That is the derivative along the direction (1, 1, ...), the *sum* of the gradient.",
        ),
    ]

    def check(numerical_gradient):
        x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64)
        before = x.clone()
        came = numerical_gradient(lambda x: (x**3).sum() + (x[0] * x[1]).sum(), x, 2.0**-4)
        require(torch.equal(x, before), "Afterwards x has not its old values.")
        expect(tuple(came.shape), (2, 3), "the shape")
        require(
            not torch.allclose(
                came, ((before + 0.0625) ** 3 - before**3) / 0.0625 + before.flip(0)
            ),
            "This moves to one side only.",
        )
        require(
            came.numel() == 1 or not torch.allclose(came, came.reshape(-1)[0].expand(2, 3)),
            "All six numbers are the same: were all elements at once moved?",
        )
        truth = 3 * before**2 + 2.0**-8 + before.flip(0)
        expect(
            came,
            truth,
            "the central differences of x³ and of a product of the rows",
            tolerance=1e-9,
        )


class BetterThanTheU(Exercise):
    """Richardson's trick

    A central difference with step $\\varepsilon$ gives
    $D(\\varepsilon) = f' + c\\,\\varepsilon^2 + O(\\varepsilon^4)$, and one with half the step
    $D(\\varepsilon/2) = f' + c\\,\\varepsilon^2/4 + O(\\varepsilon^4)$. Combine the two so that $c$ drops out,
    and write `better(f, x, eps)` for Python floats. For $\\exp$ it must be right to ten digits with a step of 0.01,
    where the central difference has four.
    """

    kind = "extend"
    idea = "Experiment"
    stub = """
        def better(f, x, eps):
            return (f(x + eps) - f(x - eps)) / (2 * eps)  # not yet
    """
    hints = [
        "You look for $a D(\\varepsilon/2) + b D(\\varepsilon)$ with $a + b = 1$ and $a/4 + b = 0$.",
        "$a = 4/3$ and $b = -1/3$.",
    ]
    solution = """
        def better(f, x, eps):
            def central(step):
                return (f(x + step) - f(x - step)) / (2 * step)

            return (4 * central(eps / 2) - central(eps)) / 3
    """
    reason = """
        The error is now of order $\\varepsilon^4$, so the right arm of the U falls twice as fast, and its bottom lies
        lower and further to the right: a larger step, more digits. Do it again and again and you have Romberg's
        scheme. `gradcheck` does not bother, because four digits are enough to tell right from wrong.
    """
    wrong = [
        Wrong(
            """
            def better(f, x, eps):
                def central(step):
                    return (f(x + step) - f(x - step)) / (2 * step)

                return (central(eps / 2) + central(eps)) / 2
            """,
            says="no better",
            why="An average of two errors of the same sign is an error of that sign.",
        ),
        Wrong(
            """
            def better(f, x, eps):
                def central(step):
                    return (f(x + step) - f(x - step)) / (2 * step)

                return 2 * central(eps / 2) - central(eps)
            """,
            says="for an error of first order",
            why="Two and minus one cancel an error that *halves* with the step. This one falls to a quarter.",
        ),
        Wrong(
            """
            def better(f, x, eps):
                eps = 1e-5
                return (f(x + eps) - f(x - eps)) / (2 * eps)
            """,
            says="the step that it was given",
            why="The bottom of the U is a good place, but the step was given.",
        ),
    ]

    def check(better):
        asked = []

        def f(x):
            asked.append(x)
            return math.exp(x)

        truth, eps = math.exp(0.7), 0.01
        error = abs(better(f, 0.7, eps) - truth) / truth
        require(asked, "better never calls f; a slope takes values of it.")
        require(
            max(abs(x - 0.7) for x in asked) > 0.9 * eps, "Please use the step that it was given."
        )
        bend = eps**2 / 6
        require(
            not 0.4 * bend < error < 0.6 * bend,
            "Twice one minus the other is the trick for an error of first order; here it is of second.",
        )
        require(
            error < 0.2 * bend,
            f"A relative error of {error:.0e} is no better than one central difference.",
        )
        require(error < 1e-10, f"Closer, but the relative error is still {error:.0e}.")
        expect(
            better(lambda x: x**3, 2.0, 0.5),
            12.0,
            "the slope of x³ at 2, exact for a cubic",
            tolerance=1e-12,
        )


class HuntCube(BugHunt):
    """A test for a backward

    Three people wrote `cube(x)`, $x^3$ with a backward by hand. Write `test(cube)`, which passes on a right one and
    fails on each of theirs. You have `torch.autograd.gradcheck` and `gradgradcheck`; what they find depends on the
    inputs that you choose.
    """

    idea = "Break it"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(cube):
            x = torch.ones(2, dtype=torch.float64, requires_grad=True)
            assert torch.autograd.gradcheck(cube, x)
    """
    hints = [
        "The stub tries one value, 1. Which powers, signs and factors can you not tell apart there?",
        "Use several numbers, negative ones and one larger than 1 among them. That finds one bug. For another, "
        "look at the layout: a transposed matrix is not contiguous.",
        "The third has a first derivative that is right. Ask for the second: `gradgradcheck`.",
    ]
    solution = """
        def test(cube):
            x = torch.tensor([[-1.5, 0.3], [2.0, -0.4]], dtype=torch.float64)
            for layout in (x, x.t()):
                leaf = layout.requires_grad_()
                assert torch.autograd.gradcheck(cube, leaf, raise_exception=False)
                assert torch.autograd.gradgradcheck(cube, leaf, raise_exception=False)
    """
    reason = """
        One value, one sign, one layout and one derivative are each a place where a mistake can hide. Numbers of
        both signs, a tensor that is not contiguous and `gradgradcheck` cost a line each.
    """
    wrong = [
        Wrong(
            """
            def test(cube):
                x = torch.tensor([-1.5, 0.3, 2.0], dtype=torch.float64, requires_grad=True)
                assert torch.autograd.gradcheck(cube, x)
            """,
            says="(number 2, 3)",
            why="Good inputs, but contiguous ones, and the first derivative only.",
        ),
        Wrong(
            """
            def test(cube):
                x = torch.tensor([-1.5, 0.3, 2.0], dtype=torch.float64, requires_grad=True)
                assert torch.autograd.gradcheck(cube, x)
                assert torch.autograd.gradgradcheck(cube, x)
            """,
            says="(number 2)",
            why="Every element of a vector has the same place whatever its strides: take a transposed matrix.",
        ),
        Wrong(
            """
            def test(cube):
                x = torch.tensor([-1.5, 0.3, 2.0], requires_grad=True)
                assert torch.autograd.gradcheck(cube, x)
            """,
            says="float32",
            why="In float32 even the right one fails: differences need float64.",
        ),
    ]

    def right(x):
        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 3 * x**2 * grad

        return Cube.apply(x)

    def loses_the_square(x):
        """the derivative is 3 |x| instead of 3 x²: the same at 1 and at 0"""

        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 3 * x.abs() * grad

        return Cube.apply(x)

    def reads_the_memory(x):
        """backward reads the saved tensor in the order of memory, as if it were contiguous"""

        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                if x.dim() == 2 and not x.is_contiguous():
                    x = x.t().reshape(x.shape)
                return 3 * x**2 * grad

        return Cube.apply(x)

    def detaches(x):
        """backward uses a detached x: right once, but its own derivative is wrong"""

        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x**3

            @staticmethod
            def backward(ctx, grad):
                (x,) = ctx.saved_tensors
                return 3 * x.detach() ** 2 * grad

        return Cube.apply(x)

    bugs = [loses_the_square, reads_the_memory, detaches]
