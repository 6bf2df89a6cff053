"""Looking over an answer whose check had to run in its own process, where it could be deceived.

An answer to an exercise calculates. It doesn't need the interpreter's insides, other modules than
those below and its chapter's, or to change what it has imported.  One that does gets no points by
itself: a person has to read it.  A program that hides what it does well enough is not noticed.
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
"""
BUILTINS = set(_BUILTINS.split())
_INSIDES = "learn cli _core compiler"  # of tensorlab
INSIDES = set(_INSIDES.split())
_FREE = """
    __init__ __name__ __len__ __getitem__ __setitem__ __iter__ __next__ __call__ __enter__
    __exit__ __class__ __doc__ __torch_function__ __repr__ __add__ __mul__ __eq__ __hash__
    __new__ __radd__ __rmul__ __sub__ __rsub__ __truediv__ __rtruediv__ __neg__ __pow__
"""
FREE = set(_FREE.split())  # special names that an answer may speak of


def look_over(verdict, chapter, exercise, pieces):
    """Mark a verdict that the answer may have made itself, and say why its check ran beside it."""
    verdict.extra["beside"] = exercise.beside
    if not (verdict.is_right or verdict.credit > 0):
        return
    found = list(dict.fromkeys(reaches("\n".join(pieces.values()), chapter.imports)))
    if found:
        verdict.state, verdict.credit = SUSPICIOUS, 0.0
        verdict.remark = (
            "The check accepts it, but it runs in the answer's own process, and the answer uses "
            f"{', '.join(found[:3])}. Read it before you give points."
        )


def reaches(code, imports=""):
    """Yield what a program uses that no answer needs, in words.

    Parameters
    ----------
    code : str
    imports : str, the first lines of a reader's file; what they import is free
    """
    try:
        tree, given = ast.parse(code), ast.parse(imports)
    except SyntaxError:
        return
    free = MODULES | {name.split(".")[0] for node in ast.walk(given) for name in imported(node)}
    known = {
        one.asname or one.name for node in ast.walk(given) for one in getattr(node, "names", ())
    }
    own = set(parameters(tree))
    library = library_names(tree, known | {"torch", "tensorlab"})
    for node in ast.walk(tree):
        for name in imported(node):
            if name.split(".")[0] not in free or is_inside(name):
                yield f"the module {name}"
        if isinstance(node, ast.Name) and node.id in BUILTINS - known and node not in own:
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield from attribute(node, library)
        elif isinstance(node, ast.Call) and called(node) in ("setattr", "delattr"):
            if node.args and root_of(node.args[0]) in library:
                yield called(node)
        elif isinstance(node, ast.Constant) and is_special(node.value):
            yield f"the name {node.value}"


def parameters(tree):
    """Yield the nodes that speak of a parameter of the function that they are in."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.Lambda)):
            names = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
            body = function.body if isinstance(function.body, list) else [function.body]
            nodes = (node for part in body for node in ast.walk(part))
            yield from (node for node in nodes if isinstance(node, ast.Name) and node.id in names)


def imported(node):
    """Yield the names of the modules, and of what is taken from them, that a statement imports."""
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module or '.'}.{one.name}" for one in node.names)


def is_inside(name):
    parts = name.split(".")
    return parts[0] in ("tensorlab", "torch") and not INSIDES.isdisjoint(parts)


def library_names(tree, known):
    """Return `known` and the names that a program gives to modules, and to what belongs to them."""
    found = set(known)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(one.asname or one.name).split(".")[0] for one in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and root_of(node.value) in found:
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def attribute(node, library):
    """Yield what is suspicious about an attribute: the interpreter's own, or written into a library."""
    if is_special(node.attr) or node.attr.startswith(("f_", "tb_", "gi_", "cr_")):
        yield f"the attribute {node.attr}"
    root = root_of(node)
    if root in ("tensorlab", "torch") and node.attr in INSIDES - {"compiler"}:
        yield f"{root}.{node.attr}"
    if isinstance(node.ctx, (ast.Store, ast.Del)) and root in library:
        yield f"an assignment to {ast.unparse(node)}"


def root_of(node):
    """Return the name that a chain such as `a.b[0].c` begins with; a call ends it."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def is_special(value):
    is_name = isinstance(value, str) and len(value) > 4 and value[:2] == value[-2:] == "__"
    return is_name and value not in FREE


def called(node):
    return node.func.id if isinstance(node.func, ast.Name) else ""
