"""Ops on sparse tensors, and their gradients, against PyTorch; its own samples among them."""

import numpy as np
import pytest
import scipy.sparse
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab.sparse.tensors import RULES
from tests.oracle import require_torch
from tests.sparse.both import LAYOUTS, assert_same, check_parts, name_of, ours

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # PyTorch's, of beta and of speed


def matrix(package, layout, seed=0, shape=(4, 6)):
    """The same sparse matrix in a layout of a package."""
    numbers = np.random.RandomState(seed)
    held = numbers.rand(*shape) * (numbers.rand(*shape) < 0.5)
    dense = package.tensor(held.tolist(), dtype=package.float64)
    block = {"blocksize": (2, 2)} if layout in ("sparse_bsr", "sparse_bsc") else {}
    return dense.to_sparse(layout=getattr(package, layout), **block)


def run(package, code, **names):
    """The value of an expression, with the package as `torch`."""
    return eval(code, {"torch": package, **names})


def gradient(out, x):
    """The gradient of the sum of a result, in the layout in which it comes."""
    dense = out if name_of(out.layout) == "strided" else out.to_dense()
    (dense * dense).sum().backward()
    return x.grad


KEEPING_ZERO = [
    "abs",
    "neg",
    "sin",
    "tan",
    "asin",
    "atan",
    "sinh",
    "tanh",
    "asinh",
    "atanh",
    "ceil",
    "floor",
    "round",
    "trunc",
    "frac",
    "sign",
    "sgn",
    "signbit",
    "sqrt",
    "expm1",
    "log1p",
    "deg2rad",
    "rad2deg",
    "relu",
    "erf",
    "erfinv",
    "isnan",
    "isinf",
    "isposinf",
    "isneginf",
    "nan_to_num",
    "positive",
    "square",
]


@pytest.mark.parametrize("name", KEEPING_ZERO)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_functions_that_keep_zero(name, layout):
    torch = require_torch()
    x, y = matrix(tensorlab, layout), matrix(torch, layout)
    got = getattr(tensorlab, name)(x)
    assert got.layout == x.layout
    try:
        assert_same(got, getattr(torch, name)(y))
    except RuntimeError:  # of some layouts PyTorch hasn't got it
        assert_same(got.to_dense(), getattr(torch, name)(y.to_dense()))


