"""Random programs: what they compute of a sparse tensor is what they compute of the dense one."""

import random

import numpy as np
import pytest

import tensorlab
from tests.sparse.both import LAYOUTS, check_parts

REFUSED = (  # what a tensor with dense dims can't do
    "dense dims can't change places",
    "a matrix with two sparse dims is needed",
    "needs two sparse dims",
    "dense dims, which stay as they are",
)


def first_tensor(choose):
    """A small tensor of any layout; with indices that come twice, dense dims, or nothing in it."""
    layout = choose.choice(["sparse_coo", *LAYOUTS])
    sparse, dense = 2, 0
    if layout == "sparse_coo":
        sparse, dense = choose.choice([1, 2, 2, 3]), choose.choice([0, 0, 1])
    shape = [choose.randint(1, 4) for _ in range(sparse + dense)]
    held = choose.randint(0, 8)
    indices = [[choose.randrange(size) for _ in range(held)] for size in shape[:sparse]]
    numbers = np.random.default_rng(choose.randrange(10**6))
    x = tensorlab.sparse_coo_tensor(
        tensorlab.tensor(indices, dtype=tensorlab.int64).reshape(sparse, held),
        tensorlab.tensor(numbers.standard_normal((held, *shape[sparse:]))),
        tuple(shape),
    )
    if layout == "sparse_coo":
        return x.coalesce() if choose.random() < 0.5 else x
    block = [choose.choice([b for b in (1, 2, 3, 4) if size % b == 0]) for size in shape]
    options = {"blocksize": block} if layout in ("sparse_bsr", "sparse_bsc") else {}
    return x.to_sparse(layout=getattr(tensorlab, layout), **options)


def expression(choose, shape):
    """An expression in x, a tensor of that shape, with operands that `operands` has."""
    n = len(shape)
    dim, other, new = choose.randrange(-n, n), choose.randrange(n), choose.randint(-n - 1, n)
    some = choose.sample(range(n), choose.randint(1, n))
    found = [
        *("-x", "x * 2", "x.coalesce()", "x.abs()", "x * x", "x + x", "x.sin()", "x.clone()"),
        *("x.to_sparse()", "x.squeeze()", "x * M", "M * x", "x + M", "M - x"),
        *(f"x.sum({dim})", f"x.sum({dim}, keepdim=True)", f"x.sum({some})"),
        *(f"x.unsqueeze({new})", f"torch.stack([x, x], {new})", f"torch.cat([x, x], {dim})"),
        *(f"x.transpose({dim}, {other})", f"x.permute({choose.sample(range(n), n)})"),
    ]
    size = shape[dim]
    if size:
        places = [choose.randrange(size) for _ in range(3)]
        found += [
            f"x.select({dim}, {choose.randrange(-size, size)})",
            f"x.narrow({dim}, 0, {size - 1})",
            f"x.index_select({dim}, torch.tensor({places}))",
            f"x.unbind({dim})[{choose.randrange(size)}]",
        ]
    if n == 2:
        found += [
            *("x @ W", "torch.sparse.mm(x, W)", "x @ w", "V @ x", "v @ x", "x.t()", "x.mT"),
            *("x @ x.t()", "torch.sparse.mm(x, x.t())", "x.flatten()", "x.reshape(-1)"),
            *("x.to_sparse_csr()", "x.to_sparse_csc()", "torch.addmm(W2, x, W)"),
        ]
    return choose.choice(found)


def operands(numbers, shape):
    """Dense operands for a tensor of that shape."""
    made = {"M": shape}
    if len(shape) == 2:
        rows, columns = shape
        made |= {"W": (columns, 3), "w": (columns,), "V": (2, rows), "v": (rows,), "W2": (rows, 3)}
    return {name: tensorlab.tensor(numbers.standard_normal(size)) for name, size in made.items()}


def of_dense(code):
    """The expression for a dense tensor."""
    for name in (".coalesce()", ".to_sparse()", ".to_sparse_csr()", ".to_sparse_csc()"):
        code = code.replace(name, "")
    return code.replace("sparse.mm", "mm")


@pytest.mark.parametrize("seed", range(40))
def test_what_is_computed_of_sparse_tensors_is_what_is_computed_of_dense_ones(seed):
    for number in range(10):
        run_both(random.Random(100 * seed + number))


def run_both(choose):
    numbers = np.random.default_rng(choose.randrange(10**6))
    leaf = first_tensor(choose).requires_grad_()
    plain = leaf.detach().to_dense().clone().requires_grad_()
    x, y = leaf, plain
    for _ in range(choose.randint(1, 5)):
        if x.layout == tensorlab.strided or not x.dim():
            break
        code = expression(choose, tuple(y.shape))
        names = {"torch": tensorlab, **operands(numbers, tuple(y.shape))}
        if ".coalesce" in code and not x.is_sparse:
            continue
        try:
            x = eval(code, {**names, "x": x})
        except RuntimeError as error:
            if any(text in str(error) for text in REFUSED):
                break
            raise
        y = eval(of_dense(code), {**names, "x": y})
        assert x.shape == y.shape
        np.testing.assert_allclose(
            x.detach().to_dense().numpy(), y.detach().numpy(), atol=1e-9, err_msg=code
        )
        if x.is_sparse:
            check_parts(x.detach())
    if not y.requires_grad:
        return
    weights = tensorlab.tensor(numbers.standard_normal(tuple(y.shape)))
    (x.to_dense() * weights).sum().backward()
    (y * weights).sum().backward()
    held = places(leaf)
    np.testing.assert_allclose(
        leaf.grad.to_dense().numpy() * held, plain.grad.numpy() * held, atol=1e-9
    )


def places(x):
    """1 where a tensor holds an element, else 0."""
    held = x.detach().to_sparse_coo()
    indices = tuple(held._indices().numpy())
    found = np.zeros(tuple(x.shape))
    found[indices] = 1
    return found
