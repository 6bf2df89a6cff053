"""The line search of LBFGS finds PyTorch's distances, on functions with bumps, poles and flat ends."""

import math
from copy import deepcopy

import numpy as np
import pytest

import tensorlab
from tensorlab.optim.line_search import strong_wolfe
from tests.oracle import require_torch


def make_function(rng):
    """Return a loss of one number and its slope: a sum of a few terms, falling at 0."""
    a, b, c, shift = rng.uniform(-1, 1, 4)
    scale, width = 10 ** rng.uniform(-1.5, 1.5), rng.uniform(0.2, 6)
    kind = rng.integers(4)

    def look(t):
        u = t / scale
        if kind == 0:  # a parabola with waves
            return (u - 1) ** 2 + a * math.sin(width * u), 2 * (u - 1) + a * width * math.cos(
                width * u
            )
        if kind == 1:  # two valleys
            return u**4 - 2 * (1 + b) * u**2 - u + c, 4 * u**3 - 4 * (1 + b) * u - 1
        if kind == 2:  # steep, then flat
            return math.exp(-u) + 0.05 * (u - shift) ** 2, -math.exp(-u) + 0.1 * (u - shift)
        return abs(u - 1) ** 1.5, 1.5 * math.copysign(abs(u - 1) ** 0.5, u - 1)

    def losses(t):
        value, slope = look(t)
        return value, slope / scale

    return losses


class Script:
    """Losses and slopes that are no function's: at every new distance the next ones of a list.

    They lead the search through all its branches, whichever a smooth function seldom reaches.
    """

    def __init__(self, rng):
        scale = 10 ** rng.uniform(-1, 1)
        coarse = [(scale * rng.integers(-3, 2), float(rng.integers(-2, 2))) for _ in range(40)]
        fine = [(scale * rng.normal(-0.5), rng.normal()) for _ in range(40)]
        drawn = [one if rng.integers(2) else two for one, two in zip(coarse, fine, strict=True)]
        self.script, self.seen = [(0.0, -1.0), *drawn], {}

    def __call__(self, t):
        return self.seen.setdefault(float(t), self.script[len(self.seen)])


@pytest.mark.parametrize("make", [make_function, Script])
@pytest.mark.parametrize("most", [25, 3, 1])
def test_distances_losses_and_counts_are_those_of_pytorch(most, make):
    torch = require_torch()
    from torch.optim.lbfgs import _strong_wolfe

    rng, seen = np.random.default_rng(most), 0
    for _ in range(400):
        losses, t = make(rng), 10 ** rng.uniform(-2, 1.5)
        value, slope = losses(0.0)
        if slope >= -1e-3:
            continue
        seen += 1
        replayed = deepcopy(losses)

        def ours(t, losses=replayed):
            value, slope = losses(t)
            return value, tensorlab.tensor([slope, 7.0], dtype=tensorlab.float64)

        def theirs(x, t, direction, losses=losses):
            value, slope = losses(t)
            return value, torch.tensor([slope, 7.0], dtype=torch.float64)

        found = strong_wolfe(
            ours,
            t,
            tensorlab.tensor([1.0, 0.0], dtype=tensorlab.float64),
            value,
            ours(0.0)[1],
            slope,
            most,
        )
        direction = torch.tensor([1.0, 0.0], dtype=torch.float64)
        expected = _strong_wolfe(
            theirs,
            None,
            t,
            direction,
            value,
            theirs(None, 0.0, None)[1],
            torch.tensor(slope, dtype=torch.float64),
            max_ls=most,
        )
        assert found[3] == expected[3]
        assert float(found[2]) == pytest.approx(float(expected[2]), rel=1e-9)
        assert float(found[0]) == pytest.approx(float(expected[0]), rel=1e-9)
        assert found[1].tolist() == pytest.approx(expected[1].tolist(), rel=1e-7)
    assert seen > 150
