"""save and save_file: what is written, what is refused, and a file that is replaced as a whole or not at all."""

import builtins
import json
import struct
import subprocess
import sys

import pytest

import tensorlab
from tensorlab import safetensors
from tensorlab.errors import MemoryLayoutError, MissingExtra, NoDataError
from tests.serialization.examples import DTYPES

BASE = tensorlab.arange(12.0)


def header_of(data):
    length = struct.unpack_from("<Q", data)[0]
    return json.loads(data[8 : 8 + length])


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_comes_back_bit_for_bit(name):
    dtype = getattr(tensorlab, name)
    x = tensorlab.tensor([0, 1, 1, 0, 1, 0]).to(dtype).reshape(2, 3)
    if dtype.is_floating_point:
        x[0, 0], x[0, 1], x[1, 0] = float("nan"), -0.0, float("inf")
    data = safetensors.save({"x": x})
    found = safetensors.load(data)["x"]
    assert found.dtype is dtype
    assert found.shape == (2, 3)
    assert found.view(tensorlab.uint8).tolist() == x.view(tensorlab.uint8).tolist()
    assert data.endswith(bytes(memoryview(x.reshape(-1).view(tensorlab.uint8))))


def test_a_known_file():
    data = safetensors.save({"x": tensorlab.tensor([1.0, -2.0])}, {"unit": "m"})
    header = '{"__metadata__":{"unit":"m"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    assert data == struct.pack("<Q", 88) + header.encode().ljust(88) + struct.pack("<2f", 1, -2)


def test_shapes_and_parts_of_a_storage():
    base = tensorlab.arange(24.0)
    tensors = {
        "number": tensorlab.tensor(2.5),
        "empty": tensorlab.zeros(0, 3),
        "first": base[:6].reshape(2, 3),
        "later": base[6:12],
        "learns": tensorlab.nn.Parameter(tensorlab.ones(2)),
    }
    data = safetensors.save(tensors)
    found = safetensors.load(data)
    assert {name: x.tolist() for name, x in found.items()} == {
        name: x.tolist() for name, x in tensors.items()
    }
    assert found["empty"].shape == (0, 3)
    assert not found["learns"].requires_grad
    assert len(data) == 8 + struct.unpack_from("<Q", data)[0] + 4 * (1 + 6 + 6 + 2)


def test_nothing_and_metadata():
    assert safetensors.load(safetensors.save({})) == {}
    assert header_of(safetensors.save({}, {"a": "ü\n"})) == {"__metadata__": {"a": "ü\n"}}
    assert header_of(safetensors.save({}, {})) == {}
    assert header_of(safetensors.save({"x": BASE}, {}))["__metadata__"] == {}
    assert header_of(safetensors.save({})) == {}


# ------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("tensors", "error", "message"),
    [
        ([BASE], ValueError, "tensors is a list; expected a dict from str to Tensor"),
        ({1: BASE}, TypeError, "the name 1 is a int; expected a str"),
        ({"a": [1.0]}, ValueError, "'a' is a list; expected a Tensor"),
        ({"__metadata__": BASE}, ValueError, "the format's own name for metadata"),
        (
            {"a": BASE.reshape(3, 4).t()},
            ValueError,
            r"'a' is not contiguous: its shape is \(4, 3\)",
        ),
        ({"a": BASE[::2]}, ValueError, r"its stride \(2,\). Save 'a'.contiguous\(\)"),
        ({"a": BASE.to("meta")}, NoDataError, "'a' lies on the device 'meta', which has no data"),
    ],
)
@pytest.mark.parametrize("what", ["save", "save_file"])
def test_what_the_format_has_no_place_for_is_refused(tensors, error, message, what, tmp_path):
    arguments = (tensors,) if what == "save" else (tensors, tmp_path / "x")
    with pytest.raises(error, match=f"^{what}: .*{message}"):
        getattr(safetensors, what)(*arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("metadata", [{"a": 1}, {1: "a"}])
def test_metadata_is_text(metadata):
    with pytest.raises(TypeError, match="save: metadata has .*expected str for both, such as str"):
        safetensors.save({}, metadata)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (BASE, BASE),
        (BASE, BASE.view(tensorlab.int32)),
        (BASE[:7], BASE[6:]),
        (BASE[3:4], BASE),
        (BASE, BASE[11:]),
        (BASE.reshape(3, 4).t(), BASE[11:]),
        (BASE[::2][3:4], BASE[6:7]),
        (BASE, tensorlab.from_numpy(BASE.numpy())),
    ],
)
def test_tensors_in_the_same_memory_are_refused(a, b):
    for pair in ({"a": a, "b": b}, {"b": a, "a": b}):
        with pytest.raises(MemoryLayoutError, match="share memory: 'a', 'b'. .* clone.*save_model"):
            safetensors.save(pair)


