"""Ops from outside in Cython."""

import pytest

import tensorlab as torch
from tensorlab.autograd import gradcheck, gradgradcheck
from tensorlab.compiler import disk_cache
from tensorlab.compiler.toolchain import NoCompiler
from tensorlab.library import opcheck
from tensorlab.utils import cython_extension
from tensorlab.utils.cython_extension import BuildFailed, load, load_inline

SOURCE = '''
"""An op that tensorlab lacks."""
from tensorlab._core.dispatch.dispatch cimport run_unary
from tensorlab._core.dispatch.op cimport NamedLoops, Op, set_loops
from tensorlab._core.tensor cimport TensorBase

cdef extern from "cubes_loops.h":
    const NamedLoops* tl_loops

cdef Op CUBE = Op("outside::cube(Tensor x) -> Tensor", dtype="floating", scalar="x * x * x")

@CUBE.derivative("x")
def cube_derivative(grad, x):
    return grad * (3 * x * x)

def cube(TensorBase input not None, *, out=None):
    return run_unary(CUBE, input, out)

set_loops(tl_loops)
'''


@pytest.fixture(scope="module")
def cubes():
    return load_inline("cubes", SOURCE)


def test_its_op_is_an_op_like_any_other(cubes):
    x = torch.rand(3, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(cubes.cube(x), x**3)
    assert gradcheck(cubes.cube, (x,))
    assert gradgradcheck(cubes.cube, (x,))
    assert set(opcheck(torch.ops.outside.cube.default, (x,)).values()) == {"SUCCESS"}
    assert cubes.cube(torch.empty(2, device="meta")).shape == (2,)


@pytest.mark.filterwarnings("error")
def test_it_is_fused_with_others(cubes):
    f = torch.compile(lambda x: cubes.cube(x) + 1, fullgraph=True)
    x = torch.rand(5)
    torch.testing.assert_close(f(x), x**3 + 1)


def test_it_is_built_once(cubes, monkeypatch):
    def refuse(*args):
        raise AssertionError("it is built again")

    monkeypatch.setattr(cython_extension, "build", refuse)
    assert load_inline("cubes", SOURCE) is cubes
    cython_extension.loaded.clear()
    key_found = disk_cache.get
    seen = []
    monkeypatch.setattr(disk_cache, "get", lambda key: seen.append(key_found(key)) or seen[-1])
    with pytest.raises(ValueError, match="outside::cube is declared twice"):
        load_inline("cubes", SOURCE)  # from the disk; but its op is there
    assert seen[0]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("cdef int x = 'a'\nfoo(", r"Cython refused the source:(.|\n)*2:4"),
        (
            'cdef extern from "nowhere.h":\n    int x\ny = x\n',
            "the C compiler refused(.|\n)*nowhere.h",
        ),
    ],
)
def test_what_does_not_compile_is_said_and_not_kept(source, message):
    with pytest.raises(BuildFailed, match=message):
        load_inline("broken", source)


def test_bad_names_files_and_compilers(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="'a b' can't be the name of a module"):
        load_inline("a b", "")
    with pytest.raises(ValueError, match="one .pyx file is needed"):
        load("cubes", ["a.pyx", "b.pyx"])
    monkeypatch.setenv("TENSORLAB_CC", "/nowhere/cc")
    path = tmp_path / "small.pyx"
    path.write_text("def one():\n    return 1\n")
    with pytest.raises(NoCompiler, match="no such program"):
        load("small", path)
    monkeypatch.delenv("TENSORLAB_CC")
    assert load("small", path).one() == 1


def test_extensions_in_cpp_say_what_to_use_instead():
    from tensorlab.utils.cpp_extension import CppExtension, load_inline

    with pytest.raises(NotImplementedError, match="load_inline: .*cython_extension.load_inline"):
        load_inline("clips", cpp_sources="int f() { return 3; }")
    with pytest.raises(NotImplementedError, match="CppExtension: .*cython_extension.load, which"):
        CppExtension("clips", ["clips.cpp"])
    with pytest.raises(AttributeError, match="has no 'include_paths': extensions are written in"):
        torch.utils.cpp_extension.include_paths()
