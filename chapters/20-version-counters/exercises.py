"""Exercises of chapter 20, version counters."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, expect_error, require

IMPORTS = "import tensorlab as torch"


class CountTheWrites(Exercise):
    """Count the writes

    What is `y._version` when this program has ended? Replace `None` before you run anything.

        y = torch.zeros(4)
        y[0:2].add_(1)
        y.detach().mul_(3)
        y.data.add_(1)
        with torch.no_grad():
            y.sub_(1)
        y = y + 1
        y[0] = 7.0
    """

    kind = "warm-up"
    idea = "One counter for all aliases"
    stub = """
        version = None
    """
    hints = [
        "Ask two questions of each line: does it write to memory, and whose counter does it raise?",
        "A view and a detached alias share the counter. `.data` has its own. Grad mode has nothing to do "
        "with counting.",
        "`y = y + 1` writes to nothing: it gives the *name* `y` to a new tensor.",
    ]
    solution = """
        version = 1
    """
    reason = """
        Three writes were counted: through the view, through the alias, and under `no_grad`. But `y = y + 1`
        makes a *new* tensor with a new counter, and only `y[0] = 7.0` has written to that.
    """
    wrong = [
        Wrong(
            "version = 4",
            says="a new tensor",
            why="The writes to both tensors that were called `y`. The first has gone, and its counter with it.",
        ),
        Wrong(
            "version = 5",
            says="counter of its own",
            why="As 4, and with the write through `.data`, which is not counted.",
        ),
        Wrong(
            "version = 3",
            says="of the old y",
            why="This was the version of the first `y`. The last line writes to another tensor.",
        ),
        Wrong(
            "version = 0",
            says="also a write",
            why="An assignment to a part, `y[0] = 7.0`, is an in-place op like any other.",
        ),
    ]

    def check(version):
        y = torch.zeros(4)
        y[0:2].add_(1)
        y.detach().mul_(3)
        y.data.add_(1)
        with torch.no_grad():
            y.sub_(1)
        y = y + 1
        y[0] = 7.0
        remarks = {
            5: "The alias that .data returns has a counter of its own. And y = y + 1?",
            4: "y = y + 1 writes to nothing: it makes a new tensor, with a new counter.",
            3: "This is the version of the old y. To which tensor does the last line write?",
            0: "y[0] = 7.0 is also a write.",
        }
        require(version == y._version or version not in remarks, remarks.get(version, ""))
        expect(version, y._version, "the version of y at the end")


class Guarded(Exercise):
    """A saved tensor of your own

    Write `guarded(x)`, which returns a function without arguments. As long as the memory of `x` has not
    been written to since, that function returns `x`: the same tensor, not a copy. Afterwards it raises
    `RuntimeError`, even if the old values have been put back.
    """

    kind = "implement"
    idea = "Saving and unpacking"
    beside = "the check looks at the graph that the answer records"
    stub = """
        def guarded(x):
            def unpack():
                return x  # not yet

            return unpack
    """
    hints = [
        "What does a saved tensor keep besides the tensor?",
        "The version at which it was saved: `x._version`, read when `guarded` is called. The function that "
        "you return can remember it.",
        "In `unpack`, compare `x._version` with what you kept, and `raise RuntimeError(...)` if it differs.",
    ]
    solution = """
        def guarded(x):
            version = x._version

            def unpack():
                if x._version != version:
                    raise RuntimeError(f"version {x._version}, but kept at {version}")
                return x

            return unpack
    """
    reason = """
        One integer, one comparison. It does not matter who wrote, through which view or alias, since all
        of them raise the same counter.
    """
    wrong = [
        Wrong(
            """
            def guarded(x):
                values = x.tolist()

                def unpack():
                    if x.tolist() != values:
                        raise RuntimeError("changed")
                    return x

                return unpack
            """,
            says="put back",
            why="Comparing values reads the memory twice, and a write that was undone goes unnoticed.",
        ),
        Wrong(
            """
            def guarded(x):
                kept = x.clone()

                def unpack():
                    if x._version != 0:
                        raise RuntimeError("changed")
                    return kept

                return unpack
            """,
            says="copy",
            why="A copy is safe from every write. But it doubles the memory, and the exercise asks for `x` itself.",
        ),
        Wrong(
            """
            def guarded(x):
                version = x._version

                def unpack():
                    nonlocal version
                    if x._version != version:
                        version = x._version
                        raise RuntimeError("changed")
                    return x

                return unpack
            """,
            says="a second time",
            why="The first failure overwrites the version that was kept, and the second call returns the "
            "changed tensor.",
        ),
        Wrong(
            """
            def guarded(x):
                def unpack():
                    if x._version != 0:
                        raise RuntimeError("changed")
                    return x

                return unpack
            """,
            says="before it was guarded",
            why="A tensor may be at any version when it is saved. Perhaps an in-place op made it.",
        ),
    ]

    def check(guarded):
        x = torch.ones(3)
        unpack = guarded(x)
        expect(unpack() is x, True, "unpack() is x (a copy is not)")
        expect(unpack() is x, True, "unpack() is x, called a second time")
        torch.ones(3).add_(1)  # another memory
        expect(unpack() is x, True, "unpack() is x, after a write to another tensor")
        x[1:].zero_()
        expect_error(RuntimeError, unpack, about="unpack() after x[1:].zero_()")
        expect_error(RuntimeError, unpack, about="unpack() after x[1:].zero_(), a second time")
        rng = random.Random()
        for writes in (1, rng.randint(2, 5)):
            x = torch.ones(3)
            for _ in range(writes):
                x.add_(1)
            unpack = guarded(x)
            try:
                unpack()
            except RuntimeError:
                remark = (
                    "This x was written to before it was guarded, and not since: that is no reason."
                )
                require(False, remark)
            old = x.clone()
            x.detach().zero_()
            x.copy_(old)
            about = "unpack() after a write whose old values were put back"
            expect_error(RuntimeError, unpack, about=about)
        x = torch.rand(2, 3)
        early = guarded(x)
        x.t()[0].mul_(2)
        late = guarded(x)
        expect_error(RuntimeError, early, about="unpack() of a guard that is older than a write")
        expect(late() is x, True, "unpack() is x, of a second guard, made after that write")


class SquareInPlace(Exercise):
    """A square in place

    `y.mul_(y)` on a computed `y` runs, and its backward raises. Find out why from `begin_record_inplace`, and
    write `square_in_place(y)`, which squares `y` in its own memory, returns it, and lets the gradient
    through.
    """

    kind = "extend"
    idea = "Check, save, write, count, rebase"
    beside = "the check looks at the graph that the answer records"
    stub = """
        def square_in_place(y):
            return y.mul_(y)  # backward raises
    """
    hints = [
        "The derivative of `x * y` needs both factors as they were. `begin_record_inplace` keeps a copy of one of "
        "them. Of which?",
        "Of the first argument, the one that is written to. Here the second is the same tensor, and it is "
        "saved as it is, at the version before the write.",
        "Let the second argument be another tensor with the same values and the same history.",
    ]
    solution = """
        def square_in_place(y):
            return y.mul_(y.clone())
    """
    reason = """
        `begin_record_inplace` replaces the *first* argument by a copy; the clone does the same for the second, and
        the gradient flows through both. `y.square_()` is right as well: its derivative knows that it needs
        the old `y`. PyTorch raises for `y.mul_(y)` too. An engine could look for the written tensor among
        all arguments; neither does, because the cure costs every call something, and the error is clear.
    """
    wrong = [
        Wrong(
            "def square_in_place(y):\n    return y.mul_(y.detach().clone())",
            says="half of it",
            why="`detach` cuts the second path, and the product rule has two terms: this gives $y$, not $2y$.",
        ),
        Wrong(
            "def square_in_place(y):\n    return y * y",
            says="own memory",
            why="Right, and not in place: it makes a new tensor.",
        ),
        Wrong(
            "def square_in_place(y):\n    y.data.mul_(y.data)\n    return y",
            says="knows nothing",
            why="Through `.data` the write is hidden from autograd, and the gradient is that of $y$ itself: "
            "a wrong number, silently.",
        ),
    ]

    def check(square_in_place):
        x = torch.tensor([1.0, 3.0], requires_grad=True)
        y = x * 1
        place = y.data_ptr()
        came = square_in_place(y)
        require(came.data_ptr() == place, "The result does not lie in y's own memory.")
        expect(came.tolist(), [1.0, 9.0], "the values")
        try:
            came.sum().backward()
        except RuntimeError as error:
            require(False, f"The values are right, but backward raises: {error}")
        grad = x.grad.tolist()
        require(
            grad != [1.0, 1.0], "This is the gradient of y: autograd knows nothing of the write."
        )
        require(grad != [1.0, 3.0], "This gradient is half of it: the product rule has two terms.")
        expect(grad, [2.0, 6.0], "the gradient at (1, 3)")
        x = torch.randint(-5, 6, (2, 3)).to(torch.float64).requires_grad_()
        weights = torch.randint(1, 6, (2, 3)).to(torch.float64)
        y = x * 3
        saves_y = y * y
        came = square_in_place(y)
        require(came is y, "square_in_place(y) must return y itself.")
        expect(y.detach(), (9 * x * x).detach(), "y after the square, of other numbers")
        (y * weights).sum().backward(retain_graph=True)
        expect(x.grad, (18 * x * weights).detach(), "the gradient of a weighted sum")
        about = "backward of y * y from before the write (y's version must be raised)"
        expect_error(RuntimeError, saves_y.sum().backward, about=about)


class HuntInPlace(BugHunt):
    """A test for an in-place op

    `scale_rows_(x, factors)` multiplies row $i$ of a matrix by `factors[i]`, in place, and returns `x`; it
    raises `ValueError` if there are not as many factors as rows. Three people wrote it. All three get the
    numbers right, and each breaks one promise that in-place ops make. Write `test(scale_rows_)`, which
    passes on the right one and fails on each of the three.
    """

    idea = "Check, save, write, count, rebase"
    beside = "the test looks at graphs, which don't travel between processes"
    stub = """
        def test(scale_rows_):
            x = torch.ones(2, 3)
            scale_rows_(x, torch.tensor([2.0, 3.0]))
            assert x.tolist() == [[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]
    """
    hints = [
        "The promises are the invariants of this chapter, and you can test each without looking at the "
        "code. By how much does *one* in-place op raise the version?",
        "By exactly one. That finds two of the three, if you say `==`.",
        "The third promise: an op that raises has changed nothing. Call it with too few factors, catch the "
        "`ValueError`, and look at `x`.",
    ]
    solution = """
        def test(scale_rows_):
            x = torch.ones(2, 3)
            result = scale_rows_(x, torch.tensor([2.0, 3.0]))
            assert result is x
            assert x.tolist() == [[2.0, 2.0, 2.0], [3.0, 3.0, 3.0]]
            assert x._version == 1

            x = torch.ones(2, 3)
            try:
                scale_rows_(x, torch.tensor([2.0]))
            except ValueError:
                assert x.tolist() == torch.ones(2, 3).tolist()
                assert x._version == 0
            else:
                raise AssertionError("too few factors, and no error")
    """
    reason = """
        Numbers alone are the smaller part of what an in-place op promises. The version is what other nodes
        rely on, and "nothing changed when it raises" is what makes an error something that a program can
        recover from.
    """
    wrong = [
        Wrong(
            """
            def test(scale_rows_):
                x = torch.ones(2, 3)
                scale_rows_(x, torch.tensor([2.0, 3.0]))
                assert x._version == 1
            """,
            says="(number 3)",
            why="The version is asked for, but not what happens when it raises.",
        ),
        Wrong(
            """
            def test(scale_rows_):
                x = torch.ones(2, 3)
                scale_rows_(x, torch.tensor([2.0, 3.0]))
                assert x._version > 0
            """,
            says="(number 2, 3)",
            why="`> 0` accepts an op that counts a version for every row.",
        ),
        Wrong(
            """
            def test(scale_rows_):
                x = torch.ones(2, 3)
                scale_rows_(x, torch.tensor([2.0]))
                assert x._version == 0
            """,
            says="ValueError",
            why="The right op raises here, and the test lets the error out. Catch it, and then look at `x`.",
        ),
    ]

    def right(x, factors):
        if len(factors) != len(x):
            raise ValueError(f"scale_rows_: {len(factors)} factors for {len(x)} rows")
        return x.mul_(factors.unsqueeze(1))

    def hides_the_write(x, factors):
        """the write goes through `.data`, and no version is counted"""
        if len(factors) != len(x):
            raise ValueError(f"scale_rows_: {len(factors)} factors for {len(x)} rows")
        x.data.mul_(factors.unsqueeze(1))
        return x

    def counts_every_row(x, factors):
        """the rows are written one by one, and each counts a version"""
        if len(factors) != len(x):
            raise ValueError(f"scale_rows_: {len(factors)} factors for {len(x)} rows")
        for row, factor in zip(x, factors, strict=True):
            row.mul_(factor)
        return x

    def writes_before_it_checks(x, factors):
        """the rows for which there are factors are written before the number of factors is checked"""
        count = min(len(factors), len(x))
        if len(factors) == len(x):
            return x.mul_(factors.unsqueeze(1))
        x[:count].mul_(factors[:count].unsqueeze(1))
        raise ValueError(f"scale_rows_: {len(factors)} factors for {len(x)} rows")

    bugs = [hides_the_write, counts_every_row, writes_before_it_checks]
