"""Random tensors: rand, randn, randint, randperm, their *_like forms, normal, multinomial."""
from cpython.number cimport PyIndex_Check
from libc.math cimport INFINITY
from libc.stdint cimport int64_t

from tensorlab._core.dispatch.dispatch cimport run_3, run_4, run_5, run_6, run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport refuse_internal_overlap
from tensorlab._core.dispatch.out_argument cimport CASTS, NO_PARTIAL_OVERLAP, store_out
from tensorlab._core.distributions cimport fill_randperm, fill_uniform
from tensorlab._core.dtypes cimport (
    FLOAT32, FLOAT64, FLOATING, INT64, INTEGRAL, NO_DTYPE, default_float, dtype_code,
    dtype_object, is_double, is_in, kernel_dtype, real
)
from tensorlab._core.layout cimport MAX_NDIM, int_argument, read_sizes, ssize
from tensorlab._core.loops.iterator cimport copy_into, plain_as, put_back
from tensorlab._core.random cimport Generator, generator_or_default
from tensorlab._core.tensor cimport (
    TensorBase, empty_like, empty_tensor, memory_of, result_beside
)
from tensorlab.ops.factories cimport (
    apply_flags, check_layout, check_like_layout, check_out, device_or_default, dtype_or_default, finish_factory,
    given_size, out_options, factory_result, like_result, start_out, row_result
)
from tensorlab.ops.filling cimport check_number
from tensorlab.ops.random cimport (
    EXPONENTIAL, UNIFORM, check_floating, check_integer_bounds, check_std, digits_of,
    fill_between, fill_normally, fill_tensor
)

from tensorlab.errors import DTypeError, ShapeError, UnsupportedDType
from tensorlab.ops.meshgrid import broadcast_shapes

cdef enum:
    DRAWN_TOGETHER = 256        # numbers of multinomial: 2 KiB, which stay in the first-level cache


# ---------------------------------------------------------------- factories
cdef TensorBase random_result(object size, object dtype, object device, object generator, str where):
    """A result of random numbers, of the default type unless another is named."""
    cdef int code = default_float() if dtype is None else dtype_code(dtype, NO_DTYPE)
    generator_or_default(generator, where)
    check_floating(code, where, False)
    return factory_result(size, None, code, device, where)


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
                  "Device? device=None) -> Tensor", aten="rand.generator")
cdef Op RANDN = Op("randn(int[] size, *, Generator? generator=None, ScalarType? dtype=None, "
                   "Device? device=None) -> Tensor", aten="randn.generator")

@RAND.infer
def rand_infer(size, generator, dtype, device):
    return random_result(size, dtype, device, generator, "rand")

@RAND.kernel
def rand_kernel(TensorBase out, size, generator, dtype, device):
    fill_tensor(out, UNIFORM, generator_or_default(generator, "rand"), 0, 1)

@RANDN.infer
def randn_infer(size, generator, dtype, device):
    return random_result(size, dtype, device, generator, "randn")

