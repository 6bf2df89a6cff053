/* C functions that scalar expressions call, where a line is not enough: both the inner loops of ops and compiled
   programs have those that they need, from scalar.py, which explains the notation (T, @ and #). An empty line parts
   one from the next. */

/* A comparison with nan is false, so x stays if it is nan; `low != low` lets a bound that is nan win. */
T at_least#(T x, T low) { return (x < low) | (low != low) ? low : x; }

T at_most#(T x, T high) { return (x > high) | (high != high) ? high : x; }

T clamp#(T x, T low, T high) { return at_most#(at_least#(x, low), high); }

int is_close#(T x, T y, T rtol, T atol) {
    T distance = fabs@(x - y);
    return (x == y) | ((distance <= atol + fabs@(rtol * y)) & (distance < INFINITY));
}

/* fmod, exactly, where the quotient is not huge; libm's takes a step for each bit of the quotient, and is no SIMD code.
   For floats, double is wide enough: below 2**24 the quotient cannot round up to a whole number, because the distance
   to the next one is at least 2**-24, and x - quotient * y has no rounding at all. */
float near_rest_float32(float x, float y) {
    return (float)copysign(x - trunc((double)x / y) * y, x);
}

int is_huge_quotient_float32(float x, float y) {
    return !(fabs((double)x / (double)y) < 16777216.0) | !(fabsf(y) < INFINITY);    /* 0 * inf would be nan */
}

/* For doubles, the quotient may round up to the next whole number. What is left then has the other sign, and lacks one y;
   it is exact, since it is smaller than y, and a multiple of the last place of x or of y. */
double near_rest_float64(double x, double y) {
    double rest = fma(-trunc(x / y), y, x), corrected = rest + copysign(y, x);
    return copysign((rest != 0) & ((rest < 0) != (x < 0)) ? corrected : rest, x);
}

int is_huge_quotient_float64(double x, double y) {
    return !(fabs(x / y) < 9007199254740992.0) | !(fabs(y) < INFINITY);
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

/* x % y with the sign of x, as in C, but 0 where C traps. */
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
    T rest = (T)1 - p, odds = p / rest;
    T beyond = (p - (T)0.5) * 2 / rest;                 /* odds - 1, with more digits near p = 1/2 */
    T correction = fabs@(beyond) < (T)0.5 ? beyond - (odds - (T)1) : (T)0;
    return tl_log@(odds) + correction;
}

/* max + log(1 + base**-|x - y|) / log(base); equal infinities have no difference. */
T logaddexp#(T x, T y, T log_base) {
    T larger = (x > y) | (x != x) ? x : y;
    T rest = tl_softplus@(-fabs@(x - y) * log_base);    /* of a number up to 0: log(1 + exp(that)) */
    return (x == y) & (fabs@(x) == INFINITY) ? larger : larger + rest / log_base;
}

/* With t = exp(a) - 1, a = |x|: (t + t / (t + 1)) / 2 keeps the digits of small x; halves of a keep large ones finite. */
T sinh#(T x) {
    T a = fabs@(x), t = tl_expm1@(a), half = tl_exp@(a * (T)0.5);
    T largest = sizeof(T) == 4 ? 88 : 709;              /* for which t is finite */
    t = a < largest ? (T)0.5 * (t + t / (t + (T)1)) : ((T)0.5 * half) * half;
    return copysign@(t, x);
}

/* (e + 1 / e) / 2 with e = exp(|x|), made of halves of |x| so that it overflows no sooner than it must. */
T cosh#(T x) {
    T half = tl_exp@(fabs@(x) * (T)0.5);
    return ((T)0.5 * half) * half + (T)0.5 / (half * half);
}

/* log(a + sqrt(a * a + 1)) with a = |x|, written for small a; for large a it is log(2 a). */
T asinh#(T x) {
    T a = fabs@(x), s = a * a, largest = (T)(sizeof(T) == 4 ? 1e18 : 1e150);
    T y = tl_log1p@(a + s / ((T)1 + sqrt@(s + (T)1)));
    return copysign@(a < largest ? y : tl_log@(a) + (T)0.6931471805599453, x);
}

/* log(x + sqrt(x * x - 1)) with t = x - 1, exact near 1; for large x it is log(2 x). */
T acosh#(T x) {
    T t = x - (T)1, largest = (T)(sizeof(T) == 4 ? 1e18 : 1e150);
    T large = tl_log@(x) + (T)0.6931471805599453, y = tl_log1p@(t + sqrt@(t * (t + (T)2)));
    return !(x >= largest) ? (x >= 1 ? y : (T)NAN) : large;
}

