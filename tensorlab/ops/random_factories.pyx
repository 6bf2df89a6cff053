"""Random tensors: rand, randn, randint, randperm, their *_like forms, normal, multinomial."""
from cpython.number cimport PyIndex_Check
from libc.stdint cimport int64_t

from tensorlab._core.dispatch.dispatch cimport run_3, run_4, run_5, run_6, run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport refuse_internal_overlap
from tensorlab._core.dispatch.out_argument cimport CASTS, NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.distributions cimport fill_randperm, fill_uniform
from tensorlab._core.dtypes cimport (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT64,
    NO_DTYPE,
    default_float,
    dtype_code,
    dtype_object,
    is_floating,
    kernel_dtype,
)
from tensorlab._core.layout cimport int_argument, ssize
from tensorlab._core.loops.iterator cimport copy_into
from tensorlab._core.random cimport Generator, generator_or_default
from tensorlab._core.tensor cimport (
    TensorBase,
    empty_beside,
    empty_like,
    empty_tensor,
    is_meta,
    memory_of,
)
from tensorlab.ops.factories cimport (
    apply_flags,
    check_layout,
    check_out,
    device_or_default,
    dtype_or_default,
    finish_factory,
    given_size,
    out_options,
    start_factory,
    start_like,
    start_out,
    start_row,
)
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
cdef TensorBase new_random(object size, object dtype, object device, str where):
    """An unfilled floating tensor."""
    cdef int code = default_float() if dtype is None else dtype_code(dtype, NO_DTYPE)
    check_floating(code, where, False)
    return start_factory(size, None, code, device, where)


cdef int check_random_out(object out, object dtype, object device, bint requires_grad,
                          str where) except -1:
    """May a fill in place write to `out`? It draws in the order of memory, so each element
    needs a place of its own."""
    refuse_internal_overlap(check_out(out, dtype, device, requires_grad, where), where)
    return 0


cdef object random_out(object size, object out, object dtype, object device, bint requires_grad,
                       str where):
    """The caller's `out`, resized, for a fill in place with floating numbers."""
    check_random_out(out, dtype, device, requires_grad, where)
    check_floating((<TensorBase>out).dtype_, where, False)
    return start_out(size, out, dtype, device, requires_grad, where)


cdef Op RAND = Op("rand(int[] size, *, Generator? generator=None, ScalarType? dtype=None, "
                  "Device? device=None) -> Tensor")
cdef Op RANDN = Op("randn(int[] size, *, Generator? generator=None, ScalarType? dtype=None, "
                   "Device? device=None) -> Tensor")

cdef TensorBase rand_kernel(object size, object generator, object dtype, object device):
    cdef TensorBase out = new_random(size, dtype, device, "rand")
    fill_tensor(out, UNIFORM, generator_or_default(generator, "rand"), 0, 1)
    return out

cdef TensorBase randn_kernel(object size, object generator, object dtype, object device):
    cdef TensorBase out = new_random(size, dtype, device, "randn")
    fill_normally(out, generator_or_default(generator, "randn"), 0, 1)
    return out

RAND.c_kernel, RANDN.c_kernel = <void*>rand_kernel, <void*>randn_kernel


def rand(*sizes, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
         bint requires_grad=False, pin_memory=False):
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
    size = given_size(sizes, size, "rand")
    check_layout(layout, "rand")
    if out is None:
        made = run_4(RAND, size, generator, dtype_or_default(dtype), device_or_default(device))
    else:
        target = random_out(size, out, dtype, device, requires_grad, "rand")
        made = target.uniform_(generator=generator)
    return apply_flags(made, requires_grad, "rand")


def randn(*sizes, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
          bint requires_grad=False, pin_memory=False):
    """A tensor of numbers of the standard normal distribution; its arguments are those of
    `rand`."""
    size = given_size(sizes, size, "randn")
    check_layout(layout, "randn")
    if out is None:
        made = run_4(RANDN, size, generator, dtype_or_default(dtype), device_or_default(device))
    else:
        target = random_out(size, out, dtype, device, requires_grad, "randn")
        made = target.normal_(generator=generator)
    return apply_flags(made, requires_grad, "randn")


