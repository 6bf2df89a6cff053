"""Exercises of chapter 58, complex numbers and Fourier transforms."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
"""

LOSSES = {
    "(z * z).real": lambda z: (z * z).real,
    "(z * z).imag": lambda z: (z * z).imag,
    "z.abs() ** 2": lambda z: z.abs() ** 2,
    "(z * 1j).real": lambda z: (z * 1j).real,
    "z.conj().imag": lambda z: z.conj().imag,
}


class ByConvention(Exercise):
    """What is in grad?

    `z` is `2 + 1j` and requires grad. What is `z.grad` after backward of each loss? Write the loss in terms of the
    parts $a$ and $b$ of $z$ first, and run nothing.
    """

    kind = "warm-up"
    idea = "A product is a small matrix"
    stub = """
        grads = {
            "(z * z).real": None,
            "(z * z).imag": None,
            "z.abs() ** 2": None,
            "(z * 1j).real": None,
            "z.conj().imag": None,
        }
    """
    hints = [
        "$z^2 = (a^2 - b^2) + 2ab\\,i$. Take the part, and differentiate it by $a$ and by $b$.",
        "The derivative by $a$ is the real part of `z.grad`, the derivative by $b$ the imaginary part.",
    ]
    solution = """
        grads = {
            "(z * z).real": 4 - 2j,
            "(z * z).imag": 2 + 4j,
            "z.abs() ** 2": 4 + 2j,
            "(z * 1j).real": -1j,
            "z.conj().imag": -1j,
        }
    """
    reason = """
        The losses are $a^2 - b^2$, $2ab$, $a^2 + b^2$, $-b$ and $-b$. The first is $\\overline{2z}$, as the rule for
        holomorphic functions says, and the second is $i\\,\\overline{2z}$, because taking the imaginary part sends the
        gradient $i$ into it.
    """
    wrong = [
        Wrong(
            """
            grads = {"(z * z).real": 4 + 2j, "(z * z).imag": 2 + 4j, "z.abs() ** 2": 4 + 2j,
                     "(z * 1j).real": -1j, "z.conj().imag": -1j}
            """,
            says="This is 2z",
            why="The derivative is $2z$. The gradient is its conjugate.",
        ),
        Wrong(
            """
            grads = {"(z * z).real": 4 - 2j, "(z * z).imag": 4 - 2j, "z.abs() ** 2": 4 + 2j,
                     "(z * 1j).real": -1j, "z.conj().imag": -1j}
            """,
            says="of the real part",
            why="The imaginary part is a different function of $a$ and $b$, with a gradient of its own.",
        ),
        Wrong(
            """
            grads = {"(z * z).real": 4 - 2j, "(z * z).imag": 2 + 4j, "z.abs() ** 2": 4 + 2j,
                     "(z * 1j).real": 1j, "z.conj().imag": -1j}
            """,
            says="(z * 1j).real is -b",
            why="$i(a + bi) = -b + ai$, so the loss falls when $b$ grows.",
        ),
    ]

    def check(grads):
        require(
            isinstance(grads, dict) and grads.keys() == LOSSES.keys(),
            f"`grads` must be a dict with the keys {', '.join(LOSSES)}.",
        )
        require(
            grads["(z * z).real"] != 4 + 2j,
            "Look at (z * z).real. This is 2z, the derivative. Does the loss grow with b?",
        )
        require(
            grads["(z * z).imag"] != 4 - 2j,
            "Look at (z * z).imag. You have given the gradient of the real part; this one is 2ab.",
        )
        require(grads["(z * 1j).real"] != 1j, "Look again: (z * 1j).real is -b.")
        for text, loss in LOSSES.items():
            z = torch.tensor(2 + 1j, requires_grad=True)
            loss(z).backward()
            expect(grads[text], z.grad.item(), f"z.grad of {text}", tolerance=1e-5)


