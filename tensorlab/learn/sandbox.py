"""A sandbox for a student's process, where the system has one: bubblewrap.

Inside, nothing can be written but an own /tmp, there is no network, no other process is seen,
and your home, the exercises and what other students handed in are missing.
"""

import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from .exercise import PACKAGE_FOLDER, ExerciseError, exercise_folders

BUBBLEWRAP = "bwrap"
TOLD = ("chapters", "docs", "tests", "tools")  # what tells solutions, in a checkout


class Sandbox:
    """How a command is started in a sandbox of bubblewrap.

    Parameters
    ----------
    root : path of the folder with all submissions, or None
    """

    def __init__(self, root=None):
        self.root = None if root is None else Path(root).resolve()

    def command(self, command, path, folders):
        """Return `command` in its sandbox; it sees the file `path` and these folders."""
        parts = [shutil.which(BUBBLEWRAP), "--unshare-all", "--die-with-parent", "--new-session"]
        parts += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        path = Path(path).resolve()
        outer = [Path(tempfile.gettempdir()).resolve(), Path.home().resolve()]
        for folder in outer:
            if folder.is_dir() and folder != folder.parent:
                parts += hidden(folder)
        for place in dict.fromkeys(
            map(Path, (sys.prefix, sys.base_prefix, PACKAGE_FOLDER, *sys.path))
        ):
            if place.exists() and not set(outer).isdisjoint(place.parents):
                parts += shown(place)
        for folder in hidden_folders():
            parts += hidden(folder)
        is_alone = self.root is None or path.parent != self.root  # in a folder of its own
        parts += [
            *(hidden(self.root) if self.root else ()),
            *shown(path.parent if is_alone else path),
        ]
        for folder in folders:
            parts += shown(Path(folder).resolve())
        return [*parts, "--chdir", str(path.parent), *command]


def hidden(folder):
    return ["--tmpfs", str(folder)]


def shown(place):
    return ["--ro-bind", str(place), str(place)]


def hidden_folders():
    """Return the folders that tell solutions."""
    folders = [folder for folder in exercise_folders() if folder.is_dir()]
    checkout = PACKAGE_FOLDER.parent
    if (checkout / "setup.py").is_file():
        folders += [checkout / name for name in TOLD if (checkout / name).is_dir()]
    return [folder.resolve() for folder in folders]


@cache
def is_there():
    """Say whether bubblewrap is installed, and may be used here."""
    if shutil.which(BUBBLEWRAP) is None:
        return False
    command = [BUBBLEWRAP, "--unshare-all", "--ro-bind", "/", "/", "true"]
    return subprocess.run(command, capture_output=True).returncode == 0


def named(name, root=None):
    """Return the Sandbox for a choice, or None; ExerciseError where there is none to have."""
    if name in (None, "none") or (name == "auto" and not is_there()):
        return None
    if not is_there():
        raise ExerciseError(
            "there is no bubblewrap that may be used here; install it (Debian, Ubuntu: apt install "
            "bubblewrap), or grade in a container, with --sandbox none"
        )
    return Sandbox(root)
