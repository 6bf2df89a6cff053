"""What a set of values is, and sets that are made of other sets.

`constraint.check(value)` says for each event of a batch whether it lies in the set. An event
has `event_dim` dimensions: 0 for a number, 1 for a point of the simplex, 2 for a matrix.
"""

from tensorlab._core.tensor import TensorBase
from tensorlab.func.trees import debug_unwrap
from tensorlab.ops.joining import cat, stack


class Constraint:
    """A set of values.

    Attributes
    ----------
    is_discrete : bool, whether the set is one of separate points
    event_dim : int, how many of the last dimensions make up one element of the set

    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> constraints.positive.check(tensorlab.tensor([-1.0, 2.0]))
    tensor([False,  True])
    """

    is_discrete = False
    event_dim = 0
    _bounds: tuple = ()

    def check(self, value):
        """Return which events lie in the set, bools of shape `sample_shape + batch_shape`."""
        raise NotImplementedError(f"{type(self).__name__} doesn't define check")

    def __repr__(self):
        name = type(self).__name__.removeprefix("_")
        bounds = [(bound, getattr(self, bound)) for bound in self._bounds]
        shown = [
            f"{bound}={debug_unwrap(value) if isinstance(value, TensorBase) else value}"
            for bound, value in bounds
        ]
        return f"{name}({', '.join(shown)})"


class _Dependent(Constraint):
    """A set that depends on other values, so that nothing can be checked without them.

    Examples
    --------
    >>> from tensorlab.distributions import constraints
    >>> constraints.is_dependent(constraints.dependent)
    True
    """

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    @property
    def is_discrete(self):
        if self._is_discrete is NotImplemented:
            raise NotImplementedError("is_discrete isn't known before the parameters are")
        return self._is_discrete

    @property
    def event_dim(self):
        if self._event_dim is NotImplemented:
            raise NotImplementedError("event_dim isn't known before the parameters are")
        return self._event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        """Return such a constraint of which more is known."""
        if is_discrete is NotImplemented:
            is_discrete = self._is_discrete
        if event_dim is NotImplemented:
            event_dim = self._event_dim
        return _Dependent(is_discrete=is_discrete, event_dim=event_dim)

    def check(self, value):
        raise ValueError(
            "a dependent constraint can't be checked: ask an instance of the distribution for it"
        )


def is_dependent(constraint):
    """Whether a constraint depends on other values.

    Examples
    --------
    >>> from tensorlab.distributions import Uniform, constraints
    >>> is_dependent(constraints.positive), is_dependent(Uniform.support)
    (False, True)
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A constraint of an instance by a property, and a dependent constraint of its class.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import Uniform
    >>> Uniform(0.0, 2.0).support.check(tensorlab.tensor([1.0, 3.0]))
    tensor([ True, False])
    """

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """A constraint that takes the last `reinterpreted_batch_ndims` batch dimensions as events.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> rows = constraints.independent(constraints.positive, 1)
    >>> rows.check(tensorlab.tensor([[1.0, 2.0], [1.0, -2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        if not isinstance(base_constraint, Constraint):
            raise TypeError(
                f"base_constraint must be a Constraint, not {type(base_constraint).__name__}"
            )
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise ValueError(
                f"reinterpreted_batch_ndims must be an int of at least 0, not {reinterpreted_batch_ndims!r}"
            )
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        result = self.base_constraint.check(value)
        ndims = self.reinterpreted_batch_ndims
        if result.dim() < ndims:
            expected = self.base_constraint.event_dim + ndims
            raise ValueError(
                f"expected at least {expected} dimensions, got {value.dim()}: {tuple(value.shape)}"
            )
        if ndims == 0:
            return result
        return result.reshape(result.shape[: result.dim() - ndims] + (-1,)).all(-1)

    def __repr__(self):
        return (
            f"{type(self).__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"
        )


class MixtureSameFamilyConstraint(Constraint):
    """The support of a mixture: that of its components, whose batch has one more dimension.

    Parameters
    ----------
    base_constraint : Constraint, the support of the components

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> components = MixtureSameFamilyConstraint(constraints.positive)
    >>> components.check(tensorlab.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise TypeError(
                f"base_constraint must be a Constraint, not {type(base_constraint).__name__}"
            )
        self.base_constraint = base_constraint
        super().__init__()

    @property
    def is_discrete(self):
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        return self.base_constraint.event_dim

    def check(self, value):
        event_dim = self.event_dim
        result = self.base_constraint.check(value.unsqueeze(-1 - event_dim))
        if value.dim() < event_dim:
            raise ValueError(
                f"expected at least {event_dim} dimensions, got {value.dim()}: {tuple(value.shape)}"
            )
        return result.reshape(value.shape[: value.dim() - event_dim] + (-1,)).all(-1)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_constraint!r})"


class _Cat(Constraint):
    """Values that are several sets side by side along a dimension.

    Parameters
    ----------
    cseq : sequence of Constraint
    dim : int, the dimension
    lengths : sequence of int, how long each part is; 1 each by default

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> both = constraints.cat([constraints.positive, constraints.real], lengths=[1, 2])
    >>> both.check(tensorlab.tensor([-1.0, -1.0, 1.0]))
    tensor([False,  True,  True])
    """

    def __init__(self, cseq, dim=0, lengths=None):
        self.cseq = list(cseq)
        if not all(isinstance(constraint, Constraint) for constraint in self.cseq):
            raise TypeError("cat takes a sequence of constraints")
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise ValueError(f"{len(self.cseq)} constraints, but {len(self.lengths)} lengths")
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self):
        return any(constraint.is_discrete for constraint in self.cseq)

    @property
    def event_dim(self):
        return max(constraint.event_dim for constraint in self.cseq)

    def check(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise ValueError(
                f"dim {self.dim} is out of range for a value of shape {tuple(value.shape)}"
            )
        parts = value.split(self.lengths, self.dim)
        return cat([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(Constraint):
    """Values whose slices along a dimension lie in a set each.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> both = constraints.stack([constraints.positive, constraints.real])
    >>> both.check(tensorlab.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq, dim=0):
        self.cseq = list(cseq)
        if not all(isinstance(constraint, Constraint) for constraint in self.cseq):
            raise TypeError("stack takes a sequence of constraints")
        self.dim = dim
        super().__init__()

    @property
    def is_discrete(self):
        return any(constraint.is_discrete for constraint in self.cseq)

    @property
    def event_dim(self):
        dim = max(constraint.event_dim for constraint in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value):
        if not -value.dim() <= self.dim < value.dim():
            raise ValueError(
                f"dim {self.dim} is out of range for a value of shape {tuple(value.shape)}"
            )
        slices = value.unbind(self.dim)
        return stack([c.check(part) for part, c in zip(slices, self.cseq, strict=True)], self.dim)
