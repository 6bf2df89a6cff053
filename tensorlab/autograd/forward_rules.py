"""What forward mode says of a function: tangents, and that several at once are what they are one by one."""

from tensorlab.autograd.forward_ad import dual_level, make_dual, unpack_dual
from tensorlab.autograd.numerical import FLOAT64, as_tuple
from tensorlab.errors import GradcheckError
from tensorlab.func.vmapping import vmap
from tensorlab.ops.creation import zeros, zeros_like
from tensorlab.ops.joining import stack
from tensorlab.ops.random_factories import randn_like


def tangents(func, inputs, place, direction, outputs):
    """The Jacobian-vector products by one input: a tensor in the shape of each output.

    `place` is the position of the input, and `outputs` has pairs (position, result) of the
    results that count.
    """
    with dual_level():
        inputs = list(inputs)
        inputs[place] = make_dual(inputs[place].detach().requires_grad_(), direction)
        results = as_tuple(func(*inputs))
        found = [unpack_dual(results[position]).tangent for position, _ in outputs]
    return [
        zeros_like(like) if one is None else one
        for one, (_, like) in zip(found, outputs, strict=True)
    ]


def forward_jacobian(func, inputs, place, outputs):
    """The matrix of each output's derivatives by one input, a column for each element of the input."""
    x = inputs[place]
    matrices = [zeros(output.numel(), x.numel(), dtype=FLOAT64) for _, output in outputs]
    for column in range(x.numel()):
        unit = zeros(x.numel(), dtype=x.dtype)
        unit[column] = 1
        found = tangents(func, inputs, place, unit.view(x.shape), outputs)
        for matrix, one in zip(matrices, found, strict=True):
            matrix[:, column] = one.detach().reshape(-1)
    return matrices


def check_batched_tangents(func, inputs, place, outputs, generator, name, what):
    """Two tangents at once, under vmap, give what they give one by one."""
    vectors = [randn_like(inputs[place], generator=generator) for _ in range(2)]
    one_by_one = [tangents(func, inputs, place, vector, outputs) for vector in vectors]

    def push(vector):
        return tuple(tangents(func, inputs, place, vector, outputs))

    for together, *alone in zip(vmap(push)(stack(vectors)), *one_by_one, strict=True):
        if not together.allclose(stack(alone)):
            raise GradcheckError(
                f"{what}: batched forward-mode gradients differ: two tangents of {name} at "
                f"once give\n{together}\n"
                f"and one by one\n{stack(alone)}"
            )
