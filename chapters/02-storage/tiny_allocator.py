"""An allocator of addresses: size classes, and a list of free blocks for each."""

LINE = 64
LARGE = 256 * 1024
HUGE_PAGE = 2 * 1024 * 1024


def block_size(nbytes):
    """Return the bytes that are really set aside: a whole number of units."""
    unit = LINE
    if nbytes >= LARGE:
        unit = 2 ** (nbytes.bit_length() - 4)  # an eighth of the power of two below
    if nbytes >= HUGE_PAGE:
        unit = max(unit, HUGE_PAGE)
    return -(-nbytes // unit) * unit


class Allocator:
    """Gives addresses of blocks, and keeps those that come back for the next of their size."""

    def __init__(self):
        self.end = 0  # the memory so far; fresh blocks are put behind it
        self.free = {}  # size of a block: addresses that came back
        self.in_use = 0  # bytes

    def allocate(self, nbytes):
        size = block_size(nbytes)
        self.in_use += size
        if self.free.get(size):
            return self.free[size].pop()  # the one that came back last
        address = self.end
        self.end += size
        return address

    def release(self, address, nbytes):
        size = block_size(nbytes)
        self.in_use -= size
        self.free.setdefault(size, []).append(address)
