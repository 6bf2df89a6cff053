"""Parametrizations that networks use: orthogonal, weight_norm and spectral_norm."""

import numpy as np

from ..._core.interop.arrays import from_numpy
from ..._tensor import Tensor
from ...autograd import no_grad
from ...ops.creation import zeros_like
from ...ops.joining import cat
from ...ops.random_factories import randn
from ...ops.ranges import eye
from ..functional import normalize
from ..module import Module
from .orthogonal_maps import cayley, householder_product, matrix_exp
from .parametrize import register_parametrization
from .spectral_norm import output_dim
from .weight_norm import norm_except_dim

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

MAPS = ("matrix_exp", "cayley", "householder")


# ------------------------------------------------------------ orthogonal
def make_orthogonal(x):
    """Return Q of x = QR with a positive diagonal of R, for tall matrices."""
    q, r = np.linalg.qr(x.detach().numpy())
    signs = np.sign(np.diagonal(r, axis1=-2, axis2=-1))
    return from_numpy(np.ascontiguousarray(q * signs[..., None, :]))


def is_orthogonal(q):
    n, k = q.shape[-2:]
    identity = eye(k, dtype=q.dtype)
    return bool(((q.mT @ q - identity).abs() <= 10 * n * np.finfo(q.numpy().dtype).eps).all())


class _Orthogonal(Module):
    """A matrix with orthonormal columns (or rows, if it is wide) made from any matrix of its shape."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        is_wide = x.size(-2) < x.size(-1)
        q = self._of_tall(x.mT if is_wide else x)
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if is_wide else q

    def _of_tall(self, x):
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            vectors = x.tril(-1)
            scales = 2.0 / (1.0 + (vectors * vectors).sum(-2))
            signs = x.diagonal(dim1=-2, dim2=-1).int()  # 1 and -1, which are not trained
            return householder_product(vectors, scales) * signs.unsqueeze(-2)
        lower = x.tril()
        if n != k:
            lower = cat([lower, x.new_zeros(*x.shape[:-1], n - k)], -1)
        skew = lower - lower.mT
        return (matrix_exp(skew) if self.orthogonal_map == "matrix_exp" else cayley(skew))[..., :k]

    @no_grad()
    def right_inverse(self, q):
        if q.shape != self.shape:
            raise ValueError(
                f"orthogonal: expected a matrix or a batch of matrices of shape {tuple(self.shape)}, but a tensor "
                f"of shape {tuple(q.shape)} was given"
            )
        is_wide = q.size(-2) < q.size(-1)
        tall = q.mT if is_wide else q
        if not hasattr(self, "base"):
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    f"orthogonal: a matrix cannot be assigned to the map {self.orthogonal_map!r} when "
                    "use_trivialization=False"
                )
            vectors = reflections(tall)
            return vectors.mT if is_wide else vectors
        n, k = tall.shape[-2:]
        if n != k:  # complete it to a square matrix
            noise = randn(*tall.shape[:-1], n - k, dtype=tall.dtype)
            self.base = make_orthogonal(cat([tall, noise], -1))
        else:
            self.base = tall.clone() if is_orthogonal(tall) else make_orthogonal(tall)
        start = zeros_like(q)  # from which the map gives the identity: the value is that of `base`
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def reflections(tall):
    """Return the Householder vectors of a matrix below a diagonal of signs, as LAPACK's geqrf finds them."""
    from scipy.linalg import qr  # 70 ms, which not every program should pay

    found = []
    for one in tall.detach().reshape(-1, *tall.shape[-2:]).numpy():
        (packed, scales), _ = qr(one, mode="raw")
        vectors = np.array(packed, dtype=one.dtype, order="C")
        places = np.arange(vectors.shape[1])
        signs = np.sign(vectors[places, places])
        signs[np.asarray(scales) == 0] *= -1  # a reflection that LAPACK did not need
        vectors[places, places] = signs
        found.append(vectors)
    return from_numpy(np.stack(found).reshape(tall.shape))


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a matrix of a module orthogonal: its columns, or if it is wide its rows, are orthonormal.

    Parameters
    ----------
    module : Module
    name : str, of a parameter of shape (..., m, n)
    orthogonal_map : "matrix_exp", "cayley" or "householder"; the first for square matrices and
        the last for others unless given
    use_trivialization : bool, whether an orthogonal matrix `base` is kept that the map is
        multiplied with

    Returns
    -------
    Module, the same

    Raises
    ------
    ValueError
        If there is no such tensor, it is not a matrix, or the map is not known.

    Notes
    -----
    Source: Lezcano Casado 2019, "Trivializations for Gradient-Based Optimization on Manifolds".

    Examples
    --------
    >>> import tensorlab
    >>> layer = orthogonal(tensorlab.nn.Linear(3, 3))
    >>> bool((layer.weight @ layer.weight.T - tensorlab.eye(3)).abs().max() < 1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"orthogonal: module '{module}' has no parameter or buffer with name {name!r}"
        )
    if weight.dim() < 2:
        raise ValueError(
            f"orthogonal: expected a matrix or a batch of matrices, but {name!r} has {weight.dim()} dimensions"
        )
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.size(-2) == weight.size(-1) else "householder"
    if orthogonal_map not in MAPS:
        raise ValueError(
            f"orthogonal: orthogonal_map is {orthogonal_map!r}; expected one of {', '.join(MAPS)}"
        )
    function = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, function, unsafe=True)


