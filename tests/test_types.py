"""Types and places, expression by expression: each gives on tensorlab what it gives on PyTorch.

An expression is evaluated with T as either package. Values, layouts and classes of errors are compared.
"""

import numpy
import pytest

from tests.ops.agreement import agree

LIMITS_AND_PROMOTION = """
    T.finfo(T.float32).resolution
    T.finfo(T.float16).resolution
    T.finfo(T.bfloat16).resolution
    T.finfo(T.float64).resolution
    T.finfo().dtype
    T.finfo(T.bfloat16).max
    T.finfo(T.bfloat16).tiny
    T.finfo(T.bfloat16).smallest_normal
    T.finfo(T.float32).min
    T.finfo(T.int8)
    T.iinfo(T.float32)
    T.iinfo()
    T.iinfo(T.uint8).min
    T.iinfo(T.int64).max
    T.iinfo(T.bool).max
    repr(T.finfo(T.float16))
    repr(T.finfo(T.float32))
    repr(T.finfo(T.bfloat16))
    repr(T.finfo(T.float64))
    repr(T.iinfo(T.int8))
    str(T.finfo(T.float32))
    T.finfo(T.float32) == T.finfo(T.float32)
    T.finfo(type=T.float32).eps
    T.finfo(float).eps
    T.finfo(T.float32) == T.finfo(T.float64)
    T.iinfo(T.int8) == T.iinfo(T.int8)
    T.float32.is_floating_point
    T.float32.is_complex
    T.int8.is_signed
    T.bool.is_signed
    T.uint8.is_signed
    T.bfloat16.itemsize
    T.float32.to_real()
    T.int8.to_real()
    T.float32 == T.float32
    T.float32 != T.float
    T.float is T.float32
    T.double is T.float64
    T.half is T.float16
    T.long is T.int64
    T.int is T.int32
    T.short is T.int16
    {T.float32: 1}[T.float]
    T.result_type(T.ones(2, dtype=T.int8), 1.5)
    T.result_type(T.ones(2, dtype=T.int8), 1)
    T.result_type(1, 2)
    T.result_type(1.0, 2)
    T.result_type(True, 2)
    T.result_type(T.tensor(1.0), T.ones(2, dtype=T.int8))
    T.result_type(T.ones(2, dtype=T.half), T.ones(2, dtype=T.bfloat16))
    T.result_type("a", 1)
    T.result_type(T.float32, T.int8)
    T.can_cast(T.float32, T.int8)
    T.can_cast(T.int8, T.float16)
    T.can_cast(T.int64, T.bool)
    T.can_cast(T.bool, T.int8)
    T.can_cast(T.float64, T.float16)
    T.can_cast(from_=T.float64, to=T.float16)
    T.can_cast(T.int8, T.uint8)
    T.can_cast(T.uint8, T.int8)
    T.can_cast(1, T.int8)
    T.can_cast(T.float32, T.bool)
    T.can_cast(float, int)
    T.promote_types(T.float16, T.bfloat16)
    T.promote_types(type1=T.int8, type2=T.uint8)
    T.promote_types(1, 2)
    T.promote_types(T.float32)
    T.promote_types(int, float)
    T.promote_types(T.float32, None)
"""

