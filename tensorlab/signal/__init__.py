"""Signals: windows for transforms and filters."""

from tensorlab import _missing
from tensorlab.signal import windows

__all__ = ["windows"]

__getattr__ = _missing.refusing(__name__)
