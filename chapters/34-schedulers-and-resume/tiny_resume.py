"""A training run that can be stopped and taken up again, to the bit: the small program of chapter 34.

The network is that of chapter 28, with a dropout, so that training draws random numbers in every step.
"""

import copy
import math

import tensorlab as torch
from tensorlab import nn


def warm_up_cosine(step, warm, total):
    """Return a share of the highest rate: up in a line, then down along a cosine."""
    if step < warm:
        return (step + 1) / warm
    passed = min(1.0, (step - warm) / (total - warm))
    return (1 + math.cos(math.pi * passed)) / 2


def digit_net():
    layers = nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10)
    return nn.Sequential(*layers)


class Shuffled:
    """Batches of row numbers, in a new order each epoch, without an end."""

    def __init__(self, rows, batch, seed):
        self.rows, self.batch = rows, batch
        self.generator = torch.Generator().manual_seed(seed)
        self.order, self.place = [], 0

    def __next__(self):
        if self.place + self.batch > len(self.order):
            self.order = torch.randperm(self.rows, generator=self.generator).tolist()
            self.place = 0
        self.place += self.batch
        return self.order[self.place - self.batch : self.place]

    def state_dict(self):
        state = self.generator.get_state()
        return {"generator": state, "order": self.order, "place": self.place}

    def load_state_dict(self, state):
        self.generator.set_state(state["generator"])
        self.order, self.place = state["order"], state["place"]


class Run:
    """Everything that a step of training reads and writes."""

    def __init__(self, images, labels, seed=0, steps=200):
        torch.manual_seed(seed)
        self.images, self.labels = images, labels
        self.model = digit_net()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.02)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: warm_up_cosine(step, 20, steps)
        )
        self.order = Shuffled(len(images), 32, seed)

    def step(self):
        rows = torch.tensor(next(self.order))
        scores = self.model(self.images[rows])
        loss = nn.functional.cross_entropy(scores, self.labels[rows])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()

    def snapshot(self):
        """Return a copy of everything that the next steps depend on."""
        state = {part: getattr(self, part).state_dict() for part in PARTS}
        return copy.deepcopy({**state, "random": torch.get_rng_state()})

    def restore(self, state, leave_out=()):
        """Take over a snapshot; `leave_out` forgets parts of it, to see what happens."""
        for part in PARTS:
            if part not in leave_out:
                getattr(self, part).load_state_dict(copy.deepcopy(state[part]))
        if "random" not in leave_out:
            torch.set_rng_state(state["random"])


PARTS = "model", "optimizer", "scheduler", "order"
