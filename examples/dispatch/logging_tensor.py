"""A tensor that writes down every op that is called with it, backward included."""

import tensorlab as torch
from tensorlab.utils._python_dispatch import return_and_correct_aliasing
from tensorlab.utils._pytree import tree_map_only


class LoggingTensor(torch.Tensor):
    """Holds a tensor, and a list that all results of it share."""

    __torch_function__ = torch.overrides.disabled_tensor_function

    @staticmethod
    def __new__(cls, elem, log=None):
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            elem.shape,
            elem.stride(),
            elem.storage_offset(),
            dtype=elem.dtype,
            device=elem.device,
        )
        made.elem, made.log = elem, [] if log is None else log
        return made

    def __init__(self, *args):
        pass

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        logs = []
        tree_map_only(cls, lambda x: logs.append(x.log), (args, kwargs or {}))
        inside, named = tree_map_only(cls, lambda x: x.elem, (args, kwargs or {}))
        logs[0].append(str(func))
        out = func(*inside, **named)
        wrapped = tree_map_only(torch.Tensor, lambda x: cls(x, logs[0]), out)
        return return_and_correct_aliasing(func, args, kwargs, wrapped)

    def __repr__(self):
        return f"LoggingTensor({self.elem})"


if __name__ == "__main__":
    x = LoggingTensor(torch.tensor([1.0, 2.0])).requires_grad_()
    loss = (x * x).sum()
    loss.backward()
    print(*x.log, sep="\n")
    print(x.grad)
