"""What all distributions share: shapes, checks of parameters and samples, and the methods that a family defines."""

import warnings

from tensorlab._core.tensor import Size
from tensorlab._tensor import Tensor
from tensorlab.autograd import no_grad
from tensorlab.distributions import constraints
from tensorlab.distributions.utils import lazy_property
from tensorlab.func.trees import debug_unwrap
from tensorlab.ops.pointwise.elementary import exp

__all__ = ["Distribution"]

SHOWN = 5  # how many invalid values an error shows


class Distribution:
    """A probability distribution, or a batch of them.

    `sample(sample_shape)` has the shape `sample_shape + batch_shape + event_shape`; `log_prob`
    of that has the shape `sample_shape + batch_shape`.

    Parameters
    ----------
    batch_shape : Size, of the independent distributions that the parameters stand for
    event_shape : Size, of one draw
    validate_args : bool, optional: whether parameters and samples are checked. By default they
        are, except under `python -O`

    Raises
    ------
    ValueError
        If a parameter lies outside its constraint.

    >>> import tensorlab
    >>> from tensorlab.distributions import MultivariateNormal
    >>> m = MultivariateNormal(tensorlab.zeros(5, 2), tensorlab.eye(2))
    >>> tuple(m.batch_shape), tuple(m.event_shape), tuple(m.sample((3,)).shape)
    ((5,), (2,), (3, 5, 2))
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    # Parameters that `expand` expands, each with the number of its dimensions that are not of the batch.
    _expanded: dict | None = None

    @staticmethod
    def set_default_validate_args(value):
        """Check arguments from now on, or not, wherever `validate_args` isn't given."""
        if value not in {True, False}:
            raise ValueError(f"set_default_validate_args takes True or False, not {value!r}")
        Distribution._validate_args = value

    def __init__(self, batch_shape=Size(), event_shape=Size(), validate_args=None):  # noqa: B008
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    def _validate_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{type(self).__name__} doesn't define `arg_constraints`, so that its parameters can't be "
                "checked: define it, or pass validate_args=False",
                stacklevel=3,
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and isinstance(
                getattr(type(self), name, None), lazy_property
            ):
                continue  # computed of another parameter, which is checked
            value = getattr(self, name)
            valid = constraint.check(value)
            if not all_true(valid):
                raise ValueError(
                    f"{type(self).__name__}: the parameter {name} of shape {tuple(value.shape)} must satisfy "
                    f"{constraint!r}, but {invalid(value, valid)}"
                )

    def expand(self, batch_shape, _instance=None):
        """Return the distribution with its batch expanded to `batch_shape`, without a copy of the parameters.

        Raises
        ------
        NotImplementedError
            If a class defines `__init__`, but no `expand`.
        """
        owner = next(
            (c for c in type(self).__mro__ if c.__dict__.get("_expanded") is not None), None
        )
        if owner is None:
            raise NotImplementedError(f"{type(self).__name__} doesn't define expand")
        new = self._get_checked_instance(owner, _instance)
        batch_shape = Size(batch_shape)
        for name, dims in owner._expanded.items():
            if name in self.__dict__:
                value = self.__dict__[name]
                setattr(new, name, value.expand(batch_shape + value.shape[value.dim() - dims :]))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self):
        """The shape of the independent distributions of this one."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """The constraint of each parameter, a dict by name."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define arg_constraints")

    @property
    def support(self):
        """The constraint that all samples satisfy."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define support")

    @property
    def mean(self):
        """The expected value, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define mean")

    @property
    def mode(self):
        """The most probable value, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define mode")

    @property
    def variance(self):
        """The variance of each number of an event, of shape `batch_shape + event_shape`."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define variance")

    @property
    def stddev(self):
        """The standard deviation, the root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Draw `sample_shape` samples, without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draw `sample_shape` samples that are differentiable in the parameters."""
        raise NotImplementedError(
            f"{type(self).__name__} has no differentiable samples: use sample(), and log_prob in a score function "
            "estimator"
        )

    def sample_n(self, n):
        """Draw n samples. Deprecated: use `sample((n,))`."""
        warnings.warn("sample_n is deprecated: use .sample((n,))", UserWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def log_prob(self, value):
        """Return the logarithm of the density or probability of `value`, of shape `sample_shape + batch_shape`."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define log_prob")

    def cdf(self, value):
        """Return the probability of a draw of at most `value`."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define cdf")

    def icdf(self, value):
        """Return the value whose cdf is `value`, a probability."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define icdf")

    def enumerate_support(self, expand=True):
        """Return all values of a discrete distribution along a new first dimension.

        Parameters
        ----------
        expand : bool, whether they are expanded over the batch; else their shape is
            (cardinality, 1, ..., 1)
        """
        raise NotImplementedError(f"{type(self).__name__} has no values that can be listed")

    def entropy(self):
        """Return the entropy in nats, of shape `batch_shape`."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define entropy")

    def perplexity(self):
        """Return the exponential of the entropy."""
        return exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        """Return the shape of `sample_shape` samples."""
        if not sample_shape:
            return self._batch_shape + self._event_shape if self._event_shape else self._batch_shape
        return Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value):
        """Check that a value has a shape that fits, and lies in the support."""
        if not isinstance(value, Tensor):
            raise ValueError(
                f"{type(self).__name__}: a value must be a tensor, not {type(value).__name__}: write "
                f"torch.tensor({value!r})"
            )
        self._validate_shape(value.shape)
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self).__name__} doesn't define `support`, so that samples can't be checked: define it, or "
                "pass validate_args=False",
                stacklevel=3,
            )
            return
        valid = support.check(value)
        if not all_true(valid):
            raise ValueError(
                f"{self!r}: a value of shape {tuple(value.shape)} must lie in the support, {support!r}, but "
                f"{invalid(value, valid)}"
            )

    def _validate_shape(self, shape):
        expected = self._extended_shape()
        if shape == expected:
            return
        given = tuple(shape)
        events = len(self._event_shape)
        if given[len(given) - events :] != tuple(self._event_shape):
            raise ValueError(
                f"{type(self).__name__}: the last dimensions of a value of shape {given} must be the event shape "
                f"{tuple(self._event_shape)} (batch shape {tuple(self._batch_shape)})"
            )
        for size, wanted in zip(reversed(given), reversed(expected), strict=False):
            if size != 1 and wanted != 1 and size != wanted:
                raise ValueError(
                    f"{type(self).__name__}: a value of shape {given} can't be broadcast with batch shape "
                    f"{tuple(self._batch_shape)} + event shape {tuple(self._event_shape)}"
                )

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"{type(self).__name__} defines its own __init__, so it must define its own expand as well, as "
                f"that of {cls.__name__} doesn't know its parameters"
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self):
        try:
            names = [name for name in self.arg_constraints if name in self.__dict__]
        except NotImplementedError:
            names = []
        shown = []
        for name in names:
            value = self.__dict__[name]
            value = debug_unwrap(value) if isinstance(value, Tensor) else value
            is_single = not isinstance(value, Tensor) or value.numel() == 1
            shown.append(f"{name}: {value if is_single else value.size()}")
        return f"{type(self).__name__}({', '.join(shown)})"


def all_true(valid):
    """Are all values valid? Inside of vmap, those of all examples: what is wrong in one is refused."""
    return debug_unwrap(valid).all()


def invalid(value, valid):
    """Say which values are not valid: the first few, and where they are."""
    value, valid = debug_unwrap(value), debug_unwrap(valid)
    places = (~valid).nonzero().tolist()
    if value.shape[: valid.ndim] != valid.shape:  # bounds differ between examples of vmap
        return f"{len(places)} of {valid.numel()} values don't"
    if not places or not places[0]:
        return f"it is {value.tolist()}"
    shown = [f"{value[tuple(place)].tolist()} at {place}" for place in places[:SHOWN]]
    more = f", and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
    return f"{len(places)} of {valid.numel()} don't: {', '.join(shown)}{more}"
