"""Damaged and hostile files: an error, never other numbers, a running program or a dead interpreter."""

import io
import pickle
import random
import struct
import zipfile
import zlib
from collections import OrderedDict

import pytest

import tensorlab
from tensorlab.errors import DeviceError, FileFormatError, UnsafeGlobal
from tensorlab.serialization.legacy import START
from tensorlab.serialization.pickler import dumps
from tensorlab.serialization.storages import Storages
from tensorlab.serialization.unpickler import Unpickler
from tests.serialization import examples
from tests.serialization.zips import rewritten, saved


def honest():
    return {
        **examples.tensors(tensorlab),
        **examples.containers(tensorlab),
        "extra": {"a": (1, [2.5])},
    }


def plain(obj):
    return {name: x for name, x in obj.items() if "attributes" not in name}


SNIPPETS = [
    *(b"(", b"t", b"R", b"b", b"Q", b"\x81", b"a", b"e", b"s", b"u", b"0", b"]", b"}", b")", b"N"),
    *(b"\x85", b"\x86", b"\x87", b"\x8f", b"\x90", b"\x91", b"h\x05", b"q\x05", b"K\xff", b"."),
    *(
        b"J\xff\xff\xff\x7f",
        b"J\xff\xff\xff\xff",
        b"\x8a\x08" + b"\xff" * 7 + b"\x7f",
        b"ctorch\nSize\n",
    ),
    *(b"ctorch\ndevice\n", b"ctorch._utils\n_rebuild_tensor_v2\n", b"cbuiltins\nset\n"),
]


@pytest.mark.parametrize("seed", range(4))
def test_changed_pickles_do_no_harm(seed):
    rng, outcomes = random.Random(seed), {"read": 0, "refused": 0}
    data, storages = dumps(plain(honest()))

    def fetch(key, size):
        if not key.isdigit() or int(key) >= len(storages) or len(storages[int(key)]) != size:
            raise FileFormatError("no such storage")
        return storages[int(key)]

    for _ in range(500):
        changed = bytearray(data)
        for _ in range(rng.randrange(1, 6)):
            place = rng.randrange(len(changed))
            if rng.random() < 0.5:
                changed[place] = rng.randrange(256)
            else:
                changed[place : place + rng.randrange(3)] = rng.choice(SNIPPETS)
        file = io.BytesIO(bytes(changed))
        try:
            Unpickler(file.read, file.readline, Storages(fetch, None).persistent_load).load()
            outcomes["read"] += 1
        except (FileFormatError, DeviceError):
            outcomes["refused"] += 1
    assert outcomes["refused"] > 300


# ------------------------------------------------------------ hostile pickles
def in_a_file(pickled):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("x/data.pkl", pickled)
        out.writestr("x/version", "3\n")
    file.seek(0)
    return file


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def text(words):
    return b"X" + struct.pack("<I", len(words.encode())) + words.encode()


