"""The walks of tests/core/junk.py: every compiled class, and every function, with nonsense."""

import copy
import functools
import gc
import importlib
import inspect
import pathlib
import pickle
import sys
import types
import warnings

import numpy as np
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.state.modes import switch_inference_mode

import tensorlab as T
from tensorlab._finder import all_modules
from tensorlab.overrides import TorchFunctionMode
from tests.core.nonsense import FILLERS, JUNK

warnings.simplefilter("ignore")
HEAP_TYPE = 1 << 9  # a flag of classes that a class statement makes


class Finding(Exception):
    """Raised by a call of a walk that has seen something go wrong."""


def still_works():
    """True if the library computes as it did; a setting that nonsense could change is put back first."""
    if works():
        return True
    T.set_default_dtype(T.float32)
    T.set_default_device("cpu")
    T.set_grad_enabled(True)
    switch_inference_mode(False)
    return works()


def works():
    try:
        x = T.ones(3, requires_grad=True)
        (x * 2 + 1).sum().backward()
        return x.grad.tolist() == [2.0, 2.0, 2.0] and x.dtype is T.float32
    except Exception:
        return False


# ---------------------------------------------------------------- what there is
def modules():
    """Every module of the package, by name."""
    for name in all_modules():
        if not name.endswith("__main__"):
            importlib.import_module(name)
    return {name: m for name, m in sorted(sys.modules.items()) if name.startswith("tensorlab")}


@functools.cache
def extension_classes():
    """Every compiled class of the package, also those that no module names."""
    modules()
    seen, waiting = {}, [object]  # by id: a class may be unhashable
    while waiting:
        for cls in type.__subclasses__(waiting.pop()):
            if id(cls) not in seen:
                seen[id(cls)] = cls
                waiting.append(cls)
    return sorted(
        (
            c
            for c in seen.values()
            if str(c.__module__).startswith("tensorlab") and not c.__flags__ & HEAP_TYPE
        ),
        key=name_of,
    )


class Square(T.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0]


@functools.cache
def living():
    """One object of each compiled class that can be had, by class."""
    x = T.ones(2, 3, requires_grad=True)
    y = x.exp()
    z = Square.apply(y)
    written = x * 2
    written[0].mul_(z[1])
    total = (written.sum() + z.sum()) * 1
    roots = [x, y, z, written, total, total.grad_fn, x.untyped_storage(), T.Generator(), T.float32]
    roots += [y.grad_fn._raw_saved_result, T.no_grad(), x.detach().numpy(), T.no_grad.__mro__[1]]
    roots += [T.from_dlpack(np.ones(3)), x.detach().__dlpack__(), memoryview(x.detach().numpy())]
    roots += [m for m in modules().values() if hasattr(m, "__file__")]
    found, seen, waiting = {}, set(), list(roots)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or len(seen) > 300_000:
            continue
        seen.add(id(thing))
        found.setdefault(type(thing), thing)
        waiting += gc.get_referents(thing)
        if hasattr(type(thing), "next_functions"):
            waiting += [node for node, _ in thing.next_functions]
        if type(thing) is np.ndarray:
            waiting.append(thing.base)
    return found


