"""Runs a reader's file in a process of its own: python -m tensorlab.learn.child REQUEST

The request is JSON: the file, the exercises to check, those to leave out, the time limit.  What
comes of each is written to standard output as one line of JSON, after a line that says which one
begins; the reader's own prints are caught and travel inside.
"""

import contextlib
import io
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType

from .cells import read_sections
from .exercise import find
from .judge import (
    ENDLESS,
    ERROR,
    MISSING,
    UNTOUCHED,
    TimeIsUp,
    Verdict,
    is_stub,
    judge,
    readers_lines,
    time_limit,
)

MOST_PRINTED = 2000


def run_sections(pieces, path, wanted, skipped, seconds, tell):
    """Execute a reader's file piece by piece; yield (id, names, failure) after each that is wanted.

    A failure is an exception of the piece itself.  Names made by one piece are seen by the next.
    """
    module = ModuleType("reader")
    sys.modules["reader"] = module  # dataclasses and pickle look for it
    names = vars(module)
    names["__file__"] = str(path)
    whole = len(pieces) == 1  # no marks: the reader's own form
    failures = {}
    for identity, code in pieces.items():
        if identity in skipped:
            continue
        if identity in wanted:
            tell({"begin": identity})
        try:
            with time_limit(seconds):
                exec(compile(code, str(path), "exec"), names)
        except (Exception, SystemExit, TimeIsUp) as error:
            failures[identity] = error
        if identity in wanted:
            yield identity, dict(names), code, failures.get(identity) or failures.get(None)
    if whole:
        for identity in wanted:
            if identity not in skipped:
                tell({"begin": identity})
                yield identity, dict(names), "", failures.get(None)


def verdict_of(exercise, names, code, failure, seconds):
    """Return the Verdict on one piece of the file."""
    if isinstance(failure, TimeIsUp):
        verdict = Verdict(exercise.id, exercise.title, ENDLESS, idea=exercise.idea)
        verdict.remark = f"It did not end within {seconds:g} seconds."
        verdict.trace = readers_lines(failure, with_error=False)
        return verdict
    if failure is not None:
        verdict = Verdict(exercise.id, exercise.title, ERROR, idea=exercise.idea)
        verdict.remark = "Your code raises an error before it is checked:"
        verdict.trace = readers_lines(failure) or f"{type(failure).__name__}: {failure}"
        return verdict
    verdict = judge(exercise, names, seconds=seconds)
    if not verdict.is_right and is_stub(exercise, code):
        return Verdict(exercise.id, exercise.title, UNTOUCHED)
    return verdict


def serve(request, tell):
    """Check what the request asks for, and tell the verdicts one by one."""
    path, seconds = Path(request["file"]), request["seconds"]
    chapter, _ = find(request["exercises"][0])
    wanted = {identity: chapter[identity] for identity in request["exercises"]}
    skipped = set(request["skipped"])
    sys.path.append(str(path.resolve().parent))
    os.environ.setdefault("MPLBACKEND", "agg")
    pieces = read_sections(path, chapter)
    seen = set()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        for identity, names, code, failure in run_sections(
            pieces, path, wanted, skipped, seconds, tell
        ):
            began = time.perf_counter()
            verdict = verdict_of(wanted[identity], names, code, failure, seconds)
            verdict.seconds = time.perf_counter() - began
            verdict.printed = printed.getvalue()[:MOST_PRINTED]
            printed.seek(0)
            printed.truncate()
            seen.add(identity)
            tell({"verdict": verdict.as_dict()})
    for identity in wanted:
        if identity not in seen | skipped:
            exercise = wanted[identity]
            verdict = Verdict(identity, exercise.title, MISSING)
            verdict.remark = (
                f"The file has no line `# %% {identity}`; `tensorlab show {identity}` prints the "
                "stub with it."
            )
            tell({"verdict": verdict.as_dict()})


def main():
    request = json.loads(sys.argv[1])
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what C code prints must not come between the lines of the protocol

    def tell(message):
        channel.write(json.dumps(message) + "\n")
        channel.flush()

    serve(request, tell)


if __name__ == "__main__":
    main()
