"""The tool that makes mutants: what it changes, what it leaves alone, and that it tells killed from survived."""

import contextlib
import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
try:
    import mutants
    from mutants_build import Builder
    from mutation import find_mutants, schemata
finally:
    sys.path.pop(0)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants run in forked processes")


def changes(code, file="module.py"):
    """{(operator, old, new)} of the mutants of a function with this body."""
    body = "\n".join("    " + line for line in code.split("\n"))
    head = "cdef int f(x, y, z):\n" if file.endswith(".pyx") else "def f(x, y, z):\n"
    return {(one.operator, one.old, one.new) for one in find_mutants(head + body, file)}


@pytest.mark.parametrize("file", ["module.py", "module.pyx"])
@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("return x < y", ("shift the bound", "x < y", "x <= y")),
        ("return x < y", ("turn the comparison", "x < y", "x >= y")),
        ("return x is not None", ("turn the comparison", "x is not None", "x is None")),
        ("return x[3]", ("shift the constant", "3", "3 + 1")),
        ("return x[3]", ("shift the constant", "3", "3 - 1")),
        ("g(z, True)", ("turn the flag", "True", "False")),
        ("return -x", ("drop the sign", "-x", "x")),
        ("return x + y", ("turn the operator", "x + y", "x - y")),
        ("return x - y * z", ("swap the operands", "x - y * z", "(y * z) - x")),
        ("return x + y", ("ignore an operand", "x + y", "y")),
        ("x += y", ("flip the sign", "y", "-(y)")),
        ("x += y", ("drop the statement", "x += y", "")),
        ("x[0] = y", ("drop the statement", "x[0] = y", "")),
        ("g(x)", ("drop the statement", "g(x)", "")),
        ("if x:\n    raise ValueError('x')", ("drop the statement", "raise ValueError('x')", "")),
        ("if x and y:\n    pass", ("turn and into or", "x and y", "(x) or (y)")),
        ("if x and y:\n    pass", ("ignore a condition", "x and y", "(y)")),
        ("if x:\n    pass\nelif y:\n    pass", ("negate the condition", "y", "not (y)")),
        ("while g(x):\n    pass", ("negate the condition", "g(x)", "not (g(x))")),
        ("return not x", ("negate the condition", "not x", "x")),
        ("return g(x, dim=y)", ("ignore an argument", "g(x, dim=y)", "g(x)")),
        ("return g(x, y)", ("swap the arguments", "g(x, y)", "g(y, x)")),
    ],
)
def test_an_operator_makes_its_mutant(code, change, file):
    assert change in changes(code, file)


def test_comments_stay_out_of_what_is_put_in():
    new = {new for _, _, new in changes("return g(x,  # the first\n      y[1])")}
    assert "g(x)" in new
    assert "g(y[1], x)" in new


@pytest.mark.parametrize(
    ("code", "change"),
    [
        (
            "cdef double a = <double>x - y, b = 2",
            ("swap the operands", "<double>x - y", "y - <double>x"),
        ),
        ("cdef double a = <double>x - y, b = 2", ("shift the constant", "2", "2 + 1")),
        ("return g(<int8_t>2)", ("shift the constant", "<int8_t>2", "<int8_t>(2 - 1)")),
        ("return g(&x, <real*>y)", ("swap the arguments", "g(&x, <real*>y)", "g(<real*>y, &x)")),
        ("for i in range(n - 1, -1, -1):\n    pass", ("swap the operands", "n - 1", "1 - n")),
    ],
)
def test_cython_is_understood(code, change):
    assert change in changes(code, "module.pyx")


@pytest.mark.parametrize(
    ("code", "file"),
    [
        ('"""A docstring with 1 < 2."""', "module.py"),
        ("# if x < 3: return", "module.py"),
        ("return x  # 1 + 2", "module.py"),
        ("from a import b", "module.py"),
        ("@g(3)\ndef h(x: 4):\n    pass", "module.py"),
        ("return f'{x + 1} of {y - 2}'", "module.py"),
        ("total = x", "module.py"),
        ("from a cimport b", "module.pyx"),
        ("cdef double[3] x", "module.pyx"),
        ("cdef enum:\n    A = 3", "module.pyx"),
        ("return real is float", "module.pyx"),
        ("return <double>x", "module.pyx"),
        ("for i in prange(3):\n    pass", "module.pyx"),
    ],
)
def test_what_is_no_formula_is_left_alone(code, file):
    assert changes(code, file) == set()


