"""Fake tensors: a whole program runs, gradients and optimizer steps included, and no element is
ever computed.

A FakeTensor says that it is on the cpu, and holds a tensor on meta. What is computed with it is
computed on meta, which is inference alone: shapes, strides, dtypes. Tensors on meta can do that
too; but a program that makes tensors, or asks for their device, would have to be written for
them, and in a FakeTensorMode it runs as it is.

    with FakeTensorMode() as mode:
        model = Transformer(...)            # 7 billion parameters, no memory
        loss = model(tokens).sum()
        loss.backward()
    mode.peak_bytes                         # what it would have taken
"""

import weakref

from tensorlab._core.device import device as Device
from tensorlab._core.device import get_default
from tensorlab._core.dispatch.dispatch import shares_storage
from tensorlab._core.dispatch.facets import reads_values
from tensorlab._core.dispatch.overrides import disabled_tensor_function
from tensorlab._pytree import tree_map
from tensorlab._tensor import Tensor
from tensorlab.errors import NoDataError
from tensorlab.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing


class UnsupportedFakeTensorException(RuntimeError):
    """A tensor of a kind that can't be fake."""


class DataDependentOutputException(NoDataError):
    """A program asks a fake tensor for elements. `func` is the op."""

    def __init__(self, func):
        super().__init__(
            f"{func}: it asks a fake tensor for its elements, and there are none; a program "
            f"that looks at values can't run "
            f"on fake tensors, or take the value from a real one"
        )
        self.func = func


class DynamicOutputShapeException(NoDataError):
    """The shape of a result depends on elements. `func` is the op."""

    def __init__(self, func):
        super().__init__(
            f"{func}: the shape of its result depends on elements, and a fake tensor has none; "
            f"use an op whose result has "
            f"a known shape, such as where instead of nonzero"
        )
        self.func = func


class Memory:
    """The memory that a tensor and its views would have: counted while one of them is alive."""

    __slots__ = ("__weakref__",)

    def __init__(self, mode, nbytes):
        mode.bytes += nbytes
        mode.peak_bytes = max(mode.peak_bytes, mode.bytes)
        weakref.finalize(self, mode.release, nbytes).atexit = False


class FakeTensor(Tensor):
    """A tensor without elements that says it is on the cpu, or where else it was made.

    Attributes
    ----------
    fake_device : device, where it would be
    fake_mode : FakeTensorMode, which computes with it
    """

    __tensor_function__ = disabled_tensor_function

    @staticmethod
    def __new__(cls, fake_mode, elem, device, memory=None):
        made = Tensor._make_wrapper_subclass(
            cls, elem.shape, elem.stride(), elem.storage_offset(), dtype=elem.dtype, device=device
        )
        made.fake_mode, made.elem, made.fake_device = fake_mode, elem, made.device
        made.memory = memory or Memory(fake_mode, elem.untyped_storage().nbytes())
        return made

    def __init__(self, *args, **kwargs):
        pass

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        for one in _fakes((args, kwargs or {})):
            return one.fake_mode.dispatch(func, args, kwargs or {})
        return NotImplemented

    def __repr__(self):
        return f"FakeTensor(..., size={tuple(self.shape)}, dtype={self.dtype}, device='{self.fake_device}')"

    def __tensor_flatten__(self):
        return ["elem"], (self.fake_mode, self.fake_device)


def _fakes(tree):
    found = []
    tree_map(lambda one: found.append(one) if isinstance(one, FakeTensor) else None, tree)
    return found


