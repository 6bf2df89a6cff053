"""compile: functions and modules that record what they do, and replay it while nothing that they depend on has changed.

A call looks for a recording whose guards hold, and runs its program. If there is none, the
function runs as Python and is recorded meanwhile; so the first call gives exactly what it gives
without `compile`, and whatever can't be recorded is simply run.
"""

import functools
import inspect
import threading
import warnings
import weakref

from .._core.random import DrawingAside
from .._on_demand import import_named, imports_made
from ..nn.module import Module
from . import backends
from .cannot_compile import CannotCompile
from .capture import Refusal, record
from .capture.names_ahead import names_ahead
from .logs import log
from .passes.running import checks_passes
from .replay import Entry, Replay, replays_are_off, turn_replays_off

__all__ = ["Compiled", "Unsupported", "compile_function", "forget", "replay_for", "set_stance"]

REFUSALS = 3  # of one function, until its calls run as Python; what a first call sets up may hold afterwards
RECORDINGS = 8  # of one function, before it is asked whether they are of use
SIZES = 64  # further ones, for tensors of other sizes
WORTH = 4  # replays that a branch should bring
PATHS = 64  # of one recording, for calls that differ in the values that Python looks at
STANCES = ("default", "force_eager")


class Unsupported(RuntimeError):
    """A function that was compiled with fullgraph=True can't be one graph.

    Examples
    --------
    >>> import tensorlab
    >>> f = tensorlab.compile(lambda x: print(x), fullgraph=True, backend="eager")
    >>> f(tensorlab.ones(2))
    Traceback (most recent call last):
        ...
    tensorlab.compiler.frontend.Unsupported: compile: <lambda> can't be one graph. ...
    """


class Compiled:
    """What is known of one function: its recordings, and what became of its calls.

    Attributes
    ----------
    function : callable
    replay : Replay, which a call goes to first
    refusals : list of Refusal, why calls could not be recorded
    recorded, as_python : int, calls that were recorded, and that ran as Python without being
        replayed later
    resized : int, how many of the recorded ones were recorded for another size of a tensor
    dropped : int, replays of recordings that are no longer kept
    """

    def __init__(self, function, backend, fullgraph, settings, on_break=None):
        self.function, self.backend, self.on_break = function, backend, on_break
        self.fullgraph, self.settings = fullgraph, settings
        self.lock = threading.RLock()
        self.replay = Replay(self)
        self.clear()

    def clear(self):
        """Forget all recordings."""
        self.replay.clear()
        self.refusals, self.has_warned = [], False
        self.recorded = self.resized = self.dropped = 0

    @property
    def name(self):
        """What messages call it: the name of the function, or of the module's class."""
        owner = getattr(self.function, "__self__", None)
        if isinstance(owner, Module):
            return type(owner).__name__
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    @property
    def entries(self):
        """The recordings, the newest first, unless others came to the front by being used."""
        return self.replay.entries

    @property
    def as_python(self):
        return self.replay.as_python

    @property
    def counts(self):
        """How many calls were replayed, recorded, and ran as Python."""
        replayed = self.dropped + sum(entry.calls for entry in self.entries)
        return {"replayed": replayed, "recorded": self.recorded, "as Python": self.as_python}

    # ------------------------------------------------------------ a call
    def failed(self, args, kwargs, error):
        """A call whose replay raised an error; Python raises it with the program's lines."""
        log("recompiles", f"{self.name}: a replay raised {type(error).__name__}: {error}")
        return self.replay.miss(args, kwargs)

    # ------------------------------------------------------------ a recording
    def record(self, args, kwargs, unseen):
        """Run the Python, and keep what it did for later calls."""
        if sum(not one.is_passing for one in self.refusals) >= REFUSALS:
            return self.replay.miss(args, kwargs)
        resized = unseen is None and self.is_resized(args, kwargs)
        what = self.keeps_changing(unseen, resized)
        if what is not None:
            self.warn(
                f"was recorded {self.recorded} times, as {what} kept changing; other calls run as Python from now "
                "on. TENSORLAB_LOGS=recompiles shows why"
            )
            return self.replay.miss(args, kwargs)
        for entry in self.entries if unseen is None else ():
            log(
                "recompiles",
                lambda entry=entry: f"{self.name}: {entry.trace.guards.why(args, kwargs)}",
            )
        import_named(names_ahead(self.function))
        imported = imports_made()
        result, trace = record(self.function, args, kwargs)
        if isinstance(trace, Refusal):
            if imports_made() == imported:
                self.refuse(trace)
            else:  # what it imported is there the next time
                log(
                    "breaks", f"{self.name}: imports a part of tensorlab; the next call is recorded"
                )
            self.replay.as_python += 1
            return result
        self.recorded += 1
        self.resized += resized
        log("graph", lambda: f"{self.name}:\n{trace.graph}")
        log("guards", lambda: f"{self.name}:\n" + trace.guards.text)
        # some passes run ops to see what they give
        with self.lock, DrawingAside():
            try:
                self.keep(trace, unseen, trace.guards.match(args, kwargs))
            except CannotCompile as error:
                self.refuse(Refusal(error.reason, *self.place_of(error.where)))
            except Exception as error:
                if self.fullgraph or checks_passes():
                    raise
                reason = f"was recorded, but its backend raised {type(error).__name__}: {error}"
                self.refuse(Refusal(reason, *self.place_of(None)))
        return result

    def keep(self, trace, unseen, inputs):
        """Make a program of a trace, or a branch of an earlier one that looked at other values.

        `inputs`: the tensors of the call, or None if they are no longer what they were before it.
        """
        if unseen is not None and unseen.trace.same_prefix(trace) is not None:
            self.backend.extend(unseen.program, trace)
            unseen.trace.guards.join(trace.guards)
            unseen.paths += 1
        else:
            self.entries.insert(0, Entry(trace, self.backend.make(trace, self.settings, inputs)))
            if len(self.entries) > RECORDINGS + SIZES:
                self.dropped += self.entries.pop().calls

    def refuse(self, refusal):
        """Note why a call can't be recorded. A reason that comes again will not go away: it is told, once."""
        comes_again = any(one.reason == refusal.reason for one in self.refusals)
        modules, refusal = refusal.modules, refusal._replace(modules=())
        if not (comes_again and refusal.is_passing):
            self.refusals.append(refusal)
        log("breaks", f"{self.name}: {refusal}")
        if comes_again or not refusal.reason.startswith("changes"):
            if self.fullgraph:
                raise Unsupported(f"compile: {self.name} can't be one graph. {refusal}")
            self.warn(f"runs as Python. {refusal}")
            if self.on_break is not None:
                self.on_break(modules)

    def place_of(self, where):
        """(file, line) of "file:line in function"; without it, of the function itself."""
        file, _, line = (where or "").partition(" in ")[0].rpartition(":")
        if line.isdigit():
            return file, int(line)
        owner = getattr(self.function, "__self__", None)
        function = owner.forward if isinstance(owner, Module) else self.function
        code = getattr(inspect.unwrap(function), "__code__", None)
        return (code.co_filename, code.co_firstlineno) if code else ("?", 0)

    def warn(self, what):
        if not self.has_warned:
            self.has_warned = True
            warnings.warn(f"compile: {self.name} {what}", stacklevel=caller_level())

    def is_resized(self, args, kwargs):
        """Whether one of the recordings is for a call that differs from this one in the size of a tensor."""
        if self.settings.dynamic is False:
            return False
        return any(entry.trace.guards.is_resized(args, kwargs) for entry in self.entries)

    def keeps_changing(self, unseen, resized):
        """What changes so often that one more recording is not worth its time; None if it is."""
        if unseen is not None:
            is_worth = self.recorded < RECORDINGS or self.pays_off(unseen)
            return None if is_worth else "values that it looks at"
        if resized:
            is_worth = self.resized < SIZES or self.counts["replayed"] >= WORTH * self.recorded
            return None if is_worth else "the sizes of its tensors"
        return None if self.recorded - self.resized < RECORDINGS else "its guards"

    def pays_off(self, entry):
        """Whether branches of a recording are replayed often enough for another one to be worth its time."""
        return entry.paths < PATHS and entry.calls >= WORTH * entry.paths