cdef Op RANDINT = Op("randint(int low, int high, int[] size, *, Generator? generator=None, "
                     "ScalarType? dtype=None, Device? device=None) -> Tensor")

cdef TensorBase randint_kernel(object low, object high, object size, object generator,
                               object dtype, object device):
    cdef TensorBase out
    check_integer_bounds(dtype_code(dtype, INT64), low, high, "randint")
    out = start_factory(size, dtype, INT64, device, "randint")
    fill_between(out, generator_or_default(generator, "randint"), low, high)
    return out

RANDINT.c_kernel = <void*>randint_kernel

cdef tuple integer_bounds(list given, object low, object high, str where):
    """(low, high) from what is given by position, `high` or `low, high`, and by name."""
    if (len(given) > 2 or (given and low is not None)
            or (len(given) == 2 and high is not None)):
        raise TypeError(f"{where}: the bounds are high, or low and high; each is given once")
    if len(given) == 2:
        low, high = given
    elif given and high is not None:
        low = given[0]
    elif given:
        high = given[0]
    return 0 if low is None else low, high


def randint(*bounds, low=None, high=None, size=None, generator=None, out=None, dtype=None,
            layout=None, device=None, bint requires_grad=False, pin_memory=False):
    """A tensor of integers: `randint(high, size)` or `randint(low, high, size)`; `high` does
    not occur.

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
    cdef list given = list(bounds)
    if given and size is None and isinstance(given[len(given) - 1], (tuple, list)):
        size = given.pop()
    low, high = integer_bounds(given, low, high, "randint")
    if not PyIndex_Check(high) or not PyIndex_Check(low) or not isinstance(size, (tuple, list)):
        raise TypeError("randint: low and high must be ints and size a tuple of ints, as in "
                        "randint(0, 10, (3,))")
    size = given_size((), size, "randint")
    check_layout(layout, "randint")
    if out is None:
        made = run_6(RANDINT, low, high, size, generator, dtype, device_or_default(device))
    else:
        check_random_out(out, dtype, device, requires_grad, "randint")
        check_integer_bounds((<TensorBase>out).dtype_, low, high, "randint")
        target = start_out(size, out, dtype, device, requires_grad, "randint")
        made = target.random_(low, high, generator=generator)
    return apply_flags(made, requires_grad, "randint")


cdef Op RANDPERM = Op("randperm(int n, *, Generator? generator=None, ScalarType? dtype=None, "
                      "Device? device=None) -> Tensor")

cdef TensorBase randperm_kernel(object n, object generator, object dtype, object device):
    cdef TensorBase out, row
    cdef ssize count = int_argument(n, "randperm", "n")
    cdef int code = dtype_code(dtype, INT64)
    if count < 0:
        raise ShapeError(f"randperm: n must be at least 0, not {count}")
    if code == BOOL:
        raise UnsupportedDType("randperm: not implemented for bool")
    if is_floating(code) and count > (2048 if code == FLOAT16 else 256 if code == BFLOAT16
                                      else (1 << 24) if code == FLOAT32 else (1 << 53)) + 1:
        raise DTypeError(f"randperm: {dtype_object(code)} cannot hold all integers up to {n}")
    check_number(max(count - 1, 0), code, "randperm")
    row = out = start_row(count, code, device, "randperm")
    if is_meta(out):
        return out
    if code != INT64:
        row = empty_tensor(INT64, 1, out.sizes)
    fill_randperm(<int64_t*>memory_of(row), out.numel_,
                  generator_or_default(generator, "randperm"))
    if row is not out:
        copy_into(out, row)
    return out

RANDPERM.c_kernel = <void*>randperm_kernel

def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None,
             bint requires_grad=False, pin_memory=False):
    """The integers from 0 to n - 1 in random order.

    >>> import tensorlab
    >>> _ = tensorlab.manual_seed(0)
    >>> tensorlab.randperm(4)
    tensor([0, 1, 3, 2])
    """
    check_layout(layout, "randperm")
    if out is not None:
        dtype, device = out_options(out, dtype, device, requires_grad, "randperm")
    made = run_4(RANDPERM, int_argument(n, "randperm", "n"), generator, dtype,
                 device_or_default(device))
    return finish_factory(made, out, requires_grad, "randperm")


# ---------------------------------------------------------------- like another tensor
cdef str LIKE = ("*, Generator? generator=None, ScalarType? dtype=None, Device? device=None, "
                 "MemoryFormat? memory_format=None) -> Tensor")
cdef Op RAND_LIKE = Op("rand_like(Tensor x, " + LIKE)
cdef Op RANDN_LIKE = Op("randn_like(Tensor x, " + LIKE)
cdef Op RANDINT_LIKE = Op("randint_like(Tensor x, int low, int high, " + LIKE)

cdef TensorBase rand_like_kernel(TensorBase x, object generator, object dtype, object device,
                                 object memory_format):
    cdef TensorBase out
    check_floating(dtype_code(dtype, x.dtype_), "rand_like", False)
    out = start_like(x, dtype, device, memory_format, "rand_like")
    fill_tensor(out, UNIFORM, generator_or_default(generator, "rand_like"), 0, 1)
    return out

cdef TensorBase randn_like_kernel(TensorBase x, object generator, object dtype, object device,
                                  object memory_format):
    cdef TensorBase out
    check_floating(dtype_code(dtype, x.dtype_), "randn_like", False)
    out = start_like(x, dtype, device, memory_format, "randn_like")
    fill_normally(out, generator_or_default(generator, "randn_like"), 0, 1)
    return out

cdef TensorBase randint_like_kernel(TensorBase x, object low, object high, object generator,
                                    object dtype, object device, object memory_format):
    cdef TensorBase out
    check_integer_bounds(dtype_code(dtype, x.dtype_), low, high, "randint_like")
    out = start_like(x, dtype, device, memory_format, "randint_like")
    fill_between(out, generator_or_default(generator, "randint_like"), low, high)
    return out

RAND_LIKE.c_kernel, RANDN_LIKE.c_kernel = <void*>rand_like_kernel, <void*>randn_like_kernel
RANDINT_LIKE.c_kernel = <void*>randint_like_kernel


def rand_like(TensorBase input not None, *, generator=None, dtype=None, layout=None,
              device=None, bint requires_grad=False, pin_memory=False, memory_format=None):
    """`rand` of the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise."""
    check_layout(layout, "rand_like")
    made = run_5(RAND_LIKE, input, generator, dtype, device, memory_format)
    return apply_flags(made, requires_grad, "rand_like")


def randn_like(TensorBase input not None, *, generator=None, dtype=None, layout=None,
               device=None, bint requires_grad=False, pin_memory=False, memory_format=None):
    """`randn` of the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise."""
    check_layout(layout, "randn_like")
    made = run_5(RANDN_LIKE, input, generator, dtype, device, memory_format)
    return apply_flags(made, requires_grad, "randn_like")


def randint_like(TensorBase input not None, *bounds, low=None, high=None, generator=None,
                 dtype=None, layout=None, device=None, bint requires_grad=False,
                 pin_memory=False, memory_format=None):
    """`randint` of the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise."""
    low, high = integer_bounds(list(bounds), low, high, "randint_like")
    if not PyIndex_Check(high) or not PyIndex_Check(low):
        raise TypeError("randint_like: low and high must be ints, as in randint_like(x, 0, 10)")
    check_layout(layout, "randint_like")
    made = run_tuple(RANDINT_LIKE, (input, low, high, generator, dtype, device, memory_format))
    return apply_flags(made, requires_grad, "randint_like")


# ---------------------------------------------------------------- normal
cdef Op NORMAL_NUMBERS = Op("normal_numbers(float mean, float std, int[] size, *, "
                            "Generator? generator=None, ScalarType? dtype=None, "
                            "Device? device=None) -> Tensor")

cdef TensorBase normal_numbers_kernel(object mean, object std, object size, object generator,
                                      object dtype, object device):
    cdef TensorBase out
    check_std(std, "normal")
    out = new_random(size, dtype, device, "normal")
    fill_normally(out, generator_or_default(generator, "normal"), mean, std)
    return out

NORMAL_NUMBERS.c_kernel = <void*>normal_numbers_kernel

# The op called normal is `normal_`.
cdef Op NORMAL_MEANS = Op("normal_means(Tensor mean, float std=1.0, *, "
                          "Generator? generator=None) -> Tensor", node="NormalBackward1")
cdef Op NORMAL_STDS = Op("normal_stds(float mean, Tensor std, *, "
                         "Generator? generator=None) -> Tensor", node="NormalBackward2")
cdef Op NORMAL_PAIRS = Op("normal_pairs(Tensor mean, Tensor std, *, "
                          "Generator? generator=None) -> Tensor", node="NormalBackward3")

@NORMAL_MEANS.derivative("mean")
@NORMAL_PAIRS.derivative("mean")
def normal_derivative_mean(grad, mean_shape):
    return grad.new_zeros(mean_shape)

@NORMAL_STDS.derivative("std")
@NORMAL_PAIRS.derivative("std")
def normal_derivative_std(grad, std_shape):
    return grad.new_zeros(std_shape)

cdef TensorBase normal_result(object mean, object std, object generator):
    cdef TensorBase like = mean if isinstance(mean, TensorBase) else std
    check_floating(like.dtype_, "normal", False)
    if not isinstance(std, TensorBase):
        check_std(std, "normal")
    shapes = [one.shape for one in (mean, std) if isinstance(one, TensorBase)]
    return (<object>like).new_empty(broadcast_shapes(*shapes))

cdef TensorBase normal_kernel(object mean, object std, object generator):
    cdef TensorBase out = normal_result(mean, std, generator)
    mean, std = detached(mean), detached(std)
    if isinstance(std, TensorBase) and not (std >= 0).all().item():
        raise ShapeError("normal: all elements of std must be at least 0")
    fill_normally(out, generator_or_default(generator, "normal"), 0, 1)
    (<object>out).data.mul_(std).add_(mean)             # .data: the result begins at version 0
    return out

NORMAL_MEANS.c_kernel = NORMAL_STDS.c_kernel = NORMAL_PAIRS.c_kernel = <void*>normal_kernel
NORMAL_MEANS.shape_rule = NORMAL_STDS.shape_rule = <void*>normal_result
NORMAL_PAIRS.shape_rule = <void*>normal_result

cdef object detached(object x):
    return x.detach() if isinstance(x, TensorBase) else x

def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None,
           device=None, bint requires_grad=False, pin_memory=False):
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
    if not isinstance(mean, TensorBase) and not isinstance(std, TensorBase):
        if size is None:
            raise TypeError("normal: size is needed where mean and std are numbers")
        size = given_size((), size, "normal")
        check_layout(layout, "normal")
        if out is None:
            dtype, device = dtype_or_default(dtype), device_or_default(device)
            made = run_6(NORMAL_NUMBERS, <double>mean, <double>std, size, generator, dtype,
                         device)
        else:
            check_std(std, "normal")
            target = random_out(size, out, dtype, device, requires_grad, "normal")
            made = target.normal_(mean, std, generator=generator)
        return apply_flags(made, requires_grad, "normal")
    if size is not None:
        raise TypeError("normal: size is for numbers; the tensors mean and std have a shape "
                        "already")
    if isinstance(out, TensorBase):
        check_floating((<TensorBase>out).dtype_, "normal", False)
    if not isinstance(mean, TensorBase):
        op = NORMAL_STDS
    else:
        op = NORMAL_PAIRS if isinstance(std, TensorBase) else NORMAL_MEANS
    made = run_3(op, mean, std, generator)
    return made if out is None else store_out("normal", made, out, (mean, std),
                                              CASTS | NO_PARTIAL_OVERLAP)


# ---------------------------------------------------------------- multinomial
cdef int sample_row(const double* probabilities, double* cumulative, ssize n, int64_t* out,
                    ssize samples, Generator generator, bint in_single) except -1:
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


cdef int sample_with_replacement(TensorBase out, TensorBase x, Generator generator) except -1:
    cdef TensorBase rows = empty_beside(x, FLOAT64, x.ndim_, x.sizes), cumulative
    cdef ssize n = x.sizes[x.ndim_ - 1], samples = out.sizes[x.ndim_ - 1], i
    copy_into(rows, x)
    cumulative = empty_tensor(FLOAT64, 1, &n)
    for i in range(x.sizes[0] if x.ndim_ == 2 else 1):
        sample_row(<double*>memory_of(rows) + i * n, <double*>memory_of(cumulative), n,
                   <int64_t*>memory_of(out) + i * samples, samples, generator,
                   kernel_dtype(x.dtype_) == FLOAT32)
    return 0


cdef Op MULTINOMIAL = Op("multinomial(Tensor x, int num_samples, bool replacement=False, *, "
                         "Generator? generator=None) -> Tensor")

cdef TensorBase multinomial_result(TensorBase x, object num_samples, object replacement,
                                   object generator):
    """Which index is drawn depends on values, how many are drawn does not."""
    cdef ssize samples = int_argument(num_samples, "multinomial", "num_samples"), n
    cdef ssize[2] sizes
    if not is_floating(x.dtype_):
        raise DTypeError(f"multinomial: probabilities must be floating, not "
                         f"{dtype_object(x.dtype_)}")
    if x.ndim_ != 1 and x.ndim_ != 2:
        raise ShapeError(f"multinomial: a vector or a matrix of probabilities is needed, not "
                         f"{x.ndim_} dimensions")
    n = x.sizes[x.ndim_ - 1]
    if samples <= 0:
        raise ShapeError(f"multinomial: num_samples must be at least 1, not {samples}")
    if n == 0 or (not replacement and samples > n):
        raise ShapeError(f"multinomial: {samples} samples cannot be drawn from {n} "
                         f"probabilities{'' if replacement else ' without replacement'}")
    sizes[0] = x.sizes[0]
    sizes[x.ndim_ - 1] = samples
    return empty_beside(x, INT64, x.ndim_, sizes)

cdef TensorBase multinomial_kernel(TensorBase x, object num_samples, object replacement,
                                   object generator):
    cdef TensorBase out = multinomial_result(x, num_samples, replacement, generator), race
    cdef Generator source = generator_or_default(generator, "multinomial")
    rows = (<object>x).detach()
    if x.numel_ > 0 and not ((rows >= 0) & (rows < float("inf"))).all().item():
        raise ShapeError("multinomial: all probabilities must be at least 0 and finite")
    if replacement and num_samples > 1:
        sample_with_replacement(out, x, source)
        return out
    if x.numel_ > 0 and not ((rows > 0).sum(-1) >= num_samples).all().item():
        raise ShapeError(f"multinomial: {num_samples} samples without replacement need as many probabilities above 0 in each "
                         f"row; draw fewer, or give replacement=True")
    race = empty_like(x, x.dtype_)
    fill_tensor(race, EXPONENTIAL, source, 1, 0)
    rows = rows / race
    return rows.argmax(-1, keepdim=True) if num_samples == 1 else rows.topk(num_samples)[1]

MULTINOMIAL.c_kernel = <void*>multinomial_kernel
MULTINOMIAL.shape_rule = <void*>multinomial_result

def multinomial(TensorBase input not None, num_samples, replacement=False, *, generator=None,
                out=None):
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
        If probabilities are negative, not finite, or all 0, or there are too few to draw from: without
        replacement, fewer than `num_samples` above 0.

    Notes
    -----
    Without replacement: the largest of p / e, for e of the exponential distribution, is index i
    with probability p[i] (an "exponential race"), and the next ones are draws from the rest.
    """
    drawn = run_4(MULTINOMIAL, input, int_argument(num_samples, "multinomial", "num_samples"),
                  bool(replacement), generator)
    return drawn if out is None else store_out("multinomial", drawn, out, ())
