"""A measurement: what was run, how long each run took, and how far that can be trusted."""

import contextlib
import dataclasses
import math
import textwrap
from typing import Any

import numpy as np

from tensorlab.threads import get_num_threads, set_num_threads

__all__ = [
    "Measurement",
    "TaskSpec",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "trim_sigfig",
    "unit_to_english",
]

MOST_FIGURES = 4
LEAST_INTERVAL = 25e-9  # seconds; no clock is more exact
Z = 1.645  # nine tenths of a normal distribution are within so many standard errors
NOISY, VERY_NOISY = 0.1, 0.25  # of the interquartile range and the median
UNITS = {
    "ns": ("nanosecond", 1e-9),
    "us": ("microsecond", 1e-6),
    "ms": ("millisecond", 1e-3),
    "s": ("second", 1),
}


@dataclasses.dataclass(repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was run, and what it is called.

    Examples
    --------
    >>> TaskSpec("x + y", setup="x = y = 1", label="add").title
    'add'
    """

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        """The label, or the statement."""
        after = f": {self.sub_label}" if self.sub_label else ""
        if self.label is not None:
            return self.label + after
        if "\n" not in self.stmt:
            return self.stmt + after
        return (
            f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n"
            f"{textwrap.indent(self.stmt, '  ')}"
        )

    def setup_str(self):
        """The setup, as a measurement shows it."""
        if self.setup in ("pass", ""):
            return ""
        if "\n" in self.setup:
            return f"setup:\n{textwrap.indent(self.setup, '  ')}"
        return f"setup: {self.setup}"

    def summarize(self):
        """Title, description and setup, one below the other."""
        sections = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{one}\n" if "\n" in one else one for one in sections if one)


@dataclasses.dataclass(repr=False)
class Measurement:
    """Times of a statement.

    Parameters
    ----------
    number_per_run : int, how often the statement ran in each run
    raw_times : list of float, seconds of each run
    task_spec : TaskSpec
    metadata : dict, the user's own

    Attributes
    ----------
    times : list of float, seconds of the statement in each run
    median, mean, iqr : float, seconds; the interquartile range is where the middle half of the
        times lies
    significant_figures : int, digits that the median can be trusted with
    has_warnings : bool, whether the times differ much

    Examples
    --------
    >>> one = Measurement(10, [0.1, 0.2, 0.3], TaskSpec("f()", "pass"))
    >>> round(one.median, 6), round(one.iqr, 6)
    (0.02, 0.01)
    """

    number_per_run: int
    raw_times: list
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name):
        if name in {field.name for field in dataclasses.fields(TaskSpec)}:
            return getattr(self.task_spec, name)
        raise AttributeError(f"Measurement has no attribute {name!r}")

    @property
    def times(self):
        return [time / self.number_per_run for time in self.raw_times]

    def quantile(self, q):
        """The time that a part q of the times is below."""
        return float(np.quantile(self.times, q)) if self.raw_times else -1.0

    @property
    def median(self):
        return self.quantile(0.5)

    @property
    def mean(self):
        return float(np.mean(self.times)) if self.raw_times else -1.0

    @property
    def iqr(self):
        return self.quantile(0.75) - self.quantile(0.25)

    @property
    def significant_figures(self):
        n = len(self.raw_times)
        middle = sorted(self.times)[n // 4 : math.ceil(3 * n / 4)]
        error = float(np.std(middle)) / math.sqrt(len(middle))
        interval = max(Z * error, LEAST_INTERVAL)
        figures = math.floor(math.log10(self.median / interval))
        return min(max(figures, 1), MOST_FIGURES)

    @property
    def has_warnings(self):
        return bool(self.raw_times) and not self.meets_confidence()

    def meets_confidence(self, threshold=NOISY):
        """Is the interquartile range a smaller part of the median than this?"""
        return self.iqr / self.median < threshold

    @property
    def title(self):
        """What was measured."""
        return self.task_spec.title

    @property
    def as_row_name(self):
        """What its row of a table is called."""
        return self.sub_label or self.stmt or "[Unknown]"

    def warning(self):
        """What is to be said about times that differ much, or nothing."""
        if not self.has_warnings:
            return ""
        reason = (
            "This could indicate system fluctuation."
            if self.meets_confidence(VERY_NOISY)
            else "This suggests significant environmental influence."
        )
        return (
            f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median "
            f"measurement.\n           {reason}"
        )

    def __repr__(self):
        n = len(self.raw_times)
        unit, scale = select_unit(self.median)
        low, high = self.quantile(0.25) / scale, self.quantile(0.75) / scale
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}",
        ]
        if n >= 4:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        lines.append(
            f"  {n} measurement{'s' if n > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement,' if n > 1 else ','} {self.num_threads} "
            f"thread{'s' if self.num_threads > 1 else ''}"
        )
        return "\n".join([*lines, *filter(None, [self.warning()])])

    @staticmethod
    def merge(measurements):
        """Put measurements of the same task together: a list with one for each task, in runs of 1."""
        groups: dict = {}
        for one in measurements:
            groups.setdefault(one.task_spec, []).extend(one.times)
        return [Measurement(1, times, task) for task, times in groups.items()]


def select_unit(t):
    """Return the unit in which a time in seconds is written, and how many seconds that is.

    >>> select_unit(0.0042)
    ('ms', 0.001)
    """
    unit = "s" if t <= 0 else {-3: "ns", -2: "us", -1: "ms"}.get(math.floor(math.log10(t) / 3), "s")
    return unit, UNITS[unit][1]


def unit_to_english(u):
    """Return the word for a unit: "us" is a microsecond.

    Examples
    --------
    >>> unit_to_english("us")
    'microsecond'
    """
    return UNITS[u][0]


def trim_sigfig(x, n):
    """Round a number to n significant figures.

    >>> trim_sigfig(3.14159, 2)
    3.1
    """
    if n != int(n):
        raise ValueError(f"trim_sigfig: n is {n}; a whole number of figures is needed")
    if x == 0:
        return 0.0
    return round(float(x), int(n) - math.ceil(math.log10(abs(x))))


def ordered_unique(elements):
    """Return each element once, in the order in which they come first.

    Examples
    --------
    >>> ordered_unique(["b", "a", "b"])
    ['b', 'a']
    """
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n):
    """Let ops use n threads in a block.

    Examples
    --------
    >>> import tensorlab
    >>> with set_torch_threads(1):
    ...     print(tensorlab.get_num_threads())
    1
    """
    before = get_num_threads()
    set_num_threads(n)
    try:
        yield
    finally:
        set_num_threads(before)
