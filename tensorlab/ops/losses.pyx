"""Losses of classification: what a prediction costs, given the right class.

First the targets are brought into an easy form (`read_targets`): a valid class and a weight for each sample, 0 where
the sample is ignored. The backward pass does that again, so that what is saved are the program's own tensors.
`cross_entropy` is log_softmax and nll_loss in one pass. The softmax that it computes on the way is a second result, which
is saved, and the gradient, softmax minus one-hot, takes one more pass. As a result it is a function of the input, so the
gradient differentiates again.
"""
cimport cython
from libc.stdint cimport int64_t

cimport tensorlab._core.loops.tl_math as tl_math
from tensorlab._core.dispatch.autocast cimport in_float32
from tensorlab._core.dispatch.dispatch cimport run_3, run_tuple
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.dispatch.operands cimport check_dtype, check_same_place, same_numbers
from tensorlab._core.dtypes cimport (
    FLOAT32, FLOAT64, FLOATING, INT64, UINT8, dtype_object, is_double, is_in, item_size, kernel_dtype, real)
from tensorlab._core.graph.graph cimport should_record
from tensorlab._core.layout cimport MAX_NDIM, read_sizes, shape_text, ssize
from tensorlab._core.loops.conversion cimport convert
from tensorlab._core.loops.iterator cimport copy_as, plain_result, put_back
from tensorlab._core.state.modes cimport active_layers
from tensorlab._core.tensor cimport TensorBase, alias_as, empty_beside, make_size, memory_of, result_beside
from tensorlab.ops.dim_iterator cimport DimIterator, add_operand, add_point_operand, dim_apply, dim_loop, start_iterator
from tensorlab.ops.reductions cimport sum_to
from tensorlab.ops.inner_loops cimport exp_shifted, largest, pairwise_sum
from tensorlab.ops.softmax cimport SOFTMAX_BACKWARD

from tensorlab.errors import DTypeError, GradientError, IndexOutOfRange, ShapeError, TargetError
from tensorlab.ops.reductions_of_losses import check_reduction, named_reduction
from tensorlab.ops.softmax import log_softmax

cdef enum:
    GRAIN = 8192                # elements that make a thread worth starting

cdef struct ClassParameters:    # what the loops below know besides their operands
    bint keeps_softmax
    ssize class_stride          # from one class to the next, in elements
    int dtype                   # of the prediction, as stored
    double scale                # of the gradient


# ---------------------------------------------------------------- targets
@cython.auto_pickle(False)
cdef class Targets:
    """The classes of all samples, in an easy form."""
    cdef TensorBase classes             # int64, row-major; 0 where the sample is ignored
    cdef TensorBase weights             # in the type of computing; 0 where the sample is ignored
    cdef double total                   # sum of the weights
    cdef int dim                        # of the prediction's classes


cdef int check_targets(str where, TensorBase x, TensorBase target, TensorBase weight) except -1:
    """What can be said without looking at the classes: do the targets fit prediction x? Returns x's dimension of classes."""
    cdef int dim = 0 if x.ndim_ == 1 else 1
    check_same_place(x, target, where)
    check_dtype(where, x, FLOATING)
    if target.dtype_ != INT64 and target.dtype_ != UINT8:
        raise DTypeError(f"{where}: target has type {dtype_object(target.dtype_)}; class indices must be int64, "
                         f"convert with .long()")
    check_target_shape(where, x, target)
    if weight is None:
        return dim
    check_same_place(x, weight, where)
    check_weight(where, weight, x.sizes[dim])
    if weight.dtype_ != x.dtype_:
        raise DTypeError(f"{where}: weight has type {weight.dtype} and the input {x.dtype}; convert one of them with "
                         ".to()")
    return dim


cdef int check_weight(str where, TensorBase weight, ssize classes) except -1:
    if weight.ndim_ != 1 or weight.numel_ != classes:
        raise ShapeError(f"{where}: weight has shape {shape_text(weight.ndim_, weight.sizes)}, but there are {classes} "
                         f"classes; it needs one number for each class")
    return 0


