"""Shape propagation: run a graph with sample inputs, and note type, shape and strides of every value.

The inputs may be on the device meta, which computes shapes without numbers, if the parameters are, too.
"""

from typing import Any, NamedTuple

from tensorlab._core.device import channels_last, channels_last_3d, contiguous_format
from tensorlab._tensor import Tensor
from tensorlab.fx.interpreter import Interpreter
from tensorlab.fx.node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is noted of a tensor."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple
    memory_format: Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result):
    """Return the TensorMetadata of a tensor."""
    formats = {2: (), 4: (channels_last,), 5: (channels_last_3d,)}.get(result.ndim, ())
    kinds = [
        kind for kind in (contiguous_format, *formats) if result.is_contiguous(memory_format=kind)
    ]
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        result.stride(),
        kinds[0] if kinds else None,
        False,
        {},
    )


class ShapeProp(Interpreter):
    """Runs a graph, and notes in the meta of every node what its value is: `tensor_meta` and `type`.

    Examples
    --------
    >>> import tensorlab
    >>> from tensorlab import fx
    >>> gm = fx.symbolic_trace(lambda x, y: tensorlab.relu(x @ y))
    >>> result = ShapeProp(gm).propagate(tensorlab.ones(2, 3), tensorlab.ones(3, 4))
    >>> gm.print_readable().count("f32[2, 4]")
    class <lambda>(tensorlab.nn.Module):
        def forward(self, x: "f32[2, 3]", y: "f32[3, 4]"):
            # No stacktrace found for following nodes
            matmul: "f32[2, 4]" = x @ y;  x = y = None
            relu: "f32[2, 4]" = tensorlab.relu(matmul);  matmul = None
            return relu
    <BLANKLINE>
    2
    """

    def run_node(self, n):
        """Run one node, and note what its value is."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found = False

        def describe(value):
            nonlocal found
            if not isinstance(value, Tensor):
                return value
            found = True
            return _extract_tensor_metadata(value)

        noted = map_aggregate(result, describe)
        if found:
            n.meta["tensor_meta"] = noted
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Run the graph with these inputs; return its result."""
        return self.run(*args)
