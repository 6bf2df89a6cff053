"""Derivatives of functions as functions: vjp, jvp, jacobian, hessian, vhp and hvp.

Backward gives one thing, the product of a vector with the Jacobian, v J.  The rest is made of it:

    vjp        one backward pass
    jvp        J v: the map from v to v J is linear, and its own derivative, by a second backward pass, is J
    jacobian   one vjp with a unit vector for each element of the outputs; or one jvp for each element of the inputs
    hessian    the Jacobian of the gradient
    vhp, hvp   vjp and jvp of the gradient: two passes instead of a matrix

Each function takes `create_graph`, which makes the results differentiable themselves, and `strict`, which raises where
a result would be zero because there is no dependence at all.  A function that gets one tensor gives one back, and a
tuple for a tuple.
"""

from tensorlab._core.engine.backward import grad
from tensorlab._core.state.modes import is_grad_enabled
from tensorlab.autograd.calls import Call, as_tensors, backward_pass, check_scalar, unpacked
from tensorlab.autograd.grad_mode import enable_grad, set_grad_enabled
from tensorlab.errors import GradientError
from tensorlab.func.jacobians import jacfwd
from tensorlab.func.transforms import grad as func_grad
from tensorlab.ops.creation import zeros
from tensorlab.ops.joining import stack
from tensorlab.ops.ranges import eye

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


# ---------------------------------------------------------------- products
def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)` and v J, the vector-Jacobian product: one backward pass.

    Parameters
    ----------
    func : function of tensors that returns a Tensor or a tuple of Tensors
    inputs : Tensor or tuple of Tensors, where it is differentiated
    v : Tensor or tuple of Tensors, in the shapes of the outputs; may be left away for a single element
    create_graph : bool, make output and product differentiable
    strict : bool, raise if an output does not depend on an input, instead of giving zeros

    Returns
    -------
    outputs : what `func` returned
    product : Tensor or tuple of Tensors, in the shapes of the inputs

    Raises
    ------
    GradientError, ShapeError
        If `v` does not fit, or in strict mode.
    TypeError
        If inputs, outputs or `v` are not tensors.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> tensorlab.autograd.functional.vjp(lambda x: x * x, x, tensorlab.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    call = Call("vjp", func, inputs, create_graph, strict)
    v = call.vector(v, call.outputs, call.gives_tuple, "the output")
    found = call.last_pass(call.outputs, call.inputs, v)
    call.check_dependence(found, "the output", "input")
    return call.result(), call.derivatives(found, call.inputs, call.is_tuple)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)` and J v, the Jacobian-vector product: by how much the outputs change along v.

    It takes two backward passes.  The first gives u J as a function of u; that is linear, and its
    derivative in the direction v, by the second, is J v.  `func.jvp` needs one pass, forward.

    Parameters
    ----------
    func, inputs, create_graph, strict : as for `vjp`
    v : Tensor or tuple of Tensors, in the shapes of the inputs; may be left away for a single element

    Returns
    -------
    outputs : what `func` returned
    product : Tensor or tuple of Tensors, in the shapes of the outputs

    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> tensorlab.autograd.functional.jvp(lambda x: x * x.sum(), x, tensorlab.tensor([1.0, 0.0]))
    (tensor([3., 6.]), tensor([4., 2.]))
    """
    call = Call("jvp", func, inputs, create_graph, strict)
    v = call.vector(v, call.inputs, call.is_tuple, "the input")
    u, products = call.transposed(call.outputs)
    call.check_dependence(products, "the output", "input", must_vary=True)
    found = call.last_pass(products, u, v)
    call.check_dependence(found, "the gradient", "the gradient of output")
    return call.result(), call.derivatives(found, call.outputs, call.gives_tuple)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)` and v H, the product of a vector with the Hessian: backward through the gradient.

    Parameters
    ----------
    func : function of tensors that returns a single element
    inputs, create_graph, strict : as for `vjp`
    v : Tensor or tuple of Tensors, in the shapes of the inputs; may be left away for a single element

    Returns
    -------
    output : Tensor, what `func` returned
    product : Tensor or tuple of Tensors, in the shapes of the inputs

    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> tensorlab.autograd.functional.vhp(lambda x: (x**3).sum(), x, tensorlab.tensor([1.0, 1.0]))
    (tensor(9.), tensor([ 6., 12.]))
    """
    call = Call("vhp", func, inputs, create_graph, strict)
    v = call.vector(v, call.inputs, call.is_tuple, "the input")
    gradient = call.gradient()
    found = call.last_pass(gradient, call.inputs, v)
    call.check_dependence(found, "the gradient", "input")
    return call.result(), call.derivatives(found, call.inputs, call.is_tuple)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """Return `func(*inputs)` and H v, the product of the Hessian with a vector.

    It is jvp of the gradient, and takes a pass more than `vhp`.  Where the second derivatives are continuous, the
    Hessian is symmetric and both are the same: prefer `vhp`.

    Parameters and results are those of `vhp`.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> tensorlab.autograd.functional.hvp(lambda x: x[0] * x[1] ** 2, x, tensorlab.tensor([1.0, 0.0]))
    (tensor(4.), tensor([0., 4.]))
    """
    call = Call("hvp", func, inputs, create_graph, strict)
    v = call.vector(v, call.inputs, call.is_tuple, "the input")
    gradient = call.gradient()
    u, products = call.transposed(gradient)
    found = call.last_pass(products, u, v)
    call.check_dependence(found, "the gradient", "input")
    return call.result(), call.derivatives(found, call.inputs, call.is_tuple)


