"""Collectives between processes: their values, and what is left when the processes have ended."""

import shutil
import sys
import sysconfig

import pytest

from tests.distributed import ranks

pytest.importorskip("mpi4py")


@pytest.mark.parametrize(
    "count",
    [1, pytest.param(2, marks=pytest.mark.nightly), 3, pytest.param(4, marks=pytest.mark.nightly)],
)
def test_values_of_every_collective_dtype_and_size(count):
    assert ranks.run_ranks("values.py", count) == ["all is well\n"] * count


def test_ranks_that_mpiexec_starts():
    mpiexec = shutil.which("mpiexec", path=sysconfig.get_path("scripts"))
    if mpiexec is None:
        pytest.skip("this MPI came without mpiexec")
    command = [mpiexec, "-n", "2", sys.executable, str(ranks.PROGRAMS / "values.py")]
    [(code, output)] = ranks.ends([ranks.start(command)])
    assert code == 0, output
    assert output.count("all is well") == 2


def test_nothing_is_left():
    before = ranks.left_over()
    ranks.run_ranks("faults.py", 2, "nothing")
    assert ranks.await_nothing_left(before) == []


def test_ranks_that_do_not_agree_are_told_what_each_called():
    outputs = ranks.run_ranks("agreement.py", 2)
    for output in outputs:
        parts = dict(part.split("\n", 1) for part in output.split("== ")[1:])
        assert "don't agree on call 1:" in parts["shapes"]
        assert "rank 0: all_reduce(SUM) of float32 [3]\n" in parts["shapes"]
        assert "rank 1: all_reduce(SUM) of float32 [4]\n" in parts["shapes"]
        assert "rank 1: all_reduce(SUM) of float32 [50001]\n" in parts["large_shapes"]
        assert "rank 1: all_reduce(SUM) of int32 [3]\n" in parts["dtypes"]
        assert "rank 1: all_reduce(MAX) of float32 [50000]\n" in parts["reductions"]
        assert "rank 1: barrier\n" in parts["kinds"]
        assert "rank 1: broadcast of float32 [3] from rank 1\n" in parts["roots"]
        assert "rank 0 sends 12 bytes to rank 1, which expects 8" in parts["sizes"]
        assert "rank 1: reduce_scatter(SUM) of float32 [20] and" in parts["parts"]
        assert "rank 0: broadcast of float32 [50000] from rank 0\n" in parts["one_more"]
        assert "rank 1: all_reduce(SUM) of float32 [3]\n" in parts["one_more"]
    # rank 1 sends; what rank 0 receives has another size or dtype
    told = outputs[0]
    assert "rank 1 sent 3 elements of float32, and rank 0 receives 4 elements" in told
    assert "rank 1 sent 50000 elements of float32, and rank 0 receives 50001 elements" in told
    assert "receives 3 elements of float64" in told


def test_callbacks_threads_and_ctrl_c():
    assert ranks.run_ranks("callbacks.py", 2) == ["all is well\n"] * 2
