"""Exercises of chapter 6, dtypes."""

import math
import random
import sys

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

HALF = torch.float16
IMPORTS = "import tensorlab as torch"


class TypesByHeart(Exercise):
    """Types by heart

    Which dtype has each result? Replace each `None` by a name such as `"int8"`, before you run anything.
    In the comments, `u8`, `i64` and `f16` are tensors *with* dimensions of uint8, int64 and float16; `zero_d`
    is a float64 tensor without dimensions.
    """

    kind = "warm-up"
    idea = "Three ranks"
    stub = """
        a = None  # u8 + u8
        b = None  # u8 * 1.5
        c = None  # f16 * 1.5
        d = None  # f16 * zero_d
        e = None  # f16 + i64
        f = None  # i64 * zero_d
        g = None  # i64 / i64
    """
    hints = [
        "First ask for the category: bool, integer or floating. Is an operand of a lower rank in a higher "
        "category than all operands above it? If not, it doesn't count.",
        "If a lower-ranking operand lifts the category, it brings its own type. A Python float brings the "
        "default type, a tensor without dimensions its own.",
        "`/` is defined on floating numbers, so integers become the default type first.",
    ]
    solution = """
        a = "uint8"
        b = "float32"
        c = "float16"
        d = "float16"
        e = "float16"
        f = "float64"
        g = "float32"
    """
    reason = """
        In `c` and `d` the operand of the lower rank is of the same category, so it doesn't count. In `b` and `f` it
        lifts the category and brings its type: float32, the default, from a Python number; float64 from the tensor.
        In `e` both have dimensions, so the category decides, whether the values fit or not.
    """
    wrong = [
        Wrong(
            'a, b, c, d = "uint8", "float32", "float16", "float64"\ne, f, g = "float16", "float64", "float32"',
            says="without dimensions",
            why="`zero_d` ranks below `f16` and is of the same category: it doesn't widen.",
        ),
        Wrong(
            'a, b, c, d = "uint8", "float16", "float16", "float16"\ne, f, g = "float16", "float64", "float32"',
            says="default type",
            why="Nothing in `u8 * 1.5` says float16. A Python float brings the default type.",
        ),
        Wrong(
            'a, b, c, d = "uint8", "float32", "float16", "float16"\ne, f, g = "float64", "float64", "float32"',
            says="wide enough for both",
            why="Promotion goes by category. It doesn't look for a type that holds all of int64's numbers.",
        ),
        Wrong(
            'a, b, c, d = "uint8", "float32", "float16", "float16"\ne, f, g = "float16", "float64", "int64"',
            says="true division",
            why="That is `//`. The single slash divides as on paper.",
        ),
    ]

    def check(a, b, c, d, e, f, g):
        u8, i64 = torch.ones(2, dtype=torch.uint8), torch.ones(2, dtype=torch.int64)
        f16, zero_d = torch.ones(2, dtype=HALF), torch.ones((), dtype=torch.float64)
        require(
            d != "float64", "d: a tensor without dimensions ranks below `f16`. Does it count here?"
        )
        require(
            b != "float16", "b: which type does a Python float bring? The default type is another."
        )
        require(
            e != "float64", "e: promotion doesn't look for a type that is wide enough for both."
        )
        require(g != "int64", "g: the single slash is true division.")
        results = [u8 + u8, u8 * 1.5, f16 * 1.5, f16 * zero_d, f16 + i64, i64 * zero_d, i64 / i64]
        for name, came, result in zip("abcdefg", (a, b, c, d, e, f, g), results, strict=True):
            expect(came, result.dtype.name, f"the type of {name}")


