"""Starting the server: as a process of its own, or as a thread, and the socket it listens on."""

import errno
import os
import socket
import subprocess
import sys
import threading
import weakref

from tensorlab.errors import DistNetworkError

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = "import sys; sys.path.append(sys.argv.pop()); from server import process; process.main()"


def listen(host, port):
    """Return a socket that listens at a port of this machine, or at a free one where it's 0.

    Only this machine can connect where `host` is a name of the machine for itself.

    Raises
    ------
    DistNetworkError
        If the port is in use, or the address is not this machine's.
    """
    is_local = host in ("localhost", "127.0.0.1", "::1")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((("::1" if ":" in host else "127.0.0.1") if is_local else "", port))
        sock.listen(1024)
    except (OSError, OverflowError) as error:
        sock.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            raise DistNetworkError(
                f"port {port} of {host} is in use (EADDRINUSE): by another run on this "
                f"machine, one that hasn't ended (see `ss -ltnp 'sport = :{port}'`), or "
                "another program. Choose another with MASTER_PORT=29501, or let the launcher "
                "choose: `tensorlab run --standalone`"
            ) from None
        raise DistNetworkError(f"cannot listen at {host}:{port}: {error}") from error
    return sock


def taken_over(descriptor):
    """Return the listening socket of a descriptor."""
    return socket.socket(fileno=descriptor)


processes: weakref.WeakSet = weakref.WeakSet()  # those that this process owns


def disown():
    """Close the owner's pipes in a forked child, which owns nothing."""
    for one in processes:
        one.process.stdin.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=disown)


class Process:
    """The server as a process of its own.

    Parameters
    ----------
    listening : socket that listens; the process takes it over

    Attributes
    ----------
    port : int
    """

    def __init__(self, listening):
        self.port = listening.getsockname()[1]
        with listening:
            command = [sys.executable, "-S", "-E", "-c", PROGRAM, str(listening.fileno()), HERE]
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,  # a pipe to who waits for rank 0's output would stay open
                stderr=subprocess.DEVNULL,
                pass_fds=[listening.fileno()],
                start_new_session=True,  # a signal to the ranks' group is not for it
            )

        processes.add(self)

    def has_ended(self):
        """Return whether the process has ended."""
        return self.process.poll() is not None

    def close(self, seconds=0.0):
        """Let no one new in; the process ends with the last connection. Wait for it a while."""
        if self.process.stdin is not None and not self.process.stdin.closed:
            self.process.stdin.close()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


class Thread:
    """The server as a thread of this process, for a store.

    Parameters
    ----------
    listening : socket that listens
    """

    def __init__(self, listening):
        self.port = listening.getsockname()[1]
        self.loop = self.ended = None
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.run, args=(listening,), daemon=True)
        self.thread.start()
        self.ready.wait()

    def run(self, listening):
        import asyncio  # slow to import, and most programs serve no store

        from . import process

        async def serve():
            self.loop, self.ended = asyncio.get_running_loop(), asyncio.Event()
            serving = asyncio.ensure_future(process.serve_until(listening, asyncio.Event()))
            self.ready.set()
            await self.ended.wait()
            serving.cancel()

        asyncio.run(serve())  # which ends all connections

    def close(self):
        """End the thread, and with it all connections."""
        if self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.ended.set)
            self.thread.join()
