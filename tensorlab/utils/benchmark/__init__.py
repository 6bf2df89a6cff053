"""How long a statement takes, measured well, and tables of such measurements.

    timer = Timer("x @ x", setup="x = torch.ones(100, 100)")
    print(timer.blocked_autorange())
    Compare([Timer("x @ x", globals={"x": torch.ones(n, n)}, description=str(n)).blocked_autorange()
             for n in (10, 100)]).print()

`Fuzzer` makes inputs of random shapes and layouts to measure with.
"""

from tensorlab import _missing
from tensorlab.utils.benchmark.compare import Colorize, Compare
from tensorlab.utils.benchmark.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from tensorlab.utils.benchmark.measurement import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from tensorlab.utils.benchmark.sparse_fuzzer import FuzzedSparseTensor
from tensorlab.utils.benchmark.timer import Language, Timer, timer

__all__ = [
    "Colorize",
    "Compare",
    "FuzzedParameter",
    "FuzzedSparseTensor",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]


__getattr__ = _missing.refusing(__name__)
