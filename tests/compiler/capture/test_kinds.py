"""Kinds of objects, and what to call them."""

import abc
import collections
import enum
import functools
import gc
import re
import weakref

import numpy as np
import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler.capture import Trace, record
from tensorlab.compiler.capture.kinds import (
    Unknown,
    is_always_one_object,
    is_python_class,
    kind_of,
    slots_of,
)
from tensorlab.compiler.capture.sources import named, shortened


class Base:
    __slots__ = ("a",)


class Derived(Base):
    __slots__ = ("b",)


class Level(enum.IntEnum):
    LOW = 1


class Words(list):
    pass


class Comparing(type):
    def __eq__(self, other):
        raise AssertionError("must not be called")


class Compared(metaclass=Comparing):
    pass


Compiled = type("cython_function_or_method", (), {})
COMPILED = Compiled()
COMPILED.__module__, COMPILED.__qualname__ = "other", "function"
Pair = collections.namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, "value"),
        (1.5, "value"),
        ("a", "value"),
        ((1, ("a", None)), "value"),
        ((1, [2]), "tuple"),
        (torch.Size([1]), "value"),
        (torch.device("cpu"), "value"),
        (True, "constant"),
        (None, "constant"),
        (torch.float32, "constant"),
        (torch.no_grad(), "constant"),
        (torch.add, "constant"),
        (re.compile("a"), "constant"),
        (int, "constant"),
        (KeyError, "constant"),
        (re.Pattern, "constant"),
        (torch.dtype, "constant"),
        (torch.ones(1), "tensor"),
        (nn.Parameter(torch.ones(1)), "tensor"),
        ([], "list"),
        ({}, "dict"),
        (collections.defaultdict(list), "dict"),
        (collections.OrderedDict(), "ordered"),
        (frozenset(), "set"),
        (kind_of, "function"),
        ([].append, "builtin"),
        (nn.Linear(1, 1).forward, "method"),
        (functools.partial(len), "partial"),
        (property(), "descriptor"),
        (Base, "class"),
        (nn.Linear, "class"),
        (abc, "module"),
        (nn.Linear(1, 1), "instance"),
        (Derived(), "instance"),
        (Level.LOW, "instance"),
        (Words(), "instance"),
        (Pair(1, 2), "instance"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_an_object_has_a_kind(value, kind):
    assert kind_of(value) == kind


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (np.ones(1), "an object of type numpy.ndarray"),
        (np.float64(1), "an object of type numpy.float64"),
        (np.float32, "the type numpy.float32, whose calls cannot be seen"),
        (iter([]), "an object of type builtins.list_iterator"),
        (collections.deque(), "an object of type collections.deque"),
        (torch.ones(1).untyped_storage(), "a tensorlab._core.storage.Storage"),
        (
            type("Deque", (collections.deque,), {})(),
            "an object of type tests.compiler.capture.test_kinds.Deque",
        ),
        (
            Compared(),
            "an object of type tests.compiler.capture.test_kinds.Compared, whose metaclass has no __hash__",
        ),
        (
            Compared,
            "the type tests.compiler.capture.test_kinds.Compared, whose metaclass has no __hash__",
        ),
        (COMPILED, "other.function, a compiled function"),
        (memoryview, "the type builtins.memoryview, whose calls cannot be seen"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_other_objects_are_unknown(value, what):
    with pytest.raises(Unknown, match=re.escape(what)):
        kind_of(value)


def test_classes_of_python_are_told_from_those_of_c():
    assert all(is_python_class(one) for one in (Base, Level, Words, Pair, nn.Linear, abc.ABC))
    hidden = type(collections.abc.Sized._abc_impl)
    assert not any(
        is_python_class(one)
        for one in (int, collections.deque, functools.partial, torch.dtype, hidden, np.inexact)
    )


def test_classes_that_a_program_makes_at_run_time_are_let_go():
    def record_with_a_class():
        class Scaled:
            rate = 2

            def __call__(self, x):
                return x * self.rate

        scaled = Scaled()
        assert isinstance(record(lambda x: scaled(x), (torch.ones(2),))[1], Trace)
        return weakref.ref(Scaled)

    made = record_with_a_class()
    gc.collect()
    assert made() is None


def test_modules_and_members_of_enums_are_fixed_wherever_they_come_from():
    fixed = [nn.Linear(1, 1), Level.LOW, kind_of, Base, abc]
    like = [
        torch.ones(1),
        [],
        {},
        (1, []),
        set(),
        Derived(),
        Pair(1, 2),
        Words(),
        collections.OrderedDict(),
    ]
    assert all(is_always_one_object(one, kind_of(one)) for one in fixed)
    assert not any(is_always_one_object(one, kind_of(one)) for one in like)


def test_slots_of_all_classes_count():
    assert slots_of(Derived) == {"a": Base.a, "b": Derived.b}


def test_objects_are_named_without_running_their_code():
    class Loud:
        def __repr__(self):
            raise AssertionError("must not be called")

    assert shortened((1, "a", Loud(), (2.5,))) == "(1, 'a', the same Loud, (2.5))"
    assert shortened("x" * 57) == repr("x" * 57)
    assert shortened("x" * 58) == repr("x" * 58)[:57] + "..."
    assert len(shortened(tuple(range(100)))) == 60
    assert [named(one) for one in (Loud, named, len, abc, 1)] == [
        "Loud",
        "named",
        "len",
        "abc",
        "the same int",
    ]
