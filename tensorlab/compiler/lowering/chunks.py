"""A single long row in parts: a kernel folds each chunk, and a second one folds the totals.

Chunks do not depend on the number of threads, so neither does the result.
"""

from tensorlab._core.dtypes import BY_NAME
from tensorlab.compiler.lowering.c_types import STORED, c_type, stored
from tensorlab.compiler.lowering.index_maps import NoMap
from tensorlab.compiler.lowering.loop_ir import Declare, Function, Load, Loop, Store
from tensorlab.compiler.lowering.reductions import meta_vector
from tensorlab.compiler.lowering.row_kernels import RowWriter
from tensorlab.compiler.lowering.rows import BLOCK, RowProgram
from tensorlab.compiler.lowering.side_by_side import KEPT, SideBySideWriter, rows_side_by_side
from tensorlab.compiler.lowering.stages import waits
from tensorlab.compiler.lowering.steps import Kernel
from tensorlab.compiler.lowering.values import dtype_of
from tensorlab.compiler.lowering.writer import WORK_OF_A_THREAD, with_helpers


class Scratch:
    """Memory that one kernel writes and the next one reads. It has what a node of the graph has of a result."""

    def __init__(self, name, size, dtype):
        self.name = name
        self.meta = {"val": meta_vector(size, BY_NAME[dtype])}

    def __repr__(self):
        return self.name


