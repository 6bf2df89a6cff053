/* How wide a vector is on the processor that is compiled for, and leave to fuse a product with a sum (FMA).

   The rest of the package is compiled without fusing, so that a sum has the same bits wherever it is computed. Inside a product of
   matrices it is worth twice the speed, and BLAS does it too: the bits of a product depend on the processor anyway. */
#ifndef TL_VECTORS_H
#define TL_VECTORS_H

#if defined(__AVX512F__)
#define TL_VECTOR_BYTES 64
#elif defined(__AVX__)
#define TL_VECTOR_BYTES 32
#else
#define TL_VECTOR_BYTES 16
#endif

#if defined(__GNUC__)
enum { tl_lanes_32 = TL_VECTOR_BYTES / 4, tl_lanes_64 = TL_VECTOR_BYTES / 8 };
typedef float tl_vector_32 __attribute__((vector_size(TL_VECTOR_BYTES), aligned(4), may_alias));
typedef double tl_vector_64 __attribute__((vector_size(TL_VECTOR_BYTES), aligned(8), may_alias));
#else                                                   /* a compiler without vector types: single numbers */
enum { tl_lanes_32 = 1, tl_lanes_64 = 1 };
typedef float tl_vector_32;
typedef double tl_vector_64;
#endif

#if defined(__GNUC__)
#define TL_ALWAYS_INLINE inline __attribute__((always_inline))
#define TL_PREFETCH(address) __builtin_prefetch(address) /* also where nothing is mapped: it does no harm */
#else
#define TL_ALWAYS_INLINE inline
#define TL_PREFETCH(address) ((void)0)
#endif

/* For headers that include themselves once for each type: tl_name_32 of tl_name_ and 32. */
#define TL_JOIN(name, bits) TL_PASTE(name, bits)
#define TL_PASTE(name, bits) name##bits

#if defined(__GNUC__) && !defined(__clang__)
#define TL_FUSED __attribute__((optimize("fp-contract=fast")))
#else
#define TL_FUSED
#endif
#endif
