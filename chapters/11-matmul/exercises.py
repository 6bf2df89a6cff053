"""Exercises of chapter 11, matrix products."""

import random
from itertools import pairwise

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, called_names, describe, expect, require

IMPORTS = "import tensorlab as torch\n"


class Count(Exercise):
    """What a training step costs

    A network has linear layers with `widths[0]` inputs, then `widths[1]`, and so on: `[64, 128, 10]` is a layer
    from 64 to 128 and one from 128 to 10. Write `training_flop(batch, widths)`: how many FLOP the matrix
    products of one training step take, forward and backward. Biases and activations don't count. The
    network reads images, which have `requires_grad=False`.
    """

    kind = "warm-up"
    idea = "Gradients"
    stub = """
        def training_flop(batch, widths):
            return sum(batch * n * k for n, k in zip(widths, widths[1:]))
    """
    hints = [
        "Forward is one product of (batch, in) and (in, out) for each layer: 2 · batch · in · out FLOP.",
        "Backward is one product for the gradient of the weight and one for the gradient of the input. "
        "Does every layer need both?",
    ]
    solution = """
        def training_flop(batch, widths):
            layers = [2 * batch * n * k for n, k in zip(widths, widths[1:])]
            return 3 * sum(layers) - layers[0]
    """
    reason = """
        Three products for each layer, with the same three sizes in other roles. The first layer's input is
        data and needs no gradient, so the engine leaves that product out.
    """
    wrong = [
        Wrong(
            """
            def training_flop(batch, widths):
                return 6 * batch * sum(n * k for n, k in zip(widths, widths[1:]))
            """,
            says="the gradient of the images",
            why="The rule of thumb, 6 FLOP per weight and sample, also counts the gradient of the first input.",
        ),
        Wrong(
            """
            def training_flop(batch, widths):
                layers = [batch * n * k for n, k in zip(widths, widths[1:])]
                return 3 * sum(layers) - layers[0]
            """,
            says="a multiply-add is two",
            why="Each multiplication comes with an addition. A multiply-add is 2 FLOP.",
        ),
        Wrong(
            """
            def training_flop(batch, widths):
                return 2 * batch * sum(n * k for n, k in zip(widths, widths[1:]))
            """,
            says="forward only",
            why="Backward has products of its own, up to two for each layer.",
        ),
        Wrong(
            """
            def training_flop(batch, widths):
                return 4 * batch * sum(n * k for n, k in zip(widths, widths[1:]))
            """,
            says="only one product",
            why="A layer in the middle has two products in backward, not one.",
        ),
    ]

    def check(training_flop):
        draw = random.Random()
        cases = [(32, [64, 128, 10]), (1, [5, 3])]
        cases += [
            (draw.randint(2, 50), [draw.randint(2, 99) for _ in range(length)])
            for length in (2, 3, 4, 6)
        ]
        for batch, widths in cases:
            layers = [2 * batch * n * k for n, k in pairwise(widths)]
            right = 3 * sum(layers) - layers[0]
            came = training_flop(batch, list(widths))
            where = f"training_flop({batch}, {widths})"
            require(came is not None, f"{where} returned None; return a number.")
            require(
                came != 3 * sum(layers),
                f"{where} = {came}: you count the gradient of the images, but they don't require one.",
            )
            require(
                came != right / 2,
                f"{where} = {came}, half of what is expected: a multiply-add is two operations.",
            )
            require(
                came not in (sum(layers), sum(layers) / 2),
                f"{where} = {came}: that's forward only, or half of it; backward has products as well.",
            )
            require(
                came != 2 * sum(layers) or len(layers) == 1,
                f"{where} = {came}: that's only one product for each layer in backward. What does the "
                "layer before it need?",
            )
            require(
                came != right - sum(layers),
                f"{where} = {came}: that's backward only; forward has a product for each layer as well.",
            )
            require(
                came == right or came != 3 * sum(layers) - layers[-1],
                f"{where} = {came}: you leave out a product of the last layer. Which input needs no gradient?",
            )
            expect(came, right, where)


