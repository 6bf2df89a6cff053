"""The small program of chapter 29: chains of modules, and hooks around a call."""

import importlib.util
from pathlib import Path

PROGRAM = Path(__file__).resolve().parents[2] / "chapters/29-containers-and-hooks/tiny_hooks.py"
SPECIFICATION = importlib.util.spec_from_file_location("tiny_hooks", PROGRAM)
tiny = importlib.util.module_from_spec(SPECIFICATION)
SPECIFICATION.loader.exec_module(tiny)


class Add(tiny.Module):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def forward(self, x):
        return x + self.number


def test_a_chain_calls_its_modules_in_order_and_names_them():
    chain = tiny.Chain(Add(1), tiny.Chain(Add(10), Add(100)))
    assert chain(0) == 111
    assert [name for name, _ in chain.named_modules()] == ["", "0", "1", "1.0", "1.1"]


def test_hooks_see_and_replace_arguments_and_results_until_they_are_removed():
    module, seen = Add(1), []
    looks = module.register_forward_pre_hook(lambda m, x: seen.append(x))
    doubles = module.register_forward_pre_hook(lambda m, x: 2 * x)
    negates = module.register_forward_hook(lambda m, x, y: -y)
    after = module.register_forward_hook(lambda m, x, y: seen.append((x, y)))
    assert module(5) == -11
    assert seen == [5, (10, -11)]
    doubles.remove()
    doubles.remove()
    assert module(5) == -6
    looks.remove()
    negates.remove()
    after.remove()
    assert module(5) == 6
    assert seen == [5, (10, -11), 5, (5, -6)]


def test_a_hook_may_remove_itself():
    module, handles = Add(1), []

    def once(m, x, y):
        handles.pop().remove()
        return 0

    handles.append(module.register_forward_hook(once))
    module.register_forward_hook(lambda m, x, y: y + 100)
    assert [module(1), module(1)] == [100, 102]
