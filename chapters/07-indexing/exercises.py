"""Exercises of chapter 7, indexing."""

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, expect_error, require

IMPORTS = "import tensorlab as torch"


class ShapesByHand(Exercise):
    """Five shapes

    `x` has shape (5, 6, 7), `i` has shape (2, 1), `j` has shape (3,), and `m` is a mask of shape (5, 6)
    with four True. Which shapes have the five results? Work them out on paper.
    """

    kind = "warm-up"
    idea = "The second language: where the dimensions go"
    stub = """
        a = None  # the shape of x[:, i, j], such as (5, 6, 7)
        b = None  # of x[i, :, j]
        c = None  # of x[m]
        d = None  # of x[0, :, j]
        e = None  # of x[1:4, None, j]
    """
    hints = [
        "First ask which dimensions are kept, and where they stand. Then broadcast `i` and `j`: what is "
        "their common shape?",
        "A mask stands for as many dimensions as it has, and brings one: the number of True. An int is "
        "gone before any tensor is looked at.",
        "For `b` a kept dimension lies between the indexed ones, so the common shape (2, 3) goes first.",
    ]
    solution = """
        a = (5, 2, 3)
        b = (2, 3, 6)
        c = (4, 7)
        d = (6, 3)
        e = (3, 1, 3, 7)
    """
    reason = """
        `i` and `j` broadcast to (2, 3). In `a` they are neighbours, so (2, 3) stands where they stood; in
        `b` they are apart, so it goes first. The mask of two dimensions leaves the third. In `d` the 0
        is a view, (6, 7), of which `j` indexes the last dimension. In `e` the slice and `None` give
        (3, 1, 6, 7), of which `j` indexes the third.
    """
    wrong = [
        Wrong(
            "a = (5, 2, 3)\nb = (2, 6, 3)\nc = (4, 7)\nd = (6, 3)\ne = (3, 1, 3, 7)",
            says="stay together",
            why="The common shape is not divided among the places that are indexed.",
        ),
        Wrong(
            "a = (5, 2, 3)\nb = (2, 3, 6)\nc = (4, 7)\nd = (3, 6)\ne = (3, 1, 3, 7)",
            says="NumPy's answer",
            why="NumPy reads an int beside an array as an array. Here an int is a view.",
        ),
        Wrong(
            "a = (5, 2, 3)\nb = (2, 3, 6)\nc = (4,)\nd = (6, 3)\ne = (3, 1, 3, 7)",
            says="two dimensions of three",
            why="A mask of two dimensions chooses rows of length 7.",
        ),
    ]

    def check(a, b, c, d, e):
        x = torch.zeros(5, 6, 7)
        i, j = torch.zeros(2, 1, dtype=torch.int64), torch.tensor([0, 1, 2])
        m = torch.zeros(5, 6, dtype=torch.bool)
        m[0, :4] = True
        require(b != (2, 6, 3), "The dimensions of the index tensors stay together.")
        require(d != (3, 6), "This is NumPy's answer: there the int takes part as an index array.")
        require(c != (4,), "The mask covers two dimensions of three; the third is kept.")
        expect(a, tuple(x[:, i, j].shape), "the shape of x[:, i, j]")
        expect(b, tuple(x[i, :, j].shape), "the shape of x[i, :, j]")
        expect(c, tuple(x[m].shape), "the shape of x[m]")
        expect(d, tuple(x[0, :, j].shape), "the shape of x[0, :, j]")
        expect(e, tuple(x[1:4, None, j].shape), "the shape of x[1:4, None, j]")


