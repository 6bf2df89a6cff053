"""Factories: values, dtypes, layouts, arguments and errors are PyTorch's."""

import itertools
import math

import pytest

import tensorlab
from tests.ops.agreement import agree
from tests.oracle import require_torch

INTO_OUT = {
    "zeros": lambda T, out, **options: T.zeros(3, out=out, **options),
    "ones": lambda T, out, **options: T.ones(3, out=out, **options),
    "full": lambda T, out, **options: T.full((3,), 2.0, out=out, **options),
    "empty": lambda T, out, **options: T.empty(3, out=out, **options),
    "arange": lambda T, out, **options: T.arange(3, out=out, **options),
    "linspace": lambda T, out, **options: T.linspace(0, 1, 3, out=out, **options),
    "logspace": lambda T, out, **options: T.logspace(0, 1, 3, out=out, **options),
    "eye": lambda T, out, **options: T.eye(3, 1, out=out, **options),
    "rand": lambda T, out, **options: T.rand(3, out=out, **options),
    "randn": lambda T, out, **options: T.randn(3, out=out, **options),
    "randint": lambda T, out, **options: T.randint(2, (3,), out=out, **options),
    "randperm": lambda T, out, **options: T.randperm(3, out=out, **options),
    "normal": lambda T, out, **options: T.normal(0.0, 1.0, (3,), out=out, **options),
}


def called_on_meta(T, call, *arguments):
    with T.device("meta"):
        return call(T, *arguments)


