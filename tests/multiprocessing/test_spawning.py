"""spawn: processes that all succeed, and what is raised when one fails."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest

import tensorlab
from tensorlab import multiprocessing as mp
from tensorlab.multiprocessing import spawning

needs_fork = pytest.mark.skipif("fork" not in mp.get_all_start_methods(), reason="needs fork")
LONG = 60  # seconds: more than any machine needs


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = set(multiprocessing.active_children())  # of another test, if it failed
    yield
    assert set(multiprocessing.active_children()) <= before


def note(number, x, y):
    x[number] = number + y


def start(fn, args=(), nprocs=2, **options):
    return mp.start_processes(fn, args, nprocs, start_method="fork", **options)


# ---------------------------------------------------------------- success
@pytest.mark.parametrize("call", [mp.spawn, mp.start_processes])
def test_each_process_has_its_number_and_the_arguments(call):
    x = tensorlab.zeros(3)  # moved into shared memory on its way
    assert call(note, (x, 10), nprocs=2) is None
    assert x.tolist() == [10, 11, 0]


@needs_fork
def test_forked_processes_may_call_local_functions():
    x = tensorlab.zeros(4).share_memory_()
    start(lambda number: x[number].fill_(number + 1), nprocs=4)
    assert x.tolist() == [1, 2, 3, 4]


@needs_fork
def test_without_join_the_processes_are_there():
    go = multiprocessing.get_context("fork").Event()
    context = start(lambda number: go.wait(LONG), join=False, daemon=True)
    assert isinstance(context, mp.ProcessContext)
    assert context.pids() == [process.pid for process in context.processes]
    assert all(process.daemon for process in context.processes)
    began = time.monotonic()
    assert context.join(timeout=0.2) is False
    assert time.monotonic() - began >= 0.2
    go.set()
    while not context.join(timeout=LONG):
        pass
    assert context.join() is True
    assert time.monotonic() - began < LONG


@needs_fork
def test_not_all_have_ended():
    go = multiprocessing.get_context("fork").Event()
    context = start(lambda number: go.wait(LONG) if number else None, join=False)
    assert not any(process.daemon for process in context.processes)
    assert context.join() is False  # the first one
    go.set()
    assert context.join() is True


# ---------------------------------------------------------------- failure
def fail(number, text="no"):
    if number == 1:
        raise ValueError(text)
    time.sleep(LONG)


@needs_fork
def test_what_a_process_raises_is_shown_and_the_others_end():
    began = time.monotonic()
    with pytest.raises(
        mp.ProcessRaisedException, match="-- Process 1 terminated with the following error:"
    ) as caught:
        start(fail, nprocs=3)
    assert time.monotonic() - began < LONG
    text = str(caught.value)
    assert "in fail" in text
    assert "ValueError: no" in text
    assert text.count("Traceback") == 1
    assert caught.value.error_index == 1
    assert caught.value.error_pid > 0


def test_so_it_is_with_spawn():
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: no"):
        mp.spawn(fail, nprocs=2)


@needs_fork
def test_a_long_traceback_arrives_whole():
    with pytest.raises(mp.ProcessRaisedException) as caught:
        start(fail, ("x" * 300_000,))
    assert str(caught.value).count("x") >= 300_000


@needs_fork
@pytest.mark.parametrize("code", [3, -9, -45])
def test_a_process_that_ends_without_a_word(code):
    def end(number):
        if code < 0:
            os.kill(os.getpid(), -code)
        os._exit(code)

    with pytest.raises(mp.ProcessExitedException) as caught:
        start(end, nprocs=1)
    error = caught.value
    names = {3: None, -9: "SIGKILL", -45: "<Unknown signal 45>"}
    how = f"signal {names[code]}" if code < 0 else f"exit code {code}"
    assert str(error) == error.msg == f"process 0 terminated with {how}"
    assert (error.exit_code, error.signal_name, error.error_index) == (code, names[code], 0)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.error_pid) == (str(error), error.error_pid)
    assert (copy.exit_code, copy.signal_name) == (code, names[code])


@needs_fork
def test_the_others_may_have_time_to_end():
    x = tensorlab.zeros(1).share_memory_()
    failed = multiprocessing.get_context("fork").Event()

    def work(number):
        if number == 1:
            failed.set()
            raise ValueError
        failed.wait(LONG)
        time.sleep(0.2)
        x.fill_(1)

    context = start(work, join=False)
    with pytest.raises(mp.ProcessRaisedException):
        context.join(grace_period=LONG)
    assert x.item() == 1


@needs_fork
def test_those_that_do_not_listen_are_killed():
    ready = multiprocessing.get_context("fork").Event()

    def work(number):
        if number == 1:
            ready.wait(LONG)
            raise ValueError
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ready.set()
        time.sleep(LONG)

    context = start(work, join=False)
    with pytest.raises(mp.ProcessRaisedException):
        context.join(grace_period=0.1)
    assert context.processes[0].exitcode == -signal.SIGKILL


@needs_fork
def test_an_interrupt_is_no_failure():
    start(lambda number: os.kill(os.getpid(), signal.SIGINT) or time.sleep(LONG), nprocs=1)


def test_a_function_that_can_not_be_sent():
    with pytest.raises((AttributeError, pickle.PicklingError)):
        mp.spawn(lambda number: None, nprocs=2)


@pytest.mark.parametrize(
    ("fn", "args", "nprocs", "error", "message"),
    [
        (None, (), 1, TypeError, "fn and args are None and"),
        (abs, 7, 1, TypeError, "and 7; expected a function and a tuple"),
        (abs, (), -1, ValueError, "nprocs is -1; expected a number from 0 to 10000"),
        (abs, (), 10_001, ValueError, "nprocs is 10001"),
    ],
)
def test_nonsense_starts_nothing(fn, args, nprocs, error, message):
    with pytest.raises(error, match=message):
        mp.spawn(fn, args, nprocs)


def test_no_processes_is_fine():
    assert mp.spawn(abs, nprocs=0) is None


PROGRAM = """
import os, signal, sys, time
from tensorlab import multiprocessing as mp
from tensorlab.multiprocessing import spawning
def hang(number):
    os.write(1, b"%d\\n" % os.getpid())
    time.sleep(60)
