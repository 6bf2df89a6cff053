"""explain: figures that can be checked by hand, and texts that name what happened."""

import html
import logging
import os
import re
import subprocess
import sys
import warnings

import pytest

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler.build import calls_of
from tensorlab.compiler.logs import KINDS, log, set_logs, wants

x = torch.arange(1000.0)


def chain(a, b):
    return torch.tanh(a * b + 0.5) * 2


def test_the_figures_of_a_chain_are_those_of_paper_and_pencil():
    found = torch.compiler.explain(chain)(x, x + 1)
    assert torch.equal(found.result, chain(x, x + 1))
    assert (found.graph_count, found.graph_break_count, found.op_count) == (1, 0, 4)
    # each op reads and writes 4,000 bytes a tensor: mul 3 tensors, add, tanh and mul 2
    assert found.bytes_eager == 4000 * (3 + 2 + 2 + 2)
    assert found.bytes_fused == 4000 * 3
    assert found.peak_eager == 4000 * 2
    assert found.peak_fused == 4000
    assert len(found.sources) == 1
    assert "tl_tanhf(" in found.sources[0]
    assert 0 < found.seconds_eager < 10
    assert 0 < found.seconds_fused < 10


def test_guards_are_lines_of_python():
    scale = 2.0

    def f(a):
        return a * scale

    found = torch.compiler.explain(f)(x)
    assert any("scale" in line and "2.0" in line for line in found.guards)
    assert any("float32 (1000,)" in line for line in found.guards)


def test_breaks_name_file_and_line():
    def f(a):
        print("called")
        return a

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = torch.compiler.explain(f)(x)
    assert found.graph_count == 0
    assert found.graph_break_count >= 1
    assert found.seconds_eager is None
    assert re.search(r"test_explanation\.py:\d+: the function calls print", str(found))


def test_forward_and_backward_are_two_graphs():
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    found = torch.compiler.explain(net)(torch.ones(3, 4))
    assert found.graph_count == 2
    assert found.name == "Sequential"
    assert any(line.startswith("self.0.weight: Parameter") for line in found.guards)
    assert not any("__self__" in line for line in found.guards)
    assert "tanh_backward" in str(found.graphs[1]) or "tanh" in str(found.graphs[1])


def test_passes_are_counted():
    found = torch.compiler.explain(lambda a: (a * 1) + (a + 2) * (a + 2))(x)
    (piece,) = found.pieces
    assert piece.changes["eliminate_common_subexpressions"] >= 1
    assert len(calls_of(found.graphs[0])) < piece.before


def test_passes_that_change_nothing_are_said_to():
    assert "changes: none\n" in str(torch.compiler.explain(torch.sin)(x))


def test_the_text_has_all_parts():
    text = str(torch.compiler.explain(chain)(x, x))
    for part in (
        *("chain", "---- Guards", "---- Graph 0", "---- Generated C", "bytes moved, fused"),
        *("microseconds as Python", "microseconds replayed"),
    ):
        assert part in text
    assert "---- Breaks" not in text


def test_what_computes_nothing_needs_no_memory():
    found = torch.compiler.explain(lambda a: a)(x)
    assert (found.peak_eager, found.peak_fused, found.bytes_eager, found.bytes_fused) == (0,) * 4


def test_the_page_stands_alone_and_escapes_what_it_shows(tmp_path):
    found = torch.compiler.explain(lambda a: a < 3)(x)
    path = found.to_html(tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "&lt;lambda&gt;" in page
    assert "http" not in page
    assert "<script" not in page
    assert found._repr_html_() in page


def test_the_page_has_the_sections_of_the_text():
    found = torch.compiler.explain(chain)(x, x)
    page = found._repr_html_()
    headings = re.findall(r"<h2>(.*?)</h2><pre>", page)
    assert headings == ["Guards", "Graph 0", "Generated C"]
    assert html.escape(found.sources[0]) in page


# ------------------------------------------------------------------------------------------------ logs
@pytest.fixture
def no_logs():
    yield
    set_logs()


def test_logs_show_what_was_asked_for(capsys, no_logs):
    set_logs("graph", "code")
    torch.compile(lambda a: a * 3.25 + 1)(x)
    shown = capsys.readouterr().err
    assert "[tensorlab.compiler.graph]" in shown
    assert "[tensorlab.compiler.code]" in shown
    assert "[tensorlab.compiler.guards]" not in shown
    set_logs()
    torch.compile(lambda a: a * 3.25 + 1)(x)
    assert capsys.readouterr().err == ""


def test_logs_say_why_a_function_was_recorded_again(capsys, no_logs):
    set_logs("recompiles")
    g = torch.compile(lambda a, n: a * n)
    g(x, 2)
    g(x, 3)
    assert "no longer true: args[1] == 2" in capsys.readouterr().err


def test_logs_that_are_set_again_are_shown_once_and_other_handlers_stay(capsys, no_logs):
    root, other = logging.getLogger("tensorlab.compiler"), logging.NullHandler()
    root.addHandler(other)
    try:
        set_logs("graph")
        set_logs("graph", "code")
        log("graph", "text")
        assert capsys.readouterr().err == "[tensorlab.compiler.graph] text\n"
        assert other in root.handlers
        set_logs()
        assert root.handlers == [other]
    finally:
        root.removeHandler(other)


def test_the_environment_may_ask_for_logs():
    program = "import tensorlab as t; t.compile(lambda a: a * 2)(t.ones(2))"
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TENSORLAB_LOGS": "guards, breaks"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "[tensorlab.compiler.guards]" in answer.stderr
    assert "[tensorlab.compiler.graph]" not in answer.stderr


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="speed is unknown; choose from graph, guards"):
        set_logs("graph", "speed")


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_is_made_only_if_it_is_wanted(kind, capsys, no_logs):
    made = []
    log(kind, lambda: made.append(1) or "text")
    assert not made
    assert not wants(kind)
    set_logs(kind)
    log(kind, lambda: made.append(1) or "text")
    assert made
    assert wants(kind)
    assert capsys.readouterr().err == f"[tensorlab.compiler.{kind}] text\n"
