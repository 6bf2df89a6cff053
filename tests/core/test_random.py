"""The generator and the raw fills: PyTorch's streams, state and errors."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorlab._core.random import DrawingAside, Generator, default_generator

import tensorlab
from tensorlab.errors import GeneratorError
from tests.oracle import require_torch

# Around the blocks of 16 normals, the 256 and 512 words drawn at a time, the 624 words of a round.
SIZES = [0, 1, 2, 15, 16, 17, 31, 32, 255, 257, 512, 513, 624, 1023, 5000]
SEEDS = [0, 1, 2**40 + 7]
FLOATS = ["float32", "float64"]
# The largest number up to which a dtype holds every integer.
LARGEST = {"float32": 2**24, "float64": 2**53} | {
    dtype: np.iinfo(dtype).max for dtype in ("int64", "int32", "int8", "uint8")
}
EVERY_DTYPE = list(LARGEST)


def seeded(seed):
    return Generator().manual_seed(seed)


def fill_array(array, recipe, generator, first=0, second=1):
    """Fill a NumPy array through a tensor over its memory."""
    target = tensorlab.from_numpy(array)
    if recipe == "randperm":
        target.copy_(tensorlab.randperm(len(array), generator=generator))
    elif recipe == "randint":  # a range of 0 stands for all of int64
        target.random_(first, first + second if second else None, generator=generator)
    elif recipe == "random":
        target.random_(generator=generator)
    elif recipe == "normal_singly":
        strided = tensorlab.zeros(len(array), 2, dtype=target.dtype)[:, 0]
        target.copy_(strided.normal_(first, second, generator=generator))
    elif recipe in ("bernoulli", "geometric", "exponential"):
        getattr(target, recipe + "_")(first, generator=generator)
    else:
        getattr(target, recipe + "_")(first, second, generator=generator)
    return array


def words_of_numpy(seed, n):
    """The first `n` words of NumPy's MT19937 after the seeding of the 2002 paper."""
    generator = np.random.MT19937()
    generator._legacy_seeding(seed)
    return generator.random_raw(n)


def drawn_by_both(recipe, method, dtype, seed, parameters, sizes=SIZES):
    """Yield (ours, PyTorch's) for each size, all drawn one after the other from one stream."""
    torch = require_torch()
    ours, theirs = seeded(seed), torch.Generator().manual_seed(seed)
    for n in sizes:
        target = torch.empty(n, dtype=getattr(torch, dtype))
        expected = getattr(target, method)(*parameters, generator=theirs).numpy()
        yield fill_array(np.empty(n, dtype), recipe, ours, *parameters), expected
    assert ours.get_state().tolist() == theirs.get_state().tolist(), "words consumed"


# ---------------------------------------------------------------- the sequence
def test_word_10000_of_seed_5489_is_the_one_of_the_cpp_standard():
    pairs = fill_array(np.empty(5000, "int64"), "randint", seeded(5489), -(2**63), 0)
    assert int(pairs[-1]) & 0xFFFFFFFF == 4123659995


def test_words_equal_those_of_numpys_mt19937():
    words = words_of_numpy(42, 5000)
    ours = fill_array(np.empty(5000, "int64"), "randint", seeded(42), 0, 2**27)
    assert np.array_equal(ours, words % 2**27)


@given(st.lists(st.integers(0, 700), max_size=8), st.integers(0, 2**32 - 1))
def test_draws_in_pieces_equal_one_draw(lengths, seed):
    generator = seeded(seed)
    pieces = [fill_array(np.empty(n, "float32"), "uniform", generator) for n in lengths]
    whole = fill_array(np.empty(sum(lengths), "float32"), "uniform", seeded(seed))
    assert np.array_equal(np.concatenate([*pieces, whole[:0]]), whole)


@given(st.integers(1, 2**28 - 1), st.integers(-(2**40), 2**40))
def test_integers_are_the_words_modulo_the_range(range_, low):
    ours = fill_array(np.empty(2000, "int64"), "randint", seeded(7), low, range_)
    assert np.array_equal(ours, (words_of_numpy(7, 2000) % range_).astype("int64") + low)


