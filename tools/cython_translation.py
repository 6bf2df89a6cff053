"""Cython's translation of one module to C, where another process can import it.

setup.py is no module that could be imported while pip runs it, so it can't hold what its helper
processes call.  Threads fork those processes, so each thread asks for one before it starts the C
compiler: a process that is forked while another thread starts it keeps its pipe open, and that
thread would wait forever.
"""

import gc
import subprocess
import sys
from pathlib import Path


def translate(extension, folder, directives, shared):
    """Let Cython translate a module, if it has to; returns its C files, and what they were made of.

    It runs in a process of its own, since Cython is a Python program that keeps one processor busy.
    `shared` names the module with what is the same in all, or is None.
    """
    from Cython.Build import cythonize

    # Cython makes trees of small objects: looking for garbage less often saves a quarter of the time.
    gc.set_threshold(100_000, 50, 100)
    (made,) = cythonize(
        [extension],
        build_dir=folder,
        compiler_directives=directives,
        show_all_warnings=False,
        quiet=True,
        shared_utility_qualified_name=shared,
    )
    return made.sources, made.depends


def write_shared(folder, name):
    """Write what Cython would else write into every module, as one module; returns its C file."""
    source = Path(folder, "_cyutility.c")
    if not source.exists():
        source.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "cython", f"--generate-shared={source}"]
        subprocess.run([*command, "--module-name", name], check=True)
    return source.as_posix()
