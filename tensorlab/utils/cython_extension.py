"""Ops from outside in Cython: a .pyx is translated, compiled and imported, and what it declares
are ops like any other.

    module = load_inline("clips", source)       # takes seconds; the next time it comes from the disk

The source has the form of the files in tensorlab/ops: a declaration, derivatives, a function
(see the chapter on custom ops, and _core/dispatch/op.pyx). The package's .pxd files are found
by themselves; the loops of pointwise ops are made of their formulas, and stand in the header
"<name>_loops.h". Cython is needed: `pip install cython`, and a C compiler.

What was compiled is kept in the folder that `compile` uses, under a name that says everything
it was made of: the source, versions of Python, Cython, tensorlab and the compiler, flags and
processor.
"""

import importlib.machinery
import importlib.util
import os
import re
import shlex
import sys
import sysconfig
import tempfile
from pathlib import Path
from types import ModuleType

from tensorlab import _build_info, version
from tensorlab._core.loops.scalar import loops_header
from tensorlab._progress import Patience
from tensorlab.compiler import disk_cache, toolchain
from tensorlab.compiler.capture.kinds import EXTENSIONS
from tensorlab.errors import MissingExtra

__all__ = ["load", "load_inline"]

PACKAGE = Path(_build_info.__file__).parent
# setup.py's: `binding` makes functions that can be methods
DIRECTIVES = [
    "wraparound=False",
    "cdivision=True",
    "initializedcheck=False",
    "binding=True",
    "embedsignature=True",
]
BUILDING = Patience(
    "cython_extension: Cython and the C compiler are at work; what they make is kept on the disk"
)

loaded: dict = {}  # key: module


class BuildFailed(toolchain.ToolchainError):
    """An extension could not be translated or compiled; the message has what Cython or the
    compiler said.
    """


def load_inline(name, source, *, extra_cflags=(), verbose=False) -> ModuleType:
    """Build an extension module from Cython source, and import it.

    Parameters
    ----------
    name : str, a Python name; the module's
    source : str, the text of the .pyx
    extra_cflags : sequence of str, for the C compiler, after those that tensorlab was built
        with
    verbose : bool, whether the commands are printed

    Returns
    -------
    the module; the same one if it has been loaded in this process

    Raises
    ------
    BuildFailed
        If Cython or the C compiler refuse the source. Nothing is kept then.
    MissingExtra
        If Cython isn't installed.

    Examples
    --------
    >>> source = '''
    ... from tensorlab._core.tensor cimport TensorBase
    ... def count_dims(TensorBase x not None):
    ...     return x.ndim_
    ... '''
    >>> import tensorlab
    >>> load_inline("page_example", source).count_dims(tensorlab.ones(2, 3))    # doctest: +SKIP
    2
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(
            f"load_inline: {name!r} can't be the name of a module; choose a Python name"
        )
    compiler = toolchain.find_compiler()
    flags = [*toolchain.flags_for(compiler), *extra_cflags]
    key = disk_cache.key_of(
        name,
        source,
        f"{sys.version} {sysconfig.get_config_var('EXT_SUFFIX')} Cython {_cython_version()} {version.__version__}",
        declarations_text(),
        " ".join([*compiler.command, *flags]),
        compiler.identity,
        toolchain.processor(),
    )
    if key not in loaded:
        content = disk_cache.get(key)
        if content is None:
            with BUILDING.waiting():
                content = build(name, source, compiler, flags, verbose)
            disk_cache.put(key, content)
        loaded[key] = import_bytes(name, content)
        EXTENSIONS.add(name)
    return loaded[key]


def load(name, sources, *, extra_cflags=(), verbose=False) -> ModuleType:
    """Build an extension module from a .pyx file, and import it; see `load_inline`.

    Parameters
    ----------
    sources : path of the file, or a list with one path
    """
    paths = [sources] if isinstance(sources, str | os.PathLike) else list(sources)
    if len(paths) != 1 or Path(paths[0]).suffix != ".pyx":
        raise ValueError(f"load: one .pyx file is needed, not {paths}")
    return load_inline(
        name, Path(paths[0]).read_text(encoding="utf-8"), extra_cflags=extra_cflags, verbose=verbose
    )


# ---------------------------------------------------------------- building
def _cython_version():
    try:
        import Cython
    except ImportError:
        raise MissingExtra(
            "cython_extension: Cython is not installed; pip install "
            "'tensorlab-book[chapters]', or pip install cython"
        ) from None
    return Cython.__version__


def declarations_text():
    """The package's .pxd files: what a module is compiled against."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.pxd")))


def build(name, source, compiler, flags, verbose):
    """Translate and compile a source; return the library as bytes."""
    with tempfile.TemporaryDirectory(prefix="tensorlab-") as folder:
        pyx, c, library = (Path(folder, name + suffix) for suffix in (".pyx", ".c", ".so"))
        pyx.write_text(source, encoding="utf-8")
        header = loops_header(source, pyx.name)
        if header is not None:
            Path(folder, f"{name}_loops.h").write_text(header, encoding="utf-8")
        directives = [word for one in DIRECTIVES for word in ("-X", one)]
        run(
            [
                sys.executable,
                "-m",
                "cython",
                "-3",
                *directives,
                "-I",
                str(PACKAGE.parent),
                "-o",
                str(c),
                str(pyx),
            ],
            "Cython",
            source,
            verbose,
        )
        includes = [folder, str(toolchain.HEADERS), *python_includes(source)]
        run(
            [
                *compiler.command,
                *flags,
                *[f"-I{one}" for one in includes],
                "-o",
                str(library),
                str(c),
                "-lm",
            ],
            "the C compiler",
            source,
            verbose,
        )
        return library.read_bytes()


def python_includes(source):
    """Folders of headers: Python's, and NumPy's if the source names it."""
    folders = [sysconfig.get_path("include")]
    if re.search(r"^\s*cimport numpy|^\s*from numpy cimport", source, re.MULTILINE):
        import numpy

        folders.append(numpy.get_include())
    return folders


def run(command, who, source, verbose):
    """Run a program, and raise what it says if it fails."""
    if verbose:
        print(shlex.join(command))
    status, errors = toolchain.run(command)
    if status != 0:
        raise BuildFailed(f"cython_extension: {who} refused the source:\n{errors.strip()[-3000:]}")


def import_bytes(name, content):
    """Import a library as a module, by way of a file that exists only for as long as that takes."""
    with tempfile.TemporaryDirectory(prefix="tensorlab-") as folder:
        path = Path(folder, name + sysconfig.get_config_var("EXT_SUFFIX"))
        path.write_bytes(content)
        loader = importlib.machinery.ExtensionFileLoader(name, str(path))
        specification = importlib.util.spec_from_file_location(name, path, loader=loader)
        module = importlib.util.module_from_spec(specification)
        loader.exec_module(module)
    return module
