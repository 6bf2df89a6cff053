"""The directive that documents a module from its docstrings, Cython functions included:

    ```{api} tensorlab
    :from: tensorlab.ops.reductions
    ```

documents the public names of `tensorlab` that were defined in, or below, one of the modules listed
in `:from:`; without it, all of them.  Nothing is typed by hand, so no page can miss an op.  What a
chapter explains, as docs/contents.toml says, links to that chapter.

    ```{methods} arithmetic
    ```

documents the methods that stand under the comment `# arithmetic` in the class Tensor, and
`{methods} inherited` those that it has from TensorBase.
"""

import importlib
import inspect
import re
from types import ModuleType

from book_contents import CONTENTS, load_chapters
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from docutils.statemachine import StringList

from tensorlab import Tensor


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
        return parsed(self, [*lines, "```"])


class MethodsDirective(Directive):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        groups = method_groups()
        if self.arguments[0] not in groups:
            raise self.error(f"methods: {self.arguments[0]!r} is none of {', '.join(groups)}")
        lines = ["```{eval-rst}"]
        for name in groups[self.arguments[0]]:
            value = getattr(Tensor, name)
            kind = "property" if isinstance(value, property) else "attribute"
            kind = "method" if callable(value) else kind
            lines += [f".. auto{kind}:: tensorlab.Tensor.{name}", ""]
        return parsed(self, [*lines, "```"])


def parsed(directive, lines):
    """Return the nodes that some lines of Markdown make."""
    parent = nodes.container()
    directive.state.nested_parse(StringList(lines, source=directive.name), 0, parent)
    return parent.children


def method_groups():
    """Return the public names in class Tensor by the comment that they stand under."""
    groups = {"inherited": [n for n in vars(Tensor.__base__) if n not in vars(Tensor)]}
    group = "inherited"
    for line in inspect.getsource(Tensor).splitlines():
        if line.startswith("    # "):
            group = line.strip(" #")
            groups[group] = []
        elif match := re.match(r"    (?:def (\w+)|((?:\w+ = )+))", line):
            groups[group] += [match[1]] if match[1] else match[2].split(" = ")[:-1]
    return {
        group: [name for name in names if not name.startswith("_")]
        for group, names in groups.items()
    }


def public_names(module, sources=()):
    """Return the sorted public functions and classes of `module`, defined in one of `sources`.

    A module without `__all__` has those that it defines: what it imports is another's to document.
    """
    every = getattr(module, "__all__", None)
    if every is None:
        every = [name for name in vars(module) if not name.startswith("_")]
        sources = sources or [module.__name__]
    return sorted(name for name in every if is_documented(getattr(module, name), sources))


def is_documented(value, sources):
    if isinstance(value, ModuleType) or not (isinstance(value, type) or inspect.isroutine(value)):
        return False
    home = getattr(value, "__module__", None) or ""
    # The whole package as a source means what claims to be defined in it and in no module below.
    return not sources or any(
        home == source or ("." in source and home.startswith(source + ".")) for source in sources
    )


def say_where_explained(app, what, name, obj, options, lines):
    """End a docstring with links to the chapters that explain the name, as far as written."""
    app.env.note_dependency(str(CONTENTS))
    called = name.removeprefix("tensorlab.").removeprefix("Tensor.")
    links = [
        f":doc:`{chapter.number:02d} {chapter.title} </{chapter.page}>`"
        for chapter in load_chapters().values()
        if chapter.is_written and called in chapter.names
    ]
    if links:
        text = f"   Explained in {', '.join(links)}."
        lines += ["", ".. container:: explained-in", "", text, ""]


SIGNATURE = re.compile(r"\w+\(.*\)(?: -> .*)?")
CODE = re.compile(r"``.+?``|`([^`\n]+)`")


def read_as_text(app, what, name, obj, options, lines):
    """Make reStructuredText of a docstring that is written as plain text with `code` in it.

    Examples stay as they are, under a heading of their own; elsewhere what stands in backticks
    becomes code, and stars, bars and final underscores lose the meaning that they would have.
    """
    if lines and SIGNATURE.fullmatch(lines[0]):
        del lines[0]  # of the method that this one is another name of
    has_heading = any(line.strip() == "Examples" for line in lines)
    result = [""] if what in ("attribute", "property") else []  # else a colon would end a type
    in_example = False
    for line in lines:
        starts_example = line.startswith(">>>") and not in_example
        if starts_example and not has_heading:
            result += ["Examples", "--------"]
            has_heading = True
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith(">>>"))
        result.append(line if in_example else "".join(escaped_pieces(line)))
    lines[:] = result


def escaped_pieces(line):
    """Yield the line piece by piece: code in double backticks, other text escaped."""
    position = 0
    for match in CODE.finditer(line):
        yield escape(line[position : match.start()])
        yield f"``{match[1]}``" if match[1] else match[0]
        position = match.end()
    yield escape(line[position:])


def escape(text):
    return re.sub(r"(?<=\w)_(?!\w)|[*|]", lambda match: "\\" + match[0], text)


def as_users_see_it(app, what, name, obj, options, signature, result):
    """Write the types that users know, and no self, where Cython's signature has them."""
    if signature is None:
        return None
    signature = signature.replace("TensorBase", "Tensor")
    if what == "method" and not inspect.isfunction(obj):  # of these autodoc removes self
        signature = re.sub(r"^\(\w+(?:: \w+)?(?:, )?(?:/, |/(?=\)))?", "(", signature)
    return signature, result and result.replace("TensorBase", "Tensor")


def setup(app):
    app.add_directive("api", ApiDirective)
    app.add_directive("methods", MethodsDirective)
    app.connect("autodoc-process-docstring", read_as_text, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", say_where_explained, priority=900)  # after it
    app.connect("autodoc-process-signature", as_users_see_it)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
