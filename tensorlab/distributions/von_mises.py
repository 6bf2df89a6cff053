"""The von Mises distribution."""

import math

from tensorlab._core.dtypes import BY_NAME
from tensorlab._core.tensor import Size
from tensorlab.autograd import no_grad
from tensorlab.distributions import constraints
from tensorlab.distributions.distribution import Distribution
from tensorlab.distributions.utils import broadcast_all, lazy_property
from tensorlab.ops.creation import empty, zeros
from tensorlab.ops.pointwise.selection import where
from tensorlab.ops.pointwise.trigonometry import cos
from tensorlab.ops.random_factories import rand
from tensorlab.special import i0e, i1e

BOOL = BY_NAME["bool"]

__all__ = ["VonMises"]


def _log_i(order, x):
    """Return log I_order(x) of the modified Bessel function of order 0 or 1."""
    scaled = i0e(x) if order == 0 else i1e(x)
    return scaled.log() + x


class VonMises(Distribution):
    """The von Mises distribution of angles, with a density proportional to exp(concentration cos(x - loc)).

    Source: Mardia and Jupp, Directional Statistics, section 3.5.4. Samples are drawn by Best
    and Fisher, Efficient simulation of the von Mises distribution, Applied Statistics 1979.

    Parameters
    ----------
    loc : number or tensor of the batch shape, the mean angle in radians
    concentration : positive number or tensor of the batch shape

    >>> from tensorlab.distributions import VonMises
    >>> VonMises(0.0, 1.0).variance
    tensor(0.5536)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    _expanded = {"loc": 0, "concentration": 0}

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, Size(), validate_args)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        log_prob = self.concentration * cos(value - self.loc)
        return log_prob - math.log(2 * math.pi) - _log_i(0, self.concentration)

    @lazy_property
    def _loc(self):
        return self.loc.double()

    @lazy_property
    def _concentration(self):
        return self.concentration.double()

    @lazy_property
    def _proposal_r(self):
        """The parameter of the wrapped Cauchy distribution that proposes angles; by its series near 0."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    @no_grad()
    def sample(self, sample_shape=()):
        """Draw angles, in double precision within, as rounding shows for small concentrations."""
        shape = self._extended_shape(sample_shape)
        x = empty(shape, dtype=self._loc.dtype, device=self.loc.device)
        kappa, r = self._concentration.expand(shape), self._proposal_r.expand(shape)
        done = zeros(shape, dtype=BOOL, device=self.loc.device)
        while not done.all():
            u1, u2, u3 = rand((3,) + shape, dtype=x.dtype, device=x.device).unbind()
            z = cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
            x = where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
        angle = (x + math.pi + self._loc.expand(shape)) % (2 * math.pi) - math.pi
        return angle.to(self.loc.dtype)

    @property
    def mean(self):
        """The circular mean."""
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance, from 0 to 1."""
        return 1 - (_log_i(1, self.concentration) - _log_i(0, self.concentration)).exp()
