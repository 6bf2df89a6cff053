"""Library: defining ops by their schemas, and giving them functions, as PyTorch's programs do
it by name.

    lib = Library("mylib", "DEF")
    lib.define("clip(Tensor x, float low, float high) -> Tensor")
    lib.impl("clip", clip_on_the_cpu, "CPU")

`custom_op` (custom_ops.py) says the same in one decorator.
"""

import contextlib

from tensorlab._core.dispatch import dispatch_hooks
from tensorlab._core.dispatch.autocast_rules import autocast_rule
from tensorlab._core.dispatch.overloads import OpOverload
from tensorlab.errors import NoDataError
from tensorlab.func.batching import batching
from tensorlab.func.batching.program_rules import ProgramRule
from tensorlab.library.definitions import NAME, Definition, caller_line, definition_of, split_name

# What PyTorch's dispatch keys mean here.
DEVICE_OF_KEY = {"CompositeExplicitAutograd": None}  # others are names of devices

OWNERS: dict = {}  # namespace: the Library that said DEF


class Library:
    """A set of ops of one namespace, or functions for ops that others have defined.

    Parameters
    ----------
    ns : str, the namespace
    kind : "DEF" for its owner, of which there is one; "FRAGMENT" to add to a namespace; "IMPL"
        to add functions only
    dispatch_key : str, the key of `impl` unless it is given there

    Raises
    ------
    ValueError
        For a namespace that belongs to tensorlab, or another kind.
    RuntimeError
        If the namespace has an owner.

    >>> lib = Library("chapter", "FRAGMENT")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'chapter::twice'
    >>> lib.impl("twice", lambda x: x * 2, "CPU")
    >>> import tensorlab
    >>> tensorlab.ops.chapter.twice(tensorlab.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "FRAGMENT", "IMPL"):
            raise ValueError(f"Library: kind is {kind!r}; it must be 'DEF', 'FRAGMENT' or 'IMPL'")
        if not isinstance(ns, str) or not ns.isidentifier() or ns == "prim":
            raise ValueError(
                f"Library: {ns!r} can't be the name of a namespace; choose a Python name"
            )
        if kind != "IMPL" and ns in ("aten", "tensorlab"):
            raise ValueError(
                f"Library: the namespace {ns!r} belongs to tensorlab; choose one of your own"
            )
        if kind == "DEF":
            if ns in OWNERS:
                raise RuntimeError(
                    f"Library: the namespace {ns!r} has an owner already, defined at "
                    f"{OWNERS[ns]}; use 'FRAGMENT' to add to it"
                )
            OWNERS[ns] = caller_line()
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list = []
        self._undo: list = []

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Define an op.

        Parameters
        ----------
        schema : str, such as "clip(Tensor x, float low) -> Tensor"

        Returns
        -------
        str, its name with the namespace
        """
        if self.kind == "IMPL":
            raise RuntimeError(
                "Library.define: a Library of kind 'IMPL' defines nothing; make it a 'FRAGMENT'"
            )
        name, parenthesis, rest = schema.partition("(")
        if not parenthesis:
            raise ValueError(
                f"Library.define: {schema!r} is no schema; write it as in 'clip(Tensor x, "
                f"float low) -> Tensor'"
            )
        name = f"{self.ns}::{name.strip()}"
        split_name(name, "Library.define")
        self._defined.append(Definition(name, "(" + rest))
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """Give an op a function.

        Parameters
        ----------
        op_name : str, with or without the namespace, or an OpOverload
        dispatch_key : "CPU", "Meta", "CompositeExplicitAutograd" (any device),
            "CompositeImplicitAutograd" (any device, made of ops that autograd follows; so it is
            unless a key is given), "Autograd" (what autograd calls instead), or the name of a
            device
        """
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        name = name if "::" in name else f"{self.ns}::{name}"
        if not callable(fn):
            raise TypeError(f"Library.impl: a function is needed for {name}, not {fn!r}")
        if with_keyset:
            raise NotImplementedError(
                "Library.impl: with_keyset: calls have no key sets in tensorlab"
            )
        definition = definition_of(name, "Library.impl")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if key.startswith("Autograd"):
            definition.op.recorded_by = fn
        elif key == "CompositeImplicitAutograd":
            definition.check_signature(fn)
            definition.compose(fn)
        else:
            register_for(definition, DEVICE_OF_KEY.get(key, key.lower()), fn, allow_override)

    def _destroy(self):
        """Take away what this Library has defined."""
        for definition in self._defined:
            definition.remove()
        self._defined.clear()
        if self.kind == "DEF":
            OWNERS.pop(self.ns, None)


