"""Writes the loops around the passes of rows.py."""

import math

from tensorlab.compiler.lowering.c_types import STORED, c_type, loaded, stored
from tensorlab.compiler.lowering.index_maps import NoMap, merge_all
from tensorlab.compiler.lowering.loop_ir import Declare, Kept, Load, Loop, Store
from tensorlab.compiler.lowering.rows import BLOCK, MOST_BLOCKS
from tensorlab.compiler.lowering.values import dtype_of
from tensorlab.compiler.lowering.writer import KernelWriter


class RowWriter(KernelWriter):
    """One kernel of a row program."""

    def __init__(self, program):
        super().__init__(program.values, [*program.row_stores, *program.element_stores])
        self.program, self.loops = program, program.loops
        forms = [access.form for access in self.accesses] + [form for *_, form in self.stores]
        self.simplify(forms)

    def simplify(self, forms):
        """Merge the outer loops among themselves, and the inner ones, which must become one."""
        groups = []
        for first, last in ((0, self.loops.outer), (self.loops.outer, len(self.loops.sizes))):
            kept = [k for k in range(first, last) if self.loops.sizes[k] != 1]
            columns = [[form[k] for form in forms] for k in kept]
            groups.append(merge_all([self.loops.sizes[k] for k in kept], columns))
        outer, inner = groups
        if len(inner) != 1:
            raise NoMap
        self.sizes = [size for size, _ in outer]
        self.length = inner[0][0]
        self.forms = [
            (tuple(column[k] for _, column in outer), inner[0][1][k], form[-1])
            for k, form in enumerate(forms)
        ]

    @property
    def runs_across_memory(self):
        """Whether the rows of an operand lie closer to each other than the elements of one."""
        return any(
            step > 1 and min((factor for factor in outer if factor), default=2) < step
            for outer, step, _ in self.forms[: len(self.accesses)]
        )

    # -------------------------------------------------------------------------------------------- operands
    def kept(self, buffer):
        """Return the element of a buffer that belongs to an element of the row."""
        return f"{buffer}[i]"

    def written(self, statements):
        """Statements with their loads spelled out."""
        return [self.spelled_out(one) for one in statements]

    def spelled_out(self, one):
        if isinstance(one, Kept):
            return Declare(one.kind, one.name, self.kept(one.buffer))
        if isinstance(one, Load):
            place = self.element(f"p{one.access}", one.access)
            return Declare(
                one.kind, one.name, loaded(place, dtype_of(self.accesses[one.access].node))
            )
        return one

    # -------------------------------------------------------------------------------------------- passes
    def elements(self, section, stores, first="0", last="n"):
        """The loop over the elements of a row, which ends with `stores`."""
        return Loop("i", first, last, [*self.written(section.body), *stores], is_innermost=True)

    def direct(self, one, body):
        """Return the pointer to a row that a reduction can fold as it lies in memory, or None."""
        _, reduction, _, _, text = one
        for load in body:
            if isinstance(load, Load) and load.name == text and self.forms[load.access][1] == 1:
                node = self.accesses[load.access].node
                if STORED[dtype_of(node)] == c_type(reduction.dtype):
                    return f"p{load.access}"
        return None

    def pass_of(self, section):
        """The loop of a pass, and the folds after it."""
        direct = {one[2]: self.direct(one, section.body) for one in section.folds}
        buffered = [one for one in section.folds if direct[one[2]] is None]
        lines = self.written(section.row_body)
        if self.length <= BLOCK:
            if buffered:
                stores = [Store(f"{one[3]}[i]", one[4]) for one in buffered]
                lines.append(self.elements(section, stores))
            for _, reduction, name, buffer, _ in section.folds:
                lines.append(self.fold(reduction, name, direct[name] or buffer, "n"))
            return lines
        if buffered:
            stores = [Store(f"{one[3]}[i - start]", one[4]) for one in buffered]
            body = [
                Declare("const int64_t", "stop", f"n - start < {BLOCK} ? n : start + {BLOCK}"),
                self.elements(section, stores, "start", "stop"),
            ]
            for _, reduction, name, buffer, _ in buffered:
                part = self.fold(reduction, f"{name}_part", buffer, "stop - start")
                body += [part, Store(f"{name}_parts[start / {BLOCK}]", part.name)]
            lines.append(Loop("start", "0", "n", body, str(BLOCK)))
        for _, reduction, name, _, _ in section.folds:
            if direct[name]:
                lines.append(self.fold(reduction, name, direct[name], "n"))
            else:
                function, dtype = reduction.of_totals
                call = f"{function}_{dtype}({name}_parts, (n + {BLOCK - 1}) / {BLOCK})"
                lines.append(Declare(f"const {c_type(dtype)}", name, call))
        return lines

    def fold(self, reduction, name, place, count):
        call = f"{reduction.fold.function}_{reduction.dtype}({place}, {count})"
        return Declare(f"const {c_type(reduction.of_totals[1])}", name, call)

    def buffers(self):
        lines = []
        for section in self.program.passes:
            for one in section.folds:
                if self.direct(one, section.body) is not None:
                    continue
                lines.append(Declare(f"{c_type(one[1].dtype)}", f"{one[3]}[{BLOCK}]", ""))
                if self.length > BLOCK:
                    kind = c_type(one[1].of_totals[1])
                    lines.append(Declare(kind, f"{one[2]}_parts[{MOST_BLOCKS}]", ""))
        return lines

    def last_stores(self):
        """Return the stores of what a row has once, and those of its elements."""
        of_rows, of_elements = [], []
        for k, (node, variable, _) in enumerate(self.stores):
            place = self.element(f"q{k}", len(self.accesses) + k)
            stores = of_rows if k < len(self.program.row_stores) else of_elements
            stores.append(Store(place, stored(variable, dtype_of(node))))
        return of_rows, of_elements

    def last_pass(self, section):
        of_rows, of_elements = self.last_stores()
        lines = [*self.written(section.row_body), *of_rows]
        return [*lines, self.elements(section, of_elements)] if of_elements else lines

    # -------------------------------------------------------------------------------------------- the kernel
    def kernels(self, name):
        """Return the one kernel that there is, in a list."""
        self.number("n", self.length)
        sizes = [self.number(f"n{d}", size) for d, size in enumerate(self.sizes)]
        counters = self.counters([f"i{d}" for d in range(len(sizes))], sizes, "begin")
        row = self.pointers()
        for section in self.program.passes[:-1]:
            row += self.pass_of(section)
        row += self.last_pass(self.program.passes[-1])
        row += self.next_row(len(sizes) - 1, sizes)
        head = [
            *self.tensors(),
            *self.declarations,
            *self.values.constants,
            *self.buffers(),
            *counters,
        ]
        body = [*head, Loop("row", "begin", "end", row)]
        return [self.kernel(name, "rows of", body, math.prod(self.sizes), self.length)]
