"""Exercises of chapter 21, views and in-place."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = "import tensorlab as torch"


class WhatTheWriteDoes(Exercise):
    """Which line raises, and what comes out

    Seven programs, each after `x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)` and `y = x * 1`. For each
    give the gradient of `y.sum()` by `x`, or the word `"error"`. Replace every `None` before you run anything.

        A   y[1:].mul_(5)
        B   x[1:].mul_(5)
        C   with torch.no_grad(): x[1:].mul_(5)      (after y = x * 1)
        D   a, b, c = y; b.mul_(5)
        E   y[0] = y[1] * 5
        F   y[0] = 7.0
        G   y.detach()[1:].mul_(5)
    """

    kind = "warm-up"
    idea = "Build it"
    stub = """
        verdicts = {
            "A": None,  # three numbers in a list, or "error"
            "B": None,
            "C": None,
            "D": None,
            "E": None,
            "F": None,
            "G": None,
        }
    """
    hints = [
        "Who may be written? Look for leaves, for views of leaves, and for several views made at once. "
        "`a, b, c = y` unpacks `y` as `unbind` does.",
        "`y[0] = value` is a write to the view `y[0]`. The old value of `y[0]` has no influence any more. And "
        "`y[1] * 5`: does anything need the old value of `y[1]`?",
        "C and G change numbers without being recorded. Does the gradient of a *sum* of `x * 1` need any "
        "numbers? The factor 1 is a constant.",
    ]
    solution = """
        verdicts = {
            "A": [1.0, 5.0, 5.0],
            "B": "error",
            "C": [1.0, 1.0, 1.0],
            "D": "error",
            "E": [0.0, 6.0, 1.0],
            "F": [0.0, 1.0, 1.0],
            "G": [1.0, 1.0, 1.0],
        }
    """
    reason = """
        A is the plain case. B is a view of a leaf. C writes to the leaf unrecorded, which is what optimizers do,
        and nothing that backward needs has changed. D: one of several views. E: place 0 is now $5 y_1$, so $y_1$
        is counted once for itself and five times for place 0, and the old $y_0$ not at all. F: the old $y_0$ is
        gone. G: `detach` says "do not follow this", and a sum of products with a constant saved nothing that the
        write could have hurt. The gradient is that of the recorded program.
    """
    wrong = [
        Wrong(
            """
            verdicts = {
                "A": [1.0, 5.0, 5.0], "B": "error", "C": [1.0, 1.0, 1.0], "D": [1.0, 5.0, 1.0],
                "E": [0.0, 6.0, 1.0], "F": [0.0, 1.0, 1.0], "G": [1.0, 1.0, 1.0],
            }
            """,
            says="come from one call",
            why="Unpacking a tensor makes all its parts in one op, as `unbind` does.",
        ),
        Wrong(
            """
            verdicts = {
                "A": [1.0, 5.0, 5.0], "B": "error", "C": [1.0, 1.0, 1.0], "D": "error",
                "E": [1.0, 6.0, 1.0], "F": [1.0, 1.0, 1.0], "G": [1.0, 1.0, 1.0],
            }
            """,
            says="is gone",
            why="What an assignment replaces has no influence on the sum, and so no gradient.",
        ),
        Wrong(
            """
            verdicts = {
                "A": [1.0, 5.0, 5.0], "B": "error", "C": "error", "D": "error",
                "E": [0.0, 6.0, 1.0], "F": [0.0, 1.0, 1.0], "G": "error",
            }
            """,
            says="saved nothing",
            why="An unrecorded write does harm only to what a formula has saved. A sum saves nothing, and a "
            "product with a constant saves the constant.",
        ),
        Wrong(
            """
            verdicts = {
                "A": [1.0, 5.0, 5.0], "B": "error", "C": [1.0, 1.0, 1.0], "D": "error",
                "E": [0.0, 6.0, 1.0], "F": [0.0, 1.0, 1.0], "G": [1.0, 5.0, 5.0],
            }
            """,
            says="not recorded",
            why="A write through a detached alias changes the numbers and not the history.",
        ),
    ]

    def check(verdicts):
        def b(x, y):
            x[1:].mul_(5)

        def c(x, y):
            with torch.no_grad():
                x[1:].mul_(5)

        def d(x, y):
            _, part, _ = y
            part.mul_(5)

        def e(x, y):
            y[0] = y[1] * 5

        def f(x, y):
            y[0] = 7.0

        programs = {
            "A": lambda x, y: y[1:].mul_(5),
            "B": b,
            "C": c,
            "D": d,
            "E": e,
            "F": f,
            "G": lambda x, y: y.detach()[1:].mul_(5),
        }
        truth = {}
        for name, program in programs.items():
            x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
            y = x * 1
            try:
                program(x, y)
                y.sum().backward()
                truth[name] = x.grad.tolist()
            except RuntimeError:
                truth[name] = "error"
        require(verdicts["D"] in ("error", None), "D: all three parts of y come from one call.")
        for name in "EF":
            given = verdicts[name]
            require(
                not isinstance(given, list) or given[0] != 1.0,
                f"{name}: what stood in y[0] before is gone. Can it have a gradient?",
            )
        for name in "CG":
            require(
                verdicts[name] != "error",
                f"{name}: a sum of x * 1 has saved nothing that this write could hurt.",
            )
            require(
                verdicts[name] != [1.0, 5.0, 5.0], f"{name}: this write is not recorded, or is it?"
            )
        for name in programs:
            expect(verdicts[name], truth[name], f"the verdict on {name}")


class PutGradient(Exercise):
    """The backward of a write

    Write `backward_of_write(grad, start, stop, inner)`, what `CopySlices.apply` does, for a base of one
    dimension whose elements `start` to `stop` were written. `grad` is the gradient of the base after
    the write, and `inner` the backward of the op: it turns the gradient of the written part into that of the
    part before, or returns `None` if none goes through it (as for `fill_`). Return the gradient of the base
    before the write. Other nodes may still read `grad` itself: it must stay as it is.
    """

    kind = "implement"
    idea = "Backward through a write"
    stub = """
        def backward_of_write(grad, start, stop, inner):
            return grad  # not yet
    """
    hints = [
        "Outside of the part nothing happened: the gradient passes. So start from a copy of it.",
        "Take the part out of the copy, call `inner` with it, and write the answer over the part.",
        "`inner` may keep what you give it, and you are about to write to that memory: give it a `clone`. "
        "And if it answers `None`, the part gets zeros.",
    ]
    solution = """
        def backward_of_write(grad, start, stop, inner):
            result = grad.clone()
            part = result[start:stop]
            answer = inner(part.clone())
            if answer is None:
                part.zero_()
            else:
                part.copy_(answer)
            return result
    """
    reason = """
        Line by line `CopySlices.apply`, with a slice where that has a size, a stride and an offset. The copies are the
        price of a write: one of the whole gradient, one of the part.
    """
    wrong = [
        Wrong(
            """
            def backward_of_write(grad, start, stop, inner):
                part = grad[start:stop]
                answer = inner(part.clone())
                part.copy_(answer) if answer is not None else part.zero_()
                return grad
            """,
            says="This changes `grad`",
            why="It writes into the gradient that it was given. Other nodes may still read that.",
        ),
        Wrong(
            """
            def backward_of_write(grad, start, stop, inner):
                result = grad.clone()
                answer = inner(result[start:stop].clone())
                if answer is not None:
                    result[start:stop] = answer
                return result
            """,
            says="no gradient goes through",
            why="With `None` the old gradient is left in the part, as if the op had done nothing. `fill_` erases "
            "what was there, so nothing may pass.",
        ),
        Wrong(
            """
            def backward_of_write(grad, start, stop, inner):
                result = grad.clone()
                answer = inner(result[start:stop].clone())
                if answer is None:
                    answer = 0.0
                result[start:stop] += answer
                return result
            """,
            says="instead of",
            why="The old part has no influence except through the op: its gradient replaces what came in, and is "
            "not added to it.",
        ),
        Wrong(
            """
            def backward_of_write(grad, start, stop, inner):
                result = grad.clone()
                part = result[start:stop]
                answer = inner(part)
                part.zero_() if answer is None else part.copy_(answer)
                return result
            """,
            says="kept",
            why="`inner` may keep what it is given, for a hook say, and here that is overwritten later.",
        ),
    ]

    def check(backward_of_write):
        grad = torch.tensor([1.0, 2.0, 3.0, 4.0])
        came = backward_of_write(grad, 1, 3, lambda g: g * 10)
        remark = "This changes `grad` itself, and other nodes may still read it."
        require(grad.tolist() == [1.0, 2.0, 3.0, 4.0], remark)
        if came.tolist() == [1.0, 22.0, 33.0, 4.0]:
            remark = "The gradient of the part comes instead of what came in; here it is added."
            require(False, remark)
        expect(came, [1.0, 20.0, 30.0, 4.0], "the gradient of the old base, for a product with 10")
        came = backward_of_write(grad, 0, 2, lambda g: None)
        require(
            came.tolist() != grad.tolist(),
            "`inner` has answered None: no gradient goes through the op, so the old part gets none.",
        )
        expect(came, [0.0, 0.0, 3.0, 4.0], "the gradient of the old base, for fill_")
        kept = []
        backward_of_write(grad, 1, 3, lambda g: kept.append(g) or g * 10)
        require(
            kept[0].tolist() == [2.0, 3.0],
            "`inner` has kept what it was given, and that has changed since: give it a copy.",
        )
        rng = random.Random()
        for _ in range(10):
            size = rng.randint(3, 9)
            start, stop = sorted(rng.sample(range(size + 1), 2))
            grad = torch.randint(-9, 10, (size,)).to(torch.float64)
            old, weights = grad.tolist(), [rng.randint(2, 9) for _ in range(start, stop)]
            inner = rng.choice([torch.tensor(weights, dtype=torch.float64).mul, lambda g: None])
            answer = inner(grad[start:stop])
            middle = [0.0] * (stop - start) if answer is None else answer.tolist()
            came = backward_of_write(grad, start, stop, inner)
            require(
                grad.tolist() == old,
                "This changes `grad` itself, and other nodes may still read it.",
            )
            through = "nothing goes" if answer is None else f"factors {weights} go"
            about = f"the gradient of the old base, for grad {old}, places {start} to {stop}; {through} through"
            expect(came.tolist(), old[:start] + middle + old[stop:], about)


class FillingATable(Exercise):
    """A table without writes

    `running_means(x)` returns for each row of `x` the mean of the rows so far. It writes its results into a
    table, row by row. That is right, and its backward copies the whole table once for each row. Rewrite it
    so that the result is the same, gradients flow as before, and no `CopySlices` is in its graph.
    """

    kind = "extend"
    idea = "Experiment"
    beside = "the check looks at the graph that the answer records"
    stub = """
        def running_means(x):
            table = torch.zeros(x.shape)
            total = torch.zeros(x.shape[1])
            for i in range(len(x)):
                total = total + x[i]
                table[i] = total / (i + 1)
            return table
    """
    hints = [
        "Where does the first `CopySlices` come from? Which line writes to a view?",
        "Collect the rows in a list. Which function puts rows together into a table?",
        "`rows.append(total / (i + 1))` and at the end `torch.stack(rows)`. Or no loop: `cumsum` along dimension 0, "
        "divided by a column 1, 2, 3, ...",
    ]
    solution = """
        def running_means(x):
            rows, total = [], torch.zeros(x.shape[1])
            for i in range(len(x)):
                total = total + x[i]
                rows.append(total / (i + 1))
            return torch.stack(rows)
    """
    reason = """
        `stack` has one node with an edge to each row, and its backward gives each its slice of the gradient. With
        `x.cumsum(0) / torch.arange(1.0, len(x) + 1).unsqueeze(1)` there is no loop at all.
    """
    wrong = [
        Wrong(
            """
            def running_means(x):
                table = torch.zeros(x.shape)
                total = torch.zeros(x.shape[1])
                for i in range(len(x)):
                    total = total + x[i]
                    table[i] = total.detach() / (i + 1)
                return table
            """,
            says="no gradient",
            why="`detach` removes the `CopySlices`, and the gradient with it.",
        ),
        Wrong(
            """
            def running_means(x):
                total, rows = torch.zeros(x.shape[1]), []
                for i in range(len(x)):
                    total = total + x[i]
                    rows.append(total / (i + 1))
                table = torch.zeros(x.shape)
                for i, row in enumerate(rows):
                    table[i].copy_(row)
                return table
            """,
            says="CopySlices",
            why="`copy_` into a row is the same write under another name.",
        ),
        Wrong(
            """
            def running_means(x):
                rows, total = [], torch.zeros(x.shape[1])
                for i in range(len(x)):
                    total += x[i]
                    rows.append(total)
                counts = torch.arange(1.0, len(x) + 1).unsqueeze(1)
                return torch.stack(rows) / counts
            """,
            says="row 0",
            why="`+=` writes to the one tensor that the list holds several times: at the end, all rows are the last.",
        ),
    ]

    def check(running_means):
        data = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]])
        x = data.clone().requires_grad_()
        out = running_means(x)
        truth = data.cumsum(0) / torch.tensor([[1.0], [2.0], [3.0]])
        expect(out[0].tolist(), truth[0].tolist(), "row 0 of the result")
        expect(out, truth, "the result", tolerance=1e-6)
        require(out.requires_grad, "The result has no gradient any more.")
        seen, waiting = set(), [out.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is not None and node not in seen:
                seen.add(node)
                waiting += [edge[0] for edge in node.next_functions]
        names = {node.name() for node in seen}
        require("CopySlices" not in names, "There still is a CopySlices in the graph.")
        out.sum().backward()
        column = [1 + 1 / 2 + 1 / 3, 1 / 2 + 1 / 3, 1 / 3]
        expect(
            x.grad,
            torch.tensor(column).unsqueeze(1).expand(3, 2),
            "the gradient of the sum",
            tolerance=1e-5,
        )
        for n, width in ((1, 3), (5, 4)):
            x = torch.rand(n, width, dtype=torch.float64).to(torch.float32).requires_grad_()
            weights, before = torch.rand(n, width), x.tolist()
            out = running_means(x)
            require(x.tolist() == before, "running_means has changed x.")
            means = torch.stack([x[: i + 1].mean(0) for i in range(n)])
            expect(out, means.detach(), f"the result for {n} rows of {width}", tolerance=1e-5)
            (grad,) = torch.autograd.grad((out * weights).sum(), x)
            (truth,) = torch.autograd.grad((means * weights).sum(), x)
            about = f"the gradient of a weighted sum, for {n} rows of {width}"
            expect(grad, truth, about, tolerance=1e-4)


class HuntTheWrite(BugHunt):
    """A test for writes to views

    `write(y, view, factor)` multiplies `view`, a view of the computed tensor `y`, by `factor` in place. Four
    people wrote it in different ways, and each breaks one promise. Write `test(write)`, which passes on
    the right one and fails on each of the four. `view` may be any view of `y`, or one that cannot be written:
    then `RuntimeError` is right.
    """

    idea = "Break it"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(write):
            x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
            y = x * 1
            write(y, y[:2], 10.0)
            assert y.tolist() == [10.0, 20.0, 3.0, 4.0]
    """
    hints = [
        "The numbers of `y` are right in all four. What else does a write promise: to the gradient of `y`, to "
        "another view that sees the same places, and when it must not be done?",
        "Take another view *before* the write; look at its numbers and its gradient after it. And write to a "
        "view that does not begin where `y` does.",
        "Write to `y.split(2)[0]`, expect `RuntimeError`, and look at `y` afterwards: its numbers and its version.",
    ]
    solution = """
        def test(write):
            x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
            y = x * 1
            other = y[1:3]
            write(y, y[2:], 10.0)
            assert y.tolist() == [1.0, 2.0, 30.0, 40.0]
            assert other.tolist() == [2.0, 30.0]
            (grad,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
            assert grad.tolist() == [1.0, 1.0, 10.0, 10.0]
            (grad,) = torch.autograd.grad(other.sum(), x)
            assert grad.tolist() == [0.0, 1.0, 10.0, 0.0]

            y = x * 1
            try:
                write(y, y.split(2)[0], 10.0)
            except RuntimeError:
                assert y.tolist() == [1.0, 2.0, 3.0, 4.0]
                assert y._version == 0
            else:
                raise AssertionError("one of several views was written")
    """
    reason = """
        Three promises: the gradient of the base is right, other views have the new numbers and the new gradient, and
        nothing has changed after a refusal. A view that begins inside its base is worth a test by itself, as
        *Break it* showed.
    """
    wrong = [
        Wrong(
            """
            def test(write):
                x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
                y = x * 1
                write(y, y[:2], 10.0)
                y.sum().backward()
                assert x.grad.tolist() == [10.0, 10.0, 1.0, 1.0]
            """,
            says="(number 2, 3, 4)",
            why="It finds the write that is not recorded, and no more: its view begins where y does, nothing else "
            "looks at y, and nothing is refused.",
        ),
        Wrong(
            """
            def test(write):
                x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
                y = x * 1
                other = y[1:3]
                write(y, y[2:], 10.0)
                assert other.tolist() == [2.0, 30.0]
                (grad,) = torch.autograd.grad(y.sum(), x, retain_graph=True)
                assert grad.tolist() == [1.0, 1.0, 10.0, 10.0]
                (grad,) = torch.autograd.grad(other.sum(), x)
                assert grad.tolist() == [0.0, 1.0, 10.0, 0.0]
            """,
            says="(number 4)",
            why="Gradients are tested, refusals are not.",
        ),
        Wrong(
            """
            def test(write):
                x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
                y = x * 1
                write(y, y.split(2)[0], 10.0)
                assert y.tolist() == [1.0, 2.0, 3.0, 4.0]
            """,
            says="several",
            why="The right one raises here, and the test lets the error out. Catch it, and then look at `y`.",
        ),
    ]

    def right(y, view, factor):
        view.mul_(factor)

    def outside_the_graph(y, view, factor):
        """the write is not recorded, so gradients do not know of the factor"""
        view.detach().mul_(factor)

    def at_the_beginning(y, view, factor):
        """the numbers are right, but the gradient is scaled at the beginning of y instead of in the view"""
        new = y.detach().clone()
        new[view.storage_offset() :][: view.numel()] *= factor
        if view.grad_fn.name() != "SliceBackward0":
            view.mul_(factor)
            return
        y[: view.numel()].mul_(factor)
        y.detach().copy_(new)

    def forgets_other_views(y, view, factor):
        """y moves to other memory, and other views go on showing the old numbers"""
        if view.grad_fn.name() != "SliceBackward0":
            view.mul_(factor)
            return
        start, n = view.storage_offset(), view.numel()
        y.data = y.detach().clone()
        y[start:][:n].mul_(factor)

    def writes_before_it_asks(y, view, factor):
        """a view that cannot be written raises, but its numbers have been changed already"""
        if view.grad_fn.name() == "SliceBackward0":
            view.mul_(factor)
            return
        view.detach().mul_(factor)
        view.mul_(1.0)

    bugs = [outside_the_graph, at_the_beginning, forgets_other_views, writes_before_it_asks]
