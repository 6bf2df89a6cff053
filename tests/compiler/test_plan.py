"""Plans: steps over slots, checked before they run, and safe whatever they are given."""

import ctypes
import gc
import sys
import threading

import pytest
from tensorlab._core.dispatch.op import REGISTRY
from tensorlab.compiler.plan import CallStep, ItemStep, KernelStep, Plan, Slot

import tensorlab
from tensorlab.compiler.build import build_plan
from tests.compiler.driver import record

KERNEL = ctypes.CFUNCTYPE(
    None,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.c_int64,
    ctypes.c_int64,
)


def call(name, *arguments, output, **options):
    return CallStep(REGISTRY[name], arguments, output, **options)


def meta(*shape, dtype=tensorlab.float32):
    return tensorlab.empty(*shape, dtype=dtype, device="meta")


@KERNEL
def add_number(tensors, numbers, begin, end):
    """out = x + numbers[0], for floats"""
    x = ctypes.cast(tensors[0], ctypes.POINTER(ctypes.c_float))
    out = ctypes.cast(tensors[1], ctypes.POINTER(ctypes.c_float))
    for i in range(begin, end):
        out[i] = x[i] + numbers[0]


def kernel_step(**changes):
    given = {
        "name": "add_number",
        "address": ctypes.cast(add_number, ctypes.c_void_p).value,
        "inputs": (0,),
        "outputs": (1,),
        "likes": (meta(8),),
        "numbers": (3,),
        "count": 8,
        "grain": 8,
        **changes,
    }
    return KernelStep(*given.values())


def test_steps_run_in_order_and_outputs_come_in_order():
    steps = [
        call("add", Slot(0), Slot(1), output=2),
        call("mul", Slot(2), 3, output=3, dead=(2,)),
        call("sum", Slot(3), [0], True, None, output=4),
    ]
    x, y = tensorlab.arange(6.0).view(2, 3), tensorlab.ones(3)
    total, product = Plan(2, 5, steps, (4, 3)).run([x, y])
    assert tensorlab.equal(product, (x + y) * 3)
    assert tensorlab.equal(total, ((x + y) * 3).sum(0, keepdim=True))


def test_lists_and_tuples_of_slots_become_lists_and_tuples():
    steps = [
        call("cat", [Slot(0), Slot(1)], 0, output=2),
        call("split", Slot(2), 2, 0, output=3),
        ItemStep(3, 1, 4, dead=(3,)),
        call("stack", (Slot(4), Slot(4)), 0, output=5),
    ]
    x, y = tensorlab.arange(3.0), tensorlab.arange(3.0, 6.0)
    (found,) = Plan(2, 6, steps, (5,)).run([x, y])
    assert found.tolist() == [[2, 3], [2, 3]]


def test_a_kernel_gets_its_tensors_and_numbers():
    (found,) = Plan(1, 2, [kernel_step()], (1,)).run([tensorlab.arange(8.0)])
    assert found.tolist() == [3, 4, 5, 6, 7, 8, 9, 10]
    assert found.dtype == tensorlab.float32


def test_a_kernel_is_called_for_ranges_that_cover_its_count():
    ranges = []

    @KERNEL
    def note(tensors, numbers, begin, end):
        ranges.append((begin, end))

    address = ctypes.cast(note, ctypes.c_void_p).value
    steps = [kernel_step(address=address, likes=(meta(1000),), count=1000, grain=100)]
    Plan(1, 2, steps, (1,)).run([tensorlab.zeros(1000)])
    covered = sorted(i for begin, end in ranges for i in range(begin, end))
    assert covered == list(range(1000))


def test_an_output_of_a_kernel_has_the_strides_of_its_like():
    like = tensorlab.empty_strided((2, 4), (1, 2), device="meta")
    (found,) = Plan(1, 2, [kernel_step(likes=(like,))], (1,)).run([tensorlab.arange(8.0)])
    assert found.stride() == (1, 2)
    assert found.t().reshape(-1).tolist() == [3, 4, 5, 6, 7, 8, 9, 10]


def test_an_output_of_a_kernel_keeps_the_strides_of_dimensions_of_size_one():
    like = tensorlab.empty_strided((1, 8), (1, 1), device="meta")
    (found,) = Plan(1, 2, [kernel_step(likes=(like,))], (1,)).run([tensorlab.arange(8.0)])
    assert found.stride() == (1, 1)
    assert found.tolist() == [[3, 4, 5, 6, 7, 8, 9, 10]]


