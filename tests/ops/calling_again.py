"""A layer that runs each call a second time, from what a record of it holds, and compares the results bit by bit."""

from tensorlab._core.dispatch.layers import Layer

import tensorlab
from tests.ops.every_sample import as_tuple

# Their results are memory as it was found.
UNINITIALISED = {
    *("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"),
}


class CallAgain(Layer):
    """While it is entered, each op is called with its arguments by position, and with copies of them by keyword.

    Attributes
    ----------
    equal, different : sets of names of ops, whose second result was the same to the bit, or was not
    """

    def __init__(self):
        super().__init__("recorder")
        self.equal, self.different = set(), set()

    def call(self, op, arguments):
        again = {
            parameter.name: memory_of(value) if parameter.type.is_written else value
            for parameter, value in zip(op.signature.parameters, arguments, strict=True)
        }
        generator = next(
            (one for one in arguments if isinstance(one, tensorlab.Generator)),
            tensorlab.default_generator,
        )
        before = generator.get_state()
        result = op(*arguments)
        after = generator.get_state()
        generator.set_state(before)
        with tensorlab.no_grad():
            second = op(**again)
        generator.set_state(after)
        is_same = op.name in UNINITIALISED or bits_of(result) == bits_of(second)
        (self.equal if is_same else self.different).add(op.name)
        return result


def is_callable(op):
    """Is this an op that layers see? Some have no kernel of their own yet, and are parts of a public function."""
    try:
        op(*range(op.arity + 1))
    except NotImplementedError:
        return False
    except TypeError:  # one argument too many
        return True


def memory_of(x):
    """A tensor of the same values in the same layout, that shares nothing; or a list of them."""
    if isinstance(x, (tuple, list)):
        return [memory_of(one) for one in x]
    offset = x.storage_offset()
    steps = zip(x.shape, x.stride(), strict=True)
    end = offset + sum(max(size - 1, 0) * step for size, step in steps) + 1
    memory = tensorlab.empty(end, dtype=x.dtype, device=x.device).untyped_storage()
    copy = tensorlab.empty(0, dtype=x.dtype, device=x.device)
    return copy.set_(memory, offset, x.shape, x.stride()).copy_(x.detach())


def bits_of(result):
    """All that two results have to agree in."""
    return [
        (x.dtype, x.shape, x.stride(), x.storage_offset(), bytes_of(x))
        if isinstance(x, tensorlab.Tensor)
        else repr(x)
        for x in as_tuple(result)
    ]


def bytes_of(x):
    if x.is_meta:
        return None
    x = x.detach().contiguous()
    return (x.view(tensorlab.int16) if x.dtype is tensorlab.bfloat16 else x).numpy().tobytes()
