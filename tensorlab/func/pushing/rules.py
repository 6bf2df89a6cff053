"""Forward rules: how the tangent of a result follows from the tangents of the operands.

jvp shows each tensor of the program with a tangent (levels.pyx). A call with such tensors comes
here: it is made with the values, and a rule makes the tangent of what it returns:

    @pushing("mm")
    def mm(op, primals, tangents, out):
        ...

`primals` are the arguments of the call, `tangents` has an item for each of them: a tensor, None
if it has no tangent (for a list of tensors, a tuple of them). `out` is what the op returned. The
rule returns its tangent, or a tuple for several results, with None for one that has none.

Few ops need a rule. Of a pointwise op, the formulas of its derivative serve (in
levels.pyx). A view of a value has the same view of its tangent. For the rest there is a general
way, which takes two backward passes: v J is linear in v, and backward through it gives J t.
"""

from tensorlab._core.dispatch.levels import (
    box,
    box_of,
    enter_level,
    fill_box,
    leave_level,
    tangent_at,
    value_at,
)
from tensorlab._core.engine.backward import grad as backward
from tensorlab._core.tensor import TensorBase
from tensorlab.autograd.grad_mode import enable_grad
from tensorlab.func.batching.rules import Rules
from tensorlab.ops.creation import zeros_like

pushing = Rules("pushing")
RECORDS = 0


# ---------------------------------------------------------------- a call at a level
def run_pushed(level, op, arguments):
    """Call an op with values, and compute the tangent of its result; levels.pyx does so."""
    primals = tuple([_mapped(value_at, one, level) for one in arguments])
    tangents = tuple([_mapped(tangent_at, one, level) for one in arguments])
    if op.writes:
        return _write(level, op, arguments, primals, tangents)
    out = op(*primals)
    return _in_boxes(level, out, tangent_of(op, primals, tangents, out))


def _mapped(function, argument, level):
    if isinstance(argument, TensorBase):
        return function(argument, level)
    if isinstance(argument, (tuple, list)) and any(
        isinstance(one, (TensorBase, tuple, list)) for one in argument
    ):
        return type(argument)([_mapped(function, one, level) for one in argument])
    return argument if function is value_at else None


def _in_boxes(level, out, tangent):
    if isinstance(out, (tuple, list)):
        tangents = tangent if isinstance(tangent, (tuple, list)) else (tangent,)
        tangents = (*tangents, *[None] * (len(out) - len(tangents)))
        return type(out)([_in_boxes(level, *pair) for pair in zip(out, tangents, strict=True)])
    if tangent is None and (level.allows_capture or not isinstance(out, TensorBase)):
        return out
    if tangent is None:
        return box(level, out)
    if tangent.shape != out.shape:
        tangent = tangent.expand(out.shape)
    if tangent.dtype is not out.dtype:
        tangent = tangent.to(out.dtype)
    return box(level, out, tangent)


def tangent_of(op, primals, tangents, out):
    """The tangent of what an op has returned; a tuple for several results; None if there is none."""
    rule = pushing.of(op)
    if rule is not None:
        return rule(op, primals, tangents, out)
    if not op.derivatives:
        return None
    if op.is_view:
        return op(tangents[0], *primals[1:])
    return by_two_passes(op, primals, tangents)


def by_two_passes(op, primals, tangents):
    """J t by backward alone: v -> v J is linear, and its own transpose is t -> J t."""
    level = enter_level("jvp", RECORDS)
    try:
        with enable_grad():
            inputs, directions = [], []

            def leaf(primal, tangent):
                if isinstance(primal, (tuple, list)):
                    return type(primal)([leaf(*pair) for pair in zip(primal, tangent, strict=True)])
                if tangent is None:
                    return primal
                inputs.append(box(level, primal).requires_grad_())
                directions.append(tangent)
                return inputs[-1]

            out = op(*[leaf(*pair) for pair in zip(primals, tangents, strict=True)])
            several = isinstance(out, (tuple, list))
            outputs = list(out) if several else [out]
            moving = [one for one in outputs if box_of(one) is not None and one.requires_grad]
            if not moving:
                return None
            cotangents = [zeros_like(one).requires_grad_() for one in moving]
            gradients = backward(moving, inputs, cotangents, create_graph=True, allow_unused=True)
            pairs = [
                pair
                for pair in zip(gradients, directions, strict=True)
                if pair[0] is not None and pair[0].requires_grad
            ]
            if not pairs:
                return None
            found = backward(
                [gradient for gradient, _ in pairs],
                cotangents,
                [direction for _, direction in pairs],
                allow_unused=True,
            )
    finally:
        leave_level(level)
    by_output = dict(zip(map(id, moving), found, strict=True))
    results = [by_output.get(id(one)) for one in outputs]
    results = [
        value_at(zeros_like(one) if found is None else found, level)
        if id(one) in by_output
        else None
        for one, found in zip(outputs, results, strict=True)
    ]
    return tuple(results) if several else results[0]


# ---------------------------------------------------------------- in place
def _write(level, op, arguments, primals, tangents):
    """A call that writes over its first argument: the tangent is written over as well, so that views see it."""
    x = arguments[0]
    functional = op.functional
    if functional is not None and functional.is_view:
        op(*primals)
        fill_box(x, level, primals[0], functional(tangents[0], *primals[1:]))
        return x
    tangent = None
    if functional is not None and not op.draws and functional.derivatives:
        tangent = tangent_of(functional, primals, tangents, functional(*primals))
    op(*primals)
    if tangents[0] is None:
        if tangent is None:
            return x
        if box_of(x) is None or box_of(x).level is not level:
            raise NotImplementedError(f"{op.name}: writing a dual number into an ordinary tensor")
        fill_box(x, level, primals[0], tangent.expand(x.shape).to(x.dtype).clone())
        return x
    if tangent is None:
        tangents[0].zero_()
    else:
        tangents[0].copy_(tangent)
    return x
