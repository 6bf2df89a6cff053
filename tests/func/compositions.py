"""Random programs under up to four nested transforms, on PyTorch and tensorlab.

A program is a few lines over two tensors; each transform makes a new function of it, of the same two
arguments: grad, vjp, jvp, jacrev, jacfwd, vmap in any order. The results of both packages are compared.

    python -m tests.func.compositions --number 20000 --seed 0
    python -m tests.func.compositions --number 1 --seed 17 --show
"""

import argparse
import random
import re
import sys
import time
import warnings

import numpy as np

import tensorlab
from tests.oracle import require_torch

LARGEST = 4000  # elements of a result: more transforms that multiply its size aren't added
TOLERANCE = 1e-8

# What PyTorch says where it lacks something: a write whose tangent is computed of what was there before, and one to
# a tensor that the function made and that is the same for all examples.
LACKING = ["has been modified by an inplace operation", "vmap: inplace arithmetic"]

# Lines of a program. {a} is a value, {b} another one; {d} a dimension of a, {n} its size, {i} a place in it.
LINES = """
{a}.sin()
{a}.cos() * 0.5
{a}.tanh()
{a}.sigmoid()
(-{a} * {a}).exp()
({a} * {a} + 1).sqrt()
({a} * {a} + 1).log()
1 / (1 + {a} * {a})
{a} ** 3 * 0.1
({a} * {a} + 0.5) ** ({b}.mean() * 0.1 + 1)
T.erf({a})
T.atan2({a}, 2 + {b}.tanh().mean())
F.softplus({a})
F.gelu({a})
F.silu({a})
F.leaky_relu({a}, 0.1)
F.softmax({a}, -1)
F.log_softmax({a}, {d})
T.where({a} > 0.1, {a}, {a} * {a})
{a}.clamp(-1, 1) + {a}
T.maximum({a}, {b}.mean())
T.lerp({a}, {a} * 2, {b}.mean().tanh())
T.addcmul({a}, {a}, {a}.tanh(), value=0.3)
{a} - {a}.mean()
{a} / ({b}.abs().sum() + 1)
{a} + {b}.sum() * 0.1
{a} * {b}.tanh().mean()
{a}.sum({d}, keepdim=True) * 0.3 + {a}
{a}.sum({d}) * 0.5
{a}.mean({d}, keepdim=True) - {a}
{a}.amax({d}, keepdim=True) + {a}.tanh()
{a}.max({d})[0]
{a}.logsumexp({d})
{a}.std({d}, keepdim=True) * {a} if {n} > 1 else {a}
{a}.var({d}, correction=0) + 1
{a}.norm(dim={d}, keepdim=True) + {a}
T.linalg.vector_norm({a}, 3.0)
{a}.prod({d}, keepdim=True) + {a}
{a}.cumsum({d})
{a}.cumprod({d})
{a}.logcumsumexp({d})
{a}.sort({d})[0]
{a}.flip({d})
{a}.roll(1, {d})
{a}.select({d}, {i}) + 1
{a}.narrow({d}, {i}, 1).expand_as({a}) * {a}
{a}.index_select({d}, T.tensor([{i}, 0, {i}]))
{a}.gather({d}, T.zeros({shape}, dtype=T.int64) + {i})
{a}.transpose(0, -1)
{a}.reshape(-1)
{a}.unsqueeze({d}).tanh()
{a}.movedim({d}, 0)
T.cat([{a}, {a}.sin()], {d})
T.stack([{a}, {a} * 2], {d}).sum({d})
{a}.repeat_interleave(2, {d}) * 0.5
{a}.tril() if len({shape}) > 1 else {a}
{a}.diagonal(dim1=0, dim2=-1) + 1 if len({shape}) > 1 else {a}
{a}.unfold({d}, 1, 1).squeeze(-1)
F.pad({a}, (1, 0))
{a}[..., :1] * {a}
{a}[..., [0, 0]]
{a}.clone().mul_({a}.cos())
{a}.clone().add_({b}.mean()).exp_().clamp_max(9)
{a}.mT @ {a} * 0.2 if len({shape}) > 1 else {a}.dot({a})
{a} @ {a}.mT.sin() * 0.2 if len({shape}) > 1 else T.outer({a}, {a}) * 0.1
{a}.reshape(-1).dot({a}.reshape(-1).tanh()) * 0.3
T.outer({a}.reshape(-1)[:3], {b}.reshape(-1)[:2]) * 0.5
T.einsum('i,j->ij', {a}.reshape(-1)[:2], {a}.reshape(-1)[:3])
F.linear({a}, T.ones(2, {last}, dtype=T.float64) * 0.3, T.zeros(2, dtype=T.float64) + {b}.mean())
F.layer_norm({a}, ({last},)) + {a} if {last} > 1 else {a}
F.mse_loss({a}, {a}.tanh(), reduction='none')
F.smooth_l1_loss({a}, {a}.tanh(), reduction='sum')
{a}.detach() * {a}
T.logaddexp({a}, {a}.mean())
T.nn.functional.normalize({a}, dim={d})
{a}.masked_fill({a} > 0.5, 0.25)
T.linalg.solve(T.eye({n}, dtype=T.float64) * 4 + {a}.reshape(-1)[0], {a}.movedim({d}, 0).reshape({n}, -1))
T.det({a}.reshape(-1)[0] * T.ones(2, 2, dtype=T.float64) + T.eye(2, dtype=T.float64) * 3) * {a}
"""
LINES = [line for line in LINES.splitlines() if line]
TRANSFORMS = ("grad", "vjp", "jvp", "jacrev", "jacfwd", "vmap", "vmap")


