"""Digits, random images, texts, and what sets of images share."""

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import tensorlab
from tensorlab.datasets import (
    Digits,
    FakeData,
    TextFile,
    TinyShakespeare,
    VisionDataset,
    optional,
    transforms,
)
from tensorlab.datasets.vision import StandardTransform
from tensorlab.errors import DownloadError, MissingData, MissingExtra
from tests.datasets.pictures import as_array, picture
from tests.datasets.served import files_in, server
from tests.oracle import require_torch

__all__ = ["server"]


# ------------------------------------------------------------ what they share
class Squares(VisionDataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return self.transformed(index, index**2)

    def extra_repr(self):
        return "One: 1\nTwo: 2"


def test_a_sample_goes_through_its_transforms():
    assert Squares()[2] == (2, 4)
    assert Squares(transform=str)[2] == ("2", 4)
    assert Squares(target_transform=str)[2] == (2, "4")
    assert Squares(transform=str, target_transform=float)[2] == ("2", 4.0)
    assert Squares(transforms=lambda image, target: (target, image))[2] == (4, 2)


def test_both_kinds_of_transforms_exclude_each_other():
    for options in ({"transform": str}, {"target_transform": str}):
        with pytest.raises(
            ValueError, match="Squares: Only transforms or transform/target_transform can"
        ):
            Squares(transforms=max, **options)
    data = Squares(transform=str, target_transform=float)
    assert (data.transform, data.target_transform) == (str, float)
    assert isinstance(data.transforms, StandardTransform)
    assert Squares().transforms is None
    assert Squares(transforms=max).transforms is max


def test_the_root_may_be_in_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "/home/reader")
    assert Squares("~/data").root == "/home/reader/data"
    assert Squares(tmp_path).root is tmp_path


def test_a_set_prints_what_it_is():
    assert repr(Squares()) == "Dataset Squares\n    Number of datapoints: 3\n    One: 1\n    Two: 2"
    data = Squares(
        "there",
        transform=transforms.Compose([transforms.ToTensor()]),
        target_transform=transforms.Lambda(abs),
    )
    assert repr(data) == (
        "Dataset Squares\n    Number of datapoints: 3\n    Root location: there\n    One: 1\n    Two: 2\n"
        "    StandardTransform\n"
        "Transform: Compose(\n"
        "               ToTensor()\n"
        "           )\n"
        "Target transform: Lambda()"
    )
    assert (
        repr(StandardTransform(target_transform=transforms.Lambda(abs)))
        == "StandardTransform\nTarget transform: Lambda()"
    )
    assert StandardTransform()(1, 2) == (1, 2)


def test_a_subclass_defines_what_is_missing():
    with pytest.raises(NotImplementedError, match=r"VisionDataset: define __len__"):
        len(VisionDataset())
    with pytest.raises(NotImplementedError, match="__getitem__"):
        VisionDataset()[0]
    assert VisionDataset().extra_repr() == ""


# ------------------------------------------------------------ digits
def test_digits_are_scikit_learn_s():
    from sklearn.datasets import load_digits

    digits = load_digits()
    train, test = Digits(), Digits(train=False)
    assert (len(train), len(test)) == (1437, 360)
    pixels = np.concatenate([train.data.numpy(), test.data.numpy()])
    assert pixels.dtype == np.uint8
    assert (pixels.min(), pixels.max()) == (0, 255)
    np.testing.assert_array_equal((pixels / 255 * 16).round(), digits.images)
    assert np.abs(pixels / 255 - digits.images / 16).max() <= 0.5 / 255 + 1e-9
    targets = train.targets.tolist() + test.targets.tolist()
    assert targets == digits.target.tolist()
    assert train.targets.dtype is tensorlab.int64


def test_a_digit_is_an_image_and_a_number():
    test = Digits(False)
    image, target = test[5]
    assert isinstance(image, Image.Image)
    assert (image.mode, image.size, type(target)) == ("L", (8, 8), int)
    np.testing.assert_array_equal(np.asarray(image), test.data[5].numpy())
    assert target == test.targets[5].item()
    assert test.classes == list("0123456789")
    assert test.class_to_idx["7"] == 7
    test.classes.append("x")
    assert len(Digits().classes) == 10
    assert sum(1 for _ in test) == 360
    assert Digits(True, lambda image: image.size, lambda target: -target)[3] == ((8, 8), -3)
    assert repr(Digits()) == "Dataset Digits\n    Number of datapoints: 1437\n    Split: Train"


