"""Functions that PyTorch's front shows though they are inner parts: norms with their statistics, segments.

Programs that were traced by PyTorch call them by these names. Each is made of other functions.
"""

from tensorlab._core.dispatch.levels import without_boxes
from tensorlab._core.dispatch.numpy_aliases import accepts_numpy_names
from tensorlab._core.dispatch.out_argument import NO_DERIVATIVE, store_out, store_outs
from tensorlab.errors import DimensionError, DTypeError, ShapeError
from tensorlab.ops import batch_norm as batch_norms
from tensorlab.ops.creation import empty, full
from tensorlab.ops.joining import cat
from tensorlab.ops.ranges import arange
from tensorlab.ops.searching import searchsorted


# ------------------------------------------------------------------------------ norms with statistics
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """Return `nn.functional.layer_norm`, and the mean and the reciprocal deviation that it has used.

    Parameters
    ----------
    input : Tensor, whose last dimensions are `normalized_shape`
    weight, bias : Tensor of that shape, or None
    eps : float, added to the variance

    >>> import tensorlab
    >>> tensorlab.native_layer_norm(tensorlab.tensor([[1.0, 3.0]]), (2,), None, None, 0.0)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    sizes = tuple(normalized_shape)
    if not sizes or tuple(input.shape[-len(sizes) :]) != sizes:
        raise ShapeError(
            f"native_layer_norm: the input has shape {tuple(input.shape)}, whose last dimensions must be "
            f"normalized_shape, {sizes}"
        )
    for name, one in (("weight", weight), ("bias", bias)):
        if one is not None and tuple(one.shape) != sizes:
            raise ShapeError(
                f"native_layer_norm: the {name} has shape {tuple(one.shape)}; expected {sizes}"
            )
    out, mean, scale = standardised(input, tuple(range(-len(sizes), 0)), eps)
    out = out if weight is None else out * weight
    out = out if bias is None else out + bias
    return out, mean.detach(), scale.detach()  # which have no gradient here, but in groups


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """Return `nn.functional.group_norm`, and mean and reciprocal deviation of each group.

    Parameters
    ----------
    input : Tensor of N * C * HxW elements, shape (N, C, ...)
    weight, bias : Tensor, shape (C,), or None
    group : int, into so many groups the channels are split

    >>> import tensorlab
    >>> x = tensorlab.tensor([[[1.0], [3.0]]])
    >>> tensorlab.native_group_norm(x, None, None, 1, 2, 1, 1, 0.0)
    (tensor([[[-1.],
             [ 1.]]]), tensor([[2.]]), tensor([[1.]]))
    """
    if group < 1 or C % group or input.numel() != N * C * HxW:
        raise ShapeError(
            f"native_group_norm: the input has shape {tuple(input.shape)}; expected {N} x {C} x {HxW} elements, "
            f"and channels that {group} groups divide"
        )
    out, mean, scale = standardised(input.reshape(N, group, C // group * HxW), -1, eps)
    out = out.reshape(input.shape)
    sizes = (C, *(1,) * (input.dim() - 2))
    out = out if weight is None else out * weight.reshape(sizes)
    out = out if bias is None else out + bias.reshape(sizes)
    return out, mean.squeeze(-1), scale.squeeze(-1)


def standardised(input, dims, eps):
    """The input less its mean and times its reciprocal deviation, and these two."""
    mean = input.mean(dims, keepdim=True)
    scale = (input.var(dims, correction=0, keepdim=True) + eps).rsqrt()
    return (input - mean) * scale, mean, scale


def native_batch_norm(
    input, weight, bias, running_mean, running_var, training, momentum, eps, *, out=None
):
    """Return `nn.functional.batch_norm`, and the mean and the reciprocal deviation of each channel.

    Without `training` the running averages are used, and the two are empty.

    Parameters
    ----------
    input : Tensor, shape (batch, channels, ...)
    weight, bias : Tensor, shape (channels,), or None
    running_mean, running_var : Tensor, shape (channels,), changed by `training`; or None
    momentum : float, how much a batch counts in the running averages
    out : three Tensors, optional

    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0], [3.0]])
    >>> tensorlab.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    (tensor([[-1.],
            [ 1.]]), tensor([2.]), tensor([1.]))
    """
    dims = (0, *range(2, input.dim()))
    mean, scale = input.new_empty(0), input.new_empty(0)
    if training:
        values = input.detach()
        mean, scale = values.mean(dims), (values.var(dims, correction=0) + eps).rsqrt()
    normed = batch_norms.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    results = normed, mean, scale
    if out is None:
        return results
    given = tuple(one for one in (input, weight, bias) if one is not None)
    return store_outs("native_batch_norm", results, out, given, NO_DERIVATIVE)


def _native_batch_norm_legit(input, weight, bias, *arguments, out=None):
    """`native_batch_norm`, whose running averages may be left out."""
    if len(arguments) == 3:
        arguments = None, None, *arguments
    return native_batch_norm(input, weight, bias, *arguments, out=out)


# ------------------------------------------------------------------------------ segments
START = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": float("-inf"), "min": float("inf")}


def segment_reduce(
    data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None
):
    """Reduce each of the segments that a dimension is split into.

    Parameters
    ----------
    data : Tensor, floating
    reduce : "sum", "mean", "max", "min" or "prod"
    lengths : Tensor of integers, shape (*data.shape[:axis], segments): how long each segment is
    offsets : Tensor of integers, shape (*data.shape[:axis], segments + 1), instead: where each
        begins and ends
    indices : not there in PyTorch, either
    axis : int, the dimension that is split
    unsafe : bool, whether what the segments leave over is let go
    initial : float, where a reduction begins; also the result of an empty segment

    Raises
    ------
    RuntimeError
        If the segments don't fill the dimension, unless `unsafe`.

    >>> import tensorlab
    >>> tensorlab.segment_reduce(tensorlab.tensor([1.0, 2.0, 4.0]), "sum", lengths=tensorlab.tensor([2, 1]))
    tensor([3., 4.])
    """
    if reduce not in START:
        raise RuntimeError(f"segment_reduce: reduce is {reduce!r}; expected one of {[*START]}")
    if indices is not None or (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce: give either lengths or offsets of the segments")
    if not -data.dim() <= axis < data.dim():
        raise DimensionError(
            f"segment_reduce: axis {axis} is out of range for a tensor of {data.dim()} dimensions"
        )
    axis %= data.dim()
    first = 0
    if lengths is None:
        lengths, first = offsets.diff(), offsets[..., :1]
    check_lengths(lengths, data, axis, unsafe or offsets is not None)
    places = arange(data.size(axis)).expand(*data.shape[:axis], -1).contiguous()
    ends = (lengths.cumsum(-1) + first).contiguous()
    segments = searchsorted(ends, places, right=True)  # what lies behind all: one more
    if offsets is not None:
        segments = segments.masked_fill(places < first, lengths.size(-1))
    count = lengths.size(-1)
    sizes = (*data.shape[:axis], count + 1, *data.shape[axis + 1 :])
    trailing = (1,) * (data.dim() - axis - 1)
    rows = segments.reshape(*segments.shape, *trailing).expand(data.shape)
    start = data.new_full(sizes, START[reduce] if initial is None else initial)
    kind = {"max": "amax", "min": "amin", "mean": "sum"}.get(reduce, reduce)
    out = start.scatter_reduce(axis, rows, data, kind).narrow(axis, 0, count).clone()
    if reduce == "mean":
        divisor = lengths.reshape(*lengths.shape, *trailing).to(data.dtype)
        out = out / (divisor if initial is None else divisor.clamp(min=1))
    return out


_segment_reduce = segment_reduce


def check_lengths(lengths, data, axis, unsafe):
    if lengths.is_floating_point() or lengths.is_complex():
        raise DTypeError(
            f"segment_reduce: lengths and offsets must be integers, not {lengths.dtype}"
        )
    if lengths.dim() != axis + 1 or lengths.shape[:axis] != data.shape[:axis]:
        raise ShapeError(
            f"segment_reduce: the segments have shape {tuple(lengths.shape)}, and data {tuple(data.shape)}; up to axis "
            f"{axis} both must be the same"
        )
    if without_boxes(lengths < 0).any():
        raise RuntimeError("segment_reduce: a segment has a negative length")
    if not unsafe and without_boxes(lengths.sum(-1) != data.size(axis)).any():
        raise RuntimeError(
            f"segment_reduce: the lengths don't sum to {data.size(axis)}, the size of dimension {axis}; give "
            f"unsafe=True to let the rest go"
        )


# ------------------------------------------------------------------------------ memory and parts
def empty_permuted(
    size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False
):
    """Return a tensor without values, whose dimensions lie in memory in a given order.

    Parameters
    ----------
    size : sequence of int, the shape
    physical_layout : sequence of int, the dimensions from the outermost to the innermost in memory
    dtype, device, requires_grad : as of `empty`

    >>> import tensorlab
    >>> tensorlab.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    size, order = tuple(size), tuple(physical_layout)
    if sorted(order) != list(range(len(size))):
        raise ShapeError(
            f"empty_permuted: physical_layout is {order}; expected each dimension of {size} once, counted from 0"
        )
    made = empty(tuple(size[d] for d in order), dtype=dtype, layout=layout, device=device)
    made = made.permute([order.index(d) for d in range(len(size))])
    return made.requires_grad_(requires_grad)


