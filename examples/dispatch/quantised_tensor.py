"""A tensor of eight bits an element: numbers from -127 to 127, and one scale. Ops compute with
what these stand for.
"""

import tensorlab as torch
from tensorlab.utils._pytree import tree_map_only


class QuantisedTensor(torch.Tensor):
    """Says that it is float32, and holds int8."""

    __torch_function__ = torch.overrides.disabled_tensor_function

    @staticmethod
    def __new__(cls, codes, scale):
        made = torch.Tensor._make_wrapper_subclass(
            cls, codes.shape, dtype=torch.float32, device=codes.device
        )
        made.codes, made.scale = codes, scale
        return made

    def __init__(self, codes, scale):
        pass

    @classmethod
    def from_float(cls, x):
        """Round to 255 steps between -max and max."""
        scale = x.abs().max().item() / 127 or 1.0
        return cls((x / scale).round().to(torch.int8), scale)

    def dequantise(self):
        return self.codes.to(torch.float32) * self.scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.mm.default and all(isinstance(x, cls) for x in args):
            x, y = args  # sums of products of small integers are exact in float32
            return torch.mm(x.codes.float(), y.codes.float()) * (x.scale * y.scale)
        if func in (
            torch.ops.aten.detach.default,
            torch.ops.aten.transpose.int,
            torch.ops.aten.permute.default,
        ):
            return cls(func(args[0].codes, *args[1:], **kwargs), args[0].scale)
        args, kwargs = tree_map_only(cls, cls.dequantise, (args, kwargs or {}))
        return func(*args, **kwargs)

    def __repr__(self):
        return f"QuantisedTensor({self.codes.tolist()}, scale={self.scale:.4g})"


if __name__ == "__main__":
    torch.manual_seed(0)
    x, w = torch.randn(4, 64), torch.randn(64, 3)
    exact, rounded = x @ w, QuantisedTensor.from_float(x) @ QuantisedTensor.from_float(w)
    print(f"largest error {(exact - rounded).abs().max():.3f} of {exact.abs().max():.3f}")
