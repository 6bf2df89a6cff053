"""Element types, their classes, their promotion, and the default floating type.

A dtype is a Python object for users (`tensorlab.float32`) and a small integer code everywhere in C. What is known of a type is
its row in ROWS, and its bit in the classes of dtypes.pxd.
"""
cimport cython
import math

from tensorlab.errors import DTypeError, UnsupportedDType


# A row for each code: the name, the bytes of an element, its letter in the module struct (None:
# it has none), and the types that promote to it. So do those that promote to these, and two
# types meet in the row to which fewest promote.
cdef tuple ROWS = (
    ("bool",     1, b"?",  ()),
    ("uint8",    1, b"B",  ("bool",)),
    ("int8",     1, b"b",  ("bool",)),
    ("int16",    2, b"h",  ("uint8", "int8")),
    ("int32",    4, b"i",  ("int16",)),
    ("int64",    8, b"q",  ("int32",)),
    ("float16",  2, b"e",  ("int64", "uint16", "uint32", "uint64")),
    ("bfloat16", 2, None,  ("int64", "uint16", "uint32", "uint64")),
    ("float32",  4, b"f",  ("float16", "bfloat16")),
    ("float64",  8, b"d",  ("float32",)),
    ("complex64",  8, None, ("float32", "complex32")),
    ("complex128", 16, None, ("complex64", "float64")),
    ("uint16",   2, b"H",  ("bool",)),
    ("uint32",   4, b"I",  ("bool",)),
    ("uint64",   8, b"Q",  ("bool",)),
    ("float8_e4m3fn",   1, None, ("bool",)),
    ("float8_e5m2",     1, None, ("bool",)),
    ("float8_e4m3fnuz", 1, None, ("bool",)),
    ("float8_e5m2fnuz", 1, None, ("bool",)),
    ("float8_e8m0fnu",  1, None, ("bool",)),
    ("complex32",  4, None, ("float16",)),
)
cdef tuple NAMES = tuple([row[0] for row in ROWS])
cdef tuple CATEGORIES = (BOOLEAN, ANY_INTEGRAL, ANY_FLOATING, COMPLEX)      # lowest first


@cython.binding(False)
cdef class dtype:
    """The type of a tensor's elements, such as `tensorlab.float32`.

    Attributes
    ----------
    name : str
    itemsize : int, bytes of one element
    is_floating_point, is_signed, is_complex : bool

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.float16.itemsize, tensorlab.float16.is_floating_point, tensorlab.int8.is_signed
    (2, True, True)
    """

    def __init__(self):
        raise TypeError("dtype: cannot be made; use one that exists, such as tensorlab.float32")

    @property
    def is_floating_point(self):
        """True for float16, bfloat16, float32 and float64, and for the types of 8 bits."""
        return is_in(self.code, ANY_FLOATING)

    @property
    def is_signed(self):
        """True if the type can hold negative numbers."""
        return not is_in(self.code, BOOLEAN | UNSIGNED | 1 << FLOAT8_E8M0FNU)

    @property
    def is_complex(self):
        """True for complex32, complex64 and complex128."""
        return is_in(self.code, COMPLEX)

    def to_real(self):
        """The type of a complex number's parts: float32 for complex64. A real type is its own."""
        return dtype_object(real_dtype(self.code))

    def to_complex(self):
        """The complex type with parts of this type: complex64 for float32. A complex type is its own."""
        return dtype_object(complex_dtype(self.code))

    def __repr__(self):
        return "tensorlab." + self.name

    def __reduce__(self):
        return _dtype_by_name, (self.name,)


def _dtype_by_name(name):
    """Find a dtype by its name; what a pickle refers to."""
    return BY_NAME[name]


cdef dtype make_dtype(int code):
    cdef dtype made = dtype.__new__(dtype)
    made.name, made.itemsize, made.letter, _ = ROWS[code]
    made.code = code
    return made


DTYPES = tuple([make_dtype(code) for code in range(len(ROWS))])
BY_NAME = {row[0]: kind for row, kind in zip(ROWS, DTYPES)}
cdef tuple objects = DTYPES


