"""Batches of matrices as LAPACK takes them, and one loop over them."""
from tensorlab._core.layout cimport ssize
from tensorlab._core.loops.parallel cimport range_body
from tensorlab._core.tensor cimport TensorBase
from tensorlab.ops.linalg.lapack_library cimport C, S

cdef enum:
    MAX_MATRICES = 6            # tensors of a job

# What a body has to know: for each tensor where the first matrix is, and how far the next one, in bytes.
cdef struct Job:
    int column                  # of LAPACK's table: the type
    int size                    # bytes of an element
    int m
    int n
    int k
    char[4] flags               # 'U', 'N', ...: what the body wants of them
    double number               # a tolerance, ...
    ssize count                 # matrices
    int tensors
    char* data[MAX_MATRICES]
    ssize steps[MAX_MATRICES]
    bint out_of_memory          # a body could not get memory to work in

cdef inline char* matrix_at(Job* job, int tensor, ssize i) noexcept nogil:
    """Matrix i of a tensor."""
    return job.data[tensor] + i * job.steps[tensor]

cdef inline int work_size(Job* job, void* work) noexcept nogil:
    """How many elements LAPACK, asked with a size of -1, says it likes to work in."""
    if job.column == S or job.column == C:
        return max(1, <int>(<float*>work)[0])
    return max(1, <int>(<double*>work)[0])

cdef inline int real_size(Job* job) noexcept nogil:
    """Bytes of a real number as precise as the elements."""
    return 4 if job.column == S or job.column == C else 8

cdef int check_matrix(str where, TensorBase x, str name=*) except -1
cdef int check_square(str where, TensorBase x, str name=*) except -1
cdef int check_numbers(str where, TensorBase x, str name=*) except -1
cdef int check_alike(str where, TensorBase x, TensorBase y, str name_x=*, str name_y=*) except -1
cdef int batch_shape(str where, TensorBase x, int dims_x, TensorBase y, int dims_y, ssize* sizes) except -1
cdef TensorBase expanded(TensorBase x, int dims, int ndim, const ssize* sizes)
cdef ssize matrix_count(TensorBase x) noexcept
cdef TensorBase columns_result(TensorBase x, int dtype, int ndim, const ssize* sizes)
cdef TensorBase matrices_beside(TensorBase x, ssize rows, ssize columns)
cdef TensorBase batch_beside(TensorBase x, int dtype, int dims=*, ssize size=*)
cdef TensorBase columns_copy(TensorBase x)
cdef TensorBase columns_of(TensorBase x)
cdef TensorBase columns_for(TensorBase out)
cdef TensorBase plain_for(TensorBase out)
cdef int start_job(Job* job, TensorBase x) except -1
cdef int add_matrices(Job* job, TensorBase x, int dims=*) except -1
cdef int run_job(range_body body, Job* job, ssize work) except -1
cdef object first_failure(TensorBase info)
cdef bint wants_vectors(TensorBase A)
