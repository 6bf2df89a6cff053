"""Lines of JSON over a connection: what ranks and the server say to each other.

The first line of a connection says what it is for: {"what": "store"}, {"what": "watch", ...} or
{"what": "pmi", ...}. The last of these goes on in MPICH's own language.
"""

import json

LONGEST = 1 << 30  # bytes of a line: values of a store go in one


def packed(message):
    """Return a message, a dict, as one line."""
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"


def unpacked(line):
    """Return the message of a line, or None where it is not one."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


async def read(reader):
    """Return the next message of an asyncio stream, or None at its end."""
    line = await reader.readline()
    return unpacked(line) if line.endswith(b"\n") else None