class Flags(Exercise):
    """Copy or flag

    Write `how(x)` for a 2-d tensor `x` of any dtype, with at least 2 rows and 2 columns. Return `"N"` if BLAS can
    read it as rows, `"T"` if it can read it as columns, and `"copy"` if neither works. It can read rows if the
    elements of a row are neighbours and if the rows don't overlap; columns likewise.
    """

    kind = "implement"
    idea = "When a transpose is free"
    stub = """
        def how(x):
            return "N" if x.is_contiguous() else "T"
    """
    hints = [
        "Everything is in `x.shape` and `x.stride()`. A slice of columns isn't contiguous, but its rows are fine.",
        "Neighbours: a stride of 1. No overlap: the other stride is at least as long as a row.",
        "`x.expand(...)` has a stride of 0: all rows lie in the same place.",
    ]
    solution = """
        def how(x):
            (rows, columns), (down, across) = x.shape, x.stride()
            if across == 1 and down >= columns:
                return "N"
            if down == 1 and across >= rows:
                return "T"
            return "copy"
    """
    reason = """
        BLAS gets an address, a flag and one distance: from row to row, or from column to column. The other
        stride must be 1. It doesn't matter whether there are gaps between rows, so slices are free.
    """
    wrong = [
        Wrong(
            """
            def how(x):
                if x.is_contiguous():
                    return "N"
                return "T" if x.t().is_contiguous() else "copy"
            """,
            says="gaps between its rows",
            why="`is_contiguous` also wants that nothing lies between rows. BLAS doesn't mind.",
        ),
        Wrong(
            """
            def how(x):
                down, across = x.stride()
                return "N" if across == 1 else "T" if down == 1 else "copy"
            """,
            says="overlap",
            why="Windows of `unfold` and expanded rows have a stride of 1 and rows that overlap.",
        ),
        Wrong(
            """
            def how(x):
                down, across = x.stride()
                if down >= across:
                    return "N" if across == 1 else "copy"
                return "T"
            """,
            says="expected",
            why="The smaller stride has to be exactly 1.",
        ),
    ]

    def check(how):
        big = torch.arange(400.0).view(20, 20)
        line = torch.arange(60.0)
        draw = random.Random()
        cases = {
            "a contiguous matrix": (big, "N"),
            "a transposed matrix": (big.t(), "T"),
            "a float64 matrix": (big.double(), "N"),
            "a slice of columns": (big[:, 3:9], "N"),
            "a slice of a transposed matrix": (big.t()[2:7], "T"),
            "every second column": (big[:, ::2], "copy"),
            "every second row": (big[::2], "N"),
            "every second row of a transposed matrix": (big.t()[::2], "copy"),
            "a column expanded to a matrix": (big[:, :1].expand(20, 5), "copy"),
            "a row expanded to a matrix": (big[:1].expand(5, 20), "copy"),
            "windows that overlap": (line.unfold(0, 6, 2), "copy"),
            "transposed windows that overlap": (line.unfold(0, 6, 2).t(), "copy"),
            "windows that touch": (line.unfold(0, 6, 6), "N"),
            "transposed windows with gaps": (line.unfold(0, 4, 6).t(), "T"),
        }
        for number in range(40):
            rows, columns = draw.randint(2, 6), draw.randint(2, 6)
            strides = draw.choice([(draw.randint(0, 8), 1), (1, draw.randint(0, 8)), (9, 2)])
            fits = strides[1] == 1 and strides[0] >= columns
            right = "N" if fits else "T" if strides[0] == 1 and strides[1] >= rows else "copy"
            cases[f"random case {number}"] = (
                torch.as_strided(line, (rows, columns), strides),
                right,
            )
        for name, (x, right) in cases.items():
            came = how(x)
            about = f"{name}, shape {tuple(x.shape)}, strides {x.stride()}"
            require(
                not (name == "a slice of columns" and came == "copy"),
                f"{about}: you copy it. It has gaps between its rows, and BLAS can step over them.",
            )
            require(
                not (right == "copy" and came in ("N", "T") and 1 in x.stride()),
                f"{about}: {describe(came)} doesn't work: its rows or columns overlap in memory.",
            )
            require(came == right, f"{about}: you returned {describe(came)}, expected {right!r}.")


