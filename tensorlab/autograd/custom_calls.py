"""A Function called inside of transforms: each level does with the call what it does with an op's.

    RECORDS     a node with the user's backward in the graph of this level, over boxes; forward
    with their values
    PUSHES      forward with the values, and the user's jvp with their tangents
    BATCHES     the user's vmap; or, if the Function asks for it, forward and backward for one
    example, under vmap

Forward itself runs at last, when no argument is in a box. So that each level can have a
context of its own, a Function must say
in `setup_context` what it saves.
"""

from types import SimpleNamespace
from typing import NamedTuple

from tensorlab._core.dispatch.levels import box, box_of, call_below, levels
from tensorlab._core.engine.function import apply_function, context_of
from tensorlab._core.state.modes import is_grad_enabled
from tensorlab._core.tensor import TensorBase
from tensorlab.autograd.grad_mode import no_grad, set_grad_enabled
from tensorlab.func.levels import BATCHES, RECORDS, batching


class VmapInfo(NamedTuple):
    """What the vmap of a Function is told: how many examples there are, and vmap's `randomness`."""

    batch_size: int
    randomness: str


def call(cls, arguments):
    """Call a Function inside of transforms."""
    running = levels()
    if any(not level.allows_capture for level in running) and not cls._has_setup_context:
        raise RuntimeError(
            f"{cls.__name__}: In order to use an autograd.Function with functorch transforms "
            f"(vmap, grad, jvp, jacrev, ...), "
            f"it must override the setup_context staticmethod: write forward(*args) without "
            f"ctx, and save in "
            f"setup_context(ctx, inputs, output) what backward needs"
        )
    own = {box_of(one).level for one in arguments if box_of(one) is not None}
    level = next((level for level in reversed(running) if level in own), None)
    if level is None:
        return apply_function(cls, arguments, None)
    if level.kind == BATCHES:
        return _batched(cls, level, arguments)
    if level.kind == RECORDS:
        return _recorded(cls, lambda *boxes: _values_below(cls, level, boxes), arguments)
    if not level.allows_capture:
        return _push(cls, level, arguments)
    mode = (
        is_grad_enabled()
    )  # backward is to see the tangents, so it's recorded here, and in what the values are made of

    def forward(*boxes):
        ctx, boxes = (None, boxes) if cls._has_setup_context else (boxes[0], boxes[1:])
        with set_grad_enabled(mode):
            return _push(cls, level, boxes, ctx)

    return _recorded(cls, forward, arguments)


def _recorded(cls, forward, arguments):
    """Call a Function with another forward: its node, which has the user's backward, is made as ever."""
    stand_in = SimpleNamespace(
        __name__=cls.__name__,
        _node_class=cls._node_class,
        _has_setup_context=cls._has_setup_context,
        forward=forward,
        setup_context=cls.setup_context,
    )
    return apply_function(stand_in, arguments, None)


# ---------------------------------------------------------------- values in, boxes out
def _value(x, level):
    found = box_of(x)
    return found.value if found is not None and found.level is level else x


def _opened(items, level):
    return tuple([_value(one, level) for one in items])


def _as_tuple(out):
    return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def _like(out, items):
    """Results in the form in which a Function has returned them."""
    return type(out)(items) if isinstance(out, (tuple, list)) else items[0]


def _boxed(level, arguments, out, tangents=None):
    """Results in boxes. An argument that is returned, as it is or written over, stays the same object."""
    outs = _as_tuple(out)
    results = []
    for one, tangent in zip(outs, tangents or [None] * len(outs), strict=True):
        same = next((x for x in arguments if one is not x and one is _value(x, level)), None)
        if not isinstance(one, TensorBase) or one is same:
            results.append(one)
        elif same is not None and tangent is None:
            results.append(same)
        else:
            results.append(box(level, one, tangent))
    return _like(out, results)


# ---------------------------------------------------------------- RECORDS and PUSHES
def _values_below(cls, level, arguments):
    out = call_below(level, call, cls, _opened(arguments, level))
    return _boxed(level, arguments, out)


def _push(cls, level, arguments, ctx=None):
    """Forward with the values, and jvp with the tangents."""
    values = _opened(arguments, level)
    out = call_below(level, call, cls, values)
    found = [box_of(one) for one in arguments]
    tangents = [one.tangent if one is not None and one.level is level else None for one in found]
    if all(one is None for one in tangents):
        return _boxed(level, arguments, out)
    own = context_of(
        cls, tuple([isinstance(one, TensorBase) and one.requires_grad for one in values])
    )
    if cls._has_setup_context:
        cls.setup_context(own, values, out)
    else:  # forward tells the context what to save: that of jvp values, and that of backward boxes
        with no_grad():
            cls.forward(own, *values)
            cls.forward(ctx, *arguments)
    if own.materializes:
        tangents = [
            one.new_zeros(one.shape) if tangent is None and _is_differentiable(one) else tangent
            for one, tangent in zip(values, tangents, strict=True)
        ]
    moved = _as_tuple(call_below(level, cls.jvp, own, *tangents))
    outs = _as_tuple(out)
    if len(moved) != len(outs):
        raise RuntimeError(
            f"{cls.__name__}: jvp returned {len(moved)} tangents, and forward {len(outs)} "
            f"results; return one for each, "
            f"None for those without"
        )
    for i, (one, tangent) in enumerate(zip(outs, moved, strict=True)):
        if tangent is not None and tangent.shape != one.shape:
            raise RuntimeError(
                f"{cls.__name__}: jvp returned a tangent of shape {tuple(tangent.shape)} for "
                f"result {i}, which has shape "
                f"{tuple(one.shape)}"
            )
    return _boxed(level, arguments, out, moved)


