"""Damaged files: an error that names the file, or exactly what a strict reader of the format finds there."""

import json
import math
import random
import re
import struct

import pytest

import tensorlab
from tensorlab import safetensors
from tensorlab.errors import DTypeError, FileFormatError
from tests.limits import Limits

SIZES = {  # bytes of a number, for the dtypes that both know
    **dict.fromkeys(
        ["BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0"], 1
    ),
    **dict.fromkeys(["I16", "U16", "F16", "BF16"], 2),
    **dict.fromkeys(["I32", "U32", "F32"], 4),
    **dict.fromkeys(["I64", "U64", "F64", "C64"], 8),
}


class Refused(Exception):
    """The strict reader has found something wrong."""


def require(condition):
    if not condition:
        raise Refused


def objects(pairs):
    require(len(dict(pairs)) == len(pairs))
    return dict(pairs)


def no_constant(text):
    raise Refused


def is_size(value):
    return type(value) is int and 0 <= value < 2**63


def strictly_read(data):
    """Return {name: (dtype, shape, bytes)} as the format's description has it; Refused if it is broken."""
    require(len(data) >= 8)
    length = struct.unpack_from("<Q", data)[0]
    require(length <= len(data) - 8)
    try:
        text = data[8 : 8 + length].decode()
        header = json.loads(text, object_pairs_hook=objects, parse_constant=no_constant)
    except (ValueError, RecursionError):
        raise Refused from None
    require(isinstance(header, dict))
    metadata = header.pop("__metadata__", None)
    metadata = {} if metadata is None else metadata
    require(isinstance(metadata, dict) and all(isinstance(one, str) for one in metadata.values()))
    place, found = 0, {}
    for one in header.values():
        require(isinstance(one, dict) and {"dtype", "shape", "data_offsets"} <= one.keys())
        require(isinstance(one["shape"], list) and all(map(is_size, one["shape"])))
        offsets = one["data_offsets"]
        require(isinstance(offsets, list) and len(offsets) == 2 and all(map(is_size, offsets)))
        require(one["dtype"] in SIZES)
    for name, one in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        start, stop = one["data_offsets"]
        require(start == place and stop - start == math.prod(one["shape"]) * SIZES[one["dtype"]])
        require(len(one["shape"]) <= 16 and all(size < 2**63 for size in one["shape"]))
        part = data[8 + length + start : 8 + length + stop]
        require(len(part) == stop - start)
        require(one["dtype"] != "BOOL" or max(part, default=0) <= 1)
        found[name], place = (one["dtype"], tuple(one["shape"]), part), stop
    require(place == len(data) - 8 - length)
    return found


NAMES = {dtype: code for code, dtype in safetensors.library.DTYPE_OF_CODE.items()}


def shown(tensors):
    return {
        name: (NAMES[x.dtype], tuple(x.shape), bytes(x.reshape(-1).view(tensorlab.uint8).tolist()))
        for name, x in tensors.items()
    }


def honest():
    tensors = {
        name: tensorlab.tensor([0, 1, 1, 0, 1, 1]).to(dtype).reshape(2, 3)
        for name, dtype in safetensors.library.DTYPE_OF_CODE.items()
    }
    tensors |= {"empty": tensorlab.zeros(0, 3), "one": tensorlab.tensor(7), "a": tensorlab.ones(4)}
    return safetensors.save(tensors, {"unit": "m", "note": "n"})


def parts(data):
    length = struct.unpack_from("<Q", data)[0]
    return data[8 : 8 + length], data[8 + length :]


def joined(header, data):
    return struct.pack("<Q", len(header)) + header + data


# ------------------------------------------------------------ mutants
def flipped_header(data, rng):
    header, rest = parts(data)
    header = bytearray(header)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        header[rng.randrange(len(header))] ^= 1 << rng.randrange(8)
    return joined(bytes(header), rest)


def replaced_number(data, rng):
    """Change a number of the header: a size, an offset, or what is in a dtype's name."""
    header, rest = parts(data)
    found = rng.choice(list(re.finditer(rb"\d+", header)))
    number = int(found[0])
    choices = [number + 1, max(0, number - 1), number * 2, 0, 2**31, 2**32, 2**62, 2**63, 2**64]
    text = rng.choice([*(str(one).encode() for one in choices), b"-1", b"1e3", b"null", b"01"])
    return joined(header[: found.start()] + text + header[found.end() :], rest)


def truncated(data, rng):
    return data[: rng.randrange(len(data))]


def with_more(data, rng):
    place = rng.choice([len(data), rng.randrange(len(data))])
    return data[:place] + rng.randbytes(rng.randrange(1, 9)) + data[place:]


def other_length(data, rng):
    length = struct.unpack_from("<Q", data)[0]
    new = [0, 1, length - 1, length + 1, length + 8, len(data), len(data) - 8, 10**8, 2**32, 2**63]
    return struct.pack("<Q", rng.choice([*new, 2**64 - 1, rng.getrandbits(64)])) + data[8:]