@pytest.mark.parametrize(
    "name", ["abs", "sin", "tanh", "sqrt", "expm1", "log1p", "asinh", "square"]
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_of_these_are_those_of_the_values(name, layout):
    x = matrix(tensorlab, layout).requires_grad_()
    gradient(getattr(tensorlab, name)(x), x)
    values = x.detach().values().requires_grad_()
    (getattr(tensorlab, name)(values) ** 2).sum().backward()
    assert x.grad.layout == x.layout
    np.testing.assert_allclose(x.grad.values().numpy(), values.grad.numpy(), rtol=1e-9)


CODES = """torch.mm(x, d)
x @ d
x @ v
torch.addmm(e, x, d, beta=2, alpha=3)
torch.sparse.mm(x, d)
torch.sparse.addmm(e, x, d, beta=2.0, alpha=3.0)
torch.nn.functional.linear(d.t(), x)
x.t()
x.mT
x.transpose(0, 1)
x + x
x - x
torch.add(x, x, alpha=3)
x * 2
2 * x
x / 4
-x
x * x
x * f
f * x
f + x
f - x
x.sum()
x.to_dense()
x.clone()
x.values()
x.to(torch.float32)
x[1]
x[1, 2]
x.select(1, 2)
torch.spmm(x, d)
torch.dsmm(x, d)
torch.mv(x, v)
torch.arange(4.0, dtype=torch.float64) @ x
x.unbind()[1]
x.unbind(1)[2]
list(x)[3]""".splitlines()


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_results_and_gradients_are_pytorchs(code, layout):
    torch = require_torch()
    results, gradients = [], []
    for package in (tensorlab, torch):
        x = matrix(package, layout).requires_grad_()
        names = {
            "d": package.arange(12.0, dtype=package.float64).reshape(6, 2),
            "e": package.arange(8.0, dtype=package.float64).reshape(4, 2),
            "f": package.arange(24.0, dtype=package.float64).reshape(4, 6),
            "v": package.arange(6.0, dtype=package.float64),
        }
        try:
            results.append(run(package, code, x=x, **names))
            gradients.append(gradient(results[-1], x))
        except RuntimeError:
            assert package is torch, "PyTorch has it not, or its gradient; we do"
    for got, wanted in ((results[0], results[1:]), (gradients[0], gradients[1:])):
        for one in wanted:
            assert_same(got, one)


MORE = """x.sum(0)
x.sum(1, keepdim=True)
x.sum((0, 1))
torch.sparse.sum(x)
torch.sparse.sum(x, 0)
torch.sparse.sum(x, [1])
torch.sparse.softmax(x, 0)
torch.sparse.softmax(x, 1)
torch.sparse.log_softmax(x, 1)
torch.sparse.softmax(x, 1, dtype=torch.float32)
x.index_select(0, torch.tensor([2, 0, 2]))
x.index_select(1, torch.tensor([5, 5, 1]))
torch.cat([x, x])
torch.cat([x, x, x], 1)
torch.stack([x, x])
torch.stack([x, x], -1)
x.unsqueeze(0)
x.unsqueeze(-1)
x.permute(1, 0)
x ** 2
x.pow(3)
x @ x.t()
torch.sparse.mm(x, x.t())
x.norm()
x.any()
x.isnan()
torch.zeros_like(x)
torch.empty_like(x)
x.new_zeros(3, 2)
x.sparse_mask(x)
f.sparse_mask(x)
x.coalesce()
torch.bmm(x.unsqueeze(0), d.unsqueeze(0))""".splitlines()


@pytest.mark.parametrize("code", MORE)
def test_of_layout_sparse_coo(code):
    torch = require_torch()
    results, gradients = [], []
    for package in (tensorlab, torch):
        x = matrix(package, "sparse_coo").requires_grad_()
        d = package.arange(12.0, dtype=package.float64).reshape(6, 2)
        f = package.arange(24.0, dtype=package.float64).reshape(4, 6)
        results.append(run(package, code, x=x, d=d, f=f))
        if results[-1].requires_grad:
            try:
                gradients.append(gradient(results[-1], x).to_dense())
            except RuntimeError:
                assert package is torch, "PyTorch hasn't got its gradient; we do"
    assert_same(*results)
    for one in gradients[1:]:
        assert_same(gradients[0], one)


def test_softmax_of_the_last_dim_has_the_gradient_of_that_dim():
    """PyTorch 2.13 gives another for -1."""
    gradients = []
    for dim in (1, -1):
        x = matrix(tensorlab, "sparse_coo").requires_grad_()
        gradients.append(gradient(tensorlab.sparse.softmax(x, dim), x).to_dense().tolist())
    assert gradients[0] == gradients[1]


@pytest.mark.parametrize(
    "code",
    [
        *(
            "x[1:3]",
            "x[:, 2:5]",
            "x[:, ::2]",
            "x.narrow(1, 1, 3)",
            "x.reshape(2, 12)",
            "x.squeeze()",
        ),
        *(
            "x.expand(2, 4, 6)",
            "x.unsqueeze(1).expand(4, 3, 6)",
            "x[:1].expand(5, 6)",
            "x[:, :1].expand(4, 5)",
        ),
    ],
)
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_parts_that_pytorch_has_not(code, layout):
    x = matrix(tensorlab, layout).requires_grad_()
    y = x.detach().to_dense().requires_grad_()
    got, wanted = run(tensorlab, code, x=x), run(tensorlab, code, x=y)
    if got.is_sparse:
        check_parts(got)
    np.testing.assert_array_equal(got.detach().to_dense().numpy(), wanted.detach().numpy())
    gradient(got, x), gradient(wanted, y)
    np.testing.assert_allclose(x.grad.to_dense().numpy(), y.grad.numpy())


@pytest.mark.parametrize("layout", ["sparse_bsr", "sparse_bsc"])
@pytest.mark.parametrize("code", ["x.t()", "x.transpose(0, 1)", "x.mT", "x.adjoint()"])
def test_the_transpose_of_blocks_has_transposed_blocks(layout, code):
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        x = (
            package.arange(8.0)
            .view(2, 4)
            .to_sparse(layout=getattr(package, layout), blocksize=(1, 2))
        )
        results.append(run(package, code, x=x))
    assert_same(*results)
    assert tuple(results[0].values().shape) == tuple(results[1].values().shape)


def test_blocks_become_smaller_where_they_no_longer_fit():
    x = tensorlab.arange(8.0).view(2, 4).to_sparse_bsr((2, 2))
    assert x.narrow(1, 0, 3).blocksize() == (2, 1)
    assert x.sum(0, keepdim=True).blocksize() == (1, 2)


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_a_product_holds_elements_that_add_up_to_0(layout):
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        kind = getattr(package, layout)
        x = package.tensor([[1.0, -1.0], [0.0, 2.0]]).to_sparse(layout=kind)
        results.append(x @ package.tensor([[1.0, 0.0], [1.0, 3.0]]).to_sparse(layout=kind))
    assert_same(*results)
    assert results[0]._nnz() == results[1]._nnz() == 4


def test_every_rule_is_that_of_an_op():
    rules = {name.removesuffix("_") for name in RULES}
    assert sorted(rules - {name.removesuffix("_") for name in REGISTRY}) == []


@pytest.mark.parametrize(
    "code",
    [
        *("x.div_(2)", "x.mul_(2)", "x.add_(x)", "x.sub_(x)", "x.neg_()", "x.abs_()", "x.sqrt_()"),
        *("x.floor_divide_(2)", "x.div_(2, rounding_mode='trunc')", "x.mul_(x)"),
        *("x.asin_()", "x.log1p_()", "x.sin_()", "x.round_()", "x.t_()", "x.copy_(x + x)"),
        *("x.div(2, rounding_mode='floor')", "x // 2", "x.div(2, rounding_mode='trunc')"),
    ],
)
def test_in_place_and_with_rounding(code):
    torch = require_torch()
    results = []
    for package in (tensorlab, torch):
        x = (matrix(package, "sparse_coo", shape=(4, 4)) * 0.9).coalesce()
        results.append(run(package, code, x=x))
        if "_(" in code:
            assert results[-1] is x
    assert_same(*results)


def test_in_place():
    torch = require_torch()
    for package in (tensorlab, torch):
        x = package.eye(3).to_sparse()
        y = x.mul_(3)
        assert y is x
        assert x.to_dense().tolist() == (3 * package.eye(3)).tolist()
        x.add_(x)
        assert x.to_dense().tolist() == (6 * package.eye(3)).tolist()
        x.neg_()
        x.copy_(package.eye(3).to_sparse())
        assert x.to_dense().tolist() == package.eye(3).tolist()
        x.zero_()
        assert x._nnz() == 0
        dense = package.ones(3, 3)
        dense.add_(package.eye(3).to_sparse(), alpha=2)
        assert dense.tolist() == (1 + 2 * package.eye(3)).tolist()


def test_uncoalesced_operands():
    torch = require_torch()
    for code in (
        "x * x",
        "x @ d",
        "x.sum()",
        "x.abs()",
        "x.sum(0)",
        "x + x",
        "x.t()",
        "f * x",
        "f + x",
    ):
        results = []
        for package in (tensorlab, torch):
            x = package.sparse_coo_tensor([[1, 0, 1], [2, 0, 2]], [1.0, 2.0, -3.0], (2, 3))
            d, f = package.ones(3, 2), package.arange(6.0).view(2, 3)
            results.append(run(package, code, x=x, d=d, f=f))
        assert_same(*results)


def test_hybrid_tensors():
    torch = require_torch()
    codes = [
        *("x * 2", "x + x", "x * x", "x.sum(2)", "x.sum(0)", "x.sum((0, 1))", "x.transpose(0, 1)"),
        *("x[1]", "x.select(2, 1)", "x.index_select(2, torch.tensor([1, 0]))", "x * f", "x.sqrt()"),
        "torch.cat([x, x], 2)",
    ]
    for code in codes:
        results = []
        for package in (tensorlab, torch):
            values = package.arange(6.0).view(3, 2)
            x = package.sparse_coo_tensor([[1, 0, 1], [2, 0, 1]], values, (2, 3, 2))
            results.append(run(package, code, x=x, f=package.arange(12.0).view(2, 3, 2)))
        assert_same(*results)


@pytest.mark.parametrize("dims", [(1, 2), (2, 1), (2, 3), (3, 1)])
@pytest.mark.parametrize("code", ["x * y", "x + y", "x - y", "x.sparse_mask(y)"])
def test_tensors_with_different_numbers_of_sparse_dims(code, dims):
    """In PyTorch they can't be combined; gradients that come from several paths are such tensors."""
    dense = [matrix(tensorlab, "sparse_coo", seed, (3, 6)).to_dense() for seed in range(2)]
    dense = [one.view(3, 2, 3) for one in dense]
    given, wanted = ([one.clone().requires_grad_() for one in dense] for _ in range(2))
    x, y = (one.to_sparse(n) for one, n in zip(given, dims, strict=True))
    got = run(tensorlab, code, x=x, y=y)
    check_parts(got)
    held = tensorlab.where(y.detach().to_dense() != 0, 1.0, 0.0)
    if dims[1] < 3:
        held = held.amax(tuple(range(dims[1], 3)), keepdim=True)
    expected = (
        wanted[0] * held if "mask" in code else run(tensorlab, code, x=wanted[0], y=wanted[1])
    )
    np.testing.assert_allclose(got.detach().to_dense().numpy(), expected.detach().numpy())
    gradient(got, given[0]), gradient(expected, wanted[0])
    np.testing.assert_allclose(given[0].grad.numpy(), wanted[0].grad.numpy())


def test_an_index_that_comes_twice_gets_its_gradient_once():
    torch = require_torch()
    for code in (
        "torch.sparse.mm(x, d)",
        "x @ d",
        "torch.sparse.addmm(d[:2], x, d)",
        "(x * 2).to_dense()",
    ):
        found = []
        for package in (tensorlab, torch):
            values = package.tensor([1.0, 2.0, 3.0], requires_grad=True)
            x = package.sparse_coo_tensor([[1, 0, 1], [2, 0, 2]], values, (2, 3))
            out = run(package, code, x=x, d=package.arange(6.0).view(3, 2))
            (out * out).sum().backward()
            found.append(values.grad.numpy())
        np.testing.assert_allclose(*found)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sparse_mm_is_right_in_each_layout_to_second_order(layout):
    x = matrix(tensorlab, layout)
    pattern = x.detach()
    values = x.detach().values().clone().requires_grad_()
    dense = tensorlab.randn(6, 2, dtype=tensorlab.float64, requires_grad=True)

    def f(values, dense):
        from tensorlab.sparse.autograd import like_pattern

        return tensorlab.sparse.mm(like_pattern(values, pattern), dense) ** 2

    assert tensorlab.autograd.gradcheck(f, (values, dense))
    assert tensorlab.autograd.gradgradcheck(f, (values, dense))


@pytest.mark.parametrize("beta", [0.0, 1.0, 0.5])
def test_sampled_addmm(beta):
    torch = require_torch()
    results, gradients = [], []
    for package in (tensorlab, torch):
        x = matrix(package, "sparse_csr").requires_grad_()
        a = package.arange(8.0, dtype=package.float64).view(4, 2).requires_grad_()
        b = package.arange(12.0, dtype=package.float64).view(2, 6).requires_grad_()
        results.append(package.sparse.sampled_addmm(x, a, b, beta=beta, alpha=2.0))
        (results[-1].to_dense() ** 2).sum().backward()
        gradients.append((a.grad, b.grad) if beta == 0 else (x.grad, a.grad, b.grad))
    assert_same(*results)
    assert_same(*gradients)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "float16"])
