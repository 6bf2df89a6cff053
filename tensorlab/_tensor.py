"""class Tensor: the list of everything a tensor can do, grouped as the documentation groups it.

The functions live with their ops; here each is given a name, and nothing more. `TensorBase` (in _core) holds the data.
"""

from tensorlab._core import autograd_fields, exchange, subclass
from tensorlab._core.tensor import TensorBase, set_tensor_class
from tensorlab.ops import reductions
from tensorlab.ops import copying, creation, strided
from tensorlab.ops.pointwise import arithmetic, elementary
from tensorlab.printing import tensor_format, tensor_repr


class Tensor(TensorBase):
    """A multi-dimensional array of one dtype, whose history autograd can follow."""

    # values in and out
    item = exchange.item
    tolist = exchange.tolist
    numpy = exchange.numpy
    __array__ = exchange.__array__
    __repr__ = tensor_repr
    __format__ = tensor_format
    _make_subclass = staticmethod(subclass.make_subclass)

    # autograd
    requires_grad = property(autograd_fields.get_requires_grad, autograd_fields.set_requires_grad)
    requires_grad_ = autograd_fields.requires_grad_
    is_leaf = property(autograd_fields.get_is_leaf)
    grad_fn = property(autograd_fields.get_grad_fn)
    grad = property(autograd_fields.get_grad, autograd_fields.set_grad, autograd_fields.del_grad)
    backward = autograd_fields.backward
    retain_grad = autograd_fields.retain_grad
    retains_grad = property(autograd_fields.get_retains_grad)
    register_hook = autograd_fields.register_hook
    detach = autograd_fields.detach
    detach_ = autograd_fields.detach_
    data = property(autograd_fields.get_data, autograd_fields.set_data)
    _base = property(autograd_fields.get_base)
    _is_view = autograd_fields.is_view

    # copies and casts
    clone = copying.clone
    contiguous = copying.contiguous
    is_contiguous = copying.is_contiguous
    copy_ = copying.copy_
    fill_ = copying.fill_
    zero_ = copying.zero_
    to = copying.to
    type = copying.get_type
    type_as = copying.type_as
    float = copying.to_float
    double = copying.to_double
    half = copying.to_half
    bfloat16 = copying.to_bfloat16
    long = copying.to_long
    int = copying.to_int
    short = copying.to_short
    char = copying.to_char
    byte = copying.to_byte
    bool = copying.to_bool
    cpu = copying.cpu
    device = property(copying.get_device)

    # new tensors of the same dtype
    new_empty = creation.new_empty
    new_zeros = creation.new_zeros
    new_ones = creation.new_ones
    new_full = creation.new_full
    new_empty_strided = creation.new_empty_strided
    new_tensor = creation.new_tensor

    # views
    as_strided = strided.as_strided

    # arithmetic
    mul = arithmetic.mul
    mul_ = arithmetic.mul_
    __mul__ = __rmul__ = arithmetic.mul_operator
    __imul__ = arithmetic.mul_operator_

    # elementary functions
    tanh = elementary.tanh
    tanh_ = elementary.tanh_

    # reductions
    sum = reductions.sum
    sum_to_size = reductions.sum_to_size

    __hash__ = object.__hash__


set_tensor_class(Tensor)
