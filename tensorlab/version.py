"""Which tensorlab this is, and that it was built for no accelerator."""

from tensorlab import _missing

__version__ = "0.2.0"  # pyproject.toml has it too; a test compares them
cuda = None
hip = None
xpu = None
debug = False
git_version = "Unknown"

__getattr__ = _missing.refusing(__name__)
