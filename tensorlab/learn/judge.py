"""Judging one answer: its check is run on the reader's names, and a Verdict says what came of it.

Whatever the reader's code does, the verdict is a sentence: a wrong value, a missing name, an
exception with the reader's own lines, a loop that does not end.  Nothing here knows where the
names come from; `answers` runs files in a process of their own, a notebook hands its names over.
"""

import ast
import contextlib
import inspect
import random
import signal
import sysconfig
import threading
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tensorlab.errors import GradientError

from .exercise import PACKAGE_FOLDER, BugHunt, holds_exercises
from .expect import Recorder, Wrong

SECONDS = 10.0  # that a check may take
RIGHT, WRONG, ERROR, ENDLESS, MISSING, UNTOUCHED, READ, SUSPICIOUS = (
    "right",
    "not yet",
    "error",
    "endless",
    "missing",
    "not begun",
    "reads the exercises",
    "suspicious",
)


@dataclass
class Verdict:
    """What came of one answer.

    Attributes
    ----------
    id, title : str, of the exercise
    state : str, "right", "not yet", "error", "endless", "missing", "not begun" or "reads the exercises"
    remark : str, what is wrong, or what the reader may like to know
    call, came, expected : str, empty where there is nothing to tell
    trace : str, the reader's lines of an exception
    idea : str, the heading of the chapter to look at again
    printed : str, what the reader's code printed
    seconds : float
    credit : float, the share of the points that the answer has earned, 1.0 if it is right
    """

    id: str
    title: str
    state: str = RIGHT
    remark: str = ""
    call: str = ""
    came: str = ""
    expected: str = ""
    trace: str = ""
    idea: str = ""
    printed: str = ""
    seconds: float = 0.0
    credit: float = 0.0
    extra: dict = field(default_factory=dict)

    @property
    def is_right(self):
        return self.state == RIGHT

    def as_dict(self):
        return asdict(self)


class TimeIsUp(BaseException):
    """Raised in the reader's code when it has run too long; `except Exception` lets it pass."""


class Broken(BaseException):
    """The process that runs the answer has ended, or says what is no answer; not an `Exception`,
    so that no check takes it for an error of the answer.
    """


class Unsendable(BaseException):
    """A value can't go to the other process: the check has to run beside the answer."""


def judge(exercise, names, *, seconds=SECONDS, fresh=None):
    """Return the Verdict on the reader's `names`, a dict, as an answer to `exercise`.

    `fresh`, if given, returns the same names from a new process: a hunt asks for them once for each
    function that the test is tried on.
    """
    verdict = Verdict(exercise.id, exercise.title, idea=exercise.idea)
    recorder = Recorder()
    started = time.perf_counter()
    try:
        with time_limit(seconds), modes_restored():
            if issubclass(exercise, BugHunt):
                hunt(exercise, names, recorder, verdict, fresh)
            else:
                run_check(exercise, names, recorder)
        verdict.credit = 1.0
    except Wrong as wrong:
        verdict.state, verdict.remark = WRONG, wrong.remark
        verdict.credit = max(verdict.credit, recorder.credit)
        verdict.came, verdict.expected = wrong.came or "", wrong.expected or ""
        if exercise.kind == "warm-up":  # to name the answer would answer it
            verdict.expected = ""
        verdict.idea = wrong.idea or exercise.idea
        if recorder.last is not None:
            verdict.call = recorder.last.text
    except MissingName as error:
        verdict.state, verdict.remark = MISSING, str(error)
    except TimeIsUp as error:
        verdict.state = ENDLESS
        verdict.remark = f"It did not end within {seconds:g} seconds."
        verdict.trace = readers_lines(error, with_error=False)
        verdict.call = recorder.last.text if recorder.last else ""
    except Exception as error:
        describe_exception(verdict, error, recorder)
    verdict.seconds = time.perf_counter() - started
    return verdict


def asked_names(exercise):
    """Return the names that the check asks for."""
    if issubclass(exercise, BugHunt):
        return ["test"]
    return list(inspect.signature(exercise.check).parameters)


class MissingName(Exception):
    """The reader's file does not define a name that the check asks for."""


def take(exercise, names, wanted):
    if wanted not in names:
        raise MissingName(
            f"There is no `{wanted}` in your code. The check asks for it by this name; "
            f"`tensorlab show {exercise.id}` shows the stub again."
        )
    return names[wanted]


def run_check(exercise, names, recorder):
    start_afresh()
    answers = {name: recorder.watch(take(exercise, names, name)) for name in asked_names(exercise)}
    empty = [f"`{name}`" for name, answer in answers.items() if is_empty(answer)]
    if empty:
        raise Wrong(f"Put your answer instead of each None: {', '.join(empty)}.")
    with recorder.in_charge():
        exercise.check(**answers)


def is_empty(answer):
    """Say whether there is still a None where the reader should answer."""
    if isinstance(answer, dict):
        return any(value is None for value in answer.values())
    return answer is None or (isinstance(answer, (tuple, list)) and any(x is None for x in answer))


