"""opcheck of the package's own ops: schema, derivative and meta, for every call that a sample
makes.
"""

import pytest
from tensorlab._core.dispatch.layers import Layer

import tensorlab
from tensorlab._core.dispatch.overloads import overload_of
from tensorlab.library import opcheck
from tensorlab.utils._pytree import tree_map_only
from tests.ops.every_sample import call_quietly, each_sample, tensors_of

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor")


class Calls(Layer):
    """Notes each op that is called, with copies of its arguments."""

    def __init__(self):
        super().__init__("recorder")
        self.calls = []

    def call(self, op, arguments):
        self.calls.append((op, tree_map_only(tensorlab.Tensor, copy_of, arguments)))
        return op(*arguments)


def copy_of(x):
    return x.detach().clone().requires_grad_(x.requires_grad)


@each_sample()
def test_an_op_does_what_it_says(sample):
    inputs = tensors_of(sample.arrays())
    for x in inputs:
        x.requires_grad_(bool(sample.derivatives) and x.is_floating_point())
    with Calls() as noted:
        call_quietly(sample.call, tensorlab, *inputs)
    for op, arguments in noted.calls:
        overload = overload_of(op)
        args, kwargs = overload.call_of(arguments)
        assert set(opcheck(overload, args, kwargs, test_utils=TESTS).values()) == {"SUCCESS"}


COMPILED = ["aten.tanh.default", "aten.mm.default", "aten.sum.dim_IntList", "aten.add_.Tensor"]


@pytest.mark.parametrize("name", COMPILED)
def test_an_op_is_compiled_as_it_is(name):
    namespace, packet, overload = name.split(".")
    op = getattr(getattr(getattr(tensorlab.ops, namespace), packet), overload)
    x = tensorlab.rand(3, 3, requires_grad=True)
    args = (
        (x, x)
        if len(op._schema.arguments) > 1 and op._schema.arguments[1].type == "Tensor"
        else (x,)
    )
    assert opcheck(op, args, test_utils="test_aot_dispatch_dynamic")
