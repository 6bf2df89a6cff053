"""Exercises of chapter 61, vmap."""

import itertools
import random

import tensorlab as torch
from tensorlab.func import grad, vmap
from tensorlab.learn import BugHunt, Exercise, Wrong, require

IMPORTS = """
import tensorlab as torch
from tensorlab.func import grad, vmap
"""

# What is wanted of `vmap(torch.dot, in_dims, ...)`, or of two of them: a function of x (6, 4) and y.
PUZZLES = {
    "each row of x with the row of y, (6, 4), of the same number": (
        lambda dims: vmap(torch.dot, dims),
        (6, 4),
        lambda x, y: (x * y).sum(1),
    ),
    "each row of x with y, (4,)": (
        lambda dims: vmap(torch.dot, dims),
        (4,),
        lambda x, y: x @ y,
    ),
    "each row of x with the column of y, (4, 6), of the same number": (
        lambda dims: vmap(torch.dot, dims),
        (4, 6),
        lambda x, y: (x * y.T).sum(1),
    ),
    "each column of x with y, (6,)": (
        lambda dims: vmap(torch.dot, dims),
        (6,),
        lambda x, y: x.T @ y,
    ),
}


class InDims(Exercise):
    """Which in_dims?

    `x` has the shape (6, 4). Which `in_dims` make `vmap(torch.dot, in_dims)(x, y)` compute the products of these
    vectors? Answer with tuples of two items.
    """

    kind = "warm-up"
    idea = "The function around it"
    stub = """
        in_dims = {
            "each row of x with the row of y, (6, 4), of the same number": (0, 0),
            "each row of x with y, (4,)": None,
            "each row of x with the column of y, (4, 6), of the same number": None,
            "each column of x with y, (6,)": None,
        }
    """
    hints = [
        "The dimension that `in_dims` names is gone inside. What's left must be the vector.",
        "Rows lie along dimension 1. If an example is to be a row, the batch is dimension 0.",
        "What is the same for all examples has no batch: `None`.",
    ]
    solution = """
        in_dims = {
            "each row of x with the row of y, (6, 4), of the same number": (0, 0),
            "each row of x with y, (4,)": (0, None),
            "each row of x with the column of y, (4, 6), of the same number": (0, 1),
            "each column of x with y, (6,)": (1, None),
        }
    """
    reason = """
        `in_dims` names the dimension that counts the examples, not the one that an example consists of.
    """
    wrong = [
        Wrong(
            """
            in_dims = {
                "each row of x with the row of y, (6, 4), of the same number": (0, 0),
                "each row of x with y, (4,)": (0, 0),
                "each row of x with the column of y, (4, 6), of the same number": (0, 1),
                "each column of x with y, (6,)": (1, None),
            }
            """,
            says="the same for all",
            why="`y` has no batch there.",
        ),
        Wrong(
            """
            in_dims = {
                "each row of x with the row of y, (6, 4), of the same number": (1, 1),
                "each row of x with y, (4,)": (1, None),
                "each row of x with the column of y, (4, 6), of the same number": (1, 0),
                "each column of x with y, (6,)": (0, None),
            }
            """,
            says="counts the examples",
            why="These are the dimensions of the vectors.",
        ),
    ]

    def check(in_dims):
        require(
            isinstance(in_dims, dict) and set(in_dims) == set(PUZZLES),
            f"`in_dims` must be a dict with these keys: {'; '.join(PUZZLES)}.",
        )
        torch.manual_seed(0)
        for text, (make, shape, true) in PUZZLES.items():
            dims, x, y = in_dims[text], torch.randn(6, 4), torch.randn(shape)
            require(
                isinstance(dims, (tuple, list)) and len(dims) == 2,
                f"Look again at: {text}. A tuple of two items is wanted, not {dims!r}.",
            )
            note = " `in_dims` names the dimension that counts the examples."
            if y.ndim == 1 and dims[1] is not None:
                note = " `y` is the same for all."
            try:
                came = make(tuple(dims))(x, y)
            except Exception as error:
                first = str(error).split("\n")[0]
                require(False, f"Look again at: {text}.{note} With {dims!r}: {first}")
            right = true(x, y)
            require(
                came.shape == right.shape and torch.allclose(came, right, atol=1e-5),
                f"Look again at: {text}. With {dims!r}, other vectors are multiplied.{note}",
            )


def weighted(x, weights):
    """What the rule is for: the sum of the rows of x (n, d), each with its weight (n,)."""
    return (x * weights.unsqueeze(-1)).sum(0)


class ARule(Exercise):
    """A batching rule

    An op `weighted(x, weights)` adds up the rows of `x`, of shape (n, d), each multiplied with its weight; `weights`
    has the shape (n,), and the result (d,). Write its rule for `register_vmap`: `rule(info, in_dims, x, weights)`,
    which returns `(result, out_dim)`. `in_dims` has two items, ints or None, at most one of them None; PyTorch may pass
    any dimension, so yours must take 0, 1, 2 and negative ones. Use ops of tensorlab, no loop over examples.
    """

    kind = "implement"
    idea = "No rule"
    stub = """
        def rule(info, in_dims, x, weights):
            return (x * weights.unsqueeze(-1)).sum(0), 0
    """
    hints = [
        "First bring everything into one form: the batch in dimension 0, as `x.movedim(dim, 0)` does.",
        "What isn't batched can be used as it is: broadcasting adds dimensions on the left. Count from the right then.",
        "With x (size, n, d) and weights (size, n) or (n,), which dimension is summed? -2 fits in all cases.",
    ]
    solution = """
        def rule(info, in_dims, x, weights):
            if in_dims[0] is not None:
                x = x.movedim(in_dims[0], 0)
            if in_dims[1] is not None:
                weights = weights.movedim(in_dims[1], 0)
            return (x * weights.unsqueeze(-1)).sum(-2), 0
    """
    reason = """
        Once the batch is first, the rows of an example are always in dimension -2, whether `x` has a batch or not.
    """
    wrong = [
        Wrong(
            """
            def rule(info, in_dims, x, weights):
                return (x * weights.unsqueeze(-1)).sum(-2), 0
            """,
            says="move it to the front",
            why="It's only right if the batch comes first.",
        ),
        Wrong(
            """
            def rule(info, in_dims, x, weights):
                x = x.movedim(in_dims[0] or 0, 0)
                weights = weights.movedim(in_dims[1] or 0, 0)
                return (x * weights.unsqueeze(-1)).sum(0), 0
            """,
            says="sum over the batch",
            why="Dimension 0 is the batch, or isn't, if `x` has none.",
        ),
        Wrong(
            """
            def rule(info, in_dims, x, weights):
                x = x.movedim(in_dims[0], 0)
                weights = weights.movedim(in_dims[1], 0)
                return (x * weights.unsqueeze(-1)).sum(-2), 0
            """,
            says="with None",
            why="An argument may be the same for all examples.",
        ),
    ]

    def check(rule):
        torch.manual_seed(0)
        patterns = [
            dims for dims in itertools.product((0, None, 1, 2, -1), (0, None, 1, -1)) if any(
                one is not None for one in dims
            )
        ]  # fmt: skip
        for x_dim, w_dim in patterns:
            size, n, d = random.sample(range(2, 8), 3)
            xs, ws = torch.randn(size, n, d), torch.randn(size, n)
            x = xs[0] if x_dim is None else xs.movedim(0, x_dim)
            weights = ws[0] if w_dim is None else ws.movedim(0, w_dim)
            true = torch.stack(
                [
                    weighted(xs[0 if x_dim is None else i], ws[0 if w_dim is None else i])
                    for i in range(size)
                ]
            )
            info = type("VmapInfo", (), {"batch_size": size, "randomness": "error"})()
            shown = f"With in_dims ({x_dim}, {w_dim}), x {tuple(x.shape)}, weights {tuple(weights.shape)}"
            where = " `in_dims` says where the batch is; move it to the front first."
            if None in (x_dim, w_dim):
                where = " An argument with None has no batch: it's the same for all."
            try:
                returned = rule(info, (x_dim, w_dim), x, weights)
            except Exception as error:
                first = str(error).split("\n")[0]
                require(False, f"{shown}, there's an error: {first}.{where}")
            require(
                isinstance(returned, tuple) and len(returned) == 2,
                f"{shown}, you return {type(returned).__name__}; (result, out_dim) is wanted.",
            )
            came, out_dim = returned
            require(
                isinstance(came, torch.Tensor) and isinstance(out_dim, int),
                f"{shown}: a tensor and an int are wanted, as the result differs from example to example.",
            )
            fits = came.ndim == 2 and -2 <= out_dim < 2
            found = came.movedim(out_dim, 0) if fits else came
            if x_dim == w_dim == 0:
                where = " Do you sum over the batch, and not over the rows of each example?"
            require(
                fits and found.shape == true.shape and torch.allclose(found, true, atol=1e-4),
                f"{shown}, a loop gives {tuple(true.shape)} other numbers than your result"
                f" {tuple(came.shape)} with out_dim {out_dim}.{where}",
            )


