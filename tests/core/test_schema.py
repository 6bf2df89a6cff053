"""The schema language: what is parsed is spelt the same again, for every op; public functions agree with their op."""

import inspect
from typing import NamedTuple

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab as torch
from tensorlab._core.dispatch.schema import in_place, parse, spell
from tests.ops.calling_again import is_callable


@pytest.mark.parametrize(
    "text",
    [
        "sum(Tensor x, int[]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
        "sort(Tensor x, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
        "aminmax(Tensor x) -> (Tensor, Tensor)",
        "fill_(Tensor(a!) x, Tensor value) -> Tensor(a!)",
        "split_with_sizes(Tensor(a) x, int[] split_sizes, int dim=0) -> Tensor(a)[]",
        "rot90(Tensor x, int k=1, int[] dims=[0,1]) -> Tensor",
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


# ---------------------------------------------------------------- an op and the public function of its name
def public_forms(name):
    """The signatures of the functions and the method that have the name of an op."""
    for home in (torch, torch.nn.functional, torch.Tensor):
        function = getattr(home, name, None)
        if callable(function):
            yield home.__name__, inspect.signature(function).parameters


# Arguments whose default is a word of the public function for what the op has as a number.
OTHER_DEFAULTS = {("norm", "p")}  # "fro": of all elements that is 2


# Ops whose public function has PyTorch's older arguments in between, so that the op, as aten's, takes these by name.
BY_NAME = {
    "var": {"keepdim"},
    "std": {"keepdim"},
    "norm": {"dtype"},
    "nll_loss": {"ignore_index", "reduction"},
    "cross_entropy": {"ignore_index", "reduction"},
}


def disagreements(op):
    """What the schema of an op says in another way than a public function of its name.

    Either may have a default where the other has none, and a public function None for a value that it finds.
    """
    for home, arguments in public_forms(op.name):
        takes_rest = any(one.kind is one.VAR_POSITIONAL for one in arguments.values())
        for parameter in op.signature.parameters:
            public = {"x": "input", "y": "other"}.get(parameter.name)
            argument = arguments.get(parameter.name) or arguments.get(public)
            if argument is None:
                continue
            where = f"{home}.{op.name}: {argument} and {op.schema}"
            default = ... if argument.default is argument.empty else argument.default
            is_same = default in (..., None, parameter.default) or parameter.default is ...
            if not is_same and (op.name, parameter.name) not in OTHER_DEFAULTS:
                yield f"{where} have different defaults"
            is_keyword_only = argument.kind is argument.KEYWORD_ONLY
            is_meant = takes_rest or parameter.name in BY_NAME.get(op.name, ())
            if is_keyword_only != parameter.is_keyword_only and not is_meant:
                yield f"{where} differ in what is given by name only"


def test_schemas_have_the_defaults_and_the_forms_of_public_functions():
    ops = [op for op in REGISTRY.values() if is_callable(op)]
    assert [line for op in ops for line in disagreements(op)] == []
    compared = [op for op in ops if any(True for _ in public_forms(op.name))]
    assert len(compared) > len(ops) // 2


def test_a_disagreement_is_found():
    class Odd(NamedTuple):
        name: str
        schema: str

        @property
        def signature(self):
            return parse(self.schema)

    text = "sum(Tensor x, int[]? dim=None, bool keepdim=True, ScalarType? dtype=None) -> Tensor"
    default, form = (line for line in disagreements(Odd("sum", text)) if "Tensor.sum" in line)
    assert "keepdim=False" in default
    assert "different defaults" in default
    assert "dtype=None" in form
    assert "by name only" in form
