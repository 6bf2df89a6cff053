"""Tensors that follow a rule: arange, linspace, logspace, eye."""
from cpython.float cimport PyFloat_Check
from libc.math cimport ceil, isfinite, pow
from libc.stdint cimport int64_t

from tensorlab._core.out_argument cimport warn_of_resizing
from tensorlab._core.operands cimport as_number, refuse_internal_overlap
from tensorlab._core.dtypes cimport (
    BOOL,
    FLOAT32,
    FLOAT64,
    INT64,
    default_float,
    dtype_code,
    is_floating,
    kernel_dtype,
    real,
)
from tensorlab._core.layout cimport int_argument, ssize
from tensorlab._core.iterator cimport copy_into
from tensorlab._core.tensor cimport TensorBase, empty_beside, is_meta, memory_of
from tensorlab.ops.creation cimport start_factory
from tensorlab.ops.filling cimport fill_number, fill_zero

from tensorlab.errors import ShapeError, UnsupportedDType
from tensorlab.ops.slicing import diagonal


cdef object read_bound(object given, str name, str where):
    """A Python number from a number or a 0-d tensor."""
    cdef object value
    if isinstance(given, TensorBase):
        if (<TensorBase>given).ndim_ != 0:
            raise ShapeError(f"{where}: {name} must be a number or a 0-d tensor, not of shape {tuple(given.shape)}")
        return given.item()
    value = as_number(given)
    if value is None:
        raise TypeError(f"{where}: {name} must be a number, not {type(given).__name__}")
    return value


cdef TensorBase compute_target(TensorBase out):
    """Where the loops write: `out` itself if it is contiguous and of a fitting type, else a tensor to copy from."""
    cdef int dtype = INT64 if not is_floating(out.dtype_) else kernel_dtype(out.dtype_)
    return out if out.is_contiguous_ and out.dtype_ == dtype else empty_beside(out, dtype, out.ndim_, out.sizes)


cdef TensorBase start_row(ssize n, object out, object dtype, int default, object layout, object device, bint requires_grad,
                          str where):
    """A row of n elements; or out=, which keeps its shape if it has so many."""
    cdef TensorBase made
    if isinstance(out, TensorBase):
        refuse_internal_overlap(<TensorBase>out, where)
        if (<TensorBase>out).numel_ == n:
            made = <TensorBase>out
            return start_factory(made.ndim_, made.sizes, out, dtype, default, layout, device, requires_grad, where)
    return start_factory(1, &n, out, dtype, default, layout, device, requires_grad, where)


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


cdef ssize range_length(object start, object end, object step, int dtype) except -1:
    """Elements of a range. For int64 all three are cut to integers first."""
    cdef double n
    if dtype == INT64 and not (PyFloat_Check(start) or PyFloat_Check(end) or PyFloat_Check(step)):
        return count_integers(int(start), int(end), int(step))
    if dtype == INT64:
        if int(step) == 0:
            raise ValueError(f"arange: step {step} becomes 0 as an int64; give a floating dtype")
        return count_integers(int(start), int(end), int(step))
    n = ceil((<double>end - <double>start) / <double>step)
    if n > 9e18:
        raise ShapeError(f"arange: from {start} to {end} in steps of {step} are too many elements")
    return <ssize>n


def arange(*bounds, start=None, end=None, step=None, out=None, dtype=None, layout=None, device=None,
           bint requires_grad=False, pin_memory=False):
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
    cdef int code
    cdef ssize n
    cdef TensorBase made, target
    if len(bounds) == 1 and end is None:
        end = bounds[0]
    elif len(bounds) == 1 and start is None:
        start = bounds[0]
    elif len(bounds) in (2, 3) and start is None and end is None and (step is None or len(bounds) == 2):
        start, end = bounds[:2]
        step = bounds[2] if len(bounds) == 3 else step
    elif len(bounds) > 0:
        raise TypeError("arange: give end, or start and end, or start, end and step, each once")
    if end is None:
        raise TypeError("arange: end is needed, as in arange(5)")
    start = 0 if start is None else read_bound(start, "start", "arange")
    end = read_bound(end, "end", "arange")
    step = 1 if step is None else read_bound(step, "step", "arange")
    if step == 0:
        raise ShapeError("arange: step is 0; it would take for ever")
    if not (isfinite(start) and isfinite(end)):
        raise ShapeError(f"arange: the range from {start} to {end} is not finite")
    if (end - start) * (1 if step > 0 else -1) < 0 or step != step:
        raise ShapeError(f"arange: steps of {step} do not lead from {start} to {end}")
    code = default_float() if PyFloat_Check(start) or PyFloat_Check(end) or PyFloat_Check(step) else INT64
    code = dtype_code(dtype, code if out is None or not isinstance(out, TensorBase) else (<TensorBase>out).dtype_)
    if code == BOOL:
        raise UnsupportedDType("arange: not implemented for bool")
    n = range_length(start, end, step, code)
    if isinstance(out, TensorBase) and (<TensorBase>out).numel_ != n:
        warn_of_resizing("arange", <TensorBase>out, 1, &n)
    made = start_row(n, out, dtype, code, layout, device, requires_grad, "arange")
    if is_meta(made):
        return made
    target = compute_target(made)
    if target.dtype_ == INT64:
        count_up_integers(<int64_t*>memory_of(target), n, int(start), int(step))
    elif target.dtype_ == FLOAT32:
        count_up[float](<float*>memory_of(target), n, start, step)
    else:
        count_up[double](<double*>memory_of(target), n, start, step)
    if target is not made:
        copy_into(made, target)
    return made


