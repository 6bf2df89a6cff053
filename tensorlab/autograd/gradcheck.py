"""gradcheck and gradgradcheck: hold a function's backward against finite differences.

check.py compares the numbers, numerical.py makes those to compare with, backward_rules.py tests
what must hold whatever the numbers are, forward_rules.py gives the tangents of forward mode,
and mismatch.py writes the report.
"""

from tensorlab import _missing
from tensorlab._core.engine.backward import grad
from tensorlab._core.random import Generator
from tensorlab._tensor import Tensor
from tensorlab.autograd.numerical import as_tuple, function_name
from tensorlab.errors import GradcheckError
from tensorlab.ops.complex_views import view_as_complex, view_as_real
from tensorlab.ops.creation import empty
from tensorlab.ops.random_factories import rand

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def run_check(raise_exception, *args, **settings):
    """Run a check; whether a failed one is an exception or False, the user says."""
    from tensorlab.autograd.check import Check  # here, as few programs check gradients

    if raise_exception:
        Check(*args, **settings).run()
        return True
    try:
        Check(*args, **settings).run()
    except GradcheckError:
        return False
    return True


# ---------------------------------------------------------------- complex numbers
# The gradient of a complex number is that of its two parts, as of two real numbers. So that is
# what is checked.
def as_real(x):
    """Return a complex tensor as a real one that needs a gradient if x does; anything else as it is."""
    if not (isinstance(x, Tensor) and x.is_complex()):
        return x
    return view_as_real(x.detach().resolve_conj()).requires_grad_(x.requires_grad)


def over_reals(func, inputs):
    """Return a function and its inputs in real numbers: of complex ones the parts, in a last dimension of two."""
    inputs = as_tuple(inputs)
    are_complex = [isinstance(x, Tensor) and x.is_complex() for x in inputs]

    def in_reals(*reals):
        pairs = zip(reals, are_complex, strict=True)
        result = func(*[view_as_complex(x) if is_complex else x for x, is_complex in pairs])
        if not any(isinstance(y, Tensor) and y.is_complex() for y in as_tuple(result)):
            return result
        return tuple(
            view_as_real(y.resolve_conj()) if isinstance(y, Tensor) and y.is_complex() else y
            for y in as_tuple(result)
        )

    in_reals.__name__ = function_name(func)
    return in_reals, tuple(as_real(x) for x in inputs)


# ---------------------------------------------------------------- the public functions
def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Check a function's gradients against finite differences, and that its backward keeps the rules.

    Parameters
    ----------
    func : function of `inputs` that returns a Tensor or a tuple of Tensors
    inputs : Tensor or tuple; checked are the tensors that require grad, which should be
        float64, away from kinks, and without elements that share memory. Other arguments,
        tensors or not, are passed on
    eps : float, how far each element is moved to both sides
    atol, rtol : float; |analytical - numerical| <= atol + rtol * |numerical| must hold for each entry
    raise_exception : bool; raise what went wrong, or return False
    nondet_tol : float, by how much two runs of the same backward may differ
    check_undefined_grad : bool, check that backward takes missing gradients as zeros, and
        forward mode missing tangents
    check_grad_dtypes : bool, check that each gradient has its input's dtype
    check_batched_grad : bool, check that several gradients at once give what they give one by one
    fast_mode : bool, compare one random combination of all entries; the cost no longer grows
        with the tensors
    masked : bool; gradients that must vanish need to do so within rounding only. There are no
        sparse tensors, for which this was made
    check_backward_ad, check_forward_ad : bool, which of backward and forward mode are checked
    check_batched_forward_grad : bool, check that forward mode under vmap gives what it gives
        for each tangent

    Returns
    -------
    bool, whether all agree

    Raises
    ------
    GradcheckError
        If not: with function, output, input, the worst entry and both its values, and what the mistake looks like.
    ValueError
        If no input requires grad.

    >>> import tensorlab
    >>> x = tensorlab.tensor([0.3, -0.5], dtype=tensorlab.float64, requires_grad=True)
    >>> tensorlab.autograd.gradcheck(tensorlab.tanh, x)
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "gradcheck: Expected at least one of check_forward_ad and check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "gradcheck: Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "gradcheck: Setting check_batched_forward_grad=True requires check_forward_ad to be True"
        )
    func, inputs, name = *over_reals(func, inputs), function_name(func)
    return run_check(
        raise_exception,
        func,
        inputs,
        f"gradcheck of {name}",
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_backward_ad=check_backward_ad,
        check_forward_ad=check_forward_ad,
        check_batched_forward_grad=check_batched_forward_grad,
        fast_mode=fast_mode,
        masked=masked,
    )


