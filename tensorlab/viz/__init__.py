"""Pictures of live objects, as text and as SVG: what the book's figures are drawn with."""

from .backward import Backward
from .copies import Copies
from .graph import graph
from .histories import Histories
from .image import Image, image
from .memory import memory
from .picture import Picture
from .program import program
from .storage import storage
from .strides import strides
from .timeline import calls, timeline
from .versions import Versions

__all__ = [
    "Backward",
    "Copies",
    "Histories",
    "Image",
    "Picture",
    "Versions",
    "calls",
    "graph",
    "image",
    "memory",
    "program",
    "storage",
    "strides",
    "timeline",
]
