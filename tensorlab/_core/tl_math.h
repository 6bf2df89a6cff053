/* Elementary functions that a compiler can vectorise: one source for eager kernels and generated code.

   A loop `for (i...) out[i] = tl_expf(x[i]);` becomes SIMD code only if the function has no branch, no
   table and no call, which libm's has. Each function here is straight-line arithmetic on bits and
   numbers, with selects (`a ? b : c` of values already computed) in place of branches. Build with

       -O3 -fno-math-errno -fno-trapping-math -ffp-contract=off

   and never with -ffast-math, which removes the tricks. Only +, -, *, /, selects and integer operations
   of SSE2 are used, in a fixed order: with contraction off every compiler and every vector width gives
   the same bits. All are right at +-0, +-inf, nan, and at denormal arguments and results.

   Names: tl_exp is double, tl_expf float, as in libm. Largest errors in ULP (units in the last place)
   stand beside each function; tests/core/test_tl_math.py holds them, benchmarks/math_accuracy.py prints
   them and the speed, and tools/fit_math.py finds the coefficients.

   Left to libm: erf and gelu in double; pow. tl_sin and tl_cos call it for |x| > 2**20, and then a plain
   loop is scalar: use tl_sin_array and its siblings at the end. */
#ifndef TL_MATH_H
#define TL_MATH_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ------------------------------------------------------------------------------------- bits and numbers
   float32:  sign 1 | exponent 8, biased by 127 | fraction 23         float64:  1 | 11, by 1023 | 52 */

