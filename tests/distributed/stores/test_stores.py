"""Stores: what all of them do, and what processes share through them."""

import multiprocessing
import os
import threading
import time
from datetime import timedelta

import pytest

import tensorlab.distributed as dist
from tensorlab.distributed import FileStore, HashStore, PrefixStore, TCPStore
from tensorlab.errors import DistNetworkError, DistStoreError, QueueEmptyError
from tests.distributed.ranks import free_port

SHORT = timedelta(milliseconds=50)


@pytest.fixture(params=["hash", "file", "tcp", "prefix", "prefix of prefix"])
def store(request, tmp_path):
    if request.param == "file":
        return FileStore(tmp_path / "store", 2)
    if request.param == "tcp":
        return TCPStore("localhost", 0, is_master=True)
    if request.param == "prefix":
        return PrefixStore("a", HashStore())
    if request.param == "prefix of prefix":
        return PrefixStore("b", PrefixStore("a", HashStore()))
    return HashStore()


def test_values_are_bytes(store):
    store.set("text", "é")
    store.set("bytes", b"\xff\x00\n")
    assert (store.get("text"), store.get("bytes")) == ("é".encode(), b"\xff\x00\n")
    store.set("text", "")
    assert store.get("text") == b""


def test_counters(store):
    assert [store.add("n", 3), store.add("n", -1), store.add("n", 0)] == [3, 2, 2]
    assert store.get("n") == b"2"
    store.set("n", "40")
    assert store.add("n", 2) == 42
    store.set("word", "blue")
    with pytest.raises(ValueError, match="'.*word' is 'blue', not a number"):
        store.add("word", 1)


def test_compare_set(store):
    assert store.compare_set("k", "x", "y") == b"x"  # as PyTorch: what was expected, and no key
    assert not store.check(["k"])
    assert store.compare_set("k", "", "y") == b"y"
    assert store.compare_set("k", "other", "z") == b"y"
    assert store.compare_set("k", "y", "z") == b"z"


def test_keys(store):
    store.multi_set(["a", "b"], ["1", b"2"])
    store.append("b", "3")
    assert store.multi_get(["a", "b"]) == [b"1", b"23"]
    assert sorted(store.list_keys()) == ["a", "b"]
    assert store.num_keys() == 2
    assert (store.check(["a", "b"]), store.check(["a", "c"]), store.check([])) == (
        True,
        False,
        True,
    )
    assert (store.delete_key("a"), store.delete_key("a"), store.num_keys()) == (True, False, 1)
    assert store.has_extended_api()


def test_queues(store):
    for value in ("1", "2", "3"):
        store.queue_push("q", value)
    assert (store.queue_len("q"), store.queue_pop("q"), store.queue_pop("q", False)) == (
        3,
        b"1",
        b"2",
    )
    assert store.queue_pop("q") == b"3"
    assert store.queue_len("q") == 0
    with pytest.raises(QueueEmptyError, match="queue is empty"):
        store.queue_pop("q", block=False)


def test_waiting_ends_with_the_keys_that_are_missing(store):
    store.set_timeout(SHORT)
    assert store.timeout == SHORT
    for ask in (
        lambda: store.get("late"),
        lambda: store.wait(["late"]),
        lambda: store.multi_get(["late"]),
        lambda: store.queue_pop("late"),
    ):
        with pytest.raises(DistStoreError, match=r"timeout after 50ms, keys: .*late"):
            ask()
    store.set_timeout(timedelta(seconds=60))
    with pytest.raises(DistStoreError, match="timeout after 50ms"):
        store.wait(["late"], SHORT)


def test_waiting_ends_when_another_thread_sets_the_key(store):
    other = store.clone()
    thread = threading.Timer(0.05, lambda: other.set("late", "here"))
    thread.start()
    assert store.get("late") == b"here"
    thread.join()


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda s: s.set("k", 3), TypeError, "str or bytes, not int; write str"),
        (lambda s: s.set(3, "v"), TypeError, "a key of a store is a str, not 3"),
        (lambda s: s.wait("key"), TypeError, r"write \['key'\]"),
        (lambda s: s.multi_set(["a", "b"], ["1"]), ValueError, "2 keys, but 1 values"),
        (lambda s: s.set_timeout("long"), TypeError, "a timeout is a timedelta"),
        (lambda s: s.set_timeout(timedelta(0)), ValueError, "positive"),
    ],
)
def test_bad_arguments(store, call, error, words):
    with pytest.raises(error, match=words):
        call(store)