@accepts_numpy_names
def _chunk_cat(tensors, dim, num_chunks, *, out=None):
    """Split each tensor into chunks along `dim`, with zeros at the end, and join those of the same number."""
    if num_chunks < 1 or len(tensors) == 0 or any(one.numel() == 0 for one in tensors):
        raise RuntimeError(
            "_chunk_cat: tensors and num_chunks must be given, and none of them may be empty"
        )
    if len({one.dtype for one in tensors}) > 1:
        raise RuntimeError("_chunk_cat: the tensors must be of one type")
    ndim = tensors[0].dim()
    if not -ndim <= dim < ndim:
        raise DimensionError(
            f"_chunk_cat: dimension {dim} is out of range for a tensor of {ndim} dimensions"
        )
    dim %= ndim
    if any(one.dim() <= dim or one.shape[:dim] != tensors[0].shape[:dim] for one in tensors):
        raise RuntimeError(
            f"_chunk_cat: the tensors must have the same sizes before dimension {dim}"
        )
    parts = []
    for one in tensors:
        missing = -one.size(dim) % num_chunks
        if missing:
            rest = one.new_zeros((*one.shape[:dim], missing, *one.shape[dim + 1 :]))
            one = cat([one, rest], dim)
        parts.append(one.reshape(*one.shape[:dim], num_chunks, -1))
    made = cat(parts, dim + 1)
    return (
        made if out is None else store_out("_chunk_cat", made, out, tuple(tensors), NO_DERIVATIVE)
    )


def clamped(input, indices):
    """The indices, brought into their dimensions: what a mask leaves out may lie anywhere."""
    return [
        None if index is None else index.clamp(-n, n - 1)
        for index, n in zip(indices, input.shape, strict=False)
    ]


def _unsafe_masked_index(input, mask, indices, fill):
    """Return `input[indices]` where the mask is true, and `fill` elsewhere."""
    if input.numel() == 0:
        return full(mask.shape, fill, dtype=input.dtype, device=input.device)
    return input[tuple(clamped(input, indices))].masked_fill(mask.logical_not(), fill)


def _unsafe_masked_index_put_accumulate(input, mask, indices, values):
    """Return `input` with the values added at the indices where the mask is true."""
    if input.numel() == 0:
        return input.clone()
    added = values.masked_fill(mask.logical_not(), 0)
    return input.index_put(tuple(clamped(input, indices)), added, accumulate=True)
