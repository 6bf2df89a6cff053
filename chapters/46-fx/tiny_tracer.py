"""The smallest tracer: a proxy that writes a line for everything that is done to it."""


class Proxy:
    """Stands for a value that isn't there, and has a name instead."""

    def __init__(self, name, lines):
        self.name, self.lines = name, lines

    def __repr__(self):
        return self.name

    def record(self, call):
        """Write a line, and return a proxy for its value."""
        result = Proxy(f"v{len(self.lines)}", self.lines)
        self.lines.append(f"{result.name} = {call}")
        return result

    def __add__(self, other):
        return self.record(f"{self} + {other}")

    def __mul__(self, other):
        return self.record(f"{self} * {other}")

    def __getattr__(self, method):
        return lambda *args: self.record(f"{self}.{method}({', '.join(map(str, args))})")


def trace(function):
    """Run a function of one argument with a proxy; return what it did as source."""
    lines = []
    result = function(Proxy("x", lines))
    return "\n".join(["def traced(x):", *(f"    {line}" for line in lines), f"    return {result}"])
