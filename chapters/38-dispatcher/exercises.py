"""Exercises of chapter 38, the dispatcher."""

import itertools
import random

from tensorlab._core.dispatch.layers import Layer

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, expect_error, require

IMPORTS = """\
import itertools

import tensorlab as torch
from tensorlab.utils._python_dispatch import TorchDispatchMode
"""


class Note(Layer):
    """Writes its letter down, and passes the call on, once or several times."""

    def __init__(self, letter, place, seen, times=1):
        super().__init__(place)
        self.letter, self.seen, self.times = letter, seen, times

    def call(self, op, arguments):
        self.seen.append(self.letter)
        for _ in range(self.times):
            result = op(*arguments)
        return result


PROGRAMS = {  # the layers as they are entered, outermost first: letter, place, how often it passes a call on
    "with a(mode), b(recorder)": [("a", "mode", 1), ("b", "recorder", 1)],
    "with a(mode), b(mode)": [("a", "mode", 1), ("b", "mode", 1)],
    "with a(recorder), b(mode), c(recorder)": [
        ("a", "recorder", 1),
        ("b", "mode", 1),
        ("c", "recorder", 1),
    ],
    "with a(recorder), b(mode), t(mode)": [
        ("a", "recorder", 1),
        ("b", "mode", 1),
        ("t", "mode", 2),
    ],
    "with a(recorder), b(mode), t(transform)": [
        ("a", "recorder", 1),
        ("b", "mode", 1),
        ("t", "transform", 2),
    ],
}


def letters_of(layers):
    """Return what is written down in one call of `neg` with these layers."""
    x, seen = torch.ones(2), []
    entered = [Note(letter, place, seen, times) for letter, place, times in layers]
    for one in entered:
        one.__enter__()
    try:
        x.neg()
    finally:
        for one in reversed(entered):
            one.__exit__(None, None, None)
    return "".join(seen)


class WhoSees(Exercise):
    """Who sees the call?

    Each layer writes its letter down and then passes the call on. The layers `a`, `b` and `c` pass it on once,
    `t` passes it on *twice*. Inside each of these blocks, the program calls `x.neg()` one time. Which letters are
    written, and in which order? Replace each `None` by a string, such as `"aba"`.
    """

    kind = "warm-up"
    idea = "Who is next"
    stub = """
        answers = {
            "with a(mode), b(recorder)": None,
            "with a(mode), b(mode)": None,
            "with a(recorder), b(mode), c(recorder)": None,
            "with a(recorder), b(mode), t(mode)": None,
            "with a(recorder), b(mode), t(transform)": None,
        }
    """
    hints = [
        "The places decide first: transform, recorder, mode. When they were entered doesn't matter there.",
        "Of two layers in one place, the one that was entered last lies higher.",
        "What a layer passes on is seen by all layers below it, each time. Where does `t` lie?",
    ]
    solution = """
        answers = {
            "with a(mode), b(recorder)": "ba",
            "with a(mode), b(mode)": "ba",
            "with a(recorder), b(mode), c(recorder)": "cab",
            "with a(recorder), b(mode), t(mode)": "atbb",
            "with a(recorder), b(mode), t(transform)": "tabab",
        }
    """
    reason = """
        The place decides, then the order of entering. A layer that calls the op twice makes two calls for
        everything below it: for `b` alone where `t` is a mode, and for `a` and `b` where `t` is a transform.
    """
    wrong = [
        Wrong(
            """
            answers = {
                "with a(mode), b(recorder)": "ab",
                "with a(mode), b(mode)": "ba",
                "with a(recorder), b(mode), c(recorder)": "cab",
                "with a(recorder), b(mode), t(mode)": "atbb",
                "with a(recorder), b(mode), t(transform)": "tabab",
            }
            """,
            says="which place lies higher",
            why="`a` is outside in the program, but a mode lies below a recorder.",
        ),
        Wrong(
            """
            answers = {
                "with a(mode), b(recorder)": "ba",
                "with a(mode), b(mode)": "ab",
                "with a(recorder), b(mode), c(recorder)": "acb",
                "with a(recorder), b(mode), t(mode)": "atbb",
                "with a(recorder), b(mode), t(transform)": "tabab",
            }
            """,
            says="the one entered last",
            why="A block inside another one is nearer to the call, so it is asked first.",
        ),
        Wrong(
            """
            answers = {
                "with a(mode), b(recorder)": "ba",
                "with a(mode), b(mode)": "ba",
                "with a(recorder), b(mode), c(recorder)": "cab",
                "with a(recorder), b(mode), t(mode)": "abtt",
                "with a(recorder), b(mode), t(transform)": "tabab",
            }
            """,
            says="writes once",
            why="`t` sees one call and writes one letter. It's what lies below `t` that is called twice.",
        ),
        Wrong(
            """
            answers = {
                "with a(mode), b(recorder)": "ba",
                "with a(mode), b(mode)": "ba",
                "with a(recorder), b(mode), c(recorder)": "cab",
                "with a(recorder), b(mode), t(mode)": "atbb",
                "with a(recorder), b(mode), t(transform)": "tab",
            }
            """,
            says="passes the call on twice",
            why="Each of the two calls goes through all layers below.",
        ),
        Wrong("answers = {}", says="the programs in answers", why="Every program needs an answer."),
    ]

    def check(answers):
        require(isinstance(answers, dict), "answers must be a dict, as in the stub.")
        expect(sorted(answers, key=str), sorted(PROGRAMS), "the programs in answers")
        remarks = {
            ("with a(mode), b(recorder)", "ab"): "which place lies higher, mode or recorder?",
            ("with a(mode), b(mode)", "ab"): "in one place, the one entered last lies higher.",
            ("with a(recorder), b(mode), t(mode)", "abtt"): "t writes once; who lies below it?",
            (
                "with a(recorder), b(mode), t(transform)",
                "tab",
            ): "t passes the call on twice, to every layer below it.",
        }
        for program, layers in PROGRAMS.items():
            said = answers[program]
            remark = remarks.get((program, said))
            require(remark is None, f"{program}: {remark}")
            expect(said, letters_of(layers), f"the letters of {program}")


