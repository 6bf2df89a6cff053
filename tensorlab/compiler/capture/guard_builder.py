"""GuardBuilder: from what a recorded call has used to the guards of the recording.

It begins with the arguments, and with all tracked objects that are compared by identity, and
asks each what must be in it. What is found there is compared in one of these ways:

    a number, a string          by its exact value
    an object that the replay needs itself, such as a Module or a function: by identity
    a tensor                    by its TensorState
    anything else               by its type, and then by what is in it, in turn

An object of the last two kinds may be another one at the next call. It gets a *slot*, where the
check puts what it finds, so that the guards of what is in it can begin there; and so can a
guard that demands the same object in another place.
"""

import collections
import types
from typing import NamedTuple

from tensorlab._core.tensor import TensorBase
from tensorlab.nn.hooks import Hooked
from tensorlab.optim.optimizer import ALL_AFTER, ALL_BEFORE

from .aliasing import Aliasing
from .guard_check import MISSING
from .guards import Guard, Guards
from .kinds import attributes_of, copy_of_class, is_compared_by_value, is_of_tensorlab
from .library_state import LibraryState, UsedScope
from .sources import ARGS, KWARGS, Source, cut, named, shortened
from .tensor_state import TensorState
from .tracked_kinds import TrackedClass, TrackedModule, TrackedTuple

__all__ = ["GuardBuilder", "Matters"]


class Matters(NamedTuple):
    """What may have made a difference to a recorded call, besides what its guards compare in any case.

    Attributes
    ----------
    gradients : bool, whether `.grad` of tensors was read or written
    offsets : bool, whether an op was told where in its storage a tensor begins
    absence : bool, whether code may have noticed that a name is missing
    shared_memory : bool, whether it counts which inputs share memory
    abstract_classes : int or None, the token of `abc` if it counts which classes are registered
        with abstract ones
    """

    gradients: bool
    offsets: bool
    absence: bool
    shared_memory: bool
    abstract_classes: int | None


