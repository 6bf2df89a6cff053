"""A tensor with units: metres and seconds multiply and divide, and don't add."""

from collections import Counter

import tensorlab as torch

aten = torch.ops.aten


class Quantity(torch.Tensor):
    """Numbers, and the power of each unit."""

    __torch_function__ = torch.overrides.disabled_tensor_function

    @staticmethod
    def __new__(cls, elem, units=""):
        made = torch.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype)
        made.elem = elem
        made.units = units if isinstance(units, Counter) else Counter(units.split())
        return made

    def __init__(self, *args):
        pass

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        values = [x.elem if isinstance(x, cls) else x for x in args]
        units = [x.units if isinstance(x, cls) else Counter() for x in args]
        if func is aten.mul.Tensor:
            result = combined(units[0], units[1], 1)
        elif func is aten.div.Tensor:
            result = combined(units[0], units[1], -1)
        elif func in (aten.add.Tensor, aten.sub.Tensor):
            if units[0] != units[1]:
                raise TypeError(f"{func}: {' and '.join(map(spelled, units))} don't add")
            result = units[0]
        elif func in (aten.sum.dim_IntList, aten.neg.default, aten.detach.default):
            result = units[0]
        else:
            raise TypeError(f"{func}: there is no rule for the units of its result")
        return cls(func(*values, **(kwargs or {})), result)

    def __repr__(self):
        return f"{self.elem.tolist()} {spelled(self.units)}"


def combined(x, y, sign):
    powers = {unit: x[unit] + sign * y[unit] for unit in {*x, *y}}
    return Counter({unit: power for unit, power in powers.items() if power})


def spelled(units):
    powers = sorted(units.items())
    return " ".join(unit if power == 1 else f"{unit}^{power}" for unit, power in powers) or "1"


if __name__ == "__main__":
    way = Quantity(torch.tensor([100.0, 200.0]), "m")
    time = Quantity(torch.tensor([9.58, 19.19]), "s")
    print(way / time)
