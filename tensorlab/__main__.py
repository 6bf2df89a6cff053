"""python -m tensorlab: the command line."""

import sys

from tensorlab_command import main

if __name__ == "__main__":
    sys.exit(main())
