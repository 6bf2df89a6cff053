"""Random tensors: rand, randn, randint, randperm, their *_like forms, normal, multinomial."""
from cpython.number cimport PyIndex_Check
from libc.stdint cimport int64_t

from tensorlab._core.out_argument cimport CASTS, NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.op cimport Op
from tensorlab._core.distributions cimport fill_randperm, fill_uniform
from tensorlab._core.dtypes cimport (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    default_float,
    dtype_code,
    dtype_object,
    is_floating,
    kernel_dtype,
)
from tensorlab._core.graph cimport needs_grad
from tensorlab._core.layout cimport MAX_NDIM, int_argument, ssize
from tensorlab._core.operands cimport refuse_internal_overlap
from tensorlab._core.iterator cimport copy_into
from tensorlab._core.random cimport Generator, generator_or_default
from tensorlab._core.recording cimport record
from tensorlab._core.tensor cimport TensorBase, empty_beside, empty_like, empty_tensor, is_meta, memory_of
from tensorlab.ops.creation cimport factory_sizes, start_factory, start_like
from tensorlab.ops.filling cimport check_number
from tensorlab.ops.random cimport (
    EXPONENTIAL,
    UNIFORM,
    check_floating,
    check_integer_bounds,
    check_std,
    fill_between,
    fill_normally,
    fill_tensor,
)

from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType
from tensorlab.ops.meshgrid import broadcast_shapes


# ---------------------------------------------------------------- factories
cdef TensorBase new_random(tuple sizes, object size, object out, object dtype, object layout, object device,
                           bint requires_grad, str where):
    """An unfilled floating tensor."""
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim = factory_sizes(sizes, size, numbers, where)
    cdef TensorBase made
    check_floating(dtype_code(dtype, default_float()), where, False)
    made = start_factory(ndim, numbers, out, dtype, default_float(), layout, device, requires_grad, where)
    check_floating(made.dtype_, where, False)
    refuse_internal_overlap(made, where)
    return made


def rand(*sizes, size=None, generator=None, out=None, dtype=None, layout=None, device=None, bint requires_grad=False,
         pin_memory=False):
    """A tensor of numbers spread evenly from 0 to, but without, 1.

    Parameters
    ----------
    sizes : ints, or one sequence of them
    generator : Generator; the default one unless given

    >>> import tensorlab
    >>> _ = tensorlab.manual_seed(0)
    >>> tensorlab.rand(2)
    tensor([0.4963, 0.7682])
    """
    cdef TensorBase made = new_random(sizes, size, out, dtype, layout, device, requires_grad, "rand")
    fill_tensor(made, UNIFORM, generator_or_default(generator, "rand"), 0, 1)
    return made


def randn(*sizes, size=None, generator=None, out=None, dtype=None, layout=None, device=None, bint requires_grad=False,
          pin_memory=False):
    """A tensor of numbers of the standard normal distribution; its arguments are those of `rand`."""
    cdef TensorBase made = new_random(sizes, size, out, dtype, layout, device, requires_grad, "randn")
    fill_normally(made, generator_or_default(generator, "randn"), 0, 1)
    return made


def randint(*bounds, low=0, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
            bint requires_grad=False, pin_memory=False):
    """A tensor of integers: `randint(high, size)` or `randint(low, high, size)`; `high` does not occur.

    Parameters
    ----------
    low, high : int
    size : sequence of int
    dtype : dtype; int64 unless given

    >>> import tensorlab
    >>> _ = tensorlab.manual_seed(0)
    >>> tensorlab.randint(10, (3,))
    tensor([4, 9, 3])
    """
    cdef ssize[MAX_NDIM] numbers
    cdef int ndim
    cdef TensorBase made
    cdef list given = list(bounds)
    if given and size is None and isinstance(given[len(given) - 1], (tuple, list)):
        size = given.pop()
    if len(given) == 2 and high is None:
        low, high = given
    elif len(given) == 1 and high is None:
        high = given[0]
    elif len(given) == 1:
        low = given[0]
    elif given:
        raise TypeError("randint: the arguments are high and size, or low, high and size")
    if not PyIndex_Check(high) or not PyIndex_Check(low) or not isinstance(size, (tuple, list)):
        raise TypeError("randint: low and high must be ints and size a tuple of ints, as in randint(0, 10, (3,))")
    ndim = factory_sizes((), size, numbers, "randint")
    check_integer_bounds(dtype_code(dtype, INT64 if out is None else (<TensorBase?>out).dtype_), low, high, "randint")
    made = start_factory(ndim, numbers, out, dtype, INT64, layout, device, requires_grad, "randint")
    refuse_internal_overlap(made, "randint")
    fill_between(made, generator_or_default(generator, "randint"), low, high)
    return made


