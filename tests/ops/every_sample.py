"""The samples of all families in one list, and what every shared test does with them.

Nothing here needs PyTorch: the tests that stand on their own import it, and so do those that compare.
"""

import importlib
import itertools
import pathlib
import warnings

import numpy as np

import tensorlab
from tests.cases import each_case
from tests.ops.samples import is_floating, make_tensor, pointwise_shapes

FAMILIES = sorted(path.stem for path in pathlib.Path(__file__).parent.glob("samples_*.py"))
SAMPLES = [
    sample
    for family in FAMILIES
    for sample in importlib.import_module(f"tests.ops.{family}").SAMPLES
]
FLOATING = [sample for sample in SAMPLES if any(is_floating(array) for array in sample.arrays())]
DIFFERENTIABLE = [sample for sample in SAMPLES if sample.derivatives]
IN_PYTORCH = [sample for sample in SAMPLES if sample.in_pytorch]


def one_of_each_op(samples):
    """The first sample of each op: what is tried by day where all take long."""
    firsts = {}
    for sample in samples:
        firsts.setdefault(sample.op, sample)
    return list(firsts.values())


def each_sample(samples=SAMPLES, **options):
    """Make one test of the samples of each op, with every combination of the options.

    An option is a further argument of the test: a sequence of values, or a function from the sample to one.
    """
    groups = {}
    for sample in samples:
        choices = [of(sample) if callable(of) else of for of in options.values()]
        for chosen in itertools.product(*choices):
            name = " ".join([sample.name, *(getattr(one, "__name__", str(one)) for one in chosen)])
            cases = groups.setdefault(sample.op, {})
            assert name not in cases, name
            cases[name] = (sample, *chosen)
    return each_case(groups)


# ------------------------------------------------------------------------------------------------ results
def as_tuple(results):
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)


def dtype_name(x):
    return str(x.dtype).rpartition(".")[2]


def tensors_of(arrays, dtype=None, T=tensorlab):
    return [make_tensor(T, array, dtype) for array in arrays]


def call_quietly(function, *arguments, **options):
    """All results of a call as a tuple; warnings are tested elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return as_tuple(function(*arguments, **options))


def other_inputs(sample):
    """The arrays of each further call of a sample: its `more`, and the variants of a pointwise op's shapes."""
    variants = [sample.arrays(inputs) for inputs in sample.more]
    if sample.pointwise:
        shapes = pointwise_shapes(sample.arrays())
        variants += [shapes.empty, shapes.zero_d, shapes.broadcast]
    return variants


# ------------------------------------------------------------------------------------------------ derivatives
def first_gradients(T, grad, sample, arrays, call=None):
    """Gradients of the call by all floating inputs, weighted at random; None if it does not depend on one."""
    tensors = [make_tensor(T, array, requires_grad=is_floating(array)) for array in arrays]
    results = [y for y in as_tuple((call or sample.call)(T, *tensors)) if y.requires_grad]
    rng = np.random.default_rng(1)
    weights = [
        make_tensor(T, np.asarray(rng.standard_normal(tuple(y.shape))), requires_grad=True)
        for y in results
    ]
    leaves = [x for x in tensors if x.requires_grad]
    grads = grad(results, leaves, grad_outputs=weights, create_graph=True, allow_unused=True)
    return leaves + weights, grads


def second_gradients(T, grad, inputs, grads):
    """Gradients of those gradients, again weighted."""
    rng = np.random.default_rng(2)
    grads = [g for g in grads if g is not None and g.requires_grad]
    if not grads:
        return ()
    weights = [make_tensor(T, np.asarray(rng.standard_normal(tuple(g.shape)))) for g in grads]
    return grad(grads, inputs, grad_outputs=weights, allow_unused=True)
