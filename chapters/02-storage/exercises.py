"""Exercises of chapter 2, storage."""

import random
import struct

import tensorlab as torch
from tensorlab.learn import BugHunt, Exercise, Wrong, expect, require

FILES = ["tiny_allocator.py"]
IMPORTS = "import tensorlab as torch"


class FourBlocks(Exercise):
    """Four blocks

    How many bytes does the allocator set aside for float32 tensors with 0, 1, 100 and 100,000 elements? Compute
    the last one with pen and paper; $2^{18} = 262\\,144$.
    """

    kind = "warm-up"
    idea = "Idea"
    stub = """
        blocks = [None, None, None, None]
    """
    hints = [
        "Bytes first: an element has 4. Then find the unit $u$ for that many bytes.",
        "For 400,000 bytes, $\\lfloor \\log_2 n \\rfloor = 18$, so $u = 2^{15}$. How many units are needed?",
    ]
    solution = """
        blocks = [0, 64, 448, 425_984]
    """
    reason = """
        100 elements are 400 bytes, 6.25 lines of 64, so 7 of them. 400,000 bytes are 12.2 units of
        32,768, so 13 of them. A tensor without elements needs no block.
    """
    wrong = [
        Wrong(
            "blocks = [0, 4, 400, 400_000]",
            says="whole units",
            why="These are the bytes that you ask for, not those that are set aside.",
        ),
        Wrong(
            "blocks = [0, 64, 448, 400_000]",
            says="not a multiple of its unit",
            why="400,000 is a multiple of 64, but from 64 KiB on the unit is larger.",
        ),
    ]

    def check(blocks):
        truth = []
        for n in (0, 1, 100, 100_000):
            before = torch.memory_stats()["allocated_bytes"]
            x = torch.empty(n)
            truth.append(torch.memory_stats()["allocated_bytes"] - before)
            del x
        require(blocks[1] != 4, "The allocator gives whole units.")
        require(
            blocks[3] != 400_000,
            "The last is not a multiple of its unit, which is more than 64 here.",
        )
        expect(list(blocks), truth, "the bytes of the four blocks")


class KeptBytes(Exercise):
    """What a list of tensors keeps

    Write `kept_bytes(tensors)`: how many bytes of storage would be freed if you deleted all the tensors
    in the list, and nothing else used their storages?
    """

    kind = "implement"
    idea = "A small view of a large batch"
    stub = """
        def kept_bytes(tensors):
            return sum(x.nbytes for x in tensors)  # not yet
    """
    hints = [
        "What does a small view of a large tensor keep?",
        "And what do two views of one tensor keep? You recognise a storage by its `data_ptr()`.",
    ]
    solution = """
        def kept_bytes(tensors):
            storages = {}
            for x in tensors:
                storage = x.untyped_storage()
                storages[storage.data_ptr()] = storage.nbytes()
            return sum(storages.values())
    """
    reason = """
        A lifetime is that of a storage, so you have to count storages, each of them once. With this
        function you can find out which object of a program keeps the memory.
    """
    wrong = [
        Wrong(
            "def kept_bytes(tensors):\n    return sum(x.untyped_storage().nbytes() for x in tensors)",
            says="counted twice",
            why="Two tensors over one storage keep it once.",
        ),
        Wrong(
            """
            def kept_bytes(tensors):
                return sum({x.data_ptr(): x.nbytes for x in tensors}.values())
            """,
            says="keeps more than it shows",
            why="`x.nbytes` counts what a tensor shows, and `x.data_ptr()` differs between views of one storage.",
        ),
    ]

    def check(kept_bytes):
        x = torch.zeros(100)
        twice = kept_bytes([x, x[1:], x.view(10, 10)])
        require(twice <= 400 or twice != 1200, "One storage was counted twice, or more often.")
        few = kept_bytes([x[7:9]])
        require(few != 8, "A view keeps more than it shows: its whole storage.")
        expect(few, 400, "a view of two of 100 floats")
        expect(twice, 400, "100 floats, and two views of them")
        expect(kept_bytes([x[7:9], x.clone(), x.clone()[:1]]), 1200, "a view and two clones")
        expect(kept_bytes([]), 0, "no tensors")
        for _ in range(5):
            bases = [torch.zeros(random.randint(1, 50), 3, dtype=torch.float64) for _ in range(4)]
            used = [base for base in bases if random.random() < 0.7]
            views = [
                view for base in used for view in (base.t(), base[-1:], base.detach(), base[0, 1])
            ]
            random.shuffle(views)
            wanted = sum(24 * len(base) for base in used)
            expect(
                kept_bytes(views),
                wanted,
                f"{len(views)} views of {len(used)} random float64 tensors",
            )