class FakeTensorMode(TorchDispatchMode):
    """A block in which all tensors that are made are fake.

    Parameters
    ----------
    allow_non_fake_inputs : bool; whether ops may take real tensors, too, whose elements are
        left aside. They are refused
        unless it is set
    allow_fallback_kernels : bool; taken for PyTorch's sake: an op without a fake always is an
        error here

    Attributes
    ----------
    bytes : int, what all fake tensors that are alive would take
    peak_bytes : int, the most that it was

    Examples
    --------
    >>> import tensorlab
    >>> with FakeTensorMode() as mode:
    ...     model = tensorlab.nn.Linear(100_000, 100_000)
    ...     y = model(tensorlab.ones(8, 100_000)).relu()
    >>> y
    FakeTensor(..., size=(8, 100000), dtype=tensorlab.float32, device='cpu')
    >>> f"{mode.peak_bytes / 1e9:.1f} GB"
    '40.0 GB'
    """

    def __init__(
        self,
        *,
        allow_fallback_kernels=True,
        allow_non_fake_inputs=False,
        shape_env=None,
        static_shapes=None,
    ):
        super().__init__()
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = shape_env
        self.bytes = self.peak_bytes = 0
        self._memo = weakref.WeakKeyDictionary()  # Handle of a real storage's tensor: its fake
        self._known: dict = {}  # id(real tensor): (weak reference, fake)

    def release(self, nbytes):
        """Note that memory would have been given back."""
        self.bytes -= nbytes

    def from_tensor(self, tensor, *, static_shapes=None, **_):
        """Return the fake of a real tensor: the same shape, strides, dtype, device,
        requires_grad; the same one each time.

        Raises
        ------
        UnsupportedFakeTensorException
            For a tensor of a class over Tensor that has its own `__torch_dispatch__`.
        """
        if isinstance(tensor, FakeTensor):
            return tensor
        if hasattr(type(tensor), "__torch_dispatch__"):
            raise UnsupportedFakeTensorException(
                f"from_tensor: a {type(tensor).__name__} can't be made fake; make what it "
                f"holds fake"
            )
        known = self._known.get(id(tensor))
        if known is not None and known[0]() is tensor:
            return known[1]
        fake = FakeTensor(self, tensor.detach().to("meta"), tensor.device)
        fake.requires_grad_(tensor.requires_grad)
        if getattr(tensor, "_is_param", False) or type(tensor).__name__ == "Parameter":
            fake._is_param = True
        key = id(tensor)
        self._known[key] = (weakref.ref(tensor, lambda _: self._known.pop(key, None)), fake)
        return fake

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if types:  # FakeTensor handles it, as it does outside of a mode
            return func(*args, **(kwargs or {}))
        return self.dispatch(func, args, kwargs or {})

    def dispatch(self, func, args, kwargs):
        """Compute a call on meta."""
        if reads_values.of(func.op):
            raise DataDependentOutputException(func)
        devices: list = []
        explicit: list = []
        fakes: list = []

        def on_meta(one):
            if isinstance(one, FakeTensor):
                devices.append(one.fake_device)
                fakes.append(one)
                return one.elem
            if isinstance(one, Tensor):
                return self.real_on_meta(one, func)
            if isinstance(one, Device):
                explicit.append(one)
                return META
            return one

        meta_args, meta_kwargs = tree_map(on_meta, (args, kwargs))
        if len(args) <= func.index.get("device", -1):
            if isinstance(meta_kwargs.get("device"), str):
                explicit.append(Device(meta_kwargs["device"]))
            meta_kwargs["device"] = META
        try:
            out = func(*meta_args, **meta_kwargs)
        except NoDataError:
            if not func.is_mutable:  # a write of elements that aren't there is done
                raise DynamicOutputShapeException(func) from None
        if func.is_mutable:
            if func.op.functional is not None and func.op.functional.is_view:
                func(*args, **kwargs)  # a fake is laid out as what it holds
            return return_and_correct_aliasing(func, args, kwargs, None)
        device = explicit[0] if explicit else devices[0] if devices else get_default()

        def wrapped(one):
            if not isinstance(one, Tensor) or isinstance(one, FakeTensor):
                return one
            shared = (x.memory for x in fakes if shares_storage(x.elem, one))
            return FakeTensor(self, one, device, next(shared, None))

        return tree_map(wrapped, out)

    def real_on_meta(self, x, func):
        """What stands for a real tensor in a call."""
        if x.device.type == "meta" or x.dim() == 0 or self.allow_non_fake_inputs:
            return x.detach().to("meta")
        raise RuntimeError(
            f"{func}: a real tensor of shape {tuple(x.shape)} meets fake ones; make it fake "
            f"with mode.from_tensor(x), or "
            f"allow it with FakeTensorMode(allow_non_fake_inputs=True)"
        )


META = Device("meta")
