"""Exercises of chapter 31, convnet and autoencoder."""

import math

import tensorlab as torch
from tensorlab import nn
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require

IMPORTS = """
import tensorlab as torch
from tensorlab import nn
"""


class Size(Exercise):
    """How large

    Write `size_after(n, layers)`: the height of a picture of height `n` after some layers. A layer
    is a tuple: `("conv", kernel, stride, padding)`, `("pool", kernel)`, whose stride is its kernel,
    or `("up", kernel, stride, padding, output_padding)`, a transposed convolution. Use no modules.
    """

    kind = "warm-up"
    idea = "A convnet, shape by shape"
    stub = """
        def size_after(n, layers):
            return n
    """
    hints = [
        "How many places has a kernel of 3 in a row of 8, without padding? And with a stride of 2?",
        "A transposed convolution goes the other way: for how many pixels would the convolution "
        "give `n`?",
    ]
    solution = """
        def size_after(n, layers):
            for kind, kernel, *rest in layers:
                if kind == "conv":
                    stride, padding = rest
                    n = (n + 2 * padding - kernel) // stride + 1
                elif kind == "pool":
                    n = n // kernel
                else:
                    stride, padding, extra = rest
                    n = (n - 1) * stride - 2 * padding + kernel + extra
            return n
    """
    reason = """
        The first place is always there, and each stride gives one more: that's the + 1. Turning
        the equation around gives the transposed convolution.
    """
    wrong = [
        Wrong(
            """
            def size_after(n, layers):
                for kind, kernel, *rest in layers:
                    if kind == "conv":
                        stride, padding = rest
                        n = (n + padding - kernel) // stride + 1
                    elif kind == "pool":
                        n = n // kernel
                    else:
                        stride, padding, extra = rest
                        n = (n - 1) * stride - 2 * padding + kernel + extra
                return n
            """,
            says="both sides",
            why="Padding is added at the top and at the bottom.",
        ),
        Wrong(
            """
            def size_after(n, layers):
                for kind, kernel, *rest in layers:
                    if kind == "conv":
                        stride, padding = rest
                        n = (n + 2 * padding - kernel) // stride
                    elif kind == "pool":
                        n = n // kernel
                    else:
                        stride, padding, extra = rest
                        n = (n - 1) * stride - 2 * padding + kernel + extra
                return n
            """,
            says="first place",
            why="The first place needs no stride.",
        ),
        Wrong(
            """
            def size_after(n, layers):
                for kind, kernel, *rest in layers:
                    if kind == "conv":
                        stride, padding = rest
                        n = (n + 2 * padding - kernel) // stride + 1
                    elif kind == "pool":
                        n = n // kernel
                    else:
                        n = n * rest[0]
                return n
            """,
            says="transposed",
            why="It's the stride only where kernel and paddings fit.",
        ),
    ]

    def check(size_after):
        for n, layers in (
            (8, [("conv", 3, 1, 0)]),
            (12, [("conv", 3, 1, 1), ("pool", 2), ("conv", 3, 1, 1), ("pool", 2)]),
            (8, [("conv", 3, 2, 1), ("conv", 3, 2, 1)]),
            (7, [("conv", 5, 2, 1)]),
            (11, [("pool", 3)]),
            (28, [("conv", 5, 1, 2), ("pool", 2), ("conv", 5, 1, 0), ("pool", 2)]),
            (2, [("up", 3, 2, 1, 1), ("up", 3, 2, 1, 1)]),
            (4, [("up", 4, 2, 1, 0)]),
            (1, [("up", 4, 1, 0, 0), ("up", 4, 2, 1, 0)]),
            (5, [("up", 5, 3, 2, 2)]),
            (9, [("conv", 2, 3, 1), ("up", 2, 3, 1, 0)]),
        ):
            true = true_size(n, layers)
            came = size_after(n, list(layers))
            require(
                isinstance(came, int),
                f"size_after({n}, {layers}) is {describe(came)}; return an int.",
            )
            if came == true:
                continue
            call = f"size_after({n}, {layers}) isn't {came}."
            has_up = any(layer[0] == "up" for layer in layers)
            require(
                has_up or came != true_size(n, layers, sides=1),
                f"{call} Padding is added on both sides.",
            )
            require(
                has_up or came != true_size(n, layers, first=0),
                f"{call} The first place needs no stride: add it.",
            )
            require(
                not has_up,
                f"{call} Turn the equation of a convolution around for a transposed one.",
                idea="An autoencoder",
            )
            require(False, f"{call} Count the places of the kernel on paper.")


