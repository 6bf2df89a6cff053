"""Guards: what has to be as it was for a trace to hold, as records that C checks."""

import types

from tensorlab._core.device import device
from tensorlab._core.tensor import TensorBase

from .guard_check import MISSING, GuardCheck, storage_of
from .kinds import attributes_of, copy_of_class, dict_of, is_of_tensorlab
from .sources import named, shortened

__all__ = ["Guards"]

WORDS = {
    -1: "the number of arguments is another one",
    -2: "grad mode, inference mode, the default dtype or device, a mode or a setting has changed",
    -3: "two arguments are one object, or are no longer",
    -4: "tensors share their memory in another way",
    -5: "a function or a method of tensorlab is another one",
    -6: "a class has been registered with an abstract class",
}


class Guards:
    """The guards of a trace.

    Parameters
    ----------
    state : OuterState, after the call
    args, kwargs : of the recorded call
    inputs : list of the tensors of the graph's placeholders
    shares : bool, whether it matters which inputs share their memory
    gradients_matter : bool, whether `.grad` of tensors was read or written
    reads_offsets : bool, whether an op was told where in its storage a tensor begins
    absence_matters : bool, whether code may have noticed that a name is missing
    extra : records of what tensorlab's own Python read
    registry : int or None, the token of `abc` if it counts which classes are registered with abstract ones
    """

    def __init__(
        self,
        state,
        args,
        kwargs,
        inputs,
        *,
        shares,
        gradients_matter,
        reads_offsets,
        absence_matters,
        extra=(),
        registry=None,
    ):
        self.state = state
        self.gradients_matter, self.reads_offsets = gradients_matter, reads_offsets
        self.absence_matters = absence_matters
        self.records, self.lines, self.texts, self.facts = [], [], [], set()
        self.slots, self.hideable = [], {}
        self.emit_arguments(args, kwargs)
        for thing in state.things.values():
            if thing.is_fixed:
                self.emit(thing)
        for x in inputs:
            thing = state.things[id(x)]
            if (
                thing.slot is None
            ):  # reached as the key of a dict, or as what was taken for a constant
                self.fetch("whole", x, None, x, thing.source.text)
        for kind, container, entries, text in extra:
            self.add(kind, container, text, key=entries)
        inputs = [state.things[id(x)] for x in inputs]
        slotted = [thing for thing in state.things.values() if thing.slot is not None]
        distinct = [
            thing
            for thing in slotted
            if thing.kind in ("tensor", "list", "dict", "instance", "set", "ordered")
        ]
        strangers = [
            (thing.slot, other.value)
            for thing in distinct
            if thing.kind != "tensor"
            for other in state.things.values()
            if other.is_fixed and type(other.value) is type(thing.value)
        ]
        self.trusted = trusted_by(state)
        self.groups = groups_of(inputs) if shares else []
        self.checker = GuardCheck(
            self.records,
            len(self.slots),
            len(args),
            [thing.slot for thing in inputs],
            [thing.slot for thing in distinct],
            self.groups,
            strangers,
        )
        self.checker.trust(list(self.trusted.values()))
        self.checker.registry = registry
        if shares:
            self.checker.note_gaps([thing.value for thing in inputs])
        self.check, self.match = self.checker.check, self.checker.match
        self.text = "\n".join(self.texts)
        del (
            self.state,
            self.records,
            self.slots,
            self.hideable,
        )  # the arguments of this call are let go

    def why(self, args, kwargs=None):
        """The first guard that does not hold, in words; None if all do."""
        if self.check(args, kwargs):
            return None
        failed, entry = self.checker.failed, self.checker.failed_entry
        if failed < 0:
            return WORDS[failed]
        lines = self.lines[failed]
        return f"no longer true: {lines[entry] if 0 <= entry < len(lines) else self.texts[failed]}"

    def join(self, other):
        """Let these stand for a branch, too, whose guards `other` are covered but for what is trusted."""
        for key, (owner, attributes, values, is_whole) in other.trusted.items():
            known = self.trusted.get(key)
            if known is None:
                self.trusted[key] = owner, attributes, values, is_whole
            elif not is_whole:
                self.trusted[key] = owner, attributes, {**known[2], **values}, False
        self.checker.trust(list(self.trusted.values()))
        if self.checker.registry is None:
            self.checker.registry = other.checker.registry

    def is_resized(self, args, kwargs=None):
        """Whether nothing but sizes and strides of tensors is different now."""
        return self.checker.is_resized(args, kwargs)

    # ------------------------------------------------------------ records
    def add(
        self, kind, container, text, *, key=None, how="anything", expected=None, out=-1, number=0
    ):
        """A record, in the form that GuardCheck takes, and the line of Python for it, or a line for each entry."""
        self.records.append((kind, container, key, how, expected, out, number))
        lines = text if isinstance(text, list) else [text]
        self.lines.append(lines)
        self.texts.append(" and ".join(line for line in lines if line))
        self.facts.update(self.facts_of(kind, container, key, how, expected, number, lines[0]))

    def facts_of(self, kind, container, key, how, expected, number, line):
        """What a record demands, in a form that is the same for the same demand of another recording."""
        where = self.slots[container] if type(container) is int else id(container)
        if kind in ("entries", "lookups"):
            for name, one, value, _, _ in key:
                yield kind, where, value_of(name), one, self.fact_of(one, value)
            if kind == "entries":
                yield kind, where, tuple(value_of(name) for name, *_ in key)
        elif kind == "tensor":
            yield kind, where, line, number
        else:
            yield kind, where, value_of(key), how, self.fact_of(how, expected), number

    def fact_of(self, how, expected):
        """What an expected object comes down to, so that the guards of two recordings can be compared."""
        if how == "value":
            return value_of(expected)
        return self.slots[expected] if how == "same slot" else id(expected)

    def covers(self, other):
        """Whether other guards demand nothing that these do not: where these hold, those do."""
        mine, others = ([first for _, first in one.groups] for one in (self, other))
        return other.facts <= self.facts and (not others or mine == others)

    def new_slot(self, text):
        self.slots.append(text)
        return len(self.slots) - 1

    def comparison(self, value, text, children):
        """How an object is compared: (how, expected, out, number), and a line of Python."""
        thing = self.state.things.get(id(value))
        if thing is None:
            if value is MISSING:
                return ("identity", MISSING, -1, 0), f"{text} is missing"
            if type(value) in (int, float, complex, str, bytes) or isinstance(
                value, (tuple, slice, range)
            ):
                return ("value", value, -1, 0), f"{text} == {shortened(value)}"
            if hasattr(type(value), "__slots__") and type(value).__name__ == "device":
                return ("value", value, -1, 0), f"{text} == {value!r}"
            return ("identity", value, -1, 0), f"{text} is {shortened(value)}"
        if thing.is_fixed:
            return ("identity", value, -1, 0), f"{text} is {named(value)}"
        if thing.slot is not None:
            return ("same slot", thing.slot, -1, 0), f"{text} is {self.slots[thing.slot]}"
        thing.slot = self.new_slot(text)
        children.append(thing)
        if thing.kind == "tensor":
            return ("anything", None, thing.slot, 0), f"{text} is a tensor"
        name = type(value).__name__
        if isinstance(value, (list, tuple)):
            return (
                "sized",
                type(value),
                thing.slot,
                len(value),
            ), f"type({text}) is {name} and len({text}) == {len(value)}"
        return ("type", type(value), thing.slot, 0), f"type({text}) is {name}"

    def fetch(self, kind, container, key, value, text, index=0):
        """A record that fetches one object, and those of what is in it."""
        children = []
        (how, expected, out, number), line = self.comparison(value, text, children)
        if how == "sized":
            self.add(
                kind, container, line, key=key, how="type", expected=expected, out=out, number=index
            )
            self.add("whole", out, line, how=how, expected=expected, number=number)
        else:
            self.add(
                kind, container, line, key=key, how=how, expected=expected, out=out, number=index
            )
        self.emit_all(children)

    def entries(self, container, pairs, read, text_of, text):
        """A record for all entries of a dict; `read` are the keys whose values count, None for all."""
        children, entries, lines = [], [], []
        for key, value in pairs:
            if read is not None and key not in read:
                entries.append((key, "anything", None, -1, 0))
                lines.append("")
                continue
            comparison, line = self.comparison(value, text_of(key), children)
            entries.append((key, *comparison))
            lines.append(line)
        lines.append(f"list({text}) == {shortened(tuple(key for key, _ in pairs))}")
        self.add("entries", container, lines, key=entries)
        self.emit_all(children)

    def lookups(self, container, pairs, text):
        """A record for single entries of a dict, by name; those that are MISSING are not there."""
        children, entries, lines = [], [], []
        for name, value in pairs:
            comparison, line = self.comparison(value, f"{text}{name}", children)
            entries.append((name, *comparison))
            lines.append(line)
        if entries:
            self.add("lookups", container, lines, key=entries)
        self.emit_all(children)

    def emit_all(self, things):
        for thing in things:
            self.emit(thing)

    def emit_arguments(self, args, kwargs):
        """Tensors first: a look at their sizes rules out recordings for other sizes."""
        is_other = [not isinstance(value, TensorBase) for value in args]
        for index in sorted(range(len(args)), key=is_other.__getitem__):
            self.fetch("argument", None, None, args[index], f"args[{index}]", index)
        slot = self.new_slot("kwargs")
        if kwargs:
            self.add("keyword", None, "kwargs is given", how="type", expected=dict, out=slot)
            self.entries(slot, list(kwargs.items()), None, lambda key: f"kwargs[{key!r}]", "kwargs")
        else:
            self.add("no keywords", None, "not kwargs")

    # ------------------------------------------------------------ each kind of Thing
    def emit(self, thing):
        getattr(self, f"emit_{thing.kind}", self.emit_nothing)(
            thing, thing.value if thing.is_fixed else thing.slot
        )

    def emit_nothing(self, thing, where):
        """Methods, builtins, partials, descriptors: they can't change, and what they hold is fixed."""

    def emit_tensor(self, thing, where):
        x, text = thing.value, thing.source.text
        line = (
            f"{text}: {type(x).__name__} {x.dtype} {tuple(x.shape)} strides {x.stride()} "
            f"requires_grad={x.requires_grad}"
        )
        self.add("tensor", thing.slot, line, key=x, number=int(self.reads_offsets))
        if self.gradients_matter and x.is_leaf:
            self.fetch("gradient", thing.slot, None, thing.copy[0][2], f"{text}.grad")
        if thing.before or self.absence_matters:
            self.emit_attributes(thing, thing.slot)

    def emit_tuple(self, thing, where):
        kind = "item"
        for index, value in thing.items:
            self.fetch(kind, where, None, value, f"{thing.source.text}[{index}]", index)

    def emit_list(self, thing, where):
        if thing.is_fixed:
            self.add(
                "whole",
                where,
                f"len({thing.source.text}) == {len(thing.items)}",
                how="sized",
                expected=type(thing.value),
                number=len(thing.items),
            )
        self.emit_tuple(thing, where)

    def emit_dict(self, thing, where):
        text = thing.source.text
        self.entries(where, thing.items, None, lambda key: f"{text}[{shortened(key)}]", text)

    def emit_ordered(self, thing, where):
        text = thing.source.text
        if not thing.items:
            self.entries(where, [], None, None, text)
            return
        self.add(
            "ordered",
            where,
            f"list({text}) == {shortened(tuple(key for key, _ in thing.items))}",
            key=tuple(key for key, _ in thing.items),
        )
        self.emit_dict(thing, where)

    def emit_set(self, thing, where):
        self.add(
            "ordered",
            where,
            f"list({thing.source.text}) == {shortened(thing.copy)}",
            key=tuple(thing.copy),
        )

    def emit_cell(self, thing, where):
        for _, value in thing.items:
            self.fetch("cell", where, None, value, thing.source.text)

    def emit_scope(self, thing, where):
        self.lookups(where, thing.reads.items(), "")

    def emit_namespace(self, thing, where):
        if is_of_tensorlab(thing.value.__name__):  # trusted
            return
        names = list(thing.reads)
        if self.absence_matters:
            names += [name for name in self.state.names if name not in thing.before]
        pairs = [(name, thing.before.get(name, MISSING)) for name in names]
        self.lookups(thing.attributes, pairs, f"{thing.source.text}.")

    def emit_function(self, thing, where):
        if thing.copy is not None:
            self.add(
                "function", where, f"{thing.source.text} has its code and defaults", key=thing.copy
            )
        if thing.before or self.absence_matters:
            self.emit_attributes(thing, where)

    def emit_class(self, thing, where):
        if is_of_tensorlab(thing.value.__module__):  # trusted
            return
        text = thing.source.text
        self.add(
            "ancestors",
            where,
            f"{text}.__mro__ is the same",
            how="identity",
            expected=thing.value.__mro__,
        )
        self.entries_of_class(thing)

    def entries_of_class(self, thing):
        """All entries of a class, by identity, except for tensors that were read."""
        children, entries = [], []
        for name, value in thing.before.items():
            if name in thing.reads:
                comparison, _ = self.comparison(value, f"{thing.source.text}.{name}", children)
            else:
                comparison = "identity", value, -1, 0
            entries.append((name, *comparison))
        self.add("entries", thing.attributes, f"{thing.source.text} is as it was", key=entries)
        self.emit_all(children)

    def emit_instance(self, thing, where):
        value, text = thing.value, thing.source.text
        if thing.before is None and thing.is_fixed:
            self.add(
                "whole",
                where,
                f"type({text}) is {named(type(value))}",
                how="type",
                expected=type(value),
            )
        if isinstance(value, dict):
            self.emit_dict(thing, where)
        elif isinstance(value, (list, tuple)):
            self.emit_list(thing, where)
        for name, descriptor in thing.slots.items():
            if name in thing.reads:
                self.fetch("slot", where, descriptor, thing.reads[name], f"{text}.{name}")
        self.emit_attributes(thing, where)

    def emit_attributes(self, thing, where):
        """The `__dict__` of an object: what was read in it, and what must not be there."""
        if thing.before is None:
            return
        text, own = thing.source.text, dict_of(thing.value)
        if thing.is_fixed:
            self.add(
                "object",
                where,
                f"type({text}) is {named(type(thing.value))}",
                key=own,
                expected=type(thing.value),
            )
            where = own
        else:
            slot = self.new_slot(f"{text}.__dict__")
            self.add("dict", where, f"{text} has a __dict__", how="type", expected=dict, out=slot)
            where = slot
        if self.absence_matters:
            self.entries(
                where,
                list(thing.before.items()),
                thing.reads,
                lambda name: f"{text}.{name}",
                f"{text}.__dict__",
            )
            return
        pairs = [(name, value) for name, value in thing.before.items() if name in thing.reads]
        pairs += [
            (name, MISSING) for name in self.shadowed(type(thing.value)) if name not in thing.before
        ]
        self.lookups(where, pairs, f"{text}.")

    def shadowed(self, cls):
        """Attributes of a class that code names, and that an object could hide by one of its own."""
        if cls not in self.hideable:
            scopes = [vars(base) for base in cls.__mro__]
            names = [name for name in self.state.names if any(name in one for one in scopes)]
            self.hideable[cls] = names
        return self.hideable[cls]


