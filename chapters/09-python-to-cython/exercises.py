"""Exercises of chapter 9, from Python to Cython."""

import math
import random
import re

from tiny_build import BuildError, build, missing, yellow

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
from tiny_build import build, start, yellow

start()  # Cython takes a moment to load
"""
FILES = ["tiny_build.py"]


def compiled(name, text):
    """Return the module of an answer; refuse what is not a text or does not compile."""
    require(isinstance(text, str), f"The answer is a text with Cython code, not {text!r}.")
    require(not missing(), f"This exercise compiles your text. {missing()}")
    try:
        return build(name, text, ("-O0", "-fwrapv", "-ffp-contract=off"))
    except BuildError as error:
        require(False, f"Your text does not compile. {error}")


class Arithmetic(Exercise):
    """C's arithmetic

    A file begins with `# cython: cdivision=True`, and `a` and `b` are declared with `cdef int`. What
    are these four? The check compares with tensorlab's own C loops.
    """

    kind = "warm-up"
    idea = "Break it"
    stub = """
        answers = {
            "-7 // 2": None,
            "-7 % 3": None,
            "7 % -3": None,
            "2147483647 + 1": None,  # at run time, in a build with -fwrapv
        }
    """
    hints = [
        "C rounds a quotient towards zero.",
        "The remainder is what the rounded quotient leaves: `a - (a // b) * b`, with C's `//`.",
        "A C `int` has 32 bits, and after the largest number comes the smallest.",
    ]
    solution = """
        answers = {
            "-7 // 2": -3,
            "-7 % 3": -1,
            "7 % -3": 1,
            "2147483647 + 1": -2147483648,
        }
    """
    reason = """
        -3.5 becomes -3, and `-7 - (-3) * 2` leaves -1. So a remainder in C has the sign of the left
        number; in Python it has that of the right one.
    """
    wrong = [
        Wrong(
            """
            answers = {"-7 // 2": -4, "-7 % 3": 2, "7 % -3": -2, "2147483647 + 1": -2147483648}
            """,
            says="is Python's",
            why="Python rounds down, C towards zero.",
        ),
        Wrong(
            """
            answers = {"-7 // 2": -3, "-7 % 3": -1, "7 % -3": 1, "2147483647 + 1": 2147483648}
            """,
            says="32 bits",
            why="Python's integers grow; a C `int` doesn't.",
        ),
    ]

    def check(answers):
        int32 = [torch.tensor(n, dtype=torch.int32) for n in (-7, 2, 3, 7, -3, 2**31 - 1, 1)]
        a, two, three, seven, minus, most, one = int32
        truth = {
            "-7 // 2": torch.div(a, two, rounding_mode="trunc").item(),
            "-7 % 3": torch.fmod(a, three).item(),
            "7 % -3": torch.fmod(seven, minus).item(),
            "2147483647 + 1": (most + one).item(),
        }
        require(
            isinstance(answers, dict) and set(answers) == set(truth), "Keep the four questions."
        )
        for question, expected in truth.items():
            came = answers[question]
            if isinstance(came, torch.Tensor):  # an int32 has no 2**31 to compare with
                came = came.item()
            python = eval(question)
            require(
                came != 2**31, f"{question}: no int has that value; it has 32 bits with the sign."
            )
            require(
                came != python or python == expected,
                f"{question}: {came} is Python's answer, not C's.",
            )
            expect(came, expected, question)


class Yellow(Exercise):
    """No yellow in the loop

    `text` is a function that counts squares with remainder 2. Give it types, so that no line but
    the heads of functions and `return` asks anything of Python (`cython -a` would leave the others
    white; only a `with nogil:` around the loop may be yellow, too), and so that it still counts right:
    `k * step` stays below $10^9$. Keep the names and the loop. `yellow("answer", text)` shows the score
    of each line.
    """

    kind = "implement"
    idea = "Version 4: no checks, no lock"
    stub = '''
        text = """
        def hits(n, step):
            found = 0
            for k in range(n):
                i = k * step
                if i * i % 7 == 2:
                    found += 1
            return found
        """
    '''
    hints = [
        "Arguments can be typed in the signature: `def hits(Py_ssize_t n, ...)`.",
        "`cdef Py_ssize_t k, i` types two variables at once. One more is needed.",
        "How large does `i * i` get, and how large may a C `int` be?",
    ]
    solution = '''
        text = """
        def hits(Py_ssize_t n, Py_ssize_t step):
            cdef Py_ssize_t k, i, found = 0
            for k in range(n):
                i = k * step
                if i * i % 7 == 2:
                    found += 1
            return found
        """
    '''
    reason = """
        Every variable that the loop touches needs a type; one Python object is enough to make its line
        yellow. `i * i` goes up to 10^18, which fits into 64 bits but not into the 32 of an `int`.
    """
    wrong = [
        Wrong(
            '''
            text = """
            def hits(Py_ssize_t n, Py_ssize_t step):
                cdef Py_ssize_t k, i
                found = 0
                for k in range(n):
                    i = k * step
                    if i * i % 7 == 2:
                        found += 1
                return found
            """
            ''',
            says="`found += 1`",
            why="`found` is a Python object, and adding 1 to it makes a new one.",
        ),
        Wrong(
            '''
            text = """
            def hits(int n, int step):
                cdef int k, i, found = 0
                for k in range(n):
                    i = k * step
                    if i * i % 7 == 2:
                        found += 1
                return found
            """
            ''',
            says="does not fit into its type",
            why="No line is yellow, and small numbers are right. But `i * i` does not fit into 32 bits.",
        ),
        Wrong(
            '''
            text = """
            def hits(n, step):
                return (n - 1 - 3 * step**5 % 7) // 7 + (n - 1 - 4 * step**5 % 7) // 7 + 2 if step % 7 else 0
            """
            ''',
            says="keep the loop",
            why="A formula counts as well, but all of it is in the line of `return`, and asks Python.",
        ),
    ]

    def check(text):
        module = compiled("answer", text)
        require(hasattr(module, "hits"), "The text defines no function `hits`.")
        loops = re.findall(r"^( *)(?:for|while)\b", text, re.M)  # what they are indented by
        require(loops, "There is no line that begins with `for` any more; keep the loop.")
        chance = random.Random()
        cases = [(0, 5), (1, 3), (10, 1), (50, 7), (1000, 40), (3000, 333_331)]
        cases += [
            (chance.randint(2, 900), chance.randint(1, 10 ** chance.randint(1, 6)))
            for _ in range(30)
        ]
        for n, step in cases:
            expected = sum((k * step) ** 2 % 7 == 2 for k in range(n))
            came = module.hits(n, step)
            largest = (max(n - 1, 0) * step) ** 2
            about = f"hits({n}, {step})"
            message = f"{about} is {came}, expected {expected}. "
            require(
                came == expected or largest < 2**31,
                message + "Small numbers are right: which number does not fit into its type?",
            )
            expect(came, expected, about)
        for _, score, line in sorted(yellow("answer", text), key=lambda row: -row[1]):
            code = line.partition("#")[0].strip()
            around = code == "with nogil:" and line.partition("w")[0] <= min(loops)
            if around or not code:  # a comment in the first line has the score of the module
                continue
            heads = (
                "def ",
                "cpdef ",
                "cdef ",
                "ctypedef ",
                "return",
                "@",
                "from ",
                "import ",
                "cimport ",
                '"',
                "'",
            )
            works = re.search(r"\b(for|while|lambda|map)\b|:\s*return\b", code)
            allowed = (
                code.startswith(heads) and not works and not (code[:4] == "cdef" and "=" in code)
            )
            require(
                score == 0 or allowed,
                f"The line `{code}` still asks Python, with a score of {score}.",
            )


class Clamp(Exercise):
    """A kernel for clamp

    Write the loop `clamp_loop`. It must give what `torch.clamp(x, low, high)` gives for every
    float32: numbers below `low` become `low`, those above `high` become `high`, and NaN stays NaN.
    If `low` is larger than `high`, every number becomes `high`. `out` may be `x` itself, and `n` may
    be 0. It is compiled as it is; the check adds a function that calls it.
    """

    kind = "implement"
    idea = "Version 5: the shipped loop"
    stub = '''
        kernel = """
        cdef void clamp_loop(float* out, const float* x, Py_ssize_t n,
                             float low, float high) noexcept nogil:
            cdef Py_ssize_t i
            for i in range(n):
                out[i] = x[i]
        """
    '''
    hints = [
        "Two conditions, one after the other: first `low`, then `high`.",
        "Every comparison with NaN is false. Write it so that false means: leave the number alone.",
    ]
    solution = '''
        kernel = """
        cdef void clamp_loop(float* out, const float* x, Py_ssize_t n,
                             float low, float high) noexcept nogil:
            cdef Py_ssize_t i
            cdef float number
            for i in range(n):
                number = x[i]
                if number < low:
                    number = low
                if number > high:
                    number = high
                out[i] = number
        """
    '''
    reason = """
        `number < low` is false for NaN, and so is `number > high`. The second test looks at the result
        of the first, so `high` wins where the two contradict each other.
    """
    wrong = [
        Wrong(
            '''
            kernel = """
            cdef void clamp_loop(float* out, const float* x, Py_ssize_t n,
                                 float low, float high) noexcept nogil:
                cdef Py_ssize_t i
                for i in range(n):
                    if x[i] >= low:
                        out[i] = x[i] if x[i] <= high else high
                    else:
                        out[i] = low
            """
            ''',
            says="NaN must stay",
            why="`x >= low` is false for NaN, and false means `low` here.",
        ),
        Wrong(
            '''
            kernel = """
            cdef void clamp_loop(float* out, const float* x, Py_ssize_t n,
                                 float low, float high) noexcept nogil:
                cdef Py_ssize_t i
                for i in range(n):
                    if x[i] < low:
                        out[i] = low
                    elif x[i] > high:
                        out[i] = high
                    else:
                        out[i] = x[i]
            """
            ''',
            says="high wins",
            why="With `elif`, what the first test has changed is not tested again.",
        ),
        Wrong(
            '''
            kernel = """
            cdef void clamp_loop(float* out, const float* x, Py_ssize_t n,
                                 float low, float high) noexcept nogil:
                cdef Py_ssize_t i
                for i in range(n):
                    out[i] = low
                    if not x[i] < low:
                        out[i] = x[i]
                    if out[i] > high:
                        out[i] = high
            """
            ''',
            says="with x as out",
            why="If `out` is `x`, the first store has already replaced the number that is read next.",
        ),
        Wrong(
            '''
            kernel = """
            cdef void clamp_loop(float* out, const float* x, Py_ssize_t n,
                                 float low, float high) noexcept nogil:
                cdef Py_ssize_t i
                for i in range(n + 1):
                    out[i] = x[i]
                    if out[i] < low:
                        out[i] = low
                    if out[i] > high:
                        out[i] = high
            """
            ''',
            says="outside of out",
            why="The last index is n - 1. Nothing checks it here.",
        ),
    ]

    def check(kernel):
        require(isinstance(kernel, str), "The answer is a text with Cython code.")
        call = """
