"""The launcher: starts a program once for each rank, and ends all ranks if one fails.

`python -m tensorlab.distributed.run` and `tensorlab run` take torchrun's options:

    tensorlab run --nproc-per-node=2 train.py --epochs 3

Each rank finds its number in RANK, and init_process_group everything that it needs. A machine
has one launcher; several of them meet at --master-addr or --rdzv-endpoint.
"""

import sys

from tensorlab import _missing
from tensorlab.errors import DistError

from . import nodes, options
from .attempts import run

__all__ = ["main"]


def main(arguments=None):
    """Start the ranks that the arguments ask for; return the exit code.

    It is 0 if all ranks ended well, 1 if one failed, 2 if the arguments make no sense, and 128
    and the signal's number if a signal ended the launcher.
    """
    given = options.parse(sys.argv[1:] if arguments is None else arguments)
    try:
        node = nodes.join(given)
    except (DistError, ValueError) as error:
        print(f"tensorlab run: {error}", file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    with node:
        return run(given, node)


__getattr__ = _missing.refusing(__name__)
