"""`ops.aten.add.Tensor`: ops under their names in libraries."""

import pytest

import tensorlab as torch
from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab._core.dispatch.overloads import names_of, overload_of
from tests.oracle import require_torch


def test_every_op_has_one_name_and_is_found_under_it():
    for op in list(REGISTRY.values()):
        overload = overload_of(op)
        namespace, name, suffix = names_of(op)
        packet = getattr(getattr(torch.ops, namespace), name)
        assert getattr(packet, suffix or "default") is overload
        assert overload.overloadpacket is packet
        assert overload.name() == f"{namespace}::{name}" + (f".{suffix}" if suffix else "")


@pytest.mark.parametrize(
    "name", ["add.Tensor", "mm.default", "sort.default", "clone.default", "add_.Tensor"]
)
def test_an_overload_shows_itself_as_pytorchs_does(name):
    theirs = require_torch().ops.aten
    packet, overload = name.split(".")
    one, other = (getattr(getattr(aten, packet), overload) for aten in (torch.ops.aten, theirs))
    assert (str(one), repr(one), one.name(), one.__name__) == (
        str(other),
        repr(other),
        other.name(),
        other.__name__,
    )
    assert one._schema.is_mutable == other._schema.is_mutable
    for ours, its in zip(one._schema.arguments, other._schema.arguments, strict=True):
        assert (ours.name, ours.kwarg_only, ours.has_default_value()) == (
            its.name,
            its.kwarg_only,
            its.has_default_value(),
        )
    assert str(one.overloadpacket) == str(other.overloadpacket)


def test_calls_take_the_names_of_the_schema():
    add, x = torch.ops.aten.add, torch.ones(2)
    assert add.Tensor(self=x, other=x).tolist() == [2.0, 2.0]
    assert add(x, x, alpha=1).tolist() == [2.0, 2.0]
    assert torch.ops.aten.full.default((2,), 3.0, device="cpu").tolist() == [3.0, 3.0]
    with pytest.raises(
        NotImplementedError, match="alpha is 2; this op of tensorlab has only 1. Call the public"
    ):
        add.Tensor(x, x, alpha=2)
    with pytest.raises(TypeError, match="the argument 'beta' is unknown: aten::add.Tensor"):
        add.Tensor(x, x, beta=2)
    with pytest.raises(TypeError, match="3 arguments were given by position, and it takes 2"):
        add.Tensor(x, x, 1)
    with pytest.raises(TypeError, match="'other' is given twice"):
        add.Tensor(x, x, other=x)
    with pytest.raises(TypeError, match="'other' is missing"):
        add(x)


def test_a_class_hears_the_call_of_an_overload():
    class Hears(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            heard.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})

    heard = []
    x = torch.ones(2).as_subclass(Hears)
    heard.clear()
    neg = torch.ops.aten.neg.default
    assert type(neg(x)) is Hears
    assert heard == [neg]
    with torch.DisableTorchFunctionSubclass():
        neg(x)
    assert heard == [neg]


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="ops.aten has no op 'ad'; there are"):
        _ = torch.ops.aten.ad
    with pytest.raises(
        AttributeError, match="aten::add has no overload 'Complex'; there is Tensor"
    ):
        _ = torch.ops.aten.add.Complex
    with pytest.raises(AttributeError, match="ops.nothing has no op 'f'; it is empty"):
        _ = torch.ops.nothing.f
    assert "add" in dir(torch.ops.aten)
