"""Forward mode without a function: tensors that carry a tangent, for as long as a level lasts.

A *dual* tensor is a tensor together with its tangent. What is computed from it inside of the
level is dual as well, and
its tangent is the Jacobian-vector product. `func.jvp` does the same for a function, and nests;
here there is one level.

The level is one of those in `_core/dispatch/levels.pyx`, and differs from that of jvp in two
ways. A write of a dual tensor
makes an ordinary one dual, as a program may hold that from before. And autograd records the
dual tensors themselves, so that
gradients computed inside of the level have tangents, too.
"""

from contextlib import ContextDecorator
from typing import NamedTuple

from tensorlab import _missing
from tensorlab._core.dispatch.capture import end_boxes, show_history
from tensorlab._core.dispatch.levels import box, box_of, enter_level, leave_level, levels
from tensorlab._core.state.modes import is_inference_mode_enabled
from tensorlab._core.tensor import TensorBase
from tensorlab._tensor import Tensor
from tensorlab.func.levels import PUSHES
from tensorlab.func.pushing import pushing, run_pushed

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` returns.

    primal : Tensor, without a tangent
    tangent : Tensor, or None if the tensor is not dual

    Examples
    --------
    >>> import tensorlab
    >>> with dual_level():
    ...     x = make_dual(tensorlab.tensor(3.0), tensorlab.tensor(1.0))
    ...     print(unpack_dual(x * x).tangent)
    tensor(6.)
    """

    primal: Tensor
    tangent: Tensor | None


# ---------------------------------------------------------------- levels
def _running():
    """The level of this thread, or None."""
    return next((level for level in levels() if level.allows_capture), None)


def enter_dual_level():
    """Begin a level, in which tensors may have tangents; `exit_dual_level` ends it.

    Returns
    -------
    int : the number of the level, which is 0, as there can be one only

    Raises
    ------
    RuntimeError
        If there is a level already.

    Examples
    --------
    >>> from tensorlab.autograd import forward_ad
    >>> forward_ad.enter_dual_level()
    0
    >>> forward_ad.exit_dual_level()
    """
    if _running() is not None:
        raise RuntimeError(
            "enter_dual_level: Nested forward mode AD is not supported at the moment, and "
            "there is a level already; "
            "use func.jvp, which nests"
        )
    enter_level("forward_ad", PUSHES, pushing, run_pushed, allows_capture=True)
    return 0


def exit_dual_level(*, level=None):
    """End the level: all tensors lose their tangents.

    Parameters
    ----------
    level : int, what `enter_dual_level` returned; the last one unless given

    Raises
    ------
    RuntimeError
        If there is no such level.

    Examples
    --------
    >>> level = enter_dual_level()
    >>> exit_dual_level(level=level)
    """
    running = _running()
    if running is None:
        raise RuntimeError(
            "exit_dual_level: there is no level to end; Dual level must be a positive number"
        )
    if level not in (None, 0):
        raise RuntimeError(
            f"exit_dual_level: Trying to exit a forward AD level that was not the last one "
            f"that was created: level "
            f"is {level}, and the one that was created is 0"
        )
    leave_level(running)
    end_boxes(running)


class dual_level(ContextDecorator):
    """A block in which tensors may have tangents: `enter_dual_level` and `exit_dual_level`.

    Levels cannot be nested; `func.jvp` can. A function may be decorated with it.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.autograd import forward_ad
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(x, tensorlab.tensor([1.0, 0.0]))
    ...     forward_ad.unpack_dual(dual * dual.sum()).tangent
    tensor([4., 2.])
    """

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, cls, error, trace):
        exit_dual_level()


# ---------------------------------------------------------------- dual tensors
def make_dual(tensor, tangent, *, level=None):
    """Return a view of a tensor that has a tangent.

    Parameters
    ----------
    tensor : Tensor of floating or complex numbers
    tangent : Tensor of the same shape
    level : int, for which level; the current one unless given

    Returns
    -------
    Tensor : it shares the memory of `tensor`. Backward goes through it to `tensor`, and
    through its tangent to `tangent`

    Raises
    ------
    RuntimeError
        If there is no level, the shapes differ, or one of both is dual already.
    ValueError
        If one of both has integers.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(tensorlab.tensor(2.0), tensorlab.tensor(1.0))
    ...     forward_ad.unpack_dual(x**3)
    UnpackedDualTensor(primal=tensor(8.), tangent=tensor(12.))
    """
    running = _running()
    if running is None or (level is not None and level < 0):
        raise RuntimeError(
            "make_dual: Trying to create a dual Tensor for forward AD but no level exists; "
            "make it inside of `with forward_ad.dual_level():`"
        )
    for given, what in ((tensor, "primal"), (tangent, "tangent")):
        if not isinstance(given, TensorBase):
            raise TypeError(
                f"make_dual: the {what} must be a Tensor, and it is a {type(given).__name__}"
            )
        if not (given.is_floating_point() or given.is_complex()):
            raise ValueError(
                f"make_dual: Expected {what} to be floating point or complex, but got: "
                f"{given.dtype}"
            )
    if _tangent_of(tensor, running) is not None:
        raise RuntimeError(
            "make_dual: Making a dual Tensor based on a Tensor that already has a forward "
            "gradient at the same level 0 "
            "is not supported; unpack it first"
        )
    if _tangent_of(tangent, running) is not None:
        raise RuntimeError(
            "make_dual: Setting a forward grad that itself has a forward gradient at the "
            "same level 0 is not supported; "
            "use func.jvp for derivatives of derivatives"
        )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "make_dual: Trying to set a forward gradient that has a different size than that "
            "of the original Tensor: "
            f"Tensor is of size {list(tensor.shape)} while the given forward gradient is of "
            f"size {list(tangent.shape)}"
        )
    value = _primal_of(tensor, running).view_as(tensor)
    dual = box(running, value, _primal_of(tangent, running))
    show_history(dual, value)
    return dual


def unpack_dual(tensor, *, level=None):
    """Return the two parts of a dual tensor.

    Parameters
    ----------
    tensor : Tensor
    level : int, for which level; the current one unless given

    Returns
    -------
    UnpackedDualTensor : primal, a view of `tensor` without tangent, and tangent, which is None
    if `tensor` has none. Both are
        what they are for autograd: gradients may go through either

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.autograd import forward_ad
    >>> forward_ad.unpack_dual(tensorlab.tensor(1.0))
    UnpackedDualTensor(primal=tensor(1.), tangent=None)
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"unpack_dual: a Tensor is needed, not a {type(tensor).__name__}")
    running = _running()
    if running is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    primal = _primal_of(tensor, running)
    if running.is_paused or is_inference_mode_enabled():
        return UnpackedDualTensor(primal.view_as(primal), None)
    return UnpackedDualTensor(primal.view_as(primal), _tangent_of(tensor, running))


def _box_at(x, level):
    found = box_of(x)
    return found if found is not None and found.level is level else None


def _primal_of(x, level):
    found = _box_at(x, level)
    return x if found is None else found.value


def _tangent_of(x, level):
    found = _box_at(x, level)
    return None if found is None else found.tangent


# ---------------------------------------------------------------- whether tangents are computed
def _is_fwd_grad_enabled():
    running = _running()
    return running is None or not running.is_paused


class _set_fwd_grad_enabled(ContextDecorator):
    """Whether calls inside of the level compute tangents: from its making on, and as a block."""

    def __init__(self, mode):
        self.level = _running()
        self.before = _is_fwd_grad_enabled()
        self._set(mode)

    def _set(self, mode):
        if self.level is not None:
            self.level.is_paused = not mode

    def __enter__(self):
        return None

    def __exit__(self, cls, error, trace):
        self._set(self.before)


__getattr__ = _missing.refusing(__name__)
