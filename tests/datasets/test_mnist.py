"""MNIST: the files of IDX, their download, and samples."""

import struct

import numpy as np
import pytest
from PIL import Image

import tensorlab
from tensorlab.datasets import MNIST, FashionMNIST
from tensorlab.datasets.idx import read_idx
from tensorlab.errors import DownloadError, FileFormatError, MissingData
from tests.datasets.served import files_in, idx, md5, mnist_files, packed, server

__all__ = ["server"]
NAMES = sorted(mnist_files()[0])


# ------------------------------------------------------------ IDX
@pytest.mark.parametrize(
    ("code", "kind", "numbers"),
    [
        (8, ">u1", [0, 1, 255]),
        (9, ">i1", [0, -128, 127]),
        (11, ">i2", [1, -2, 300]),
        (12, ">i4", [1, -2, 70000]),
        (13, ">f4", [0.5, -2.0, 1e9]),
        (14, ">f8", [0.1, -2.0, 1e99]),
    ],
)
def test_idx_files_of_each_type(tmp_path, code, kind, numbers):
    data = bytes([0, 0, code, 2]) + struct.pack(">II", 3, 1) + np.array(numbers, kind).tobytes()
    path = tmp_path / "a"
    path.write_bytes(data)
    x = read_idx(path)
    assert x.shape == (3, 1)
    assert str(x.dtype) == "tensorlab." + np.dtype(kind).name
    assert x[:, 0].tolist() == numbers
    x.zero_()  # its own memory
    assert read_idx(path, ndim=2)[:, 0].tolist() == numbers


GOOD = idx(np.arange(6).reshape(2, 3))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "it begins with b''"),
        (GOOD[:3], "it begins with"),
        (b"\1" + GOOD[1:], "two zeros and a type"),
        (b"\0\1" + GOOD[2:], "two zeros and a type"),
        (b"\0\0\7" + GOOD[3:], "two zeros and a type"),
        (b"\0\0\x0a" + GOOD[3:], "two zeros and a type"),
        (GOOD[:11], "within the sizes of its 2 dimensions"),
        (GOOD[:-1], r"17 bytes; expected 18 for shape \(2, 3\)"),
        (GOOD + b".", r"19 bytes; expected 18"),
        (GOOD[:12], r"12 bytes; expected 18"),
        (b"\0\0\x08\0", "4 bytes; expected 5"),
        (b"\0\0\x0b" + GOOD[3:], "18 bytes; expected 24"),
    ],
)
def test_a_damaged_idx_file_is_refused(tmp_path, data, says):
    path = tmp_path / "broken"
    path.write_bytes(data)
    with pytest.raises(
        FileFormatError, match=rf"read_idx: .*broken isn't a complete IDX file: .*{says}"
    ):
        read_idx(path)


def test_the_number_of_dimensions_is_checked(tmp_path):
    (tmp_path / "a").write_bytes(GOOD)
    with pytest.raises(FileFormatError, match="it has 2 dimensions; expected 3"):
        read_idx(tmp_path / "a", ndim=3)
    (tmp_path / "b").write_bytes(bytes([0, 0, 8, 0, 9]))
    assert read_idx(tmp_path / "b").item() == 9


# ------------------------------------------------------------ a small MNIST
def write(root, name="MNIST", **changes):
    files, arrays = mnist_files()
    folder = root / name / "raw"
    folder.mkdir(parents=True)
    for file, data in {**files, **changes}.items():
        (folder / file).write_bytes(data)
    return arrays


