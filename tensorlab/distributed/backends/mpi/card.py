"""Card: what every rank shows before a collective: what it calls, and its values if they are few.

The cards of all ranks have one size, whatever they call, so that the exchange works where the calls
differ; then each rank can say what the others called. Values of at most 1 KB travel on the card, and
that is all there is to send.
"""

import hashlib

HEADER = 256  # bytes of words
ROOM = 1024  # bytes of values
SIZE = HEADER + ROOM


def words_of(call):
    """Return what must be equal on all ranks, as HEADER bytes."""
    text = f"{call.number}:{call.what()}".encode()
    if len(text) > HEADER:
        text = (
            text[: HEADER - 33]
            + b"#"
            + hashlib.md5(text, usedforsecurity=False).hexdigest().encode()
        )
    return text.ljust(HEADER, b"\0")


def texts_of(cards):
    """Return what each rank called, from the words of all cards; with its number if those differ."""
    shown = [bytes(words).rstrip(b"\0").decode(errors="replace").partition(":") for words in cards]
    differ = len({number for number, _, _ in shown}) > 1
    return {
        rank: f"{what}, as its call {number}" if differ else what
        for rank, (number, _, what) in enumerate(shown)
    }
