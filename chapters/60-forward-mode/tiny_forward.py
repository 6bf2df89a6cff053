"""Forward mode over NumPy arrays, at any number of levels."""

import numpy as np

running = []  # the levels that are in use, the outermost first
log = []  # (level, name) of each call of an op


class Dual:
    """A value with its tangent, at a level. The value may be a Dual itself, of a lower level."""

    __array_ufunc__ = None  # array * Dual comes to __rmul__

    def __init__(self, level, value, tangent):
        self.level, self.value, self.tangent = level, value, tangent

    def __add__(self, other):
        return add(self, other)

    def __mul__(self, other):
        return mul(self, other)

    __radd__, __rmul__ = __add__, __mul__


def split(x, level):
    """Value and tangent of x at a level, where most things are constants."""
    if isinstance(x, Dual) and x.level == level:
        return x.value, x.tangent
    return x, None


def op(compute, *rules):
    """Make an op: rules[i](tangent, *values) is what the tangent of argument i adds."""

    def call(*args):
        level = max([x.level for x in args if isinstance(x, Dual)], default=0)
        log.append((level, compute.__name__))
        if level == 0:
            return compute(*args)
        pairs = [split(x, level) for x in args]
        values = [value for value, _ in pairs]
        moving = [(rule, t) for rule, (_, t) in zip(rules, pairs, strict=True) if t is not None]
        parts = [rule(t, *values) for rule, t in moving]
        return Dual(level, call(*values), parts[0] if len(parts) == 1 else add(*parts))

    return call


add = op(np.add, lambda t, x, y: t, lambda t, x, y: t)
mul = op(np.multiply, lambda t, x, y: t * y, lambda t, x, y: x * t)
matmul = op(np.matmul, lambda t, x, y: matmul(t, y), lambda t, x, y: matmul(x, t))
sin = op(np.sin, lambda t, x: t * cos(x))
cos = op(np.cos, lambda t, x: t * sin(x) * -1.0)
exp = op(np.exp, lambda t, x: t * exp(x))
total = op(np.sum, lambda t, x: total(t))


def jvp(function, x, t):
    """Return function(x), and its derivative along t."""
    running.append(len(running) + 1)
    try:
        out = function(Dual(running[-1], x, t))
        value, tangent = split(out, running[-1])
    finally:
        running.pop()
    return value, value * 0.0 if tangent is None else tangent
