"""A copy of the checkout in which many mutants wait behind switches, and what it takes to build it.

Only files with mutants are built again, at -O1: a switch inside of a hot loop keeps it from being vectorised anyway.
Of a .pxd, these are the modules that call its inline functions. A mutant that does not compile is left out, found by
the line that the compiler names.

A mutant of a formula is in the loops that are made of it (tensorlab/_core/loops/scalar.py), and not in the file
itself, whose texts `compile` puts into kernels, which have no switches.
"""

import importlib.util
import re
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mutation import CYTHON, FORMULA, schemata

SUFFIX = sysconfig.get_config_var(
    "EXT_SUFFIX"
)  # read here: its first reading is not safe in threads

# ---------------------------------------------------------------- written beside the copy
SWITCHES_PY = '''"""The switches of the mutants, shared by all processes of a run."""

import mmap
import os
import struct

if "TL_MUTANTS" in os.environ:
    with open(os.environ["TL_MUTANTS"], "r+b") as file:
        switches = mmap.mmap(file.fileno(), 0)
else:
    switches = bytearray(struct.pack("i", -1) + bytes(1 << 16))


def on(number):
    """Is this mutant the one that is switched on? Notes that it was asked."""
    switches[4 + number] = 1
    return switches[:4] == struct.pack("i", number)


# so that `compile` takes it for code of tensorlab, and doesn't refuse to record what passes a switch
on.__code__ = on.__code__.replace(
    co_filename=os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorlab", "switches.py")
)


def enable_interception(number):
    switches[:4] = struct.pack("i", number)


def seen():
    """The numbers that were asked for since `forget`."""
    asked = switches[4:]
    numbers, at = [], asked.find(1)
    while at >= 0:
        numbers.append(at)
        at = asked.find(1, at + 1)
    return numbers


def forget():
    switches[4:] = bytes(len(switches) - 4)
'''

SWITCHES_H = """/* The switches of the mutants, shared by all processes of a run. */
#pragma once
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct { int number; unsigned char seen[1 << 16]; } tl_switches;
static tl_switches tl_no_switches = {-1, {0}};
static tl_switches* tl_mutants = &tl_no_switches;

__attribute__((constructor)) static void tl_find_mutants(void) {
    const char* name = getenv("TL_MUTANTS");
    int file = name ? open(name, O_RDWR) : -1;
    if (file < 0) return;
    void* memory = mmap(NULL, sizeof(tl_switches), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) tl_mutants = (tl_switches*)memory;
    close(file);
}

static inline int tl_mutant_on(int number) {
    tl_mutants->seen[number] = 1;
    return __atomic_load_n(&tl_mutants->number, __ATOMIC_RELAXED) == number;
}
"""
DECLARATION = """

cdef extern from "tl_mutants.h" nogil:
    bint tl_mutant_on(int number) noexcept
"""
INLINE = re.compile(r"^cdef inline [^(\n]*?(\w+)\(", re.MULTILINE)


