"""Open every page of the built book in a browser, as a reader would, and report what is wrong.

Usage: python docs/check_pages.py [--shots FOLDER] [--only TEXT]

Each page is opened at desktop and phone width, in light and dark mode.  Findings: a request to
another host, a script error, a file that fails to load, and what check_pages.js sees in the page:
sideways scrolling, maths that was not set, text that is hard to tell from its background.  Exits
with 1 if there is any.  The browser is CHROMIUM or /usr/bin/chromium.
"""

import argparse
import os
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from tensorlab.learn.server import BUILT, open_server

BROWSER = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WIDTHS = {"desktop": (1280, 900), "phone": (375, 740)}
MODES = ("light", "dark")
CHECKS = Path(__file__).with_name("check_pages.js").read_text(encoding="utf-8")


def visit(page, address):
    """Open one page and yield one sentence for everything wrong with it."""
    host = urlsplit(address).netloc
    problems = []

    def note_request(request):
        if (
            urlsplit(request.url).scheme in ("http", "https")
            and urlsplit(request.url).netloc != host
        ):
            problems.append(f"request to another host: {request.url}")

    def note_response(response):
        if response.status >= 400:
            problems.append(f"status {response.status}: {response.url}")

    def note_error(error):
        problems.append(f"script error: {error}")

    def note_console(message):
        if message.type == "error":
            problems.append(f"console: {message.text}")

    listeners = {
        "request": note_request,
        "response": note_response,
        "pageerror": note_error,
        "console": note_console,
    }
    for event, listener in listeners.items():
        page.on(event, listener)
    page.goto(address, wait_until="load")
    page.evaluate("() => window.MathJax?.startup?.promise")
    findings = page.evaluate(CHECKS)
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    return problems + findings


def check(address, paths, shots):
    """Visit every path in every setting; return (visits, findings)."""
    findings, visits = [], 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=FLAGS)
        for mode in MODES:
            for width, (x, y) in WIDTHS.items():
                context = browser.new_context(
                    viewport={"width": x, "height": y},
                    color_scheme=mode,
                    is_mobile=width == "phone",
                )
                # The theme remembers the reader's choice here.
                context.add_init_script(
                    f"for (const key of ['mode', 'theme']) localStorage.setItem(key, '{mode}')"
                )
                page = context.new_page()
                for path in paths:
                    problems = visit(page, address + path)
                    visits += 1
                    findings += [f"{path} ({width}, {mode}): {problem}" for problem in problems]
                    if shots:
                        name = path.removesuffix(".html").replace("/", "-")
                        page.screenshot(path=shots / f"{name}-{width}-{mode}.png", full_page=True)
                context.close()
        browser.close()
    return visits, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--shots", type=Path, help="folder for a picture of every page")
    parser.add_argument("--only", default="", help="only pages whose path contains this")
    options = parser.parse_args()
    if not Path(BROWSER).exists():
        sys.exit(f"check_pages: no browser at {BROWSER}; install chromium or set CHROMIUM")
    paths = [
        path.relative_to(BUILT).as_posix()
        for path in sorted(BUILT.rglob("*.html"))
        if "_static" not in path.parts
        and options.only in path.as_posix()
        and path != BUILT / "index.html"  # leads on to docs/index.html at once
    ]
    if not paths:
        sys.exit("check_pages: the book is not built; run make book-html first")
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    server = open_server(8600)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    visits, findings = check(f"http://127.0.0.1:{server.server_port}/", paths, options.shots)
    server.shutdown()
    for finding in findings:
        print(finding)
    print(f"{len(paths)} pages, {visits} visits, {len(findings)} finding(s)")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
