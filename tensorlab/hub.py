"""Models from a folder that says how to make them, in a file `hubconf.py`: PyTorch's hub without the network.

    dependencies = ["numpy"]                  modules that must be installed

    def small(width=8):                       an entry: any function whose name has no underscore in front
        \"\"\"A small model.\"\"\"
        return nn.Linear(width, 2)

Importing the file runs it, so use folders that you trust.
"""

import contextlib
import importlib.util
import os
import sys

from tensorlab import _missing

__all__ = ["help", "list", "load"]

FILE = "hubconf.py"


def load(
    repo_or_dir,
    model,
    *args,
    source="github",
    trust_repo=None,
    force_reload=False,
    verbose=True,
    skip_validation=False,
    **kwargs,
):
    """Call an entry of a folder's `hubconf.py`.

    Parameters
    ----------
    repo_or_dir : path of the folder
    model : str, the name of the entry
    *args, **kwargs : what the entry is called with
    source : must be "local"; nothing is downloaded
    trust_repo, force_reload, verbose, skip_validation : accepted for PyTorch's sake; they are
        about downloads

    Returns
    -------
    what the entry returns, a model by custom

    Raises
    ------
    ValueError
        If `source` is neither "github" nor "local".
    NotImplementedError
        If it is "github".
    FileNotFoundError
        If the folder has no `hubconf.py`.
    RuntimeError
        If it has no such entry, or a dependency is missing.
    """
    source = source.lower()
    if source not in ("github", "local"):
        raise ValueError(
            f"hub.load: source is {source!r}; expected 'local' (or 'github', in PyTorch)"
        )
    if source == "github":
        raise NotImplementedError(
            f"hub.load: {repo_or_dir!r} would be downloaded, and nothing is here; clone it, then give the folder and "
            "source='local'"
        )
    with beside(repo_or_dir):
        return find_entry(import_file(repo_or_dir), model)(*args, **kwargs)


def list(github, force_reload=False, skip_validation=False, trust_repo=None, verbose=True):
    """Return the names of a folder's entries, sorted; the options are about downloads."""
    module = import_file(github)
    return sorted(
        name for name, value in vars(module).items() if callable(value) and not name.startswith("_")
    )


def help(github, model, force_reload=False, skip_validation=False, trust_repo=None):
    """Return the docstring of an entry; the options are about downloads."""
    return find_entry(import_file(github), model).__doc__


@contextlib.contextmanager
def beside(folder):
    """Let imports find what lies in a folder."""
    path = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    sys.path.insert(0, path)
    try:
        yield path
    finally:
        sys.path.remove(path)


def import_file(folder):
    """Run a folder's `hubconf.py` and return it as a module; it may import what lies beside it."""
    with beside(folder) as path:
        path = os.path.join(path, FILE)
        if not os.path.isfile(path):
            raise FileNotFoundError(
                f"hub: {os.fspath(folder)!r} has no {FILE}; expected a local folder that has one, as nothing is "
                "downloaded"
            )
        specification = importlib.util.spec_from_file_location("hubconf", path)
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
    missing = [
        name for name in getattr(module, "dependencies", ()) if not importlib.util.find_spec(name)
    ]
    if missing:
        raise RuntimeError(f"hub: Missing dependencies: {', '.join(missing)}; install them first")
    return module


def find_entry(module, name):
    """Return an entry of a module."""
    if not isinstance(name, str):
        raise ValueError(f"hub: the name of an entry is {name!r}; expected a str")
    entry = getattr(module, name, None)
    if not callable(entry) or name.startswith("_"):
        known = ", ".join(
            key for key, value in vars(module).items() if callable(value) and key[0] != "_"
        )
        raise RuntimeError(f"hub: Cannot find callable {name} in {FILE}; it has {known or 'none'}")
    return entry


__getattr__ = _missing.refusing(__name__)
