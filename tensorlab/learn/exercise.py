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
import types
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from pathlib import Path
from textwrap import dedent

from .packs import ExerciseError, pack_folders

PACKAGE_FOLDER = Path(__file__).resolve().parents[1]
KINDS = ("warm-up", "implement", "extend", "bug hunt")
MOST_HINTS = 3


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
    points : number, what a right answer earns; 1 unless given
    beside : str, why the check must run in the process of the answer; empty where it need not.
        See docs/instructors.md, "A verdict that can't be forged".
    id, name, title, text : str, filled in: "03.2", "Transposed" and the docstring's two parts
    """

    kind = idea = stub = solution = reason = beside = ""
    points: float = 1
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
    planted : list of str, filled in: those docstrings
    """

    kind = "bug hunt"
    bugs: list = []  # noqa: RUF012
    planted: list = []  # noqa: RUF012

    def __init_subclass__(cls):
        super().__init_subclass__()
        cls.right = staticmethod(vars(cls)["right"])
        subject = re.search(r"def test\((\w+)", cls.stub)
        name = subject[1] if subject else "subject"
        cls.planted = [" ".join((bug.__doc__ or "").split()) for bug in cls.bugs]
        cls.right = staticmethod(anonymous(cls.right, name))
        cls.bugs = [anonymous(bug, name) for bug in cls.bugs]


def anonymous(function, name):
    """Return a copy of a function that tells neither by its docstring nor by a name which one it is."""
    if not isinstance(function, types.FunctionType):
        function.__qualname__ = name
        return function
    code = function.__code__
    constants = code.co_consts
    if function.__doc__ is not None and constants[:1] == (function.__doc__,):
        constants = (None, *constants[1:])
    code = code.replace(co_name=name, co_qualname=name, co_consts=constants)
    copy = types.FunctionType(
        code, function.__globals__, name, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__, copy.__doc__ = function.__kwdefaults__, None
    return copy


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
    """Return the folder of the chapters: an installed package has a copy beside it."""
    own = PACKAGE_FOLDER.parent / "tensorlab_chapters"
    return own if own.is_dir() else PACKAGE_FOLDER.parent / "chapters"


def exercise_folders():
    """Return the folders that hold chapters with exercises: that of the book, then those of packs."""
    return [chapters_folder(), *pack_folders()]


def exercise_files():
    """Return {chapter number: path of its exercises.py}, in order.

    A chapter of a pack stands for one of the book with the same number; two packs with the same
    number are an ExerciseError.
    """
    book, *packs = (
        {path.parent.name[:2]: path for path in folder.glob("[0-9][0-9]-*/exercises.py")}
        for folder in exercise_folders()
    )
    added = {}
    for pack in packs:
        for number, path in pack.items():
            if added.setdefault(number, path) != path:
                raise ExerciseError(
                    f"{path.parent} and {added[number].parent} are both chapter {number}; "
                    "give one of them another number"
                )
    return dict(sorted({**book, **added}.items()))


def split_identity(identity):
    """Return ("03", "03.2") of "03.2", "3.2" or 3.2, and ("03", None) of "03" or 3."""
    match = re.fullmatch(r"(\d{1,2})(?:\.(\d{1,2}))?", str(identity).strip())
    if match is None:
        raise ExerciseError(f"{identity!r} names no exercise; write 03 or 03.2")
    number = f"{int(match[1]):02d}"
    return number, f"{number}.{int(match[2])}" if match[2] else None


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


@cache
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
    imports = clean(getattr(module, "IMPORTS", "import tensorlab"))
    files = programs(folder, imports, getattr(module, "FILES", ()))
    return Chapter(number, folder, imports, files, exercises)


def programs(folder, imports, named):
    """Return the names of the programs beside a chapter that a reader's file imports, or that these import."""
    found, waiting = dict.fromkeys(named), [imports]
    waiting += [(folder / name).read_text(encoding="utf-8") for name in named]
    while waiting:
        for module in re.findall(r"^(?:from|import) (\w+)", waiting.pop(), re.MULTILINE):
            path = folder / f"{module}.py"
            if path.is_file() and path.name not in found:
                found[path.name] = None
                waiting.append(path.read_text(encoding="utf-8"))
    return tuple(found)


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
    return [read_chapter(path) for path in exercise_files().values()]


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
        for number, planted in enumerate(exercise.planted, start=1):
            if not planted:
                yield f"bug number {number} has no docstring that says what it is"
    elif not callable(getattr(exercise, "check", None)):
        yield "check is missing"