class Program:
    """Lines of code over x and y that both packages understand, chosen with a look at PyTorch's values."""

    def __init__(self, rng, x, y):
        self.lines, torch = [], require_torch()
        names = {"T": torch, "F": torch.nn.functional, "x": x, "y": y}
        values = ["x", "y"]
        for k in range(rng.randint(1, 4)):
            for _ in range(50):
                a, b = rng.choice(values[-2:]), rng.choice(values)
                shape = tuple(names[a].shape)
                if not shape:
                    line = rng.choice(LINES[:15])
                    code = line.replace("{a}", a).replace("{b}", b)
                    code = code.replace("{d}", "0")
                else:
                    d = rng.randrange(len(shape))
                    line = rng.choice(LINES)
                    sizes = {"n": shape[d], "i": rng.randrange(shape[d]), "last": shape[-1]}
                    code = line.format(a=a, b=b, d=d, shape=shape, **sizes)
                try:
                    value = eval(code, names)
                except (RuntimeError, IndexError, ValueError):
                    continue
                if 0 < value.numel() <= 60 and value.abs().max() < 30:
                    break
            else:
                code, value = "x.sin()", names["x"].sin()
            name = f"v{k}"
            self.lines.append(f"{name} = {code}")
            names[name] = value
            values.append(name)
        self.lines.append(f"out = {values[-1]}")
        self.out_shape = tuple(names[values[-1]].shape)
        self.code = compile("\n".join(self.lines), "<program>", "exec")

    def function(self, T, spelled_out=False):
        code = self.code
        if spelled_out:
            code = re.sub(
                r"\.logcumsumexp\((\d)\)", r".exp().cumsum(\1).log()", "\n".join(self.lines)
            )
            code = re.sub(
                r"F\.layer_norm\((\w+), \(\d,\)\)",
                r"(\1 - \1.mean(-1, True)) / (\1.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()",
                code,
            )
            code = code.replace("T.det(", "(lambda m: m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0])(")

        def run(x, y):
            names = {"T": T, "F": T.nn.functional, "x": x, "y": y}
            exec(code, names)
            return names["out"]

        return run


