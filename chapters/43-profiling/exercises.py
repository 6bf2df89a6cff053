"""Exercises of chapter 43, profiling."""

import random

from tensorlab.learn import BugHunt, Exercise, Wrong, require

IMPORTS = ""

RECORDS = [
    ("train", None, 0, 200),
    ("forward", 0, 20, 80),
    ("mm", 1, 25, 60),
    ("backward", 0, 80, 190),
    ("mm", 3, 90, 120),
    ("mm", 3, 125, 165),
]


def own_times(records):
    own = [end - start for _, _, start, end in records]
    for _, outer, start, end in records:
        if outer is not None:
            own[outer] -= end - start
    return own


def averages_of(records):
    found = {}
    for (name, _, start, end), own in zip(records, own_times(records), strict=True):
        calls, total, alone = found.get(name, (0, 0, 0))
        found[name] = calls + 1, total + end - start, alone + own
    return found


def hint_about(name, own, records):
    """What was probably done, if this isn't the self time of a name."""
    all_inside, zero_left_out = 0, 0
    for i, (one, *_) in enumerate(records):
        if one != name:
            continue
        below = {i}
        for k, (_, outer, _, _) in enumerate(records):
            if outer in below:
                below.add(k)
        time = {k: records[k][3] - records[k][2] for k in below}
        children = sum(time[k] for k in below if records[k][1] == i)
        all_inside += 2 * time[i] - sum(time.values())
        zero_left_out += time[i] - (children if i else 0)
    if own == all_inside:
        return "Take away only what is directly inside."
    return "Was record 0 left out?" if own == zero_left_out else ""


def busy_time(records, name):
    covered = set()
    for one, _, start, end in records:
        if one == name:
            covered.update(range(start, end))
    return len(covered)


def random_records(names=("a", "b", "c", "d")):
    """Records inside each other, with whole numbers as times, in the order in which they begin."""
    records, clock = [], 0

    def run(outer, depth):
        nonlocal clock
        number = len(records)
        records.append(None)
        start = clock
        clock += random.randrange(1, 6)
        for _ in range(random.choice([0, 0, 1, 2, 3]) if depth < 4 else 0):
            run(number, depth + 1)
            clock += random.randrange(1, 4)
        records[number] = (random.choice(names), outer, start, clock)

    for _ in range(random.randrange(1, 4)):
        run(None, 0)
        clock += random.randrange(0, 3)
    return records


class SelfTimes(Exercise):
    """Self times

    Here are six records: name, the number of the record around it, start and end.

        0  train     -    0  200
        1  forward   0   20   80
        2  mm        1   25   60
        3  backward  0   80  190
        4  mm        3   90  120
        5  mm        3  125  165

    What is the self time of each? Calculate by hand.
    """

    kind = "warm-up"
    idea = "Records inside each other"
    stub = """
        own = [None, None, None, None, None, None]
    """
    hints = [
        "Total minus the totals of the records *directly* inside.",
        "`mm` number 2 is inside of `forward`, not directly inside of `train`.",
        "The six self times must add up to 200.",
    ]
    solution = """
        own = [30, 25, 35, 40, 30, 40]
    """
    reason = """
        `train` has 200 - 60 - 110, `forward` 60 - 35 and `backward` 110 - 30 - 40. The products have nothing inside.
        If your numbers don't add up to 200, something was counted twice or not at all.
    """
    wrong = [
        Wrong(
            "own = [200, 60, 35, 110, 30, 40]",
            says="total times",
            why="Self time leaves out what is inside.",
        ),
        Wrong(
            "own = [-75, 25, 35, 40, 30, 40]",
            says="directly inside",
            why="What is two levels down has been taken away from `forward` already.",
        ),
    ]

    def check(own):
        require(
            isinstance(own, list | tuple) and len(own) == len(RECORDS),
            "`own` must be a list of six numbers.",
        )
        own = list(own)
        totals = [end - start for _, _, start, end in RECORDS]
        require(own != totals, "These are the total times.")
        require(
            own[0] != totals[0] - sum(totals[1:]),
            "For train you took away everything. Only what is directly inside counts.",
        )
        for i, (came, true) in enumerate(zip(own, own_times(RECORDS), strict=True)):
            require(
                came == true,
                f"Look again at record {i}, {RECORDS[i][0]}: {came!r} isn't its self time.",
            )