def _is_differentiable(x):
    return isinstance(x, TensorBase) and (x.is_floating_point() or x.is_complex())


# ---------------------------------------------------------------- BATCHES
def _batched(cls, level, arguments):
    """Call a Function for all examples of a batch."""
    if cls._has_vmap and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True "
            f"and an overridden vmap "
            f"staticmethod. Please set generate_vmap_rule=False or delete the overridden "
            f"vmap staticmethod to avoid ambiguity"
        )
    if not cls._has_vmap and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. "
            f"Please override and implement the "
            f"vmap staticmethod or set generate_vmap_rule=True"
        )
    values = _opened(arguments, level)
    dims = tuple([None if one is x else 0 for one, x in zip(values, arguments, strict=True)])
    if cls.generate_vmap_rule:
        one_call = examples(cls, level.size, level.randomness, dims)
        out = call_below(level, call, one_call, values)
        return _boxed_examples(level, out, [0] * len(_as_tuple(out)))
    info = VmapInfo(level.size, level.randomness)
    result = call_below(level, cls.vmap, info, dims, *values)
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{cls.__name__}: Expected the vmap staticmethod to have two returns, an output "
            f"and out_dims, and it "
            f"returned a {type(result).__name__}"
        )
    out, out_dims = result
    count = len(_as_tuple(out))
    out_dims = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * count
    if len(out_dims) != count:
        raise RuntimeError(
            f"{cls.__name__}: vmap returned {count} outputs and {len(out_dims)} out_dims; "
            f"return a dimension for each, "
            f"None for one that is the same for all examples"
        )
    return _boxed_examples(level, out, out_dims)


def _boxed_examples(level, out, dims):
    return _like(
        out,
        [
            one
            if dim is None or not isinstance(one, TensorBase)
            else box(level, one.movedim(dim, 0))
            for one, dim in zip(_as_tuple(out), dims, strict=True)
        ],
    )


def examples(cls, size, randomness, dims):
    """A Function of whole batches, which runs the methods of `cls` under vmap.

    `dims` says which arguments are a batch, along their first dimension; all results are.
    """

    def in_boxes(level, items, are_batched):
        return tuple(
            [
                box(level, one) if is_batched and isinstance(one, TensorBase) else one
                for one, is_batched in zip(items, are_batched, strict=True)
            ]
        )

    def whole(x, level):
        """A result for all examples."""
        if not isinstance(x, TensorBase):
            return x
        value = _value(x, level)
        return value.expand(size, *value.shape).clone() if value is x else value

    def kept(ctx, shadow, level):
        """What a method has saved for one example, out of its boxes, in the context of the batch."""
        ctx.materializes_for_examples = shadow.materializes
        saved = shadow.saved_tensors
        ctx.saved_are_batched = [_value(one, level) is not one for one in saved]
        ctx.save_for_backward(*_opened(saved, level))
        ctx.attributes = {
            name: (_value(one, level), _value(one, level) is not one)
            for name, one in vars(shadow).items()
        }

    def context(ctx, level):
        """The context of one example again."""
        shadow = context_of(cls, ctx.needs_input_grad)
        shadow.save_for_backward(*in_boxes(level, ctx.saved_tensors, ctx.saved_are_batched))
        shadow.set_materialize_grads(ctx.materializes_for_examples)
        for name, (value, is_batched) in ctx.attributes.items():
            setattr(shadow, name, box(level, value) if is_batched else value)
        return shadow

    def forward(*values):
        with batching("vmap", size, randomness) as level:
            out = cls.forward(*in_boxes_of_arguments(level, values))
            return _like(out, [whole(one, level) for one in _as_tuple(out)])

    def in_boxes_of_arguments(level, values):
        return in_boxes(level, values, [dim is not None for dim in dims])

    def setup_context(ctx, inputs, output):
        with batching("vmap", size, randomness) as level:
            outs = _as_tuple(output)
            boxes = _like(output, list(in_boxes(level, outs, [True] * len(outs))))
            shadow = context_of(cls, ctx.needs_input_grad)
            cls.setup_context(shadow, in_boxes_of_arguments(level, inputs), boxes)
            kept(ctx, shadow, level)

    def backward(ctx, *grads):
        with batching("vmap", size, randomness) as level:
            boxes = in_boxes(level, grads, [True] * len(grads))
            found = _as_tuple(cls.backward(context(ctx, level), *boxes))
            results = []
            for one, dim in zip(found, dims, strict=True):
                if isinstance(one, TensorBase):
                    one = whole(one, level)
                results.append(one.sum(0) if dim is None and isinstance(one, TensorBase) else one)
            return tuple(results)

    def jvp(ctx, *tangents):
        with batching("vmap", size, randomness) as level:
            found = cls.jvp(context(ctx, level), *in_boxes_of_arguments(level, tangents))
            return _like(found, [whole(one, level) for one in _as_tuple(found)])

    return cls._with_methods(f"Vmapped{cls.__name__}", forward, setup_context, backward, jvp)
