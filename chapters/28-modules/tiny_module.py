"""A Module class in fifty lines, and a network for digits made with it: the small program of chapter 28.

Chapters 29 to 34 go on with the same network.
"""

import tensorlab as torch


class Parameter(torch.Tensor):
    """A tensor that training changes; the class is only a mark."""

    def __new__(cls, values):
        return values.detach().clone().as_subclass(cls).requires_grad_()


class Module:
    """A function with state: it notices which parameters and modules are assigned to it."""

    def __init__(self):
        self.registered = []  # names, in the order of their first assignment

    def __setattr__(self, name, value):
        if isinstance(value, (Parameter, Module)) and name not in self.registered:
            self.registered.append(name)
        object.__setattr__(self, name, value)

    def __call__(self, x):
        return self.forward(x)

    def named_parameters(self, prefix=""):
        """Yield (dotted name, parameter), depth first."""
        for name in self.registered:
            value = getattr(self, name)
            if isinstance(value, Module):
                yield from value.named_parameters(f"{prefix}{name}.")
            else:
                yield prefix + name, value

    def state_dict(self):
        """Return the parameters by name; they share their memory with the model."""
        return {name: parameter.detach() for name, parameter in self.named_parameters()}

    def load_state_dict(self, state):
        """Copy values in; look at everything before the first is written."""
        own = self.state_dict()
        if own.keys() != state.keys():
            raise RuntimeError(f"names differ: {sorted(own.keys() ^ state.keys())}")
        for name, values in state.items():
            if values.shape != own[name].shape:
                raise RuntimeError(f"{name} has shape {own[name].shape}, not {values.shape}")
        for name, values in state.items():
            own[name].copy_(values)


class Linear(Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        bound = inputs**-0.5
        self.weight = Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound))
        self.bias = Parameter(torch.zeros(outputs))

    def forward(self, x):
        return x @ self.weight.T + self.bias


class DigitNet(Module):
    """64 pixels to 32 features to 10 scores."""

    def __init__(self):
        super().__init__()
        self.hidden = Linear(64, 32)
        self.scores = Linear(32, 10)

    def forward(self, x):
        return self.scores(self.hidden(x).relu())
