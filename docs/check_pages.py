"""Open every page of the built book in a browser, as a reader would, and report what is wrong.

Usage: python docs/check_pages.py [--shots FOLDER] [--only TEXT] [--few] [--tabs N]

Each page is opened at desktop and phone width, and shown there in light and in dark mode.  Findings
of a load: a request to another host, a script error, a file that fails to load.  Findings of a mode:
what check_pages.js sees in the page (sideways scrolling, maths that was not set, text that is hard to
tell from its background), and what axe-core says against the WCAG 2.2, levels A and AA (check_axe.js).
An address that leads nowhere must get the book's 404 page, whose links must work at any depth.  A
table counts it all.  Exits with 1 if there is any finding.  The browser is CHROMIUM or
/usr/bin/chromium.

--few opens one in eight of the pages of source files, which one template makes; all others as ever.
"""

import argparse
import asyncio
import os
import sys
import threading
import time
from collections import Counter
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

from playwright.async_api import TimeoutError as Timeout
from playwright.async_api import async_playwright

from tensorlab.learn.server import BUILT, open_server

BROWSER = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTHS = {"desktop": (1280, 900), "phone": (375, 740)}
MODES = ("light", "dark")
LOST = ("no-such-page.html", "chapters/99-lost/deep/index.html")  # get the 404 page
PATIENCE = 120_000  # milliseconds, for one step of one page on a busy machine

HERE = Path(__file__).parent
CHECKS = (HERE / "check_pages.js").read_text(encoding="utf-8")
RUN_AXE = (HERE / "check_axe.js").read_text(encoding="utf-8")
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# What the table counts, and how a finding of each kind begins.
KINDS = {
    "requests to other hosts": "request to another host",
    "files that failed to load": "status",
    "pages that came too late": "no answer",
    "script errors": "script error",
    "sideways scrolling": "scrolls sideways",
    "maths not set": "maths not set",
    "too little contrast": "contrast",
    "axe violations": "axe",
    "links of the 404 page": "404 page",
}


def watch(page, address, problems):
    """Let a page note into `problems` what it should not do while it loads.

    How the address itself is answered, `visit` judges: a lost reader's leads nowhere.
    """
    host = urlsplit(address).netloc

    def note_request(request):
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https") and parts.netloc != host:
            problems.append(f"request to another host: {request.url}")

    def note_response(response):
        if response.status >= 400 and response.url != address:
            problems.append(f"status {response.status}: {response.url}")

    def note_console(message):
        if message.type == "error" and message.location["url"] != address:
            problems.append(f"script error: console: {message.text}")

    page.on("request", note_request)
    page.on("response", note_response)
    page.on("pageerror", lambda error: problems.append(f"script error: {error}"))
    page.on("console", note_console)


async def visit(page, address, width, shot):
    """Open one page and show it in each mode; return (setting, sentence) for each fault."""
    loading = []
    watch(page, address, loading)
    await page.emulate_media(color_scheme=MODES[0])
    answer = await page.goto(address, wait_until="load")
    path = urlsplit(address).path.removeprefix("/")
    expected = 404 if path in LOST else 200
    if answer is None or answer.status != expected:
        loading.append(f"status {answer and answer.status} instead of {expected}: {address}")
    await page.evaluate("() => window.MathJax?.startup?.promise")
    if path in LOST:
        loading += await check_lost(page)
    findings = []
    for mode in MODES:
        await page.emulate_media(color_scheme=mode)
        problems = await page.evaluate(CHECKS)
        if shot:
            picture = shot.with_name(f"{shot.name}-{mode}.png")
            await page.screenshot(path=picture, full_page=True)
        findings += [(f"{width}, {mode}", problem) for problem in problems]
    await page.evaluate(AXE)
    for mode in MODES:  # last, because it changes the page
        await page.emulate_media(color_scheme=mode)
        # A mode changes colours and nothing else, so the other rules are asked once.
        problems = await page.evaluate(RUN_AXE, WCAG if mode == MODES[0] else [])
        findings += [(f"{width}, {mode}", f"axe: {problem}") for problem in problems]
    return [*((width, problem) for problem in loading), *findings]


