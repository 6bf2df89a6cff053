"""A checkpointed call: placeholders for what it saved, and the second run that fills them.

The forward pass of the call runs under hooks (`autograd.graph.saved_tensors_hooks`) that replace the n-th
tensor saved by placeholder n.  When backward unpacks one of them, the function runs again, under hooks that
put the n-th tensor saved into placeholder n and stop the run at the last.

    forward          f saves    a    b    c          region       [0] [1] [2]     nothing but shape, dtype, version
    backward         unpack [2]: f runs again        region       [0]a [1]b [2]c  filled; c is returned
                     unpack [1], unpack [0]          region       [0] [1] [2]     each is empty again once it is used

Calls nest: the arguments of an inner call are saved tensors of the outer one, and so placeholders themselves.  Then the
first tensor that is unpacked inside runs the outer function again, for the arguments, and then the inner one.
"""

import functools
import linecache
import os
import sys
import threading
import weakref
from collections import deque
from itertools import zip_longest

from tensorlab._core.engine.engine import current_task
from tensorlab._tensor import Tensor
from tensorlab.autograd.function import Function
from tensorlab.autograd.graph import saved_tensors_hooks
from tensorlab.errors import GradientError, VersionError
from tensorlab.ops.creation import empty


class CheckpointError(GradientError):
    """The recomputation did not save what the forward call had saved."""


# ---------------------------------------------------------------- arguments
class CheckpointArguments(Function):
    """A node outside every backward pass that saves the tensors it is given."""

    @staticmethod
    def forward(ctx, leaf, *tensors):
        ctx.save_for_backward(*tensors)
        return empty(0)


@functools.cache
def empty_leaf():
    """A leaf without elements: a Function that gets it is recorded, whatever its other arguments are."""
    return empty(0, requires_grad=True)


class Arguments:
    """The arguments of a checkpointed call.  Tensors are saved as an op would save them.

    So a write to one of them is noticed, and a checkpoint around this one forgets them too.
    """

    def __init__(self, args, kwargs):
        values = [*args, *kwargs.values()]
        self.names = list(kwargs)
        self.others = [None if isinstance(value, Tensor) else value for value in values]
        self.places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
        tensors = [values[i] for i in self.places]
        self.node = CheckpointArguments.apply(empty_leaf(), *tensors).grad_fn

    def restore(self):
        """Return args and kwargs."""
        values = list(self.others)
        for place, tensor in zip(self.places, self.node.saved_tensors, strict=True):
            values[place] = tensor
        split = len(values) - len(self.names)
        return values[:split], dict(zip(self.names, values[split:], strict=True))


# ---------------------------------------------------------------- the call
class Placeholder:
    """What a node holds instead of the tensor that its region saved as number `number`."""

    __slots__ = ("__weakref__", "filled_for", "number", "taken_in", "tensor", "version")

    def __init__(self, number):
        self.number = number
        self.filled_for = None  # the backward pass that it was recomputed for last
        self.tensor = None  # the tensor, until that pass has used it
        self.version = None  # and its version when the recomputation saved it
        self.taken_in = None  # the number of the pass that has asked for it since


