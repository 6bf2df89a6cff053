"""Every exercise of the book: the stub fails, the solution passes, wrong answers get their own word.

A chapter that is added with an `exercises.py` is tested by being there.
"""

import functools
import linecache
import os
import re
from pathlib import Path

import pytest

from tensorlab.learn import exercise as form
from tensorlab.learn.judge import MISSING, RIGHT, UNTOUCHED, judge, modes_restored
from tensorlab.learn.report import verdict_text
from tests.seeds import seed_everything

CHAPTERS = form.all_chapters()
EXERCISES = [
    pytest.param(chapter, exercise, id=exercise.id)
    for chapter in CHAPTERS
    for exercise in chapter.exercises
]
WRONG_ANSWERS = [
    pytest.param(chapter, exercise, wrong, id=f"{exercise.id}-{number}")
    for chapter in CHAPTERS
    for exercise in chapter.exercises
    for number, wrong in enumerate(exercise.wrong, start=1)
]
BUG_HUNTS = [
    pytest.param(chapter, exercise, bug, id=f"{exercise.id}-{number}")
    for chapter in CHAPTERS
    for exercise in chapter.exercises
    if issubclass(exercise, form.BugHunt)
    for number, bug in enumerate(exercise.bugs, start=1)
]


def names_of(chapter, code):
    """Return what a reader's file with this answer defines."""
    text = f"{chapter.imports}\n\n\n{code}\n"
    linecache.cache["answer.py"] = (len(text), None, text.splitlines(keepends=True), "answer.py")
    names = {"__name__": "answer"}
    exec(compile(text, "answer.py", "exec"), names)
    return names


def verdict_on(chapter, exercise, code):
    return judge(exercise, names_of(chapter, code), seconds=60)


def processor_seconds():
    """What this process and those that it has waited for have used: a busy machine adds nothing to it."""
    return sum(os.times()[:4])


@functools.cache
def heard(chapter, exercise, code):
    """The state of an answer and what its verdict says, in one line; each wrong answer is held to all others."""
    seed_everything()
    verdict = verdict_on(chapter, exercise, code)
    return verdict.state, re.sub(r"\s+", " ", verdict_text(verdict))


@pytest.mark.parametrize("chapter, exercise", EXERCISES)
def test_it_is_written_as_it_must_be(chapter, exercise):
    assert list(form.problems(exercise)) == []


@pytest.mark.parametrize("chapter, exercise", EXERCISES)
def test_the_stub_fails_its_check_for_what_it_answers(chapter, exercise):
    verdict = verdict_on(chapter, exercise, exercise.stub)
    assert verdict.state not in (RIGHT, MISSING, UNTOUCHED), verdict_text(verdict)


@pytest.mark.parametrize("chapter, exercise", EXERCISES)
def test_the_solution_passes(chapter, exercise):
    before = processor_seconds()
    verdict = verdict_on(chapter, exercise, exercise.solution)
    assert verdict.state == RIGHT, verdict_text(verdict)
    assert processor_seconds() - before < 3


@pytest.mark.parametrize("chapter, exercise, wrong", WRONG_ANSWERS)
def test_a_wrong_answer_fails_and_is_told_what_it_mistakes(chapter, exercise, wrong):
    state, text = heard(chapter, exercise, wrong.code)
    assert state not in (RIGHT, MISSING), text
    assert wrong.says in text
    for other in (w.code for w in exercise.wrong if w is not wrong):
        assert wrong.says not in heard(chapter, exercise, other)[1], other


@pytest.mark.parametrize(
    "chapter, exercise, wrong", [p for p in WRONG_ANSWERS if p.values[1].kind == "warm-up"]
)
def test_a_warm_up_does_not_tell_what_was_expected(chapter, exercise, wrong):
    verdict = verdict_on(chapter, exercise, wrong.code)
    assert not re.search(r"\d is right\b|\bexpected \S*\d|\bnot \d", verdict_text(verdict))
    try:  # the call as it is shown, answered by the solution
        true = eval(verdict.call, names_of(chapter, exercise.solution))
    except Exception:
        return  # it isn't shown in full, or the answer isn't a function
    if isinstance(true, (int, float)) and not isinstance(true, bool) and true > 10:
        shown = verdict.remark.replace(verdict.call, "")
        assert f"{true}" not in re.findall(r"[\d.]*\d", shown.replace(",", ""))


@pytest.mark.parametrize("chapter, exercise, bug", BUG_HUNTS)
def test_a_planted_bug_is_found_by_the_model_test_and_missed_by_the_stub(chapter, exercise, bug):
    model = names_of(chapter, exercise.solution)["test"]
    with modes_restored():
        model(exercise.right)
    with pytest.raises(AssertionError), modes_restored():
        model(bug)
    with modes_restored():
        names_of(chapter, exercise.stub)["test"](bug)


@pytest.mark.parametrize("chapter", [pytest.param(c, id=c.number) for c in CHAPTERS])
def test_a_chapter_has_exercises_to_warm_up_implement_and_extend(chapter):
    kinds = [exercise.kind for exercise in chapter.exercises]
    assert {"warm-up", "implement", "extend"} <= set(kinds)
    titles = [exercise.title for exercise in chapter.exercises]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize("chapter, exercise", EXERCISES)
def test_the_idea_to_look_at_again_is_a_heading_of_the_chapter(chapter, exercise):
    text = (chapter.folder / "index.md").read_text(encoding="utf-8")
    headings = re.findall(r"^#{2,4} (.+?)\s*$", text, re.M)
    assert exercise.idea in headings


def test_programs_that_exercises_import_have_names_of_their_own():
    # They are all loaded into one process, where a name stands for one module.
    owners = {}
    for chapter in CHAPTERS:
        parts = chapter.folder.glob("exercises*.py")
        text = "\n".join(part.read_text(encoding="utf-8") for part in parts)
        imported = set(re.findall(r"^(?:from|import) (\w+)", text, re.M))
        beside = {path.stem for path in chapter.folder.glob("*.py")}
        for name in (beside & imported) | {Path(file).stem for file in chapter.files}:
            assert name in beside
            assert owners.setdefault(name, chapter.number) == chapter.number
