"""Exercises of chapter 14, random numbers."""

import itertools

import tensorlab as torch
from tensorlab.learn import Exercise, Wrong, describe, expect, require

IMPORTS = """
import tensorlab as torch
from tiny_random import Words, integers, normals, permutation, uniform
"""
FILES = ["tiny_random.py"]


def after(seed, f):
    torch.manual_seed(seed)
    return f()


class SameNumbers(Exercise):
    """The same numbers?

    Both sides start from the same seed. Are they equal? Write True or False for each.

    1. `torch.rand(4)` and `torch.cat([torch.rand(2), torch.rand(2)])`
    2. `torch.randn(16)` and `torch.cat([torch.randn(8), torch.randn(8)])`
    3. `torch.rand(2)` and `torch.rand(3)[:2]`
    4. `torch.randperm(5)` and `torch.randperm(6)[:5]`
    5. `torch.rand(4)` and `torch.rand(4, dtype=torch.float64).float()`
    """

    kind = "warm-up"
    idea = "From words to numbers"
    stub = """
        same = [None, None, None, None, None]
    """
    hints = [
        "How many words of the sequence does each number take, and in which order?",
        "Normal numbers are made in blocks of 16, but only if there are at least 16.",
    ]
    solution = """
        same = [True, False, True, False, False]
    """
    reason = """
        A float32 from `rand` takes one word, whatever comes after it, so 1 and 3 hold. Eight normal
        numbers are made one by
        one, in float64; sixteen are made as a block. A permutation takes its words modulo numbers
        that depend on its length. And a float64
        takes two words.
    """
    wrong = [
        Wrong(
            "same = [True, True, True, False, False]",
            "second",
            "Sixteen numbers make a block, eight do not.",
        ),
        Wrong(
            "same = [True, False, True, True, False]",
            "fourth",
            "The first word is taken modulo 5 or modulo 6.",
        ),
        Wrong(
            "same = [True, False, True, False, True]",
            "fifth",
            "A float64 has 53 bits. They come from two words.",
        ),
        Wrong(
            "same = [False, False, False, False, False]",
            "first",
            "`rand` takes its words one after the other.",
        ),
    ]

    def check(same):
        pairs = [
            (lambda: torch.rand(4), lambda: torch.cat([torch.rand(2), torch.rand(2)])),
            (lambda: torch.randn(16), lambda: torch.cat([torch.randn(8), torch.randn(8)])),
            (lambda: torch.rand(2), lambda: torch.rand(3)[:2]),
            (lambda: torch.randperm(5), lambda: torch.randperm(6)[:5]),
            (lambda: torch.rand(4), lambda: torch.rand(4, dtype=torch.float64).float()),
        ]
        names = ("first", "second", "third", "fourth", "fifth")
        require(len(same) == 5, f"The list has {len(same)} entries; five are asked for.")
        for name, answer, (one, other) in zip(names, same, pairs, strict=True):
            truth = all(after(seed, one).equal(after(seed, other)) for seed in range(5))
            require(
                isinstance(answer, bool),
                f"The {name} answer is {describe(answer)}; write True or False.",
            )
            require(answer == truth, f"The {name} is not right. Draw both and compare.")


