"""Which pixel stands in each place of a padded line: what images and tensors share when they are padded."""

from collections.abc import Sequence
from numbers import Number

__all__ = ["MODES", "positions", "sides"]

MODES = ("constant", "edge", "reflect", "symmetric")


def sides(padding, user):
    """Return how much to add on the left, at the top, on the right and at the bottom.

    Parameters
    ----------
    padding : int, the same on each side; or a sequence of 1 (the same), 2 (left and right, top
        and bottom) or 4 int

    Raises
    ------
    TypeError, ValueError
        If it is something else, or a sequence of another length.
    """
    if isinstance(padding, Number):
        return [padding] * 4
    if not isinstance(padding, Sequence) or isinstance(padding, str):
        raise TypeError(f"{user}: padding is {padding!r}; expected an int or 1, 2 or 4 of them")
    if len(padding) not in (1, 2, 4):
        raise ValueError(
            f"{user}: padding has {len(padding)} numbers; expected an int or 1, 2 or 4 of them"
        )
    return list(padding) * (4 // len(padding))


def check_mode(padding_mode, user):
    """Raise ValueError unless `padding_mode` is one of MODES."""
    if padding_mode not in MODES:
        raise ValueError(
            f"{user}: padding_mode is {padding_mode!r}; expected one of {', '.join(MODES)}"
        )


def positions(size, before, after, padding_mode):
    """Return the index of the pixel that each place of a padded line shows.

    With padding_mode "edge" the ends go on; "reflect" mirrors the line in its last pixel, "symmetric" in its edge, as
    often as it takes. A negative number of places crops.

    >>> positions(4, 2, 2, "reflect"), positions(4, 2, 2, "symmetric")
    ([2, 1, 0, 1, 2, 3, 2, 1], [1, 0, 0, 1, 2, 3, 3, 2])
    """
    places = range(-before, size + after)
    if padding_mode == "edge":
        return [min(max(place, 0), size - 1) for place in places]
    if padding_mode == "symmetric":
        period = 2 * size  # there and back, with both ends twice
        return [min(place % period, period - 1 - place % period) for place in places]
    period = max(2 * (size - 1), 1)  # there and back, with both ends once
    return [min(place % period, period - place % period) for place in places]
