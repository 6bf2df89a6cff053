"""The class of nested tensors in jagged layout: rows of different lengths, one after the other.

    values      the rows of all sequences, one after the other
    offsets     where each sequence begins in them, and at the end their number
    lengths     only if the sequences leave gaps: how long each one is

A nested tensor of size (B, j, D) has values of size (total, D): the ragged dimension `j` stands in
the place `_ragged_idx` of the size, and one place before it in that of the values. The values carry
the history of autograd, so a rule is a function of dense tensors, and its gradient is theirs.

Calls come here above autograd, by `__torch_function__`: a rule is looked up by the name of the
function. The module is imported when a program asks for nested tensors; others pay nothing.
"""

import itertools

from tensorlab._core.device import jagged
from tensorlab._core.tensor import Size
from tensorlab._tensor import Tensor
from tensorlab.ops.joining import cat
from tensorlab.ops.ranges import arange

RULES: dict = {}  # name of a function: its rule, of (function, *args, **kwargs)


def rule(*names):
    """Register the decorated function for the functions of these names."""

    def register(function):
        for name in names:
            RULES[name] = function
        return function

    return register


class NestedInt:
    """The size of a ragged dimension: a number for each sequence. Two are equal if they belong to
    the same offsets.
    """

    numbers = itertools.count()

    def __init__(self):
        self.number = next(NestedInt.numbers)

    def __repr__(self):
        return f"j{self.number}"

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)

    def refuse(self, *others):
        """An error: there is no one number."""
        raise RuntimeError(
            f"{self!r} is the size of a ragged dimension, which has a number for each sequence: take "
            f"them from offsets().diff()"
        )

    __index__ = __int__ = __float__ = refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = refuse


