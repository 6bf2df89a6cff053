"""Devices of a program's own: a backend is registered under a name, and tensors can be there.

    class Backend:
        def allocate(self, nbytes): ...             # needed: an object that stands for so many bytes over there,
        def read(self, memory): ...                 # its bytes, and writing them
        def write(self, memory, data): ...

        def new_stream(self, priority): ...         # if it has queues: see _streams.py for who calls what
        def current_stream(self): ...
        def set_stream(self, stream): ...
        def synchronize(self, stream): ...          # None: all of them
        def is_idle(self, stream): ...
        def record_event(self, stream): ...         # and wait_event(stream, event), synchronize_event(event),
                                                    # is_event_done(event), elapsed_time(event,
                                                    event)
        def read_later(self, memory, offset, target): ...       # copies with non_blocking=True
        def write_later(self, memory, offset, source): ...
        def record_stream(self, memory, stream): ...            # the memory is in use there, too
        def memory_stats(self): ...                 # and empty_cache(), reset_peak_memory_stats()
        def fell_back(self, op): ...                # an op without a kernel here runs on the cpu

    register_backend("lab", Backend())
    rename_privateuse1_backend("lab")               # it is "the accelerator"
    generate_methods_for_privateuse1_backend()      # x.lab(), x.is_lab, module.lab()

Kernels are given with `register_kernels`. An op without one is computed on the cpu, and its
result copied back.
"""

import sys

from tensorlab._core.device import device as Device
from tensorlab._core.dispatch.overloads import OpOverload, OpOverloadPacket
from tensorlab._core.state.devices import (
    accelerator_name,
    device_names,
    register_device,
    set_accelerator,
)
from tensorlab._tensor import Tensor
from tensorlab.errors import DeviceError
from tensorlab.nn.modules import Module
from tensorlab.nn.utils.rnn import PackedSequence
from tensorlab.ops.tensor_info import device_memory

__all__ = [
    "device_memory",
    "generate_methods_for_privateuse1_backend",
    "get_device_module",
    "register_backend",
    "register_kernels",
    "rename_privateuse1_backend",
]

RENAMED: list = []  # the one name that the accelerator has been given


