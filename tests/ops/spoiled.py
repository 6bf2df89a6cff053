"""Calls of the samples with one argument spoiled: made one larger, negative, nan, of another shape or type, or None.

A sample is called with a package that stands in front of tensorlab or PyTorch, and changes one argument of one call
on the way. What then differs from PyTorch is listed in spoiled.json: mostly other types that are computed with where
PyTorch refuses them, and errors of another class. The list says what is known, not that it is right.

refusers.json says for each function which others its errors name: those that it is made of; "" is an error of
Python's own. A check that is lost shows there, when something further on refuses the argument.

    python -m tests.ops.spoiled         # write both lists
"""

import json
import math
import pathlib
import re
import types
import warnings

import numpy as np

import tensorlab
from tests.ops.every_sample import IN_PYTORCH, as_tuple, tensors_of
from tests.oracle import require_torch

FILE = pathlib.Path(__file__).parent / "spoiled.json"
REFUSERS = pathlib.Path(__file__).parent / "refusers.json"

TENSOR_SPOILS = {
    "None": lambda T, x: None,
    "one dimension more": lambda T, x: x.unsqueeze(-1),
    "flat": lambda T, x: x.reshape(-1),
    "shorter": lambda T, x: x[..., :-1] if x.ndim else x,
    "empty": lambda T, x: x[..., :0] if x.ndim else x,
    "first": lambda T, x: x[0] if x.ndim and x.shape[0] else x,
    "int32": lambda T, x: x.to(T.int32),
    "float32": lambda T, x: x.to(T.float32),
    "nan": lambda T, x: (
        x * math.nan if x.is_floating_point() else -x - 1 if x.dtype != T.bool else ~x
    ),
    "larger": lambda T, x: x * 100 if x.dtype != T.bool else x,
}
INT_SPOILS = {
    "one more": lambda T, n: n + 1,
    "one less": lambda T, n: n - 1,
    "0": lambda T, n: 0,
    "negative": lambda T, n: -n - 1,
    "large": lambda T, n: n + 20,
    "a float": lambda T, n: n + 0.5,
    "a text": lambda T, n: "text",
    "None": lambda T, n: None,
}
FLOAT_SPOILS = {
    "nan": lambda T, x: math.nan,
    "inf": lambda T, x: math.inf,
    "negative": lambda T, x: -x,
    "0": lambda T, x: 0.0,
    "larger": lambda T, x: 3 * x + 1,
    "an int": lambda T, x: 2,
    "a text": lambda T, x: "text",
    "None": lambda T, x: None,
}
LIST_SPOILS = {
    "shorter": lambda T, x: x[:-1],
    "longer": lambda T, x: type(x)([*x, *x[-1:]]),
    "one more": lambda T, x: type(x)(n + 1 for n in x),
    "one less": lambda T, x: type(x)(n - 1 for n in x),
    "last 0": lambda T, x: type(x)([*x[:-1], *[0 for _ in x[-1:]]]),
    "negative": lambda T, x: type(x)(-n - 1 for n in x),
    "None": lambda T, x: None,
    "a number": lambda T, x: x[0],
}


# PyTorch doesn't look whether pivots are rows of the matrix, and as many, nor whether LAPACK can do with no columns:
# with these it writes outside of its memory.
PIVOTS = ("linalg.lu_solve(1", "lu_solve(2", "linalg.ldl_solve(1")
CORRUPTING = {
    *(f"lu_unpack(1: {spoil})" for spoil in TENSOR_SPOILS),
    *(f"{argument}: {spoil})" for argument in PIVOTS for spoil in ("nan", "larger")),
    "linalg.lstsq(1: empty)",
}


def spoils_of(value, T=tensorlab):
    """The ways in which an argument can be spoiled, by name."""
    if isinstance(value, T.Tensor):
        return TENSOR_SPOILS
    if isinstance(value, bool):
        return {"turned": lambda T, x: not x}
    if isinstance(value, int):
        return INT_SPOILS
    if isinstance(value, float):
        return FLOAT_SPOILS
    if isinstance(value, str):
        return {"another": lambda T, x: "nonsense", "None": lambda T, x: None}
    if isinstance(value, (tuple, list)) and value and all(type(n) is int for n in value):
        return LIST_SPOILS
    return {}


class Tap:
    """Stands in front of a package: counts the calls of its functions, and spoils one argument of one of them."""

    def __init__(self, T, package=None, plan=None, log=None, path=""):
        self._T, self._package, self._plan, self._path = T, package or T, plan, path
        self._log = [] if log is None else log

    def __getattr__(self, name):
        value = getattr(self._package, name)
        if isinstance(value, types.ModuleType):
            return Tap(self._T, value, self._plan, self._log, f"{self._path}{name}.")
        if not callable(value) or isinstance(value, type):
            return value
        return lambda *args, **named: self._call(f"{self._path}{name}", value, args, named)

    def _call(self, name, function, args, named):
        args, named = plain(args), plain(named)
        given = dict(enumerate(args)) | named
        number = len(self._log)
        self._log.append((name, dict(given)))
        if self._plan is not None and self._plan[0] == number:
            key, spoil = self._plan[1:]
            given[key] = spoils_of(given[key], self._T)[spoil](self._T, given[key])
        positional = [given.pop(i) for i in range(len(args))]
        return function(*positional, **given)