def caller_level():
    """The stack level of the first frame outside of this package, for warnings."""
    package = __name__.partition(".")[0]
    frame, level = inspect.currentframe().f_back, 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    return level


# ------------------------------------------------------------------------------------------------ functions
every: weakref.WeakSet = weakref.WeakSet()  # each Compiled of the process, for `forget`


def replay_for(function, backend, fullgraph, settings, on_break=None):
    """Return a Replay, whose calls do what those of `function` do, recorded and replayed.

    `on_break(modules)` is called when it turns out that calls of the function can't be recorded, with the modules
    that they may call.
    """
    compiled = Compiled(function, backends.find(backend), fullgraph, settings, on_break)
    every.add(compiled)
    return compiled.replay


def compile_function(function, *how):
    """Return a Python function that calls a Replay, with the name and the docstring of `function`."""
    replay = replay_for(function, *how)

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return replay(*args, **kwargs)

    wrapper.compiled = replay.compiled
    return wrapper


def forget():
    """Drop all recordings of all functions."""
    for one in list(every):
        one.clear()


class set_stance:
    """Choose what compiled functions do: "default", or "force_eager" for Python. A function, or a context.

    Examples
    --------
    >>> import tensorlab
    >>> f = tensorlab.compile(lambda x: x + 1, backend="eager")
    >>> with set_stance("force_eager"):  # to see a failing line in the debugger
    ...     f(tensorlab.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, name="default"):
        if name not in STANCES:
            raise RuntimeError(f"set_stance: {name!r} is unknown; choose from {', '.join(STANCES)}")
        self.before = "force_eager" if replays_are_off() else "default"
        turn_replays_off(name == "force_eager")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        turn_replays_off(self.before == "force_eager")
