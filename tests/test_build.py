"""What the build promises: facts, sources in the package, the best build chosen, clear errors."""

import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

import tensorlab
from tensorlab import _finder

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import build_flags  # noqa: E402

PACKAGE = Path(tensorlab.__file__).parent


def test_show_names_compiler_capability_threads_and_blas(capsys):
    tensorlab.__config__.show()
    rows = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert list(rows) == [
        *["compiler", "flags", "capability", "threads", "BLAS", "Cython", "Python"]
    ]
    assert "-ffp-contract=off" in rows["flags"]
    assert "fast-math" not in rows["flags"]
    assert int(rows["threads"]) == tensorlab.get_num_threads()


def test_the_library_has_a_module_for_every_source():
    sources = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in PACKAGE.rglob("*.pyx")
    }
    assert set(_finder.COMPILED.places()) == {*sources, "tensorlab._cyutility"}
    assert sources < set(_finder.all_modules())


def test_a_compiled_module_says_where_it_comes_from():
    from tensorlab.ops import joining

    assert joining.__name__ == joining.__spec__.name == "tensorlab.ops.joining"
    assert joining.__package__ == "tensorlab.ops"
    assert joining.__file__ == _finder.COMPILED.__file__
    # Notebooks would show lines of it, and wrong ones.
    assert joining.__loader__.get_source(joining.__name__) is None
    assert importlib.import_module("tensorlab.ops.joining") is joining


def test_the_library_refuses_places_and_modules_that_it_does_not_have():
    library = _finder.COMPILED
    spec = importlib.machinery.ModuleSpec("tensorlab.no_such", None)
    with pytest.raises(IndexError, match=f"place -1 of {len(library.places())}"):
        library.create(-1, spec)
    for other in (pytest, 3):
        with pytest.raises((TypeError, SystemError)):
            library.execute(other)


def test_a_package_that_was_not_compiled_says_so(tmp_path):
    (tmp_path / "tensorlab").mkdir()
    (tmp_path / "tensorlab/__init__.py").touch()
    shutil.copy(PACKAGE / "_finder.py", tmp_path / "tensorlab")
    said = failing_python(tmp_path, "import tensorlab._finder")
    assert "ImportError: tensorlab was not compiled: there is no library" in said
    assert "`make build`" in said


def test_a_module_that_was_compiled_alone_comes_before_the_library(tmp_path):
    """So tools/mutants.py tries a change without linking everything again."""
    (tmp_path / "tensorlab/ops").mkdir(parents=True)
    for package in ("tensorlab", "tensorlab/ops"):
        (tmp_path / package / "__init__.py").touch()
    for path in PACKAGE.glob("_compiled.*"):
        shutil.copy(path, tmp_path / "tensorlab")
    shutil.copy(PACKAGE / "_finder.py", tmp_path / "tensorlab")
    (tmp_path / "tensorlab/ops/joining.py").write_text("raise KeyError('it is I')\n")
    program = "import tensorlab._finder, tensorlab.ops.joining"
    assert "KeyError: 'it is I'" in failing_python(tmp_path, program)


def failing_python(folder, program):
    """Run a program in a folder, where it must fail; return what it says."""
    here = {**os.environ, "PYTHONPATH": str(folder)}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, env=here
    )
    assert answer.returncode == 1
    return answer.stderr


def test_no_module_is_cimported_from_its_package():
    """Cythonize does not see such a module: when it changes, the file would stay as it was built."""
    found = []
    for file in sorted(PACKAGE.rglob("*.p[yx]*")):
        if file.suffix not in (".pyx", ".pxd"):
            continue
        for line in file.read_text(encoding="utf-8").splitlines():
            words = line.replace(",", " ").split()
            if words[:1] == ["from"] and "cimport" in words:
                folder = ROOT / words[1].replace(".", "/")
                modules = [name for name in words[3:] if (folder / f"{name}.pxd").exists()]
                found += [
                    f"{file.relative_to(ROOT)}: write `cimport {words[1]}.{one} as {one}`"
                    for one in modules
                ]
    assert found == []


def test_every_module_that_is_built_in_a_way_of_its_own_exists():
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "tensorlab").rglob("*.pyx")
    }

    def of(place):
        return {name for name in names if f"{name}.".startswith(f"{place}.")}

    lists = build_flags.HOT_MODULES, build_flags.MORE_LOOPS, build_flags.SELDOM_CALLED
    assert [place for places in lists for place in places if not of(place)] == []
    hot, loops, seldom = (set().union(*map(of, places)) for places in lists)
    assert hot & loops == hot & seldom == loops & seldom == set()
    for modules in (*build_flags.NO_FASTER.values(), build_flags.WAITING_FOR_MEMORY):
        assert set(modules) <= hot