def register_backend(name, backend) -> None:
    """Let tensors be on a device of this name, whose memory `backend` manages (see the top of
    this file).

    Raises
    ------
    DeviceError
        If the name is taken.
    TypeError
        If the backend lacks `allocate`, `read` or `write`.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(
            f"register_backend: {name!r} can't be the name of a device; choose a Python name"
        )
    register_device(name, backend)


def register_kernels(device, kernels):
    """Give ops their kernels for a device.

    Parameters
    ----------
    device : str
    kernels : dict; op, such as ops.aten.mm.default: function(out, *arguments), which fills
        `out`, a tensor over there; for an
        op with several results, they all come first

    >>> import tensorlab
    >>> register_kernels("nowhere", {})  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    tensorlab.errors.DeviceError: register_kernels: no device 'nowhere' has been registered
    """
    if device not in device_names():
        raise DeviceError(
            f"register_kernels: no device {device!r} has been registered; there are "
            f"{', '.join(device_names())}"
        )
    for op, function in kernels.items():
        overload = getattr(op, op.overloads()[0]) if isinstance(op, OpOverloadPacket) else op
        if not isinstance(overload, OpOverload):
            raise TypeError(f"register_kernels: an op is needed, such as ops.aten.mm, not {op!r}")
        overload.op.kernel_on(device)(function)


def rename_privateuse1_backend(backend_name):
    """Let a device be the accelerator of this machine, which `accelerator` speaks of. Once a
    process.

    Raises
    ------
    RuntimeError
        If another name has been given before.
    """
    if RENAMED and RENAMED[0] != backend_name:
        raise RuntimeError(
            f"rename_privateuse1_backend: the accelerator is named {RENAMED[0]!r} already; it "
            f"can be named once"
        )
    if not isinstance(backend_name, str) or backend_name in ("cpu", "meta"):
        raise RuntimeError(
            f"rename_privateuse1_backend: {backend_name!r} can't be the name of an accelerator"
        )
    RENAMED[:] = [backend_name]
    set_accelerator(backend_name)


def generate_methods_for_privateuse1_backend(
    for_tensor=True,
    for_module=True,
    for_packed_sequence=True,
    for_storage=False,
    unsupported_dtype=None,
):
    """Give tensors, modules and packed sequences the methods of the accelerator: `x.lab()` and
    `x.is_lab`.

    Parameters
    ----------
    for_storage : bool; storages have no such method here, and must not be asked for
    unsupported_dtype : list of dtype, which `x.lab()` refuses

    Raises
    ------
    RuntimeError
        If no accelerator has been named, or something of that name is there.
    """
    if not RENAMED:
        raise RuntimeError(
            "generate_methods_for_privateuse1_backend: no accelerator has been named; call "
            "rename_privateuse1_backend before"
        )
    if for_storage:
        raise NotImplementedError(
            "generate_methods_for_privateuse1_backend: storages stay where they are; leave "
            "for_storage out"
        )
    name, refused = RENAMED[0], list(unsupported_dtype or ())
    is_there = f"is_{name}"

    def to_device(self, device=None, non_blocking=False, **kwargs):
        if isinstance(self, Tensor) and self.dtype in refused:
            raise RuntimeError(f"{name}: {self.dtype} is not supported there; convert first")
        return self.to(
            Device(name) if device is None else _indexed(name, device),
            non_blocking=non_blocking,
            **kwargs,
        )

    def is_on_device(self):
        return self.device.type == name

    def module_to_device(self, device=None):
        return self._apply(lambda x: to_device(x, device))

    def sequence_to_device(self, *args, **kwargs):
        return self.to(Device(name), *args, **kwargs)

    to_device.__doc__ = f"The tensor on {name!r}."
    is_on_device.__doc__ = f"Whether it is on {name!r}."
    if for_tensor:
        _add(Tensor, name, to_device)
        _add(Tensor, is_there, property(is_on_device))
    if for_module:
        _add(Module, name, module_to_device)
    if for_packed_sequence:
        _add(PackedSequence, name, sequence_to_device)
        _add(PackedSequence, is_there, property(lambda self: self.data.device.type == name))


def _indexed(name, device):
    return Device(name, device) if isinstance(device, int) else Device(device)


def _add(cls, name, member):
    if name in vars(cls):
        raise RuntimeError(
            f"{cls.__name__} has {name!r} already; choose another name for the accelerator"
        )
    setattr(cls, name, member)


def _privateuse1_backend_name():
    """The name of the accelerator; "privateuseone" if it has none yet."""
    return RENAMED[0] if RENAMED else "privateuseone"


def _register_device_module(device_type, module):
    """Let `tensorlab.lab` be a module with what only that device has, as
    `torch._register_device_module`.
    """
    package = sys.modules["tensorlab"]
    if hasattr(package, device_type):
        raise RuntimeError(f"tensorlab has {device_type!r} already")
    setattr(package, device_type, module)
    sys.modules[f"tensorlab.{device_type}"] = module


def get_device_module(device=None):
    """Return the module of a kind of device: `tensorlab.cpu`, or what `_register_device_module`
    was given.

    Parameters
    ----------
    device : str or device; the accelerator unless given, or the cpu if there is none

    Raises
    ------
    RuntimeError
        If there is no such module.

    >>> get_device_module("cpu").__name__
    'tensorlab.cpu'
    """
    kind = (accelerator_name() or "cpu") if device is None else Device(device).type
    module = getattr(sys.modules["tensorlab"], kind, None)
    if module is None:
        raise RuntimeError(
            f"get_device_module: there is no module for {kind!r}; its package registers one "
            f"with _register_device_module"
        )
    return module
