"""Schemas against PyTorch's: an op that is one of aten's has its parameters, defaults, results and marks."""

import functools
import re
import subprocess
import sys

import numpy as np
import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
import tensorlab.optim
from tensorlab._core.dispatch.schema import in_place_overload, parse, spell
from tests.oracle import require_torch

SEVERAL = "one op for several of aten's overloads, so it has a default, or takes None, where this one doesn't"
INT64 = "None is int64 here, which is aten's default"

_SEVERAL = """
    sum mean prod count_nonzero squeeze squeeze_ eye rand randn randperm rand_like randn_like randint
    randint_like bernoulli random random_
"""
# Ops that take more than aten's. A call as aten's schema says means the same.
WIDER = {
    **dict.fromkeys(_SEVERAL.split(), SEVERAL),
    "leaky_relu": "prelu calls it with a tensor of slopes",
}
# Ops that differ in another way.
OTHER = {
    **dict.fromkeys(["randint", "randperm", "tril_indices", "triu_indices"], INT64),
    "data": "its result shares memory, which aten's schema doesn't say",
}


def aten_schemas():
    """The text of aten's schemas by overload, in the words of ours."""
    torch = require_torch()
    texts = {}
    for one in torch._C._jit_get_all_schemas():
        namespace, _, text = str(one).partition("::")
        if namespace != "aten":
            continue
        name, parameters = text.split("(", 1)
        parameters = re.sub(r"\[\d+\]", "[]", parameters.replace("SymInt", "int"))
        parameters = parameters.replace("[0, 1]", "[0,1]").replace(" -> *)", ")")
        texts[name] = parameters
    return texts


@pytest.fixture(scope="module")
def schemas():
    return aten_schemas()


@functools.cache
def ops_of_the_package():
    """Those that a new process has: other tests declare ops of their own."""
    program = (
        "import tensorlab.optim; from tensorlab._core.dispatch.op import REGISTRY; print(*REGISTRY)"
    )
    names = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    return [REGISTRY[name] for name in names.stdout.split()]


def aten_ops():
    return {op.name: op for op in ops_of_the_package() if op.aten is not None}


def differences(op, text):
    """How the schema of an op differs from aten's: pairs of parameters or results."""
    ours, theirs = op.aten_signature, parse(f"aten({text}")
    parameters = zip_all(ours.parameters, theirs.parameters)
    results = zip_all([kind for _, kind in ours.results], [kind for _, kind in theirs.results])
    return [(one, other) for one, other in (*parameters, *results) if one != other]


def zip_all(ours, theirs):
    n = max(len(ours), len(theirs))
    return zip(*([*one, *[None] * (n - len(one))] for one in (ours, theirs)), strict=True)


def is_wider(ours, theirs):
    """Whether a parameter may be left out, be None or be a Tensor, where aten's must be given, or be a number."""
    if ours is None or theirs is None or not hasattr(ours, "default"):
        return False
    kind = ours.type
    if kind.word == "Tensor" and theirs.type.word == "Scalar":
        kind = kind._replace(word="Scalar")
    if not theirs.type.is_optional:
        kind = kind._replace(is_optional=False)
    default = ... if theirs.default is ... else ours.default
    return ours._replace(type=kind, default=default) == theirs


def test_every_overload_that_an_op_names_exists(schemas):
    assert [op for op in aten_ops().values() if op.aten not in schemas] == []


def test_no_two_ops_are_the_same_overload():
    named = [op.aten for op in aten_ops().values()]
    assert sorted(named) == sorted(set(named))


def test_an_op_of_another_name_than_atens_says_that_it_is_none(schemas):
    known = {name.partition(".")[0] for name in schemas}
    assert all(op.aten.partition(".")[0] in known for op in aten_ops().values())


def test_schemas_are_atens(schemas):
    found = {name: differences(op, schemas[op.aten]) for name, op in aten_ops().items()}
    different = {name: pairs for name, pairs in found.items() if pairs}
    exact = len(found) - len(different)
    print(
        f"{len(ops_of_the_package())} ops, {len(found)} of them aten's, {exact} with its schema exactly"
    )
    assert different.keys() == WIDER.keys() | OTHER.keys()
    for name in WIDER.keys() - OTHER.keys():
        assert all(is_wider(*pair) for pair in different[name]), different[name]


