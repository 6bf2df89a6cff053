"""Programs that are traced here and in PyTorch: each takes the package, and returns what to call, and its arguments.

They are what people write: layers in layers, keyword arguments, shapes, slices,
tuples and dicts, constants, functions kept whole.
"""

import collections
import dataclasses
import math
import operator
from math import sqrt

PROGRAMS = {}
Pair = collections.namedtuple("Pair", "left right")


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def numbers(T, *shape):
    """A tensor of small numbers, the same in both packages."""
    count = math.prod(shape)
    return ((T.arange(count) * 7) % 11 - 5).to(T.float32).reshape(shape) / 4


def filled(T, module):
    """The module with the same parameters in both packages."""
    with T.no_grad():
        for parameter in module.parameters():
            parameter.copy_(numbers(T, *parameter.shape))
    return module


# ---------------------------------------------------------------- functions
@program
def operators(T):
    def f(x, y):
        return (2 - x) * y / (x**2 + 1) - (-y) + (x @ y.t()).sum() // 2 % 3

    return f, (numbers(T, 2, 3), numbers(T, 2, 3))


@program
def comparisons_and_bits(T):
    def f(x, y):
        less, more = x < y, x >= y
        return (less & ~more) | (x == y) ^ (x != y), x <= y, x > y, abs(x), +x

    return f, (numbers(T, 2, 3), numbers(T, 2, 3) + 0.25)


@program
def reflected_operators(T):
    def f(x):
        return 1 + x, 2 * x, 3 - x, 4 / x, 2**x, 7 // x, 7 % x

    return f, (numbers(T, 5) + 9,)


@program
def functions_of_the_package(T):
    def f(x):
        y = T.cat([x, T.relu(x), T.sin(x)], dim=1)
        return T.where(y > 0, y, T.exp(y)), T.stack((x, x)).sum(0), T.max(x, 1)[0]

    return f, (numbers(T, 2, 3),)


@program
def methods(T):
    def f(x):
        return x.view(3, 2).t().contiguous().sum(dim=1, keepdim=True).clamp(min=0).unsqueeze(-1)

    return f, (numbers(T, 2, 3),)


@program
def shapes(T):
    def f(x):
        batch, size = x.shape
        rows = x.size(0)
        return x.reshape(rows * size), x.shape[1], x.dim(), x.view(x.size()[0], -1), batch

    return f, (numbers(T, 2, 3),)


@program
def slices_with_proxies(T):
    def f(x, n):
        return x[:n, 1:], x[n:], x[..., None, 0], x[n - 1], x[::2]

    return f, (numbers(T, 4, 3), 2)


@program
def unpacking(T):
    def f(x):
        first, second = x.split(1)
        low, high, rest = T.chunk(second, 3, 1)
        values, places = x.max(1)
        return first + low, high, rest, values, places

    return f, (numbers(T, 2, 3),)


@program
def default_arguments(T):
    def f(x, scale=2.0, flag=True, name="n", nothing=None):
        return x * scale, flag, name, nothing

    return f, (numbers(T, 2),)


@program
def keyword_only_arguments(T):
    def f(x, *, shift, scale=3):
        return x * scale + shift

    return f, (numbers(T, 2),), {"shift": 1}


@program
def stars(T):
    def f(x, *rest, **options):
        return x + rest[0] * rest[1] + options["shift"]

    return f, (numbers(T, 2), 2, 3), {"shift": 1}


@program
def annotations(T):
    def f(x: T.Tensor, n: int = 2, names: list[str] = ("a",), d: T.device = None) -> T.Tensor:
        return x + n

    return f, (numbers(T, 2),)


@program
def optional_annotation(T):
    def f(x: T.Tensor | None, pair: tuple[T.Tensor, int] = ()) -> dict[str, T.Tensor]:
        return {"y": x * 2}

    return f, (numbers(T, 2),)


@program
def names_of_builtins(T):
    def f(input, sum, max, class_):
        return input + sum - max * class_

    return f, (1, 2, 3, 4)


