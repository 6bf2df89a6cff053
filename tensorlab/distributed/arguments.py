"""What collectives and messages check of their arguments, and how they say what they were given."""

import warnings

from tensorlab._tensor import Tensor
from tensorlab.distributed.membership import get_group_rank, is_member
from tensorlab.errors import DeviceError, DTypeError, ShapeError


def outside(group, where):
    """Return whether this rank isn't in the group it was given, with a warning."""
    if is_member(group):
        return False
    warnings.warn(f"{where}: this rank is not in the group that it was given; nothing is done",
                  stacklevel=3)  # fmt: skip
    return True


def check_tensor(x, where, name="tensor"):
    """Raise an error for what is no tensor with memory that ranks can exchange."""
    if not isinstance(x, Tensor):
        raise TypeError(
            f"{where}: Invalid function argument. Expected parameter `{name}` of type Tensor, "
            f"but got {type(x).__name__} instead."
        )
    if x.device.type != "cpu":
        raise DeviceError(f"{where}: {name} is on {x.device}; ranks exchange tensors on the cpu")


def check_list(tensors, size, where, name):
    """Raise an error unless there is one tensor for each rank, all of one dtype."""
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(
            f"{where}: {name} is a {type(tensors).__name__}; expected a list of tensors"
        )
    for place, x in enumerate(tensors):
        check_tensor(x, where, f"{name}[{place}]")
    if len(tensors) != size:
        raise ValueError(f"{where}: {name} has {len(tensors)} tensors, and the group {size} ranks; "
                         f"give one for each rank")  # fmt: skip


def check_same_dtype(where, x, others):
    for other in others:
        if other.dtype != x.dtype:
            raise DTypeError(
                f"{where}: the tensors are {x.dtype} and {other.dtype}; values are exchanged "
                "as they are, so all must have one dtype: convert before"
            )


def check_numel(where, x, expected, name):
    if x.numel() != expected:
        raise ShapeError(f"{where}: {name} has {x.numel()} elements; expected {expected}")


def of(x):
    """Return dtype and shape in words."""
    return f"of {str(x.dtype).removeprefix('tensorlab.')} {list(x.shape)}"


def root_of(group, root, group_root, where, name):
    """Return the root's place in the group; it is given as a rank of the world or of the group."""
    if (root is None) == (group_root is None):
        raise ValueError(f"{where}: Must specify {name} or group_{name}, and not both")
    if group_root is None:
        return get_group_rank(group, root)
    if not 0 <= group_root < group.size():
        raise ValueError(
            f"{where}: group_{name} is {group_root}; the group has {group.size()} ranks"
        )
    return group_root


def pieces(x, size):
    """Cut the elements of a tensor into equal flat parts, and say how they get back into it."""
    flat = x.detach().contiguous().view(-1)
    parts = list(flat.view(size, -1).unbind(0)) if flat.numel() else [flat] * size
    if x.is_contiguous():
        return parts, {}
    return parts, {"finish": lambda: x.detach().copy_(flat.view(x.shape))}


def split_sizes(x, sizes, ranks, where, name):
    """Cut a tensor along its first dim into one part for each rank."""
    if not sizes:
        if x.dim() == 0 or x.shape[0] % ranks:
            raise ValueError(f"{where}: {name} of shape {list(x.shape)} can't be cut into {ranks} equal "
                             f"parts; give {name}_split_sizes")  # fmt: skip
        sizes = [x.shape[0] // ranks] * ranks
    if len(sizes) != ranks or sum(sizes) != x.shape[0]:
        raise ValueError(
            f"{where}: {name}_split_sizes is {list(sizes)}; expected {ranks} numbers whose sum "
            f"is the first dim of {name}, {x.shape[0]}"
        )
    return list(x.split(list(sizes)))
