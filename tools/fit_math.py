"""Find the coefficients of tl_math.h and bessel_float32.h by the Remez exchange.

    python tools/fit_math.py [NAME ...]

prints each polynomial or quotient of polynomials, lowest power first, with its largest weighted
error before rounding. Half a unit in the last place is 6.0e-8 (float) or 1.1e-16 (double).

A best approximation of degree n misses its target equally far, with alternating sign, at n + 2
points (Chebyshev). Remez guesses the points, solves for the coefficients and that one error, moves
the points to where the error now peaks, and repeats. Needs mpmath and NumPy. Source: Cheney,
Introduction to Approximation Theory, 1966, chapters 3 and 5.
"""

import sys

import mpmath as mp
import numpy as np

mp.mp.dps = 60
SMALL = mp.mpf(10) ** -20  # nearer to 0 a quotient such as (exp(r) - 1 - r) / r**2 takes its limit
FLOAT, DOUBLE = 9, 17  # significant digits that survive a round trip


def evaluate(coefficients, x):
    """Polynomial with `coefficients` (lowest power first) at x."""
    return mp.polyval(coefficients[::-1], x)


def solve(points, target, weight, numerator, denominator, old):
    """Coefficients P, Q (Q[0] = 1) whose weighted error alternates between +e and -e on `points`.

    For a polynomial the equations P(x) - t(x) = +-e / w(x) are linear in P and e. For a quotient,
    P = (t +- e / w) Q holds a product of unknowns: e is split into its last value, which multiplies
    the new Q, and a change, which multiplies the last Q.
    """
    error, old_q = old
    for _ in range(12 if denominator else 1):
        size = len(points)
        matrix, right = mp.matrix(size, size), mp.matrix(size, 1)
        for row, x in enumerate(points):
            sign = (-1) ** row / weight[x]
            value = target[x] + sign * error * (denominator > 0)
            for power in range(numerator + 1):
                matrix[row, power] = x**power
            for power in range(1, denominator + 1):
                matrix[row, numerator + power] = -value * x**power
            matrix[row, size - 1] = -sign * evaluate(old_q, x)
            right[row] = value
        answer = list(mp.lu_solve(matrix, right))
        p, q = answer[: numerator + 1], [mp.mpf(1), *answer[numerator + 1 : -1]]
        change, error = answer[-1], answer[-1] + error * (denominator > 0)
        old_q = q
        if abs(change) < abs(error) * mp.mpf(10) ** -12:
            break
    return p, q, error


def extrema(error):
    """Index of the largest |error| in each run of one sign."""
    breaks = np.flatnonzero(np.diff(np.sign(error))) + 1
    runs = np.split(np.arange(len(error)), breaks)
    return [int(run[np.argmax(np.abs(error[run]))]) for run in runs]


def remez(target, weight, low, high, numerator, denominator=0, grid_size=700):
    """Best P / Q of the given degrees for max |weight (P/Q - target)| on [low, high]."""
    low, high = mp.mpf(low), mp.mpf(high)
    angles = [mp.pi * i / (grid_size - 1) for i in range(grid_size)]
    grid = [(low + high) / 2 - (high - low) / 2 * mp.cos(angle) for angle in angles]
    targets = {x: target(x) for x in grid}
    weights = {x: abs(weight(x)) or SMALL for x in grid}
    size = numerator + denominator + 2
    chosen = [round(i * (grid_size - 1) / (size - 1)) for i in range(size)]
    best, old = None, (mp.mpf(0), [mp.mpf(1)])
    for _ in range(60):
        points = [grid[i] for i in chosen]
        p, q, level = solve(points, targets, weights, numerator, denominator, old)
        old = (level, q)
        error = np.array(
            [float(weights[x] * (evaluate(p, x) / evaluate(q, x) - targets[x])) for x in grid]
        )
        largest = np.abs(error).max()
        if best is None or largest < best[0]:
            best = (largest, p, q)
        peaks = extrema(error)
        if len(peaks) < size or peaks == chosen:
            break
        while len(peaks) > size:  # drop the weaker end, which keeps the signs alternating
            peaks.pop(0 if abs(error[peaks[0]]) < abs(error[peaks[-1]]) else -1)
        chosen = peaks
    return best


def limited(function, limit):
    """`function`, with its limit at 0."""
    return lambda x: function(x) if abs(x) > SMALL else mp.mpf(limit)


def of_root(function, limit):
    """`function` of sqrt(s): the targets of odd and even functions are functions of s = x * x."""
    return limited(lambda s: function(mp.sqrt(s)), limit)