class NextNumber(Exercise):
    """The next number

    Write `spacing(x, significand_bits)`: how far is it from the positive normal number `x` to the next larger
    number of a format with that many bits of {term}`significand`? Use plain Python, without a tensor.
    """

    kind = "implement"
    idea = "Idea"
    stub = """
        import math

        def spacing(x, significand_bits):
            return 2.0**-significand_bits  # right for x = 1
    """
    hints = [
        "Between $2^k$ and $2^{k+1}$ there are $2^p$ numbers, evenly spaced. How far are they apart?",
        "You need $k$, the exponent of the power of two below or at `x`. `math.log2` finds it, nearly; "
        "`math.frexp(x)` finds it exactly, but look up between which two powers it puts its fraction.",
        "`math.frexp(8.0)` is (0.5, 4), and 8 is $2^3$. So $k$ is one less than the exponent that it gives.",
    ]
    solution = """
        import math

        def spacing(x, significand_bits):
            exponent = math.frexp(x)[1] - 1
            return 2.0 ** (exponent - significand_bits)
    """
    reason = """
        The distance depends only on the power of two below the number. `frexp` reads the exponent
        field. A logarithm is itself rounded, and just below a power of two it rounds up to the wrong exponent.
    """
    wrong = [
        Wrong(
            "def spacing(x, significand_bits):\n    return x * 2.0**-significand_bits",
            says="proportional",
            why="Epsilon times x is the right order, but the true distance changes only at powers of two.",
        ),
        Wrong(
            "import math\ndef spacing(x, significand_bits):\n"
            "    return 2.0 ** (math.frexp(x)[1] - significand_bits)",
            says="twice as far",
            why="The fraction of `frexp` is between 1/2 and 1, so its exponent is one too large here.",
        ),
        Wrong(
            "import math\ndef spacing(x, significand_bits):\n"
            "    return 2.0 ** (math.floor(math.log2(x)) - significand_bits)",
            says="just below a power of two",
            why="The logarithm of the number just below $2^{49}$ is rounded to 49.",
        ),
    ]

    def check(spacing):
        came = spacing(3.0, 10)
        require(
            came != 3 * 2.0**-10,
            "3 and 2 are the same distance from their neighbours: not proportional.",
        )
        require(came != 2.0**-8, "At 3 the next number seems twice as far away as it is.")
        for bits, dtype in ((10, HALF), (7, torch.bfloat16), (23, torch.float32)):
            for x in (1.0, 1.5, 2.0, 3.0, 100.0, 0.25, 0.3, 2.0**-10, 1000.0):
                here = torch.tensor([x], dtype=dtype)
                there = (here.view(torch.int16 if bits < 20 else torch.int32) + 1).view(dtype)
                expect(
                    spacing(x, bits),
                    (there.double() - here.double()).item(),
                    f"spacing({x}, {bits})",
                )
        for _ in range(200):
            bits, power = random.randint(2, 52), random.randint(-300, 300)
            x = 2.0**power * (1 + random.randrange(2**bits) / 2**bits)
            expect(spacing(x, bits), 2.0 ** (power - bits), f"spacing({x!r}, {bits})")
        near = math.nextafter(2.0**49, 0.0)
        require(
            spacing(near, 52) == 2.0**-4,
            "A number just below a power of two belongs to the power below it.",
        )


