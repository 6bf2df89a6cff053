"""What the core refuses: each error names its caller, says what is wrong, and leaves things as they were."""

import numpy as np
import pytest
from tensorlab._core.dispatch.op import REGISTRY, Op

import tensorlab as T
from tensorlab.autograd import grad


def leaf(*shape):
    return T.ones(*shape, requires_grad=True)


def meta(*shape):
    return T.empty(*shape, device="meta")


def read_only(*shape):
    array = np.ones(shape, np.float32)
    array.flags.writeable = False
    return T.from_numpy(array)


REFUSED = {
    # ------------------------------------------------------------ operands
    "a negative position": (
        lambda: T.nn.functional.one_hot(T.tensor([1, -1]), 3),
        RuntimeError,
        "one_hot: position -1 is negative",
    ),
    "a quotient of integers that is added": (
        lambda: T.addcdiv(T.ones(1), T.tensor([4]), T.tensor([2])),
        RuntimeError,
        "addcdiv: tensor1 is tensorlab.int64 and tensor2 is tensorlab.int64; one of them must",
    ),
    "a quotient of a number that is added": (
        lambda: T.addcdiv(T.ones(1), 4, T.ones(1)),
        TypeError,
        "addcdiv: argument 'tensor1' must be a Tensor, not int",
    ),
    "a text as a value": (
        lambda: T.ones(2).__setitem__(0, "1"),
        TypeError,
        "setitem: the value must be a number or a Tensor, not str",
    ),
    "an image without channels": (
        lambda: T.nn.functional.conv2d(T.ones(4, 4), T.ones(1, 1, 2, 2)),
        RuntimeError,
        "conv2d: input must have 4 dimensions, or 3 for a single image, not 2",
    ),
    # ------------------------------------------------------------ declaring ops
    "an op twice": (
        lambda: Op("mul(Tensor x, Tensor y) -> Tensor"),
        ValueError,
        "Op: mul is declared",
    ),
    "an op without a kernel": (
        lambda: undeclared("without_kernel")(T.ones(1)),
        NotImplementedError,
        "without_kernel: the op has been declared, but it has neither infer",
    ),
    "a derivative that asks for something unknown": (
        lambda: undeclared("odd_formula").derivative("x")(lambda grad, what: grad),
        ValueError,
        "Op odd_formula: the derivative by x asks for 'what'",
    ),
    "a joint derivative that asks for something unknown": (
        lambda: undeclared("odd_joint", "Tensor x, Tensor y").derivative("x", "y")(
            lambda grad, what: (grad, grad)
        ),
        ValueError,
        "Op odd_joint: the derivative by x asks for 'what'",
    ),
    "a derivative that asks for a tensor too far back to be saved": (
        lambda: undeclared("long", ", ".join(f"Tensor x{i}" for i in range(10))).derivative("x0")(
            lambda grad, x9: grad * x9
        ),
        ValueError,
        "Op long: 'x9' must be one of the first 9 arguments",
    ),
    "an op's list of tensors with a number in it": (
        lambda: REGISTRY["cat"]([T.ones(2), 5], 0),
        TypeError,
        "cat: the argument 'tensors' must be a sequence of Tensors, not list",
    ),
    # ------------------------------------------------------------ operands and results
    "a type of a list": (lambda: T.result_type([1], 2), TypeError, "result_type: "),
    "operands of two devices": (lambda: T.add(T.ones(2), meta(2)), RuntimeError, "add: .*'meta'"),
    "out of another device": (lambda: T.exp(T.ones(2), out=meta(2)), RuntimeError, "exp: "),
    "out that is a list": (
        lambda: T.exp(T.ones(2), out=[1]),
        TypeError,
        "exp: out must be a Tensor",
    ),
    "out of a sum that is a list": (
        lambda: T.cumsum(T.ones(2), 0, out=[1]),
        TypeError,
        "cumsum: out must",
    ),
    "a view of its own memory": (
        lambda: overlapping(lambda x: T.exp(x[1:], out=x[:-1])),
        RuntimeError,
        "exp: the tensor to be written and an input share part of their memory",
    ),
    "None as operand": (lambda: T.add(T.ones(2), None), TypeError, "add: argument 'y'|unsupported"),
    "sizes of a text": (lambda: T.zeros("text"), TypeError, "zeros: sizes must be ints, not str"),
    "sizes of a None": (lambda: T.ones(2).reshape(None), TypeError, "reshape: sizes must be ints"),
    "a float among sizes": (lambda: T.zeros(2, 1.5), TypeError, "zeros: .*float 1.5 at position 1"),
    "a bool among sizes": (lambda: T.zeros(2, True), TypeError, "zeros: .*bool True at position 1"),
    "too many dimensions": (lambda: T.zeros([1] * 99), RuntimeError, "zeros: 99 dimensions given"),
    # ------------------------------------------------------------ passes
    "fewer gradients than outputs": (
        lambda: grad([leaf(2).sum()] * 2, [leaf(2)], [T.ones(())]),
        RuntimeError,
        "grad: 2 tensors but 1 gradients",
    ),
    "a gradient that is a number": (
        lambda: (leaf(2) * 2).backward(2.0),
        TypeError,
        "backward: the gradient must be a Tensor or a sequence of them, not float",
    ),
    "a gradient that is a list of numbers": (
        lambda: (leaf(2) * 2).backward([2.0]),
        TypeError,
        "backward: gradients must be Tensors or None, not float",
    ),
    "outputs that are a number": (lambda: grad(2.0, [leaf(2)]), TypeError, "grad: outputs must be"),
    "inputs that are a number": (
        lambda: grad(leaf(2), 3),
        TypeError,
        "grad: inputs must be a Tensor",
    ),
    "gradients that are a number": (
        lambda: grad(leaf(2) * 2, [leaf(2)], 3),
        TypeError,
        "grad: grad_outputs must be a Tensor",
    ),
    "backward of a number": (
        lambda: T.autograd.backward(3),
        TypeError,
        "backward: tensors must be a Tensor or a sequence of them, not int",
    ),
    "the mode in its own input": (
        lambda: overlapping(lambda x: T.mode(x, 0, True, out=(x[:1], T.empty(1, dtype=T.int64)))),
        RuntimeError,
        "mode: the tensor to be written and an input share memory",
    ),
    "materialized gradients that must be used": (
        lambda: grad(leaf(2).sum(), [leaf(2)], allow_unused=False, materialize_grads=True),
        ValueError,
        "grad: with materialize_grads",
    ),
    "batches of different length": (
        lambda: batched([T.ones(3), T.ones(2)]),
        ValueError,
        "grad: the batches of grad_outputs have 3 and 2 vectors",
    ),
    "an empty batch": (lambda: batched([T.ones(0)] * 2), ValueError, "at least one vector"),
    "a hook that cannot be called": (
        lambda: leaf(1).register_post_accumulate_grad_hook(3),
        TypeError,
        "register_post_accumulate_grad_hook: the hook must be callable, not int",
    ),
    "data that is a list": (
        lambda: setattr(T.ones(1), "data", [1]),
        TypeError,
        "data must be a Tensor",
    ),
    "data of another device": (
        lambda: setattr(T.ones(1), "data", meta(1)),
        RuntimeError,
        "data: the tensor is on 'cpu' and its new data on 'meta'",
    ),
    "hooks that cannot be called": (
        lambda: (leaf(1) ** 2).grad_fn._raw_saved_self.register_hooks(1, lambda x: x),
        TypeError,
        "register_hooks: pack and unpack must both be callable",
    ),
    "a saved tensor of a freed node": (
        lambda: freed_node()._saved_self,
        RuntimeError,
        "PowBackward0 has run before, and what it had saved was freed",
    ),
    "writing to an inference tensor": (
        lambda: inference().add_(1),
        RuntimeError,
        "inference tensor",
    ),
    "a class without Tensor": (
        lambda: T.Tensor._make_subclass(int, T.ones(1)),
        TypeError,
        "_make_subclass: ",
    ),
    "a subclass of a list": (
        lambda: T.ones(1).as_subclass(list),
        TypeError,
        "as_subclass: the class is <class 'list'>",
    ),
    "a subclass of 3": (lambda: T.ones(1).as_subclass(3), TypeError, "as_subclass: the class is 3"),
    # ------------------------------------------------------------ memory
    "a cache of less than nothing": (
        lambda: T.set_cache_limit(-1),
        ValueError,
        "set_cache_limit: ",
    ),
    "a byte behind the storage": (
        lambda: T.ones(2).untyped_storage()[8],
        IndexError,
        "storage: byte 8 of 8",
    ),
    "a byte before the storage": (
        lambda: T.ones(2).untyped_storage()[-9],
        IndexError,
        "storage: byte",
    ),
    "a copy between storages of two sizes": (
        lambda: T.ones(2).untyped_storage().copy_(T.ones(3).untyped_storage()),
        RuntimeError,
        "copy_: the storages have 8 and 12 bytes",
    ),
    "a storage of less than nothing": (
        lambda: T.ones(2).untyped_storage().resize_(-1),
        RuntimeError,
        "resize_: -1 bytes",
    ),
    "a size of floats": (
        lambda: T.Size([1, 2.5]),
        TypeError,
        "Size: takes ints, and item 1 is a float",
    ),
    "the length of a number": (lambda: len(T.tensor(1.0)), TypeError, "len: a 0-d tensor"),
    "a buffer on meta": (lambda: memoryview(meta(2)), BufferError, "buffer: .*'meta'"),
    "a buffer of bfloat16": (
        lambda: memoryview(T.ones(2).bfloat16()),
        BufferError,
        "buffer: bfloat16",
    ),
    "a buffer with gaps": (
        lambda: np.frombuffer(T.ones(4)[::2], np.float32),
        (BufferError, ValueError),
        "contiguous",
    ),
    "more elements than memory has": (lambda: T.empty(2**61), RuntimeError, "memory"),
    "more bytes than memory has": (lambda: T.empty(2**33, 2**28), RuntimeError, "memory"),
    "strides beyond memory": (lambda: T.empty_strided((2, 2), (2**62, 1)), RuntimeError, "memory"),
    "a read-only result": (lambda: read_only(2).add_(1), (ValueError, RuntimeError), "read-only"),
    # ------------------------------------------------------------ NumPy, devices
    "an array of a meta tensor": (lambda: meta(2).numpy(), TypeError, "numpy: .*'meta'"),
    "an array of many dimensions": (
        lambda: T.from_numpy(np.ones([1] * 20)),
        RuntimeError,
        "from_numpy: 20 dimensions",
    ),
    "an array of another byte order": (
        lambda: T.from_numpy(np.ones(2, ">f4" if np.little_endian else "<f4")),
        ValueError,
        "from_numpy: the array's byte order",
    ),
    "a device by number": (lambda: T.device(0), RuntimeError, "device: a number alone, 0"),
    "a device by None": (lambda: T.device(None), TypeError, "device: a name such as 'cpu'"),
    "a device without name": (lambda: T.device(""), RuntimeError, "device: ''"),
    "a device of no known name": (lambda: T.device("abacus"), RuntimeError, "device: 'abacus'"),
    "a device that changes": (
        lambda: setattr(T.device("cpu"), "type", "meta"),
        AttributeError,
        "device: type",
    ),
    "dlpack of meta": (lambda: meta(2).__dlpack__(), BufferError, "__dlpack__: .*'meta'"),
    "the dlpack device of meta": (
        lambda: meta(2).__dlpack_device__(),
        ValueError,
        "__dlpack_device__: ",
    ),
    # ------------------------------------------------------------ the other modules
    "a scheduler that is not there": (
        lambda: T.optim.lr_scheduler.NoSuchLR,
        AttributeError,
        "NoSuchLR",
    ),
    "a padding on no side": (
        lambda: T.nn.utils.rnn.pad_sequence([T.ones(1)], padding_side="top"),
        RuntimeError,
        "pad_sequence: padding_side is 'top'; expected right",
    ),
    "nothing of nn.utils.rnn": (lambda: T.nn.utils.rnn.no_such, AttributeError, "no_such"),
    "nothing of nn.parallel": (lambda: T.nn.parallel.no_such, AttributeError, "no_such"),
}


def undeclared(name, parameters="Tensor x"):
    """An op that the registry forgets again."""
    op = Op(f"{name}({parameters}) -> Tensor")
    del REGISTRY[name]
    return op


def overlapping(call):
    return call(T.ones(4))


def batched(vectors):
    x = leaf(2)
    y = x * 2
    return grad([y.sum(), (y * y).sum()], [x], vectors, is_grads_batched=True)


def freed_node():
    y = leaf(2) ** 2
    node = y.grad_fn
    y.sum().backward()
    return node


def inference():
    with T.inference_mode():
        return T.ones(2)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_a_reason(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()
