"""Exercises of chapter 37, saving and loading."""

import os
import pickle
import random
import zlib
from collections import OrderedDict
from pathlib import Path

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, describe, expect, require

IMPORTS = """
import io
import os
import pickle
import zlib
from pathlib import Path

import tensorlab as torch
"""


class StoredBytes(Exercise):
    """How large will the file be?

    Write `stored_bytes(tensors)`. `tensors` is a list of tensors, some of which may be views of
    others. Return how many bytes of storages a file needs for all of them together: the pickle and the zip
    format don't count.
    """

    kind = "warm-up"
    idea = "What is shared, and what is dragged along"
    stub = """
        def stored_bytes(tensors):
            return sum(x.numel() * x.element_size() for x in tensors)
    """
    hints = [
        "A storage is saved whole, and once.",
        "`x.untyped_storage()` has `nbytes()` and `data_ptr()`. Two tensors over one storage have the same.",
    ]
    solution = """
        def stored_bytes(tensors):
            sizes = {}
            for x in tensors:
                storage = x.untyped_storage()
                sizes[storage.data_ptr()] = storage.nbytes()
            return sum(sizes.values())
    """
    reason = """
        Neither the shape of a tensor nor how much of its storage it shows matters. Only which
        storages there are.
    """
    wrong = [
        Wrong(
            """
            def stored_bytes(tensors):
                return sum(x.untyped_storage().nbytes() for x in tensors)
            """,
            says="saved once",
            why="Two tensors over one storage share it in the file.",
        ),
        Wrong(
            """
            def stored_bytes(tensors):
                return sum({x.data_ptr(): x.untyped_storage().nbytes() for x in tensors}.values())
            """,
            says="start at different places",
            why="data_ptr() of a tensor is where it starts; of a storage, where the storage starts.",
        ),
        Wrong(
            """
            def stored_bytes(tensors):
                seen = {}
                for x in tensors:
                    seen[x.untyped_storage().data_ptr()] = x.numel() * x.element_size()
                return sum(seen.values())
            """,
            says="saved whole",
            why="A view drags its whole storage along.",
        ),
    ]

    def check(stored_bytes):
        base, other = torch.randn(100), torch.arange(30)
        cases = {
            "one tensor": [base],
            "a tensor and its transpose": [base.reshape(10, 10), base.reshape(10, 10).t()],
            "a slice alone": [base[90:]],
            "two slices of one tensor": [base[:5], base[50:60]],
            "tensors of two types": [base, other, other[3:]],
            "an expanded number": [torch.ones(1).expand(50)],
            "a tensor twice": [other, other],
            "three tensors": [torch.ones(3), torch.ones(3), torch.ones(3, dtype=torch.float64)],
            "none": [],
        }
        for about, tensors in cases.items():
            by_storage = {
                x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in tensors
            }
            true, came = sum(by_storage.values()), stored_bytes(list(tensors))
            if came == true:
                continue
            said = f"For {about}, stored_bytes isn't {describe(came)}."
            starts = {x.data_ptr(): x.untyped_storage().nbytes() for x in tensors}
            require(
                came != sum(starts.values()),
                f"{said} Views of one storage may start at different places.",
            )
            require(
                came != sum(x.untyped_storage().nbytes() for x in tensors),
                f"{said} A storage is saved once, however many tensors show it.",
            )
            require(False, f"{said} A storage is saved whole, and once.")