# ---------------------------------------------------------------- fills against PyTorch
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bounds", [(0, 1), (-0.31, 1.7), (1, 1 + 2**-22)])
def test_uniform_equals_pytorch_to_the_bit(dtype, bounds, seed):
    for ours, theirs in drawn_by_both("uniform", "uniform_", dtype, seed, bounds):
        assert np.array_equal(ours, theirs)
        assert np.all(ours < np.asarray(bounds[1], dtype))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 0), ("float64", 4e-15)])
@pytest.mark.parametrize("parameters", [(0, 1), (-0.31, 1.7)])
def test_normal_equals_pytorch(dtype, tolerance, parameters, seed):
    for ours, theirs in drawn_by_both("normal", "normal_", dtype, seed, parameters):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_equals_pytorch_over_a_million(dtype):
    ((ours, theirs),) = drawn_by_both("normal", "normal_", dtype, 3, (0, 1), [10**6 + 3])
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=0 if dtype == "float32" else 2e-15)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_singly_equals_what_pytorch_does_with_strided_memory(dtype):
    torch = require_torch()
    ours, theirs = seeded(5), torch.Generator().manual_seed(5)
    for n in SIZES:
        strided = torch.empty(2 * n, dtype=getattr(torch, dtype))[::2]
        expected = strided.normal_(-0.31, 1.7, generator=theirs).numpy()
        actual = fill_array(np.empty(n, dtype), "normal_singly", ours, -0.31, 1.7)
        np.testing.assert_allclose(actual, expected, rtol=0, atol=4e-15)


@pytest.mark.parametrize(
    ("dtype", "range_"),
    [
        (dtype, range_)
        for dtype in EVERY_DTYPE
        for range_ in [1, 3, 100, 2**20, 2**28 - 1, 2**28, 2**31 - 1, 2**53 - 1, 2**62]
        if range_ <= LARGEST[dtype]
    ],
)
def test_integers_equal_pytorch(dtype, range_):
    for ours, theirs in drawn_by_both("randint", "random_", dtype, 1, (0, range_)):
        assert np.array_equal(ours, theirs)


def test_integers_of_the_whole_type_equal_pytorch():
    torch = require_torch()
    theirs = torch.empty(700, dtype=torch.int64)
    theirs.random_(-(2**63), None, generator=torch.Generator().manual_seed(2))
    ours = fill_array(np.empty(700, "int64"), "randint", seeded(2), -(2**63), 0)
    assert np.array_equal(ours, theirs.numpy())


def test_integers_from_a_negative_bound_equal_pytorch():
    torch = require_torch()
    theirs = torch.randint(-5, 2**62, (700,), generator=torch.Generator().manual_seed(2))
    ours = fill_array(np.empty(700, "int64"), "randint", seeded(2), -5, 2**62 + 5)
    assert np.array_equal(ours, theirs.numpy())


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
def test_random_without_bounds_equals_pytorch(dtype):
    for ours, theirs in drawn_by_both("random", "random_", dtype, 1, ()):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_permutations_equal_pytorch(seed):
    torch = require_torch()
    ours, theirs = seeded(seed), torch.Generator().manual_seed(seed)
    for n in [*SIZES, 100_003]:
        permutation = fill_array(np.empty(n, "int64"), "randperm", ours)
        assert np.array_equal(permutation, torch.randperm(n, generator=theirs).numpy())


@pytest.mark.nightly  # 4 GB, and half a minute
def test_a_permutation_so_long_that_a_place_takes_two_words_equals_pytorchs():
    torch = require_torch()
    n = 0xFFFFFFFF // 20
    ours = fill_array(np.empty(n, "int64"), "randperm", seeded(3))
    theirs = torch.randperm(n, generator=torch.Generator().manual_seed(3)).numpy()
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", EVERY_DTYPE)
@pytest.mark.parametrize("p", [0.0, 0.3, 0.5, 1.0, 2**-53, 1 - 2**-53])
def test_bernoulli_equals_pytorch(dtype, p):
    for ours, theirs in drawn_by_both("bernoulli", "bernoulli_", dtype, 4, (p,)):
        assert np.array_equal(ours, theirs)


