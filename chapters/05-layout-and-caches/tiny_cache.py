"""A cache on paper: it holds a few lines, counts misses, and drops the line that was not used for longest."""


class Cache:
    """Lines of memory, kept in sets; each set has room for a few lines, its ways."""

    def __init__(self, sets, ways, line=64):
        self.line, self.ways = line, ways
        self.sets = [[] for _ in range(sets)]  # numbers of lines, the last used at the end
        self.misses = 0

    def read(self, address):
        """Read the byte at `address`; return whether its line was there already."""
        number = address // self.line
        held = self.sets[number % len(self.sets)]
        hit = number in held
        if hit:
            held.remove(number)
        else:
            self.misses += 1
            if len(held) == self.ways:
                held.pop(0)
        held.append(number)
        return hit


def row_by_row(rows, columns):
    """Return all index pairs (i, j) of a matrix, row by row."""
    return [(i, j) for i in range(rows) for j in range(columns)]


def column_by_column(rows, columns):
    """Return all index pairs, column by column."""
    return [(i, j) for j in range(columns) for i in range(rows)]


def block_by_block(rows, columns, side):
    """Return all index pairs in square blocks; inside a block, column by column."""
    return [
        (top + i, left + j)
        for top in range(0, rows, side)
        for left in range(0, columns, side)
        for i, j in column_by_column(min(side, rows - top), min(side, columns - left))
    ]


def reads(cache, pairs, stride, item=4):
    """Read a matrix in that order, its rows `stride` elements apart; return the hits and misses."""
    return [cache.read((i * stride + j) * item) for i, j in pairs]
