"""The type stubs say what the built package has."""

import ast
import sys
from pathlib import Path

import tensorlab

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))

from make_stubs import STUB, definition, public_names, stub_text  # noqa: E402


def test_the_stubs_are_those_of_the_built_package():
    assert STUB.read_text(encoding="utf-8") == stub_text(tensorlab), "run `make stubs`"


def test_the_stubs_name_everything_that_is_public():
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    named = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            named.add(node.name)
        elif isinstance(node, ast.ImportFrom):
            named.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.AnnAssign):
            named.add(node.target.id)
    assert set(public_names(tensorlab)) <= named


def test_a_signature_that_cython_wrote_becomes_one_that_a_user_reads():
    class Compiled:
        __doc__ = "f(TensorBase x, double y=0.5)\nText."

    class Annotated:
        __doc__ = (
            "f(x: TensorBase, y: double = 0.5, *, out=None)\nText.\n\nReturns\n-------\nTensor"
        )

    assert definition(Compiled, "f", {"Tensor"}, is_method=False) == (
        "def f(*args: Any, **kwargs: Any) -> Any: ..."
    )
    assert definition(Annotated, "f", {"Tensor"}, is_method=False) == (
        "def f(x: Tensor, y: builtins.float=0.5, *, out=None) -> Tensor: ..."
    )
