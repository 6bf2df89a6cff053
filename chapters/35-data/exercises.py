"""Exercises of chapter 35, data."""

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require

IMPORTS = """
import math

import tensorlab as torch
"""


class Batches(Exercise):
    """How many batches, how many steps?

    Write `steps(samples, size, drop_last, epochs)`: how many batches a loader gives in all, over
    `epochs` epochs of `samples` samples, in batches of `size`. With `drop_last`, a last batch that is
    smaller is left out. Each epoch begins anew: samples that are left over don't wait for the next one.
    """

    kind = "warm-up"
    idea = "The last batch"
    stub = """
        def steps(samples, size, drop_last, epochs):
            return samples * epochs // size
    """
    hints = [
        "How many in one epoch? Then multiply.",
        "Rounding down leaves the last batch out; rounding up has it in: `-(-a // b)` rounds up.",
    ]
    solution = """
        def steps(samples, size, drop_last, epochs):
            per_epoch = samples // size if drop_last else -(-samples // size)
            return per_epoch * epochs
    """
    reason = """
        This number is what a schedule over all steps needs. With `samples * epochs / size` it would end
        too early or never.
    """
    wrong = [
        Wrong(
            """
            def steps(samples, size, drop_last, epochs):
                return samples * epochs // size
            """,
            says="Each epoch begins anew",
            why="What is left over in one epoch isn't carried into the next.",
        ),
        Wrong(
            """
            def steps(samples, size, drop_last, epochs):
                return (samples // size + (not drop_last)) * epochs
            """,
            says="divides the number",
            why="If nothing is left over, there's no smaller batch.",
        ),
        Wrong(
            """
            def steps(samples, size, drop_last, epochs):
                return samples // size * epochs
            """,
            says="last batch is smaller",
            why="Without drop_last, the smaller batch counts.",
        ),
        Wrong(
            """
            def steps(samples, size, drop_last, epochs):
                return -(-samples // size) * epochs
            """,
            says="left out",
            why="With drop_last, the smaller batch doesn't count.",
        ),
    ]

    def check(steps):
        for samples, size, drop_last, epochs in (
            (10, 5, False, 3),
            (10, 5, True, 2),
            (10, 4, False, 5),
            (10, 4, False, 1),
            (10, 4, True, 1),
            (11, 4, True, 4),
            (3, 8, False, 2),
            (3, 8, True, 2),
            (1000, 64, False, 7),
            (0, 4, False, 3),
        ):
            whole, left = divmod(samples, size)
            true = (whole + (left > 0 and not drop_last)) * epochs
            came = steps(samples, size, drop_last, epochs)
            require(
                isinstance(came, int | float), f"steps returned {describe(came)}; return a number."
            )
            if came == true:
                continue
            said = f"steps({samples}, {size}, {drop_last}, {epochs}) isn't {came}."
            require(
                left > 0 or came != (whole + 1) * epochs,
                f"{said} {size} divides the number of samples, so no batch is smaller.",
            )
            require(
                epochs == 1 or came not in (samples * epochs // size, -(-samples * epochs // size)),
                f"{said} Each epoch begins anew; nothing is carried over.",
            )
            require(drop_last, f"{said} The last batch is smaller, and it counts.")
            require(False, f"{said} A last batch that is smaller is left out.")


class Pad(Exercise):
    """Sentences of different lengths

    Samples are pairs of a 1-d int64 tensor (a sentence) and an int (its label). Write a `collate_fn`
    for them: `pad(samples)` returns three tensors: the sentences as one tensor of shape (batch,
    longest), filled up with 0 at the end; their lengths; and the labels. All three have dtype int64.
    `samples` is a list of at least one pair; a sentence may be empty.
    """

    kind = "implement"
    idea = "Collate"
    stub = """
        def pad(samples):
            sentences = torch.stack([sentence for sentence, label in samples])
            labels = torch.tensor([label for sentence, label in samples])
            return sentences, labels
    """
    hints = [
        "Find the longest, then make a tensor of zeros and write each sentence into its row.",
        "`rows[i, : len(sentence)] = sentence`",
    ]
    solution = """
        def pad(samples):
            lengths = [len(sentence) for sentence, _ in samples]
            rows = torch.zeros(len(samples), max(lengths), dtype=torch.int64)
            for i, (sentence, _) in enumerate(samples):
                rows[i, : len(sentence)] = sentence
            labels = [label for _, label in samples]
            return rows, torch.tensor(lengths), torch.tensor(labels)
    """
    reason = """
        The lengths matter: without them, the network couldn't tell a 0 that is a word from one that
        fills up. Padding to the longest of the *batch* and not of the whole data set is what makes
        batches of similar lengths cheap.
    """
    wrong = [
        Wrong(
            """
            def pad(samples):
                lengths = [len(sentence) for sentence, _ in samples]
                rows = torch.zeros(len(samples), max(lengths), dtype=torch.int64)
                for i, (sentence, _) in enumerate(samples):
                    rows[i, rows.shape[1] - len(sentence) :] = sentence
                labels = [label for _, label in samples]
                return rows, torch.tensor(lengths), torch.tensor(labels)
            """,
            says="at the end",
            why="The zeros come after the words.",
        ),
        Wrong(
            """
            def pad(samples):
                lengths = [len(sentence) for sentence, _ in samples]
                rows = torch.zeros(len(samples), max(lengths))
                for i, (sentence, _) in enumerate(samples):
                    rows[i, : len(sentence)] = sentence
                labels = [label for _, label in samples]
                return rows, torch.tensor(lengths), torch.tensor(labels)
            """,
            says="dtype",
            why="zeros are float32 unless you say otherwise.",
        ),
        Wrong(
            """
            def pad(samples):
                lengths = [len(sentence) for sentence, _ in samples]
                rows = torch.zeros(len(samples), 8, dtype=torch.int64)
                for i, (sentence, _) in enumerate(samples):
                    rows[i, : len(sentence)] = sentence[:8]
                labels = [label for _, label in samples]
                return rows, torch.tensor(lengths), torch.tensor(labels)
            """,
            says="longest",
            why="The width depends on the batch.",
        ),
        Wrong(
            """
            def pad(samples):
                rows = torch.zeros(len(samples), max(len(s) for s, _ in samples), dtype=torch.int64)
                for i, (sentence, _) in enumerate(samples):
                    rows[i, : len(sentence)] = sentence
                labels = [label for _, label in samples]
                return rows, (rows != 0).sum(1), torch.tensor(labels)
            """,
            says="the lengths for sentences",
            why="A 0 may be a word of the sentence.",
        ),
    ]

    def check(pad):
        for sizes in ((3, 5, 1), (4,), (2, 2), (0, 3), (12, 1, 7, 7, 9), (0, 0)):
            samples = [(torch.randint(0, 9, (n,)), int(torch.randint(0, 50, ()))) for n in sizes]
            if len(sizes) == 3:
                samples[1] = torch.tensor([0, 4, 0, 2, 0]), 3
            given = [(sentence.clone(), label) for sentence, label in samples]
            came = pad(list(samples))
            about = f"for sentences of lengths {list(sizes)}"
            require(
                isinstance(came, tuple | list) and len(came) == 3,
                f"pad returned {describe(came)}; return sentences, lengths and labels.",
            )
            rows, lengths, labels = came
            for name, one in zip(("sentences", "lengths", "labels"), came, strict=True):
                require(isinstance(one, torch.Tensor), f"The {name} are {one!r}; return a tensor.")
                require(
                    one.dtype == torch.int64, f"The {name} have dtype {one.dtype}; expected int64."
                )
            require(
                tuple(rows.shape) == (len(sizes), max(sizes)),
                f"The sentences have shape {tuple(rows.shape)} {about}; the longest has {max(sizes)} words.",
            )
            for i, (sentence, _) in enumerate(given):
                row, n = rows[i].tolist(), len(sentence)
                words = sentence.tolist()
                require(
                    row == words + [0] * (len(row) - n),
                    f"Row {i} is {row} for the sentence {words}; the zeros are at the end.",
                )
            expect(lengths.tolist(), list(sizes), f"the lengths {about}")
            expect(labels.tolist(), [label for _, label in given], "the labels")
            same = all(torch.equal(a, b) for (a, _), (b, _) in zip(samples, given, strict=True))
            require(same, "pad has changed the sentences that it was given.")


class Buffer(Exercise):
    """Shuffling a stream

    A stream has no index, so it can't be shuffled as a whole. Write a generator `buffered(stream, size,
    generator)`. It keeps a buffer of `size` elements. As long as the stream goes on, it picks one place
    of the full buffer at random, yields what is there, and puts the next element in its place. At the
    end it yields the rest of the buffer in a random order. Draw all random numbers from `generator`, a
    `torch.Generator`. Take no more from the stream than `size` elements ahead of what was yielded. The
    stream may be shorter than the buffer.
    """

    kind = "implement"
    idea = "What shuffling does"
    stub = """
        def buffered(stream, size, generator):
            yield from stream
    """
    hints = [
        "First fill the buffer. When it's full, each further element swaps places with a random one.",
        "`int(torch.randint(len(buffer), (), generator=generator))` draws a place.",
        "The rest: `torch.randperm(len(buffer), generator=generator).tolist()`.",
    ]
    solution = """
        def buffered(stream, size, generator):
            buffer = []
            for element in stream:
                if len(buffer) < size:
                    buffer.append(element)
                    continue
                place = int(torch.randint(size, (), generator=generator))
                yield buffer[place]
                buffer[place] = element
            for place in torch.randperm(len(buffer), generator=generator).tolist():
                yield buffer[place]
    """
    reason = """
        An element can come at most `size - 1` places too early, but any number of places too late. For sorted
        data a small buffer isn't enough. Try some sizes in the chapter's experiment.
    """
    wrong = [
        Wrong(
            """
            def buffered(stream, size, generator):
                elements = list(stream)
                for place in torch.randperm(len(elements), generator=generator).tolist():
                    yield elements[place]
            """,
            says="ahead",
            why="A stream may be endless; it can't be read as a whole.",
        ),
        Wrong(
            """
            def buffered(stream, size, generator):
                buffer = []
                for element in stream:
                    if len(buffer) < size:
                        buffer.append(element)
                        continue
                    place = int(torch.randint(size, (), generator=generator))
                    yield buffer[place]
                    buffer[place] = element
            """,
            says="comes once",
            why="The rest of the buffer is lost.",
        ),
        Wrong(
            """
            def buffered(stream, size, generator):
                buffer = []
                for element in stream:
                    if len(buffer) < size:
                        buffer.append(element)
                        continue
                    place = int(torch.randint(size, (), generator=generator))
                    yield buffer[place]
                    buffer[place] = element
                yield from buffer
            """,
            says="rest of the buffer",
            why="A stream that is shorter than the buffer comes in its own order.",
        ),
        Wrong(
            """
            def buffered(stream, size, generator):
                buffer = []
                for element in stream:
                    if len(buffer) < size:
                        buffer.append(element)
                        continue
                    place = int(torch.randint(size, ()))
                    yield buffer[place]
                    buffer[place] = element
                for place in torch.randperm(len(buffer)).tolist():
                    yield buffer[place]
            """,
            says="global generator",
            why="The random numbers aren't those of the given generator.",
        ),
        Wrong(
            """
            def buffered(stream, size, generator):
                buffer = []
                for element in stream:
                    buffer.append(element)
                    if len(buffer) == size:
                        for place in torch.randperm(size, generator=generator).tolist():
                            yield buffer[place]
                        buffer = []
                for place in torch.randperm(len(buffer), generator=generator).tolist():
                    yield buffer[place]
            """,
            says="stay within",
            why="Blocks are shuffled one by one; no element leaves its block.",
        ),
    ]

    def check(buffered):
        for count, size in ((20, 5), (5, 5), (3, 8), (0, 4), (7, 1), (60, 12)):
            about = f"buffered of {count} elements with a buffer of {size}"
            taken = [0]

            def stream(count=count, taken=taken):
                for i in range(count):
                    taken[0] += 1
                    yield f"e{i}"

            torch.manual_seed(3)
            before = torch.get_rng_state()
            found = []
            elements = buffered(stream(), size, torch.Generator().manual_seed(1))
            for yielded, element in enumerate(elements):
                require(
                    taken[0] - yielded <= size + 1,
                    f"{about} has taken {taken[0]} elements when it yields number {yielded}: that's more than "
                    f"{size} ahead.",
                )
                found.append(element)
            require(
                sorted(found) == sorted(f"e{i}" for i in range(count)),
                f"{about} gives {found}; each element comes once.",
            )
            require(
                torch.equal(before, torch.get_rng_state()),
                f"{about} draws from the global generator; use the one that is given.",
            )
            again = [
                list(buffered(iter(found), size, torch.Generator().manual_seed(1)))
                for _ in range(2)
            ]
            require(again[0] == again[1], f"{about} gives two orders for one seed.")
        runs = [
            list(buffered(iter(range(40)), 8, torch.Generator().manual_seed(seed)))
            for seed in range(40)
        ]
        last = [tuple(sorted(run[-8:])) for run in runs]
        early = max(i - run.index(i) for run in runs for i in range(40))
        require(early < 8, f"An element comes {early} places too early from a buffer of 8.")
        late = max(run.index(i) - i for run in runs for i in range(40))
        require(
            late > 7, "Elements stay within blocks of 8; each next one must take a random place."
        )
        require(
            len({tuple(run[:5]) for run in runs}) > 20,
            "The first elements are nearly the same for 40 seeds.",
        )
        short = {
            tuple(buffered(iter(range(6)), 10, torch.Generator().manual_seed(seed)))
            for seed in range(30)
        }
        require(
            len(short) > 15,
            f"6 elements with a buffer of 10 come in {len(short)} orders for 30 seeds; the rest of the buffer "
            "comes in a random order.",
        )
        require(len(set(last)) > 5, "The same elements are always last.")


# ------------------------------------------------------------ the hunt
def right(labels, size, generator):
    rows = {}
    for i in torch.randperm(len(labels), generator=generator).tolist():
        rows.setdefault(labels[i], []).append(i)
    kinds = sorted(rows)
    for _ in range(min(len(indices) for indices in rows.values()) // size):
        yield [rows[kind].pop() for kind in kinds for _ in range(size)]


def not_shuffled(labels, size, generator):
    """The rows come in their own order."""
    rows = {}
    for i in range(len(labels)):
        rows.setdefault(labels[i], []).append(i)
    for k in range(min(map(len, rows.values())) // size):
        yield [i for kind in sorted(rows) for i in rows[kind][k * size : (k + 1) * size]]


def with_replacement(labels, size, generator):
    """Rows may come twice."""
    rows = {}
    for i, label in enumerate(labels):
        rows.setdefault(label, []).append(i)
    for _ in range(min(map(len, rows.values())) // size):
        batch = []
        for kind in sorted(rows):
            places = torch.randint(len(rows[kind]), (size,), generator=generator).tolist()
            batch += [rows[kind][place] for place in places]
        yield batch


def a_batch_too_few(labels, size, generator):
    """The last batch is missing."""
    batches = list(right(labels, size, generator))
    yield from batches[:-1]


def not_balanced(labels, size, generator):
    """Batches are cut from one order, whatever the labels are."""
    kinds = len(set(labels))
    order = torch.randperm(len(labels), generator=generator).tolist()
    count = min(labels.count(kind) for kind in set(labels)) // size
    for k in range(count):
        yield order[k * size * kinds : (k + 1) * size * kinds]


def drops_the_rarest(labels, size, generator):
    """The last kind is left out."""
    kinds = sorted(set(labels))
    for batch in right(labels, size, generator):
        yield [i for i in batch if labels[i] != kinds[-1]]


def same_every_time(labels, size, generator):
    """The generator isn't used, so that each epoch has the same order."""
    yield from right(labels, size, torch.Generator().manual_seed(0))


class Hunt(BugHunt):
    """Six samplers that aren't fair

    Write `test(balanced)`. It gets a generator function `balanced(labels, size, generator)`, a batch
    sampler. `labels` is a list of ints. Each batch is a list of indices, `size` of each label that
    there is. No index comes twice in an epoch. There are as many batches as the rarest label allows:
    three, if it comes 7 times and the size is 2. The order is random, drawn from `generator`, and
    another one in the next epoch with the same generator. Your test must raise if any of that doesn't
    hold. One function is right, and six are wrong.
    """

    idea = "Four stations"
    stub = """
        def test(balanced):
            labels = [0, 1, 0, 1]
            for batch in balanced(labels, 1, torch.Generator().manual_seed(0)):
                assert len(set(batch)) == len(batch)
    """
    hints = [
        "Use labels that come with different frequencies, in no order.",
        "Count: batches, labels in each batch, and how often each index comes.",
        "For the order: two epochs with one generator, and two generators with different seeds.",
    ]
    solution = """
        def test(balanced):
            labels = [0] * 9 + [2] * 13 + [5] * 7
            generator = torch.Generator().manual_seed(0)
            epochs = [list(balanced(labels, 2, generator)) for _ in range(2)]
            for batches in epochs:
                assert len(batches) == 3
                for batch in batches:
                    assert sorted(labels[i] for i in batch) == [0, 0, 2, 2, 5, 5]
                every = [i for batch in batches for i in batch]
                assert len(set(every)) == len(every)
            assert epochs[0] != epochs[1]
    """
    reason = """
        Each assertion is a sentence of the description. Together they leave little room.
    """
    wrong = [
        Wrong(
            """
            def test(balanced):
                labels = [0] * 9 + [2] * 13 + [5] * 7
                for batch in balanced(labels, 2, torch.Generator().manual_seed(0)):
                    assert sorted(labels[i] for i in batch) == [0, 0, 2, 2, 5, 5]
            """,
            says="of 6",
            why="The number of batches, the order and repeated rows aren't looked at.",
        ),
    ]
    right = right
    bugs = [
        not_shuffled,
        with_replacement,
        a_batch_too_few,
        not_balanced,
        drops_the_rarest,
        same_every_time,
    ]


class Groups(Exercise):
    """A split that doesn't leak

    Ten pictures of each patient lie in a data set. If a random split puts some of them into the
    training set and others into the test set, the test measures how well patients are recognised. Write
    `split(groups, share, generator)`. `groups` is a list with the group (any text or number) of each
    sample. Return two lists of indices, for training and for testing. All samples of a group are in the
    same list; together the lists have every index once, each in ascending order. Which groups are for
    testing is random: take groups in a random order, drawn from `generator`, until the test list has at
    least `share` of all samples, and no more groups than that needs. `share` is above 0 and below 1.
    """

    kind = "extend"
    idea = "What shuffling is for"
    stub = """
        def split(groups, share, generator):
            order = torch.randperm(len(groups), generator=generator).tolist()
            count = math.ceil(share * len(groups))
            return sorted(order[count:]), sorted(order[:count])
    """
    hints = [
        "Make a list of the different groups, in a fixed order, and shuffle *that*.",
        "`list(dict.fromkeys(groups))` has each group once, in the order of their first sample. "
        "A set has no fixed order.",
        "Go through the shuffled groups and collect their samples, until there are enough.",
    ]
    solution = """
        def split(groups, share, generator):
            kinds = list(dict.fromkeys(groups))
            chosen, count = set(), 0
            for place in torch.randperm(len(kinds), generator=generator).tolist():
                if count >= share * len(groups):
                    break
                chosen.add(kinds[place])
                count += groups.count(kinds[place])
            test = [i for i, group in enumerate(groups) if group in chosen]
            train = [i for i, group in enumerate(groups) if group not in chosen]
            return train, test
    """
    reason = """
        A sample isn't always the unit that must be split. Patients, speakers, days and copies of one
        picture are groups as well.
    """
    wrong = [
        Wrong(
            """
            def split(groups, share, generator):
                order = torch.randperm(len(groups), generator=generator).tolist()
                count = math.ceil(share * len(groups))
                return sorted(order[count:]), sorted(order[:count])
            """,
            says="in both",
            why="Samples are split, not groups.",
        ),
        Wrong(
            """
            def split(groups, share, generator):
                kinds = list(dict.fromkeys(groups))
                order = torch.randperm(len(kinds), generator=generator).tolist()
                chosen = {kinds[place] for place in order[: math.ceil(share * len(kinds))]}
                test = [i for i, group in enumerate(groups) if group in chosen]
                train = [i for i, group in enumerate(groups) if group not in chosen]
                return train, test
            """,
            says="of all samples",
            why="It counts groups, and these have different sizes.",
        ),
        Wrong(
            """
            def split(groups, share, generator):
                kinds = list(dict.fromkeys(groups))
                chosen, count = set(), 0
                for kind in kinds:
                    if count >= share * len(groups):
                        break
                    chosen.add(kind)
                    count += groups.count(kind)
                test = [i for i, group in enumerate(groups) if group in chosen]
                train = [i for i, group in enumerate(groups) if group not in chosen]
                return train, test
            """,
            says="for every seed",
            why="The first groups are always for testing.",
        ),
        Wrong(
            """
            def split(groups, share, generator):
                kinds = list(dict.fromkeys(groups))
                chosen, count = [], 0
                for place in torch.randperm(len(kinds), generator=generator).tolist():
                    if count >= share * len(groups):
                        break
                    chosen.append(kinds[place])
                    count += groups.count(kinds[place])
                test = [i for kind in chosen for i, group in enumerate(groups) if group == kind]
                train = [i for i, group in enumerate(groups) if group not in chosen]
                return train, test
            """,
            says="ascending",
            why="The test list is in the order of the groups.",
        ),
        Wrong(
            """
            def split(groups, share, generator):
                kinds = list(dict.fromkeys(groups))
                chosen, count = set(), 0
                for place in torch.randperm(len(kinds), generator=generator).tolist():
                    chosen.add(kinds[place])
                    count += groups.count(kinds[place])
                    if count > share * len(groups) + 1:
                        break
                test = [i for i, group in enumerate(groups) if group in chosen]
                train = [i for i, group in enumerate(groups) if group not in chosen]
                return train, test
            """,
            says="already enough",
            why="It takes one group too many.",
        ),
    ]

    def check(split):
        cases = [
            (["a"] * 10 + ["b"] * 10 + ["c"] * 10 + ["d"] * 10, 0.25),
            ([i % 7 for i in range(70)], 0.3),
            (["x"] * 50 + [f"p{i // 2}" for i in range(50)], 0.2),
            ([3, 1, 2, 3, 1, 2, 9, 9, 9, 9], 0.4),
            ([f"{i}" for i in range(12)], 0.5),
        ]
        for groups, share in cases:
            found = []
            for seed in range(25):
                given = list(groups)
                torch.manual_seed(1)
                before = torch.get_rng_state()
                came = split(given, share, torch.Generator().manual_seed(seed))
                about = (
                    f"split of {len(groups)} samples in {len(set(groups))} groups, share {share}"
                )
                require(
                    torch.equal(before, torch.get_rng_state()),
                    f"{about} draws from the global generator.",
                )
                require(given == groups, f"{about} has changed the list of groups.")
                require(
                    isinstance(came, tuple | list) and len(came) == 2,
                    f"{about} returned {describe(came)}; return two lists.",
                )
                train, test = (list(map(int, part)) for part in came)
                require(
                    sorted(train + test) == list(range(len(groups))),
                    f"{about}: the two lists must have every index once.",
                )
                both = {groups[i] for i in train} & {groups[i] for i in test}
                require(
                    not both,
                    f"{about}: samples of group {min(map(str, both), default='')!r} are in both lists.",
                )
                require(
                    train == sorted(train) and test == sorted(test),
                    f"{about}: the indices must be in ascending order.",
                )
                wanted = share * len(groups)
                require(
                    len(test) >= wanted,
                    f"{about}: the test list has {len(test)} samples; at least {wanted:g} of all samples "
                    "are asked for.",
                )
                sizes = [groups.count(kind) for kind in {groups[i] for i in test}]
                require(
                    len(test) - max(sizes) < wanted,
                    f"{about}: the test list has {len(test)} samples in groups of {sorted(sizes)}; {wanted:g} are "
                    "asked for, so without one of them there were already enough.",
                )
                found.append(tuple(test))
            require(
                len(set(found)) > 1, f"{about}: the same groups are for testing for every seed."
            )
            firsts = {groups[test[0]] for test in found}
            require(
                len(firsts) > 1 or len(set(groups)) < 3,
                f"{about}: the split hardly depends on the seed.",
            )
