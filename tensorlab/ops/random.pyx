"""Random fills in place: uniform_, normal_, bernoulli_, random_ and their relatives.

The numbers come from _core/distributions.pyx, which fills contiguous memory. A tensor that is not contiguous is filled in the
order of its memory, whatever the order of its dimensions, as PyTorch does; so equal seeds give equal tensors.
"""
from cpython.number cimport PyIndex_Check
from libc.math cimport sqrt
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t

from tensorlab._core.dispatch.dispatch cimport run_2, run_3, run_4
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.out_argument cimport (
    NO_PARTIAL_OVERLAP, store_out, tensor_to_write
)
from tensorlab._core.distributions cimport (
    NORMAL_BLOCK, fill_bernoulli, fill_cauchy, fill_exponential, fill_geometric,
    fill_log_normal, fill_normal, fill_normal_singly, fill_randint, fill_random, fill_uniform
)
from tensorlab._core.dtypes cimport (
    ANY_INTEGRAL, BFLOAT16, BOOL, COMPLEX, FLOAT16, FLOAT32, FLOAT64, FLOATING, HALF, INEXACT, INT16,
    INT32, INT64, INT8, MAX_ITEMSIZE, NUM_DTYPES, UINT64, UINT8, UNSIGNED, dtype_object,
    is_differentiable, is_double, is_in, item_size, kernel_dtype, number, real, refuse_loop
)
from tensorlab._core.layout cimport MAX_NDIM, is_dense, ssize
from tensorlab._core.loops.conversion cimport convert
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.random cimport Generator, generator_or_default
from tensorlab._core.tensor cimport (
    TensorBase, alias_as, empty_beside, empty_like, memory_of, parts_of, result_beside,
    result_like
)

from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType
from tensorlab.ops.filling import zeros_in_place_of


# ---------------------------------------------------------------- rows
cdef void fill_floats(real* out, ssize n, int recipe, Generator generator, double a, double b) noexcept:
    if recipe == UNIFORM:
        fill_uniform(out, n, generator, a, b)
    elif recipe == NORMAL:
        fill_normal(out, n, generator, a, b)
    elif recipe == NORMAL_SINGLY:
        fill_normal_singly(out, n, generator, a, b)
    elif recipe == LOG_NORMAL:
        fill_log_normal(out, n, generator, a, b)
    elif recipe == CAUCHY:
        fill_cauchy(out, n, generator, a, b)
    else:
        fill_exponential(out, n, generator, a)


cdef void fill_one(number* out, ssize n, int recipe, Generator generator, double p) noexcept:
    if recipe == BERNOULLI:
        fill_bernoulli(out, n, generator, p)
    elif recipe == GEOMETRIC:
        fill_geometric(out, n, generator, p)
    else:
        fill_random(out, n, generator)


ctypedef void (*any_fill)(void* out, ssize n, int recipe, Generator generator, double p) noexcept
ctypedef void (*integer_fill)(void* out, ssize n, Generator generator, int64_t low, uint64_t range_) noexcept nogil

cdef any_fill[NUM_DTYPES] any_fills             # of the recipes that every type has
cdef integer_fill[NUM_DTYPES] integer_fills

cdef void set_fills(int dtype, number as_this) noexcept:
    any_fills[dtype] = <any_fill>fill_one[number]
    integer_fills[dtype] = <integer_fill>fill_randint[number]

set_fills[uint8_t](BOOL, 0)
set_fills[uint8_t](UINT8, 0)
set_fills[int8_t](INT8, 0)
set_fills[int16_t](INT16, 0)
set_fills[int32_t](INT32, 0)
set_fills[int64_t](INT64, 0)
set_fills[float](FLOAT32, 0)
set_fills[double](FLOAT64, 0)
any_fills[UINT64], integer_fills[UINT64] = any_fills[INT64], integer_fills[INT64]       # the same bits


# ---------------------------------------------------------------- memory order
cdef TensorBase in_memory_order(TensorBase x):
    """An alias of x with its dimensions sorted by stride, the smallest last."""
    cdef ssize[MAX_NDIM] sizes, strides
    cdef int i, j
    for i in range(x.ndim_):
        j = i
        while j > 0 and strides[j - 1] < x.strides[i]:
            sizes[j] = sizes[j - 1]
            strides[j] = strides[j - 1]
            j -= 1
        sizes[j] = x.sizes[i]
        strides[j] = x.strides[i]
    return alias_as(x, x.ndim_, sizes, strides, x.data_)


