"""Reductions, and what is computed around them, as one kernel: passes over a row in the cache.

    for each row:                                   the dimensions that are kept
        for each reduction, or several at once:
            what it folds, element by element, into a buffer in the L1 cache
            the fold of the buffer
            what follows from the total, once for the row
        the outputs of each element

What a pass has put into its buffer a later pass takes from there. Rows longer than a buffer go
through it block by block, and then each pass computes its elements again. A single long row is
divided into chunks, so that threads can share it: the kernel makes one total for each, and a second
kernel folds these.
"""

import math

from tensorlab.compiler.lowering import index_maps
from tensorlab.compiler.lowering.c_types import c_type, is_floating, rounded
from tensorlab.compiler.lowering.index_maps import NoMap, op_name
from tensorlab.compiler.lowering.loop_ir import Assign, Declare, Kept, Load
from tensorlab.compiler.lowering.reductions import COUNT, expanded, reduced_dims, reduction_of
from tensorlab.compiler.lowering.stages import WORDS
from tensorlab.compiler.lowering.values import (
    Values,
    dtype_of,
    is_fill,
    numel_of,
    shape_of,
)

BLOCK = 4096  # elements of a buffer
MOST_BLOCKS = 4096
MOST_REDUCTIONS = 16  # each has a buffer on the stack


class RowLoops:
    """The loops over the kept dimensions and then over the reduced ones, and what a step of each means.

    `whole` are the strides of a row-major tensor of all elements, `kept` those of one that has an element for each row.
    """

    def __init__(self, shape, dims):
        kept = [d for d in range(len(shape)) if d not in dims]
        order = [*kept, *dims]
        strides = index_maps.row_major_strides(shape)
        self.sizes = tuple(shape[d] for d in order)
        self.whole = tuple(strides[d] for d in order)
        self.kept = (*index_maps.row_major_strides([shape[d] for d in kept]), *(0 for _ in dims))
        self.outer = len(kept)

    def cut(self, loop, inner):
        self.sizes = index_maps.cut(self.sizes, loop, inner)
        for name in ("whole", "kept"):
            strides = getattr(self, name)
            step = strides[loop]
            setattr(self, name, (*strides[:loop], step * inner, step, *strides[loop + 1 :]))
        self.outer += loop < self.outer

    def whole_map(self, shape):
        return index_maps.split_flat((*self.whole, 0), shape, self.sizes)

    def row_map(self, shape):
        return index_maps.split_flat((*self.kept, 0), shape, self.sizes)

    @property
    def length(self):
        return math.prod(self.sizes[self.outer :])

    @property
    def rows(self):
        return math.prod(self.sizes[: self.outer])


class RowValues(Values):
    """Values of two kinds: of an element, in the body of a loop, and of a row, which are computed once before it."""

    def __init__(self, loops, members, expansions):
        super().__init__(loops.sizes, members)
        self.row_loops, self.expansions = loops, expansions
        self.row_body, self.totals, self.buffers = [], {}, {}

    def begin_pass(self):
        """Forget the values of elements: they belong to the loop of the last pass."""
        names = {one.name for one in self.body}
        self.known = {key: name for key, name in self.known.items() if name not in names}
        self.body = []

    def place(self, text):
        names = {one.name for one in self.body}
        is_of_element = any(word in names for word in WORDS.findall(text))
        return self.body if is_of_element else self.row_body

    def place_of_load(self, form):
        return self.body if any(form[self.row_loops.outer : -1]) else self.row_body

    def make(self, node, index_map):
        if (node, index_map) in self.buffers:
            name = self.new_name("kept")
            kind = f"const {c_type(dtype_of(node))}"
            self.body.append(Kept(kind, name, self.buffers[node, index_map]))
            return name
        if node in self.totals:
            if index_map != self.row_loops.row_map(shape_of(node)):
                raise NoMap
            return self.totals[node]
        if node in self.expansions:
            return self.get(self.expansions[node], index_map)
        return super().make(node, index_map)

    def compute(self, node, index_map):
        variable = super().compute(node, index_map)
        if variable in self.exact:  # without the block-wise check of pointwise.py
            for body in (self.body, self.row_body):
                body[:] = [self.exact_form(one) for one in body if not isinstance(one, Assign)]
        return variable

    def exact_form(self, one):
        value = self.exact.get(one.name)
        return one if value is None else Declare(one.kind, one.name, value, one.comment)


class Pass:
    """One loop over a row: statements before it, those of an element, the reductions that fold its values."""

    def __init__(self, row_body, body, folds):
        self.row_body, self.body, self.folds = row_body, body, folds


