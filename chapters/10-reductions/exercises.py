"""Exercises of chapter 10, reductions."""

import math

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, called_names, expect, require

IMPORTS = """
import tensorlab as torch
from tiny_sums import compensated, naive, pairwise
"""
FILES = ["tiny_sums.py"]


class Stuck(Exercise):
    """Where counting stops

    Write `stuck(dtype)`: the smallest power of two to which you can add 1, in that floating type,
    without any effect.
    The check calls it with all four floating types and compares with what happens when it adds.
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        def stuck(dtype):
            return None
    """
    hints = [
        "Start at 1 and double until `total + 1 == total`.",
        "Both numbers must have the type: `torch.ones((), dtype=dtype)`. A Python loop over numbers would "
        "count in float64.",
    ]
    solution = """
        def stuck(dtype):
            one = total = torch.ones((), dtype=dtype)
            while (total + one).item() != total.item():
                total = total * 2
            return total.item()
    """
    reason = """
        A type with p bits of significand has all integers up to 2^p. There the gap between
        neighbours becomes 2,
        and the sum falls back on an even number: 2^8 for bfloat16, 2^11 for float16, 2^24 for
        float32, 2^53 for float64.
    """
    wrong = [
        Wrong(
            """
            def stuck(dtype):
                return 1 / torch.finfo(dtype).eps
            """,
            says="half as large",
            why="`eps` is the gap after 1. With a gap of 1 the sum is still exact; it gets stuck one power "
            "later.",
        ),
        Wrong(
            """
            def stuck(dtype):
                total = 1.0
                while total + 1 != total:
                    total *= 2
                return total
            """,
            says="in float64",
            why="Python's floats are float64, whatever type was asked for.",
        ),
    ]

    def check(stuck):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
            expected, one = torch.ones((), dtype=dtype), torch.ones((), dtype=dtype)
            while (expected + one).item() != expected.item():
                expected = expected * 2
            came = stuck(dtype)
            require(came is not None, "stuck returned None; return a number.")
            came = float(came)
            name = str(dtype).partition(".")[2]
            half = came == expected.item() / 2
            require(
                not half,
                f"{name}: you are half as large as it must be. At {came:g}, adding 1 still works.",
            )
            require(
                came != expected.item() * 2,
                f"{name}: you are twice as large as it must be. At {came / 2:g}, adding 1 has no effect already.",
            )
            require(
                came != 2.0**53 or dtype is torch.float64,
                f"{name}: you gave 2**53, so you counted in float64.",
            )
            expect(came, expected.item(), f"stuck({name})")


