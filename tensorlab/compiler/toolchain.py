"""From C to addresses: the compiler is found, run once for all kernels of a schedule, and what it makes is loaded.

    load(sources)       dict of name: address of a kernel's function
        find_compiler   $TENSORLAB_CC, cc, gcc, clang, or the one of the package `ziglang`
        disk_cache      what was compiled before, by this or another process
        compile_text    runs the compiler, for at most $TENSORLAB_CC_TIMEOUT seconds (20)
        open_library    loads bytes, not a file that may have changed since it was checked

The flags are those that tensorlab itself was built with, so that results are equal to the last bit.
A library stays loaded until the process ends: a plan may hold an address for as long as it likes.
"""

import contextlib
import ctypes
import functools
import importlib.util
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tensorlab import _build_info
from tensorlab._core import loops
from tensorlab._finder import LEVELS, processor_level
from tensorlab._progress import Patience
from tensorlab.compiler import disk_cache
from tensorlab.errors import TensorlabError

HEADERS = Path(loops.__path__[-1])
HEADER_NAMES = ("tl_math.h", "half.h")
FLAGS = [
    *["-shared", "-fPIC", "-std=gnu99", "-O3", "-fno-math-errno", "-fno-trapping-math"],
    *["-ffp-contract=off", "-fwrapv", "-g0", "-w"],
]
WIDE_VECTORS = "-mprefer-vector-width=512"
# For a copy of tensorlab that chooses among builds when it is imported: CAPABILITIES of
# tools/build_flags.py.
CAPABILITY_FLAGS = {
    "baseline": [],
    "avx2": ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"],
    "avx512": [
        *["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"],
        *["-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl"],
        WIDE_VECTORS,
    ],
}
DEFAULT_TIMEOUT = 20.0
COMMENTS = re.compile(r"\s*/\*.*?\*/", re.DOTALL)
KERNEL_NAME = re.compile(r"^void (\w+)\(void \*const \*tensors,", re.MULTILINE)


class ToolchainError(TensorlabError, RuntimeError):
    """Kernels cannot be compiled or loaded on this machine."""


class NoCompiler(ToolchainError):
    """There is no C compiler."""


class CompilerFailed(ToolchainError):
    """The C compiler ended with an error, or made nothing that can be loaded."""


class CompilerTimeout(CompilerFailed):
    """The C compiler did not end in time."""


class Compiler(NamedTuple):
    """A command that compiles C, and what tells it from another version of itself."""

    command: tuple
    identity: str

    @property
    def is_zig(self):
        return "ziglang" in self.command


loaded: dict[tuple, dict[str, int]] = {}  # what makes code: {a kernel's source: its address}
libraries: list[ctypes.CDLL] = []  # ctypes closes none of them, but an object that is kept says so


# ------------------------------------------------------------------------------------------------ the compiler
def find_compiler():
    """Return the first compiler that this machine has.

    Raises
    ------
    NoCompiler
        If there is none, or $TENSORLAB_CC names a program that does not exist.
    """
    return found_compiler(os.environ.get("TENSORLAB_CC"), os.environ.get("PATH"))


@functools.lru_cache(maxsize=8)
def found_compiler(wanted, path):
    if wanted:
        words = shlex.split(wanted)
        program = words and shutil.which(words[0], path=path)
        if not program:
            raise NoCompiler(
                f"TENSORLAB_CC is {wanted!r}, and there is no such program; name a C compiler, or unset it "
                f"to let cc, gcc or clang be found"
            )
        return Compiler((program, *words[1:]), identity_of(program))
    for name in ("cc", "gcc", "clang"):
        program = shutil.which(name, path=path)
        if program:
            return Compiler((program,), identity_of(program))
    zig = importlib.util.find_spec("ziglang")
    if zig is not None:
        return Compiler((sys.executable, "-m", "ziglang", "cc"), identity_of(zig.origin))
    raise NoCompiler(
        "there is no C compiler: none of cc, gcc and clang is on the PATH. Install one (Debian, Ubuntu: apt install "
        "gcc libc6-dev; macOS: xcode-select --install), or pip install ziglang, or name yours in TENSORLAB_CC"
    )


def identity_of(program):
    """Tell a program from its next version without running it, which would take longer than a whole load."""
    real = os.path.realpath(program)
    facts = os.stat(real)
    return f"{real} {facts.st_size} {facts.st_mtime_ns}"


def flags_for(compiler):
    """Return the flags that make code as tensorlab's own, for the processor that this process runs on."""
    if _build_info.variants:
        return [*FLAGS, *CAPABILITY_FLAGS[LEVELS[processor_level()]]]
    flags = list(FLAGS)
    if _build_info.march != "baseline":
        flags.append(
            f"-mcpu={_build_info.march}" if compiler.is_zig else f"-march={_build_info.march}"
        )
    if WIDE_VECTORS in _build_info.flags.split():
        flags.append(WIDE_VECTORS)
    return flags


