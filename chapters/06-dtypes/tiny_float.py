"""Floating-point formats in plain Python: from bits to the number, and from a number to the nearest bits."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Format:
    """A sign bit, some bits of exponent and some of significand, from the left to the right."""

    exponent_bits: int
    significand_bits: int

    @property
    def bias(self):
        """What is subtracted from the exponent field, so that it can mean small numbers too."""
        return 2 ** (self.exponent_bits - 1) - 1

    @property
    def infinity(self):
        """The bits of +inf: an exponent of ones and nothing behind it."""
        return (2**self.exponent_bits - 1) << self.significand_bits

    def fields(self, bits):
        """Cut the bits into sign, exponent and significand."""
        significand = bits % 2**self.significand_bits
        rest = bits >> self.significand_bits
        return rest >> self.exponent_bits, rest % 2**self.exponent_bits, significand

    def decode(self, bits):
        """The number that the bits mean."""
        sign, exponent, significand = self.fields(bits)
        fraction = significand / 2**self.significand_bits
        if exponent == 2**self.exponent_bits - 1:
            size = math.nan if significand else math.inf
        elif exponent == 0:  # denormal: no 1 in front
            size = fraction * 2.0 ** (1 - self.bias)
        else:
            size = (1 + fraction) * 2.0 ** (exponent - self.bias)
        return -size if sign else size

    def encode(self, x):
        """The bits of the number nearest to x; of two, the one that ends in 0."""
        sign = int(math.copysign(1, x) < 0) << (self.exponent_bits + self.significand_bits)
        if math.isnan(x):
            return sign | self.infinity | 1 << (self.significand_bits - 1)
        if math.isinf(x) or x == 0:
            return sign | (self.infinity if x else 0)
        exponent = max(math.frexp(x)[1] - 1, 1 - self.bias)  # 2**exponent <= |x|, if normal
        unit = 2.0 ** (exponent - self.significand_bits)  # the distance to the next number
        steps = round(abs(x) / unit)  # Python rounds ties to even
        # In a normal number, steps begins with a 1, which is one unit of exponent.
        bits = ((exponent + self.bias - 1) << self.significand_bits) + steps
        return sign | min(bits, self.infinity)


FLOAT16 = Format(exponent_bits=5, significand_bits=10)
BFLOAT16 = Format(exponent_bits=8, significand_bits=7)
FLOAT32 = Format(exponent_bits=8, significand_bits=23)
