"""The step of a plan that needs no compiler: the loops of several pointwise ops on blocks.

    for each block of some hundred elements:            shared out over threads
        for each instruction:
            run         the inner loop of an op, the same that the op itself calls
            convert     a row to another type
            gather      an operand that is broadcast, strided or of another type, into a row

What is between two ops is in a buffer of one block, which stays in the cache. So memory is read
and written as by a generated kernel, and the results have the bits of the ops because their own
loops make them. lowering/blocks.py writes the instructions.

A place is where a row of the block begins. They are numbered: tensors (inputs, then outputs),
constants, buffers. Constants are numbers and operands of one element; a range spreads them to rows
once, before its first block.
"""
cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc

from tensorlab._core.dispatch.op cimport COMPARE, Op
from tensorlab._core.dispatch.operands cimport write_number
from tensorlab._core.dtypes cimport BOOL, MAX_ITEMSIZE, dtype, item_size
from tensorlab._core.layout cimport MAX_NDIM, ssize
from tensorlab._core.loops.conversion cimport convert
from tensorlab._core.loops.iterator cimport MAX_OPERANDS, Operand, call_loop, gather_row, repeat
from tensorlab._core.loops.loop_nest cimport (
    IndexCounter, count_along, next_index, skip_indices, start_counter
)
from tensorlab._core.loops.parallel cimport parallel_for
from tensorlab._core.tensor cimport TensorBase
from tensorlab.compiler.plan cimport MAX_TENSORS, MemoryStep

cdef enum:
    LINE = 64                   # bytes of a cache line; rows begin at one
    SMALL_SCRATCH = 4096        # bytes of scratch memory that are taken from the stack
    CONVERT_GRAIN = 65536       # elements of a conversion that are worth a thread, as for copies

cdef struct Rows:               # of a gathered operand, in the order of the results' memory
    int ndim
    bint repeats                # all but the innermost are broadcast
    ssize[MAX_NDIM] sizes
    Operand operand

cdef struct Instruction:
    void* loop                  # NULL: gather if there are rows, else convert
    Rows* rows
    int operands
    int[MAX_OPERANDS] places    # the result first; an input's number for gather
    int dtype, given            # of a conversion: types of the result and of the operand

cdef struct Constant:
    int input                   # number of the tensor whose one element it is; -1: a number
    char[MAX_ITEMSIZE] number
    Operand operand

cdef struct Program:
    int inputs, tensors, constants, places, instructions
    int[MAX_TENSORS] steps      # bytes from one element to the next; 0: it is gathered
    Constant* constant
    Instruction* instruction
    ssize block                 # elements: as many of the widest type as a row may have
    int width                   # bytes of the widest element in a row

cdef struct BlockCall:
    Program* program
    void** tensors
    bint is_out_of_memory


