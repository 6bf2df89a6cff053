"""What the nodes of a graph have saved for backward: which tensors, how large, at which version.

A saved tensor is read as anyone may read it, through `node._saved_self`, `node._saved_other` and so
on, or `saved_tensors` of a custom function.  If that raises because the tensor has been
written to, the message has both versions.  What a hook has packed is not unpacked for a picture.
"""

import re
from dataclasses import dataclass

from .layered import Row

__all__ = ["read_saved", "total"]

STALE = re.compile(r"at version (\d+)\D+(?:saved at|expected version) (\d+)")


@dataclass
class Saved:
    """One tensor that a node keeps."""

    argument: str  # what the derivative calls it
    about: str  # whose it is, and its shape; or why nothing is known of it
    bytes: int = 0
    version: int | None = None  # when it was saved
    now: int | None = None
    storage: tuple = ()  # address and bytes of its memory

    @property
    def is_stale(self):
        return self.version != self.now

    def row(self):
        """Return the line in the node's box: the version stands in a square of its own."""
        text = ", ".join(filter(None, [self.about, f"{self.bytes} B" if self.bytes else ""]))
        text += f", now {self.now}" if self.is_stale else ""
        return Row(f"{self.argument}: {text}", self.version, self.is_stale, str(self))

    def __str__(self):
        parts = [self.about, f"{self.bytes} bytes" if self.bytes else ""]
        if self.version is not None:
            parts.append(f"version {self.version}")
        if self.is_stale:
            parts.append(f"now {self.now}: stale")
        verb = "" if self.argument == "saved" else "saves "
        return f"{verb}{self.argument}: {', '.join(filter(None, parts))}"


def read_saved(node, called):
    """Return what a node has saved.

    Parameters
    ----------
    called : function of a Tensor that returns its name in the picture, or an empty string
    """
    found = []
    attributes = sorted(
        dir(node), key=lambda name: name != "_saved_self"
    )  # the first operand first
    for attribute in attributes:
        if not attribute.startswith("_saved_") and attribute != "saved_tensors":
            continue
        argument = attribute.removeprefix("_saved_").removeprefix("saved_")
        raw = getattr(node, "_raw" + attribute, None) if "_raw" + attribute in attributes else None
        if getattr(raw, "unpack_hook", None) is not None:
            found.append(Saved(argument, "packed by a hook"))
            continue
        try:
            value = getattr(node, attribute)
        except RuntimeError as error:
            versions = STALE.search(str(error))
            if versions is None:
                return [Saved("saved", "freed")]
            found.append(stale(argument, versions, getattr(raw, "data", None), called))
            continue
        several = isinstance(value, (tuple, list))
        for i, tensor in enumerate(value if several else [value]):
            if hasattr(tensor, "grad_fn"):
                name = f"{argument}[{i}]" if several else argument
                found.append(facts(name, tensor, called, is_result=tensor.grad_fn is node))
    return found


def facts(argument, tensor, called, is_result=False):
    """Return what there is to say of a saved tensor at its present version."""
    name = "" if is_result else called(tensor)
    memory = tensor.untyped_storage()
    address = tensor._storage_address if hasattr(tensor, "_storage_address") else memory.data_ptr
    return Saved(
        argument,
        f"{name} {shape_text(tensor)}".strip(),
        tensor.numel() * tensor.element_size(),
        tensor._version,
        tensor._version,
        (address(), memory.nbytes()),
    )


def stale(argument, versions, tensor, called):
    """Return what is known of a saved tensor that backward would refuse."""
    found = Saved(argument, "") if tensor is None else facts(argument, tensor, called)
    found.now, found.version = map(int, versions.groups())
    return found


def shape_text(tensor):
    return str(tuple(tensor.shape))


def total(saved):
    """Return in words how much memory some saved tensors keep."""
    readable = [one.storage for one in saved if one.storage]
    storages = dict(readable)
    text = (
        f"saved: {counted(len(readable), 'tensor')} in {counted(len(storages), 'storage')} "
        f"of {sum(storages.values())} bytes"
    )
    others = len(saved) - len(readable)
    return text + (f", and {others} that cannot be read" if others else "")


def counted(n, noun):
    return f"{n} {noun}{'s' * (n != 1)}"