class Confusion(Exercise):
    """Who is taken for whom

    A classifier guessed. Write `confusion(truth, guess, n)`: from two vectors of classes 0 to n - 1, the
    matrix whose element (t, g) says how often class t was taken for class g, as int64. No loop.
    """

    kind = "implement"
    idea = "One index for each element: gather and scatter"
    stub = """
        def confusion(truth, guess, n):
            return torch.zeros(n, n, dtype=torch.int64)  # not yet
    """
    hints = [
        "Each pair names a place of the matrix, and adds one to it. What happens to a place that is named "
        "twice?",
        "`counts[truth, guess] += 1` keeps one of them. Which call writes and adds?",
        "`counts.index_put_((truth, guess), ones, accumulate=True)`. Or count `truth * n + guess`.",
    ]
    solution = """
        def confusion(truth, guess, n):
            counts = torch.zeros(n, n, dtype=torch.int64)
            one = torch.tensor(1)
            return counts.index_put_((truth, guess), one, accumulate=True)
    """
    reason = """
        Pairs repeat, so they have to be accumulated. The value 1 is broadcast to all of them.
        `(truth * n + guess).bincount(minlength=n * n).view(n, n)` does the same with one number a pair.
    """
    wrong = [
        Wrong(
            """
            def confusion(truth, guess, n):
                counts = torch.zeros(n, n, dtype=torch.int64)
                counts[truth, guess] += 1
                return counts
            """,
            says="add up to",
            why="`+=` reads a copy, adds, and writes; of a repeated pair one addition survives.",
        ),
        Wrong(
            """
            def confusion(truth, guess, n):
                counts = torch.zeros(n, n, dtype=torch.int64)
                one = torch.tensor(1)
                return counts.index_put_((guess, truth), one, accumulate=True)
            """,
            says="the other way round",
            why="Rows are the truth, columns the guess.",
        ),
        Wrong(
            """
            def confusion(truth, guess, n):
                pairs = truth * n + guess
                return pairs.bincount().view(n, n)
            """,
            says="the last class",
            why="Without `minlength`, `bincount` ends at the largest number that occurs.",
        ),
    ]

    def check(confusion):
        cases = [
            ([0, 1, 2, 1], [0, 2, 1, 2], 3),
            ([0, 0, 0, 1, 1], [1, 1, 0, 0, 0], 2),
            ([0, 1, 0], [1, 0, 0], 4),
        ]
        for truth, guess, n in cases:
            wanted = [[0] * n for _ in range(n)]
            for t, g in zip(truth, guess, strict=True):
                wanted[t][g] += 1
            try:
                came = confusion(torch.tensor(truth), torch.tensor(guess), n)
            except RuntimeError as error:
                message = f"Are there n * n counts even if the last class is never guessed? {error}"
                require(False, message)
            total = came.sum().item()
            about = f"the counts add up to {total}; there are {len(truth)} guesses"
            require(total in (0, len(truth)), f"Where pairs repeat, {about}.")
            turned = [list(row) for row in zip(*wanted, strict=True)]
            require(
                came.tolist() != turned or turned == wanted,
                "This is the other way round: rows are the truth.",
            )
            expect(came.tolist(), wanted, f"the matrix for truth {truth} and guess {guess}")


class PickByHand(Exercise):
    """Indexing with one addition

    Write `pick(x, i, j)`, which gives `x[i, j]` for a matrix of any layout, from the memory that `x` looks
    at: compute where each element lies, and read there with one index. Use `memory(x)`, which is
    all of its storage as one row. Negative indices count from the end, the two index tensors are broadcast,
    and an index that is out of range raises an IndexError.
    """

    kind = "extend"
    idea = "Positions become offsets"
    stub = """
        def memory(x):
            length = x.untyped_storage().nbytes() // x.element_size()
            return x.as_strided((length,), (1,), 0)


        def pick(x, i, j):
            return memory(x)[i + j]  # not yet
    """
    hints = [
        "The place of $x_{ij}$ is offset plus index times stride, twice. `x.storage_offset()` and `x.stride()` know "
        "them.",
        "Wrap first: add the size to those indices that are negative. `torch.where`, or arithmetic "
        "with the comparison.",
        "After wrapping, what is negative or too large was out of range. A place that is wrong may "
        "lie well inside the storage, so compare the indices with the sizes.",
    ]
    solution = """
        def memory(x):
            length = x.untyped_storage().nbytes() // x.element_size()
            return x.as_strided((length,), (1,), 0)


        def wrapped(index, size):
            index = torch.where(index < 0, index + size, index)
            if ((index < 0) | (index >= size)).any():
                raise IndexError(f"an index is out of range for size {size}")
            return index


        def pick(x, i, j):
            i, j = wrapped(i, x.shape[0]), wrapped(j, x.shape[1])
            return memory(x)[x.storage_offset() + i * x.stride(0) + j * x.stride(1)]
    """
    reason = """
        Broadcasting happens in the addition. The check must look at the indices: `i = 0` and `j = 7` in rows of
        six is a place in the storage, one row below.
    """
    wrong = [
        Wrong(
            """
            def memory(x):
                length = x.untyped_storage().nbytes() // x.element_size()
                return x.as_strided((length,), (1,), 0)


            def pick(x, i, j):
                return memory(x)[i % x.shape[0] * x.shape[1] + j % x.shape[1]]
            """,
            says="another layout",
            why="The width is the stride of the rows only while the matrix is contiguous.",
        ),
        Wrong(
            """
            def memory(x):
                length = x.untyped_storage().nbytes() // x.element_size()
                return x.as_strided((length,), (1,), 0)


            def pick(x, i, j):
                i, j = i % x.shape[0], j % x.shape[1]
                return memory(x)[x.storage_offset() + i * x.stride(0) + j * x.stride(1)]
            """,
            says="nothing was raised",
            why="A remainder brings every index into range, also those that are wrong.",
        ),
        Wrong(
            """
            def memory(x):
                length = x.untyped_storage().nbytes() // x.element_size()
                return x.as_strided((length,), (1,), 0)


            def pick(x, i, j):
                return memory(x)[x.storage_offset() + i * x.stride(0) + j * x.stride(1)]
            """,
            says="negative",
            why="A negative index leads back in memory, into the row before.",
        ),
    ]

    def check(pick):
        big = torch.arange(48).reshape(6, 8)
        i, j = torch.tensor([0, 2, 1, 1]), torch.tensor([3, 0, 3, 1])
        for name, x in {"contiguous": big, "transposed": big.t(), "a part": big[1:5, ::2]}.items():
            about = "" if name == "contiguous" else ": another layout has other strides"
            expect(pick(x, i, j).tolist(), x[i, j].tolist(), f"x[i, j] of {name}{about}")
            rows = i[:, None]
            expect(
                pick(x, rows, j).tolist(),
                x[rows, j].tolist(),
                f"x[i[:, None], j] of {name}, broadcast",
            )
            came = pick(x, i - 3, j - 4).tolist()
            expect(came, x[i - 3, j - 4].tolist(), f"with negative indices in {name}")
        x = big[:, :6]
        for bad in (6, -7):
            try:
                pick(x, torch.tensor([0]), torch.tensor([bad]))
            except IndexError:
                continue
            require(False, f"Column {bad} of six is out of range, but nothing was raised.")
        expect_error(IndexError, pick, x, torch.tensor([6]), torch.tensor([0]))


