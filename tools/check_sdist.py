"""Can the source distribution be installed in an empty folder, and do its tests run there?

    python tools/check_sdist.py dist/tensorlab_book-0.2.0.tar.gz [--tests tests/nn -k linear]

It is unpacked in a folder of its own and installed into a new environment, which compiles it without care for speed.
Then a network is trained, and a part of the tests runs from the unpacked folder: what they read must be in it.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

QUICK = [
    *("tests/test_architecture.py", "tests/test_build.py", "tests/test_publishing.py"),
    *("tests/test_names.py", "tests/core/test_layout.py", "tests/nn/test_container.py"),
    "tests/book/test_messages.py",
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sdist", type=Path)
    parser.add_argument(
        "--tests", nargs=argparse.REMAINDER, default=QUICK, help="pytest's arguments"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        with tarfile.open(options.sdist) as archive:
            archive.extractall(folder, filter="data")
        (unpacked,) = folder.iterdir()
        environment = folder / "environment"
        python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        for command in (
            [sys.executable, "-m", "venv", environment],
            [*pip, "--upgrade", "pip>=25.1"],
            [*pip, ".", "--group", "run", "--group", "test", "--group", "build"],
            [python, unpacked / "tools/first_step.py"],
            [python, "-m", "pytest", "-q", *options.tests],
        ):
            print("==", *command[1:], flush=True)
            status = subprocess.run(
                command, cwd=unpacked, env={**clean, "TENSORLAB_OPTIMIZE": "0"}
            ).returncode
            if status:
                sys.exit(f"this failed: {' '.join(map(str, command))}")
    print(f"{options.sdist.name} can be installed, and its tests run")


if __name__ == "__main__":
    main()
