"""Functions in place that are made from their ops: they are like functions that are written out."""

import importlib
import inspect
import pickle

import pytest

import tensorlab

FAMILIES = (
    *("arithmetic", "comparison", "division", "elementary", "hyperbolic", "logic", "powers"),
    *("rectifiers", "rounding", "signs", "special", "trigonometry"),
)
MADE = {
    name: (module, getattr(module, name))
    for module in (
        importlib.import_module(f"tensorlab.ops.pointwise.{family}") for family in FAMILIES
    )
    for name in vars(module)
    if name.endswith("_")
    and not name.startswith("_")
    and getattr(module, name).__code__.co_name == "in_place"
    and getattr(module, name).__name__ == name  # not one of PyTorch's other names for it
}


def test_there_are_such_functions():
    assert {"exp_", "mul_", "eq_", "hypot_"} <= set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_it_has_the_name_of_its_op_and_the_module_of_the_function_beside_it(name):
    module, function = MADE[name]
    assert function.__name__ == function.__qualname__ == name
    assert function.__module__ == module.__name__ == getattr(module, name[:-1]).__module__
    assert pickle.loads(pickle.dumps(function)) is function
    assert getattr(tensorlab.Tensor, name) is function


@pytest.mark.parametrize("name", MADE)
def test_its_documentation_begins_with_the_signature_that_it_has(name):
    first, _, text = MADE[name][1].__doc__.partition("\n\n")
    signature = str(inspect.signature(MADE[name][1]))
    assert first.replace(": TensorBase", "") == name + signature
    assert text.startswith(f"`{name[:-1]}`, written over `input`")


@pytest.mark.parametrize("name", MADE)
def test_errors_about_arguments_name_it(name):
    x = tensorlab.ones(2)
    with pytest.raises(TypeError, match=rf"^{name}\(\) takes exactly"):
        getattr(x, name)(x, x, x)
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'no'"):
        getattr(x, name)(*[x] * (len(inspect.signature(MADE[name][1]).parameters) - 1), no=1)
