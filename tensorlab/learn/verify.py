"""Are exercises written as they must be?  `tensorlab exercises verify` asks, and the tests of the book do.

The stub must fail its check, the solution must pass, and each wrong answer must be told what it
mistakes, in words that no other wrong answer hears.  All of that must also come out when the answer is in a process
of its own, as it is in grading, unless the exercise says why its check has to run `beside` it.
"""

import linecache
import re
import sys
import tempfile
from pathlib import Path

from .apart import Witness, folder_of
from .exchange import DEEPEST
from .exercise import BugHunt, problems
from .judge import ERROR, MISSING, RIGHT, Broken, Unsendable, Verdict, asked_names, judge
from .report import verdict_text

SECONDS = 10.0


def names_of(chapter, code):
    """Return what a reader's file with this answer defines."""
    text = f"{chapter.imports}\n\n\n{code}\n"
    linecache.cache["answer.py"] = (len(text), None, text.splitlines(keepends=True), "answer.py")
    names = {"__name__": "answer"}
    exec(compile(text, "answer.py", "exec"), names)
    return names


class Beside:
    """Judges answers in this process, as a notebook does."""

    def __init__(self, chapter):
        self.chapter = chapter

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def judge(self, exercise, code):
        return judge(exercise, names_of(self.chapter, code), seconds=SECONDS)


class Apart(Beside):
    """Judges answers in another process, as grading does; one process serves many of them."""

    def __enter__(self):
        self.limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(DEEPEST, self.limit))  # as the referee does
        self.place = tempfile.TemporaryDirectory()
        self.files = folder_of(self.chapter, self.place.name)
        self.witness = None
        return self

    def __exit__(self, *error):
        self.end()
        self.place.cleanup()
        sys.setrecursionlimit(self.limit)

    def end(self):
        if self.witness is not None:
            self.witness.close()
        self.witness = None

    def judge(self, exercise, code):
        """Return the Verdict on an answer that another process holds."""
        if self.witness is None:
            records = [Path(name).stem for name in self.chapter.files]
            path = self.files / "answer.py"
            path.touch()
            self.witness = Witness(path, self.files, records)
        self.witness.give(SECONDS)
        try:
            self.witness.ask("clear")
            self.witness.ask("run", f"{self.chapter.imports}\n\n\n{code}\n")
            names = self.witness.names(asked_names(exercise))
            verdict = judge(exercise, names, seconds=2 * SECONDS)
        except (Broken, Unsendable) as error:
            verdict = Verdict(
                exercise.id, exercise.title, ERROR, f"{type(error).__name__}: {error}"
            )
        if verdict.state in ("endless", ERROR):
            self.end()
        return verdict


def complaints(chapter, exercise):
    """Yield one sentence for everything that is wrong with an exercise."""
    yield from problems(exercise)
    if not exercise.solution:
        return
    with Beside(chapter) as here:
        yield from complaints_of(here, exercise)
        if issubclass(exercise, BugHunt) and here.judge(exercise, exercise.stub).credit > 0:
            yield "the stub finds a planted bug"
    if not exercise.beside:
        with Apart(chapter) as there:
            for complaint in complaints_of(there, exercise):
                yield f"in a process of its own, {complaint}"


def complaints_of(bench, exercise):
    """Yield what is wrong with how answers are judged on this bench."""
    stub = bench.judge(exercise, exercise.stub)
    if stub.state in (RIGHT, MISSING):
        yield f"the stub is {stub.state}"
    solution = bench.judge(exercise, exercise.solution)
    if solution.state != RIGHT:
        reason = solution.extra.get("reason", "")
        yield f"the solution is not right: {flat(solution)} {reason}".rstrip()
    heard = [bench.judge(exercise, wrong.code) for wrong in exercise.wrong]
    for number, (wrong, verdict) in enumerate(zip(exercise.wrong, heard, strict=True), start=1):
        if verdict.state in (RIGHT, MISSING):
            yield f"wrong answer {number} is {verdict.state}"
        elif wrong.says not in flat(verdict):
            yield f"wrong answer {number} isn't told {wrong.says!r}, but {flat(verdict)!r}"
        for other, elsewhere in enumerate(heard, start=1):
            if other != number and wrong.says in flat(elsewhere):
                yield f"wrong answer {other} is told {wrong.says!r}, which is meant for {number}"


def flat(verdict):
    """Return the text of a verdict in one line."""
    return re.sub(r"\s+", " ", verdict_text(verdict))