DANGEROUS = [
    *(("os", "system"), ("posix", "system"), ("builtins", "eval"), ("builtins", "exec")),
    *(("builtins", "open"), ("builtins", "getattr"), ("__builtin__", "__import__")),
    *(("subprocess", "Popen"), ("shutil", "rmtree"), ("operator", "attrgetter")),
    *(("pickle", "loads"), ("_pickle", "loads"), ("importlib", "import_module")),
    *(("torch.hub", "load"), ("torch", "load"), ("torch", "save"), ("torch.jit", "load")),
    *(("tensorlab", "load"), ("tensorlab", "save"), ("tensorlab.serialization", "save")),
    *(("tensorlab.serialization.names", "add_safe_globals"), ("builtins", "type")),
    *(("numpy", "load"), ("numpy.core.multiarray", "_reconstruct"), ("ctypes", "CDLL")),
    *(("types", "FunctionType"), ("types", "CodeType"), ("socket", "socket"), ("sys", "exit")),
    *(("collections", "namedtuple"), ("functools", "partial"), ("runpy", "run_path")),
    *(("torch._utils", "_import_dotted_name"), ("torch._utils", "_rebuild_wrapper_subclass")),
    *(("torch.storage", "_load_from_bytes"), ("torch._utils", "__dict__"), ("", "")),
]
CALLS = {
    "reduced": lambda what: what + text("x") + b"\x85R.",
    "made": lambda what: what + b")\x81.",
    "built": lambda what: what + b")R}" + text("a") + b"K\x01sb.",
    "only named": lambda what: what + b".",
    "in a list": lambda what: b"](" + what + text("x") + b"\x85Re.",
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("target", DANGEROUS, ids=".".join)
def test_nothing_is_imported_because_a_file_names_it(target, call, monkeypatch):
    monkeypatch.setattr("os.system", lambda *given: pytest.fail("the file has run a program"))
    pickled = b"\x80\x02" + CALLS[call](name(*target))
    with pytest.raises(UnsafeGlobal, match="which is not allowed"):
        tensorlab.load(in_a_file(pickled))
    with pytest.raises(pickle.UnpicklingError):
        tensorlab.load(in_a_file(pickled), weights_only=True)


ODD = {
    "a dtype is called": name("torch", "float32") + b")R.",
    "a storage type is called": name("torch", "FloatStorage") + b")R.",
    "a list is called": b"])R.",
    "a memory of a size": name("builtins", "bytearray") + b"\x8a\x06\x00\x00\x00\x00\x00\x7f\x85R.",
    "bytes of a size": name("builtins", "bytes") + b"\x8a\x06\x00\x00\x00\x00\x00\x7f\x85R.",
    "a call without a tuple": name("collections", "OrderedDict") + b"]R.",
    "an empty stack": b"0.",
    "no end": b"]",
    "a missing mark": b"]e.",
    "a mark as the result": b"(.",
    "a mark in a tuple": b"(\x85.",
    "a tuple without its items": b"K\x01\x86.",
    "a wrong memo": b"h\x09.",
    "an old instruction": b"I1\n.",
    "a module": b"i os\nsystem\n.",
    "an instance": b"(o.",
    "an extension": b"\x82\x01.",
    "an out-of-band buffer": b"\x97.",
    "a later protocol": b"\x80\x09N.",
    "a long text that is not there": b"\x8d" + b"\xff" * 8 + b".",
    "a dict with an odd number of items": b"}(K\x01u.",
    "a list as a key": b"}]K\x01s.",
    "an id that is no tuple": b"K\x01Q.",
    "an id of another kind": text("module") + b"\x85Q.",
    "attributes of a list": b"]}b.",
    "set items of a list": b"]K\x01K\x02s.",
    "append to a dict": b"}K\x01a.",
    "add to a list": b"](K\x01\x90.",
    "encode with another codec": name("_codecs", "encode") + text("a") + text("rot13") + b"\x86R.",
    "a size of text": name("torch", "Size") + text("ab") + b"\x85R.",
    "tuples in tuples": b")" + b"\x85" * 1000 + b".",
    "a deep key": b"})" + b"\x85" * 100_000 + b"K\x01s.",
}


@pytest.mark.parametrize("what", ODD)
def test_what_no_checkpoint_has_is_refused(what):
    with pytest.raises(FileFormatError):
        tensorlab.load(in_a_file(b"\x80\x02" + ODD[what]))


CPU = text("cpu")


def tensor_of(offset, size, stride, count=4, kind="FloatStorage", key="0", location=CPU):
    """Return a pickle of a tensor over a storage of some numbers."""
    number = lambda n: b"\x8a\x09" + n.to_bytes(9, "little", signed=True)
    numbers = lambda items: b"(" + b"".join(map(number, items)) + b"t"
    identity = b"(" + text("storage") + name("torch", kind) + text(key) + location + number(count)
    parts = identity + b"tQ" + number(offset) + numbers(size) + numbers(stride) + b"\x89}"
    return b"\x80\x02" + name("torch._utils", "_rebuild_tensor_v2") + b"(" + parts + b"tR."


@pytest.mark.parametrize(
    "options",
    [
        {"offset": 1, "size": [4], "stride": [1]},
        {"offset": 0, "size": [5], "stride": [1]},
        {"offset": -1, "size": [2], "stride": [1]},
        {"offset": 0, "size": [2, 2], "stride": [3, 1]},
        {"offset": 0, "size": [-1], "stride": [1]},
        {"offset": 0, "size": [2], "stride": [-1]},
        {"offset": 3, "size": [2], "stride": [-1]},
        {"offset": 0, "size": [2], "stride": [1, 1]},
        {"offset": 0, "size": [2**62, 4], "stride": [1, 1]},
        {"offset": 0, "size": [2**63], "stride": [0]},
        {"offset": 2**62, "size": [1], "stride": [1]},
        {"offset": 0, "size": [2], "stride": [2**62]},
        {"offset": 0, "size": [4], "stride": [1], "count": 5},
        {"offset": 0, "size": [4], "stride": [1], "count": -1},
        {"offset": 0, "size": [4], "stride": [1], "count": 2**60},
        {"offset": 0, "size": [4], "stride": [1], "kind": "DoubleStorage"},
        {"offset": 0, "size": [4], "stride": [1], "key": "../../etc/passwd"},
        {"offset": 0, "size": [1] * 200, "stride": [1] * 200},
        {"offset": 0, "size": [4], "stride": [1], "location": b"K\x01"},
        {"offset": 0, "size": [4], "stride": [1], "location": b"N"},
    ],
    ids=str,
)
def test_a_tensor_outside_its_storage_is_refused(options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("x/data.pkl", tensor_of(**options))
        out.writestr("x/data/0", bytes(16))
    file.seek(0)
    with pytest.raises(FileFormatError):
        tensorlab.load(file)


@pytest.mark.parametrize(
    "options",
    [{"kind": "float32"}, {"location": b"N"}, {"location": b"K\x01"}, {"count": -1}],
    ids=str,
)
def test_a_storage_that_is_described_wrongly_is_named(options):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("x/data.pkl", tensor_of(0, [4], [1], **options))
        out.writestr("x/data/0", bytes(16))
    file.seek(0)
    with pytest.raises(FileFormatError, match="the file describes storage '0' wrongly"):
        tensorlab.load(file)


def test_the_helper_makes_an_honest_tensor_too():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("x/data.pkl", tensor_of(1, [3], [1]))
        out.writestr("x/data/0", struct.pack("<4f", 1, 2, 3, 4))
    file.seek(0)
    assert tensorlab.load(file).tolist() == [2, 3, 4]


# ------------------------------------------------------------ hostile zip files
def compressed(info, data):
    info.compress_type = zipfile.ZIP_DEFLATED
    return [(info, data)]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda info, data: [(info, data), (zipfile.ZipInfo(info.filename), data)], "two entries"),
        (compressed, "is compressed"),
        (
            lambda info, data: [] if info.filename.endswith("/0") else [(info, data)],
            "no entry 'data/0'",
        ),
        (lambda info, data: [] if "pkl" in info.filename else [(info, data)], "data.pkl"),
        (
            lambda info, data: [(info, data[:-4] if "/0" in info.filename else data)],
            "its tensors need",
        ),
        (
            lambda info, data: [(info, data + b"\0" if "/0" in info.filename else data)],
            "its tensors need",
        ),
        (
            lambda info, data: [(info, b"middle" if "byteorder" in info.filename else data)],
            "byte order",
        ),
        (
            lambda info, data: [(info, data), ("other/data.pkl", data)][
                : 1 + ("pkl" in info.filename)
            ],
            "data.pkl",
        ),
    ],
)
def test_a_file_with_other_entries_is_refused(change, message):
    data = saved({"a": tensorlab.arange(4.0)})
    with pytest.raises(FileFormatError, match=message):
        tensorlab.load(io.BytesIO(rewritten(data, change)))


