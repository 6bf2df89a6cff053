"""python -m tensorlab: the command line."""

import sys

from tensorlab.cli import main

sys.exit(main())