cdef int fill_tables() except -1:
    """By code: sizes, categories, and in which type two types meet."""
    cdef int a, b
    cdef list sources = [sources_of(row[0]) for row in ROWS]
    for a, (_, size, _, _) in enumerate(ROWS):
        item_size[a] = size
        category[a] = [is_in(a, types) for types in CATEGORIES].index(True)
        for b in range(NUM_DTYPES):
            if is_refused(a, b) or is_refused(b, a):
                promotion[a][b] = NO_DTYPE
                continue
            both = [(len(found), code) for code, found in enumerate(sources) if {a, b} <= found]
            promotion[a][b] = min(both)[1]
    return 0


cdef set sources_of(str name):
    """The codes of a type and of those that promote to it."""
    cdef int code = NAMES.index(name)
    return {code}.union(*[sources_of(narrower) for narrower in ROWS[code][3]])


cdef bint is_refused(int a, int b):
    """Does a, of a type that few ops take, have no common type with b? As in PyTorch, it meets floating types at most; and bool,
    which masks have."""
    if a == b or b == BOOL:
        return False
    return is_in(a, FLOAT8) or (is_in(a, WIDE_UNSIGNED) and not is_in(b, FLOATING))


cdef int refuse_promotion(int a, int b) except -1:
    raise DTypeError(f"{dtype_object(a)} and {dtype_object(b)} have no common type; convert one of the two with .to()")


# Code that moves elements without knowing their type has a loop for each of these sizes (`word` in dtypes.pxd).
if (len(ROWS) != NUM_DTYPES or not {row[1] for row in ROWS} <= {1, 2, 4, 8, MAX_ITEMSIZE}
        or [sum([is_in(code, types) for types in CATEGORIES]) for code in range(NUM_DTYPES)] != [1] * NUM_DTYPES):
    raise ImportError("tensorlab: a dtype has a row of 1, 2, 4, 8 or 16 bytes, and is in one category; see dtypes.pyx")
fill_tables()


cdef int complex_dtype(int code) except -1:
    """The complex type whose parts have this type; of bfloat16, which has none, the one that holds it."""
    if code == FLOAT64 or code == COMPLEX128:
        return COMPLEX128
    if code == FLOAT16 or code == COMPLEX32:
        return COMPLEX32
    if is_in(code, FLOATING) or code == COMPLEX64:
        return COMPLEX64
    raise UnsupportedDType(f"no complex type has parts of {dtype_object(code)}; convert with .float() first")


cdef int refuse_loop(int code) except -1:
    raise UnsupportedDType(f"not implemented for {dtype_object(code)}; {way_out(dtype_object(code))} first")


def way_out(dtype type not None, str conversion=".to()"):
    """What to do with a tensor of a type that a function isn't made for."""
    return "take .real, .imag or .abs()" if is_in(type.code, COMPLEX) else f"convert with {conversion}"


cdef dtype dtype_object(int code):
    return <dtype>objects[code]


# ---------------------------------------------------------------- the default floating type
cdef int default_code = FLOAT32

cdef int default_float() noexcept:
    return default_code

def get_default_dtype():
    """The floating type that Python numbers and factories take when none is named.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.get_default_dtype()
    tensorlab.float32
    """
    return dtype_object(default_code)

def set_default_dtype(d):
    """Set the floating type that Python numbers and factories take when none is named.

    Raises
    ------
    TypeError
        If `d` is not a floating dtype.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.set_default_dtype(tensorlab.float64)
    >>> tensorlab.zeros(1).dtype
    tensorlab.float64
    >>> tensorlab.set_default_dtype(tensorlab.float32)
    """
    global default_code
    cdef int code = dtype_code(d, NO_DTYPE)
    if not is_in(code, FLOATING):
        raise TypeError(f"set_default_dtype: only floating-point types are supported as the default type, not {d!r}")
    default_code = code


