"""Error messages that students meet: each has a section in the book, and says below which one."""

import copy
import pickle
import re
import traceback

import pytest

import tensorlab
from tensorlab import _pitfalls, nn
from tensorlab.cli import main
from tensorlab.cli.explain import CELL, PYTORCH, find, sections
from tensorlab.errors import ShapeError
from tensorlab.nn import functional as F
from tests.oracle import require_torch

KNOWN = sections()


def error_of(program):
    """Return the exception that a function raises."""
    try:
        program()
    except Exception as error:
        return error
    raise AssertionError("no error")


def raised(body, torch=tensorlab):
    """Run a section's program with a library; return the exception that it shows."""
    caught = []

    def says(program):
        caught.append(error_of(program))

    (program,) = CELL.findall(body)
    program = program.replace("tensorlab", torch.__name__)
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
    exec(program, {**names, "says": says, "__name__": "page"})
    (error,) = caught
    return error


def test_the_page_and_the_table_have_the_same_sections():
    assert set(KNOWN) == set(_pitfalls.SECTIONS)
    assert len(KNOWN) >= 50


@pytest.mark.parametrize("name", KNOWN)
def test_a_message_says_which_section_explains_it(name):
    error = raised(KNOWN[name][1])
    assert _pitfalls.section_for(str(error)) == name
    printed = "".join(traceback.format_exception_only(error))
    assert printed.endswith(f"\nWhat to do: tensorlab explain {name}\n")


@pytest.mark.parametrize("name", KNOWN)
def test_a_heading_is_made_of_words_of_its_message(name):
    title, body = KNOWN[name]
    said = set(re.findall(r"\w+", str(raised(body)).lower()))
    words = re.findall(r"\w+", title.lower())
    assert len(said.intersection(words)) >= 0.5 * len(words), (words, said)


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("matmul", lambda: tensorlab.mm(tensorlab.ones(4, 3), tensorlab.ones(2, 4, 3))),
        ("matmul", lambda: tensorlab.bmm(tensorlab.ones(2, 4, 3), tensorlab.ones(3, 3, 4))),
        ("kernel-size", lambda: F.max_pool2d(tensorlab.ones(1, 1, 2, 2), 3)),
        ("last-sizes", lambda: nn.LSTM(3, 4)(tensorlab.ones(2, 5, 7))),
        ("channels", lambda: nn.BatchNorm1d(3)(tensorlab.ones(4, 5))),
        ("image-dimensions", lambda: nn.BatchNorm2d(3)(tensorlab.ones(4, 5))),
        ("index", lambda: nn.Embedding(5, 2)(tensorlab.tensor([5]))),
        ("index", lambda: tensorlab.ones(2, 3).gather(1, tensorlab.tensor([[7], [0]]))),
        ("index-type", lambda: nn.Embedding(5, 2)(tensorlab.tensor([1.0]))),
        ("target-shape", lambda: F.binary_cross_entropy(tensorlab.rand(3, 1), tensorlab.rand(3))),
        ("dtypes", lambda: nn.Conv2d(3, 8, 3)(tensorlab.ones(2, 3, 8, 8).byte())),
        ("broadcast", lambda: tensorlab.ones(3).__setitem__(slice(2), tensorlab.ones(3))),
        ("no-dimensions", lambda: list(tensorlab.tensor(1))),
        ("ragged", lambda: tensorlab.tensor([[1, 2], 3])),
        ("device", lambda: tensorlab.ones(3, device="cuda")),
        ("leaf", lambda: nn.Linear(2, 2).weight.__setitem__(0, 1)),
        ("state-dict", lambda: nn.Linear(3, 2).load_state_dict(nn.Linear(4, 2).state_dict())),
        ("collate", lambda: list(tensorlab.utils.data.DataLoader([object()]))),
    ],
)
def test_a_sibling_leads_to_the_same_section(name, program):
    assert error_of(program).__notes__ == [f"What to do: tensorlab explain {name}"]


def test_a_message_about_types_is_not_taken_for_one_about_shapes():
    x = tensorlab.ones(2, 2)
    assert _pitfalls.section_for(str(error_of(lambda: tensorlab.mm(x, x.double())))) == "dtypes"


def test_an_error_that_the_book_does_not_explain_has_no_notes():
    assert not hasattr(ShapeError("something new"), "__notes__")
    assert not hasattr(_pitfalls.pointed(ValueError("something new")), "__notes__")


def test_other_notes_come_first_and_stay():
    error = ShapeError(
        "stack: tensor 1 has shape (3,), but the first one has (2,); all must be equal"
    )
    pointer = error.__notes__[0]
    error.add_note("While executing stack")
    assert error.__notes__ == ["While executing stack", pointer]
    assert error.__notes__ == ["While executing stack", pointer]
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert again.__notes__ == ["While executing stack", pointer]
    error.__notes__ = ["other"]
    assert error.__notes__ == ["other", pointer]
    plain = ShapeError("something new")
    plain.add_note("seen here")
    assert plain.__notes__ == ["seen here"]


# ---------------------------------------------------------------- tensorlab explain
def test_a_section_is_printed_without_marks(capsys):
    assert main(["explain", "backward-twice"]) == 0
    printed = capsys.readouterr().out
    assert "    y.backward()\n    y.backward()\n" in printed
    assert "retain_graph=True" in printed
    for mark in ("```", "{", "says", "lambda"):
        assert mark not in printed
    assert max(map(len, printed.splitlines())) <= 88


def test_sections_are_found_by_a_message_or_some_of_its_words(capsys):
    message = str(raised(KNOWN["cat"][1]))
    assert find(message, KNOWN) == ["cat"]
    assert find("Reset drop_last", KNOWN) == []
    assert find("drop_last", KNOWN) == ["one-sample"]
    assert main(["explain", "optimizer"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert all(line.split()[0] in KNOWN for line in lines)


def test_without_words_all_messages_are_listed(capsys):
    assert main(["explain"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(KNOWN)


def test_unknown_words_are_an_error(capsys):
    assert main(["explain", "xyzzy"]) == 1
    assert "nothing is known of 'xyzzy'" in capsys.readouterr().err


# ---------------------------------------------------------------- what PyTorch says instead
def said_by_pytorch(body):
    (message,) = PYTORCH.findall(body)
    return message


@pytest.mark.parametrize("name", KNOWN)
def test_a_section_is_found_by_what_pytorch_says(name):
    message = said_by_pytorch(KNOWN[name][1])
    assert name in find(message, KNOWN)
    assert name in find(f"RuntimeError: {message.replace('3', '17')}.", KNOWN)


def test_words_that_many_messages_have_are_no_message():
    assert len(find("out of", KNOWN)) > 2


@pytest.mark.parametrize("name", KNOWN)
def test_pytorch_says_it(name):
    error = raised(KNOWN[name][1], require_torch())
    assert said_by_pytorch(KNOWN[name][1]) in str(error)
    assert name in find(str(error), KNOWN)
