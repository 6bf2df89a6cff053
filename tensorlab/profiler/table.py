"""The table of a profile: a row for each name, laid out as PyTorch lays it out."""

import math

from tensorlab.profiler.events import spelled_time

__all__ = ["table_of"]

COLUMN, GAP = 12, "  "  # width of a column of numbers, and what is between two columns
NAMES_OF_FLOPS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")
UNITS = {"s": 1e6, "ms": 1e3, "us": 1.0}


def table_of(
    events,
    *,
    sort_by,
    row_limit,
    max_src_column_width,
    max_name_column_width,
    max_shapes_column_width,
    header,
    profile_memory,
    with_flops,
    top_level_events_only,
    time_unit,
    times=None,
):
    """Return events, or sums of events, as text; `times` are the wall time, and what of it is in no row."""
    if len(events) == 0:
        return ""
    in_order = (
        list(events) if sort_by is None else sorted(events, key=key_of(sort_by), reverse=True)
    )
    spelled = time_formatter(time_unit)
    total = sum(event.self_cpu_time_total for event in events)
    name_width = limited(max(len(event.key) for event in events) + 4, max_name_column_width)
    columns = [
        Column("Name", name_width, lambda event: shortened(event.key, max_name_column_width))
    ]
    if any(event.overload_name for event in events) and is_grouped(events):
        columns.append(
            Column(
                "Overload Name",
                name_width,
                lambda event: shortened(event.overload_name, max_name_column_width),
            )
        )
    columns += [
        Column("Self CPU %", COLUMN, lambda event: share(event.self_cpu_time_total, total)),
        Column("Self CPU", COLUMN, lambda event: spelled(event.self_cpu_time_total)),
        Column("CPU total %", COLUMN, lambda event: share(event.cpu_time_total, total)),
        Column("CPU total", COLUMN, lambda event: spelled(event.cpu_time_total)),
        Column("CPU time avg", COLUMN, lambda event: spelled(event.cpu_time)),
    ]
    if profile_memory:
        columns += [
            Column("CPU Mem", COLUMN, lambda event: spelled_bytes(event.cpu_memory_usage)),
            Column(
                "Self CPU Mem", COLUMN, lambda event: spelled_bytes(event.self_cpu_memory_usage)
            ),
        ]
    columns.append(Column("# of Calls", COLUMN, lambda event: str(event.count)))
    if any(event.input_shapes for event in events):
        width = max(len(str(event.input_shapes)) for event in events) + 4
        width = limited(width, max_shapes_column_width)
        columns.append(Column("Input Shapes", width, lambda event: str(event.input_shapes)[:width]))
    stacks = [event.stack for event in events if event.stack]
    if stacks:
        source_width = limited(
            max(len(entry) for stack in stacks for entry in stack) + 4, max_src_column_width
        )
        columns.append(Column("Source Location", source_width, first_frame(source_width), "<"))
    if with_flops and any(event.flops > 0 for event in events):
        columns.append(column_of_flops(events))
    rows = [event for event in in_order if not (top_level_events_only and event.cpu_parent)]
    rows = rows if row_limit < 0 else rows[:row_limit]

    rule = "".join("-" * column.width + GAP for column in columns)
    lines = [rule, line_of(columns, [column.title for column in columns]), rule]
    above = [] if header is None else ["=" * (len(rule) - len(GAP)), header]
    if top_level_events_only:
        above += ["=" * (len(rule) - len(GAP)), "This report only display top-level ops statistics"]
    for event in rows:
        lines.append(line_of(columns, [column.text(event) for column in columns]))
        if stacks:
            lines += lines_of_stack(columns, event, source_width)
    below = [rule, f"Self CPU time total: {spelled(total)}"]
    if times is not None:
        below.append(f"Wall time: {spelled(times[0])}, of which {spelled(times[1])} are in no row")
    return "\n".join([*above, *lines, *below, ""])


class Column:
    """A column: its title, its width in characters, and what it says of an event."""

    def __init__(self, title, width, text, side=">"):
        self.title, self.width, self.text, self.side = title, width, text, side


def line_of(columns, texts):
    """One line of the table."""
    return "".join(
        f"{text: {column.side}{column.width}}{GAP}"
        for column, text in zip(columns, texts, strict=True)
    )


def lines_of_stack(columns, event, width):
    """The frames below the first one, and an empty line."""
    at = [column.title for column in columns].index("Source Location")
    frames = [trimmed(entry, width) for entry in (event.stack or [])[1:]]
    return [
        line_of(columns, [frame if i == at else "" for i in range(len(columns))])
        for frame in [*frames, ""]
    ]


def first_frame(width):
    """What the column of source says."""
    return lambda event: trimmed(event.stack[0], width) if event.stack else ""


def key_of(sort_by):
    """The attribute that rows are sorted by; PyTorch's names for other devices lead to times of 0."""
    for device in ("cuda", "xpu", "privateuse1"):
        sort_by = sort_by.replace(device, "device")

    def key(event):
        found = getattr(event, sort_by, None)
        if not isinstance(found, (int, float)):
            raise AttributeError(
                f"table: sort_by is {sort_by!r}; it must be self_cpu_time_total, cpu_time_total, cpu_time, "
                "self_cpu_memory_usage, cpu_memory_usage, flops or count"
            )
        return found

    return key


def is_grouped(events):
    """Are these sums, in which a name of an overload means that they are grouped by it?"""
    return not hasattr(events[0], "time_range")


def time_formatter(unit):
    """How times are written."""
    if unit not in (*UNITS, None):
        raise ValueError(f"table: time_unit is {unit!r}; it must be s, ms or us")
    return (lambda time: f"{time / UNITS[unit]:.3f}{unit}") if unit else spelled_time


def limited(width, most):
    """A width, at most `most` if that is given."""
    return width if most is None else min(width, most)


def shortened(name, width):
    """A name that fits into its column."""
    return name if width is None or len(name) < width - 3 else name[: width - 3] + "..."


def trimmed(path, width):
    """The end of a line of source."""
    return path if len(path) <= width else "..." + path[len(path) - width + 3 :]


def share(time, total):
    """A part of the whole."""
    return "NaN" if total == 0 else f"{time * 100 / total:.2f}%"


def spelled_bytes(nbytes):
    """Bytes with their unit.

    >>> spelled_bytes(-2048)
    '-2.00 KB'
    """
    for size, unit in ((2**30, "GB"), (2**20, "MB"), (2**10, "KB")):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def column_of_flops(events):
    """Floating-point operations, in the unit of the smallest number of them."""
    least = min(event.flops for event in events if event.flops > 0)
    power = int(max(0, min(math.log10(least) / 3, len(NAMES_OF_FLOPS) - 1)))
    return Column(
        f"Total {NAMES_OF_FLOPS[power]}",
        COLUMN,
        lambda event: f"{event.flops / 1000**power:8.3f}" if event.flops > 0 else "--",
    )
