"""Fake tensors: every sample has the layout that it has with real ones; whole programs run; memory
is counted.
"""

import copy

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab._subclasses import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedFakeTensorException,
)
from tensorlab.errors import NoDataError
from tests.core.test_wrapped_samples import gradients, inputs_of, results_of
from tests.ops.every_sample import SAMPLES, each_sample


def described(x):
    if not isinstance(x, torch.Tensor):
        return x if x is None else type(x)
    return tuple(x.shape), x.stride(), x.dtype, str(x.device), x.requires_grad


@each_sample()
def test_a_sample_has_the_results_and_gradients_of_real_tensors(sample):
    inputs = inputs_of(sample)
    expected = results_of(sample.call, inputs)
    expected += tuple(gradients(expected, inputs))
    mode = FakeTensorMode()
    fakes = [mode.from_tensor(x) for x in inputs_of(sample)]
    with mode:
        try:
            got = results_of(sample.call, fakes)
            got += tuple(gradients(got, fakes))
        except NoDataError:
            assert sample.name in NEEDS_VALUES or sample.name.split()[0] in NEEDS_VALUES
            return
    assert list(map(described, got)) == list(map(described, expected))


NEEDS_VALUES = {
    *("argwhere", "bincount", "histc", "histogram", "masked_select", "nonzero"),
    *("nonzero_static", "one_hot", "unique", "unique_consecutive", "cov"),
    *("index_put replace", "repeat_interleave counts", "getitem"),
    *(
        "quantile",
        "nanquantile",
        "prod",
    ),  # these look whether a number is in its range, and for zeros
    *("max_unpool1d", "max_unpool2d", "max_unpool3d"),  # and these at the indices
    "istft",  # looks whether the window covers every sample
    "linalg.lstsq",  # whether there are residuals depends on the rank
}


def make_net():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10)
    )


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "RMSprop"])
def test_a_training_program_runs(name):
    with FakeTensorMode() as mode:
        net = make_net()
        optimizer = getattr(torch.optim, name)(net.parameters(), lr=0.1)
        for _ in range(2):
            loss = nn.functional.cross_entropy(
                net(torch.randn(5, 3, 8, 8)), torch.randint(10, (5,))
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert loss.shape == ()
    for parameter in net.parameters():
        assert isinstance(parameter, FakeTensor)
        assert isinstance(parameter, nn.Parameter)
        assert parameter.grad.shape == parameter.shape
    assert 0 < mode.bytes <= mode.peak_bytes


def test_memory_is_what_real_tensors_would_take():
    with FakeTensorMode() as mode:
        x = torch.ones(1000, 1000)
        assert mode.bytes == 4_000_000
        y = x.view(-1)[:10]
        z = x + 1
        assert mode.bytes == 8_000_000
        del x, z
        assert mode.bytes == 4_000_000
        del y
    assert (mode.bytes, mode.peak_bytes) == (0, 8_000_000)


def test_a_model_larger_than_any_machine_is_counted():
    with FakeTensorMode() as mode:
        layer = nn.TransformerEncoderLayer(8192, 64, 28672, batch_first=True, dropout=0.0)
        model = nn.TransformerEncoder(layer, 80)
        model(torch.ones(1, 128, 8192)).sum().backward()
    parameters = sum(one.numel() for one in model.parameters())
    assert parameters > 50e9
    assert mode.peak_bytes > 2 * 4 * parameters


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.item(), DataDependentOutputException, "asks a fake tensor for its elements"),
        (lambda x: bool(x > 0), DataDependentOutputException, "elements"),
        (lambda x: x.tolist(), DataDependentOutputException, "elements"),
        (
            lambda x: x.view(1).nonzero(),
            DynamicOutputShapeException,
            "use an op whose result has a known shape",
        ),
        (lambda x: x.numpy(), TypeError, "a FakeTensor has no memory of its own"),
    ],
)
def test_values_are_refused(call, error, message):
    x = FakeTensorMode().from_tensor(torch.ones(()))
    with pytest.raises(error, match=message):
        call(x)


def test_real_tensors_are_refused_unless_allowed():
    x = FakeTensorMode().from_tensor(torch.ones(2))
    with pytest.raises(
        RuntimeError, match=r"a real tensor of shape \(2,\) meets fake ones; make it fake with"
    ):
        x + torch.ones(2)
    assert (x + torch.ones(())).shape == (2,)
    y = FakeTensorMode(allow_non_fake_inputs=True).from_tensor(torch.ones(2))
    assert (y + torch.ones(3, 2)).shape == (3, 2)


def test_from_tensor_keeps_what_a_tensor_is():
    mode = FakeTensorMode()
    real = nn.Parameter(torch.ones(3, 2).T)
    fake = mode.from_tensor(real)
    assert described(fake) == described(real)
    assert isinstance(fake, nn.Parameter)
    assert mode.from_tensor(real) is fake
    assert mode.from_tensor(fake) is fake
    again = copy.deepcopy(fake)
    assert type(again) is FakeTensor
    assert described(again) == described(real)

    class Odd(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(UnsupportedFakeTensorException, match="a Odd can't be made fake"):
        mode.from_tensor(torch.Tensor._make_subclass(Odd, torch.ones(2)))


def test_devices_are_those_that_were_named():
    with FakeTensorMode():
        assert torch.ones(2, device="cpu").device.type == "cpu"
        assert torch.ones(2, device="meta").device.type == "meta"
        assert (
            str(torch.ones(2))
            == "FakeTensor(..., size=(2,), dtype=tensorlab.float32, device='cpu')"
        )


assert SAMPLES
