"""Backend: what carries the calls of a group from rank to rank.

A backend knows nothing of autograd, strides or groups within groups: it gets a `Call` whose
tensors are contiguous, and has to bring their values to where the call's kind says. Calls of a
group begin in the same order at all ranks, and may be running at the same time; messages find
each other by their ends and their tag.

Two stand here: `threads`, for ranks that are threads of one process, and `mpi`, for processes.
"""


class Transport:
    """The base of all backends: one rank's end of a group.

    Attributes
    ----------
    name : str, such as "mpi"
    rank : int, this rank's place in the group
    size : int, how many ranks the group has
    """

    name = "abstract"

    def __init__(self, rank, size):
        self.rank, self.size = rank, size

    def start(self, call):
        """Begin a call and return its Work, without waiting for the other ranks.

        Parameters
        ----------
        call : Call, whose `root` is a rank of this group
        """
        raise NotImplementedError

    def run(self, call):
        """Begin a call and wait for its end; a backend that can do this with less overrides it."""
        work = self.start(call)
        work.wait()
        return work

    def split(self, members, name):
        """Return this rank's end of a group of some of the ranks.

        Only the members call it, all with the same list, which has an order.

        Parameters
        ----------
        members : tuple of int, ranks of this group
        name : str, the name of the new group, the same at all its ranks
        """
        raise NotImplementedError

    def standing(self):
        """Return where each rank of this group stands, as a dict of rank to words."""
        raise NotImplementedError

    def close(self):
        """Give up the group; calls that still wait fail."""
