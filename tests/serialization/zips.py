"""Checkpoints as bytes, and zip files made of their entries."""

import io
import zipfile

import tensorlab


def saved(obj):
    file = io.BytesIO()
    tensorlab.save(obj, file)
    return file.getvalue()


def rewritten(data, change):
    """Return a zip file of the entries (ZipInfo, bytes) that a function gives for each."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            for entry in change(zipfile.ZipInfo(info.filename), old.read(info)):
                new.writestr(*entry)
    return out.getvalue()
