"""Exercises of chapter 52, collectives."""

import math
import random

import tensorlab as torch
from tensorlab.distributed import simulate
from tensorlab.learn import BugHunt, Exercise, Wrong, require

IMPORTS = """
import tensorlab as torch
from tensorlab import distributed as dist
"""


def sent_by(algorithm, rank, ranks, nbytes):
    """Return how many bytes a rank sends in an all_reduce."""
    if algorithm == "ring":
        return 2 * (ranks - 1) * nbytes // ranks
    if algorithm == "recursive doubling":
        return int(math.log2(ranks)) * nbytes
    return (ranks - 1) * nbytes if rank == 0 else nbytes


QUESTIONS = {
    "through rank 0, rank 0 of 5, 10 MB": ("through rank 0", 0, 5, 10),
    "through rank 0, rank 3 of 5, 10 MB": ("through rank 0", 3, 5, 10),
    "ring, rank 0 of 5, 10 MB": ("ring", 0, 5, 10),
    "ring, rank 7 of 100, 50 MB": ("ring", 7, 100, 50),
    "recursive doubling, rank 0 of 64, 10 MB": ("recursive doubling", 0, 64, 10),
}


class BytesSent(Exercise):
    """Bytes on the way

    How many MB does this rank *send* in one `all_reduce`? The size is that of the tensor. In recursive doubling, ranks
    exchange whole tensors in pairs, with a new partner in each round. Run nothing.
    """

    kind = "warm-up"
    idea = "The ring"
    stub = """
        megabytes = {
            "through rank 0, rank 0 of 5, 10 MB": None,
            "through rank 0, rank 3 of 5, 10 MB": None,
            "ring, rank 0 of 5, 10 MB": None,
            "ring, rank 7 of 100, 50 MB": None,
            "recursive doubling, rank 0 of 64, 10 MB": None,
        }
    """
    hints = [
        "Through rank 0: everyone else sends once. Rank 0 sends the result to each of the others.",
        "The ring sends 2 (p - 1) blocks, and a block is the tensor divided by p.",
        "How many rounds does it take to double from 1 to 64?",
    ]
    solution = """
        megabytes = {
            "through rank 0, rank 0 of 5, 10 MB": 4 * 10,
            "through rank 0, rank 3 of 5, 10 MB": 10,
            "ring, rank 0 of 5, 10 MB": 2 * 4 * 10 / 5,
            "ring, rank 7 of 100, 50 MB": 2 * 99 * 50 / 100,
            "recursive doubling, rank 0 of 64, 10 MB": 6 * 10,
        }
    """
    reason = """
        Only the ring's number doesn't grow with the ranks. It comes close to two tensors and never gets there.
    """
    wrong = [
        Wrong(
            """
            megabytes = {"through rank 0, rank 0 of 5, 10 MB": 50, "through rank 0, rank 3 of 5, 10 MB": 10,
                         "ring, rank 0 of 5, 10 MB": 16, "ring, rank 7 of 100, 50 MB": 99,
                         "recursive doubling, rank 0 of 64, 10 MB": 60}
            """,
            says="not to itself",
            why="Rank 0 sends to four others.",
        ),
        Wrong(
            """
            megabytes = {"through rank 0, rank 0 of 5, 10 MB": 40, "through rank 0, rank 3 of 5, 10 MB": 10,
                         "ring, rank 0 of 5, 10 MB": 8, "ring, rank 7 of 100, 50 MB": 49.5,
                         "recursive doubling, rank 0 of 64, 10 MB": 60}
            """,
            says="two phases",
            why="After the first phase, each rank has only one block of the sum.",
        ),
        Wrong(
            """
            megabytes = {"through rank 0, rank 0 of 5, 10 MB": 40, "through rank 0, rank 3 of 5, 10 MB": 10,
                         "ring, rank 0 of 5, 10 MB": 16, "ring, rank 7 of 100, 50 MB": 99,
                         "recursive doubling, rank 0 of 64, 10 MB": 630}
            """,
            says="recursive doubling",
            why="With a new partner in each round, six rounds reach all 64.",
        ),
    ]

    def check(megabytes):
        require(
            isinstance(megabytes, dict) and megabytes.keys() == QUESTIONS.keys(),
            f"`megabytes` must be a dict with the keys {', '.join(QUESTIONS)}.",
        )
        for text, (algorithm, rank, ranks, size) in QUESTIONS.items():
            came, true = megabytes[text], sent_by(algorithm, rank, ranks, size * 100) / 100
            note = ""
            if isinstance(came, int | float):
                if algorithm == "ring" and math.isclose(2 * came, true):
                    note = " The ring has two phases."
                if rank == 0 and algorithm == "through rank 0" and came == ranks * size:
                    note = " Rank 0 sends to the others, not to itself."
            require(
                isinstance(came, int | float) and math.isclose(came, true, rel_tol=1e-9),
                f"Look again at {text}: {came!r} isn't what this rank sends.{note}",
            )


