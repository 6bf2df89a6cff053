"""What a reader has tried, seen and solved, in one file outside of the exercises.

It lies in TENSORLAB_HOME, or where the system keeps the data of programs.  It is written as a new
file that takes the old one's place, so that a crash leaves one or the other; a file that cannot be
read is set aside, never thrown away.
"""

import json
import os
import sys
import tempfile
from datetime import datetime
from pathlib import Path

VERSION = 1
EMPTY = {"tries": 0, "hints": 0, "solution_seen": False, "solved": None}


def home():
    """Return the folder that the progress is kept in."""
    if named := os.environ.get("TENSORLAB_HOME"):
        return Path(named).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/tensorlab"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "tensorlab"
    data = os.environ.get("XDG_DATA_HOME")  # counts only where absolute, says its specification
    folder = Path(data) if data and Path(data).is_absolute() else Path.home() / ".local/share"
    return folder / "tensorlab"


def path():
    return home() / "progress.json"


class Progress:
    """The record of all exercises; changes are kept by `save`.

    Attributes
    ----------
    exercises : dict from "03.2" to a dict with the keys of EMPTY
    note : str, what the reader should know about the file, or ""
    """

    def __init__(self):
        self.exercises, self.note = {}, ""
        try:
            data = json.loads(path().read_text(encoding="utf-8"))
            if not isinstance(data, dict) or data.get("version") != VERSION:
                raise ValueError("not a record of this version")
            for identity, entry in data["exercises"].items():
                self.exercises[identity] = {key: entry.get(key, EMPTY[key]) for key in EMPTY}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, AttributeError) as error:
            self.exercises = {}
            self.note = set_aside(error)

    def of(self, identity):
        """Return the entry of an exercise, to be read or changed."""
        return self.exercises.setdefault(identity, dict(EMPTY))

    def note_verdicts(self, verdicts):
        """Count the tries, and remember when an exercise was solved first."""
        for verdict in verdicts:
            if verdict.state == "not begun":
                continue
            entry = self.of(verdict.id)
            entry["tries"] += 1
            if verdict.is_right and entry["solved"] is None:
                entry["solved"] = datetime.now().isoformat(timespec="seconds")

    def forget(self, identities):
        for identity in identities:
            self.exercises.pop(identity, None)

    def save(self):
        """Write the record; return a sentence where that was not possible, else ""."""
        kept = {key: entry for key, entry in sorted(self.exercises.items()) if entry != EMPTY}
        try:
            write_whole(path(), json.dumps({"version": VERSION, "exercises": kept}, indent=1))
        except OSError as error:
            return (
                f"Progress is not kept: {path()} cannot be written ({error.strerror}). "
                "Set TENSORLAB_HOME to a folder of yours."
            )
        return ""


def set_aside(error):
    """Rename a record that cannot be read; return a sentence for the reader."""
    broken = path().with_suffix(".broken.json")
    try:
        os.replace(path(), broken)
    except OSError:
        return f"{path()} cannot be read ({error}); progress begins anew."
    return f"{path()} could not be read ({error}); it is now {broken.name}, and a new one begins."


def write_whole(target, text):
    """Write a text file so that at any moment there is the old one or the new one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
