"""What a notebook adds to an error: the name that was meant, where it has an attribute that is not there.

Python's own traceback says it ("Did you mean: 'weight'?"), and a notebook's does not. A
`__getattr__` of Module or Tensor could, but it would slow down every attribute that is there;
this costs nothing until a cell has failed.
"""

import sys

from tensorlab import _missing


def attribute_meant(error):
    """Return the attribute that is nearest to the one that an object of ours does not have, or None."""
    value, name = getattr(error, "obj", None), getattr(error, "name", None)
    homes = {base.__module__.partition(".")[0] for base in type(value).__mro__}
    if not isinstance(error, AttributeError) or not name or "tensorlab" not in homes:
        return None
    return _missing.nearest(name, [one for one in dir(value) if not one.startswith("_")])


def after_cell(result):
    """Say under the traceback of a cell which attribute was meant."""
    meant = attribute_meant(result.error_in_exec)
    if meant:
        print(f"Did you mean: {meant!r}?", file=sys.stderr)


def watch(shell):
    """Let an IPython shell call `after_cell`."""
    if shell is not None:
        shell.events.register("post_run_cell", after_cell)
