"""Text as numbers, one for each character, in windows to train language models with."""

import os

from .._core.interop.exchange import tensor
from ..errors import MissingData
from ..utils.data.dataset import Dataset
from .utils import check_integrity, download_url

__all__ = ["TextFile", "TinyShakespeare"]


class TextFile(Dataset):
    """The characters of a text file: sample i is `length` characters from the i-th on, and those that follow each.

    `encode(text)` gives the numbers of a text, `decode(numbers)` the text of numbers.

    Parameters
    ----------
    path : path of the file
    length : int, the characters of a sample
    part : (begin, end), which part of the text the samples come from, as fractions of its
        length; the vocabulary is that of the whole text, so that parts share their numbers
    encoding : str, the encoding of the file

    Attributes
    ----------
    text : str, this part of the text
    vocabulary : list of str, the characters that occur in the whole text, sorted
    data : Tensor, shape (characters,), int64: the number of each character of `text`

    Raises
    ------
    ValueError
        If `length` is less than 1, or `part` not within 0 and 1.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "word.txt")
    ...     _ = path.write_text("banana")
    ...     text = TextFile(path, length=3)
    >>> text.vocabulary, len(text), text[1]
    (['a', 'b', 'n'], 3, (tensor([0, 2, 0]), tensor([2, 0, 2])))
    """

    def __init__(self, path, length=64, *, part=(0.0, 1.0), encoding="utf-8"):
        begin, end = part
        if length < 1:
            raise ValueError(f"{type(self).__name__}: length is {length}; expected at least 1")
        if not 0 <= begin <= end <= 1:
            raise ValueError(
                f"{type(self).__name__}: part is {part}; expected two fractions, 0 <= begin <= end <= 1"
            )
        with open(path, encoding=encoding) as file:
            text = file.read()
        self.vocabulary = sorted(set(text))
        self.numbers = {character: i for i, character in enumerate(self.vocabulary)}
        self.length = length
        self.text = text[int(begin * len(text)) : int(end * len(text))]
        self.data = self.encode(self.text)

    def encode(self, text):
        """Return the numbers of the characters of a text, as an int64 Tensor.

        Raises
        ------
        ValueError
            If a character isn't in the vocabulary.
        """
        unknown = sorted(set(text) - self.numbers.keys())
        if unknown:
            raise ValueError(
                f"{type(self).__name__}: {unknown} aren't among the {len(self.vocabulary)} characters of the vocabulary"
            )
        return tensor([self.numbers[character] for character in text]).long()

    def decode(self, numbers):
        """Return the text of some numbers, given as a Tensor or a sequence of int."""
        return "".join(self.vocabulary[number] for number in numbers)

    def __len__(self):
        return max(len(self.data) - self.length, 0)

    def __getitem__(self, index):
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(
                f"{type(self).__name__}: index {index} is out of range for {len(self)} samples"
            )
        return self.data[place : place + self.length], self.data[
            place + 1 : place + 1 + self.length
        ]


class TinyShakespeare(TextFile):
    """A million characters of Shakespeare's plays, the first nine tenths to train with, the rest to test.

    Parameters
    ----------
    root : path of the folder that has or gets the file, as `TinyShakespeare/input.txt`
    train : True for the first 1,003,854 characters, False for the last 111,540
    length : int, the characters of a sample
    download : True to fetch the file if it is missing or damaged (1.1 MB)

    Attributes
    ----------
    text, vocabulary (65 characters), data : as in `TextFile`

    Raises
    ------
    MissingData
        If the file is missing or damaged and `download` is False; it is a RuntimeError.
    DownloadError
        If it can't be fetched, or has another checksum.

    Notes
    -----
    Source: A. Karpathy, The unreasonable effectiveness of recurrent neural networks, 2015.
    """

    url = (
        "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"
    )
    filename = "input.txt"
    checksum = "sha256:86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    training = 0.9

    def __init__(self, root, train=True, length=64, download=False):
        self.root = os.path.expanduser(root)
        self.train = train
        folder = os.path.join(self.root, "TinyShakespeare")
        path = os.path.join(folder, self.filename)
        if download:
            download_url(self.url, folder, self.filename, self.checksum)
        if not check_integrity(path, self.checksum):
            raise MissingData(
                f"TinyShakespeare: {path} isn't there, or has another checksum. You can use download=True to "
                "download it"
            )
        part = (0.0, self.training) if train else (self.training, 1.0)
        super().__init__(path, length, part=part)
