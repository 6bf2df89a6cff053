"""The small programs of chapter 46: the smallest tracer, and a pass that folds batch norms."""

import importlib.util
from pathlib import Path

import tensorlab
from tensorlab import fx, nn

FOLDER = Path(__file__).resolve().parents[2] / "chapters/46-fx"


def program(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


tiny, fold = program("tiny_tracer"), program("fold")


def test_the_tiny_tracer_writes_source_that_does_the_same():
    def f(x):
        y = x + 2
        return (y * x + y).bit_count() * 3

    source = tiny.trace(f)
    assert source.split("\n")[1:3] == ["    v0 = x + 2", "    v1 = v0 * x"]
    scope = {}
    exec(source, scope)
    assert [scope["traced"](n) for n in range(9)] == [f(n) for n in range(9)]
    assert tiny.trace(lambda x: x) == "def traced(x):\n    return x"


def test_folded_batch_norms_give_what_they_gave():
    tensorlab.manual_seed(0)
    for bias in (True, False):
        net = nn.Sequential(nn.Conv2d(1, 3, 3, bias=bias), nn.BatchNorm2d(3), nn.ReLU())
        net[1].running_mean.uniform_(-1, 1)
        net[1].running_var.uniform_(0.5, 2)
        nn.init.uniform_(net[1].weight)
        nn.init.uniform_(net[1].bias)
        x = tensorlab.randn(2, 1, 5, 5)
        traced = fx.symbolic_trace(net.eval())
        assert fold.fold_batch_norms(traced) == 1
        assert [name for name, _ in traced.named_children()] == ["0", "2"]
        assert tensorlab.allclose(traced(x), net(x), atol=1e-5)


def test_a_convolution_that_others_use_is_left_alone():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm = nn.Conv2d(1, 1, 1), nn.BatchNorm2d(1)

        def forward(self, x):
            y = self.conv(x)
            return self.norm(y) + y

    assert fold.fold_batch_norms(fx.symbolic_trace(Net().eval())) == 0


def test_a_convolution_that_is_called_twice_is_left_alone():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 1, 1)
            self.norms = nn.ModuleList([nn.BatchNorm2d(1), nn.BatchNorm2d(1)])

        def forward(self, x):
            return self.norms[0](self.conv(x)) + self.norms[1](self.conv(x))

    assert fold.fold_batch_norms(fx.symbolic_trace(Net().eval())) == 0