def true_size(n, layers, sides=2, first=1):
    for kind, kernel, *rest in layers:
        if kind == "conv":
            n = (n + sides * rest[1] - kernel) // rest[0] + first
        elif kind == "pool":
            n //= kernel
        else:
            n = (n - 1) * rest[0] - 2 * rest[1] + kernel + rest[2]
    return n


class Field(Exercise):
    """How far a number sees

    The receptive field of a number in a feature map is how many rows of the *picture* it depends
    on. Write `receptive_field(layers)` for a list of `(kernel, stride)`, from the first layer to the last;
    poolings are such layers, too.
    """

    kind = "implement"
    idea = "What a convolution assumes"
    stub = """
        def receptive_field(layers):
            return layers[0][0]
    """
    hints = [
        "Two neighbours in a feature map: how many rows of the picture lie between their patches?",
        "Keep two numbers: the field so far, and how far neighbours are apart in the picture.",
    ]
    solution = """
        def receptive_field(layers):
            field, apart = 1, 1
            for kernel, stride in layers:
                field += (kernel - 1) * apart
                apart *= stride
            return field
    """
    reason = """
        A kernel of k reads k neighbours. They begin `apart` rows from one another, so the field
        grows by k - 1 times that.
    """
    wrong = [
        Wrong(
            """
            def receptive_field(layers):
                field = 1
                for kernel, stride in layers:
                    field += kernel - 1
                return field
            """,
            says="strides",
            why="After a stride, neighbours are further apart in the picture.",
        ),
        Wrong(
            """
            def receptive_field(layers):
                field, apart = 1, 1
                for kernel, stride in layers:
                    apart *= stride
                    field += (kernel - 1) * apart
                return field
            """,
            says="own stride",
            why="A layer's stride moves its results apart, not what it reads.",
        ),
        Wrong(
            """
            def receptive_field(layers):
                field = 1
                for kernel, stride in layers:
                    field *= kernel
                return field
            """,
            says="overlap",
            why="Patches of neighbours share rows.",
        ),
    ]

    def check(receptive_field):
        for layers in (
            [(3, 1)],
            [(3, 1), (3, 1)],
            [(3, 2), (3, 1)],
            [(3, 1), (2, 2), (3, 1), (2, 2)],
            [(5, 3), (3, 2), (2, 2), (3, 1)],
            [(1, 1), (7, 2), (3, 2)],
            [(2, 2), (2, 2), (2, 2)],
        ):
            true = true_field(layers)
            came = receptive_field(list(layers))
            call = f"receptive_field({layers}) is {came}, and {true} is right."
            require(
                came == true or came != 1 + sum(kernel - 1 for kernel, _ in layers),
                f"{call} The strides before a layer move apart what it reads.",
            )
            late, apart = 1, 1
            for kernel, stride in layers:
                apart *= stride
                late += (kernel - 1) * apart
            require(
                came == true or came != late, f"{call} A layer's own stride comes after it reads."
            )
            require(
                came == true or came != math.prod(kernel for kernel, _ in layers),
                f"{call} The patches of neighbours overlap.",
            )
            expect(came, true, f"receptive_field({layers})")


def true_field(layers):
    """Found by trying: which rows change the middle of the result?"""
    size = 1
    for kernel, stride in reversed(layers):
        size = (size - 1) * stride + kernel
    return size