cdef TensorBase row_for(TensorBase x):
    """A contiguous tensor to fill: x's own memory where it is a plain row of a type with fills, else a new one."""
    cdef int dtype = kernel_dtype(x.dtype_)
    if any_fills[dtype] == NULL:
        refuse_loop(dtype)
    if dtype == x.dtype_ and is_dense(x.ndim_, x.sizes, x.strides):
        return alias_as(x, 1, &x.numel_, NULL, x.data_)
    return empty_beside(x, dtype, 1, &x.numel_)


cdef int put_row(TensorBase x, TensorBase row) except -1:
    """Write the row that was filled over x, if it is not x's own memory."""
    cdef TensorBase target
    if row.storage_ is not x.storage_:
        target = in_memory_order(x)
        copy_into(target, alias_as(row, target.ndim_, target.sizes, NULL, row.data_))


cdef int fill_tensor(TensorBase x, int recipe, Generator generator, double a, double b) except -1:
    cdef TensorBase row
    if x.numel_ == 0:
        return 0
    if is_in(x.dtype_, COMPLEX):
        return fill_tensor(parts_of(x), recipe, generator, a, b)
    row = row_for(x)
    if recipe >= BERNOULLI:
        any_fills[row.dtype_](memory_of(row), row.numel_, recipe, generator, a)
    elif recipe == NORMAL and kernel_dtype(x.dtype_) != x.dtype_ and x.numel_ >= NORMAL_BLOCK:
        # for the half types nothing is drawn in vain: whole blocks, then the last 16 elements once more
        fill_normal[float](<float*>memory_of(row), x.numel_ - x.numel_ % NORMAL_BLOCK, generator, a, b)
        if x.numel_ % NORMAL_BLOCK != 0:
            fill_normal[float](<float*>memory_of(row) + x.numel_ - NORMAL_BLOCK, NORMAL_BLOCK, generator, a, b)
    elif is_double(row.dtype_):
        fill_floats[double](<double*>memory_of(row), row.numel_, recipe, generator, a, b)
    else:
        fill_floats[float](<float*>memory_of(row), row.numel_, recipe, generator, a, b)
    if recipe == UNIFORM and kernel_dtype(x.dtype_) != x.dtype_:
        keep_below(<float*>memory_of(row), row.numel_, x.dtype_, a, b)
    return put_row(x, row)


cdef int keep_below(float* x, ssize n, int dtype, double low, double high) except -1:
    """Numbers that a half type would round up to the upper bound become the lower one."""
    cdef uint16_t narrow
    cdef float bound = <float>high, rounded_bound, rounded_number
    cdef ssize i
    convert(&narrow, dtype, 1, &bound, FLOAT32, 1, 1)
    convert(&rounded_bound, FLOAT32, 1, &narrow, dtype, 1, 1)
    for i in range(n):
        convert(&narrow, dtype, 1, &x[i], FLOAT32, 1, 1)
        convert(&rounded_number, FLOAT32, 1, &narrow, dtype, 1, 1)
        if rounded_number == rounded_bound:
            x[i] = <float>low
    return 0


# ---------------------------------------------------------------- what the ops share
# The public functions check their arguments as the kernels do: as in PyTorch, a wrong number is found before memory that
# overlaps is.

cdef Op fill_op(str schema, str aten, str node=None):
    """An op that fills; its result does not depend on what was there. Its form in place is what the public functions call."""
    cdef Op op = Op(schema, aten=aten, node=node)
    op.derivative("x")(zeros_in_place_of)
    return op


cdef int check_positive(double value, str name, str where) except -1:
    if not value > 0:
        raise ShapeError(f"{where}: {name} must be above 0, not {value}")
    return 0


cdef int check_filled(TensorBase x, str where, bint plain_error) except -1:
    """A tensor without elements may have any type: nothing is drawn."""
    return 0 if x.numel_ == 0 else check_floating(x.dtype_, where, plain_error)