def test_every_digit_is_in_both_parts():
    for train, least in ((True, 140), (False, 33)):
        assert Digits(train).targets.bincount().min() >= least


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(
        MissingExtra,
        match=r'^Digits: scikit-learn is needed and isn\'t installed; run pip install "tensorlab-book\[data\]"$',
    ):
        Digits()


def test_the_package_imports_no_optional_one():
    code = (
        "import sys, tensorlab; x = tensorlab.datasets.transforms.Resize(2)(tensorlab.zeros(3, 4, 4)); "
        "print([name for name in ('PIL', 'pooch', 'sklearn', 'requests') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_what_is_an_image_is_known_without_pillow(monkeypatch):
    assert optional.is_pil_image(picture())
    assert not optional.is_pil_image(3)
    img = picture()
    monkeypatch.delitem(sys.modules, "PIL.Image")
    assert not optional.is_pil_image(img)


# ------------------------------------------------------------ random images
def test_random_images_are_the_same_each_time():
    data = FakeData(5, (3, 6, 8), 4)
    assert len(data) == 5
    for (image, target), (again, same) in zip(data, data, strict=True):
        assert (image.mode, image.size, type(target)) == ("RGB", (8, 6), int)
        assert image.tobytes() == again.tobytes()
        assert target == same
        assert 0 <= target < 4
    assert data[0][0].tobytes() != data[1][0].tobytes()
    assert {target for _, target in FakeData(40, (1, 1, 1), 4)} == {0, 1, 2, 3}


def test_random_images_are_pytorch_s():
    torch = require_torch()
    for offset in (0, 100):
        data = FakeData(3, (3, 6, 8), 7, random_offset=offset)
        for i in range(3):
            torch.manual_seed(i + offset)
            pixels = torch.randn(3, 6, 8).mul(255).byte()
            image, target = data[i]
            np.testing.assert_array_equal(as_array(image), pixels.numpy())
            assert target == torch.randint(0, 7, size=(1,)).item()


def test_the_default_generator_does_not_move():
    before = tensorlab.get_rng_state()
    FakeData(1, (1, 2, 2))[0]
    assert tensorlab.get_rng_state().equal(before)


def test_random_images_end():
    data = FakeData(
        2, (1, 2, 2), transform=lambda image: image.size, target_transform=lambda target: -target
    )
    assert data[1][0] == (2, 2)
    assert data[1][1] <= 0
    with pytest.raises(IndexError, match="FakeData index out of range: 2, and there are 2 samples"):
        data[2]
    default = FakeData()
    assert (len(default), default.image_size, default.num_classes, default.random_offset) == (
        1000,
        (3, 224, 224),
        10,
        0,
    )
    assert repr(data).startswith(
        "Dataset FakeData\n    Number of datapoints: 2\n    StandardTransform"
    )


# ------------------------------------------------------------ texts
@pytest.fixture
def word(tmp_path):
    path = tmp_path / "word.txt"
    path.write_bytes("bänana bread".encode())
    return path


def test_a_text_becomes_numbers_and_windows(word):
    text = TextFile(word, length=4)
    assert text.text == "bänana bread"
    assert (
        text.vocabulary == sorted(set("bänana bread")) == [" ", "a", "b", "d", "e", "n", "r", "ä"]
    )
    assert text.data.tolist() == [2, 7, 5, 1, 5, 1, 0, 2, 6, 4, 1, 3]
    assert text.data.dtype is tensorlab.int64
    assert text.decode(text.data) == text.decode(text.data.tolist()) == text.text
    assert text.encode("bad").tolist() == [2, 1, 3]
    assert text.encode("").dtype is tensorlab.int64
    assert len(text) == 8
    for i in range(8):
        x, y = text[i]
        assert text.decode(x) == text.text[i : i + 4]
        assert text.decode(y) == text.text[i + 1 : i + 5]
    assert text[-1][1].equal(text[7][1])
    assert text[-8][0].equal(text[0][0])
    for index in (8, -9):
        with pytest.raises(
            IndexError, match=f"TextFile: index {index} is out of range for 8 samples"
        ):
            text[index]


def test_parts_of_a_text_share_the_vocabulary(word):
    first, second = TextFile(word, 2, part=(0, 0.5)), TextFile(word, 2, part=(0.5, 1))
    assert first.text + second.text == "bänana bread"
    assert first.text == "bänana"
    assert first.vocabulary == second.vocabulary
    assert first.data.tolist() + second.data.tolist() == TextFile(word).data.tolist()
    assert len(second) == 4


def test_a_text_shorter_than_a_sample_has_none(word):
    assert len(TextFile(word, 11)) == 1
    assert len(TextFile(word, 12)) == 0
    assert len(TextFile(word, 100)) == 0
    assert TextFile(word).length == 64


def test_the_encoding_of_a_text(word):
    assert TextFile(word, encoding="latin1").text == "bÃ¤nana bread"


def test_wrong_arguments_of_a_text_are_refused(word):
    for length in (0, -1):
        with pytest.raises(ValueError, match=f"TextFile: length is {length}; expected at least 1"):
            TextFile(word, length)
    assert TextFile(word, 1)[0][0].tolist() == [2]
    for part in ((-0.1, 1), (0, 1.1), (0.6, 0.5)):
        with pytest.raises(ValueError, match="expected two fractions, 0 <= begin <= end <= 1"):
            TextFile(word, part=part)
    with pytest.raises(ValueError, match=r"TextFile: \['q', 'z'\] aren't among the 8 characters"):
        TextFile(word).encode("zebra q")


PLAY = ("First Citizen:\nBefore we proceed any further, hear me speak.\n" * 20).encode()


@pytest.fixture
def play(server, monkeypatch):
    server.files["/input.txt"] = PLAY
    monkeypatch.setattr(TinyShakespeare, "url", server.url + "/input.txt")
    monkeypatch.setattr(TinyShakespeare, "checksum", "sha256:" + hashlib.sha256(PLAY).hexdigest())
    return server


def test_the_play_is_fetched_once(play, tmp_path):
    train = TinyShakespeare(tmp_path, download=True, length=10)
    test = TinyShakespeare(str(tmp_path), train=False, length=10)
    TinyShakespeare(tmp_path, download=True)
    assert play.requests == ["/input.txt"]
    assert files_in(tmp_path) == ["TinyShakespeare", "TinyShakespeare/input.txt"]
    assert train.text + test.text == PLAY.decode()
    assert len(train.text) == int(0.9 * len(PLAY))
    assert train.vocabulary == test.vocabulary
    assert (train.length, TinyShakespeare(tmp_path).length) == (10, 64)
    assert (train.train, test.train) == (True, False)
    assert train[0][0].tolist() == train.encode("First Citi").tolist()


def test_a_missing_or_damaged_play_says_what_to_do(play, tmp_path):
    with pytest.raises(
        MissingData,
        match=r"TinyShakespeare: .*TinyShakespeare/input.txt isn't there, or .*download=True",
    ):
        TinyShakespeare(tmp_path)
    (tmp_path / "TinyShakespeare").mkdir()
    (tmp_path / "TinyShakespeare" / "input.txt").write_bytes(PLAY[:-1])
    with pytest.raises(MissingData):
        TinyShakespeare(tmp_path)
    assert play.requests == []
    TinyShakespeare(tmp_path, download=True)
    play.files["/input.txt"] = b"another play"
    with pytest.raises(DownloadError):
        TinyShakespeare(tmp_path / "new", download=True)
    assert files_in(tmp_path / "new") == ["TinyShakespeare"]


def test_the_play_in_the_home_folder(play, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert TinyShakespeare("~/plays", download=True).root == str(tmp_path / "plays")
    assert os.path.isfile(tmp_path / "plays" / "TinyShakespeare" / "input.txt")


def test_the_play_is_karpathy_s():
    assert (
        TinyShakespeare.checksum
        == "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    )
    assert TinyShakespeare.url.endswith("karpathy/char-rnn/master/data/tinyshakespeare/input.txt")
    assert (int(0.9 * 1115394), 1115394 - int(0.9 * 1115394)) == (
        1003854,
        111540,
    )  # as the docstring says


def test_a_missing_set_is_explained():
    with pytest.raises(AttributeError, match="has no 'ImageFoldr'; did you mean 'ImageFolder'"):
        tensorlab.datasets.ImageFoldr  # noqa: B018