PLACES = ("autocast", "transform", "recorder", "profiler", "functionalize", "mode")


def layers_below(layers, caller=None):
    """Return the names of layers that see a call, by running it."""
    x, seen, stacks = torch.ones(2), [], []

    class Named(Layer):
        def __init__(self, name, place):
            super().__init__(place)
            self.name = name

        def call(self, op, arguments):
            stacks.append(self.name)
            result = op(*arguments)
            if self.name == caller:  # a call of its own
                seen.clear()
                seen.extend(stacks[stacks.index(caller) + 1 :])
            return result

    entered = [Named(name, place) for name, place in layers]
    for one in entered:
        one.__enter__()
    try:
        x.neg()
    finally:
        for one in reversed(entered):
            one.__exit__(None, None, None)
    return stacks if caller is None else seen


class WhoIsNext(Exercise):
    """The order of layers

    Write `who_sees(layers, caller=None)`. `layers` is a list of pairs (name, place), in the order in which they were
    entered; no two names are equal. The places, from the top, are those in `PLACES`. Return the list of the
    names of the layers that see a call, in the order in which they see it. If `caller` is the name of a layer,
    the call is one that this layer makes itself while it handles a call: return the layers that see *that*
    call. Don't change `layers`.
    """

    kind = "implement"
    idea = "Who is next"
    stub = """
        PLACES = ("autocast", "transform", "recorder", "profiler", "functionalize", "mode")


        def who_sees(layers, caller=None):
            return [name for name, place in layers]
    """
    hints = [
        "Sort by the number of the place in `PLACES`. What about layers of one place?",
        "`sorted` keeps the order of those that are equal. So reverse the list before you sort it.",
        "A layer sees neither its own calls nor what belongs to layers above it: cut the sorted list after `caller`.",
    ]
    solution = """
        PLACES = ("autocast", "transform", "recorder", "profiler", "functionalize", "mode")


        def who_sees(layers, caller=None):
            ordered = sorted(reversed(layers), key=lambda layer: PLACES.index(layer[1]))
            names = [name for name, place in ordered]
            return names if caller is None else names[names.index(caller) + 1 :]
    """
    reason = """
        This is what `position` and `ceiling` do with two numbers: a position is the place, then the order of
        entering, and a layer that handles a call lowers the ceiling to its own position.
    """
    wrong = [
        Wrong(
            """
            PLACES = ("autocast", "transform", "recorder", "profiler", "functionalize", "mode")


            def who_sees(layers, caller=None):
                ordered = sorted(layers, key=lambda layer: PLACES.index(layer[1]))
                names = [name for name, place in ordered]
                return names if caller is None else names[names.index(caller) + 1 :]
            """,
            says="entered last is asked first",
            why="Within one place, this keeps the order of entering. The last one lies higher.",
        ),
        Wrong(
            """
            def who_sees(layers, caller=None):
                names = [name for name, place in reversed(layers)]
                return names if caller is None else names[names.index(caller) + 1 :]
            """,
            says="place counts before the order",
            why="A stack would be simpler, but then a compiler entered inside a mode would record what the mode calls.",
        ),
        Wrong(
            """
            PLACES = ("autocast", "transform", "recorder", "profiler", "functionalize", "mode")


            def who_sees(layers, caller=None):
                ordered = sorted(reversed(layers), key=lambda layer: PLACES.index(layer[1]))
                names = [name for name, place in ordered]
                return [name for name in names if name != caller]
            """,
            says="layers above it",
            why="The ceiling hides the caller *and* every layer above it.",
        ),
        Wrong(
            """
            PLACES = ("autocast", "transform", "recorder", "profiler", "functionalize", "mode")


            def who_sees(layers, caller=None):
                ordered = sorted(reversed(layers), key=lambda layer: PLACES.index(layer[1]))
                names = [name for name, place in ordered]
                return names if caller is None else names[names.index(caller) :]
            """,
            says="its own calls",
            why="A layer that saw its own calls would call itself without end.",
        ),
    ]

    def check(who_sees):
        for count in (0, 1, 2, 3, 6, 10, *random.choices(range(12), k=20)):
            names = random.sample("abcdefghijklmnopqrstuvw", count)
            used = random.sample(PLACES, random.randint(1, len(PLACES)))
            layers = [(name, random.choice(used)) for name in names]
            given = list(layers)
            for caller in (None, *random.sample(names, min(count, 2))):
                truth = layers_below(layers, caller)
                came = who_sees(given, caller)
                about = f"who_sees({layers}, {caller!r})"
                require(given == layers, f"{about} has changed the list layers.")
                if isinstance(came, (list, tuple)):
                    explain(list(came), truth, dict(layers), caller, about)
                expect(came, truth, about)
        expect(who_sees([("a", "mode")]), ["a"], "who_sees([('a', 'mode')])")


