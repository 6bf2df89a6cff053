"""Exercises of chapter 7, indexing."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, expect_error, require

IMPORTS = "import tensorlab as torch"


class ShapesByHand(Exercise):
    """Five shapes

    `x` has shape (5, 6, 7), `i` has shape (2, 1), `j` has shape (3,), and `m` is a mask of shape (5, 6)
    with four True. What are the shapes of these five results? Work them out on paper.
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
        "First ask which dimensions are kept, and where they are. Then broadcast `i` and `j`: what is "
        "their common shape?",
        "A mask replaces as many dimensions as it has, and brings a single one: the number of True. An int is "
        "gone before any tensor is looked at.",
        "In `b`, there is a kept dimension between the indexed ones, so the common shape (2, 3) comes first.",
    ]
    solution = """
        a = (5, 2, 3)
        b = (2, 3, 6)
        c = (4, 7)
        d = (6, 3)
        e = (3, 1, 3, 7)
    """
    reason = """
        `i` and `j` are broadcast to (2, 3). In `a` they're neighbours, so (2, 3) takes their place. In
        `b` they aren't, so it comes first. The mask has two dimensions and leaves the third. In `d`, the 0
        gives a view with the shape (6, 7), and `j` indexes its last dimension. In `e`, the slice and `None` give
        (3, 1, 6, 7), and `j` indexes the third dimension of that.
    """
    wrong = [
        Wrong(
            "a = (5, 2, 3)\nb = (2, 6, 3)\nc = (4, 7)\nd = (6, 3)\ne = (3, 1, 3, 7)",
            says="stay together",
            why="The common shape isn't divided among the indexed dimensions.",
        ),
        Wrong(
            "a = (5, 2, 3)\nb = (2, 3, 6)\nc = (4, 7)\nd = (3, 6)\ne = (3, 1, 3, 7)",
            says="NumPy's answer",
            why="NumPy treats an int beside an array like an array. Here the int gives a view.",
        ),
        Wrong(
            "a = (5, 2, 3)\nb = (2, 3, 6)\nc = (4,)\nd = (6, 3)\ne = (3, 1, 3, 7)",
            says="two dimensions of three",
            why="A mask with two dimensions chooses rows of length 7.",
        ),
        Wrong(
            "a = (5, 2, 3)\nb = (2, 3, 6)\nc = (4, 7)\nd = (6, 3)\ne = (3, 1, 6, 3)",
            says="no dimension of `x`",
            why="`None` adds a dimension. It doesn't use one up, so `j` indexes the 6.",
        ),
    ]

    def check(a, b, c, d, e):
        x = torch.zeros(5, 6, 7)
        i, j = torch.zeros(2, 1, dtype=torch.int64), torch.tensor([0, 1, 2])
        m = torch.zeros(5, 6, dtype=torch.bool)
        m[0, :4] = True
        shapes = {
            "a, the shape of x[:, i, j]": (a, x[:, i, j].shape),
            "b, the shape of x[i, :, j]": (b, x[i, :, j].shape),
            "c, the shape of x[m]": (c, x[m].shape),
            "d, the shape of x[0, :, j]": (d, x[0, :, j].shape),
            "e, the shape of x[1:4, None, j]": (e, x[1:4, None, j].shape),
        }
        mistakes = {
            ("a", (5, 2, 3, 2, 3)): "The two tensors have one common shape.",
            ("a", (2, 3, 5)): "The indexed dimensions are neighbours, so they keep their place.",
            ("b", (2, 6, 3)): "The dimensions of the index tensors stay together.",
            ("b", (6, 2, 3)): "A kept dimension lies between the indexed ones.",
            ("c", (4,)): "The mask covers two dimensions of three; the third is kept.",
            ("d", (3, 6)): "This is NumPy's answer: there the int takes part as an index array.",
            ("e", (3, 1, 6, 3)): "`None` uses up no dimension of `x`, so `j` indexes the second.",
        }
        for about, (came, wanted) in shapes.items():
            came = tuple(came) if isinstance(came, (list, tuple)) else came
            key = (about[0], came) if isinstance(came, tuple) else None
            expect(came, tuple(wanted), f"{about}. {mistakes.get(key, '')}".strip(" ."))