def test_memory_of_a_dead_value_is_given_back_before_the_plan_ends():
    n = 1 << 20
    chain = [call("neg", Slot(i), output=i + 1, dead=(i,) if i else ()) for i in range(8)]
    kept = [call("neg", Slot(i), output=i + 1) for i in range(8)]
    x = tensorlab.zeros(n)
    peaks = []
    for steps in (chain, kept):
        plan = Plan(1, 9, steps, (8,))
        tensorlab.reset_peak_memory_stats()
        before = tensorlab.memory_stats()["allocated_bytes"]
        plan.run([x])
        peaks.append((tensorlab.memory_stats()["peak_bytes"] - before) / (4 * n))
    assert 1.9 < peaks[0] < 2.5
    assert 7.9 < peaks[1] < 8.5


def test_nothing_is_recorded_unless_the_plan_says_so():
    x = tensorlab.ones(3, requires_grad=True)
    steps = [
        call("mul", Slot(0), Slot(0), output=1, grad_enabled=True),
        call("neg", Slot(1), output=2, grad_enabled=False),
    ]
    assert not Plan(1, 3, steps, (1,)).run([x])[0].requires_grad
    product, negated = Plan(1, 3, steps, (1, 2), records=True).run([x])
    assert product.requires_grad
    assert not negated.requires_grad
    assert tensorlab.is_grad_enabled()


def test_an_error_in_a_step_is_the_ops_own_and_leaves_nothing_behind():
    x = tensorlab.ones(3)
    y = tensorlab.ones(4)
    plan = Plan(
        2, 4, [call("neg", Slot(0), output=2), call("add", Slot(2), Slot(1), output=3)], (3,)
    )
    gc.collect()  # what others left would go meanwhile
    before, references = tensorlab.live_tensors(), sys.getrefcount(x)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="add"):
            plan.run([x, y])
    assert tensorlab.live_tensors() == before
    assert sys.getrefcount(x) == references
    assert tensorlab.is_grad_enabled()


def test_a_thousand_runs_leave_as_many_tensors_as_before():
    steps = [
        call("split", Slot(0), 2, 0, output=1),
        ItemStep(1, 0, 2, dead=(1,)),
        call("stack", [Slot(2), Slot(2)], 0, output=3),
    ]
    plan, x = Plan(1, 4, steps, (3,)), tensorlab.ones(4)
    plan.run([x])
    gc.collect()  # what others left would go meanwhile
    before, references = tensorlab.live_tensors(), sys.getrefcount(x)
    for _ in range(1000):
        plan.run([x])
    assert tensorlab.live_tensors() == before
    assert sys.getrefcount(x) == references


def test_a_plan_with_many_slots_gives_what_one_with_few_gives():
    steps = [call("add", Slot(i), 1, output=i + 1, dead=(i,) if i else ()) for i in range(300)]
    (found,) = Plan(1, 301, steps, (300,)).run([tensorlab.zeros(2)])
    assert found.tolist() == [300, 300]


def test_a_plan_runs_in_several_threads_at_once():
    steps = [
        call("mul", Slot(0), 2.0, output=1),
        call("add", Slot(1), Slot(0), output=2, dead=(1,)),
    ]
    plan, wrong = Plan(1, 3, steps, (2,)), []

    def work(value):
        x = tensorlab.full((5,), float(value))
        for _ in range(200):
            found = plan.run([x])[0].tolist()
            wrong.extend([value] * (found != [3.0 * value] * 5))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