cdef Targets read_targets(str where, TensorBase x, TensorBase target, TensorBase weight, ssize ignore_index):
    """Read targets that `check_targets` has found to fit prediction x, (classes), (batch, classes) or (batch, classes, ...)."""
    cdef Targets read = Targets.__new__(Targets)
    cdef int kernel = kernel_dtype(x.dtype_)
    cdef ssize count, i
    cdef int64_t* classes
    read.dim = 0 if x.ndim_ == 1 else 1
    count = x.sizes[read.dim]
    read.classes = copy_as(target, INT64)
    classes = <int64_t*>memory_of(read.classes)
    for i in range(target.numel_):
        if classes[i] != ignore_index and (classes[i] < 0 or classes[i] >= count):
            raise IndexOutOfRange(f"{where}: target {classes[i]} is out of range for {count} classes; classes are "
                                  f"counted from 0 to {count - 1}, and ignore_index is {ignore_index}")
    read.weights = empty_beside(target, kernel, target.ndim_, target.sizes)
    if is_double(kernel):
        read.total = weigh(<double*>memory_of(read.weights), classes, weight, ignore_index, target.numel_)
    else:
        read.total = weigh(<float*>memory_of(read.weights), classes, weight, ignore_index, target.numel_)
    return read


cdef int check_target_shape(str where, TensorBase x, TensorBase target) except -1:
    """The target has the input's shape without the classes."""
    cdef int i
    if x.ndim_ == 0:
        raise TargetError(f"{where}: the input has no dimensions; expected (classes), (batch, classes) or (batch, "
                          "classes, ...)")
    if x.ndim_ == 1 and target.ndim_ <= 1 and target.numel_ == 1:
        return 0
    if x.ndim_ > 1 and target.ndim_ > 0 and x.sizes[0] != target.sizes[0]:
        raise TargetError(f"{where}: the input has shape {shape_text(x.ndim_, x.sizes)} and the target "
                          f"{shape_text(target.ndim_, target.sizes)}; their batch sizes {x.sizes[0]} and {target.sizes[0]} "
                          f"must be equal")
    if target.ndim_ == x.ndim_ - 1 and x.ndim_ > 1:
        for i in range(1, target.ndim_):
            if target.sizes[i] != x.sizes[i + 1]:
                break
        else:
            return 0
    raise ShapeError(f"{where}: the input has shape {shape_text(x.ndim_, x.sizes)} and the target "
                     f"{shape_text(target.ndim_, target.sizes)}; expected the input's shape without dimension "
                     f"{0 if x.ndim_ == 1 else 1}, the classes")


cdef double weigh(real* out, int64_t* classes, TensorBase weight, ssize ignore_index, ssize n) except? -1:
    """Weights of n samples, and their sum; ignored classes become 0."""
    cdef double total = 0
    for i in range(n):
        if classes[i] == ignore_index:
            classes[i] = 0
            out[i] = 0
            continue
        out[i] = 1
        if weight is not None:
            convert(&out[i], FLOAT64 if real is double else kernel_dtype(weight.dtype_), 1,
                    memory_of(weight) + classes[i] * weight.strides[0] * item_size[weight.dtype_], weight.dtype_, 1, 1)
        total += out[i]
    return total


cdef TensorBase loss_result(str where, TensorBase x, TensorBase target, TensorBase weight, object reduction):
    """The result for the loss of prediction x."""
    check_reduction(where, reduction)
    check_targets(where, x, target, weight)
    if reduction == "none":
        return result_beside(x, x.dtype_, target.ndim_, target.sizes)
    return result_beside(x, x.dtype_, 0, NULL)


cdef int reduce_losses(TensorBase out, TensorBase losses, object reduction, double scale) except -1:
    """Write what is made of the losses of all samples."""
    cdef TensorBase total
    if reduction == "none":
        return put_back(out, losses)
    total = plain_result(out)
    sum_to(total, losses, (<unsigned int>1 << losses.ndim_) - 1, NULL, 0)
    if is_double(total.dtype_):
        (<double*>memory_of(total))[0] *= scale
    else:
        (<float*>memory_of(total))[0] *= <float>scale
    return put_back(out, total)


