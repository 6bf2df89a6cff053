"""Exercises of chapter 48, fusion and codegen."""

import random
import warnings

import tensorlab as torch
from tensorlab.compiler.explanation import call_ends, moved, step_ends
from tensorlab.compiler.program import Piece, Settings
from tensorlab.learn import Exercise, Wrong, describe, expect, require

IMPORTS = "import tensorlab as torch"

SIZE = 60


def chain(x, y):
    return torch.relu(x * 2 + 1)


def reused(x, y):
    return x * y + x


def two_results(x, y):
    a = x * 2
    return a, a + y


def scanned(x, y):
    return (x * 2 + 1).cumsum(0)


def around(x, y):
    a = x * 2
    return a + a.cumsum(0)


def viewed(x, y):
    return (x.t() - y.t()) * 3


PROGRAMS = {
    "relu(x * 2 + 1)": chain,
    "x * y + x": reused,
    "a, a + y": two_results,
    "(x * 2 + 1).cumsum(0)": scanned,
    "a + a.cumsum(0)": around,
    "(x.t() - y.t()) * 3": viewed,
}


def traffic_of(function):
    """Count the tensors that a program moves, op by op and fused. No C is compiled."""
    graphs = []

    def keep(module, examples):
        graphs.append(module.graph)
        return module.forward

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.compile(function, backend=keep)(torch.ones(SIZE, SIZE), torch.ones(SIZE, SIZE))
    piece = Piece(graphs[0], Settings(), None, True)
    ends = call_ends(piece.graph), step_ends(piece)
    return tuple(moved(one) // (4 * SIZE * SIZE) for one in ends)


class Traffic(Exercise):
    """Count the tensors that move

    Six programs of two square tensors `x` and `y`, of the same size. How many *tensors* does each of them read and
    write, op by op and fused? Count each tensor that a step reads once, and each that it writes. Numbers and
    views cost nothing, and what the program returns must be written. `cumsum` is always a call.

    In the third and the fifth program, `a` is `x * 2`. The third one returns both values. In the last one, both
    operands have the same strides, so neither lies across memory.

    Write pairs: `(op by op, fused)`. For `x + 1`, the pair is `(2, 2)`.
    """

    kind = "warm-up"
    idea = "One loop"
    stub = """
        moved = {
            "relu(x * 2 + 1)": (None, None),
            "x * y + x": (None, None),
            "a, a + y": (None, None),
            "(x * 2 + 1).cumsum(0)": (None, None),
            "a + a.cumsum(0)": (None, None),
            "(x.t() - y.t()) * 3": (None, None),
        }
    """
    hints = [
        "Op by op: an op of one tensor and a number moves 2, an op of two different tensors moves 3.",
        "Fused: for each kernel, count the tensors that it needs from outside, and those that something outside needs.",
        "In the fifth program, there's a path around: three steps. In the fourth one, the kernel before the scan must "
        "write its result.",
    ]
    solution = """
        moved = {
            "relu(x * 2 + 1)": (6, 2),
            "x * y + x": (6, 3),
            "a, a + y": (5, 4),
            "(x * 2 + 1).cumsum(0)": (6, 4),
            "a + a.cumsum(0)": (7, 7),
            "(x.t() - y.t()) * 3": (5, 3),
        }
    """
    reason = """
        A kernel moves its inputs and its outputs, and nothing else. An output is what something outside of the kernel
        reads: the program's caller, or a call such as `cumsum`.
    """
    wrong = [
        Wrong(
            """
            moved = {"relu(x * 2 + 1)": (4, 2), "x * y + x": (6, 3), "a, a + y": (5, 4)}
            moved |= {"(x * 2 + 1).cumsum(0)": (6, 4), "a + a.cumsum(0)": (7, 7), "(x.t() - y.t()) * 3": (5, 3)}
            """,
            says="three ops, and each of them",
            why="Each op writes a tensor, and the next one reads it.",
        ),
        Wrong(
            """
            moved = {"relu(x * 2 + 1)": (6, 2), "x * y + x": (6, 4), "a, a + y": (5, 4)}
            moved |= {"(x * 2 + 1).cumsum(0)": (6, 4), "a + a.cumsum(0)": (7, 7), "(x.t() - y.t()) * 3": (5, 3)}
            """,
            says="loads x once",
            why="The formula has `x` twice, and the loop loads it once.",
        ),
        Wrong(
            """
            moved = {"relu(x * 2 + 1)": (6, 2), "x * y + x": (6, 3), "a, a + y": (5, 3)}
            moved |= {"(x * 2 + 1).cumsum(0)": (6, 4), "a + a.cumsum(0)": (7, 7), "(x.t() - y.t()) * 3": (5, 3)}
            """,
            says="returns a as well",
            why="Both values are results, so both must be in memory.",
        ),
        Wrong(
            """
            moved = {"relu(x * 2 + 1)": (6, 2), "x * y + x": (6, 3), "a, a + y": (5, 4)}
            moved |= {"(x * 2 + 1).cumsum(0)": (6, 2), "a + a.cumsum(0)": (7, 7), "(x.t() - y.t()) * 3": (5, 3)}
            """,
            says="is a call",
            why="The scan reads what the kernel has written.",
        ),
        Wrong(
            """
            moved = {"relu(x * 2 + 1)": (6, 2), "x * y + x": (6, 3), "a, a + y": (5, 4)}
            moved |= {"(x * 2 + 1).cumsum(0)": (6, 4), "a + a.cumsum(0)": (7, 4), "(x.t() - y.t()) * 3": (5, 3)}
            """,
            says="path around",
            why="The product and the sum can't be one kernel, so nothing is saved.",
        ),
        Wrong(
            """
            moved = {"relu(x * 2 + 1)": (6, 2), "x * y + x": (6, 3), "a, a + y": (5, 4)}
            moved |= {"(x * 2 + 1).cumsum(0)": (6, 4), "a + a.cumsum(0)": (7, 7), "(x.t() - y.t()) * 3": (9, 3)}
            """,
            says="views cost nothing",
            why="A transposed tensor is a view. No number moves.",
        ),
        Wrong("moved = {}", says="the programs in moved", why="Every program needs a pair."),
    ]

    def check(moved):
        require(isinstance(moved, dict), "moved must be a dict, as in the stub.")
        expect(sorted(moved, key=str), sorted(PROGRAMS), "the programs in moved")
        remarks = {
            ("relu(x * 2 + 1)", 0, 4): "there are three ops, and each of them reads and writes.",
            ("x * y + x", 1, 4): "the kernel loads x once, however often the formula has it.",
            ("a, a + y", 1, 3): "the program returns a as well, so the kernel must write it.",
            ("(x * 2 + 1).cumsum(0)", 1, 2): "cumsum is a call, and it reads a tensor in memory.",
            (
                "a + a.cumsum(0)",
                1,
                4,
            ): "can x * 2 and the sum be one kernel? Look for a path around.",
            ("a + a.cumsum(0)", 1, 3): "cumsum is a call: it reads a tensor, and writes one.",
            ("(x.t() - y.t()) * 3", 0, 9): "views cost nothing, so there are two ops to count.",
        }
        for program, function in PROGRAMS.items():
            said = moved[program]
            is_pair = isinstance(said, (tuple, list)) and len(said) == 2
            is_pair = is_pair and all(type(one) is int for one in said)
            require(is_pair, f"{program}: write a pair of two ints, (op by op, fused).")
            for place, word in enumerate(("op by op", "fused")):
                remark = remarks.get((program, place, said[place]))
                require(remark is None, f"{program}, {word}: {remark}")
            truth = traffic_of(function)
            for place, word in enumerate(("op by op", "fused")):
                right = said[place] == truth[place]
                require(right, f"{program}, {word}: {said[place]} isn't what it moves.")


# ------------------------------------------------------------------------------------------------ graphs of steps
def random_graph(count, most=3):
    """Return {step: list of steps that it reads}, in a random order of the steps."""
    names = random.sample("abcdefghijklmnopqrstuvwxyz", count)
    reads = {}
    for place, name in enumerate(names):
        reads[name] = random.sample(names[:place], random.randint(0, min(place, most)))
    items = list(reads.items())
    random.shuffle(items)
    return dict(items)


def in_order(steps, reads):
    """Sort sets of names so that each comes after those that it reads; None if there is no such order."""
    steps, done, result = list(steps), set(), []
    while steps:
        ready = [one for one in steps if all(r in done or r in one for n in one for r in reads[n])]
        if not ready:
            return None
        for one in ready:
            steps.remove(one)
            done |= one
        result += ready
    return result


def is_possible(reads, group):
    return in_order([set(group), *({one} for one in reads if one not in group)], reads) is not None


LEGAL = [  # reads, group, may it be one step? And what to think of
    ({"a": [], "b": ["a"]}, "ab", True, "Nothing stands between them."),
    ({"a": [], "b": ["a"], "c": ["a", "b"]}, "ac", False, "When would b run?"),
    ({"a": [], "b": ["a"], "c": ["b"], "d": ["c", "a"]}, "ad", False, "The path has two steps."),
    ({"a": [], "b": ["a"], "c": ["a", "b"]}, "bc", True, "It may read from outside."),
    ({"a": [], "b": [], "c": ["a", "b"]}, "ab", True, "They needn't read each other."),
    ({"c": ["b", "a"], "b": ["a"], "a": []}, "bc", True, "The dict may be in any order."),
    (
        {"d": ["c", "a"], "c": ["b"], "b": ["a"], "a": []},
        "ad",
        False,
        "The dict may be in any order.",
    ),
    ({"a": [], "b": [], "c": ["b"], "d": ["a", "c"]}, "dba", False, "Look at all its steps."),
    ({"a": [], "b": ["a"], "c": ["b"], "d": ["a", "c"]}, "dba", False, "Look at all its steps."),
    ({"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}, "abcd", True, "There's no outside."),
    ({"a": []}, "a", True, "It's one step already."),
]


def wide_cases():
    """Yield groups of two whose path around leads over one of four steps, the first to the last of them."""
    for place in range(4):
        middle = {name: ["a"] if k == place else [] for k, name in enumerate("pqrs")}
        yield {"a": [], **middle, "z": list(middle)}, {"a", "z"}, False, ""
        yield {"a": [], **middle, "t": list(middle), "z": ["t"]}, {"a", "z"}, False, ""
        yield {"a": [], **middle, "t": list(middle), "z": ["a"]}, {"a", "z"}, True, ""


def in_words(reads):
    return ", ".join(f"{name} reads {' and '.join(of) or 'nothing'}" for name, of in reads.items())


class OneStep(Exercise):
    """May these be one step?

    `reads` is a graph: a dict from each step to the list of the steps whose results it reads. `group` is a set of
    some of these steps. Write `may_be_one(reads, group)`: can the group become one kernel, and still everything be
    put in an order in which each step has what it reads? Return `True` or `False`.

    The steps of the group needn't read each other. The dict may be in any order, and it has no circles.
    """

    kind = "implement"
    idea = "Which ops become one kernel"
    stub = """
        def may_be_one(reads, group):
            return True
    """
    hints = [
        "It's impossible if a step *outside* needs something of the group, and the group needs that step.",
        '"Needs" isn\'t only "reads": a step also needs what the steps that it reads need.',
        "Begin with the steps outside that the group reads. Follow `reads` from there. Do you come back to the group?",
    ]
    solution = """
        def may_be_one(reads, group):
            seen, todo = set(), [one for step in group for one in reads[step] if one not in group]
            while todo:
                step = todo.pop()
                if step in group:
                    return False
                if step not in seen:
                    seen.add(step)
                    todo += reads[step]
            return True
    """
    reason = """
        The walk begins at what the group reads from outside and goes on to everything that this needs. If it comes back
        to the group, there's a path around. Steps that were seen aren't followed twice, or a graph with many joins
        would take forever.
    """
    wrong = [
        Wrong(
            """
            def may_be_one(reads, group):
                for step in group:
                    for one in reads[step]:
                        if one not in group and any(other in group for other in reads[one]):
                            return False
                return True
            """,
            says="The path has two steps",
            why="The path around may have more than one step.",
        ),
        Wrong(
            """
            def may_be_one(reads, group):
                outside = {one for step in group for one in reads[step]} - set(group)
                return not outside
            """,
            says="It may read from outside",
            why="A group may read from outside, if that doesn't need the group.",
        ),
        Wrong(
            """
            def may_be_one(reads, group):
                linked = set()
                for step in group:
                    linked |= {step} | set(reads[step]) if set(reads[step]) & set(group) else set()
                if len(group) > 1 and not set(group) <= linked:
                    return False
                seen, todo = set(), [one for step in group for one in reads[step] if one not in group]
                while todo:
                    step = todo.pop()
                    if step in group:
                        return False
                    if step not in seen:
                        seen.add(step)
                        todo += reads[step]
                return True
            """,
            says="They needn't read each other",
            why="Two loops over the same tensor are one loop, if nothing stands between them.",
        ),
        Wrong(
            """
            def may_be_one(reads, group):
                def needed(step):
                    return {step}.union(*(needed(one) for one in reads[step]))

                first, last = min(group), max(group)
                return not any(first in needed(one) for one in reads[last] if one not in group)
            """,
            says="Look at all its steps",
            why="It only looks at two steps of the group.",
        ),
        Wrong(
            """
            def may_be_one(reads, group):
                needs = {}
                for step, of in reads.items():
                    needs[step] = set(of).union(*(needs.get(one, set()) for one in of))
                outside = {one for step in group for one in reads[step]} - set(group)
                return not any(needs[one] & set(group) for one in outside)
            """,
            says="The dict may be in any order",
            why="The dict needn't be in an order in which the steps can run.",
        ),
    ]

    def check(may_be_one):
        cases = [(reads, set(group), *rest) for reads, group, *rest in LEGAL]
        cases += wide_cases()
        for _ in range(150):
            reads = random_graph(random.randint(2, 9))
            group = set(random.sample(list(reads), random.randint(1, len(reads))))
            cases.append((reads, group, is_possible(reads, group), ""))
        for reads, group, possible, remark in cases:
            given = {name: list(of) for name, of in reads.items()}
            came = may_be_one(given, set(group))
            require(given == reads, "reads must stay as it was.")
            require(
                type(came) is bool,
                f"may_be_one gave {describe(came)}, and should give True or False.",
            )
            can = "can" if possible else "can't"
            words = f"{in_words(reads)}. As one step, {sorted(group)} {can} be put in an order."
            require(came is possible, f"{words} {remark}".strip())
        ladder = {"s0": []}
        for k in range(1, 11):
            ladder[f"l{k}"] = ladder[f"r{k}"] = [f"s{k - 1}"]
            ladder[f"s{k}"] = [f"l{k}", f"r{k}"]
        expect(
            may_be_one(ladder, {"s5", "s10"}),
            False,
            "A graph of 10 joins, of which s5 and s10 can't be put in an order as one step.",
        )


def neighbours(steps, reads):
    """Yield pairs of different steps of which the second reads the first."""
    for early in steps:
        for late in steps:
            if early is not late and any(one in early for name in late for one in reads[name]):
                yield early, late


GRAPHS = [  # reads, what can be fused, what to think of
    ({"a": [], "b": ["a"], "c": ["b"]}, "abc", "All three are one kernel."),
    ({"a": [], "b": ["a"], "c": ["a", "b"]}, "ac", "When would b run?"),
    ({"a": [], "b": ["a"], "c": ["a"]}, "ac", "c doesn't need b."),
    (
        {"a": [], "c": [], "x": ["a"], "y": ["c"], "b": ["x", "c"], "d": ["y", "a"]},
        "abcd",
        "{a, d} is right by itself, and {b, c} is. Are they right together?",
    ),
    ({"c": ["b"], "b": ["a"], "a": []}, "abc", "The dict may be in any order."),
    ({"a": [], "b": ["a"], "c": ["b"], "d": ["c"]}, "dba", ""),
    ({"a": []}, "", ""),
    ({"a": [], "b": ["a"]}, "", ""),
]


class Schedule(Exercise):
    """A scheduler

    Now divide a whole graph. Write `schedule(reads, fusable)`. `reads` is a graph as before, and `fusable` is the
    set of the steps that a kernel can compute. Return a list of sets:

    - each step of the graph is in exactly one set;
    - a set of more than one step has only steps of `fusable`;
    - the sets stand in an order in which each has what it reads;
    - nothing is left to do: there aren't two sets of `fusable` steps, of which one reads the other, that could
      still become one.

    There may be several right schedules, and each of them is accepted.
    """

    kind = "extend"
    idea = "Which ops become one kernel"
    stub = """
        def schedule(reads, fusable):
            return [{step} for step in reads]
    """
    hints = [
        "Begin with a set for each step. Merge two sets as long as there are two that may be merged.",
        "Don't ask about two *steps*: other sets have been merged already. Put all sets in an order, with the new one "
        "among them. If there's no order, don't merge.",
        "A function `order(sets, reads)`: again and again, take the sets that only read what's done or what's in "
        "themselves. If there's none to take, there's no order.",
    ]
    solution = """
        def order(sets, reads):
            done, result = set(), []
            while len(result) < len(sets):
                ready = [
                    one for one in sets
                    if one not in result and all(set(reads[step]) <= done | one for step in one)
                ]
                if not ready:
                    return None
                result += ready
                done = done.union(*ready)
            return result


        def merged(sets, reads, fusable):
            for early in sets:
                for late in sets:
                    both = early | late
                    if early is late or not both <= fusable:
                        continue
                    if any(set(reads[step]) & early for step in late):
                        fewer = [one for one in sets if one not in (early, late)] + [both]
                        if order(fewer, reads):
                            return fewer
            return None


        def schedule(reads, fusable):
            sets = [{step} for step in reads]
            while fewer := merged(sets, reads, fusable):
                sets = fewer
            return order(sets, reads)
    """
    reason = """
        Whether two sets may be merged depends on the other sets, because those are steps by now. To look for an order
        of all sets is slow and always right. The shipped compiler keeps the set of all needed steps for each step
        instead, and updates it with each merge.
    """
    wrong = [
        Wrong(
            """
            def schedule(reads, fusable):
                result, done = [], set()
                while len(done) < len(reads):
                    step = next(s for s in reads if s not in done and set(reads[s]) <= done)
                    result.append({step})
                    done.add(step)
                return result
            """,
            says="All three are one kernel",
            why="Nothing is fused at all.",
        ),
        Wrong(
            """
            def may_be_one(reads, group):
                seen, todo = set(), [one for step in group for one in reads[step] if one not in group]
                while todo:
                    step = todo.pop()
                    if step in group:
                        return False
                    if step not in seen:
                        seen.add(step)
                        todo += reads[step]
                return True


            def schedule(reads, fusable):
                sets = [{step} for step in reads]
                again = True
                while again:
                    again = False
                    for early in sets:
                        for late in sets:
                            if early is late or not early | late <= fusable or again:
                                continue
                            if any(set(reads[step]) & early for step in late) and may_be_one(reads, early | late):
                                sets = [one for one in sets if one not in (early, late)] + [early | late]
                                again = True
                                break
                result, done = [], set()
                while sets:
                    ready = [one for one in sets if all(set(reads[step]) <= done | one for step in one)]
                    ready = ready or sets[:1]
                    result += ready
                    done = done.union(*ready)
                    sets = [one for one in sets if one not in ready]
                return result
            """,
            says="Are they right together?",
            why="Each merge is right for the graph of single steps, but the other sets have become steps, too.",
        ),
        Wrong(
            """
            def schedule(reads, fusable):
                result, done = [], set()
                while len(done) < len(reads):
                    step = next(s for s in reads if s not in done and set(reads[s]) <= done)
                    if step in fusable and result and result[-1] <= fusable:
                        result[-1].add(step)
                    else:
                        result.append({step})
                    done.add(step)
                return result
            """,
            says="c doesn't need b",
            why="Only neighbours in one order are fused. A call in between needn't be in the way.",
        ),
        Wrong(
            """
            def schedule(reads, fusable):
                rest = [{step} for step in reads if step not in fusable]
                return [set(fusable), *rest]
            """,
            says="When would b run?",
            why="A call between two kernels is ignored.",
        ),
    ]

    def check(schedule):
        cases = [(reads, set(fusable), remark) for reads, fusable, remark in GRAPHS]
        for reads, group, *_ in wide_cases():
            reads = {**reads, "z": [*reads["z"], *({"a"} - set(reads["z"]))]}
            cases += [(reads, group, ""), (reads, set(reads), "")]
        for _ in range(100):
            reads = random_graph(random.randint(2, 9))
            share = random.choice([0.5, 0.75, 1])
            cases.append((reads, {one for one in reads if random.random() < share}, ""))
        for reads, fusable, remark in cases:
            given = {name: list(of) for name, of in reads.items()}
            came = schedule(given, set(fusable))
            check_schedule(came, reads, fusable, remark)


def check_schedule(came, reads, fusable, remark):
    """Raise Wrong unless a list of sets is a schedule of the graph."""
    words = f"{remark} {in_words(reads)}; fusable: {sorted(fusable)}.".strip()
    is_list = isinstance(came, (list, tuple)) and all(isinstance(s, (set, frozenset)) for s in came)
    require(is_list, "schedule must return a list of sets.")
    sets = [set(one) for one in came]
    shown = [sorted(one) for one in sets]
    names = sorted(name for one in sets for name in one)
    require(names == sorted(reads), f"{words} Each step must be in exactly one set, not {shown}.")
    require(all(sets), f"{words} {shown} has an empty set.")
    done = set()
    for one in sets:
        alone = len(one) == 1 or one <= fusable
        require(alone, f"{words} {sorted(one)} has a step that no kernel can compute.")
        missing = {r for name in one for r in reads[name]} - done - one
        early = f"{sorted(one)} stands before it has what it reads: {sorted(missing)} comes later."
        require(not missing, f"{words} In {shown}, {early}")
        done |= one
    for early, late in neighbours(sets, reads):
        if early | late <= fusable:
            fewer = [one for one in sets if one is not early and one is not late]
            pair = f"{sorted(early)} and {sorted(late)}"
            left = in_order([*fewer, early | late], reads) is not None
            require(not left, f"{words} In {shown}, {pair} could still become one.")
