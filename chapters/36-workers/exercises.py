"""Exercises of chapter 36, workers."""

import contextlib
import copy
import inspect
import itertools
import math
import numbers
import pickle
import random
import sys
import types

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, expect_error, require
from tensorlab.learn.expect import Wrong as Refused

IMPORTS = """
import pickle
import traceback

import numpy as np
import tensorlab as torch
from tensorlab.utils import data
"""


class Batches(Exercise):
    """How many batches?

    Write `batches(samples, size, workers, kind)`: how many batches a loader gives in one pass over
    `samples` samples, in batches of `size`, with so many workers (perhaps 0). `kind` is one of three:

    - `"indices"`: a data set with indices;
    - `"stream"`: an `IterableDataset` that doesn't ask which worker it is in;
    - `"shared"`: one that does. Of `w` workers, worker `k` yields the elements `k`, `k + w`, `k + 2 * w`, ...

    `drop_last` is `False`, so smaller batches count.
    """

    kind = "warm-up"
    idea = "Streams"
    stub = """
        def batches(samples, size, workers, kind):
            return -(-samples // size)  # rounded up
    """
    hints = [
        "For each kind: how many elements has one worker? And who makes batches of them?",
        "A stream's batches are made in its worker, of the worker's own elements. So each worker may have a smaller "
        "last batch.",
    ]
    solution = """
        def batches(samples, size, workers, kind):
            if kind == "indices" or workers == 0:
                shares = [samples]
            elif kind == "stream":
                shares = [samples] * workers
            else:
                shares = [len(range(k, samples, workers)) for k in range(workers)]
            return sum(-(-share // size) for share in shares)
    """
    reason = """
        With indices, the batches are planned in the main process, so workers don't change them. A stream is
        cut into batches where it's read. That is why a shared stream has up to one smaller batch for each worker.
    """
    wrong = [
        Wrong(
            """
            def batches(samples, size, workers, kind):
                return -(-samples // size) * (workers if kind == "stream" and workers else 1)
            """,
            says="a last batch of its own",
            why="The workers of a shared stream don't know of each other's elements.",
        ),
        Wrong(
            """
            def batches(samples, size, workers, kind):
                if kind == "indices":
                    return -(-samples // size)
                shares = [len(range(k, samples, workers)) for k in range(workers)] or [samples]
                return sum(-(-share // size) for share in shares)
            """,
            says="yields all of it",
            why="A stream that doesn't ask who it is isn't shared.",
        ),
        Wrong(
            """
            def batches(samples, size, workers, kind):
                whole = workers if kind == "stream" else 1
                shares = [samples] * whole
                if kind == "shared":
                    shares = [len(range(k, samples, workers)) for k in range(workers)]
                return sum(-(-share // size) for share in shares)
            """,
            says="without workers",
            why="With num_workers=0 the loop reads the stream itself, once.",
        ),
        Wrong(
            """
            def batches(samples, size, workers, kind):
                if kind == "indices" or workers == 0:
                    return -(-samples // size)
                if kind == "stream":
                    return -(-samples * workers // size)
                return sum(-(-len(range(k, samples, workers)) // size) for k in range(workers))
            """,
            says="never share a batch",
            why="A batch is made in one worker, of its own elements.",
        ),
        Wrong(
            """
            def batches(samples, size, workers, kind):
                shares = [len(range(k, samples, workers)) for k in range(workers)]
                if kind == "stream":
                    shares = [samples] * workers
                return sum(-(-share // size) for share in shares or [samples])
            """,
            says="planned in the main process",
            why="Indices are grouped before a worker sees them.",
        ),
    ]

    def check(batches):
        for samples, size, workers in (
            (12, 4, 3),
            (10, 4, 0),
            (10, 4, 2),
            (10, 4, 3),
            (7, 2, 4),
            (3, 8, 5),
            (64, 8, 1),
            (100, 7, 6),
            (0, 3, 2),
            (1, 1, 2),
        ):
            once = -(-samples // size)
            shared = sum(-(-len(range(k, samples, workers)) // size) for k in range(workers))
            true = {"indices": once, "stream": workers * once, "shared": shared}
            for kind in ("indices", "stream", "shared"):
                right = true[kind] if workers else once
                came = batches(samples, size, workers, kind)
                require(
                    isinstance(came, numbers.Number) and not isinstance(came, bool),
                    f"batches returned {describe(came)}; return a number.",
                )
                if came == right:
                    continue
                said = f"batches({samples}, {size}, {workers}, {kind!r}) isn't {came}."
                require(
                    workers,
                    f"{said} A loader without workers reads the data itself, whatever their kind.",
                )
                require(
                    kind != "indices",
                    f"{said} With indices, batches are planned in the main process.",
                )
                require(
                    kind != "shared",
                    f"{said} A worker makes batches of its own elements, so it has a last batch of its own.",
                )
                require(
                    came != -(-samples * workers // size),
                    f"{said} The elements of two workers never share a batch.",
                )
                require(
                    False, f"{said} Each worker has a copy of the stream, and yields all of it."
                )


class InOrder(Exercise):
    """Batches in order

    Several workers load batches, and each is done when it's done. Write a generator `in_order(arrivals)`.
    `arrivals` yields pairs `(number, batch)`, in the order in which batches arrive. Each number from 0 up comes
    once. Yield the batches (without their numbers) in the order of the numbers, each as early as possible: don't ask
    `arrivals` for another pair as long as you have the batch that's next. `arrivals` may be
    endless, and a batch may be anything, even `None`.
    """

    kind = "implement"
    idea = "Who is asked for which batch"
    stub = """
        def in_order(arrivals):
            for number, batch in arrivals:
                yield batch
    """
    hints = [
        "Keep what comes too early, under its number.",
        "After each arrival, yield as many batches as you can: it may be none, or several.",
        "`while expected in waiting: ...`",
    ]
    solution = """
        def in_order(arrivals):
            waiting, expected = {}, 0
            for number, batch in arrivals:
                waiting[number] = batch
                while expected in waiting:
                    yield waiting.pop(expected)
                    expected += 1
    """
    reason = """
        The loader does the same: `arrived` holds what came early, and `expected` is the number that's next. With
        `in_order=False` there's nothing to hold.
    """
    wrong = [
        Wrong(
            """
            def in_order(arrivals):
                for number, batch in sorted(arrivals, key=lambda pair: pair[0]):
                    yield batch
            """,
            says="as early as possible",
            why="It waits for the last batch before it gives the first.",
        ),
        Wrong(
            """
            def in_order(arrivals):
                waiting, expected = {}, 0
                for number, batch in arrivals:
                    waiting[number] = batch
                    if expected in waiting:
                        yield waiting.pop(expected)
                        expected += 1
                for number in sorted(waiting):
                    yield waiting[number]
            """,
            says="set free several",
            why="One arrival can set free several batches.",
        ),
        Wrong(
            """
            def in_order(arrivals):
                waiting, expected = {}, 0
                for number, batch in arrivals:
                    waiting[number] = batch
                    while (found := waiting.pop(expected, None)) is not None:
                        yield found
                        expected += 1
            """,
            says="may be None",
            why="None is taken for a batch that isn't there.",
        ),
    ]

    def check(in_order):
        orders = [
            [0, 1, 2, 3],
            [1, 0, 3, 2],
            [3, 2, 1, 0],
            [2, 0, 1, 5, 4, 3],
            [1, 2, 3, 4, 0, 5],
            torch.randperm(30).tolist(),
            torch.randperm(12).tolist(),
            [],
        ]
        for order in orders:
            pulled = [0]

            def arrivals(order=order, pulled=pulled):
                for number in order:
                    pulled[0] += 1
                    yield number, f"batch {number}"

            shown = order if len(order) < 13 else f"{order[:12]} and so on"
            given = []
            for batch in in_order(arrivals()):
                k = len(given)
                require(
                    batch == f"batch {k}",
                    f"Batches arrive in the order {shown}. After {given} comes {batch!r}; batch {k} must come next.",
                )
                needed = 1 + max(order.index(i) for i in range(k + 1))
                said = f"Batches arrive in the order {shown}. Batch {k} could be given after {needed} arrivals"
                require(
                    pulled[0] <= needed or k == 0,
                    f"{said}, and comes after {pulled[0]}; one arrival can set free several batches.",
                )
                require(
                    pulled[0] <= needed,
                    f"{said}, and {pulled[0]} have been taken; give each as early as possible.",
                )
                given.append(batch)
            require(
                len(given) == len(order),
                f"Batches arrive in the order {shown}; {len(given)} of {len(order)} are given.",
            )
        odd = [None, 0, None, [], "", False]
        came = list(itertools.islice(in_order(iter(enumerate(odd))), len(odd)))
        require(
            came == odd, f"Of the batches {odd} come {came}. A batch may be None, or anything else."
        )
        endless = ((i ^ 1, i ^ 1) for i in itertools.count())
        came = list(itertools.islice(in_order(endless), 40))
        expect(came, list(range(40)), "the first batches of endless arrivals")


@contextlib.contextmanager
def importable(names):
    """Let pickle find the classes of the reader's file, which may not be a module that can be imported."""
    name = names.get("__name__", "__main__")
    before = sys.modules.get(name)
    if names and (before is None or before.__dict__ is not names):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(names)
    try:
        yield
    finally:
        sys.modules.pop(name, None)
        if before is not None:
            sys.modules[name] = before


class Report(Exercise):
    """An exception on its way home

    A worker can't raise an exception in another process: it can only send bytes. Write two functions.

    `attempt(function, argument)` runs in the worker. It calls `function(argument)`, and returns a *report*, an
    object of your choice that `pickle` can send, whatever happened. It catches each `Exception`, but lets
    `KeyboardInterrupt` through.

    `outcome(report)` runs in the loop. It returns what the function returned, or raises an exception of the
    class that the function raised. The first of its `args` is a text that contains the worker's traceback, as
    `traceback.format_exc()` gives it. If the class can't be pickled, or calling it with one text raises an
    error, `outcome` raises a `RuntimeError` with this text.

    What the function returns can be pickled.
    """

    kind = "implement"
    idea = "When workers fail"
    beside = "the check looks at a traceback"
    stub = """
        def attempt(function, argument):
            try:
                return function(argument)
            except Exception as error:
                return error


        def outcome(report):
            if isinstance(report, Exception):
                raise report
            return report
    """
    hints = [
        "A pair can say which of the two it is: a result, or an error.",
        "Send the class and the text, not the exception. `pickle.dumps(type(error))` fails if the class can't be sent.",
        "`outcome` makes the exception inside of a `try`, and raises it outside.",
    ]
    solution = """
        def attempt(function, argument):
            try:
                return True, function(argument), ""
            except Exception as error:
                kind, text = type(error), traceback.format_exc()
            try:
                pickle.dumps(kind)
            except Exception:
                kind = RuntimeError
            return False, kind, text


        def outcome(report):
            is_result, value, text = report
            if is_result:
                return value
            try:
                error = value(text)
            except Exception:
                error = RuntimeError(text)
            raise error
    """
    reason = """
        `Failure` in the library does this. The traceback goes as text, since the objects that it's made of (frames,
        local variables) can't leave their process. The class must be the same, because the loop may have an `except`
        for it.
    """
    wrong = [
        Wrong(
            """
            def attempt(function, argument):
                try:
                    return function(argument)
                except Exception as error:
                    return error


            def outcome(report):
                if isinstance(report, Exception):
                    raise report
                return report
            """,
            says="returned an exception",
            why="A result that is an exception isn't a failure.",
        ),
        Wrong(
            """
            def attempt(function, argument):
                try:
                    return True, function(argument)
                except Exception as error:
                    return False, error


            def outcome(report):
                is_result, value = report
                if is_result:
                    return value
                raise value
            """,
            says="worker's traceback",
            why="An exception that is pickled loses its traceback.",
        ),
        Wrong(
            """
            def attempt(function, argument):
                try:
                    return True, function(argument), ""
                except Exception as error:
                    return False, type(error), traceback.format_exc()


            def outcome(report):
                is_result, value, text = report
                if is_result:
                    return value
                try:
                    error = value(text)
                except Exception:
                    error = RuntimeError(text)
                raise error
            """,
            says="pickle refuses the report",
            why="A class in a function can't be pickled.",
        ),
        Wrong(
            """
            def attempt(function, argument):
                try:
                    return True, function(argument), ""
                except Exception as error:
                    kind, text = type(error), traceback.format_exc()
                try:
                    pickle.dumps(kind)
                except Exception:
                    kind = RuntimeError
                return False, kind, text


            def outcome(report):
                is_result, value, text = report
                if is_result:
                    return value
                raise value(text)
            """,
            says="needs more than a text",
            why="Some classes want other arguments.",
        ),
        Wrong(
            """
            def attempt(function, argument):
                try:
                    return True, function(argument), ""
                except Exception:
                    return False, None, traceback.format_exc()


            def outcome(report):
                is_result, value, text = report
                if is_result:
                    return value
                raise RuntimeError(text)
            """,
            says="same class",
            why="The class is lost.",
        ),
        Wrong(
            """
            def attempt(function, argument):
                try:
                    return True, function(argument), ""
                except BaseException as error:
                    kind, text = type(error), traceback.format_exc()
                try:
                    pickle.dumps(kind)
                except Exception:
                    kind = RuntimeError
                return False, kind, text


            def outcome(report):
                is_result, value, text = report
                if is_result:
                    return value
                try:
                    error = value(text)
                except Exception:
                    error = RuntimeError(text)
                raise error
            """,
            says="KeyboardInterrupt goes through",
            why="Ctrl-C isn't an Exception, and must not become one.",
        ),
    ]

    def check(attempt, outcome):
        class Local(Exception):
            pass

        class LocalOfTwo(Exception):
            def __init__(self, one, two):
                super().__init__(one, two)

        def in_deep_water(error):
            raise error

        def travelled(function, argument):
            report = attempt(function, argument)
            try:
                with importable(getattr(inspect.unwrap(attempt), "__globals__", {})):
                    report = pickle.loads(pickle.dumps(report))
            except Exception as error:
                refused = f"{type(error).__name__}: {error}"
            else:
                return report
            said = f"when the function raises {argument!r}" if function is in_deep_water else ""
            raise Refused(f"pickle refuses the report {said}: {refused}")

        for value in (
            42,
            None,
            "text",
            [1, "error"],
            (False, ValueError, "x"),
            ("error", 3),
            {},
            False,
        ):
            came = outcome(travelled(lambda x: x, value))
            expect(came, value, "what the function returned")
            require(
                type(came) is type(value),
                f"The function returned {describe(value)}; outcome gives {describe(came)}.",
            )
        result = ValueError("only a value")
        try:
            came = outcome(travelled(lambda x: x, result))
        except ValueError:
            came = None
        require(
            isinstance(came, ValueError) and came.args == ("only a value",),
            "The function returned an exception, and didn't raise it; outcome must return it, too.",
        )
        twice = outcome(travelled(lambda x: 2 * x, 21))
        expect(twice, 42, "the result of the function")
        undecodable = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        for error, kind in (
            (ValueError("sample 5 has no label"), ValueError),
            (ZeroDivisionError("division by zero"), ZeroDivisionError),
            (KeyError("name"), KeyError),
            (FileNotFoundError(2, "No such file"), FileNotFoundError),
            (RuntimeError(), RuntimeError),
            (undecodable, RuntimeError),
            (Local("a class in a function"), RuntimeError),
            (LocalOfTwo(1, 2), RuntimeError),
        ):
            report = travelled(in_deep_water, error)
            what = f"The function raised {type(error).__name__}."
            try:
                came = outcome(report)
            except Exception as raised:
                found = raised
            else:
                require(False, f"{what} outcome raises nothing, and returns {describe(came)}.")
            if error is undecodable:
                require(
                    not isinstance(found, TypeError),
                    f"{what} It needs more than a text, so outcome must raise RuntimeError; came {describe(found)}.",
                )
            require(
                type(found) is kind,
                f"{what} outcome raises {type(found).__name__}; expected {kind.__name__}"
                + (", the same class." if kind is type(error) else "."),
            )
            text = found.args[0] if found.args else ""
            require(
                isinstance(text, str) and "Traceback" in text and "in_deep_water" in text,
                f"{what} The text of what outcome raises must contain the worker's traceback; came {text!r}.",
            )
            require(
                type(error).__name__ in text,
                f"{what} The text doesn't name it. Came {text!r}.",
            )
        expect_error(
            KeyboardInterrupt,
            attempt,
            in_deep_water,
            KeyboardInterrupt(),
            about="attempt of a function that is interrupted: KeyboardInterrupt goes through",
        )


# ------------------------------------------------------------ the hunt
def right(count, worker, workers):
    return list(range(worker * count // workers, (worker + 1) * count // workers))


def loses_the_rest(count, worker, workers):
    """The remainder of the division is left out."""
    size = count // workers
    return list(range(worker * size, (worker + 1) * size))


def last_has_the_rest(count, worker, workers):
    """The last worker has all that is left over."""
    size = count // workers
    return list(range(worker * size, count if worker == workers - 1 else (worker + 1) * size))


def rounded_up(count, worker, workers):
    """Shares are rounded up, so that the last workers may have nothing."""
    size = -(-count // workers)
    return list(range(min(worker * size, count), min((worker + 1) * size, count)))


def begins_one_early(count, worker, workers):
    """Each share but the first begins with the last sample of the one before."""
    share = right(count, worker, workers)
    return [share[0] - 1, *share] if worker > 0 and share else share


def in_turn(count, worker, workers):
    """Samples are dealt in turn; a share isn't a block."""
    return list(range(worker, count, workers))


def none_for_few(count, worker, workers):
    """With fewer samples than workers, no one gets any."""
    return right(count, worker, workers) if count >= workers else []


class Hunt(BugHunt):
    """Six shares that aren't fair

    A stream of files is shared among workers. Write `test(share)`. It gets a function `share(count, worker,
    workers)`, which returns the list of numbers of the files that worker number `worker` (0 to `workers - 1`)
    reads, out of `count` files. Each share is a block: numbers that follow one another, upwards. Each file is read
    exactly once. The sizes of two shares differ by one at most. There may be fewer files than workers.
    Your test must raise if any of that doesn't hold. One function is right, and six are wrong.
    """

    idea = "Streams"
    stub = """
        def test(share):
            assert len(share(12, 0, 3)) == 4
    """
    hints = [
        "Ask for the shares of all workers, and look at them together.",
        "Use counts that the number of workers doesn't divide, and a count below it.",
        "For blocks: all shares, one after the other, must be 0, 1, 2, ... . For fairness: the largest and the "
        "smallest size.",
    ]
    solution = """
        def test(share):
            for count in (12, 14, 9, 2, 0):
                for workers in (1, 3, 4):
                    shares = [share(count, k, workers) for k in range(workers)]
                    assert [i for part in shares for i in part] == list(range(count))
                    sizes = [len(part) for part in shares]
                    assert max(sizes) - min(sizes) <= 1
    """
    reason = """
        Rounding up looks harmless: with 9 files and 4 workers it gives 3, 3, 3 and 0. That epoch
        takes as long as with three workers.
    """
    wrong = [
        Wrong(
            """
            def test(share):
                for count in (12, 14, 2):
                    shares = [share(count, k, 4) for k in range(4)]
                    assert sorted(i for part in shares for i in part) == list(range(count))
            """,
            says="3 of 6",
            why="It asks for completeness only, neither for blocks nor for sizes.",
        ),
    ]
    right = right
    bugs = [
        loses_the_rest,
        last_has_the_rest,
        rounded_up,
        begins_one_early,
        in_turn,
        none_for_few,
    ]


class SameNoise(Exercise):
    """The same noise for any number of workers

    The random numbers of a worker depend on how many workers there are. So your run can't be repeated on a machine
    with other cores. Write a data set `Noisy(dataset, seed)` that doesn't have this problem:

    - `len(noisy)` is that of the data set, and `noisy[i]` is `dataset[i]`, a floating tensor, plus 0.1
      times normal noise of its shape and dtype;
    - `noisy.set_epoch(epoch)` says which epoch it is; it's 0 at first;
    - the noise depends on the seed, the epoch and the index, and on nothing else. If any of the three
      is another one, so is the noise (but for very rare accidents).

    Neither the global generator nor the samples of the data set may change. There may be a million samples.
    """

    kind = "extend"
    idea = "Seeds"
    stub = """
        class Noisy(data.Dataset):
            def __init__(self, dataset, seed):
                self.dataset = dataset
                self.generator = torch.Generator().manual_seed(seed)

            def __len__(self):
                return len(self.dataset)

            def set_epoch(self, epoch):
                pass

            def __getitem__(self, i):
                x = self.dataset[i]
                return x + 0.1 * torch.randn(x.shape, generator=self.generator)
    """
    hints = [
        "What if each sample had a generator of its own, made when the sample is asked for?",
        "Its seed must follow from three numbers. In a sum, epoch 1 and index 0 are epoch 0 and index 1.",
        "`np.random.SeedSequence([seed, epoch, i])` mixes any number of integers; `.generate_state(1)` gives one "
        "number of 32 bits. A generator uses only that many of its seed.",
    ]
    solution = """
        class Noisy(data.Dataset):
            def __init__(self, dataset, seed):
                self.dataset, self.seed, self.epoch = dataset, seed, 0

            def __len__(self):
                return len(self.dataset)

            def set_epoch(self, epoch):
                self.epoch = epoch

            def __getitem__(self, i):
                x = self.dataset[i]
                words = np.random.SeedSequence([self.seed, self.epoch, i]).generate_state(1)
                generator = torch.Generator().manual_seed(int(words[0]))
                return x + 0.1 * torch.randn(x.shape, generator=generator, dtype=x.dtype)
    """
    reason = """
        Now it doesn't matter who loads a sample, when, and after which others. Call `set_epoch` before the loop:
        workers that are started for a pass copy the data set then. Workers that are kept
        (`persistent_workers=True`) copied it long ago, and never hear of the new epoch. The rare accidents: with seeds
        of 32 bits, about 120 pairs of a million samples have the same noise in an epoch. That does no harm.
    """
    wrong = [
        Wrong(
            """
            class Noisy(data.Dataset):
                def __init__(self, dataset, seed):
                    self.dataset, self.seed, self.epoch = dataset, seed, 0

                def __len__(self):
                    return len(self.dataset)

                def set_epoch(self, epoch):
                    self.epoch = epoch

                def __getitem__(self, i):
                    x = self.dataset[i]
                    generator = torch.Generator().manual_seed(self.seed + self.epoch + i)
                    return x + 0.1 * torch.randn(x.shape, generator=generator, dtype=x.dtype)
            """,
            says="have the same noise",
            why="Different seeds, epochs and indices have the same sum.",
        ),
        Wrong(
            """
            class Noisy(data.Dataset):
                def __init__(self, dataset, seed):
                    self.dataset, self.seed, self.epoch = dataset, seed, 0

                def __len__(self):
                    return len(self.dataset)

                def set_epoch(self, epoch):
                    self.epoch = epoch

                def __getitem__(self, i):
                    x = self.dataset[i]
                    words = np.random.SeedSequence([self.seed, self.epoch, i % 1009]).generate_state(1)
                    generator = torch.Generator().manual_seed(int(words[0]))
                    return x + 0.1 * torch.randn(x.shape, generator=generator, dtype=x.dtype)
            """,
            says="it repeats",
            why="From sample 1009 on, it draws again what it has drawn before.",
        ),
        Wrong(
            """
            class Noisy(data.Dataset):
                def __init__(self, dataset, seed):
                    self.dataset, self.seed, self.epoch = dataset, seed, 0

                def __len__(self):
                    return len(self.dataset)

                def set_epoch(self, epoch):
                    self.epoch = epoch

                def __getitem__(self, i):
                    x = self.dataset[i]
                    torch.manual_seed(self.seed * 10**12 + self.epoch * 10**7 + i)
                    return x + 0.1 * torch.randn(x.shape, dtype=x.dtype)
            """,
            says="global generator",
            why="It seeds the generator of the whole process.",
        ),
        Wrong(
            """
            class Noisy(data.Dataset):
                def __init__(self, dataset, seed):
                    self.dataset = dataset
                    self.generator = torch.Generator().manual_seed(seed)

                def __len__(self):
                    return len(self.dataset)

                def set_epoch(self, epoch):
                    pass

                def __getitem__(self, i):
                    x = self.dataset[i]
                    noise = torch.randn(x.shape, generator=self.generator, dtype=x.dtype)
                    return x + 0.1 * noise
            """,
            says="which samples were asked for before",
            why="One generator for all samples depends on their order.",
        ),
        Wrong(
            """
            class Noisy(data.Dataset):
                def __init__(self, dataset, seed):
                    self.dataset, self.seed = dataset, seed

                def __len__(self):
                    return len(self.dataset)

                def set_epoch(self, epoch):
                    self.epoch = epoch

                def __getitem__(self, i):
                    x = self.dataset[i]
                    generator = torch.Generator().manual_seed(self.seed * 10**12 + i)
                    return x + 0.1 * torch.randn(x.shape, generator=generator, dtype=x.dtype)
            """,
            says="another epoch",
            why="It forgets the epoch.",
        ),
        Wrong(
            """
            class Noisy(data.Dataset):
                def __init__(self, dataset, seed):
                    self.dataset, self.seed, self.epoch = dataset, seed, 0

                def __len__(self):
                    return len(self.dataset)

                def set_epoch(self, epoch):
                    self.epoch = epoch

                def __getitem__(self, i):
                    x = self.dataset[i]
                    generator = torch.Generator().manual_seed(self.seed * 10**12 + self.epoch * 10**7 + i)
                    x += 0.1 * torch.randn(x.shape, generator=generator, dtype=x.dtype)
                    return x
            """,
            says="changed the data set",
            why="It adds in place, to the sample itself.",
        ),
        Wrong(
            """
            class Noisy(data.Dataset):
                def __init__(self, dataset, seed):
                    self.dataset, self.seed, self.epoch = dataset, seed, 0

                def __len__(self):
                    return len(self.dataset)

                def set_epoch(self, epoch):
                    self.epoch = epoch

                def __getitem__(self, i):
                    x = self.dataset[i]
                    generator = torch.Generator().manual_seed(self.seed * 10**12 + self.epoch * 10**7 + i)
                    return x + 0.1 * torch.rand(x.shape, generator=generator, dtype=x.dtype)
            """,
            says="0.1 times normal",
            why="rand draws from 0 to 1.",
        ),
        Wrong(
            """
            class Noisy(data.Dataset):
                def __init__(self, dataset, seed):
                    self.dataset, self.seed, self.epoch = dataset, seed, 0

                def __len__(self):
                    return len(self.dataset)

                def set_epoch(self, epoch):
                    self.epoch = epoch

                def __getitem__(self, i):
                    x = self.dataset[i]
                    generator = torch.Generator().manual_seed(self.seed * 10**12 + self.epoch * 10**7 + i)
                    return x + 0.1 * torch.randn((), generator=generator, dtype=x.dtype)
            """,
            says="each element",
            why="One random number for the whole sample.",
        ),
    ]

    def check(Noisy):
        class Table:
            def __init__(self, count, shape=(6,), dtype=torch.float32):
                self.rows = torch.arange(12 * math.prod(shape), dtype=dtype).reshape(12, *shape)
                self.count = count

            def __len__(self):
                return self.count

            def __getitem__(self, i):
                return self.rows[i % 12]

        def noise_of(noisy, table, i):
            return tuple((noisy[i] - table[i]).tolist())

        before = torch.get_rng_state()
        table = Table(12)
        noisy = Noisy(table, 3)
        expect(len(noisy), 12, "the length")
        first = [noisy[i].tolist() for i in range(12)]
        require(
            torch.equal(table.rows, Table(12).rows),
            "Asking for samples has changed the data set: it has other rows now.",
        )
        require(
            torch.equal(before, torch.get_rng_state()),
            "Asking for samples changes the global generator.",
        )
        fifth = noise_of(noisy, table, 5)
        require(
            len({round(x, 4) for x in fifth}) > 3,
            f"Sample 5 has the noise {fifth}; draw a number for each element.",
        )
        for shape, dtype in (
            ((2, 3), torch.float64),
            ((1,), torch.float32),
            ((5, 1, 2), torch.float16),
        ):
            other = Table(12, shape, dtype)
            came = Noisy(other, 1)[4]
            require(
                came.dtype == dtype and came.shape == other[4].shape,
                f"A sample of shape {shape} and dtype {dtype} comes with shape {tuple(came.shape)} and {came.dtype}.",
            )
        other, late = Noisy(Table(12), 3), Noisy(Table(12), 3)
        backwards = [other[i].tolist() for i in reversed(range(12))][::-1]
        torch.manual_seed(77)
        require(
            first == backwards and late[7].tolist() == first[7],
            "The noise depends on which samples were asked for before; it must depend on seed, epoch and index only.",
        )
        worker = copy.deepcopy(noisy)
        require(
            [worker[i].tolist() for i in (5, 2)] == [first[5], first[2]],
            "A copy of the data set gives other noise than the original, as a worker's copy would.",
        )
        noisy.set_epoch(1)
        require(noisy[0].tolist() != first[0], "In another epoch, sample 0 has the same noise.")
        require(
            late[0].tolist() == first[0],
            "set_epoch of one data set has changed the noise of another one.",
        )
        noisy.set_epoch(0)
        require(
            noisy[0].tolist() == first[0], "Back in epoch 0, sample 0 has other noise than before."
        )

        seen = {}
        for seed in (0, 1, 2, 3, 50, 1000):
            table = Table(1_000_000)
            big = Noisy(table, seed)
            for epoch in (0, 1, 2, 3, 100, 1000):
                big.set_epoch(epoch)
                for i in (0, 1, 2, 3, 50, 100, 1000, 10_000, 100_000, 999_999):
                    key = tuple(round(x, 3) for x in noise_of(big, table, i))
                    require(
                        key not in seen,
                        f"(seed, epoch, index) = {(seed, epoch, i)} and {seen.get(key)} have the same noise.",
                    )
                    seen[key] = seed, epoch, i
        # What is drawn from few seeds, up to some 50,000, repeats among 700 places; good seeds hardly ever do.
        table, rng = Table(1_000_000, (4,)), random.Random(36)
        for what in ("index", "epoch", "seed"):
            noises, again = {}, []
            big = Noisy(table, 7)
            for number in rng.sample(range(1_000_000), 700):
                place = {"seed": 7, "epoch": 0, "index": 5, what: number}
                if what == "seed":
                    big = Noisy(table, number)
                if what != "index":
                    big.set_epoch(place["epoch"])
                key = noise_of(big, table, place["index"])
                if key in noises:
                    again.append((noises[key], number))
                noises[key] = number
            require(
                len(again) < 2,
                f"The noise of {what} {again[:1] and again[0][0]} comes again for {what} "
                f"{again[:1] and again[0][1]}, and so do others: it repeats.",
            )
        values = torch.tensor(list(seen))
        mean, spread = values.mean().item(), values.std().item()
        require(
            abs(mean) < 0.015 and abs(spread - 0.1) < 0.01 and values.abs().max() > 0.25,
            f"The noise has mean {mean:.3f} and standard deviation {spread:.3f}; expected 0.1 times normal noise.",
        )
