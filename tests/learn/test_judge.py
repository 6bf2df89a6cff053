"""A verdict says what was called, what came, what was expected, and shows the reader's lines alone."""

import linecache

import pytest

import tensorlab
from tensorlab.learn import exercise as form
from tensorlab.learn import judge as judging
from tensorlab.learn.judge import judge
from tensorlab.learn.report import report, verdict_text


def answer(code):
    """Return the names that a reader's file with this code defines."""
    text = f"import tensorlab\n{code}\n"
    linecache.cache["mine.py"] = (len(text), None, text.splitlines(keepends=True), "mine.py")
    names = {"__name__": "mine"}
    exec(compile(text, "mine.py", "exec"), names)
    return names


def test_a_right_answer_is_right(chapter):
    verdict = judge(chapter["90.2"], answer("def double(x):\n    return 2 * x"))
    assert verdict.is_right
    assert verdict_text(verdict) == "90.2 Twice as much " + "." * 42 + " right"


def test_a_wrong_value_is_shown_with_the_call_and_the_idea(chapter):
    verdict = judge(chapter["90.2"], answer("def double(x):\n    return x + 1"))
    assert verdict.state == "not yet"
    assert verdict.call == "double(tensor([1, 3]))"
    assert (verdict.came, verdict.expected) == ("tensor([2, 4])", "tensor([2, 6])")
    assert "Look again: chapter 90, “Doubling”." in verdict_text(verdict)


def test_a_common_mistake_gets_its_own_words(chapter):
    verdict = judge(chapter["90.1"], {"seasons": 12})
    assert verdict.remark == "These are months."


def test_a_warm_up_does_not_give_its_answer_away(chapter):
    verdict = judge(chapter["90.1"], {"seasons": 3})
    assert (verdict.state, verdict.came, verdict.expected) == ("not yet", "3", "")
    assert "4" not in verdict_text(verdict)


def test_an_answer_that_is_still_none_is_named(chapter):
    verdict = judge(chapter["90.1"], {"seasons": None})
    assert "instead of each None: `seasons`" in verdict.remark


def test_a_missing_name_is_said_so(chapter):
    verdict = judge(chapter["90.2"], {})
    assert verdict.state == "missing"
    assert "no `double`" in verdict.remark


def test_an_error_of_the_reader_is_shown_with_the_reader_s_lines_alone(chapter):
    code = "def helper(x):\n    return x.reshape(7)\n\ndef double(x):\n    return helper(x)"
    verdict = judge(chapter["90.2"], answer(code))
    assert verdict.state == "error"
    assert verdict.trace.split("\n")[:4] == [
        "mine.py, line 6, in double",
        "    return helper(x)",
        "mine.py, line 3, in helper",
        "    return x.reshape(7)",
    ]
    message, note = verdict.trace.split("\n")[4:]
    assert "ShapeError" in message
    assert note == "What to do: tensorlab explain reshape"
    assert "judge.py" not in verdict.trace
    assert "exercises.py" not in verdict.trace


def test_a_result_that_the_check_cannot_use_is_no_crash(chapter):
    verdict = judge(chapter["90.1"], {"seasons": tensorlab.tensor([1, 2])})
    assert verdict.state == "not yet"
    assert "could not use" in verdict.remark


def test_an_endless_loop_ends(chapter):
    code = "def double(x):\n    while True:\n        pass"
    verdict = judge(chapter["90.2"], answer(code), seconds=0.2)
    assert verdict.state == "endless"
    assert "while True:" in verdict.trace or "pass" in verdict.trace
    assert "double(tensor([1, 3]))" in verdict_text(verdict)


def test_the_time_limit_is_not_caught_by_except_exception(chapter):
    code = (
        "def double(x):\n    while True:\n        try:\n            while True: pass\n"
        "        except Exception:\n            pass"
    )
    assert judge(chapter["90.2"], answer(code), seconds=0.2).state == "endless"


def test_a_hunt_says_which_half_failed(chapter):
    hunt = chapter["90.3"]
    strict = judge(hunt, answer("def test(largest):\n    assert largest([1]) == 7"))
    assert strict.remark.startswith("The first half fails")
    assert "assert largest([1]) == 7" in strict.trace
    weak = judge(hunt, answer("def test(largest):\n    assert largest([1]) == 1"))
    assert weak.remark.startswith("The second half fails")
    assert "the planted bug" in weak.remark
    good = judge(hunt, answer("def test(largest):\n    assert largest([-1]) == -1"))
    assert good.is_right
    assert "the search begins at 0" in good.remark
    assert good.remark.endswith(".")
    assert ".;" not in good.remark


def test_errors_do_not_tell_the_right_function_from_a_bug(chapter):
    hunt = chapter["90.3"]
    verdict = judge(hunt, answer("def test(largest):\n    largest()"))
    assert "largest() missing 1 required" in verdict.trace
    assert {bug.__qualname__ for bug in hunt.bugs} == {"largest"}


def test_a_test_that_fails_by_another_error_on_the_bug_finds_it(chapter):
    code = "def test(largest):\n    1 / largest([-1])"  # the bug gives 0
    assert judge(chapter["90.3"], answer(code)).is_right


def test_the_stub_is_recognised_whatever_its_comments(chapter):
    stub = chapter["90.2"].stub
    assert judging.is_stub(chapter["90.2"], f"# mine\n\n{stub}   # still")
    assert not judging.is_stub(chapter["90.2"], stub.replace("return x", "return x + x"))
    assert not judging.is_stub(chapter["90.2"], "def (")


def test_a_report_counts_and_says_what_to_do_next(chapter):
    right = judging.Verdict("90.1", "One")
    wrong = judging.Verdict("90.2", "Two", "not yet", "No.")
    fresh = judging.Verdict("90.3", "Three", "not begun")
    assert report([right, wrong, fresh]).endswith("1 of 3 right. Stuck? tensorlab hint 90.2")
    assert report([right, fresh]).endswith("1 of 2 right. Next: 90.3 Three")
    assert report([wrong], hint='hint("{}")').endswith('Stuck? hint("90.2")')
    assert report([right]).count("\n") == 0


def test_an_answer_that_stops_recording_spoils_nothing_after_it(chapter):
    names = answer("def double(x):\n    tensorlab.set_grad_enabled(False)\n    return 2 * x")
    assert judge(chapter["90.2"], names).is_right
    assert tensorlab.is_grad_enabled()


def test_every_check_starts_from_the_same_random_numbers(chapter):
    drawn = []

    class Draw(form.Exercise):
        """Draw"""

        def check(draw):
            drawn.append(draw())

    names = answer("def draw():\n    return tensorlab.rand(3).tolist()")
    for _ in range(2):
        assert judge(Draw, names).is_right
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize(
    ("name", "part", "expected"),
    [
        ("kind", "cool", "kind is 'cool'"),
        ("text", "", "text is empty"),
        ("hints", [], "it has 0 hints"),
        ("hints", ["a", "b", "c", "d"], "it has 4 hints"),
        ("wrong", [], "wrong is empty"),
        ("title", "Ends with a stop.", "without a full stop"),
        ("check", None, "check is missing"),
    ],
)
def test_what_a_writer_forgot_is_named(chapter, monkeypatch, name, part, expected):
    exercise = chapter["90.2"]
    assert list(form.problems(exercise)) == []
    monkeypatch.setattr(exercise, name, part)
    (problem,) = form.problems(exercise)
    assert expected in problem
