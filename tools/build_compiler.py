"""The C compiler that setuptools chose: what it can do, and the flags that it gets."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from build_flags import (
    CAPABILITIES,
    DEBUG_DIRECTIVES,
    DEBUG_FLAGS,
    DIRECTIVES,
    FAST_LOOPS,
    FLAGS,
    LINK_FLAGS,
    SHORT_CODE,
    SHORT_LOOPS,
    SHORTEST_CODE,
    WHEEL_CODE,
    WHEEL_FLAGS,
    WHEEL_LINK_FLAGS,
    WIDE_VECTORS,
)

PLAIN_PROGRAM = "#include <math.h>\nint main(void) { return (int) sqrt(0.0); }\n"
PYTHON_PROGRAM = "#include <Python.h>\nint main(void) { return 0; }\n"
THREADS_PROGRAM = """#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
static void *body(void *argument) { return argument; }
static void after_fork(void) {}
int main(void) {
    static atomic_int one = 1;
    pthread_t thread;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, 0);
    pthread_atfork(0, 0, after_fork);
    return pthread_create(&thread, 0, body, 0) + !atomic_load(&one);
}
"""


def is_set(variable):
    return os.environ.get(variable, "") not in ("", "0")


def makes_wheel():
    return is_set("TENSORLAB_CAPABILITIES")


class Compiler:
    """Questions to the C compiler that setuptools chose."""

    def __init__(self, command):
        self.command = list(command)

    def accepts(self, *flags, program=PLAIN_PROGRAM, link=True):
        """Say whether `program` compiles, and links where `link` is true, with `flags`."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "program.c")
            source.write_text(program)
            target = ["-o", str(Path(folder, "program"))] if link else ["-fsyntax-only"]
            command = [*self.command, "-Werror", *flags, str(source), *target, "-lm"]
            try:
                return subprocess.run(command, capture_output=True).returncode == 0
            except OSError:
                return False

    def accepted(self, flags):
        """Return those of the flags that the compiler knows."""
        return [flag for flag in flags if self.accepts(flag)]

    def version(self):
        """Return the first line of the compiler's --version."""
        answer = subprocess.run([self.command[0], "--version"], capture_output=True, text=True)
        return answer.stdout.partition("\n")[0].strip()

    def capability(self, flags):
        """Name the widest vector instructions that code built with `flags` may use."""
        command = [*self.command, *flags, "-dM", "-E", "-x", "c", os.devnull]
        macros = subprocess.run(command, capture_output=True, text=True).stdout
        for macro, name in (
            ("__AVX512F__", "avx512"),
            ("__AVX2__", "avx2"),
            ("__ARM_NEON", "neon"),
        ):
            if macro in macros:
                return name
        return "baseline"


def check_compiler(compiler, python_include_dirs):
    """Stop with one clear sentence where a program cannot be compiled at all."""
    if not compiler.accepts():
        sys.exit(
            f"tensorlab: the C compiler {compiler.command[0]!r} is missing or cannot build a small "
            "program; install one (Debian, Ubuntu: apt install gcc libc6-dev; macOS: xcode-select "
            "--install) or name yours in CC."
        )
    includes = [f"-I{folder}" for folder in python_include_dirs]
    if not compiler.accepts("-w", *includes, program=PYTHON_PROGRAM, link=False):
        sys.exit(
            "tensorlab: Python.h was not found; install your Python's headers "
            "(Debian, Ubuntu: apt install python3-dev)."
        )


def choose_flags(compiler):
    """Return (compile flags, link flags, facts for _build_info.py)."""
    flags = compiler.accepted(DEBUG_FLAGS if is_set("TENSORLAB_DEBUG") else FLAGS)
    level = os.environ.get("TENSORLAB_OPTIMIZE", "")
    if level not in ("", "0", "1", "2", "3"):
        sys.exit(f"tensorlab: TENSORLAB_OPTIMIZE is 0, 1, 2 or 3; given {level!r}.")
    if level:
        flags.append(f"-O{level}")  # of several the last one counts
    if makes_wheel():
        flags += compiler.accepted(WHEEL_FLAGS)
    march = os.environ.get("TENSORLAB_MARCH", "native")
    if march:
        if compiler.accepts(f"-march={march}"):
            flags.append(f"-march={march}")
        elif march != "native":
            sys.exit(f"tensorlab: {compiler.command[0]} does not know TENSORLAB_MARCH={march!r}.")
    capability = compiler.capability(flags)
    # GCC prefers 256-bit vectors on most processors; measured, 512 bits make exp 1.5 times faster.
    if capability == "avx512" and compiler.accepts(WIDE_VECTORS):
        flags.append(WIDE_VECTORS)
    threads = not is_set("TENSORLAB_NO_THREADS") and compiler.accepts(
        "-pthread", program=THREADS_PROGRAM
    )
    link_flags = []
    wanted = [*LINK_FLAGS, *(WHEEL_LINK_FLAGS if makes_wheel() else [])]
    for flag in wanted:  # what one linker knows, another may not
        link_flags += [flag] if compiler.accepts(*link_flags, flag) else []
    if threads:
        flags.append("-pthread")
        link_flags.append("-pthread")
    else:
        flags.append("-DTENSORLAB_NO_THREADS")
    if is_set("TENSORLAB_DEBUG"):
        link_flags.append("-fsanitize=address,undefined")
    facts = {
        "compiler": compiler.version(),
        "flags": " ".join(flags),
        "march": march or "baseline",
        "capability": capability,
        "threads": threads,
        "variants": usable_capabilities(compiler) if makes_wheel() else [],
        "debug": is_set("TENSORLAB_DEBUG"),
        "more_flags": more_flags(compiler),
    }
    return flags, link_flags, facts


def choose_directives():
    return {**DIRECTIVES, **(DEBUG_DIRECTIVES if is_set("TENSORLAB_DEBUG") else {})}


def usable_capabilities(compiler):
    return [name for name, flags in CAPABILITIES.items() if compiler.accepts(*flags)]


def more_flags(compiler):
    """Return {kind of module: what is added to its flags}."""
    kinds = {"loops": [], "seldom": SHORT_CODE, "other": SHORT_CODE}
    if makes_wheel():
        kinds = {"loops": FAST_LOOPS, "seldom": SHORTEST_CODE, "other": WHEEL_CODE}
        kinds["old"] = SHORT_LOOPS
    if os.environ.get("TENSORLAB_OPTIMIZE") or is_set("TENSORLAB_DEBUG"):
        return {kind: [] for kind in kinds}
    return {kind: compiler.accepted(flags) for kind, flags in kinds.items()}
