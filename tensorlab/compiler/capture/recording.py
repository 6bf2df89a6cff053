"""record: run a function once, really, and find out whether the same calls of ops can stand for the next run."""

import abc
import contextlib
import gc
import sys
import threading
import types

from tensorlab._core.dispatch.layers import Layer, entered_layers
from tensorlab._core.dispatch.overrides import active_modes
from tensorlab._core.dispatch.recording import has_released
from tensorlab._core.dtypes import get_default_dtype
from tensorlab._core.engine.function import FunctionNode
from tensorlab._core.graph.anomaly import is_anomaly_enabled
from tensorlab._core.interop.exchange import VALUE_READS
from tensorlab._core.state.devices import get_default_device
from tensorlab._core.state.modes import is_grad_enabled, is_inference_mode_enabled
from tensorlab._core.state.settings_number import get_settings_number
from tensorlab._tensor import Tensor
from tensorlab.nn.hooks import Hooked
from tensorlab.nn.module import Module
from tensorlab.optim.optimizer import ALL_AFTER, ALL_BEFORE
from tensorlab.random import default_generator

from .guard_check import history_of, is_packing, memory_layout_of, storage_of, writes_to
from .guards import Guards
from .observer import Observer, place_of_store, user_frame
from .outer_state import OuterState
from .sources import Source
from .trace import CannotTrace, RecordedCall, Refusal, Trace, build, layout_of, tensors_in

__all__ = ["Recording", "current", "record"]

_thread = threading.local()
OFFSET_OPS = frozenset(("as_strided", "as_strided_", "set_", "restride", "view_backward"))


def current():
    """The Recording that runs in this thread, or None."""
    return getattr(_thread, "recording", None)


class CallRecorder(Layer):
    """Writes down every call of an op, and what was true right after it."""

    def __init__(self, recording):
        super().__init__("recorder")
        self.recording = recording
        self.calls = []
        self.is_looking = True

    @contextlib.contextmanager
    def looking_away(self):
        """While it is entered, calls are not written down."""
        self.is_looking = False
        try:
            yield
        finally:
            self.is_looking = True

    def call(self, op, arguments):
        if not self.is_looking:
            return op(*arguments)
        grad_enabled = is_grad_enabled()
        observer = self.recording.observer
        observer.ignored += 1  # a first matrix product loads a library, which is no effect
        try:
            result = op(*arguments)
            self.note(op, arguments, result, grad_enabled, user_frame(sys._getframe(1)))
        except BaseException as error:
            self.recording.refuse(f"lets {op.name} raise {type(error).__name__}", sys._getframe(1))
            raise
        finally:
            observer.ignored -= 1
        return result

    def note(self, op, arguments, result, grad_enabled, frame):
        layouts = ()
        if op.name not in VALUE_READS:
            layouts = tuple(layout_of(x) for x in tensors_in(result))
            if any(x.is_meta for x in tensors_in(result)):
                self.recording.refuse(
                    "computes with tensors on meta, which have no elements", frame
                )
        if op.name == "lend":
            self.recording.refuse(f"hands the memory of a tensor out by {arguments[1]}", frame)
        place = place_of(frame)
        self.calls.append(RecordedCall(op, copied(arguments), result, layouts, grad_enabled, place))


