"""Forward rules: how the tangent of a result follows from the tangents of the operands.

jvp shows each tensor of the program with a tangent (levels.pyx). A call with such tensors comes
here: it is made with the values, and a rule makes the tangent of what it returns:

    @pushing("mm")
    def mm(op, primals, tangents, out):
        ...

`primals` are the arguments of the call, `tangents` has an item for each of them: a tensor, None
if it has no tangent (for a list of tensors, a tuple of them). `out` is what the op returned.
The
rule returns its tangent, or a tuple for several results, with None for one that has none.

Few ops need a rule. Of a pointwise op, the formulas of its derivative serve (in
levels.pyx). A view of a value has the same view of its tangent. For the rest there is a general
way, which takes two backward passes: v J is linear in v, and backward through it gives J t.
"""

from tensorlab._core.dispatch.capture import become_box
from tensorlab._core.dispatch.dispatch import shares_storage
from tensorlab._core.dispatch.levels import (
    box,
    box_of,
    enter_level,
    fill_box,
    is_differentiated,
    leave_level,
    set_tangent,
    tangent_at,
    value_at,
)
from tensorlab._core.engine.backward import grad as backward
from tensorlab._core.tensor import TensorBase
from tensorlab.autograd.grad_mode import enable_grad
from tensorlab.errors import MemoryLayoutError
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
        return write(level, op, arguments, primals, tangents)
    out = op(*primals)
    first = arguments[0]
    whole = box_of(first)
    if op.derivatives and whole is not None and whole.level is level:
        if out is whole.value:
            return first
        if _is_view(out, whole.value):
            return _views(level, op, primals, out, whole)
    tangent = tangent_of(op, primals, tangents, out) if _any(tangents) else None
    return _in_boxes(level, out, tangent, primals)


def _mapped(function, argument, level):
    if isinstance(argument, TensorBase):
        return function(argument, level)
    if isinstance(argument, (tuple, list)):
        found = [_mapped(function, one, level) for one in argument]
        if function is value_at:
            return type(argument)(found)
        return tuple(found) if _any(found) else None
    return argument if function is value_at else None


def _any(tangents):
    return any(one is not None for one in tangents)


def _in_boxes(level, out, tangent, primals):
    if isinstance(out, (tuple, list)):
        tangents = tangent if isinstance(tangent, (tuple, list)) else (tangent,)
        tangents = (*tangents, *[None] * (len(out) - len(tangents)))
        return type(out)(
            [_in_boxes(level, *pair, primals) for pair in zip(out, tangents, strict=True)]
        )
    if not (isinstance(out, TensorBase) and (out.is_floating_point() or out.is_complex())):
        return out
    if any(out is one for one in primals):  # a constant that the op has returned as it is
        return out
    return box(level, out, None if tangent is None else fitted(tangent, out))


def fitted(tangent, out):
    """The tangent of a result, in its shape and type."""
    if tangent.shape != out.shape:
        tangent = tangent.expand(out.shape)
    if tangent.dtype is not out.dtype:
        tangent = (tangent if out.is_complex() or not tangent.is_complex() else tangent.real).to(
            out.dtype
        )
    return tangent


def tangent_of(op, primals, tangents, out):
    """The tangent of what an op has returned; a tuple for several results; None if there is none."""
    rule = pushing.of(op)
    if rule is not None:
        return rule(op, primals, tangents, out)
    if not op.derivatives or op.draws:
        return None
    return by_two_passes(op, primals, tangents)


# ---------------------------------------------------------------- views
def _is_view(out, value):
    """Whether an op has returned a view of its argument, or several: by their memory, as reshape may, or may not."""
    if isinstance(out, (tuple, list)):
        return bool(out) and all(_is_view(one, value) for one in out)
    return isinstance(out, TensorBase) and shares_storage(innermost(out), innermost(value))


def innermost(x):
    """The ordinary tensor within boxes."""
    while (found := box_of(x)) is not None:
        x = found.value
    return x


def _views(level, op, primals, out, whole):
    """Boxes of views, whose tangents are the same views of the other's tangent, whatever is written to either."""
    view = view_of_tangent(op, primals, whole)
    if isinstance(out, TensorBase):
        return box(level, out, None, whole, view)
    return type(out)(
        [box(level, one, None, whole, lambda t, i=i: view(t)[i]) for i, one in enumerate(out)]
    )


def view_of_tangent(op, primals, whole):
    """The function that makes of the tangent of a box what `op` has made of its value."""
    rest = primals[1:]

    def view(tangent):
        try:
            return op(tangent, *rest)
        except MemoryLayoutError:  # it has other strides than the value, for now: see move_tangent
            return op(zeros_like(whole.value) + tangent, *rest)

    return view


def by_two_passes(op, primals, tangents):
    """J t by backward alone: v -> v J is linear, and its own transpose is t -> J t."""
    level = enter_level("jvp", RECORDS)
    try:
        with enable_grad():
            inputs, directions = [], []

            def leaf(primal, tangent):
                if tangent is None:
                    return primal
                if isinstance(primal, (tuple, list)):
                    return type(primal)([leaf(*pair) for pair in zip(primal, tangent, strict=True)])
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
def write(level, op, arguments, primals, tangents):
    """A call that writes over its first argument."""
    x, functional = arguments[0], op.functional
    if functional is not None and functional.is_view:
        # a view of the value, which itself stays what it is: other views of x hang on it
        whole = box_of(x)
        value = functional(*primals)
        fill_box(x, level, value, None, whole, view_of_tangent(functional, primals, whole))
        return x
    tangent = None
    if functional is not None and functional.derivatives and not op.draws and _any(tangents):
        if any(isinstance(one, TensorBase) and is_differentiated(one) for one in primals):
            # what the formulas need of x may be recorded below, and must not be written over
            arguments = (box(level, primals[0].clone(), tangents[0]), *arguments[1:])
        tangent = tangent_at(functional(*arguments), level)
    op(*primals)
    if tangent is not None and (box_of(x) is None or box_of(x).level is not level):
        become_box(x, level)
    if _any(tangents):
        move_tangent(box_of(x), tangent)
    return x


def move_tangent(of, tangent):
    """Give a box another tangent, None for zeros.

    That of a view is written into that of the whole, where other views see it.
    """
    if of is None or (tangent is None and of.tangent is None):
        return
    if of.viewed is None:
        set_tangent(of, zeros_like(of.tangent) if tangent is None else fitted(tangent, of.value))
        return
    whole = of
    while whole.viewed is not None:
        whole = whole.viewed
    if tangent is None:
        tangent = zeros_like(of.tangent)
    # zeros as many dimensions of batches as `tangent` has (levels.pyx), so that it can be
    # written into what they're added to
    zero = zeros_like(tangent).sum().to(whole.value.dtype)
    own = zero.expand(whole.value.shape) if whole.tangent is None else whole.tangent + zero
    set_tangent(whole, zeros_like(whole.value) + own)
    of.tangent.copy_(tangent)
