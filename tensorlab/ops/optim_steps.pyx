"""Optimizer steps, one loop for each parameter: every array is read once and written once.

Written with tensor operations, an Adam step makes some ten passes over memory and as many Python calls for each parameter;
PyTorch, which does so, tests these loops (tests/optim/test_steps.py). A step is one call of an op for all parameters of a
group. Autograd does not see it: it writes to the memory of the parameters and counts versions, as an in-place operation
under no_grad does. All arguments are checked before anything is written.
"""
from libc.math cimport sqrt

cimport tensorlab._core.loops.c_math as c_math
from tensorlab._core.dispatch.dispatch cimport run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dtypes cimport COMPLEX, FLOAT32, FLOAT64, HALF, is_double, is_in, real
from tensorlab._core.graph.graph cimport bump_version
from tensorlab._core.layout cimport is_dense, shape_text, ssize
from tensorlab._core.loops.iterator cimport contiguous_copy, copy_into, moved, put_back
from tensorlab._core.state.devices cimport FIRST_OF_OTHERS, ON_CPU
from tensorlab._core.tensor cimport TensorBase, check_writable, empty_beside, memory_of

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
    copied = empty_beside(param, param.dtype_, param.ndim_, param.sizes, param.strides)
    copy_into(copied, x)
    return copied


cdef object mismatch(TensorBase x, TensorBase param, str name, str op):
    return ShapeError(
        f"{op}: {name} is {x.dtype} of shape {shape_text(x.ndim_, x.sizes)}, its parameter {param.dtype} of shape "
        f"{shape_text(param.ndim_, param.sizes)}; expected the same. Was the state loaded from another model's optimizer?"
    )


cdef list like_params(object tensors, object params, list dense_params, str name, str op):
    """`like_param` of each; an empty list if there are no such tensors."""
    cdef Py_ssize_t i
    if len(tensors) != len(params):
        raise ShapeError(f"{op}: {len(params)} parameters, but {len(tensors)} tensors for {name}; expected one for each")
    return [like_param(<TensorBase>tensors[i], <TensorBase>dense_params[i], name, op) for i in range(len(params))]


cdef int written(TensorBase x, TensorBase worked_on) except -1:
    """Count a write to x, which happened to it or to a copy that is now copied back."""
    put_back(x, worked_on)
    bump_version(x)
    return 0


# ---------------------------------------------------------------- parameters on other devices
cdef bint are_elsewhere(object params):
    return len(params) > 0 and (<TensorBase>params[0]).storage_.device >= FIRST_OF_OTHERS


cdef object step_on_cpu(Op step, tuple lists, tuple options):
    """Take a step with copies of all tensors on the cpu, and copy back what it changes."""
    cdef list here = [[moved(<TensorBase>x, ON_CPU) for x in one] if one else one for one in lists]
    step.compose_function(*here, *options)
    for one, copies in zip(lists, here, strict=True):
        if one is not lists[1]:                     # the gradients stay
            for x, copied in zip(one or (), copies or (), strict=True):
                if x is not copied:
                    written(<TensorBase>x, <TensorBase>copied)
    return lists[0]


# ---------------------------------------------------------------- SGD
cdef void sgd_loop(real* param, const real* grad, real* velocity, SgdOptions* options,
                   ssize n) noexcept nogil:
    cdef real lr = <real>options.lr
    cdef real momentum = <real>options.momentum, new_part = <real>options.new_part
    cdef real weight_decay = <real>options.weight_decay, sign = -1 if options.maximize else 1
    cdef bint nesterov = options.nesterov, is_first = options.is_first
    cdef real g, v
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


cdef Op SGD_STEP_ = Op("sgd_step_(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] velocities, float lr, float momentum, "
                       "float dampening, float weight_decay, bool nesterov, bool maximize, bool is_first) -> Tensor(a!)[]",
                       aten=None, records_itself=True)

@SGD_STEP_.compose
def sgd_step_in_place(params, grads, velocities, lr, momentum, dampening, weight_decay, nesterov, maximize, is_first):
    if are_elsewhere(params):
        options = lr, momentum, dampening, weight_decay, nesterov, maximize, is_first
        return step_on_cpu(SGD_STEP_, (params, grads, velocities), options)
    take_sgd_step(params, grads, velocities,
                  SgdOptions(lr, momentum, 1 - dampening, weight_decay, nesterov, maximize, is_first))
    return params

