"""Images in folders, one folder for each class."""

import os

from .optional import require
from .vision import VisionDataset

__all__ = [
    "IMG_EXTENSIONS",
    "DatasetFolder",
    "ImageFolder",
    "default_loader",
    "find_classes",
    "make_dataset",
]

IMG_EXTENSIONS = (
    *(".jpg", ".jpeg", ".png", ".ppm", ".bmp"),
    *(".pgm", ".tif", ".tiff", ".webp"),
)


def find_classes(directory):
    """Return the names of the folders in a folder, sorted, and a dict from each to its number.

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    classes = sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())
    if not classes:
        raise FileNotFoundError(
            f"find_classes: Couldn't find any class folder in {os.fspath(directory)}; expected a folder for each "
            "class, with its files in it"
        )
    return classes, {name: i for i, name in enumerate(classes)}


def make_dataset(
    directory, class_to_idx=None, extensions=None, is_valid_file=None, allow_empty=False
):
    """Return the files of each class, as a list of (path, number of the class).

    Parameters
    ----------
    directory : path of the folder with the folders of the classes
    class_to_idx : dict from the name of a folder to the number of its class; all folders,
        sorted, if not given
    extensions : str or sequence of str, what the name of a file may end with, in any case; or
        instead of it
    is_valid_file : function from a path to whether the file counts
    allow_empty : True to accept a class without files

    Returns
    -------
    list, sorted by class, then by folder and name; folders in the folder of a class, and links, are followed

    Raises
    ------
    ValueError
        If both or none of `extensions` and `is_valid_file` are given, or `class_to_idx` is empty.
    FileNotFoundError
        If a class has no file.
    """
    directory = os.path.expanduser(directory)
    if class_to_idx is None:
        _, class_to_idx = find_classes(directory)
    elif not class_to_idx:
        raise ValueError(
            "make_dataset: class_to_idx is empty; it must have at least one entry to collect any samples"
        )
    if (extensions is None) == (is_valid_file is None):
        raise ValueError(
            "make_dataset: Both extensions and is_valid_file cannot be None or not None at the same time"
        )
    if extensions is not None:
        endings = (extensions,) if isinstance(extensions, str) else tuple(extensions)

        def is_valid_file(path):
            return path.lower().endswith(endings)

    samples, empty = [], []
    for name in sorted(class_to_idx):
        paths = [path for path in files_below(os.path.join(directory, name)) if is_valid_file(path)]
        samples += [(path, class_to_idx[name]) for path in paths]
        if not paths:
            empty.append(name)
    if empty and not allow_empty:
        hint = "" if extensions is None else f" Supported extensions are: {', '.join(endings)}."
        raise FileNotFoundError(
            f"make_dataset: Found no valid file for the classes {', '.join(empty)} in {directory}.{hint} Remove the "
            "folders, or give allow_empty=True"
        )
    return samples


def files_below(folder):
    """Return the paths of all files below a folder, sorted by folder, then by name."""
    return [
        os.path.join(place, name)
        for place, _, names in sorted(os.walk(folder, followlinks=True))
        for name in sorted(names)
    ]


def default_loader(path):
    """Read an image file with Pillow, as an image in mode RGB."""
    with open(path, "rb") as file, require("PIL.Image", "default_loader").open(file) as image:
        return image.convert("RGB")


class DatasetFolder(VisionDataset):
    """Files in folders: `root/dog/1.ext`, `root/dog/2.ext`, `root/cat/a.ext`.

    A sample is what `loader` makes of a file, and the number of its class.

    Parameters
    ----------
    root : path of the folder with a folder for each class
    loader : function from a path to a sample
    extensions : sequence of str, what the names of the files end with, in lower case; or
        instead of it
    transform, target_transform : functions of the sample and of the target
    is_valid_file : function from a path to whether the file counts
    allow_empty : True to accept a class without files

    Attributes
    ----------
    classes : list of str, the names of the folders, sorted
    class_to_idx : dict from a class to its number
    samples : list of (path, number of the class), sorted
    targets : list of int

    Raises
    ------
    FileNotFoundError
        If there is no class, or a class has no file.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> load = lambda path: pathlib.Path(path).read_text()
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for kind in ("short", "tall"):
    ...         pathlib.Path(root, kind).mkdir()
    ...         _ = pathlib.Path(root, kind, "1.txt").write_text(f"a {kind} one")
    ...     data = DatasetFolder(root, load, extensions=(".txt",))
    ...     print(data[0], data.classes)
    ('a short one', 0) ['short', 'tall']
    """

    def __init__(
        self,
        root,
        loader,
        extensions=None,
        transform=None,
        target_transform=None,
        is_valid_file=None,
        allow_empty=False,
    ):
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes, self.class_to_idx = self.find_classes(self.root)
        self.samples = self.make_dataset(
            self.root, self.class_to_idx, extensions, is_valid_file, allow_empty
        )
        self.targets = [target for _, target in self.samples]
        self.loader = loader
        self.extensions = extensions

    def find_classes(self, directory):
        """Return the classes and their numbers; a subclass may find others."""
        return find_classes(directory)

    @staticmethod
    def make_dataset(
        directory, class_to_idx, extensions=None, is_valid_file=None, allow_empty=False
    ):
        """Return the samples; a subclass may find others."""
        if class_to_idx is None:
            raise ValueError("make_dataset: The class_to_idx parameter cannot be None.")
        return make_dataset(directory, class_to_idx, extensions, is_valid_file, allow_empty)

    def __getitem__(self, index):
        path, target = self.samples[index]
        return self.transformed(self.loader(path), target)

    def __len__(self):
        return len(self.samples)


class ImageFolder(DatasetFolder):
    """Images in folders: `root/dog/1.png`, `root/dog/2.jpg`, `root/cat/a.png`.

    A sample is an image of Pillow in mode RGB and the number of its class.

    Parameters
    ----------
    root : path of the folder with a folder for each class
    transform, target_transform : functions of the image and of the target
    loader : function from a path to an image
    is_valid_file : function from a path to whether the file counts; by default the names end as
        those of images do
    allow_empty : True to accept a class without images

    Attributes
    ----------
    imgs : the list `samples`; the others are those of `DatasetFolder`

    Raises
    ------
    FileNotFoundError
        If there is no class, or a class has no image.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> from tensorlab.datasets.transforms.functional import to_pil_image
    >>> import tensorlab
    >>> with tempfile.TemporaryDirectory() as root:
    ...     for kind in ("cat", "dog"):
    ...         folder = pathlib.Path(root, kind)
    ...         folder.mkdir()
    ...         to_pil_image(tensorlab.rand(3, 8, 8)).save(folder / "1.png")
    ...     data = ImageFolder(root)
    ...     print(len(data), data.class_to_idx, data[1][1])
    2 {'cat': 0, 'dog': 1} 1
    """

    def __init__(
        self,
        root,
        transform=None,
        target_transform=None,
        loader=default_loader,
        is_valid_file=None,
        allow_empty=False,
    ):
        super().__init__(
            root,
            loader,
            IMG_EXTENSIONS if is_valid_file is None else None,
            transform,
            target_transform,
            is_valid_file,
            allow_empty,
        )
        self.imgs = self.samples
