"""Serve docs/_build/html on this machine alone and print the address.

Usage: python docs/serve_book.py [--port 8000]
"""

import argparse
import functools
import http.server
import sys
from pathlib import Path

BUILT = Path(__file__).resolve().parent / "_build/html"
TRIES = 20


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Files without a log line for each, never kept by the browser longer than the next build."""

    def log_message(self, format, *args):
        pass

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


def open_server(port, folder=BUILT):
    """Return a server on the first free port from `port` on; exit with one sentence if none is."""
    handler = functools.partial(QuietHandler, directory=str(folder))
    for candidate in range(port, min(port + TRIES, 65536)):
        try:
            return BookServer(("127.0.0.1", candidate), handler)
        except OSError:
            continue
    sys.exit(
        f"book: no free port from {port} to {port + TRIES - 1}; choose another: make book PORT=9000"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    if not (BUILT / "index.html").is_file():
        sys.exit("book: it is not built yet; run make book-html first")
    server = open_server(port)
    if server.server_port != port:
        print(f"book: port {port} is busy, so it is another one")
    print(f"book: http://127.0.0.1:{server.server_port}/ (stop with Ctrl-C)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        print()


if __name__ == "__main__":
    main()
