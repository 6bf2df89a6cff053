"""The exceptions of tensorlab.

Each class also inherits the built-in that PyTorch raises in the same place, so that `except RuntimeError` written for
PyTorch catches ours too.

    TensorlabError
    |-- ShapeError        (RuntimeError)         sizes that do not fit together
    |   |-- TargetError      (ValueError)         a loss: a target that does not fit the prediction
    |   |-- SizeOutOfRange   (TypeError)          a size that does not fit in 64 bits
    |   |-- HiddenStateError (IndexError)         LSTM: a first state that is not a pair
    |   `-- AttentionError   (AssertionError)     multi-head attention: something that does not fit the rest
    |-- NumberOutOfRange  (ValueError, OverflowError)  a dimension, a position or a count that does not fit in 64 bits
    |-- ArgumentTypeError (TypeError, RuntimeError)  an argument of the wrong type
    |-- DTypeError        (RuntimeError)         an element type that an operation cannot take
    |   `-- UnsupportedDType (NotImplementedError)  no kernel for this element type
    |-- NotATensor        (TypeError, AttributeError)  something else where a tensor is needed
    |-- DimensionError    (IndexError)           a dimension that a tensor does not have
    |-- IndexOutOfRange   (IndexError)           an index outside its dimension
    |-- PositionOutOfRange (RuntimeError)        the same in gather, scatter and index_add
    |   `-- SliceOutOfRange (IndexError)         and in index_select
    |-- MemoryLayoutError (RuntimeError)         overlapping, foreign, read-only or exported memory
    |-- DeviceError       (RuntimeError, AssertionError)  a device that this library does not have
    |-- NoDataError       (NotImplementedError)  values are asked for of a tensor on "meta", which has none
    |-- NotThereYet       (NotImplementedError, AttributeError)  a part of PyTorch that is still to come
    |-- AllocationError   (RuntimeError)         more memory than the machine gives
    |-- LinAlgError       (RuntimeError)         a matrix that a factorisation can't take, such as a singular one
    |-- DivisionByZero    (RuntimeError)         a whole number divided by zero
    |-- GeneratorError    (RuntimeError, ValueError)  a seed or a state that a random generator cannot take
    |-- MissingData       (RuntimeError)         a data set whose files are not there
    |-- DownloadError     (RuntimeError)         a file that could not be fetched, or came with the wrong checksum
    |-- FileFormatError   (RuntimeError)         a file that is damaged, or not what it should be
    |   |-- EmptyFile        (EOFError)             a file without a byte
    |   `-- UnsafeGlobal     (UnpicklingError)      a file names what is not allowed to be called
    |-- GradcheckError    (RuntimeError)         gradcheck: backward and finite differences disagree
    `-- GradientError     (RuntimeError)         autograd: wrong use of leaves, views, graphs
        `-- VersionError                         a saved tensor was changed in place
"""

import pickle
import types

from tensorlab import _pitfalls


class TensorlabError(Exception):
    """Base of every exception that tensorlab defines.

    Where the book explains a message, Python prints below it which command shows the section.
    """

    @property
    def __notes__(self):
        """The notes that were added, and last the one about the book; computed when they are asked for."""
        notes = self.__dict__.setdefault("_notes", [])
        if note := _pitfalls.note_for(str(self)):
            notes[:] = [*(one for one in notes if one != note), note]
        if not notes:
            raise AttributeError("__notes__")  # as Python's own exceptions without any
        return notes

    @__notes__.setter
    def __notes__(self, notes):
        self.__dict__["_notes"] = notes


class ShapeError(TensorlabError, RuntimeError):
    """Sizes do not fit together."""


class TargetError(ShapeError, ValueError):
    """The target of a loss has not the size that the prediction asks for."""


class SizeOutOfRange(ShapeError, TypeError):
    """A size does not fit in 64 bits."""


class AttentionError(ShapeError, AssertionError):
    """What multi-head attention is given does not fit together, where PyTorch raises AssertionError."""


class HiddenStateError(ShapeError, IndexError):
    """The first state of an LSTM is not a pair; PyTorch raises now RuntimeError, now IndexError."""


class NotATensor(TensorlabError, TypeError, AttributeError):
    """Something else than a tensor is given, where PyTorch raises AttributeError."""


class NumberOutOfRange(TensorlabError, ValueError, OverflowError):
    """A dimension, a position or a count does not fit in 64 bits."""


class ArgumentTypeError(TensorlabError, TypeError, RuntimeError):
    """An argument is of the wrong type, where PyTorch raises RuntimeError."""


class DTypeError(TensorlabError, RuntimeError):
    """An operation cannot take this element type."""


class UnsupportedDType(DTypeError, NotImplementedError):
    """An operation has no kernel for this element type."""


class DimensionError(TensorlabError, IndexError):
    """A dimension is named that the tensor does not have."""


class IndexOutOfRange(TensorlabError, IndexError):
    """An index lies outside its dimension."""


class PositionOutOfRange(TensorlabError, RuntimeError):
    """An index lies outside its dimension, in an op for which PyTorch raises RuntimeError then."""


