"""The doctor names what is wrong, and the remedy, also where the package cannot be imported."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tensorlab.cli import doctor

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tensorlab"


def examine(home, **variables):
    """Run the command in a process of its own; return (exit code, {name: finding})."""
    environment = {**os.environ, "PYTHONPATH": str(home), **variables}
    command = [sys.executable, str(home / "tensorlab_command.py"), "doctor", "--json"]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert answer.stderr == ""
    findings = {}
    for finding in json.loads(answer.stdout):
        assert finding["state"] in ("ok", "problem", "--")
        assert finding["remedy"] or finding["state"] != "problem"
        findings[finding["name"]] = finding
    return answer.returncode, findings


def link(source, target):
    """Make `target` the same file, or a copy where the file systems differ."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy(source, target)


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, made of links, that a test may break; its command lies beside it."""
    target = tmp_path / "site" / "tensorlab"
    target.parent.mkdir()
    shutil.copy(ROOT / "tensorlab_command.py", target.parent)
    shutil.copytree(PACKAGE, target, copy_function=link)
    return target


def library(package):
    (built,) = package.glob("_compiled.*.so")
    return built


def test_a_whole_installation_has_no_problem():
    code, findings = examine(ROOT)
    assert code == 0
    assert {f["state"] for f in findings.values()} <= {"ok", "--"}
    for name in ("Python", "numpy", "compiled modules", "import", "BLAS", "threads", "computation"):
        assert findings[name]["state"] == "ok"


def test_a_package_that_was_not_compiled_is_named(copy):
    library(copy).unlink()
    code, findings = examine(copy.parent)
    assert code == 1
    assert findings["compiled modules"]["state"] == "problem"
    assert "there are none in" in findings["compiled modules"]["seen"]
    assert findings["import"]["state"] == "problem"


def test_a_module_that_the_library_lacks_is_named(copy):
    (copy / "_core/brand_new.pyx").write_text("x = 1")
    code, findings = examine(copy.parent)
    assert code == 1
    assert "missing: tensorlab._core.brand_new" in findings["compiled modules"]["seen"]


def test_a_library_for_another_python_is_said_so(copy):
    built = library(copy)
    built.rename(built.with_name("_compiled.cpython-38-x86_64-linux-gnu.so"))
    _, findings = examine(copy.parent)
    assert "another Python" in findings["compiled modules"]["seen"]
    assert "_compiled.cpython-38" in findings["compiled modules"]["seen"]


def test_a_broken_library_is_a_problem_and_no_crash(copy):
    built = library(copy)
    built.unlink()
    built.write_bytes(b"no library at all")
    code, findings = examine(copy.parent)
    assert code == 1
    assert findings["compiled modules"]["state"] == "problem"
    assert findings["import"]["state"] == "problem"
    assert findings["temporary files"]["state"] == "ok"  # it went on after that


def test_wrong_numbers_are_found(copy):
    source = (copy / "cli/probe.py").read_text().replace("[7.0, 10.0]", "[7.0, 11.0]")
    (copy / "cli/probe.py").unlink()
    (copy / "cli/probe.py").write_text(source)
    code, findings = examine(copy.parent)
    assert code == 1
    assert findings["computation"]["seen"] == "wrong numbers from matmul"


def test_a_progress_folder_that_cannot_be_written_is_found(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    code, findings = examine(ROOT, TENSORLAB_HOME=str(blocked))
    assert code == 1
    assert "TENSORLAB_HOME" in findings["progress"]["remedy"]


def test_an_interpreter_that_is_too_old_is_named(monkeypatch):
    monkeypatch.setattr(doctor, "OLDEST_PYTHON", (99, 1))
    finding = doctor.check_python()
    assert (finding.state, finding.remedy) == ("problem", "install Python 99.1 or newer")


def test_packages_that_are_old_or_missing_are_named(monkeypatch):
    monkeypatch.setattr(doctor, "NEEDED", {"numpy": "99.0", "surely-not-there": "1.0"})
    old, missing = doctor.check_packages()
    assert "older than 99.0" in old.seen
    assert old.remedy == "pip install --upgrade 'numpy>=99.0'"
    assert (missing.seen, missing.remedy) == (
        "not installed",
        "pip install 'surely-not-there>=1.0'",
    )


def test_a_processor_that_lacks_instructions_is_explained(tmp_path):
    child = subprocess.CompletedProcess([], -4, "", "")
    finding = doctor.explain_death(child, tmp_path, begun=False)
    assert "the processor does not know an instruction" in finding.seen


def test_versions_are_compared_by_number():
    assert doctor.numbers("1.14") > doctor.numbers("1.9.3")
    assert doctor.numbers("2.1rc1") == (2, 1)


def test_what_is_needed_is_what_the_project_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["dependencies"] == [f"{n}>={v}" for n, v in doctor.NEEDED.items()]
    assert project["requires-python"] == ">=" + ".".join(map(str, doctor.OLDEST_PYTHON))
    extras = project["optional-dependencies"]
    for module, (extra, _) in doctor.OPTIONAL.items():
        name = doctor.DISTRIBUTIONS.get(module, module)
        assert any(wanted.startswith(name) for wanted in extras[extra])


def test_the_report_is_one_line_each_with_the_remedy_below(capsys, monkeypatch):
    findings = [
        doctor.Finding("one", "ok", "fine"),
        doctor.Finding("two", "problem", "bad", "mend it"),
    ]
    monkeypatch.setattr(doctor, "all_findings", lambda: findings)
    assert doctor.examine() == 1
    lines = capsys.readouterr().out.split("\n")
    assert lines[0].split() == ["ok", "one", "fine"]
    assert lines[2].strip() == "-> mend it"
    assert lines[-2] == "1 problem found."


def test_other_commands_name_the_doctor_where_the_package_is_broken(copy):
    library(copy).unlink()
    answer = subprocess.run(
        [sys.executable, str(copy.parent / "tensorlab_command.py"), "status"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(copy.parent)},
    )
    assert answer.returncode == 1
    assert "tensorlab doctor says what is wrong" in answer.stderr
