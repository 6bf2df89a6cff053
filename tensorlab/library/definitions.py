"""Ops of a program's own: what has been defined, and how a call of one finds its function.

A definition is an Op like any other (op.pyx), whose kernel is `Definition.compute`: it chooses
the function for the device, and holds what came back against the schema. So layers, fx, meta,
compile and record-and-replay need to know nothing of it. Its backward, if it has one, is in
recorded.py.
"""

import inspect
import re

from tensorlab._core.device import META
from tensorlab._core.dispatch.dispatch import run_below_autograd, shares_storage
from tensorlab._core.dispatch.dispatch_hooks import place_of
from tensorlab._core.dispatch.facets import REGISTRY
from tensorlab._core.dispatch.op import Op
from tensorlab._core.dispatch.overloads import forget_index, overload_of
from tensorlab._core.dispatch.schema import parse
from tensorlab._core.tensor import TensorBase
from tensorlab.autograd.grad_mode import no_grad
from tensorlab.autograd.graph import increment_version
from tensorlab.errors import NoDataError
from tensorlab.library.recorded import Recorded

NAME = re.compile(r"[a-zA-Z_]\w*::[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)?")
TAKEN = {"aten", "tensorlab", "prim"}  # namespaces that programs can't define ops in

DEFINITIONS: dict = {}  # qualified name: Definition

# What a value must be for a word of the schema, where that is easily said.
PYTHON_TYPES = {"int": int, "float": (int, float), "bool": bool, "str": str}
RESULT_TYPES = {"Tensor": TensorBase, **PYTHON_TYPES}


def split_name(name, where):
    """(namespace, rest) of "mylib::clip"."""
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise ValueError(
            f"{where}: {name!r} is no name of an op; write it with its namespace, such as "
            f"'mylib::clip'"
        )
    namespace, _, rest = name.partition("::")
    return namespace, rest


def caller_line():
    """ "file:line" of the program's line that is being executed."""
    for frame in inspect.stack()[1:]:
        if not frame.frame.f_globals.get("__name__", "").startswith("tensorlab."):
            return f"{frame.filename}:{frame.lineno}"
    return "an unknown line"


