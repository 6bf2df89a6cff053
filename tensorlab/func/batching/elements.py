"""Batching rules of ops that take each element, matrix or row by itself: the whole batch is one
more such.

    op(x)   for each example   is   op(x)   for the batch

What they need is that all operands have the batch, in the same place.
"""

from tensorlab._core.tensor import TensorBase
from tensorlab.func.batching.alignment import all_whole, lengthened, ndim_of, of_each, whole
from tensorlab.func.batching.rules import Same, batching


# ---------------------------------------------------------------- one tensor
@batching(
    *("lazy_clone", "detach", "data", "zero", "view_as_real", "view_as_complex"),
    *("conj", "neg_view"),
    *("as_subclass", "wrap_index", "check_divisors"),
    *("tril", "triu", "lu_permutation", "linalg_matrix_exp"),
)
def as_it_is(op, size, batched, x, *arguments):
    return op(x, *arguments)


@batching("clone", "to_copy", "to_integers", "zeros_like", "ones_like", "full_like", "empty_like")
def copied(op, size, batched, x, *arguments):
    """A memory format that images have, of four dimensions, is none of a batch of them."""
    return op(x, *[None if "channels_last" in str(one) else one for one in arguments])


@batching("new_empty", "new_zeros", "new_ones", "new_full")
def new(op, size, batched, x, sizes, *arguments):
    return op(x, [size, *sizes], *arguments)


@batching("view_dtype")
def view_dtype(op, size, batched, x, dtype):
    """The last dimension grows or shrinks with the size of an element, so that there must be
    one besides the batch.
    """
    if x.ndim == 1 and dtype.itemsize != x.dtype.itemsize:
        raise RuntimeError(
            f"vmap: view({dtype}) of a 0-d tensor of {x.dtype}, whose elements have another size, is "
            f"not possible"
        )
    return op(x, dtype)


# ---------------------------------------------------------------- several tensors
@batching(
    *("attention", "attention_backward", "binary_cross_entropy"),
    *("linalg_householder_product", "ormqr", "geqrf"),
)
def all_alike(op, size, batched, *arguments):
    return op(*all_whole(arguments, batched, size))


@batching("complex")
def broadcast(op, size, batched, *operands):
    longest = max(ndim_of(*one) for one in zip(operands, batched, strict=True))
    return op(*[lengthened(*one, longest) for one in zip(operands, batched, strict=True)])


@batching("copy", "copy_")
def copy(op, size, batched, x, source):
    """The source may have fewer dimensions."""
    x = whole(x, batched[0], size)
    return op(x, lengthened(source, batched[1], x.ndim - 1))


@batching("fill")
def fill(op, size, batched, x, value):
    if not batched[1]:
        return op(x, value)
    x = whole(x, batched[0], size)
    return value.reshape(size, *[1] * (x.ndim - 1)).to(x.dtype).expand(x.shape)


# ---------------------------------------------------------------- matrices
# The dimensions of each operand that are no batch; 2 where nothing is said.
CORES = {
    "linalg_lu_solve": (2, 1, 2),
    "linalg_ldl_solve": (2, 1, 2),
    "linalg_pinv": (2, 0, 0),
}


@batching(
    *(
        "linalg_cholesky_ex",
        "linalg_eig",
        "linalg_inv_ex",
        "linalg_ldl_factor_ex",
        "linalg_ldl_solve",
    ),
    *(
        "linalg_lu_factor_ex",
        "linalg_lu_solve",
        "linalg_pinv",
        "linalg_qr",
        "linalg_solve_triangular",
    ),
    *("_linalg_det", "_linalg_eigh", "_linalg_slogdet", "_linalg_svd"),
    *("cholesky_solve", "_cdist_forward", "lstsq_fit"),
    *("nuclear_norm", "polar_factor", "polar_factor_backward"),
)
def of_matrices(op, size, batched, *arguments):
    """Operands may have batches of their own, which are broadcast together: the batch is to
    stand before all of them.
    """
    arguments = all_whole(arguments, batched, size)
    tensors = [i for i, one in enumerate(arguments) if isinstance(one, TensorBase)]
    cores = CORES.get(op.name, (2,) * len(arguments))
    longest = max(arguments[i].ndim - 1 - cores[i] for i in tensors)
    for i in tensors:
        arguments[i] = lengthened(arguments[i], True, longest + cores[i])
    results = op(*arguments)
    if size == 0:
        return results
    # what was not asked for is an empty vector, of all examples
    return of_each(results, lambda x: Same(x) if x.shape == (0,) else x)


@batching("_linalg_solve_ex")
def solve(op, size, batched, A, B, *options):
    """B may be a vector."""
    a, b = A.shape[batched[0] :], B.shape[batched[1] :]
    is_vector = len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])
    if not is_vector:
        return of_matrices(op, size, batched, A, B, *options)
    X, *rest = of_matrices(op, size, batched, A, B.unsqueeze(-1), *options)
    return (X.squeeze(-1), *rest)
