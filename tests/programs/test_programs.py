"""The programs of this folder take the same steps on both packages."""

import pytest

import tensorlab
from tests.oracle import require_torch
from tests.programs import PROGRAMS
from tests.programs.language import LETTERS

STEPS = 50
TOLERANCE = {"float32": 1e-4, "float64": 1e-10}


def losses(T, name, dtype, steps=STEPS):
    before = T.get_default_dtype()
    T.set_default_dtype(getattr(T, dtype))
    try:
        step = PROGRAMS[name](T)
        return [step() for _ in range(steps)]
    finally:
        T.set_default_dtype(before)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_losses_of_pytorch(name, dtype):
    ours, theirs = (losses(T, name, dtype) for T in (tensorlab, require_torch()))
    worst = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    assert worst <= TOLERANCE[dtype], f"{name} differs by {worst:.2g}"


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - {"dcgan"}))
def test_a_program_learns(name):
    found = losses(tensorlab, name, "float32", 150)
    assert sum(found[-10:]) < 0.95 * sum(found[:10])


def test_a_gpt_writes_the_same_text_on_both_with_and_without_its_cache():
    texts = []
    for T in (tensorlab, require_torch()):
        step = PROGRAMS["gpt"](T)
        for _ in range(60):
            step()
        for use_cache in (True, False):
            T.manual_seed(5)
            ids = step.model.generate(T.tensor([[LETTERS.index("t")]]), 24, use_cache=use_cache)
            texts.append("".join(LETTERS[i] for i in ids[0].tolist()))
    assert len(set(texts)) == 1
    assert len(set(texts[0])) > 4
