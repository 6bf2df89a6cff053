"""What data sets of images share: the folder, the transforms, and how they print."""

import os

from ..utils.data.dataset import Dataset

__all__ = ["StandardTransform", "VisionDataset"]


class VisionDataset(Dataset):
    """Base class of data sets of images: a subclass defines `__getitem__` and `__len__`.

    Parameters
    ----------
    root : path of the folder with the files; `~` means the home folder
    transforms : function of (image, target) to both; or instead of it
    transform, target_transform : functions of the image and of the target

    Raises
    ------
    ValueError
        If `transforms` is given together with one of the others.

    Examples
    --------
    >>> import tensorlab
    >>> class Squares(VisionDataset):
    ...     def __getitem__(self, i):
    ...         return tensorlab.full((1, 2, 2), float(i)), i * i
    ...     def __len__(self):
    ...         return 10
    ...
    >>> Squares()[3][1]
    9
    """

    def __init__(self, root=None, transforms=None, transform=None, target_transform=None):
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError(
                f"{type(self).__name__}: Only transforms or transform/target_transform can be passed as argument"
            )
        self.root = os.path.expanduser(root) if isinstance(root, str) else root
        self.transform = transform
        self.target_transform = target_transform
        if transform is not None or target_transform is not None:
            transforms = StandardTransform(transform, target_transform)
        self.transforms = transforms

    def __len__(self):
        raise NotImplementedError(f"{type(self).__name__}: define __len__(self)")

    def transformed(self, image, target):
        """Return a sample after its transforms."""
        return (image, target) if self.transforms is None else self.transforms(image, target)

    def extra_repr(self):
        """Return lines that a subclass adds to its repr."""
        return ""

    def __repr__(self):
        lines = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            lines.append(f"Root location: {self.root}")
        lines += self.extra_repr().splitlines()
        if self.transforms is not None:
            lines.append(repr(self.transforms))
        return "\n".join([f"Dataset {type(self).__name__}", *(f"    {line}" for line in lines)])


class StandardTransform:
    """Two functions as one: of the image and of the target.

    Parameters
    ----------
    transform, target_transform : functions, or None to leave the image or target as it is
    """

    def __init__(self, transform=None, target_transform=None):
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input, target):
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def __repr__(self):
        lines = [type(self).__name__]
        for head, function in (
            ("Transform: ", self.transform),
            ("Target transform: ", self.target_transform),
        ):
            if function is not None:
                first, *rest = repr(function).splitlines()
                lines += [head + first, *(" " * len(head) + line for line in rest)]
        return "\n".join(lines)