class Psnr(Exercise):
    """Decibels

    Pictures are compared in decibels: write `psnr(pictures, clean)` for two batches of shape
    (batch, channels, height, width) with values from 0 to 1. Return a tensor of shape (batch,):
    -10 times the decimal logarithm of the mean squared error of *each* picture; infinity where a
    picture is exact.
    """

    kind = "implement"
    idea = "Noise away"
    stub = """
        def psnr(pictures, clean):
            return (pictures - clean).square().mean()
    """
    hints = [
        "The mean runs over everything but the batch: `dim=(1, 2, 3)`.",
        "`torch.log10(0.)` is -inf, so the exact picture needs nothing special.",
    ]
    solution = """
        def psnr(pictures, clean):
            errors = (pictures - clean).square().mean(dim=(1, 2, 3))
            return -10 * errors.log10()
    """
    reason = """
        Each picture has its own error. Ten decibels more are a tenth of the squared error.
    """
    wrong = [
        Wrong(
            """
            def psnr(pictures, clean):
                return -10 * (pictures - clean).square().mean().log10()
            """,
            says="one number",
            why="A mean over the batch hides which picture is bad.",
        ),
        Wrong(
            """
            def psnr(pictures, clean):
                return -10 * (pictures - clean).square().mean(dim=(1, 2, 3)).log()
            """,
            says="decimal",
            why="`log` is the natural logarithm.",
        ),
        Wrong(
            """
            def psnr(pictures, clean):
                return -10 * (pictures - clean).abs().mean(dim=(1, 2, 3)).log10()
            """,
            says="squared",
            why="It's the mean of squares.",
        ),
        Wrong(
            """
            def psnr(pictures, clean):
                errors = (pictures - clean).square().mean(dim=(1, 2, 3))
                return -10 * (errors + 1e-6).log10()
            """,
            says="exact",
            why="Adding a little hides the exact picture, and changes good ones.",
        ),
    ]

    def check(psnr):
        torch.manual_seed(31)
        came = psnr(torch.rand(2, 1, 3, 3), torch.rand(2, 1, 3, 3))
        is_tensor = isinstance(came, torch.Tensor)
        if is_tensor and tuple(came.shape) == (2,):
            same = torch.rand(2, 1, 3, 3)
            came = psnr(same, same.clone()).tolist()
            require(
                came == [math.inf, math.inf],
                f"psnr of exact pictures is {came}; expected inf for each.",
            )
        for shape in ((3, 1, 4, 4), (2, 3, 5, 2), (1, 1, 8, 8)):
            clean = torch.rand(shape)
            pictures = clean + torch.tensor([0.1, 0.01, 0.5])[
                : shape[0], None, None, None
            ] * torch.randn(shape)
            came = psnr(pictures, clean)
            require(
                isinstance(came, torch.Tensor), f"psnr returned {describe(came)}; return a tensor."
            )
            require(
                tuple(came.shape) == shape[:1],
                f"psnr of pictures {shape} has shape {tuple(came.shape)}, one number for all of them; expected "
                f"({shape[0]},).",
            )
            difference = pictures - clean
            squares = difference.square().mean((1, 2, 3))
            true = -10 * squares.log10()

            def near(other, came=came):
                return torch.allclose(came, other, rtol=1e-4)

            require(
                not near(-10 * squares.log()),
                "You take the natural logarithm, not the decimal one.",
            )
            require(
                not near(-10 * difference.abs().mean((1, 2, 3)).log10()),
                "You take the mean of absolute differences, not of squared ones.",
            )
            expect(came, true, f"psnr of pictures {shape}", tolerance=1e-4)
        same = torch.rand(2, 1, 3, 3)
        near_one = psnr(same + 1e-4, same).tolist()
        expect(near_one, [80.0, 80.0], "psnr of pictures that are 0.0001 off", tolerance=0.2)


