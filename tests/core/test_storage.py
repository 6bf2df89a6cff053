"""Storage and allocator: sharing, lifetime, statistics, memory that belongs to others."""

import gc
import mmap

import numpy as np
import pytest

import tensorlab as T


# ---------------------------------------------------------------- allocator
def test_statistics_return_to_where_they_were():
    gc.collect()
    before = T.memory_stats()["allocated_bytes"]
    tensors = [T.empty(n) for n in (0, 1, 100, 1000, 100_000, 3_000_000)]
    grown = T.memory_stats()["allocated_bytes"] - before
    assert grown >= sum(t.nbytes for t in tensors)
    assert grown <= 1.13 * sum(t.nbytes for t in tensors) + 64 * len(tensors) + 2 * 2**21
    del tensors
    assert T.memory_stats()["allocated_bytes"] == before


@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        *((1, 64), (64, 64), (65, 128), (1000, 1024)),
        *((2**16 - 1, 2**16), (2**16, 2**16), (2**16 + 1, 2**16 + 2**13)),  # an eighth of 2**16
        *((2**20, 2**20), (2**20 + 1, 2**20 + 2**17), (2**21 - 1, 2**21)),  # an eighth of 2**20
        *((2**21 + 1, 2**22), (2**24 + 1, 2**24 + 2**21), (2**25 + 1, 2**25 + 2**22)),  # huge pages
    ],
)
def test_how_much_is_taken_for_what_is_asked(asked, taken):
    before = T.memory_stats()
    x = T.empty(asked, dtype=T.uint8)
    after = T.memory_stats()
    assert after["allocated_bytes"] - before["allocated_bytes"] == taken
    assert after["allocations"] - before["allocations"] == 1
    del x
    assert T.memory_stats()["allocated_bytes"] == before["allocated_bytes"]


def test_the_cache_counts_what_it_keeps():
    T.empty_cache()
    x = T.empty(2**17, dtype=T.uint8)
    assert T.memory_stats()["cached_bytes"] == 0
    del x
    assert T.memory_stats()["cached_bytes"] == 2**17
    again = T.empty(2**17, dtype=T.uint8)
    assert T.memory_stats()["cached_bytes"] == 0
    del again


@pytest.mark.parametrize("nbytes", [2**16, 20_000_000])
def test_a_freed_large_block_is_used_again(nbytes):
    address = T.empty(nbytes, dtype=T.uint8).data_ptr()
    hits = T.memory_stats()["cache_hits"]
    again = T.empty(nbytes, dtype=T.uint8)
    assert again.data_ptr() == address
    assert T.memory_stats()["cache_hits"] == hits + 1


def test_what_is_just_too_small_for_the_cache_is_left_to_the_c_library():
    cached = T.memory_stats()["cached_bytes"]
    T.empty(2**16 - 64, dtype=T.uint8)
    assert T.memory_stats()["cached_bytes"] == cached


def test_empty_cache_and_the_limit_give_memory_back():
    T.empty(5_000_000)
    assert T.memory_stats()["cached_bytes"] > 0
    T.empty_cache()
    assert T.memory_stats()["cached_bytes"] == 0
    limit = T.memory_stats()["cache_limit_bytes"]
    try:
        T.set_cache_limit(0)
        T.empty(5_000_000)
        assert T.memory_stats()["cached_bytes"] == 0
    finally:
        T.set_cache_limit(limit)


def test_the_peak_is_the_most_that_was_in_use_at_once():
    T.reset_peak_memory_stats()
    start = T.memory_stats()["allocated_bytes"]
    T.empty(10_000_000)
    T.empty(10_000_000)
    peak = T.memory_stats()["peak_bytes"]
    assert 40_000_000 <= peak - start < 80_000_000


def test_memory_is_aligned_to_a_cache_line():
    for n in (1, 17, 300, 70_000, 1_000_000):
        assert T.empty(n).data_ptr() % 64 == 0


def test_blocks_in_use_never_overlap():
    random = np.random.default_rng(0)
    tensors = []
    before = T.memory_stats()["allocated_bytes"]
    for _ in range(2000):
        if tensors and random.random() < 0.5:
            tensors.pop(random.integers(len(tensors)))
        else:
            n = int(2 ** random.uniform(0, 21))
            tensors.append(T.empty(n, dtype=T.uint8))
            first, last = tensors[-1].data_ptr(), tensors[-1].data_ptr() + n
            others = [(x.data_ptr(), x.nbytes) for x in tensors[:-1]]
            assert all(last <= start or start + size <= first for start, size in others)
    tensors.clear()
    assert T.memory_stats()["allocated_bytes"] == before


def test_too_much_memory_is_an_error_and_changes_nothing():
    x = T.ones(3)
    with pytest.raises(RuntimeError, match="cannot allocate|memory"):
        T.empty(10**15, dtype=T.uint8)
    with pytest.raises(RuntimeError):
        x.resize_(10**15)
    assert x.tolist() == [1.0, 1.0, 1.0]


# ---------------------------------------------------------------- sharing
def test_views_share_one_storage():
    x = T.arange(6)
    assert x.view(2, 3).untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert x[2:].data_ptr() == x.data_ptr() + 16
    assert x[2:].storage_offset() == 2