cdef int dtype_code(object given, int default) except -1:
    """The code of a dtype argument: a dtype, Python's bool, int, float or complex, or None for the default."""
    if given is None:
        return default
    if isinstance(given, dtype):
        return (<dtype>given).code
    if given is float:
        return FLOAT64
    if given is complex:
        return complex_dtype(default_code)
    if given is int:
        return INT64
    if given is bool:
        return BOOL
    raise TypeError(f"dtype must be a tensorlab.dtype such as tensorlab.float32, not {type(given).__name__} {given!r}")


def promote_types(type1, type2):
    """The smallest dtype that holds both, as binary operators choose it.

    Raises
    ------
    DTypeError
        If there is none: uint16, uint32 and uint64 meet floating types only, and those of 8 bits only themselves.

    >>> import tensorlab
    >>> tensorlab.promote_types(tensorlab.uint8, tensorlab.int8)
    tensorlab.int16
    """
    if type1 is None or type2 is None:
        raise TypeError("promote_types: two dtypes are needed, and one is None")
    return dtype_object(common_dtype(dtype_code(type1, NO_DTYPE), dtype_code(type2, NO_DTYPE)))


# ---------------------------------------------------------------- limits of a type
class Limits:
    """What iinfo and finfo share: two of the same type are equal."""

    def __eq__(self, other):
        return self.dtype == other.dtype if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash(self.dtype)


class iinfo(Limits):
    """The range of an integer type: min, max, bits, dtype.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.iinfo(tensorlab.int8).min, tensorlab.iinfo(tensorlab.int8).max
    (-128, 127)
    """

    def __init__(self, type):
        cdef int code = dtype_code(type, NO_DTYPE)
        if not is_in(code, ANY_INTEGRAL):
            raise TypeError(f"iinfo: needs an integer dtype, not {type!r}; use finfo for floating types")
        self.bits = 8 * item_size[code]
        self.min = 0 if is_in(code, UNSIGNED) else -(1 << (self.bits - 1))
        self.max = (1 << self.bits) + self.min - 1
        self.dtype = NAMES[code]

    def __repr__(self):
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


# Of each floating type: bits after the point, the exponents of the smallest normal and of the largest number, and what the
# largest one has before the exponent.
cdef dict FORMATS = {
    FLOAT16: (10, -14, 15, 2 - 2.0 ** -10), BFLOAT16: (7, -126, 127, 2 - 2.0 ** -7), FLOAT32: (23, -126, 127, 2 - 2.0 ** -23),
    FLOAT64: (52, -1022, 1023, 2 - 2.0 ** -52),
    FLOAT8_E4M3FN: (3, -6, 8, 1.75), FLOAT8_E5M2: (2, -14, 15, 1.75), FLOAT8_E4M3FNUZ: (3, -7, 7, 1.875),
    FLOAT8_E5M2FNUZ: (2, -15, 15, 1.75), FLOAT8_E8M0FNU: (0, -127, 127, 1.0)}


class finfo(Limits):
    """The limits of a floating type.

    It has min, max, eps, tiny, smallest_normal, resolution, bits and dtype. `eps` is the
    distance from 1 to the next larger number (IEEE 754).

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.finfo(tensorlab.float16).max, tensorlab.finfo(tensorlab.bfloat16).eps
    (65504.0, 0.0078125)
    >>> tensorlab.tensor(1.0) + tensorlab.finfo(tensorlab.float32).eps / 2 == 1
    tensor(True)
    """

    def __init__(self, type=None):
        cdef int code = dtype_code(type, default_code)
        code = real_dtype(code)
        if not is_in(code, ANY_FLOATING):
            raise TypeError(f"finfo: needs a floating dtype, not {type!r}; use iinfo for "
                            "integer types")
        significand, lowest, highest, most = FORMATS[code]
        self.bits = 8 * item_size[code]
        self.eps = 2.0 ** -significand
        self.max = math.ldexp(most, highest)
        self.tiny = self.smallest_normal = 2.0 ** lowest
        self.min = -self.max if dtype_object(code).is_signed else self.tiny
        self.resolution = 10.0 ** -int(math.floor(significand * math.log10(2)))
        self.dtype = NAMES[code]

    def __repr__(self):
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
                f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, "
                f"tiny={self.tiny:g}, dtype={self.dtype})")
