"""Exponential families: densities of the form exp(<t(x), eta> - F(eta) + k(x))."""

from tensorlab.autograd import enable_grad, grad
from tensorlab.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with natural parameters eta, log normalizer F and carrier measure k.

    A family defines `_natural_params`, `_log_normalizer(*eta)` and `_mean_carrier_measure` (the
    expected value of k). Its entropy is then F(eta) - <eta, grad F(eta)> - E[k], where autograd
    takes the gradient of F. Source: Nielsen and Nock, Entropies and cross-entropies of
    exponential families, ICIP 2010.

    Examples
    --------
    >>> from tensorlab.distributions import Normal
    >>> issubclass(Normal, ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        raise NotImplementedError(f"{type(self).__name__} doesn't define _natural_params")

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError(f"{type(self).__name__} doesn't define _log_normalizer")

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError(f"{type(self).__name__} doesn't define _mean_carrier_measure")

    def entropy(self):
        """Return the entropy by the Bregman divergence of the log normalizer."""
        carrier = self._mean_carrier_measure
        params = [
            p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params
        ]
        with enable_grad():
            normalizer = self._log_normalizer(*params)
            gradients = grad(normalizer.sum(), params, create_graph=True)
        result = -carrier + normalizer
        for p, gradient in zip(params, gradients, strict=True):
            events = p * gradient
            inner = len(self._event_shape)
            result -= events.flatten(events.dim() - inner).sum(-1) if inner else events
        return result
