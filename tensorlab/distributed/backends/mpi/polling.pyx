"""Poller: asks MPI again and again whether requests are done, without the interpreter's lock.

MPI moves bytes only while it's asked. In between, the thread yields its processor at first and then
sleeps, longer and longer: what it waits for may need that processor.
"""
cimport cython
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cdef extern from *:
    """
    #ifdef _WIN32
    #include <windows.h>
    static double tl_seconds(void) {
        LARGE_INTEGER now, per_second;
        QueryPerformanceCounter(&now);
        QueryPerformanceFrequency(&per_second);
        return (double)now.QuadPart / (double)per_second.QuadPart;
    }
    static void tl_yield(void) { SwitchToThread(); }
    static void tl_sleep(double seconds) { Sleep((DWORD)(1e3 * seconds)); }
    #else
    #include <sched.h>
    #include <time.h>
    static double tl_seconds(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return now.tv_sec + 1e-9 * now.tv_nsec;
    }
    static void tl_yield(void) { sched_yield(); }
    static void tl_sleep(double seconds) {
        struct timespec pause = {(time_t)seconds, (long)(1e9 * (seconds - (time_t)seconds))};
        nanosleep(&pause, NULL);
    }
    #endif
    """
    double tl_seconds() nogil
    void tl_yield() nogil
    void tl_sleep(double seconds) nogil

ctypedef int (*Testall)(int, void *, int *, void *) noexcept nogil

cdef double LONGEST_PAUSE = 1e-3
cdef double SHARE = 1 / 16  # of the time waited so far: how long the next pause is


@cython.final
@cython.binding(False)
@cython.auto_pickle(False)
cdef class Poller:
    """Asks for the requests of several calls at once.

    Parameters
    ----------
    testall : int, the address of MPI_Testall
    width, status_width : int, bytes of a request and of a status
    """

    cdef Testall testall
    cdef size_t width, status_width
    cdef volatile int wanted

    def __init__(self, size_t testall, size_t width, size_t status_width):
        self.testall = <Testall>testall
        self.width, self.status_width = width, status_width
        self.wanted = 0

    def interrupt(self, int how_many):
        """Say that one more thread, or one fewer (-1), wants the thread that polls to return."""
        self.wanted += how_many

    def poll(self, list calls, double waited, double spin, double seconds):
        """Return the number of the first call whose requests are all done, and MPI's error code.

        The number is -1 where none is done in time, or someone has interrupted.

        Parameters
        ----------
        calls : list of tuples of int, for each call the addresses of its requests
        waited : float, seconds that the wait has taken so far
        spin : float, seconds from its beginning in which there is no pause
        seconds : float, how long to ask now
        """
        cdef int count = len(calls), number, flag = 0, code = 0, done = -1
        cdef size_t total = sum(map(len, calls)), place = 0
        cdef int *lengths = <int *>malloc(count * sizeof(int) + 1)
        cdef char *requests = <char *>malloc(total * self.width + 1)
        cdef char *statuses = <char *>malloc(total * self.status_width + 1)
        cdef double began, now, until
        cdef char *own
        try:
            if lengths == NULL or requests == NULL or statuses == NULL:
                raise MemoryError
            for number in range(count):
                lengths[number] = len(calls[number])
                for address in calls[number]:
                    memcpy(requests + place * self.width, <void *><size_t>address, self.width)
                    place += 1
            with nogil:
                now = tl_seconds()
                began, until = now - waited, now + seconds
                while True:
                    own = requests
                    for number in range(count):
                        code = self.testall(lengths[number], own, &flag, statuses)
                        if flag or code != 0:
                            done = number
                            break
                        own += lengths[number] * self.width
                    if done >= 0 or self.wanted:
                        break
                    now = tl_seconds()
                    if now > until:
                        break
                    if now - began < spin:
                        tl_yield()
                    else:
                        tl_sleep(min(LONGEST_PAUSE, (now - began) * SHARE))
            if done >= 0:
                for address in calls[done]:  # MPI has freed them: their owners are to know
                    memcpy(<void *><size_t>address, own, self.width)
                    own += self.width
            return done, code
        finally:
            free(lengths)
            free(requests)
            free(statuses)
