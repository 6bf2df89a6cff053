"""One loop over threads for the whole package: `parallel_for`.

    cdef void scale(void* context, ssize begin, ssize end) noexcept nogil:
        cdef Scale* job = <Scale*>context
        for i in range(begin, end):
            job.out[i] = job.factor * job.x[i]

    with nogil:
        parallel_for(scale, &job, n, GRAIN)

The body is a C function that knows what to do for a range of indices; whatever else it needs is in its context. Where a
thread is not worth starting, inside another parallel loop, and in a child forked from a process that had started threads,
where they are lost, the body is called once, for the whole range. An exception cannot cross: a body that can fail notes it
in its context.

Matrix products go the same way, with BLAS kept to one thread (see ops/linalg/blas.pyx), so that loops and products run on
the same threads. The pool itself is thread_pool.h.
"""

cdef extern from "thread_pool.h" nogil:
    void tl_open_pool()
    int tl_can_share()
    void tl_share_out(range_body body, void* context, ssize count, int threads, int pieces, int processors)
    enum:
        TL_MAX_THREADS

import os

cdef enum:
    PIECES = 4              # of each thread if there is enough work, for others to take when they have finished theirs

cdef int threads_wanted = 1
cdef int processors = 1


def available_processors():
    """Processors that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def set_threads(int n):
    """How many threads a large loop may use."""
    global threads_wanted, processors
    threads_wanted = n
    processors = available_processors()


def get_threads():
    """How many threads a large loop may use."""
    return threads_wanted


cdef int thread_count(ssize work, ssize grain) noexcept nogil:
    """Threads worth starting for `work` elements if one should get at least `grain`."""
    cdef ssize most = work // grain if grain > 0 else 1
    if most <= 1 or not tl_can_share():
        return 1
    return <int>min(most, threads_wanted, <ssize>TL_MAX_THREADS)


cdef ssize grain_of(ssize grain, ssize work) noexcept nogil:
    """How many indices make `grain` elements if each stands for `work` of them; at least 1."""
    return max(1, (grain + work - 1) // max(work, 1))


cdef void parallel_for(range_body body, void* context, ssize count, ssize grain) noexcept nogil:
    """Call the body for ranges that together are 0 to `count`, each of at least `grain` indices unless there are fewer.

    Ranges do not depend on which threads come to work, only on their wanted number. Long ones begin at a multiple of 64.
    """
    cdef int pieces, threads = thread_count(count, grain)
    if threads > 1:
        pieces = <int>min(<ssize>PIECES, count // (grain * threads))
        tl_share_out(body, context, count, threads, pieces, processors)
    elif count > 0:
        body(context, 0, count)


cdef void share_work(range_body body, void* context, ssize count, ssize work,
                     ssize grain) noexcept:
    """The same where the indices stand for `work` elements; a thread gets at least `grain`.

    Little work is done at once. During more, other threads of Python may run.
    """
    if work < NOGIL_WORK:
        body(context, 0, count)
    else:
        with nogil:
            parallel_for(body, context, count, grain_of(grain, work // count))


tl_open_pool()
set_threads(available_processors())
