"""The small compile of chapter 47 gives what Python gives, and replays only while what Python read is the same."""

import importlib.util
import itertools
import math
import time
import warnings
from pathlib import Path

import pytest

import tensorlab as torch

FOLDER = Path(__file__).resolve().parents[2] / "chapters/47-capture-and-guards"


def load(name):
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


tiny, scenarios, breaks = load("tiny_capture"), load("scenarios"), load("breaks")
rate, items, flag = 2.0, [1.0, 2.0], "plus"
weight = torch.tensor([1.0, 2.0, 3.0, 4.0])
X = torch.tensor([1.0, 2.0, -3.0, 4.0])


def follow(function, *calls):
    """Call a function and its compiled form in turns; results must agree. Returns the compiled one."""
    compiled = tiny.Compiled(function)
    for given in calls:
        torch.manual_seed(3)
        expected, drawn = function(*given), torch.rand(1).item()
        torch.manual_seed(3)
        found = compiled(*given)
        assert tiny.exactly(found) == tiny.exactly(expected)
        pairs = zip(tiny.tensors_in([found]), tiny.tensors_in([expected]), strict=True)
        for one, other in pairs:
            assert one.tolist() == other.tolist()
        assert torch.rand(1).item() == drawn, "the generator is elsewhere"
    return compiled


def settle(x):
    y = x - 1
    if y.sum() > 0:
        return y * 2
    for _ in range(int(y.max())):
        y = y / 2
    return y


def test_branches_are_recorded_once_for_each_value_that_was_seen():
    rows = [1, 2, 3, 4], [-5, 2, 1, 3], [0, 2, 3, 4], [-5, 2, 1, 2], [-6, 2, 1, 3]
    compiled = follow(settle, *[(torch.tensor(row, dtype=torch.float32),) for row in rows])
    assert compiled.outcomes == ["recorded", "recorded", "replayed", "recorded", "replayed"]
    assert len(compiled.trees) == 1


def test_a_replay_does_not_run_the_python():
    def function(x):
        return x * rate

    compiled = tiny.Compiled(function)
    compiled(X)
    compiled.function = None
    compiled.outside = lambda: {"rate": rate}
    with pytest.raises(TypeError):
        compiled(X[:2])
    compiled.trees[compiled.guards((X,), {"rate": rate})].run([X], tiny.exactly)


NUMBERS = [1, True, 1.0, 0, False, 0.0, -0.0, 2, None, "1"]


def test_numbers_of_other_types_and_signs_are_other_recordings():
    def function(x, n):
        return x if n is None or n == "1" else x * n

    compiled = follow(function, *[(torch.tensor([1, 2]), n) for n in NUMBERS * 2])
    assert compiled.outcomes == ["recorded"] * len(NUMBERS) + ["replayed"] * len(NUMBERS)


def test_the_key_keeps_apart_what_a_program_can_tell_apart():
    row = torch.arange(6.0).reshape(2, 3)
    things = [
        *NUMBERS,
        math.nan,
        math.inf,
        -math.inf,
        [1, 2],
        (1, 2),
        [2, 1],
        [1, 2, 3],
        [[1], 2],
        [],
    ]
    things += [row, row.double(), row.reshape(3, 2), row.clone().requires_grad_(), [row], (row,)]
    things += [row.t().contiguous().t(), len, math, torch.float32, torch.float64, ()]
    for (i, one), (j, other) in itertools.product(enumerate(things), repeat=2):
        assert (tiny.exactly(one) == tiny.exactly(other)) == (i == j), (one, other)
    assert tiny.exactly(float("nan")) == tiny.exactly(float("nan"))
    assert tiny.exactly(row) == tiny.exactly(row + 1)


@pytest.mark.parametrize(
    "thing", [{1}, {"a": 1}, object(), print, time, lambda: 1, b"x", 1j, iter([])]
)
def test_the_key_refuses_what_it_does_not_know(thing):
    for value in (thing, [thing], (1, [thing])):
        with pytest.raises(tiny.Refused):
            tiny.exactly(value)


def test_layouts_of_arguments_are_guards():
    def function(x):
        return x.reshape(-1) + 1

    square = torch.randn(3, 3)
    calls = [
        square,
        square.t(),
        square.double(),
        square[:2],
        square.clone().requires_grad_(),
        square,
    ]
    compiled = follow(function, *[(one,) for one in calls])
    assert compiled.outcomes == ["recorded"] * 5 + ["replayed"]


