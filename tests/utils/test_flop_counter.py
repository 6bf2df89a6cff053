"""Floating-point operations, against PyTorch's counter, and by hand where it doesn't count."""

import importlib
import importlib.util

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab._subclasses import FakeTensorMode
from tensorlab.nn.hooks import ALL
from tensorlab.utils.flop_counter import FlopCounterMode, flops, register_flop_formula
from tests.oracle import require_torch

PROGRAMS = {
    "mm": lambda T, g: T.randn(3, 4, requires_grad=g) @ T.randn(4, 5, requires_grad=g),
    "bmm": lambda T, g: T.randn(2, 3, 4, requires_grad=g).bmm(T.randn(2, 4, 5, requires_grad=g)),
    "addmm": lambda T, g: T.addmm(T.ones(5), T.randn(3, 4, requires_grad=g), T.randn(4, 5)),
    "linear": lambda T, g: T.nn.Linear(4, 5)(T.randn(2, 3, 4, requires_grad=g)),
    "conv1d": lambda T, g: T.nn.Conv1d(4, 6, 3)(T.randn(2, 4, 9, requires_grad=g)),
    "conv2d": lambda T, g: T.nn.Conv2d(4, 6, 3, stride=2, padding=1)(
        T.randn(2, 4, 9, 8, requires_grad=g)
    ),
    "transposed": lambda T, g: T.nn.ConvTranspose2d(4, 6, 3)(T.randn(2, 4, 5, 6, requires_grad=g)),
    "pointwise": lambda T, g: T.randn(3, requires_grad=g).exp() * 2,
}


@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_many_as_pytorch_counts(name, backward):
    counts = []
    for T in (torch, require_torch()):
        counter = importlib.import_module(f"{T.__name__}.utils.flop_counter").FlopCounterMode(
            display=False
        )
        with counter:
            y = PROGRAMS[name](T, backward)
            if backward:
                y.sum().backward()
        counts.append(counter.get_total_flops())
    assert counts[0] == counts[1]


def test_attention_and_recurrent_layers_by_hand():
    q, k = torch.randn(2, 3, 5, 4, requires_grad=True), torch.randn(2, 3, 7, 4)
    with FlopCounterMode(display=False) as counter:
        y = nn.functional.scaled_dot_product_attention(q, k, k)
        forward = counter.get_total_flops()
        y.sum().backward()
    product = 2 * 2 * 3 * 5 * 7 * 4
    assert forward == 2 * product
    assert counter.get_total_flops() == 2 * product + 5 * product
    with FlopCounterMode(display=False) as counter:
        nn.LSTM(4, 5)(torch.randn(7, 2, 4))
    assert counter.get_total_flops() == 2 * 7 * 2 * 4 * 5 * (4 + 5)


def test_modules_have_what_runs_in_them_forward_and_backward():
    net = nn.Sequential(nn.Linear(4, 8), nn.Sequential(nn.ReLU(), nn.Linear(8, 2)))
    with FlopCounterMode(display=False, depth=3) as counter:
        net(torch.ones(3, 4)).sum().backward()
    counts = {name: sum(ops.values()) for name, ops in counter.get_flop_counts().items()}
    first, second = 2 * 3 * 4 * 8, 2 * 3 * 8 * 2
    assert counts["Sequential.0"] == 2 * first  # its input needs no gradient
    assert counts["Sequential.1.1"] == counts["Sequential.1"] == 3 * second
    assert counts["Sequential"] == counts["Global"] == counter.get_total_flops()
    table = counter.get_table()
    assert "Sequential.1.1" in table
    assert "Sequential.1.1" not in counter.get_table(depth=2)
    assert "100.00%" in table


def test_fake_tensors_are_counted(capsys):
    with FakeTensorMode(), FlopCounterMode() as counter:
        nn.Linear(10**5, 10**5)(torch.ones(10, 10**5))
    assert counter.get_total_flops() == 2 * 10**11
    assert "200.000B" in capsys.readouterr().out


def test_formulas_of_a_program():
    @register_flop_formula(torch.ops.aten.cumsum)
    def by_shape(x, dim, dtype=None, *, out_shape):
        return x[dim]

    try:
        custom = {torch.ops.aten.exp: lambda x, out_val: out_val.numel()}
        custom[torch.ops.aten.exp].get_raw = True
        with FlopCounterMode(display=False, custom_mapping=custom) as counter:
            torch.ones(5).cumsum(0).exp()
        assert counter.get_flop_counts()["Global"] == {
            torch.ops.aten.cumsum: 5,
            torch.ops.aten.exp: 5,
        }
    finally:
        op = torch.ops.aten.cumsum.default.op
        del op.facets["flops"], flops[op]
    with pytest.raises(ValueError, match="an op is needed, such as ops.aten.mm"):
        register_flop_formula("mm")(by_shape)


def test_each_block_counts_anew_and_leaves_no_hooks():
    net = nn.Linear(2, 3)
    counter = FlopCounterMode(display=False)
    for _ in range(2):
        with counter:
            net(torch.ones(1, 2))
        assert counter.get_total_flops() == 12
    net(torch.ones(1, 2))
    assert counter.get_total_flops() == 12
    assert not any(ALL.values())


def test_a_module_goes_on_after_its_parts():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 3, bias=False)

        def forward(self, x):
            return self.inner(x) @ torch.ones(3, 4)

    with FlopCounterMode(display=False) as counter:
        Outer()(torch.ones(1, 2))
    totals = {name: sum(ops.values()) for name, ops in counter.get_flop_counts().items()}
    assert totals == {"Global": 36, "Outer": 36, "Outer.inner": 12}


def test_a_module_that_raised_is_left():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    with FlopCounterMode(display=False) as counter:
        with pytest.raises(ValueError, match="no"):
            Fails()(torch.ones(1))
        torch.ones(1, 2) @ torch.ones(2, 3)
    assert set(counter.get_flop_counts()) == {"Global"}


def test_attention_of_values_of_another_width_by_hand():
    q, k, v = torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 3)
    with FlopCounterMode(display=False) as counter:
        nn.functional.scaled_dot_product_attention(q.requires_grad_(), k, v).sum().backward()
    scores, values = 2 * 2 * 5 * 7 * 4, 2 * 2 * 5 * 7 * 3
    assert counter.get_total_flops() == 4 * scores + 3 * values


@pytest.mark.parametrize("size", [4, 40, 400])
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("outside", [False, True])
def test_tables_of_modules_are_pytorchs(size, depth, outside):
    """Ops have other names; the rows of modules are the same."""
    require_torch()
    if importlib.util.find_spec("tabulate") is None:
        pytest.skip("PyTorch writes its table with tabulate, which is not installed")
    found = []
    for library in (torch, require_torch()):
        nn = library.nn
        model = nn.Sequential(
            nn.Linear(size, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, size)), nn.Linear(size, 1)
        )
        counter_module = importlib.import_module(f"{library.__name__}.utils.flop_counter")
        with counter_module.FlopCounterMode(display=False, depth=depth) as counter:
            model(library.ones(5, size)).sum().backward()
            if outside:
                library.ones(size, size) @ library.ones(size, size)
        lines = [line.split() for line in counter.get_table().splitlines()]
        found.append([line for line in lines if line[0] != "-"])
    ours, theirs = found
    assert [line for line in ours if "---" not in line[0]] == [
        line for line in theirs if "---" not in line[0]
    ]


def test_a_table_of_nothing():
    with FlopCounterMode(display=False) as counter:
        torch.ones(2) + 1
    assert counter.get_table().splitlines()[-1].split() == ["Global", "0", "0%"]
