"""Files of each package are read by the other: tensors, states and containers, bit for bit."""

import io

import pytest

import tensorlab
from tests.oracle import require_torch
from tests.serialization import examples

torch = require_torch()
PACKAGES = {"tensorlab": tensorlab, "torch": torch}
WAYS = [("tensorlab", "torch"), ("torch", "tensorlab"), ("tensorlab", "tensorlab")]


def through(obj, writer, reader, **options):
    file = io.BytesIO()
    PACKAGES[writer].save(obj, file)
    file.seek(0)
    return PACKAGES[reader].load(file, **options)


@pytest.mark.parametrize(("writer", "reader"), WAYS)
@pytest.mark.parametrize("name", examples.tensors(tensorlab))
def test_a_tensor_arrives_with_its_layout(name, writer, reader):
    obj = examples.tensors(PACKAGES[writer])[name]
    found = through(obj, writer, reader, weights_only="attr" not in name)
    assert isinstance(found, PACKAGES[reader].Tensor)
    assert examples.shown(found) == examples.shown(obj)


@pytest.mark.parametrize(("writer", "reader"), WAYS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_states_arrive(writer, reader, weights_only):
    obj = examples.states(PACKAGES[writer])
    if weights_only and reader == "torch":
        obj.pop("scheduler")  # its Counter is not allowed there
    found = through(obj, writer, reader, weights_only=weights_only)
    assert examples.shown(found) == examples.shown(obj)


@pytest.mark.parametrize(("writer", "reader"), WAYS)
@pytest.mark.parametrize("name", examples.containers(tensorlab))
def test_containers_arrive(name, writer, reader):
    obj = examples.containers(PACKAGES[writer])[name]
    found = through(obj, writer, reader, weights_only=reader == "tensorlab")
    assert examples.shown(found) == examples.shown(obj)


@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_what_shared_memory_shares_it_again(writer, reader):
    T = PACKAGES[writer]
    base = T.zeros(10)
    row = T.ones(3)
    obj = {"base": base, "view": base[2:5], "turned": base.reshape(2, 5).t(), "twice": [row, row]}
    found = through(obj, writer, reader)
    found["view"].fill_(7)
    assert found["base"].tolist() == [0, 0, 7, 7, 7, 0, 0, 0, 0, 0]
    assert found["turned"].tolist()[2] == [7, 0]
    assert found["twice"][0] is found["twice"][1]


@pytest.mark.parametrize("reader", PACKAGES)
def test_files_can_be_mapped(reader, tmp_path):
    obj = examples.tensors(tensorlab)
    obj = {name: x for name, x in obj.items() if "attributes" not in name}
    tensorlab.save(obj, tmp_path / "x.pt")
    before = (tmp_path / "x.pt").read_bytes()
    found = PACKAGES[reader].load(tmp_path / "x.pt", mmap=True, weights_only=True)
    assert examples.shown(found) == examples.shown(obj)
    found["slice"].add_(1)
    assert found["slice"].tolist() == [6, 7, 8, 9]
    assert (tmp_path / "x.pt").read_bytes() == before


def test_files_of_pytorch_can_be_mapped(tmp_path):
    obj = examples.tensors(torch)
    torch.save(obj, tmp_path / "x.pt")
    found = tensorlab.load(tmp_path / "x.pt", mmap=True, weights_only=False)
    assert examples.shown(found) == examples.shown(obj)


@pytest.mark.parametrize("make", [examples.tensors, examples.states, examples.containers])
@pytest.mark.parametrize("weights_only", [True, False])
def test_the_format_of_before_is_read(make, weights_only):
    obj, file = make(torch), io.BytesIO()
    torch.save(obj, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    found = tensorlab.load(file, weights_only=weights_only)
    assert examples.shown(found) == examples.shown(obj)


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_a_storage_of_bytes_is_read_and_written():
    file = io.BytesIO()
    tensorlab.save(tensorlab.arange(3).untyped_storage(), file)
    file.seek(0)
    expected = [0] * 8 + [1] + [0] * 7 + [2] + [0] * 7
    assert torch.load(file).tolist() == expected
    for package in (tensorlab, torch):
        file = io.BytesIO()
        package.save(package.arange(3).untyped_storage(), file)
        file.seek(0)
        found = tensorlab.load(file)
        assert isinstance(found, tensorlab.UntypedStorage)
        assert found.tolist() == expected


def test_numbers_with_their_bytes_the_other_way_round():
    import zipfile

    values = {
        "a": tensorlab.tensor([1.5, -2.0]),
        "b": tensorlab.tensor([1, 2], dtype=tensorlab.int16),
    }
    values["c"] = tensorlab.tensor([1, 2], dtype=tensorlab.uint8)
    file, turned = io.BytesIO(), io.BytesIO()
    tensorlab.save(values, file)
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(turned, "w") as new:
        sizes = {"archive/data/0": 4, "archive/data/1": 2}
        for info in old.infolist():
            data = old.read(info)
            size = sizes.get(info.filename, 1)
            data = b"".join(data[i : i + size][::-1] for i in range(0, len(data), size))
            new.writestr(info.filename, b"big" if info.filename.endswith("byteorder") else data)
    turned.seek(0)
    assert examples.shown(tensorlab.load(turned)) == examples.shown(values)
