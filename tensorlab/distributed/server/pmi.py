"""PMI-1: the language in which MPICH's ranks tell each other their addresses when MPI starts.

A request is a line such as "cmd=put kvsname=world key=P0-addr value=...". MPI asks for no more
than what stands here. A process that mpiexec started talks to mpiexec; all others talk to this.
"""

import asyncio
import re
import uuid

PATIENCE = 1.0  # seconds from a rank's loss until MPI itself meets a closed line
PAIR = re.compile(rb"(\w+)=(.*?)(?=\s\w+=|\s*$)", re.DOTALL)


class Exchange:
    """What the ranks of one start of MPI have put, and who waits at the barrier.

    Parameters
    ----------
    size : int, how many ranks there are
    """

    def __init__(self, size):
        self.size = size
        self.name = f"tensorlab-{uuid.uuid4()}"  # of the memory that MPI shares, too
        self.values = {}
        self.waiting = []  # the writers of ranks in the barrier
        self.here = set()  # ranks that are about to start MPI
        self.lines = {}  # rank: writer, once it starts MPI
        self.fault = None  # why MPI can't start any more, in words
        self.settled = asyncio.Event()  # set when all are here, or there is a fault

    async def gather(self, rank, seconds):
        """Wait until all ranks are about to start MPI; return why they can't, or None.

        From here on a rank that is lost can only be missed by MPI, which says little.
        """
        self.here.add(rank)
        if len(self.here) == self.size:
            self.settled.set()
        try:
            await asyncio.wait_for(self.settled.wait(), seconds)
        except TimeoutError:
            missing = sorted(set(range(self.size)) - self.here)
            return f"ranks {missing} came, and then did not start MPI within {seconds:g} s"
        return self.fault

    async def serve(self, rank, reader, writer):
        """Speak PMI with one rank until its connection ends."""
        self.lines[rank] = writer
        while line := await reader.readline():
            request = {key.decode(): value for key, value in PAIR.findall(line)}
            self.answer(request, writer)
            await writer.drain()
        self.lines.pop(rank, None)

    def answer(self, request, writer):
        """Answer one request."""
        match request.get("cmd"):
            case b"init":
                say(writer, "response_to_init pmi_version=1 pmi_subversion=1 rc=0")
            case b"get_maxes":
                say(writer, "maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0")
            case b"get_appnum":
                say(writer, "appnum appnum=0 rc=0")
            case b"get_my_kvsname":
                say(writer, f"my_kvsname kvsname={self.name} rc=0")
            case b"get_universe_size":
                say(writer, f"universe_size size={self.size} rc=0")
            case b"put":
                self.values[request["key"]] = request["value"]
                say(writer, "put_result rc=0")
            case b"get":
                value = self.values.get(request["key"])
                if value is None:  # PMI_process_mapping as well: MPI then compares host names
                    say(writer, "get_result rc=-1 msg=unknown_key")
                else:
                    say(writer, "get_result rc=0 value=" + value.decode())
            case b"barrier_in":
                self.waiting.append(writer)
                if len(self.waiting) == self.size:
                    for each in self.waiting:
                        say(each, "barrier_out rc=0")
                    self.waiting = []
            case b"finalize":
                say(writer, "finalize_ack rc=0")
            case b"abort":
                writer.close()
            case other:
                say(writer, f"{(other or b'unknown').decode()}_result rc=-1")

    def break_off(self, fault):
        """Give MPI's start up. Ranks have heard of it, and end; in a while those are cut off that haven't."""
        self.fault = fault
        self.settled.set()
        asyncio.get_running_loop().call_later(PATIENCE, self.cut_off)

    def cut_off(self):
        """Close all lines: MPI that waits for a rank that is gone comes out, one way or another."""
        for writer in self.lines.values():
            writer.close()


def say(writer, text):
    writer.write(f"cmd={text}\n".encode())
