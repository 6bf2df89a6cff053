"""The autograd half of a tensor as Python sees it: requires_grad, grad, grad_fn, detach, hooks, data.

Each function here becomes a property or a method of class Tensor; what it does is a few lines around graph.pyx.
"""
from tensorlab._core.dispatch.dispatch cimport run_1, run_2
from tensorlab._core.dispatch.op cimport Op, inplace_op
from tensorlab._core.dispatch.operands cimport same_numbers
from tensorlab._core.dtypes cimport dtype_object, is_differentiable
from tensorlab._core.graph.accumulate_grad cimport AccumulateGrad
from tensorlab._core.graph.anomaly cimport is_data_watched
from tensorlab._core.graph.graph cimport (
    Node, NodeExtras, bump_version, extras_of, grad_fn_of, needs_grad, retain
)
from tensorlab._core.layout cimport shape_text
from tensorlab._core.state.devices cimport device_name
from tensorlab._core.state.modes cimport active_layers, thread_state
from tensorlab._core.storage cimport BORROWED
from tensorlab._core.tensor cimport (
    LAZY, VIEW_DEFAULT, TensorBase, VersionCounter, alias, note_borrower, place_of, set_layout,
    set_lazy_bits
)

import warnings

from tensorlab._core.dispatch.levels import box_of
from tensorlab._core.engine.backward import backward as run_backward
from tensorlab._core.hooks import RemovableHandle
from tensorlab.errors import DeviceError, DTypeError, GradientError, ShapeError


# ---------------------------------------------------------------- requires_grad
def get_requires_grad(TensorBase x not None):
    """True if a gradient is wanted for this tensor: a leaf's own flag, or computed from something that wants one.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> x.requires_grad, (2 * x).requires_grad, x.detach().requires_grad
    (True, True, False)
    """
    return needs_grad(x)


cdef bint was_computed(TensorBase x) except -1:
    """Has x a history? A view whose history cannot be brought up to date is taken as it is."""
    return (grad_fn_of(x) if x.creation == VIEW_DEFAULT else x.node) is not None


def set_requires_grad(TensorBase x not None, value):
    """Switch the flag of a leaf."""
    if not isinstance(value, bool):
        raise GradientError(f"requires_grad must be a bool, not {type(value).__name__}")
    if was_computed(x):
        raise GradientError("requires_grad can be switched for leaves only; this tensor was computed. Use detach() for a "
                            "copy outside the graph")
    requires_grad_(x, value)


def keep_requires_grad(TensorBase x not None):
    """`del x.requires_grad` is refused."""
    raise GradientError("requires_grad: the flag cannot be deleted; set it to False")


def requires_grad_(TensorBase x not None, requires_grad=True):
    """Switch on (or off) that autograd follows what is computed from this tensor; returns it.

    Raises
    ------
    RuntimeError
        If its dtype is not floating, or if it is to be switched off for a tensor that was computed.

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.zeros(2).requires_grad_()
    tensor([0., 0.], requires_grad=True)
    """
    if not isinstance(requires_grad, bool):
        raise TypeError("requires_grad_: requires_grad must be a bool, not "
                        f"{type(requires_grad).__name__}")
    if not requires_grad and was_computed(x):
        raise GradientError("requires_grad_: can be switched off for leaves only; this tensor "
                            "was computed. Use detach() for a copy outside the graph")
    if requires_grad and (found := box_of(x)) is not None and found.hides_batch:
        raise GradientError("requires_grad_: You are attempting to call Tensor.requires_grad_()"
                            " inside of a function that vmap transforms. Take gradients in it "
                            "with func.grad, or call requires_grad_() outside of vmap")
    if requires_grad and not is_differentiable(x.dtype_):
        raise DTypeError("requires_grad_: only floating-point tensors can require gradients, "
                         f"not {dtype_object(x.dtype_)}")
    if requires_grad and x.counter is None and not thread_state().inference:
        raise GradientError("requires_grad_: an inference tensor cannot require gradients; "
                            "clone it outside inference_mode")
    x.wants_grad = requires_grad
    return x


cdef Node maker_of(TensorBase x):
    """The node that made x, or None for a leaf. What stands for a packed leaf has the leaf's own node, and is a leaf, too."""
    cdef Node node = grad_fn_of(x)
    return None if isinstance(node, AccumulateGrad) else node


def get_is_leaf(TensorBase x not None):
    """True if no recorded operation made this tensor.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> x.is_leaf, (2 * x).is_leaf, (2 * x).detach().is_leaf
    (True, False, True)
    """
    return maker_of(x) is None


def get_grad_fn(TensorBase x not None):
    """The node that made this tensor, or None for a leaf.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> x.grad_fn is None, x.exp().grad_fn.name()
    (True, 'ExpBackward0')
    """
    return maker_of(x)


# ---------------------------------------------------------------- grad
def get_grad(TensorBase x not None):
    """The gradient that backward has accumulated here, or None.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0], requires_grad=True)
    >>> x.grad is None
    True
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    if x.gradient is None and not x.retains_grad_ and x.node is not None and not isinstance(x.node, AccumulateGrad):
        warnings.warn("The .grad of a tensor that is not a leaf is being read: backward does not fill it. Call "
                      "retain_grad() on it before backward, or read the leaf's.", UserWarning)
    return x.gradient


def set_grad(TensorBase x not None, value):
    """Replace the accumulated gradient."""
    cdef TensorBase g
    if value is None:
        x.gradient = None
        return
    if not isinstance(value, TensorBase):
        raise TypeError(f"grad must be a Tensor or None, not {type(value).__name__}")
    g = <TensorBase>value
    if g is x:
        raise GradientError("grad: a tensor cannot be its own gradient")
    check_device("grad", "the gradient", x, g)
    if g.dtype_ != x.dtype_:
        raise DTypeError(f"grad: the tensor has type {dtype_object(x.dtype_)}, the gradient {dtype_object(g.dtype_)}; they "
                         f"must be equal")
    if g.shape != x.shape:
        raise ShapeError(f"grad: the tensor has shape {shape_text(x.ndim_, x.sizes)}, the gradient "
                         f"{shape_text(g.ndim_, g.sizes)}; they must be equal")
    x.gradient = g


cdef int check_device(str where, str what, TensorBase x, TensorBase given) except -1:
    """Raise if `given` is on another device than x, to which it is being assigned."""
    if place_of(x) != place_of(given):
        here, there = device_name(x.storage_.device), device_name(given.storage_.device)
        raise DeviceError(f"{where}: the tensor is on {here!r} and {what} on {there!r}; they must be on one device. Move one "
                          f"with to(), or make a new tensor")
    return 0


def del_grad(TensorBase x not None):
    """Forget the accumulated gradient."""
    x.gradient = None


def backward(TensorBase self not None, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Add to the `.grad` of each leaf the gradient of this tensor by that leaf.

    Parameters
    ----------
    gradient : Tensor of this tensor's shape; may be None if it has one element
    retain_graph, create_graph, inputs : see `tensorlab.autograd.backward`

    >>> import tensorlab
    >>> x = tensorlab.tensor([1., 2.], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    run_backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def retain_grad(TensorBase self not None):
    """Let backward fill `.grad` although this tensor is not a leaf.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> y = 3 * x
    >>> y.retain_grad()
    >>> y.sum().backward()
    >>> y.grad
    tensor([1., 1.])
    """
    if not needs_grad(self):
        raise GradientError("retain_grad: the tensor does not require grad, so it never gets one")
    retain(self)


def get_retains_grad(TensorBase x not None):
    """True if retain_grad() was called on this computed tensor.

    Examples
    --------
    >>> import tensorlab
    >>> y = 2 * tensorlab.ones(2, requires_grad=True)
    >>> y.retain_grad()
    >>> y.retains_grad
    True
    """
    return x.retains_grad_ and grad_fn_of(x) is not None


def register_hook(TensorBase self not None, hook):
    """Call `hook(grad)` when this tensor's gradient is computed; what it returns, unless None, takes the gradient's place.

    Returns
    -------
    RemovableHandle, whose remove() takes the hook away

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: 10 * grad)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    >>> handle.remove()
    """
    cdef Node node
    cdef NodeExtras extras
    if not needs_grad(self):
        raise GradientError("register_hook: the tensor does not require grad, so no gradient will come")
    if not callable(hook):
        raise TypeError(f"register_hook: the hook must be callable, not {type(hook).__name__}")
    key = RemovableHandle.new_key()
    node = grad_fn_of(self)
    if node is None:
        if self.hooks is None:
            self.hooks = []
        self.hooks.append((key, hook))
        return RemovableHandle(self.hooks, key)
    extras = extras_of(node)
    if extras.tensor_hooks is None:
        extras.tensor_hooks = []
    # Those of one output stand together. The key is a one-tuple, so that it cannot be taken for the output number beside it
    position = max([i + 1 for i, entry in enumerate(extras.tensor_hooks) if entry[0] == self.output_number],
                   default=len(extras.tensor_hooks))
    extras.tensor_hooks.insert(position, (self.output_number, (key,), hook))
    return RemovableHandle(extras.tensor_hooks, (key,))


def leaf_hooks(TensorBase x not None):
    """The functions that wait for the gradient of a leaf."""
    return [hook for _, hook in x.hooks or ()]


def register_post_accumulate_grad_hook(TensorBase self not None, hook):
    """Call `hook(tensor)` when backward has added a gradient to this leaf's `.grad`; it may use it up and set it to None.

    Returns
    -------
    RemovableHandle, whose remove() takes the hook away

    Raises
    ------
    RuntimeError
        If the tensor is not a leaf that requires grad.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda x: print("now", x.grad))
    >>> x.sum().backward()
    now tensor([1., 1.])
    """
    if not needs_grad(self):
        raise GradientError("register_post_accumulate_grad_hook: the tensor does not require grad, so no gradient will come")
    if grad_fn_of(self) is not None:
        raise GradientError("register_post_accumulate_grad_hook: only leaves accumulate gradients, and this tensor was computed; "
                            "use register_hook")
    if not callable(hook):
        raise TypeError(f"register_post_accumulate_grad_hook: the hook must be callable, not {type(hook).__name__}")
    if self.after_hooks is None:
        self.after_hooks = {}
    handle = RemovableHandle(self.after_hooks)
    self.after_hooks[handle.id] = hook
    return handle


# ---------------------------------------------------------------- outside the graph
cdef Op DETACH = Op("detach(Tensor(a) x) -> Tensor(a)", records_itself=True,       # that is, not at all
                    forgets_history=True)

@DETACH.infer
def detach_infer(TensorBase x):
    return alias(x)

def detach(TensorBase self not None):
    """A tensor over the same memory that autograd does not follow.

    Both share a version counter, so autograd notices writes through either.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2, requires_grad=True)
    >>> (x * 2).detach()
    tensor([2., 2.])
    """
    return run_1(DETACH, self) if active_layers else alias(self)    # alias is the whole kernel


cdef Op DETACH_ = inplace_op(DETACH)

@DETACH_.compose
def detach_in_place(TensorBase x):
    if x.base is not None:
        raise GradientError("detach_: a view cannot be detached in place, because its base "
                            "stays in the graph; use detach()")
    x.node = None
    x.output_number = 0
    x.wants_grad = False
    return x

DETACH_.records_itself = True

def detach_(TensorBase self not None):
    """Take this tensor out of the graph: it becomes a leaf that does not require grad.

    Raises
    ------
    RuntimeError
        If it is a view: its base would still follow it.

    Examples
    --------
    >>> import tensorlab
    >>> y = 2 * tensorlab.ones(2, requires_grad=True)
    >>> y.detach_().requires_grad
    False
    """
    return run_1(DETACH_, self)


cdef Op DATA = Op("data(Tensor(a) x) -> Tensor(a)", records_itself=True,       # not at all, either
                  forgets_history=True, counts_apart=True)

cdef TensorBase data_kernel(TensorBase x):
    cdef TensorBase out = alias(x)
    if not is_data_watched():
        out.counter = VersionCounter.__new__(VersionCounter)
    return out

@DATA.infer
def data_infer(TensorBase x):
    return data_kernel(x)

def get_data(TensorBase x not None):
    """The same memory, out of autograd's sight: writes are *not* noticed. Prefer detach().

    `autograd.set_detect_data_writes(True)` makes them noticed.

    Examples
    --------
    >>> import tensorlab
    >>> w = tensorlab.ones(2, requires_grad=True)
    >>> w.data.mul_(3)
    tensor([3., 3.])
    >>> w
    tensor([3., 3.], requires_grad=True)
    """
    return run_1(DATA, x) if active_layers else data_kernel(x)


cdef Op SET_DATA = Op("set_data(Tensor(a!) x, Tensor source) -> Tensor(a!)",
                      aten=None, records_itself=True)

@SET_DATA.compose
def set_data_in_place(TensorBase x, TensorBase source):
    check_device("data", "its new data", x, source)
    if needs_grad(x) and not is_differentiable(source.dtype_):
        raise DTypeError(f"data: the tensor requires grad, so its data must be floating, not {dtype_object(source.dtype_)}")
    has_other_form = (x.dtype_ != source.dtype_ or x.ndim_ != source.ndim_
                      or not same_numbers(x.ndim_, x.sizes, source.sizes))
    if has_other_form:
        x.accumulator = NULL            # gradients will have another form from now on
    if is_data_watched():
        bump_version(x)
    if has_other_form and x.counter is not None:
        x.forms += 1            # a node that has saved x reads it by the form it had then
    x.storage_ = source.storage_
    if x.storage_.guard == BORROWED:
        note_borrower(x)
    x.data_ = source.data_
    x.dtype_ = source.dtype_
    set_layout(x, source.ndim_, source.sizes, source.strides)
    set_lazy_bits(x, source.keys & LAZY)
    return x

def set_data(TensorBase x not None, value):
    """Let this tensor look at another one's memory, keeping its identity, flags and history."""
    if not isinstance(value, TensorBase):
        raise TypeError(f"data must be a Tensor, not {type(value).__name__}")
    run_2(SET_DATA, x, value)


def keep_data(TensorBase x not None):
    """`del x.data` is refused."""
    raise GradientError("data: a tensor cannot be without its data; delete the tensor itself")


def get_base(TensorBase x not None):
    """The tensor that this one is a view of, or None."""
    return x.base


def is_view(TensorBase self not None):
    """True if this tensor is a view that autograd knows of."""
    return self.base is not None


def increment_version(tensor):
    """Count an in-place write that autograd could not see: to this tensor, or to each of several. Inference tensors count none.

    Parameters
    ----------
    tensor : Tensor, or an iterable of them

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.ones(2)
    >>> tensorlab.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    for one in [tensor] if isinstance(tensor, TensorBase) else list(tensor):
        if (<TensorBase?>one).counter is not None:
            bump_version(<TensorBase>one)
