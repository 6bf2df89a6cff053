"""From a Cython text to functions that Python can call: translate, compile, import.

    module = build("half", "def half(double x): return x / 2")
    module.half(3)

Each text is compiled once, into a temporary folder that goes away with the process. And the file
shows what the two compilers wrote: `yellow` how much each line asks of Python, `c_of` the C of a
line, and `assembly` the instructions.
"""

import contextlib
import functools
import hashlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from importlib.machinery import ExtensionFileLoader
from pathlib import Path

# What tools/build_flags.py gives the compiler for the package itself, after what Python's own
# builds ask for.
FLAGS = ("-fwrapv", "-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off")
CAPABILITIES = {
    "baseline": (),
    "avx2": ("-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"),
    "avx512": (
        *("-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"),
        *("-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl"),
        "-mprefer-vector-width=512",
    ),
}


class BuildError(Exception):
    """A text does not compile, or there is nothing to compile it with."""


def compiler():
    """Return the command of the C compiler, as a list: the one in CC, Python's own, or cc."""
    for command in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc"):
        words = shlex.split(command or "")
        if words and shutil.which(words[0]):
            return words
    return []


@functools.cache
def missing():
    """Say what is missing for a build on this machine; an empty text if nothing is."""
    if importlib.util.find_spec("Cython") is None:
        return "Cython is not installed; pip install 'tensorlab[chapters]' brings it."
    if not compiler():
        return "There is no C compiler; install one, or name yours in the variable CC."
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "There is no Python.h; install your Python's headers."
    return ""


def run(*words):
    """Run the C compiler; return what it wrote, or raise a BuildError with its first complaints."""
    done = subprocess.run([*compiler(), *words], capture_output=True, text=True)
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if "error" in line]
        raise BuildError("\n".join(complaints[:5]) or done.stderr[-500:])
    return done.stdout


@functools.cache
def accepts(program, *flags):
    """Say whether the C compiler takes a program with these flags."""
    file = folder() / "question.c"
    file.write_text(program)
    try:
        run("-w", "-Werror", *flags, include(), "-fsyntax-only", str(file))
    except BuildError:
        return False
    return True


def native():
    """Return the flag for this very processor, where the compiler has it."""
    flags = ("-march=native", "-mcpu=native")
    return next(([flag] for flag in flags if accepts("int one;\n", flag)), [])


@functools.cache
def folder():
    """Return the folder of this process for everything that is built."""
    keeper = tempfile.TemporaryDirectory(prefix="tiny_build_")
    folder.keeper = keeper  # the folder goes when the process ends
    return Path(keeper.name)


def include():
    return "-I" + sysconfig.get_path("include")


# ---------------------------------------------------------------- the three steps
@functools.cache
def translate(name, text):
    """Write the C of a Cython text, and the page of `cython -a`; return the path of the C file."""
    if missing():
        raise BuildError(missing())
    from Cython.Compiler.Main import CompilationOptions, compile

    home = folder() / hashlib.sha256(f"{name}\n{text}".encode()).hexdigest()[:16]
    home.mkdir(exist_ok=True)
    source = home / f"{name}.pyx"
    source.write_text(text, encoding="utf-8")
    # Without binding, functions are plain builtins, and the C is half as long.
    directives = {"language_level": 3, "binding": False}
    options = CompilationOptions(annotate=True, compiler_directives=directives)
    complaints = io.StringIO()
    with contextlib.redirect_stderr(complaints):
        try:
            result = compile(str(source), options, full_module_name=name)
        except Exception as error:
            raise BuildError(f"Cython stumbled over the text: {error}") from error
    if result.num_errors:
        pattern = r"^(?!warning|performance hint).*\.pyx:(\d+):\d+: (.+)"
        found = re.findall(pattern, complaints.getvalue(), re.M)
        raise BuildError("\n".join(f"line {line}: {what}" for line, what in found[:5]))
    return source.with_suffix(".c")


def start():
    """Load Cython, whose first text takes a second longer than the others; nothing if it isn't there."""
    if not missing():
        translate("start", "def start(): pass\n")


def compile_c(file, *flags):
    """Compile a C file to a library that Python can import; return its path."""
    home = file.parent / hashlib.sha256(repr(flags).encode()).hexdigest()[:16]
    home.mkdir(exist_ok=True)  # a library in use must not be written over
    library = home / (file.stem + sysconfig.get_config_var("EXT_SUFFIX"))
    kind = ["-shared", "-fPIC"]
    if sysconfig.get_platform().startswith("macosx"):
        kind = ["-bundle", "-undefined", "dynamic_lookup"]
    run("-w", *kind, *flags, include(), str(file), "-o", str(library))
    return library


