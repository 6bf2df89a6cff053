"""The classes of sparse tensors, and how calls of ops come to the rules for them.

A sparse tensor is a wrapper (`Tensor._make_wrapper_subclass`): it has a shape and a dtype, and
holds dense tensors, the indices and the values. Autograd treats it as any other tensor. What is
left of a call below autograd comes to `__torch_dispatch__`, which looks up the op's rule: a
function of the modules beside this one that computes with indices and values. Dense kernels
know nothing of this.

A rule must not call ops with the tensors that it has been given, as these calls would go on to the
dense kernels: it calls functions that take their parts, or makes an `alias()` first.
"""

from tensorlab._core.device import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from tensorlab._core.dispatch.overloads import overload_of
from tensorlab._core.dispatch.overrides import disabled_tensor_function, is_engine_calling
from tensorlab._tensor import Tensor
from tensorlab.sparse import printing

RULES: dict = {}  # name of an op: its rule, a function of (func, *args, **kwargs)

# layout: which of the two dimensions of the matrix is compressed, counted from the first of them
COMPRESSED_DIM = {sparse_csr: 0, sparse_bsr: 0, sparse_csc: 1, sparse_bsc: 1}
BLOCKED = (sparse_bsr, sparse_bsc)


def rule(*names):
    """Register the decorated function for the ops of these names."""

    def register(function):
        for name in names:
            RULES[name] = function
        return function

    return register


class SparseTensor(Tensor):
    """A tensor most of whose elements are 0: it holds the others, and where they are."""

    __torch_function__ = disabled_tensor_function

    is_sparse = False
    is_sparse_csr = False

    def __init__(self, *args, **kwargs):
        pass

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.op.name
        found = RULES.get(name)
        if found is not None:
            return found(func, *args, **kwargs)
        if is_engine_calling() and not func.is_mutable:
            return in_formula(func, args, kwargs)
        if func.is_mutable and name.endswith("_") and name[:-1] in RULES:
            functional = overload_of(func.op.functional)
            return write(args[0], RULES[name[:-1]](functional, *args, **kwargs))
        raise NotImplementedError(
            f"{func.op.name}: there is no such op for tensors of layout "
            f"{', '.join(sorted({str(one.layout) for one in args if isinstance(one, Tensor)}))}; "
            f"use to_dense(), or compute with values()"
        )

    def alias(self):
        """Another tensor around what this one holds: a rule calls ops with it, see above."""
        made = self.with_values(self._parts.values)
        made._parts = self._parts
        return made

    def assign(self, other):
        """Take over the indices and values of another tensor of this layout and shape."""
        if type(other) is not type(self) or other.layout != self.layout:
            raise RuntimeError(
                f"a tensor of layout {self.layout} can't be changed in place to one of layout "
                f"{other.layout}; use the form of the op that makes a new tensor"
            )
        if other.dtype != self.dtype or other.shape != self.shape:
            raise RuntimeError(
                f"result type {other.dtype} and shape {tuple(other.shape)} can't be written to a "
                f"tensor of {self.dtype} and shape {tuple(self.shape)}"
            )
        self._parts = other._parts
        return self

    def all_elements(self):
        """The elements as a dense tensor; unlike `to_dense` not seen by autograd."""
        raise NotImplementedError

    # ------------------------------------------------------------ what is held
    def values(self):
        """The elements that are held, as a dense tensor; gradients flow through it.

        Raises
        ------
        RuntimeError
            If the tensor is not coalesced.
        """
        raise NotImplementedError

    def _nnz(self):
        """How many elements, or blocks, are held in each matrix."""
        return self._parts.values.shape[0]

    # ------------------------------------------------------------ what a strided tensor would say
    def is_contiguous(self, memory_format=None):
        """False: there are no strides."""
        return False

    def numpy(self, *, force=False):
        """An error: NumPy has no such arrays."""
        raise TypeError(
            f"numpy: a tensor of layout {self.layout} is no NumPy array; use to_dense() first, or "
            f"hand indices and values on"
        )

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def tolist(self):
        """An error: a list would have all elements."""
        raise RuntimeError(f"tolist: the tensor has layout {self.layout}; use to_dense() first")

    def data_ptr(self):
        """An error: the values have an address, this tensor has none."""
        raise RuntimeError(
            f"data_ptr: a tensor of layout {self.layout} has no memory itself; ask its values()"
        )

    def __bool__(self):
        return bool(self.item())

    def item(self):
        """The only element as a number."""
        if self.numel() != 1:
            raise RuntimeError(
                f"item: a tensor with {self.numel()} elements cannot be converted to a number"
            )
        return self.to_dense().item()

    def __repr__(self, *, tensor_contents=None):
        return printing.sparse_repr(self)

    __str__ = __repr__

    def __format__(self, format_spec):
        return repr(self) if not format_spec else format(self.item(), format_spec)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError(
                "deepcopy: only tensors that were not computed can be copied deeply; use detach()"
            )
        made = self.detach().clone().requires_grad_(self.requires_grad)
        if self.grad is not None:
            made.grad = self.grad.clone()
        memo[id(self)] = made
        return made