async def check_lost(page):
    """Follow the links of the 404 page, wherever it was sent from."""
    links = await page.evaluate("() => [...document.links].map(link => link.href)")
    answers = [(link, (await page.request.get(link)).status) for link in links]
    problems = [f"404 page: {link} answers {status}" for link, status in answers if status != 200]
    return problems if links else ["404 page: it has no links"]


async def open_contexts(browser):
    """Return a browser context for each width; pages in one share what was loaded already."""
    contexts = {}
    for width, (x, y) in WIDTHS.items():
        contexts[width] = await browser.new_context(
            viewport={"width": x, "height": y},
            is_mobile=width == "phone",
            reduced_motion="reduce",
        )
    return contexts


async def check(address, paths, shots, tabs):
    """Visit every path at each width, in `tabs` at once; return [(path, setting, finding)]."""
    findings = []
    visits = [(path, width) for width in WIDTHS for path in paths]
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        contexts = await open_contexts(browser)

        async def work():
            while visits:
                path, width = visits.pop()
                name = "-".join([path.removesuffix(".html").replace("/", "-"), width])
                page = await contexts[width].new_page()
                page.set_default_timeout(PATIENCE)
                try:
                    found = await visit(page, address + path, width, shots and shots / name)
                except Timeout:
                    found = [(width, f"no answer within {PATIENCE // 1000} seconds")]
                findings.extend((path, setting, problem) for setting, problem in found)
                await page.close()

        await asyncio.gather(*(work() for _ in range(tabs)))
        await browser.close()
    return sorted(findings)


def table(paths, findings, seconds):
    """Return the report: one line for each thing that was counted."""
    counts = Counter(
        next(kind for kind, start in KINDS.items() if problem.startswith(start))
        for _, _, problem in findings
    )
    rows = [("pages", len(paths)), ("loads", len(paths) * len(WIDTHS))]
    rows += [(kind, counts[kind]) for kind in KINDS]
    lines = [f"{kind:<28}{count:>6,}" for kind, count in rows]
    return "\n".join([*lines, f"{'seconds':<28}{seconds:>6.0f}"])


def built_pages(only, few):
    """Return the pages to visit, relative to the book; index.html only leads on at once."""
    pages = [
        path.relative_to(BUILT).as_posix()
        for path in sorted(BUILT.rglob("*.html"))
        if "_static" not in path.parts and path not in (BUILT / "index.html", BUILT / "404.html")
    ]
    if few:
        alike = [path for path in pages if path.startswith("source/")]
        pages = [path for path in pages if path not in alike or alike.index(path) % 8 == 0]
    return [path for path in (*pages, *LOST) if only in path] if pages else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shots", type=Path, help="folder for a picture of every page")
    parser.add_argument("--only", default="", help="only pages whose path contains this")
    parser.add_argument("--few", action="store_true", help="one in eight of the source files")
    parser.add_argument("--tabs", type=int, default=os.cpu_count() or 1, help="pages at once")
    options = parser.parse_args()
    if not Path(BROWSER).exists():
        sys.exit(f"check_pages: no browser at {BROWSER}; install chromium or set CHROMIUM")
    paths = built_pages(options.only, options.few)
    if not paths:
        sys.exit("check_pages: the book is not built; run make book-html first")
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    server = open_server(8600)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    started = time.monotonic()
    address = f"http://127.0.0.1:{server.server_port}/"
    findings = asyncio.run(check(address, paths, options.shots, options.tabs))
    server.shutdown()
    for path, setting, problem in findings:
        print(f"{path} ({setting}): {problem}")
    print(table(paths, findings, time.monotonic() - started))
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
