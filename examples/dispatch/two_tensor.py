"""A tensor that is in two packages at once: each op runs on tensorlab and on PyTorch, and must
agree.
"""

import tensorlab as torch
from tensorlab.utils._pytree import tree_map


class TwoTensor(torch.Tensor):
    """Holds a tensor of tensorlab and one of another package with ops of the same names."""

    __torch_function__ = torch.overrides.disabled_tensor_function

    @staticmethod
    def __new__(cls, ours, theirs):
        made = torch.Tensor._make_wrapper_subclass(
            cls, ours.shape, ours.stride(), dtype=ours.dtype, device=ours.device
        )
        made.ours, made.theirs = ours, theirs
        return made

    def __init__(self, *args):
        pass

    @classmethod
    def of(cls, x, other):
        """One of a tensor and `other`, the module torch."""
        return cls(x, other.from_numpy(x.numpy().copy()))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        import torch as other  # PyTorch: this program is for those who have it

        ours = func(
            *tree_map(lambda x: x.ours if isinstance(x, cls) else x, args), **(kwargs or {})
        )
        packet = getattr(getattr(other.ops, func.namespace), func._opname)
        theirs = packet(*tree_map(lambda x: x.theirs if isinstance(x, cls) else x, args))
        here, there = tuple(ours.shape), tuple(theirs.shape)
        assert here == there, f"{func}: {here} here, {there} there"
        error = (ours.detach() - torch.from_numpy(theirs.detach().numpy())).abs().max().item()
        assert error < 1e-5, f"{func}: the packages differ by {error}"
        return cls(ours, theirs)

    def __repr__(self):
        return f"TwoTensor({self.ours})"


if __name__ == "__main__":
    import torch as other

    x = TwoTensor.of(torch.randn(3, 3), other).requires_grad_()
    print((x @ x).relu().exp())
