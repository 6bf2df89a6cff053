"""What a save or a load raises."""

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


__getattr__ = _missing.refusing(__name__)
