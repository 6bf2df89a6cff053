"""Measure the chapters of the built book in a browser: what share of a page is prose, and which code is cut.

Usage: python docs/measure_pages.py [--only TEXT] [--width 1280] [--cut] [--draft]

One row for each chapter: words of prose, lines of code and output; the share of the page's height that
prose, code, output and figures take; boxes of code whose lines are cut (all boxes in brackets); figures
with a caption (all in brackets).  --cut shows the widest line of each box that is cut, --draft measures
what build_book.py --only built.  The browser is that of check_pages.py.
"""

import argparse
import asyncio
import threading
from pathlib import Path

from build_book import DRAFT
from check_pages import BROWSER, FLAGS, PATIENCE
from playwright.async_api import async_playwright

from tensorlab.learn.server import BUILT, open_server

MEASURE = Path(__file__).with_name("measure_pages.js").read_text(encoding="utf-8")


async def measure(address, pages, width):
    """Yield (name, what measure_pages.js found) for each page."""
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        page = await browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(PATIENCE)
        for name in pages:
            await page.goto(f"{address}/{name}", wait_until="load")
            await page.evaluate("() => window.MathJax?.startup?.promise")
            yield name, await page.evaluate(MEASURE)
        await browser.close()


async def print_table(address, pages, width, show_cut):
    print(f"{'':34} words lines  prose  code output figure       cut  captioned")
    async for name, found in measure(address, pages, width):
        shares = [
            f"{found['heights'][kind] / found['total']:6.0%}"
            for kind in ("prose", "code", "output", "figure")
        ]
        print(
            f"{Path(name).parts[1]:34} {found['words']:5} {found['lines']:5} {' '.join(shares)}"
            f" {len(found['cut']):5} ({found['boxes']:3}) {found['captioned']:5} ({found['figures']})"
        )
        if show_cut:
            for line in found["cut"]:
                print(f"    {len(line):4}  {line.strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="chapters whose name holds this text")
    parser.add_argument("--width", type=int, default=1280, help="of the window, in pixels")
    parser.add_argument(
        "--cut", action="store_true", help="show the widest line of each box that is cut"
    )
    parser.add_argument(
        "--draft", action="store_true", help="measure what build_book.py --only built"
    )
    arguments = parser.parse_args()
    folder = DRAFT / "_build/html" if arguments.draft else BUILT
    pages = sorted(
        path.relative_to(folder).as_posix() for path in folder.glob("chapters/*/index.html")
    )
    pages = [name for name in pages if arguments.only in name]
    server = open_server(8600, folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    asyncio.run(print_table(address, pages, arguments.width, arguments.cut))
    server.shutdown()


if __name__ == "__main__":
    main()