def test_neighbours_share_nothing():
    parts = {"a": BASE[:6], "b": BASE[6:7], "c": BASE[7:], "none": BASE[3:3]}
    found = safetensors.load(safetensors.save(parts))
    assert {name: x.tolist() for name, x in found.items()} == {
        name: x.tolist() for name, x in parts.items()
    }


def test_all_groups_are_named():
    y = tensorlab.ones(2)
    tensors = {"q": BASE, "p": BASE[2:3], "o": BASE[4:5], "y": y, "x": y, "z": tensorlab.ones(2)}
    groups = "('o', 'p', 'q' and 'x', 'y'|'x', 'y' and 'o', 'p', 'q')"
    with pytest.raises(MemoryLayoutError, match=f"^save: tensors share memory: {groups}. The"):
        safetensors.save(tensors)


# ------------------------------------------------------------ files
def test_a_file_holds_what_save_gives(tmp_path):
    tensors, metadata = {"x": tensorlab.arange(5), "y": tensorlab.ones(2, 2)}, {"a": "b"}
    for name, path in {"x": tmp_path / "x", "y": str(tmp_path / "y")}.items():
        assert safetensors.save_file(tensors, path, metadata) is None
        assert (tmp_path / name).read_bytes() == safetensors.save(tensors, metadata)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["x", "y"]


def test_a_failing_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"x": tensorlab.ones(3)}, path)
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space left"):
            safetensors.save_file({"x": tensorlab.zeros(3)}, path)
    with pytest.raises(ValueError, match="not contiguous"):
        safetensors.save_file({"x": BASE[::2]}, path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.safetensors"]


def test_a_loaded_file_can_be_overwritten(tmp_path):
    path = tmp_path / "x.safetensors"
    safetensors.save_file({"x": tensorlab.ones(1000)}, path)
    found = safetensors.load_file(path)
    with safetensors.safe_open(path) as file:
        safetensors.save_file({"x": found["x"] * 2}, path)
        assert file.get_tensor("x").tolist() == [1.0] * 1000
    assert found["x"].tolist() == [1.0] * 1000
    assert safetensors.load_file(path)["x"].tolist() == [2.0] * 1000


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        safetensors.save_file({}, tmp_path / "nowhere" / "x")


# ------------------------------------------------------------ the library
def test_the_library_comes_with_the_first_file():
    program = """
import sys, tensorlab
from tensorlab import safetensors
print(any(name.partition(".")[0] in ("safetensors", "tensorboardX") for name in sys.modules))
safetensors.load(safetensors.save({}))
print("safetensors" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(
    ("what", "arguments"), [("save", [{}]), ("save_file", [{}, "x"]), ("load", [b""])]
)
def test_a_missing_library_is_named(what, arguments, monkeypatch):
    importer = builtins.__import__

    def without(name, *rest):
        if name == "safetensors":
            raise ImportError("No module named 'safetensors'")
        return importer(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        MissingExtra, match=rf'^{what}: .*pip install "tensorlab-book\[safetensors\]"'
    ):
        getattr(safetensors, what)(*arguments)


def test_a_machine_with_the_other_order_of_bytes_is_refused(tmp_path, monkeypatch):
    data = safetensors.save({"x": BASE})
    (tmp_path / "x").write_bytes(data)
    monkeypatch.setattr(sys, "byteorder", "big")
    calls = {
        "save": lambda: safetensors.save({}),
        "load": lambda: safetensors.load(data),
        "safe_open": lambda: safetensors.load_file(tmp_path / "x"),
    }
    for what, call in calls.items():
        with pytest.raises(NotImplementedError, match=f"^{what}: .*little-endian machines only"):
            call()
