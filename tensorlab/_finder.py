"""Finding the compiled modules, which lie in one library.

For `import tensorlab.ops.joining`, Python looks for a file of that name beside the package's
others. There is none: all modules that were compiled are in the file `_compiled`, and a finder
at the end of `sys.meta_path`, where Python asks last, knows it. So a module that was compiled
alone, and lies beside its source, comes first.

A wheel has its modules built for the oldest processor that it may meet, and beside this library
two more, `_compiled_avx2` and `_compiled_avx512`, with builds of the modules that have hot
loops. The best one that the processor can run is asked before the first. The environment
variable TENSORLAB_CAPABILITY (baseline, avx2, avx512) asks for less than the processor has. A
build from source is made for its own machine and has only one library.
"""

import os
import sys
from importlib.machinery import ExtensionFileLoader, PathFinder
from importlib.util import module_from_spec, spec_from_file_location

LEVELS = ("baseline", "avx2", "avx512")
PACKAGE = __name__.partition(".")[0]
FOLDER = os.path.dirname(os.path.abspath(__file__))


class Loader(ExtensionFileLoader):
    """Loads one module of a library, and answers the rest as if the library had no other."""

    def __init__(self, name, library, place):
        super().__init__(name, library.__file__)
        self.library, self.place = library, place

    def create_module(self, spec):
        """Make an empty module; the first of two calls by which Python loads one."""
        return self.library.create(self.place, spec)

    def exec_module(self, module):
        """Fill it; the second."""
        self.library.execute(module)


class Finder:
    """Finds the modules of one library."""

    def __init__(self, library):
        self.library = library
        self.places = library.places()

    def find_spec(self, name, path=None, target=None):
        """Return the ModuleSpec of a module that the library has, or None."""
        if name not in self.places:
            return None
        loader = Loader(name, self.library, self.places[name])
        return spec_from_file_location(name, self.library.__file__, loader=loader)


def load_library(name, folder=FOLDER):
    """Load a library, without entering it among Python's modules; None if there isn't one."""
    spec = PathFinder.find_spec(f"{PACKAGE}.{name}", [os.fspath(folder)])
    if spec is None:
        return None
    library = module_from_spec(spec)
    spec.loader.exec_module(library)
    return library


def processor_level():
    """Return the index in LEVELS of what this processor can run, or of what the user allows."""
    asked = os.environ.get("TENSORLAB_CAPABILITY") or "avx512"
    if asked not in LEVELS:
        raise ValueError(
            f"TENSORLAB_CAPABILITY is {asked!r}; it must be one of {', '.join(LEVELS)}"
        )
    return min(LEVELS.index(asked), COMPILED.processor_level())


def compresses_slowly():
    """Does this processor take long to store the lanes of a vector that a mask selects?"""
    return COMPILED.compresses_slowly()


def best_build(folder=FOLDER):
    """Load the library of the highest level that is there and can run; None if there is none."""
    libraries = (
        load_library(f"_compiled_{LEVELS[level]}", folder)
        for level in range(processor_level(), 0, -1)
    )
    return next(filter(None, libraries), None)


def all_modules():
    """Return the names of all modules below the package, of Python and compiled, in order."""
    import pkgutil  # only here: `import tensorlab` is to load little

    in_files = (found.name for found in pkgutil.walk_packages([FOLDER], f"{PACKAGE}."))
    libraries = {f"{PACKAGE}.{name}" for name in LIBRARIES}
    return sorted({*in_files, *COMPILED.places()} - libraries)


LIBRARIES = ("_compiled", *(f"_compiled_{level}" for level in LEVELS[1:]))
COMPILED = load_library("_compiled")
if COMPILED is None:
    raise ImportError(
        f"{PACKAGE} was not compiled: there is no library `_compiled` for Python "
        f"{sys.version_info.major}.{sys.version_info.minor} in {FOLDER}; "
        "`make build` in its checkout makes it, and a wheel brings it along"
    )
sys.meta_path.extend(Finder(library) for library in (best_build(), COMPILED) if library)