class Definition:
    """An op that a program has defined.

    Attributes
    ----------
    op : Op, the record in the engine
    kernels : dict, name of a device: function; None: on any device that has no function of its
        own
    disabled : set of the devices whose function isn't used for now
    fake : function for meta tensors, or None
    recorded : Recorded, how autograd treats a call
    line : str, where the program defined it
    origin : what it was made of, a function's module and name; the same may define it again
    """

    def __init__(self, name, schema, origin=None):
        where = caller_line()
        if name in DEFINITIONS:
            if origin is None or DEFINITIONS[name].origin != origin:
                raise RuntimeError(
                    f"{name} is defined twice: here, and at {DEFINITIONS[name].line}; choose "
                    f"another name, or delete the "
                    f"Library that defined it"
                )
            DEFINITIONS[name].remove()  # the cell of a notebook runs again
        if name.partition("::")[0] in TAKEN:
            raise RuntimeError(
                f"{name}: the namespace {name.partition('::')[0]!r} belongs to tensorlab; "
                f"choose one of your own"
            )
        parsed = parse(f"{name}{schema}")
        writes = any(one.type.is_written for one in parsed.parameters)
        self.name, self.line, self.origin = name, where, origin
        self.op = Op(
            f"{name}{schema}",
            aten=None,
            records_itself=writes,
            node=_node_name(name),
            checks_values=True,
            sources=self.sources,
        )
        self.kernels, self.disabled, self.fake = {}, set(), None
        self.parameters = self.op.signature.parameters
        self.written = [k for k, one in enumerate(self.parameters) if one.type.is_written]
        self.positional = sum(not one.is_keyword_only for one in self.parameters)
        self.results = [kind for _, kind in self.op.signature.results]
        self.op.kernel(self.compute)
        self.op.kernel_elsewhere(self.compute)
        self.recorded = Recorded(self)
        if not self.written:
            self.op.recorded_by = self.recorded.call
        DEFINITIONS[name] = self
        forget_index()

    @property
    def overload(self):
        """The OpOverload: `ops.mylib.clip.default`."""
        return overload_of(self.op)

    def remove(self):
        """Take the op away again."""
        DEFINITIONS.pop(self.name, None)
        REGISTRY.pop(self.name, None)
        forget_index()

    def sources(self):
        """Where its kernel and its fake stand, for messages."""
        kernels = [one for device, one in self.kernels.items() if device != "meta"]
        kernel, fake = kernels[:1] or [None], self.fake or self.kernels.get("meta")
        return place_of(kernel[0]), place_of(fake)

    def check_signature(self, function):
        """Raise unless a function can be called with what the schema has."""
        try:
            signature = inspect.signature(function)
        except ValueError:  # it's written in C, and doesn't say
            return
        names = [one.name for one in self.parameters]
        try:
            signature.bind(*names[: self.positional], **dict.fromkeys(names[self.positional :]))
        except TypeError as error:
            raise TypeError(
                f"{self.name}: {place_of(function)} must take what the schema has, "
                f"{self.op.schema}, and its parameters are {signature}: {error}"
            ) from None

    # ------------------------------------------------------------ a call, at its end
    def compute(self, *arguments):
        """Call the function for the device of the arguments, and check what it did."""
        tensors = list(tensors_in(arguments))
        function = self.function_for(tensors)
        self.check_arguments(arguments)
        for k in self.written:
            check_writable(self.name, self.parameters[k].name, arguments[k])
        try:
            with no_grad():
                results = self.call(function, arguments)
        except NoDataError as error:
            error.add_note(
                f"in {place_of(function)}, which says what {self.name} returns, and may look at "
                f"shapes and dtypes only"
            )
            raise
        self.check_results(results, arguments, function)
        for k in self.written:
            for one in tensors_in([arguments[k]]):
                increment_version(one)
        return results

    def call(self, function, arguments):
        """Call a function that has the parameters of the schema."""
        named = {
            one.name: value
            for one, value in zip(
                self.parameters[self.positional :], arguments[self.positional :], strict=True
            )
        }
        return function(*arguments[: self.positional], **named)

    def compose(self, function):
        """Let the op be what a function makes of other ops, on devices without a function of their
        own.
        """

        def composed(*arguments):
            if device_of(tensors_in(arguments)) in self.kernels:
                return self.compute(*arguments)
            return self.call(function, arguments)

        self.op.compose(composed)
        self.op.recorded_by = None

    def function_for(self, tensors):
        """The function for where these tensors are."""
        device = device_of(tensors)
        if device == META.type:
            found = self.fake or self.kernels.get("meta")
            if found is None:
                raise NotImplementedError(
                    f"{self.name}: the op has no fake, which would say what it returns for "
                    f"meta tensors; give it one "
                    f"with register_fake: a function that returns empty tensors of the right "
                    f"shape and dtype"
                )
            return found
        return self.kernel_for(device)

    def kernel_for(self, device):
        """The function for a kind of device."""
        found = self.kernels.get(device) or self.kernels.get(None)
        if device in self.disabled:
            found = self.kernels.get(None, found)
        if found is None:
            known = ", ".join(sorted(map(str, self.kernels))) or "none at all"
            raise NotImplementedError(
                f"{self.name}: the op has no kernel for {device} (it has: {known}); register "
                f"one with register_kernel"
            )
        return found

    def check_arguments(self, arguments):
        """Raise unless numbers and strings are what the schema says."""
        for parameter, value in zip(self.parameters, arguments, strict=True):
            kind = parameter.type
            expected = PYTHON_TYPES.get(kind.word)
            if expected is None or (value is None and kind.is_optional):
                continue
            values = value if kind.is_list and isinstance(value, list | tuple) else [value]
            if any(
                not isinstance(one, expected)
                or (isinstance(one, bool) and kind.word != "bool" and kind.word != "int")
                for one in values
            ):
                raise TypeError(
                    f"{self.name}: the argument {parameter.name!r} must be {kind}, not "
                    f"{value!r:.60}: {self.op.schema}"
                )

    def check_results(self, results, arguments, function):
        """Raise unless a function kept what the schema promises."""
        items = self.items_of(results, function)
        new: list = []
        for k, (kind, item) in enumerate(zip(self.results, items, strict=True)):
            if not fits(kind, item):
                raise TypeError(
                    f"{self.name}: result {k} must be {kind}, and {place_of(function)} "
                    f"returned "
                    f"{item!r:.60} ({type(item).__name__}): {self.op.schema}"
                )
            if kind.alias is None:
                for one in tensors_in([item]):
                    self.check_is_new(one, k, arguments, function)
                    self.check_is_apart(one, k, new, function)
                    new.append(one)

    def items_of(self, results, function):
        """The results as a tuple."""
        if not self.results:
            if results is not None:
                raise TypeError(
                    f"{self.name}: the schema has no results, and {place_of(function)} "
                    f"returned {results!r:.60}: "
                    f"{self.op.schema}"
                )
            return ()
        if len(self.results) == 1:
            return (results,)
        if not isinstance(results, list | tuple) or len(results) != len(self.results):
            came = f"{len(results)}" if isinstance(results, list | tuple) else f"{results!r:.60}"
            raise TypeError(
                f"{self.name}: the schema has {len(self.results)} results, and "
                f"{place_of(function)} returned {came}: "
                f"{self.op.schema}"
            )
        return tuple(results)

    def check_is_new(self, made, k, arguments, function):
        """Raise if a result shares memory with an argument that the schema doesn't mark."""
        for parameter, value in zip(self.parameters, arguments, strict=True):
            for one in tensors_in([value]):
                if made is one or shares_storage(made, one):
                    raise RuntimeError(
                        f"{self.name}: result {k} shares its memory with the argument "
                        f"{parameter.name!r}, and the schema "
                        f"says that it is new: {self.op.schema}; let {place_of(function)} "
                        f"return a clone()"
                    )

    def check_is_apart(self, made, k, others, function):
        """Raise if a result shares memory with one before it."""
        if any(shares_storage(made, one) for one in others):
            raise RuntimeError(
                f"{self.name}: result {k} shares its memory with another result, and the schema "
                f"says that each is new: {self.op.schema}; let {place_of(function)} return a "
                f"clone()"
            )

    # ------------------------------------------------------------ below autograd
    def below_autograd(self, *arguments):
        """The call without autograd: layers below it, then `compute`."""
        return run_below_autograd(self.op, *arguments)


