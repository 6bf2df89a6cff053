"""Downloads and archives: right files arrive, wrong ones leave nothing behind."""

import hashlib
import io
import os
import sys
import tarfile
import zipfile

import pytest

from tensorlab.datasets import utils
from tensorlab.errors import DownloadError, FileFormatError, MissingExtra
from tests.datasets.served import files_in, md5, packed, server, tar

__all__ = ["server"]
DATA = bytes(range(256)) * 40


# ------------------------------------------------------------ checksums
def test_a_checksum_is_an_md5_or_names_its_kind(tmp_path):
    path = tmp_path / "a"
    assert not utils.check_integrity(path)
    assert not utils.check_integrity(path, md5(DATA))
    path.write_bytes(DATA)
    assert utils.check_integrity(path)
    assert utils.check_integrity(str(path), md5(DATA))
    assert utils.check_integrity(path, md5(DATA).upper())
    assert utils.check_integrity(path, "md5:" + md5(DATA))
    sha = "sha256:" + hashlib.sha256(DATA).hexdigest()
    assert utils.check_integrity(path, sha)
    path.write_bytes(DATA + b".")
    assert not utils.check_integrity(path, md5(DATA))
    assert not utils.check_integrity(path, sha)
    assert not utils.check_integrity(tmp_path)  # a folder


# ------------------------------------------------------------ downloads
@pytest.mark.parametrize(
    "checksum", [md5(DATA), "sha256:" + hashlib.sha256(DATA).hexdigest(), None]
)
def test_a_file_arrives_and_is_not_fetched_again(server, tmp_path, checksum):
    server.files["/folder/file.bin"] = DATA
    for _ in range(2):
        path = utils.download_url(
            server.url + "/folder/file.bin", tmp_path / "new" / "er", md5=checksum
        )
        assert path == str(tmp_path / "new" / "er" / "file.bin")
        with open(path, "rb") as file:
            assert file.read() == DATA
    assert server.requests == ["/folder/file.bin"]
    assert files_in(tmp_path) == ["new", "new/er", "new/er/file.bin"]


def test_a_file_may_get_another_name(server, tmp_path):
    server.files["/a"] = DATA
    path = utils.download_url(server.url + "/a", str(tmp_path), "b", md5(DATA))
    assert path == str(tmp_path / "b")
    assert files_in(tmp_path) == ["b"]


