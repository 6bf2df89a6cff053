"""out= of every function that takes it, against PyTorch: what is written, what is refused, what is warned of."""

import inspect
import re
import warnings
from operator import attrgetter

import numpy as np
import pytest

import tensorlab
from tensorlab.errors import DeviceError
from tests.ops.out_calls import ELSEWHERE, NETWORKS, RANDOM, all_calls
from tests.oracle import require_torch

torch = require_torch()
CALLS = [
    (name, arguments)
    for table in (all_calls(), NETWORKS, RANDOM)
    for name, several in table.items()
    for arguments in several
]


def inputs(T):
    """Fresh tensors of either library, by the names that the calls use."""
    rng = np.random.default_rng(3)

    def floats(*shape):
        return T.tensor(rng.standard_normal(shape).round(3).tolist(), dtype=T.float32)

    names = {"x": floats(3, 4), "y": floats(3, 4), "z": floats(4), "v": floats(3), "w": floats(4)}
    names |= {
        "xb": floats(2, 3, 4),
        "yb": floats(2, 4, 3),
        "mb": floats(2, 3, 3),
        "m": floats(3, 3),
    }
    names["yt"] = names["y"].t()
    names["u"] = T.tensor(rng.uniform(0.1, 0.9, (3, 4)).round(3).tolist(), dtype=T.float32)
    names["i"] = T.tensor(rng.integers(1, 9, (3, 4)).tolist())
    names["j"] = T.tensor(rng.integers(1, 5, (3, 4)).tolist())
    names["q"] = T.tensor(rng.integers(0, 2, (3, 4)).tolist(), dtype=T.uint8)
    names["k"] = T.tensor(rng.integers(0, 4, (3, 4)).tolist())
    names["n"] = T.tensor([2, 0, 1])
    names["b"] = T.tensor(rng.integers(0, 2, (3, 4)).tolist(), dtype=T.bool)
    names["s"] = T.tensor([-1.0, -0.5, 0.0, 0.5, 1.0])
    return names


def run(T, name, arguments, names, **more):
    names = {**names, **more, "float64": T.float64, "f": attrgetter(name)(T), "T": T}
    return eval(f"f({arguments}{', out=out' if 'out' in more else ''})", names)


def several(result):
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def of_dtype(T, like, dtype=None):
    return getattr(T, dtype or str(like.dtype).rpartition(".")[2])


def filled(T, shape, dtype):
    return T.ones(tuple(shape)).mul_(7).to(dtype)


# ------------------------------------------------------------------------------------------------ kinds of out=
# Each makes the out= tensor for one result, given the inputs; and the memory that must stay as it is, or None.
def right(T, like, names):
    return filled(T, like.shape, of_dtype(T, like)), None


def without_elements(T, like, names):
    return T.empty(0, dtype=of_dtype(T, like)), None


def too_large(T, like, names):
    return filled(T, (2, *like.shape, 3), of_dtype(T, like)), None


def too_small(T, like, names):
    return filled(T, (1,), of_dtype(T, like)), None


def every_other(T, like, names):
    base = filled(
        T, (*like.shape[:-1], 2 * like.shape[-1] + 1) if like.ndim else (3,), of_dtype(T, like)
    )
    return (base[..., 1::2] if like.ndim else base[1]), base


def column_major(T, like, names):
    back = tuple(range(like.ndim - 1, -1, -1))
    return filled(T, tuple(like.shape)[::-1], of_dtype(T, like)).permute(back), None


def in_the_middle(T, like, names):
    base = filled(T, (like.numel() + 4,), of_dtype(T, like))
    return base[2:-2].reshape(like.shape), base


def expanded(T, like, names):
    return filled(T, (), of_dtype(T, like)).expand(tuple(like.shape)), None


def of(dtype):
    def make(T, like, names):
        return filled(T, like.shape, of_dtype(T, like, dtype)), None

    make.__name__ = f"of_{dtype}"
    return make


def requiring_grad(T, like, names):
    x = filled(T, like.shape, of_dtype(T, like))
    return (x.requires_grad_() if x.is_floating_point() else x), None


