"""What a class gets: stubs, the programs that they import, and a word on how to check them.

Exercises of a course pack go along, in a folder `exercises` that `--exercises` names.  So do the book's
own if they are to come without solutions, and with them a package that carries none: the exercises
keep their checks, hints and planted bugs, and lose `solution`, `reason` and `wrong`.
"""

import ast
import base64
import hashlib
import re
import sysconfig
import zipfile
from pathlib import Path

from tensorlab.version import __version__

from .exercise import PACKAGE_FOLDER, chapters_folder, holds_exercises, load_chapter
from .workbook import file_text

README = """\
Exercises of chapter(s) {numbers}
{line}

You need Python 3.11 or newer and tensorlab{which}. Fill in the stubs of NN.py, and check them as often as
you like, without a network:

    tensorlab check {first} --file {first}.py{more}      all exercises of chapter {first}
    tensorlab check {first}.1 --file {first}.py{more}    one alone
    tensorlab hint {first}.1{more}                 the next hint

Leave the lines that begin with `# %%` as they are. Hand in the files NN.py.
"""
SECRET = ("solution", "reason", "wrong")
CARRIED = {".py", ".pyi", ".pyx", ".pxd", ".h", ".so", ".pyd", ".dylib", ".mplstyle", ".typed"}


def export(numbers, folder, *, without_solutions=False):
    """Write the stubs of some chapters for a class; return the paths of the new files.

    Nothing that is there already is overwritten: FileExistsError names it, and nothing is written.

    Parameters
    ----------
    numbers : list of str, of chapters of the book and of course packs
    folder : path
    without_solutions : bool, whether exercises and a package that tell none go along
    """
    folder = Path(folder)
    texts, shipped = {}, []
    for number in numbers:
        chapter = load_chapter(number)
        texts[f"{chapter.number}.py"] = file_text(chapter)
        for name in chapter.files:
            texts[name] = (chapter.folder / name).read_text(encoding="utf-8")
        if without_solutions or chapter.folder.parent != chapters_folder():
            shipped.append(chapter)
    for chapter in shipped:
        for path in exercise_sources(chapter.folder, chapter.files):
            text = path.read_text(encoding="utf-8")
            if without_solutions and holds_exercises(path):
                text = stripped(text)
            texts[f"exercises/{chapter.folder.name}/{path.name}"] = text
    names = [Path(name).stem for name in texts if re.fullmatch(r"\d\d\.py", name)]
    wheel = wheel_name() if without_solutions else None
    texts["README.txt"] = readme(names, wheel, bool(shipped))
    for name in [*texts, *([wheel] if wheel else [])]:
        if (folder / name).exists():
            raise FileExistsError(f"{folder / name} is there already; choose an empty folder")
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    if wheel:
        write_wheel(folder / wheel)
    return [folder / name for name in [*texts, *([wheel] if wheel else [])]]


def readme(names, wheel, has_exercises):
    title = f"Exercises of chapter(s) {', '.join(names)}"
    which = f", which `pip install {wheel}` installs" if wheel else ""
    more = " --exercises exercises" if has_exercises else ""
    return README.format(
        numbers=", ".join(names), line="=" * len(title), first=names[0], which=which, more=more
    )


def exercise_sources(folder, programs):
    """Return the files of a chapter that its checks need."""
    exercises = [path for path in sorted(folder.glob("*.py")) if holds_exercises(path)]
    return [*exercises, *(folder / name for name in programs)]


# ---------------------------------------------------------------- without solutions


def stripped(text):
    """Return the source of exercises without what tells an answer: SECRET is empty in each class."""
    lines = text.split("\n")
    for node in reversed(ast.parse(text).body):
        if not isinstance(node, ast.ClassDef):
            continue
        for part in reversed(node.body):
            names = [name.id for name in getattr(part, "targets", ()) if isinstance(name, ast.Name)]
            if isinstance(part, ast.Assign) and len(names) == 1 and names[0] in SECRET:
                empty = "[]" if names[0] == "wrong" else '""'
                lines[part.lineno - 1 : part.end_lineno] = [f"    {names[0]} = {empty}"]
    return "\n".join(lines)


def wheel_name():
    """Return the name of a wheel for this Python and this system."""
    python = f"cp{sysconfig.get_config_var('py_version_nodot')}"
    system = re.sub(r"[-.]", "_", sysconfig.get_platform())
    return f"tensorlab-{__version__}-{python}-{python}-{system}.whl"


def write_wheel(path, *, with_solutions=False):
    """Write a wheel of the package that runs, whose exercises tell no solutions unless asked to.

    It is for the Python and the kind of system that it is written on.
    """
    info = f"tensorlab-{__version__}.dist-info"
    files = dict(package_files(with_solutions))
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: tensorlab\nVersion: {__version__}\n"
        "Requires-Dist: numpy>=2.0\nRequires-Dist: scipy>=1.14\nRequires-Dist: threadpoolctl>=3.5\n"
    ).encode()
    tag = "-".join(path.stem.split("-")[2:])
    files[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: tensorlab\nRoot-Is-Purelib: false\nTag: {tag}\n"
    ).encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\ntensorlab = tensorlab_command:main\n"
    record = [f"{name},sha256={digest(data)},{len(data)}" for name, data in files.items()]
    record.append(f"{info}/RECORD,,")
    files[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def package_files(with_solutions):
    """Yield (name, contents) of the files of the package, its command and its chapters."""
    for path in sorted(PACKAGE_FOLDER.rglob("*")):
        if path.is_file() and path.suffix in CARRIED:
            yield f"tensorlab/{path.relative_to(PACKAGE_FOLDER).as_posix()}", path.read_bytes()
    yield "tensorlab_command.py", (PACKAGE_FOLDER.parent / "tensorlab_command.py").read_bytes()
    for path in sorted(chapters_folder().glob("[0-9][0-9]-*/*")):
        if path.is_file() and path.name != "record.py":
            data = path.read_bytes()
            if holds_exercises(path) and not with_solutions:
                data = stripped(data.decode("utf-8")).encode("utf-8")
            yield f"tensorlab_chapters/{path.parent.name}/{path.name}", data


def digest(data):
    text = base64.urlsafe_b64encode(hashlib.sha256(data).digest())
    return text.rstrip(b"=").decode("ascii")
