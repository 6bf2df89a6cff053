"""Element types in C: names, literals and conversions, as the eager kernels have them.

Half types have no arithmetic of their own. A value of type float16 or bfloat16 is a C `float` here
that has been rounded to the half type, and only loads and stores meet the 16 bits.
"""

import math
import struct

from tensorlab._core.loops.scalar import C_TYPES

# What a value of each type is stored as; what it is calculated in is c_type.
STORED = {**C_TYPES, "float16": "uint16_t", "bfloat16": "uint16_t"}
HALF_NAMES = {"float16": "half", "bfloat16": "bfloat"}
INTEGER_BITS = {"uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
IN_KERNELS = {*INTEGER_BITS, *HALF_NAMES, "bool", "float32", "float64"}


def kernel_dtype(dtype):
    """Name the type that kernels calculate in for tensors of type `dtype`: half types go through float32."""
    return "float32" if dtype in HALF_NAMES else dtype


def c_type(dtype):
    """Return the C type of a value of type `dtype` in a calculation."""
    return STORED[kernel_dtype(dtype)]


def is_floating(dtype):
    return dtype.startswith(("float", "bfloat"))


# ------------------------------------------------------------------------------------------------ literals
def literal(value, dtype):
    """Spell a Python number as the C constant that the eager kernels would read for it, exactly."""
    if dtype == "bool":
        return str(int(bool(value)))
    if not is_floating(dtype):
        return integer_literal(int(value), INTEGER_BITS[dtype], dtype != "uint8")
    value, suffix = float(value), ""
    if kernel_dtype(dtype) == "float32":
        value, suffix = rounded_to_float32(value), "f"
    if math.isnan(value):
        return "(float)NAN" if suffix else "(double)NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = f"{value:.1f}" if value == round(value) and abs(value) < 1e6 else short_hex(value)
    return f"({text}{suffix})" if text.startswith("-") else text + suffix


def rounded_to_float32(value):
    """Round a Python float to float32; what is too large becomes infinite."""
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def short_hex(value):
    """Spell a float in hexadecimal, which is exact, without the zeros at the end of the fraction."""
    mantissa, _, exponent = value.hex().partition("p")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}p{exponent}"


def integer_literal(value, bits, is_signed):
    """Wrap a Python int to the width of a C integer and spell it."""
    value &= (1 << bits) - 1
    if is_signed and value >> (bits - 1):
        value -= 1 << bits
    if bits < 64:
        return f"({value})" if value < 0 else str(value)
    if value == -(1 << 63):
        return "(-INT64_C(9223372036854775807) - 1)"  # C has no negative literals
    return f"(-INT64_C({-value}))" if value < 0 else f"INT64_C({value})"


# ------------------------------------------------------------------------------------------------ conversions
def converted(text, source, target):
    """Convert an expression from one type to another, by the steps of _core/loops/conversion.pyx."""
    if source == target:
        return text
    if target == "bool":
        return f"({text} != 0)"
    if target in HALF_NAMES:
        return rounded(converted(text, source, "float32"), target)
    source, target = kernel_dtype(source), kernel_dtype(target)
    if is_floating(source) and not is_floating(target):
        wide = "int64" if target in ("uint8", "int64") else "int32"
        return f"({STORED[target]})to_{wide}_{source}({text})"
    return text if c_type(source) == c_type(target) else f"({c_type(target)}){text}"


def rounded(text, dtype):
    """Round a float expression to a half type; other types stay as they are."""
    if dtype not in HALF_NAMES:
        return text
    name = HALF_NAMES[dtype]
    return f"tl_float_of_{name}(tl_{name}_of_float({text}))"


def loaded(text, dtype):
    """Read a stored element as a value."""
    return f"tl_float_of_{HALF_NAMES[dtype]}({text})" if dtype in HALF_NAMES else text


def stored(text, dtype):
    """Turn a value into what is stored for it."""
    return f"tl_{HALF_NAMES[dtype]}_of_float({text})" if dtype in HALF_NAMES else text
