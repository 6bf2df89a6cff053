"""DTensor: a tensor that the ranks of a mesh hold together.

It has the shape of the whole, and computes like any tensor: an op on it is an op on the parts
(dispatching.py), with exchanges between the ranks where they're needed. Autograd stands above,
so gradients are DTensors too.
"""

from tensorlab._tensor import Tensor
from tensorlab.autograd.function import Function
from tensorlab.autograd.grad_mode import is_grad_enabled
from tensorlab.distributed.collectives import broadcast
from tensorlab.distributed.device_mesh import DeviceMesh, active_mesh
from tensorlab.distributed.tensor import files
from tensorlab.distributed.tensor.dispatching import dispatch
from tensorlab.distributed.tensor.layouts import checked_placements, local_shape, spec_of
from tensorlab.distributed.tensor.placement_types import Replicate
from tensorlab.distributed.tensor.redistribution import redistribute_local
from tensorlab.overrides import disabled_tensor_function

__all__ = ["DTensor", "distribute_tensor"]


class DTensor(Tensor):
    """A tensor that the ranks of a mesh hold together; `distribute_tensor`, `DTensor.from_local`
    and `zeros` make one.

    Attributes
    ----------
    device_mesh : DeviceMesh
    placements : tuple of Placement, one for each dimension of the mesh

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Shard
    >>> def half(rank):
    ...     mesh = dist.init_device_mesh("cpu", (2,))
    ...     x = distribute_tensor(tensorlab.arange(4.0), mesh, [Shard(0)])
    ...     return x.shape, x.to_local().tolist(), x.sum().full_tensor().item()
    >>> dist.threads.spawn(half, nprocs=2)[1]
    (tensorlab.Size([4]), [2.0, 3.0], 6.0)
    """

    __torch_function__ = disabled_tensor_function
    _is_copy = False  # whether it's a view that had to be a copy, which must not be written to

    @staticmethod
    def __new__(cls, local_tensor, spec, *, requires_grad=False, storage_offset=0):
        made = Tensor._make_wrapper_subclass(
            cls, spec.shape, spec.stride, storage_offset, dtype=local_tensor.dtype,
            device=local_tensor.device, requires_grad=requires_grad,
        )  # fmt: skip
        made._local_tensor = local_tensor.detach() if local_tensor.requires_grad else local_tensor
        made._spec = spec
        return made

    def __init__(self, *args, **kwargs):
        pass

    @classmethod
    def around(cls, local, spec, storage_offset=0):
        """Make one of this rank's part, without history."""
        return DTensor(local, spec, storage_offset=storage_offset)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return dispatch(DTensor, func, args, kwargs or {})

    def __repr__(self, *, tensor_contents=None):
        return (
            f"DTensor(local_tensor={self._local_tensor}, device_mesh={self._spec.mesh}, "
            f"placements={self._spec.placements})"
        )

    def __deepcopy__(self, memo):
        made = DTensor(self._local_tensor.clone(), self._spec, requires_grad=self.requires_grad)
        if self.grad is not None:
            made.grad = self.grad.__deepcopy__(memo)
        made = keep_class(self, made)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol):
        return rebuild_dtensor, files.words_of(self)

    def __tensor_flatten__(self):
        return ["_local_tensor"], (self._spec, self.requires_grad)

    @staticmethod
    def __tensor_unflatten__(inner, context, size, stride):
        return DTensor(inner["_local_tensor"], context[0], requires_grad=context[1])

    @property
    def device_mesh(self):
        """The mesh whose ranks hold it."""
        return self._spec.mesh

    @property
    def placements(self):
        """How they hold it: a tuple of one Placement for each dimension of the mesh."""
        return self._spec.placements

    # ------------------------------------------------------------ to and from parts
    @staticmethod
    def from_local(
        local_tensor,
        device_mesh=None,
        placements=None,
        *,
        run_check=False,
        shape=None,
        stride=None,
        grad_placements=None,
    ):
        """Make a DTensor of the parts that the ranks have. Gradients go back to the parts.

        Parameters
        ----------
        local_tensor : Tensor, this rank's part
        device_mesh : DeviceMesh, by default that of the block `with mesh:`
        placements : list of Placement, by default Replicate()
        run_check : bool; True copies what is to be replicated from the first rank
        shape, stride : of the whole; needed where the parts aren't equally large
        grad_placements : list of Placement, how the gradient of the parts is placed

        Raises
        ------
        RuntimeError
            If there is no mesh, or a dimension is sharded that the tensor hasn't got.
        """
        if not isinstance(local_tensor, Tensor) or isinstance(local_tensor, DTensor):
            raise TypeError(
                f"DTensor.from_local: local_tensor is a {type(local_tensor).__name__}; "
                "expected a Tensor"
            )
        mesh = checked_mesh(device_mesh, "from_local")
        placed = checked_placements(placements, mesh, local_tensor.dim(), "DTensor.from_local")
        if shape is None:
            shape = list(local_tensor.shape)
            for i, one in enumerate(placed):
                if one.is_shard():
                    shape[one.dim] *= mesh.size(i)
        if run_check:
            local_tensor = with_values_of_first(local_tensor, mesh, placed)
        spec = spec_of(local_tensor, mesh, placed, shape, stride)
        return FromLocal.apply(local_tensor, spec, grad_placements)

    def to_local(self, *, grad_placements=None):
        """Return this rank's part, as a Tensor. Its gradient goes back to the whole.

        Parameters
        ----------
        grad_placements : list of Placement, how the gradient that comes back is placed; by
            default as this is, and whole where this is partial
        """
        if not is_grad_enabled() or not self.requires_grad:
            return self._local_tensor
        return ToLocal.apply(self, grad_placements)

    def redistribute(
        self, device_mesh=None, placements=None, *, async_op=False, forward_dtype=None,
        backward_dtype=None,
    ):  # fmt: skip
        """Return the same tensor placed in another way.

        Parameters
        ----------
        device_mesh : DeviceMesh, the one that it has
        placements : list of Placement, Shard or Replicate
        async_op : bool, accepted for PyTorch's sake
        forward_dtype, backward_dtype : dtype, what the values and the gradient are converted to

        Raises
        ------
        RuntimeError
            If placements are missing, or one is Partial and the tensor isn't.
        NotImplementedError
            If the mesh is another one.
        """
        mesh = device_mesh or self._spec.mesh
        if mesh != self._spec.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet! "
                                      f"The tensor is on {self._spec.mesh}, not on {mesh}")  # fmt: skip
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        placed = checked_placements(placements, mesh, self.dim(), "redistribute")
        for current, wanted in zip(self._spec.placements, placed, strict=True):
            if wanted.is_partial() and current != wanted:
                raise RuntimeError(
                    f"Can not redistribute from {current} to {wanted}, redistributing to "
                    "Partial is for internal use only!"
                )
        if placed == self._spec.placements and forward_dtype is None and backward_dtype is None:
            return self
        return Redistribute.apply(self, placed, forward_dtype, backward_dtype)

    def full_tensor(self, *, grad_placements=None):
        """Return the whole tensor, as a Tensor, at every rank."""
        whole = self.redistribute(placements=[Replicate()] * self._spec.mesh.ndim)
        return whole.to_local(grad_placements=grad_placements)

    def numpy(self, *args, **kwargs):
        """Raise RuntimeError: there are several arrays."""
        raise RuntimeError(
            "numpy: a DTensor is held by several ranks; ask its full_tensor() or to_local()"
        )