class Averages(Exercise):
    """The rows of a table

    Write `averages(records)`. `records` is a list of (name, outer, start, end) as above, where `outer` is the number of
    the record around it, or None. The result is a dict: for each name a tuple of the number of calls, the sum of the
    total times, and the sum of the self times.
    """

    kind = "implement"
    idea = "Records inside each other"
    stub = """
        def averages(records):
            return {name: (1, end - start, end - start) for name, outer, start, end in records}
    """
    hints = [
        "First make a list with the self time of each record, then add up by name.",
        "Begin with the totals, and go through the records: each takes its total away from the record around it.",
    ]
    solution = """
        def averages(records):
            own = [end - start for _, _, start, end in records]
            for _, outer, start, end in records:
                if outer is not None:
                    own[outer] -= end - start
            rows = {}
            for (name, _, start, end), alone in zip(records, own):
                calls, total, self_time = rows.get(name, (0, 0, 0))
                rows[name] = (calls + 1, total + end - start, self_time + alone)
            return rows
    """
    reason = """
        One pass gives all self times, because every record knows the one around it. A function that calls itself has
        its time counted twice in the total, as in PyTorch's table, and once in the self time.
    """
    wrong = [
        Wrong(
            """
            def averages(records):
                rows = {}
                for name, outer, start, end in records:
                    calls, total, own = rows.get(name, (0, 0, 0))
                    rows[name] = (calls + 1, total + end - start, own + end - start)
                return rows
            """,
            says="nothing has been taken away",
            why="A self time leaves out what is inside.",
        ),
        Wrong(
            """
            def averages(records):
                own = [end - start for _, _, start, end in records]
                for _, outer, start, end in records:
                    while outer is not None:
                        own[outer] -= end - start
                        outer = records[outer][1]
                rows = {}
                for (name, _, start, end), alone in zip(records, own):
                    calls, total, self_time = rows.get(name, (0, 0, 0))
                    rows[name] = (calls + 1, total + end - start, self_time + alone)
                return rows
            """,
            says="directly inside",
            why="A grandchild is inside of a child already.",
        ),
        Wrong(
            """
            def averages(records):
                own = [end - start for _, _, start, end in records]
                for _, outer, start, end in records:
                    if outer:
                        own[outer] -= end - start
                rows = {}
                for (name, _, start, end), alone in zip(records, own):
                    calls, total, self_time = rows.get(name, (0, 0, 0))
                    rows[name] = (calls + 1, total + end - start, self_time + alone)
                return rows
            """,
            says="record 0",
            why="0 is a number of a record too, and it counts as False.",
        ),
    ]

    def check(averages):
        for records in (RECORDS, *(random_records() for _ in range(15))):
            came, true = averages(list(records)), averages_of(records)
            require(
                isinstance(came, dict) and came.keys() == true.keys(),
                f"For {records} the result must be a dict with the names {', '.join(true)}.",
            )
            totals = {name: (calls, total, total) for name, (calls, total, _) in true.items()}
            shown = {name: tuple(row) for name, row in came.items()}
            require(
                shown == true or shown != totals,
                f"For {records} nothing has been taken away from any record.",
            )
            for name, row in true.items():
                got = tuple(came[name])
                require(
                    len(got) == 3, f"For {name} you give {came[name]!r}. A row has three numbers."
                )
                for what, one, right in zip(
                    ("calls", "total time", "self time"), got, row, strict=True
                ):
                    note = hint_about(name, one, records) if what == "self time" else ""
                    require(
                        one == right,
                        f"For {records} the {what} of {name} is {right}, not {one}. {note}",
                    )


class Busy(Exercise):
    """How long was it really?

    A function that calls itself is counted twice in the total. Write `busy(records, name)`: the time in which at least
    one record of that name was open. Records are as above, with whole numbers as times; they're from one thread, in
    the order in which they begin. The name may not occur at all.
    """

    kind = "extend"
    idea = "Records inside each other"
    stub = """
        def busy(records, name):
            return sum(end - start for one, _, start, end in records if one == name)
    """
    hints = [
        "A record doesn't count if a record of the same name is around it, however far out.",
        "Follow `outer` until it's None.",
    ]
    solution = """
        def busy(records, name):
            def is_inside(outer):
                while outer is not None:
                    if records[outer][0] == name:
                        return True
                    outer = records[outer][1]
                return False

            return sum(end - start for one, outer, start, end in records
                       if one == name and not is_inside(outer))
    """
    reason = """
        In one thread, two records are either apart or one inside of the other. So only those that are outermost of
        their name count, and the others are covered by them.
    """
    wrong = [
        Wrong(
            """
            def busy(records, name):
                return sum(end - start for one, outer, start, end in records
                           if one == name and (outer is None or records[outer][0] != name))
            """,
            says="further out",
            why="Another name may lie between two records of the same name.",
        ),
        Wrong(
            """
            def busy(records, name):
                times = [(start, end) for one, _, start, end in records if one == name]
                return max(end for _, end in times) - min(start for start, _ in times)
            """,
            says="Between calls",
            why="Between the first and the last call, other things ran.",
        ),
        Wrong(
            """
            def busy(records, name):
                return max((end - start for one, _, start, end in records if one == name), default=0)
            """,
            says="one of several",
            why="Several calls, one after the other, all count.",
        ),
    ]

    def check(busy):
        nested = [("f", None, 0, 10), ("g", 0, 1, 9), ("f", 1, 2, 5), ("f", None, 12, 20)]
        cases = [(nested, "f"), (RECORDS, "mm"), (RECORDS, "add")]
        cases += [(random_records(("f", "g")), random.choice("fg")) for _ in range(20)]
        for records, name in cases:
            came, true = busy(list(records), name), busy_time(records, name)
            spans = [(start, end) for one, _, start, end in records if one == name]
            note = "A record of the same name may be further out than directly around it."
            if spans and came == spans[-1][1] - spans[0][0]:
                note = "Between calls, other things ran."
            elif spans and came == max(end - start for start, end in spans):
                note = "That's the longest, one of several."
            require(
                came == true, f"For {records} some {name} was open for {true}, not {came!r}. {note}"
            )


