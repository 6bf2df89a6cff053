"""Products of matrices: what lies outside the shared samples (BLAS, threads, layouts, types)."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

import tensorlab
from tensorlab.errors import ShapeError
from tests.ops.agreement import agree
from tests.oracle import require_torch

torch = require_torch()


def operand(rng, rows, columns, layout):
    """A matrix as rows, as the transpose of rows, or with gaps in both directions."""
    if layout == "transposed":
        return rng.standard_normal((columns, rows)).T
    if layout == "stepped":
        return rng.standard_normal((2 * rows, 3 * columns))[::2, ::3]
    return rng.standard_normal((rows, columns))


SIZES = [
    *[(8, 8, 8), (1, 5, 3), (16, 16, 16), (17, 3, 4), (32, 32, 16), (33, 5, 8), (5, 33, 8)],
    *[(40, 50, 60), (1, 400, 300), (300, 400, 1), (33, 0, 40), (40, 0, 1), (1, 0, 50), (0, 3, 4)],
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_vector_of_one_number_again_and_again(dtype):
    matrix = tensorlab.arange(3000).reshape(50, 60).to(getattr(tensorlab, dtype))
    for one, rows in ((matrix, matrix.clone()), (matrix.T, matrix.T.clone())):
        again = matrix.new_tensor([2.0]).expand(one.shape[1])
        assert (one @ again).tolist() == (2 * rows.sum(1)).tolist()
        assert (again @ one.T).tolist() == (2 * rows.sum(1)).tolist()
        assert (again @ again).item() == 4 * len(again)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int8", "float16"])
@pytest.mark.parametrize("sizes", SIZES)
def test_every_layout_of_the_operands_gives_the_same_product(sizes, dtype):
    rng = np.random.default_rng(0)
    n, m, p = sizes
    layouts = ("rows", "transposed", "stepped")
    for x_layout in layouts:
        for y_layout in layouts:
            x = (3 * operand(rng, n, m, x_layout)).astype(dtype, order="K")
            y = (3 * operand(rng, m, p, y_layout)).astype(dtype, order="K")
            ours = (tensorlab.from_numpy(x) @ tensorlab.from_numpy(y)).numpy()
            theirs = (torch.from_numpy(x) @ torch.from_numpy(y)).numpy()
            tolerance = {"float32": 1e-4, "float64": 1e-11, "float16": 1e-2}.get(dtype, 0)
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * 10)


def test_what_lies_in_the_memory_of_the_result_does_not_count():
    for n in (8, 50):
        x = tensorlab.ones(n, n)
        for vector in (False, True):
            del_me = tensorlab.full((n, 1 if vector else n), float("nan"))
            del del_me  # the next result takes over its memory
            product = x @ tensorlab.ones(n, 1 if vector else n)
            assert product.tolist() == [[n] * (1 if vector else n)] * n
    added = tensorlab.addmm(tensorlab.full((2,), float("nan")), x, tensorlab.ones(n, 2), beta=0)
    assert added.isnan().any().item() is False


def test_a_product_imports_neither_scipy_linalg_nor_small_ones_blas():
    program = """
import sys
import tensorlab
x = tensorlab.ones(8, 8)
x @ x
assert "scipy" not in sys.modules
y = tensorlab.ones(100, 100)
y @ y
assert "scipy.linalg" not in sys.modules
import scipy.linalg
assert scipy.linalg.cython_blas.__pyx_capi__
assert (y @ y)[0, 0].item() == 100
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_number_of_threads_does_not_change_the_result():
    rng = np.random.default_rng(0)
    before = tensorlab.get_num_threads()
    x = tensorlab.from_numpy(rng.standard_normal((64, 50, 40)))
    y = tensorlab.from_numpy(rng.standard_normal((64, 40, 30)))
    images = tensorlab.from_numpy(rng.standard_normal((8, 4, 20, 20)))
    weight = tensorlab.from_numpy(rng.standard_normal((6, 4, 3, 3))).requires_grad_()
    try:
        results = []
        for threads in (1, 2, 3):
            tensorlab.set_num_threads(threads)
            assert tensorlab.get_num_threads() == threads
            out = tensorlab.conv2d(images, weight, padding=1)
            (grad,) = tensorlab.autograd.grad(out.sum(), [weight])
            results.append([(x @ y).numpy(), out.detach().numpy(), grad.numpy()])
    finally:
        tensorlab.set_num_threads(before)
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("bad", [0, -1])
def test_at_least_one_thread_is_needed(bad):
    with pytest.raises(RuntimeError, match="set_num_threads"):
        tensorlab.set_num_threads(bad)


