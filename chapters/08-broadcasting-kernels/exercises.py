"""Exercises of chapter 8, broadcasting kernels."""

import random

from tiny_iterator import broadcast, coalesce

import tensorlab
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, measured_call, require

IMPORTS = """
import tensorlab as torch
from tiny_iterator import broadcast, coalesce, iterate, strides_of
"""
FILES = ["tiny_iterator.py"]

PAIRS = [((7, 1), (1, 5)), ((3,), (4, 1)), ((2, 3), (2,)), ((6, 1, 4), (5, 1)), ((0,), (1,))]


def is_error(answer):
    """Say whether an answer means "error", in whatever spelling, or as an exception."""
    if isinstance(answer, type):
        return issubclass(answer, Exception)
    return isinstance(answer, Exception) or (
        isinstance(answer, str) and "error" in answer.casefold()
    )


def shape_of(answer):
    """Return an answer as a tuple or as "error"; anything else as it is."""
    if is_error(answer):
        return "error"
    return tuple(answer) if isinstance(answer, (tuple, list)) else answer


class FiveShapes(Exercise):
    """Five shapes

    Which shape does the sum of two tensors with these shapes have? Write a tuple, or "error" where the
    shapes don't fit.

    - (7, 1) and (1, 5)
    - (3,) and (4, 1)
    - (2, 3) and (2,)
    - (6, 1, 4) and (5, 1)
    - (0,) and (1,)
    """

    kind = "warm-up"
    idea = "Stretching is a stride of zero"
    stub = """
        shapes = [None, None, None, None, None]
    """
    hints = [
        "Write the two shapes below one another, aligned at the right.",
        "A size of 1 is stretched to the other size, whatever that is, even to 0.",
    ]
    solution = """
        shapes = [(7, 5), (4, 3), "error", (6, 5, 4), (0,)]
    """
    reason = """
        In the third, 3 meets 2, and it doesn't help that the first sizes are equal. In the last, 1 is
        stretched to 0: the sum has no elements.
    """
    wrong = [
        Wrong(
            "shapes = [(7, 5), (4, 3), (2, 3), (6, 5, 4), (0,)]",
            says="at the right",
            why="This aligns the shapes at the left. To add a number to each row, view it as (2, 1).",
        ),
        Wrong(
            'shapes = [(7, 5), (4, 3), "error", (6, 5, 4), (1,)]',
            says="largest size",
            why="The common size is the one that is not 1, not the largest. Here it is 0.",
        ),
    ]

    def check(shapes):
        require(
            isinstance(shapes, (list, tuple)) and len(shapes) == len(PAIRS),
            f"`shapes` must be a list of {len(PAIRS)} answers, one for each pair.",
        )
        came = [shape_of(answer) for answer in shapes]
        require(came[2] != (2, 3), "The third, (2, 3) and (2,): shapes are aligned at the right.")
        require(came[4] != (1,), "The last, (0,) and (1,): it is not the largest size that counts.")
        for (one, two), answer in zip(PAIRS, came, strict=True):
            try:
                truth = broadcast(one, two)
            except ValueError:
                truth = "error"
            require(
                not isinstance(answer, int),
                f"The shape for {one} and {two} must be a tuple; one dimension is written (4,).",
            )
            expect(answer, truth, f"the shape of the sum of {one} and {two}")


