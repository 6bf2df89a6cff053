"""Nested tensors: making them, what they hold, padding, text, copies and files, against PyTorch."""

import copy
import io
import pickle

import numpy as np
import pytest

import tensorlab
from tests.nested.both import LENGTHS, assert_same, nested, rows, sequences
from tests.oracle import require_torch

# PyTorch's, that they are a prototype, and the notes of its compiler
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.mark.parametrize("inner", [(), (2,), (2, 3)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_a_list_of_tensors(inner, dtype):
    torch = require_torch()
    mine, theirs = (nested(package, *inner, dtype=dtype) for package in (tensorlab, torch))
    assert_same(mine, theirs)
    assert mine.offsets().tolist() == theirs.offsets().tolist() == [0, 3, 4, 8]
    assert mine.lengths() is None
    assert_same(mine.values(), theirs.values())
    for question in ("dim", "numel", "is_contiguous", "is_floating_point"):
        assert getattr(mine, question)() == getattr(theirs, question)()
    for attribute in ("is_nested", "requires_grad", "is_leaf", "ndim"):
        assert getattr(mine, attribute) == getattr(theirs, attribute)
    assert str(mine.layout) == "tensorlab.jagged"
    assert (mine.size(0), mine.size()[2:]) == (theirs.size(0), theirs.size()[2:])


def test_lists_of_numbers_and_arrays():
    torch = require_torch()
    for package in (tensorlab, torch):
        x = package.nested.nested_tensor([[1.0, 2.0], [3.0]], layout=package.jagged)
        assert [one.tolist() for one in x.unbind()] == [[1.0, 2.0], [3.0]]
        x = package.nested.nested_tensor(
            [[1, 2], [3]], dtype=package.float64, layout=package.jagged
        )
        assert x.dtype == package.float64
    x = tensorlab.nested.nested_tensor([np.ones((1, 2)), np.zeros((2, 2))])
    assert x.tolist() == [[[1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]]


def test_the_ragged_dimension_may_be_an_inner_one():
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        parts = [rows(package, 2, n) for n in (3, 1)]
        results.append(package.nested.nested_tensor(parts, layout=package.jagged))
    assert_same(*results)
    assert results[0]._ragged_idx == 2


def test_copies_are_leaves_and_views_have_a_history():
    torch = require_torch()
    for package in (tensorlab, torch):
        parts = [one.requires_grad_() for one in sequences(package, 2)]
        made = package.nested.as_nested_tensor(parts, layout=package.jagged)
        (made * made).sum().backward()
        for one in parts:
            np.testing.assert_allclose(one.grad.numpy(), 2 * one.detach().numpy())
        parts[0].grad = None
        leaf = package.nested.nested_tensor(parts, layout=package.jagged, requires_grad=True)
        (leaf * leaf).sum().backward()
        assert parts[0].grad is None
        assert leaf.is_leaf
        np.testing.assert_allclose(leaf.grad.values().numpy(), 2 * leaf.values().detach().numpy())


def test_as_nested_tensor_of_a_batch_and_of_a_nested_one():
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        batch = rows(package, 2, 3, 4).requires_grad_()
        x = package.nested.as_nested_tensor(batch, layout=package.jagged)
        assert package.nested.as_nested_tensor(x, layout=package.jagged) is x
        (x * x).sum().backward()
        results.append((x, batch.grad))
    assert_same(*results)


@pytest.mark.parametrize(
    "code",
    [
        "jagged(values, offsets)",
        "jagged(values, lengths=lengths)",
        "jagged(values, offsets, short)",
        "jagged(wide, offsets, jagged_dim=2)",
    ],
)
def test_nested_tensor_from_jagged(code):
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        names = {
            "jagged": package.nested.nested_tensor_from_jagged,
            "values": rows(package, 8, 2).requires_grad_(),
            "wide": rows(package, 2, 8).requires_grad_(),
            "offsets": package.tensor([0, 3, 4, 8]),
            "lengths": package.tensor(LENGTHS),
            "short": package.tensor([2, 1, 3]),
        }
        made = eval(code, names)
        results.append([made])
        sum((one * one).sum() for one in made.unbind()).backward()
        used = names["wide" if "wide" in code else "values"]
        results[-1].append(used.grad)
    assert_same(*results)


@pytest.mark.parametrize(
    ("start", "length"), [(0, [1, 2, 4]), (1, 2), ([0, 1, 2], 2), ([0, 3, 1], [2, 1, 3])]
)
def test_narrow(start, length):
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        whole = rows(package, 3, 4, 2).requires_grad_()
        start, length = (
            package.tensor(one.tolist() if hasattr(one, "tolist") else one)
            if not isinstance(one, int)
            else one
            for one in (start, length)
        )
        x = package.nested.narrow(whole, 1, start, length, layout=package.jagged)
        sum((one * one).sum() for one in x.unbind()).backward()
        results.append((x, whole.grad))
    assert_same(*results)


def test_narrow_looks_at_the_same_memory():
    whole = tensorlab.zeros(2, 3)
    x = tensorlab.nested.narrow(whole, 1, 0, tensorlab.tensor([1, 2]))
    whole[1, 1] = 5
    assert x[1].tolist() == [0.0, 5.0]


def test_masked_select():
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        x = rows(package, 3, 4)
        results.append(package.nested.masked_select(x, x > 0))
        results[-1] = results[-1].offsets(), results[-1].values()
    assert_same(*results)


@pytest.mark.parametrize("inner", [(), (2,), (2, 3)])
@pytest.mark.parametrize("size", [None, 6])
def test_padding(inner, size):
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        x = nested(package, *inner)
        size_of_all = None if size is None else (3, size, *inner)
        out = package.nested.to_padded_tensor(x, -1.0, size_of_all)
        (out * out).sum().backward()
        results.append((out, x.grad))
    assert_same(*results)


def test_unbind_and_iteration():
    torch = require_torch()
    for package in (tensorlab, torch):
        x = nested(package, 2)
        parts = x.unbind()
        assert [len(one) for one in parts] == list(LENGTHS)
        (parts[0] * 3).sum().backward()
        assert x.grad.values()[:3].tolist() == [[3.0, 3.0]] * 3
        assert x.grad.values()[3:].abs().sum().item() == 0
        assert x[1].tolist() == parts[1].tolist()


# ---------------------------------------------------------------- text, copies, files
def test_text():
    x = nested(tensorlab, 2)
    text = repr(x)
    assert text.startswith("NestedTensor(size=(3, j")
    assert "offsets=tensor([0, 3, 4, 8])" in text
    assert "requires_grad=True" in text
    assert "grad_fn=" in repr(x * 2)
    assert f"{x}" == text


def test_copies_and_pickles():
    x = nested(tensorlab, 2)
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.tolist() == x.tolist()
        assert y.requires_grad
        assert y.values() is not x.values()
    with pytest.raises(RuntimeError, match="detach"):
        copy.deepcopy(x * 2)


@pytest.mark.parametrize("weights_only", [True, False])
def test_files(weights_only):
    torch = require_torch()
    file = io.BytesIO()
    x = nested(tensorlab, 2)
    tensorlab.save({"x": x}, file)
    file.seek(0)
    again = tensorlab.load(file, weights_only=weights_only)["x"]
    assert again.tolist() == x.tolist()
    file.seek(0)
    theirs = torch.load(file, weights_only=False)["x"]
    assert_same(x, theirs)
    file = io.BytesIO()
    torch.save({"x": theirs}, file)
    file.seek(0)
    assert tensorlab.load(file, weights_only=weights_only)["x"].tolist() == x.tolist()


# ---------------------------------------------------------------- what is refused
@pytest.mark.parametrize(
    ("error", "message", "make"),
    [
        (
            RuntimeError,
            "same dtype",
            lambda p, n: n.as_nested_tensor([p.ones(1), p.ones(1).long()], layout=p.jagged),
        ),
        (
            RuntimeError,
            "same dim",
            lambda p, n: n.nested_tensor([p.ones(1), p.ones(1, 1)], layout=p.jagged),
        ),
        (
            RuntimeError,
            "zero-dim",
            lambda p, n: n.as_nested_tensor([p.tensor(1.0)], layout=p.jagged),
        ),
        (
            RuntimeError,
            "single ragged dimension",
            lambda p, n: n.nested_tensor([p.ones(1, 2), p.ones(2, 1)], layout=p.jagged),
        ),
        (
            RuntimeError,
            "one of offsets or lengths",
            lambda p, n: n.nested_tensor_from_jagged(p.ones(3)),
        ),
        (
            ValueError,
            "jagged_dim >=1",
            lambda p, n: n.nested_tensor_from_jagged(p.ones(3), p.tensor([0, 3]), jagged_dim=0),
        ),
        (TypeError, "list", lambda p, n: n.nested_tensor(3)),
        (RuntimeError, "dim", lambda p, n: n.narrow(p.ones(2, 3), 0, 0, 1, layout=p.jagged)),
        (
            RuntimeError,
            "Truncation is not supported",
            lambda p, n: n.to_padded_tensor(n.nested_tensor([p.ones(1), p.ones(3)]), 0.0, (2, 2)),
        ),
    ],
)
def test_what_both_refuse(error, message, make):
    torch = require_torch()
    with pytest.raises(error):
        make(torch, torch.nested)
    with pytest.raises(error, match=message):
        make(tensorlab, tensorlab.nested)


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("sequence 1 goes from 3 to 2", ([0, 3, 2, 8],)),
        ("sequence 2 goes from 4 to 9, and there are 8 rows", ([0, 3, 4, 9],)),
        ("sequence 0 goes from -1", ([-1, 3, 4, 8],)),
        ("sequence 0 goes from 0 to -1", ([0, 3, 4, 8], [-1, 1, 1])),
        ("3 sequences, and lengths have", ([0, 3, 4, 8], [1, 1])),
        ("vector of integers", ([[0, 3, 8]],)),
        ("vector of integers", ([0.0, 8.0],)),
    ],
)
def test_offsets_that_do_not_fit(message, arguments):
    with pytest.raises(RuntimeError, match=message):
        tensorlab.nested.nested_tensor_from_jagged(
            tensorlab.ones(8, 2), *map(tensorlab.tensor, arguments)
        )


def test_ranges_that_go_beyond_their_rows():
    x = tensorlab.ones(2, 3)
    for start, length in ((2, 2), (-1, 1), (0, -1)):
        with pytest.raises(RuntimeError, match="row 0 has 3 elements, and the range"):
            tensorlab.nested.narrow(x, 1, start, length)
    with pytest.raises(RuntimeError, match="row 1 has 3 elements"):
        tensorlab.nested.narrow(x, 1, 0, tensorlab.tensor([1, 4]))


def test_other_layouts_are_refused():
    for make in (tensorlab.nested.nested_tensor, tensorlab.nested.as_nested_tensor):
        with pytest.raises(RuntimeError, match="layout=tensorlab.jagged"):
            make([tensorlab.ones(1)], layout=tensorlab.sparse_coo)


def test_what_has_no_one_number():
    x = nested(tensorlab, 2)
    size = x.size(1)
    for use in (int, range, lambda n: n + 1, lambda n: n < 3):
        with pytest.raises(RuntimeError, match="ragged dimension, which has a number for each"):
            use(size)
    assert size == (x * 2).size(1)
    assert size != nested(tensorlab, 2).size(1)
    with pytest.raises(TypeError, match="to_padded_tensor"):
        x.numpy()
    with pytest.raises(RuntimeError, match="neither true nor false"):
        bool(x)
    with pytest.raises(RuntimeError, match="stride"):
        x.stride()
    with pytest.raises(NotImplementedError, match="cumsum: there is no such function for nested"):
        x.cumsum(1)


@pytest.mark.parametrize("kind", ["a list", "a batch", "a nested tensor"])
def test_as_nested_tensor_converts(kind):
    parts = [tensorlab.ones(2, 3), tensorlab.zeros(2, 3)]
    given = {
        "a list": parts,
        "a batch": tensorlab.stack(parts),
        "a nested tensor": tensorlab.nested.nested_tensor(parts, layout=tensorlab.jagged),
    }[kind]
    for dtype in (tensorlab.float64, tensorlab.float32, None):
        made = tensorlab.nested.as_nested_tensor(given, dtype=dtype)
        assert made.dtype is (dtype or tensorlab.float32)
        assert [row.tolist() for row in made.unbind()] == [part.tolist() for part in parts]
