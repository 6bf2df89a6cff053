"""Optimizer steps, one loop for each parameter: every array is read once and written once.

Written with tensor operations, an Adam step makes some ten passes over memory and as many Python calls for each parameter;
PyTorch, which does so, tests these loops (tests/optim/test_steps.py). Autograd does not see a step: it writes to the
memory of the parameter and counts a version, as an in-place operation under no_grad does.
"""
from libc.math cimport sqrt, sqrtf

from tensorlab._core.dtypes cimport FLOAT32, FLOAT64, real
from tensorlab._core.graph cimport bump_version
from tensorlab._core.iterator cimport contiguous_copy, copy_into
from tensorlab._core.layout cimport is_dense, ssize
from tensorlab._core.tensor cimport TensorBase, check_writable, empty_strided_beside, memory_of

from tensorlab.errors import ShapeError, UnsupportedDType

cdef struct SgdOptions:
    double lr
    double momentum
    double new_part             # 1 - dampening: how much of the gradient enters the velocity
    double weight_decay
    bint nesterov
    bint maximize
    bint is_first               # no velocity yet: it becomes the gradient

cdef struct AdamOptions:
    double beta1
    double beta2
    double eps
    double weight_decay         # what enters the gradient
    double shrink               # what the parameter is multiplied by: 1 - lr * weight_decay if decoupled, else 1
    double step_size            # lr / (1 - beta1**t)
    double square_scale         # 1 / sqrt(1 - beta2**t)
    bint maximize


# ---------------------------------------------------------------- memory
cdef TensorBase dense(TensorBase param, str op):
    """The parameter, or a copy without gaps between its elements."""
    check_writable(param, op)
    memory_of(param)
    if param.dtype_ != FLOAT32 and param.dtype_ != FLOAT64:
        raise UnsupportedDType(f"{op}: the parameter is {param.dtype}; expected float32 or float64")
    return param if is_dense(param.ndim_, param.sizes, param.strides) else contiguous_copy(param)


cdef TensorBase like_param(TensorBase x, TensorBase param, str name, str op):
    """x, or a copy of it whose elements lie in the order of the parameter's."""
    cdef TensorBase copied
    cdef bint same_order = True
    cdef int i
    memory_of(x)
    if x.ndim_ != param.ndim_ or x.numel_ != param.numel_ or x.dtype_ != param.dtype_:
        raise mismatch(x, param, name, op)
    if name != "the gradient":
        check_writable(x, op)
    for i in range(x.ndim_):
        if x.sizes[i] != param.sizes[i]:
            raise mismatch(x, param, name, op)
        if x.strides[i] != param.strides[i] and x.sizes[i] != 1:
            same_order = False
    if same_order:
        return x
    copied = empty_strided_beside(param, param.dtype_, param.ndim_, param.sizes, param.strides)
    copy_into(copied, x)
    return copied


cdef object mismatch(TensorBase x, TensorBase param, str name, str op):
    return ShapeError(
        f"{op}: {name} is {x.dtype} of shape {tuple(x.shape)}, its parameter {param.dtype} of shape {tuple(param.shape)}; "
        f"expected the same. Was the state loaded from another model's optimizer?"
    )


cdef int written(TensorBase x, TensorBase worked_on) except -1:
    """Count a write to x, which happened to it or to a copy that is now copied back."""
    if worked_on is not x:
        copy_into(x, worked_on)
    bump_version(x)
    return 0


# ---------------------------------------------------------------- SGD
cdef void sgd_loop(real* param, const real* grad, real* velocity, SgdOptions* options, ssize n) noexcept nogil:
    cdef real lr = <real>options.lr, momentum = <real>options.momentum, new_part = <real>options.new_part
    cdef real weight_decay = <real>options.weight_decay, sign = -1 if options.maximize else 1
    cdef bint nesterov = options.nesterov, is_first = options.is_first
    cdef real g, v
    cdef ssize i
    if velocity == NULL:
        for i in range(n):
            g = sign * grad[i]
            if weight_decay != 0:
                g = g + weight_decay * param[i]
            param[i] = param[i] - lr * g
        return
    for i in range(n):
        g = sign * grad[i]
        if weight_decay != 0:
            g = g + weight_decay * param[i]
        v = g if is_first else momentum * velocity[i] + new_part * g
        velocity[i] = v
        param[i] = param[i] - lr * (g + momentum * v if nesterov else v)


def sgd_step(TensorBase param not None, TensorBase grad not None, TensorBase velocity, double lr, double momentum,
             double dampening, double weight_decay, bint nesterov, bint maximize, bint is_first):
    """Change a parameter, and with momentum its velocity, by one step of SGD (the formula is in optim.SGD).

    Parameters
    ----------
    param, grad : Tensor, float32 or float64, of one shape
    velocity : Tensor of the same shape, or None; what it holds is ignored if `is_first`

    Raises
    ------
    ShapeError
        If shapes or dtypes differ; nothing is changed then.
    """
    cdef SgdOptions options = SgdOptions(lr, momentum, 1 - dampening, weight_decay, nesterov, maximize, is_first)
    cdef TensorBase p = dense(param, "SGD")
    cdef TensorBase g = like_param(grad, p, "the gradient", "SGD")
    cdef TensorBase v = None if velocity is None else like_param(velocity, p, "momentum_buffer", "SGD")
    cdef char* velocity_data = NULL if v is None else memory_of(v)
    with nogil:
        if p.dtype_ == FLOAT32:
            sgd_loop(<float*>memory_of(p), <float*>memory_of(g), <float*>velocity_data, &options, p.numel_)
        else:
            sgd_loop(<double*>memory_of(p), <double*>memory_of(g), <double*>velocity_data, &options, p.numel_)
    written(param, p)
    if v is not None:
        written(velocity, v)