cdef int take_sgd_step(object params, object grads, object velocities, SgdOptions options) except -1:
    cdef list dense_params = [dense(<TensorBase>one, "SGD") for one in params]
    cdef list dense_grads = like_params(grads, params, dense_params, "the gradient", "SGD")
    cdef list dense_velocities = like_params(velocities, params, dense_params, "momentum_buffer", "SGD") if velocities else None
    cdef TensorBase p, g, v
    cdef char* velocity_data
    cdef Py_ssize_t i
    for i in range(len(params)):
        p, g = dense_params[i], dense_grads[i]
        v = None if dense_velocities is None else <TensorBase>dense_velocities[i]
        velocity_data = NULL if v is None else memory_of(v)
        with nogil:
            if p.dtype_ == FLOAT32:
                sgd_loop(<float*>memory_of(p), <float*>memory_of(g), <float*>velocity_data, &options, p.numel_)
            else:
                sgd_loop(<double*>memory_of(p), <double*>memory_of(g), <double*>velocity_data, &options, p.numel_)
        written(<TensorBase>params[i], p)
        if v is not None:
            written(<TensorBase>velocities[i], v)
    return 0


def any_complex(list params):
    """Return whether a parameter is complex."""
    cdef TensorBase param
    for param in params:
        if is_in(param.dtype_, COMPLEX):
            return True
    return False


def is_half(TensorBase param not None):
    """Return whether a parameter is of a half type.

    Then it takes its step in tensor operations: each computes in float32 and rounds once, which gives the numbers of PyTorch.
    """
    return is_in(param.dtype_, HALF)


def sgd_step(list params, list grads, list velocities, double lr, double momentum, double dampening, double weight_decay,
             bint nesterov, bint maximize, bint is_first):
    """Change parameters, and with momentum their velocities, by one step of SGD (the formula is in optim.SGD).

    Parameters
    ----------
    params, grads : lists of Tensors, float32 or float64; a gradient for each parameter, of its shape and type
    velocities : list of Tensors of the same shapes and types, empty without momentum; what they hold is ignored if `is_first`

    Raises
    ------
    ShapeError
        If shapes or dtypes differ; nothing is changed then.
    """
    run_tuple(SGD_STEP_, (params, grads, velocities, lr, momentum, dampening, weight_decay, nesterov, maximize, is_first))


# ---------------------------------------------------------------- Adam
cdef inline void adam_loop(real* param, const real* grad, real* mean, real* square, real* largest, AdamOptions* options,
                           ssize n, bint amsgrad) noexcept nogil:
    cdef real new_mean = <real>(1 - options.beta1), beta2 = <real>options.beta2, new_square = <real>(1 - options.beta2)
    cdef real weight_decay = <real>options.weight_decay, shrink = <real>options.shrink
    cdef real sign = -1 if options.maximize else 1
    cdef real step_size = <real>options.step_size, square_scale = <real>options.square_scale, eps = <real>options.eps
    cdef real g, m, s
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
        param[i] = shrink * param[i] - step_size * m / (c_math.sqrt(s) * square_scale + eps)


cdef void run_adam(real* param, const real* grad, real* mean, real* square, real* largest, AdamOptions* options,
                   ssize n) noexcept nogil:
    # With a constant the compiler makes two loops. With a test on `largest` inside of one it would not vectorise
    # (203,000 elements: 480 us instead of 57).
    if largest == NULL:
        adam_loop(param, grad, mean, square, largest, options, n, False)
    else:
        adam_loop(param, grad, mean, square, largest, options, n, True)


ctypedef void (*adam_type)(void* param, const void* grad, void* mean, void* square, void* largest, AdamOptions* options,
                           ssize n) noexcept nogil


cdef adam_type adam_for(int dtype) except NULL:
    """run_adam for a dtype.

    Called by a pointer it isn't inlined. In the large kernel GCC 12 doesn't vectorise the loop
    for float32 without amsgrad (203,000 elements: 460 us instead of 36).
    """
    return <adam_type>run_adam[double] if is_double(dtype) else <adam_type>run_adam[float]


cdef inline real max_or_nan(real x, real y) noexcept nogil:
    """The larger one, or nan if either is: a broken gradient must not hide behind an old maximum."""
    cdef real larger = x if x > y else y        # y if y is nan
    return x if x != x else larger              # two selects; with `or` the loop would not vectorise


