"""What of a tensor survives a copy, a deep copy and a pickle: as in PyTorch."""

import copy
import pickle

import pytest

import tensorlab
from tests.oracle import require_torch


class Tagged(tensorlab.Tensor):
    """At the top of the file, where pickle finds it."""


def torch_tagged():
    """The same class over PyTorch's Tensor, where pickle finds it, too."""
    torch = require_torch()
    if "TorchTagged" not in globals():
        globals()["TorchTagged"] = type("TorchTagged", (torch.Tensor,), {"__module__": __name__})
    return globals()["TorchTagged"]


def leaf(library):
    x = library.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    with library.no_grad():
        for _ in range(3):
            x.add_(1)
    return x


def computed(library):
    return library.ones(3, requires_grad=True) * 2


def view(library):
    return library.arange(6)[1::2]


def parameter(library):
    x = library.nn.Parameter(library.ones(3), requires_grad=False)
    x.add_(1)
    return x


def subclass(library):
    cls = Tagged if library is tensorlab else torch_tagged()
    return library.arange(6.0)[2:].as_subclass(cls)


def inference(library):
    with library.inference_mode():
        return library.ones(2)


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "pickle 2": lambda x: pickle.loads(pickle.dumps(x, protocol=2)),
}


def outcome(library, make, copied):
    x = make(library)
    x.tag = "mine"
    try:
        y = copied(x)
    except (RuntimeError, TypeError) as error:
        return "refused", isinstance(error, RuntimeError)
    kind = type(y).__name__.replace("TorchTagged", "Tagged")
    grad = None if y.grad is None else y.grad.tolist()
    version = None if y.is_inference() else y._version
    return (
        *(kind, y.tolist(), getattr(y, "tag", None), y.requires_grad, y.is_leaf, grad, version),
        *(y.data_ptr() == x.data_ptr(), y.stride(), y.storage_offset(), y.is_inference()),
    )


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("make", [leaf, computed, view, parameter, subclass, inference])
def test_copies_keep_what_they_do_in_pytorch(make, name):
    ours = outcome(tensorlab, make, COPIES[name])
    theirs = outcome(require_torch(), make, COPIES[name])
    if (make, name) == (parameter, "deepcopy"):  # ours keeps the attributes there, too
        assert ours[2] == "mine"
        ours, theirs = ours[:2] + ours[3:], theirs[:2] + theirs[3:]
    if (make, name) == (subclass, "deepcopy"):  # PyTorch wants a new_empty of the class
        assert theirs[0] == "refused"
        assert ours[:3] == ("Tagged", [2.0, 3.0, 4.0, 5.0], "mine")
    else:
        assert ours == theirs


def test_tensors_over_one_storage_still_share_it():
    base = tensorlab.arange(6)
    for copied in (copy.deepcopy, COPIES["pickle"]):
        first, second = copied([base[:4], base[2:]])
        first[2] = 9
        assert second.tolist() == [9, 3, 4, 5]
        assert base[2] == 2
