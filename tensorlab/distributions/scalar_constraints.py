"""Sets of numbers: each element on its own."""

from tensorlab.distributions.constraint import Constraint


class _Boolean(Constraint):
    """The numbers 0 and 1."""

    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _IntegerInterval(Constraint):
    """The integers from `lower_bound` to `upper_bound`, both included.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> constraints.integer_interval(0, 3).check(tensorlab.tensor([0.0, 1.5, 3.0]))
    tensor([ True, False,  True])
    """

    is_discrete = True
    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        inside = (value >= self.lower_bound) & (value <= self.upper_bound)
        return inside & (value % 1 == 0) if value.is_floating_point() else inside


class _IntegerLessThan(Constraint):
    """The integers up to `upper_bound`, included."""

    is_discrete = True
    _bounds = ("upper_bound",)

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(Constraint):
    """The integers from `lower_bound` on, included."""

    is_discrete = True
    _bounds = ("lower_bound",)

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    """All real numbers: everything but NaN."""

    def check(self, value):
        return value == value


class _GreaterThan(Constraint):
    """The numbers above `lower_bound`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> constraints.greater_than(1).check(tensorlab.tensor([1.0, 2.0]))
    tensor([False,  True])
    """

    _bounds = ("lower_bound",)

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return value > self.lower_bound


class _GreaterThanEq(Constraint):
    """The numbers from `lower_bound` on, included.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> constraints.greater_than_eq(1).check(tensorlab.tensor([0.0, 1.0]))
    tensor([False,  True])
    """

    _bounds = ("lower_bound",)

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return value >= self.lower_bound


class _LessThan(Constraint):
    """The numbers below `upper_bound`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> constraints.less_than(1).check(tensorlab.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    _bounds = ("upper_bound",)

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound


class _Interval(Constraint):
    """The numbers from `lower_bound` to `upper_bound`, both included.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> constraints.interval(0, 1).check(tensorlab.tensor([0.0, 1.0, 1.5]))
    tensor([ True,  True, False])
    """

    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(Constraint):
    """The numbers from `lower_bound`, included, to `upper_bound`, not included.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.distributions import constraints
    >>> constraints.half_open_interval(0, 1).check(tensorlab.tensor([0.0, 0.5, 1.0]))
    tensor([ True,  True, False])
    """

    _bounds = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value):
        return (value >= self.lower_bound) & (value < self.upper_bound)
