"""Samples of ops as batches of examples: vmap must give what a loop over the examples gives.

    python -m tests.func.examples [WORD]       all inputs of all samples, and their gradients

A pattern says of each input whether it differs from example to example: all do, or one of them.
"""

import sys
import warnings

import numpy as np

import tensorlab
from tensorlab.func import grad, vmap
from tensorlab.func.batching.rules import _warned as warned
from tests.ops.every_sample import SAMPLES
from tests.ops.samples import is_floating, make_tensor

SIZE = 3


class Examples:
    """Several drawings of the inputs of a sample.

    Attributes
    ----------
    arrays : list of lists of arrays: the inputs of each example; None if their shapes differ
    patterns : which inputs are to differ
    """

    def __init__(self, sample, inputs=None):
        inputs = sample.inputs if inputs is None else inputs
        self.sample = sample
        self.arrays = [
            [np.asarray(make(np.random.default_rng([i, len(sample.name)]))) for make in inputs]
            for i in range(SIZE)
        ]
        shapes = {tuple(array.shape for array in one) for one in self.arrays}
        n = len(inputs)
        one_each = [tuple(i == k for i in range(n)) for k in range(n)]
        self.patterns = sorted({(True,) * n, *one_each}) if len(shapes) == 1 and n else []

    def example(self, i, pattern):
        """The inputs of one example; those that don't differ are the first's."""
        return [
            make_tensor(tensorlab, self.arrays[i if differs else 0][k])
            for k, differs in enumerate(pattern)
        ]

    def batch(self, pattern):
        return [
            make_tensor(
                tensorlab,
                np.stack([one[k] for one in self.arrays]) if differs else self.arrays[0][k],
            )
            for k, differs in enumerate(pattern)
        ]

    def call(self, *tensors):
        return tuple(tensors_in(self.sample.call(tensorlab, *tensors)))

    def gradient(self):
        """The gradients of a weighted sum of the results by all floating inputs; None if there
        are none.
        """
        numbers = [i for i, array in enumerate(self.arrays[0]) if is_floating(array)]
        return grad(self.weighted_sum, tuple(numbers)) if numbers else None

    def weighted_sum(self, *tensors):
        total = tensorlab.zeros((), dtype=tensorlab.float64)
        for y in self.call(*tensors):
            if y.is_complex():
                y = tensorlab.view_as_real(y)
            if y.is_floating_point():
                weights = tensorlab.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).reshape(y.shape)
                total = total + (y * weights).sum()
        return total

    def compare(self, call, pattern):
        """Assert that vmap of `call` gives what it gives for each example; False if one of
        these raises.
        """
        in_dims = tuple(0 if differs else None for differs in pattern)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                each = [tensors_in(call(*self.example(i, pattern))) for i in range(SIZE)]
            except (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError):
                return False
            warnings.filterwarnings("error", "vmap: .* has no batching rule")
            warned.clear()
            found = tensors_in(vmap(call, in_dims)(*self.batch(pattern)))
        expected = [tensorlab.stack(list(of_one)) for of_one in zip(*each, strict=True)]
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-6)
        return True


def tensors_in(results):
    """All tensors of a result, in a list."""
    if isinstance(results, tensorlab.Tensor):
        return [results.detach()] if not results.is_conj() else [results.detach().resolve_conj()]
    if not isinstance(results, (tuple, list)):
        return []
    return [one for part in results for one in tensors_in(part)]


def main(word):
    counts, failed = {"same": 0, "raise": 0}, []
    for sample in SAMPLES:
        for inputs in [sample.inputs, *sample.more] if word in sample.name else []:
            examples = Examples(sample, inputs)
            gradient = examples.gradient() if examples.patterns and sample.derivatives else None
            for call in (examples.call, gradient):
                for pattern in examples.patterns if call is not None else ():
                    try:
                        counts["same" if examples.compare(call, pattern) else "raise"] += 1
                    except Exception as error:
                        what = "value" if call is examples.call else "gradient"
                        failed.append(f"{sample.name} {pattern} {what}: {str(error)[:120]!r}")
    print("\n".join(failed))
    print(counts, "failed:", len(failed))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
