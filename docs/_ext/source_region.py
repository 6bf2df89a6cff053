"""The directive that weaves the shipped source into a chapter, by file and name:

    ```{source} tensorlab/_core/engine/engine.pyx
    :name: run_backward
    :docstrings: no
    ```

`tensorlab.learn`, which finds the text, says what a name may be.  A missing, empty, over-long or
over-wide region is an error, so that a chapter cannot drift from the source and no line scrolls
sideways.  The caption links to a page with the whole file, written by this extension, at the line
where the region begins.  A long function is shown in pieces: `:start:` and `:end:` hold some of the
text of the first and of the last line to show.
"""

import html
import posixpath
from pathlib import Path

import pygments.lexers
import pygments.token
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.util.nodes import set_source_info

from tensorlab import learn

MOST_LINES = 45
WIDEST = 96  # columns, the width of a code block on the page
LANGUAGES = {".py": "python", ".pyx": "cython", ".pxd": "cython", ".h": "c"}


def yes_or_no(argument):
    return directives.choice(argument, ("yes", "no")) == "yes"


def problem_with(region, most):
    """Say why a region cannot be shown in at most `most` lines; None if it can."""
    count = region.count("\n") + 1
    if not region.strip():
        return f"{region.name} of {region.path} is empty"
    if count > most:
        return (
            f"{region.name} of {region.path} has {count} lines, more than {most}; "
            "show a smaller region"
        )
    for line in region.split("\n"):
        if len(line) > WIDEST:
            with_docstrings = learn.source(region.path, region.name)
            lines = [one.strip() for one in with_docstrings.split("\n")]  # indented otherwise
            number = with_docstrings.first + lines.index(line.strip())
            return (
                f"line {number} of {region.path} has {len(line)} columns in {region.name}, "
                f"more than {WIDEST}; wrap it in the source"
            )
    return None


class SourceDirective(Directive):
    required_arguments = 1
    has_content = False
    option_spec = {  # noqa: RUF012 - docutils wants a plain dict
        "name": directives.unchanged_required,
        "docstrings": yes_or_no,
        "start": directives.unchanged_required,
        "end": directives.unchanged_required,
        "most-lines": directives.positive_int,
    }

    def run(self):
        path = self.arguments[0]
        name = self.options.get("name")
        if not name:
            raise self.error(f"source: {path} needs `:name:`, a function, class or banner in it")
        try:
            region = learn.source(
                path,
                name,
                docstrings=self.options.get("docstrings", True),
                start=self.options.get("start"),
                end=self.options.get("end"),
            )
        except (FileNotFoundError, LookupError) as error:
            raise self.error(str(error)) from error
        problem = problem_with(region, self.options.get("most-lines", MOST_LINES))
        if problem:
            raise self.error(f"source: {problem}")
        environment = self.state.document.settings.env
        environment.note_dependency(str(learn.PACKAGE_FOLDER.parent / path))
        return [self.figure(region, path, name, address(environment, path, region.first))]

    def figure(self, region, path, name, target):
        """Return the code block under a caption that links to the whole file."""
        link = nodes.reference("", "", nodes.literal(text=path), refuri=target, internal=True)
        caption = nodes.caption("", "", link, nodes.Text(f" · {name}"))
        text = str(region)  # a plain string: the page is pickled
        block = nodes.literal_block(text, text)
        block["language"] = LANGUAGES[Path(path).suffix]
        classes = ["literal-block-wrapper", "source-region"]
        wrapper = nodes.container("", caption, block, literal_block=True, classes=classes)
        for node in (caption, block, wrapper):
            set_source_info(self, node)
        return wrapper


def page_name(path):
    return f"source/{path}"


def address(environment, path, line):
    """Return where the page being read finds a line of a file, and see to it that the file gets a page."""
    pages = environment.__dict__.setdefault("source_region_pages", {})
    pages.setdefault(environment.docname, set()).add(path)
    target = posixpath.relpath(page_name(path), posixpath.dirname(environment.docname))
    return f"{target}.html#line-{line}"


def pages_of_files(app):
    """Yield one page for each file that some chapter shows: the whole file, with line anchors."""
    shown = getattr(app.env, "source_region_pages", {})
    for path in sorted(set().union(*shown.values())):
        text = (learn.PACKAGE_FOLDER.parent / path).read_text(encoding="utf-8")
        highlighted = app.builder.highlighter.highlight_block(
            text, LANGUAGES[Path(path).suffix], linenos=False, force=True
        )
        before, _, code = highlighted.partition("<pre>")
        lines = code.split("\n")
        lines[0] = lines[0].removeprefix("<span></span>")
        anchored = "\n".join(
            f'<span id="line-{number}" class="source-line">{line}</span>'
            if number <= text.count("\n")
            else line
            for number, line in enumerate(lines, start=1)
        )
        body = f"<h1><code>{html.escape(path)}</code></h1>\n{before}<pre>{anchored}"
        yield page_name(path), {"title": path, "body": body}, "page.html"


def forget_pages(app, environment, docname):
    getattr(environment, "source_region_pages", {}).pop(docname, None)


def merge_pages(app, environment, docnames, other):
    pages = environment.__dict__.setdefault("source_region_pages", {})
    for docname, paths in getattr(other, "source_region_pages", {}).items():
        pages.setdefault(docname, set()).update(paths)


class CythonLexer(pygments.lexers.CythonLexer):
    """Pygments' own stops at the operator of matrix products."""

    tokens = {  # noqa: RUF012 - a lexer's tables are those of its class
        **pygments.lexers.CythonLexer.tokens,
        "name": [*pygments.lexers.CythonLexer.tokens["name"], (r"@", pygments.token.Operator)],
    }


def setup(app):
    app.add_directive("source", SourceDirective)
    app.add_lexer("cython", CythonLexer)
    app.connect("html-collect-pages", pages_of_files)
    app.connect("env-purge-doc", forget_pages)
    app.connect("env-merge-info", merge_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