def test_one_tensor_twice_is_another_recording():
    def function(x, y):
        return x * y

    compiled = follow(function, (X, X), (X, -X), (-X, -X), (X, X + 1))
    assert compiled.outcomes == ["recorded", "recorded", "replayed", "replayed"]
    assert tiny.Compiled(lambda x: x * weight)(weight).tolist() == [1, 4, 9, 16]


def test_a_global_tensor_is_an_input_and_other_globals_are_guards(monkeypatch):
    def function(x):
        return x * rate + items[0] - weight if flag == "plus" else x - weight

    compiled = tiny.Compiled(function)
    changes = [("rate", 2.0), ("weight", weight + 1), ("rate", 3.0), ("items", [5.0, 2.0])]
    changes += [("items", [5.0, 2.0]), ("flag", "minus"), ("flag", "plus"), ("rate", 3)]
    for name, value in changes:
        monkeypatch.setitem(globals(), name, value)
        assert compiled(X).tolist() == function(X).tolist(), name
    words = ["recorded", "replayed", "recorded", "recorded", "replayed", "recorded", "replayed"]
    assert compiled.outcomes == [*words, "recorded"]


def test_closed_over_variables_are_guards():
    factor, table = 2.0, [1.0]

    def function(x):
        return x * factor + table[0]

    compiled = tiny.Compiled(function)
    for step in range(4):
        assert compiled(X).tolist() == function(X).tolist()
        assert compiled(X).tolist() == function(X).tolist()
        if step == 0:
            factor = 3.0
        elif step == 1:
            table[0] = 4.0
        else:
            table.append(1.0)
    assert compiled.outcomes == ["recorded", "replayed"] * 4


def test_grad_mode_is_a_guard():
    def function(x):
        return x * 2

    compiled, x = tiny.Compiled(function), X.clone().requires_grad_()
    for _ in range(2):
        assert compiled(x).requires_grad
        with torch.no_grad():
            assert not compiled(x).requires_grad
    assert compiled.outcomes == ["recorded", "recorded", "replayed", "replayed"]
    assert len(compiled.trees) == 2


def test_a_size_that_depends_on_values_is_a_branch():
    def function(x):
        kept = x[x > 0]
        return kept * len(kept)

    compiled = follow(function, (X,), (X + 10,), (X * 2,), (X - 10,), (X + 11,))
    assert compiled.outcomes == ["recorded", "recorded", "replayed", "recorded", "replayed"]


def test_random_numbers_are_drawn_again_where_a_replay_is_given_up():
    def function(x):
        noise = torch.rand(4)
        return x + noise if (noise + x).sum() > 2 else x - noise

    follow(function, *[(torch.full((4,), float(i % 3)),) for i in range(9)])


def test_several_results_in_a_plain_tuple_are_new_each_time():
    def function(x):
        first, second = x.unbind()
        return [first, (second, x, 3)]

    compiled = follow(function, (X[:2],), (X[2:],), (X[1:3],))
    assert compiled.outcomes == ["recorded", "replayed", "replayed"]


def appends(x):
    items.append(3.0)
    return x * 2


def assigns(x):
    global rate
    rate = rate + 1
    return x * rate


def writes(x):
    x.add_(1)
    return x


def writes_an_item(x):
    x[0] = 3
    return x * 2


def changes_mode(x):
    with torch.no_grad():
        return x * 2


def has_a_helper(x):
    return settle(x)


def defines(x):
    return sum(one for one in x)


def returns_a_named_tuple(x):
    return x.max(0)


def returns_a_dict(x):
    return {"x": x}


def prints_never(x):
    if x.sum() > 1e9:
        print(x)
    return x


def hands_out_memory(x):
    return torch.from_numpy(x.numpy() * 2) + 1


