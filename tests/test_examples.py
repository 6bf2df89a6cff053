"""The programs in examples/dispatch: each is at most 60 lines, runs, and says what it should."""

import runpy
import sys
from pathlib import Path

import pytest

import tensorlab as torch
from tests.oracle import require_torch

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "dispatch"
SAYS = {
    "count_bytes": "FLOP per byte",
    "find_nan": "aten.div.Tensor made the first NaN, of a tensor of shape (2,), from 0 to 0",
    "lazy_tensor": "tensor(2000000.)",
    "logging_tensor": "aten.mul.Tensor\naten.sum.dim_IntList",
    "quantised_tensor": "largest error 0.",
    "two_tensor": "TwoTensor(tensor([[",
    "units_tensor": "m s^-1",
}


def test_each_program_is_tried():
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_a_program_fits_on_a_page_and_runs(name, capsys):
    if name == "two_tensor":
        require_torch()
    path = FOLDER / f"{name}.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60
    runpy.run_path(str(path), run_name="__main__")
    assert SAYS[name] in capsys.readouterr().out


@pytest.fixture
def programs(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in SAYS:
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("programs")
def test_units_that_do_not_fit_are_refused():
    from units_tensor import Quantity

    way, time = Quantity(torch.ones(2), "m"), Quantity(torch.ones(2), "s")
    assert (way + way).units == {"m": 1}
    assert (way * way / time).units == {"m": 2, "s": -1}
    with pytest.raises(TypeError, match=r"aten.add.Tensor: m and s don't add"):
        way + time
    with pytest.raises(TypeError, match="there is no rule for the units of its result"):
        way.exp()


@pytest.mark.usefixtures("programs")
def test_a_lazy_tensor_computes_only_what_is_needed():
    from lazy_tensor import LazyTensor

    x = LazyTensor.of(torch.arange(4.0))
    y, z = x.exp(), (x + 1).sum()
    assert z.compute().item() == 10.0
    assert y.value is None
    assert (x * 2).sum().item() == 12.0


@pytest.mark.usefixtures("programs")
def test_an_eight_bit_tensor_is_close():
    from quantised_tensor import QuantisedTensor

    x, y = torch.randn(8, 16), torch.randn(16, 4)
    got = QuantisedTensor.from_float(x) @ QuantisedTensor.from_float(y)
    assert (got - x @ y).abs().max() < 0.05 * (x @ y).abs().max() + 0.2
    assert type(QuantisedTensor.from_float(x).T) is QuantisedTensor