class Compact(Exercise):
    """Nothing dragged along

    Write `compact(state)`. `state` is a dict of tensors. Return a dict with the same names in the same order,
    and tensors with the same values, so that a file of it holds nothing that no tensor shows: a tensor that
    shows only a part of its storage is replaced by a copy. But what is shared on purpose stays shared. A
    tensor that shows all of its storage stays as it is. And if one tensor object has several names, they get
    one and the same object. Copies are leaves; their `requires_grad` is as it was. `state` isn't changed.
    """

    kind = "implement"
    idea = "What is shared, and what is dragged along"
    stub = """
        def compact(state):
            return {name: x.clone() for name, x in state.items()}
    """
    hints = [
        "Compare `x.numel() * x.element_size()` with the bytes of the storage.",
        "Keep a dict from `id(x)` to the copy that you made of x.",
        "`x.detach().clone()` has no graph; then `requires_grad_(x.requires_grad)`.",
    ]
    solution = """
        def compact(state):
            copies, result = {}, {}
            for name, x in state.items():
                if x.numel() * x.element_size() >= x.untyped_storage().nbytes():
                    result[name] = x
                    continue
                if id(x) not in copies:
                    copies[id(x)] = x.detach().clone().requires_grad_(x.requires_grad)
                result[name] = copies[id(x)]
            return result
    """
    reason = """
        Whether a tensor is a view on purpose is something that no program can know. What it can know: a tensor that
        shows all of its storage costs nothing, and one object under two names was meant to be one.
    """
    wrong = [
        Wrong(
            """
            def compact(state):
                return {name: x.detach().clone().requires_grad_(x.requires_grad) for name, x in state.items()}
            """,
            says="shows all of its storage",
            why="Tied weights come back as two tensors.",
        ),
        Wrong(
            """
            def compact(state):
                result = {}
                for name, x in state.items():
                    if x.numel() * x.element_size() < x.untyped_storage().nbytes():
                        x = x.detach().clone().requires_grad_(x.requires_grad)
                    result[name] = x
                return result
            """,
            says="one and the same object",
            why="The same view under two names becomes two copies.",
        ),
        Wrong(
            """
            def compact(state):
                copies, result = {}, {}
                for name, x in state.items():
                    if x.numel() * x.element_size() >= x.untyped_storage().nbytes():
                        result[name] = x
                    else:
                        result[name] = copies.setdefault(id(x), x.detach().clone())
                return result
            """,
            says="requires_grad",
            why="A trained tensor comes back frozen.",
        ),
        Wrong(
            """
            def compact(state):
                copies = {}
                for name, x in state.items():
                    if x.numel() * x.element_size() < x.untyped_storage().nbytes():
                        if id(x) not in copies:
                            copies[id(x)] = x.detach().clone().requires_grad_(x.requires_grad)
                        state[name] = copies[id(x)]
                return state
            """,
            says="changed",
            why="The dict that was given is changed.",
        ),
        Wrong(
            """
            def compact(state):
                copies, result = {}, {}
                for name, x in state.items():
                    if x.is_contiguous():
                        result[name] = x
                    else:
                        result[name] = copies.setdefault(
                            id(x), x.detach().clone().requires_grad_(x.requires_grad)
                        )
                return result
            """,
            says="bytes more than",
            why="A row is contiguous and still drags its matrix along.",
        ),
    ]

    def check(compact):
        table, data = torch.randn(20, 8), torch.randn(200)
        row = data[7:15]
        learns = torch.randn(6, 6)[2].requires_grad_()
        cases = [
            {"weight": table, "bias": torch.randn(3)},
            {"a": data[3:9], "b": torch.arange(50).reshape(10, 5)[:, 1]},
            {"weight": table, "tied": table.t(), "again": table},
            {"row": row, "same": row, "other": data[7:15]},
            {"learns": learns, "whole": torch.ones(2, requires_grad=True)},
            OrderedDict(z=data[:1], a=torch.ones(0), m=torch.ones(1).expand(4)),
            {"wide": torch.randn(30, dtype=torch.float64)[::3], "flags": torch.ones(9).bool()[1:]},
        ]
        for given in cases:
            before = list(given.items())
            values = [x.tolist() for _, x in before]
            came = compact(given)
            unchanged = list(given) == [name for name, _ in before] and all(
                given[name] is x for name, x in before
            )
            require(unchanged, "compact has changed the dict that it was given.")
            require(
                isinstance(came, dict), f"compact returned a {type(came).__name__}; return a dict."
            )
            expect(list(came), [name for name, _ in before], "the names")
            objects = {}
            for (name, x), value in zip(before, values, strict=True):
                y = came[name]
                about = f"compact of {list(given)}: {name!r}"
                require(isinstance(y, torch.Tensor), f"{about} is {y!r}; expected a tensor.")
                expect(y.tolist(), value, f"the values of {name!r}")
                require(
                    y.dtype == x.dtype and y.shape == x.shape,
                    f"{about} has another dtype or shape.",
                )
                is_whole = x.numel() * x.element_size() >= x.untyped_storage().nbytes()
                require(
                    not is_whole or y is x,
                    f"{about} shows all of its storage, so it stays as it is.",
                )
                extra = y.untyped_storage().nbytes() - y.numel() * y.element_size()
                require(is_whole or extra <= 0, f"{about} needs {extra} bytes more than it shows.")
                require(
                    y.requires_grad == x.requires_grad and y.is_leaf,
                    f"{about}: requires_grad is {y.requires_grad}, and is_leaf {y.is_leaf}; expected "
                    f"{x.requires_grad} and True.",
                )
                require(
                    objects.setdefault(id(x), y) is y,
                    f"{about} was one tensor with another name; both must be one and the same object.",
                )