def test_formulas_of_ops_are_changed_as_c():
    source = (
        'cdef Op A = Op("a(Tensor x) -> Tensor", dtype="promote",  # a comment + 1\n'
        '               scalar={"floating": Guarded("(T)-x * 2", unless="x < 1e-3",\n'
        '                                           otherwise="x")}, grain=3 + 4)\n'
    )
    found = find_mutants(source, "a.pyx")
    assert {(one.line, one.old, one.new) for one in found} == {
        (2, "(T)-x * 2", "(T)-x + 2"),
        (2, "(T)-x * 2", "(T)-x * (2 + 1)"),
        (2, "x < 1e-3", "x <= 1e-3"),
        (2, "x < 1e-3", "x >= 1e-3"),
        (2, "x < 1e-3", "x < (1e-3 + 1)"),
    }
    text = schemata(source, dict(enumerate(found)), is_cython=True)
    assert "? ((T)-x + 2) : (" in text
    assert text.count("tl_mutant_on") == 5


def test_functions_of_formulas_are_changed_as_c():
    source = (
        "/* x + 1 */\nT half#(T x, T y) {\n    T table[2] = {1, 2}, z = g(x, y - 1);\n"
        "    if (x == 0) return -1;\n    return z / 2;\n}\n"
    )
    assert {(one.line, one.old, one.new) for one in find_mutants(source, "a.h")} == {
        (3, "g(x, y - 1)", "g(x, y + 1)"),
        (3, "g(x, y - 1)", "g(x, y - (1 + 1))"),
        (4, "-1", "-(1 + 1)"),
        (5, "z / 2", "z * 2"),
        (5, "z / 2", "z / (2 + 1)"),
    }


def test_what_an_error_says_is_left_alone():
    assert changes("if x:\n    raise ValueError(f'{x + 1}', 3 < 4)") == {
        ("the condition is always true", "x", "True"),
        ("the condition is never true", "x", "False"),
        ("negate the condition", "x", "not (x)"),
        ("drop the statement", "raise ValueError(f'{x + 1}', 3 < 4)", ""),
    }


def test_a_zero_that_only_says_that_nothing_was_raised_is_left_alone():
    body = "    if x:\n        return {}\n    return 0"
    heads = "cdef int f(x) except -1:\n", "cdef int f(x) noexcept:\n"
    returned = {
        (head, value): [one.old for one in find_mutants(head + body.format(value), "m.pyx")]
        for head in heads
        for value in (0, 2)
    }
    assert [found.count("0") for found in returned.values()] == [0, 1, 2, 1]


@pytest.mark.parametrize("file", ["module.py", "module.pyx"])
def test_what_is_done_when_a_small_allocation_fails_is_left_alone(file):
    code = "{0} = g(y)\nif {0} is None:\n    z[0] = 1\n    raise MemoryError()\nz[0] = 2"
    assert changes(code.format("x"), file) >= {("drop the statement", "z[0] = 2", "")}
    assert not [
        old
        for _, old, _ in changes(code.format("x"), file)
        if old not in ("z[0] = 2", "0", "2", "x = g(y)")
    ]


def test_a_mutant_that_changes_nothing_is_not_made():
    made = changes("return g(x, x) + (x - x) + math.hypot(x, y) + fma(x, y, z)")
    assert not [one for one in made if one[0] in ("swap the arguments", "swap the operands")]
    assert len(made) == len({(old, "".join(new.split())) for _, old, new in made})
    every = [one for path in (ROOT / "tensorlab" / "optim").glob("*.py")
             for one in find_mutants(path.read_text(encoding="utf-8"), path.name)]  # fmt: skip
    assert every
    assert all("".join(one.old.split()) != "".join(one.new.split()) for one in every)


# ---------------------------------------------------------------- switches
TOY = '''
def clip(x, low=0, high=9):
    """The number, brought between the bounds."""
    if x < low or x > high:
        x = max(low,  # not below
                min(x, high))
    x += 0
    return -(-x)
'''


def test_each_switch_makes_one_mutant_of_the_file(monkeypatch):
    found = dict(enumerate(find_mutants(TOY, "toy.py")))
    text = schemata(TOY, found, is_cython=False)
    assert text.count("\n") == TOY.count("\n")

    class Switches:
        on = staticmethod(lambda number: number == Switches.number)

    monkeypatch.setitem(sys.modules, "tl_mutants", Switches)
    different = 0
    for Switches.number in (-1, *found):
        alone, switched = {}, {}
        mutant = found.get(Switches.number)
        old = (
            TOY
            if mutant is None
            else TOY[: mutant.start]
            + (f"({mutant.new})" if mutant.new else "pass")
            + TOY[mutant.end :]
        )
        exec(old, alone)
        exec(text, switched)
        for x in (-1, 0, 4, 9, 12):
            results = []
            for function in (alone["clip"], switched["clip"]):
                try:
                    results.append(function(x))
                except Exception as error:
                    results.append(type(error))
            assert results[0] == results[1], mutant
            different += mutant is not None and results[0] != min(9, max(0, x))
    assert different > 20