def register_for(definition, device, function, allow_override=False):
    """Give an op its function for a device; None: for every device without a kernel of its own."""
    if device in definition.kernels and not allow_override:
        raise RuntimeError(
            f"{definition.name}: there is a kernel for {device or 'all devices'} already; "
            f"register a kernel once"
        )
    definition.check_signature(function)
    definition.kernels[device] = function


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    """A Library whose ops are gone after the block, for tests."""
    lib = Library(*args, **kwargs)
    try:
        yield lib
    finally:
        lib._destroy()


# ---------------------------------------------------------------- functions, as PyTorch has them
def define(qualname, schema, *, lib=None, tags=()):
    """Define an op: `define("mylib::clip", "(Tensor x, float low) -> Tensor")`.

    The older form `define(lib, "clip(Tensor x, float low) -> Tensor")` is a decorator of its
    function.
    """
    if isinstance(qualname, Library):
        name = qualname.define(schema)
        return _decorator(lambda function: qualname.impl(name, function), None)
    if not isinstance(qualname, str) or NAME.fullmatch(qualname) is None:
        raise ValueError(
            f"define: {qualname!r} is no name of an op; write it with its namespace, such as "
            f"'mylib::clip'"
        )
    definition = Definition(qualname, schema)
    if lib is not None:
        lib._defined.append(definition)
    return None


def _decorator(take, function):
    """`take(function)`, at once or as a decorator."""
    if function is not None:
        take(function)
        return function

    def decorate(given):
        take(given)
        return given

    return decorate