def test_the_folder_may_be_in_the_home_folder(server, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    server.files["/a"] = DATA
    assert utils.download_url(server.url + "/a", "~/data") == str(tmp_path / "data" / "a")


def test_a_wrong_checksum_leaves_nothing(server, tmp_path):
    server.files["/a"] = DATA + b"."
    for checksum in (md5(DATA), "sha256:" + hashlib.sha256(DATA).hexdigest()):
        with pytest.raises(
            DownloadError, match=r"/a could not be fetched .* hash .*put the file there as 'a'"
        ):
            utils.download_url(server.url + "/a", tmp_path, md5=checksum)
    assert files_in(tmp_path) == []
    assert issubclass(DownloadError, RuntimeError)


def test_a_truncated_file_leaves_nothing(server, tmp_path):
    server.files["/a"], server.cut["/a"] = DATA, 1000
    for checksum in (md5(DATA), None):
        with pytest.raises(DownloadError, match="/a could not be fetched"):
            utils.download_url(server.url + "/a", tmp_path, md5=checksum)
    assert files_in(tmp_path) == []


def test_a_file_that_is_not_on_the_server_leaves_nothing(server, tmp_path):
    with pytest.raises(DownloadError, match="/a could not be fetched .*404"):
        utils.download_url(server.url + "/a", tmp_path, md5=md5(DATA))
    assert files_in(tmp_path) == []


def test_a_server_that_is_not_there(server, tmp_path):
    url = server.url
    server.server.server_close()  # nothing listens any more
    with pytest.raises(DownloadError, match="Check the connection and the address"):
        utils.download_url(url + "/a", tmp_path, md5=md5(DATA))
    assert files_in(tmp_path) == []


def test_a_damaged_file_is_fetched_again(server, tmp_path):
    (tmp_path / "a").write_bytes(b"damaged")
    with pytest.raises(DownloadError):
        utils.download_url(server.url + "/a", tmp_path, md5=md5(DATA))
    assert (tmp_path / "a").read_bytes() == b"damaged"
    server.files["/a"] = DATA
    utils.download_url(server.url + "/a", tmp_path, md5=md5(DATA))
    assert (tmp_path / "a").read_bytes() == DATA
    assert files_in(tmp_path) == ["a"]


def test_without_pooch_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(
        MissingExtra, match=r'^download_url: pooch is needed .*pip install "tensorlab-book\[data\]"'
    ):
        utils.download_url("http://127.0.0.1:9/a", tmp_path)
    assert issubclass(MissingExtra, ImportError)


# ------------------------------------------------------------ archives
@pytest.mark.parametrize("kind", ["tar.gz", "tgz", "tar"])
def test_an_archive_is_unpacked(tmp_path, kind):
    archive = tmp_path / f"set.{kind}"
    data = tar({"set/a": DATA, "set/deep/b": b"2", "c": b"3"})
    if kind == "tar":
        import gzip

        data = gzip.decompress(data)
    archive.write_bytes(data)
    assert utils.extract_archive(archive, tmp_path / "out" / "here") == str(
        tmp_path / "out" / "here"
    )
    out = tmp_path / "out" / "here"
    assert files_in(out) == ["c", "set", "set/a", "set/deep", "set/deep/b"]
    assert (out / "set" / "a").read_bytes() == DATA
    assert archive.exists()


def zipped(members, method=zipfile.ZIP_DEFLATED):
    """A zip file of (name or ZipInfo, bytes)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


METHODS = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA


@pytest.mark.parametrize("method", METHODS)
def test_a_zip_file_is_unpacked(tmp_path, method):
    archive, out = tmp_path / "set.zip", tmp_path / "out" / "here"
    linked = zipfile.ZipInfo("set/mode")
    linked.external_attr = 0o100644 << 16
    members = [("set/a", DATA), ("set/deep/b", b"2"), ("c..d", b"3"), ("empty/", b"")]
    archive.write_bytes(zipped([*members, (linked, b"4")], method))
    assert utils.extract_archive(archive, out, remove_finished=True) == str(out)
    assert not archive.exists()
    assert (out / "set" / "a").read_bytes() == DATA
    expected = ["c..d", "empty", "set", "set/a", "set/deep", "set/deep/b", "set/mode"]
    assert files_in(out) == expected


def zip_member(name, mode=0):
    info = zipfile.ZipInfo(name)
    info.filename = name  # also one that ZipInfo would change
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (zip_member("../evil"), "outside"),
        (zip_member("a/../../evil"), "outside"),
        (zip_member("..\\evil"), "outside"),
        (zip_member("/tmp/evil"), "outside"),
        (zip_member("C:/evil"), "outside"),
        (zip_member("link", 0o120777), "neither a file nor a folder"),
        (zip_member("device", 0o020666), "neither a file nor a folder"),
    ],
    ids=lambda one: getattr(one, "filename", ""),
)
def test_no_member_of_a_zip_file_gets_out_of_the_folder(tmp_path, bad, why):
    archive = tmp_path / "in" / "set.zip"
    archive.parent.mkdir()
    archive.write_bytes(zipped([("good", b"1"), (bad, b"/etc/passwd")]))
    with pytest.raises(FileFormatError, match=rf"set.zip could not be unpacked: .*{why}"):
        utils.extract_archive(archive, tmp_path / "out")
    assert files_in(tmp_path) == ["in", "in/set.zip", "out"]


def test_a_zip_file_with_a_password_is_refused(tmp_path):
    data = bytearray(zipped([("a", DATA)]))
    for start, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(start) + offset] |= 1
    (tmp_path / "set.zip").write_bytes(data)
    with pytest.raises(FileFormatError, match="'a' is encrypted"):
        utils.extract_archive(tmp_path / "set.zip")
    assert files_in(tmp_path) == ["set.zip"]


def test_an_archive_is_unpacked_beside_itself_and_may_go(tmp_path):
    archive = tmp_path / "set.tar.gz"
    archive.write_bytes(tar({"set/a": b"new"}))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "a").write_bytes(b"old")
    (tmp_path / "set" / "b").write_bytes(b"kept")
    assert utils.extract_archive(str(archive), remove_finished=True) == str(tmp_path)
    assert files_in(tmp_path) == ["set", "set/a", "set/b"]
    assert (tmp_path / "set" / "a").read_bytes() == b"new"
    assert (tmp_path / "set" / "b").read_bytes() == b"kept"


def test_a_file_that_is_compressed_alone(tmp_path, monkeypatch):
    archive = tmp_path / "file.bin.gz"
    archive.write_bytes(packed(DATA))
    assert utils.extract_archive(archive) == str(tmp_path / "file.bin")
    assert (tmp_path / "file.bin").read_bytes() == DATA
    assert utils.extract_archive(archive, tmp_path / "x") == str(tmp_path / "x" / "file.bin")
    assert files_in(tmp_path) == ["file.bin", "file.bin.gz", "x", "x/file.bin"]
    monkeypatch.chdir(tmp_path)
    os.remove("file.bin")
    assert utils.extract_archive("file.bin.gz") == "file.bin"
    assert (tmp_path / "file.bin").read_bytes() == DATA


def damaged_in_the_middle(data):
    place = data.index(b"PK\1\2") // 2
    return data[:place] + b"\xff" * 9 + data[place + 9 :]


def of_a_later_method(data):
    """A zip file whose member is compressed in a way that Python doesn't know."""
    data = bytearray(data)
    for start, offset in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        data[data.index(start) + offset] = 97
    return bytes(data)


def hostile(name, **fields):
    """An archive with a good file and one that would lie elsewhere."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        good = tarfile.TarInfo("good")
        good.size = 1
        archive.addfile(good, io.BytesIO(b"1"))
        bad = tarfile.TarInfo(name)
        for key, value in fields.items():
            setattr(bad, key, value)
        archive.addfile(bad, io.BytesIO(b"evil" * 200))
    return file.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        hostile("../evil", size=4),
        hostile("a/../../evil", size=4),
        hostile("link", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        hostile("link", type=tarfile.SYMTYPE, linkname="../../evil"),
        hostile("device", type=tarfile.CHRTYPE),
    ],
    ids=["above", "around", "link", "relative-link", "device"],
)
def test_no_member_gets_out_of_the_folder(tmp_path, data):
    archive = tmp_path / "in" / "set.tar.gz"
    archive.parent.mkdir()
    archive.write_bytes(data)
    with pytest.raises(
        FileFormatError, match=r"extract_archive: .*set.tar.gz could not be unpacked"
    ):
        utils.extract_archive(archive, tmp_path / "out")
    assert files_in(tmp_path) == ["in", "in/set.tar.gz", "out"]  # not the good one either


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("set.tar.gz", tar({"a": DATA})[:-40]),
        ("set.tar.gz", b"no archive"),
        ("set.tar", b""),
        ("file.gz", packed(DATA)[:-20]),
        ("file.gz", b"no archive"),
        ("file.gz", packed(DATA)[:30] + b"\xff" * 9 + packed(DATA)[39:]),
        ("set.zip", zipped([("a", DATA)])[:-40]),
        ("set.zip", b"no archive"),
        ("set.zip", zipped([("a", b"x" * 99)], zipfile.ZIP_STORED).replace(b"xx", b"xy")),
        *(("set.zip", damaged_in_the_middle(zipped([("a", DATA)], one))) for one in METHODS[1:]),
        ("set.zip", of_a_later_method(zipped([("a", DATA)]))),
    ],
)
def test_a_damaged_archive_leaves_nothing(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(
        FileFormatError, match=r"(?s)could not be unpacked: .*\. Delete it and fetch it again"
    ):
        utils.extract_archive(tmp_path / name, remove_finished=True)
    assert files_in(tmp_path) == [name]


def test_an_archive_is_fetched_and_unpacked(server, tmp_path):
    server.files["/set.tgz"] = tar({"set/a": DATA})
    checksum = md5(server.files["/set.tgz"])
    place = utils.download_and_extract_archive(
        server.url + "/set.tgz", tmp_path / "get", tmp_path / "put", "other.tgz", checksum
    )
    assert place == str(tmp_path / "put")
    assert files_in(tmp_path) == ["get", "get/other.tgz", "put", "put/set", "put/set/a"]
    utils.download_and_extract_archive(
        server.url + "/set.tgz", tmp_path / "get", remove_finished=True
    )
    assert files_in(tmp_path / "get") == ["other.tgz", "set", "set/a"]
    assert server.requests == ["/set.tgz"] * 2
    with pytest.raises(DownloadError):
        utils.download_and_extract_archive(server.url + "/set.tgz", tmp_path / "new", md5=md5(b""))
    assert files_in(tmp_path / "new") == []


def test_an_older_python_unpacks_nothing(tmp_path, monkeypatch):
    import tarfile

    monkeypatch.delattr(tarfile, "data_filter")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("inside"))
    with pytest.raises(NotImplementedError, match=r"use 3.11.4 or newer"):
        utils.extract_archive(tmp_path / "a.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar"]
