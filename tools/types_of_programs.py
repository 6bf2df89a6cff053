"""Check the code of the book, and the programs of the tests, with mypy and pyright, as users have them.

    python tools/types_of_programs.py                 # mypy --strict
    python tools/types_of_programs.py --pyright path  # and pyright, whose command that is

The code of each chapter becomes one file, and so does each file of programs. Each is checked twice: as it is, and
with PyTorch in the place of tensorlab. What is printed is the errors that PyTorch's version of a line does not have,
but for those of REASONS.

What a notebook allows and a checker does not is set off: names with a second type, and magics.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CELL = re.compile(r"^(`{3,})\{code-cell\}.*?\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
OPTIONS = re.compile(r"\A(?:---\n.*?\n---\n|(?::\w+:[^\n]*\n)+)", re.DOTALL)
STRICT = ["--strict", "--config-file=", "--follow-imports=silent", "--allow-redefinition"]
STRICT += ["--no-error-summary", "--disable-error-code=no-redef", "--ignore-missing-imports"]
# Pieces of lines that may have an error, and why.
MISTAKE = "the program is wrong on purpose, or careless, and PyTorch's types don't see it"
TWO_TYPES = "the notebook gives one name to two things, one of which is Any in PyTorch"
INSIDE = "about the inside of tensorlab, which the chapter takes apart"
REASONS = {
    "layer.weight = torch.eye(2)": MISTAKE,
    "[F.cross_entropy(one(x), y).backward() for": MISTAKE,
    "inside.tangent.tolist()": "the tangent may be None; the function that makes it has no types in PyTorch",
    "return losses, out.grad.float(), factors": "the gradient may be None; PyTorch's layers return Any",
    "dual = forward_ad.make_dual(x": TWO_TYPES,
    "for batch in loader))": TWO_TYPES,
    'keeps = max(sum(1 if a.kind == "F"': TWO_TYPES,
    "y = method(A, b)": "mypy joins functions with different arguments to one without types",
    "lowering_rows.WORDS": INSIDE,
    "program.output_of(": INSIDE,
    "compiled.forward.compiled.entries": INSIDE,
}
LENIENT = {"reportRedeclaration": False, "reportMissingModuleSource": False}


def code_of(chapter):
    """Return the code cells of a chapter as one text, magics left out."""
    cells = [OPTIONS.sub("", found[2]) for found in CELL.finditer(chapter.read_text("utf-8"))]
    cells = [cell for cell in cells if not cell.lstrip().startswith("%%")]
    return re.sub(r"^(\s*)[%!].*$", r"\1pass", "\n\n".join(cells), flags=re.MULTILINE) + "\n"


def program_of(path):
    """Return a file of tests/programs with the package itself in the place of the argument `torch`."""
    head, _, rest = path.read_text("utf-8").partition('"""\n')
    rest = rest.replace("(torch, ", "(").replace("(torch)", "()").replace("tests.programs.", "")
    return f'{head}"""\nimport tensorlab as torch\n{rest}'


def with_pytorch(text):
    text = re.sub(r"\bimport tensorlab as torch\b", "import torch", text)
    return re.sub(r"\btensorlab\b", "torch", text)


def write_programs(folder):
    """Write every program twice, into `ours` and `theirs`; return the names."""
    texts = {
        f"chapter_{path.parent.name[:2]}": code_of(path)
        for path in (ROOT / "chapters").glob("*/index.md")
    }
    for path in (ROOT / "tests/programs").glob("[a-z]*.py"):
        if not path.name.startswith("test_"):
            texts[path.stem] = program_of(path)
    for side, change in (("ours", str), ("theirs", with_pytorch)):
        (folder / side).mkdir()
        for name, text in texts.items():
            (folder / side / f"{name}.py").write_text(change(text), "utf-8")
    return sorted(texts)


def mypy(folder):
    """Yield (name, line, code, message) of each error."""
    names = sorted(path.name for path in folder.glob("*.py"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *STRICT, "--cache-dir", "../cache", *names],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    for found in re.finditer(
        r"^(\w+)\.py:(\d+): error: (.*?)\s+\[([\w-]+)\]$", done.stdout, re.MULTILINE
    ):
        yield found[1], int(found[2]), found[4], found[3]


def pyright(folder, command):
    """Yield the same as `mypy`, of pyright's standard rules."""
    settings = {"extraPaths": [str(ROOT)], "pythonVersion": "3.11", **LENIENT}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), "utf-8")
    done = subprocess.run(
        [command, "--outputjson", "--pythonpath", sys.executable, "-p", "."],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    for found in json.loads(done.stdout)["generalDiagnostics"]:
        if found["severity"] == "error":
            line, code = found["range"]["start"]["line"] + 1, found.get("rule", "syntax")
            yield Path(found["file"]).stem, line, code, found["message"].partition("\n")[0]


def compared(check, folder):
    """Return the errors of ours at lines where PyTorch's version has none of that code.

    Returns
    -------
    two lists : those without a reason, and those with one
    """
    theirs = {error[:3] for error in check(folder / "theirs")}
    found = [error for error in check(folder / "ours") if error[:3] not in theirs]
    with_reason = [error for error in found if reason_of(folder / "ours", *error[:2])]
    return [error for error in found if error not in with_reason], with_reason


def reason_of(folder, program, line):
    """Return why a line of a program may have an error, or None."""
    text = (folder / f"{program}.py").read_text("utf-8").splitlines()[line - 1]
    return next((reason for piece, reason in REASONS.items() if piece in text), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pyright", metavar="COMMAND")
    command = parser.parse_args().pyright
    checks = {"mypy --strict": mypy}
    if command:
        checks["pyright"] = lambda folder: pyright(folder, command)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print(len(write_programs(folder)), "programs")
        for title, check in checks.items():
            errors, with_reason = compared(check, folder)
            for program, line, code, message in errors:
                print(f"{program}:{line}: {message[:120]} [{code}]")
            counts = collections.Counter(code for _, _, code, _ in errors)
            print(
                f"{title}: {len(errors)} errors that PyTorch's version lacks", dict(counts), end=""
            )
            print(f", and {len(with_reason)} with a reason")


if __name__ == "__main__":
    main()