static inline float tl_float_of_bits(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
static inline uint32_t tl_bits_of_float(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }
static inline double tl_double_of_bits(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline uint64_t tl_bits_of_double(double x) { uint64_t bits; memcpy(&bits, &x, 8); return bits; }

static inline float tl_absf(float x) { return tl_float_of_bits(tl_bits_of_float(x) & 0x7fffffffu); }
static inline double tl_abs(double x) {
    return tl_double_of_bits(tl_bits_of_double(x) & 0x7fffffffffffffffu);
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

static inline float tl_sqrtf(float x) { return __builtin_sqrtf(x); }
static inline double tl_sqrt(double x) { return __builtin_sqrt(x); }
static inline float tl_rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
static inline double tl_rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }

/* ---------------------------------------------------------------------------------------------- float32: exp
   exp(x) = 2**k * exp(r),  k = round(x / log 2),  |r| <= log(2) / 2.

   Adding 1.5 * 2**23 to a small float leaves no bits for a fraction, so the addition rounds to an integer,
   and that integer stands in the low bits of the sum: no rounding or conversion instruction is needed.
   `magic` is 1.5 * 2**23 plus what the caller wants added to k in those bits. */
static inline float tl_exp_reducedf(float x, float magic, uint32_t *k_bits) {
    float shifted = x * 1.44269504f + magic;
    float k = shifted - magic;
    *k_bits = tl_bits_of_float(shifted);
    /* log 2 in two parts; the first has 9 significant bits, so that k times it is exact */
    float r = (x - k * 0.693359375f) - k * -2.12194440e-4f;
    float p = 1.381461276e-03f;
    p = p * r + 8.368710056e-03f;
    p = p * r + 4.166838899e-02f;
    p = p * r + 1.666652113e-01f;
    p = p * r + 4.999999404e-01f;
    return (p * (r * r) + r) + 1.0f;
}

/* 0.96 ULP */
static inline float tl_expf(float x) {
    uint32_t k_bits;                                          /* ... + k + 2 * 127 */
    float p = tl_exp_reducedf(tl_clampf(x, -104.0f, 89.0f), 12582912.0f + 254.0f, &k_bits);
    /* 2**k in two factors: each is a normal number, and their product with p may overflow to inf or
       round (once) to a denormal, as it should. Shifting left drops the bits of 1.5 * 2**23. */
    uint32_t half = k_bits >> 1;
    return p * tl_float_of_bits(half << 23) * tl_float_of_bits((k_bits - half) << 23);
}

/* 2.4 ULP.  1 / (1 + exp(-x)), both sides of the division times 2**-64: exp(-x) * 2**-64 overflows
   nowhere and needs one factor only, and the division itself rounds to a denormal. */
static inline float tl_sigmoidf(float x) {
    uint32_t k_bits;                                          /* ... + k - 64 + 127 */
    float p = tl_exp_reducedf(-tl_clampf(x, -104.0f, 40.0f), 12582912.0f + 63.0f, &k_bits);
    return 0x1p-64f / (0x1p-64f + p * tl_float_of_bits(k_bits << 23));
}

/* exp(x) - 1 = 2**k * (exp(r) - 1) + (2**k - 1);  2 ULP */
static inline float tl_expm1f(float x) {
    float c = tl_clampf(x, -20.0f, 89.0f);
    float shifted = c * 1.44269504f + (12582912.0f + 126.0f);
    float k = shifted - (12582912.0f + 126.0f);
    float r = (c - k * 0.693359375f) - k * -2.12194440e-4f;
    float p = 1.984587579e-04f;
    p = p * r + 1.394063700e-03f;
    p = p * r + 8.333389647e-03f;
    p = p * r + 4.166636243e-02f;
    p = p * r + 1.666666567e-01f;
    p = p * r + 5.000000000e-01f;
    p = p * (r * r) + r;
    float half = tl_float_of_bits(tl_bits_of_float(shifted) << 23);      /* 2**(k-1): k may be 128 */
    float y = 2.0f * (half * p + (half - 0.5f));
    return x == 0.0f ? x : y;                                            /* keeps -0 */
}

/* ---------------------------------------------------------------------------------------------- float32: log
   log(x) = k * log 2 + log(1 + f),  x = 2**k * (1 + f),  1/sqrt(2) <= 1 + f < sqrt(2) */

/* log(1 + f) + k * log 2, the small terms first */
static inline float tl_log_of_partsf(float f, float k) {
    float p = 6.746639311e-02f;
    p = p * f - 1.167564988e-01f;
    p = p * f + 1.188816205e-01f;
    p = p * f - 1.240558922e-01f;
    p = p * f + 1.421955228e-01f;
    p = p * f - 1.666799635e-01f;
    p = p * f + 2.000211924e-01f;
    p = p * f - 2.500000894e-01f;
    p = p * f + 3.333331347e-01f;
    float s = f * f;
    float y = (p * f) * s + k * -2.12194440e-4f;
    return (f + (y - 0.5f * s)) + k * 0.693359375f;
}

/* 0.8 ULP */
static inline float tl_logf(float x) {
    int is_denormal = x < 0x1p-126f;
    /* Measured from 1/sqrt(2) (bits 0x3f3504f3) the exponent field is k, and the fraction that of 1 + f. */
    uint32_t bits = tl_bits_of_float(is_denormal ? x * 0x1p23f : x) + (0x3f800000u - 0x3f3504f3u);
    float k = (float)(int32_t)(bits >> 23) - (is_denormal ? 150.0f : 127.0f);
    float f = tl_float_of_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float y = tl_log_of_partsf(f, k);
    y = x < __builtin_inff() ? y : x;                                    /* inf and nan */
    return x > 0.0f ? y : (x == 0.0f ? -__builtin_inff() : __builtin_nanf(""));
}

/* log(u) for u = 1 + x rounded, plus what the rounding lost: log(1 + x) - log(u) is about lost / u.
   2 ULP */
static inline float tl_log1pf(float x) {
    float u = 1.0f + x;
    float lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
    uint32_t bits = tl_bits_of_float(u) + (0x3f800000u - 0x3f3504f3u);
    float k = (float)(int32_t)(bits >> 23) - 127.0f;
    float f = tl_float_of_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float y = tl_log_of_partsf(f, k) + lost / u;
    y = x < __builtin_inff() ? y : x;
    y = x > -1.0f ? y : (x == -1.0f ? -__builtin_inff() : __builtin_nanf(""));
    return x == 0.0f ? x : y;
}

/* ------------------------------------------------------------------------------------ float32: tanh, erf, gelu
   tanh and erf are odd and reach 1 early: one rational function x * P(x*x) / Q(x*x) on a clamped range, with
   positive coefficients, so that nothing cancels. One division and no exp. */

/* 3 ULP */
static inline float tl_tanhf(float x) {
    float c = tl_clampf(x, -9.02f, 9.02f), s = c * c;
    float p = 1.331893440e-08f;
    p = p * s + 2.058337668e-05f;
    p = p * s + 3.494028002e-03f;
    p = p * s + 1.337971240e-01f;
    p = p * s + 1.0f;
    float q = 7.761961456e-07f;
    q = q * s + 3.283082333e-04f;
    q = q * s + 2.587104775e-02f;
    q = q * s + 4.671302736e-01f;
    q = q * s + 1.0f;
    return c * p / q;
}

/* 3 ULP */
static inline float tl_erff(float x) {
    float c = tl_clampf(x, -3.925f, 3.925f), s = c * c;
    float p = 2.046011559e-06f;
    p = p * s + 2.848451550e-04f;
    p = p * s + 3.772629658e-03f;
    p = p * s + 5.276954547e-02f;
    p = p * s + 1.905956417e-01f;
    p = p * s + 1.128379107e+00f;
    float q = 3.804769221e-05f;
    q = q * s + 1.163876615e-03f;
    q = q * s + 1.498335879e-02f;
    q = q * s + 1.141835004e-01f;
    q = q * s + 5.022436976e-01f;
    q = q * s + 1.0f;
    return c * p / q;
}

/* x * Phi(x) = max(x, 0) - a/2 * erfc(a / sqrt 2),  a = |x|, and erfc(a / sqrt 2) = P(a)**8: the eighth root
   of a bell curve is so flat that a short polynomial follows it, without exp and without a division.
   Unlike 0.5 x (1 + erf(x / sqrt 2)) nothing cancels for negative x. */
static inline float tl_geluf(float x) {
    float a = tl_absf(x);
    float p = 2.221039797e-09f;
    p = p * a - 5.460158903e-08f;
    p = p * a + 2.281787062e-07f;
    p = p * a + 5.156000498e-06f;
    p = p * a - 5.600481745e-05f;
    p = p * a + 1.816881922e-05f;
    p = p * a + 1.663637813e-03f;
    p = p * a - 7.488503470e-04f;
    p = p * a - 3.481197730e-02f;
    p = p * a - 9.973592311e-02f;
    p = p * a + 1.0f;
    p = p * p;
    p = p * p;
    p = p * p;
    float tail = a < 6.0f ? (0.5f * a) * p : 0.0f;
    return (x < 0.0f ? -0.0f : x) - tail;
}

/* log(1 + exp(x)) = max(x, 0) + log1p(exp(-|x|)) */
static inline float tl_softplusf(float x) {
    return (x < 0.0f ? 0.0f : x) + tl_log1pf(tl_expf(-tl_absf(x)));
}

/* --------------------------------------------------------------------------------------- float32: sin and cos
   x = k * pi/2 + r, |r| <= pi/4, computed in double: k times the first 33 bits of pi/2 is exact, and enough
   bits are left where r nearly vanishes. */
#define TL_SIN_LIMIT 1048576.0                                           /* k stays below 2**20 */

/* sin(x + quarter_turns * pi/2) for |x| <= TL_SIN_LIMIT */
static inline float tl_sin_nearf(float x, uint32_t quarter_turns) {
    double wide = x;
    double shifted = wide * 0.6366197723675814 + 0x1.8p52;
    double k = shifted - 0x1.8p52;
    uint32_t quadrant = (uint32_t)tl_bits_of_double(shifted) + quarter_turns;
    float r = (float)((wide - k * 1.5707963267341256) - k * 6.077100506506192e-11);
    float s = r * r;
    float p = -1.951521845e-04f;
    p = p * s + 8.332160302e-03f;
    p = p * s - 1.666665524e-01f;
    float sine = r == 0.0f ? r : r + r * (p * s);                        /* keeps -0 */
    float q = 2.443308222e-05f;
    q = q * s - 1.388731529e-03f;
    q = q * s + 4.166664556e-02f;
    float cosine = (q * (s * s) - 0.5f * s) + 1.0f;
    float y = quadrant & 1u ? cosine : sine;
    return tl_float_of_bits(tl_bits_of_float(y) ^ ((quadrant & 2u) << 30));
}

static inline float tl_sinf(float x) {
    return tl_absf(x) > (float)TL_SIN_LIMIT ? sinf(x) : tl_sin_nearf(x, 0);
}
static inline float tl_cosf(float x) {
    return tl_absf(x) > (float)TL_SIN_LIMIT ? cosf(x) : tl_sin_nearf(x, 1);
}

/* ------------------------------------------------------------------------------------------------- float64
   The same ideas with longer polynomials. */

static inline double tl_exp_reduced(double x, double magic, uint64_t *k_bits) {
    double shifted = x * 1.4426950408889634 + magic;
    double k = shifted - magic;
    *k_bits = tl_bits_of_double(shifted);
    double r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
    double p = 2.08266137662380719e-09;
    p = p * r + 2.51120488010186224e-08;
    p = p * r + 2.75575819642665295e-07;
    p = p * r + 2.75572348282739913e-06;
    p = p * r + 2.48015869263946471e-05;
    p = p * r + 1.98412698964167602e-04;
    p = p * r + 1.38888888891158173e-03;
    p = p * r + 8.33333333331702161e-03;
    p = p * r + 4.16666666666660954e-02;
    p = p * r + 1.66666666666666824e-01;
    p = p * r + 0.5;
    return (p * (r * r) + r) + 1.0;
}

static inline double tl_exp(double x) {
    uint64_t k_bits;
    double p = tl_exp_reduced(tl_clamp(x, -746.0, 710.0), 0x1.8p52 + 2046.0, &k_bits);
    uint64_t half = k_bits >> 1;
    return p * tl_double_of_bits(half << 52) * tl_double_of_bits((k_bits - half) << 52);
}

static inline double tl_sigmoid(double x) {
    uint64_t k_bits;
    double p = tl_exp_reduced(-tl_clamp(x, -746.0, 40.0), 0x1.8p52 + 511.0, &k_bits);
    return 0x1p-512 / (0x1p-512 + p * tl_double_of_bits(k_bits << 52));
}

static inline double tl_expm1(double x) {
    double c = tl_clamp(x, -40.0, 710.0);
    double shifted = c * 1.4426950408889634 + (0x1.8p52 + 1022.0);
    double k = shifted - (0x1.8p52 + 1022.0);
    double r = (c - k * 0.6931471803691238) - k * 1.9082149292705877e-10;
    double p = 2.08753317513633250e-09;
    p = p * r + 2.51089903122102929e-08;
    p = p * r + 2.75574026696601184e-07;
    p = p * r + 2.75572443440945366e-06;
    p = p * r + 2.48015871724682147e-05;
    p = p * r + 1.98412698859929044e-04;
    p = p * r + 1.38888888889624265e-03;
    p = p * r + 8.33333333332168281e-03;
    p = p * r + 4.16666666666665117e-02;
    p = p * r + 1.66666666666666768e-01;
    p = p * r + 0.5;
    p = p * (r * r) + r;
    double half = tl_double_of_bits(tl_bits_of_double(shifted) << 52);
    double y = 2.0 * (half * p + (half - 0.5));
    return x == 0.0 ? x : y;
}

/* log(1 + f) = 2 atanh(s), s = f / (2 + f), written as f - (f*f/2 - s * (f*f/2 + R)) to keep f whole */
static inline double tl_log_of_parts(double f, double k, double extra) {
    double s = f / (2.0 + f), z = s * s, h = 0.5 * f * f;
    double p = 1.47956304245261655e-01;
    p = p * z + 1.53140841729120736e-01;
    p = p * z + 1.81835629433089702e-01;
    p = p * z + 2.22221986011346490e-01;
    p = p * z + 2.85714287421022506e-01;
    p = p * z + 3.99999999994160194e-01;
    p = p * z + 6.66666666666673402e-01;
    return k * 0.6931471803691238 - ((h - (s * (h + p * z) + (k * 1.9082149292705877e-10 + extra))) - f);
}

static inline double tl_log(double x) {
    int is_denormal = x < 0x1p-1022;
    uint64_t bits = tl_bits_of_double(is_denormal ? x * 0x1p54 : x)
        + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    /* an integer below 2**52 under the exponent of 2**52 reads as 2**52 plus itself */
    double k = tl_double_of_bits((bits >> 52) | 0x4330000000000000u)
        - (is_denormal ? 0x1p52 + 1077.0 : 0x1p52 + 1023.0);
    double f = tl_double_of_bits((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    double y = tl_log_of_parts(f, k, 0.0);
    y = x < __builtin_inf() ? y : x;
    return x > 0.0 ? y : (x == 0.0 ? -__builtin_inf() : __builtin_nan(""));
}

static inline double tl_log1p(double x) {
    double u = 1.0 + x;
    double lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
    uint64_t bits = tl_bits_of_double(u) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double k = tl_double_of_bits((bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    double f = tl_double_of_bits((bits & 0x000fffffffffffffu) + 0x3fe6a09e667f3bcdu) - 1.0;
    double y = tl_log_of_parts(f, k, lost / u);
    y = x < __builtin_inf() ? y : x;
    y = x > -1.0 ? y : (x == -1.0 ? -__builtin_inf() : __builtin_nan(""));
    return x == 0.0 ? x : y;
}

/* tanh(a) = t / (t + 2), t = exp(2 a) - 1 */
static inline double tl_tanh(double x) {
    double a = tl_abs(x);
    double t = tl_expm1(2.0 * (a > 20.0 ? 20.0 : a));
    double y = t / (t + 2.0);
    return tl_double_of_bits(tl_bits_of_double(y) | (tl_bits_of_double(x) & 0x8000000000000000u));
}

static inline double tl_softplus(double x) {
    return (x < 0.0 ? 0.0 : x) + tl_log1p(tl_exp(-tl_abs(x)));
}
static inline double tl_erf(double x) { return erf(x); }
static inline double tl_gelu(double x) {
    return x < -40.0 ? -0.0 : 0.5 * x * erfc(x * -0.7071067811865476);
}

static inline double tl_sin_near(double x, uint64_t quarter_turns) {
    double shifted = x * 0.6366197723675814 + 0x1.8p52;
    double k = shifted - 0x1.8p52;
    uint64_t quadrant = tl_bits_of_double(shifted) + quarter_turns;
    /* pi/2 in three parts of 33 bits, so that k times each is exact, and the rest of it. Where a
       subtraction rounds, what it lost goes to `rest`: the remainder of x is r + rest. */
    double first = x - k * 1.5707963267341256, second = k * 6.077100506303966e-11;
    double near = first - second;
    double third = k * 2.0222662487111665e-21;
    double r = near - third;
    double rest = ((first - near) - second) + (((near - r) - third) - k * 8.4784276603689e-32);
    double s = r * r;
    double p = -7.57852668093826128e-13;
    p = p * s + 1.60583628944423283e-10;
    p = p * s - 2.50521048797611175e-08;
    p = p * s + 2.75573192140569469e-06;
    p = p * s - 1.98412698412547844e-04;
    p = p * s + 8.33333333333332281e-03;
    p = p * s - 1.66666666666666657e-01;
    double sine = r == 0.0 ? r : r + (r * (p * s) + rest);                 /* keeps -0 */
    double q = -1.13585139560677189e-11;
    q = q * s + 2.08757004162006283e-09;
    q = q * s - 2.75573141762411958e-07;
    q = q * s + 2.48015872888414039e-05;
    q = q * s - 1.38888888888730406e-03;
    q = q * s + 4.16666666666665950e-02;
    double cosine = 1.0 - (0.5 * s - (q * (s * s) - r * rest));
    double y = quadrant & 1u ? cosine : sine;
    return tl_double_of_bits(tl_bits_of_double(y) ^ ((quadrant & 2u) << 62));
}

static inline double tl_sin(double x) { return tl_abs(x) > TL_SIN_LIMIT ? sin(x) : tl_sin_near(x, 0); }
static inline double tl_cos(double x) { return tl_abs(x) > TL_SIN_LIMIT ? cos(x) : tl_sin_near(x, 1); }

/* -------------------------------------------------------------------------------- sin and cos of an array
   A call to libm in a loop keeps it from being vectorised. So each block is first asked for its largest
   argument, and only a block with a huge one takes the scalar road. Steps are in elements. */
#define TL_SIN_ARRAY(name, real, near_function, scalar_function, absolute, quarter_turns)               \
    static inline void name(const real *x, ptrdiff_t step_x, real *out, ptrdiff_t step_out, ptrdiff_t n) { \
        for (ptrdiff_t start = 0; start < n; start += 256) {                                            \
            ptrdiff_t count = n - start < 256 ? n - start : 256;                                        \
            const real *from = x + start * step_x;                                                      \
            real *to = out + start * step_out;                                                          \
            int huge = 0;                                                                               \
            for (ptrdiff_t i = 0; i < count; i++)                                                       \
                huge |= absolute(from[i * step_x]) > (real)TL_SIN_LIMIT;                                \
            if (huge)                                                                                   \
                for (ptrdiff_t i = 0; i < count; i++)                                                   \
                    to[i * step_out] = scalar_function(from[i * step_x]);                               \
            else if (step_x == 1 && step_out == 1)                                                      \
                for (ptrdiff_t i = 0; i < count; i++) to[i] = near_function(from[i], quarter_turns);    \
            else                                                                                        \
                for (ptrdiff_t i = 0; i < count; i++)                                                   \
                    to[i * step_out] = near_function(from[i * step_x], quarter_turns);                  \
        }                                                                                               \
    }
TL_SIN_ARRAY(tl_sinf_array, float, tl_sin_nearf, tl_sinf, tl_absf, 0)
TL_SIN_ARRAY(tl_cosf_array, float, tl_sin_nearf, tl_cosf, tl_absf, 1)
TL_SIN_ARRAY(tl_sin_array, double, tl_sin_near, tl_sin, tl_abs, 0)
TL_SIN_ARRAY(tl_cos_array, double, tl_sin_near, tl_cos, tl_abs, 1)
#endif
