"""Ops called without their public functions: they check what they are given themselves."""

import json
import subprocess
import sys

import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab as T
from tensorlab import testing

INDEX = T.tensor([0, 2])
STARTS = T.tensor([0])
MATRIX = T.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])

BAD = {  # op: arguments, and a part of what it says to them
    "adaptive_avg_pool2d": [(T.ones(1, 1, 4, 4), ()), "one to three numbers"],
    "adaptive_avg_pool3d": [(T.ones(1, 1, 4, 4, 4), (2,) * 4), "one to three numbers"],
    "avg_pool_backward": [
        (T.ones(1, 1, 1), (2, 2), (2, 2), (1, 1), (0, 0), False, True, 0),
        "avg_pool_backward: divisor_override is 0",
    ],
    "avg_pool2d": [(T.ones(1, 1, 4, 4), ()), "one to three numbers"],
    "embedding": [(T.zeros(2, 2, 2), INDEX, -1, False), "must be a matrix"],
    "embedding_backward": [(MATRIX, INDEX, 3, 3), "padding_idx 3 is no row"],
    "embedding_backward rows": [(MATRIX, INDEX, 2, -1), "index 2 is out of range"],
    "embedding_backward shape": [(T.zeros(3, 2), INDEX, 3, -1), "not that of the indices"],
    "embedding_bag": [(T.zeros(3), INDEX, STARTS), "must be a matrix"],
    "embedding_bag integers": [(MATRIX.long(), INDEX, STARTS), "not implemented for"],
    "embedding_bag vectors": [(MATRIX, INDEX.view(1, -1), STARTS), "expected two vectors"],
    "embedding_bag offsets": [(MATRIX, INDEX, STARTS.view(1, -1)), "expected two vectors"],
    "embedding_bag factors": [(MATRIX, INDEX, STARTS, T.ones(1)), "expected one for each of"],
    "embedding_bag matrix": [(MATRIX, INDEX, STARTS, T.ones(1, 2)), "expected one for each of"],
    "embedding_bag types": [
        (MATRIX, INDEX, STARTS, T.ones(INDEX.shape, dtype=T.float64)),
        "convert one of them",
    ],
    "embedding_bag_backward": [
        (MATRIX[:1], INDEX, T.tensor([0, 0]), None, 3),
        "expected a row for each",
    ],
    "embedding_bag_backward rows": [
        (MATRIX[:1], INDEX, STARTS, None, 1),
        "is no row of a table of 1",
    ],
    "embedding_bag_weights_backward": [
        (MATRIX[:1, 1:], MATRIX, INDEX, STARTS),
        "expected the width",
    ],
    "embedding_bag_weights_backward types": [
        (MATRIX[:1].double(), MATRIX, INDEX, STARTS),
        "and type of the weight",
    ],
    "embedding_bag_weights_backward rows": [(MATRIX, MATRIX, INDEX, STARTS), "expected a row for"],
    "embedding_bag_largest": [(MATRIX, INDEX + 9, STARTS), "is no row of a table of"],
    "embedding_uses": [(INDEX, 2), "name a row"],
    "gather": [(MATRIX, 0, T.tensor([[2]])), "index 2 is out of range"],
    "gather_backward": [(MATRIX, 0, T.tensor([[2]]), (2, 3)), "index 2 is out of range"],
    "gather_backward source": [(T.zeros(1), 0, T.tensor([0, 0]), (2,)), "larger than the source"],
    "getitem_select": [(MATRIX, 0), "the index must be a tuple, not int"],
    "getitem_select kind": [(MATRIX, (INDEX,)), "make no view; give ints, slices"],
    "index": [(MATRIX, [None]), "at least one index tensor"],
    "index position": [(MATRIX, [T.tensor([2])]), "index 2 is out of range"],
    "index_backward": [(T.zeros(2), [INDEX], (2,)), "index 2 is out of range"],
    "index_backward shape": [(T.zeros(5), [INDEX], (3,)), "cannot be broadcast"],
    "index_put": [(T.zeros(2), [INDEX], T.zeros(2), False), "index 2 is out of range"],
    "index_select_backward": [(T.zeros(2), 0, INDEX, (2,)), "index 2 is out of range"],
    "index_select_backward shape": [(T.zeros(3), 0, INDEX, (3,)), "another size in dimension 0"],
    "kthvalue": [(MATRIX, 4, 1, False), "k must be from 1"],
    "masked_scatter_backward": [(T.ones(3), T.ones(3).bool(), (2,)), "only 2 elements"],
    "masked_scatter_backward mask": [(T.ones(3), T.ones(2).bool(), (3,)), "broadcast together"],
    "one_hot": [(INDEX, 2), "larger than the largest position"],
    "restride": [
        (T.ones(2, 2, dtype=T.int32), (2, 2), (1, 1), 0, (3,), (1,), 0, False),
        "not implemented for tensorlab.int32",
    ],
    "runs": [(T.tensor([False, True]), None), "the first of them True"],
    "runs order": [(T.tensor([True, True]), INDEX), "2 is no index"],
    "searchsorted": [(T.ones(3), INDEX), "must be equal"],
    "searchsorted sorter": [
        (T.ones(2), T.ones(1), False, False, None, INDEX),
        "the sorter has an index that is out of range",
    ],
    "topk": [(MATRIX, 4, 1, True, True), "k must be from 0"],
    "wrap_index": [(T.tensor([-1]), 3, False, "put"), "put: index -1 is out of range"],
}


