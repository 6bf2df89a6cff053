"""Memory lent to other libraries and borrowed from them: DLPack, with NumPy and PyTorch on the other side."""

import ctypes
import gc
import pickle

import numpy as np
import pytest

import tensorlab
from tensorlab.errors import DTypeError, MemoryLayoutError, ShapeError
from tensorlab.utils import dlpack
from tests.oracle import require_torch

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]


# ---------------------------------------------------------------- lending
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_borrows_without_copying(dtype):
    x = tensorlab.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(tensorlab, dtype)).t()
    array = np.from_dlpack(x)
    assert array.dtype.name == dtype
    assert array.strides == tuple(step * x.itemsize for step in x.stride())
    assert array.ctypes.data == x.data_ptr()
    assert array.tolist() == x.tolist()


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_pytorch_borrows_and_lends_without_copying(dtype):
    torch = require_torch()
    ours = tensorlab.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(tensorlab, dtype))[:, 1:]
    theirs = torch.from_dlpack(ours)
    assert theirs.data_ptr() == ours.data_ptr()
    assert theirs.stride() == ours.stride()
    assert theirs.tolist() == ours.tolist()
    back = tensorlab.from_dlpack(theirs)
    assert back.data_ptr() == ours.data_ptr()
    assert back.dtype == ours.dtype
    back.fill_(1)
    assert ours.tolist() == [[1, 1], [1, 1]]


def test_a_borrower_keeps_the_memory_alive():
    x = tensorlab.arange(1000)
    array = np.from_dlpack(x)
    del x
    gc.collect()
    tensorlab.zeros(1000)  # would get the block if it had been freed
    assert array.sum() == 499500


def test_lent_memory_is_not_resized():
    x = tensorlab.arange(4)
    array = np.from_dlpack(x)
    with pytest.raises(MemoryLayoutError, match="look at"):
        x.resize_(1000)
    del array
    assert x.resize_(1000).numel() == 1000


def test_a_capsule_that_is_not_taken_gives_the_memory_back():
    x = tensorlab.arange(4)
    for version in (None, (1, 0)):
        capsule = x.__dlpack__(max_version=version)
        del capsule
    assert x.resize_(1000).numel() == 1000


def test_the_version_decides_the_name_of_the_capsule():
    x = tensorlab.ones(2)
    assert '"dltensor"' in repr(x.__dlpack__())
    assert '"dltensor"' in repr(x.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 1)))
    assert x.__dlpack_device__() == (dlpack.DLDeviceType.kDLCPU, 0)


def test_read_only_memory_stays_so():
    x = tensorlab.frombuffer(b"12345678", dtype=tensorlab.int32)
    for array in (np.from_dlpack(x), x.numpy(), x[1:].numpy()):
        assert not array.flags.writeable
    borrowed = tensorlab.from_dlpack(x)
    with pytest.raises(MemoryLayoutError, match="read-only"):
        borrowed.add_(1)
    with pytest.raises(BufferError, match="cannot be told"):
        x.__dlpack__()


def test_copy_is_heeded():
    x = tensorlab.ones(2)
    assert tensorlab.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert tensorlab.from_dlpack(x, copy=False).data_ptr() == x.data_ptr()
    assert np.from_dlpack(x, copy=True).ctypes.data != x.data_ptr()


def test_what_cannot_be_lent_is_refused():
    with pytest.raises(BufferError, match="requires grad"):
        tensorlab.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises(BufferError, match="the device asked for is"):
        tensorlab.ones(2).__dlpack__(dl_device=(2, 0))
    for stream in (-2, 0, 2, 7):
        with pytest.raises(BufferError, match="stream"):
            tensorlab.ones(2).__dlpack__(stream=stream)
    for stream in (None, -1, 1):  # "none", twice, and "the default one"
        assert '"dltensor"' in repr(tensorlab.ones(2).__dlpack__(stream=stream))


# ---------------------------------------------------------------- borrowing
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 3)])
def test_shapes_without_elements_and_of_one_survive(shape):
    array = np.ones(shape)
    x = tensorlab.from_dlpack(array)
    assert tuple(x.shape) == shape
    assert x.tolist() == array.tolist()
    assert np.from_dlpack(x).shape == shape


def test_numpy_memory_is_borrowed_and_kept_alive():
    array = np.arange(1000.0)
    x = tensorlab.from_dlpack(array[::2])
    del array
    gc.collect()
    assert x.stride() == (2,)
    assert x.sum().item() == 249500.0