# ------------------------------------------------------------------------------ the hunt
def moved(image, down, right):
    """A picture moved by some pixels; what comes in is black."""
    _, height, width = image.shape
    most = max(height, width)
    padded = nn.functional.pad(image, (most, most, most, most))
    return padded[:, most - down : most - down + height, most - right : most - right + width]


def steps(n, most):
    return (torch.randint(2 * most + 1, (2, n)) - most).tolist()


def right(images, most):
    down, across = steps(len(images), most)
    return torch.stack([moved(x, i, j) for x, i, j in zip(images, down, across, strict=True)])


def all_alike(images, most):
    """All pictures of a batch move alike."""
    (i,), (j,) = steps(1, most)
    return torch.stack([moved(x, i, j) for x in images])


def rolls(images, most):
    """What leaves on one side comes in on the other."""
    down, across = steps(len(images), most)
    pairs = zip(images, down, across, strict=True)
    return torch.stack([x.roll((i, j), (1, 2)) for x, i, j in pairs])


def right_and_down_only(images, most):
    """Pictures never move up or to the left."""
    down, across = torch.randint(most + 1, (2, len(images))).tolist()
    return torch.stack([moved(x, i, j) for x, i, j in zip(images, down, across, strict=True)])


def diagonal(images, most):
    """Both directions move by the same number."""
    down, _ = steps(len(images), most)
    return torch.stack([moved(x, i, i) for x, i in zip(images, down, strict=True)])


def one_too_few(images, most):
    """The largest move never comes."""
    return right(images, most - 1)


def writes_into_it(images, most):
    """The batch that it was given is changed."""
    result = right(images, most)
    images[:] = result
    return result


class Hunt(BugHunt):
    """Six ways to move

    Write `test(move)`. It gets a function `move(images, most)` that returns a batch in which each
    picture is moved by its own random number of pixels, from -`most` to `most` down, and the same
    to the right, independently. What comes in at the border is 0. The input isn't changed. Your
    test must raise if that isn't so. One function is right, and six are wrong.
    """

    idea = "Experiment"
    stub = """
        def test(move):
            images = torch.rand(5, 1, 8, 8)
            assert move(images, 2).shape == images.shape
    """
    hints = [
        "A black picture with one white pixel tells you exactly where it went.",
        "With a few hundred pictures, every possible move has come.",
        "For the border, put the white pixel into a corner.",
    ]
    solution = """
        def test(move):
            torch.manual_seed(0)
            dots = torch.zeros(500, 1, 9, 9)
            dots[:, 0, 4, 4] = 1
            kept = dots.clone()
            places = move(dots, 2).flatten(1).argmax(1).tolist()
            assert torch.equal(dots, kept)
            seen = {(place // 9 - 4, place % 9 - 4) for place in places}
            assert seen == {(i, j) for i in range(-2, 3) for j in range(-2, 3)}
            corners = torch.zeros(100, 1, 5, 5)
            corners[:, 0, 0, 0] = 1
            out = move(corners, 1)
            assert (out.sum((1, 2, 3)) == 0).any()
            assert not out[:, :, 2:].any() and not out[:, :, :, 2:].any()
    """
    reason = """
        The set of all moves finds four of the bugs at once. The corner finds what comes in from the
        other side.
    """
    wrong = [
        Wrong(
            """
            def test(move):
                torch.manual_seed(0)
                dots = torch.zeros(500, 1, 9, 9)
                dots[:, 0, 4, 4] = 1
                places = move(dots, 2).flatten(1).argmax(1).tolist()
                seen = {(place // 9 - 4, place % 9 - 4) for place in places}
                assert max(i for i, _ in seen) == 2 and min(i for i, _ in seen) == -2
            """,
            says="on 3 of 6",
            why="It looks at one direction only, and not at the border.",
        ),
    ]
    right = right
    bugs = [all_alike, rolls, right_and_down_only, diagonal, one_too_few, writes_into_it]


