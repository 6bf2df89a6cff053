"""The modes of a thread: grad mode, inference mode, running backward passes."""

cdef struct ThreadState:
    bint grad_enabled
    bint inference
    int backward_depth          # nested calls of backward that are running

cdef ThreadState* thread_state() noexcept nogil