def gradgradcheck(
    func,
    inputs,
    grad_outputs=None,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    gen_non_contig_grad_outputs=False,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_fwd_over_rev=False,
    check_rev_over_rev=True,
    fast_mode=False,
    masked=False,
):
    """Check a function's second derivatives: gradcheck of its backward, by inputs and incoming gradients.

    Parameters
    ----------
    func, inputs : as for `gradcheck`
    grad_outputs : Tensor or tuple of Tensors, the gradients of the outputs; random unless given
    gen_non_contig_grad_outputs : bool, make those random gradients non-contiguous
    check_fwd_over_rev, check_rev_over_rev : bool, whether backward is differentiated by forward
        mode, and by backward

    The others are those of `gradcheck`.

    Returns
    -------
    bool, whether all agree

    Raises
    ------
    GradcheckError
        If not; also if backward is not differentiable itself, but its result changes with its input.
    ValueError
        If no output requires grad.

    >>> import tensorlab
    >>> x = tensorlab.tensor([0.3, -0.5], dtype=tensorlab.float64, requires_grad=True)
    >>> tensorlab.autograd.gradgradcheck(tensorlab.tanh, x)
    True
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "gradgradcheck: Expected at least one of check_fwd_over_rev and check_rev_over_rev to be True"
        )
    (func, inputs), name = over_reals(func, as_tuple(inputs)), function_name(func)
    results = [y for y in as_tuple(func(*inputs)) if y.requires_grad]
    if not results:
        raise ValueError(
            f"gradgradcheck of {name}: no output requires grad, so that there is no "
            f"backward to differentiate"
        )
    if grad_outputs is None:
        grad_outputs = random_gradients(results, gen_non_contig_grad_outputs)
    grad_outputs = tuple(as_real(one) for one in as_tuple(grad_outputs))
    gradient = Gradient(func, inputs, grad_outputs)
    return run_check(
        raise_exception,
        gradient,
        (*inputs, *grad_outputs),
        f"gradgradcheck of {name}",
        gradient.input_names,
        gradient.output_names,
        eps=eps,
        atol=atol,
        rtol=rtol,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_backward_ad=check_rev_over_rev,
        check_forward_ad=check_fwd_over_rev,
        check_batched_forward_grad=False,
        fast_mode=fast_mode,
        masked=masked,
    )


class Gradient:
    """The backward of a function as a function: of its inputs and of the gradients of its outputs."""

    def __init__(self, func, inputs, grad_outputs):
        self.func, self.split = func, len(inputs)
        self.input_names = [f"input {i}" for i in range(self.split)]
        self.input_names += [f"grad_output {i}" for i in range(len(grad_outputs))]
        self.output_names = []  # filled at each call: inputs without a gradient have none

    def __call__(self, *args):
        inputs, grad_outputs = args[: self.split], args[self.split :]
        outputs = [y for y in as_tuple(self.func(*inputs)) if y.requires_grad]
        leaves = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
        names = [
            name
            for name, x in zip(self.input_names, inputs, strict=False)
            if isinstance(x, Tensor) and x.requires_grad
        ]
        found = grad(outputs, leaves, grad_outputs, create_graph=True, allow_unused=True)
        self.output_names[:] = [
            f"gradient of {name}" for name, one in zip(names, found, strict=True) if one is not None
        ]
        return tuple(one for one in found if one is not None)


def random_gradients(outputs, non_contiguous):
    """Numbers from [-1, 1) in the shape of each output; non-contiguous ones lie two elements apart in memory."""
    generator = Generator()
    made = []
    for output in outputs:
        vector = rand(output.shape, generator=generator, dtype=output.dtype) * 2 - 1
        if non_contiguous:
            vector = empty(*output.shape, 2, dtype=output.dtype).select(-1, 0).copy_(vector)
        made.append(vector.requires_grad_())
    return tuple(made)


__getattr__ = _missing.refusing(__name__)