class Shuffled(Exercise):
    """A fair shuffle

    Write `shuffled(items, generator)`: a new list with the same items in random order, every order
    equally likely. Draw
    with `torch.randint(..., generator=generator)`; neither `randperm` nor the default stream may be touched.
    """

    kind = "implement"
    idea = "From words to numbers"
    stub = """
        def shuffled(items, generator):
            return list(items)  # not yet
    """
    hints = [
        "Choose the first item among all, the second among the rest, and so on: `permutation` does that.",
        "At place i, draw j from i to n - 1 and exchange the two.",
    ]
    solution = """
        def shuffled(items, generator):
            x = list(items)
            for i in range(len(x) - 1):
                j = torch.randint(i, len(x), (), generator=generator).item()
                x[i], x[j] = x[j], x[i]
            return x
    """
    reason = """
        There are n choices for the first place, n - 1 for the second, and so on: n! orders, each
        reached in exactly one way. That is the
        method of Fisher and Yates.
    """
    wrong = [
        Wrong(
            """
            def shuffled(items, generator):
                x = list(items)
                for i in range(len(x)):
                    j = torch.randint(0, len(x), (), generator=generator).item()
                    x[i], x[j] = x[j], x[i]
                return x
            """,
            says="too often",
            why="Each of the n steps has n choices: nⁿ ways to n! orders. 27 cannot be spread evenly over 6.",
        ),
        Wrong(
            """
            def shuffled(items, generator):
                x = list(items)
                for i in range(len(x) - 1):
                    j = torch.randint(i + 1, len(x), (), generator=generator).item()
                    x[i], x[j] = x[j], x[i]
                return x
            """,
            says="never comes",
            why="Nothing may stay where it is, so only cyclic orders come out.",
        ),
        Wrong(
            """
            def shuffled(items, generator):
                return [items[i] for i in torch.randperm(len(items)).tolist()]
            """,
            says="default stream",
            why="The generator is ignored. Seeding it would have no effect.",
        ),
    ]

    def check(shuffled):
        generator = torch.Generator().manual_seed(1)
        before = torch.get_rng_state()
        items = ["a", "b", "c", "d", "e"]
        came = shuffled(items, generator)
        require(isinstance(came, list), f"shuffled returned {type(came).__name__}; return a list.")
        expect(sorted(came), sorted(items), "the items, sorted again")
        expect(items, ["a", "b", "c", "d", "e"], "the caller's list, which must stay as it was")
        expect(shuffled([], generator), [], "a list without items")
        expect(shuffled([7], generator), [7], "a list of one item")
        expect(sorted(shuffled([2, 2, 1], generator)), [1, 2, 2], "items that are equal")
        require(
            torch.get_rng_state().equal(before),
            "You drew from the default stream, not from the generator.",
        )
        runs = 20_000
        counts = dict.fromkeys(itertools.permutations("xyz"), 0)
        for _ in range(runs):
            counts[tuple(shuffled(list("xyz"), generator))] += 1
        for order, count in counts.items():
            require(count > 0, f"The order {''.join(order)} never comes.")
        for order, count in counts.items():
            shown, share = "".join(order), count / runs
            # a standard deviation of 0.0026: a fair shuffle is five of them away from this limit
            require(
                abs(share - 1 / 6) < 0.0135,
                f"Of {runs} shuffles of three items {share:.1%} gave {shown}; 16.7 % is fair. Some come too often.",
            )


class OwnDropout(Exercise):
    """Dropout by hand

    Write `dropout(x, p, generator)`: each element becomes 0 with probability `p`, and the others
    are scaled so that every element
    keeps its mean. Gradients flow through what is kept. `p` may be anything from 0 to 1. Draw from
    the generator only.
    """

    kind = "implement"
    idea = "Dropout"
    stub = """
        def dropout(x, p, generator):
            return x  # not yet
    """
    hints = [
        "`torch.rand(x.shape, generator=generator) >= p` is True with probability 1 - p.",
        "What is kept with probability 1 - p must be divided by 1 - p. What if p is 1?",
    ]
    solution = """
        def dropout(x, p, generator):
            kept = torch.rand(x.shape, generator=generator) >= p
            return x * kept / (1 - p) if p < 1 else x * 0
    """
    reason = """
        The mean of an element is (1 - p) · x / (1 - p) = x, so nothing has to be scaled in
        evaluation. For p = 1 everything
        is 0; the formula would divide 0 by 0.
    """
    wrong = [
        Wrong(
            """
            def dropout(x, p, generator):
                return x * (torch.rand(x.shape, generator=generator) >= p)
            """,
            says="keeps its mean",
            why="Without the factor, the next layer gets smaller numbers in training than in evaluation.",
        ),
        Wrong(
            """
            def dropout(x, p, generator):
                kept = torch.rand(x.shape, generator=generator) < p
                return x * kept / p if p > 0 else x * 0
            """,
            says="became 0",
            why="`p` is the probability to drop, not to keep. With 0.5 you would never notice.",
        ),
        Wrong(
            """
            def dropout(x, p, generator):
                kept = torch.rand(x.shape, generator=generator) >= p
                return x * kept / (1 - p + 1e-9)
            """,
            says="by exactly",
            why="The small number avoids 0 / 0, and makes every other result wrong by a little.",
        ),
    ]

    def check(dropout):
        generator = torch.Generator().manual_seed(2)
        for p in (0.0, 0.1, 0.5, 0.75):
            x = (torch.rand(40, 500, dtype=torch.float64) + 1).requires_grad_()
            start = torch.get_rng_state()
            y = dropout(x, p, generator)
            require(
                torch.get_rng_state().equal(start),
                "You drew from the default stream, not from the generator.",
            )
            expect(tuple(y.shape), (40, 500), "the shape")
            dropped = (y == 0).double().mean().item()
            require(
                abs(dropped - p) < 0.02,
                f"p = {p}: {dropped:.0%} of the elements became 0, expected about {p:.0%}.",
            )
            kept = y != 0
            factor = (y[kept] / x[kept]).detach()
            about = abs(factor.mean().item() - 1 / (1 - p)) < 1e-3
            require(
                about,
                f"p = {p}: what is left is multiplied by {factor.mean().item():.3g}; no element keeps its mean.",
            )
            exact = ((factor * (1 - p) - 1).abs() < 1e-12).all().item()
            require(exact, f"p = {p}: what is left must be divided by exactly 1 - p.")
            y.sum().backward()
            expect(x.grad, kept.double() / (1 - p), f"the gradient for p = {p}", tolerance=1e-9)
            columns, rows = kept.double().mean(0), kept.double().mean(1)
            alike = p > 0 and (columns.std().item() < 1e-9 or rows.std().item() < 1e-9)
            require(
                not alike,
                "Whole rows or columns are dropped together; each element has a draw of its own.",
            )
        x = torch.ones(3, requires_grad=True)
        y = dropout(x, 1.0, generator)
        expect(y, torch.zeros(3), "everything for p = 1")
        one, other = (
            dropout(torch.ones(100), 0.5, torch.Generator().manual_seed(s)) for s in (5, 6)
        )
        again = dropout(torch.ones(100), 0.5, torch.Generator().manual_seed(5))
        require(
            one.equal(again) and not one.equal(other),
            "The mask must depend on the generator's seed, and on nothing else.",
        )