def test_the_number_of_threads_is_an_int():
    with pytest.raises(TypeError, match="set_num_threads"):
        tensorlab.set_num_threads(1.5)


def test_errors_of_products_say_what_to_do():
    x = tensorlab.ones(4, 3)
    with pytest.raises(RuntimeError, match=r"Did you mean x @ y.T\?"):
        x @ tensorlab.ones(5, 3)
    with pytest.raises(RuntimeError, match=r"Did you mean x.T @ y\?"):
        x @ tensorlab.ones(4, 5)
    with pytest.raises(RuntimeError, match=r"the inner sizes 3 and 7 must match(\n|$)"):
        x @ tensorlab.ones(7, 5)
    with pytest.raises(TypeError):
        x @ 2
    with pytest.raises(NotImplementedError, match="bool"):
        x.bool() @ x.bool().T
    with pytest.raises(RuntimeError, match="types"):
        x @ tensorlab.ones(3, 2, dtype=tensorlab.float64)


@pytest.mark.parametrize(
    "arguments",
    [
        ("ij,jk->iz",),
        ("ij,jk->ii",),
        ("ijk,jk->i",),
        ("ij,kj->ik",),
        ("i1,jk->i",),
        ("ij,jk,kl->il",),
        ("ij",),
        ("i.j,jk",),
        ("....,jk",),
        (3,),
    ],
)
def test_einsum_refuses_what_pytorch_refuses(arguments):
    for T in (tensorlab, torch):
        with pytest.raises((RuntimeError, TypeError)):
            T.einsum(*arguments, T.ones(3, 4), T.ones(4, 5))


@pytest.mark.parametrize("arguments", [(), ("",), ("->",), ("", []), ("ij", ()), ([],)])
def test_einsum_needs_an_operand(arguments):
    for T in (tensorlab, torch):
        with pytest.raises(ValueError, match="at least one operand"):
            T.einsum(*arguments)


def test_einsum_takes_lists_of_numbers():
    for T in (tensorlab, torch):
        x, y = T.ones(3, 4), T.ones(4, 5)
        assert T.einsum(x, [0, 1], y, [1, 2], [0, 2]).tolist() == (x @ y).tolist()
        assert tuple(T.einsum(x, [..., 0], [0, ...]).shape) == (4, 3)


def test_einsum_of_one_operand_is_a_view():
    x = tensorlab.zeros(3, 3)
    tensorlab.einsum("ii->i", x)[:] = 1
    assert x.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_the_gradient_of_a_transposed_weight_is_row_major():
    weight = tensorlab.ones(5, 4, requires_grad=True)
    (tensorlab.ones(3, 4) @ weight.T).sum().backward()
    assert weight.grad.stride() == (4, 1)


@pytest.mark.parametrize("bias", [False, True])
def test_linear_takes_batches_in_any_layout(bias):
    rng = np.random.default_rng(0)
    weight, shift = rng.standard_normal((5, 4)), rng.standard_normal(5) if bias else None
    whole = rng.standard_normal((6, 4, 8))
    for x in (whole[:, :, :4], whole[:, :, ::2], whole[::2].transpose(2, 0, 1), whole[..., None, :4],
              whole.transpose(2, 0, 1)[::2, ::3]):  # fmt: skip
        ours = [None if one is None else tensorlab.from_numpy(one) for one in (x, weight, shift)]
        found = tensorlab.nn.functional.linear(*ours).numpy()
        expected = x @ weight.T + (0 if shift is None else shift)
        np.testing.assert_allclose(found, expected, 1e-12, 1e-12)


