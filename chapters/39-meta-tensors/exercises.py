"""Exercises of chapter 39, meta tensors."""

import random

import tensorlab as torch
from tensorlab._subclasses import FakeTensorMode
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require
from tensorlab.utils.flop_counter import FlopCounterMode

IMPORTS = """
import tensorlab as torch
from tensorlab._subclasses import FakeTensorMode
"""


class WhichShape(Exercise):
    """Shape or refusal?

    `x` is on meta and has shape (5, 3). What is the shape of each result, as a tuple? Write `"refused"` where the call
    needs values. Answer before you run anything.
    """

    kind = "warm-up"
    idea = "What needs values"
    stub = """
        shapes = {
            "x.T @ x": None,
            "x.sum(0)": None,
            "x[x > 0]": None,
            "x.unfold(0, 2, 1)": None,
            "(x > 0).sum()": None,
            "(x > 0).any().item()": None,
            "torch.where(x > 0, x, 0)": None,
        }
    """
    hints = [
        "Two of them are refused. In both, something that isn't a tensor depends on values.",
        "`unfold(0, 2, 1)` puts the windows of 2 rows where the rows were, and adds a last dimension for the position "
        "in the window.",
    ]
    solution = """
        shapes = {
            "x.T @ x": (3, 3),
            "x.sum(0)": (3,),
            "x[x > 0]": "refused",
            "x.unfold(0, 2, 1)": (4, 3, 2),
            "(x > 0).sum()": (),
            "(x > 0).any().item()": "refused",
            "torch.where(x > 0, x, 0)": (5, 3),
        }
    """
    reason = """
        How many elements a mask selects depends on its values, and so does a Python number. A sum of the mask is a
        tensor of shape (), which says nothing about its value.
    """
    wrong = [
        Wrong(
            """
            shapes = {"x.T @ x": (3, 3), "x.sum(0)": (3,), "x[x > 0]": (5, 3),
                      "x.unfold(0, 2, 1)": (4, 3, 2), "(x > 0).sum()": (),
                      "(x > 0).any().item()": "refused", "torch.where(x > 0, x, 0)": (5, 3)}
            """,
            says="how many elements the mask selects",
            why="An index by a mask gives a flat tensor whose length is the number of True elements.",
        ),
        Wrong(
            """
            shapes = {"x.T @ x": (3, 3), "x.sum(0)": (3,), "x[x > 0]": "refused",
                      "x.unfold(0, 2, 1)": (4, 3, 2), "(x > 0).sum()": "refused",
                      "(x > 0).any().item()": "refused", "torch.where(x > 0, x, 0)": (5, 3)}
            """,
            says="shape of a sum",
            why="The *value* of the sum is unknown. Its shape isn't.",
        ),
    ]

    def check(shapes):
        truth = true_shapes()
        require(
            isinstance(shapes, dict) and shapes.keys() == truth.keys(),
            f"`shapes` must be a dict with the keys {', '.join(truth)}.",
        )
        require(
            shapes["x[x > 0]"] in ("refused", None),
            "Look at x[x > 0]: how many elements the mask selects depends on its values.",
        )
        require(
            shapes["(x > 0).sum()"] != "refused",
            "Look at (x > 0).sum(): the shape of a sum doesn't depend on what is summed.",
        )
        expect(shapes, truth, "shapes and refusals")


def true_shapes():
    x = torch.empty(5, 3, device="meta")
    calls = {
        "x.T @ x": lambda: x.T @ x,
        "x.sum(0)": lambda: x.sum(0),
        "x[x > 0]": lambda: x[x > 0],
        "x.unfold(0, 2, 1)": lambda: x.unfold(0, 2, 1),
        "(x > 0).sum()": lambda: (x > 0).sum(),
        "(x > 0).any().item()": lambda: (x > 0).any().item(),
        "torch.where(x > 0, x, 0)": lambda: torch.where(x > 0, x, 0),
    }
    found = {}
    for name, call in calls.items():
        try:
            found[name] = tuple(call().shape)
        except NotImplementedError:
            found[name] = "refused"
    return found


