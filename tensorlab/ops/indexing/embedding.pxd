"""What embedding_bag shares with embedding."""
from tensorlab._core.dispatch.op cimport Op
from tensorlab._core.layout cimport ssize
from tensorlab._core.tensor cimport TensorBase

cdef Op EMBEDDING_USES          # how often each row is used: indices, rows

cdef int shorten_rows(TensorBase weight, TensorBase indices, double max_norm, double norm_type, str where) except -1
cdef ssize row_number(TensorBase weight, ssize number, object error, str where) except -1
