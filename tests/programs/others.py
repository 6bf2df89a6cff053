"""Other programs: deep Q-learning, a mixture of experts, contrastive learning."""

import random
from collections import deque

from tests.programs.vision import batches


class Corridor:
    """A walk on eleven places from the middle; the right end gives 1, each step costs a little."""

    def reset(self):
        self.place, self.steps = 5, 0
        return self.seen()

    def seen(self):
        return [self.place / 10, self.steps / 30, float(self.place > 5)]

    def step(self, action):
        self.place = max(0, min(10, self.place + (1 if action else -1)))
        self.steps += 1
        is_over = self.place in (0, 10) or self.steps == 30
        return self.seen(), (1.0 if self.place == 10 else -0.01), is_over


def dqn(torch):
    nn = torch.nn

    def network():
        return nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 2))

    torch.manual_seed(10)
    chance, environment, memory = random.Random(10), Corridor(), deque(maxlen=500)
    policy, target = network(), network()
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2, amsgrad=True)
    criterion, state = nn.SmoothL1Loss(), environment.reset()

    def act():
        if chance.random() < 0.3:
            return chance.randrange(2)
        with torch.no_grad():
            return policy(torch.tensor([state])).max(1).indices.view(1, 1).item()

    def walk():
        nonlocal state
        action = act()
        following, reward, is_over = environment.step(action)
        memory.append((state, action, reward, following, is_over))
        state = environment.reset() if is_over else following

    for _ in range(40):
        walk()

    def step():
        walk()
        sample = chance.sample(list(memory), 32)
        states, actions, rewards, after, over = zip(*sample, strict=True)
        states, after, rewards = (torch.tensor(values) for values in (states, after, rewards))
        q = policy(states).gather(1, torch.tensor(actions).unsqueeze(1))
        with torch.no_grad():
            best = target(after).max(1).values.masked_fill(torch.tensor(over), 0.0)
        loss = criterion(q, (rewards + 0.95 * best).unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(policy.parameters(), 100)
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(target.parameters(), policy.parameters(), strict=True):
                old.mul_(0.9).add_(new, alpha=0.1)
        return loss.item()

    return step


def mixture_of_experts(torch):
    """The two best of four experts, with a loss that spreads the load."""
    nn, F = torch.nn, torch.nn.functional

    class Mixture(nn.Module):
        def __init__(self, width, experts=4, best=2):
            super().__init__()
            self.gate, self.best = nn.Linear(width, experts, bias=False), best
            self.experts = nn.ModuleList(
                nn.Sequential(nn.Linear(width, 32), nn.SiLU(), nn.Linear(32, width))
                for _ in range(experts)
            )

        def forward(self, x):
            shares = F.softmax(self.gate(x), dim=-1)
            weights, chosen = torch.topk(shares, self.best, dim=-1)
            weights = weights / weights.sum(dim=-1, keepdim=True)
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                rows, place = torch.where(chosen == i)
                if rows.numel():
                    out.index_add_(0, rows, expert(x[rows]) * weights[rows, place, None])
            load = F.one_hot(chosen[:, 0], len(self.experts)).to(x.dtype).mean(0)
            return out, len(self.experts) * (load * shares.mean(0)).sum()

    torch.manual_seed(11)
    x = torch.randn(128, 8)
    y = torch.where(x[:, :1] > 0, x.sin(), x.square()).sum(1, keepdim=True)
    mixture, head = Mixture(8), nn.Linear(8, 1)
    params = [*mixture.parameters(), *head.parameters()]
    optimizer = torch.optim.NAdam(params, lr=3e-3)
    order = batches(torch, 128, 32)

    def step():
        rows = next(order)
        out, balance = mixture(x[rows])
        loss = F.huber_loss(head(x[rows] + out), y[rows]) + 0.01 * balance
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def contrastive(torch):
    """Two noisy views of each row should be closer to each other than to all other rows."""
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(12)
    x = torch.randn(96, 20)
    encoder = nn.Sequential(
        nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8, bias=False)
    )
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 20)
    order = batches(torch, 96, 24)

    def step():
        rows = x[next(order)]
        views = [rows * (torch.rand_like(rows) > 0.2) + 0.1 * torch.randn_like(rows) for _ in "ab"]
        z = F.normalize(encoder(torch.cat(views)), dim=1)
        near = z @ z.t() / 0.5
        near = near.masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
        partner = torch.arange(len(z)).roll(len(rows))
        loss = F.cross_entropy(near, partner)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.item()

    return step
