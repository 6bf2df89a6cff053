"""Logs that TensorBoard shows: SummaryWriter, with PyTorch's methods, over the library tensorboardX.

    from tensorlab.utils.tensorboard import SummaryWriter

    with SummaryWriter("runs/first") as writer:
        writer.add_scalar("loss", loss, step)

writer.py       SummaryWriter: what is called, and into which file it goes
event_file.py   FileWriter: events into a file
summaries.py    numbers, histograms, text, curves, meshes, hyperparameters
media.py        images, figures, video, sound
projector.py    the files of add_embedding
model_graph.py  a module, drawn from the ops that it calls
arrays.py       tensors, numbers and lists as arrays
protos.py       the messages of tensorboardX

It comes with `pip install "tensorlab-book[tensorboard]"`; TensorBoard itself, which shows the
logs, is a program of its own: `pip install tensorboard`, then `tensorboard --logdir runs`.
"""

from ... import _missing
from .event_file import FileWriter
from .writer import SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]


def __getattr__(name):
    raise _missing.refuse(__name__, name)
