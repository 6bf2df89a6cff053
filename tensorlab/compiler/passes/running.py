"""Run the passes, and with TENSORLAB_COMPILE_CHECK=1 interpret the graph before and after each of them."""

import os

import numpy as np

from tensorlab._core.random import DrawingAside
from tensorlab._tensor import Tensor
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.compiler.joint.interpreter import leaves_of, run
from tensorlab.compiler.passes.common_subexpressions import eliminate_common_subexpressions
from tensorlab.compiler.passes.constant_folding import fold_constants
from tensorlab.compiler.passes.dead_code import eliminate_dead_code
from tensorlab.compiler.passes.decomposition import decompose
from tensorlab.compiler.passes.simplification import simplify
from tensorlab.ops.copying import clone

# In the order in which they run. Those after `decompose` keep every bit.
PASSES = {
    "decompose": decompose,
    "fold_constants": fold_constants,
    "simplify": simplify,
    "eliminate_common_subexpressions": eliminate_common_subexpressions,
    "eliminate_dead_code": eliminate_dead_code,
}
ROUNDING = {"decompose"}  # their results may differ by rounding
TOLERANCE = 1e-3  # relative to the largest number of a result; half types get eight times more


class PassFailed(AssertionError):
    """A pass has changed what a graph computes. `name` is the pass, `graph` the graph after it."""

    def __init__(self, name, graph, what):
        self.name, self.graph = name, graph
        super().__init__(f"the pass {name} is wrong: {what}")


def run_passes(graph, inputs=None, names=None, check=None):
    """Run passes over a functional graph, in place.

    Parameters
    ----------
    graph : Graph
    inputs : list of Tensors, one for each placeholder; only for `check`, which leaves them as
        they are
    names : the passes to run, keys of PASSES; all of them unless given. They run in the order
        of PASSES
    check : bool, whether to interpret the graph before and after each pass; what the
        environment variable TENSORLAB_COMPILE_CHECK says unless given

    Returns
    -------
    dict of pass: number of changes

    Raises
    ------
    PassFailed
        If the graph computes something else after a pass.
    """
    names = set(PASSES if names is None else names)
    unknown = names - set(PASSES)
    if unknown:
        raise ValueError(f"run_passes: {sorted(unknown)} are none of {', '.join(PASSES)}")
    if check is None:
        check = checks_passes()
    before = interpret(graph, inputs) if check and inputs is not None else None
    counts = {}
    for name in [one for one in PASSES if one in names]:
        counts[name] = PASSES[name](graph)
        if before is not None:
            after = interpret(graph, inputs)
            compare(name, graph, before, after)
            before = after
    return counts


# ---------------------------------------------------------------- checking
def checks_passes():
    """Whether the environment asks for checks."""
    return os.environ.get("TENSORLAB_COMPILE_CHECK", "0") not in ("", "0")


def interpret(graph, inputs):
    """What a graph returns, and what it leaves in its inputs; neither the generator nor the inputs change."""
    with DrawingAside(), no_grad():
        copies = [clone(one.detach()) for one in inputs]
        return [*leaves_of(run(graph, copies)), *copies]


def compare(name, graph, before, after):
    """Raise PassFailed unless both are equal; a pass in ROUNDING may round otherwise."""
    if len(before) != len(after):
        raise PassFailed(name, graph, f"it returns {len(after)} values instead of {len(before)}")
    for i, (x, y) in enumerate(zip(before, after, strict=True)):
        if not isinstance(x, Tensor):
            same = x is y or x == y
        else:
            same = isinstance(y, Tensor) and same_tensors(x, y, name in ROUNDING)
        if not same:
            raise PassFailed(name, graph, f"value {i} was {x} and is {y}")


def same_tensors(x, y, may_round):
    """Whether two tensors have the same form and elements; -0.0 and 0.0 differ, nan is nan."""
    if (x.shape, x.dtype, x.stride()) != (y.shape, y.dtype, y.stride()):
        return False
    if not x.dtype.is_floating_point:
        return np.array_equal(x.numpy(), y.numpy())
    is_half = x.dtype.itemsize == 2
    x, y = (one.double().numpy() for one in (x, y))
    if not may_round:
        return np.array_equal(x, y, equal_nan=True) and np.array_equal(
            np.signbit(x)[x == 0], np.signbit(y)[y == 0]
        )
    finite = np.isfinite(x)
    scale = np.abs(x[finite]).max(initial=1)
    tolerance = TOLERANCE * (8 if is_half else 1) * scale
    return np.array_equal(x[~finite], y[~finite], equal_nan=True) and bool(
        np.all(np.abs(x[finite] - y[finite]) <= tolerance)
    )
