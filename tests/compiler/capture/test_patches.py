"""Functions and methods of tensorlab that a program replaces: recordings made with the old ones no longer hold."""

import contextlib
import sys
import types

import pytest

import tensorlab as torch
import tensorlab.nn.functional as F
from tensorlab import nn, optim

pytestmark = pytest.mark.usefixtures("fresh")
MISSING = object()


@contextlib.contextmanager
def patched(owner, name, value):
    before = vars(owner).get(name, MISSING)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


def five(*args, **kwargs):
    return torch.full((2,), 5.0)


relu = nn.ReLU()
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
PATCHES = {
    "a function": (F, "relu", lambda x: F.relu(x) * 2),
    "a function of the package": (torch, "relu", lambda x: torch.relu(x) * 2),
    "a function by its path": (F, "relu", lambda x: torch.nn.functional.relu(x) * 2),
    "a function that a module calls": (F, "linear", lambda x: F.linear(x, x[None]) * 2),
    "a method": (torch.Tensor, "relu", lambda x: x.relu() * 2),
    "an operator": (torch.Tensor, "__add__", lambda x: (x + x) * 2),
    "a method of the program": (torch.Tensor, "mine", lambda x: x.mine() * 2),
    "forward": (nn.ReLU, "forward", lambda x: relu(x) * 2),
    "forward of a part": (nn.Linear, "forward", lambda x: net(x) * 2),
    "a method that a class inherits": (nn.ReLU, "__call__", lambda x: relu(x) * 2),
    "__call__ of all modules": (nn.Module, "__call__", lambda x: relu(x) * 2),
    "__init__": (
        nn.ReLU,
        "__init__",
        lambda x: x * len(vars(nn.ReLU())),
    ),
}


@pytest.mark.filterwarnings("ignore:compile")
@pytest.mark.parametrize("name", PATCHES)
def test_what_is_patched_after_the_recording_is_called(name):
    owner, attribute, program = PATCHES[name]
    x = torch.tensor([-1.0, 2.0])
    with patched(torch.Tensor, "mine", lambda self: self * 7):
        compiled = torch.compile(program)
        for _ in range(3):
            before = compiled(x)
        replaces = (lambda self: None) if attribute == "__init__" else five
        with patched(owner, attribute, replaces), contextlib.suppress(AttributeError):
            expected = program(x)
            for _ in range(3):
                assert torch.equal(compiled(x), expected)
            assert not torch.equal(expected, before)
        for _ in range(3):
            assert torch.equal(compiled(x), before)


def test_recordings_before_and_after_a_patch_are_both_kept():
    x = torch.tensor([-1.0, 2.0])
    compiled = torch.compile(lambda x: F.relu(x) * 2)
    for _ in range(3):
        compiled(x)
        with patched(F, "relu", torch.abs):
            assert torch.equal(compiled(x), x.abs() * 2)
        assert torch.equal(compiled(x), x.relu() * 2)
    assert compiled.compiled.counts == {"replayed": 7, "recorded": 2, "as Python": 0}


def test_a_change_of_something_else_leaves_recordings_alone():
    x = torch.tensor([-1.0, 2.0])
    compiled = torch.compile(lambda x: F.relu(x) * 2)
    compiled(x)
    for value in range(5):
        with patched(F, "of_no_use", value), patched(torch, "of_no_use", value):
            compiled(x)
        with nn.modules.module.register_module_forward_hook(lambda *_: None):
            pass
        compiled(x)
    assert compiled.compiled.counts["recorded"] == 1


def test_a_patch_counts_in_the_branch_that_calls_it():
    def program(x):
        return F.relu(x) if x.sum() > 0 else F.elu(x)

    compiled = torch.compile(program)
    xs = torch.tensor([-1.0, 2.0]), torch.tensor([-2.0, 1.0])
    for _ in range(2):
        for x in xs:
            compiled(x)
    assert len(compiled.compiled.entries) == 1
    for name in ("relu", "elu"):
        with patched(F, name, five):
            for x in xs:
                assert torch.equal(compiled(x), program(x)), name


@pytest.mark.parametrize("holds", ["a cell", "a global", "a default"])
def test_what_a_method_of_the_program_reads_is_guarded(holds):
    def method(rate):
        methods = {
            "a cell": lambda self: self * rate[0],
            "a global": lambda self: self * scale[0],
            "a default": lambda self, rate=rate: self * rate[0],
        }
        return methods[holds]

    x = torch.ones(2)
    rate = [3]
    with patched(torch.Tensor, "mine", method(rate)):
        compiled = torch.compile(lambda x: x.mine())
        for _ in range(2):
            compiled(x)
        rate[0] = scale[0] = 4
        assert torch.equal(compiled(x), x * 4)
    scale[0] = 3


scale = [3]


def branching(x):
    return F.relu(x) * 2 if x.sum() > 0 else F.softmin(x, 0) * 2


@pytest.mark.parametrize("name", ["relu", "softmin", "_given_dim"])
def test_what_only_a_branch_uses_is_noticed_in_it(name):
    compiled = torch.compile(branching)
    signs = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), torch.tensor([[-1.0, -2.0], [-3.0, -5.0]])
    for x in (*signs, *signs):
        assert torch.equal(compiled(x), branching(x))
    (entry,) = compiled.compiled.entries
    assert entry.paths == 2
    before = branching(signs[0]), branching(signs[1])
    with patched(F, name, (lambda *args: 1) if name == "_given_dim" else five):
        expected = branching(signs[0]), branching(signs[1])
        assert any(not torch.equal(one, other) for one, other in zip(before, expected, strict=True))
        assert all(map(torch.equal, map(compiled, signs), expected))


def test_a_global_of_tensorlabs_own_code_is_noticed():
    layer, x = nn.Linear(2, 2), torch.ones(2)
    compiled = torch.compile(lambda x: layer(x) * 2)
    for _ in range(2):
        compiled(x)
    with patched(sys.modules["tensorlab.nn.linear"], "F", types.SimpleNamespace(linear=five)):
        assert compiled(x).tolist() == [10.0, 10.0]
    assert torch.equal(compiled(x), layer(x) * 2)


def test_a_patched_step_of_an_optimizer_is_called():
    x = nn.Parameter(torch.ones(2))
    optimizer = optim.SGD([x], lr=0.25)

    @torch.compile
    def step(grad):
        x.grad = grad
        optimizer.step()

    for _ in range(3):
        step(torch.ones(2))
    assert x.tolist() == [0.25, 0.25]
    with patched(optim.SGD, "step", lambda self, closure=None: None):
        step(torch.ones(2))
        assert x.tolist() == [0.25, 0.25]
    step(torch.ones(2))
    assert x.tolist() == [0.0, 0.0]


def test_guards_say_that_something_of_tensorlab_is_another_one():
    compiled = torch.compile(lambda x: F.relu(x) * 2)
    x = torch.ones(2)
    compiled(x)
    with patched(F, "relu", five):
        why = compiled.compiled.entries[0].trace.guards.why((x,), {})
    assert why == "a function or a method of tensorlab is another one"
