"""A tensor that carries a physical unit through a computation, and refuses to add metres to seconds.

Runs in tensorlab and, with `import torch`, in PyTorch.
"""

import tensorlab as torch


class Unit(dict):
    """A product of powers of base units: {"m": 1, "s": -2} is m/s^2."""

    def __init__(self, **powers):
        super().__init__({name: power for name, power in powers.items() if power != 0})

    def __mul__(self, other):
        names = sorted({*self, *other})
        return Unit(**{name: self.get(name, 0) + other.get(name, 0) for name in names})

    def __pow__(self, exponent):
        return Unit(**{name: power * exponent for name, power in self.items()})

    def __truediv__(self, other):
        return self * other**-1

    def __str__(self):
        up = [name if p == 1 else f"{name}^{p:g}" for name, p in self.items() if p > 0]
        down = [name if p == -1 else f"{name}^{-p:g}" for name, p in self.items() if p < 0]
        return "*".join(up or ["1"]) + "".join(f"/{one}" for one in down)


# ---------------------------------------------------------------- rules
def equal_units(name, units):
    """Give the one unit that all operands have."""
    for unit in units[1:]:
        if unit != units[0]:
            raise TypeError(f"{name}: {units[0]} and {unit} do not go together")
    return units[0]


def no_unit(name, units):
    """Let equal units be compared; truth has none."""
    equal_units(name, units)
    return Unit()


SAME = [
    *("neg", "positive", "abs", "sum", "mean", "amax", "amin", "cat", "stack", "where", "clone"),
    *("detach", "reshape", "view", "t", "expand", "unbind", "flatten", "to", "requires_grad_"),
    *("__getitem__", "__get__"),  # a property, such as x.T
]
NONE = [
    *("argmax", "argmin", "tolist", "item", "numpy", "backward", "size", "dim", "numel"),
    *("is_contiguous", "register_hook", "__set__", "__repr__"),
]
PAIRS = {  # of two operands, and a number is one, without a unit
    **dict.fromkeys(["add", "sub", "add_", "sub_", "__rsub__", "maximum", "minimum"], equal_units),
    **dict.fromkeys(["eq", "__eq__", "ne", "lt", "le", "gt", "ge"], no_unit),
    **dict.fromkeys(["mul", "matmul", "dot", "mm"], lambda name, units: units[0] * units[1]),
    "div": lambda name, units: units[0] / units[1],
    "__rdiv__": lambda name, units: units[1] / units[0],
}
RULES = {
    **PAIRS,
    **dict.fromkeys(SAME, equal_units),
    **dict.fromkeys(NONE, lambda name, units: None),
    "square": lambda name, units: units[0] ** 2,
    "sqrt": lambda name, units: units[0] ** 0.5,
}


def operands(values, kinds):
    """Yield what is of these kinds among arguments, in lists and tuples too."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from operands(value, kinds)
        elif isinstance(value, kinds):
            yield value


# ---------------------------------------------------------------- the tensor
class UnitTensor(torch.Tensor):
    """Numbers with a unit: `with_unit([3.0], m=1, s=-1)`."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name, kwargs = func.__name__, kwargs or {}
        if name not in RULES:
            raise TypeError(f"{name}: no rule says what this does to units; call plain() first")
        kinds = (torch.Tensor, float, int) if name in PAIRS else torch.Tensor
        values = operands([*args, *kwargs.values()], kinds)
        unit = RULES[name](name, [getattr(value, "unit", Unit()) for value in values])
        result = super().__torch_function__(func, types, args, kwargs)
        for one in result if isinstance(result, tuple) else (result,):
            if isinstance(one, UnitTensor) and unit is not None:
                one.unit = unit
        return result

    def plain(self):
        """Return the numbers alone."""
        return self.as_subclass(torch.Tensor)

    def __repr__(self):
        return f"{self.plain()!r} {getattr(self, 'unit', Unit())}"


def with_unit(values, **powers):
    """Return a UnitTensor of some values."""
    x = torch.as_tensor(values).as_subclass(UnitTensor)
    x.unit = Unit(**powers)
    return x