class LogSumExp(Exercise):
    """The logarithm of a sum of exponentials

    Write `logsumexp(x)`: for each row of `x` (along its last dimension), the logarithm of the sum of
    the exponentials, in the type of `x`. The stub
    does it as the formula says. Yours must also be right for rows like (1000, 1001), (-1000, -1001),
    (-1000, 1000), and for rows in which
    some or all numbers are `-inf`. Build it from `max` or `amax`, `exp`, `sum` and `log`.
    """

    kind = "implement"
    idea = "Softmax without overflow"
    stub = """
        def logsumexp(x):
            return x.exp().sum(-1).log()
    """
    hints = [
        "log(sum(exp(x))) = m + log(sum(exp(x - m))) for every m. Which m makes the largest exponential 1?",
        "Each row needs a shift of its own: `x.amax(-1, keepdim=True)`.",
        "In a row of `-inf` the shift is `-inf`, and `-inf - -inf` is nan. Shift such rows by 0.",
    ]
    solution = """
        def logsumexp(x):
            shift = x.amax(-1, keepdim=True)
            shift = torch.where(shift.isinf(), torch.zeros_like(shift), shift)
            return (x - shift).exp().sum(-1).log() + shift.squeeze(-1)
    """
    reason = """
        After the shift the largest exponential is 1, so the sum lies between 1 and the number of
        elements, and its logarithm
        can neither overflow nor be that of 0. Where a row is infinite there is nothing to shift.
    """
    wrong = [
        Wrong(
            """
            def logsumexp(x):
                shift = x.max()
                return (x - shift).exp().sum(-1).log() + shift
            """,
            says="each row needs its own",
            why="One shift for all rows: in a row far below the largest, every exponential is 0.",
        ),
        Wrong(
            """
            def logsumexp(x):
                shift = x.amax(-1, keepdim=True)
                return (x - shift).exp().sum(-1).log() + shift.squeeze(-1)
            """,
            says="a row of -inf",
            why="`-inf - -inf` is nan.",
        ),
        Wrong(
            """
            def logsumexp(x):
                shift = x.amax(-1, keepdim=True)
                return (x - shift).exp().sum(-1).log()
            """,
            says="add it again",
            why="The shift was taken off inside; outside it must come back.",
        ),
        Wrong(
            """
            def logsumexp(x):
                shift = x.mean(-1, keepdim=True)
                shift = torch.where(shift.isinf(), torch.zeros_like(shift), shift)
                return (x - shift).exp().sum(-1).log() + shift.squeeze(-1)
            """,
            says="rows of large numbers",
            why="The mean is no better than 0 where the numbers of a row are far apart: 1000 above the mean, `exp` "
            "overflows.",
        ),
        Wrong(
            """
            def logsumexp(x):
                shift = x.amax(-1, keepdim=True)
                empty = x.isinf().any(-1, keepdim=True)
                shift = torch.where(empty, torch.zeros_like(shift), shift)
                return (x - shift).exp().sum(-1).log() + shift.squeeze(-1)
            """,
            says="rows with -inf",
            why="One `-inf` is not a row of `-inf`. The other numbers may be large, so they need the shift.",
        ),
        Wrong(
            """
            def logsumexp(x):
                return x.logsumexp(-1)
            """,
            says="Build it from",
            why="That's the function you were asked to write.",
        ),
    ]

    def check(logsumexp):
        logsumexp = on_a_copy(logsumexp)
        generator = torch.Generator().manual_seed(10)
        inf = math.inf
        for shape in ((5,), (3, 4), (2, 3, 4), (4, 1)):
            x = torch.randn(shape, generator=generator, dtype=torch.float64)
            came = logsumexp(x)
            lost = came.shape == x.shape[:-1] and bool((came <= math.log(shape[-1]) + 1e-9).all())
            true = torch.logsumexp(x, -1)
            unshifted = lost and torch.allclose(came + x.amax(-1), true)
            require(not unshifted, "You take the largest number off and do not add it again.")
            expect(came, true, f"logsumexp of a random tensor of shape {shape}", tolerance=1e-12)
        far = [
            [1000.0, 1001.0],
            [-1000.0, -1001.0],
            [-1000.0, 1000.0],
            [1000.0, -1000.0],
            [0.5, -3.0],
        ]
        far = torch.tensor(far)
        one_row = torch.stack([logsumexp(row) for row in far])
        came = logsumexp(far)  # last, so that a message shows this call
        per_row = torch.allclose(one_row, torch.logsumexp(far, -1)) and not torch.allclose(
            came, one_row
        )
        require(not per_row, "Right for one row at a time: each row needs its own shift.")
        expect(came, torch.logsumexp(far, -1), "logsumexp of rows of large numbers", tolerance=1e-6)
        empty = torch.tensor([[-inf, -inf], [-inf, 1000.0], [-1000.0, -inf], [0.0, 0.0]])
        came = logsumexp(empty)
        require(not came.isnan().any(), "nan: a row of -inf has no number to shift by.")
        expect(came, torch.logsumexp(empty, -1), "logsumexp of rows with -inf", tolerance=1e-6)


RELATIVES = {"logsumexp", "logcumsumexp", "logaddexp", "log_softmax", "softmax"}


def on_a_copy(logsumexp):
    """Return the reader's function, with a look at what it calls, what it returns and what it leaves of x."""

    def checked(x):
        given = x.clone()
        with called_names() as names:
            came = logsumexp(given)
        relatives = sorted(RELATIVES & names)
        require(
            not relatives,
            f"It calls {', '.join(relatives)}. Build it from `max` or `amax`, `exp`, `sum` and `log`.",
        )
        returned = "None" if came is None else f"a {type(came).__name__}"
        require(isinstance(came, torch.Tensor), f"logsumexp returned {returned}; return a tensor.")
        require(given.equal(x), "You write into x. Compute with copies of it.")
        require(
            came.dtype == x.dtype,
            f"x is {x.dtype}, and your result is {came.dtype}. Return the type of x.",
        )
        return came

    return checked


