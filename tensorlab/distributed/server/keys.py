"""The store's end in the server: answers requests to a table, and lets them wait for each other."""

import asyncio

from . import lines
from .table import NotYet, Table


class Keys:
    """A table that many connections ask."""

    def __init__(self):
        self.table = Table()
        self.changed = asyncio.Condition()

    async def serve(self, reader, writer):
        """Answer the requests of one connection until it ends."""
        while (request := await lines.read(reader)) is not None:
            writer.write(lines.packed(await self.answer(request, reader)))
            await writer.drain()

    async def answer(self, request, reader):
        """Return the answer to {"do": name, "with": arguments, "timeout": seconds}.

        It is {"value": value}, {"late": True}, or {"error": text}.
        """
        clock = asyncio.get_running_loop().time
        until = clock() + request["timeout"]
        async with self.changed:
            while True:
                try:
                    value = self.table.answer(request["do"], request["with"])
                except NotYet:
                    left = until - clock()
                    if left <= 0 or reader.at_eof():
                        return {"late": True}
                    try:  # looks up now and then: who asked may be gone
                        await asyncio.wait_for(self.changed.wait(), min(left, 0.5))
                    except TimeoutError:
                        pass
                except (ValueError, TypeError) as error:
                    return {"error": str(error)}
                else:
                    self.changed.notify_all()
                    return {"value": value}
