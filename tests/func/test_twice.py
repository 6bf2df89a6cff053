"""Gradients that were batched can be differentiated: over every sample, as those of a loop."""

import importlib

import numpy as np
import pytest

import tensorlab
from tensorlab import func
from tests.func.test_pushing import numbers_like
from tests.ops.every_sample import FAMILIES, call_quietly
from tests.ops.samples import is_floating, make_tensor

REFUSED = ("linalg.eig",)  # it asks whether vectors are normalized, which vmap can't answer
COUNT = 2  # cotangents at once


def is_differentiable(x):
    return x.is_floating_point() or x.is_complex()


def stacked_like(tensors, rng):
    return [tensorlab.stack([numbers_like(x, rng) for _ in range(COUNT)]) for x in tensors]


def gradients(sample):
    """The gradient of a weighted sum of v J, for two v at once and for one after the other."""
    rng = np.random.default_rng(3)
    arrays = sample.arrays()
    tensors = [make_tensor(tensorlab, array) for array in arrays]
    places = [i for i, array in enumerate(arrays) if is_floating(array) or array.dtype.kind == "c"]
    primals = tuple([tensors[place] for place in places])

    def call(*moving):
        arguments = list(tensors)
        for place, one in zip(places, moving, strict=True):
            arguments[place] = one
        tensorlab.manual_seed(0)
        results = call_quietly(sample.call, tensorlab, *arguments)
        return tuple(
            [y for y in results if isinstance(y, tensorlab.Tensor) and is_differentiable(y)]
        )

    cotangents, weights = stacked_like(call(*primals), rng), stacked_like(primals, rng)

    def total(products):
        pairs = zip(products, weights, strict=True)
        return sum((g * w).real.sum() if w.is_complex() else (g * w).sum() for g, w in pairs)

    def batched(*xs):
        _, pull = func.vjp(call, *xs)
        return total(func.vmap(lambda *v: pull(v), randomness="same")(*cotangents))

    def looped(*xs):
        _, pull = func.vjp(call, *xs)
        each = [pull(tuple([v[i] for v in cotangents])) for i in range(COUNT)]
        return total([tensorlab.stack(list(one)) for one in zip(*each, strict=True)])

    argnums = tuple(range(len(primals)))
    return [func.grad(function, argnums=argnums)(*primals) for function in (batched, looped)]


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_of_batched_gradients_are_those_of_a_loop(family):
    wrong = {}
    for sample in importlib.import_module(f"tests.ops.{family}").SAMPLES:
        if not sample.derivatives or sample.name in REFUSED:
            continue
        try:
            both = gradients(sample)
        except Exception as error:  # all of a family at once, each with its name
            wrong[sample.name] = f"{type(error).__name__}: {error}"
            continue
        for one, other in zip(*both, strict=True):
            if not tensorlab.allclose(one, other, rtol=1e-6, atol=1e-8, equal_nan=True):
                wrong[sample.name] = f"{one} and {other}"
    assert not wrong
