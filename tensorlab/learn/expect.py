"""What a check is written with: `expect`, `require`, `expect_error`, and calls that are recorded.

A check is plain Python.  What the reader's functions are called with, and what comes, is recorded
behind its back, so that a failing `expect` can tell the reader which call went wrong.
"""

import contextlib
import functools
import math
import sys
import tracemalloc
import types

from tensorlab._core.storage import memory_stats, reset_peak_memory_stats
from tensorlab._tensor import Tensor
from tensorlab.nn import Module
from tensorlab.overrides import TorchFunctionMode

MOST_NUMBERS = 16  # a tensor up to this size is shown whole
MOST_LETTERS = 240
MOST_OF_A_MODULE = 80
LITERAL = (int, float, complex, str, bytes, type(None), Tensor)


class Wrong(Exception):
    """What the reader's answer gave is not what it should give.

    Attributes
    ----------
    remark : str, what is wrong, for the reader
    came, expected : str or None
    idea : str or None, the heading of the chapter to look at again, if not the exercise's own
    call : Call or None, the last call of the reader's code before
    """

    def __init__(self, remark, came=None, expected=None, idea=None, call=None):
        super().__init__(remark)
        self.remark, self.came, self.expected = remark, came, expected
        self.idea, self.call = idea, call


def expect(came, expected, about="", *, tolerance=0.0, idea=None):
    """Raise Wrong where `came` is not `expected`.

    Parameters
    ----------
    came : what the reader's code gave: a number, a tensor, or tuples, lists and dicts of them
    expected : what it should be; a tensor also asks for its shape and dtype, a list for its values
    about : str, what is compared ("the strides of the view"), or a whole sentence
    tolerance : float, how far numbers may be apart, absolutely and relatively
    idea : str, the heading of the chapter to look at again
    """
    if not same(came, expected, tolerance):
        shown, wanted = describe(came), describe(expected)
        if shown == wanted:  # they differ in what is not shown
            shown, wanted = f"{shown} ({kind_of(came)})", f"{wanted} ({kind_of(expected)})"
        if (
            isinstance(came, Tensor)
            and isinstance(expected, Tensor)
            and came.dtype != expected.dtype
        ):
            about = f"{about} (dtype {came.dtype} instead of {expected.dtype})".strip()
        raise Wrong(about, shown, wanted, idea)


def require(condition, remark, *, idea=None):
    """Raise Wrong with `remark` where `condition` is false."""
    if not condition:
        raise Wrong(remark, idea=idea)


RECORDERS: list = []  # those of the checks that run, the innermost last


def credit(share):
    """Say that an answer that came so far has earned a share of the points, if it fails later.

    Parameters
    ----------
    share : float, from 0 to 1; of several, the largest counts

    Raises
    ------
    ValueError
        If it is no share.

    Examples
    --------
    >>> def check(largest):
    ...     expect(largest([1, 3, 2]), 3)
    ...     credit(0.5)  # what follows is worth the other half
    ...     expect(largest([-2, -1]), -1)
    """
    if not 0 <= share <= 1:
        raise ValueError(f"credit: {share} is no share; give a number from 0 to 1")
    if RECORDERS:
        RECORDERS[-1].credit = max(RECORDERS[-1].credit, share)


class NotesNames(TorchFunctionMode):
    """A mode that notes the names of the functions that are called."""

    def __init__(self, names):
        super().__init__()
        self.names = names

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.add(func.__name__)
        return func(*args, **(kwargs or {}))


def is_of_library(frame):
    name = frame.f_globals.get("__name__") or ""
    return name.startswith("tensorlab.") and not name.startswith("tensorlab.learn")


@contextlib.contextmanager
def noting_names(names):
    """Add to a set the names of what the block calls of tensorlab: ops, and functions in Python, which no mode sees."""

    def hear(frame, event, argument):
        if event == "call" and is_of_library(frame) and not is_of_library(frame.f_back):
            names.add(frame.f_code.co_name)

    before = sys.getprofile()
    with NotesNames(names):
        sys.setprofile(hear)
        try:
            yield
        finally:
            sys.setprofile(before)


WATCHES: list = []  # of the blocks of a check that want to know what calls of the answer do


class Watch:
    """What calls of an answer did, where it runs in a process of its own: `Exchange.ask` notes it.

    The answer's process says it, so it decides nothing but whether a way of calculating is allowed.

    Attributes
    ----------
    names : set of str, of the functions of tensorlab that were called
    taken : int or None, the most bytes that a call took at once; None before one
    """

    def __init__(self):
        self.names, self.taken = set(), None

    def note(self, names, taken):
        self.names.update(name for name in names if isinstance(name, str))
        self.taken = max(self.taken or 0, int(taken))

    @contextlib.contextmanager
    def in_charge(self):
        WATCHES.append(self)
        try:
            yield self
        finally:
            WATCHES.remove(self)


def watched_call(function, arguments, named):
    """Return the result of a call, the names of the functions that it called, and the most bytes that it took."""
    names = set()
    reset_peak_memory_stats()
    before = memory_stats()["peak_bytes"]
    tracemalloc.start()
    try:
        with noting_names(names):
            result = function(*arguments, **named)
        of_python = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return result, sorted(names), memory_stats()["peak_bytes"] - before + of_python


@contextlib.contextmanager
def called_names():
    """Yield a set, which gets the name of each function of tensorlab that the block calls."""
    with Watch().in_charge() as watch, noting_names(watch.names):
        yield watch.names


