"""Choosing among the builds of a hot-loop module that a wheel carries.

A wheel has its modules built for the oldest processor that it may meet, and beside them, in folders
named _avx2 and _avx512, builds of the modules with hot loops.  A package prefers one of these by
putting the folder in front of its `__path__`, where Python looks for submodules:

    from tensorlab._capability import prefer_builds
    prefer_builds(__path__)

A build from source is made for its own machine and has no such folders; then nothing happens.  The
environment variable TENSORLAB_CAPABILITY (baseline, avx2, avx512) asks for less than the processor has.
"""

import os

cdef extern from *:
    """
    /* The flags of setup.py's CAPABILITIES, asked of the processor and the operating system. */
    #if defined(__x86_64__) && defined(__GNUC__)
    #include <cpuid.h>
    #endif
    static int tl_processor_level(void) {
    #if defined(__x86_64__) && defined(__GNUC__)
        unsigned int a, b, c, d;
        __builtin_cpu_init();
        if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_F16C))     /* older compilers' cpu_supports does not know f16c */
            return 0;
        if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
              && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")))
            return 0;
        if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
              && __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq")
              && __builtin_cpu_supports("avx512vl")))
            return 1;
        return 2;
    #else
        return 0;
    #endif
    }

    /* Family 0x19 with AVX-512. */
    static int tl_is_zen4(void) {
    #if defined(__x86_64__) && defined(__GNUC__)
        unsigned int a, b, c, d;
        return tl_processor_level() == 2 && __get_cpuid(1, &a, &b, &c, &d) && ((a >> 8) & 15) + ((a >> 20) & 255) == 0x19;
    #else
        return 0;
    #endif
    }
    """
    int tl_processor_level() noexcept nogil
    bint tl_is_zen4() noexcept nogil

LEVELS = ("baseline", "avx2", "avx512")


def processor_level():
    """Return the index in LEVELS of what this processor can run, or of what the user allows."""
    asked = os.environ.get("TENSORLAB_CAPABILITY") or "avx512"
    if asked not in LEVELS:
        raise ValueError(
            f"TENSORLAB_CAPABILITY is {asked!r}; it must be one of {', '.join(LEVELS)}"
        )
    return min(LEVELS.index(asked), tl_processor_level())


def compresses_slowly():
    """Is this a Zen 4, which takes a hundred cycles and more to store the lanes of a vector that a mask selects?"""
    return tl_is_zen4()


def prefer_builds(path):
    """Put the best build's folder in front of a package's `__path__`; return its name or None."""
    home, *_ = path
    for level in range(processor_level(), 0, -1):
        folder = os.path.join(home, "_" + LEVELS[level])
        if os.path.isdir(folder):
            path.insert(0, folder)
            return LEVELS[level]
    return None
