"""CIFAR: its pickles are read without running them; its archive is fetched and unpacked."""

import pickle

import numpy as np
import pytest

from tensorlab.datasets import CIFAR10, CIFAR100
from tensorlab.datasets.array_pickle import read_arrays
from tensorlab.errors import DownloadError, FileFormatError, MissingData, UnsafeGlobal
from tests.datasets import served
from tests.datasets.served import cifar_batch, cifar_meta, files_in, md5, server, tar

__all__ = ["server"]


# ------------------------------------------------------------ pickles of arrays
def test_a_pickle_of_python_2_is_read_as_python_reads_it(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (3, 3, 32, 32), dtype=np.uint8)
    path = tmp_path / "batch"
    path.write_bytes(cifar_batch(images, [5, 0, 9]))
    expected = pickle.loads(path.read_bytes(), encoding="latin1")  # of our own making
    ours = read_arrays(path)
    assert ours.keys() == expected.keys() == {"batch_label", "labels", "data", "filenames"}
    np.testing.assert_array_equal(ours.pop("data"), expected.pop("data"))
    assert ours == expected
    assert ours["labels"] == [5, 0, 9]


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_pickle_of_python_3_is_read(tmp_path, protocol):
    array = np.arange(12, dtype=np.uint8).reshape(3, 4)
    text = {"a": [array, {"deep": array[0]}], "b": ("x", 1.5, None)}
    path = tmp_path / "batch"
    data = pickle.dumps(text, protocol=protocol)
    path.write_bytes(data)
    if b"_codecs" in data:  # protocol 2 writes bytes as a call
        with pytest.raises(UnsafeGlobal, match="names _codecs.encode"):
            read_arrays(path)
        return
    ours = read_arrays(path)
    np.testing.assert_array_equal(ours["a"][0], array)
    np.testing.assert_array_equal(ours["a"][1]["deep"], array[0])
    assert ours["a"][0].dtype == np.uint8
    assert ours["b"] == ("x", 1.5, None)


class Evil:
    def __reduce__(self):
        return (exec, ("raise SystemExit('it ran')",))


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (
            pickle.dumps(Evil(), protocol=2),
            UnsafeGlobal,
            "the file names __builtin__.exec, which is not allowed",
        ),
        (pickle.dumps(Evil(), protocol=4), UnsafeGlobal, "names builtins.exec"),
        (b"\x80\x02ctorch\nTensor\n.", UnsafeGlobal, "names torch.Tensor"),
        (b"\x80\x02cos\nsystem\nU\x04true\x85R.", UnsafeGlobal, "names os.system"),
        (b"\x80\x02cnumpy\nload\n.", UnsafeGlobal, "names numpy.load"),
        (b"\x80\x02cnumpy\nndarray\nK\x05\x85R.", UnsafeGlobal, "which is not allowed"),
        (b"\x80\x02cnumpy\nndarray\nK\x05\x85\x81.", UnsafeGlobal, "which is not allowed"),
        (b"\x80\x02U\x01aQ.", FileFormatError, "it refers to another file"),
        (b"\x80\x02]", FileFormatError, "the file has the pickle instruction b''"),
        (b"\x80\x02}q\x01(U\x04data", FileFormatError, "instruction b''"),
        (b"", FileFormatError, "instruction b''"),
        (b"<html>", FileFormatError, "instruction b'<'"),
        (pickle.dumps(np.zeros(3, np.int32), protocol=4), FileFormatError, "doesn't hold bytes"),
        (pickle.dumps(np.array([b"x"], object), protocol=4), FileFormatError, "doesn't hold bytes"),
        (
            pickle.dumps(np.asfortranarray(np.zeros((3, 4), np.uint8)), protocol=4),
            FileFormatError,
            "row by row",
        ),
    ],
)
def test_a_pickle_that_holds_something_else_is_refused(tmp_path, data, error, says):
    path = tmp_path / "batch"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=rf"^read_arrays: .*/batch: .*{says}") as caught:
        read_arrays(path)
    assert type(caught.value) is error


def test_an_array_with_other_bytes_than_its_shape_is_refused(tmp_path):
    array = served.old_array(np.zeros((2, 3), np.uint8))
    path = tmp_path / "batch"
    path.write_bytes(b"\x80\x02" + array + b".")
    assert read_arrays(path).tolist() == [[0, 0, 0], [0, 0, 0]]
    for wrong in (
        array.replace(b"M\x03\x00", b"M\x04\x00"),  # another shape
        array.replace(b"T\x06\0\0\0" + bytes(6), b"T\x05\0\0\0" + bytes(5)),
        array.replace(b"T\x06\0\0\0" + bytes(6), b"K\x06"),
    ):
        assert wrong != array
        path.write_bytes(b"\x80\x02" + wrong + b".")
        with pytest.raises(FileFormatError, match="doesn't have as many bytes"):
            read_arrays(path)


