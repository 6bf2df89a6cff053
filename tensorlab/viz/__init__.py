"""Pictures of live objects, as text and as SVG: what the book's figures are drawn with."""

from .picture import Picture
from .strides import strides

__all__ = ["Picture", "strides"]
