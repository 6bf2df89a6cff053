"""Sparse tensors: making them, their parts, conversions, text, copies and files, against PyTorch."""

import copy
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch
from tests.sparse.both import COMPRESSED, LAYOUTS, assert_same, name_of, ours

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")  # PyTorch's, that they are in beta
DENSE = [[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 4.0, 0.0], [0.0, 5.0, 0.0, 6.0]]


def made(package, layout, dtype="float32"):
    """The same matrix in a layout of a package."""
    dense = package.tensor(DENSE, dtype=getattr(package, dtype))
    block = {"blocksize": (2, 2)} if layout in ("sparse_bsr", "sparse_bsc") else {}
    return dense.to_sparse(layout=getattr(package, layout), **block)


def parts(x):
    """The tensors that a sparse tensor holds, as lists."""
    layout = name_of(x.layout)
    if layout == "sparse_coo":
        return x._indices().tolist(), x._values().tolist()
    by_row = layout in ("sparse_csr", "sparse_bsr")
    names = ("crow_indices", "col_indices") if by_row else ("ccol_indices", "row_indices")
    return *(getattr(x, name)().tolist() for name in names), x.values().tolist()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "int8"])
def test_a_dense_matrix_has_pytorchs_parts(layout, dtype):
    torch = require_torch()
    mine, theirs = made(tensorlab, layout, dtype), made(torch, layout, dtype)
    assert parts(mine) == parts(theirs)
    assert_same(mine, theirs)
    for question in ("_nnz", "sparse_dim", "dense_dim", "dim", "numel"):
        assert getattr(mine, question)() == getattr(theirs, question)()
    for attribute in ("is_sparse", "is_sparse_csr", "requires_grad", "ndim"):
        assert getattr(mine, attribute) == getattr(theirs, attribute)


def assert_same_text(mine, theirs):
    """Assert that two texts differ in the package's name alone, which is longer, and so in line ends."""
    one, other = repr(mine).replace("tensorlab.", "torch."), repr(theirs)
    assert one.split() == other.split()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_text_is_pytorchs(layout, dtype):
    torch = require_torch()
    mine, theirs = made(tensorlab, layout, dtype), made(torch, layout, dtype)
    assert_same_text(mine, theirs)
    if mine.is_floating_point():
        mine.requires_grad_(), theirs.requires_grad_()
        assert_same_text(mine, theirs)


def test_text_of_nothing_and_of_long_values():
    torch = require_torch()
    for make in (
        lambda p: p.sparse_coo_tensor(size=(2, 3)),
        lambda p: p.eye(40).to_sparse(),
        lambda p: p.ones(3, 2).to_sparse(1),
        lambda p: p.eye(3).to_sparse().requires_grad_() * 2,
    ):
        assert_same_text(make(tensorlab), make(torch))


@pytest.mark.parametrize("start", LAYOUTS)
@pytest.mark.parametrize("end", LAYOUTS)
def test_each_layout_becomes_each_other(start, end):
    x = made(tensorlab, start)
    block = {"blocksize": (4, 2)} if end in ("sparse_bsr", "sparse_bsc") else {}
    y = x.to_sparse(layout=getattr(tensorlab, end), **block)
    assert name_of(y.layout) == end
    assert y.to_dense().tolist() == DENSE
    leaf = made(tensorlab, start, "float64").requires_grad_()
    (leaf.to_sparse(layout=getattr(tensorlab, end), **block).to_dense() * 2).sum().backward()
    assert name_of(leaf.grad.layout) == start
    assert leaf.grad.to_dense().tolist() == [[2.0 * (v != 0) for v in row] for row in _held(x)]


def _held(x):
    """The elements that a tensor holds, 0 among them, as 1; the others as 0."""
    return x.with_values(tensorlab.ones_like(x._parts.values)).to_dense().tolist()


@pytest.mark.parametrize("layout", COMPRESSED)
def test_batches_and_dense_dims(layout):
    torch = require_torch()
    block = {"blocksize": (2, 1)} if layout in ("sparse_bsr", "sparse_bsc") else {}
    dense = torch.zeros(2, 4, 3)
    dense[0, 1, 2], dense[0, 2, 0], dense[1, 0, 1], dense[1, 3, 2] = 1, 2, 3, 4
    wide = torch.zeros(4, 3, 2)
    wide[1, 2], wide[3, 0] = torch.ones(2), torch.tensor([0.0, 5.0])
    for x, dims in ((dense, None), (wide, 1)):
        theirs = x.to_sparse(layout=getattr(torch, layout), dense_dim=dims, **block)
        mine = ours(x).to_sparse(layout=getattr(tensorlab, layout), dense_dim=dims, **block)
        assert parts(mine) == parts(theirs)
        assert_same(mine, theirs)
        assert_same(ours(theirs).to_sparse(), theirs.to_sparse())


