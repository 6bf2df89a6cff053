"""Special functions under their names in mathematics: the error function, the gamma function and their relatives.

Most are functions of `tensorlab` as well, some under another name: `expit` is `sigmoid`, `gammaln` is `lgamma`.
"""

from tensorlab import _missing
from tensorlab._core.dispatch.numpy_aliases import accept_numpy_names
from tensorlab.ops.multivariate_gamma import multigammaln
from tensorlab.ops.pointwise.bessel import (
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    i0,
    i0e,
    i1,
    i1e,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    spherical_bessel_j0,
)
from tensorlab.ops.pointwise.elementary import exp2, expm1, log1p, logit
from tensorlab.ops.pointwise.elementary import sigmoid as expit
from tensorlab.ops.pointwise.incomplete_gamma import igamma as gammainc
from tensorlab.ops.pointwise.incomplete_gamma import igammac as gammaincc
from tensorlab.ops.pointwise.incomplete_gamma import zeta
from tensorlab.ops.pointwise.polynomials import (
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    hermite_polynomial_h,
    hermite_polynomial_he,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
)
from tensorlab.ops.pointwise.probabilities import entr, erfcx, log_ndtr, ndtri, xlog1py
from tensorlab.ops.pointwise.rounding import round
from tensorlab.ops.pointwise.special import (
    digamma,
    erf,
    erfc,
    erfinv,
    ndtr,
    polygamma,
    xlogy,
)
from tensorlab.ops.pointwise.special import digamma as psi
from tensorlab.ops.pointwise.special import lgamma as gammaln
from tensorlab.ops.pointwise.trigonometry import sinc
from tensorlab.ops.softmax import log_softmax, softmax
from tensorlab.ops.statistics import logsumexp

__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
    "sinc",
    "softmax",
    "spherical_bessel_j0",
    "xlog1py",
    "xlogy",
    "zeta",
]

accept_numpy_names([globals()[name] for name in __all__])


def __getattr__(name):
    raise _missing.refuse(__name__, name)
