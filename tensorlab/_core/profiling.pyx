"""What a profiler has seen: records of ops, nodes and ranges, one list for each thread.

    record     what it is of (an op, or a name), when it began and ended, and the record around it
    track      the records of a thread, in the order in which they began
    memory     blocks that were taken and given back meanwhile, each with its time

A record costs two readings of the clock and a line in an array; names, trees and tables are made when it is over
(tensorlab/profiler). While nothing records, the engine and others read one C int: `is_profiling`.

All of this holds the interpreter's lock, so that a track needs none of its own.
"""
cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.stdlib cimport free, realloc

import os
import threading
from types import CodeType

from tensorlab._core.dtypes cimport dtype_object
from tensorlab._core.tensor cimport TensorBase

from tensorlab._core.state.modes import in_forked_children

cdef extern from *:
    """
    #ifdef _WIN32
    #include <windows.h>
    static long long tl_nanoseconds(void) {
        LARGE_INTEGER now, frequency;
        QueryPerformanceCounter(&now);
        QueryPerformanceFrequency(&frequency);
        return (long long) ((double) now.QuadPart * 1e9 / (double) frequency.QuadPart);
    }
    #else
    #include <time.h>
    static inline long long tl_nanoseconds(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (long long) now.tv_sec * 1000000000 + now.tv_nsec;
    }
    #endif
    #include "thread_local.h"
    static TL_THREAD struct { PyObject* track; unsigned long serial; } tl_here;
    """
    struct Here:
        PyObject* track
        unsigned long serial
    Here tl_here
    long long nanoseconds "tl_nanoseconds"() noexcept

cdef extern from "Python.h":
    ctypedef struct PyFrameObject:
        pass
    PyFrameObject* PyEval_GetFrame() noexcept           # borrowed
    PyFrameObject* PyFrame_GetBack(PyFrameObject*) noexcept
    object PyFrame_GetCode(PyFrameObject*)
    int PyFrame_GetLasti(PyFrameObject*) noexcept
    int PyCode_Addr2Line(PyObject*, int) noexcept

cdef enum:
    # a handle: the number of the profile, of the track, of the record
    MANY_PROFILES = 0xFFFF
    TRACK_BITS = 12
    RECORD_BITS = 35
    MAX_FRAMES = 64             # of a stack that are kept, the innermost ones
    # in `numbers`, an argument begins with what it is
    NO_TENSOR = 0
    TENSOR = 1                  # dtype, dimensions, sizes, strides
    TENSORS = 2                 # how many, then each as above without TENSOR

cdef struct Record:
    int kind
    PyObject* what              # an Op or a str, owned
    Py_ssize_t outer            # the record around it, or -1
    long long start, end        # nanoseconds; the end is 0 while it is open
    long long sequence          # number of the node that it made, or ran, or NO_NODE
    Py_ssize_t inputs           # where its arguments are in `numbers`, or -1
    Py_ssize_t result           # and its result
    Py_ssize_t stack            # which of `stacks`, or -1
    long long memory            # bytes taken minus bytes given back by this thread until it began; then, while it ran
    void* frame                 # the frame that it was called in, to compare with

cdef struct MemoryEvent:
    long long time
    size_t address
    Py_ssize_t nbytes           # negative when it is given back
    Py_ssize_t record           # which record was open, or -1

cdef bint is_profiling = False
cdef bint records_inputs = False
cdef int observers = 0
cdef bint records_stacks = False
cdef unsigned long long nodes_made = 0
cdef unsigned long serial = 0   # which profile: a thread's track of an earlier one isn't used any more
cdef list tracks = []
cdef dict tracks_of_processes = {}      # pid: the track of another process
cdef long long began = 0

# what all threads hold together, for the largest amount that they have held
cdef Py_ssize_t held = 0
cdef Py_ssize_t most_held = 0
cdef object stack_of_most = None
cdef long long time_of_most = 0


