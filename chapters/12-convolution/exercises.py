"""Exercises of chapter 12, convolution."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, called_names, describe, expect, require
from tensorlab.nn import functional as F

IMPORTS = """
import tensorlab as torch
from tiny_conv import col2im, convolve, im2col, patches
"""
FILES = ["tiny_conv.py"]


class SizeAfter(Exercise):
    """How many places

    Write `size_after(n, kernel, stride, padding, dilation)`: how many places a filter has along an
    axis
    of `n` pixels, and 0 if it doesn't fit at all. All arguments are ints; `padding` may be 0, the
    others
    are at least 1.
    """

    kind = "warm-up"
    idea = "Six loops"
    stub = """
        def size_after(n, kernel, stride, padding, dilation):
            return n
    """
    hints = [
        "How many pixels lie from the first weight of the filter to the last, both "
        "included, if they are `dilation` apart?",
        "The first place is the start of the padded axis. How far can the filter still "
        "move, and in steps of how many?",
    ]
    solution = """
        def size_after(n, kernel, stride, padding, dilation):
            reach = dilation * (kernel - 1) + 1
            room = n + 2 * padding - reach
            return room // stride + 1 if room >= 0 else 0
    """
    reason = """
        A filter of `kernel` weights has `kernel - 1` gaps, so it reaches over
        `dilation * (kernel - 1) + 1` pixels. What is left of the padded axis is the room to move,
        and each full step of `stride` is one more place.
    """
    wrong = [
        Wrong(
            """
            def size_after(n, kernel, stride, padding, dilation):
                room = n + 2 * padding - dilation * kernel
                return room // stride + 1 if room >= 0 else 0
            """,
            says="gaps",
            why="It counts a gap behind the last weight.",
        ),
        Wrong(
            """
            def size_after(n, kernel, stride, padding, dilation):
                room = n + padding - dilation * (kernel - 1) - 1
                return room // stride + 1 if room >= 0 else 0
            """,
            says="both ends",
            why="The padding is put at both ends.",
        ),
        Wrong(
            """
            def size_after(n, kernel, stride, padding, dilation):
                room = n + 2 * padding - dilation * (kernel - 1) - 1
                return -(-room // stride) + 1 if room >= 0 else 0
            """,
            says="full step",
            why="It rounds up, so the last filter hangs over the end.",
        ),
        Wrong(
            """
            def size_after(n, kernel, stride, padding, dilation):
                return (n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
            """,
            says="doesn't fit",
            why="With no room at all the formula still counts, down to negative sizes.",
        ),
    ]

    def check(size_after):
        cases = [
            (8, 3, 1, 0, 1),
            (8, 3, 1, 1, 1),
            (8, 3, 2, 0, 1),
            (9, 3, 1, 0, 2),
            (2, 3, 2, 0, 1),
        ]
        draw = random.Random(12)
        cases += [
            (
                draw.randint(1, 30),
                draw.randint(1, 7),
                draw.randint(1, 5),
                draw.randint(0, 4),
                draw.randint(1, 4),
            )
            for _ in range(300)
        ]
        for case in cases:
            n, kernel, stride, padding, dilation = case
            came, true = size_after(*case), len(places(*case))
            require(isinstance(came, int), f"size_after{case} is {describe(came)}; return an int.")
            if came == true:
                continue
            sizes = f"size_after{case} isn't {came}."
            require(
                true > 0, f"{sizes} The filter doesn't fit here: it is longer than the padded axis."
            )
            half = len(places(n + padding, kernel, stride, 0, dilation))
            require(padding == 0 or came != half, f"{sizes} The padding is put at both ends.")
            far = n + 2 * padding - dilation * kernel
            require(
                dilation == 1 or came != max(far // stride + 1, 0),
                f"{sizes} Between {kernel} weights there are {kernel - 1} gaps.",
            )
            require(
                came != true + 1,
                f"{sizes} Only a full step counts: the last filter must lie inside.",
            )
            require(False, f"{sizes} Draw the axis with its padding, and move the filter.")


def places(n, kernel, stride, padding, dilation):
    """Return where the filter can begin, found by trying."""
    end = n + 2 * padding
    return [start for start in range(0, end, stride) if start + dilation * (kernel - 1) < end]


class Windows(Exercise):
    """Patches with a step

    Write `windows(x, k, stride)` for an image `x` of shape (channels, height, width): a *view* of
    shape
    (channels, k, k, rows, columns) with

        windows(x, k, stride)[c, a, b, i, j]  is  x[c, i * stride + a, j * stride + b]

    `rows` and `columns` say how often the window fits. `x` may itself be a view, with any strides.
    """

    kind = "implement"
    idea = "One product"
    stub = """
        def windows(x, k, stride):
            return patches(x, k)
    """
    hints = [
        "`patches` is the case of step 1. Which two of its five strides change, and which"
        " two sizes?",
        "One step down in `i` is `stride` rows of the image: `stride * x.stride(1)` elements.",
        "Or use `x.unfold(dim, size, step)` twice, and `permute` the result.",
    ]
    solution = """
        def windows(x, k, stride):
            channels, height, width = x.shape
            c, i, j = x.stride()
            rows, columns = (height - k) // stride + 1, (width - k) // stride + 1
            return x.as_strided(
                (channels, k, k, rows, columns), (c, i, j, stride * i, stride * j)
            )
    """
    reason = """
        Inside a patch you move by single pixels, from patch to patch by `stride` of them.
        Everything is a
        multiple of the strides of `x`, so a transposed or cropped image works as well.
    """
    wrong = [
        Wrong(
            """
            def windows(x, k, stride):
                return patches(x, k)[:, :, :, ::stride, ::stride].contiguous()
            """,
            says="copy",
            why="The numbers are right, and nine times as many as in the image.",
        ),
        Wrong(
            """
            def windows(x, k, stride):
                channels, height, width = x.shape
                rows, columns = (height - k) // stride + 1, (width - k) // stride + 1
                return x.as_strided(
                    (channels, k, k, rows, columns),
                    (height * width, width, 1, stride * width, stride),
                    x.storage_offset(),
                )
            """,
            says="strides of its own",
            why="These are the strides of a contiguous image.",
        ),
        Wrong(
            """
            def windows(x, k, stride):
                return x.unfold(1, k, stride).unfold(2, k, stride)
            """,
            says="order of the dimensions",
            why="`unfold` puts the window's dimensions last.",
        ),
    ]

    def check(windows):
        torch.manual_seed(12)
        images = [
            torch.randn(2, 6, 7),
            torch.randn(1, 5, 5),
            torch.randn(3, 9, 8)[1:, 2:, 1:],
            torch.randn(3, 7, 6).mT,
            torch.randn(6, 8, 2).permute(2, 0, 1),
        ]
        for x in images:
            for k, stride in ((1, 1), (2, 1), (3, 1), (2, 2), (3, 2), (2, 3), (5, 1)):
                came = windows(x, k, stride)
                require(
                    isinstance(came, torch.Tensor),
                    f"windows returned {describe(came)}; return a tensor.",
                )
                channels, height, width = x.shape
                starts = [range(0, n - k + 1, stride) for n in (height, width)]
                shape = (channels, k, k, *map(len, starts))
                about = f"k = {k}, stride = {stride}, an image of {tuple(x.shape)}"
                mixed = sorted(came.shape) == sorted(shape) and tuple(came.shape) != shape
                require(
                    not mixed,
                    f"{about}: the shape is {tuple(came.shape)}, not {shape}. Look at the order of the dimensions.",
                )
                expect(tuple(came.shape), shape, f"the shape of the windows for {about}")
                rows = [[x[:, i : i + k, j : j + k] for j in starts[1]] for i in starts[0]]
                true = torch.stack([torch.stack(row, -1) for row in rows], -2)
                ordinary = x.is_contiguous() or came.equal(true)
                require(
                    ordinary,
                    f"{about}: wrong numbers. This image is a view, with strides of its own: {x.stride()}.",
                )
                expect(came, true, f"the windows for {about}")
                same = came.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
                require(
                    same, f"{about}: the numbers are right, but they are a copy. Return a view."
                )


class GradWeight(Exercise):
    """The gradient of the filters

    Write `grad_weight(grad, x, k)` for a batch: `x` has shape (n, channels, height, width), `grad`
    is the
    gradient of the output of `F.conv2d(x, w)`, with shape (n, out, height - k + 1, width - k + 1).
    Return the gradient
    of `w`, with shape (out, channels, k, k). No function with `conv` in its name and no autograd:
    products and sums. The result has the dtype of `x`.
    """

    kind = "implement"
    idea = "Two gradients"
    stub = """
        def grad_weight(grad, x, k):
            return torch.zeros(grad.shape[1], x.shape[1], k, k, dtype=x.dtype)
    """
    hints = [
        "For one image it's in `tiny_conv.py`. All images use the same filters. What "
        "follows for the gradient?",
        "`w[o, c, a, b]` is multiplied by `x[n, c, i + a, j + b]` to give part of `out[n,"
        " o, i, j]`. Sum over everything but o, c, a, b.",
        "For fixed a and b, `x[:, :, a : a + rows, b : b + columns]` lies over `grad` "
        "pixel by pixel.",
    ]
    solution = """
        def grad_weight(grad, x, k):
            rows, columns = grad.shape[2:]
            result = torch.empty(grad.shape[1], x.shape[1], k, k, dtype=x.dtype)
            for a in range(k):
                for b in range(k):
                    seen = x[:, :, a : a + rows, b : b + columns]
                    result[:, :, a, b] = torch.einsum("noij,ncij->oc", grad, seen)
            return result
    """
    reason = """
        A weight is used at every place of every image, so its gradient is a sum over places and
        images: the shifted
        image times the gradient of the output. The library does it with columns, for all `a` and
        `b` at once.
    """
    wrong = [
        Wrong(
            """
            def grad_weight(grad, x, k):
                parts = [
                    (g.flatten(1) @ im2col(one, k).T).reshape(grad.shape[1], -1, k, k)
                    for g, one in zip(grad, x)
                ]
                return torch.stack(parts).mean(0)
            """,
            says="sum, not the mean",
            why="If the loss takes a mean over the batch, the factor is in `grad` already.",
        ),
        Wrong(
            """
            def grad_weight(grad, x, k):
                parts = [
                    (g.flatten(1) @ im2col(one, k).T).reshape(grad.shape[1], -1, k, k)
                    for g, one in zip(grad, x)
                ]
                return sum(parts).flip(2, 3)
            """,
            says="turned round",
            why="That would be for a convolution as mathematicians define it.",
        ),
        Wrong(
            """
            def grad_weight(grad, x, k):
                return (grad[0].flatten(1) @ im2col(x[0], k).T).reshape(grad.shape[1], -1, k, k)
            """,
            says="first image",
            why="All images use the filters.",
        ),
        Wrong(
            """
            def grad_weight(grad, x, k):
                w = torch.zeros(grad.shape[1], x.shape[1], k, k, dtype=x.dtype, requires_grad=True)
                torch.nn.functional.conv2d(x, w).backward(grad)
                return w.grad
            """,
            says="Write it with",
            why="Right, but the library did the work.",
        ),
    ]

    def check(grad_weight):
        torch.manual_seed(13)
        for n, c, o, height, width, k in (
            (1, 1, 1, 4, 4, 3),
            (2, 3, 4, 6, 5, 3),
            (3, 2, 2, 4, 7, 2),
            (2, 2, 3, 3, 3, 1),
        ):
            x = torch.randn(n, c, height, width, dtype=torch.float64)
            grad = torch.randn(n, o, height - k + 1, width - k + 1, dtype=torch.float64)
            w = torch.zeros(o, c, k, k, dtype=torch.float64, requires_grad=True)
            F.conv2d(x, w).backward(grad)
            with called_names() as names:
                came = grad_weight(grad.clone(), x.clone(), k)
            used = sorted(name for name in names if "conv" in name or name in ("backward", "grad"))
            require(
                not used, f"grad_weight calls {', '.join(used)}. Write it with products and sums."
            )
            require(
                isinstance(came, torch.Tensor),
                f"grad_weight returned {describe(came)}; return a tensor.",
            )
            about = f"the gradient for x of {tuple(x.shape)} and filters of {tuple(w.shape)}"
            if tuple(came.shape) == tuple(w.shape) and came.dtype == w.dtype and n > 1:
                require(
                    not torch.allclose(came * n, w.grad),
                    f"Of {n} images you took the mean: {about} is a sum, not the mean.",
                )
                alone = torch.zeros_like(w, requires_grad=True)
                F.conv2d(x[:1], alone).backward(grad[:1])
                require(
                    not torch.allclose(came, alone.grad),
                    f"{about} is only that of the first image.",
                )
            if tuple(came.shape) == tuple(w.shape) and came.dtype == w.dtype and k > 1:
                require(
                    not torch.allclose(came.flip(2, 3), w.grad),
                    f"{about}: your filters are turned round. Deep learning doesn't flip them.",
                )
            expect(came, w.grad, about, tolerance=1e-9)


def right(columns, shape, k):
    image = torch.zeros(shape, dtype=columns.dtype)
    channels, height, width = shape
    parts = columns.reshape(channels, k, k, height - k + 1, width - k + 1)
    for a in range(k):
        for b in range(k):
            image[:, a : a + height - k + 1, b : b + width - k + 1] += parts[:, a, b]
    return image


def overwritten(columns, shape, k):
    """What comes later overwrites."""
    image = torch.zeros(shape, dtype=columns.dtype)
    channels, height, width = shape
    parts = columns.reshape(channels, k, k, height - k + 1, width - k + 1)
    for a in range(k):
        for b in range(k):
            image[:, a : a + height - k + 1, b : b + width - k + 1] = parts[:, a, b]
    return image


def averaged(columns, shape, k):
    """The mean of all copies."""
    ones = right(torch.ones_like(columns), shape, k)
    return right(columns, shape, k) / ones


def turned(columns, shape, k):
    """Rows and columns of the filter exchanged."""
    channels, height, width = shape
    parts = columns.reshape(channels, k, k, height - k + 1, width - k + 1)
    return right(parts.transpose(1, 2).reshape(columns.shape), shape, k)


def square_only(columns, shape, k):
    """Takes the width for the height; right for square images."""
    channels, height, width = shape
    if height == width:
        return right(columns, shape, k)
    exchanged = right(columns, (channels, width, height), k)
    return exchanged.reshape(shape)


def one_channel(columns, shape, k):
    """The last channel of several gets the first one's columns."""
    channels = shape[0]
    parts = columns.reshape(channels, -1, columns.shape[1])
    if channels > 1:
        parts = torch.cat([parts[:-1], parts[:1]])
    return right(parts.reshape(columns.shape), shape, k)


def last_left_out(columns, shape, k):
    """The last place is forgotten."""
    kept = columns.clone()
    kept[:, -1] = 0
    return right(kept, shape, k)


class Hunt(BugHunt):
    """Six folds

    Write `test(fold)`. It gets a function `fold(columns, shape, k)` that should do what `col2im`
    does: add the columns
    back to an image of shape (channels, height, width), so that it is the transpose of `im2col`.
    Your test must raise if it
    isn't. One function is right, and six are wrong.
    """

    idea = "Break it"
    stub = """
        def test(fold):
            image = torch.ones(1, 3, 3)
            assert fold(im2col(image, 1), (1, 3, 3), 1).shape == image.shape
    """
    hints = [
        "Which identity tells a transpose from everything else, without a formula?",
        "Use random numbers, an image that isn't square, and more than one channel.",
    ]
    solution = """
        def test(fold):
            for shape, k in (((2, 5, 7), 3), ((1, 6, 4), 2), ((3, 4, 4), 3)):
                x = torch.randn(shape, dtype=torch.float64)
                columns = im2col(x, k)
                g = torch.randn(columns.shape, dtype=torch.float64)
                torch.testing.assert_close((columns * g).sum(), (x * fold(g, shape, k)).sum())
    """
    reason = """
        If the two inner products agree for random `x` and `g`, the functions are transposes of each
        other: a wrong
        entry of the matrix would have to be hidden by a sum of random numbers that happens to be
        zero.
    """
    wrong = [
        Wrong(
            """
            def test(fold):
                assert fold(torch.ones(4, 4), (1, 3, 3), 2).sum() == 16
            """,
            says="on 3 of 6",
            why="A sum stays the same wherever the numbers go.",
        ),
        Wrong(
            """
            def test(fold):
                x = torch.randn(1, 5, 5, dtype=torch.float64)
                columns = im2col(x, 3)
                g = torch.randn(columns.shape, dtype=torch.float64)
                torch.testing.assert_close((columns * g).sum(), (x * fold(g, (1, 5, 5), 3)).sum())
            """,
            says="on 2 of 6",
            why="The right identity, but one channel and a square image can't show everything.",
        ),
    ]
    right = right
    bugs = [overwritten, averaged, turned, square_only, one_channel, last_left_out]


class ReceptiveField(Exercise):
    """How far an output sees

    Write `receptive_field(layers)`. `layers` is a list of (kernel, stride, dilation) of 1-d
    convolutions, first to last. Return
    how many neighbouring pixels of the input one number of the last output depends on, from the
    first to the last of them.
    Without layers it is 1.
    """

    kind = "extend"
    idea = "Six loops"
    stub = """
        def receptive_field(layers):
            return 1
    """
    hints = [
        "Two filters of 3 one after the other see 5 pixels, not 6 and not 9. Why?",
        "After a stride of 2, neighbours in the feature map are 2 pixels apart in the image.",
        "Keep two numbers: the field so far, and how many pixels apart neighbours are. A "
        "layer adds its reach, in pixels.",
    ]
    solution = """
        def receptive_field(layers):
            field, apart = 1, 1
            for kernel, stride, dilation in layers:
                field += dilation * (kernel - 1) * apart
                apart *= stride
            return field
    """
    reason = """
        A layer reaches over `dilation * (kernel - 1)` steps of its input, and each step is as many
        pixels as all strides before
        it multiply to. Its own stride matters only for the layers after it.
    """
    wrong = [
        Wrong(
            """
            def receptive_field(layers):
                field = 1
                for kernel, stride, dilation in layers:
                    field += dilation * (kernel - 1)
                return field
            """,
            says="further apart",
            why="It forgets that strides stretch everything that comes after.",
        ),
        Wrong(
            """
            def receptive_field(layers):
                field, apart = 1, 1
                for kernel, stride, dilation in layers:
                    apart *= stride
                    field += dilation * (kernel - 1) * apart
                return field
            """,
            says="its own stride",
            why="The stride of a layer says how far its outputs lie apart, not its inputs.",
        ),
        Wrong(
            """
            def receptive_field(layers):
                field = 1
                for kernel, stride, dilation in layers:
                    field *= kernel
                return field
            """,
            says="overlap",
            why="Patches of neighbouring places overlap, so fields add and don't multiply.",
        ),
    ]

    def check(receptive_field):
        draw = random.Random(14)
        cases = [
            [],
            [(3, 1, 1)],
            [(3, 1, 1), (3, 1, 1)],
            [(3, 2, 1), (3, 1, 1)],
            [(3, 1, 2), (2, 1, 1)],
        ]
        cases += [
            [
                (draw.randint(1, 4), draw.randint(1, 3), draw.randint(1, 3))
                for _ in range(draw.randint(1, 4))
            ]
            for _ in range(60)
        ]
        for layers in cases:
            came, true = receptive_field(list(layers)), measured_field(layers)
            require(
                isinstance(came, int),
                f"receptive_field({layers}) is {describe(came)}; return an int.",
            )
            if came == true:
                continue
            text = f"receptive_field({layers}) is {came}, and {true} is right."
            plain = 1 + sum(dilation * (kernel - 1) for kernel, _, dilation in layers)
            require(
                came != plain, f"{text} After a stride, neighbours lie further apart in the image."
            )
            late, apart = 1, 1
            for kernel, stride, dilation in layers:
                apart *= stride
                late += dilation * (kernel - 1) * apart
            require(came != late, f"{text} For a layer, its own stride isn't in front of it yet.")
            product = 1
            for kernel, _, _ in layers:
                product *= kernel
            require(
                len(layers) < 2 or came != product,
                f"{text} Patches of neighbouring places overlap.",
            )
            require(
                False, f"{text} Follow the first and the last pixel through one layer at a time."
            )


def measured_field(layers):
    """Ask autograd: from the first to the last pixel that the middle output depends on."""
    x = torch.zeros(1, 1, 1200, dtype=torch.float64, requires_grad=True)
    out = x
    for kernel, stride, dilation in layers:
        out = F.conv1d(
            out, torch.ones(1, 1, kernel, dtype=torch.float64), None, stride, 0, dilation
        )
    out[0, 0, out.shape[-1] // 2].backward()
    seen = x.grad[0, 0].nonzero().flatten()
    return (seen[-1] - seen[0]).item() + 1
