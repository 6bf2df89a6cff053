"""functionalize: a function without writes that does the same.

Every tensor is in a box, and a write gives the box a new value instead. A view remembers what it's
a view of: a write to it becomes a new value of its base, and other views of that base compute their
value again when they are next used. What was written to the function's arguments is copied to
them at the end.
"""

import functools

from tensorlab._core.dispatch.levels import box, box_of, fill_box
from tensorlab._core.tensor import TensorBase
from tensorlab._pytree import tree_map
from tensorlab.func.levels import replacing
from tensorlab.ops.ranges import arange

__all__ = ["functionalize"]


def functionalize(func, *, remove="mutations"):
    """The function that does what `func` does, with ops that make new tensors in the place of those that write.

    Who records it, as `compile` does, finds no write in the record but those to the arguments, at the end.

    Parameters
    ----------
    func : function of tensors, or trees of them
    remove : "mutations" or "mutations_and_views"; views are no writes, and stay in either case

    Returns
    -------
    function : with the arguments and results of `func`

    Raises
    ------
    RuntimeError
        For another `remove`; when it's called, if `func` writes to a tensor that is no argument
        of it and was not made in it.

    Examples
    --------
    >>> import tensorlab
    >>> def f(x):
    ...     y = x.clone()
    ...     y[0].add_(1)
    ...     return y
    >>> tensorlab.func.functionalize(f)(tensorlab.zeros(2))
    tensor([1., 0.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize: Valid options for remove= are 'mutations' and 'mutations_and_views', got {remove!r}"
        )

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        with replacing("functionalize", _run) as level:
            given = []

            def boxed(x):
                if not isinstance(x, TensorBase):
                    return x
                given.append((x, box(level, x)))
                return given[-1][1]

            args, kwargs = tree_map(boxed, (args, kwargs))
            out = func(*args, **kwargs)
            originals = {id(inner): x for x, inner in given}
            out = tree_map(lambda x: originals.get(id(x), _current(level, x)), out)
            written = [(x, _current(level, inner)) for x, inner in given if _content(inner).writes]
        for x, value in written:
            x.copy_(value)
        return out

    return wrapped


class _Content:
    """What a box shows: a value, how often it was written to, and of a view its base and how it's made.

    Views know the content that they are made of, not the box: `y.t_()` gives the box y another content.
    """

    def __init__(self, value, base=None, make=None):
        self.value, self.writes = value, 0
        self.base, self.make, self.seen = base, make, base and base.writes

    def current(self):
        """The value; that of a view is made again if its base has been written to since."""
        if self.base is not None:
            value = self.base.current()
            if self.seen != self.base.writes:
                self.seen = self.base.writes
                self.writes += 1
                self.value = self.make(value)
        return self.value

    def write(self, value):
        """Take another value; the base of a view gets it in the places that the view shows."""
        if self.base is not None:
            self.base.write(_with_part(self.base.current(), self.make, value))
            self.seen = self.base.writes
        self.value = value
        self.writes += 1


def _with_part(base, make, value):
    """The base with other elements where the view shows some: `make` shows of the places where they are, too."""
    places = make(arange(base.numel(), device=base.device).view(base.shape))
    flat = base.reshape(-1).scatter(0, places.reshape(-1), value.reshape(-1))
    return flat.view(base.shape)


def _content(x):
    found = x.__dict__.get("_content")
    if found is None:
        found = x._content = _Content(box_of(x).value)
    return found


def _current(level, x):
    """What is in a box of the level; anything else as it is."""
    found = box_of(x)
    if found is None or found.level is not level:
        return x
    value = _content(x).current()
    if found.value is not value:
        fill_box(x, level, value)
    return value


# ---------------------------------------------------------------- a call at the level
def _run(level, op, arguments):
    values = tree_map(lambda x: _current(level, x), list(arguments))
    if not op.writes:
        return _boxes(level, op, arguments, op(*values))
    x, functional = arguments[0], op.functional
    if functional is None:
        raise RuntimeError(f"functionalize: {op.name} has no form that makes a new tensor")
    if functional.is_view:
        x._content = _Content(
            functional(*values), _content(x), lambda value: functional(value, *values[1:])
        )
    else:
        result = functional(*values)
        if result.shape != x.shape:
            raise RuntimeError(
                f"{op.name}: the result has shape {tuple(result.shape)}, and the tensor that it is written to has "
                f"{tuple(x.shape)}"
            )
        _content(x).write(result.to(x.dtype))
    _current(level, x)
    return x


def _boxes(level, op, arguments, out):
    if isinstance(out, (tuple, list)):
        return type(out)([_box(level, op, arguments, one, i) for i, one in enumerate(out)])
    return _box(level, op, arguments, out, None)


def _box(level, op, arguments, value, i):
    if not isinstance(value, TensorBase):
        return value
    made = box(level, value)
    if op.is_view and box_of(arguments[0]) is not None:
        rest = arguments[1:]

        def make(x):
            return op(x, *rest) if i is None else op(x, *rest)[i]

        made._content = _Content(value, _content(arguments[0]), make)
    return made
