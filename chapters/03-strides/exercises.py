"""Exercises of chapter 3, strides."""

import random
from itertools import product

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = "import tensorlab as torch"


BIG = torch.arange(70).reshape(7, 10)


class LayoutByHand(Exercise):
    """A layout by hand

    `x` has sizes (4, 6), strides (6, 1) and offset 0. What are the sizes, strides and offset of
    `x[1::2, 2:].t()`? Work them out on paper, one step at a time, and replace each `None`.
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        sizes = None  # such as (4, 6)
        strides = None  # such as (6, 1)
        offset = None  # such as 0
    """
    hints = [
        "Three views, one after the other: `x[1::2]`, then `[:, 2:]`, then `.t()`. Write down sizes, "
        "strides and offset after each; every one is a row of the table.",
        "A slice `a:b:k` moves the start by `a` steps of the stride that is there *before* it, and "
        "multiplies that stride by `k`.",
        "`x[1::2]` has sizes (2, 6), strides (12, 1) and offset 6. Go on from there.",
    ]
    solution = """
        sizes = (4, 2)
        strides = (1, 12)
        offset = 8
    """
    reason = """
        `x[1::2]` takes rows 1 and 3: sizes (2, 6), strides (12, 1), offset 6. Then `[:, 2:]` starts two
        columns later: sizes (2, 4), offset 8. The transpose exchanges sizes and strides, and leaves the
        offset alone.
    """
    wrong = [
        Wrong(
            "sizes = (4, 2)\nstrides = (1, 12)\noffset = 14",
            says="the old stride",
            why="The start of a slice counts in steps of the *old* stride, 6. Who multiplies first "
            "moves the start by 12.",
        ),
        Wrong(
            "sizes = (2, 4)\nstrides = (12, 1)\noffset = 8",
            says="before the transpose",
            why="This is the layout before `.t()`.",
        ),
        Wrong(
            "sizes = (4, 2)\nstrides = (2, 1)\noffset = 0",
            says="a copy",
            why="These are the strides of a *copy* with these sizes. A view keeps its distances in the "
            "memory that is there.",
        ),
    ]

    def check(sizes, strides, offset):
        view = torch.zeros(4, 6)[1::2, 2:].t()
        require((sizes, strides) != ((2, 4), (12, 1)), "This is the layout before the transpose.")
        expect(sizes, (4, 2), "the sizes")
        require(strides != (2, 1), "These are the strides of a copy. A view steps over the gaps.")
        expect(strides, view.stride(), "the strides")
        require(
            offset != 14, "The start of a slice counts in steps of the old stride, not the new."
        )
        expect(offset, view.storage_offset(), "the offset")


