"""The compiled loops of chapter 9: results, what is said of their C, and the build's flags."""

import importlib.util
import inspect
import sys
from pathlib import Path

import pytest

import tensorlab as T

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build_flags  # noqa: E402

FOLDER = ROOT / "chapters/09-python-to-cython"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_build", FOLDER / "tiny_build.py")
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)

needs_compiler = pytest.mark.skipif(bool(tiny.missing()), reason=str(tiny.missing()))
TEXTS = {
    name: (FOLDER / f"{name}.pyx").read_text(encoding="utf-8")
    for name in ("five_adds", "six_loops")
}
VERSIONS = ("add_untyped", "add_typed", "add_contiguous", "add_strided", "add_unchecked")


@pytest.fixture(scope="module")
def adds():
    return tiny.build("five_adds", TEXTS["five_adds"])


@pytest.fixture(scope="module")
def loops():
    return tiny.build("six_loops", TEXTS["six_loops"])


# ---------------------------------------------------------------- what the loops compute
@needs_compiler
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1001])
@pytest.mark.parametrize("name", VERSIONS)
def test_the_versions_give_the_same_bits(adds, name, n):
    x, y, out = T.randn(n) * 1e3, T.randn(n), T.empty(n)
    getattr(adds, name)(out.numpy(), x.numpy(), y.numpy())
    assert T.equal(out, x + y)


@needs_compiler
def test_the_typed_version_checks_its_indices_and_takes_strides(adds):
    x, out = T.arange(10.0), T.zeros(5)
    adds.add_typed(out.numpy(), x.numpy()[::2], x.numpy()[::2])
    assert out.tolist() == [0, 4, 8, 12, 16]
    with pytest.raises(IndexError):
        adds.add_typed(out.numpy(), x.numpy()[:3], x.numpy())
    with pytest.raises(ValueError, match="contiguous"):
        adds.add_unchecked(out.numpy(), x.numpy()[::2], x.numpy()[::2])


@needs_compiler
@pytest.mark.parametrize("way", ["call", "call_locked"])
def test_the_six_loops_do_what_their_names_say(loops, way):
    x, y = T.tensor([1.0, -2.0, 3.0, float("nan"), 5.0]), T.tensor([10.0, 20.0, 2.0, 40.0, 50.0])
    found = {}
    for name in loops.NAMES:
        out = T.zeros(5)
        getattr(loops, way)(name, out.data_ptr(), x.data_ptr(), y.data_ptr(), 5)
        found[name] = out.nan_to_num(-1.0).tolist()
    assert found == {
        "plain": [11, 18, 5, -1, 55],
        "choice": [11, 0, 5, 0, 55],
        "halved": [6, 8, 4, -1, 30],
        "stops": [11, 18, 5, 0, 0],
        "total": [-1, 0, 0, 0, 0],
        "chain": [1, 18, 39, -1, -1],
    }


# ---------------------------------------------------------------- building
def test_the_flags_are_those_of_setup():
    assert list(tiny.FLAGS[1:]) == [f for f in build_flags.FLAGS if f in tiny.FLAGS]
    assert {"-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"} <= set(tiny.FLAGS)
    capabilities = {"baseline": []} | build_flags.CAPABILITIES
    assert {name: list(flags) for name, flags in tiny.CAPABILITIES.items()} == capabilities


@needs_compiler
def test_a_text_is_compiled_once_and_an_error_names_its_line():
    text = "def twice(double x):\n    return 2 * x\n"
    assert tiny.build("twice", text) is tiny.build("twice", text)
    assert tiny.build("twice", text).twice(4) == 8
    with pytest.raises(tiny.BuildError, match="line 2: "):
        tiny.build("twice", "def twice(double x):\n    cdef int y = 'abc'\n    return y\n")


def test_without_a_compiler_a_sentence_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(tiny.shutil, "which", lambda name: None)
    answer = inspect.unwrap(tiny.missing)()
    assert "C compiler" in answer
    monkeypatch.setattr(tiny, "missing", lambda: answer)
    with pytest.raises(tiny.BuildError, match="C compiler"):
        tiny.build("never", "def never(): pass\n")


@needs_compiler
@pytest.mark.parametrize("name", TEXTS)
def test_only_the_untyped_loop_asks_python_about_objects(name):
    scores = [row for row in tiny.yellow(name, TEXTS[name]) if "= x[i] + " in row[2]]
    assert [score > 0 for _, score, _ in scores] == {
        "five_adds": [True, True, False, True, False],  # checks may raise, so they are yellow too
        "six_loops": [False] * len(scores),
    }[name]
    numbers = {row[0] for row in scores}
    calls = ["GetItemInt" in "".join(tiny.c_of(name, TEXTS[name], n)) for n in sorted(numbers)]
    assert calls == [name == "five_adds" and n == min(numbers) for n in sorted(numbers)]


@needs_compiler
def test_the_widest_addition_of_each_loop_is_found_with_and_without_optimisation():
    file = tiny.translate("six_loops", TEXTS["six_loops"])
    single = tiny.widest(file, "plain", "-O1")
    assert single is None or single[0] == 1
    wide = tiny.widest(file, "plain", *tiny.FLAGS)
    assert wide is None or wide[0] > 1
    chain = tiny.widest(file, "chain", *tiny.FLAGS)
    assert chain is None or chain[0] == 1


def test_additions_are_read_in_the_dialects_of_x86_and_arm():
    lines = ["vaddps (%rax), %ymm5, %ymm0", "addpd %xmm1, %xmm0", "vaddss %xmm1, %xmm0, %xmm0"]
    lines += ["fadd v0.4s, v1.4s, v2.4s", "fadd.2d v0, v1, v2", "fadd s0, s1, s2", "add x0, x1, x2"]
    assert [lanes for lanes, _ in tiny.adds(lines)] == [8, 2, 1, 4, 2, 1]
