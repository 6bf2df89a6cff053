"""grad, vjp and jvp: transforms that differentiate a function of the program.

    grad(f)        the function that returns the gradient of f
    vjp(f, x)      f(x), and the function v -> v J: backward, by the graph that is recorded here
    jvp(f, x, t)   f(x), and J t: tangents that go along with the values

All of them put the inputs in boxes of a new level (_core/dispatch/levels.pyx), call the function,
and take its results out of them.
"""

import functools

from tensorlab._core.dispatch.levels import box, tangent_at, value_at
from tensorlab._core.engine.backward import grad as backward
from tensorlab._core.state.modes import is_grad_enabled
from tensorlab._core.tensor import TensorBase
from tensorlab._pytree import tree_flatten, tree_map, tree_unflatten
from tensorlab.autograd.grad_mode import enable_grad
from tensorlab.func import trees
from tensorlab.func.levels import pushing, recording
from tensorlab.ops.creation import ones_like, zeros_like

__all__ = ["grad", "grad_and_value", "jvp", "linearize", "vjp"]


# ---------------------------------------------------------------- grad
def grad_and_value(func, argnums=0, has_aux=False):
    """The function that returns the gradient of `func`, and what `func` returns.

    Parameters
    ----------
    func, argnums, has_aux : as for `grad`

    Returns
    -------
    function : it returns `(gradient, value)`, or `(gradient, (value, aux))` with `has_aux`

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.func.grad_and_value(lambda x: x**3)(tensorlab.tensor(2.0))
    (tensor(12.), tensor(8.))
    """

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        gradient, value, aux = _gradient("grad_and_value", func, argnums, has_aux, args, kwargs)
        return gradient, (value, aux) if has_aux else value

    return wrapped


def grad(func, argnums=0, has_aux=False):
    """The function that returns the gradient of `func`.

    Parameters
    ----------
    func : function that returns a Tensor with one element, or, with `has_aux`, that and
        something else
    argnums : int or tuple of int, the arguments that the gradient is wanted for; each may be a
        tree of tensors
    has_aux : bool, whether `func` returns `(value, aux)`, of which `aux` is not differentiated

    Returns
    -------
    function : with the arguments of `func`; it returns the gradient, in the form of the
        argument (a tuple of them if `argnums` is a tuple), or `(gradient, aux)` with `has_aux`

    Raises
    ------
    RuntimeError
        When the function is called: if an argument is no tensor of floating or complex numbers,
        or `func` does not return one element.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab.func import grad
    >>> grad(tensorlab.sin)(tensorlab.tensor(0.0))
    tensor(1.)
    >>> grad(grad(lambda x: x**3))(tensorlab.tensor(2.0))
    tensor(12.)
    """

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        gradient, _, aux = _gradient("grad", func, argnums, has_aux, args, kwargs)
        return (gradient, aux) if has_aux else gradient

    return wrapped


def _gradient(name, func, argnums, has_aux, args, kwargs):
    """Gradient, value and aux."""
    numbers = _checked_numbers(name, argnums, args)
    with recording(name) as level, enable_grad():
        args = trees.boxed(level, args)
        kwargs = trees.boxed(level, kwargs)
        leaves, spec = tree_flatten([args[i] for i in numbers])
        for leaf in leaves:
            _require_grad(name, leaf)
        out = func(*args, **kwargs)
        value, aux = _with_aux(name, out) if has_aux else (out, None)
        _check_scalar(name, value)
        gradients = _pull(name, [value], leaves, [ones_like(value)], create_graph=False)
        gradients = tree_unflatten(gradients, spec)
        if not isinstance(argnums, tuple):
            gradients = gradients[0]
        else:
            gradients = tuple(gradients)
        return trees.opened(level, (gradients, value, aux))


def _checked_numbers(name, argnums, args):
    """The positions of the arguments, from 0."""
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not numbers:
        raise RuntimeError(
            f"{name}: argnums must be non-empty, and is (); name an argument, argnums=(0,)"
        )
    for i in numbers:
        if not isinstance(i, int):
            raise RuntimeError(
                f"{name}: argnums must be int or Tuple[int, ...], not {type(i).__name__}"
            )
        if not -len(args) <= i < len(args):
            raise RuntimeError(
                f"{name}: argnums is {argnums!r}, and the function was called with {len(args)} positional inputs"
            )
    numbers = [i % len(args) for i in numbers]
    if len(set(numbers)) < len(numbers):
        raise RuntimeError(f"{name}: argnums elements must be unique but received {argnums}")
    return numbers


