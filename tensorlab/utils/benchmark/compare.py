"""Compare: measurements as tables, a row for each statement and a column for each description."""

import enum
import math

from tensorlab.utils.benchmark.measurement import (
    Measurement,
    ordered_unique,
    select_unit,
    trim_sigfig,
    unit_to_english,
)

__all__ = ["Colorize", "Compare"]

END, BOLD = "\033[0m", "\033[1m"
BEST, GOOD, BAD, VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"
GAP = "  |  "


class Colorize(enum.Enum):
    """Among which measurements the best one is looked for."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Measurements as a table; one for each label.

    Rows are threads, `env` and `sub_label` or statement; columns are `description`.
    Measurements of the same task are put together.

    Parameters
    ----------
    results : list of Measurement

    Examples
    --------
    >>> from tensorlab.utils.benchmark import Timer
    >>> compared = Compare([Timer("pass", label="nothing", description=str(n)).timeit(10) for n in (1, 2)])
    >>> str(compared).splitlines()[1].split()
    ['|', '1', '|', '2']
    """

    def __init__(self, results):
        self._results: list = []
        self.extend_results(results)
        self._is_trimmed = self._shows_warnings = False
        self._colors = Colorize.NONE

    def extend_results(self, results):
        """Add measurements."""
        for one in results:
            if not isinstance(one, Measurement):
                raise ValueError(f"Compare: a Measurement is needed, not {type(one).__name__}")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Show only digits that can be trusted."""
        self._is_trimmed = True

    def colorize(self, rowwise=False):
        """Color the best and the worst times of each column, or row."""
        self._colors = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Mark times that differ much."""
        self._shows_warnings = True

    def print(self):
        """Print the tables."""
        print(str(self))

    def __str__(self):
        groups: dict = {}
        for one in Measurement.merge(self._results):
            groups.setdefault(one.label, []).append(one)
        return "\n".join(
            Table(group, self._colors, self._is_trimmed, self._shows_warnings).render()
            for group in groups.values()
        )


class Table:
    """The table of measurements with one label."""

    def __init__(self, results, colors, is_trimmed, shows_warnings):
        self.results, self.label, self.colors = results, results[0].label, colors
        self.is_trimmed = is_trimmed
        self.shows_warnings = shows_warnings and any(one.has_warnings for one in results)
        self.unit, self.scale = select_unit(min(one.median for one in results))
        self.row_keys = ordered_unique([row_key(one) for one in results])
        self.row_keys.sort(key=lambda key: (key[0], key[1] or ""))
        self.column_keys = ordered_unique([one.description for one in results])
        self.cells = {(row_key(one), one.description): one for one in results}

    def row(self, key):
        """The measurements of a row, None where there is none."""
        return [self.cells.get((key, description)) for description in self.column_keys]

    def column(self, description):
        """The measurements of a column."""
        found = [self.cells.get((key, description)) for key in self.row_keys]
        return [one for one in found if one is not None]

    def render(self):
        """The table as text."""
        forms = [self.form_of(description) for description in self.column_keys]
        names = self.names_of_rows()
        texts = [
            [
                " " * len(form(None)) if one is None else form(one)
                for form, one in zip(forms, self.row(key), strict=True)
            ]
            for key in self.row_keys
        ]
        head = ["", *(description or "" for description in self.column_keys)]
        lines = [head, *([name, *row] for name, row in zip(names, texts, strict=True))]
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        shown = [GAP.join(one.center(width) for one, width in zip(head, widths, strict=True))]
        total = len(shown[0])
        threads = None
        for key, line in zip(self.row_keys, lines[1:], strict=True):
            if key[0] != threads:
                threads = key[0]
                shown.append(f"{threads} threads: ".ljust(total, "-"))
            cells = [
                self.colored(text.center(width), one, key, description)
                for text, width, one, description in zip(
                    line[1:], widths[1:], self.row(key), self.column_keys, strict=True
                )
            ]
            shown.append(GAP.join([line[0].ljust(widths[0]), *cells]))
        title = f"[{f' {self.label or chr(0)} '.replace(chr(0), '').center(total - 2, '-')}]"
        after = (
            "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
            if self.shows_warnings
            else ""
        )
        return "\n".join(
            [title, *shown, "", f"Times are in {unit_to_english(self.unit)}s ({self.unit}).", after]
        )

    def names_of_rows(self):
        """What stands before each row; `env` where it changes."""
        envs = {key[1] for key in self.row_keys}
        width = max(len(str(env)) for env in envs) + 4 if len(envs) > 1 else 4
        names, before = [], None
        for threads, env, name in self.row_keys:
            is_new = len(envs) > 1 and (threads, env) != before
            before = (threads, env)
            names.append("  " + (f"({env})" if is_new else "").ljust(width) + name)
        return names

    def form_of(self, description):
        """A function that writes the times of a column, all with the same digits."""
        column = self.column(description)
        leading = [math.ceil(math.log10(one.median / self.scale)) for one in column]
        decimals = 1
        if self.is_trimmed:
            decimals = min(
                max(one.significant_figures - digits, 0)
                for one, digits in zip(column, leading, strict=True)
            )
        width = max(leading) + decimals + (decimals > 0)
        is_marked = self.shows_warnings and any(one.has_warnings for one in column)

        def form(one):
            value = 1.0 if one is None else one.median / self.scale
            if self.is_trimmed and one is not None:
                value = trim_sigfig(value, one.significant_figures)
            mark = ""
            if is_marked and one is not None and one.has_warnings:
                mark = f" (! {one.iqr / one.median * 100:.0f}%)"
            return f"{value:>{max(width, 1)}.{decimals}f}{mark:>{7 if is_marked else 0}}"

        return form

    def colored(self, text, one, key, description):
        """A time in the color that it deserves."""
        if self.colors is Colorize.NONE or one is None:
            return text
        others = self.row(key) if self.colors is Colorize.ROWWISE else self.column(description)
        if self.colors is Colorize.COLUMNWISE:
            others = [other for other in others if other.num_threads == key[0]]
        best = min(other.median for other in others if other is not None)
        if one.median <= best * 1.01 or one.median <= best + 100e-9:
            return BEST + BOLD + text + END * 2
        if one.median <= best * 1.1:
            return GOOD + BOLD + text + END * 2
        if one.median >= best * 5:
            return VERY_BAD + BOLD + text + END * 2
        return BAD + text + END * 2 if one.median >= best * 2 else text


def row_key(one):
    """What a measurement's row is: threads, env, name."""
    return one.num_threads, one.env, one.as_row_name