class RowProgram:
    """What a row kernel does, before its loops are written.

    Rows of more than `most_kept` elements leave no buffers.

    Raises
    ------
    NoMap
        If the nodes cannot be one row kernel.
    """

    def __init__(self, nodes, outputs, most_kept=BLOCK):
        shape, dims = next(found for found in map(reduced_dims, nodes) if found)
        self.outputs, self.most_kept = outputs, most_kept
        self.expansions = {node: one for node in nodes if (one := expanded(node)) is not None}
        self.members = Members(nodes)
        self.levels, self.reductions = {}, {}
        for node in outputs:
            self.level_of(node)
        self.loops = RowLoops(shape, dims)
        if (
            not 1 < self.loops.length <= BLOCK * MOST_BLOCKS
            or len(self.reductions) > MOST_REDUCTIONS
        ):
            raise NoMap
        while True:
            try:
                self.build()
                return
            except index_maps.CutLoop as request:
                self.loops.cut(request.loop, request.inner)

    def level_of(self, node):
        """Count the passes that must be over before a node's value can be computed."""
        if node not in self.levels:
            self.levels[node] = self.find_level(node)
        return self.levels[node]

    def find_level(self, node):
        if node in self.expansions:
            return self.level_of(self.expansions[node])
        source = index_maps.view_source(node)
        if source is not None:
            return self.level_of(source)
        if node not in self.members or is_fill(node):
            return 0
        reduction = reduction_of(node)
        if reduction is not None:
            level = self.level_of(reduction.source) + 1
            self.reductions[node] = reduction
            return level
        return max(self.level_of(one) for one in node.all_input_nodes)

    def build(self):
        loops = self.loops
        values = self.values = RowValues(loops, self.members, self.expansions)
        self.passes, self.folded = [], 0
        deepest = max((self.levels[node] for node in self.reductions), default=0)
        for level in range(1, deepest + 1):
            values.begin_pass()
            folds = []
            for node, reduction in self.reductions.items():
                if self.levels[node] == level:
                    folds.append(self.fold(node, reduction))
            self.passes.append(Pass(values.row_body, values.body, folds))
            values.row_body = []
            loads = {one.name for one in values.body if isinstance(one, Load)}
            for node, reduction, name, buffer, text in folds:
                self.finish(node, reduction, name, buffer, text in loads)
        self.last()

    def fold(self, node, reduction):
        """Evaluate what a reduction folds."""
        values, source = self.values, reduction.source
        own = self.loops.whole_map(shape_of(source))
        text = values.operand(source, own, reduction.dtype)
        self.folded += 1
        return node, reduction, values.new_name(op_name(node)), f"buffer{self.folded}", text

    def finish(self, node, reduction, name, buffer, is_load):
        """Make the result from the total, and remember what the buffer holds."""
        values, dtype = self.values, dtype_of(node)
        text = reduction.fold.final.format(total=name, type=c_type(reduction.dtype), count="n")
        if c_type(dtype) != c_type(reduction.dtype) and reduction.fold is not COUNT:
            text = f"({c_type(dtype)}){text}"
        text = rounded(text, dtype) if is_floating(dtype) else text
        if text != name:
            result = values.new_name(f"{op_name(node)}_of_row")
            values.row_body.append(Declare(f"const {c_type(dtype)}", result, text))
            name = result
        values.totals[node] = name
        same_type = reduction.dtype == dtype_of(reduction.source)
        if self.loops.length <= self.most_kept and same_type and not is_load:
            key = (reduction.source, self.loops.whole_map(shape_of(reduction.source)))
            values.buffers[key] = buffer

    def last(self):
        """The pass that writes outputs."""
        values, loops = self.values, self.loops
        values.begin_pass()
        self.row_stores, self.element_stores = [], []
        for node in self.outputs:
            size, is_of_row = numel_of(node), self.is_of_row(node)
            if size != (loops.rows if is_of_row else loops.rows * loops.length):
                raise NoMap
            own = loops.row_map(shape_of(node)) if is_of_row else loops.whole_map(shape_of(node))
            form = index_maps.address(own, node.meta["val"].stride(), loops.sizes)
            variable = values.get(node, own)
            (self.row_stores if is_of_row else self.element_stores).append((node, variable, form))
        self.passes.append(Pass(values.row_body, values.body, []))

    def is_of_row(self, node):
        return numel_of(node) == self.loops.rows


class Members(set):
    """The nodes of a group; the parts of expanded ops belong to it as well."""

    def __contains__(self, node):
        return set.__contains__(self, node) or not hasattr(node, "graph")
