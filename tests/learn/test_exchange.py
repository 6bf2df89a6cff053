"""The judge answers only what it has to, and hears what is no message as the end of the other process."""

import io
import json

import pytest

import tensorlab as torch
from tensorlab.learn.exchange import Exchange
from tensorlab.learn.expect import Watch
from tensorlab.learn.judge import Broken


class Table:
    """An object of a check."""

    def __init__(self):
        self.rows = [1, 2, 3]
        self._truth = 42

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self.rows[i]

    def double(self, x):
        return 2 * x


def judge_that_hears(*messages):
    """Return the judge's end of a line on which these messages arrive."""
    lines = [m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages]
    return Exchange("j", io.BytesIO(b"".join(lines)), io.BytesIO())


def answers_of(judge):
    return [json.loads(line) for line in judge.writer.getvalue().splitlines()]


DONE = {"answer": ["list", "w90", [None, ["list", "w91", []]]], "state": None}


def asked(kind, *arguments):
    """Return what a student's process hears when it asks about a Table that it was sent."""
    question = {"ask": kind, "with": ["list", "w1", list(arguments)], "state": None}
    judge = judge_that_hears(question, DONE)
    judge.wire.pack_message(Table())  # its name is j1
    judge.ask("call")
    return answers_of(judge)[1]


TABLE = ["yours", "j1"]


def test_what_a_check_hands_over_can_be_used():
    assert asked("len", TABLE)["answer"][2][0] == 3
    assert asked("item", TABLE, 1)["answer"][2][0] == 2
    assert asked("get", TABLE, "rows")["answer"][2][0][2] == [1, 2, 3]
    assert "error" not in asked("get", TABLE, "double")


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("get", (TABLE, "_truth")),
        ("get", (TABLE, "__class__")),
        ("get", (TABLE, "__init__")),
        ("set", (TABLE, "rows", 0)),
        ("set item", (TABLE, 0, 0)),
        ("enter", (TABLE,)),
        ("exit", (TABLE, ["public", "builtins", "int"])),
        ("trace", ("j1",)),
        ("operator", (TABLE, "__getattribute__", "_truth")),
        ("call", (["public", "builtins", "int"], ["list", "w2", ["7"]], ["dict", "w3", []])),
        ("run", ("print(1)",)),
        ("names", (["list", "w2", ["seasons"]],)),
        ("watched call", (TABLE, ["list", "w2", []], ["dict", "w3", []])),
        ("no such question", (TABLE,)),
    ],
)
def test_what_it_keeps_to_itself_is_refused(kind, arguments):
    error = asked(kind, *arguments)["error"]
    assert error["kinds"][0] in ("builtins.AttributeError", "builtins.TypeError")
    assert "42" not in json.dumps(error)


def told(*what):
    """Return what a check hears of a call of the answer in a block that watches it."""
    message = {
        "answer": ["list", "w90", [["tuple", [5, *what]], ["list", "w91", []]]],
        "state": None,
    }
    judge = judge_that_hears(message)
    with Watch().in_charge() as watch:
        assert judge.ask("call", None, [], {}) == 5
    assert answers_of(judge)[0]["ask"] == "watched call"
    return watch


def test_a_block_that_watches_calls_hears_what_they_did():
    watch = told(["list", "w92", ["exp", "sum", 7]], 4096)
    assert watch.names == {"exp", "sum"}
    assert watch.taken == 4096


@pytest.mark.parametrize("what", [(), ("exp", 1), (["list", "w92", []], True), (None, 1)])
def test_what_does_not_say_what_a_call_did_is_no_message(what):
    with pytest.raises(Broken):
        told(*what)


def test_an_attribute_of_a_function_is_not_read():
    question = {"ask": "get", "with": ["list", "w1", [["yours", "j1"], "__globals__"]]}
    judge = judge_that_hears(question, DONE)
    judge.wire.pack_message(lambda x: x)
    judge.ask("call")
    assert "error" in answers_of(judge)[1]


@pytest.mark.parametrize(
    "message",
    [b"", b"no json\n", b"[1]\n", b"[" * 100_000 + b"\n", b"half a message", {"answer": ["what"]}],
    ids=["nothing", "text", "a list", "deep", "half", "an unknown tag"],
)
def test_what_is_no_message_is_an_end(message):
    with pytest.raises(Broken):
        judge_that_hears(message).ask("names")


def test_an_error_of_a_class_that_is_not_known_becomes_one_of_that_name():
    kinds = ["reader.Mine", "tensorlab.errors.ShapeError", "builtins.RuntimeError"]
    about = {"kinds": kinds, "text": "too small", "origin": "w1"}
    with pytest.raises(torch.errors.ShapeError, match="too small") as caught:
        judge_that_hears({"answer": [], "error": about, "state": None}).ask("call")
    assert type(caught.value).__name__ == "Mine"


@pytest.mark.parametrize("kind", ["builtins.SystemExit", "subprocess.Popen", "builtins.eval"])
def test_an_error_that_is_none_is_a_plain_one(kind):
    about = {"kinds": [kind], "text": "x", "origin": "w1"}
    with pytest.raises(Exception, match="x") as caught:
        judge_that_hears({"answer": [], "error": about, "state": None}).ask("call")
    assert type(caught.value).__bases__ == (Exception,)