@pytest.mark.parametrize("kind", [MNIST, FashionMNIST])
@pytest.mark.parametrize("train", [True, False])
def test_files_that_are_there_are_read(tmp_path, kind, train):
    arrays = write(tmp_path, kind.__name__)
    part = "train" if train else "t10k"
    images, labels = arrays[f"{part}-images-idx3-ubyte"], arrays[f"{part}-labels-idx1-ubyte"]
    data = kind(tmp_path, train)
    assert len(data) == len(images) == (7 if train else 3)
    assert data.data.dtype is tensorlab.uint8
    assert data.targets.dtype is tensorlab.int64
    np.testing.assert_array_equal(data.data.numpy(), images)
    np.testing.assert_array_equal(data.targets.numpy(), labels)
    image, target = data[2]
    assert isinstance(image, Image.Image)
    assert (image.mode, image.size, type(target)) == ("L", (28, 28), int)
    np.testing.assert_array_equal(np.asarray(image), images[2])
    assert target == labels[2]
    assert data[-1][1] == labels[-1]
    assert [target for _, target in data] == labels.tolist()
    with pytest.raises(IndexError):
        data[len(data)]


def test_the_training_set_is_the_default(tmp_path):
    write(tmp_path)
    assert len(MNIST(str(tmp_path))) == 7


def test_classes_have_numbers(tmp_path):
    write(tmp_path)
    write(tmp_path, "FashionMNIST")
    digits, clothes = MNIST(tmp_path), FashionMNIST(tmp_path)
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    assert digits.classes == [f"{i} - {word}" for i, word in enumerate(words)]
    assert digits.class_to_idx == {name: i for i, name in enumerate(digits.classes)}
    assert clothes.classes == [
        *(
            "T-shirt/top",
            "Trouser",
            "Pullover",
            "Dress",
            "Coat",
            "Sandal",
            "Shirt",
            "Sneaker",
            "Bag",
            "Ankle boot",
        )
    ]
    digits.classes.append("ten")
    assert len(MNIST(tmp_path).classes) == 10


def test_transforms_are_applied(tmp_path):
    arrays = write(tmp_path)
    data = MNIST(tmp_path, True, lambda image: image.size, lambda target: target * 10)
    assert data[1] == ((28, 28), 10 * int(arrays["train-labels-idx1-ubyte"][1]))
    assert MNIST(tmp_path, target_transform=str)[0][1] == str(arrays["train-labels-idx1-ubyte"][0])


def test_it_prints_as_in_torchvision(tmp_path):
    write(tmp_path)
    from tensorlab.datasets import transforms

    text = f"Dataset MNIST\n    Number of datapoints: 7\n    Root location: {tmp_path}\n    Split: Train"
    assert repr(MNIST(tmp_path)) == text
    data = MNIST(str(tmp_path), False, transforms.ToTensor())
    assert repr(data) == (
        f"Dataset MNIST\n    Number of datapoints: 3\n    Root location: {tmp_path}\n    Split: Test\n"
        "    StandardTransform\nTransform: ToTensor()"
    )


