"""Writes the lines of random programs about the engine: see random_programs.py."""

import random


def is_tensor(value):
    return hasattr(value, "storage_offset")


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
        # PyTorch crashes if a hook is put on a view whose base was written, unless its node was asked for before
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
                f"{a}.grad_fn.name().rpartition(':')[2].rstrip('0123456789')",
                f"[(n.name().rpartition(':')[2].rstrip('0123456789'), i) for n, i in {a}.grad_fn.next_functions if n]",
                f"{a}.grad_fn._sequence_nr() > {self.one()}.grad_fn._sequence_nr()",
            ),
        )

    def forget(self):
        return f"del {self.one('tnh')}"