# ---------------------------------------------------------------- linspace and logspace
cdef void interpolate(real* out, ssize n, real start, real end) noexcept nogil:
    """From both ends towards the middle, so that the last element is exactly `end`."""
    cdef real step = (end - start) / (n - 1) if n > 1 else 0
    cdef ssize i
    for i in range(n // 2):
        out[i] = start + step * i
    for i in range(n // 2, n):
        out[i] = end - step * (n - 1 - i)
    if n == 1:
        out[0] = start


cdef void raise_to(double* x, ssize n, double base) noexcept nogil:
    cdef ssize i
    for i in range(n):
        x[i] = pow(base, x[i])


cdef object space(object start, object end, object steps, object base, object out, object dtype, object layout,
                  object device, bint requires_grad, str where):
    cdef ssize n
    cdef TensorBase made, target
    cdef int code
    n = int_argument(steps, where, "steps")
    start = read_bound(start, "start", where)
    end = read_bound(end, "end", where)
    if n < 0:
        raise ShapeError(f"{where}: steps is {n}; it must be at least 0")
    code = dtype_code(dtype, default_float() if not isinstance(out, TensorBase) else (<TensorBase>out).dtype_)
    if code == BOOL:
        raise UnsupportedDType(f"{where}: not implemented for bool")
    made = start_row(n, out, dtype, code, layout, device, requires_grad, where)
    if is_meta(made):
        return made
    if not is_floating(code):
        start, end = int(start), int(end)
    if base is None and made.dtype_ == FLOAT32 and made.is_contiguous_:
        interpolate[float](<float*>memory_of(made), n, start, end)
        return made
    target = made if made.dtype_ == FLOAT64 and made.is_contiguous_ else empty_beside(made, FLOAT64, made.ndim_, made.sizes)
    interpolate[double](<double*>memory_of(target), n, start, end)
    if base is not None:
        raise_to(<double*>memory_of(target), n, base)
    if target is not made:
        copy_into(made, target)
    return made


def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None, bint requires_grad=False,
             pin_memory=False):
    """`steps` numbers at equal distances from `start` to `end`, both included.

    >>> import tensorlab
    >>> tensorlab.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    return space(start, end, steps, None, out, dtype, layout, device, requires_grad, "linspace")


def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, bint requires_grad=False,
             pin_memory=False):
    """`steps` powers of `base`, whose exponents go in equal distances from `start` to `end`, both included.

    >>> import tensorlab
    >>> tensorlab.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    return space(start, end, steps, base, out, dtype, layout, device, requires_grad, "logspace")


# ---------------------------------------------------------------- eye
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, bint requires_grad=False, pin_memory=False):
    """A matrix of `n` rows and `m` columns (as many unless given) with ones on the diagonal and zeros elsewhere.

    >>> import tensorlab
    >>> tensorlab.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    cdef ssize[2] sizes
    cdef TensorBase made
    sizes[0] = int_argument(n, "eye", "n")
    sizes[1] = sizes[0] if m is None else int_argument(m, "eye", "m")
    if sizes[0] < 0 or sizes[1] < 0:
        raise ShapeError(f"eye: {sizes[0]} rows and {sizes[1]} columns are asked for; both must be at least 0")
    made = start_factory(2, sizes, out, dtype, default_float(), layout, device, False, "eye")
    fill_zero(made)
    fill_number(diagonal(made.detach()), 1, "eye")
    if requires_grad:
        (<object>made).requires_grad_(True)
    return made