def explain(came, truth, places, caller, about):
    """Say which rule an order breaks."""
    if any(name not in places for name in came) or len(set(came)) < len(came):
        return
    require(caller is None or caller not in came, f"{about}: a layer doesn't see its own calls.")
    extra = [name for name in came if name not in truth]
    require(
        not extra, f"{about}: {extra} must not be there; a layer's calls hide the layers above it."
    )
    if sorted(came) != sorted(truth):
        return
    ranks = [PLACES.index(places[name]) for name in came]
    require(ranks == sorted(ranks), f"{about}: the place counts before the order of entering.")
    require(came == truth, f"{about}: in one place, the layer entered last is asked first.")


# ---------------------------------------------------------------- a kernel
BROADCAST = {  # number of a try: sizes of out, x and y
    2: ((2, 3), (2, 1), (3,)),
    7: ((2, 3, 2), (3, 2), (2,)),
    12: ((2, 1, 3), (2, 1, 1), ()),
}


def random_layout(sizes, offset):
    """Return (offset, sizes, strides) of a tensor whose dimensions lie in memory in any order, and where it ends."""
    strides, step = [0] * len(sizes), random.choice([1, 1, 2])
    for dim in random.sample(range(len(sizes)), len(sizes)):
        strides[dim] = step
        step *= max(sizes[dim], 1)
    return (offset, tuple(sizes), tuple(strides)), offset + step


def shrunk(sizes):
    """Return sizes that broadcast to `sizes`."""
    sizes = tuple(random.choice([size, size, 1]) for size in sizes)
    return sizes[random.randint(0, len(sizes)) :] if random.random() < 0.5 else sizes


def number_at(memory, x, index):
    """Return the number of x that meets an index of the result."""
    if not isinstance(x, tuple):
        return x
    offset, sizes, strides = x
    own = index[len(index) - len(sizes) :]
    steps = [i * step for i, size, step in zip(own, sizes, strides, strict=True) if size != 1]
    return memory[offset + sum(steps)]