cdef double scale_of(object reduction, double total) except? -1:
    """The factor of a mean over weights; nan if there are none, as 0 / 0 is."""
    cdef double zero = 0
    if reduction != "mean":
        return 1
    return 1 / total if total != 0 else zero / zero


cdef int check_gradient(str where, TensorBase grad, TensorBase target, object reduction) except -1:
    """One number for each sample, or a single one of a mean or a sum."""
    check_same_place(grad, target, where)
    if reduction == "none":
        if grad.ndim_ != target.ndim_ or not same_numbers(grad.ndim_, grad.sizes, target.sizes):
            raise ShapeError(f"{where}: the gradient has shape {shape_text(grad.ndim_, grad.sizes)}; expected that of the "
                             f"target, {shape_text(target.ndim_, target.sizes)}")
    elif grad.ndim_ > 0:
        raise ShapeError(f"{where}: the gradient has shape {shape_text(grad.ndim_, grad.sizes)}; that of a mean or a sum is one "
                         f"number, without dimensions")
    return 0


cdef TensorBase spread_over(TensorBase grad, TensorBase target):
    """The gradient of a loss, one for each sample: that of a mean or a sum is the same for all."""
    cdef ssize[MAX_NDIM] zeros
    cdef int i
    if grad.ndim_ > 0 or target.ndim_ == 0:
        return grad
    for i in range(target.ndim_):
        zeros[i] = 0
    return alias_as(grad, target.ndim_, target.sizes, zeros, grad.data_)


# The same in tensor operations, for derivatives of derivatives.
cdef object factors_of(TensorBase target, object weight, object ignore_index, object reduction, int dtype):
    """What the loss of each sample is multiplied by."""
    classes = target.long()
    ignored = classes == ignore_index
    kernel = dtype_object(kernel_dtype(dtype))
    if weight is None:
        factors = (~ignored).to(kernel)
    else:
        chosen = weight.detach().index_select(0, classes.masked_fill(ignored, 0).reshape(-1))
        factors = chosen.reshape(make_size(target.ndim_, target.sizes)).to(kernel).masked_fill(ignored, 0)
    return factors / factors.sum() if reduction == "mean" else factors


cdef object chosen_from(TensorBase x, TensorBase target, object ignore_index):
    """Of each sample the element of its class."""
    classes = target.long()
    classes = classes.masked_fill(classes == ignore_index, 0)
    if x.ndim_ == 1:
        return x.index_select(0, classes.reshape(1)).reshape(make_size(target.ndim_, target.sizes))
    return x.gather(1, classes.unsqueeze(1)).squeeze(1)


# ---------------------------------------------------------------- nll_loss
cdef void nll_loop(real** data, ssize n, ClassParameters* parameters) noexcept nogil:
    cdef real* loss = data[0]
    cdef ssize at = (<int64_t*>data[2])[0] * parameters.class_stride * item_size[parameters.dtype]
    loss[0] = 0
    if data[3][0] != 0:
        convert(loss, FLOAT64 if real is double else FLOAT32, 1, <char*>data[1] + at, parameters.dtype, 1, 1)
        loss[0] *= -data[3][0]

cdef Op NLL_LOSS = Op("nll_loss(Tensor x, Tensor target, Tensor? weight=None, *, int ignore_index=-100, str reduction=\"mean\") "
                      "-> Tensor", aten=None, checks_values=True, zero_curvature=True)

@NLL_LOSS.infer
def nll_loss_infer(TensorBase x, TensorBase target, TensorBase weight, ignore_index, reduction):
    return loss_result("nll_loss", x, target, weight, reduction)