def measured_call(function, *arguments):
    """Return the result of a call, and the most bytes that it took at once: tensors, Python's lists, NumPy's arrays.

    Modules that it imports count, too: a first call takes more than a second one.
    """
    with Watch().in_charge() as watch:
        result, _, taken = watched_call(function, arguments, {})
    return result, taken if watch.taken is None else watch.taken


def expect_error(error, function, *arguments, about="", idea=None):
    """Raise Wrong where `function(*arguments)` does not raise `error`."""
    try:
        came = function(*arguments)
    except error:
        return
    except Exception as other:
        came = f"{type(other).__name__}: {other}"
    else:
        came = "no error" if came is None else f"no error, but {describe(came)}"
    raise Wrong(about, came, f"{error.__name__} is raised", idea)


# ---------------------------------------------------------------- comparing


def same(came, expected, tolerance=0.0):
    """Say whether two values are the same, numbers within `tolerance`, nan equal to nan."""
    if isinstance(expected, Tensor):
        return (
            isinstance(came, Tensor)
            and came.dtype == expected.dtype
            and tuple(came.shape) == tuple(expected.shape)
            and same(came.tolist(), expected.tolist(), tolerance)
        )
    if isinstance(came, Tensor) and isinstance(expected, (list, int, float)):
        return same(came.tolist(), expected, tolerance)
    if isinstance(expected, (list, tuple)):
        return (
            isinstance(came, (list, tuple))
            and len(came) == len(expected)
            and all(same(x, y, tolerance) for x, y in zip(came, expected, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(came, dict)
            and came.keys() == expected.keys()
            and all(same(came[key], expected[key], tolerance) for key in expected)
        )
    if isinstance(expected, float) and isinstance(came, (int, float)):
        if math.isnan(expected) or math.isnan(came):
            return math.isnan(expected) and math.isnan(came)
        return came == expected or math.isclose(
            came, expected, rel_tol=tolerance, abs_tol=tolerance
        )
    return type(came) is not Tensor and bool(came == expected)


def kind_of(value):
    return str(value.dtype) if isinstance(value, Tensor) else type(value).__name__


def describe(value):
    """Return a value as a line of text for a report: small ones whole, large ones by shape."""
    if isinstance(value, Tensor):
        if value.numel() <= MOST_NUMBERS:
            values = describe(value.tolist())
            plain = str(value.dtype).endswith(("float32", "int64"))
            return f"tensor({values}{'' if plain else f', dtype={value.dtype}'})"
        return f"tensor of shape {tuple(value.shape)}, strides {tuple(value.stride())}"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple) and type(value).__name__ in ("tuple", "Size"):
        items = ", ".join(describe(item) for item in value)
        return f"({items},)" if len(value) == 1 else f"({items})"
    if type(value) is list:
        text = f"[{described(value)}]"
    elif isinstance(value, types.FunctionType):
        text = value.__name__
    elif isinstance(value, types.GeneratorType):
        text = "a generator"
    elif type(value).__repr__ is object.__repr__:  # an address would tell the reader nothing
        name = getattr(value, "name", None)
        text = (
            f"{type(value).__name__}({name!r})" if isinstance(name, str) else type(value).__name__
        )
    else:
        text = " ".join(repr(value).split())
        if isinstance(value, Module) and len(text) > MOST_OF_A_MODULE:  # a page, for a network
            text = f"{type(value).__name__}(…)"
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 2] + " …"


def described(values):
    """Return as many of a list's items as a line of a report has room for."""
    texts, letters = [], 0
    for value in values:
        if letters > MOST_LETTERS:
            break
        texts.append(describe(value))
        letters += len(texts[-1])
    return ", ".join(texts)


# ---------------------------------------------------------------- recorded calls


def told_apart(values):
    """Return the texts of values; those that read alike and aren't the same say how they differ."""
    texts = [describe(value) for value in values]
    for i, (text, value) in enumerate(zip(texts, values, strict=True)):
        for other in values[:i]:
            if describe(other) != text or other is value:
                continue
            if kind_of(other) != kind_of(value):
                kinds = (f"{text} ({kind_of(one)})" for one in values)
                texts = [new if old == text else old for old, new in zip(texts, kinds, strict=True)]
            elif not isinstance(value, LITERAL):
                texts[i] = f"{text} (another object)"
    return texts


class Call:
    """One call of the reader's code: what with, and what came of it."""

    def __init__(self, name, arguments, named):
        shown = told_apart(arguments)
        shown += [f"{key}={describe(value)}" for key, value in named.items()]
        self.text = f"{name}({', '.join(shown)})"
        self.came = ""


class Recorder:
    """The calls of the reader's functions during one check."""

    def __init__(self):
        self.last = None
        self.credit = 0.0

    @contextlib.contextmanager
    def in_charge(self):
        """Give this recorder what the check of the block says of `credit`."""
        RECORDERS.append(self)
        try:
            yield
        finally:
            RECORDERS.remove(self)

    def watch(self, function):
        """Return `function`, with every call recorded; anything but a function as it is."""
        if not isinstance(function, types.FunctionType):
            return function

        @functools.wraps(function)
        def watched(*arguments, **named):
            self.last = call = Call(function.__name__, arguments, named)
            result = function(*arguments, **named)
            call.came = describe(result)
            self.last = call  # again: the function may have called another that is watched
            return result

        return watched
