"""Folders of files: the order of classes and samples, what counts as an image, and what is refused."""

import os
import sys

import numpy as np
import pytest
from PIL import Image

from tensorlab.datasets import DatasetFolder, ImageFolder
from tensorlab.datasets.folder import IMG_EXTENSIONS, default_loader, find_classes, make_dataset
from tensorlab.errors import MissingExtra
from tests.datasets.pictures import assert_same, picture

FILES = [
    "cat/b.png",
    "cat/a.PNG",
    "cat/deep/z.jpg",
    "cat/deep/Y.bmp",
    "cat/more/1.webp",
    "cat/notes.txt",
    "ant/10.tiff",
    "ant/2.pgm",
    "Zebra/x.jpeg",
    "Zebra/y.ppm",
    "Zebra/w.tif",
    "loose.png",
]
SAMPLES = [
    ("Zebra/w.tif", 0),
    ("Zebra/x.jpeg", 0),
    ("Zebra/y.ppm", 0),
    ("ant/10.tiff", 1),
    ("ant/2.pgm", 1),
    ("cat/a.PNG", 2),
    ("cat/b.png", 2),
    ("cat/deep/Y.bmp", 2),
    ("cat/deep/z.jpg", 2),
    ("cat/more/1.webp", 2),
]


@pytest.fixture
def root(tmp_path):
    for i, name in enumerate(FILES):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("txt"):
            path.write_text("no image")
        elif name.endswith("pgm"):
            picture(3, 4, 1, seed=i).save(path)
        else:
            picture(3, 4, 3, seed=i).save(path)
    return tmp_path / "data"


def below(root, samples):
    return [(os.path.relpath(path, root), target) for path, target in samples]


def test_classes_and_samples_are_sorted(root):
    data = ImageFolder(root)
    assert data.classes == ["Zebra", "ant", "cat"]
    assert data.class_to_idx == {"Zebra": 0, "ant": 1, "cat": 2}
    assert below(root, data.samples) == SAMPLES
    assert data.imgs is data.samples
    assert data.targets == [target for _, target in SAMPLES]
    assert len(data) == 10
    assert data.root == root
    assert data.extensions == IMG_EXTENSIONS
    assert data.loader is default_loader


def test_an_image_is_read_in_colour(root):
    data = ImageFolder(str(root))
    image, target = data[6]
    assert (image.mode, image.size, target) == ("RGB", (4, 3), 2)
    assert_same(image, picture(3, 4, 3, seed=0))
    gray, target = data[4]
    assert (gray.mode, target) == ("RGB", 1)
    assert_same(gray, picture(3, 4, 1, seed=7).convert("RGB"))
    assert data[-1][1] == 2
    with pytest.raises(IndexError):
        data[10]


def test_transforms_and_loader_are_called(root):
    data = ImageFolder(
        root, lambda image: ("seen", image), lambda target: target * 7, loader=os.path.basename
    )
    assert data[5] == (("seen", "a.PNG"), 14)


def test_a_function_may_say_which_files_count(root):
    data = ImageFolder(
        root, is_valid_file=lambda path: path.endswith(("notes.txt", "2.pgm", "y.ppm"))
    )
    assert below(root, data.samples) == [("Zebra/y.ppm", 0), ("ant/2.pgm", 1), ("cat/notes.txt", 2)]
    assert data.extensions is None


def test_samples_of_other_kinds(root):
    data = DatasetFolder(root, loader=len, extensions=(".png", ".jpeg"), allow_empty=True)
    assert below(root, data.samples) == [("Zebra/x.jpeg", 0), ("cat/a.PNG", 2), ("cat/b.png", 2)]
    assert data[0] == (len(data.samples[0][0]), 0)
    assert data.classes == ["Zebra", "ant", "cat"]
    assert data.extensions == (".png", ".jpeg")
    assert make_dataset(root, extensions=".tif", allow_empty=True) == [
        (str(root / "Zebra/w.tif"), 0)
    ]
    assert make_dataset(root, {"cat": 5}, [".jpg"]) == [(str(root / "cat/deep/z.jpg"), 5)]


