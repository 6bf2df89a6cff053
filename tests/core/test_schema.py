"""The schema language: what is parsed is spelt the same again, for every op there is."""

import pytest
from tensorlab._core.op import REGISTRY

from tensorlab._core.schema import in_place, parse, spell


@pytest.mark.parametrize(
    "text",
    [
        "sum(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "sort(Tensor x, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
        "fill_(Tensor(a!) x, Tensor value) -> Tensor(a!)",
        "split(Tensor(a) x, int dim, int[] lengths) -> Tensor(a)[]",
        "index(Tensor x, Tensor?[] indices) -> Tensor",
        'scatter_reduce(Tensor x, str reduce="sum", int[] dims=[], float p=2.5) -> Tensor',
    ],
)
def test_a_schema_is_spelt_as_it_was_written(text):
    assert spell(parse(text)) == text


def test_parameters_know_type_default_and_form():
    dim, keepdim, dtype = parse(
        "f(int[]? dim=None, bool keepdim=False, *, ScalarType dtype) -> Tensor"
    ).parameters
    assert (dim.type.word, dim.type.is_list, dim.type.is_optional) == ("int", True, True)
    assert dim.default is None
    assert keepdim.default is False
    assert dtype.default is ...
    assert (keepdim.is_keyword_only, dtype.is_keyword_only) == (False, True)


def test_the_schema_of_an_in_place_op_writes_its_first_argument():
    assert spell(in_place(parse("lerp(Tensor x, Tensor end) -> Tensor"))) == (
        "lerp_(Tensor(a!) x, Tensor end) -> Tensor(a!)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum(Tensor x)", "is not of the form"),
        ("sum(tensor x) -> Tensor", "'tensor' is none of the types"),
        ("sum(Tensor) -> Tensor", "'Tensor' is no parameter"),
        ("sum(Tensor x) -> Tensor!", "'Tensor!' is no result"),
    ],
)
def test_what_is_not_in_the_language_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_the_schema_of_every_op_is_complete(name):
    op = REGISTRY[name]
    signature = op.signature
    assert spell(signature) == op.schema
    assert signature.name == name
    assert tuple(one.name for one in signature.parameters) == op.params[: op.arity]
    assert op.writes == any(one.type.is_written for one in signature.parameters)
