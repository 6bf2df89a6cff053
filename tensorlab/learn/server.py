"""Serving the built book on this machine alone: what `tensorlab book`, `make book` and the page checks do."""

import html
import http.server
import sys
from pathlib import Path

from .exercise import PACKAGE_FOLDER

BUILT = PACKAGE_FOLDER.parent / "docs/_build/html"  # there is one where the package is a checkout
TRIES = 20
STILL_TO_COME = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="3">
<title>Being built · tensorlab</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; }
  body { margin: 0 auto; max-width: 36rem; padding: 10vh 1.25rem; font: 1.0625rem/1.6 system-ui, sans-serif; }
</style>
<h1>This page is being built</h1>
<p>It appears here as soon as it is there. Chapters are built in the order in which they are read; go
<a href="/">to the cover</a> for those that are there already.</p>
<p>PROGRESS</p>
</html>
"""


class NoFreePort(Exception):
    """Every port that was tried is in use."""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Files without a log line for each, never kept by the browser longer than the next build."""

    def __init__(self, request, address, server):
        super().__init__(request, address, server, directory=str(server.folder))

    def log_message(self, format, *args):
        pass

    def send_error(self, code, message=None, explain=None):
        """Answer an address that leads nowhere with the book's own page, or say that it will lead somewhere."""
        page, progress = Path(self.directory, "404.html"), self.server.progress
        if code == 404 and progress is not None:
            text = STILL_TO_COME.replace("PROGRESS", html.escape(progress()))
            self.send_page(503, None, text.encode())
        elif code == 404 and page.is_file():
            self.send_page(code, message, page.read_bytes())
        else:
            super().send_error(code, message, explain)

    def send_page(self, code, message, body):
        self.send_response(code, message)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def end_headers(self):
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()


class BookServer(http.server.ThreadingHTTPServer):
    """Serves the files in `folder`, which may become another one.

    While there are pages to come, `progress` is a function that says how far the build is.
    """

    folder = BUILT
    progress = None
    # On Linux this would only skip the wait after a restart; elsewhere it would share a busy port.
    allow_reuse_address = sys.platform.startswith("linux")
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Say nothing where a browser went away in the middle of a file."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def open_server(port, folder=BUILT, tries=TRIES):
    """Return a server on the first free port of `tries` from `port` on; NoFreePort if none is."""
    last = min(port + tries, 65536) - 1
    for candidate in range(port, last + 1):
        try:
            server = BookServer(("127.0.0.1", candidate), QuietHandler)
        except PermissionError:
            raise NoFreePort(f"port {candidate} may not be used; choose one from 1024 on") from None
        except OSError:
            continue
        server.folder = folder
        return server
    if tries == 1:
        raise NoFreePort(f"port {port} is in use by another program; choose another")
    raise NoFreePort(f"no free port from {port} to {last}; choose another")
