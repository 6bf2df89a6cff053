"""What `import tensorlab` loads, and what it leaves until a program asks for it."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import tensorlab
from tensorlab._on_demand import on_demand

ROOT = Path(__file__).resolve().parent.parent
# Python's own modules that only some programs need; NumPy needs none of them either.
LEFT_OUT = {
    *("asyncio", "bz2", "concurrent.futures", "dataclasses", "decimal", "difflib", "email"),
    *("fractions", "gzip", "hashlib", "html", "http", "json", "logging", "lzma"),
    *("multiprocessing.connection", "multiprocessing.util", "pickletools", "queue", "random"),
    *("shutil", "statistics", "subprocess", "tarfile", "tempfile", "unittest", "urllib.parse"),
    *("zipfile", "scipy", "threadpoolctl", "matplotlib", "PIL"),
}


def run(program, **environment):
    """Run a program by itself and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_by(statement):
    """Return the names of the modules that a statement adds to a process that has NumPy."""
    return set(
        run(f"""
import sys, numpy
before = set(sys.modules)
{statement}
print(*(set(sys.modules) - before))
""").split()
    )


def test_an_import_loads_no_package_that_is_on_demand():
    loaded = loaded_by("import tensorlab")
    packages = {f"tensorlab.{name}" for name in tensorlab._ON_DEMAND}
    assert loaded & packages == set()
    assert loaded & {"tensorlab.nn.modules", "tensorlab.nn.utils.prune"} == set()


def test_an_import_loads_at_most_300_modules_and_none_that_only_some_programs_need():
    loaded = loaded_by("import tensorlab")
    assert loaded & LEFT_OUT == set()
    assert len(loaded) <= 300


def test_a_network_and_its_training_load_nothing_but_the_optimizers():
    loaded = loaded_by("""
import tensorlab as torch
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loss = torch.nn.functional.cross_entropy(net(torch.ones(5, 3)), torch.zeros(5).long())
loss.backward()
optimizer.step()
""")
    packages = {f"tensorlab.{name}" for name in tensorlab._ON_DEMAND}
    assert loaded & packages == {"tensorlab.optim"}
    assert loaded & (LEFT_OUT - {"scipy", "dataclasses"}) == set()


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("tensorlab", (*tensorlab._ON_DEMAND, *tensorlab._HOMES)),
        ("tensorlab.nn", ["modules"]),
        ("tensorlab.nn.utils", ["parametrizations", "parametrize", "prune", "stateless"]),
        ("tensorlab.backends", ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]),
        ("tensorlab.multiprocessing", ["spawn", "start_processes", "ProcessRaisedException"]),
        ("tensorlab.autograd", ["functional"]),
    ],
)
def test_what_is_on_demand_is_listed_and_found_like_everything_else(package, names):
    """By dir(), as an attribute, by `from package import name` and by a star, in processes that have not seen it."""
    run(f"""
import importlib
package = importlib.import_module({package!r})
for name in {[*names]!r}:
    assert name in dir(package) and name in package.__all__, name
    value = getattr(package, name)
    assert vars(package)[name] is value, name
""")
    run(f"""
for name in {[*names]!r}:
    exec(f"from {package} import {{name}}")
from {package} import *
assert not {{*{[*names]!r}}} - {{*dir()}}
""")


def test_a_function_that_is_on_demand_is_the_one_of_its_package():
    assert tensorlab.compile is tensorlab.compiler.compile
    assert tensorlab.save is tensorlab.serialization.save
    assert tensorlab.load is tensorlab.serialization.load
    assert pickle.loads(pickle.dumps(tensorlab.save)) is tensorlab.save


def test_a_submodule_can_be_imported_before_its_package_was_asked_for():
    run("""
import tensorlab.nn.modules.conv
from tensorlab.utils.data import DataLoader
from tensorlab.nn.modules.linear import Linear
import tensorlab.optim.lr_scheduler as schedulers
import tensorlab
assert tensorlab.nn.modules.conv.Conv2d is tensorlab.nn.Conv2d
assert tensorlab.nn.Linear is Linear and tensorlab.utils.data.DataLoader is DataLoader
assert tensorlab.optim.lr_scheduler is schedulers
""")


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("import missing_library", "ModuleNotFoundError", "No module named 'missing_library'"),
        ("None.missing", "AttributeError", "'NoneType' object has no attribute 'missing'"),
        ("1 / 0", "ZeroDivisionError", "division by zero"),
    ],
)
def test_an_error_in_an_import_on_demand_is_raised_as_it_is(tmp_path, body, error, message):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text(
        "from tensorlab._on_demand import on_demand\n"
        "__getattr__, __dir__ = on_demand(__name__, ('broken',), {'name': 'broken'})\n"
    )
    (tmp_path / "package" / "broken.py").write_text(body)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    for statement in ("package.broken", "package.name", "from package import broken"):
        said = run(
            f"import package\ntry:\n    {statement}\nexcept {error} as error:\n    print(error)",
            PYTHONPATH=path,
        )
        assert said.strip() == message


