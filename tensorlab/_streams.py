"""Streams and events: the order in which an accelerator does its work.

A stream is a queue. What is put into one stream is done in that order; what is in two may be
done in any order, unless an event says otherwise: an event is a mark in one stream, and another
stream, or the program, can wait for it. The device's backend (utils/backend_registration.py)
knows how. The cpu has done a call when it returns, so its streams are empty.
"""

import itertools

from tensorlab._core.device import device as Device
from tensorlab._core.device import no_accelerator
from tensorlab._core.state.devices import accelerator_name, allocator_of, device_names

numbers = itertools.count(1)


def backend_of(device, where):
    """(device, its backend); None for the device stands for the accelerator.

    Raises
    ------
    DeviceError
        If there is no accelerator.
    """
    if device is None:
        name = accelerator_name()
        if name is None:
            raise no_accelerator(where)
        device = Device(name, 0)
    device = Device(device)
    if device.type not in device_names():
        raise no_accelerator(where)
    backend = allocator_of(device_names().index(device.type))
    return Device(device.type, 0) if backend is not None else device, backend


class Stream:
    """A queue of work for a device.

    Parameters
    ----------
    device : device, the accelerator unless given
    priority : int, smaller for more urgent; a device may take no notice

    Raises
    ------
    DeviceError
        If there is no accelerator.
    NotImplementedError
        If the device has no streams.

    Examples
    --------
    >>> import tensorlab
    >>> with tensorlab.cpu.Stream() as stream:
    ...     y = tensorlab.ones(2) + 1
    >>> stream.query()
    True
    """

    def __init__(self, device=None, *, priority=0, _native=None):
        self.device, self._backend = backend_of(device, "Stream")
        self.priority = priority
        if _native is None and self._backend is not None:
            if not hasattr(self._backend, "new_stream"):
                raise NotImplementedError(f"Stream: the device {self.device.type!r} has no streams")
            _native = self._backend.new_stream(priority)
        self._native = _native
        self.stream_id = next(numbers) if _native is None else id(_native)

    @property
    def device_index(self):
        """The number of the device."""
        return self.device.index or 0

    @property
    def device_type(self):
        """The kind of the device."""
        return self.device.type

    def synchronize(self):
        """Wait until everything that is in the stream now has been done."""
        if self._backend is not None:
            self._backend.synchronize(self._native)

    def query(self):
        """Whether everything that has been put into the stream is done."""
        return self._backend is None or self._backend.is_idle(self._native)

    def record_event(self, event=None):
        """Mark this place in the stream; return the event."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def wait_event(self, event):
        """Let what is put into this stream from now on wait for an event. The program itself
        doesn't wait.
        """
        event.wait(self)

    def wait_stream(self, stream):
        """Let what is put into this stream from now on wait for what is in another one now."""
        self.wait_event(stream.record_event())

    def __enter__(self):
        self._outer = current_stream(self.device)
        set_stream(self)
        return self

    def __exit__(self, *exception):
        set_stream(self._outer)

    def __eq__(self, other):
        return isinstance(other, Stream) and (self.device, self.stream_id) == (
            other.device,
            other.stream_id,
        )

    def __hash__(self):
        return hash((self.device, self.stream_id))

    def __repr__(self):
        return f"<Stream {self.stream_id:#x} of {self.device}>"


class Event:
    """A mark in a stream.

    Parameters
    ----------
    device : device, the accelerator unless given
    enable_timing : bool, whether `elapsed_time` may be asked

    Examples
    --------
    >>> import tensorlab
    >>> if tensorlab.accelerator.is_available():
    ...     start = tensorlab.Event(enable_timing=True)
    ...     start.record()
    """

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        self.device, self._backend = backend_of(device, "Event")
        self.enable_timing = enable_timing
        self.event_id = next(numbers)
        self._native = None

    def record(self, stream=None):
        """Put the mark into a stream, the current one unless given."""
        stream = current_stream(self.device) if stream is None else stream
        if stream.device != self.device:
            raise RuntimeError(
                f"Event: it belongs to {self.device}, and the stream to {stream.device}"
            )
        if self._backend is not None:
            self._native = self._backend.record_event(stream._native)

    def wait(self, stream=None):
        """Let a stream wait for the mark; what is put into it from now on is done after it."""
        stream = current_stream(self.device) if stream is None else stream
        if self._native is not None:
            self._backend.wait_event(stream._native, self._native)

    def synchronize(self):
        """Wait until everything before the mark has been done."""
        if self._native is not None:
            self._backend.synchronize_event(self._native)

    def query(self):
        """Whether everything before the mark has been done."""
        return self._native is None or self._backend.is_event_done(self._native)

    def elapsed_time(self, end_event):
        """Milliseconds from this mark to another one.

        Raises
        ------
        ValueError
            If one of them was made without `enable_timing`, or was not recorded.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("elapsed_time: both events must be made with enable_timing=True")
        if self._backend is None:
            raise ValueError(
                f"elapsed_time: the device {self.device} takes no times; use time.perf_counter()"
            )
        if self._native is None or end_event._native is None:
            raise ValueError(
                "elapsed_time: both events must have been recorded; call record() before"
            )
        return self._backend.elapsed_time(self._native, end_event._native)

    def __repr__(self):
        return f"<Event {self.event_id} of {self.device}>"


def current_stream(device=None):
    """The stream that this thread puts work of a device into."""
    device, backend = backend_of(device, "current_stream")
    native = backend.current_stream() if hasattr(backend, "current_stream") else None
    return (
        Stream(device, _native=native)
        if native is not None
        else CPU_STREAMS.setdefault(device.type, Stream("cpu"))
    )


CPU_STREAMS: dict = {}  # of devices without streams: the one that stands for "now"


def set_stream(stream):
    """Let this thread put work of the stream's device into it."""
    if stream._backend is not None:
        stream._backend.set_stream(stream._native)