class ChunkWriter(RowWriter):
    """The two kernels of a row program with one long row.

    Raises
    ------
    NoMap
        If a second pass over the row would be needed.
    """

    def __init__(self, program):
        super().__init__(program)
        levels = program.levels
        is_deep = len(program.passes) != 2 or any(
            levels[node] for node, *_ in program.element_stores
        )
        # an element far from the next one: also a row that runs across memory
        if is_deep or any(form[1] not in (0, 1) for form in self.forms):
            raise NoMap

    def kernels(self, name):
        """Return the kernel of the chunks and that of the totals."""
        program = self.program
        chunks = -(-self.length // BLOCK)
        folds = program.passes[0].folds
        scratch = [Scratch(f"totals_of_{one[2]}", chunks, one[1].of_totals[1]) for one in folds]
        return [self.of_chunks(name, chunks, scratch), self.of_totals(name, chunks, scratch)]

    def of_chunks(self, name, chunks, scratch):
        self.numbers, self.declarations = [], []
        size = self.number("size", self.length)
        first, last = self.program.passes
        inputs = list(dict.fromkeys(access.node for access in self.accesses))
        kept = range(len(self.program.row_stores), len(self.stores))
        outputs = [*scratch, *(self.stores[k][0] for k in kept)]
        lines = []
        for k, access in enumerate(self.accesses):
            kind = f"const {STORED[dtype_of(access.node)]} *restrict"
            lines.append(
                Declare(
                    kind, f"p{k}", self.start_of(f"tensors[{inputs.index(access.node)}]", kind, k)
                )
            )
        for place, k in enumerate(kept, len(inputs) + len(scratch)):
            kind = f"{STORED[dtype_of(self.stores[k][0])]} *restrict"
            lines.append(
                Declare(
                    kind, f"q{k}", self.start_of(f"tensors[{place}]", kind, len(self.accesses) + k)
                )
            )
        whole, self.length = self.length, BLOCK  # of which pass_of makes one block
        lines += self.pass_of(first)
        buffers = self.buffers()
        self.length = whole
        totals = []
        for k, one in enumerate(first.folds):
            kind = STORED[one[1].of_totals[1]]
            totals.append(Declare(f"{kind} *restrict", f"totals{k}", f"tensors[{len(inputs) + k}]"))
            lines.append(Store(f"totals{k}[chunk]", one[2]))
        if kept:
            lines.append(self.elements(last, self.last_stores()[1]))
        body = [
            Declare("const int64_t", "first", f"chunk * {BLOCK}"),
            Declare("const int64_t", "n", f"{size} - first < {BLOCK} ? {size} - first : {BLOCK}"),
            *lines,
        ]
        head = [*self.declarations, *self.values.constants, *totals, *buffers]
        function = Function(
            name, ["Folds a long row chunk by chunk."], [*head, Loop("chunk", "begin", "end", body)]
        )
        cost = (self.values.cost + len(outputs)) * BLOCK
        grain = max(1, WORK_OF_A_THREAD // cost)
        return Kernel(name, inputs, outputs, self.numbers, chunks, grain, with_helpers(function))

    def start_of(self, tensor, kind, k):
        _, step, offset = self.forms[k]
        terms = [f"({kind}){tensor}"]
        if offset:
            terms.append(self.number(f"offset{k}", offset))
        if step:
            terms.append("first")
        return " + ".join(terms)

    def of_totals(self, name, chunks, scratch):
        self.numbers, self.declarations = [], []
        self.number("n", self.length)
        count = self.number("chunks", chunks)
        first, last = self.program.passes
        lines = []
        for k, (one, place) in enumerate(zip(first.folds, scratch, strict=True)):
            reduction, dtype = one[1], dtype_of(place)
            kind = STORED[dtype]
            lines.append(Declare(f"const {kind} *restrict", f"totals{k}", f"tensors[{k}]"))
            call = f"{reduction.of_totals[0]}_{dtype}(totals{k}, {count})"
            lines.append(Declare(f"const {c_type(dtype)}", one[2], call))
        row_loads = [
            one.access
            for section in (first, last)
            for one in section.row_body
            if isinstance(one, Load)
        ]
        inputs = list(dict.fromkeys([*scratch, *(self.accesses[k].node for k in row_loads)]))
        for k in dict.fromkeys(row_loads):
            node = self.accesses[k].node
            kind = f"const {STORED[dtype_of(node)]} *restrict"
            start = f"({kind})tensors[{inputs.index(node)}]"
            offset = self.forms[k][2]
            lines.append(
                Declare(
                    kind,
                    f"p{k}",
                    f"{start} + {self.number(f'offset{k}', offset)}" if offset else start,
                )
            )
        lines += self.written(first.row_body) + self.written(last.row_body)
        outputs = [node for node, *_ in self.program.row_stores]
        for k, (node, variable, _) in enumerate(self.program.row_stores):
            place = f"tensors[{len(inputs) + k}]"
            lines.append(Declare(f"{STORED[dtype_of(node)]} *restrict", f"q{k}", place))
            lines.append(Store(f"q{k}[0]", stored(variable, dtype_of(node))))
        head = [*self.declarations, *self.values.constants]
        function = Function(f"{name}_total", ["Folds the totals of chunks."], [*head, *lines])
        source = with_helpers(function)
        return Kernel(f"{name}_total", inputs, outputs, self.numbers, 1, 1, source)


def row_kernels(name, nodes, outputs):
    """Lower a group with reductions: to one kernel, or to two if the only row is long.

    Raises
    ------
    NoMap
        If the group cannot be lowered so.
    """
    return writer_of(nodes, outputs).kernels(name)


def writer_of(nodes, outputs):
    """Choose how a group is written, without doing it."""
    program = RowProgram(nodes, outputs)
    if program.loops.rows == 1 and program.loops.length > 2 * BLOCK:
        return ChunkWriter(program)
    writer = RowWriter(program)
    if block := rows_side_by_side(writer):
        return SideBySideWriter(RowProgram(nodes, outputs, KEPT // block), block)
    if writer.runs_across_memory:
        raise NoMap  # the eager kernels go through such rows in tiles
    return writer


def is_row_group(nodes):
    """Can these nodes be lowered so, each result an output?

    Not with a costly function of another one's result in a pass: that is for the stages of a pointwise kernel.
    """
    try:
        program = writer_of(nodes, nodes).program
    except NoMap:
        return False
    return not any(waits(one.body, program.values.costly) for one in program.passes)