/* log((1 + a) / (1 - a)) / 2 = log(1 + 2 a / (1 - a)) / 2 with a = |x|. */
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
    if ((T)-1 > 0) return y < 8 * (int)sizeof(T) ? (T)(x >> y) : 0;
    return (T)(x >> (y >= 0 && y < 8 * (int)sizeof(T) ? y : 8 * (int)sizeof(T) - 1));
}

/* log2 to thirteen digits, which are enough for a float: k + s P(s**2), as for tl_log. A float is no denormal double. */
double log2_for_float(double x) {
    uint64_t bits = tl_bits_of_double(x) + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu);
    double k = tl_log_exponent(bits) - 1023, f = tl_log_fraction(bits), s = f / (2 + f), z = s * s, q = z * z;
    double p = 3.1990481433212676e-1 + 2.8291249652496011e-1 * z;
    double y = k + s * (tl_cubic(z, q, 2.8853900817778495, 9.6179669411414811e-1, 5.7707794213930851e-1,
                                 4.1220927446617848e-1) + q * q * p);
    y = x < INFINITY ? y : x;
    return x > 0 ? y : (x == 0 ? -INFINITY : NAN);
}

/* 2**x to twelve digits: see tl_exp2. */
double exp2_for_float(double x) {
    x = tl_clamp(x, -151, 129);                         /* 0 and inf as a float */
    double shifted = x + 6755399441055744.0, r = x - (shifted - 6755399441055744.0), s = r * r;
    double p = tl_cubic(r, s, 1.3333454859526208e-3, 1.5403825408355899e-4, 1.5309156395981593e-5, 1.3178945214110574e-6);
    p = tl_cubic(r, s, 6.9314718054821163e-1, 2.402265069811033e-1, 5.5504109352677775e-2, 9.6181286161969744e-3) + s * s * p;
    return tl_double_of_bits(tl_bits_of_double(1 + r * p) + (tl_bits_of_double(shifted) << 52));
}

/* Without branches, so that loops become SIMD code. */
T pow_real#(T x, T y) {
    double size = fabs(x), power = sizeof(T) == 4 ? exp2_for_float(y * log2_for_float(size)) : tl_power(size, y);
    T half = y * (T)0.5;
    int is_whole = rint(y) == y /* true for inf */, is_odd = is_whole & (rint(half) != half);
    power = (x >= 0) | is_whole | (size == INFINITY) ? power : NAN;
    power = is_odd ? copysign(power, (double)x) : power;
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

/* Numbers of one sign have the order of their bits. */
float next_after_float32(float x, float y) {
    float next = tl_float_of_bits(tl_bits_of_float(x) + ((y > x) == (x > 0) ? 1u : -1u));
    next = x == 0 ? tl_with_signf(tl_float_of_bits(1), y) : next;
    next = x == y ? y : next;
    return (x != x) | (y != y) ? x + y : next;
}

double next_after_float64(double x, double y) {
    double next = tl_double_of_bits(tl_bits_of_double(x) + ((y > x) == (x > 0) ? 1u : (uint64_t)-1));
    next = x == 0 ? tl_with_sign(tl_double_of_bits(1), y) : next;
    next = x == y ? y : next;
    return (x != x) | (y != y) ? x + y : next;
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

/* The next ones first compute what only one case needs: with selects of results, and not of calculations, they become
   SIMD code. */
T xlogy#(T x, T y) {
    T product = x * tl_log@(y);
    return (x == 0) & (y == y) ? 0 : product;
}

T entr#(T x) {
    T product = -x * tl_log@(x);
    product = x == 0 ? (T)0 : product;
    return x < 0 ? (T)-INFINITY : product;
}

T xlog1py#(T x, T y) {
    T product = x * tl_log1p@(y);
    return (x == 0) & (y == y) ? 0 : product;
}

T elu#(T x, T alpha, T scale, T input_scale) {
    T bent = alpha * tl_expm1@(x * input_scale);
    return scale * (x <= 0 ? bent : x);
}

T elu_slope#(T x, T negative, T positive, T rate) {
    T bent = negative * tl_exp@(x * rate);
    return x <= 0 ? bent : positive;
}

T softshrink#(T x, T lambd) {
    T shrunk = x > lambd ? x - lambd : x * (T)0;         /* nan * 0 is nan */
    return x < -lambd ? x + lambd : shrunk;
}

T nan_to_num#(T x, T nan, T posinf, T neginf) {
    T y = x != x ? nan : x;
    y = x == INFINITY ? posinf : y;
    return x == -INFINITY ? neginf : y;
}