def test_an_array_without_contents_is_refused(tmp_path):
    path = tmp_path / "batch"
    data = served.old_array(np.zeros((2, 3), np.uint8))
    path.write_bytes(b"\x80\x02}U\x01a" + data[: data.index(b"(K\x01M")] + b"s.")
    with pytest.raises(FileFormatError, match="batch: an array has neither shape nor bytes"):
        read_arrays(path)


def test_a_complete_set_needs_no_archive(small, tmp_path):
    CIFAR10(tmp_path, download=True)
    (tmp_path / "cifar-10-python.tar.gz").unlink()
    CIFAR10(tmp_path, download=True)
    assert len(small.requests) == 1


def test_an_element_type_alone_is_no_array(tmp_path):
    path = tmp_path / "batch"
    array = served.old_array(np.zeros((2, 3), np.uint8))
    path.write_bytes(
        b"\x80\x02" + array.replace(b"cnumpy\ndtype\nq\x13U\x02u1K\x00K\x01\x87R", b"K\x01") + b"."
    )
    with pytest.raises(FileFormatError):
        read_arrays(path)


# ------------------------------------------------------------ a small CIFAR
rng = np.random.default_rng(1)
NAMES = [f"kind {i}" for i in range(10)]
LABELS = {name: rng.integers(0, 10, 2).tolist() for name in "abcde"} | {"test": [3, 1, 4]}
IMAGES = {
    name: rng.integers(0, 256, (len(labels), 3, 32, 32), dtype=np.uint8)
    for name, labels in LABELS.items()
}


def small_set(labels_key, names_key, train, meta):
    files = {name: cifar_batch(IMAGES[name], LABELS[name], labels_key) for name in (*train, "test")}
    return files | {meta: cifar_meta(NAMES, names_key)}


@pytest.fixture
def small(server, monkeypatch):
    """CIFAR10 and CIFAR100 with the checksums of small ones, which the server has."""
    for kind, train, keys in (
        (CIFAR10, "abcde", ("labels", "label_names")),
        (CIFAR100, "a", ("fine_labels", "fine_label_names")),
    ):
        files = small_set(*keys, train, "meta")
        archive = tar({f"{kind.base_folder}/{name}": data for name, data in files.items()})
        server.files[f"/{kind.filename}?latest"] = archive
        for name, value in {
            "url": f"{server.url}/{kind.filename}?latest",
            "tgz_md5": md5(archive),
            "train_list": [(name, md5(files[name])) for name in train],
            "test_list": [("test", md5(files["test"]))],
            "meta": ("meta", md5(files["meta"])),
        }.items():
            monkeypatch.setattr(kind, name, value)
    return server


def test_the_archive_is_fetched_and_read(small, tmp_path):
    data = CIFAR10(tmp_path / "new", download=True)
    images = np.concatenate([IMAGES[name] for name in "abcde"])
    assert data.data.shape == (10, 32, 32, 3)
    np.testing.assert_array_equal(data.data, images.transpose(0, 2, 3, 1))
    assert data.targets == [label for name in "abcde" for label in LABELS[name]]
    assert data.classes == NAMES
    assert data.class_to_idx == {name: i for i, name in enumerate(NAMES)}
    image, target = data[3]
    assert (image.mode, image.size, type(target)) == ("RGB", (32, 32), int)
    np.testing.assert_array_equal(np.asarray(image), images[3].transpose(1, 2, 0))
    assert target == LABELS["b"][1]
    assert len(data) == 10
    with pytest.raises(IndexError):
        data[10]
    test = CIFAR10(str(tmp_path / "new"), train=False)
    assert test.targets == [3, 1, 4]
    np.testing.assert_array_equal(test.data, IMAGES["test"].transpose(0, 2, 3, 1))
    CIFAR10(tmp_path / "new", download=True)
    assert small.requests == ["/cifar-10-python.tar.gz?latest"]
    assert files_in(tmp_path / "new") == [
        "cifar-10-batches-py",
        *(f"cifar-10-batches-py/{name}" for name in ("a", "b", "c", "d", "e", "meta", "test")),
        "cifar-10-python.tar.gz",
    ]
    assert (
        repr(test)
        == f"Dataset CIFAR10\n    Number of datapoints: 3\n    Root location: {tmp_path / 'new'}\n    Split: Test"
    )
    assert repr(data).endswith("Split: Train")


