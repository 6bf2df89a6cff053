"""Anomaly mode: which line of the user's program made this node, and which wrote to that tensor?

While the mode is on, every new node keeps the call stack of its forward op, every write its line, and backward looks for NaN
after each node. This costs time, so the mode is a switch, for the whole process as in PyTorch. A stack is kept as places
in compiled code and becomes text when it is read: of a thousand nodes hardly one is ever asked where it was made.
"""
cimport cython

import linecache
import os
import sys
import warnings

from tensorlab._core.state.settings_number import note_setting
from tensorlab._finder import FOLDER

cdef bint watching = False
cdef bint looks_for_nan = True
cdef bint data_watched = False
PACKAGE = FOLDER + os.sep


cdef bint is_anomaly_on() noexcept:
    return watching


cdef bint is_data_watched() noexcept:
    return data_watched


def switch_anomaly(bint enabled, bint check_nan=True):
    """Set both switches of anomaly mode and return what they were."""
    global watching, looks_for_nan
    was = watching, looks_for_nan
    watching, looks_for_nan = enabled, check_nan
    note_setting("anomaly mode", (bool(enabled), bool(check_nan)), (False, True))
    return was


def is_anomaly_enabled():
    """True while anomaly mode is on.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.is_anomaly_enabled()
    False
    """
    return watching


def is_anomaly_check_nan_enabled():
    """True if anomaly mode, when it is on, looks for NaN after each node of a backward pass.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.is_anomaly_check_nan_enabled()
    True
    """
    return looks_for_nan


def switch_data_watch(bint enabled):
    """Let `.data` share the version counter of its tensor, or not; return what it was."""
    global data_watched
    was = data_watched
    data_watched = enabled
    note_setting("writes through .data", bool(enabled), False)
    return was


# ---------------------------------------------------------------- lines of the user's program
cdef object user_frame():
    """The innermost frame that is not in this package (frames of compiled code are none); the innermost one, failing that."""
    innermost = frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return innermost if frame is None else frame


cdef str here():
    """The line that is running, such as 'train.py:12, in step: weight.add_(1)'."""
    frame = user_frame()
    code = frame.f_code
    line = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals).strip()
    return f"{code.co_filename}:{frame.f_lineno}, in {code.co_name}: {line}"


@cython.final
@cython.auto_pickle(False)
cdef class CallStack:
    """Where the user's program is: the code of each frame and how far it has come, innermost first. Frames, which would keep
    their variables alive, are not held."""
    cdef list codes
    cdef list places            # in bytes from the start of that code

    cdef list text(self):
        """A string for each frame, outermost first, as traceback.format_stack writes them."""
        import traceback

        cdef list lines = []
        for code, place in zip(reversed(self.codes), reversed(self.places)):
            linecache.checkcache(code.co_filename)
            lines.append((code.co_filename, line_at(code, place), code.co_name, None))
        return traceback.format_list(lines)


cdef object forward_stack():
    """The call stack of the op that is running."""
    cdef CallStack stack = CallStack.__new__(CallStack)
    stack.codes, stack.places = [], []
    frame = user_frame()
    while frame is not None:
        stack.codes.append(frame.f_code)
        stack.places.append(frame.f_lasti)
        frame = frame.f_back
    return stack


cdef object line_at(object code, object place):
    """The number of the line to which this instruction belongs."""
    for start, end, line in code.co_lines():
        if start <= place < end:
            return line
    return code.co_firstlineno


cdef int write_out(dict metadata) except -1:
    """Turn a call stack in a node's metadata into text, as the metadata is about to be read."""
    stack = metadata.get("traceback_")
    if type(stack) is CallStack:
        metadata["traceback_"] = (<CallStack>stack).text()
    return 0


# ---------------------------------------------------------------- reports
cdef int find_nan(object node, tuple out) except -1:
    """Raise if one of the gradients that a node made has a NaN."""
    if not looks_for_nan:
        return 0
    for i, grad in enumerate(out):
        if grad is not None and (grad != grad).any().item():
            raise RuntimeError(
                f"Function '{node.name()}' returned nan values in its {i}th output.")
    return 0


cdef int tell_where(object node, object error) except -1:
    """Add the line of this node's forward op to the error that its backward raised, and warn
    with the whole stack, as PyTorch does."""
    cdef list stack = node.metadata.get("traceback_"), text = []
    if stack is None:
        warn(f"Error detected in {node.name()}. No forward pass information available: anomaly "
             "mode was off when the forward op ran.")
        return 0
    error.add_note(f"The forward op of {node.name()} was called here:\n"
                   f"{stack[len(stack) - 1].rstrip()}")
    text.append(f"Error detected in {node.name()}. Traceback of forward call that caused the "
                f"error:\n{''.join(stack)}")
    node = node.metadata.get("parent_")
    while node is not None:             # made by a backward pass: add the node that made it
        stack = node.metadata.get("traceback_", [])
        text.append("Traceback of forward call that induced the previous calculation "
                    f"({node.name()}):\n{''.join(stack)}")
        node = node.metadata.get("parent_")
    warn("\n".join(text))
    return 0


cdef int warn(str text) except -1:
    """Warn; where warnings are errors, print the warning: it must not take the place of the error that it is about."""
    try:
        warnings.warn(text, UserWarning)
    except UserWarning:
        print(f"UserWarning: {text}", file=sys.stderr)
    return 0