FACTORIES = {
    "sizes": lambda T: T.zeros(2, 3),
    "tuple": lambda T: T.ones((2, 3)),
    "list": lambda T: T.zeros([2, 3]),
    "named": lambda T: T.zeros(size=(2,)),
    "0-d": lambda T: T.zeros(()),
    "empty list": lambda T: T.ones([]),
    "no elements": lambda T: T.zeros(0, 3),
    "no size": lambda T: T.zeros(),
    "negative": lambda T: T.zeros(2, -3),
    "float size": lambda T: T.zeros(2.5),
    "text size": lambda T: T.zeros("a"),
    "bool size": lambda T: T.zeros(True),
    "dtype": lambda T: T.ones(2, dtype=T.int64),
    "python dtype": lambda T: T.ones(2, dtype=float),
    "requires grad": lambda T: T.zeros(2, requires_grad=True),
    "integers require no grad": lambda T: T.zeros(2, requires_grad=True, dtype=T.int64),
    "out": lambda T: T.ones(3, out=T.zeros(3)),
    "out resized": lambda T: T.zeros(3, out=T.ones(0)),
    "out of another dtype": lambda T: T.zeros(3, out=T.ones(3), dtype=T.int64),
    "out requires grad": lambda T: T.ones(3, out=T.zeros(3), requires_grad=True).requires_grad,
    "out of integers requires no grad": lambda T: T.ones(
        3, out=T.zeros(3, dtype=T.int64), requires_grad=True
    ),
    "out on the device asked for": lambda T: T.zeros(3, out=T.ones(3), device="cpu"),
    **{
        f"{name} into out on another device": lambda T, call=call: call(T, T.ones(3), device="meta")
        for name, call in INTO_OUT.items()
    },
    **{
        f"{name} into out on another device than the default": lambda T, call=call: called_on_meta(
            T, call, T.ones(3)
        )
        for name, call in INTO_OUT.items()
        if name != "normal"  # PyTorch's alone does not look at the default device
    },
    "empty out": lambda T: T.empty(3, out=T.ones(3)),
    "out and memory_format": lambda T: T.empty(
        1, 2, 3, 4, out=T.empty(0), memory_format=T.channels_last
    ),
    "device": lambda T: T.zeros(2, device="cpu"),
    "device object": lambda T: T.zeros(2, device=T.device("cpu")),
    "no such device": lambda T: T.zeros(2, device="nowhere"),
    "full int": lambda T: T.full((2,), 3),
    "full bool": lambda T: T.full((2,), True),
    "full float": lambda T: T.full((2,), 2.5),
    "full tensor": lambda T: T.full((2,), T.tensor(2.0)),
    "full tensor with dims": lambda T: T.full((2,), T.tensor([2.0])),
    "full int size": lambda T: T.full(2, 2.0),
    "full cut off": lambda T: T.full((2,), 2.5, dtype=T.int64),
    "full too large": lambda T: T.full((2,), 300, dtype=T.uint8),
    "full too large a float": lambda T: T.full((2,), 1e300, dtype=T.float32),
    "full nan as integer": lambda T: T.full((2,), float("nan"), dtype=T.int64),
    "full infinite": lambda T: T.full((2,), float("inf")),
    "scalar_tensor": lambda T: T.scalar_tensor(3),
    "empty shape": lambda T: T.empty(2, 3).shape,
    "channels_last": lambda T: T.empty(2, 3, 4, 5, memory_format=T.channels_last).stride(),
    "channels_last of 2-d": lambda T: T.empty(2, 3, memory_format=T.channels_last),
    "empty_strided": lambda T: T.empty_strided((2, 3), (1, 2)).stride(),
    "empty_strided uneven": lambda T: T.empty_strided((2, 3), (1,)),
    "empty_strided negative": lambda T: T.empty_strided((2, 3), (1, -1)),
    "zeros_like transposed": lambda T: T.zeros_like(T.ones(2, 3).t()),
    "zeros_like sliced": lambda T: T.zeros_like(T.ones(4, 6)[:, ::2].t()),
    "zeros_like expanded": lambda T: T.zeros_like(T.ones(1, 3).expand(2, 3)),
    "ones_like dtype": lambda T: T.ones_like(T.ones(2), dtype=T.int64),
    "ones_like row-major": lambda T: T.ones_like(
        T.ones(2, 3).t(), memory_format=T.contiguous_format
    ),
    "full_like": lambda T: T.full_like(T.ones(2, dtype=T.int64), 2.7),
    "new_zeros": lambda T: T.ones(2, dtype=T.int64).new_zeros(2, 3),
    "new_ones": lambda T: T.ones(2).new_ones([2, 3], dtype=T.int64),
    "new_full": lambda T: T.ones(2).new_full((2,), True),
    "new_full int": lambda T: T.ones(2, dtype=T.int64).new_full((2,), 2.5),
    "new_empty": lambda T: T.ones(2, dtype=T.int64).new_empty(2, 3).dtype,
    "new_tensor": lambda T: T.ones(2).new_tensor([1, 2]),
    "new_empty_strided": lambda T: T.ones(2).new_empty_strided((2, 3), (1, 2)).stride(),
    "Tensor of sizes": lambda T: T.Tensor(2, 3).shape,
    "Tensor of a list": lambda T: T.Tensor([1, 2]),
    "Tensor of data by name": lambda T: T.Tensor(data=[1, 2]),
    "Tensor of nothing": lambda T: T.Tensor().shape,
    "FloatTensor of data by name": lambda T: T.FloatTensor(data=[[1, 2], [3, 4]]),
    "LongTensor": lambda T: T.LongTensor([1, 2]),
    "FloatTensor of sizes": lambda T: T.FloatTensor(2, 3).shape,
    "is a DoubleTensor": lambda T: [
        isinstance(T.zeros(2), c) for c in (T.FloatTensor, T.DoubleTensor)
    ],
    "Tensor of a shape": lambda T: T.Tensor(T.zeros(2, 3).shape).shape,
}


def into_a_view(T, function, arguments):
    """What a range leaves around a view of as many elements that it is written into; the view, sorted."""
    base = T.zeros(4, 4)
    for view in (base[1:3, 1:3], base.t()[2:3], base[:, 0:1]):
        function(*arguments, out=view)
    return base.sort()[0]


