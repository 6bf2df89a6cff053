"""C functions that expressions call, where a line is not enough. Each is the scalar function of an eager loop.

They are written once, for a type T (see expressions.py for the notation), and a kernel's source has
those that it needs.
"""

import re

from tensorlab.compiler.lowering.expressions import spelled

SOURCE = """
/* C leaves it open what a number becomes that does not fit, and compilers give a constant nan another
   answer than the processor does. This is x86's; other processors are asked. */
int64_t to_int64#(T x) {
#if defined(__x86_64__)
    return (x >= (T)-9223372036854775808.0) & (x < (T)9223372036854775808.0) ? (int64_t)x : INT64_MIN;
#else
    return (int64_t)x;
#endif
}

int32_t to_int32#(T x) {
#if defined(__x86_64__)
    return (x > (T)-2147483649.0) & (x < (T)2147483648.0) ? (int32_t)x : INT32_MIN;
#else
    return (int32_t)x;
#endif
}

/* A comparison with nan is false, so x stays if it is nan; `low != low` lets a nan win. */
T at_least#(T x, T low) { return (x < low) | (low != low) ? low : x; }

T at_most#(T x, T high) { return (x > high) | (high != high) ? high : x; }

int is_close#(T x, T y, T rtol, T atol) {
    T distance = fabs@(x - y);
    return (x == y) | ((distance <= atol + fabs@(rtol * y)) & (distance < INFINITY));
}

/* x minus its rest is nearly a multiple of y, so that their quotient is nearly whole. */
T div_floor_real#(T x, T y, T rest) {
    T quotient = (x - rest) / y;
    quotient = (rest != 0) & ((y < 0) != (rest < 0)) ? quotient - (T)1 : quotient;
    T whole = floor@(quotient);
    whole = quotient - whole > (T)0.5 ? whole + (T)1 : whole;
    whole = quotient == 0 ? copysign@((T)0, x / y) : whole;
    return y == 0 ? x / y : whole;
}

T div_floor_integer#(T x, T y) {
    if (y == 0) return 0;
    if ((T)-1 < 0 && y == (T)-1) return (T)(y * x);     /* the smallest number / -1 would trap */
    T quotient = (T)(x / y);
    return (x % y != 0) && (x < 0) != (y < 0) ? (T)(quotient - 1) : quotient;
}

T div_trunc_integer#(T x, T y) {
    if (y == 0) return 0;
    if ((T)-1 < 0 && y == (T)-1) return (T)(y * x);
    return (T)(x / y);
}

T integer_rest#(T x, T y) {
    if (y == 0) return 0;
    if ((T)-1 < 0 && y == (T)-1) return 0;
    return (T)(x % y);
}

/* A rest with the sign of the divisor. */
T towards_divisor#(T rest, T y) {
    return (rest != 0) & ((rest < 0) != (y < 0)) ? (T)(rest + y) : rest;
}

/* log(x / (1 - x)); eps < 0 means: leave x as it is. */
T logit#(T x, T eps) {
    T low = eps >= 0 ? eps : (T)-INFINITY, high = eps >= 0 ? (T)(1.0 - eps) : (T)INFINITY;
    T p = x > high ? high : x;
    p = p < low ? low : p;
    return tl_log@(p / ((T)1 - p));
}

/* max + log(1 + base**-|x - y|) / log(base); equal infinities have no difference. */
T logaddexp#(T x, T y, T log_base) {
    T larger = (x > y) | (x != x) ? x : y;
    T rest = tl_log1p@(tl_exp@(-fabs@(x - y) * log_base));
    return (x == y) & (fabs@(x) == INFINITY) ? larger : larger + rest / log_base;
}

/* With t = exp(a) - 1, a = |x|: (t + t / (t + 1)) / 2 keeps the digits of small x. */
T sinh#(T x) {
    T a = fabs@(x), t = tl_expm1@(a), half = tl_exp@(a * (T)0.5);
    T largest = sizeof(T) == 4 ? 88 : 709;
    t = a < largest ? (T)0.5 * (t + t / (t + (T)1)) : ((T)0.5 * half) * half;
    return copysign@(t, x);
}

T cosh#(T x) {
    T half = tl_exp@(fabs@(x) * (T)0.5);
    return ((T)0.5 * half) * half + (T)0.5 / (half * half);
}

/* log(a + sqrt(a * a + 1)) with a = |x|; for large a it is log(2 a). */
T asinh#(T x) {
    T a = fabs@(x), s = a * a, largest = (T)(sizeof(T) == 4 ? 1e18 : 1e150);
    T y = tl_log1p@(a + s / ((T)1 + sqrt@(s + (T)1)));
    return copysign@(a < largest ? y : tl_log@(a) + (T)0.6931471805599453, x);
}

T acosh#(T x) {
    T t = x - (T)1, largest = (T)(sizeof(T) == 4 ? 1e18 : 1e150);
    T large = tl_log@(x) + (T)0.6931471805599453, y = tl_log1p@(t + sqrt@(t * (t + (T)2)));
    return !(x >= largest) ? (x >= 1 ? y : (T)NAN) : large;
}

T atanh#(T x) {
    T a = fabs@(x), y = (T)0.5 * tl_log1p@((T)2 * a / ((T)1 - a));
    return a <= 1 ? copysign@(y, x) : (T)NAN;
}

/* C leaves a shift by a negative number, or by all bits, undefined; here nothing remains of x. */
T left_shift#(T x, T y) {
    return y >= 0 && y < 8 * (int)sizeof(T) ? (T)((uint64_t)(int64_t)x << y) : 0;
}

/* Shifted by too much, only the sign remains. */
T right_shift#(T x, T y) {
    if ((T)-1 > 0) return y < 8 ? (T)(x >> y) : 0;
    return (T)(x >> (y >= 0 && y < 8 * (int)sizeof(T) ? y : 8 * (int)sizeof(T) - 1));
}

/* Without branches; float through double, whose logarithm leaves enough bits. */
T pow_real#(T x, T y) {
    double size = fabs(x), power = sizeof(T) == 4 ? tl_exp(y * tl_log(size)) : tl_power(size, y);
    T half = y * (T)0.5;
    int is_whole = rint(y) == y, is_odd = is_whole & (rint(half) != half);
    power = (x >= 0) | is_whole | (size == INFINITY) ? power : NAN;
    power = is_odd & (signbit(x) != 0) ? -power : power;
    return (T)((y == 0) | (x == 1) | ((x == -1) & (fabs(y) == INFINITY)) ? 1.0 : power);
}

/* Square and multiply. A negative power is 0 (rounded towards zero) but for 1 and -1. */
T pow_integer#(T x, T y) {
    T power = 1;
    if (y < 0) return x != 1 && x != (T)-1 ? 0 : y & 1 ? x : 1;
    for (; y > 0; y >>= 1) {
        if (y & 1) power = (T)(power * x);
        x = (T)(x * x);
    }
    return power;
}

T mantissa#(T x) { int exponent; return (T)frexp(x, &exponent); }

T exponent#(T x) {
    int exponent;
    frexp(x, &exponent);
    return x - x == 0 ? exponent : 0;                   /* C leaves it open for inf and nan */
}

/* Euclid's algorithm, on absolute values; remainders of -1 would trap for the smallest number. */
T gcd#(T x, T y) {
    while (y != 0) {
        T rest = (T)-1 < 0 && y == (T)-1 ? 0 : (T)(x % y);
        x = y;
        y = rest;
    }
    return x < 0 ? (T)-x : x;
}

T lcm#(T x, T y) {
    T divisor = gcd#(x, y), product = divisor == 0 ? 0 : (T)((T)(x / divisor) * y);
    return product < 0 ? (T)-product : product;
}

/* Phi(x) + x phi(x), with the normal distribution Phi and its density phi. */
T gelu_slope#(T x) {
    T erf = tl_erf@(x * (T)0.7071067811865476);
    return (T)0.5 * ((T)1 + erf) + x * ((T)0.3989422804014327 * tl_exp@((T)-0.5 * x * x));
}

T gelu_tanh_backward#(T grad, T x) {
    T rate = (T)0.7978845608028654, cubic = (T)0.044715, one = 1, square = x * x;
    T t = tl_tanh@(rate * (x + cubic * square * x));
    return grad * (T)0.5 * (one + t + x * (one - t * t) * (rate * (one + (T)3 * cubic * square)));
}

T silu_backward#(T grad, T x) {
    T s = tl_sigmoid@(x);
    return grad * s * ((T)1 + x * ((T)1 - s));
}

T mish_backward#(T grad, T x) {
    T t = tl_tanh@(tl_softplus@(x));
    return grad * (t + x * ((T)1 - t * t) * tl_sigmoid@(x));
}

/* Winitzki's formula, right to 0.2 %, then three of Halley's steps. */
double erfinv(double x) {
    double a = fabs(x), pi = 3.14159265358979323846;
    if (!(a < 1)) return a == 1 ? copysign(INFINITY, x) : NAN;
    double rest = 1 - a, half = 2 / (pi * 0.147) + 0.5 * log(rest * (1 + a));
    double y = sqrt(sqrt(half * half - log(rest * (1 + a)) / 0.147) - half);
    for (int step = 0; step < 3; step++) {
        double error = a > 0.5 ? rest - erfc(y) : (1 - erfc(y)) - a;
        double slope = 2 / sqrt(pi) * exp(-y * y);
        y -= error / (slope + y * error);
    }
    return copysign(y, x);
}

/* psi(x) = psi(x + 1) - 1/x up to 10, then the asymptotic series; negative x by reflection. */
double digamma(double x) {
    double below = 0, pi = 3.14159265358979323846;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        if (x == floor(x)) return NAN;
        below = -pi / tan(pi * (x - floor(x)));
        x = 1 - x;
    }
    for (; x < 10; x += 1) below -= 1 / x;
    double s = 1 / (x * x);
    return below + log(x) - 0.5 / x - s * (1. / 12 - s * (1. / 120 - s * (1. / 252 - s * (
        1. / 240 - s * (1. / 132 - s * (691. / 32760 - s * (1. / 12)))))));
}

/* Sum of (x + k)**-s over k >= 0, s > 1: terms up to 10, then Euler and Maclaurin's formula. */
double zeta_sum(double s, double x) {
    static const double bernoulli[10] = {1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66,
                                         -691. / 2730, 7. / 6, -3617. / 510, 43867. / 798,
                                         -174611. / 330};
    double total = 0;
    if (x <= 0 && x == floor(x)) return INFINITY;
    for (; x < 10; x += 1) total += pow(x, -s);
    total += pow(x, 1 - s) / (s - 1) + 0.5 * pow(x, -s);
    double factor = s * pow(x, -s - 1) / 2;
    for (int j = 0; j < 10; j++) {
        total += bernoulli[j] * factor;
        factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / ((2 * j + 3) * (2 * j + 4) * x * x);
    }
    return total;
}

/* (-1)**(n + 1) n! zeta(n + 1, x); nan far below 0, where the sum would be long. */
double polygamma(double x, double n) {
    if (n == 0) return digamma(x);
    if (!(x > -10000)) return NAN;
    double size = exp(lgamma(n + 1)) * zeta_sum(n + 1, x);
    return n - 2 * floor(n / 2) == 1 ? size : -size;
}

/* t + t * (a polynomial in t * t), with t = |x| or 1 / |x|. */
float atan_float32(float x) {
    float a = fabsf(x), t = a > 1 ? (float)1 / a : a, s = t * t;
    float p = (((0.0028498520f * s - 0.016068479f) * s + 0.042691275f) * s - 0.075042740f) * s;
    p = (((p + 0.10640924f) * s - 0.14203642f) * s + 0.19992620f) * s - 0.33333072f;
    t = t + t * (s * p);
    t = a > 1 ? 1.57079637f - (t + 4.3711388e-8f) : t;  /* pi / 2 in two parts */
    return copysignf(t, x);
}

float asin_float32(float x) { return atan_float32(x / sqrtf((1.0f - x) * (1.0f + x))); }

float acos_float32(float x) { return 2.0f * atan_float32(sqrtf((1.0f - x) / (1.0f + x))); }

T sinc#(T x) {
    T a = (T)(x * 3.14159265358979323846);
    return x == 0 ? (T)1 : (T)(sin(a) / a);
}

/* Measured from the nearer end, so that a weight of 0 or 1 gives exactly x or `end`. */
T lerp#(T x, T end, T weight) {
    int is_near = (weight > (T)-0.5) & (weight < (T)0.5);
    return fma@(is_near ? weight : weight - (T)1, end - x, is_near ? x : end);
}

T huber#(T distance, T delta) {
    T size = distance > 0 ? distance : -distance;
    return size < delta ? (T)0.5 * size * size : delta * (size - (T)0.5 * delta);
}

/* The logarithms are kept above -100, so that a wrong certainty costs a lot and not inf. */
T cross_entropy#(T x, T y) {
    T yes = tl_log@(x), no = tl_log1p@(-x);
    yes = yes > -100 ? yes : -100;
    no = no > -100 ? no : -100;
    return (T)((y - 1.0) * no - y * yes);
}
"""