def trusted_by(state):
    """What of tensorlab's own modules and classes a function used, as `GuardCheck.trust` takes it, by identity.

    Of a module it is the names that code has; of a class all of it, as operators name none.
    """
    found, waiting = {}, []

    def trust(scope, values):
        if values:
            found.setdefault(id(scope), (scope, scope, {}, False))[2].update(values)
            waiting.extend(one for one in values.values() if isinstance(one, types.ModuleType))

    for scope, values in state.own_globals.values():
        trust(scope, values)
    for thing in state.things.values():
        cls = thing.value
        if thing.kind == "namespace":
            waiting.append(thing.value)
        elif thing.kind == "class" and is_of_tensorlab(cls.__module__):
            found[id(cls)] = cls, attributes_of(cls), copy_of_class(cls), True
    seen = set()
    while waiting:
        module = waiting.pop()
        if is_of_tensorlab(module.__name__) and module not in seen:
            seen.add(module)
            scope = vars(module)
            names = scope if state.reads_all else state.names
            trust(scope, {name: scope[name] for name in names if name in scope})
    return found


def groups_of(things):
    """[(slot, position of the first tensor with the same storage)]"""
    first, groups = {}, []
    for i, thing in enumerate(things):
        groups.append((thing.slot, first.setdefault(id(storage_of(thing.value)), i)))
    return groups


def value_of(value):
    """A number, a string or a tuple of such, exactly; the identity of anything else."""
    if isinstance(value, tuple):
        return (type(value), *map(value_of, value))
    if type(value) in (int, float, complex, str, bytes, bool, slice, range, device):
        return type(value), repr(value)
    return id(value)
