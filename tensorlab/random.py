"""The default stream of random numbers: where it starts and where it is."""

import contextlib
import threading

from tensorlab import _missing
from tensorlab._core.dtypes import DTYPES
from tensorlab._core.random import DrawingAside, Generator
from tensorlab._core.random import default_generator as _default_generator

default_generator = _default_generator()
of_thread = threading.local()


def stream():
    """Return the generator of the default stream: a thread that is a rank has its own.

    Examples
    --------
    >>> import tensorlab
    >>> stream() is tensorlab.default_generator
    True
    """
    return getattr(of_thread, "generator", default_generator)


@contextlib.contextmanager
def own_stream(state, seed):
    """Give this thread a default stream of its own, which starts at a state or with a seed."""
    generator = Generator()
    generator.set_state(state) if seed is None else generator.manual_seed(seed)
    of_thread.generator = generator
    try:
        with DrawingAside(generator):
            yield
    finally:
        del of_thread.generator


def manual_seed(seed):
    """Start the default stream at the place that `seed`, an int, chooses; return its generator.

    >>> import tensorlab
    >>> tensorlab.manual_seed(3).initial_seed()
    3
    """
    return stream().manual_seed(int(seed))


def seed():
    """Start the default stream at a place that no one can predict, and return the seed for it.

    Examples
    --------
    >>> import tensorlab
    >>> number = tensorlab.seed()
    >>> tensorlab.initial_seed() == number
    True
    """
    return stream().seed()


def initial_seed():
    """Return the seed that the default stream started from.

    Examples
    --------
    >>> import tensorlab
    >>> _ = tensorlab.manual_seed(7)
    >>> initial_seed()
    7
    """
    return stream().initial_seed()


def get_rng_state():
    """Return the place in the default stream: 5056 bytes, laid out as PyTorch lays them out.

    Examples
    --------
    >>> import tensorlab
    >>> state = get_rng_state()
    >>> x = tensorlab.rand(1)
    >>> set_rng_state(state)
    >>> bool((tensorlab.rand(1) == x).all())
    True
    """
    return stream().get_state()


def set_rng_state(new_state):
    """Go to the place in the default stream that `get_rng_state` returned.

    Parameters
    ----------
    new_state : Tensor of uint8, as `get_rng_state` gave it

    Examples
    --------
    >>> import tensorlab
    >>> state = tensorlab.get_rng_state()
    >>> tensorlab.set_rng_state(state)
    """
    kind = getattr(new_state, "dtype", type(new_state).__name__)
    if kind is not DTYPES[1]:
        raise TypeError(f"set_rng_state: a tensor of uint8 is needed, not {kind}")
    stream().set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, *, device_type=None):
    """Restore the default stream on leaving: what is drawn inside does not count outside.

    Examples
    --------
    >>> import tensorlab
    >>> _ = tensorlab.manual_seed(0)
    >>> with fork_rng():
    ...     x = tensorlab.rand(2)
    >>> bool((tensorlab.rand(2) == x).all())
    True
    """
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


__getattr__ = _missing.refusing(__name__)
