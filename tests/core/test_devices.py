"""A device with memory of its own, made as a program would make one: what works there, and how it fails."""

import warnings

import numpy
import pytest
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab._core.state.devices import device_names, register_device

import tensorlab as torch
from tensorlab import nn
from tests.ops.every_sample import SAMPLES, as_tuple
from tests.ops.samples import is_floating, make_tensor


class Arrays:
    """An allocator whose memory are NumPy arrays of bytes, which kernels of the cpu can't reach."""

    def __init__(self):
        self.allocated = 0

    def allocate(self, nbytes):
        self.allocated += 1
        return numpy.zeros(nbytes, dtype=numpy.uint8)

    def read(self, memory):
        return memory

    def write(self, memory, data):
        memory[: len(data)] = numpy.frombuffer(data, dtype=numpy.uint8)


ARRAYS = Arrays()
register_device("arrays", ARRAYS)


def there(*size):
    """A tensor on the device, and the same on the cpu."""
    x = torch.rand(*size)
    return x.to("arrays"), x


def test_a_tensor_is_moved_and_comes_back():
    before = ARRAYS.allocated
    moved, x = there(3, 4)
    assert str(moved.device) == "arrays:0"
    assert moved.shape == x.shape
    assert not moved.is_meta
    assert ARRAYS.allocated == before + 1
    assert torch.equal(moved.cpu(), x)
    assert torch.equal(moved.to("cpu", torch.float64), x.double())


def test_views_share_the_memory_over_there():
    moved, x = there(3, 4)
    before = ARRAYS.allocated
    view = moved.transpose(0, 1)[1:].reshape(-1, 3)
    assert ARRAYS.allocated == before
    view.mul_(2)
    x.transpose(0, 1)[1:].mul_(2)
    assert torch.equal(moved.cpu(), x)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x + x * 2,
        lambda x: x.sum(),
        lambda x: x.sum(0, keepdim=True),
        lambda x: x.cumsum(1),
        lambda x: x.sort(1).values,
        lambda x: x.T,
        lambda x: x.half(),
        lambda x: x.exp().add_(1),
        lambda x: x.mm(x.T),
        lambda x: nn.functional.conv1d(x.unsqueeze(0), x.unsqueeze(0)),
        lambda x: torch.where(x > 0.5, x, 0),
        lambda x: x.clone().zero_(),
        lambda x: x.cumsum(0).cumsum_(1),
    ],
)
def test_an_op_without_a_kernel_over_there_is_computed_on_the_cpu(call):
    moved, x = there(3, 4)
    result = call(moved)
    assert str(result.device) == "arrays:0"
    assert torch.equal(result.cpu(), call(x))


def test_factories_make_tensors_over_there():
    assert torch.zeros(2, 3, device="arrays").cpu().tolist() == [[0.0] * 3] * 2
    assert torch.tensor([1, 2], device="arrays").cpu().tolist() == [1, 2]
    with torch.device("arrays"):
        assert str(torch.ones(2).device) == "arrays:0"


def test_a_kernel_of_its_own_is_preferred():
    calls = []

    def numpy_mm(out, x, y, *hints):
        calls.append(out.shape)
        out.copy_(torch.from_numpy(x.cpu().numpy() @ y.cpu().numpy()))

    op = REGISTRY["mm"]
    op.kernel_on("arrays")(numpy_mm)
    try:
        moved, x = there(3, 4)
        assert torch.allclose(moved.mm(moved.T).cpu(), x.mm(x.T))
        assert calls == [(3, 3)]
        x.mm(x.T)
        assert calls == [(3, 3)]
    finally:
        op.kernels[device_names().index("arrays")] = None


@pytest.mark.parametrize(
    "make_optimizer",
    [
        lambda params: torch.optim.SGD(params, lr=0.5, momentum=0.9),
        lambda params: torch.optim.Adam(params, lr=0.1),
        lambda params: torch.optim.Adam(params, lr=0.1, foreach=False, amsgrad=True),
    ],
    ids=["SGD", "Adam", "Adam step by step"],
)
def test_a_network_is_trained_over_there(make_optimizer):
    def losses(device):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        x, y = torch.rand(16, 4).to(device), torch.randint(3, (16,)).to(device)
        net.to(device)
        optimizer = make_optimizer(net.parameters())
        seen = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            seen.append(loss.item())
        return seen

    assert losses("arrays") == losses("cpu")


# Samples that make a tensor on the cpu, beside those that they are given.
ELSEWHERE = {"histogram edges"}
CHUNKS = [SAMPLES[start : start + 60] for start in range(0, len(SAMPLES), 60)]


def compute(sample, call, device):
    """All results of a call on a device, and the gradients by what it is given."""
    inputs = [
        make_tensor(torch, a).to(device).requires_grad_(is_floating(a) and bool(sample.derivatives))
        for a in sample.arrays()
    ]
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = as_tuple(call(torch, *inputs))
    ends = [y for y in results if isinstance(y, torch.Tensor) and y.requires_grad]
    if ends:
        leaves = [x for x in inputs if x.requires_grad]
        ones = [torch.ones_like(y) for y in ends]
        results += torch.autograd.grad(ends, leaves, ones, allow_unused=True)
    return results


def failures(samples, call_of):
    """What goes wrong over there, by the name of the sample."""
    found = {}
    for sample in samples:
        call = call_of(sample)
        if call is None or sample.name in ELSEWHERE:
            continue
        try:
            for got, expected in zip(
                compute(sample, call, "arrays"), compute(sample, call, "cpu"), strict=True
            ):
                if not isinstance(expected, torch.Tensor):
                    assert got == expected
                    continue
                assert (str(got.device), got.dtype) == ("arrays:0", expected.dtype)
                assert got.stride() == expected.stride()
                numpy.testing.assert_array_equal(got.detach().cpu(), expected.detach())
        except Exception as error:
            found[sample.name] = f"{type(error).__name__}: {error}"
    return found


@pytest.mark.parametrize("chunk", range(len(CHUNKS)))
def test_every_sample_is_computed_over_there(chunk):
    assert failures(CHUNKS[chunk], lambda sample: sample.call) == {}


def test_every_sample_is_written_over_there():
    def in_place(sample):
        return sample.inplace and (lambda T, x, *rest: sample.inplace(T, x * 1, *rest))

    assert failures(SAMPLES, lambda sample: in_place(sample) or None) == {}


def test_what_cannot_be_is_refused():
    moved, x = there(3, 4)
    with pytest.raises(RuntimeError, match="they must be on one device"):
        moved + x
    with pytest.raises(RuntimeError, match="on one device"):
        torch.mm(moved, x.T)
    with pytest.raises(TypeError, match=r"to\('cpu'\)|cpu"):
        moved.numpy()
    with pytest.raises(RuntimeError, match="there is a device 'arrays' already"):
        register_device("arrays", ARRAYS)
    with pytest.raises(TypeError, match=r"a method allocate\(...\)"):
        register_device("another", object())
    with pytest.raises(RuntimeError, match="no device 'nowhere' has been registered"):
        REGISTRY["mm"].kernel_on("nowhere")
