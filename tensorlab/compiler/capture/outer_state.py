"""What a function could read and write outside of itself, as it was before the function could change it.

It starts with the arguments and the function, and grows while the function runs: each executed piece of code
names globals and attributes, and what these names lead to, from what is known already, could be read. Each such
object is a `Thing`. It is copied (one level deep) when it is reached, and compared with the copy after the call:
a difference is a side effect, and the call can't be replayed. What was followed becomes guards (guards.py).
"""

import collections
import types

from .guard_check import MISSING, history_of, memory_layout_of, writes_to
from .kinds import (
    Unknown,
    attributes_of,
    copy_of_class,
    dict_of,
    is_always_fixed,
    is_of_tensorlab,
    is_python_class,
    kind_of,
    slots_of,
)
from .pure import is_higher_order, is_library, is_pure, reads_attributes, refusal_of_module
from .sources import Source

__all__ = ["OuterState", "Thing"]

# Entries of classes that the interpreter does not call by itself.
PASSIVE = frozenset(
    (
        *(
            "__annotations__",
            "__annotations_cache__",
            "__annotate_func__",
            "__doc__",
            "__module__",
            "__qualname__",
        ),
        *(
            "__dict__",
            "__weakref__",
            "__orig_bases__",
            "__parameters__",
            "__dataclass_fields__",
            "__match_args__",
        ),
        *(
            "__dataclass_params__",
            "__firstlineno__",
            "__static_attributes__",
            "__abstractmethods__",
            "__slots__",
        ),
    )
)
MOST_THINGS = 20_000  # of a larger state, the guards would take longer than most functions


class Thing:
    """An object of the outside.

    Attributes
    ----------
    value : the object
    source : Source, the first way that led to it
    kind : str, a word of kinds.py
    is_fixed : bool, whether a replay needs this very object, or one that is as good
    copy : what was in it when it was reached
    items : list of (key or index, object), what a container held
    attributes : dict, its `__dict__` or that of the class, or None
    before : dict, what was in `attributes`
    slots : dict, name: descriptor
    reads : dict, name: attribute or global that could be read
    slot : int or None, where the guards put it
    """

    __slots__ = (
        *(
            "attributes",
            "before",
            "copy",
            "is_fixed",
            "items",
            "kind",
            "reads",
            "slot",
            "slots",
            "source",
            "value",
        ),
    )

    def __init__(self, value, source, kind, is_fixed):
        self.value, self.source, self.kind, self.is_fixed = value, source, kind, is_fixed
        self.copy = self.attributes = self.before = self.slot = None
        self.items, self.slots, self.reads = [], {}, {}


