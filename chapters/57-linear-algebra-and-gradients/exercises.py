"""Exercises of chapter 57, linear algebra and gradients."""

import math
import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
"""

OUTCOMES = {
    "det(small).log()": "infinite",
    "slogdet(small).logabsdet": "finite",
    "solve(ones(2, 2), ones(2))": "error",
    "lstsq(ones(3, 2), ones(3)).solution": "finite",
    "cholesky(ones(2, 2))": "error",
    "gradient of svdvals(eye(3)).sum()": "finite",
    "gradient of (eigh(eye(3)).eigenvectors ** 4).sum()": "nan",
    "gradient of cholesky(eye(3)).sum()": "finite",
}
WHY = {
    "det(small).log()": "The determinant is 1e-400. Which is the smallest number of float64?",
    "slogdet(small).logabsdet": "slogdet adds logarithms of the diagonal of U, and never multiplies.",
    "solve(ones(2, 2), ones(2))": "The rows are equal, so the second pivot is 0.",
    "lstsq(ones(3, 2), ones(3)).solution": "lstsq takes any rank; of all solutions it returns the shortest.",
    "cholesky(ones(2, 2))": "Positive definite means that every eigenvalue is positive. Here one of them is 0.",
    "gradient of svdvals(eye(3)).sum()": "Does the derivative of singular *values* divide by gaps?",
    "gradient of (eigh(eye(3)).eigenvectors ** 4).sum()": "All eigenvalues are equal. What are the gaps?",
    "gradient of cholesky(eye(3)).sum()": "A Cholesky factor is unique, whatever the eigenvalues are.",
}


class WhatComesOut(Exercise):
    """What comes out?

    `small` is `1e-4 * torch.eye(100, dtype=torch.float64)`, and the functions are those of `torch.linalg`. What does
    each line give: `"finite"`, `"infinite"`, `"nan"` or `"error"`? Answer before you run anything.
    """

    kind = "warm-up"
    idea = "The derivative of a choice"
    stub = """
        outcomes = {
            "det(small).log()": None,
            "slogdet(small).logabsdet": None,
            "solve(ones(2, 2), ones(2))": None,
            "lstsq(ones(3, 2), ones(3)).solution": None,
            "cholesky(ones(2, 2))": None,
            "gradient of svdvals(eye(3)).sum()": None,
            "gradient of (eigh(eye(3)).eigenvectors ** 4).sum()": None,
            "gradient of cholesky(eye(3)).sum()": None,
        }
    """
    hints = [
        "Four are finite, and two are errors.",
        "A factorisation has a derivative where it is unique. Which of the last three are?",
    ]
    solution = """
        outcomes = {
            "det(small).log()": "infinite",
            "slogdet(small).logabsdet": "finite",
            "solve(ones(2, 2), ones(2))": "error",
            "lstsq(ones(3, 2), ones(3)).solution": "finite",
            "cholesky(ones(2, 2))": "error",
            "gradient of svdvals(eye(3)).sum()": "finite",
            "gradient of (eigh(eye(3)).eigenvectors ** 4).sum()": "nan",
            "gradient of cholesky(eye(3)).sum()": "finite",
        }
    """
    reason = """
        Products underflow where sums of logarithms don't. A singular system has no solution or many: `solve` refuses,
        and `lstsq` takes the shortest best one. And of the factorisations of the identity, only the one that leaves a
        choice has no derivative.
    """
    wrong = [
        Wrong(
            """
            outcomes = {"det(small).log()": "finite", "slogdet(small).logabsdet": "finite",
                        "solve(ones(2, 2), ones(2))": "error", "lstsq(ones(3, 2), ones(3)).solution": "finite",
                        "cholesky(ones(2, 2))": "error", "gradient of svdvals(eye(3)).sum()": "finite",
                        "gradient of (eigh(eye(3)).eigenvectors ** 4).sum()": "nan",
                        "gradient of cholesky(eye(3)).sum()": "finite"}
            """,
            says="1e-400",
            why="The determinant of a large matrix of small numbers is smaller than any float64.",
        ),
        Wrong(
            """
            outcomes = {"det(small).log()": "infinite", "slogdet(small).logabsdet": "finite",
                        "solve(ones(2, 2), ones(2))": "error", "lstsq(ones(3, 2), ones(3)).solution": "finite",
                        "cholesky(ones(2, 2))": "error", "gradient of svdvals(eye(3)).sum()": "nan",
                        "gradient of (eigh(eye(3)).eigenvectors ** 4).sum()": "nan",
                        "gradient of cholesky(eye(3)).sum()": "finite"}
            """,
            says="singular *values*",
            why="Only the vectors are divided by gaps.",
        ),
        Wrong(
            """
            outcomes = {"det(small).log()": "infinite", "slogdet(small).logabsdet": "finite",
                        "solve(ones(2, 2), ones(2))": "error", "lstsq(ones(3, 2), ones(3)).solution": "error",
                        "cholesky(ones(2, 2))": "error", "gradient of svdvals(eye(3)).sum()": "finite",
                        "gradient of (eigh(eye(3)).eigenvectors ** 4).sum()": "nan",
                        "gradient of cholesky(eye(3)).sum()": "finite"}
            """,
            says="any rank",
            why="Least squares always has a solution; of several, the shortest comes back.",
        ),
    ]

    def check(outcomes):
        require(
            isinstance(outcomes, dict) and outcomes.keys() == OUTCOMES.keys(),
            f"`outcomes` must be a dict with the keys {', '.join(OUTCOMES)}.",
        )
        for name, outcome in OUTCOMES.items():
            require(outcomes[name] == outcome, f"Look again at {name}. {WHY[name]}")


class LogDensity(Exercise):
    """A density that doesn't underflow

    Write `log_density(K, y)`, the logarithm of the density of a normal distribution with mean 0 and the covariance
    matrix `K`, at the vector `y` of `n` numbers:

    $$ -\\tfrac12 \\big( y^T K^{-1} y + \\log \\det K + n \\log 2\\pi \\big) $$

    `K` may be large, and its determinant may be smaller, or larger, than any float64. The result is a tensor of shape
    (), and its gradients by `K` and `y` are finite.
    """

    kind = "implement"
    idea = "The Gaussian process again"
    stub = """
        import math

        def log_density(K, y):
            return -0.5 * (y @ torch.linalg.inv(K) @ y)
    """
    hints = [
        "With `K = L @ L.T`, the quadratic form is the sum of squares of the solution of `L z = y`.",
        "The determinant of `K` is the square of that of `L`, and that is the product of `L`'s diagonal. So half of "
        "its logarithm is the sum of the diagonal's logarithms.",
    ]
    solution = """
        import math

        def log_density(K, y):
            L = torch.linalg.cholesky(K)
            z = torch.linalg.solve_triangular(L, y[:, None], upper=False)
            constant = 0.5 * len(y) * math.log(2 * math.pi)
            return -0.5 * (z**2).sum() - L.diagonal().log().sum() - constant
    """
    reason = """
        One factorisation of a third of n³ operations gives both parts. Neither an inverse nor a determinant appears,
        and the quadratic form is a sum of squares, so rounding can't make it negative.
    """
    wrong = [
        Wrong(
            """
            import math

            def log_density(K, y):
                return (-0.5 * (y @ torch.linalg.solve(K, y)) - 0.5 * torch.linalg.det(K).log()
                        - 0.5 * len(y) * math.log(2 * math.pi))
            """,
            says="never multiply",
            why="The determinant of 300 small numbers is 0, and that of 300 large ones is infinite.",
        ),
        Wrong(
            """
            import math

            def log_density(K, y):
                L = torch.linalg.cholesky(K)
                z = torch.linalg.solve_triangular(L, y[:, None], upper=False)
                constant = 0.5 * len(y) * math.log(2 * math.pi)
                return -0.5 * (z**2).sum() - 0.5 * L.diagonal().log().sum() - constant
            """,
            says="square of that of L",
            why="The half is used up: det K is the square of det L.",
        ),
        Wrong(
            """
            def log_density(K, y):
                L = torch.linalg.cholesky(K)
                z = torch.linalg.solve_triangular(L, y[:, None], upper=False)
                return -0.5 * (z**2).sum() - L.diagonal().log().sum()
            """,
            says="constant",
            why="Without the constant it isn't the logarithm of a density.",
        ),
    ]

    def check(log_density):
        for n, size in ((1, 1.0), (2, 3.0), (7, 1.0), (300, 1e-3), (300, 1e3)):
            X = torch.randn(n, n, dtype=torch.float64)
            K = size * random.uniform(0.8, 1.2) * (X @ X.T / n + torch.eye(n, dtype=torch.float64))
            y = math.sqrt(size) * torch.randn(n, dtype=torch.float64)
            K.requires_grad_()
            y.requires_grad_()
            came = log_density(K, y)
            require(
                isinstance(came, torch.Tensor) and came.shape == (),
                "log_density must return a tensor of shape ().",
            )
            require(
                bool(came.isfinite()),
                f"For n = {n} and variances near {size}, it is {came.item()}: never multiply {n} numbers of this size.",
            )
            weights = torch.linalg.solve(K.detach(), y.detach())
            fit = -0.5 * (y.detach() @ weights)
            half = 0.5 * torch.linalg.slogdet(K.detach()).logabsdet
            constant = 0.5 * n * math.log(2 * math.pi)
            true = fit - half - constant
            require(
                not near(came, true + constant),
                "The constant with 2 pi is missing.",
            )
            require(
                abs(half.item()) < 1e-6 or not near(came, true + 0.5 * half),
                "The logarithm of the determinant counts half as much as it should. The determinant of K is the "
                "square of that of L.",
            )
            expect(came.detach(), true, f"log_density for n = {n}", tolerance=1e-8)
            require(
                came.requires_grad,
                "The result has no gradient: don't leave tensors on the way from K and y.",
            )
            by_K, by_y = torch.autograd.grad(came, (K, y), allow_unused=True)
            require(by_K is not None, "The result has no gradient by K.")
            require(by_y is not None, "The result has no gradient by y.")
            expect(by_y, -weights, f"the gradient by y for n = {n}", tolerance=1e-6)
            inverse = torch.linalg.inv(K.detach())
            expect(
                0.5 * (by_K + by_K.T),
                0.5 * (torch.outer(weights, weights) - inverse),
                f"the gradient by K for n = {n}, made symmetric",
                tolerance=1e-6,
            )


def near(came, value):
    return abs(came.item() - value.item()) <= 1e-8 * (1 + abs(value.item()))


def mixed(n, values):
    """A symmetric matrix with these eigenvalues."""
    Q, _ = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64))
    return Q @ (torch.tensor(values, dtype=torch.float64)[:, None] * Q.T)


class RootBackward(Exercise):
    """The root's derivative, without gaps

    For a function $f$ of the eigenvalues, $F(A) = V \\operatorname{diag}(f(\\lambda))\\, V^T$, the gradient is

    $$ \\bar A = V \\big( K \\circ (V^T G V) \\big) V^T $$

    $$ K_{ij} = \\frac{f(\\lambda_i) - f(\\lambda_j)}{\\lambda_i - \\lambda_j}, \\quad K_{ii} = f'(\\lambda_i) $$

    Take $f(\\lambda) = 1/\\sqrt\\lambda$. Cancel $\\lambda_i - \\lambda_j$ on paper, and write `root_backward(A, G)`
    for a positive definite `A` and a symmetric `G`. It must be right where eigenvalues are equal or nearly so.
    ($\\circ$ multiplies element by element.)
    """

    kind = "extend"
    idea = "A smooth function with a wrong gradient"
    stub = """
        def root_backward(A, G):
            values, V = torch.linalg.eigh(A)
            return G
    """
    hints = [
        "Call the roots $a = \\sqrt{\\lambda_i}$ and $b = \\sqrt{\\lambda_j}$. Then "
        "$\\lambda_i - \\lambda_j = (a - b)(a + b)$.",
        "$1/a - 1/b = (b - a) / (ab)$. So $a - b$ cancels, and a minus remains.",
    ]
    solution = """
        def root_backward(A, G):
            values, V = torch.linalg.eigh(A)
            a = values.sqrt()[:, None]
            b = values.sqrt()
            K = -1 / (a * b * (a + b))
            return V @ (K * (V.T @ G @ V)) @ V.T
    """
    reason = """
        The quotient is -1 / (ab(a + b)), and on the diagonal, where a = b, it is -1 / (2a³): the derivative, without a
        case of its own. Nothing small is divided by anything small. The formula for any f goes back to Daleckii and
        Krein (1951).
    """
    wrong = [
        Wrong(
            """
            def root_backward(A, G):
                A = A.clone().requires_grad_()
                values, V = torch.linalg.eigh(A)
                return torch.autograd.grad(((V * values.rsqrt()) @ V.T * G).sum(), A)[0]
            """,
            says="divided by a gap",
            why="The engine divides rounding errors by gaps.",
        ),
        Wrong(
            """
            def root_backward(A, G):
                values, V = torch.linalg.eigh(A)
                f = values.rsqrt()
                gaps = values[:, None] - values
                close = gaps.abs() < 1e-6
                K = torch.where(close, 0, (f[:, None] - f) / torch.where(close, 1, gaps))
                K = K + (-0.5 * values**-1.5).diag()
                return V @ (K * (V.T @ G @ V)) @ V.T
            """,
            says="masked",
            why="Where values are equal the quotient becomes the derivative, and not 0.",
        ),
        Wrong(
            """
            def root_backward(A, G):
                values, V = torch.linalg.eigh(A)
                K = (-0.5 * values**-1.5).diag()
                return V @ (K * (V.T @ G @ V)) @ V.T
            """,
            says="off the diagonal",
            why="The vectors turn as well, and that is what is off the diagonal of K.",
        ),
    ]

    def check(root_backward):
        n = random.randrange(4, 7)
        apart = [k + random.uniform(0.5, 0.9) for k in range(n)]
        value = random.uniform(0.5, 3)
        pair = [apart[0], apart[0] * (1 + 1e-9), *apart[2:]]
        cases = {
            "eigenvalues apart": mixed(n, apart),
            "two eigenvalues nearly equal": mixed(n, pair),
            "three eigenvalues equal": mixed(
                n, [value, value, value, *(4 + k for k in range(n - 3))]
            ),
            "all eigenvalues equal": value * torch.eye(n, dtype=torch.float64),
        }
        for name, A in cases.items():
            A = 0.5 * (A + A.T)
            G = torch.randn(n, n, dtype=torch.float64)
            G = G + G.T
            came = root_backward(A.clone(), G.clone())
            values, V = torch.linalg.eigh(A)
            roots = values.sqrt()
            quotients = -1 / (roots[:, None] * roots * (roots[:, None] + roots))
            inner = V.T @ G @ V
            true = V @ (quotients * inner) @ V.T
            require(
                isinstance(came, torch.Tensor) and came.shape == true.shape,
                f"root_backward must return a tensor of shape {tuple(true.shape)}.",
            )
            if not torch.allclose(came, true, rtol=1e-6, atol=1e-7):
                turned = (V.T @ came @ V).detach()
                off = (turned - turned.diagonal().diag()).abs()
                require(
                    not (off < 1e-9).all(),
                    "K must not be zero off the diagonal: the vectors turn as well.",
                )
                require(
                    name != "two eigenvalues nearly equal"
                    or not off[0, 1] < 1e-4 * abs(inner[0, 1]),
                    "A small gap must not be masked: as it closes, the quotient becomes the derivative, and not 0.",
                )
                require(
                    name == "eigenvalues apart",
                    f"Right with eigenvalues apart, and wrong with {name}: something is divided by a gap. Cancel it.",
                )
            expect(came.detach(), true, f"the gradient with {name}", tolerance=1e-6)


def cholesky_backward(L, grad):
    """The gradient by A = L L^T, which is symmetric."""
    product = (L.mT @ grad).tril()
    halved = product - 0.5 * product.diagonal(0, -2, -1).diag_embed()
    middle = 0.5 * (halved + halved.mT)
    right = torch.linalg.solve_triangular(L.mT, middle, upper=True)
    return torch.linalg.solve_triangular(L, right, upper=False, left=False)


class HuntInTheFactor(BugHunt):
    """A test for a backward

    `backward(L, grad)` gets the Cholesky factor of a matrix, n by n in float64, and the gradient by that factor, which
    is lower triangular too. It returns the gradient by the matrix, which is symmetric. Four people wrote it, and each
    made one mistake. Write `test(backward)`: it passes on the right version and fails on each of theirs.
    """

    idea = "The derivative of Cholesky"
    stub = """
        def test(backward):
            L = torch.tensor([[2.0]], dtype=torch.float64)
            grad = torch.tensor([[1.0]], dtype=torch.float64)
            assert backward(L, grad).shape == (1, 1)
    """
    hints = [
        "A shape says little, and a matrix of one number has no triangle. Take three rows, and numbers without "
        "a pattern.",
        "Where does the right answer come from? Make `A = L @ L.T`, and let the engine differentiate "
        "`torch.linalg.cholesky(A)`.",
        "A backward is one of many readers of its gradient. What must it leave alone?",
    ]
    solution = """
        def test(backward):
            L = torch.tensor([[2.0, 0, 0], [1, 3, 0], [-1, 2, 1]], dtype=torch.float64)
            grad = torch.tensor([[1.0, 0, 0], [2, -3, 0], [5, 7, 11]], dtype=torch.float64)
            A = (L @ L.T).requires_grad_()
            (right,) = torch.autograd.grad(torch.linalg.cholesky(A), A, grad)
            given, factor = grad.clone(), L.clone()
            assert torch.allclose(backward(L, grad), right)
            assert torch.equal(grad, given)
            assert torch.equal(L, factor)
    """
    reason = """
        Numbers without a pattern separate the sides and the triangles. The engine gives the right answer, and so would
        finite differences. And a function that computes in its arguments is found by looking at them afterwards.
    """
    wrong = [
        Wrong(
            """
            def test(backward):
                L = torch.diag(torch.tensor([2.0, 3.0], dtype=torch.float64))
                grad = torch.diag(torch.tensor([1.0, 5.0], dtype=torch.float64))
                right = torch.diag(torch.tensor([1 / 4, 5 / 6], dtype=torch.float64))
                assert torch.allclose(backward(L, grad), right)
            """,
            says="(number 2, 3, 4)",
            why="Diagonal matrices have no triangle, and it doesn't matter on which side they stand.",
        ),
        Wrong(
            """
            def test(backward):
                L = torch.tensor([[2.0, 0], [1, 2]], dtype=torch.float64)
                grad = torch.tensor([[1.0, 0], [2, 3]], dtype=torch.float64)
                right = torch.tensor([[3 / 16, 1 / 8], [1 / 8, 3 / 4]], dtype=torch.float64)
                assert torch.allclose(backward(L, grad), right)
            """,
            says="(number 4)",
            why="The result alone doesn't say what became of the arguments.",
        ),
    ]

    right = cholesky_backward

    def keeps_the_diagonal(L, grad):
        """it doesn't halve the diagonal"""
        product = (L.mT @ grad).tril()
        middle = 0.5 * (product + product.mT)
        right = torch.linalg.solve_triangular(L.mT, middle, upper=True)
        return torch.linalg.solve_triangular(L, right, upper=False, left=False)

    def keeps_the_upper_half(L, grad):
        """it forgets to drop the upper half of the product"""
        product = L.mT @ grad
        middle = 0.25 * (product + product.mT)
        right = torch.linalg.solve_triangular(L.mT, middle, upper=True)
        return torch.linalg.solve_triangular(L, right, upper=False, left=False)

    def swaps_the_sides(L, grad):
        """it solves with L on the left and with its transpose on the right"""
        product = (L.mT @ grad).tril()
        halved = product - 0.5 * product.diagonal(0, -2, -1).diag_embed()
        middle = 0.5 * (halved + halved.mT)
        right = torch.linalg.solve_triangular(L, middle, upper=False)
        return torch.linalg.solve_triangular(L.mT, right, upper=True, left=False)

    def writes_into_the_gradient(L, grad):
        """it computes in the gradient that it gets"""
        grad.copy_(L.mT @ grad)
        product = grad.tril()
        halved = product - 0.5 * product.diagonal(0, -2, -1).diag_embed()
        middle = 0.5 * (halved + halved.mT)
        right = torch.linalg.solve_triangular(L.mT, middle, upper=True)
        return torch.linalg.solve_triangular(L, right, upper=False, left=False)

    bugs = [keeps_the_diagonal, keeps_the_upper_half, swaps_the_sides, writes_into_the_gradient]
