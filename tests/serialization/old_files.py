"""Files written by earlier versions, which every later one must read.

`python -m tests.serialization.old_files` adds those of this version: a folder files/VERSION with files, and beside each
what it held, as text.
"""

import pickle
import sys
from pathlib import Path

import tensorlab
from tensorlab import nn

from .examples import containers, shown, states, tensors

FOLDER = Path(__file__).parent / "files"


def saved():
    """Return what `save` writes, by name."""
    made = {"tensors": tensors(tensorlab), "states": states(tensorlab)}
    made["containers"] = containers(tensorlab)
    del made["containers"]["long text"]
    base = tensorlab.arange(6.0)
    made["shared"] = [base, base[2:], base.view(2, 3).t()]
    return made


def pickled():
    """Return what `pickle` writes, by name."""
    tensorlab.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten())
    random = tensorlab.Generator().manual_seed(5)
    return {"model": model, "tensors": tensors(tensorlab), "generator": random.get_state()}


def text_of(value):
    """Say all that a program can see of what a file holds."""
    if isinstance(value, nn.Module):
        return repr((repr(value), shown(value.state_dict())))
    return repr(shown(value))


def load(path):
    """Read a file of an earlier version."""
    if path.suffix == ".pickle":
        return pickle.loads(path.read_bytes())
    # objects of other classes than tensors, numbers and containers of Python are not in these files
    return tensorlab.load(path)


def main():
    folder = FOLDER / tensorlab.__version__
    folder.mkdir(parents=True)  # an error if it is there: what a version wrote stays
    for name, value in saved().items():
        tensorlab.save(value, folder / f"{name}.pt")
    for name, value in pickled().items():
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(value))
    for path in sorted(folder.iterdir()):
        path.with_suffix(path.suffix + ".txt").write_text(text_of(load(path)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
