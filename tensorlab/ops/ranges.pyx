"""Tensors that follow a rule: arange, linspace, logspace, eye."""
from cpython.float cimport PyFloat_Check
from libc.math cimport ceil, isfinite, isnan, pow
from libc.stdint cimport int64_t

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.dispatch.dispatch cimport run_4, run_5, run_6
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_fits, write_number
from tensorlab._core.dispatch.out_argument cimport warn_of_resizing
from tensorlab._core.dtypes cimport (
    ANY_INTEGRAL, COMPLEX, FLOAT32, FLOAT64, FLOATING, INT64, MAX_ITEMSIZE, NO_DTYPE, complex_dtype,
    default_float, dtype_code, dtype_object, is_double, is_in, kernel_dtype, real, real_dtype
)
from tensorlab._core.layout cimport int_argument, ssize
from tensorlab._core.loops.conversion cimport convert
from tensorlab._core.loops.iterator cimport put_back
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, memory_of
from tensorlab.ops.factories cimport (
    check_layout, device_or_default, dtype_or_default, finish_factory, out_options, read_number,
    row_result, strided_result
)
from tensorlab.ops.filling cimport check_number, fill_number, fill_zero

from tensorlab.errors import ShapeError, UnsupportedDType


cdef object finish_row(object made, object out, bint requires_grad, str where):
    """What the factory returns. An out= of as many elements keeps its shape."""
    if out is not None and (<TensorBase>out).numel_ == (<TensorBase?>made).numel_:
        made = made.view(out.shape)
    return finish_factory(made, out, requires_grad, where)


# ---------------------------------------------------------------- arange
cdef void count_up(real* out, ssize n, double start, double step) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = <real>(start + step * i)


cdef void count_up_integers(int64_t* out, ssize n, int64_t start, int64_t step) noexcept nogil:
    cdef ssize i
    for i in range(n):
        out[i] = start + step * i


