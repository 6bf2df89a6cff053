"""The seed of every random stream that a test may draw from; TENSORLAB_TEST_SEED=n sets another."""

import os
import random
import sys

import numpy as np

SEED = int(os.environ.get("TENSORLAB_TEST_SEED", "0"))


def seed_everything():
    """Seed Python, NumPy, tensorlab and, if something has imported it, PyTorch."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 - what scikit-learn and others draw from
    for name in ("tensorlab", "torch"):
        if hasattr(sys.modules.get(name), "manual_seed"):
            sys.modules[name].manual_seed(SEED)
