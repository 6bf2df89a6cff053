"""`python -m tensorlab.distributed.launch`, the older name of the launcher `run`."""

import sys

from tensorlab import _missing
from tensorlab.distributed.run import main

__all__ = ["main"]

__getattr__ = _missing.refusing(__name__)

if __name__ == "__main__":
    sys.exit(main())
