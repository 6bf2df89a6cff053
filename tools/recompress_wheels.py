"""Compress what is in wheels as far as their format goes: 4 % less, in a minute each.

    python tools/recompress_wheels.py dist/*.whl

A wheel is a zip file, whose `deflate` leaves it to the writer how hard to look for repetitions. zopfli
(`pip install zopfli`) looks longest, and every reader understands the result. This is the last step before a release:
what repairs a wheel writes it anew.
"""

import argparse
import os
import sys
import zipfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path


class Compressor:
    """As zlib's compressors, for one file: zopfli wants all of it."""

    def __init__(self, *ignored):
        self.parts = []

    def compress(self, part):
        self.parts.append(part)
        return b""

    def flush(self):
        import zopfli.zlib

        header, checksum = 2, 4  # bytes that zlib's format has around deflate's
        return zopfli.zlib.compress(b"".join(self.parts))[header:-checksum]


def recompress(path):
    """Replace a wheel by one with the same files, in the same order; return its size before and after, in bytes."""
    zipfile._get_compressor = Compressor  # the module has no public way to bring one's own
    before, written = path.stat().st_size, path.with_suffix(".part")
    with (
        zipfile.ZipFile(path) as old,
        zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in old.infolist():
            new.writestr(entry, old.read(entry))
    check_equal(path, written)
    os.replace(written, path)
    return before, path.stat().st_size


def check_equal(one, other):
    """Raise if two zip files differ in a file's name, bytes or permissions."""

    def facts(archive):
        return [(entry.filename, entry.CRC, entry.external_attr) for entry in archive.infolist()]

    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        if facts(first) != facts(second) or second.testzip() is not None:
            raise ValueError(f"{other} has not what {one} has, which is left as it is")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wheels", nargs="+", type=Path)
    wheels = parser.parse_args().wheels
    try:
        import zopfli.zlib  # noqa: F401 - is it there?
    except ImportError:
        sys.exit("zopfli is missing: pip install zopfli")
    with ProcessPoolExecutor() as pool:
        for wheel, (before, after) in zip(wheels, pool.map(recompress, wheels), strict=True):
            print(f"{wheel.name}: {before / 1e6:.2f} -> {after / 1e6:.2f} MB", flush=True)


if __name__ == "__main__":
    main()
