"""The refusal of a part of the compiler: the call is right, but it has to run op by op."""


class CannotCompile(Exception):
    """A recorded call that can't be made a plan. The frontend then runs the calls of its ops one by one.

    Parameters
    ----------
    reason : str, a sentence that a user understands
    node : Node of the recorded graph that it is about, or None
    """

    def __init__(self, reason, node=None):
        self.reason = reason
        self.where = None if node is None else node.meta.get("stack_trace")
        what = "" if node is None else f"{getattr(node.target, 'name', node.target)}: "
        super().__init__(f"{what}{reason}" + (f" ({self.where})" if self.where else ""))


class LostHistory(CannotCompile):
    """The graph computes the right values, but its ops don't have the history that the program had.

    So its gradients would be wrong, even op by op: where gradients are wanted, the Python itself has
    to run.
    """
