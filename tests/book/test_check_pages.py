"""The browser test finds what is planted on a page, and nothing on a page that is in order."""

import asyncio
import importlib.util
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

pytest.importorskip("playwright", reason="the browser is driven by playwright, of the group `book`")
if importlib.util.find_spec("axe_playwright_python") is None:
    pytest.skip("axe-core comes with the group `book`", allow_module_level=True)

import check_pages  # noqa: E402

from tensorlab.learn.server import open_server  # noqa: E402

if not Path(check_pages.BROWSER).exists():
    pytest.skip(f"there is no browser at {check_pages.BROWSER}", allow_module_level=True)

PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
</head><body style="background: #fff; color: #000"><main class="bd-main"><h1>Page</h1>%s</main></body></html>
"""
FAULTS = {
    "requests to other hosts": '<img alt="x" src="http://127.0.0.1:9/picture.png">',
    "files that failed to load": '<img alt="x" src="missing.png">',
    "script errors": "<script>throw new Error('planted')</script>",
    "sideways scrolling": '<p style="width: 3000px">wide</p>',
    "maths not set": '<p class="math">x</p>',
    "too little contrast": '<p style="color: #999">pale</p>',
    "axe violations": '<a href="#"><span aria-hidden="true">no name</span></a>',
}
PALE_IN_THE_DARK = (
    """<style>@media (prefers-color-scheme: dark) { p { color: #999 } }</style><p>Night.</p>"""
)
BOTH_MODES = {
    "sideways scrolling",
    "maths not set",
    "too little contrast",
}  # the others: once at each width


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """Return (kind, path) of every finding on one page for each fault and one without."""
    folder = tmp_path_factory.mktemp("site")
    pages = {f"{i}.html": PAGE % fault for i, fault in enumerate(FAULTS.values())}
    pages["dark.html"] = PAGE % PALE_IN_THE_DARK
    pages["good.html"] = PAGE % "<p>In order.</p>"
    pages["404.html"] = PAGE % '<p><a href="/nowhere.html">nowhere</a></p>'
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    server = open_server(8500, folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    paths = [name for name in pages if name != "404.html"] + [check_pages.LOST[1]]
    address = f"http://127.0.0.1:{server.server_port}/"
    found = asyncio.run(check_pages.check(address, paths, None, 2))
    server.shutdown()
    server.server_close()
    return found


@pytest.mark.parametrize("number", range(len(FAULTS)), ids=list(FAULTS))
def test_a_planted_fault_is_found_at_both_widths_and_where_it_is_seen_in_both_modes(
    findings, number
):
    kind = list(FAULTS)[number]
    start = check_pages.KINDS[kind]
    settings = {s for path, s, p in findings if path == f"{number}.html" and p.startswith(start)}
    assert {setting.partition(",")[0] for setting in settings} == set(check_pages.WIDTHS)
    if kind in BOTH_MODES:
        assert settings == {f"{w}, {m}" for w in check_pages.WIDTHS for m in check_pages.MODES}


def test_axe_sees_the_pale_text_too_though_it_looks_at_one_of_each_kind(findings):
    pale = f"{list(FAULTS).index('too little contrast')}.html"
    settings = {s for path, s, p in findings if path == pale and "axe: color-contrast" in p}
    assert settings == {f"{w}, {m}" for w in check_pages.WIDTHS for m in check_pages.MODES}


def test_a_text_that_is_pale_in_the_dark_alone_is_found_there(findings):
    found = [(s, p.partition(":")[0]) for path, s, p in findings if path == "dark.html"]
    expected = [(f"{w}, dark", kind) for w in check_pages.WIDTHS for kind in ("axe", "contrast")]
    assert sorted((s, kind.partition(" ")[0]) for s, kind in found) == sorted(expected)


def test_a_page_in_order_has_no_finding(findings):
    assert [problem for path, _, problem in findings if path == "good.html"] == []


def test_a_link_of_the_404_page_that_leads_nowhere_is_found(findings):
    found = [problem for path, _, problem in findings if path == check_pages.LOST[1]]
    assert len(found) == len(check_pages.WIDTHS)  # and that the address is wrong is no fault
    assert all(problem.startswith("404 page: ") for problem in found)


def test_the_table_counts_every_finding(findings):
    lines = check_pages.table(["a.html"], findings, 1.0).split("\n")
    counted = sum(int(line.rpartition(" ")[2]) for line in lines[2:-1])
    assert counted == len(findings)
    assert lines[1].split() == ["loads", "2"]
