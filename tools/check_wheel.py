"""Does a wheel work where there is neither a compiler nor the checkout?

    python tools/check_wheel.py WHEEL [--python PYTHON] [--tests tests/nn -k linear]

The wheel may have at most 12 MB.  A new environment of PYTHON gets it, and what it needs from the index, in the
versions that docs/hosted/requirements.txt names.  There a network is trained in an empty folder; with --tests,
that part of the tests runs too, from a copy, with a PATH on which no compiler is found.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_BYTES = 12_000_000
PINS = ROOT / "docs/hosted/requirements.txt"
# What tests read besides themselves.
COPIED = ["tests", "docs", "chapters", "tools", "benchmarks", "pyproject.toml", "setup.py"]


def check_size(wheel):
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB", flush=True)
    if size > MOST_BYTES:
        sys.exit(f"that is more than {MOST_BYTES / 1e6:.0f} MB")


def make_environment(folder, wheel, interpreter, groups):
    """Return the Python of a new environment with the wheel and groups of pyproject.toml."""
    subprocess.run([interpreter, "-m", "venv", folder], check=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--upgrade", "pip>=25.1"], check=True)
    options = [
        option for name in groups for option in ("--group", f"{ROOT / 'pyproject.toml'}:{name}")
    ]
    # Only what is there as a wheel, since nothing could be compiled here.
    command = [*pip, "--only-binary", ":all:", "-c", PINS, wheel, *options]
    subprocess.run(command, check=True)
    return python


def run(folder, python, *command):
    """Run Python in a folder, without a compiler, and leave with its status if it fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    hidden = {"PATH": str(python.parent), "CC": "no-compiler-here"}
    status = subprocess.run([python, *command], cwd=folder, env={**kept, **hidden}).returncode
    if status:
        sys.exit(f"this failed: python {' '.join(map(str, command))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="default: the one that runs this")
    parser.add_argument(
        "--tests", nargs=argparse.REMAINDER, help="pytest's arguments; the last option"
    )
    options = parser.parse_args()
    wheel = options.wheel.resolve()
    check_size(wheel)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        groups = [] if options.tests is None else ["run", "test"]
        python = make_environment(folder / "environment", wheel, options.python, groups)
        (folder / "empty").mkdir()
        run(folder / "empty", python, ROOT / "tools/first_step.py")
        if options.tests is not None:
            for name in COPIED:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
                ignored = (
                    {"ignore": shutil.ignore_patterns("_build", "__pycache__")}
                    if copy is shutil.copytree
                    else {}
                )
                copy(ROOT / name, folder / "copy" / name, **ignored)
            run(folder / "copy", python, "-m", "pytest", "-p", "no:cacheprovider", *options.tests)
    print(f"{wheel.name} works with {options.python}")


if __name__ == "__main__":
    main()