# ------------------------------------------------------------ weight_norm
class _WeightNorm(Module):
    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight):
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Train the length and the direction of a weight separately: w = g v / |v|.

    Parameters
    ----------
    module : Module
    name : str
    dim : int, each index of this dimension has a length of its own; None for one length in all

    Returns
    -------
    Module, the same; lengths are `parametrizations.weight.original0`, directions `original1`

    Notes
    -----
    Source: Salimans and Kingma 2016, "Weight Normalization".

    Examples
    --------
    >>> import tensorlab
    >>> layer = weight_norm(tensorlab.nn.Linear(2, 3))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def from_older_names(state_dict, prefix, *_):
        """State dicts of the function in nn.utils call the two weight_g and weight_v."""
        for old, new in (("g", "original0"), ("v", "original1")):
            if f"{prefix}{name}_{old}" in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.{new}"] = state_dict.pop(
                    f"{prefix}{name}_{old}"
                )

    if hasattr(module, "_register_load_state_dict_pre_hook"):
        module._register_load_state_dict_pre_hook(from_older_names)
    return module


# ------------------------------------------------------------ spectral_norm
class _SpectralNorm(Module):
    """A weight divided by its largest singular value, which a power iteration follows."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(
                f"spectral_norm: dim is {dim}; expected a number from {-weight.dim()} to {weight.dim() - 1}"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"spectral_norm: n_power_iterations is {n_power_iterations}; expected a positive number"
            )
        self.dim = dim if dim >= 0 else dim + weight.dim()
        self.eps = eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight)
            rows, columns = matrix.shape
            u, v = matrix.new_empty(rows).normal_(0, 1), matrix.new_empty(columns).normal_(0, 1)
            self.register_buffer("_u", normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=eps))
            self._power_method(matrix, 15)  # so that the first forward has a good estimate

    def _as_matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    @no_grad()
    def _power_method(self, matrix, times):
        """Improve `_u` and `_v` in place; source: Miyato et al. 2018, algorithm 1."""
        for _ in range(times):
            self._u.copy_(normalize(matrix @ self._v, dim=0, eps=self.eps))
            self._v.copy_(normalize(matrix.T @ self._u, dim=0, eps=self.eps))

    def forward(self, weight):
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._power_method(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()  # backward of two forwards needs those of each
        return weight / (u @ (matrix @ v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, so that the layer stretches no input.

    Parameters
    ----------
    module : Module
    name : str
    n_power_iterations : int, steps of the power iteration in each forward while training
    eps : float, least length that is divided by
    dim : int, the dimension of outputs; 0 unless given, and 1 for transposed convolutions

    Returns
    -------
    Module, the same

    Notes
    -----
    Source: Miyato et al. 2018, "Spectral Normalization for Generative Adversarial Networks".

    Examples
    --------
    >>> import tensorlab
    >>> layer = spectral_norm(tensorlab.nn.Linear(3, 3), n_power_iterations=50)
    >>> round(layer.weight.detach().norm(2).item()) <= 2
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(
            f"spectral_norm: module '{module}' has no parameter or buffer with name {name!r}"
        )
    if dim is None:
        dim = output_dim(module)
    return register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )
