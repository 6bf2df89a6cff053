"""Random programs give compiled what they give as they are; tools/random_programs.py makes many more."""

import random
import warnings

import pytest

import tensorlab
from tools import random_programs

PARTS = ["chunk", "sort", "dropout", "int(", "cat(", "mean(", "softmax", "layer_norm", "cumsum"]
WRITES = ["a.add_", "b.mul_", "a[1] =", "a.t()[0].zero_", "b.copy_"]


pytestmark = pytest.mark.usefixtures("fresh")


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_random_programs_are_the_same_compiled(first):
    counts = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, first + 20):
            source, difference, calls = random_programs.check(number, code_every=20)
            assert difference is None, source
            for kind, count in calls.items():
                counts[kind] = counts.get(kind, 0) + count
    assert counts["replayed"] > counts["as Python"]


def test_a_difference_is_found(monkeypatch):
    """A compiler that forgets to write to the arguments is one that differs."""
    compile = tensorlab.compile

    def forgetful(function, options):
        def call(a, b, k):
            return function(a.clone(), b.clone(), k)

        call.compiled = compile(function).compiled
        return call

    monkeypatch.setattr(tensorlab, "compile", forgetful)
    outcomes = [random_programs.check(number) for number in range(60)]
    differ = [source for source, difference, _ in outcomes if difference]
    assert 2 <= len(differ) <= 30
    assert all(any(word in one for word in WRITES) for one in differ)


def test_programs_are_the_same_each_time_and_use_all_statements():
    sources = [random_programs.write_program(random.Random(i), is_exact=False) for i in range(300)]
    assert sources == [
        random_programs.write_program(random.Random(i), is_exact=False) for i in range(300)
    ]
    for word in PARTS:
        assert any(word in one for one in sources), word
