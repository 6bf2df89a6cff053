"""Tensors on "meta": every op's layout rules without a kernel; refusals where values would be needed; modules."""

import contextlib
import copy
import inspect
import itertools
import pickle
import warnings

import numpy as np
import pytest
from tensorlab._core.dispatch.op import REGISTRY

import tensorlab
from tensorlab import nn
from tests.ops.agreement import agree
from tests.ops.every_sample import SAMPLES, each_sample
from tests.ops.samples import is_floating, make_tensor, to_dtype, transposed

# Ops whose result depends on values: nothing can be said of it without them.
NEEDS_VALUES = {
    *("argwhere", "bincount", "histc", "histogram", "masked_select", "nonzero"),
    "istft",  # looks whether the window covers every sample
    *("nonzero_static", "one_hot", "unique", "unique_consecutive"),
    *("index_put replace", "repeat_interleave counts"),  # by a mask; as often as a tensor says
    *("linalg.lstsq gels" + one for one in ("d", "s")),  # residuals, if the rank is full
    "linalg.lstsq results",
    "cov",  # whose weights must not be negative
}


def on_meta(tensors):
    return [x.to("meta") for x in tensors]


def layouts(results):
    """Shape, dtype, strides and offset of all tensors in a result."""
    results = results if isinstance(results, (tuple, list)) else (results,)
    return [
        (tuple(x.shape), x.dtype, x.stride(), x.storage_offset())
        if isinstance(x, tensorlab.Tensor)
        else x
        for x in results
    ]


def call_on_meta(call, tensors):
    """The layouts of the result, or None if the op says that it needs values."""
    try:
        with tensorlab.device("meta"):
            results = call(tensorlab, *on_meta(tensors))
    except NotImplementedError as error:
        assert "meta" in str(error)  # noqa: PT017 (either outcome is right)
        return None
    for x in results if isinstance(results, (tuple, list)) else (results,):
        assert not isinstance(x, tensorlab.Tensor) or x.is_meta
    return layouts(results)


# ------------------------------------------------------------------------------------------------ every op
@each_sample(layout=(np.asarray, transposed))
def test_a_layout_without_data_is_that_of_the_same_call_with_data(sample, layout):
    arrays = [layout(to_dtype(array, "float32")) for array in sample.arrays()]
    tensors = [tensorlab.from_numpy(np.array(array, order="K")) for array in arrays]
    found = call_on_meta(sample.call, tensors)
    assert found is None or found == layouts(sample.call(tensorlab, *tensors))


@each_sample([s for s in SAMPLES if s.inplace])
def test_in_place_an_op_on_meta_returns_its_tensor(sample):
    tensors = [make_tensor(tensorlab, array) for array in sample.arrays()]
    first = on_meta(tensors)[0]
    needs_values = sample.op in NEEDS_VALUES or sample.name in NEEDS_VALUES
    refused = pytest.raises(NotImplementedError) if needs_values else contextlib.nullcontext()
    with tensorlab.device("meta"), refused:
        assert sample.inplace(tensorlab, first, *on_meta(tensors)[1:]) is first
    assert first._version == (not needs_values)


@each_sample([s for s in SAMPLES if s.derivatives])
def test_backward_gives_gradients_without_data_too(sample):
    tensors = [
        make_tensor(tensorlab, array).to("meta").requires_grad_(is_floating(array))
        for array in sample.arrays()
    ]
    leaves = [x for x in tensors if x.requires_grad]
    try:
        with tensorlab.device("meta"):
            results = sample.call(tensorlab, *tensors)
            results = results if isinstance(results, (tuple, list)) else (results,)
            total = sum(x.sum() for x in results if x.requires_grad)
            grads = tensorlab.autograd.grad(total, leaves, total.new_ones(()), allow_unused=True)
    except NotImplementedError as error:
        assert "meta" in str(error)  # noqa: PT017
        return
    for x, grad in zip(leaves, grads, strict=True):
        assert grad is None or (grad.is_meta and grad.shape == x.shape and grad.dtype is x.dtype)


def test_only_ops_that_need_values_refuse():
    refused = {
        sample.op if sample.op in NEEDS_VALUES else sample.name
        for sample in SAMPLES
        if call_on_meta(sample.call, [make_tensor(tensorlab, array) for array in sample.arrays()])
        is None
    }
    assert refused <= NEEDS_VALUES


# ------------------------------------------------------------------------------------------------ every function
def callables():
    """Every public function, method and functional form but those that change settings."""
    for home in (tensorlab, tensorlab.Tensor, nn.functional):
        for name in dir(home):
            value = getattr(home, name, None)
            if inspect.isroutine(value) and not name.startswith(("_", "set_", "use_")):
                yield pytest.param(value, id=f"{home.__name__.rpartition('.')[2]}.{name}")