def added(memory, out, x, y):
    """Return what the memory must be after the call."""
    after, (offset, sizes, strides) = list(memory), out
    for index in itertools.product(*map(range, sizes)):
        at = offset + sum(i * step for i, step in zip(index, strides, strict=True))
        after[at] = number_at(memory, x, index) + number_at(memory, y, index)
    return after


class AddKernel(Exercise):
    """A kernel over a device's memory

    The memory of a device is a list of numbers. A tensor there is a tuple `(offset, sizes, strides)`, with
    strides in elements. Write `add_kernel(memory, out, x, y)`, which fills `out` with `x + y`. The sizes of
    `out` are those of the result. `x` and `y` are as the program has them, so they may have sizes of 1 that are
    broadcast, or fewer dimensions than `out`. `y` may be a plain number. `out` may be the same tensor as `x`.
    Write to the elements of `out` and to nothing else.
    """

    kind = "implement"
    idea = "A kernel of your own"
    stub = """
        def add_kernel(memory, out, x, y):
            for i in range(len(memory)):
                memory[i] = memory[i]
    """
    hints = [
        "`itertools.product(*map(range, sizes))` gives every index of `out`. Its element is at "
        "`offset + sum(i * step for ...)`.",
        "For `x`, use the *last* `len(x_sizes)` numbers of the index, and skip the dimensions of size 1.",
        "Write a function `read(x, index)` that returns the number itself if `x` is a number.",
    ]
    solution = """
        def add_kernel(memory, out, x, y):
            def position(one, index):
                offset, sizes, strides = one
                own = index[len(index) - len(sizes) :]
                steps = zip(own, sizes, strides)
                return offset + sum(i * step for i, size, step in steps if size != 1)

            def read(one, index):
                if isinstance(one, (int, float)):
                    return one
                return memory[position(one, index)]

            for index in itertools.product(*map(range, out[1])):
                memory[position(out, index)] = read(x, index) + read(y, index)
    """
    reason = """
        A kernel gets its operands as they lie in memory. A dimension of size 1 doesn't move the position, which
        is what broadcasting means, and dimensions are matched from the last one. NumPy's `as_strided` and `add`
        did all this in the chapter's kernel.
    """
    wrong = [
        Wrong(
            """
            def add_kernel(memory, out, x, y):
                count = 1
                for size in out[1]:
                    count *= size
                for i in range(count):
                    other = y if isinstance(y, (int, float)) else memory[y[0] + i]
                    memory[out[0] + i] = memory[x[0] + i] + other
            """,
            says="strides",
            why="This takes the elements one after the other, as if every tensor was contiguous.",
        ),
        Wrong(
            """
            def add_kernel(memory, out, x, y):
                def position(one, index):
                    offset, sizes, strides = one
                    return offset + sum(i * step for i, step in zip(index, strides))

                for index in itertools.product(*map(range, out[1])):
                    other = y if isinstance(y, (int, float)) else memory[position(y, index)]
                    memory[position(out, index)] = memory[position(x, index)] + other
            """,
            says="broadcast",
            why="A size of 1 is read again and again; here the position moves on, into elements of something else.",
        ),
        Wrong(
            """
            def add_kernel(memory, out, x, y):
                def position(one, index):
                    offset, sizes, strides = one
                    own = index[len(index) - len(sizes) :]
                    steps = zip(own, sizes, strides)
                    return offset + sum(i * step for i, size, step in steps if size != 1)

                for index in itertools.product(*map(range, out[1])):
                    first, second = memory[position(x, index)], memory[position(y, index)]
                    memory[position(out, index)] = first + second
            """,
            says="a plain number",
            why="In `x + 1` the kernel is given the 1 as it is.",
        ),
        Wrong(
            """
            def add_kernel(memory, out, x, y):
                memory = list(memory)

                def position(one, index):
                    offset, sizes, strides = one
                    own = index[len(index) - len(sizes) :]
                    steps = zip(own, sizes, strides)
                    return offset + sum(i * step for i, size, step in steps if size != 1)

                for index in itertools.product(*map(range, out[1])):
                    other = y if isinstance(y, (int, float)) else memory[position(y, index)]
                    memory[position(out, index)] = memory[position(x, index)] + other
            """,
            says="nothing has been written",
            why="The sum went into a copy of the memory. A kernel fills the memory that it is given.",
        ),
    ]

    def check(add_kernel):
        for number in range(40):
            kind = ("contiguous", "strides", "broadcast", "a plain number", "in place")[number % 5]
            sizes = [
                random.randint(1 if number < 10 else 0, 3) for _ in range(random.randint(0, 3))
            ]
            if number < 5:
                sizes = [2, 3]
            if kind == "contiguous":
                out, x, y = [(7 * k + 1, (2, 3), (3, 1)) for k in random.sample(range(3), 3)]
                end = 24
            else:
                x_sizes, y_sizes = sizes, sizes
                if kind == "broadcast":
                    x_sizes, y_sizes = shrunk(sizes), shrunk(sizes)
                if number in BROADCAST:
                    sizes, x_sizes, y_sizes = BROADCAST[number]
                x, end = random_layout(x_sizes, random.randint(0, 3))
                y, end = random_layout(y_sizes, end + 1)
                out, end = random_layout(sizes, end + 2)
            if number == 1:
                x, y, out, end = (1, (2, 3), (1, 2)), (8, (2, 3), (6, 2)), (21, (2, 3), (1, 3)), 30
            if kind == "in place":
                out = x
            if kind == "a plain number":
                y = random.randint(2, 9)
            memory = [random.randint(1, 99) for _ in range(end + 3)]
            given = list(memory)
            truth = added(memory, out, x, y)
            about = f"add_kernel(memory, out={out}, x={x}, y={y})"
            try:
                add_kernel(given, out, x, y)
            except (TypeError, IndexError) as error:
                require(
                    kind not in ("broadcast", "a plain number"),
                    f"{about} raises {type(error).__name__}; here is {kind_in_words(kind)}.",
                )
                raise
            untouched = given == memory and truth != memory
            require(not untouched, f"{about}: nothing has been written to the memory.")
            require(len(given) == len(truth), f"{about} has changed the length of the memory.")
            places = [i for i in range(len(truth)) if given[i] != truth[i]]
            if places:
                i = places[0]
                require(False, f"{about}: memory[{i}] is {given[i]!r} and must be {truth[i]}; "
                               f"look at {kind_in_words(kind)}.")  # fmt: skip


