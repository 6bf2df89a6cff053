"""trace_dispatch: one call followed through every layer that it meets.

    add(f32[2, 3], 2)                                       public function
      aten::add.Tensor(f32[2, 3], 2) -> f32[2, 3]           the op, at its entry
        mode Names                                          a layer that took part
        kernel on cpu                                       what computed
        autograd: AddBackward0                              the node that was recorded

Nothing of the engine knows of the trace. It takes part as others do: a mode that hears public
functions, a layer above all others and one directly below autograd (_core/dispatch/layers.pyx);
and layers that are entered are wrapped while it runs.
"""

import sys
import time

from tensorlab._core.dispatch.dispatch_hooks import CLASSES, ModeLayer, hooked_types, tensors_of
from tensorlab._core.dispatch.layers import Layer, entered_layers
from tensorlab._core.dispatch.overloads import overload_of
from tensorlab._core.dispatch.overrides import pop_mode, push_mode
from tensorlab._core.state.devices import device_names
from tensorlab._core.tensor import TensorBase

SHORT = {"float": "f", "uint": "u", "int": "i", "bfloat": "bf", "bool": "b"}
MAX_ITEMS = 4  # of a list that are written


class Event:
    """A step of a call.

    Attributes
    ----------
    kind : "public", "op", "layer", "kernel" or "autograd"
    label : str
    seconds : float, with what it contains
    children : list of Event
    """

    def __init__(self, kind, label):
        self.kind, self.label, self.seconds, self.children = kind, label, 0.0, []

    def lines(self, indent=""):
        """This step and what it contains, as text."""
        spent = "" if self.kind == "autograd" else f"{self.seconds * 1e6:9.1f} us"
        yield f"{indent + self.label:<72} {spent}".rstrip()
        for one in self.children:
            yield from one.lines(indent + "  ")

    def __repr__(self):
        return f"<Event {self.kind} {self.label}>"


class _Hear:
    """A mode that hears public functions."""

    def __init__(self, trace):
        self.trace = trace

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self.trace.wrap_layers()  # one that was entered in the block may lie above `_Above`
        name = getattr(func, "__name__", str(func))
        if name == "__get__":
            name = getattr(func.__self__, "__name__", None) or func.__self__.fget.__name__
        with self.trace.step("public", f"{name}({described([*args, *kwargs.values()])})"):
            return func(*args, **kwargs)


def kernel_of(op, result, arguments):
    """Where a call was computed: an op without a kernel for a device runs on the cpu."""
    device = next((one.device for one in tensors_of([result, *arguments])), None)
    if device is None or device.type in ("cpu", "meta"):
        return f"kernel on {device or 'cpu'}"
    own = op.functional or op
    kernel = own.kernels[device_names().index(device.type)]
    return f"kernel on {device}" if kernel or own.is_view else f"kernel on cpu, for {device}"


class _Above(Layer):
    """Meets a call before all other layers."""

    def __init__(self, trace):
        super().__init__("transform")
        self.trace = trace

    def call(self, op, arguments):
        self.trace.wrap_layers()
        with self.trace.step("op", f"{overload_of(op).name()}({described(arguments)})") as event:
            result = op(*arguments)
            event.label += f" -> {described([result])}"
            node = next((one.grad_fn for one in tensors_of([result]) if one.grad_fn), None)
            if node is not None and not op.writes:
                event.children.append(Event("autograd", f"autograd: {node.name()}"))
            return result


class _Below(Layer):
    """Meets it when autograd has had its part."""

    def __init__(self, trace):
        super().__init__("mode")
        self.trace = trace

    def call(self, op, arguments):
        with self.trace.step("kernel", "") as event:
            result = op(*arguments)
            event.label = "below autograd" if event.children else kernel_of(op, result, arguments)
            return result


class trace_dispatch:
    """A block in which each call is printed with the layers that it meets, and how long each
    took.

    The times contain those of the steps inside, and what the trace itself takes.

    Parameters
    ----------
    file : where it is printed, standard error unless given; False: nowhere

    Attributes
    ----------
    calls : list of Event, the calls of the block, each with what it contains

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, 3, requires_grad=True)
    >>> with trace_dispatch(file=False) as trace:
    ...     y = x * 2
    >>> [event.label for event in trace.calls[0].children]
    ['aten::mul.Tensor(f32[2, 3], 2) -> f32[2, 3]']
    >>> [event.label for event in trace.calls[0].children[0].children]
    ['kernel on cpu', 'autograd: MulBackward0']
    """

    def __init__(self, file=None):
        self.file = sys.stderr if file is None else file
        self.calls: list = []
        self._open: list = []
        self._wrapped: list = []

    def __enter__(self):
        self._below, self._above, self._hear = _Below(self), _Above(self), _Hear(self)
        self._below.__enter__()
        self._above.__enter__()
        push_mode(self._hear)
        return self

    def __exit__(self, *exception):
        pop_mode()
        self._above.__exit__(*exception)
        self._below.__exit__(*exception)
        for layer in self._wrapped:
            del layer.call
        self._wrapped.clear()

    def step(self, kind, label):
        """A block that is one Event."""
        return _Step(self, Event(kind, label))

    def wrap_layers(self):
        """Let the layers of this thread, and that of classes, note when they take part."""
        for layer in (*entered_layers(), CLASSES):
            if layer not in (self._above, self._below) and layer not in self._wrapped:
                layer.call = _noted(self, layer, layer.call)
                self._wrapped.append(layer)

    def __str__(self):
        return "\n".join(line for call in self.calls for line in call.lines())

    def __repr__(self):
        return f"<trace_dispatch: {len(self.calls)} calls>"


def _noted(trace, layer, call):
    """The `call` of a layer, which notes its step."""

    def noted(op, arguments):
        if isinstance(layer, ModeLayer):
            label = f"mode {type(layer.mode).__name__}"
        elif layer is CLASSES:
            label = f"class {', '.join(cls.__name__ for cls in hooked_types(arguments))}"
        else:
            label = f"{layer.place} {type(layer).__name__}"
        with trace.step("layer", label):
            return call(op, arguments)

    return noted


class _Step:
    """The time of an Event, and its place in the tree."""

    def __init__(self, trace, event):
        self.trace, self.event = trace, event

    def __enter__(self):
        inside = self.trace._open
        (inside[-1].children if inside else self.trace.calls).append(self.event)
        inside.append(self.event)
        self.start = time.perf_counter()
        return self.event

    def __exit__(self, *exception):
        self.event.seconds = time.perf_counter() - self.start
        self.trace._open.pop()
        if not self.trace._open and self.trace.file:
            print("\n".join(self.event.lines()), file=self.trace.file)


# ---------------------------------------------------------------- arguments in a few characters
def described(values):
    """Arguments in a few characters: f32[2, 3] for a tensor."""
    return ", ".join(map(_described, values))


def _described(value):
    if isinstance(value, TensorBase):
        name = str(value.dtype).rpartition(".")[2]
        word = name.rstrip("0123456789")
        return f"{SHORT.get(word, word)}{name[len(word) :]}{list(value.shape)}"
    if isinstance(value, (list, tuple)):
        dots = ", ..." if len(value) > MAX_ITEMS else ""
        return f"[{described(value[:MAX_ITEMS])}{dots}]"
    return f"{value!r:.40}"
