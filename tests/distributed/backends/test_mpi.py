"""Collectives between processes: their values, and what is left when the processes have ended."""

import shutil
import sys
import sysconfig

import pytest

from tests.distributed import ranks

pytest.importorskip("mpi4py")


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_values_of_every_collective_dtype_and_size(count):
    assert ranks.run_ranks("values.py", count) == ["all is well\n"] * count


def test_ranks_that_mpiexec_starts():
    mpiexec = shutil.which("mpiexec", path=sysconfig.get_path("scripts"))
    if mpiexec is None:
        pytest.skip("this MPI came without mpiexec")
    command = [mpiexec, "-n", "2", sys.executable, str(ranks.PROGRAMS / "values.py")]
    [(code, output)] = ranks.ends([ranks.start(command)])
    assert code == 0, output
    assert output.split() == ["all", "is", "well"] * 2


def test_nothing_is_left():
    before = ranks.left_over()
    ranks.run_ranks("faults.py", 2, "nothing")
    assert ranks.await_nothing_left(before) == []
