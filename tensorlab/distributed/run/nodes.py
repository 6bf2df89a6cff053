"""Node: one machine's launcher, and what it agrees on with those of other machines."""

import time

from tensorlab.distributed.server import starting
from tensorlab.distributed.stores import PrefixStore, TCPStore
from tensorlab.distributed.stores.connection import dialled
from tensorlab.errors import DistNetworkError, DistStoreError

PORT = 29500
SECONDS = 600.0  # how long launchers wait for each other


def join(given):
    """Meet the launchers of the other machines, and return this one's Node.

    The one with number 0 starts the server in which launchers and ranks meet.
    """
    host, port = endpoint(given)
    by_themselves = given.nnodes > 1 and given.rdzv_backend == "c10d"
    server = None
    if by_themselves:
        server = serve_unless_served(host, port, seconds_in(given.rdzv_conf))
    elif given.nnodes == 1 or given.node_rank == 0:
        server = starting.Process(starting.listen(host, port))
    if server is not None:
        port = server.port
    return Node(given, host, port, server, by_themselves)


def serve_unless_served(host, port, seconds):
    """Start the server, or return None where one answers already.

    A port that is in use and doesn't answer is tried again: a connection of some other program
    may have it for a moment, and each launcher would wait for the other to serve.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return starting.Process(starting.listen(host, port))
        except DistNetworkError:
            try:
                dialled(host, port, 0.5).close()
                return None
            except DistNetworkError:
                if time.monotonic() > until:
                    raise


def endpoint(given):
    """Return the host and port where launchers meet.

    Raises
    ------
    ValueError
        If --rdzv-endpoint is none.
    """
    if given.standalone or (given.nnodes == 1 and not given.rdzv_endpoint):
        return given.master_addr, given.master_port or 0
    if not given.rdzv_endpoint:
        return given.master_addr, given.master_port or PORT
    host, colon, port = given.rdzv_endpoint.rpartition(":")
    if not colon:
        host, port = port, str(PORT)
    if not host or not port.isdigit():
        raise ValueError(f"--rdzv-endpoint={given.rdzv_endpoint}: expected host:port")
    return host, int(port)


class Node:
    """This machine's launcher.

    Attributes
    ----------
    rank, count : int, which launcher it is, of how many
    host, port : where the ranks meet
    """

    def __init__(self, given, host, port, server, by_themselves):
        self.host, self.port, self.server = host, port, server
        self.count, self.rank = given.nnodes, given.node_rank
        self.own = given.nproc_per_node
        self.seconds = seconds_in(given.rdzv_conf)
        self.store = None
        if self.count > 1:
            whole = TCPStore._of_world(host, port, None, self.seconds)
            self.store = PrefixStore(f"tensorlab/{given.rdzv_id}", whole)
            if by_themselves:
                self.rank = self.store.add("nodes", 1) - 1
            if self.rank >= self.count:
                raise ValueError(f"there are {self.count} machines already in run {given.rdzv_id}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server is not None:
            self.server.close(seconds=0.2)

    def share(self, attempt):
        """Return the number of this machine's first rank, and of all ranks.

        Raises
        ------
        DistStoreError
            If a launcher doesn't come.
        """
        if self.store is None:
            return 0, self.own
        self.store.set(f"{attempt}/ranks/{self.rank}", str(self.own))
        counts = []
        for node in range(self.count):
            try:
                counts.append(int(self.store.get(f"{attempt}/ranks/{node}")))
            except DistStoreError:
                raise DistStoreError(
                    f"the launcher with --node-rank={node} did not come within {self.seconds:g} s"
                ) from None
        return sum(counts[: self.rank]), sum(counts)

    def say_failed(self, attempt):
        """Tell the other launchers that a rank has failed here."""
        if self.store is not None:
            self.store.set(f"{attempt}/failed", str(self.rank))

    def others_failed(self, attempt):
        """Return whether a rank has failed elsewhere, or its launcher's machine is gone."""
        if self.store is None:
            return False
        try:
            return self.store.check([f"{attempt}/failed"])
        except DistNetworkError:
            return True

    def await_others(self, attempt):
        """Wait until the ranks of all machines have ended well; return False if one fails."""
        if self.store is None:
            return True
        done = self.store.add(f"{attempt}/done", 1)
        while done < self.count:
            if self.others_failed(attempt):
                return False
            time.sleep(0.1)
            try:
                done = self.store.add(f"{attempt}/done", 0)
            except DistNetworkError:
                return True  # the server ends with the last launcher that needs it
        return True


def seconds_in(configuration):
    """Return the timeout that --rdzv-conf gives, or the usual one."""
    for part in configuration.split(","):
        name, _, value = part.partition("=")
        if name in ("timeout", "join_timeout"):
            return float(value)
    return SECONDS