def test_a_view_keeps_the_storage_alive():
    view = T.arange(6)[2:4]
    gc.collect()
    assert view.tolist() == [2, 3]


def test_resizing_a_storage_keeps_its_bytes():
    storage = T.arange(3, dtype=T.uint8).untyped_storage()
    storage.resize_(5)
    assert storage.tolist() == [0, 1, 2, 0, 0]
    with pytest.raises(RuntimeError, match="at least 0"):
        storage.resize_(-1)


@pytest.mark.parametrize("numbers", [40, 3000, 400_000])
def test_a_tensor_that_grows_keeps_its_numbers_and_adds_zeros(numbers):
    x = T.arange(1, numbers + 1)
    x.resize_(3 * numbers)
    assert x.tolist() == [*range(1, numbers + 1), *[0] * (2 * numbers)]
    x.resize_(numbers // 2)
    assert x.tolist() == list(range(1, numbers // 2 + 1))


# ---------------------------------------------------------------- memory of others
def test_from_numpy_shares_memory_and_keeps_the_array_alive():
    array = np.arange(4.0)
    x = T.from_numpy(array)
    x[0] = 9
    assert array[0] == 9
    del array
    gc.collect()
    assert x.tolist() == [9.0, 1.0, 2.0, 3.0]


def test_numpy_shares_memory_and_outlives_the_tensor():
    x = T.arange(4)
    array = x.numpy()
    x[0] = 7
    del x
    gc.collect()
    assert array.tolist() == [7, 1, 2, 3]
    assert array.flags.writeable


def test_exported_memory_cannot_be_resized():
    x = T.arange(4)
    array = x.numpy()
    with pytest.raises(RuntimeError, match="outside tensorlab"):
        x.untyped_storage().resize_(1000)
    view = memoryview(x)
    del array
    with pytest.raises(RuntimeError, match="outside tensorlab"):
        x.resize_(1000)
    view.release()
    x.resize_(6)
    assert x.shape == (6,)


def test_foreign_memory_cannot_be_resized():
    with pytest.raises(RuntimeError, match="belongs to another object"):
        T.from_numpy(np.zeros(3)).resize_(10)


def test_read_only_memory_cannot_be_written():
    array = np.zeros(3)
    array.flags.writeable = False
    x = T.from_numpy(array)
    for write in (
        lambda: x.add_(1),
        lambda: x.zero_(),
        lambda: x.copy_(T.ones(3)),
        lambda: x.__setitem__(0, 1.0),
    ):
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_a_mapped_file_stays_mapped_while_a_tensor_looks_at_it(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(8)))
    with open(path, "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 8)
        x = T.frombuffer(mapped, dtype=T.uint8)
        with pytest.raises(BufferError):
            mapped.close()
        x[0] = 99
    assert mapped[0] == 99


def test_negative_strides_and_foreign_types_are_refused():
    with pytest.raises(ValueError, match="negative stride"):
        T.from_numpy(np.arange(3)[::-1])
    with pytest.raises(TypeError, match="datetime64"):
        T.from_numpy(np.zeros(2, "datetime64[s]"))
    with pytest.raises(TypeError, match="list"):
        T.from_numpy([1, 2])


# ---------------------------------------------------------------- values in and out
@pytest.mark.parametrize(
    "dtype",
    [
        T.bool,
        T.uint8,
        T.int8,
        T.int16,
        T.int32,
        T.int64,
        T.float16,
        T.float32,
        T.float64,
        T.complex64,
        T.complex128,
    ],
)
def test_every_dtype_makes_the_way_to_numpy_and_back(dtype):
    x = T.tensor([0, 1, 3], dtype=dtype)
    array = x.numpy()
    assert array.itemsize == x.itemsize
    assert T.from_numpy(array).dtype is dtype
    assert array.tolist() == x.tolist()
    if (
        dtype is not T.float16 and not dtype.is_complex
    ):  # memoryview exports these, but cannot read their elements
        assert memoryview(x).tolist() == x.tolist()
    assert np.asarray(x).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (True, T.bool),
        (3, T.int64),
        (2.5, T.float32),
        ([1, 2.5], T.float32),
        ([True, 2], T.int64),
        ([], T.float32),
        ([[], []], T.float32),
        (np.float64(1), T.float64),
        (np.arange(3, dtype=np.int16), T.int16),
    ],
)
def test_tensor_infers_its_dtype(data, dtype):
    assert T.tensor(data).dtype is dtype


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([[1, 2], [3]], ValueError),
        ([1, [2]], (TypeError, ValueError)),
        ([[1], 2], (TypeError, ValueError)),
        ("text", TypeError),
        ([None], (TypeError, RuntimeError)),
        (None, (TypeError, RuntimeError)),
        ({1: 2}, (TypeError, RuntimeError)),
    ],
)
def test_data_that_makes_no_tensor_raises(data, error):
    with pytest.raises(error):
        T.tensor(data)


def test_a_tensor_that_requires_grad_is_not_handed_out():
    x = T.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    with pytest.raises((BufferError, TypeError)):
        memoryview(x)
    assert x.detach().numpy().tolist() == [1.0, 1.0]


def test_item_needs_one_element():
    assert T.tensor([[5]]).item() == 5
    with pytest.raises(RuntimeError, match="2 elements"):
        T.ones(2).item()
