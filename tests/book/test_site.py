"""What the site is made of: contents, tracks, the map of layers, links to and from the reference."""

import itertools
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "docs/_ext")]

import api_reference  # noqa: E402
import book_contents  # noqa: E402
import check_book  # noqa: E402
import layer_map  # noqa: E402
import printed_lines  # noqa: E402
import reading_plan  # noqa: E402
import site_pages  # noqa: E402
from make_toc import load_sections  # noqa: E402

from tensorlab.learn.server import open_server  # noqa: E402

CONTENTS = """
[[track]]
title = "Backwards"
about = "Nobody reads so."
chapters = [3, 2]

[[part]]
title = "Part"

[[part.chapter]]
folder = "02-storage"
about = "bytes"
minutes = 45
requires = [3]
modules = ["_core.nowhere"]
names = ["no_such_name"]

[[part.chapter]]
folder = "03-strides"
about = "steps"
minutes = 75
requires = [2]
modules = []
names = ["stride", "as_strided", "viz.strides"]
"""


# ---------------------------------------------------------------- the table of contents
# Chapters of a part that others stood behind already, and keep their numbers.
INSERTED = (57, 58, 59, 60, 61, 62)


def test_every_chapter_of_the_book_is_numbered_once_and_in_order():
    numbers = [chapter.number for _, part in book_contents.load_parts() for chapter in part]
    assert len(numbers) == len(set(numbers))
    assert set(numbers) == set(range(1, max(numbers) + 1))
    in_order = [number for number in numbers if number not in INSERTED]
    assert in_order == sorted(in_order)


def test_what_is_wrong_with_the_contents_is_found(tmp_path):
    path = tmp_path / "contents.toml"
    path.write_text(CONTENTS)
    found = "\n".join(check_book.check_entries(path))
    assert "chapter 2 requires 3; name an earlier one" in found
    assert "_core.nowhere is not in tests/layers.toml" in found
    assert "no public name 'no_such_name'" in found
    assert "track 'Backwards' meets 3 before [2]" in found
    assert "never says it" in found  # of chapter 2, which does not speak of no_such_name


def test_a_name_is_a_function_or_else_a_method():
    assert book_contents.api_target("as_strided") == "tensorlab.as_strided"
    assert book_contents.api_target("stride") == "tensorlab.Tensor.stride"
    assert book_contents.api_target("viz.strides") == "tensorlab.viz.strides"
    with pytest.raises(LookupError, match="no public name"):
        book_contents.api_target("viz.nothing")


@pytest.mark.parametrize(
    ("minutes", "text"), [(45, "45 min"), (60, "1 h"), (75, "1 h 15 min"), (600, "10 h")]
)
def test_times_are_written_as_people_say_them(minutes, text):
    assert book_contents.time_text(minutes) == text


def test_a_chapter_can_be_run_elsewhere_once_the_project_has_a_home():
    chapter = book_contents.load_chapters()[3]
    assert book_contents.launch_links(chapter, "") == []
    links = dict(book_contents.launch_links(chapter, "https://forge.example/someone/tensorlab"))
    assert list(links) == ["Run on Binder", "Run on Colab"]
    assert all(address.endswith("03-strides.ipynb") for address in links.values())


@pytest.mark.parametrize("home", ["", "https://github.com/someone/tensorlab"])
def test_pages_have_a_link_to_edit_them_once_the_project_has_a_home(monkeypatch, home):
    monkeypatch.setattr(site_pages.homepage, "repository", lambda: home)
    config = SimpleNamespace(html_theme_options={"use_edit_page_button": False})
    site_pages.set_home(None, config)
    assert config.html_theme_options["use_edit_page_button"] == bool(home)
    assert config.html_theme_options.get("repository_url", "") == home


def test_the_reference_names_the_written_chapters_that_explain_a_name(tmp_path):
    app = SimpleNamespace(env=SimpleNamespace(note_dependency=lambda path: None))
    for name in ("tensorlab.as_strided", "tensorlab.Tensor.as_strided"):
        lines = ["What it does."]
        api_reference.say_where_explained(app, "function", name, None, None, lines)
        assert "   Explained in :doc:`03 Strides </chapters/03-strides/index>`." in lines
    lines = ["What it does."]
    api_reference.say_where_explained(app, "function", "tensorlab.nowhere", None, None, lines)
    assert lines == ["What it does."]


def test_only_what_is_written_is_built():
    pages = [page for _, entries in load_sections() for page, _ in entries]
    assert len(pages) == len(set(pages))
    assert all((ROOT / f"{page}.md").is_file() for page in pages)