@NLL_LOSS.kernel
def nll_loss_kernel(TensorBase out, TensorBase x, TensorBase target, TensorBase weight, ignore_index,
                    reduction):
    cdef Targets targets
    cdef TensorBase losses
    cdef ClassParameters parameters
    cdef DimIterator iter
    targets = read_targets("nll_loss", x, target, weight, ignore_index)
    losses = empty_beside(target, targets.weights.dtype_, target.ndim_, target.sizes)
    parameters.class_stride = x.strides[targets.dim]
    parameters.dtype = x.dtype_
    start_iterator(&iter, losses, -1)
    add_operand(&iter, losses, -1, losses.dtype_, True)
    add_point_operand(&iter, x, targets.dim)
    add_operand(&iter, targets.classes, -1, INT64, False)
    add_operand(&iter, targets.weights, -1, losses.dtype_, False)
    dim_apply(&iter, <dim_loop>nll_loop[double] if is_double(losses.dtype_) else <dim_loop>nll_loop[float], &parameters, GRAIN)
    reduce_losses(out, losses, reduction, scale_of(reduction, targets.total))


@NLL_LOSS.derivative("x")
def nll_loss_derivative(grad, x_shape, target, weight, ignore_index, reduction):
    return run_tuple(NLL_LOSS_BACKWARD, (grad, target, weight, x_shape, ignore_index, reduction))

def nll_loss(TensorBase input not None, TensorBase target not None, TensorBase weight=None, size_average=None,
             ignore_index=-100, reduce=None, reduction="mean"):
    """Minus the log probability of the right class (negative log likelihood).

    Parameters
    ----------
    input : Tensor of log probabilities, shape (classes), (batch, classes) or (batch, classes, ...)
    target : Tensor of int64, the input's shape without the classes
    weight : Tensor, shape (classes), optional: how much each class counts
    ignore_index : int, a target that counts for nothing
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean" (over the weights), "sum" or "none"

    Raises
    ------
    ShapeError
        If the shapes do not belong together.
    IndexOutOfRange
        If a target is not a class.

    >>> import tensorlab
    >>> log_probabilities = tensorlab.tensor([[0.5, 0.5], [0.25, 0.75]]).log()
    >>> tensorlab.nn.functional.nll_loss(log_probabilities, tensorlab.tensor([0, 1]), reduction="none")
    tensor([0.6931, 0.2877])
    """
    reduction = named_reduction(size_average, reduce, reduction)
    return run_tuple(NLL_LOSS, (input, target, weight, ignore_index, reduction))


# ---------------------------------------------------------------- nll_loss_backward
cdef void nll_backward_loop(real** data, ssize n, ClassParameters* parameters) noexcept nogil:
    cdef real* out = data[0]
    for i in range(n):
        out[i] = 0
    out[(<int64_t*>data[2])[0]] = -data[1][0] * data[3][0] * <real>parameters.scale

cdef Op NLL_LOSS_BACKWARD = Op("nll_loss_backward(Tensor grad, Tensor target, Tensor? weight, int[] sizes, "
                               "int ignore_index, str reduction) -> Tensor")

@NLL_LOSS_BACKWARD.infer
def nll_loss_backward_infer(TensorBase grad, TensorBase target, TensorBase weight, sizes, ignore_index,
                            reduction):
    cdef ssize[MAX_NDIM] read
    cdef TensorBase out = result_beside(grad, grad.dtype_, read_sizes(sizes, read, "nll_loss_backward"), read)
    check_reduction("nll_loss_backward", reduction)
    check_targets("nll_loss_backward", out, target, weight)
    check_gradient("nll_loss_backward", grad, target, reduction)
    return out

@NLL_LOSS_BACKWARD.kernel
def nll_loss_backward_kernel(TensorBase out, TensorBase grad, TensorBase target, TensorBase weight, sizes,
                             ignore_index, reduction):
    """-grad * weight at the right class of each sample, 0 elsewhere."""
    cdef Targets targets = read_targets("nll_loss_backward", out, target, weight, ignore_index)
    cdef int kernel = targets.weights.dtype_
    cdef ClassParameters parameters
    cdef DimIterator iter
    parameters.scale = scale_of(reduction, targets.total)
    start_iterator(&iter, out, targets.dim)
    add_operand(&iter, out, targets.dim, kernel, True)
    add_operand(&iter, spread_over(grad, target), -1, kernel, False)
    add_operand(&iter, targets.classes, -1, INT64, False)
    add_operand(&iter, targets.weights, -1, kernel, False)
    dim_apply(&iter, <dim_loop>nll_backward_loop[double] if is_double(kernel) else <dim_loop>nll_backward_loop[float],
              &parameters, GRAIN)