def _require_grad(name, leaf):
    if not isinstance(leaf, TensorBase):
        raise ValueError(
            f"{name}: an argument to differentiate by is a {type(leaf).__name__}, {leaf!r}; "
            f"Expected all inputs to be Tensors: pass it by closure, or name other arguments by argnums"
        )
    if not (leaf.dtype.is_floating_point or leaf.dtype.is_complex):
        raise RuntimeError(
            f"{name}: an argument has dtype {leaf.dtype}; only tensors of floating point or complex numbers "
            f"can require gradients. Call x.float() first"
        )
    leaf.requires_grad_()


def _with_aux(name, out):
    if not (isinstance(out, tuple) and len(out) == 2):
        raise RuntimeError(
            f"{name}: the function must return a tuple (output, aux) if has_aux=True, and returned "
            f"{_described(out)}"
        )
    return out


def _check_scalar(name, value):
    if not isinstance(value, TensorBase):
        raise RuntimeError(
            f"{name}: the function must return a Tensor with one element, and returned "
            f"{_described(value)}; with more to return, use has_aux=True"
        )
    if value.ndim != 0:
        raise RuntimeError(
            f"{name}: Expected f(*args) to return a scalar tensor, got tensor with {value.ndim} dims, of shape "
            f"{tuple(value.shape)}. Reduce it, by sum() for example; jacrev gives all derivatives"
        )


def _described(value):
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"a {type(value).__name__}"


def _pull(name, outputs, inputs, cotangents, retain_graph=False, create_graph=False):
    """The gradients of the inputs; zeros where nothing depends on one."""
    ends = [
        (out, cotangent)
        for out, cotangent in zip(outputs, cotangents, strict=True)
        if isinstance(out, TensorBase) and out.requires_grad
    ]
    if not ends or not inputs:
        return [zeros_like(one) for one in inputs]
    outs, starts = zip(*ends, strict=True)
    found = backward(
        outs,
        inputs,
        starts,
        retain_graph=retain_graph,
        create_graph=create_graph,
        allow_unused=True,
    )
    return [
        zeros_like(one) if gradient is None else gradient
        for one, gradient in zip(inputs, found, strict=True)
    ]


# ---------------------------------------------------------------- vjp
def vjp(func, *primals, has_aux=False):
    """Call a function, and return what it returned and its vector-Jacobian product.

    Parameters
    ----------
    func : function of `primals` that returns a Tensor or a tree of them; with `has_aux`, that
        and something else
    primals : trees of Tensors of floating or complex numbers
    has_aux : bool

    Returns
    -------
    output : what `func` returned
    vjp_fn : function of cotangents, in the form of `output`; it returns the gradients of
        `primals`: one, or a tuple if there are several. It can be called again, and under vmap
    aux : only with `has_aux`

    Raises
    ------
    RuntimeError
        If there are no primals, if the function doesn't return tensors, or if the cotangents don't fit.

    Examples
    --------
    >>> import tensorlab
    >>> y, vjp_fn = tensorlab.func.vjp(lambda x: x * x, tensorlab.tensor([1.0, 2.0]))
    >>> vjp_fn(tensorlab.tensor([1.0, 10.0]))
    (tensor([ 2., 40.]),)
    """
    return _vjp("vjp", func, primals, has_aux)


def _vjp(name, func, primals, has_aux):
    with recording(name) as level, enable_grad():
        boxes = trees.boxed(level, primals)
        inputs, input_spec = tree_flatten(boxes)
        for one in inputs:
            _require_grad(name, one)
        out = func(*boxes)
        out, aux = _with_aux(name, out) if has_aux else (out, None)
        outputs, spec = tree_flatten(out)
        if not outputs or not all(isinstance(one, TensorBase) for one in outputs):
            raise RuntimeError(
                f"{name}(f, *primals): Expected f to return only tensors, and at least one; got {_described(out)}"
            )
        opened = trees.opened(level, (out, aux))

    def vjp_fn(cotangents, retain_graph=True, create_graph=None):
        if create_graph is None:
            create_graph = is_grad_enabled()
        given, given_spec = tree_flatten(cotangents)
        if given_spec != spec:
            raise RuntimeError(
                f"{name}: the cotangents must have the form of what the function returned, {spec}, "
                f"and have {given_spec}"
            )
        for i, (out, one) in enumerate(zip(outputs, given, strict=True)):
            if one.shape != out.shape:
                raise RuntimeError(
                    f"{name}: cotangent {i} has shape {tuple(one.shape)}, and the output has {tuple(out.shape)}"
                )
        found = _pull(name, outputs, inputs, given, retain_graph, create_graph)
        # zeros for an input that nothing depends on are made like its box, whose level has ended
        found = tree_unflatten([value_at(one, level) for one in found], input_spec)
        return tuple(found)

    return (opened[0], vjp_fn, opened[1]) if has_aux else (opened[0], vjp_fn)


# ---------------------------------------------------------------- jvp
def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """Call a function, and return what it returned and its Jacobian-vector product: the change along `tangents`.

    Parameters
    ----------
    func : function of `primals` that returns a Tensor or a tree of them; with `has_aux`, that
        and something else
    primals : tuple of trees of Tensors
    tangents : tuple of the same form
    strict : bool; whether to raise if an output doesn't depend on the primals, instead of
        returning zeros
    has_aux : bool

    Returns
    -------
    output : what `func` returned
    tangent : in the same form
    aux : only with `has_aux`

    Raises
    ------
    RuntimeError
        If primals and tangents don't fit together, or the function doesn't return tensors.

    Examples
    --------
    >>> import tensorlab
    >>> x, t = tensorlab.tensor([1.0, 2.0]), tensorlab.tensor([1.0, 0.0])
    >>> tensorlab.func.jvp(lambda x: x * x.sum(), (x,), (t,))
    (tensor([3., 6.]), tensor([4., 2.]))
    """
    return _jvp("jvp", func, primals, tangents, strict, has_aux)


def _jvp(name, func, primals, tangents, strict, has_aux):
    leaves, spec, directions = _checked_tangents(name, primals, tangents)
    with pushing(name) as level:
        boxes = [box(level, *pair) for pair in zip(leaves, directions, strict=True)]
        out = func(*(boxes if spec is None else tree_unflatten(boxes, spec)))
        out, aux = _with_aux(name, out) if has_aux else (out, None)
        results = [out] if isinstance(out, TensorBase) else tree_flatten(out)[0]
        for one in results:
            if not isinstance(one, TensorBase):
                raise RuntimeError(
                    f"{name}(f, primals, tangents): Expected f to return only tensors, got {_described(one)}"
                )
            if strict and tangent_at(one, level) is None:
                raise RuntimeError(
                    f"{name}: an output does not depend on the inputs, which strict=True refuses"
                )
    moved = tree_map(lambda x: trees.tangent(level, x), out)
    out = trees.opened(level, out)
    return (out, moved, trees.opened(level, aux)) if has_aux else (out, moved)


def _checked_tangents(name, primals, tangents):
    """Leaves of the primals, their form (None for a tuple of tensors), and leaves of the tangents."""
    for given, what in ((primals, "primals"), (tangents, "tangents")):
        if not isinstance(given, tuple):
            raise RuntimeError(
                f"{name}: Expected {what} to be a tuple, such as ({what[:-1]},), and it is a {type(given).__name__}"
            )
    if len(primals) == len(tangents) and _are_tensors(primals) and _are_tensors(tangents):
        leaves, directions, spec, other = primals, tangents, None, None
    else:
        leaves, spec = tree_flatten(primals)
        directions, other = tree_flatten(tangents)
    if spec != other:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure; "
            f"primals are {spec}, tangents {other}"
        )
    if not leaves:
        raise RuntimeError(f"{name}: Expected at least one Tensor in primals, and there is none")
    for i, (x, t) in enumerate(zip(leaves, directions, strict=True)):
        if not isinstance(x, TensorBase) or not isinstance(t, TensorBase):
            raise RuntimeError(
                f"{name}: primals and tangents must be Tensors, and leaf {i} is {_described(x)} with {_described(t)}"
            )
        if x.shape != t.shape:
            raise RuntimeError(
                f"{name}: tangent {i} has shape {tuple(t.shape)}, and its primal has {tuple(x.shape)}"
            )
    return leaves, spec, directions


def _are_tensors(items):
    return all(isinstance(one, TensorBase) for one in items)


def linearize(func, *primals):
    """Call a function, and return what it returned and its Jacobian as a function: tangents -> J tangents.

    What the derivative needs of the function's values is computed once, so that the second
    function is cheap to call many times, with different tangents.

    Parameters
    ----------
    func : function of `primals` that returns a tree of Tensors
    primals : trees of Tensors

    Returns
    -------
    output : what `func` returned
    jvp_fn : function of tangents, in the form of `primals`

    Examples
    --------
    >>> import tensorlab
    >>> y, jvp_fn = tensorlab.func.linearize(lambda x: x * x, tensorlab.tensor([1.0, 2.0]))
    >>> jvp_fn(tensorlab.tensor([1.0, 0.0]))
    tensor([2., 0.])
    """
    output, pull = _vjp("linearize", func, primals, False)

    # v -> v J is linear in v, whatever v is; the transpose of that is t -> J t
    zeros = tree_map(zeros_like, output)
    _, push = _vjp(
        "linearize", lambda cotangents: pull(cotangents, create_graph=True), (zeros,), False
    )

    def jvp_fn(*tangents):
        _checked_tangents("linearize", primals, tangents)
        return push(tangents)[0]

    return output, jvp_fn
