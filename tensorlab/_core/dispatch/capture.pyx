"""Ordinary tensors that become boxes, and boxes that become ordinary tensors again.

Inside of `forward_ad.dual_level` a program may write a tensor with a tangent into one that it
has made before. The object stays the same, as a program holds it, and is a box from then on:
what it was, a layout over memory, moves into a new tensor, the value of the box. When the level
ends, every box of it that is still alive takes the layout of its value back.

What autograd knows of the object stays where it is. The value has the same history, so that
derivatives of tangents find it.
"""
from tensorlab._core.dispatch.levels cimport Box, Level, box_at, fill
from tensorlab._core.tensor cimport (
    LAZY, TensorBase, alias, put_into_box, set_layout, set_lazy_bits, offset_of
)


def become_box(TensorBase x not None, Level level not None, TensorBase tangent=None):
    """Make an ordinary tensor a box of a level, without a tangent; if it is a view, its base
    first.
    """
    cdef TensorBase value = alias(x)
    cdef Box whole = None
    view = None
    value.node, value.output_number = x.node, x.output_number
    if x.base is not None:
        if box_at(x.base, level) is None:
            become_box(x.base, level)
        whole = box_at(x.base, level)
        view = strided_view(value, offset_of(value) - offset_of(whole.value))
    fill(x, level, value, tangent, whole, view)


def strided_view(TensorBase value, ssize_t distance):
    """The function that returns the part of a tangent that `value` is of its base, `distance`
    elements behind its beginning.
    """
    size, stride = value.shape, value.stride()

    def view(tangent):
        return tangent.as_strided(size, stride, tangent.storage_offset() + distance)

    return view


def show_history(TensorBase x not None, TensorBase value not None):
    """Give a box the history of its value, a view: it's the same view to a program."""
    x.counter, x.base, x.creation = value.counter, value.base, value.creation
    x.node, x.output_number = value.node, value.output_number
    x.view_version = value.view_version
    value.base = None                       # a write is recorded once, at the box


def end_boxes(Level level not None):
    """Make the boxes of a level that has ended ordinary tensors."""
    cdef TensorBase x, value
    for reference in level.boxes:
        x = reference()
        if box_at(x, level) is None:
            continue
        value = (<Box>x.box).value
        put_into_box(x, value.box)
        x.storage_, x.data_, x.dtype_ = value.storage_, value.data_, value.dtype_
        set_layout(x, value.ndim_, value.sizes, value.strides)
        set_lazy_bits(x, value.keys & LAZY)
        x.counter = value.counter
        if x.base is not None and x.counter is not None:
            x.view_version = x.counter.value
    level.boxes = []