def call_clamp(size_t out, size_t x, Py_ssize_t n, float low, float high):
    with nogil:
        clamp_loop(<float*>out, <const float*>x, n, low, high)
"""
        module = compiled("answer", kernel.rstrip() + "\n\n" + call)
        chance = random.Random()
        cases = [
            ([-2.0, 0.5, 3.0], -1.0, 1.0),
            ([math.inf, -math.inf, -0.0, 0.0], -1.0, 1.0),
            ([-2.0, 0.5, 3.0], -1.0, 1.0),  # in place, as every third
            ([5.0, -5.0], 5.0, 5.0),
            ([1.0, math.nan, -9.0], -1.0, 1.0),
            ([], 0.0, 1.0),
            ([0.0, 1.0, 2.0, 3.0], 2.0, 1.0),
            ([0.0, math.nan], 2.0, 1.0),
        ]
        for _ in range(40):
            low, high = chance.gauss(0, 2), chance.gauss(0.5, 2)
            numbers = [chance.gauss(0, 4) for _ in range(chance.randint(1, 40))]
            cases.append((numbers, low, high))
        for number, (numbers, low, high) in enumerate(cases):
            n = len(numbers)
            memory = torch.full((2, n + 128), 77.0)
            x, out = memory[0, 64 : 64 + n], memory[1, 64 : 64 + n]
            x.copy_(torch.tensor(numbers))
            expected = torch.clamp(torch.tensor(numbers), low, high)
            before = x.clone()
            if number % 3 == 2:  # in place
                out = x
            module.call_clamp(out.data_ptr(), x.data_ptr(), n, low, high)
            about = f"clamp of {numbers} to {low:g} ... {high:g}" + " with x as out" * (out is x)
            lost = expected.isnan() & ~out.isnan()
            require(not lost.any(), f"NaN must stay NaN; {about} has lost one.")
            guards = torch.cat([memory[:, :64], memory[:, 64 + n :]], 1)
            require(bool((guards == 77).all()), f"{about} wrote outside of out.")
            require(
                out is x or torch.equal(x.nan_to_num(), before.nan_to_num()),
                f"{about} changed x.",
            )
            require(
                low <= high or torch.equal(out.nan_to_num(), expected.nan_to_num()),
                f"{about}: you gave {out.tolist()}. If low is above high, high wins.",
            )
            expect(out, expected, about)


class Roll(Exercise):
    """A roll that survives cdivision

    Write `roll_loop`, in a file that has `cdivision=True`, `boundscheck=False` and
    `wraparound=False`: `out[i]` is the number `shift` places before `x[i]`, around the end. `n` is at
    least 1, and `shift` may be any number between -10^6 and 10^6.
    """

    kind = "extend"
    idea = "Break it"
    stub = '''
        kernel = """
        cdef void roll_loop(float* out, const float* x, Py_ssize_t n,
                            Py_ssize_t shift) noexcept nogil:
            cdef Py_ssize_t i
            for i in range(n):
                out[i] = x[(i - shift) % n]
        """
    '''
    hints = [
        "C's remainder lies between `-(n - 1)` and `n - 1`. One more step brings it to 0 ... n - 1.",
        "If it is negative, add `n`.",
    ]
    solution = '''
        kernel = """
        cdef void roll_loop(float* out, const float* x, Py_ssize_t n,
                            Py_ssize_t shift) noexcept nogil:
            cdef Py_ssize_t i, place
            for i in range(n):
                place = (i - shift) % n
                if place < 0:
                    place += n
                out[i] = x[place]
        """
    '''
    reason = """
        That is what Cython does for you without `cdivision`. To add `n` only if the remainder is
        negative keeps it right for both signs of `shift`.
    """
    wrong = [
        Wrong(
            '''
            kernel = """
            cdef void roll_loop(float* out, const float* x, Py_ssize_t n,
                                Py_ssize_t shift) noexcept nogil:
                cdef Py_ssize_t i, place
                for i in range(n):
                    place = i - shift
                    if place < 0:
                        place += n
                    if place >= n:
                        place -= n
                    out[i] = x[place]
            """
            ''',
            says="beyond n",
            why="One `n` more is enough only for shifts up to `n`.",
        ),
        Wrong(
            '''
            kernel = """
            cdef void roll_loop(float* out, const float* x, Py_ssize_t n,
                                Py_ssize_t shift) noexcept nogil:
                cdef Py_ssize_t i
                for i in range(n):
                    out[i] = x[(i + shift % n + n) % n]
            """
            ''',
            says="other direction",
            why="The sign of `shift`: a positive shift moves numbers to higher places.",
        ),
    ]

    def check(kernel):
        require(isinstance(kernel, str), "The answer is a text with Cython code.")
        header = "# cython: boundscheck=False, wraparound=False, cdivision=True\n"
        call = """