CASTS = """
    T.zeros(2).half().type()[-10:]
    T.zeros(2).type(T.FloatTensor)
    T.zeros(2).type(T.LongTensor)
    T.zeros(2).type(T.HalfTensor).dtype
    T.zeros(2).type(dtype=T.int8)
    T.zeros(2).type(T.int8, non_blocking=True)
    T.zeros(2).type(3)
    T.zeros(2).type(float)
    T.zeros(2).type(int)
    T.zeros(2).type(T.Tensor)
    T.zeros(2).type(None)[-5:]
    (lambda x: x.type(T.float32) is x)(T.zeros(2))
    T.zeros(2).type(T.int8, True)
    T.zeros(2).to(T.float64, False, True)
    T.zeros(2).to(dtype=T.int8, copy=True)
    T.zeros(2).to(other=T.zeros(1, dtype=T.int8))
    T.zeros(2).to(T.zeros(1, dtype=T.int8), non_blocking=True)
    T.zeros(2).to(device=T.device('cpu'),dtype=T.half,non_blocking=True,copy=True,memory_format=T.preserve_format)
    T.zeros(2).to("cpu", T.half, non_blocking=True)
    T.zeros(2).to(0)
    T.zeros(2).to("cuda")
    T.zeros(2).to(T.device("cpu"), dtype=T.int8)
    T.zeros(2).to(T.int8, True)
    T.zeros(2).to(T.int8, 1)
    T.zeros(2).to([1])
    T.zeros(2).to(dtype=None)
    T.zeros(2).to(device=None, dtype=T.int8)
    T.zeros(2).to(None, T.int8)
    T.zeros(2).to("cpu", None)
    T.zeros(2).to(foo=1)
    T.zeros(2, 3, 4, 5).to(T.half, memory_format=T.channels_last)
    T.zeros(2).to(non_blocking=True)
    T.zeros(2).to(T.FloatTensor)
    T.zeros(2).float(memory_format=T.preserve_format)
    T.zeros(2).half().dtype
    T.zeros(2).bfloat16().dtype
"""

BYTES_AS_ANOTHER_TYPE = """
    T.zeros(2, 4).view(T.float32)
    T.ones(2, 4).view(T.int32)
    T.ones(2, 4).view(T.int16)
    T.ones(2, 4).view(T.float64).shape
    T.ones(2, 4, dtype=T.float64).view(T.uint8)
    T.ones(2, 3).view(T.float64)
    T.ones(()).view(T.int32)
    T.ones(()).view(T.int16)
    T.ones(()).view(T.float64)
    T.ones(4, 2).t().view(T.int32)
    T.ones(4, 2).t().view(T.int16)
    T.ones(4, 2).t().view(T.int64)
    T.ones(4, 6)[:, ::2].view(T.int16)
    T.ones(4, 6)[:, 1:3].view(T.float64)
    T.ones(4, 6)[:, 0:4].view(T.float64).shape
    T.ones(5, 4)[:, 0:2].view(T.float64).shape
    T.ones(6)[1:5].view(T.float64).shape
    T.ones(6)[2:6].view(T.float64).storage_offset()
    T.ones(0).view(T.int16)
    T.ones(0).view(T.int64)
    T.ones(2, requires_grad=True).view(T.float32)
    T.ones(2, requires_grad=True).view(T.int32)
    T.ones(2, requires_grad=True).view(T.float64)
    T.ones(2, requires_grad=True).view(T.float16)
    T.ones(2).view(dtype=T.int32)
    T.ones(2, dtype=T.bool).view(T.uint8)
    T.tensor([1, 2], dtype=T.uint8).view(T.bool)
    T.ones(2).view(T.int32, 2)
    T.tensor([1.5, -2]).half().view(T.int16)
    T.tensor([1.5, -2]).bfloat16().view(T.int16)
    T.ones(2).view(T.int32)._version
    (lambda x: (x.view(T.int32).zero_(), x))(T.ones(2))
    T.ones(4, 1, 1).view(T.float64)
"""