RANGES = {
    "end": lambda T: T.arange(5),
    "float end": lambda T: T.arange(5.0),
    "start": lambda T: T.arange(1, 5, 2),
    "down": lambda T: T.arange(5, 1, -2),
    "quarters": lambda T: T.arange(0, 1, 0.25),
    "wrong way": lambda T: T.arange(5, 1),
    "zero step": lambda T: T.arange(0, 5, 0),
    "wrong step": lambda T: T.arange(0, 5, -1),
    "half": lambda T: T.arange(5, dtype=T.float16),
    "bool": lambda T: T.arange(2, dtype=T.bool),
    "tensor": lambda T: T.arange(T.tensor(5)),
    "tensors": lambda T: T.arange(T.tensor(0.5), T.tensor(2), T.tensor(0.25)),
    "endless": lambda T: T.arange(0.0, 1e300),
    "named": lambda T: T.arange(start=1, end=3),
    "end named": lambda T: T.arange(1, end=3),
    "infinite": lambda T: T.arange(float("inf")),
    "nan": lambda T: T.arange(float("nan")),
    "cut end": lambda T: T.arange(0, 2.5, dtype=T.int64),
    "cut start": lambda T: T.arange(0.5, 3, 1, dtype=T.int64),
    "cut step": lambda T: T.arange(0.5, 3.7, 0.6, dtype=T.int64),
    "cut step of int32": lambda T: T.arange(1, 3, 0.5, dtype=T.int32),
    "large": lambda T: T.arange(2**62, 2**62 + 3),
    "requires grad": lambda T: T.arange(3.0, requires_grad=True),
    "integers require no grad": lambda T: T.arange(3, requires_grad=True),
    "out": lambda T: T.arange(3, out=T.zeros(3)),
    **{
        f"{name} into a view": lambda T, name=name, arguments=arguments: into_a_view(
            T, getattr(T, name), arguments
        )
        for name, arguments in (
            ("arange", (4.0,)),
            ("linspace", (0, 3, 4)),
            ("logspace", (0, 1, 4)),
            ("eye", (2,)),
            ("randperm", (4,)),
        )
    },
    "randperm uint8": lambda T: T.randperm(256, dtype=T.uint8).sum(),
    "randperm uint8 too many": lambda T: T.randperm(257, dtype=T.uint8),
    "randperm int8": lambda T: T.randperm(128, dtype=T.int8).sum(),
    "uint8": lambda T: T.arange(0, 300, 100, dtype=T.uint8),
    "nothing": lambda T: T.arange(),
    "text": lambda T: T.arange("a"),
    "too many": lambda T: T.arange(1, 2, 3, 4),
    "linspace": lambda T: T.linspace(0, 1, 7),
    "linspace one": lambda T: T.linspace(0, 1, 1),
    "linspace none": lambda T: T.linspace(0, 1, 0),
    "linspace negative": lambda T: T.linspace(0, 1, -1),
    "linspace integers": lambda T: T.linspace(-3, 9, 6, dtype=T.int32),
    "linspace tensors": lambda T: T.linspace(T.tensor(0.0), T.tensor(1.0), 3),
    "linspace bool": lambda T: T.linspace(0, 1, 3, dtype=T.bool),
    "linspace float steps": lambda T: T.linspace(0, 1, 3.0),
    "logspace": lambda T: T.logspace(0, 2, 5),
    "logspace base": lambda T: T.logspace(0, 2, 3, base=2),
    "logspace integers": lambda T: T.logspace(0, 2, 3, dtype=T.int64),
    "eye": lambda T: T.eye(2, 3),
    "eye bool": lambda T: T.eye(2, dtype=T.bool),
    "eye none": lambda T: T.eye(2, 0),
    "eye negative": lambda T: T.eye(-1),
    "eye float": lambda T: T.eye(2.0),
    "eye requires grad": lambda T: T.eye(2, requires_grad=True),
    "tril_indices": lambda T: T.tril_indices(3, 2, 1, dtype=T.int32),
    "tril_indices none": lambda T: T.tril_indices(3, 2, -5),
    "tril_indices negative": lambda T: T.tril_indices(-1, 2),
    "tril_indices float": lambda T: T.tril_indices(2, 2, dtype=T.float32),
    "triu_indices": lambda T: T.triu_indices(3, 2, -1),
    "broadcast_shapes": lambda T: T.broadcast_shapes((2, 1), 3, (4, 1, 1)),
    "broadcast_shapes apart": lambda T: T.broadcast_shapes((2,), (3,)),
    "broadcast_shapes negative": lambda T: T.broadcast_shapes((-2,)),
    "meshgrid of matrices": lambda T: T.meshgrid(T.zeros(2, 2), indexing="ij"),
    "meshgrid of types": lambda T: T.meshgrid(T.zeros(2), T.arange(2), indexing="ij"),
    "meshgrid other": lambda T: T.meshgrid(T.arange(2), indexing="ab"),
    "combinations again": lambda T: T.combinations(T.arange(3), 2, True),
    "combinations none": lambda T: T.combinations(T.arange(3), 4),
    "combinations none, followed": lambda T: T.combinations(T.ones(3, requires_grad=True), 4),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_a_factory_makes_what_pytorch_makes(name):
    agree(FACTORIES[name])


@pytest.mark.parametrize("name", RANGES)
def test_a_range_holds_what_pytorch_puts_there(name):
    agree(RANGES[name], tolerance=2e-7)


@pytest.mark.parametrize(
    ("dtype", "call"),
    [
        ("float32", lambda out: tensorlab.zeros(2, -1, out=out)),
        ("float32", lambda out: tensorlab.full((3,), 1e300, out=out)),
        ("float32", lambda out: tensorlab.zeros(3, out=out, device="meta")),
        ("int64", lambda out: tensorlab.ones(3, out=out, requires_grad=True)),
        ("int64", lambda out: tensorlab.rand(3, out=out)),
        ("int64", lambda out: tensorlab.randn(3, out=out)),
        ("int64", lambda out: tensorlab.normal(0.0, 1.0, (3,), out=out)),
        ("uint8", lambda out: tensorlab.randint(0, 300, (3,), out=out)),
        ("uint8", lambda out: tensorlab.randperm(300, out=out)),
        ("float32", lambda out: tensorlab.arange(0, 3, 0, out=out)),
        ("float32", lambda out: tensorlab.linspace(0, 1, 3, dtype=tensorlab.float64, out=out)),
    ],
)
def test_a_factory_that_fails_leaves_out_and_the_generator_as_they_were(dtype, call):
    out = tensorlab.ones(2, dtype=getattr(tensorlab, dtype))
    before = tensorlab.get_rng_state()
    with pytest.raises(RuntimeError):
        call(out)
    assert (out.shape, out.tolist(), out._version) == ((2,), [1, 1], 0)
    assert tensorlab.equal(tensorlab.get_rng_state(), before)


@pytest.mark.parametrize("name", ["empty", "zeros", "ones", "full", "empty_strided"])
def test_an_error_of_a_new_form_has_its_name(name):
    method = getattr(tensorlab.zeros(2), f"new_{name}")
    rest = {"full": (1,), "empty_strided": ((1,),)}.get(name, ())
    with pytest.raises(RuntimeError, match=rf"^new_{name}: size -1 in \(-1,\) is negative"):
        method((-1,), *rest)
    with pytest.raises(RuntimeError, match=rf"^new_{name}: layout='sparse' is not supported"):
        method((1,), *rest, layout="sparse")
    if name == "full":
        with pytest.raises(RuntimeError, match="^new_full: the number 1e[+]300 does not fit"):
            method((1,), 1e300)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *((name, ((2,),)) for name in ("empty", "zeros", "ones", "rand", "randn")),
        *((f"{name}_like", (tensorlab.ones(2),)) for name in ("empty", "zeros", "ones", "rand")),
        ("full", ((2,), 1)),
        ("full_like", (tensorlab.ones(2), 1)),
        ("scalar_tensor", (1,)),
        ("empty_strided", ((2,), (1,))),
        ("arange", (2,)),
        ("linspace", (0, 1, 2)),
        ("logspace", (0, 1, 2)),
        ("eye", (2,)),
        ("randn_like", (tensorlab.ones(2),)),
        ("randint", (2, (2,))),
        ("randint_like", (tensorlab.ones(2), 2)),
        ("randperm", (2,)),
        ("normal", (0.0, 1.0, (2,))),
        ("tril_indices", (2, 2)),
        ("triu_indices", (2, 2)),
    ],
)
def test_a_layout_other_than_strided_is_refused(name, arguments):
    function = getattr(tensorlab, name)
    assert function(*arguments, layout=tensorlab.strided).layout is tensorlab.strided
    with pytest.raises(RuntimeError, match=f"^{name}: layout='sparse' is not supported"):
        function(*arguments, layout="sparse")


