/* Elementary functions that a compiler can vectorise: one source for eager kernels and generated
   code.

   A loop `for (i...) out[i] = tl_expf(x[i]);` becomes SIMD code only if the function has no branch,
   no table and no call, and libm's have all three. The functions here are straight-line arithmetic
   on numbers and on their bits, with selects (`a ? b : c`) instead of branches. Build with

       -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off

   Only +, -, *, /, sqrt, selects and integer operations are used, in a fixed order: with
   contraction off every compiler and every vector width gives the same bits. (Contraction to FMA
   would save 10 to 20 % of the time, and the bits would depend on the processor.) All functions are
   right at +-0, +-inf and nan, and for denormal arguments and results.

   Names are libm's with tl_ in front: tl_exp takes a double, tl_expf a float. Beside each function
   stands its largest error, as float and as double, in ULP (units in the last place; rounding alone
   costs 0.5). tests/core/test_tl_math.py holds them to it, benchmarks/math_accuracy.py measures
   error and speed, tools/fit_math.py finds the coefficients.

   A plain loop over tl_sin or tl_cos is not vectorised, since they call libm for huge angles: see the
   expressions of the ops (ops/pointwise/trigonometry.pyx). */
#ifndef TL_MATH_H
#define TL_MATH_H
#ifdef __FAST_MATH__
#error "tl_math.h relies on the exact order of floating-point operations: build without -ffast-math"
#endif
/* GCC would follow the constant bounds of a clamp through a whole function as branches of their own
   ("jump threading"), and the vector loop would compute each of them and join them by masks. Without
   that, exp has 33 instructions a vector instead of 40, and tanh on AVX-512 two divisions instead of
   three; on AVX2 both are 1.1 times as fast. The setting holds for all code below this line, that of
   the including file too. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-thread-jumps")
#endif
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ------------------------------------------------------------------------------ bits and numbers
   float:  sign 1 | exponent 8, biased by 127 | fraction 23.      double:  1 | 11, by 1023 | 52. */

