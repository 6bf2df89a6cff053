"""Layers that bring channels to mean 0 and variance 1, and keep running averages of both for evaluation.

BatchNorm takes mean and variance of a channel over the whole batch, InstanceNorm over one sample.
"""

import sys
import warnings

from .._pitfalls import pointed
from ..ops.creation import ones, zeros
from . import functional as F
from .normalization import ScalingModule

__all__ = [
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "SyncBatchNorm",
]


class _RunningNorm(ScalingModule):
    """What both share: scale and shift, and the running averages."""

    dims: tuple[int, ...] = ()  # how many dimensions the input may have
    axes = ""  # what they are, for messages

    def __init__(
        self, num_features, eps, momentum, affine, track_running_stats, device, dtype, *, bias=True
    ):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_scale((num_features,), device, dtype, weight=affine, bias=affine and bias)
        is_kept = track_running_stats
        kind = {"device": device, "dtype": dtype}
        self.register_buffer("running_mean", zeros(num_features, **kind) if is_kept else None)
        self.register_buffer("running_var", ones(num_features, **kind) if is_kept else None)
        count = zeros((), dtype=int, device=device) if is_kept else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self):
        """Start the averages anew: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        """Set the scale to 1 and the shift to 0, and start the averages anew."""
        self.reset_running_stats()
        super().reset_parameters()

    def _check_dims(self, input):
        if input.dim() not in self.dims:
            raise pointed(
                ValueError(
                    f"{type(self).__name__}: the input has shape {tuple(input.shape)}; expected "
                    f"{self.axes}"
                )
            )

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


# ------------------------------------------------------------------------------ over the batch
class _BatchNorm(_RunningNorm):
    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input):
        self._check_dims(input)
        momentum = self.momentum
        counts = self.training and self.track_running_stats
        if counts and momentum is None:  # the plain mean of all batches so far, with this one
            momentum = 1 / (int(self.num_batches_tracked) + 1)
        uses_batch = self.training or self.running_mean is None
        keeps = not self.training or self.track_running_stats
        normalized = F.batch_norm(
            input,
            self.running_mean if keeps else None,
            self.running_var if keeps else None,
            self.weight,
            self.bias,
            uses_batch,
            0.0 if momentum is None else momentum,
            self.eps,
        )
        if counts:
            self.num_batches_tracked.add_(1)
        return normalized


class BatchNorm1d(_BatchNorm):
    """Bring each channel to mean 0 and variance 1 over the batch, then scale and shift it.

    Parameters
    ----------
    num_features : int, the channels
    eps : float, added to the variance
    momentum : float, the share of each batch in the running averages; None for the plain mean
    affine : bool, whether to scale and shift
    track_running_stats : bool; keep averages in training and use them in evaluation
    device : "cpu", "meta" or None
    dtype : floating dtype, the default dtype if not given
    bias : bool, whether to shift

    Notes
    -----
    Called with (batch, channels) or (batch, channels, length).
    Source: Ioffe and Szegedy 2015, "Batch Normalization", algorithms 1 and 2.

    Examples
    --------
    >>> import tensorlab
    >>> layer = BatchNorm1d(3)
    >>> x = tensorlab.randn(8, 3, 10) * 5 + 2
    >>> y = layer(x)
    >>> bool(y.mean().abs() < 1e-5), round(y.var(correction=0).item(), 3)
    (True, 1.0)
    >>> layer.num_batches_tracked
    tensor(1)
    """

    dims = (2, 3)
    axes = "(batch, channels) or (batch, channels, length)"


class BatchNorm2d(_BatchNorm):
    """BatchNorm1d for images, (batch, channels, height, width).

    Parameters
    ----------
    num_features : int, the channels
    eps : float, added to the variance
    momentum : float, the share of a new batch in the running statistics; None takes the mean of all
    affine : bool, whether to scale and shift each channel
    track_running_stats : bool, whether evaluation uses what training has measured

    Examples
    --------
    >>> import tensorlab
    >>> layer = BatchNorm2d(3)
    >>> x = tensorlab.randn(8, 3, 4, 4) * 5 + 2
    >>> y = layer(x)
    >>> bool(y.mean().abs() < 1e-5), round(y.var(correction=0).item(), 3)
    (True, 1.0)
    >>> layer.num_batches_tracked
    tensor(1)
    """

    dims = (4,)
    axes = "(batch, channels, height, width)"


class BatchNorm3d(_BatchNorm):
    """BatchNorm1d for volumes, (batch, channels, depth, height, width).

    Parameters
    ----------
    num_features : int, the channels
    eps : float, added to the variance
    momentum : float, the share of a new batch in the running statistics; None takes the mean of all
    affine : bool, whether to scale and shift each channel
    track_running_stats : bool, whether evaluation uses what training has measured

    Examples
    --------
    >>> import tensorlab
    >>> layer = BatchNorm3d(3)
    >>> x = tensorlab.randn(8, 3, 2, 4, 4) * 5 + 2
    >>> y = layer(x)
    >>> bool(y.mean().abs() < 1e-5), round(y.var(correction=0).item(), 3)
    (True, 1.0)
    >>> layer.num_batches_tracked
    tensor(1)
    """

    dims = (5,)
    axes = "(batch, channels, depth, height, width)"


class SyncBatchNorm(_BatchNorm):
    """BatchNorm over the batches of all ranks that train together: with one process, over its own.

    Parameters
    ----------
    num_features, eps, momentum, affine, track_running_stats, device, dtype, bias : as in BatchNorm1d
    process_group : ProcessGroup, whose ranks take their mean and variance together; by default all

    Notes
    -----
    Called with (batch, channels) and any further dimensions.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import nn
    >>> model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))
    >>> nn.SyncBatchNorm.convert_sync_batchnorm(model)[1].num_features
    2
    """

    axes = "(batch, channels, ...)"

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        process_group=None,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def forward(self, input):
        self._check_dims(input)
        uses_batch = self.training or self.running_mean is None
        groups = sys.modules.get(
            "tensorlab.distributed.process_groups"
        )  # it isn't imported for this
        if not uses_batch or groups is None or not groups.is_initialized():
            return super().forward(input)
        group = groups.the_group(self.process_group)
        if group.size() == 1:
            return super().forward(input)
        from .sync_batch_norm import normalize  # it imports `distributed`, which few programs need

        return normalize(self, input, group)

    def _check_dims(self, input):
        if input.dim() < 2 or input.size(1) == 0:
            raise ValueError(
                f"SyncBatchNorm: the input has shape {tuple(input.shape)}; expected {self.axes} with "
                "at least one channel"
            )

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """Replace every BatchNorm in a module by a SyncBatchNorm that takes its tensors over.

        Parameters
        ----------
        module : Module
        process_group : passed on to the new modules

        Returns
        -------
        Module: the same one; a new one if it is a BatchNorm itself
        """
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                converted.weight, converted.bias = module.weight, module.bias
            converted.running_mean = module.running_mean
            converted.running_var = module.running_var
            converted.num_batches_tracked = module.num_batches_tracked
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


# ------------------------------------------------------------------------------ over one sample
class _InstanceNorm(_RunningNorm):
    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )

    def forward(self, input):
        self._check_dims(input)
        channels = input.size(-self.dims[0])
        if channels != self.num_features:
            differ = (
                f"{type(self).__name__}: the input has {channels} channels, and num_features is "
                f"{self.num_features}"
            )
            if self.weight is not None:
                raise ValueError(f"{differ}; they must be equal")
            warnings.warn(f"{differ}, which has no effect without affine=True", stacklevel=2)
        if input.dim() == self.dims[0]:
            return self._normalize(input.unsqueeze(0)).squeeze(0)
        return self._normalize(input)

    def _normalize(self, input):
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )


class InstanceNorm1d(_InstanceNorm):
    """Bring each channel of each sample to mean 0 and variance 1, then scale and shift it.

    Parameters are those of BatchNorm1d, but scale, shift and averages are left out unless asked for.
    Called with (batch, channels, length), or without batch.
    Source: Ulyanov, Vedaldi and Lempitsky 2016, "Instance Normalization", equation 4.

    Parameters
    ----------
    num_features : int, the channels
    eps : float, added to the variance
    momentum : float, the share of a new batch in the running statistics; None takes the mean of all
    affine : bool, whether to scale and shift each channel
    track_running_stats : bool, whether evaluation uses what training has measured

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.randn(8, 3, 10) * 5 + 2
    >>> y = InstanceNorm1d(3)(x)
    >>> bool(y[0, 0].mean().abs() < 1e-5), round(y[0, 0].var(correction=0).item(), 3)
    (True, 1.0)
    """

    dims = (2, 3)
    axes = "(batch, channels, length), or without batch"


class InstanceNorm2d(_InstanceNorm):
    """InstanceNorm1d for images, (batch, channels, height, width), or without batch.

    Parameters
    ----------
    num_features : int, the channels
    eps : float, added to the variance
    momentum : float, the share of a new batch in the running statistics; None takes the mean of all
    affine : bool, whether to scale and shift each channel
    track_running_stats : bool, whether evaluation uses what training has measured

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.randn(8, 3, 4, 4) * 5 + 2
    >>> y = InstanceNorm2d(3)(x)
    >>> bool(y[0, 0].mean().abs() < 1e-5), round(y[0, 0].var(correction=0).item(), 3)
    (True, 1.0)
    """

    dims = (3, 4)
    axes = "(batch, channels, height, width), or without batch"


class InstanceNorm3d(_InstanceNorm):
    """InstanceNorm1d for volumes, (batch, channels, depth, height, width), or without batch.

    Parameters
    ----------
    num_features : int, the channels
    eps : float, added to the variance
    momentum : float, the share of a new batch in the running statistics; None takes the mean of all
    affine : bool, whether to scale and shift each channel
    track_running_stats : bool, whether evaluation uses what training has measured

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.randn(8, 3, 2, 4, 4) * 5 + 2
    >>> y = InstanceNorm3d(3)(x)
    >>> bool(y[0, 0].mean().abs() < 1e-5), round(y[0, 0].var(correction=0).item(), 3)
    (True, 1.0)
    """

    dims = (4, 5)
    axes = "(batch, channels, depth, height, width), or without batch"