class Merged(Exercise):
    """Statistics of a stream

    The data of an epoch do not fit into memory, and you want their variance. Write `merged(count, mean,
    squares, batch)`. The first three
    describe what was seen: how many numbers, their mean, and the sum of squared distances from that
    mean. `batch` is a 1-d
    float64 tensor of at least one number. Return the same three for everything together, as numbers. It
    starts with `merged(0, 0.0, 0.0, batch)`.
    """

    kind = "implement"
    idea = "Mean and variance"
    stub = """
        def merged(count, mean, squares, batch):
            n = batch.numel()
            return count + n, (mean + batch.mean().item()) / 2, squares
    """
    hints = [
        "First compute the three of the batch alone. Two groups are then merged, each with a mean of its own.",
        "The new mean moves from the old one towards that of the batch, by the batch's share: n / (count + n).",
        "Squared distances are taken from a new mean, so both groups' grow. "
        "Together by d² · count · n / (count + n), where d is the distance of the two means.",
    ]
    solution = """
        def merged(count, mean, squares, batch):
            n = batch.numel()
            middle = batch.mean().item()
            distance = middle - mean
            total = count + n
            own = ((batch - middle) ** 2).sum().item()
            return (
                total,
                mean + distance * n / total,
                squares + own + distance**2 * count * n / total,
            )
    """
    reason = """
        No large squares are ever subtracted, so the digits stay even if the data lie far from 0.
        Chan, Golub and LeVeque published these
        formulas in 1979. Threads use them as well: each takes a part, and the parts are merged.
    """
    wrong = [
        Wrong(
            """
            def merged(count, mean, squares, batch):
                n = batch.numel()
                total = count + n
                middle = (mean * count + batch.sum().item()) / total
                own = ((batch - batch.mean()) ** 2).sum().item()
                return total, middle, squares + own
            """,
            says="too small",
            why="Each group's squares are measured from its own mean. The distance between the two means is "
            "missing.",
        ),
        Wrong(
            """
            def merged(count, mean, squares, batch):
                n = batch.numel()
                total = count + n
                middle = (mean * count + batch.sum().item()) / total
                raw = squares + count * mean**2 + (batch**2).sum().item()
                return total, middle, raw - total * middle**2
            """,
            says="far from 0",
            why="Two large numbers are subtracted. With data around 100 million nothing is left of the variance. "
            "Two large numbers are subtracted. With data around 100 million nothing is left of the variance.",
        ),
        Wrong(
            """
            def merged(count, mean, squares, batch):
                n = batch.numel()
                middle = (mean + batch.mean().item()) / 2
                own = ((batch - middle) ** 2).sum().item()
                return count + n, middle, squares + own
            """,
            says="Weigh",
            why="The mean of two means is right only for groups of the same size.",
        ),
        Wrong(
            """
            seen = []


            def merged(count, mean, squares, batch):
                if count == 0:
                    seen.clear()
                seen.append(batch)
                everything = torch.cat(seen)
                middle = everything.mean().item()
                return len(everything), middle, ((everything - middle) ** 2).sum().item()
            """,
            says="twice",
            why="It keeps all batches, so it needs memory for the whole epoch. Three numbers are enough.",
        ),
    ]

    def check(merged):
        generator = torch.Generator().manual_seed(11)
        for offset, sizes in (
            (0.0, [7]),
            (3.0, [4, 1, 9]),
            (-2.0, [1, 1, 1, 5]),
            (1e8, [50, 20, 3]),
        ):
            batches = [
                torch.randn(n, generator=generator, dtype=torch.float64) * (1 + i) + offset + i
                for i, n in enumerate(sizes)
            ]
            state = (0, 0.0, 0.0)
            for batch in batches:
                given = batch.clone()
                before, state = state, merged(*state, given)
                require(
                    isinstance(state, tuple | list) and len(state) == 3,
                    "Return three numbers: count, mean, squares.",
                )
                require(given.equal(batch), "You write into the batch. Compute with copies of it.")
                require(
                    list(map(str, merged(*before, given))) == list(map(str, state)),
                    "The same call twice gives different results. Keep nothing between calls: the arguments hold "
                    "everything you need.",
                )
            everything = torch.cat(batches)
            mean = everything.mean().item()
            squares = ((everything - mean) ** 2).sum().item()
            where = f"batches of {sizes} numbers around {offset:g}"
            expect(int(state[0]), sum(sizes), f"the count after {where}")
            close = math.isclose(float(state[1]), mean, rel_tol=1e-12, abs_tol=1e-12)
            require(
                close or not math.isclose(float(state[1]), mean, rel_tol=1e-6, abs_tol=1e-6),
                f"{where}: the mean is {float(state[1])}, expected {mean}. That's near, but digits are lost. "
                "Did you leave float64?",
            )
            require(
                close,
                f"{where}: the mean is {float(state[1]):g}, expected {mean:g}. "
                "Weigh the two means by how many numbers they stand for.",
            )
            came = float(state[2])
            require(
                abs(came - squares) < 1e-6 * squares or offset < 1e6,
                f"Data far from 0: squares is {came:g}, expected {squares:g}. Subtract the mean before you square.",
            )
            require(
                not came < squares * (1 - 1e-5) or len(sizes) == 1,
                f"{where}: squares is {came:g}, too small; expected {squares:g}. "
                "Between two means there is a distance, too.",
            )
            expect(came, squares, f"squares after {where}", tolerance=1e-5)


