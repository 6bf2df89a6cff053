"""cross, dist, cdist, renorm, fill_diagonal_, vander, cov and corrcoef: forms, corners and what they refuse."""

import math

import pytest

import tensorlab
from tensorlab.errors import GradientError
from tensorlab.ops.linalg import composed
from tests.ops.agreement import agree
from tests.oracle import require_torch

CALLS = """
    T.cross(x(3, 2), x(3, 2).cos())
    T.cross(x(3, 3), x(3, 3).cos())
    T.cross(x(3, 3), x(3, 3).cos(), 1)
    T.cross(x(2, 3), x(1, 3).cos(), dim=-1)
    T.cross(x(3).long(), x(3).long() * 2 - 1)
    T.cross(x(0, 3), x(0, 3))
    T.cross(x1=x(3), x2=x(3).cos(), axis=0)
    x(3).cross(x(3).cos())
    T.cross(x(2, 3), x(3))
    T.cross(x(3), x(3).double())
    T.cross(x(3) > 1, x(3) > 2)
    T.cross(x(2, 4), x(2, 4))
    T.cross(x(2, 3), x(2, 3), dim=0)
    T.cross(x(2, 3), x(2, 3), dim=5)
    T.cross(x(2, 3), x(3, 3), dim=-1)
    T.cross(x(3), 2)
    T.dist(x(3), x(3) * 2)
    T.dist(x(3), x(2, 3), 1)
    T.dist(x(3), x(3) * 2, float("inf"))
    T.dist(x(3), x(3) * 2, 0)
    T.dist(x(3), x(3).double() + 1)
    T.dist(x(3).long(), x(3) + 1)
    x(3).dist(x(3) + 1, p=3)
    T.dist(x(3).long(), x(3).long())
    T.dist(x(3), 2.0)
    T.dist(x(0), x(0))
    T.dist(x(0), x(0), float("inf"))
    T.cdist(x(2, 3), x(4, 3).cos())
    T.cdist(x(2, 3), x(4, 3), p=0)
    T.cdist(x(2, 3), x(4, 3).cos(), p=1)
    T.cdist(x(2, 3), x(4, 3).cos(), p=2.5)
    T.cdist(x(2, 3), x(4, 3).cos(), p=0.5)
    T.cdist(x(2, 3), x(4, 3).cos(), p=float("inf"))
    T.cdist(x(5, 2, 3), x(4, 3).cos())
    T.cdist(x(5, 1, 2, 3).sin(), x(2, 4, 3).cos(), p=1.5)
    T.cdist(x(30, 4).sin(), x(26, 4).cos())
    T.cdist(x(2, 30, 4).sin(), x(4, 4).cos())
    T.cdist(x(2, 3), x(4, 3).cos(), 2, "use_mm_for_euclid_dist")
    T.cdist(x(30, 3), x(4, 3).cos(), 2, "donot_use_mm_for_euclid_dist")
    T.cdist(x(30, 3).sin(), x(4, 3).cos(), 2, "use_mm_for_euclid_dist_if_necessary")
    T.cdist(x(2, 0), x(4, 0), p=float("inf"))
    T.cdist(x(2, 0), x(4, 0))
    T.cdist(x(0, 3), x(4, 3))
    T.cdist(x(2, 3), x(0, 3))
    T.cdist(x(2, 3), x(0, 3), p=1)
    T.cdist(x(40, 3), x(0, 3))
    T.cdist(x(2, 3), x(4, 3), p=-1)
    T.cdist(x(2, 3), x(4, 2))
    T.cdist(x(3), x(4, 3))
    T.cdist(x(5, 2, 3), x(4, 4, 3))
    T.cdist(x(2, 3).long(), x(4, 3).long())
    T.cdist(x(2, 3), x(4, 3).double())
    T.cdist(x(2, 3).half(), x(4, 3).half(), 2, "use_mm_for_euclid_dist")
    T.cdist(x(2, 3), x(4, 3), 2, "x")
    T.cdist(x(2, 3), x(4, 3), 2.0, 1)
    T.cdist(x(2, 3), x(4, 3), 2.0, None)
    T.renorm(x(2, 3), 2, 0, 1)
    T.renorm(x(2, 3), 1, 1, 5)
    T.renorm(x(2, 3), float("inf"), -1, 1)
    T.renorm(x(2, 3), 0.5, 0, 1)
    T.renorm(x(2, 2, 2), 2, 1, 1)
    T.renorm(x(2, 3).half(), 2, 0, 1)
    T.renorm(x(2, 3).half() * 3000, 2, 0, 1)
    T.renorm(x(0, 3), 2, 0, 1)
    T.renorm(x(2, 3).t(), 2, 0, 1)
    T.renorm(x(2, 3), 2, 0, 0)
    T.renorm(x=x(2, 3), p=2, axis=0, maxnorm=1)
    x(2, 3).renorm(2, 0, 1)
    x(2, 3).renorm_(2, 0, 1)
    x(2, 3).renorm_(2, axis=0, maxnorm=1)
    T.dist(x1=x(3), x2=x(3).cos())
    T.cov(x=x(2, 3).sin())
    T.corrcoef(x=x(2, 3).sin())
    T.renorm(x(2, 3), 0, 0, 1)
    T.renorm(x(2, 3), 2, 0, -1)
    T.renorm(x(2, 3), 2, 2, 1)
    T.renorm(x(3), 2, 0, 1)
    T.renorm(x(2, 3).long(), 2, 0, 1)
    x(3, 3).fill_diagonal_(9)
    x(5, 2).fill_diagonal_(9)
    x(5, 2).fill_diagonal_(9, wrap=True)
    x(7, 2).fill_diagonal_(9, True)
    x(2, 5).fill_diagonal_(9, True)
    x(3, 1).fill_diagonal_(9, True)
    x(2, 2, 2).fill_diagonal_(9)
    x(3, 3, 3, 3).fill_diagonal_(-1)
    x(2, 6)[:, ::2].fill_diagonal_(9)
    x(3, 3).t().fill_diagonal_(9, True)
    x(3, 3).long().fill_diagonal_(2.5)
    x(3, 3).fill_diagonal_(fill_value=1, wrap=False)
    x(0, 3).fill_diagonal_(1)
    x(2, 2, 3).fill_diagonal_(9)
    x(3).fill_diagonal_(9)
    T.vander(x(3))
    T.vander(x(3), 2)
    T.vander(x(3), N=0)
    T.vander(x(3), N=1)
    T.vander(x(3), increasing=True)
    T.vander(x(3).long())
    T.vander(x(3).int())
    T.vander(x(3).to(T.uint8))
    T.vander(x(3) > 2)
    T.vander(x(0))
    T.vander(x=x(3), N=4)
    T.vander(x(3), N=-1)
    T.vander(x(2, 3))
    T.norm(x(2, 3), p="nuc")
    T.norm(x(2, 2, 3), p="nuc", dim=(1, 2))
    T.norm(x(2, 2, 3), "nuc", (0, -1), True)
    T.norm(x(2, 2, 3), "nuc", (2, 0))
    x(2, 3).norm("nuc")
    x(2, 3).norm("nuc", [0, 1], True)
    T.norm(x(2, 3), "nuc", out=T.empty(()))
    T.norm(x(2, 3), "nuc", dtype=T.float64)
    x(0, 3).norm("nuc")
    x(2, 0, 3).norm("nuc", (1, 2))
    x(3).norm("nuc")
    x(2, 3).norm("nuc", 0)
    x(2, 2, 2).norm("nuc")
    x(2, 2, 2).norm("nuc", (0, 0))
    x(2, 2).norm("nuc", (0, 5))
    x(2, 2).half().norm("nuc")
    x(2, 2).long().norm("nuc")
    (x(2, 2) * float("nan")).norm("nuc")
    T.cov(x(2, 3).sin())
    T.cov(x(3))
    T.cov(x(1)[0])
    T.cov(x(2, 3).sin(), correction=0)
    T.cov(x(2, 3).sin(), fweights=T.tensor([1, 2, 3]))
    T.cov(x(2, 3).sin(), aweights=T.tensor([0.1, 0.2, 0.3]))
    T.cov(x(2, 3).sin(), fweights=T.tensor([1, 2, 3]), aweights=T.tensor([0.1, 0.2, 0.3]))
    T.cov(x(2, 3).sin(), correction=0, fweights=T.tensor([1, 2, 3]), aweights=T.tensor([0.1, 0.2, 0.3]))
    T.cov(x(2, 3).long())
    T.cov(x(2, 3), correction=5)
    T.cov(x(2, 0))
    T.cov(x(0))
    T.cov(x(0, 3))
    T.cov(x(2, 1))
    x(2, 3).cov(correction=0)
    T.cov(x(2, 3), aweights=T.tensor([1, 2, 3]))
    T.cov(x(2, 3), fweights=T.tensor([1.0, 2, 3]))
    T.cov(x(2, 3), fweights=T.tensor([1, 2]))
    T.cov(x(2, 3), fweights=T.tensor([1, -2, 3]))
    T.cov(x(2, 3), fweights=T.tensor([0, 0, 0]))
    T.cov(x(2, 3), aweights=T.tensor([1, -2.0, 3]))
    T.cov(x(2, 3), aweights=T.tensor([[1, 2.0, 3]]))
    T.cov(x(2, 2, 2))
    T.cov(x(2, 3) > 3)
    T.corrcoef(x(3, 5).sin())
    T.corrcoef(x(3))
    T.corrcoef(x(2, 3).long())
    T.corrcoef(x(1)[0])
    x(2, 5).cos().corrcoef()
    T.corrcoef(x(2, 2, 2))
"""


