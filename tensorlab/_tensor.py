"""class Tensor: the list of everything a tensor can do, grouped as the documentation groups it.

The functions live with their ops; here each is given a name, and nothing more. `TensorBase` (in _core) holds the data.
"""

from tensorlab._core import exchange
from tensorlab._core.tensor import TensorBase, set_tensor_class
from tensorlab.ops.pointwise import arithmetic, elementary
from tensorlab.printing import tensor_repr


class Tensor(TensorBase):
    """A multi-dimensional array of one dtype, whose history autograd can follow."""

    # values in and out
    item = exchange.item
    tolist = exchange.tolist
    numpy = exchange.numpy
    __array__ = exchange.__array__
    __repr__ = tensor_repr

    # arithmetic
    mul = arithmetic.mul
    mul_ = arithmetic.mul_
    __mul__ = __rmul__ = arithmetic.mul_operator
    __imul__ = arithmetic.mul_operator_

    # elementary functions
    tanh = elementary.tanh
    tanh_ = elementary.tanh_

    __hash__ = object.__hash__


set_tensor_class(Tensor)
