"""The small program of chapter 37: it reads what pickle writes, calls what it may, and finds dragged memory."""

import importlib.util
import pickle
from collections import OrderedDict
from pathlib import Path

import pytest

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/37-saving-and-loading/tiny_pickle.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_pickle", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


@pytest.mark.parametrize(
    "value",
    [
        {"a": 1},
        {"epoch": 3, "loss": 0.5, "name": "süß", "none": None},
        [1, 2, [3, {}]],
        {"same": [row := [1, 2], row]},
        [],
    ],
    ids=str,
)
def test_it_reads_what_pickle_writes(value):
    data = pickle.dumps(value, protocol=2)
    machine = tiny.Machine(data, {})
    assert machine.run() == value
    assert b"".join(code for _, code, *_ in machine.log) + b"." == data
    assert [place for place, *_ in machine.log] == sorted({place for place, *_ in machine.log})


def test_what_was_one_object_is_one_again():
    row = [1, 2]
    found = tiny.Machine(pickle.dumps([row, row, 3], protocol=2), {}).run()
    assert found[0] is found[1]


def test_it_calls_only_what_it_may():
    data = pickle.dumps(OrderedDict(a=1), protocol=2)
    with pytest.raises(PermissionError, match=r"wants to call collections.OrderedDict\(\)"):
        tiny.Machine(data, {}).run()
    assert tiny.Machine(data, {"collections.OrderedDict": dict}).run() == {"a": 1}
    with pytest.raises(ValueError, match="doesn't know"):
        tiny.Machine(b"\x80\x02\x93.", {}).run()


def test_the_trace_is_the_one_on_the_page():
    machine = tiny.Machine(pickle.dumps({"a": 1}, protocol=2), {})
    machine.run()
    heights = [len(stack) for *_, stack in machine.log]
    assert heights == [0, 1, 1, 2, 2, 3, 1]
    assert len(machine.data) == 17


def test_dragged_memory_is_found():
    base = T.zeros(10, 4)
    found = tiny.unused({"row": base[2], "all": base.t(), "copy": base[2].clone(), "number": 3})
    assert found == {"row": (16, 160)}
