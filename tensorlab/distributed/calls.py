"""Call: what one rank asks of the others, as the layers below the public functions see it.

Every collective and every message of a process group is a `Call`. It names the tensors that are
read and those that are written, which are contiguous by now, and it can say in words what it
is: in the flight recorder, and in the errors that list what each rank called.
"""

import dataclasses
import time
from collections.abc import Callable
from typing import Any

KINDS = (
    "all_reduce",  # inputs [x], outputs [x]: the same tensor
    "broadcast",  # outputs [x]; at the root it's also what is sent
    "reduce",  # inputs [x], outputs [x]: the same tensor, written at the root alone
    "all_gather",  # inputs [x], outputs one tensor for each rank
    "gather",  # inputs [x], outputs one for each rank, at the root alone
    "scatter",  # inputs one for each rank, at the root alone; outputs [x]
    "reduce_scatter",  # inputs one for each rank, outputs [x]
    "all_to_all",  # inputs one for each rank, outputs one for each rank
    "barrier",
    "send",  # inputs [x] to the rank `root`
    "recv",  # outputs [x] from the rank `root`, or from anyone where that's None
)


@dataclasses.dataclass(eq=False, slots=True)
class Call:
    """One call of a collective, or one message, at one rank.

    Attributes
    ----------
    kind : str, one of KINDS
    inputs, outputs : list of contiguous tensors, read and written
    group : str, the name of the process group
    number : int, which call of its group this is; messages are counted apart
    op, factor : ReduceOp.RedOpType and the factor of PREMUL_SUM, or None
    root : int or None, a rank in the group: the root, or the other end of a message
    tag : int, of a message
    agreed : str, what all ranks of the group must have in common, in words
    timeout : float, seconds until a wait ends with an error
    finish : function or None, what remains to do when the outputs are there, such as a copy to
        a tensor with strides
    begun, ended : float or None, seconds of time.monotonic
    state : "waiting", "done" or "failed"
    """

    kind: str
    inputs: list
    outputs: list
    group: str
    number: int
    op: Any = None
    factor: Any = None
    root: int | None = None
    tag: int = 0
    agreed: str = ""
    timeout: float = 1800.0
    finish: Callable | None = None
    begun: float = dataclasses.field(default_factory=time.monotonic)
    ended: float | None = None
    state: str = "waiting"

    def __str__(self):
        return f"call {self.number} of group {self.group!r}, {self.what()}"

    def what(self):
        """Return what is called, in words, such as "all_reduce(SUM) of float32 [3, 4]"."""
        return self.agreed or self.kind
