/* Modified Bessel functions of the first kind, of orders 0 and 1, for float32: straight-line code, as that of tl_math.h.

   Up to 8, I0(x) and I1(x) / x are polynomials in x * x: all coefficients are positive, so that nothing cancels; but a
   square that is off by one place would move I0(8) by four, and so they are computed in double. Beyond 8,
   exp(-x) sqrt(x) I(x) is a polynomial in 1 / x. tools/fit_math.py finds both. Names are those of the ops with tl_ in
   front; beside each stands its largest error in ULP. */
#ifndef TL_BESSEL_FLOAT32_H
#define TL_BESSEL_FLOAT32_H
#include "tl_math.h"

static inline float tl_i0_series(float x) {
    double s = (double)x * (double)x, q = s * s;
    double p = 5.81560617e-15 + 5.71608901e-17 * s;
    p = p * (q * q) + tl_cubic(s, q, 6.77931375e-6, 6.80049709e-8, 4.62351932e-10, 2.63419009e-12);
    p = p * (q * q) + tl_cubic(s, q, 9.99999991e-1, 2.50000056e-1, 1.56249493e-2, 4.34043822e-4);
    return (float)p;
}

/* I1(x) / x */
static inline float tl_i1_series(float x) {
    double s = (double)x * (double)x, q = s * s;
    double p = 3.50454401e-16 + 2.75044798e-18 * s;
    p = p * (q * q) + tl_cubic(s, q, 6.78021598e-7, 5.66210619e-9, 3.31828243e-11, 1.61782383e-13);
    p = p * (q * q) + tl_cubic(s, q, 4.99999999e-1, 6.25000052e-2, 2.60416268e-3, 5.42545766e-5);
    return (float)p;
}

/* exp(-a) I(a) for a > 8 */
static inline float tl_i0_tail(float a) {
    float u = 1.0f / a, s = u * u, p = -3.07778159e-1f + 1.8329302f * u;
    p = p * (s * s)
        + tl_cubicf(u, s, 4.98674039e-2f, 2.8095767e-2f, 2.72252351e-2f, 8.54644115e-2f);
    return (3.98942281e-1f + u * p) / sqrtf(a);
}
static inline float tl_i1_tail(float a) {
    float u = 1.0f / a, s = u * u, p = 3.40040097e-1f - 2.081987f * u;
    p = p * (s * s)
        + tl_cubicf(u, s, -1.49602914e-1f, -4.68029156e-2f, -3.86301057e-2f, -1.03786258e-1f);
    return (3.9894228e-1f + u * p) / sqrtf(a);
}

/* 2.4 and 3 ULP */
static inline float tl_i0e(float x) {
    float a = tl_absf(x);
    return a > 8.0f ? tl_i0_tail(a) : tl_i0_series(a) * tl_expf(-a);
}
static inline float tl_i1e(float x) {
    float a = tl_absf(x), y = a > 8.0f ? tl_i1_tail(a) : a * tl_i1_series(a) * tl_expf(-a);
    return tl_with_signf(y, x);
}

/* y * exp(a), which is infinite no sooner than it must be: y is multiplied before the power of 2 is */
static inline float tl_times_expf(float y, float a) {
    uint32_t k_bits;
    float p = tl_exp_splitf(a > 92.0f ? 92.0f : a, 12582912.0f + 254.0f, &k_bits);
    return a > 92.0f ? INFINITY : tl_scaledf(y + y * p, k_bits);
}

/* 3.6 ULP */
static inline float tl_i0(float x) {
    float a = tl_absf(x);
    return a > 8.0f ? tl_times_expf(tl_i0_tail(a), a) : tl_i0_series(a);
}
static inline float tl_i1(float x) {
    float a = tl_absf(x), y = a > 8.0f ? tl_times_expf(tl_i1_tail(a), a) : a * tl_i1_series(a);
    return tl_with_signf(y, x);
}
#endif