cdef int check_floating(int dtype, str where, bint plain_error) except -1:
    if not is_in(dtype, INEXACT):
        raise (DTypeError if plain_error else UnsupportedDType)(
            f"{where}: not implemented for {dtype_object(dtype)}; a floating dtype is needed")
    return 0


# ---------------------------------------------------------------- fills in place
cdef int check_uniform(int dtype, double low, double high, str where) except -1:
    cdef double most = (65504.0 if dtype == FLOAT16 else 3.3895313892515355e38 if dtype == BFLOAT16
                        else 1.7976931348623157e308 if dtype == FLOAT64 else 3.4028234663852886e38)
    check_floating(dtype, where, False)
    if not (-most <= low <= most and -most <= high <= most):
        raise DTypeError(f"{where}: the bounds {low} and {high} do not both fit in {dtype_object(dtype)}")
    if low > high:
        raise ShapeError(f"{where}: the lower bound {low} is above the upper bound {high}")
    return 0


cdef Op UNIFORM_FILL = fill_op("uniform(Tensor x, float from=0.0, float to=1.0, *, Generator? generator=None) -> Tensor",
                               "uniform")

@UNIFORM_FILL.infer
def uniform_infer(TensorBase x, double low, double high, generator):
    generator_or_default(generator, "uniform")
    check_uniform(x.dtype_, low, high, "uniform")
    return result_like(x, x.dtype_)

@UNIFORM_FILL.kernel
def uniform_kernel(TensorBase out, TensorBase x, double low, double high, generator):
    fill_tensor(out, UNIFORM, generator_or_default(generator, "uniform"), low, high)

cdef Op UNIFORM_ = inplace_op(UNIFORM_FILL)

def uniform_(TensorBase self not None, double from_=0, double to=1, *, generator=None, **bounds):
    """Fill with numbers spread evenly from `from` to, but without, `to`.

    `from` is a keyword of Python: give it by position.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.empty(100).uniform_(-1, 1)
    >>> bool((x.abs() <= 1).all())
    True
    """
    if bounds:
        from_ = read_from(bounds, from_, "uniform_")
    check_uniform(self.dtype_, from_, to, "uniform_")
    return run_4(UNIFORM_, self, from_, to, generator)


cdef object read_from(dict named, object otherwise, str where):
    """The argument that PyTorch calls `from`, which is a word of Python's own: it comes as f(**{"from": 0})."""
    cdef object value = named.pop("from", otherwise)
    if named:
        raise TypeError(f"{where}: unexpected argument {next(iter(named))!r}")
    return value


cdef int check_std(double std, str where) except -1:
    if not std >= 0:
        raise ShapeError(f"{where}: std must be at least 0, not {std}")
    return 0


cdef int fill_normally(TensorBase x, Generator generator, double mean, double std) except -1:
    """Contiguous memory is filled in blocks, other memory number by number: PyTorch's two streams. Both parts of complex numbers
    have half the variance."""
    if is_in(x.dtype_, COMPLEX):
        x, std = parts_of(x), std / sqrt(2)
    return fill_tensor(x, NORMAL if x.is_contiguous_ else NORMAL_SINGLY, generator, mean, std)


cdef int check_normal(TensorBase x, double std, str where) except -1:
    check_std(std, where)
    return check_filled(x, where, False)

cdef Op NORMAL_FILL = fill_op("normal(Tensor x, float mean=0.0, float std=1.0, *, Generator? generator=None) -> Tensor",
                              "normal_functional")

@NORMAL_FILL.infer
def normal_infer(TensorBase x, double mean, double std, generator):
    generator_or_default(generator, "normal")
    check_normal(x, std, "normal")
    return result_like(x, x.dtype_)

@NORMAL_FILL.kernel
def normal_kernel(TensorBase out, TensorBase x, double mean, double std, generator):
    fill_normally(out, generator_or_default(generator, "normal"), mean, std)

cdef Op NORMAL_ = inplace_op(NORMAL_FILL)
NORMAL_.aten = "normal_"

def normal_(TensorBase self not None, double mean=0, double std=1, *, generator=None):
    """Fill with numbers of the normal distribution.

    Parameters
    ----------
    mean, std : float
    generator : Generator, the default one if not given

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.empty(10_000).normal_(5, 0.1)
    >>> round(x.mean().item())
    5
    """
    check_normal(self, std, "normal_")
    return run_4(NORMAL_, self, mean, std, generator)