class Digits(Exercise):
    """All the digits

    `x` is a list of positive float32 numbers, as 0-d tensors. Write `add(x)`, which returns their sum
    as a 0-d float32 tensor: the float32
    number closest to the exact sum, or one of its two neighbours. The stub is off by hundreds of such
    steps. `compensated` in `tiny_sums.py`
    is one way; find it yourself, or another one.
    """

    kind = "extend"
    idea = "What order costs"
    stub = """
        def add(x):
            total = x[0]
            for number in x[1:]:
                total = total + number  # rounded, and the rest forgotten
            return total
    """
    hints = [
        "`new = total + number` rounds. What it lost can be computed: it is `number - (new - total)`.",
        "Keep what was lost and add it to the next number.",
    ]
    solution = """
        def add(x):
            total = lost = torch.zeros(())
            for number in x:
                wanted = number + lost
                new = total + wanted
                lost = wanted - (new - total)
                total = new
            return total
    """
    reason = """
        `new - total` is exact here, because the two are close. So `lost` is just what the rounding
        cut off, and it is added where
        it can still count. W. Kahan described this in 1965. Adding in float64 and rounding at the
        end is right as well: it has 29 more
        bits to lose.
    """
    wrong = [
        Wrong(
            """
            def add(x):
                total = lost = torch.zeros(())
                for number in x:
                    wanted = number + lost
                    new = total + wanted
                    lost = (new - total) - wanted
                    total = new
                return total
            """,
            says="further off than",
            why="The sign is wrong: the error is added once more where it should be taken back.",
        ),
        Wrong(
            """
            def add(x):
                total = torch.zeros(())
                for number in sorted(x, key=float):
                    total = total + number
                return total
            """,
            says="steps off",
            why="Small numbers first helps a little. But most additions still have a large total and a small "
            "number.",
        ),
        Wrong(
            """
            def add(x):
                return pairwise(x)
            """,
            says="adding in pairs",
            why="Pairs are enough for random numbers. But their error still grows with the number of levels, and "
            "the list with a 1 before ever smaller numbers loses half a step on each.",
        ),
        Wrong(
            """
            def add(x):
                return torch.stack(x).sum()
            """,
            says="several running sums",
            why="The kernel's 64 running sums are enough for random numbers. But if one of them begins with a large "
            "number, it loses half a step of it with each small one.",
        ),
    ]

    def check(add):
        generator = torch.Generator().manual_seed(12)
        lists = [
            list(torch.rand(n, generator=generator) * scale + 1e-6)
            for n, scale in ((1, 1.0), (2, 1.0), (4000, 1.0), (3000, 1e-3), (2500, 1e4))
        ]
        # A 1 and small numbers, such that adding in pairs loses half a step on every level.
        small = [2.0 ** -(24 + k) for k in range(12) for _ in range(2**k)]
        lists.append(list(torch.tensor([1.0, *small])))
        # The same for running sums side by side: what counts is added to the 1.
        strided = [2.0**-60 if i % 64 else 2.0**-24 for i in range(1, 4097)]
        lists.append(list(torch.tensor([1.0, *strided])))
        for x in lists:
            n = len(x)
            exact = math.fsum(float(number) for number in x)
            kept = torch.stack(x)
            came = add(list(x))
            require(
                torch.stack(x).equal(kept),
                "You write into the numbers of x. An operator like `+=` changes the tensor itself.",
            )
            require(
                isinstance(came, torch.Tensor),
                f"add returned {type(came).__name__}; return a 0-d tensor.",
            )
            expect(came.dtype, torch.float32, "the type of the sum")
            expect(tuple(came.shape), (), "the shape of the sum")
            step = 2.0 ** (math.frexp(exact)[1] - 24)
            plain = x[0]
            for number in x[1:]:
                plain = plain + number
            off = abs(float(came) - exact) / step
            naive = abs(float(plain) - exact) / step
            require(
                off <= naive + 2,
                f"{n} numbers: you are {off:.0f} steps of float32 from the exact sum, "
                f"further off than plain adding ({naive:.0f}). "
                "Look at the sign of what you carry over.",
            )
            require(
                off <= 1.5 or n < 4096,
                f"A 1 before {n - 1} small numbers: you lose {off:.0f} steps, as "
                + (
                    "adding in pairs does where each level "
                    if n == 4096
                    else "several running sums do if one "
                )
                + "loses a little. At most the next neighbour is allowed.",
            )
            require(
                off <= 1.5,
                f"{n} numbers: you are {off:.0f} steps off; at most the next neighbour is allowed.",
            )


