"""What vmap refuses: values of single examples, sizes that depend on them, and other memory
under a tensor.

A batch has a value for each example, so that there is no single one that Python could go on
with.
"""

from tensorlab.func.batching.indexing import refuse_sizes_by_values
from tensorlab.func.batching.rules import batching


def refuse_value(call, advice):
    raise RuntimeError(
        f"vmap: It looks like you're calling {call} on a Tensor. We don't support vmap over calling "
        f"{call} on a Tensor, as it has a value for each example. {advice}"
    )


@batching("item")
def item(op, size, batched, x):
    refuse_value(".item()", "Go on with the tensor itself, or call .item() outside of vmap")


@batching("tolist")
def tolist(op, size, batched, x):
    refuse_value(".tolist()", "Go on with the tensor itself, or call .tolist() outside of vmap")


@batching("lend")
def lend(op, size, batched, x, to):
    refuse_value(
        ".numpy()" if to == "numpy" else f"a function that reads its memory ({to})",
        "Use the functions of tensorlab",
    )


@batching("truth")
def truth(op, size, batched, x):
    raise RuntimeError(
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow, "
        "such as `if x > 0`. We don't support that, as the answer may differ from example to "
        "example: choose element by element, where(x > 0, a, b), or call the function for each "
        "example in a loop"
    )


def refuse_sizes(op, size, batched, *arguments):
    refuse_sizes_by_values(NAMES.get(op.name, op.name))


# What programs call to get there.
NAMES = {"nonzero_numpy": "nonzero(as_tuple=True)", "runs": "unique or unique_consecutive"}

for _name in ("nonzero", "nonzero_numpy", "runs", "repeat_interleave"):
    batching.give(_name, refuse_sizes)


@batching("set_", "set_data", "resize_", "make_subclass")
def other_memory(op, size, batched, *arguments):
    raise RuntimeError(
        f"vmap: {op.name} would put other memory under a tensor that stands for all examples; make "
        f"a new tensor instead"
    )
