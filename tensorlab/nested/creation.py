"""Functions that make nested tensors."""

from tensorlab._core.device import jagged
from tensorlab._core.dtypes import BY_NAME
from tensorlab._core.interop.exchange import as_tensor
from tensorlab._tensor import Tensor
from tensorlab.errors import ShapeError
from tensorlab.nested.tensors import NestedTensor
from tensorlab.ops.joining import cat
from tensorlab.ops.ranges import arange

int64 = BY_NAME["int64"]


def check_layout(where, layout):
    """Raise for layouts other than the jagged one, which is meant if none is given."""
    if layout not in (None, jagged):
        raise RuntimeError(
            f"{where}: specified layout is unsupported for nested tensors: {layout}; they have "
            f"layout=tensorlab.jagged"
        )


def of_list(tensors):
    """A nested tensor of dense ones, whose history it goes on with."""
    where = "nested_tensor"
    if not tensors:
        raise RuntimeError(f"{where}: Cannot construct a nested tensor from an empty tensor list")
    first = tensors[0]
    for k, one in enumerate(tensors):
        for what, mine, others in (
            ("dtype", one.dtype, first.dtype),
            ("device", one.device, first.device),
            ("dim", one.dim(), first.dim()),
        ):
            if mine != others:
                raise RuntimeError(
                    f"When constructing a nested tensor, all tensors in list must have the same {what}: "
                    f"tensor {k} has {mine}, and the first {others}"
                )
    if first.dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    ragged = [
        d for d in range(first.dim()) if any(one.shape[d] != first.shape[d] for one in tensors)
    ]
    if len(ragged) > 1:
        raise ShapeError(
            f"Cannot represent given tensor list as a nested tensor with the jagged layout, which "
            f"allows for a single ragged dimension; the tensors differ in dimensions {ragged}: "
            f"{[tuple(one.shape) for one in tensors]}"
        )
    d = ragged[0] if ragged else 0
    lengths = as_tensor([one.shape[d] for one in tensors], dtype=int64)
    offsets = cat([lengths.new_zeros(1), lengths.cumsum(0)]).to(first.device)
    return NestedTensor(cat(tensors, d), offsets, ragged_idx=d + 1)