class SummedBack(Exercise):
    """Summed back

    In `y = x + row`, every number of `row` is used once for each row of `x`. If you change it, all the
    sums that it is part of change, so its gradient is the sum of their gradients. Write
    `summed_back(grad, shape)`: `grad` has the shape of a broadcast result, and `shape` is the shape of one
    operand, a tuple. Return the operand's gradient, which has that shape, and leave `grad` as it is.
    """

    kind = "implement"
    idea = "Stretching is a stride of zero"
    stub = """
        def summed_back(grad, shape):
            return grad.sum(0)  # not yet: right for a row and a matrix
    """
    hints = [
        "Two kinds of dimensions were stretched: those that the operand doesn't have, and those where its size is 1.",
        "The first kind is on the left. Sum over dimension 0 until `grad` has as many dimensions as `shape`.",
        "The second kind must stay, with size 1: `sum(d, keepdim=True)`.",
    ]
    solution = """
        def summed_back(grad, shape):
            while grad.dim() > len(shape):
                grad = grad.sum(0)
            for d, size in enumerate(shape):
                if size == 1:
                    grad = grad.sum(d, keepdim=True)
            return grad
    """
    reason = """
        What a stride of 0 repeats on the way forward is added up on the way back. The library has this
        as `Tensor.sum_to_size`, and its engine sums back for every operand, so that the derivatives of
        ops don't have to.
    """
    wrong = [
        Wrong(
            """
            def summed_back(grad, shape):
                while grad.dim() > len(shape):
                    grad = grad.sum(0)
                return grad
            """,
            says="has size 1",
            why="A column has as many dimensions as the result, and it was stretched all the same.",
        ),
        Wrong(
            """
            def summed_back(grad, shape):
                while grad.dim() > len(shape):
                    grad = grad.sum(0)
                for d, size in enumerate(shape):
                    if size == 1:
                        grad = grad.mean(d, keepdim=True)
                return grad
            """,
            says="not the average",
            why="Each use of a number adds to the change of the result.",
        ),
        Wrong(
            """
            def summed_back(grad, shape):
                extra = grad.dim() - len(shape)
                ones = [d for d, size in enumerate(shape) if size == 1]
                return grad.sum([*range(extra), *(d + extra for d in ones)]).reshape(shape)
            """,
            says="nothing was stretched",
            why="An empty list of dimensions means all dimensions to `sum`, as in PyTorch.",
        ),
    ]

    def check(summed_back):
        chance = random.Random()
        cases = [
            ((4,), (3, 4)),
            ((3, 1), (3, 4)),
            ((1,), (2, 3, 4)),
            ((2, 1, 4), (2, 3, 4)),
            ((2, 3), (2, 3)),
            ((), (2, 3)),
            ((1, 3), (0, 3)),
        ]
        for _ in range(20):
            full = tuple(chance.randint(1, 4) for _ in range(chance.randint(1, 4)))
            kept = full[chance.randint(0, len(full)) :]
            cases.append((tuple(chance.choice([1, size]) for size in kept), full))
        for shape, full in cases:
            count = tensorlab.empty(full).numel()
            numbers = [float(chance.randint(-9, 9)) for _ in range(count)]
            grad = tensorlab.tensor(numbers).reshape(full)
            x = tensorlab.zeros(shape, requires_grad=True)
            (expected,) = tensorlab.autograd.grad(x.expand(full), x, grad.clone())
            before = grad.tolist()
            try:
                came = summed_back(grad, shape)
            except (ValueError, RuntimeError) as error:
                require(
                    shape != full, f"From {full} to {shape} nothing was stretched; got: {error}"
                )
                raise
            about = f"the gradient of shape {shape} from {full}"
            require(isinstance(came, tensorlab.Tensor), f"{about} must be a tensor.")
            stays = 1 in shape and came.dim() == len(shape) and came.shape != expected.shape
            require(not stays, f"A dimension of {shape} has size 1, and was stretched as well.")
            same_shape = came.shape == expected.shape
            ratio = grad.numel() / max(expected.numel(), 1)
            averaged = same_shape and ratio > 1 and (came * ratio).allclose(expected)
            truly_zero = same_shape and came.allclose(expected)
            require(not averaged or truly_zero, "It is the sum over all uses, not the average.")
            if shape == full:
                about = f"where nothing was stretched, from {full} to {shape}, the gradient"
            expect(came, expected, about, tolerance=1e-5)
            require(
                grad.tolist() == before, "`grad` was changed; other operands need it as it was."
            )


