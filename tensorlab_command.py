"""The console command `tensorlab`.

It stands outside of the package because importing anything inside imports all of it, and
`tensorlab doctor` has to run where that fails or ends the process.
"""

import importlib.util
import os
import sys
from pathlib import Path


def main():
    """Run the command line; return its exit code."""
    try:
        code = choose()
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # who read the output, `head` say, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def choose():
    """Run `doctor` without importing the package, every other command with it."""
    if sys.argv[1:2] == ["doctor"] and "-h" not in sys.argv and "--help" not in sys.argv:
        return doctor()
    try:
        from tensorlab.cli import main as run
    except ImportError as error:
        print(f"tensorlab: the package cannot be imported: {error}", file=sys.stderr)
        print("tensorlab doctor says what is wrong.", file=sys.stderr)
        return 1
    return run()


def doctor():
    """Run tensorlab/cli/doctor.py as a file of its own."""
    spec = importlib.util.find_spec("tensorlab")
    if spec is None or spec.origin is None:
        print("problem tensorlab         not found\n" + " " * 26 + "-> install it with pip")
        return 1
    path = Path(spec.origin).with_name("cli") / "doctor.py"
    file = importlib.util.spec_from_file_location("tensorlab_doctor", path)
    module = importlib.util.module_from_spec(file)
    file.loader.exec_module(module)
    return module.examine(as_json="--json" in sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
