"""The small programs of chapter 62: both estimators, the autoencoder's losses, walks in the corridor."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T
from tensorlab.distributions import kl_divergence

FOLDER = Path(__file__).resolve().parents[2] / "chapters/62-distributions"


def program(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


estimators, vae, corridor = map(program, ("estimators", "tiny_vae", "corridor"))


def test_both_estimators_have_the_right_mean():
    T.manual_seed(0)
    mu, noise = T.tensor([1.0, -2.0, 0.5]), T.randn(40_000, 3)
    found = (
        estimators.score_estimates(lambda x: (x**2).sum(-1), mu, 0.5, noise),
        estimators.pathwise_estimates(lambda x: 2 * x, mu, 0.5, noise),
    )
    for estimates in found:
        error = estimates.std(0) / 200  # of a mean of 40,000
        assert ((estimates.mean(0) - 2 * mu).abs() < 4 * error).all()


def gradients(loss_of, module, seed=1):
    T.manual_seed(0)
    model, x = vae.VAE(pixels=6, width=5, codes=2), T.bernoulli(T.full((4, 6), 0.5))
    T.manual_seed(seed)
    loss_of(model, x).backward()
    return [p.grad for p in getattr(model, module).parameters()]


def test_the_decoder_gets_the_same_gradient_from_all_losses():
    expected = gradients(vae.pathwise_loss, "decoder")
    for loss_of in (vae.score_loss, vae.careless_loss):
        for came, wanted in zip(gradients(loss_of, "decoder"), expected, strict=True):
            assert T.allclose(came, wanted, atol=1e-6)


def test_the_careless_loss_tells_the_encoder_of_the_divergence_alone():
    def divergence(model, x):
        return kl_divergence(model.posterior(x), model.prior).mean()

    expected = gradients(divergence, "encoder")
    for came, wanted in zip(gradients(vae.careless_loss, "encoder"), expected, strict=True):
        assert T.allclose(came, wanted, atol=1e-6)


def test_a_walk_ends_behind_the_last_cell():
    T.manual_seed(0)
    logits = T.tensor([[-20.0, 20.0]] * corridor.CELLS, requires_grad=True)
    log_probs, rewards = corridor.walk(logits, 200)
    assert log_probs.shape == rewards.shape == (corridor.STEPS, 200)
    assert ((rewards == -1) | (rewards == 0)).all()
    assert (rewards.diff(dim=0) >= 0).all()  # no step after the end
    assert (log_probs[rewards == 0] == 0).all()
    # Six cells at 0.6 of a cell a step, a little less for the wall behind the start.
    assert -11 < rewards.sum(0).mean().item() < -9


def test_a_baseline_knows_the_other_episodes_only():
    T.manual_seed(0)
    rewards = T.randn(5, 4)
    changed = rewards.clone()
    changed[:, 2] += 10 * T.randn(5)
    baseline, after = (
        corridor.to_go(one) - corridor.with_baseline(one) for one in (rewards, changed)
    )
    assert T.allclose(baseline[:, 2], after[:, 2], atol=1e-5)
    assert not T.allclose(baseline[:, 0], after[:, 0])


@pytest.mark.parametrize("weigh", ["whole_return", "to_go", "with_baseline"])
def test_a_step_against_the_gradient_makes_right_more_probable(weigh):
    T.manual_seed(0)
    logits = T.zeros(corridor.CELLS, 2, requires_grad=True)
    loss, mean_return = corridor.policy_loss(logits, 4000, getattr(corridor, weigh))
    loss.backward()
    assert (logits.grad[1:-1, 1] < 0).all()
    assert -corridor.STEPS <= mean_return < 0
