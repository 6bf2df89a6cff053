"""What a save or a load raises."""

import pickle

from tensorlab import _missing
from tensorlab.errors import DistError

__all__ = ["CheckpointException"]


class CheckpointException(DistError):
    """Saving or loading failed at some rank; nothing that was saved before is lost.

    Attributes
    ----------
    failures : dict of int to Exception, by rank
    """

    def __init__(self, msg, failures):
        self.failures = failures
        lines = [f"  rank {rank}: {type(e).__name__}: {e}" for rank, e in sorted(failures.items())]
        super().__init__("\n".join([msg, *lines]))

    def __reduce__(self):
        return type(self), (str(self.args[0]).splitlines()[0], self.failures)


def sendable(error):
    """Return an error that can be sent to other ranks: itself, or a RuntimeError with its text.

    An error of a local class can't be pickled, and one whose class takes several arguments often
    can't be made again.
    """
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


__getattr__ = _missing.refusing(__name__)