def linear_loss(params, x, y):
    return ((x @ params["w"] + params["b"] - y) ** 2).sum()


def of_each(loss, params, x, y):
    return vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)


def squares(gradient):
    """The squared norm of each example's gradient by one parameter."""
    return gradient.reshape(len(gradient), -1).pow(2).sum(1)


def mean_of(gradients, factors):
    """The mean of gradients, each multiplied with a factor of its own."""
    return {
        name: (factors @ g.reshape(len(g), -1)).reshape(g.shape[1:]) / len(g)
        for name, g in gradients.items()
    }


def factors_of(norms, limit):
    return torch.where(norms > limit, limit / norms, torch.ones_like(norms))


def mistakes(gradients, norms, limit):
    """What comes out of likely mistakes, and what to say."""
    ones = torch.ones_like(norms)
    plain = mean_of(gradients, ones)
    length = sum(one.pow(2).sum() for one in plain.values()).sqrt()
    apart = {
        name: mean_of({name: g}, factors_of(squares(g).sqrt(), limit))[name]
        for name, g in gradients.items()
    }
    clipped = mean_of(gradients, factors_of(norms, limit))
    yield (
        {name: one * len(norms) for name, one in clipped.items()},
        "The mean is wanted, not the sum.",
    )
    yield (
        mean_of(gradients, limit / norms),
        "Gradients that are short enough must stay as they are.",
    )
    yield apart, "The norm of an example is taken over all parameters together."
    yield plain, "Nothing, or only the mean is clipped. Clip the gradient of each example."
    scaled = {name: one * limit / length for name, one in plain.items()}
    yield scaled, "Nothing, or only the mean is clipped. Clip the gradient of each example."


def agree(came, true):
    return all(
        isinstance(came[name], torch.Tensor)
        and came[name].shape == one.shape
        and torch.allclose(came[name], one, atol=1e-9)
        for name, one in true.items()
    )


