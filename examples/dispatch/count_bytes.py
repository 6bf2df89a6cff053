"""A mode that counts operations and bytes: is a program bound by arithmetic or by memory?"""

from collections import Counter

import tensorlab as torch
from tensorlab.utils._python_dispatch import TorchDispatchMode
from tensorlab.utils._pytree import tree_leaves
from tensorlab.utils.flop_counter import FlopCounterMode


class CountBytes(TorchDispatchMode):
    """Counts, for each op, the bytes of its arguments and results."""

    def __init__(self):
        super().__init__()
        self.bytes = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not func.is_view:
            leaves = tree_leaves((args, kwargs, out))
            tensors = [x for x in leaves if isinstance(x, torch.Tensor)]
            self.bytes[str(func)] += sum(x.numel() * x.element_size() for x in tensors)
        return out


if __name__ == "__main__":
    nn = torch.nn
    net = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    for batch in (1, 64):
        x = torch.randn(batch, 512)
        with FlopCounterMode(display=False) as flops, CountBytes() as moved:
            net(x)
        ratio = flops.get_total_flops() / moved.bytes.total()
        print(f"batch {batch}: {flops.get_total_flops():,} FLOP, {moved.bytes.total():,} bytes")
        print(f"    {ratio:.1f} FLOP per byte")