static inline float tl_float_of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}
static inline uint32_t tl_bits_of_float(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}
static inline double tl_double_of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}
static inline uint64_t tl_bits_of_double(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

static inline float tl_absf(float x) {
    return tl_float_of_bits(tl_bits_of_float(x) & 0x7fffffffu);
}
static inline double tl_abs(double x) {
    return tl_double_of_bits(tl_bits_of_double(x) & 0x7fffffffffffffffu);
}

/* y >= 0 (or of the sign of x) with the sign of x: odd functions keep -0 by it */
static inline float tl_with_signf(float y, float x) {
    return tl_float_of_bits(tl_bits_of_float(y) | (tl_bits_of_float(x) & 0x80000000u));
}
static inline double tl_with_sign(double y, double x) {
    return tl_double_of_bits(tl_bits_of_double(y) | (tl_bits_of_double(x) & 0x8000000000000000u));
}

/* x kept within [low, high]. A comparison with nan is false, so nan stays nan. */
static inline float tl_clampf(float x, float low, float high) {
    x = x > high ? high : x;
    return x < low ? low : x;
}
static inline double tl_clamp(double x, double low, double high) {
    x = x > high ? high : x;
    return x < low ? low : x;
}

/* c0 + c1 x + c2 x**2 + c3 x**3 with s = x * x. In Horner's rule each step waits for the last one;
   pairs do not, and the processor overlaps them. Longer polynomials are cubics, joined by Horner's
   rule in x**4. */
static inline float tl_cubicf(float x, float s, float c0, float c1, float c2, float c3) {
    return (c0 + c1 * x) + s * (c2 + c3 * x);
}
static inline double tl_cubic(double x, double s, double c0, double c1, double c2, double c3) {
    return (c0 + c1 * x) + s * (c2 + c3 * x);
}

static inline float tl_sqrtf(float x) { return sqrtf(x); }
static inline double tl_sqrt(double x) { return sqrt(x); }
static inline float tl_rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double tl_rsqrt(double x) { return 1.0 / sqrt(x); }

/* ------------------------------------------------------------------ exp, exp2, sigmoid and expm1
   exp(x) = 2**k * exp(r),  k = round(x / log 2),  |r| <= log(2) / 2.

   Adding 1.5 * 2**23 (2**52 in double) to a small number leaves no bits for a fraction, so the
   addition rounds to an integer, and that integer stands in the low bits of the sum: no rounding
   or conversion instruction is needed. `magic` is that number plus what the caller wants added to k
   in those bits. Returns exp(r) - 1. */
static inline float tl_exp_splitf(float x, float magic, uint32_t *k_bits) {
    float shifted = x * 1.44269504f + magic;
    float k = shifted - magic;
    *k_bits = tl_bits_of_float(shifted);
    /* log 2 in two parts: the first has 9 significant bits, so that k times it is exact */
    float r = (x - k * 0.693359375f) - k * -2.12194442e-4f, s = r * r;
    float p = (4.16683888e-2f + 8.36872407e-3f * r) + s * 1.38145796e-3f;
    p = (4.99999934e-1f + 1.66665206e-1f * r) + s * p;
    return p * s + r;
}
static inline double tl_exp_split(double x, double magic, uint64_t *k_bits) {
    double shifted = x * 1.4426950408889634 + magic;
    double k = shifted - magic;
    *k_bits = tl_bits_of_double(shifted);
    double r = (x - k * 0.6931471806019545) - k * -4.2009150726810846e-11, s = r * r, q = s * s;
    double p = (2.7557581917575783e-7 + 2.511204883508685e-8 * r) + s * 2.0826627753033866e-9;
    p = p * q + tl_cubic(r, s, 1.3888888889115788e-3, 1.9841269896416799e-4,
                         2.4801586926450969e-5, 2.7557234828201513e-6);
    p = p * q + tl_cubic(r, s, 0.5, 1.6666666666666683e-1,
                         4.1666666666666094e-2, 8.3333333333170213e-3);
    return p * s + r;
}

/* y * 2**k, of bits that end in k + 2 * 127 (2 * 1023). 2**k in two factors: both are normal numbers,
   and the product may overflow to inf or round, once, to a denormal, as it should. The shift to the
   left drops all bits but the exponent. */
static inline float tl_scaledf(float y, uint32_t k_bits) {
    uint32_t half = k_bits >> 1;
    return y * tl_float_of_bits(half << 23) * tl_float_of_bits((k_bits - half) << 23);
}
static inline double tl_scaled(double y, uint64_t k_bits) {
    uint64_t half = k_bits >> 1;
    return y * tl_double_of_bits(half << 52) * tl_double_of_bits((k_bits - half) << 52);
}

/* 1.0, 1.0 ULP. Outside the clamps the result is 0 or inf, and so it is at the bounds. */
static inline float tl_expf(float x) {
    uint32_t k_bits;                                                 /* ends in k + 2 * 127 */
    float p = tl_exp_splitf(tl_clampf(x, -104.0f, 89.0f), 12582912.0f + 254.0f, &k_bits);
    return tl_scaledf(1.0f + p, k_bits);
}
static inline double tl_exp(double x) {
    uint64_t k_bits;
    double p = tl_exp_split(tl_clamp(x, -746.0, 710.0), 6755399441055744.0 + 2046.0, &k_bits);
    return tl_scaled(1.0 + p, k_bits);
}

/* exp where it is a normal number, from -87 to 87 (-708 to 708), with the same bits: k is added to the
   exponent. The selects for special arguments are a quarter of exp and log, so the ops' loops search each
   block of an array for such an argument first. */
static inline uint32_t tl_exp_is_specialf(float x) {
    return (0x42adffffu - (tl_bits_of_float(x) & 0x7fffffffu)) >> 31;
}
static inline uint64_t tl_exp_is_special(double x) {
    return (0x40861fffffffffffu - (tl_bits_of_double(x) & 0x7fffffffffffffffu)) >> 63;
}
static inline float tl_exp_usualf(float x) {
    uint32_t k_bits;                                                 /* ends in k */
    float p = tl_exp_splitf(x, 12582912.0f, &k_bits);
    return tl_float_of_bits(tl_bits_of_float(1.0f + p) + (k_bits << 23));
}
static inline double tl_exp_usual(double x) {
    uint64_t k_bits;
    double p = tl_exp_split(x, 6755399441055744.0, &k_bits);
    return tl_double_of_bits(tl_bits_of_double(1.0 + p) + (k_bits << 52));
}

/* 2**x: 1.2, 1.2 ULP. The remainder r = x - k is exact, and 2**r a polynomial of its own. */
static inline float tl_exp2f(float x) {
    x = tl_clampf(x, -151.0f, 128.0f);
    float shifted = x + (12582912.0f + 254.0f);
    float r = x - (shifted - (12582912.0f + 254.0f)), s = r * r;
    float p = tl_cubicf(r, s, 2.40226479e-1f, 5.55033247e-2f, 9.61843738e-3f, 1.33988744e-3f)
        + s * s * 1.53533574e-4f;
    return tl_scaledf(1.0f + (p * s + 6.93147203e-1f * r), tl_bits_of_float(shifted));
}
static inline double tl_exp2_of_parts(double r, uint64_t k_bits) {
    double s = r * r, q = s * s, p = 7.0737832674402001e-9 + 4.4347707355824191e-10 * r;
    p = p * q + tl_cubic(r, s, 1.5403530457112092e-4, 1.5252733493109966e-5,
                         1.3215435282244826e-6, 1.0178199576820287e-7);
    p = p * q + tl_cubic(r, s, 2.4022650695910131e-1, 5.5504108664820083e-2,
                         9.6181291075941202e-3, 1.333355814677465e-3);
    return tl_scaled(1.0 + (p * s + 6.9314718055994533e-1 * r), k_bits);
}
static inline double tl_exp2(double x) {
    x = tl_clamp(x, -1076.0, 1024.0);
    double shifted = x + (6755399441055744.0 + 2046.0);
    double r = x - (shifted - (6755399441055744.0 + 2046.0));
    return tl_exp2_of_parts(r, tl_bits_of_double(shifted));
}

/* 1 / (1 + exp(-x)): 2.5, 2.5 ULP. Both sides of the division are scaled by 2**-64 (2**-512): then
   exp(-x) overflows nowhere and needs one factor only, and the division rounds to a denormal. */
static inline float tl_sigmoidf(float x) {
    uint32_t k_bits;                                                 /* ends in k - 64 + 127 */
    float p = tl_exp_splitf(-tl_clampf(x, -104.0f, 40.0f), 12582912.0f + 63.0f, &k_bits);
    float scale = 1.0f / 18446744073709551616.0f;
    return scale / (scale + (1.0f + p) * tl_float_of_bits(k_bits << 23));
}
static inline double tl_sigmoid(double x) {
    uint64_t k_bits;                                                 /* ends in k - 512 + 1023 */
    double p = tl_exp_split(-tl_clamp(x, -746.0, 40.0), 6755399441055744.0 + 511.0, &k_bits);
    double scale = 7.458340731200207e-155;
    return scale / (scale + (1.0 + p) * tl_double_of_bits(k_bits << 52));
}

/* exp(x) - 1 = 2**k * (exp(r) - 1) + (2**k - 1): 1.9, 2.0 ULP. All halved: 2**128 is not a float. */
static inline float tl_expm1f(float x) {
    uint32_t k_bits;                                                 /* ends in k - 1 + 127 */
    float p = tl_exp_splitf(tl_clampf(x, -20.0f, 89.0f), 12582912.0f + 126.0f, &k_bits);
    float half = tl_float_of_bits(k_bits << 23);
    float y = 2.0f * (half * p + (half - 0.5f));
    return tl_absf(x) < 1e-8f ? x : y;                               /* keeps -0 and denormals */
}
static inline double tl_expm1(double x) {
    uint64_t k_bits;
    double p = tl_exp_split(tl_clamp(x, -40.0, 710.0), 6755399441055744.0 + 1022.0, &k_bits);
    double half = tl_double_of_bits(k_bits << 52);
    double y = 2.0 * (half * p + (half - 0.5));
    return tl_abs(x) < 1e-16 ? x : y;
}

/* ----------------------------------------------------------------------- log, log1p and softplus
   log(x) = k * log 2 + log(1 + f),  x = 2**k * (1 + f),  1/sqrt(2) <= 1 + f < sqrt(2).

   log(1 + f) = 2 atanh(s),  s = f / (2 + f),  is odd in s: 2s + s R, R a short polynomial in s * s.
   It is summed as f - (h - s * (h + R)), h = f * f / 2, where all terms but f are small, and so is
   their rounding. */
static inline float tl_log_of_partsf(float f, float k) {
    float s = f / (2.0f + f), z = s * s, h = 0.5f * f * f;
    float p = (2.98712079e-1f * z + 3.99775648e-1f) * z + 6.66667762e-1f;
    return k * 0.693359375f - ((h - (s * (h + p * z) + k * -2.12194442e-4f)) - f);
}
static inline double tl_log_of_parts(double f, double k) {
    double s = f / (2.0 + f), z = s * s, q = z * z, h = 0.5 * f * f;
    double p = (1.8183563471123935e-1 + 1.5314069756647406e-1 * z) + q * 1.4795783404065077e-1;
    p = p * (q * q) + tl_cubic(z, q, 6.6666666666667342e-1, 3.9999999999415673e-1,
                               2.8571428742186729e-1, 2.2222198591700086e-1);
    return k * 0.6931471806019545 - ((h - (s * (h + p * z) + k * -4.2009150726810846e-11)) - f);
}

/* Of bits counted from those of 1/sqrt(2) (0x3f3504f3) the exponent field holds k, and the fraction
   field how far 1 + f lies above 1/sqrt(2). */
static inline float tl_log_exponentf(uint32_t bits) { return (float)(int32_t)(bits >> 23); }
static inline float tl_log_fractionf(uint32_t bits) {
    return tl_float_of_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
}
/* An integer below 2**52 put into the fraction of the number 2**52 reads as 2**52 plus itself:
   before AVX-512 no vector instruction converts 64-bit integers. */
static inline double tl_log_exponent(uint64_t bits) {
    return tl_double_of_bits((bits >> 52) | 0x4330000000000000u) - 4503599627370496.0;
}
static inline double tl_log_fraction(uint64_t bits) {
    return tl_double_of_bits((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
}

/* 0.9, 0.9 ULP. Usual are positive normal numbers; a denormal is scaled up to one first. */
static inline int tl_log_is_specialf(float x) {
    return tl_bits_of_float(x) - 0x00800000u >= 0x7f000000u;
}
static inline int tl_log_is_special(double x) {
    return tl_bits_of_double(x) - 0x0010000000000000u >= 0x7fe0000000000000u;
}
/* log(x / 2**scale) */
static inline float tl_log_scaledf(float x, float scale) {
    uint32_t bits = tl_bits_of_float(x) + (0x3f800000u - 0x3f3504f3u);
    float k = tl_log_exponentf(bits) - (127.0f + scale);
    return tl_log_of_partsf(tl_log_fractionf(bits), k);
}
static inline double tl_log_scaled(double x, double scale) {
    uint64_t bits = tl_bits_of_double(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double k = tl_log_exponent(bits) - (1023.0 + scale);
    return tl_log_of_parts(tl_log_fraction(bits), k);
}
static inline float tl_log_usualf(float x) { return tl_log_scaledf(x, 0.0f); }
static inline double tl_log_usual(double x) { return tl_log_scaled(x, 0.0); }
static inline float tl_logf(float x) {
    int is_denormal = x < 1.17549435e-38f;
    float y = tl_log_scaledf(is_denormal ? x * 8388608.0f : x, is_denormal ? 23.0f : 0.0f);
    y = x < INFINITY ? y : x;                                        /* inf and nan */
    return x > 0.0f ? y : (x == 0.0f ? -INFINITY : NAN);
}
static inline double tl_log(double x) {
    int is_denormal = x < 2.2250738585072014e-308;
    double y = tl_log_scaled(is_denormal ? x * 18014398509481984.0 : x,
                             is_denormal ? 54.0 : 0.0);
    y = x < (double)INFINITY ? y : x;
    return x > 0.0 ? y : (x == 0.0 ? -(double)INFINITY : (double)NAN);
}

/* log(1 + x): 1.5, 1.5 ULP. u = 1 + x, rounded, gives k and f, and what the rounding lost, times
   2**-k, is put back into f. For small x this makes f = x. */
static inline float tl_log1pf(float x) {
    float u = 1.0f + x;
    float lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
    uint32_t bits = tl_bits_of_float(u) + (0x3f800000u - 0x3f3504f3u);
    float scale = tl_float_of_bits((255u - (bits >> 23)) << 23);     /* 2**(1 - k): k may be 128 */
    float f = tl_log_fractionf(bits) + lost * (0.5f * scale);
    float y = tl_log_of_partsf(f, tl_log_exponentf(bits) - 127.0f);
    y = (x == 0.0f) | !(x < INFINITY) ? x : y;          /* GCC 16 does not vectorise two such lines */
    return x > -1.0f ? y : (x == -1.0f ? -INFINITY : NAN);
}
static inline double tl_log1p(double x) {
    double u = 1.0 + x;
    double lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
    uint64_t bits = tl_bits_of_double(u) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double scale = tl_double_of_bits((2047u - (bits >> 52)) << 52);
    double f = tl_log_fraction(bits) + lost * (0.5 * scale);
    double y = tl_log_of_parts(f, tl_log_exponent(bits) - 1023.0);
    y = (x == 0.0) | !(x < (double)INFINITY) ? x : y;
    return x > -1.0 ? y : (x == -1.0 ? -(double)INFINITY : (double)NAN);
}

/* log(1 + exp(x)) = max(x, 0) + log(1 + t),  t = exp(-|x|): 2.8, 2.8 ULP.
   log(1 + t) = 2 atanh(t / (2 + t)) as above, and twos = 2t / (2 + t) is exact for denormal t. */
static inline float tl_softplusf(float x) {
    float t = tl_expf(-tl_absf(x));
    float twos = (t + t) / (2.0f + t), z = 0.25f * twos * twos;
    float p = tl_cubicf(z, z * z, 6.66664163e-1f, 4.00215272e-1f, 2.80018054e-1f, 2.80119868e-1f);
    return (x < 0.0f ? 0.0f : x) + (twos + 0.5f * twos * (z * p));
}
static inline double tl_softplus(double x) {
    double t = tl_exp(-tl_abs(x));
    double twos = (t + t) / (2.0 + t), z = 0.25 * twos * twos, q = z * z;
    double p = 8.3449707413914798e-2 + 1.7009757040147708e-1 * z;
    p = p * (q * q) + tl_cubic(z, q, 1.8181744478629037e-1, 1.538654839979565e-1,
                               1.3301121313966201e-1, 1.2104945230902956e-1);
    p = p * (q * q) + tl_cubic(z, q, 6.666666666666631e-1, 4.0000000000155118e-1,
                               2.8571428548117738e-1, 2.2222223953661957e-1);
    return (x < 0.0 ? 0.0 : x) + (twos + 0.5 * twos * (z * p));
}

/* ------------------------------------------------------------------------------------------- pow
   x**y = 2**(y log2 x) for x >= 0: 1.7 ULP. The power may be as large as 2**1024, so that an error of
   log2 x grows a thousandfold: it is needed to 64 bits, in two parts. As in the C library of FreeBSD
   (e_pow.c), log2(1 + f) = c s t,  s = f / (2 + f),  t = 3 + s**2 + s**4 R(s**2),  c = 2 / (3 log 2),
   and of each factor the upper half is split off: upper halves have exact products. */
static inline double tl_upper_half(double x) {                       /* 26 of 53 bits */
    return tl_double_of_bits(tl_bits_of_double(x) & 0xfffffffff8000000u);
}
static inline double tl_power(double x, double y) {
    int is_denormal = x < 2.2250738585072014e-308;
    uint64_t bits = tl_bits_of_double(is_denormal ? x * 18014398509481984.0 : x)
        + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double k = tl_log_exponent(bits) - (is_denormal ? 1077.0 : 1023.0), f = tl_log_fraction(bits);

    double inverse = 1.0 / (2.0 + f), s = f * inverse, z = s * s, q = z * z;
    double d_high = tl_upper_half(2.0 + f), d_low = f - (d_high - 2.0);
    double s_high = tl_upper_half(s);
    double s_low = inverse * ((f - s_high * d_high) - s_high * d_low);

    double p = (2.3080137295374713e-1 + 1.9885195871711795e-1 * z) + q * 1.9794783220682818e-1;
    p = p * (q * q) + tl_cubic(z, q, 6.0000000000003388e-1, 4.2857142855147641e-1,
                               3.3333333780196137e-1, 2.7272676522960032e-1);
    double square = s_high * s_high, rest = p * q + s_low * (s_high + s);
    double t_high = tl_upper_half(3.0 + square + rest), t_low = rest - (t_high - 3.0 - square);

    double st = s_high * t_high, st_rest = s_low * t_high + t_low * s;
    double st_high = tl_upper_half(st + st_rest), st_low = st_rest - (st_high - st);
    double cst = 0.9617966860532761 * st_high;
    double cst_rest = 7.872699542894897e-09 * st_high + 0.9617966939259756 * st_low;
    double log_high = tl_upper_half(k + (cst + cst_rest));
    double log_low = cst_rest - (log_high - k - cst);

    double power = tl_clamp(y, -3.7e19, 3.7e19), power_high = tl_upper_half(power);   /* no inf */
    double high = tl_clamp(power_high * log_high, -1100.0, 1100.0);
    double low = tl_clamp((power - power_high) * log_high + power * log_low, -1.0, 1.0);
    double shifted = (high + low) + (6755399441055744.0 + 2046.0);
    double r = (high - (shifted - (6755399441055744.0 + 2046.0))) + low;
    double result = tl_exp2_of_parts(r, tl_bits_of_double(shifted));

    result = x == 0.0 ? (y > 0.0 ? 0.0 : (double)INFINITY) : result;
    result = x == (double)INFINITY ? (y > 0.0 ? (double)INFINITY : 0.0) : result;
    result = y == 0.0 ? 1.0 : result;
    return x != x ? x : (y != y ? y : result);
}

/* ------------------------------------------------------------------------------------------ tanh
   tanh(x) = T / (1 + T*T/4),  T = 2 tanh(x/2): 2.5 ULP. T is x plus x times a quotient of two
   polynomials in x * x: exact where x is small. Where x is large, T is near 2, and its error hardly
   moves the result. From 9.02 on tanh rounds to 1. */
static inline float tl_tanhf(float x) {
    float c = tl_clampf(x, -9.02f, 9.02f), s = c * c;
    float p = (-6.95842042e-8f * s - 9.74631893e-4f) * s - 8.33332712e-2f;
    float q = (1.05150942e-3f * s + 1.11694808e-1f) * s + 1.0f;
    float t = c + c * (s * p / q);
    return tl_with_signf(t / (1.0f + 0.25f * t * t), x);
}
/* tanh(a) = t / (t + 2),  t = exp(2a) - 1: 2.6 ULP */
static inline double tl_tanh(double x) {
    double a = tl_abs(x);
    double t = tl_expm1(2.0 * (a > 20.0 ? 20.0 : a));
    return tl_with_sign(t / (t + 2.0), x);
}

/* ---------------------------------------------------------------------------------- erf and gelu
   The eighth root of erfc(a) is so flat that one polynomial follows it all the way to where erf
   rounds to 1, without exp and without a division. Returns z = 8 u,  u = 1 - erfc(a)**(1/8),  as a
   plus a smaller part, for 0 <= a <= 4.2 (5.93). */
static inline float tl_erf_rootf(float a) {
    float s = a * a;
    float p = tl_cubicf(a, s, 1.28379153e-1f, 5.57043361e-1f, 1.6708349e-2f, -5.27010123e-2f)
        + s * s * tl_cubicf(a, s, -1.51140076e-3f, 4.11684919e-3f, -7.15896075e-4f, 3.90510974e-5f);
    return a + a * p;
}
static inline double tl_erf_root(double a) {
    double s = a * a, q = s * s;
    double p = tl_cubic(a, s, 8.4202825523127725e-11, -7.9831108260574498e-12,
                        5.2546384123615676e-13, -2.1458040762235917e-14)
        + q * 4.0939735534551894e-16;
    p = p * q + tl_cubic(a, s, 5.8271781596584488e-8, -1.7213651579364582e-8,
                         3.8335526134022321e-9, -6.5287914090920673e-10);
    p = p * q + tl_cubic(a, s, -1.7094112276346995e-6, 2.2090852483942742e-7,
                         1.7458659681474316e-7, -1.3920971263502351e-7);
    p = p * q + tl_cubic(a, s, 8.2717580150134876e-5, -2.5324093224417337e-5,
                         2.5695417045700223e-7, 3.6828572537151017e-6);
    p = p * q + tl_cubic(a, s, -1.3885001774702999e-3, 3.9333231584647205e-3,
                         -5.1918585347374563e-4, -1.1506408009324146e-4);
    p = p * q + tl_cubic(a, s, 1.2837916709551256e-1, 5.5704230082164064e-1,
                         1.6720440616524315e-2, -5.2753905619932164e-2);
    return a + a * p;
}

/* 1 - (1 - u)**8: 2.7, 2.7 ULP. The power is three squarings, 1 - (1 - u)**2 = 2u - u * u; the
   first two are one step. Each is written as z minus a smaller part, so that it rounds once where z
   is small: z stands for 8 u, then for 2 (1 - (1 - u)**4). */
static inline float tl_erff(float x) {
    float a = tl_absf(x);
    float z = tl_erf_rootf(a > 4.0f ? 4.0f : a), u = 0.125f * z;
    z = z - z * u * (1.5f - u * (1.0f - 0.25f * u));
    return tl_with_signf(z - 0.25f * z * z, x);
}
static inline double tl_erf(double x) {
    double a = tl_abs(x);
    double z = tl_erf_root(a > 5.93 ? 5.93 : a), u = 0.125 * z;
    z = z - z * u * (1.5 - u * (1.0 - 0.25 * u));
    return tl_with_sign(z - 0.25 * z * z, x);
}

/* x Phi(x) = max(x, 0) - a/2 * erfc(a / sqrt 2),  a = |x|: 5, 5 ULP for x > -1, and nowhere off by
   more than 1.3e-7 |x| (3e-16 |x|). erfc is (1 - u)**8: two squarings as for erf, the last one on
   1 - u. Unlike 0.5 x (1 + erf(x / sqrt 2)) this does not cancel for negative x. Below -5.9 (-8.38)
   the result is -0, at -inf too, where that formula gives nan. */
static inline float tl_geluf(float x) {
    float a = tl_absf(x), u = 0.125f * tl_erf_rootf(0.70710678f * a);
    u = u * (2.0f - u);
    u = 1.0f - u * (2.0f - u);
    float tail = a < 5.9f ? 0.5f * a * (u * u) : 0.0f;
    return (x < 0.0f ? -0.0f : x) - tail;
}
static inline double tl_gelu(double x) {
    double a = tl_abs(x), u = 0.125 * tl_erf_root(0.70710678118654752 * a);
    u = u * (2.0 - u);
    u = 1.0 - u * (2.0 - u);
    double tail = a < 8.38 ? 0.5 * a * (u * u) : 0.0;
    return (x < 0.0 ? -0.0 : x) - tail;
}

/* ---------------------------------------------------------------------------------------- erfinv
   The inverse of erf is x times a smooth function of w = -log(1 - x**2), in pieces: a polynomial in w
   where w is small, and for larger w polynomials in sqrt(w): 2.7, 3.6 ULP.
   Source: Giles 2010, Approximating the erfinv function. */
static inline float tl_erfinvf(float x) {
    float a = tl_absf(x), w = -tl_log_usualf((1.0f - a) * (1.0f + a));
    float v = w - 1.0f, s = v * v, q = s * s;
    float near = tl_cubicf(v, s, 3.82289321e-5f, -4.40177481e-6f, -5.24566698e-7f, 1.41881267e-7f)
        - q * 8.7885043e-9f;
    near = near * q
        + tl_cubicf(v, s, 2.4783289e-1f, 4.25064269e-3f, -2.37644285e-3f, 1.00281705e-4f);
    near = 1.1273744f + v * near;
    v = sqrtf(w) - 3.0f;
    s = v * v;
    q = s * s;
    float far = tl_cubicf(v, s, -3.58698932e-3f, 1.49600017e-3f, -7.66778611e-5f, -3.18862146e-4f)
        + q * 1.29056916e-4f;
    far = far * q
        + tl_cubicf(v, s, 1.00167509f, 9.44568883e-3f, -7.63940557e-3f, 5.68312651e-3f);
    far = 2.8329768f + v * far;
    float y = x * (w < 5.0f ? near : far);
    return a < 1.0f ? y : (a == 1.0f ? tl_with_signf(INFINITY, x) : NAN);
}
static inline double tl_erfinv(double x) {
    double a = tl_abs(x), w = -tl_log_usual((1.0 - a) * (1.0 + a)), root = sqrt(w);
    double v = w - 1.5, s = v * v, q = s * s;
    double near = -1.4790535349683896e-20 - v * 4.3207865052507492e-21;
    near = near * q + tl_cubic(v, s, -3.241660537719164e-15, 9.2903708790280473e-16,
                               -9.7077715528307069e-17, 4.4624250416254547e-18);
    near = near * q + tl_cubic(v, s, -8.3449630707696199e-12, 8.2048567810411672e-14,
                               1.8685393459177048e-13, -1.6908369687455036e-14);
    near = near * q + tl_cubic(v, s, -7.2322819691938222e-9, -2.0198396570856351e-9,
                               3.0274613940076176e-10, 2.2822335059157811e-11);
    near = near * q + tl_cubic(v, s, 2.3288167984224475e-5, -5.3727740475631362e-6,
                               -6.5075509008034273e-8, 1.1770369779798145e-7);
    near = near * q + tl_cubic(v, s, 2.5036244534245399e-1, 8.7976471265882941e-4,
                               -2.0923279304009332e-3, 1.7766931516111035e-4);
    near = 1.2520638405834421 + v * near;
    v = root - 3.25;
    s = v * v;
    q = s * s;
    double far = 9.0865559545652199e-8 + v * 3.2355222988720035e-9;
    far = far * q + tl_cubic(v, s, -4.0136000346089022e-6, 1.5054780164243027e-6,
                             1.7973465477485783e-8, -2.7776553978914912e-7);
    far = far * q + tl_cubic(v, s, 6.8284894716071422e-5, -4.731771193328263e-5,
                             1.2475161909801889e-5, 2.9218860270965364e-6);
    far = far * q + tl_cubic(v, s, -1.6882755553450427e-3, 9.5328939074040714e-4,
                             -3.5503752780396125e-4, 2.4031009704665529e-5);
    far = far * q + tl_cubic(v, s, 1.0052589676941596, 5.3709145536027108e-3,
                             -3.7512085075970041e-3, 2.4914420955061851e-3);
    far = 3.0838856104922205 + v * far;
    v = root - 5.0;
    s = v * v;
    q = s * s;
    double end = tl_cubic(v, s, -3.7942300411253643e-9, 1.5174154754247907e-9,
                          -2.5415573665728502e-10, -2.9288157585768538e-11);
    end = end * q + tl_cubic(v, s, -6.7716236961491496e-8, 2.9164302973579649e-8,
                             -1.4953670592061942e-8, 7.5981222456200965e-9);
    end = end * q + tl_cubic(v, s, -1.9681778360650618e-5, 4.5260649051042844e-6,
                             -9.9298125228412638e-7, 2.2899645975978143e-7);
    end = end * q + tl_cubic(v, s, 1.010300464864534, -1.387193183203542e-4,
                             -2.1503011928202767e-4, 7.5995276719041298e-5);
    end = 4.8499064014085839 + v * end;
    double y = x * (w < 6.25 ? near : (root < 4.0 ? far : end));
    return a < 1.0 ? y : (a == 1.0 ? tl_with_sign((double)INFINITY, x) : (double)NAN);
}

/* ---------------------------------------------------------------------------------------- lgamma
   log gamma(x) for x > 0: 6.1, 5.0 ULP. Since gamma(x + 1) = x gamma(x), a small x is shifted by a
   whole number to v + 2, where log gamma is v times a polynomial for -3/4 <= v <= 1/4; the factors on
   the way are `up` or `down`. So no digit is lost around the zeros at 1 and 2. From 6.25 on it is
   Stirling's formula,
       (x - 1/2) (log x - 1) + (log(2 pi) - 1) / 2 + P(1 / x**2) / x.
   Both need one quotient and one logarithm. Usual are positive normal numbers; libm has the rest.
   Source: Abramowitz and Stegun 1964, 6.1.15 and 6.1.41. */
static inline float tl_lgamma_usualf(float x) {
    float n = (x + 0.25f + 12582912.0f) - 12582912.0f, v = x - n;
    int is_large = n > 6.0f;
    float up = (n < 2.0f ? x : 1.0f) * (n < 1.0f ? x + 1.0f : 1.0f);
    float down = ((n > 2.0f ? x - 1.0f : 1.0f) * (n > 3.0f ? x - 2.0f : 1.0f))
        * ((n > 4.0f ? x - 3.0f : 1.0f) * (n > 5.0f ? x - 4.0f : 1.0f));
    float quotient = (is_large ? 1.0f : up) / (is_large ? x : down);
    float log_x = tl_log_usualf(is_large ? x : quotient);

    float s = v * v, q = s * s;
    float p = tl_cubicf(v, s, -7.35591536e-3f, 2.91536363e-3f, -1.45033077e-3f, -2.06801664e-4f)
        - q * 8.55560684e-4f;
    p = p * q + tl_cubicf(v, s, 4.22784339e-1f, 3.22466979e-1f, -6.73531246e-2f, 2.05828563e-2f);
    float rest = quotient * (8.33330801e-2f - 2.74847803e-3f * (quotient * quotient));
    return is_large ? (x - 0.5f) * (log_x - 1.0f) + (4.18938533e-1f + rest) : v * p - log_x;
}
static inline double tl_lgamma_usual(double x) {
    double n = (x + 0.25 + 6755399441055744.0) - 6755399441055744.0, v = x - n;
    int is_large = n > 6.0;
    double up = (n < 2.0 ? x : 1.0) * (n < 1.0 ? x + 1.0 : 1.0);
    double down = ((n > 2.0 ? x - 1.0 : 1.0) * (n > 3.0 ? x - 2.0 : 1.0))
        * ((n > 4.0 ? x - 3.0 : 1.0) * (n > 5.0 ? x - 4.0 : 1.0));
    double quotient = (is_large ? 1.0 : up) / (is_large ? x : down);
    double log_x = tl_log_usual(is_large ? x : quotient);

    double s = v * v, q = s * s;
    double p = tl_cubic(v, s, 3.6596668910062532e-6, 5.2330436554246e-6,
                        3.174702355518534e-6, 1.0116684918055704e-6);
    p = p * q + tl_cubic(v, s, -9.5404113146415445e-6, 4.0601360432121933e-6,
                         -2.0860166475040639e-6, 2.5656081036464043e-6);
    p = p * q + tl_cubic(v, s, -2.2315516491356714e-4, 9.9458644436205324e-5,
                         -4.4915835941927008e-5, 2.0515190843289707e-5);
    p = p * q + tl_cubic(v, s, -7.3855510287008114e-3, 2.8905103328924575e-3,
                         -1.1927539052278369e-3, 5.0966944126800306e-4);
    p = p * q + tl_cubic(v, s, 4.2278433509846714e-1, 3.2246703342411328e-1,
                         -6.7352301053198199e-2, 2.0580808427762391e-2);
    double z = quotient * quotient, z2 = z * z;
    double rest = (8.2618076848944976e-4 - 1.4504161071457274e-3 * z) * (z2 * z2)
        + tl_cubic(z, z2, 8.3333333333317906e-2, -2.7777777674497232e-3,
                   7.93648377283947e-4, -5.9496957103125525e-4);
    return is_large ? (x - 0.5) * (log_x - 1.0) + (4.1893853320467274e-1 + quotient * rest)
                    : v * p - log_x;
}
static inline float tl_lgammaf(float x) {
    return tl_log_is_specialf(x) ? (float)lgamma((double)x) : tl_lgamma_usualf(x);
}
static inline double tl_lgamma(double x) {
    return tl_log_is_special(x) ? lgamma(x) : tl_lgamma_usual(x);
}

/* ----------------------------------------------------------------------------------- sin and cos
   x = k * pi/2 + r,  |r| <= pi/4,  and the last two bits of k tell which of sin r, cos r, -sin r
   and -cos r is wanted: 1.6, 1.0 ULP. The reduction must leave enough bits where r nearly vanishes,
   which it does for k < 2**14 in float and k < 2**20 in double: the ..._near functions hold for
   angles that are not huge. They return sin(x + quarter_turns * pi/2). */
static inline int tl_is_hugef(float x) { return tl_absf(x) > 25735.0f; }
static inline int tl_is_huge(double x) { return tl_abs(x) > 1048576.0; }

static inline float tl_sin_nearf(float x, uint32_t quarter_turns) {
    float shifted = x * 0.63661977f + 12582912.0f;
    float k = shifted - 12582912.0f;
    uint32_t quadrant = tl_bits_of_float(shifted) + quarter_turns;
    /* pi/2 in parts of 10, 10, 10 and 24 bits: k times each of the first three is exact, and so
       are the first two subtractions. What the third rounds off is made good with the fourth
       part. All parts are positive, which keeps -0. */
    float first = (x - k * 1.5703125f) - k * 4.8351288e-4f, second = k * 3.1385571e-7f;
    float most = first - second;
    float r = most - (k * 6.0771006e-11f - ((first - most) - second)), s = r * r;
    float p = (-1.95151533e-4f * s + 8.33215982e-3f) * s - 1.66666546e-1f;
    float sine = r == 0.0f ? r : r + r * (p * s);                    /* -0 again */
    float q = (2.44330084e-5f * s - 1.3887315e-3f) * s + 4.16666457e-2f;
    float cosine = 1.0f - (0.5f * s - q * (s * s));
    float y = quadrant & 1u ? cosine : sine;
    return tl_float_of_bits(tl_bits_of_float(y) ^ ((quadrant & 2u) << 30));
}
static inline double tl_sin_near(double x, uint64_t quarter_turns) {
    double shifted = x * 0.6366197723675814 + 6755399441055744.0;
    double k = shifted - 6755399441055744.0;
    uint64_t quadrant = tl_bits_of_double(shifted) + quarter_turns;
    /* pi/2 in three parts of 33 bits, so that k times each is exact, and the rest of it. Where a
       subtraction rounds, what it lost goes to `rest`: x is k * pi/2 + r + rest. */
    double first = x - k * 1.5707963267341256, second = k * 6.077100506303966e-11;
    double near = first - second, third = k * 2.0222662487111665e-21;
    double r = near - third, s = r * r, s2 = s * s;
    double rest = ((first - near) - second) + (((near - r) - third) - k * 8.4784276603689e-32);
    double p = (-2.5052104877649437e-8 + 1.6058362621313522e-10 * s) - s2 * 7.5785129414586088e-13;
    p = p * (s2 * s2) + tl_cubic(s, s2, -1.6666666666666667e-1, 8.3333333333333225e-3,
                                 -1.9841269841254769e-4, 2.7557319214048966e-6);
    double sine = r == 0.0 ? r : r + (r * (p * s) + rest);
    double q = 2.0875699984713899e-9 - 1.1358491108631781e-11 * s;
    q = q * (s2 * s2) + tl_cubic(s, s2, 4.1666666666666593e-2, -1.3888888888873024e-3,
                                 2.4801587288830947e-5, -2.7557314173141684e-7);
    double cosine = 1.0 - (0.5 * s - (q * s2 - r * rest));
    double y = quadrant & 1u ? cosine : sine;
    return tl_double_of_bits(tl_bits_of_double(y) ^ ((quadrant & 2u) << 62));
}

static inline float tl_sinf(float x) { return tl_is_hugef(x) ? sinf(x) : tl_sin_nearf(x, 0); }
static inline float tl_cosf(float x) { return tl_is_hugef(x) ? cosf(x) : tl_sin_nearf(x, 1); }
static inline double tl_sin(double x) { return tl_is_huge(x) ? sin(x) : tl_sin_near(x, 0); }
static inline double tl_cos(double x) { return tl_is_huge(x) ? cos(x) : tl_sin_near(x, 1); }

/* --------------------------------------------------------------- atan2, atan, asin, acos and hypot
   atan(t) = t + t**3 P(t**2) for 0 <= t <= 1. Other angles are made of one like that and of right
   angles: pi/2 - atan(t) if the point is nearer to the y axis, and what lies left of that axis is
   mirrored. Right angles are in two parts, so that only the last addition rounds. */
static inline float tl_atan_nearf(float t) {
    float x = t * t, s = x * x, q = s * s, p = -1.79363484e-3f;
    p = p * q + tl_cubicf(x, s, -8.40345778e-2f, 5.7957717e-2f, -3.11779645e-2f, 1.0914667e-2f);
    p = p * q + tl_cubicf(x, s, -3.33332991e-1f, 1.99985483e-1f, -1.42642422e-1f, 1.09521884e-1f);
    return t + t * (x * p);
}
static inline double tl_atan_near(double t) {
    double x = t * t, s = x * x, q = s * s;
    double p = (-1.1640909497918965e-3 + 2.2302684907162344e-4 * x) - s * 2.0259027171633396e-5;
    p = p * q + tl_cubic(x, s, -2.5826909465549905e-2, 1.6978152686826525e-2,
                         -9.1846495683747671e-3, 3.856025351735379e-3);
    p = p * q + tl_cubic(x, s, -5.2392336613870409e-2, 4.6739516111703845e-2,
                         -4.0926428660519591e-2, 3.4067893535060648e-2);
    p = p * q + tl_cubic(x, s, -9.090901235791377e-2, 7.6922129347026006e-2,
                         -6.6658603937841414e-2, 5.8773079358441917e-2);
    p = p * q + tl_cubic(x, s, -3.3333333333331859e-1, 1.9999999999755039e-1,
                         -1.4285714271335776e-1, 1.111111067877417e-1);
    return t + t * (x * p);
}

/* Angle of the point (x, y): 1.7, 1.4 ULP. Equal sides have no quotient if they are 0 or inf. */
static inline float tl_atan2f(float y, float x) {
    float a = tl_absf(y), b = tl_absf(x), side = tl_with_signf(1.0f, x);
    float t = (a > b ? b : a) / (a > b ? a : b);
    t = a == b ? (a == 0.0f ? 0.0f : 1.0f) : t;
    float turned = tl_atan_nearf(t) * (a > b ? -side : side);
    float most = a > b ? 1.57079637f : (side < 0.0f ? 3.14159274f : 0.0f);
    float rest = a > b ? -4.37113883e-8f : (side < 0.0f ? -8.74227766e-8f : 0.0f);
    return tl_with_signf(most + (turned + rest), y);
}
static inline double tl_atan2(double y, double x) {
    double a = tl_abs(y), b = tl_abs(x), side = tl_with_sign(1.0, x);
    double t = (a > b ? b : a) / (a > b ? a : b);
    t = a == b ? (a == 0.0 ? 0.0 : 1.0) : t;
    double turned = tl_atan_near(t) * (a > b ? -side : side);
    double most = a > b ? 1.5707963267948966 : (side < 0.0 ? 3.1415926535897931 : 0.0);
    double rest = a > b ? 6.123233995736766e-17 : (side < 0.0 ? 1.2246467991473532e-16 : 0.0);
    return tl_with_sign(most + (turned + rest), y);
}

/* Each is the angle of a point: 1.6, 1.4 ULP; 2.6, 2.2 ULP; 2.8, 2.3 ULP. */
static inline float tl_atanf(float x) { return tl_atan2f(x, 1.0f); }
static inline double tl_atan(double x) { return tl_atan2(x, 1.0); }
static inline float tl_asinf(float x) { return tl_atan2f(x, sqrtf((1.0f - x) * (1.0f + x))); }
static inline double tl_asin(double x) { return tl_atan2(x, sqrt((1.0 - x) * (1.0 + x))); }
static inline float tl_acosf(float x) { return 2.0f * tl_atan2f(sqrtf(1.0f - x), sqrtf(1.0f + x)); }
static inline double tl_acos(double x) { return 2.0 * tl_atan2(sqrt(1.0 - x), sqrt(1.0 + x)); }

/* sqrt(x * x + y * y): 0.51, 1.1 ULP. In double no square of a float overflows; doubles are scaled by
   a power of 2 before they are squared. An infinite side counts more than a nan. */
static inline float tl_hypotf(float x, float y) {
    float length = (float)sqrt((double)x * (double)x + (double)y * (double)y);
    return (tl_absf(x) == INFINITY) | (tl_absf(y) == INFINITY) ? INFINITY : length;
}
static inline double tl_hypot(double x, double y) {
    double a = tl_abs(x), b = tl_abs(y), most = a > b ? a : b;
    double small = 2.4099198651028841e-181, large = 4.149515568880993e180;  /* 2**-600, 2**600 */
    double down = most > 1e150 ? small : (most < 1e-150 ? large : 1.0);
    double up = most > 1e150 ? large : (most < 1e-150 ? small : 1.0);
    a *= down;
    b *= down;
    double length = sqrt(a * a + b * b) * up;
    return (a == (double)INFINITY) | (b == (double)INFINITY) ? (double)INFINITY : length;
}
#endif
