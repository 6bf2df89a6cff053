"""Build tensorlab: a module for every .pyx file under tensorlab/, and all of them in one library.

Before that, the inner loops of pointwise ops are made of the formulas in their declarations
(tensorlab/_core/loops/scalar.py), a C header for each file that has some.  The library's table of
modules is tensorlab/_compiled.c, and tensorlab/_finder.py gives them to Python.

The compiler directives and flags live here and nowhere else.  A source build is made for the
machine it runs on; these environment variables change that:

TENSORLAB_MARCH         value for -march; "" asks for the compiler's baseline.  Default: native.
TENSORLAB_OPTIMIZE      value for -O instead of 3; 0 builds in half of the time, to see that it builds.
TENSORLAB_NO_THREADS    1 builds without threads of our own (pthreads) even where the system has them.
TENSORLAB_CAPABILITIES  1 adds builds of the hot-loop modules for newer processors, for wheels that
                        also run on old ones (`make wheel`); tensorlab/_finder.py chooses.
TENSORLAB_DEBUG         1 builds with bounds and None checks under the address and
                        undefined-behaviour sanitizers (`make debug`).

What was decided is written to tensorlab/_build_info.py, which `tensorlab.__config__.show()` prints.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.modified import newer_group

ROOT = Path(__file__).resolve().parent
PACKAGE = "tensorlab"
LIBRARY = f"{PACKAGE}._compiled"
NEEDS_NUMPY_HEADERS = {"tensorlab._core.interop.arrays"}
SCALAR_EXPRESSIONS = f"{PACKAGE}/_core/loops/scalar.py"
INCLUDED_BY_LOOPS = [f"{PACKAGE}/_core/loops/scalar_loops.h", f"{PACKAGE}/_core/loops/tl_math.h"]

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": True,  # of Python's lists and tuples: C arrays and pointers have no checks anyway
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "binding": True,  # plain builtins do not bind, so they could not be methods of Tensor
    "embedsignature": True,
    "embedsignature.format": "python",
}
DEBUG_DIRECTIVES = {
    "nonecheck": True,
    "initializedcheck": True,
}

# GCC vectorises float loops with the first two; nan, inf and -0 keep their meaning, unlike under
# -ffast-math.  Without contraction eager kernels and generated code agree to the last bit.
# Generated code gives hundreds of warnings to whoever installs tensorlab (x != x is how NaN is
# found); `make debug` shows the others.
# Products of complex numbers are four products of real ones, as in PyTorch; C's own rules find infinities in
# what has come out as nan, one number after the other.
# Calls into libpython otherwise go through a stub each: without those a small call takes 6 % less.
FLAGS = [
    *["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"],
    *["-fno-plt", "-g0", "-w", "-fcx-fortran-rules"],
]
# Python is built with -fwrapv, which would hide signed overflow from the sanitizer.
DEBUG_FLAGS = [
    *["-O0", "-g", "-fno-wrapv", "-ffp-contract=off", "-fno-omit-frame-pointer"],
    "-fsanitize=address,undefined",
    "-DCYTHON_USE_FREELISTS=0",  # objects that wait for their next use look alive to the sanitizer
    # Errors since GCC 14, which older compilers only warn of among much that means nothing.
    *["-Werror=incompatible-pointer-types", "-Werror=int-conversion", "-Wno-tautological-compare"],
]
WIDE_VECTORS = "-mprefer-vector-width=512"

# What is no loop is built with -O2, in 0.6 of the time of -O3, or -Os, in 0.4.  What Cython would write into every
# module is in one (SHARED).  A wheel has three builds of the loops and at most 12 MB: no symbols, no tables for
# unwinding, loops without what makes code much longer and few of them faster, short loops for old processors.
# Functions that came out equal are kept once, where the linker can tell (gold).
WHEEL_FLAGS = ["-fno-asynchronous-unwind-tables", "-ffunction-sections", "-fdata-sections"]
WHEEL_LINK_FLAGS = ["-s", "-fuse-ld=gold", "-Wl,--icf=safe", "-Wl,--gc-sections"]
SHORT_CODE = ["-O2"]
SHORTEST_CODE = ["-Os"]
SHORT_LOOPS = [
    *["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"],
    *["-funswitch-loops", "-fversion-loops-for-strides", "-fsplit-loops"],
]
FAST_LOOPS = [
    *["-fno-ipa-cp-clone", "-fno-peel-loops", "-fno-split-paths"],
    *["-fno-gcse-after-reload", "-fno-tree-partial-pre"],
    *["--param=max-inline-insns-auto=15", "--param=early-inlining-insns=6"],
    *["--param=inline-min-speedup=30"],
    *["--param=max-completely-peeled-insns=100", "--param=max-completely-peel-times=8"],
]
SHARED = f"{PACKAGE}._cyutility"

# What tensorlab/_compiled.c asks of the processor, and the modules worth a build for each.
CAPABILITIES = {
    "avx2": ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"],
    "avx512": [
        *["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"],
        *["-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl"],
        WIDE_VECTORS,
    ],
}
HOT_MODULES = (
    "tensorlab._core.loops.conversion",
    "tensorlab._core.loops.iterator",
    "tensorlab.ops.batch_norm",
    "tensorlab.ops.convolution_loops",
    "tensorlab.ops.copying",
    "tensorlab.ops.direct_convolution",
    "tensorlab.ops.extrema",
    "tensorlab.ops.indexing.embedding",
    "tensorlab.ops.indexing.embedding_bag",
    "tensorlab.ops.indexing.index_along_dim",
    "tensorlab.ops.indexing.index_iterator",
    "tensorlab.ops.indexing.masked",
    "tensorlab.ops.indexing.nonzero",
    "tensorlab.ops.indexing.scatter_gather",
    "tensorlab.ops.indexing.scatter_reduce",
    "tensorlab.ops.dim_iterator",
    "tensorlab.ops.linalg.distances",
    "tensorlab.ops.linalg.packed_products",
    "tensorlab.ops.linalg.product_loops",
    "tensorlab.ops.linalg.small_matrices",
    "tensorlab.ops.linalg.small_reflections",
    "tensorlab.ops.sparse.products",
    "tensorlab.ops.losses",
    "tensorlab.ops.normalization",
    "tensorlab.ops.norms",
    "tensorlab.ops.optim_steps",
    "tensorlab.ops.order_statistics",
    "tensorlab.ops.indirect_convolution",
    "tensorlab.ops.winograd",
    "tensorlab.ops.winograd_weight",
    "tensorlab.ops.panel_convolution",
    "tensorlab.ops.im2col",
    "tensorlab.ops.pointwise",
    "tensorlab.ops.pointwise_losses",
    "tensorlab.ops.products",
    "tensorlab.ops.reduction_iterator",
    "tensorlab.ops.recurrent.gates",
    "tensorlab.ops.recurrent.panels",
    "tensorlab.ops.reductions",
    "tensorlab.ops.scans",
    "tensorlab.ops.softmax",
    "tensorlab.ops.sorting",
    "tensorlab.ops.statistics",
)
# Measured for 85 ops on Zen 4: these loops take at least 0.95 of the time that they take without the capability.
NO_FASTER = {
    "avx2": (
        "tensorlab.ops.indexing.embedding",
        "tensorlab.ops.indexing.index_along_dim",
        "tensorlab.ops.pointwise.incomplete_gamma",
        "tensorlab.ops.pointwise.probabilities",
        "tensorlab.ops.sorting",
    ),
    "avx512": (
        "tensorlab.ops.indexing.embedding",
        "tensorlab.ops.indexing.index_along_dim",
        "tensorlab.ops.indexing.nonzero",
        "tensorlab.ops.indexing.scatter_gather",
        "tensorlab.ops.norms",
        "tensorlab.ops.optim_steps",
        "tensorlab.ops.order_statistics",
        "tensorlab.ops.pointwise.arithmetic",
        "tensorlab.ops.pointwise.bounds",
        "tensorlab.ops.pointwise.common",
        "tensorlab.ops.pointwise.comparison",
        "tensorlab.ops.pointwise.incomplete_gamma",
        "tensorlab.ops.pointwise.logic",
        "tensorlab.ops.pointwise.piecewise",
        "tensorlab.ops.pointwise.polynomials",
        "tensorlab.ops.pointwise.probabilities",
        "tensorlab.ops.pointwise.rectifiers",
        "tensorlab.ops.pointwise.rounding",
        "tensorlab.ops.pointwise.selection",
        "tensorlab.ops.pointwise.signs",
        "tensorlab.ops.pointwise.weighted_sums",
        "tensorlab.ops.scans",
        "tensorlab.ops.sorting",
        "tensorlab.ops.sparse.products",
    ),
}
# Loops, too, but not worth builds of their own.
MORE_LOOPS = (
    "tensorlab._core.distributions",
    "tensorlab._core.random",
    "tensorlab._core.rejection",
    "tensorlab.compiler.blocks",
    "tensorlab.ops.attention",
    "tensorlab.ops.complex_numbers",
    "tensorlab.ops.folding",
    "tensorlab.ops.linalg.blas",
    "tensorlab.ops.pooling",
    "tensorlab.ops.random_factories",
    "tensorlab.ops.ranges",
    "tensorlab.ops.recurrent.layer",
    "tensorlab.ops.searching",
    "tensorlab.ops.strided",
    "tensorlab.ops.triangles",
    "tensorlab.ops.uniques",
)
# What takes long however it is called: short code will do.
SELDOM_CALLED = (
    "tensorlab._core.dispatch.numpy_aliases",
    "tensorlab._core.graph.anomaly",
    "tensorlab._core.interop.dlpack",
    "tensorlab._core.profiling",
    "tensorlab._core.state.devices",
    "tensorlab.compiler.capture.aliasing",
    "tensorlab.compiler.joint",
    "tensorlab.distributed",
    "tensorlab.ops.fourier",
    "tensorlab.ops.histograms",
    "tensorlab.ops.linalg.cholesky",
    "tensorlab.ops.linalg.determinants",
    "tensorlab.ops.linalg.eigenvalues",
    "tensorlab.ops.linalg.indefinite",
    "tensorlab.ops.linalg.lapack_library",
    "tensorlab.ops.linalg.least_squares",
    "tensorlab.ops.linalg.lu",
    "tensorlab.ops.linalg.matrix_exponential",
    "tensorlab.ops.linalg.nuclear",
    "tensorlab.ops.linalg.orthogonal",
    "tensorlab.ops.linalg.pseudo_inverse",
    "tensorlab.ops.linalg.solving",
    "tensorlab.ops.linalg.spectral",
    "tensorlab.ops.linalg.triangular",
    "tensorlab.ops.sampling",
    "tensorlab.ops.sparse.methods",
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


def state():
    """Describe all that a build in place depends on and makes; one that changed nothing would find the same again."""
    files = [ROOT / "setup.py", *(ROOT / PACKAGE).rglob("*")]
    suffixes = (
        ".pyx",
        ".pxd",
        ".h",
        ".c",
        ".so",
        ".pyd",
        "setup.py",
        "scalar.py",
        "_build_info.py",
    )
    lines = [f"{path} {path.stat().st_mtime_ns}" for path in files if path.name.endswith(suffixes)]
    settings = [
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith("TENSORLAB_") or name in ("CC", "CFLAGS", "LDFLAGS", "PATH")
    ]
    versions = [sys.version, *(f"{one} {version(one)}" for one in ("cython", "setuptools"))]
    return "\n".join(sorted([*lines, *settings, *versions]))


def newest_source():
    """Return the time of the last change of a source file, in nanoseconds."""
    suffixes = (".pyx", ".pxd", ".h", ".c")
    sources = [path for path in (ROOT / PACKAGE).rglob("*") if path.suffix in suffixes]
    return max(path.stat().st_mtime_ns for path in sources)


def find_modules():
    """Return an Extension for every .pyx file, named by its path, though none becomes a library of its own."""
    modules = []
    for path in sorted((ROOT / PACKAGE).rglob("*.pyx")):
        source = path.relative_to(ROOT)
        name = ".".join(source.with_suffix("").parts)
        folders = ("loops", "interop", "state")  # that have headers
        include_dirs = [f"{PACKAGE}/_core/{folder}" for folder in folders]
        if name in NEEDS_NUMPY_HEADERS:
            import numpy

            include_dirs.append(numpy.get_include())
        modules.append(Extension(name, [source.as_posix()], include_dirs=include_dirs))
    return modules


def find_libraries():
    """Return an Extension for every library that this build may make."""
    names = [LIBRARY, *map(library_for, CAPABILITIES if makes_wheel() else [])]
    return [Extension(name, [f"{PACKAGE}/_compiled.c"]) for name in names]


def library_for(capability):
    return f"{LIBRARY}_{capability}"


def module_of(path):
    """Import one file of this folder, which is no installed package."""
    specification = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def write_loops(modules, folder):
    """Write the inner loops of pointwise ops, made from the expressions in their declarations.

    A module `elementary.pyx` with such ops includes "elementary_loops.h", which lies in `folder`. Only files whose text
    has changed are written, so that only their modules are compiled again. Returns {name of a module: its header}.
    """
    scalar = module_of(SCALAR_EXPRESSIONS)
    written = {}
    for module in modules:
        (source,) = module.sources
        text = scalar.loops_header(Path(source).read_text(encoding="utf-8"), source)
        if text is None:
            continue
        header = Path(folder, f"{Path(source).stem}_loops.h")
        write_if_other(header, text)
        written[module.name] = header.as_posix()
    return written


def write_if_other(file, text):
    """Write a file unless it says so already: a new time would say that what is made of it is old."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


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
    for flag in WHEEL_LINK_FLAGS if makes_wheel() else []:  # what one linker knows, another may not
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