class Confusion(Exercise):
    """A confusion matrix

    A classifier has guessed. Write `confusion(truth, guess, n)`. It gets two vectors with classes from 0 to n - 1, and
    returns an int64 matrix with n rows and n columns. Its element (t, g) says how often class t was taken for
    class g. You don't need a loop.
    """

    kind = "implement"
    idea = "One index for each element: gather and scatter"
    stub = """
        def confusion(truth, guess, n):
            return torch.zeros(n, n, dtype=torch.int64)  # not yet
    """
    hints = [
        "Each pair names a place of the matrix, and adds 1 there. What happens to a place that is named "
        "twice?",
        "`counts[truth, guess] += 1` keeps only one of them. Which call adds all of them?",
        "`counts.index_put_((truth, guess), ones, accumulate=True)`. Or count `truth * n + guess`.",
    ]
    solution = """
        def confusion(truth, guess, n):
            counts = torch.zeros(n, n, dtype=torch.int64)
            one = torch.tensor(1)
            return counts.index_put_((truth, guess), one, accumulate=True)
    """
    reason = """
        Pairs repeat, so you have to accumulate them. The value 1 is broadcast to all of them.
        `(truth * n + guess).bincount(minlength=n * n).view(n, n)` does the same with one number per pair.
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
            why="`+=` reads a copy, adds, and writes. If a pair comes twice, only one of the additions survives.",
        ),
        Wrong(
            """
            def confusion(truth, guess, n):
                counts = torch.zeros(n, n, dtype=torch.int64)
                one = torch.tensor(1)
                return counts.index_put_((guess, truth), one, accumulate=True)
            """,
            says="the other way round",
            why="The rows are the truth, and the columns are the guess.",
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
            ([1, 1, 1, 0], [0, 0, 0, 1], 2),
        ]
        for _ in range(10):
            n = random.randint(1, 6)
            classes = random.choices(range(n), k=2 * random.randint(1, 30))
            half = len(classes) // 2
            cases.append((classes[:half], classes[half:], n))
        for truth, guess, n in cases:
            about = f"truth {truth}, guess {guess}, n = {n}"
            try:
                came = confusion(torch.tensor(truth), torch.tensor(guess), n)
            except RuntimeError as error:
                remark = "Are there n * n counts even if the last class is never guessed?"
                require(False, f"{remark} ({about}: {error})")
            require(isinstance(came, torch.Tensor), f"{about}: the result isn't a tensor.")
            wanted = [
                [0] * n for _ in range(n)
            ]  # made after the call, which could find it otherwise
            for t, g in zip(truth, guess, strict=True):
                wanted[t][g] += 1
            expect(tuple(came.shape), (n, n), f"{about}: the shape")
            total = came.sum().item()
            remark = f"the counts add up to {total}; there are {len(truth)} guesses"
            require(total in (0, len(truth)), f"{about}: {remark}. Pairs may repeat.")
            turned = [list(row) for row in zip(*wanted, strict=True)]
            require(
                came.tolist() != turned or turned == wanted,
                f"{about}: this is the other way round. The rows are the truth.",
            )
            expect(came, torch.tensor(wanted), f"{about}: the matrix")


class PickByHand(Exercise):
    """Indexing with one addition

    Write `pick(x, i, j)`. It returns `x[i, j]` for a matrix with any layout, but it doesn't index `x`. It
    computes where each element lies in memory, and reads there with one index. `memory(x)` gives you the
    whole storage of `x` as one row. Negative indices count from the end, the two index tensors are broadcast,
    and an index that's out of range raises an `IndexError`.
    """

    kind = "extend"
    idea = "Positions become offsets"
    beside = "the check watches what the answer calls"
    stub = """
        def memory(x):
            length = x.untyped_storage().nbytes() // x.element_size()
            return x.as_strided((length,), (1,), 0)


        def pick(x, i, j):
            return memory(x)[i + j]  # not yet
    """
    hints = [
        "The place of $x_{ij}$ is the offset plus index times stride, for both indices. You get these numbers from "
        "`x.storage_offset()` and `x.stride()`.",
        "Wrap first: add the size to the indices that are negative. Use `torch.where`, or multiply "
        "the comparison by the size.",
        "If an index is still negative after wrapping, or too large, it was out of range. A wrong place can "
        "lie well inside the storage, so compare the indices with the sizes, not the places with the length.",
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
        The addition broadcasts. The check must look at the indices: with rows of six, `i = 0` and `j = 7` is
        a place inside the storage, in the next row.
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
            why="The stride of the rows is their width only if the matrix is contiguous.",
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
            why="A remainder brings every index into range, also the wrong ones.",
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
            why="In memory, a negative index leads back into the row before.",
        ),
        Wrong(
            """
            def memory(x):
                length = x.untyped_storage().nbytes() // x.element_size()
                return x.as_strided((length,), (1,), 0)


            def pick(x, i, j):
                return x[i, j]
            """,
            says="It indexes `x` itself",
            why="That's right, but it's what you were asked to build.",
        ),
    ]

    def check(pick):
        big = torch.arange(48).reshape(6, 8)
        i, j = torch.tensor([0, 2, 1, 1]), torch.tensor([3, 0, 3, 1])
        rows = i[:, None]
        layouts = {"contiguous": big, "transposed": big.t(), "a part": big[1:5, ::2]}
        for name, x in layouts.items():
            about = "" if name == "contiguous" else ": another layout has other strides"
            expect(pick(x, i, j), x[i, j], f"x[i, j], {name}{about}")
            expect(pick(x, rows, j), x[rows, j], f"x[i[:, None], j], {name}, broadcast")
            expect(pick(x, i - 3, j - 4), x[i - 3, j - 4], f"negative indices, {name}")
        x = big[:, :6]
        for bad in (6, -7):
            try:
                pick(x, torch.tensor([0]), torch.tensor([bad]))
            except IndexError:
                continue
            require(False, f"Column {bad} of six is out of range, but nothing was raised.")
        for _ in range(15):
            x = random_matrix()
            about = f"sizes {tuple(x.shape)}, strides {x.stride()}, offset {x.storage_offset()}"
            shapes = random.choice([[(4,), (4,)], [(3, 1), (4,)], [(1,), (5,)], [(2, 3), (2, 3)]])
            i, j = (torch.randint(-n, n, shape) for n, shape in zip(x.shape, shapes, strict=True))
            expect(pick(x, i, j), x[i, j], f"x[i, j], {about}")
            if random.random() < 0.5:
                i.view(-1)[-1] = random.choice([x.shape[0], -x.shape[0] - 1])
            else:
                j.view(-1)[-1] = random.choice([x.shape[1], -x.shape[1] - 1])
            expect_error(IndexError, pick, x, i, j, about=f"an index out of range, {about}")
        whole = []

        class Watched(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                if getattr(function, "__name__", "") == "__getitem__" and args[0].ndim == 2:
                    whole.append(any(isinstance(k, torch.Tensor) for k in as_tuple(args[1])))
                return super().__torch_function__(function, types, args, kwargs or {})

        pick(big.as_subclass(Watched), torch.tensor([1, 2]), torch.tensor([3, 4]))
        require(not any(whole), "It indexes `x` itself. Compute the places, and index the memory.")


def as_tuple(index):
    return index if isinstance(index, tuple) else (index,)


def random_matrix():
    """Return a part of a larger matrix, in a random layout and dtype."""
    x = torch.randperm(9 * 11).reshape(9, 11)
    x = x.to(random.choice([torch.int64, torch.float32, torch.float64, torch.int16]))
    x = x[
        random.randint(0, 3) :: random.randint(1, 2), random.randint(0, 3) :: random.randint(1, 3)
    ]
    return random.choice([x, x.t(), x.contiguous(), x[:1].expand(5, -1)])


class GradientOfReading(BugHunt):
    """A test for the gradient of reading

    `backward(grad, index, size)` gets the gradient of `x[index]`, and returns the gradient of `x`, a vector with `size`
    elements. `index` may be empty, and it may contain negative numbers. Four people wrote this function, and each
    made a mistake. Write `test(backward)`, which passes on the right function and fails on each of theirs.
    """

    idea = "An embedding that learns one word too few"
    stub = """
        def test(backward):
            grad = backward(torch.tensor([1.0, 2.0]), torch.tensor([0, 1]), 2)
            assert grad.tolist() == [1, 2]
    """
    hints = [
        "In the test of the stub, the index names every place once, and in order. What else can an index do?",
        "It can name a place twice, leave places out, go backwards, be negative, or be empty.",
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
        Each line is one thing that an index can do. You could also take the equation of invariant 3 and a random
        index with negative numbers. That finds three of the four bugs, but not a wrong size of the result.
    """
    wrong = [
        Wrong(
            """
            def test(backward):
                grad = backward(torch.tensor([1.0, 2.0]), torch.tensor([1, 0]), 2)
                assert grad.tolist() == [2, 1]
            """,
            says="planted bugs",
            why="An index in another order finds one bug. The others need an index that comes twice, or places that "
            "aren't read.",
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
