"""What the kernels of pointwise.py and row_kernels.py share: what they are handed, and their outer loops."""

from tensorlab.compiler.lowering.c_types import STORED
from tensorlab.compiler.lowering.helpers import helpers_for
from tensorlab.compiler.lowering.index_maps import op_name
from tensorlab.compiler.lowering.loop_ir import Assign, Declare, Function, If
from tensorlab.compiler.lowering.steps import Kernel
from tensorlab.compiler.lowering.values import dtype_of, shape_of

WORK_OF_A_THREAD = 131072  # additions that make a thread worth starting
INCLUDES = '#include "tl_math.h"\n'
HALF_INCLUDE = '#include "half.h"\n'


def with_helpers(function):
    """Return the source of a kernel, and in front of it what it calls."""
    text = function.text()
    half = (
        HALF_INCLUDE if "_of_half(" in text or "_of_bfloat(" in text or "_of_float(" in text else ""
    )
    return f"{INCLUDES}{half}\n{helpers_for(text)}\n{text}"


class KernelWriter:
    """Writes the loops around a group's values.

    A subclass sets `forms`: of each load and then of each store, the factors of the outer
    counters, the step of the innermost one, and the offset.
    """

    def __init__(self, values, stores):
        self.values, self.stores = values, stores
        self.accesses = list(values.accesses)
        self.inputs = list(dict.fromkeys(access.node for access in self.accesses))
        self.outputs = [node for node, *_ in stores]
        self.numbers, self.declarations = [], []
        self.strides = {}  # of an operand whose innermost stride is neither 0 nor 1

    def number(self, name, value):
        """Return the name of a number that the kernel is handed."""
        self.declarations.append(Declare("const int64_t", name, f"numbers[{len(self.numbers)}]"))
        self.numbers.append(value)
        return name

    def tensors(self):
        """Declarations of the memory of the inputs and outputs."""
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
        """Return the element of load or store number k in the innermost loop."""
        if self.forms[k][1] == 0:
            return f"{name}[0]"
        return f"{name}[i * {self.strides[name]}]" if name in self.strides else f"{name}[i]"

    def counters(self, names, sizes, rest, kind="int64_t"):
        """Take the number `rest` of a row, or of an element, apart into the counters of the loops."""
        lines = []
        for d in range(len(names) - 1, -1, -1):
            lines.append(Declare(kind, names[d], f"{rest} % {sizes[d]}" if d else rest))
            rest = f"{rest} / {sizes[d]}"
        return lines

    def next_row(self, d, sizes):
        """Count the outer loops up: the last one first, with carry."""
        if d < 0:
            return []
        if d == 0:
            return [Assign("i0", "1", "+=")]
        return [If(f"++i{d} == {sizes[d]}", [Assign(f"i{d}", "0"), *self.next_row(d - 1, sizes)])]

    def kernel(self, name, what, body, count, elements=1, least=1):
        """The kernel of these statements, with `count` indices, of so many elements each."""
        made = ", ".join(op_name(node) for node in self.outputs)
        comment = f"Makes {made} of {what} {list(shape_of(self.outputs[0]))}."
        source = with_helpers(Function(name, [comment], body))
        cost = max((self.values.cost + len(self.stores)) * elements, 1)
        grain = max(least, WORK_OF_A_THREAD // cost)
        return Kernel(name, self.inputs, self.outputs, self.numbers, count, grain, source)