# ---------------------------------------------------------------- a thread's records
@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Track:
    """The records of a thread, or of another process."""

    cdef Record* records
    cdef Py_ssize_t count, capacity
    cdef Py_ssize_t innermost                   # the record that is open, or -1
    cdef long long* numbers                     # arguments of all records
    cdef Py_ssize_t number_count, number_capacity
    cdef MemoryEvent* memory
    cdef Py_ssize_t memory_count, memory_capacity
    cdef long long balance                      # bytes taken minus bytes given back
    cdef readonly list values                   # arguments that aren't tensors: a tuple for each record with inputs
    cdef readonly list stacks
    cdef int number
    cdef readonly object pid, ident, native_id, name

    def __cinit__(self, pid=None, name=None):
        self.innermost = -1
        self.values, self.stacks = [], []
        self.pid, self.ident, self.native_id, self.name = pid, pid, pid, name
        if pid is None:                 # of this thread
            thread = threading.current_thread()
            self.pid, self.ident, self.native_id = os.getpid(), thread.ident, threading.get_native_id()
            self.name = thread.name

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.count):
            Py_XDECREF(self.records[i].what)
        free(self.records)
        free(self.numbers)
        free(self.memory)

    cdef inline int put(self, long long number) except -1:
        if self.number_count == self.number_capacity:
            self.numbers = <long long*>grown(self.numbers, max(4096, 2 * self.number_capacity) * sizeof(long long))
            self.number_capacity = max(4096, 2 * self.number_capacity)    # after it: memory may be refused
        self.numbers[self.number_count] = number
        self.number_count += 1
        return 0

    cdef int put_tensor(self, TensorBase x) except -1:
        cdef int i
        self.put(x.dtype_)
        self.put(x.ndim_)
        for i in range(x.ndim_):
            self.put(x.sizes[i])
        for i in range(x.ndim_):
            self.put(x.strides[i])
        return 0

    cdef int put_value(self, object value) except -1:
        if isinstance(value, TensorBase):
            self.put(TENSOR)
            self.put_tensor(<TensorBase>value)
        elif isinstance(value, (list, tuple)) and len(value) > 0 and isinstance(value[0], TensorBase):
            self.put(TENSORS)
            self.put(sum([isinstance(one, TensorBase) for one in value]))
            for one in value:
                if isinstance(one, TensorBase):
                    self.put_tensor(<TensorBase>one)
        else:
            self.put(NO_TENSOR)
        return 0

    # ------------------------------------------------------------ as Python reads it, when it is over
    def rows(self):
        """A tuple for each record: (kind, what, record around it, start, end, sequence number, bytes, inputs, values,
        result, stack); times in nanoseconds."""
        cdef Record* one
        cdef Py_ssize_t i
        rows = []
        for i in range(self.count):
            one = &self.records[i]
            inputs = values = result = stack = None
            if one.inputs >= 0:
                inputs, values = self.read(one.inputs + 1), self.values[self.numbers[one.inputs]]
            if one.result >= 0:
                result = self.read(one.result)[0]
            if one.stack >= 0:
                stack = self.stacks[one.stack]
            rows.append((one.kind, <object>one.what, one.outer, one.start, one.end, one.sequence, one.memory, inputs, values,
                         result, stack))
        return rows

    cdef list read(self, Py_ssize_t at):
        """Arguments: None for what is not a tensor, (dtype, sizes, strides) for a tensor, a list of those for a list."""
        cdef Py_ssize_t n = self.numbers[at], k
        cdef list found = []
        at += 1
        for _ in range(n):
            kind = self.numbers[at]
            at += 1
            if kind == NO_TENSOR:
                found.append(None)
            elif kind == TENSOR:
                found.append(self.read_tensor(&at))
            else:
                k = self.numbers[at]
                at += 1
                found.append([self.read_tensor(&at) for _ in range(k)])
        return found

    cdef tuple read_tensor(self, Py_ssize_t* at):
        cdef int dtype = <int>self.numbers[at[0]], ndim = <int>self.numbers[at[0] + 1], i
        cdef Py_ssize_t first = at[0] + 2
        at[0] = first + 2 * ndim
        return (dtype_object(dtype), [self.numbers[first + i] for i in range(ndim)],
                [self.numbers[first + ndim + i] for i in range(ndim)])

    def memory_events(self):
        """A tuple for each block that was taken or given back: (time, address, bytes, the record that was open)."""
        cdef Py_ssize_t i
        return [(self.memory[i].time, self.memory[i].address, self.memory[i].nbytes, self.memory[i].record)
                for i in range(self.memory_count)]


