"""opcheck: does an op do what its schema, its fake and its derivative say?"""

import warnings

from tensorlab._core.device import META
from tensorlab._core.device import device as Device
from tensorlab._core.dispatch.dispatch import shares_storage
from tensorlab._core.dispatch.facets import sources
from tensorlab._core.dispatch.overloads import OpOverload, OpOverloadPacket
from tensorlab._pytree import tree_leaves, tree_map, tree_map_only
from tensorlab._tensor import Tensor
from tensorlab.autograd import grad
from tensorlab.compiler import compile
from tensorlab.compiler.capture.graph_builder import described
from tensorlab.errors import NoDataError
from tensorlab.library.custom_ops import CustomOpDef
from tensorlab.ops.random_factories import randn_like
from tensorlab.testing import assert_close

TESTS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


class OpCheckError(Exception):
    """An op does not do what it says."""


def opcheck(
    op,
    args,
    kwargs=None,
    *,
    test_utils=TESTS,
    raise_exception=True,
    atol=None,
    rtol=None,
):
    """Try an op on one set of arguments, and compare what it does with what it says.

    Parameters
    ----------
    op : OpOverload, OpOverloadPacket with one overload, or what `custom_op` returned
    args, kwargs : its arguments; they are not changed
    test_utils : the tests, or one of them

        - "test_schema": it writes to the arguments that the schema marks, to no others, and its results are new
        - "test_autograd_registration": gradients flow from the results to the arguments, with the shapes of these
        - "test_faketensor": on meta tensors it returns what it returns on real ones: shapes, strides, dtypes
        - "test_aot_dispatch_dynamic": compiled, it gives the same results and gradients
    raise_exception : bool; else mistakes are returned
    atol, rtol : float, how far compiled results may be from others

    Returns
    -------
    dict, name of a test: "SUCCESS", or the exception

    Raises
    ------
    OpCheckError
        At the first test that fails.

    >>> import tensorlab
    >>> opcheck(tensorlab.ops.aten.tanh.default, (tensorlab.ones(2, requires_grad=True),))["test_schema"]
    'SUCCESS'
    """
    overload = _overload(op)
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    for name in names:
        if name not in TESTS:
            raise ValueError(f"opcheck: {name!r} is no test; there are {', '.join(TESTS)}")
    results = {}
    for name in names:
        try:
            CHECKS[name](overload, tuple(args), dict(kwargs or {}), atol=atol, rtol=rtol)
            results[name] = "SUCCESS"
        except Exception as error:
            mistake = (
                error
                if isinstance(error, OpCheckError)
                else OpCheckError(
                    f"{overload.name()}: {name} failed: {type(error).__name__}: {error}"
                )
            )
            if raise_exception:
                raise mistake from error
            results[name] = mistake
    return results


def _overload(op):
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        names = op.overloads()
        if len(names) > 1:
            raise ValueError(
                f"opcheck: {op} has the overloads {', '.join(names)}; name one of them"
            )
        return getattr(op, names[0])
    if not isinstance(op, OpOverload):
        raise TypeError(
            f"opcheck: an op is needed, such as ops.mylib.clip.default or what custom_op "
            f"returned, not {op!r:.60}"
        )
    return op


# ---------------------------------------------------------------- copies of arguments
def _copies(tree, requires_grad=None):
    """The arguments with tensors of their own: leaves, which need a gradient if theirs do."""

    def copy(x):
        made = x.detach().clone()
        return made.requires_grad_(
            x.requires_grad if requires_grad is None else requires_grad and x.is_floating_point()
        )

    return tree_map_only(Tensor, copy, tree)


def _tensors(tree):
    return [one for one in tree_leaves(tree) if isinstance(one, Tensor)]


def _marked(overload, args, kwargs):
    """(name, tensors, is it written, does a result share its memory) of each argument."""
    for k, one in enumerate(overload._schema.arguments):
        value = args[k] if k < len(args) else kwargs.get(one.name)
        alias = one.alias_info
        yield one.name, _tensors(value), alias is not None and alias.is_write, alias is not None


# ---------------------------------------------------------------- the four tests
def check_schema(overload, args, kwargs, **_):
    """Writes and shared memory are as the schema says."""
    args, kwargs = _copies(args, False), _copies(kwargs, False)
    before = _copies((args, kwargs))
    results = _tensors(overload(*args, **kwargs))
    for (name, now, written, shared), (_, old, _, _) in zip(
        _marked(overload, args, kwargs), _marked(overload, *before), strict=True
    ):
        for one, other in zip(now, old, strict=True):
            if not written and not _is_equal(one, other):
                raise OpCheckError(
                    f"{overload.name()}: it changed the argument {name!r}, which the schema "
                    f"doesn't mark with (a!): "
                    f"{overload._schema}"
                )
            if not shared and any(made is one or shares_storage(made, one) for made in results):
                raise OpCheckError(
                    f"{overload.name()}: a result shares memory with the argument {name!r}, "
                    f"and the schema says that it is "
                    f"new: {overload._schema}"
                )


