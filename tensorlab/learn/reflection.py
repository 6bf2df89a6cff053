"""Looking over an answer whose check had to run in its own process, where it could be deceived.

An answer to an exercise calculates. It doesn't need the interpreter's insides, other modules than the few
below, or to change what it has imported. One that does gets no points by itself: a person has to read it.
"""

import ast

from .judge import SUSPICIOUS

_MODULES = """
    tensorlab torch numpy math cmath collections itertools functools operator random typing
    dataclasses contextlib copy heapq bisect statistics weakref warnings time types abc
    string re json struct io enum numbers fractions decimal array __future__
"""
MODULES = set(_MODULES.split())
_BUILTINS = """
    eval exec compile globals locals vars open input breakpoint __import__ __builtins__
    memoryview
"""
BUILTINS = set(_BUILTINS.split())
_FREE = """
    __init__ __name__ __len__ __getitem__ __setitem__ __iter__ __next__ __call__ __enter__
    __exit__ __class__ __doc__ __torch_function__ __repr__ __add__ __mul__ __eq__ __hash__
    __new__
"""
FREE = set(_FREE.split())


def look_over(verdict, exercise, pieces):
    """Mark a verdict that the answer may have made itself, and say why its check ran beside it."""
    verdict.extra["beside"] = exercise.beside
    code = "\n".join(pieces.values())
    reasons = list(dict.fromkeys(reaches(code))) if verdict.credit > 0 else []
    if reasons:
        verdict.state, verdict.credit = SUSPICIOUS, 0.0
        verdict.remark = (
            f"The check accepts it, but it runs in the answer's own process, and the answer uses "
            f"{', '.join(reasons[:3])}. Read it before you give points."
        )


def reaches(code):
    """Yield what a program uses that no answer needs, in words."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [one.name for one in node.names]
            if isinstance(node, ast.ImportFrom):
                names = [f"{'.' * node.level}{node.module or ''}"] if not node.level else []
                names += [f"{node.module}.{one.name}" for one in node.names]
            yield from (f"the module {name}" for name in names if not is_free(name))
        elif isinstance(node, ast.Name) and node.id in BUILTINS:
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield from attributes(node)
        elif isinstance(node, ast.Call) and called(node) in ("setattr", "delattr"):
            yield called(node)
        elif isinstance(node, ast.Constant) and is_special(node.value):
            yield f"the name {node.value}"


def is_free(module):
    parts = module.split(".")
    is_learn = parts[:1] == ["tensorlab"] and {"learn", "cli", "_core", "compiler"} & set(parts)
    return not is_learn and (parts[0] in MODULES or parts[0].startswith("tiny_"))


def attributes(node):
    if is_special(node.attr) or node.attr.startswith(("f_", "tb_", "gi_", "cr_")):
        yield f"the attribute {node.attr}"
    if (
        node.attr in ("modules", "learn")
        and isinstance(node.value, ast.Name)
        and node.attr == "learn"
    ):
        yield "tensorlab.learn"
    if isinstance(node.ctx, ast.Store) and not is_own(node.value):
        yield f"an assignment to {ast.unparse(node)}"


def is_own(node):
    """Say whether attributes of this may be set: of a name that an answer gives to what it makes."""
    root = node
    while isinstance(root, (ast.Attribute, ast.Subscript, ast.Call)):
        root = root.func if isinstance(root, ast.Call) else root.value
    return not isinstance(root, ast.Name) or root.id not in (
        "torch",
        "tensorlab",
        "np",
        "numpy",
        "math",
    )


def is_special(value):
    return (
        isinstance(value, str)
        and value[:2] == value[-2:] == "__"
        and value not in FREE
        and len(value) > 4
    )


def called(node):
    return node.func.id if isinstance(node.func, ast.Name) else ""