def test_an_entry_that_claims_to_be_compressed_is_refused():
    data = bytearray(saved({"a": tensorlab.arange(4.0)}))
    place = data.index(b"data/0", data.index(b"PK\1\2")) - len("archive/") - 46
    data[place + 10] = 8  # its method in the directory: deflated; both sizes stay equal
    with pytest.raises(FileFormatError, match="entry 'archive/data/0' is compressed"):
        tensorlab.load(io.BytesIO(data))


def test_entries_that_share_bytes_are_refused():
    data = bytearray(saved([tensorlab.zeros(4), tensorlab.zeros(4)]))
    directory = data.index(b"PK\1\2")
    second = data.index(b"data/1", directory) - len("archive/") - 46
    first = data.index(b"data/0", directory) - len("archive/") - 46
    data[second + 42 : second + 46] = data[first + 42 : first + 46]
    with pytest.raises(FileFormatError, match="another name in its header|overlap"):
        tensorlab.load(io.BytesIO(data))


def test_nothing_is_written_beside_a_file_that_climbs(tmp_path):
    file = tmp_path / "x.pt"
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("../../outside/data.pkl", b"\x80\x02N.")
    with pytest.raises(FileFormatError):
        tensorlab.load(file)
    assert [path.name for path in tmp_path.iterdir()] == ["x.pt"]