@program
def many_results(T):
    def f(x):
        return {"sum": x.sum(), "parts": [x[0], (x[1], x)], "none": None, 3: x}, "text", 1.5

    return f, (numbers(T, 2, 3),)


@program
def arguments_of_all_kinds(T):
    def f(x):
        y = x.to(T.float64).to(device=T.device("cpu"), dtype=T.float32)
        z = y.clone(memory_format=T.contiguous_format)
        return T.sum(z, dim=(0, 1)), T.full_like(z, float("inf")), z.new_zeros([2, 2])

    return f, (numbers(T, 2, 3),)


@program
def writing_in_place(T):
    def f(x):
        y = x.clone()
        y += 1
        y *= 2
        y.add_(x)
        T.relu_(y)
        return y

    return f, (numbers(T, 2, 3),)


@program
def functions_of_math(T):
    def f(x, n):
        return x / math.sqrt(n) + sqrt(n) + math.floor(n) + math.pi

    return f, (numbers(T, 2), 9.0)


@program
def constants(T):
    kept = numbers(T, 3)

    def f(x):
        return x + kept, x * T.ones(3), T.add(x, kept)

    return f, (numbers(T, 2, 3),)


@program
def loops_over_numbers(T):
    def f(x):
        total = x
        for i in range(3):
            total = total + x[i] * i
        return total

    return f, (numbers(T, 3, 3),)


@program
def a_tuple_with_names(T):
    def f(x):
        pair = Pair(x + 1, x * 2)
        return T.stack(list(pair)), T.cat(Pair(x, x))

    return f, (numbers(T, 2, 3),)


@dataclasses.dataclass
class Box:
    content: object
    label: str = "box"


def open_box(box):
    return box.content * 2


def asserting(x):
    assert x.sum() > 0, "must be positive"
    assert x
    return x * 2


@program
def functions_used_as_values(T):
    def f(x):
        return operator.add(x, operator.neg(x)), operator.getitem(x, 0), operator.matmul(x, x)

    return f, (numbers(T, 3, 3),)


@program
def the_same_value_twice(T):
    def f(x):
        y = x + 1
        return y, [y, y], y * y

    return f, (numbers(T, 2),)


@program
def unused_values(T):
    def f(x, unused):
        x.sum()
        y = x * 2
        y.exp()
        return x

    return f, (numbers(T, 2), 1)


@program
def attributes(T):
    def f(x):
        return x.T, x.dtype, x.ndim, x.grad, x.device

    return f, (numbers(T, 2, 3),)


@program
def calling_a_result(T):
    def f(x):
        return x.__getitem__(0), x.mT.sum()

    return f, (numbers(T, 2, 3),)