class GuardBuilder:
    """The guards of a recording, while they are being collected.

    Parameters
    ----------
    state : OuterState, after the call
    matters : Matters
    """

    def __init__(self, state, matters):
        self.state, self.matters = state, matters
        self.guards = []
        self.slots = {id(ARGS): 0, id(KWARGS): 1}
        self.class_names = {}

    def build(self, args, kwargs, inputs, modules):
        """The Guards of a recording.

        Parameters
        ----------
        args, kwargs : of the recorded call
        inputs : list of the tensors of the graph's placeholders
        modules : set of str, the modules of tensorlab whose Python ran
        """
        self.demand_arguments(args, kwargs)
        for tracked in self.state.objects.values():
            if tracked.by_identity:
                tracked.add_guards(self, Source.constant(tracked.value, tracked.source.text))
        for x in inputs:
            tracked = self.state.objects[id(x)]
            if tracked.guarded is None:  # it was the key of a dict, or was taken for a constant
                self.demand(Source.constant(x, tracked.source.text), x)
        self.add_hooks(modules)
        slots = [self.slots[id(self.state.objects[id(x)].guarded)] for x in inputs]
        sharing = list(zip(slots, inputs, strict=True)) if self.matters.shared_memory else []
        aliasing = Aliasing(*self.distinct_slots(), sharing)
        library = LibraryState(used_of_tensorlab(self.state), self.matters.abstract_classes)
        return Guards(self.guards, self.slots, slots, aliasing, library)

    # ------------------------------------------------------------ single guards
    def add(self, source, check, expected, why):
        self.guards.append(Guard(source, check, expected, why))

    def add_slot(self, source):
        """Let later guards begin at what this source leads to."""
        self.slots[id(source)] = len(self.slots)

    def demand_order(self, source, values):
        """Demand that iterating gives these values, in this order."""
        self.add(source, "order", tuple(values), text_of_list(source, values))

    def comparison(self, source, value, tracked):
        """(check, expected, why) of an object; `tracked` is None if nothing in it has to be looked at."""
        text = source.text
        if tracked is None:
            if value is MISSING:
                return "identity", value, f"{text} is missing"
            if type(value) is tuple or is_compared_by_value(value):
                return "equal", value, f"{text} == {shortened(value)}"
            return "identity", value, f"{text} is {shortened(value)}"
        if tracked.by_identity:
            return "identity", value, f"{text} is {named(value)}"
        if tracked.guarded is not None:
            return "same", tracked.guarded, f"{text} is {tracked.guarded.text}"
        if isinstance(value, TensorBase):
            return self.comparison_of_tensor(source, value)
        return "type", type(value), f"type({text}) is {type(value).__name__}"

    def comparison_of_tensor(self, source, x):
        why = (
            f"{source.text}: {type(x).__name__} {x.dtype} {tuple(x.shape)} strides {x.stride()} "
            f"requires_grad={x.requires_grad}"
        )
        if self.matters.offsets:
            why += f" offset {x.storage_offset()}"
        return "tensor", TensorState(x, self.matters.offsets), why

    # ------------------------------------------------------------ objects, and what is in them
    def demand(self, source, value):
        """Demand that the object at a source is as this one is, with what is in it."""
        self.demand_all([(source, value)])

    def demand_all(self, pairs):
        """Demand the same of several objects, pairs of (source, object): first all objects, then what is in them."""
        entered = []
        for source, value in pairs:
            tracked = self.state.objects.get(id(value))
            self.add(source, *self.comparison(source, value, tracked))
            if tracked is not None and not tracked.by_identity and tracked.guarded is None:
                tracked.guarded = source
                self.add_slot(source)
                entered.append(tracked)
        for tracked in entered:
            tracked.add_guards(self, tracked.guarded)

    def demand_names(self, source, found, prefix):
        """Demand what single names of a dict stand for: {name: object}; MISSING for those that are not there."""
        self.demand_all(
            [(source.name(name, f"{prefix}{name}"), value) for name, value in found.items()]
        )

    def demand_dict(self, source, items, text_of, reads=None):
        """Demand the keys of a dict, in order, and its values; with `reads`, the values of these keys only."""
        items = list(items)
        keys = [key for key, _ in items]
        self.add(source, "keys", tuple(keys), text_of_list(source, keys))
        self.demand_all(
            [
                (source.value(i, text_of(key)), value)
                for i, (key, value) in enumerate(items)
                if reads is None or key in reads
            ]
        )

    def demand_class(self, source, attributes, reads):
        """Demand all attributes of a class, by identity where no code could read them."""
        why, read = f"{source.text} is as it was", []
        self.add(source, "keys", tuple(attributes), why)
        for i, (name, value) in enumerate(attributes.items()):
            entry = source.value(i, f"{source.text}.{name}")
            if name in reads:
                read.append((entry, value))
            else:
                self.add(entry, "identity", value, why)
        self.demand_all(read)

    def demand_arguments(self, args, kwargs):
        """Tensors first: a look at their sizes rules out recordings for other sizes."""
        self.add(ARGS, "length", len(args), f"len(args) == {len(args)}")
        is_other = [not isinstance(value, TensorBase) for value in args]
        for index in sorted(range(len(args)), key=is_other.__getitem__):
            self.demand(ARGS.item(index), args[index])
        self.demand_dict(KWARGS, kwargs.items(), lambda name: f"kwargs[{name!r}]")

    def names_in_class(self, cls):
        """Attributes of a class that code names, and that an object could hide by one of its own."""
        if cls not in self.class_names:
            scopes = [vars(base) for base in cls.__mro__]
            self.class_names[cls] = [
                name for name in self.state.names if any(name in scope for scope in scopes)
            ]
        return self.class_names[cls]

    def add_hooks(self, modules):
        """Demand that there are no hooks of all modules or all optimizers, which tensorlab's own Python looks for."""
        if "tensorlab.nn.hooks" in modules:
            hooked = Source.constant(attributes_of(Hooked), "Hooked").name("_is_hooked", "")
            self.add(hooked, "identity", False, "no hooks are registered for all modules")
        if "tensorlab.optim.optimizer" in modules:
            for hooks in (ALL_BEFORE, ALL_AFTER):
                source = Source.constant(hooks, "hooks")
                self.add(source, "keys", (), "no hooks are registered for all optimizers")

    # ------------------------------------------------------------ what is not a matter of one object
    def distinct_slots(self):
        """The slots of objects that must be different ones, and (slot, known object that must not be there)."""
        objects = self.state.objects.values()
        known = collections.defaultdict(list)  # the objects that are compared by identity
        for tracked in objects:
            if tracked.by_identity:
                known[type(tracked.value)].append(tracked.value)
        distinct, strangers = [], []
        for tracked in objects:
            if tracked.guarded is not None and type(tracked) is not TrackedTuple:
                slot = self.slots[id(tracked.guarded)]
                distinct.append(slot)
                if not isinstance(tracked.value, TensorBase):
                    strangers += [(slot, other) for other in known[type(tracked.value)]]
        return distinct, strangers


def text_of_list(source, values):
    """The demand that iterating gives these values, as Python."""
    if not values:
        return f"not {source.text}"
    return cut(f"list({source.text}) == [{', '.join(map(shortened, values))}]")


def used_of_tensorlab(state):
    """What a function used of tensorlab's own modules and classes, as a list of UsedScope.

    Of a module it is the names that code has; of a class all of it, as operators name none.
    """
    classes, values, waiting = [], {}, []

    def use(scope, found):
        if found:
            values.setdefault(id(scope), (scope, {}))[1].update(found)
            waiting.extend(one for one in found.values() if isinstance(one, types.ModuleType))

    for scope, found in state.library_globals.values():
        use(scope, found)
    for tracked in state.objects.values():
        value = tracked.value
        if isinstance(tracked, TrackedModule):
            waiting.append(value)
        elif isinstance(tracked, TrackedClass) and is_of_tensorlab(value.__module__):
            classes.append(UsedScope(value, attributes_of(value), copy_of_class(value), True))
    seen = set()
    while waiting:
        module = waiting.pop()
        if is_of_tensorlab(module.__name__) and module not in seen:
            seen.add(module)
            scope = vars(module)
            names = scope if state.reads_all else state.names
            use(scope, {name: scope[name] for name in names if name in scope})
    return [UsedScope(scope, scope, found, False) for scope, found in values.values()] + classes
