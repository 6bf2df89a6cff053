"""What PyTorch says of each sample that neither NumPy nor a formula can: result types, strides, classes of errors.

    python -m tests.ops.record

writes pytorch.json, one line per sample, for the tests that run without PyTorch. Those that run with it
(test_all_samples.py) hold both packages to the same answers, so that an old record fails where it is wrong.
Of an op that PyTorch lacks (`in_pytorch=False`), the line holds what tensorlab does: read it before you commit it.
"""

import importlib
import json
import pathlib
import warnings

import numpy as np

from tests.ops.every_sample import SAMPLES, as_tuple, dtype_name, tensors_of
from tests.ops.samples import stepped, transposed

FILE = pathlib.Path(__file__).parent / "pytorch.json"
RECORDED = json.loads(FILE.read_text()) if FILE.exists() else {}  # by the names of the samples
LAYOUTS = {"contiguous": np.asarray, "transposed": transposed, "stepped": stepped}


def builtin_class(error):
    """The built-in class that an exception of either package inherits."""
    return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")


def type_names(results, dtype):
    """The dtypes of all results as one word; "=" is the dtype of the inputs."""
    names = (dtype_name(y) if hasattr(y, "dtype") else type(y).__name__ for y in results)
    return ",".join("=" if name == dtype else name for name in names)


def result_types(T, sample, dtype):
    """The dtypes of all results, or the class of the error."""
    try:
        results = as_tuple(sample.call(T, *tensors_of(sample.arrays(), dtype, T)))
    except (RuntimeError, TypeError) as error:
        return builtin_class(error)
    return type_names(results, dtype)


def laid_out(T, sample, layout):
    """The inputs in that layout, as tensors that share the arrays' memory."""
    return [T.from_numpy(LAYOUTS[layout](array)) for array in sample.arrays()]


def strides(T, sample, layout):
    """The strides of all results, as in "4 1, 1" for a matrix and a row."""
    results = as_tuple(sample.call(T, *laid_out(T, sample, layout)))
    return ", ".join(" ".join(map(str, y.stride())) for y in results if hasattr(y, "stride"))


def refusals(T, sample):
    """The class of error that each of the bad calls raises."""
    found = []
    for call in sample.bad:
        try:
            call(T, *tensors_of(sample.arrays(), T=T))
        except Exception as error:
            found.append(builtin_class(error))
        else:
            raise AssertionError(f"{sample.name}: bad call {len(found)} raises nothing")
    return found


def recorded_types(sample):
    """The recorded result types, or classes of errors, by the dtype of the inputs."""
    return dict(zip(sample.dtypes, RECORDED[sample.name]["types"].split(), strict=True))


def answers(sample):
    """What is recorded of a sample: {"types": ..., "strides": ..., "bad": ...}."""
    T = importlib.import_module("torch" if sample.in_pytorch else "tensorlab")
    found = {"types": " ".join(result_types(T, sample, dtype) for dtype in sample.dtypes)}
    if sample.same_strides:
        found["strides"] = [strides(T, sample, layout) for layout in LAYOUTS]
    if sample.bad:
        found["bad"] = " ".join(refusals(T, sample))
    return found


def main():
    warnings.simplefilter("ignore")
    lines = [f"{json.dumps(sample.name)}: {json.dumps(answers(sample))}" for sample in SAMPLES]
    assert len({sample.name for sample in SAMPLES}) == len(SAMPLES), "two samples of one name"
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
