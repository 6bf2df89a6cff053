"""Attributes that builtins read from C, by names that no code has: a recording does not outlive a change of them."""

import abc
import builtins
import collections.abc
import contextlib
import copy
import dataclasses
import functools
import inspect
import itertools
import operator
import string
import types

import pytest

import tensorlab as torch
import tensorlab.nn.functional as F
from tensorlab.compiler.capture import Trace, record

pytestmark = [pytest.mark.usefixtures("fresh"), pytest.mark.filterwarnings("ignore:compile")]


class Rate:
    __match_args__ = ("rate",)

    def __init__(self):
        self.rate = 3.0

    def __str__(self):
        return f"{self.rate}"


class Plain:
    """Has a rate, but no `__match_args__` that names it."""

    def __init__(self):
        self.rate = 3.0


class Outer:
    def __init__(self):
        self.inner = Rate()

    def __getattr__(self, name):
        return object.__getattribute__(self.inner, name)


class Slotted:
    __slots__ = ("rate",)

    def __init__(self):
        self.rate = 3.0


class Inheriting(Rate):
    def read(self, name):
        return super().__getattribute__(name)


@dataclasses.dataclass
class Record:
    rate: float = 3.0


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self):
        """How much it covers."""


one, outer, slotted, inheriting, record_ = Rate(), Outer(), Slotted(), Inheriting(), Record()
plain = Plain()
several, key, path = [Rate(), Rate()], "rate", ["inner", "rate"]
slot = vars(Slotted)["rate"]
read, read_any, read_one = getattr, object.__getattribute__, one.__getattribute__
getter, bound = operator.attrgetter("rate"), functools.partial(getattr, one)
as_method, FORMAT = types.MethodType(getattr, one), "{0.rate}"
format_one, format_any = FORMAT.format, str.format


def sorted_in_place(values, key):
    values.sort(key=lambda value: key(value)["rate"])
    return values


def map_of_a_local_name():
    read_by_name = getattr  # its name comes before that of map
    return next(map(read_by_name, [one], [key]))


def matched(value):
    match value:
        case Rate(rate=found):
            return found


def matched_by_place(value):
    match value:
        case Rate(found):
            return found


# what a program reads, and the object whose `rate` changes
READS = {
    "reduce(getattr)": (lambda: functools.reduce(getattr, path, outer), outer.inner),
    "accumulate(getattr)": (
        lambda: list(itertools.accumulate([outer, *path], getattr))[-1],
        outer.inner,
    ),
    "starmap(getattr)": (lambda: next(itertools.starmap(getattr, [(one, key)])), one),
    "map(getattr)": (lambda: sum(map(getattr, several, itertools.repeat(key))), several[0]),
    "map(another name)": (lambda: next(map(read, [one], [key])), one),
    "map(a local name)": (map_of_a_local_name, one),
    "map(builtins.getattr)": (lambda: next(map(builtins.getattr, [one], [key])), one),
    "map(vars)": (lambda: next(map(vars, [one]))[key], one),
    "map(vars), into a dict": (lambda: dict(next(map(vars, [one])))[key], one),
    "filter(getattr of partial)": (lambda: len(list(filter(bound, [key]))) * bound(key), one),
    "partial": (lambda: bound(key), one),
    "a new partial": (lambda: functools.partial(getattr, one)(key), one),
    "a method": (lambda: as_method(key), one),
    "a new method": (lambda: types.MethodType(getattr, one)(key), one),
    "operator.call": (lambda: operator.call(getattr, one, key), one),
    "attrgetter": (lambda: operator.attrgetter(key)(one), one),
    "an attrgetter": (lambda: getter(one), one),
    "methodcaller": (lambda: operator.methodcaller("__getattribute__", key)(one), one),
    "sorted(key=attrgetter)": (lambda: sorted(several, key=getter)[-1].rate, several[1]),
    "min(key=getattr)": (lambda: float(bound(min([key], key=bound))), one),
    "list.sort(key=vars)": (lambda: sorted_in_place([one], vars)[0].rate, one),
    "object.__getattribute__": (lambda: object.__getattribute__(one, key), one),
    "object.__getattribute__, another name": (lambda: read_any(one, key), one),
    "object.__getattribute__ of a plain object": (lambda: read_any(plain, key), plain),
    "__getattribute__": (lambda: one.__getattribute__(key), one),
    "__getattribute__ of one": (lambda: read_one(key), one),
    "map(object.__getattribute__)": (lambda: next(map(read_any, [one], [key])), one),
    "super().__getattribute__": (lambda: inheriting.read(key), inheriting),
    "__getattr__": (lambda: outer.rate, outer.inner),
    "getattr to __getattr__": (lambda: getattr(outer, key), outer.inner),
    "str.format": (lambda: float(FORMAT.format(one)), one),
    "str.format of one": (lambda: float(format_one(one)), one),
    "str.format, another name": (lambda: float(format_any(FORMAT, one)), one),
    "str.format_map": (lambda: float("{one.rate}".format_map({"one": one})), one),
    "map(str.format)": (lambda: float(next(map(str.format, [FORMAT], [one]))), one),
    "map(a text's format)": (lambda: float(next(map(FORMAT.format, [one]))), one),
    "map(format of one)": (lambda: float(next(map(format_one, [one]))), one),
    "map(format_map)": (lambda: float(next(map("{a.rate}".format_map, [{"a": one}]))), one),
    "Formatter": (lambda: float(string.Formatter().format(FORMAT, one)), one),
    "an f-string": (lambda: float(f"{one.rate}"), one),
    "an f-string by __str__": (lambda: float(f"{one}"), one),
    "map(str)": (lambda: float(next(map(str, [one]))), one),
    "%": (lambda: float("%(rate)s" % vars(one)), one),  # noqa: UP031
    "dict.get": (lambda: next(map(one.__dict__.get, [key])), one),
    "map(dict.get)": (lambda: next(map(dict.get, [vars(one)], [key])), one),
    "__get__ of a slot": (lambda: slot.__get__(slotted), slotted),
    "map(__get__ of a slot)": (lambda: next(map(slot.__get__, [slotted])), slotted),
    "copy": (lambda: getattr(copy.copy(one), key), one),
    "deepcopy": (lambda: next(iter(vars(copy.deepcopy(one)).values())), one),
    "__getstate__": (lambda: one.__getstate__()[key], one),
    "map(object.__getstate__)": (lambda: next(map(object.__getstate__, [one]))[key], one),
    "__reduce_ex__": (lambda: one.__reduce_ex__(4)[2][key], one),
    "getattr_static": (lambda: inspect.getattr_static(one, key), one),
    "asdict": (lambda: dataclasses.asdict(record_)[key], record_),
    "replace": (lambda: dataclasses.replace(record_).rate, record_),
    "match": (lambda: matched(one), one),
    "match by place": (lambda: matched_by_place(one), one),
}


