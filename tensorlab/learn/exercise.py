'''The form of an exercise, and where the exercises of a chapter are found.

A chapter's exercises stand in `exercises.py` beside its text, one class each, in order.  A class is
one block: the text that the page shows, the stub that the reader gets, hints that help in steps,
the check, the solution with its reason, and the wrong answers that people give.

    class Transposed(Exercise):
        """The strides of a transpose

        `x` has sizes (2, 3) and strides (3, 1).  Which strides has `x.t()`?
        """

        kind = "warm-up"
        idea = "Idea"  # a heading of the chapter: where to look again
        stub = "strides = None"
        hints = ["Which two numbers does a transpose exchange?"]
        solution = "strides = (1, 3)"
        reason = "The first index of `x.t()` is the second of `x`."
        wrong = [Wrong("strides = (2, 1)", "of a copy", "These are the strides of a copy.")]

        def check(strides):
            require(strides != (2, 1), "These are the strides of a copy, not of a view.")
            expect(strides, tensorlab.zeros(2, 3).t().stride(), "the strides of x.t()")

Where one file would be too long, more follow in `exercises_<of what>.py`, and the numbers go on.
`check` asks for what it needs by the names of its parameters.  Nothing is ever instantiated: a
class is a record with names.
'''

import importlib.util
import re
import sys
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
KINDS = ("warm-up", "implement", "extend", "bug hunt")
MOST_HINTS = 3


class ExerciseError(Exception):
    """An exercise is not written as it must be, or there is none of that name."""


@dataclass(frozen=True)
class Wrong:
    """A wrong answer that people give.

    Attributes
    ----------
    code : str, what takes the place of the stub
    says : str, a piece of what the check says to it and to no other answer
    why : str, Markdown for the page: what the answer mistakes for what
    """

    code: str
    says: str
    why: str


def clean(text):
    return dedent(text).strip("\n")


class Exercise:
    """Base of every exercise; the docstring is its title, an empty line and its text in Markdown.

    Attributes
    ----------
    kind : str, one of KINDS
    idea : str, the heading of the chapter to look at again
    stub, solution : str, Python code; both define the same names
    hints : list of 1 to 3 str, Markdown, each telling more than the one before
    reason : str, Markdown: why the solution is right
    wrong : list of Wrong, at least one
    check : function of names that the stub defines; calls `expect` and its like, or raises
    id, name, title, text : str, filled in: "03.2", "Transposed" and the docstring's two parts
    """

    kind = idea = stub = solution = reason = ""
    hints: list = []  # noqa: RUF012 - a record, never changed
    wrong: list = []  # noqa: RUF012
    id = name = title = text = ""

    def __init_subclass__(cls):
        cls.name = cls.__name__
        title, _, text = cleandoc(cls.__doc__ or "").partition("\n")
        cls.title, cls.text = title.strip(), text.strip("\n")
        for part in ("stub", "solution", "reason"):
            setattr(cls, part, clean(getattr(cls, part)))
        cls.hints = [clean(hint) for hint in cls.hints]
        cls.wrong = [Wrong(clean(w.code), w.says, clean(w.why)) for w in cls.wrong]
        if "check" in vars(cls):
            cls.check = staticmethod(vars(cls)["check"])


class BugHunt(Exercise):
    """An exercise in which the reader writes the test.

    The stub defines `test(subject)`, which must raise where `subject` is wrong and pass where it is
    right.  Nothing is said of the bugs before they are found.

    Attributes
    ----------
    right : function, the implementation that the test must pass
    bugs : list of functions like it, each with a bug planted; the docstring says which
    """

    kind = "bug hunt"
    bugs: list = []  # noqa: RUF012

    def __init_subclass__(cls):
        super().__init_subclass__()
        cls.right = staticmethod(vars(cls)["right"])
        subject = re.search(r"def test\((\w+)", cls.stub)
        for function in [cls.right, *cls.bugs]:  # errors must not tell one from the other
            function.__qualname__ = subject[1] if subject else "subject"


@dataclass(frozen=True)
class Chapter:
    """The exercises of one chapter.

    Attributes
    ----------
    number : str, "03"
    folder : Path, with the programs that the exercises may import
    imports : str, the first lines of a reader's file
    files : tuple of str, programs of the chapter that a reader's file imports
    exercises : tuple of Exercise classes, in order
    """

    number: str
    folder: Path
    imports: str
    files: tuple
    exercises: tuple

    @property
    def title(self):
        return self.folder.name[3:].replace("-", " ").capitalize()

    def __getitem__(self, identity):
        for exercise in self.exercises:
            if exercise.id == identity:
                return exercise
        raise ExerciseError(
            f"there is no exercise {identity}; chapter {self.number} has "
            + ", ".join(exercise.id for exercise in self.exercises)
        )