# ---------------------------------------------------------------- matrices
def jacobian(
    func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"
):
    """Return the Jacobian of a function: the derivative of each element of its outputs by each of its inputs.

    Parameters
    ----------
    func : function of tensors that returns a Tensor or a tuple of Tensors
    inputs : Tensor or tuple of Tensors, where it is differentiated
    create_graph : bool, make the Jacobian differentiable
    strict : bool, raise if an output does not depend on an input, instead of giving zeros
    strategy : "reverse-mode", a backward pass for each element of the outputs, or
        "forward-mode", a tangent for each element of the inputs: faster where outputs are many
        and inputs few
    vectorize : bool, make one pass for all elements, as under vmap; "forward-mode" asks for it

    Returns
    -------
    Tensor of shape (*output.shape, *input.shape); for a tuple of inputs a tuple of them, and for a tuple of outputs one
    such entry for each

    Raises
    ------
    GradientError
        In strict mode.
    NotImplementedError
        If "forward-mode" is asked for without `vectorize`, or with `create_graph`.

    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> tensorlab.autograd.functional.jacobian(lambda x: x * x.sum(), x)
    tensor([[4., 1.],
            [2., 5.]])
    """
    check_strategy("jacobian", strategy)
    if strategy == "forward-mode":
        check_forward_mode(create_graph, strict, vectorize)
    elif vectorize and strict:
        raise GradientError(
            "jacobian: strict=True and vectorize=True exclude each other, as in PyTorch; leave out vectorize"
        )
    if strategy == "forward-mode":
        return by_columns(func, inputs)
    call = Call("jacobian", func, inputs, create_graph, strict)
    with set_grad_enabled(create_graph or is_grad_enabled()):  # the stacking is part of the graph
        rows = in_one_pass(call) if vectorize else by_rows(call)
    rows = tuple(unpacked(call.released(row), call.is_tuple) for row in rows)
    return unpacked(rows, call.gives_tuple)


def by_rows(call):
    """For each output, its Jacobians by all inputs: a backward pass with a unit vector for each element."""
    rows = []
    for position, output in enumerate(call.outputs):
        found = [[] for _ in call.inputs]
        for element in range(output.numel()):
            (unit,) = unit_vectors(output, element)
            with enable_grad():
                products = backward_pass(
                    (output,), call.inputs, (unit,), call.create_graph, keep=True
                )
            call.check_dependence(products, f"output {position}", "input")
            for row, product in zip(found, call.whole(products, call.inputs), strict=True):
                row.append(product)
        rows.append(
            tuple(
                stacked(row, x).view((*output.shape, *x.shape))
                for row, x in zip(found, call.inputs, strict=True)
            )
        )
    return rows