class GradientOfReading(BugHunt):
    """A test for the gradient of reading

    Four people wrote `backward(grad, index, size)`: from the gradient of `x[index]`, the gradient of the vector
    `x` of that size. `index` may contain negative numbers and may be empty. Write `test(backward)`, which passes on
    the right function and fails on each of theirs.
    """

    idea = "An embedding that learns one word too few"
    stub = """
        def test(backward):
            grad = backward(torch.tensor([1.0, 2.0]), torch.tensor([0, 1]), 2)
            assert grad.tolist() == [1, 2]
    """
    hints = [
        "The index of the stub's test names every place once, in order. What else may an index do?",
        "It may come twice, leave places out, go backwards, be negative, be empty.",
        "One bug shows only if an index comes twice, one only if it comes twice *with a negative name "
        "the second time*, one if the last place is never read, one for an index that is not in order.",
    ]
    solution = """
        def test(backward):
            def grad_of(grad, index, size):
                index = torch.tensor(index, dtype=torch.int64)
                return backward(torch.tensor(grad), index, size).tolist()

            assert grad_of([1.0, 2.0], [0, 1], 2) == [1, 2]
            assert grad_of([1.0, 2.0, 4.0], [1, 1, 0], 2) == [4, 3]  # twice, not in order
            assert grad_of([1.0, 2.0], [1, -1], 2) == [0, 3]  # twice, under two names
            assert grad_of([1.0], [0], 3) == [1, 0, 0]  # places that are not read
            assert grad_of([], [], 2) == [0, 0]
    """
    reason = """
        Each case is one thing that an index may do. The equation of invariant 3 with a random index would find three of
        the four, too; the size of the result it cannot see.
    """
    wrong = [
        Wrong(
            """
            def test(backward):
                grad = backward(torch.tensor([1.0, 2.0]), torch.tensor([1, 0]), 2)
                assert grad.tolist() == [2, 1]
            """,
            says="planted bugs",
            why="An index in another order finds one bug; nothing comes twice here.",
        ),
        Wrong(
            """
            def test(backward):
                grad = backward(torch.tensor([1.0, 2.0]), torch.tensor([1, 1]), 2)
                assert grad.tolist() == [0, 2]
            """,
            says="The first half fails",
            why="This test demands the bug: what was read twice gets the sum.",
        ),
    ]

    def right(grad, index, size):
        return grad.new_zeros(size).index_put_((index,), grad, accumulate=True)

    def keeps_one(grad, index, size):
        """of a repeated index only one gradient is kept"""
        out = grad.new_zeros(size)
        out[index] = grad
        return out

    def too_short(grad, index, size):
        """the result ends at the largest index"""
        index = index % size
        length = index.max().item() + 1 if index.numel() else 0
        return grad.new_zeros(length).index_add_(0, index, grad)

    def in_order(grad, index, size):
        """the gradients are laid down in order, wherever they belong"""
        counts = (index % size).bincount(minlength=size)
        out, start = grad.new_zeros(size), 0
        for place, count in enumerate(counts.tolist()):
            out[place] = grad[start : start + count].sum()
            start += count
        return out

    def two_names(grad, index, size):
        """a place that is named once from the start and once from the end loses one of them"""
        front, back = grad.new_zeros(size), grad.new_zeros(size)
        front.index_add_(0, index[index >= 0], grad[index >= 0])
        back.index_add_(0, index[index < 0] + size, grad[index < 0])
        return torch.where(back != 0, back, front)

    bugs = [keeps_one, too_short, in_order, two_names]