# ---------------------------------------------------------------- Adam
cdef inline void adam_loop(real* param, const real* grad, real* mean, real* square, real* largest, AdamOptions* options,
                           ssize n, bint amsgrad) noexcept nogil:
    cdef real new_mean = <real>(1 - options.beta1), beta2 = <real>options.beta2, new_square = <real>(1 - options.beta2)
    cdef real weight_decay = <real>options.weight_decay, shrink = <real>options.shrink
    cdef real sign = -1 if options.maximize else 1
    cdef real step_size = <real>options.step_size, square_scale = <real>options.square_scale, eps = <real>options.eps
    cdef real g, m, s
    cdef ssize i
    for i in range(n):
        g = sign * grad[i]
        if weight_decay != 0:
            g = g + weight_decay * param[i]
        m = mean[i] + (g - mean[i]) * new_mean
        s = square[i] * beta2 + new_square * g * g
        mean[i] = m
        square[i] = s
        if amsgrad:
            s = max_or_nan(largest[i], s)
            largest[i] = s
        param[i] = shrink * param[i] - step_size * m / (square_root(s) * square_scale + eps)


cdef void run_adam(real* param, const real* grad, real* mean, real* square, real* largest, AdamOptions* options,
                   ssize n) noexcept nogil:
    # With a constant the compiler makes two loops. With a test on `largest` inside of one it would not vectorise
    # (203,000 elements: 480 us instead of 57).
    if largest == NULL:
        adam_loop(param, grad, mean, square, largest, options, n, False)
    else:
        adam_loop(param, grad, mean, square, largest, options, n, True)


cdef inline real square_root(real x) noexcept nogil:
    return sqrtf(x) if real is float else sqrt(x)


cdef inline real max_or_nan(real x, real y) noexcept nogil:
    """The larger one, or nan if either is: a broken gradient must not hide behind an old maximum."""
    cdef real larger = x if x > y else y        # y if y is nan
    return x if x != x else larger              # two selects; with `or` the loop would not vectorise


def adam_step(TensorBase param not None, TensorBase grad not None, TensorBase mean not None, TensorBase square not None,
              TensorBase largest, TensorBase step not None, double lr, double beta1, double beta2, double eps,
              double weight_decay, bint is_decoupled, bint maximize):
    """Change a parameter and its state by one step of Adam (the formula is in optim.Adam).

    Parameters
    ----------
    param, grad, mean, square : Tensor, float32 or float64, of one shape
    largest : Tensor of the same shape, or None without amsgrad
    step : Tensor, 0-d, float32 or float64, the steps so far; one is added

    Raises
    ------
    ShapeError
        If shapes or dtypes differ; nothing is changed then.
    """
    cdef TensorBase p = dense(param, "Adam")
    cdef TensorBase g = like_param(grad, p, "the gradient", "Adam")
    cdef TensorBase m = like_param(mean, p, "exp_avg", "Adam")
    cdef TensorBase s = like_param(square, p, "exp_avg_sq", "Adam")
    cdef TensorBase most = None if largest is None else like_param(largest, p, "max_exp_avg_sq", "Adam")
    cdef char* most_data = NULL if most is None else memory_of(most)
    cdef double t = count_step(step)
    cdef AdamOptions options
    options.beta1 = beta1
    options.beta2 = beta2
    options.eps = eps
    options.weight_decay = 0 if is_decoupled else weight_decay
    options.shrink = 1 - lr * weight_decay if is_decoupled else 1
    options.step_size = lr / (1 - beta1 ** t)
    options.square_scale = 1 / sqrt(1 - beta2 ** t)
    options.maximize = maximize
    with nogil:
        if p.dtype_ == FLOAT32:
            run_adam(<float*>memory_of(p), <float*>memory_of(g), <float*>memory_of(m), <float*>memory_of(s),
                     <float*>most_data, &options, p.numel_)
        else:
            run_adam(<double*>memory_of(p), <double*>memory_of(g), <double*>memory_of(m), <double*>memory_of(s),
                     <double*>most_data, &options, p.numel_)
    written(param, p)
    written(mean, m)
    written(square, s)
    if most is not None:
        written(largest, most)


cdef double count_step(TensorBase step) except -1:
    """Add one to the number of steps and return it."""
    if step.numel_ != 1 or step.dtype_ != FLOAT32 and step.dtype_ != FLOAT64:
        raise ShapeError(f"Adam: step is {step.dtype} of shape {tuple(step.shape)}; expected one float")
    check_writable(step, "Adam")
    bump_version(step)
    if step.dtype_ == FLOAT32:
        (<float*>memory_of(step))[0] += 1
        return (<float*>memory_of(step))[0]
    (<double*>memory_of(step))[0] += 1
    return (<double*>memory_of(step))[0]
