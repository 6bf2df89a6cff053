"""The graph as users see it: nodes and edges, hooks on several tensors, and what becomes of saved tensors."""

from collections import defaultdict
from contextlib import ContextDecorator, contextmanager

from tensorlab import _missing
from tensorlab._core.engine.autograd_fields import increment_version
from tensorlab._core.engine.backward import GradientEdge, get_gradient_edge
from tensorlab._core.engine.engine import current_task, will_run
from tensorlab._core.graph.graph import Node
from tensorlab._core.graph.saved import forbid_packing, pop_packing, push_packing

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


# ---------------------------------------------------------------- what becomes of saved tensors
class saved_tensors_hooks:
    """Within this context each tensor saved for backward is replaced by `pack_hook(tensor)` until backward needs it.

    Parameters
    ----------
    pack_hook : function of a Tensor; returns anything, and must not change the tensor
    unpack_hook : function of what pack_hook returned; returns a Tensor of the same values

    Contexts nest, and the innermost counts.  What was packed is not checked for in-place changes: if pack_hook
    returns the tensor itself, later writes to it go unnoticed; and if that is the result of the op, graph and tensor
    hold each other until Python's cycle collector finds them.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    >>> pack, unpack = lambda t: (print("saved", tuple(t.shape)), t.tolist())[1], tensorlab.tensor
    >>> with tensorlab.autograd.graph.saved_tensors_hooks(pack, unpack):
    ...     y = x.exp().sum()
    saved (2,)
    >>> y.backward()
    >>> x.grad
    tensor([2.7183, 7.3891])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        push_packing(self.pack_hook, self.unpack_hook)

    def __exit__(self, *_):
        pop_packing()


class save_on_cpu(saved_tensors_hooks):
    """Keep copies of saved tensors in the CPU's memory, and forget the tensors themselves.

    It serves programs written for other devices: here every tensor is on the CPU, so that it only adds copies.

    Parameters
    ----------
    pin_memory : bool, without effect
    device_type : str, without effect

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> with save_on_cpu():
    ...     y = x.exp()
    >>> y.sum().backward()
    """

    def __init__(self, pin_memory=False, device_type="cuda"):
        super().__init__(lambda x: (x.device, x.clone()), lambda packed: packed[1].to(packed[0]))


@contextmanager
def disable_saved_tensors_hooks(error_message):
    """Within this context, or a function so decorated, `saved_tensors_hooks` raises.

    Parameters
    ----------
    error_message : str, the message of the RuntimeError

    Examples
    --------
    >>> with disable_saved_tensors_hooks("not in here"):
    ...     with saved_tensors_hooks(lambda x: x, lambda x: x):
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: not in here
    """
    was = forbid_packing(error_message)
    try:
        yield
    finally:
        forbid_packing(was)


class allow_mutation_on_saved_tensors(saved_tensors_hooks, ContextDecorator):
    """Within this context tensors that backward needs may be changed in place: backward gets the values from before.

    It also decorates functions.  A saved tensor is kept as a lazy clone, which shares the memory until it is
    written to.  Forward, writes and backward must all run inside.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    >>> with tensorlab.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.exp()
    ...     z = y.sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2.7183, 7.3891])
    """

    def __init__(self):
        super().__init__(self._pack, self._unpack)
        self._kept = {}
        self._is_open = False

    def __enter__(self):
        if self._is_open:
            raise RuntimeError(
                "allow_mutation_on_saved_tensors: this context is open already; make a new one to nest them"
            )
        self._is_open = True
        super().__enter__()
        return self

    def __exit__(self, *_):
        super().__exit__()
        self._is_open = False
        self.clear()

    def clear(self):
        """Forget what was saved inside so far; its backward is no longer possible."""
        self._kept.clear()

    def _pack(self, x):
        key = object()
        self._kept[key] = x._lazy_clone()
        return key

    def _unpack(self, key):
        if key not in self._kept:
            raise AssertionError(
                "allow_mutation_on_saved_tensors: backward ran outside the context in which the graph was recorded, "
                "or after its clear(); run it inside"
            )
        return self._kept[key]


# ---------------------------------------------------------------- one hook for several tensors
class _Handles:
    """The handles of several hooks, removed together."""

    def __init__(self, handles):
        self.handles = tuple(handles)

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call `fn` once in each backward pass that computes gradients of some of these tensors.

    Parameters
    ----------
    tensors : sequence of Tensor that require grad; with mode "any" those that do not are left out
    fn : function; with mode "all" it gets a list with the gradient of each tensor (None where
        the pass computes none), as soon as the last of them is there; with mode "any" the first
        gradient that is there
    mode : "all" or "any"

    Returns
    -------
    handle, whose remove() takes the hook away

    Examples
    --------
    >>> import tensorlab
    >>> a, b = tensorlab.ones(2, requires_grad=True), tensorlab.ones(2, requires_grad=True)
    >>> handle = register_multi_grad_hook([a, b], lambda grads: print(grads))
    >>> (a + 2 * b).sum().backward()
    [tensor([1., 1.]), tensor([2., 2.])]
    """
    if mode not in ("all", "any"):
        raise ValueError(f"register_multi_grad_hook: mode must be 'all' or 'any', not {mode!r}")
    tensors = list(tensors)
    if mode == "any":
        last = [None]  # the pass in which fn was called last

        def arrive_first(grad):
            if last[0] != current_task():
                last[0] = current_task()
                fn(grad)

        return _Handles([x.register_hook(arrive_first) for x in tensors if x.requires_grad])
    nodes = [get_gradient_edge(x).node for x in tensors]
    arrived = defaultdict(lambda: [None] * len(tensors))  # by the number of the pass
    missing = {}

    def arrive(position, grad):
        task = current_task()
        if task not in missing:
            missing[task] = sum(map(will_run, nodes))
        arrived[task][position] = grad
        missing[task] -= 1
        if missing[task] == 0:
            del missing[task]
            fn(arrived.pop(task))

    def hook_for(position):
        return lambda grad: arrive(position, grad)

    return _Handles([x.register_hook(hook_for(i)) for i, x in enumerate(tensors)])


__getattr__ = _missing.refusing(__name__)
