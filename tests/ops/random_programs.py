"""Random programs of linear algebra, complex numbers, transforms, special functions and sparse matrices.

Each line is written with a look at what PyTorch's run has so far, and run on both packages. Then results are
compared, or both must have raised an error of the same class. At the end, the gradients of all that the program
has made are compared, in one of four programs also those of the gradients.

    python -m tests.ops.random_programs --number 100000 --seed 0
    python -m tests.ops.random_programs --number 1 --seed 17 --show

Results that are fixed up to a sign or a phase, such as eigenvectors, appear in products that don't depend on it.
"""

import argparse
import random
import sys
import time
import warnings

import numpy as np

import tensorlab
from tests.oracle import require_torch

LINES = 8  # of a program
BOUND = 3  # larger values are brought below 1, so that rounding errors stay small
# What may differ, relative to the largest number of a tensor (or 1): of values, and of gradients.
TOLERANCES = {"float64": (1e-8, 1e-6), "float32": (3e-4, 3e-2)}

# What PyTorch says where it lacks something.
LACKING = [
    "does not support automatic differentiation for outputs with complex dtype",
    "not implemented",
    "not supported",
    "doesn't work on unresolved conjugated tensors",
    "view size is not compatible",
]

# Lines by family. {a} and {b} are matrices of n x n numbers of one type, perhaps several of them; {r} and {s} real
# ones, {z} and {w} complex ones. Of {a} are made {D}, with a large diagonal, {P}, positive definite, {H}, Hermitian,
# and {G}, with eigenvalues that are far apart. {m} and {k} are single matrices, {M} is one with a large diagonal.
LINALG = """
T.linalg.solve({D}, {b})
T.linalg.solve({D}, {b}, left=False)
T.linalg.solve({D}, {b}[..., 0, :].unsqueeze(-1)) * {a}
T.linalg.inv({D})
T.linalg.cholesky({P})
T.linalg.cholesky({P}, upper=True)
T.cholesky_solve({b}, T.linalg.cholesky({P}))
T.cholesky_inverse(T.linalg.cholesky({P}))
T.linalg.solve_triangular({D}.triu(), {b}, upper=True)
T.linalg.solve_triangular({D}.tril(), {b}, upper=False, left=False)
T.linalg.solve_triangular({D}.tril(-1) / 9, {b}, upper=False, unitriangular=True)
T.linalg.det({a})[..., None, None] * {b}
T.linalg.det({D})[..., None, None] * {b} / 99
T.linalg.slogdet({D})[0][..., None, None] * {b}
T.linalg.slogdet({D})[1][..., None, None] * {b}
T.logdet({P})[..., None, None].real * {b}
T.linalg.qr({D})[1].abs()
T.linalg.qr({D})[0] @ T.linalg.qr({D})[1]
T.linalg.qr({D}[..., :1], mode="reduced")[1].abs() * {b}
T.linalg.eigvalsh({H})[..., None] * {b}
T.linalg.eigh({H})[0][..., None, :] * {b}
(lambda w, v: (v * w.tanh()[..., None, :].to(v.dtype)) @ v.mH)(*T.linalg.eigh({H}))
T.linalg.svdvals({D})[..., None] * {b}
(lambda u, s, vh: (u * s.tanh()[..., None, :].to(u.dtype)) @ vh)(*T.linalg.svd({D}))
T.linalg.svd({D}[..., :1], full_matrices=False)[1][..., None] * {b}
T.linalg.eigvals({G}).pow(2).sum(-1)[..., None, None] * {b}
(lambda w, v: T.linalg.solve(v, (v * w.sin()[..., None, :]), left=False))(*T.linalg.eig({G}))
T.matrix_exp({a} / 2)
T.linalg.pinv({D})
T.linalg.pinv({D}[..., :1]) @ {b}
T.linalg.pinv({H} + 9 * {eye}, hermitian=True)
T.linalg.lstsq({M}, {k}).solution
T.linalg.lstsq({M}[:, :1], {k}).solution * {k}
T.linalg.matrix_power({a}, 3)
T.linalg.matrix_power({D}, -2)
T.linalg.matrix_norm({D}, ord={norm})[..., None, None] * {b}
T.linalg.vector_norm({a}, ord={power}, dim=-1, keepdim=True) * {b}
T.linalg.cond({D}, p={norm})[..., None, None] * {b}
(lambda p, l, u: p @ l @ u)(*T.linalg.lu({D}))
T.linalg.lu_solve(*T.linalg.lu_factor({D}), {b})
T.linalg.lu_solve(*T.linalg.lu_factor({D}), {b}, adjoint=True)
T.linalg.householder_product({a} / 3, {b}[..., 0] / 3)
T.ormqr({a} / 3, {a}[..., 0] / 3, {b})
T.kron({a}[..., :1, :], {b}[..., :1])
T.linalg.multi_dot([{m}, {k}, {m}])
T.linalg.vecdot({a}, {b})[..., None] * {b}
T.linalg.vander({a}[..., 0], N=4)[..., :1] * {b}
T.linalg.matrix_rank({D}.detach())[..., None, None] * {b}
T.linalg.tensorinv({m}.detach().reshape({n}, {n}) + 9 * T.eye({n}, dtype={m}.dtype), ind=1) + {b}
T.einsum("...ij,...kj->...ik", {a}, {b})
T.einsum("...ij,...ij->...i", {a}, {b})[..., None] * {b}
T.tensordot({m}, {k}, dims=([0], [1]))
T.addmm({m}, {m}, {k}, beta=0.5, alpha=2)
T.outer({m}[0], {k}[0])
T.inner({m}, {k})
T.trace({m}) * {k}
T.cdist({r}, {s}, p=2.0)
T.cdist({r}, {s}, p=1.5)
T.linalg.norm({a}, dim=-1, keepdim=True) + {b}
"""
COMPLEX = """
T.complex({r}, {s})
T.polar({r}.abs(), {s})
T.view_as_complex(T.stack([{r}, {s}], -1))
{z}.real * {r}
{z}.imag
{z}.conj() * {w}
{z}.mH @ {w}
{z}.abs()
({z} + 4).angle()
({z} + 4).sgn()
T.view_as_real({z}).sum(-1)
T.view_as_real({z})[..., 1] * {r}
{z}.exp()
({z} + 4).log()
({z} + 4).log10()
({z} + 4).sqrt()
{z}.sin()
{z}.cos()
({z} / 3).tan()
{z}.sinh()
{z}.cosh()
({z} / 3).tanh()
({z} / 9).asin()
({z} / 9).acos()
({z} / 9).atan()
({z} / 9).asinh()
({z} / 9 + 2).acosh()
({z} / 9).atanh()
{z}.sigmoid()
{z}.square()
{z} ** 3
({z} + 4) ** 0.5
({z} + 4) ** {r}
({r}.abs() + 1) ** {z}
2.0 ** {z}
({z} + 4) ** (1 + 0.5j)
({z} + 4).reciprocal()
({z} + 4).rsqrt()
{z} / ({w} + 4)
{r} / ({w} + 4)
{z} * {w}
{z} - {w}
{z} @ {w}
{r} * {z}
{r} @ {w}.real
{z} * (1 + 2j)
{z} + 0.5j
{r} * 2j
{z}.sum(-1, keepdim=True) / {w}.numel()
{z}.mean(-2, keepdim=True) * {w}
{z}.prod(-1, keepdim=True) * {w}
{z}.cumsum(-1)
{z}.cumprod(-1)
{z}.logcumsumexp(-1)
{z}.var(-1, keepdim=True) * {w}
{z}.std(-1, keepdim=True) * {w}
{z}.norm(dim=-1, keepdim=True) * {w}
T.where(x0 > x1, {z}, {w})
{z}.masked_fill(x0 > 0, 1j)
T.addcmul({z}, {w}, {z}, value=0.5)
T.addcdiv({z}, {w}, {z} + 9)
T.lerp({z}, {w}, 0.3)
{z}.roll(1, -1) + {w}
{z}.flip(-1)
T.cat([{z}[..., 1:], {w}[..., :1]], -1)
T.stack([{z}, {w}], -1).sum(-1)
{z}.mT.resolve_conj()
{z}.tril() + {w}.triu(1)
{z}.diagonal(0, -2, -1).unsqueeze(-1) * {w}
{z}.index_select(-1, T.tensor([0, {n} - 1, 0]))[..., :1] * {w}
{z}.gather(-1, T.zeros({z}.shape, dtype=T.long)) + {w}
T.nn.functional.conv1d({m3}, {k3}, padding=1)[..., :{n}]
{z}.to({w}.dtype).neg()
{r}.to({z}.dtype) * {w}
T.dot({m}[0], {k}[0].to({m}.dtype)) * {k} if {m}.dtype == {k}.dtype else {k}
T.vdot({m}[0], {m}[-1]) * {m}
{z}.conj().imag * {r}
-{z}.conj().mT
T.real({z}) + T.imag({w})
T.nn.functional.linear({z}, {z2})
"""
WRITES = """
{z}.clone(); {v}.real.mul_({r})
{z}.clone(); {v}.imag.copy_({r})
{z}.clone(); {v}[..., 0] = 1j
{z}.clone(); {v}[..., 0] = {r}[..., 0]
{z}.clone(); T.view_as_real({v})[..., 0].add_(1)
{z}.clone(); {v}.mul_({w})
{z}.clone(); {v}.diagonal(0, -2, -1).zero_()
{z}.clone(); {v}.add_({r}, alpha=2)
{z}.clone(); {v}.masked_fill_(x0 > 0, 2)
{z}.clone(); {v}.sub_({w}.conj())
{a}.clone(); {v}.tril_()
{a}.clone(); {v}.div_(2).exp_()
{a}.clone(); {v}.t_() if {v}.dim() == 2 else {v}.transpose_(-1, -2)
"""
FOURIER = """
T.fft.fft({a}, dim={dim}, norm={scale})
T.fft.ifft({a}, dim={dim}, norm={scale})
T.fft.fft({a}, n={n} + 2, dim=-1)[..., :{n}]
T.fft.fft({a}, n=1, dim=-1) * {b}
T.fft.rfft({r}, dim={dim}, norm={scale}).abs().sum(-1, keepdim=True) * {b}
T.fft.irfft({a}, n={n}, dim=-1, norm={scale})
T.fft.irfft(T.fft.rfft({r}), n={n})
T.fft.hfft({a}, n={n}, norm={scale})
T.fft.ihfft({r}, norm={scale})[..., :1] * {b}
T.fft.fft2({a}, norm={scale})
T.fft.ifft2({a}, norm={scale})
T.fft.fftn({a}, norm={scale})
T.fft.ifftn({a}, dim=(-1,))
T.fft.rfft2({r})[..., :1] * {b}
T.fft.irfftn(T.fft.rfftn({r}), s={r}.shape)
T.fft.irfft2({a}, s=({n}, {n}), norm={scale})
T.fft.hfft2({z}, s=({n}, {n}), norm={scale})
T.fft.ihfft2({r}, norm={scale})[..., :1] * {b}
T.fft.fftshift({a}, dim={dim})
T.fft.ifftshift({a})
T.fft.ifft(T.fft.fft({a}) * T.fft.fft({b}))
T.stft({m}.real.reshape(-1), 2, 1, window=T.ones(2, dtype={m}.real.dtype), return_complex=True).abs().sum() * {b}
"""
SPECIAL = """
T.special.erf({r})
T.special.erfc({r})
T.special.erfcx({r})
T.special.erfinv({r} / 4)
T.special.gammaln({r}.abs() + 0.5)
T.special.digamma({r}.abs() + 0.5)
T.special.polygamma({order}, {r}.abs() + 0.5)
T.special.multigammaln({r}.abs() + 2, 3)
T.special.i0({r})
T.special.i0e({r})
T.special.i1({r})
T.special.i1e({r})
T.special.ndtr({r})
T.special.ndtri({r}.sigmoid())
T.special.log_ndtr({r})
T.special.entr({r}.abs() + 0.1)
T.special.xlogy({r}, {s}.abs() + 0.1)
T.special.xlog1py({r}, {s}.abs() + 0.1)
T.special.zeta(({r}.abs() + 1.5).detach(), {s}.abs() + 0.5)
T.special.gammainc(({r}.abs() + 0.5).detach(), {s}.abs() + 0.1)
T.special.gammaincc(({r}.abs() + 0.5).detach(), {s}.abs() + 0.1)
T.special.expit({r})
T.special.logit({r}.sigmoid())
T.special.logit({r} / 7 + 0.5, eps=0.1)
T.special.log1p({r}.abs())
T.special.expm1({r})
T.special.exp2({r})
T.special.sinc({r}.abs() + 0.3)
T.special.logsumexp({r}, -1, keepdim=True) + {s}
T.special.softmax({r}, -1)
T.special.log_softmax({r}, -2)
T.special.round(x0.detach(), decimals=1) * {s}
T.special.spherical_bessel_j0({r}.detach()) + {s}
T.special.modified_bessel_i0({r}.detach()) + {s}
T.special.modified_bessel_k1({r}.detach().abs() + 0.2) + {s}
T.special.scaled_modified_bessel_k0({r}.detach().abs() + 0.2) + {s}
T.special.chebyshev_polynomial_t({r}.detach() / 3, {order}) + {s}
T.special.hermite_polynomial_h({r}.detach(), {order}) + {s}
T.special.laguerre_polynomial_l({r}.detach(), {order}) + {s}
T.special.legendre_polynomial_p({r}.detach() / 3, {order}) + {s}
T.lgamma({r}.abs() + 0.5)
T.atan2({r}, {s}.abs() + 0.1)
T.hypot({r}, {s})
T.logaddexp({r}, {s})
T.logaddexp2({r}, {s})
T.copysign({r}, x0.detach())
T.ldexp({r}, x0.detach().round())
T.float_power({r}.abs() + 0.1, {s}).to({r}.dtype)
T.nextafter({r}.detach(), {s}.detach()) + {s}
T.mvlgamma({r}.abs() + 2, 2)
T.logcumsumexp({r}, -1)
T.cumulative_trapezoid({r}, dim=-1).sum(-1, keepdim=True) + {s}
T.nn.functional.gelu({r})
T.quantile({r}, 0.3, dim=-1, keepdim=True) * {s}
T.cov({m}.real)[:1, :1] * {s}
T.heaviside(x0.detach(), x1.detach()) * {s}
"""
SPARSE = """
T.sparse.mm({m}.to_sparse(), {k})
T.sparse.mm(({m} * ({m}.real > 0)).to_sparse(), {k})
T.sparse.mm({m}.to_sparse(), {k}.to_sparse()).to_dense()
T.sparse.addmm({k}, {m}.to_sparse(), {k}, beta=0.5, alpha=2.0)
T.sparse.sum({m}.to_sparse(), 0).to_dense() * {k}
T.sparse.sum({m}.to_sparse()) * {k}
T.sparse.softmax({m}.real.exp().to_sparse(), 1).to_dense() + {k}
T.sparse.log_softmax({m}.real.exp().to_sparse(), 0).to_dense() + {k}
{m}.to_sparse().to_dense() * {k}
({m}.to_sparse() * 2).to_dense() + {k}
({m}.to_sparse() + {m}.to_sparse()).to_dense()
({m}.to_sparse() * {m}.to_sparse()).to_dense()
{m}.to_sparse().t().to_dense() @ {k}
{m}.to_sparse().coalesce().values().reshape(-1)[:1] * {k}
({m}.detach().to_sparse_csr() @ {k}) if {m}.dtype == {k}.dtype else {k}
{m}.detach().to_sparse_csr().to_dense() + {k}
T.sparse_coo_tensor(T.tensor([[0, 0], [0, {n} - 1]]), {m}[0, :1].repeat(2), ({n}, {n})).to_dense() + {k}
T.sparse.mm(T.sparse_coo_tensor(T.tensor([[0], [{n} - 1]]), {m}[0, :1], ({n}, {n})), {k})
{m}.sparse_mask(T.eye({n}, dtype={m}.dtype).to_sparse()).to_dense() + {k}
{m}.to_sparse().sin().to_dense() + {k} if not {m}.is_complex() else {k}
T.nn.functional.embedding(T.tensor([0, 0]), {m}, sparse=False)[:1] * {k}
"""
GLUE = """
{a} + {b}
{a} * {b}
{a} - {b} * 0.5
{a} @ {b}
{a} / 3
{r}.tanh()
{r}.sin()
{a}.mT
{a}.sum(-1, keepdim=True) * {b}
{a}.abs()
{r}.to({dtype})
{a}.reshape(-1).reshape({a}.shape)
{r}.sort(-1)[0]
{r}.amax(-1, keepdim=True) * {b}
"""
FAMILIES = {
    "linalg": (10, LINALG),
    "complex": (9, COMPLEX),
    "writes": (3, WRITES),
    "fourier": (4, FOURIER),
    "special": (6, SPECIAL),
    "sparse": (4, SPARSE),
    "glue": (4, GLUE),
}
LINES_OF = {name: text.strip().splitlines() for name, (_, text) in FAMILIES.items()}


