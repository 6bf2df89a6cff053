"""Pictures of autograd graphs: what is in them, and where it is drawn."""

import gc
import re
import xml.etree.ElementTree as ElementTree

import pytest

import tensorlab as T
from tensorlab import viz
from tests.oracle import require_torch

SVG = "{http://www.w3.org/2000/svg}"


def leaf(*values):
    return T.tensor(list(values), requires_grad=True)


def diamond():
    x = leaf(1.0, 2.0)
    a = x * x
    b, c = a * 3, a + x
    d = b * c
    return x, a, d


def boxes(picture):
    """Return (left, right, top, bottom) of every outline in the drawing."""
    tree = ElementTree.fromstring(picture._repr_svg_())
    found = []
    for box in tree.iter(SVG + "rect"):
        x, y, width, height = (float(box.get(key)) for key in ("x", "y", "width", "height"))
        found.append((x, x + width, y, y + height))
    return tree, found


# ---------------------------------------------------------------- what is in it
def test_the_text_lists_nodes_last_made_first_then_leaves():
    x, a, d = diamond()
    assert str(viz.graph(d, names={"x": x, "a": a, "d": d})).splitlines() == [
        "d: (2,), made by #4",
        "#4 MulBackward0 -> #2, #3",
        "#3 AddBackward0 -> #1, x",
        "#2 MulBackward0 -> #1",
        "#1 MulBackward0 -> x, x, made a (2,)",
        "x: leaf (2,)",
    ]


def test_unnamed_results_and_leaves_get_names_of_their_own():
    text = str(viz.graph(leaf(1.0) * leaf(2.0)))
    assert text.splitlines()[0] == "result: (1,), made by #1"
    assert text.splitlines()[-2:] == ["leaf1: leaf (1,)", "leaf2: leaf (1,)"]


def test_an_edge_to_a_later_output_tells_its_number():
    _, second = (leaf(1.0, 2.0) * 1).unbind(0)
    picture = viz.graph(second * 2)
    assert "-> #2[1]" in str(picture)
    assert ">1</text>" in picture._repr_svg_()


def test_notes_stand_in_the_boxes_of_their_nodes():
    _, _, d = diamond()
    picture = viz.graph(d, notes={d.grad_fn: "runs first"})
    assert "#4 MulBackward0 -> #2, #3, runs first" in str(picture)
    assert "runs first" in picture._repr_svg_()


def test_an_in_place_op_on_a_view_is_seen():
    x = leaf(1.0, 2.0)
    base = x * 1
    base.as_strided((1,), (1,), 0).mul_(3)
    assert "CopySlices" in str(viz.graph(base))


def test_a_picture_does_not_keep_the_graph_alive():
    gc.collect()  # what other tests have left is not to go meanwhile
    x = leaf(1.0)
    before = T.live_tensors()
    picture = viz.graph((x * x).tanh())
    assert T.live_tensors() == before
    assert "TanhBackward0" in str(picture)


def test_a_tensor_without_a_graph_is_refused():
    with pytest.raises(ValueError, match="no graph"):
        viz.graph(leaf(1.0))
    with pytest.raises(ValueError, match="no tensors"):
        viz.graph()


def test_a_graph_that_is_too_large_is_refused_and_may_be_allowed():
    y = leaf(1.0)
    for _ in range(120):
        y = y * 1.0
    with pytest.raises(ValueError, match="most_nodes"):
        viz.graph(y)
    assert "#120" in str(viz.graph(y, most_nodes=200))


def test_a_graph_of_pytorch_is_drawn_as_well():
    torch = require_torch()
    x = torch.ones(2, requires_grad=True)
    assert str(viz.graph(x.tanh() + x * x, names={"x": x})).splitlines() == [
        "result: (2,), made by #3",
        "#3 AddBackward0 -> #1, #2",
        "#2 MulBackward0 -> x, x",
        "#1 TanhBackward0 -> x",
        "x: leaf (2,)",
    ]