# ---------------------------------------------------------------- the map of layers
def test_the_map_shows_every_layer_and_module_with_its_lines():
    drawn = layer_map.draw(layer_map.module_boxes, "docs/architecture")
    for layer in layer_map.load_layers():
        for module in layer["modules"]:
            if layer_map.count_lines(module):
                assert f"<code>{module}</code>" in drawn
    here = len((ROOT / "tensorlab/_finder.py").read_text("utf-8").splitlines())
    assert f"<code>_finder</code><small>{here:,} lines</small>" in drawn


def test_a_box_links_to_a_written_chapter_and_names_one_that_is_not():
    chapters = book_contents.load_chapters()
    drawn = layer_map.draw(layer_map.chapter_boxes, "docs/index")
    assert '<a href="../chapters/03-strides/index.html">03 Strides</a>' in drawn
    for chapter in chapters.values():
        if chapter.modules and not chapter.is_written:
            label = f"{chapter.number:02d} {chapter.title}"
            assert f'<span class="unwritten">{label}</span>' in drawn


def test_the_lower_layer_stands_below():
    drawn = layer_map.draw(layer_map.module_boxes, "docs/architecture")
    places = [
        drawn.index(f"<code>{name}</code>") for name in ("nn", "ops", "_core.tensor", "errors")
    ]
    assert places == sorted(places)


# ---------------------------------------------------------------- the reading plan
def test_the_plan_reads_each_file_once_and_counts_its_lines():
    groups = reading_plan.load_plan()
    modules = [module for group in groups for module in group.modules]
    known = {module for layer in layer_map.load_layers() for module in layer["modules"]}
    assert len(modules) == len(set(modules))
    assert set(modules) <= known
    drawn = reading_plan.draw("docs/architecture")
    for module in modules:
        lines = layer_map.count_lines(module)
        assert f"<code>{reading_plan.file_of(module)}</code><small>{lines:,} lines</small>" in drawn
    assert f"{sum(group.lines for group in groups):,} lines in" in drawn


def test_the_days_of_the_plan_follow_one_another():
    groups = reading_plan.load_plan()
    assert groups[0].first_day == 1
    for before, after in itertools.pairwise(groups):
        assert before.first_day <= before.last_day
        assert after.first_day - before.last_day in (0, 1)


def test_examples_of_docstrings_are_no_lines_to_read():
    text = 'def f():\n    """Do it.\n\n    Examples\n    --------\n    >>> f()\n    """\n    return 1\n'
    assert layer_map.EXAMPLES.sub("", text).splitlines() == [
        "def f():",
        '    """Do it."""',
        "    return 1",
    ]


def test_the_path_takes_a_month_as_the_readme_says():
    assert "small enough to read in a month" in (ROOT / "README.md").read_text("utf-8")
    assert reading_plan.load_plan()[-1].last_day <= 31


def test_a_plan_counts_days_by_its_lines(tmp_path):
    here = layer_map.count_lines("errors")
    group = 'title = "T"\nabout = "A"\nmodules = ["errors"]\nchapters = [2]\n'
    path = tmp_path / "plan.toml"
    path.write_text(f"lines_a_day = {here}\n[[group]]\n{group}[[group]]\n{group}", "utf-8")
    first, second = reading_plan.load_plan(path)
    assert (first.lines, first.days, second.days) == (here, "day 1", "day 2")


def test_a_plan_names_a_module_that_is_not_there():
    with pytest.raises(LookupError, match=r"no module _core\.nowhere"):
        reading_plan.file_of("_core.nowhere")


# ---------------------------------------------------------------- what cells print
def test_a_line_that_arrives_in_two_pieces_stays_one_line():
    def piece(text, name="stdout"):
        return {"output_type": "stream", "name": name, "text": text}

    picture = {"output_type": "display_data", "data": {}}
    pieces = [piece("by the formula "), piece("[0.0]\n"), piece("!", "stderr"), picture, piece("x")]
    joined = printed_lines.join_pieces(pieces)
    assert [one.get("text") for one in joined] == ["by the formula [0.0]\n", "!", None, "x"]


# ---------------------------------------------------------------- version, date, lost readers
def test_the_date_is_that_of_the_sources():
    assert site_pages.date({"SOURCE_DATE_EPOCH": "1700000000"}) == "2023-11-14"
    assert len(site_pages.date({})) == len("2023-11-14")


def test_the_server_answers_a_lost_reader_with_the_book_s_page(tmp_path):
    (tmp_path / "404.html").write_text(site_pages.TEMPLATE.read_text("utf-8"), "utf-8")
    server = open_server(8500, tmp_path)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/no/such/page.html")
        body = caught.value.read().decode()
        caught.value.close()
    finally:
        server.shutdown()
        server.server_close()
    assert caught.value.code == 404
    assert "There is no page at this address" in body
    assert 'src="' not in body  # all in one file: nothing to load from an unknown depth
