"""Card: what every rank shows before a collective: what it calls, and its values if they are few.

The cards of all ranks have one size, whatever they call, so that the exchange works where the
calls differ; then each rank can say what the others called. Values of at most 1 KB travel on
the card, and that is all there is to send.
"""

import array
import hashlib
import itertools

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


def bytes_exchanged(call):
    """Return how many bytes a rank sends to each, then how many it expects of each, packed.

    Only all_to_all lets these differ from rank to rank, so that each has to look at all of
    them.
    """
    sizes = [x.numel() * x.element_size() for x in (*call.inputs, *call.outputs)]
    return array.array("q", sizes).tobytes() if 8 * len(sizes) <= ROOM else b""


def check_exchanged(cards, size):
    """Return what is wrong with the parts that ranks exchange, in words, or None.

    Parameters
    ----------
    cards : list of bytes, from each rank what `bytes_exchanged` returns
    """
    tables = [array.array("q", packed) for packed in cards]
    for source, target in itertools.product(range(size), repeat=2):
        sent, expected = tables[source][target], tables[target][size + source]
        if sent != expected:
            return f"rank {source} sends {sent} bytes to rank {target}, which expects {expected}"
    return None


def texts_of(cards):
    """Return what each rank called, from the words of all cards; with its number if those differ."""
    shown = [bytes(words).rstrip(b"\0").decode(errors="replace").partition(":") for words in cards]
    differ = len({number for number, _, _ in shown}) > 1
    return {
        rank: f"{what}, as its call {number}" if differ else what
        for rank, (number, _, what) in enumerate(shown)
    }
