"""The pages that are made of the registry of ops have every op, every formula, and what the samples run."""

import html
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "docs/_ext")]

from op_facts import facts, families, is_of_program, title_of  # noqa: E402
from op_pages import op_of, some_of  # noqa: E402
from sphinx.application import Sphinx  # noqa: E402
from tensorlab._core.dispatch.op import REGISTRY  # noqa: E402

PAGE = """
Ops
===

.. derivatives::

.. op-tests::

.. autofunction:: tensorlab.arccos

.. autofunction:: tensorlab.allclose
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The HTML of a page with both directives and two entries of the reference."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "index.rst").write_text(PAGE)
    extensions = ["sphinx.ext.autodoc", "source_region", "op_pages"]
    site = Sphinx(
        folder, None, folder / "built", folder / "trees", "html", {"extensions": extensions}, None
    )
    site.build()
    assert (folder / "built/source/tensorlab/ops/sorting.pyx.html").exists()
    return (folder / "built/index.html").read_text(encoding="utf-8")


def plain(text):
    """The text of a piece of HTML, blanks left out."""
    return re.sub(r"\s", "", html.unescape(re.sub(r"<[^>]*>", "", text)))


def test_every_op_and_every_formula_is_on_the_page(page):
    text = plain(page)
    functional = [op for op in REGISTRY.values() if op.functional is None]
    functional = [op for op in functional if not is_of_program(op)]
    assert len(functional) > 300
    for op in functional:
        assert f'id="op-{op.name}"' in page, op.name
        assert f'href="#op-{op.name}"' in page, op.name
        assert plain(op.schema) in text, op.name
        for parameter, formula in op.derivatives.items():
            declared = re.compile(
                rf'\.derivative\((?:"\w+",)*"{parameter}"'
            )  # alone, or in a joint formula
            assert declared.search(text), (op.name, parameter)
            assert f"def{formula.__name__}(" in text, (op.name, parameter)


def test_a_formula_is_the_text_of_its_function():
    (formula,) = facts()["tanh"].formulas
    assert formula.parameters == ("x",)
    assert formula.text.startswith('@TANH.derivative("x")\ndef tanh_derivative(grad, out):')
    assert len(facts()["mul"].formulas) == 2


def test_an_op_knows_its_place_and_what_it_does():
    assert facts()["tanh"].path == "tensorlab/ops/pointwise/elementary.pyx"
    line = (ROOT / facts()["tanh"].path).read_text().split("\n")[facts()["tanh"].line - 1]
    assert '"tanh(Tensor x) -> Tensor"' in line
    assert "shares memory" in facts()["transpose"].kind
    assert "bool" in facts()["lt"].kind
    assert facts()["matmul"].kind == ""
    assert title_of("tensorlab/ops/sorting.pyx") == "Sorting along a dimension, by radix"


def test_ops_stand_in_the_order_of_their_files():
    paths = list(families())
    assert paths.index("tensorlab/ops/convolution.pyx") < paths.index(
        "tensorlab/ops/pooling/maximum.pyx"
    )
    for path, ops in families().items():
        assert [one.line for one in ops] == sorted(one.line for one in ops), path


def test_the_reference_links_a_name_to_its_op_and_an_op_in_place_to_its_derivatives(page):
    entry = page.partition('id="tensorlab.arccos"')[2].partition('id="tensorlab.allclose"')[0]
    assert 'href="#op-acos"' in entry
    assert plain("Op: acos(Tensor x) -> Tensor · derivative by x · source") in plain(entry)
    one, schema = op_of("lgamma_")
    assert (one.name, schema) == ("lgamma", "lgamma_(Tensor(a!) x) -> Tensor(a!)")
    assert op_of("fill_")[1].startswith("fill_(Tensor(a!) x,")
    assert op_of("allclose") is None
    assert "op-facts" not in page.partition('id="tensorlab.allclose"')[2]


def test_the_table_says_which_samples_run_an_op(page):
    body = page.partition("<tbody>")[2]
    rows = {plain(row).partition("equal")[0]: plain(row) for row in body.split("</tr>")}
    (tanh,) = [row for name, row in rows.items() if re.fullmatch(r"tanh\d+", name)]
    assert re.fullmatch(r"tanh\d+equalxtanh,.*more", tanh)
    assert some_of(["a", "b"]) == "a, b"
    assert some_of(list("abcde")) == "a, b, c and 2 more"