class Region:
    """One checkpointed call: how to run it again, and what is known of each tensor it saved.

    It belongs to the nodes of its forward pass, through what they saved, and holds none of them: when backward
    has freed the last, the region goes too, with the arguments of the call.

    Parameters
    ----------
    run_again : function without arguments
    stops_early : bool; end the recomputation when as many tensors have been saved as in forward
    facts_of : function of a saved tensor; the recomputation must give equal results
    debug : bool; note which line of the program saves each tensor
    """

    def __init__(self, run_again, stops_early, facts_of, debug=False):
        self.run_again = run_again
        self.stops_early = stops_early
        self.facts_of = facts_of
        self.lines = [] if debug else None
        self.placeholders = []  # weak references, in the order of saving
        self.facts = []
        self.is_complete = False  # the forward call has returned
        self.taken = deque()  # weak references to the placeholders that backward asked for last

    def forget(self, x):
        """Pack hook of the forward call: keep nothing of x but the facts."""
        placeholder = Placeholder(len(self.placeholders))
        self.placeholders.append(weakref.ref(placeholder))
        self.facts.append(self.facts_of(x))
        if self.lines is not None:
            self.lines.append(line_of_caller())
        return placeholder

    def recall(self, placeholder):
        """Unpack hook of the forward call: the first call in a pass recomputes for all others."""
        now = current_backward()
        if was_taken_for(placeholder, now) and placeholder.taken_in != current_task():
            raise CheckpointError(NEEDED_BY_TWO)
        tensor, version = placeholder.tensor, placeholder.version
        if tensor is None or placeholder.filled_for != now:
            tensor, version = self.recompute(now)[placeholder.number]
        if placeholder.taken_in is None:
            placeholder.taken_in = current_task()
            self.taken.append(weakref.ref(placeholder))
            if len(self.taken) > RECENT:
                forget_again(self.taken.popleft()())
        if tensor._version != version:
            raise VersionError(
                f"checkpoint: the function changes a tensor of shape {tuple(tensor.shape)} and "
                f"{tensor.dtype} in place after an operation has saved it for backward (at "
                f"version {version}; it is at {tensor._version} now); clone it before, or use "
                "the out-of-place operation"
            )
        return tensor

    def _before_function_reads(self, placeholder):
        """Raise if a custom Function reads `ctx.saved_tensors` once more in one backward pass."""
        if was_taken_for(placeholder, current_backward()):
            raise CheckpointError(READ_AGAIN)

    def recompute(self, now):
        """Run the function again, and fill the placeholders for the backward pass `now`.

        None stands for a call outside any backward pass: then nothing is filled.
        """
        second = Recomputation(self)
        try:
            with saved_tensors_hooks(second.keep, lambda x: x):
                self.run_again()
        except AllSaved:
            pass
        except Exception as error:
            if not isinstance(error, GradientError):
                error.add_note(
                    "checkpoint: raised when the function ran again, for backward; the first "
                    "run went well"
                )
            raise
        second.compare()
        if now is not None:
            for reference, value in zip(self.placeholders, second.values, strict=False):
                placeholder = reference()
                if placeholder is not None and value is not None:
                    placeholder.filled_for, placeholder.taken_in = now, None
                    placeholder.tensor, placeholder.version = value
            self.taken.clear()
        return second.values


READ_AGAIN = (
    "checkpoint: ctx.saved_tensors was read a second time in one backward pass. What was recomputed is freed "
    "when it has been read; read ctx.saved_tensors once, and keep what it returns"
)
NEEDED_BY_TWO = (
    "checkpoint: two backward passes in one GraphExecGroup need the same saved tensor, which is freed when the "
    "first has used it. Leave the group between them: the call is recomputed for the second then"
)


def was_taken_for(placeholder, now):
    """Whether a backward pass, or a group of them, has asked for this tensor before."""
    is_taken = placeholder.taken_in is not None
    return is_taken and now is not None and placeholder.filled_for == now


# Tensors kept after their first use: the formulas of one node may ask for the same one several times.
RECENT = 16


def forget_again(placeholder):
    """Free the memory of a tensor that backward has used, even if its node lives on (retain_graph)."""
    if placeholder is not None:
        placeholder.tensor = None


# ---------------------------------------------------------------- the second run
class AllSaved(BaseException):
    """Ends a recomputation early.  No Exception, lest an `except` in the function takes it for its own."""