def in_one_pass(call):
    """The same with the unit vectors of an output in one batch."""
    rows = []
    for output in call.outputs:
        units = eye(output.numel(), dtype=output.dtype).view((output.numel(), *output.shape))
        if not output.requires_grad or not output.numel():
            found = [None] * len(call.inputs)
        else:
            found = grad(
                output,
                call.inputs,
                units,
                retain_graph=True,
                create_graph=call.create_graph,
                allow_unused=True,
                is_grads_batched=True,
            )
        shapes = [(*output.shape, *x.shape) for x in call.inputs]
        rows.append(
            tuple(
                x.new_zeros(shape) if one is None else one.reshape(shape)
                for one, x, shape in zip(found, call.inputs, shapes, strict=True)
            )
        )
    return rows


def by_columns(func, inputs):
    """The Jacobian by forward mode: the tangents of all unit vectors of the inputs at once."""
    is_tuple, inputs = as_tensors(inputs, "inputs", "jacobian")
    gives_tuple = []

    def checked(*inputs):
        returned, outputs = as_tensors(func(*inputs), "the result of the function", "jacobian")
        gives_tuple.append(returned)
        return outputs

    rows = jacfwd(checked, argnums=tuple(range(len(inputs))))(*[x.detach() for x in inputs])
    return unpacked(tuple(unpacked(row, is_tuple) for row in rows), gives_tuple[-1])


def unit_vectors(x, element):
    """A tuple of one tensor in the shape of x: 1 at an element, else 0."""
    flat = zeros(x.numel(), dtype=x.dtype)
    flat[element] = 1
    return (flat.view(x.shape),)


def stacked(tensors, like):
    """The tensors along a first dimension more, also if there are none."""
    return stack(tensors) if tensors else like.new_zeros(0, *like.shape)


def hessian(
    func,
    inputs,
    create_graph=False,
    strict=False,
    vectorize=False,
    outer_jacobian_strategy="reverse-mode",
):
    """Return the Hessian of a function with one number as its result: the Jacobian of its gradient.

    Parameters
    ----------
    func : function of tensors that returns a single element
    inputs, create_graph, strict, vectorize : as for `jacobian`
    outer_jacobian_strategy : how the Jacobian of the gradient is made, the `strategy` of `jacobian`

    Returns
    -------
    Tensor of shape (*input.shape, *input.shape); for a tuple of inputs a tuple of tuples, where entry [i][j] has the
    second derivatives by input i and input j

    >>> import tensorlab
    >>> x = tensorlab.tensor([1.0, 2.0])
    >>> tensorlab.autograd.functional.hessian(lambda x: x[0] * x[1] ** 2, x)
    tensor([[0., 4.],
            [4., 2.]])
    """
    check_strategy("hessian", outer_jacobian_strategy)
    is_tuple, inputs = as_tensors(inputs, "inputs", "hessian")

    def gradient(*inputs):
        return Call("hessian", func, inputs, True, strict).gradient()

    if outer_jacobian_strategy == "forward-mode":
        gradient = gradient_by_level(func, len(inputs))
    rows = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return unpacked(tuple(unpacked(row, is_tuple) for row in rows), is_tuple)


def gradient_by_level(func, count):
    """The gradient of a scalar function by all inputs, to be differentiated by forward mode."""

    def scalar(*inputs):
        returned, outputs = as_tensors(func(*inputs), "the result of the function", "hessian")
        check_scalar("hessian", returned, outputs)
        return outputs[0].reshape(())

    return func_grad(scalar, argnums=tuple(range(count)))


def check_strategy(where, strategy):
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            f"{where}: the strategy is {strategy!r}; it must be 'reverse-mode' or 'forward-mode'"
        )


def check_forward_mode(create_graph, strict, vectorize):
    """Refuse what PyTorch refuses too."""
    if create_graph:
        raise NotImplementedError(
            "jacobian: create_graph=True does not go with strategy='forward-mode'; use 'reverse-mode'"
        )
    if strict:
        raise GradientError(
            "jacobian: strict=True does not go with strategy='forward-mode'; use 'reverse-mode'"
        )
    if not vectorize:
        raise NotImplementedError(
            "jacobian: strategy='forward-mode' asks for vectorize=True, as in PyTorch"
        )
