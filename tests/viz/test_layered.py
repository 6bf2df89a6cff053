"""The layout of graphs: layers, order within them, places."""

import pytest

from tensorlab.viz.layered import (
    Edge,
    Vertex,
    crossings,
    order_layers,
    place,
    split_layers,
    spread,
)


def test_layers_follow_the_longest_path():
    bottom = Vertex("c")
    middle = Vertex("b", edges=[Edge(bottom)])
    top = Vertex("a", edges=[Edge(bottom), Edge(middle)])
    layers = split_layers([top, middle, bottom])
    assert [vertex.layer for vertex in (top, middle, bottom)] == [0, 1, 2]
    assert len(layers[1]) == 2  # a stand-in for the edge that passes


def test_ordering_takes_a_crossing_away():
    left, right = Vertex("left"), Vertex("right")
    layers = [[Vertex("a", edges=[Edge(right)]), Vertex("b", edges=[Edge(left)])], [left, right]]
    assert crossings(layers) == 1
    order_layers(layers)
    assert crossings(layers) == 0


def test_places_keep_the_distances_and_come_near_to_the_wish():
    layer = [Vertex(lines=["1234"]) for _ in range(3)]
    spread(layer, [5.0, 0.0, 400.0])
    distance = layer[0].width + 20
    assert layer[1].x - layer[0].x == pytest.approx(distance)
    assert (layer[0].x + layer[1].x) / 2 == pytest.approx(2.5)
    assert layer[2].x == 400.0


def test_a_layer_with_one_vertex_is_centred_under_its_parents():
    target = Vertex(lines=["t"])
    parents = [Vertex(lines=["a"], edges=[Edge(target)]), Vertex(lines=["b"], edges=[Edge(target)])]
    place([parents, [target]])
    assert target.x == pytest.approx((parents[0].x + parents[1].x) / 2)