class Payload:
    """Rebuilt by a call of your choice."""

    def __init__(self, function, *args):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


class SafeLoads(Exercise):
    """A reader with a list

    Python's own reader can be restricted, too: a subclass of `pickle.Unpickler` may define
    `find_class(module, name)`, which is asked for every name in the file. Write `safe_loads(data, allowed)`.
    `data` is the bytes of a pickle. `allowed` is a dict from full names, such as "collections.OrderedDict",
    to what they stand for. Any other name must raise `pickle.UnpicklingError` with the full name in its
    message. Don't import anything.
    """

    kind = "implement"
    idea = "The shipped reader"
    stub = """
        def safe_loads(data, allowed):
            return pickle.loads(data)
    """
    hints = [
        "The full name is module and name with a dot between.",
        "Return what stands in `allowed`; don't ask the superclass.",
        "`Reader(io.BytesIO(data)).load()` reads from bytes.",
    ]
    solution = """
        def safe_loads(data, allowed):
            class Reader(pickle.Unpickler):
                def find_class(self, module, name):
                    full = f"{module}.{name}"
                    if full not in allowed:
                        raise pickle.UnpicklingError(f"{full} is not allowed")
                    return allowed[full]

            return Reader(io.BytesIO(data)).load()
    """
    reason = """
        The whole safety is in one function, if it never falls back on the import. Names can have dots inside, as in
        "OrderedDict.fromkeys", so compare the full name. The library's reader goes further: it doesn't know
        most instructions at all.
    """
    wrong = [
        Wrong(
            """
            def safe_loads(data, allowed):
                class Reader(pickle.Unpickler):
                    def find_class(self, module, name):
                        full = f"{module}.{name}"
                        if full in allowed:
                            return allowed[full]
                        return super().find_class(module, name)

                return Reader(io.BytesIO(data)).load()
            """,
            says="must raise",
            why="What isn't on the list is imported all the same.",
        ),
        Wrong(
            """
            def safe_loads(data, allowed):
                modules = {full.rpartition(".")[0] for full in allowed}

                class Reader(pickle.Unpickler):
                    def find_class(self, module, name):
                        if module not in modules:
                            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
                        return super().find_class(module, name)

                return Reader(io.BytesIO(data)).load()
            """,
            says="whole modules",
            why="A module has more in it than the one name that you wanted.",
        ),
        Wrong(
            """
            def safe_loads(data, allowed):
                class Reader(pickle.Unpickler):
                    def find_class(self, module, name):
                        full = f"{module}.{name}"
                        if not any(full.startswith(one) for one in allowed):
                            raise pickle.UnpicklingError(f"{full} is not allowed")
                        return super().find_class(module, name)

                return Reader(io.BytesIO(data)).load()
            """,
            says="begins like",
            why="A name with more behind it is another name.",
        ),
        Wrong(
            """
            def safe_loads(data, allowed):
                class Reader(pickle.Unpickler):
                    def find_class(self, module, name):
                        full = f"{module}.{name}"
                        if full not in allowed:
                            raise pickle.UnpicklingError(f"{full} is not allowed")
                        return super().find_class(module, name)

                return Reader(io.BytesIO(data)).load()
            """,
            says="stands in `allowed`",
            why="The list says what a name stands for; it need not be what an import would find.",
        ),
    ]

    def check(safe_loads):
        class Stand:
            """Takes the place of a class in a file."""

        counter = f"x{random.randrange(10**6)}"
        allowed = {"collections.OrderedDict": OrderedDict, "builtins.complex": complex}
        good = [1, "text", {"a": (2.5, None)}, OrderedDict(a=1, b=[2]), 1 + 2j, counter]
        for protocol in (3, 4):
            for value in good:
                came = safe_loads(pickle.dumps(value, protocol), dict(allowed))
                require(
                    came == value,
                    f"safe_loads gives {describe(came)} for a pickle of {describe(value)}.",
                )
        getcwd = pickle.dumps(Payload(os.getcwd), 4)
        refuse(safe_loads, getcwd, allowed, "getcwd", "must raise")
        with_module = {**allowed, "zlib.crc32": zlib.crc32}
        for value, full in (
            (Payload(zlib.adler32, b"a"), "zlib.adler32"),
            (Payload(print), "builtins.print"),
            (Payload(list, (1,)), "builtins.list"),
        ):
            why = "isn't on the list: don't allow whole modules"
            refuse(safe_loads, pickle.dumps(value, 4), with_module, full, why)
        nested = b"\x80\x04\x8c\x0bcollections\x8c\x14OrderedDict.fromkeys\x93."
        refuse(
            safe_loads,
            nested,
            allowed,
            "collections.OrderedDict.fromkeys",
            "only begins like a name on the list",
        )
        elsewhere = {"no.such.module.Thing": Stand}
        data = b"\x80\x02cno.such.module\nThing\n)R."
        try:
            came = safe_loads(data, elsewhere)
        except Exception as error:
            came = f"{type(error).__name__}: {error}"
        require(
            isinstance(came, Stand),
            f"For the name no.such.module.Thing, use what stands in `allowed`; nothing is imported. It gave {came}.",
        )


