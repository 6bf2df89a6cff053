"""What nodes have saved and which hooks they have, in the picture of a graph."""

import gc
import re
import xml.etree.ElementTree as ElementTree

import pytest

import tensorlab as T
from tensorlab import viz
from tests.oracle import require_torch

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(params=["tensorlab", "torch"])
def library(request):
    return T if request.param == "tensorlab" else require_torch()


def tanh_of_product(library):
    x = library.tensor([1.0, 2.0], requires_grad=True)
    c = library.tensor([3.0, 4.0])
    y = x * c
    return {"x": x, "c": c, "y": y, "out": y.tanh()}


class Twice(T.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor)
        return x * factor * 2

    @staticmethod
    def backward(ctx, grad):
        _, factor = ctx.saved_tensors
        return grad * factor * 2, None


# ---------------------------------------------------------------- saved tensors
def test_saved_tensors_are_told_with_name_bytes_and_version(library):
    names = tanh_of_product(library)
    assert str(viz.graph(names["out"], names=names, saved=True)).splitlines() == [
        "out: (2,), made by #2",
        "#2 TanhBackward0 -> #1",
        "    saves result: (2,), 8 bytes, version 0",
        "#1 MulBackward0 -> x, made y (2,)",
        "    saves other: c (2,), 8 bytes, version 0",
        "x: leaf (2,)",
        "saved: 2 tensors in 2 storages of 16 bytes",
    ]


def test_a_version_that_was_raised_since_is_stale(library):
    x = library.ones(2, requires_grad=True)
    y = x * 1
    z = (y * y).sum()
    y.add_(1)
    picture = viz.graph(z, names={"x": x, "y": y}, saved=True)
    stale = r"    saves (self|other): (y \(2,\), 8 bytes, )?version 0, now 1: stale"
    assert len(re.findall(stale, str(picture))) == 2
    root = ElementTree.fromstring(picture._repr_svg_())
    texts = [text.text for text in root.iter(SVG + "text")]
    assert sum(str(text).endswith("now 1") for text in texts) == 2
    assert "version 0, now 1: stale" in root.find(SVG + "desc").text
    crosses = [path for path in root.iter(SVG + "path") if path.get("d").endswith("-20")]
    assert len(crosses) == 2


def test_a_version_raised_before_saving_is_not_stale(library):
    x = library.ones(2, requires_grad=True)
    y = x * 1
    y.add_(1)
    y.add_(1)
    text = str(viz.graph(y.tanh() * y, names={"y": y}, saved=True))
    assert "saves other: y (2,), 8 bytes, version 2" in text
    assert "stale" not in text


def test_memory_that_two_nodes_keep_is_counted_once():
    x = T.ones(100, requires_grad=True)
    y = x.exp()
    text = str(viz.graph((y * y[:50].sum()).sum(), names={"x": x, "y": y}, saved=True))
    assert "saves self: y (100,), 400 bytes" in text
    assert text.splitlines()[-1].startswith("saved: 3 tensors in 2 storages of 404 bytes")


def test_what_backward_has_freed_is_said_to_be_freed(library):
    names = tanh_of_product(library)
    names["out"].sum().backward()
    lines = str(viz.graph(names["out"], names=names, saved=True)).splitlines()
    assert lines.count("    saved: freed") == 2
    assert lines[-1].startswith("saved: 0 tensors in 0 storages of 0 bytes")


def test_what_a_custom_function_has_saved_is_told():
    x, factor = T.ones(2, requires_grad=True), T.ones(2)
    out = Twice.apply(x, factor)
    text = str(viz.graph(out, names={"x": x, "factor": factor}, saved=True))
    assert "saves tensors[0]: x (2,), 8 bytes, version 0" in text
    assert "saves tensors[1]: factor (2,), 8 bytes, version 0" in text


def test_drawing_ends_no_sharing_and_keeps_nothing_alive():
    x = T.ones(3, requires_grad=True)
    y = x._lazy_clone()
    out = y.exp() * y
    address = y._storage_address()
    gc.collect()  # what others left would go meanwhile
    alive = T.live_tensors()
    picture = viz.graph(out, saved=True, hooks=True)
    assert T.live_tensors() == alive
    assert x._storage_address() == y._storage_address() == address
    out.sum().backward()
    assert "saves" in str(picture)


def test_a_picture_with_saved_tensors_holds_its_texts():
    names = tanh_of_product(T)
    root = ElementTree.fromstring(viz.graph(names["out"], names=names, saved=True)._repr_svg_())
    _, _, width, height = map(float, root.get("viewBox").split())
    for text in root.iter(SVG + "text"):
        x, length = float(text.get("x")), len(text.text) * 0.62 * float(text.get("font-size", 12))
        left = x - {"start": 0, "middle": length / 2, "end": length}[text.get("text-anchor")]
        assert 0 <= left
        assert left + length <= width + 0.5
        assert 0 <= float(text.get("y")) <= height


# ---------------------------------------------------------------- hooks
def scale(grad):
    """Stand for a hook of a tensor."""
    return grad * 2


def look(*gradients):
    """Stand for a hook that looks only."""


def test_hooks_are_told_in_the_order_of_their_calls(library):
    names = tanh_of_product(library)
    names["y"].register_hook(scale)
    names["y"].retain_grad()
    names["y"].grad_fn.register_hook(look)
    names["y"].grad_fn.register_prehook(look)
    names["x"].register_hook(look)
    names["x"].register_hook(scale)
    names["x"].register_post_accumulate_grad_hook(look)
    assert str(viz.graph(names["out"], names=names, hooks=True)).splitlines() == [
        "out: (2,), made by #2",
        "#2 TanhBackward0 -> #1",
        "#1 MulBackward0 -> x, made y (2,)",
        "    tensor hook: scale",
        "    retains its gradient",
        "    prehook: look",
        "    hook: look",
        "x: leaf (2,)",
        "    tensor hook: look",
        "    tensor hook: scale",
        "    after hook: look",
    ]


def test_hooks_of_two_results_of_one_node_are_told_once_each(library):
    first, second = (library.ones(2, requires_grad=True) * 1).unbind(0)
    first.register_hook(look)
    second.register_hook(scale)
    names = {"first": first, "second": second}
    lines = str(viz.graph(first * second, names=names, hooks=True)).splitlines()
    assert [line for line in lines if "tensor hook" in line] == [
        "    tensor hook: look",
        "    tensor hook: scale",
    ]


def test_looking_at_hooks_leaves_none_behind(library):
    names = tanh_of_product(library)
    names["x"].register_hook(look)
    once = str(viz.graph(names["out"], names=names, hooks=True))
    assert str(viz.graph(names["out"], names=names, hooks=True)) == once
    names["out"].sum().backward()
    assert names["x"].grad is not None
