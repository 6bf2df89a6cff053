"""Chapters made up for the tests, and a home of its own for every test's progress."""

import pytest

from tensorlab.learn import exercise as form

EXERCISES = '''
import tensorlab
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require


class Guess(Exercise):
    """The number of seasons

    How *many* are there in {term}`year`?
    """

    kind = "warm-up"
    idea = "Seasons"
    stub = "seasons = None"
    hints = ["More than 3.", "Fewer than 5."]
    solution = "seasons = 4"
    reason = "Count them."
    wrong = [Wrong("seasons = 12", says="months", why="These are months.")]

    def check(seasons):
        require(seasons != 12, "These are months.")
        expect(seasons, 4, "the seasons")


class Double(Exercise):
    """Twice as much

    Write `double(x)`.
    """

    kind = "implement"
    idea = "Doubling"
    stub = """
        def double(x):
            return x
    """
    hints = ["Add."]
    solution = """
        def double(x):
            return x + x
    """
    reason = "So it is."
    wrong = [Wrong("def double(x):\\n    return x * x", says="came: tensor([1, 9])", why="A square.")]

    def check(double):
        for x in (tensorlab.tensor([1.0, 3.0]), 5):
            came = double(x)
            require(not isinstance(x, int) or came != 25, "This is the square.")
            expect(came, x * 2, "twice x")


class Hunt(BugHunt):
    """A test for the largest

    Write `test(largest)`.
    """

    idea = "Largest"
    stub = """
        def test(largest):
            assert largest([1, 2]) == 2
    """
    hints = ["Negative numbers."]
    solution = """
        def test(largest):
            assert largest([1, 2]) == 2
            assert largest([-1, -2]) == -1
    """
    reason = "Zero is no number of the list."
    wrong = [Wrong("def test(largest):\\n    assert largest([3]) == 3", says="bug", why="Weak.")]

    def right(numbers):
        return max(numbers)

    def begins_at_zero(numbers):
        """the search begins at 0"""
        best = 0
        for number in numbers:
            best = max(best, number)
        return best

    bugs = [begins_at_zero]
'''


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """The folder that progress is kept in."""
    folder = tmp_path / "home"
    monkeypatch.setenv("TENSORLAB_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def chapter(tmp_path_factory):
    """A chapter 90 with three exercises, which is not in the book."""
    folder = tmp_path_factory.mktemp("chapters") / "90-made-up"
    folder.mkdir()
    (folder / "exercises.py").write_text(EXERCISES, encoding="utf-8")
    return form.read_chapter(folder / "exercises.py")


@pytest.fixture(scope="session")
def pack(tmp_path_factory):
    """A course pack with chapter 90."""
    folder = tmp_path_factory.mktemp("pack")
    (folder / "90-made-up").mkdir()
    (folder / "90-made-up" / "exercises.py").write_text(EXERCISES, encoding="utf-8")
    return folder
