"""How attention is computed: `sdpa_kernel` chooses the ways that are allowed, `bias` has masks that are descriptions.

    with sdpa_kernel(SDPBackend.MATH):
        ...                             # by the formula, with all scores in memory

Left out: implementations that users register.
"""

import contextlib
import enum

from ... import _missing
from ...ops import scaled_dot_product
from . import bias

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "bias", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False  # kept for programs that set it; there is nothing to warn of here


class SDPBackend(enum.IntEnum):
    """The ways in which PyTorch computes `scaled_dot_product_attention`.

    MATH is the formula; FLASH_ATTENTION and EFFICIENT_ATTENTION both are the blocks of ops/attention.pyx, which
    neither drop weights nor learn masks. The others do nothing here.

    Examples
    --------
    >>> SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self):
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self):
        return f"SDPBackend.{self.name}"


_WAYS = {
    SDPBackend.CUDNN_ATTENTION: "cudnn",
    SDPBackend.FLASH_ATTENTION: "flash",
    SDPBackend.EFFICIENT_ATTENTION: "mem_efficient",
    SDPBackend.MATH: "math",
    SDPBackend.OVERRIDEABLE: "overrideable",
}


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Within the block, let `scaled_dot_product_attention` be computed in these ways only.

    Parameters
    ----------
    backends : SDPBackend or list of SDPBackend
    set_priority : bool, whether the first of the list that can compute a call does; else blocks
        go before the formula

    Raises
    ------
    AssertionError
        If `backends` is neither.

    >>> import tensorlab
    >>> from tensorlab.nn.attention import SDPBackend, sdpa_kernel
    >>> x = tensorlab.ones(1, 2, 3)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     tensorlab.nn.functional.scaled_dot_product_attention(x, x, x).shape
    tensorlab.Size([1, 2, 3])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            f"sdpa_kernel: backends is of type {type(backends).__name__}; expected an SDPBackend or a list of them"
        )
    chosen = [backends] if isinstance(backends, SDPBackend) else backends
    ways = [_WAYS[one] for one in chosen if one in _WAYS]
    if not set_priority:
        ways.sort(key=scaled_dot_product.WAYS.index)
    with scaled_dot_product.allowed(ways) as nothing:
        yield nothing


def _cur_sdpa_kernel_backends(with_priority=False):
    """Return the list of ways that are allowed now; `with_priority` in the order of trying."""
    by_name = {name: backend for backend, name in _WAYS.items()}
    order = scaled_dot_product.ways if with_priority else by_name
    return [by_name[name] for name in order if name in scaled_dot_product.ways]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