FACTS = """
    T.zeros(2).is_floating_point()
    T.is_floating_point(T.zeros(2, dtype=T.half))
    T.is_floating_point(1)
    T.is_complex(T.zeros(2))
    T.is_signed(T.zeros(2))
    T.zeros(2).dtype.is_signed
    T.is_nonzero(T.ones(1))
    T.is_nonzero(T.ones(2))
    T.ones(1).is_nonzero()
    T.is_tensor(T.ones(1))
    T.is_tensor(1)
    T.is_storage(T.ones(1).untyped_storage())
    T.is_storage(1)
    T.numel(T.ones(3))
    T.ones(2).is_cuda
    T.ones(2).is_cpu
    T.ones(2).is_meta
    T.ones(2).is_sparse
    T.ones(2).is_quantized
    T.ones(2).is_mps
    T.ones(2).layout == T.strided
    T.ones(2).name
    T.ones(2).get_device()
    T.ones(2).is_pinned()
    T.ones(2).is_shared()
    T.ones(2).nelement()
    T.ones(2).element_size()
    T.ones(2).real
    T.ones(2).imag
    T.ones(2).is_conj()
    T.ones(2).conj()
    T.ones(2).resolve_conj()
    T.ones(2).is_neg()
    T.ones(2).is_xpu
    T.ones(2).is_same_size(T.ones(2))
    T.is_same_size(T.ones(2), T.ones(3))
    T.ones(2).is_set_to(T.ones(2))
    T.ones(2).ndimension()
    T.ones(2, 3).dim_order()
    T.ones(2).is_distributed()
    T.is_inference(T.ones(2))
    T.ones(2).is_inference()
    T.is_conj(T.ones(2))
    T.conj(T.ones(2))
    T.real(T.ones(2))
"""

WAYS_TO_MAKE_A_TENSOR = """
    T.Tensor(2, 3).shape
    T.Tensor([1, 2])
    T.Tensor()
    T.Tensor(T.ones(2))
    T.Tensor((1, 2))
    T.Tensor(3).shape
    T.Tensor(T.Size([2, 3])).shape
    T.Tensor([[1, 2], [3, 4]])
    T.Tensor(2.5)
    T.Tensor("a")
    T.Tensor(None)
    T.Tensor(range(3))
    T.Tensor([True, False])
    T.Tensor(T.ones(2, dtype=T.int64))
    T.Tensor(numpy.ones(3))
    T.Tensor(numpy.float32(3))
    T.Tensor(2, 3, dtype=T.int8)
    T.Tensor(2, 3, device="cpu").shape
    T.Tensor([1], device="cpu")
    T.Tensor(-1)
    T.Tensor(data=[1, 2])
    T.FloatTensor([1, 2])
    T.FloatTensor(2, 3).shape
    T.LongTensor([1, 2])
    T.LongTensor([1.5, 2])
    T.LongTensor(2).shape
    T.ByteTensor([1, 255])
    T.ByteTensor([256])
    T.BoolTensor([1, 0])
    T.HalfTensor([1.5])
    T.DoubleTensor([1.5])
    T.LongTensor(T.ones(2))
    T.LongTensor(T.ones(2, dtype=T.int64))
    T.FloatTensor()
    isinstance(T.ones(2), T.FloatTensor)
    isinstance(T.ones(2), T.LongTensor)
    isinstance(T.ones(2), T.Tensor)
    issubclass(T.FloatTensor, T.Tensor)
    T.FloatTensor.dtype
    isinstance(T.nn.Parameter(T.ones(1)), T.FloatTensor)
    T.FloatTensor(numpy.ones(2, "float32"))
    T.IntTensor(3).dtype
    T.ShortTensor([1]).dtype
    T.CharTensor([1]).dtype
    T.BFloat16Tensor([1]).dtype
    T.FloatTensor.__name__
    T.ones(2).new_tensor([1, 2])
    T.ones(2).new_tensor(1)
    T.ones(2, dtype=T.half).new_tensor([1.5])
    T.ones(2).new_tensor([1], dtype=T.int8)
    T.ones(2).new_tensor(T.ones(3, dtype=T.int8))
    T.ones(2).new_tensor([1.0], requires_grad=True)
    T.ones(2).new_zeros(2, 3)
    T.ones(2).new_zeros((2, 3))
    T.ones(2).new_zeros([2, 3], dtype=T.int8)
    T.ones(2).new_zeros(size=(2,))
    T.ones(2, dtype=T.int8).new_ones(2)
    T.ones(2, dtype=T.int8).new_full((2,), 3)
    T.ones(2, dtype=T.int8).new_full((2,), 3.5)
    T.ones(2).new_full((2,), 3, dtype=T.int64)
    T.ones(2).new_full(2, 3)
    T.ones(2).new_empty(2).shape
    T.ones(2).new_empty((2,), dtype=T.half).dtype
    T.ones(2).new(2, 3).shape
    T.ones(2).new([1, 2])
    T.ones(2).new()
    T.ones(2, dtype=T.int64).new([1, 2])
    T.ones(2, dtype=T.int64).new(3).dtype
    T.ones(2).new(T.ones(2))
    T.ones(2).new(T.Size([2])).shape
    T.ones(2).new_zeros(2, device="cuda")
    T.ones(2).new_zeros(2, requires_grad=True)
    T.ones(2).new_zeros(2, pin_memory=False)
    T.ones(2).new_empty_strided((2, 3), (1, 2)).stride()
"""

