"""A group of pointwise ops as one kernel: loops over the outputs' elements in which each value is a variable.

    for each row:                         the outer loops, by counters
        pointers to each operand's row
        for each element of the row:      the innermost loop, which the compiler turns into SIMD code
            loads, what the ops compute, stores

The loops are those of the outputs' shape, cut where a view inside the group needs it, then ordered
and merged as iterator.pyx does it. The kernel may be given any range of elements. Sizes and strides
are numbers, so kernels that differ in them alone are one; only whether an innermost stride is 1 or
0 is part of the source.
"""

import math
from dataclasses import replace

from tensorlab.compiler.lowering import index_maps
from tensorlab.compiler.lowering.c_types import loaded, stored
from tensorlab.compiler.lowering.loop_ir import Assign, Declare, If, Load, Loop, Store
from tensorlab.compiler.lowering.stages import divide
from tensorlab.compiler.lowering.values import Values, dtype_of, numel_of, shape_of
from tensorlab.compiler.lowering.writer import KernelWriter

BLOCK = 512  # elements that are checked together for arguments that need a slower function
SMALL = 16384  # elements of tensors that stay in the cache whatever their order is


def evaluate(members, outputs, shape):
    """Compute all outputs; returns the Values, and for each output its variable and the form of its address."""
    loops = shape
    while True:
        values = Values(loops, members)
        stores = []
        try:
            for node in outputs:
                own = index_maps.loop_map(shape_of(node), loops)
                form = index_maps.address(own, node.meta["val"].stride(), loops)
                stores.append((node, values.get(node, own), form))
            return values, stores
        except index_maps.CutLoop as request:
            loops = index_maps.cut(loops, request.loop, request.inner)


def runs_across_memory(values, stores):
    """Say whether an operand of a large kernel lies in another order than the first output.

    Each element that the innermost loop reads of it is in another cache line; the eager kernels go
    through such operands in tiles.
    """
    forms = [*(access.form for access in values.accesses), *(form for *_, form in reversed(stores))]
    sizes, forms = index_maps.simplified(values.loops, forms, forms[-1])
    if math.prod(sizes) <= SMALL:
        return False
    return any(
        form[len(sizes) - 1] > 1 and any(0 < factor < form[len(sizes) - 1] for factor in form[:-2])
        for form in forms
    )


def pointwise_kernel(name, members, outputs):
    """Lower a group whose `outputs` all have the same number of elements."""
    writer = Writer(*evaluate(members, outputs, shape_of(outputs[0])))
    return writer.kernel(name, "shape", writer.body(), numel_of(outputs[0]), least=1024)


def loops(first, last, stages):
    return [Loop("i", first, last, stage, is_innermost=True) for stage in stages]


class Writer(KernelWriter):
    """Writes the loops around values that all have the same number of elements."""

    def __init__(self, values, stores):
        super().__init__(values, stores)
        loads = [access.form for access in self.accesses]
        forms = [*loads, *(form for *_, form in reversed(stores))]
        self.sizes, forms = index_maps.simplified(values.loops, forms, forms[-1])
        outer = max(len(self.sizes) - 1, 0)
        self.forms = [
            (form[:outer], form[outer] if self.sizes else 0, form[-1])
            for form in (*forms[: len(loads)], *reversed(forms[len(loads) :]))
        ]
        self.hoisted = []

    # -------------------------------------------------------------------------------------------- statements
    def statements(self, exact):
        """The body of the innermost loop; `exact` takes the slower functions that are right for every argument."""
        result = []
        for one in self.values.body:
            if isinstance(one, Assign) and exact:
                continue
            if isinstance(one, Load):
                one = self.load(one, exact)
            elif exact and one.name in self.values.exact:
                one = replace(one, value=self.values.exact[one.name])
            if one is not None:
                result.append(one)
        for k, (node, variable, _) in enumerate(self.stores):
            place = self.element(f"q{k}", len(self.accesses) + k)
            result.append(Store(place, stored(variable, dtype_of(node))))
        return result

    def load(self, one, exact):
        k = one.access
        place = loaded(self.element(f"p{k}", k), dtype_of(self.accesses[k].node))
        if self.sizes and self.forms[k][1] == 0:  # one element for the whole row
            if not exact:
                self.hoisted.append(Declare(one.kind, one.name, place))
            return None
        return Declare(one.kind, one.name, place)

    def innermost(self, first, last):
        stages, arrays = divide(self.statements(False), self.values.costly, BLOCK)
        if not self.values.guards and len(stages) == 1:
            return loops(first, last, stages)
        block = [
            Declare("const int64_t", "stop", f"{last} - start < {BLOCK} ? {last} : start + {BLOCK}")
        ]
        if not self.values.guards:
            block += [*arrays, *loops("start", "stop", stages)]
        else:
            exact, _ = divide(self.statements(True), self.values.costly, BLOCK)
            block += [
                Declare("int", "is_unusual", "0"),
                *arrays,
                *loops("start", "stop", stages),
                If("is_unusual", loops("start", "stop", exact)),
            ]
        return [Loop("start", first, last, block, str(BLOCK))]

    def body(self):
        if len(self.sizes) <= 1:
            rows = self.pointers()
            loop = self.innermost("begin", "end")
            head = [*self.tensors(), *self.declarations, *self.values.constants]
            return [*head, *rows, *self.hoisted, *loop]
        outer = len(self.sizes) - 1
        sizes = [self.number(f"n{d}", size) for d, size in enumerate(self.sizes)]
        counters = self.counters([*(f"i{d}" for d in range(outer)), "first"], sizes, "begin")
        rows = self.pointers()
        loop = self.innermost("first", "last")
        left = f"end - at < {sizes[outer]} - first ? first + (end - at) : {sizes[outer]}"
        advance = [
            Assign("at", "last - first", "+="),
            Assign("first", "0"),
            *self.next_row(outer - 1, sizes),
        ]
        row = [*rows, *self.hoisted, Declare("const int64_t", "last", left), *loop, *advance]
        head = [*self.tensors(), *self.declarations, *self.values.constants, *counters]
        return [*head, Loop("at", "begin", "end", row, "")]
