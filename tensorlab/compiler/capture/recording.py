"""record: run a function once, really, and find out whether the same calls of ops can stand for the next run."""

import abc
import contextlib
import gc
import sys
import threading
import types

from tensorlab._core.dispatch.autocast import autocast_settings, other_layers
from tensorlab._core.dispatch.facets import counts_from_storage
from tensorlab._core.dispatch.levels import levels
from tensorlab._core.dispatch.overrides import active_modes
from tensorlab._core.dtypes import get_default_dtype
from tensorlab._core.graph.anomaly import is_anomaly_enabled
from tensorlab._core.state.devices import get_default_device
from tensorlab._core.state.modes import is_grad_enabled, is_inference_mode_enabled
from tensorlab._core.state.settings_number import get_settings_number
from tensorlab._tensor import Tensor
from tensorlab.nn.hooks import Hooked
from tensorlab.nn.module import Module
from tensorlab.optim.optimizer import ALL_AFTER, ALL_BEFORE

from .call_recorder import CallRecorder, generators_of, tensors_in
from .frames import place_of, place_of_store, user_frame
from .graph_builder import GraphBuilder
from .guard_builder import GuardBuilder, Matters
from .library_state import is_packing
from .observer import Observer
from .outer_state import OuterState
from .sources import ARGS, KWARGS, Source
from .tensor_effects import TensorEffects
from .tensor_state import writes_to
from .trace import CannotTrace, Refusal, Trace

__all__ = ["Recording", "current", "record"]

_thread = threading.local()


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


def current():
    """The Recording that runs in this thread, or None."""
    return getattr(_thread, "recording", None)


class Recording:
    """A call that is being recorded, or was.

    Attributes
    ----------
    function, args, kwargs : the call
    refusal : Refusal or None, the first reason why it can't be replayed
    state : OuterState, what the function could read and change
    observer : Observer, which watches its Python
    recorder : CallRecorder, which writes down its calls of ops
    """

    def __init__(self, function, args, kwargs):
        self.function, self.args, self.kwargs = function, args, kwargs
        self.refusal = None
        self.state = OuterState(self.refuse)
        self.observer = Observer(self.state, self.refuse)
        self.recorder = CallRecorder(self.observer, self.refuse)

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
        """Begin with what the function certainly uses: itself, its arguments, and the class of the results of ops."""
        self.state.reach_class(Tensor)
        if isinstance(self.function, types.MethodType):
            owner = self.function.__self__
            self.state.reach(owner, Source.constant(owner, "self"))  # its name in the texts
        name = getattr(self.function, "__name__", None) or type(self.function).__name__
        self.state.reach(self.function, Source.constant(self.function, name))
        for index, value in enumerate(self.args):
            self.state.reach(value, ARGS.item(index), by_identity=False)
        for index, (name, value) in enumerate(self.kwargs.items()):
            source = KWARGS.value(index, f"kwargs[{name!r}]")
            self.state.reach(value, source, by_identity=False)

    def refuse(self, reason, frame=None):
        """Note why the call can't be replayed; the first reason counts."""
        if self.refusal is None:
            frame = user_frame(sys._getframe(1) if frame is None else frame)
            self.refusal = Refusal(reason, *place_of(frame)[:2])

    def keep_constant(self, result):
        """Take the tensors of a result for constants: a replay uses these very ones."""
        for x in tensors_in(result):
            self.state.reach(x, Source.constant(x, "a constant result"))

    # ------------------------------------------------------------ what became of it
    def outcome(self, result):
        """A Trace, or a Refusal."""
        if self.state.reads_all:
            self.observer.name_strings(None)
        if self.refusal is None:
            for reason, names in self.state.side_effects():
                self.conclude(reason, place_of_store(self.observer.code, names))
            for reason in self.state.hidden_reads():
                self.conclude(reason)
        if self.refusal is None:
            try:
                return self.trace(result)
            except CannotTrace as error:
                self.conclude(str(error), error.call and error.call.place[:2])
        return self.refusal._replace(modules=self.modules())

    def conclude(self, reason, place=None):
        """Refuse after the call; without a place it is that of the function itself."""
        codes = self.observer.code
        if place is None:
            place = (codes[0].co_filename, codes[0].co_firstlineno) if codes else ("?", 0)
        self.refusal = self.refusal or Refusal(reason, *place)

    def modules(self):
        """The outermost modules among what the call may have used."""
        found = [tracked.value for tracked in self.state.objects.values()]
        found = [value for value in found if isinstance(value, Module)]
        parts = {id(part) for one in found for part in one.modules() if part is not one}
        return tuple([one for one in found if id(one) not in parts])

    # ------------------------------------------------------------ the trace
    def trace(self, result):
        calls = self.recorder.calls
        effects = TensorEffects(self.state, calls, result)
        changed = effects.changed_gradients()
        builder = GraphBuilder(calls, self.source_of)
        graph, nodes = builder.build(result, changed), builder.nodes
        is_spent = effects.check_histories(self.grad_enabled)
        effects.check_made(self.inference)
        for x, _, node in builder.inputs:
            node.meta["writes"] = writes_to(x) - self.state.objects[id(x)].snapshot[2]
        inputs = [x for x, _, _ in builder.inputs]
        sources = [source for _, source, _ in builder.inputs]
        grads = [(nodes[id(x)], None if grad is None else nodes[id(grad)]) for x, grad in changed]
        guards = GuardBuilder(self.state, self.matters(effects, sources, inputs, bool(grads)))
        return Trace(
            graph,
            sources,
            guards.build(self.args, self.kwargs, inputs, self.observer.modules),
            grads,
            self.grad_enabled,
            generators_of(calls),
            is_spent,
        )

    def matters(self, effects, sources, inputs, assigns_gradients):
        """What the guards have to compare, as it may have made a difference."""
        reads_gradients = "grad" in self.state.names or any(
            source.kind == "gradient" for source in sources
        )
        return Matters(
            gradients=assigns_gradients or reads_gradients,
            offsets=any(counts_offsets(call.op) for call in self.recorder.calls),
            absence=self.observer.catches or self.state.reads_all,
            shared_memory=effects.share_memory(inputs),
            abstract_classes=(
                abc.get_cache_token() if self.observer.asks_abstract_classes else None
            ),
        )

    def source_of(self, x):
        """Where an object of the outside is found; None if it is none."""
        tracked = self.state.objects.get(id(x))
        return None if tracked is None else tracked.source


def counts_offsets(op):
    return counts_from_storage.of(op.functional or op)


# ---------------------------------------------------------------- the thread around it
def why_not_now():
    """Why nothing can be recorded in this thread at the moment; None if it can."""
    obstacles = (
        (current() is not None, "is called in another recording"),
        (sys.getprofile() is not None, "runs under a profiler: sys.setprofile is in use"),
        (other_layers(), "runs under a layer, such as a recorder"),
        (active_modes(), "runs under a mode that overrides functions"),
        (levels(), "runs inside of a transform such as grad; compile the function that calls it"),
        (is_packing(), "runs under saved_tensors_hooks"),
        (is_anomaly_enabled(), "runs in anomaly mode, which tells the lines of the program"),
        (get_default_device(), "runs where tensors are made on meta unless it says otherwise"),
        (Hooked._is_hooked, "runs while hooks are registered for all modules"),
        (ALL_BEFORE or ALL_AFTER, "runs while hooks are registered for all optimizers"),
    )
    return next((reason for is_there, reason in obstacles if is_there), None)


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
        autocast_settings(),
    )


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
