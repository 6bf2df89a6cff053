"""The directive that documents a module from its docstrings, Cython functions included:

    ```{api} tensorlab
    :from: tensorlab.ops.reductions
    ```

documents the public names of `tensorlab` that were defined in, or below, one of the modules listed
in `:from:`; without it, all of them.  Nothing is typed by hand, so no page can miss an op.
"""

import importlib
import inspect
from types import ModuleType

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList


class ApiDirective(Directive):
    required_arguments = 1
    option_spec = {  # noqa: RUF012 - docutils wants a plain dict
        "from": directives.unchanged,
        "members": directives.flag,
    }

    def run(self):
        module = importlib.import_module(self.arguments[0])
        names = public_names(module, self.options.get("from", "").split())
        if not names:
            raise self.error(f"api: {self.arguments[0]} has no such public names")
        lines = ["```{eval-rst}"]
        for name in names:
            kind = "autoclass" if isinstance(getattr(module, name), type) else "autofunction"
            lines += [f".. {kind}:: {module.__name__}.{name}"]
            if kind == "autoclass" and "members" in self.options:
                lines += ["   :members:", "   :undoc-members:"]
            lines += [""]
        lines += ["```"]
        parent = nodes.container()
        self.state.nested_parse(StringList(lines, source=module.__name__), 0, parent)
        return parent.children


def public_names(module, sources=()):
    """Return the sorted public functions and classes of `module`, defined in one of `sources`."""
    every = getattr(module, "__all__", None) or [n for n in vars(module) if not n.startswith("_")]
    return sorted(name for name in every if is_documented(getattr(module, name), sources))


def is_documented(value, sources):
    if isinstance(value, ModuleType) or not (isinstance(value, type) or inspect.isroutine(value)):
        return False
    home = getattr(value, "__module__", None) or ""
    return not sources or any(home == s or home.startswith(s + ".") for s in sources)


def setup(app):
    app.add_directive("api", ApiDirective)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
