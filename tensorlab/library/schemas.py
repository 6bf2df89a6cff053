"""Schemas of functions: read off the annotations of a Python function, as `custom_op` does."""

import inspect
import types
import typing
from collections.abc import Sequence

from tensorlab._core.device import device
from tensorlab._core.dispatch.schema import spell_constant
from tensorlab._core.dtypes import dtype
from tensorlab._tensor import Tensor

# What an annotation of a parameter becomes; each also as Optional.
BASIC = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    dtype: "ScalarType",
    device: "Device",
}
NUMBER = {int, float, bool}


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """Return the schema of a function, from the annotations of its parameters and of its
    result.

    Parameters
    ----------
    prototype_function : function, each parameter annotated: Tensor, int, float, bool, str,
        dtype, device, a number
        (`int | float | bool`), a Sequence of one of these, or an Optional. It returns None, a
        Tensor, a list of Tensors, a number, or a tuple of these
    mutates_args : iterable of str, the parameters that it writes to; "unknown" for all its
        tensors
    op_name : str, what stands before the parameters

    Returns
    -------
    str, in PyTorch's schema language

    Raises
    ------
    ValueError
        For an annotation that is missing or that no schema can say, for defaults that aren't
        constants, and for names in `mutates_args` that are no parameters, or are no tensors.

    >>> from tensorlab import Tensor
    >>> def clip(x: Tensor, low: float, high: float = 1.0) -> Tensor: ...
    >>> infer_schema(clip, mutates_args=(), op_name="clip")
    'clip(Tensor x, float low, float high=1.0) -> Tensor'
    """
    name = getattr(prototype_function, "__name__", repr(prototype_function))
    try:
        hints = typing.get_type_hints(prototype_function)
    except NameError as error:
        raise ValueError(
            f"infer_schema: an annotation of {name} names what does not exist: {error}"
        ) from None
    signature = inspect.signature(prototype_function)
    written = _written(mutates_args, signature, hints, name)
    parts, star = [], False
    for k, parameter in enumerate(signature.parameters.values()):
        if parameter.kind in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
            parameter.POSITIONAL_ONLY,
        ):
            raise ValueError(
                f"infer_schema: {name} takes {parameter}; each parameter of an op has a name "
                f"and stands for one value"
            )
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        kind = _spelled(hints, parameter.name, f"the parameter {parameter.name!r} of {name}")
        if parameter.name in written:
            kind = kind.replace("Tensor", f"Tensor(a{k}!)", 1)
        parts.append(f"{kind} {parameter.name}{_default(parameter, name)}")
    result = _result(hints.get("return", inspect.Parameter.empty), signature, name)
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


def _written(mutates_args, signature, hints, name):
    if isinstance(mutates_args, str):
        if mutates_args != "unknown":
            raise ValueError(
                f"infer_schema: mutates_args is the string {mutates_args!r}; give a tuple of "
                f"names, ({mutates_args!r},)"
            )
        return {one for one in signature.parameters if "Tensor" in _spell(hints.get(one), one)}
    written = set(mutates_args)
    for one in sorted(written):
        if one not in signature.parameters:
            raise ValueError(
                f"infer_schema: mutates_args names {one!r}, and {name} has the parameters "
                f"{', '.join(signature.parameters)}"
            )
        if "Tensor" not in _spell(hints.get(one), one):
            raise ValueError(
                f"infer_schema: mutates_args names {one!r}, which is no Tensor in {name}"
            )
    return written


def _spelled(hints, parameter, where):
    if parameter not in hints:
        raise ValueError(
            f"infer_schema: {where} has no annotation; write its type, such as {parameter}: Tensor"
        )
    return _spell(hints[parameter], where)


def _spell(annotation, where):
    """The word for an annotation."""
    if annotation in BASIC:
        return BASIC[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        kinds = [one for one in arguments if one is not type(None)]
        optional = "?" if len(kinds) < len(arguments) else ""
        if set(kinds) == NUMBER:
            return "Scalar" + optional
        if len(kinds) == 1 and optional:
            return _spell(kinds[0], where) + "?"
    if origin in (list, Sequence) and len(arguments) == 1:
        item = _spell(arguments[0], where)
        if not item.endswith("]") and item != "Tensor??":
            return item + "[]"
    if origin is tuple and arguments and not (len(arguments) == 2 and arguments[1] is ...):
        raise ValueError(
            f"infer_schema: {where} is a tuple; write Sequence[...] for several values of one type"
        )
    raise ValueError(
        f"infer_schema: {where} is annotated {annotation}, which no schema can say; use "
        f"Tensor, int, float, bool, "
        f"str, dtype, device, a Sequence or an Optional of one"
    )


def _default(parameter, name):
    value = parameter.default
    if value is parameter.empty:
        return ""
    if isinstance(value, device):
        value = str(value)
    if value is None or isinstance(value, int | float | str | dtype):
        return f"={spell_constant(value)}"
    raise ValueError(
        f"infer_schema: the default of {parameter.name!r} of {name} is {value!r}; it must be a "
        f"number, a string, a dtype, a device or None"
    )


def _result(annotation, signature, name):
    if (
        annotation is inspect.Parameter.empty
        and signature.return_annotation is inspect.Parameter.empty
    ):
        raise ValueError(
            f"infer_schema: {name} doesn't say what it returns; annotate it, `-> Tensor` or "
            f"`-> None`"
        )
    if annotation is None or annotation is type(None) or annotation is inspect.Parameter.empty:
        return "()"
    if typing.get_origin(annotation) is tuple:
        return f"({', '.join(_result_item(one, name) for one in typing.get_args(annotation))})"
    return _result_item(annotation, name)


def _result_item(annotation, name):
    spelled = _spell(annotation, f"the result of {name}")
    if spelled not in ("Tensor", "Tensor[]", "SymInt", "float", "bool", "Scalar"):
        raise ValueError(
            f"infer_schema: {name} returns {annotation}; an op returns Tensors, lists of them, "
            f"or numbers"
        )
    return spelled
