"""Backward passes as strips of pictures: what they say, and that it is what the engine did."""

import gc
import xml.etree.ElementTree as ElementTree

import pytest

import tensorlab as T
from tensorlab import viz
from tests.oracle import require_torch

SVG = "{http://www.w3.org/2000/svg}"


def diamond(library):
    x = library.tensor([1.0, 2.0], requires_grad=True)
    a = x * x
    b, c = a * 3, a + x
    return {"x": x, "a": a, "b": b, "c": c, "d": b * c}


def watch_diamond(library):
    names = diamond(library)
    with viz.Backward(names["d"], names=names) as film:
        names["d"].backward(library.ones(2))
    return film


DIAMOND = """\
d MulBackward0 -> b, c
c AddBackward0 -> a, x
b MulBackward0 -> a
a MulBackward0 -> x, x
x leaf

step  runs  its gradient  ready                waiting
0                         d (1, 1)             a 0 of 2, x 0 of 3
1     d     (1, 1)        c (3, 12), b (2, 6)  a 0 of 2, x 0 of 3
2     c     (3, 12)       b (2, 6)             a 1 of 2: (3, 12), x 1 of 3: (3, 12)
3     b     (2, 6)        a (9, 30)            x 1 of 3: (3, 12)
4     a     (9, 30)       x (21, 132)
5     x     (21, 132)"""


# ---------------------------------------------------------------- what it says
def test_a_diamond_waits_adds_up_and_runs_as_worked_out_by_hand():
    assert str(watch_diamond(T)) == DIAMOND


def test_pytorch_runs_the_diamond_in_the_same_order_with_the_same_numbers():
    assert str(watch_diamond(require_torch())) == DIAMOND


def several_programs(library):
    """Yield (name, results, names) of programs whose graphs differ in kind."""
    x = library.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    row = library.tensor([0.5, -1.0], requires_grad=True)
    yield "broadcast", [((x * row).tanh() + row).sum()], {"x": x, "row": row}
    first, second = (x * 2).unbind(0)
    yield "two outputs", [(first * second).sum()], {"x": x, "rows": first}
    y = x * 1
    y[0].mul_(row)
    yield "in place", [y.sum()], {"x": x, "row": row, "y": y}
    w = library.tensor([2.0], requires_grad=True)
    u, v = w * 3, w.exp()
    yield "two results", [u * v, v * 2], {"w": w, "u": u, "v": v}
    z = w
    for _ in range(6):
        z = z + z
    yield "doubled", [z], {"w": w}


@pytest.mark.parametrize("number", range(5))
def test_order_and_gradients_are_pytorchs(number):
    tables = []
    for library in (T, require_torch()):
        name, results, names = list(several_programs(library))[number]
        with viz.Backward(*results, names=names) as film:
            library.autograd.backward(results, [library.ones_like(one) for one in results])
        ran = [film.stops[i].kind.rpartition("::")[2] for i in film.gradients]
        tables.append((name, ran, [step.gradient for step in film.steps], film.counts))
    assert tables[0] == tables[1]


def test_the_order_is_that_in_which_hooks_of_tensors_are_called():
    names = diamond(T)
    heard = []
    for name, tensor in names.items():
        tensor.register_hook(lambda grad, name=name: heard.append((name, grad.tolist())))
    with viz.Backward(names["d"], names=names) as film:
        names["d"].backward(T.ones(2))
    runs = [(film.stops[step.runs].name, step.gradient) for step in film.steps[1:]]
    assert runs == [(name, viz.backward.gradient_text(T.tensor(grad))) for name, grad in heard]


def test_what_a_hook_puts_in_place_of_a_gradient_is_seen():
    x = T.ones(2, requires_grad=True)
    y = x * 3
    y.register_hook(lambda grad: grad * 10)
    with viz.Backward(y) as film:
        y.backward(T.ones(2))
    assert film.steps[1].gradient == "(10, 10)"
    assert film.steps[2].gradient == "(30, 30)"


def test_watching_changes_no_gradient_and_leaves_no_hook_and_no_tensor():
    names = diamond(T)
    names["d"].backward(T.ones(2), retain_graph=True)
    plain, names["x"].grad = names["x"].grad, None
    film = viz.Backward(names["d"], names=names)
    with film:
        names["d"].backward(T.ones(2), retain_graph=True)
    assert names["x"].grad.tolist() == plain.tolist()
    before = str(film)
    names["d"].backward(T.ones(2) * 5)
    assert str(film) == before
    del names, plain
    gc.collect()  # what others left would go meanwhile
    alive = T.live_tensors()
    film._repr_html_()
    assert T.live_tensors() == alive
    del film
    assert T.live_tensors() == alive


