"""Which cells of a page measure time: they run alone, for a neighbour would be part of what they measure.

A cell measures if it names a clock, or a function that does: an earlier cell may define it, or a program
beside the page.
"""

import ast

CLOCKS = {
    *(
        "monotonic",
        "monotonic_ns",
        "perf_counter",
        "perf_counter_ns",
        "process_time",
        "process_time_ns",
    ),
    *("thread_time", "thread_time_ns", "time_ns", "timeit", "default_timer", "sleep"),
}


def measuring_cells(sources, folder):
    """Return the positions of those cells that measure; programs beside the page are in `folder`."""
    timers = timers_of_programs(folder)
    found = set()
    for position, source in enumerate(sources):
        tree = parsed(source)
        timers |= timers_in(tree, timers)
        if names_in(tree) & (CLOCKS | timers):
            found.add(position)
    return found


def timers_of_programs(folder):
    """Return the programs that measure, as file and as module, and the functions in them that do."""
    timers = set()
    for path in sorted(folder.glob("*.py")):
        tree = parsed(path.read_text(encoding="utf-8"))
        if names_in(tree) & CLOCKS:
            timers |= {path.name, path.stem} | timers_in(tree, set())
    return timers


def timers_in(tree, known):
    """Return the names of functions and classes that measure, also those that call one that does."""
    definitions = [
        (node.name, names_in(node))
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    timers, size = set(), -1
    while size < len(timers):
        size = len(timers)
        measuring = CLOCKS | known | timers
        timers |= {name for name, names in definitions if names & measuring}
    return timers


def names_in(tree):
    """Return what a piece of code names: variables, attributes, modules, files as in "speed.py"."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add("time_ns" if is_wall_clock(node) else node.attr)
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)
    return names


def is_wall_clock(node):
    return node.attr == "time" and isinstance(node.value, ast.Name) and node.value.id == "time"


def parsed(source):
    """Return the tree of a cell, without lines that only IPython understands."""
    lines = [line for line in source.split("\n") if not line.lstrip().startswith(("%", "!"))]
    try:
        return ast.parse("\n".join(lines))
    except SyntaxError:  # some cells show one
        return ast.parse("")
