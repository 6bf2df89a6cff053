"""What the build promises: facts, sources in the package, the best build chosen, clear errors."""

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import tensorlab
from tensorlab import _capability

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(tensorlab.__file__).parent


def constant(name):
    """Return a constant of setup.py, which cannot be imported without building."""
    for node in ast.parse((ROOT / "setup.py").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == name:
            return ast.literal_eval(node.value)
    raise LookupError(name)


def test_show_names_compiler_capability_threads_and_blas(capsys):
    tensorlab.__config__.show()
    rows = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert list(rows) == [
        *["compiler", "flags", "capability", "threads", "BLAS", "Cython", "Python"]
    ]
    assert "-ffp-contract=off" in rows["flags"]
    assert "fast-math" not in rows["flags"]
    assert int(rows["threads"]) == tensorlab.get_num_threads()


def test_every_compiled_module_has_its_source_beside_it():
    for built in PACKAGE.rglob("*.so"):
        source = built.with_name(built.name.partition(".")[0] + ".pyx")
        assert source.is_file(), built


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


def test_every_package_with_hot_modules_prefers_the_best_build():
    hot = constant("HOT_MODULES")
    packages = set()
    for path in sorted((ROOT / "tensorlab").rglob("*.pyx")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        if any(f"{name}.".startswith(f"{module}.") for module in hot):
            packages.add(path.parent)
    assert packages
    for package in packages:
        assert "prefer_builds(__path__)" in (package / "__init__.py").read_text(encoding="utf-8")


def test_the_best_build_that_exists_and_runs_comes_first(tmp_path, monkeypatch):
    for folder in ("_avx2", "_avx512"):
        (tmp_path / folder).mkdir()
    for level, name in enumerate(_capability.LEVELS):
        monkeypatch.setenv("TENSORLAB_CAPABILITY", name)
        path = [str(tmp_path)]
        chosen = _capability.prefer_builds(path)
        runs = _capability.processor_level()
        assert runs <= level
        assert chosen == (None if runs == 0 else _capability.LEVELS[runs])
        assert path == ([str(tmp_path / f"_{chosen}")] if chosen else []) + [str(tmp_path)]


def test_a_source_build_has_no_builds_to_choose_from(tmp_path):
    path = [str(tmp_path)]
    assert _capability.prefer_builds(path) is None
    assert path == [str(tmp_path)]


def test_an_unknown_capability_is_refused(monkeypatch):
    monkeypatch.setenv("TENSORLAB_CAPABILITY", "avx9")
    with pytest.raises(ValueError, match="must be one of baseline, avx2, avx512"):
        _capability.processor_level()


def test_builds_for_newer_processors_find_headers_beside_their_source(tmp_path, monkeypatch):
    setuptools = pytest.importorskip("setuptools", reason="comes with what builds")
    monkeypatch.chdir(tmp_path)
    setup = runpy.run_path(str(ROOT / "setup.py"))
    source = Path("made/losses.c")
    source.parent.mkdir()
    source.write_text('#include "beside.h"\n')
    module = setuptools.Extension("tensorlab.ops.losses", [str(source)], include_dirs=["others"])
    compiler = SimpleNamespace(accepts=lambda *flags: True)
    builds = setup["capability_builds"](compiler, [module], [], [])
    assert [one.name for one in builds] == [
        f"tensorlab.ops._{capability}.losses" for capability in ("avx2", "avx512")
    ]
    for one in builds:
        (copy,) = one.sources
        assert Path(copy).read_text() == source.read_text()
        assert one.include_dirs == ["others", "made"]


def small_checkout(folder, *modules):
    """Write what setup.py needs, and modules with one line each."""
    (folder / "tools").mkdir()
    (folder / "tools/homepage.py").write_text("def readme():\n    return 'x'\n")
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "x"\nversion = "1"\ndynamic = ["readme"]\n'
    )
    for name in ("setup.py", "tools/cython_translation.py", "tensorlab/_core/loops/scalar.py"):
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
    small_checkout(tmp_path, "tensorlab/ops/sorting.pyx", "tensorlab/a.pyx")
    settings = {"TENSORLAB_CAPABILITIES": "1", "TENSORLAB_MARCH": "", "TENSORLAB_OPTIMIZE": "0"}

    def built():
        answer = build(tmp_path, "build_ext", **settings)
        assert answer.returncode == 0, answer.stderr
        files = (tmp_path / "build").rglob("*" + sysconfig.get_config_var("EXT_SUFFIX"))
        return {path.relative_to(tmp_path): path.stat().st_mtime_ns for path in files}

    first = built()
    assert {"ops", "tensorlab"} < {path.parent.name for path in first}
    assert built() == first


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
    assert any(name.startswith("tensorlab/a.") for name in zipfile.ZipFile(wheel).namelist())


WRITE_LOOPS = """
import setup
from setuptools import Extension

extensions = [Extension(f"tensorlab.{name}", [f"tensorlab/{name}.pyx"]) for name in "ab"]
print(*setup.write_loops(extensions, "loops").items())
"""


def test_loops_are_written_again_only_where_a_formula_or_its_function_changed(tmp_path):
    core = tmp_path / "tensorlab/_core/loops"
    core.mkdir(parents=True)
    shutil.copy(ROOT / "setup.py", tmp_path)
    shutil.copy(ROOT / "tensorlab/_core/loops/scalar.py", core)
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
