"""Stacks of lines of source and the time that went by below them, in the form that flame graphs are made of."""

__all__ = ["METRICS", "write"]

METRICS = (
    "self_cpu_time_total",
    "self_cuda_time_total",
    "self_xpu_time_total",
    "self_privateuse1_time_total",
)
REPLACED = str.maketrans(" ;\t\n", "____")


def folded(events, metric="self_cpu_time_total"):
    """Yield a line for each event with a stack: the outermost frame first, then the metric as an int."""
    if metric not in METRICS:
        raise ValueError(f"export_stacks: metric is {metric!r}; it must be one of {list(METRICS)}")
    for event in events:
        value = int(event.self_cpu_time_total) if metric == METRICS[0] else 0
        if event.stack and value > 0:
            frames = ";".join(frame.translate(REPLACED) for frame in reversed(event.stack))
            yield f"{frames} {value}"


def write(events, path, metric="self_cpu_time_total"):
    """Write these lines into a file."""
    lines = list(folded(events, metric))
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
