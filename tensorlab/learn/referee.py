"""Judges a student's file that runs in another process: python -m tensorlab.learn.referee REQUEST

The request is JSON: the file, the exercises, the time limit, the sandbox; standard input gives the key
that verdicts are signed with.  This process runs the checks and nothing of the student's; what
the student's code gives is asked for, and compared here.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from . import sandbox
from .apart import GRACE, Session, Witness, folder_of
from .cells import read_sections
from .child import MOST_PRINTED
from .exchange import DEEPEST
from .exercise import BugHunt, find
from .judge import (
    ERROR,
    MISSING,
    READ,
    UNTOUCHED,
    Broken,
    Unsendable,
    Verdict,
    asked_names,
    is_stub,
    judge,
)
from .signed import Signer, be_unreadable


def verdict_of(exercise, session, identity, seconds):
    """Return the Verdict on the piece `identity` of a file, and what it printed."""
    session.reach(identity)
    for name in (identity, None):
        if failure := session.failures.get(name):
            failure.id, failure.title, failure.idea = exercise.id, exercise.title, exercise.idea
            return failure
    wanted = asked_names(exercise)

    def fresh():
        return session.fresh(identity, wanted)

    try:
        if issubclass(exercise, BugHunt):
            limit = 2 * seconds + (2 + len(exercise.bugs)) * GRACE
            return judge(exercise, fresh(), seconds=limit, fresh=fresh)
        session.witness.give(seconds)
        names = session.witness.names(wanted)
        return judge(exercise, names, seconds=2 * seconds + GRACE)  # asking takes time, too
    except (Broken, Unsendable) as error:
        failure = session.broken(error) if isinstance(error, Broken) else unsendable(error)
        session.end()
        failure.id, failure.title, failure.idea = exercise.id, exercise.title, exercise.idea
        return failure


def unsendable(error):
    """Return a Verdict on an answer that gives what can't travel."""
    return Verdict("", "", ERROR, f"The check can't be told what your code gives: {error}.")


def take_printed(session, verdict):
    """Move what was printed into the verdict; an answer that read the exercises is not right."""
    if session.witness is None:
        return
    try:
        session.witness.give(GRACE)
        printed, has_read = session.witness.ask("printed")
    except BaseException as error:
        if not isinstance(error, (Exception, Broken)):
            raise
        session.end()
        return
    verdict.printed = str(printed)[:MOST_PRINTED]
    if has_read:
        verdict.extra["read"] = sorted({str(name) for name in has_read})
        verdict.state = READ
        verdict.remark = f"Your code opens the exercises themselves ({verdict.extra['read'][0]})."


def serve(request, tell):
    """Judge what the request asks for, and tell the verdicts one by one."""
    path, seconds = Path(request["file"]), request["seconds"]
    chapter, _ = find(request["exercises"][0])
    wanted = {identity: chapter[identity] for identity in request["exercises"]}
    pieces = read_sections(path, chapter)
    is_whole = len(pieces) == 1
    walls = sandbox.named(request.get("sandbox"), request.get("root"))
    records = [Path(name).stem for name in chapter.files]
    with tempfile.TemporaryDirectory() as folder:
        files = folder_of(chapter, folder)
        session = Session(pieces, lambda: Witness(path, files, records, walls), seconds)
        try:
            for identity, exercise in wanted.items():
                tell({"begin": identity})
                began = time.perf_counter()
                place = None if is_whole else identity
                if place in pieces:
                    verdict = verdict_of(exercise, session, place, seconds)
                    take_printed(session, verdict)
                else:
                    verdict = absent(exercise)
                code = "" if is_whole else pieces.get(identity, "")
                if not verdict.is_right and is_stub(exercise, code):
                    verdict = Verdict(identity, exercise.title, UNTOUCHED)
                verdict.seconds = time.perf_counter() - began
                tell({"verdict": verdict.as_dict()})
        finally:
            session.end()


def absent(exercise):
    """Return the Verdict on an exercise that the file has no place for."""
    verdict = Verdict(exercise.id, exercise.title, MISSING)
    verdict.remark = (
        f"The file has no line `# %% {exercise.id}`; `tensorlab show {exercise.id}` prints the "
        "stub with it."
    )
    return verdict


def main():
    request = json.loads(sys.argv[1])
    sys.setrecursionlimit(DEEPEST)
    key = sys.stdin.readline().strip()
    be_unreadable()
    serve(request, Signer(key, sys.stdout).tell)


if __name__ == "__main__":
    main()
