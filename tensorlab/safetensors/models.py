"""save_model and load_model: modules whose parameters share memory, of which a file holds one each."""

from ..errors import MemoryLayoutError
from .loading import load_file
from .saving import groups_that_share, region, save_file

__all__ = ["load_model", "save_model"]


def save_model(model, filename, metadata=None, force_contiguous=True):
    """Save the state of a module; of tensors that share memory, one.

    Parameters
    ----------
    model : Module
    filename : str or path
    metadata : dict from str to str. Each name that is left out is added, with the name that is
        in the file instead
    force_contiguous : bool, whether tensors that are not contiguous are saved as contiguous ones

    Raises
    ------
    MemoryLayoutError
        If tensors share memory and none covers what all the others see.
    ValueError
        If a tensor is not contiguous, and `force_contiguous` is False.
    OSError
        If it can't be written. A file that was there before is then still there, as it was.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> from tensorlab import nn
    >>> from tensorlab.safetensors import load_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.safetensors")
    ...     save_model(nn.Linear(2, 1), path)
    ...     print(list(load_file(path)))
    ['bias', 'weight']
    """
    state, metadata = dict(model.state_dict()), metadata and dict(metadata)
    for name, kept in names_to_leave_out(state, "save_model").items():
        metadata = metadata or {}
        metadata.setdefault(name, kept)
        del state[name]
    if force_contiguous:
        state = {name: x.contiguous() for name, x in state.items()}
    save_file(state, filename, metadata)


def load_model(model, filename, strict=True, device="cpu", *, backend="mmap"):
    """Load what `save_model` has saved into a module.

    Parameters
    ----------
    model : Module with the same parameters, shared in the same way
    filename : str or path
    strict : bool, whether names that are missing in the file, or that the module does not have,
        are an error
    device, backend : as in `load_file`

    Returns
    -------
    two lists of str: names that are missing in the file, and names that the module does not have

    Raises
    ------
    RuntimeError
        If there are such names and `strict` is True, or if a shape is another.
    FileFormatError
        If the file is damaged.

    Examples
    --------
    >>> import pathlib
    >>> import tempfile
    >>> from tensorlab import nn
    >>> net, other = nn.Linear(2, 1), nn.Linear(2, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "model.safetensors")
    ...     save_model(net, path)
    ...     missing, unexpected = load_model(other, path)
    ...
    >>> bool((other.weight == net.weight).all())
    True
    """
    found = load_file(filename, device, backend=backend)
    left_out = names_to_leave_out(model.state_dict(), "load_model", preferred=found)
    missing, unexpected = model.load_state_dict(found, strict=False)
    # What shares memory with a tensor in the file has got its values with it.
    unexpected = sorted({*unexpected, *(left_out.keys() - set(missing))})
    missing = sorted(set(missing) - left_out.keys())
    if strict and (missing or unexpected):
        lines = [f"load_model: {filename} does not fit {type(model).__name__}."]
        if missing:
            lines.append(f"Missing in the file: {', '.join(map(repr, missing))}.")
        if unexpected:
            lines.append(f"Unexpected in the file: {', '.join(map(repr, unexpected))}.")
        raise RuntimeError(" ".join([*lines, "strict=False loads the rest"]))
    return missing, unexpected


def names_to_leave_out(state, what, preferred=()):
    """Return {name: the name that is saved in its place} for tensors that share memory.

    The first name of those that cover all memory of their group stays, and rather one that is in `preferred`.
    """
    left_out = {}
    for group in groups_that_share(state):
        regions = [region(name, state[name]) for name in group]
        start, stop = min(one.start for one in regions), max(one.stop for one in regions)
        covering = sorted(one.name for one in regions if (one.start, one.stop) == (start, stop))
        if not covering:
            raise MemoryLayoutError(
                f"{what}: {', '.join(map(repr, sorted(group)))} share memory, and none covers"
                " what all the others see, so none can stand for them; clone() them before"
            )
        kept = next((name for name in covering if name in preferred), covering[0])
        left_out |= {name: kept for name in sorted(group) if name != kept}
    return left_out