def module_at(path):
    """Import a file of the checkout, but not the package that it is in."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


scalar = module_at(Path(__file__).resolve().parents[1] / "tensorlab/_core/loops/scalar.py")


def mentions(text, names):
    return not names.isdisjoint(re.findall(r"\w+", text))


# ---------------------------------------------------------------- building
class Builder:
    """Writes and compiles files with mutants in a copy of the checkout."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = Path(folder), jobs
        self.originals = {}
        self.formulas, self.functions = (
            {},
            None,
        )  # texts with switches: of files, and of scalar_functions.h
        (self.folder / "tl_mutants.py").write_text(SWITCHES_PY)
        (self.folder / "tl_mutants.h").write_text(SWITCHES_H)
        facts = {}
        exec((self.folder / "tensorlab" / "_build_info.py").read_text(), facts)
        self.flags = re.sub(r"-O\d", "-O1", facts["flags"]).split()
        self.directives = [f"{name}={value}" for name, value in facts["directives"].items()]

    def build(self, chosen, spare):
        """Build files with these mutants.

        Parameters
        ----------
        chosen : dict from file to a dict from number to mutant; one that does not compile is replaced by a spare one
        spare : dict from file to a list of further mutants, which gets shorter

        Returns
        -------
        list of mutants that did not compile
        """

        def build_one(file):
            return self.build_file(file, chosen[file], spare.get(file, []))

        headers = sorted(file for file in chosen if file.endswith((".pxd", ".h")))
        refused = [build_one(file) for file in headers]  # modules include them, so they come first
        with ThreadPoolExecutor(self.jobs) as pool:
            refused += pool.map(build_one, sorted(chosen.keys() - headers))
        return [mutant for some in refused for mutant in some]

    def build_file(self, file, mutants, spare):
        path = self.folder / file
        original = self.originals.setdefault(file, path.read_text(encoding="utf-8"))
        is_python = file.endswith(".py")
        refused = []
        while mutants:
            text = self.write(file, mutants)
            report = self.check(text, file) if is_python else self.compile_users(file, mutants)
            if report is None:
                return refused
            wrong = self.blamed(report, file, mutants)
            for number in wrong:
                refused.append(mutants.pop(number))
                if spare:
                    mutants[number] = spare.pop()
        path.write_text(original, encoding="utf-8")
        return refused

    def write(self, file, mutants):
        """Write a file with its mutants behind switches, or keep those of its formulas for `write_loops`; the text."""
        original, is_cython = self.originals[file], file.endswith(CYTHON)
        formulas = {n: one for n, one in mutants.items() if one.operator == FORMULA}
        with_formulas = schemata(original, formulas, is_cython)
        if file.endswith(".h"):
            self.functions = with_formulas
            return with_formulas
        self.formulas[file] = with_formulas
        others = {n: one for n, one in mutants.items() if n not in formulas}
        text = schemata(original, others, is_cython) + (DECLARATION if is_cython else "")
        (self.folder / file).write_text(text, encoding="utf-8")
        return text

    def write_loops(self, file):
        """Write the header with the loops of the ops in a module, if it has any; returns its text."""
        source = self.formulas.get(file) or (self.folder / file).read_text(encoding="utf-8")
        known = self.functions and scalar.functions_in(self.functions)
        text = scalar.loops_header(source, file, known)
        if not text:
            return ""
        (self.folder / "loops").mkdir(exist_ok=True)
        header = self.folder / "loops" / f"{Path(file).stem}_loops.h"
        header.write_text(f'#include "tl_mutants.h"\n{text}', encoding="utf-8")
        return text

    def blamed(self, report, file, mutants):
        """The mutants that an error message speaks of; of several, those that do not compile alone either."""
        lines = {int(n) for n in re.findall(rf"{re.escape(Path(file).name)}:(\d+)", report)}
        suspects = {
            number: one
            for number, one in mutants.items()
            if any(one.line <= line <= one.line + one.old.count("\n") for line in lines)
        } or mutants
        if len(suspects) == 1 or file.endswith(".py"):
            return list(suspects)
        found = []
        for number, mutant in suspects.items():
            self.write(file, {number: mutant})
            if self.compile_users(file, {number: mutant}) is not None:
                found.append(number)
        return found or list(suspects)

    @staticmethod
    def check(text, file):
        try:
            compile(text, file, "exec")
        except SyntaxError as error:
            return f"{Path(file).name}:{error.lineno}: {error}"
        return None

    def compile_users(self, file, mutants):
        """Compile all modules that these mutants of a file are in; None, or what the compilers said."""
        if file.endswith(".pyx"):
            return self.compile(file)
        if file.endswith(".h"):
            every = (
                path.relative_to(self.folder).as_posix()
                for path in self.folder.glob("tensorlab/**/*.pyx")
            )
            modules = [module for module in every if "tl_mutant_on" in self.write_loops(module)]
        else:
            modules = self.modules_with(self.inline_functions(file, mutants))
        with ThreadPoolExecutor(self.jobs) as pool:
            return next(filter(None, pool.map(self.compile, modules)), None)

    def inline_functions(self, file, mutants):
        """The names of the inline functions with these mutants, and of all that call them."""
        text = self.originals[file]
        names = {INLINE.findall(text, 0, one.start)[-1] for one in mutants.values()}
        bodies = []
        for path in self.folder.glob("tensorlab/**/*.pxd"):
            header = path.read_text(encoding="utf-8")
            starts = [match.start() for match in INLINE.finditer(header)]
            bodies += map(header.__getitem__, map(slice, starts, [*starts[1:], None]))
        while (
            callers := {INLINE.match(body)[1] for body in bodies if mentions(body, names)} - names
        ):
            names |= callers
        return names

    def modules_with(self, names):
        """The modules that mention a name, the longest first."""
        texts = {path.relative_to(self.folder).as_posix(): path.read_text(encoding="utf-8")
                 for path in self.folder.glob("tensorlab/**/*.pyx")}  # fmt: skip
        return sorted(
            (file for file in texts if mentions(texts[file], names)),
            key=lambda file: -len(texts[file]),
        )

    def compile(self, file):
        """Translate and compile one .pyx; None, or what the compilers said."""
        self.write_loops(file)
        source = Path(file)
        c_file = source.with_suffix(".c")
        options = [part for directive in self.directives for part in ("-X", directive)]
        module = source.with_suffix(SUFFIX)
        translate = [
            sys.executable,
            "-m",
            "cython",
            "-3",
            "--line-directives",
            *options,
            str(source),
            "-o",
            str(c_file),
        ]
        includes = [
            ".",
            "loops",
            "tensorlab/_core/loops",
            "tensorlab/_core/interop",
            sysconfig.get_path("include"),
            *numpy_headers(self.folder / source),
        ]
        link = ["-shared", "-fPIC", *self.flags, *[f"-I{folder}" for folder in includes]]
        command = [
            *sysconfig.get_config_var("CC").split(),
            *link,
            str(c_file),
            "-o",
            f"{module}.new",
        ]
        for step in (translate, command):
            done = subprocess.run(step, cwd=self.folder, capture_output=True, text=True)
            if done.returncode:
                return done.stdout + done.stderr
        (self.folder / c_file).unlink()
        (self.folder / f"{module}.new").replace(self.folder / module)
        return None


def numpy_headers(path):
    """Where NumPy's headers are, for a file that needs them."""
    if "cimport numpy" not in path.read_text(encoding="utf-8"):
        return []
    import numpy

    return [numpy.get_include()]