# ---------------------------------------------------------------- where it is
def test_every_node_lies_below_those_that_point_to_it_and_boxes_do_not_overlap():
    x, a, d = diamond()
    w = leaf(3.0, 4.0)
    out = (d * w + (a * w).tanh() * x).sum()
    tree, found = boxes(viz.graph(out, names={"x": x, "w": w}))
    _, _, width, height = map(float, tree.get("viewBox").split())
    outer = [box for box in found if not any(inside(box, other) for other in found)]
    for box in outer:
        assert 0 <= box[0] < box[1] <= width
        assert 0 <= box[2] < box[3] <= height
    for i, one in enumerate(outer):
        for other in outer[:i]:
            assert apart(one, other)


def inside(box, other):
    return box != other and (
        other[0] <= box[0] and box[1] <= other[1] and other[2] <= box[2] and box[3] <= other[3]
    )


def apart(one, other):
    return one[1] < other[0] or other[1] < one[0] or one[3] < other[2] or other[3] < one[2]


def test_the_same_graph_gives_the_same_picture():
    assert viz.graph(diamond()[2])._repr_svg_() == viz.graph(diamond()[2])._repr_svg_()


def test_the_drawing_says_in_words_what_it_shows():
    tree = ElementTree.fromstring(viz.graph(diamond()[2])._repr_html_())
    title, description = tree.find(SVG + "title"), tree.find(SVG + "desc")
    assert tree.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert title.text == "Autograd graph of result"
    assert "#4 MulBackward0 -> #2, #3" in description.text


def test_the_ink_is_the_page_s():
    picture = viz.graph(diamond()[2])
    assert not re.search(r"#[0-9a-f]{6}", picture._repr_html_())


# ---------------------------------------------------------------- of a module
class Twice(T.nn.Module):
    """A module that uses one layer two times, and an op of its own between."""

    def __init__(self):
        super().__init__()
        self.layer = T.nn.Linear(2, 2, bias=False)

    def forward(self, x):
        return {"out": self.layer(self.layer(x).tanh()), "note": "not a tensor"}


def test_a_module_is_run_and_its_parameters_and_parts_are_named():
    model = T.nn.Sequential(T.nn.Linear(2, 3), T.nn.Tanh())
    assert str(viz.graph(model, T.ones(1, 2))).splitlines() == [
        "result: (1, 3), made by #2",
        "#2 TanhBackward0 -> #1, in 1 (Tanh)",
        "#1 AddmmBackward0 -> 0.weight, 0.bias, in 0 (Linear)",
        "0.weight: leaf (3, 2)",
        "0.bias: leaf (3,)",
    ]


def test_a_node_belongs_to_the_innermost_module_that_made_it():
    inner = Twice()
    outer = T.nn.Sequential(T.nn.Identity(), inner)
    text = str(viz.graph(outer, T.ones(1, 2, requires_grad=True), names={"x": T.ones(1)}))
    assert text.count("in 1.layer (Linear)") == 2
    (tanh,) = [line for line in text.splitlines() if "TanhBackward0" in line]
    assert tanh.endswith("in 1 (Twice)")


def test_the_graph_of_a_loss_names_the_parameters_of_a_module():
    model = T.nn.Linear(2, 1)
    text = str(viz.graph(model(T.ones(3, 2)).sum(), module=model))
    assert text.splitlines()[-2:] == ["weight: leaf (1, 2)", "bias: leaf (1,)"]


def test_drawing_a_module_leaves_no_hook_behind():
    model = T.nn.Sequential(T.nn.Linear(2, 2))
    viz.graph(model, T.ones(1, 2))
    with pytest.raises(Exception, match="linear"):
        viz.graph(model, T.ones(1, 5))
    assert not model[0]._forward_hooks
    assert not model[0]._forward_pre_hooks


def test_what_is_no_tensor_or_gives_no_graph_is_refused():
    with pytest.raises(TypeError, match="a str is given"):
        viz.graph("loss")
    with pytest.raises(ValueError, match="Identity gave nothing that has a graph"):
        viz.graph(T.nn.Identity(), T.ones(1))


def test_a_module_of_pytorch_is_drawn_as_well():
    torch = require_torch()
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
    text = str(viz.graph(model, torch.ones(1, 2)))
    assert "AddmmBackward0 -> 0.bias" in text
    assert "TanhBackward0 -> #2, in 1 (Tanh)" in text
