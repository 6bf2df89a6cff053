"""Modules that find out how many inputs they have from the first batch.

Their parameters are UninitializedParameters until then.  A forward pre-hook looks at the arguments, gives the
parameters their shapes and initial values, takes itself away, and turns the module into one of the ordinary class.
"""

from ..autograd import no_grad
from ..ops.creation import zeros
from .batch_norm import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from .convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from .linear import Linear
from .parameter import UninitializedBuffer, UninitializedParameter, is_lazy

__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LazyModuleMixin",
]


class LazyModuleMixin:
    """What a lazy class inherits from, in front of the class that it becomes.

    A subclass assigns UninitializedParameters, defines `initialize_parameters(*args)`, which gets the arguments of the
    first forward, and says in `cls_to_become` which class an instance is of afterwards.
    """

    cls_to_become: type | None = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # Functions, not methods of this module: a module that its own hooks hold is freed only
        # by the collector.
        self._load_hook = self.register_load_state_dict_pre_hook(load_lazily)
        self._initialize_hook = self.register_forward_pre_hook(infer_parameters, with_kwargs=True)

    def initialize_parameters(self, *args, **kwargs):
        """Give the parameters their shapes and values; every lazy class defines its own."""
        raise NotImplementedError(
            f"{type(self).__name__}: has no initialize_parameters; define it to give the parameters their shapes"
        )

    def has_uninitialized_params(self):
        """Say whether a parameter or buffer has no shape yet."""
        return any(is_lazy(x) for x in (*self._parameters.values(), *self._buffers.values()))

    def reset_parameters(self):
        """Draw initial values, once there are shapes."""
        if (
            not self.has_uninitialized_params() and self._inputs
        ):  # 0 in the constructor of the class below
            super().reset_parameters()

    def _lazy_load_hook(self, state_dict, prefix, *_):
        """Give parameters the shapes of those in a state dict."""
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(tensor) and given is not None and not is_lazy(given):
                with no_grad():
                    tensor.materialize(given.shape)

    def _infer_parameters(self, module, args, kwargs=None):
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(
                f"module {self._get_name()} has not been fully initialized: initialize_parameters left a parameter "
                "without a shape"
            )
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


def load_lazily(module, *args):
    """Before a state dict is loaded: give a lazy module the shapes in it."""
    module._lazy_load_hook(*args)


def infer_parameters(module, args, kwargs):
    """Before the first forward: give a lazy module the shapes that its input asks for."""
    module._infer_parameters(module, args, kwargs)


# ------------------------------------------------------------ Linear
class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose `in_features` is the last size of the first input.

    Parameters
    ----------
    out_features : int
    bias : bool
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given

    Examples
    --------
    >>> import tensorlab
    >>> layer = tensorlab.nn.LazyLinear(3)
    >>> layer(tensorlab.ones(2, 5)).shape, layer
    (tensorlab.Size([2, 3]), Linear(in_features=5, out_features=3, bias=True))
    """

    cls_to_become = Linear

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    @property
    def _inputs(self):
        return self.in_features

    def initialize_parameters(self, input):
        """Take `in_features` from the input's last size."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:  # the weight came from a state dict
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"LazyLinear: the input has {input.shape[-1]} features, and the weight that was loaded "
                    f"{self.weight.shape[-1]}; they must be equal"
                )
            self.in_features = input.shape[-1]


