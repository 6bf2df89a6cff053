"""Functions of each element of nested tensors: those of the values, in which all sequences lie one after the other."""

from tensorlab._tensor import Tensor
from tensorlab.nested.sequences import (
    first_nested,
    operand,
    same_sequences,
)
from tensorlab.nested.tensors import NestedTensor, rule

# ---------------------------------------------------------------- element by element
POINTWISE = [
    "abs",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addcdiv",
    "addcmul",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "celu",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "clone",
    "copysign",
    "cos",
    "cosh",
    "deg2rad",
    "detach",
    "div",
    "divide",
    "double",
    "dropout",
    "elu",
    "eq",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "feature_dropout",
    "float",
    "floor",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "frac",
    "ge",
    "gelu",
    "greater",
    "gt",
    "half",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "le",
    "leaky_relu",
    "lerp",
    "less",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logsigmoid",
    "lt",
    "masked_fill",
    "maximum",
    "minimum",
    "mish",
    "mul",
    "multiply",
    "nan_to_num",
    "ne",
    "neg",
    "negative",
    "not_equal",
    "pow",
    "rad2deg",
    "reciprocal",
    "relu",
    "relu6",
    "remainder",
    "round",
    "rrelu",
    "rsqrt",
    "rsub",
    "selu",
    "sgn",
    "sigmoid",
    "sign",
    "signbit",
    "silu",
    "sin",
    "sinc",
    "sinh",
    "softplus",
    "softshrink",
    "softsign",
    "sqrt",
    "square",
    "sub",
    "subtract",
    "tan",
    "tanh",
    "tanhshrink",
    "threshold",
    "to",
    "true_divide",
    "trunc",
    "type",
    "type_as",
    "where",
    "xlogy",
    "zeros_like",
    "ones_like",
    "empty_like",
    "full_like",
    "rand_like",
    "randn_like",
    "bfloat16",
    "long",
    "int",
    "short",
    "char",
    "byte",
    "bool",
    "cpu",
    "alpha_dropout",
    "digamma",
    "positive",
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__rsub__",
    "__rtruediv__",
    "__rdiv__",
    "__rpow__",
    "__invert__",
    "__and__",
    "__or__",
    "__xor__",
    "__pow__",
    "__truediv__",
    "__floordiv__",
    "__mod__",
    "__radd__",
    "__rmul__",
    "__neg__",
    "__abs__",
    "__rfloordiv__",
]


@rule(*POINTWISE)
def pointwise(function, *args, **kwargs):
    """A function of each element, or of those at one place."""
    given = first_nested(args, kwargs)
    is_alone = not any(isinstance(one, Tensor) and one is not given for one in args)
    x = given if is_alone else given.packed()
    name = function.__name__
    plain = [x._values if one is given else operand(name, one, x) for one in args]
    named = {key: operand(name, one, x) for key, one in kwargs.items()}
    result = function(*plain, **named)
    return given if result is given._values else x.with_values(result)


@rule(
    *[f"{name}_" for name in POINTWISE if not name.startswith("_")],
    "zero_",
    "fill_",
    "copy_",
    "normal_",
    "uniform_",
)
def pointwise_inplace(function, x, *args, **kwargs):
    """A function of each element, which writes to the first operand."""
    if not isinstance(x, NestedTensor):
        raise RuntimeError(f"{function.__name__}: a dense tensor can't take in a nested one")
    plain = [operand(function.__name__, one, x) for one in args]
    function(x._values, *plain, **kwargs)
    return x


@rule("contiguous")
def contiguous(function, x, **kwargs):
    """The same sequences without gaps, in row-major order."""
    x = x.packed()
    return x if x._values.is_contiguous() else x.with_values(x._values.contiguous())


@rule(
    "is_floating_point",
    "is_complex",
    "element_size",
    "get_device",
    "is_inference",
    "is_pinned",
    "is_signed",
    "new_tensor",
)
def question(function, x, *args, **kwargs):
    """What holds of the values, or is made with their type."""
    return function(x._values, *args, **kwargs)


@rule("numel")
def numel(function, x):
    """How many elements all sequences have together."""
    return x.numel()


@rule("is_same_size")
def is_same_size(function, x, y):
    """Whether two nested tensors have sequences of the same lengths, and the same inner sizes."""
    return (
        isinstance(y, NestedTensor) and same_sequences(x, y) and x._values.shape == y._values.shape
    )