def test_a_prefix_hides_what_is_outside():
    whole = HashStore()
    part = PrefixStore("p", whole)
    whole.set("outside", "1")
    part.set("inside", "2")
    assert part.list_keys() == ["inside"]
    assert part.num_keys() == 1
    assert sorted(whole.list_keys()) == ["outside", "p/inside"]
    assert part.underlying_store is whole
    assert PrefixStore("q", part)._underlying_non_prefix_store is whole
    with pytest.raises(TypeError, match="expected a store"):
        PrefixStore("p", {})


def count_up(kind, where):
    store = FileStore(where) if kind == "file" else TCPStore("localhost", where)
    for _ in range(100):
        store.add("n", 1)
    store.queue_push("done", str(os.getpid()))


@pytest.mark.parametrize("kind", ["file", "tcp"])
def test_processes_count_together(kind, tmp_path):
    if kind == "file":
        store, where = FileStore(tmp_path / "store"), str(tmp_path / "store")
    else:
        store = TCPStore("localhost", 0, is_master=True)
        where = store.port
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=count_up, args=(kind, where)) for _ in range(2)]
    for process in processes:
        process.start()
    done = {int(store.queue_pop("done")) for _ in processes}
    assert done == {process.pid for process in processes}
    assert store.get("n") == b"200"
    for process in processes:
        process.join()


def test_a_master_waits_for_its_workers():
    port = free_port()
    stores = {}

    def make(name, **more):
        stores[name] = TCPStore("localhost", port, 2, timeout=timedelta(seconds=30), **more)

    thread = threading.Thread(target=make, args=("worker",))
    thread.start()
    make("master", is_master=True)
    thread.join()
    stores["worker"].set("x", "1")
    assert stores["master"].get("x") == b"1"
    assert (stores["worker"].host, stores["worker"].port) == ("localhost", port)
    with pytest.raises(DistStoreError, match="1 of 2 stores have come"):
        TCPStore("localhost", 0, 2, True, timeout=SHORT)


def test_no_one_serves():
    with pytest.raises(DistNetworkError, match=r"nothing answers at localhost:\d+ .* MASTER_ADDR"):
        TCPStore("localhost", free_port(), timeout=SHORT)


@pytest.mark.fault
def test_a_port_in_use():
    master = TCPStore("localhost", 0, is_master=True)
    with pytest.raises(DistNetworkError, match=r"is in use \(EADDRINUSE\).*MASTER_PORT"):
        TCPStore("localhost", master.port, is_master=True)
    again = TCPStore("localhost", master.port, is_master=True, multi_tenant=True)
    again.set("x", "1")
    assert master.get("x") == b"1"


def test_a_master_that_is_gone():
    master = TCPStore("localhost", 0, is_master=True)
    worker = TCPStore("localhost", master.port)
    worker.set("x", "1")
    del master
    with pytest.raises(DistNetworkError, match="has closed the connection"):
        worker.get("x")


def test_a_barrier_of_stores():
    master = TCPStore("localhost", 0, is_master=True)
    came = []

    def come():
        TCPStore("localhost", master.port).barrier("b", 2, timedelta(seconds=30))
        came.append(True)

    thread = threading.Thread(target=come)
    thread.start()
    time.sleep(0.02)
    assert not came
    master.barrier("b", 2)
    thread.join()
    assert came


def test_stores_have_pytorchs_classes():
    assert all(
        issubclass(kind, dist.Store) for kind in (FileStore, HashStore, PrefixStore, TCPStore)
    )


@pytest.mark.parametrize(("arguments", "kind"), [
    ((None, 1), TypeError), (("localhost", "1"), TypeError), (("localhost", None), TypeError),
    (("localhost", 65536), ValueError), (("localhost", -1), ValueError),
])  # fmt: skip
def test_what_is_no_address_is_refused_at_once(arguments, kind):
    with pytest.raises(kind, match="TCPStore: (host_name|port) is"):
        dist.TCPStore(*arguments)
