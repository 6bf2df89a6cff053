"""Special functions under their names in mathematics: the error function, the gamma function and their relatives.

Most are functions of `tensorlab` as well, some under another name: `expit` is `sigmoid`, `gammaln` is `lgamma`.
"""

from tensorlab import _missing
from tensorlab.ops.pointwise.elementary import exp2, expm1, log1p, logit
from tensorlab.ops.pointwise.elementary import sigmoid as expit
from tensorlab.ops.pointwise.rounding import round
from tensorlab.ops.pointwise.special import (
    digamma,
    erf,
    erfc,
    erfinv,
    i0,
    i1,
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
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammaln",
    "i0",
    "i1",
    "log1p",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlogy",
]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
