"""The search page finds sections of error messages, as `tensorlab explain` does, and names as programs write them."""

import json
import sys
from pathlib import Path

import pytest

from tensorlab.cli.explain import PYTORCH, find, sections

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "docs/_ext")]

api = pytest.importorskip("playwright.sync_api", reason="the browser is driven by playwright")

import book_search  # noqa: E402
import check_pages  # noqa: E402

if not Path(check_pages.BROWSER).exists():
    pytest.skip(f"there is no browser at {check_pages.BROWSER}", allow_module_level=True)

# What Sphinx's own code leaves behind, as far as ours needs it.
SPHINX = """
const Search = {
  query: text => Search._performSearch(text),
  _performSearch: text => [['found', text, '', null, 5, 'found.md']],
  _index: {docnames: ['found', 'chapters/26-pitfalls/messages'], filenames: ['found.md', 'messages.md']},
};
"""


@pytest.fixture(scope="module")
def page():
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=check_pages.BROWSER, args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.add_script_tag(content=SPHINX + book_search.script())
        yield page
        browser.close()


def results(page, query):
    return page.evaluate(f"Search.query({json.dumps(query)})")


def test_messages_lead_to_the_sections_that_the_command_finds(page):
    known = sections()
    messages = [message for _, body in known.values() for message in PYTORCH.findall(body)]
    messages += [
        "ShapeError: matmul: x is (4, 3) and y is (5, 3); the inner sizes 3 and 5 must match.",
        "RuntimeError: shape '[16, -1]' is invalid for input of size 100",
        "mat1 and mat2 shapes",
    ]
    for message in messages:
        found = [anchor for _, _, anchor, *_ in results(page, message) if anchor]
        assert sorted(found) == sorted(f"#error-{name}" for name in find(message, known)), message


def test_the_best_result_is_the_last_as_sphinx_wants_it(page):
    *_, best = results(page, "Target 7 is out of bounds.")
    title = "Error messages > " + sections()["target-range"][0]
    expected = ["chapters/26-pitfalls/messages", title, "#error-target-range", None, 100]
    assert best == [*expected, "messages.md"]


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("torch.cat", "tensorlab.cat"),
        ("F.relu", "functional.relu"),
        ("a torch", "a torch"),
        ("half.relu", "half.relu"),
    ],
)
def test_names_are_looked_for_as_they_are_called_here(page, query, asked):
    assert results(page, query) == [["found", asked, "", None, 5, "found.md"]]


def test_short_names_come_first_and_decisions_last(page):
    def score(page_name, title, description):
        return page.evaluate(
            f"Scorer.score({json.dumps([page_name, title, '', description, 30, ''])})"
        )

    linear = score("docs/api/nn", "tensorlab.nn.Linear", "class")
    assert linear > score("docs/api/nn", "tensorlab.nn.functional.linear", "function")
    chapter = score("chapters/39-meta-tensors/index", "Meta tensors", None)
    assert chapter > score("docs/decisions/0030-meta-tensors", "A meta tensor is a layout", None)