class Separable(Exercise):
    """What a separable convolution saves

    A depthwise convolution has one window of `k` times `k` for each channel (`groups=channels`); a pointwise one after
    it, with a window of 1 times 1, mixes the channels. Together they replace an ordinary convolution with a window of
    `k` times `k`. Write `separable_flop(channels, out, k, side)` and `ordinary_flop(channels, out, k, side)`: the
    operations of one image of `side` times `side`, without padding, with stride 1. Biases aren't counted.
    """

    kind = "implement"
    idea = "Counting operations"
    stub = """
        def ordinary_flop(channels, out, k, side):
            return 0

        def separable_flop(channels, out, k, side):
            return 0
    """
    hints = [
        "Without padding the result has `side - k + 1` rows and columns.",
        "Each element of a result is a sum over its window, in all channels that it sees: that many multiplications, "
        "and as many additions. A depthwise result sees one channel.",
    ]
    solution = """
        def ordinary_flop(channels, out, k, side):
            n = side - k + 1
            return 2 * n * n * out * channels * k * k

        def separable_flop(channels, out, k, side):
            n = side - k + 1
            return 2 * n * n * channels * k * k + 2 * n * n * out * channels
    """
    reason = """
        The ratio is 1/out + 1/k², about a ninth for a window of 3 and many channels. That's what small networks for
        phones are made of.
    """
    wrong = [
        Wrong(
            """
            def ordinary_flop(channels, out, k, side):
                n = side - k + 1
                return n * n * out * channels * k * k

            def separable_flop(channels, out, k, side):
                n = side - k + 1
                return n * n * channels * k * k + n * n * out * channels
            """,
            says="half",
            why="A multiplication with its addition counts as two.",
        ),
        Wrong(
            """
            def ordinary_flop(channels, out, k, side):
                return 2 * side * side * out * channels * k * k

            def separable_flop(channels, out, k, side):
                return 2 * side * side * channels * k * k + 2 * side * side * out * channels
            """,
            says="rows and columns",
            why="Without padding, the window doesn't fit at the last k - 1 positions.",
        ),
        Wrong(
            """
            def ordinary_flop(channels, out, k, side):
                n = side - k + 1
                return 2 * n * n * out * channels * k * k

            def separable_flop(channels, out, k, side):
                n = side - k + 1
                return 2 * n * n * channels * channels * k * k + 2 * n * n * out * channels
            """,
            says="sees one channel",
            why="With `groups=channels`, each window lies in one channel.",
        ),
    ]

    def check(ordinary_flop, separable_flop):
        for _ in range(6):
            case = channels, out, k, side = (
                *random.sample(range(2, 9), 2),
                random.choice([2, 3, 5]),
                random.randrange(6, 12),
            )
            whole = counted(torch.nn.Conv2d(channels, out, k), channels, side)
            came = ordinary_flop(*case)
            require(came * 2 != whole, "This is half: count the additions, too.")
            n = side - k + 1
            require(
                came != whole * side * side // (n * n),
                "How many rows and columns does the result have without padding?",
            )
            expect(came, whole, f"ordinary_flop{case}")
            parts = torch.nn.Sequential(
                torch.nn.Conv2d(channels, channels, k, groups=channels),
                torch.nn.Conv2d(channels, out, 1),
            )
            came = separable_flop(*case)
            require(
                came != 2 * n * n * channels * (channels * k * k + out),
                "A depthwise result sees one channel, not all of them.",
            )
            expect(came, counted(parts, channels, side), f"separable_flop{case}")


def counted(module, channels, side):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        module(torch.zeros(1, channels, side, side))
    return counter.get_total_flops()


class LargestBatch(Exercise):
    """The largest batch that fits

    `step(n)` makes a network and takes a training step with a batch of `n`. Write `largest(step, limit)`. It returns
    the largest batch whose step needs at most `limit` bytes at its peak, counted on fake tensors, and 0 if even a batch
    of 1 needs more. The peak grows with `n`. The answer may be a million, so don't try each number.
    """

    kind = "extend"
    idea = "Fake tensors"
    beside = "the answer's mode is around a program of the check"
    stub = """
        def largest(step, limit):
            return 0
    """
    hints = [
        "First write a function that runs `step(n)` inside a `FakeTensorMode` of its own, and returns `peak_bytes`.",
        "Double `n` until it doesn't fit. Then the answer is between the last two, and you can halve that interval.",
    ]
    solution = """
        def peak(step, n):
            with FakeTensorMode() as mode:
                step(n)
            return mode.peak_bytes

        def largest(step, limit):
            if peak(step, 1) > limit:
                return 0
            low, high = 1, 2
            while peak(step, high) <= limit:
                low, high = high, 2 * high
            while high - low > 1:
                middle = (low + high) // 2
                if peak(step, middle) <= limit:
                    low = middle
                else:
                    high = middle
            return low
    """
    reason = """
        Doubling and halving need about twice the logarithm of the answer: forty runs for a million. With real tensors
        the same loop would need a machine that can hold a batch that is too large.
    """
    wrong = [
        Wrong(
            """
            def largest(step, limit):
                n = 0
                while n < 5000:
                    with FakeTensorMode() as mode:
                        step(n + 1)
                    if mode.peak_bytes > limit:
                        return n
                    n += 1
                return n
            """,
            says="runs of step",
            why="One run for each batch size takes as many runs as the answer is large.",
        ),
        Wrong(
            """
            def largest(step, limit):
                def fits(n):
                    with FakeTensorMode() as mode:
                        step(n)
                    return mode.bytes <= limit

                n = 1
                while fits(2 * n) and n < 2**24:
                    n *= 2
                low, high = n, 2 * n
                while high - low > 1:
                    middle = (low + high) // 2
                    low, high = (middle, high) if fits(middle) else (low, middle)
                return low
            """,
            says="at its peak",
            why="What is still in use after the step is less than what was in use during it.",
        ),
        Wrong(
            """
            def largest(step, limit):
                def fits(n):
                    with FakeTensorMode() as mode:
                        step(n)
                    return mode.peak_bytes <= limit

                n = 1
                while fits(2 * n):
                    n *= 2
                return n
            """,
            says="powers of two",
            why="Doubling alone finds the last power of two that fits.",
        ),
    ]

    def check(largest):
        for small in (0, 1, 2, 3, random.randrange(4, 70), 0, 0):
            width, depth = random.randrange(20, 90), random.randrange(1, 4)
            runs = 0

            def step(n, width=width, depth=depth):
                nonlocal runs
                runs += 1
                require(
                    runs <= 120,
                    f"That took more than {runs - 1} runs of step. Double and halve: fewer than 60 will do.",
                )
                net = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(depth)])
                net(torch.zeros(n, width)).square().sum().backward()

            true = small or random.randrange(1000, 400_000)
            limit = peak_of(step, true) + (0 if small in (1, 2) else random.choice([0, 3]))
            runs = 0
            came = largest(step, limit)
            require(
                came != 1 << (true.bit_length() - 1) or came == true,
                "Your answers are powers of two. Look between the last one that fits and the next.",
            )
            require(
                came <= true,
                f"A batch of {came} doesn't fit at its peak: look at what is in use during the step.",
            )
            expect(came, true, f"the largest batch for a limit of {limit} bytes")
            expect(largest(step, peak_of(step, 1) - 1), 0, "the answer where nothing fits")


