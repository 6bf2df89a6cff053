"""What checkpoint takes where `use_reentrant` is missing, and where its warnings point."""

import pytest

import tensorlab
from tensorlab.utils.checkpoint import checkpoint, checkpoint_sequential

LAYERS = [tensorlab.nn.Linear(2, 2), tensorlab.nn.Tanh(), tensorlab.nn.Linear(2, 1)]
CALLS = {
    "checkpoint": lambda x, **options: checkpoint(tensorlab.tanh, x, **options),
    "checkpoint_sequential": lambda x, **options: checkpoint_sequential(LAYERS, 2, x, **options),
}


@pytest.mark.parametrize("name", CALLS)
def test_use_reentrant_is_taken_as_true_with_a_warning_at_the_call(name):
    x = tensorlab.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match=f"^{name}: pass use_reentrant explicitly") as caught:
        y = CALLS[name](x)
    assert caught[0].filename == __file__
    graphs = [graph_of(y), *(graph_of(CALLS[name](x, use_reentrant=one)) for one in (True, False))]
    assert graphs[0] == graphs[1] != graphs[2]


def graph_of(y):
    """The names of the nodes behind a tensor."""
    names, waiting = [], [y.grad_fn]
    while waiting:
        node = waiting.pop()
        names.append(node.name())
        waiting += [following for following, _ in node.next_functions if following is not None]
    return names


def test_keywords_for_the_function_are_refused_where_use_reentrant_is_missing():
    with (
        pytest.warns(UserWarning, match="use_reentrant"),
        pytest.raises(ValueError, match="use_reentrant=False passes them on"),
    ):
        checkpoint(tensorlab.tanh, tensorlab.ones(2), out=None)