@pytest.mark.parametrize("function", list(callables()))
def test_no_call_reads_memory_that_is_not_there(function):
    m, row = tensorlab.empty(3, 4, device="meta"), tensorlab.empty(4, device="meta")
    index = tensorlab.empty(3, dtype=tensorlab.int64, device="meta")
    images = tensorlab.empty(2, 3, 5, 5, device="meta")
    stepped = tensorlab.empty(6, 8, device="meta")[1:4, ::2]
    for arguments in itertools.chain(
        *(
            [(x,), (x, row), (x, m), (x, 0), (x, index), (x, m > 0), (x, 0, index), (x, m, m)]
            for x in (m, index, images, stepped)
        ),
        [(images, images, row), (m, 0, index, m), (m, (0, 1)), (m, (4, 3), (1, 4))],
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                result = function(*arguments)
            except Exception:
                continue
        for x in result if isinstance(result, (tuple, list)) else (result,):
            assert not isinstance(x, tensorlab.Tensor) or x.is_meta or x.numel() == 0


# ------------------------------------------------------------------------------------------------ as in PyTorch
QUESTIONS = """
    M(3, 4).is_meta
    M(3, 4).is_cpu
    M(3, 4).device.type
    M(3, 4).get_device()
    M(3, 4).nbytes
    M(3, 4).data_ptr()
    M(3, 4).untyped_storage().nbytes()
    M(3, 4).untyped_storage().data_ptr()
    M(3, 4)[1:, ::2].storage_offset()
    M(3, 4)[1:, ::2].untyped_storage().nbytes()
    M(3, 4).view(2, 6).stride()
    M(3, 4).view(T.int32).dtype == T.int32
    M(2, dtype=T.int32).to(T.float64).stride()
    M(3, 4).t().clone().stride()
    M(3, 4).to("meta").is_meta
    T.ones(3, 4).t().to("meta").stride()
    T.ones(3, 4).to(M(2)).is_meta
    T.ones(3, 4).type_as(M(2)).is_meta
    (M(3, 4) + 1).shape
    (M(3, 4) + T.tensor(2.0)).is_meta
    (M(3, 1) * M(4)).shape
    (M(3, 4) > 0).dtype == T.bool
    M(3, 4)[T.tensor([0, 1])].shape
    M(3, 4)[T.tensor(1)].shape
    M(3, 4)[: T.tensor(2)].shape
    M(3, 4).max(0).indices.dtype == T.int64
    M(3, 4).copy_(T.ones(3, 4)).is_meta
    M(3, 4).fill_(T.tensor(1.0)).is_meta
    M(2).resize_(5).shape
    M(2).new_zeros(3).is_meta
    M(2).new_tensor([1.0]).is_meta
    T.zeros_like(M(2)).is_meta
    T.zeros_like(M(2), device="cpu").tolist()
    T.rand_like(M(2, 3)).is_meta
    T.tensor([1.0, 2.0], device="meta").shape
    T.tensor(M(3)).is_meta
    T.as_tensor([1.0], device="meta").is_meta
    T.asarray([1.0], device="meta").is_meta
    T.arange(5, device="meta").dtype == T.int64
    T.linspace(0, 1, 5, device="meta").shape
    T.eye(3, device="meta").shape
    T.full((2,), 7, device="meta").dtype == T.int64
    T.randn(2, 3, device="meta").shape
    T.randint(3, (2,), device="meta").shape
    T.randperm(4, device="meta").shape
    T.empty_strided((2, 3), (1, 2), device="meta").stride()
    T.tril_indices(3, 3, device="meta").shape
    M(3, 4).bernoulli().shape
    M(3, 2).bernoulli_(M(2)).shape
    T.nn.functional.dropout(M(3, 4)).shape
    T.nn.functional.one_hot(M(3, dtype=T.int64), 5).shape
    M(2).device == T.device("meta")
    T.empty(2, device="meta:0").device.type
    len(list(M(3, 4)))
    f"{M(3)}"
    repr(M(3, 4))
    repr(M())
    repr(M(0))
    repr(M(2, dtype=T.bool)).replace("torch.", "tensorlab.")
    repr(M(2, dtype=T.int64)).replace("torch.", "tensorlab.")
    repr(M(2).requires_grad_())
    repr(M(2).requires_grad_() * 2)
    repr(T.nn.Linear(2, 3, device="meta").weight)
    M().item()
    M(3, 4).tolist()
    M().tolist()
    M(3, 4).numpy()
    bool(M())
    int(M())
    float(M())
    range(M(dtype=T.int64))
    1 in M(3)
    f"{M():.2f}"
    M(3, 4).cpu()
    M(3, 4).to("cpu")
    M(3, 4).to(T.ones(2))
    M(3, 4).untyped_storage().tolist()
    M(3, 4).__dlpack__()
    M(3, 4).__dlpack_device__()
    M(3, 4).pin_memory()
    M(3, 4).nonzero()
    M(3, 4)[M(3, 4) > 0]
    M(3, 4).masked_select(M(3, 4) > 0)
    M(3, 4).unique()
    M(3, dtype=T.int64).bincount()
    M(3, 4).equal(M(3, 4))
    T.allclose(M(3), M(3))
    M(3)[M(dtype=T.int64)]
    T.nn.functional.one_hot(M(3, dtype=T.int64))
    M(4).repeat_interleave(M(4, dtype=T.int64))
    M(3, 4) + T.ones(3, 4)
    T.ones(3, 4) + M(3, 4)
    T.ones(3, 4) + M()
    T.where(M(3, 4) > 0, M(3, 4), T.ones(3, 4))
    T.cat([M(3, 4), T.ones(3, 4)])
    T.stack([M(3, 4), T.ones(3, 4)])
    T.add(T.ones(2), T.ones(2), out=M(2))
    T.add(M(2), M(2), out=T.ones(2))
    T.ones(3, 4).copy_(M(3, 4))
    T.ones(2).set_(M(2))
    setattr(T.ones(2), "grad", M(2))
    setattr(M(2), "grad", T.ones(2))
    setattr(M(2), "grad", M(2))
    setattr(T.ones(2), "data", M(2))
    setattr(M(2), "data", T.ones(2))
    setattr(M(2), "data", M(3))
    T.nn.Linear(2, 3, device="meta").to("cpu")
    T.nn.Linear(2, 3, device="meta").cpu()
"""


@pytest.mark.parametrize("question", [line.strip() for line in QUESTIONS.strip().splitlines()])
def test_meta_answers_and_refuses_as_in_pytorch(question):
    def ask(T):
        return eval(
            question, {"T": T, "M": lambda *sizes, **kw: T.empty(sizes, device="meta", **kw)}
        )

    agree(ask)


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: x @ y.t(),
        lambda x, y: y @ x.t(),
        lambda x, y: y.add_(x),
        lambda x, y: nn.functional.linear(x, y),
        lambda x, y: y.index_select(0, x[0].long()),
        lambda x, y: y.gather(0, x.long()),
        lambda x, y: y.scatter_(0, x.long(), 1.0),
        lambda x, y: y[x[0].long()],
        lambda x, y: y.masked_fill_(x > 0, 0.0),
        lambda x, y: nn.functional.conv2d(x[None, None], y[None, None]),
        lambda x, y: nn.functional.layer_norm(x, (4,), y[0]),
        lambda x, y: nn.functional.cross_entropy(x, y[:, 0].long()),
        lambda x, y: nn.functional.cross_entropy(y, x[:, 0].long()),
        lambda x, y: tensorlab.searchsorted(x, y),
        lambda x, y: setattr(x, "grad", y),
        lambda x, y: setattr(y, "grad", x),
        lambda x, y: setattr(x, "data", y),
        lambda x, y: setattr(y, "data", x),
    ],
)
def test_memory_and_no_memory_are_not_mixed(call):
    x, y = tensorlab.empty(3, 4, device="meta"), tensorlab.ones(3, 4)
    with pytest.raises(RuntimeError, match="meta"):
        call(x, y)
    assert y.detach().tolist() == [[1.0] * 4] * 3