def right(x, dim):
    shifted = x - x.amax(dim, keepdim=True)
    return shifted.exp() / shifted.exp().sum(dim, keepdim=True)


def unshifted(x, dim):
    """The formula as it is in books: large numbers overflow, and inf / inf is nan."""
    return x.exp() / x.exp().sum(dim, keepdim=True)


def one_shift(x, dim):
    """One shift for the whole tensor: rows far below the largest number become 0 / 0."""
    shifted = x - x.max()
    return shifted.exp() / shifted.exp().sum(dim, keepdim=True)


def shifted_by_the_mean(x, dim):
    """The mean is taken off instead of the largest: one number far above the others still overflows."""
    shifted = x - x.mean(dim, keepdim=True)
    return shifted.exp() / shifted.exp().sum(dim, keepdim=True)


def last_dimension(x, dim):
    """`dim` is ignored for the sum: right for the last dimension only."""
    shifted = x - x.amax(dim, keepdim=True)
    return shifted.exp() / shifted.exp().sum(-1, keepdim=True)


def shifts_its_input(x, dim):
    """The shift is written into the caller's tensor."""
    x -= x.amax(dim, keepdim=True)
    return x.exp() / x.exp().sum(dim, keepdim=True)


def clipped(x, dim):
    """Large numbers are clipped rather than shifted: finite, but two large numbers become equal."""
    shifted = x.clamp(-80, 80)
    return shifted.exp() / shifted.exp().sum(dim, keepdim=True)


class Hunt(BugHunt):
    """Six softmaxes

    Write `test(softmax)`. It gets a function `softmax(x, dim)` for float32 tensors and must raise if
    the function is wrong. One that
    is right and six wrong ones are waiting. `assert` and `torch.testing.assert_close` are all you need;
    you may compare with `torch.softmax`.
    """

    idea = "Softmax without overflow"
    stub = """
        def test(softmax):
            x = torch.tensor([1.0, 2.0, 3.0])
            assert softmax(x, 0).sum().isclose(torch.ones(()))
    """
    hints = [
        "Try numbers of very different sizes: in one row, and from row to row.",
        "A matrix has two dimensions. And look at the input afterwards.",
    ]
    solution = """
        def test(softmax):
            for x in (
                torch.tensor([[1.0, 2.0, 4.0], [-1.0, 0.0, 5.0]]),
                torch.tensor([[1000.0, 1001.0], [-1000.0, -999.0]]),
                torch.tensor([[-500.0, -500.0, 400.0]]),
            ):
                for dim in (0, 1):
                    before = x.clone()
                    torch.testing.assert_close(softmax(x, dim), torch.softmax(before, dim))
                    assert x.equal(before)
    """
    reason = """
        Three kinds of input find all of them: rows far apart from one another, one number far above
        its row, and a second
        dimension. Comparing the input with a copy finds the one that writes.
    """
    wrong = [
        Wrong(
            """
            def test(softmax):
                x = torch.tensor([[1000.0, 1001.0], [1002.0, 1000.0]])
                torch.testing.assert_close(softmax(x, 1), torch.softmax(x, 1))
            """,
            says="pass",
            why="All numbers are of one size here, and only one dimension is asked for.",
        ),
    ]
    right = right
    bugs = [unshifted, one_shift, shifted_by_the_mean, last_dimension, shifts_its_input, clipped]