@NLL_LOSS_BACKWARD.derivative("grad")
def nll_loss_backward_derivative(TensorBase grad, target, weight, ignore_index, reduction):
    return -chosen_from(grad, target, ignore_index) * factors_of(target, weight, ignore_index, reduction, grad.dtype_)


# ---------------------------------------------------------------- cross_entropy
cdef void cross_entropy_loop(real** data, ssize n, ClassParameters* parameters) noexcept nogil:
    """The loss of a sample, and (over x's scratch copy or in the last operand) the softmax."""
    cdef real* x = data[0]
    cdef real* probabilities = data[4]              # the last operand, or the scratch memory
    cdef real shift = largest(x, n), total, factor, weight = data[3][0]
    cdef int64_t target = (<int64_t*>data[2])[0]
    exp_shifted(probabilities, x, shift, n)
    total = pairwise_sum(probabilities, n)
    data[1][0] = weight * (tl_math.log(total) + (shift - x[target])) if weight != 0 else <real>0
    if parameters.keeps_softmax:
        factor = 1 / total
        for i in range(n):
            probabilities[i] *= factor

# keeps_softmax: whether the second result is wanted, which is empty otherwise. Without it there is no gradient.
cdef Op CROSS_ENTROPY = Op("cross_entropy(Tensor x, Tensor target, Tensor? weight=None, *, int ignore_index=-100, "
                           "str reduction=\"mean\", bool keeps_softmax=True) -> (Tensor loss, Tensor probabilities)",
                           aten=None, node="NllLossBackward0", checks_values=True)

@CROSS_ENTROPY.infer
def cross_entropy_infer(TensorBase x, TensorBase target, TensorBase weight, ignore_index, reduction,
                        keeps_softmax):
    return loss_result("cross_entropy", x, target, weight, reduction), probabilities_for(x, keeps_softmax)

cdef TensorBase probabilities_for(TensorBase x, object keeps_softmax):
    cdef ssize none = 0
    return result_beside(x, x.dtype_, x.ndim_, x.sizes) if keeps_softmax else result_beside(x, x.dtype_, 1, &none)

@CROSS_ENTROPY.kernel
def cross_entropy_kernel(TensorBase out, TensorBase probabilities, TensorBase x, TensorBase target,
                         TensorBase weight, ignore_index, reduction, bint keeps_softmax):
    cdef Targets targets
    cdef TensorBase losses
    cdef int kernel
    cdef ClassParameters parameters
    cdef DimIterator iter
    targets = read_targets("cross_entropy", x, target, weight, ignore_index)
    losses = empty_beside(target, targets.weights.dtype_, target.ndim_, target.sizes)
    kernel = losses.dtype_
    parameters.keeps_softmax = keeps_softmax
    start_iterator(&iter, x, targets.dim)
    add_operand(&iter, x, targets.dim, kernel, False)
    add_operand(&iter, losses, -1, kernel, True)
    add_operand(&iter, targets.classes, -1, INT64, False)
    add_operand(&iter, targets.weights, -1, kernel, False)
    if parameters.keeps_softmax:
        add_operand(&iter, probabilities, targets.dim, kernel, True)
    else:
        iter.scratch = x.sizes[targets.dim] * item_size[kernel]
    dim_apply(&iter, <dim_loop>cross_entropy_loop[double] if is_double(kernel) else <dim_loop>cross_entropy_loop[float],
              &parameters, GRAIN)
    reduce_losses(out, losses, reduction, scale_of(reduction, targets.total))


