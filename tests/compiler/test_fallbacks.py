"""compile: calls that can't be replayed run as Python, with all their effects and errors."""

import warnings

import pytest

import tensorlab as torch
from tensorlab import nn
from tests.compiler.comparing import equal

F = nn.functional

pytestmark = pytest.mark.usefixtures("fresh")

x, y = torch.randn(4, 5), torch.randn(4, 5)


def effects():
    counter, seen = {"n": 0}, []

    def with_print(a):
        print("called")
        return a + 1

    def with_list(a):
        seen.append(a.shape)
        return a + 1

    def with_dict(a):
        counter["n"] += 1
        return a * counter["n"]

    return [(with_print, None), (with_list, seen), (with_dict, counter)]


@pytest.mark.parametrize("number", range(3))
def test_effects_happen_at_every_call(number, capsys):
    function, trace = effects()[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g = torch.compile(function)
        for _ in range(6):
            g(x)
    assert g.compiled.counts["replayed"] == 0
    if trace is None:
        assert capsys.readouterr().out == "called\n" * 6
    else:
        assert trace == {"n": 6} or trace == [x.shape] * 6


def test_a_result_may_still_have_a_graph_that_backward_has_been_through():
    def made():
        w = torch.ones(3, requires_grad=True)

        def f(a):
            loss = (a * w).sin().sum()
            loss.backward(retain_graph=True)
            return loss

        return f, w

    (f, w), (g, v) = made(), made()
    g = torch.compile(g)

    def agree(k):
        a = torch.arange(3.0) + k
        mine, other = g(a), f(a)
        mine.backward()
        other.backward()
        return equal(mine, other) and torch.allclose(v.grad, w.grad)

    with pytest.warns(UserWarning, match="a result through which backward can run again"):
        found = [agree(k) for k in range(5)]
    assert all(found)


def test_a_warning_names_the_line_once():
    def f(a):
        print(a.shape)
        return a

    g = torch.compile(f)
    with pytest.warns(
        UserWarning, match=r"test_fallbacks\.py:\d+: the function calls print"
    ) as found:
        results = [g(x) for _ in range(5)]
    assert equal(results, [x] * 5)
    assert len(found) == 1
    assert found[0].filename == __file__


def test_fullgraph_raises_where_a_call_cannot_be_recorded():
    def f(a):
        print(a.shape)
        return a

    with pytest.raises(torch.compiler.Unsupported, match="calls print"):
        torch.compile(f, fullgraph=True)(x)


def test_parts_of_a_module_that_prints_are_compiled():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.rest = nn.Linear(5, 5), nn.ModuleList([nn.Linear(5, 5), nn.ReLU()])

        def forward(self, a):
            print("called")
            a = self.first(a)
            for one in self.rest:
                a = one(a)
            return a

    net = Net()
    call = torch.compile(net)
    with pytest.warns(UserWarning, match="Net runs as Python"):
        results = [call(x) for _ in range(6)]
    assert all(equal(one, results[0]) for one in results)
    for part in (net.first, net.rest[0], net.rest[1]):
        assert part._compiled_call_impl.compiled.counts["replayed"] >= 2


def test_modules_that_a_function_calls_are_compiled_where_it_prints():
    net, parts = nn.Sequential(nn.Linear(5, 5), nn.Tanh()), nn.ModuleList([nn.Linear(5, 5)])
    compiled, unused = torch.compile(nn.Linear(5, 5)), nn.Linear(5, 5)

    @torch.compile
    def step(a):
        print("called")
        return compiled(parts[0](net(a)) * 2).sum()

    expected = step.__wrapped__(x)
    with pytest.warns(UserWarning, match="step runs as Python"):
        results = [step(x) for _ in range(7)]  # three of them are tried as a whole
    assert all(equal(one, expected) for one in results)
    for one in (net, parts[0]):
        assert one._compiled_call_impl.compiled.counts == {
            "replayed": 3,
            "recorded": 1,
            "as Python": 0,
        }
    assert "_compiled_call_impl" not in vars(net[0])  # it is a part of one that is compiled
    assert "_compiled_call_impl" not in vars(parts)
    assert "_compiled_call_impl" not in vars(unused)
    assert "_compiled_call_impl" not in vars(compiled)
    assert step.compiled.refusals[0].modules == ()  # it keeps none of them alive


def test_an_exception_in_the_middle_is_the_same_one():
    def f(a, n):
        a.add_(1)
        if n > 2:
            raise KeyError("three")
        return a * 2

    g = torch.compile(f)
    for n in (1, 1, 3, 1, 3):
        a, b = torch.zeros(2), torch.zeros(2)
        try:
            expected = f(a, n)
        except KeyError:
            with pytest.raises(KeyError, match="three"):
                g(b, n)
        else:
            assert equal(g(b, n), expected)
        assert equal(b, a)


def test_an_error_of_an_op_is_the_ops_own():
    table = torch.randn(4, 3)
    g = torch.compile(lambda i: F.embedding(i, table) * 2)
    for _ in range(2):
        assert g(torch.tensor([1, 2])).shape == (2, 3)
    with pytest.raises(IndexError, match="embedding"):
        g(torch.tensor([1, 9]))
    assert g(torch.tensor([1, 3])).shape == (2, 3)