# ------------------------------------------------------------------------------------------------ copies, defaults
def test_no_memory_is_taken():
    before = tensorlab.memory_stats()["allocated_bytes"]
    x = tensorlab.empty(1 << 20, 1 << 20, device="meta")
    y = (x @ x.t()).softmax(-1).sum(0).sort().values
    assert y.shape == (1 << 20,)
    assert x.nbytes == 1 << 42
    assert tensorlab.memory_stats()["allocated_bytes"] == before


@pytest.mark.parametrize(
    "again", [copy.deepcopy, copy.copy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_and_pickles_keep_the_layout_and_the_device(again):
    x = tensorlab.empty(3, 4, device="meta").t()[1:].requires_grad_()
    y = again(x)
    assert y.is_meta
    assert (y.shape, y.stride(), y.storage_offset()) == (x.shape, x.stride(), x.storage_offset())
    assert y.requires_grad


def test_a_block_or_a_default_makes_tensors_on_meta():
    with tensorlab.device("meta"):
        assert tensorlab.zeros(2).is_meta
        with tensorlab.device("cpu"):
            assert tensorlab.zeros(2).is_cpu
        assert tensorlab.tensor([1.0]).is_meta
        assert tensorlab.from_numpy(np.ones(2)).is_cpu
        assert nn.Linear(2, 3).weight.is_meta
    assert tensorlab.zeros(2).is_cpu
    tensorlab.set_default_device("meta")
    try:
        assert tensorlab.get_default_device() == tensorlab.device("meta")
        assert tensorlab.rand(2).is_meta
    finally:
        tensorlab.set_default_device(None)
    assert tensorlab.get_default_device() == tensorlab.device("cpu")


def defaults_to_meta(way):
    """A block in which the default device is "meta"."""
    if way == "block":
        return tensorlab.device("meta")
    stack = contextlib.ExitStack()
    stack.callback(tensorlab.set_default_device, None)
    tensorlab.set_default_device("meta")
    return stack


# What the ops that take a tensor and a device are given, by the name of the parameter; None for all others.
GIVEN = {"fill_value": 2, "low": 0, "high": 5, "size": (2, 3), "stride": (3, 1)}


def takes_tensor_and_device(op):
    words = [one.type.word for one in op.signature.parameters]
    return words[0] == "Tensor" and "Device" in words


def arguments_beside_a_tensor(op):
    given = {**GIVEN, "dtype": tensorlab.int64} if op.name == "to_integers" else GIVEN
    return [given.get(one.name) for one in op.signature.parameters[1:]]


BESIDE_TENSORS = {
    name: arguments_beside_a_tensor(op)
    for name, op in REGISTRY.items()
    if takes_tensor_and_device(op)
}


def test_there_are_ops_beside_tensors():
    assert {"zeros_like", "randint_like", "to_copy", "new_full"} < {*BESIDE_TENSORS}
    assert len(BESIDE_TENSORS) >= 14


@pytest.mark.parametrize("way", ["block", "default"])
@pytest.mark.parametrize("name", BESIDE_TENSORS)
def test_beside_tensors_no_device_means_theirs(name, way):
    x = tensorlab.ones(2, 3)
    with defaults_to_meta(way):
        assert REGISTRY[name](x, *BESIDE_TENSORS[name]).is_cpu
    assert REGISTRY[name](x.to("meta"), *BESIDE_TENSORS[name]).is_meta


@pytest.mark.parametrize("way", ["block", "default"])
@pytest.mark.parametrize("call", [lambda T, x: T.as_tensor(x), lambda T, x: T.asarray(x)])
def test_what_is_to_be_a_tensor_goes_to_the_default_device(call, way):
    x = tensorlab.ones(2)
    with defaults_to_meta(way):
        assert call(tensorlab, x).is_meta
        assert call(tensorlab, np.ones(2)).is_meta
    assert call(tensorlab, x.to("meta")).is_meta
    assert call(tensorlab, x) is x


# ------------------------------------------------------------------------------------------------ modules
def network(device=None):
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, device=device),
        nn.BatchNorm2d(8, device=device),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 3 * 3, 5, device=device),
        nn.LayerNorm(5, device=device),
    )


