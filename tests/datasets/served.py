"""A server on this machine, with the files of small data sets, for tests of downloads."""

import gzip
import hashlib
import http.server
import io
import tarfile
import threading

import numpy as np
import pytest


class Server:
    """Serves what is in `files`, {path: bytes}, and counts the requests."""

    def __init__(self):
        self.files, self.requests, self.cut = {}, [], {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.requests.append(self.path)
                data = outer.files.get(self.path)
                if data is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data[: outer.cut.get(self.path, len(data))])

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Server()
    yield server
    server.close()


def md5(data):
    return hashlib.md5(data).hexdigest()


def files_in(folder):
    """The paths of all files and folders below a folder, hidden ones included."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def idx(array):
    """The bytes of an IDX file of uint8."""
    array = np.asarray(array, np.uint8)
    sizes = np.array(array.shape, ">u4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + sizes + array.tobytes()


def mnist_files(train=7, test=3):
    """{name without .gz: bytes} of a small MNIST, and its arrays by the same names."""
    rng = np.random.default_rng(0)
    arrays = {}
    for part, count in (("train", train), ("t10k", test)):
        arrays[f"{part}-images-idx3-ubyte"] = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        arrays[f"{part}-labels-idx1-ubyte"] = rng.integers(0, 10, count, dtype=np.uint8)
    return {name: idx(array) for name, array in arrays.items()}, arrays


def packed(data):
    return gzip.compress(data, mtime=0)


def tar(members):
    """The bytes of a .tar.gz of {name: bytes}."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return file.getvalue()


# A NumPy array as Python 2 has pickled it in CIFAR's files: by names that there were then, and with its bytes as a str.
def old_array(array):
    shape = b"".join(b"M" + size.to_bytes(2, "little") for size in array.shape)
    data = array.tobytes()
    return (
        b"cnumpy.core.multiarray\n_reconstruct\nq\x10cnumpy\nndarray\nq\x11K\x00\x85U\x01b\x87Rq\x12"
        b"(K\x01"
        + shape
        + b"\x86cnumpy\ndtype\nq\x13U\x02u1K\x00K\x01\x87Rq\x14(K\x03U\x01|NNNJ\xff\xff\xff\xff"
        b"J\xff\xff\xff\xffK\x00tb\x89T" + len(data).to_bytes(4, "little") + data + b"tb"
    )


def old_text(text):
    return b"U" + bytes([len(text)]) + text.encode("latin1")


def old_list(items):
    return b"](" + b"".join(items) + b"e"


def old_int(number):
    return b"K" + bytes([number])


def cifar_batch(images, labels, key="labels"):
    """The bytes of a batch of CIFAR: images (count, 3, 32, 32)."""
    return (
        b"\x80\x02}q\x01("
        + old_text("batch_label")
        + old_text("training batch 1 of 5")
        + old_text(key)
        + old_list([old_int(label) for label in labels])
        + old_text("data")
        + old_array(images.reshape(len(images), -1))
        + old_text("filenames")
        + old_list([old_text(f"image_{i}.png") for i in range(len(images))])
        + b"u."
    )


def cifar_meta(names, key="label_names"):
    return b"\x80\x02}q\x01(" + old_text(key) + old_list([old_text(n) for n in names]) + b"u."
