"""FloatTensor, LongTensor and their siblings: old names for tensors of one dtype; prefer `tensor(data, dtype=...)`.

>>> import tensorlab
>>> tensorlab.LongTensor([1, 2])
tensor([1, 2])
>>> isinstance(tensorlab.arange(3), tensorlab.LongTensor)
True
"""

from tensorlab._core.dtypes import DTYPES
from tensorlab.ops.constructors import TypedTensor

DOCUMENTATION = """Tensors of dtype {dtype}; prefer `tensor(data, dtype=tensorlab.{dtype})`.

Without data, the sizes of a tensor whose elements have no values yet.

Examples
--------
>>> import tensorlab
>>> tensorlab.{name}Tensor([0, 1]).dtype, tensorlab.{name}Tensor(2, 3).shape
(tensorlab.{dtype}, tensorlab.Size([2, 3]))
"""
NAMES = ("Bool", "Byte", "Char", "Short", "Int", "Long", "Half", "BFloat16", "Float", "Double")

BoolTensor, ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor, *_FLOATING = (
    TypedTensor(
        f"{name}Tensor",
        (),
        {
            "dtype": dtype,
            "__module__": "tensorlab",
            "__doc__": DOCUMENTATION.format(name=name, dtype=str(dtype).rpartition(".")[2]),
        },
    )
    for name, dtype in zip(NAMES, DTYPES, strict=False)  # complex types have none
)
HalfTensor, BFloat16Tensor, FloatTensor, DoubleTensor = _FLOATING
