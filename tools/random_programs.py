"""Random programs, compiled and as they are: results, gradients, what they write and draw must be the same.

    python tools/random_programs.py --number 100000 --seed 0
    python tools/random_programs.py --seconds 600
    python tools/random_programs.py --number 1 --seed 17 --show

Each program is called several times, with tensors of two sizes, numbers of several types, a global that changes, grad
mode on and off. One in eight runs as generated code; the others as calls of ops, for which no C has to be compiled. All
results are compared to the last bit, but where numbers are added in another order than by the ops: sums in
generated code, and gradients, of which one node of several ops gives autograd the sum. They may differ by a
ten-thousandth. The exit status says whether there was a mismatch, and the programs that had one are shown.
"""

import argparse
import random
import sys
import time
import traceback
import warnings

import tensorlab

CALLS = 8
SIZES = 3, 5
FUNCTIONS = "sin tanh relu exp sigmoid neg abs cos square"
BOUNDED = "sin tanh relu sigmoid neg abs cos"
# (weight, lines). All values are matrices of four columns; v is the new one, x and y are older ones.
STATEMENTS = [
    (25, "{v} = T.{function}({x})"),
    (20, "{v} = {x} {operator} {y}"),
    (7, "{v} = {x} * {number}"),
    (4, "{v} = {x} / 3 + SCALE"),
    (5, "{v} = {x}.clone(); {v}[0] = {y}[1]"),
    (4, "{v} = {x}.clone(); {v}[0] = k"),
    (6, "{v} = {x}.clone(); {v}.{write}_({y})"),
    (6, "{v} = {x}.clone(); part = {v}[:, 1:]; part.{write}_(2)"),
    (3, "{v} = {x}.clone(); part = {v}.t()[1]; part.copy_({y}[:, 0])"),
    (5, "{v} = T.where({x} > {y}, {x}, {y} * 0.5)"),
    (5, "{v} = {x} * ({y} > 0)"),
    (3, "{v} = {x}.t().flip(0).t()"),
    (3, "{v} = T.cat([{x}[:, 2:], {y}[:, :2]], 1)"),
    (3, "first, second = {x}.chunk(2, 1); {v} = T.cat([second, first * 2], 1)"),
    (3, "{v} = {x}.max(1, keepdim=True).values + {y}"),
    (2, "{v} = {x}.sort(1)[0] * {y}"),
    (2, "{v} = {x} + T.rand({x}.shape)"),
    (2, "{v} = T.nn.functional.dropout({x}, 0.5)"),
    (5, "{v} = {x} + 1 if {y}[0, 0] > 0 else {x} - 1"),
    (3, "{v} = {x} + int({y}[1, 1] > 0.3) * k"),
    (3, "{v} = {x}\n    for i in range(int({y}[0, 1].abs().clamp(max=2) * 2)):\n        {v} = {v} * 0.5 + i"),
    (3, "parts = [{x}, {y}]; parts.append(parts[0] * 2); {v} = parts[-1] - parts[1]"),
    (2, "{v} = {{'a': {x}, 'b': {y}}}['a' if k == 2 else 'b'] + 1"),
    (2, "{v} = {x} * len({y})"),
    (3, "{v} = T.complex({x}, {y}).conj().imag"),
    (3, "{v} = T.view_as_real(T.complex({x}, {y}) * 1j)[..., 0]"),
    (2, "z = T.complex({x}, {y}); z.real.mul_(2); {v} = z.abs()"),
    (2, "{v} = T.fft.ifft(T.fft.fft({x})).real * {y}"),
    (2, "{v} = T.special.erf({x}) + T.special.i0e({y})"),
]  # fmt: skip
ADDING = [  # numbers, in an order that generated code may change
    (4, "{v} = {x} - {y}.mean(1, keepdim=True)"),
    (4, "{v} = {x} * {y}.sum(0)"),
    (3, "{v} = T.softmax({x}, 1) + {y}"),
    (3, "{v} = T.nn.functional.layer_norm({x}, (4,)) * 0.5"),
    (3, "{v} = {x} @ ({y}.t() @ {x}).tanh()"),
    (2, "{v} = {x}.cumsum(0).tanh()"),
    (2, "{v} = T.linalg.solve({x}.t() @ {x} + 9 * T.eye(4), {y}.t()).t()"),
    (2, "{v} = {x}.tanh() @ T.linalg.inv({y}.t() @ {y} + 9 * T.eye(4))"),
    (2, "{v} = {x} * T.linalg.slogdet({y}.t().tanh() @ {y}.tanh() + 9 * T.eye(4))[1]"),
    (2, "{v} = T.linalg.cholesky({x}.t() @ {x} + 9 * T.eye(4))[:1] * {y}"),
    (1, "{v} = T.sparse.mm({x}.tanh().to_sparse(), {y}.t().tanh()) @ {y}"),
]
AT_THE_END = [
    "a.add_(1)",
    "b.mul_(a.detach())",
    "a[1] = b[0].detach()",
    "a.t()[0].zero_()",
    "b.copy_({x}.detach())",
]


