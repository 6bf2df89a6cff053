"""python -m tensorlab.utils.bottleneck: a script under both profilers."""

import re
import subprocess
import sys

import pytest

from tensorlab.utils import bottleneck

SCRIPT = """
import sys
import tensorlab as torch
import helper

def slow():
    total = 0
    for k in range(300_000):
        total += k
    return [torch.ones(50, 50) @ torch.ones(50, 50) for _ in range(20)]

if __name__ == "__main__":
    assert sys.argv[1:] == ["--flag", "3"], sys.argv
    assert helper.FOUND
    slow()
    print("ran")
    sys.exit(0)
"""


@pytest.fixture
def script(tmp_path):
    (tmp_path / "helper.py").write_text("FOUND = True")
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


def test_a_report_has_functions_ops_and_sentences(script, capsys):
    before = sys.argv, list(sys.path)
    text = bottleneck.report(script, ["--flag", "3"])
    assert (sys.argv, sys.path) == before
    assert capsys.readouterr().out == "ran\n" * 2
    assert "(slow)" in text
    assert "aten::mm" in text
    assert "The profile took" in text
    table = text.partition("Ops, by the time in them alone")[2].partition("In words")[0]
    shares = [float(one) for one in re.findall(r"([\d.]+)% +[\d.]+[mu]s +[\d.]+% ", table)]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) >= 2
    assert "tensorlab " in text


def test_it_is_a_program(script):
    command = [sys.executable, "-m", "tensorlab.utils.bottleneck"]
    done = subprocess.run(
        [*command, script, "--flag", "3"], capture_output=True, text=True, check=True
    )
    assert "Ops, by the time in them alone" in done.stdout
    done = subprocess.run([*command, "missing.py"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "there is no file 'missing.py'" in done.stderr


def test_an_error_of_the_script_comes_through(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("1 / 0")
    with pytest.raises(ZeroDivisionError):
        bottleneck.main([str(path)])