def test_the_best_build_that_exists_and_runs_is_chosen(tmp_path, monkeypatch):
    for level in _finder.LEVELS[1:]:  # a module in Python does as well
        (tmp_path / f"_compiled_{level}.py").write_text(f"level = {level!r}\n")
    for level, name in enumerate(_finder.LEVELS):
        monkeypatch.setenv("TENSORLAB_CAPABILITY", name)
        chosen = _finder.best_build(tmp_path)
        runs = _finder.processor_level()
        assert runs <= level
        assert getattr(chosen, "level", "baseline") == _finder.LEVELS[runs]


def test_a_source_build_has_no_builds_to_choose_from(tmp_path):
    assert _finder.best_build(tmp_path) is None


def test_an_unknown_capability_is_refused(monkeypatch):
    monkeypatch.setenv("TENSORLAB_CAPABILITY", "avx9")
    with pytest.raises(ValueError, match="must be one of baseline, avx2, avx512"):
        _finder.processor_level()


def small_checkout(folder, *modules):
    """Write what setup.py needs, and modules with one line each."""
    shutil.copytree(ROOT / "tools", folder / "tools")
    (folder / "tools/homepage.py").write_text("def readme():\n    return 'x'\n")
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "x"\nversion = "1"\ndynamic = ["readme"]\n'
    )
    for name in ("setup.py", "tensorlab/_compiled.c", "tensorlab/_core/loops/scalar.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    for module in modules:
        (folder / module).parent.mkdir(parents=True, exist_ok=True)
        (folder / module).write_text("x = 1\n")


def build(folder, *command, **environment):
    return subprocess.run(
        [sys.executable, "setup.py", "--quiet", *command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def refused_build(folder, **environment):
    """What setup.py says where it builds nothing."""
    small_checkout(folder, "tensorlab/a.pyx")
    answer = build(folder, "build_ext", "--inplace", **environment)
    assert answer.returncode == 1
    assert "Traceback" not in answer.stderr
    return answer.stderr.strip()


def test_a_missing_compiler_is_one_sentence(tmp_path):
    said = refused_build(tmp_path, CC="no-such-compiler")
    assert said.endswith("or name yours in CC.")
    assert "'no-such-compiler' is missing" in said


def test_an_unknown_level_of_optimisation_is_one_sentence(tmp_path):
    said = refused_build(tmp_path, TENSORLAB_OPTIMIZE="fast")
    assert said == "tensorlab: TENSORLAB_OPTIMIZE is 0, 1, 2 or 3; given 'fast'."


def test_builds_for_newer_processors_are_made_once(tmp_path):
    small_checkout(tmp_path, "tensorlab/ops/softmax.pyx", "tensorlab/a.pyx")
    (tmp_path / "tensorlab/ops/beside.h").write_text("")  # headers beside the source are found
    softmax = 'cdef extern from "beside.h":\n    pass\nx = 1\n'
    (tmp_path / "tensorlab/ops/softmax.pyx").write_text(softmax)
    settings = {"TENSORLAB_CAPABILITIES": "1", "TENSORLAB_MARCH": "", "TENSORLAB_OPTIMIZE": "0"}

    def built():
        answer = build(tmp_path, "build_ext", **settings)
        assert answer.returncode == 0, answer.stderr
        files = (tmp_path / "build").rglob("*" + sysconfig.get_config_var("EXT_SUFFIX"))
        return {path.name.partition(".")[0]: path.stat().st_mtime_ns for path in files}

    first = built()
    newer = {f"_compiled_{level}" for level in _finder.LEVELS[1:]}
    assert first.keys() - newer == {"_compiled"}
    assert (newer <= first.keys()) == (platform.machine() in ("x86_64", "AMD64"))
    assert built() == first


def test_a_module_that_changes_or_goes_is_built_again_or_gone(tmp_path):
    small_checkout(tmp_path, "tensorlab/a.pyx", "tensorlab/b.pyx")
    (tmp_path / "tensorlab/__init__.py").write_text("from tensorlab import _finder as _finder\n")
    shutil.copy(PACKAGE / "_finder.py", tmp_path / "tensorlab")
    command = "build_ext", "--inplace"
    assert build(tmp_path, *command, TENSORLAB_OPTIMIZE="0").returncode == 0
    (tmp_path / "tensorlab/a.pyx").write_text("raise KeyError('it is new')\n")
    (tmp_path / "tensorlab/b.pyx").unlink()
    left = tmp_path / f"tensorlab/b{sysconfig.get_config_var('EXT_SUFFIX')}"
    left.write_text("of a version that had a library for each module")
    assert build(tmp_path, *command, TENSORLAB_OPTIMIZE="0").returncode == 0
    assert not left.exists()
    assert "KeyError: 'it is new'" in failing_python(tmp_path, "import tensorlab.a")
    assert "No module named 'tensorlab.b'" in failing_python(tmp_path, "import tensorlab.b")


def test_pip_can_build_though_it_runs_setup_without_making_it_a_module(tmp_path):
    small_checkout(tmp_path, "tensorlab/a.pyx")
    program = "from setuptools import build_meta; print(build_meta.build_wheel('dist'))"
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "TENSORLAB_OPTIMIZE": "0"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert any(
        name.startswith("tensorlab/_compiled.") for name in zipfile.ZipFile(wheel).namelist()
    )


WRITE_LOOPS = """
import setup
from setuptools import Extension

modules = [Extension(f"tensorlab.{name}", [f"tensorlab/{name}.pyx"]) for name in "ab"]
print(*setup.write_loops(modules, "loops").items())
"""


def test_loops_are_written_again_only_where_a_formula_or_its_function_changed(tmp_path):
    core = tmp_path / "tensorlab/_core/loops"
    small_checkout(tmp_path)
    functions = core / "scalar_functions.h"
    functions.write_text("T half#(T x) { return x / 2; }\n\nT third#(T x) { return x / 3; }\n")
    op = 'cdef Op A = Op("a(Tensor x) -> Tensor", dtype="floating", scalar="half#(x)")\n'
    source, header = tmp_path / "tensorlab/a.pyx", tmp_path / "loops/a_loops.h"
    source.write_text(op)
    (tmp_path / "tensorlab/b.pyx").write_text("x = 1\n")

    def write():
        command = [sys.executable, "-W", "ignore", "-c", WRITE_LOOPS]
        here = {**os.environ, "PYTHONSAFEPATH": ""}  # setup.py is in this folder
        return subprocess.check_output(command, cwd=tmp_path, text=True, env=here)

    assert write() == "('tensorlab.a', 'loops/a_loops.h')\n"
    assert "x / 2" in header.read_text()
    assert "third" not in header.read_text()
    os.utime(header, (1, 1))
    source.write_text(f"{op}# a comment\n")
    functions.write_text(functions.read_text().replace("x / 3", "x * 0.3"))
    write()
    assert header.stat().st_mtime == 1
    functions.write_text(functions.read_text().replace("x / 2", "x * 0.5"))
    write()
    assert header.stat().st_mtime > 1
    assert "x * 0.5" in header.read_text()


def test_the_group_that_make_installs_repeats_the_package_requirements():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = project["project"]["dependencies"]
    for extra in ("chapters", "data", "safetensors", "tensorboard", "distributed"):
        packages = project["project"]["optional-dependencies"][extra]
        needed += [package for package in packages if package not in needed]
    assert project["dependency-groups"]["run"] == needed
    assert project["dependency-groups"]["build"][:2] == project["build-system"]["requires"][:2]


def test_the_package_carries_the_chapters_and_what_checks_their_exercises(tmp_path):
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    carried = tmp_path / "tensorlab_chapters"
    for text in (ROOT / "chapters").glob("*/index.md"):
        copied = {path.name for path in (carried / text.parent.name).iterdir()}
        there = {path.name for path in text.parent.iterdir() if path.is_file()}
        assert copied == there - {"record.py"}
    assert (tmp_path / "tensorlab_command.py").is_file()


def test_an_installed_package_finds_its_own_chapters(tmp_path, monkeypatch):
    from tensorlab.learn import exercise

    chapter = tmp_path / "tensorlab_chapters/03-strides"
    chapter.mkdir(parents=True)
    (chapter / "exercises.py").write_text("")
    monkeypatch.setattr(exercise, "PACKAGE_FOLDER", tmp_path / "tensorlab")
    assert exercise.exercise_files() == {"03": chapter / "exercises.py"}


def test_make_help_names_every_target():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split()) - {"help"}
    named = set(re.findall(r"make ([\w-]+)  ", "\n".join(text.splitlines()[:12])))
    assert named == targets


def test_the_citation_names_the_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {project['version']}\n" in citation
