"""load_file and safe_open: what is read, where it goes, and the parts of a tensor."""

import json
import struct

import numpy as np
import pytest

import tensorlab
from tensorlab import safetensors
from tensorlab.errors import DeviceError, DTypeError, FileFormatError, IndexOutOfRange
from tensorlab.safetensors import loading
from tests.serialization.examples import DTYPES


def in_a_file(path, header, data):
    """Write a file of a header, a dict or bytes, and the bytes of the tensors."""
    header = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "x.safetensors"
    tensors = {
        "b": tensorlab.arange(24).reshape(2, 3, 4),
        "a": tensorlab.tensor([True, False]),
        "number": tensorlab.tensor(2.5),
        "empty": tensorlab.zeros(0, 3),
    }
    safetensors.save_file(tensors, path, {"unit": "m"})
    return path


def test_names_metadata_and_tensors(path):
    with safetensors.safe_open(path) as file:
        assert file.keys() == ["a", "b", "empty", "number"]
        assert file.offset_keys() == ["b", "empty", "number", "a"]
        assert file.metadata() == {"unit": "m"}
        file.metadata().clear()
        assert file.metadata() == {"unit": "m"}
        assert file.get_tensor("a").tolist() == [True, False]
        assert list(file.get_tensors()) == file.offset_keys()
        assert file.get_tensors()["b"].equal(tensorlab.arange(24).reshape(2, 3, 4))
    found = safetensors.load_file(str(path))
    assert list(found) == ["b", "empty", "number", "a"]
    assert found["number"].item() == 2.5
    assert found["empty"].shape == (0, 3)


def test_no_metadata(tmp_path):
    safetensors.save_file({}, tmp_path / "x")
    with safetensors.safe_open(tmp_path / "x") as file:
        assert file.metadata() is None
        assert file.keys() == []
        with pytest.raises(KeyError, match="has no tensor 'x'; it has none"):
            file.get_tensor("x")


def test_each_tensor_has_memory_of_its_own(path):
    with safetensors.safe_open(path) as file:
        x, y = file.get_tensor("b"), file.get_tensor("b")
        part = file.get_slice("b")[0]
        x.zero_()
        part.zero_()
        assert y.equal(file.get_tensor("b"))
        assert x.untyped_storage().nbytes() == 24 * 8
        assert part.untyped_storage().nbytes() == 12 * 8
        file.get_slice("b")[1].add_(1)
    assert safetensors.load_file(path)["b"].equal(tensorlab.arange(24).reshape(2, 3, 4))


@pytest.mark.parametrize("framework", ["pt", "torch", "pytorch"])
@pytest.mark.parametrize("backend", ["mmap", "pread"])
def test_arguments_for_the_sake_of_pytorch(path, framework, backend):
    with safetensors.safe_open(path, framework, "cpu", backend=backend) as file:
        assert file.get_tensor("number").item() == 2.5
    assert safetensors.load_file(path, backend=backend)["number"].item() == 2.5


def test_arguments_that_are_refused(path):
    with pytest.raises(ValueError, match="safe_open: framework is 'np'; expected 'pt'"):
        safetensors.safe_open(path, "np")
    with pytest.raises(ValueError, match="safe_open: backend is 'x'; expected 'mmap' or 'pread'"):
        safetensors.load_file(path, backend="x")
    with pytest.raises(DeviceError, match="'cuda' is an accelerator"):
        safetensors.load_file(path, "cuda")
    with pytest.raises(DeviceError, match="'cuda' is an accelerator"):
        safetensors.safe_open(path, device="cuda")
    with pytest.raises(FileNotFoundError, match="nothing"):
        safetensors.load_file(path.parent / "nothing")
    with pytest.raises(IsADirectoryError):
        safetensors.load_file(path.parent)


