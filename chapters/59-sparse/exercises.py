"""Exercises of chapter 59, sparse tensors."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, measured_call, require

IMPORTS = """
import tensorlab as torch
"""

WHAT_IS_HELD = {
    "x._nnz()": 4,
    "x.coalesce()._nnz()": 3,
    "x.to_dense().to_sparse()._nnz()": 2,
    "x.to_sparse_csr().crow_indices()": [0, 1, 2, 3, 3],
    "(x @ torch.ones(3, 1)).flatten()": [1, 2, 0, 0],
}


class WhatIsHeld(Exercise):
    """What is held?

    A matrix of shape (4, 3) has these triples (row, column, value), in this order: (2, 1, 5), (0, 1, 1), (2, 1, -5) and
    (1, 0, 2). `x` is the `sparse_coo_tensor` of them. Write what each expression gives: a number, or a list of numbers.
    Answer before you run anything.
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        held = {
            "x._nnz()": None,
            "x.coalesce()._nnz()": None,
            "x.to_dense().to_sparse()._nnz()": None,
            "x.to_sparse_csr().crow_indices()": None,
            "(x @ torch.ones(3, 1)).flatten()": None,
        }
    """
    hints = [
        "Making the tensor adds nothing up. Coalescing adds, and doesn't look for zeros. `to_sparse` of a dense tensor "
        "does.",
        "The starts have a number for each of the four rows, also for an empty one, and the number of elements at the "
        "end.",
    ]
    solution = """
        held = {
            "x._nnz()": 4,
            "x.coalesce()._nnz()": 3,
            "x.to_dense().to_sparse()._nnz()": 2,
            "x.to_sparse_csr().crow_indices()": [0, 1, 2, 3, 3],
            "(x @ torch.ones(3, 1)).flatten()": [1, 2, 0, 0],
        }
    """
    reason = """
        "Nonzero" in nnz is a manner of speaking: it's the number of elements that are held, and a held element may be
        0. The empty row begins where the row after it would begin.
    """
    wrong = [
        Wrong(
            """
            held = {"x._nnz()": 4, "x.coalesce()._nnz()": 2, "x.to_dense().to_sparse()._nnz()": 2,
                    "x.to_sparse_csr().crow_indices()": [0, 1, 2, 3, 3],
                    "(x @ torch.ones(3, 1)).flatten()": [1, 2, 0, 0]}
            """,
            says="drops a value that adds up to zero",
            why="Coalescing adds. An element that comes out as 0 stays held.",
        ),
        Wrong(
            """
            held = {"x._nnz()": 3, "x.coalesce()._nnz()": 3, "x.to_dense().to_sparse()._nnz()": 2,
                    "x.to_sparse_csr().crow_indices()": [0, 1, 2, 3, 3],
                    "(x @ torch.ones(3, 1)).flatten()": [1, 2, 0, 0]}
            """,
            says="Making a tensor from triples",
            why="The triples stay as they are until something asks for their sum.",
        ),
        Wrong(
            """
            held = {"x._nnz()": 4, "x.coalesce()._nnz()": 3, "x.to_dense().to_sparse()._nnz()": 2,
                    "x.to_sparse_csr().crow_indices()": [0, 1, 2, 3],
                    "(x @ torch.ones(3, 1)).flatten()": [1, 2, 0, 0]}
            """,
            says="one more than there are rows",
            why="An empty row has a start as well, and so has the end.",
        ),
    ]

    def check(held):
        truth = WHAT_IS_HELD
        require(
            isinstance(held, dict) and held.keys() == truth.keys(),
            f"`held` must be a dict with the keys {', '.join(truth)}.",
        )
        held = {name: numbers(value) for name, value in held.items()}
        require(
            held["x._nnz()"] in (None, 4),
            "Look at x._nnz(). Making a tensor from triples adds nothing up and drops nothing.",
        )
        require(
            held["x.coalesce()._nnz()"] != 2,
            "Look at x.coalesce(): do you think that it drops a value that adds up to zero?",
        )
        starts = held["x.to_sparse_csr().crow_indices()"]
        require(
            starts is None or (isinstance(starts, list) and len(starts) == 5),
            "Look at crow_indices(): there is one more than there are rows, empty rows included.",
        )
        for name, value in truth.items():
            require(held[name] == value, f"Look again at {name}.")


def numbers(value):
    """A number, or a list of numbers, of whatever an answer is."""
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    return list(value) if isinstance(value, (list, tuple)) else value


class Compress(Exercise):
    """From triples to compressed rows

    Write `compress(rows, columns, values, shape)`. It gets the triples of a matrix, in any order, where a position may
    come several times: two tensors of int64 and one of float32. It returns `(starts, columns, values)` of the matrix in
    CSR, with each position once and the columns of each row rising. Rows may be empty. The library does this in three
    calls; do it with dense tensors.
    """

    kind = "implement"
    idea = "Triples"
    stub = """
        def compress(rows, columns, values, shape):
            return rows, columns, values
    """
    hints = [
        "Turn each position into one number, `rows * shape[1] + columns`. `torch.unique(flat, return_inverse=True)` "
        "gives these numbers in order, each once, and for each triple which of them it is.",
        "`index_add_` adds the values of a position up. The rows and columns come back by `//` and `%`.",
        "`torch.bincount(rows, minlength=shape[0])` counts the elements of every row, also of empty ones. The starts "
        "are its cumulative sum, with a 0 in front.",
    ]
    solution = """
        def compress(rows, columns, values, shape):
            flat, place = torch.unique(rows * shape[1] + columns, return_inverse=True)
            sums = torch.zeros(len(flat)).index_add_(0, place, values)
            counts = torch.bincount(flat // shape[1], minlength=shape[0])
            starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
            return starts, flat % shape[1], sums
    """
    reason = """
        A sort (`unique` sorts), a segmented sum and a count: that's `coalesce` followed by `to_sparse_csr`. A position
        whose values add up to 0 stays held.
    """
    wrong = [
        Wrong(
            """
            def compress(rows, columns, values, shape):
                order = (rows * shape[1] + columns).argsort(stable=True)
                counts = torch.bincount(rows, minlength=shape[0])
                starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
                return starts, columns[order], values[order]
            """,
            says="All triples are there",
            why="Sorting brings equal positions together. Their values must still be added up.",
        ),
        Wrong(
            """
            def compress(rows, columns, values, shape):
                flat, place = torch.unique(rows * shape[1] + columns, return_inverse=True)
                sums = torch.zeros(len(flat)).index_add_(0, place, values)
                _, counts = torch.unique(flat // shape[1], return_counts=True)
                starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
                return starts, flat % shape[1], sums
            """,
            says="every row, empty ones included",
            why="`unique` counts only rows that it has seen, and so an empty row gets no start.",
        ),
        Wrong(
            """
            def compress(rows, columns, values, shape):
                flat, place = torch.unique(rows * shape[1] + columns, return_inverse=True)
                sums = torch.zeros(len(flat))
                sums[place] = values
                counts = torch.bincount(flat // shape[1], minlength=shape[0])
                starts = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
                return starts, flat % shape[1], sums
            """,
            says="one of the values",
            why="An assignment by indices keeps one value of each position. Use `index_add_`.",
        ),
    ]

    def check(compress):
        for case in range(6):
            shape = random.randrange(3, 7), random.randrange(2, 6)
            rows, columns, values = drawn(shape, 0 if case == 5 else random.randrange(6, 14))
            wanted = csr_of(rows, columns, values, shape)
            came = compress(rows.clone(), columns.clone(), values.clone(), shape)
            require(
                isinstance(came, (tuple, list)) and len(came) == 3,
                "compress must return three tensors: starts, columns, values.",
            )
            starts, came_columns, came_values = came
            require(
                len(starts) == shape[0] + 1,
                f"The starts have {len(starts)} elements. They need one for every row, empty ones included, and one "
                f"for the end: {shape[0] + 1}.",
            )
            require(
                len(came_values) != len(values) or len(values) == len(wanted[2]),
                "All triples are there still. A position that comes several times must be held once.",
            )
            expect(starts, wanted[0], "starts")
            expect(came_columns, wanted[1], "columns")
            kept = set(zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True))
            right = same_values(came_values, wanted[2])
            places = list(zip(row_of(wanted[0]), wanted[1].tolist(), strict=True))
            require(
                right
                or len(came_values) != len(places)
                or not all(
                    (*place, value) in kept
                    for place, value in zip(places, came_values.tolist(), strict=True)
                ),
                "Where a position comes several times, you have one of the values instead of their sum.",
            )
            expect(came_values, wanted[2], "values", tolerance=1e-5)


def drawn(shape, n):
    """Triples of a matrix whose row 1 is empty: n at random, one of them three times, and some that add up to 0."""
    rows = torch.randint(0, shape[0] - 1, (n,))
    rows += rows >= 1
    columns, values = torch.randint(0, shape[1], (n,)), torch.randint(1, 9, (n,)).float()
    if n == 0:
        return rows, columns, values
    rows = torch.cat([rows, rows[:1], rows[:1], torch.tensor([2, 2])])
    columns = torch.cat([columns, columns[:1], columns[:1], torch.tensor([0, 0])])
    values = torch.cat([values, torch.tensor([1.0, 2.0, 3.0])])
    total = values[(rows[:-1] == 2) & (columns[:-1] == 0)].sum()
    return rows, columns, torch.cat([values, -total[None]])


def csr_of(rows, columns, values, shape):
    """(starts, columns, values), by a loop over the triples."""
    held = {}
    for i, j, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
        held[i, j] = held.get((i, j), 0.0) + value
    places = sorted(held)
    starts = [sum(i < row for i, _ in places) for row in range(shape[0] + 1)]
    return (
        torch.tensor(starts, dtype=torch.int64),
        torch.tensor([j for _, j in places], dtype=torch.int64),
        torch.tensor([held[place] for place in places], dtype=torch.float32),
    )


def row_of(starts):
    counts = (starts[1:] - starts[:-1]).tolist()
    return [row for row, count in enumerate(counts) for _ in range(count)]


def same_values(came, wanted):
    return came.shape == wanted.shape and bool(came.allclose(wanted))


class GradientsOfAProduct(Exercise):
    """Both gradients of a product

    `A` has triples `rows`, `columns`, `values`, each position once, and `y = A @ x` for a dense `x`. Write
    `gradients(rows, columns, values, x, grad)`, where `grad` is the gradient by `y`. It returns the gradients by
    `values` and by `x`. Never make a dense matrix of the shape of `A`, which may have a million rows and columns.
    """

    kind = "extend"
    idea = "The gradient"
    stub = """
        def gradients(rows, columns, values, x, grad):
            return torch.zeros_like(values), torch.zeros_like(x)
    """
    hints = [
        "A value with row `r` and column `c` adds `value * x[c]` to `y[r]`. Which row of `grad` does it meet?",
        "`x[columns]` and `grad[rows]` have a row for each triple. The gradient by the values is the sum of products "
        "along these rows.",
        "The gradient by `x` is the transposed matrix times `grad`: each triple adds `value * grad[r]` to row `c`. "
        "That's an `index_add_`.",
    ]
    solution = """
        def gradients(rows, columns, values, x, grad):
            of_values = (grad[rows] * x[columns]).sum(1)
            of_x = torch.zeros_like(x).index_add_(0, columns, values[:, None] * grad[rows])
            return of_values, of_x
    """
    reason = """
        Reading rows by an index is the transpose of adding to rows by that index. So backward has the same two steps as
        forward, in the other order.
    """
    wrong = [
        Wrong(
            """
            def gradients(rows, columns, values, x, grad):
                whole = grad @ x.t()
                of_x = torch.zeros_like(x).index_add_(0, columns, values[:, None] * grad[rows])
                return whole[rows, columns], of_x
            """,
            says="dense matrix",
            why="`grad @ x.t()` has an element for each row of `grad` and each row of `x`, a million times a million.",
        ),
        Wrong(
            """
            def gradients(rows, columns, values, x, grad):
                of_values = (grad[rows] * x[columns]).sum(1)
                of_x = torch.zeros_like(x)
                of_x[columns] = values[:, None] * grad[rows]
                return of_values, of_x
            """,
            says="several triples of a column",
            why="Several triples of one column add to the same row. An assignment keeps one of them.",
        ),
        Wrong(
            """
            def gradients(rows, columns, values, x, grad):
                of_values = (grad[rows] * x[columns]).sum(1)
                of_x = torch.zeros_like(x).index_add_(0, columns, grad[rows])
                return of_values, of_x
            """,
            says="by x doesn't depend on the values",
            why="The gradient by `x` is the transposed matrix times `grad`, and that matrix has the values.",
        ),
    ]

    def check(gradients):
        for _ in range(4):
            n, m = random.sample(range(3, 8), 2)
            width = random.randrange(1, 5)
            where = torch.rand(n, m) < 0.6
            where[:2, 0] = True
            rows, columns = where.nonzero().t()
            order = torch.randperm(len(rows))
            rows, columns = rows[order], columns[order]
            values = torch.randn(len(rows))
            x, grad = torch.randn(m, width), torch.randn(n, width)
            check_gradients(gradients, rows, columns, values, x, grad)
        n = 5000
        rows, columns = torch.randint(0, n, (2, 20))
        rows, columns = torch.unique(torch.stack([rows, columns]), dim=1)
        values, x, grad = torch.randn(len(rows)), torch.randn(n, 2), torch.randn(n, 2)
        _, used = measured_call(gradients, rows, columns, values, x, grad)
        require(
            used < 50_000_000,
            f"With {len(rows)} triples of a matrix with {n:,} rows and columns, that took {used / 1e6:.0f} MB at its "
            f"peak. Somewhere you make a dense matrix of that shape.",
        )


def check_gradients(gradients, rows, columns, values, x, grad):
    came = gradients(rows.clone(), columns.clone(), values.clone(), x.clone(), grad.clone())
    require(
        isinstance(came, (tuple, list)) and len(came) == 2,
        "gradients must return two tensors: by the values, and by x.",
    )
    dense = torch.zeros(len(grad), len(x))
    dense[rows, columns] = values
    of_values, of_x = (grad @ x.t())[rows, columns], dense.t() @ grad
    expect(came[0], of_values, "the gradient by the values", tolerance=1e-4)
    pattern = (dense != 0).float()
    require(
        not close(came[1], pattern.t() @ grad) or close(of_x, pattern.t() @ grad),
        "Your gradient by x doesn't depend on the values.",
    )
    last = torch.zeros_like(x)
    for row, column, value in zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True):
        last[column] = value * grad[row]
    require(
        not close(came[1], last) or close(of_x, last),
        "Where several triples of a column add to one row of the gradient by x, you keep one of them.",
    )
    expect(came[1], of_x, "the gradient by x", tolerance=1e-4)


def close(came, wanted):
    return (
        isinstance(came, torch.Tensor)
        and came.shape == wanted.shape
        and bool(came.allclose(wanted, atol=1e-5))
    )


class HuntInTheGraph(BugHunt):
    """A test for a graph's matrix

    `normalized(ends, n)` makes the matrix of a graph convolution, as in the experiment. `ends` has both ends of each
    edge, in both directions, as int64 of shape (2, m). An edge may come more than once, and counts once. No edge joins
    a node to itself, and a node may have no edges at all. The result is a coalesced `sparse_coo_tensor` of shape
    (n, n). Five people wrote it, and each made one mistake. Write `test(normalized)`: it passes on the right version
    and fails on each of theirs.
    """

    idea = "A club that splits"
    stub = """
        def test(normalized):
            ends = torch.tensor([[0, 1], [1, 0]])
            graph = normalized(ends, 2)
            assert graph.is_sparse
            assert graph.shape == (2, 2)
    """
    hints = [
        "The stub looks at no element. And in its graph both nodes have the same degree: which mistakes would that "
        "hide?",
        "Write the formula with a dense matrix of zeros and ones, and compare on a graph that has everything that the "
        "text allows.",
        "Two people are right about all elements of a graph in which each edge comes once and each node has an edge.",
    ]
    solution = """
        def test(normalized):
            pairs = torch.tensor([[0, 0, 0, 1, 0], [1, 2, 3, 2, 1]])
            ends = torch.cat([pairs, pairs.flip(0)], 1)
            for n in (4, 6):
                dense = torch.eye(n)
                dense[ends[0], ends[1]] = 1.0
                root = dense.sum(1).rsqrt()
                graph = normalized(ends, n)
                assert graph.is_coalesced()
                assert graph.shape == (n, n)
                assert torch.allclose(graph.to_dense(), root[:, None] * dense * root)
    """
    reason = """
        A repeated edge, a node without edges, and different degrees: with these three in the input, a comparison with
        the dense formula finds every mistake. `is_coalesced` finds what the elements can't show.
    """
    wrong = [
        Wrong(
            """
            def test(normalized):
                ends = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
                dense = torch.eye(3)
                dense[ends[0], ends[1]] = 1.0
                root = dense.sum(1).rsqrt()
                assert torch.allclose(normalized(ends, 3).to_dense(), root[:, None] * dense * root)
            """,
            says="(number 3, 4, 5)",
            why="Each edge comes once and each node has one, so nothing is repeated and nothing is missing.",
        ),
        Wrong(
            """
            def test(normalized):
                ends = torch.tensor([[0, 1, 0, 1], [1, 0, 1, 0]])
                graph = normalized(ends, 3)
                assert graph.is_coalesced() and graph._nnz() == 5
            """,
            says="(number 2, 3)",
            why="How many elements are held says nothing about their values.",
        ),
    ]

    def right(ends, n):
        return from_places(with_itself(ends, n), n)

    def forgets_itself(ends, n):
        """it doesn't join nodes to themselves"""
        return from_places(torch.unique(ends, dim=1), n)

    def divides_by_rows(ends, n):
        """it divides by the degree of the row, instead of the roots of both degrees"""
        places = with_itself(ends, n)
        degrees = torch.bincount(places[0], minlength=n).float()
        return torch.sparse_coo_tensor(places, 1 / degrees[places[0]], (n, n)).coalesce()

    def counts_twice(ends, n):
        """it counts the degrees before it drops repeated edges"""
        places = with_itself(ends, n)
        degrees = torch.bincount(ends[0], minlength=n) + 1.0
        values = (degrees[places[0]] * degrees[places[1]]).rsqrt()
        return torch.sparse_coo_tensor(places, values, (n, n)).coalesce()

    def joins_nodes_with_edges(ends, n):
        """it joins only those nodes to themselves that have an edge"""
        itself = torch.unique(ends[0]).expand(2, -1)
        return from_places(torch.unique(torch.cat([ends, itself], 1), dim=1), n)

    def leaves_it_uncoalesced(ends, n):
        """its result isn't coalesced"""
        made = from_places(with_itself(ends, n), n)
        return torch.sparse_coo_tensor(made.indices(), made.values(), (n, n))

    bugs = [
        forgets_itself,
        divides_by_rows,
        counts_twice,
        joins_nodes_with_edges,
        leaves_it_uncoalesced,
    ]


def with_itself(ends, n):
    """Each edge once, and each node with itself."""
    return torch.unique(torch.cat([ends, torch.arange(n).expand(2, n)], 1), dim=1)


def from_places(places, n):
    """The matrix whose elements are at these places."""
    degrees = torch.bincount(places[0], minlength=n).float()
    values = (degrees[places[0]] * degrees[places[1]]).rsqrt()
    return torch.sparse_coo_tensor(places, values, (n, n)).coalesce()