def test_a_range_that_would_never_end_is_refused():
    for step in (0, 0.0, -0.0):
        with pytest.raises(
            RuntimeError, match="^arange: step is 0, so the range from 1 to 5 would"
        ):
            tensorlab.arange(1, 5, step)


def test_a_device_is_a_name_and_compares_by_it():
    cpu = tensorlab.device("cpu")
    assert (str(cpu), cpu.type, cpu.index, repr(cpu)) == ("cpu", "cpu", None, "device(type='cpu')")
    assert tensorlab.device("cpu:0") == tensorlab.device("cpu", 0) != cpu
    assert {cpu: 1}[tensorlab.zeros(1).device] == 1
    assert tensorlab.device("cuda:1").index == 1  # may be named, but has no tensors
    with pytest.raises(RuntimeError, match="^device: 'gpu' is not a device"):
        tensorlab.device("gpu")
    with pytest.raises(AttributeError):
        cpu.index = 1


@pytest.mark.parametrize("error", [RuntimeError, AssertionError])
@pytest.mark.parametrize("name", ["cuda", "mps:0", "xpu"])
def test_a_tensor_on_an_accelerator_is_refused(name, error):
    for make in (
        lambda: tensorlab.zeros(2, device=name),
        lambda: tensorlab.tensor([1.0], device=tensorlab.device(name)),
        lambda: tensorlab.zeros(2).to(name),
        lambda: tensorlab.zeros(2).new_zeros(2, device=name),
        lambda: tensorlab.Tensor([1.0], device=name),
    ):
        with pytest.raises(error, match="tensorlab computes on the processor"):
            make()


