"""The server's process: takes connections, and ends when no one needs it any more.

It is started with a socket that listens already, and with a pipe to its owner as its input.
When the pipe ends, no one new is let in; when the last connection ends after that, so does the
process.
"""

import asyncio
import signal
import socket
import sys

from . import lines
from .keys import Keys
from .world import World


class Server:
    """Everything that is served at one port.

    Attributes
    ----------
    worlds : dict of str to World
    keys : Keys, what connections to no world share
    """

    def __init__(self):
        self.worlds = {}
        self.keys = Keys()
        self.connections = 0
        self.quiet = asyncio.Event()  # set while no one is connected
        self.quiet.set()

    async def connect(self, reader, writer):
        """Serve one connection to its end."""
        self.connections += 1
        self.quiet.clear()
        try:
            writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            hello = await lines.read(reader)
            if hello is not None:
                await self.serve(hello, reader, writer)
        except (OSError, KeyError, TypeError, ValueError):
            pass  # a stranger, or a line that broke
        except asyncio.CancelledError:
            pass  # the server ends
        finally:
            writer.close()
            self.connections -= 1
            if self.connections == 0:
                self.quiet.set()

    async def serve(self, hello, reader, writer):
        """Go on by what a connection is for."""
        if hello["what"] == "store":
            world = self.worlds.get(hello.get("world"))
            writer.write(lines.packed({"here": "tensorlab"}))
            await (world or self).keys.serve(reader, writer)
            return
        name = hello["world"]
        if hello["what"] == "pmi":
            exchange = self.worlds[name].exchange
            fault = await exchange.gather(hello["rank"], hello["timeout"])
            if fault is not None:
                writer.write(lines.packed({"refused": fault}))
                return
            writer.write(lines.packed({"here": "tensorlab"}))
            await exchange.serve(hello["rank"], reader, writer)
        elif hello["what"] == "watch":
            world = self.worlds.setdefault(name, World(hello["size"]))
            await world.watch(hello, reader, writer)
            if all(member.state != "here" for member in world.members.values()):
                self.worlds.pop(name, None)


async def serve_until(listening, ended):
    """Serve a listening socket until `ended`, an Event, is set and the last connection has gone."""
    server = Server()
    acceptor = await asyncio.start_server(server.connect, sock=listening, limit=lines.LONGEST)
    try:
        await ended.wait()
    finally:
        acceptor.close()
    await server.quiet.wait()


async def serve_owner(listening):
    """Serve until the owner's pipe, the standard input, has ended."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hear():
        if not sys.stdin.buffer.raw.read(1):
            loop.remove_reader(0)
            ended.set()

    loop.add_reader(0, hear)
    await serve_until(listening, ended)


def main():
    """Run the process: its argument is the number of the socket's descriptor."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the ranks; the pipe ends with them
    asyncio.run(serve_owner(socket.socket(fileno=int(sys.argv[1]))))
