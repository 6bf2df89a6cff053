"""Time a network in four forms: as it is, traced, interpreted, and with its batch norms folded. Prints JSON."""

import json
import time

from fold import fold_batch_norms

import tensorlab as torch
from tensorlab import fx, nn


def network():
    """Return a small convolutional network in evaluation mode."""
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()]
    for _ in range(3):
        layers += [nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8), nn.ReLU()]
    return nn.Sequential(*layers).eval()


def main(rounds=25, times=4):
    """Measure the four forms in turn, so that a busy moment hits all of them."""
    torch.set_num_threads(1)  # thread_time counts this thread alone
    net = network()
    x = torch.randn(8, 1, 32, 32)
    traced, folded = fx.symbolic_trace(net), fx.symbolic_trace(net)
    fold_batch_norms(folded)
    forms = {
        "the module": net,
        "traced": traced,
        "interpreted": fx.Interpreter(traced).run,
        "traced and folded": folded,
    }
    found = {name: [] for name in forms}
    with torch.no_grad():
        for _ in range(rounds):
            for name, form in forms.items():
                start = time.thread_time()
                for _ in range(times):
                    form(x)
                found[name].append((time.thread_time() - start) / times * 1e6)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