def test_bernoulli_is_a_uniform_double_below_p():
    units = fill_array(np.empty(1000), "uniform", seeded(8))
    ones = fill_array(np.empty(1000, "uint8"), "bernoulli", seeded(8), 0.37)
    assert np.array_equal(ones, units < 0.37)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("recipe", "parameters"),
    [
        ("exponential", (1.7,)),
        ("log_normal", (-0.31, 0.7)),
        ("cauchy", (-0.31, 0.7)),
        ("geometric", (0.1,)),
    ],
)
def test_other_distributions_equal_pytorch(recipe, parameters, dtype):
    for ours, theirs in drawn_by_both(recipe, recipe + "_", dtype, 6, parameters):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=0)


def test_a_spare_normal_waits_for_the_next_short_fill():
    generator, at_once = seeded(9), seeded(9)
    first = fill_array(np.empty(3), "normal", generator, 0, 1)
    fill_array(np.empty(20), "normal", generator, 0, 1)
    second = fill_array(np.empty(1), "normal", generator, 0, 1)
    expected = fill_array(np.empty(4), "normal", at_once, 0, 1)
    assert np.array_equal(np.concatenate([first, second]), expected)


def test_seeding_drops_the_spare_normal():
    generator = seeded(9)
    first = fill_array(np.empty(1), "normal", generator, 0, 1)
    generator.manual_seed(9)
    assert np.array_equal(fill_array(np.empty(1), "normal", generator, 0, 1), first)


# ---------------------------------------------------------------- seeds
@pytest.mark.parametrize("seed", [-1, -(2**63), 2**32 + 5, 2**63, 2**64 - 1, np.int64(4)])
def test_unusual_seeds_mean_what_they_mean_in_pytorch(seed):
    torch = require_torch()
    ours, theirs = Generator(), torch.Generator().manual_seed(int(seed))
    assert ours.manual_seed(seed) is ours
    assert ours.initial_seed() == theirs.initial_seed() == int(seed) % 2**64
    drawn = fill_array(np.empty(5, "float32"), "uniform", ours)
    assert np.array_equal(drawn, torch.rand(5, generator=theirs).numpy())


@pytest.mark.parametrize("seed", [2**64, -(2**63) - 1, 1.0, "a", None, True])
def test_a_bad_seed_is_refused_and_changes_nothing(seed):
    generator = seeded(3)
    before = generator.get_state()
    with pytest.raises(GeneratorError, match=r"^manual_seed: seed is .*(int|modulo)"):
        generator.manual_seed(seed)
    assert generator.get_state().equal(before)
    assert issubclass(GeneratorError, RuntimeError)
    assert issubclass(GeneratorError, ValueError)


def test_a_new_generator_starts_where_pytorchs_starts():
    torch = require_torch()
    assert Generator().initial_seed() == torch.Generator().initial_seed() == 67280421310721
    assert Generator().get_state().tolist() == torch.Generator().get_state().tolist()


def test_seed_is_unpredictable_and_reported():
    generator = Generator()
    assert 2**63 < max(generator.seed() for _ in range(64)) < 2**64
    seeds = [generator.seed() for _ in range(3)]
    assert len(set(seeds)) == 3
    assert generator.initial_seed() == seeds[-1]
    assert generator.get_state().equal(seeded(seeds[-1]).get_state())


def test_only_the_cpu_has_generators():
    assert str(Generator("cpu").device) == str(Generator(device=None).device) == "cpu"
    with pytest.raises(GeneratorError, match=r"^Generator: device is 'cuda'.*'cpu' only"):
        Generator("cuda")


def test_there_is_one_default_generator():
    assert default_generator() is default_generator()