@CROSS_ENTROPY.derivative("x")
def cross_entropy_derivative(grads, probabilities, target, weight, ignore_index, reduction, keeps_softmax):
    if not keeps_softmax:
        raise GradientError("cross_entropy: this call was made with keeps_softmax=False, and has no gradient")
    by_loss, by_softmax = grads
    out = None
    if by_softmax is not None:
        out = run_3(SOFTMAX_BACKWARD, by_softmax, probabilities, dim_of_classes(probabilities))
    if by_loss is not None:
        share = run_tuple(CROSS_ENTROPY_BACKWARD, (by_loss, probabilities, target, weight, ignore_index, reduction))
        out = share if out is None else out + share
    return out

cdef object dim_of_classes(TensorBase x):
    return 0 if x.ndim_ == 1 else 1

cdef object smoothed_cross_entropy(TensorBase x, TensorBase target, TensorBase weight, ssize ignore_index,
                                   str reduction, double label_smoothing):
    """Cross-entropy with class indices, a share of each target spread evenly over all classes."""
    cdef int dim = check_targets("cross_entropy", x, target, weight)
    scores = log_softmax(x, dim)
    one_hot = nll_loss(scores, target, weight, ignore_index=ignore_index, reduction=reduction)
    even = -(scores if weight is None else scores * along(weight, dim, x.ndim_)).sum(dim)
    even = even.masked_fill(target.long() == ignore_index, 0)
    if reduction != "none":
        even = even.sum()
    if reduction == "mean":
        even = even / factors_of(target, weight, ignore_index, "sum", x.dtype_).sum().to(dtype_object(x.dtype_))
    return one_hot * (1 - label_smoothing) + even * (label_smoothing / x.sizes[dim])

