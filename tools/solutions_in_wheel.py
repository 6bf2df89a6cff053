"""Does every official solution pass where tensorlab is installed, and not only in the checkout?

    python tools/solutions_in_wheel.py                         a wheel of what is compiled here
    python tools/solutions_in_wheel.py dist/tensorlab-...whl   that wheel

A new environment gets the wheel, and nothing of the checkout: what lies elsewhere there (the chapters, say)
or is missing shows. Each solution is judged as a notebook judges it and, unless its check has to run
beside the answer, as grading does.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = """
import sys
from pathlib import Path

import tensorlab
from tensorlab.learn.exercise import all_chapters
from tensorlab.learn.verify import Apart, Beside, flat

home = Path(tensorlab.__file__).parent
assert sys.prefix in str(home), f"this is not the installed package: {home}"
chosen = sys.argv[1:]
count = failed = 0
for chapter in all_chapters():
    if chosen and chapter.number not in chosen:
        continue
    with Beside(chapter) as here, Apart(chapter) as there:
        for exercise in chapter.exercises:
            for bench in (here,) if exercise.beside else (here, there):
                verdict = bench.judge(exercise, exercise.solution)
                count += 1
                if not verdict.is_right:
                    failed += 1
                    print(f"{type(bench).__name__}: {flat(verdict)}", flush=True)
print(f"{count} verdicts on solutions in an installed package; {failed} are not right")
sys.exit(1 if failed or not count else 0)
"""


def make_environment(folder, wheel):
    """Return the Python of a new environment that has the wheel, and what it needs from this one."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    site = sysconfig.get_path("purelib", vars={"base": str(folder)})
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*command, "--no-deps", "--no-index", str(wheel)], check=True)
    # A path in a .pth file is searched, and .pth files in it are not read: this checkout's stays out.
    shared = "\n".join({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    Path(site, "shared.pth").write_text(shared + "\n", encoding="utf-8")
    return python


def wheel_of_checkout(folder):
    sys.path.insert(0, str(ROOT))
    from tensorlab.learn.handout import wheel_name, write_wheel

    path = folder / wheel_name()
    write_wheel(path, with_solutions=True)
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "wheel", nargs="?", type=Path, help="default: made of what is compiled here"
    )
    parser.add_argument("--chapters", nargs="*", default=[], help="default: all")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        wheel = options.wheel.resolve() if options.wheel else wheel_of_checkout(folder)
        python = make_environment(folder / "environment", wheel)
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = [str(python), "-P", "-c", PROGRAM, *options.chapters]
        sys.exit(subprocess.run(command, cwd=folder, env=clean).returncode)


if __name__ == "__main__":
    main()
