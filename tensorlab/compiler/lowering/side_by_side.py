"""Row kernels whose innermost loop goes over rows, which are short or run across memory.

A loop over a row of ten elements is over before a vector instruction is full, and what
follows from a total is computed for one row at a time. Rows that run across memory (a sum
over the first dimension) have their elements in different cache lines, but the elements of
neighbouring rows lie side by side. Both want the two loops the other way round, for a block
of rows, with an array of totals:

    for each block of rows:
        for each reduction, or several at once:
            for each element of a row:
                for each row of the block:      one vector instruction does several rows
                    what it folds; total[r] = fold(total[r], it)
            for each row of the block: what follows from its total
        for each element of a row, for each row of the block: the outputs

Totals of long rows are folded in parts, so that the error of a sum stays small.
"""

import math

from tensorlab.compiler.lowering.c_types import (
    INTEGER_BITS,
    c_type,
    is_floating,
    literal,
)
from tensorlab.compiler.lowering.loop_ir import Declare, Kept, Loop, Store
from tensorlab.compiler.lowering.row_kernels import RowWriter
from tensorlab.compiler.lowering.stages import WORDS

FEWEST = 16  # rows that fill a vector
SHORT = 48  # elements of a row, of which RowWriter would fill few vectors
OF_SHORT = 64  # rows of a block
ACROSS = 128  # the same across memory, where each element is a jump that more rows share
KEPT = 4096  # elements of a buffer: what a block may keep from one pass to the next
PART = 64  # elements of a row that are folded before their total is added to those before
MOST_WORK = 65536  # elements that one thread does in a moment, whether others have work or not