def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, bint requires_grad=False,
             pin_memory=False):
    """The integers from 0 to n - 1 in random order.

    >>> import tensorlab
    >>> _ = tensorlab.manual_seed(0)
    >>> tensorlab.randperm(4)
    tensor([0, 1, 3, 2])
    """
    cdef ssize count = int_argument(n, "randperm", "n")
    cdef int code = dtype_code(dtype, INT64 if out is None else (<TensorBase?>out).dtype_)
    cdef TensorBase made, row
    if count < 0:
        raise ShapeError(f"randperm: n must be at least 0, not {count}")
    if code == BOOL:
        raise UnsupportedDType("randperm: not implemented for bool")
    if is_floating(code) and count > (2048 if code == FLOAT16 else 256 if code == BFLOAT16
                                      else (1 << 24) if code == FLOAT32 else (1 << 53)) + 1:
        raise DTypeError(f"randperm: {dtype_object(code)} cannot hold all integers up to {n}")
    check_number(max(count - 1, 0), code, "randperm")
    made = start_factory(1, &count, out, dtype, INT64, layout, device, requires_grad, "randperm")
    if is_meta(made):
        return made
    row = made if made.dtype_ == INT64 and made.is_contiguous_ else empty_tensor(INT64, 1, &count)
    fill_randperm(<int64_t*>memory_of(row), count, generator_or_default(generator, "randperm"))
    if row is not made:
        copy_into(made, row)
    return made


def rand_like(TensorBase input not None, *, generator=None, dtype=None, layout=None,
              device=None, bint requires_grad=False, pin_memory=False, memory_format=None):
    """`rand` of the shape of `input`, and of its dtype and order of dimensions unless told otherwise."""
    cdef TensorBase made
    check_floating(dtype_code(dtype, input.dtype_), "rand_like", False)
    made = start_like(input, dtype, layout, device, requires_grad, memory_format, "rand_like")
    fill_tensor(made, UNIFORM, generator_or_default(generator, "rand_like"), 0, 1)
    return made


def randn_like(TensorBase input not None, *, generator=None, dtype=None, layout=None,
               device=None, bint requires_grad=False, pin_memory=False, memory_format=None):
    """`randn` of the shape of `input`, and of its dtype and order of dimensions unless told otherwise."""
    cdef TensorBase made
    check_floating(dtype_code(dtype, input.dtype_), "randn_like", False)
    made = start_like(input, dtype, layout, device, requires_grad, memory_format, "randn_like")
    fill_normally(made, generator_or_default(generator, "randn_like"), 0, 1)
    return made


def randint_like(TensorBase input not None, *bounds, low=0, high=None, generator=None, dtype=None, layout=None,
                 device=None, bint requires_grad=False, pin_memory=False, memory_format=None):
    """`randint` of the shape of `input`, and of its dtype and order of dimensions unless told otherwise."""
    cdef TensorBase made
    if len(bounds) == 2 and high is None:
        low, high = bounds
    elif len(bounds) == 1 and high is None:
        high = bounds[0]
    elif len(bounds) == 1:
        low = bounds[0]
    elif bounds or high is None:
        raise TypeError("randint_like: the bounds are high, or low and high")
    check_integer_bounds(dtype_code(dtype, input.dtype_), low, high, "randint_like")
    made = start_like(input, dtype, layout, device, requires_grad, memory_format, "randint_like")
    fill_between(made, generator_or_default(generator, "randint_like"), low, high)
    return made


# ---------------------------------------------------------------- normal
cdef Op NORMAL = Op("normal_of(Tensor mean, Tensor std) -> Tensor",        # the op called normal is `normal_`
                    node=("NormalBackward1", "NormalBackward3", "NormalBackward2"))

@NORMAL.derivative("mean")
def normal_derivative_mean(grad, mean_shape):
    return grad.new_zeros(mean_shape)

@NORMAL.derivative("std")
def normal_derivative_std(grad, std_shape):
    return grad.new_zeros(std_shape)

def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           bint requires_grad=False, pin_memory=False):
    """Numbers of normal distributions.

    Parameters
    ----------
    mean, std : Tensor or number; tensors are broadcast together
    size : sequence of int; the shape, if both are numbers

    >>> import tensorlab
    >>> _ = tensorlab.manual_seed(0)
    >>> tensorlab.normal(tensorlab.tensor([0., 100.]), 1.0)
    tensor([  1.5410,  99.7066])
    """
    cdef Generator source = generator_or_default(generator, "normal")
    cdef TensorBase made
    if not isinstance(mean, TensorBase) and not isinstance(std, TensorBase):
        if size is None:
            raise TypeError("normal: size is needed where mean and std are numbers")
        check_std(std, "normal")
        made = new_random((), size, out, dtype, layout, device, requires_grad, "normal")
        fill_normally(made, source, mean, std)
        return made
    if size is not None:
        raise TypeError("normal: size is for numbers; the tensors mean and std have a shape already")
    like = mean if isinstance(mean, TensorBase) else std
    check_floating((<TensorBase>like).dtype_, "normal", False)
    if not isinstance(std, TensorBase):
        check_std(std, "normal")
    elif not is_meta(<TensorBase>std) and not (std.detach() >= 0).all().item():
        raise ShapeError("normal: all elements of std must be at least 0")
    made = like.new_empty(broadcast_shapes(*[one.shape for one in (mean, std) if isinstance(one, TensorBase)]))
    fill_normally(made, source, 0, 1)
    (<object>made).data.mul_(detached(std)).add_(detached(mean))       # .data: the result begins at version 0
    if out is not None:
        return store_out("normal", made, out, (mean, std), CASTS | NO_PARTIAL_OVERLAP)
    return record(NORMAL, made, (mean, std))


