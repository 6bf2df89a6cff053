"""The launcher: variables, output, failures, restarts, signals, and several machines."""

import json
import os
import pty
import re
import signal
import socket
import sys
import time

import pytest

from tensorlab.distributed.run import main, options
from tests.distributed import ranks

PROGRAM = str(ranks.PROGRAMS / "launched.py")
LAUNCHER = [sys.executable, "-m", "tensorlab.distributed.run"]


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = ranks.left_over()
    yield
    assert ranks.await_nothing_left(before) == []


def launch(*arguments, command=LAUNCHER, **environment):
    return ranks.start([*command, *map(str, arguments)], **environment)


def launched(*arguments, **more):
    [result] = ranks.ends([launch(*arguments, **more)])
    return result


def lines(output):
    return sorted(output.strip().split("\n"))


def test_variables_are_torchruns():
    code, output = launched("--nproc-per-node=2", "--rdzv-id=r", PROGRAM, "variables", "--a", "b")
    assert code == 0
    first, second = sorted(map(json.loads, output.strip().split("\n")), key=lambda one: one["RANK"])
    assert first == {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_RANK": "0",
        "ROLE_WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
        "TORCHELASTIC_RUN_ID": "r",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "rest": ["--a", "b", "nothing"],
    }
    assert (second["RANK"], second["LOCAL_RANK"]) == ("1", "1")


def test_the_number_of_threads_is_left_as_it_is_set():
    code, output = launched("--nproc_per_node", 1, PROGRAM, "variables", OMP_NUM_THREADS="3")
    assert (code, json.loads(output)["OMP_NUM_THREADS"]) == (0, "3")


@pytest.mark.parametrize(
    "command",
    [LAUNCHER, [sys.executable, "-m", "tensorlab", "run"], [sys.executable, "-m", "tensorlab.distributed.launch"]],
)  # fmt: skip
def test_ranks_meet(command):
    pytest.importorskip("mpi4py")
    code, output = launched(
        "--standalone", "--nproc-per-node=2", PROGRAM, "nothing", command=command
    )
    assert (code, lines(output)) == (0, ["rank 0 of 2: 2.0", "rank 1 of 2: 2.0"])


def test_programs_that_are_modules_or_not_python(tmp_path):
    (tmp_path / "a_module.py").write_text("import sys; print('module', sys.argv[1:])")
    code, output = launched("-m", "a_module", "x", PYTHONPATH=f"{tmp_path}:{ranks.ROOT}")
    assert (code, output) == (0, "module ['x']\n")
    code, output = launched(
        "--no-python", "--nproc-per-node=2", "sh", "-c", "echo $RANK of $WORLD_SIZE"
    )
    assert (code, lines(output)) == (0, ["0 of 2", "1 of 2"])
    code, output = launched("--no-python", "/no/such/program")
    assert code == 1
    assert "/no/such/program can't be started" in output


@pytest.mark.fault
@pytest.mark.parametrize("how", ["raise", "kill"])
def test_a_failing_rank_ends_the_others_and_is_shown_once(how):
    pytest.importorskip("mpi4py")
    code, output = launched("--nproc-per-node=3", PROGRAM, how)
    assert code == 1
    if how == "raise":
        assert re.search(r"rank 1 \(process \d+\) failed with exit code 1", output)
        assert output.count("ValueError: boom") == output.count("Traceback") == 1
    else:
        assert re.search(r"rank 1 \(process \d+\) was killed by SIGKILL: by someone, or", output)
        assert "Traceback" not in output
    assert "with it ended ranks 0, 2" in output


def test_a_traceback_that_ends_no_process_is_shown():
    code, output = launched(PROGRAM, "caught")
    assert code == 0
    assert lines(output)[-1] == "after" or "ValueError: caught" in output
    assert output.count("ValueError: caught") == output.count("after\n") == 1


@pytest.mark.fault
def test_all_ranks_start_anew():
    pytest.importorskip("mpi4py")
    code, output = launched("--nproc-per-node=2", "--max-restarts=2", PROGRAM, "once")
    assert code == 0
    assert output.count("rank 0 of 2: 2.0") == output.count("rank 1 of 2: 2.0") == 2
    assert output.count("starting all ranks anew (restart 1 of 2)") == 1
    code, output = launched("--nproc-per-node=2", "--max-restarts=1", PROGRAM, "raise")
    assert code == 1
    assert output.count("ValueError: boom") == 2


@pytest.mark.fault
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_all(number):
    pytest.importorskip("mpi4py")
    process = launch("--nproc-per-node=2", PROGRAM, "hang")
    shown = ""
    while shown.count("hangs") < 2:
        shown += process.stdout.readline()
    os.kill(process.pid, number)
    [(code, _)] = ranks.ends([process], 20)
    assert code == (-9 if number == signal.SIGKILL else 128 + number)


@pytest.mark.fault
def test_a_rank_that_ignores_signals_is_killed():
    process = launch("--nproc-per-node=2", "--shutdown-timeout=0.2", PROGRAM, "ignore")
    for _ in range(2):
        assert process.stdout.readline() == "hangs\n"
    os.kill(process.pid, signal.SIGINT)
    [(code, _)] = ranks.ends([process], 20)
    assert code == 130