def rows_side_by_side(writer):
    """Return how many rows of a RowWriter's program to do side by side; 0 for one at a time."""
    neighbours = writer.sizes[-1] if writer.sizes else 0
    if neighbours < FEWEST:
        return 0
    if not writer.runs_across_memory:
        return OF_SHORT if writer.length <= SHORT else 0
    blocks = math.prod(writer.sizes[:-1]) * -(-neighbours // ACROSS)
    is_much = math.prod(writer.sizes) * writer.length > MOST_WORK
    is_deep = len(writer.program.passes) > 2  # and would compute again what the first pass did
    is_costly = writer.length * ACROSS > KEPT or writer.values.costly
    if (is_much and blocks < 4) or (is_deep and is_costly):
        return 0
    lie_side_by_side = all(outer[-1] in (0, 1) for outer, step, _ in writer.forms if step)
    return ACROSS if lie_side_by_side else 0


def first_total(what, dtype):
    """Return the C constant with which a fold begins."""
    if what in ("zero", "one"):
        return literal(what == "one", dtype)
    if is_floating(dtype):
        return literal(-math.inf if what == "lowest" else math.inf, dtype)
    bits, is_signed = INTEGER_BITS.get(dtype, 1), dtype not in ("uint8", "bool")
    lowest = -(1 << (bits - 1)) if is_signed else 0
    return literal(lowest if what == "lowest" else lowest + (1 << bits) - 1, dtype)


class SideBySideWriter(RowWriter):
    """One kernel of a row program, `block` rows at a time."""

    def __init__(self, program, block):
        super().__init__(program)
        self.block = block
        bodies = [section.body for section in program.passes]
        self.read = {one.buffer for body in bodies for one in body if isinstance(one, Kept)}
        self.has_parts = self.length > PART
        self.in_arrays = {}  # a variable that each row has: its type

    # ---------------------------------------------------------------- operands
    def pointers(self):
        """Pointers to where an operand's first row of the block begins."""
        for k, (outer, _, _) in enumerate(self.forms):
            if outer[-1] not in (0, 1):
                name = self.name_of(k)
                self.strides[f"{name} of r"] = self.number(f"{name}_row", outer[-1])
        return super().pointers()

    def element(self, name, k):
        outer, step, _ = self.forms[k]
        terms = [
            f"{index} * {self.strides[key]}" if key in self.strides else index
            for index, factor, key in (("i", step, name), ("r", outer[-1], f"{name} of r"))
            if factor
        ]
        return f"{name}[{' + '.join(terms) or '0'}]"

    def kept(self, buffer):
        return f"{buffer}[i][r]"

    # ---------------------------------------------------------------- loops
    def rows(self, statements):
        """A loop over the rows of the block; it takes a row's variables from their arrays."""
        own = {one.name for one in statements if isinstance(one, Declare)}
        words = dict.fromkeys(word for one in statements for word in WORDS.findall(one.value))
        used = [word for word in words if word in self.in_arrays and word not in own]
        again = [Declare(self.in_arrays[name], name, f"rows_{name}[r]") for name in used]
        return Loop("r", "0", "m", [*again, *statements], is_innermost=True)

    def each_row(self, statements, stores=()):
        """The loop, in a list, that puts what a row has once into arrays; [] if nothing is."""
        lines = self.written(statements)
        loop = self.rows(
            [*lines, *(Store(f"rows_{one.name}[r]", one.name) for one in lines), *stores]
        )
        self.in_arrays |= {one.name: one.kind for one in lines}
        return [loop] if loop.body else []

    def pass_of(self, section):
        lines, body = self.each_row(section.row_body), self.written(section.body)
        folds = [FoldOfRows(*one) for one in section.folds]
        for one in folds:
            body.append(Declare(f"const {c_type(one.dtype)}", one.element, one.text))
            if one.buffer in self.read:
                body.append(Store(f"{one.buffer}[i][r]", one.element))
        lines.append(self.rows([Store(one.total, one.first) for one in folds]))
        if not self.has_parts:
            body += [one.step(one.total, one.element) for one in folds]
            lines.append(Loop("i", "0", "n", [self.rows(body)]))
        else:
            body += [one.step(one.part, one.element) for one in folds]
            inside = [
                Declare("const int64_t", "stop", f"n - start < {PART} ? n : start + {PART}"),
                self.rows([Store(one.part, one.first) for one in folds]),
                Loop("i", "start", "stop", [self.rows(body)]),
                self.rows([one.step(one.total, one.part) for one in folds]),
            ]
            lines.append(Loop("start", "0", "n", inside, str(PART)))
        self.in_arrays |= {one.name: f"const {one.kind}" for one in folds}
        return lines

    def last_pass(self, section):
        of_rows, of_elements = self.last_stores()
        lines = self.each_row(section.row_body, of_rows)
        if of_elements:
            body = [*self.written(section.body), *of_elements]
            lines.append(Loop("i", "0", "n", [self.rows(body)]))
        return lines

    def arrays(self):
        """Declarations of what each row of the block has: totals, variables, buffers."""
        names = [(kind.split()[-1], f"rows_{name}") for name, kind in self.in_arrays.items()]
        for section in self.program.passes:
            for one in (FoldOfRows(*given) for given in section.folds):
                if one.buffer in self.read:
                    names.append((c_type(one.dtype), f"{one.buffer}[{self.program.most_kept}]"))
                if self.has_parts:
                    names.append((one.kind, f"part_{one.name}"))
        return [Declare(kind, f"{name}[{self.block}]", "") for kind, name in names]

    # ---------------------------------------------------------------- the kernel
    def kernels(self, name):
        """Return the one kernel that there is, in a list."""
        self.number("n", self.length)
        sizes = [self.number(f"n{d}", size) for d, size in enumerate(self.sizes)]
        last, neighbours = len(sizes) - 1, sizes[-1]
        across = f"(({neighbours} + {self.block - 1}) / {self.block})"  # blocks
        first, left = f"i{last}", f"{neighbours} - i{last}"
        outer = [f"i{d}" for d in range(last)]
        places = [
            *self.counters(outer, sizes, f"block / {across}", "const int64_t"),
            Declare("const int64_t", first, f"block % {across} * {self.block}"),
            Declare("const int64_t", "m", f"{left} < {self.block} ? {left} : {self.block}"),
        ]
        block = [*places, *self.pointers()]
        for section in self.program.passes[:-1]:
            block += self.pass_of(section)
        block += self.last_pass(self.program.passes[-1])
        head = [*self.tensors(), *self.declarations, *self.values.constants, *self.arrays()]
        body = [*head, Loop("block", "begin", "end", block)]
        count = math.prod(self.sizes[:-1]) * -(-self.sizes[-1] // self.block)
        return [self.kernel(name, "rows of", body, count, self.length * self.block)]


class FoldOfRows:
    """A reduction of a pass as C: its total, that of a part, and how they fold an element."""

    def __init__(self, node, reduction, name, buffer, text):
        self.name, self.buffer, self.text, self.dtype = name, buffer, text, reduction.dtype
        self.element = f"element_of_{name}"
        self.total, self.part = f"rows_{name}[r]", f"part_{name}[r]"
        dtype = reduction.of_totals[1]
        self.kind = c_type(dtype)
        self.template = reduction.fold.step
        self.first = first_total(reduction.fold.first, dtype)

    def step(self, total, x):
        return Store(total, self.template.format(total=total, x=x, type=self.dtype))