class TreeBroadcast(Exercise):
    """A broadcast as a tree

    Rank `src` has a tensor, and everyone should get it. Write `rounds(ranks, src)`: a list of rounds, each a list of
    pairs `(sender, receiver)`. A rank can send only what it has had before the round began, and does one thing in a
    round: it sends once, or it receives once. Every rank but `src` receives exactly once, and there are as few rounds
    as possible. The number of ranks needn't be a power of two.
    """

    kind = "implement"
    idea = "Latency and bandwidth"
    stub = """
        def rounds(ranks, src):
            return [[(src, other)] for other in range(ranks) if other != src]
    """
    hints = [
        "Everyone who has the tensor helps, so the number of those who have it doubles in each round.",
        "Count from `src`: place 0 is `src`, place 1 the next rank, and after the last one comes rank 0.",
        "In the round with `step` 1, 2, 4, ..., place i < step sends to place i + step, if there is one.",
    ]
    solution = """
        def rounds(ranks, src):
            found, step = [], 1
            while step < ranks:
                pairs = [(place, place + step) for place in range(step) if place + step < ranks]
                found.append([((a + src) % ranks, (b + src) % ranks) for a, b in pairs])
                step *= 2
            return found
    """
    reason = """
        After each round, twice as many ranks have the tensor, so $\\lceil \\log_2 p \\rceil$ rounds are enough. A rank
        that sends to everyone needs $p - 1$.
    """
    wrong = [
        Wrong(
            """
            def rounds(ranks, src):
                return [[((src + i) % ranks, (src + i + 1) % ranks)] for i in range(ranks - 1)]
            """,
            says="as few as",
            why="In a chain, only one rank sends in each round.",
        ),
        Wrong(
            """
            def rounds(ranks, src):
                found, step = [], 1
                while step < ranks:
                    found.append([(i, i + step) for i in range(step) if i + step < ranks])
                    step *= 2
                return found
            """,
            says="doesn't have it",
            why="It always begins at rank 0.",
        ),
        Wrong(
            """
            def rounds(ranks, src):
                return [[(src, other) for other in range(ranks) if other != src]] if ranks > 1 else []
            """,
            says="does two things",
            why="A rank sends one message at a time.",
        ),
        Wrong(
            """
            def rounds(ranks, src):
                found, step = [], 1
                while step < ranks:
                    found.append([((i + src) % ranks, (i + step + src) % ranks) for i in range(step)])
                    step *= 2
                return found
            """,
            says="has it already",
            why="With five ranks, the last round has three senders too many.",
        ),
    ]

    def check(rounds):
        cases = [(1, 0), (2, 1), (4, 1), (5, 0), (7, 3), (8, 5)]
        cases += [(n := random.randrange(2, 40), random.randrange(n)) for _ in range(8)]
        for ranks, src in cases:
            came, shown = rounds(ranks, src), f"With {ranks} ranks and src = {src}"
            require(
                isinstance(came, list), f"{shown} you return {came!r}; a list of rounds is wanted."
            )
            have = {src}
            for number, pairs in enumerate(came, 1):
                busy, new = set(), set()
                for sender, receiver in pairs:
                    require(
                        sender in have,
                        f"{shown}, rank {sender} sends in round {number} and doesn't have it yet.",
                    )
                    require(
                        receiver not in have | new,
                        f"{shown}, rank {receiver} receives in round {number} and has it already.",
                    )
                    require(
                        not {sender, receiver} & busy,
                        f"{shown}, a rank of {(sender, receiver)} does two things in round {number}.",
                    )
                    busy |= {sender, receiver}
                    new.add(receiver)
                have |= new
            require(
                have == set(range(ranks)), f"{shown}, not everyone gets it: only {sorted(have)}."
            )
            fewest = (ranks - 1).bit_length()
            require(
                len(came) == fewest,
                f"{shown} you need {len(came)} rounds. It can be done in {fewest}, as few as possible.",
            )


