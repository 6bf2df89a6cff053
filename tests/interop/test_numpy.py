"""NumPy functions on tensors, and tensors over memory of others: nothing dangles."""

import array
import gc
import mmap
import operator
import sys

import numpy as np
import pytest

import tensorlab
from tensorlab.errors import MemoryLayoutError
from tests.oracle import require_torch

X = [0.25, 0.5]
PROGRAMS = {
    "x + a": lambda x, a, np_: x + a,
    "x * a": lambda x, a, np_: x * a,
    "sin": lambda x, a, np_: np_.sin(x),
    "exp": lambda x, a, np_: np_.exp(x),
    "add": lambda x, a, np_: np_.add(x, a),
    "maximum": lambda x, a, np_: np_.maximum(x, a),
    "modf": lambda x, a, np_: np_.modf(x),
    "float64 * x": lambda x, a, np_: np_.float64(2) * x,
    "x * float64": lambda x, a, np_: x * np_.float64(2),
    "x * float32": lambda x, a, np_: x * np_.float32(2),
    "concatenate": lambda x, a, np_: np_.concatenate([x, a]),
    "stack": lambda x, a, np_: np_.stack([x, x]),
    "asarray": lambda x, a, np_: np_.asarray(x),
    "asarray of another type": lambda x, a, np_: np_.asarray(x, dtype=np_.float64),
    "array of tensors": lambda x, a, np_: np_.array([x[0], x[1]]),
    "dot": lambda x, a, np_: np_.dot(x, x),
    "where": lambda x, a, np_: np_.where(x > 0.3, x, a),
    "sort": lambda x, a, np_: np_.sort(x),
    "norm": lambda x, a, np_: np_.linalg.norm(x),
    "isclose": lambda x, a, np_: np_.isclose(x, a),
    "ravel": lambda x, a, np_: np_.ravel(x),
    "percentile": lambda x, a, np_: np_.percentile(x, 50),
    "unique": lambda x, a, np_: np_.unique(x),
    "log into an array": lambda x, a, np_: np_.log(x, out=a),
    "a[indices]": lambda x, a, np_: a[(x * 2).long()],
    "a[mask]": lambda x, a, np_: a[x > 0.3],
    "float32(x[0])": lambda x, a, np_: np_.float32(x[0]),
    "requires grad": lambda x, a, np_: np_.asarray(x.requires_grad_()),
    "bfloat16": lambda x, a, np_: np_.asarray(x.bfloat16()),
}


def outcome(program, library):
    try:
        result = program(library.tensor(X), np.array([1.0, 2.0]), np)
    except (TypeError, RuntimeError, ValueError) as error:
        return type(error).__mro__[-3 if isinstance(error, Exception) else 0].__name__
    parts = result if isinstance(result, tuple) else (result,)
    return [
        (type(one).__name__, str(one.dtype).rpartition(".")[2], np.asarray(one).tolist())
        for one in parts
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_treats_tensors_as_it_does_pytorch_s(name):
    torch = require_torch()
    ours, theirs = outcome(PROGRAMS[name], tensorlab), outcome(PROGRAMS[name], torch)
    if isinstance(theirs, list):
        for (kind, dtype, values), (kind_2, dtype_2, values_2) in zip(ours, theirs, strict=True):
            assert (kind, dtype) == (kind_2, dtype_2)
            np.testing.assert_allclose(values, values_2, rtol=1e-6)
    else:
        assert ours == theirs


OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", OPERATORS + COMPARISONS)
def test_an_array_is_an_operand_on_either_side(name):
    apply = getattr(operator, name)
    x, a = tensorlab.tensor(X, dtype=tensorlab.float64), np.array([0.25, 2.0])
    for result, expected in (
        (apply(x, a), apply(x, tensorlab.tensor(a))),
        (apply(a, x), apply(tensorlab.tensor(a), x)),
    ):
        assert isinstance(result, tensorlab.Tensor)
        assert result.dtype == expected.dtype
        assert result.tolist() == expected.tolist()


def test_gradients_flow_through_operators_with_arrays():
    x = tensorlab.tensor(X, requires_grad=True)
    (np.array([1.0, 2.0]) * x + np.float64(3) * x).sum().backward()
    assert x.grad.tolist() == [4.0, 5.0]


def test_numpy_s_functions_give_tensors_or_write_into_arrays():
    x, a = tensorlab.tensor(X), np.zeros(2, dtype=np.float32)
    assert np.isnan(x).dtype == tensorlab.bool
    assert np.add(x, 1).tolist() == [1.25, 1.5]
    assert float(np.add.reduce(x)) == 0.75
    a += x
    assert a.tolist() == X
    with pytest.raises(TypeError, match="cannot write into a tensor"):
        np.exp(a, out=x)
    with pytest.raises(RuntimeError, match="requires grad"):
        np.exp(x.requires_grad_())


def test_asarray_shares_memory_and_heeds_copy():
    x = tensorlab.ones(2)
    assert np.asarray(x).ctypes.data == x.data_ptr()
    assert np.array(x, copy=True).ctypes.data != x.data_ptr()
    assert np.asarray(x, copy=False).ctypes.data == x.data_ptr()
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(x, dtype=np.float64, copy=False)
    with pytest.raises(ValueError, match="without a copy"):
        x.__array__(np.float64, copy=False)


@pytest.mark.parametrize("copy", [None, True])
def test_the_array_of_another_type_is_a_copy_unless_that_is_ruled_out(copy):
    x = tensorlab.tensor(X)
    array = x.__array__(np.float64, copy=copy)
    assert array.dtype == np.float64
    assert array.tolist() == X
    x.zero_()
    assert array.tolist() == X


# ---------------------------------------------------------------- the interpreter survives
@pytest.mark.parametrize(
    "array", [np.zeros((0, 3)), np.zeros((5, 3))[:, :0], np.zeros((5, 3))[2:2]]
)
def test_an_array_without_elements_is_shared_as_in_pytorch(array):
    def facts(T):
        x = T.from_numpy(array)
        return (
            x.shape,
            x.stride(),
            x.data_ptr(),
            x.untyped_storage().nbytes(),
            x.numpy().shape,
            x.sum().item(),
        )

    assert facts(tensorlab) == facts(require_torch())


def test_a_storage_reaches_to_the_last_element_of_its_array_as_in_pytorch():
    array = np.arange(24.0).reshape(4, 6)
    for one in (array, array[1:3, ::2], array.T, array[:, :1], array[2, 3:4], np.array(1.0)):
        ours, theirs = (T.from_numpy(one).untyped_storage() for T in (tensorlab, require_torch()))
        assert ours.nbytes() == theirs.nbytes()
        assert ours.data_ptr() == theirs.data_ptr()


@pytest.mark.parametrize("name", ["int64", "longlong"])
def test_both_types_of_numpy_with_64_bits_are_int64(name):
    """C has two such types on Linux, long and long long, and NumPy has both."""
    array = np.arange(3).astype(getattr(np, name))
    x = tensorlab.from_numpy(array)
    assert x.dtype is tensorlab.int64
    x[1] = 7
    assert array.tolist() == [0, 7, 2]


def test_an_array_outlives_its_tensor():
    arrays = [tensorlab.full((1000,), float(k)).numpy()[1:] for k in range(20)]
    gc.collect()
    tensorlab.zeros(1000)
    assert [float(one[0]) for one in arrays] == [float(k) for k in range(20)]


@pytest.mark.parametrize("move", [lambda x, y: x.set_(y), lambda x, y: setattr(x, "data", y)])
@pytest.mark.parametrize("lend", [memoryview, np.asarray, lambda x: x.__dlpack__()])
def test_what_is_lent_keeps_its_memory_when_the_tensor_gets_another(lend, move):
    x, y = tensorlab.full((1_000_000,), 7.0), tensorlab.zeros(3)
    lent = lend(x)
    move(x, y)
    tensorlab.empty_cache()
    gc.collect()
    held = tensorlab.from_dlpack(Capsule(lent)) if type(lent).__name__ == "PyCapsule" else lent
    assert float(held[0]) == 7
    del lent, held
    y.untyped_storage().resize_(64)  # nothing is lent of this one, and its count has stayed
    assert x.untyped_storage().nbytes() == 64


class Capsule:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **options):
        return self.capsule

    def __dlpack_device__(self):
        return 1, 0