def write_program(draw, is_exact):
    """Return the source of a function of two tensors and a number."""
    statements = STATEMENTS if is_exact else STATEMENTS + ADDING
    weights = [weight for weight, _ in statements]
    lines, names = ["def f(a, b, k):"], ["a", "b"]
    for i in range(draw.randint(2, 10)):
        _, text = draw.choices(statements, weights)[0]
        line = text.format(
            v=f"v{i}",
            x=draw.choice(names),
            y=draw.choice(names),
            function=draw.choice((FUNCTIONS if is_exact else BOUNDED).split()),
            operator=draw.choice("+-*"),
            number=draw.choice(["2", "0.5", "k", "-1.0"]),
            write=draw.choice(["add", "mul", "sub"]),
        )
        lines.append(f"    {line}")
        names.append(f"v{i}")
    if draw.random() < 0.3:
        lines.append("    " + draw.choice(AT_THE_END).format(x=draw.choice(names)))
    lines.append(f"    return {draw.choice(names)}, {names[-1]}, k")
    return "\n".join(lines)


def run(function, seed, size, k, mode):
    """What can be seen of a call: ([results, arguments afterwards, the next random number], gradients)."""
    tensorlab.manual_seed(seed)
    a, b = tensorlab.randn(size, 4), tensorlab.randn(size, 4)
    leaves = [a, b] if mode == "grad" else []
    for one in leaves:
        one.requires_grad_()
    given = [one * 1 for one in leaves] or [a, b]
    try:
        with tensorlab.set_grad_enabled(mode != "no_grad"):
            *results, number = function(*given, k)
        followed = [one for one in results if one.requires_grad]
        if followed:
            sum(one.sum() for one in followed).backward()
    except Exception as error:
        return [type(error).__name__, str(error).partition("\n")[0]], []
    flags = [one.requires_grad for one in results]
    return [*results, *given, *flags, number, tensorlab.rand(1)], [one.grad for one in leaves]


def all_same(expected, found, is_exact):
    return len(expected) == len(found) and all(
        same(x, y, is_exact) for x, y in zip(expected, found, strict=True)
    )


def same(x, y, is_exact):
    if not isinstance(x, tensorlab.Tensor) or not isinstance(y, tensorlab.Tensor):
        return type(x) is type(y) and x == y
    if (x.dtype, x.shape) != (y.dtype, y.shape):
        return False
    x, y = x.detach(), y.detach()
    if is_exact:
        return bool(((x == y) | ((x != x) & (y != y))).all())
    return tensorlab.allclose(x, y, rtol=1e-4, atol=1e-4, equal_nan=True)


def check(number, code_every=8):
    """Run one program; returns (its source, what differed or None, the counts of its calls)."""
    draw = random.Random(number)
    has_code = number % code_every == 0
    is_exact = draw.random() < 0.5
    source = write_program(draw, is_exact)
    scope = {"T": tensorlab, "SCALE": 0.5}
    exec(compile(source, f"<program {number}>", "exec"), scope)
    plain, compiled = scope["f"], tensorlab.compile(scope["f"], options={"code": has_code})
    mode = draw.choice(["grad", "plain", "no_grad"])
    is_exact |= not has_code
    difference = None
    for call in range(CALLS):
        given = draw.randint(0, 3), draw.choice(SIZES), draw.choice([2, 3.0]), mode
        scope["SCALE"] = draw.choice([0.5, 0.5, 2])
        expected, found = run(plain, *given), run(compiled, *given)
        exactly, about = zip(expected, found, strict=True)
        if not all_same(*exactly, is_exact) or not all_same(*about, False):
            difference = f"call {call}, {given}: expected {expected}\nfound {found}"
            break
    return source, difference, compiled.compiled.counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first program")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--show", action="store_true", help="show each program")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    counts, mismatches, begin, done = {}, [], time.monotonic(), 0
    for number in range(arguments.seed, arguments.seed + arguments.number):
        try:
            source, difference, calls = check(number)
        except Exception:
            source, difference, calls = f"program {number}", traceback.format_exc(), {}
        if arguments.show:
            print(source)
        if difference:
            mismatches.append(number)
            print(f"MISMATCH in program {number}\n{source}\n{difference}\n", flush=True)
        for kind, count in calls.items():
            counts[kind] = counts.get(kind, 0) + count
        done += 1
        if done % 1000 == 0:
            tensorlab.compiler.reset()
            print(f"{done} programs, {len(mismatches)} mismatches, {counts}", flush=True)
        if time.monotonic() - begin > arguments.seconds:
            break
    print(f"{done} programs, {len(mismatches)} mismatches: {mismatches}; calls: {counts}")
    return bool(mismatches)


if __name__ == "__main__":
    sys.exit(main())