if sys.argv[1] == "ignored":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
else:
    signal.signal(signal.SIGINT, signal.default_int_handler)
mp.start_processes(hang, nprocs=2, start_method="fork")
"""


@needs_fork
@pytest.mark.parametrize("interrupts", ["heard", "ignored"])
def test_processes_end_with_their_program(interrupts):
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, interrupts],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    pids = [int(program.stdout.readline()) for _ in range(2)]
    program.kill()
    program.wait()
    end = time.monotonic() + LONG / 2
    while any(os.path.exists(f"/proc/{pid}") and not is_zombie(pid) for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.02)
    program.stdout.close()


def test_a_signal_interrupts_the_function_and_is_noticed(monkeypatch):
    seen, done = [], []
    monkeypatch.setattr(spawning, "end_with_parent", seen.append)

    def function(number):
        os.kill(os.getpid(), signal.SIGINT)
        done.append(number)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            spawning.run(function, 7, (), None)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == []
    assert seen[0].is_set()


def test_a_signal_that_is_not_noticed_is_sent_again(monkeypatch):
    """It may come just before a call that waits."""
    monkeypatch.setattr(spawning.signal, "getsignal", lambda number: signal.default_int_handler)
    interrupted, sent = threading.Event(), []

    def kill(pid, number):
        sent.append((pid, number))
        if len(sent) == 2:
            interrupted.set()

    class Gone:
        def join(self):
            pass

    monkeypatch.setattr(spawning.os, "kill", kill)
    monkeypatch.setattr(spawning.multiprocessing, "parent_process", Gone)
    monkeypatch.setattr(interrupted, "wait", lambda seconds: interrupted.is_set())
    spawning.end_with_parent(interrupted)
    assert sent == [(os.getpid(), signal.SIGINT)] * 2
    interrupted.clear()
    monkeypatch.setattr(spawning.os, "kill", lambda *given: sent.append(given))
    spawning.end_with_parent(interrupted)  # it gives up in the end
    assert len(sent) == 2 + spawning.ATTEMPTS


def is_zombie(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_the_older_name():
    assert issubclass(mp.SpawnContext, mp.ProcessContext)
    assert issubclass(mp.ProcessRaisedException, mp.ProcessException)