def test_meta_has_shapes_and_no_data(path):
    found = safetensors.load_file(path, device="meta")
    assert {name: tuple(x.shape) for name, x in found.items()} == {
        "a": (2,),
        "b": (2, 3, 4),
        "empty": (0, 3),
        "number": (),
    }
    assert {x.device.type for x in found.values()} == {"meta"}
    assert found["a"].dtype is tensorlab.bool
    with safetensors.safe_open(path, device="meta") as file:
        assert file.get_slice("b")[:, 1].shape == (2, 4)
        assert file.get_slice("b")[:, 1].device.type == "meta"


def test_a_closed_file_says_so(path):
    with safetensors.safe_open(path) as file:
        part = file.get_slice("b")
    calls = [file.keys, file.offset_keys, file.metadata, file.get_tensors]
    calls += [lambda: file.get_tensor("b"), lambda: file.get_slice("b"), lambda: part[0]]
    for call in calls:
        with pytest.raises(ValueError, match="x.safetensors is closed; read from it within"):
            call()


def test_a_file_is_closed_when_its_header_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"")
    for _ in range(3):  # an open file would be warned of, which is an error here
        with pytest.raises(FileFormatError):
            safetensors.safe_open(tmp_path / "x")


def test_a_name_that_is_not_there(path):
    with safetensors.safe_open(path) as file:
        for ask in (file.get_tensor, file.get_slice):
            with pytest.raises(KeyError, match="x.safetensors has no tensor 'c'; it has 'b', 'emp"):
                ask("c")


def test_of_many_names_ten_are_told(tmp_path):
    safetensors.save_file({f"t{i:02}": tensorlab.ones(1) for i in range(12)}, tmp_path / "x")
    told = ", ".join(f"'t{i:02}'" for i in range(10))
    file = safetensors.safe_open(tmp_path / "x")
    with file, pytest.raises(KeyError, match=f"it has {told}.$"):
        file.get_tensor("t")


def test_the_order_is_that_of_the_bytes(tmp_path):
    one = lambda *offsets: {
        "dtype": "U8",
        "shape": [offsets[1] - offsets[0]],
        "data_offsets": offsets,
    }
    header = {"d": one(3, 4), "b": one(0, 0), "c": one(0, 3), "a": one(0, 0), "z": one(3, 3)}
    path = in_a_file(tmp_path / "x", header, bytes(4))
    with safetensors.safe_open(path) as file:
        assert file.offset_keys() == ["a", "b", "c", "z", "d"]
        assert file.keys() == ["a", "b", "c", "d", "z"]
        library = pytest.importorskip("safetensors")
        with library.safe_open(path, "np") as other:
            assert other.offset_keys()[2:] == ["c", "z", "d"]  # a and b in any order
    assert list(safetensors.load(path.read_bytes())) == ["a", "b", "c", "z", "d"]