class EnergyOfHalf(Exercise):
    """The energy in half a spectrum

    `half` is `fft.rfft(x)` of real signals with `n` numbers, along the last dimension. Write `energy(half, n)`. It
    returns the sum of the squares of each signal, one number for each, without transforming back. `n` may be even
    or odd.
    """

    kind = "implement"
    idea = "Half a spectrum"
    stub = """
        def energy(half, n):
            return half.abs().square().sum(-1)
    """
    hints = [
        "A transform without a factor multiplies the energy by $n$.",
        "Which entries of `half` stand for two of the whole spectrum? Write down the whole for $n = 4$ and $n = 5$.",
        "Entry 0 counts once. The last one counts once if `n` is even, and twice if `n` is odd.",
    ]
    solution = """
        def energy(half, n):
            squares = half.abs().square()
            middle = squares[..., 1 : (n + 1) // 2]
            return (squares.sum(-1) + middle.sum(-1)) / n
    """
    reason = """
        Entry $k$ and entry $n - k$ of the whole are conjugates, so they have the same energy. An entry without a
        partner has $k = n - k$: the first, and the one in the middle of an even number.
    """
    wrong = [
        Wrong(
            """
            def energy(half, n):
                return half.abs().square().sum(-1) / n
            """,
            says="counts each entry once",
            why="Half of the energy of the middle is in the half that `rfft` leaves out.",
        ),
        Wrong(
            """
            def energy(half, n):
                squares = half.abs().square()
                return squares.sum(-1) + squares[..., 1 : (n + 1) // 2].sum(-1)
            """,
            says="n times",
            why="Without a factor, the transform multiplies the energy by $n$.",
        ),
        Wrong(
            """
            def energy(half, n):
                squares = half.abs().square()
                return (2 * squares.sum(-1) - squares[..., 0] - squares[..., -1]) / n
            """,
            says="odd",
            why="With an odd $n$, the last entry has a partner.",
        ),
        Wrong(
            """
            def energy(half, n):
                squares = half.abs().square()
                return (2 * squares.sum(-1) - squares[..., 0]) / n
            """,
            says="even",
            why="With an even $n$, the last entry is its own partner.",
        ),
    ]

    def check(energy):
        for n in (4, 5, 2, 3, 1, *random.sample(range(6, 40), 6)):
            x = torch.randn(*random.choice([(3,), (2, 3)]), n, dtype=torch.float64)
            half = torch.fft.rfft(x)
            came, true = energy(half, n), x.square().sum(-1)
            if n == 4 and isinstance(came, torch.Tensor) and came.shape == true.shape:
                require(not torch.allclose(came, 4 * true), "This is n times the energy.")
                squares = half.abs().square().sum(-1)
                for factor in (1, 4):
                    require(
                        not torch.allclose(came * factor, squares),
                        "This counts each entry once. Some of them stand for two of the whole spectrum.",
                    )
            kind = "an odd" if n % 2 else "an even"
            expect(came, true, f"the energy for n = {n}, {kind} number", tolerance=1e-9)


class CircularBackward(Exercise):
    """The backward of a filter

    A filter `h` of `n` real numbers is applied to a batch of real signals `x` of shape (batch, n), by
    `y = fft.irfft(fft.rfft(x) * fft.rfft(h), n)`. Write `backward(grad, x, h)`: from the gradient of `y`, it computes
    the gradients by `x` and by `h`, in this order, without autograd.
    """

    kind = "extend"
    idea = "A transform is a large matrix"
    stub = """
        def backward(grad, x, h):
            return grad, grad
    """
    hints = [
        "`y` is linear in `x`. In the frequency domain, the filter multiplies each number by one of `rfft(h)`. What is "
        "the backward of a complex product?",
        "A conjugated factor in the frequency domain, between the same two transforms, is the transposed filter.",
        "All signals of the batch share one `h`. What does a shared operand get?",
    ]
    solution = """
        def backward(grad, x, h):
            n = h.shape[0]
            G = torch.fft.rfft(grad)
            by_x = torch.fft.irfft(G * torch.fft.rfft(h).conj(), n)
            by_h = torch.fft.irfft(G * torch.fft.rfft(x).conj(), n)
            return by_x, by_h.sum(0)
    """
    reason = """
        The filter is $\\frac1n \\overline F D F$, where $D$ is diagonal with the spectrum of $h$. It's real, so its
        transposed matrix is its conjugate transposed one, $\\frac1n \\overline F\\,\\overline D F$: the same program
        with a conjugated factor. In time, that's a correlation instead of a convolution.
    """
    wrong = [
        Wrong(
            """
            def backward(grad, x, h):
                n = h.shape[0]
                G = torch.fft.rfft(grad)
                return (torch.fft.irfft(G * torch.fft.rfft(h), n),
                        torch.fft.irfft(G * torch.fft.rfft(x), n).sum(0))
            """,
            says="filters the gradient forward",
            why="Without the conjugate, the gradient is convolved with the filter once more.",
        ),
        Wrong(
            """
            def backward(grad, x, h):
                n = h.shape[0]
                G = torch.fft.rfft(grad)
                return (torch.fft.irfft(G * torch.fft.rfft(h).conj(), n),
                        torch.fft.irfft(G * torch.fft.rfft(x).conj(), n))
            """,
            says="one h",
            why="`h` was broadcast over the batch, so its gradient is a sum over it (chapter 17).",
        ),
        Wrong(
            """
            def backward(grad, x, h):
                G = torch.fft.rfft(grad)
                return (torch.fft.irfft(G * torch.fft.rfft(h).conj()),
                        torch.fft.irfft(G * torch.fft.rfft(x).conj()).sum(0))
            """,
            says="odd",
            why="`irfft` can't know whether the signal had an odd number of elements, so you have to say it.",
        ),
    ]

    def check(backward):
        for n in (6, 5, *random.sample(range(1, 30), 4)):
            x = torch.randn(random.randrange(2, 5), n, dtype=torch.float64, requires_grad=True)
            h = torch.randn(n, dtype=torch.float64, requires_grad=True)
            y = torch.fft.irfft(torch.fft.rfft(x) * torch.fft.rfft(h), n)
            grad = torch.randn_like(y)
            by_x, by_h = torch.autograd.grad(y, [x, h], grad)
            came = backward(grad, x.detach(), h.detach())
            require(
                isinstance(came, tuple | list) and len(came) == 2,
                "backward must return two tensors, the gradients by x and by h.",
            )
            forward = torch.fft.irfft(torch.fft.rfft(grad) * torch.fft.rfft(h.detach()), n)
            if n == 6 and getattr(came[0], "shape", None) == forward.shape:
                require(
                    not torch.allclose(came[0], forward),
                    "This filters the gradient forward. Backward needs the transposed filter.",
                )
            require(
                getattr(came[1], "shape", None) != x.shape,
                "The gradient by h has the shape of x. All signals share one h.",
            )
            kind = "an odd" if n % 2 else "an even"
            expect(came[0], by_x, f"the gradient by x for n = {n}, {kind} number", tolerance=1e-9)
            expect(came[1], by_h, f"the gradient by h for n = {n}, {kind} number", tolerance=1e-9)