def rebuild_dtensor(local, grid, placed, shape, stride, requires_grad, is_parameter):
    """Return a DTensor of what a file or a pickle has of it; all ranks of its mesh do this."""
    spec = files.spec_from_words(grid, placed, shape, stride, local.dtype)
    made = DTensor(local, spec, requires_grad=requires_grad)
    if is_parameter:
        made._is_param = True
    return made


def keep_class(parameter, made):
    """Return a tensor as a parameter, if that is what another one is."""
    if getattr(parameter, "_is_param", False):
        made._is_param = True
    return made


def checked_mesh(mesh, where):
    """Return the mesh to use.

    Raises
    ------
    TypeError
        If it's something else.
    """
    mesh = active_mesh(mesh)
    if not isinstance(mesh, DeviceMesh):
        raise TypeError(f"{where}: device_mesh is a {type(mesh).__name__}; expected a DeviceMesh")
    return mesh


def with_values_of_first(x, mesh, placements):
    """Return a copy of a tensor with the values of the first rank, where it's to be replicated."""
    x = x.detach().clone()
    for i, one in enumerate(placements):
        if one.is_replicate():
            broadcast(x, group=mesh.get_group(i), group_src=0)
    return x


def of_gradient(placements):
    """Return how a gradient is placed: where the values are partial, whole, as each part of a sum
    has the gradient of the sum."""
    return tuple(Replicate() if one.is_partial() else one for one in placements)


class Redistribute(Function):
    """Another placement; the gradient comes back to the old one."""

    @staticmethod
    def forward(ctx, x, placements, forward_dtype=None, backward_dtype=None):
        ctx.before, ctx.dtypes = x._spec.placements, (x.dtype, backward_dtype)
        local, spec = x._local_tensor, x._spec
        if forward_dtype is not None and forward_dtype != x.dtype:
            local = local.to(forward_dtype)
            spec = spec_of(local, spec.mesh, spec.placements, spec.shape, spec.stride)
        moved = redistribute_local(local, spec, placements)
        return DTensor(moved, spec.with_placements(placements))

    @staticmethod
    def backward(ctx, grad):
        dtype, wanted = ctx.dtypes
        grad = grad.to(wanted) if wanted is not None else grad
        wanted = of_gradient(ctx.before)
        # What is partial stays so: it is summed where it is used.
        wanted = tuple(
            now if now.is_partial() and before.is_replicate() else then
            for now, before, then in zip(grad._spec.placements, ctx.before, wanted, strict=True)
        )
        local = redistribute_local(grad._local_tensor, grad._spec, wanted)
        made = DTensor(local, grad._spec.with_placements(wanted))
        return made if made.dtype == dtype else made.to(dtype), None, None, None


