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
from tensorlab.compiler.lowering.c_types import STORED, loaded, stored
from tensorlab.compiler.lowering.helpers import helpers_for
from tensorlab.compiler.lowering.index_maps import op_name
from tensorlab.compiler.lowering.loop_ir import Assign, Declare, Function, If, Load, Loop, Store
from tensorlab.compiler.lowering.stages import divide
from tensorlab.compiler.lowering.steps import Kernel
from tensorlab.compiler.lowering.values import Values, dtype_of, numel_of, shape_of

BLOCK = 512  # elements that are checked together for arguments that need a slower function
SMALL = 16384  # elements of tensors that stay in the cache whatever their order is
WORK_OF_A_THREAD = 131072  # additions that make a thread worth starting
INCLUDES = '#include "tl_math.h"\n'
HALF_INCLUDE = '#include "half.h"\n'


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


class Layout:
    """The loops of a kernel after ordering and merging, and the numbers that it is handed."""

    def __init__(self, loops, forms):
        order_by = forms[-1] if forms else ()
        self.sizes, self.forms = index_maps.simplified(loops, forms, order_by)
        self.numbers = []
        self.declarations = []

    def number(self, name, value):
        self.declarations.append(Declare("const int64_t", name, f"numbers[{len(self.numbers)}]"))
        self.numbers.append(value)
        return name

    @property
    def is_flat(self):
        return len(self.sizes) <= 1


def pointwise_kernel(name, members, outputs):
    """Lower a group whose `outputs` all have the same number of elements."""
    values, stores = evaluate(members, outputs, shape_of(outputs[0]))
    inputs = list(dict.fromkeys(access.node for access in values.accesses))
    forms = [access.form for access in values.accesses] + [form for *_, form in reversed(stores)]
    layout = Layout(values.loops, forms)
    writer = Writer(values, stores, inputs, layout)
    function = Function(name, writer.comment(), writer.body())
    count = numel_of(outputs[0])
    grain = max(1024, WORK_OF_A_THREAD // max(values.cost + len(stores), 1))
    return Kernel(
        name, inputs, outputs, layout.numbers, count, grain, with_helpers(function.text())
    )


def with_helpers(text):
    """Put in front of a kernel what it calls."""
    helpers = helpers_for(text)
    half = (
        HALF_INCLUDE if "_of_half(" in text or "_of_bfloat(" in text or "_of_float(" in text else ""
    )
    return f"{INCLUDES}{half}\n{helpers}\n{text}"


def loops(first, last, stages):
    return [Loop("i", first, last, stage, is_innermost=True) for stage in stages]


class Writer:
    """Writes the loops around a group's values."""

    def __init__(self, values, stores, inputs, layout):
        self.values, self.stores, self.inputs, self.layout = values, stores, inputs, layout
        self.depth = len(layout.sizes)
        self.accesses = list(values.accesses)
        self.load_forms = layout.forms[: len(values.accesses)]
        self.store_forms = layout.forms[len(values.accesses) :][::-1]
        self.strides = {}  # of an operand whose innermost stride is neither 0 nor 1
        self.hoisted = []

    def comment(self):
        outputs = ", ".join(f"{op_name(node)}" for node, *_ in self.stores)
        return [f"Makes {outputs} of shape {list(shape_of(self.stores[0][0]))}."]

    # -------------------------------------------------------------------------------------------- operands
    def pointers(self):
        lines = []
        for k, node in enumerate(self.inputs):
            kind = STORED[dtype_of(node)]
            lines.append(Declare(f"const {kind} *restrict", f"in{k}", f"tensors[{k}]"))
        for k, (node, *_) in enumerate(self.stores):
            place = f"tensors[{len(self.inputs) + k}]"
            lines.append(Declare(f"{STORED[dtype_of(node)]} *restrict", f"out{k}", place))
        return lines

    def operands(self):
        """Yield (name of the row's pointer, kind of its pointer, tensor, form) of each load and store."""
        for k, (access, form) in enumerate(zip(self.accesses, self.load_forms, strict=True)):
            kind = f"const {STORED[dtype_of(access.node)]} *restrict"
            yield f"p{k}", kind, f"in{self.inputs.index(access.node)}", form
        for k, ((node, *_), form) in enumerate(zip(self.stores, self.store_forms, strict=True)):
            yield f"q{k}", f"{STORED[dtype_of(node)]} *restrict", f"out{k}", form

    def row_pointers(self):
        lines = []
        for name, kind, tensor, form in self.operands():
            terms = [tensor]
            if form[-1]:
                terms.append(self.layout.number(f"{name}_offset", form[-1]))
            for d, factor in enumerate(form[: max(self.depth - 1, 0)]):
                if factor:
                    terms.append(f"i{d} * {self.layout.number(f'{name}_stride{d}', factor)}")
            if self.depth and form[self.depth - 1] not in (0, 1):
                self.strides[name] = self.layout.number(f"{name}_step", form[self.depth - 1])
            lines.append(Declare(kind, name, " + ".join(terms)))
        return lines

    def element(self, name, form):
        """Return an operand's element of the innermost loop."""
        if not self.depth or form[self.depth - 1] == 0:
            return f"{name}[0]"
        return f"{name}[i * {self.strides[name]}]" if name in self.strides else f"{name}[i]"

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
        for k, ((node, variable, _), form) in enumerate(
            zip(self.stores, self.store_forms, strict=True)
        ):
            result.append(Store(self.element(f"q{k}", form), stored(variable, dtype_of(node))))
        return result

    def load(self, one, exact):
        form, node = self.load_forms[one.access], self.accesses[one.access].node
        place = loaded(self.element(f"p{one.access}", form), dtype_of(node))
        if self.depth and form[self.depth - 1] == 0:  # one element for the whole row
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
        if self.depth <= 1:
            rows = self.row_pointers()
            loop = self.innermost("begin", "end")
            head = [*self.pointers(), *self.layout.declarations, *self.values.constants]
            return [*head, *rows, *self.hoisted, *loop]
        outer = self.depth - 1
        sizes = [self.layout.number(f"n{d}", size) for d, size in enumerate(self.layout.sizes)]
        counters, rest = [], "begin"
        for d in range(outer, -1, -1):
            name = f"i{d}" if d < outer else "first"
            counters.append(Declare("int64_t", name, f"{rest} % {sizes[d]}" if d else rest))
            rest = f"{rest} / {sizes[d]}"
        rows = self.row_pointers()
        loop = self.innermost("first", "last")
        left = f"end - at < {sizes[outer]} - first ? first + (end - at) : {sizes[outer]}"
        advance = [
            Assign("at", "last - first", "+="),
            Assign("first", "0"),
            *self.next_row(outer - 1, sizes),
        ]
        row = [*rows, *self.hoisted, Declare("const int64_t", "last", left), *loop, *advance]
        head = [*self.pointers(), *self.layout.declarations, *self.values.constants, *counters]
        return [*head, Loop("at", "begin", "end", row, "")]

    def next_row(self, d, sizes):
        """Count the outer loops up: the last one first, with carry."""
        if d == 0:
            return [Assign("i0", "1", "+=")]
        carry = If(f"++i{d} == {sizes[d]}", [Assign(f"i{d}", "0"), *self.next_row(d - 1, sizes)])
        return [carry]
