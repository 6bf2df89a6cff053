"""Anomaly mode: find the line of the forward pass behind an error or a NaN of backward."""

import warnings

from tensorlab._core.graph.anomaly import (
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    switch_anomaly,
    switch_data_watch,
)

__all__ = [
    "detect_anomaly",
    "is_anomaly_check_nan_enabled",
    "is_anomaly_enabled",
    "set_detect_anomaly",
    "set_detect_data_writes",
]


class set_detect_anomaly:
    """Switch anomaly mode on or off; at once, and back at the end if used as a context.

    While it is on, each node keeps the call stack of its forward op and each in-place op its line, so that an
    error of backward says where in your program it began; and backward raises at the first node that makes a NaN.
    It makes a program several times slower: switch it on to find a mistake, not for training.

    Parameters
    ----------
    mode : bool
    check_nan : bool; look for NaN after each node of a backward pass

    >>> import tensorlab, warnings
    >>> warnings.simplefilter("ignore")
    >>> with tensorlab.autograd.set_detect_anomaly(True):
    ...     x = tensorlab.tensor(0.0, requires_grad=True)
    ...     (x.sqrt() * 0).backward()
    Traceback (most recent call last):
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    ...
    """

    def __init__(self, mode, check_nan=True):
        self.was = switch_anomaly(mode, check_nan)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        switch_anomaly(*self.was)


class detect_anomaly(set_detect_anomaly):
    """Anomaly mode within a `with` statement; see `set_detect_anomaly`.

    Parameters
    ----------
    check_nan : bool; look for NaN after each node of a backward pass

    Examples
    --------
    >>> import tensorlab
    >>> import warnings
    >>> x = tensorlab.zeros(1, requires_grad=True)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with detect_anomaly():
    ...         try:
    ...             (x.sqrt() * 0).backward()
    ...         except RuntimeError as error:
    ...             print(str(error)[:40])
    Function 'SqrtBackward0' returned nan va
    """

    def __init__(self, check_nan=True):
        self.wanted = True, check_nan
        warnings.warn(
            "detect_anomaly: anomaly mode makes a program several times slower; use it for debugging only",
            UserWarning,
            stacklevel=2,
        )

    def __enter__(self):
        self.was = switch_anomaly(*self.wanted)


class set_detect_data_writes:
    """Make writes through `.data` noticed; at once, and until the end of the block if used as a context.

    `x.data` has a version counter of its own, so that PyTorch, and tensorlab unless this is on, cannot see that
    memory which backward needs was changed through it.  With it on, `x.data` shares the counter of `x` and
    assigning to `x.data` counts as a write: backward then raises where it would have gone wrong in silence.

    Parameters
    ----------
    mode : bool

    Examples
    --------
    >>> import tensorlab
    >>> w = tensorlab.ones(2, requires_grad=True)
    >>> loss = (w * w).sum()
    >>> with set_detect_data_writes(True):
    ...     w.data.mul_(2)
    tensor([2., 2.])
    >>> loss.backward()
    Traceback (most recent call last):
        ...
    tensorlab.errors.VersionError: backward: MulBackward0 needs a tensor of shape (2,) ...
    """

    def __init__(self, mode):
        self.was = switch_data_watch(mode)

    def __enter__(self):
        pass

    def __exit__(self, *_):
        switch_data_watch(self.was)
