/* What the loops need that are made from scalar expressions (scalar.py). */
#ifndef TL_SCALAR_LOOPS_H
#define TL_SCALAR_LOOPS_H
#include <complex.h>
#undef I                        /* a name that is as good as any other */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* A complex number from its parts. re + im * I would make nan of an infinite im. */
#define tl_complexf(re, im) __builtin_complex((float)(re), (float)(im))
#define tl_complex(re, im) __builtin_complex((double)(re), (double)(im))

/* The loops of an op by the code of the type that it calculates in (dtypes.pxd, which has fewer codes); NULL: not for that
   type. */
typedef struct {
    const char *name;
    void *loops[24];
} NamedLoops;

/* Before a loop: no element of the result is read after it was written. `out` is another row than the operands, or
   the same one. Without this the compiler writes each loop twice, and asks which of the two may run. */
#if defined(__clang__)
#define TL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TL_INDEPENDENT _Pragma("GCC ivdep")
#else
#define TL_INDEPENDENT
#endif
#endif