def in_formula(func, args, kwargs):
    """A call that the formula of a derivative makes of an op without a rule, such as cos for that of
    sin: computed with all elements, and dense.
    """
    return func(
        *[one.all_elements() if isinstance(one, SparseTensor) else one for one in args], **kwargs
    )


def write(target, result):
    """Let a tensor, sparse or dense, have the value of a result: the end of an op in place."""
    if isinstance(target, SparseTensor):
        return target.assign(result)
    target.copy_(result)
    return target


class CooParts:
    """What a tensor of layout sparse_coo holds."""

    __slots__ = ("indices", "is_coalesced", "values")

    def __init__(self, indices, values, is_coalesced):
        self.indices, self.values, self.is_coalesced = indices, values, is_coalesced


class SparseCooTensor(SparseTensor):
    """Indices of shape (sparse_dim, nnz), values of shape (nnz, *sizes of the dense dims).

    The same index may stand there several times; its values are meant to be added up. A tensor
    where none does, and whose indices rise, is coalesced.
    """

    layout = sparse_coo
    is_sparse = True

    @staticmethod
    def __new__(cls, indices, values, size, is_coalesced=False, requires_grad=False):
        made = Tensor._make_wrapper_subclass(
            cls, size, dtype=values.dtype, device=values.device, requires_grad=requires_grad
        )
        made._parts = CooParts(indices, values, is_coalesced or values.shape[0] < 2)
        return made

    def with_values(self, values):
        """A tensor with other values at the same places."""
        size = (*self.shape[: self.sparse_dim()], *values.shape[1:])
        return SparseCooTensor(self._parts.indices, values, size, self._parts.is_coalesced)

    def __reduce_ex__(self, protocol):
        state = (self._indices(), self._values(), tuple(self.shape), self.is_coalesced())
        return rebuild_coo, (*state, self.requires_grad)

    def parts_of_file(self):
        """What a file in PyTorch's form has of it."""
        return self._indices(), self._values(), self.shape, self.is_coalesced()

    def sparse_dim(self):
        """How many dimensions, the first ones, are given by indices."""
        return self._parts.indices.shape[0]

    def dense_dim(self):
        """How many dimensions, the last ones, each value has."""
        return self._parts.values.dim() - 1

    def is_coalesced(self):
        """Whether the indices rise, and none stands there twice."""
        return self._parts.is_coalesced

    def _coalesced_(self, coalesced):
        self._parts.is_coalesced = bool(coalesced)
        return self

    def _indices(self):
        return self._parts.indices

    def _values(self):
        return self._parts.values.detach()

    def indices(self):
        """Where the elements are: int64, shape (sparse_dim, nnz).

        Raises
        ------
        RuntimeError
            If the tensor is not coalesced.
        """
        self._check_coalesced("indices")
        return self._parts.indices

    def _check_coalesced(self, what):
        if not self._parts.is_coalesced:
            raise RuntimeError(
                f"{what}: Cannot get {what} on an uncoalesced tensor, which may have an index "
                f"twice; please call .coalesce() first, or take _{what}() as they are"
            )

    def stride(self, dim=None):
        """Zeros, as PyTorch answers: there are no strides."""
        return (0,) * self.dim() if dim is None else 0

    def sparse_resize_(self, size, sparse_dim, dense_dim):
        """An error: a tensor keeps its shape."""
        raise NotImplementedError(
            "sparse_resize_: a tensor of layout sparse_coo keeps its shape; make another one with "
            "sparse_coo_tensor(x.indices(), x.values(), size)"
        )