def described_otherwise(data, rng):
    """Change what a tensor's entry says, in valid JSON: overlaps, gaps, other shapes, more and fewer fields."""
    header, rest = parts(data)
    described = json.loads(header)
    names = [name for name in described if name != "__metadata__"]
    one, other = (described[name] for name in rng.sample(names, 2))
    kind = rng.randrange(9)
    if kind == 0:
        one["data_offsets"] = list(other["data_offsets"])
    elif kind == 1:
        one["data_offsets"], other["data_offsets"] = other["data_offsets"], one["data_offsets"]
    elif kind == 2:
        one["data_offsets"] = [place + rng.choice([-8, -4, 1, 8]) for place in one["data_offsets"]]
    elif kind == 3:
        one["data_offsets"].reverse()
    elif kind == 4:
        one["shape"] = rng.choice(
            [[], [6], [3, 2], [0], [1] * 70, [2**62, 0], [2**40, 2**40], [-2]]
        )
    elif kind == 5:
        one["dtype"] = rng.choice([*SIZES, "F4", "F6_E2M3", "X", "", "f32", None, 3])
    elif kind == 6:
        del one[rng.choice(list(one))]
    elif kind == 7:
        del described[rng.choice(names)]
    else:
        described["__metadata__"] = rng.choice([{}, {"a": 1}, [], "x", None, {"a": "b"}, {"a": {}}])
    return joined(json.dumps(described).encode(), rest)


def twice(data, rng):
    """Repeat a tensor's entry, with the same bytes or other ones."""
    header, rest = parts(data)
    found = rng.choice(list(re.finditer(rb'"\w+":\{"dtype[^}]*\}', header)))
    other = rng.choice(list(re.finditer(rb'"dtype[^}]*\}', header)))
    again = found[0][: found[0].index(b"{") + 1] + other[0]
    place = rng.choice([found.start(), found.end() + 1])
    entry = again + b"," if header[place : place + 1] == b'"' else b"," + again + b"}"
    return joined(header[:place] + entry + header[place:].lstrip(b"} "), rest)


def flipped_anywhere(data, rng):
    data = bytearray(data)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


KINDS = [flipped_header, replaced_number, truncated, with_more, other_length]
KINDS += [described_otherwise, described_otherwise, twice, flipped_anywhere]


def outcome(read, where):
    """Return what is read, or None if it is refused in words that name the file."""
    try:
        return shown(read())
    except (FileFormatError, DTypeError) as error:
        return None if where in str(error) else error


def try_mutants(count, seed, tmp_path):
    original, rng = honest(), random.Random(seed)
    path, refused = tmp_path / "damaged.safetensors", 0
    path.write_bytes(original)
    limits = Limits(lambda: shown(safetensors.load_file(path)))
    limits_of_bytes = Limits(lambda: shown(safetensors.load(original)))
    for number in range(count):
        data = KINDS[number % len(KINDS)](original, rng)
        path.write_bytes(data)
        try:
            expected = strictly_read(data)
        except Refused:
            expected, refused = None, refused + 1
        with limits.kept():
            from_file = outcome(lambda: safetensors.load_file(path), str(path))
        with limits_of_bytes.kept():
            from_bytes = outcome(lambda data=data: safetensors.load(data), "load: the data")
        assert from_file == expected, data
        assert from_bytes == expected, data
    assert count * 0.6 < refused < count * 0.98


def test_the_strict_reader_reads_an_honest_file(tmp_path):
    data = honest()
    assert len(strictly_read(data)) == 3 + len(NAMES)
    assert strictly_read(data) == shown(safetensors.load(data))
    assert strictly_read(joined(*parts(data))) == strictly_read(data)


def test_damaged_files_are_refused_or_read_as_they_are(tmp_path):
    try_mutants(200, 0, tmp_path)


@pytest.mark.nightly
def test_two_thousand_damaged_files(tmp_path):
    try_mutants(2000, 1, tmp_path)


# ------------------------------------------------------------ what errors say
ENTRY = b'"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "header too small"),
        (b"hello, world", "too large|invalid"),
        (struct.pack("<Q", 2**63) + b"{}", "too large"),
        (struct.pack("<Q", 20) + b"{}", "invalid header length|too large|too small"),
        (joined(b"{" + ENTRY + b"}", b"abc"), "not fully covered"),
        (joined(b"{" + ENTRY + b"}", b"abcde"), "not fully covered"),
        (joined(b"{" + ENTRY + b"," + ENTRY + b"}", b"abcd"), "its header has 'x' twice"),
        (joined(b'{"__metadata__":{"b":"","a":"b","a":"c"}}', b""), "its header has 'a' twice"),
        (
            joined(b"{" + ENTRY.replace(b"[1]", b"[2]") + b"}", b"abcd"),
            "shape|TensorInvalidInfo|info",
        ),
        (
            joined(
                b'{"q":{"dtype":"F32","shape":%s,"data_offsets":[0,0]}}'
                % json.dumps([0] * 17).encode(),
                b"",
            ),
            "tensor 'q': .*17 dimensions given, at most 16",
        ),
    ],
)
def test_an_error_names_the_file_and_the_reason(data, message, tmp_path):
    path = tmp_path / "x.safetensors"
    path.write_bytes(data)
    for read in (safetensors.load_file, safetensors.safe_open):
        if read is safetensors.safe_open and "dimensions" in message:
            continue  # a tensor that is not read harms nobody
        with pytest.raises(FileFormatError, match=f"x.safetensors is damaged.*({message})"):
            read(path)
    with pytest.raises(FileFormatError, match=f"^load: the data is damaged.*({message})"):
        safetensors.load(data)