def kind_in_words(kind):
    return {
        "contiguous": "the offsets",
        "strides": "the strides",
        "broadcast": "what is broadcast",
        "in place": "out, which is x, and at the strides",
    }.get(kind, kind)


# ---------------------------------------------------------------- hooks
class HuntHooks(BugHunt):
    """A test for hooks

    A mode that only watches must not change what a program does. Its hook ends in `run(func, args, kwargs)`,
    which must do exactly what `func(*args, **kwargs)` does: once, with these very arguments, and with this very
    result or error. Seven people wrote `run`, and each of them made one mistake. Write `test(run)`, which
    passes on the right one and fails on each of theirs. `func` can be any Python function, so you don't need a
    tensor: a list will do, and a function that you write for the test.
    """

    idea = "One check for all three"
    stub = """
        def test(run):
            assert run(max, (3, 4), {}) == 4
    """
    hints = [
        "Write a function that changes its argument, a list, and returns it. Is the result that very list (`is`)? "
        "How long is it afterwards?",
        "Give it a keyword argument. And call it with equal arguments a second time: it must run again.",
        "A function that raises `KeyError` must raise `KeyError`, nothing else, and not return anything.",
    ]
    solution = """
        def test(run):
            def grow(x, *, by=1):
                x.append(by)
                return x

            x = []
            assert run(grow, (x,), {"by": 2}) is x
            assert x == [2]
            y = []
            run(grow, (y,), {"by": 2})
            assert y == [2]

            def fail():
                raise KeyError("no")

            try:
                run(fail, (), {})
            except Exception as error:
                assert type(error) is KeyError
            else:
                raise AssertionError("the error is lost")
    """
    reason = """
        One function that writes, returns what it was given and takes a keyword finds five of the seven. The
        other two are about errors. With pure functions such as `max`, you can't see any of them but one.
    """
    wrong = [
        Wrong(
            """
            def test(run):
                x = [1]
                run(list.append, (x, 2), {})
                assert x == [1, 2]
            """,
            says="of 7 planted bugs",
            why="This finds lost and doubled writes. What about keywords, results and errors?",
        ),
        Wrong(
            """
            def test(run):
                try:
                    run(int, ("x",), {})
                except ValueError:
                    pass
                raise AssertionError
            """,
            says="AssertionError",
            why="This raises in any case: `return` in the `except`, or write `else`.",
        ),
    ]

    def right(func, args, kwargs):
        return func(*args, **kwargs)

    def swallows(func, args, kwargs):
        """an error is swallowed"""
        try:
            return func(*args, **kwargs)
        except Exception:
            return args[0] if args else None

    def calls_twice(func, args, kwargs):
        """the function is called twice"""
        func(*args, **kwargs)
        return func(*args, **kwargs)

    def drops_keywords(func, args, kwargs):
        """keyword arguments are dropped"""
        return func(*args)

    def works_on_copies(func, args, kwargs):
        """the function is given copies, and returns one"""
        first = [list(one) if isinstance(one, list) else one for one in args]
        result = func(*first, **kwargs)
        return next((args[k] for k, one in enumerate(first) if one is result), result)

    def copies_the_result(func, args, kwargs):
        """the result is a copy"""
        result = func(*args, **kwargs)
        return list(result) if isinstance(result, list) else result

    def remembers(func, args, kwargs, memory=None):
        """a second call with equal arguments does not run"""
        memory = func.__dict__.setdefault("memory", {}) if hasattr(func, "__dict__") else {}
        key = repr((args, kwargs))
        if key not in memory:
            memory[key] = func(*args, **kwargs)
        return memory[key]

    def changes_the_error(func, args, kwargs):
        """every error becomes a RuntimeError"""
        try:
            return func(*args, **kwargs)
        except Exception as error:
            raise RuntimeError(str(error)) from error

    bugs = [
        swallows,
        calls_twice,
        drops_keywords,
        works_on_copies,
        copies_the_result,
        remembers,
        changes_the_error,
    ]


