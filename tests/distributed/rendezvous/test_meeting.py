"""How ranks find each other, and what they are told where they don't."""

import os
import signal
import socket
import sys
import time

import pytest

from tensorlab.distributed.rendezvous import places
from tests.distributed import ranks

pytest.importorskip("mpi4py")
PROGRAM = [sys.executable, str(ranks.PROGRAMS / "meeting.py")]


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = ranks.left_over()
    yield
    assert ranks.await_nothing_left(before) == []


def start(how, where, rank, size, *more, **environment):
    command = [*PROGRAM, *map(str, (how, where, rank, size, *more))]
    return ranks.start(command, **environment)


@pytest.mark.parametrize("how", ["tcp", "file", "store", "env", "twice"])
def test_ways_to_meet(how, tmp_path):
    port = str(ranks.free_port())
    where = {"tcp": f"tcp://127.0.0.1:{port}", "file": f"file://{tmp_path}/meet", "env": "env://"}
    address = where.get(how, tmp_path / "store")
    processes = [
        start(how, address, rank, 2, MASTER_ADDR="localhost", MASTER_PORT=port) for rank in range(2)
    ]
    for code, output in ranks.ends(processes):
        assert (code, output) == (0, "3.0 2\n" * (2 if how == "twice" else 1))
    assert not (tmp_path / "meet").exists()


def test_several_worlds_start_at_once():
    """MPI's shared memory has a name, which worlds of one machine mustn't share."""
    wheres = [f"tcp://127.0.0.1:{ranks.free_port()}" for _ in range(4)]
    processes = [start("tcp", where, rank, 2) for where in wheres for rank in range(2)]
    assert ranks.ends(processes) == [(0, "3.0 2\n")] * 8


def test_a_rank_that_comes_late_is_waited_for():
    where = f"tcp://127.0.0.1:{ranks.free_port()}"
    second = start("tcp", where, 1, 2)
    time.sleep(0.3)  # rank 1 dials before anyone serves
    assert [code for code, _ in ranks.ends([start("tcp", where, 0, 2), second])] == [0, 0]


@pytest.mark.fault
def test_a_rank_that_never_comes_is_named():
    where = f"tcp://127.0.0.1:{ranks.free_port()}"
    results = ranks.ends([start("tcp", where, rank, 4, 3.0) for rank in (0, 2)])
    for code, output in results:
        assert code == 7
        assert "DistStoreError: init_process_group: ranks 1, 3 did not come within 3 s" in output
        assert "2 of 4 ranks are here" in output


@pytest.mark.fault
def test_rank_0_never_comes(tmp_path):
    where = f"tcp://127.0.0.1:{ranks.free_port()}"
    processes = [start("tcp", where, 1, 2, 0.5), start("store", tmp_path / "s", 1, 2, 0.5)]
    (code, by_address), (again, by_store) = ranks.ends(processes)
    assert (code, again) == (7, 7)
    assert "DistNetworkError: nothing answers at 127.0.0.1" in by_address
    assert "Rank 0 serves this address" in by_address
    assert "DistStoreError: init_process_group: rank 0 did not come within 0.5 s" in by_store


@pytest.mark.fault
def test_a_port_in_use():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        where = f"tcp://127.0.0.1:{sock.getsockname()[1]}"
        [(code, output)] = ranks.ends([start("tcp", where, 0, 2, 5.0)])
        assert code == 7
        assert "DistNetworkError: port" in output
        assert "is in use (EADDRINUSE)" in output
        assert "MASTER_PORT=" in output


def test_a_stranger_at_the_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        process = start("tcp", f"tcp://127.0.0.1:{sock.getsockname()[1]}", 1, 2, 10.0)
        peer, _ = sock.accept()
        with peer:
            peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            [(code, output)] = ranks.ends([process])
    assert code == 7
    assert "is not the server in which ranks meet" in output


@pytest.mark.parametrize(("those", "text"), [
    ([(0, 2), (0, 2)], "is in use"),  # both serve: two that call themselves rank 0
    ([(0, 3), (1, 3), (1, 3)], "rank 1 is here already: process"),
    ([(0, 3), (1, 2)], "says that there are"),
])  # fmt: skip
def test_ranks_that_can_not_be(those, text):
    where = f"tcp://127.0.0.1:{ranks.free_port()}"
    processes = [start("tcp", where, rank, size, 60.0) for rank, size in those]
    assert text in ranks.first_end(processes)


