"""SciPy's BLAS: found when it is first needed, and kept to one thread while we call it.

The functions are those that scipy.linalg.cython_blas offers to other Cython modules. They are looked up late: importing
scipy.linalg costs 100 to 300 ms, loading that one file 7 ms.

BLAS has threads of its own. If its threads and ours took turns, each kind would spin on the processors that the other kind
needs, and a training step would take ten times as long. So we split products ourselves (see blas.pyx), and BLAS computes
each piece in the thread that asks. Its number of threads belongs to the process, not to us: between our calls it is as
the program wants it, for scikit-learn's sake and SciPy's own.
"""
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport uintptr_t
from posix.unistd cimport usleep

import ctypes
import os
import sys
import threading
import time

ctypedef int (*get_function)() noexcept nogil
ctypedef void (*set_function)(int n) noexcept nogil

cdef bint is_loaded = False
cdef object loading = threading.RLock()

# NULL where BLAS is one whose threads cannot be told.
cdef get_function get_blas_threads = NULL
cdef set_function set_blas_threads = NULL


# ---------------------------------------------------------------- loading
def find_module(name):
    """A module of scipy.linalg, "cython_blas" or "cython_lapack", without running scipy/linalg/__init__.py."""
    import importlib.machinery
    import importlib.util

    import scipy

    full_name = "scipy.linalg." + name
    if "scipy.linalg" in sys.modules:           # imported, or just being imported by another thread
        return importlib.import_module(full_name)
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = os.path.join(scipy.__path__[0], "linalg", name + suffix)
        if os.path.exists(path):
            specification = importlib.util.spec_from_file_location(full_name, path)
            module = importlib.util.module_from_spec(specification)
            specification.loader.exec_module(module)
            sys.modules.pop(full_name, None)    # so that a real import binds it to its package as usual
            return module
    return importlib.import_module(full_name)


cdef void* function_pointer(object module, str name) except NULL:
    cdef object capsule = module.__pyx_capi__[name]
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


def find_thread_control(path):
    """The addresses of the functions that get and set the threads of the BLAS behind a library, or (0, 0).

    There may be several copies of OpenBLAS in a process (NumPy has one of its own), so the one that this library was
    linked with is asked.
    """
    library = ctypes.CDLL(path)
    for get, set_ in (("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
                      ("openblas_get_num_threads", "openblas_set_num_threads"),
                      ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
                      ("bli_thread_get_num_threads", "bli_thread_set_num_threads")):
        if hasattr(library, get) and hasattr(library, set_):
            return tuple(ctypes.cast(getattr(library, one), ctypes.c_void_p).value for one in (get, set_))
    return 0, 0


cdef int load_blas() except -1:
    """Look the functions up, once."""
    global is_loaded, sgemm, dgemm, cgemm, zgemm, sgemv, dgemv, cgemv, zgemv, sdot, ddot
    global get_blas_threads, set_blas_threads
    if is_loaded:
        return 0
    with loading:
        if is_loaded:                           # another thread has done it meanwhile
            return 0
        module = find_module("cython_blas")
        sgemm = <gemm_function>function_pointer(module, "sgemm")
        dgemm = <gemm_function>function_pointer(module, "dgemm")
        cgemm = <gemm_function>function_pointer(module, "cgemm")
        zgemm = <gemm_function>function_pointer(module, "zgemm")
        cgemv = <gemv_function>function_pointer(module, "cgemv")
        zgemv = <gemv_function>function_pointer(module, "zgemv")
        sgemv = <gemv_function>function_pointer(module, "sgemv")
        dgemv = <gemv_function>function_pointer(module, "dgemv")
        sdot = <sdot_function>function_pointer(module, "sdot")
        ddot = <ddot_function>function_pointer(module, "ddot")
        getter, setter = find_thread_control(module.__file__)
        set_blas_threads = <set_function><uintptr_t>setter
        get_blas_threads = <get_function><uintptr_t>getter
        is_loaded = True
    return 0


# ---------------------------------------------------------------- one thread
cdef int holders = 0            # calls that keep BLAS to one thread just now, in any Python thread; guarded by the GIL
cdef int threads_before = 0


cdef void hold_blas() noexcept:
    """Keep BLAS to one thread until `release_blas`. Both are called with the GIL."""
    global holders, threads_before
    while is_forking:
        with nogil:
            usleep(100)
    holders += 1
    if holders == 1 and get_blas_threads != NULL:
        threads_before = get_blas_threads()
        if threads_before != 1:
            set_blas_threads(1)


cdef void release_blas() noexcept:
    """Give BLAS its threads back, unless the program has set their number meanwhile, or others still hold it."""
    global holders
    holders -= 1
    if holders == 0 and get_blas_threads != NULL and threads_before != 1 and get_blas_threads() == 1:
        set_blas_threads(threads_before)


# ---------------------------------------------------------------- forks
# A child has only the thread that forked. A lock that another one held would stay locked there: ours, Python's
# import locks while BLAS is being loaded, or the one under which OpenBLAS finds memory. So a fork waits for those calls.
cdef bint is_forking = False


def _before_fork():
    global is_forking
    loading.acquire()
    is_forking = True
    while holders > 0:
        time.sleep(1e-4)


def _after_fork():
    global is_forking
    is_forking = False
    loading.release()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