def evaluate(T, call):
    def x(*sizes):
        return T.arange(1.0, 1 + math.prod(sizes)).view(sizes)

    result = eval(call, {"T": T, "x": x})
    return result.tolist(), result.dtype, result.shape


@pytest.mark.parametrize("call", [line.strip() for line in CALLS.strip().splitlines()])
def test_a_call_gives_what_it_gives_in_pytorch(call):
    agree(lambda T: evaluate(T, call), tolerance=1e-5)


# ---------------------------------------------------------------- derivatives
def gradients(T, call, *arrays):
    """First derivatives of a weighted sum, and the derivatives of their weighted sum."""
    tensors = [T.tensor(one, dtype=T.float64, requires_grad=True) for one in arrays]
    out = call(T, *tensors)
    weights = T.arange(1.0, 1 + out.numel(), dtype=T.float64).cos().view(out.shape)
    first = T.autograd.grad((out * weights).sum(), tensors, create_graph=True)
    total = sum((one * one * 0.5 + one).sum() for one in first)
    second = T.autograd.grad(total, tensors, allow_unused=True, materialize_grads=True)
    return [one.detach().tolist() for one in (*first, *second)]


A = [[0.3, -1.2, 0.8], [1.5, 0.1, -0.4]]
B = [[-0.7, 0.9, 0.2], [0.4, 1.1, -1.3], [1.9, -0.6, 0.5], [0.2, 0.6, -2.0]]


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 3, math.inf])
def test_the_derivatives_of_distances_are_those_of_differences(p):
    """PyTorch's cdist has no second derivative, its norm has."""
    ours = gradients(tensorlab, lambda T, x, y: T.cdist(x, y, p), A, B)
    torch = require_torch()
    theirs = gradients(
        torch, lambda T, x, y: (x[:, None] - y).norm(p, -1) + 0 * (x.sum() + y.sum()) ** 2, A, B
    )
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(other), rtol=1e-9, atol=1e-9)


