"""Unpack hooks that return something odd, over the samples of all ops.

`python -m tests.autograd.odd_hooks 0 40 float64 all` runs the first forty; with `some`, the first sample of each op
counts. Each line that is printed names a case before it
runs, so that the last line tells which one ended the process, if one did; a line that begins with "wrong" tells of a
case that gave a wrong number. Not a test file: test_odd_hooks.py starts it.
"""

import sys
import warnings

import numpy as np

import tensorlab as T
from tests.ops.every_sample import DIFFERENTIABLE, as_tuple, one_of_each_op
from tests.ops.samples import is_floating, make_tensor


# ---------------------------------------------------------------- what unpack returns
def shortened(t):
    return t[..., :-1] if t.dim() else t.new_zeros((0,))


def scattered(t):
    """The same values, with gaps and in another order in memory."""
    out = t.new_zeros([2 * size for size in t.shape])[tuple(slice(None, None, 2) for _ in t.shape)]
    out = out if t.dim() < 2 else out.clone().transpose(0, -1).contiguous().transpose(0, -1)
    return out.copy_(t)


def wild(t):
    """Any bit patterns: integers far out of range and just out of range, nan and infinities."""
    rng = np.random.default_rng(t.numel())
    choices = [-(2**63), 2**63 - 1, -1, 2**31, 2**40, -(2**40), 1000, 7]
    if t.dtype == T.bool:
        numbers = rng.integers(0, 2, t.shape).astype(bool)
    elif t.is_floating_point():
        numbers = rng.choice([np.nan, np.inf, -np.inf, 1e30, -1e-30, 0.0], t.shape)
    else:
        numbers = rng.choice(choices, t.shape)
    return T.tensor(numbers.tolist(), dtype=t.dtype).reshape(t.shape)


# name: function of what was packed, and whether the gradient must be right (else an error or any number, but no crash)
ODD = {
    "half": (lambda t: t.half(), False),
    "double": (lambda t: t.double(), False),
    "float": (lambda t: t.float(), False),
    "long": (lambda t: t.long(), False),
    "int": (lambda t: t.int(), False),
    "bool": (lambda t: t != 0, False),
    "reversed dimensions": (lambda t: t.permute(*range(t.dim() - 1, -1, -1)), False),
    "one more dimension": (lambda t: t.expand(2, *t.shape), False),
    "larger": (lambda t: t.new_zeros([size + 1 for size in t.shape]), False),
    "shortened": (shortened, False),
    "of no dimensions": (lambda t: t.new_zeros(()), False),
    "empty": (lambda t: t.new_zeros((0, *t.shape)), False),
    "meta": (lambda t: t.to("meta"), False),
    "no tensor": (lambda t: 5, False),
    "one element for all": (lambda t: t.new_ones(()).expand(t.shape), False),
    "wild": (wild, False),
    "scattered": (scattered, True),
}


class Hooks:
    """Hooks that keep what they are given, and return something odd for one of the tensors, once they are told to."""

    def __init__(self):
        self.packed, self.which, self.odd = 0, None, None

    def pack(self, t):
        self.packed += 1
        return self.packed - 1, t

    def unpack(self, pair):
        number, t = pair
        return self.odd(t.detach()) if number == self.which else t


def gradients(sample, dtype, order, hooks):
    """A function that computes the first or second gradients of a call, again and again; None if there are none."""
    inputs = [
        make_tensor(T, array, dtype, requires_grad=is_floating(array)) for array in sample.arrays()
    ]
    leaves = [x for x in inputs if x.requires_grad]
    results = [y for y in as_tuple(sample.call(T, *inputs)) if isinstance(y, T.Tensor)]
    results = [y for y in results if y.requires_grad]
    weights = [T.ones_like(y, requires_grad=True) for y in results]
    if results and order == 2:
        grads = T.autograd.grad(results, leaves, weights, create_graph=True, allow_unused=True)
        leaves, results = leaves + weights, [g for g in grads if g is not None and g.requires_grad]
        weights = [T.ones_like(g) for g in results]
    if not results:
        return None
    return lambda: [
        None if g is None else g.tolist()
        for g in T.autograd.grad(results, leaves, weights, retain_graph=True, allow_unused=True)
    ]


def is_close(got, expected, dtype):
    """Equal but for rounding: other strides may add in another order."""
    rtol, atol = (1e-9, 1e-9) if dtype == "float64" else (1e-4, 1e-5)
    return all(
        one is other or (one is not None and np.allclose(one, other, rtol, atol, equal_nan=True))
        for one, other in zip(got, expected, strict=True)
    )


def run(sample, dtype):
    for order in range(1, 1 + sample.derivatives):
        hooks = Hooks()
        with T.autograd.graph.saved_tensors_hooks(hooks.pack, hooks.unpack):
            compute = gradients(sample, dtype, order, hooks)
        if compute is None:
            return
        expected = compute()
        for which in range(hooks.packed):
            for name, (odd, is_right) in ODD.items():
                case = f"{sample.name}, derivative {order}: saved tensor {which}, {name}"
                print(case, flush=True)
                hooks.which, hooks.odd = which, odd
                try:
                    got = compute()
                except Exception as error:
                    if is_right:
                        print(f"wrong: {case}: {type(error).__name__}: {error}", flush=True)
                else:
                    if is_right and not is_close(got, expected, dtype):
                        print(f"wrong: {case}: another gradient", flush=True)


CHOICES = {"all": DIFFERENTIABLE, "some": one_of_each_op(DIFFERENTIABLE)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    first, last, dtype, which = sys.argv[1:]
    for sample in CHOICES[which][int(first) : int(last)]:
        run(sample, dtype)
    print("done", flush=True)
