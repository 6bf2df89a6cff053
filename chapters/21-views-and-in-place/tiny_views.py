"""Views over a line of numbers, with one history for all of them: the idea of chapter 21 without tensors."""


class Base:
    """Numbers, and what has been done to them: the one history that all views share."""

    def __init__(self, values):
        self.values = list(values)
        self.history = []  # of each write: the places, and the slope at each of them

    def view(self):
        """Return a view of all places."""
        return View(self, range(len(self.values)))

    def backward(self, grad):
        """Turn the gradient of the numbers as they are into that of the numbers as they were."""
        grad = list(grad)
        for places, slopes in reversed(self.history):
            for place, slope in zip(places, slopes, strict=True):
                grad[place] *= slope
        return grad


class View:
    """Some places of a base. It has no numbers and no history of its own."""

    def __init__(self, base, places):
        self.base, self.places = base, places

    def __getitem__(self, part):
        return View(self.base, self.places[part])  # a slice of a range is a range

    @property
    def values(self):
        return [self.base.values[place] for place in self.places]

    def change_(self, function, slope):
        """Write function(v) over each number v; slope(v) is its derivative there."""
        self.base.history.append((self.places, [slope(v) for v in self.values]))
        for place in self.places:
            self.base.values[place] = function(self.base.values[place])