cdef int check_log_normal(TensorBase x, double std, str where) except -1:
    check_positive(std, "std", where)
    return check_filled(x, where, False)

cdef Op LOG_NORMAL_FILL = fill_op("log_normal(Tensor x, float mean=1.0, float std=2.0, *, Generator? generator=None) -> Tensor",
                                  "log_normal")

@LOG_NORMAL_FILL.infer
def log_normal_infer(TensorBase x, double mean, double std, generator):
    generator_or_default(generator, "log_normal")
    check_log_normal(x, std, "log_normal")
    return result_like(x, x.dtype_)

@LOG_NORMAL_FILL.kernel
def log_normal_kernel(TensorBase out, TensorBase x, double mean, double std, generator):
    fill_tensor(out, LOG_NORMAL, generator_or_default(generator, "log_normal"), mean, std)

cdef Op LOG_NORMAL_ = inplace_op(LOG_NORMAL_FILL)

def log_normal_(TensorBase self not None, double mean=1, double std=2, *, generator=None):
    """Fill with exp(x) for x of the normal distribution.

    Examples
    --------
    >>> import tensorlab
    >>> generator = tensorlab.Generator().manual_seed(0)
    >>> x = tensorlab.empty(10000).log_normal_(mean=1, std=0.5, generator=generator)
    >>> abs(x.log().mean() - 1) < 0.1
    tensor(True)
    """
    check_log_normal(self, std, "log_normal_")
    return run_4(LOG_NORMAL_, self, mean, std, generator)


cdef int check_cauchy(TensorBase x, double sigma, str where) except -1:
    check_positive(sigma, "sigma", where)
    return check_floating(x.dtype_, where, True)

cdef Op CAUCHY_FILL = fill_op("cauchy(Tensor x, float median=0.0, float sigma=1.0, *, Generator? generator=None) -> Tensor",
                              "cauchy")

@CAUCHY_FILL.infer
def cauchy_infer(TensorBase x, double median, double sigma, generator):
    generator_or_default(generator, "cauchy")
    check_cauchy(x, sigma, "cauchy")
    return result_like(x, x.dtype_)

@CAUCHY_FILL.kernel
def cauchy_kernel(TensorBase out, TensorBase x, double median, double sigma, generator):
    fill_tensor(out, CAUCHY, generator_or_default(generator, "cauchy"), median, sigma)

cdef Op CAUCHY_ = inplace_op(CAUCHY_FILL)

def cauchy_(TensorBase self not None, double median=0, double sigma=1, *, generator=None):
    """Fill with numbers of the Cauchy distribution.

    Examples
    --------
    >>> import tensorlab
    >>> generator = tensorlab.Generator().manual_seed(0)
    >>> x = tensorlab.empty(10000).cauchy_(median=3, generator=generator)
    >>> abs(x.median() - 3) < 0.2
    tensor(True)
    """
    check_cauchy(self, sigma, "cauchy_")
    return run_4(CAUCHY_, self, median, sigma, generator)


cdef int check_exponential(TensorBase x, double lambd, str where) except -1:
    check_positive(lambd, "lambd", where)
    return check_filled(x, where, True)

cdef Op EXPONENTIAL_FILL = fill_op("exponential(Tensor x, float lambd=1.0, *, Generator? generator=None) -> Tensor",
                                   "exponential")

@EXPONENTIAL_FILL.infer
def exponential_infer(TensorBase x, double lambd, generator):
    generator_or_default(generator, "exponential")
    check_exponential(x, lambd, "exponential")
    return result_like(x, x.dtype_)

@EXPONENTIAL_FILL.kernel
def exponential_kernel(TensorBase out, TensorBase x, double lambd, generator):
    fill_tensor(out, EXPONENTIAL, generator_or_default(generator, "exponential"), lambd, 0)

cdef Op EXPONENTIAL_ = inplace_op(EXPONENTIAL_FILL)