def test_a_count_of_differences_has_the_derivative_zero():
    x = tensorlab.tensor(A, requires_grad=True)
    tensorlab.cdist(x, tensorlab.tensor(B), 0).sum().backward()
    assert x.grad.tolist() == [[0, 0, 0], [0, 0, 0]]


def test_distances_by_product_have_the_same_derivatives():
    ours, theirs = (
        gradients(tensorlab, lambda T, x, y, mode=mode: T.cdist(x, y, 2, mode), A, B)
        for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    )
    for one, other in zip(ours, theirs, strict=True):
        tensorlab.testing.assert_close(tensorlab.tensor(one), tensorlab.tensor(other))


@pytest.mark.parametrize(
    ("p", "mode"),
    [
        (2, "use_mm_for_euclid_dist"),
        *[(p, "donot_use_mm_for_euclid_dist") for p in (0.5, 1, 1.5, 2, 3, math.inf)],
    ],
)
def test_a_distance_of_zero_has_the_derivative_zero(p, mode):
    x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    out = tensorlab.cdist(x, x, p, compute_mode=mode)
    assert out.diagonal().tolist() == [0, 0]
    (first,) = tensorlab.autograd.grad(out.diagonal().sum(), x, create_graph=True)
    assert first.tolist() == [[0, 0], [0, 0]]
    (second,) = tensorlab.autograd.grad(first.sum(), x)
    assert second.tolist() == [[0, 0], [0, 0]]