def test_what_is_on_demand_can_still_be_asked_for_when_the_interpreter_ends():
    said = run("""
import atexit
import tensorlab
def ask():
    for name in (*tensorlab._ON_DEMAND, *tensorlab._HOMES):
        getattr(tensorlab, name)
    print("done")
atexit.register(ask)
""")
    assert said.strip() == "done"


def test_a_name_that_no_package_has_is_an_attribute_error_with_a_hint():
    with pytest.raises(AttributeError, match="tensorlab has no 'optm'; did you mean 'optim'"):
        tensorlab.optm  # noqa: B018
    with pytest.raises(AttributeError, match="no 'prun'; did you mean 'prune'"):
        tensorlab.nn.utils.prun  # noqa: B018
    get, _ = on_demand("tensorlab.nn", ())
    with pytest.raises(AttributeError, match=r"tensorlab\.nn has no 'Linaer'"):
        get("Linaer")


def test_a_recording_is_not_ended_by_an_import_on_demand():
    said = run("""
import warnings
import tensorlab
warnings.simplefilter("error")
warnings.filterwarnings("ignore", "compile: there is no C compiler")
def f(x):
    assert tensorlab.hub and tensorlab.linalg and tensorlab.nn.utils.prune
    return x * 2
compiled = tensorlab.compile(f)
print(compiled(tensorlab.ones(2)).tolist(), compiled(tensorlab.ones(2)).tolist())
""")
    assert said.split() == ["[2.0,", "2.0]", "[2.0,", "2.0]"]


def test_tensors_are_shared_with_processes_though_nothing_but_tensorlab_is_imported():
    said = run("""
import multiprocessing.reduction as reduction
import tensorlab
print(tensorlab.Tensor in reduction.ForkingPickler._extra_reducers)
""")
    assert said.strip() == "True"


def test_a_class_hears_of_methods_that_are_on_demand():
    said = run("""
import tensorlab
class Loud(tensorlab.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})
x = tensorlab.ones(2, 2).as_subclass(Loud)
x.i0()
x.to_dense()
x.igamma(x)
""")
    assert said.split() == ["i0", "to_dense", "igamma"]


def test_a_module_can_be_compiled_in_place_before_anything_else_was():
    run("""
import tensorlab
net = tensorlab.nn.Linear(2, 1)
net.compile(backend="eager")
net(tensorlab.ones(1, 2))
""")


def test_compile_imports_what_the_code_names_and_nothing_else():
    told = run("""
import sys
import tensorlab as T

def spectrum(x):
    return T.fft.fft(x).abs()

@T.compile
def f(x):
    return spectrum(x).sum() + T.linalg.vector_norm(x)

for _ in range(2):
    f(T.ones(3))
print(f.compiled.counts)
print({"tensorlab.distributed", "tensorlab.nested", "tensorlab.sparse"} & set(sys.modules))
""")
    assert told.split("\n")[:2] == ["{'replayed': 1, 'recorded': 1, 'as Python': 0}", "set()"]


def test_compile_imports_what_the_methods_of_an_object_name():
    told = run("""
import tensorlab as T
from tensorlab import nn

class Encoder(nn.Module):
    def encode(self, x):
        return T.fft.rfft(x).abs()

class Network(Encoder):
    def forward(self, x):
        return self.encode(x)

class Trainer:
    def __init__(self):
        self.network, self.again = Network(), self.step

    def step(self, x):
        return self.loss(self.network(x))

    def loss(self, x):
        return T.special.entr(x).sum()

f = T.compile(Trainer().step, fullgraph=True)
for _ in range(2):
    f(T.ones(3))
print(f.compiled.counts)
""")
    assert told == "{'replayed': 1, 'recorded': 1, 'as Python': 0}\n"


def test_what_is_first_asked_for_in_a_recording_is_there_for_the_next_one():
    told = run("""
import sys
import warnings
import tensorlab as T
from tensorlab.compiler.logs import set_logs

warnings.simplefilter("error")
warnings.filterwarnings("ignore", "compile: there is no C compiler")
sys.stderr = sys.stdout
set_logs("breaks")
f = T.compile(lambda x: getattr(T, "spec" + "ial").entr(x), fullgraph=True)
for _ in range(3):
    f(T.ones(3))
print(f.compiled.counts)
""")
    breaks, counts = told.splitlines()
    assert breaks.endswith("<lambda>: imports a part of tensorlab; the next call is recorded")
    assert counts == "{'replayed': 1, 'recorded': 1, 'as Python': 1}"