class CompressedParts:
    """What a tensor of a compressed layout holds."""

    __slots__ = ("compressed", "plain", "values")

    def __init__(self, compressed, plain, values):
        self.compressed, self.plain, self.values = compressed, plain, values


class SparseCompressedTensor(SparseTensor):
    """A matrix, or a batch of them, whose indices are sorted by row (or by column), and which has
    only where each row begins in them: compressed (*batch, rows + 1), plain (*batch, nnz), values
    (*batch, nnz, *block, *dense).
    """

    @staticmethod
    def __new__(cls, layout, compressed, plain, values, size, requires_grad=False):
        made = Tensor._make_wrapper_subclass(
            cls, size, dtype=values.dtype, device=values.device, requires_grad=requires_grad
        )
        made._layout = layout
        made._parts = CompressedParts(compressed, plain, values)
        return made

    def with_values(self, values):
        """A tensor with other values at the same places."""
        held = self._parts
        return SparseCompressedTensor(self._layout, held.compressed, held.plain, values, self.shape)

    def __reduce_ex__(self, protocol):
        held = self._parts
        state = (self._layout, held.compressed, held.plain, held.values.detach())
        return rebuild_compressed, (*state, tuple(self.shape), self.requires_grad)

    def parts_of_file(self):
        """What a file in PyTorch's form has of it."""
        held = self._parts
        return held.compressed, held.plain, held.values.detach(), self.shape

    @property
    def layout(self):
        """How the elements are found: sparse_csr, sparse_csc, sparse_bsr or sparse_bsc."""
        return self._layout

    @property
    def is_sparse_csr(self):
        """Whether the layout is sparse_csr."""
        return self._layout == sparse_csr

    def batch_dim(self):
        """How many dimensions stand before the matrix."""
        return self._parts.compressed.dim() - 1

    def sparse_dim(self):
        """2: the dimensions of the matrix."""
        return 2

    def dense_dim(self):
        """How many dimensions, the last ones, each value has."""
        blocks = 2 if self._layout in BLOCKED else 0
        return self._parts.values.dim() - self.batch_dim() - 1 - blocks

    def blocksize(self):
        """The shape of a block; (1, 1) if elements are held one by one."""
        start = self.batch_dim() + 1
        blocked = self._layout in BLOCKED
        return tuple(self._parts.values.shape[start : start + 2]) if blocked else (1, 1)

    def _nnz(self):
        return self._parts.plain.shape[-1]

    def _indices_of(self, compressed, dim):
        if COMPRESSED_DIM[self._layout] != dim:
            axis = ("row", "column")[dim]
            raise RuntimeError(
                f"{axis} indices: a tensor of layout {self._layout} has the other dimension "
                f"compressed; use its {'ccol_indices and row_indices' if dim == 0 else 'crow_indices and col_indices'}"
            )
        return self._parts.compressed if compressed else self._parts.plain

    def crow_indices(self):
        """Where each row begins among the elements, and their number at the end."""
        return self._indices_of(True, 0)

    def col_indices(self):
        """The column of each element."""
        return self._indices_of(False, 0)

    def ccol_indices(self):
        """Where each column begins among the elements, and their number at the end."""
        return self._indices_of(True, 1)

    def row_indices(self):
        """The row of each element."""
        return self._indices_of(False, 1)

    def stride(self, dim=None):
        """An error: there are no strides."""
        raise RuntimeError(f"stride: tensors of layout {self._layout} do not have strides")


def rebuild_coo(indices, values, size, is_coalesced, requires_grad):
    """What a pickle of a tensor of layout sparse_coo calls."""
    return SparseCooTensor(indices, values, size, is_coalesced, requires_grad)


def rebuild_compressed(layout, compressed, plain, values, size, requires_grad):
    """What a pickle of a tensor of a compressed layout calls."""
    return SparseCompressedTensor(layout, compressed, plain, values, size, requires_grad)