def impl(qualname, types, func=None, *, lib=None):
    """Give an op its function for devices, "default" for all; usable as a decorator.

    The older form `impl(lib, "clip", "CPU")` is a decorator, too.
    """
    if isinstance(qualname, Library):
        return _decorator(lambda function: qualname.impl(types, function, func or ""), None)
    return register_kernel(qualname, None if types == "default" else types, func, lib=lib)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """Give an op its function for one or several devices; None: for all. Usable as a decorator.

    Parameters
    ----------
    op : str, OpOverload, or what `custom_op` returned
    device_types : None, str or sequence of str, such as "cpu"

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.library import custom_op
    >>> @custom_op("doc_kernel::same", mutates_args=())
    ... def same(x: tensorlab.Tensor) -> tensorlab.Tensor:
    ...     return x
    ...
    >>> @register_kernel("doc_kernel::same", "cpu")
    ... def on_the_processor(x):
    ...     return x + 1
    ...
    >>> same(tensorlab.zeros(1))
    tensor([1.])
    """
    definition = definition_of(op, "register_kernel")
    devices = (
        [device_types] if device_types is None or isinstance(device_types, str) else device_types
    )

    def take(function):
        for device in devices:
            register_for(definition, device, function)

    return _decorator(take, func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """Give an op the function that says what it returns: for meta tensors it returns empty
    tensors of the right shape.

    Usable as a decorator.
    """
    definition = definition_of(op, "register_fake")

    def take(function):
        if definition.fake is not None and not allow_override:
            raise RuntimeError(f"{definition.name}: there is a fake already; register it once")
        definition.check_signature(function)
        definition.fake = function

    return _decorator(take, func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Give an op its derivative.

    Parameters
    ----------
    backward : function(ctx, *grads) -> the gradients of the arguments, a tuple; None where
        there is none. Written in
        ops, it can be differentiated again
    setup_context : function(ctx, inputs, output), which saves on `ctx` what backward needs

    Raises
    ------
    RuntimeError
        If the op writes to an argument.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.library import custom_op
    >>> @custom_op("doc_autograd::cube", mutates_args=())
    ... def cube(x: tensorlab.Tensor) -> tensorlab.Tensor:
    ...     return x**3
    ...
    >>> def keep(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    ...
    >>> register_autograd("doc_autograd::cube",
    ...               lambda ctx, grad: 3 * ctx.saved_tensors[0]**2 * grad, setup_context=keep)
    >>> x = tensorlab.tensor(2.0, requires_grad=True)
    >>> cube(x).backward()
    >>> x.grad
    tensor(12.)
    """
    definition = definition_of(op, "register_autograd")
    if definition.written:
        names = ", ".join(definition.parameters[k].name for k in definition.written)
        raise RuntimeError(
            f"{definition.name}: register_autograd is for ops that return new tensors, and "
            f"this one writes to {names}; "
            f"make an op that returns them, and write its result over them"
        )
    if not callable(backward):
        raise TypeError(
            f"register_autograd: backward must be a function(ctx, *grads), not {backward!r}"
        )
    definition.recorded.register(backward, setup_context)


def register_vmap(op, func=None, /, *, lib=None):
    """Give an op its batching rule, by which `vmap` calls it once for all examples of a batch.

    Parameters
    ----------
    func : function(info, in_dims, *args) -> (result, out_dims), usable as a decorator. `info`
        has `batch_size` and `randomness`; `in_dims` says for each argument in which dimension
        it has the batch, or None; `out_dims` says so of the result

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.func import vmap
    >>> from tensorlab.library import custom_op
    >>> @custom_op("chapter::double", mutates_args=())
    ... def double(x: tensorlab.Tensor) -> tensorlab.Tensor:
    ...     return x * 2
    >>> @register_vmap("chapter::double")
    ... def rule(info, in_dims, x):
    ...     return double(x), in_dims[0]
    >>> vmap(double)(tensorlab.ones(2, 3)).shape
    tensorlab.Size([2, 3])
    """
    definition = definition_of(op, "register_vmap")
    return _decorator(lambda function: batching.give(definition.name, ProgramRule(function)), func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """Say in which dtype an op takes its floating arguments where autocast is on.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.library import custom_op
    >>> @custom_op("doc_autocast::same", mutates_args=())
    ... def same(x: tensorlab.Tensor) -> tensorlab.Tensor:
    ...     return x.clone()
    ...
    >>> register_autocast("doc_autocast::same", "cpu", tensorlab.bfloat16)
    >>> with tensorlab.autocast("cpu"):
    ...     print(same(tensorlab.ones(1)).dtype)
    tensorlab.bfloat16
    """
    definition = definition_of(op, "register_autocast")
    autocast_rule.give(definition.name, (device_type, cast_inputs))


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    """Say what a mode, or a class of tensors, does with one op, instead of its
    `__torch_dispatch__`.

    Parameters
    ----------
    torch_dispatch_class : class over TorchDispatchMode: func(mode, op, types, args, kwargs); or
        over Tensor:
        func(op, types, args, kwargs). Usable as a decorator.
    """
    definition = definition_of(op, "register_torch_dispatch")

    def take(function):
        dispatch_hooks.RULES[definition.op, torch_dispatch_class] = function

    return _decorator(take, func)


# ---------------------------------------------------------------- inside a fake
class FakeImplCtx:
    """What `get_ctx()` returns inside a fake."""

    def new_dynamic_size(self, *, min=0, max=None):
        """A size that depends on values, which only the kernel knows.

        Raises
        ------
        NoDataError
            Always: tensorlab has no symbols for sizes.
        """
        raise NoDataError(
            "new_dynamic_size: the size depends on values, and meta tensors have none; "
            "tensorlab has no symbols for sizes, "
            "so such an op can't run on them"
        )

    create_unbacked_symint = new_dynamic_size


def get_ctx():
    """Return the context of the fake that is running, for sizes that depend on values."""
    return FakeImplCtx()