class HuntTheTable(BugHunt):
    """A test for a table

    `averages(records)` is that of exercise 43.2. Five people wrote it, and each made one mistake. Write
    `test(averages)`: it passes on the right version and fails on each of theirs.
    """

    idea = "Worked trace"
    stub = """
        def test(averages):
            assert averages([("mm", None, 0, 10)]) == {"mm": (1, 10, 10)}
    """
    hints = [
        "You need a name that occurs twice, and records three levels deep.",
        "Is the last record of the list looked at? Does a call of the same name inside of another one count?",
    ]
    solution = """
        def test(averages):
            records = [("f", None, 0, 20), ("g", 0, 2, 12), ("h", 1, 4, 9), ("f", 1, 9, 11), ("g", 0, 14, 17)]
            assert averages(records) == {"f": (2, 22, 9), "g": (2, 13, 6), "h": (1, 5, 5)}
    """
    reason = """
        Five records are enough: three levels, a name that comes back inside of another, and one at the end that counts.
    """
    wrong = [
        Wrong(
            """
            def test(averages):
                records = [("f", None, 0, 20), ("g", 0, 2, 12)]
                assert averages(records) == {"f": (1, 20, 10), "g": (1, 10, 10)}
            """,
            says="(number 2, 3, 5)",
            why="Without a third level and a repeated name, three mistakes change nothing.",
        ),
        Wrong(
            """
            def test(averages):
                records = [("f", None, 0, 20), ("g", 0, 2, 12), ("h", 1, 4, 9), ("g", 0, 14, 17)]
                assert {name: row[:2] for name, row in averages(records).items()} == {
                    "f": (1, 20), "g": (2, 13), "h": (1, 5)}
            """,
            says="(number 1, 2, 5)",
            why="Three of the mistakes are in the self time only.",
        ),
    ]

    def right(records):
        return averages_of(records)

    def takes_nothing_away(records):
        """its self times are the totals"""
        return {
            name: (calls, total, total) for name, (calls, total, _) in averages_of(records).items()
        }

    def takes_too_much_away(records):
        """it takes grandchildren away as well"""
        own = [end - start for _, _, start, end in records]
        for _, outer, start, end in records:
            while outer is not None:
                own[outer] -= end - start
                outer = records[outer][1]
        found = {}
        for (name, _, start, end), alone in zip(records, own, strict=True):
            calls, total, mine = found.get(name, (0, 0, 0))
            found[name] = calls + 1, total + end - start, mine + alone
        return found

    def keeps_the_last(records):
        """of several calls of one name it keeps the last"""
        found = {}
        for (name, _, start, end), own in zip(records, own_times(records), strict=True):
            found[name] = 1, end - start, own
        return found

    def leaves_out_the_last(records):
        """it doesn't look at the last record, unless there is only one"""
        return averages_of(records[:-1] if len(records) > 1 else records)

    def ignores_calls_of_itself(records):
        """a record inside of one with the same name isn't taken away from what is around it"""
        found, own = {}, [end - start for _, _, start, end in records]
        for name, outer, start, end in records:
            names, place = [], outer
            while place is not None:
                names.append(records[place][0])
                place = records[place][1]
            if outer is not None and name not in names:
                own[outer] -= end - start
        for (name, _, start, end), alone in zip(records, own, strict=True):
            calls, total, mine = found.get(name, (0, 0, 0))
            found[name] = calls + 1, total + end - start, mine + alone
        return found

    bugs = [
        takes_nothing_away,
        takes_too_much_away,
        keeps_the_last,
        leaves_out_the_last,
        ignores_calls_of_itself,
    ]
