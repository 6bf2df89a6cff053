"""Exercises of chapter 05, layout and caches."""

import random

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

IMPORTS = """
import tensorlab as torch
from tiny_cache import Cache, block_by_block, column_by_column, reads, row_by_row
"""
FILES = ["tiny_cache.py"]


class Lines(Exercise):
    """How many lines

    Write `lines(n, stride, item, line)`: how many cache lines a loop touches that reads `n` numbers,
    each `item` bytes long, `stride` numbers apart. A line has `line` bytes, and the first number
    begins at the start of a line. All four are positive ints, and `line` is a multiple of `item`.
    """

    kind = "warm-up"
    idea = "Memory comes in lines"
    stub = """
        def lines(n, stride, item, line):
            return n
    """
    hints = [
        "Number i begins at byte i * stride * item. Which line is that byte in?",
        "If one step is longer than a line, some lines between are never read.",
    ]
    solution = """
        def lines(n, stride, item, line):
            step = stride * item
            if step >= line:
                return n
            return (n - 1) * step // line + 1
    """
    reason = """
        Short steps leave no line out, so it is enough to know the line of the last number. Steps of a line
        or more never meet the same line twice. In between there is nothing: that is why the stride sweep
        has a slope and then a flat part.
    """
    wrong = [
        Wrong(
            """
            def lines(n, stride, item, line):
                return (n - 1) * stride * item // line + 1
            """,
            says="jumped over",
            why="It counts the lines from the first to the last, and long steps jump over most of them.",
        ),
        Wrong(
            """
            def lines(n, stride, item, line):
                if stride * item >= line:
                    return n
                return n * stride * item // line
            """,
            says="rounded",
            why="A part of a line is fetched as a whole line.",
        ),
        Wrong(
            """
            def lines(n, stride, item, line):
                return -(-n * item // line) if stride == 1 else n
            """,
            says="stride",
            why="With stride 2, two reads in a row still meet the same line.",
        ),
        Wrong(
            """
            def lines(n, stride, item, line):
                if stride * item >= line:
                    return n
                return -(-n * stride * item // line)
            """,
            says="last number",
            why="The step after the last number leads to nothing that is read.",
        ),
    ]

    def check(lines):
        cases = [(40, 3, 2, 32), (16, 1, 4, 64), (17, 1, 4, 64), (8, 2, 4, 64), (9, 4, 4, 64)]
        cases += [(5, 16, 4, 64), (3, 100, 8, 64), (1, 15, 4, 64), (1, 1, 8, 128)]
        cases += [(17, 2, 4, 64), (7, 24, 4, 64)]
        draw = random.Random()
        for _ in range(200):
            item = draw.choice([1, 2, 4, 8])
            line = item * draw.choice([1, 2, 4, 8, 16, 32])
            cases.append((draw.randint(1, 90), draw.randint(1, 40), item, line))
        for n, stride, item, line in cases:
            true = len({i * stride * item // line for i in range(n)})
            came = lines(n, stride, item, line)
            where = f"lines({n}, {stride}, {item}, {line})"
            require(came is not None, "lines returned None; return an int.")
            reach = (n - 1) * stride * item // line + 1
            behind = n * stride * item // line + 1, -(-n * stride * item // line)
            require(
                came == true or stride * item < line or came not in (reach, *behind),
                f"{where} isn't {came}. You counted lines that are jumped over.",
            )
            require(
                came == true or came not in behind,
                f"{where} isn't {came}. Nothing is read behind the last number.",
            )
            require(
                came == true or came != n * stride * item // line,
                f"{where} isn't {came}. You rounded down, but a part of a line counts as one.",
            )
            require(
                came == true or came != n,
                f"{where} isn't {came}. With this stride, some numbers share a line.",
            )
            expect(came, true, where)


class Blocks(Exercise):
    """Transpose in blocks

    Write `order(rows, columns, side)`: a list of all index pairs (i, j) of a matrix, so that a
    transposed copy that goes through them does one block after the other. Blocks are `side` by `side`,
    smaller at the right and the lower edge, and begin at (0, 0). In which order the blocks come,
    and the pairs inside a block, is up to you. The stub goes through the matrix row by row.
    """

    kind = "implement"
    idea = "Transposing in blocks"
    stub = """
        def order(rows, columns, side):
            return [(i, j) for i in range(rows) for j in range(columns)]
    """
    hints = [
        "Four loops: two over the corners of blocks, with `side` as the step of `range`, and two inside a block.",
        "The last block of a row may be narrower: `min(left + side, columns)`.",
    ]
    solution = """
        def order(rows, columns, side):
            return [
                (i, j)
                for top in range(0, rows, side)
                for left in range(0, columns, side)
                for i in range(top, min(top + side, rows))
                for j in range(left, min(left + side, columns))
            ]
    """
    reason = """
        Inside a block, at most `side` rows are in use in the source and `side` in the result. If all of their
        lines fit into the cache at the same time, each line is fetched once.
    """
    wrong = [
        Wrong(
            """
            def order(rows, columns, side):
                return [
                    (i, j)
                    for top in range(0, rows, side)
                    for left in range(0, columns, side)
                    for i in range(top, top + side)
                    for j in range(left, left + side)
                ]
            """,
            says="outside",
            why="At the edges, blocks are smaller.",
        ),
        Wrong(
            """
            def order(rows, columns, side):
                return [
                    (top + i, left + j)
                    for top in range(0, rows - side + 1, side)
                    for left in range(0, columns - side + 1, side)
                    for i in range(side)
                    for j in range(side)
                ]
            """,
            says="missing",
            why="What is left over at the edges must be copied too.",
        ),
        Wrong(
            """
            def order(rows, columns, side):
                return [
                    (i, j)
                    for top in range(0, rows, side)
                    for i in range(top, min(top + side, rows))
                    for left in range(0, columns, side)
                    for j in range(left, min(left + side, columns))
                ]
            """,
            says="comes back",
            why="The loops have the wrong order: each row goes through all blocks. That is row by row again.",
        ),
    ]

    def check(order):
        draw = random.Random()
        cases = [(4, 4, 2), (5, 7, 3), (6, 4, 2), (1, 1, 1), (3, 8, 1), (2, 3, 8)]
        cases += [(draw.randint(1, 14), draw.randint(1, 14), draw.randint(1, 6)) for _ in range(40)]
        for rows, columns, side in cases:
            where = f"order({rows}, {columns}, {side})"
            came = order(rows, columns, side)
            require(came is not None, "order returned None; return a list of pairs.")
            came = list(came)
            require(
                all(not isinstance(k, str) and k == int(k) for pair in came for k in pair),
                f"{where}: an index is not a whole number.",
            )
            came = [(int(i), int(j)) for i, j in came]
            wanted = {(i, j) for i in range(rows) for j in range(columns)}
            outside = [pair for pair in came if pair not in wanted]
            require(not outside, f"{where}: {outside[:1]} lies outside of the matrix.")
            missing = sorted(wanted - set(came))
            require(
                not missing,
                f"{where}: {len(missing)} pairs are missing, the first is {missing[:1]}.",
            )
            require(len(came) == len(wanted), f"{where}: some pairs come twice.")
            done, now = set(), None
            for i, j in came:
                block = i // side, j // side
                if block != now:
                    require(
                        block not in done,
                        f"{where}: at {(i, j)} it comes back to a block that it has left before. "
                        "Finish each block before the next.",
                    )
                    done.add(block)
                    now = block


class Padded(Exercise):
    """Padding

    The columns of a matrix of float32 are read again and again. Write `padded(width, rows, sets, ways)`:
    the smallest row length, at least `width`, for which one column of `rows` numbers fits into the
    cache. It fits if no set gets more lines of the column than it has ways. A line has 64 bytes,
    and its number modulo `sets` says in which set it lies. The column begins at address 0. Return None if
    no row length can do it.
    """

    kind = "implement"
    idea = "Eight columns more"
    stub = """
        def padded(width, rows, sets, ways):
            return width + 16
    """
    hints = [
        "First write a function that tells for one width how many lines of the column each set gets.",
        "Number i of the column begins at byte 4 * i * width. Numbers in the same line count once.",
        "When may you give up? Row lengths that differ by 16 * sets have their lines in the same sets.",
    ]
    solution = """
        def padded(width, rows, sets, ways):
            def fits(width):
                lines = {4 * i * width // 64 for i in range(rows)}
                full = [0] * sets
                for line in lines:
                    full[line % sets] += 1
                return max(full) <= ways

            for wider in range(width, width + 16 * sets):
                if fits(wider):
                    return wider
            return None
    """
    reason = """
        Only rows whose length is a multiple of many lines crowd into few sets, so a few numbers of padding are
        nearly always enough. With an odd number of lines to a row, the column uses every set.
    """
    wrong = [
        Wrong(
            """
            def padded(width, rows, sets, ways):
                return width + 1 if width & (width - 1) == 0 else width
            """,
            says="still does not fit",
            why="Powers of two are the worst case, but not the only one: 3072 is bad as well.",
        ),
        Wrong(
            """
            def padded(width, rows, sets, ways):
                lines = -(-width // 16)
                return 16 * (lines if lines % 2 else lines + 1)
            """,
            says="wider than it must be",
            why="An odd number of lines always works if anything does, but often less is enough.",
        ),
        Wrong(
            """
            def padded(width, rows, sets, ways):
                for wider in range(width, width + 16 * sets):
                    full = [0] * sets
                    for i in range(rows):
                        full[4 * i * wider // 64 % sets] += 1
                    if max(full) <= ways:
                        return wider
            """,
            says="need one place",
            why="In a narrow matrix, several numbers of a column share a line, and a line needs one place.",
        ),
    ]

    def check(padded):
        def fits(width, rows, sets, ways, kind=set):
            full = [0] * sets
            for line in kind(4 * i * width // 64 for i in range(rows)):
                full[line % sets] += 1
            return max(full) <= ways

        draw = random.Random()
        cases = [(64, 4, 4, 1), (70, 4, 4, 1), (32, 12, 4, 3), (1, 6, 4, 2), (256, 33, 4, 8)]
        cases += [
            (48, 4, 4, 1),
            (56, 4, 4, 1),
            (512, 64, 16, 4),
            (96, 10, 8, 2),
            (3, 40, 4, 2),
            (5, 9, 8, 1),
            (100, 1, 2, 1),
            (96, 2, 2, 1),
        ]
        for _ in range(200):
            sets, ways = draw.choice([1, 2, 4, 8]), draw.choice([1, 2, 3])
            rows = max(1, sets * ways - draw.choice([-1, 0, 0, 0, 0, 1, 2, 5]))
            width = draw.choice([draw.randint(1, 90), 16 * draw.randint(1, 9)])
            cases.append((width, rows, sets, ways))
        for width, rows, sets, ways in cases:
            where = f"padded({width}, {rows}, {sets}, {ways})"
            true, counted = (
                next(
                    (w for w in range(width, width + 16 * sets) if fits(w, rows, sets, ways, kind)),
                    None,
                )
                for kind in (set, list)
            )
            came = padded(width, rows, sets, ways)
            if true is None:
                expect(came, None, where + ", which cannot fit at any width")
                continue
            require(
                came == true or came != counted,
                f"{where}: you gave {came}, expected {true}. Numbers in the same line need one place.",
            )
            require(came is not None, f"{where} returned None; at width {true} the column fits.")
            require(came >= width, f"{where}: {came} is narrower than the matrix.")
            require(
                fits(came, rows, sets, ways),
                f"{where}: with {came} the column still does not fit; some set gets too many lines.",
            )
            require(
                came <= true, f"{where}: {came} fits, but is wider than it must be; {true} fits."
            )
            expect(came, true, where)


class Ridge(Exercise):
    """Where the roof turns flat

    A machine does `peak` operations in a second and moves `bandwidth` bytes in a second, both ints. Write
    `smallest(peak, bandwidth, item)`: the smallest n for which a product of two n by n matrices,
    with `item` bytes for a number, is limited by arithmetic and not by memory. Each of the three
    matrices moves once, and the product takes 2 n³ operations. If both limits are equal, that counts
    as arithmetic.
    """

    kind = "extend"
    idea = "Arithmetic intensity"
    stub = """
        def smallest(peak, bandwidth, item):
            return 1
    """
    hints = [
        "The time for arithmetic is 2 n³ / peak, the time for memory 3 n² item / bandwidth.",
        "Multiply both by peak and bandwidth. Then everything is an int, and nothing is rounded.",
    ]
    solution = """
        def smallest(peak, bandwidth, item):
            return -(-3 * item * peak // (2 * bandwidth))
    """
    reason = """
        2 n³ / peak ≥ 3 n² item / bandwidth gives n ≥ 1.5 item · peak / bandwidth. With 100 GFLOP/s, 25 GB/s and
        float32, that is 24. It's an ideal: a product of 24 by 24 matrices has other costs, as the triangles in
        the figure show. And float64 needs twice the n, since its numbers are twice as long.
    """
    wrong = [
        Wrong(
            """
            def smallest(peak, bandwidth, item):
                return max(1, -(-item * peak // bandwidth))
            """,
            says="three matrices",
            why="Two are read and one is written.",
        ),
        Wrong(
            """
            def smallest(peak, bandwidth, item):
                return max(1, 3 * item * peak // (2 * bandwidth))
            """,
            says="still waits",
            why="Rounding down gives a size that is just too small.",
        ),
        Wrong(
            """
            def smallest(peak, bandwidth, item):
                return 3 * item * peak // (2 * bandwidth) + 1
            """,
            says="not the smallest",
            why="If the limits are equal, that already counts.",
        ),
        Wrong(
            """
            from math import ceil

            def smallest(peak, bandwidth, item):
                return ceil(1.5 * (item / bandwidth) * peak)
            """,
            says="quotient rounded",
            why="1.5 * (2 / 5) * 10 gives 6.000000000000001: a rounded quotient may be a little too large.",
        ),
        Wrong(
            """
            def smallest(peak, bandwidth, item):
                return max(1, -(-3 * 4 * peak // (2 * bandwidth)))
            """,
            says="item",
            why="Not every number has four bytes.",
        ),
    ]

    def check(smallest):
        draw = random.Random()
        cases = [(100, 25, 4), (100, 25, 8), (101, 25, 4), (7, 7, 2), (1, 50, 4), (3, 2, 1)]
        cases += [(5_000, 300, 2), (10**11, 25 * 10**9, 4), (2 * 10**13, 10**12, 4), (900, 1, 8)]
        equal = [(10, 5, 2), (105, 105, 2), (161, 1, 2), (85, 17, 4)]  # rounded quotients give more
        cases += equal
        for _ in range(60):
            cases.append((draw.randint(1, 900), draw.randint(1, 300), draw.choice([1, 2, 4, 8])))
        for peak, bandwidth, item in cases:
            where = f"smallest({peak}, {bandwidth}, {item})"
            true = max(1, -(-3 * item * peak // (2 * bandwidth)))
            came = smallest(peak, bandwidth, item)
            require(came is not None, "smallest returned None; return an int.")
            require(came == int(came), f"{where}: {came} is not a whole number.")
            require(
                came == true or came != max(1, -(-item * peak // bandwidth)),
                f"{where}: you gave {came}, expected {true}. Do all three matrices move?",
            )
            require(
                came == true or item == 4 or came != max(1, -(-12 * peak // (2 * bandwidth))),
                f"{where}: you gave {came}, expected {true}. Look at item: it isn't always 4.",
            )
            require(
                came >= true,
                f"{where}: at n = {came} the product still waits for memory; expected {true}.",
            )
            require(
                came <= true or (peak, bandwidth, item) not in equal,
                f"{where}: you gave {came}, but at {true} both limits are equal. Was a quotient rounded?",
            )
            require(came <= true, f"{where}: {came} is not the smallest; {true} is.")
            expect(int(came), true, where)


def right(x, factor):
    return x * factor.view(1, -1, 1, 1)


def made_row_major(x, factor):
    """The result has lost the memory format of its input."""
    return (x * factor.view(1, -1, 1, 1)).contiguous()


def always_last(x, factor):
    """The result is channels_last even if the input is not."""
    return (x * factor.view(1, -1, 1, 1)).contiguous(memory_format=torch.channels_last)


def as_in_memory(x, factor):
    """Numbers are taken in the order of memory, as if that were always row-major."""
    n, c, h, w = x.shape
    flat = x.as_strided((n, c, h * w), (c * h * w, h * w, 1))
    out = torch.empty_like(x)
    out.as_strided((n, c, h * w), (c * h * w, h * w, 1)).copy_(flat * factor.view(1, -1, 1))
    return out


def along_the_width(x, factor):
    """The factors meet the last dimension where it is as long as the channels."""
    if x.shape[3] == len(factor):
        return x * factor
    return x * factor.view(1, -1, 1, 1)


def in_place_if_contiguous(x, factor):
    """A row-major input is changed."""
    if x.is_contiguous():
        return x.mul_(factor.view(1, -1, 1, 1))
    return x * factor.view(1, -1, 1, 1)


def permuted_for_good(x, factor):
    """For channels_last, the dimensions stay permuted."""
    if not x.is_contiguous() and x.is_contiguous(memory_format=torch.channels_last):
        return x.permute(0, 2, 3, 1) * factor
    return x * factor.view(1, -1, 1, 1)


class Hunt(BugHunt):
    """Six scalings

    Write `test(scale)`. It gets a function `scale(x, factor)`, which multiplies each channel of a batch of
    images `x`, of shape (N, C, H, W), by its number in `factor`, of shape (C,). The promise: right
    values in both memory formats, a result in the format of `x`, and `x` unchanged. Your test must raise
    if a promise is broken. One function is right, and six are wrong.
    """

    idea = "A format that is only strides"
    stub = """
        def test(scale):
            x = torch.ones(2, 3, 4, 5)
            result = scale(x, torch.ones(3))
            assert result.shape == x.shape
    """
    hints = [
        "Test both formats, and compare strides as well as values.",
        "Make the width as large as the number of channels once. Look at `x` again after the call.",
    ]
    solution = """
        def test(scale):
            for shape in ((2, 3, 4, 5), (2, 4, 3, 4)):
                for memory_format in (torch.contiguous_format, torch.channels_last):
                    x = torch.rand(shape).contiguous(memory_format=memory_format)
                    factor = torch.rand(shape[1])
                    before = x.clone()
                    result = scale(x, factor)
                    torch.testing.assert_close(result, before * factor[:, None, None])
                    assert result.stride() == x.stride()
                    assert x.equal(before)
    """
    reason = """
        Values alone don't show what a format is, since it is only strides. And a format is wrong in two directions:
        it can get lost, and it can appear where it wasn't asked for.
    """
    wrong = [
        Wrong(
            """
            def test(scale):
                x = torch.rand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
                factor = torch.rand(3)
                result = scale(x, factor)
                assert result.stride() == x.stride()
                torch.testing.assert_close(result, x * factor[:, None, None])
            """,
            says="pass",
            why="Only one of the two formats is tried.",
        ),
    ]
    right = right
    bugs = [
        made_row_major,
        always_last,
        as_in_memory,
        along_the_width,
        in_place_if_contiguous,
        permuted_for_good,
    ]