class Patches(Exercise):
    r"""All windows of a matrix, none copied

    Write `patches(x, k)`, which gives all $k \times k$ windows of a matrix as a view with sizes
    $(n_0 - k + 1, n_1 - k + 1, k, k)$: element $(i, j, a, b)$ is $x_{i+a,\,j+b}$. It must work for
    any layout of `x`. This is the heart of convolution by matrix product (chapter {chapter}`12`).
    """

    kind = "implement"
    idea = "Any layout you like"
    stub = """
        def patches(x, k):
            return x  # not yet
    """
    hints = [
        "Write the place of element $(i, j, a, b)$ as an equation, with the strides $s_0$, $s_1$ and the "
        "offset $o$ of `x`. Then sort it by index: what is each index multiplied by?",
        "The place is $o + (i + a) s_0 + (j + b) s_1$. So $i$ and $a$ have the same stride.",
        "`x.as_strided(sizes, strides, offset)` takes four strides as it takes two. Ask `x` for its "
        "own: `x.stride()`, `x.storage_offset()`.",
    ]
    solution = """
        def patches(x, k):
            (n0, n1), (s0, s1) = x.shape, x.stride()
            sizes = (n0 - k + 1, n1 - k + 1, k, k)
            return x.as_strided(sizes, (s0, s1, s0, s1), x.storage_offset())
    """
    reason = """
        Patch $(i, j)$, element $(a, b)$, is element $(i + a, j + b)$ of `x`, at
        $o + (i + a) s_0 + (j + b) s_1$: each stride serves twice. `x.unfold(0, k, 1).unfold(1, k, 1)`
        gives the same layout.
    """
    wrong = [
        Wrong(
            """
            def patches(x, k):
                n0, n1 = x.shape
                return x.as_strided((n0 - k + 1, n1 - k + 1, k, k), (n1, 1, n1, 1))
            """,
            says="in row-major order",
            why="Strides `(n1, 1, n1, 1)` are right while `x` is contiguous and wrong for its transpose.",
        ),
        Wrong(
            """
            def patches(x, k):
                (n0, n1), (s0, s1) = x.shape, x.stride()
                return x.as_strided((n0 - k + 1, n1 - k + 1, k, k), (s0, s1, s0, s1), 0)
            """,
            says="storage_offset",
            why="A part of a matrix does not begin where its storage begins.",
        ),
        Wrong(
            """
            def patches(x, k):
                n0, n1 = x.shape
                rows = [
                    torch.stack([x[i : i + k, j : j + k] for j in range(n1 - k + 1)])
                    for i in range(n0 - k + 1)
                ]
                return torch.stack(rows)
            """,
            says="a copy",
            why="The values are right, and there are nine times as many of them in memory.",
        ),
        Wrong(
            "def patches(x, k):\n    return x.unfold(0, k, 1)",
            says="windows over the rows only",
            why="Unfolding one dimension gives windows that are as wide as the matrix.",
        ),
    ]

    def check(patches):
        other = torch.rand(random.randint(4, 6), random.randint(5, 7))
        for x, k in (
            *((BIG, 3), (BIG.t(), 3), (BIG[1:, 2:], 3), (BIG, 2)),
            *((other, 1), (other.t(), random.randint(2, 4)), (other[1:, ::2], 2)),
        ):
            p, (n0, n1) = patches(x, k), x.shape
            require(isinstance(p, torch.Tensor), f"patches returned {type(p).__name__}, no tensor.")
            require(
                p.ndim != 3, "These are windows over the rows only; the columns want theirs too."
            )
            expect(tuple(p.shape), (n0 - k + 1, n1 - k + 1, k, k), f"the sizes for k = {k}")
            shared = p.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
            require(shared, "The values lie in new memory: this is a copy, not a view.")
            for i, j in product(range(n0 - k + 1), range(n1 - k + 1)):
                came, wanted = p[i, j].tolist(), x[i : i + k, j : j + k].tolist()
                about = f"patch ({i}, {j}) for k = {k}"
                if came != wanted and x.storage_offset():
                    about += ": is the view's start the storage's? See storage_offset()"
                elif came != wanted and not x.is_contiguous():
                    about += ": here x does not lie in row-major order"
                expect(came, wanted, about)


class Places(Exercise):
    """The library evaluates the equation for you

    Write `places(x)`, which gives the place of every element of `x` in its storage, as a tensor of
    the same shape. You don't need a loop, and you don't have to multiply any index: the library can
    do it. With `places`, the function `reads_twice` below says whether two indices share a place.
    That's the overlap test that is too expensive for every write, and cheap enough for a small tensor.
    """

    kind = "extend"
    idea = "Any layout you like"
    stub = """
        def places(x):
            return torch.zeros(x.shape)  # not yet


        def reads_twice(x):
            return len(set(places(x).reshape(-1).tolist())) < x.numel()
    """
    hints = [
        "Which storage would you have to look at for every element to *be* its place?",
        "One whose values are 0, 1, 2, …, looked at with the layout of `x`.",
        "How long must it be? The last place is that of the last index: $o + \\sum_k (n_k - 1) s_k$.",
    ]
    solution = """
        def places(x):
            last = sum((n - 1) * s for n, s in zip(x.shape, x.stride()))
            memory = torch.arange(x.storage_offset() + last + 1)
            return memory.as_strided(x.shape, x.stride(), x.storage_offset())


        def reads_twice(x):
            return len(set(places(x).reshape(-1).tolist())) < x.numel()
    """
    reason = """
        Lay the layout of `x` over a storage whose values are 0, 1, 2, …: each element then *is* its
        place, and the library evaluates the equation.
    """
    wrong = [
        Wrong(
            """
            def places(x):
                memory = torch.arange(x.numel())
                return memory.as_strided(x.shape, x.stride(), x.storage_offset())


            def reads_twice(x):
                return len(set(places(x).reshape(-1).tolist())) < x.numel()
            """,
            says="as_strided",
            why="`arange(x.numel())` is too short a storage as soon as `x` has gaps or an offset.",
        ),
        Wrong(
            """
            def places(x):
                return torch.arange(x.numel()).reshape(x.shape)


            def reads_twice(x):
                return len(set(places(x).reshape(-1).tolist())) < x.numel()
            """,
            says="in which order",
            why="Counting the elements says in which order they are read, not where they lie.",
        ),
    ]

    def check(places, reads_twice):
        n0, n1 = random.randint(4, 6), random.randint(5, 8)
        x = torch.rand(n0, n1)
        truth = torch.arange(n0 * n1).reshape(n0, n1)  # its values are its places
        first, step = random.randint(1, 2), random.randint(2, 3)
        views = [
            lambda x: x,
            lambda x: x[1:, ::2].t(),
            lambda x: x[:1].expand(3, n1),
            lambda x: x.unfold(1, 2, 2),
            lambda x: x[first:, first::step].t(),
            lambda x: x[first:].diagonal(),
        ]
        for look in views:
            view, expected = look(x), look(truth)
            came = places(view)
            require(
                isinstance(came, torch.Tensor) and came.shape == view.shape,
                f"Return a tensor of the shape of x, {tuple(view.shape)}.",
            )
            counted = list(range(view.numel()))
            is_count = came.reshape(-1).tolist() == counted != expected.reshape(-1).tolist()
            require(
                not is_count, "This says in which order the elements are read, not where they lie."
            )
            values = came.tolist() == view.tolist()
            require(
                not values, "These are the values of x. Asked for are the places where they lie."
            )
            expect(came.tolist(), expected.tolist(), f"the places for strides {view.stride()}")
        for view in (x[:1].expand(3, n1), x.unfold(1, 2, 1)):
            expect(
                reads_twice(view), True, f"with strides {view.stride()} some places are read twice"
            )
        for view in (x, x.t(), x.unfold(1, 2, 2)):
            expect(reads_twice(view), False, f"with strides {view.stride()} no place is read twice")


