"""What forward mode says of a function: tangents, and that several at once are what they are one by one."""

from tensorlab.autograd.forward_ad import dual_level, make_dual, unpack_dual
from tensorlab.autograd.numerical import FLOAT64, as_tuple
from tensorlab.errors import GradcheckError
from tensorlab.func.vmapping import vmap
from tensorlab.ops.creation import zeros, zeros_like
from tensorlab.ops.joining import stack
from tensorlab.ops.random_factories import randn_like


def tangents(func, inputs, directions, outputs):
    """The Jacobian-vector products: a tensor in the shape of each output.

    `directions` is {position of an input: its tangent, None for an input without one}, and
    `outputs` has pairs (position, result) of the results that count.
    """
    with dual_level():
        inputs = list(inputs)
        for place, direction in directions.items():
            x = inputs[place].detach().requires_grad_()
            inputs[place] = x if direction is None else make_dual(x, direction)
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
        found = tangents(func, inputs, {place: unit.view(x.shape)}, outputs)
        for matrix, one in zip(matrices, found, strict=True):
            matrix[:, column] = one.detach().reshape(-1)
    return matrices


def check_batched_tangents(func, inputs, place, outputs, generator, name, what):
    """Two tangents at once, under vmap, give what they give one by one."""
    vectors = [randn_like(inputs[place], generator=generator) for _ in range(2)]
    one_by_one = [tangents(func, inputs, {place: vector}, outputs) for vector in vectors]

    def push(vector):
        return tuple(tangents(func, inputs, {place: vector}, outputs))

    for together, *alone in zip(vmap(push)(stack(vectors)), *one_by_one, strict=True):
        if not together.allclose(stack(alone)):
            raise GradcheckError(
                f"{what}: batched forward-mode gradients differ: two tangents of {name} at "
                f"once give\n{together}\n"
                f"and one by one\n{stack(alone)}"
            )


def check_missing_tangents(func, inputs, places, outputs, generator, names, what):
    """An input without a tangent counts as one with a tangent of zeros, beside others that have one."""
    directions = {place: randn_like(inputs[place], generator=generator) for place in places}
    for name, place in zip(names, places, strict=True):
        zero = zeros_like(inputs[place])
        expected = tangents(func, inputs, {**directions, place: zero}, outputs)
        try:
            found = tangents(func, inputs, {**directions, place: None}, outputs)
        except Exception as error:
            raise GradcheckError(
                f"{what}: expected forward mode to handle undefined tangents: without a tangent "
                f"of {name} it raised {type(error).__name__}: {error}. Treat None as zeros "
                "(check_undefined_grad=False leaves this out)"
            ) from error
        for (position, _), one, other in zip(outputs, found, expected, strict=True):
            if not one.allclose(other):
                raise GradcheckError(
                    f"{what}: mismatch in tangents of output {position} when {name} has an "
                    f"undefined tangent: got\n{one}\nand with a tangent of zeros\n{other}"
                )