cdef Op ADAM_STEP_ = Op("adam_step_(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] means, Tensor(c!)[] squares, "
                        "Tensor(d!)[] largest, Tensor(e!)[] steps, float lr, float[] betas, float eps, float weight_decay, "
                        "bool is_decoupled, bool maximize) -> Tensor(a!)[]", aten=None, records_itself=True)

@ADAM_STEP_.compose
def adam_step_in_place(params, grads, means, squares, largest, steps, lr, betas, eps, weight_decay, is_decoupled, maximize):
    cdef list dense_params, dense_grads, dense_means, dense_squares, dense_largest
    cdef double rate = lr, decay = weight_decay, beta1, beta2, t
    cdef TensorBase p, g, m, s, most
    cdef char* most_data
    cdef AdamOptions options
    cdef adam_type loop
    cdef Py_ssize_t i
    if are_elsewhere(params):
        return step_on_cpu(ADAM_STEP_, (params, grads, means, squares, largest, steps),
                           (lr, betas, eps, weight_decay, is_decoupled, maximize))
    dense_params = [dense(<TensorBase>one, "Adam") for one in params]
    dense_grads = like_params(grads, params, dense_params, "the gradient", "Adam")
    dense_means = like_params(means, params, dense_params, "exp_avg", "Adam")
    dense_squares = like_params(squares, params, dense_params, "exp_avg_sq", "Adam")
    dense_largest = like_params(largest, params, dense_params, "max_exp_avg_sq", "Adam") if largest else None
    beta1, beta2 = betas
    options.beta1, options.beta2 = beta1, beta2
    options.eps = eps
    options.weight_decay = 0 if is_decoupled else decay
    options.shrink = 1 - rate * decay if is_decoupled else 1
    options.maximize = maximize
    if len(steps) != len(params):
        raise ShapeError(f"Adam: {len(params)} parameters, but {len(steps)} numbers of steps; expected one for each")
    for one in steps:
        check_step(<TensorBase>one)
    for i in range(len(params)):
        p, g, m, s = dense_params[i], dense_grads[i], dense_means[i], dense_squares[i]
        most = None if dense_largest is None else <TensorBase>dense_largest[i]
        most_data = NULL if most is None else memory_of(most)
        t = count_step(<TensorBase>steps[i])
        options.step_size = rate / (1 - beta1 ** t)
        options.square_scale = 1 / sqrt(1 - beta2 ** t)
        loop = adam_for(p.dtype_)
        with nogil:
            loop(memory_of(p), memory_of(g), memory_of(m), memory_of(s), most_data, &options, p.numel_)
        written(<TensorBase>params[i], p)
        written(<TensorBase>means[i], m)
        written(<TensorBase>squares[i], s)
        if most is not None:
            written(<TensorBase>largest[i], most)
    return params


def adam_step(list params, list grads, list means, list squares, list largest, list steps, double lr, tuple betas, double eps,
              double weight_decay, bint is_decoupled, bint maximize):
    """Change parameters and their state by one step of Adam (the formula is in optim.Adam).

    Parameters
    ----------
    params, grads, means, squares : lists of Tensors, float32 or float64; those of a parameter have its shape and type
    largest : list of Tensors of the same shapes and types, empty without amsgrad
    steps : list of Tensors, 0-d, float32 or float64, the steps so far; one is added
    betas : two floats

    Raises
    ------
    ShapeError
        If shapes or dtypes differ; nothing is changed then.
    """
    run_tuple(ADAM_STEP_, (params, grads, means, squares, largest, steps, lr, betas, eps, weight_decay, is_decoupled, maximize))


cdef int check_step(TensorBase step) except -1:
    if step.numel_ != 1 or step.dtype_ != FLOAT32 and step.dtype_ != FLOAT64:
        raise ShapeError(f"Adam: step is {step.dtype} of shape {shape_text(step.ndim_, step.sizes)}; expected one float")
    memory_of(step)
    return check_writable(step, "Adam")


cdef double count_step(TensorBase step) except -1:
    """Add one to the number of steps and return it."""
    bump_version(step)
    if step.dtype_ == FLOAT32:
        (<float*>memory_of(step))[0] += 1
        return (<float*>memory_of(step))[0]
    (<double*>memory_of(step))[0] += 1
    return (<double*>memory_of(step))[0]
