"""Programs as users of transforms write them; each runs on PyTorch and on tensorlab.

A program is a function of the module, torch or tensorlab, that returns a dict of tensors and numbers.
test_programs.py runs those of every file here on both, and compares. Their themes are those of
PyTorch's guides to torch.func, forward mode and torch.autograd.functional.
"""

import numpy as np

PROGRAMS = {}


def program(function):
    """Put a function among the programs."""
    assert function.__name__ not in PROGRAMS, f"two programs are called {function.__name__}"
    PROGRAMS[function.__name__] = function
    return function


def normal(T, *shape, seed=0):
    """A tensor of normally distributed doubles, the same in both packages."""
    numbers = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return T.from_numpy(np.asarray(numbers))


def filled(T, model, seed=0):
    """The model in double precision, with parameters that are the same in both packages."""
    model = model.double()
    with T.no_grad():
        for i, parameter in enumerate(model.parameters()):
            parameter.copy_(0.4 * normal(T, *parameter.shape, seed=seed + i))
    return model


def state_of(model):
    """Parameters and buffers of a model by their names, without a graph."""
    return (
        {name: x.detach() for name, x in model.named_parameters()},
        {name: x.detach() for name, x in model.named_buffers()},
    )


def flat(prefix, tensors):
    """A dict of tensors with a word before each name."""
    return {f"{prefix} {name}": x for name, x in tensors.items()}
