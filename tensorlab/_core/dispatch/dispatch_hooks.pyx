"""`__torch_dispatch__`: how a class of tensors, or a mode, gets the calls of ops below autograd.

    class Wrapped(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None): ...

Overrides (overrides.pyx) hear the calls of public functions; here each call of an op is heard,
those of backward included, after autograd has had its part. So both are layers in the place
"mode" (layers.pyx): one that all classes share, and one for each mode that is entered. What
they are told is an OpOverload (overloads.py), which calls the op again, in the layers below.
"""

from tensorlab._core.state.modes cimport active_layers, entered_layers as entered_count
from tensorlab._core.tensor cimport TensorBase

from tensorlab._core.dispatch.layers import Layer, entered_layers, handle_class
from tensorlab._core.dispatch.overloads import OVERLOADS, overload_of

HOOK = "__torch_dispatch__"
RULES: dict = {}  # (op, class of a mode or of tensors): what is called instead of its hook (library/)


def tensors_of(arguments):
    """The tensors among the arguments of a call, those in lists included."""
    cdef list found = []
    for one in arguments:
        if isinstance(one, TensorBase):
            found.append(one)
        elif isinstance(one, (tuple, list)):
            found += [item for item in one if isinstance(item, TensorBase)]
    return found


def has_hook(cls):
    """Does a class define the hook, or inherit one?"""
    return getattr(cls, HOOK, None) is not None


def hooked_types(arguments):
    """The classes with a hook among the arguments, in the order in which they are asked: subclasses first."""
    cdef list found = []
    if active_layers == entered_count:              # no tensor of such a class is alive
        return ()
    for one in tensors_of(arguments):
        cls = type(one)
        if cls not in found and has_hook(cls):
            place = next((k for k, other in enumerate(found) if issubclass(cls, other)), len(found))
            found.insert(place, cls)
    return tuple(found)


def check_result(op, result, hook, cls):
    """Raise unless a hook returned what the schema of the op promises. The result of an op that
    writes is known without it.
    """
    promised = [kind for _, kind in op.signature.results]
    if op.writes or not any([kind.word == "Tensor" for kind in promised]):
        return
    if len(promised) == 1 and result is None:
        raise TypeError(
            f"{op.name}: {place_of(hook, cls)} returned None; return what func(*args, **kwargs) "
            f"returns: {overload_of(op)._schema}"
        )
    if len(promised) > 1 and not (
        isinstance(result, (tuple, list)) and len(result) == len(promised)
    ):
        came = f"{len(result)} of them" if isinstance(result, (tuple, list)) else _what(result)
        raise TypeError(
            f"{op.name}: {place_of(hook, cls)} must return a tuple of {len(promised)} results, and "
            f"came back with {came}: {overload_of(op)._schema}"
        )
    for kind, item in zip(promised, [result] if len(promised) == 1 else result, strict=True):
        if kind.word == "Tensor" and item is not None and not is_promised(kind, item):
            expected = "list of Tensors" if kind.is_list else "Tensor"
            raise TypeError(
                f"{op.name}: {place_of(hook, cls)} must return a {expected}, and came back with "
                f"{_what(item)}: {overload_of(op)._schema}"
            )


def is_promised(kind, item):
    """Is a result the Tensor, or the list of Tensors, that a schema promises?"""
    if not kind.is_list:
        return isinstance(item, TensorBase)
    return (isinstance(item, (tuple, list))
            and all([isinstance(one, TensorBase) for one in item]))


def rule_of(op, cls):
    """The function that was registered for an op and a class, or one that it inherits; None if there is none."""
    for base in cls.__mro__:
        if (op, base) in RULES:
            return RULES[op, base]
    return None


def place_of(function, cls=None):
    """Where a function, or that of a class, stands: "Mine.hook (file.py:12)", for messages."""
    function = getattr(function, "__func__", function)
    code, owner = getattr(function, "__code__", None), f"{cls.__name__}." if cls else ""
    name = owner + getattr(function, "__name__", repr(function))
    if code is None:
        return name
    file, line = code.co_filename, code.co_firstlineno
    if "ipykernel_" in file:                        # a notebook calls the files of its cells by numbers
        return f"{name} (line {line} of a cell)"
    return f"{name} ({file}:{line})"


def _what(value):
    return f"{value!r:.60} ({type(value).__name__})"


# ---------------------------------------------------------------- modes
class ModeLayer(Layer):
    """Gives the calls of a thread to a mode, an object with `__torch_dispatch__(func, types, args, kwargs)`."""

    def __init__(self, mode):
        super().__init__("mode")
        self.mode = mode

    def call(self, op, arguments):
        func = OVERLOADS.get(op) or overload_of(op)
        args, kwargs = func.call_of(arguments)
        types = hooked_types(arguments)
        rule = RULES and rule_of(op, type(self.mode))
        if rule:
            result = rule(self.mode, func, types, args, kwargs)
        else:
            result = self.mode.__torch_dispatch__(func, types, args, kwargs)
        if result is NotImplemented:
            raise TypeError(f"{func.name()}: the mode {type(self.mode).__name__} returned NotImplemented")
        if not (func.gives_tensor and isinstance(result, TensorBase)):
            check_result(op, result, rule or self.mode.__torch_dispatch__, type(self.mode))
        return result


def entered_modes():
    """The modes of this thread, the outermost first."""
    return [one.mode for one in reversed(entered_layers()) if isinstance(one, ModeLayer)]


# ---------------------------------------------------------------- classes
class ClassLayer(Layer):
    """Gives the calls with a tensor of a class that has the hook to that class."""

    def __init__(self):
        super().__init__("mode")

    def call(self, op, arguments):
        func = overload_of(op)
        args, kwargs = func.call_of(arguments)
        types = hooked_types(arguments)
        for cls in types:
            hook = RULES and rule_of(op, cls) or getattr(cls, HOOK)
            result = hook(func, types, args, kwargs)
            if result is not NotImplemented:
                if not (func.gives_tensor and isinstance(result, TensorBase)):
                    check_result(op, result, hook, cls)
                return result
        raise TypeError(
            f"{func.name()}: no class handles the call; {', '.join(one.__name__ for one in types)} "
            f"returned NotImplemented"
        )


CLASSES = ClassLayer()


def register_hook_of_class(cls):
    """Let a new class that inherits Tensor take part, if it has the hook."""
    if has_hook(cls):
        handle_class(cls, CLASSES)