class HuntTheConjugate(BugHunt):
    """A test for conjugates

    `backward(grad, w, x)` returns the gradients of the product `w * x` by `w` and by `x`, for complex tensors of one
    shape. Four people wrote it, and each made one mistake. Write `test(backward)`: it passes on the right version and
    fails on each of theirs.
    """

    idea = "Break it"
    stub = """
        def test(backward):
            w, x = torch.tensor([2.0]), torch.tensor([3.0])
            by_w, by_x = backward(torch.tensor([1.0]), w, x)
            assert by_w.item() == 3 and by_x.item() == 2
    """
    hints = [
        "A real number is its own conjugate. Which of the three arguments is real in the stub?",
        "Let the engine find the right answer: `torch.autograd.grad(w * x, [w, x], grad)`.",
        "`grad` may be complex too: it's what arrives from the rest of the network.",
    ]
    solution = """
        def test(backward):
            w = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
            x = torch.tensor([2 - 1j, 1 + 5j], requires_grad=True)
            grad = torch.tensor([1 - 3j, 2 + 1j])
            right = torch.autograd.grad(w * x, [w, x], grad)
            for came, expected in zip(backward(grad, w.detach(), x.detach()), right):
                assert torch.allclose(came, expected)
    """
    reason = """
        All three arguments have two parts that aren't 0, and both results are compared. A loss such as
        `(w * x).real.sum()` sends only real gradients into the product, so one mistake hides behind it.
    """
    wrong = [
        Wrong(
            """
            def test(backward):
                w, x = torch.randn(5), torch.randn(5)
                grad = torch.randn(5)
                by_w, by_x = backward(grad, w, x)
                assert torch.allclose(by_w, grad * x) and torch.allclose(by_x, grad * w)
            """,
            says="(number 1, 2, 3, 4)",
            why="Real numbers are their own conjugates.",
        ),
        Wrong(
            """
            def test(backward):
                w = torch.tensor([1 + 2j], requires_grad=True)
                x = torch.tensor([2 - 1j], requires_grad=True)
                (w * x).real.sum().backward()
                by_w, by_x = backward(torch.tensor([1 + 0j]), w.detach(), x.detach())
                assert torch.allclose(by_w, w.grad) and torch.allclose(by_x, x.grad)
            """,
            says="(number 4)",
            why="Here the gradient that arrives is real.",
        ),
        Wrong(
            """
            def test(backward):
                w, x, grad = torch.tensor([1 + 2j]), torch.tensor([2 - 1j]), torch.tensor([1 - 3j])
                assert torch.allclose(backward(grad, w, x)[0], grad * x.conj())
            """,
            says="(number 2)",
            why="A backward of two inputs has two results.",
        ),
    ]

    def right(grad, w, x):
        return grad * x.conj(), grad * w.conj()

    def forgets_both(grad, w, x):
        """it has no conjugates"""
        return grad * x, grad * w

    def forgets_second(grad, w, x):
        """it has a conjugate in the first gradient only"""
        return grad * x.conj(), grad * w

    def conjugates_the_gradient(grad, w, x):
        """it conjugates the gradient that arrives, and not the factor"""
        return grad.conj() * x, grad.conj() * w

    def drops_imaginary_part(grad, w, x):
        """it uses only the real part of the gradient that arrives"""
        return grad.real * x.conj(), grad.real * w.conj()

    bugs = [forgets_both, forgets_second, conjugates_the_gradient, drops_imaginary_part]
