"""The karate club of the chapter on sparse tensors, and the matrix of its graph convolution."""

import importlib.util
from pathlib import Path

import pytest

import tensorlab as T

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/59-sparse/tiny_graph.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_graph", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)

# Of members 1 to 34 of Zachary's matrix.
DEGREES = [
    16,
    9,
    10,
    6,
    3,
    4,
    4,
    4,
    5,
    2,
    3,
    1,
    2,
    5,
    2,
    2,
    2,
    2,
    2,
    3,
    2,
    2,
    2,
    5,
    3,
    3,
    2,
    4,
    3,
    4,
    4,
    6,
]
DEGREES += [12, 17]


def test_the_club_has_78_friendships_and_each_member_as_many_as_in_the_paper():
    ends = tiny.friendships()
    assert ends.shape == (2, 156)
    assert T.unique(ends, dim=1).shape == (2, 156)
    assert T.bincount(ends[0]).tolist() == T.bincount(ends[1]).tolist() == DEGREES
    assert tiny.CLUB.count(0) == tiny.CLUB.count(1) == tiny.MEMBERS // 2


@pytest.mark.parametrize("repeated", [0, 20])
def test_the_matrix_is_that_of_the_formula(repeated):
    ends = tiny.friendships()
    dense = T.zeros(tiny.MEMBERS, tiny.MEMBERS)
    dense[ends[0], ends[1]] = 1.0
    dense += T.eye(tiny.MEMBERS)
    root = dense.sum(1).rsqrt()
    graph = tiny.normalized(T.cat([ends, ends[:, :repeated]], 1), tiny.MEMBERS)
    assert graph.is_coalesced()
    assert graph._nnz() == 156 + 34
    T.testing.assert_close(graph.to_dense(), root[:, None] * dense * root)


def test_two_labels_and_the_graph_sort_most_members():
    graph = tiny.normalized(tiny.friendships(), tiny.MEMBERS)
    assert all(tiny.right(tiny.train(graph, seed=seed)) >= 29 for seed in range(3))
