"""Transforms made of others, or of a function."""

from collections.abc import Sequence

from ...nn.container import ModuleList
from ...nn.module import Module
from ...ops.random_factories import rand

__all__ = ["Compose", "Lambda", "RandomApply"]


def listed(name, lines):
    """Return the repr of a transform that has a line for each part."""
    return "\n".join([f"{name}(", *(f"    {line}" for line in lines), ")"])


class Compose:
    """Apply transforms one after the other.

    Parameters
    ----------
    transforms : sequence of functions from an image to an image

    Examples
    --------
    >>> from tensorlab.datasets import transforms
    >>> transforms.Compose([transforms.CenterCrop(10), transforms.ToTensor()])
    Compose(
        CenterCrop(size=(10, 10))
        ToTensor()
    )
    """

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        return listed(type(self).__name__, self.transforms)


class Lambda:
    """Apply a function. With workers that are spawned, it must be one that pickle can find by name.

    Parameters
    ----------
    lambd : function from an image to an image

    Raises
    ------
    TypeError
        If it can't be called.

    Examples
    --------
    >>> import tensorlab
    >>> Lambda(lambda image: image * 2)(tensorlab.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, lambd):
        if not callable(lambd):
            raise TypeError(
                f"Lambda: Argument lambd should be callable, got {type(lambd).__name__!r}"
            )
        self.lambd = lambd

    def __call__(self, img):
        return self.lambd(img)

    def __repr__(self):
        return f"{type(self).__name__}()"


class RandomApply(Module):
    """Apply all of some transforms, or with probability 1 - p none.

    Parameters
    ----------
    transforms : sequence of functions from an image to an image, or ModuleList
    p : float, the probability

    Raises
    ------
    TypeError
        If `transforms` isn't a sequence.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.datasets.transforms import RandomHorizontalFlip
    >>> RandomApply([RandomHorizontalFlip(p=1.0)], p=1.0)(tensorlab.tensor([[[1.0, 2.0]]]))
    tensor([[[2., 1.]]])
    """

    def __init__(self, transforms, p=0.5):
        super().__init__()
        if not isinstance(transforms, (Sequence, ModuleList)):
            raise TypeError(
                f"RandomApply: Argument transforms should be a sequence, and is a {type(transforms).__name__}"
            )
        self.transforms = transforms
        self.p = p

    def forward(self, img):
        if self.p < rand(1):
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        return listed(type(self).__name__, [f"p={self.p}", *self.transforms])
