"""Exercises of chapter 8, broadcasting kernels."""

from math import prod

from tiny_iterator import coalesce

import tensorlab
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab
from tiny_iterator import broadcast, coalesce, iterate, strides_of
"""
FILES = ["tiny_iterator.py"]

PAIRS = [((7, 1), (1, 5)), ((3,), (4, 1)), ((2, 3), (2,)), ((6, 1, 4), (5, 1)), ((0,), (1,))]


class FiveShapes(Exercise):
    """Five shapes

    Which shape has the sum of tensors of these shapes? Write a tuple, or "error".

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
        "A size of 1 is stretched to the other size, whatever that is: also to 0.",
    ]
    solution = """
        shapes = [(7, 5), (4, 3), "error", (6, 5, 4), (0,)]
    """
    reason = """
        In the third, 3 meets 2. That the first sizes are equal does not help. In the last, 1 is
        stretched to 0: nothing is added to nothing.
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
        truth = []
        for one, two in PAIRS:
            try:
                truth.append(tuple((tensorlab.zeros(one) + tensorlab.zeros(two)).shape))
            except RuntimeError:
                truth.append("error")
        require(shapes[2] != (2, 3), "The third: shapes are aligned at the right.")
        require(shapes[4] != (1,), "The last: it is not the largest size that counts.")
        expect(list(shapes), truth, "the five shapes")


class SummedBack(Exercise):
    """Summed back

    In `y = x + row` every number of `row` is used once for each row of `x`. A change of it changes
    all of these, so its gradient is the sum of theirs. Write `summed_back(grad, shape)`: `grad` has the
    shape of a broadcast result, `shape` is that of one operand. Return the operand's gradient, of
    that shape.
    """

    kind = "implement"
    idea = "Stretching is a stride of zero"
    stub = """
        def summed_back(grad, shape):
            return grad.sum(0)  # not yet: right for a row and a matrix
    """
    hints = [
        "Two kinds of dimensions were stretched: those that the operand does not have, and those where its size is 1.",
        "The first kind stands at the left: sum over dimension 0 until there are no more dimensions than in `shape`.",
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
        What is stretched by a stride of 0 on the way forward is added up on the way back. The library
        has this as `sum_to_size`, and its engine calls it for every operand; an op's derivative
        need not think of it.
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
            why="A column has as many dimensions as the result. It was stretched nevertheless.",
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
            why="Each use of a number adds to the result's change.",
        ),
    ]

    def check(summed_back):
        for shape, other in [
            ((4,), (3, 4)),
            ((3, 1), (3, 4)),
            ((1,), (2, 3, 4)),
            ((2, 1, 4), (3, 1)),
        ]:
            x = tensorlab.ones(shape, requires_grad=True)
            y = x * tensorlab.arange(1.0, 1 + prod(other)).reshape(other)
            grad = tensorlab.arange(1.0, 1 + y.numel()).reshape(y.shape)
            (expected,) = tensorlab.autograd.grad(x + y.detach(), x, grad)
            came = summed_back(grad, shape)
            stays = came.dim() == len(shape) and came.shape != expected.shape
            require(not stays, f"A dimension of {shape} has size 1, and was stretched as well.")
            ratio = grad.numel() / expected.numel()
            averaged = came.shape == expected.shape and (came * ratio).allclose(expected)
            require(not averaged or ratio == 1, "It is the sum over all uses, not the average.")
            expect(came, expected, f"the gradient of shape {shape} from {tuple(grad.shape)}")


class Distances(Exercise):
    """All distances

    `points` has shape (n, d). Write `distances(points)`, the n × n matrix of squared distances, by
    broadcasting and without a loop. The stub does it: `points[:, None]` has shape (n, 1, d). But the
    difference has n × n × d numbers. Find a way that needs no more than a few matrices of n × n.
    """

    kind = "extend"
    idea = "What an operand costs"
    stub = """
        def distances(points):
            return ((points[:, None] - points) ** 2).sum(2)  # right, but large
    """
    hints = [
        "Multiply out: $|a - b|^2 = |a|^2 - 2 a \\cdot b + |b|^2$. Which of the three is a matrix product?",
        "`points @ points.t()` has all products. The squares are a column for $a$ and a row for $b$.",
    ]
    solution = """
        def distances(points):
            squares = (points * points).sum(1)
            return squares[:, None] - 2 * (points @ points.t()) + squares
    """
    reason = """
        A column plus a row is a matrix, by broadcasting, and the products are one matrix product.
        The price is accuracy: for points that are close together but far from the origin, large
        numbers cancel.
    """
    wrong = [
        Wrong(
            """
            def distances(points):
                squares = (points * points).sum(1)
                return squares - 2 * (points @ points.t()) + squares
            """,
            says="twice the same row",
            why="`squares` twice is a row twice. One of the two must be a column.",
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
        tensorlab.manual_seed(0)
        points = tensorlab.rand(5, 3, dtype=tensorlab.float64)
        expected = ((points[:, None] - points) ** 2).sum(2)
        came = distances(points)
        products, squares = points @ points.t(), (points * points).sum(1)
        is_row = came.shape == expected.shape and came.allclose(2 * squares - 2 * products)
        require(not is_row, "The squares are added as twice the same row.")
        is_once = came.shape == expected.shape and came.allclose(expected + products)
        require(not is_once, "Look at the middle term of the square.")
        expect(came, expected, "the squared distances of 5 points", tolerance=1e-9)
        many = tensorlab.rand(200, 100)
        tensorlab.reset_peak_memory_stats()
        before = tensorlab.memory_stats()["peak_bytes"]
        distances(many)
        used = tensorlab.memory_stats()["peak_bytes"] - before
        require(
            used < 8 * 200 * 200 * 4,
            f"It took {used:,} bytes at once for 200 points; a matrix of 200 x 200 has 160,000.",
        )


class CollapseTested(BugHunt):
    """A test for coalesce

    Four people wrote `coalesce(sizes, *strides)` of `tiny_iterator.py` anew, each with a bug. Write
    `test(coalesce)`, which passes on the right one and fails on theirs. It returns a list of (size,
    strides of all operands), the outermost dimension first.
    """

    idea = "Fewer dimensions"
    stub = """
        def test(coalesce):
            assert coalesce((4, 4), (4, 1), (4, 1)) == [(16, (1, 1))]
    """
    hints = [
        "What may an iterator do to its dimensions? Try each, and a case where it must *not* be done.",
        "Sizes of 1; operands that disagree; a result that lies in another order; sizes that differ.",
        "One asks only the result, one keeps sizes of 1, one does not sort, one takes a wrong size.",
    ]
    solution = """
        def test(coalesce):
            assert coalesce((4, 6), (6, 1), (6, 1)) == [(24, (1, 1))]
            assert coalesce((4, 6), (6, 1), (0, 1)) == [(4, (6, 0)), (6, (1, 1))]
            assert coalesce((4, 1, 6), (6, 6, 1), (6, 99, 1)) == [(24, (1, 1))]
            assert coalesce((6, 4), (1, 6), (1, 6)) == [(24, (1, 1))]
    """
    reason = """
        The second line catches who asks only the result, the third who keeps a size of 1, the
        fourth who does not sort. Who multiplies by the outer size instead of the inner one fails as
        soon as the two differ. With a square matrix, 4 by 4, it would have stayed hidden.
    """
    wrong = [
        Wrong(
            """
            def test(coalesce):
                assert coalesce((4, 4), (4, 1), (4, 1)) == [(16, (1, 1))]
                assert coalesce((4, 4), (4, 1), (0, 1)) == [(4, (4, 0)), (4, (1, 1))]
            """,
            says="3 of 4 planted bugs",
            why="It finds who asks only the result. A square hides who mistakes the sizes.",
        ),
        Wrong(
            """
            def test(coalesce):
                assert coalesce((4, 6), (6, 1), (0, 1)) == [(24, (1, 1))]
            """,
            says="must pass on the right",
            why="A repeated operand does not continue: these two dimensions must stay apart.",
        ),
    ]

    def right(sizes, *strides):
        return coalesce(sizes, *strides)

    def asks_the_result(sizes, *strides):
        """only the result is asked whether two dimensions may merge"""
        return merged(
            sorted_dims(sizes, strides), lambda outer, size, inner: outer[0] == size * inner[0]
        )

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

    bugs = [asks_the_result, keeps_ones, never_sorts, wrong_size]


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
