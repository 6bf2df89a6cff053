"""Exercises of chapter 40, custom ops."""

import random

import tensorlab as torch
from tensorlab.autograd import gradcheck, gradgradcheck
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require
from tensorlab.library import infer_schema, opcheck
from tensorlab.library.custom_ops import CustomOpDef
from tensorlab.utils._python_dispatch import TorchDispatchMode

IMPORTS = """
import numpy
import tensorlab as torch
from tensorlab import Tensor
from tensorlab.library import custom_op
"""


class Spelled(Exercise):
    """Write the schema

    Which schema does `infer_schema` read off each function? Write it as a string that begins with the parenthesis. An
    `int` is spelled `SymInt`, and an argument that is written to is marked with a letter and its position: in the third
    one, `x` would be `Tensor(a0!)`. Answer before you run anything.

        def clip(x: Tensor, low: float, high: float = 1.0) -> Tensor: ...

        def split(x: Tensor, sizes: Sequence[int], *, dim: int = 0) -> list[Tensor]: ...

        def add_to(x: Tensor, out: Tensor) -> None: ...     # mutates_args=("out",)

        def top(x: Tensor, mask: Optional[Tensor] = None) -> tuple[Tensor, Tensor]: ...
    """

    kind = "warm-up"
    idea = "A name and a kernel"
    stub = """
        schemas = {
            "clip": "(Tensor x, float low, ",
            "split": "",
            "add_to": "",
            "top": "",
        }
    """
    hints = [
        "A type stands before the name, a default after it: `float high=1.0`. A lone `*` is an item of the list.",
        "A list of anything is its type with `[]`, an Optional has a `?`, several results stand in parentheses. A "
        "function that returns nothing has the results `()`.",
    ]
    solution = """
        schemas = {
            "clip": "(Tensor x, float low, float high=1.0) -> Tensor",
            "split": "(Tensor x, SymInt[] sizes, *, SymInt dim=0) -> Tensor[]",
            "add_to": "(Tensor x, Tensor(a1!) out) -> ()",
            "top": "(Tensor x, Tensor? mask=None) -> (Tensor, Tensor)",
        }
    """
    reason = """
        The mark in `add_to` is the part that others rely on: a compiler that reads no `!` may move the call, or drop
        it.
    """
    wrong = [
        Wrong(
            """
            schemas = {
                "clip": "(Tensor x, float low, float high=1.0) -> Tensor",
                "split": "(Tensor x, SymInt[] sizes, *, SymInt dim=0) -> Tensor[]",
                "add_to": "(Tensor x, Tensor out) -> ()",
                "top": "(Tensor x, Tensor? mask=None) -> (Tensor, Tensor)",
            }
            """,
            says="doesn't say that out is written",
            why="Without the mark, the schema promises that `out` is only read.",
        ),
        Wrong(
            """
            schemas = {
                "clip": "(Tensor x, float low, float high=1.0) -> Tensor",
                "split": "(Tensor x, SymInt[] sizes, SymInt dim=0) -> Tensor[]",
                "add_to": "(Tensor x, Tensor(a1!) out) -> ()",
                "top": "(Tensor x, Tensor? mask=None) -> (Tensor, Tensor)",
            }
            """,
            says="the schema of split",
            why="The `*` says that `dim` can only be given by name.",
        ),
        Wrong(
            """
            schemas = {
                "clip": "(Tensor x, float low, float high=1.0) -> Tensor",
                "split": "(Tensor x, SymInt[] sizes, *, SymInt dim=0) -> Tensor[]",
                "add_to": "(Tensor x, Tensor(a1!) out) -> Tensor",
                "top": "(Tensor x, Tensor? mask=None) -> (Tensor, Tensor)",
            }
            """,
            says="returns nothing",
            why="`add_to` returns None. What it does is in the mark.",
        ),
    ]

    def check(schemas):
        truth = true_schemas()
        require(
            isinstance(schemas, dict) and schemas.keys() == truth.keys(),
            f"`schemas` must be a dict with the keys {', '.join(truth)}.",
        )
        answers = {name: "".join(str(one).split()) for name, one in schemas.items()}
        require(
            "!" in answers["add_to"] or not answers["add_to"],
            "The schema of add_to doesn't say that out is written: mark it with (a1!).",
        )
        require(
            not answers["add_to"].endswith("->Tensor"),
            "add_to returns nothing: its results are ().",
        )
        for name, schema in truth.items():
            expect(answers[name], "".join(schema.split()), f"the schema of {name}, without spaces")