# Targets and weights. A weight turns an error of the polynomial into a relative one of the result.
half_log2 = mp.log(2) / 2 * mp.mpf("1.0002")
exp_target = limited(lambda r: (mp.expm1(r) - r) / r**2, 0.5)
exp_weight = limited(lambda r: r**2 / mp.exp(r), 0)
exp2_target = limited(lambda r: (2**r - 1) / r, mp.log(2))
exp2_weight = limited(lambda r: r / 2**r, 0)
atanh_target = of_root(lambda s: (2 * mp.atanh(s) / s - 2) / s**2, mp.mpf(2) / 3)
atanh_weight = of_root(lambda s: s**3 / (2 * mp.atanh(s)), 0)
log_high = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0002")
pow_target = of_root(lambda s: (3 * mp.atanh(s) / s - 3 - s**2) / s**4, mp.mpf(3) / 5)
sin_target = of_root(lambda r: (mp.sin(r) / r - 1) / r**2, -mp.mpf(1) / 6)
sin_weight = of_root(lambda r: r**3 / mp.sin(r), 0)
cos_target = of_root(lambda r: (mp.cos(r) - 1 + r**2 / 2) / r**4, mp.mpf(1) / 24)
cos_weight = of_root(lambda r: r**4 / mp.cos(r), 0)
sin_high = (mp.pi / 4 * mp.mpf("1.0002")) ** 2
atan_target = of_root(lambda t: (mp.atan(t) / t - 1) / t**2, -mp.mpf(1) / 3)
atan_weight = of_root(lambda t: t**3 / mp.atan(t), 0)


def tanh_half_target(a):
    """(T/a - 1) / a**2 for T = 2 tanh(a/2)."""
    return (2 * mp.tanh(a / 2) / a - 1) / a**2


def tanh_half_weight(a):
    """How an error of the quotient reaches tanh(a) = T / (1 + T*T/4)."""
    square = mp.tanh(a / 2) ** 2
    return a**3 * (1 - square) / (1 + square) ** 2 / mp.tanh(a)


def erf_root_target(a):
    """z/a - 1 for z = 8 (1 - erfc(a)**(1/8))."""
    return 8 * (1 - mp.erfc(a) ** (mp.mpf(1) / 8)) / a - 1


def erf_root_weight(a, tail=0):
    """How an error of z reaches erf(a); with `tail` some of erfc's relative accuracy counts too."""
    return a * mp.erfc(a) ** (mp.mpf(7) / 8 - tail) / mp.erf(a)


def erfc_quotient(t):
    """erfc(a) exp(a**2) / t for t = 1 / (1 + 0.41 a)."""
    a = (1 / t - 1) / mp.mpf("0.41")
    return mp.erfc(a) * mp.exp(a * a) / t


def erfinv_quotient(root):
    """erfinv(x) / x for x = sqrt(1 - exp(-root**2)); near 1 by Newton's method on log erfc(y)."""
    x = mp.sqrt(-mp.expm1(-root * root))
    if x < mp.mpf("0.5"):
        return mp.erfinv(x) / x if x > SMALL else mp.sqrt(mp.pi) / 2
    y, goal = root * mp.mpf("0.93"), -root * root - mp.log(1 + x)
    for _ in range(12):
        tail = mp.erfc(y)
        y += (mp.log(tail) - goal) * tail * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
    return y / x


def erfinv_fit(digits, centre, low, high, degree, function=erfinv_quotient):
    """A polynomial in v, the distance from `centre`."""
    centre, low, high = mp.mpf(centre), mp.mpf(low), mp.mpf(high)

    def target(v):
        return function(centre + v)

    return digits, target, lambda v: 1 / target(v), low - centre, high - centre, degree


def erfinv_near(w):
    return erfinv_quotient(mp.sqrt(w))


def bessel_series(order):
    """I(x) / x**order as a function of x * x."""
    limit = mp.mpf(1) / 2**order
    return of_root(lambda x: mp.besseli(order, x) / x**order, limit)


def bessel_tail(order):
    """exp(-x) sqrt(x) I(x) as a function of 1 / x."""

    def tail(u):
        return mp.besseli(order, 1 / u) * mp.exp(-1 / u) / mp.sqrt(u)

    return tail


def lgamma_target(v):
    """lgamma(2 + v) / v: the zero at 2 is a factor."""
    return mp.loggamma(2 + v) / v


def stirling_rest(y):
    """x times what Stirling's formula lacks of lgamma(x), as a function of y = 1 / x**2."""
    x = 1 / mp.sqrt(y)
    return x * (mp.loggamma(x) - (x - mp.mpf(1) / 2) * (mp.log(x) - 1) - stirling_constant)


def stirling_weight(y):
    """How an error of that reaches lgamma(x)."""
    x = 1 / mp.sqrt(y)
    return 1 / (x * mp.loggamma(x))


def relative(function):
    return lambda x: 1 / function(x)