# Folds of a row of n elements that lie next to each other. Sums are those of inner_loops.pxd: 64 running sums side by
# side, and halves of long runs separately, so that the error grows with log n.
SOURCE += """
T row_sum#(const T *x, int64_t n) {
    if (n > 8192) {
        const int64_t half = (n >> 1) & ~(int64_t)63;
        return (T)(row_sum#(x, half) + row_sum#(x + half, n - half));
    }
    T lane[64] = {0}, rest = 0;
    int64_t i = 0;
    for (; i + 64 <= n; i += 64)
        for (int k = 0; k < 64; k++) lane[k] += x[i + k];
    for (int k = 0; k < 16; k++)
        lane[k] = (lane[k] + lane[k + 16]) + (lane[k + 32] + lane[k + 48]);
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++) lane[k] += x[i + k];
    for (; i < n; i++) rest += x[i];
    for (int half = 8; half > 0; half /= 2)
        for (int k = 0; k < half; k++) lane[k] += lane[k + half];
    return lane[0] + rest;
}

T row_product#(const T *x, int64_t n) {
    T lane[16], result = 1;
    int64_t i = 0;
    for (int k = 0; k < 16; k++) lane[k] = 1;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++) lane[k] *= x[i + k];
    for (; i < n; i++) result *= x[i];
    for (int k = 0; k < 16; k++) result *= lane[k];
    return result;
}

uint8_t row_any_bool(const uint8_t *x, int64_t n) {
    uint8_t found = 0;
    for (int64_t i = 0; i < n; i++) found |= x[i];
    return found;
}

uint8_t row_all_bool(const uint8_t *x, int64_t n) {
    uint8_t all = 1;
    for (int64_t i = 0; i < n; i++) all &= x[i];
    return all;
}

int64_t row_count_bool(const uint8_t *x, int64_t n) {
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += x[i];
    return count;
}
"""

