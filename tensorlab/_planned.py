"""Names that are still to come: a program can import them, and hears more when it uses one.

Many programs import a package of PyTorch's at their top, or ask it a question, and never use
it. So the packages that are planned are there. Their questions have true answers, and each
other name is a `PlannedName`: it can be imported and named, and whatever else a program does
with it raises `NotThereYet`.
"""

import typing

from tensorlab.errors import NotThereYet


def not_there_yet(name, until, chapter=None):
    """Return the error for a use of what is still to come."""
    number, _, title = (chapter or "").partition("-")
    planned = f"; it is planned with chapter {number}, {title}" if number else ""
    return NotThereYet(f"{name} is still to come{planned}. Until then, {until}")


class PlannedName:
    """A function or class that is still to come. It can be imported, and stand in annotations
    and in isinstance.

    >>> from tensorlab import onnx
    >>> onnx.export
    <tensorlab.onnx.export, still to come>
    >>> isinstance(3, onnx.export)
    False
    """

    def __init__(self, name, until, chapter=None):
        self.__name__ = name.rpartition(".")[2]
        self.__qualname__ = name
        self._until, self._chapter = until, chapter

    def refuse(self, *args, **kwargs):
        """Raise NotThereYet, which says what to do until the name comes."""
        raise not_there_yet(self.__qualname__, self._until, self._chapter)

    __call__ = __bool__ = __iter__ = __len__ = __getitem__ = __enter__ = __mro_entries__ = refuse

    def __exit__(self, *args):
        """Do nothing: `__enter__` has raised. Python looks both up before it calls one."""

    def __getattr__(self, name):
        if name.startswith("_"):  # what Python, notebooks and test tools ask of anything
            raise AttributeError(f"a planned name has no attribute {name!r}")
        return PlannedName(
            f"{self.__qualname__}.{name}", self._until, self._chapter
        )  # ReduceOp.SUM

    def __instancecheck__(self, instance):
        return False

    def __subclasscheck__(self, subclass):
        return False

    def __reduce__(self):
        return PlannedName, (self.__qualname__, self._until, self._chapter)

    def __or__(self, other):  # in annotations: ProcessGroup | None
        return typing.Union[self, other]  # noqa: UP007 - `|` is what is being defined

    def __ror__(self, other):
        return typing.Union[other, self]  # noqa: UP007

    def __repr__(self):
        return f"<{self.__qualname__}, still to come>"


def names(package, planned, until, chapter=None, **instead):
    """Return a dict of the names that are planned for a package, to be added to its globals.

    Parameters
    ----------
    package : str, its `__name__`
    planned : str, the names, with spaces between them
    until : str, what to do until they come: the end of a sentence that begins "Until then,"
    chapter : str or None, the folder of the chapter that comes with them
    instead : what to do until then, for names for which there is something better to say
    """
    return {
        name: planned_error(package, name)
        if name.endswith("Error")
        else PlannedName(f"{package}.{name}", instead.get(name, until), chapter)
        for name in planned.split()
    }


def planned_error(package, name):
    """Return the class of an error that is still to come: `except` needs a class, and nothing raises it."""
    about = f"An error of {package}, which is still to come; nothing raises it yet."
    return type(name, (RuntimeError,), {"__doc__": about, "__module__": package})