class Gradients(Exercise):
    """Backward of a batch

    Let `c = x @ w`, where `x` has shape (..., n, k) and `w` is a matrix (k, m). Write `gradients(grad, x, w)`. `grad`
    has the shape of `c`. Return the gradient of `x` and the gradient of `w`, computed with products only,
    without `backward` or `autograd`.
    """

    kind = "implement"
    idea = "Gradients"
    stub = """
        def gradients(grad, x, w):
            return grad @ w.t(), x.t() @ grad
    """
    hints = [
        "Start with two dimensions: G Wᵀ and Xᵀ G.",
        "With a batch, `w` is used once for each matrix of the batch. What happens to the gradients of all its uses?",
        "`reshape(-1, k)` makes one tall matrix of the batch. Then the product does the summing.",
    ]
    solution = """
        def gradients(grad, x, w):
            rows, slopes = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
            return grad @ w.t(), rows.t() @ slopes
    """
    reason = """
        `w` is broadcast over the batch, so its gradients are summed over the batch. A tall product does both at
        once, which is what `matmul_derivative_y` does in the source.
    """
    wrong = [
        Wrong(
            """
            def gradients(grad, x, w):
                return grad @ w.t(), x.transpose(-2, -1) @ grad
            """,
            says="summed over the batch",
            why="That's one gradient for each matrix of the batch.",
        ),
        Wrong(
            """
            def gradients(grad, x, w):
                rows, slopes = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
                if w.shape[0] == w.shape[1]:
                    return grad @ w, rows.t() @ slopes
                return grad @ w.t(), rows.t() @ slopes
            """,
            says="without its transpose",
            why="For a square `w` the shapes fit with or without the transpose.",
        ),
        Wrong(
            """
            def gradients(grad, x, w):
                each = x.transpose(-2, -1) @ grad
                while each.dim() > 2:
                    each = each.mean(0)
                return grad @ w.t(), each
            """,
            says="mean",
            why="Uses add up. A mean belongs to the loss, if it has one.",
        ),
        Wrong(
            """
            def gradients(grad, x, w):
                rows, slopes = x.reshape(-1, x.shape[-1]), grad.reshape(-1, grad.shape[-1])
                return grad @ w.t(), slopes.t() @ rows
            """,
            says="its shape must be that of w",
            why="That's the gradient of `w.t()`.",
        ),
        Wrong(
            """
            def gradients(grad, x, w):
                x.requires_grad_()
                w.requires_grad_()
                return torch.autograd.grad(x @ w, (x, w), grad)
            """,
            says="with products only",
            why="Right, but here you are the engine.",
        ),
        Wrong(
            """
            def gradients(grad, x, w):
                k, m = w.shape
                return grad @ w.t(), x.view(-1, k).t() @ grad.view(-1, m)
            """,
            says="view",
            why="`view` can't make one tall matrix of every batch, of a transposed one for example. `reshape` copies "
            "where it must.",
        ),
    ]

    def check(gradients):
        draw = random.Random()
        shapes = [((2, 3), 4), ((3, 3), 3), ((5, 2, 3), 4), ((2, 3, 4, 4), 4), ((1, 3), 1)]
        for _ in range(4):
            x_shape = tuple(draw.randint(1, 5) for _ in range(draw.randint(2, 4)))
            shapes.append((x_shape, draw.randint(1, 5)))
        shapes.append(((3, 2, 4), 5))  # with columns that lie along memory
        for number, (x_shape, m) in enumerate(shapes, start=1):
            x = torch.randn(x_shape, dtype=torch.float64)
            x = (x if number < len(shapes) else columns_first(x)).requires_grad_()
            w = torch.randn(x_shape[-1], m, dtype=torch.float64, requires_grad=True)
            c = x @ w
            grad = torch.randn(c.shape, dtype=torch.float64)
            grad = grad if number < len(shapes) else columns_first(grad)
            c.backward(grad)
            given = [grad.clone(), x.detach().clone(), w.detach().clone()]
            with called_names() as names:
                came = gradients(*given)
            where = f"x of shape {x_shape}, w of shape {tuple(w.shape)}"
            engine = sorted({"backward", "grad"} & names)
            require(not engine, f"It calls {', '.join(engine)}. Compute it with products only.")
            kept = zip(("grad", "x", "w"), given, (grad, x, w), strict=True)
            changed = [name for name, now, before in kept if not now.equal(before)]
            require(not changed, f"You write into {', '.join(changed)}. Return new tensors.")
            require(
                isinstance(came, tuple | list) and len(came) == 2,
                "Return two tensors: the gradient of x and the gradient of w.",
            )
            of_x, of_w = came
            require(
                isinstance(of_x, torch.Tensor) and isinstance(of_w, torch.Tensor),
                "Return two tensors: the gradient of x and the gradient of w.",
            )
            if w.shape[0] == w.shape[1] > 1 and of_x.shape == x.shape:
                require(
                    not torch.allclose(of_x, grad @ w.detach()),
                    f"{where}: you multiply by w without its transpose; w is square here, so no shape tells.",
                )
            expect(of_x, x.grad, f"the gradient of x, with {where}", tolerance=1e-9)
            require(
                of_w.dim() == 2,
                f"{where}: the gradient of w has shape {tuple(of_w.shape)}. It must be summed over the batch.",
            )
            uses = x.numel() // (x_shape[-1] * x_shape[-2])
            if of_w.shape == w.shape:
                require(
                    uses == 1 or not torch.allclose(of_w * uses, w.grad),
                    f"{where}: that's the mean over the batch; uses add up.",
                )
            is_flipped = of_w.shape == w.grad.t().shape and torch.allclose(of_w, w.grad.t())
            require(
                not is_flipped or w.grad.equal(w.grad.mT) or 1 in w.shape,
                f"{where}: the gradient of w is transposed; its shape must be that of w.",
            )
            expect(of_w, w.grad, f"the gradient of w, with {where}", tolerance=1e-9)