def call_roll(size_t out, size_t x, Py_ssize_t n, Py_ssize_t shift):
    with nogil:
        roll_loop(<float*>out, <const float*>x, n, shift)
"""
        module = compiled("answer", header + kernel.rstrip() + "\n\n" + call)
        chance = random.Random()
        small = [(n, shift) for n in (1, 2, 5) for shift in range(-n, n + 1)]
        far = [(chance.randint(1, 12), chance.randint(-36, 36)) for _ in range(60)]
        large = [(7, 10**6), (7, -(10**6)), (1, 10**6)]
        large += [(chance.randint(1, 99), chance.randint(-(10**6), 10**6)) for _ in range(20)]
        wide = torch.full((2_100_000,), 99.0)  # whatever is read, it is read from here
        for n, shift in small + far + large:
            x = wide[1_050_000 : 1_050_000 + n]
            x.copy_(torch.arange(1.0, n + 1))
            target = torch.full((n + 128,), 77.0)
            out = target[64 : 64 + n]
            module.call_roll(out.data_ptr(), x.data_ptr(), n, shift)
            expected = torch.roll(x, shift)
            about = f"n = {n}, shift = {shift}"
            guards = torch.cat([target[:64], target[64 + n :]])
            require(bool((guards == 77).all()), f"{about}: you wrote outside of out.")
            require(
                torch.equal(x, torch.arange(1.0, n + 1)), f"{about}: x has changed; only read it."
            )
            other = torch.equal(out, torch.roll(x, -shift)) and not torch.equal(out, expected)
            require(not other or abs(shift) > n, f"{about}: you roll in the other direction.")
            require(
                torch.equal(out, expected) or abs(shift) <= n,
                f"{about}: you gave {out[:8].tolist()}. Small shifts are right; those beyond n go around "
                "more than once.",
            )
            expect(out, expected, about)
            x.fill_(99.0)


def right(out, x):
    out.copy_(-x)


def without_tail(out, x):
    """Only whole registers of eight are computed; the tail is forgotten."""
    n = out.numel() // 8 * 8
    out[:n] = -x[:n]


def tail_too_far(out, x):
    """The tail is written as a whole register of four, over what lies behind out."""
    out.copy_(-x)
    n, end = out.numel(), -(-out.numel() // 4) * 4
    step = out.stride(0)
    begin = out.storage_offset()
    room = (out.untyped_storage().nbytes() // 4 - begin - 1) // step + 1
    if min(end, room) > n:
        out.as_strided((min(end, room) - n,), (step,), begin + n * step).zero_()


def any_stride_of_x(out, x):
    """The stride of x is ignored: neighbours in memory are read."""
    out.copy_(-x.as_strided((x.numel(),), (1,)))


def any_stride_of_out(out, x):
    """The stride of out is ignored: neighbours in memory are written."""
    out.as_strided((out.numel(),), (1,)).copy_(-x)


def subtracts_from_zero(out, x):
    """Computes 0 - x, which gives 0 for 0 where -0 is right."""
    out.copy_(0 - x)


def with_integers(out, x):
    """Numbers go through an int32 if they are whole; above 2^31 they become something else."""
    whole = (x == x.trunc()) & (x.abs() > 2.0**31)
    out.copy_(torch.where(whole, torch.full_like(x, -(2.0**31)), -x))


class Hunt(BugHunt):
    """Seven negations

    Write `test(negate)`. `negate(out, x)` writes `-x` to `out`. Both are one-dimensional float32
    tensors of the same length, which may be 0, with any positive stride; they share no memory. One
    kernel is right, and six have bugs of the kind that this chapter is about. Your test must pass
    the first and raise for each of the others. Compare with what the operator `-` gives.
    """

    idea = "39 or 40"
    stub = """
        def test(negate):
            x, out = torch.ones(8), torch.zeros(8)
            negate(out, x)
            assert out.tolist() == [-1.0] * 8
    """
    hints = [
        "Which lengths have a tail? And what lies behind `out` in memory? Make `out` a slice of something larger.",
        "Slices with a step, for `x` and for `out`, one at a time.",
        "Two numbers of float32 are special: `-0.0` equals `0.0`, but `1 / x` tells them apart. And large ones.",
    ]
    solution = """
        def test(negate):
            values = [0.0, 1.5, -2.0, 3e9, -7e20, 0.25, -1.0, 5.0, 9.0, -4.5, 2.5]
            for n in (0, 1, 3, 8, 11):
                for step_x, step_out in ((1, 1), (2, 1), (1, 3)):
                    x = torch.full((64,), 55.0)[::step_x][:n]
                    x.copy_(torch.tensor(values[:n]))
                    memory = torch.full((64,), 66.0)
                    expected = memory.clone()
                    out = memory[4:][::step_out][:n]
                    expected[4:][::step_out][:n] = -x
                    negate(out, x)
                    assert torch.equal(memory, expected)
                    assert torch.equal(1 / memory, 1 / expected)
    """
    reason = """
        Lengths with and without a tail, slices with steps, a look at what lies around `out`, and
        numbers that are easily lost: `-0.0` and those too large for an `int`.
    """
    wrong = [
        Wrong(
            """
            def test(negate):
                for n in range(20):
                    x, out = torch.randn(n), torch.zeros(n)
                    negate(out, x)
                    assert torch.equal(out, -x)
            """,
            says="pass",
            why="All lengths, but no neighbours, no steps and no special numbers.",
        ),
    ]
    right = right
    bugs = [
        without_tail,
        tail_too_far,
        any_stride_of_x,
        any_stride_of_out,
        subtracts_from_zero,
        with_integers,
    ]