/* Phi(x) + x phi(x), with the normal distribution Phi and its density phi. */
T gelu_slope#(T x) {
    T erf = tl_erf@(x * (T)0.7071067811865476);
    return (T)0.5 * ((T)1 + erf) + x * ((T)0.3989422804014327 * tl_exp@((T)-0.5 * x * x));
}

T gelu_tanh#(T x) {
    return (T)0.5 * x * ((T)1 + tl_tanh@((T)0.7978845608028654 * (x + (T)0.044715 * x * x * x)));
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

/* erfc to ten digits, which are enough for a float: exp(-a**2) t P(t) with a = |x|, t = 1 / (1 + 0.41 a). From 10.06 on
   it is 0 as a float. */
double erfc_for_float(double x) {
    double a = fabs(x), b = a > 10.2 ? 10.2 : a, t = 1 / (1 + 0.41 * b), s = t * t, q = s * s;
    double p = tl_cubic(t, s, -6.8864006374587366e-1, 4.7959678876272722e-1,
                        -1.7086194830140052e-1, 2.5046907492621641e-2);
    p = p * q + tl_cubic(t, s, 8.6721918888150796e-2, 1.8181017647075075e-1,
                         -2.9737595684699695e-1, 5.3075625608775527e-1);
    p = p * q + tl_cubic(t, s, 2.3131602774042486e-1, 2.3137131501487053e-1,
                         2.1112640947288439e-1, 1.7913216904591641e-1);
    double tail = tl_exp_usual(-b * b) * (t * p);
    return x < 0 ? 2 - tail : tail;
}

/* psi(x) = psi(x + 9) - (1/x + ... + 1/(x + 8)) below 10, from there on the asymptotic series. With q = x (x + 9), the pairs
   1/(x + k) + 1/(x + 9 - k) are (2x + 9) / (q + k (9 - k)), and for k = 1 to 4 their sum is one quotient of polynomials in q.
   Source: Abramowitz and Stegun 1964, 6.3.5 and 6.3.18. */
double digamma_above_0(double x) {                      /* not of inf */
    double q = x * (x + 9), y = x < 10 ? x + 9 : x, r = 1 / y, s = r * r;
    double product = 40320 + q * (12176 + q * (1308 + q * (60 + q)));
    double pairs = (2 * x + 9) * ((12176 + q * (2616 + q * (180 + q * 4))) / product);
    double series = 0.5 * r + s * (1. / 12 - s * (1. / 120 - s * (1. / 252 - s * (1. / 240 - s * (1. / 132 - s * (
        691. / 32760 - s * (1. / 12 - s * (3617. / 8160))))))));
    return tl_log_usual(y) - (x < 10 ? pairs : 0) - series - (x < 10 ? 1 / x : 0);
}

/* Negative x by reflection. Source: Abramowitz and Stegun 1964, 6.3.7. */
double digamma(double x) {
    double below = 0, pi = 3.14159265358979323846;
    if (x == 0) return copysign(INFINITY, -x);
    if (!(x < INFINITY)) return x;
    if (x < 0) {
        if (x == floor(x)) return NAN;
        below = -pi / tan(pi * (x - floor(x)));
        x = 1 - x;
    }
    return below + digamma_above_0(x);
}

/* Sum of (x + k)**-s over k >= 0, s > 1: terms up to 10, then Euler and Maclaurin's formula.
   Source: Abramowitz and Stegun 1964, 23.1.30. */
double zeta_sum(double s, double x) {
    static const double bernoulli[10] = {1. / 6, -1. / 30, 1. / 42, -1. / 30, 5. / 66,
                                         -691. / 2730, 7. / 6, -3617. / 510, 43867. / 798,
                                         -174611. / 330};
    double total = 0;
    if (x <= 0 && x == floor(x)) return INFINITY;
    for (; x < 10; x += 1) total += pow(x, -s);
    total += pow(x, 1 - s) / (s - 1) + 0.5 * pow(x, -s);
    double factor = s * pow(x, -s - 1) / 2;             /* s (s + 1) ... x**(-s - 2j + 1) / (2j)! */
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

/* Hurwitz's zeta function. A negative y has a value where all terms are real: those of whole exponents; nan far below 0,
   where the sum would be long. For a large x only the term nearest to 0 counts. */
double zeta(double x, double y) {
    if (!(x >= 1) || y != y) return NAN;
    if (x == 1 || (y <= 0 && y == floor(y))) return INFINITY;
    if (y <= 0 && (x != floor(x) || !(y > -10000))) return NAN;
    if (y == INFINITY) return 0;
    if (x < 1e4) return zeta_sum(x, y);
    return y > 0 ? pow(y, -x) : pow(y - floor(y), -x) + pow(y - ceil(y), -x);
}

/* sin(pi x) / (pi x). What x is beyond a whole number is exact, so the sine is too, however large x is. */
T sinc#(T x) {
    T pi = (T)3.14159265358979323846, whole = rint@(x), half = whole * (T)0.5;
    T sine = tl_sin_near@((x - whole) * pi, 0);
    sine = rint@(half) != half ? -sine : sine;
    return x == 0 ? (T)1 : sine / (x * pi) + (T)0;      /* 0 rather than -0 where x is whole */
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

/* exp as vector code. The other function says where it does not hold: for huge angles, and where the result may be
   infinite or too small, so that C's rules for infinite parts count. */
T complex_exp_near#(T x) {
    R scale = tl_exp@(creal@(x)), angle = cimag@(x);
    return tl_complex@(scale * tl_sin_near@(angle, 1), scale * tl_sin_near@(angle, 0));
}

