"""What a recorded function has done to tensors, besides calling ops: what a replay can do again, and what it can't.

A graph of ops says which values there are in the end. It does not say what else a program can
see of a tensor: its history, hooks and attributes, the class and the mode in which it was made.
Where these do not follow from the ops, the call can't be replayed.
"""

from tensorlab._core.dispatch.recording import has_released
from tensorlab._core.engine.function import FunctionNode
from tensorlab._tensor import Tensor

from .call_recorder import tensors_in
from .tensor_state import history_of, memory_layout_of, storage_of
from .trace import CannotTrace
from .tracked_kinds import TrackedTensor

__all__ = ["TensorEffects"]


class TensorEffects:
    """The tensors of a recorded call.

    Parameters
    ----------
    state : OuterState, after the call
    calls : list of RecordedCall
    result : what the function returned
    """

    def __init__(self, state, calls, result):
        self.state, self.calls = state, calls
        self.outside = [one for one in state.objects.values() if isinstance(one, TrackedTensor)]
        self.returned = list(tensors_in(result))
        self.made = [x for x in self.returned if id(x) not in state.objects]

    def changed_gradients(self):
        """[(tensor from outside, its new gradient or None)], for those that have another one than before.

        Refuses what else can have been done to such a tensor: its values are the only other
        thing that may change.
        """
        found = []
        for tracked in self.outside:
            x, text = tracked.value, tracked.source.text
            (wants, node, gradient, base_node, hooks), layout, _ = tracked.snapshot
            wants_now, node_now, gradient_now, base_node_now, hooks_now = history_of(x)
            if (wants, node, base_node, hooks) != (wants_now, node_now, base_node_now, hooks_now):
                raise CannotTrace(
                    f"changes what autograd knows of {text}, which comes from outside"
                )
            if layout != memory_layout_of(x):
                raise CannotTrace(
                    f"gives {text} other memory or another layout, and it comes from outside"
                )
            if gradient is not gradient_now:
                found.append((x, gradient_now))
        return found

    def check_made(self, inference):
        """Refuse what a replay would not make: tensors with attributes, of another class, or of another mode."""
        outside = {id(storage_of(tracked.value)) for tracked in self.outside}
        for x in self.made:
            if type(x) is not Tensor:
                raise CannotTrace(f"returns a {type(x).__name__} that it makes")
            if x.__dict__:
                raise CannotTrace(f"sets attributes of what it returns: {', '.join(x.__dict__)}")
            if id(storage_of(x)) not in outside and x.is_inference() != inference:
                raise CannotTrace("returns a tensor that it makes in another inference mode")

    def check_histories(self, grad_enabled):
        """Refuse results whose gradients do not follow from the calls of ops.

        Returns whether backward has been through every history: then it can't run again, and no
        replay has to make one.
        """
        wanted = [x for x in self.made if x.requires_grad]
        if wanted and self.makes_leaves():
            raise CannotTrace(
                "makes a tensor that requires grad, and returns a tensor that requires grad"
            )
        if not grad_enabled and any(history_of(x)[1] is not None for x in wanted):
            raise CannotTrace("enables grad mode, and returns a tensor with a history")
        known = {id(history[1]) for history, *_ in (one.snapshot for one in self.outside)}
        is_spent = [self.is_spent(x, set(known)) for x in wanted]
        has_hooks = any(history[4] for history, *_ in (one.snapshot for one in self.outside))
        if has_hooks and self.state.names & {"backward", "grad"}:
            raise CannotTrace("may run backward to a tensor that has hooks")
        return bool(wanted) and all(is_spent)

    def makes_leaves(self):
        return any(
            history_of(x)[0] and id(x) not in self.state.objects
            for call in self.calls
            for x in tensors_in(call.result)
        )

    def is_spent(self, x, seen):
        """Whether backward has been through the history of a result; refuses a history that ops did not make."""
        waiting, is_spent = [history_of(x)[1]], False
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            is_spent |= has_released(node)
            if isinstance(node, FunctionNode) and not is_of_op(node):
                raise CannotTrace(
                    "returns the result of an autograd.Function, whose backward is Python"
                )
            waiting += [edge[0] for edge in node.next_functions]
        return is_spent

    def share_memory(self, inputs):
        """Whether it matters which inputs share memory: an op writes, or a result lies in the memory of an input."""
        if any(call.op.writes for call in self.calls):
            return True
        storages = {id(storage_of(x)) for x in inputs}
        return any(id(storage_of(x)) in storages for x in self.returned)


def is_of_op(node):
    """Whether a Function's node is that of a program's op (library/), which is traced on meta as other ops are."""
    return getattr(type(node)._function, "records_op", False)