# ---------------------------------------------------------------- running
cdef void gather_block(char* buffer, Rows* rows, char* data, ssize begin,
                       ssize n) noexcept nogil:
    """Bring n elements of an operand, from number `begin` on, into a row."""
    cdef IndexCounter at
    cdef int last = rows.ndim - 1
    cdef int size = item_size[rows.operand.kernel_dtype], given = item_size[rows.operand.dtype]
    cdef ssize step = rows.operand.strides[last]
    cdef ssize columns = rows.sizes[last], column = begin % columns, filled = 0, m
    cdef ssize wanted = min(n, columns) if rows.repeats else n
    start_counter(&at, last, rows.sizes)
    count_along(&at, 0, data, rows.operand.strides, given)
    skip_indices(&at, 1, begin // columns)
    while True:
        m = min(wanted - filled, columns - column)
        gather_row(buffer + filled * size, &rows.operand, at.data[0] + column * step * given,
                   step, m)
        filled += m
        if filled == wanted:
            break
        column = 0
        next_index(&at, 1)
    if filled < n:
        repeat(buffer, filled * size, n * size)


cdef void run_block(Program* program, void** tensors, void** places, ssize begin,
                    ssize n) noexcept nogil:
    """All instructions for n elements, from number `begin` on."""
    cdef void* rows[MAX_OPERANDS]
    cdef Instruction* one
    cdef int i, k
    for k in range(program.tensors):
        places[k] = <char*>tensors[k] + begin * program.steps[k]
    for i in range(program.instructions):
        one = &program.instruction[i]
        if one.loop != NULL:
            for k in range(one.operands):
                rows[k] = places[one.places[k]]
            call_loop(one.loop, one.operands, rows, n)
        elif one.rows != NULL:
            gather_block(<char*>places[one.places[0]], one.rows, <char*>tensors[one.places[1]],
                         begin, n)
        else:
            convert(places[one.places[0]], one.dtype, 1, places[one.places[1]], one.given, 1, n)


cdef void run_range(void* context, ssize begin, ssize end) noexcept nogil:
    """The blocks of a range, with scratch memory of its own."""
    cdef BlockCall* call = <BlockCall*>context
    cdef Program* program = call.program
    cdef char[SMALL_SCRATCH] on_stack
    cdef char* scratch = on_stack
    cdef char* row
    cdef char* value
    cdef void** places
    cdef Constant* constant
    cdef int k
    cdef ssize block = min(program.block, end - begin)
    cdef ssize room = (block * program.width + LINE - 1) // LINE * LINE
    cdef ssize head = program.places * sizeof(void*)        # before the rows: where they are
    cdef ssize nbytes = head + LINE + (program.places - program.tensors) * room
    if nbytes > SMALL_SCRATCH:
        scratch = <char*>malloc(nbytes)
        if scratch == NULL:
            call.is_out_of_memory = True
            return
    places = <void**>scratch
    row = <char*>((<uintptr_t>(scratch + head) + LINE - 1) // LINE * LINE)
    for k in range(program.tensors, program.places):
        places[k] = row
        row += room
    for k in range(program.constants):
        constant = &program.constant[k]
        if constant.input < 0:
            value = constant.number
        else:
            value = <char*>call.tensors[constant.input]
        gather_row(<char*>places[program.tensors + k], &constant.operand, value, 0, block)
    while begin < end:
        run_block(program, call.tensors, places, begin, min(block, end - begin))
        begin += block
    if scratch != on_stack:
        free(scratch)


# ---------------------------------------------------------------- the step
cdef int code_of(object one) except -1:
    if not isinstance(one, dtype):
        raise TypeError(f"BlockStep: a dtype is needed, not {type(one).__name__}")
    return (<dtype>one).code


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class BlockStep(MemoryStep):
    """Loops of ops on blocks.

    Parameters
    ----------
    inputs, outputs : sequences of slot numbers
    given, likes : for each input, and for each output, a tensor on meta with its layout
    constants : list of (dtype, number) and (dtype, None, number of an input)
    instructions : list of
        (op, dtype, places), where the op computes in `dtype` and the first place is the result's;
        ("convert", dtype, given dtype, place, place of the operand);
        ("gather", dtype, sizes, strides, place, number of the input), where the dimensions are
        those of the results in the order of their memory
    buffers : int, places behind the constants
    row_bytes : int, what a row takes, in its widest type
    """

    cdef Program program
    cdef ssize count
    cdef readonly ssize grain               # elements that make a thread worth starting
    cdef readonly tuple given

    def __cinit__(self, inputs, outputs, given, likes, constants, instructions, int buffers, ssize row_bytes, *, dead=()):
        cdef int k
        self.set_tensors("a group", inputs, outputs, likes, dead)
        self.given = tuple(given)
        if len(self.given) != len(self.reads) or not all([isinstance(one, TensorBase) for one in self.given]):
            raise ValueError(f"BlockStep: a tensor on meta is needed for each of the {len(self.reads)} inputs")
        if not self.likes or buffers < 0 or row_bytes < 1:
            raise ValueError(f"BlockStep: {len(self.likes)} outputs, {buffers} buffers and rows of {row_bytes} bytes make no "
                             f"step")
        self.count = (<TensorBase>self.likes[0]).numel_
        self.program.inputs = <int>len(self.reads)
        self.program.tensors = self.program.inputs + <int>len(self.likes)
        self.program.constants = <int>len(constants)
        self.program.places = self.program.tensors + self.program.constants + buffers
        self.program.instructions = <int>len(instructions)
        self.program.width = 1
        self.program.constant = <Constant*>PyMem_Calloc(max(1, len(constants)), sizeof(Constant))
        self.program.instruction = <Instruction*>PyMem_Calloc(max(1, len(instructions)), sizeof(Instruction))
        if self.program.constant == NULL or self.program.instruction == NULL:
            raise MemoryError()
        for k in range(self.program.constants):
            self.set_constant(&self.program.constant[k], constants[k])
        cost = 0.0
        for k in range(self.program.instructions):
            cost += 1 / self.set_instruction(&self.program.instruction[k], instructions[k])
        self.program.block = max(1, row_bytes // self.program.width)
        self.grain = max(self.program.block, <ssize>(1 / cost) if cost > 0 else 1)

    def __dealloc__(self):
        cdef int k
        if self.program.instruction != NULL:
            for k in range(self.program.instructions):
                PyMem_Free(self.program.instruction[k].rows)
        PyMem_Free(self.program.instruction)
        PyMem_Free(self.program.constant)

    cdef int set_constant(self, Constant* constant, object given) except -1:
        cdef TensorBase x
        wanted, number, *rest = given
        cdef int code = code_of(wanted)
        constant.operand.dtype = constant.operand.kernel_dtype = code
        constant.input = -1
        self.program.width = max(self.program.width, item_size[code])
        if not rest:
            return write_number(number, code, constant.number)
        (k,) = rest
        x = self.input_of(k)
        if x.numel_ == 0:
            raise ValueError("BlockStep: a constant is taken from an empty tensor")
        constant.input, constant.operand.dtype = k, x.dtype_
        return 0

    cdef TensorBase input_of(self, int k):
        if not 0 <= k < self.program.inputs:
            raise ValueError(f"BlockStep: there is no input {k}")
        return <TensorBase>self.given[k]

    cdef double set_instruction(self, Instruction* one, object given) except -1:
        """Take an instruction over; returns how many elements of it make a thread worth starting."""
        kind, wanted, *rest = given
        if isinstance(kind, Op):
            (places,) = rest
            return self.set_run(one, <Op>kind, wanted, tuple(places))
        if kind == "convert":
            present, place, source = rest
            one.dtype, one.given = code_of(wanted), code_of(present)
            one.places[0] = self.checked_place(place, one.dtype, True)
            one.places[1] = self.checked_place(source, one.given, False)
        else:
            sizes, strides, place, k = rest
            self.set_gather(one, wanted, tuple(sizes), tuple(strides), k)
            one.places[0], one.places[1] = self.checked_place(place, code_of(wanted), True), k
        return CONVERT_GRAIN

    cdef double set_run(self, Instruction* one, Op op, object wanted, tuple places) except -1:
        cdef int k, result, code = code_of(wanted)
        if op.loops[code] == NULL:
            raise ValueError(f"BlockStep: {op.name} has no loop for {wanted.name}")
        one.operands = <int>len(places)
        if one.operands != op.arity + 1:
            raise ValueError(f"BlockStep: {op.name} needs {op.arity + 1} places, not {one.operands}")
        one.loop = op.loops[code]
        result = BOOL if op.dtype_rule == COMPARE else code
        for k in range(one.operands):
            one.places[k] = self.checked_place(places[k], code if k else result, k == 0)
        return op.grain

    cdef int set_gather(self, Instruction* one, object wanted, tuple sizes, tuple strides, int k) except -1:
        cdef TensorBase x = self.input_of(k)
        cdef int d
        cdef ssize elements = 1, last = 0, room = 0
        if not 1 <= len(sizes) == len(strides) <= MAX_NDIM or min(sizes) < 1 or min(strides) < 0:
            raise ValueError(f"BlockStep: nothing can be gathered with sizes {sizes} and strides {strides}")
        one.rows = <Rows*>PyMem_Calloc(1, sizeof(Rows))
        if one.rows == NULL:
            raise MemoryError()
        one.rows.ndim, one.rows.repeats = <int>len(sizes), not any(strides[:len(strides) - 1])
        one.rows.operand.dtype, one.rows.operand.kernel_dtype = x.dtype_, code_of(wanted)
        for d in range(one.rows.ndim):
            one.rows.sizes[d], one.rows.operand.strides[d] = sizes[d], strides[d]
            elements *= one.rows.sizes[d]
            last += (one.rows.sizes[d] - 1) * one.rows.operand.strides[d]
        for d in range(x.ndim_):
            room += (x.sizes[d] - 1) * x.strides[d]
        if elements != self.count or last > room or x.numel_ == 0:
            raise ValueError(f"BlockStep: sizes {sizes} and strides {strides} do not fit input {k}")
        return 0

    cdef int checked_place(self, int place, int code, bint is_result) except -1:
        """Raise unless a row of this type can be read, or written, at a place."""
        cdef TensorBase x
        cdef int first_buffer = self.program.tensors + self.program.constants
        cdef bint is_tensor = place < self.program.tensors
        if not 0 <= place < self.program.places or is_result and (place < self.program.inputs
                                                                  or not is_tensor and place < first_buffer):
            raise ValueError(f"BlockStep: place {place} cannot be {'written' if is_result else 'read'}")
        if is_tensor:
            x = <TensorBase>(self.given[place] if place < self.program.inputs else self.likes[place - self.program.inputs])
            if x.numel_ != self.count or item_size[x.dtype_] != item_size[code]:
                raise ValueError(f"BlockStep: tensor {place} is no row of {self.count} elements of {item_size[code]} bytes")
            self.program.steps[place] = item_size[code]
        self.program.width = max(self.program.width, item_size[code])
        return place

    cdef int run(self, PyObject** slots) except -1:
        cdef void* tensors[MAX_TENSORS]
        cdef BlockCall call
        self.open_tensors(slots, tensors)
        call.program, call.tensors, call.is_out_of_memory = &self.program, tensors, False
        if self.count <= self.grain:
            run_range(&call, 0, self.count)
        else:
            with nogil:
                parallel_for(run_range, &call, self.count, self.grain)
        if call.is_out_of_memory:
            raise MemoryError("compile: no memory for the rows of a block")
        return 0

    def __repr__(self):
        return (f"{self.program.instructions} instructions on blocks of {self.program.block}: "
                f"{self.reads} -> {self.writes}")
