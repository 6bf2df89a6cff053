"""Files that can't be loaded say what they are; what map_location asks for is done."""

import io
import math
import warnings

import pytest

import tensorlab
from tensorlab import errors, nn
from tests.oracle import require_torch


def saved(obj, **options):
    """Return the bytes of a file of PyTorch's."""
    file = io.BytesIO()
    require_torch().save(obj, file, **options)
    return file.getvalue()


def load(data, **options):
    return tensorlab.load(io.BytesIO(data), **options)


@pytest.mark.parametrize("weights_only", [None, False])
def test_an_empty_file_ends_too_soon(tmp_path, weights_only):
    torch = require_torch()
    path = tmp_path / "x.pt"
    path.touch()
    for package in (tensorlab, torch):
        for f in (path, str(path), io.BytesIO()):
            with pytest.raises(EOFError):
                package.load(f, weights_only=weights_only)
    with pytest.raises(errors.FileFormatError, match="the file is empty"):
        tensorlab.load(path)


@pytest.mark.parametrize("weights_only", [None, False])
def test_a_torchscript_archive_is_named(weights_only):
    torch = require_torch()
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 3)), file)
    with pytest.raises(errors.FileFormatError, match=r"TorchScript .*torch\.jit\.load.*state_dict"):
        load(file.getvalue(), weights_only=weights_only)


def not_here():
    torch = require_torch()
    ones = torch.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "quantized": (
                torch.quantize_per_tensor(ones, 0.1, 0, torch.quint8),
                "quantized numbers.*dequantize",
            ),
        }


@pytest.mark.parametrize("weights_only", [None, False])
@pytest.mark.parametrize("name", ["quantized"])
def test_what_there_is_not_here_is_named_with_what_to_do(name, weights_only):
    value, message = not_here()[name]
    with pytest.raises(errors.FileFormatError, match=message) as caught:
        load(saved({"a": [value]}), weights_only=weights_only)
    assert not isinstance(caught.value, errors.UnsafeGlobal)


@pytest.mark.parametrize("weights_only", [None, False])
@pytest.mark.parametrize("in_zip", [True, False])
def test_complex_numbers_go_both_ways(weights_only, in_zip):
    torch = require_torch()
    x = torch.tensor([[1 + 2j, 3j], [4, -5 - 6j]]).t()
    value = {"a": x, "b": torch.nn.Parameter(x.to(torch.complex128)), "c": torch.complex64}
    data = saved(value, _use_new_zipfile_serialization=in_zip)
    found = load(data, weights_only=weights_only)
    assert found["a"].dtype is found["c"] is tensorlab.complex64
    assert found["b"].dtype is tensorlab.complex128
    assert isinstance(found["b"], tensorlab.nn.Parameter)
    file = io.BytesIO()
    tensorlab.save(found, file, _use_new_zipfile_serialization=in_zip)
    back = torch.load(io.BytesIO(file.getvalue()), weights_only=weights_only is None)
    for name in "ab":
        assert found[name].tolist() == value[name].tolist() == back[name].tolist()
        assert found[name].stride() == value[name].stride() == back[name].stride()


# ---------------------------------------------------------------- map_location
def described(value):
    return str(value.device), tuple(value.shape), value.stride(), str(value.dtype)[-7:]


def both_ways(package):
    x = package.arange(6.0).reshape(2, 3)
    parameter = package.nn.Parameter(package.ones(2, dtype=package.float64))
    return {"x": x, "row": x[1], "column": x[:, 1], "p": parameter, "empty": x[:0], "n": 3}


LOCATIONS = {
    "text": lambda package: "meta",
    "device": lambda package: package.device("meta"),
    "dict": lambda package: {"cpu": "meta"},
    "other dict": lambda package: {"cuda:0": "cpu"},
    "function": lambda package: lambda storage, location: storage,
    "function of None": lambda package: lambda storage, location: None,
    "cpu": lambda package: "cpu",
}