def test_a_read_only_array_makes_a_read_only_tensor():
    array = np.ones(2)
    array.flags.writeable = False
    with pytest.raises(MemoryLayoutError, match="read-only"):
        tensorlab.from_dlpack(array).add_(1)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_a_capsule_can_be_taken_once(version):
    capsule = tensorlab.arange(3).__dlpack__(max_version=version)
    x = tensorlab.from_dlpack(capsule)
    with pytest.raises(BufferError, match="consumed only once"):
        tensorlab.from_dlpack(capsule)
    del capsule
    gc.collect()
    assert x.tolist() == [0, 1, 2]


def test_a_refused_capsule_is_as_before():
    lender = Lender(range(3), (3,), code=1, bits=4)
    capsule = lender.capsule()
    for _ in range(2):
        with pytest.raises(DTypeError, match="type code 1 with 4 bits"):
            tensorlab.from_dlpack(capsule)
    assert '"dltensor"' in repr(capsule)


def test_what_cannot_be_borrowed_is_refused():
    with pytest.raises(MemoryLayoutError, match="negative"):
        tensorlab.from_dlpack(np.arange(3)[::-1])
    with pytest.raises(TypeError, match="a list has no __dlpack__"):
        tensorlab.from_dlpack([1, 2])
    with pytest.raises(BufferError, match="expected 'dltensor"):
        tensorlab.from_dlpack(__import__("datetime").datetime_CAPI)
    with pytest.raises(BufferError, match="only 'cpu' is there"):
        tensorlab.from_dlpack(np.ones(2), device="cuda")

    class Elsewhere:
        def __dlpack__(self, **settings):
            raise AssertionError("asked although the device is another")

        def __dlpack_device__(self):
            return (2, 0)

    with pytest.raises(BufferError, match=r"on device \(2, 0\)"):
        tensorlab.from_dlpack(Elsewhere())


def test_the_protocol_before_version_1_is_understood():
    class Old:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, stream=None):
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return (1, 0)

    array = np.arange(3)
    tensorlab.from_dlpack(Old(array)).add_(1)
    assert array.tolist() == [1, 2, 3]


