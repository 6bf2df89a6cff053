"""Schemas read off annotations, against PyTorch's."""

from collections.abc import Sequence
from typing import Union

import pytest

import tensorlab
from tensorlab.library import infer_schema
from tests.oracle import require_torch


def functions(T):
    """The same functions, annotated with the types of a package."""
    Tensor, cpu = T.Tensor, T.device("cpu")

    def plain(x: Tensor, y: Tensor) -> Tensor: ...
    def numbers(x: Tensor, n: int, a: float, b: bool, s: str) -> Tensor: ...
    def defaults(
        x: Tensor, n: int = 3, a: float = 0.5, b: bool = True, s: str = "hi"
    ) -> Tensor: ...
    def optional(x: Tensor | None, n: int | None = None, a: float | None = 1.0) -> Tensor: ...
    def lists(
        xs: Sequence[Tensor], ns: list[int], fs: Sequence[float], more: Sequence[int] | None
    ) -> Tensor: ...
    def scalar(x: Tensor, v: Union[int, float, bool]) -> Tensor: ...  # noqa: UP007
    def kinds(x: Tensor, d: T.dtype, where: T.device) -> Tensor: ...
    def kinds_with_defaults(x: Tensor, d: T.dtype = T.float64, where: T.device = cpu) -> Tensor: ...
    def keywords(x: Tensor, *, n: int = 1, y: Tensor | None = None) -> Tensor: ...
    def nothing(x: Tensor) -> None: ...
    def several(x: Tensor) -> tuple[Tensor, Tensor, int]: ...
    def listed(x: Tensor) -> list[Tensor]: ...
    def number(x: Tensor) -> float: ...

    return [
        plain,
        numbers,
        defaults,
        optional,
        lists,
        scalar,
        kinds,
        kinds_with_defaults,
        keywords,
        nothing,
        several,
        listed,
        number,
    ]


NAMES = [one.__name__ for one in functions(tensorlab)]


@pytest.mark.parametrize("k", range(len(NAMES)), ids=NAMES)
def test_a_schema_is_spelled_as_in_pytorch(k):
    torch = require_torch()
    for mutated in ((), ("x",)) if NAMES[k] not in ("optional", "lists") else ((),):
        expected = torch.library.infer_schema(
            functions(torch)[k], mutates_args=mutated, op_name="f"
        )
        found = infer_schema(functions(tensorlab)[k], mutates_args=mutated, op_name="f")
        assert found == expected.replace("torch.", "tensorlab.")


def test_a_dtype_and_a_device_are_defaults_that_a_call_gets():
    cpu = tensorlab.device("cpu")

    def made(
        d: tensorlab.dtype = tensorlab.float64, where: tensorlab.device = cpu
    ) -> tensorlab.Tensor:
        return tensorlab.ones(1, dtype=d, device=where)

    with tensorlab.library._scoped_library("test", "FRAGMENT") as lib:
        lib.define("made" + infer_schema(made, mutates_args=()))
        lib.impl("made", made, "CompositeExplicitAutograd")
        assert tensorlab.ops.test.made().dtype is tensorlab.float64
        assert tensorlab.ops.test.made(tensorlab.int64).dtype is tensorlab.int64
        assert "ScalarType d=float64, Device where" in str(tensorlab.ops.test.made.default._schema)


def unannotated(x, y: int) -> tensorlab.Tensor: ...
def odd(x: dict) -> tensorlab.Tensor: ...
def no_result(x: tensorlab.Tensor): ...
def stars(*xs: tensorlab.Tensor) -> tensorlab.Tensor: ...
def odd_default(x: tensorlab.Tensor, n: int = ()) -> tensorlab.Tensor: ...
def pair(x: tuple[int, int]) -> tensorlab.Tensor: ...
def odd_result(x: tensorlab.Tensor) -> str: ...


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (unannotated, "the parameter 'x' of unannotated has no annotation; write its type"),
        (odd, "the parameter 'x' of odd is annotated <class 'dict'>, which no schema can say"),
        (no_result, "no_result doesn't say what it returns"),
        (stars, "stars takes \\*xs"),
        (odd_default, "the default of 'n' of odd_default is \\(\\)"),
        (pair, "is a tuple; write Sequence"),
        (odd_result, "returns <class 'str'>"),
    ],
)
def test_what_no_schema_can_say_is_refused(function, message):
    with pytest.raises(ValueError, match=message):
        infer_schema(function, mutates_args=())


@pytest.mark.parametrize(
    ("mutated", "message"),
    [
        (("z",), "names 'z', and numbers has the parameters x, n, a, b, s"),
        (("n",), "names 'n', which is no Tensor in numbers"),
        ("x", r"is the string 'x'; give a tuple of names, \('x',\)"),
    ],
)
def test_written_arguments_are_tensors_of_the_function(mutated, message):
    with pytest.raises(ValueError, match=message):
        infer_schema(functions(tensorlab)[1], mutates_args=mutated)


def test_unknown_mutation_marks_all_tensors():
    found = infer_schema(functions(tensorlab)[0], mutates_args="unknown", op_name="f")
    assert found == "f(Tensor(a0!) x, Tensor(a1!) y) -> Tensor"