# ---------------------------------------------------------------- finding them


def chapters_folder():
    """Return the folder of the chapters: an installed package has its own copy."""
    own = PACKAGE_FOLDER / "learn" / "chapters"
    return own if own.is_dir() else PACKAGE_FOLDER.parent / "chapters"


def exercise_files():
    """Return {chapter number: path of its exercises.py}, in order."""
    return {
        path.parent.name[:2]: path
        for path in sorted(chapters_folder().glob("[0-9][0-9]-*/exercises.py"))
    }


def split_identity(identity):
    """Return ("03", "03.2") of "03.2", "3.2" or 3.2, and ("03", None) of "03" or 3."""
    match = re.fullmatch(r"(\d{1,2})(?:\.(\d{1,2}))?", str(identity).strip())
    if match is None:
        raise ExerciseError(f"{identity!r} names no exercise; write 03 or 03.2")
    number = f"{int(match[1]):02d}"
    return number, f"{number}.{int(match[2])}" if match[2] else None


@cache
def load_chapter(number):
    """Return the Chapter with this number, such as "03"; ExerciseError where there is none."""
    number, _ = split_identity(number)
    files = exercise_files()
    if number not in files:
        known = ", ".join(files) or "none"
        raise ExerciseError(f"chapter {number} has no exercises; those that have: {known}")
    return read_chapter(files[number])


def holds_exercises(path):
    """Say whether a file beside a chapter holds exercises: it tells their solutions."""
    return path.stem.partition("_")[0] == "exercises" and path.suffix == ".py"


def read_chapter(path):
    """Return the Chapter whose exercises stand in the file `path`, and go on in others beside it."""
    folder, number = path.parent, path.parent.name[:2]
    module, *more = (
        load_module(part, f"tensorlab_{part.stem}_{number}")
        for part in (path, *sorted(folder.glob("exercises_*.py")))
    )
    exercises = tuple(
        value
        for part in (module, *more)
        for value in vars(part).values()
        if isinstance(value, type)
        and issubclass(value, Exercise)
        and value.__module__ == part.__name__
    )
    for position, exercise in enumerate(exercises, start=1):
        exercise.id = f"{number}.{position}"
    files = tuple(getattr(module, "FILES", ()))
    imports = clean(getattr(module, "IMPORTS", "import tensorlab"))
    return Chapter(number, folder, imports, files, exercises)


def load_module(path, name):
    """Return the module in the file `path`, which may import the programs beside it."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ExerciseError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that errors in it can show their lines
    spec.loader.exec_module(module)
    return module


def find(identity):
    """Return (Chapter, exercises): all of a chapter for "03", one for "03.2"."""
    number, single = split_identity(identity)
    chapter = load_chapter(number)
    return chapter, (chapter[single],) if single else chapter.exercises


def all_chapters():
    """Return every Chapter that has exercises, in order."""
    return [load_chapter(number) for number in exercise_files()]


# ---------------------------------------------------------------- the rules for writers


def problems(exercise):
    """Yield one sentence for everything that is missing or wrong in how an exercise is written."""
    if exercise.kind not in KINDS:
        yield f"kind is {exercise.kind!r}; it must be one of {', '.join(KINDS)}"
    if not exercise.title or exercise.title.endswith("."):
        yield "the docstring must begin with a title, without a full stop"
    for part in ("text", "idea", "stub", "solution", "reason"):
        if not getattr(exercise, part).strip():
            yield f"{part} is empty"
    if not 1 <= len(exercise.hints) <= MOST_HINTS:
        yield f"it has {len(exercise.hints)} hints; 1 to {MOST_HINTS} are allowed"
    if not exercise.wrong:
        yield "wrong is empty; name at least one wrong answer that people give"
    if issubclass(exercise, BugHunt):
        if not exercise.bugs:
            yield "bugs is empty; plant at least one"
        for bug in exercise.bugs:
            if not (bug.__doc__ or "").strip():
                yield f"the bug {bug.__name__} has no docstring that says what it is"
    elif not callable(getattr(exercise, "check", None)):
        yield "check is missing"
