"""Plant bugs of the kinds that people write, one at a time, in a copy of the source, and see which tests notice.

    python tools/planted_bugs.py                  all bugs (half a minute each: one module is built, then tests run)
    python tools/planted_bugs.py --only NAME ...  some of them; --list names them

A bug that no test notices makes the exit status 1. Run it where the package is built in place (`make build`).
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bugs import BUGS

ROOT = Path(__file__).resolve().parent.parent
COPIED = (
    *("tensorlab", "tests", "build", "benchmarks", "chapters", "docs", "examples", "tools"),
    *("setup.py", "pyproject.toml", "README.md"),
)


def copy_tree(target, names=COPIED):
    """Copy what building and testing needs; times are kept, so only the change is built."""
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, symlinks=True)
        elif source.exists():
            shutil.copy2(source, target / name)


def plant(bug, folder):
    """Change the copy; the text to replace must be there exactly once."""
    path = folder / bug.file
    text = path.read_text(encoding="utf-8")
    if text.count(bug.old) != 1:
        sys.exit(
            f"{bug.name}: its text is {text.count(bug.old)} times in {bug.file}; correct tools/bugs.py"
        )
    path.write_text(text.replace(bug.old, bug.new), encoding="utf-8")


def run(folder, *command):
    """Run a command in the copy, with the copy first on Python's path."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1200,
    )


def killers(bug, tests):
    """The tests that fail with this bug (None: with no bug); a text that says why, where not even they could run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copy_tree(folder)
        if bug is not None:
            plant(bug, folder)
        built = run(folder, "setup.py", "--quiet", "build_ext", "--inplace")
        if built.returncode:
            sys.exit(f"{bug.name if bug else 'no bug'}: does not build\n{built.stderr[-2000:]}")
        done = run(
            folder,
            "-m",
            "pytest",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "--maxfail=8",
            *tests,
        )
        found = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        if done.returncode < 0:
            found.append(f"the interpreter died with signal {-done.returncode}")
        return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=[bug.name for bug in BUGS], metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument(
        "--tests",
        nargs="*",
        default=[f"tests/{name}" for name in ("core", "autograd", "ops", "nn", "optim")],
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.only).difference(bug.name for bug in BUGS):
        parser.error(f"there is no bug {', '.join(sorted(unknown))}; --list names them")
    if arguments.list:
        print("\n".join(bug.name for bug in BUGS))
        return 0
    if control := killers(None, arguments.tests):
        sys.exit(f"these tests fail without any bug, so they prove nothing: {', '.join(control)}")
    survivors = 0
    for bug in BUGS:
        if bug.name in arguments.only:
            found = killers(bug, arguments.tests)
            survivors += not found
            print(f"{bug.name}: {', '.join(found) if found else 'SURVIVED'}", flush=True)
    print(f"{survivors} of {len(arguments.only)} bugs were not noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
