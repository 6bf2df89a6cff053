"""A corridor with wind, and policy gradients on it.

The walker starts in cell 1 of eight and wants to leave through the last one. In each step it says "left"
or "right"; with probability 0.2 the wind turns the step round. Each step costs 1, until the walker is
out or 20 steps are over.
"""

import tensorlab as torch
from tensorlab.distributions import Categorical

CELLS, STEPS, WIND = 8, 20, 0.2


def walk(logits, episodes):
    """Walk `episodes` times, side by side.

    Parameters
    ----------
    logits : Tensor (CELLS, 2), of "left" and "right" in each cell

    Returns
    -------
    log_probs, rewards : Tensors (STEPS, episodes); both are 0 after the end of an episode
    """
    cell = torch.ones(episodes, dtype=torch.int64)
    log_probs, rewards = [], []
    for _ in range(STEPS):
        walking = (cell < CELLS - 1).float()
        policy = Categorical(logits=logits[cell])
        move = policy.sample()
        step = 2 * move - 1
        step = torch.where(torch.rand(episodes) < WIND, -step, step)
        log_probs.append(policy.log_prob(move) * walking)
        rewards.append(-walking)
        cell = torch.where(walking > 0, (cell + step).clamp(0, CELLS - 1), cell)
    return torch.stack(log_probs), torch.stack(rewards)


def whole_return(rewards):
    """What the whole episode was worth, for each of its steps."""
    return rewards.sum(0).expand_as(rewards)


def to_go(rewards):
    """What came after a step: a step isn't to blame for what was before it."""
    return rewards.flip(0).cumsum(0).flip(0)


def with_baseline(rewards):
    """The rest of the episode, minus the mean of the other episodes at the same time."""
    rest = to_go(rewards)
    others = (rest.sum(1, keepdim=True) - rest) / (rest.shape[1] - 1)
    return rest - others


def policy_loss(logits, episodes, weigh):
    """Return a loss whose gradient is minus the policy gradient, and the mean return."""
    log_probs, rewards = walk(logits, episodes)
    return -(log_probs * weigh(rewards)).sum(0).mean(), rewards.sum(0).mean().item()
