"""Without a C compiler compiled functions run pointwise ops in blocks: results, gradients, writes; mistakes."""

import gc
import sys
import threading

import pytest
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab.compiler.blocks import BlockStep
from tensorlab.compiler.plan import Plan

import tensorlab as torch
from tensorlab import nn
from tensorlab.compiler import program
from tests.ops.replay import same_bits
from tests.ops.test_leaked_memory import counted, growth


@pytest.fixture
def no_compiler(monkeypatch, fresh):
    monkeypatch.setenv("TENSORLAB_CC", "/nowhere/cc")
    monkeypatch.setattr(
        program, "warned", {program.ToolchainError, *all_below(program.ToolchainError)}
    )


def all_below(cls):
    for one in cls.__subclasses__():
        yield one
        yield from all_below(one)


def steps_of(function):
    return [
        step
        for entry in function.compiled.entries
        for piece in entry.program.pieces
        for step in piece.plan.steps
    ]


def chain(x, y):
    return ((x * y + 0.5).tanh() * x).sigmoid() - y


# ---------------------------------------------------------------- compiled functions
@pytest.mark.usefixtures("no_compiler")
@pytest.mark.parametrize("n", [1, 8, 5000, 100_000])
def test_a_compiled_chain_is_one_step(n):
    x, y = torch.randn(n), torch.randn(n)
    f = torch.compile(chain)
    for _ in range(3):
        assert same_bits(f(x, y), chain(x, y))
    assert f.compiled.counts["replayed"] == 2
    (step,) = steps_of(f)
    assert type(step) is BlockStep
    assert set(step.dead) == set(step.reads)  # nothing reads the inputs afterwards


@pytest.mark.usefixtures("no_compiler")
def test_gradients_are_those_of_the_ops():
    def f(x, w, b):
        return ((x @ w + b).tanh() * x.exp() + b.sigmoid()).square().sum()

    leaves = [torch.randn(40, 40), torch.randn(40, 40), torch.randn(40)]
    ours = [x.clone().requires_grad_() for x in leaves]
    theirs = [x.clone().requires_grad_() for x in leaves]
    compiled = torch.compile(f)
    for _ in range(2):
        compiled(*ours).backward()
        f(*theirs).backward()
    for one, other in zip(ours, theirs, strict=True):
        assert same_bits(one.grad, other.grad)
    (entry,) = compiled.compiled.entries
    forward, backward = [piece.plan.steps for piece in entry.program.pieces]
    assert any(isinstance(step, BlockStep) for step in forward)
    assert any(isinstance(step, BlockStep) for step in backward)


@pytest.mark.usefixtures("no_compiler")
def test_a_gradient_of_one_of_two_results():
    def f(x):
        y = (x * 2).tanh()
        return y.exp() * x, y - 1

    compiled = torch.compile(f)
    for k in (0, 0, 1, 1):
        x = torch.linspace(-2, 2, 3000).requires_grad_()
        z = x.detach().clone().requires_grad_()
        (compiled(x)[k] * 3).sum().backward()
        (f(z)[k] * 3).sum().backward()
        assert same_bits(x.grad, z.grad)


@pytest.mark.usefixtures("no_compiler")
def test_writes_and_aliases_are_those_of_the_program():
    def f(x, y):
        x.mul_(2).add_(y)
        z = x.view(-1) * 3 + 1
        y[1:].sub_(z[: y.numel() - 1]).mul_(0.5)
        return z, x

    compiled = torch.compile(f)
    for _ in range(3):
        x, y = torch.randn(5000), torch.randn(5000)
        a, b = x.clone(), y.clone()
        got, want = compiled(x, y), f(a, b)
        assert got[1] is x
        for one, other in zip((*got, x, y), (*want, a, b), strict=True):
            assert same_bits(one, other)
    x = torch.randn(5000)
    z = x.clone()
    for _ in range(2):  # both arguments are one tensor
        got, want = compiled(x, x), f(z, z)
        assert same_bits(got[0], want[0])
        assert same_bits(x, z)
    assert any(isinstance(step, BlockStep) for step in steps_of(compiled))


@pytest.mark.usefixtures("no_compiler")
def test_results_have_memory_of_their_own():
    f = torch.compile(lambda x: (x + 1).exp())
    x = torch.randn(5000)
    results = [f(x) for _ in range(4)]
    assert len({one.data_ptr() for one in results}) == 4
    results[1].zero_()
    assert same_bits(results[2], (x + 1).exp())


@pytest.mark.usefixtures("no_compiler")
def test_values_that_python_looks_at_and_empty_tensors():
    def f(x):
        y = (x * 2 + 1).tanh()
        return y * 3 + 1 if y.sum() > 0 else y.exp() - 2

    compiled = torch.compile(f)
    for x in (torch.ones(3000), -torch.ones(3000), torch.ones(3000), torch.ones(0)):
        for _ in range(2):
            assert same_bits(compiled(x), f(x))