def start_afresh():
    """Start every check from the same random numbers, and recording: an answer may have stopped that."""
    from tensorlab._core.state.modes import switch_grad_mode, switch_inference_mode
    from tensorlab.random import manual_seed

    manual_seed(0)
    switch_inference_mode(False)
    switch_grad_mode(True)


@contextlib.contextmanager
def modes_restored():
    """Leave grad mode and inference mode as they are, whatever an answer does to them."""
    from tensorlab._core.state import modes

    was = modes.is_inference_mode_enabled(), modes.is_grad_enabled()
    try:
        yield
    finally:
        modes.switch_inference_mode(was[0])
        modes.switch_grad_mode(was[1])


def hunt(exercise, names, recorder, verdict, fresh=None):
    """Run the reader's test on the right implementation and on each planted bug.

    The order is drawn anew each time, and the right one comes twice: the number of a call tells nothing.
    """
    take(exercise, names, "test")
    subjects = [(0, exercise.right), (0, exercise.right), *enumerate(exercise.bugs, start=1)]
    random.SystemRandom().shuffle(subjects)
    caught, refused = set(), None
    for number, subject in subjects:
        test = take(exercise, fresh() if fresh else names, "test")
        start_afresh()
        try:
            test(disguised(subject))
        except Exception as error:
            caught.add(number)
            refused = error if number == 0 else refused
    recorder.last = None
    if refused is not None:
        verdict.trace = readers_lines(refused)
        raise Wrong(
            "The first half fails: your test must pass on the right implementation, and it does not. "
            "What it asks for is not true of code without a bug:"
        ) from refused
    count = len(exercise.bugs)
    missed = [number for number in range(1, count + 1) if number not in caught]
    if missed:
        verdict.credit = 1 - len(missed) / count
        numbers = f" (number {', '.join(map(str, missed))})" if count > 1 else ""
        which = "the planted bug" if count == 1 else f"{len(missed)} of {count} planted bugs"
        raise Wrong(
            f"The second half fails: your test passes on the right implementation, as it must, and on "
            f"{which} too{numbers}. It does not ask for what is wrong there."
        )
    found = "; ".join(planted.rstrip(".") for planted in exercise.planted)
    verdict.remark = f"Your test found what was planted: {found}."


def disguised(function):
    """Return a function that does the same; its name, docstring and code do not say which one it is."""
    if not inspect.isfunction(function):
        return function

    def subject(*arguments, **named):
        return function(*arguments, **named)

    subject.__name__ = subject.__qualname__ = function.__qualname__
    subject.__signature__ = inspect.signature(function)
    return subject


def clean_line(text):
    return " ".join((text or "").split())


def describe_exception(verdict, error, recorder):
    """Fill the verdict on an exception: the reader's, or the check's over an odd result."""
    verdict.state = ERROR
    verdict.trace = readers_lines(error)
    verdict.call = recorder.last.text if recorder.last else ""
    if not verdict.trace:
        verdict.state = WRONG
        verdict.came = recorder.last.came if recorder.last else ""
        reason = f"{type(error).__name__}: {clean_line(str(error))}"
        verdict.extra["reason"] = reason
        if verdict.came and not isinstance(error, GradientError):
            reason = "it is not of the kind or the shape that the exercise asks for."
        verdict.remark = f"The check could not use what your code gave: {reason}"


# ---------------------------------------------------------------- the reader's lines


def is_foreign(filename):
    """Say whether a file is Python's, tensorlab's or another package's, and not the reader's."""
    if filename.startswith("<frozen") or filename.endswith((".pyx", ".pxd")):
        return True
    path = Path(filename)
    if holds_exercises(path) and path.parent.name[:2].isdigit():
        return True
    library = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    homes = [*map(Path, filter(None, library)), PACKAGE_FOLDER]
    return any(home in path.parents for home in homes)


def readers_lines(error, *, with_error=True):
    """Return the traceback of `error` without the frames of any file but the reader's."""
    if (elsewhere := getattr(error, "trace_of_reader", None)) is not None:
        return elsewhere()  # it was raised in another process
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not is_foreign(frame.filename)
    ]
    if isinstance(error, SyntaxError) and not frames:
        return "".join(traceback.format_exception_only(error)).rstrip()
    if not frames:
        return ""
    lines = []
    for frame in frames[-6:]:
        lines.append(f"{Path(frame.filename).name}, line {frame.lineno}, in {frame.name}")
        if frame.line:
            lines.append(f"    {frame.line}")
    if with_error:
        lines += "".join(traceback.format_exception_only(error)).rstrip().split("\n")
    return "\n".join(lines)


# ---------------------------------------------------------------- the time limit


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TimeIsUp in the block once `seconds` are over, where the system has such a clock.

    The alarm rings again each half second, for code that catches everything; code that never
    returns to Python is for the parent process to end.
    """
    has_alarm = hasattr(signal, "setitimer")
    if not has_alarm or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number, frame):
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# ---------------------------------------------------------------- has it been touched


def is_stub(exercise, code):
    """Say whether `code` is still the stub, comments and layout aside."""
    try:
        return ast.dump(ast.parse(code)) == ast.dump(ast.parse(exercise.stub))
    except SyntaxError:
        return False
