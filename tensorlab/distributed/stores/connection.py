"""Connection: a line to the server, from a process that waits for each answer."""

import os
import socket
import time
import weakref

from tensorlab.distributed.server import lines
from tensorlab.errors import DistNetworkError

connections: weakref.WeakSet = weakref.WeakSet()  # of this process


def close_inherited():
    """Close, in a forked child, what its parent has open: or the parent's death would not show."""
    for connection in connections:
        connection.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=close_inherited)


class Connection:
    """A connection to the server, with retries until it stands.

    Parameters
    ----------
    host, port : where the server is
    seconds : float, how long to try

    Raises
    ------
    DistNetworkError
        If nothing answers there in time, or the host has no address.
    """

    def __init__(self, host, port, seconds):
        self.host, self.port = host, port
        self.socket = dialled(host, port, seconds)
        self.rest = b""
        connections.add(self)

    def send(self, message):
        """Send a message, and raise OSError where the other end is gone."""
        self.socket.sendall(lines.packed(message))

    def hear(self, seconds=None):
        """Return the next message, or None where the line has ended.

        Raises
        ------
        TimeoutError
            If none comes in time.
        """
        until = None if seconds is None else time.monotonic() + seconds
        while b"\n" not in self.rest:
            try:
                left = None if until is None else max(0.001, until - time.monotonic())
                self.socket.settimeout(left)
                more = self.socket.recv(1 << 16)
            except TimeoutError:
                raise
            except OSError:
                return None
            if not more:
                return None
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return lines.unpacked(line)

    def ask(self, message, seconds):
        """Send a message and return the answer, or None where the line has ended."""
        try:
            self.send(message)
            return self.hear(seconds)
        except OSError:
            return None

    def greet(self, hello, seconds=10.0):
        """Say what the connection is for, and be sure that the server understands it."""
        answer = self.ask(hello, seconds)
        if answer is not None and "refused" in answer:
            self.close()
            raise DistNetworkError(f"init_process_group: {answer['refused']}")
        if answer is None or answer.get("here") != "tensorlab":
            self.close()
            raise DistNetworkError(
                f"what answers at {self.host}:{self.port} is no server of tensorlab's: another "
                "program has the port. Choose another one with MASTER_PORT"
            )

    def close(self):
        self.socket.close()


def dialled(host, port, seconds):
    """Return a socket connected to a port, which may begin to listen only while we try."""
    until = time.monotonic() + seconds
    pause = 0.005
    while True:
        try:
            sock = socket.create_connection((host, port), max(0.1, until - time.monotonic()))
            if sock.getsockname() == sock.getpeername():  # a free port can connect to itself
                sock.close()
                raise ConnectionRefusedError("nothing listens there")
        except (OSError, OverflowError) as error:
            if time.monotonic() + pause > until:
                raise DistNetworkError(
                    f"nothing answers at {host}:{port} for {seconds:g} s ({error}). Rank 0 "
                    "serves this address: it has not started, has failed, or MASTER_ADDR and "
                    "MASTER_PORT are not its own"
                ) from None
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        else:
            sock.settimeout(None)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
