"""The samples of all ops as programs for the compiler: called, in place, and with out=."""

import tensorlab
from tests.ops.every_sample import SAMPLES
from tests.ops.samples import is_floating, make_tensor

# Programs that can't be compiled, and why. They read values: a size, or which elements are zero.
READS_VALUES = {
    **dict.fromkeys(
        ("prod", "prod dim", "prod keepdim", "prod dtype", "prod with a zero", "prod with zeros"),
        "a derivative depends on values",
    ),
    **dict.fromkeys(
        ("masked_select", "index_put replace", "repeat_interleave counts"),
        "its result depends on values",
    ),
}  # fmt: skip


def inputs_of(sample, requires_grad):
    return [
        make_tensor(tensorlab, one, requires_grad=requires_grad and is_floating(one))
        for one in sample.arrays()
    ]


def called(sample):
    return lambda *tensors: sample.call(tensorlab, *tensors)


def in_place(sample):
    def program(*tensors):
        x = tensors[0].clone()
        return x, sample.inplace(tensorlab, x, *tensors[1:])

    return program


def with_out(sample):
    def program(*tensors):
        out = sample.call(tensorlab, *tensors)
        if not isinstance(out, tensorlab.Tensor):
            return out
        return sample.out(tensorlab, *tensors, out=tensorlab.zeros_like(out))

    return program


def forms_of(sample):
    """The functions above that make a program of the sample."""
    return [called] + [in_place] * bool(sample.inplace) + [with_out] * bool(sample.out)


def wants_grad(sample, form):
    """Whether the inputs of the program require grad."""
    return form is not with_out and sample.derivatives > 0


PROGRAMS = [(sample, form) for sample in SAMPLES for form in forms_of(sample)]