@pytest.mark.parametrize(
    "start", [b"", b"P", b"PK", b"\x80\x02N.", b"hello", b"\x1f\x8b", b"PK\5\6" + bytes(18)]
)
def test_what_is_no_checkpoint_is_refused(start):
    with pytest.raises(FileFormatError):
        tensorlab.load(io.BytesIO(start))


def test_a_damaged_entry_is_named():
    data = bytearray(saved({"a": tensorlab.arange(4.0)}))
    place = data.index(struct.pack("<4f", 0, 1, 2, 3))
    data[place + 5] ^= 1
    with pytest.raises(FileFormatError, match="entry 'archive/data/0' is damaged: its checksum"):
        tensorlab.load(io.BytesIO(data))


# ------------------------------------------------------------ details
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_pickles_of_all_newer_protocols_are_read(protocol):
    obj = {
        "sets": [[{1, 2, "x"}], [frozenset({3})]],
        "deep": [[[(1, (2, (3,)))]]],
        "t": (None, True),
    }
    obj |= {
        "numbers": [0, 255, 256, 65536, -1, 2**40, -(2**80), 0.5],
        "bytes": b"ab",
        "text": "é" * 300,
    }
    if protocol < 4:
        del obj["sets"]  # which names set and frozenset as a call; see test_exchange.py
    assert tensorlab.load(in_a_file(pickle.dumps(obj, protocol))) == obj


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("append to a dict", "appends to a dict"),
        ("set items of a list", "sets items of a list"),
        ("add to a list", "adds to a list"),
        ("attributes of a list", "changes a list"),
        ("tuples in tuples", "nests tuples deeper than 100"),
        ("a missing mark", "a mark is missing"),
        ("a call without a tuple", "calls a function without a tuple"),
        ("a tuple without its items", "a tuple lacks items"),
        ("a mark as the result", "a mark is left over"),
        ("a long text that is not there", "not a valid checkpoint|ends in the middle"),
        ("an id that is no tuple", "refers to 1; expected a storage"),
        ("an old instruction", "pickle instruction b'I', which no checkpoint needs"),
        ("a later protocol", "protocol 9; expected 2 to 5"),
        ("a dtype is called", "calls tensorlab.float32, which is not allowed"),
    ],
)
def test_an_error_says_what_the_file_does(what, message):
    with pytest.raises(FileFormatError, match=message):
        tensorlab.load(in_a_file(b"\x80\x02" + ODD[what]))