SIZES_DEVICES_AND_STREAMS = """
    T.Size([1, 2]) + T.Size([3])
    type(T.Size([1, 2]) * 2).__name__
    type(2 * T.Size([1, 2])).__name__
    type((1,) + T.Size([2])).__name__
    T.Size([1, 2]) == (1, 2)
    T.Size(2)
    T.Size()
    T.Size([1.5])
    T.Size(["a"])
    T.Size([T.tensor(2)])
    T.Size([1, 2])[0:1]
    T.Size((1, 2)).numel()
    T.ones(2, 3).size(dim=0)
    T.ones(2, 3).size(5)
    str(T.contiguous_format).split(".")[1]
    str(T.strided).split(".")[1]
    T.device("cpu") == "cpu"
    repr(T.device("cuda:1"))
    T.device("cpu:a")
    T.device("cuda:0", 0)
    T.zeros(2, device=0)
    str(T.zeros(2, device="cpu:0").device)
    T.nn.Linear(2, 2).half().weight.dtype
    T.nn.Linear(2, 2).bfloat16()(T.ones(1, 2).bfloat16()).dtype
    T.nn.Linear(2, 2).to(T.int8)
    T.nn.Linear(2, 2, device="cuda")
    T.set_default_dtype(T.int8)
    T.manual_seed(-1).initial_seed()
    T.rand(2, generator=3)
    T.rand_like(T.ones(2), generator=T.Generator().manual_seed(1))
    T.bernoulli(T.ones(3) * 0.5, generator=T.Generator().manual_seed(1))
    T.multinomial(T.ones(3), 2, generator=T.Generator().manual_seed(1))
    T.normal(0.0, 1.0, (2,), generator=T.Generator().manual_seed(1)).tolist()[0] < 1
    T.ones(2).uniform_(generator=T.Generator().manual_seed(1))
    T.ones(2).random_(5, generator=T.Generator().manual_seed(1))
    T.nn.init.kaiming_uniform_(T.ones(2, 2), generator=T.Generator().manual_seed(1))
    list(T.utils.data.random_split(range(5), [2, 3], generator=T.Generator().manual_seed(1))[0])
    list(T.utils.data.RandomSampler(range(5), generator=T.Generator().manual_seed(1)))
    (lambda state: (T.rand(2), T.set_rng_state(state), T.rand(2))[2])(T.manual_seed(4) and T.get_rng_state())
    T.get_rng_state().shape
    T.pi, T.e, T.inf, T.newaxis
"""

EVERY = [LIMITS_AND_PROMOTION, CASTS, BYTES_AS_ANOTHER_TYPE, FACTS, WAYS_TO_MAKE_A_TENSOR]
EVERY += [SIZES_DEVICES_AND_STREAMS]
EXPRESSIONS = [line.strip() for text in EVERY for line in text.strip().splitlines()]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_about_types_gives_what_it_gives_in_pytorch(expression):
    agree(lambda T: eval(expression, {"T": T, "numpy": numpy}))
