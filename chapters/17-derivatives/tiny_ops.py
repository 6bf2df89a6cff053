"""Ops in Python, declared as tensorlab declares its own: one function for the values, one formula
for each gradient, and the names of a formula's parameters say what a call saves.

    MUL = Op("mul(x, y)", lambda x, y: x * y)

    @MUL.derivative("x")
    def mul_derivative_x(grad, y):
        return grad * y

A formula may ask for `grad`, for an argument by its name, for the result as `out`, and for the
shape of its own argument (`x_shape` in the derivative by x). `Recorded` puts a call into the real
engine's graph; chapter 19 opens that door. The engine then fits gradients to their operands.
"""

import inspect

import tensorlab


class Op:
    """A declaration: name, parameters, values, and a formula for each differentiable parameter."""

    def __init__(self, schema, values):
        self.name, _, rest = schema.rstrip(")").partition("(")
        self.params = [param.strip() for param in rest.split(",")]
        self.values = values
        self.formulas = {}  # parameter: (formula, names of what it takes)

    def derivative(self, param):
        """Declare the formula of the gradient by `param`."""

        def declare(formula):
            takes = list(inspect.signature(formula).parameters)
            for name in takes:
                if name not in ("grad", "out", f"{param}_shape", *self.params):
                    raise ValueError(f"{self.name}: the derivative by {param} asks for {name!r}")
            self.formulas[param] = formula, takes
            return formula

        return declare

    def saves(self, wanted):
        """Return what a call must keep for the gradients by the parameters in `wanted`."""
        names = {name for param in wanted for name in self.formulas[param][1]}
        return sorted(names & {"out", *self.params})

    def __call__(self, *arguments):
        return Recorded.apply(self, *arguments)


class Recorded(tensorlab.autograd.Function):
    """One call of an Op: its node in the graph is `ctx`."""

    @staticmethod
    def forward(ctx, op, *arguments):
        given = dict(zip(op.params, arguments, strict=True))
        needs = zip(op.params, ctx.needs_input_grad[1:], strict=True)
        ctx.op, ctx.wanted = op, [param for param, needed in needs if needed]
        ctx.shapes = {f"{param}_shape": given[param].shape for param in ctx.wanted}
        given["out"] = op.values(*arguments)
        kept = {name: given[name] for name in op.saves(ctx.wanted)}
        ctx.saved_names = [name for name, value in kept.items() if is_tensor(value)]
        ctx.numbers = {name: value for name, value in kept.items() if not is_tensor(value)}
        ctx.save_for_backward(*[kept[name] for name in ctx.saved_names])
        return given["out"]

    @staticmethod
    def backward(ctx, grad):
        tensors = dict(zip(ctx.saved_names, ctx.saved_tensors, strict=True))
        have = {"grad": grad, **tensors, **ctx.numbers, **ctx.shapes}
        grads = [None]  # the op itself is the first argument, and has no gradient
        for param in ctx.op.params:
            formula, takes = ctx.op.formulas.get(param, (None, ()))
            grads.append(formula(*[have[name] for name in takes]) if param in ctx.wanted else None)
        return tuple(grads)


def is_tensor(value):
    return isinstance(value, tensorlab.Tensor)