cdef ssize count_integers(object start, object end, object step) except -1:
    """Elements of an integer range, exactly."""
    cdef object n = -((start - end) // step)
    return max(n, 0)


cdef inline bint any_float(object start, object end, object step) noexcept:
    return PyFloat_Check(start) or PyFloat_Check(end) or PyFloat_Check(step)


cdef ssize range_length(object start, object end, object step, int dtype) except -1:
    """Elements of a range. For int64 all three are cut to integers first."""
    cdef double n
    if dtype == INT64:
        if int(step) == 0:
            raise ValueError(f"arange: step {step} becomes 0 as an int64; give a floating "
                             f"dtype")
        return count_integers(int(start), int(end), int(step))
    n = ceil((<double>end - <double>start) / <double>step)
    if n > 9e18:
        raise ShapeError(f"arange: from {start} to {end} in steps of {step} are too many "
                         f"elements")
    return <ssize>n


cdef Op ARANGE = Op("arange(Scalar start, Scalar end, Scalar step=1, *, "
                    "ScalarType? dtype=None, Device? device=None) -> Tensor",
                    aten="arange.start_step")

@ARANGE.infer
def arange_infer(start, end, step, dtype, device):
    cdef int code
    cdef bint has_float
    start = read_number(start, "start", "arange", True)
    end = read_number(end, "end", "arange", True)
    step = read_number(step, "step", "arange", True)
    has_float = any_float(start, end, step)
    if step == 0:
        raise ShapeError(f"arange: step is 0, so the range from {start} to {end} would never "
                         f"end; give a step other than 0")
    if has_float and not (isfinite(start) and isfinite(end)):
        raise ShapeError(f"arange: the range from {start} to {end} is not finite")
    if (end < start if step > 0 else start < end) or (has_float and isnan(step)):
        raise ShapeError(f"arange: steps of {step} do not lead from {start} to {end}")
    code = dtype_code(dtype, default_float() if has_float else INT64)
    if not is_in(code, ANY_INTEGRAL | FLOATING):
        raise UnsupportedDType(f"arange: not implemented for {dtype_object(code).name}")
    if is_in(code, ANY_INTEGRAL):
        check_fits(start, INT64, "arange")
        check_fits(step, INT64, "arange")
    return row_result(range_length(start, end, step, code), code, device, "arange")

@ARANGE.kernel
def arange_kernel(TensorBase out, start, end, step, dtype, device):
    cdef int kernel = kernel_dtype(out.dtype_) if is_in(out.dtype_, FLOATING) else INT64
    cdef TensorBase target = out if kernel == out.dtype_ else empty_beside(out, kernel, 1, out.sizes)
    start, step = read_number(start, "start", "arange", True), read_number(step, "step", "arange", True)
    if kernel == INT64:
        count_up_integers(<int64_t*>memory_of(target), out.numel_, int(start), int(step))
    elif is_double(kernel):
        count_up[double](<double*>memory_of(target), out.numel_, start, step)
    else:
        count_up[float](<float*>memory_of(target), out.numel_, start, step)
    put_back(out, target)

def arange(*bounds, start=None, end=None, step=None, out=None, dtype=None, layout=None,
           device=None, bint requires_grad=False, pin_memory=False):
    """Numbers from `start` up to, and without, `end`: `arange(end)`, `arange(start, end)` or
    `arange(start, end, step)`.

    Parameters
    ----------
    start, end, step : numbers; 0 and 1 unless given for start and step
    dtype : dtype; int64 if all are integers, else the default floating type

    Raises
    ------
    ShapeError
        If the step is 0 or leads away from `end`, or a bound is infinite.

    >>> import tensorlab
    >>> tensorlab.arange(1, 2, 0.5)
    tensor([1.0000, 1.5000])
    """
    if len(bounds) == 1 and end is None:
        end = bounds[0]
    elif len(bounds) == 1 and start is None:
        start = bounds[0]
    elif (len(bounds) in (2, 3) and start is None and end is None
          and (step is None or len(bounds) == 2)):
        start, end = bounds[:2]
        step = bounds[2] if len(bounds) == 3 else step
    elif len(bounds) > 0:
        raise TypeError("arange: give end, or start and end, or start, end and step, each once")
    if end is None:
        raise TypeError("arange: end is needed, as in arange(5)")
    start = 0 if start is None else read_number(start, "start", "arange", True)
    end = read_number(end, "end", "arange", True)
    step = 1 if step is None else read_number(step, "step", "arange", True)
    check_layout(layout, "arange")
    if out is not None:
        dtype, device = out_options(out, dtype, device, requires_grad, "arange")
    if dtype is None and any_float(start, end, step):
        dtype = dtype_or_default(dtype)
    made = run_5(ARANGE, start, end, step, dtype, device_or_default(device))
    if out is not None and (<TensorBase>out).numel_ != (<TensorBase?>made).numel_:
        warn_of_resizing("arange", <TensorBase>out, 1, (<TensorBase>made).sizes)
    return finish_row(made, out, requires_grad, "arange")


# ---------------------------------------------------------------- linspace and logspace
cdef void interpolate(real* out, ssize n, real start, real end) noexcept nogil:
    """From both ends towards the middle, so that the last element is exactly `end`."""
    cdef real step = (end - start) / <real>(n - 1)
    cdef ssize i
    for i in range(n // 2):
        out[i] = c_math.fma(step, <real>i, start)
    for i in range(n // 2, n):
        out[i] = c_math.fma(-step, <real>(n - 1 - i), end)


cdef double rounded(double x, int dtype) noexcept nogil:
    """The number of a type that is nearest to x."""
    cdef char[MAX_ITEMSIZE] element
    convert(element, dtype, 1, &x, FLOAT64, 1, 1)
    convert(&x, FLOAT64, 1, element, dtype, 1, 1)
    return x


cdef void interpolate_half(double* out, ssize n, double start, double end, int dtype) noexcept nogil:
    """From both ends in a half type, which has no arithmetic: each step is rounded to it."""
    cdef double step = rounded(rounded(end - start, dtype) / rounded(n - 1, dtype), dtype)
    cdef ssize i
    for i in range(n // 2):
        out[i] = start + rounded(step * rounded(i, dtype), dtype)
    for i in range(n // 2, n):
        out[i] = end - rounded(step * rounded(n - 1 - i, dtype), dtype)


cdef void interpolate_exponents(double* out, ssize n, double start, double end, int dtype) noexcept nogil:
    """In double, whatever the type of the powers will be, but for the distance between the ends."""
    cdef double step = rounded(end - start, dtype) / (n - 1) if n > 1 else 0
    cdef ssize i
    for i in range(n // 2):
        out[i] = start + step * i
    for i in range(n // 2, n):
        out[i] = end - step * (n - 1 - i)


cdef double as_element(object value, int dtype, str where) except? -1:
    """A number as it is in a type, which must hold it."""
    cdef char[MAX_ITEMSIZE] element
    cdef double x
    check_number(value, dtype, where)
    if is_in(dtype, FLOATING):
        return rounded(value, dtype)
    write_number(value, dtype, element)
    convert(&x, FLOAT64, 1, element, dtype, 1, 1)
    return x


cdef void raise_to(double* x, ssize n, double base) noexcept nogil:
    cdef ssize i
    for i in range(n):
        x[i] = pow(base, x[i])


cdef Op LINSPACE = Op("linspace(Scalar start, Scalar end, int steps, *, "
                      "ScalarType? dtype=None, Device? device=None) -> Tensor")
cdef Op LOGSPACE = Op("logspace(Scalar start, Scalar end, int steps, float base=10.0, *, "
                      "ScalarType? dtype=None, Device? device=None) -> Tensor")

cdef TensorBase space_result(object start, object end, object steps, object dtype, object device, str where):
    cdef ssize n = int_argument(steps, where, "steps")
    cdef int code = dtype_code(dtype, default_float())
    start, end = read_number(start, "start", where, True), read_number(end, "end", where, True)
    if n < 0:
        raise ShapeError(f"{where}: steps is {n}; it must be at least 0")
    if not is_in(code, ANY_INTEGRAL | FLOATING):
        raise UnsupportedDType(f"{where}: not implemented for {dtype_object(code).name}")
    if n > 1:
        check_number(start, code, where)
        check_number(end, code, where)
    return row_result(n, code, device, where)

cdef int space_to(TensorBase out, object start, object end, object base, str where) except -1:
    """Write a row of numbers, or of powers of `base` unless that is None."""
    cdef TensorBase target = out
    cdef ssize n = out.numel_
    cdef double first, last
    cdef int code = out.dtype_
    start, end = read_number(start, "start", where, True), read_number(end, "end", where, True)
    if n == 0:
        return 0
    if n == 1 and base is None:
        return fill_number(out, start, where)
    if n == 1:                          # the exponent as it is, with its fraction
        first = last = start
    else:
        first, last = as_element(start, code, where), as_element(end, code, where)
    if base is None and code == FLOAT32:
        interpolate[float](<float*>memory_of(out), n, first, last)
        return 0
    if code != FLOAT64:
        target = empty_beside(out, FLOAT64, 1, out.sizes)
    if base is not None:
        interpolate_exponents(<double*>memory_of(target), n, first, last, code)
        raise_to(<double*>memory_of(target), n, base)
    elif is_in(code, FLOATING) and code != FLOAT64:
        interpolate_half(<double*>memory_of(target), n, first, last, code)
    else:
        interpolate[double](<double*>memory_of(target), n, first, last)
    put_back(out, target)
    return 0

@LINSPACE.infer
def linspace_infer(start, end, steps, dtype, device):
    return space_result(start, end, steps, dtype, device, "linspace")

@LINSPACE.kernel
def linspace_kernel(TensorBase out, start, end, steps, dtype, device):
    space_to(out, start, end, None, "linspace")

@LOGSPACE.infer
def logspace_infer(start, end, steps, base, dtype, device):
    return space_result(start, end, steps, dtype, device, "logspace")

@LOGSPACE.kernel
def logspace_kernel(TensorBase out, start, end, steps, base, dtype, device):
    space_to(out, start, end, base, "logspace")

cdef bint is_complex_row(object start, object end, object dtype):
    return isinstance(as_complex(start), complex) or isinstance(as_complex(end), complex) or (
        dtype is not None and is_in(dtype_code(dtype, NO_DTYPE), COMPLEX))

cdef object as_complex(object number):
    """The number of a complex 0-d tensor; anything else as it is."""
    return number.item() if isinstance(number, TensorBase) and is_in((<TensorBase>number).dtype_, COMPLEX) else number

cdef object complex_space(object start, object end, object steps, object dtype, object device):
    """A row of complex numbers, whose real and imaginary parts are at equal distances."""
    cdef int code = complex_dtype(default_float()) if dtype is None else dtype_code(dtype, NO_DTYPE)
    start, end = [one.item() if isinstance(one, TensorBase) else one for one in (start, end)]
    kind = dtype_object(real_dtype(code))
    parts = [linspace(first, last, steps, dtype=kind, device=device)
             for first, last in ((start.real, end.real), (start.imag, end.imag))]
    return parts[0] + parts[1] * 1j


def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None,
             bint requires_grad=False, pin_memory=False):
    """`steps` numbers at equal distances from `start` to `end`, both included.

    >>> import tensorlab
    >>> tensorlab.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    check_layout(layout, "linspace")
    if out is not None:
        dtype, device = out_options(out, dtype, device, requires_grad, "linspace")
    if is_complex_row(start, end, dtype):
        return finish_row(complex_space(start, end, steps, dtype, device), out, requires_grad, "linspace")
    start, end = read_number(start, "start", "linspace", True), read_number(end, "end", "linspace", True)
    made = run_5(LINSPACE, start, end, steps, dtype_or_default(dtype),
                 device_or_default(device))
    return finish_row(made, out, requires_grad, "linspace")


def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None,
             bint requires_grad=False, pin_memory=False):
    """`steps` powers of `base`, whose exponents go in equal distances from `start` to `end`,
    both included.

    >>> import tensorlab
    >>> tensorlab.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    check_layout(layout, "logspace")
    if out is not None:
        dtype, device = out_options(out, dtype, device, requires_grad, "logspace")
    if is_complex_row(start, end, dtype) or isinstance(base, complex):
        return finish_row(base ** complex_space(start, end, steps, dtype, device), out, requires_grad, "logspace")
    start, end = read_number(start, "start", "logspace", True), read_number(end, "end", "logspace", True)
    made = run_6(LOGSPACE, start, end, steps, base, dtype_or_default(dtype),
                 device_or_default(device))
    return finish_row(made, out, requires_grad, "logspace")


# ---------------------------------------------------------------- eye
cdef Op EYE = Op("eye(int n, int? m=None, *, ScalarType? dtype=None, Device? device=None) "
                 "-> Tensor", aten="eye.m")

@EYE.infer
def eye_infer(n, m, dtype, device):
    cdef ssize[2] sizes
    sizes[0] = int_argument(n, "eye", "n")
    sizes[1] = sizes[0] if m is None else int_argument(m, "eye", "m")
    if sizes[0] < 0 or sizes[1] < 0:
        raise ShapeError(f"eye: {sizes[0]} rows and {sizes[1]} columns are asked for; both "
                         f"must be at least 0")
    return strided_result(dtype_code(dtype, default_float()), 2, sizes, NULL, device, "eye")

@EYE.kernel
def eye_kernel(TensorBase out, n, m, dtype, device):
    cdef ssize length = min(out.sizes[0], out.sizes[1]), stride = out.sizes[1] + 1
    fill_zero(out)
    fill_number(alias_as(out, 1, &length, &stride, out.data_), 1, "eye")

def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, bint requires_grad=False,
        pin_memory=False):
    """A matrix of `n` rows and `m` columns (as many unless given) with ones on the diagonal and
    zeros elsewhere.

    >>> import tensorlab
    >>> tensorlab.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    check_layout(layout, "eye")
    if out is not None:
        dtype, device = out_options(out, dtype, device, requires_grad, "eye")
    made = run_4(EYE, n, m, dtype_or_default(dtype), device_or_default(device))
    return finish_factory(made, out, requires_grad, "eye")