class ReadImages(Exercise):
    """A file of images, without a copy

    The handwritten digits of the MNIST data set come in a format of 1998. A file begins with two
    zero bytes, the byte 8 (for uint8) and a byte with the number of dimensions. Then come the sizes
    of the dimensions, 4 bytes each, most significant byte first, and after them the numbers.

    Write `read_images(buffer)`. It returns the numbers as a uint8 tensor *over the bytes of the
    buffer*.
    """

    kind = "extend"
    idea = "Borrowing"
    beside = "answer and check look at the same memory"
    stub = """
        def read_images(buffer):
            ndim = buffer[3]
            return torch.frombuffer(buffer, dtype=torch.uint8)  # not yet
    """
    hints = [
        "`int.from_bytes(buffer[4:8], 'big')` is the first size. Where do the numbers begin?",
        "`frombuffer` has a parameter `offset`, in bytes. What gives a row another shape, over the same memory?",
    ]
    solution = """
        def read_images(buffer):
            ndim = buffer[3]
            starts = range(4, 4 + 4 * ndim, 4)
            shape = [int.from_bytes(buffer[i : i + 4], "big") for i in starts]
            numbers = torch.frombuffer(buffer, dtype=torch.uint8, offset=4 + 4 * ndim)
            return numbers.view(shape)
    """
    reason = """
        Python reads the header, and the numbers stay where they are. If the buffer is a mapped file,
        a data set of any size opens at once, and only the images that you look at are read
        from the disk.
    """
    wrong = [
        Wrong(
            """
            def read_images(buffer):
                ndim = buffer[3]
                starts = range(4, 4 + 4 * ndim, 4)
                shape = [int.from_bytes(buffer[i : i + 4], "big") for i in starts]
                return torch.tensor(list(buffer[4 + 4 * ndim :]), dtype=torch.uint8).view(shape)
            """,
            says="looks at other bytes",
            why="`tensor` always copies, and the list makes it slow, too.",
        ),
        Wrong(
            """
            def read_images(buffer):
                ndim = buffer[3]
                starts = range(4, 4 + 4 * ndim, 4)
                shape = [int.from_bytes(buffer[i : i + 4], "little") for i in starts]
                return torch.frombuffer(buffer, dtype=torch.uint8, offset=4 + 4 * ndim).view(shape)
            """,
            says="most significant byte first",
            why="The format is big-endian, and most machines are little-endian.",
        ),
    ]

    def check(read_images):
        drawn = [tuple(random.randint(1, 6) for _ in range(ndim)) for ndim in (1, 2, 4)]
        for shape in [(2, 3, 4), (5,), (300, 2), *drawn]:
            count = torch.Size(shape).numel()
            numbers = [random.randrange(250) for _ in range(count)]
            header = bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}i", *shape)
            file = bytearray(header + bytes(numbers))
            try:
                came = read_images(file)
            except RuntimeError as error:
                swapped = str(int.from_bytes(struct.pack(">i", shape[0]), "little"))
                if swapped in str(error):
                    raise AssertionError("Sizes have the most significant byte first.") from error
                raise
            expected = torch.tensor(numbers, dtype=torch.uint8).view(shape)
            expect(came, expected, f"a file of shape {shape}")
            file[-1] = 250
            last = came.reshape(-1)[-1].item()
            require(last == 250, "The buffer has changed, but the tensor looks at other bytes.")