cdef void* grown(void* block, size_t nbytes) except NULL:
    cdef void* larger = realloc(block, nbytes)
    if larger == NULL:
        raise MemoryError("profiler: there is no memory left for its records")
    return larger


cdef Track this_track():
    """The track of the thread that calls."""
    cdef Track track
    if tl_here.track == NULL or tl_here.serial != serial:
        track = Track()
        track.number = <int>(len(tracks) & ((1 << TRACK_BITS) - 1))
        tracks.append(track)
        tl_here.track, tl_here.serial = <PyObject*>track, serial
    return <Track>tl_here.track


# ---------------------------------------------------------------- recording
cdef inline long long handle_of(Track track, Py_ssize_t at) noexcept:
    """A handle for a record of this profile; or for "none", at -1."""
    return ((<long long>serial & MANY_PROFILES) << TRACK_BITS | track.number) << RECORD_BITS | (at + 1)


cdef inline Track track_with(long long handle):
    """The track of this thread, if a handle is of it and of the profile that is being recorded; else None."""
    cdef Track track
    if handle < 0 or not is_profiling or tl_here.track == NULL or tl_here.serial != serial:
        return None
    track = <Track>tl_here.track
    return track if handle >> RECORD_BITS == handle_of(track, -1) >> RECORD_BITS else None


cdef inline Py_ssize_t place_in(long long handle) noexcept:
    """Which record of the track."""
    return <Py_ssize_t>(handle & ((<long long>1 << RECORD_BITS) - 1)) - 1


cdef long long open_record(int kind, object what, unsigned long long sequence) except -2:
    """Begin a record, inside the one that is open.

    The sequence number is that of the node that runs, or of the latest that was made.
    """
    cdef Track track
    cdef Record* one
    if not is_profiling:
        return -1
    track = this_track()
    one = new_record(track, kind, what, sequence)
    track.innermost = track.count - 1
    if records_stacks:
        note_stack(track, one)
    one.start = nanoseconds()
    return handle_of(track, track.innermost)


cdef inline Record* new_record(Track track, int kind, object what, unsigned long long sequence) except NULL:
    """The next record of a track, inside the one that is open."""
    cdef Record* one
    cdef Py_ssize_t at = track.count
    if at == track.capacity:
        track.records = <Record*>grown(track.records, max(1024, 2 * track.capacity) * sizeof(Record))
        track.capacity = max(1024, 2 * track.capacity)    # after it: memory may be refused
    track.count += 1
    one = &track.records[at]
    Py_XINCREF(<PyObject*>what)
    one.kind, one.what, one.outer, one.end, one.sequence = kind, <PyObject*>what, track.innermost, 0, <long long>sequence
    one.inputs = one.result = one.stack = -1
    one.memory, one.frame = track.balance, NULL
    return one


cdef int close_record(long long handle, unsigned long long sequence) except -1:
    """End a record, and those inside it that an error has left open.

    An op's sequence number is that of the latest node, if one was made meanwhile; else it has none.
    """
    cdef Track track = track_with(handle)
    cdef Record* one
    cdef Py_ssize_t at
    if track is None:
        return 0
    at = place_in(handle)
    end_inner(track, at)
    if track.innermost != at:           # ended already, with one around it
        return 0
    one = &track.records[at]
    if one.kind == OP or one.kind == FUNCTION:
        one.sequence = NO_NODE if <long long>sequence == one.sequence else <long long>sequence
    end_innermost(track, one)
    return 0


