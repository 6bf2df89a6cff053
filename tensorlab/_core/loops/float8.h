/* The five floating types of 8 bits, from and to float32. Rounding is to nearest, ties to even, as in PyTorch.

   Source: Micikevicius et al., FP8 Formats for Deep Learning, https://arxiv.org/abs/2209.05433 (e4m3fn, e5m2); the types
   that end in fnuz have no infinity and one nan, whose bits are those of -0; e8m0fnu is a bare exponent. */
#ifndef TL_FLOAT8_H
#define TL_FLOAT8_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "half.h"

typedef struct {
    int digits;             /* bits after the point */
    int lowest;             /* exponent of the smallest normal number */
    int largest;            /* code of the largest number */
    int beyond;             /* code of what is larger: infinity, nan, or the largest number */
    int nan;
    int is_fnuz;            /* nan and zero have no sign */
} tl_float8_format;

static const tl_float8_format tl_float8_formats[] = {
    {3, -6, 0x7e, 0x7e, 0x7f, 0},                       /* e4m3fn */
    {2, -14, 0x7b, 0x7c, 0x7f, 0},                      /* e5m2 */
    {3, -7, 0x7f, 0x80, 0x80, 1},                       /* e4m3fnuz */
    {2, -15, 0x7f, 0x80, 0x80, 1},                      /* e5m2fnuz */
};
enum { TL_E8M0 = 4 };

/* The sign is lost. Halfway between two powers is rounded up; below 2**-126, where float32 has fewer digits, everything
   above the lower power is, as in PyTorch. */
static inline uint8_t tl_e8m0_of_float(float x) {
    uint32_t bits = tl_half_float_to_bits(x) & 0x7fffffffu, exponent = bits >> 23, rest = bits & 0x7fffffu;
    if (exponent == 255) return 255;                    /* infinity or nan */
    return (uint8_t)(exponent + (exponent ? rest >= 0x400000u : rest > 0x400000u));
}

/* As in tl_half_of_float: adding a float whose last bit is worth what that of the result is lets the addition round. */
static inline uint8_t tl_float8_of_float(float x, int kind) {
    if (kind == TL_E8M0) return tl_e8m0_of_float(x);
    const tl_float8_format f = tl_float8_formats[kind];
    uint32_t bits = tl_half_float_to_bits(x), sign = bits >> 24 & 0x80u, size = bits & 0x7fffffffu;
    uint32_t exponent = size & 0x7f800000u, lowest = (uint32_t)(f.lowest + 127) << 23;
    if (size > 0x7f800000u) return (uint8_t)(f.is_fnuz ? f.nan : f.nan | (int)sign);
    int code = 255;
    if (size < 0x48000000u) {                           /* 2**17: beyond all of these types */
        if (exponent < lowest) exponent = lowest;
        float anchor = tl_half_bits_to_float(exponent + ((uint32_t)(23 - f.digits) << 23));
        uint32_t units = tl_half_float_to_bits(tl_half_bits_to_float(size) + anchor) - tl_half_float_to_bits(anchor);
        code = (int)(units + ((exponent - lowest) >> 23 << f.digits));
    }
    if (code > f.largest) code = f.beyond;
    return (uint8_t)(f.is_fnuz && (code & 0x7f) == 0 ? code : code | (int)sign);
}

static inline float tl_float_of_float8(uint8_t code, int kind) {
    if (kind == TL_E8M0) return code == 255 ? NAN : ldexpf(1.0f, (int)code - 127);
    const tl_float8_format f = tl_float8_formats[kind];
    int size = code & 0x7f, exponent = size >> f.digits, rest = size & ((1 << f.digits) - 1);
    float x;
    if (f.is_fnuz ? code == 0x80 : size > f.largest) {
        x = size == f.beyond && !f.is_fnuz ? INFINITY : NAN;
    } else {
        x = ldexpf((float)(exponent ? rest + (1 << f.digits) : rest), (exponent ? exponent - 1 : 0) + f.lowest - f.digits);
    }
    return code & 0x80 ? -x : x;
}
#endif