def _is_equal(one, other):
    try:
        assert_close(one, other, rtol=0, atol=0, equal_nan=True)
    except AssertionError:
        return False
    return True


def check_gradients(overload, args, kwargs, **_):
    """Gradients flow, if an argument needs one."""
    args, kwargs = _copies(args), _copies(kwargs)
    leaves = [one for one in _tensors((args, kwargs)) if one.requires_grad]
    if (
        not leaves
        or overload.is_mutable
        or not (overload.op.derivatives or overload.op.recorded_by)
    ):
        return
    results = [one for one in _tensors(overload(*args, **kwargs)) if one.is_floating_point()]
    if not results:
        return
    followed = [one for one in results if one.requires_grad]
    if not followed:
        raise OpCheckError(
            f"{overload.name()}: an argument requires grad, and no result does; the op has no "
            f"derivative that autograd "
            f"knows of. Register one with register_autograd"
        )
    gradients = grad(followed, leaves, [randn_like(one) for one in followed], allow_unused=True)
    if all(one is None for one in gradients):
        raise OpCheckError(f"{overload.name()}: its backward returned no gradient for any argument")
    for leaf, gradient in zip(leaves, gradients, strict=True):
        if gradient is not None and gradient.shape != leaf.shape:
            raise OpCheckError(
                f"{overload.name()}: the gradient of an argument of shape {tuple(leaf.shape)} "
                f"has the shape "
                f"{tuple(gradient.shape)}"
            )


def _to_meta(value):
    return (
        value.to("meta")
        if isinstance(value, Tensor)
        else META
        if isinstance(value, Device)
        else value
    )


def check_fake(overload, args, kwargs, **_):
    """Meta tensors in, the same shapes, strides and dtypes out; unless the result depends on
    values.
    """
    args, kwargs = _copies(args, False), _copies(kwargs, False)
    fake_args, fake_kwargs = tree_map(_to_meta, (args, kwargs))
    try:
        made = _tensors(overload(*fake_args, **fake_kwargs))
    except NoDataError:
        return
    real = _tensors(overload(*args, **kwargs))
    if len(made) != len(real):
        raise OpCheckError(
            f"{overload.name()}: its fake returns {len(made)} tensors, and its kernel {len(real)}"
        )
    for k, (one, other) in enumerate(zip(made, real, strict=True)):
        if one.device.type != "meta" and _tensors((args, kwargs)):
            raise OpCheckError(
                f"{overload.name()}: result {k} of its fake is on {one.device}, not on meta"
            )
        for what, fake, true in zip(
            ("shape", "strides", "dtype"), described(one), described(other), strict=True
        ):
            if fake != true:
                kernel_at, fake_at = sources.of(overload.op)()
                raise OpCheckError(
                    f"{overload.name()}: result {k} has the {what} {true}, and its fake says "
                    f"{fake}; let the fake, {fake_at}, say what the kernel does, {kernel_at}"
                )


def check_compiled(overload, args, kwargs, *, atol, rtol):
    """Compiled, the same results and gradients."""

    def call(*arguments, **named):
        return overload(*arguments, **named)

    tolerance = {} if atol is None and rtol is None else {"atol": atol or 0.0, "rtol": rtol or 0.0}
    if overload.is_mutable:  # of a leaf that requires grad, autograd refuses it
        args, kwargs = _copies((args, kwargs), False)
    with warnings.catch_warnings():  # what can't be compiled runs as Python, and is right as well
        warnings.filterwarnings("ignore", message="compile: .* runs as Python")
        eager, compiled = (_run(function, args, kwargs) for function in (call, compile(call)))
    for what, ours, theirs in zip(
        ("results", "gradients", "arguments"), compiled, eager, strict=True
    ):
        if len(ours) != len(theirs):
            raise OpCheckError(
                f"{overload.name()}: compiled it has {len(ours)} {what}, and else {len(theirs)}"
            )
        for one, other in zip(ours, theirs, strict=True):
            try:
                assert_close(one, other, equal_nan=True, **tolerance)
            except AssertionError as error:
                raise OpCheckError(
                    f"{overload.name()}: compiled it has other {what}: {error}"
                ) from None


def _run(function, args, kwargs):
    """(results, gradients, arguments afterwards)"""
    args, kwargs = _copies(args), _copies(kwargs)
    results = _tensors(function(*args, **kwargs))
    leaves = [one for one in _tensors((args, kwargs)) if one.requires_grad]
    followed = [one for one in results if one.requires_grad]
    gradients = []
    if leaves and followed:
        ones = [one.detach() * 0 + 1 for one in followed]
        found = grad(followed, leaves, ones, allow_unused=True)
        gradients = [one for one in found if one is not None]
    return (
        [one.detach() for one in results],
        gradients,
        [one.detach() for one in _tensors((args, kwargs))],
    )


CHECKS = dict(zip(TESTS, (check_schema, check_gradients, check_fake, check_compiled), strict=True))