class HonestTotal(Exercise):
    """A total that remembers what it lost

    Write `total(values)`, the sum of a float16 tensor with one dimension, so that it holds **only float16**: a running
    total, and everything else that you carry along, must be float16 tensors. Python's own floats have 64 bits, so they
    are not allowed. The sum must not get stuck: for 4000 numbers between 0 and 1, its error has to stay below 0.1
    percent. Return a float16 tensor without dimensions.
    """

    kind = "extend"
    idea = "Who holds the total"
    beside = "the check watches what the answer calls"
    stub = """
        def total(values):
            result = values.new_zeros(())
            for value in values:
                result = result + value
            return result
    """
    hints = [
        "You can compute what is lost in `result + value`: `new = result + value` is rounded, and "
        "`value - (new - result)` is the part that didn't arrive.",
        "Carry the loss along in a second float16 number, and add it to the next value before you add that.",
        "`value = value + lost`, then `new = result + value`, `lost = value - (new - result)`, `result = new`.",
    ]
    solution = """
        def total(values):
            result = values.new_zeros(())
            lost = values.new_zeros(())
            for value in values:
                value = value + lost
                new = result + value
                lost = value - (new - result)
                result = new
            return result
    """
    reason = """
        This is compensated summation, by Kahan (1965). While the large number stands still, the small one collects the
        losses until they are large enough to count. Every step is a float16 addition, so the trick also works where
        there is no wider type. Another way is to add halves of the tensor, and halves of those: chapter {chapter}`10`.
    """
    wrong = [
        Wrong(
            "def total(values):\n    return values.sum()",
            says="only float16",
            why="The right number, but `sum` holds its total in float32.",
        ),
        Wrong(
            "def total(values):\n    return torch.tensor(sum(values.tolist())).half()",
            says="Python's floats",
            why="A Python float has 64 bits, so the running total is wider than float16.",
        ),
        Wrong(
            "def total(values):\n    result = values.new_zeros(())\n    lost = values.new_zeros(())\n"
            "    for value in values:\n        new = result + value\n"
            "        lost = lost + (value - (new - result))\n        result = new\n    return result",
            says="What happens to what was lost",
            why="The losses are collected, but they are never added.",
        ),
        Wrong(
            "def total(values):\n    result = values.new_zeros(())\n    lost = values.new_zeros(())\n"
            "    for value in values:\n        value = value + lost\n        new = result + value\n"
            "        lost = (new - result) - value\n        result = new\n    return result",
            says="sign of what was lost",
            why="`(new - result) - value` is the part that arrived too much. If you add it again, you double the loss.",
        ),
    ]

    def check(total):
        values = torch.rand(4000).half()
        kinds, called = set(), set()

        class Watched(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                result = super().__torch_function__(function, types, args, kwargs or {})
                caller = sys._getframe(1).f_globals.get("__name__", "")
                if not caller.startswith("tensorlab.learn"):  # which prints the arguments
                    called.add(getattr(function, "__name__", ""))
                if isinstance(result, torch.Tensor):
                    kinds.add(result.dtype.name)
                return result

        few = values[:8].as_subclass(Watched)
        require(isinstance(total(few), torch.Tensor), "total must return a tensor.")
        read = called & {
            "tolist",
            "item",
            "__float__",
            "numpy",
            "__array__",
            "__format__",
            "__repr__",
        }
        require(
            not read,
            f"{min(read, default='')} turns elements into Python's floats or NumPy's, which are wider.",
        )
        wide = kinds - {"float16", "bool"}
        is_summed = called & {
            "sum",
            "mean",
            "cumsum",
            "nansum",
            "logcumsumexp",
            "dot",
            "matmul",
            "__matmul__",
            "einsum",
            "norm",
        }
        require(
            not wide and not is_summed,
            "Hold only float16: no wider type, and no sum(), cumsum() or product, whose totals are float32.",
        )
        exact = values.double().sum().item()
        came = total(values)
        require(came.dtype is HALF, "The result must be float16.")
        error = came.item() / exact - 1
        lazy = values.new_zeros(())
        for value in values:
            lazy = lazy + value
        require(
            came.item() != lazy.item(),
            "That is the running total, to the bit. What happens to what was lost?",
        )
        require(
            abs(error) < 0.3 * abs(lazy.item() / exact - 1) or abs(error) < 1e-3,
            "Worse than the plain running total, or not much better. Look at the sign of what was lost.",
        )
        require(
            abs(error) < 1e-3, f"The sum is off by {error:.2%}; less than 0.1 percent is asked for."
        )


class BytesOfAnImage(BugHunt):
    """A test for bytes of an image

    `to_bytes(x)` makes the bytes of an image from floats: 0.0 is black and becomes 0, 1.0 is white and becomes 255,
    numbers between them go to the *nearest* byte, numbers outside become the nearer end, and nan becomes 0. Four
    people wrote it in four wrong ways. Write `test(to_bytes)`, which passes on the right function and
    fails on each of theirs. `x` is a float32 tensor, and the result is uint8.
    """

    idea = "Casts that no standard defines"
    stub = """
        def test(to_bytes):
            x = torch.tensor([0.0, 1.0])
            assert to_bytes(x).tolist() == [0, 255]
    """
    hints = [
        "Each sentence of the description can be forgotten. Which numbers would show that?",
        "What does a cast do to 255.9? To 256? To -1? To nan?",
        "One wraps above 1, one wraps below 0, one cuts the fraction off, and one has the right bytes in the "
        "wrong type: what would happen to `+ 1` after it?",
    ]
    solution = """
        def test(to_bytes):
            x = torch.tensor([0.0, 1.0, 0.999, 1.5, -0.5, float("nan"), 0.5])
            y = to_bytes(x)
            assert y.tolist() == [0, 255, 255, 255, 0, 0, 128]
            assert y.dtype is torch.uint8
    """
    reason = """
        0.999 tells rounding from cutting, 1.5 and -0.5 test the two ends, and the dtype gives away a result that only
        prints like bytes. nan doesn't find any of the four here, since x86 happens to turn it into 0; on another
        processor it would.
    """
    wrong = [
        Wrong(
            """
            def test(to_bytes):
                x = torch.tensor([0.0, 0.25, 1.0])
                assert to_bytes(x).tolist() == [0, 64, 255]
            """,
            says="3 of 4 planted bugs",
            why="0.25 tells rounding from cutting. The ends and the type are still unseen.",
        ),
        Wrong(
            """
            def test(to_bytes):
                assert to_bytes(torch.tensor([0.25])).tolist() == [63]
            """,
            says="The first half fails",
            why="0.25 times 255 is 63.75, and the nearest byte is 64.",
        ),
    ]

    def right(x):
        return (x.nan_to_num(0.0).clamp(0, 1) * 255).round().to(torch.uint8)

    def wraps_above(x):
        """numbers above 1 are not clamped, and wrap"""
        return (x.nan_to_num(0.0).clamp(min=0) * 255).round().to(torch.uint8)

    def wraps_below(x):
        """numbers below 0 are not clamped, and wrap"""
        return (x.nan_to_num(0.0).clamp(max=1) * 255).round().to(torch.uint8)

    def cuts(x):
        """the fraction is cut off instead of rounded"""
        return (x.nan_to_num(0.0).clamp(0, 1) * 255).to(torch.uint8)

    def stays_wide(x):
        """the result is int64, which prints the same"""
        return (x.nan_to_num(0.0).clamp(0, 1) * 255).round().to(torch.int64)

    bugs = [wraps_above, wraps_below, cuts, stays_wide]
