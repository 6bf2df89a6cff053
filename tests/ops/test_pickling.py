"""Pickles and copies of tensors."""

import copy
import pickle

import pytest

import tensorlab
from tests.ops.agreement import agree


def again(x):
    return pickle.loads(pickle.dumps(x))


CASES = {
    "pickle": lambda T: again(T.arange(6.0).view(2, 3).t()[1:]),
    "pickle a result": lambda T: again((T.ones(2, 3, requires_grad=True) * 2)[1:]),
    "pickle nothing": lambda T: again(T.zeros(0, 3)),
    "pickle bfloat16": lambda T: again(T.arange(3.0).bfloat16()),
    "deepcopy": lambda T: copy.deepcopy(T.arange(6.0).view(2, 3).t()[1:]),
    "deepcopy a leaf": lambda T: copy.deepcopy(T.ones(2, requires_grad=True)),
    "deepcopy a result": lambda T: copy.deepcopy(T.ones(2, requires_grad=True) * 2),
    "deepcopy detached": lambda T: copy.deepcopy((T.ones(2, requires_grad=True) * 2).detach()),
    "deepcopy expanded": lambda T: copy.deepcopy(T.ones(1, 2).expand(3, 2)),
    "copy": lambda T: copy.copy(T.arange(6.0).view(2, 3).t()),
    "copy a result": lambda T: copy.copy(T.ones(2, requires_grad=True) * 2),
    "copy shares": lambda T: (lambda x: copy.copy(x).data_ptr() == x.data_ptr())(T.ones(2)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_copy_is_what_pytorch_makes(name):
    agree(CASES[name])


def test_attributes_and_gradients_are_copied():
    x = tensorlab.ones(2, requires_grad=True)
    x.tag = ["a"]
    (x * 3).sum().backward()
    made = copy.deepcopy(x)
    assert made.tag == ["a"]
    assert made.tag is not x.tag
    assert made.grad.tolist() == [3.0, 3.0]
    assert made.grad is not x.grad
    assert again(x).tag == ["a"]


def test_tensors_over_one_storage_share_it_after_a_deep_copy_and_a_pickle():
    x = tensorlab.arange(6.0)
    for made, view in (copy.deepcopy([x, x.view(2, 3)]), again([x, x.view(2, 3)])):
        made.zero_()
        assert view.tolist() == [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_the_same_tensor_twice_is_one_copy():
    x = tensorlab.ones(2)
    first, second = copy.deepcopy([x, x])
    assert first is second


def test_a_gradient_that_is_copied_beside_its_leaf_stays_its_gradient():
    x = tensorlab.ones(2, requires_grad=True)
    x.sum().backward()
    leaf, gradient = copy.deepcopy([x, x.grad])
    assert leaf.grad is gradient
    assert leaf.grad is not x.grad


def test_a_subclass_stays_one():
    made = again(Tagged([1.0, 2.0]))
    assert type(made) is Tagged
    assert type(copy.deepcopy(made)) is Tagged


class Tagged(tensorlab.Tensor):
    """At the top of the module, so that it can be pickled."""


def test_an_attribute_that_is_copied_beside_its_tensor_stays_its_attribute():
    x = tensorlab.ones(2)
    x.tag = tag = [1]
    copied, copied_tag = copy.deepcopy([x, tag])
    assert copied.tag is copied_tag
    assert copied_tag is not tag