@contextlib.contextmanager
def changed(thing):
    thing.rate = 7.0
    try:
        yield
    finally:
        thing.rate = 3.0


@pytest.mark.parametrize("name", READS)
def test_what_a_builtin_reads_is_guarded_or_refused(name):
    get, thing = READS[name]
    compiled = torch.compile(lambda x: x * get())
    x = torch.ones(2)
    for _ in range(4):
        before = compiled(x)
    with changed(thing):
        expected = x * get()
        for _ in range(3):
            assert torch.equal(compiled(x), expected)
        assert not torch.equal(expected, before)
    for _ in range(3):
        assert torch.equal(compiled(x), before)


@pytest.mark.parametrize("ask", [vars, dir, lambda one: hasattr(one, "extra")])
def test_an_attribute_that_appears_counts(ask):
    compiled = torch.compile(lambda x: x * len(str(list(map(ask, [one])))))
    x = torch.ones(2)
    for _ in range(3):
        compiled(x)
    one.extra = 1
    try:
        assert torch.equal(compiled(x), x * len(str(list(map(ask, [one])))))
    finally:
        del one.extra


def test_what_reads_no_attributes_by_itself_costs_no_guards():
    def program(x):
        words = sorted(["b", "a"], key=len)
        return x * len(list(map(str.upper, words))) * one.rate

    trace = record(program, (torch.ones(2),))[1]
    assert isinstance(trace, Trace)
    one.unread = 1
    try:
        assert trace.guards.check((torch.ones(2),), None)
    finally:
        del one.unread


# ------------------------------------------------------------------------------------------------ abstract classes
def test_isinstance_is_asked_again_when_a_class_is_registered():
    class Square:
        pass

    square = Square()
    compiled = torch.compile(lambda x: x * 2 if isinstance(square, Shape) else x * 3)
    x = torch.ones(2)
    for _ in range(3):
        assert compiled(x)[0] == 3
    Shape.register(Square)
    for _ in range(3):
        assert compiled(x)[0] == 2
    assert compiled.compiled.counts == {"replayed": 4, "recorded": 2, "as Python": 0}


def test_an_abstract_class_of_the_library_is_asked_again():
    class Row:
        pass

    row = Row()
    compiled = torch.compile(
        lambda x: x * 2 if isinstance(row, collections.abc.Sequence) else x * 3
    )
    x = torch.ones(2)
    for _ in range(3):
        assert compiled(x)[0] == 3
    collections.abc.Sequence.register(Row)
    assert compiled(x)[0] == 2


def test_a_branch_that_asks_an_abstract_class_is_guarded():
    class Square:
        pass

    square = Square()

    def program(x):
        if x.sum() > 0:
            return x
        return x * 2 if isinstance(square, Shape) else x * 3

    compiled = torch.compile(program)
    for _ in range(3):
        compiled(torch.ones(2))
        assert compiled(-torch.ones(2))[0] == -3
    Shape.register(Square)
    assert compiled(-torch.ones(2))[0] == -2


def test_registering_a_class_is_an_effect():
    class Square:
        pass

    def program(x):
        Shape.register(Square)
        return x + 1

    outcome = record(program, (torch.ones(2),))[1]
    assert "registers a class" in str(outcome)


def test_functions_of_tensorlab_by_computed_names_are_guarded():
    kind = "re"

    def program(x):
        return getattr(F, kind + "lu")(x)

    compiled, x, relu = torch.compile(program), torch.tensor([-1.0, 2.0]), F.relu
    for _ in range(3):
        compiled(x)
    F.relu = torch.abs
    try:
        assert torch.equal(compiled(x), x.abs())
    finally:
        F.relu = relu
    assert torch.equal(compiled(x), x.relu())
