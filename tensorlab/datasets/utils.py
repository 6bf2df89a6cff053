"""Files from the network: fetched by pooch, compared with a checksum, unpacked.

A file gets its name only when it is complete and right. Until then it is a temporary file beside its place, which goes
away with a failure.
"""

import gzip
import hashlib
import lzma
import os
import platform
import shutil
import stat
import tarfile
import zipfile
import zlib

from .._progress import bar
from ..errors import DownloadError, FileFormatError
from ..serialization.leftovers import folder_for_writing
from .optional import require

__all__ = ["check_integrity", "download_and_extract_archive", "download_url", "extract_archive"]

PIECE = 1 << 20  # bytes that are read at once
DAMAGED = tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError


def check_integrity(fpath, md5=None):
    """True if a file is there and, if `md5` is given, has this checksum.

    Parameters
    ----------
    fpath : path
    md5 : str, a checksum: the hexadecimal digits of an MD5, or "sha256:" and those of a SHA-256

    Examples
    --------
    >>> import hashlib
    >>> import pathlib
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "file")
    ...     _ = path.write_bytes(b"abc")
    ...     print(check_integrity(path, hashlib.md5(b"abc").hexdigest()), check_integrity(path, "0"))
    True False
    """
    if not os.path.isfile(fpath):
        return False
    if md5 is None:
        return True
    kind, digits = checksum(md5).split(":")
    with open(fpath, "rb") as file:
        return hashlib.file_digest(file, kind).hexdigest() == digits.lower()


def checksum(given):
    """Return a checksum with its kind in front, as pooch has it: digits alone are an MD5."""
    return given if given is None or ":" in given else f"md5:{given}"


def download_url(url, root, filename=None, md5=None):
    """Fetch a file, unless it is there already, and show how far it has come.

    A bar needs tqdm; without it, a line on stderr says what is fetched. TENSORLAB_PROGRESS=0 keeps it silent.

    Parameters
    ----------
    url : str
    root : path of the folder for the file, made if it isn't there
    filename : str, the name it gets; the last part of `url` if not given
    md5 : str, the checksum that it must have: the digits of an MD5, or "sha256:" and those of a
        SHA-256. A file that has it is not fetched again; without one, any file of that name
        counts as the right one

    Returns
    -------
    str, the path of the file

    Raises
    ------
    DownloadError
        If the file can't be fetched, or has another checksum. There is no file then, not even a part of one; an
        older one with a wrong checksum stays as it was.
    """
    pooch = require("pooch", "download_url")
    root = os.path.abspath(os.path.expanduser(root))
    filename = filename or url.rpartition("/")[2]
    try:
        return pooch.retrieve(
            url,
            known_hash=checksum(md5),
            fname=filename,
            path=root,
            progressbar=bar(f"fetching {filename}", unit="B"),
        )
    except (
        OSError,
        ValueError,
    ) as error:  # no connection, an error of the server, a wrong checksum
        raise DownloadError(
            f"download_url: {url} could not be fetched into {root}: {error}. Check the connection and the address, or "
            f"put the file there as {filename!r} yourself"
        ) from error


def download_and_extract_archive(
    url, download_root, extract_root=None, filename=None, md5=None, remove_finished=False
):
    """Fetch an archive, as `download_url` does, and unpack it, as `extract_archive` does.

    Parameters
    ----------
    url, filename, md5 : as in `download_url`
    download_root : path of the folder for the archive
    extract_root : path of the folder for what is in it; `download_root` if not given
    remove_finished : True to delete the archive afterwards

    Returns
    -------
    str, the path of what was unpacked
    """
    archive = download_url(url, download_root, filename, md5)
    return extract_archive(archive, extract_root, remove_finished)


def extract_archive(from_path, to_path=None, remove_finished=False):
    """Unpack an archive into a folder.

    Parameters
    ----------
    from_path : path of a .zip, .tar, .tar.gz, .tgz, .tar.bz2, or .tar.xz file, or of a .gz file
        that holds one file
    to_path : path of the folder, made if it isn't there; that of the archive if not given
    remove_finished : True to delete the archive afterwards

    Returns
    -------
    str, the folder; for a .gz file the file, whose name lacks the .gz

    Raises
    ------
    FileFormatError
        If the archive is damaged, of another kind, or has a member that would lie outside of the folder. Nothing is
        left of what was unpacked before.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> import zipfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with zipfile.ZipFile(pathlib.Path(folder, "all.zip"), "w") as archive:
    ...         archive.writestr("note.txt", "hello")
    ...     _ = extract_archive(pathlib.Path(folder, "all.zip"))
    ...     print(pathlib.Path(folder, "note.txt").read_text())
    hello
    """
    from_path = os.fspath(from_path)
    to_path = os.path.dirname(from_path) if to_path is None else os.fspath(to_path)
    os.makedirs(to_path or ".", exist_ok=True)
    name = os.path.basename(from_path)
    is_single = name.endswith(".gz") and not name.endswith(".tar.gz")
    with folder_for_writing(to_path or ".", ".unpacking-") as temporary:
        try:
            if is_single:
                unpack_one(from_path, os.path.join(temporary, name.removesuffix(".gz")))
            elif name.endswith(".zip"):
                unpack_zip(from_path, temporary)
            else:
                unpack_tar(from_path, temporary)
        except (*DAMAGED, OSError, EOFError) as error:
            raise FileFormatError(
                f"extract_archive: {from_path} could not be unpacked: {error}. Delete it and fetch it again"
            ) from error
        move_into(temporary, to_path or ".")
    if remove_finished:
        os.remove(from_path)
    return os.path.join(to_path, name.removesuffix(".gz")) if is_single else to_path


def unpack_tar(path, folder):
    """Unpack a tar file, if Python can keep its members inside the folder."""
    if not hasattr(tarfile, "data_filter"):
        raise NotImplementedError(
            f"extract_archive: Python {platform.python_version()} would let an archive write anywhere; use 3.11.4 or "
            "newer, or unpack the archive yourself"
        )
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")


def unpack_zip(path, folder):
    """Unpack a zip file. Python would put a member that climbs somewhere inside of the folder; here it is an error."""
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                check_member(info)
            archive.extractall(folder)
    except NotImplementedError as error:  # a method or a version that Python doesn't know
        raise zipfile.BadZipFile(str(error)) from error


def check_member(info):
    """Raise for a member of a zip file that must not be unpacked."""
    parts = info.filename.replace("\\", "/").split("/")
    if parts[0] == "" or ".." in parts or ":" in parts[0]:
        raise zipfile.BadZipFile(f"{info.filename!r} would lie outside of the folder")
    if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise zipfile.BadZipFile(f"{info.filename!r} is neither a file nor a folder")
    if info.flag_bits & 1:
        raise zipfile.BadZipFile(f"{info.filename!r} is encrypted")


def unpack_one(path, target):
    with gzip.open(path) as packed, open(target, "wb") as file:
        shutil.copyfileobj(packed, file, PIECE)


def move_into(source, target):
    """Move all files below a folder to the same places below another one; each takes the place of an older one."""
    for folder, _, names in os.walk(source):
        place = os.path.join(target, os.path.relpath(folder, source))
        os.makedirs(place, exist_ok=True)
        for name in names:
            os.replace(os.path.join(folder, name), os.path.join(place, name))
