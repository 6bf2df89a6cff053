"""Exercises of chapter 54, sharding and failures."""

import random

from tensorlab.learn import BugHunt, Exercise, Wrong, require

IMPORTS = """
import tensorlab as torch
"""

TRUE = {
    "data parallel": 16_000_000,
    "optimizer state sharded": 10_000_000,
    "optimizer state and gradients sharded": 7_000_000,
    "everything sharded": 4_000_000,
    "data parallel, SGD without momentum": 8_000_000,
    "everything sharded, SGD without momentum": 2_000_000,
}


class BytesPerRank(Exercise):
    """Bytes per rank

    A model has 1,000,000 parameters in float32. It trains on four ranks, with Adam unless it says something else. How
    many bytes does each rank hold between backward and the optimizer's step? Count parameters, gradients and the
    optimizer's state, and ignore activations, counters of steps, and layers that are gathered for a moment.
    """

    kind = "warm-up"
    idea = "Where the bytes are"
    stub = """
        answers = {
            "data parallel": None,
            "optimizer state sharded": None,
            "optimizer state and gradients sharded": None,
            "everything sharded": None,
            "data parallel, SGD without momentum": None,
            "everything sharded, SGD without momentum": None,
        }
    """
    hints = [
        "Four bytes for each parameter, four for its gradient. What does Adam remember?",
        "Only what is sharded is divided by four. Add up the rest as it is.",
        "SGD without momentum remembers nothing, so 8 bytes per parameter are left.",
    ]
    solution = """
        n, p = 1_000_000, 4
        answers = {
            "data parallel": 16 * n,
            "optimizer state sharded": 4 * n + 4 * n + 8 * n // p,
            "optimizer state and gradients sharded": 4 * n + (4 * n + 8 * n) // p,
            "everything sharded": 16 * n // p,
            "data parallel, SGD without momentum": 8 * n,
            "everything sharded, SGD without momentum": 8 * n // p,
        }
    """
    reason = """
        Adam's two moments are half of the 16 bytes, so sharding them is the first and cheapest step. But the other half
        stays at every rank, however many there are.
    """
    wrong = [
        Wrong(
            """
            answers = {"data parallel": 12_000_000,
                       "optimizer state sharded": 9_000_000,
                       "optimizer state and gradients sharded": 6_000_000,
                       "everything sharded": 3_000_000,
                       "data parallel, SGD without momentum": 8_000_000,
                       "everything sharded, SGD without momentum": 2_000_000}
            """,
            says="two moments",
            why="It counts one of Adam's moments.",
        ),
        Wrong(
            """
            answers = {"data parallel": 4_000_000,
                       "optimizer state sharded": 4_000_000,
                       "optimizer state and gradients sharded": 4_000_000,
                       "everything sharded": 4_000_000,
                       "data parallel, SGD without momentum": 2_000_000,
                       "everything sharded, SGD without momentum": 2_000_000}
            """,
            says="doesn't shard",
            why="Data parallel training copies everything to every rank.",
        ),
        Wrong(
            """
            answers = {"data parallel": 16_000_000,
                       "optimizer state sharded": 4_000_000,
                       "optimizer state and gradients sharded": 4_000_000,
                       "everything sharded": 4_000_000,
                       "data parallel, SGD without momentum": 8_000_000,
                       "everything sharded, SGD without momentum": 2_000_000}
            """,
            says="Only the state",
            why="Parameters and gradients are still whole.",
        ),
    ]

    def check(answers):
        require(
            isinstance(answers, dict) and answers.keys() == TRUE.keys(),
            f"`answers` must be a dict with the keys {', '.join(TRUE)}.",
        )
        notes = {
            ("data parallel", 12_000_000): " Adam keeps two moments of each parameter.",
            ("data parallel", 4_000_000): " Data parallel training doesn't shard anything.",
            ("optimizer state sharded", 4_000_000): " Only the state is sharded here.",
        }
        for text, true in TRUE.items():
            came = answers[text]
            require(
                came == true,
                f"Look again at: {text}. You say {came!r}.{notes.get((text, came), '')}",
            )


