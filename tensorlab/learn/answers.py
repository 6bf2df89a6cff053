"""Checking a reader's file: `tensorlab check 03` asks `check_file` for the verdicts.

The file runs in a process of its own, which may hang or die without harm: it is ended, the exercise
that did it gets that for its verdict, and the others are checked in a new one.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path

from .exercise import PACKAGE_FOLDER, ExerciseError, find
from .judge import ENDLESS, ERROR, SECONDS, Verdict
from .workbook import sections

PATIENCE = 8.0  # seconds for starting, and for a program that catches its own alarm


def check_file(path, identity, *, seconds=SECONDS):
    """Return the verdicts on the reader's file `path` for a chapter or one exercise of it.

    Parameters
    ----------
    path : str or Path
    identity : str, "03" or "03.2"
    seconds : float, how long each exercise may take

    Returns
    -------
    list of Verdict, one for each exercise, in order
    """
    path = Path(path)
    if not path.is_file():
        raise ExerciseError(f"there is no file {path}")
    try:
        sections(path.read_text(encoding="utf-8"))  # complains of a mark that stands there twice
    except UnicodeDecodeError as error:
        raise ExerciseError(f"{path} is not a text in UTF-8") from error
    _, exercises = find(identity)
    verdicts = {}
    waiting = [exercise.id for exercise in exercises]
    while waiting:
        skipped = [name for name in verdicts if verdicts[name].state in (ENDLESS, ERROR)]
        for verdict in run_once(path, waiting, skipped, exercises, seconds):
            verdicts[verdict.id] = verdict
        waiting = [name for name in waiting if name not in verdicts]
    return [verdicts[exercise.id] for exercise in exercises]


def run_once(path, waiting, skipped, exercises, seconds):
    """Yield verdicts until the child is done or has to be ended; at least one in any case."""
    request = {
        "file": str(path.resolve()),
        "exercises": waiting,
        "skipped": skipped,
        "seconds": seconds,
    }
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "tensorlab.learn.child", json.dumps(request)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=path.resolve().parent,
    )
    lines, complaints = queue.Queue(), []
    readers = [
        threading.Thread(target=read_lines, args=(child.stdout, lines), daemon=True),
        threading.Thread(target=lambda: complaints.append(child.stderr.read()), daemon=True),
    ]
    for reader in readers:
        reader.start()
    current, told = None, set()
    titles = {exercise.id: exercise.title for exercise in exercises}
    try:
        while True:
            line = lines.get(timeout=2 * seconds + PATIENCE)
            if line is None:
                break
            message = json.loads(line)
            if "begin" in message:
                current = message["begin"]
            else:
                verdict = Verdict(**message["verdict"])
                told.add(verdict.id)
                yield verdict
    except queue.Empty:
        child.kill()
        remark = f"It did not end within {seconds:g} seconds, and did not let itself be stopped."
        for name in [current] if current else waiting:  # else what stands above them all hangs
            yield Verdict(name, titles[name], ENDLESS, remark)
        return
    finally:
        if child.poll() is None and told >= set(waiting):
            child.wait()
        child.kill()
        child.wait()
        for reader in readers:
            reader.join()
        child.stdout.close()
        child.stderr.close()
    if not told >= set(waiting):
        why = b"".join(complaints).decode("utf-8", "replace").strip().split("\n")[-1]
        if current is None or current in told:
            current = next(name for name in waiting if name not in told)
        remark = f"Python ended while it ran (status {child.returncode}). {why}".strip()
        yield Verdict(current, titles[current], ERROR, remark)


def read_lines(stream, lines):
    for line in stream:
        lines.put(line)
    lines.put(None)


def environment():
    """Return the environment of the child, in which this very package is found."""
    home = str(PACKAGE_FOLDER.parent)
    known = os.environ.get("PYTHONPATH", "")
    paths = [home, *filter(None, known.split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONUTF8": "1"}