def columns_first(x):
    """Return the same matrices, each with its columns along memory."""
    return x.mT.contiguous().mT


class Tiles(Exercise):
    """A product of tiles

    Memory for at most `size` × `size` numbers: write `tiled(a, b, size, multiply)`, the product of the matrices
    `a` and `b`. `multiply(x, y)` multiplies two tiles, and refuses those with a side longer than `size`. Use it
    for all products, and let each multiplication be done only once. The sides of `a` and `b` needn't be
    multiples of `size`; don't fill them up with zeros. The result has the dtype of `a`.
    """

    kind = "extend"
    idea = "Tiles for the cache"
    stub = """
        def tiled(a, b, size, multiply):
            return multiply(a, b)
    """
    hints = [
        "A tile of the result is a sum: over p, the tile (i, p) of `a` times the tile (p, j) of `b`.",
        "Three loops `range(0, side, size)`. A slice that goes past the end just gets shorter.",
        "Start with `torch.zeros`, in the dtype of `a`, and add each product to a slice of it.",
    ]
    solution = """
        def tiled(a, b, size, multiply):
            (m, k), n = a.shape, b.shape[1]
            c = torch.zeros(m, n, dtype=a.dtype)
            for i in range(0, m, size):
                for j in range(0, n, size):
                    for p in range(0, k, size):
                        x = a[i : i + size, p : p + size]
                        y = b[p : p + size, j : j + size]
                        c[i : i + size, j : j + size] += multiply(x, y)
            return c
    """
    reason = """
        The formula of a product holds for tiles as it holds for numbers. All fast products rest on this, and so
        do those that share a matrix among several machines.
    """
    wrong = [
        Wrong(
            """
            def tiled(a, b, size, multiply):
                (m, k), n = a.shape, b.shape[1]
                c = torch.zeros(m, n, dtype=a.dtype)
                for i in range(0, m, size):
                    for j in range(0, n, size):
                        for p in range(0, k, size):
                            x = a[i : i + size, p : p + size]
                            y = b[p : p + size, j : j + size]
                            c[i : i + size, j : j + size] = multiply(x, y)
                return c
            """,
            says="last tile",
            why="`=` for `+=`: each product of tiles overwrites the sum so far.",
        ),
        Wrong(
            """
            def tiled(a, b, size, multiply):
                (m, k), n = a.shape, b.shape[1]
                c = torch.zeros(m, n, dtype=a.dtype)
                for i in range(0, m - size + 1, size):
                    for j in range(0, n - size + 1, size):
                        for p in range(0, k - size + 1, size):
                            x = a[i : i + size, p : p + size]
                            y = b[p : p + size, j : j + size]
                            c[i : i + size, j : j + size] += multiply(x, y)
                return c
            """,
            says="edges",
            why="Whole tiles only: what is left at the edges is missing.",
        ),
        Wrong(
            """
            def tiled(a, b, size, multiply):
                return a @ b
            """,
            says="multiply was asked for",
            why="The product is right, but it needs all of memory.",
        ),
        Wrong(
            """
            def tiled(a, b, size, multiply):
                (m, k), n = a.shape, b.shape[1]
                c = torch.zeros(m, n)
                for i in range(0, m, size):
                    for j in range(0, n, size):
                        for p in range(0, k, size):
                            x = a[i : i + size, p : p + size]
                            y = b[p : p + size, j : j + size]
                            c[i : i + size, j : j + size] += multiply(x, y)
                return c
            """,
            says="your result is",
            why="The sums are kept in float32, so half of the digits are lost.",
        ),
        Wrong(
            """
            def tiled(a, b, size, multiply):
                (m, k), n = a.shape, b.shape[1]
                for i in range(0, m, size):
                    for j in range(0, n, size):
                        for p in range(0, k, size):
                            multiply(a[i : i + size, p : p + size], b[p : p + size, j : j + size])
                return a @ b
            """,
            says="don't come from multiply",
            why="`multiply` has done the work, and what it returned is thrown away.",
        ),
    ]

    def check(tiled):
        draw = random.Random()
        cases = [(4, 4, 4, 2), (6, 6, 6, 3), (5, 7, 3, 2), (1, 1, 9, 4), (3, 3, 3, 8)]
        cases += [(*draw.choices(range(1, 10), k=3), draw.randint(1, 4)) for _ in range(6)]
        for number, (m, n, k, size) in enumerate(cases):
            dtype, near = (torch.float32, 1e-4) if number == 1 else (torch.float64, 1e-9)
            a, b = torch.randn(m, k, dtype=dtype), torch.randn(k, n, dtype=dtype)
            where = f"({m}, {k}) @ ({k}, {n}) in tiles of {size}"
            done = []

            def multiply(x, y, size=size, where=where, done=done):
                sides = (*x.shape, *y.shape)
                require(
                    x.dim() == y.dim() == 2,
                    f"{where}: multiply takes two matrices, not shapes {tuple(x.shape)} and {tuple(y.shape)}.",
                )
                require(
                    max(sides) <= size,
                    f"{where}: a tile of {tuple(x.shape)} times one of {tuple(y.shape)} is too large.",
                )
                done.append(x.shape[0] * x.shape[1] * y.shape[1])
                return x @ y

            kept_a, kept_b = a.clone(), b.clone()
            came = tiled(a, b, size, multiply)
            right = kept_a @ kept_b
            require(a.equal(kept_a) and b.equal(kept_b), f"{where}: you write into a or b.")
            require(isinstance(came, torch.Tensor), f"{where}: return a tensor.")
            require(
                came.dtype == dtype,
                f"{where}: a and b are {dtype}, and your result is {came.dtype}.",
            )
            expect(tuple(came.shape), (m, n), f"the shape of {where}")
            start = k - 1 - (k - 1) % size
            last = kept_a[:, start:] @ kept_b[start:]
            require(
                start == 0 or not torch.allclose(came, last),
                f"{where}: each place holds only its last tile. The products of all tiles along p add up.",
            )
            whole = m * n * k
            require(
                sum(done) >= whole or torch.allclose(came, right),
                f"{where}: {sum(done)} of {whole} multiplications were done. Are the edges left out?",
            )
            expect(came, right, where, tolerance=near)
            more = " Is something multiplied twice, or filled up with zeros?" * (sum(done) > whole)
            require(
                sum(done) == whole,
                f"{where}: multiply was asked for {sum(done)} multiplications, expected {whole}.{more}",
            )
            doubled = tiled(a, b, size, lambda x, y: 2 * (x @ y))
            require(
                torch.allclose(doubled, 2 * right, rtol=near, atol=near),
                f"{where}: the numbers of your result don't come from multiply.",
            )


