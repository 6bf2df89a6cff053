"""Values that leave tensors: a layer sees each of them as a call of an op, and without layers nothing is different."""

import numpy as np
import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab as torch
from tensorlab._core.dispatch.facets import reads_values
from tensorlab._core.dispatch.recorder import Recorder
from tensorlab.errors import ShapeError


def calls_of(function, *args):
    """(name, result) of the ops that a function calls."""
    with Recorder() as recorder:
        function(*args)
    return [(call.op.name, call.result) for call in recorder.calls]


@pytest.mark.parametrize(
    ("read", "name", "value"),
    [
        (torch.Tensor.item, "item", 2.5),
        (bool, "truth", True),
        (int, "item", 2.5),
        (float, "item", 2.5),
        (complex, "item", 2.5),
        (torch.Tensor.tolist, "tolist", 2.5),
        (lambda x: f"{x:.1f}", "item", 2.5),
        (lambda x: repr(x), "tolist", 2.5),
        (lambda x: torch.is_nonzero(x), "item", 2.5),
    ],
)
def test_a_number_that_python_sees_is_the_result_of_an_op(read, name, value):
    assert (name, value) in calls_of(read, torch.tensor(2.5))


@pytest.mark.parametrize(
    "read",
    [
        lambda i: [10, 11, 12, 13][i],
        lambda i: list(range(i)),
        lambda i: torch.arange(5)[i],
        lambda i: torch.zeros(5).narrow(0, i, 1),
        lambda i: torch.full((2,), i),
    ],
)
def test_an_index_that_is_a_tensor_is_read_by_an_op(read):
    assert ("item", 3) in calls_of(read, torch.tensor(3))


def test_a_mask_without_dimensions_is_read_by_an_op():
    assert ("item", True) in calls_of(lambda m: torch.arange(5)[m], torch.tensor(True))
    bytes_mask = torch.tensor(0, dtype=torch.uint8)
    with pytest.warns(UserWarning, match="uint8"):
        assert torch.arange(5)[bytes_mask].shape == (0, 5)


@pytest.mark.parametrize("compare", [torch.equal, torch.allclose])
def test_the_answer_of_a_comparison_is_read_by_an_op(compare):
    x = torch.tensor([1.0, 2.0])
    assert ("truth", True) in calls_of(compare, x, x + 0)
    assert ("truth", False) in calls_of(compare, x, x + 1)
    assert compare(torch.ones(0), torch.ones(0))


@pytest.mark.parametrize(
    ("borrow", "to"),
    [
        (torch.Tensor.numpy, "numpy"),
        (np.asarray, "a buffer"),
        (memoryview, "a buffer"),
        (torch.Tensor.__array__, "numpy"),
        (np.sin, "numpy"),
        (torch.Tensor.data_ptr, "data_ptr"),
        (torch.Tensor.untyped_storage, "untyped_storage"),
        (lambda x: x.__dlpack__(), "__dlpack__"),
        (np.from_dlpack, "__dlpack__"),
    ],
)
def test_memory_that_is_lent_is_told_to_layers(borrow, to):
    with Recorder() as recorder:
        borrow(torch.ones(2))
    assert [call.arguments[1] for call in recorder.calls if call.op.name == "lend"] == [to]


def test_on_meta_no_memory_is_lent():
    with Recorder() as recorder:
        assert torch.empty(2, device="meta").data_ptr() == 0
    assert [call.op.name for call in recorder.calls] == ["empty"]


def test_ops_that_read_values_can_be_called_directly():
    x = torch.tensor([[1.0, 2.0]])
    assert REGISTRY["tolist"](x) == [[1.0, 2.0]]
    assert REGISTRY["sizes"](x) == (1, 2)
    assert REGISTRY["item"](x[0, 1]) == 2.0
    assert REGISTRY["truth"](x[0, 1]) is True
    assert {name for name, op in REGISTRY.items() if reads_values.of(op)} == {
        "item",
        "truth",
        "tolist",
        "sizes",
    }


def test_an_op_that_reads_one_value_refuses_several():
    with pytest.raises(ShapeError, match=r"item: a tensor of shape \(2,\)"):
        REGISTRY["item"](torch.ones(2))
    with pytest.raises(ShapeError, match=r"bool: a tensor of shape \(2,\)"):
        REGISTRY["truth"](torch.ones(2))
