"""Random programs about the engine, run line by line on PyTorch and on tensorlab.

Each line is written with a look at what PyTorch's run has so far, and run on both. Then all that both runs have is
compared: values, gradients, versions, flags, errors, and the order in which hooks and packing were called.

    python -m tests.autograd.random_programs 17         runs program 17 and prints it
"""

import os
import re
import sys
import warnings

import tensorlab
from tests.autograd.program_writer import Writer, is_tensor
from tests.ops.agreement import is_close
from tests.oracle import require_torch

LINES = 25  # of a program


# ---------------------------------------------------------------- what the programs can use
def seen(value):
    """A value of either package in plain Python."""
    if isinstance(value, (tuple, list)):
        return [seen(one) for one in value]
    return value.tolist() if hasattr(value, "storage_offset") else value


def functions(T):
    """Custom functions of each kind."""

    class Scale(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.factor = factor
            ctx.save_for_backward(x)
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor + 0 * ctx.saved_tensors[0], None

    class Write(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    class Row(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x[0]

        @staticmethod
        def backward(ctx, grad):
            out = T.zeros(ctx.shape, dtype=T.float64)
            out[0] = grad
            return out

    class Same(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    class Two(T.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            out = x * y
            ctx.save_for_backward(x, y, out)
            ctx.set_materialize_grads(False)
            return out, x.sin()

        @staticmethod
        def backward(ctx, first, second):
            x, y, out = ctx.saved_tensors
            of_x = of_y = None
            if first is not None:
                of_x, of_y = first * y, first * x
            if second is not None:
                of_x = second * x.cos() if of_x is None else of_x + second * x.cos()
            return of_x, of_y

    return {"Scale": Scale, "Write": Write, "Row": Row, "Same": Same, "Two": Two}


def surroundings(T, log):
    """The names that every program has."""

    def tell(name, result=None):
        """A hook that notes its call and gives `result(argument)`."""

        def hook(*arguments):
            log.append((name, seen(arguments)))
            return None if result is None else result(*arguments)

        return hook

    def pack(x):
        log.append(("pack", seen(x)))
        return x * 1

    def unpack(x):
        return x  # PyTorch unpacks what it will not need, too

    def inner(x):
        return (x.sin() * x).tanh()

    def backward_of(x):
        depth = [0]

        def hook(grad):
            log.append(("nested", seen(grad)))
            if depth[0] < 2:  # the pass may come to this hook again
                depth[0] += 1
                with T.enable_grad():
                    (x.sin() * 2).sum().backward()
                depth[0] -= 1

        return hook

    if T is tensorlab:
        from tensorlab.utils.checkpoint import checkpoint
    else:
        from torch.utils.checkpoint import checkpoint
    names = {
        "T": T,
        "tell": tell,
        "pack": pack,
        "unpack": unpack,
        "inner": inner,
        "backward_of": backward_of,
        "seen": seen,
    }
    return {**names, "checkpoint": checkpoint, "log": log, **functions(T)}


# ---------------------------------------------------------------- running it on both
def state(names):
    """What can be seen of the tensors without disturbing them."""
    out = {}
    for name, value in names.items():
        if is_tensor(value) and name[1:].isdigit():
            grad = (
                value.grad if name[0] == "x" else None
            )  # of others it may bring a view up to date
            out[name] = [
                seen(value),
                value._version,
                None if grad is None else [seen(grad), grad.requires_grad],
            ]
        elif name[0] == "g" and name[1:].isdigit():
            out[name] = seen(value)
    return out


def step(line, names, before):
    """Run a line; the builtin class of the error, or None, and the error."""
    before(names["T"])
    try:
        exec(line, names)
        return None, None
    except Exception as error:
        return next(c for c in type(error).__mro__ if c.__module__ == "builtins"), error


# Where PyTorch raises and tensorlab need not: the program ends there. (See the appendix on differences.)
PARTINGS = (
    "A leaf node was passed to _will_engine_execute_node",  # multi-grad hooks under autograd.grad
    "Expected gradient function to be set",  # and of a view made under no_grad
    "INTERNAL ASSERT FAILED",  # a write after retain_grad and detach_
)


def parted(program, their_error, our_error):
    """Is the outcome of the last line one that may differ?"""
    line = program[-1]
    if "Write.apply" in line and their_error is not None and our_error is not None:
        return True  # both have written before they refuse, and count their writes differently
    if their_error is not None and our_error is None:
        if "[:] +=" in line and "leaf Variable" in str(their_error):
            return True  # PyTorch looks at the view before it brings it up to date
        is_partial = "inputs=" in line or "autograd.grad(" in line
        if is_partial and any("checkpoint" in one or "pack" in one for one in program):
            return True  # PyTorch unpacks, and so computes again, what the pass does not need
    if asks_before_and_after_a_hook(program):
        return True
    return any(text in str(their_error) for text in PARTINGS)


def asks_before_and_after_a_hook(program):
    """Does the last line ask for two gradients, one of a tensor whose hook changes it?

    PyTorch gives that one as it was before the hook if the other lies beyond it, and else as the hook left it.
    """
    asked = re.search(r"autograd\.grad\(.*\[(\w+), (\w+)\]", program[-1])
    hooks = [f"{name}.register_hook(tell(" for name in (asked.groups() if asked else ())]
    return any(hook in line and "lambda" in line for hook in hooks for line in program)


def in_order(log):
    """The log, but with tensors that one operation packed in no order: that is not part of the interface."""
    out = []
    for entry in log:
        if entry[0] == "pack" and out and out[-1][0] == "packed":
            out[-1][1] = sorted([*out[-1][1], entry[1]], key=repr)
        else:
            out.append(["packed", [entry[1]]] if entry[0] == "pack" else entry)
    return out


class Mismatch(AssertionError):
    """The two runs have parted."""


def run(seed, before=lambda T: None):
    """Write and run a program; raise Mismatch at the first difference. Returns the program.

    `before` is called with the package before a line runs on it.
    """
    torch = require_torch()
    writer, program = Writer(seed), []
    logs = {torch: [], tensorlab: []}
    runs = {T: surroundings(T, logs[T]) for T in logs}
    start = [
        "x0 = T.tensor([[0.5, -0.25, 0.75], [-0.5, 0.125, 1.0]], dtype=T.float64, requires_grad=True)",
        "x1 = T.tensor([0.25, -0.75, 0.5], dtype=T.float64, requires_grad=True)",
        "t2 = x0 * x1",
    ]
    writer.count = 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(LINES):
            line = start[i] if i < len(start) else writer.line(runs[torch])
            program.append(line)
            (theirs, their_error), (ours, our_error) = (
                step(line, runs[T], before) for T in (torch, tensorlab)
            )
            if parted(program, their_error, our_error):
                return program
            if theirs is not ours and not (theirs and ours and issubclass(ours, theirs)):
                raise Mismatch(explain(program, their_error, our_error))
            if not is_close(in_order(logs[tensorlab]), in_order(logs[torch]), 1e-9):
                raise Mismatch(explain(program, logs[torch], logs[tensorlab]))
            states = state(runs[torch]), state(runs[tensorlab])
            for name in {**states[0], **states[1]}:
                pair = [s.get(name, "nothing") for s in states]
                if not is_close(pair[1], pair[0], 1e-9):
                    raise Mismatch(explain(program, [name, *pair[:1]], [name, *pair[1:]]))
    return program


def explain(program, theirs, ours):
    return "\n".join(["", *program, f"    PyTorch    {theirs!r}", f"    tensorlab  {ours!r}"])


def run_apart(seed):
    """Run a program in a process of its own, because PyTorch crashes in a few; the Mismatch's text, or None."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        outcome = b""
        try:
            run(seed, before=lambda T: os.write(writer, b"T" if T is tensorlab else b"P"))
        except BaseException as error:
            outcome = b"\n" + str(error).encode() + b"\n"
        finally:
            os.write(writer, outcome)
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        marks, _, text = pipe.read().decode().partition("\n")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and marks.endswith("T"):
        return (
            f"program {seed}: signal {os.WTERMSIG(status)} in tensorlab, at line {marks.count('T')}"
        )
    return text or None


if __name__ == "__main__":
    print("\n".join(run(int(sys.argv[1]))))
