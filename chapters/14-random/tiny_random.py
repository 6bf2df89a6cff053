"""The random numbers of tensorlab and PyTorch in plain Python: the small program of chapter 14."""

from math import cos, log, pi, sin, sqrt

SIZE, DISTANCE, MASK = 624, 397, 0xFFFFFFFF


class Words:
    """The sequence of 32-bit words that a seed stands for: MT19937."""

    def __init__(self, seed):
        self.state = [seed & MASK]
        for i in range(1, SIZE):
            last = self.state[-1]
            self.state.append((1812433253 * (last ^ last >> 30) + i) & MASK)
        self.next = SIZE

    def twist(self):
        """Replace the 624 words by the next 624."""
        x = self.state
        for i in range(SIZE):
            joined = (x[i] & 0x80000000) | (x[(i + 1) % SIZE] & 0x7FFFFFFF)
            x[i] = x[(i + DISTANCE) % SIZE] ^ joined >> 1 ^ (joined & 1) * 0x9908B0DF
        self.next = 0

    def draw(self):
        """Return the next word, with its bits mixed."""
        if self.next == SIZE:
            self.twist()
        word = self.state[self.next]
        self.next += 1
        word ^= word >> 11
        word ^= word << 7 & 0x9D2C5680
        word ^= word << 15 & 0xEFC60000
        return word ^ word >> 18


def uniform(words, n):
    """Return n numbers in [0, 1), as rand gives them in float32."""
    return [(words.draw() & 0xFFFFFF) / 2**24 for _ in range(n)]


def integers(words, low, high, n):
    """Return n integers from low to high - 1, as randint does."""
    return [low + words.draw() % (high - low) for _ in range(n)]


def permutation(words, n):
    """Return 0 to n - 1 in random order, as randperm does."""
    x = list(range(n))
    for i in range(n - 1):
        j = i + words.draw() % (n - i)
        x[i], x[j] = x[j], x[i]
    return x


def normals(words):
    """Return a block of 16 normal numbers, as randn makes them of 16 uniform ones."""
    u = uniform(words, 16)
    radius = [sqrt(-2 * log(1 - v)) for v in u[:8]]
    angle = [2 * pi * v for v in u[8:]]
    pairs = list(zip(radius, angle, strict=True))
    return [r * cos(a) for r, a in pairs] + [r * sin(a) for r, a in pairs]
