"""How tensors get to another process: their memory is shared, and only a descriptor is sent.

`multiprocessing` pickles what goes through its queues and pipes, and the arguments of a process that is not forked. In
these pickles a storage is the descriptor of its memory, which is moved into shared memory first if it was not there:

    q.put(x)     x moves into a file in memory; the pickle says "descriptor 7, 4 MB, shape (1000, 1000)"
    y = q.get()  maps the same file: y[0, 0] = 1 is seen in x

A batch on its way from a worker to its DataLoader goes another way (utils/data/segments.py).
"""

from multiprocessing import reduction

from tensorlab import _missing

from .._core.interop.memory_file import CAN_SHARE, MemoryFile
from .._core.storage import Storage
from .._tensor import Tensor
from ..errors import GradientError
from ..ops.pickling import reduce_storage
from ..ops.sharing import share_storage, storage_over

__all__ = ["init_reductions"]


def refuse_graph(tensor):
    """Raise GradientError if a tensor was computed from others that require grad."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise GradientError(
            "a tensor that was computed from others with requires_grad can't be sent to another process, for its "
            "graph stays here; detach() it first"
        )


def reduce_tensor(tensor):
    refuse_graph(tensor)
    if not tensor.is_meta:
        tensor.share_memory_()  # before its storage is asked for: with one user the move is quicker
    return tensor.__reduce_ex__(2)


def reduce_shared(storage):
    """Take a storage apart: the descriptor of its memory, and its size."""
    if storage.is_meta or not len(storage):
        return reduce_storage(storage)
    file = share_storage(storage)
    return rebuild_shared, (reduction.DupFd(file.descriptor), len(storage))


def rebuild_shared(descriptor, size):
    return storage_over(MemoryFile.over(descriptor.detach()), size)


def init_reductions():
    """Tell `multiprocessing` of the above; `import tensorlab` does it.

    Where descriptors can't be sent, memory is copied.
    """
    if CAN_SHARE:
        reduction.ForkingPickler.register(Tensor, reduce_tensor)
        reduction.ForkingPickler.register(Storage, reduce_shared)


__getattr__ = _missing.refusing(__name__)