@pytest.mark.fault
def test_a_port_in_use():
    import socket

    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        sock.listen()
        code, output = launched(f"--master-port={sock.getsockname()[1]}", PROGRAM, "variables")
    assert code == 1
    assert "is in use (EADDRINUSE)" in output


def test_lines_have_coloured_prefixes_on_a_terminal():
    reader, terminal = pty.openpty()
    import subprocess

    process = subprocess.Popen(
        [*LAUNCHER, "--nproc-per-node=2", PROGRAM, "lines"],
        stdout=terminal,
        stderr=terminal,
        env=ranks.environment(),
        start_new_session=True,
    )
    os.close(terminal)
    assert process.wait(ranks.SECONDS) == 0
    shown = b""
    try:
        while data := os.read(reader, 4096):
            shown += data
    except OSError:
        pass  # Linux says so that the other end is closed
    os.close(reader)
    for rank, colour in ((0, 36), (1, 33)):
        for stream in ("out", "err"):
            assert f"\x1b[{colour}m[rank {rank}]\x1b[0m {stream} {rank}\r\n".encode() in shown


def test_output_goes_to_files(tmp_path):
    def kept(folder):
        files = sorted(folder.rglob("*.log"))
        return {str(file.relative_to(folder / "r/attempt_0")): file.read_text() for file in files}

    both = ("--nproc-per-node=2", "--rdzv-id=r", "--log-dir")
    code, output = launched(*both, tmp_path / "a", "-r", "3", PROGRAM, "lines")
    assert (code, output) == (0, "")
    assert kept(tmp_path / "a") == {
        f"{rank}/std{stream}.log": f"{stream} {rank}\n"
        for rank in (0, 1)
        for stream in ("err", "out")
    }
    code, output = launched(*both, tmp_path / "b", "--tee=0:1", PROGRAM, "lines")
    assert (code, lines(output)) == (0, ["err 0", "err 1", "out 0", "out 1"])
    assert kept(tmp_path / "b") == {"0/stdout.log": "out 0\n"}
    code, output = launched("--nproc-per-node=2", "--local-ranks-filter=1", PROGRAM, "lines")
    assert (code, lines(output)) == (0, ["err 1", "out 1"])


@pytest.mark.parametrize("way", ["node ranks", "by themselves"])
def test_two_launchers_join_their_ranks(way):
    pytest.importorskip("mpi4py")
    port = ranks.free_port()
    nodes = []
    for node in range(2):
        if way == "node ranks":
            where = [f"--node-rank={node}", "--master-addr=localhost", f"--master-port={port}"]
        else:
            where = ["--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{port}", "--rdzv-id=7"]
        nodes.append(
            launch("--nnodes=2", f"--nproc-per-node={node + 1}", *where, PROGRAM, "nothing")
        )
    results = ranks.ends(nodes)
    assert [code for code, _ in results] == [0, 0], results
    assert lines("".join(output for _, output in results)) == [
        f"rank {rank} of 3: 3.0" for rank in range(3)
    ]


def test_launchers_wait_for_a_port_that_is_in_use_for_a_moment():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        where = ["--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{taken.getsockname()[1]}"]
        nodes = [launch("--nnodes=2", *where, PROGRAM, "variables") for _ in range(2)]
        time.sleep(2.0)
    results = ranks.ends(nodes)
    assert [code for code, _ in results] == [0, 0], results
    assert {json.loads(output)["RANK"] for _, output in results} == {"0", "1"}


@pytest.mark.fault
def test_two_launchers_start_anew_together():
    pytest.importorskip("mpi4py")
    port = ranks.free_port()
    nodes = [
        launch("--nnodes=2", f"--node-rank={node}", "--master-addr=localhost", f"--master-port={port}",
               "--max-restarts=1", PROGRAM, "once")
        for node in range(2)
    ]  # fmt: skip
    results = ranks.ends(nodes)
    assert [code for code, _ in results] == [0, 0], results
    assert all(output.count("of 2: 2.0") == 2 for _, output in results)


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--nproc-per-node=0", "x"], "expected a number from 1"),
        (["--nproc-per-node=gpu", "x"], "there are no such devices here"),
        (["--nnodes=1:4", "x"], "a number that changes while a run goes on is not supported"),
        (["--tee=9", "--log-dir=l", "x"], "doesn't say which streams"),
        (["--redirects=3", "x"], "say where with --log-dir"),
        ([], "training_script"),
        (["--nproc=2", "x"], "unrecognized|required"),
    ],
)
def test_options_that_make_no_sense(arguments, words, capsys):
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert re.search(words, capsys.readouterr().err)


def test_an_endpoint_that_is_none(capsys):
    assert main(["--rdzv-endpoint=host:port", "--nnodes=2", "x"]) == 2
    assert "expected host:port" in capsys.readouterr().err


def test_options_from_the_environment(monkeypatch):
    monkeypatch.setenv("PET_NPROC_PER_NODE", "3")
    monkeypatch.setenv("PET_MAX_RESTARTS", "4")
    given = options.parse(["x"])
    assert (given.nproc_per_node, given.max_restarts) == (3, 4)
    assert options.parse(["--nproc-per-node=2", "x"]).nproc_per_node == 2