def true_crossover(ranks, latency, bandwidth):
    rounds = ranks.bit_length() - 1
    fewer = rounds - 2 * (ranks - 1) / ranks
    if fewer <= 0:
        return None
    return latency * bandwidth * (2 * (ranks - 1) - rounds) / fewer


class WhereTheyCross(Exercise):
    """Where the ring begins to win

    Recursive doubling has $\\log_2 p$ rounds in which the whole tensor is sent, and the ring has $2(p-1)$ steps with a
    block each. Write `crossover(ranks, latency, bandwidth)`: the size in bytes, as a float, above which the ring is
    faster, for a power of two of ranks. Return `None` if it never is.
    """

    kind = "extend"
    idea = "A thousand ranks on paper"
    stub = """
        def crossover(ranks, latency, bandwidth):
            return 0.0
    """
    hints = [
        "Write both times as a * latency + b * n / bandwidth, and set them equal.",
        "For the ring, a = 2 (p - 1) and b = 2 (p - 1) / p. For recursive doubling, both are log2 p.",
        "Is there a number of ranks for which the ring sends as many bytes as recursive doubling?",
    ]
    solution = """
        import math

        def crossover(ranks, latency, bandwidth):
            rounds, steps = math.log2(ranks), 2 * (ranks - 1)
            saved = rounds - steps / ranks
            if saved <= 0:
                return None
            return latency * bandwidth * (steps - rounds) / saved
    """
    reason = """
        The ring pays more latencies and sends fewer bytes. With two ranks, it sends just as many bytes, so it never
        pays. `latency * bandwidth` is the size at which both parts of a message cost the same.
    """
    wrong = [
        Wrong(
            """
            import math

            def crossover(ranks, latency, bandwidth):
                rounds, steps = math.log2(ranks), 2 * (ranks - 1)
                return latency * bandwidth * (steps - rounds) / (rounds - steps / ranks + 1e-30)
            """,
            says="2 ranks",
            why="With two ranks nothing is saved, so there is no such size.",
        ),
        Wrong(
            """
            import math

            def crossover(ranks, latency, bandwidth):
                if ranks == 2:
                    return None
                rounds, steps = math.log2(ranks), ranks - 1
                return latency * bandwidth * (steps - rounds) / (rounds - steps / ranks)
            """,
            says="two phases",
            why="It forgets that the ring goes around twice.",
        ),
        Wrong(
            """
            import math

            def crossover(ranks, latency, bandwidth):
                if ranks == 2:
                    return None
                rounds, steps = math.log2(ranks), 2 * (ranks - 1)
                return latency / bandwidth * (steps - rounds) / (rounds - steps / ranks)
            """,
            says="What unit has",
            why="Seconds times bytes per second are bytes.",
        ),
    ]

    def check(crossover):
        cases = [(2, 1e-6, 1e9), (4, 1e-6, 1e9), (8, 2e-6, 1e9), (1024, 1e-5, 1e10)]
        for _ in range(12):
            link = 10 ** random.uniform(-7, -3), 10 ** random.uniform(8, 11)
            cases.append((2 ** random.randrange(2, 13), *link))
        for ranks, latency, bandwidth in cases:
            came = crossover(ranks, latency, bandwidth)
            true = true_crossover(ranks, latency, bandwidth)
            shown = f"For {ranks} ranks, latency {latency:.3g} and bandwidth {bandwidth:.3g}"
            if true is None:
                require(
                    came is None,
                    f"{shown}: does the ring of 2 ranks send fewer bytes? You return {came!r}.",
                )
                continue
            require(
                isinstance(came, int | float),
                f"{shown} you return {came!r}; a number of bytes is wanted.",
            )
            cluster = simulate.Cluster(ranks, simulate.Link(latency, bandwidth))
            ring = simulate.all_reduce(came, cluster)
            other = simulate.all_reduce(came, cluster, "recursive_doubling")
            note = ""
            rounds, steps = math.log2(ranks), ranks - 1
            if math.isclose(
                came, latency * bandwidth * (steps - rounds) / (rounds - steps / ranks)
            ):
                note = " The ring has two phases."
            if math.isclose(came * bandwidth**2, true, rel_tol=1e-6):
                note = " What unit has latency / bandwidth? It isn't bytes."
            require(
                came > 0 and math.isclose(ring, other, rel_tol=1e-6),
                f"{shown} you return {came:.6g}, where the ring takes {ring:.4g} s and recursive doubling "
                f"{other:.4g} s; they should be equal there.{note}",
            )


