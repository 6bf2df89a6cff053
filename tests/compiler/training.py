"""Whole training steps as programs for the compiler: forward, loss, backward, clipping, optimizer."""

import tensorlab
from tensorlab import nn
from tests.ops.test_record_and_replay import NETWORKS, OPTIMIZERS


class Training:
    """A network that is trained by one of the optimizers; all its tensors are inputs of the program."""

    def __init__(self, network, optimizer):
        make_network, self.make_input = NETWORKS[network]
        tensorlab.manual_seed(1)
        self.net = make_network()
        self.make_input()
        self.state = {k: v.detach().clone() for k, v in self.net.state_dict().items()}
        self.optimizer = OPTIMIZERS[optimizer]

    def inputs(self):
        tensorlab.manual_seed(2)
        weights = [
            one.clone().requires_grad_(one.is_floating_point()) for one in self.state.values()
        ]
        x = self.make_input()
        return [x, tensorlab.randint(0, 5, (len(x),)), *weights]

    def load(self, weights):
        """Let the network have these tensors as its parameters and buffers."""
        fresh = dict(zip(self.state, weights, strict=True))
        for path, module in self.net.named_modules():
            for name in list(module._parameters):
                if module._parameters[name] is not None:
                    module._parameters[name] = fresh[f"{path}.{name}".lstrip(".")]
            for name in list(module._buffers):
                if module._buffers[name] is not None:
                    module._buffers[name] = fresh[f"{path}.{name}".lstrip(".")].detach()

    def step(self, x, labels, *weights):
        """One training step; it returns the loss, the gradients and the weights."""
        self.load(weights)
        optimizer = self.optimizer(list(self.net.parameters()))
        loss = nn.functional.cross_entropy(self.net(x), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        gradients = [one.grad for one in self.net.parameters()]
        optimizer.step()
        return loss.detach(), gradients, [one.detach() for one in self.net.state_dict().values()]

    def loss(self, x, labels, *weights):
        """Forward alone; its backward is derived."""
        self.load(weights)
        return nn.functional.cross_entropy(self.net(x), labels)
