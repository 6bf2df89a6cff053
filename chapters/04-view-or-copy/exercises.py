"""Exercises of chapter 4, view or copy."""

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = "import tensorlab as torch"


class FiveResults(Exercise):
    """Five results

    `x` is a new float32 tensor with sizes (4, 6). What is each of these to `x`: "itself", "alias"
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
        "Which of the five functions promise sharing, which promise the opposite, and which promise neither?",
        "For the two `reshape`: do the elements lie evenly? For `contiguous` and `to`: is there anything to be done?",
    ]
    solution = """
        answers = ["copy", "alias", "alias", "itself", "copy"]
    """
    reason = """
        `x[:, :3]` has a gap after every third element, so no single stride leads through it. In
        `x[:, ::2]` the elements lie evenly, two apart, across the ends of the rows too. `x[1:3]` is
        contiguous already, so `contiguous` returns it, and it is an alias of `x`. The dtype is
        right, so `to` returns `x`.
    """
    wrong = [
        Wrong(
            'answers = ["copy", "copy", "alias", "itself", "copy"]',
            says="two places apart",
            why="`reshape` does not ask whether a tensor is contiguous. It asks for one stride through it.",
        ),
        Wrong(
            'answers = ["copy", "alias", "copy", "itself", "copy"]',
            says="already in row-major order",
            why="`contiguous` copies only what is not contiguous. Two whole rows are.",
        ),
    ]

    def check(answers):
        x = torch.zeros(4, 6)
        results = [
            x[:, :3].reshape(12),
            x[:, ::2].reshape(12),
            x[1:3].contiguous(),
            x.to(torch.float32),
            x.t().clone(),
        ]
        truth = [
            "itself"
            if y is x
            else "alias"
            if y.untyped_storage() is x.untyped_storage()
            else "copy"
            for y in results
        ]
        given = list(answers)
        require(given[1] != "copy", "The second has its elements two places apart, all the way.")
        require(given[2] != "copy", "The third: what is already in row-major order is not copied.")
        expect(given, truth, "the five relations")


class Reshaped(Exercise):
    """Reshape without reshape

    Write `reshaped(x, sizes)`, which does what `x.reshape(sizes)` does, from `view` and
    `contiguous` alone: a view where there is one, else a copy.
    """

    kind = "implement"
    idea = "Reshape: a view, or else a copy"
    stub = """
        def reshaped(x, sizes):
            return x.view(sizes)  # not yet: it may raise
    """
    hints = [
        "You need not know the view rule. Who knows it, and how do they tell you?",
        "`view` raises `RuntimeError` where there is no view. What can be viewed in any shape?",
    ]
    solution = """
        def reshaped(x, sizes):
            try:
                return x.view(sizes)
            except RuntimeError:
                return x.contiguous().view(sizes)
    """
    reason = """
        Row-major memory is one chunk, and one chunk can be cut into any shape. So after
        `contiguous` the second `view` cannot fail, unless the number of elements is wrong, and then
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
            why="The clone of a transpose is transposed, and can be viewed no better than the original.",
        ),
    ]

    def check(reshaped):
        x = torch.arange(24.0).reshape(4, 6)
        for given, sizes in [(x[:, :3], (12,)), (x.t(), (24,))]:
            try:
                came = reshaped(given, sizes)
            except RuntimeError as error:
                remark = f"It raises for strides {given.stride()} and sizes {sizes}."
                if given.stride() == (1, 6):  # an answer that could pack the first one
                    remark += " A clone keeps the order of dimensions."
                raise AssertionError(remark) from error
            expect(came.tolist(), given.reshape(sizes).tolist(), f"x with strides {given.stride()}")
        for given, sizes in [(x, (3, 8)), (x[1:], (18,)), (x[:, ::2], (12,)), (x.t(), (6, 2, 2))]:
            came = reshaped(given, sizes)
            expect(came.tolist(), given.reshape(sizes).tolist(), f"x with strides {given.stride()}")
            require(
                came.untyped_storage() is x.untyped_storage(),
                f"For strides {given.stride()} and sizes {sizes}, this copies what could be viewed.",
            )


class MovedInPlace(Exercise):
    """Move without a second memory

    `x[k:] = x[:-k].clone()` moves the values of a vector `k` places to the right, but needs memory
    for a second vector. Write `move_right(x, k)`, which does it with `copy_` on parts that do not
    overlap, and makes no copies. The first `k` values stay.
    """

    kind = "extend"
    idea = "Copy into memory that is there"
    stub = """
        def move_right(x, k):
            x[k:] = x[:-k].clone()  # not yet: it needs twice the memory
    """
    hints = [
        "How long may a piece be so that it does not overlap the place that it goes to, `k` to the right?",
        "Pieces of at most `k` elements. But none may be overwritten before it has moved. Where do you begin?",
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
        Who moves to the right must begin at the right end: there, what is overwritten has been
        moved already. C's `memmove` looks which of two addresses is larger for the same reason.
        `copy_safely` does not; it spends the memory.
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
            why="Beginning at the left, the first piece arrives where the second has not left yet.",
        ),
        Wrong(
            """
            def move_right(x, k):
                for start in range(len(x) - k, 0, -k):
                    x[start : start + k] = x[start - k : start]
            """,
            says="does not divide",
            why="The last piece is shorter where `k` does not divide the length.",
        ),
    ]

    def check(move_right):
        for n, k in [(12, 3), (12, 5), (7, 1), (7, 6)]:
            x = torch.arange(n)
            expected = [*range(k), *range(n - k)]
            try:
                move_right(x, k)
            except RuntimeError as error:
                remark = (
                    f"with {n} values and k = {k}, which does not divide {n}" if n % k else f"{n}"
                )
                raise AssertionError(f"It raises {remark}: {error}") from error
            repeats = [i % k for i in range(n)]
            require(
                x.tolist() != repeats or repeats == expected,
                "What had arrived was moved on again: the first values are everywhere.",
            )
            hint = f" (k does not divide {n})" if n % k else ""
            expect(x.tolist(), expected, f"{n} values, moved by {k}{hint}")
        x = torch.zeros(1_000_000)
        torch.reset_peak_memory_stats()
        before = torch.memory_stats()["peak_bytes"]
        move_right(x, 10_000)
        used = torch.memory_stats()["peak_bytes"] - before
        require(used < x.nbytes // 4, f"Moving {x.nbytes:,} bytes took {used:,} more.")


class Snapshots(BugHunt):
    """A test for snapshots

    `snapshot(state)` takes a dict of tensors, as `state_dict` and `named_parameters` give them. It
    returns a dict of tensors with the same names, values and dtypes, in memory of their own and
    without history. Four people wrote it, and each
    forgot something. Write `test(snapshot)`, which passes on the right function and fails on theirs.
    """

    idea = "The best weights"
    stub = """
        def test(snapshot):
            state = {"weight": torch.ones(2)}
            assert snapshot(state)["weight"].tolist() == [1.0, 1.0]
    """
    hints = [
        "Change the state after taking the snapshot. Is one kind of tensor enough?",
        "One of them copies only some layouts. One keeps the gradient's way open. One has a favourite dtype.",
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
        The symptom of an alias is a write that arrives, so the test must write. It must write to
        tensors of every layout, for `contiguous` copies some of them. And values alone show neither
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
            why="A transposed tensor is the one kind that `contiguous` does copy.",
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