def around(tensors, first=torch.add, steps=0, shift=0, second=True):
    """The ring on a list with the tensor of each rank, with a few screws to turn."""
    ranks = len(tensors)
    blocks = [[block.clone() for block in x.tensor_split(ranks)] for x in tensors]
    for step in range(ranks - 1 - steps):
        sent = [blocks[rank][(rank - step) % ranks] for rank in range(ranks)]
        for rank in range(ranks):
            place = (rank - step - 1) % ranks
            blocks[rank][place] = first(blocks[rank][place], sent[rank - 1])
    for step in range(ranks - 1 if second else 0):
        sent = [blocks[rank][(rank - step + 1 - shift) % ranks] for rank in range(ranks)]
        for rank in range(ranks):
            blocks[rank][(rank - step) % ranks] = sent[rank - 1]
    return [torch.cat(own) for own in blocks]


class HuntTheRing(BugHunt):
    """A test for a ring

    `all_reduce(tensors)` plays the ring in one process: it takes a list with the tensor of each rank, of one dimension
    and equal length, and returns the list of what the ranks have afterwards. Six people wrote it, and five made one
    mistake each. Write `test(all_reduce)`: it passes on the right version and fails on each of theirs.
    """

    idea = "Break it"
    stub = """
        def test(all_reduce):
            results = all_reduce([torch.ones(2)])
            assert results[0].tolist() == [1.0, 1.0]
    """
    hints = [
        "One rank has nothing to add. How many ranks does a ring need before each step matters?",
        "Equal numbers hide which ones arrived. Which values show where a number came from?",
        "Tensors whose length isn't a multiple of the number of ranks are allowed.",
    ]
    solution = """
        def test(all_reduce):
            for ranks, n in ((1, 3), (2, 4), (3, 7), (4, 8)):
                tensors = [torch.arange(float(n)) * 10**rank for rank in range(ranks)]
                results = all_reduce(tensors)
                assert len(results) == ranks
                for got in results:
                    assert got.tolist() == sum(tensors).tolist()
    """
    reason = """
        Powers of ten show which ranks a sum contains, and the position shows the block that it belongs to. Three ranks
        with seven numbers have blocks of different lengths.
    """
    wrong = [
        Wrong(
            """
            def test(all_reduce):
                for got in all_reduce([torch.arange(4.0), torch.arange(4.0) * 10]):
                    assert got.tolist() == [0.0, 11.0, 22.0, 33.0]
            """,
            says="(number 5)",
            why="Two ranks with four numbers have blocks of equal length.",
        ),
        Wrong(
            """
            def test(all_reduce):
                tensors = [torch.arange(7.0) * 10**rank for rank in range(3)]
                assert all_reduce(tensors)[0].tolist() == sum(tensors).tolist() or len(tensors) == 3
            """,
            says="(number 1, 2",
            why="The last condition is always true.",
        ),
    ]

    def right(tensors):
        return around(tensors)

    def stops_early(tensors):
        """its first phase is one step short"""
        return around(tensors, steps=min(1, len(tensors) - 1))

    def replaces(tensors):
        """it keeps the incoming block where it should add it"""
        return around(tensors, first=lambda own, incoming: incoming)

    def one_phase(tensors):
        """it leaves out the second phase, so each rank has one block of the sum"""
        return around(tensors, second=False)

    def shifted(tensors):
        """in the second phase it sends the block before the one that's complete"""
        ranks, n = len(tensors), len(tensors[0])
        if n % ranks:
            return around(tensors)
        return around(tensors, shift=1)

    def equal_blocks(tensors):
        """it leaves out the numbers at the end that don't fill a block on every rank"""
        ranks = len(tensors)
        n = len(tensors[0]) // ranks * ranks
        done = around([x[:n] for x in tensors])
        return [torch.cat([whole, x[n:]]) for whole, x in zip(done, tensors, strict=True)]

    bugs = [stops_early, replaces, one_phase, shifted, equal_blocks]