def name_of(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


# ---------------------------------------------------------------- walk 1: classes
def wrong_selves():
    """Every entry of every compiled class, called through the class with what is no object of it."""
    classes = extension_classes()
    alive = living()
    selves = dict(JUNK)
    for cls in classes:
        if cls in alive:
            selves[cls.__name__] = functools.partial(alive.get, cls)
    for cls in classes:
        for name, entry in cls.__dict__.items():
            for label, make in selves.items():
                subject = f"{name_of(cls)}.{name}"
                if hasattr(entry, "__get__") and not inspect.isroutine(entry):
                    yield subject, f"get of {label}", lambda e=entry, m=make: e.__get__(m())
                    yield subject, f"set of {label}", lambda e=entry, m=make: e.__set__(m(), 3)
                    yield subject, f"delete of {label}", lambda e=entry, m=make: e.__delete__(m())
                for count in range(4):
                    for other in ("3", "tensor"):
                        yield (
                            subject,
                            f"of {label}, {count} times {other}",
                            lambda c=cls, n=name, m=make, k=count, o=other: getattr(c, n)(
                                m(), *[JUNK[o]() for _ in range(k)]
                            ),
                        )


def right_selves():
    """Every entry of every compiled class with an object of it, and nonsense behind."""
    alive = living()
    for cls in extension_classes():
        if cls not in alive:
            continue
        for name in cls.__dict__:
            if name == "__class_getitem__":
                continue
            entry = cls.__dict__[name]
            for label, make in JUNK.items():
                subject = f"{name_of(cls)}.{name}"
                if hasattr(entry, "__set__"):
                    yield (
                        subject,
                        f"set to {label}",
                        lambda e=entry, m=make, c=cls: e.__set__(alive[c], m()),
                    )
                for count in range(1, 4):
                    yield (
                        subject,
                        f"{count} times {label}",
                        lambda n=name, m=make, k=count, c=cls: getattr(alive[c], n)(
                            *[m() for _ in range(k)]
                        ),
                    )


def empty_objects():
    """Objects that were never initialised, and all that can be asked of them."""
    for cls in extension_classes():
        for label, make in makers(cls).items():
            for what, ask in QUESTIONS.items():
                yield label, what, lambda m=make, a=ask: a(m())
            names = sorted(
                {name for base in cls.__mro__[:-1] for name in vars(base)} | {"__init__"}
            )
            for name in names:
                for count in range(4):
                    for other in ("None", "3", "tensor", "leaf", "{}", "()"):
                        yield (
                            label,
                            f"{name}, {count} times {other}",
                            lambda m=make, n=name, k=count, o=other: getattr(m(), n)(
                                *[JUNK[o]() for _ in range(k)]
                            ),
                        )


def makers(cls):
    name = name_of(cls)

    def heir(*bases):
        return types.new_class("Heir", bases or (cls,))

    def other_new():
        return T.Tensor.__base__.__new__(cls)

    return {
        f"{name}.__new__": lambda: cls.__new__(cls),
        f"{name}()": lambda: cls(),
        f"{name}(3)": lambda: cls(3),
        f"{name} of object.__new__": lambda: object.__new__(cls),
        f"{name} of TensorBase.__new__": other_new,
        f"heir of {name}": lambda: heir()(),
        f"heir of {name}.__new__": lambda: cls.__new__(heir()),
        f"heir of {name} and Tensor": lambda: heir(cls, T.Tensor)(),
        f"copy of {name}": lambda: copy.copy(cls.__new__(cls)),
    }


def initialise_twice(thing):
    for arguments in ((), (3,), ("x",), (None, None), (T.ones(2),)):
        try:
            thing.__init__(*arguments)
        except Exception:
            continue


def assign_class(thing):
    for other in extension_classes():
        try:
            thing.__class__ = other
        except TypeError:
            continue


def use_in_graph(thing):
    """As a tensor, a node, a generator, a storage: whatever takes one."""
    x = T.ones(3, requires_grad=True)
    for use in (
        lambda: x + thing,
        lambda: T.rand(3, generator=thing),
        lambda: x.detach().set_(thing),
        lambda: x.register_hook(thing),
        lambda: T.autograd.backward(thing),
        lambda: T.autograd.grad(x.sum(), thing),
        lambda: T.autograd.graph.GradientEdge(thing, 0),
        lambda: T.autograd.backward(T.autograd.graph.GradientEdge(thing, 0), T.ones(3)),
        lambda: T.zeros(3, dtype=thing),
        lambda: T.tensor(thing),
        lambda: x.detach()[thing],
        lambda: setattr(x, "grad", thing),
        lambda: setattr(x, "data", thing),
        lambda: T.autograd.graph.get_gradient_edge(thing),
    ):
        try:
            use()
        except Exception:
            continue


QUESTIONS = {
    "repr": repr,
    "hash": hash,
    "len": len,
    "list": list,
    "bool": bool,
    "dir": dir,
    "vars": vars,
    "memoryview": memoryview,
    "==": lambda thing: thing == thing,
    "every attribute": lambda thing: [getattr(thing, name, None) for name in dir(thing)],
    "first item": lambda thing: thing[0],
    "call": lambda thing: thing(),
    "with": lambda thing: thing.__enter__() or thing.__exit__(None, None, None),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "reduce": lambda thing: [thing.__reduce_ex__(protocol) for protocol in range(5)],
    "initialise twice": initialise_twice,
    "__class__": assign_class,
    "use": use_in_graph,
    "referents": gc.get_referents,
}


# ---------------------------------------------------------------- walk 2: functions
def compiled_functions():
    """Every function of the compiled modules, and every public callable of the package, by name.

    Not the formulas of derivatives: the engine gives them what it saved, and they trust it.
    """
    formulas = [formula for op in REGISTRY.values() for formula in op.derivatives.values()]
    found = {id(formula): ("", None) for formula in formulas}
    for module_name, module in modules().items():
        compiled = str(getattr(module, "__file__", "")).endswith((".so", ".pyd"))
        public = getattr(module, "__all__", ())
        for name, thing in sorted(vars(module).items()):
            if (compiled and type(thing).__name__ == "cython_function_or_method") or (
                name in public and callable(thing)
            ):
                found.setdefault(id(thing), (f"{module_name}.{name}", thing))
    if hasattr(
        T.multiprocessing, "Pool"
    ):  # of a million processes, if that is what it is asked for
        found.pop(id(T.multiprocessing.Pool), None)
    for name, thing in sorted(vars(T.Tensor).items()):
        if callable(thing) and not isinstance(thing, (type, staticmethod, classmethod)):
            found.setdefault(id(thing), (f"tensorlab.Tensor.{name}", thing))
    return dict(sorted((item for item in found.values() if item[0]), key=lambda item: item[0]))


def bad_arguments():
    """Every function with one piece of nonsense in each place, and the same filler in all others."""
    for name, function in compiled_functions().items():
        for count in range(arity(function) + 2):
            for filler, fill in FILLERS.items():
                if count < 2 and filler != "1":
                    continue
                for position in range(max(count, 1)):
                    for label, make in JUNK.items():

                        def call(f=function, c=count, fill=fill, p=position, make=make):
                            return f(*[make() if i == p else fill() for i in range(c)])

                        yield name, f"{count} times {filler}, {label} at {position}", call
                        if count == 0:
                            break


def arity(function):
    try:
        kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        return 3
    plain = sum(kind in (0, 1) for kind in kinds)
    return min(plain + 2 * (inspect._ParameterKind.VAR_POSITIONAL in kinds), 5)


class Record(TorchFunctionMode):
    """Keeps the public calls that are made inside."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        self.calls.append((function, args, kwargs or {}))
        return function(*args, **(kwargs or {}))


@functools.cache
def good_calls():
    """Calls that succeed, at most three of a function: those that the samples of tests/ops make."""
    from tests.ops.samples import make_tensor

    folder = pathlib.Path(__file__).parent.parent / "ops"
    modules = [f"tests.ops.{path.stem}" for path in sorted(folder.glob("samples_*.py"))]
    samples = [one for name in modules for one in importlib.import_module(name).SAMPLES]
    counts, chosen = {}, []
    with Record() as record:  # once for all: to enter it takes milliseconds
        for sample in samples:
            record.calls.clear()
            try:
                sample.call(T, *[make_tensor(T, array) for array in sample.arrays()])
            except Exception:
                continue
            for function, arguments, named in record.calls:
                counts[function] = counts.get(function, 0) + 1
                if counts[function] <= 3:
                    chosen.append((function, arguments, named))
    return chosen


def broken_calls():
    """Good calls with nonsense in the place of one argument."""
    for number, (function, arguments, named) in enumerate(good_calls()):
        name = f"{number} {getattr(function, '__qualname__', function)}"
        for label, make in JUNK.items():
            for position in range(len(arguments)):

                def call(f=function, p=position, a=arguments, n=named, make=make):
                    return f(*[make() if i == p else x for i, x in enumerate(a)], **n)

                yield name, f"{label} at {position}", call
            for key in named:

                def call(f=function, k=key, a=arguments, n=named, make=make):
                    return f(*a, **{**n, k: make()})

                yield name, f"{label} as {key}", call
            for key in ("out", "dtype", "dim"):
                yield (
                    name,
                    f"{label} as {key}",
                    lambda f=function, k=key, a=arguments, n=named, m=make: f(*a, **{**n, k: m()}),
                )


# ---------------------------------------------------------------- walk 3: numbers that change tensors
class Changing:
    """An int whose reading runs `change` first, which gives tensors of the same call another layout."""

    def __init__(self, number, change):
        self.number = number
        self.change = change

    def read(self):
        self.change()
        return self.number

    __index__ = __int__ = read


class ChangingInt(int):
    """The same as a kind of int: comparing it and reckoning with it runs `change`."""

    def __new__(cls, number, change):
        made = super().__new__(cls, number)
        made.change = change
        return made

    def changing(name):
        def method(self, *others):
            self.change()
            return getattr(int(self), name)(*others)

        return method

    for name in (
        *("lt", "le", "gt", "ge", "eq", "ne", "neg", "index", "bool"),
        *("add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "mod"),
    ):
        locals()[f"__{name}__"] = changing(f"__{name}__")
    __hash__ = int.__hash__

    def __int__(self):
        return int.__add__(self, 0)


def to_one_element(tensor):
    tensor.data = T.zeros(1, dtype=tensor.dtype)


def to_no_dimension(tensor):
    tensor.data = T.zeros((), dtype=tensor.dtype)


def to_many_dimensions(tensor):
    tensor.data = T.zeros((1,) * 16, dtype=tensor.dtype)


def to_nothing(tensor):
    tensor.detach().set_()
    with T.no_grad():
        tensor.set_()


CHANGES = [to_one_element, to_no_dimension, to_many_dimensions, to_nothing]


def tensors_in(thing):
    if isinstance(thing, T.Tensor):
        yield thing
    elif isinstance(thing, (list, tuple)):
        for one in thing:
            yield from tensors_in(one)


def check_bounds(name, thing):
    """Raise a Finding if some element of a tensor in `thing` would lie outside its storage."""
    for x in tensors_in(thing):
        if x.numel() > 0 and not x.is_meta:
            reach = sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True)) + 1
            bytes_needed = (x.storage_offset() + reach) * x.element_size()
            if bytes_needed > x.untyped_storage().nbytes():
                raise Finding(f"{name}: {tuple(x.shape)} needs {bytes_needed} bytes of storage")


def int_places(arguments, named):
    """Yield each place that holds an int: (position or name, place in a sequence or None)."""
    for key, value in [*enumerate(arguments), *named.items()]:
        if type(value) is int:
            yield key, None
        elif isinstance(value, (list, tuple)):
            yield from ((key, i) for i, one in enumerate(value) if type(one) is int)


def copied(thing):
    """Tensors of their own in place of those of a call; other things are shared."""
    if isinstance(thing, T.Tensor):
        return thing.detach().clone().requires_grad_(thing.requires_grad)
    if type(thing) in (list, tuple):
        return type(thing)(copied(one) for one in thing)
    return thing


def changing_ints():
    """Good calls in which reading one int gives the tensors of the call another layout."""
    for number, (function, arguments, named) in enumerate(good_calls()):
        name = f"{number} {getattr(function, '__qualname__', function)}"
        for key, place in int_places(arguments, named):
            for change in CHANGES:
                for kind in (Changing, ChangingInt):

                    def call(f=function, a=arguments, n=named, k=key, i=place, c=change, kind=kind):
                        given = dict(enumerate(copied(list(a)))) | {
                            k: copied(v) for k, v in n.items()
                        }
                        tensors = list(tensors_in(list(given.values())))
                        whole = given[k]

                        def change_all():
                            for x in tensors:
                                c(x)

                        if i is None:
                            given[k] = kind(whole, change_all)
                        else:
                            changed = list(whole)
                            changed[i] = kind(whole[i], change_all)
                            given[k] = type(whole)(changed) if type(whole) is tuple else changed
                        positions = [given.pop(j) for j in range(len(a))]
                        try:
                            result = f(*positions, **given)
                        finally:
                            check_bounds("an argument", tensors)
                        check_bounds("the result", result)
                        repr(list(tensors_in(result)))

                    yield name, f"{kind.__name__} at {key}, {place}: {change.__name__}", call


# ---------------------------------------------------------------- walk 4: sequences that lie
class LongerTuple(tuple):
    """Says that it holds more than it does."""

    __slots__ = ()

    def __len__(self):
        return super().__len__() + 3


class LongerList(list):
    def __len__(self):
        return super().__len__() + 3


class ShrinkingList(list):
    """Is empty as soon as its first item has been read."""

    def __getitem__(self, index):
        item = super().__getitem__(index)
        self.clear()
        return item

    def __iter__(self):
        while self:
            yield self.pop()


def lying_sequences():
    """Good calls with a sequence that lies in the place of one that does not, and with an empty one."""
    for number, (function, arguments, named) in enumerate(good_calls()):
        name = f"{number} {getattr(function, '__qualname__', function)}"
        for key, value in [*enumerate(arguments), *named.items()]:
            if not isinstance(value, (list, tuple)):
                continue
            for label, make in {
                "empty": lambda v: type(v)() if type(v) in (list, tuple) else (),
                **{cls.__name__: cls for cls in (LongerTuple, LongerList, ShrinkingList)},
            }.items():

                def call(f=function, a=arguments, n=named, k=key, v=value, make=make):
                    given = {**dict(enumerate(a)), **n, k: make(v)}
                    positions = [given.pop(j) for j in range(len(a))]
                    check_bounds("the result", f(*positions, **given))

                yield name, f"{label} at {key}", call