def true_schemas():
    from collections.abc import Sequence

    from tensorlab import Tensor

    def clip(x: Tensor, low: float, high: float = 1.0) -> Tensor: ...

    def split(x: Tensor, sizes: Sequence[int], *, dim: int = 0) -> list[Tensor]: ...

    def add_to(x: Tensor, out: Tensor) -> None: ...

    def top(x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]: ...

    functions = (clip, split, add_to, top)
    written = {"add_to": ("out",)}
    return {
        f.__name__: infer_schema(f, mutates_args=written.get(f.__name__, ())) for f in functions
    }


def leaky_loop(x, decay, start=None):
    """y[:, t] = x[:, t] + decay * y[:, t - 1], with `start` before the first."""
    last = torch.zeros_like(decay) if start is None else start
    columns = []
    for t in range(x.shape[1]):
        last = x[:, t] + decay * last
        columns.append(last)
    return torch.stack(columns, 1)


class WithStart(Exercise):
    """A derivative for a start value

    A leaky sum may go on where an earlier one stopped: `y[:, 0] = x[:, 0] + decay * start`, and then as before. Write
    `backward(grad, decay, start, y)`: given the gradient of `y`, return the gradients of `x`, `decay` and `start`, in
    this order. `grad` and `y` have the shape (rows, steps), `decay` and `start` the shape (rows,). The stub has a
    function `leaky_sum(x, decay)` without a start value.
    """

    kind = "implement"
    idea = "A derivative"
    stub = """
        def leaky_sum(x, decay):
            columns = [x[:, 0]]
            for t in range(1, x.shape[1]):
                columns.append(x[:, t] + decay * columns[-1])
            return torch.stack(columns, 1)

        def backward(grad, decay, start, y):
            return grad, torch.zeros_like(decay), torch.zeros_like(start)
    """
    hints = [
        "The gradient of `x` doesn't care about `start`: it's what the chapter has.",
        "`start` reaches everything through `y[:, 0]`, where it stands beside `x[:, 0]`. So its gradient is that of "
        "`x[:, 0]`, times something.",
        "`decay` multiplies `start` at the first step, as it multiplies `y[:, t - 1]` at the others: one more term.",
    ]
    solution = """
        def leaky_sum(x, decay):
            columns = [x[:, 0]]
            for t in range(1, x.shape[1]):
                columns.append(x[:, t] + decay * columns[-1])
            return torch.stack(columns, 1)

        def backward(grad, decay, start, y):
            grad_x = leaky_sum(grad.flip(1), decay).flip(1)
            before = torch.cat([start.unsqueeze(1), y[:, :-1]], 1)
            return grad_x, (grad_x * before).sum(1), decay * grad_x[:, 0]
    """
    reason = """
        `start` is the value before the first, so it takes the place of `y[:, -1]` in front. With it in the row, the
        formula for `decay` has no special case any more.
    """
    given = """
        def leaky_sum(x, decay):
            columns = [x[:, 0]]
            for t in range(1, x.shape[1]):
                columns.append(x[:, t] + decay * columns[-1])
            return torch.stack(columns, 1)
    """
    wrong = [
        Wrong(
            """
            def leaky_sum(x, decay):
                columns = [x[:, 0]]
                for t in range(1, x.shape[1]):
                    columns.append(x[:, t] + decay * columns[-1])
                return torch.stack(columns, 1)

            def backward(grad, decay, start, y):
                grad_x = leaky_sum(grad.flip(1), decay).flip(1)
                return grad_x, (grad_x[:, 1:] * y[:, :-1]).sum(1), decay * grad_x[:, 0]
            """,
            says="decay multiplies start, too",
            why="The term of the first step is missing.",
        ),
        Wrong(
            """
            def leaky_sum(x, decay):
                columns = [x[:, 0]]
                for t in range(1, x.shape[1]):
                    columns.append(x[:, t] + decay * columns[-1])
                return torch.stack(columns, 1)

            def backward(grad, decay, start, y):
                grad_x = leaky_sum(grad.flip(1), decay).flip(1)
                before = torch.cat([start.unsqueeze(1), y[:, :-1]], 1)
                return grad_x, (grad_x * before).sum(1), grad_x[:, 0]
            """,
            says="gradient of start",
            why="`start` is multiplied by `decay` before it reaches `y[:, 0]`.",
        ),
        Wrong(
            """
            def leaky_sum(x, decay):
                columns = [x[:, 0]]
                for t in range(1, x.shape[1]):
                    columns.append(x[:, t] + decay * columns[-1])
                return torch.stack(columns, 1)

            def backward(grad, decay, start, y):
                grad_x = leaky_sum(grad, decay)
                before = torch.cat([start.unsqueeze(1), y[:, :-1]], 1)
                return grad_x, (grad_x * before).sum(1), decay * grad_x[:, 0]
            """,
            says="from the end",
            why="Without the flips, a gradient runs with time instead of against it.",
        ),
        Wrong(
            """
            def leaky_sum(x, decay):
                columns = [x[:, 0]]
                for t in range(1, x.shape[1]):
                    columns.append(x[:, t] + decay * columns[-1])
                return torch.stack(columns, 1)

            def backward(grad, decay, start, y):
                grad_x = leaky_sum(grad.flip(1), decay).flip(1)
                before = torch.cat([start.unsqueeze(1), y[:, :-1]], 1)
                return grad_x, grad_x * before, decay * grad_x[:, 0]
            """,
            says="the shape of the gradient of decay",
            why="One factor serves all steps of its row, so its gradient is a sum over them.",
        ),
    ]

    def check(backward):
        for rows, steps in ((2, 5), (3, 4), (1, 6), (4, 1), (3, 7)):
            x, grad = torch.randn(2, rows, steps, dtype=torch.float64)
            decay, start = torch.rand(2, rows, dtype=torch.float64)
            leaves = [one.clone().requires_grad_() for one in (x, decay, start)]
            y = leaky_loop(*leaves)
            truth = torch.autograd.grad(y, leaves, grad)
            with torch.no_grad():
                came = backward(grad.clone(), decay.clone(), start.clone(), y.detach())
                forwards = leaky_loop(grad, decay)
            require(
                isinstance(came, (tuple, list)) and len(came) == 3,
                "backward must return three gradients: of x, of decay and of start.",
            )
            require(
                steps == 1 or not close(came[0], forwards),
                "The gradient of x must be summed from the end: what y[t] gets, x[t - 1] feels.",
            )
            without = truth[1] - truth[0][:, 0] * start
            require(
                not close(came[1], without),
                "The gradient of decay lacks a term: decay multiplies start, too.",
            )
            for name, one, true in zip(("x", "decay", "start"), came, truth, strict=True):
                about = f"the gradient of {name}, for {rows} rows and {steps} steps"
                expect(tuple(one.shape), tuple(true.shape), f"the shape of {about}")
                expect(one, true, about, tolerance=1e-9)