class Composition:
    """A program, and transforms around it, from the inside out. Each is a function of (T, f): the new f."""

    def __init__(self, seed):
        torch = require_torch()
        rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        shapes = [tuple(rng.randint(1, 3) for _ in range(rng.randint(0, 2))) for _ in "xy"]
        self.program = Program(rng, *[torch.from_numpy(self._numbers(one)) for one in shapes])
        out, self.steps, self.names = self.program.out_shape, [], []
        for _ in range(rng.randint(1, 4)):
            kind = rng.choice(TRANSFORMS)
            which = rng.choice((0, 0, 1))
            step = getattr(self, "_" + kind)(rng, shapes, out, which)
            if step is None:
                continue
            apply, shapes, out, text = step
            self.steps.append(apply)
            self.names.append(text)
        self.arguments = [self._numbers(one) for one in shapes]

    def _numbers(self, shape):
        return np.asarray(self.numbers.standard_normal(shape))

    def run(self, T, func=None):
        """Call the transformed function with package T, and return its result as an array.

        With other transforms than its own, a package also gets formulas in the place of the functions whose higher
        derivatives are wrong in PyTorch.
        """
        f, func = self.program.function(T, func is not None), func or T.func
        for step in self.steps:
            f = step(T, func, f)
        x, y = [T.from_numpy(one.copy()) for one in self.arguments]
        out = f(x, y).detach()
        return (out + T.zeros_like(out)).numpy()  # PyTorch has zeros without memory

    def __str__(self):
        return "\n".join([*self.program.lines, "then: " + ", ".join(self.names)])

    # ------------------------------------------------------------ transforms
    def _grad(self, rng, shapes, out, which):
        weights = self._numbers(out)

        def apply(T, func, f):
            return func.grad(lambda x, y: (f(x, y) * T.from_numpy(weights)).sum(), which)

        return apply, shapes, shapes[which], f"grad {which}"

    def _vjp(self, rng, shapes, out, which):
        weights = self._numbers(out)

        def apply(T, func, f):
            return lambda x, y: func.vjp(f, x, y)[1](T.from_numpy(weights))[which]

        return apply, shapes, shapes[which], f"vjp {which}"

    def _jvp(self, rng, shapes, out, which):
        tangents = [self._numbers(one) for one in shapes]

        def apply(T, func, f):
            return lambda x, y: func.jvp(f, (x, y), tuple(map(T.from_numpy, tangents)))[1]

        return apply, shapes, out, "jvp"

    def _jacobian(self, name, shapes, out, which):
        if int(np.prod(out) * np.prod(shapes[which])) > LARGEST:
            return None
        apply = lambda T, func, f: getattr(func, name)(f, which)
        return apply, shapes, (*out, *shapes[which]), f"{name} {which}"

    def _jacrev(self, rng, shapes, out, which):
        return self._jacobian("jacrev", shapes, out, which)

    def _jacfwd(self, rng, shapes, out, which):
        return self._jacobian("jacfwd", shapes, out, which)

    def _vmap(self, rng, shapes, out, which):
        size = rng.randint(
            2, 3
        )  # PyTorch lets what differs be written to what all share if there is one example
        if int(np.prod(out)) * size > LARGEST:
            return None
        dims = [rng.choice((0, None, rng.randint(0, len(one)))) for one in shapes]
        if dims == [None, None]:
            dims[which] = 0
        grown = [
            one if dim is None else (*one[:dim], size, *one[dim:])
            for one, dim in zip(shapes, dims, strict=True)
        ]
        place = rng.randint(0, len(out))

        def apply(T, func, f):
            def g(
                x, y
            ):  # PyTorch puts the dimension of a result that depends on no batch at the wrong place
                return f(x, y) + 0 * (x.sum() + y.sum())

            return func.vmap(g, in_dims=tuple(dims), out_dims=place)

        return apply, grown, (*out[:place], size, *out[place:]), f"vmap {dims} -> {place}"


class BackwardOnly:
    """PyTorch's transforms without its forward mode, some of whose formulas can't be differentiated again."""

    def __init__(self, func):
        self.grad, self.vjp, self.vmap, self.jacrev = func.grad, func.vjp, func.vmap, func.jacrev
        self.jacfwd = func.jacrev

    def jvp(self, f, primals, tangents):
        """J t: v -> v J is linear, and its own transpose is t -> J t."""
        out, pull = self.vjp(f, *primals)
        return out, self.vjp(pull, out)[1](tangents)[0]


def difference(seed):
    """None if both packages agree on a composition, else a text: what each of them did."""
    torch = require_torch()
    composition = Composition(seed)
    results = []
    for package in (torch, tensorlab):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results.append(composition.run(package))
        except Exception as error:
            results.append(error)
    expected, given = results
    if isinstance(expected, Exception) and any(one in str(expected) for one in LACKING):
        return None
    if isinstance(expected, Exception):
        return None if isinstance(given, Exception) else f"PyTorch only: {expected!r:.200}"
    if isinstance(given, Exception):
        return f"{type(given).__name__}: {given!s:.300}"
    if expected.shape != given.shape:
        return f"shapes {expected.shape} and {given.shape}"
    if not _agree(expected, given):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                again = composition.run(torch, BackwardOnly(torch.func))
        except RuntimeError as error:
            return f"differ by {np.nanmax(np.abs(expected - given), initial=0):.3g}; then {error!r:.100}"
        if not _agree(again, given):
            return f"differ by {np.nanmax(np.abs(expected - given), initial=0):.3g}"
    return None


def _agree(expected, given):
    scale = max(1.0, np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    return np.allclose(expected, given, rtol=0, atol=TOLERANCE * scale, equal_nan=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    begin, found = time.time(), 0
    for seed in range(options.seed, options.seed + options.number):
        text = difference(seed)
        if options.show:
            print(Composition(seed))
        if text is not None:
            found += 1
            print(
                f"{seed}: {text}\n    " + str(Composition(seed)).replace("\n", "\n    "), flush=True
            )
        if sys.stderr.isatty():
            print(f"\r{seed + 1 - options.seed} of {options.number}", end="", file=sys.stderr)
    print(f"{options.number} compositions, {found} differ, {time.time() - begin:.0f} s")


if __name__ == "__main__":
    main()