def test_batches_must_hold_equally_many():
    x = tensorlab.zeros(2, 2, 2)
    x[0, 0, 0] = 1
    with pytest.raises(RuntimeError, match="same number of elements in every matrix"):
        x.to_sparse_csr()


# ---------------------------------------------------------------- indices and values
def test_an_index_may_come_twice():
    torch = require_torch()
    for package in (tensorlab, torch):
        x = package.sparse_coo_tensor([[1, 0, 1], [2, 0, 2]], [1.0, 2.0, 3.0], (2, 3))
        assert not x.is_coalesced()
        assert x._nnz() == 3
        with pytest.raises(RuntimeError, match="uncoalesced"):
            x.indices()
        with pytest.raises(RuntimeError, match="uncoalesced"):
            x.values()
        y = x.coalesce()
        assert y.is_coalesced()
        assert y.coalesce() is y
        assert y.indices().tolist() == [[0, 1], [0, 2]]
        assert y.values().tolist() == [2.0, 4.0]
        assert x.to_dense().tolist() == y.to_dense().tolist()


def test_coalesce_of_hybrid_bool_and_empty():
    torch = require_torch()
    for package in (tensorlab, torch):
        x = package.sparse_coo_tensor([[1, 0, 1]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (2, 2))
        assert x.coalesce().values().tolist() == [[3.0, 4.0], [6.0, 8.0]]
        x = package.sparse_coo_tensor([[1, 1]], [True, True], (2,))
        assert x.to_dense().tolist() == [False, True]
        x = package.sparse_coo_tensor(size=(2, 0))
        assert x.coalesce().to_dense().shape == (2, 0)
        x = package.sparse_coo_tensor(package.zeros(0, 2, dtype=package.int64), [1.0, 2.0], ())
        assert x.to_dense().item() == 3.0


def test_gradients_flow_to_values_and_back():
    torch = require_torch()
    for package in (tensorlab, torch):
        values = package.tensor([1.0, 2.0, 3.0], requires_grad=True)
        x = package.sparse_coo_tensor([[0, 1, 1], [1, 0, 0]], values, (2, 2))
        (x.to_dense() * package.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        assert values.grad.tolist() == [2.0, 3.0, 3.0]
        leaf = x.detach().coalesce().requires_grad_()
        (leaf.values() ** 2).sum().backward()
        assert leaf.grad.to_dense().tolist() == [[0.0, 2.0], [10.0, 0.0]]
        values = package.tensor([1.0, 2.0], requires_grad=True)
        y = package.sparse_csr_tensor([0, 1, 2], [1, 0], values, (2, 2))
        (y.to_dense() ** 3).sum().backward()
        assert values.grad.tolist() == [3.0, 12.0]


def test_second_order_through_values():
    values = tensorlab.tensor([1.0, 2.0], dtype=tensorlab.float64, requires_grad=True)
    dense = tensorlab.ones(2, 2, dtype=tensorlab.float64, requires_grad=True)

    def f(values, dense):
        x = tensorlab.sparse_coo_tensor([[0, 1], [1, 0]], values, (2, 2))
        return tensorlab.sparse.mm(x, dense) ** 2

    assert tensorlab.autograd.gradcheck(f, (values, dense))
    assert tensorlab.autograd.gradgradcheck(f, (values, dense))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_conversions_and_pickles(layout):
    x = made(tensorlab, layout).requires_grad_()
    for y in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert y.layout == x.layout
        assert y.requires_grad
        assert y is not x
        assert y.to_dense().tolist() == DENSE
    z = x.to(tensorlab.float64)
    assert z.dtype == tensorlab.float64
    assert z.layout == x.layout
    assert x.double().to_dense().tolist() == DENSE
    assert x.detach().clone().to_dense().tolist() == DENSE
    assert x.to("cpu") is x


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_go_both_ways(layout):
    torch = require_torch()
    file = io.BytesIO()
    torch.save({"x": made(torch, layout)}, file)
    file.seek(0)
    assert_same(tensorlab.load(file)["x"], made(torch, layout))
    file = io.BytesIO()
    tensorlab.save({"x": made(tensorlab, layout)}, file)
    file.seek(0)
    assert_same(tensorlab.load(file)["x"], made(torch, layout))
    file.seek(0)
    assert_same(ours(torch.load(file)["x"]), made(torch, layout))


def test_a_file_with_wrong_indices_is_refused():
    x = made(tensorlab, "sparse_csr")
    x.col_indices()[0] = 7
    file = io.BytesIO()
    tensorlab.save(x, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="found index 7"):
        tensorlab.load(file)


# ---------------------------------------------------------------- bad input
BAD_COO = [
    ("negative index -1 for dim 1, at position 1", ([[0, 1], [0, -1]], [1.0, 2.0], (2, 2))),
    (r"for dim 0, size is 2 but found\s+index 5", ([[0, 5], [0, 1]], [1.0, 2.0], (2, 2))),
    ("indices must be sparse_dim x nnz", ([0, 1], [1.0, 2.0], (2,))),
    ("there are 2 indices", ([[0, 1]], [1.0, 2.0, 3.0], (2,))),
    (r"number of dimensions must be sparse_dim \(1\)", ([[0, 1]], [1.0, 2.0], (2, 2))),
    ("values has incorrect size", ([[0, 1]], [[1.0], [2.0]], (2, 2))),
    ("must be integers", ([[0.5, 1.0]], [1.0, 2.0], (2,))),
    ("negative index", ([[0, -1]], [1.0, 2.0])),
]


@pytest.mark.parametrize(("message", "arguments"), BAD_COO)
def test_wrong_indices_are_refused(message, arguments):
    with pytest.raises(RuntimeError, match=message):
        tensorlab.sparse_coo_tensor(*arguments)


BAD_CSR = [
    ("must begin with 0", ([1, 1, 2], [0, 1], [1.0, 2.0])),
    ("must end with nnz = 2", ([0, 1, 1], [0, 1], [1.0, 2.0])),
    ("must not fall, but do after position 1", ([0, 2, 1, 2], [0, 1], [1.0, 2.0], (3, 2))),
    ("found index 2, first at position 1", ([0, 1, 2], [0, 2], [1.0, 2.0])),
    ("sorted and distinct along each row", ([0, 2, 2], [1, 0], [1.0, 2.0])),
    ("sorted and distinct along each row", ([0, 2, 2], [1, 1], [1.0, 2.0])),
    ("must have 3 elements", ([0, 2], [0, 1], [1.0, 2.0])),
    ("plain_indices have 1 elements", ([0, 1, 1], [0], [1.0, 2.0])),
]


@pytest.mark.parametrize(("message", "arguments"), BAD_CSR)
def test_wrong_compressed_indices_are_refused(message, arguments):
    torch = require_torch()
    arguments = arguments if len(arguments) == 4 else (*arguments, (2, 2))
    with pytest.raises(RuntimeError, match=message):
        tensorlab.sparse_csr_tensor(*arguments, check_invariants=True)
    with pytest.raises(RuntimeError):
        torch.sparse_csr_tensor(*arguments, check_invariants=True)


def test_a_block_checks_what_is_made_in_it():
    check = tensorlab.sparse.check_sparse_tensor_invariants
    tensorlab.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2))
    with check(), pytest.raises(RuntimeError, match="sorted"):
        tensorlab.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2))
    with check(), pytest.raises(RuntimeError, match="cannot set is_coalesced"):
        tensorlab.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True)
    assert not check.is_enabled()
    check.enable()
    assert check.is_enabled()
    check.disable()
    checked = check()(lambda: check.is_enabled())
    assert checked()
    assert not check.is_enabled()


