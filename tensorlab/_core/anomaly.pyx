"""Anomaly mode: which line of the user's program made this node, and which wrote to that tensor?

While the mode is on, every new node keeps the call stack of its forward op, every write its line, and backward looks for NaN
after each node. All that costs time, so the mode is a switch, for the whole process as in PyTorch.
"""
import os
import sys
import traceback
import warnings

cdef bint watching = False
cdef bint looks_for_nan = True
cdef bint data_watched = False
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


cdef bint is_watching() noexcept:
    return watching


cdef bint is_data_watched() noexcept:
    return data_watched


def switch_anomaly(bint enabled, bint check_nan=True):
    """Set both switches of anomaly mode and return what they were."""
    global watching, looks_for_nan
    was = watching, looks_for_nan
    watching, looks_for_nan = enabled, check_nan
    return was


def is_anomaly_enabled():
    """True while anomaly mode is on."""
    return watching


def is_anomaly_check_nan_enabled():
    """True if anomaly mode, when it is on, looks for NaN after each node of a backward pass."""
    return looks_for_nan


def switch_data_watch(bint enabled):
    """Let `.data` share the version counter of its tensor, or not; return what it was."""
    global data_watched
    was = data_watched
    data_watched = enabled
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
    (line,) = traceback.extract_stack(user_frame(), limit=1)
    return f"{line.filename}:{line.lineno}, in {line.name}: {line.line}"


cdef list forward_stack():
    """The call stack as text, a string for each frame, outermost first."""
    return traceback.format_stack(user_frame())


# ---------------------------------------------------------------- reports
cdef int find_nan(object node, tuple out) except -1:
    """Raise if one of the gradients that a node made has a NaN."""
    if not looks_for_nan:
        return 0
    for i, grad in enumerate(out):
        if grad is not None and (grad != grad).any().item():
            raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
    return 0


cdef int tell_where(object node, object error) except -1:
    """An error left this node: add the line of its forward op to the message, and warn with the whole stack, as PyTorch does."""
    cdef list stack = node.metadata.get("traceback_"), text = []
    if stack is None:
        warnings.warn(f"Error detected in {node.name()}. No forward pass information available: anomaly mode was off when the "
                      f"forward op ran.", UserWarning)
        return 0
    error.add_note(f"The forward op of {node.name()} was called here:\n{stack[len(stack) - 1].rstrip()}")
    text.append(f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(stack)}")
    node = node.metadata.get("parent_")
    while node is not None:             # a node that a backward pass made: which node's backward was that?
        stack = node.metadata.get("traceback_", [])
        text.append(f"Traceback of forward call that induced the previous calculation ({node.name()}):\n{''.join(stack)}")
        node = node.metadata.get("parent_")
    warnings.warn("\n".join(text), UserWarning)
    return 0
