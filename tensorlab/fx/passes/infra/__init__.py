"""What passes have in common."""

from tensorlab import _missing

__getattr__ = _missing.refusing(__name__)
