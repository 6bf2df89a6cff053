"""Which section of the book explains an error: a note below the message, as Python prints it.

    ShapeError: matmul: x is (4, 3) and y is (5, 3); the inner sizes 3 and 5 must match. Did you mean x @ y.T?
    What to do: tensorlab explain matmul

Our own exceptions look here when they are printed, and not before, so raising one costs what it did (`TensorlabError`).
Python's own classes have to be told: `raise pointed(ValueError(...))`.  The sections are those of
chapters/26-pitfalls/messages.md, whose programs are also the tests of this table.
"""

import re

# section: what only its messages say.  The first that fits counts.
SECTIONS = {
    "collate": r"\bin collate\b|^default_collate: ",
    "matmul": r"the inner sizes \d+ and \d+ must match|^(b?mm|matmul|dot|mv): .*(matri|vector|shape)",
    "linear": r"^linear: .* must match",
    "channels": r"channels, but weight|^batch_norm: running_mean has shape",
    "image-dimensions": r"input must have \d dimensions, or \d for a single|; expected \(batch, channels",
    "kernel-size": r"kernel (that )?reaches over",
    "last-sizes": r"must be the input's last sizes|expected input_size",
    "target-range": r"target -?\d+ is out of range for \d+ classes",
    "target-type": r"class indices must be int64",
    "target-floating": r"the target is of type .* must be floating",
    "target-shape": r"\b(batch sizes .* must be equal|without dimension 1, the classes|the target has shape)",
    "probabilities": r"must hold probabilities",
    "cat": r"only dimension \d+ may differ",
    "stack": r"^stack: .* all must be equal",
    "broadcast": r"cannot be broadcast",
    "expand": r"only dimensions of size 1 can be repeated",
    "view": r"cannot be seen as .* without copying",
    "reshape": r"elements, which do not fill",
    "dimension": r"dimension -?\d+ is out of range: a tensor with",
    "too-many-indices": r"dimensions are indexed, but the tensor",
    "index-type": r"is no index|index must be of type",
    "mask": r"the mask of shape",
    "index": r"-?\d+ is out of range for (a )?dimension",
    "item": r"only one can become a Python number",
    "truth": r"its truth is ambiguous",
    "no-dimensions": r"a 0-d tensor (cannot be iterated|has no length)",
    "ragged": r"is expected at depth \d+, as in the first row",
    "dtypes": r"the operands have types|has type .*, weight .*; all must be equal",
    "mean": r"needs a floating dtype",
    "integers-and-gradients": r"only floating-point tensors can require gradients",
    "result-type": r"cannot be written into a tensor of type",
    "result-shape": r"but the tensor to be written has shape",
    "numpy": r"cannot be handed to NumPy",
    "device": r"tensorlab computes on the processor",
    "meta": r"on the device 'meta' there are shapes",
    "no-graph": r"does not require grad and was not computed",
    "backward-of-many": r"a gradient can be made up only for one element",
    "backward-twice": r"what it had saved was freed",
    "saved": r"is at version \d+ but was saved at",
    "leaf": r"a (view of a )?leaf that requires grad is being used in an in-place",
    "requires-grad": r"can be switched off for leaves only",
    "unused": r"was not used to compute the outputs",
    "deepcopy": r"only leaves can be copied so",
    "state-dict": r"Error\(s\) in loading state_dict",
    "no-parameters": r"optimizer got an empty parameter list",
    "parameters": r"params is a \w+; expected an iterable",
    "non-leaf": r"can't optimize a non-leaf",
    "super-init": r"before Module.__init__\(\) was called",
    "no-forward": r"has no forward; define",
    "parameter": r"cannot assign a \w+ as parameter",
    "one-sample": r"which has no variance",
    "shuffle": r"sampler option is mutually exclusive",
    "tensor-dataset": r"^TensorDataset: ",
    "heads": r"^MultiheadAttention: embed_dim",
}


def section_for(message):
    """Return the name of the section that explains a message, or None."""
    return next((name for name, text in SECTIONS.items() if re.search(text, message)), None)


def note_for(message):
    """Return the line to print below a message, or None."""
    name = section_for(message)
    return name and f"What to do: tensorlab explain {name}"


def pointed(error):
    """Give an exception of Python's own classes its note, and return it."""
    if note := note_for(str(error)):
        error.add_note(note)
    return error