class NestedTensor(Tensor):
    """Sequences of different lengths in one tensor: size (B, j, *inner)."""

    layout = jagged
    is_nested = True

    @staticmethod
    def __new__(cls, values, offsets, *, lengths=None, ragged_idx=1, ragged_size=None):
        size = (offsets.shape[0] - 1, *values.shape)
        made = Tensor._make_wrapper_subclass(cls, size, dtype=values.dtype, device=values.device)
        made._values, made._offsets, made._lengths = values, offsets, lengths
        made._ragged_idx = ragged_idx
        made._ragged_size = NestedInt() if ragged_size is None else ragged_size
        return made

    def __init__(self, *args, **kwargs):
        pass

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        name = getattr(function, "__name__", str(function))
        found = RULES.get(name)
        if found is None:
            raise NotImplementedError(
                f"{name}: there is no such function for nested tensors; use to_padded_tensor(), or "
                f"compute with values() or with each tensor of unbind()"
            )
        return found(function, *args, **(kwargs or {}))

    def with_values(self, values, ragged_idx=None):
        """A nested tensor of the same sequences with other values."""
        return NestedTensor(
            values,
            self._offsets,
            lengths=self._lengths,
            ragged_idx=self._ragged_idx if ragged_idx is None else ragged_idx,
            ragged_size=self._ragged_size,
        )

    # ------------------------------------------------------------ what is held
    def values(self):
        """The rows of all sequences as a dense tensor, shape (total, *inner)."""
        return self._values

    def offsets(self):
        """Where each sequence begins in the values, and at the end their number: shape (B + 1,)."""
        return self._offsets

    def lengths(self):
        """How long each sequence is, if they leave gaps; else None."""
        return self._lengths

    def sequence_lengths(self):
        """How long each sequence is: shape (B,)."""
        held = self._offsets
        return held[1:] - held[:-1] if self._lengths is None else self._lengths

    def longest(self):
        """The length of the longest sequence."""
        lengths = self.sequence_lengths()
        return int(lengths.max()) if lengths.numel() else 0

    def batch_index(self):
        """The sequence that each row belongs to; of a tensor without gaps."""
        lengths = self.sequence_lengths()
        return arange(lengths.numel(), device=lengths.device).repeat_interleave(lengths)

    def packed(self):
        """The same sequences without gaps between them."""
        if self._lengths is None:
            return self
        parts, lengths = components(self), self._lengths
        offsets = cat([lengths.new_zeros(1), lengths.cumsum(0)]).to(self._offsets.dtype)
        values = cat(parts, self._ragged_idx - 1) if parts else self._values
        return NestedTensor(
            values, offsets, ragged_idx=self._ragged_idx, ragged_size=self._ragged_size
        )

    def to_padded_tensor(self, padding, output_size=None):
        """A dense tensor in which each sequence is filled up with `padding`."""
        return RULES["to_padded_tensor"](None, self, padding, output_size)

    # ------------------------------------------------------------ size
    @property
    def shape(self):
        """The sizes, with a NestedInt for the ragged dimension."""
        r = self._ragged_idx - 1
        held = self._values.shape
        batch = self._offsets.shape[0] - 1
        return tuple.__new__(Size, (batch, *held[:r], self._ragged_size, *held[r + 1 :]))

    def size(self, dim=None):
        """The sizes, or one of them."""
        return self.shape if dim is None else self.shape[self.dimension(dim)]

    def dim(self):
        """How many dimensions: one more than the values have."""
        return self._values.dim() + 1

    ndimension = dim
    ndim = property(dim)

    def numel(self):
        """How many elements all sequences have together."""
        held = self._values.numel()
        if self._lengths is None:
            return held
        rows = self._values.shape[self._ragged_idx - 1]
        return held // rows * int(self._lengths.sum()) if rows else 0

    nelement = numel

    def __len__(self):
        return self._offsets.shape[0] - 1

    def dimension(self, dim, extra=0):
        """A dimension as a number from 0."""
        n = self.dim() + extra
        if not -n <= dim < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
            )
        return dim % n

    def stride(self, dim=None):
        """An error: the first dimension has no stride."""
        raise RuntimeError("stride: a nested tensor has none; ask its values()")

    def is_contiguous(self, memory_format=None):
        """Whether the sequences stand one after the other, in row-major order."""
        return self._lengths is None and self._values.is_contiguous()

    # ------------------------------------------------------------ autograd: that of the values
    @property
    def requires_grad(self):
        """Whether a gradient is wanted."""
        return self._values.requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted):
        self._values.requires_grad = wanted

    def requires_grad_(self, requires_grad=True):
        """Say whether a gradient is wanted."""
        self._values.requires_grad_(requires_grad)
        return self

    @property
    def grad(self):
        """The gradient, a nested tensor of the same sequences; or None."""
        found = self._values.grad
        return None if found is None else self.with_values(found)

    @grad.setter
    def grad(self, grad):
        self._values.grad = grad._values if isinstance(grad, NestedTensor) else grad

    @property
    def grad_fn(self):
        """The node that made the values."""
        return self._values.grad_fn

    @property
    def is_leaf(self):
        """Whether it was not computed by recorded operations."""
        return self._values.is_leaf

    def backward(self, gradient=None, **kwargs):
        """Run backward from here; `gradient` is a nested tensor of the same sequences."""
        held = gradient._values if isinstance(gradient, NestedTensor) else gradient
        self._values.backward(held, **kwargs)

    def retain_grad(self):
        """Keep the gradient, though this is not a leaf."""
        self._values.retain_grad()

    def register_hook(self, hook):
        """Call `hook(grad)` with the gradient, a nested tensor, when it is computed."""

        def on_values(grad):
            result = hook(self.with_values(grad))
            return result._values if isinstance(result, NestedTensor) else result

        return self._values.register_hook(on_values)

    # ------------------------------------------------------------ as a value
    def __repr__(self, *, tensor_contents=None):
        history = ", requires_grad=True" if self.requires_grad else ""
        if self.grad_fn is not None:
            history = f", grad_fn={self.grad_fn}"
        return (
            f"NestedTensor(size={tuple(self.shape)}, offsets={self._offsets}{history}, "
            f"contiguous={self.is_contiguous()})"
        )

    __str__ = __repr__

    def __format__(self, format_spec):
        return repr(self)

    def __iter__(self):
        return iter(components(self))

    def __bool__(self):
        raise RuntimeError("bool: a nested tensor is neither true nor false; say x.values().any()")

    def tolist(self):
        """The numbers as nested lists, those of each sequence in its own."""
        return [one.tolist() for one in components(self)]

    def numpy(self, *, force=False):
        """An error: NumPy has no such arrays."""
        raise TypeError(
            "numpy: a nested tensor is no array; use to_padded_tensor() first, or unbind()"
        )

    def __array__(self, dtype=None, copy=None):
        return self.numpy()

    def item(self):
        """The only element as a number."""
        return self.packed()._values.item()

    def __reduce_ex__(self, protocol):
        values = self._values.detach().requires_grad_(self._values.requires_grad)
        return rebuild, (values, self._offsets, self._lengths, self._ragged_idx)

    def __deepcopy__(self, memo):
        if not self.is_leaf:
            raise RuntimeError(
                "deepcopy: only tensors that were not computed can be copied deeply; use detach()"
            )
        values = self._values.detach().clone().requires_grad_(self.requires_grad)
        lengths = None if self._lengths is None else self._lengths.clone()
        made = rebuild(values, self._offsets.clone(), lengths, self._ragged_idx)
        memo[id(self)] = made
        return made


def rebuild(values, offsets, lengths, ragged_idx):
    """What a pickle of a nested tensor calls."""
    return NestedTensor(values, offsets, lengths=lengths, ragged_idx=ragged_idx)


def components(x):
    """The tensors of all sequences, views of the values."""
    starts = x._offsets[:-1].tolist()
    lengths = x.sequence_lengths().tolist()
    dim = x._ragged_idx - 1
    return [x._values.narrow(dim, start, n) for start, n in zip(starts, lengths, strict=True)]
