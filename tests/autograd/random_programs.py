"""Random programs about the engine, run line by line on PyTorch and on tensorlab.

Each line is written with a look at what PyTorch's run has so far, and run on both. Then all that both runs have is
compared: values, gradients, versions, flags, errors, and the order in which hooks and packing were called.

    python -m tests.autograd.random_programs 17         runs program 17 and prints it
"""

import os
import random
import sys
import warnings

import tensorlab
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


# ---------------------------------------------------------------- writing a line
# What lines do, and how often.
KINDS = {
    "compute": 9,
    "view": 6,
    "write": 6,
    "hook": 8,
    "function": 4,
    "pack": 3,
    "backward": 8,
    "leaf": 4,
    "ask": 3,
    "forget": 1,
}


class Writer:
    """Writes the next line, from what PyTorch's run has."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0
        # PyTorch mixes up the calls that multi-grad hooks wait for, of a pass and of one within it: never both
        self.nests = self.random.random() < 0.5

    def line(self, names):
        self.names = names
        kinds = list(KINDS)
        kind = self.random.choices(kinds, [KINDS[k] for k in kinds])[0]
        return getattr(self, kind)()

    def new(self, letter="t"):
        self.count += 1
        return f"{letter}{self.count}"

    def one(self, letters="xt", test=lambda value: True):
        """A name that exists, of a value for which the test holds; else any tensor."""
        found = [
            name
            for name, value in self.names.items()
            if name[0] in letters
            and name[1:].isdigit()
            and (is_tensor(value) or "h" in letters)
            and test(value)
        ]
        return self.random.choice(found or ["x0"])

    def like(self, name):
        """A tensor that broadcasts with this one without a larger result."""
        shape = self.names[name].shape
        return self.one(
            test=lambda v: (
                len(v.shape) <= len(shape) and v.shape == shape[len(shape) - len(v.shape) :]
            )
        )

    def under(self, statement, how_often=0.15):
        """The statement, now and then under no_grad."""
        return "with T.no_grad(): " + statement if self.random.random() < how_often else statement

    def pick(self, *choices):
        return self.random.choice(choices)

    def compute(self):
        a = self.one()
        b = self.like(a)
        form = self.pick(
            *(
                "{a}.sin()",
                "{a}.tanh()",
                "{a}.sigmoid()",
                "-{a}",
                "{a}.relu()",
                "{a} * 2",
                "1 - {a}",
                "{a}.clone()",
            ),
            *(
                "{a} + {b}",
                "{a} - {b}",
                "{a} * {b}",
                "{b} * {a}",
                "T.where({a} > 0, {a}, {b})",
                "{a} * {a}",
                "{a} ** 2",
            ),
            *(
                "{a} / ({b} * {b} + 1)",
                "{a}.sum()",
                "{a}.sum(0)",
                "{a}.mean()",
                "T.stack([{a}, {a}])[1]",
                "{a}.cumsum(0)",
            ),
        )
        return self.under(f"{self.new()} = {form.format(a=a, b=b)}", 0.08)

    def view(self):
        a = self.one(test=lambda v: len(v.shape) > 0)
        matrix = self.one(test=lambda v: len(v.shape) == 2)
        form = self.pick(
            *(
                "{a}[0]",
                "{a}[1:]",
                "{a}[:]",
                "{m}[:, 1]",
                "{m}.t()",
                "{a}.view(-1)",
                "{a}.unsqueeze(0)[0]",
                "{a}.detach()",
            ),
            *(
                "{a}.unbind(0)[0]",
                "{a}.chunk(2)[0]",
                "{a}.split(1)[0]",
                "{m}.transpose(0, 1)",
                "{a}.select(0, 0)",
            ),
            *("{a}.view_as({a})", "{m}.diagonal()", "{a}.data"),
        )
        return self.under(f"{self.new()} = {form.format(a=a, m=matrix)}")

    def write(self):
        a = self.one(test=lambda v: len(v.shape) > 0)
        b = (
            self.like(a) + ".clone()"
        )  # else the result may depend on the order of reading and writing
        form = self.pick(
            *(
                "{a}.mul_(2)",
                "{a}.add_({b})",
                "{a}.mul_({b})",
                "{a}.zero_()",
                "{a}.tanh_()",
                "{a}.copy_({b})",
                "{a}.fill_(0.5)",
            ),
            *(
                "{a}[0] = {b}.sum()",
                "{a}[:] += {b}",
                "{a}[:1] *= 2",
                "{a}.sin_()",
                "{a}.detach_()",
                "{a}.data.mul_(2)",
            ),
            *(
                "{a}.masked_fill_({a} > 0, 1.0)",
                "{a} += {b}",
                "{a}.clamp_(-1, 1)",
                "{a}.sub_({b}, alpha=2)",
            ),
        )
        return self.under(form.format(a=a, b=b), 0.2)

    def function_of_gradient(self, name, plural=False):
        """A hook: only tells, or changes what passes."""
        results = (
            ("None", "None", "lambda g: (g[0] * 2,) + tuple(g[1:])", "lambda g: g")
            if plural
            else ("None", "None", "lambda g: g * 2", "lambda g: -g", "lambda g: g")
        )
        return f"tell('{name}', {self.pick(*results)})"

    def hook(self):
        a = self.one(test=lambda v: v.requires_grad)
        b = self.one(test=lambda v: v.requires_grad)
        leaf = self.one("x")
        handle = self.new("h")
        tell = self.function_of_gradient(handle)
        before = self.function_of_gradient(handle, plural=True)
        node = self.pick(
            f"{a}.grad_fn",
            f"T.autograd.graph.get_gradient_edge({a}).node",
            f"{a}.grad_fn.next_functions[0][0]",
        )
        after = self.pick(
            f"tell('{handle}')", f"tell('{handle}')", f"tell('{handle}', lambda i, o: i)"
        )
        mode = self.pick("all", "any")
        several = f"{handle} = T.autograd.graph.register_multi_grad_hook(({a}, {b}), tell('{handle}'), mode='{mode}')"
        # PyTorch crashes if a hook is put on a view whose base was written, unless somebody has asked for its node
        return f"{a}.grad_fn; {b}.grad_fn; " + self.pick(
            f"{handle} = {a}.register_hook({tell})",
            f"{handle} = {a}.register_hook({tell})",
            f"{handle} = {leaf}.register_hook({tell})",
            f"{handle} = {leaf}.register_post_accumulate_grad_hook(tell('{handle}'))",
            f"n{handle[1:]} = {node}; {handle} = n{handle[1:]}.register_prehook({before})",
            f"n{handle[1:]} = {node}; {handle} = n{handle[1:]}.register_hook({after})",
            f"{handle} = {a}.register_hook(backward_of({leaf}))" if self.nests else several,
            f"{self.one('h', lambda v: hasattr(v, 'remove'))}.remove()",
            f"{a}.retain_grad()",
            f"{a}.retain_grad()",
        )

    def function(self):
        a = self.one(test=lambda v: len(v.shape) > 0)
        b = self.one(test=lambda v: v.shape == self.names[a].shape)
        form = self.pick(
            "Scale.apply({a}, 2.0)",
            "Write.apply({a})",
            "Row.apply({a})",
            "Same.apply({a})",
            "Two.apply({a}, {b})",
        )
        target = f"{self.new()}, {self.new()}" if form.startswith("Two") else self.new()
        return self.under(f"{target} = {form.format(a=a, b=b)}", 0.05)

    def pack(self):
        a = self.one()
        b = self.like(a)
        return self.pick(
            f"with T.autograd.graph.saved_tensors_hooks(pack, unpack): {self.new()} = {a} * {b}",
            f"with T.autograd.graph.saved_tensors_hooks(pack, unpack): {self.new()} = {a}.tanh()",
            f"with T.autograd.graph.saved_tensors_hooks(pack, unpack): {self.new()} = Scale.apply({a}, 3.0)",
            f"{self.new()} = checkpoint(inner, {a}, use_reentrant=False)",
            f"{self.new()} = checkpoint(inner, {a}, use_reentrant=True)",
        )

    def backward(self):
        a = self.one("t", test=lambda v: v.requires_grad)
        b = self.one(test=lambda v: v.requires_grad)
        c = self.one(test=lambda v: v.requires_grad)
        flags = self.pick(
            "", "", ", retain_graph=True", ", retain_graph=True", ", create_graph=True"
        )
        new = self.new("g")
        # PyTorch counts a single root among the nodes that run only if it is no tensor with hooks
        return self.pick(
            f"{a}.sum().backward({flags[2:]})",
            f"{a}.sum().backward({flags[2:]})",
            f"({a} * 1).backward(T.ones_like({a}){flags})",
            f"T.autograd.backward([{a}.sum(), {b}.sum()]{flags})",
            f"({a} * {a}).sum().backward(inputs=[{b}]{flags})",
            f"{a}.sum().backward(inputs=[{b}, {c}]{flags})",
            f"{new} = T.autograd.grad({a}.sum(), [{b}, {c}], allow_unused=True{flags})",
            f"{new} = T.autograd.grad(({a} * 2).sum(), [{b}]{flags})",
            f"{self.new()}, = T.autograd.grad({a}.sum(), [{b}], create_graph=True, materialize_grads=True)",
            f"{new} = T.autograd.grad({a} * 1, [{b}], T.ones_like({a}), allow_unused=True{flags})",
        )

    def leaf(self):
        leaf = self.one("x")
        a = self.one()
        return self.pick(
            f"{leaf}.grad = None",
            f"{leaf}.grad.zero_()",
            f"{self.new()} = {leaf}.grad",
            f"with T.no_grad(): {leaf} -= 0.1 * {leaf}.grad",
            f"{a}.requires_grad_()",
            f"{self.new('x')} = {a}.detach().clone().requires_grad_()",
            f"{self.new('x')} = T.ones(2, 3, dtype=T.float64, requires_grad={self.pick(True, False)})",
            f"{leaf}.requires_grad_({self.pick(True, False)})",
            f"{leaf}.grad.mul_(2)",
        )

    def ask(self):
        a = self.one()
        return "log.append(({}, {}))".format(
            repr(a),
            self.pick(
                f"{a}.requires_grad",
                f"{a}.is_leaf",
                f"{a}.retains_grad",
                f"{a}.output_nr",
                f"{a}._is_view()",
                f"seen({a}.grad)",
                f"{a}.grad_fn.name().rpartition(':')[2]",
                f"[(n.name().rpartition(':')[2], i) for n, i in {a}.grad_fn.next_functions if n]",
                f"{a}.grad_fn._sequence_nr() > {self.one()}.grad_fn._sequence_nr()",
            ),
        )

    def forget(self):
        return f"del {self.one('tnh')}"


# ---------------------------------------------------------------- running it on both
def is_tensor(value):
    return hasattr(value, "storage_offset")


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
    if "Write.apply" in program[-1] and their_error is not None and our_error is not None:
        return True  # both have written before they refuse, and count their writes differently
    if "inputs=" in program[-1] and their_error is not None and our_error is None:
        # PyTorch unpacks, and so computes again, what the pass does not need
        return any("checkpoint" in line or "pack" in line for line in program)
    return any(text in str(their_error) for text in PARTINGS)


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
