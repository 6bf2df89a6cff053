"""A tensor that computes when you ask for its value: until then it holds the call."""

import tensorlab as torch
from tensorlab.utils._pytree import tree_map_only


class LazyTensor(torch.Tensor):
    """Holds a call; its shape and type are known from a run on meta."""

    __torch_function__ = torch.overrides.disabled_tensor_function

    @staticmethod
    def __new__(cls, func, args, kwargs, form):
        made = torch.Tensor._make_wrapper_subclass(
            cls, form.shape, form.stride(), dtype=form.dtype, device="cpu"
        )
        made.call, made.form, made.value = (func, args, kwargs), form, None
        return made

    def __init__(self, *args):
        pass

    @classmethod
    def of(cls, x):
        """A lazy tensor of a value that is there."""
        made = cls(None, (), {}, x.to("meta"))
        made.value = x
        return made

    def compute(self):
        """The value, computed once."""
        if self.value is None:
            func, args, kwargs = self.call
            args, kwargs = tree_map_only(LazyTensor, LazyTensor.compute, (args, kwargs))
            self.value = func(*args, **kwargs)
        return self.value

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.is_mutable or func is torch.ops.aten.item.default:
            args, kwargs = tree_map_only(cls, cls.compute, (args, kwargs))
            return func(*args, **kwargs)
        forms, named = tree_map_only(cls, lambda x: x.form, (args, kwargs))
        forms, named = tree_map_only(torch.Tensor, lambda x: x.to("meta"), (forms, named))
        return cls(func, args, kwargs, func(*forms, **named))

    def __repr__(self):
        return f"LazyTensor({self.call[0] or 'a value'}, shape={tuple(self.shape)})"


if __name__ == "__main__":
    x = LazyTensor.of(torch.ones(1000, 1000))
    y = (x @ x).exp()  # would be inf, and isn't computed
    z = (x * 2).sum()
    print(y, z, z.compute(), sep="\n")
