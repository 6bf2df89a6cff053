"""The world of a rank: which process groups there are, and which is the default one.

A process is one rank, and has one world; where ranks are threads, each thread has its own.
"""

import threading


class World:
    """The process groups of one rank.

    Attributes
    ----------
    default : ProcessGroup or None, the group of all ranks
    groups : dict of str to ProcessGroup, by name
    averaged : dict of ids to pairs of a weak reference and a version: gradients that are
        averages
    made : dict of str to int, how many groups of the same ranks have been made
    """

    def __init__(self):
        self.default = None
        self.groups = {}
        self.made = {}
        self.averaged = {}


OF_PROCESS = World()
OF_THREAD = threading.local()


def current():
    """Return the world of the rank that asks."""
    return getattr(OF_THREAD, "world", OF_PROCESS)


def place_of_thread():
    """Return the house and the rank of a thread that `threads.spawn` has started, or None."""
    return getattr(OF_THREAD, "place", None)
