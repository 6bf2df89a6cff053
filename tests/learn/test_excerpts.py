"""Regions of source are found by name, as the chapters and their notebooks ask for them."""

import pytest

from tensorlab.learn import find_region, regions, source

CYTHON = '''\
"""A module."""

cdef enum:
    SIZE = 3

cdef struct Pair:    # two numbers
    double first

ctypedef int (*callback)(void* x) noexcept nogil

# -------------------------------------------------- tanh

cdef inline real tanh_scalar(real x) noexcept nogil:
    return x

cdef Op TANH = Op(
    "tanh(x)",
)

@TANH.derivative("x")
def tanh_derivative(grad, out):
    return grad


def tanh(TensorBase x not None):
    """Hyperbolic tangent.

def not_a_function():
    """
    return run_unary(TANH, x)

# ---------------------------------------------------- exp

@cython.final
cdef class Node:
    """A node."""
    cdef int count

    # Why it is here.
    cdef int run(self, int x,
                 int y) except -1:
        """Run it."""
        return x

    def release(self): return None

cdef int last(self):
    return 1
'''


def region(name):
    return find_region(CYTHON, name, "made/up.pyx")


def test_a_function_is_found_with_its_decorator_and_ends_before_the_next():
    assert region("tanh_derivative").startswith('@TANH.derivative("x")\ndef tanh_derivative')
    assert region("tanh_derivative").endswith("return grad")


def test_a_banner_wins_over_the_function_of_the_same_name():
    assert region("tanh").startswith("# ---")
    assert region("tanh").endswith("return run_unary(TANH, x)")
    assert region("tanh()").startswith("def tanh(")


def test_text_in_a_docstring_ends_no_function_and_defines_none():
    assert region("tanh()").endswith("return run_unary(TANH, x)")
    assert "not_a_function" not in regions(CYTHON, "made/up.pyx")


def test_a_method_is_dedented_and_brings_the_comment_above_it():
    text = region("Node.run")
    assert text.split("\n")[0] == "# Why it is here."
    assert text.split("\n")[1].startswith("cdef int run(self, int x,")
    assert text.endswith("return x")
    assert region("Node.release") == "def release(self): return None"


def test_a_method_is_not_found_outside_of_its_class():
    with pytest.raises(LookupError):
        region("Node.last")
    with pytest.raises(LookupError):
        region("release")


def test_classes_structs_pointers_and_constants_have_names():
    assert region("Node").startswith("@cython.final\ncdef class Node:")
    assert region("Pair").endswith("double first")
    assert region("callback").startswith("ctypedef int (*callback)")
    assert region("TANH") == 'cdef Op TANH = Op(\n    "tanh(x)",\n)'


def test_a_region_knows_its_lines():
    text = region("Node.run")
    assert CYTHON.split("\n")[text.first - 1].strip() == "# Why it is here."
    assert CYTHON.split("\n")[text.last - 1].strip() == "return x"


def test_docstrings_can_be_left_out():
    text = region("Node").without_docstrings()
    assert "A node." not in text
    assert "Run it." not in text
    assert "cdef int count" in text
    assert "not_a_function" not in region("tanh()").without_docstrings()


def test_a_c_function_is_found_in_a_header():
    header = (
        "static inline float f(float x)\n{\n    return x;\n}\n\nint g(int y) {\n    return y;\n}\n"
    )
    assert find_region(header, "f", "m.h") == "static inline float f(float x)\n{\n    return x;\n}"
    assert regions(header, "m.h") == ["f", "g"]


def test_a_missing_region_is_an_error_that_names_the_others():
    with pytest.raises(LookupError, match=r"made/up\.pyx has no region 'sinh'; it has .*tanh"):
        region("sinh")


def test_source_reads_the_installed_package():
    text = source("tensorlab/learn/excerpts.py", "source", docstrings=False)
    assert text.startswith("def source(path, name")
    assert '"""' not in text
    assert text.path == "tensorlab/learn/excerpts.py"


@pytest.mark.parametrize("path", ["setup.py", "tensorlab/absent.pyx", "tensorlab/../setup.py"])
def test_source_shows_files_of_the_package_only(path):
    with pytest.raises(FileNotFoundError, match="source: there is no file"):
        source(path, "x")


def test_a_region_shows_itself_as_code_with_its_place():
    text = region("Node.release")
    assert repr(text).startswith("# made/up.pyx, lines ")
    assert "```cython\ndef release" in text._repr_markdown_()


def test_a_part_of_a_region_is_found_by_pieces_of_its_lines():
    part = region("Node").between("int run", "return x")
    assert str(part).startswith("cdef int run(self, int x,\n")
    assert str(part).endswith("    return x")
    assert CYTHON.split("\n")[part.first - 1].strip() == str(part).split("\n")[0]
    assert region("Node").between(end="int count").split("\n")[-1] == "    cdef int count"


def test_a_part_that_is_not_there_names_the_line():
    with pytest.raises(LookupError, match=r"has no line with 'int runs'"):
        region("Node").between("int runs")
    with pytest.raises(LookupError, match=r"has no line with 'int count' after its line \d"):
        region("Node").between("int run", "int count")