def peak_of(step, n):
    with FakeTensorMode() as mode:
        step(n)
    return mode.peak_bytes


def kernel(x):
    """Every second row, in a tensor of its own, row after row."""
    return x[::2].clone(memory_format=torch.contiguous_format)


class HuntInTheFake(BugHunt):
    """A test for a fake

    `kernel(x)` returns `x[::2].clone(memory_format=torch.contiguous_format)`, for an `x` of one or more dimensions
    and of any dtype. Its fake gets a tensor on meta, and must return one with the shape, dtype, strides and device that
    the kernel's result would have on meta. Four people wrote the fake, and each made one mistake. Write
    `test(fake)`: it passes on the right version and fails on each of theirs.
    """

    idea = "Break it"
    stub = """
        def kernel(x):
            return x[::2].clone(memory_format=torch.contiguous_format)

        def test(fake):
            real = kernel(torch.ones(4, 3))
            made = fake(torch.empty(4, 3, device="meta"))
            assert made.shape == real.shape
    """
    hints = [
        "Which numbers of rows does the stub try? What happens to the odd ones?",
        "Three more things describe a tensor besides its shape. Compare them all, and try another dtype than the "
        "default.",
        "One of the four goes wrong only where the argument doesn't lie row after row. Try a transposed one.",
    ]
    solution = """
        def kernel(x):
            return x[::2].clone(memory_format=torch.contiguous_format)

        def test(fake):
            for x in (
                torch.ones(4, 3),
                torch.ones(5, 3, dtype=torch.int64),
                torch.ones(3, 6).T,
                torch.ones(1),
            ):
                real = kernel(x)
                made = fake(x.to("meta"))
                assert made.device.type == "meta"
                assert made.shape == real.shape
                assert made.dtype == real.dtype
                assert made.stride() == real.stride()
    """
    reason = """
        Rounding, dtype, strides and device: a test that compares all four, on an odd number of rows, an unusual dtype
        and an unusual layout, finds what people get wrong. That's what `opcheck` does with the arguments that you
        give it.
    """
    wrong = [
        Wrong(
            """
            def test(fake):
                for n in (4, 5):
                    made = fake(torch.empty(n, 3, device="meta"))
                    assert made.shape == ((n + 1) // 2, 3)
            """,
            says="(number 2, 3, 4)",
            why="Shapes alone say nothing about dtype, strides and device.",
        ),
        Wrong(
            """
            def test(fake):
                x = torch.ones(4, 3, dtype=torch.int64)
                made = fake(x.to("meta"))
                assert made.dtype == x.dtype and made.device.type == "meta"
                assert made.stride() == (3, 1)
            """,
            says="(number 1, 3)",
            why="An even number of rows that lie one after the other is the easy case.",
        ),
    ]

    def right(x):
        return x.new_empty(((x.shape[0] + 1) // 2, *x.shape[1:]))

    def rounds_down(x):
        """it rounds the number of rows down"""
        return x.new_empty((x.shape[0] // 2, *x.shape[1:]))

    def forgets_dtype(x):
        """it has the default dtype"""
        return torch.empty((x.shape[0] + 1) // 2, *x.shape[1:], device="meta")

    def keeps_order(x):
        """it keeps the order of memory of its argument"""
        return torch.empty_like(x[::2])

    def on_the_cpu(x):
        """its result is on the cpu"""
        return torch.empty((x.shape[0] + 1) // 2, *x.shape[1:], dtype=x.dtype)

    bugs = [rounds_down, forgets_dtype, keeps_order, on_the_cpu]