# Folds of the largest and of the smallest element. Of two plain selects GCC makes vector
# instructions, of one with both conditions it does not. The last block overlaps the one before
# it, which changes no extreme: no element is left to be taken singly.
EXTREME = """
/* nan wins. */
T BETTER#(T x, T y) {
    x = y < x ? y : x;
    return y != y ? y : x;
}

T row_EXTREME#(const T *x, int64_t n) {
    T lane[64], best = x[0];
    if (n < 16) {
        for (int64_t i = 1; i < n; i++) best = BETTER#(best, x[i]);
        return best;
    }
    if (n < 64) {
        for (int k = 0; k < 16; k++) lane[k] = x[k];
        for (int64_t i = 16; i < n; i += 16) {
            const T *y = x + (i < n - 16 ? i : n - 16);
            for (int k = 0; k < 16; k++) lane[k] = BETTER#(lane[k], y[k]);
        }
    } else {
        for (int k = 0; k < 64; k++) lane[k] = x[k];
        for (int64_t i = 64; i < n; i += 64) {
            const T *y = x + (i < n - 64 ? i : n - 64);
            for (int k = 0; k < 64; k++) lane[k] = BETTER#(lane[k], y[k]);
        }
        for (int k = 0; k < 32; k++) lane[k] = BETTER#(lane[k], lane[k + 32]);
        for (int k = 0; k < 16; k++) lane[k] = BETTER#(lane[k], lane[k + 16]);
    }
    for (int k = 0; k < 8; k++) lane[k] = BETTER#(lane[k], lane[k + 8]);
    for (int k = 0; k < 4; k++) lane[k] = BETTER#(lane[k], lane[k + 4]);
    return BETTER#(BETTER#(lane[0], lane[1]), BETTER#(lane[2], lane[3]));
}
"""
SOURCE += EXTREME.replace("EXTREME", "smallest").replace("BETTER", "smaller")
SOURCE += (
    EXTREME.replace("y < x", "y > x").replace("EXTREME", "largest").replace("BETTER", "larger")
)

