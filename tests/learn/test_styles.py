"""Answers to the exercises in several styles: right ones are accepted, and wrong ones that look right are not.

`answers/NN.toml` has those of chapter NN. Each exercise has five right answers at least, and one of them is slow.
"""

import tomllib
from pathlib import Path

import pytest

from tensorlab.learn.exercise import load_chapter
from tensorlab.learn.judge import MISSING, RIGHT, judge
from tensorlab.learn.report import verdict_text
from tests.cases import by_day

FILES = sorted(Path(__file__).with_name("answers").glob("*.toml"))
# Checks draw their inputs, so each night they try three times; by day an answer or two of each exercise try once.
TRIES = [pytest.param(1, id="once"), pytest.param(3, id="thrice", marks=pytest.mark.nightly)]


def answers(kind):
    return [
        answer for path in FILES for answer in tomllib.loads(path.read_text(encoding="utf-8"))[kind]
    ]


def title(answer):
    return f"{answer['exercise']}: {answer['style']}"


def verdict_on(answer):
    chapter = load_chapter(answer["exercise"][:2])
    names = {"__name__": "answer"}
    exec(compile(f"{chapter.imports}\n\n{answer['code']}", "answer.py", "exec"), names)
    # a busy machine is no reason to refuse an answer
    return judge(chapter[answer["exercise"]], names, seconds=60)


@pytest.mark.parametrize("tries", TRIES)
@pytest.mark.parametrize("answer", by_day(answers("right"), every=4), ids=title)
def test_a_right_answer_is_accepted_whatever_its_style(answer, tries):
    for _ in range(tries):
        verdict = verdict_on(answer)
        assert verdict.state == RIGHT, verdict_text(verdict)


@pytest.mark.parametrize("tries", TRIES)
@pytest.mark.parametrize("answer", by_day(answers("wrong"), every=4), ids=title)
def test_a_wrong_answer_is_refused_each_time_and_told_why(answer, tries):
    for _ in range(tries):
        verdict = verdict_on(answer)
        assert verdict.state not in (RIGHT, MISSING)
        assert answer["says"] in " ".join(verdict_text(verdict).split())


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in FILES])
def test_each_exercise_has_five_right_answers_in_different_styles(path):
    right = tomllib.loads(path.read_text(encoding="utf-8"))["right"]
    for exercise in load_chapter(path.stem).exercises:
        styles = [answer["style"] for answer in right if answer["exercise"] == exercise.id]
        assert len(set(styles)) >= 5, exercise.id
        assert any(style.startswith("slow") for style in styles), f"{exercise.id} has no slow one"
