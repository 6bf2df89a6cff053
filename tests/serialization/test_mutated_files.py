"""Checkpoints changed at random: an error or the same values, nothing written, little memory, little time."""

import io
import random
import struct
import zipfile

import pytest

import tensorlab
from tensorlab.errors import FileFormatError
from tests.limits import Limits
from tests.serialization import examples
from tests.serialization.zips import rewritten, saved

DIRECTORY = struct.Struct("<4s6H3I5H2I")  # an entry of the directory at the file's end


def honest():
    made = {
        **examples.tensors(tensorlab),
        **examples.containers(tensorlab),
        "extra": {"a": (1, [2.5])},
        "large": tensorlab.arange(20_000.0),
    }
    return {name: x for name, x in made.items() if "attributes" not in name}


# ------------------------------------------------------------ bytes
def flipped(data, rng):
    data = bytearray(data)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def cut_off(data, rng):
    return data[: rng.randrange(len(data))]


def without_a_part(data, rng):
    begin = rng.randrange(len(data))
    return data[:begin] + data[begin + rng.randrange(1, 300) :]


def with_more(data, rng):
    place = rng.randrange(len(data))
    return data[:place] + rng.randbytes(rng.randrange(1, 20)) + data[place:]


def replaced(data, rng):
    data = bytearray(data)
    for _ in range(rng.randrange(2, 20)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return data


# ------------------------------------------------------------ entries
def directory(data):
    """Return the place of each entry in the directory, and its name."""
    place, found = data.index(b"PK\1\2"), []
    while data[place : place + 4] == b"PK\1\2":
        fields = DIRECTORY.unpack_from(data, place)
        end = place + DIRECTORY.size + fields[10]
        found.append((place, bytes(data[place + DIRECTORY.size : end])))
        place = end + fields[11] + fields[12]
    return found


def changed_field(data, rng, at, values, size="I"):
    """Change a number in the directory's entry of something."""
    data = bytearray(data)
    place, _ = rng.choice(directory(data))
    (old,) = struct.unpack_from(f"<{size}", data, place + at)
    new = rng.choice([old + 1, old - 1, old * 2, *values]) % (1 << 8 * struct.calcsize(size))
    struct.pack_into(f"<{size}", data, place + at, new)
    return data


def other_size(data, rng):
    """Change a size in the directory: the stored, the real, or both."""
    data, changed = bytearray(data), rng.choice([(20,), (24,), (20, 24)])
    place, _ = rng.choice(directory(data))
    (old,) = struct.unpack_from("<I", data, place + 20)
    large = 2**31, 2**32 - 1, len(data), len(data) - 1
    new = rng.choice([0, old + 1, abs(old - 1), 2 * old, 10 * old + 64, *large])
    for at in changed:
        struct.pack_into("<I", data, place + at, new)
    return data


def other_checksum(data, rng):
    return changed_field(data, rng, 16, [0, rng.getrandbits(32)])


def other_place(data, rng):
    return changed_field(data, rng, 42, [0, len(data), 2**32 - 1, rng.randrange(len(data))])


def other_flags(data, rng):
    """An entry that is encrypted, compressed in some way, or of a later version."""
    return changed_field(data, rng, rng.choice([6, 8, 10]), [1, 8, 9, 12, 99], "H")


def swapped(data, rng):
    """Exchange two entries: the places of their headers, what the directory says of them, or their names."""
    data = bytearray(data)
    (one, name), (other, second) = rng.sample(directory(data), 2)
    kind = rng.randrange(3)
    if kind == 2 and len(name) == len(second):
        begin, size = DIRECTORY.size, len(name)
    else:
        begin, size = (42, 4) if kind == 0 else (16, 12)
    one, other = slice(one + begin, one + begin + size), slice(other + begin, other + begin + size)
    data[one], data[other] = data[other], data[one]
    return data


def exchanged_bytes(data, rng):
    """Exchange two pieces of the file."""
    data, size = bytearray(data), rng.choice([1, 4, 16, 64])
    one, other = (rng.randrange(len(data) - size) for _ in range(2))
    first, second = slice(one, one + size), slice(other, other + size)
    data[first], data[second] = bytes(data[second]), bytes(data[first])
    return data


# ------------------------------------------------------------ other zip files of the same entries
def chosen(data, rng):
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return rng.choice(file.namelist())


def doubled(data, rng):
    """An entry comes twice, the second time with other bytes or the same."""
    name = chosen(data, rng)

    def change(info, content):
        if info.filename != name:
            return [(info, content)]
        again = rng.choice([content, bytes(len(content)), content + b"\0", b""])
        pair = [(info, content), (zipfile.ZipInfo(name), again)]
        return pair[:: rng.choice([1, -1])]

    return rewritten(data, change)


def bomb(data, rng):
    """An entry is compressed, with as many zeros after it as fit into a few bytes."""
    name, more = chosen(data, rng), rng.choice([0, 10**6, 10**7])

    def change(info, content):
        if info.filename == name:
            info.compress_type, content = zipfile.ZIP_DEFLATED, content + bytes(more)
        return [(info, content)]

    return rewritten(data, change)


PATHS = "../", "/tmp/", "../../../../", "./", "C:\\", "..\\", "\0", "a/b/", "~/"


def climbing(data, rng):
    """One entry, or all, would lie somewhere else if a program unpacked the file."""
    path, only = rng.choice(PATHS), rng.choice([None, chosen(data, rng)])

    def change(info, content):
        if only in (None, info.filename):
            info = zipfile.ZipInfo(path + info.filename)
        return [(info, content)]

    return rewritten(data, change)


def linked(data, rng):
    """An entry says that it is a symbolic link."""
    name = chosen(data, rng)

    def change(info, content):
        if info.filename != name:
            return [(info, content)]
        link = zipfile.ZipInfo(name + rng.choice(["", "x"]))
        link.external_attr = 0o120777 << 16
        return [(link, rng.choice([content, b"/etc/passwd"]))]

    return rewritten(data, change)


def lost(data, rng):
    name = chosen(data, rng)
    return rewritten(data, lambda info, content: [(info, content)] * (info.filename != name))


KINDS = [flipped, cut_off, without_a_part, with_more, replaced, exchanged_bytes]
KINDS += [other_size, other_checksum, other_place, other_flags, swapped]
KINDS += [doubled, bomb, climbing, linked, lost]


def try_mutants(count, seed):
    """Load changed copies of a file; return how many of each kind were refused."""
    obj = honest()
    data, expected, rng = saved(obj), examples.shown(obj), random.Random(seed)
    limits = Limits(lambda: tensorlab.load(io.BytesIO(data)))
    refused = dict.fromkeys(KINDS, 0)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        changed = io.BytesIO(kind(data, rng))
        found = None
        try:
            with limits.kept():
                found = tensorlab.load(changed)
        except FileFormatError:
            refused[kind] += 1
        else:
            assert examples.shown(found) == expected, kind
    print(f"{limits.most} bytes at most, {limits.honest} honest; {limits.slowest:.2f} s at most")
    return refused


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    """A file that climbs would be seen in the folder or beside it."""
    folder = tmp_path / "some" / "folder"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    yield
    assert [path.name for path in tmp_path.rglob("*")] == ["some", "folder"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_changed_file_is_refused_or_gives_the_same():
    refused = try_mutants(480, 1)
    assert all(refused.values())
    assert sum(refused.values()) > 240


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("seed", range(10))
def test_ten_thousand_changed_files(seed):
    refused = try_mutants(1000, seed)
    assert sum(refused.values()) > 500
