"""The digits that come with scikit-learn: a data set that needs no network."""

import numpy as np

from .._core.interop.arrays import from_numpy
from .optional import require
from .transforms.functional import to_pil_image
from .vision import VisionDataset

__all__ = ["Digits"]

TRAINING = 1437  # of 1,797: four of five
DARKEST = 16  # pixels are counts from 0 to 16


class Digits(VisionDataset):
    """Handwritten digits: 1,437 gray images of 8 x 8 pixels to train with, 360 to test; offline.

    A sample is an image of Pillow in mode L and an int from 0 to 9.

    Parameters
    ----------
    train : True for the training set, False for the test set
    transform, target_transform : functions of the image and of the target

    Attributes
    ----------
    data : Tensor, shape (samples, 8, 8), uint8
    targets : Tensor, shape (samples,), int64
    classes : list of str
    class_to_idx : dict from a class to its number

    Raises
    ------
    MissingExtra
        If scikit-learn isn't installed; it is an ImportError.

    Notes
    -----
    The split is fixed: the first 1,437 images, in the order of scikit-learn's file, are for training and the last 360
    for testing. In that order the digits of one writer follow each other, about 130 of them, so most test images are by
    writers that no training image is by. That makes it a harder test than a random split.

    scikit-learn's pixels are counts from 0 to 16; here they are multiplied by 255 / 16 and rounded, so that images look
    right and `ToTensor` gives numbers from 0 to 1.

    Source: E. Alpaydin, C. Kaynak, Optical recognition of handwritten digits, 1998 (UCI machine learning repository).

    Examples
    --------
    >>> digits = Digits(train=False)
    >>> digits
    Dataset Digits
        Number of datapoints: 360
        Split: Test
    """

    classes = tuple("0123456789")

    def __init__(self, train=True, transform=None, target_transform=None):
        super().__init__(transform=transform, target_transform=target_transform)
        self.train = train
        self.classes = list(type(self).classes)
        digits = require("sklearn.datasets", "Digits").load_digits()
        part = slice(None, TRAINING) if train else slice(TRAINING, None)
        pixels = np.rint(digits.images[part] * (255 / DARKEST)).astype(np.uint8)
        self.data = from_numpy(pixels)
        self.targets = from_numpy(digits.target[part].astype(np.int64))

    @property
    def class_to_idx(self):
        """The number of each class."""
        return {name: i for i, name in enumerate(self.classes)}

    def __getitem__(self, index):
        image = to_pil_image(self.data[index])
        return self.transformed(image, self.targets[index].item())

    def __len__(self):
        return len(self.data)

    def extra_repr(self):
        return f"Split: {'Train' if self.train else 'Test'}"