class Recomputation:
    """What the second run of a region saves: `values` holds (tensor, version), None where no node wants it."""

    def __init__(self, region):
        self.region = region
        self.wanted = len(region.placeholders)
        self.facts = []
        self.lines = []
        self.values = []
        # A function that runs a backward pass in the middle gets here before all was saved; what comes after is extra.
        self.is_partial = not region.is_complete

    def keep(self, x):
        """Pack hook: x is number len(facts).  This run's graph keeps what is returned."""
        number = len(self.facts)
        if self.region.stops_early and number >= self.wanted:
            raise AllSaved  # again: the function caught the first one
        # Detached, or a result and its node, which holds what we return, would own each other.
        alias = x.detach() if x.requires_grad else x
        if number < self.wanted:
            is_held = self.region.placeholders[number]() is not None
            self.values.append((alias, alias._version) if is_held else None)
        if number < self.wanted or not self.is_partial:
            self.facts.append(self.region.facts_of(x))
            if self.region.lines is not None:
                self.lines.append(line_of_caller())
        if self.region.stops_early and number + 1 >= self.wanted:
            raise AllSaved
        return alias

    def compare(self):
        """Raise unless this run saved what the forward call saved."""
        first, second = self.region.facts, self.facts
        pairs = enumerate(zip(first, second, strict=False))
        held = [reference() is not None for reference in self.region.placeholders]
        different = [(i, a, b) for i, (a, b) in pairs if a != b and held[i]]
        if len(first) != len(second) or different:
            raise CheckpointError(mismatch_text(self.region, self, different))


def facts_of(x):
    """What must be the same of a tensor that is saved again.  The version is how often its memory was written."""
    return x.shape, x.dtype, x.device, x._version


# ---------------------------------------------------------------- what a mismatch says
SHOWN = 8  # differences in a message


def mismatch_text(region, second, different):
    """The message for a recomputation that saved another number of tensors, or of which some are `different`."""
    text = ["checkpoint: the recomputation did not do what the forward call did."]
    if len(region.facts) != len(second.facts):
        text.append(
            f"Forward saved {len(region.facts)} tensors, the recomputation {len(second.facts)}."
        )
    for i, a, b in different[:SHOWN]:
        text.append(f"Saved tensor {i} was {describe(a)}, and is {describe(b)}.")
    if len(different) > SHOWN:
        text.append(f"{len(different) - SHOWN} more differ.")
    text.append(
        "The function depends on something that changed in between: random numbers (preserve_rng_state), a "
        "global, a counter, train() or eval(), or a parameter written before backward (its version differs)."
    )
    if region.lines is None:
        text.append("debug=True shows which lines saved them.")
        return "\n".join(text)
    runs = [list(zip(run.facts, run.lines, strict=True)) for run in (region, second)]
    for i, (a, b) in enumerate(zip_longest(*runs)):
        names = {"both": a} if a == b else {"forward": a, "recomputation": b}
        for name, entry in names.items():
            saved = "nothing" if entry is None else f"{describe(entry[0])}, {entry[1]}"
            text.append(f"{i:4} {name:13} {saved}")
    return "\n".join(text)


def describe(facts):
    """The facts in words; there are none if determinism_check is "none"."""
    if facts is None:
        return "a tensor"
    shape, dtype, device, version = facts
    return f"{tuple(shape)} {dtype} on {device} at version {version}"


def line_of_caller():
    """The line outside the package that led here, with its text."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    name, number = frame.f_code.co_filename, frame.f_lineno
    return f"{name}:{number}: {linecache.getline(name, number, frame.f_globals).strip()}"


PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


# ---------------------------------------------------------------- which backward pass
class _Groups(threading.local):
    current = None  # the group that the thread is in


_groups = _Groups()


def current_backward():
    """What stands for the backward pass that runs now: its group or its number; None outside one."""
    if _groups.current is not None:
        return _groups.current
    number = current_task()
    return number if number != -1 else None


class GraphExecGroup:
    """Within this context several backward passes count as one: each checkpointed call is recomputed at most once.

    No two of them may need the same saved tensor.  Calls with use_reentrant=True take no notice.
    """

    def __enter__(self):
        if GraphExecGroup._get_current_group() is not None:
            raise RuntimeError(
                "GraphExecGroup: these contexts do not nest; leave the outer one first"
            )
        _groups.current = self
        return self

    def __exit__(self, *_):
        _groups.current = None

    @classmethod
    def _get_current_group(cls):
        return _groups.current