def test_attention_without_dropout_draws_no_numbers_and_with_all_dropped_gives_zeros():
    q = tensorlab.randn(2, 3, 4)
    attend = tensorlab.nn.functional.scaled_dot_product_attention
    before = tensorlab.get_rng_state()
    attend(q, q, q)
    assert tensorlab.get_rng_state().equal(before)
    assert attend(q, q, q, dropout_p=1.0).abs().max().item() == 0
    assert not attend(q, q, q, dropout_p=0.5).equal(attend(q, q, q))


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    ("call", "shapes"),
    [
        (lambda T, x, y: x @ y, [(3,), (3, 2)]),
        (lambda T, x, y: x @ y, [(1,), (1, 2)]),
        (lambda T, x, y: x @ y, [(2, 3), (3,)]),
        (lambda T, x, y: x @ y, [(4, 3), (3, 2)]),
        (lambda T, x, y, z: T.addmm(z, x, y, beta=2, alpha=3), [(4, 3), (3, 2), (4, 2)]),
        (lambda T, x, y, z: (z * 1).addmm_(x, y), [(4, 3), (3, 2), (4, 2)]),
        (lambda T, x, y: T.nn.functional.linear(x.contiguous(), y), [(4, 3), (2, 3)]),
        (lambda T, x, y: T.nn.functional.linear(x.contiguous(), y), [(3,), (2, 3)]),
        (lambda T, x, y, z: T.nn.functional.linear(x.contiguous(), y, z), [(4, 3), (2, 3), (2,)]),
    ],
)
def test_gradients_lie_in_memory_as_in_pytorch(call, shapes, create_graph):
    """Column after column where the operand does; autograd.grad gives them out as they are."""
    layouts = [
        lambda T, x: x,
        lambda T, x: x.mT.contiguous().mT if x.dim() == 2 else x,
        lambda T, x: T.stack([x, x], -1)[..., 0],
    ]

    def gradients(T, chosen):
        inputs = [
            layout(T, T.arange(float(np.prod(shape))).reshape(shape)).requires_grad_()
            for layout, shape in zip(chosen, shapes, strict=True)
        ]
        loss = call(T, *inputs).square().sum()
        grads = T.autograd.grad(loss, inputs, create_graph=create_graph)
        return [(x.stride(), x.tolist()) for x in grads]

    for chosen in itertools.product(layouts, repeat=len(shapes)):
        assert gradients(tensorlab, chosen) == gradients(torch, chosen)


@pytest.mark.parametrize("windows", [False, True])
def test_einsum_saves_a_copy_of_what_cannot_be_read_as_matrices(windows):
    """A later write to the operand is then of no consequence, as in PyTorch."""

    def program(T):
        x = T.arange(12.0).reshape(2, 2, 3)
        x = x.reshape(4, 3).unfold(0, 2, 1) if windows else x
        y = T.ones(*x.shape, requires_grad=True)
        out = T.einsum("bij,bij->ij", x, y)
        x.add_(1)
        out.sum().backward()
        return y.grad.tolist()

    if windows:
        assert program(tensorlab) == program(torch)
    else:
        for T in (tensorlab, torch):
            with pytest.raises(RuntimeError, match="version"):
                program(T)


@pytest.mark.parametrize(
    ("name", "ndim", "words"),
    [("addmm", 2, ("mat1", "mat2")), ("baddbmm", 3, ("batch1", "batch2"))],
)
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("other", [1, 4])
def test_an_added_product_names_the_factor_with_wrong_dimensions(
    name, ndim, words, position, other
):
    right = tensorlab.ones((2,) * ndim)
    factors = [right, right]
    factors[position] = tensorlab.ones((2,) * other)
    with pytest.raises(
        RuntimeError, match=f"^{name}: {words[position]} must have {ndim} dimensions, not {other}"
    ):
        getattr(tensorlab, name)(right, *factors)


@pytest.mark.parametrize("word", ["alpha", "beta"])
def test_addr_names_the_factor_that_is_no_number(word):
    vector = tensorlab.ones(2)
    with pytest.raises(TypeError, match=f"^addr: {word} must be a number, not str"):
        tensorlab.zeros(2, 2).addr(vector, vector, **{word: "a"})


