"""Lines that only the one who knows a key can have written, in an order that can't be changed.

The judge's process has a key from the process that started it.  A student's process, which may find a way to
the same pipe, doesn't have it.
"""

import hashlib
import hmac
import json
import secrets
import sys

PR_SET_DUMPABLE = 4


def new_key():
    return secrets.token_hex(32)


def signature(key, count, text):
    return hmac.new(key.encode(), f"{count} {text}".encode(), hashlib.sha256).hexdigest()


class Signer:
    """Writes messages as lines of JSON, each behind its signature."""

    def __init__(self, key, stream):
        self.key, self.stream, self.count = key, stream, 0

    def tell(self, message):
        text = json.dumps(message)
        self.stream.write(f"{signature(self.key, self.count, text)} {text}\n")
        self.stream.flush()
        self.count += 1


class Reader:
    """Reads such lines; what is not signed, or comes out of order, was not written by the signer."""

    def __init__(self, key):
        self.key, self.count = key, 0

    def message(self, line):
        """Return the message of a line of bytes, or None if it is not the signer's next one."""
        signed, _, text = line.decode("utf-8", "replace").rstrip("\n").partition(" ")
        if not hmac.compare_digest(signed.encode(), signature(self.key, self.count, text).encode()):
            return None
        self.count += 1
        return json.loads(text)


def be_unreadable():
    """Keep other processes of the same user from this one's memory and files, where Linux can."""
    if sys.platform == "linux":
        import ctypes  # only here: most programs do without it

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