def test_a_hundred_tuples_in_each_other_are_read():
    deep = tensorlab.load(in_a_file(b"\x80\x02)" + b"\x85" * 99 + b"."))
    for _ in range(99):
        (deep,) = deep
    assert deep == ()
    with pytest.raises(FileFormatError, match="deeper than 100"):
        tensorlab.load(in_a_file(b"\x80\x02)" + b"\x85" * 100 + b"."))


class Callable:
    def __call__(self):
        pytest.fail("an object of an allowed class was called")


def test_what_a_file_makes_is_not_called():
    names = tensorlab.serialization
    made = name(__name__, "Callable") + b")\x81"
    with names.safe_globals([Callable]):
        assert isinstance(tensorlab.load(in_a_file(b"\x80\x02" + made + b".")), Callable)
        with pytest.raises(UnsafeGlobal, match="calls .*Callable.*which is not allowed"):
            tensorlab.load(in_a_file(b"\x80\x02" + made + b")R."))


class Settings:
    """What a program may allow; its attributes are set one by one."""


class Width(Settings):
    """The same with a method of its own for them."""

    def __setstate__(self, state):
        self.width = 2 * state["width"]


@pytest.mark.parametrize("kind", [Settings, Width])
def test_attributes_are_set_only_on_what_is_allowed(kind):
    attributes = b"}" + text("width") + b"K\x03sb."
    pickled = b"\x80\x02" + name(__name__, kind.__name__) + b")\x81" + attributes
    with tensorlab.serialization.safe_globals([kind]):
        assert tensorlab.load(in_a_file(pickled)).width == (6 if kind is Width else 3)
        for other in ("a list", "a dict"):
            start = b"\x80\x02" + {"a list": b"]", "a dict": b"}"}[other]
            with pytest.raises(FileFormatError, match=f"the file changes {other}"):
                tensorlab.load(in_a_file(start + attributes))


def test_a_tensor_can_be_given_attributes():
    pickled = tensor_of(0, [2], [1])[:-1] + b"}" + text("note") + b"K\x03sb."
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("x/data.pkl", pickled)
        out.writestr("x/data/0", bytes(16))
    file.seek(0)
    found = tensorlab.load(file)
    assert (found.tolist(), found.note) == ([0, 0], 3)


def test_a_name_is_written_once():
    data, _ = dumps([tensorlab.float32] * 5 + [tensorlab.ones(1), tensorlab.ones(2)])
    assert [data.count(one) for one in (b"float32", b"FloatStorage", b"_rebuild_tensor_v2")] == [
        1
    ] * 3


def test_a_header_with_another_name_is_refused():
    data = bytearray(saved({"a": tensorlab.arange(4.0)}))
    data[data.index(b"archive/data/0")] ^= 1  # in the header; the directory comes later
    with pytest.raises(FileFormatError, match="'archive/data/0' has another name in its header"):
        tensorlab.load(io.BytesIO(data))


@pytest.mark.parametrize("letter", range(4))
def test_a_header_that_is_none_is_refused(letter):
    data = bytearray(saved({"a": tensorlab.arange(4.0)}))
    data[data.index(b"archive/data/0") - 30 + letter] ^= 1  # PK and two numbers
    with pytest.raises(FileFormatError, match="'archive/data/0' is damaged: its header is not"):
        tensorlab.load(io.BytesIO(data))