cdef object cross_entropy_of_probabilities(TensorBase x, TensorBase target, TensorBase weight, str reduction,
                                           double label_smoothing):
    """Cross-entropy with a probability for each class as target."""
    cdef int dim = 0 if x.ndim_ <= 1 else 1
    cdef ssize count = x.sizes[dim] if x.ndim_ > 0 else 1
    if not is_in(target.dtype_, FLOATING):
        raise DTypeError(f"cross_entropy: a target of the input's shape holds probabilities, but has type "
                         f"{target.dtype}; give a floating target, or class indices of the shape without the classes")
    expected = target if label_smoothing == 0 else target * (1 - label_smoothing) + label_smoothing / count
    losses = -(log_softmax(x, dim) * expected)
    if weight is not None:
        check_weight("cross_entropy", weight, count)
        losses = losses * along(weight, dim, x.ndim_)
    losses = losses.sum(dim)
    if reduction == "none":
        return losses
    losses = losses.sum()
    return losses if reduction == "sum" else losses / (x.numel_ // count if count else 0)

cdef object along(object weight, int dim, int ndim):
    """The weights of classes, shaped to broadcast over dimension `dim`."""
    return weight.reshape([-1 if i == dim else 1 for i in range(ndim)])

def cross_entropy(TensorBase input not None, TensorBase target not None, TensorBase weight=None, size_average=None,
                  ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    """Minus the log of the softmax's probability of the right class.

    Parameters
    ----------
    input : Tensor of scores (logits), shape (classes), (batch, classes) or (batch, classes, ...)
    target : Tensor of int64, the right class of each sample: the input's shape without the classes;
        or a floating Tensor of the input's shape, the probability of each class
    weight : Tensor, shape (classes), optional: how much each class counts
    ignore_index : int, a class index that counts for nothing
    size_average, reduce : older names for the reduction; deprecated
    reduction : "mean" (over the weights), "sum" or "none"
    label_smoothing : float from 0 to 1, the share of the target that is spread evenly over all classes

    Raises
    ------
    ShapeError
        If the shapes do not belong together.
    IndexOutOfRange
        If a target is not a class.

    Notes
    -----
    Label smoothing: Szegedy et al. 2016, "Rethinking the Inception Architecture for Computer Vision", section 7.

    >>> import tensorlab
    >>> scores = tensorlab.tensor([[2., 2.], [0., 3.]])
    >>> tensorlab.nn.functional.cross_entropy(scores, tensorlab.tensor([0, 1]), reduction="none")
    tensor([0.6931, 0.0486])
    """
    input, target, weight = in_float32((input, target, weight))
    reduction = named_reduction(size_average, reduce, reduction)
    check_reduction("cross_entropy", reduction)
    if not 0 <= label_smoothing <= 1:
        raise ShapeError(f"cross_entropy: label_smoothing is {label_smoothing}; expected a number from 0 to 1")
    if target.ndim_ == input.ndim_ and same_numbers(input.ndim_, input.sizes, target.sizes):
        return cross_entropy_of_probabilities(input, target, weight, reduction, label_smoothing)
    if label_smoothing > 0:
        return smoothed_cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)
    keeps_softmax = bool(active_layers) or should_record(input)
    return run_tuple(CROSS_ENTROPY, (input, target, weight, ignore_index, reduction, keeps_softmax))[0]


# ---------------------------------------------------------------- cross_entropy_backward
cdef void cross_entropy_backward_loop(real** data, ssize n, ClassParameters* parameters) noexcept nogil:
    cdef real* out = data[0]
    cdef real* probabilities = data[1]
    cdef real factor = data[2][0] * data[4][0] * <real>parameters.scale
    for i in range(n):
        out[i] = probabilities[i] * factor
    out[(<int64_t*>data[3])[0]] -= factor

cdef Op CROSS_ENTROPY_BACKWARD = Op("cross_entropy_backward(Tensor grad, Tensor probabilities, Tensor target, "
                                    "Tensor? weight, int ignore_index, str reduction) -> Tensor")

@CROSS_ENTROPY_BACKWARD.infer
def cross_entropy_backward_infer(TensorBase grad, TensorBase probabilities, TensorBase target,
                                 TensorBase weight, ignore_index, reduction):
    check_reduction("cross_entropy_backward", reduction)
    check_targets("cross_entropy_backward", probabilities, target, weight)
    check_gradient("cross_entropy_backward", grad, target, reduction)
    return result_beside(probabilities, probabilities.dtype_, probabilities.ndim_, probabilities.sizes)

@CROSS_ENTROPY_BACKWARD.kernel
def cross_entropy_backward_kernel(TensorBase out, TensorBase grad, TensorBase probabilities, TensorBase target,
                                  TensorBase weight, ignore_index, reduction):
    """grad * weight * (softmax - one-hot), in one pass."""
    cdef Targets targets = read_targets("cross_entropy_backward", probabilities, target, weight, ignore_index)
    cdef int dim = targets.dim, kernel = targets.weights.dtype_
    cdef ClassParameters parameters
    cdef DimIterator iter
    parameters.scale = scale_of(reduction, targets.total)
    start_iterator(&iter, out, dim)
    add_operand(&iter, out, dim, kernel, True)
    add_operand(&iter, probabilities, dim, kernel, False)
    add_operand(&iter, spread_over(grad, target), -1, kernel, False)
    add_operand(&iter, targets.classes, -1, INT64, False)
    add_operand(&iter, targets.weights, -1, kernel, False)
    dim_apply(&iter, <dim_loop>cross_entropy_backward_loop[double] if is_double(kernel) else
              <dim_loop>cross_entropy_backward_loop[float], &parameters, GRAIN)


@CROSS_ENTROPY_BACKWARD.derivative("grad")
def cross_entropy_backward_derivative_grad(TensorBase grad, probabilities, target, weight, ignore_index, reduction):
    expected = (grad * probabilities).sum(dim_of_classes(grad))
    return (expected - chosen_from(grad, target, ignore_index)) * factors_of(target, weight, ignore_index, reduction,
                                                                             grad.dtype_)

@CROSS_ENTROPY_BACKWARD.derivative("probabilities")
def cross_entropy_backward_derivative_probabilities(TensorBase grad, grad_, target, weight, ignore_index, reduction):
    factors = grad_ * factors_of(target, weight, ignore_index, reduction, grad.dtype_)
    return grad * factors.unsqueeze(dim_of_classes(grad))