class Walk(Exercise):
    """A walk through the latent space

    Write `walk(encode, decode, first, last, n)`: `first` and `last` are pictures of shape (1,
    height, width), without a batch; `encode` and `decode` take batches. Return a tensor of shape
    (`n`, 1, height, width): `n` pictures, decoded from `n` points at equal distances on the straight line from the
    code of `first` to that of `last`, both ends included; `n` is at least 2. The result has no
    graph. Call `encode` and `decode` once each.
    """

    kind = "extend"
    idea = "A walk between digits"
    stub = """
        def walk(encode, decode, first, last, n):
            return decode(encode(torch.stack([first, last])))
    """
    hints = [
        "`torch.stack([first, last])` is a batch of two.",
        "`torch.linspace(0, 1, n)[:, None]` times the difference, added to the start.",
    ]
    solution = """
        def walk(encode, decode, first, last, n):
            with torch.no_grad():
                start, end = encode(torch.stack([first, last]))
                share = torch.linspace(0, 1, n)[:, None]
                return decode(start + share * (end - start))
    """
    reason = """
        The shares have shape (n, 1) and the codes (latent,), so broadcasting gives all points at
        once.
    """
    wrong = [
        Wrong(
            """
            def walk(encode, decode, first, last, n):
                with torch.no_grad():
                    share = torch.linspace(0, 1, n)[:, None, None, None]
                    return decode(encode(first + share * (last - first)))
            """,
            says="blends the pictures",
            why="A line between pictures isn't a line between codes.",
        ),
        Wrong(
            """
            def walk(encode, decode, first, last, n):
                with torch.no_grad():
                    start, end = encode(torch.stack([first, last]))
                    share = torch.arange(n)[:, None] / n
                    return decode(start + share * (end - start))
            """,
            says="last picture",
            why="The last share is (n - 1) / n.",
        ),
        Wrong(
            """
            def walk(encode, decode, first, last, n):
                start, end = encode(torch.stack([first, last]))
                share = torch.linspace(0, 1, n)[:, None]
                return decode(start + share * (end - start))
            """,
            says="graph",
            why="Nothing should be recorded.",
        ),
    ]

    def check(walk):
        torch.manual_seed(3)
        first_half = nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 2))
        second_half = nn.Sequential(
            nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 12), nn.Unflatten(1, (1, 3, 4))
        )
        for n in (2, 5, 8):
            first, last = torch.rand(2, 1, 3, 4)
            calls = []

            def encode(x, calls=calls):
                calls.append("encode")
                return first_half(x)

            def decode(x, calls=calls):
                calls.append("decode")
                return second_half(x)

            came = walk(encode, decode, first, last, n)
            require(
                isinstance(came, torch.Tensor), f"walk returned {describe(came)}; return a tensor."
            )
            require(
                not came.requires_grad,
                "The pictures have a graph; autograd should record nothing here.",
            )
            require(
                tuple(came.shape) == (n, 1, 3, 4),
                f"walk with n={n} returned shape {tuple(came.shape)}; expected {(n, 1, 3, 4)}.",
            )
            with torch.no_grad():
                start, end = first_half(torch.stack([first, last]))
                share = torch.linspace(0, 1, n)[:, None]
                true = second_half(start + share * (end - start))
                pictures = first + share[:, :, None, None] * (last - first)
                blended = second_half(first_half(pictures))
            require(
                n == 2 or not torch.allclose(came, blended, atol=1e-5),
                "Your walk blends the pictures; go from code to code.",
            )
            require(
                not torch.allclose(came[0], true[0], atol=1e-5)
                or torch.allclose(came[-1], true[-1], atol=1e-5),
                f"With n={n}, the last picture isn't that of `last`.",
            )
            require(
                sorted(calls) == ["decode", "encode"],
                f"walk calls {calls}; call encode once and decode once.",
            )
            expect(came, true, f"the pictures of a walk with n={n}", tolerance=1e-4)