class OuterState:
    """All Things of a recording.

    Parameters
    ----------
    refuse : function of a reason, called for what can't be replayed
    """

    def __init__(self, refuse):
        self.refuse = refuse
        self.things = {}  # id of the object: Thing
        self.names = set()  # attributes that executed code names
        self.waiting = collections.defaultdict(list)  # name: Things that have it, until it is named
        self.code = set()
        self.functions = collections.defaultdict(list)  # code: Things, until it is executed
        self.reads_all = False  # attributes may be read whose names are not in the code
        self.reads_registered = False  # so may those that modules have registered
        self.assigns = False  # executed code assigns attributes
        self.own_globals = {}  # id of the globals of a module of tensorlab: (globals, {name: value})
        self.hidden_call = self.hidden_caller = None
        self.hidden_reader = False  # a builtin is at hand that reads attributes by computed names

    # ------------------------------------------------------------ reaching objects
    def reach(self, value, source, is_fixed=True):
        """Take note of an object, and of what it leads to without naming an attribute."""
        thing = self.things.get(id(value))
        if thing is not None:
            return thing
        try:
            kind = kind_of(value)
        except Unknown as error:
            self.refuse(f"{source.text} is {error}")
            return None
        if kind in ("value", "constant"):
            if kind == "constant":
                self.reach_constant(value, source)
            return None
        is_fixed = is_fixed or is_always_fixed(value, kind)
        thing = self.things[id(value)] = Thing(value, source, kind, is_fixed and kind != "tensor")
        if len(self.things) > MOST_THINGS:
            self.refuse(f"the function may use more than {MOST_THINGS} objects of its surroundings")
            return thing
        getattr(self, f"reach_{kind}")(thing)
        return thing

    def reach_constant(self, value, source):
        if is_higher_order(value):
            self.note_hidden_caller(source.text)
        self.note_reader(value)
        if type(value) is types.MethodWrapperType:
            owner = value.__self__
            self.reach(owner, Source.constant(owner, f"{source.text}.__self__"))

    def note_reader(self, value):
        """Take note of a builtin that reads attributes by names which the code need not have."""
        if reads_attributes(value, is_hidden=False):
            self.read_dynamically()
        elif reads_attributes(value, is_hidden=True):
            self.note_hidden_reader()

    def note_hidden_reader(self):
        """Such a builtin is at hand: where another one may call it, that is not seen."""
        self.hidden_reader = True
        if self.hidden_caller:
            self.read_dynamically()

    def note_hidden_caller(self, text):
        """A builtin that calls what it is given is at hand."""
        self.hidden_caller = text
        if self.hidden_reader:
            self.read_dynamically()

    def read_dynamically(self):
        """Attributes may be read, and assigned, that no code names."""
        self.read_unnamed(only_registered=False)
        self.assign()

    def follow(self, thing, name, value, source):
        """Take note that an attribute or a global could be read."""
        if name not in thing.reads:
            thing.reads[name] = value
            self.reach(value, source, thing.is_fixed)

    def hold(self, thing, items, source_of):
        """Take note of what a container holds."""
        thing.items = list(items)
        for key, value in thing.items:
            self.reach(value, source_of(key), thing.is_fixed)

    def reach_tensor(self, thing):
        thing.copy = history_of(thing.value), memory_layout_of(thing.value), writes_to(thing.value)
        gradient = thing.copy[0][2]
        source = Source("gradient", thing.source, None, f"{thing.source.text}.grad")
        self.reach(gradient, source)
        cls = type(thing.value)
        self.reach(cls, Source.constant(cls, cls.__name__))
        self.reach_attributes(thing)

    def reach_tuple(self, thing):
        self.hold(thing, enumerate(thing.value), thing.source.item)

    def reach_list(self, thing):
        thing.copy = list(thing.value)
        self.reach_tuple(thing)

    def reach_dict(self, thing):
        thing.copy = list(thing.value.items())
        for key, _ in thing.copy:
            self.reach(key, Source.constant(key, f"a key of {thing.source.text}"))
        self.hold(thing, thing.copy, thing.source.entry)

    reach_ordered = reach_dict

    def reach_set(self, thing):
        thing.copy = list(thing.value)
        for value in thing.copy:
            if (
                self.reach(value, Source.constant(value, f"an item of {thing.source.text}"))
                is not None
            ):
                self.refuse(
                    f"{thing.source.text} is a set of something else than numbers and strings"
                )

    def reach_cell(self, thing):
        try:
            thing.copy = thing.value.cell_contents
        except ValueError:
            thing.copy = MISSING
        self.hold(
            thing,
            [(None, thing.copy)],
            lambda _: Source("cell", thing.source, None, thing.source.text),
        )

    def reach_method(self, thing):
        for name in ("__func__", "__self__"):
            self.reach_part(thing, getattr(thing.value, name), name)

    def reach_partial(self, thing):
        self.note_hidden_caller(thing.source.text)
        for name in ("func", "args", "keywords"):
            self.reach_part(thing, getattr(thing.value, name), name)

    def reach_descriptor(self, thing):
        for name in ("fget", "fset", "fdel") if type(thing.value) is property else ("__func__",):
            self.reach_part(thing, getattr(thing.value, name), name)

    def reach_part(self, thing, value, name):
        """An object that a Thing holds for good."""
        self.reach(value, Source.constant(value, f"{thing.source.text}.{name}"))

    def reach_builtin(self, thing):
        owner = thing.value.__self__
        if is_higher_order(thing.value):
            self.note_hidden_caller(thing.source.text)
        self.note_reader(thing.value)
        if not is_pure(thing.value):
            self.hidden_call = thing.source.text
        if not isinstance(owner, (types.ModuleType, type)):
            self.reach_part(thing, owner, "__self__")

    # ------------------------------------------------------------ functions
    def reach_function(self, thing):
        self.reach_attributes(thing)
        if thing.value.__code__ in self.code:
            self.follow_function(thing)
        else:
            self.functions[thing.value.__code__].append(thing)

    def execute(self, code):
        """Take note of executed code: its functions' cells and defaults could be read."""
        self.code.add(code)
        for thing in self.functions.pop(code, ()):
            self.follow_function(thing)

    def follow_function(self, thing):
        function = thing.value
        thing.copy = function.__code__, function.__defaults__, function.__kwdefaults__
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self.reach(cell, Source.constant(cell, name))
        self.reach_part(thing, function.__defaults__, "__defaults__")
        self.reach_part(thing, function.__kwdefaults__, "__kwdefaults__")

    # ------------------------------------------------------------ attributes
    def reach_instance(self, thing):
        value = thing.value
        for cls in type(value).__mro__:
            self.reach(cls, Source.constant(cls, cls.__name__))
        if isinstance(value, dict):
            self.reach_dict(thing)
        elif isinstance(value, (list, tuple)):
            self.reach_list(thing)
        else:
            thing.slots = slots_of(type(value))
            thing.copy = {
                name: one.__get__(value)
                for name, one in thing.slots.items()
                if has_slot(one, value)
            }
        self.reach_attributes(thing)

    def reach_class(self, thing):
        for cls in thing.value.__mro__[1:]:
            self.reach(cls, Source.constant(cls, cls.__name__))
        if type(thing.value) is not type:
            self.reach(
                type(thing.value), Source.constant(type(thing.value), type(thing.value).__name__)
            )
        attributes = attributes_of(thing.value)
        if is_of_tensorlab(thing.value.__module__):  # trusted, but the function could assign to it
            thing.attributes, thing.before = attributes, copy_of_class(thing.value)
            for name, value in attributes.items():
                if is_users(value):  # the program has put it there
                    self.wait_for(thing, name)
            return
        self.reach_attributes(thing, attributes)
        for name in attributes:
            if name.startswith("__") and name not in PASSIVE:
                self.follow_attribute(thing, name)
        self.name(attributes.get("__match_args__", ()))

    def reach_namespace(self, thing):
        name = thing.value.__name__
        reason = refusal_of_module(name)
        if reason is not None and not is_of_tensorlab(name):
            self.refuse(f"uses the module {name}, which {reason}")
        elif self.assigns or not is_of_tensorlab(name):  # whose own modules are trusted to stay
            self.reach_attributes(thing)
        else:
            for one, value in vars(thing.value).items():
                if is_users(value):
                    self.wait_for(thing, one)

    def reach_attributes(self, thing, attributes=None):
        thing.attributes = dict_of(thing.value) if attributes is None else attributes
        if thing.attributes is not None:
            thing.before = dict(thing.attributes)
        for name in (*(thing.attributes or ()), *thing.slots):
            self.wait_for(thing, name)

    def wait_for(self, thing, name):
        """Follow an attribute once it could be read."""
        if name in self.names or self.is_read_unnamed(thing, name):
            self.follow_attribute(thing, name)
        else:
            self.waiting[name].append(thing)

    def is_read_unnamed(self, thing, name):
        """Could code read this attribute without naming it?"""
        if thing.kind == "namespace":
            return False
        registries = (thing.attributes or {}).get("_module_names")
        return self.reads_all or (
            self.reads_registered
            and registries is not None
            and any(
                name in thing.attributes[one]
                for one in ("_parameter_names", "_buffer_names", "_module_names")
            )
        )

    def assign(self):
        """Take note that executed code assigns attributes: those of tensorlab's modules and classes might be meant."""
        if not self.assigns:
            self.assigns = True
            for thing in list(self.things.values()):
                if thing.kind == "namespace" and thing.before is None:
                    self.reach_attributes(thing)

    def follow_attribute(self, thing, name):
        if thing.kind == "namespace" and is_of_tensorlab(thing.value.__name__):
            value = vars(thing.value)[name]
            if isinstance(value, (type, types.ModuleType)) or is_users(value):
                self.follow(thing, name, value, thing.source.attribute(name))
        elif thing.before is not None and name in thing.before:
            self.follow(thing, name, thing.before[name], thing.source.attribute(name))
        else:
            value = thing.copy.get(name, MISSING)
            source = Source("slot", thing.source, thing.slots[name], f"{thing.source.text}.{name}")
            self.follow(thing, name, value, source)

    def name(self, names):
        """Take note that executed code names these attributes."""
        for name in names:
            if name not in self.names:
                self.names.add(name)
                for thing in self.waiting.pop(name, ()):
                    self.follow_attribute(thing, name)

    def read_unnamed(self, only_registered):
        """Take note that executed code may read attributes that it does not name."""
        if self.reads_all or (only_registered and self.reads_registered):
            return
        self.reads_registered, self.reads_all = True, not only_registered
        for thing in list(self.things.values()):
            for name in (*(thing.attributes or ()), *thing.slots):
                if self.is_read_unnamed(thing, name):
                    self.follow_attribute(thing, name)

    def read_global(self, scope, name):
        """Take note that executed code may read or write a global, and what a lookup of its name would find."""
        thing = self.namespace(scope, "the globals")
        value = scope.get(name, MISSING)
        if name not in thing.reads:
            self.follow(thing, name, value, Source("entry", thing.source, name, name))
        return value

    def trust_globals(self, scope, names):
        """Take note that tensorlab's own code reads these of its globals."""
        values = self.own_globals.setdefault(id(scope), (scope, {}))[1]
        for name in names:
            if name in scope:
                values.setdefault(name, scope[name])

    def namespace(self, scope, text):
        """The Thing of a dict of which only single entries count."""
        thing = self.things.get(id(scope))
        if thing is None:
            thing = self.things[id(scope)] = Thing(
                scope, Source.constant(scope, text), "scope", True
            )
        return thing

    # ------------------------------------------------------------ after the call
    def hidden_reads(self):
        """Yield a sentence for each thing that the function may have read, and that no guard can compare."""
        if self.hidden_call and self.hidden_caller:
            yield f"may call {self.hidden_call} by {self.hidden_caller}, where it can't be seen"
        for thing in self.things.values() if self.reads_all else ():
            if thing.kind == "namespace" and not is_trusted(thing.value.__name__):
                yield f"reads attributes by names that it computes, maybe of the module {thing.source.text}"

    def changes(self):
        """Yield (sentence, names) for each object of the outside that is not as it was, with the names in question."""
        for thing in self.things.values():
            text = thing.source.text
            if thing.kind == "scope":
                for name, old in thing.reads.items():
                    if thing.value.get(name, MISSING) is not old:
                        yield f"assigns the global {name}", [name]
            elif not has_same_content(thing):
                yield f"changes {text}, which comes from outside", [text, *thing.slots]
            if thing.before is not None and not is_same_dict(thing.before, thing.attributes):
                names = difference(thing.before, thing.attributes)
                reason = (
                    f"changes attributes of {text}, which comes from outside: {', '.join(names)}"
                )
                yield reason, names