@pytest.mark.parametrize(
    ("inputs", "slots", "steps", "outputs", "message"),
    [
        (1, 2, [call("add", Slot(0), Slot(1), output=1)], (1,), "slot 1 is empty"),
        (1, 3, [call("add", Slot(0), Slot(2), output=1)], (1,), "slot 2 is empty"),
        (1, 2, [call("neg", Slot(0), output=1, dead=(0,)), call("neg", Slot(0), output=1)], (1,), "slot 0 is empty"),
        (1, 2, [call("neg", Slot(0), output=1, dead=(1,))], (1,), "an output, is empty"),
        (1, 1, [call("neg", Slot(0), output=1)], (1,), "slot 1 is used, and there are 1"),
        (1, 3, [ItemStep(2, 0, 1)], (1,), "slot 2 is empty"),
        (1, 2, ["neg"], (1,), "a str is not a step"),
        (1, 2, [call("neg", Slot(0), output=1)] * 2, (1,), "writes slot 1, which has been written before"),
        (1, 2, [call("neg", Slot(0), output=0)], (0,), "writes slot 0, which has been written before"),
        (1, 3, [call("neg", Slot(0), output=1), call("neg", Slot(1), output=2, dead=(1,)),
                call("neg", Slot(0), output=1)], (1,), "writes slot 1, which has been written before"),
        (1, 2, [kernel_step(inputs=(5,))], (1,), "slot 5 is empty"),
    ],
)  # fmt: skip
def test_a_plan_that_would_read_an_empty_slot_is_refused(inputs, slots, steps, outputs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Plan(inputs, slots, steps, outputs)


def test_a_run_with_another_number_of_tensors_is_refused():
    plan = Plan(2, 3, [call("add", Slot(0), Slot(1), output=2)], (2,))
    with pytest.raises(TypeError, match="takes 2 tensors, and 1 were given"):
        plan.run([tensorlab.ones(2)])


@pytest.mark.parametrize("value", [None, 3, [1.0]])
def test_a_kernel_that_meets_something_else_than_a_tensor_raises(value):
    with pytest.raises(TypeError):
        Plan(1, 2, [kernel_step()], (1,)).run([value])


def test_a_kernel_that_meets_a_tensor_without_memory_raises():
    with pytest.raises(RuntimeError):
        Plan(1, 2, [kernel_step()], (1,)).run([meta(8)])


@pytest.mark.parametrize(
    ("like", "is_right"),
    [
        (meta(2, 3), True),
        (meta(3, 2), False),
        (meta(6), False),
        (meta(2, 3, dtype=tensorlab.float64), False),
        (tensorlab.empty_strided((2, 3), (1, 2), device="meta"), False),
    ],
)
def test_a_call_whose_result_is_laid_out_otherwise_raises(like, is_right):
    steps = [call("neg", Slot(0), output=1, like=like)]
    plan = Plan(1, 2, steps, (1,))
    if is_right:
        assert plan.run([tensorlab.ones(2, 3)])[0].tolist() == [[-1] * 3] * 2
        return
    with pytest.raises(RuntimeError, match="the plan expects"):
        plan.run([tensorlab.ones(2, 3)])


def test_strides_that_no_element_needs_may_be_others():
    like = tensorlab.empty_strided((1, 3), (7, 1), device="meta")
    plan = Plan(1, 2, [call("neg", Slot(0), output=1, like=like)], (1,))
    assert plan.run([tensorlab.ones(1, 3)])[0].tolist() == [[-1] * 3]
    like = tensorlab.empty_strided((0, 3), (7, 1), device="meta")
    plan = Plan(1, 2, [call("neg", Slot(0), output=1, like=like)], (1,))
    assert plan.run([tensorlab.ones(0, 3)])[0].shape == (0, 3)


def test_a_plan_knows_the_layout_of_each_part_of_a_result():
    graph = record(lambda x: x.transpose(0, 1).split(1), tensorlab.ones(3, 2))
    items = [step for step in build_plan(graph).steps if isinstance(step, ItemStep)]
    assert [tuple(step.like.stride()) for step in items] == [(1, 2), (1, 2)]


def test_an_item_whose_layout_is_another_raises():
    steps = [call("split", Slot(0), 2, 0, output=1), ItemStep(1, 0, 2, like=meta(3))]
    with pytest.raises(RuntimeError, match="the plan expects"):
        Plan(1, 3, steps, (2,)).run([tensorlab.ones(4)])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"address": 0}, ValueError, "the address of add_number is 0"),
        ({"likes": ()}, ValueError, "needs a tensor on meta for each of its 1 outputs"),
        ({"likes": (3,)}, ValueError, "needs a tensor on meta"),
        ({"inputs": (0,) * 96}, ValueError, "has 97 tensors; at most 96 fit"),
    ],
)
def test_a_kernel_step_that_cannot_run_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        kernel_step(**changes)


def test_a_call_step_needs_an_argument_for_each_parameter():
    with pytest.raises(ValueError, match=r"add takes 2 arguments, and 1 were given"):
        call("add", Slot(0), output=1)


def test_a_step_says_what_it_does():
    assert repr(call("add", Slot(0), 2, output=1)) == "add(Slot(0), 2) -> (1,)"
    assert repr(ItemStep(1, 0, 2)) == "(1,)[0] -> (2,)"
    assert repr(kernel_step()) == "add_number(0,) -> (1,)"