def _node_name(name):
    return f"GeneratedBackwardFor_{re.sub(r'[:.]+', '_', name)}_defaultBackward"


def device_of(tensors):
    """The kind of device that a call with these tensors runs on."""
    return next((one.device.type for one in tensors if one.device.type != "cpu"), "cpu")


def tensors_in(values):
    """Yield the tensors among values, those in lists included."""
    for one in values:
        if isinstance(one, TensorBase):
            yield one
        elif isinstance(one, list | tuple):
            yield from tensors_in(one)


def fits(kind, value):
    """Whether a value is what a type of the schema says, as far as that can be told."""
    if value is None:
        return kind.is_optional
    if not kind.is_list:
        return isinstance(value, RESULT_TYPES.get(kind.word, object))
    return isinstance(value, list | tuple) and all(
        kind.has_optional_items if one is None else fits(kind._replace(is_list=False), one)
        for one in value
    )


def check_writable(name, parameter, value):
    """Raise if a tensor that the op will write to needs a gradient."""
    from tensorlab._core.state.modes import is_grad_enabled

    for one in tensors_in([value]):
        if one.requires_grad and is_grad_enabled():
            raise RuntimeError(
                f"{name}: the op writes to {parameter!r}, which requires grad, and autograd "
                f"can't follow that; call it "
                f"under no_grad, or let the op return a new tensor"
            )


def definition_of(op, where):
    """The Definition of an op, given as its name, its OpOverload, or what `custom_op` returned.

    Raises
    ------
    RuntimeError
        If no program has defined it.
    """
    name = op
    if not isinstance(op, str):
        name = getattr(op, "_qualname", None) or getattr(op, "name", lambda: None)()
    found = DEFINITIONS.get(name) or DEFINITIONS.get(str(name).removesuffix(".default"))
    if found is None:
        raise RuntimeError(
            f"{where}: no op {name!r} has been defined; define it with custom_op or Library.define"
        )
    return found
