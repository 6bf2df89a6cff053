"""Serving the built book on this machine alone: what `tensorlab book` and the page checks do."""

import functools
import http.server
import sys
from pathlib import Path

from .exercise import PACKAGE_FOLDER

BUILT = PACKAGE_FOLDER.parent / "docs/_build/html"  # there is one where the package is a checkout
TRIES = 20


class NoFreePort(Exception):
    """Every port that was tried is in use."""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Files without a log line for each, never kept by the browser longer than the next build."""

    def log_message(self, format, *args):
        pass

    def send_error(self, code, message=None, explain=None):
        """Answer an address that leads nowhere with the book's own page."""
        page = Path(self.directory, "404.html")
        if code != 404 or not page.is_file():
            super().send_error(code, message, explain)
            return
        body = page.read_bytes()
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
    # On Linux this would only skip the wait after a restart; elsewhere it would share a busy port.
    allow_reuse_address = sys.platform.startswith("linux")
    daemon_threads = True

    def handle_error(self, request, client_address):
        """Say nothing where a browser went away in the middle of a file."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def open_server(port, folder=BUILT, tries=TRIES):
    """Return a server on the first free port of `tries` from `port` on; NoFreePort if none is."""
    handler = functools.partial(QuietHandler, directory=str(folder))
    last = min(port + tries, 65536) - 1
    for candidate in range(port, last + 1):
        try:
            return BookServer(("127.0.0.1", candidate), handler)
        except PermissionError:
            raise NoFreePort(f"port {candidate} may not be used; choose one from 1024 on") from None
        except OSError:
            continue
    if tries == 1:
        raise NoFreePort(f"port {port} is in use by another program; choose another")
    raise NoFreePort(f"no free port from {port} to {last}; choose another")