class TapTensor:
    """Stands in front of a tensor, so that calls of its methods are counted and spoiled, too."""

    def __init__(self, tap, tensor):
        self.tap, self.tensor = tap, tensor

    def __getattr__(self, name):
        value = getattr(self.tensor, name)
        if not callable(value) or isinstance(value, type):
            return value
        return lambda *args, **named: self.tap._call(f"Tensor.{name}", value, args, named)


def plain(value):
    """A value without the taps in it."""
    if isinstance(value, TapTensor):
        return value.tensor
    if isinstance(value, (tuple, list)) and any(isinstance(one, TapTensor) for one in value):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def operator(name):
    return lambda self, *args: getattr(self.tensor, name)(*plain(args))


OPERATORS = (
    "abs add and eq floordiv ge getitem gt iadd imul invert isub iter le len lt matmul mod mul ne neg or pow radd rmul "
    "rpow rsub rtruediv setitem sub truediv xor"
)
for _name in OPERATORS.split():
    setattr(TapTensor, f"__{_name}__", operator(f"__{_name}__"))


def call_tapped(T, sample, plan=None):
    """Call a sample with methods tapped, or without, if it gives tensors to what is not tapped."""
    tensors = tensors_of(sample.arrays(), T=T)
    tap = Tap(T, plan=plan)
    if sample.name not in UNTAPPED:
        try:
            return tap, plain(sample.call(tap, *[TapTensor(tap, x) for x in tensors]))
        except TypeError as error:
            if "TapTensor" not in str(error):
                raise
        T.manual_seed(0)
        UNTAPPED.add(sample.name)
        tap = Tap(T, plan=plan)
    return tap, sample.call(tap, *tensors)


UNTAPPED = set()


def plans_of(sample):
    """(number of the call, argument, spoil) for everything that is done to a sample."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tap, _ = call_tapped(tensorlab, sample)
    return [
        (number, key, spoil, f"{name}({key}: {spoil})" + (f" call {number}" if number else ""))
        for number, (name, given) in enumerate(tap._log)
        for key, value in given.items()
        for spoil in spoils_of(value)
        if f"{name}({key}: {spoil})" not in CORRUPTING
    ]


def visible(x):
    """What is compared: shapes, dtypes, values."""
    if hasattr(x, "storage_offset"):
        values = (
            np.array(x.detach().tolist(), dtype="float64")
            if x.numel()
            else np.zeros(tuple(x.shape))
        )
        return str(x.dtype).rpartition(".")[2], tuple(x.shape), values
    if isinstance(x, (tuple, list)):
        return [visible(one) for one in x]
    return (
        "value",
        (),
        np.array(x, dtype="float64") if isinstance(x, (bool, int, float)) else repr(x),
    )


def outcome(T, sample, plan):
    """What comes of a call: ("result", ...), or the name of the built-in class that is raised."""
    T.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "result", visible(list(as_tuple(call_tapped(T, sample, plan)[1])))
        except Exception as error:
            return error, None


def is_close(ours, theirs):
    if isinstance(ours, list):
        return (
            isinstance(theirs, list)
            and len(ours) == len(theirs)
            and all(map(is_close, ours, theirs))
        )
    if isinstance(theirs, list) or ours[:2] != theirs[:2]:
        return False
    if isinstance(ours[2], str) or isinstance(theirs[2], str):
        return True
    tolerance = 1e-7 if ours[0] in ("float64", "int64") else 2e-4
    return np.allclose(ours[2], theirs[2], rtol=tolerance, atol=tolerance, equal_nan=True)


def builtin_class(error):
    return next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__


def compare(ours, our_values, theirs, their_values):
    """None if both packages do the same, or what they do."""
    if ours == "result" and theirs == "result":
        return None if is_close(our_values, their_values) else "other result"
    if ours == "result" or theirs == "result":
        said = [one if one == "result" else builtin_class(one) for one in (ours, theirs)]
        return f"{said[0]}, PyTorch {said[1]}"
    name = builtin_class(theirs)
    if any(c.__name__ == name for c in type(ours).__mro__):
        return None
    return f"{builtin_class(ours)}, PyTorch {name}"


def refuser(error, function):
    """The function that an error names, without the underscore of writing in place; Cython names none."""
    if str(error).startswith(("Argument '", "unsupported operand")):
        return function
    found = re.match(r"(?:\w+\.)*(\w+?)_?:", str(error))
    return found[1] if found else ""


def differences(sample):
    """({what is spoiled: how the outcomes differ}, {function: which others its errors name}) for one sample."""
    found, refusers = {}, {}
    for *plan, title in plans_of(sample):
        ours, theirs = (outcome(T, sample, plan) for T in (tensorlab, require_torch()))
        difference = compare(*ours, *theirs)
        if difference is not None:
            found[title] = difference
        function = re.match(r"(?:\w+\.)*(\w+?)_?\(", title)[1]
        if ours[0] != "result" and (named := refuser(ours[0], function)) != function:
            refusers.setdefault(function, set()).add(named)
    return found, refusers


def write_lists():
    known, refusers = {}, {}
    for sample in IN_PYTORCH:
        found, others = differences(sample)
        if found:
            known[sample.name] = found
        for function, names in others.items():
            refusers.setdefault(function, set()).update(names)
    refusers = {function: sorted(names) for function, names in refusers.items()}
    FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    lines = [f" {json.dumps(name)}: {json.dumps(refusers[name])}" for name in sorted(refusers)]
    REFUSERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    write_lists()
