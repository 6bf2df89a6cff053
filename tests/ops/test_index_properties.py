"""Random subscripts against PyTorch: reading, writing, accumulating, and both derivatives of each.

A subscript is text, built from a seed, such as `1:, i64([[0, -1], [2, 0]]), None, mask([True])`, and is
evaluated once for each package. About one in ten is wrong on purpose: then both must raise the same
class, and nothing may have changed.
"""

import random
import warnings

import numpy as np
import pytest

import tensorlab
from tests.oracle import require_torch

torch = require_torch()
BUILTINS = (IndexError, TypeError, ValueError, RuntimeError)
SEEDS = range(20)
SUBSCRIPTS_PER_SEED = 25
INTEGER_NAMES = ("i64", "i64", "i64", "i32", "i16", "i8")
FORMS = ("tensor", "tensor", "tensor", "strided", "list", "array", "range")


# ------------------------------------------------------------------------------------------------ random subscripts
class SubscriptMaker:
    """Random subscripts for tensors of random shapes."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def shape(self):
        sizes = [0, 1, 2, 3, 3, 4, 5]
        return tuple(
            self.random.choice(sizes)
            for _ in range(self.random.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]))
        )

    def position(self, size):
        """An index of a dimension, now and then one that is out of range."""
        if size == 0 or self.random.random() < 0.02:
            return self.random.choice([size, -size - 1])
        return self.random.randrange(-size, size)

    def slice(self, size):
        def bound():
            return self.random.choice(["", str(self.random.randint(-size - 1, size + 1))])

        step = self.random.choice(["", "", ":1", ":2", ":3"])
        return f"{bound()}:{bound()}{step}"

    def nested(self, shape, make):
        if not shape:
            return make()
        return [self.nested(shape[1:], make) for _ in range(shape[0])]

    def positions(self, size, common):
        """An index tensor, list, array or range, whose shape broadcasts to `common`."""
        shape = common[self.random.randint(0, len(common)) :]
        shape = [1 if self.random.random() < 0.2 else n for n in shape]
        if self.random.random() < 0.02:
            shape = [7, *shape]
        values = self.nested(shape, lambda: self.position(size))
        form = self.random.choice(FORMS)
        if form == "range":
            step = self.random.choice([1, 2])
            return (
                f"range(0, {max(size, 1)}, {step})"
                if not common
                else f"i64({values}, {tuple(shape)})"
            )
        if form == "list" and 0 not in shape and shape:
            return str(values)
        if form == "array":
            return f"np.array({values}, dtype=np.int64).reshape({tuple(shape)})"
        if form == "strided":
            return f"turned({values}, {tuple(shape)})"
        return f"{self.random.choice(INTEGER_NAMES)}({values}, {tuple(shape)})"

    def mask(self, sizes, trues=None):
        """A mask over some dimensions, as bool or uint8 tensor, array or list."""
        sizes = [n + 1 if self.random.random() < 0.02 else n for n in sizes]
        count = int(np.prod(sizes))
        flags = [self.random.random() < 0.5 for _ in range(count)]
        if trues is not None and trues <= count:
            chosen = self.random.sample(range(count), trues)
            flags = [i in chosen for i in range(count)]
        values = np.array(flags, dtype=bool).reshape(sizes).tolist()
        form = self.random.choice(["mask", "mask", "mask", "byte", "list", "array"])
        if form == "list" and len(sizes) == 1 and sizes[0] > 0:
            return str(values)
        if (
            form == "array" and len(sizes) < 2
        ):  # PyTorch counts only tensors right where there is an Ellipsis, too
            return f"np.array({values}, dtype=np.bool_).reshape({tuple(sizes)})"
        return f"{'byte' if form == 'byte' else 'mask'}({values}, {tuple(sizes)})"

    def item(self, kind, size, common):
        """One item for a dimension of some size."""
        if kind == "positions":
            return self.positions(size, common)
        if kind == "slice":
            return self.slice(size)
        form = (
            self.random.choice(["i64(%d, ())", "i32(%d, ())", "np.int64(%d)"])
            if kind == "0-d"
            else "%d"
        )
        return form % self.position(size)

    def subscript(self, shape, tensors_only=False):
        """Items for some of the dimensions, from the first on; with at most one Ellipsis."""
        common = [
            self.random.choice([1, 2, 2, 3, 0])
            for _ in range(self.random.choice([0, 1, 1, 1, 2, 2, 3]))
        ]
        kinds = ["positions"] * 4 + ["mask"] * 2
        if not tensors_only:
            kinds += ["int", "int", "slice", "slice", "None", "bool", "0-d", "stop"]
        items, dim, has_ellipsis = [], 0, False
        while dim < len(shape):
            if not tensors_only and not has_ellipsis and self.random.random() < 0.12:
                items.append("...")
                has_ellipsis = True
                dim += self.random.randint(0, len(shape) - dim)
                continue
            kind = self.random.choice(kinds)
            if kind == "stop":
                break
            if kind in ("None", "bool"):
                items.append(
                    "None"
                    if kind == "None"
                    else self.random.choice(["True", "False", "mask(True, ())"])
                )
                continue
            if kind == "mask":
                width = self.random.randint(1, min(2, len(shape) - dim))
                wanted = int(np.prod(common)) if len(common) == 1 else None
                items.append(self.mask(shape[dim : dim + width], wanted))
                dim += width
                continue
            items.append(self.item(kind, shape[dim], common))
            dim += 1
        if not tensors_only and self.random.random() < 0.03:
            items.append("0")
        if not items:
            return "..." if not tensors_only else "i64([0], (1,))"
        comma = "," if (len(items) == 1 and self.random.random() < 0.5) or tensors_only else ""
        return ", ".join(items) + comma


def environment(T, shape):
    """The names that a subscript uses, and a tensor x to be indexed."""

    def tensor(dtype):
        return lambda values, sizes: T.tensor(values, dtype=dtype).reshape(sizes)

    numbers = np.random.default_rng(len(shape)).standard_normal(shape)
    return {
        "T": T,
        "np": np,
        "i64": tensor(T.int64),
        "i32": tensor(T.int32),
        "i16": tensor(T.int16),
        "i8": tensor(T.int8),
        "byte": tensor(T.uint8),
        "mask": tensor(T.bool),
        # the same values, but laid out in memory from the last dimension to the first
        "turned": lambda values, sizes: T.tensor(
            np.array(values, dtype=np.int64).reshape(sizes).T.copy()
        ).permute(tuple(range(len(sizes)))[::-1]),
        "x": T.tensor(numbers, dtype=T.float64).reshape(shape).requires_grad_(),
    }


def visible(x):
    return {
        "shape": tuple(x.shape),
        "stride": tuple(x.stride()) if 0 not in x.shape else None,
        "dtype": str(x.dtype).split(".")[1],
        "version": x._version,
        "requires_grad": x.requires_grad,
        "node": x.grad_fn and x.grad_fn.name().rpartition(":")[2].rstrip("0123456789"),
        "values": x.detach().tolist(),
    }


def attempt(T, run):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(T)
    except BUILTINS as error:
        return {
            "raises": next(kind.__name__ for kind in BUILTINS if isinstance(error, kind)),
            "message": str(error),
        }


def assert_alike(run, text):
    ours, theirs = attempt(tensorlab, run), attempt(torch, run)
    if "masked_fill_ only supports boolean masks" in theirs.get("message", ""):
        assert (
            "raises" not in ours
        )  # PyTorch cannot write one value through a uint8 mask, though it can write several
        return
    ours.pop("message", None), theirs.pop("message", None)
    assert ours.keys() == theirs.keys(), f"{text}\n  PyTorch {theirs}\n  ours    {ours}"
    for name in theirs:
        a, b = ours[name], theirs[name]
        if isinstance(b, dict):
            assert {k: v for k, v in a.items() if k != "values"} == {
                k: v for k, v in b.items() if k != "values"
            }, (name, text)
            a, b = a["values"], b["values"]
        if isinstance(b, (list, float)):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=f"{name} of {text}")
        else:
            assert a == b, (name, text)


def derivatives(T, out, inputs):
    """First derivatives of a function of `out`, and second derivatives, of their squares."""
    if not out.requires_grad:
        return {}
    grads = T.autograd.grad((out * out * out).sum(), inputs, create_graph=True, allow_unused=True)
    got = {f"first {k}": grad.detach().tolist() for k, grad in enumerate(grads) if grad is not None}
    used = [grad for grad in grads if grad is not None and grad.requires_grad]
    if used:
        total = sum([(grad * grad).sum() for grad in used], T.zeros((), dtype=T.float64))
        again = T.autograd.grad(total, inputs, allow_unused=True)
        got |= {f"second {k}": grad.tolist() for k, grad in enumerate(again) if grad is not None}
    return got


# ------------------------------------------------------------------------------------------------ the properties
def read(shape, subscript):
    def run(T):
        names = environment(T, shape)
        out = eval(f"x[{subscript}]", names)
        return {"out": visible(out), **derivatives(T, out, [names["x"]])}

    return run


def names_twice(shape, subscript):
    """Does a subscript name an element more than once? Which of several values stays is nowhere defined, then."""
    places = torch.arange(int(np.prod(shape))).reshape(shape)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = eval(f"x[{subscript}]", environment(torch, shape) | {"x": places})
    except BUILTINS:
        return False
    return found.unique().numel() < found.numel()


def value_shape(maker, shape, subscript, accumulate=False):
    """A shape that broadcasts to that of what is indexed; rarely one that does not."""
    if not accumulate and names_twice(shape, subscript):
        return ()
    shape = result_shape(shape, subscript)
    sizes = [
        1 if maker.random.random() < 0.3 else n
        for n in shape[maker.random.choice([0, 0, 0, 1, 2]) :]
    ]
    if maker.random.random() < 0.05:
        sizes = [*sizes, 6]
    return tuple(sizes)


def write(shape, subscript, values):
    def run(T):
        names = environment(T, shape)
        source = T.tensor(
            np.random.default_rng(1).standard_normal(values), dtype=T.float64
        ).reshape(values)
        names |= {"h": names["x"] * 1, "v": source.requires_grad_()}
        before = visible(names["h"])
        try:
            exec(f"h[{subscript}] = v", names)
        except BUILTINS:
            assert visible(names["h"]) == before or T is torch, (
                "a write that raised has changed something"
            )
            raise
        return {"out": visible(names["h"]), **derivatives(T, names["h"], [names["x"], source])}

    return run


def put(shape, subscript, values, accumulate, in_place):
    def run(T):
        names = environment(T, shape)
        source = T.tensor(
            np.random.default_rng(1).standard_normal(values), dtype=T.float64
        ).reshape(values)
        names |= {"h": names["x"] * 1, "v": source.requires_grad_()}
        call = f"h.index_put{'_' if in_place else ''}(tuple(as_tensors(({subscript}))), v, accumulate={accumulate})"
        names["as_tensors"] = lambda items: [
            T.as_tensor(np.array(i) if isinstance(i, range) else i) for i in items
        ]
        out = eval(call, names)
        return {
            "out": visible(out),
            "h": visible(names["h"]),
            **derivatives(T, out, [names["x"], source]),
        }

    return run


def result_shape(shape, subscript):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tuple(eval(f"x[{subscript}]", environment(torch, shape)).shape)
    except BUILTINS:
        return (2,)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_subscripts_read_what_pytorch_reads(seed):
    maker = SubscriptMaker(seed)
    for _ in range(SUBSCRIPTS_PER_SEED):
        shape = maker.shape()
        subscript = maker.subscript(shape)
        assert_alike(read(shape, subscript), f"seed {seed}: zeros{shape}[{subscript}]")


@pytest.mark.parametrize("seed", SEEDS)
def test_random_subscripts_write_what_pytorch_writes(seed):
    maker = SubscriptMaker(1000 + seed)
    for _ in range(SUBSCRIPTS_PER_SEED):
        shape = maker.shape()
        subscript = maker.subscript(shape)
        values = value_shape(maker, shape, subscript)
        assert_alike(
            write(shape, subscript, values),
            f"seed {seed}: zeros{shape}[{subscript}] = zeros{values}",
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_random_index_puts_are_those_of_pytorch(seed):
    maker = SubscriptMaker(2000 + seed)
    for _ in range(SUBSCRIPTS_PER_SEED):
        shape = maker.shape()
        subscript = maker.subscript(shape, tensors_only=True)
        accumulate, in_place = maker.random.random() < 0.6, maker.random.random() < 0.5
        values = value_shape(maker, shape, subscript, accumulate)
        text = f"seed {seed}: zeros{shape}.index_put(({subscript}), zeros{values}, {accumulate}), in place: {in_place}"
        assert_alike(put(shape, subscript, values, accumulate, in_place), text)


def test_a_source_that_shares_memory_with_what_is_written_is_refused():
    x = tensorlab.arange(6.0)
    mask = tensorlab.tensor([False, True, True, False, True, True])
    with pytest.raises(RuntimeError, match="masked_scatter_: .*share part of their memory"):
        x.masked_scatter_(mask, x[:4])
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert x.masked_scatter(mask, x[:4]).tolist() == [0.0, 0.0, 1.0, 3.0, 2.0, 3.0]


def test_an_empty_index_asks_nothing_of_the_source():
    nowhere = tensorlab.zeros(0, dtype=tensorlab.int64)
    assert tensorlab.zeros(3).scatter(0, nowhere, tensorlab.ones(2, 2)).tolist() == [0.0, 0.0, 0.0]
    x = tensorlab.zeros(3, 2).scatter_add(0, nowhere.view(0, 2), tensorlab.ones(4))
    assert x.tolist() == [[0.0, 0.0]] * 3


def test_places_to_fill_are_counted_from_the_end_where_they_are_negative():
    x = tensorlab.arange(6).reshape(3, 2)
    last = tensorlab.tensor([-1])
    assert x.index_fill(0, last, 9).tolist() == [[0, 1], [2, 3], [9, 9]]
    assert x.index_fill_(1, last, 7).tolist() == [[0, 7], [2, 7], [4, 7]]


@pytest.mark.parametrize(
    "shape", [(31,), (32,), (3, 65), (65, 3), (7, 3, 40), (16385,), (9000, 3, 2), (150, 257)]
)
@pytest.mark.parametrize("share", [0, 0.01, 0.5, 1])
def test_masks_select_what_they_do_in_pytorch_at_the_edges_of_words_rows_and_chunks(shape, share):
    generator = np.random.default_rng(0)
    mask = generator.random(shape) < share
    numbers = mask * generator.integers(1, 256, shape).astype(np.uint8)
    for given in (mask, numbers):
        expected = torch.from_numpy(given).nonzero()
        assert (tensorlab.from_numpy(given).nonzero().numpy() == expected.numpy()).all()
    for dtype in (np.uint8, np.int16, np.float32, np.float64, np.complex128):
        x = generator.integers(0, 250, shape).astype(dtype)
        selected = tensorlab.from_numpy(x)[tensorlab.from_numpy(mask)].numpy()
        assert selected.shape == x[mask].shape
        assert (selected == x[mask]).all()
