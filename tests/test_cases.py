"""A test of many cases runs all of them, and says which ones failed."""

import random

import pytest

from tests.cases import by_day, each_case, run_cases


def is_even(number):
    assert number % 2 == 0, f"{number} is odd"


def notes_of(test, cases):
    with pytest.raises((AssertionError, pytest.fail.Exception)) as caught:
        run_cases(test, cases)
    return caught.value, "\n".join(caught.value.__notes__)


def test_the_first_failure_tells_of_all():
    error, notes = notes_of(is_even, {"one": (1,), "two": (2,), "three": (3,)})
    assert str(error).startswith("1 is odd")
    assert "2 of 3 cases fail" in notes
    assert "one: AssertionError: 1 is odd" in notes
    assert "three: AssertionError: 3 is odd" in notes
    assert "two" not in notes


def test_cases_that_all_pass_raise_nothing():
    run_cases(is_even, {"two": (2,), "four": (4,)})


def test_a_case_that_raises_nothing_where_it_must_has_failed():
    def refuses(call):
        with pytest.raises(ValueError, match="invalid"):
            call()

    _, notes = notes_of(refuses, {"passes": (lambda: int("x"),), "fails": (lambda: 1,)})
    assert "1 of 2 cases fail" in notes
    assert "fails: Failed: DID NOT RAISE" in notes


def skips_text(value):
    if isinstance(value, str):
        pytest.skip(value)


def test_a_case_that_is_skipped_among_others_has_failed():
    with pytest.raises(AssertionError, match="some cases are skipped") as caught:
        run_cases(skips_text, {"skips": ("no reason",), "runs": (2,)})
    assert "  skips: Skipped: no reason" in caught.value.__notes__


def test_where_all_cases_are_skipped_the_test_is():
    with pytest.raises(pytest.skip.Exception, match="no PyTorch") as caught:
        run_cases(skips_text, {"one": ("no PyTorch",), "two": ("no PyTorch",)})
    assert not hasattr(caught.value, "__notes__")


def test_each_case_begins_with_the_same_random_numbers():
    drawn = []
    run_cases(lambda: drawn.append(random.random()), {"first": (), "second": ()})
    assert drawn[0] == drawn[1]


def test_a_test_is_made_of_each_group():
    @each_case({"even": {"two": (2,)}, "odd": {"one": (1,)}})
    @pytest.mark.filterwarnings("ignore")
    def test_it(number):
        """What it is about."""
        is_even(number)

    marks = {mark.name: mark for mark in test_it.pytestmark}
    assert [one.id for one in marks["parametrize"].args[1]] == ["even", "odd"]
    assert (test_it.__name__, test_it.__doc__) == ("test_it", "What it is about.")
    assert "filterwarnings" in marks
    test_it({"two": (2,)})
    with pytest.raises(AssertionError, match="1 is odd"):
        test_it({"one": (1,)})


def test_one_of_some_is_tried_by_day_and_all_by_night():
    parameters = by_day("abcdefg", every=3)
    assert "".join(one.values[0] for one in parameters) == "abcdefg"
    by_night = [one.values[0] for one in parameters if one.marks]
    assert by_night == ["b", "c", "e", "f"]
    assert {mark.name for one in parameters for mark in one.marks} == {"nightly"}