def right_for_inputs_requiring_grad(T, like, names):
    for key in names["used"] & names.keys() - {"used"}:
        if names[key].is_floating_point():
            names[key] = names[key].detach().requires_grad_()
    return right(T, like, names)


def over_an_input(shift):
    """The memory of the first input that has the type of the result, from its element `shift` on."""

    def make(T, like, names):
        for key in ("x", "xb", "v", "i", "q", "b", "u"):
            if key in names["used"] and names[key].dtype == like.dtype:
                names["used"] = ()  # of several results, one lies over an input
                x = names[key]
                row = T.cat([x.reshape(-1)] * 2)
                names[key] = row[: x.numel()].reshape(x.shape)
                if shift + like.numel() <= row.numel():
                    return row[shift : shift + like.numel()].reshape(like.shape), None
        return right(T, like, names)

    make.__name__ = f"over_an_input_from_{shift}"
    return make


KINDS = [
    right,
    without_elements,
    too_large,
    too_small,
    every_other,
    column_major,
    in_the_middle,
    expanded,
    requiring_grad,
    right_for_inputs_requiring_grad,
    *[of(dtype) for dtype in ("float64", "float32", "float16", "int64", "int32", "uint8", "bool")],
    *[over_an_input(shift) for shift in (0, 1)],
]


def outcome(T, name, arguments, make):
    """What a call does: the class of its error; or values, strides and number of warnings, and the memory around."""
    names = inputs(T)
    names["used"] = set(re.findall(r"\w+", arguments))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = several(run(T, name, arguments, names))
    around = []
    outs = []
    for result in plain:
        out, memory = make(T, result, names)
        outs.append(out)
        around.append(memory)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            got = run(T, name, arguments, names, out=outs[0] if len(outs) == 1 else tuple(outs))
        except Exception as error:
            return type(error), str(error)
    got = several(got)
    assert len(got) == len(outs)
    for x, y in zip(got, outs, strict=True):
        assert x is y, "the call returns something else than out"
    warned = sum("resized" in str(warning.message) for warning in caught)
    return (
        [x.detach().tolist() for x in got],
        [tuple(x.stride()) for x in got],
        warned > 0,
        [None if x is None else x.tolist() for x in around],
        [x.tolist() for x in plain],
    )


def close(a, b):
    return np.allclose(a, b, 1e-3, 1e-3, equal_nan=True)


def agree(ours, theirs, is_random=False):
    """None, or how they differ."""
    if isinstance(theirs[0], type):
        if not isinstance(ours[0], type):
            return f"PyTorch raises: {theirs[1][:150]}"
        wanted = RuntimeError if theirs[0] is NotImplementedError else theirs[0]
        if not issubclass(ours[0], wanted):
            return f"PyTorch raises {wanted.__name__}, we {ours[0].__name__}: {ours[1][:150]}"
        return None
    if isinstance(ours[0], type):
        return f"we raise {ours[0].__name__}: {ours[1][:150]}"
    for x, y, z in zip(ours[0], theirs[0], ours[4], strict=True):
        a, b, c = (np.array(value, dtype="float64") for value in (x, y, z))
        if a.shape != b.shape:
            return f"shape {a.shape}, PyTorch {b.shape}"
        if is_random or close(a, b):
            continue
        if c.shape != a.shape or not close(a, c):  # PyTorch's is spoiled by the overlap, ours not
            return f"value {a.tolist()}, PyTorch {b.tolist()}"
    if ours[1] != theirs[1]:
        return f"strides {ours[1]}, PyTorch {theirs[1]}"
    if ours[2] != theirs[2]:
        return f"warned: {ours[2]}, PyTorch {theirs[2]}"
    for x, y in zip(ours[3], theirs[3], strict=True):
        if x is not None and not is_random and not close(x, y):
            return f"memory around {x}, PyTorch {y}"
    return None


