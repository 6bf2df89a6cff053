"""Record a program as a list of op calls, and run the list again on other inputs: nothing may slip past."""

import numpy as np
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab._core.dispatch.recorder import Recorder


class Unknown(AssertionError):
    """A recorded call takes a tensor that no recorded call has made."""


# ------------------------------------------------------------------------------------------------ the interpreter
def replay(calls, given):
    """Run recorded calls again. `given` pairs each tensor the program began with and its replacement."""
    values = {id(old): new for old, new in given}

    def now(value):
        if isinstance(value, (tuple, list)):
            return type(value)(now(one) for one in value)
        return lookup(values, value) if isinstance(value, tensorlab.Tensor) else value

    for call in calls:
        assert REGISTRY[call.op.name] is call.op
        try:
            arguments = now(call.arguments)
        except Unknown as error:
            raise Unknown(f"{call}: {error}") from None
        result = call.op(*arguments)
        values.update((id(old), new) for old, new in pairs(call.result, result))
    return lambda old: None if old is None else lookup(values, old)


def lookup(values, tensor):
    if id(tensor) not in values:
        raise Unknown(
            f"no recorded call made the tensor of shape {tuple(tensor.shape)} and type {tensor.dtype}"
        )
    return values[id(tensor)]


def pairs(old, new):
    """The tensors of two results that have the same form, side by side."""
    if isinstance(old, tensorlab.Tensor):
        yield old, new
    elif isinstance(old, (tuple, list)):
        for one, other in zip(old, new, strict=True):
            yield from pairs(one, other)


# ------------------------------------------------------------------------------------------------ what is recorded
class Constants:
    """tensorlab for a program under test. It keeps the tensors that share an array's memory: they come from outside."""

    makers = ("as_tensor", "asarray", "from_numpy")

    def __init__(self):
        self.made = []

    def __getattr__(self, name):
        value = getattr(tensorlab, name)
        if name not in self.makers:
            return value

        def make(*args, **options):
            self.made.append(value(*args, **options))
            return self.made[-1]

        return make


def record(program, inputs):
    """The calls that `program(T, *inputs)` makes, what it returns, and the constants that it makes itself."""
    constants, recorder = Constants(), Recorder()
    with recorder:
        results = program(constants, *inputs)
    return recorder.calls, results, constants.made


def same_bits(x, y):
    """Whether two results are laid out alike and equal to the last bit, where nan is nan."""
    if not isinstance(x, tensorlab.Tensor) or not isinstance(y, tensorlab.Tensor):
        return x is y or x == y
    x, y = x.detach(), y.detach()
    if (x.shape, x.stride(), x.dtype) != (y.shape, y.stride(), y.dtype):
        return False
    if x.dtype == tensorlab.bfloat16:
        x, y = x.float(), y.float()
    return np.array_equal(x.numpy(), y.numpy(), equal_nan=x.is_floating_point())


def assert_replays(program, make_inputs, make_others, seed=0):
    """What the program gives for other inputs is what its recorded calls give for them.

    Recorded on `make_inputs()`; compared, bit for bit, on `make_others()`. Both make fresh tensors, as the program
    may write to them.
    """
    inputs, others, again = make_inputs(), make_others(), make_others()
    tensorlab.manual_seed(seed)
    calls, results, constants = record(program, inputs)
    tensorlab.manual_seed(seed)
    expected = program(tensorlab, *again)
    tensorlab.manual_seed(seed)
    with tensorlab.no_grad():
        for x in others:
            x.requires_grad_(False)
        found = replay(
            calls, [*zip(inputs, others, strict=True), *((one, one) for one in constants)]
        )
        for old, wanted in pairs(results, expected):
            assert same_bits(found(old), wanted), (
                "the recorded calls give another result than the program"
            )
    return calls, inputs, results if isinstance(results, (tuple, list)) else (results,)