# ---------------------------------------------------------------- modules
@program
def layers(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = T.nn.Linear(3, 4), T.nn.Linear(4, 2)

        def forward(self, x):
            return self.second(T.relu(self.first(x)))

    return filled(T, Net()), (numbers(T, 2, 3),)


@program
def sequential(T):
    net = T.nn.Sequential(T.nn.Linear(3, 4), T.nn.Tanh(), T.nn.Sequential(T.nn.Linear(4, 1)))
    return filled(T, net), (numbers(T, 2, 3),)


@program
def nested_modules(T):
    class Block(T.nn.Module):
        def __init__(self, size):
            super().__init__()
            self.linear, self.scale = T.nn.Linear(size, size), T.nn.Parameter(T.ones(size))

        def forward(self, x):
            return x + self.linear(x) * self.scale

    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = T.nn.ModuleList([Block(3), Block(3)])
            self.heads = T.nn.ModuleDict({"a": Block(3)})

        def forward(self, x):
            for block in self.blocks:
                x = block(x)
            return self.heads["a"](x)

    return filled(T, Net()), (numbers(T, 2, 3),)


@program
def one_module_twice(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.shared = T.nn.Linear(3, 3)

        def forward(self, x):
            return self.shared(self.shared(x)) @ self.shared.weight

    return filled(T, Net()), (numbers(T, 2, 3),)


@program
def parameters_and_buffers(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = T.nn.Parameter(T.ones(3))
            self.register_buffer("mean", T.ones(3))
            self.plain = T.ones(3)

        def forward(self, x):
            y = (x - self.mean) * self.weight + self.plain
            return y + self.mean, self.weight.sum(), self.weight * self.weight

    return filled(T, Net()), (numbers(T, 2, 3),)


@program
def keywords_to_modules(T):
    class Scaled(T.nn.Module):
        def forward(self, x, *, scale=1, shift=None):
            return x * scale if shift is None else x * scale + shift

    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.scaled, self.pool = Scaled(), T.nn.MaxPool2d(2)

        def forward(self, x):
            return self.pool(self.scaled(x, scale=3)) + self.scaled(x[..., :2, :2], shift=1)

    return Net(), (numbers(T, 1, 1, 4, 4),)


@program
def control_flow_on_settings(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.depth, self.use_bias = 3, True
            self.bias = T.nn.Parameter(T.ones(3))

        def forward(self, x):
            for i in range(self.depth):
                if i % 2 == 0:
                    x = T.tanh(x)
                else:
                    x = x * i
            if self.training:
                x = x + 1
            return x + self.bias if self.use_bias else x

    return filled(T, Net()), (numbers(T, 2, 3),)


@program
def a_convolutional_network(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = T.nn.Conv2d(1, 2, 3, padding=1)
            self.norm = T.nn.BatchNorm2d(2)
            self.relu = T.nn.ReLU(inplace=True)
            self.out = T.nn.Linear(8, 3)

        def forward(self, x):
            x = self.relu(self.norm(self.conv(x)))
            x = T.nn.functional.avg_pool2d(x, 2)
            return self.out(T.flatten(x, 1))

    return filled(T, Net()).eval(), (numbers(T, 2, 1, 4, 4),)


@program
def attention(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value = (T.nn.Linear(4, 4) for _ in range(3))

        def forward(self, x, mask=None):
            b, n, d = x.shape
            q, k, v = (
                f(x).view(b, n, 2, 2).transpose(1, 2) for f in (self.query, self.key, self.value)
            )
            scores = T.softmax(q @ k.transpose(-2, -1) / math.sqrt(2), dim=-1)
            return (scores @ v).transpose(1, 2).reshape(b, n, d)

    return filled(T, Net()), (numbers(T, 1, 3, 4),)


@program
def a_recurrent_layer(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = T.nn.GRU(2, 3, batch_first=True)

        def forward(self, x):
            outputs, hidden = self.rnn(x)
            return outputs[:, -1], hidden

    return filled(T, Net()), (numbers(T, 2, 3, 2),)


@program
def an_embedding(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = T.nn.Embedding(5, 3)
            self.places = T.nn.Parameter(T.ones(4, 3))

        def forward(self, ids):
            length = ids.size(1)
            return self.embed(ids) + self.places[:length]

    return filled(T, Net()), (T.tensor([[0, 1, 4]]),)


@program
def a_dict_of_inputs(T):
    class Net(T.nn.Module):
        def forward(self, batch):
            return {"y": batch["x"] * 2 + batch["shift"], "x": batch["x"]}

    return Net(), ({"x": numbers(T, 2), "shift": 1.0},)


@program
def a_layer_that_is_assigned_twice(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = T.nn.Linear(2, 2)
            self.b = self.a

        def forward(self, x):
            return self.b(self.a(x))

    return filled(T, Net()), (numbers(T, 1, 2),)


@program
def inherited_forward(T):
    class Base(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = T.nn.Linear(2, 2)

        def forward(self, x):
            return self.linear(x)

    class Net(Base):
        def forward(self, x):
            return super().forward(x) + 1

    return filled(T, Net()), (numbers(T, 1, 2),)


@program
def helper_methods(T):
    class Net(T.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = T.nn.Linear(2, 2)

        def half(self, x, by=2):
            return self.linear(x) / by

        @staticmethod
        def twice(x):
            return x * 2

        def forward(self, x):
            return self.half(self.twice(x), by=4)

    return filled(T, Net()), (numbers(T, 1, 2),)