class Recording:
    """A call that is being recorded, or was."""

    def __init__(self, function, args, kwargs):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.refusal = None
        self.state = OuterState(self.refuse)
        self.observer = Observer(self.state, self.refuse)
        self.recorder = CallRecorder(self)

    def refuse(self, reason, frame=None):
        """Note why the call can't be replayed; the first reason counts."""
        if self.refusal is None:
            frame = user_frame(sys._getframe(1) if frame is None else frame)
            self.refusal = Refusal(reason, *place_of(frame)[:2])

    def keep_constant(self, result):
        """Take the tensors of a result for constants: a replay uses these very ones."""
        for x in tensors_in(result):
            self.state.reach(x, Source.constant(x, "a constant result"))

    # ------------------------------------------------------------ the run
    def run(self):
        """Call the function; returns its result."""
        self.reach_roots()
        before = modes()
        _thread.recording = self
        try:
            with without_collections(), self.observer, self.recorder:
                result = self.function(*self.args, **self.kwargs)
        finally:
            _thread.recording = None
        if modes() != before:
            self.conclude(
                "leaves another grad mode, default dtype, mode or setting behind than it found"
            )
        self.grad_enabled, self.inference = before[:2]
        return result

    def reach_roots(self):
        self.state.reach(Tensor, Source.constant(Tensor, "Tensor"))  # the results of ops
        if isinstance(self.function, types.MethodType):
            owner = self.function.__self__
            self.state.reach(owner, Source.constant(owner, "self"))  # its name in the texts
        self.state.reach(self.function, Source.constant(self.function, name_of(self.function)))
        for index, value in enumerate(self.args):
            self.state.reach(value, Source("argument", None, index, f"args[{index}]"), False)
        keyword = Source("keyword", None, None, "kwargs")
        for name, value in self.kwargs.items():
            self.state.reach(value, keyword.entry(name), False)

    # ------------------------------------------------------------ what became of it
    def conclude(self, reason, place=None):
        """Refuse after the call; without a place it is that of the function itself."""
        codes = self.observer.code
        if place is None:
            place = (codes[0].co_filename, codes[0].co_firstlineno) if codes else ("?", 0)
        self.refusal = self.refusal or Refusal(reason, *place)

    def outcome(self, result):
        """A Trace, or a Refusal."""
        state = self.state
        if state.reads_all:
            self.observer.name_strings(None)
        for reason, names in state.changes():
            self.conclude(reason, place_of_store(self.observer.code, names))
        for reason in state.hidden_reads():
            self.conclude(reason)
        if self.refusal is None:
            try:
                return self.trace(result)
            except CannotTrace as error:
                self.conclude(str(error), error.call and error.call.place[:2])
        return self.refusal._replace(modules=self.modules())

    def modules(self):
        """The outermost modules among what the call may have used."""
        found = [thing.value for thing in self.state.things.values()]
        found = [value for value in found if isinstance(value, Module)]
        parts = {id(part) for one in found for part in one.modules() if part is not one}
        return tuple([one for one in found if id(one) not in parts])

    def trace(self, result):
        calls = self.recorder.calls
        changed = self.changed_gradients()
        graph, inputs, nodes = build(calls, result, changed, self.source_of)
        grads = [(nodes[id(x)], None if grad is None else nodes[id(grad)]) for x, grad in changed]
        self.check_histories(calls, result)
        self.check_made(result)
        for x, _, node in inputs:
            node.meta["writes"] = writes_to(x) - self.state.things[id(x)].copy[2]
        trace = Trace(
            graph,
            [source for _, source, _ in inputs],
            grads,
            self.grad_enabled,
            generators_of(calls),
            self.is_spent,
        )
        tensors = [x for x, _, _ in inputs]
        trace.guards = Guards(
            self.state,
            self.args,
            self.kwargs,
            tensors,
            shares=shares_memory(calls, result, tensors),
            gradients_matter=bool(grads)
            or "grad" in self.state.names
            or any(s.kind == "gradient" for s in trace.inputs),
            reads_offsets=any(call.op.name in OFFSET_OPS for call in calls),
            absence_matters=self.observer.catches or self.state.reads_all,
            extra=extra_records(self.observer.modules),
            registry=abc.get_cache_token() if self.observer.asks_abstract_classes else None,
        )
        return trace

    def source_of(self, x):
        thing = self.state.things.get(id(x))
        return None if thing is None else thing.source

    def changed_gradients(self):
        """[(tensor from outside, its new gradient or None)], for those that have another one than before.

        Refuses what else can have been done to such a tensor: its values are the only other thing that may change.
        """
        found = []
        for thing in self.state.things.values():
            if thing.kind != "tensor":
                continue
            (wants, node, gradient, base_node, hooks), layout, _ = thing.copy
            now = history_of(thing.value)
            if (wants, node, base_node, hooks) != (now[0], now[1], now[3], now[4]):
                reason = f"changes what autograd knows of {thing.source.text}"
                raise CannotTrace(f"{reason}, which comes from outside")
            if layout != memory_layout_of(thing.value):
                reason = f"gives {thing.source.text} other memory or another layout"
                raise CannotTrace(f"{reason}, and it comes from outside")
            if gradient is not now[2]:
                found.append((thing.value, now[2]))
        return found

    def check_histories(self, calls, result):
        """Refuse results whose gradients do not follow from the calls of ops."""
        known = {
            id(thing.copy[0][1]) for thing in self.state.things.values() if thing.kind == "tensor"
        }
        wanted = [
            x for x in tensors_in(result) if x.requires_grad and id(x) not in self.state.things
        ]
        leaves = [
            x
            for call in calls
            for x in tensors_in(call.result)
            if history_of(x)[0] and id(x) not in self.state.things
        ]
        if wanted and leaves:
            raise CannotTrace(
                "makes a tensor that requires grad, and returns a tensor that requires grad"
            )
        if not self.grad_enabled and any(history_of(x)[1] is not None for x in wanted):
            raise CannotTrace("enables grad mode, and returns a tensor with a history")
        self.is_spent = bool(wanted)
        for x in wanted:
            self.is_spent &= self.check_history(x, set(known))
        tensors = [thing for thing in self.state.things.values() if thing.kind == "tensor"]
        if self.state.names & {"backward", "grad"} and any(thing.copy[0][4] for thing in tensors):
            raise CannotTrace("may run backward to a tensor that has hooks")

    def check_made(self, result):
        """Refuse what a replay would not make: tensors with attributes, of another class, or of another mode."""
        outside = {
            id(storage_of(x.value)) for x in self.state.things.values() if x.kind == "tensor"
        }
        for x in tensors_in(result):
            if id(x) in self.state.things:
                continue
            if type(x) is not Tensor:
                raise CannotTrace(f"returns a {type(x).__name__} that it makes")
            if x.__dict__:
                raise CannotTrace(f"sets attributes of what it returns: {', '.join(x.__dict__)}")
            if id(storage_of(x)) not in outside and x.is_inference() != self.inference:
                raise CannotTrace("returns a tensor that it makes in another inference mode")

    def check_history(self, x, seen):
        """Refuse a result with a history that ops did not make; returns whether backward has been there.

        Then the history is of no use any more.
        """
        waiting, is_spent = [history_of(x)[1]], False
        while waiting:
            node = waiting.pop()
            if node is None or id(node) in seen:
                continue
            seen.add(id(node))
            is_spent |= has_released(node)
            if isinstance(node, FunctionNode):
                raise CannotTrace(
                    "returns the result of an autograd.Function, whose backward is Python"
                )
            waiting += [edge[0] for edge in node.next_functions]
        return is_spent