# PARTS: name of a function: its comment and text
NAME = re.compile(r"^(?:T|int|double|float|uint8_t|int32_t|int64_t) (\w+)#?\(", re.MULTILINE)
PARTS = {NAME.findall(part)[0]: part.strip() for part in SOURCE.strip().split("\n\n")}
CALLED = re.compile(r"\b(\w+?)(?:_(u?int\d+|float32|float64|bool))?\(")
STATIC = re.compile(r"^(T|int|double|float|uint8_t|int32_t|int64_t) (?=\w+#?\()", re.MULTILINE)
GUARD = "#ifndef TL_HAS_{name}\n#define TL_HAS_{name}\n{text}\n#endif\n"


def helpers_for(text):
    """Return the C functions that a piece of C calls, each once, those before that it calls in turn."""
    found = {}
    collect(text, found)
    return "".join(found.values())


def collect(text, found):
    for name, dtype in CALLED.findall(text):
        whole = f"{name}_{dtype}" if dtype else name
        part = PARTS.get(whole) or PARTS.get(name, "")
        is_typed = "#(" in part
        if not part or whole in found or is_typed != (bool(dtype) and whole not in PARTS):
            continue
        # A fold is called once for a row. Inlined into itself, a sum took GCC 0.3 s to compile.
        how = "__attribute__((noinline))" if name.startswith("row_") else "inline"
        body = STATIC.sub(rf"static {how} \1 ", part)
        written = spelled(body, dtype, {}) if is_typed else body
        found[whole] = ""  # it may call itself
        collect(written.partition("{")[2], found)
        del found[whole]  # so that it comes after those that it calls
        found[whole] = GUARD.format(name=whole, text=written)
