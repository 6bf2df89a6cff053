"""A file for each student: what the checks said, in the words of `tensorlab check`, and the points."""

import re
from pathlib import Path

from .report import verdict_text


def write_feedback(rows, folder):
    """Write one text file for each student into `folder`; return the paths.

    Parameters
    ----------
    rows : list of dict, of `classes.grade`
    folder : path; it is made where it is missing, and files of the same names are replaced
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for student in dict.fromkeys(row["student"] for row in rows):
        own = [row for row in rows if row["student"] == student]
        path = folder / f"{file_name(student)}.txt"
        while path in paths:  # another student's name reads alike
            path = path.with_stem(f"{path.stem}_")
        path.write_text(feedback_text(student, own), encoding="utf-8", newline="\n")
        paths.append(path)
    return paths


def file_name(student):
    """Return a student's name as the name of a file in this folder, whatever letters it has."""
    return re.sub(r"[^\w.-]", "_", student).lstrip(".") or "_"


def feedback_text(student, rows):
    """Return the text for one student."""
    parts = [f"{student}: {total(rows)}"]
    for number in dict.fromkeys(row["exercise"][:2] for row in rows):
        own = [row for row in rows if row["exercise"][:2] == number]
        late = ", late" if any(row["late"] for row in own) else ""
        heading = f"Chapter {number}: {total(own)}{late}"
        parts.append(f"{heading}\n{'-' * len(heading)}")
        parts += [one_answer(row) for row in own]
    return "\n\n".join(parts) + "\n"


def one_answer(row):
    verdict = row["verdict"]
    if verdict is None:
        text = f"{row['exercise']} {row['title']}: {row['state']}. {row['remark']}".rstrip()
    else:
        text = verdict_text(verdict)
    return f"{text}\n    {row['points']:g} of {row['of']:g} points"


def total(rows):
    return f"{sum(row['points'] for row in rows):g} of {sum(row['of'] for row in rows):g} points"