@pytest.mark.parametrize("weights_only", [None, False])
@pytest.mark.parametrize("is_old", [False, True])
@pytest.mark.parametrize("name", LOCATIONS)
def test_tensors_come_where_they_are_wanted(name, is_old, weights_only):
    torch = require_torch()
    data = saved(both_ways(torch), _use_new_zipfile_serialization=not is_old)
    options = {"weights_only": weights_only}
    ours = load(data, map_location=LOCATIONS[name](tensorlab), **options)
    theirs = torch.load(io.BytesIO(data), map_location=LOCATIONS[name](torch), **options)
    assert ours.pop("n") == theirs.pop("n") == 3
    assert isinstance(ours["p"], nn.Parameter)
    assert {k: described(v) for k, v in ours.items()} == {
        k: described(v) for k, v in theirs.items()
    }
    if ours["x"].device.type == "cpu":
        assert {k: v.tolist() for k, v in ours.items()} == {
            k: v.tolist() for k, v in theirs.items()
        }


@pytest.mark.parametrize("mmap", [False, True])
def test_for_meta_nothing_is_read(tmp_path, mmap):
    """The bytes of the storages may be damaged, and a file may be larger than the memory."""
    path = tmp_path / "x.pt"
    x = tensorlab.full((1000, 1000), math.pi)
    tensorlab.save({"x": x, "y": x[0]}, path)
    data = path.read_bytes()
    path.write_bytes(data.replace(data[5000:6000], bytes(1000)))
    found = tensorlab.load(path, map_location="meta", mmap=mmap)
    assert found["x"].is_meta
    assert found["y"].shape == (1000,)
    if not mmap:
        with pytest.raises(errors.FileFormatError, match="damaged"):
            tensorlab.load(path)


def test_a_tensor_of_pytorchs_on_meta_can_be_loaded():
    torch = require_torch()
    x = torch.empty(2, 3, device="meta", dtype=torch.float64).T.requires_grad_()
    for weights_only in (None, False):
        found = load(saved({"x": x}), weights_only=weights_only)["x"]
        assert (found.is_meta, found.shape, found.stride()) == (True, (3, 2), (1, 3))
        assert found.requires_grad
        assert found.dtype == tensorlab.float64


def test_the_device_for_new_tensors_is_not_asked():
    data = io.BytesIO()
    tensorlab.save(tensorlab.ones(2), data)
    with tensorlab.device("meta"):
        assert load(data.getvalue()).tolist() == [1, 1]


@pytest.mark.parametrize("weights_only", [None, False])
@pytest.mark.parametrize("is_old", [False, True])
def test_an_error_of_the_programs_function_is_its_own(is_old, weights_only):
    data = saved(require_torch().ones(2), _use_new_zipfile_serialization=not is_old)

    def fail(storage, location):
        raise KeyError("my own mistake")

    with pytest.raises(KeyError, match="my own mistake"):
        load(data, map_location=fail, weights_only=weights_only)
    with pytest.raises(TypeError, match="map_location returned a int"):
        load(data, map_location=lambda *_: 5, weights_only=weights_only)


@pytest.mark.parametrize("location", ["cuda", "cuda:1", "xx", {"cpu": "cuda"}])
def test_a_device_that_there_is_not_is_refused(location):
    data = saved(require_torch().ones(2))
    with pytest.raises(RuntimeError, match="here (is|are) only the CPU"):
        load(data, map_location=location)


def test_an_error_of_map_location_keeps_its_cause():
    def location(storage, where):
        try:
            return {}[where]
        except KeyError as cause:
            raise ValueError("no such place") from cause

    file = io.BytesIO()
    tensorlab.save(tensorlab.ones(2), file)
    file.seek(0)
    with pytest.raises(ValueError, match="no such place") as raised:
        tensorlab.load(file, map_location=location)
    assert isinstance(raised.value.__cause__, KeyError)