# A struct made by hand, for what NumPy and PyTorch never lend.
class Struct(ctypes.Structure):
    """DLManagedTensor, of the protocol before version 1.0."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        *(("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)),
        ("ndim", ctypes.c_int32),
        *(("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


class Lender:
    """An int32 array of numbers, lent as the arguments say; it counts how often it got its memory back."""

    def __init__(self, numbers, shape, strides=None, **fields):
        self.memory = (ctypes.c_int32 * len(numbers))(*numbers)
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = strides and (ctypes.c_int64 * len(strides))(*strides)
        self.returned = 0
        settings = {
            "device_type": 1,
            "ndim": len(shape),
            "code": 0,
            "bits": 32,
            "lanes": 1,
            **fields,
        }
        self.struct = Struct(data=ctypes.addressof(self.memory), shape=self.shape, **settings)
        if strides:
            self.struct.strides = self.strides
        self.struct.deleter = type(self.struct.deleter)(self.take_back)

    def take_back(self, struct):
        assert struct == ctypes.addressof(self.struct)
        self.returned += 1

    def capsule(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = (
            ctypes.py_object,
            [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p],
        )
        return new(ctypes.addressof(self.struct), b"dltensor", None)


NUMBERS = list(range(100, 124))


@pytest.mark.parametrize("offset", [0, 4])
@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((2, 3, 2), None, (6, 2, 1)),
        ((2, 1, 3), None, (3, 3, 1)),
        ((), None, ()),
        ((2, 3), (1, 4), (1, 4)),
        ((3, 1), (2, -5), (2, 0)),
        ((2, 2), (0, 1), (0, 1)),
    ],
)
def test_strides_may_be_left_out_and_the_data_begin_later(shape, strides, expected, offset):
    lender = Lender(NUMBERS, shape, strides, byte_offset=4 * offset)
    x = tensorlab.from_dlpack(lender.capsule())
    assert (tuple(x.shape), x.stride(), x.dtype) == (shape, expected, tensorlab.int32)
    memory = np.array(NUMBERS, np.int32)[offset:]
    view = np.lib.stride_tricks.as_strided(memory, shape, [4 * step for step in expected])
    assert x.tolist() == view.tolist()
    assert lender.returned == 0
    del x
    assert lender.returned == 1


@pytest.mark.parametrize(
    ("shape", "strides", "fields", "error"),
    [
        ((2,), (-1,), {}, MemoryLayoutError),
        ((-1,), None, {}, MemoryLayoutError),
        ((2, 3), (2**61, 1), {}, MemoryLayoutError),
        ((2**40, 2**40), None, {}, ShapeError),
        ((2,), None, {"ndim": -1}, ShapeError),
        ((1,) * 65, None, {}, ShapeError),
        ((2,), None, {"lanes": 2}, DTypeError),
        ((2,), None, {"bits": 128}, DTypeError),
        ((2,), None, {"device_type": 2}, BufferError),
    ],
)
def test_a_struct_that_is_refused_stays_its_lender_s(shape, strides, fields, error):
    lender = Lender(NUMBERS, shape, strides, **fields)
    capsule = lender.capsule()
    with pytest.raises(error):
        tensorlab.from_dlpack(capsule)
    assert '"dltensor"' in repr(capsule)
    gc.collect()
    assert lender.returned == 0


def test_to_dlpack_makes_a_capsule_for_from_dlpack():
    x = tensorlab.ones(2)
    dlpack.from_dlpack(dlpack.to_dlpack(x)).add_(1)
    assert x.tolist() == [2.0, 2.0]


def test_the_numbers_of_devices_are_pytorch_s():
    theirs = require_torch().utils.dlpack.DLDeviceType
    assert {one.name: one.value for one in dlpack.DLDeviceType} == {
        one.name: one.value for one in theirs
    }


# ---------------------------------------------------------------- asarray
def test_asarray_shares_where_it_can():
    array = np.ones(2, dtype=np.float32)
    x = tensorlab.ones(2)
    assert tensorlab.asarray(x) is x
    assert tensorlab.asarray(array).data_ptr() == array.ctypes.data
    assert tensorlab.asarray(array, copy=True).data_ptr() != array.ctypes.data
    assert tensorlab.asarray(array, dtype=tensorlab.float64).dtype == tensorlab.float64
    assert tensorlab.asarray([1, 2]).tolist() == [1, 2]
    assert tensorlab.asarray(bytearray(8), dtype=tensorlab.int32).tolist() == [0, 0]
    assert tensorlab.asarray(x, requires_grad=True).requires_grad
    for given, dtype in (([1], None), (array, tensorlab.int64)):
        with pytest.raises(ValueError, match="without a copy"):
            tensorlab.asarray(given, dtype=dtype, copy=False)


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("grad", [False, True])
def test_asarray_of_a_tensor_that_requires_grad_as_in_pytorch(copy, grad):
    def run(library):
        x = library.ones(2, requires_grad=True)
        y = library.asarray(x * 2, copy=copy, requires_grad=grad)
        return y.requires_grad, y.is_leaf, y.tolist()

    assert run(tensorlab) == run(require_torch())


class Lent:
    """An array that offers nothing but DLPack."""

    def __init__(self):
        self.array = np.ones(2, dtype=np.float32)

    def __dlpack__(self, **named):
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


SOURCES = {
    "numbers": lambda T: [1.0, 2.0],
    "array": lambda T: np.ones(2, dtype=np.float32),
    "buffer": lambda T: bytearray(8),
    "lent": lambda T: Lent(),
    "tensor": lambda T: T.ones(2),
    "meta tensor": lambda T: T.ones(2, device="meta"),
}


@pytest.mark.parametrize("copy", [None, True, False])
@pytest.mark.parametrize("device", [None, "cpu", "meta", "cuda", "nonsense"])
@pytest.mark.parametrize("source", SOURCES)
def test_asarray_puts_it_on_the_device_asked_for_as_in_pytorch(source, device, copy):
    def run(T):
        try:
            x = T.asarray(SOURCES[source](T), device=device, copy=copy)
        except (RuntimeError, ValueError, TypeError, AssertionError):
            return "refused"
        return x.device.type, str(x.dtype).split(".")[1], tuple(x.shape)

    expected = run(require_torch())
    if source == "lent" and copy is False and device in (None, "cpu"):
        expected = "cpu", "float32", (2,)  # PyTorch reads such an array number by number
    assert run(tensorlab) == expected


def test_a_borrowed_tensor_can_be_pickled():
    x = tensorlab.from_dlpack(np.arange(3))
    assert pickle.loads(pickle.dumps(x)).tolist() == [0, 1, 2]


# ---------------------------------------------------------------- pairs that are none
class Array:
    """An array of another library whose answers are not what the protocol promises."""

    def __init__(self, device):
        self.device = device

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **named):
        raise AssertionError("the device should have been refused")


@pytest.mark.parametrize("pair", [(), [], (1,), (1, 0, 0), ("1", "0"), (None, None), 5])
def test_a_device_that_is_no_pair_is_refused(pair):
    with pytest.raises(TypeError):
        tensorlab.from_dlpack(Array(pair))


@pytest.mark.parametrize("pair", [(), [], (1,), ("1", "0"), (None, None), 5])
def test_a_version_that_is_no_pair_is_refused(pair):
    with pytest.raises(TypeError):
        tensorlab.ones(2).__dlpack__(max_version=pair)
