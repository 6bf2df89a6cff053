"""`python -m tensorlab.distributed.launch`, the older name of the launcher `run`."""

import sys

from tensorlab.distributed.run import main

if __name__ == "__main__":
    sys.exit(main())
