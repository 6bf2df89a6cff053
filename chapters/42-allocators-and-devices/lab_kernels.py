"""What runs on the device: each kernel puts a function of NumPy arrays over its blocks into the
current stream.
"""

from pathlib import Path

import numpy
from numpy.lib.stride_tricks import as_strided

from tensorlab import Tensor, ops
from tensorlab.utils.backend_registration import device_memory
from tensorlab.utils.cython_extension import load

aten, own = ops.aten, ops.tensorlab


def view(x):
    """(array over the bytes of a tensor, its block)"""
    block, offset = device_memory(x)
    dtype = numpy.dtype(str(x.dtype).rpartition(".")[2])
    strides = [step * dtype.itemsize for step in x.stride()]
    return as_strided(block.array[offset:].view(dtype), x.shape, strides), block


def has_array(value):
    """Is it a number, or a tensor of a dtype that NumPy has?"""
    return not isinstance(value, Tensor) or str(value.dtype) != "tensorlab.bfloat16"


def make_kernels(backend):
    """{op: kernel(out, *arguments)}"""
    product = load("lab_product", Path(__file__).with_name("lab_product.pyx"))

    def kernel(name, function):
        """A kernel that calls function(out, *arguments) later, with arrays instead of tensors."""

        def launch(out, *arguments):
            if not all(has_array(one) for one in (out, *arguments)):
                return NotImplemented  # then it runs on the cpu
            target, written = view(out)
            blocks, values = [], []
            for one in arguments:
                if isinstance(one, Tensor) and one.device.type == "lab":
                    array, block = view(one)
                    blocks.append(block)
                    values.append(array)
                else:  # a number, or a tensor of the cpu without dimensions
                    values.append(one.item() if isinstance(one, Tensor) else one)
            backend.launch(name, lambda: function(target, *values), written=[written], read=blocks)
            return None

        return launch

    def pointwise(function):
        return kernel(
            function.__name__,
            lambda out, *values: numpy.copyto(out, function(*values), casting="unsafe"),
        )

    def matmul(out, x, y):
        if out.dtype == numpy.float32:
            product.matmul(numpy.ascontiguousarray(x), numpy.ascontiguousarray(y), out)
        else:
            numpy.matmul(x, y, out=out)

    def linear(out, x, weight, bias):
        rows = x.reshape(-1, x.shape[-1])
        matmul(out.reshape(-1, out.shape[-1]), rows, weight.T)
        if bias is not None:
            out += bias

    def total(out, x, dim, keepdim, dtype):
        dims = tuple(dim) or None if isinstance(dim, (tuple, list)) else dim
        numpy.copyto(out, x.sum(axis=dims, keepdims=keepdim))

    return {
        aten.add.Tensor: pointwise(numpy.add),
        aten.sub.Tensor: pointwise(numpy.subtract),
        aten.mul.Tensor: pointwise(numpy.multiply),
        aten.div.Tensor: pointwise(numpy.divide),
        aten.neg.default: pointwise(numpy.negative),
        aten.exp.default: pointwise(numpy.exp),
        aten.tanh.default: pointwise(numpy.tanh),
        aten.relu.default: kernel("relu", lambda out, x: numpy.maximum(x, 0, out=out)),
        own.relu_backward.default: kernel(
            "relu_backward", lambda out, y, grad: numpy.multiply(grad, y > 0, out=out)
        ),
        aten.mm.default: kernel("mm", matmul),
        aten.linear.default: kernel("linear", linear),
        aten.sum.dim_IntList: kernel("sum", total),
        aten.clone.default: kernel("clone", lambda out, x, order: numpy.copyto(out, x)),
    }