def refuse(safe_loads, data, allowed, full, why):
    """Require that a pickle is refused, with the name in the message."""
    try:
        came = safe_loads(data, dict(allowed))
    except pickle.UnpicklingError as error:
        require(
            full in str(error),
            f"The message is {str(error)!r}; it must hold the full name, {full}.",
        )
    except Exception as error:
        require(
            False,
            f"A pickle with the name {full} raised {type(error).__name__}; expected UnpicklingError.",
        )
    else:
        require(False, f"A pickle with the name {full} gave {describe(came)}; it {why}.")


# ------------------------------------------------------------ the hunt
def right(path, pieces):
    path = Path(path)
    temporary = path.with_name(f".{path.name}.part")
    try:
        with open(temporary, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def in_place(path, pieces):
    """It writes over the old file."""
    with open(path, "wb") as file:
        for piece in pieces:
            file.write(piece)


def leaves_a_part(path, pieces):
    """After an error, the temporary file stays."""
    temporary = Path(f"{path}.part")
    with open(temporary, "wb") as file:
        for piece in pieces:
            file.write(piece)
    os.replace(temporary, path)


def hides_errors(path, pieces):
    """An error is swallowed."""
    try:
        right(path, pieces)
    except Exception:
        pass


def removes_first(path, pieces):
    """The old file is removed before the new one is there."""
    Path(path).unlink(missing_ok=True)
    right(path, pieces)


def last_piece_only(path, pieces):
    """Each piece takes the place of the one before."""
    for piece in pieces:
        right(path, [piece])


def keeps_the_rest(path, pieces):
    """A shorter file keeps the end of the longer one before it."""
    data = b"".join(pieces)
    old = Path(path).read_bytes() if Path(path).exists() else b""
    right(path, [data + old[len(data) :]])


class Hunt(BugHunt):
    """Six ways to lose a file

    Write `test(save)`. It gets a function `save(path, pieces)`, which writes the bytes that the iterator
    `pieces` gives into a file. It should be atomic: if anything goes wrong, even in `pieces`, the error
    comes out, the old file is as it was, and nothing else is in the folder. Your test must raise if that isn't so. One
    function is right, and six are wrong. You choose the folder, the files and what goes wrong.
    """

    idea = "A save that is whole or not at all"
    stub = """
        def test(save):
            import tempfile

            path = Path(tempfile.mkdtemp()) / "x.bin"
            save(path, iter([b"abc"]))
            assert path.read_bytes() == b"abc"
    """
    hints = [
        "A generator can give a piece and then raise: `yield b'new'; raise OSError('full')`.",
        "After the error, look at the file's bytes, and at `list(folder.iterdir())`.",
        "Save something shorter over something longer, too, in several pieces.",
    ]
    solution = """
        def test(save):
            import tempfile

            def fails():
                yield b"new"
                raise OSError("the disk is full")

            folder = Path(tempfile.mkdtemp())
            path = folder / "x.bin"
            save(path, iter([b"a long ", b"first ", b"file"]))
            assert path.read_bytes() == b"a long first file"
            try:
                save(path, fails())
            except OSError:
                pass
            else:
                raise AssertionError("no error")
            assert path.exists() and path.read_bytes() == b"a long first file"
            assert [one.name for one in folder.iterdir()] == ["x.bin"]
            save(path, iter([b"sh", b"ort"]))
            assert path.read_bytes() == b"short"
    """
    reason = """
        The test makes the failure happen, at a moment of its own choice. Errors that come once a
        year are tested only like this.
    """
    wrong = [
        Wrong(
            """
            def test(save):
                import tempfile

                path = Path(tempfile.mkdtemp()) / "x.bin"
                save(path, iter([b"one", b"two"]))
                assert path.read_bytes() == b"onetwo"
                save(path, iter([b"x"]))
                assert path.read_bytes() == b"x"
            """,
            says="of 6",
            why="Nothing goes wrong in it.",
        ),
    ]
    right = right
    bugs = [in_place, leaves_a_part, hides_errors, removes_first, last_piece_only, keeps_the_rest]


class Container(Exercise):
    """A container that notices

    Write `pack(entries)` and `unpack(data)`. `entries` is a dict from names (text) to bytes. `pack` returns bytes, and
    `unpack` gives the same dict back from them, in the same order. If the data was changed, in any single bit, or cut
    off, or something was appended, `unpack` must raise `ValueError`. At most 64 bytes more per entry, and 64 in
    all. Don't use pickle or zipfile.
    """

    kind = "extend"
    idea = "Damage"
    stub = """
        def pack(entries):
            return b"".join(entries.values())


        def unpack(data):
            return {"everything": data}
    """
    hints = [
        "Write the length of a name and of its bytes before them, 8 bytes each.",
        "`zlib.crc32(...)` over everything that comes before it, lengths included, 4 bytes at the end.",
        "Check the checksum first: then the lengths can be trusted.",
    ]
    solution = """
        def pack(entries):
            parts = []
            for name, data in entries.items():
                encoded = name.encode()
                parts += [len(encoded).to_bytes(8, "little"), len(data).to_bytes(8, "little")]
                parts += [encoded, data]
            body = b"".join(parts)
            return body + zlib.crc32(body).to_bytes(4, "little")


        def unpack(data):
            body, checksum = data[:-4], data[-4:]
            if len(data) < 4 or zlib.crc32(body).to_bytes(4, "little") != checksum:
                raise ValueError("the data is damaged")
            entries, place = {}, 0
            while place < len(body):
                name_size = int.from_bytes(body[place : place + 8], "little")
                size = int.from_bytes(body[place + 8 : place + 16], "little")
                place += 16
                name = body[place : place + name_size].decode()
                entries[name] = body[place + name_size : place + name_size + size]
                place += name_size + size
            return entries
    """
    reason = """
        One checksum over everything is the simplest. A checksum for each entry, as in a zip file, lets a
        reader check only what it needs, and name what is damaged; then names and lengths need one, too.
    """
    wrong = [
        Wrong(
            """
            def pack(entries):
                parts = []
                for name, data in entries.items():
                    encoded = name.encode()
                    parts += [len(encoded).to_bytes(8, "little"), len(data).to_bytes(8, "little")]
                    parts += [encoded, data, zlib.crc32(data).to_bytes(4, "little")]
                return b"".join(parts)


            def unpack(data):
                entries, place = {}, 0
                while place < len(data):
                    name_size = int.from_bytes(data[place : place + 8], "little")
                    size = int.from_bytes(data[place + 8 : place + 16], "little")
                    place += 16
                    name = data[place : place + name_size].decode()
                    place += name_size
                    entries[name] = data[place : place + size]
                    if zlib.crc32(entries[name]) != int.from_bytes(data[place + size : place + size + 4], "little"):
                        raise ValueError("damaged")
                    place += size + 4
                return entries
            """,
            says="was turned, unpack gives",
            why="The names aren't in the checksum.",
        ),
        Wrong(
            """
            def pack(entries):
                return zlib.compress(repr(list(entries.items())).encode())


            def unpack(data):
                return dict(eval(zlib.decompress(data).decode()))
            """,
            says="ValueError",
            why="A damaged file raises zlib's error, and eval would run what's in it.",
        ),
        Wrong(
            """
            def pack(entries):
                parts = []
                for name, data in entries.items():
                    parts += [name.encode(), b"\\0", data, b"\\0"]
                body = b"".join(parts)
                return body + zlib.crc32(body).to_bytes(4, "little")


            def unpack(data):
                body = data[:-4]
                if zlib.crc32(body).to_bytes(4, "little") != data[-4:]:
                    raise ValueError("damaged")
                parts = body.split(b"\\0")[:-1]
                return {name.decode(): data for name, data in zip(parts[::2], parts[1::2])}
            """,
            says="comes back",
            why="A zero byte is a byte like any other.",
        ),
        Wrong(
            """
            def pack(entries):
                parts = []
                for name, data in entries.items():
                    encoded = name.encode()
                    parts += [len(encoded).to_bytes(8, "little"), len(data).to_bytes(8, "little")]
                    parts += [encoded, data]
                body = b"".join(parts)
                return body + (sum(body) % 2**32).to_bytes(4, "little")


            def unpack(data):
                body, checksum = data[:-4], data[-4:]
                if len(data) < 4 or (sum(body) % 2**32).to_bytes(4, "little") != checksum:
                    raise ValueError("the data is damaged")
                entries, place = {}, 0
                while place < len(body):
                    name_size = int.from_bytes(body[place : place + 8], "little")
                    size = int.from_bytes(body[place + 8 : place + 16], "little")
                    place += 16
                    name = body[place : place + name_size].decode()
                    entries[name] = body[place + name_size : place + name_size + size]
                    place += name_size + size
                return entries
            """,
            says="two bytes were exchanged",
            why="A sum doesn't see the order.",
        ),
    ]

    def check(pack, unpack):
        word = f"w{random.randrange(1000)}"
        cases = [
            {"a": b"x\0z", "b": b""},
            {},
            {
                word: bytes(range(256)),
                "süß/1": b"\0\0\0",
                "": b"no name",
                "last": random.randbytes(50),
            },
            {"z": b"1", "a": b"2"},
        ]
        for entries in cases:
            data = pack(dict(entries))
            require(
                isinstance(data, bytes | bytearray),
                f"pack returned a {type(data).__name__}; return bytes.",
            )
            data = bytes(data)
            need = sum(len(name.encode()) + len(value) for name, value in entries.items())
            require(
                len(data) <= need + 64 * (len(entries) + 1),
                f"pack of {need} bytes in {len(entries)} entries takes {len(data)}; too many.",
            )
            came = unpack(data)
            same = isinstance(came, dict) and list(came) == list(entries)
            require(
                same and all(bytes(came[name]) == value for name, value in entries.items()),
                f"{entries!r} comes back as {describe(came)}.",
            )
            for place in range(8 * len(data)):
                changed = bytearray(data)
                changed[place // 8] ^= 1 << place % 8
                damaged(
                    unpack,
                    bytes(changed),
                    entries,
                    f"bit {place % 8} of byte {place // 8} was turned",
                )
            for length in range(len(data)):
                damaged(unpack, data[:length], entries, f"it was cut off after {length} bytes")
            for more in (b"\0", b"x", data[-4:], data):
                if more:
                    damaged(unpack, data + more, entries, f"{len(more)} bytes were appended")
            for i in range(len(data) - 1):
                if data[i] != data[i + 1]:
                    swapped = data[:i] + data[i + 1 : i + 2] + data[i : i + 1] + data[i + 2 :]
                    damaged(unpack, swapped, entries, f"two bytes were exchanged, {i} and {i + 1}")


def damaged(unpack, data, entries, what):
    try:
        came = unpack(data)
    except ValueError:
        return
    except Exception as error:
        require(False, f"When {what}, unpack raises {type(error).__name__}; expected ValueError.")
    if isinstance(came, dict) and came == entries:
        require(False, f"When {what}, unpack doesn't notice; expected ValueError.")
    require(False, f"When {what}, unpack gives another dict without an error: {describe(came)}.")