def true_shards(n, ranks):
    step = -(-n // ranks)
    return [(min(r * step, n), min((r + 1) * step, n)) for r in range(ranks)]


class WhereShardsBegin(Exercise):
    """Where shards begin

    Write `shards(n, ranks)`. A parameter has `n` rows. `fully_shard` cuts it as `chunk` does: each rank gets
    `n / ranks` rows, rounded up, until there are no more. So the last ranks may have fewer rows, or none. Return a list
    of `(begin, end)`, one for each rank; a rank without rows has `(n, n)`.
    """

    kind = "implement"
    idea = "Forty lines"
    stub = """
        def shards(n, ranks):
            step = n // ranks
            return [(rank * step, (rank + 1) * step) for rank in range(ranks)]
    """
    hints = [
        "With 10 rows and 4 ranks, the shards have 3, 3, 3 and 1 rows.",
        "Rounded up without floats: `-(-n // ranks)`.",
        "Neither begin nor end may exceed n. Try 5 rows on 4 ranks: 2, 2, 1, 0.",
    ]
    solution = """
        def shards(n, ranks):
            step = -(-n // ranks)
            return [(min(rank * step, n), min((rank + 1) * step, n)) for rank in range(ranks)]
    """
    reason = """
        All ranks compute these boundaries for themselves, without a message, so they must agree to the row. Empty
        shards are normal: a bias of 3 numbers on 8 ranks leaves five ranks with nothing.
    """
    wrong = [
        Wrong(
            """
            def shards(n, ranks):
                step = n // ranks
                return [(r * step, n if r == ranks - 1 else (r + 1) * step) for r in range(ranks)]
            """,
            says="last rank has more",
            why="It gives the last rank too much.",
        ),
        Wrong(
            """
            def shards(n, ranks):
                small, more = divmod(n, ranks)
                ends = [0]
                for r in range(ranks):
                    ends.append(ends[-1] + small + (r < more))
                return list(zip(ends, ends[1:]))
            """,
            says="rounded up",
            why="That's how array_split cuts, and MPI programs often do. chunk doesn't.",
        ),
        Wrong(
            """
            def shards(n, ranks):
                step = -(-n // ranks)
                return [(r * step, min((r + 1) * step, n)) for r in range(ranks)]
            """,
            says="without rows",
            why="Empty shards begin beyond the end.",
        ),
        Wrong(
            """
            def shards(n, ranks):
                step = -(-n // ranks)
                return [(b, min(b + step, n)) for b in range(0, n, step)]
            """,
            says="one for each rank",
            why="Ranks without rows are left out.",
        ),
    ]

    def check(shards):
        cases = [(8, 4), (10, 4), (5, 4), (3, 8), (1, 1)]
        cases += [(random.randrange(1, 60), random.randrange(1, 12)) for _ in range(20)]
        cases += [(9, 8), (17, 8)]
        for n, ranks in cases:
            came, true = shards(n, ranks), true_shards(n, ranks)
            shown = f"For {n} rows and {ranks} ranks"
            require(isinstance(came, list), f"{shown} you return {came!r}; a list is wanted.")
            require(
                len(came) == ranks,
                f"{shown} you return {len(came)} pairs. There must be one for each rank.",
            )
            note = " The number of rows is n / ranks, rounded up."
            pairs = [tuple(one) for one in came]
            if all(len(pair) == 2 for pair in pairs):
                rows = [end - begin for begin, end in pairs]
                if rows[-1] > rows[0]:
                    note = " The last rank has more rows than the first one."
            for pair, right in zip(pairs, true, strict=True):
                if pair != right:
                    if right == (n, n):
                        note = " Look at a rank without rows."
                    break
            require(pairs == true, f"{shown}, {true} is expected, and you return {came}.{note}")


def true_wanted(n, old, new, rank):
    begin, end = true_shards(n, new)[rank]
    found = []
    for file, (a, b) in enumerate(true_shards(n, old)):
        first, last = max(a, begin), min(b, end)
        if first < last:
            found.append((file, first - a, last - a))
    return found


class Resharding(Exercise):
    """Which pieces of which files?

    A tensor of `n` rows was saved by `old` ranks, cut as in the exercise before; file `k` holds the rows of rank `k`.
    Now `new` ranks read it. Write `wanted(n, old, new, rank)`: what rank `rank` of the new ones must read, as a list of
    `(file, begin, end)`. `begin` and `end` are rows *within the file*. Files come in order, and no file is opened for
    nothing.
    """

    kind = "extend"
    idea = "Saved on four ranks, read on two"
    stub = """
        def wanted(n, old, new, rank):
            return [(rank, 0, n // new)]
    """
    hints = [
        "Compute the rows of the new rank, and those of each file. Where do two ranges overlap?",
        "The overlap begins at the larger of the two begins, and ends at the smaller of the two ends.",
        "A file doesn't know where it lies in the tensor. Subtract its first row.",
    ]
    solution = """
        def shards(n, ranks):
            step = -(-n // ranks)
            return [(min(r * step, n), min((r + 1) * step, n)) for r in range(ranks)]

        def wanted(n, old, new, rank):
            begin, end = shards(n, new)[rank]
            found = []
            for file, (a, b) in enumerate(shards(n, old)):
                first, last = max(a, begin), min(b, end)
                if first < last:
                    found.append((file, first - a, last - a))
            return found
    """
    reason = """
        It's `overlap` of the shipped source, in one dimension. With more dimensions, do the same in each of them; two
        boxes overlap if they do in all.
    """
    wrong = [
        Wrong(
            """
            def shards(n, ranks):
                step = -(-n // ranks)
                return [(min(r * step, n), min((r + 1) * step, n)) for r in range(ranks)]

            def wanted(n, old, new, rank):
                begin, end = shards(n, new)[rank]
                return [(k, max(a, begin), min(b, end)) for k, (a, b) in enumerate(shards(n, old))
                        if max(a, begin) < min(b, end)]
            """,
            says="within the file",
            why="These are rows of the tensor.",
        ),
        Wrong(
            """
            def shards(n, ranks):
                step = -(-n // ranks)
                return [(min(r * step, n), min((r + 1) * step, n)) for r in range(ranks)]

            def wanted(n, old, new, rank):
                begin, end = shards(n, new)[rank]
                return [(k, max(a, begin) - a, min(b, end) - a) for k, (a, b) in enumerate(shards(n, old))
                        if max(a, begin) <= min(b, end)]
            """,
            says="for nothing",
            why="It reads no rows from neighbours.",
        ),
        Wrong(
            """
            def shards(n, ranks):
                step = -(-n // ranks)
                return [(min(r * step, n), min((r + 1) * step, n)) for r in range(ranks)]

            def wanted(n, old, new, rank):
                begin, end = shards(n, new)[rank]
                return [(k, 0, b - a) for k, (a, b) in enumerate(shards(n, old))
                        if max(a, begin) < min(b, end)]
            """,
            says="more rows than",
            why="It reads whole files.",
        ),
    ]

    def check(wanted):
        cases = [(8, 4, 2, 0), (8, 2, 4, 3), (10, 4, 3, 1), (5, 4, 8, 7), (12, 3, 2, 1)]
        for _ in range(30):
            new = random.randrange(1, 9)
            cases.append(
                (random.randrange(1, 50), random.randrange(1, 9), new, random.randrange(new))
            )
        for n, old, new, rank in cases:
            came, true = wanted(n, old, new, rank), true_wanted(n, old, new, rank)
            shown = f"For wanted({n}, {old}, {new}, {rank})"
            require(
                isinstance(came, list)
                and all(isinstance(one, (tuple, list)) and len(one) == 3 for one in came),
                f"{shown} you return {came!r}; a list of (file, begin, end) is wanted.",
            )
            pieces = [tuple(one) for one in came]
            require(
                all(begin < end for _, begin, end in pieces),
                f"{shown} you return {came}. A file is opened for nothing.",
            )
            note = ""
            if [one[0] for one in pieces] == [one[0] for one in true]:
                count, needed = (sum(e - b for _, b, e in x) for x in (pieces, true))
                note = " Rows are counted within the file."
                if count > needed:
                    note = f" That's more rows than the {needed} of this rank."
            require(pieces == true, f"{shown}, {true} is expected, and you return {came}.{note}")


def stepped(shards, grads, lr, divide=None, shift=0, only_own=False, floor=False, skip=None):
    """A sharded step of every rank, with a few screws to turn."""
    ranks, n = len(grads), len(grads[0])
    mean = sum(grads) / (divide or ranks)
    first, new = 0, []
    for rank, shard in enumerate(shards):
        begin = rank * (n // ranks) if floor else first
        begin = (begin + shift) % max(1, n - len(shard) + 1) if ranks > 1 else begin
        source = grads[rank] if only_own else mean
        piece = source[begin : begin + len(shard)]
        new.append(shard.clone() if rank == skip else shard - lr * piece)
        first += len(shard)
    return new


class HuntTheShards(BugHunt):
    """A test for a sharded step

    `step(shards, grads, lr)` plays one sharded SGD step of all ranks in one process. `shards[r]` is rank r's part of
    the weights, a vector; together they are the whole, and the last one may be shorter. `grads[r]` is the gradient of
    the *whole* that rank r has computed. Each rank gets its part of the average gradient, and steps; the result is the
    list of new shards. Six people wrote it, and five made one mistake each. Write `test(step)`.
    """

    idea = "Forty lines"
    stub = """
        def test(step):
            new = step([torch.ones(2)], [torch.ones(2)], 0.5)
            assert torch.allclose(new[0], torch.full((2,), 0.5))
    """
    hints = [
        "With one rank, almost everything is right. Take three, with different gradients.",
        "What if the number of weights isn't a multiple of the number of ranks?",
        "Put the new shards together, and compare them with the step of one process.",
    ]
    solution = """
        def test(step):
            torch.manual_seed(0)
            for n, ranks in ((6, 1), (6, 2), (7, 3), (8, 3)):
                w = torch.randn(n)
                grads = [torch.randn(n) for _ in range(ranks)]
                shards = [part.clone() for part in w.chunk(ranks)]
                new = step([s.clone() for s in shards], [g.clone() for g in grads], 0.1)
                assert [len(s) for s in new] == [len(s) for s in shards]
                true = w - 0.1 * sum(grads) / ranks
                assert torch.allclose(torch.cat(list(new)), true, atol=1e-5)
    """
    reason = """
        A sharded step must be the plain step, cut into pieces. Random numbers make all pieces different, so a rank that
        takes the wrong piece shows. And 7 weights on 3 ranks show how boundaries are computed.
    """
    wrong = [
        Wrong(
            """
            def test(step):
                torch.manual_seed(0)
                w = torch.randn(8)
                grads = [torch.randn(8) for _ in range(2)]
                new = step(list(w.chunk(2)), grads, 0.1)
                assert torch.allclose(torch.cat(new), w - 0.1 * sum(grads) / 2, atol=1e-5)
            """,
            says="(number 4)",
            why="Everything is a multiple of everything.",
        ),
        Wrong(
            """
            def test(step):
                w, g = torch.arange(7.0), torch.ones(7)
                new = step(list(w.chunk(3)), [g, g, g], 0.5)
                assert torch.allclose(torch.cat(new), w - 0.5)
            """,
            says="(number 2, 3, 4)",
            why="If all gradients are equal, the wrong piece is as good as the right one.",
        ),
    ]

    def right(shards, grads, lr):
        return stepped(shards, grads, lr)

    def adds(shards, grads, lr):
        """it adds the gradients up and doesn't divide"""
        return stepped(shards, grads, lr, divide=1)

    def own_only(shards, grads, lr):
        """each rank uses its own gradient, and no one adds anything up"""
        return stepped(shards, grads, lr, only_own=True)

    def wrong_piece(shards, grads, lr):
        """each rank takes a piece of the gradient that begins one number too late"""
        return stepped(shards, grads, lr, shift=1)

    def rounded_down(shards, grads, lr):
        """it computes boundaries with n // ranks, which is wrong if something is left over"""
        return stepped(shards, grads, lr, floor=True)

    def skips_last(shards, grads, lr):
        """the last rank doesn't step, where there are other ranks"""
        return stepped(shards, grads, lr, skip=len(shards) - 1 if len(shards) > 1 else None)

    bugs = [adds, own_only, wrong_piece, rounded_down, skips_last]
