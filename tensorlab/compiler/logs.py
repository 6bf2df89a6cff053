"""What compile says while it works: TENSORLAB_LOGS=guards,graph,fusion,code,recompiles,breaks, or `set_logs("graph")`.

Each kind is a logger of Python's, `tensorlab.compiler.<kind>`, so a program can send it where it
wants. Switched on here, it goes to standard error.
"""

import logging
import os
import sys

__all__ = ["KINDS", "log", "set_logs", "wants"]

KINDS = {
    "graph": "the recorded graph, and the graph after the passes",
    "guards": "what must hold for a recording to be used again",
    "fusion": "which ops became one loop",
    "code": "the generated C",
    "recompiles": "why a function was recorded once more",
    "breaks": "what could not be recorded, and where",
}
ROOT = "tensorlab.compiler"


def set_logs(*kinds):
    """Show these kinds of messages on standard error, and no others.

    Raises
    ------
    ValueError
        If a kind is unknown; the message lists those that there are.
    """
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise ValueError(
            f"TENSORLAB_LOGS: {', '.join(unknown)} is unknown; choose from {', '.join(KINDS)}"
        )
    root = logging.getLogger(ROOT)
    for handler in [one for one in root.handlers if getattr(one, "is_ours", False)]:
        root.removeHandler(handler)
    if kinds:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
        handler.is_ours = True
        root.addHandler(handler)
    for kind in KINDS:
        logging.getLogger(f"{ROOT}.{kind}").setLevel(
            logging.DEBUG if kind in kinds else logging.NOTSET
        )


def wants(kind):
    """Whether messages of this kind are shown anywhere; making one may be costly."""
    return logging.getLogger(f"{ROOT}.{kind}").isEnabledFor(logging.DEBUG)


def log(kind, message):
    """Send a message of this kind; a function makes its text only if it is wanted."""
    if wants(kind):
        text = message() if callable(message) else message
        logging.getLogger(f"{ROOT}.{kind}").debug("%s", text)


if os.environ.get("TENSORLAB_LOGS"):
    _kinds = [kind.strip() for kind in os.environ["TENSORLAB_LOGS"].split(",")]
    set_logs(
        *[kind for kind in _kinds if kind and kind != "dispatch"]
    )  # that one: overrides.trace_dispatch