def test_a_subclass_may_choose_the_classes(root):
    class Pets(ImageFolder):
        def find_classes(self, directory):
            assert directory == str(root)
            return ["cat"], {"cat": 3}

    assert Pets(str(root)).targets == [3] * 5


def test_links_are_followed(root, tmp_path):
    other = tmp_path / "elsewhere"
    other.mkdir()
    picture().save(other / "linked.png")
    os.symlink(other, root / "ant" / "link")
    os.symlink(other, root / "bee")
    data = ImageFolder(root)
    assert data.classes == ["Zebra", "ant", "bee", "cat"]
    assert ("ant/link/linked.png", 1) in below(root, data.samples)
    assert ("bee/linked.png", 2) in below(root, data.samples)


def test_the_root_may_be_in_the_home_folder(root, monkeypatch):
    monkeypatch.setenv("HOME", str(root.parent))
    assert len(ImageFolder("~/data")) == 10
    assert len(make_dataset("~/data", extensions=".png", allow_empty=True)) == 2


def test_a_folder_without_classes_is_refused(tmp_path):
    picture().save(tmp_path / "a.png")
    with pytest.raises(
        FileNotFoundError, match=f"Couldn't find any class folder in {tmp_path}; expected"
    ):
        ImageFolder(tmp_path)
    with pytest.raises(FileNotFoundError):
        find_classes(str(tmp_path))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        ImageFolder(tmp_path / "nowhere")


def test_a_class_without_files_is_refused(root):
    (root / "dog").mkdir()
    (root / "bee").mkdir()
    with pytest.raises(
        FileNotFoundError,
        match=r"Found no valid file for the classes bee, dog in .*\. Supported extensions are: .jpg, .*\. Remove",
    ):
        ImageFolder(root)
    with pytest.raises(
        FileNotFoundError, match=r"for the classes bee, cat, dog in [^ ]*data\. Remove the"
    ):
        ImageFolder(root, is_valid_file=lambda path: "cat" not in path)
    data = ImageFolder(root, allow_empty=True)
    assert data.classes == ["Zebra", "ant", "bee", "cat", "dog"]
    assert set(data.targets) == {0, 1, 3}
    assert make_dataset(root, {"nowhere": 0, "ant": 1}, ".pgm", allow_empty=True) == [
        (str(root / "ant/2.pgm"), 1)
    ]


def test_wrong_arguments_are_refused(root):
    for options in ({}, {"extensions": ".png", "is_valid_file": len}):
        with pytest.raises(
            ValueError, match="Both extensions and is_valid_file cannot be None or not None"
        ):
            make_dataset(root, **options)
        with pytest.raises(ValueError, match="Both extensions and is_valid_file"):
            DatasetFolder(root, len, **options)
    with pytest.raises(ValueError, match="make_dataset: class_to_idx is empty"):
        make_dataset(root, {}, ".png")
    with pytest.raises(ValueError, match="class_to_idx parameter cannot be None"):
        DatasetFolder.make_dataset(root, None, ".png")


def test_a_file_that_is_no_image_is_refused_when_it_is_read(root):
    (root / "ant" / "0.png").write_text("no image")
    data = ImageFolder(root)
    with pytest.raises(OSError, match="cannot identify image file"):
        data[3]


def test_without_pillow_the_error_says_what_to_install(root, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    data = ImageFolder(root)
    with pytest.raises(
        MissingExtra, match=r'^default_loader: Pillow is needed .*"tensorlab-book\[data\]"'
    ):
        data[0]


def test_files_are_closed(root):
    import gc
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        images = [image for image, _ in ImageFolder(root)]
        gc.collect()
    assert all(np.asarray(image).shape == (3, 4, 3) for image in images)
    assert all(isinstance(image, Image.Image) for image in images)
