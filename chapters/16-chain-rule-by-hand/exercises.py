"""Exercises of chapter 16, the chain rule by hand."""

import math
import random

from paper_network import backward, forward

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import math

import tensorlab as torch
from paper_network import backward, dot, forward, outer, transposed
"""
FILES = ["paper_network.py"]


class OneUnit(Exercise):
    """One unit on paper

    A network of one input and one hidden unit: $z = w x + b$, $h = \\tanh z$, $L = (h - t)^2$, with
    $w = -2$, $x = 3$, $b = 6 + \\ln 3$ and $t = 0.3$. Recall that $\\tanh(\\ln 3) = 0.8$. Take paper, and
    give the gradients of $L$ with respect to $w$, $b$ and $x$ as decimals.
    """

    kind = "warm-up"
    idea = "The network, on paper"
    stub = """
        grad_w = None
        grad_b = None
        grad_x = None
    """
    hints = [
        "What is $z$? Then $h$, then $\\bar h = 2\\,(h - t)$.",
        "$\\bar z = \\bar h\\,(1 - h^2)$, with $1 - 0.64 = 0.36$. The rest are one multiplication each.",
    ]
    solution = """
        grad_w = 1.08
        grad_b = 0.36
        grad_x = -0.72
    """
    reason = """
        $z = \\ln 3$, $h = 0.8$, $\\bar h = 2 \\cdot 0.5 = 1$, $\\bar z = 0.36$. The slope of $z$ is
        $x = 3$ for $w$, 1 for $b$, and $w = -2$ for $x$.
    """
    wrong = [
        Wrong(
            "grad_w = 3.0\ngrad_b = 1.0\ngrad_x = -2.0",
            says="slope of tanh",
            why="The step through `tanh` is missing: $\\bar z = \\bar h\\,(1 - h^2)$, not $\\bar h$.",
        ),
        Wrong(
            "grad_w = 0.54\ngrad_b = 0.18\ngrad_x = -0.36",
            says="factor 2",
            why="The derivative of a square is *twice* what is inside.",
        ),
        Wrong(
            "grad_w = -0.72\ngrad_b = 0.36\ngrad_x = 1.08",
            says="the other factor",
            why="The slope of a product by one factor is the other factor, so $\\bar w = \\bar z\\, x$.",
        ),
    ]

    def check(grad_w, grad_b, grad_x):
        numbers = {"W": [[-2.0]], "b": [6.0 + math.log(3)], "v": [1.0], "c": 0.0}
        grad = backward(forward({**numbers, "x": [3.0], "t": 0.3}))
        by_w, by_b, by_x = grad["W"][0][0], grad["b"][0], grad["x"][0]
        came = (grad_w, grad_b, grad_x)
        require(came != (3.0, 1.0, -2.0), "The slope of tanh is missing.")
        require(came != (0.54, 0.18, -0.36), "Is the derivative of a square right? A factor 2 ...")
        require(
            came != (-0.72, 0.36, 1.08),
            "The slope of a product with respect to one factor is the other factor.",
        )
        expect(grad_b, by_b, "grad_b", tolerance=1e-9)
        expect(grad_w, by_w, "grad_w", tolerance=1e-9)
        expect(grad_x, by_x, "grad_x", tolerance=1e-9)


class ClassifierLoss(Exercise):
    """The gradient of a classifier's loss

    A classifier gives scores $s_1, \\dots, s_n$, from which $p_i = e^{s_i} / \\sum_j e^{s_j}$. Its loss for the
    right class $k$ is $L = -\\ln p_k$. Derive the gradient with respect to the scores on paper; it's short. Then write
    `loss_gradient(scores, k)`, which takes and returns a list of floats. It must agree with the engine to
    $10^{-12}$, also for scores such as 1000.
    """

    kind = "implement"
    idea = "A Jacobian, if you really want one"
    stub = """
        def loss_gradient(scores, k):
            return [0.0 for _ in scores]  # not yet
    """
    hints = [
        "Take the logarithm first: $L = \\ln \\sum_j e^{s_j} - s_k$. What is the derivative of each term for $s_i$?",
        "$p_i$ from the first, and $-1$ from the second if $i = k$: so $\\bar s = p - e_k$.",
        "$e^{1000}$ overflows. Subtract the largest score from all of them before you take exponentials: the "
        "$p_i$ do not change.",
    ]
    solution = """
        def loss_gradient(scores, k):
            largest = max(scores)
            powers = [math.exp(s - largest) for s in scores]
            total = sum(powers)
            return [power / total - (i == k) for i, power in enumerate(powers)]
    """
    reason = """
        The vjp of the logarithm and that of the softmax, with its full Jacobian, collapse into one
        subtraction. That is why libraries fuse the two: `cross_entropy` here saves the probabilities and
        returns `probabilities - one_hot`, scaled. It is also more exact: $-1/p_k$ overflows when $p_k$ is
        nearly 0, the difference does not.
    """
    wrong = [
        Wrong(
            """
            def loss_gradient(scores, k):
                powers = [math.exp(s) for s in scores]
                total = sum(powers)
                return [power / total - (i == k) for i, power in enumerate(powers)]
            """,
            says="overflow",
            why="The formula is right; $e^{1000}$ is too large for a float. Subtract the largest score first.",
        ),
        Wrong(
            """
            def loss_gradient(scores, k):
                largest = max(scores)
                powers = [math.exp(s - largest) for s in scores]
                total = sum(powers)
                return [(i == k) - power / total for i, power in enumerate(powers)]
            """,
            says="opposite sign",
            why="That's the gradient of $\\ln p_k$. The loss is minus that.",
        ),
        Wrong(
            """
            def loss_gradient(scores, k):
                largest = max(scores)
                powers = [math.exp(s - largest) for s in scores]
                p = [power / sum(powers) for power in powers]
                return [-1 / p[k] if i == k else 0.0 for i in range(len(p))]
            """,
            says="by the probabilities",
            why="This is the gradient by $p$. One more step leads to the scores, and it has a full Jacobian.",
        ),
    ]

    def check(loss_gradient):
        chance = random.Random()
        cases = [([1.0, 2.0, 0.5], 1), ([0.0, -1.0, 3.0, 3.0], 0), ([-4.0, 4.0], 0)]
        for _ in range(12):
            n = chance.randint(1, 9)
            cases.append(([chance.uniform(-5, 5) for _ in range(n)], chance.randrange(n)))
        for values, k in cases:
            scores = torch.tensor(values, dtype=torch.float64, requires_grad=True)
            (-scores.log_softmax(0)[k]).backward()
            given, expected = list(values), scores.grad.tolist()
            came = loss_gradient(given, k)
            about = f"the gradient for the scores {[round(s, 2) for s in values]} and class {k}"
            is_list = isinstance(came, (list, tuple)) and len(came) == len(values)
            require(is_list, f"{about} must be a list with a number for each score.")
            if len(values) > 1:
                opposite = all(abs(c + e) < 1e-9 for c, e in zip(came, expected, strict=True))
                require(not opposite, "Right but for the opposite sign.")
                p = scores.detach().softmax(0)[k].item()
                require(abs(came[k] + 1 / p) > 1e-9, "This is the gradient by the probabilities.")
            expect(list(came), expected, about, tolerance=1e-12)
            require(given == values, "The list of scores was changed; leave it as it is.")
        large = chance.randint(800, 2000)
        for values, expected in (([1000.0, 0.0], [1.0, -1.0]), ([large, large], [0.5, -0.5])):
            values = [float(value) for value in values]
            try:
                came = loss_gradient(values, 1)
            except OverflowError:
                require(False, f"For the scores {values} there is an overflow.")
            expect(list(came), expected, f"the gradient for the scores {values}", tolerance=1e-12)
        try:
            came = loss_gradient([-1000.0, -1000.0], 0)
        except ZeroDivisionError:
            require(False, "For the scores -1000 and -1000 all powers are 0, and so is their sum.")
        expect(list(came), [-0.5, 0.5], "the gradient for -1000 and -1000", tolerance=1e-12)


class OneNumber(Exercise):
    """One number to test a step

    Write `agrees(forward, back, x)`. `forward(x)` returns a float64 tensor, and `back(x, v)` is meant to be its
    vector-Jacobian product at `x`. Return True if $v \\cdot (J d) = (v J) \\cdot d$ to about six digits, for
    one direction $d$ and one vector $v$ of your choice, with a finite difference for $J d$. Call `forward` at
    most three times; a Jacobian would need two calls for each element.
    """

    kind = "extend"
    idea = "The check: one random direction"
    stub = """
        def agrees(forward, back, x):
            return True  # not yet
    """
    hints = [
        "Which shapes do $d$ and $v$ have? And what must they be like, so that no mistake can hide behind a "
        "symmetry?",
        "`d = torch.randn(*x.shape, dtype=torch.float64)`, and `v` likewise in the shape of `forward(x)`. Then "
        "$J d \\approx (f(x + hd) - f(x - hd)) / 2h$ with $h = 10^{-6}$.",
        "Two numbers: `one = (v * quotient).sum()` and `other = (back(x, v) * d).sum()`. Compare their "
        "difference with their size: `abs(one - other) < 1e-6 * (1 + abs(one))`.",
    ]
    solution = """
        def agrees(forward, back, x):
            h = 1e-6
            d = torch.randn(*x.shape, dtype=torch.float64)
            above, below = forward(x + h * d), forward(x - h * d)
            v = torch.randn(*above.shape, dtype=torch.float64)
            one = (v * (above - below)).sum().item() / (2 * h)
            other = (back(x, v) * d).sum().item()
            return abs(one - other) < 1e-6 * (1 + abs(one))
    """
    reason = """
        One number tests a Jacobian with a million entries, because a random direction meets all of them. A
        mistake in one entry changes that number unless chance cancels it exactly. It does not say *which*
        entry is wrong: for that, take unit vectors. Chapter {chapter}`24` makes a tool of both.
    """
    wrong = [
        Wrong(
            """
            def agrees(forward, back, x):
                h = 1e-6
                d = torch.randn(*x.shape, dtype=torch.float64)
                above, below = forward(x + h * d), forward(x - h * d)
                v = torch.ones(*above.shape, dtype=torch.float64)
                one = (v * (above - below)).sum().item() / (2 * h)
                other = (back(x, v) * d).sum().item()
                return abs(one - other) < 1e-6 * (1 + abs(one))
            """,
            says="softmax",
            why="The outputs of a softmax sum to 1, so with $v$ all ones both numbers are 0, whatever is wrong.",
        ),
        Wrong(
            """
            def agrees(forward, back, x):
                h = 1e-6
                d = torch.ones(*x.shape, dtype=torch.float64)
                above, below = forward(x + h * d), forward(x - h * d)
                v = torch.randn(*above.shape, dtype=torch.float64)
                one = (v * (above - below)).sum().item() / (2 * h)
                other = (back(x, v) * d).sum().item()
                return abs(one - other) < 1e-6 * (1 + abs(one))
            """,
            says="wrong places",
            why="With $d$ all ones you compare the sums of two gradients, and a gradient whose entries have "
            "changed places has the same sum.",
        ),
        Wrong(
            """
            def agrees(forward, back, x):
                h = 1e-6
                d = torch.randn(*x.shape, dtype=torch.float64)
                above, below = forward(x + h * d), forward(x - h * d)
                v = torch.randn(*above.shape, dtype=torch.float64)
                one = (v * (above - below)).sum().item() / (2 * h)
                other = (back(x, v) * d).sum().item()
                return one == other
            """,
            says="is refused",
            why="A finite difference isn't exact: its error is about $h^2$, plus the rounding divided by $h$.",
        ),
        Wrong(
            """
            def agrees(forward, back, x):
                h, quotients = 1e-6, []
                v = torch.randn(*forward(x).shape, dtype=torch.float64)
                for i in range(x.numel()):
                    d = torch.zeros(x.numel(), dtype=torch.float64)
                    d[i] = h
                    d = d.view(x.shape)
                    quotients.append((v * (forward(x + d) - forward(x - d))).sum().item() / (2 * h))
                came = back(x, v).reshape(-1).tolist()
                return all(abs(a - b) < 1e-6 * (1 + abs(a)) for a, b in zip(quotients, came))
            """,
            says="calls; three",
            why="It compares each entry of the gradient, but it needs two calls for each. With a "
            "million weights you'd wait long.",
        ),
    ]

    def check(agrees):
        weight = torch.randn(3, 3, dtype=torch.float64)

        def softmax_back(x, v, factor=1.0):
            p = x.softmax(0)
            return p * (v - factor * (v * p).sum())

        steps = {
            "tanh": (torch.tanh, lambda x, v: v * (1 - x.tanh() ** 2), 40),
            "a product with a matrix": (lambda x: weight @ x, lambda x, v: weight.t() @ v, 3),
            "softmax": (lambda x: x.softmax(0), softmax_back, 5),
            "sin": (torch.sin, lambda x, v: v * x.cos(), 50),
            "a multiplication by a million": (lambda x: 1e6 * x, lambda x, v: 1e6 * v, 40),
            "a constant": (lambda x: 0 * x + 1, lambda x, v: 0 * v, 7),
        }
        calls = []
        for name, (step, back, n) in steps.items():
            x = torch.randn(n, dtype=torch.float64)

            def counted(x, step=step):
                calls.append(1)
                return step(x)

            calls.clear()
            expect(
                agrees(counted, back, x), True, f"a right derivative, that of {name}, is refused"
            )
            require(len(calls) <= 3, f"forward got {len(calls)} calls; three are enough.")
        x = torch.randn(50, dtype=torch.float64)
        broken = {
            "the slope of tanh left out": (torch.tanh, lambda x, v: v, x),
            "one entry of 50 wrong": (
                torch.sin,
                lambda x, v: v * x.cos() * (1 + (torch.arange(50) == 17).double()),
                x,
            ),
            "a matrix not transposed": (lambda x: weight @ x, lambda x, v: weight @ v, x[:3]),
            "the right numbers in wrong places": (
                torch.sin,
                lambda x, v: (v * x.cos()).flip(0),
                x,
            ),
            "softmax twice as large as it should be": (
                lambda x: x.softmax(0),
                lambda x, v: 2 * softmax_back(x, v),
                x[:5],
            ),
        }
        for name, (step, back, place) in broken.items():
            require(not agrees(step, back, place), f"A mistake gets by: {name}.")


class HuntInTheLayer(BugHunt):
    """A test for a layer

    `layer_back(grad, X, W)` returns the gradients of $Z = X W^T + b$ by $X$, $W$ and $b$, in
    this order, for a batch of rows. Three people wrote it from memory. Write `test(layer_back)`, which passes
    on the right one and fails on each of theirs.
    """

    idea = "Many samples at once"
    stub = """
        def test(layer_back):
            X, W = torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 1.0], [1.0, 3.0]])
            by_x, by_w, by_b = layer_back(torch.tensor([[1.0, 2.0]]), X, W)
            assert by_x.tolist() == [[5.0, 7.0]]
            assert by_w.tolist() == [[1.0, 2.0], [2.0, 4.0]]
            assert by_b.tolist() == [1.0, 2.0]
    """
    hints = [
        "What is special about the numbers in the stub? Look at the number of rows, at `W`, and at `grad` and "
        "`X` together.",
        "One row: a mean is a sum. A symmetric `W` is its own transpose. And `grad` equals `X`, so "
        "$\\bar z x^T$ is symmetric, too.",
        "Take random numbers, three rows, a square `W`, and let the engine say what is right: "
        "`torch.autograd.grad(X @ W.t() + b, (X, W, b), grad)`. Compare with a small tolerance.",
    ]
    solution = """
        def test(layer_back):
            torch.manual_seed(0)
            X = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
            W = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
            b = torch.randn(4, dtype=torch.float64, requires_grad=True)
            grad = torch.randn(3, 4, dtype=torch.float64)
            expected = torch.autograd.grad(X @ W.t() + b, (X, W, b), grad)
            came = layer_back(grad, X.detach(), W.detach())
            for one, other in zip(came, expected):
                assert one.shape == other.shape
                assert (one - other).abs().max().item() < 1e-12
    """
    reason = """
        Numbers that are pleasant on paper are poor tests, because they are full of symmetries. Random ones
        have none, and a *square* layer is the hard case: with other sizes the shapes find the transposes for you.
    """
    wrong = [
        Wrong(
            """
            def test(layer_back):
                X, W = torch.randn(3, 4), torch.randn(2, 4)
                for came, like in zip(layer_back(torch.randn(3, 2), X, W), (X, W, torch.zeros(2))):
                    assert came.shape == like.shape
            """,
            says="(number 1, 2, 3)",
            why="Shapes alone: the two that transpose do so where `W` is square, and a mean has the shape of a sum.",
        ),
        Wrong(
            """
            def test(layer_back):
                X, W = torch.randn(3, 4), torch.randn(4, 4)
                by_x, by_w, by_b = layer_back(torch.ones(3, 4), X, W)
                assert (by_b - 3.0).abs().max().item() < 1e-4
                assert (by_w - X.sum(0)).abs().max().item() < 1e-4
            """,
            says="(number 3)",
            why="This looks at two of three gradients. The one for $X$ is what reaches the layers below.",
        ),
        Wrong(
            """
            def test(layer_back):
                X, W, grad = torch.randn(3, 4), torch.randn(4, 4), torch.randn(3, 4)
                by_x, by_w, by_b = layer_back(grad, X, W)
                assert (by_w - X.t() @ grad).abs().max().item() < 1e-4
            """,
            says="must pass on the right",
            why="Here the test itself has the outer product the wrong way round: $\\bar W = \\bar Z^T X$.",
        ),
    ]

    def right(grad, X, W):
        return grad @ W, grad.t() @ X, grad.sum(0)

    def averages_the_bias(grad, X, W):
        """the bias gets the mean over the rows instead of the sum"""
        return grad @ W, grad.t() @ X, grad.mean(0)

    def turns_the_outer_product(grad, X, W):
        """for a square W the gradient by W is transposed"""
        by_w = X.t() @ grad if W.shape[0] == W.shape[1] else grad.t() @ X
        return grad @ W, by_w, grad.sum(0)

    def turns_the_weight(grad, X, W):
        """for a square W the gradient by X is made with the transpose of W"""
        by_x = grad @ W.t() if W.shape[0] == W.shape[1] else grad @ W
        return by_x, grad.t() @ X, grad.sum(0)

    bugs = [averages_the_bias, turns_the_outer_product, turns_the_weight]