@pytest.mark.usefixtures("no_compiler")
def test_a_training_step_leaves_the_same_parameters():
    def train(compile_it):
        torch.manual_seed(3)
        net = nn.Sequential(
            nn.Linear(20, 50), nn.GELU(), nn.Linear(50, 30), nn.SiLU(), nn.Linear(30, 1)
        )
        optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        x, y = torch.randn(64, 20), torch.randn(64, 1)
        call = torch.compile(net) if compile_it else net
        for _ in range(5):
            optimizer.zero_grad()
            ((call(x) - y) ** 2).mean().backward()
            optimizer.step()
        return list(net.parameters())

    for one, other in zip(train(True), train(False), strict=True):
        assert same_bits(one.detach(), other.detach())


@pytest.mark.usefixtures("no_compiler")
def test_explain_shows_groups_in_blocks():
    x = torch.randn(1000)
    found = torch.compiler.explain(chain)(x, x)
    assert found.block_count == 1
    assert ("of them in blocks", 1) in found.summary()
    assert ("of them kernels", 0) in found.summary()
    assert "sub = blocks of mul, add, tanh, sigmoid, sub (" in str(found)
    assert found.sources == []
    # x, which is both arguments, is read once, and the result is written; op by op each operand and result counts
    assert found.bytes_fused == 4000 * 2
    assert found.bytes_eager == 4000 * (2 + 2 + 2 + 3 + 2 + 3)


def test_the_warning_says_what_happens(monkeypatch, fresh):
    monkeypatch.setenv("TENSORLAB_CC", "/nowhere/cc")
    monkeypatch.setattr(program, "warned", set())
    x = torch.ones(10)
    with pytest.warns(
        UserWarning, match="/nowhere/cc.* Pointwise ops run in blocks, all others one by one"
    ):
        torch.compile(chain)(x, x)


@pytest.mark.usefixtures("fresh")
def test_with_a_compiler_and_without_code_nothing_runs_in_blocks():
    x = torch.ones(10)
    for options in ({}, {"options": {"code": False}}, {"backend": "aot_eager"}):
        f = torch.compile(chain, **options)
        f(x, x)
        assert not any(isinstance(step, BlockStep) for step in steps_of(f))


# ---------------------------------------------------------------- the step
def meta(*shape, dtype=torch.float32):
    return torch.empty(*shape, dtype=dtype, device="meta")


MUL, ADD, LESS = REGISTRY["mul"], REGISTRY["add"], REGISTRY["lt"]
F32, F64 = torch.float32, torch.float64


def block_step(**changes):
    """out = (x * 3) + row, where places are 0: x, 1: row, 2: out, 3: the constant, 4 and 5: buffers"""
    given = {
        "inputs": (0, 1),
        "outputs": (2,),
        "given": (meta(6, 4), meta(4)),
        "likes": (meta(6, 4),),
        "constants": [(F32, 3.0)],
        "instructions": [
            (MUL, F32, (4, 0, 3)),
            ("gather", F32, (6, 4), (0, 1), 5, 1),
            (ADD, F32, (2, 4, 5)),
        ],
        "buffers": 2,
        "row_bytes": 40,
        **changes,
    }
    return BlockStep(*given.values())


def test_a_step_runs_its_instructions():
    x, row = torch.randn(6, 4), torch.randn(4)
    (found,) = Plan(2, 3, [block_step()], (2,)).run([x, row])
    assert same_bits(found, x * 3 + row)
    assert repr(block_step()) == "3 instructions on blocks of 10: (0, 1) -> (2,)"


@counted
def test_a_step_gives_its_memory_back():
    program = [(MUL, F32, (23, 0, 3))] * 50
    program += [("gather", F32, (6, 4), (0, 1), 24, 1), (ADD, F32, (2, 23, 24))]
    assert growth(lambda: block_step(constants=[(F32, 3.0)] * 20, instructions=program)) < 8


def test_a_block_is_as_long_as_its_widest_row_allows():
    assert "blocks of 1024:" in repr(block_step(row_bytes=4096))
    double = block_step(
        row_bytes=4096, constants=[(F64, 3.0)], instructions=[("convert", F32, F64, 2, 3)]
    )
    assert "blocks of 512:" in repr(double)
    assert "blocks of 1:" in repr(block_step(row_bytes=1))


def test_threads_get_as_much_work_as_the_loops_together_ask_for():
    many = [(MUL, F32, (4, 0, 3))] * 8
    assert block_step(instructions=many[:1]).grain == 32768
    assert block_step(instructions=many).grain == 4096
    assert block_step(instructions=[("convert", F32, F32, 2, 0)]).grain == 65536
    assert block_step(instructions=many, row_bytes=40960).grain == 10240
    assert block_step(instructions=[]).grain == 10