cdef object detached(object x):
    return x.detach() if isinstance(x, TensorBase) else x


cdef bint needs_grad_of(object x) noexcept:
    return isinstance(x, TensorBase) and needs_grad(<TensorBase>x)


# ---------------------------------------------------------------- multinomial
cdef int sample_row(const double* probabilities, double* cumulative, ssize n, int64_t* out, ssize samples,
                    Generator generator, bint in_single) except -1:
    """Where uniform numbers fall among the cumulated probabilities, by bisection."""
    cdef double total = 0, drawn
    cdef ssize i, low, high, middle
    for i in range(n):
        total += probabilities[i]
        if in_single:
            total = <float>total
        cumulative[i] = total
    if not total > 0:
        raise ShapeError("multinomial: the probabilities of a row are all 0")
    for i in range(n):
        cumulative[i] /= total
        if in_single:
            cumulative[i] = <float>cumulative[i]
    cumulative[n - 1] = 1
    for i in range(samples):
        fill_uniform[double](&drawn, 1, generator, 0, 1)
        low, high = 0, n
        while low < high:
            middle = low + (high - low) // 2
            if cumulative[middle] < drawn:
                low = middle + 1
            else:
                high = middle
        out[i] = low
    return 0


cdef TensorBase sample_with_replacement(TensorBase input, ssize samples, Generator generator):
    cdef TensorBase rows = empty_beside(input, FLOAT64, input.ndim_, input.sizes), cumulative, out
    cdef ssize n = input.sizes[input.ndim_ - 1], i
    cdef ssize[2] sizes
    copy_into(rows, input)
    cumulative = empty_tensor(FLOAT64, 1, &n)
    sizes[0] = input.sizes[0]
    sizes[input.ndim_ - 1] = samples
    out = empty_beside(input, INT64, input.ndim_, sizes)
    for i in range(input.sizes[0] if input.ndim_ == 2 else 1):
        sample_row(<double*>memory_of(rows) + i * n, <double*>memory_of(cumulative), n, <int64_t*>memory_of(out) + i * samples,
                   samples, generator, kernel_dtype(input.dtype_) == FLOAT32)
    return out


def multinomial(TensorBase input not None, num_samples, replacement=False, *, generator=None, out=None):
    """Indices drawn with the probabilities in each row.

    Parameters
    ----------
    input : floating Tensor, shape (n,) or (rows, n), at least 0; rows need not add up to 1
    num_samples : int
    replacement : bool; may an index be drawn twice

    Returns
    -------
    Tensor of int64, shape (num_samples,) or (rows, num_samples)

    Raises
    ------
    ShapeError
        If probabilities are negative, not finite, or all 0, or there are too few to draw from.

    Notes
    -----
    Without replacement: the largest of p / e, for e of the exponential distribution, is index i with probability p[i]
    (an "exponential race"), and the next ones are draws from the rest.
    """
    cdef ssize n, samples = int_argument(num_samples, "multinomial", "num_samples")
    cdef Generator source = generator_or_default(generator, "multinomial")
    cdef TensorBase race
    if not is_floating(input.dtype_):
        raise DTypeError(f"multinomial: probabilities must be floating, not {dtype_object(input.dtype_)}")
    if input.ndim_ != 1 and input.ndim_ != 2:
        raise ShapeError(f"multinomial: a vector or a matrix of probabilities is needed, not {input.ndim_} dimensions")
    n = input.sizes[input.ndim_ - 1]
    if samples <= 0:
        raise ShapeError(f"multinomial: num_samples must be at least 1, not {samples}")
    if n == 0 or (not replacement and samples > n):
        raise ShapeError(f"multinomial: {samples} samples cannot be drawn from {n} probabilities"
                         f"{'' if replacement else ' without replacement'}")
    rows = input.detach()
    if is_meta(input):                      # which index is drawn depends on values, how many are drawn does not
        drawn = input.new_empty((*input.shape[:input.ndim_ - 1], samples), dtype=dtype_object(INT64))
        return store_out("multinomial", drawn, out, ())
    if input.numel_ > 0 and not ((rows >= 0) & (rows < float("inf"))).all().item():
        raise ShapeError("multinomial: all probabilities must be at least 0 and finite")
    if replacement and samples > 1:
        return store_out("multinomial", sample_with_replacement(input, samples, source), out, ())
    if input.numel_ > 0 and not (rows.sum(-1) > 0).all().item():
        raise ShapeError("multinomial: the probabilities of a row are all 0")
    race = empty_like(input, input.dtype_)
    fill_tensor(race, EXPONENTIAL, source, 1, 0)
    rows = rows / race
    drawn = rows.argmax(-1, keepdim=True) if samples == 1 else rows.topk(samples)[1]
    return store_out("multinomial", drawn, out, ())