def exponential_(TensorBase self not None, double lambd=1, *, generator=None):
    """Fill with numbers of the exponential distribution of rate `lambd`.

    Examples
    --------
    >>> import tensorlab
    >>> generator = tensorlab.Generator().manual_seed(0)
    >>> 0.4 < tensorlab.empty(10000).exponential_(2, generator=generator).mean() < 0.6
    tensor(True)
    """
    check_exponential(self, lambd, "exponential_")
    return run_3(EXPONENTIAL_, self, lambd, generator)


cdef int check_geometric(double p, str where) except -1:
    if not 0 < p < 1:
        raise ShapeError(f"{where}: p must lie between 0 and 1, not be {p}")
    return 0

cdef Op GEOMETRIC_FILL = fill_op("geometric(Tensor x, float p, *, Generator? generator=None) -> Tensor", "geometric")

@GEOMETRIC_FILL.infer
def geometric_infer(TensorBase x, double p, generator):
    generator_or_default(generator, "geometric")
    check_geometric(p, "geometric")
    return result_like(x, x.dtype_)

@GEOMETRIC_FILL.kernel
def geometric_kernel(TensorBase out, TensorBase x, double p, generator):
    fill_tensor(out, GEOMETRIC, generator_or_default(generator, "geometric"), p, 0)

cdef Op GEOMETRIC_ = inplace_op(GEOMETRIC_FILL)

def geometric_(TensorBase self not None, double p, *, generator=None):
    """Fill with the numbers of trials up to the first success, each of probability `p`.

    Examples
    --------
    >>> import tensorlab
    >>> generator = tensorlab.Generator().manual_seed(0)
    >>> 1.8 < tensorlab.empty(10000).geometric_(0.5, generator=generator).mean() < 2.2
    tensor(True)
    """
    check_geometric(p, "geometric_")
    return run_3(GEOMETRIC_, self, p, generator)


# ---------------------------------------------------------------- bernoulli
cdef int check_probability(double p, str where) except -1:
    if not 0 <= p <= 1:
        raise ShapeError(f"{where}: p must lie from 0 to 1, not be {p}")
    return 0


cdef int check_probabilities(object p, str where) except -1:
    if not ((p >= 0) & (p <= 1)).all().item():
        raise ShapeError(f"{where}: all probabilities must lie from 0 to 1")
    return 0


cdef TensorBase draw_bernoulli(object p, TensorBase like, Generator generator):
    """Whether uniform numbers, drawn in the precision of p and the order of `like`'s memory, are below p."""
    cdef TensorBase drawn = empty_like(like, kernel_dtype((<TensorBase>p).dtype_))
    fill_tensor(drawn, UNIFORM, generator, 0, 1)
    return (<object>drawn) < p


# One probability for all elements:
cdef Op BERNOULLI_FILL = fill_op("bernoulli(Tensor x, float p=0.5, *, Generator? generator=None) -> Tensor",
                                 "bernoulli.p", "BernoulliBackward2")

@BERNOULLI_FILL.infer
def bernoulli_infer(TensorBase x, double p, generator):
    generator_or_default(generator, "bernoulli")
    check_probability(p, "bernoulli")
    return result_like(x, x.dtype_)

@BERNOULLI_FILL.kernel
def bernoulli_kernel(TensorBase out, TensorBase x, double p, generator):
    fill_tensor(out, BERNOULLI, generator_or_default(generator, "bernoulli"), p, 0)

cdef Op BERNOULLI_ = inplace_op(BERNOULLI_FILL)
BERNOULLI_.aten = "bernoulli_.float"


# A probability for each element:
cdef Op BERNOULLI_TENSOR = fill_op("bernoulli_tensor(Tensor x, Tensor p, *, Generator? generator=None) -> Tensor",
                                   "bernoulli.Tensor", "BernoulliBackward1")

@BERNOULLI_TENSOR.infer
def bernoulli_tensor_infer(TensorBase x, TensorBase p, generator):
    generator_or_default(generator, "bernoulli")
    check_floating(p.dtype_, "bernoulli", False)
    (<object>p).detach().expand((<object>x).shape)                      # or an error
    return result_like(x, x.dtype_)

@BERNOULLI_TENSOR.kernel
def bernoulli_tensor_kernel(TensorBase out, TensorBase x, TensorBase p, generator):
    cdef object probabilities = (<object>p).detach()
    check_probabilities(probabilities, "bernoulli")
    copy_into(out, draw_bernoulli(probabilities.expand((<object>x).shape), out, generator_or_default(generator, "bernoulli")))