# ---------------------------------------------------------------- state
def test_a_state_is_a_tensor_of_bytes_that_leads_back():
    generator = seeded(5)
    tensorlab.rand(3, generator=generator)
    state = generator.get_state()
    assert (type(state), state.dtype) == (tensorlab.Tensor, tensorlab.uint8)
    assert tuple(state.shape) == (5056,)
    expected = tensorlab.rand(4, generator=generator).tolist()
    generator.set_state(state)
    assert tensorlab.rand(4, generator=generator).tolist() == expected
    other = tensorlab.Generator()
    other.set_state(state.clone())
    assert tensorlab.rand(4, generator=other).tolist() == expected


@pytest.mark.parametrize("n", [0, 1, 3, 623, 624, 625])
def test_state_is_pytorchs_to_the_byte(n):
    torch = require_torch()
    ours, theirs = seeded(11), torch.Generator().manual_seed(11)
    fill_array(np.empty(n, "float32"), "uniform", ours)
    torch.rand(n, generator=theirs)
    fill_array(np.empty(1), "normal", ours, 0, 1)
    torch.randn(1, generator=theirs)
    state = theirs.get_state().numpy()
    assert ours.get_state().tolist() == state.tolist()
    taken = Generator()
    taken.set_state(state)
    assert taken.initial_seed() == 11
    drawn = fill_array(np.empty(700), "normal_singly", taken, 0, 1)
    assert np.array_equal(drawn, fill_array(np.empty(700), "normal_singly", ours, 0, 1))


@pytest.mark.parametrize(
    "make_copy",
    [
        copy.copy,
        copy.deepcopy,
        Generator.clone_state,
        lambda generator: pickle.loads(pickle.dumps(generator)),
    ],
)
def test_a_copy_continues_independently_at_the_same_place(make_copy):
    generator = seeded(12)
    fill_array(np.empty(5), "normal", generator, 0, 1)
    twin = make_copy(generator)
    assert twin is not generator
    expected = fill_array(np.empty(700), "normal_singly", generator, 0, 1)
    assert np.array_equal(fill_array(np.empty(700), "normal_singly", twin, 0, 1), expected)


def corrupted(offset, value, dtype):
    """A valid state with one field overwritten."""
    state = Generator().get_state().numpy()
    state[offset : offset + np.dtype(dtype).itemsize] = np.array([value], dtype).view("uint8")
    return state


@pytest.mark.parametrize(
    ("state", "error", "text"),
    [
        (b"abc", GeneratorError, "3 bytes, .* 5056"),
        (bytes(5056), GeneratorError, "no state of a generator"),
        (corrupted(8, 0, "int32"), GeneratorError, "no state"),
        (corrupted(8, 700, "int32"), GeneratorError, "no state"),
        (corrupted(8, -(2**31), "int32"), GeneratorError, "no state"),
        (corrupted(12, 0, "int32"), GeneratorError, "no state"),
        (corrupted(16, 5, "uint64"), GeneratorError, "no state"),
        (corrupted(16, 2**64 - 1, "uint64"), GeneratorError, "no state"),
        (np.zeros(5056, "float32"), TypeError, "contiguous bytes"),
        (np.zeros(10112, "uint8")[::2], TypeError, "contiguous bytes"),
        (None, TypeError, "state is a NoneType"),
        ("state", TypeError, "state is a str"),
    ],
)
def test_a_bad_state_is_refused_and_changes_nothing(state, error, text):
    generator = seeded(13)
    before = generator.get_state()
    with pytest.raises(error, match="^set_state: .*" + text):
        generator.set_state(state)
    assert generator.get_state().equal(before)


def test_a_block_of_draws_aside_is_entered_once_and_gives_the_default_back():
    aside = DrawingAside(Generator().manual_seed(3))
    before = default_generator().get_state()
    with aside:
        drawn = tensorlab.rand(2)
        with pytest.raises(RuntimeError, match="entered already"), aside:
            pass
        tensorlab.rand(2)
    assert tensorlab.equal(default_generator().get_state(), before)
    assert tensorlab.equal(drawn, tensorlab.rand(2, generator=Generator().manual_seed(3)))
    tensorlab.rand(3)
    assert not tensorlab.equal(default_generator().get_state(), before)