def is_trusted(module):
    """Is what this module has taken for constant: that of tensorlab, and of Python's library?"""
    return is_of_tensorlab(module) or is_library(module)


def is_users(value):
    """Is this a function that a program has put into a module or a class of tensorlab, or an object with switches?"""
    if isinstance(value, types.FunctionType):
        return not is_of_tensorlab(value.__module__ or "")
    return is_python_class(type(value)) and not isinstance(value, (type, types.ModuleType))


def has_slot(descriptor, value):
    try:
        descriptor.__get__(value)
    except AttributeError:
        return False
    return True


def has_same_content(thing):
    """Is what a Thing holds, attributes apart, still the same?"""
    value, copy = thing.value, thing.copy
    if thing.kind == "cell":
        try:
            return value.cell_contents is copy
        except ValueError:
            return copy is MISSING
    if thing.kind == "function":
        now = value.__code__, value.__defaults__, value.__kwdefaults__
        return copy is None or all(one is other for one, other in zip(now, copy, strict=True))
    if thing.slots:
        now = {
            name: one.__get__(value) for name, one in thing.slots.items() if has_slot(one, value)
        }
        return is_same_dict(copy, now)
    if isinstance(copy, list):
        if isinstance(value, dict):
            return len(copy) == len(value) and all(
                key is other and old is new
                for (key, old), (other, new) in zip(copy, value.items(), strict=True)
            )
        return len(copy) == len(value) and all(
            one is other for one, other in zip(copy, value, strict=True)
        )
    return True


def is_same_dict(old, new):
    return len(old) == len(new) and all(
        key is other and old[key] is new[key] for key, other in zip(old, new, strict=True)
    )


def difference(old, new):
    """The names of what differs."""
    names = [
        name for name in {**old, **new} if old.get(name, MISSING) is not new.get(name, MISSING)
    ]
    return list(map(str, names)) or ["their order"]