class ClipEach(Exercise):
    """Clip each gradient

    To train with differential privacy, the influence of each example is limited. Write `clipped(params, x, y, limit)`:
    compute the gradient of `loss(params, x_i, y_i)`, which is in the stub, with respect to `params`, a dict of "w"
    (d, k) and "b" (k,), for each row of x (n, d) and y (n, k). The norm of an example's gradient is taken over all
    parameters together. If it's above `limit`, multiply the gradient so that its norm is `limit`; leave it otherwise.
    Return a dict with the mean over the examples. A gradient may be 0 everywhere. (The next step of the method adds
    noise, which isn't asked here.)
    """

    kind = "extend"
    idea = "Two hundred and fifty-six gradients"
    stub = """
        def loss(params, x, y):
            return ((x @ params["w"] + params["b"] - y) ** 2).sum()

        def clipped(params, x, y, limit):
            gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
            return {name: g.mean(0) for name, g in gradients.items()}
    """
    hints = [
        "Each gradient has a first dimension for the examples. The squared norm of an example is a sum over the rest.",
        "Add the squared norms of all parameters up before you take the root: one norm for each example.",
        "The factor is `limit / norm`, at most 1. `clamp(max=1)` turns inf into 1. It needs dimensions behind it.",
    ]
    solution = """
        def loss(params, x, y):
            return ((x @ params["w"] + params["b"] - y) ** 2).sum()

        def clipped(params, x, y, limit):
            gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
            norms = sum(g.reshape(len(x), -1).pow(2).sum(1) for g in gradients.values()).sqrt()
            factors = (limit / norms).clamp(max=1)
            return {name: torch.einsum("n,n...->...", factors, g) / len(x) for name, g in gradients.items()}
    """
    reason = """
        Clipping the mean isn't the same: one example could still turn it round. That's what gradients of single
        examples are for.
    """
    wrong = [
        Wrong(
            """
            def loss(params, x, y):
                return ((x @ params["w"] + params["b"] - y) ** 2).sum()

            def clipped(params, x, y, limit):
                gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
                mean = {name: g.mean(0) for name, g in gradients.items()}
                norm = sum(g.pow(2).sum() for g in mean.values()).sqrt()
                return {name: g * (limit / norm).clamp(max=1) for name, g in mean.items()}
            """,
            says="only the mean is clipped",
            why="One large gradient still decides about the direction.",
        ),
        Wrong(
            """
            def loss(params, x, y):
                return ((x @ params["w"] + params["b"] - y) ** 2).sum()

            def clipped(params, x, y, limit):
                gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
                found = {}
                for name, g in gradients.items():
                    norms = g.reshape(len(x), -1).norm(dim=1)
                    factors = (limit / norms).clamp(max=1)
                    found[name] = torch.einsum("n,n...->...", factors, g) / len(x)
                return found
            """,
            says="over all parameters together",
            why="Each tensor has its own norm then, and together they're longer than `limit`.",
        ),
        Wrong(
            """
            def loss(params, x, y):
                return ((x @ params["w"] + params["b"] - y) ** 2).sum()

            def clipped(params, x, y, limit):
                gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
                norms = sum(g.reshape(len(x), -1).pow(2).sum(1) for g in gradients.values()).sqrt()
                factors = limit / norms
                return {name: torch.einsum("n,n...->...", factors, g) / len(x) for name, g in gradients.items()}
            """,
            says="short enough",
            why="It makes short gradients longer.",
        ),
        Wrong(
            """
            def loss(params, x, y):
                return ((x @ params["w"] + params["b"] - y) ** 2).sum()

            def clipped(params, x, y, limit):
                gradients = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
                norms = sum(g.reshape(len(x), -1).pow(2).sum(1) for g in gradients.values()).sqrt()
                factors = (limit / norms).clamp(max=1)
                return {name: torch.einsum("n,n...->...", factors, g) for name, g in gradients.items()}
            """,
            says="not the sum",
            why="It returns the sum.",
        ),
    ]

    def check(clipped):
        for number in range(8):
            torch.manual_seed(random.randrange(10**6))
            n, d, k = random.randrange(3, 9), random.randrange(1, 5), random.randrange(1, 4)
            shapes = {"w": (d, k), "b": (k,)}
            params = {name: torch.randn(s, dtype=torch.float64) for name, s in shapes.items()}
            x, y = torch.randn(n, d).double(), torch.randn(n, k).double()
            if number > 4:
                y[0] = x[0] @ params["w"] + params["b"]  # its gradient is 0
            gradients = of_each(linear_loss, params, x, y)
            norms = sum(squares(g) for g in gradients.values()).sqrt()
            limit = (0.8 * norms.max() if number % 2 == 0 else 0.9 * norms.median()).item()
            true = mean_of(gradients, factors_of(norms, limit))
            given = {name: p.clone() for name, p in params.items()}
            came = clipped(given, x.clone(), y.clone(), limit)
            listed = ", ".join(f"{norm:.3g}" for norm in norms.tolist())
            shown = f"For limit {limit:.3g} and gradients with the norms {listed}"
            require(
                isinstance(came, dict) and came.keys() == true.keys(),
                f"{shown}: a dict with the keys of `params` is wanted.",
            )
            if agree(came, true):
                continue
            note = ""
            if all(isinstance(one, torch.Tensor) for one in came.values()):
                if any(one.isnan().any() for one in came.values()):
                    note = " There's a nan: a gradient may be 0."
                for wrong, text in mistakes(gradients, norms, limit):
                    note = note or (f" {text}" if agree(came, wrong) else "")
            require(False, f"{shown}, the result isn't the mean of the clipped gradients.{note}")


def by_loop(function, in_dims, args, pick=None):
    """vmap by its definition, with a screw to turn."""
    size = next(x.shape[dim] for x, dim in zip(args, in_dims, strict=True) if dim is not None)
    results = []
    for i in range(size):
        example = [
            x if dim is None else x.select(dim, i if pick is None else pick(i, size))
            for x, dim in zip(args, in_dims, strict=True)
        ]
        results.append(function(*example))
    return torch.stack(results)