class TestedAllocator(BugHunt):
    """A test for allocators

    Four people rewrote `Allocator` of `tiny_allocator.py`, and each version has a bug. `make()` gives you an
    allocator with `allocate(nbytes)`, which returns an address, `release(address, nbytes)`, and
    `in_use`, the bytes in use, rounded up. Write `test(make)`, which passes on the right allocator and
    fails on each of theirs.
    """

    idea = "An allocator in forty lines"
    stub = """
        def test(make):
            allocator = make()
            first = allocator.allocate(64)
            assert allocator.allocate(64) != first
    """
    hints = [
        "Allocate blocks of two sizes, release one, allocate again. What must be true of the addresses?",
        "Blocks in use must not overlap. And sizes that aren't multiples of 64 are counted as rounded up.",
        "One reuses blocks that are too small, one gives a block to two callers, one never reuses a block, and one "
        "can't count.",
    ]
    solution = """
        def test(make):
            allocator = make()
            first = allocator.allocate(40)
            allocator.allocate(64)
            allocator.release(first, 40)
            assert allocator.in_use == 64  # the other block
            large = allocator.allocate(128)
            assert large != first  # too small
            again = allocator.allocate(64)
            assert again == first
            assert allocator.allocate(64) != again  # in use
            assert allocator.in_use == 64 + 128 + 64 + 64
    """
    reason = """
        The bugs show only *after* a release, so a test without one can't find them. The
        address of `again` shows that a block is reused, and the address after it that it's reused only
        once.
    """
    wrong = [
        Wrong(
            """
            def test(make):
                allocator = make()
                first = allocator.allocate(64)
                allocator.release(first, 64)
                assert allocator.allocate(64) == first
            """,
            says="3 of 4 planted bugs",
            why="It finds the allocator that never reuses a block. The others do reuse blocks, but wrongly.",
        ),
        Wrong(
            """
            def test(make):
                allocator = make()
                assert allocator.allocate(100) == 0
                assert allocator.allocate(100) == 100
            """,
            says="must pass on the right",
            why="Blocks are rounded up, so the second can't begin at 100.",
        ),
    ]

    def right():
        return Blocks()

    def too_small():
        """a free block is reused for anything, even if it is too small"""

        class TooSmall(Blocks):
            def found(self, size):
                return next(reversed(self.free), None)

        return TooSmall()

    def twice():
        """a free block stays in the list when it is reused"""

        class Twice(Blocks):
            def taken(self, block):
                pass

        return Twice()

    def never():
        """no block is ever used again"""

        class Never(Blocks):
            def found(self, size):
                return None

        return Never()

    def miscounted():
        """what comes back is counted as it was asked for, not as it was rounded up"""

        class Miscounted(Blocks):
            def release(self, address, nbytes):
                self.free.append((address, rounded(nbytes)))
                self.in_use -= nbytes

        return Miscounted()

    bugs = [too_small, twice, never, miscounted]


def rounded(nbytes):
    return -(-nbytes // 64) * 64


class Blocks:
    """The right allocator, in pieces that can be replaced."""

    def __init__(self):
        self.end, self.free, self.in_use = 0, [], 0

    def found(self, size):
        fitting = [block for block in self.free if block[1] == size]
        return fitting[-1] if fitting else None

    def taken(self, block):
        self.free.remove(block)

    def allocate(self, nbytes):
        size = rounded(nbytes)
        self.in_use += size
        block = self.found(size)
        if block is None:
            block = (self.end, size)
            self.end += size
        else:
            self.taken(block)
        return block[0]

    def release(self, address, nbytes):
        self.free.append((address, rounded(nbytes)))
        self.in_use -= rounded(nbytes)