@functools.lru_cache(maxsize=1)
def processor():
    """Describe the processor: what -march=native depends on."""
    facts = [platform.machine(), platform.system()]
    with (
        contextlib.suppress(OSError),
        open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file,
    ):
        for line in file:
            if line.startswith(("model name", "flags", "Features", "CPU part")):
                facts.append(line.strip())
            if not line.strip():
                break
    return "\n".join(facts)


@functools.lru_cache(maxsize=1)
def headers_text():
    return "".join((HEADERS / name).read_text(encoding="utf-8") for name in HEADER_NAMES)


def timeout():
    """Return how many seconds the compiler may take."""
    text = os.environ.get("TENSORLAB_CC_TIMEOUT")
    try:
        return float(text) if text else DEFAULT_TIMEOUT
    except ValueError:
        raise ValueError(
            f"TENSORLAB_CC_TIMEOUT is {text!r}; it must be a number of seconds"
        ) from None


# ------------------------------------------------------------------------------------------------ loading
def load(sources) -> dict:
    """Return the addresses of kernels.

    Parameters
    ----------
    sources : list of str, C with one kernel each (Kernel.source); equal ones may be there several
    times

    Returns
    -------
    dict of name: address (int)

    Raises
    ------
    NoCompiler, CompilerFailed, CompilerTimeout
        All are ToolchainError.
    """
    kernels: dict = {}
    for source in sources:
        kernels.setdefault(without_comments(source), source)
    if not kernels:
        return {}
    names = {code: KERNEL_NAME.findall(code)[0] for code in kernels}
    if len(set(names.values())) < len(names):
        double = next(name for name in names.values() if list(names.values()).count(name) > 1)
        raise ValueError(f"load: two sources that differ have a kernel named {double}")
    compiler = find_compiler()
    flags = flags_for(compiler)
    command = " ".join([*compiler.command, *flags])
    makers = headers_text(), command, compiler.identity, processor()
    known = loaded.setdefault(makers, {})
    missing = {code: source for code, source in kernels.items() if code not in known}
    if missing:
        text = "\n".join(missing.values())
        key = disk_cache.key_of("\n".join(missing), *makers)
        found = library_of(text, [names[code] for code in missing], key, compiler, flags)
        known.update({code: found[names[code]] for code in missing})
    return {name: known[code] for code, name in names.items()}


def library_of(text, names, key, compiler, flags):
    """The addresses of the kernels in a text, which is compiled unless the cache has its library."""
    content = disk_cache.get(key)
    addresses = None if content is None else addresses_in(content, names)
    if addresses is None:
        content = compile_text(text, compiler, flags)
        addresses = addresses_in(content, names)
        if addresses is None:
            raise CompilerFailed(
                f"{shlex.join(compiler.command)}: what it made cannot be loaded on this machine"
            )
        disk_cache.put(key, content)
    return addresses


COMPILING = Patience(
    "compile: the C compiler is at work; what it makes is kept on the disk, so that later runs start at once"
)


def without_comments(source):
    """What makes two kernels the same: their comments name the lines of the program, which may differ."""
    return COMMENTS.sub("", source)


def compile_text(text, compiler, flags):
    """Run the compiler on C source and return the library that it makes, as bytes."""
    with tempfile.TemporaryDirectory(prefix="tensorlab-") as folder:
        source, target = Path(folder, "kernels.c"), Path(folder, "kernels.so")
        source.write_text(text, encoding="utf-8")
        command = [
            *compiler.command,
            *flags,
            "-I",
            str(HEADERS),
            "-o",
            str(target),
            str(source),
            "-lm",
        ]
        with COMPILING.waiting():
            status, errors = run(command)
        if status != 0:
            raise CompilerFailed(
                f"{shlex.join(command[:-5])}: it ended with status {status}:\n{errors[-2000:]}"
            )
        try:
            return target.read_bytes()
        except OSError:
            raise CompilerFailed(
                f"{shlex.join(compiler.command)}: it ended without an error and made nothing"
            ) from None


def run(command):
    """Run a program in a process group of its own, which is killed as a whole if it takes too long."""
    seconds = timeout()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise NoCompiler(f"{command[0]} cannot be run: {error}") from error
    try:
        errors = process.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        raise CompilerTimeout(
            f"{command[0]}: it did not end within {seconds:g} s (TENSORLAB_CC_TIMEOUT); it was stopped"
        ) from None
    finally:
        if process.poll() is None:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stderr.close()
    return process.returncode, errors.decode(errors="replace")


def addresses_in(content, names):
    """Load a library and look its functions up; None if it is none, or lacks one of them."""
    library = open_library(content)
    try:
        return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names}
    except AttributeError:
        return None


def open_library(content):
    """Load a library from bytes, by way of a file that exists only for as long as that takes."""
    for home in (disk_cache.folder(), None):  # None: the folder for temporary files
        name = None
        try:
            handle, name = tempfile.mkstemp(dir=home, prefix="load-", suffix=".so")
            with open(handle, "wb") as file:
                file.write(content)
            library = ctypes.CDLL(name)
        except OSError:  # no room, or programs may not be run from there
            continue
        finally:
            if name is not None:
                disk_cache.remove(name)
        libraries.append(library)
        return library
    return None