class HuntTheMap(BugHunt):
    """A test for vmap

    `my_vmap(function, in_dims)` returns the function of a batch, as `vmap` does. `function` takes one or more tensors
    and returns one; `in_dims` is a tuple with an int, which may be negative, or None for each argument. The result has
    the batch in dimension 0. Six people wrote it, and five made one mistake each. Write `test(my_vmap)`.
    """

    idea = "A dimension that the program doesn't see"
    stub = """
        def test(my_vmap):
            x = torch.rand(3, 2)
            assert my_vmap(lambda x: x.sum(), (0,))(x).shape == (3,)
    """
    hints = [
        "Use examples that all differ, and shapes whose sizes all differ.",
        "Vary `in_dims`: another dimension, a negative one, None. What if the function doesn't use its argument?",
        "A loop over the examples is the definition. Is the function's result always a number?",
    ]
    solution = """
        def test(my_vmap):
            torch.manual_seed(0)
            x, y = torch.randn(3, 4, 5), torch.randn(5)
            for dim in (0, 1, 2, -1):
                expected = torch.stack([one.cumsum(-1) for one in x.unbind(dim)])
                assert torch.equal(my_vmap(lambda x: x.cumsum(-1), (dim,))(x), expected)
            assert torch.allclose(my_vmap(lambda x, y: x @ y, (0, None))(x, y), x @ y, atol=1e-5)
            square = torch.randn(5, 5)
            came = my_vmap(lambda x, y: x + y, (0, None))(square, y)
            assert torch.equal(came, square + y)
            assert my_vmap(lambda x: torch.ones(2), (0,))(x).shape == (3, 2)
    """
    reason = """
        The square matters: with equal sizes, a batch in the wrong dimension raises no error. And a result that is the
        same for all examples still has a batch.
    """
    wrong = [
        Wrong(
            """
            def test(my_vmap):
                torch.manual_seed(0)
                x = torch.randn(3, 4)
                assert torch.allclose(my_vmap(lambda x: x.sum(), (0,))(x), x.sum(1), atol=1e-5)
            """,
            says="(number 1, 2, 3",
            why="`in_dims` is always 0 there.",
        ),
        Wrong(
            """
            def test(my_vmap):
                x = torch.ones(3, 4, 5)
                for dim in (0, 1, 2, -1):
                    size = x.shape[dim]
                    assert my_vmap(lambda x: x.sum(), (dim,))(x).shape == (size,)
            """,
            says="(number 3, 5)",
            why="Equal examples and shapes alone hide nearly everything.",
        ),
    ]

    def right(function, in_dims):
        return lambda *args: by_loop(function, in_dims, args)

    def always_first(function, in_dims):
        """it ignores which dimension is named: the batch is always in dimension 0"""
        dims = tuple(None if dim is None else 0 for dim in in_dims)
        return lambda *args: by_loop(function, dims, args)

    def negative(function, in_dims):
        """a negative dimension is counted without the batch, so -1 means the last but one"""

        def mapped(*args):
            dims = [
                dim if dim is None or dim >= 0 or x.ndim == 1 else (dim - 1) % x.ndim
                for x, dim in zip(args, in_dims, strict=True)
            ]
            return by_loop(function, dims, args)

        return mapped

    def never_none(function, in_dims):
        """it takes an argument with None apart too, if that has as many rows as there are examples"""

        def mapped(*args):
            size = next(
                x.shape[dim] for x, dim in zip(args, in_dims, strict=True) if dim is not None
            )
            dims = [
                0 if dim is None and x.ndim and x.shape[0] == size else dim
                for x, dim in zip(args, in_dims, strict=True)
            ]
            return by_loop(function, dims, args)

        return mapped

    def constants(function, in_dims):
        """a result that is the same for all examples has no batch"""

        def mapped(*args):
            out = by_loop(function, in_dims, args)
            return out[0] if len(out) > 1 and bool((out == out[0]).all()) else out

        return mapped

    def rolled(function, in_dims):
        """the results are in a different order: the first one comes last"""
        return lambda *args: by_loop(function, in_dims, args, pick=lambda i, size: (i + 1) % size)

    bugs = [always_first, negative, never_none, constants, rolled]
