"""Plant bugs of the kinds that people write, one at a time, in a copy of the source, and see which tests notice.

    python tools/planted_bugs.py                  all bugs (half a minute each: one module is built, then tests run)
    python tools/planted_bugs.py --only NAME ...  some of them; --list names them

A bug that no test notices makes the exit status 1. Run it where the package is built in place (`make build`).
"""

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = (
    *("tensorlab", "tests", "build", "benchmarks", "docs", "tools"),
    *("setup.py", "pyproject.toml", "README.md"),
)


@dataclasses.dataclass
class Bug:
    """One replacement in one file."""

    name: str
    file: str
    old: str
    new: str


BUGS = [
    Bug(
        "broadcast not summed back",
        "tensorlab/_core/engine.pyx",
        "grad = grad.sum_to_size(make_size(meta.ndim, meta.sizes))",
        "grad = grad.as_strided(make_size(meta.ndim, meta.sizes), (0,) * meta.ndim)",
    ),
    Bug(
        "a gradient overwrites the one that waits",
        "tensorlab/_core/engine.pyx",
        "    if waiting is None:\n        gradients[i] = grad",
        "    if True:\n        gradients[i] = grad",
    ),
    Bug(
        "accumulation lost: = for +=",
        "tensorlab/_core/graph.pyx",
        "            variable.gradient.add_(new)",
        "            variable.gradient = alias(new)",
    ),
    Bug(
        "a view gets a counter of its own",
        "tensorlab/_core/tensor.pyx",
        "    out.counter = x.counter\n",
        "    out.counter = VersionCounter.__new__(VersionCounter)\n",
    ),
    Bug(
        "a stale view keeps its old node",
        "tensorlab/_core/graph.pyx",
        "    if x.counter.value != x.view_version:",
        "    if False:",
    ),
    Bug(
        "in-place does not count a version",
        "tensorlab/_core/op.pyx",
        "    bump_version(x)\n    if node is not None:",
        "    if node is not None:",
    ),
    Bug(
        "the offset of a view is forgotten in its base's history",
        "tensorlab/_core/graph.pyx",
        "    slices.view_offset = offset_of(x) - offset_of(base)",
        "    slices.view_offset = 0",
    ),
    Bug(
        "a node owns the output it saves",
        "tensorlab/_core/saved.pyx",
        "        saved.tensor = alias(x)",
        "        saved.tensor = x",
    ),
    Bug(
        "retain_graph is ignored",
        "tensorlab/_core/engine.pyx",
        "            if not task.keep_graph:\n",
        "            if True:\n",
    ),
    Bug(
        "a node runs before all its gradients are there",
        "tensorlab/_core/engine.pyx",
        "            if task.missing[slot] == 0:\n                ready.push(next_node)",
        "            if task.missing[slot] <= 1 and next_node not in ready.nodes:\n"
        "                ready.push(next_node)",
    ),
    Bug(
        "in-place on a leaf is allowed",
        "tensorlab/_core/graph.pyx",
        '    if needs_grad(x) and grad_fn_of(x) is None:\n        raise GradientError(f"{op}: a leaf',
        '    if False:\n        raise GradientError(f"{op}: a leaf',
    ),
    Bug(
        "merging dimensions that do not continue one another",
        "tensorlab/_core/loops.pyx",
        "            if walk.operand[k].steps[last] != walk.operand[k].steps[i]",
        "            if k == 0 and walk.operand[k].steps[last] != walk.operand[k].steps[i]",
    ),
    Bug(
        "the view rule forgets to end a chunk",
        "tensorlab/_core/layout.pyx",
        "        if i == 0 or (sizes[i - 1] != 1 and "
        "strides[i - 1] != chunk_count * chunk_stride):",
        "        if i == 0:",
    ),
    Bug(
        "the derivative of tanh forgets the chain rule",
        "tensorlab/ops/pointwise/elementary.pyx",
        "        out[i] = grad[i] * (<real>1 - y[i] * y[i])",
        "        out[i] = <real>1 - y[i] * y[i]",
    ),
    Bug(
        "a copy over itself is not read first",
        "tensorlab/ops/copying.pyx",
        "        if out.data_ < x_end and x.data_ < out_end:",
        "        if False:",
    ),
    Bug(
        "an exported buffer does not pin its storage",
        "tensorlab/_core/exchange.pyx",
        "    x.storage_.exports += 1",
        "    x.storage_.exports += 0",
    ),
]


def copy_tree(target):
    """Copy what building and testing needs; times are kept, so only the change is built."""
    for name in COPIED:
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
            f"{bug.name}: its text is {text.count(bug.old)} times in {bug.file}; "
            "mend tools/planted_bugs.py"
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
    parser.add_argument("--only", nargs="*", default=[bug.name for bug in BUGS])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--tests", nargs="*", default=["tests/core", "tests/ops"])
    arguments = parser.parse_args()
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
