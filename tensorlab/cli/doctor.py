"""tensorlab doctor: say what is wrong with an installation, and how to fix it.

This file needs nothing but Python's own library: it must run where `import tensorlab` fails, or
ends the process because the compiled code was made for another processor.  Everything that imports
the package happens in a child, `tensorlab.cli.probe`, whose death is a finding like any other.
"""

import importlib.machinery
import importlib.metadata
import importlib.util
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

OLDEST_PYTHON = (3, 11)
# As in pyproject.toml; tests/cli/test_doctor.py holds the two together.
NEEDED = {"numpy": "2.0", "scipy": "1.14", "threadpoolctl": "3.5"}
OPTIONAL = {
    "matplotlib": ("chapters", "figures of the chapters"),
    "sklearn": ("chapters", "the digits of chapter 1"),
    "jupyterlab": ("notebooks", "tensorlab book 03 --notebook"),
    "jupytext": ("notebooks", "tensorlab book 03 --notebook"),
    "mpi4py": ("distributed", "process groups of several processes"),
}
DISTRIBUTIONS = {"sklearn": "scikit-learn"}
SECONDS = 120  # for the probe, on a slow disk


def add(commands):
    from .command import add_command

    parser = add_command(
        commands, "doctor", run, "say what is wrong with this installation", with_exercises=False
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")


def run(options):
    return examine(as_json=options.json)


def examine(*, as_json=False):
    """Print one line for each finding; return 1 if there is any problem, else 0."""
    findings = list(all_findings())
    if as_json:
        print(json.dumps([finding.__dict__ for finding in findings], indent=1))
    else:
        for finding in findings:
            print(finding)
    count = sum(finding.state == "problem" for finding in findings)
    if not as_json:
        print(f"\n{count or 'No'} problem{'' if count == 1 else 's'} found.")
    return 1 if count else 0


class Finding:
    """One line of the report: what was looked at, its state, what was seen, how to fix it.

    The state is "ok", "problem", or "--" for what is not there and need not be.
    """

    def __init__(self, name, state, seen, remedy=""):
        self.name, self.state, self.seen, self.remedy = name, state, seen, remedy

    def __str__(self):
        line = f"{self.state:8}{self.name:18}{self.seen}"
        return line + (f"\n{'':26}-> {self.remedy}" if self.remedy else "")


def all_findings():
    """Yield every Finding, those first that explain the later ones."""
    yield check_python()
    yield from check_packages()
    folder = package_folder()
    if folder is None:
        yield Finding(
            "tensorlab", "problem", "not found", "pip install tensorlab's folder or wheel"
        )
        return
    yield check_compiled(folder)
    yield from check_probe(folder)
    yield check_compiler()
    yield from check_optional()
    yield from check_folders()


def package_folder():
    """Return the folder of the package, found without importing it."""
    spec = importlib.util.find_spec("tensorlab")
    return Path(spec.origin).parent if spec and spec.origin else None


# ---------------------------------------------------------------- without importing the package


def check_python():
    seen = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info < OLDEST_PYTHON:
        wanted = ".".join(map(str, OLDEST_PYTHON))
        return Finding("Python", "problem", seen, f"install Python {wanted} or newer")
    if hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled():
        return Finding("Python", "problem", f"{seen}, free-threaded", "use a build with the GIL")
    return Finding("Python", "ok", seen)


def numbers(version):
    """Return the leading numbers of a version: (2, 1) of 2.1rc3."""
    found = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        found.append(int(digits))
    return tuple(found)


def check_packages():
    """Check what the library cannot run without."""
    for name, wanted in NEEDED.items():
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield Finding(name, "problem", "not installed", f"pip install '{name}>={wanted}'")
            continue
        if numbers(version) < numbers(wanted):
            seen = f"{version}, older than {wanted}"
            yield Finding(name, "problem", seen, f"pip install --upgrade '{name}>={wanted}'")
        else:
            yield Finding(name, "ok", version)


def check_compiled(folder):
    """Check that there is the library of the compiled modules, for this Python and whole."""
    sources = {
        ".".join([folder.name, *path.relative_to(folder).with_suffix("").parts])
        for path in folder.rglob("*.pyx")
    }
    spec = importlib.machinery.PathFinder.find_spec(f"{folder.name}._compiled", [str(folder)])
    if spec is None:
        built = sorted(path.name for path in folder.glob("_compiled.*") if is_binary(path))
        seen = f"there are none in {folder}"
        if built:
            seen = f"there are only some for another Python in {folder}: {', '.join(built)}"
        return Finding("compiled modules", "problem", seen, rebuild(folder))
    try:
        library = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(library)
    except ImportError as error:
        return Finding("compiled modules", "problem", str(error), rebuild(folder))
    missing = sorted(sources - set(library.places()))
    seen = f"{len(sources) - len(missing)} of {len(sources)} in {spec.origin}"
    if not missing:
        return Finding("compiled modules", "ok", seen)
    seen += f"; missing: {', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}"
    return Finding("compiled modules", "problem", seen, rebuild(folder))


def is_binary(path):
    return path.suffix in (".so", ".pyd", ".dylib")


def rebuild(folder):
    if (folder.parent / "setup.py").is_file():
        return f"make build in {folder.parent}, or pip install . there"
    return "pip install --force-reinstall tensorlab, from its wheel or its folder"


def check_compiler():
    """The compiler is needed to build from source, not to run."""
    for name in filter(None, (os.environ.get("CC"), "cc", "gcc", "clang")):
        if found := shutil.which(name.split()[0]):
            answer = subprocess.run([found, "--version"], capture_output=True, text=True)
            return Finding("C compiler", "ok", answer.stdout.partition("\n")[0].strip() or found)
    return Finding("C compiler", "--", "none; only building from source needs one")


def check_optional():
    for name, (extra, use) in OPTIONAL.items():
        shown = DISTRIBUTIONS.get(name, name)
        if importlib.util.find_spec(name) is None:
            seen = f"not installed; for {use}: pip install 'tensorlab-book[{extra}]'"
            yield Finding(shown, "--", seen)
        else:
            yield Finding(shown, "ok", importlib.metadata.version(shown))


def check_folders():
    """Check that progress and temporary files can be written."""
    path = package_folder() / "learn" / "progress.py"  # by path: importing it imports the package
    spec = importlib.util.spec_from_file_location("tensorlab_progress", path)
    progress = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(progress)
    for name, folder in (("progress", progress.home()), ("temporary files", temporary_folder())):
        problem = write_problem(folder)
        if problem is None:
            yield Finding(name, "ok", f"{folder} can be written")
        else:
            variable = "TENSORLAB_HOME" if name == "progress" else "TMPDIR"
            remedy = f"set {variable} to a folder of yours"
            yield Finding(name, "problem", f"{folder}: {problem}", remedy)


def temporary_folder():
    try:
        return Path(tempfile.gettempdir())
    except FileNotFoundError:
        return Path(os.environ.get("TMPDIR", "/tmp"))


def write_problem(folder):
    """Return what stands in the way of writing into `folder`, or None; leaves nothing behind."""
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    try:
        with tempfile.TemporaryFile(dir=there) as file:
            file.write(b"tensorlab")
    except OSError as error:
        return error.strerror or str(error)
    return None


# ---------------------------------------------------------------- what the child finds


def check_probe(folder):
    """Import the package in a child and yield what it tells, or why it could not."""
    paths = [str(folder.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1"}
    command = [sys.executable, "-P", "-m", "tensorlab.cli.probe"]
    try:
        child = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, env=environment
        )
    except subprocess.TimeoutExpired:
        seen = f"did not end within {SECONDS} s"
        yield Finding("import", "problem", seen, "try again when the machine is less busy")
        return
    lines = child.stdout.splitlines()
    for line in lines:
        if line.startswith("{"):
            yield Finding(**json.loads(line))
    if child.returncode != 0:
        yield explain_death(child, folder, begun=bool(lines))


def explain_death(child, folder, begun):
    """Return a Finding on a probe that did not come to its end."""
    name = "computation" if begun else "import"
    if child.returncode == -signal.SIGILL:
        seen = "the processor does not know an instruction: the modules were built for another"
        return Finding(name, "problem", seen, rebuild(folder))
    if child.returncode < 0:
        seen = f"ended by {signal.Signals(-child.returncode).name}"
        return Finding(name, "problem", seen, f"{rebuild(folder)}; if it stays, report it")
    last = (child.stderr.strip().splitlines() or ["no message"])[-1]
    remedy = rebuild(folder) if "Error" in last else "report it with the output of this command"
    if "No module named 'tensorlab" not in last and "No module named" in last:
        remedy = f"pip install {last.rpartition(' ')[2].strip(chr(39)).partition('.')[0]}"
    return Finding(name, "problem", last, remedy)


if __name__ == "__main__":
    sys.exit(examine(as_json="--json" in sys.argv[1:]))