@pytest.mark.parametrize("width", [1, 2, 3, 5, 7, 32, 70, 150])
def test_the_product_with_a_dense_matrix(layout, dtype, width):
    x = matrix(tensorlab, layout).mul(9).to(getattr(tensorlab, dtype))
    d = tensorlab.arange(6 * width).view(6, width).remainder(7).to(x.dtype)
    expected = x.to_dense().double() @ d.double()
    np.testing.assert_allclose((x @ d).double().numpy(), expected.numpy(), rtol=1e-3)
    result = (d.t() @ x.t().to_sparse()).double()
    np.testing.assert_allclose(result.numpy(), expected.t().numpy(), rtol=1e-3)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_large_product_on_threads(threads):
    before = tensorlab.get_num_threads()
    tensorlab.set_num_threads(threads)
    try:
        tensorlab.manual_seed(0)
        dense = tensorlab.randn(300, 400) * (tensorlab.rand(300, 400) < 0.1)
        other = tensorlab.randn(400, 100)
        got = dense.to_sparse_csr() @ other
        np.testing.assert_allclose(got.numpy(), (dense @ other).numpy(), rtol=1e-4, atol=1e-4)
    finally:
        tensorlab.set_num_threads(before)


def in_scipy(x):
    """A COO tensor as a sparse matrix of SciPy: some products would take gigabytes as dense ones."""
    numbers = x._values().double().numpy(), x._indices().numpy()
    return scipy.sparse.coo_array(numbers, shape=tuple(x.shape)).tocsr()


