"""Saved tensors: what a node keeps of the forward pass for its backward."""
from tensorlab._core.graph.graph cimport Node
from tensorlab._core.tensor cimport TensorBase

cdef class SavedTensor:
    cdef TensorBase tensor      # the tensor itself; for an output of the node, a detached alias of it; None once packed
    cdef unsigned long long version
    cdef bint is_output
    cdef bint was_computed      # it had a node then
    cdef object origin          # weak reference to an output that was saved while layers were active
    cdef object slices          # of an output that was written into a view: weak reference to the base's CopySlices
    cdef object packed          # what the pack function made of the tensor,
    cdef object unpacker        # and what makes a tensor of it again; None: not packed
    cdef Node edge              # of a packed input: the node its gradient goes to
    cdef int output_number      # and which output of that
    cdef object shape           # of a packed tensor: its Size, its dtype and whether it was on "meta",
    cdef int dtype              # which is what it must be when it is unpacked,
    cdef int device
    cdef bint may_differ        # unless Python code reads it: a custom Function's backward
    cdef bint is_released       # backward has freed it
    cdef int check(self, Node owner) except -1
    cdef TensorBase restore(self, Node owner)
    cdef TensorBase detached(self)
    cdef TensorBase call_unpacker(self, Node owner)
    cdef TensorBase in_form(self, TensorBase x, Node owner)
    cdef str name_in(self, Node owner)
    cdef int free(self) except -1
    cdef int pack_with(self, TensorBase x, object pack, object unpack) except -1

cdef SavedTensor save_tensor(TensorBase x, bint is_output)
cdef SavedTensor saved_again(TensorBase x, unsigned long long version, bint was_computed)
cdef unsigned long long saved_version(TensorBase x) except? -1
cdef int check_saved_tensor(TensorBase x, unsigned long long version, bint was_computed, bint is_output, Node owner) except -1
cdef object save_value(object value)
cdef object unpack_value(object saved, Node owner)
cdef bint free_saved(object values)