REFUSED = {
    appends: "changes what comes from outside",
    assigns: "changes what comes from outside",
    writes: "writes to a tensor that comes from outside",
    writes_an_item: "writes to a tensor that comes from outside",
    changes_mode: "changes grad mode",
    has_a_helper: "uses settle",
    defines: "defines a function",
    returns_a_named_tuple: "comes from elsewhere",
    returns_a_dict: "uses a dict",
    prints_never: "uses print",
    hands_out_memory: "uses a ndarray",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_what_a_replay_might_miss_runs_as_python(function, monkeypatch):
    def run(call):
        monkeypatch.setitem(globals(), "items", [1.0, 2.0])
        monkeypatch.setitem(globals(), "rate", 2.0)
        x, found = X.clone(), []
        for _ in range(4):
            result = call(x)
            found.append(str(result) + str(x.tolist()) + str(items) + str(rate))
        return found

    compiled = tiny.Compiled(function)
    assert run(compiled) == run(function)
    assert compiled.outcomes == ["as Python"] * 4
    assert REFUSED[function] in compiled.refusal


def test_an_attribute_counted_up_is_refused():
    compiled = tiny.Compiled(breaks.counts_up)
    before = breaks.counter.calls
    for _ in range(3):
        compiled(X)
    assert breaks.counter.calls == before + 3
    assert compiled.outcomes == ["as Python"] * 3


def test_an_error_is_the_programs_own_and_nothing_is_recorded():
    def function(x, n):
        return x[int(x.max())] * [1.0, 2.0][n]

    compiled = tiny.Compiled(function)
    with pytest.raises(IndexError, match="list index"):
        compiled(torch.tensor([0.0, 1.0]), 2)
    assert not compiled.trees
    assert compiled(torch.tensor([0.0, 1.0]), 1).item() == 2
    with pytest.raises(IndexError):
        compiled(torch.tensor([0.0, 7.0]), 1)
    assert compiled(torch.tensor([0.0, 1.0]), 1).item() == 2
    assert compiled.outcomes[-1] == "replayed"


def test_an_error_in_a_replayed_op_is_raised_by_python():
    def function(i):
        return weight[i] * 2

    compiled = tiny.Compiled(function)
    assert compiled(torch.tensor([1, 2])).tolist() == [4, 6]
    with pytest.raises(IndexError):
        compiled(torch.tensor([1, 9]))
    assert compiled(torch.tensor([0, 3])).tolist() == [2, 8]
    assert compiled.outcomes == ["recorded", "recorded", "replayed"]  # Python ran for the error


def test_keyword_arguments_of_calls_are_recorded():
    def function(x, y):
        return torch.add(x, other=y, alpha=2).sum(dim=0, keepdim=True)

    compiled = follow(function, (X, X + 1), (X * 3, X - 1))
    assert compiled.outcomes == ["recorded", "replayed"]


def test_a_key_that_forgets_gives_wrong_results():
    def careless(value):
        return value if type(value) in (int, float, bool) else tiny.exactly(value)

    def function(x, n):
        return x / n

    compiled = tiny.Compiled(function, careless)
    assert compiled(torch.ones(1), 0.0).tolist() == [math.inf]
    assert compiled(torch.ones(1), -0.0).tolist() == [math.inf]  # what the chapter shows


def outcome_of(compiled, call):
    before = compiled.compiled.counts
    call()
    after = compiled.compiled.counts
    return next(word for word in after if after[word] != before[word])


def test_the_scenarios_of_the_chapter_come_out_as_it_says():
    found = {}
    for name in scenarios.SCENARIOS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            words = scenarios.run(name, lambda f: torch.compile(f, backend="eager"), outcome_of)
        assert len(words) == scenarios.CALLS
        found[name] = words.count("recorded"), words.count("as Python")
    assert found == {
        "the same each time": (1, 0),
        "three sizes": (3, 0),
        "a new size each time": (24, 0),
        "a global, there and back": (2, 0),
        "a branch on the sign": (2, 0),
        "a loop of 0 to 4 rounds": (3, 0),
        "an int, new each time": (8, 16),
        "the int in a tensor": (1, 0),
        "an attribute counted up": (0, 24),
        "a print": (0, 24),
    }


@pytest.mark.parametrize("name", breaks.BREAKS)
def test_each_break_of_the_chapter_warns_once_and_is_an_error_with_fullgraph(name):
    function, backend = breaks.BREAKS[name]
    compiled = torch.compile(function, backend=backend)
    with pytest.warns(UserWarning, match=r"breaks\.py:\d+: ") as found:
        [compiled(X) for _ in range(4)]
    assert len(found) == 1
    assert compiled.compiled.counts["replayed"] == 0
    whole = torch.compile(function, backend=backend, fullgraph=True)
    error = ValueError if backend is breaks.broken_backend else torch.compiler.Unsupported
    with pytest.raises(error):
        [whole(X) for _ in range(2)]