def test_an_unchecked_matrix_with_wrong_indices_is_refused_by_the_product():
    x = tensorlab.sparse_csr_tensor([0, 1, 2], [0, 9], [1.0, 2.0], (2, 2))
    with pytest.raises(IndexError, match="outside of 2 columns"):
        x @ tensorlab.ones(2, 3)
    for one, other in (
        (x, tensorlab.eye(2).to_sparse_csr()),
        (tensorlab.eye(2).to_sparse_csr(), x),
    ):
        with pytest.raises(IndexError, match="outside of 2 columns"):
            one @ other
    x = tensorlab.sparse_csr_tensor([0, 5, 2], [0, 1], [1.0, 2.0], (2, 2))
    with pytest.raises(IndexError, match="must rise from 0 to 2"):
        x @ tensorlab.ones(2, 3)


def test_what_a_dense_tensor_answers():
    torch = require_torch()
    for package in (tensorlab, torch):
        x = package.ones(2, 2)
        assert x.layout == package.strided
        assert not x.is_sparse
        assert x.to_dense() is x
        assert (x.sparse_dim(), x.dense_dim()) == (0, 2)
        parts = ("indices", "values", "crow_indices", "col_indices", "ccol_indices", "row_indices")
        for name in ("coalesce", "is_coalesced", *parts, "_nnz", "_indices", "_values"):
            with pytest.raises(RuntimeError):
                getattr(x, name)()


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("needs blocksize", {"layout": tensorlab.sparse_bsr}),
        ("blocksize is for", {"layout": tensorlab.sparse_csr, "blocksize": (1, 1)}),
        (r"must be divisible", {"layout": tensorlab.sparse_bsr, "blocksize": (3, 1)}),
        (r"must be in \[1, 2\]", {"sparse_dim": 3}),
        ("needs a matrix", {"layout": tensorlab.sparse_csr, "dense_dim": 1}),
        ("one of the sparse ones", {"layout": "other"}),
    ],
)
def test_to_sparse_refuses(message, arguments):
    with pytest.raises(RuntimeError, match=message):
        tensorlab.ones(2, 2).to_sparse(**arguments)