def nested_tensor(
    tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """Make a nested tensor, a leaf, of copies of tensors that differ in one size.

    Parameters
    ----------
    tensor_list : list of Tensors, arrays or nested sequences
    dtype, device : of the result
    layout : tensorlab.jagged, which is also what is made if none is given
    requires_grad : bool

    Returns
    -------
    Tensor of layout jagged, size (B, j, *inner)

    Raises
    ------
    RuntimeError
        If the tensors differ in dtype, dimensions, or more than one size.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.nested.nested_tensor(
    ...     [tensorlab.ones(1, 2), tensorlab.ones(3, 2)], layout=tensorlab.jagged
    ... )
    >>> x.offsets(), x.values().shape
    (tensor([0, 1, 4]), tensorlab.Size([4, 2]))
    """
    check_layout("nested_tensor", layout)
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError(
            f"nested_tensor: a list of tensors is needed, not a {type(tensor_list).__name__}"
        )
    tensors = [as_tensor(one).detach() for one in tensor_list]
    made = of_list(tensors)
    values = made._values.to(dtype=dtype, device=device)
    offsets = made._offsets if device is None else made._offsets.to(device)
    made = NestedTensor(values, offsets, ragged_idx=made._ragged_idx)
    return made.requires_grad_(requires_grad)


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """Make a nested tensor of tensors that differ in one size; gradients flow back to them.

    Parameters
    ----------
    ts : list or tuple of Tensors; or one Tensor, shape (B, L, *inner), all sequences of length
        L; or a nested tensor, which is returned
    dtype, device : of the result
    layout : tensorlab.jagged

    Raises
    ------
    RuntimeError
        If the tensors differ in dtype, dimensions, or more than one size.

    Examples
    --------
    >>> import tensorlab
    >>> w = tensorlab.ones(1, 2, requires_grad=True)
    >>> x = tensorlab.nested.as_nested_tensor([w, tensorlab.ones(3, 2)], layout=tensorlab.jagged)
    >>> (x * 2).sum().backward()
    >>> w.grad
    tensor([[2., 2.]])
    """
    check_layout("as_nested_tensor", layout)
    if isinstance(ts, NestedTensor):
        return (
            ts
            if dtype is None and device is None
            else ts.to(dtype=dtype or ts.dtype, device=device)
        )
    if isinstance(ts, Tensor):
        if ts.dim() < 2:
            raise RuntimeError(
                "as_nested_tensor: Expected tensor argument to have dim() >= 2, a batch of sequences"
            )
        offsets = arange(ts.shape[0] + 1, device=ts.device) * ts.shape[1]
        made = NestedTensor(ts.flatten(0, 1), offsets)
    elif isinstance(ts, (list, tuple)) and all(isinstance(one, Tensor) for one in ts):
        made = of_list(list(ts))
    else:
        raise TypeError(
            "as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors; "
            "nested_tensor takes lists of numbers"
        )
    if dtype is None and device is None:
        return made
    return made.to(dtype=dtype or made.dtype, device=device)


def nested_tensor_from_jagged(
    values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None
):
    """Make a nested tensor of what it holds; gradients flow back to the values.

    Parameters
    ----------
    values : Tensor, the rows of all sequences along dimension jagged_dim - 1
    offsets : Tensor of int64, shape (B + 1,): where each sequence begins, and their end
    lengths : Tensor of int64, shape (B,): how long each one is; instead of offsets, or with
        them if the sequences leave gaps
    jagged_dim : int, the place of the ragged dimension in the size of the result; 1 unless given
    min_seqlen, max_seqlen : accepted for PyTorch's sake

    Raises
    ------
    RuntimeError
        If neither offsets nor lengths are given, or they do not fit.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.nested.nested_tensor_from_jagged(
    ...     tensorlab.arange(4.0), offsets=tensorlab.tensor([0, 1, 4])
    ... )
    >>> x.unbind()
    (tensor([0.]), tensor([1., 2., 3.]))
    """
    where = "nested_tensor_from_jagged"
    if offsets is None and lengths is None:
        raise RuntimeError(f"{where}: At least one of offsets or lengths is required.")
    jagged_dim = 1 if jagged_dim is None else jagged_dim
    if jagged_dim < 1:
        raise ValueError(f"{where}: Expected jagged_dim >=1, but got {jagged_dim}.")
    if isinstance(values, NestedTensor) or values.dim() < jagged_dim:
        raise RuntimeError(
            f"{where}: values must be a dense tensor of at least {jagged_dim} dimensions, as jagged_dim "
            f"is {jagged_dim}"
        )
    if offsets is None:
        if lengths.dim() != 1:
            raise RuntimeError(
                f"{where}: lengths must be a vector, not of shape {tuple(lengths.shape)}"
            )
        offsets, lengths = cat([lengths.new_zeros(1), lengths.cumsum(0)]), None
    check_offsets(where, values.shape[jagged_dim - 1], offsets, lengths)
    return NestedTensor(values, offsets, lengths=lengths, ragged_idx=jagged_dim)


def check_offsets(where, rows, offsets, lengths):
    """Raise unless offsets and lengths say where sequences are among so many rows."""
    if offsets.dim() != 1 or offsets.numel() == 0 or offsets.dtype.is_floating_point:
        raise RuntimeError(
            f"{where}: offsets must be a vector of integers, one more than there are sequences, not "
            f"{offsets.dtype} of shape {tuple(offsets.shape)}"
        )
    if lengths is not None and lengths.shape != (offsets.numel() - 1,):
        raise RuntimeError(
            f"{where}: offsets say that there are {offsets.numel() - 1} sequences, and lengths have "
            f"shape {tuple(lengths.shape)}"
        )
    sizes = offsets[1:] - offsets[:-1] if lengths is None else lengths
    ends = offsets[:-1] + sizes
    if sizes.numel() == 0:
        return
    if int(sizes.min()) < 0 or int(offsets.min()) < 0 or int(ends.max()) > rows:
        wrong = ((sizes < 0) | (offsets[:-1] < 0) | (ends > rows)).nonzero()[0, 0]
        raise RuntimeError(
            f"{where}: sequence {int(wrong)} goes from {int(offsets[wrong])} to {int(ends[wrong])}, and "
            f"there are {rows} rows"
        )


def narrow(tensor, dim, start, length, layout=None):
    """Make a nested tensor of a range of each row of a dense one, without a copy.

    Parameters
    ----------
    tensor : Tensor, shape (B, L, *inner)
    dim : 1
    start, length : int, or Tensor of int64, shape (B,): the range of each row
    layout : tensorlab.jagged

    Raises
    ------
    RuntimeError
        If `dim` is not 1, or a range goes beyond its row.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(6.0).view(2, 3)
    >>> tensorlab.nested.narrow(x, 1, 0, tensorlab.tensor([1, 2]), layout=tensorlab.jagged).unbind()
    (tensor([0.]), tensor([3., 4.]))
    """
    check_layout("narrow", layout)
    if not isinstance(start, (int, Tensor)):
        raise RuntimeError("narrow: start must be an integer or a tensor")
    if not isinstance(length, (int, Tensor)):
        raise RuntimeError("narrow: length must be an integer or a tensor")
    if dim != 1:
        raise RuntimeError(f"narrow: jagged layout only supports dim=1, not {dim}")
    if tensor.dim() < 2:
        raise RuntimeError("narrow: tensor must at least be 2D, a batch of rows")
    count, width = tensor.shape[:2]
    starts, lengths = (as_tensor(one, dtype=int64) for one in (start, length))
    if starts.numel() not in (1, count) or lengths.numel() not in (1, count):
        raise RuntimeError(
            f"narrow: start and length must be numbers, or have one for each of the {count} rows; they "
            f"have {starts.numel()} and {lengths.numel()}"
        )
    starts, lengths = starts.reshape(-1).expand(count), lengths.reshape(-1).expand(count)
    wrong = ((starts < 0) | (lengths < 0) | (starts + lengths > width)).nonzero()
    if wrong.numel():
        k = int(wrong[0, 0])
        raise RuntimeError(
            f"narrow: row {k} has {width} elements, and the range from {int(starts[k])} of length "
            f"{int(lengths[k])} goes beyond it"
        )
    rows = arange(count, device=tensor.device) * width
    end = (rows[-1:] + starts[-1:] + lengths[-1:]) if count else rows
    offsets = cat([rows + starts, end])
    values = tensor.reshape(count * width, *tensor.shape[2:])
    return NestedTensor(values, offsets, lengths=lengths.contiguous())


def to_padded_tensor(input, padding, output_size=None, out=None):
    """Make a dense tensor in which each sequence is filled up.

    Parameters
    ----------
    input : nested Tensor, size (B, j, *inner)
    padding : number
    output_size : sequence of int; as large as the longest sequence needs unless given

    Returns
    -------
    Tensor, shape (B, longest, *inner)

    Raises
    ------
    RuntimeError
        If `output_size` is too small.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.nested.nested_tensor([tensorlab.ones(1), tensorlab.ones(3)])
    >>> tensorlab.nested.to_padded_tensor(x, 0.0)
    tensor([[1., 0., 0.],
            [1., 1., 1.]])
    """
    if not isinstance(input, NestedTensor):
        raise RuntimeError("to_padded_tensor: a nested tensor is needed; this one is dense")
    return input.to_padded_tensor(padding, output_size)


def masked_select(tensor, mask):
    """Make a nested tensor of the elements of each row where a mask is True.

    Parameters
    ----------
    tensor : Tensor, shape (B, L)
    mask : Tensor of bool, which can be expanded to that

    Raises
    ------
    RuntimeError
        If one of them is not dense.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.arange(4.0).view(2, 2)
    >>> tensorlab.nested.masked_select(x, x > 0.5).unbind()
    (tensor([1.]), tensor([2., 3.]))
    """
    if isinstance(tensor, NestedTensor) or isinstance(mask, NestedTensor):
        raise RuntimeError("masked_select: tensor and mask must be dense")
    mask = mask.expand(tensor.shape)
    counts = mask.reshape(mask.shape[0], -1).sum(1)
    offsets = cat([counts.new_zeros(1), counts.cumsum(0)])
    return NestedTensor(tensor.masked_select(mask), offsets)
