"""What a notebook shows: tables of tensors, trees of modules, optimizers, schedulers, and which attribute was meant."""

import re
import subprocess
import sys

import pytest

import tensorlab
from tensorlab import nn, optim
from tensorlab._notebook import attribute_meant


def cells(html):
    """Return the text of each row of a table, as lists of cells."""
    return [re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", row) for row in html.split("<tr>")[1:]]


def test_a_matrix_is_a_table_with_its_layout():
    html = tensorlab.arange(6.0).view(2, 3).T._repr_html_()
    assert "Tensor: shape (3, 2), dtype tensorlab.float32, strides (1, 3)" in html
    assert cells(html) == [["", "0", "1"], ["0", "0", "3"], ["1", "1", "4"], ["2", "2", "5"]]


def test_a_vector_is_one_row():
    assert cells(tensorlab.tensor([True, False])._repr_html_()) == [
        ["", "0", "1"],
        ["", "True", "False"],
    ]


def test_a_table_says_where_a_tensor_stands_in_a_graph():
    x = tensorlab.ones(2, requires_grad=True)
    assert "requires grad" in x._repr_html_()
    assert "grad_fn MulBackward0" in (x * 2)._repr_html_()
    assert "Parameter: shape" in nn.Parameter(x.detach())._repr_html_()


@pytest.mark.parametrize(
    "x",
    [
        tensorlab.ones(()),
        tensorlab.ones(0),
        tensorlab.ones(2, 2, 2),
        tensorlab.ones(21, 20),
        tensorlab.ones(21),
        tensorlab.ones(2, device="meta"),
    ],
    ids=lambda x: f"{tuple(x.shape)} on {x.device}",
)
def test_other_tensors_are_text(x):
    assert x._repr_html_() is None


def test_a_module_is_a_tree_that_folds():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.BatchNorm1d(3)), nn.ReLU())
    model[0].bias.requires_grad_(False)
    html = model._repr_html_()
    assert html.startswith(
        "<details open><summary>Sequential() <small>15 parameters, 3 of them frozen"
    )
    assert html.count("<details") == html.count("</details>") == 4
    assert "<code>weight</code> (3, 2)" in html
    assert "<code>running_mean</code> (3,) (buffer)" in html
    assert "<div><b>2</b> ReLU() <small>0 parameters</small></div>" in html


def test_a_shared_parameter_counts_once_and_a_lazy_one_has_no_shape_yet():
    model = nn.Module()
    model.a = nn.Linear(2, 3, bias=False)
    model.b = model.a
    assert "<small>6 parameters" in model._repr_html_()
    assert "<code>weight</code> not known yet" in nn.LazyLinear(3)._repr_html_()


def test_names_of_a_program_are_escaped():
    class Odd(nn.Module):
        def extra_repr(self):
            return "<script>"

    assert "&lt;script&gt;" in Odd()._repr_html_()


def test_an_optimizer_shows_its_groups_side_by_side():
    layer = nn.Linear(2, 3)
    optimizer = optim.SGD([{"params": [layer.weight]}, {"params": [layer.bias], "lr": 0.5}], lr=0.1)
    html = optimizer._repr_html_()
    assert "SGD, no step yet" in html
    rows = cells(html)
    assert rows[:3] == [["", "group 0", "group 1"], ["tensors", "1", "1"], ["parameters", "6", "3"]]
    assert ["lr", "0.1", "0.5"] in rows


def test_a_scheduler_shows_its_epoch_and_rates():
    optimizer = optim.SGD(nn.Linear(2, 3).parameters(), lr=0.1)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    optimizer.step()
    scheduler.step()
    rows = cells(scheduler._repr_html_())
    assert ["epoch", "1"] in rows
    assert ["lr", "0.05"] in rows
    assert ["gamma", "0.5"] in rows


def test_every_scheduler_can_be_shown():
    from tensorlab.optim import lr_scheduler

    optimizer = optim.SGD(nn.Linear(2, 3).parameters(), lr=0.1, momentum=0.9)
    first = lr_scheduler.StepLR(optimizer, 3)
    for scheduler in (
        first,
        lr_scheduler.ReduceLROnPlateau(optimizer),
        lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=10),
        lr_scheduler.ChainedScheduler([first]),
        lr_scheduler.SequentialLR(optimizer, [first, lr_scheduler.StepLR(optimizer, 3)], [2]),
    ):
        assert f"{type(scheduler).__name__} of SGD" in scheduler._repr_html_()


def error_of(call):
    with pytest.raises(AttributeError) as caught:
        call()
    return caught.value


def test_a_notebook_is_told_which_attribute_was_meant():
    layer = nn.Linear(2, 3)
    assert attribute_meant(error_of(lambda: layer.wieght)) == "weight"
    assert attribute_meant(error_of(lambda: tensorlab.ones(1).sume())) == "sum"
    assert attribute_meant(error_of(lambda: layer.entirely_different)) is None
    assert attribute_meant(error_of(lambda: "text".no_such_method())) is None
    assert attribute_meant(None) is None


def test_the_hint_stands_under_the_traceback_of_a_cell():
    pytest.importorskip("IPython")
    program = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import tensorlab; layer = tensorlab.nn.Linear(2, 3)")
shell.run_cell("layer.wieght")
shell.run_cell("1 / 0")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr.splitlines() == ["Did you mean: 'weight'?"]


def test_a_program_outside_of_a_notebook_reads_none_of_it():
    program = """
import sys, tensorlab
print([name for name in ("tensorlab._display", "tensorlab._notebook", "tensorlab.viz") if name in sys.modules])
print(tensorlab.viz.strides.__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[]", "strides"]
