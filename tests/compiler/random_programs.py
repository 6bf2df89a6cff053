"""Random programs of views, writes through them, and ops that read: what graphs without writes get wrong first.

A program is a list of instructions, each of which takes tensors that are there and adds those
that it makes. Instructions that raise are dropped while the program is made, so what is left runs.

    python -m tests.compiler.random_programs 17        print the seventeenth
"""

import random
import sys

import tensorlab

SHAPES = ((4, 6), (6, 4), (3, 4), (6,), (2, 3, 4))
POINTWISE = ("tanh", "exp", "neg", "sigmoid", "abs", "relu", "square", "sin")
IN_PLACE = ("tanh_", "neg_", "zero_", "sin_", "relu_", "abs_")


def view_of(draw, x):
    """The text of an expression that shows x, or a part of it, in another way."""
    n = x.ndim
    dim = draw.randrange(n) if n else 0
    choices = [
        "x.unsqueeze(0)",
        "x.detach()",
        "x.view(x.shape)",
        "x.view(-1)",
        "x.squeeze()",
    ]
    if n:
        size = x.shape[dim]
        start = draw.randrange(size)
        choices += [
            f"x.narrow({dim}, {start}, {draw.randint(1, size - start)})",
            f"x.select({dim}, {draw.randrange(size)})",
            f"x[{start}::2]" if dim == 0 else f"x[..., {draw.randrange(x.shape[-1])}]",
            f"x.split({max(size // 2, 1)}, {dim})[0]",
            f"x.unbind({dim})[{draw.randrange(size)}]",
            f"x.chunk(2, {dim})[-1]",
            f"x.unfold({dim}, {draw.randint(1, size)}, {draw.randint(1, 3)})",
            "x.flatten()",
            "x.T" if n == 2 else "x.movedim(0, -1)",
            "x.expand(2, *x.shape)",
        ]
    if n > 1:
        choices += [
            f"x.transpose({dim}, {draw.randrange(n)})",
            f"x.diagonal(0, {dim}, {(dim + 1) % n})",
            "x.permute(*reversed(range(x.ndim)))",
            "tensorlab.as_strided(x, (2, 2), (1, 2))",
        ]
    return draw.choice(choices)


def reading(draw):
    return draw.choice(
        [
            f"x.{draw.choice(POINTWISE)}()",
            f"x * {draw.choice(('2', '0.5', '-1'))}",
            "x + y",
            "x * y",
            "tensorlab.where(x > 0, x, y)",
            "x.sum()",
            "x.sum(-1, keepdim=True)",
            "x.mean(0)",
            "x.clone()",
            "x.contiguous()",
            "x.softmax(-1)",
            "x.cumsum(0)",
            "tensorlab.zeros_like(x)",
            "tensorlab.stack([x, x])",
            "x.max(-1).values",
        ]
    )


def writing(draw, x, is_input):
    choices = [] if is_input else ["x.t_()", "x.unsqueeze_(0)", "x.squeeze_()", "x.detach_()"]
    choices += [
        f"x.{draw.choice(IN_PLACE)}()",
        f"x.mul_({draw.choice(('2', '-1', '0.25'))})",
        "x.add_(1)",
        "x.add_(y)",
        "x.mul_(y)",
        "x.copy_(y)",
        f"x.fill_({draw.randint(-2, 2)})",
        "x.masked_fill_(x > 0, 0.5)",
        "x.clamp_(-1, 1)",
        "x.bernoulli_(0.5)",
        "x.sub_(x)",
        "x.cumsum_(0)",
        "x.copy_(x.flip(0))",
    ]
    if x.ndim:
        i = draw.randrange(x.shape[0])
        choices += [
            f"x.__setitem__({i}, 3.0)",
            f"x.__setitem__(slice({i}, None), y)",
            f"x[{i}].add_(1)",
            f"x.index_fill_(0, tensorlab.tensor([{i}]), 2.0)",
            f"x.index_add_(0, tensorlab.tensor([0]), x[{i}:{i + 1}].clone())",
        ]
    return draw.choice(choices)


class Program:
    """Instructions (text, numbers of the tensors x and y, whether in grad mode), and what is returned."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.seed = seed
        self.shapes = [draw.choice(SHAPES) for _ in range(3)]
        self.instructions, self.returned = [], []
        made = self.inputs()
        for _ in range(draw.randint(4, 14)):
            at, other = draw.randrange(len(made)), draw.randrange(len(made))
            kind = draw.random()
            if kind < 0.35:
                text = view_of(draw, made[at])
            elif kind < 0.65:
                text = reading(draw)
            else:
                text = writing(draw, made[at], any(made[at] is one for one in made[:3]))
            instruction = (text, at, other, draw.random() < 0.9)
            if self.run(instruction, made):
                self.instructions.append(instruction)
        self.returned = draw.sample(range(len(made)), draw.randint(1, min(5, len(made))))
        if draw.random() < 0.2:
            self.returned.append(self.returned[0])

    def inputs(self):
        """Two that may be written, and a leaf that requires grad."""
        tensorlab.manual_seed(self.seed)
        return [
            tensorlab.randn(*shape).requires_grad_(i == 2) for i, shape in enumerate(self.shapes)
        ]

    @staticmethod
    def run(instruction, made):
        """Add what an instruction makes to `made`; False if it raises."""
        text, at, other, grad_enabled = instruction
        names = {"x": made[at], "y": made[other], "tensorlab": tensorlab}
        try:
            with tensorlab.set_grad_enabled(grad_enabled):
                value = eval(text, names)
        except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
            return False
        if value is not None:
            made.append(value)
        return True

    def __call__(self, *inputs):
        made = list(inputs)
        for instruction in self.instructions:
            assert self.run(instruction, made), instruction
        return [made[i] for i in self.returned]

    def __str__(self):
        lines = [f"shapes {self.shapes}"]
        lines += [
            f"x={x} y={y} {'' if grad else 'no_grad '}{text}"
            for text, x, y, grad in self.instructions
        ]
        return "\n".join([*lines, f"return {self.returned}"])


if __name__ == "__main__":
    print(Program(int(sys.argv[1])))
