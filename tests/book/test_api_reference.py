"""Every public name has its place in the API reference."""

import importlib
import sys
from pathlib import Path

import tensorlab
from tensorlab._missing import is_missing
from tensorlab.learn.notebook import FENCE, split_options

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "docs/_ext")]

from api_reference import (  # noqa: E402
    as_users_see_it,
    escaped_pieces,
    method_groups,
    public_names,
    read_as_text,
)


def documented():
    """Return every object that some page documents."""
    found = []
    for page in sorted((ROOT / "docs/api").glob("*.md")):
        for match in FENCE.finditer(page.read_text(encoding="utf-8")):
            if match["directive"] == "api":
                module = importlib.import_module(match["argument"].strip())
                options, _ = split_options(match["body"])
                names = public_names(module, options.get("from", "").split())
                found += [getattr(module, name) for name in names]
    return found


def test_every_public_function_and_class_is_on_a_page():
    known = {id(value) for value in documented()} | {id(tensorlab.Tensor)}
    missing = [n for n in public_names(tensorlab) if id(getattr(tensorlab, n)) not in known]
    assert missing == [], "give their modules a page under docs/api"


def test_every_method_of_a_tensor_is_on_one_page():
    asked = [
        match["argument"].strip()
        for page in (ROOT / "docs/api").glob("tensor*.md")
        for match in FENCE.finditer(page.read_text(encoding="utf-8"))
        if match["directive"] == "methods"
    ]
    groups = method_groups()
    assert sorted(asked) == sorted(groups)
    listed = [name for names in groups.values() for name in names]
    methods = [
        name
        for name in dir(tensorlab.Tensor)
        if not name.startswith("_") and not is_missing(tensorlab.Tensor, name)
    ]
    assert sorted(listed) == sorted(methods)


def test_a_module_without_all_has_what_it_defines():
    module = importlib.import_module("tensorlab._subclasses.fake_tensor")
    assert hasattr(module, "Tensor")
    assert "FakeTensor" in public_names(module)
    assert "Tensor" not in public_names(module)


def test_every_public_function_and_class_has_a_docstring():
    bare = [value.__qualname__ for value in documented() if not (value.__doc__ or "").strip()]
    assert bare == []


def test_backticks_become_code_and_other_signs_stay_text():
    line = "`x * y` of *args, add_ and `relu_`; ``kept_``."
    assert "".join(escaped_pieces(line)) == (
        r"``x * y`` of \*args, add\_ and ``relu_``; ``kept_``."
    )


def test_examples_stay_as_they_are_under_their_heading():
    lines = ["Sum of * all.", "", ">>> f_ * 2", "4 *", "", "After *."]
    read_as_text(None, "function", "f", None, None, lines)
    assert lines == [
        r"Sum of \* all.", "", "Examples", "--------", ">>> f_ * 2", "4 *", "", r"After \*."
    ]  # fmt: skip


def test_a_method_shows_neither_self_nor_the_internal_class():
    shown = as_users_see_it(None, "method", "", None, None, "(input: TensorBase, other)", None)
    assert shown == ("(other)", None)
    shown = as_users_see_it(None, "function", "", None, None, "(x: TensorBase)", "TensorBase")
    assert shown == ("(x: Tensor)", "Tensor")
    assert as_users_see_it(None, "method", "", None, None, "(self)", None) == ("()", None)
    python_method = lambda self, x: x
    shown = as_users_see_it(None, "method", "", python_method, None, "(x)", None)
    assert shown == ("(x)", None)