def right(x, y):
    """Add the products of the two halves, in an order that differs from that of `@`."""
    half = x.shape[-1] // 2
    return x[..., half:] @ y[..., half:, :] + x[..., :half] @ y[..., :half, :]


def elementwise(x, y):
    """`*` for `@` where the shapes are equal: only square matrices show it"""
    return x * y if x.shape == y.shape and x.dim() == 2 else x @ y


def transposed_square(x, y):
    """a square second matrix is transposed"""
    return x @ y.transpose(-2, -1) if y.shape[-1] == y.shape[-2] else x @ y


def swapped(x, y):
    """the operands change places where the shapes allow it"""
    return y @ x if x.shape == y.shape and x.shape[-1] == x.shape[-2] else x @ y


def first_of_the_batch(x, y):
    """all matrices of a batch are multiplied by the first one"""
    return x @ y[:1] if y.dim() == 3 else x @ y


def half_precision(x, y):
    """the product is computed with 11 bits"""
    return (x.half() @ y.half()).to(x.dtype)


def wrong_rows(x, y):
    """the last row is left out if there is an odd number of them"""
    out = x @ y
    if out.shape[-2] % 2:
        out[..., -1, :] = 0
    return out


class Hunt(BugHunt):
    """Six products

    Write `test(product)`. It gets a function `product(x, y)` for float32 tensors, either two matrices or two
    batches of matrices with three dimensions, and must raise if the function is wrong. One that is right and
    six wrong ones are waiting. The right one adds in an order of its own, so don't ask for equal bits. You
    may compare with `@`.
    """

    idea = "Break it"
    stub = """
        def test(product):
            x = torch.eye(4)
            assert product(x, x).equal(x)
    """
    hints = [
        "Square matrices hide some bugs, and other bugs only show with square ones. Try both, with random numbers.",
        "A batch needs more than one matrix, and rows may be odd or even. How close must a float32 result be?",
    ]
    solution = """
        def test(product):
            for x, y in (((5, 3), (3, 4)), ((4, 4), (4, 4)), ((3, 2, 5), (3, 5, 4))):
                x, y = torch.randn(x), torch.randn(y)
                assert torch.allclose(product(x, y), x @ y, rtol=1e-5, atol=1e-5)
    """
    reason = """
        Random numbers, sizes that are all different, one square case and one batch. The tolerance lies between the
        rounding of float32, some 1e-7 of the terms, and that of 11 bits, some 1e-3.
    """
    wrong = [
        Wrong(
            """
            def test(product):
                for x, y in (((5, 3), (3, 4)), ((4, 4), (4, 4)), ((3, 2, 5), (3, 5, 4))):
                    x, y = torch.randn(x), torch.randn(y)
                    assert torch.allclose(product(x, y), x @ y, atol=0.1)
            """,
            says="number 5",
            why="With a tolerance of 0.1 the product with 11 bits passes.",
        ),
        Wrong(
            """
            def test(product):
                for x, y in (((5, 3), (3, 4)), ((3, 2, 5), (3, 5, 4))):
                    x, y = torch.randn(x), torch.randn(y)
                    assert torch.allclose(product(x, y), x @ y, atol=1e-5)
            """,
            says="3 of 6",
            why="No square matrices: three of the bugs need them.",
        ),
        Wrong(
            """
            def test(product):
                for x, y in (((5, 3), (3, 4)), ((40, 700), (700, 40)), ((3, 2, 5), (3, 5, 4))):
                    x, y = torch.randn(x), torch.randn(y)
                    assert product(x, y).equal(x @ y)
            """,
            says="first half fails",
            why="Two orders of addition differ in the last bits. Equal bits are too much to ask.",
        ),
    ]
    right = right
    bugs = [
        elementwise,
        transposed_square,
        swapped,
        first_of_the_batch,
        half_precision,
        wrong_rows,
    ]