def test_cifar100_has_fine_labels(small, tmp_path):
    data = CIFAR100(tmp_path, download=True)
    assert data.targets == LABELS["a"]
    assert data.classes == NAMES
    assert files_in(tmp_path)[0] == "cifar-100-python"
    assert small.requests == ["/cifar-100-python.tar.gz?latest"]


def test_transforms_are_applied(small, tmp_path):
    data = CIFAR10(tmp_path, False, lambda image: image.size, lambda target: -target, True)
    assert data[0] == ((32, 32), -3)


@pytest.mark.parametrize("name", ["a", "e", "test", "meta"])
def test_a_damaged_file_is_found_and_unpacked_again(small, tmp_path, name):
    CIFAR10(tmp_path, download=True)
    path = tmp_path / "cifar-10-batches-py" / name
    path.write_bytes(path.read_bytes() + b".")
    with pytest.raises(
        MissingData,
        match=rf"CIFAR10: Dataset not found or corrupted\. .*cifar-10-batches-py lacks {name}, or .*download=True",
    ):
        CIFAR10(tmp_path)
    CIFAR10(tmp_path, download=True)
    assert len(small.requests) == 1


def test_missing_files_say_what_to_do(small, tmp_path):
    with pytest.raises(
        RuntimeError,
        match="lacks a, b, c, d, e, test, meta, or has them with another checksum. You can use",
    ):
        CIFAR10(tmp_path)
    assert small.requests == []


def test_a_wrong_archive_leaves_nothing(small, tmp_path):
    small.files["/cifar-10-python.tar.gz?latest"] += b"."
    with pytest.raises(DownloadError):
        CIFAR10(tmp_path, download=True)
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        (
            "a",
            cifar_batch(IMAGES["a"], LABELS["a"], "other"),
            "don't hold images and labels: KeyError",
        ),
        ("a", cifar_batch(IMAGES["a"], [1]), "there are 10 images and 9 targets"),
        (
            "a",
            cifar_batch(IMAGES["a"][:, :, :31], LABELS["a"]),
            "don't hold images and labels: ValueError",
        ),
        ("a", b"\x80\x02].", "don't hold images and labels: TypeError"),
        ("meta", cifar_meta(NAMES, "other"), "KeyError"),
    ],
)
def test_other_contents_are_refused(small, tmp_path, monkeypatch, name, data, says):
    CIFAR10(tmp_path, download=True)
    (tmp_path / "cifar-10-batches-py" / name).write_bytes(data)
    if name == "meta":
        monkeypatch.setattr(CIFAR10, "meta", (name, md5(data)))
    else:
        monkeypatch.setattr(CIFAR10, "train_list", [(name, md5(data)), *CIFAR10.train_list[1:]])
    with pytest.raises(FileFormatError, match=f"CIFAR10: .*{says}"):
        CIFAR10(tmp_path)


def test_the_checksums_are_those_that_were_published():
    assert (CIFAR10.filename, CIFAR10.tgz_md5) == (
        "cifar-10-python.tar.gz",
        "c58f30108f718f92721af3b95e74349a",
    )
    assert CIFAR10.url == "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    assert dict(CIFAR10.train_list) == {
        "data_batch_1": "c99cafc152244af753f735de768cd75f",
        "data_batch_2": "d4bba439e000b95fd0a9bffe97cbabec",
        "data_batch_3": "54ebc095f3ab1f0389bbae665268c751",
        "data_batch_4": "634d18415352ddfa80567beed471001a",
        "data_batch_5": "482c414d41f54cd18b22e5b47cb7c3cb",
    }
    assert CIFAR10.test_list == (("test_batch", "40351d587109b95175f43aff81a1287e"),)
    assert CIFAR10.meta == ("batches.meta", "5ff9c542aee3614f3951f8cda6e48888")
    assert (CIFAR100.filename, CIFAR100.tgz_md5) == (
        "cifar-100-python.tar.gz",
        "eb9058c3a382ffc7106e4002c42a8d85",
    )
    assert CIFAR100.url == "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    assert CIFAR100.train_list == (("train", "16019d7e3df5f24257cddd939b257f8d"),)
    assert CIFAR100.test_list == (("test", "f0ef6b0ae62326f3e7ffdfab6717acfc"),)
    assert CIFAR100.meta == ("meta", "7973b15100ade9c7d40fb424638fde48")