MISTAKES = [
    ({"given": (meta(6, 4),)}, "a tensor on meta is needed for each of the 2 inputs"),
    ({"given": (meta(6, 4), 3)}, "a tensor on meta is needed"),
    ({"likes": ()}, "needs a tensor on meta for each of its 1 outputs"),
    ({"outputs": (), "likes": ()}, "0 outputs, 2 buffers and rows of 40"),
    ({"buffers": -1}, "-1 buffers"),
    ({"row_bytes": 0}, "rows of 0 bytes"),
    ({"buffers": 1}, "place 5 cannot be written"),
    ({"inputs": (0,) * 96, "given": (meta(6, 4),) * 96}, "has 97 tensors; at most 96 fit"),
    ({"constants": [(F32, None, 2)]}, "there is no input 2"),
    ({"constants": [(F32, None, -1)]}, "there is no input -1"),
    ({"constants": [(F32, None, 1)], "given": (meta(6, 4), meta(0))}, "an empty tensor"),
    ({"instructions": [(MUL, torch.float16, (4, 0, 3))]}, "mul has no loop for float16"),
    ({"instructions": [(REGISTRY["sum"], F32, (4, 0, 3))]}, "sum has no loop"),
    ({"instructions": [(MUL, F32, (4, 0))]}, "mul needs 3 places, not 2"),
    ({"instructions": [(MUL, F32, (0, 0, 3))]}, "place 0 cannot be written"),
    ({"instructions": [(MUL, F32, (3, 0, 3))]}, "place 3 cannot be written"),
    ({"instructions": [(MUL, F32, (4, 0, 6))]}, "place 6 cannot be read"),
    ({"instructions": [(MUL, F32, (4, 0, -1))]}, "place -1 cannot be read"),
    ({"instructions": [(MUL, F32, (4, 0, 1))]}, "tensor 1 is no row of 24 elements of 4 bytes"),
    ({"instructions": [(MUL, F64, (4, 0, 3))]}, "tensor 0 is no row of 24 elements of 8 bytes"),
    ({"instructions": [(LESS, F32, (2, 0, 3))]}, "tensor 2 is no row of 24 elements of 1 bytes"),
    ({"instructions": [("convert", F32, F64, 2, 0)]}, "tensor 0 is no row"),
    ({"instructions": [("convert", F64, F32, 2, 0)]}, "tensor 2 is no row"),
    ({"instructions": [("convert", F32, F32, 0, 4)]}, "place 0 cannot be written"),
    ({"instructions": [("gather", F32, (6, 4), (0, 1), 5, 2)]}, "there is no input 2"),
    ({"instructions": [("gather", F32, (6, 4), (0, 1), 1, 1)]}, "place 1 cannot be written"),
    ({"instructions": [("gather", F32, (6, 5), (0, 1), 5, 1)]}, "do not fit input 1"),
    ({"instructions": [("gather", F32, (6, 4), (1, 1), 5, 1)]}, "do not fit input 1"),
    ({"instructions": [("gather", F32, (6, 4), (0, -1), 5, 1)]}, "nothing can be gathered"),
    ({"instructions": [("gather", F32, (24, 0), (0, 1), 5, 1)]}, "nothing can be gathered"),
    ({"instructions": [("gather", F32, (24,), (0, 1), 5, 1)]}, "nothing can be gathered"),
    ({"instructions": [("gather", F32, (24, *[1] * 16), (0,) * 17, 5, 1)]}, "nothing can be gathered"),
    ({"instructions": [("gather", F32, (24,), (0,), 5, 1)], "given": (meta(6, 4), meta(0))}, "do not fit"),
    ({"instructions": [("gather", F32, (24,), (0,), 5, 1)], "given": (meta(6, 4), meta(3, 0))}, "do not fit"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), MISTAKES)
def test_a_step_that_would_leave_its_memory_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        block_step(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"constants": [("float32", 3.0)]},
        {"constants": [3]},
        {"constants": None},
        {"instructions": [None]},
        {"instructions": [(MUL, None, (4, 0, 3))]},
        {"instructions": [(MUL, F32, None)]},
        {"instructions": [("convert", F32, None, 2, 0)]},
        {"instructions": [("gather", F32, None, None, 2, 0)]},
    ],
)
def test_a_step_of_nonsense_raises(changes):
    with pytest.raises(TypeError):
        block_step(**changes)


def test_a_step_refuses_what_is_no_tensor_or_has_no_memory():
    plan = Plan(2, 3, [block_step()], (2,))
    with pytest.raises(TypeError):
        plan.run([torch.ones(6, 4), None])
    with pytest.raises(RuntimeError):
        plan.run([meta(6, 4), torch.ones(4)])


def test_runs_leave_nothing_behind_and_may_overlap():
    plan = Plan(2, 3, [block_step()], (2,))
    x, row = torch.randn(6, 4), torch.randn(4)
    want, wrong = x * 3 + row, []
    plan.run([x, row])
    gc.collect()
    before, references = torch.live_tensors(), sys.getrefcount(x)

    def work():
        for _ in range(300):
            wrong.extend([1] * (not same_bits(plan.run([x, row])[0], want)))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
    gc.collect()
    assert (torch.live_tensors(), sys.getrefcount(x)) == (before, references)
