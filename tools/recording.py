"""What a chapter's record.py needs: programs under a planted bug, and facts with their origin.

A recorded file lies beside its chapter and is read when the book is built, so that the book needs
neither PyTorch nor a compiler. `make record` writes all of them again.
"""

import datetime
import json
import platform
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import planted_bugs


def symptom(name, program, tests):
    """Return what a program prints with and without a planted bug, and which tests notice the bug.

    Parameters
    ----------
    name : str, as in planted_bugs.BUGS
    program : str, Python source that prints what a reader would see
    tests : list of str, the files to run
    """
    (bug,) = (bug for bug in planted_bugs.BUGS if bug.name == name)
    shipped = printed(planted_bugs.ROOT, program)
    with tempfile.TemporaryDirectory() as folder_name:
        folder = Path(folder_name)
        planted_bugs.copy_tree(folder)
        planted_bugs.plant(bug, folder)
        built = planted_bugs.run(folder, "setup.py", "--quiet", "build_ext", "--inplace")
        if built.returncode:
            sys.exit(f"{name}: does not build\n{built.stderr[-2000:]}")
        broken = printed(folder, program)
        pytest = ("-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "--maxfail=4")
        done = planted_bugs.run(folder, *pytest, *tests)
    noticed = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return {
        "file": bug.file,
        "old": bug.old.strip("\n"),
        "new": bug.new.strip("\n"),
        "program": program,
        "shipped": shipped,
        "broken": broken,
        "noticed by": noticed,
    }


def printed(folder, program):
    """Return what a program prints, or the last line of its error."""
    done = planted_bugs.run(folder, "-c", program)
    return (done.stdout or done.stderr.strip().splitlines()[-1]).strip()


def run_json(program):
    """Return what a program prints as JSON, in a process of its own."""
    done = planted_bugs.run(planted_bugs.ROOT, "-c", program)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def write(path, facts):
    """Write facts as JSON, with the date, the versions and the command."""
    import torch

    origin = {
        "date": datetime.date.today().isoformat(),
        "command": "make record",
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
    }
    lines = (f" {json.dumps(key)}: {json.dumps(fact)}" for key, fact in (origin | facts).items())
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"wrote {path.name} of {path.parent.name}")