def build_info_text(facts):
    import Cython

    facts = {**facts, "cython": Cython.__version__, "directives": choose_directives()}
    lines = [f"{name} = {value!r}" for name, value in facts.items()]
    return "\n".join(['"""How this copy was built; written by setup.py."""', "", *lines, ""])


def choose_directives():
    return {**DIRECTIVES, **(DEBUG_DIRECTIVES if is_set("TENSORLAB_DEBUG") else {})}


def usable_capabilities(compiler):
    return [name for name, flags in CAPABILITIES.items() if compiler.accepts(*flags)]


def more_flags(compiler):
    """Return {kind of module: what is added to its flags}."""
    kinds = {"hot": FAST_LOOPS, "old": SHORT_LOOPS, "seldom": SHORTEST_CODE, "other": SHORT_CODE}
    if os.environ.get("TENSORLAB_OPTIMIZE") or is_set("TENSORLAB_DEBUG"):
        return {kind: [] for kind in kinds}
    return {kind: compiler.accepted(flags) for kind, flags in kinds.items()}


def builds_of(name, flags, facts):
    """Return [(library, flags)]: the libraries that a module is compiled for, and how."""
    more = {kind: [*flags, *added] for kind, added in facts["more_flags"].items()}
    loops = more["hot"] if facts["variants"] else flags  # only a wheel has to be small
    if is_in(name, MORE_LOOPS):
        return [(LIBRARY, loops)]
    if not is_in(name, HOT_MODULES):
        return [(LIBRARY, more["seldom" if is_in(name, SELDOM_CALLED) else "other"])]
    faster = [one for one in facts["variants"] if name not in NO_FASTER[one]]
    newer = [(library_for(one), [*loops, *CAPABILITIES[one]]) for one in faster]
    return [(LIBRARY, more["old"] if newer else loops), *newer]


