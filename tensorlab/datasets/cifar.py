"""CIFAR-10 and CIFAR-100: small colour images of ten or a hundred classes."""

import os

import numpy as np

from ..errors import FileFormatError, MissingData
from .array_pickle import read_arrays
from .transforms.functional import to_pil_image
from .utils import check_integrity, download_and_extract_archive
from .vision import VisionDataset

__all__ = ["CIFAR10", "CIFAR100"]


class CIFAR10(VisionDataset):
    """Photographs of ten kinds of animals and vehicles: 50,000 of 32 x 32 pixels to train with, 10,000 to test.

    A sample is an image of Pillow in mode RGB and an int from 0 to 9.

    Parameters
    ----------
    root : path of the folder that has or gets the folder `cifar-10-batches-py`
    train : True for the training set, False for the test set
    transform, target_transform : functions of the image and of the target
    download : True to fetch the files if one is missing or damaged (170 MB)

    Attributes
    ----------
    data : array of NumPy's, shape (samples, 32, 32, 3), uint8
    targets : list of int
    classes : list of str
    class_to_idx : dict from a class to its number

    Raises
    ------
    MissingData
        If a file is missing or damaged and `download` is False; it is a RuntimeError.
    DownloadError
        If the archive can't be fetched, or has another checksum.
    FileFormatError
        If a file holds something else than images and targets.

    Notes
    -----
    The files are pickles; `array_pickle.py` reads them, which runs nothing that they name.
    Source: A. Krizhevsky, Learning multiple layers of features from tiny images, 2009.
    """

    base_folder = "cifar-10-batches-py"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    filename = "cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"
    train_list: tuple[tuple[str, str], ...] = (  # each file, and its MD5
        ("data_batch_1", "c99cafc152244af753f735de768cd75f"),
        ("data_batch_2", "d4bba439e000b95fd0a9bffe97cbabec"),
        ("data_batch_3", "54ebc095f3ab1f0389bbae665268c751"),
        ("data_batch_4", "634d18415352ddfa80567beed471001a"),
        ("data_batch_5", "482c414d41f54cd18b22e5b47cb7c3cb"),
    )
    test_list = (("test_batch", "40351d587109b95175f43aff81a1287e"),)
    meta = ("batches.meta", "5ff9c542aee3614f3951f8cda6e48888")
    labels_key, names_key = "labels", "label_names"

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        if download:
            self.download()
        self.check_files()
        batches = [self.read(name) for name, _ in (self.train_list if train else self.test_list)]
        try:
            images = np.concatenate([batch["data"] for batch in batches])
            # In the file: all red, then all green, then all blue numbers of an image.
            self.data = images.reshape(len(images), 3, 32, 32).transpose(0, 2, 3, 1)
            self.targets = [label for batch in batches for label in batch[self.labels_key]]
            self.classes = list(self.read(self.meta[0])[self.names_key])
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{type(self).__name__}: the files in {self.folder} don't hold images and {self.labels_key}: {error!r}"
            ) from error
        if len(self.data) != len(self.targets):
            raise FileFormatError(
                f"{type(self).__name__}: there are {len(self.data)} images and {len(self.targets)} targets in "
                f"{self.folder}"
            )

    @property
    def folder(self):
        """The folder of the files."""
        return os.path.join(self.root, self.base_folder)

    @property
    def class_to_idx(self):
        """The number of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def read(self, name):
        return read_arrays(os.path.join(self.folder, name))

    def missing_files(self):
        """Return the names of the files that are missing or damaged."""
        return [
            name
            for name, md5 in (*self.train_list, *self.test_list, self.meta)
            if not check_integrity(os.path.join(self.folder, name), md5)
        ]

    def check_files(self):
        """Raise MissingData if a file is missing or damaged."""
        missing = ", ".join(self.missing_files())
        if missing:
            raise MissingData(
                f"{type(self).__name__}: Dataset not found or corrupted. {self.folder} lacks {missing}, or has them "
                "with another checksum. You can use download=True to download it"
            )

    def download(self):
        """Fetch and unpack the archive if a file is missing or damaged."""
        if self.missing_files():
            download_and_extract_archive(
                self.url, self.root, filename=self.filename, md5=self.tgz_md5
            )

    def __getitem__(self, index):
        return self.transformed(to_pil_image(self.data[index]), self.targets[index])

    def __len__(self):
        return len(self.data)

    def extra_repr(self):
        return f"Split: {'Train' if self.train else 'Test'}"


class CIFAR100(CIFAR10):
    """Photographs of a hundred kinds of things: 50,000 of 32 x 32 pixels to train with, 10,000 to test.

    Parameters, attributes and errors are those of `CIFAR10`; the folder is `cifar-100-python`, and a target is an int
    from 0 to 99, the fine label.
    """

    base_folder = "cifar-100-python"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    filename = "cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    train_list = (("train", "16019d7e3df5f24257cddd939b257f8d"),)
    test_list = (("test", "f0ef6b0ae62326f3e7ffdfab6717acfc"),)
    meta = ("meta", "7973b15100ade9c7d40fb424638fde48")
    labels_key, names_key = "fine_labels", "fine_label_names"
