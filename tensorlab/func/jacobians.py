"""Jacobians and Hessians: vmap over what vjp and jvp compute for one vector.

jacrev    a row for each element of the outputs: vjp of all unit vectors at once
jacfwd    a column for each element of the inputs: jvp of all unit vectors at once
hessian   jacfwd of jacrev
"""

import functools

from tensorlab._core.tensor import TensorBase
from tensorlab._pytree import tree_flatten, tree_map, tree_unflatten
from tensorlab.func.transforms import _checked_numbers, _described, _jvp, _vjp
from tensorlab.func.vmapping import vmap

__all__ = ["hessian", "jacfwd", "jacrev"]


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """The function that returns the Jacobian of `func`, computed backward: best if there are fewer outputs than inputs.

    Parameters
    ----------
    func : function that returns a Tensor or a tree of them; with `has_aux`, that and something else
    argnums : int or tuple of int, the arguments to differentiate by
    has_aux : bool
    chunk_size : int, how many rows are computed at a time; None: all. Less memory, more calls

    Returns
    -------
    function : it returns, for each output, the Jacobian by each argument, of shape (*output,
        *input), or `(jacobian, aux)` with `has_aux`

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.func.jacrev(tensorlab.sin)(tensorlab.tensor([0.0, 0.0]))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if chunk_size is not None and not (isinstance(chunk_size, int) and chunk_size > 0):
        raise ValueError(f"jacrev: `chunk_size` should be greater than 0, not {chunk_size!r}")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        numbers = _checked_numbers("jacrev", argnums, args)
        primals = tuple([args[i] for i in numbers])
        called = _by_arguments(func, args, numbers, kwargs)
        output, pull, *aux = _vjp("jacrev", called, primals, has_aux)
        outputs, spec = tree_flatten(output)
        inputs, input_spec = tree_flatten(primals)
        counts = [one.numel() for one in outputs]
        rows = vmap(pull, chunk_size=chunk_size)(tree_unflatten(_units(outputs), spec))
        parts = [one.split(counts, 0) for one in tree_flatten(rows)[0]]  # by input, then by output
        result = tree_unflatten(
            [
                _by_input(
                    [
                        part[k].reshape((*out.shape, *x.shape))
                        for part, x in zip(parts, inputs, strict=True)
                    ],
                    input_spec,
                    argnums,
                )
                for k, out in enumerate(outputs)
            ],
            spec,
        )
        return (result, aux[0]) if has_aux else result

    return wrapped


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error", chunk_size=None):
    """The function that returns the Jacobian of `func`, computed forward: best if there are fewer inputs than outputs.

    Parameters
    ----------
    func, argnums, has_aux : as for `jacrev`
    randomness : what random numbers in `func` do, as for `vmap`
    chunk_size : int, how many columns are computed at a time; None: all

    Returns
    -------
    function : as `jacrev` does

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.func.jacfwd(lambda x: x**2)(tensorlab.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        numbers = _checked_numbers("jacfwd", argnums, args)
        primals = tuple([args[i] for i in numbers])
        called = _by_arguments(func, args, numbers, kwargs)
        inputs, input_spec = tree_flatten(primals)
        for one in inputs:
            if not isinstance(one, TensorBase):
                raise RuntimeError(
                    f"jacfwd: Expected all inputs to be tensors, got {_described(one)}"
                )

        def push(*directions):
            out, tangents, *rest = _jvp(
                "jacfwd",
                called,
                primals,
                tree_unflatten(list(directions), input_spec),
                False,
                has_aux,
            )
            return (tangents, (out, *rest)) if has_aux else (tangents, (out,))

        columns, (output, *aux) = vmap(
            push,
            out_dims=(0, None if not has_aux else (None, 0)),
            randomness=randomness,
            chunk_size=chunk_size,
        )(*_units(inputs))
        outputs, spec = tree_flatten(output)
        counts = [one.numel() for one in inputs]
        result = []
        for out, column in zip(outputs, tree_flatten(columns)[0], strict=True):
            parts = column.split(counts, 0)
            by_input = [
                part.movedim(0, -1).reshape((*out.shape, *x.shape))
                for part, x in zip(parts, inputs, strict=True)
            ]
            result.append(_by_input(by_input, input_spec, argnums))
        result = tree_unflatten(result, spec)
        return (result, tree_map(lambda x: x[0], aux[0])) if has_aux else result

    return wrapped


def hessian(func, argnums=0):
    """The function that returns the matrix of second derivatives of `func`: `jacfwd(jacrev(func))`.

    Parameters
    ----------
    func : function that returns a Tensor or a tree of them, mostly with one element
    argnums : int or tuple of int, the arguments to differentiate by

    Returns
    -------
    function : it returns the Hessian by each argument twice, of shape (*output, *input, *input)

    Examples
    --------
    >>> import tensorlab
    >>> tensorlab.func.hessian(lambda x: (x**3).sum())(tensorlab.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# ---------------------------------------------------------------- parts
def _by_arguments(func, args, numbers, kwargs):
    """The function of those arguments that are differentiated by; the others are as they are."""

    def called(*primals):
        all_args = list(args)
        for i, one in zip(numbers, primals, strict=True):
            all_args[i] = one
        return func(*all_args, **kwargs)

    return called


def _units(tensors):
    """All unit vectors of the space of these tensors together, each in their shapes: (n, *shape) for each of them."""
    counts = [one.numel() for one in tensors]
    total = sum(counts)
    units, before = [], 0
    for one, count in zip(tensors, counts, strict=True):
        unit = one.new_zeros(total, count)
        unit.diagonal(-before).fill_(1)
        units.append(unit.view((total, *one.shape)))
        before += count
    return units


def _by_input(leaves, input_spec, argnums):
    """The Jacobians of one output in the form of the arguments."""
    tree = tree_unflatten(leaves, input_spec)
    return tree if isinstance(argnums, tuple) else tree[0]