def test_the_largest_differences_share_the_derivative_and_nan_is_kept():
    """PyTorch's cdist gives all of it to each, and passes nan over."""
    x = tensorlab.zeros(1, 2, requires_grad=True)
    tensorlab.cdist(x, tensorlab.ones(1, 2), math.inf).backward()
    assert x.grad.tolist() == [[-0.5, -0.5]]
    for p in (0.5, 1, 2, 3, math.inf):
        nan = tensorlab.tensor([[math.nan, 1.0], [0.0, 1.0]])
        out = tensorlab.cdist(nan, tensorlab.zeros(1, 2), p)
        assert out.isnan().tolist() == [[True], [False]]


@pytest.mark.parametrize("p", [1, 2])
def test_distances_of_many_rows_come_in_parts(p, monkeypatch):
    from tensorlab.ops.linalg import composed

    x, y = (tensorlab.randn(2, n, 3) for n in (7, 5))
    whole = tensorlab.cdist(x, y, p)
    monkeypatch.setattr(composed, "DIFFERENCES", 32)
    assert tensorlab.cdist(x, y, p).equal(whole)


@pytest.mark.parametrize(
    "call",
    [
        lambda T, x: T.renorm(x, 2, 0, 1.3),
        lambda T, x: T.renorm(x, 3, 1, 1.3),
        lambda T, x: (x * 1).renorm_(2, 0, 1.3),
        lambda T, x: (x * x).fill_diagonal_(2.0),
        lambda T, x: (x * x).fill_diagonal_(2.0, wrap=True),
        lambda T, x: x.norm("nuc"),
        lambda T, x: x[:2].norm("nuc", keepdim=True),
        lambda T, x: T.stack([x[:, :2], x[:, 1:] * x[:, :2]]).norm("nuc", (1, 2)),
        lambda T, x: T.stack([x, x * x]).norm("nuc", (2, 0)),
        lambda T, x: T.cov(x * x),
        lambda T, x: T.corrcoef(x.t()),
        lambda T, x: T.cross(x, x * x, 1),
        lambda T, x: T.dist(x, x * x),
        lambda T, x: T.cov(x * x, aweights=T.tensor([0.2, 0.3, 0.4], dtype=T.float64)),
    ],
)
def test_derivatives_are_those_of_pytorch(call):
    torch = require_torch()
    for one, other in zip(*(gradients(T, call, B[:3]) for T in (tensorlab, torch)), strict=True):
        torch.testing.assert_close(torch.tensor(one), torch.tensor(other), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("x", [B[0], [0.0, 2.0]])
def test_the_derivatives_of_powers(x):
    """PyTorch's vander has written over what its derivative needs, and raises."""
    ours = gradients(tensorlab, lambda T, x: T.vander(x, 5, increasing=True), x)
    theirs = gradients(
        require_torch(), lambda T, x: T.stack([x * 0 + 1, x, x * x, x * x * x, x * x * x * x], 1), x
    )
    for one, other in zip(ours, theirs, strict=True):
        tensorlab.testing.assert_close(tensorlab.tensor(one), tensorlab.tensor(other))


def test_the_nuclear_norm_has_a_slope_at_a_matrix_of_rank_one():
    x = tensorlab.ones(2, 3, dtype=tensorlab.float64, requires_grad=True)
    x.norm("nuc").backward()
    rank_one = tensorlab.full((2, 3), 6**-0.5, dtype=tensorlab.float64)
    assert (x.grad * rank_one).sum().isclose(rank_one.norm("nuc"))  # along x itself
    assert x.grad.norm(2) <= 1.5


def test_the_nuclear_norm_has_no_third_derivative():
    x = tensorlab.randn(2, 3, requires_grad=True)
    (one,) = tensorlab.autograd.grad(x.norm("nuc"), x, create_graph=True)
    (two,) = tensorlab.autograd.grad((one * one * x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="polar_factor_backward"):
        two.sum().backward()


def test_where_weights_leave_nothing_cov_warns():
    with pytest.warns(UserWarning, match="degree of freedom"):
        tensorlab.cov(tensorlab.ones(2, 1))


def test_cdist_holds_few_differences_at_once_whatever_the_batch(monkeypatch):
    held = []
    lengths = composed._lengths

    def noting(differences, p):
        held.append(differences.numel())
        return lengths(differences, p)

    x, y = tensorlab.rand(3, 8, 4, 5), tensorlab.rand(8, 6, 5)
    expected = tensorlab.cdist(x, y, 1.5)
    monkeypatch.setattr(composed, "_lengths", noting)
    monkeypatch.setattr(composed, "DIFFERENCES", 1500)
    assert tensorlab.equal(tensorlab.cdist(x, y, 1.5), expected)
    assert max(held) <= 1500
    assert sum(held) == 3 * 8 * 4 * 6 * 5


@pytest.mark.parametrize("dtype", [tensorlab.float32, tensorlab.float64])
@pytest.mark.parametrize("p", [1, 2, math.inf])
@pytest.mark.parametrize("rows", [(1, 1), (3, 15), (4, 16), (5, 33), (37, 70)])
@pytest.mark.parametrize("features", [1, 3, 40])
def test_distances_in_tiles_are_those_of_all_differences(rows, features, p, dtype):
    """Whole tiles and parts of them, and batches that are broadcast."""
    x = tensorlab.randn(3, 1, rows[0], features, dtype=dtype)
    y = tensorlab.randn(2, rows[1], features, dtype=dtype)
    expected = (x.unsqueeze(-2) - y.unsqueeze(-3)).norm(p, -1)
    tensorlab.testing.assert_close(tensorlab.cdist(x, y, p), expected)


@pytest.mark.parametrize("p", [1, 2, math.inf])
def test_distances_keep_nan_and_infinity_to_their_pairs(p):
    x, y = tensorlab.zeros(6, 3), tensorlab.ones(20, 3)
    x[1, 0], x[2, 1] = math.nan, math.inf
    distances = tensorlab.cdist(x, y, p)
    assert distances.isnan().nonzero()[:, 0].unique().tolist() == [1]
    assert distances.isinf().nonzero()[:, 0].unique().tolist() == [2]


def test_distances_of_near_points_are_exact_for_many_rows():
    """sqrt(|x|^2 - 2 x y + |y|^2) would find about 0.01."""
    x = 100 * tensorlab.ones(30, 4)
    assert tensorlab.cdist(x, x).count_nonzero() == 0
    y = x + 2**-14
    assert (tensorlab.cdist(x, y) == 2**-13).all()


@pytest.mark.parametrize("mode", composed.MODES)
def test_euclidean_distances_have_derivatives_of_both_orders(mode):
    x = tensorlab.randn(2, 3, 4, dtype=tensorlab.float64, requires_grad=True)
    y = tensorlab.randn(27, 4, dtype=tensorlab.float64, requires_grad=True)
    assert tensorlab.autograd.gradcheck(lambda x, y: tensorlab.cdist(x, y, 2, mode), (x, y))
    few = (x[:, :2].detach().requires_grad_(), y[:3].detach().requires_grad_())
    assert tensorlab.autograd.gradgradcheck(lambda x, y: tensorlab.cdist(x, y, 2, mode), few)


def test_an_indefinite_factorisation_has_no_derivative_and_says_so():
    """In silence, the matrix would get no gradient where the right-hand side gets one."""
    a = tensorlab.tensor([[4.0, 1.0], [1.0, 3.0]], requires_grad=True)
    b = tensorlab.tensor([[1.0], [2.0]], requires_grad=True)
    solution = tensorlab.linalg.ldl_solve(*tensorlab.linalg.ldl_factor(a), b)
    with pytest.raises(GradientError, match="ldl_solve: .* linalg.solve"):
        solution.sum().backward()
    (grad,) = tensorlab.autograd.grad(
        tensorlab.linalg.ldl_solve(*tensorlab.linalg.ldl_factor(a.detach()), b).sum(), b
    )
    tensorlab.testing.assert_close(grad, tensorlab.linalg.solve(a.detach(), tensorlab.ones(2, 1)))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("input", lambda x: tensorlab.logdet(x)),
        ("b", lambda x: tensorlab.triangular_solve(x, tensorlab.ones(2, 2))),
        ("A", lambda x: tensorlab.linalg.matrix_power(x, 2)),
    ],
)
def test_what_is_no_matrix_is_called_by_its_name(name, call):
    with pytest.raises(RuntimeError, match=rf"{name} has shape \(3,\)"):
        call(tensorlab.ones(3))


def test_ldl_factorisations_on_threads_are_those_of_one():
    x = tensorlab.randn(40, 30, 30)
    x = x + x.mT
    before = tensorlab.get_num_threads()
    try:
        results = []
        for threads in (1, 2):
            tensorlab.set_num_threads(threads)
            results.append(tensorlab.linalg.ldl_factor(x))
    finally:
        tensorlab.set_num_threads(before)
    assert tensorlab.equal(results[0].LD, results[1].LD)
    assert tensorlab.equal(results[0].pivots, results[1].pivots)
