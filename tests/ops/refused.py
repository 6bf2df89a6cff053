"""What the ops refuse when they are called without their public functions, as a replayed record or a layer calls them.

The calls of all samples and of their gradients are recorded, and each is made again with one argument spoiled at a time
(spoiled.py says how), or with a tensor on meta among others in memory. refused.json says which of them raise, and what.

    python -m tests.ops.refused         # write the list
"""

import json
import pathlib
import warnings

from tensorlab._core.dispatch.layers import Layer

import tensorlab
from tests.ops.calling_again import memory_of
from tests.ops.every_sample import SAMPLES, as_tuple, dtype_name, tensors_of
from tests.ops.samples import is_floating
from tests.ops.spoiled import spoils_of

FILE = pathlib.Path(__file__).parent / "refused.json"
CALLS_PER_OP = 3


class Record(Layer):
    """Keeps a call of each op for each kind of arguments.

    Attributes
    ----------
    calls : {name of an op: {kind: (op, arguments)}}
    """

    def __init__(self):
        super().__init__("recorder")
        self.calls = {}

    def call(self, op, arguments):
        calls, kind = self.calls.setdefault(op.name, {}), kind_of(arguments)
        if kind not in calls:
            calls[kind] = op, [fresh(x) for x in arguments]
        return op(*arguments)


def kind_of(arguments):
    """The arguments as a text, with the shapes and dtypes of tensors, without their elements."""
    return ", ".join(
        f"{dtype_name(x)}{list(x.shape)}" if isinstance(x, tensorlab.Tensor) else text_of(x)
        for x in arguments
    )


def text_of(x):
    if isinstance(x, (list, tuple)):
        return f"[{kind_of(x)}]"
    return type(x).__name__ if " at 0x" in repr(x) else repr(x)


def fresh(value):
    """A copy of a tensor, that shares nothing."""
    if not isinstance(value, tensorlab.Tensor):
        return value
    repeats = (
        0 in value.stride() and value.numel() > 0
    )  # as of expand: copy_ refuses to write there
    return value.detach().clone() if repeats else memory_of(value)


def recorded_calls():
    """What a record of the samples and their gradients holds."""
    record = Record()
    with warnings.catch_warnings(), record:
        warnings.simplefilter("ignore")
        for sample in SAMPLES:
            arrays = sample.arrays()
            tensors = tensors_of(arrays)
            for x, array in zip(tensors, arrays, strict=True):
                x.requires_grad_(bool(sample.derivatives) and is_floating(array))
            for out in as_tuple(sample.call(tensorlab, *tensors)):
                if (
                    isinstance(out, tensorlab.Tensor)
                    and out.requires_grad
                    and out.is_floating_point()
                ):
                    out.backward(tensorlab.ones_like(out), retain_graph=True)
    return record.calls


def refusals(op, arguments):
    """{class of the error: list of what is spoiled}, for the spoiled calls that raise."""
    found = {}
    for parameter, value in zip(op.signature.parameters, arguments, strict=True):
        spoils = spoils_of(value)
        if isinstance(value, tensorlab.Tensor):
            spoils = spoils | {"on meta": lambda T, x: x.to("meta")}
        for name, spoil in spoils.items():
            error = error_of(op, arguments, parameter.name, spoil)
            if error is not None:
                found.setdefault(type(error).__name__, []).append(f"{parameter.name}: {name}")
    return found


def error_of(op, arguments, spoiled, spoil):
    """What a call raises, or None."""
    again = {
        parameter.name: fresh(x)
        for parameter, x in zip(op.signature.parameters, arguments, strict=True)
    }
    with warnings.catch_warnings(), tensorlab.no_grad():
        warnings.simplefilter("ignore")
        again[spoiled] = spoil(tensorlab, again[spoiled])
        try:
            op(*again.values())
        except Exception as error:
            return error


def write_list():
    known = {
        name: {
            kind: found
            for kind, call in list(calls.items())[:CALLS_PER_OP]
            if (found := refusals(*call))
        }
        for name, calls in recorded_calls().items()
    }
    lines = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(
            f" {json.dumps(kind)}: {json.dumps(found)}" for kind, found in sorted(kinds.items())
        )
        + "\n}"
        for name, kinds in sorted(known.items())
        if kinds
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write_list()
