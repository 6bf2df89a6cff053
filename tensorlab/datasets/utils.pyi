"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from os import PathLike

__all__ = [
    "check_integrity",
    "download_and_extract_archive",
    "download_url",
    "extract_archive",
]

def check_integrity(fpath: str | PathLike[str], md5: str | None=None) -> builtins.bool: ...
def download_and_extract_archive(url: str, download_root: str | PathLike[str], extract_root: str | PathLike[str] | None=None, filename: str | None=None, md5: str | None=None, remove_finished: builtins.bool=False) -> str: ...
def download_url(url: str, root: str | PathLike[str], filename: str | None=None, md5: str | None=None) -> str: ...
def extract_archive(from_path: str | PathLike[str], to_path: str | PathLike[str] | None=None, remove_finished: builtins.bool=False) -> str: ...
