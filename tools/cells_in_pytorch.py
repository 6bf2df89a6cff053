"""Run the cells of every chapter in PyTorch, and write down which of them run there: `make record`.

    python tools/cells_in_pytorch.py            all chapters
    python tools/cells_in_pytorch.py 06 18      two of them

A chapter's cells are run in order, statement by statement, in a process where `import tensorlab` gives PyTorch. A cell
whose statements all run is a cell that runs there unchanged. Of the others the file says what they ask for: a name
that only tensorlab has, or the error. The result, docs/cells_in_pytorch.json, is shown at the end of each chapter's
section "In PyTorch".
"""

import argparse
import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "docs" / "cells_in_pytorch.json"
CELL = re.compile(r"^```\{code-cell\}.*?\n(.*?)^```$", re.S | re.M)

# Runs in a process of its own, in the chapter's folder; gets the cells on stdin and prints a reason or null for each.
RUNNER = """
import ast, contextlib, importlib, importlib.util, io, json, re, sys, warnings
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
plt.style.use = lambda name: None  # the book's style is a file of tensorlab
import torch
sys.modules["tensorlab"] = torch
sys.path.insert(0, "")

class Alias:
    # tensorlab.utils.data is torch.utils.data
    def find_spec(self, name, path, target=None):
        if name.startswith("tensorlab."):
            return importlib.util.spec_from_loader(name, self)

    def create_module(self, spec):
        module = importlib.import_module("torch" + spec.name.removeprefix("tensorlab"))
        self.spec = module.__spec__
        return module

    def exec_module(self, module):
        module.__spec__ = self.spec

sys.meta_path.insert(0, Alias())
warnings.simplefilter("ignore")

def reason(error):
    if isinstance(error, ImportError):
        missing = re.match("cannot import name '(.*?)'", error.msg)
        return missing[1] if missing else re.sub("^torch", "tensorlab", error.name)
    if isinstance(error, NameError | AttributeError) and error.name:
        return error.name
    reason = f"{type(error).__name__}: {error}".split("\\n")[0]
    return reason if len(reason) <= 200 else f"{reason[:200]} ..."

names = {"__name__": "__main__"}
for cell in json.load(sys.stdin):
    found = None
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for statement in ast.parse(cell).body:
            try:
                exec(compile(ast.Module([statement], []), "<cell>", "exec"), names)
            except Exception as error:
                found = found or reason(error)
    plt.close("all")
    print(json.dumps(found), flush=True)
"""


def cells_of(text):
    """Return the source of each code cell of a MyST page, without its options."""
    found = []
    for body in CELL.findall(text):
        lines = body.split("\n")
        if lines[0] == "---":
            lines = lines[lines.index("---", 1) + 1 :]
        while lines and re.match(r":\w[\w-]*:", lines[0]):
            lines.pop(0)
        found.append("\n".join(lines))
    return found


def run_cells(cells, folder):
    """Return for each cell None, if it runs in PyTorch, or what it asks for."""
    fatal = set()  # cells that end the process, which are left out the next time
    while True:
        done = subprocess.run(
            [sys.executable, "-c", RUNNER],
            input=json.dumps(["" if i in fatal else cell for i, cell in enumerate(cells)]),
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600,
        )
        reasons = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode == 0:
            return [
                "ends the process of PyTorch" if i in fatal else why
                for i, why in enumerate(reasons)
            ]
        if len(reasons) == len(cells):
            sys.exit(
                f"the process ended with {done.returncode} after the last cell\n{done.stderr[-2000:]}"
            )
        fatal.add(len(reasons))


def run_chapter(folder):
    """Return how many cells a chapter has, and what those ask for that do not run in PyTorch."""
    cells = cells_of((folder / "index.md").read_text(encoding="utf-8"))
    reasons = run_cells(cells, folder)
    return {
        "cells": len(cells),
        "only here": {str(i): why for i, why in enumerate(reasons, 1) if why},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("numbers", nargs="*", help="chapters, such as 06; all without it")
    numbers = parser.parse_args().numbers
    record = json.loads(RECORD.read_text(encoding="utf-8"))["chapters"] if RECORD.exists() else {}
    for folder in sorted((ROOT / "chapters").glob("[0-9][0-9]-*")):
        if numbers and folder.name[:2] not in numbers:
            continue
        record[folder.name] = found = run_chapter(folder)
        ran = found["cells"] - len(found["only here"])
        print(f"{folder.name:32} {ran:3} of {found['cells']:3} cells run in PyTorch", flush=True)
    facts = {"torch": importlib.metadata.version("torch").split("+")[0], "chapters": record}
    RECORD.write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
