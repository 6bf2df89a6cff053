"""Damaged event files: TensorBoard's reader finds what comes before the damage, and never anything else.

Each record carries two checksums, of its length and of its bytes; they are what makes the reader stop.
"""

import random

import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader

import tensorlab
from tensorlab.utils.tensorboard import SummaryWriter
from tests.limits import Limits
from tests.utils.tensorboard.reading import files


def honest(folder):
    with SummaryWriter(folder) as writer:
        for step in range(6):
            writer.add_scalar("loss", 1 / (step + 1), step)
            writer.add_histogram("weights", tensorlab.arange(50.0) * step, step)
            writer.add_text("note", "word " * step, step)
        writer.add_image("picture", tensorlab.rand(3, 20, 20))
    (path,) = files(folder)
    return path


def records(path):
    return list(RawEventFileLoader(str(path)).Load())


def flipped(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return data


def cut_off(data, rng):
    return data[: rng.randrange(len(data))]


def without_a_part(data, rng):
    begin = rng.randrange(len(data))
    return data[:begin] + data[begin + rng.randrange(1, 100) :]


def with_more(data, rng):
    place = rng.randrange(len(data))
    return data[:place] + rng.randbytes(rng.randrange(1, 20)) + data[place:]


def other_length(data, rng):
    """Change the length at the head of a record."""
    data, places, place = bytearray(data), [], 0
    while place < len(data):
        places.append(place)
        place += 16 + int.from_bytes(data[place : place + 8], "little")
    place = rng.choice(places)
    old = int.from_bytes(data[place : place + 8], "little")
    new = rng.choice([0, old + 1, abs(old - 1), len(data), 2**31, 2**40, 2**64 - 1])
    data[place : place + 8] = new.to_bytes(8, "little")
    return data


def exchanged(data, rng):
    """Exchange two pieces of the file."""
    data, size = bytearray(data), rng.choice([1, 4, 16, 64])
    one, other = (rng.randrange(len(data) - size) for _ in range(2))
    data[one : one + size], data[other : other + size] = (
        data[other : other + size],
        data[one : one + size],
    )
    return data


KINDS = [flipped, cut_off, without_a_part, with_more, other_length, exchanged]


def try_mutants(count, seed, folder):
    path, rng = honest(folder), random.Random(seed)
    data, whole = path.read_bytes(), records(path)
    limits, shorter = Limits(lambda: records(path)), 0
    for number in range(count):
        path.write_bytes(KINDS[number % len(KINDS)](data, rng))
        with limits.kept():
            found = records(path)
        assert found == whole[: len(found)]
        shorter += len(found) < len(whole)
    print(f"{shorter} of {count} were noticed; {limits.most} bytes, {limits.slowest:.2f} s at most")
    return shorter


def test_what_is_read_of_a_damaged_file_is_true(tmp_path):
    assert try_mutants(50, 0, tmp_path) > 45


@pytest.mark.nightly
def test_two_thousand_damaged_event_files(tmp_path):
    assert try_mutants(2000, 1, tmp_path) > 1800
