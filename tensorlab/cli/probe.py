"""What `tensorlab doctor` asks of the imported package, in a process of its own.

Prints one line of JSON for each finding, in the form of `doctor.Finding`.
"""

import importlib
import json

import tensorlab
from tensorlab import __config__, _build_info, _finder
from tensorlab._core.loops.parallel import available_processors
from tensorlab.errors import MissingExtra

TOLERANCE = 1e-5


def tell(name, state, seen, remedy=""):
    line = {"name": name, "state": state, "seen": seen, "remedy": remedy}
    print(json.dumps(line), flush=True)


def check_modules():
    """Import every module of the package."""
    failed = []
    count = 0
    for name in _finder.all_modules():
        count += 1
        try:
            importlib.import_module(name)
        except MissingExtra:
            continue
        except Exception as error:
            failed.append(f"{name} ({type(error).__name__}: {error})")
    if failed:
        tell("import", "problem", f"{len(failed)} modules fail: {failed[0]}", "build it again")
    else:
        tell("import", "ok", f"{count} modules")


def check_build():
    compiled = f"{__config__.capability()}, by {_build_info.compiler}"
    tell("capability", "ok", compiled)
    if _build_info.debug:
        tell("build", "problem", "a debug build: slow", "build it without TENSORLAB_DEBUG")


def check_threads():
    """Compare the threads in use with the processors that this process may run on."""
    count, processors = tensorlab.get_num_threads(), available_processors()
    seen = f"{count} on {processors} processor{'' if processors == 1 else 's'}"
    if not __config__.has_threads and processors > 1:
        remedy = "to use all, build on a system with POSIX threads and without TENSORLAB_NO_THREADS"
        tell("threads", "--", f"{seen}; built without threads, loops run on one", remedy)
    else:
        tell("threads", "ok", seen)


def check_blas():
    found = __config__.blas()
    tell("BLAS", "ok", found)


def check_computation():
    """Multiply, differentiate and convolve small numbers whose results are known."""
    x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    product = x @ x
    product.sum().backward()
    wave = tensorlab.linspace(0, 1, 100_001).tanh().mean().item()
    kernel = tensorlab.ones(1, 1, 2)
    window = tensorlab.conv1d(tensorlab.tensor([[[1.0, 2.0, 3.0]]]), kernel)
    wrong = [
        name
        for name, came, expected in (
            ("matmul", product.tolist(), [[7.0, 10.0], [15.0, 22.0]]),
            ("backward", x.grad.tolist(), [[7.0, 11.0], [9.0, 13.0]]),
            ("conv1d", window.tolist(), [[[3.0, 5.0]]]),
            ("tanh and mean", abs(wave - 0.43378083) < TOLERANCE, True),  # log(cosh(1))
        )
        if came != expected
    ]
    if wrong:
        seen = f"wrong numbers from {', '.join(wrong)}"
        tell("computation", "problem", seen, "build it again; if it stays, report it")
    else:
        tell("computation", "ok", "matmul, backward, conv1d, tanh and mean give what they must")


if __name__ == "__main__":
    for check in (check_modules, check_build, check_threads, check_blas, check_computation):
        check()