def test_missing_files_say_what_to_do(tmp_path):
    with pytest.raises(
        MissingData,
        match=r"MNIST: Dataset not found\. .*MNIST/raw lacks train-images-idx3-ubyte, train-labels.*download=True",
    ):
        MNIST(tmp_path)
    write(tmp_path)
    (tmp_path / "MNIST" / "raw" / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(
        RuntimeError, match=r"raw lacks t10k-labels-idx1-ubyte\. You can use download=True"
    ):
        MNIST(tmp_path)


def test_damaged_files_are_refused(tmp_path):
    write(tmp_path, **{"train-images-idx3-ubyte": idx(np.zeros((7, 28)))})
    with pytest.raises(FileFormatError, match="2 dimensions; expected 3"):
        MNIST(tmp_path)
    write(tmp_path / "b", **{"train-labels-idx1-ubyte": idx(np.zeros((7, 1)))})
    with pytest.raises(FileFormatError, match="2 dimensions; expected 1"):
        MNIST(tmp_path / "b")
    write(tmp_path / "c", **{"train-labels-idx1-ubyte": idx(np.zeros(6))})
    with pytest.raises(FileFormatError, match="there are 7 images and 6 targets"):
        MNIST(tmp_path / "c")
    assert len(MNIST(tmp_path / "c", train=False)) == 3


# ------------------------------------------------------------ downloads
@pytest.fixture
def small(server, monkeypatch):
    """MNIST with the checksums of a small one, which the server has."""
    files, arrays = mnist_files()
    resources = []
    for name, data in files.items():
        server.files[f"/mnist/{name}.gz"] = packed(data)
        resources.append((f"{name}.gz", md5(packed(data))))
    monkeypatch.setattr(MNIST, "resources", resources)
    monkeypatch.setattr(MNIST, "mirrors", [server.url + "/mnist/"])
    return server


def test_files_are_fetched_once(small, tmp_path):
    data = MNIST(tmp_path / "new", download=True)
    np.testing.assert_array_equal(data.data.numpy(), mnist_files()[1]["train-images-idx3-ubyte"])
    raw = tmp_path / "new" / "MNIST" / "raw"
    assert files_in(raw) == sorted([*NAMES, *(f"{name}.gz" for name in NAMES)])
    assert sorted(small.requests) == [f"/mnist/{name}.gz" for name in NAMES]
    MNIST(tmp_path / "new", train=False, download=True)
    MNIST(tmp_path / "new")
    assert len(small.requests) == 4


def test_a_file_that_was_fetched_is_only_unpacked(small, tmp_path):
    MNIST(tmp_path, download=True)
    (tmp_path / "MNIST" / "raw" / NAMES[0]).unlink()
    MNIST(tmp_path, download=True)
    assert len(small.requests) == 4
    (tmp_path / "MNIST" / "raw" / NAMES[0]).unlink()
    (tmp_path / "MNIST" / "raw" / f"{NAMES[0]}.gz").write_bytes(b"damaged")
    MNIST(tmp_path, download=True)
    assert small.requests[4:] == [f"/mnist/{NAMES[0]}.gz"]


def test_the_next_mirror_is_asked(small, tmp_path, monkeypatch):
    monkeypatch.setattr(
        MNIST, "mirrors", [small.url + "/gone/", small.url + "/mnist/", small.url + "/third/"]
    )
    assert len(MNIST(tmp_path, download=True)) == 7
    assert {path.split("/")[1] for path in small.requests} == {"gone", "mnist"}
    assert len(small.requests) == 8


@pytest.mark.parametrize("how", ["missing", "wrong", "truncated"])
def test_a_failed_download_leaves_no_file(small, tmp_path, how):
    path = "/mnist/train-labels-idx1-ubyte.gz"
    if how == "missing":
        del small.files[path]
    elif how == "wrong":
        small.files[path] = packed(b"something else")
    else:
        small.cut[path] = 30
    with pytest.raises(
        DownloadError,
        match=r"MNIST: Error downloading train-labels-idx1-ubyte.gz:\n.*could not be fetched",
    ):
        MNIST(tmp_path, download=True)
    left = files_in(tmp_path / "MNIST" / "raw")
    assert left == [
        "train-images-idx3-ubyte",
        "train-images-idx3-ubyte.gz",
    ]  # what came before, complete
    with pytest.raises(MissingData):
        MNIST(tmp_path)
    small.files[path], small.cut = packed(mnist_files()[0]["train-labels-idx1-ubyte"]), {}
    assert len(MNIST(tmp_path, download=True)) == 7


def test_nothing_is_fetched_without_being_asked(small, tmp_path):
    with pytest.raises(MissingData):
        MNIST(tmp_path)
    assert small.requests == []
    assert files_in(tmp_path) == []


# ------------------------------------------------------------ what is known of the files
def test_the_checksums_are_those_that_were_published():
    assert [md5 for _, md5 in MNIST.resources] == [
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ]
    assert [md5 for _, md5 in FashionMNIST.resources] == [
        "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "25c81989df183df01b3e8a0aad5dffbe",
        "bef4ecab320f06d8554ea6380940ec79",
        "bb300cfdad3c16e7a12a480ee83cd310",
    ]
    for kind in (MNIST, FashionMNIST):
        assert [name for name, _ in kind.resources] == [
            "train-images-idx3-ubyte.gz",
            "train-labels-idx1-ubyte.gz",
            "t10k-images-idx3-ubyte.gz",
            "t10k-labels-idx1-ubyte.gz",
        ]
        assert all(mirror.startswith("http") and mirror.endswith("/") for mirror in kind.mirrors)
