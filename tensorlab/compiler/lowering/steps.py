"""What a schedule is made of: kernels (C code), groups that run in blocks without it, calls."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Kernel:
    """A fused group of ops.

    The function `name` of `source` is called with the data pointers of `inputs` and then of
    `outputs`, with `numbers`, and with ranges that together are 0 to `count`. Ranges may run at
    once; one of less than `grain` is not worth a thread.
    """

    name: str
    inputs: list
    outputs: list
    numbers: list
    count: int
    grain: int
    source: str

    def __str__(self):
        outputs = ", ".join(node.name for node in self.outputs)
        return f"{outputs} = {self.name}({', '.join(node.name for node in self.inputs)})"


@dataclass
class Blocks:
    """A group of ops whose own loops run on blocks of elements, one op after the other.

    `constants`, `instructions`, `buffers` and `row_bytes` are what BlockStep takes (blocks.pyx).
    """

    names: str
    inputs: list
    outputs: list
    constants: list
    instructions: list
    buffers: int
    row_bytes: int

    def __str__(self):
        outputs = ", ".join(node.name for node in self.outputs)
        inputs = ", ".join(node.name for node in self.inputs)
        return f"{outputs} = blocks of {self.names} ({inputs})"


@dataclass
class Call:
    """An op that runs as it does without the compiler."""

    node: Any

    def __str__(self):
        return f"{self.node.name} = {self.node.target}"