def test_a_device_is_a_context_in_which_tensors_are_made():
    with tensorlab.device("cpu") as device:
        assert tensorlab.zeros(1).device == device
    with pytest.raises(RuntimeError, match="^with device: "), tensorlab.device("cuda"):
        pass


def test_a_tensor_that_does_not_fit_in_memory_raises():
    with pytest.raises(RuntimeError):
        tensorlab.zeros(2**40, 2**10)
    with pytest.raises(RuntimeError):
        tensorlab.zeros(2**40, 2**40)


def test_a_subclass_can_be_made_from_values():
    class Named(tensorlab.Tensor):
        pass

    made = Named([1.0, 2.0])
    assert type(made) is Named
    assert made.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "float16", "bool"])
def test_a_number_at_the_edge_of_a_type_is_taken_or_refused(dtype):
    bits = {"uint8": 8, "int8": 7, "int16": 15, "int32": 31}.get(dtype, 15)
    edges = [
        0,
        1,
        -1,
        65504,
        65520,
        *[sign * (1 << bits) + d for sign in (-1, 1) for d in (-1, 0, 1)],
    ]

    def program(T):
        results = []
        for number in [*edges, *map(float, edges), 0.5, -0.5]:
            try:
                results.append(T.zeros(2).to(getattr(T, dtype)).fill_(number).tolist())
            except RuntimeError:
                results.append("refused")
        return results

    agree(program)


# ---------------------------------------------------------------- rows of numbers
ENDS = [(-1, 1), (0, 1), (0, 0.1), (-math.pi, math.pi), (5, 5), (3.7, -2.9), (4.3, 5)]
COUNTS = [0, 1, 2, 3, 5, 16, 28, 33, 100, 2000, 40001]


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int16", "int8"]
)
def test_linspace_equals_pytorch_to_the_bit(dtype):
    torch = require_torch()
    for (start, end), n in itertools.product(ENDS, COUNTS):
        ours, theirs = [
            T.linspace(start, end, n, dtype=getattr(T, dtype)) for T in (tensorlab, torch)
        ]
        assert ours.tolist() == theirs.tolist(), (start, end, n)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int64", "int32"])
def test_logspace_equals_pytorch_to_the_bit(dtype):
    torch = require_torch()
    for (start, end), n, base in itertools.product(ENDS, COUNTS[:-2], (10.0, 2.0, math.e, 0.5)):
        ours, theirs = [
            T.logspace(start, end, n, base, dtype=getattr(T, dtype)) for T in (tensorlab, torch)
        ]
        assert ours.tolist() == theirs.tolist(), (start, end, n, base)


def test_one_power_of_an_integer_type_has_the_whole_exponent():
    """Of several powers both ends are cut to integers first."""
    assert tensorlab.logspace(4.3, 5, 1, dtype=tensorlab.int32).tolist() == [19952]
    assert tensorlab.logspace(4.3, 5, 2, dtype=tensorlab.int32).tolist() == [10000, 100000]
