"""The chi-squared distribution."""

from tensorlab.distributions import constraints
from tensorlab.distributions.gamma import Gamma

__all__ = ["Chi2"]


class Chi2(Gamma):
    """The chi-squared distribution: of the sum of `df` squared standard normal numbers.

    Parameters
    ----------
    df : positive number or tensor of the batch shape, the degrees of freedom

    >>> from tensorlab.distributions import Chi2
    >>> Chi2(3.0).mean
    tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Chi2, _instance)
        return super().expand(batch_shape, new)

    @property
    def df(self):
        return self.concentration * 2
