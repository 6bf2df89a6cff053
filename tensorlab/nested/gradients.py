"""Gradients of nested tensors: those of their values."""

from tensorlab.nested.tensors import NestedTensor, rule


@rule("grad")
def grad(function, outputs, inputs, grad_outputs=None, **kwargs):
    """autograd.grad with nested tensors."""

    def plain(one):
        if isinstance(one, (tuple, list)):
            return type(one)(plain(each) for each in one)
        return one._values if isinstance(one, NestedTensor) else one

    found = function(plain(outputs), plain(inputs), plain(grad_outputs), **kwargs)
    given = inputs if isinstance(inputs, (tuple, list)) else [inputs]
    return tuple(
        one.with_values(result) if isinstance(one, NestedTensor) and result is not None else result
        for one, result in zip(given, found, strict=True)
    )
