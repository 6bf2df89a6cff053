"""Files of `safetensors.torch`, bit for bit in both directions."""

import pytest

import tensorlab
from tensorlab import safetensors
from tensorlab.errors import FileFormatError
from tests.oracle import require_torch
from tests.serialization.examples import DTYPES as ALSO_IN_PICKLES

torch = require_torch()
theirs = pytest.importorskip("safetensors.torch")

DTYPES = [
    *ALSO_IN_PICKLES,
    *("uint16", "uint32", "uint64", "complex64"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"),
]

# The bits of numbers of each size: zeros of both signs, infinities, NaNs with a payload, subnormal numbers, all ones.
BITS = {
    "int8": [0, 1, -1, 127, -128, 0x7C],
    "int16": [0, 1, -1, -0x8000, 0x7C00, -0x0400, 0x7E01, 0x7F80, 0x7FC1, 0x3C00],
    "int32": [0, 1, -1, -0x80000000, 0x7F800000, 0x7FC00001, 0x3F800000],
    "int64": [0, 1, -1, -(2**63), 0x7FF0000000000000, 0x7FF8000000000001, 0x3FF0000000000000],
}


def numbers(T, name):
    """Return a tensor of every kind of bits that a dtype has."""
    dtype = getattr(T, name)
    if name == "bool":
        return T.tensor([True, False, True])
    size = T.zeros(1, dtype=dtype).element_size()
    bits = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}[size]
    return T.tensor(BITS[bits], dtype=getattr(T, bits)).view(dtype)


def bits(x):
    return x.reshape(-1).view(torch.uint8 if isinstance(x, torch.Tensor) else tensorlab.uint8)


def tensors(T):
    made = {f"of {name}": numbers(T, name) for name in DTYPES}
    made |= {"ü\n\"'": T.ones(2, 3), "empty": T.zeros(0, 3), "number": T.tensor(2.5)}
    return made | {"deep": T.arange(24).reshape(2, 3, 4), "part": T.arange(10)[3:7], "": T.ones(1)}


METADATA = [None, {"unit": "m²", "b": '"', "": "\n"}]


@pytest.mark.parametrize("metadata", METADATA, ids=str)
def test_both_write_the_same_file(metadata, tmp_path):
    for name in (*DTYPES, "all"):
        ours_given, theirs_given = (
            {name: numbers(T, name)} if name != "all" else tensors(T) for T in (tensorlab, torch)
        )
        one = metadata and dict(list(metadata.items())[:1])  # the library's order of more changes
        assert safetensors.save(ours_given, one) == theirs.save(theirs_given, one)
        safetensors.save_file(ours_given, tmp_path / "ours", one)
        theirs.save_file(theirs_given, tmp_path / "theirs", one)
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.parametrize("metadata", METADATA, ids=str)
def test_each_reads_what_the_other_writes(metadata, tmp_path):
    ours, reference = tensors(tensorlab), tensors(torch)
    safetensors.save_file(ours, tmp_path / "ours", metadata)
    theirs.save_file(reference, tmp_path / "theirs", metadata)
    read = {
        "their file": theirs.load_file(tmp_path / "ours"),
        "their bytes": theirs.load((tmp_path / "ours").read_bytes()),
        "our file": safetensors.load_file(tmp_path / "theirs"),
        "our bytes": safetensors.load((tmp_path / "theirs").read_bytes()),
    }
    for found in read.values():
        assert sorted(found) == sorted(reference)
        for name, x in found.items():
            assert tuple(x.shape) == tuple(reference[name].shape)
            assert str(x.dtype).partition(".")[2] == str(reference[name].dtype).partition(".")[2]
            assert bits(x).tolist() == bits(reference[name]).tolist()
    with safetensors.safe_open(tmp_path / "theirs") as our_file:
        library = pytest.importorskip("safetensors")
        with library.safe_open(tmp_path / "theirs", "pt") as their_file:
            assert our_file.keys() == their_file.keys()
            assert our_file.offset_keys() == their_file.offset_keys()
            assert our_file.metadata() == their_file.metadata()
            for name in reference:
                part, other = our_file.get_slice(name), their_file.get_slice(name)
                assert part.get_dtype() == other.get_dtype()
                assert part.get_shape() == other.get_shape()
                assert bits(part[...]).tolist() == bits(other[...]).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda T: {"a": (x := T.arange(12.0)), "b": x[3:]},
        lambda T: {"a": (x := T.arange(12.0))[:4], "b": x[3:]},
        lambda T: {"a": (x := T.arange(12.0))[:4], "b": x[4:]},
        lambda T: {"a": T.arange(12.0).reshape(3, 4).t()},
        lambda T: {"a": T.arange(12.0)[::2]},
        lambda T: {"a": T.arange(12.0).reshape(3, 4)[:1].t()},
        lambda T: {"a": T.ones(1).expand(3)},
        lambda T: {"a": (x := T.zeros(0)), "b": x},
        lambda T: {"a": 1},
        lambda T: [T.ones(1)],
        lambda T: {1: T.ones(1)},
        lambda T: {"a": T.ones(1, device="meta")},
    ],
)
def test_both_refuse_the_same(make):
    outcomes = []
    for T, save in ((tensorlab, safetensors.save), (torch, theirs.save)):
        try:
            outcomes.append(save(make(T)))
        except (ValueError, TypeError, NotImplementedError, RuntimeError) as error:
            outcomes.append(error)
    ours, reference = outcomes
    if isinstance(reference, bytes):
        assert ours == reference
    else:
        assert isinstance(ours, tuple(kind for kind in type(reference).__mro__[:1]))


def test_where_we_are_stricter_or_more_lenient(tmp_path):
    """The differences that docs/appendix-differences.md names."""
    entry = b'"x":{"dtype":"%s","shape":[1],"data_offsets":[0,1]}'
    for header, data in (
        (b"{" + entry % b"U8" + b"," + entry % b"I8" + b"}", b"\xff"),
        (b"{" + entry % b"BOOL" + b"}", b"\2"),
    ):
        (tmp_path / "x").write_bytes(len(header).to_bytes(8, "little") + header + data)
        assert theirs.load_file(tmp_path / "x")["x"].tolist() in ([-1], [True])
        with pytest.raises(FileFormatError, match="has 'x' twice|is BOOL, and one of its bytes"):
            safetensors.load_file(tmp_path / "x")
    for T, save in ((tensorlab, safetensors.save_model), (torch, theirs.save_model)):
        model = T.nn.Module()
        model.register_buffer("part", T.arange(4.0)[:2])
        if T is torch:
            with pytest.raises(RuntimeError, match="None is covering the entire storage"):
                save(model, tmp_path / "model")
        else:
            save(model, tmp_path / "model")
            assert safetensors.load_file(tmp_path / "model")["part"].tolist() == [0, 1]