class Distances(Exercise):
    """All distances

    `points` has shape (n, d). Write `distances(points)`, which returns the n × n matrix of squared distances
    between all pairs of points. The stub does it with a broadcast: `points[:, None]` has shape (n, 1, d). But
    the difference has n × n × d numbers. Find a way that needs the memory of a few n × n matrices. (A Python
    loop over the points can do that too, but you don't need one.)
    """

    kind = "extend"
    idea = "What an operand costs"
    stub = """
        def distances(points):
            return ((points[:, None] - points) ** 2).sum(2)  # right, but large
    """
    hints = [
        "Multiply out: $|a - b|^2 = |a|^2 - 2 a \\cdot b + |b|^2$. Which of the three is a matrix product?",
        "`points @ points.t()` holds all products. The squares are a column for $a$ and a row for $b$.",
    ]
    solution = """
        def distances(points):
            squares = (points * points).sum(1)
            return squares[:, None] - 2 * (points @ points.t()) + squares
    """
    reason = """
        A column plus a row broadcasts to a matrix, and all the products are one matrix product. The price is
        accuracy: for points that are close together but far from the origin, large numbers cancel.
    """
    wrong = [
        Wrong(
            """
            def distances(points):
                squares = (points * points).sum(1)
                return squares - 2 * (points @ points.t()) + squares
            """,
            says="twice the same row",
            why="`squares` is a row both times. One of the two must be a column.",
        ),
        Wrong(
            """
            def distances(points):
                squares = (points * points).sum(1)
                return squares[:, None] - points @ points.t() + squares
            """,
            says="the middle term",
            why="$(a - b)^2$ has the product twice.",
        ),
    ]

    def check(distances):
        chance = random.Random()
        for n, d in [(5, 3), (2, 7), (1, 2), (chance.randint(6, 12), chance.randint(1, 5))]:
            numbers = [[chance.uniform(-3, 3) for _ in range(d)] for _ in range(n)]
            points = tensorlab.tensor(numbers, dtype=tensorlab.float64)
            expected = ((points[:, None] - points) ** 2).sum(2)
            came = distances(points)
            about = f"the squared distances of {n} points with {d} coordinates"
            require(isinstance(came, tensorlab.Tensor), f"{about}: the result must be a tensor.")
            if came.shape == expected.shape and n > 1:
                products, squares = points @ points.t(), (points * points).sum(1)
                is_row = came.allclose(2 * squares - 2 * products)
                require(not is_row, "The squares are added as twice the same row.")
                is_once = came.allclose(expected + products)
                require(not is_once, "Look at the middle term of the square.")
                is_root = came.allclose(expected.sqrt(), atol=1e-6)
                require(not is_root, "These are the distances; asked for are their squares.")
            expect(came, expected, about, tolerance=1e-9)
            require(points.tolist() == numbers, "`points` was changed; leave it as it is.")
        n, d = chance.randint(180, 220), chance.randint(90, 110)
        many = tensorlab.tensor([[chance.random() for _ in range(d)] for _ in range(n)])
        distances(many)  # what is imported at a first call counts, too
        came, used = measured_call(distances, many)
        matrix = n * n * 4
        require(
            used < 8 * matrix,
            f"It took {used:,} bytes at once for {n} points; a matrix of {n} x {n} has {matrix:,}.",
        )
        expected = tensorlab.stack([((point - many) ** 2).sum(1) for point in many])
        expect(came, expected, f"the squared distances of {n} points", tolerance=1e-3)