cdef Op BERNOULLI_TENSOR_ = inplace_op(BERNOULLI_TENSOR)

@BERNOULLI_TENSOR.derivative("p")
def bernoulli_tensor_derivative_p(grad, p_shape):
    return grad.new_zeros(p_shape)

def bernoulli_(TensorBase self not None, p=0.5, *, generator=None):
    """Fill with 1, with probability `p`, and 0.

    Parameters
    ----------
    p : number, or a floating tensor with a probability for each element

    Examples
    --------
    >>> import tensorlab
    >>> generator = tensorlab.Generator().manual_seed(0)
    >>> x = tensorlab.empty(1000).bernoulli_(0.25, generator=generator)
    >>> 200 < x.sum() < 300
    tensor(True)
    """
    if not isinstance(p, TensorBase):
        check_probability(p, "bernoulli_")
        return run_3(BERNOULLI_, self, <double>p, generator)
    # integers have no history, not even one that leads to p
    return run_3(BERNOULLI_TENSOR_, self, p if is_differentiable(self.dtype_) else p.detach(), generator)


# The elements are probabilities themselves:
cdef Op BERNOULLI_OF = Op("bernoulli_of(Tensor x, *, Generator? generator=None) -> Tensor",
                          aten="bernoulli", node="BernoulliBackward0")
BERNOULLI_OF.derivative("x")(zeros_in_place_of)

@BERNOULLI_OF.infer
def bernoulli_of_infer(TensorBase x, generator):
    generator_or_default(generator, "bernoulli")
    check_floating(x.dtype_, "bernoulli", False)
    return result_beside(x, x.dtype_, x.ndim_, x.sizes)

@BERNOULLI_OF.kernel
def bernoulli_of_kernel(TensorBase out, TensorBase x, generator):
    cdef object probabilities = (<object>x).detach()
    check_probabilities(probabilities, "bernoulli")
    copy_into(out, draw_bernoulli(probabilities, out, generator_or_default(generator, "bernoulli")))

def bernoulli(TensorBase input not None, p=None, *, generator=None, out=None):
    """1 with the probabilities in `input` (or with probability `p` everywhere), and 0.

    >>> import tensorlab
    >>> tensorlab.bernoulli(tensorlab.tensor([0., 1.]))
    tensor([0., 1.])
    """
    if p is not None:
        made = run_3(BERNOULLI_.functional, input, <double>p, generator)
    else:
        made = run_2(BERNOULLI_OF, input, generator)
    if out is None:
        return made
    made = made.to(tensor_to_write("bernoulli", out).dtype)         # 0 and 1 fit in every type
    return store_out("bernoulli", made, out, (input,), NO_PARTIAL_OVERLAP)


# ---------------------------------------------------------------- integers
cdef int check_integer_bounds(int dtype, object low, object high, str where) except -1:
    if not low < high:
        raise ShapeError(f"{where}: no integer is at least {low} and below {high}")
    if dtype == BOOL:
        if low < 0 or high > 2:
            raise DTypeError(f"{where}: the integers from {low} to {high - 1} do not fit in {dtype_object(dtype)}")
    elif is_in(dtype, ANY_INTEGRAL) and (high - 1 > largest(dtype)
                                         or low < (0 if is_in(dtype, UNSIGNED) else -largest(dtype) - 1)):
        raise DTypeError(f"{where}: the integers from {low} to {high - 1} do not fit in {dtype_object(dtype)}")
    return 0


cdef object largest(int dtype):
    cdef object bits = 8 * item_size[dtype]         # a Python int: 1 << 63 does not fit in C's
    return 1 if dtype == BOOL else 2 ** bits - 1 if is_in(dtype, UNSIGNED) else 2 ** (bits - 1) - 1


cdef tuple exact_bounds(int dtype, object low, object high):
    """Bounds moved inwards where a floating type does not hold them exactly, so that rounding stays inside."""
    cdef int digits = digits_of(dtype)
    cdef object last = rounded(high - 1, dtype), first = rounded(low + 1, dtype)
    if last >= high:
        high = last - (1 << ((high - 1).bit_length() - digits))
    if first < low:
        low = first + (1 << (abs(low + 1).bit_length() - digits))
    return low, high