# ------------------------------------------------------------ convolutions
class _LazyConvolution(LazyModuleMixin):
    """A convolution whose `in_channels` is the number of channels of the first input."""

    def __init__(
        self, out_channels, kernel_size, *args, bias=True, device=None, dtype=None, **kwargs
    ):
        super().__init__(0, 0, kernel_size, *args, bias=False, **kwargs)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    @property
    def _inputs(self):
        return self.in_channels

    def initialize_parameters(self, input, *args, **kwargs):
        """Take `in_channels` from the input's channels."""
        if not self.has_uninitialized_params():
            return
        batched = self.axes + 2
        if input.dim() not in (batched - 1, batched):
            raise RuntimeError(
                f"Expected {batched}D (batched) or {batched - 1}D (unbatched) input to {type(self).__name__}, but "
                f"got input of size: {tuple(input.shape)}"
            )
        self.in_channels = input.shape[-self.axes - 1]
        if self.in_channels % self.groups:
            raise ValueError(
                f"{type(self).__name__}: in_channels must be divisible by groups, but the input has "
                f"{self.in_channels} channels for {self.groups} groups"
            )
        with no_grad():
            self.weight.materialize((*self._weight_channels(), *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
        self.reset_parameters()

    def _weight_channels(self):
        return self.out_channels, self.in_channels // self.groups


class _LazyForward(_LazyConvolution):
    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias=bias,
            padding_mode=padding_mode,
            device=device,
            dtype=dtype,
        )


class _LazyTransposed(_LazyConvolution):
    def __init__(
        self,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__(
            out_channels,
            kernel_size,
            stride,
            padding,
            output_padding,
            groups,
            bias=bias,
            dilation=dilation,
            padding_mode=padding_mode,
            device=device,
            dtype=dtype,
        )

    def _weight_channels(self):
        return self.in_channels, self.out_channels // self.groups


class LazyConv1d(_LazyForward, Conv1d):
    """A Conv1d whose `in_channels` comes from the first input; the other arguments are those of Conv1d.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyConv1d(8, 3)
    >>> y = layer(tensorlab.zeros(2, 3, 16))
    >>> type(layer).__name__, layer.in_channels
    ('Conv1d', 3)
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyForward, Conv2d):
    """A Conv2d whose `in_channels` comes from the first input; the other arguments are those of Conv2d.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyConv2d(8, 3)
    >>> y = layer(tensorlab.zeros(2, 3, 16, 16))
    >>> type(layer).__name__, layer.in_channels
    ('Conv2d', 3)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyForward, Conv3d):
    """A Conv3d whose `in_channels` comes from the first input; the other arguments are those of Conv3d.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyConv3d(8, 3)
    >>> y = layer(tensorlab.zeros(2, 3, 16, 16, 16))
    >>> type(layer).__name__, layer.in_channels
    ('Conv3d', 3)
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ConvTranspose1d whose `in_channels` comes from the first input.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyConvTranspose1d(8, 3)
    >>> y = layer(tensorlab.zeros(2, 3, 8))
    >>> type(layer).__name__, layer.in_channels
    ('ConvTranspose1d', 3)
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ConvTranspose2d whose `in_channels` comes from the first input.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyConvTranspose2d(8, 3)
    >>> y = layer(tensorlab.zeros(2, 3, 8, 8))
    >>> type(layer).__name__, layer.in_channels
    ('ConvTranspose2d', 3)
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ConvTranspose3d whose `in_channels` comes from the first input.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyConvTranspose3d(8, 3)
    >>> y = layer(tensorlab.zeros(2, 3, 8, 8, 8))
    >>> type(layer).__name__, layer.in_channels
    ('ConvTranspose3d', 3)
    """

    cls_to_become = ConvTranspose3d


# ------------------------------------------------------------ normalizations
class _LazyNorm(LazyModuleMixin):
    """A normalization whose `num_features` is the second size of the first input."""

    def __init__(
        self,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(0, eps, momentum, False, False, device, dtype, bias=False)
        kind = {"device": device, "dtype": dtype}
        self.affine = affine
        self.track_running_stats = track_running_stats
        if self.affine:
            self.weight = UninitializedParameter(**kind)
            if bias:
                self.bias = UninitializedParameter(**kind)
        if self.track_running_stats:
            self.running_mean = UninitializedBuffer(**kind)
            self.running_var = UninitializedBuffer(**kind)
            self.num_batches_tracked = zeros((), dtype=int, device=device)

    @property
    def _inputs(self):
        return self.num_features

    def initialize_parameters(self, input):
        """Take `num_features` from the input's channels."""
        if self.num_features == 0:  # also if the parameters came from a state dict
            self.num_features = input.shape[1]
        if not self.has_uninitialized_params():
            return
        for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
            if is_lazy(tensor):
                tensor.materialize((self.num_features,))
        self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A BatchNorm1d whose `num_features` comes from the first input.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyBatchNorm1d()
    >>> y = layer(tensorlab.randn(8, 3, 10))
    >>> type(layer).__name__, layer.num_features
    ('BatchNorm1d', 3)
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A BatchNorm2d whose `num_features` comes from the first input.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyBatchNorm2d()
    >>> y = layer(tensorlab.randn(8, 3, 4, 4))
    >>> type(layer).__name__, layer.num_features
    ('BatchNorm2d', 3)
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A BatchNorm3d whose `num_features` comes from the first input.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyBatchNorm3d()
    >>> y = layer(tensorlab.randn(8, 3, 2, 4, 4))
    >>> type(layer).__name__, layer.num_features
    ('BatchNorm3d', 3)
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """An InstanceNorm1d whose `num_features` comes from the first input.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyInstanceNorm1d()
    >>> y = layer(tensorlab.randn(8, 3, 10))
    >>> type(layer).__name__, layer.num_features
    ('InstanceNorm1d', 3)
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """An InstanceNorm2d whose `num_features` comes from the first input.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyInstanceNorm2d()
    >>> y = layer(tensorlab.randn(8, 3, 4, 4))
    >>> type(layer).__name__, layer.num_features
    ('InstanceNorm2d', 3)
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """An InstanceNorm3d whose `num_features` comes from the first input.

    Examples
    --------
    >>> import tensorlab
    >>> layer = LazyInstanceNorm3d()
    >>> y = layer(tensorlab.randn(8, 3, 2, 4, 4))
    >>> type(layer).__name__, layer.num_features
    ('InstanceNorm3d', 3)
    """

    cls_to_become = InstanceNorm3d
