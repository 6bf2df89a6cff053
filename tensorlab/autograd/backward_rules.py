"""What backward says of a function, and the rules that it must keep whatever its numbers are.

A backward pass is a linear map: gradients of outputs in, gradients of inputs out.  So the same gradients give the same
result twice, zeros give zeros, a gradient that is missing counts as zeros, and several at once give what they give one
by one.  Each rule is a function here, which raises GradcheckError; gradcheck calls them besides comparing numbers.
"""

from tensorlab._core.engine.backward import grad
from tensorlab.autograd.function import Function
from tensorlab.autograd.numerical import FLOAT64
from tensorlab.errors import GradcheckError
from tensorlab.ops.creation import zeros, zeros_like
from tensorlab.ops.joining import stack
from tensorlab.ops.random_factories import randn_like


def products(output, leaves, vector):
    """Return the vector-Jacobian products of one output by each leaf, None where nothing arrives."""
    return grad(output, leaves, vector, retain_graph=True, allow_unused=True)


# ---------------------------------------------------------------- what backward says
def analytical_jacobian(output, leaves):
    """Return the matrix of one output's derivatives by each leaf, a row for each element of the output.

    Returns
    -------
    list of Tensor, shape (elements of the output, elements of the leaf), float64;
    and the set of (number of the leaf, dtype) of gradients whose dtype is not the leaf's
    """
    matrices = [zeros(output.numel(), leaf.numel(), dtype=FLOAT64) for leaf in leaves]
    strange = set()
    for row in range(output.numel()):
        vector = zeros(output.numel(), dtype=output.dtype)
        vector[row] = 1
        for number, found in enumerate(products(output, leaves, vector.view(output.shape))):
            if found is not None:
                matrices[number][row] = found.detach().reshape(-1)
                if found.dtype is not leaves[number].dtype:
                    strange.add((number, found.dtype))
    return matrices, strange


def analytical_product(output, leaves, vector):
    """Return the same for one vector instead of every row: matrices of one row."""
    matrices, strange = [], set()
    for number, (leaf, found) in enumerate(
        zip(leaves, products(output, leaves, vector), strict=True)
    ):
        matrices.append(zeros(1, leaf.numel(), dtype=FLOAT64))
        if found is not None:
            matrices[number][0] = found.detach().reshape(-1)
            if found.dtype is not leaf.dtype:
                strange.add((number, found.dtype))
    return matrices, strange


# ---------------------------------------------------------------- the rules
def check_deterministic(first, second, tolerance, what):
    """The same gradient twice gives the same result twice, to within `tolerance`."""
    difference = (first - second).abs()
    if difference.numel() and (difference.max() > tolerance).item():
        row, column = divmod(difference.reshape(-1).argmax().item(), first.shape[1])
        raise GradcheckError(
            f"{what}: backward is not deterministic (not reentrant): for one and the same "
            f"gradient, entry [{row}, {column}] of the Jacobian came out as "
            f"{first[row, column].item()!r} and then as {second[row, column].item()!r}; "
            f"nondet_tol={tolerance} allows no more than that"
        )


def check_dtypes(strange, leaves, names, what):
    """Every gradient has the dtype of its input."""
    for number, dtype in strange:
        raise GradcheckError(
            f"{what}: gradient has a dtype mismatch: that of {names[number]} is {dtype}, but the input is "
            f"{leaves[number].dtype}"
        )


def is_zero(x, masked):
    """Exactly zero, or with `masked` within what rounding explains, as in PyTorch."""
    return x.allclose(zeros_like(x)) if masked else not x.any().item()


def check_zeros(outputs, leaves, names, what, masked=False):
    """Gradients of zero give gradients of zero: backward multiplies by what arrives."""
    found = grad(
        outputs, leaves, [zeros_like(o) for o in outputs], retain_graph=True, allow_unused=True
    )
    for number, one in enumerate(found):
        if one is not None and not is_zero(one, masked):
            raise GradcheckError(
                f"{what}: backward not multiplied by grad_output: for gradients of zero, that "
                f"of {names[number]} is not zero but {largest(one)!r} somewhere"
            )


def largest(x):
    """The element of the largest size, NaN first."""
    flat = x.detach().reshape(-1)
    return flat[flat.abs().argmax()].item()


class Swallow(Function):
    """Passes its input on and no gradient back: what is computed from it gets none."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return None


def check_missing(make_outputs, leaves, names, what):
    """A gradient that is missing counts as zeros: for all outputs at once, and for each of several alone."""
    count = len(make_outputs())
    every = [set(range(count))]
    if count > 1:
        every += [{number} for number in range(count)]
    for missing in every:
        outputs = [
            Swallow.apply(output) if number in missing else output
            for number, output in enumerate(make_outputs())
        ]
        which = "every output" if len(missing) == count else f"output {min(missing)}"
        try:
            found = grad(outputs, leaves, [zeros_like(o) for o in outputs], allow_unused=True)
        except Exception as error:
            raise GradcheckError(
                f"{what}: expected backward to handle undefined output grads: without a "
                f"gradient for {which} it raised {type(error).__name__}: {error}. Treat None "
                "as zeros (check_undefined_grad=False leaves this out)"
            ) from error
        for number, one in enumerate(found):
            if one is not None and one.any().item():
                raise GradcheckError(
                    f"{what}: expected input grads to be undefined or zero when output grads "
                    f"are: without a gradient for {which}, and zeros for the rest, that of "
                    f"{names[number]} is {largest(one)!r} somewhere"
                )


def check_batched(output, leaves, generator, names, what):
    """Two gradients at once, as with `is_grads_batched=True`, give what they give one by one."""
    vectors = [randn_like(output, generator=generator) for _ in range(2)]
    one_by_one = [products(output, leaves, vector) for vector in vectors]
    together = grad(
        output,
        leaves,
        stack(vectors),
        retain_graph=True,
        allow_unused=True,
        is_grads_batched=True,
    )
    for number, batch in enumerate(together):
        alone = [found[number] for found in one_by_one]
        if batch is None and alone[0] is None:
            continue
        expected = stack([zeros_like(leaves[number]) if one is None else one for one in alone])
        if batch is None or not batch.allclose(expected):
            raise GradcheckError(
                f"{what}: batched gradients differ: two gradients at once give, for {names[number]},\n{batch}\n"
                f"and one by one\n{expected}"
            )