def test_nodes_that_lead_to_nothing_wanted_are_left_out():
    u, v = T.ones(1, requires_grad=True), T.ones(1, requires_grad=True)
    left, right = u.tanh(), v.tanh()
    out = left * right
    with viz.Backward(out, names={"u": u, "v": v, "left": left, "right": right}) as film:
        out.backward(inputs=[u])
    assert [film.stops[i].name for i in film.gradients] == ["#3", "left", "u"]
    assert str(film).splitlines()[-1].endswith("right left out, v left out")


def test_autograd_grad_ends_at_its_inputs_where_the_gradient_waits():
    x = T.tensor([2.0], requires_grad=True)
    y = x * x
    with viz.Backward(y, names={"x": x, "y": y}) as film:
        T.autograd.grad(y, x)
    assert str(film).splitlines()[-1] == "1     y     (1)                  x 2 of 2: (4)"


def test_a_pass_that_fails_ends_with_the_error():
    x = T.ones(2, requires_grad=True)
    y = x * 1
    out = (y * y).sum()
    film = viz.Backward(out, names={"x": x, "y": y})
    y.add_(1)
    with pytest.raises(RuntimeError, match="version"), film:
        out.backward()
    lines = str(film).splitlines()
    assert lines[-2].split()[:2] == ["2", "#2"]
    assert lines[-1].startswith("VersionError: backward: MulBackward0 needs")
    assert "VersionError" in film._repr_html_()


def test_large_gradients_are_told_by_shape_and_norm():
    x = T.ones(3, 4, requires_grad=True)
    y = x * 2
    with viz.Backward(y, names={"x": x}) as film:
        y.backward(T.ones(3, 4))
    assert film.steps[1].gradient == "(3, 4) norm 3.46"
    assert ">norm 3.46</text>" in film._repr_svg_()


def test_a_graph_of_too_many_nodes_is_refused():
    y = T.ones(1, requires_grad=True)
    for _ in range(30):
        y = y * 1
    with pytest.raises(ValueError, match=r"viz.Backward: .* more than 20 nodes"):
        viz.Backward(y)
    with pytest.raises(ValueError, match="viz.Backward: the tensor has no graph"):
        viz.Backward(T.ones(1))


# ---------------------------------------------------------------- how it is drawn
def frames_of(film):
    return ElementTree.fromstring(film._repr_html_()).findall(SVG + "svg")


def texts(frame):
    return [text.text for text in frame.iter(SVG + "text")]


def test_there_is_a_picture_for_the_start_and_for_each_step():
    film = watch_diamond(T)
    frames = frames_of(film)
    assert [texts(frame)[0] for frame in frames] == [
        "start",
        *(f"step {i}: {name} runs" for i, name in enumerate("dcbax", 1)),
    ]
    assert texts(frames[2])[-1] == "ready: b"
    assert "1 of 2" in texts(frames[2])


def test_states_differ_in_outline_and_in_words():
    film = watch_diamond(T)
    frame = frames_of(film)[2]  # c runs, d is done, b is ready, a and x wait
    outer = [box for box in frame.iter(SVG + "rect") if box.get("rx") == "11"]
    assert [box.get("stroke-width") for box in outer].count("2.5") == 1
    assert sum(box.get("stroke-dasharray") is not None for box in outer) == 1
    assert {"runs", "done", "ready", "1 of 2", "1 of 3"} <= set(texts(frame))


def test_nodes_stand_in_the_same_place_in_every_picture():
    film = watch_diamond(T)
    places = set()
    for frame in frames_of(film):
        places.add(tuple((r.get("x"), r.get("y")) for r in frame.iter(SVG + "rect")))
    assert len(places) == 1


def test_each_picture_says_in_words_what_it_shows():
    frame = frames_of(watch_diamond(T))[2]
    assert frame.find(SVG + "desc").text == (
        "c runs with (3, 12) and sends (3, 12) to a, (3, 12) to x. Ready: b (2, 6). "
        "Waiting: a 1 of 2: (3, 12), x 1 of 3: (3, 12)."
    )


def test_pictures_of_twenty_nodes_fit_a_phone():
    T.manual_seed(0)
    model = T.nn.Sequential(
        T.nn.Linear(2, 3), T.nn.Tanh(), T.nn.Linear(3, 3), T.nn.Tanh(), T.nn.Linear(3, 2)
    )
    loss = (model(T.ones(4, 2)) ** 2).mean()
    with viz.Backward(loss, names=dict(model.named_parameters())) as film:
        loss.backward()
    assert all(frame.width <= 470 for frame in film.picture().frames)  # 0.7 of it is a phone's 340
    small = watch_diamond(T).picture().frames
    assert all(2 * frame.width + 8 <= 340 for frame in small)


def test_a_strip_is_saved_as_a_file(tmp_path):
    film = watch_diamond(T)
    film.save(tmp_path / "film.svg")
    film.save(tmp_path / "film.html")
    assert "prefers-color-scheme:dark" in (tmp_path / "film.svg").read_text("utf-8")
    assert "its gradient" in (tmp_path / "film.html").read_text("utf-8")
    assert repr(film) == str(film)
