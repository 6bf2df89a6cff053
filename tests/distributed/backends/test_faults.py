"""A rank that fails ends the others with an error that names it; nothing hangs, nothing is left."""

import os
import re
import signal

import pytest

from tests.distributed import ranks

pytest.importorskip("mpi4py")


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = ranks.left_over()
    yield
    assert ranks.await_nothing_left(before) == []


def told(results):
    """Return how long it took until ranks 0 and 2 were told, at most, and what they were told."""
    began = float(re.search(r"began (\S+)", results[1][1])[1])
    texts = []
    for rank in (0, 2):
        code, output = results[rank]
        assert code == 7, f"rank {rank} ended with {code}:\n{output}\nrank 1:\n{results[1][1]}"
        texts.append(output)
    return max(float(re.search(r"told (\S+)", text)[1]) for text in texts) - began, texts


@pytest.mark.fault
@pytest.mark.parametrize("where", ["collective", "message", "background"])
def test_a_killed_rank_is_named_at_once(where):
    results = ranks.ends(ranks.start_ranks("faults.py", 3, "kill", 60, where))
    seconds, texts = told(results)
    assert results[1][0] == -signal.SIGKILL
    assert seconds < 20  # 0.05 where nothing else runs; the timeout is 60
    for text in texts:
        assert "DistBackendError" in text
        assert "rank 1 is gone (its connection closed without a goodbye: it was killed" in text


@pytest.mark.fault
@pytest.mark.parametrize(
    "fault, reason",
    [
        ("raise", "it has ended with ValueError: boom"),
        ("interrupt", "it has ended with KeyboardInterrupt"),
        ("exit", "it has ended"),
    ],
)
def test_a_rank_that_ends_is_named_with_its_reason(fault, reason):
    results = ranks.ends(ranks.start_ranks("faults.py", 3, fault))
    seconds, texts = told(results)
    assert seconds < 20  # at most 1.1 where nothing else runs
    for text in texts:
        assert f"rank 1 is gone ({reason}" in text
        assert "again: barrier: group 'world' can't go on after an earlier failure" in text


@pytest.mark.fault
@pytest.mark.parametrize("fault", ["hang", "stop"])
def test_a_rank_that_hangs_is_named_after_the_timeout(fault):
    processes = ranks.start_ranks("faults.py", 3, fault, 1.0)
    others = ranks.ends([processes[0], processes[2]])
    os.killpg(processes[1].pid, signal.SIGKILL)
    [hung] = ranks.ends([processes[1]])
    seconds, texts = told([others[0], hung, others[1]])
    assert seconds < 20  # 1, the timeout, where nothing else runs
    for rank, text in zip((0, 2), texts, strict=True):
        assert re.search(r"waited \d+\.\d s in vain \(timeout 1 s\)", text)
        assert "rank 1 did not come" in text
        assert re.search(r"ranks? 1: (has called nothing more|doesn't answer)", text)
        assert re.search(
            rf"ranks? [0, ]*{rank}[, 2]*: waits .* in call 2 of group 'world', all_reduce", text
        )


@pytest.mark.fault
def test_a_slow_rank_is_waited_for():
    results = ranks.ends(ranks.start_ranks("faults.py", 3, "slow"))
    assert [code for code, _ in results] == [0, 0, 0]
    assert all("went on" in output for _, output in results)


def start_with(fault, where, timeout):
    """Return how rank 0 ends if rank 1 dies, or stops, where MPI is to start."""
    first, second = ranks.start_ranks("starting.py", 2, fault, where, timeout)
    [result] = ranks.ends([first])
    if fault == "stops":
        os.killpg(second.pid, signal.SIGKILL)
    ranks.ends([second])
    return result


@pytest.mark.fault
def test_a_rank_that_is_lost_before_mpi_starts_is_named():
    code, output = start_with("dies", "Connection", 60)
    assert (code, "rank 1 is gone (its connection closed" in output) == (7, True), output
    code, output = start_with("stops", "Connection", 1)
    assert (code, "ranks [1] came, and then did not start MPI within 1 s" in output) == (7, True), (
        output
    )


@pytest.mark.fault
def test_a_rank_that_is_lost_while_mpi_starts_is_named():
    code, output = start_with("dies", "ended_after", 60)
    assert code == 1, output
    assert "rank 1 is gone (its connection closed without a goodbye" in output
    assert "while MPI was starting" in output
    code, output = start_with("stops", "ended_after", 1)
    assert code == 1
    assert "Timeout (0:00:01)!" in output
    assert "in through_server" in output
