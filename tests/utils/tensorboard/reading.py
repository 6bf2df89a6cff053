"""Event files as TensorBoard itself reads them."""

import pathlib

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

ALL = dict.fromkeys(
    ["compressedHistograms", "images", "audio", "scalars", "histograms", "tensors"], 0
)


def read(folder):
    """Return TensorBoard's accumulator over a folder, with everything loaded."""
    return EventAccumulator(str(folder), size_guidance=ALL).Reload()


def files(folder):
    """Return the event files right in a folder, by name."""
    return sorted(pathlib.Path(folder).glob("events.out.tfevents.*"))


def events(folder):
    """Return the events in a folder's files as TensorBoard's messages, without those that begin a file."""
    found = []
    for path in files(folder):
        for record in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(record)
            if not event.file_version:
                found.append(event)
    return found


def values(folder):
    """Return the values of the summaries in a folder."""
    return [value for event in events(folder) for value in event.summary.value]