@functools.cache
def build(name, text, flags=None):
    """Return the module `name` made of a Cython text; BuildError with the lines that don't compile."""
    if flags is None:
        flags = (*FLAGS, *(native() if not missing() else ()))
    library = compile_c(translate(name, text), *flags)
    loader = ExtensionFileLoader(name, str(library))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


# ---------------------------------------------------------------- what the compilers wrote
def yellow(name, text):
    """Return (number, score, line) of each line; the score is how yellow `cython -a` paints it."""
    page = translate(name, text).with_suffix(".html").read_text(encoding="utf-8")
    painted = re.findall(r"<pre class=.cython line score-(\d+).[^>]*>[^<]*<span[^>]*>0*(\d+)", page)
    scores = {int(number): int(score) for score, number in painted}
    return [(n, scores.get(n, 0), line) for n, line in enumerate(text.splitlines(), start=1)]


def c_of(name, text, number):
    """Return the lines of C that Cython wrote for line `number`, in its longest piece."""
    written = translate(name, text).read_text(encoding="utf-8")
    parts = re.split(rf'/\* "{re.escape(name)}\.pyx":(\d+)\n.*?\*/', written, flags=re.S)
    pieces = [c for line, c in zip(parts[1::2], parts[2::2], strict=True) if int(line) == number]
    lines = max(pieces, key=len, default="").split("\n")
    end = next((i for i, line in enumerate(lines) if line == "}"), len(lines))
    return [line.strip() for line in lines[:end] if line.strip()]


def readable(lines):
    """Return lines of C with short names, without casts, error handling and reference counts."""
    cuts = {
        r"__pyx_v_|/\* dim=0 \*/ ": "",
        r"__pyx_t_": "t",
        r"\((float|char)( const)? +\*\) ": "",
        r"\(\((\w+\.data)\)": r"(\1",
        r",( -?[01],| Py_ssize_t,| PyLong_FromSsize_t,)+ __Pyx_ReferenceSharing_\w+": "",
        r" *if \(unlikely\((!\w+|t\d+ == \(\(double\)-1\).*)\)\) __PYX_ERR.*": "",
        r"if \(unlikely\(\((.*) < 0\)\)\) __PYX_ERR.*": r"\1;",
    }
    kept = []
    for line in lines:
        if re.match(r"__Pyx_(X?GOTREF|X?GIVEREF|X?DECREF)|[{}]$", line):
            continue
        for pattern, new in cuts.items():
            line = re.sub(pattern, new, line)
        while (simpler := re.sub(r"(?<!\w)\( ?(\([^()]*\)) ?\)", r"\1", line)) != line:
            line = simpler
        kept.append(line)
    return kept


@functools.cache
def assembly(file, *flags):
    """Return {name: lines of instructions} of the functions in a C file."""
    target = file.with_name(hashlib.sha256(repr(flags).encode()).hexdigest()[:16] + ".s")
    run("-w", "-S", *flags, include(), str(file), "-o", str(target))
    functions, lines = {}, []
    for line in target.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"_*([a-zA-Z]\w*):", line):
            lines = functions.setdefault(match[1], [])
        elif re.match(r"\s+[a-z]", line):
            lines.append(" ".join(line.split()))
    return functions


def adds(lines):
    """Return (how many numbers at once, instruction) of each addition among `lines`.

    It knows the additions of floating-point numbers on x86 and ARM.
    """
    found = []
    for line in lines:
        if match := re.match(r"v?addp([sd])\b.*%([xyz])mm", line):
            size = {"s": 4, "d": 8}[match[1]]
            found.append(({"x": 16, "y": 32, "z": 64}[match[2]] // size, line))
        elif match := re.match(r"fadd(?:\.| v\d+\.)([248])[sd]\b", line):
            found.append((int(match[1]), line))
        elif re.match(r"v?adds[sd]\b|fadd [sd]\d", line):
            found.append((1, line))
    return found


def widest(file, name, *flags):
    """Return (how many numbers, instruction) of the widest addition in function `name`; or None."""
    for symbol, lines in assembly(file, *flags).items():
        if symbol.endswith(f"_{name}"):
            return max(adds(lines), default=None)
    return None


# ---------------------------------------------------------------- pages without a compiler
def skip_without_compiler(*names):
    """In a notebook on a machine that cannot compile, skip the cells that use one of `names`."""
    if not missing():
        return "ready: " + " ".join(compiler())
    from IPython import get_ipython

    def skip(lines):
        uses = re.search(rf"\b({'|'.join(names)})\b", "".join(lines))
        return ["print('Skipped: this cell needs compiled code.')\n"] if uses else lines

    get_ipython().input_transformers_post.append(skip)
    return missing() + " Cells that need compiled code are skipped."
