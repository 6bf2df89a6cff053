"""Values between two processes that don't trust each other: as JSON, and never as a pickle.

The judge asks, and the witness (the process that runs a student's code) answers.  What both may hold travels
*by value*: numbers, texts, containers, tensors, generators of random numbers, modules of the library and
records of a chapter's programs.  Each mutable value has a name of its own, "j7" or "w3", and so has its twin on the
other side: when it travels again, the twin gets its new contents.  So a list that a student's function
sorts is sorted in the judge's hands, too, and a view of a tensor comes back as a view of it.

Everything else travels *by reference*: the other side gets a Remote, which asks.  A Remote is never compared
and never calculated with by the judge, for then the student's process would decide what is equal.

Reading a message makes only values of classes that are listed here.  It imports nothing and runs no
constructor and no `__setstate__`, so it can't be made to run code.
"""

import base64
import types
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path

import tensorlab
from tensorlab import nn
from tensorlab._core.random import Generator
from tensorlab._tensor import Tensor
from tensorlab.autograd.graph import increment_version

from .judge import Unsendable
from .portable import (
    BY_DICT,
    DTYPES,
    address_of,
    bytes_of,
    flat_view,
    is_plain,
    loaded,
    plain_value,
    version_of,
)
from .raised import kinds_of, like
from .remote import OPERATORS, PROTOCOLS, Remote, protocols_of, remote_class, remote_function

LEAVES = (bool, int, str, type(None))
MOST_BYTES = 1 << 28  # of a message


