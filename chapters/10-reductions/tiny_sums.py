"""Ways to add the same numbers, with rounding after every addition: the small program of chapter 10."""


def naive(x):
    """Add one number after the other, from the left."""
    total = x[0]
    for number in x[1:]:
        total = total + number
    return total


def pairwise(x):
    """Add the sums of the two halves."""
    if len(x) == 1:
        return x[0]
    half = len(x) // 2
    return pairwise(x[:half]) + pairwise(x[half:])


def compensated(x):
    """Add one number after the other, and carry over what each addition lost."""
    total, lost = x[0], x[0] - x[0]
    for number in x[1:]:
        wanted = number + lost
        new = total + wanted
        lost = wanted - (new - total)
        total = new
    return total


def levels(x):
    """Return the partial sums of `pairwise`, level by level, for a power of two of numbers."""
    found = [list(x)]
    while len(found[-1]) > 1:
        last = found[-1]
        found.append([last[i] + last[i + 1] for i in range(0, len(last), 2)])
    return found
