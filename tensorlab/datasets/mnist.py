"""MNIST and the sets in its format: small gray images of ten classes."""

import os

from ..errors import DownloadError, FileFormatError, MissingData
from .idx import read_idx
from .transforms.functional import to_pil_image
from .utils import check_integrity, download_and_extract_archive
from .vision import VisionDataset

__all__ = ["MNIST", "FashionMNIST"]


class MNIST(VisionDataset):
    """Handwritten digits: 60,000 gray images of 28 x 28 pixels to train with, 10,000 to test.

    A sample is an image of Pillow in mode L and an int from 0 to 9.

    Parameters
    ----------
    root : path of the folder that has or gets the files, as `MNIST/raw/train-images-idx3-ubyte`
        and so on
    train : True for the training set, False for the test set
    transform, target_transform : functions of the image and of the target
    download : True to fetch the files that aren't there (12 MB)

    Attributes
    ----------
    data : Tensor, shape (samples, 28, 28), uint8
    targets : Tensor, shape (samples,), int64
    classes : list of str
    class_to_idx : dict from a class to its number

    Raises
    ------
    MissingData
        If files are missing and `download` is False; it is a RuntimeError.
    DownloadError
        If a file can't be fetched, or has another checksum.
    FileFormatError
        If a file is damaged.

    Notes
    -----
    Source: Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, Gradient-based learning applied to document recognition, 1998.
    """

    # Folders on the network that have the files: if one fails, the next is asked.
    mirrors = ("https://ossci-datasets.s3.amazonaws.com/mnist/",)
    resources = (  # each file, and its MD5
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    )
    classes = (
        *("0 - zero", "1 - one", "2 - two", "3 - three", "4 - four"),
        *("5 - five", "6 - six", "7 - seven", "8 - eight", "9 - nine"),
    )

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        self.classes = list(type(self).classes)
        if download:
            self.download()
        self.check_files()
        part = "train" if train else "t10k"
        self.data = read_idx(self.file(f"{part}-images-idx3-ubyte"), ndim=3)
        self.targets = read_idx(self.file(f"{part}-labels-idx1-ubyte"), ndim=1).long()
        if len(self.data) != len(self.targets):
            raise FileFormatError(
                f"{type(self).__name__}: there are {len(self.data)} images and {len(self.targets)} targets in "
                f"{self.raw_folder}; delete its files and give download=True"
            )

    @property
    def raw_folder(self):
        """The folder of the files."""
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def class_to_idx(self):
        """The number of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def file(self, name):
        return os.path.join(self.raw_folder, name)

    def missing_files(self):
        """Return the files that aren't there, as (compressed name, checksum)."""
        return [
            (name, md5)
            for name, md5 in self.resources
            if not check_integrity(self.file(name.removesuffix(".gz")))
        ]

    def check_files(self):
        """Raise MissingData if a file isn't there."""
        missing = ", ".join(name.removesuffix(".gz") for name, _ in self.missing_files())
        if missing:
            raise MissingData(
                f"{type(self).__name__}: Dataset not found. {self.raw_folder} lacks {missing}. You can use "
                "download=True to download it"
            )

    def download(self):
        """Fetch and unpack the files that aren't there."""
        for name, md5 in self.missing_files():
            failures = []
            for mirror in self.mirrors:
                try:
                    download_and_extract_archive(mirror + name, self.raw_folder, md5=md5)
                    break
                except DownloadError as error:
                    failures.append(str(error))
            else:
                raise DownloadError(
                    f"{type(self).__name__}: Error downloading {name}:\n" + "\n".join(failures)
                )

    def __getitem__(self, index):
        image = to_pil_image(self.data[index])
        return self.transformed(image, self.targets[index].item())

    def __len__(self):
        return len(self.data)

    def extra_repr(self):
        return f"Split: {'Train' if self.train else 'Test'}"


class FashionMNIST(MNIST):
    """Clothes: 60,000 gray images of 28 x 28 pixels to train with, 10,000 to test, in the format of MNIST.

    Parameters, attributes and errors are those of `MNIST`; the files are in `FashionMNIST/raw` (31 MB).

    Notes
    -----
    Source: H. Xiao, K. Rasul, R. Vollgraf, Fashion-MNIST: a novel image dataset for benchmarking machine learning
    algorithms, 2017.
    """

    mirrors = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
    resources = (
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    )
    classes = (
        *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
        *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
    )
