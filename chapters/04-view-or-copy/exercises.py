"""Exercises of chapter 4, view or copy."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, called_names, expect, measured_call, require

IMPORTS = "import tensorlab as torch"


class FiveResults(Exercise):
    """Five results

    `x` is a new float32 tensor with sizes (4, 6). How is each of these results related to `x`: "itself", "alias"
    or "copy"?

        x[:, :3].reshape(12)
        x[:, ::2].reshape(12)
        x[1:3].contiguous()
        x.to(torch.float32)
        x.t().clone()
    """

    kind = "warm-up"
    idea = "An instrument"
    stub = """
        answers = [None, None, None, None, None]
    """
    hints = [
        "Which of these functions promise to share, which promise not to, and which promise neither?",
        "For the two `reshape`: is the distance from one element to the next always the same? For `contiguous` and "
        "`to`: is there anything to do?",
    ]
    solution = """
        answers = ["copy", "alias", "alias", "itself", "copy"]
    """
    reason = """
        `x[:, :3]` has a gap after every third element, so you can't walk through it with a single stride. In
        `x[:, ::2]` the elements are two places apart everywhere, also from one row to the next. `x[1:3]` is
        contiguous already, so `contiguous` returns it, and it's an alias of `x`. The dtype is
        right, so `to` returns `x`. And `clone` always copies.
    """
    wrong = [
        Wrong(
            'answers = ["copy", "copy", "alias", "itself", "copy"]',
            says="two places apart",
            why="`reshape` doesn't ask whether a tensor is contiguous. It asks whether there is a stride that fits.",
        ),
        Wrong(
            'answers = ["copy", "alias", "copy", "itself", "copy"]',
            says="already in row-major order",
            why="`contiguous` copies only what isn't contiguous. Two whole rows are contiguous.",
        ),
    ]

    def check(answers):
        x = torch.zeros(4, 6)
        results = {
            "x[:, :3].reshape(12)": x[:, :3].reshape(12),
            "x[:, ::2].reshape(12)": x[:, ::2].reshape(12),
            "x[1:3].contiguous()": x[1:3].contiguous(),
            "x.to(torch.float32)": x.to(torch.float32),
            "x.t().clone()": x.t().clone(),
        }
        mistakes = {
            ("x[:, :3].reshape(12)", "alias"): "There is a gap after every third element.",
            ("x[:, ::2].reshape(12)", "copy"): "Its elements are two places apart, all the way.",
            ("x[1:3].contiguous()", "copy"): "What is already in row-major order isn't copied.",
            ("x[1:3].contiguous()", "itself"): "It returns its argument, which is `x[1:3]`.",
            ("x.to(torch.float32)", "copy"): "The dtype is right already.",
            ("x.to(torch.float32)", "alias"): "`to` returns its argument. It doesn't make a view.",
            ("x.t().clone()", "alias"): "`clone` always copies.",
        }
        require(
            isinstance(answers, (list, tuple)) and len(answers) == len(results),
            f"`answers` must be a list of {len(results)} words, one for each result.",
        )
        words = [answer.lower() if isinstance(answer, str) else answer for answer in answers]
        for (text, y), word in zip(results.items(), words, strict=True):
            wanted = (
                "itself"
                if y is x
                else "alias"
                if y.untyped_storage() is x.untyped_storage()
                else "copy"
            )
            expect(word, wanted, f"`{text}`. {mistakes.get((text, word), '')}".strip())


class Reshaped(Exercise):
    """Reshape without reshape

    Write `reshaped(x, sizes)`. It does what `x.reshape(sizes)` does: it returns a view if there is one,
    and otherwise a copy. Use `view` and `contiguous`, but not `reshape` or one of its relatives
    (`flatten`, `ravel`, `reshape_as`). Gradients flow through the result, and if the number of elements is
    wrong, it raises a `RuntimeError`.
    """

    kind = "implement"
    idea = "Reshape: a view, or else a copy"
    stub = """
        def reshaped(x, sizes):
            return x.view(sizes)  # not yet: it may raise
    """
    hints = [
        "You don't have to compute the view rule. Which function knows it, and how does it tell you?",
        "`view` raises a `RuntimeError` if there is no view. Which tensors can be viewed in any shape?",
    ]
    solution = """
        def reshaped(x, sizes):
            try:
                return x.view(sizes)
            except RuntimeError:
                return x.contiguous().view(sizes)
    """
    reason = """
        A tensor in row-major order has no gaps, so it can be viewed in any shape. After
        `contiguous`, the second `view` fails only if the number of elements is wrong, and then
        it should.
    """
    wrong = [
        Wrong(
            """
            def reshaped(x, sizes):
                return x.contiguous().view(sizes)
            """,
            says="copies what could be viewed",
            why="`contiguous` copies every tensor with gaps, but `view` can show some of them.",
        ),
        Wrong(
            """
            def reshaped(x, sizes):
                return (x if x.is_contiguous() else x.clone()).view(sizes)
            """,
            says="keeps the order of dimensions",
            why="The clone of a transpose is transposed, and can't be viewed in more shapes than the original.",
        ),
        Wrong(
            """
            def reshaped(x, sizes):
                try:
                    return x.view(sizes)
                except RuntimeError:
                    return x.detach().contiguous().view(sizes)
            """,
            says="no gradient",
            why="`detach` drops the history. A copy is as differentiable as a view.",
        ),
        Wrong(
            """
            def reshaped(x, sizes):
                return x.reshape(sizes)
            """,
            says="without it",
            why="That's the function you were asked to write.",
        ),
    ]

    def check(reshaped):
        x = torch.arange(24.0).reshape(4, 6)
        cases = [
            (x[:, :3], (12,)),
            (x.t(), (24,)),
            (x, (3, 8)),
            (x[1:], (18,)),
            (x[:, ::2], (12,)),
            (x.t(), (6, 2, 2)),
            (x.t(), (3, -1)),
        ]
        cases += [random_case() for _ in range(30)]
        for given, sizes in cases:
            about = f"x with sizes {tuple(given.shape)}, strides {given.stride()}, as {sizes}"
            try:
                with called_names() as names:
                    came = reshaped(given, sizes)
            except RuntimeError as error:
                remark = f"It raises an error for {about}."
                if given.stride() == (1, 6):  # an answer that could pack the first one
                    remark += " A clone keeps the order of dimensions."
                require(False, f"{remark} ({error})")
            forbidden = RELATIVES.intersection(names)
            require(not forbidden, f"It calls {', '.join(forbidden)}. Do it without it.")
            require(isinstance(came, torch.Tensor), f"The result isn't a tensor for {about}.")
            wanted = given.reshape(sizes)  # made after the call, which could find it otherwise
            expect(tuple(came.shape), tuple(wanted.shape), f"the shape for {about}")
            expect(came.tolist(), wanted.tolist(), about)
            if wanted.untyped_storage() is given.untyped_storage():
                require(
                    came.untyped_storage() is given.untyped_storage(),
                    f"This copies what could be viewed: {about}.",
                )
        for given in (x, x.t()):
            learning = given.clone().requires_grad_()
            require(
                reshaped(learning, (24,)).requires_grad,
                f"For sizes {tuple(given.shape)} and strides {given.stride()}, no gradient flows back.",
            )
            about = f"sizes {tuple(given.shape)}, strides {given.stride()}, as (5, 5)"
            try:
                came = reshaped(given, (5, 5))
            except RecursionError:
                require(False, f"It calls itself again and again for {about}.")
            except RuntimeError:
                continue
            require(False, f"24 elements don't fit, but there is no error for {about}.")


RELATIVES = {"reshape", "flatten", "ravel", "reshape_as"}


def random_case():
    """Return a random view of a new tensor, and sizes with the same number of elements."""
    sizes = [random.choice([1, 2, 2, 3, 4, 6]) for _ in range(random.randint(1, 4))]
    x = torch.rand([size * 2 for size in sizes])
    x = x[
        tuple(
            random.choice([slice(None, None, 2), slice(size), slice(size, None)]) for size in sizes
        )
    ]
    if random.random() < 0.5:
        x = x.contiguous()
    x = x.permute(random.sample(range(x.ndim), x.ndim))
    rest, wanted = x.numel(), []
    while rest > 1 or not wanted:
        size = random.choice([d for d in range(1, rest + 1) if rest % d == 0])
        wanted.append(size)
        rest //= size
    return x, tuple(wanted)


class MovedInPlace(Exercise):
    """Move without a second memory

    `x[k:] = x[:-k].clone()` moves the values of a vector `k` places to the right, but it needs memory
    for a second vector. Write `move_right(x, k)`, which changes `x` in the same way without that memory: copy
    parts of it that don't overlap, one after the other. `k` is at least 1 and less than the length of `x`. The first
    `k` values stay.
    """

    kind = "extend"
    idea = "Copy into memory that exists"
    stub = """
        def move_right(x, k):
            x[k:] = x[:-k].clone()  # not yet: it needs twice the memory
    """
    hints = [
        "How long can a piece be if it must not overlap the place that it goes to, `k` to the right?",
        "At most `k` elements. But you must not overwrite a piece before you have moved it. At which end do you begin?",
        "For the pieces that end at `n`, `n - k`, `n - 2 * k`, ...: `x[start:stop] = x[start - k : stop - k]`, with "
        "`start = max(stop - k, k)`.",
    ]
    solution = """
        def move_right(x, k):
            for stop in range(len(x), k, -k):
                start = max(stop - k, k)
                x[start:stop] = x[start - k : stop - k]
    """
    reason = """
        If you move values to the right, begin at the right end: what you overwrite there has been
        moved already. For the same reason, C's `memmove` looks which of its two addresses is larger.
        `copy_safely` doesn't; it spends the memory.
    """
    wrong = [
        Wrong(
            """
            def move_right(x, k):
                for start in range(k, len(x), k):
                    stop = min(start + k, len(x))
                    x[start:stop] = x[start - k : stop - k]
            """,
            says="moved on again",
            why="If you begin at the left, the first piece overwrites the second before that has moved.",
        ),
        Wrong(
            """
            def move_right(x, k):
                for start in range(len(x) - k, 0, -k):
                    x[start : start + k] = x[start - k : start]
            """,
            says="doesn't divide",
            why="If `k` doesn't divide the length, the last piece is shorter.",
        ),
        Wrong(
            """
            def move_right(x, k):
                return torch.cat([x[:k], x[:-k]])
            """,
            says="still has its old values",
            why="This makes a new vector, and leaves `x` as it is.",
        ),
        Wrong(
            """
            def move_right(x, k):
                x[k:] = torch.tensor(x.tolist()[:-k], dtype=x.dtype)
            """,
            says="more.",
            why="A list of all values is a second memory, too, and a larger one.",
        ),
    ]

    def check(move_right):
        lengths = [random.randint(2, 40) for _ in range(10)]
        drawn = [(n, random.randint(1, n - 1)) for n in lengths]
        for n, k in [(12, 3), (12, 5), (7, 1), (7, 6), *drawn]:
            divides = "" if n % k == 0 else f" (k doesn't divide {n})"
            about = f"{n} values, moved by {k}{divides}"
            memory = torch.randperm(2 * n + 6).to(random.choice([torch.int64, torch.float32]))
            step = random.choice([1, 2]) if (n, k) in drawn else 1
            x = memory[2 : 2 + step * n : step]
            if step == 2:
                about += ", in a vector with stride 2"
            before, around = x.tolist(), memory.tolist()
            try:
                move_right(x, k)
            except RuntimeError as error:
                require(False, f"It raises an error for {about}: {error}")
            expected = (
                before[:k] + before[:-k]
            )  # made after the call, which could find it otherwise
            around[2 : 2 + step * n : step] = expected
            came = x.tolist()
            require(came != before, f"{about}: `x` still has its old values.")
            require(
                came != [before[i % k] for i in range(n)] or came == expected,
                f"{about}: what had arrived was moved on again, so the first values are everywhere.",
            )
            expect(came, expected, about)
            expect(memory.tolist(), around, f"{about}: the memory around `x`")
        x = torch.zeros(100_000)
        for _ in range(3):  # what another thread of the process takes meanwhile counts, too
            _, used = measured_call(move_right, x, 5_000)
            if used < x.nbytes // 2:
                return
        require(False, f"Moving {x.nbytes:,} bytes took {used:,} bytes more.")


class Snapshots(BugHunt):
    """A test for snapshots

    `snapshot(state)` gets a dict of tensors, such as a `state_dict`. It returns a dict of tensors with the
    same names, values and dtypes, in memory of their own and without history. Four people wrote it, and each
    forgot something. Write `test(snapshot)`, which passes on the right function and fails on theirs.
    """

    idea = "The best weights"
    stub = """
        def test(snapshot):
            state = {"weight": torch.ones(2)}
            assert snapshot(state)["weight"].tolist() == [1.0, 1.0]
    """
    hints = [
        "Take the snapshot, and then change the state. Is one kind of tensor enough?",
        "One of them copies only some layouts. One leaves its copies in the graph. One has a favourite dtype.",
    ]
    solution = """
        def test(snapshot):
            state = {
                "plain": torch.arange(6.0).reshape(2, 3),
                "transposed": torch.arange(6.0).reshape(2, 3).t(),
                "integers": torch.arange(3),
                "learning": torch.ones(2, requires_grad=True),
            }
            kept = snapshot(state)
            for name, x in state.items():
                before = x.tolist()
                x.detach().add_(1)
                assert kept[name].tolist() == before
                assert kept[name].dtype == x.dtype
                assert not kept[name].requires_grad
    """
    reason = """
        You notice an alias only when you write, so the test must write. It must write to
        tensors of every layout, because `contiguous` copies some of them. And the values alone show neither
        the dtype nor the history.
    """
    wrong = [
        Wrong(
            """
            def test(snapshot):
                x = torch.ones(2, 3).t()
                kept = snapshot({"x": x})
                x.zero_()
                assert kept["x"].tolist() == [[1.0, 1.0]] * 3
            """,
            says="3 of 4 planted bugs",
            why="A transposed tensor is just the kind that `contiguous` copies.",
        ),
        Wrong(
            """
            def test(snapshot):
                state = {"x": torch.ones(2)}
                assert snapshot(state)["x"] is state["x"]
            """,
            says="must pass on the right",
            why="This demands the bug.",
        ),
    ]

    def right(state):
        return {name: x.detach().clone() for name, x in state.items()}

    def keeps_aliases(state):
        """a new dict of the same tensors"""
        return {name: x.detach() for name, x in state.items()}

    def copies_some_layouts(state):
        """only what is not contiguous is copied"""
        return {name: x.detach().contiguous() for name, x in state.items()}

    def keeps_history(state):
        """the copies are still in the graph"""
        return {name: x.clone() for name, x in state.items()}

    def loses_dtypes(state):
        """every tensor becomes float32"""
        return {name: x.detach().to(torch.float32, copy=True) for name, x in state.items()}

    bugs = [keeps_aliases, copies_some_layouts, keeps_history, loses_dtypes]
