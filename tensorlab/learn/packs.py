"""Course packs: exercises that are not the book's, in the same form.

A pack is a folder of chapters, `60-my-course/exercises.py` beside what it imports, or a Python
package that holds such folders. Three ways lead to it:

    tensorlab check 80 --exercises FOLDER
    TENSORLAB_EXERCISES=FOLDER             several, with ":" between them (";" on Windows)
    [project.entry-points."tensorlab.exercises"]
    my_course = "my_course"                a package that is installed

Where a folder is named, the name of a package will do.
"""

import importlib.metadata
import importlib.util
import os
import sys
from functools import cache
from pathlib import Path

VARIABLE = "TENSORLAB_EXERCISES"
GROUP = "tensorlab.exercises"


class ExerciseError(Exception):
    """An exercise is not written as it must be, or there is none of that name."""


def pack_folders():
    """Return the folders of all packs, those that are named before those that are installed.

    Raises
    ------
    ExerciseError
        If a pack that is named is neither a folder nor a package, or has no exercises.
    """
    named = [pack_folder(name) for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]
    return list(dict.fromkeys([*named, *installed_folders(tuple(sys.path))]))


@cache
def installed_folders(path):
    """Return the folders of the packs installed on `path`; finding them takes milliseconds."""
    entries = importlib.metadata.entry_points(group=GROUP)
    return [*filter(None, (package_folder(entry.module) for entry in entries))]


def add_packs(names):
    """Name packs for this process and for those that it starts, before those that are named already.

    Raises
    ------
    ExerciseError
        If one of them is no pack.
    """
    if not names:
        return
    folders = [str(pack_folder(name)) for name in names]
    known = os.environ.get(VARIABLE, "").split(os.pathsep)
    os.environ[VARIABLE] = os.pathsep.join(filter(None, dict.fromkeys([*folders, *known])))


def pack_folder(name):
    """Return the folder of a pack that is named: a path, or the name of a package."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        folder = package_folder(name) if name.replace(".", "").isidentifier() else None
    if folder is None:
        raise ExerciseError(
            f"there are no exercises in {name}: it is neither a folder nor a package of Python"
        )
    if not any(folder.glob("[0-9][0-9]-*/exercises.py")):
        raise ExerciseError(f"{folder} has no exercises; a pack holds NN-name/exercises.py")
    return folder.resolve()


def package_folder(name):
    """Return the folder of a package, or None where there is none; its code is not run."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))).resolve() if places else None
