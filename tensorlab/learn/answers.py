"""Checking a reader's file: `tensorlab check 03` asks `check_file` for the verdicts.

The file runs in a process of its own, which may hang or die without harm: it is ended, the exercise
that did it gets that for its verdict, and the others are checked in a new one.

A reader's own check runs in that same process (`child`), which is quick and shows the most.  Grading
keeps the two apart: `referee` judges, and the file runs in a third process, which only answers.
"""

import json
import os
import queue
import subprocess
import sys
import threading
from dataclasses import fields
from pathlib import Path

from .cells import read_sections
from .exercise import PACKAGE_FOLDER, exercise_folders, find
from .judge import ENDLESS, ERROR, SECONDS, Verdict
from .reflection import look_over
from .sandbox import Sandbox
from .signed import Reader, new_key

PATIENCE = 8.0  # seconds for starting, and for a program that catches its own alarm
FIELDS = {field.name for field in fields(Verdict)}
STARTS = 30.0  # seconds more for a referee, who starts a process for each try of a bug hunt


def check_file(path, identity, *, seconds=SECONDS):
    """Return the verdicts on the reader's file `path` for a chapter or one exercise of it.

    Parameters
    ----------
    path : str or Path, of a program or a notebook
    identity : str, "03" or "03.2"
    seconds : float, how long each exercise may take

    Returns
    -------
    list of Verdict, one for each exercise, in order
    """
    path = Path(path)
    chapter, exercises = find(identity)
    read_sections(path, chapter)  # complains of a mark that stands there twice
    return run_all(path, exercises, seconds)


def check_apart(path, identity, *, seconds=SECONDS, sandbox=None, root=None):
    """Return the verdicts on a student's file, which it can't forge: see `tensorlab.learn.referee`.

    Parameters
    ----------
    path, identity, seconds : as for `check_file`
    sandbox : str or None, "bwrap" for a sandbox of bubblewrap
    root : Path or None, the folder of all submissions, which a sandbox hides

    Returns
    -------
    list of Verdict, one for each exercise, in order; those of exercises whose check has to run
    beside the answer (`Exercise.beside`) say so in `extra["beside"]`, and are "suspicious" if the
    answer is right and reaches for more than the exercise needs
    """
    path = Path(path)
    chapter, exercises = find(identity)
    pieces = read_sections(path, chapter)
    more = {"sandbox": sandbox, "root": None if root is None else str(root)}
    together = [exercise for exercise in exercises if exercise.beside]
    verdicts = {}
    for group, module in ((set(exercises) - set(together), "referee"), (set(together), "child")):
        chosen = [exercise for exercise in exercises if exercise in group]
        for verdict in run_all(path, chosen, seconds, module, more):
            verdicts[verdict.id] = verdict
    for exercise in together:
        look_over(verdicts[exercise.id], chapter, exercise, pieces)
    return [verdicts[exercise.id] for exercise in exercises]


def run_all(path, exercises, seconds, module="child", more=None):
    """Return the verdicts on exercises of one chapter; as many processes run as that takes."""
    verdicts = {}
    waiting = [exercise.id for exercise in exercises]
    while waiting:
        skipped = [name for name in verdicts if verdicts[name].state in (ENDLESS, ERROR)]
        request = {"exercises": waiting, "skipped": skipped, "seconds": seconds, **(more or {})}
        for verdict in run_once(path, request, exercises, module):
            verdicts[verdict.id] = verdict
        waiting = [name for name in waiting if name not in verdicts]
    return [verdicts[exercise.id] for exercise in exercises]


def run_once(path, request, exercises, module):
    """Yield verdicts until the child is done or has to be ended; at least one in any case."""
    waiting, seconds = request["exercises"], request["seconds"]
    request = {"file": str(path.resolve()), **request}
    command = [sys.executable, "-P", "-m", f"tensorlab.learn.{module}", json.dumps(request)]
    patience = 2 * seconds + PATIENCE + (STARTS if module == "referee" else 0)
    if module == "child" and request.get("sandbox"):
        command = Sandbox(request["root"]).command(command, path, exercise_folders())
    child = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        cwd=path.resolve().parent,
    )
    read = read_message
    if module == "referee":
        key = new_key()
        child.stdin.write(key.encode() + b"\n")
        read = Reader(key).message
    child.stdin.close()
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
            line = lines.get(timeout=patience)
            if line is None:
                break
            message = read(line) or {}
            current = message.get("begin", current)
            verdict = verdict_in(message.get("verdict"))
            if verdict is not None and verdict.id in waiting:
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


def read_message(line):
    """Return the message of a line, or None: the child's line can have been written by the answer."""
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def verdict_in(data):
    """Return the Verdict that a message holds, or None if it holds none."""
    if not isinstance(data, dict) or set(data) - FIELDS:
        return None
    if not all(isinstance(data.get(name, ""), str) for name in ("id", "title", "state", "remark")):
        return None
    verdict = Verdict(**data)
    is_number = isinstance(verdict.credit, (int, float))
    verdict.credit = min(max(verdict.credit, 0.0), 1.0) if is_number else 0.0
    return verdict


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