class Wire:
    """The values of one exercise that two processes share.

    Attributes
    ----------
    side : "j" or "w", the judge's end or the witness's
    ask : function (kind, *arguments), which sends a question and returns its answer
    records : set of str, the modules whose instances travel by value: a chapter's programs
    """

    def __init__(self, side, ask, records=()):
        self.side, self.ask, self.records = side, ask, set(records)
        self.values = {}  # name -> value, of both sides
        self.names = {}  # id(value) -> name; the value is kept alive by `values`
        self.synced = {}  # name -> contents that both sides have
        self.shared = {}  # id(tensor) -> what requires grad here and has travelled: see FromElsewhere
        self.homes = {}  # name of a tensor -> name of its storage
        self.versions = {}  # name of a tensor -> its version when both sides had the same
        self.elsewhere = set()  # names of tensors whose gradient the other side computes
        self.count = 0
        self.protocols = {*PROTOCOLS, *(OPERATORS if side == "w" else ())}
        self.packed = set()  # names whose contents are in the message at hand
        self.is_answer = False  # whether the message at hand answers a question of this side

    # ------------------------------------------------------------ names

    def name_of(self, value):
        """Return the name of a value, which gets one if it has none."""
        name = self.names.get(id(value))
        if name is None:
            self.count += 1
            name = f"{self.side}{self.count}"
            self.keep(name, value)
        return name

    def keep(self, name, value):
        self.values[name] = value
        self.names[id(value)] = name
        return value

    # ------------------------------------------------------------ packing

    def pack_message(self, value):
        self.packed = set()
        return self.pack(value)

    def pack(self, value):
        """Return a value as what JSON can hold."""
        kind = type(value)
        if kind in LEAVES:
            return value
        if kind is float:
            return ["float", value.hex()]
        packer = PACKERS.get(kind)
        if packer is not None:
            return packer(self, value)
        if isinstance(value, Remote):
            return ["yours", value.__dict__["_remote_name"]]
        if isinstance(value, types.FunctionType) and hasattr(value, "_remote_name"):
            return ["yours", value._remote_name]
        if isinstance(value, Tensor) and value.layout is tensorlab.sparse_coo:
            return self.pack_sparse(value)
        if isinstance(value, Tensor):
            raise Unsendable(f"a {kind.__name__}, which is a subclass of Tensor")
        if isinstance(value, tuple) and kind.__module__ == "tensorlab.return_types":
            return ["named", kind.__name__, [self.pack(item) for item in value]]
        if isinstance(value, Exception):
            return ["exception", kinds_of(value), str(value)]
        if isinstance(value, Path):
            return ["path", str(value)]
        if (address := address_of(value)) is not None:
            return ["public", *address]
        if self.goes_by_dict(value):
            return self.pack_object(value)
        if self.side == "w" and (plain := plain_value(value)) is not None:
            return self.pack(plain)
        return self.pack_reference(value)

    def pack_reference(self, value):
        """Return how the other side may use a value that stays here."""
        functions = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
        if isinstance(value, functions) or type(value).__name__ == "cython_function_or_method":
            return ["ref", self.name_of(value), "function", value.__name__]
        protocols = protocols_of(value, with_operators=self.side == "j")
        label = getattr(value, "__name__", type(value).__name__)
        return ["ref", self.name_of(value), protocols, str(label)]

    def goes_by_dict(self, value):
        kind = type(value)
        if not hasattr(value, "__dict__") or isinstance(value, (type, types.FunctionType)):
            return False
        if loaded(kind.__module__, kind.__qualname__) is not kind:
            return False
        is_library = isinstance(value, BY_DICT) and kind.__module__.startswith("tensorlab.")
        return is_library or (kind.__module__ in self.records and is_plain(kind))

    def pack_object(self, value):
        name, kind = self.name_of(value), type(value)
        if name in self.packed:
            return ["same", name]
        self.packed.add(name)
        pairs = [[key, self.pack(item)] for key, item in vars(value).items()]
        return ["object", name, kind.__module__, kind.__qualname__, pairs]

    def pack_items(self, tag, value, items):
        name = self.name_of(value)
        if name in self.packed:
            return ["same", name]
        self.packed.add(name)
        return [tag, name, items()]

    def pack_dict(self, value):
        def items():
            return [[self.pack(key), self.pack(item)] for key, item in value.items()]

        return self.pack_items(DICTS[type(value)], value, items)

    def pack_contents(self, name, contents):
        """Return bytes as text, or None where the other side has the same ones."""
        if self.synced.get(name) == contents:
            return None
        self.synced[name] = contents
        return base64.b64encode(contents).decode("ascii")

    def pack_generator(self, value):
        name = self.name_of(value)
        state = bytes_of(value.get_state())
        return ["generator", name, self.pack_contents(name, state)]

    def pack_tensor(self, value):
        name = self.name_of(value)
        if name in self.packed:
            return ["same", name]
        self.packed.add(name)
        is_leaf, wants = value.is_leaf, value.requires_grad
        if wants and name not in self.elsewhere:
            self.shared[id(value)] = value
        plain = value.detach()
        storage = plain.untyped_storage()
        kind = "parameter" if type(value) is nn.Parameter else "leaf" if is_leaf else "result"
        about = [str(value.dtype)[10:], list(value.shape), list(value.stride())]
        about += [value.storage_offset(), storage.nbytes()]
        if storage.is_meta:
            return ["meta", name, about, kind if wants else "plain"]
        home = f"s{storage.data_ptr()}"
        known = self.values.setdefault(home, self.home(storage))
        self.homes[name] = known
        contents = self.pack_contents(known, bytes_of(flat_view(storage)))
        grad = self.pack(value.grad) if is_leaf and wants else None
        about += [version_of(value) > self.versions.get(name, version_of(value))]
        self.versions[name] = version_of(value)
        return ["tensor", name, known, contents, about, kind if wants else "plain", grad]

    def pack_sparse(self, value):
        """Return a tensor of layout sparse_coo as its parts, which travel as tensors do."""
        if value.requires_grad:
            raise Unsendable("a sparse tensor that requires grad")
        name, x = self.name_of(value), value.detach()
        parts = [self.pack(x._indices()), self.pack(x._values())]
        return ["sparse", name, list(x.shape), x.is_coalesced(), *parts]

    def home(self, storage):
        """Return a new name for a storage, which is kept so that its address stays its own."""
        self.count += 1
        name = f"{self.side}{self.count}"
        self.values[name] = storage
        return name

    # ------------------------------------------------------------ unpacking

    def unpack(self, packed):
        """Return the value that a message holds."""
        if type(packed) in LEAVES:
            return packed
        if type(packed) is not list or not packed:
            raise ValueError(f"not a value of this protocol: {str(packed)[:60]}")
        tag, *parts = packed
        return UNPACKERS[tag](self, *parts)

    def unpack_list(self, name, items):
        value = self.values.get(name)
        if type(value) is not list:
            value = self.keep(name, [])
        value[:] = [self.unpack(item) for item in items]
        return value

    def unpack_set(self, name, items):
        value = self.values.get(name)
        if type(value) is not set:
            value = self.keep(name, set())
        items = {self.unpack(item) for item in items}
        value.clear()
        value.update(items)
        return value

    def unpack_bytearray(self, name, text):
        value = self.values.get(name)
        if type(value) is not bytearray:
            value = self.keep(name, bytearray())
        value[:] = base64.b64decode(text)
        return value

    def unpack_dict(self, kind, name, pairs):
        value = self.values.get(name)
        if type(value) is not kind:
            value = self.keep(name, kind(dict) if kind is defaultdict else kind())
        pairs = [(self.unpack(key), self.unpack(item)) for key, item in pairs]
        value.clear()
        for key, item in pairs:
            value[key] = item
        return value

    def unpack_object(self, name, module, qualname, pairs):
        kind = self.class_named(module, qualname)
        value = self.values.get(name)
        if type(value) is not kind:
            value = self.keep(name, kind.__new__(kind))
        items = {str(key): self.unpack(item) for key, item in pairs}
        vars(value).clear()
        vars(value).update(items)
        return value

    def class_named(self, module, qualname):
        """Return a class whose instances travel by value; it is loaded already, or refused."""
        kind = loaded(module, qualname)
        is_class = isinstance(kind, type) and "." not in qualname
        is_library = is_class and module.startswith("tensorlab.") and issubclass(kind, BY_DICT)
        if is_library or (is_class and module in self.records and is_plain(kind)):
            return kind
        raise ValueError(f"{module}.{qualname} does not travel by value")

    def unpack_generator(self, name, text):
        value = self.values.get(name)
        if type(value) is not Generator:
            value = self.keep(name, Generator())
        if text is not None:
            contents = base64.b64decode(text)
            self.synced[name] = contents
            value.set_state(
                tensorlab.frombuffer(bytearray(contents), dtype=tensorlab.uint8).clone()
            )
        return value

    def unpack_tensor(self, name, home, text, about, kind, grad):
        dtype, shape, strides, offset, size, is_written = about
        dtype = DTYPES[dtype]
        value = self.values.get(name)
        is_new = not isinstance(value, Tensor)
        storage = self.storage_of(home, text, dtype, size)
        if is_new or (tuple(value.shape), value.dtype) != (tuple(shape), dtype):
            plain = storage.view(dtype).as_strided(shape, strides, offset)
            value = self.keep(name, self.with_grad(plain, name, kind))
        else:
            if self.homes.get(name, home) != home:  # its `data` has become another tensor
                value.data = storage.view(dtype).as_strided(shape, strides, offset)
            if value.is_leaf and value.requires_grad != (kind != "plain"):
                value.requires_grad_(kind != "plain")
            if is_written and version_of(value) == self.versions.get(name):
                increment_version(value)
        self.homes[name] = home
        if kind in ("leaf", "parameter"):
            value.grad = self.unpack(grad)
        if value.requires_grad and name not in self.elsewhere:
            self.shared[id(value)] = value
        self.versions[name] = version_of(value)
        return value

    def unpack_meta(self, name, about, kind):
        """Return a tensor of the device meta, which has no values."""
        value, (dtype, shape, strides, offset, size) = self.values.get(name), about
        dtype = DTYPES[dtype]
        layout = (dtype, tuple(shape), tuple(strides))
        is_known = isinstance(value, Tensor) and value.is_meta
        if is_known and (value.dtype, tuple(value.shape), value.stride()) == layout:
            return value
        whole = tensorlab.empty(size // dtype.itemsize, dtype=dtype, device="meta")
        plain = whole.as_strided(shape, strides, offset)
        if kind == "parameter":
            return self.keep(name, nn.Parameter(plain))
        return self.keep(name, plain if kind == "plain" else plain.requires_grad_())

    def unpack_sparse(self, name, shape, is_coalesced, indices, values):
        indices, values = self.unpack(indices), self.unpack(values)
        made = tensorlab.sparse_coo_tensor(indices, values, shape, is_coalesced=bool(is_coalesced))
        return self.keep(name, made)

    def storage_of(self, home, text, dtype, size):
        """Return the numbers of a storage, a flat tensor; new contents are written into it."""
        flat = self.values.get(home)
        if flat is None or (isinstance(flat, Tensor) and flat.numel() * flat.itemsize != size):
            flat = tensorlab.empty(size // dtype.itemsize, dtype=dtype)
            self.values[home] = flat
            self.values[f"s{flat.untyped_storage().data_ptr()}"] = home
        elif not isinstance(flat, Tensor):  # a storage of this side
            flat = flat_view(flat)
        if text is not None:
            contents = base64.b64decode(text)
            self.synced[home] = contents
            if contents:
                given = tensorlab.frombuffer(bytearray(contents), dtype=tensorlab.uint8)
                with tensorlab.no_grad():
                    flat.view(tensorlab.uint8).copy_(given)
        return flat

    def with_grad(self, plain, name, kind):
        """Return a new tensor as a leaf, or as a result whose gradient the other side computes."""
        if kind == "parameter":
            return nn.Parameter(plain)
        inputs = list(self.shared.values())
        if kind == "result" and self.is_answer and inputs:
            self.elsewhere.add(name)
            with tensorlab.enable_grad():
                return FromElsewhere.apply(plain, (self, name), *inputs)
        return plain if kind == "plain" else plain.requires_grad_()

    def unpack_public(self, module, name):
        value = loaded(module, name)
        if address_of(value) != (module, name):
            raise ValueError(f"{module}.{name} does not travel")
        return value

    def unpack_reference(self, name, kind, label):
        value = self.values.get(name)
        if value is not None:
            return value
        label = str(label)
        if kind == "function":
            return self.keep(name, remote_function(self.ask, name, label))
        names = [one for one in kind if one in self.protocols]
        return self.keep(name, remote_class(tuple(names))(self.ask, name, label))

    def unpack_own(self, name):
        if not str(name).startswith(self.side) or name not in self.values:
            raise ValueError(f"there is nothing called {str(name)[:20]}")
        return self.values[name]

    def unpack_named(self, kind, items):
        kind = loaded("tensorlab.return_types", kind)
        if not (isinstance(kind, type) and issubclass(kind, tuple)):
            raise ValueError("not a tuple with names")
        return kind([self.unpack(item) for item in items])

    # ------------------------------------------------------------ gradients

    def gradients(self, name, grad, inputs):
        """Answer the other side's question for the gradients of a tensor of this side."""
        grads = tensorlab.autograd.grad(
            self.values[name],
            inputs,
            grad,
            retain_graph=True,
            create_graph=tensorlab.is_grad_enabled(),
            allow_unused=True,
        )
        return list(grads)


class FromElsewhere(tensorlab.autograd.Function):
    """A tensor that the other side has computed; its gradient is asked for there."""

    @staticmethod
    def forward(ctx, plain, where, *inputs):
        ctx.where = where
        ctx.save_for_backward(*inputs)
        return plain.clone()

    @staticmethod
    def backward(ctx, grad):
        wire, name = ctx.where
        wanted = [one for one in ctx.saved_tensors if one.requires_grad]
        found = iter(wire.ask("gradients", name, grad, wanted))
        grads = [next(found) if one.requires_grad else None for one in ctx.saved_tensors]
        return None, None, *grads


DICTS = {dict: "dict", OrderedDict: "ordered", defaultdict: "default", Counter: "counter"}
PACKERS = {
    complex: lambda wire, x: ["complex", x.real.hex(), x.imag.hex()],
    bytes: lambda wire, x: ["bytes", base64.b64encode(x).decode("ascii")],
    tuple: lambda wire, x: ["tuple", [wire.pack(item) for item in x]],
    tensorlab.Size: lambda wire, x: ["size", list(x)],
    frozenset: lambda wire, x: ["frozenset", [wire.pack(item) for item in x]],
    slice: lambda wire, x: ["slice", *map(wire.pack, (x.start, x.stop, x.step))],
    range: lambda wire, x: ["range", x.start, x.stop, x.step],
    type(...): lambda wire, x: ["ellipsis"],
    tensorlab.dtype: lambda wire, x: ["dtype", str(x)[10:]],
    tensorlab.device: lambda wire, x: ["device", str(x)],
    list: lambda wire, x: wire.pack_items("list", x, lambda: [wire.pack(item) for item in x]),
    set: lambda wire, x: wire.pack_items("set", x, lambda: [wire.pack(item) for item in x]),
    bytearray: lambda wire, x: wire.pack_items(
        "bytearray", x, lambda: base64.b64encode(x).decode("ascii")
    ),
    dict: Wire.pack_dict,
    OrderedDict: Wire.pack_dict,
    defaultdict: Wire.pack_dict,
    Counter: Wire.pack_dict,
    Generator: Wire.pack_generator,
    Tensor: Wire.pack_tensor,
    nn.Parameter: Wire.pack_tensor,
}
UNPACKERS = {
    "float": lambda wire, text: float.fromhex(text),
    "complex": lambda wire, real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "bytes": lambda wire, text: base64.b64decode(text),
    "tuple": lambda wire, items: tuple(wire.unpack(item) for item in items),
    "size": lambda wire, items: tensorlab.Size(items),
    "frozenset": lambda wire, items: frozenset(wire.unpack(item) for item in items),
    "slice": lambda wire, *parts: slice(*map(wire.unpack, parts)),
    "range": lambda wire, *parts: range(*map(int, parts)),
    "ellipsis": lambda wire: ...,
    "dtype": lambda wire, name: DTYPES[name],
    "device": lambda wire, name: tensorlab.device(name),
    "path": lambda wire, text: Path(text),
    "list": Wire.unpack_list,
    "set": Wire.unpack_set,
    "bytearray": Wire.unpack_bytearray,
    "dict": lambda wire, *parts: wire.unpack_dict(dict, *parts),
    "ordered": lambda wire, *parts: wire.unpack_dict(OrderedDict, *parts),
    "counter": lambda wire, *parts: wire.unpack_dict(Counter, *parts),
    "default": lambda wire, *parts: wire.unpack_dict(defaultdict, *parts),
    "exception": lambda wire, kinds, text: like(kinds, text),
    "generator": Wire.unpack_generator,
    "tensor": Wire.unpack_tensor,
    "meta": Wire.unpack_meta,
    "sparse": Wire.unpack_sparse,
    "object": Wire.unpack_object,
    "public": Wire.unpack_public,
    "ref": Wire.unpack_reference,
    "yours": Wire.unpack_own,
    "same": lambda wire, name: wire.values[name],
    "named": Wire.unpack_named,
}