@RANDN.kernel
def randn_kernel(TensorBase out, size, generator, dtype, device):
    fill_normally(out, generator_or_default(generator, "randn"), 0, 1)

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
    `rand`.

    Parameters
    ----------
    *sizes : int, or one sequence of int
    generator : Generator, the default one if not given
    out : Tensor that is filled
    dtype : floating dtype, the default dtype if not given
    device : "cpu", "meta" or None
    requires_grad : bool

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.randn(2, 3).shape
    tensorlab.Size([2, 3])
    """
    size = given_size(sizes, size, "randn")
    check_layout(layout, "randn")
    if out is None:
        made = run_4(RANDN, size, generator, dtype_or_default(dtype), device_or_default(device))
    else:
        target = random_out(size, out, dtype, device, requires_grad, "randn")
        made = target.normal_(generator=generator)
    return apply_flags(made, requires_grad, "randn")


cdef Op RANDINT = Op("randint(int low, int high, int[] size, *, Generator? generator=None, "
                     "ScalarType? dtype=None, Device? device=None) -> Tensor",
                     aten="randint.low_generator")

@RANDINT.infer
def randint_infer(low, high, size, generator, dtype, device):
    generator_or_default(generator, "randint")
    check_integer_bounds(dtype_code(dtype, INT64), low, high, "randint")
    return factory_result(size, dtype, INT64, device, "randint")

@RANDINT.kernel
def randint_kernel(TensorBase out, low, high, size, generator, dtype, device):
    fill_between(out, generator_or_default(generator, "randint"), low, high)


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
                      "Device? device=None) -> Tensor", aten="randperm.generator")

@RANDPERM.infer
def randperm_infer(n, generator, dtype, device):
    cdef ssize count = int_argument(n, "randperm", "n")
    cdef int code = dtype_code(dtype, INT64)
    generator_or_default(generator, "randperm")
    if count < 0:
        raise ShapeError(f"randperm: n must be at least 0, not {count}")
    if not is_in(code, INTEGRAL | FLOATING):
        raise UnsupportedDType(f"randperm: not implemented for {dtype_object(code).name}")
    if is_in(code, FLOATING) and count > (<ssize>1 << digits_of(code)) + 1:
        raise DTypeError(f"randperm: {dtype_object(code)} cannot hold all integers up to {n}")
    check_number(max(count - 1, 0), code, "randperm")
    return row_result(count, code, device, "randperm")

@RANDPERM.kernel
def randperm_kernel(TensorBase out, n, generator, dtype, device):
    cdef TensorBase row = out if out.dtype_ == INT64 else empty_tensor(INT64, 1, out.sizes)
    fill_randperm(<int64_t*>memory_of(row), out.numel_, generator_or_default(generator, "randperm"))
    put_back(out, row)

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
cdef Op RAND_LIKE = Op("rand_like(Tensor x, " + LIKE, aten="rand_like.generator")
cdef Op RANDN_LIKE = Op("randn_like(Tensor x, " + LIKE, aten="randn_like.generator")
cdef Op RANDINT_LIKE = Op("randint_like(Tensor x, int low, int high, " + LIKE,
                          aten="randint_like.low_generator_dtype")

cdef TensorBase random_like(TensorBase x, object generator, object dtype, object device, object memory_format, str where):
    generator_or_default(generator, where)
    check_floating(dtype_code(dtype, x.dtype_), where, False)
    return like_result(x, dtype, device, memory_format, where)

@RAND_LIKE.infer
def rand_like_infer(TensorBase x, generator, dtype, device, memory_format):
    return random_like(x, generator, dtype, device, memory_format, "rand_like")

@RAND_LIKE.kernel
def rand_like_kernel(TensorBase out, x, generator, dtype, device, memory_format):
    fill_tensor(out, UNIFORM, generator_or_default(generator, "rand_like"), 0, 1)

@RANDN_LIKE.infer
def randn_like_infer(TensorBase x, generator, dtype, device, memory_format):
    return random_like(x, generator, dtype, device, memory_format, "randn_like")

@RANDN_LIKE.kernel
def randn_like_kernel(TensorBase out, x, generator, dtype, device, memory_format):
    fill_normally(out, generator_or_default(generator, "randn_like"), 0, 1)

@RANDINT_LIKE.infer
def randint_like_infer(TensorBase x, low, high, generator, dtype, device, memory_format):
    generator_or_default(generator, "randint_like")
    check_integer_bounds(dtype_code(dtype, x.dtype_), low, high, "randint_like")
    return like_result(x, dtype, device, memory_format, "randint_like")

@RANDINT_LIKE.kernel
def randint_like_kernel(TensorBase out, x, low, high, generator, dtype, device, memory_format):
    fill_between(out, generator_or_default(generator, "randint_like"), low, high)

def rand_like(TensorBase input not None, *, generator=None, dtype=None, layout=None,
              device=None, bint requires_grad=False, pin_memory=False, memory_format=None):
    """`rand` of the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise.

    Parameters
    ----------
    input : Tensor
    dtype : dtype, that of `input` if not given
    layout : None or strided
    device : "cpu", "meta" or None for that of `input`
    requires_grad : bool
    memory_format : preserve_format keeps the order of dimensions in memory

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.rand_like(x).shape
    tensorlab.Size([2, 2])
    """
    check_like_layout(input, layout, "rand_like")
    made = run_5(RAND_LIKE, input, generator, dtype, device, memory_format)
    return apply_flags(made, requires_grad, "rand_like")


def randn_like(TensorBase input not None, *, generator=None, dtype=None, layout=None,
               device=None, bint requires_grad=False, pin_memory=False, memory_format=None):
    """`randn` of the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise.

    Parameters
    ----------
    input : Tensor
    dtype : dtype, that of `input` if not given
    layout : None or strided
    device : "cpu", "meta" or None for that of `input`
    requires_grad : bool
    memory_format : preserve_format keeps the order of dimensions in memory

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> tensorlab.randn_like(x, dtype=tensorlab.float64).dtype
    tensorlab.float64
    """
    check_like_layout(input, layout, "randn_like")
    made = run_5(RANDN_LIKE, input, generator, dtype, device, memory_format)
    return apply_flags(made, requires_grad, "randn_like")


def randint_like(TensorBase input not None, *bounds, low=None, high=None, generator=None,
                 dtype=None, layout=None, device=None, bint requires_grad=False,
                 pin_memory=False, memory_format=None):
    """`randint` of the shape of `input`, and of its dtype and order of dimensions unless told
    otherwise.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.randint_like(tensorlab.zeros(2, 3), 10)
    >>> x.shape, x.dtype
    (tensorlab.Size([2, 3]), tensorlab.float32)
    """
    low, high = integer_bounds(list(bounds), low, high, "randint_like")
    if not PyIndex_Check(high) or not PyIndex_Check(low):
        raise TypeError("randint_like: low and high must be ints, as in randint_like(x, 0, 10)")
    check_like_layout(input, layout, "randint_like")
    made = run_tuple(RANDINT_LIKE, (input, low, high, generator, dtype, device, memory_format))
    return apply_flags(made, requires_grad, "randint_like")


# ---------------------------------------------------------------- normal
cdef Op NORMAL_NUMBERS = Op("normal_numbers(float mean, float std, int[] size, *, "
                            "Generator? generator=None, ScalarType? dtype=None, "
                            "Device? device=None) -> Tensor", aten="normal.float_float")

@NORMAL_NUMBERS.infer
def normal_numbers_infer(mean, std, size, generator, dtype, device):
    check_std(std, "normal")
    return random_result(size, dtype, device, generator, "normal")

@NORMAL_NUMBERS.kernel
def normal_numbers_kernel(TensorBase out, double mean, double std, size, generator, dtype, device):
    fill_normally(out, generator_or_default(generator, "normal"), mean, std)


# The op called normal is `normal_`.
cdef Op NORMAL_MEANS = Op("normal_means(Tensor mean, float std=1.0, *, "
                          "Generator? generator=None) -> Tensor",
                          aten="normal.Tensor_float", node="NormalBackward1")
cdef Op NORMAL_STDS = Op("normal_stds(float mean, Tensor std, *, "
                         "Generator? generator=None) -> Tensor",
                         aten="normal.float_Tensor", node="NormalBackward2")
cdef Op NORMAL_PAIRS = Op("normal_pairs(Tensor mean, Tensor std, *, "
                          "Generator? generator=None) -> Tensor",
                          aten="normal.Tensor_Tensor", node="NormalBackward3")

@NORMAL_MEANS.derivative("mean")
@NORMAL_PAIRS.derivative("mean")
def normal_derivative_mean(grad, mean_shape):
    return grad.new_zeros(mean_shape)

@NORMAL_STDS.derivative("std")
@NORMAL_PAIRS.derivative("std")
def normal_derivative_std(grad, std_shape):
    return grad.new_zeros(std_shape)

@NORMAL_PAIRS.infer
@NORMAL_STDS.infer
@NORMAL_MEANS.infer
def normal_infer(mean, std, generator):
    cdef TensorBase like = mean if isinstance(mean, TensorBase) else std
    cdef ssize[MAX_NDIM] sizes
    generator_or_default(generator, "normal")
    check_floating(like.dtype_, "normal", False)
    if not isinstance(std, TensorBase):
        check_std(std, "normal")
    shapes = [one.shape for one in (mean, std) if isinstance(one, TensorBase)]
    return result_beside(like, like.dtype_, read_sizes(broadcast_shapes(*shapes), sizes, "normal"), sizes)

@NORMAL_PAIRS.kernel
@NORMAL_STDS.kernel
@NORMAL_MEANS.kernel
def normal_kernel(TensorBase out, mean, std, generator):
    mean, std = detached(mean), detached(std)
    if isinstance(std, TensorBase) and not (std >= 0).all().item():
        raise ShapeError("normal: all elements of std must be at least 0")
    fill_normally(out, generator_or_default(generator, "normal"), 0, 1)
    (<object>out).data.mul_(std).add_(mean)             # .data: the result begins at version 0

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
cdef bint are_probabilities(const real* x, ssize n) noexcept nogil:
    """Are all numbers at least 0 and finite? Each is looked at, so that the loop is SIMD code."""
    cdef bint found = True
    cdef ssize i
    for i in range(n):
        found &= (x[i] >= 0) & (x[i] < INFINITY)
    return found


cdef ssize fewest_positive(const real* x, ssize rows, ssize n) noexcept nogil:
    """How many numbers above 0 the row has that has the fewest."""
    cdef ssize fewest = n, count, _row, j
    for _row in range(rows):
        count = 0
        for j in range(n):
            count += x[j] > 0
        fewest = count if count < fewest else fewest
        x += n
    return fewest


cdef int check_rows(const real* x, ssize rows, ssize n, ssize needed) except -1:
    """Can `needed` different indices be drawn from each row? 0: one index, again and again."""
    if not are_probabilities(x, rows * n):
        raise ShapeError("multinomial: all probabilities must be at least 0 and finite")
    if needed > 0 and fewest_positive(x, rows, n) < needed:
        raise ShapeError(f"multinomial: {needed} samples without replacement need as many probabilities above 0 in each "
                         f"row; draw fewer, or give replacement=True")
    return 0


cdef void bisect(const double* cumulative, ssize n, const double* drawn, int64_t* below,
                 ssize count) noexcept nogil:
    """For each drawn number, how many of the n cumulated probabilities lie below it.

    All are bisected together, so that the inner loop is SIMD code. At each step the answer is one of
    `below` to `below + length`; the last probability is 1, and no number lies above it.
    """
    cdef ssize length = n, half, i
    for i in range(count):
        below[i] = 0
    while length > 1:
        half = length // 2
        for i in range(count):
            below[i] += half if cumulative[below[i] + half - 1] < drawn[i] else 0
        length -= half
    for i in range(count):
        below[i] += 1 if cumulative[below[i]] < drawn[i] else 0


cdef int sample_row(const double* probabilities, double* cumulative, ssize n, int64_t* out,
                    ssize samples, Generator generator, bint in_single) except -1:
    """Where uniform numbers fall among the cumulated probabilities."""
    cdef double drawn[DRAWN_TOGETHER]
    cdef double total = 0
    cdef ssize i, count
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
    while samples > 0:
        count = min(samples, <ssize>DRAWN_TOGETHER)
        fill_uniform[double](drawn, count, generator, 0, 1)
        bisect(cumulative, n, drawn, out, count)
        out += count
        samples -= count
    return 0


cdef int sample_with_replacement(TensorBase out, TensorBase x, Generator generator) except -1:
    cdef TensorBase rows = plain_as(x, FLOAT64), cumulative
    cdef ssize n = x.sizes[x.ndim_ - 1], samples = out.sizes[x.ndim_ - 1], i
    cumulative = empty_tensor(FLOAT64, 1, &n)
    for i in range(x.sizes[0] if x.ndim_ == 2 else 1):
        sample_row(<double*>memory_of(rows) + i * n, <double*>memory_of(cumulative), n,
                   <int64_t*>memory_of(out) + i * samples, samples, generator,
                   kernel_dtype(x.dtype_) == FLOAT32)
    return 0


cdef Op MULTINOMIAL = Op("multinomial(Tensor x, int num_samples, bool replacement=False, *, "
                         "Generator? generator=None) -> Tensor")

@MULTINOMIAL.infer
def multinomial_infer(TensorBase x, num_samples, replacement, generator):
    cdef ssize samples = int_argument(num_samples, "multinomial", "num_samples"), n
    cdef ssize[2] sizes
    if not is_in(x.dtype_, FLOATING):
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
    generator_or_default(generator, "multinomial")
    return result_beside(x, INT64, x.ndim_, sizes)

@MULTINOMIAL.kernel
def multinomial_kernel(TensorBase out, TensorBase x, num_samples, replacement, generator):
    cdef Generator source = generator_or_default(generator, "multinomial")
    cdef TensorBase race, plain = plain_as(x, kernel_dtype(x.dtype_))
    cdef bint draws_again = replacement and num_samples > 1
    cdef ssize n = x.sizes[x.ndim_ - 1], needed = 0 if draws_again else num_samples
    if is_double(plain.dtype_):
        check_rows[double](<double*>memory_of(plain), x.numel_ // n, n, needed)
    else:
        check_rows[float](<float*>memory_of(plain), x.numel_ // n, n, needed)
    if draws_again:
        sample_with_replacement(out, x, source)
        return
    race = empty_like(x, x.dtype_)
    fill_tensor(race, EXPONENTIAL, source, 1, 0)
    rows = (<object>x).detach() / race
    copy_into(out, rows.argmax(-1, keepdim=True) if num_samples == 1 else rows.topk(num_samples)[1])

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

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.multinomial(tensorlab.tensor([0.0, 1.0]), 3, replacement=True)
    tensor([1, 1, 1])
    """
    drawn = run_4(MULTINOMIAL, input, int_argument(num_samples, "multinomial", "num_samples"),
                  bool(replacement), generator)
    return drawn if out is None else store_out("multinomial", drawn, out, ())
