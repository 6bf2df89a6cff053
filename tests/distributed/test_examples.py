"""The programs in examples/distributed: each fits on a page, and runs on one rank and on several."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tensorlab import distributed as dist

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "distributed"
NAMES = ["checkpoint", "data_parallel", "fully_sharded", "pipeline", "tensor_parallel"]


def program(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module.main


def run(name, ranks, *arguments):
    main = program(name)
    return dist.threads.spawn(lambda rank: main(*arguments), nprocs=ranks)


def test_each_program_is_tried_and_fits_on_a_page():
    paths = sorted(FOLDER.glob("*.py"))
    assert [path.stem for path in paths] == NAMES
    assert max(len(path.read_text(encoding="utf-8").splitlines()) for path in paths) <= 60


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_data_parallel(ranks):
    slopes = run("data_parallel", ranks)
    assert len(set(slopes)) == 1
    assert slopes[0] == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_fully_sharded(ranks):
    for share, losses in run("fully_sharded", ranks):
        assert share == pytest.approx(1 / ranks, rel=0.1)
        assert losses[-1] < losses[0]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_tensor_parallel(ranks):
    assert max(run("tensor_parallel", ranks)) < 1e-6


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_pipeline(ranks):
    *others, last = run("pipeline", ranks)
    assert others == [[]] * (ranks - 1)
    assert last[-1] < 0.9 * last[0]


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_checkpoint(ranks, tmp_path):
    assert all(run("checkpoint", ranks, tmp_path))


def test_a_program_runs_as_processes():
    pytest.importorskip("mpi4py", reason="ranks that are processes need mpi4py")
    command = [sys.executable, "-m", "tensorlab.distributed.run", "--nproc-per-node", "2"]
    done = subprocess.run([*command, FOLDER / "data_parallel.py"], capture_output=True, text=True,
                          timeout=120, cwd=FOLDER.parents[1])  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "epoch 4: loss 0.0" in done.stdout