# Where PyTorch's own functions go different ways, by (name, arguments) or name, and the kinds of out=.
EXCEPTIONS = {
    ("matmul", "v, x"): None,  # resizes out= to a matrix and back, with a warning each time
    "addbmm": {"too_large", "too_small"},  # resize without the warning of all others
    # the same; writes outside of a view, outside of an expanded tensor's memory, and with memcpy over memory that it
    # reads, as the address sanitizer reports
    "narrow_copy": {
        "too_large",
        "too_small",
        "every_other",
        "expanded",
        "over_an_input_from_0",
        "over_an_input_from_1",
    },
    "range": {"too_large", "too_small"},
    "nn.functional.avg_pool3d": {"every_other"},  # writes between the elements of a view
    "nn.functional.gelu": {"every_other"},  # the same
    "nn.functional.logsigmoid": {
        "too_large",
        "too_small",
        "every_other",  # the same
        "over_an_input_from_1",  # is computed over its own input
    },
    "bernoulli": {"too_large", "too_small"},
    "multinomial": {"too_large", "too_small"},
    "threshold": {"over_an_input_from_1"},  # is computed over its own input
    "histc": {"requiring_grad"},  # writes into a leaf behind the back of autograd
    "argsort": {"right_for_inputs_requiring_grad"},  # is refused, though indices have no derivative
}
# Where PyTorch writes the result and says nothing of the graph that is lost; ours raise, as others do there.
SILENT = {
    *[
        "diag",
        "div",
        "floor_divide",
        "heaviside",
        "inner",
        "log_softmax",
        "nanquantile",
        "quantile",
        "scatter",
    ],
    *["slice_scatter", "softmax", "tensordot"],
}


@pytest.mark.parametrize("name, arguments", CALLS, ids=lambda value: str(value))
def test_out_does_what_it_does_in_pytorch(name, arguments):
    exceptions = EXCEPTIONS.get(name, EXCEPTIONS.get((name, arguments), ()))
    for make in KINDS:
        if exceptions is None or make.__name__ in exceptions:
            continue
        ours, theirs = (outcome(T, name, arguments, make) for T in (tensorlab, torch))
        if make is expanded and isinstance(ours[0], type):
            continue  # refused everywhere, while a few functions of PyTorch write a wrong result
        if make is right_for_inputs_requiring_grad and name in SILENT and "i" not in arguments[:1]:
            assert issubclass(ours[0], RuntimeError)
            continue
        difference = agree(ours, theirs, name in RANDOM)
        assert difference is None, f"{make.__name__}: {difference}"


def test_the_table_names_every_function_that_takes_out():
    takes = {
        name
        for name in tensorlab.__all__
        if hasattr(torch, name)  # of others, the samples with out=True say enough (test_writing.py)
        and callable(getattr(tensorlab, name))
        and not isinstance(getattr(tensorlab, name), type)
        and "out" in inspect.signature(getattr(tensorlab, name)).parameters
    }
    lists = {"split_copy", "split_with_sizes_copy", "unbind_copy"}  # test_copied_views.py
    assert takes - lists - set(ELSEWHERE) == set(all_calls()) | set(RANDOM)