class ToLocal(Function):
    """This rank's part."""

    @staticmethod
    def forward(ctx, x, grad_placements):
        ctx.spec, ctx.grad_placements = x._spec, grad_placements
        return x._local_tensor.view_as(x._local_tensor)

    @staticmethod
    def backward(ctx, grad):
        spec = ctx.spec
        placed = of_gradient(spec.placements)
        if ctx.grad_placements is not None:
            placed = checked_placements(ctx.grad_placements, spec.mesh, spec.ndim, "to_local")
        made = spec_of(grad, spec.mesh, placed, spec.shape)
        return DTensor(grad.contiguous(), made), None


class FromLocal(Function):
    """The parts as one tensor."""

    @staticmethod
    def forward(ctx, local, spec, grad_placements):
        ctx.spec, ctx.grad_placements = spec, grad_placements
        return DTensor(local.detach(), spec)

    @staticmethod
    def backward(ctx, grad):
        wanted = of_gradient(ctx.spec.placements)
        if ctx.grad_placements is not None:
            wanted = checked_placements(
                ctx.grad_placements, ctx.spec.mesh, ctx.spec.ndim, "from_local"
            )
        return redistribute_local(grad._local_tensor, grad._spec, wanted), None, None


def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0):
    """Share a tensor out over the ranks of a mesh.

    Parameters
    ----------
    tensor : Tensor, a leaf, of the same shape at all ranks
    device_mesh : DeviceMesh, by default that of the block `with mesh:`
    placements : list of Placement, by default Replicate()
    src_data_rank : int or None, the rank along each dimension of the mesh whose values count;
        None means that each rank keeps its own, without any exchange

    Returns
    -------
    DTensor

    Raises
    ------
    ValueError
        If the number of placements is wrong, or it's a DTensor placed otherwise.
    RuntimeError
        If the tensor was computed by recorded operations, or a dimension isn't there.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import distributed as dist
    >>> from tensorlab.distributed.tensor import Shard
    >>> def rows(rank):
    ...     mesh = dist.init_device_mesh("cpu", (3,))
    ...     x = tensorlab.arange(10).view(5, 2)
    ...     return distribute_tensor(x, mesh, [Shard(0)]).to_local().tolist()
    >>> dist.threads.spawn(rows, nprocs=3)[2]  # 5 rows over 3 ranks: 2, 2 and 1
    [[8, 9]]
    """
    mesh = checked_mesh(device_mesh, "distribute_tensor")
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"distribute_tensor: tensor is a {type(tensor).__name__}; expected a Tensor"
        )
    if not tensor.is_leaf:
        raise RuntimeError(
            "`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf "
            "tensor: use detach() before, or DTensor.from_local, which has a gradient"
        )
    placed = checked_placements(placements, mesh, tensor.dim(), "distribute_tensor")
    if isinstance(tensor, DTensor):
        return same_or_refused(tensor, mesh, placed)
    local = tensor.detach()
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        local = local.new_empty((0,))
    else:
        if src_data_rank is not None:
            local = values_of(local, mesh, src_data_rank)
        whole = spec_of(local, mesh, (Replicate(),) * mesh.ndim)
        local = redistribute_local(local, whole, placed)
        assert tuple(local.shape) == local_shape(tensor.shape, mesh, placed)
    if local is tensor or local.data_ptr() == tensor.data_ptr():
        local = local.clone()
    spec = spec_of(local, mesh, placed, tensor.shape)
    return DTensor(local, spec, requires_grad=tensor.requires_grad)


def values_of(local, mesh, source):
    """Return a copy of a tensor with the values of one rank."""
    local = local.clone().contiguous()
    for i in range(mesh.ndim):
        if mesh.size(i) > 1:
            broadcast(local, group=mesh.get_group(i), group_src=source)
    return local


def same_or_refused(tensor, mesh, placed):
    """Return a DTensor that is where it should be already."""
    if tensor.device_mesh != mesh:
        raise ValueError(
            f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different "
            f"device mesh {mesh}."
        )
    if tensor.placements != placed:
        raise ValueError(
            f"Cannot distribute a DTensor with placements {tensor.placements} to a different "
            f"placements {list(placed)}. do you want to call `redistribute` instead?"
        )
    return tensor