def is_in(name, places):
    """Is a module one of these, or in one of these packages?"""
    return f"{name}.".startswith(tuple(f"{place}." for place in places))


def init_of(name):
    """Return the name that a module's PyInit_ function gets, which must be the only one in the library."""
    return f"PyInit_{name.replace('.', '__')}"


def shared_module(folder):
    """Return the module with what Cython would else write into each of the others."""
    source = Path(folder, "_cyutility.c")
    if not source.exists():
        source.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "cython", f"--generate-shared={source}"]
        subprocess.run([*command, "--module-name", SHARED], check=True)
    return Extension(SHARED, [source.as_posix()])


class BuildExtensions(build_ext):
    """Compile the .pyx files to C, and the C files with flags that the compiler accepts.

    _build_info.py doubles as a stamp: when what it would say changes (other flags, another
    compiler, other directives), everything is built again; else only what was edited.
    """

    def finalize_options(self):
        super().finalize_options()
        if sys.platform == "win32" and self.compiler is None:
            self.compiler = "mingw32"  # Microsoft's lacks what the sources use of GCC's language
        if self.parallel is None:
            self.parallel = os.cpu_count() or 1

    def run(self):
        super().run()
        if self.inplace and self.build_info is not None:
            write_if_other(ROOT / PACKAGE / "_build_info.py", self.build_info)
            self.remove_others(ROOT / PACKAGE)

    def remove_others(self, folder):
        """Remove libraries that an earlier version made; those beside their source would be found first."""
        libraries = {Path(self.get_ext_filename(one.name)).name for one in self.extensions}
        for built in list(folder.rglob("*" + self.get_ext_filename(""))):
            if built.name not in libraries:
                built.unlink()

    def get_outputs(self):
        return [*super().get_outputs(), os.path.join(self.build_lib, PACKAGE, "_build_info.py")]

    build_info = None

    def build_extensions(self):
        compiler = Compiler(getattr(self.compiler, "compiler", None) or ["cc"])
        check_compiler(compiler, self.compiler.include_dirs)
        flags, link_flags, facts = choose_flags(compiler)
        self.build_info = build_info_text(facts)
        stamp = Path(self.build_lib, PACKAGE, "_build_info.py")
        changed = not stamp.exists() or stamp.read_text(encoding="utf-8") != self.build_info
        if changed:
            shutil.rmtree(self.build_temp, ignore_errors=True)  # each kind of build has its own
            write_if_other(stamp, self.build_info)
        self.remove_others(Path(self.build_lib, PACKAGE))
        modules = find_modules()
        print(
            f"tensorlab: {facts['compiler']}, {facts['capability']}, "
            f"threads {'on' if facts['threads'] else 'off'}, {len(modules)} modules"
            f"{', 2 to 4 minutes' if changed else ''}",
            flush=True,
        )
        headers = write_loops(modules, os.path.join(self.build_temp, "loops"))
        build_dir = os.path.join(self.build_temp, "cython")
        objects = {library.name: {} for library in self.extensions}
        sys.path.insert(0, str(ROOT / "tools"))  # the processes that are started have it too
        from cython_translation import translate

        def compile_all(module):
            found = [
                self.compile_module(module, objects[library], library, its_flags)
                for library, its_flags in builds_of(module.name, flags, facts)
            ]
            return any(found)

        with ProcessPoolExecutor(self.parallel) as translators:

            def build(module):
                work = translators.submit(translate, module, build_dir, choose_directives(), SHARED)
                module.sources, module.depends = work.result()
                if module.name in headers:
                    header = headers[module.name]
                    module.depends = [*module.depends, header, *INCLUDED_BY_LOOPS]
                    module.include_dirs = [*module.include_dirs, os.path.dirname(header)]
                return compile_all(module)

            self.build_all(build, modules)
        compile_all(shared_module(build_dir))
        self.extensions = [one for one in self.extensions if objects[one.name]]
        for library in self.extensions:
            self.link(library, objects[library.name], flags, link_flags)

    def compile_module(self, module, objects, library, flags):
        """Compile a module's C file for a library, and enter it in {name: object}; say whether it had to be done."""
        (source,) = module.sources
        macro = f"PyInit_{module.name.rpartition('.')[2]}", init_of(module.name)
        folder = os.path.join(self.build_temp, library)
        (target,) = self.compiler.object_filenames([source], output_dir=folder)
        objects[module.name] = target
        old = newer_group([source, *module.depends], target)
        if old:
            self.compiler.compile(
                [source],
                output_dir=folder,
                macros=[macro],
                include_dirs=module.include_dirs,
                extra_postargs=flags,
            )
        return old

    def link(self, library, objects, flags, link_flags):
        """Link modules {name: object}, with the table of what there is, to a library."""
        folder = os.path.join(self.build_temp, library.name)
        init = f"PyInit_{library.name.rpartition('.')[2]}"
        table = [f'MODULE("{name}", {init_of(name)})\n' for name in sorted(objects)]
        write_if_other(Path(folder, "compiled_modules.h"), "".join(table))
        path = self.get_ext_fullpath(library.name)
        depends = [*objects.values(), *library.sources, os.path.join(folder, "compiled_modules.h")]
        if newer_group(depends, path):
            tables = self.compiler.compile(
                library.sources,
                output_dir=folder,
                macros=[("INIT_OF_LIBRARY", init)],
                include_dirs=[folder],
                extra_postargs=flags,
            )
            self.compiler.link_shared_object(
                [*tables, *objects.values()],
                path,
                libraries=self.get_libraries(library),
                extra_postargs=link_flags,
                export_symbols=[init],
            )

    def build_all(self, build, modules):
        """Build modules, several at a time, the longest first, and say how far it is."""
        start = time.monotonic()
        with ThreadPoolExecutor(self.parallel) as threads:
            by_length = sorted(modules, key=lambda one: -os.path.getsize(one.sources[0]))
            jobs = {threads.submit(build, module): module.name for module in by_length}
            try:
                for done, job in enumerate(as_completed(jobs), 1):
                    if job.result():
                        minutes, seconds = divmod(int(time.monotonic() - start), 60)
                        print(
                            f"[{done:3}/{len(jobs)}] {minutes}:{seconds:02} {jobs[job]}", flush=True
                        )
            except BaseException:
                threads.shutdown(cancel_futures=True)
                raise