def close(one, other):
    return one.shape == other.shape and torch.allclose(one, other)


class Arcsinh(Exercise):
    """An op of your own

    Make `op`, a custom op named `"answer::arcsinh"` with one argument `x`: it computes `numpy.arcsinh`, for tensors
    of any shape, any strides and of both floating dtypes. Give it a kernel, a fake and a derivative that can be
    differentiated again. The derivative of arcsinh is 1/√(1 + x²).
    """

    kind = "implement"
    idea = "A derivative"
    beside = "the answer is an op, which the library itself calls"
    stub = """
        def arcsinh(x: Tensor) -> Tensor:
            return torch.from_numpy(numpy.arcsinh(x.numpy()))

        op = arcsinh
    """
    hints = [
        '`custom_op("answer::arcsinh", mutates_args=())` is a decorator for the function. Its result is `op`.',
        "NumPy keeps the order of memory of `x`. Which function makes an empty tensor that does so, too? And what does "
        "NumPy return for an array without dimensions?",
        "Save `x` in `setup_context`, and return `grad / (1 + x * x).sqrt()`, written in tensor operations. "
        "`torch.from_numpy(numpy.asarray(...))` takes a NumPy number as well.",
    ]
    solution = """
        @custom_op("answer::arcsinh", mutates_args=())
        def op(x: Tensor) -> Tensor:
            return torch.from_numpy(numpy.asarray(numpy.arcsinh(x.numpy())))

        op.register_fake(lambda x: torch.empty_like(x))

        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad / (1 + x * x).sqrt()

        op.register_autograd(backward, setup_context=setup_context)
    """
    reason = """
        Four answers, nine lines. The strides are the part that people forget: `x.new_empty(x.shape)` is row-major, and
        NumPy's result isn't if `x` is transposed. Either the fake follows the kernel, or the kernel makes its result
        row-major.
    """
    wrong = [
        Wrong(
            """
            @custom_op("answer::arcsinh", mutates_args=())
            def op(x: Tensor) -> Tensor:
                return torch.from_numpy(numpy.asarray(numpy.arcsinh(x.numpy())))

            op.register_fake(lambda x: x.new_empty(x.shape))
            op.register_autograd(
                lambda ctx, grad: grad / (1 + ctx.saved_tensors[0] ** 2).sqrt(),
                setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
            )
            """,
            says="its fake says",
            why="For a transposed `x`, NumPy's result is transposed, too, and `new_empty` is row-major.",
        ),
        Wrong(
            """
            @custom_op("answer::arcsinh", mutates_args=())
            def op(x: Tensor) -> Tensor:
                return torch.from_numpy(numpy.asarray(numpy.arcsinh(x.numpy())))

            op.register_fake(lambda x: torch.empty_like(x))
            """,
            says="register_autograd",
            why="No one has said what the derivative is.",
        ),
        Wrong(
            """
            @custom_op("answer::arcsinh", mutates_args=())
            def op(x: Tensor) -> Tensor:
                return torch.from_numpy(numpy.asarray(numpy.arcsinh(x.numpy())))

            op.register_fake(lambda x: torch.empty_like(x))
            op.register_autograd(
                lambda ctx, grad: grad / torch.from_numpy(
                    numpy.asarray(numpy.sqrt(1 + ctx.saved_tensors[0].detach().numpy() ** 2))
                ),
                setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
            )
            """,
            says="second derivative",
            why="NumPy in backward leaves nothing in the graph, so a second derivative sees a constant.",
        ),
        Wrong(
            """
            @custom_op("answer::arcsinh", mutates_args=())
            def op(x: Tensor) -> Tensor:
                values = x.numpy()
                return torch.from_numpy(numpy.asarray(numpy.arcsinh(values, out=values)).copy())

            op.register_fake(lambda x: torch.empty_like(x))
            op.register_autograd(
                lambda ctx, grad: grad / (1 + ctx.saved_tensors[0] ** 2).sqrt(),
                setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
            )
            """,
            says="it changed the argument",
            why="`out=values` writes into the tensor that was passed.",
        ),
        Wrong(
            """
            @custom_op("answer::arcsinh", mutates_args=())
            def op(x: Tensor) -> Tensor:
                return torch.from_numpy(numpy.asarray(numpy.arcsinh(x.numpy())))

            op.register_fake(lambda x: torch.empty_like(x))
            op.register_autograd(
                lambda ctx, grad: grad / (1 + ctx.saved_tensors[0] ** 2),
                setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
            )
            """,
            says="first derivative",
            why="The root is missing: that's the derivative of arctan.",
        ),
    ]

    def check(op):
        require(
            isinstance(op, CustomOpDef),
            f"`op` must be what custom_op returns, not {type(op).__name__}.",
        )
        expect(op._qualname, "answer::arcsinh", "the name of the op")
        samples = [
            torch.randn(3, 4),
            torch.randn(5, 2, dtype=torch.float64).T,
            torch.randn(2, 3, 4).transpose(0, 2),
            torch.randn(()),
            torch.empty(0, 3),
        ]
        for x in samples:
            about = f"an x of shape {tuple(x.shape)} with strides {x.stride()}"
            before = x.clone()
            try:
                came = op(x)
            except (TypeError, RuntimeError, ValueError) as error:
                raise AssertionError(f"op fails for {about}: {error}") from error
            require(
                torch.equal(x, before),
                f"op has written to x, for {about}: it changed the argument.",
            )
            expect(came.dtype, x.dtype, f"the dtype for {about}")
            expect(came, torch.asinh(x), f"the values for {about}", tolerance=1e-5)
            found = opcheck(op, (x,), raise_exception=False)
            for test, result in found.items():
                require(result == "SUCCESS", f"opcheck, {test}, for {about}: {result}")
        x = torch.randn(3, 2, dtype=torch.float64).requires_grad_()
        try:
            right = gradcheck(op, (x,), raise_exception=False)
        except (TypeError, RuntimeError, NotImplementedError) as error:
            raise AssertionError(f"the derivative: {error}") from error
        require(right, "gradcheck: the first derivative isn't that of arcsinh.")
        try:
            right = gradgradcheck(op, (x,), raise_exception=False)
        except (TypeError, RuntimeError) as error:
            raise AssertionError(f"the second derivative: {error}") from error
        require(right, "The second derivative is wrong: is backward written in tensor operations?")
        names = []

        class Names(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                names.append(str(func))
                return func(*args, **(kwargs or {}))

        with Names():
            op(torch.ones(2))
        expect(
            [name for name in names if "answer" in name], ["answer.arcsinh.default"], "the calls"
        )


def arguments_for(count):
    """Lists of numbers, all different, of different lengths."""
    numbers = iter(random.sample(range(10, 99), 4 * count))
    return [[next(numbers) for _ in range(random.randrange(2, 5))] for _ in range(count)]


SECRETS = {  # a function of three lists of numbers: what it writes to, which arguments it returns
    "adds": lambda a, b, c: [x + y for x, y in zip(a, b, strict=False)],
    "reverses its first": lambda a, b, c: (a.reverse(), a[:])[-1],
    "appends to its last": lambda a, b, c: (c.append(1), sum(c))[-1],
    "returns its second": lambda a, b, c: b,
    "writes the same number": lambda a, b, c: (a.__setitem__(0, a[0]), [0])[-1],
    "writes to two": lambda a, b, c: (a.clear(), c.__setitem__(0, -1), [])[-1],
    "returns a list of its first and third": lambda a, b, c: [a, c],
    "writes and returns": lambda a, b, c: (b.insert(0, 5), b)[-1],
}
TRUTH = {
    "adds": ([], []),
    "reverses its first": ([0], []),
    "appends to its last": ([2], []),
    "returns its second": ([], [1]),
    "writes the same number": ([], []),
    "writes to two": ([0, 2], []),
    "returns a list of its first and third": ([], [0, 2]),
    "writes and returns": ([1], [1]),
}


class Audit(Exercise):
    """Your own test of a schema

    `opcheck` compares arguments before and after a call. Do the same for functions of lists of numbers: write
    `audit(function, arguments)`, which calls `function(*arguments)` once and returns two lists of positions: those of
    the arguments whose content has changed, and those of the arguments that *are* the result, or an item of the
    result if that is a list. A list that was written to and has the same numbers as before doesn't count as changed.
    """

    kind = "extend"
    idea = "A secret write"
    stub = """
        def audit(function, arguments):
            result = function(*arguments)
            return [], []
    """
    hints = [
        "You need the content from before the call. `list(arguments)` copies the outer list only.",
        "Whether two names mean the same list is asked with `is`. `==` is also true for a copy.",
    ]
    solution = """
        def audit(function, arguments):
            before = [list(one) for one in arguments]
            result = function(*arguments)
            items = [result, *(result if isinstance(result, list) else [])]
            written = [k for k, one in enumerate(arguments) if one != before[k]]
            shared = [k for k, one in enumerate(arguments) if any(one is item for item in items)]
            return written, shared
    """
    reason = """
        Copy first, call, compare; and `is` for what must be new. This is `check_schema` without tensors, and it has the
        same blind spot: a write that changes nothing on *this* input isn't seen.
    """
    wrong = [
        Wrong(
            """
            def audit(function, arguments):
                before = list(arguments)
                result = function(*arguments)
                items = [result, *(result if isinstance(result, list) else [])]
                written = [k for k, one in enumerate(arguments) if one != before[k]]
                shared = [k for k, one in enumerate(arguments) if any(one is i for i in items)]
                return written, shared
            """,
            says="copies the outer list only",
            why="The copy holds the same inner lists, so nothing ever differs.",
        ),
        Wrong(
            """
            def audit(function, arguments):
                before = [list(one) for one in arguments]
                result = function(*arguments)
                items = [result, *(result if isinstance(result, list) else [])]
                written = [k for k, one in enumerate(arguments) if one != before[k]]
                return written, [k for k, one in enumerate(arguments) if one in items]
            """,
            says="equal isn't the same",
            why="A copy has equal numbers and its own memory.",
        ),
        Wrong(
            """
            def audit(function, arguments):
                before = [list(one) for one in arguments]
                result = function(*arguments)
                written = [k for k, one in enumerate(arguments) if one != before[k]]
                return written, [k for k, one in enumerate(arguments) if one is result]
            """,
            says="inside the result",
            why="An op may return several tensors, and each of them must be new.",
        ),
        Wrong(
            """
            def audit(function, arguments):
                before = [list(one) for one in arguments]
                function(*arguments)
                result = function(*arguments)
                items = [result, *(result if isinstance(result, list) else [])]
                written = [k for k, one in enumerate(arguments) if one != before[k]]
                shared = [k for k, one in enumerate(arguments) if any(one is i for i in items)]
                return written, shared
            """,
            says="once",
            why="A second call sees what the first one has left.",
        ),
    ]

    def check(audit):
        twin = [7, 8]
        came = audit(lambda a, b: list(a), [twin, [1]])
        require(
            isinstance(came, (tuple, list)) and len(came) == 2,
            "audit must return two lists of positions.",
        )
        written, shared = came
        require(not shared, "A copy was taken for its original: equal isn't the same.")
        expect(([*written], [*shared]), ([], []), "audit of a function that copies its first")
        for name in [*SECRETS, *random.choices([*SECRETS], k=12)]:
            calls = []
            arguments = arguments_for(3)

            def counted(*given, name=name, calls=calls):
                calls.append(1)
                return SECRETS[name](*given)

            came = audit(counted, arguments)
            about = (
                f"a function that {name}" if not name.startswith("adds") else "a function that adds"
            )
            expect(len(calls), 1, f"the calls of {about}, which must be called once")
            require(
                isinstance(came, (tuple, list)) and len(came) == 2,
                "audit must return two lists of positions.",
            )
            written, shared = ([*one] for one in came)
            require(
                not (TRUTH[name][0] and not written),
                f"No change was seen of {about}. list(arguments) copies the outer list only.",
            )
            require(
                name != "returns a list of its first and third" or shared,
                f"{about}: look inside the result, too.",
            )
            expect((sorted(written), sorted(shared)), TRUTH[name], f"audit of {about}")


def gradients(grad, decay, y, *, flip=True, axis=1, before=True, factor=True):
    """The gradients of a leaky sum; the planted bugs replace parts of it."""
    scale = decay if factor else torch.ones_like(decay)
    grad_x = leaky_loop(grad.flip(1), scale)
    grad_x = grad_x.flip(1) if flip else grad_x
    if before:
        products = grad_x[:, 1:] * y[:, :-1]
    else:
        products = grad_x * y
    if axis == 0 and products.shape[0] == products.shape[1]:
        return grad_x, products.sum(0)
    return grad_x, products.sum(1)


class HuntGradients(BugHunt):
    """A test for a derivative

    `gradients(grad, decay, y)` gets the gradient of a leaky sum `y`, and returns those of `x` and of `decay`. `grad`
    and `y` have the shape (rows, steps), `decay` has the shape (rows,). It must not change what it is given. Five
    people wrote it, and each made one mistake. Write `test(gradients)`: it passes on the right version and fails on
    each of theirs.
    """

    idea = "A gradient of a different shape"
    stub = """
        def leaky_sum(x, decay):
            columns = [x[:, 0]]
            for t in range(1, x.shape[1]):
                columns.append(x[:, t] + decay * columns[-1])
            return torch.stack(columns, 1)

        def test(gradients):
            grad, decay, y = torch.ones(1, 1), torch.ones(1), torch.ones(1, 1)
            grad_x, grad_decay = gradients(grad, decay, y)
            assert grad_x.shape == grad.shape and grad_decay.shape == decay.shape
    """
    hints = [
        "You have `leaky_sum`, made of tensor operations. What does autograd say its gradients are?",
        "Use factors that aren't 1, a gradient that isn't the same everywhere, and several sizes.",
        "One of the five only goes wrong if there is one step more than there are rows. Another one writes to `grad`.",
    ]
    solution = """
        def leaky_sum(x, decay):
            columns = [x[:, 0]]
            for t in range(1, x.shape[1]):
                columns.append(x[:, t] + decay * columns[-1])
            return torch.stack(columns, 1)

        def test(gradients):
            for rows, steps in ((3, 4), (2, 5)):
                x = torch.randn(rows, steps).requires_grad_()
                decay = torch.rand(rows).requires_grad_()
                grad = torch.randn(rows, steps)
                y = leaky_sum(x, decay)
                expected = torch.autograd.grad(y, (x, decay), grad)
                given = grad.clone()
                came = gradients(given, decay.detach(), y.detach())
                assert torch.equal(given, grad)
                for one, other in zip(came, expected):
                    assert one.shape == other.shape and torch.allclose(one, other, atol=1e-5)
    """
    reason = """
        A slow version that autograd can differentiate is the best test of a fast derivative. And the sizes matter:
        (3, 4) is where a sum over the wrong axis has the right shape.
    """
    wrong = [
        Wrong(
            """
            def test(gradients):
                ones = torch.ones(2, 4)
                grad_x, grad_decay = gradients(ones, torch.full((2,), 0.5), ones)
                assert torch.allclose(grad_x, torch.tensor([[1.875, 1.75, 1.5, 1.0]] * 2))
                assert torch.allclose(grad_decay, torch.full((2,), 4.25))
            """,
            says="(number 3, 5)",
            why="All rows are equal here, so it doesn't matter which of them are added up. Is `grad` intact?",
        ),
        Wrong(
            """
            def test(gradients):
                grad = torch.randn(2, 5)
                copy = grad.clone()
                gradients(grad, torch.rand(2), torch.randn(2, 5))
                assert torch.equal(grad, copy)
            """,
            says="(number 1, 2, 3, 4)",
            why="What the gradients *are* isn't looked at.",
        ),
    ]

    def right(grad, decay, y):
        return gradients(grad, decay, y)

    def forgets_to_flip_back(grad, decay, y):
        """it doesn't flip the gradient of x back"""
        return gradients(grad, decay, y, flip=False)

    def takes_the_same_step(grad, decay, y):
        """it multiplies by y of the same step instead of the one before"""
        return gradients(grad, decay, y, before=False)

    def sums_over_rows(grad, decay, y):
        """it sums over the rows where the shapes allow that"""
        return gradients(grad, decay, y, axis=0)

    def forgets_the_factor(grad, decay, y):
        """the gradient of x doesn't decay"""
        return gradients(grad, decay, y, factor=False)

    def writes_to_grad(grad, decay, y):
        """it writes the gradient of x over what it was given"""
        grad_x, grad_decay = gradients(grad, decay, y)
        grad.copy_(grad_x)
        return grad_x, grad_decay

    bugs = [
        forgets_to_flip_back,
        takes_the_same_step,
        sums_over_rows,
        forgets_the_factor,
        writes_to_grad,
    ]