# ---------------------------------------------------------------- writes
WRITES = {  # what runs, and the names that are written
    "x + x": (lambda x: x + x, []),
    "x.add_(1)": (lambda x: x.add_(1), ["add_"]),
    "x.mul_(x)": (lambda x: x.mul_(x), ["mul_"]),
    "x[0] = 1": (lambda x: x[0].fill_(1), ["fill_"]),
    "x.T.neg_()": (lambda x: x.T.neg_(), ["neg_"]),
    "x.exp().zero_()": (lambda x: x.exp().zero_(), ["zero_"]),
    "x.copy_(2 * x)": (lambda x: x.copy_(2 * x), ["copy_"]),
    "x.sum(0)": (lambda x: x.sum(0), []),
    "x.sigmoid_().sub_(x)": (lambda x: x.sigmoid_().sub_(0.5), ["sigmoid_", "sub_"]),
    "torch.relu(x)": (lambda x: torch.relu(x), []),
}


class ListWrites(Exercise):
    """Who writes?

    Write a mode `Writes`, a class that inherits `TorchDispatchMode`. Inside `with Writes() as mode:`, the list
    `mode.names` grows by the name of each op that writes to one of its arguments, in the order of the calls:
    `"add_"` for `x.add_(1)`, so without `aten` and without the overload. Ask the op's schema; don't trust
    names. The program must compute what it computes without the mode.
    """

    kind = "extend"
    idea = "An op is a record"
    beside = "the answer is a class that the library itself calls"
    stub = """
        class Writes(TorchDispatchMode):
            def __init__(self):
                super().__init__()
                self.names = []
    """
    hints = [
        "The hook is `__torch_dispatch__(self, func, types, args=(), kwargs=None)`. It ends with a call of `func`.",
        "`func._schema.arguments` is a list. An argument that is written has `alias_info.is_write`; "
        "`alias_info` may be None.",
        "The name: `func._schema.name` is `aten::add_`. Take what follows the `::`.",
    ]
    solution = """
        class Writes(TorchDispatchMode):
            def __init__(self):
                super().__init__()
                self.names = []

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                aliases = [one.alias_info for one in func._schema.arguments]
                if any(alias and alias.is_write for alias in aliases):
                    self.names.append(func._schema.name.partition("::")[2])
                return func(*args, **(kwargs or {}))
    """
    reason = """
        The schema says `Tensor(a!)` of an argument that is written. That's what functionalisation, the compiler
        and graph tools rely on, and why an op with a secret write breaks all of them.
    """
    wrong = [
        Wrong(
            """
            class Writes(TorchDispatchMode):
                def __init__(self):
                    super().__init__()
                    self.names = []

                def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                    if any(one.alias_info for one in func._schema.arguments):
                        self.names.append(func._schema.name.partition("::")[2])
                    return func(*args, **(kwargs or {}))
            """,
            says="a view",
            why="A view has `Tensor(a)` in its schema, without `!`: it shares memory and writes nothing.",
        ),
        Wrong(
            """
            class Writes(TorchDispatchMode):
                def __init__(self):
                    super().__init__()
                    self.names = []

                def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                    aliases = [one.alias_info for one in func._schema.arguments]
                    if any(alias and alias.is_write for alias in aliases):
                        self.names.append(str(func))
                    return func(*args, **(kwargs or {}))
            """,
            says="without aten",
            why="`str(func)` is `aten.add_.Tensor`.",
        ),
        Wrong(
            """
            class Writes(TorchDispatchMode):
                def __init__(self):
                    super().__init__()
                    self.names = []

                def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                    result = func(*args, **(kwargs or {}))
                    aliases = [one.alias_info for one in func._schema.arguments]
                    if any(alias and alias.is_write for alias in aliases):
                        self.names.append(func._schema.name.partition("::")[2])
                        func(*args, **(kwargs or {}))
                    return result
            """,
            says="computes something else",
            why="The write happens twice.",
        ),
        Wrong(
            """
            class Writes(TorchDispatchMode):
                def __init__(self):
                    super().__init__()
                    self.names = []

                def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                    aliases = [one.alias_info for one in func._schema.arguments]
                    if any(alias and alias.is_write for alias in aliases):
                        self.names.append(func._schema.name.partition("::")[2])
                    return func(*args)
            """,
            says="keyword argument",
            why="Some ops have keyword arguments, and they are lost here.",
        ),
    ]

    def check(Writes):
        for program in (*WRITES, *random.choices(list(WRITES), k=10)):
            call, names = WRITES[program]
            plain = torch.rand(3, 3)
            x = plain.clone()
            truth = call(plain).tolist()
            with Writes() as mode:
                came = call(x)
            right = came.tolist() == truth and x.tolist() == plain.tolist()
            require(right, f"{program} computes something else inside the mode.")
            found = list(mode.names)
            require(names or not found, f"{program} writes nothing, and mode.names is {found}.")
            require(
                not any("." in str(name) or ":" in str(name) for name in found),
                f"{program}: the name must be written without aten and the overload, not {found}.",
            )
            extra = [name for name in found if name not in names]
            require(not extra, f"{program}: {extra} writes nothing; is it a view, perhaps?")
            expect(found, names, f"mode.names after {program}")
        check_op_without_an_underscore(Writes)
        with Writes() as mode:
            kept = torch.zeros_like(torch.ones(2), dtype=torch.float64)
            require(
                kept.dtype == torch.float64,
                "zeros_like(x, dtype=...): a keyword argument was lost.",
            )
            expect_error(
                RuntimeError,
                lambda: torch.ones(2, 3) @ torch.ones(2, 3),
                about="a product that doesn't fit",
            )
        several = Writes()
        with several:
            torch.ones(2).add_(1)
            torch.ones(2).mul_(2)
        expect(list(several.names), ["add_", "mul_"], "mode.names after two writes")


def check_op_without_an_underscore(Writes):
    """Names don't say who writes: batch norm updates its statistics, and a program's op may be called anything."""
    name = "chapter38::overwrite"
    if not hasattr(torch.ops.chapter38, "overwrite"):

        @torch.library.custom_op(name, mutates_args=("x",))
        def overwrite(x: torch.Tensor, value: float) -> None:
            x.fill_(value)

        @torch.library.custom_op("chapter38::harmless_", mutates_args=())
        def harmless_(x: torch.Tensor) -> torch.Tensor:
            return x.clone()

    x = torch.ones(2)
    with Writes() as mode:
        torch.ops.chapter38.overwrite(x, 3.0)
        torch.ops.chapter38.harmless_(x)
    expect(x.tolist(), [3.0, 3.0], "x after an op of the program's own that writes 3 over it")
    found = [one for one in mode.names if one in ("overwrite", "harmless_")]
    require("harmless_" not in found, "an op whose name ends in _ needn't write: ask the schema.")
    require(
        found == ["overwrite"],
        "an op called overwrite writes to x, and isn't in mode.names: ask the schema.",
    )