class BuildPython(build_py):
    """Copy the package but for _build_info.py, which tells of another build; bring the chapters along.

    An installed package checks exercises and opens chapters without the repository, so it has a copy
    of what lies in their folders, but for what only records results.
    """

    def run(self):
        super().run()
        if not self.editable_mode:
            for source, target in self.chapter_files():
                self.mkpath(str(target.parent))
                self.copy_file(str(source), str(target))

    def chapter_files(self):
        """Return (source, target) of every file of a chapter that comes along.

        They lie beside the package: to the compiler, what lies below it is the library's own code, and the
        programs of chapters and exercises are not.
        """
        target = Path(self.build_lib, f"{PACKAGE}_chapters")
        return [
            (path, target / path.parent.name / path.name)
            for path in sorted((ROOT / "chapters").glob("[0-9][0-9]-*/*"))
            if path.is_file() and path.name != "record.py"
        ]

    def get_outputs(self, *arguments, **named):
        copies = [str(target) for _, target in self.chapter_files()]
        return [*super().get_outputs(*arguments, **named), *copies]

    def find_package_modules(self, package, package_dir):
        modules = super().find_package_modules(package, package_dir)
        return [found for found in modules if found[1] != "_build_info"]


if __name__ == "__main__":
    os.chdir(ROOT)
    stamp = ROOT / "build" / "in-place.txt"
    in_place = "--inplace" in sys.argv
    if not (in_place and stamp.exists() and stamp.read_text(encoding="utf-8") == state()):
        started = time.time_ns()
        setup(
            long_description=module_of("tools/homepage.py").readme(),
            long_description_content_type="text/markdown",
            ext_modules=find_libraries(),
            cmdclass={"build_ext": BuildExtensions, "build_py": BuildPython},
        )
        if (
            in_place and not newest_source() > started
        ):  # what was edited meanwhile is for the next build
            stamp.write_text(state(), encoding="utf-8")
