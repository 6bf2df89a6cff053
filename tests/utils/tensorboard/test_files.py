"""The writer's files: where they are, when events reach them, and how they end."""

import datetime
import os
import re
import socket
import subprocess
import sys

import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event, SessionLog

from tensorlab.utils.tensorboard import FileWriter, SummaryWriter, event_file
from tests.utils.tensorboard.reading import events, files, read, values


def tags(folder):
    return [value.tag for value in values(folder)]


# ------------------------------------------------------------ folders and names
def test_the_default_folder_says_when_and_where(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = datetime.datetime.now().replace(microsecond=0)
    with SummaryWriter(comment="_note") as writer:
        assert writer.get_logdir() == writer.log_dir
    after = datetime.datetime.now()
    folder, name = os.path.split(writer.log_dir)
    assert folder == "runs"
    assert name.endswith(f"_{socket.gethostname()}_note")
    stamp = name.removesuffix(f"_{socket.gethostname()}_note")
    made = datetime.datetime.strptime(stamp, "%b%d_%H-%M-%S")
    moments = [one.replace(year=1900) for one in (before, after)]
    assert moments[0] <= made <= moments[1]
    assert len(files(tmp_path / writer.log_dir)) == 1


def test_a_folder_that_is_given(tmp_path):
    for folder in (tmp_path / "a" / "b", str(tmp_path / "c")):
        with SummaryWriter(folder, comment="ignored", filename_suffix=".end") as writer:
            writer.add_scalar("x", 1)
            writer.add_scalars("y", {"z": 2})
            assert writer.get_logdir() == str(folder)
        for place in (folder, os.path.join(folder, "y_z")):
            (path,) = files(place)
            assert path.name.endswith(".end")
            assert len(values(place)) == 1


def test_files_of_one_second_have_different_names(tmp_path):
    for number in range(5):
        with SummaryWriter(tmp_path) as writer:
            writer.add_scalar("x", number, number)
    assert len(files(tmp_path)) == 5
    assert sorted(one.value for one in read(tmp_path).Scalars("x")) == [0, 1, 2, 3, 4]
    name = files(tmp_path)[0].name
    host = re.escape(socket.gethostname())
    assert re.fullmatch(rf"events\.out\.tfevents\.\d{{10}}\.{host}\.{os.getpid()}\.\d+", name)


def test_a_file_begins_with_its_version(tmp_path):
    writer = FileWriter(tmp_path)
    (path,) = files(tmp_path)
    first, *more = [Event.FromString(one) for one in RawEventFileLoader(str(path)).Load()]
    assert first.file_version == "brain.Event:2"
    assert first.wall_time > 1e9
    assert more == []
    writer.close()


# ------------------------------------------------------------ when events are written
def test_events_wait_for_more_than_the_queue_holds(tmp_path):
    with SummaryWriter(tmp_path, max_queue=3) as writer:
        assert writer.max_queue == 3
        for number in range(3):
            writer.add_scalar(str(number), 1)
            assert tags(tmp_path) == []
        writer.add_scalar("3", 1)
        assert tags(tmp_path) == ["0", "1", "2", "3"]
        writer.add_scalar("4", 1)
        assert len(tags(tmp_path)) == 4
        writer.flush()
        assert len(tags(tmp_path)) == 5
        writer.add_scalar("5", 1)
    assert len(tags(tmp_path)) == 6


def test_the_default_queue_holds_ten(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for number in range(10):
            writer.add_scalar(str(number), 1)
        assert tags(tmp_path) == []
        writer.add_scalar("10", 1)
        assert len(tags(tmp_path)) == 11


def test_events_are_written_when_the_last_write_is_long_ago(tmp_path, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(event_file.time, "monotonic", lambda: now)
    with SummaryWriter(tmp_path, flush_secs=5) as writer:
        assert writer.flush_secs == 5
        writer.add_scalar("a", 1)
        now = 1004.5
        writer.add_scalar("b", 1)
        assert tags(tmp_path) == []
        now = 1005.0
        writer.add_scalar("c", 1)
        assert tags(tmp_path) == ["a", "b", "c"]
        now = 1009.0
        writer.add_scalar("d", 1)
        assert tags(tmp_path) == ["a", "b", "c"]
    with SummaryWriter(tmp_path / "default") as writer:
        now = 1128.5
        writer.add_scalar("a", 1)
        assert tags(tmp_path / "default") == []
        now = 1129.0
        writer.add_scalar("b", 1)
        assert tags(tmp_path / "default") == ["a", "b"]


def test_the_charts_of_add_scalars_have_the_same_queue(tmp_path):
    with SummaryWriter(tmp_path, max_queue=1, flush_secs=77) as writer:
        for _ in range(2):
            writer.add_scalars("x", {"y": 1})
        assert len(values(tmp_path / "x_y")) == 2
        assert {one.flush_secs for one in writer.all_writers.values()} == {77}
        writer.add_scalars("x", {"y": 1})
        writer.flush()
        assert len(values(tmp_path / "x_y")) == 3


# ------------------------------------------------------------ the end
def test_after_close_there_is_a_new_file(tmp_path):
    writer = SummaryWriter(tmp_path, purge_step=7)
    writer.add_scalar("a", 1)
    writer.close()
    writer.close()
    writer.flush()
    assert writer.file_writer is None
    assert len(files(tmp_path)) == 1
    writer.add_scalar("b", 1)
    writer.add_scalars("c", {"d": 2})
    writer.close()
    assert len(files(tmp_path)) == 2
    assert tags(tmp_path) == ["a", "b"]
    starts = [one for one in events(tmp_path) if one.HasField("session_log")]
    assert len(starts) == 1


def test_close_closes_every_file(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalars("a", {"b": 1, "c": 2})
    parts = list(writer.all_writers.values())  # or each would close itself when it goes
    records = [one.records for one in parts]
    assert not any(one.file.closed for one in records)
    writer.close()
    assert [one.file.closed for one in records] == [True] * 3


def test_add_scalars_begins_a_new_file_too(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.close()
    writer.add_scalars("a", {"b": 1})
    writer.close()
    assert tags(tmp_path / "a_b") == ["a"]


def test_the_context_closes_after_an_error(tmp_path):
    writer = SummaryWriter(tmp_path)
    with pytest.raises(ValueError, match="expected one number"), writer as entered:
        entered.add_scalar("a", 1), entered.add_scalar("b", [1, 2])
    assert entered is writer
    assert tags(tmp_path) == ["a"]
    assert writer.file_writer is None


def test_steps_after_the_purge_step_are_hidden(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        for step in range(6):
            writer.add_scalar("x", step, step)
    with SummaryWriter(tmp_path, purge_step=3) as writer:
        writer.add_scalar("x", 30, 3)
    found = [(one.step, one.value) for one in read(tmp_path).Scalars("x")]
    assert found == [(0, 0), (1, 1), (2, 2), (3, 30)]
    records = RawEventFileLoader(str(files(tmp_path)[-1])).Load()
    _, version, start, scalar = [Event.FromString(one) for one in records]
    assert (version.file_version, version.step) == ("brain.Event:2", 3)
    assert (start.session_log.status, start.step) == (SessionLog.START, 3)
    assert scalar.step == 3


def test_a_purge_step_of_zero_counts(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("x", 1, 0)
    with SummaryWriter(tmp_path, purge_step=0) as writer:
        writer.add_scalar("x", 2, 0)
    assert [one.value for one in read(tmp_path).Scalars("x")] == [2]


def test_a_file_writer_alone(tmp_path):
    writer = FileWriter(tmp_path, max_queue=100, flush_secs=50, filename_suffix=".x")
    assert writer.get_logdir() == str(tmp_path)
    summary = event_file.Event().summary
    summary.value.add(tag="a", simple_value=2)
    writer.add_summary(summary, 3, 4.5)
    writer.reopen()
    assert len(files(tmp_path)) == 1
    writer.close()
    writer.close()
    writer.flush()
    (event,) = events(tmp_path)
    assert (event.step, event.wall_time, event.summary.value[0].simple_value) == (3, 4.5, 2)
    with pytest.raises(ValueError, match=f"the writer of {tmp_path} is closed; reopen.. it"):
        writer.add_summary(summary)
    writer.reopen()
    writer.add_summary(summary)
    writer.close()
    assert len(files(tmp_path)) == 2
    assert len(events(tmp_path)) == 2


PROGRAM = """
import os, sys
from tensorlab.utils.tensorboard import SummaryWriter
writer = SummaryWriter(sys.argv[1])
writer.add_scalar("before", 1)
if sys.argv[2] == "fork":
    child = os.fork()
    if child == 0:
        writer.add_scalar("in the copy", 2)
        writer.flush()
        writer.close()
        sys.exit()
    os.waitpid(child, 0)
elif sys.argv[2] == "error":
    raise SystemExit(3)
elif sys.argv[2] == "forgotten":
    del writer
"""


@pytest.mark.parametrize("end", ["plain", "error", "forgotten", "fork"])
def test_at_the_end_of_the_program_all_is_written_once(tmp_path, end):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(tmp_path), end],
        capture_output=True,
        text=True,
    )
    assert done.returncode == (3 if end == "error" else 0), done.stderr
    assert tags(tmp_path) == ["before"]


def test_a_failing_write_is_an_error(tmp_path):
    writer = SummaryWriter(tmp_path)
    writer.add_scalar("a", 1)
    writer.file_writer.records.file.close()
    with pytest.raises(ValueError, match="closed file"):
        writer.flush()
    writer.file_writer.finish.detach()  # or it would try once more when the writer goes


def test_a_missing_library_is_named():
    program = """
import sys
sys.modules["tensorboardX"] = None
try:
    import tensorlab.utils.tensorboard
except ImportError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    expected = (
        "MissingExtra tensorlab.utils.tensorboard: needs the library tensorboardX; .*tensorlab-book"
    )
    assert re.match(expected + r"\[tensorboard\]", done.stdout)


def test_importing_tensorlab_leaves_it_out():
    program = "import sys, tensorlab; print({'tensorboardX', 'google.protobuf'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_pytorch_is_not_imported_and_can_be_imported_afterwards():
    program = """
import sys
import tensorlab.utils.tensorboard
print("torch" in sys.modules, "tensorboardX" in sys.modules)
sys.modules.pop("tensorboardX"), sys.modules.pop("tensorlab.utils.tensorboard.protos")
import types
sys.modules["torch"] = other = types.ModuleType("torch")
other.Tensor = int
import tensorlab.utils.tensorboard.protos
print(sys.modules["torch"] is other)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True", "True"]