cdef inline void end_innermost(Track track, Record* one) noexcept:
    one.end = nanoseconds()
    one.memory = track.balance - one.memory
    track.innermost = one.outer


cdef inline void end_inner(Track track, Py_ssize_t outer) noexcept:
    """End what is open inside a record: an error has passed it."""
    cdef Record* one
    while track.innermost > outer:
        one = &track.records[track.innermost]
        if one.kind == OP or one.kind == FUNCTION:
            one.sequence = NO_NODE
        end_innermost(track, one)


cdef long long innermost_record() except -2:
    """The record of this thread that is open, for `close_inner_records`."""
    cdef Track track
    if not is_profiling:
        return -1
    track = this_track()
    return handle_of(track, track.innermost)


cdef int close_inner_records(long long outer) except -1:
    """End what was opened inside a record and is still open."""
    cdef Track track = track_with(outer)
    if track is not None:
        end_inner(track, place_in(outer))
    return 0


cdef int note_inputs(long long handle, PyObject** arguments, int n) except -1:
    """Keep the shapes of a record's arguments, and those that are no tensors."""
    cdef Track track = track_with(handle)
    cdef int i
    if track is None:
        return 0
    track.records[place_in(handle)].inputs = track.number_count
    track.put(len(track.values))
    track.put(n)
    for i in range(n):
        track.put_value(<object>arguments[i])
    track.values.append(tuple([None if isinstance(<object>arguments[i], TensorBase) else plain(<object>arguments[i])
                               for i in range(n)]))
    return 0


SMALL_TYPES = ("dtype", "device", "layout", "memory_format")


cdef object plain(object value):
    """An argument that is not a tensor, without what would keep memory alive."""
    if isinstance(value, (list, tuple)):
        return [one if is_plain(one) else None for one in value]
    return value if is_plain(value) else None


cdef bint is_plain(object value):
    return isinstance(value, (int, float, complex, str)) or type(value).__name__ in SMALL_TYPES


cdef int note_result(long long handle, object result) except -1:
    """Keep the shape of what an op returned."""
    cdef Track track = track_with(handle)
    if track is None:
        return 0
    track.records[place_in(handle)].result = track.number_count
    track.put(1)
    track.put_value(result)
    return 0


cdef int note_stack(Track track, Record* one) except -1:
    """Keep the Python frames that called: (code, instruction, code, instruction, ...), the innermost first."""
    cdef PyFrameObject* frame = PyEval_GetFrame()
    cdef PyFrameObject* back
    cdef Record* outer
    cdef int k
    cdef list found
    if frame == NULL:
        return 0
    k = PyFrame_GetLasti(frame)
    one.frame = <void*>(<size_t>frame ^ (<size_t>k << 48))
    if one.outer >= 0:
        outer = &track.records[one.outer]
        if outer.frame == one.frame:            # called by the same line: an op in an op, or in a node
            one.stack = outer.stack
            return 0
    found = []
    Py_XINCREF(<PyObject*>frame)
    for _ in range(MAX_FRAMES):
        found.append(PyFrame_GetCode(frame))
        found.append(PyFrame_GetLasti(frame))
        back = PyFrame_GetBack(frame)
        Py_XDECREF(<PyObject*>frame)
        frame = back
        if frame == NULL:
            break
    Py_XDECREF(<PyObject*>frame)
    one.stack = len(track.stacks)
    track.stacks.append(found)
    return 0


def line_of(code, int instruction):
    """The number of the line that an instruction of a code object stands for."""
    if not isinstance(code, CodeType):
        raise TypeError(f"line_of: expected a code object, not {type(code).__name__}")
    return PyCode_Addr2Line(<PyObject*>code, instruction)