@pytest.mark.parametrize("name", BAD)
def test_a_kernel_refuses_what_does_not_fit(name):
    arguments, text = BAD[name]
    with pytest.raises((RuntimeError, IndexError, TypeError), match=text):
        REGISTRY[name.partition(" ")[0]](*arguments)


MIXED = {  # op: arguments, of which the last tensor is then on meta
    "gather": (MATRIX, 0, T.tensor([[1]])),
    "gather_backward": (MATRIX, 0, T.tensor([[1, 1, 1], [0, 0, 0]]), (2, 3)),
    "index_select": (MATRIX, 1, INDEX),
    "index_select_backward": (T.zeros(2), 0, INDEX, (3,)),
    "index_fill": (MATRIX, 1, INDEX, 0),
    "index_fill_": (MATRIX.clone(), 1, INDEX, 0),
    "index_add": (T.zeros(3), 0, INDEX, T.zeros(2), 1),
    "index_add_": (T.zeros(3), 0, INDEX, T.zeros(2), 1),
    "index_copy_": (T.zeros(3), 0, INDEX, T.zeros(2)),
    "scatter": (T.zeros(3), 0, INDEX, T.zeros(2)),
    "scatter_": (T.zeros(3), 0, INDEX, T.zeros(2)),
    "scatter_add_": (T.zeros(3), 0, INDEX, T.zeros(2)),
    "scatter_reduce": (T.zeros(3), 0, INDEX, T.zeros(2), "amax", True),
    "scatter_reduce_": (T.zeros(3), 0, INDEX, T.zeros(2), "amax", True),
    "masked_select": (T.zeros(3), T.ones(3).bool()),
    "masked_scatter_": (T.zeros(3), T.ones(3).bool(), T.zeros(3)),
    "take": (T.zeros(3), INDEX),
    "embedding": (MATRIX, T.tensor([0, 1]), -1, False),
    "embedding_bag": (MATRIX, T.tensor([0, 1]), STARTS),
    "embedding_bag_backward": (MATRIX[:1], T.tensor([0, 1]), STARTS, None, 2),
    "embedding_bag_largest": (MATRIX, T.tensor([0, 1]), STARTS),
    "embedding_bag_weights_backward": (MATRIX[:1], MATRIX, T.tensor([0, 1]), STARTS),
    "searchsorted": (T.zeros(3), T.zeros(2)),
}


@pytest.mark.parametrize("name", MIXED)
def test_a_tensor_in_memory_is_not_computed_from_one_on_meta(name):
    arguments = list(MIXED[name])
    last = max(i for i, one in enumerate(arguments) if isinstance(one, T.Tensor))
    arguments[last] = arguments[last].to("meta")
    with pytest.raises((NotImplementedError, RuntimeError), match="meta"):
        REGISTRY[name](*arguments)


@pytest.mark.parametrize("name", ["index", "index_backward", "index_put", "index_put_"])
def test_nor_by_an_index_on_meta(name):
    index = [INDEX.to("meta")]
    arguments = {
        "index": (T.zeros(3), index),
        "index_backward": (T.zeros(2), index, (3,)),
        "index_put": (T.zeros(3), index, T.zeros(2), False),
        "index_put_": (T.zeros(3), index, T.zeros(2), False),
    }
    with pytest.raises(NotImplementedError, match="meta"):
        REGISTRY[name](*arguments[name])


def test_sorted_values_have_a_derivative_of_their_own():
    x = T.tensor([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]], dtype=T.float64, requires_grad=True)
    for dim in (0, 1, -1):
        testing.assert_close(REGISTRY["sorted_values"](x, dim), x.sort(dim)[0])
        assert T.autograd.gradcheck(lambda x, dim=dim: REGISTRY["sorted_values"](x, dim), (x,))


def test_frequencies_scale_the_gradient_of_an_embedding():
    weight = T.ones(3, 2, dtype=T.float64, requires_grad=True)
    index = T.tensor([[0, 2], [2, 2]])
    out = REGISTRY["embedding"](weight, index, 0, True)
    (grad,) = T.autograd.grad(out.sum(), weight, create_graph=True)
    assert grad.tolist() == [[0, 0], [0, 0], [1, 1]]
    assert T.autograd.gradgradcheck(
        lambda weight: REGISTRY["embedding"](weight, index, 0, True), (weight,)
    )


def test_a_fill_of_an_expanded_tensor_is_differentiated_once_for_each_place():
    value = T.tensor(5.0, requires_grad=True)
    x = T.zeros(3).expand(2, 3)
    with pytest.warns(UserWarning, match="expanded"):
        x.masked_fill_(T.tensor([[True, False, False], [True, True, False]]), value)
    (x * T.arange(6.0).reshape(2, 3)).sum().backward()
    assert x.tolist() == [[5, 5, 0]] * 2
    assert value.grad.item() == 0 + 3 + 1 + 4


@pytest.mark.parametrize("name", ["i0", "i1"])
def test_an_op_that_borrows_scipys_function_loads_it_when_it_is_called_first(name):
    program = (
        "import sys, tensorlab.special\nfrom tensorlab._core.dispatch.op import REGISTRY\n"
        "assert 'scipy.special' not in sys.modules\n"
        f"print(REGISTRY[{name!r}](tensorlab.tensor([0.0, 1.0])).tolist())"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == getattr(T.special, name)(T.tensor([0.0, 1.0])).tolist()


def test_indices_from_the_end_are_counted_from_the_front():
    wrapped = REGISTRY["wrap_index"](T.tensor([[-1, 0], [2, -3]]), 3)
    assert wrapped.tolist() == [[2, 0], [2, 0]]
