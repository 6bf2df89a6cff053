"""Exercises of chapter 13, threads."""

import random
import threading
from itertools import pairwise

import tensorlab as torch
import tensorlab.threads as library
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require

IMPORTS = """
import threading
import tensorlab as torch
from tiny_pool import boundary, share_out, threads_for, timeline
"""
FILES = ["tiny_pool.py"]


class Enough(Exercise):
    """How many cores to rent

    Your step takes `one` milliseconds with one thread and `two` with two. Write `cores_for(one, two,
    target)`: the smallest number of cores with which it takes at most `target` milliseconds according to
    Amdahl's law, or `None` if no number is enough. The times are positive, and `one / 2 <= two <= one`.
    """

    kind = "warm-up"
    idea = "Amdahl's law"
    stub = """
        def cores_for(one, two, target):
            return one / target
    """
    hints = [
        "The share that can't be split follows from the two times: s = 2 · two / one - 1.",
        "In milliseconds: the serial part takes s · one on any number of cores, the rest (1 - s) · one / p.",
        "Solve for p, and round up. If the target is not above the serial part, the answer is `None`, unless "
        "one core is enough already.",
    ]
    solution = """
        import math

        def cores_for(one, two, target):
            serial = 2 * two - one
            if target >= one:
                return 1
            if target <= serial:
                return None
            return math.ceil((one - serial) / (target - serial))
    """
    reason = """
        `2 * two - one` is the serial part in milliseconds, and `one - serial` is what splits. Close to the serial
        part the number of cores explodes: the last few milliseconds cost as many cores as all others together.
    """
    wrong = [
        Wrong(
            """
            import math

            def cores_for(one, two, target):
                return max(1, math.ceil(one / target))
            """,
            says="as if everything split",
            why="That is the answer without a serial part.",
        ),
        Wrong(
            """
            import math

            def cores_for(one, two, target):
                serial = 2 * two - one
                if target >= one:
                    return 1
                return math.ceil((one - serial) / (target - serial))
            """,
            says="no number of cores",
            why="Below the serial part the formula gives a negative number, and at it a division by 0.",
        ),
        Wrong(
            """
            def cores_for(one, two, target):
                serial = 2 * two - one
                if target >= one:
                    return 1
                if target <= serial:
                    return None
                return int((one - serial) / (target - serial))
            """,
            says="too slow",
            why="Rounding down gives one core too few.",
        ),
    ]

    def check(cores_for):
        def time_with(cores, one, two):
            serial = 2 * two - one
            return serial + (one - serial) / cores

        draw = random.Random()
        cases = [
            (100, 60, 33),
            (100, 60, 40),
            (100, 60, 20),
            (100, 60, 15),
            (100, 60, 100),
            (80, 40, 10),
        ]
        cases += [(64, 64, 32), (64, 64, 64), (64, 64, 65), (100, 55, 11)]
        for _ in range(60):
            one = 2 * draw.randint(5, 400)
            two = draw.randint(one // 2, one)
            cases.append((one, two, draw.randint(1, one + 5) + draw.choice((0, 0.25))))
        for one, two, target in cases:
            serial = 2 * two - one
            what = f"cores_for({one}, {two}, {target})"
            try:
                came = cores_for(one, two, target)
            except ZeroDivisionError:
                require(
                    False, f"{what} divides by 0; if no number of cores is enough, return None."
                )
            if target <= serial and target < one:
                require(
                    came is None,
                    f"{what} is {describe(came)}, but no number of cores is enough: the serial part alone "
                    f"takes {serial} ms.",
                )
                continue
            cores = 1
            while time_with(cores, one, two) > target + 1e-9:
                cores += 1
            require(came is not None, f"{what} is None, but {cores} cores are enough.")
            require(
                not isinstance(came, bool) and came == int(came),
                f"{what} is {describe(came)}; return a whole number of cores.",
            )
            require(
                not (came == max(1, -(-one // target)) and came < cores),
                f"{what} is {came}: you compute as if everything split. Here the serial part takes {serial} ms.",
            )
            require(
                came >= cores,
                f"{what} is {came}, too slow: with {came} cores it takes "
                f"{time_with(max(came, 1), one, two):g} ms. It needs {cores}.",
            )
            tie = came == cores + 1 and abs(time_with(cores, one, two) - target) < 1e-9
            require(
                came <= cores,
                f"{what} is {came}, more than needed: with {came - 1} cores it takes no more than {target} ms, either."
                + tie
                * " It takes exactly that, but floats round, and yours fell on the wrong side.",
            )
            expect(int(came), cores, what)


class Worth(Exercise):
    """The best number of threads

    A loop takes `work` microseconds on one thread and splits perfectly. Each thread that you ask for help
    costs the caller `wake` microseconds before the loop begins, one after the other. So with p threads the loop takes
    `wake * (p - 1) + work / p`. Write `best_threads(work, wake, most)`: the p from 1 to `most` with which it's
    fastest; if several are equally fast, the smallest of them. All three are whole numbers, at least 1.
    """

    kind = "implement"
    idea = "What is worth a thread"
    stub = """
        def best_threads(work, wake, most):
            return most
    """
    hints = [
        "You may simply try all numbers from 1 to `most`.",
        "`min(range(1, most + 1), key=...)` returns the first of several that are equally small.",
        "Equally fast means exactly: compare `wake * (p - 1) + work / p` as fractions, or one more thread by whole "
        "numbers: p + 1 is faster than p if wake * p * (p + 1) < work.",
    ]
    solution = """
        def best_threads(work, wake, most):
            threads = 1
            while threads < most and wake * threads * (threads + 1) < work:
                threads += 1
            return threads
    """
    reason = """
        One more thread saves work / p - work / (p + 1) = work / (p (p + 1)) and costs `wake`. So the best
        number grows like the square root of work / wake: a loop that is four times as long is worth twice
        as many threads.
    """
    wrong = [
        Wrong(
            """
            def best_threads(work, wake, most):
                return max(1, min(most, work // wake))
            """,
            says="a thread less",
            why="This is a grain of `wake` microseconds. With it, the last thread costs as much as it saves in total, "
            "and more than it saves compared with one thread less.",
        ),
        Wrong(
            """
            def best_threads(work, wake, most):
                return min(most, max(1, round((work / wake) ** 0.5)))
            """,
            says="One more thread",
            why="The square root is the minimum of the curve, but the best whole number may be on its other side.",
        ),
        Wrong(
            """
            def best_threads(work, wake, most):
                threads = 1
                while threads < most and wake * threads * (threads + 1) <= work:
                    threads += 1
                return threads
            """,
            says="equally fast",
            why="`<=` asks for a thread that brings nothing.",
        ),
    ]

    def check(best_threads):
        from fractions import Fraction

        draw = random.Random()
        cases = [
            (1, 5, 8),
            (60, 5, 8),
            (62, 10, 8),
            (30, 5, 8),
            (1000, 5, 8),
            (1000, 5, 64),
            (7, 1, 1),
        ]
        for _ in range(80):
            p, wake = draw.randint(1, 12), draw.randint(1, 30)
            cases.append((wake * p * (p + 1), wake, draw.randint(1, 16)))  # two are equally fast
            cases.append((draw.randint(1, 5000), wake, draw.randint(1, 40)))
        for work, wake, most in cases:
            times = {p: wake * (p - 1) + Fraction(work, p) for p in range(1, most + 1)}
            expected = min(times, key=times.get)
            what = f"best_threads({work}, {wake}, {most})"
            came = best_threads(work, wake, most)
            require(came is not None, f"{what} is None; return a number.")
            require(
                came in times, f"{what} is {describe(came)}; expected a number from 1 to {most}."
            )
            came = int(came)
            require(
                times[came] != times[expected] or came == expected,
                f"{what} is {came}, but {expected} threads are equally fast, and fewer.",
            )
            if came > expected:
                less = f"With a thread less it takes {float(times[came - 1]):g} us; expected {expected}."
                require(False, f"{what} is {came}: {float(times[came]):g} us. {less}")
            require(
                came >= expected,
                f"{what} is {came}: {float(times[came]):g} us. One more thread would be faster; expected {expected}.",
            )


class Pieces(Exercise):
    """Without neighbours

    Write `cut(count, threads, line)`: the ranges of a row of `count` numbers, one `(begin, end)` for each
    of `threads` threads, in order. Together they are 0 to `count`. No two threads may write to one cache
    line, which has `line` numbers: each begin must be a multiple of `line` (or `count`, for a range that
    is empty). And no range may be longer than an even share, `count / threads`, by more than `line`.
    """

    kind = "implement"
    idea = "Neighbours"
    stub = """
        def cut(count, threads, line):
            size = count // threads
            return [(size * i, size * (i + 1)) for i in range(threads)]
    """
    hints = [
        "Compute where piece i begins; its end is where piece i + 1 begins. So nothing is lost or done twice.",
        "An even beginning is `count * i // threads`. Round it down to a multiple of `line`.",
        "The last end is `count`, whatever the multiple.",
    ]
    solution = """
        def cut(count, threads, line):
            begins = [count * i // threads // line * line for i in range(threads)] + [count]
            return list(zip(begins, begins[1:]))
    """
    reason = """
        Rounding down moves each boundary by less than a line, so no share grows by more than that. And
        because an end *is* the next beginning, there can't be a gap.
    """
    wrong = [
        Wrong(
            """
            def cut(count, threads, line):
                begins = [count * i // threads for i in range(threads)] + [count]
                return list(zip(begins, begins[1:]))
            """,
            says="share a cache line",
            why="The shares are even, but a line may have two writers.",
        ),
        Wrong(
            """
            def cut(count, threads, line):
                size = count // threads // line * line
                return [(size * i, size * (i + 1)) for i in range(threads)]
            """,
            says="are in no range",
            why="The rest of the division is forgotten. With a count that divides, nothing shows.",
        ),
        Wrong(
            """
            def cut(count, threads, line):
                size = count // threads // line * line
                ranges = [(size * i, size * (i + 1)) for i in range(threads)]
                ranges[-1] = (ranges[-1][0], count)
                return ranges
            """,
            says="more than an even share",
            why="The last thread gets everything that rounding left over, up to a line for each thread.",
        ),
    ]

    def check(cut):
        draw = random.Random()
        cases = [
            (64, 2, 16),
            (60, 3, 16),
            (100, 3, 16),
            (127, 8, 16),
            (5, 2, 16),
            (1, 1, 1),
            (1000, 7, 1),
        ]
        cases += [(0, 3, 16), (16, 4, 8)]
        for _ in range(100):
            cases.append(
                (draw.randint(0, 900), draw.randint(1, 12), draw.choice((1, 3, 8, 16, 64)))
            )
        for count, threads, line in cases:
            what = f"cut({count}, {threads}, {line})"
            came = cut(count, threads, line)
            require(came is not None, f"{what} is None; return a list of ranges.")
            ranges = [tuple(int(at) for at in one) for one in came]
            expect(len(ranges), threads, f"the number of ranges of {what}")
            written = [0] * count
            for begin, end in ranges:
                require(
                    0 <= begin <= end <= count,
                    f"{what}: the range {begin} to {end} is not within 0 to {count}.",
                )
                for at in range(begin, end):
                    written[at] += 1
            lost = written.count(0)
            require(
                lost == 0,
                f"{what}: {lost} numbers are in no range; the last end is {ranges[-1][1]}.",
            )
            require(max(written, default=1) == 1, f"{what}: some numbers are in two ranges.")
            require(ranges == sorted(ranges), f"{what}: the ranges are not in order.")
            for begin, end in ranges:
                require(
                    begin % line == 0 or begin == count,
                    f"{what}: a range begins at {begin}. Its thread and the one before share a cache line.",
                )
                require(
                    (end - begin - line) * threads <= count,
                    f"{what}: the range {begin} to {end} has over {line} numbers more than an even share, "
                    f"{count / threads:g}.",
                )


class Steady(Exercise):
    """A sum that threads don't change

    Write `steady_sum(x)`: the sum of a 1-d floating-point tensor as a 0-d tensor of its dtype, with the
    same bits whatever number of threads is set. It must work for any length, also 0, be as accurate as
    `x.sum()` up to a few last digits, and neither call `set_num_threads` nor change `x`. The check takes
    lengths up to a million, in float32 and float64.
    """

    kind = "extend"
    idea = "Same bits?"
    beside = "the check changes the number of threads"
    stub = """
        def steady_sum(x):
            return x.sum()
    """
    hints = [
        "`dot` doesn't depend on threads, because its pieces have a fixed length, and their totals are added in order.",
        "A sum of fewer than 65,536 elements runs on one thread, so its brackets are fixed.",
        "`x.split(32768)` gives pieces of a fixed length. How many totals are there, and may you sum *them*?",
    ]
    solution = """
        def steady_sum(x):
            return torch.stack([piece.sum() for piece in x.split(32768)]).sum()
    """
    reason = """
        Each piece is too short to be shared out, and so is the row of totals. The cut depends on the length
        of x alone, so the pieces could run on as many threads as you like.
    """
    wrong = [
        Wrong(
            """
            def steady_sum(x):
                return sum(piece.sum() for piece in x.chunk(torch.get_num_threads()))
            """,
            says="float32 numbers: the result depends",
            why="A piece for each thread is just what the library does.",
        ),
        Wrong(
            """
            def steady_sum(x):
                return x.double().sum().to(x.dtype)
            """,
            says="float64 numbers: the result depends",
            why="For float32 the differences hide behind the rounding, nearly always. For float64 they're there.",
        ),
        Wrong(
            """
            def steady_sum(x):
                threads = torch.get_num_threads()
                torch.set_num_threads(1)
                total = x.sum()
                torch.set_num_threads(threads)
                return total
            """,
            says="set_num_threads",
            why="The bits are right, but other Python threads compute with one thread meanwhile.",
        ),
        Wrong(
            """
            def steady_sum(x):
                if len(x) < 32768:
                    return x.sum()
                return x[: len(x) // 32768 * 32768].view(-1, 32768).sum(1).sum()
            """,
            says="not the sum",
            why="The last elements, which fill no whole piece, are left out.",
        ),
    ]

    def check(steady_sum):
        generator = torch.Generator().manual_seed(random.Random().randint(0, 10**6))
        threads, set_threads = torch.get_num_threads(), torch.set_num_threads
        calls = []
        lengths = (0, 1, 10, 40_000, 65_536, 100_003, 999_983, 1_000_000)
        try:
            torch.set_num_threads = library.set_num_threads = calls.append
            for dtype in (torch.float32, torch.float64):
                for n in lengths:
                    x = torch.randn(n, generator=generator, dtype=dtype) + 0.5  # a large sum
                    copy, found = x.clone(), {}
                    name = f"{str(dtype).partition('.')[2]} numbers"
                    for count in (1, 2, 3, 5, 16):
                        set_threads(count)
                        came = steady_sum(x)
                        require(
                            isinstance(came, torch.Tensor),
                            f"{n} {name}: steady_sum returned {type(came).__name__}; return a 0-d tensor.",
                        )
                        found[count] = came.item() if came.dim() == 0 else came.tolist()
                        expect(came.dtype, dtype, f"the dtype of the sum of {n} {name}")
                        expect(tuple(came.shape), (), f"the shape of the sum of {n} {name}")
                    require(
                        not calls,
                        "Your sum calls set_num_threads, which all threads of the program share.",
                    )
                    require(x.equal(copy), f"{n} {name}: x itself is different afterwards.")
                    true = x.double().sum().item()
                    off = abs(found[1] - true)
                    most = (1e-6 if dtype is torch.float32 else 2e-15) * (x.abs().sum().item() + 1)
                    require(
                        off <= most,
                        f"{n} {name}: your result {found[1]!r} is not the sum, which is {true!r} up to rounding.",
                    )
                    others = [count for count in found if found[count] != found[1]]
                    require(
                        not others,
                        f"{n} {name}: the result depends on the number of threads: {found[1]!r} with 1 thread, "
                        f"{found[others[0]]!r} with {others[0]}."
                        if others
                        else "",
                    )
        finally:
            torch.set_num_threads = library.set_num_threads = set_threads
            set_threads(threads)


def shared(body, count, threads, cut, before_join=lambda helpers: helpers):
    """Call the body for the ranges of `cut`, one in each thread."""
    ranges = cut(count, threads)
    helpers = [threading.Thread(target=body, args=one) for one in ranges[1:]]
    for helper in helpers:
        helper.start()
    for one in ranges[:1]:
        body(*one)
    for helper in before_join(helpers):
        helper.join()


def even(count, threads):
    begins = [count * i // threads for i in range(threads + 1)]
    return [one for one in pairwise(begins) if one[0] < one[1]]


def right(body, count, threads):
    shared(body, count, threads, even)


def forgets_the_rest(body, count, threads):
    """The rest of the division is left out."""
    size = count // threads
    ranges = [(size * i, size * (i + 1)) for i in range(threads)]
    shared(body, count, threads, lambda *_: [one for one in ranges if one[0] < one[1]])


def meets_its_neighbour(body, count, threads):
    """Each range but the last includes the first index of the next one: written twice."""
    shared(
        body, count, threads, lambda *_: [(a, min(b + 1, count)) for a, b in even(count, threads)]
    )


def does_not_wait(body, count, threads):
    """It returns while helpers still work."""
    shared(body, count, threads, even, before_join=lambda helpers: [])


def waits_for_one(body, count, threads):
    """Only the first helper is waited for: right with two threads."""
    shared(body, count, threads, even, before_join=lambda helpers: helpers[:1])


def needs_as_many(body, count, threads):
    """With fewer indices than threads, the rounded size is 0 and nothing is done."""
    if count >= threads:
        shared(body, count, threads, even)


def works_alone(body, count, threads):
    """Everything is right, but it all happens in the caller's thread."""
    for one in even(count, threads):
        body(*one)


class Hunt(BugHunt):
    """Six pools

    Write `test(share)`. It gets a function `share(body, count, threads)` that must call `body(begin, end)`
    for ranges that together are 0 to `count`, each index once, in as many different threads as asked for
    (or one for each index, if there are fewer), and return when all of them have finished. Raise if it
    doesn't. One that is right and six wrong ones are waiting.
    """

    idea = "Pieces"
    beside = "the functions that are tested call the test's own in threads"
    stub = """
        def test(share):
            share(lambda begin, end: None, 10, 2)
    """
    hints = [
        "Let the body note its ranges in a list, with `threading.current_thread()`. (Not `get_ident()`: a new thread "
        "may get the number of one that has finished.)",
        "Counts that don't divide, fewer indices than threads, and more than two threads.",
        "To see whether `share` waits for all, the body must take time: `time.sleep` before it notes, longer where "
        "`begin` is larger.",
    ]
    solution = """
        import time

        def test(share):
            for count, threads in ((10, 3), (12, 4), (2, 3), (1, 1), (7, 2), (0, 2)):
                notes = []

                def body(begin, end):
                    time.sleep(0.02 if begin == 0 else 0.05 + 0.05 * begin / count)
                    notes.append((threading.get_ident(), begin, end))

                share(body, count, threads)
                done = sorted(i for _, begin, end in list(notes) for i in range(begin, end))
                assert done == list(range(count))
                assert len({name for name, *_ in notes}) == min(count, threads)
    """
    reason = """
        The ranges show what is forgotten or done twice. Sleeping in the body makes a pool that doesn't wait
        return too early, every time: a test for threads must make the bad order happen, not hope for it.
    """
    wrong = [
        Wrong(
            """
            def test(share):
                done = []
                share(lambda begin, end: done.extend(range(begin, end)), 12, 3)
                assert sorted(done) == list(range(12))
            """,
            says="pass",
            why="12 divides by 3, and a fast body has finished before anyone looks.",
        ),
    ]
    right = right
    bugs = [
        forgets_the_rest,
        meets_its_neighbour,
        does_not_wait,
        waits_for_one,
        needs_as_many,
        works_alone,
    ]
