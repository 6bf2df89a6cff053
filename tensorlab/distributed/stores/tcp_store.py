"""TCPStore: a store behind a port, for processes on any machine."""

import os
import threading

from tensorlab.distributed.server import starting
from tensorlab.distributed.work import seconds_of
from tensorlab.errors import DistNetworkError, DistStoreError

from .connection import Connection
from .store import SECONDS, Store

__all__ = ["TCPStore"]


class TCPStore(Store):
    """A store that one process, the master, serves, and others connect to.

    Parameters
    ----------
    host_name : str, where the master runs
    port : int; at the master 0 means any free one, which `port` then tells
    world_size : int or None, how many stores there will be, the master's among them
    is_master : bool
    timeout : timedelta, how long to wait for the master, for the others, and for keys
    wait_for_workers : bool, whether to wait until `world_size` stores are there
    multi_tenant : bool, whether a master may use the server that stands at the port already
    master_listen_fd : int or None, a socket that listens already, at the master
    use_libuv : accepted for PyTorch's sake

    Raises
    ------
    DistNetworkError
        If the port is in use, or no master answers in time.

    Examples
    --------
    >>> master = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    >>> worker = TCPStore("localhost", master.port, wait_for_workers=False)
    >>> worker.set("x", "1")
    >>> master.get("x")
    b'1'
    """

    def __init__(
        self,
        host_name,
        port=29500,
        world_size=None,
        is_master=False,
        timeout=SECONDS,
        wait_for_workers=True,
        multi_tenant=False,
        master_listen_fd=None,
        use_libuv=True,
    ):
        super().__init__()
        check_address(host_name, port)
        self._seconds = seconds_of(timeout, SECONDS)
        self._server = serve(host_name, port, multi_tenant, master_listen_fd) if is_master else None
        self._host = host_name
        self._port = self._server.port if self._server is not None else port
        self._world = None
        self._connect()
        if wait_for_workers and world_size is not None and world_size > 1:
            self._await_workers(world_size)

    @classmethod
    def _of_world(cls, host, port, world, seconds):
        """Return the store of a world that a server holds."""
        store = cls.__new__(cls)
        Store.__init__(store)
        store._seconds, store._server = seconds, None
        store._host, store._port, store._world = host, port, world
        store._connect()
        return store

    def _connect(self):
        self._lock, self._pid = threading.Lock(), os.getpid()
        hello = {"what": "store", "world": self._world}
        self._connection = Connection(self._host, self._port, self._seconds)
        self._connection.greet(hello)

    def _await_workers(self, world_size):
        here = self.add("init/", 1)
        if here >= world_size:
            self.set("init/all", "1")
        try:
            self.wait(["init/all"])
        except DistStoreError:
            raise DistStoreError(
                f"TCPStore: {self.add('init/', 0)} of {world_size} stores have come within "
                f"{self._seconds:g} s; start the others, or give wait_for_workers=False"
            ) from None

    @property
    def host(self):
        """Where the master runs."""
        return self._host

    @property
    def port(self):
        """The master's port."""
        return self._port

    @property
    def libuvBackend(self):
        """False: the server stands on asyncio."""
        return False

    def _ask(self, name, arguments, seconds):
        if self._pid != os.getpid():
            self._connect()  # after a fork: the parent's connection is not ours
        with self._lock:
            request = {"do": name, "with": arguments, "timeout": seconds}
            answer = self._connection.ask(request, seconds + 10)
        if answer is None:
            raise DistNetworkError(
                f"{name}: the store at {self._host}:{self._port} has closed the connection; "
                "the process that served it has ended"
            )
        if "late" in answer:
            raise TimeoutError
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["value"]

    def clone(self):
        """Return another store with a connection of its own, for another thread."""
        return TCPStore._of_world(self._host, self._port, self._world, self._seconds)

    def __del__(self):
        if getattr(self, "_connection", None) is not None:
            self._connection.close()
        if getattr(self, "_server", None) is not None and self._pid == os.getpid():
            self._server.close()


def serve(host, port, multi_tenant, listening_fd):
    """Return the master's server, or None where one that stands already is to be used."""
    if listening_fd is not None:
        return starting.Thread(starting.taken_over(listening_fd))
    try:
        return starting.Thread(starting.listen(host, port))
    except DistNetworkError:
        if not multi_tenant:
            raise
        return None


def check_address(host_name, port):
    """Refuse what is not the name of a host and a port, before anyone waits for an answer.

    Raises
    ------
    TypeError, ValueError
        If the name is not a str, or the port not an int from 0 to 65535.
    """
    if not isinstance(host_name, str):
        raise TypeError(f"TCPStore: host_name is a {type(host_name).__name__}; expected a str")
    if not isinstance(port, int) or isinstance(port, bool):
        raise TypeError(f"TCPStore: port is a {type(port).__name__}; expected an int")
    if not 0 <= port < 1 << 16:
        raise ValueError(f"TCPStore: port is {port}; expected a number from 0 to 65535")