# ---------------------------------------------------------------- writing
class Writer:
    """Writes lines, from what PyTorch's run has."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.n = self.random.randint(1, 4)
        self.real = self.random.choice(["float64"] * 4 + ["float32"])
        self.count = 0

    def leaves(self, seed):
        """The arrays that the program begins with: two real ones and two complex ones."""
        numbers = np.random.default_rng(seed)
        n, arrays = self.n, []
        for i in range(4):
            shape = self.random.choice([(n, n), (n, n), (2, n, n)])
            array = numbers.standard_normal(shape)
            if i > 1:
                array = array + 1j * numbers.standard_normal(shape)
            single = np.complex64 if i > 1 else np.float32
            arrays.append(array.astype(single) if self.real == "float32" else array)
        return arrays

    def line(self, names):
        """The name of the new variable and the line that makes it."""
        self.names = names
        family = self.random.choices(list(FAMILIES), [w for w, _ in FAMILIES.values()])[0]
        text = self.random.choice(LINES_OF[family])
        return self.assigned(text)

    def assigned(self, text):
        self.count += 1
        name = f"v{self.count}"
        return name, f"{name} = " + text.format(v=name, **self.words())

    def words(self):
        pick = self.random.choice
        a = self.one()
        c, d = self.one("complex"), self.one("complex")
        r, s = self.one("real"), self.one("real")
        eye = f"T.eye({self.n}, dtype={a}.dtype)"
        kind = self.names[a].dtype
        alike = self.matrix(self.one(of_dtype=kind))
        steps = f"T.arange(1.0, {self.n + 1}).diag().to({a}.dtype) * 4"
        return {
            "a": a,
            "b": self.one(of_dtype=kind),
            "r": r,
            "s": s,
            "z": c,
            "w": d,
            "D": f"({a} + {4 * self.n} * {eye} + {steps})",
            "M": f"({self.matrix(a)} + {4 * self.n} * {eye} + {steps})",
            "P": f"({a} @ {a}.mH + {self.n} * {eye})",
            "H": f"({a} + {a}.mH + {steps})",
            "G": f"({a} / 3 + {steps})",
            "m": self.matrix(a),
            "k": alike,
            "n": self.n,
            "eye": eye,
            "m3": f"{self.matrix(c)}.unsqueeze(0)",
            "k3": f"{self.matrix(d)}.unsqueeze(-1)",
            "z2": self.matrix(d),
            "norm": pick(["'fro'", "'nuc'", "1", "-1", "2", "-2", "float('inf')", "-float('inf')"]),
            "power": pick(["1", "2", "3", "0.5", "float('inf')", "-float('inf')", "0"]),
            "dim": pick(["-1", "-2"]),
            "scale": pick(["None", "'ortho'", "'forward'"]),
            "order": pick(["1", "2", "3"]),
            "dtype": pick(["T.complex64", "T.complex128"])
            if self.real == "float32"
            else "T.complex128",
        }

    def one(self, kind="any", of_dtype=None):
        """The name of a matrix."""
        found = [
            name
            for name, value in self.names.items()
            if name[0] in "xv"
            and value.shape[-2:] == (self.n, self.n)
            and value.dim() <= 3
            and (kind == "any" or value.is_complex() == (kind == "complex"))
            and (of_dtype is None or value.dtype == of_dtype)
        ]
        return self.random.choice(found[-5:] + found)

    def matrix(self, name):
        """A single matrix, where there may be two."""
        return name if self.names[name].dim() == 2 else f"{name}[{self.random.choice([0, -1])}]"


# ---------------------------------------------------------------- running
def run_line(line, names):
    """Run a line; None, or the built-in class of the error and its text."""
    try:
        exec(line, names)
    except Exception as error:
        builtin = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
        return builtin.__name__, str(error).partition("\n")[0]
    return None


def numbers_of(x):
    return x.detach().resolve_conj().resolve_neg().numpy()


def difference(name, theirs, ours, tolerance):
    """What is different about a result, in words, or None."""
    if theirs is None or ours is None:
        known = theirs if ours is None else ours
        return None if known is None or not np.any(numbers_of(known)) else f"{name} is None once"
    kinds = [str(one.dtype).rpartition(".")[2] for one in (theirs, ours)]
    if kinds[0] != kinds[1] or tuple(theirs.shape) != tuple(ours.shape):
        return f"{name}: {kinds}, shapes {tuple(theirs.shape)} and {tuple(ours.shape)}"
    if theirs.requires_grad != ours.requires_grad:
        return f"{name}.requires_grad: {theirs.requires_grad} and {ours.requires_grad}"
    expected, found = numbers_of(theirs), numbers_of(ours)
    good = np.isfinite(expected)
    if not np.array_equal(good, np.isfinite(found)):
        return f"{name}: {expected} and {found}"
    largest = np.abs(expected[good]).max(initial=1.0)
    if np.abs(expected[good] - found[good]).max(initial=0.0) > tolerance * largest:
        return f"{name}: {expected} and {found}"
    return None


def gradients(T, names, made, leaves, twice):
    """The gradients of what the program has made, by its leaves, and perhaps theirs."""
    parts = [T.view_as_real(one.resolve_conj()) if one.is_complex() else one for one in made]
    total = sum(one.sin().sum() for one in parts)
    grads = T.autograd.grad(total, leaves, create_graph=twice, allow_unused=True)
    if twice:
        parts = [
            T.view_as_real(one.resolve_conj()) if one.is_complex() else one
            for one in grads
            if one is not None
        ]
        followed = [one.sin().sum() for one in parts if one.requires_grad]
        if followed:
            grads = [*grads, *T.autograd.grad(sum(followed), leaves, allow_unused=True)]
    return [None if one is None else one.detach() for one in grads]


class Run:
    """One program on both packages."""

    def __init__(self, seed):
        self.torch = require_torch()
        self.writer = Writer(seed)
        self.tolerance, self.of_gradients = TOLERANCES[self.writer.real]
        arrays = self.writer.leaves(seed)
        self.sides = []
        for T in (self.torch, tensorlab):
            names = {"T": T}
            for i, array in enumerate(arrays):
                names[f"x{i}"] = T.from_numpy(array.copy()).requires_grad_()
            self.sides.append(names)
        self.lines, self.failed = [], 0

    def program(self):
        """Run it; what was different, or None."""
        for _ in range(LINES):
            name, line = self.writer.line(self.sides[0])
            found = self.step(name, line)
            if found:
                return f"{line}\n{found}"
        return self.compare_gradients()

    def step(self, name, line):
        """Run a line on both; what was different, or None."""
        self.lines.append(line)
        theirs, ours = [run_line(line, names) for names in self.sides]
        if theirs or ours:
            self.lines[-1] = f"# {line}"
            self.failed += 1
            for names in self.sides:
                names.pop(name, None)
            if theirs and ours and theirs[0] == ours[0]:
                return None
            lacks = theirs and not ours and any(words in theirs[1] for words in LACKING)
            return None if lacks else f"{theirs} and {ours}"
        found = difference(name, *[names[name] for names in self.sides], self.tolerance)
        if found:
            return found
        values = numbers_of(self.sides[0][name])
        if not np.isfinite(values).all() or not np.issubdtype(values.dtype, np.inexact):
            for names in self.sides:
                del names[name]
        elif np.abs(values).max(initial=0) > BOUND and self.writer.count < 4 * LINES:
            return self.step(*self.writer.assigned(f"{name} / (1 + {name}.abs())")) or self.drop(
                name
            )
        return None

    def drop(self, name):
        for names in self.sides:
            del names[name]

    def compare_gradients(self):
        # PyTorch loses a part of the second derivative by the values of a sparse tensor
        twice = self.writer.random.random() < 0.25
        twice = twice and not any("sparse_coo_tensor" in line for line in self.lines)
        outcomes = []
        for names in self.sides:
            made = [one for name, one in names.items() if name[0] == "v" and one.requires_grad]
            leaves = [names[f"x{i}"] for i in range(4)]
            try:
                outcomes.append(gradients(names["T"], names, made, leaves, twice) if made else [])
            except Exception as error:
                outcomes.append(f"{type(error).__name__}: {error}")
        theirs, ours = outcomes
        if isinstance(theirs, str):
            return None  # some of PyTorch's derivatives have none
        if isinstance(ours, str):
            return f"gradients: {ours}"
        for i, pair in enumerate(zip(theirs, ours, strict=True)):
            if i > 3 and pair[0] is not None and bool(pair[0].isnan().any()):
                continue  # as where a deviation is 0: there, too, second derivatives are 0 here
            found = difference(f"gradient {i}", *pair, self.of_gradients)
            if found:
                return found
        return None


def check(seed):
    """Run the program of this number; returns (its lines, what differed or None, how many lines raised errors)."""
    run = Run(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run.program()
    return "\n".join(run.lines), found, run.failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first program")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--show", action="store_true", help="show each program")
    arguments = parser.parse_args()
    begin, mismatches, lines, failed = time.monotonic(), [], 0, 0
    for seed in range(arguments.seed, arguments.seed + arguments.number):
        source, found, errors = check(seed)
        lines, failed = lines + source.count("\n") + 1, failed + errors
        if arguments.show:
            print(source)
        if found:
            mismatches.append(seed)
            print(f"MISMATCH in program {seed}\n{source}\n{found}\n", flush=True)
        if (seed + 1) % 1000 == 0:
            print(f"programs up to {seed}: {len(mismatches)} mismatches", flush=True)
        if time.monotonic() - begin > arguments.seconds:
            break
    done = seed - arguments.seed + 1
    print(
        f"{done} programs, {lines} lines, of which {failed} raised errors; mismatches: {mismatches}"
    )
    return bool(mismatches)


if __name__ == "__main__":
    sys.exit(main())
