"""The settings of the process as one number: it is the same whenever all of them are.

Each module keeps its settings where it reads them, and notes here what they are after a change. The compiler compares
the number, one for each recording, so that a recording is used only under the settings that it was made under. A setting that
is back at what it was gives the number back, too.
"""

cdef dict changed = {}          # name: repr of a value that is not the one at the start
cdef dict numbers = {(): 0}
cdef long current = 0


cdef long settings_number() noexcept:
    return current


def note_setting(str name not None, value, at_start):
    """Take note of what a setting is now.

    Parameters
    ----------
    name : str, one of its own for each setting
    value : what it is, with a repr that tells it from others
    at_start : what it is when the process begins
    """
    global current
    changed.pop(name, None)
    if value != at_start:
        changed[name] = repr(value)
    current = numbers.setdefault(tuple(sorted(changed.items())), len(numbers))


def get_settings_number():
    """The number of the settings as they are now; 0 where nothing was set."""
    return current
