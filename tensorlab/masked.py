"""Reductions under a mask: still to come."""

from tensorlab import _missing, _planned

__all__ = []

globals().update(
    _planned.names(
        __name__,
        """MaskedTensor amax amin argmax argmin as_masked_tensor cumprod cumsum is_masked_tensor
        log_softmax logaddexp logsumexp masked_tensor mean median norm normalize prod softmax
        softmin std sum var""",
        until="fill what the mask leaves out with the value that changes nothing, such as "
        "x.masked_fill(~mask, 0).sum().",
    )
)


def __getattr__(name):
    raise _missing.refuse(__name__, name)