class Short(io.BytesIO):
    """A file that has become shorter since it was opened."""

    def readinto(self, memory):
        return super().readinto(memory[: len(memory) // 2])


def test_a_file_that_shrinks_is_refused():
    with pytest.raises(FileFormatError, match="is cut off"):
        tensorlab.load(Short(saved(tensorlab.arange(100))))


def test_entries_have_one_date():
    with zipfile.ZipFile(io.BytesIO(saved(1))) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_an_entry_within_another_is_refused():
    inner = struct.pack(
        "<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 33, zlib.crc32(bytes(16)), 16, 16, 8, 0
    )
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("x/data.pkl", tensor_of(0, [4], [1], key="1"))
        out.writestr("x/data/0", inner + b"x/data/1" + bytes(16))
        out.writestr("x/data/1", bytes(16))
    data = bytearray(file.getvalue())
    assert tensorlab.load(io.BytesIO(data)).tolist() == [0, 0, 0, 0]
    directory = data.index(b"PK\1\2")
    place = data.index(b"x/data/1", directory) - 46
    struct.pack_into("<I", data, place + 42, data.index(inner))
    with pytest.raises(FileFormatError, match="entries 'x/data/0' and 'x/data/1' overlap"):
        tensorlab.load(io.BytesIO(data))


def test_names_of_newer_pickles_are_found():
    names = tensorlab.serialization
    data = pickle.dumps({"a": ["b", OrderedDict(c=1)]}, protocol=4)
    assert tensorlab.load(in_a_file(data)) == {"a": ["b", OrderedDict(c=1)]}
    hostile = b"\x80\x04" + text("first") + text("posix") + text("system") + b"\x93."
    assert names.get_unsafe_globals_in_checkpoint(in_a_file(hostile)) == ["posix.system"]
    assert names.get_unsafe_globals_in_checkpoint(in_a_file(data)) == []


def test_a_mapped_storage_has_its_own_size(tmp_path):
    tensorlab.save([tensorlab.zeros(4), tensorlab.ones(8)], tmp_path / "x.pt")
    found = tensorlab.load(tmp_path / "x.pt", mmap=True)
    assert [x.untyped_storage().nbytes() for x in found] == [16, 32]


def test_an_entry_larger_than_the_file_is_refused():
    data = bytearray(saved({"a": tensorlab.arange(4.0)}))
    place = data.index(b"data/0", data.index(b"PK\1\2")) - len("archive/") - 46
    struct.pack_into("<II", data, place + 20, 10**9, 10**9)
    with pytest.raises(
        FileFormatError, match="'archive/data/0' has 1000000000 bytes, and the whole file"
    ):
        tensorlab.load(io.BytesIO(data))


@pytest.mark.parametrize("threads", [1, 2])
def test_large_entries_are_read_by_threads_and_checked(threads, tmp_path):
    sizes = [300_000, 10, 524_288 // 2, 262_143, 700_000]  # around and above the size for a thread
    values = {str(i): tensorlab.arange(float(size)) + size for i, size in enumerate(sizes)}
    tensorlab.save(values, tmp_path / "a.pt")
    before = tensorlab.get_num_threads()
    tensorlab.set_num_threads(threads)
    try:
        for file in (tmp_path / "a.pt", io.BytesIO((tmp_path / "a.pt").read_bytes())):
            found = tensorlab.load(file)
            assert all(tensorlab.equal(found[name], x) for name, x in values.items())
        for key, size in enumerate(sizes):
            data = bytearray((tmp_path / "a.pt").read_bytes())
            place = data.index(values[str(key)].numpy().tobytes())
            data[place + 4 * size - 1] ^= 1
            with pytest.raises(FileFormatError, match=rf"'a/data/{key}' is damaged: its checksum"):
                tensorlab.load(io.BytesIO(data))
    finally:
        tensorlab.set_num_threads(before)


def test_a_mapped_storage_without_bytes_has_none(tmp_path):
    tensorlab.save([tensorlab.zeros(0, 3), tensorlab.ones(2)], tmp_path / "x.pt")
    found = tensorlab.load(tmp_path / "x.pt", mmap=True)
    assert [x.untyped_storage().nbytes() for x in found] == [0, 8]
    assert found[0].shape == (0, 3)


def test_the_head_of_an_older_file_has_no_storages():
    with pytest.raises(FileFormatError, match="the file's head refers to a storage"):
        tensorlab.load(io.BytesIO(START + b"\x80\x02K\x01Q."))
