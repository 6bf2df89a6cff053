"""Build tensorlab: a module for every .pyx file under tensorlab/, and all of them in one library.

Before that, the inner loops of pointwise ops are made of the formulas in their declarations
(tensorlab/_core/loops/scalar.py), a C header for each file that has some.  The library's table of
modules is tensorlab/_compiled.c, and tensorlab/_finder.py gives them to Python.

The compiler directives and flags live in tools/build_flags.py and nowhere else.  A source build is
made for the machine it runs on; these environment variables change that:

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
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.modified import newer_group

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))  # the processes that are started have it too

import build_compiler  # noqa: E402
from build_flags import CAPABILITIES, LIBRARY, builds_of, library_for  # noqa: E402
from cython_translation import translate, write_shared  # noqa: E402

PACKAGE = "tensorlab"
SHARED = f"{PACKAGE}._cyutility"
HELPERS = ("build_compiler.py", "build_flags.py", "cython_translation.py")
NEEDS_NUMPY_HEADERS = {"tensorlab._core.interop.arrays"}
SCALAR_EXPRESSIONS = f"{PACKAGE}/_core/loops/scalar.py"
INCLUDED_BY_LOOPS = [f"{PACKAGE}/_core/loops/scalar_loops.h", f"{PACKAGE}/_core/loops/tl_math.h"]


def state():
    """Describe all that a build in place depends on and makes; one that changed nothing would find the same again."""
    suffixes = (".pyx", ".pxd", ".h", ".c", ".so", ".pyd", "scalar.py", "_build_info.py")
    files = [path for path in (ROOT / PACKAGE).rglob("*") if path.name.endswith(suffixes)]
    files += [ROOT / "setup.py", *(ROOT / "tools" / name for name in HELPERS)]
    lines = [f"{path} {path.stat().st_mtime_ns}" for path in files]
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
    names = [LIBRARY, *map(library_for, CAPABILITIES if build_compiler.makes_wheel() else [])]
    return [Extension(name, [f"{PACKAGE}/_compiled.c"]) for name in names]


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


def build_info_text(facts):
    import Cython

    facts = {
        **facts,
        "cython": Cython.__version__,
        "directives": build_compiler.choose_directives(),
    }
    lines = [f"{name} = {value!r}" for name, value in facts.items()]
    return "\n".join(['"""How this copy was built; written by setup.py."""', "", *lines, ""])


def init_of(name):
    """Return the name that a module's PyInit_ function gets, which must be the only one in the library."""
    return f"PyInit_{name.replace('.', '__')}"


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
        compiler = build_compiler.Compiler(getattr(self.compiler, "compiler", None) or ["cc"])
        build_compiler.check_compiler(compiler, self.compiler.include_dirs)
        flags, link_flags, facts = build_compiler.choose_flags(compiler)
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

        def compile_all(module):
            found = [
                self.compile_module(module, objects[library], library, its_flags)
                for library, its_flags in builds_of(module.name, flags, facts)
            ]
            return any(found)

        with ProcessPoolExecutor(self.parallel) as translators:

            def build(module):
                work = translators.submit(
                    translate, module, build_dir, build_compiler.choose_directives(), SHARED
                )
                module.sources, module.depends = work.result()
                if module.name in headers:
                    header = headers[module.name]
                    module.depends = [*module.depends, header, *INCLUDED_BY_LOOPS]
                    module.include_dirs = [*module.include_dirs, os.path.dirname(header)]
                return compile_all(module)

            def build_shared():  # a translator first: see cython_translation.py
                source = translators.submit(write_shared, build_dir, SHARED).result()
                return compile_all(Extension(SHARED, [source]))

            self.build_all(build, modules, build_shared)
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

    def build_all(self, build, modules, also):
        """Build modules, several at a time, the longest first, and say how far it is.

        `also` is called beside them.
        """
        start = time.monotonic()
        with ThreadPoolExecutor(self.parallel) as threads:
            other = threads.submit(also)
            by_length = sorted(modules, key=lambda one: -os.path.getsize(one.sources[0]))
            jobs = {threads.submit(build, module): module.name for module in by_length}
            try:
                for done, job in enumerate(as_completed(jobs), 1):
                    if job.result():
                        minutes, seconds = divmod(int(time.monotonic() - start), 60)
                        print(
                            f"[{done:3}/{len(jobs)}] {minutes}:{seconds:02} {jobs[job]}", flush=True
                        )
                other.result()
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