class ContiguousOrNot(BugHunt):
    """A test for is_contiguous

    Three people wrote `is_contiguous(sizes, strides)` in Python, and each forgot something that the
    shipped function knows. Write `test(is_contiguous)`, which passes on the right function and fails
    on each of theirs. You do not see their code; what could one forget?
    """

    idea = "What contiguous means"
    stub = """
        def test(is_contiguous):
            assert is_contiguous((2, 3), (3, 1))
    """
    hints = [
        "Each bug needs one case of its own. The table of “What contiguous means” "
        "has one for each.",
        "Which strides are never multiplied by anything but 0? Ask for a dimension of size 1.",
        "One forgets sizes of 1, one forgets tensors without elements, and one only looks whether the "
        "strides fall: give it a matrix with gaps.",
    ]
    solution = """
        def test(is_contiguous):
            assert is_contiguous((2, 3), (3, 1))
            assert not is_contiguous((3, 2), (1, 3))  # a transpose
            assert not is_contiguous((2, 2), (3, 1))  # gaps
            assert is_contiguous((3, 1), (1, 7))  # a size of 1
            assert is_contiguous((0, 3), (5, 9))  # no elements
    """
    reason = """
        A test of one matrix and its transpose passes on all three. The cases at the edge, a size of 1, no
        elements, gaps, are where people differ, so they are where a test earns its keep.
    """
    wrong = [
        Wrong(
            """
            def test(is_contiguous):
                assert is_contiguous((2, 3), (3, 1))
                assert not is_contiguous((3, 2), (1, 3))
            """,
            says="3 of 3 planted bugs",
            why="One matrix and its transpose: all three functions get them right.",
        ),
        Wrong(
            """
            def test(is_contiguous):
                assert not is_contiguous((3, 1), (1, 7))
            """,
            says="The first half fails",
            why="Here the test itself is wrong: the stride of a dimension of size 1 does not matter.",
        ),
        Wrong(
            """
            def test(is_contiguous):
                assert not is_contiguous((2, 2), (3, 1))
                assert is_contiguous((3, 1), (1, 7))
            """,
            says="1 of 3 planted bugs",
            why="Nothing here has no elements.",
        ),
    ]

    def right(sizes, strides):
        expected = 1
        if 0 in sizes:
            return True
        for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= size
        return True

    def forgets_size_one(sizes, strides):
        """a stride is compared although its dimension has size 1"""
        expected = 1
        for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
            if 0 not in sizes and stride != expected:
                return False
            expected *= size
        return True

    def forgets_empty(sizes, strides):
        """a tensor without elements is judged by its strides"""
        expected = 1
        for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
            if size != 1 and stride != expected:
                return False
            expected *= max(size, 1)
        return True

    def only_falling(sizes, strides):
        """the strides must fall to 1, and gaps between rows are not seen"""
        if 0 in sizes:
            return True
        kept = [stride for size, stride in zip(sizes, strides, strict=True) if size != 1]
        return kept == sorted(kept, reverse=True) and (not kept or kept[-1] == 1)

    bugs = [forgets_size_one, forgets_empty, only_falling]
