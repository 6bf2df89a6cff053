"""A group of pointwise ops as instructions for blocks.pyx, where there is no C compiler.

blocks.pyx runs the ops' own loops.

    BlockPartition   which ops become one group
    Program          instructions in an order in which each has its operands, and their places

A group makes results of one shape whose memory is in one order. Operands may be broadcast,
strided or of another type. An op with an operand that lies across the order of the results is a
call, since it reads such an operand in tiles; so are views, fills, reductions and other ops.
"""

from tensorlab._core.dtypes import BY_NAME
from tensorlab.compiler.lowering.fusion import Partition
from tensorlab.compiler.lowering.index_maps import op_name, simplified
from tensorlab.compiler.lowering.parts import is_value
from tensorlab.compiler.lowering.steps import Blocks
from tensorlab.compiler.lowering.values import (
    COMPARE,
    compute_dtype,
    copies,
    dtype_of,
    numel_of,
    shape_of,
    stays_in_memory,
)

ROW_BYTES = 2048  # eight of them are half of an L1 cache; decision 0049 has the measurements


# ---------------------------------------------------------------- groups
class BlockPartition(Partition):
    """The nodes of a graph as steps, of which the groups can run in blocks."""

    def is_inlined(self, node):
        return False

    def source_of(self, node):
        return node

    def may_begin(self, node):
        return runs_in_blocks(node)

    def may_share_loops(self, late, early):
        one, other = late.nodes[0], early.nodes[0]
        return form_of(one) == form_of(other) and shape_of(one) == shape_of(other)

    def is_computable(self, nodes):
        return True

    def is_best_alone(self, node):
        return True


def runs_in_blocks(node):
    """Say whether a node's op has a loop, and operands whose rows can be gathered."""
    if copies(node):
        if not stays_in_memory(node):
            return False
        operands = node.args[:1]
    elif op_name(node) is None or not node.target.is_pointwise or node.target.writes:
        return False
    else:
        operands = node.args
    values = [one for one in operands if is_value(one)]
    numbers = [one for one in operands if isinstance(one, (bool, int, float))]
    if len(values) + len(numbers) < len(operands) or numel_of(node) == 0:
        return False
    return is_dense(node) and all(is_row(*row_of(one, node)) for one in values)


def form_of(node):
    """Return the form of an address (index_maps.py) over a node's own dimensions."""
    strides, shape = node.meta["val"].stride(), shape_of(node)
    return (*(0 if size == 1 else step for step, size in zip(strides, shape, strict=True)), 0)


def is_dense(node):
    """Are the elements next to each other, in any order of the dimensions?"""
    form = form_of(node)
    sizes, ((*strides, _),) = simplified(shape_of(node), [form], form)
    return len(sizes) == 0 or (len(sizes) == 1 and strides == [1])


def row_of(operand, result):
    """Return sizes and strides of an operand over a result's dimensions, in the order of its memory."""
    shape, form = shape_of(result), form_of(result)
    missing = len(shape) - len(shape_of(operand))
    own = (0,) * missing + form_of(operand)
    sizes, ((*strides, _), _) = simplified(shape, [own, form], form)
    return sizes, tuple(strides)


def is_row(sizes, strides):
    """Can it be read along the results' order? Across it, each element has its own cache line."""
    return not strides or strides[-1] in (0, 1)


# ---------------------------------------------------------------- instructions
class Row:
    """A row of a block: where it is, and the last instruction that reads it."""

    def __init__(self, kind, number=None):
        self.kind, self.number = kind, number  # "input", "output", "constant" or "buffer"
        self.last = -1


class Program:
    """Instructions for the outputs of a group; operands are Rows until `place` numbers them."""

    def __init__(self, members, outputs):
        self.members, self.outputs = members, outputs
        self.inputs, self.constants, self.lines = [], [], []
        self.rows = {}
        for node in outputs:
            self.value(node)

    def add(self, row, reads, instruction):
        """Append an instruction, a function of the places of its result and its operands."""
        for one in reads:
            one.last = len(self.lines)
        self.lines.append((row, reads, instruction))
        return row

    def value(self, node):
        """Return the row of a member, in its own type."""
        key = (node, dtype_of(node))
        if key not in self.rows:
            self.rows[key] = self.made(node)
        return self.rows[key]

    def made(self, node):
        stored = dtype_of(node)
        is_output = node in self.outputs
        row = Row("output", self.outputs.index(node)) if is_output else Row("buffer")
        if copies(node):
            return self.copied(node, row)
        compute = compute_dtype(node)
        reads = [self.operand(one, compute, node) for one in node.args]
        made = "bool" if node.target.dtype_rule == COMPARE else compute
        target = row if made == stored else Row("buffer")
        self.add(target, reads, lambda out, places: (node.target, BY_NAME[compute], (out, *places)))
        return row if target is row else self.converted(target, made, row, stored)

    def copied(self, node, row):
        source = node.args[0]
        given = self.operand(source, dtype_of(source), node)
        return self.converted(given, dtype_of(source), row, dtype_of(node))

    def converted(self, source, given, row, wanted):
        return self.add(
            row,
            [source],
            lambda out, places: ("convert", BY_NAME[wanted], BY_NAME[given], out, *places),
        )

    def operand(self, operand, dtype, result):
        """Return the row of an argument in the type `dtype`."""
        # repr: 0.0 is not -0.0, and True is not 1
        key = (operand if is_value(operand) else repr(operand), dtype)
        if key not in self.rows:
            if not is_value(operand):
                self.rows[key] = self.constant(BY_NAME[dtype], operand)
            elif operand in self.members:
                row = self.value(operand)
                if dtype != dtype_of(operand):
                    row = self.converted(row, dtype_of(operand), Row("buffer"), dtype)
                self.rows[key] = row
            else:
                self.rows[key] = self.read(operand, dtype, result)
        return self.rows[key]

    def constant(self, *constant):
        self.constants.append(constant)
        return Row("constant", len(self.constants) - 1)

    def read(self, node, dtype, result):
        """Return the row of an input: where it is, spread from one element, or gathered."""
        if node not in self.inputs:
            self.inputs.append(node)
        k = self.inputs.index(node)
        sizes, strides = row_of(node, result)
        if not any(strides):
            return self.constant(BY_NAME[dtype], None, k)
        if strides == (1,) and dtype_of(node) == dtype:
            return Row("input", k)
        return self.add(
            Row("buffer"),
            [],
            lambda out, places: ("gather", BY_NAME[dtype], sizes, strides, out, k),
        )

    def place(self):
        """Return the instructions with places, and how many buffers they need.

        A buffer is used again when its row has been read for the last time. A result never takes
        the place of an operand: loops need not allow that.
        """
        first = {"input": 0, "output": len(self.inputs)}
        first["constant"] = first["output"] + len(self.outputs)
        first["buffer"] = first["constant"] + len(self.constants)
        instructions, unused, buffers = [], [], 0
        for i, (row, reads, instruction) in enumerate(self.lines):
            if row.kind == "buffer":
                if not unused:
                    unused.append(buffers)
                    buffers += 1
                row.number = unused.pop()
            places = [first[one.kind] + one.number for one in (row, *reads)]
            instructions.append(instruction(places[0], places[1:]))
            unused += {one.number for one in reads if one.kind == "buffer" and one.last == i}
        return instructions, buffers


def block_group(members, outputs):
    """Lower a group."""
    program = Program(members, outputs)
    instructions, buffers = program.place()
    names = ", ".join(dict.fromkeys(op_name(node) for node in members))
    return Blocks(
        names, program.inputs, outputs, program.constants, instructions, buffers, ROW_BYTES
    )
