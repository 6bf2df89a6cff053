"""Writes the loops around the passes of rows.py."""

import math

from tensorlab.compiler.lowering.c_types import STORED, c_type, loaded, stored
from tensorlab.compiler.lowering.index_maps import NoMap, merge_all, op_name
from tensorlab.compiler.lowering.loop_ir import (
    Assign,
    Declare,
    Function,
    If,
    Kept,
    Load,
    Loop,
    Store,
)
from tensorlab.compiler.lowering.pointwise import WORK_OF_A_THREAD, with_helpers
from tensorlab.compiler.lowering.rows import BLOCK, MOST_BLOCKS
from tensorlab.compiler.lowering.steps import Kernel
from tensorlab.compiler.lowering.values import dtype_of, shape_of


class RowWriter:
    """One kernel of a row program."""

    def __init__(self, program):
        self.program, self.values, self.loops = program, program.values, program.loops
        self.accesses = list(self.values.accesses)
        self.stores = [*program.row_stores, *program.element_stores]
        self.inputs = list(dict.fromkeys(access.node for access in self.accesses))
        self.outputs = [node for node, *_ in self.stores]
        self.numbers, self.declarations, self.strides = [], [], {}
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
    def number(self, name, value):
        self.declarations.append(Declare("const int64_t", name, f"numbers[{len(self.numbers)}]"))
        self.numbers.append(value)
        return name

    def tensors(self):
        lines = []
        for k, node in enumerate(self.inputs):
            kind = f"const {STORED[dtype_of(node)]} *restrict"
            lines.append(Declare(kind, f"in{k}", f"tensors[{k}]"))
        for k, node in enumerate(self.outputs):
            place = f"tensors[{len(self.inputs) + k}]"
            lines.append(Declare(f"{STORED[dtype_of(node)]} *restrict", f"out{k}", place))
        return lines

    def name_of(self, k):
        """Return the name of the pointer of load or store number k."""
        return f"p{k}" if k < len(self.accesses) else f"q{k - len(self.accesses)}"

    def pointers(self):
        """Pointers to where an operand's row begins."""
        lines = []
        for k, (factors, step, offset) in enumerate(self.forms):
            is_store = k >= len(self.accesses)
            j = k - len(self.accesses)
            name = self.name_of(k)
            node = self.outputs[j] if is_store else self.accesses[k].node
            terms = [f"out{j}" if is_store else f"in{self.inputs.index(node)}"]
            if offset:
                terms.append(self.number(f"{name}_offset", offset))
            for d, factor in enumerate(factors):
                if factor:
                    terms.append(f"i{d} * {self.number(f'{name}_stride{d}', factor)}")
            if step not in (0, 1):
                self.strides[name] = self.number(f"{name}_step", step)
            kind = f"{'' if is_store else 'const '}{STORED[dtype_of(node)]} *restrict"
            lines.append(Declare(kind, name, " + ".join(terms)))
        return lines

    def element(self, name, k):
        step = self.forms[k][1]
        if step == 0:
            return f"{name}[0]"
        return f"{name}[i * {self.strides[name]}]" if name in self.strides else f"{name}[i]"

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
                lines.append(
                    Loop("i", "0", "n", [*self.written(section.body), *stores], is_innermost=True)
                )
            for _, reduction, name, buffer, _ in section.folds:
                lines.append(self.fold(reduction, name, direct[name] or buffer, "n"))
            return lines
        if buffered:
            stores = [Store(f"{one[3]}[i - start]", one[4]) for one in buffered]
            body = [
                Declare("const int64_t", "stop", f"n - start < {BLOCK} ? n : start + {BLOCK}"),
                Loop(
                    "i", "start", "stop", [*self.written(section.body), *stores], is_innermost=True
                ),
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

    def last_pass(self, section):
        lines = self.written(section.row_body)
        count = len(self.accesses)
        for k, (node, variable, _) in enumerate(self.stores):
            if k < len(self.program.row_stores):
                lines.append(Store(f"q{k}[0]", stored(variable, dtype_of(node))))
        stores = [
            Store(self.element(f"q{k}", count + k), stored(variable, dtype_of(node)))
            for k, (node, variable, _) in enumerate(self.stores)
            if k >= len(self.program.row_stores)
        ]
        if stores:
            lines.append(
                Loop("i", "0", "n", [*self.written(section.body), *stores], is_innermost=True)
            )
        return lines

    # -------------------------------------------------------------------------------------------- the kernel
    def kernels(self, name):
        """Return the one kernel that there is, in a list."""
        self.number("n", self.length)
        counters, rest = [], "begin"
        sizes = [self.number(f"n{d}", size) for d, size in enumerate(self.sizes)]
        for d in range(len(sizes) - 1, -1, -1):
            counters.append(Declare("int64_t", f"i{d}", f"{rest} % {sizes[d]}" if d else rest))
            rest = f"{rest} / {sizes[d]}"
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
        return [self.kernel(name, body, math.prod(self.sizes), self.length)]

    def kernel(self, name, body, count, elements):
        """The kernel of these statements, with `count` indices, of so many elements each."""
        made = ", ".join(op_name(node) for node in self.outputs)
        comment = f"Makes {made} of rows of {list(shape_of(self.outputs[0]))}."
        source = with_helpers(Function(name, [comment], body).text())
        cost = (self.values.cost + len(self.stores)) * elements
        grain = max(1, WORK_OF_A_THREAD // max(cost, 1))
        return Kernel(name, self.inputs, self.outputs, self.numbers, count, grain, source)

    def next_row(self, d, sizes):
        """Count the outer loops up: the last one first, with carry."""
        if d < 0:
            return []
        if d == 0:
            return [Assign("i0", "1", "+=")]
        return [If(f"++i{d} == {sizes[d]}", [Assign(f"i{d}", "0"), *self.next_row(d - 1, sizes)])]
