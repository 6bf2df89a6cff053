"""GradScaler, switched on: the factor follows PyTorch's, and steps with infinite gradients are left out."""

import math
import pickle

import pytest

import tensorlab
from tensorlab.amp import GradScaler
from tests.ops.agreement import agree


def trained(T, steps, injected, **settings):
    """Train, with infinities and nan put into some gradients; return weights, factors and losses."""
    T.manual_seed(0)
    model = T.nn.Linear(4, 3)
    optimizer = T.optim.SGD(model.parameters(), lr=0.01)
    scaler = T.amp.GradScaler("cpu", **settings)
    x = T.arange(20.0).reshape(5, 4).sin()
    factors = []
    for i in range(steps):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        if i in injected:
            model.bias.grad[1] = injected[i]
        scaler.step(optimizer)
        scaler.update()
        factors.append(scaler.get_scale())
    return [model.weight.detach(), model.bias.detach(), factors, scaler.state_dict()]


# By a rule, not at random, so that failures repeat: some in a row, some far apart.
INJECTED = {i: (math.inf, -math.inf, math.nan)[i % 3] for i in range(1000) if i * i % 97 < 6}


def test_a_thousand_steps_go_as_in_pytorch():
    settings = {"init_scale": 1024.0, "growth_interval": 7}
    agree(lambda T: trained(T, 1000, INJECTED, **settings), tolerance=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"init_scale": 3.0, "growth_factor": 1.7, "backoff_factor": 0.3, "growth_interval": 3},
        {"init_scale": 2.0**126, "growth_interval": 1},  # the next factor but one isn't finite
        {"init_scale": 1e-5, "backoff_factor": 1e-3, "growth_interval": 10},
    ],
)
def test_other_settings_go_as_in_pytorch(settings):
    agree(
        lambda T: trained(T, 40, {5: math.inf, 6: math.nan, 21: math.inf}, **settings),
        tolerance=1e-5,
    )


def test_two_optimizers_share_a_factor():
    def factors(T):
        a, b = (T.nn.Parameter(T.tensor([1.0, 2.0])) for _ in range(2))
        one, other = T.optim.SGD([a], lr=0.1), T.optim.Adam([b], lr=0.1)
        scaler, found = T.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2), []
        for i in range(6):
            one.zero_grad(), other.zero_grad()
            for loss in scaler.scale([(a * a).sum(), ((b - 3) ** 2).sum()]):
                loss.backward()
            if i == 2:
                b.grad[0] = math.inf
            scaler.unscale_(one)
            T.nn.utils.clip_grad_norm_([a], 0.5)
            found += [scaler.step(one), scaler.step(other)]
            scaler.update()
            found.append(scaler.get_scale())
        return [found, a.detach(), b.detach()]

    agree(factors, tolerance=1e-6)


def test_a_step_that_is_left_out_changes_nothing():
    w = tensorlab.nn.Parameter(tensorlab.tensor([1.0]))
    optimizer = tensorlab.optim.SGD([w], lr=0.5, momentum=0.9)
    scaler = GradScaler("cpu", init_scale=4.0)
    scaler.scale(w * math.inf).sum().backward()
    assert scaler.step(optimizer) is None
    scaler.update()
    assert (w.item(), len(optimizer.state), scaler.get_scale()) == (1.0, 0, 2.0)


def test_gradients_that_only_unscaling_makes_infinite_are_found():
    w = tensorlab.nn.Parameter(tensorlab.tensor([1.0]))
    scaler = GradScaler("cpu", init_scale=1e-45)  # PyTorch 2.13 steps here, and w is nan
    scaler.scale(w * 2).sum().backward()
    scaler.step(tensorlab.optim.SGD([w], lr=0.5))
    assert w.item() == 1.0


def test_it_scales_what_it_is_given_in_its_form():
    def scaled(T):
        scaler, x = T.amp.GradScaler("cpu", init_scale=4.0), T.ones(2)
        nested = scaler.scale([x, (x, [x.double()])])
        return [
            nested[0],
            nested[1][0],
            nested[1][1][0],
            list(scaler.scale(iter([x]))),
            scaler.scale(x.bfloat16()),
        ]

    agree(scaled)


def test_sparse_gradients_are_unscaled():
    def gradient(T):
        w = T.nn.Parameter(T.ones(4, 2))
        scaler = T.amp.GradScaler("cpu", init_scale=16.0)
        scaler.scale(
            T.nn.functional.embedding(T.tensor([1, 3, 1]), w, sparse=True).sum()
        ).backward()
        optimizer = T.optim.SGD([w], lr=0.5)
        scaler.step(optimizer)
        scaler.update()
        return [w.detach() + 0, w.grad.to_dense() + 0]

    agree(gradient)


def test_its_state_can_be_kept():
    def states(T):
        scaler = T.amp.GradScaler("cpu", init_scale=16.0, growth_interval=5)
        found = [scaler.state_dict()]
        other = T.amp.GradScaler("cpu")
        other.load_state_dict(scaler.state_dict())
        other.scale(T.ones(1))
        other.load_state_dict({**scaler.state_dict(), "scale": 2.0, "_growth_tracker": 3})
        return [
            *found,
            other.state_dict(),
            other.get_scale(),
            pickle.loads(pickle.dumps(other)).state_dict(),
        ]

    agree(states)


REFUSED = {
    "unscaled twice": lambda T, s, o: (s.unscale_(o), s.unscale_(o)),
    "unscaled after the step": lambda T, s, o: (s.step(o), s.unscale_(o)),
    "stepped twice": lambda T, s, o: (s.step(o), s.step(o)),
    "closure": lambda T, s, o: s.step(o, closure=lambda: 0),
    "nothing checked": lambda T, s, o: s.update(),
    "no gradients": lambda T, s, o: (o.zero_grad(), s.step(o)),
    "nothing scaled": lambda T, s, o: T.amp.GradScaler("cpu").step(o),
    "scale of two numbers": lambda T, s, o: s.update(T.ones(2)),
    "scale that learns": lambda T, s, o: s.update(T.ones(1, requires_grad=True)),
    "empty state": lambda T, s, o: s.load_state_dict({}),
    "state without growth": lambda T, s, o: s.load_state_dict({"scale": 3.0}),
    "pickled in a step": lambda T, s, o: (s.step(o), pickle.dumps(s)),
    "scale of a number": lambda T, s, o: s.scale(3.0),
    "growth": lambda T, s, o: T.amp.GradScaler("cpu", growth_factor=1.0),
    "backoff": lambda T, s, o: T.amp.GradScaler("cpu", backoff_factor=1.0),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_use_gets_pytorchs_class(case):
    def refused(T):
        w = T.nn.Parameter(T.ones(2))
        scaler, optimizer = T.amp.GradScaler("cpu"), T.optim.SGD([w], lr=0.1)
        scaler.scale(w.sum()).backward()
        REFUSED[case](T, scaler, optimizer)

    agree(refused)


def test_gradients_in_float16_are_refused():
    def refused(T):
        w = T.nn.Parameter(T.ones(2, dtype=T.float16))
        scaler, optimizer = T.amp.GradScaler("cpu"), T.optim.SGD([w], lr=0.1)
        scaler.scale(w.sum()).backward()
        scaler.unscale_(optimizer)

    agree(refused)