@pytest.mark.fault
def test_a_rank_that_dies_while_others_wait_may_come_again():
    where = f"tcp://127.0.0.1:{ranks.free_port()}"
    first = start("tcp", where, 0, 3)
    second = start("tcp", where, 1, 3)
    time.sleep(1.0)
    os.killpg(second.pid, signal.SIGKILL)
    ranks.ends([second])
    results = ranks.ends([first, start("tcp", where, 1, 3), start("tcp", where, 2, 3)])
    assert [code for code, _ in results] == [0, 0, 0]


@pytest.mark.parametrize(
    "arguments, environment, words",
    [
        (("env://", -1, -1), {}, "RANK and WORLD_SIZE is not known"),
        (("env://", 0, -1), {}, "WORLD_SIZE is not known"),
        (("env://", -1, 2), {}, "RANK is not known"),
        (("env://", -1, 2), {"RANK": "one"}, "RANK='one' is not a number"),
        (("env://", 2, 2), {}, "rank 2 is not in a world of 2 ranks"),
        (("env://", 0, 2), {}, "MASTER_ADDR is not set"),
        (
            ("env://", 0, 2),
            {"MASTER_ADDR": "a", "MASTER_PORT": "x"},
            "MASTER_PORT='x' is not a number",
        ),
        (("tcp://host", 0, 2), {}, "not of the form tcp://host:port"),
        (("file://", 0, 2), {}, "names no file"),
        (("http://host:1", 0, 2), {}, "is no way to meet"),
    ],
)
def test_what_is_not_known_is_asked_for(arguments, environment, words, monkeypatch):
    for name in (*("MASTER_ADDR", "MASTER_PORT"), *(n for pair in places.NUMBERS for n in pair)):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=words):
        places.find(*arguments, None)


@pytest.mark.parametrize(
    "environment, place",
    [
        ({"RANK": "1", "WORLD_SIZE": "2", "PMI_RANK": "0", "PMI_SIZE": "9"}, (1, 2, "a", 29500)),
        ({"PMI_RANK": "1", "PMI_SIZE": "3", "MASTER_PORT": "5"}, (1, 3, "a", 5)),
        ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"}, (2, 4, "a", 29500)),
        (
            {"SLURM_PROCID": "3", "SLURM_NTASKS": "4", "SLURM_STEP_NODELIST": "n[07-08]",
             "SLURM_JOB_ID": "20123", "MASTER_ADDR": None},
            (3, 4, "n07", 20123),
        ),
    ],
)  # fmt: skip
def test_variables_of_other_launchers(environment, place, monkeypatch):
    monkeypatch.setenv("MASTER_ADDR", "a")
    monkeypatch.delenv("MASTER_PORT", raising=False)
    for name, value in environment.items():
        monkeypatch.delenv(name) if value is None else monkeypatch.setenv(name, value)
    found = places.find(None, -1, -1, None)
    assert (found.rank, found.size, found.host, found.port) == place


def test_an_address_may_tell_rank_and_size():
    found = places.find("tcp://host:7?rank=1&world_size=2", -1, -1, None)
    assert (found.rank, found.size, found.host, found.port) == (1, 2, "host", 7)


def test_without_mpi4py_the_error_says_what_to_install():
    program = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "import tensorlab.distributed as dist\n"
        "try: dist.init_process_group('mpi', rank=0, world_size=2)\n"
        "except ImportError as error: print(error)"
    )
    process = ranks.start([sys.executable, "-c", program])
    [(code, output)] = ranks.ends([process])
    assert code == 0
    assert 'pip install "tensorlab-book[distributed]"' in output


def test_mpi_that_runs_already_is_no_other_rank():
    program = (
        "from mpi4py import MPI\n"
        "import tensorlab.distributed as dist\n"
        "try: dist.init_process_group('mpi', rank=1, world_size=2)\n"
        "except dist.DistBackendError as error: print(error)"
    )
    [(code, output)] = ranks.ends([ranks.start([sys.executable, "-c", program])])
    assert code == 0
    assert "MPI runs as rank 0 of 1, and can't become rank 1 of 2" in output
    assert "mpi4py.rc.initialize = False" in output


def test_processes_that_a_rank_starts_are_no_ranks():
    [(first, _), (code, output)] = ranks.ends(ranks.start_ranks("children.py", 2))
    assert (first, code, output) == (-signal.SIGKILL, 0, "all is well\n")


@pytest.mark.parametrize("how", ["spawn", "fork", "fails"])
def test_ranks_that_multiprocessing_starts(how):
    command = [sys.executable, str(ranks.PROGRAMS / "spawned.py"), str(ranks.free_port()), how]
    [(code, output)] = ranks.ends([ranks.start(command)])
    assert (code, output) == (0, "ValueError: boom\nended\n" if how == "fails" else "ended\n")