# ------------------------------------------------------------ parts of tensors
INDICES = [
    *(0, -1, slice(None), slice(1, 2), slice(None, None, 2), Ellipsis, None, True),
    *((), (0, 0, 0), (1, 2, 3), (slice(None), 1), (Ellipsis, 1), (0, Ellipsis, slice(1, 3))),
    *([0, 1], (slice(None), [0, 2]), slice(5, 9), slice(-2, None), (slice(None), slice(3, 1))),
    *(tensorlab.tensor([1, 0]), tensorlab.arange(24).reshape(2, 3, 4) > 10),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("name", DTYPES)
def test_a_part_is_what_the_whole_has_there(tmp_path, name, index):
    dtype = getattr(tensorlab, name)
    x = (tensorlab.arange(24) % (2 if name == "bool" else 100)).to(dtype).reshape(2, 3, 4)
    before = tensorlab.tensor([7.0, 8.0])
    safetensors.save_file({"before": before, "x": x, "z": before + 2}, tmp_path / "x")
    with safetensors.safe_open(tmp_path / "x") as file:
        part = file.get_slice("x")
        assert part.get_shape() == [2, 3, 4]
        found = part[index]
    assert found.dtype is dtype
    assert found.shape == x[index].shape
    assert found.tolist() == x[index].tolist()


def test_parts_of_numbers_and_of_nothing(path):
    with safetensors.safe_open(path) as file:
        assert file.get_slice("number")[...].item() == 2.5
        assert file.get_slice("empty")[:, 1:].shape == (0, 2)
        assert file.get_slice("empty").get_shape() == [0, 3]
        assert file.get_slice("b").get_dtype() == "I64"
        assert file.get_slice("a").get_dtype() == "BOOL"
        with pytest.raises(IndexOutOfRange):
            file.get_slice("b")[2]
        with pytest.raises(IndexError):
            file.get_slice("b")[0, 0, 0, 0]


def test_numbers_at_an_odd_place(tmp_path, monkeypatch):
    """Memory of the file is used in place only where the numbers lie as the processor wants them."""
    mapped, mmap = [], loading.mmap.mmap
    monkeypatch.setattr(
        loading.mmap, "mmap", lambda *given, **more: mapped.append(1) or mmap(*given, **more)
    )
    header = b'{"x":{"dtype":"F64","shape":[3],"data_offsets":[0,24]}}'
    for spaces in range(8):
        data = struct.pack("<3d", 1, 2, 3)
        path = in_a_file(tmp_path / "x", header + b" " * spaces, data)
        with safetensors.safe_open(path) as file:
            assert file.get_slice("x")[1:].tolist() == [2, 3]
            assert file.get_tensor("x").tolist() == [1, 2, 3]
        assert safetensors.load(path.read_bytes())["x"].tolist() == [1, 2, 3]
    assert len(mapped) == 1


def test_a_file_that_shrinks_is_refused(tmp_path):
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"x": tensorlab.arange(10_000)}, path)
    with safetensors.safe_open(path) as file:
        part = file.get_slice("x")
        size = path.stat().st_size
        with open(path, "r+b") as other:
            other.truncate(size - 1)
        for read in (lambda: file.get_tensor("x"), lambda: part[0], lambda: part[...]):
            with pytest.raises(FileFormatError, match="x.safetensors is cut off: tensor 'x' is"):
                read()


def test_a_dtype_that_is_not_here_leaves_the_others(tmp_path):
    header = {
        "here": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        "there": {"dtype": "F4", "shape": [8], "data_offsets": [4, 8]},
    }
    path = in_a_file(tmp_path / "x", header, struct.pack("<f2H", 1.5, 3, 4))
    with pytest.raises(DTypeError, match="x: tensor 'there' is F4, a dtype that tensorlab does"):
        safetensors.load_file(path)
    with pytest.raises(DTypeError, match="the data: tensor 'there' is F4"):
        safetensors.load(path.read_bytes())
    for device in ("cpu", "meta"):
        with safetensors.safe_open(path, device=device) as file:
            assert file.get_tensor("here").shape == (1,)
            assert file.get_slice("there").get_dtype() == "F4"
            for read in (lambda: file.get_tensor("there"), lambda: file.get_slice("there")[0]):
                with pytest.raises(DTypeError, match="'there' is F4"):
                    read()


def test_the_bytes_of_a_bool_are_0_or_1(tmp_path):
    header = {"x": {"dtype": "BOOL", "shape": [3], "data_offsets": [0, 3]}}
    path = in_a_file(tmp_path / "x.st", header, b"\1\0\2")
    message = "tensor 'x' is BOOL, and one of its bytes is 2; expected 0 or 1"
    with pytest.raises(FileFormatError, match=f"x.st is damaged: {message}"):
        safetensors.load_file(path)
    with pytest.raises(FileFormatError, match=f"load: the data is damaged: {message}"):
        safetensors.load(path.read_bytes())
    with safetensors.safe_open(path) as file:
        assert file.get_slice("x")[:2].tolist() == [True, False]
        with pytest.raises(FileFormatError, match=message):
            file.get_slice("x")[1:]


def test_a_number_of_numpy_is_what_we_read(path):
    """What a header says in the format's words is checked against NumPy's reading of the bytes."""
    data = path.read_bytes()
    start = 8 + struct.unpack_from("<Q", data)[0]
    assert np.frombuffer(data, "<i8", 24, start).tolist() == list(range(24))
    assert np.frombuffer(data, "<f4", 1, start + 192).tolist() == [2.5]