int is_far#(T x) { return !(fabs@(creal@(x)) < (R)80) | tl_is_huge@(cimag@(x)); }

/* Complex numbers, where libm has no function: near 0, exp(x) - 1 = exp(re) (cos(im) - 1) + (exp(re) - 1) + i exp(re) sin(im). */
T complex_expm1#(T x) {
    R re = creal@(x), im = cimag@(x), half = sin@((R)0.5 * im), scale = exp@(re);
    return tl_complex@(expm1@(re) - (R)2 * scale * half * half, scale * sin@(im));
}

/* |1 + x|^2 - 1 = re (2 + re) + im^2, so that nothing is lost where x is small. */
T complex_log1p#(T x) {
    R re = creal@(x), im = cimag@(x), size = hypot@((R)1 + re, im);
    R real = size < (R)0.5 || size > (R)2 ? log@(size) : (R)0.5 * log1p@(re * ((R)2 + re) + im * im);
    return tl_complex@(real, atan2@(im, (R)1 + re));
}

T complex_pow#(T x, T exponent) {
    if (exponent == 0) return 1;
    if (x == 0) return creal@(exponent) > 0 ? (T)0 : cpow@(x, exponent);
    return cpow@(x, exponent);
}

/* log of a complex64, as vector code, where no part is infinite or nan. In double, squares of floats are exact, and so are
   the terms of |x|^2 - 1 = (re - 1) (re + 1) + im^2: nothing is lost where |x| is near 1, and the logarithm near 0. */
T complex_log_near#(T x) {
    double re = creal@(x), im = cimag@(x), square = re * re + im * im;
    double beyond = (re - 1) * (re + 1) + im * im;
    double near = tl_log1p(beyond), any = tl_log(square);
    return tl_complex@(0.5 * (fabs(beyond) < 0.5 ? near : any), tl_atan2@(cimag@(x), creal@(x)));
}

T complex_pow_near#(T x, T exponent) { return complex_exp_near#(exponent * complex_log_near#(x)); }

int is_far_power#(T x, T exponent) {
    return is_far#(exponent * complex_log_near#(x)) | !(fabs@(creal@(x)) + fabs@(cimag@(x)) < INFINITY);
}

T complex_sinc#(T x) {
    T angle = x * (R)3.14159265358979323846;
    return x == 0 ? (T)1 : csin@(angle) / angle;
}

T complex_lerp#(T x, T end, T weight) {
    return cabs@(weight) < (R)0.5 ? x + weight * (end - x) : end - (end - x) * ((T)1 - weight);
}

T complex_silu_backward#(T grad, T x) {
    T s = (T)1 / ((T)1 + cexp@(-x));
    return grad * (s * ((T)1 + x * ((T)1 - s)));
}

T complex_sgn#(T x) {
    R re = creal@(x), im = cimag@(x), size = tl_hypot@(re, im);
    return tl_complex@(size == 0 ? (R)0 : re / size, size == 0 ? (R)0 : im / size);
}

/* sin(x) / x, a series where x is small. Source: DLMF 10.49.3. */
double spherical_bessel_j0(double x) {
    double s = x * x;
    if (fabs(x) == INFINITY) return 0;
    if (fabs(x) < 0.5)
        return 1 + s * (-1. / 6 + s * (1. / 120 + s * (-1. / 5040 + s * (1. / 362880 + s * (-1. / 39916800
            + s * (1. / 6227020800))))));
    return sin(x) / x;
}

/* Polynomials of degree n: low degrees by their recurrence, which keeps whole numbers whole; high ones of Chebyshev's by
   cosines inside of [-1, 1], and hyperbolic ones outside. Source: DLMF 18.5.1 to 18.5.4, 18.9.1. */