stirling_constant = mp.log(2 * mp.pi) / 2 - mp.mpf(1) / 2
lgamma_fit = (limited(lgamma_target, 1 - mp.euler), relative(limited(lgamma_target, 1 - mp.euler)))
stirling_fit = (limited(stirling_rest, mp.mpf(1) / 12), limited(stirling_weight, 0))
stirling_high = 1 / mp.mpf("6.25") ** 2
erf_limit = 2 / mp.sqrt(mp.pi) - 1
erf_target = limited(erf_root_target, erf_limit)
FITS = {
    "expf": (FLOAT, exp_target, exp_weight, -half_log2, half_log2, 4),
    "exp": (DOUBLE, exp_target, exp_weight, -half_log2, half_log2, 10),
    "exp2f": (FLOAT, exp2_target, exp2_weight, "-0.5", "0.5", 5),
    "exp2": (DOUBLE, exp2_target, exp2_weight, "-0.5", "0.5", 10),
    "exp2, for float": (DOUBLE, exp2_target, exp2_weight, "-0.5", "0.5", 7),
    "logf": (FLOAT, atanh_target, atanh_weight, 0, log_high, 2),
    "log": (DOUBLE, atanh_target, atanh_weight, 0, log_high, 6),
    "log2, for float": (
        DOUBLE, of_root(lambda s: 2 * mp.atanh(s) / s / mp.log(2), 2 / mp.log(2)),
        lambda z: mp.log(2) / 2, 0, log_high, 5,
    ),
    "softplusf": (FLOAT, atanh_target, atanh_weight, 0, mp.mpf(1) / 9, 3),
    "softplus": (DOUBLE, atanh_target, atanh_weight, 0, mp.mpf(1) / 9, 9),
    "pow": (DOUBLE, pow_target, lambda z: z**2 / 3, 0, log_high, 6),
    "tanhf": (
        FLOAT, of_root(tanh_half_target, -mp.mpf(1) / 12), of_root(tanh_half_weight, 0),
        0, mp.mpf("9.02") ** 2, 2, 2,
    ),
    "erff": (
        FLOAT, erf_target, limited(lambda a: erf_root_weight(a, mp.mpf("0.1")), 1), 0, "4.2", 7,
    ),
    "erf": (DOUBLE, erf_target, limited(erf_root_weight, 1), 0, "5.93", 24),
    "erfc, for float": (
        DOUBLE, erfc_quotient, lambda t: 1 / erfc_quotient(t), 1 / (1 + mp.mpf("0.41") * mp.mpf("10.2")), 1, 11,
    ),
    "sinf": (FLOAT, sin_target, sin_weight, 0, sin_high, 2),
    "cosf": (FLOAT, cos_target, cos_weight, "1e-9", sin_high, 2),
    "sin": (DOUBLE, sin_target, sin_weight, 0, sin_high, 6),
    "cos": (DOUBLE, cos_target, cos_weight, "1e-9", sin_high, 5),
    "atanf": (FLOAT, atan_target, atan_weight, 0, 1, 8),
    "atan": (DOUBLE, atan_target, atan_weight, 0, 1, 18),
    "erfinvf, near": erfinv_fit(FLOAT, 1, 0, "5.001", 9, erfinv_near),
    "erfinvf, far": erfinv_fit(FLOAT, 3, "2.235", 4, 9),
    "erfinv, near": erfinv_fit(DOUBLE, "1.5", 0, "6.2501", 22, erfinv_near),
    "erfinv, far": erfinv_fit(DOUBLE, "3.25", "2.4999", "4.0001", 18),
    "erfinv, end": erfinv_fit(DOUBLE, 5, "3.9999", "6.01", 16),
    "lgammaf": (FLOAT, *lgamma_fit, "-0.75", "0.25", 8),
    "lgamma": (DOUBLE, *lgamma_fit, "-0.75", "0.25", 19),
    "lgammaf, large": (FLOAT, *stirling_fit, 0, stirling_high, 1),
    "lgamma, large": (DOUBLE, *stirling_fit, 0, stirling_high, 5),
    "i0f": (FLOAT, bessel_series(0), relative(bessel_series(0)), 0, 64, 9),
    "i1f": (FLOAT, bessel_series(1), relative(bessel_series(1)), 0, 64, 9),
    "i0f, tail": (FLOAT, bessel_tail(0), relative(bessel_tail(0)), "2e-4", "0.125", 6),
    "i1f, tail": (FLOAT, bessel_tail(1), relative(bessel_tail(1)), "2e-4", "0.125", 6),
}  # fmt: skip


def constants():
    """Print log 2 and pi/2 in parts: leading bits, so that k times them is exact, and the rest."""
    for name, rest, sizes in (
        ("log 2, float", mp.log(2), (9, 24)),
        ("log 2, double", mp.log(2), (32, 53)),
        ("pi/2, for float", mp.pi / 2, (33, 53)),
        ("pi/2, for double", mp.pi / 2, (33, 33, 33, 53)),
    ):
        parts = []
        for bits in sizes:
            unit = mp.mpf(2) ** (mp.floor(mp.log(abs(rest), 2)) + 1 - bits)
            parts.append(mp.nint(rest / unit) * unit)
            rest -= parts[-1]
        print(f"{name}: {' + '.join(repr(float(part)) for part in parts)}")


def main():
    names = sys.argv[1:]
    if not names:
        constants()
    for name in names or FITS:
        digits, *fit = FITS[name]
        error, p, q = remez(*fit)
        print(f"{name}: largest error {error:.1e}")
        suffix = "f" if digits == FLOAT else ""
        for letter, coefficients in (("P", p), ("Q", q)):
            if len(coefficients) > 1:
                texts = (mp.nstr(c, digits, min_fixed=0, max_fixed=0) for c in coefficients)
                print(f"    {letter}:", ", ".join(text + suffix for text in texts))


if __name__ == "__main__":
    main()
