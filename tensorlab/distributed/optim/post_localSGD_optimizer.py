"""PostLocalSGDOptimizer: ranks train alone for some steps, and average their models then.

Source: Lin, Stich, Patel, Jaggi 2020, Don't Use Large Mini-Batches, Use Local SGD.
"""

from tensorlab import _missing
from tensorlab.optim.optimizer import Optimizer

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(Optimizer):
    """Step with an optimizer, and average the parameters over the ranks every now and then.

    Parameters
    ----------
    optim : Optimizer, this rank's
    averager : ModelAverager, such as PeriodicModelAverager
    """

    def __init__(self, optim, averager):
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self):
        return self.optim.state

    def __repr__(self):
        return repr(self.optim)

    def state_dict(self):
        """Return the optimizer's state dict, with the averager's step under "step"."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` returned."""
        self.optim.load_state_dict({k: v for k, v in state_dict.items() if k != "step"})
        self.averager.step = state_dict.get("step", 0)

    def step(self):
        """Step, and average if it's time."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none=True):
        """Forget the gradients."""
        self.optim.zero_grad(set_to_none)

    def add_param_group(self, param_group):
        """Add parameters with options of their own."""
        self.optim.add_param_group(param_group)


__getattr__ = _missing.refusing(__name__)