def note_memory(size_t address, Py_ssize_t nbytes):
    """A block was taken, or given back: for `watch_memory`."""
    global held, most_held, stack_of_most, time_of_most
    cdef Track track
    cdef MemoryEvent* one
    if not is_profiling:
        return
    track = this_track()
    if track.memory_count == track.memory_capacity:
        track.memory = <MemoryEvent*>grown(track.memory, max(1024, 2 * track.memory_capacity) * sizeof(MemoryEvent))
        track.memory_capacity = max(1024, 2 * track.memory_capacity)    # after it: memory may be refused
    one = &track.memory[track.memory_count]
    track.memory_count += 1
    one.time, one.address, one.nbytes, one.record = nanoseconds(), address, nbytes, track.innermost
    track.balance += nbytes
    held += nbytes
    if held > most_held:
        most_held, time_of_most = held, one.time
        stack_of_most = calling_stack()


cdef list calling_stack():
    cdef PyFrameObject* frame = PyEval_GetFrame()
    cdef PyFrameObject* back
    cdef list found = []
    Py_XINCREF(<PyObject*>frame)
    while frame != NULL and len(found) < 2 * MAX_FRAMES:
        found.append(PyFrame_GetCode(frame))
        found.append(PyFrame_GetLasti(frame))
        back = PyFrame_GetBack(frame)
        Py_XDECREF(<PyObject*>frame)
        frame = back
    Py_XDECREF(<PyObject*>frame)
    return found


# ---------------------------------------------------------------- as Python drives it
def start_recording(bint inputs, bint stacks):
    """Begin: records of earlier profiles aren't added to any more."""
    global is_profiling, records_inputs, records_stacks, serial, held, most_held, stack_of_most, time_of_most, began
    if is_profiling:
        raise RuntimeError("profiler: another profile is being recorded; end it first")
    serial += 1
    tracks.clear()
    tracks_of_processes.clear()
    records_inputs, records_stacks = inputs, stacks
    began = nanoseconds()
    held = most_held = time_of_most = 0
    stack_of_most = None
    is_profiling = True


def stop_recording():
    """End, and return the tracks of the threads. What is open ends now."""
    global is_profiling, records_inputs, records_stacks, serial
    for each in tracks:
        end_inner(<Track>each, -1)
    is_profiling = records_inputs = records_stacks = False
    serial += 1
    found = list(tracks)
    tracks.clear()
    return found


def peak_memory():
    """(bytes, time, frames): the most that was held beyond what was held at the start, and who asked for it."""
    return most_held, time_of_most, stack_of_most


def now():
    """Nanoseconds by the clock of the records."""
    return nanoseconds()


def is_recording():
    """Is a profile being recorded?"""
    return is_profiling


def note_work(long pid, str process not None, str name not None, long long start, long long end):
    """Another process has done something: it has read this clock, which all processes of a machine share."""
    cdef Track track
    cdef Record* one
    if not is_profiling or end <= began:
        return
    track = tracks_of_processes.get(pid)
    if track is None:
        track = tracks_of_processes[pid] = Track(pid, process)
        tracks.append(track)
    one = new_record(track, INTERNAL, name, NO_NODE)
    one.start, one.end, one.memory = max(start, began), end, 0


def begin_range(str name not None, bint is_internal=False):
    """Begin a record with this name; return what `end_range` needs."""
    return open_record(INTERNAL if is_internal else RANGE, name, NO_NODE)


def end_range(long long handle):
    """End it."""
    close_record(handle, NO_NODE)


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Range:
    """A block with a record of its own, for tensorlab's own code; nothing if none is recorded.

    with Range("Optimizer.step#SGD.step"): ...
    """
    cdef str name
    cdef long long record

    def __init__(self, str name not None):
        self.name = name

    def __enter__(self):
        self.record = open_record(INTERNAL, self.name, NO_NODE)
        return self

    def __exit__(self, *exception):
        close_record(self.record, NO_NODE)


def end_in_forked_child():
    """A forked child doesn't go on with the profile of its parent."""
    global is_profiling, records_inputs, records_stacks, serial
    is_profiling = records_inputs = records_stacks = False
    serial += 1

in_forked_children(end_in_forked_child)
