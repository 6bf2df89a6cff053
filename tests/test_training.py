"""Training as a whole: on real digits our losses are PyTorch's, and memory does not grow."""

import gc

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

STEPS = 100


def digits_losses(package, make_optimizer):
    """Return the losses of the first steps on scikit-learn's digits, and the trained model."""
    datasets = pytest.importorskip("sklearn.datasets", reason="the digits are scikit-learn's")
    pixels, classes = datasets.load_digits(return_X_y=True)
    package.manual_seed(0)
    nn, data = package.nn, package.utils.data
    loader = data.DataLoader(
        data.TensorDataset(
            package.tensor((pixels / 16).astype(np.float32)), package.tensor(classes)
        ),
        batch_size=64,
        shuffle=True,
    )
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = make_optimizer(package.optim, model.parameters())
    loss_function = nn.CrossEntropyLoss()
    losses = []
    while len(losses) < STEPS:
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_function(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses[:STEPS], model


@pytest.mark.parametrize(
    "make_optimizer",
    [
        lambda optim, params: optim.SGD(params, lr=0.1, momentum=0.9),
        lambda optim, params: optim.Adam(params, lr=1e-3),
        lambda optim, params: optim.AdamW(params, lr=1e-3, amsgrad=True),
    ],
    ids=["SGD", "Adam", "AdamW"],
)
def test_the_first_hundred_losses_on_digits_are_pytorchs(make_optimizer):
    ours, _ = digits_losses(tensorlab, make_optimizer)
    theirs, _ = digits_losses(require_torch(), make_optimizer)
    assert ours[-1] < 0.5 * ours[0]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)


def test_training_steps_leave_the_number_of_live_tensors_as_it_was():
    nn = tensorlab.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 1))
    optimizer = tensorlab.optim.Adam(model.parameters())
    x, y = tensorlab.ones(16, 4), tensorlab.zeros(16, 1)

    def train(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        return tensorlab.live_tensors()

    gc.collect()  # what other tests have left is not to go meanwhile
    assert train(10) == train(300)
