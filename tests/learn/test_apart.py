"""In a process of its own, an answer gets the verdict that it gets beside its check."""

import tomllib
from pathlib import Path

import pytest

from tensorlab.learn import exercise as form
from tensorlab.learn.judge import RIGHT
from tensorlab.learn.verify import Apart, complaints_of, flat
from tests.cases import by_day

CHAPTERS = [pytest.param(chapter, id=chapter.number) for chapter in form.all_chapters()]
ANSWERS = Path(__file__).with_name("answers")


# test_exercises.py judges the same answers of all chapters beside their checks.
@pytest.mark.parametrize(
    "chapter", by_day(form.all_chapters(), every=6), ids=lambda one: one.number
)
def test_stubs_solutions_and_wrong_answers(chapter):
    with Apart(chapter) as bench:
        for exercise in chapter.exercises:
            if not exercise.beside:
                assert list(complaints_of(bench, exercise)) == [], exercise.id


@pytest.mark.nightly
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_right_answers_in_any_style_and_wrong_ones_that_look_right(chapter):
    answers = tomllib.loads((ANSWERS / f"{chapter.number}.toml").read_text(encoding="utf-8"))
    with Apart(chapter) as bench:
        for answer in [*answers["right"], *answers.get("wrong", ())]:
            exercise = chapter[answer["exercise"]]
            if exercise.beside:
                continue
            verdict = bench.judge(exercise, answer["code"])
            about = f"{exercise.id}: {answer['style']}"
            assert (verdict.state == RIGHT) == ("says" not in answer), f"{about}: {flat(verdict)}"
            assert answer.get("says", "") in flat(verdict), about


def test_most_of_the_book_is_judged_apart():
    exercises = [exercise for chapter in form.all_chapters() for exercise in chapter.exercises]
    apart = [exercise for exercise in exercises if not exercise.beside]
    assert len(apart) >= 0.75 * len(exercises)


def test_a_file_of_several_chapters_programs_gets_those_it_imports():
    assert form.load_chapter("32").files == ("tiny_gpt.py",)
    assert form.load_chapter("18").files == ("tiny_engine.py",)