def test_a_network_on_meta_says_the_shapes_of_its_results_and_gradients():
    net = network("meta")
    x = tensorlab.empty(4, 3, 8, 8, device="meta")
    y = net(x)
    assert y.shape == (4, 5)
    nn.functional.cross_entropy(
        y, tensorlab.empty(4, dtype=tensorlab.int64, device="meta")
    ).backward()
    for parameter in net.parameters():
        assert parameter.grad.is_meta
        assert parameter.grad.shape == parameter.shape


def test_to_empty_gives_memory_and_load_state_dict_the_values():
    trained, net = network(), network("meta")
    with pytest.raises(NotImplementedError, match="to_empty"):
        net.to("cpu")
    with pytest.warns(UserWarning, match="'meta'"):
        net.load_state_dict(trained.state_dict())
    assert net.to_empty(device="cpu") is net
    net.load_state_dict(trained.state_dict())
    x = tensorlab.rand(4, 3, 8, 8)
    assert net.eval()(x).equal(trained.eval()(x))
    assert all(p.requires_grad for p in net.parameters())


def test_load_state_dict_may_also_put_the_tensors_in_place():
    trained, net = network(), network("meta")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net.load_state_dict(trained.state_dict(), assign=True)
    assert not any(p.is_meta for p in net.parameters())


def test_a_module_moved_to_meta_keeps_its_settings():
    net = network()
    net[0].weight.requires_grad_(False)
    net.to("meta")
    assert all(x.is_meta for x in (*net.parameters(), *net.buffers()))
    assert not net[0].weight.requires_grad
    assert net[1].num_batches_tracked.dtype == tensorlab.int64


def test_a_tensor_is_taken_to_the_device_that_is_named():
    x = tensorlab.ones(2)
    assert tensorlab.as_tensor(x, device="meta").is_meta
    assert not tensorlab.as_tensor(x, device="cpu").is_meta
    assert tensorlab.as_tensor(x) is x
    with pytest.raises(NotImplementedError):
        tensorlab.as_tensor(x.to("meta"), device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(NotImplementedError):
            tensorlab.tensor(x.to("meta"), device="cpu")