def test_ops_that_are_made_when_they_are_first_called_in_place_exist(schemas):
    homes = tensorlab, tensorlab.Tensor, tensorlab.nn.functional
    twins = [
        REGISTRY[f"{name}_"].aten if f"{name}_" in REGISTRY else in_place_overload(op.aten)
        for name, op in aten_ops().items()
        if op.is_pointwise and any(hasattr(home, f"{name}_") for home in homes)
    ]
    assert len(twins) > 60
    assert [one for one in twins if one not in schemas] == []


# ------------------------------------------------------------ calls
IMAGE = [[[[float((7 * i + 3 * j) % 11) for i in range(6)] for j in range(6)]]]
MATRIX = [[3.0, 1.0, 2.0, 7.0], [4.0, 6.0, 5.0, 0.0]]
CALLS = {  # what aten's op is called with: a list of floats stands for a tensor, and nothing for a default
    "max_pool2d": (IMAGE, (2, 2)),
    "max_pool2d with numbers": (IMAGE, (3, 3), (), 1, 2),
    "avg_pool2d": (IMAGE, (2, 2)),
    "avg_pool2d with a number": (IMAGE, (3, 3), (2, 2), 1),
    "var": (MATRIX,),
    "std": (MATRIX, (1,)),
    "norm": (MATRIX,),
    "rot90": (MATRIX,),
    "roll": (MATRIX, (1,)),
    "slice": (MATRIX,),
    "slice from the end": (MATRIX, 1, -3, -1),
    "split": (MATRIX, 1),
    "split the last": (MATRIX, 3, -1),
    "split_with_sizes": (MATRIX, (1, 1)),
    "as_strided": (MATRIX, (2, 2), (1, 2)),
    "elu": (MATRIX,),
    "elu with numbers": (MATRIX, 1.5, 2.0, 0.5),
    "reshape": (MATRIX, (8,)),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_as_aten_says_have_atens_results_and_gradients(name):
    torch = require_torch()
    op = REGISTRY[name.partition(" ")[0]]
    packet, _, overload = op.aten.partition(".")
    theirs = getattr(getattr(torch.ops.aten, packet), overload or "default")

    def results(T, call):
        arguments = [T.tensor(one) - 2 if isinstance(one, list) else one for one in CALLS[name]]
        arguments[0].requires_grad_()
        found = call(*arguments)
        found = found if isinstance(found, (list, tuple)) else [found]
        (grad,) = T.autograd.grad(found[0].square().sum(), arguments[0])
        return [one.detach().numpy() for one in (*found, grad)]

    for one, other in zip(results(tensorlab, op), results(torch, theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_cat_and_block_diag_take_tensors_alone():
    x = tensorlab.ones(2, requires_grad=True)
    REGISTRY["cat"]([x, tensorlab.zeros(0), x]).sum().backward()
    assert x.grad.tolist() == [2, 2]
    assert REGISTRY["block_diag"]([x, x]).shape == (2, 4)


def test_searchsorted_takes_a_side():
    row, values = tensorlab.tensor([1, 3, 3]), tensorlab.tensor([3])
    found = [REGISTRY["searchsorted"](row, values, side=side).item() for side in ("left", "right")]
    assert found == [1, 3]
    with pytest.raises(RuntimeError, match="side must be"):
        REGISTRY["searchsorted"](row, values, side="up")


# ------------------------------------------------------------ what is derived
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("add", "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
        ("mm", "mm(Tensor self, Tensor mat2) -> Tensor"),
        (
            "zeros",
            "zeros(int[] size, *, ScalarType? dtype=None, Layout? layout=None, "
            "Device? device=None, bool? pin_memory=None) -> Tensor",
        ),
        ("rot90", "rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor"),
        (
            "index_fill_",
            "index_fill_.int_Scalar(Tensor(a!) self, int dim, Tensor index, Scalar value) -> "
            "Tensor(a!)",
        ),
    ],
)
def test_the_schema_has_atens_names_and_settings(name, expected):
    assert spell(REGISTRY[name].aten_signature) == expected


def test_ops_of_ours_have_no_schema_of_atens():
    assert REGISTRY["conv"].aten is None
    assert REGISTRY["conv"].aten_signature is None
    assert REGISTRY["cumprod_backward"].aten is None