@pytest.mark.parametrize("start", ["sparse_coo", "sparse_csr", "sparse_csc"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_a_product_of_wide_sparse_matrices(start, dtype):
    numbers = np.random.RandomState(0)
    rows, columns = numbers.randint(0, 50, 400), numbers.randint(0, 9000, 400)
    values = tensorlab.from_numpy(numbers.randint(-3, 4, 400)).to(getattr(tensorlab, dtype))
    indices = tensorlab.from_numpy(np.stack([rows, columns]))
    x = tensorlab.sparse_coo_tensor(indices, values, (50, 9000))
    y, wide = x.to_sparse(layout=getattr(tensorlab, start)), in_scipy(x)
    for one, other in ((y, y.t()), (y.t(), y)):
        product = one @ other
        got = product.to_sparse_coo()
        check_parts(got)
        assert got.is_coalesced() or product.layout == tensorlab.sparse_csc
        wanted = wide @ wide.T if one is y else wide.T @ wide
        assert got.shape == wanted.shape
        assert abs(in_scipy(got) - wanted).max() == 0


def test_products_that_do_not_fit():
    x = tensorlab.eye(2).to_sparse()
    for bad in (tensorlab.ones(3, 2), tensorlab.ones(2, 2, dtype=tensorlab.float64)):
        with pytest.raises(RuntimeError):
            x @ bad
        with pytest.raises(RuntimeError):
            tensorlab.sparse.mm(x, bad)
    with pytest.raises(RuntimeError, match="one of the matrices must be sparse"):
        tensorlab.sparse.mm(tensorlab.eye(2), tensorlab.eye(2))
    with pytest.raises(RuntimeError, match="mul: .* cannot be broadcast together"):
        x * tensorlab.eye(3).to_sparse()
    with pytest.raises(NotImplementedError, match=r"sparse.softmax: not implemented for .*int64"):
        tensorlab.sparse.softmax(x.long(), 1)
    with pytest.raises(RuntimeError, match="sparse_csr"):
        tensorlab.sparse.sampled_addmm(x, tensorlab.eye(2), tensorlab.eye(2))
    with pytest.raises(RuntimeError, match="sizes of 'self' and 'other'"):
        x + tensorlab.eye(3).to_sparse()
    with pytest.raises(IndexError, match="out of range"):
        x.index_select(0, tensorlab.tensor([2]))
    with pytest.raises(IndexError):
        x.sum(2)
    with pytest.raises(RuntimeError, match="needs two sparse dims, and the tensor has 1"):
        tensorlab.eye(2).to_sparse(1).to_sparse_csr()
    with pytest.raises(RuntimeError, match="sparse_mask: the mask is dense"):
        tensorlab.eye(2).sparse_mask(tensorlab.eye(2))


# ---------------------------------------------------------------- PyTorch's samples
SAMPLED = [
    (name, layout, dtype)
    for name in ("mul", "sum", "zeros_like")
    for layout in LAYOUTS
    for dtype in ("float32", "int64", "bool")
    if (name, layout) != ("zeros_like", "sparse_coo")  # PyTorch has no samples
    if (name, dtype) in (("mul", "float32"), ("sum", dtype), ("zeros_like", dtype))
]
LARGE = 10_000  # elements; PyTorch's samples of mul have a million


@pytest.mark.parametrize(("name", "layout", "dtype"), SAMPLED)
def test_pytorchs_own_samples(name, layout, dtype):
    torch = require_torch()
    from torch.testing._internal.common_methods_invocations import op_db

    op = next(one for one in op_db if one.name == name)
    wants_gradient = dtype == "float32" and op.supports_autograd
    found = list(
        op.sample_inputs_sparse(
            getattr(torch, layout), "cpu", getattr(torch, dtype), requires_grad=wants_gradient
        )
    )
    compared = 0
    for sample in found:
        if sample.input.numel() > LARGE:
            continue
        try:
            wanted = op(sample.input, *sample.args, **sample.kwargs)
        except (RuntimeError, TypeError):
            continue
        x = ours(sample.input)
        got = getattr(tensorlab, name)(x, *ours(sample.args), **ours(sample.kwargs))
        if name == "sum" and got.layout == tensorlab.sparse_coo:  # which of the dims are sparse
            got, wanted = got.to_dense(), wanted.to_dense()
        assert_same(got, wanted)
        compared += 1
        if wants_gradient and wanted.requires_grad:
            try:
                expected = wanted.to_dense().sum()
                (expected,) = torch.autograd.grad(expected, sample.input)
            except RuntimeError:
                continue
            (result,) = tensorlab.autograd.grad(got.to_dense().sum(), x)
            assert_same(result, expected)
    assert compared or not found


# ---------------------------------------------------------------- complex numbers
@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize(
    "code",
    [
        *(
            "x.conj()",
            "x.conj_physical()",
            "x.sgn()",
            "x.mH",
            "x.H",
            "x.adjoint()",
            "-x",
            "x.abs()",
        ),
        *("torch.real(x)", "x.imag", "torch.view_as_real(x)", "torch.sparse.sum(x, 0)"),
        *("torch.sparse.sum(x, 1)", "x.sum()", "torch.angle(x)"),
    ],
)
def test_complex_elements(layout, code):
    torch = require_torch()

    def run_on(package):
        dense = package.tensor([[1 + 2j, 0, 0.5j], [0, 3 - 1j, 0]], dtype=package.complex128)
        sparse = dense.to_sparse(layout=getattr(package, layout))
        out = run(package, code, x=sparse)
        return out.resolve_conj() if name_of(out.layout) == "strided" else out.to_dense()

    try:
        expected = run_on(torch)
    except (NotImplementedError, RuntimeError):
        return  # each of them has what the other layout lacks
    np.testing.assert_allclose(run_on(tensorlab).numpy(), expected.resolve_conj().numpy())


@pytest.mark.parametrize(
    "code", ["torch.sparse.mm(s, d)", "s.to_dense() * d", "(s * 2).to_dense()"]
)
def test_gradients_of_complex_elements(code):
    torch = require_torch()

    def run_on(package):
        values = package.tensor([1 + 2j, 3 - 1j], dtype=package.complex128, requires_grad=True)
        d = package.tensor([[2j, 1.0], [1 - 1j, 0.5]], requires_grad=True, dtype=package.complex128)
        s = package.sparse_coo_tensor(package.tensor([[0, 1], [1, 1]]), values * 1j, (2, 2))
        out = package.view_as_real(run(package, code, s=s, d=d))
        return package.autograd.grad((out * out).sum(), [values, d], allow_unused=True)

    for ours_, theirs in zip(run_on(tensorlab), run_on(torch), strict=True):
        if theirs is None:
            assert ours_ is None
        else:
            np.testing.assert_allclose(ours_.numpy(), theirs.resolve_conj().numpy(), rtol=1e-12)


def test_the_second_derivative_by_the_values_of_a_sparse_tensor():
    """PyTorch 2.13 loses a part of it: gradgradcheck fails there."""
    values = tensorlab.tensor([0.3, 0.7], dtype=tensorlab.float64, requires_grad=True)
    index = tensorlab.tensor([[0, 1], [1, 1]])

    def dense(values):
        return tensorlab.sparse_coo_tensor(index, values, (2, 2)).to_dense().sin()

    assert tensorlab.autograd.gradgradcheck(dense, (values,))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("subscript", ["None", ":, None", "1, None", "None, 1:, None"])
def test_subscripts_that_insert_a_dimension(layout, subscript):
    x = matrix(tensorlab, layout)
    code = f"x[{subscript}]"
    chosen, expected = (run(tensorlab, code, x=one) for one in (x, x.to_dense()))
    assert chosen.to_dense().tolist() == expected.tolist()


def test_what_is_chosen_of_a_coalesced_tensor_is_coalesced():
    x = matrix(tensorlab, "sparse_coo").coalesce()
    assert x.index_select(0, tensorlab.tensor([2, 0])).is_coalesced()
    twice = tensorlab.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2))
    assert not twice.index_select(0, tensorlab.tensor([1, 0])).is_coalesced()


@pytest.mark.parametrize("subscript", ["[2, 0]", "torch.tensor([3, 1])", "1:, [0, 2]"])
def test_lists_as_subscripts_are_refused_as_in_pytorch(subscript):
    for package in (tensorlab, require_torch()):
        with pytest.raises(NotImplementedError):
            run(package, f"x[{subscript}]", x=matrix(package, "sparse_coo"))


@pytest.mark.parametrize("code", ["torch.cat([x, x.to_dense()])", "torch.stack([x, x.to_dense()])"])
def test_sparse_and_dense_tensors_are_not_joined(code):
    with pytest.raises(RuntimeError, match="all tensors must be sparse, or all dense"):
        run(tensorlab, code, x=matrix(tensorlab, "sparse_coo"))
