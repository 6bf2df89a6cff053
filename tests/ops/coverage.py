"""Which samples run which op: in forward, in backward, in the backward of that, on meta, and again from a record.

A layer watches every sample. It sees each op by name, however deep in a formula it is called, and a hook on the node
of each result sees which formulas run. The page "Tests of the ops" shows the table, test_coverage.py holds the
registry to it.
"""

import contextlib
import functools
from collections import defaultdict
from functools import partial

from tensorlab._core.dispatch.layers import Layer
from tensorlab._core.engine.backward import grad

import tensorlab
from tests.ops.calling_again import CallAgain
from tests.ops.every_sample import (
    SAMPLES,
    as_tuple,
    call_quietly,
    first_gradients,
    other_inputs,
    second_gradients,
    tensors_of,
)
from tests.ops.other_samples import OTHER_SAMPLES

PASSES = ("forward", "first", "second", "meta")


class Coverage(Layer):
    """While it is entered, it notes each call of an op under the pass and the sample that make it.

    Attributes
    ----------
    ran : {pass: {name of an op: set of names of samples}}
    formulas : {(name of an op, parameter): set of names of samples whose derivatives come by this formula}
    """

    def __init__(self):
        super().__init__("recorder")
        self.ran = {one: defaultdict(set) for one in PASSES}
        self.formulas = defaultdict(set)
        self.sample = self.running = None

    def call(self, op, arguments):
        result = op(*arguments)
        if self.running:
            self.ran[self.running][op.name].add(self.sample)
        node = getattr(as_tuple(result)[0], "grad_fn", None)
        if node is not None and node.name() == op.node_name:
            node.register_hook(partial(self.note_formulas, op.functional or op))
        return result

    def note_formulas(self, op, grad_inputs, grad_outputs):
        """A node of this op has run. It has an edge for each derivative, or for each tensor of the list it is by."""
        edges = list(op.derivatives)
        edges *= len(grad_inputs) if len(edges) == 1 else 1
        for param, gradient in zip(edges, grad_inputs, strict=False):
            if gradient is not None:
                self.formulas[op.name, param].add(self.sample)

    def during(self, which, function):
        """The function, whose calls are noted under this pass; those outside of all passes only make inputs."""

        def run(*arguments, **options):
            self.running = which
            try:
                return function(*arguments, **options)
            finally:
                self.running = None

        return run

    # ------------------------------------------------------------ what is run of a sample
    def run(self, sample):
        self.sample = sample.name
        with self:
            for arrays in [sample.arrays(), *other_inputs(sample)]:
                self.differentiate(sample, arrays, sample.call)
                self.run_on_meta(sample, arrays, sample.call)
            if sample.inplace:
                copied = lambda T, x, *rest: sample.inplace(T, x * 1, *rest)
                self.differentiate(sample, sample.arrays(), copied)
                self.run_on_meta(sample, sample.arrays(), copied)
            if sample.out:
                self.run_out(sample)

    def differentiate(self, sample, arrays, call):
        """Call it, and differentiate it as often as the tests compare the result."""
        call = self.during("forward", partial(call_quietly, call))
        if not sample.derivatives:
            call(tensorlab, *tensors_of(arrays))
            return
        first = self.during("first", grad)
        inputs, grads = first_gradients(tensorlab, first, sample, arrays, call)
        if sample.derivatives > 1:
            second_gradients(tensorlab, self.during("second", grad), inputs, grads)

    def run_out(self, sample):
        tensors = tensors_of(sample.arrays())
        out = sample.call(tensorlab, *tensors).clone()
        self.during("forward", sample.out)(tensorlab, *tensors, out=out)

    def run_on_meta(self, sample, arrays, call):
        """Call it and differentiate it without data, until it says that it needs values."""
        call = partial(call_quietly, call)
        with contextlib.suppress(NotImplementedError), tensorlab.device("meta"):
            if sample.derivatives:
                first_gradients(
                    tensorlab, self.during("meta", grad), sample, arrays, self.during("meta", call)
                )
            else:
                self.during("meta", call)(tensorlab, *tensors_of(arrays))


@functools.cache
def coverage():
    """What all samples run, and how each call agreed with the same call again."""
    found, again = Coverage(), CallAgain()
    with again:
        for sample in SAMPLES + OTHER_SAMPLES:
            found.run(sample)
    return found, again