class Undisturbed(Exercise):
    """Without a trace

    You add a plot to a training program, and from then on all results are different: the plot draws
    random numbers. Write
    `undisturbed(f)`, which calls `f()`, returns what it returns, and leaves the default stream
    where it was, also if `f` raises.
    """

    kind = "extend"
    idea = "State"
    stub = """
        def undisturbed(f):
            return f()  # not yet
    """
    hints = [
        "`torch.get_rng_state()` and `torch.set_rng_state(state)`.",
        "`try` and `finally` run the second also after an error.",
    ]
    solution = """
        def undisturbed(f):
            state = torch.get_rng_state()
            try:
                return f()
            finally:
                torch.set_rng_state(state)
    """
    reason = """
        The state is the whole place in the sequence: 624 words, how many are used, and a normal
        number that may be left over. `torch.random.fork_rng`
        is the same as a context.
    """
    wrong = [
        Wrong(
            """
            def undisturbed(f):
                seed = torch.initial_seed()
                result = f()
                torch.manual_seed(seed)
                return result
            """,
            says="starts again",
            why="A seed is only where the sequence began. Training was somewhere in the middle.",
        ),
        Wrong(
            """
            def undisturbed(f):
                state = torch.get_rng_state()
                result = f()
                torch.set_rng_state(state)
                return result
            """,
            says="raised",
            why="After an error the last lines do not run.",
        ),
    ]

    def check(undisturbed):
        def raises():
            torch.rand(5)
            raise ArithmeticError("on purpose")

        def goes_on(seed, between):
            torch.manual_seed(seed)
            torch.rand(3)
            torch.randn(1)  # leaves a spare one
            between()
            return torch.cat([torch.randn(1), torch.rand(700)])

        for seed in (3, 4):
            expected = goes_on(seed, lambda: None)
            came = goes_on(seed, lambda: undisturbed(lambda: torch.rand(1000)))
            torch.manual_seed(seed)
            from_start = (
                came[1:].equal(torch.rand(700))
                or came[0].item() == after(seed, lambda: torch.randn(1)).item()
            )
            require(
                not from_start,
                "After the call, the sequence starts again from its seed. It was somewhere else.",
            )
            expect(
                came.equal(expected),
                True,
                "the numbers after undisturbed(f) are those that come without it",
            )
        expect(undisturbed(lambda: (1, "two")), (1, "two"), "what undisturbed returns")
        state = torch.get_rng_state()
        try:
            undisturbed(raises)
        except ArithmeticError:
            require(
                torch.get_rng_state().equal(state), "f raised, and the stream is not where it was."
            )
        else:
            require(False, "The error of f should come out of undisturbed.")
