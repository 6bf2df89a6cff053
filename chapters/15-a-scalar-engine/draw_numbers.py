"""Graphs of Numbers for tensorlab.viz, which knows tensors and nodes by a few attributes."""

from tensorlab import viz


class Drawn:
    """A Number under the names by which viz knows a tensor and the node that made it."""

    shape, output_nr = (), 0

    def __init__(self, number, others):
        self.number, self.others = number, others
        self.grad_fn = self if number.inputs else None
        if not number.inputs:
            self.variable = self  # what marks the node of a leaf

    @property
    def next_functions(self):
        return [(drawn(source, self.others), 0) for source, _ in self.number.inputs]

    def _sequence_nr(self):
        return self.number.sequence_number

    def name(self):
        return self.number.made_by


def drawn(number, others):
    """Return the one Drawn of a Number."""
    if number not in others:
        others[number] = Drawn(number, others)
    return others[number]


def picture(result, names, notes):
    """Draw the graph of a result.

    Parameters
    ----------
    names : dict from name to Number
    notes : dict from Number to str, one more line in its box
    """
    others = {}
    return viz.graph(
        drawn(result, others),
        names={name: drawn(number, others) for name, number in names.items()},
        notes={drawn(number, others): note for number, note in notes.items()},
    )
