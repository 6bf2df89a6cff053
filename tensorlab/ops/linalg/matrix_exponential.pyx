"""The exponential of matrices."""
from tensorlab._core.dispatch.dispatch cimport run_1
from tensorlab._core.dispatch.op cimport Op

from tensorlab.ops.dimensions import adjoint
from tensorlab.ops.joining import cat
from tensorlab.ops.linalg.checks import check_square_matrices
from tensorlab.ops.linalg.solving import solve


def identity_like(A):
    """An identity for each matrix of A."""
    out = A.detach().new_zeros(A.shape)
    out.diagonal(0, -2, -1).fill_(1)
    return out


# The numerator of the Pade approximant of order 13, and the norm up to which it is exact to double precision.
# Source: N. Higham, "The scaling and squaring method for the matrix exponential revisited", 2005.
PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
LARGEST_NORM = 5.371920351148152

cdef Op MATRIX_EXP = Op("linalg_matrix_exp(Tensor x) -> Tensor", holomorphic=False)

@MATRIX_EXP.compose
def matrix_exp_composed(x):
    return matrix_exp_of(x)

def matrix_exp_of(x):
    """Scale by a power of two, approximate, and square as often."""
    x = x.detach()
    if x.element_size() < 4:                            # half types
        return matrix_exp_of(x.float()).to(x.dtype)
    if x.numel() == 0 or x.device.type == "meta":
        return x.new_empty(x.shape)
    norms = x.abs().sum(-2).amax(-1)
    squarings = (norms / LARGEST_NORM).log2().ceil().clamp(min=0)
    squarings = squarings.where(squarings.isfinite(), 0)
    x = x * (0.5**squarings).to(x.dtype).unsqueeze(-1).unsqueeze(-1)
    eye = identity_like(x)
    x_2 = x @ x
    x_4 = x_2 @ x_2
    x_6 = x_4 @ x_2
    b = PADE
    odd = x_6 @ (b[13] * x_6 + b[11] * x_4 + b[9] * x_2)
    odd = x @ (odd + b[7] * x_6 + b[5] * x_4 + b[3] * x_2 + b[1] * eye)
    even = x_6 @ (b[12] * x_6 + b[10] * x_4 + b[8] * x_2)
    even = even + b[6] * x_6 + b[4] * x_4 + b[2] * x_2 + b[0] * eye
    result = solve(even - odd, even + odd)
    for done in range(int(squarings.max().item())):
        result = (result @ result).where((squarings > done).unsqueeze(-1).unsqueeze(-1), result)
    return result.contiguous()


@MATRIX_EXP.derivative("x")
def matrix_exp_derivative(grad, x):
    """The upper right part of exp([[A^H, grad], [0, A^H]]).

    Source: R. Mathias, "A chain rule for matrix functions and applications", 1996.
    """
    n = x.size(-1)
    x = adjoint(x)
    zeros = x.detach().new_zeros(x.shape)
    return matrix_exp(cat([cat([x, grad], -1), cat([zeros, x], -1)], -2))[..., :n, n:]


def matrix_exp(A):
    """The exponential of matrices, 1 + A + A @ A / 2 + A @ A @ A / 6 + ...

    Parameters
    ----------
    A : Tensor, shape (*, n, n)

    >>> import tensorlab
    >>> tensorlab.linalg.matrix_exp(tensorlab.tensor([[0., 1.], [0., 0.]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    check_square_matrices("linalg.matrix_exp", A)
    return run_1(MATRIX_EXP, A)