class CollapseTested(BugHunt):
    """A test for coalesce

    Six people rewrote `coalesce(sizes, *strides)` of `tiny_iterator.py`, and each made one mistake. Write
    `test(coalesce)`, which passes on the right one and fails on theirs. `coalesce` returns a list of (size,
    strides of all operands), the outermost dimension first.
    """

    idea = "Fewer dimensions"
    stub = """
        def test(coalesce):
            assert coalesce((4,), (1,), (1,)) == [(4, (1, 1))]
    """
    hints = [
        "What may an iterator do to its dimensions? Test each of these, and a case in which it must *not* be done.",
        "Try sizes of 1, operands that disagree, three operands, a transposed result, and sizes that differ.",
        "Two don't ask every operand; one keeps sizes of 1, one doesn't sort, one has a wrong size, one wrong strides.",
    ]
    solution = """
        def test(coalesce):
            assert coalesce((4, 6), (6, 1), (6, 1)) == [(24, (1, 1))]
            assert coalesce((4, 6), (6, 1), (0, 1)) == [(4, (6, 0)), (6, (1, 1))]
            assert coalesce((4, 6), (6, 1), (6, 1), (1, 0)) == [(4, (6, 6, 1)), (6, (1, 1, 0))]
            assert coalesce((4, 1, 6), (6, 6, 1), (6, 99, 1)) == [(24, (1, 1))]
            assert coalesce((6, 4), (1, 6), (1, 6)) == [(24, (1, 1))]
    """
    reason = """
        The first line catches a merged dimension with the strides of the outer one, and a condition that
        multiplies by the outer size: with a square matrix, 4 by 4, that one would have stayed hidden. The next two
        catch a `coalesce` that asks only the result, or only the first two operands. The last two catch a size
        of 1 that was kept, and dimensions that weren't sorted.
    """
    wrong = [
        Wrong(
            """
            def test(coalesce):
                assert coalesce((4, 4), (4, 1), (4, 1)) == [(16, (1, 1))]
                assert coalesce((4, 4), (4, 1), (0, 1)) == [(4, (4, 0)), (4, (1, 1))]
            """,
            says="4 of 6 planted bugs",
            why="A square hides a wrong size. Nothing here has a size of 1, a third operand or another order.",
        ),
        Wrong(
            """
            def test(coalesce):
                assert coalesce((4, 6), (6, 1), (0, 1)) == [(24, (1, 1))]
            """,
            says="must pass on the right",
            why="A repeated operand doesn't continue, so these two dimensions must stay apart.",
        ),
    ]

    def right(sizes, *strides):
        return coalesce(sizes, *strides)

    def asks_the_result(sizes, *strides):
        """only the result is asked whether two dimensions may merge"""
        return merged(
            sorted_dims(sizes, strides), lambda outer, size, inner: outer[0] == size * inner[0]
        )

    def asks_two(sizes, *strides):
        """only the first two operands are asked whether two dimensions may merge"""
        return merged(
            sorted_dims(sizes, strides),
            lambda outer, size, inner: continues(outer[:2], size, inner[:2]),
        )

    def keeps_outer_strides(sizes, *strides):
        """a merged dimension gets the strides of the outer one"""
        found = []
        for size, column in sorted_dims(sizes, strides):
            if found and continues(found[-1][1], size, column):
                found[-1] = found[-1][0] * size, found[-1][1]
            else:
                found.append((size, column))
        return found

    def keeps_ones(sizes, *strides):
        """dimensions of size 1 are kept"""
        dims = sorted(
            zip(sizes, zip(*strides, strict=True), strict=True), key=lambda dim: -dim[1][0]
        )
        return merged(dims, continues)

    def never_sorts(sizes, *strides):
        """the dimensions stay in their order"""
        return merged(
            [dim for dim in zip(sizes, zip(*strides, strict=True), strict=True) if dim[0] != 1],
            continues,
        )

    def wrong_size(sizes, *strides):
        """the outer size is multiplied in, not the inner one"""
        found = []
        for size, column in sorted_dims(sizes, strides):
            if found and all(
                far == found[-1][0] * near for far, near in zip(found[-1][1], column, strict=True)
            ):
                found[-1] = found[-1][0] * size, column
            else:
                found.append((size, column))
        return found

    bugs = [
        asks_the_result,
        asks_two,
        keeps_outer_strides,
        keeps_ones,
        never_sorts,
        wrong_size,
    ]


def sorted_dims(sizes, strides):
    dims = [dim for dim in zip(sizes, zip(*strides, strict=True), strict=True) if dim[0] != 1]
    return sorted(dims, key=lambda dim: -dim[1][0])


def continues(outer, size, inner):
    return all(far == size * near for far, near in zip(outer, inner, strict=True))


def merged(dims, may_merge):
    found = []
    for size, column in dims:
        if found and may_merge(found[-1][1], size, column):
            found[-1] = found[-1][0] * size, column
        else:
            found.append((size, column))
    return found