class SliceOutOfRange(PositionOutOfRange, IndexError):
    """An index lies outside its dimension, in an op for which PyTorch raises now RuntimeError, now IndexError."""


class MemoryLayoutError(TensorlabError, RuntimeError):
    """Memory overlaps, is foreign, read-only or exported, where that is not allowed."""


class DeviceError(TensorlabError, RuntimeError, AssertionError):
    """An accelerator is asked for; PyTorch without one raises RuntimeError in some places, AssertionError in others."""


class NoDataError(TensorlabError, NotImplementedError):
    """A tensor on the device "meta" is asked for values, which it does not have."""


class NotThereYet(TensorlabError, NotImplementedError, AttributeError):
    """A part of PyTorch is used that tensorlab is still to get."""


class AllocationError(TensorlabError, RuntimeError):
    """The machine has not enough memory."""


class MissingExtra(TensorlabError, ImportError):
    """A feature needs a package that tensorlab itself does not, and that is not installed."""


class LinAlgError(TensorlabError, RuntimeError):
    """A factorisation can't go on with a matrix: it is singular, not positive definite, or has nan inside.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.linalg.inv(tensorlab.zeros(2, 2))
    Traceback (most recent call last):
        ...
    tensorlab.errors.LinAlgError: linalg.inv: the matrix is singular: element 1 of the ...
    """


class DivisionByZero(TensorlabError, RuntimeError):
    """A whole number is divided by zero, which integers have no value for."""


class GeneratorError(TensorlabError, RuntimeError, ValueError):
    """A random generator cannot take this seed or state."""


class MissingData(TensorlabError, RuntimeError):
    """The files of a data set are not in the folder that was given."""


class DownloadError(TensorlabError, RuntimeError):
    """A file could not be fetched, or what came has another checksum than it should."""


class FileFormatError(TensorlabError, RuntimeError):
    """A file is damaged, or is not what it should be, such as a checkpoint."""


class EmptyFile(FileFormatError, EOFError):
    """A file has not a single byte: perhaps the program that was to write it did not come to it."""


class UnsafeGlobal(FileFormatError, pickle.UnpicklingError):
    """A file names a class or function that it is not allowed to call."""


class GradcheckError(TensorlabError, RuntimeError):
    """gradcheck found backward to be wrong: other numbers than finite differences give, or a rule that it breaks."""


class GradientError(TensorlabError, RuntimeError):
    """Autograd is used in a way that would give a wrong gradient."""


class VersionError(GradientError):
    """A tensor that was saved for backward has been changed in place."""


class DistError(TensorlabError, RuntimeError):
    """Processes that work together can't go on."""


class DistBackendError(DistError):
    """A collective failed: a rank is gone, late, or calls something else than the others."""


class DistNetworkError(DistError):
    """A rank can't reach the others: nothing answers at the address, or the port is in use."""


class DistStoreError(DistError):
    """A store of keys and values that ranks share has no answer, or not in time."""


class QueueEmptyError(DistStoreError):
    """A queue in a store is empty, and the caller doesn't want to wait."""


def what_was_meant(value):
    """Return how to get what is meant from a value of the wrong type, to end a sentence, or "".

    >>> import tensorlab
    >>> layer = tensorlab.nn.Linear(2, 3)
    >>> what_was_meant(layer.parameters)
    '. It is a method that was not called: write parameters()'
    >>> what_was_meant(layer)
    '. A Linear is no list of parameters: write .parameters() after it'
    >>> what_was_meant(tensorlab.nn.ReLU)
    '. It is a class: write ReLU() to make one'
    """
    name = getattr(value, "__name__", None)
    if isinstance(value, type):
        return f". It is a class: write {name}() to make one"
    if isinstance(value, types.GeneratorType):
        return ". It is an iterator: give it without brackets around it, or make a list of it"
    if callable(getattr(value, "parameters", None)):
        return f". A {type(value).__name__} is no list of parameters: write .parameters() after it"
    if callable(value) and isinstance(name, str):
        kind = "method" if getattr(value, "__self__", None) is not None else "function"
        return f". It is a {kind} that was not called: write {name}()"
    return ""


def uncalled(value):
    """Return what to write where a function or a class was given instead of what it returns, or "".

    >>> import tensorlab
    >>> uncalled(tensorlab.ones(2).sum)
    '. It is a method that was not called: write sum()'
    >>> uncalled(tensorlab.nn.ReLU())
    ''
    """
    is_meant = callable(value) and not callable(getattr(value, "forward", None))
    return what_was_meant(value) if is_meant or isinstance(value, type) else ""


def listed(where, name, values):
    """Return the values of an iterable argument as a list; a TypeError says what was given instead."""
    try:
        return list(values)
    except TypeError:
        if hasattr(type(values), "__iter__"):
            raise  # it goes wrong on the way
        raise TypeError(
            f"{where}: {name} is of type {type(values).__name__}; expected an iterable of tensors, "
            f"such as model.parameters(){what_was_meant(values)}"
        ) from None
