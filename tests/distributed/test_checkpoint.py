"""Checkpoints of several ranks: read by other numbers of ranks, and never half written."""

import os

import pytest

import tensorlab as tl
from tensorlab import distributed as dist
from tensorlab import nn, optim
from tensorlab.distributed import checkpoint
from tensorlab.distributed.checkpoint import CheckpointException, FileSystemWriter, layout
from tensorlab.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_optimizer_state_dict,
    get_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from tensorlab.nn.parallel import DistributedDataParallel as DDP


def trained(seed, wrap=DDP):
    tl.manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    model = wrap(model)
    optimizer = optim.Adam(model.parameters(), lr=0.1)
    model(tl.ones(2, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


def numbers(model, optimizer):
    state = [
        optimizer.state[p][key] for p in model.parameters() for key in ("exp_avg", "exp_avg_sq")
    ]
    return [*(p.detach().clone() for p in model.parameters()), *state]


def save(rank, path, is_async):
    model, optimizer = trained(0)
    weights, state = get_state_dict(model, optimizer)
    everything = {
        "model": weights,
        "optimizer": state,
        "step": 17,
        "own": {f"rank {rank}": tl.full((2,), rank)},
    }
    if is_async:
        checkpoint.async_save(everything, checkpoint_id=path).result(60)
    else:
        checkpoint.save(everything, checkpoint_id=path)
    return numbers(model, optimizer)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("before, after", [(1, 3), (3, 1), (2, 4)])
def test_any_number_of_ranks_reads_what_another_number_has_written(
    tmp_path, before, after, is_async
):
    expected = dist.threads.spawn(save, (tmp_path, is_async), nprocs=before)[0]

    def load(rank):
        model, optimizer = trained(rank + 5)
        weights, state = get_state_dict(model, optimizer)
        everything = {
            "model": weights,
            "optimizer": state,
            "step": 0,
            "own": {"rank 0": tl.zeros(2).int()},
        }
        checkpoint.load(everything, checkpoint_id=tmp_path)
        set_state_dict(model, optimizer, model_state_dict=everything["model"],
                       optim_state_dict=everything["optimizer"])  # fmt: skip
        assert everything["step"] == 17
        return numbers(model, optimizer)

    for got in dist.threads.spawn(load, nprocs=after):
        assert all(tl.equal(a, b) for a, b in zip(got, expected, strict=True))


def test_what_several_ranks_have_is_written_once(tmp_path):
    dist.threads.spawn(save, (tmp_path, False), nprocs=3)
    contents = checkpoint.FileSystemReader(tmp_path).read_metadata()
    for entry in contents.state_dict_metadata.values():
        assert len(getattr(entry, "chunks", [entry])) == 1
    files = {
        e.chunks[0].file for k, e in contents.state_dict_metadata.items() if k.startswith("model")
    }
    assert len(files) > 1  # the ranks share the work
    assert contents.files() == {f for f in os.listdir(tmp_path) if f.endswith(".distcp")}


def test_a_save_replaces_the_one_before_and_leaves_no_files_of_it(tmp_path):
    for step in range(3):
        checkpoint.save({"w": tl.full((2,), float(step)), "step": step}, checkpoint_id=tmp_path)
        assert len(os.listdir(tmp_path)) == 2
    state = {"w": tl.zeros(2), "step": None}
    checkpoint.load(state, checkpoint_id=tmp_path)
    assert (state["w"].tolist(), state["step"]) == ([2.0, 2.0], 2)


class Full(FileSystemWriter):
    """A disk that has room for one rank only."""

    def write(self, name, entries):
        if name.startswith("__1"):
            raise OSError(28, "No space left on device")
        super().write(name, entries)


class Dies(FileSystemWriter):
    """A rank that dies before the table of contents is there."""

    def commit(self, contents):
        raise OSError("killed")


class OfTwo(Exception):
    """An error that can be pickled, and not made again."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


@pytest.mark.parametrize("where", ["save", "load"])
@pytest.mark.parametrize("is_local", [True, False])
def test_errors_that_cannot_be_sent_are_told_by_their_text(tmp_path, where, is_local):
    class Local(Exception):
        pass

    def fail(*_):
        raise Local("here and there") if is_local else OfTwo("here", "there")

    def program(rank):
        checkpoint.save({"x": tl.ones(2)}, checkpoint_id=tmp_path)
        writer, reader = FileSystemWriter(tmp_path), checkpoint.FileSystemReader(tmp_path)
        if rank == 0:  # it writes what both have
            writer.write = fail
        else:
            reader.read = fail
        ways = {
            "save": lambda: checkpoint.save({"x": tl.ones(2)}, storage_writer=writer),
            "load": lambda: checkpoint.load({"x": tl.ones(2)}, storage_reader=reader),
        }
        text = f"rank {int(where == 'load')}: .*here and there"
        with pytest.raises(CheckpointException, match=text):
            ways[where]()

    dist.threads.spawn(program, nprocs=2)


@pytest.mark.parametrize(
    "writer, text", [(Full, "rank 1: OSError: .*No space left"), (Dies, "rank 0: OSError: killed")]
)
def test_a_save_that_fails_at_one_rank_fails_at_all_and_leaves_the_one_before(
    tmp_path, writer, text
):
    def program(rank):
        values = {"x": tl.full((2,), 1.0), "y": tl.full((3,), 1.0)}
        checkpoint.save(values, checkpoint_id=tmp_path)
        with pytest.raises(CheckpointException, match=text):
            checkpoint.save({k: v * 2 for k, v in values.items()}, storage_writer=writer(tmp_path))
        state = {"x": tl.zeros(2), "y": tl.zeros(3)}
        checkpoint.load(state, checkpoint_id=tmp_path)
        return [x.tolist() for x in state.values()]

    assert dist.threads.spawn(program, nprocs=2) == [[[1.0] * 2, [1.0] * 3]] * 2
    assert issubclass(
        CheckpointException, Exception
    )  # PyTorch's isn't: `except Exception` misses it


def test_it_is_read_in_a_program_that_allows_nothing(tmp_path):
    w = tl.zeros(3)
    checkpoint.save({"w": tl.arange(3.0)}, checkpoint_id=tmp_path)
    with tl.serialization.safe_globals([]):  # at its end, what was allowed before is again
        tl.serialization.clear_safe_globals()
        assert tl.serialization.get_safe_globals() == []
        checkpoint.load({"w": w}, checkpoint_id=tmp_path)
    assert w.tolist() == [0.0, 1.0, 2.0]


def test_damaged_files_are_noticed(tmp_path):
    checkpoint.save({"w": tl.arange(1000.0)}, checkpoint_id=tmp_path)
    (file,) = [tmp_path / name for name in os.listdir(tmp_path) if name.endswith(".distcp")]
    data = bytearray(file.read_bytes())
    place = data.find(tl.arange(500.0, 504.0).numpy().tobytes())
    data[place] ^= 1
    file.write_bytes(data)
    with pytest.raises(CheckpointException, match="checksum|damaged|CRC"):
        checkpoint.load({"w": tl.zeros(1000)}, checkpoint_id=tmp_path)


@pytest.mark.parametrize("state, text", [
    ({"missing": tl.ones(1)}, "Missing key in checkpoint state_dict: missing"),
    ({"w": tl.ones(3)}, r"Size mismatch between saved \(2,\) and current: \(3,\) for w"),
    ({"w": 3}, "w is a tensor in the checkpoint"),
    ({"n": tl.ones(1)}, "n is no tensor in the checkpoint"),
])  # fmt: skip
def test_a_state_dict_that_does_not_fit_is_refused_before_anything_is_written(
    tmp_path, state, text
):
    checkpoint.save({"w": tl.ones(2), "n": 1}, checkpoint_id=tmp_path)
    kept = tl.zeros(2)
    with pytest.raises(CheckpointException, match=text):
        checkpoint.load({"w": kept} | state, checkpoint_id=tmp_path)
    assert kept.tolist() == [0.0, 0.0]


def test_bad_arguments(tmp_path):
    with pytest.raises(CheckpointException, match="holds no checkpoint"):
        checkpoint.load({}, checkpoint_id=tmp_path)
    with pytest.raises(ValueError, match="give checkpoint_id"):
        checkpoint.load({})
    with pytest.raises(ValueError, match="give checkpoint_id"):
        checkpoint.save({})
    with pytest.raises(NotImplementedError, match="planner"):
        checkpoint.save({}, checkpoint_id=tmp_path, planner=object())
    with pytest.raises(TypeError, match="expected a ProcessGroup"):
        checkpoint.save({}, checkpoint_id=tmp_path, process_group=3)
    checkpoint.save({"a": 1}, checkpoint_id=tmp_path)
    with pytest.raises(CheckpointException, match="overwrite is False"):
        checkpoint.save({"a": 1}, storage_writer=FileSystemWriter(tmp_path, overwrite=False))


def test_objects_with_a_state_are_saved_through_it(tmp_path):
    model, optimizer = trained(0, lambda m: m)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    scheduler.step()
    checkpoint.save({"model": model, "scheduler": scheduler}, checkpoint_id=tmp_path)
    other, other_optimizer = trained(1, lambda m: m)
    again = optim.lr_scheduler.StepLR(other_optimizer, 1)
    checkpoint.load({"model": other, "scheduler": again}, checkpoint_id=tmp_path)
    assert tl.equal(other[0].weight, model[0].weight)
    assert again.last_epoch == 1


@pytest.mark.parametrize("boxes, expected", [
    (((0,), (4,), (2,), (5,)), (slice(2, 4), slice(0, 2))),
    (((0,), (2,), (2,), (5,)), None),
    (((1, 0), (2, 3), (2, 1), (5, 1)), ((slice(1, 2), slice(1, 2)), (slice(0, 1), slice(0, 1)))),
])  # fmt: skip
def test_boxes_overlap_where_they_do(boxes, expected):
    got = layout.overlap(*boxes)
    if expected is not None and isinstance(expected[0], slice):
        expected = (expected[0],), (expected[1],)
    assert got == expected


def test_state_dicts_use_names_in_place_of_numbers():
    def program(rank):
        model, optimizer = trained(0)
        state = get_optimizer_state_dict(model, optimizer)
        assert list(state["state"]) == ["0.weight", "0.bias", "1.weight", "1.bias"]
        other, plain = trained(4, lambda m: m)
        reversed_ = optim.Adam(list(other.parameters())[::-1], lr=3.0)
        set_optimizer_state_dict(other, reversed_, state)
        assert reversed_.param_groups[0]["lr"] == 0.1
        first = reversed_.state[other[0].weight]["exp_avg"]
        assert tl.equal(first, optimizer.state[model.module[0].weight]["exp_avg"])
        with pytest.raises(RuntimeError, match="parameters that the model hasn't"):
            get_optimizer_state_dict(nn.Linear(1, 1), plain)
        only = StateDictOptions(full_state_dict=True, cpu_offload=True)
        weights, _ = get_state_dict(model, optimizer, options=only)
        return len(weights)

    assert dist.threads.spawn(program, nprocs=2) == [4, 0]


def test_rank_0_may_be_the_only_one_with_a_state_dict():
    def program(rank):
        model, optimizer = trained(0 if rank == 0 else 9)
        state = get_state_dict(model, optimizer) if rank == 0 else ({}, {})
        options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
        set_state_dict(model, optimizer, model_state_dict=state[0], optim_state_dict=state[1],
                       options=options)  # fmt: skip
        return numbers(model, optimizer)

    first, second = dist.threads.spawn(program, nprocs=2)
    assert all(tl.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
def test_an_optimizer_that_has_not_stepped_can_be_loaded_into(tmp_path, kind):
    def made():
        tl.manual_seed(0)
        model = nn.Linear(2, 2)
        return model, kind(model.parameters(), lr=0.1, weight_decay=0.1)

    def step(model, optimizer):
        optimizer.zero_grad()
        model(tl.ones(3, 2)).pow(2).sum().backward()
        optimizer.step()

    model, optimizer = made()
    new, fresh = made()
    weights, state = get_state_dict(new, fresh)
    assert fresh.param_groups[0]["lr"] == 0.1
    assert new.weight.grad is None
    step(model, optimizer), step(new, fresh)
    assert tl.equal(model.weight, new.weight)  # it's as if it hadn't been asked

    checkpoint.save({"state": get_state_dict(model, optimizer)}, checkpoint_id=tmp_path)
    again, last = made()
    found = {"state": get_state_dict(again, last)}
    checkpoint.load(found, checkpoint_id=tmp_path)
    weights, state = found["state"]
    set_state_dict(again, last, model_state_dict=weights, optim_state_dict=state)
    step(model, optimizer), step(again, last)
    assert tl.equal(model.weight, again.weight)


def test_a_table_of_contents_may_name_no_paths():
    assert checkpoint.Metadata({}).planner_data == {}