LAYOUTS = {  # the result has the strides of its operands, not row-major ones
    "pointwise": lambda T, x, out: T.exp(x, out=out),
    "of two": lambda T, x, out: T.add(x, x, out=out),
    "broadcast": lambda T, x, out: T.mul(x, x[:, :1], out=out),
    "of three": lambda T, x, out: T.addcmul(x, x, x, out=out),
    "comparison": lambda T, x, out: T.gt(x, 0, out=out.to(T.bool)),
    "with numbers": lambda T, x, out: T.clamp(x, -1, 1, out=out),
    "sort": lambda T, x, out: T.sort(x, out=(out, T.empty(0, dtype=T.int64)))[0],
    "cumsum": lambda T, x, out: T.cumsum(x, 0, out=out),
    "tril": lambda T, x, out: T.tril(x[:2, :2], out=out),
    "softmax": lambda T, x, out: T.softmax(x, 0, out=out),
    "scatter": lambda T, x, out: T.scatter(x, 0, T.zeros(1, 3, dtype=T.int64), 1.0, out=out),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_an_out_that_is_resized_gets_the_layout_that_pytorch_gives_it(name):
    def strides(T):
        x = T.arange(12.0).reshape(3, 4).t()
        return tuple(LAYOUTS[name](T, x, T.empty(0)).stride())

    assert strides(tensorlab) == strides(torch)


@pytest.mark.filterwarnings("ignore:range is deprecated")
@pytest.mark.parametrize("name, arguments", CALLS, ids=lambda value: str(value))
def test_an_out_on_another_device_is_refused(name, arguments):
    names = inputs(tensorlab)
    results = several(run(tensorlab, name, arguments, names))
    for shape in (None, (0,)):
        away = tuple(
            tensorlab.empty(shape or one.shape, dtype=one.dtype, device="meta") for one in results
        )
        with pytest.raises(DeviceError, match=r"^[\w.]+: .*'meta'.*; they must be on one device"):
            run(tensorlab, name, arguments, names, out=away if len(away) > 1 else away[0])
        assert [one.shape for one in away] == [shape or one.shape for one in results]


def test_several_outs_are_written_together_or_not_at_all():
    x = tensorlab.tensor([[1.0, 5.0], [7.0, 2.0]])
    values, wrong = tensorlab.zeros(3), tensorlab.zeros(2)
    with pytest.raises(RuntimeError, match=r"max: the result has type tensorlab.int64, but out="):
        tensorlab.max(x, 1, out=(values, wrong))
    assert values.tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="max: out must be a tuple of 2 tensors"):
        tensorlab.max(x, 1, out=values)


@pytest.mark.parametrize(
    "call",
    [
        lambda out: tensorlab.where(tensorlab.tensor([True]), out=out),
        lambda out: tensorlab.nonzero(tensorlab.tensor([1]), as_tuple=True, out=out),
        lambda out: tensorlab.softmax(tensorlab.ones(2), 0, out=[1.0, 2.0]),
    ],
)
def test_an_out_that_cannot_be_used_is_refused(call):
    out = tensorlab.zeros(1)
    with pytest.raises(TypeError):
        call(out)
    assert out.tolist() == [0]


def test_narrow_copy_where_pytorch_writes_outside_of_out():
    out = tensorlab.zeros(()).expand(2, 2)
    with pytest.raises(RuntimeError, match="^narrow_copy: "):
        tensorlab.narrow_copy(tensorlab.ones(2, 3), 1, 1, 2, out=out)
    assert out.tolist() == [[0, 0], [0, 0]]
    for shift in (0, 1):
        got, *_, expected = outcome(tensorlab, "narrow_copy", "x, 1, 1, 2", over_an_input(shift))
        assert got == expected


def test_the_median_of_all_is_written_into_out():
    out = tensorlab.zeros(())
    for function in (tensorlab.median, tensorlab.nanmedian):
        assert function(tensorlab.tensor([3.0, 1.0, 2.0]), out=out.zero_()) is out
        assert out == 2


def test_normalize_writes_into_out_without_recording():
    x, out = tensorlab.tensor([[3.0, 4.0]]), tensorlab.empty(0)
    assert tensorlab.nn.functional.normalize(x, out=out) is out
    np.testing.assert_allclose(out.tolist(), [[0.6, 0.8]], rtol=1e-6)
    with pytest.raises(RuntimeError, match="out= cannot be differentiated"):
        tensorlab.nn.functional.normalize(x.requires_grad_(), out=out)


@pytest.mark.parametrize("operands", [([1.0], 2.0), ("x", "y"), (None, 2.0)])
def test_what_is_no_operand_is_refused_before_out_is_written(operands):
    x, out = tensorlab.ones(2), tensorlab.full((2,), 7.0)
    for pair in (operands, (x, operands[0]), (operands[0], x)):
        with pytest.raises(TypeError, match="mul: argument '[xy]' must be a Tensor or a number"):
            tensorlab.mul(*pair, out=out)
    assert out.tolist() == [7.0, 7.0]
