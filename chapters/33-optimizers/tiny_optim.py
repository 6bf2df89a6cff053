"""Optimizers in tensor operations, as a textbook writes them: the small program of chapter 33.

`DigitNet` is the network of chapter 28, made of the library's layers.
"""

import tensorlab as torch
from tensorlab import nn


class Optimizer:
    """Holds parameters, and what it remembers of each; a subclass defines `update`."""

    def __init__(self, params, lr):
        self.params, self.lr = list(params), lr
        self.state = {param: {} for param in self.params}

    def zero_grad(self):
        for param in self.params:
            param.grad = None

    @torch.no_grad()
    def step(self):
        for param in self.params:
            if param.grad is not None:
                self.update(param, param.grad, self.state[param])


class SGD(Optimizer):
    """Gradient descent; with momentum it goes along a sum of past gradients."""

    def __init__(self, params, lr, momentum=0.0, nesterov=False):
        super().__init__(params, lr)
        self.momentum, self.nesterov = momentum, nesterov

    def update(self, param, grad, state):
        if self.momentum:
            if not state:
                state["velocity"] = torch.zeros_like(param)
            velocity = state["velocity"]
            velocity.mul_(self.momentum).add_(grad)
            grad = grad + self.momentum * velocity if self.nesterov else velocity
        param.sub_(self.lr * grad)


class Adagrad(Optimizer):
    """Each number has a rate of its own, which only falls: lr / root of the sum of its squares."""

    def update(self, param, grad, state):
        if not state:
            state["sum"] = torch.zeros_like(param)
        state["sum"].add_(grad * grad)
        param.sub_(self.lr * grad / (state["sum"].sqrt() + 1e-10))


class Adam(Optimizer):
    """The running mean of the gradient over the root of its running square; decay is decoupled."""

    def __init__(self, params, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr)
        self.betas, self.eps, self.weight_decay = betas, eps, weight_decay

    def update(self, param, grad, state):
        if not state:
            state["t"] = 0
            state["mean"], state["square"] = torch.zeros_like(param), torch.zeros_like(param)
        (beta1, beta2), mean, square = self.betas, state["mean"], state["square"]
        state["t"] += 1
        mean.mul_(beta1).add_(grad, alpha=1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        mean_now = mean / (1 - beta1 ** state["t"])
        square_now = square / (1 - beta2 ** state["t"])
        if self.weight_decay:
            param.mul_(1 - self.lr * self.weight_decay)
        param.sub_(self.lr * mean_now / (square_now.sqrt() + self.eps))


class DigitNet(nn.Module):
    """64 pixels to 32 features to 10 scores."""

    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(64, 32)
        self.scores = nn.Linear(32, 10)

    def forward(self, x):
        return self.scores(self.hidden(x).relu())
