"""`python -m tensorlab.distributed.run`."""

import sys

from tensorlab.distributed.run import main

if __name__ == "__main__":
    sys.exit(main())