# ---------------------------------------------------------------- types of sums with factors
SUMS = {
    "addmm": ((2, 2), (2, 2), (2, 2)),
    "addbmm": ((2, 2), (1, 2, 2), (1, 2, 2)),
    "baddbmm": ((1, 2, 2), (1, 2, 2), (1, 2, 2)),
    "addr": ((2, 2), (2,), (2,)),
    "addmv": ((2,), (2, 2), (2,)),
}


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int32", "uint8", "bool"])
@pytest.mark.parametrize("name", SUMS)
def test_factors_leave_the_type_of_a_sum_as_it_is_in_pytorch(name, dtype):
    shapes = SUMS[name]

    def operands(T, other):
        kinds = (dtype, other, other)
        return [
            T.full(shape, value, dtype=getattr(T, kind))
            for shape, value, kind in zip(shapes, (3, 2, 1), kinds, strict=True)
        ]

    for factor, value in itertools.product(("alpha", "beta"), (0, 2, 2.5, True, False)):
        factors = {factor: value}
        agree(lambda T, factors=factors: getattr(T, name)(*operands(T, dtype), **factors))
    for other in ("float32", "float64", "int32", "uint8", "bool"):
        agree(lambda T, other=other: getattr(T, name)(*operands(T, other)))


TYPES_OF_ADDR = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64")


@pytest.mark.parametrize("beta", [0, 1])
@pytest.mark.parametrize("of_vectors", TYPES_OF_ADDR)
@pytest.mark.parametrize("of_input", TYPES_OF_ADDR)
def test_addr_computes_in_the_type_of_its_result(of_input, of_vectors, beta):
    def call(T):
        x = T.ones(2, 2, dtype=getattr(T, of_input))
        v = T.tensor([200, 1]).to(getattr(T, of_vectors))
        return T.addr(x, v, v, beta=beta)

    agree(call)


@pytest.mark.parametrize(
    "call",
    [
        lambda T, x, v: x.addr_(v, v),
        lambda T, x, v: x[0].addmv_(T.ones(2, 2), v),
        lambda T, x, v: x.addbmm_(T.ones(1, 2, 2), T.ones(1, 2, 2)),
    ],
)
def test_what_is_written_over_must_be_able_to_hold_the_result(call):
    x = tensorlab.zeros(2, 2, dtype=tensorlab.int64)
    with pytest.raises(RuntimeError):
        call(tensorlab, x, tensorlab.tensor([0.5, 1.5]))
    assert x.tolist() == [[0, 0], [0, 0]]
    assert x._version == 0


def test_a_vector_that_is_written_over_has_the_shape_of_the_result():
    with pytest.raises(
        RuntimeError, match=r"^addmv_: the result has shape \(2,\), and input \(1,\)"
    ):
        tensorlab.zeros(1).addmv_(tensorlab.ones(2, 2), tensorlab.ones(2))


def test_pivots_that_are_too_few_are_refused():
    """PyTorch reads what lies behind them."""
    with pytest.raises(ShapeError, match="lu_unpack: LU_pivots has shape"):
        tensorlab.lu_unpack(tensorlab.eye(3), tensorlab.tensor([3, 2], dtype=tensorlab.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape", [(1, 1), (3, 3), (8, 8), (16, 16), (24, 24), (7, 2), (2, 7), (32, 8)]
)
def test_many_small_matrices_have_the_reflections_that_each_has_alone(shape, dtype):
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal((19, *shape)).astype(dtype)
    x[3] = 0
    x[4] = np.eye(*shape)
    x[5] *= dtype(1e-20)
    x[6] *= dtype(1e25)
    x[7, :, -1] = 0
    x[8, 0, 0] = np.inf
    x[9, -1, -1] = np.nan
    x[10, 1:] = 0
    stack, digits = tensorlab.from_numpy(x), 40 * np.finfo(dtype).eps
    for matrices in (stack, stack.mT.contiguous().mT):
        together = (*tensorlab.geqrf(matrices), *tensorlab.linalg.qr(matrices, mode="complete"))
        for i in range(19):
            one = matrices[i]
            alone = (*tensorlab.geqrf(one), *tensorlab.linalg.qr(one, mode="complete"))
            for many, single in zip(together, alone, strict=True):
                finite = single.isfinite()
                assert tensorlab.equal(many[i].isfinite(), finite)
                size = max(1e-30, single[finite].abs().max().item() if finite.any() else 0)
                np.testing.assert_allclose(
                    many[i][finite].numpy(), single[finite].numpy(), rtol=0, atol=digits * size
                )