def record(function, args=(), kwargs=None):
    """Call `function(*args, **kwargs)`, with all its effects, and record it.

    Returns
    -------
    result : what the function returned
    outcome : Trace, or a Refusal if the recorded calls can't stand for another run

    An exception of the function goes through; nothing is recorded then.
    """
    kwargs = {} if kwargs is None else kwargs
    reason = why_not_now()
    if reason is not None:
        place = place_of(user_frame(sys._getframe(1)))
        return function(*args, **kwargs), Refusal(reason, *place[:2], is_passing=True)
    recording = Recording(function, args, kwargs)
    result = recording.run()
    return result, recording.outcome(result)


def why_not_now():
    """Why nothing can be recorded in this thread at the moment; None if it can."""
    if current() is not None:
        return "is called in another recording"
    if sys.getprofile() is not None:
        return "runs under a profiler: sys.setprofile is in use"
    if entered_layers():
        return "runs under a layer, such as a recorder"
    if active_modes():
        return "runs under a mode that overrides functions"
    if is_packing():
        return "runs under saved_tensors_hooks"
    if is_anomaly_enabled():
        return "runs in anomaly mode, which tells the lines of the program"
    if get_default_device():
        return "runs where tensors are made on meta unless it says otherwise"
    if Hooked._is_hooked:
        return "runs while hooks are registered for all modules"
    if ALL_BEFORE or ALL_AFTER:
        return "runs while hooks are registered for all optimizers"
    return None


def modes():
    """What a function could leave changed in its thread."""
    return (
        is_grad_enabled(),
        is_inference_mode_enabled(),
        get_default_dtype(),
        get_default_device(),
        get_settings_number(),
        len(active_modes()),
        is_packing(),
    )


def extra_records(modules):
    """Guards of what tensorlab's own Python reads in its modules: hooks of all modules, and of all optimizers."""
    if "tensorlab.nn.hooks" in modules:
        (attributes,) = (one for one in gc.get_referents(vars(Hooked)) if type(one) is dict)
        entry = "_is_hooked", "identity", False, -1, 0
        yield "lookups", attributes, [entry], "no hooks are registered for all modules"
    if "tensorlab.optim.optimizer" in modules:
        for hooks in (ALL_BEFORE, ALL_AFTER):
            yield "entries", hooks, [], "no hooks are registered for all optimizers"


@contextlib.contextmanager
def without_collections():
    """Put off the cyclic garbage collector, whose finalizers and callbacks are no part of the recorded call."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def place_of(frame):
    """(file, line, function) of a frame; there may be none, in a callback from C."""
    if frame is None:
        return "?", 0, "?"
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name


def generators_of(calls):
    """The generators that ops draw from; an op that is given None takes the default one."""
    found = []
    for call in calls:
        if "generator" in call.op.params:
            generator = call.arguments[call.op.params.index("generator")]
            generator = default_generator if generator is None else generator
            if generator not in found:
                found.append(generator)
    return found


def shares_memory(calls, result, inputs):
    """Whether it matters which inputs share memory: one of them is written, or a result lies in the memory of one."""
    if any(call.op.writes for call in calls):
        return True
    storages = {id(storage_of(x)) for x in inputs}
    return any(id(storage_of(x)) in storages for x in tensors_in(result))


def copied(value):
    """Arguments as they are now: lists may be changed later."""
    return type(value)(map(copied, value)) if type(value) in (tuple, list) else value


def name_of(function):
    return getattr(function, "__name__", None) or type(function).__name__