cdef int digits_of(int dtype) noexcept:
    """A floating type holds every integer of so many bits."""
    return 11 if dtype == FLOAT16 else 8 if dtype == BFLOAT16 else 24 if dtype == FLOAT32 else 53


cdef object rounded(object n, int dtype):
    """An integer as the nearest number of a floating type has it."""
    cdef double wide = n
    cdef double back
    cdef char[MAX_ITEMSIZE] narrow
    convert(narrow, dtype, 1, &wide, FLOAT64, 1, 1)
    convert(&back, FLOAT64, 1, narrow, dtype, 1, 1)
    return int(back)


cdef int fill_between(TensorBase x, Generator generator, object low, object high) except -1:
    """Integers from low to high - 1; both have been checked."""
    cdef TensorBase row
    if x.numel_ == 0:
        return 0
    if is_in(x.dtype_, FLOATING):
        low, high = exact_bounds(x.dtype_, low, high)
    row = row_for(x)
    integer_fills[row.dtype_](memory_of(row), row.numel_, generator, low, <uint64_t>((high - low) & 0xffffffffffffffff))
    return put_row(x, row)


cdef object upper_bound(TensorBase x, object low, object high, str where):
    """The upper bound, which is that of x's type unless it is given. Both have then been checked."""
    cdef object two = 2
    if high is None:
        high = 1 + (two ** digits_of(x.dtype_) if is_in(x.dtype_, FLOATING) else largest(x.dtype_))
    check_integer_bounds(x.dtype_, low, high, where)
    return high

cdef Op RANDOM_FILL = fill_op("random(Tensor x, int? from=None, int? to=None, *, Generator? generator=None) -> Tensor",
                              "random.from")

@RANDOM_FILL.infer
def random_infer(TensorBase x, low, high, generator):
    generator_or_default(generator, "random")
    if low is not None or high is not None:
        upper_bound(x, 0 if low is None else low, high, "random")
    return result_like(x, x.dtype_)

@RANDOM_FILL.kernel
def random_kernel(TensorBase out, TensorBase x, low, high, generator):
    cdef Generator source = generator_or_default(generator, "random")
    if low is not None or high is not None:
        low = 0 if low is None else low
        fill_between(out, source, low, upper_bound(x, low, high, "random"))
    elif x.dtype_ == BOOL:                                  # everything that the type can hold
        fill_between(out, source, 0, 2)
    elif is_in(x.dtype_, HALF):                             # as many integers as are exact
        fill_between(out, source, 0, (1 << digits_of(x.dtype_)) + 1)
    else:
        fill_tensor(out, RANDOM, source, 0, 0)

cdef Op RANDOM_ = inplace_op(RANDOM_FILL)

def random_(TensorBase self not None, *bounds, generator=None, to=None, **named):
    """Fill with integers: `random_(to)` from 0 to `to` - 1, `random_(from, to)`, or `random_()`, everything that the type
    can hold. `random_(from, None)` begins at `from` and ends with the largest that the type can hold.

    Examples
    --------
    >>> import tensorlab
    >>> generator = tensorlab.Generator().manual_seed(0)
    >>> x = tensorlab.empty(100, dtype=tensorlab.int64).random_(3, 6, generator=generator)
    >>> x.min().item(), x.max().item()
    (3, 5)
    """
    cdef object low = None, high = to
    if len(bounds) > 2 or (len(bounds) == 2 and to is not None):
        raise TypeError("random_: the bounds are `to`, or `from` and `to`")
    if len(bounds) == 2:
        low, high = bounds
    elif len(bounds) == 1 and to is None:
        high = bounds[0]
    elif len(bounds) == 1:
        low = bounds[0]
    if named:
        low = read_from(named, low, "random_")
    for bound in (*bounds[:1], 0 if low is None else low, 0 if high is None else high):
        if not PyIndex_Check(bound):
            raise TypeError(f"random_: the bounds must be ints, not {type(bound).__name__}")
    if low is not None or high is not None:
        upper_bound(self, 0 if low is None else low, high, "random_")       # or an error, before others
    return run_4(RANDOM_, self, low, high, generator)
