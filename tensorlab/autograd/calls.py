"""A function called so that it can be differentiated: what all of functional.py shares.

A `Call` has inputs of its own, knows what was a tuple and what was not, and makes the backward passes.
"""

from tensorlab._core.engine.backward import grad
from tensorlab._core.state.modes import is_grad_enabled
from tensorlab._tensor import Tensor
from tensorlab.autograd.grad_mode import enable_grad, set_grad_enabled
from tensorlab.errors import GradientError, ShapeError
from tensorlab.ops.creation import ones_like, zeros_like


# ---------------------------------------------------------------- tuples in and out
def as_tensors(value, what, where):
    """Return whether `value` is a tuple, and it as a tuple of tensors."""
    is_tuple = isinstance(value, tuple)
    for position, one in enumerate(value if is_tuple else (value,)):
        if not isinstance(one, Tensor):
            place = f", entry {position}," if is_tuple else ""
            raise TypeError(
                f"{where}: {what}{place} is of type {type(one).__name__}; a Tensor or a tuple of Tensors is needed"
            )
    return is_tuple, value if is_tuple else (value,)


def unpacked(tensors, is_tuple):
    return tensors if is_tuple else tensors[0]


def check_scalar(where, is_tuple, outputs):
    """Second derivatives come in matrices only for a function with one number as its result."""
    if is_tuple:
        raise GradientError(f"{where}: the function must return a single Tensor, not a tuple")
    if outputs[0].numel() != 1:
        raise GradientError(
            f"{where}: the function must return a single element, not a Tensor of shape {tuple(outputs[0].shape)}"
        )


class Call:
    """A function called at inputs of its own, ready to be differentiated.

    The inputs are new tensors over the user's memory: what the function reaches in another way than through its
    arguments is a constant.  With `create_graph` they lead back to the user's.
    """

    def __init__(self, where, func, inputs, create_graph, strict):
        self.where, self.create_graph, self.strict = where, create_graph, strict
        self.is_tuple, inputs = as_tensors(inputs, "inputs", where)
        self.inputs = tuple(self.own(x, requires_grad=True) for x in inputs)
        with enable_grad():
            results = func(*self.inputs)
        self.gives_tuple, self.outputs = as_tensors(results, "the result of the function", where)
        for position, output in enumerate(self.outputs):
            if strict and not output.requires_grad:
                raise GradientError(
                    f"{where}: output {position} of the function does not require gradients, so it does not depend "
                    f"on the inputs; strict=True refuses that"
                )

    def own(self, x, requires_grad=False):
        """A new tensor with the memory of x, and with its history if the result is to have one."""
        if self.create_graph and x.requires_grad:
            with enable_grad():
                return x.view_as(x)
        return x.detach().requires_grad_(requires_grad)

    def vector(self, v, like, is_tuple, needed):
        """The v of a product, checked against the tensors that it must fit; ones for one element."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise GradientError(
                    f"{self.where}: v can only be left away where {needed} is a single element"
                )
            return (ones_like(like[0]),)
        _, v = as_tensors(v, "v", self.where)
        if len(v) != len(like):
            wanted = f"a tuple of {len(like)} Tensors" if is_tuple else "a single Tensor"
            raise GradientError(f"{self.where}: v has {len(v)} entries; it must be {wanted}")
        for position, (one, other) in enumerate(zip(v, like, strict=True)):
            if one.shape != other.shape:
                entry = f"entry {position} of v" if is_tuple else "v"
                raise ShapeError(
                    f"{self.where}: {entry} has shape {tuple(one.shape)}; {needed} has {tuple(other.shape)}"
                )
        return tuple(self.own(one) for one in v)

    def check_scalar(self):
        check_scalar(self.where, self.gives_tuple, self.outputs)

    # ------------------------------------------------------------ passes
    def gradient(self):
        """The gradient of a scalar function, differentiable."""
        self.check_scalar()
        with enable_grad():
            found = backward_pass(self.outputs, self.inputs, create_graph=True)
        self.check_dependence(found, "the output", "input", must_vary=True)
        return self.whole(found, self.inputs)

    def transposed(self, outputs):
        """Return zeros u and u J of `outputs`, as a function of u that can be differentiated."""
        with enable_grad():
            u = tuple(zeros_like(output).requires_grad_() for output in outputs)
            return u, backward_pass(outputs, self.inputs, u, create_graph=True)

    def last_pass(self, outputs, inputs, v, keep=False):
        """A backward pass whose results are returned: recorded if the user wants that."""
        with set_grad_enabled(self.create_graph or is_grad_enabled()):
            return backward_pass(outputs, inputs, v, create_graph=self.create_graph, keep=keep)

    def check_dependence(self, found, what, entry, must_vary=False):
        """In strict mode, raise for a derivative that is missing, or constant where the next one is wanted too."""
        for position, one in enumerate(found if self.strict else ()):
            if one is None:
                raise GradientError(
                    f"{self.where}: {what} is independent of {entry} {position}; strict=True refuses that"
                )
            if (must_vary or self.create_graph) and not one.requires_grad:
                raise GradientError(
                    f"{self.where}: the derivative of {what} by {entry} {position} is independent of the inputs; "
                    f"strict=True refuses that where it is to be differentiated again"
                )

    # ------------------------------------------------------------ results
    def whole(self, found, like):
        """Zeros for what is missing."""
        return tuple(zeros_like(x) if g is None else g for g, x in zip(found, like, strict=True))

    def result(self):
        """What the function returned, for the user."""
        return unpacked(self.released(self.outputs), self.gives_tuple)

    def released(self, tensors):
        """Without history, unless the user wants it."""
        return tensors if self.create_graph else tuple(one.detach() for one in tensors)

    def derivatives(self, found, like, is_tuple):
        """Derivatives for the user, in the shapes of `like`."""
        return unpacked(self.released(self.whole(found, like)), is_tuple)


def backward_pass(outputs, inputs, v=None, create_graph=False, keep=False):
    """autograd.grad for tuples, with None for each input without a gradient; constant outputs count as zeros."""
    v = (None,) * len(outputs) if v is None else v
    pairs = [(y, g) for y, g in zip(outputs, v, strict=True) if y is not None and y.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    return grad(
        [y for y, _ in pairs],
        inputs,
        [g for _, g in pairs],
        create_graph=create_graph,
        retain_graph=create_graph or keep,
        allow_unused=True,
    )