# ---------------------------------------------------------------- a whole run with a tiny family
TESTS = """
import os, time
from tensorlab import toy

def test_sums():
    assert toy.add(2, 2) == 4

def test_waits():
    toy.wait(0)

def test_leaves():
    toy.leave(False)

def test_what_was_made_at_import():
    assert toy.MADE == 7
"""
SOURCE = """
import os, time

def add(x, y):
    return x + y

def wait(x):
    while x > 0:
        pass

def leave(now):
    if now:
        os._exit(0)

def never(x):
    return x + 1

def make():
    return 3 + 4

MADE = make()
"""


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "tensorlab").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tensorlab" / "__init__.py").touch()
    (tmp_path / "tensorlab" / "_build_info.py").write_text(
        f"flags = '-O3 -w'\ndirectives = { {'language_level': 3} }\n"
    )
    (tmp_path / "tests" / "test_toy.py").write_text(TESTS)
    (tmp_path / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    return tmp_path


@contextlib.contextmanager
def prepared(folder, file, source, only=None):
    """(run, server, mutants that did not compile), where the tests have run once with no mutant switched on."""
    (folder / file).write_text(source)
    found = find_mutants(source, file)
    some = dict(enumerate(one for one in found if only is None or one.new in only))
    refused = Builder(folder, 1).build({file: some}, {})
    server = mutants.Pytest(folder, ["tests"])
    try:
        coverage = mutants.Coverage([server])
        assert coverage.failing == []
        run = mutants.Run(folder, ["tests"], some, coverage, 60)
        run.patience = 1
        run.control(server, 0)
        yield run, server, refused
    finally:
        server.close()


def outcomes(folder, file, source, only=None):
    """{(line of code, new text): why it was killed, or None} of a run over the mutants of one file."""
    with prepared(folder, file, source, only) as (run, server, refused):
        for number in run.mutants:
            run.judge(server, number)
        some = run.mutants.items()
        return {(one.source, one.new): run.results[number][1] for number, one in some}, refused


@pytest.mark.nightly
def test_killed_and_survived_are_told_apart(toy):
    results, refused = outcomes(toy, "tensorlab/toy.py", SOURCE)
    assert refused == []
    assert results["return x + y", "x - y"] == "failed"
    assert results["while x > 0:", "x >= 0"] == "hangs"
    assert results["if now:", "True"] == "ends the process"
    assert results["if now:", "False"] is None
    assert results["return x + 1", "x - 1"] is None
    assert results["return 3 + 4", "3 - 4"] == "failed"


def test_a_test_that_fails_only_once_kills_nothing(toy):
    (toy / "tests" / "test_toy.py").write_text(
        "import os\nfrom tensorlab import toy\n\n"
        "def test_toy():\n    toy.add(2, 2)\n"
        "    if os.path.exists('busy'):\n        os.remove('busy')\n        assert False\n"
    )
    source = "def add(x, y):\n    return x + y\n"
    with prepared(toy, "tensorlab/toy.py", source, ("x - y",)) as (run, server, _):
        (toy / "busy").touch()
        run.judge(server, 0)
    assert not (toy / "busy").exists()
    assert run.results[0][:2] == (None, None)


@pytest.mark.nightly
def test_what_took_too_long_is_tried_again_with_more_patience(toy):
    (toy / "tests" / "test_toy.py").write_text(
        "import time\nfrom tensorlab import toy\n\ndef test_toy():\n    time.sleep(toy.pause())\n"
    )
    source = "def pause():\n    return 0 * 4\n"
    with prepared(toy, "tensorlab/toy.py", source, ("0 + 4", "4")) as (run, server, _):
        assert [one.new for one in run.mutants.values()] == ["0 + 4", "4"]
        run.patience = 2
        run.judge(server, 0)
        run.results[1] = "tests/test_toy.py::test_toy", "failed", 1, 0.1
        assert run.results[0][:2] == ("tests/test_toy.py::test_toy", "hangs")
        run.judge_again(server)
    assert run.results[0][:2] == (None, None)
    assert run.results[1][1] == "failed"


@pytest.mark.nightly
def test_a_mutant_of_cython_that_does_not_compile_is_left_out(toy):
    source = (
        "cdef int ask(int* p, int n):\n    return p[n] * 2\n\n"
        "def add(int x, int y):\n    return x + ask(&y, 0) // 2\n"
    )
    (toy / "tests" / "test_toy.py").write_text(TESTS.partition("def test_waits")[0])
    results, refused = outcomes(toy, "tensorlab/toy.pyx", source, ("ask(0, &y)", "p[n]"))
    assert [one.new for one in refused] == ["ask(0, &y)"]
    assert results == {("return p[n] * 2", "p[n]"): "failed"}


def test_a_switched_condition_of_objects_and_c_truths_compiles_to_what_it_was(toy):
    source = (
        "def add(x, y, *rest):\n    if x == 2 and not rest and len(rest) == 0:\n"
        "        return x + y\n    return 0\n"
    )
    (toy / "tests" / "test_toy.py").write_text(TESTS.partition("def test_waits")[0])
    whole = "x == 2 and not rest and len(rest) == 0"
    results, refused = outcomes(
        toy, "tensorlab/toy.pyx", source, (f"not ({whole})", "True", "False")
    )
    assert refused == []
    line = f"if {whole}:"
    assert results == {
        (line, f"not ({whole})"): "failed",
        (line, "True"): None,
        (line, "False"): "failed",
    }


def test_mutants_of_a_header_are_built_into_the_modules_that_call_its_functions(toy):
    header = (
        "cdef inline int twice(int x) noexcept:\n    return x * 2\n\n"
        "cdef inline int half(int* x) noexcept:\n    return twice(x[0]) // 4\n\n"
        "cdef inline int never(int x) noexcept:\n    return x + 1\n"
    )
    module = (
        "from tensorlab.sums cimport half\n\n"
        "def add(int x, int y):\n    cdef int z = 2 * (x + y)\n    return half(&z)\n"
    )
    (toy / "tensorlab" / "__init__.pxd").touch()
    (toy / "tensorlab" / "toy.pyx").write_text(module)
    (toy / "tensorlab" / "other.pyx").write_text("this need not be built")
    (toy / "tests" / "test_toy.py").write_text(TESTS.partition("def test_waits")[0])
    wanted = ("x - 2", "x + 2", "0 + 1", "twice(x[0]) * 4", "x - 1")
    results, refused = outcomes(toy, "tensorlab/sums.pxd", header, wanted)
    assert refused == []
    assert results == {
        ("return x * 2", "x + 2"): "failed",
        ("return twice(x[0]) // 4", "twice(x[0]) * 4"): "failed",
        ("return twice(x[0]) // 4", "0 + 1"): "failed",
        ("return x + 1", "x - 1"): None,
    }


# ---------------------------------------------------------------- choosing
def test_the_same_seed_chooses_the_same_mutants_and_harmless_ones_are_not_made():
    first, _ = mutants.choose(["optim", "pooling"], 30, 5, {})
    again, _ = mutants.choose(["optim", "pooling"], 30, 5, {})
    other, _ = mutants.choose(["optim", "pooling"], 30, 6, {})
    assert first == again != other
    assert sum(map(len, first.values())) == 30
    some, _ = mutants.choose(["nn"], 60, 73001, {})  # among its files is one with eight mutants
    assert sum(map(len, some.values())) == 60
    harmless = {(one.file, one.source): {one.diff()} for some in first.values() for one in some}
    without, _ = mutants.choose(["optim", "pooling"], 30, 5, harmless)
    assert not any(mutants.is_harmless(one, harmless) for some in without.values() for one in some)


@pytest.mark.parametrize("family", mutants.FAMILIES)
def test_the_files_and_tests_of_a_family_exist(family):
    patterns, tests = mutants.FAMILIES[family]
    for pattern in patterns.split():
        assert list((ROOT / "tensorlab").glob(pattern)), pattern
    for test in tests:
        assert (ROOT / test).exists()


def test_every_source_file_of_the_core_is_in_one_family():
    files = [file for family in mutants.FAMILIES for file in mutants.files_of(family)]
    assert len(files) == len(set(files))
    inside = [
        path.relative_to(ROOT).as_posix()
        for folder in ("_core", "autograd", "ops", "nn", "optim", "utils/data")
        for path in (ROOT / "tensorlab" / folder).rglob("*")
        if path.suffix in (".py", ".pyx", ".pxd") and path.name != "__init__.py"
    ]
    outside = [
        file
        for file in sorted(set(inside) - set(files))
        if find_mutants((ROOT / file).read_text(encoding="utf-8"), file)
    ]
    assert outside == []


def test_harmless_mutants_can_still_be_made():
    """Where a line has changed, the reason must be thought over."""
    for (file, line), wanted in mutants.read_harmless().items():
        made = [
            one.diff()
            for one in find_mutants((ROOT / file).read_text(encoding="utf-8"), file)
            if one.source == line
        ]
        assert made, f"{file} has no mutants of the line {line!r}"
        assert wanted is None or wanted <= set(made), (
            f"{file}: {line!r} has no mutants {wanted - set(made)}"
        )
