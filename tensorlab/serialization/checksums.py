"""Checksums of the zip format, CRC-32, of pieces that several threads look at.

A CRC is the remainder of a polynomial over two elements: each bit of the data is a coefficient. To append n bytes is to
multiply by x^(8 n), so the checksum of two pieces follows from theirs. In the 32 bits the highest one stands for x^0.
"""

from functools import lru_cache

from ..threads import get_num_threads

__all__ = ["Threads", "combined"]

POLYNOMIAL = 0xEDB88320  # x^32 is the rest of it


def combined(first, second, length):
    """Return the checksum of two pieces, of which the second has so many bytes."""
    if length < 0:
        raise ValueError(
            f"combined: the length of the second piece is a number of bytes, not {length}"
        )
    return multiply(power_of_x(8 * length), first) ^ second


def multiply(a, b):
    """Return the product of two polynomials, as a remainder."""
    product = 0
    while a:
        if a & 0x80000000:
            product ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (POLYNOMIAL if b & 1 else 0)  # times x
    return product


@lru_cache(16)
def power_of_x(n):
    """Return x^n, by squaring."""
    result, square = 0x80000000, 0x40000000
    while n:
        if n & 1:
            result = multiply(result, square)
        square = multiply(square, square)
        n >>= 1
    return result


class Threads:
    """Threads for the bytes of large storages: zlib and the system's calls don't hold Python's lock.

    Use it in a `with`; what has not begun when an error leaves it, never begins.
    """

    def __enter__(self):
        try:
            from concurrent.futures import ThreadPoolExecutor
        except RuntimeError:  # the interpreter is ending, and it can't be imported any more
            self.pool = None
        else:
            self.pool = ThreadPoolExecutor(get_num_threads())
        return self

    def __exit__(self, *error):
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def run(self, function, *args):
        """Begin to call a function; return the function that waits for its result."""
        if self.pool is not None:
            try:
                return self.pool.submit(function, *args).result
            except RuntimeError:  # the interpreter is ending, and has no new threads
                pass
        result = function(*args)
        return lambda: result