double sign_of_power(double n) { return fmod(n, 2) == 0 ? 1 : -1; }

/* Far away a polynomial is as its highest power; between its zeros it may be too large with any sign. */
double too_large(double x, double n, double last_zero) {
    if (fabs(x) > last_zero) return x > 0 ? INFINITY : sign_of_power(n) * INFINITY;
    return NAN;
}

/* Of degree 0 or less, of nan, or at infinity. */
double at_edge(double x, double n) {
    if (n <= 0) return n < 0 ? 0 : 1;
    return n + x != n + x ? NAN : too_large(x, n, 1);
}

double chebyshev_steps(double x, double n, double first) {
    double before = 1, p = first;
    for (int k = 1; k < n; k++) {
        double next = 2 * x * p - before;
        before = p;
        p = next;
    }
    return p;
}

double chebyshev_t(double x, double n) {
    n = trunc(n);
    if (!(n > 0) || x - x != 0) return at_edge(x, n);
    if (n <= 6) return chebyshev_steps(x, n, x);
    if (fabs(x) < 1) return cos(n * acos(x));
    return (x < 0 ? sign_of_power(n) : 1) * cosh(n * acosh(fabs(x)));
}

double chebyshev_u(double x, double n) {
    n = trunc(n);
    if (!(n > 0) || x - x != 0) return at_edge(x, n);
    if (n <= 6) return chebyshev_steps(x, n, 2 * x);
    double t = fabs(x) < 1 ? acos(x) : acosh(fabs(x));
    if (fabs(x) < 1) return sin((n + 1) * t) / sin(t);
    return (x < 0 ? sign_of_power(n) : 1) * (t == 0 ? n + 1 : sinh((n + 1) * t) / sinh(t));
}

double chebyshev_v(double x, double n) {
    n = trunc(n);
    if (!(n > 0) || x - x != 0) return at_edge(x, n);
    if (n <= 6) return chebyshev_steps(x, n, 2 * x - 1);
    double t = fabs(x) < 1 ? acos(x) : acosh(fabs(x));
    if (fabs(x) < 1) return cos((n + 0.5) * t) / cos(0.5 * t);
    if (x > 0) return cosh((n + 0.5) * t) / cosh(0.5 * t);
    return sign_of_power(n) * (t == 0 ? 2 * n + 1 : sinh((n + 0.5) * t) / sinh(0.5 * t));
}

double chebyshev_w(double x, double n) {
    n = trunc(n);
    return n < 0 ? 0 : sign_of_power(n) * chebyshev_v(-x, n);
}

/* The next ones stop where they are too large. Degrees above 512 of Hermite's are that nearly everywhere; above a million,
   the others would take long. */
double hermite_h(double x, double n) {
    n = trunc(n);
    if (!(n > 0) || x - x != 0) return at_edge(x, n);
    double before = 0, p = 1;
    if (n > 512) return NAN;
    for (int k = 0; k < n && p - p == 0; k++) {
        double next = 2 * x * p - 2 * k * before;
        before = p;
        p = next;
    }
    return p - p == 0 ? p : too_large(x, n, sqrt(2 * n + 1));
}

double hermite_he(double x, double n) {
    n = trunc(n);
    if (!(n > 0) || x - x != 0) return at_edge(x, n);
    double before = 0, p = 1;
    if (n > 512) return NAN;
    for (int k = 0; k < n && p - p == 0; k++) {
        double next = x * p - k * before;
        before = p;
        p = next;
    }
    return p - p == 0 ? p : too_large(x, n, sqrt(4 * n + 2));
}

double laguerre_l(double x, double n) {
    n = trunc(n);
    if (!(n > 0) || x - x != 0) return at_edge(-x, n);
    double before = 0, p = 1;
    if (x == 0) return 1;
    if (n > 1e6) return NAN;
    for (int k = 0; k < n && p - p == 0; k++) {
        double next = ((2 * k + 1 - x) * p - k * before) / (k + 1);
        before = p;
        p = next;
    }
    return p - p == 0 ? p : too_large(-x, n, x < 0 ? 0 : 4 * n + 2);
}

double legendre_p(double x, double n) {
    n = trunc(n);
    if (!(n > 0) || x - x != 0) return at_edge(x, n);
    double before = 0, p = 1;
    if (fabs(x) == 1) return x > 0 ? 1 : sign_of_power(n);
    if (n > 1e6) return NAN;
    for (int k = 0; k < n && p - p == 0; k++) {
        double next = ((2 * k + 1) * x * p - k * before) / (k + 1);
        before = p;
        p = next;
    }
    return p - p == 0 ? p : too_large(x, n, 1);
}