def test_what_a_sparse_tensor_refuses():
    x = tensorlab.eye(2).to_sparse()
    with pytest.raises(TypeError, match="to_dense"):
        x.numpy()
    with pytest.raises(TypeError, match="to_dense"):
        np.asarray(x)
    with pytest.raises(RuntimeError, match="to_dense"):
        x.tolist()
    with pytest.raises(BufferError, match="to_dense"):
        x.__dlpack__()
    with pytest.raises(NotImplementedError, match="cos: there is no such op"):
        x.cos()
    with pytest.raises(RuntimeError, match="would fill it"):
        x + 1
    with pytest.raises(NotImplementedError, match="still to come"):
        tensorlab.sparse.to_sparse_semi_structured(tensorlab.eye(4))


# ---------------------------------------------------------------- diagonals
@pytest.mark.parametrize("offsets", [[0], [-1, 2], [1, 0, -2]])
@pytest.mark.parametrize("layout", [None, "sparse_csr", "sparse_csc"])
def test_spdiags(offsets, layout):
    torch = require_torch()

    def run(package):
        diagonals = package.arange(1.0, 1 + 4 * len(offsets)).view(-1, 4)
        kind = None if layout is None else getattr(package, layout)
        return package.sparse.spdiags(diagonals, package.tensor(offsets), (3, 4), layout=kind)

    assert_same(run(tensorlab), run(torch))


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("number of diagonals", ([[1.0, 2.0]], [0, 1], (2, 2))),
        ("duplicate", ([[1.0, 2.0], [1.0, 2.0]], [0, 0], (2, 2))),
        ("must be 2d", ([[1.0, 2.0]], [0], (2, 2, 2))),
    ],
)
def test_spdiags_refuses(message, arguments):
    diagonals, offsets, shape = arguments
    with pytest.raises(RuntimeError, match=message):
        tensorlab.sparse.spdiags(tensorlab.tensor(diagonals), tensorlab.tensor(offsets), shape)


@pytest.mark.parametrize(
    "code",
    [
        "torch.sparse_coo_tensor((2, 3))",
        "torch.sparse_coo_tensor([[0, 4, 1], [2, 0, 3]], [1.0, 2.0, 3.0])",
        "torch.sparse_coo_tensor([[1], [0]], 3.0, (2, 2))",
        "torch.sparse_coo_tensor([[0, 3]], [[1.0, 2.0], [3.0, 4.0]])",
        "torch.sparse_csr_tensor([0, 1, 2], [0, 4], [1.0, 2.0])",
        "torch.sparse_csr_tensor([0, 1, 2], [0, 1], [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])",
        "torch.sparse_csc_tensor([0, 1, 3], [0, 1, 4], [1.0, 2.0, 3.0])",
        "torch.sparse_bsr_tensor([0, 1, 3], [2, 0, 1], [[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]])",
        "torch.sparse_bsc_tensor([0, 1, 3], [2, 0, 1], [[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]])",
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_size_that_is_not_given_is_the_one_that_the_indices_need(code):
    torch = require_torch()
    x, expected = (eval(code, {"torch": package}) for package in (tensorlab, torch))
    assert tuple(x.shape) == tuple(expected.shape)
    assert (x.sparse_dim(), x.dense_dim()) == (expected.sparse_dim(), expected.dense_dim())
    assert x.to_dense().tolist() == expected.to_dense().tolist()


def test_a_number_is_the_value_of_one_element_only():
    for package in (tensorlab, require_torch()):
        with pytest.raises(RuntimeError, match="indices"):
            package.sparse_coo_tensor([[0, 1], [1, 0]], 3.0, (2, 2))


def test_a_negative_index_is_refused_where_the_size_is_to_be_found():
    with pytest.raises(RuntimeError, match="-1"):
        tensorlab.sparse_coo_tensor([[0, -1], [1, 0]], [1.0, 2.0])


def test_the_first_call_of_a_process_finds_what_makes_sparse_tensors():
    """`tensorlab.sparse` is imported when it is first needed, which a method of a dense tensor may be."""
    for code in (
        "tensorlab.eye(2).to_sparse()",
        "tensorlab.zeros(2, 2, layout=tensorlab.sparse_csr)",
    ):
        program = f"import tensorlab; print({code}.to_dense().shape)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert done.stdout.strip() == "tensorlab.Size([2, 2])", done.stderr
