"""Random images, to try a program before its data is there."""

from .._core.random import Generator
from ..ops.random_factories import randint, randn
from .transforms.functional import to_pil_image
from .vision import VisionDataset

__all__ = ["FakeData"]


class FakeData(VisionDataset):
    """Images and targets that are random, and the same every time.

    A sample is an image of Pillow and an int.

    Parameters
    ----------
    size : int, the number of samples
    image_size : (channels, height, width)
    num_classes : int
    transform, target_transform : functions of the image and of the target
    random_offset : int; sample i is made with the seed i + random_offset

    Raises
    ------
    IndexError
        For a sample that isn't there.

    Notes
    -----
    Each sample has a generator of its own, so the default one doesn't move.

    Examples
    --------
    >>> data = FakeData(size=3, image_size=(1, 4, 4), num_classes=2)
    >>> image, target = data[0]
    >>> len(data), image.size
    (3, (4, 4))
    """

    def __init__(
        self,
        size=1000,
        image_size=(3, 224, 224),
        num_classes=10,
        transform=None,
        target_transform=None,
        random_offset=0,
    ):
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.image_size = image_size
        self.num_classes = num_classes
        self.random_offset = random_offset

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError(
                f"{type(self).__name__} index out of range: {index}, and there are {len(self)} samples"
            )
        generator = Generator().manual_seed(index + self.random_offset)
        image = randn(*self.image_size, generator=generator)
        target = randint(0, self.num_classes, size=(1,), generator=generator).item()
        return self.transformed(to_pil_image(image), target)

    def __len__(self):
        return self.size