def test_a_buffer_in_a_cycle_ends_after_its_tensor(monkeypatch):
    """The collector takes a tensor apart before it reaches the buffer, and the memory is another's, too."""
    complaints = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    whole = tensorlab.ones(4)
    part = whole[1:]
    cycle = [memoryview(part)]
    cycle.append(cycle)
    with pytest.raises(MemoryLayoutError):
        whole.untyped_storage().resize_(64)
    del part, cycle
    gc.collect()
    assert complaints == []
    whole.untyped_storage().resize_(64)


def test_an_exported_tensor_is_not_resized():
    x = tensorlab.arange(4)
    for export in (x.numpy(), memoryview(x), x.__dlpack__()):
        with pytest.raises(MemoryLayoutError, match="look at"):
            x.resize_(1000)
        del export
    assert x.resize_(1000).numel() == 1000


def test_a_map_stays_open_as_long_as_a_tensor_looks_at_it(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(4, dtype=np.int32).tobytes())
    with open(path, "r+b") as file:
        pages = mmap.mmap(file.fileno(), 0)
        x = tensorlab.frombuffer(pages, dtype=tensorlab.int32)
        view = x[2:]
        with pytest.raises(BufferError, match="exported pointers exist"):
            pages.close()
        view.add_(1)
        del x
        gc.collect()
        with pytest.raises(BufferError, match="exported pointers exist"):
            pages.close()
        del view
        gc.collect()
        pages.close()
    assert np.fromfile(path, dtype=np.int32).tolist() == [0, 1, 3, 4]


def test_a_bytearray_stays_as_long_as_a_tensor_looks_at_it():
    data = bytearray(b"abcd")
    x = tensorlab.frombuffer(data, dtype=tensorlab.uint8)
    with pytest.raises(BufferError, match="cannot be re-sized"):
        data.append(1)
    x.fill_(65)
    assert data == b"AAAA"
    del x
    gc.collect()
    data.append(66)


def test_buffers_go_both_ways():
    x = tensorlab.arange(6, dtype=tensorlab.int32).reshape(2, 3)
    view = memoryview(x)
    assert (view.shape, view.strides, view.format) == ((2, 3), (12, 4), "i")
    view[1, 2] = 7
    assert x[1, 2] == 7
    numbers = array.array("d", [1.0, 2.0])
    tensorlab.frombuffer(numbers, dtype=tensorlab.float64).mul_(2)
    assert numbers.tolist() == [2.0, 4.0]
