"""Type stubs, written by docs/make_stubs.py (`make stubs`)."""

import builtins

from os import PathLike

__all__ = [
    "dcp_to_torch_save",
    "torch_save_to_dcp",
]

def dcp_to_torch_save(dcp_checkpoint_dir: str | PathLike[str], torch_save_path: str | PathLike[str]) -> None: ...
def torch_save_to_dcp(torch_save_path: str | PathLike[str], dcp_checkpoint_dir: str | PathLike[str]) -> None: ...
