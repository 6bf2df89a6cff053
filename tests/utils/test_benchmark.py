"""utils.benchmark: statistics, tables and random inputs, compared with PyTorch's."""

import math

import numpy as np
import pytest

import tensorlab as torch
from tensorlab.utils import benchmark
from tests.oracle import require_torch

STEADY = [[1.0, 1.01, 1.02, 1.03, 1.04], [0.5e-3] * 4, [2.0], [3.1, 3.2, 3.3]]
NOISY = [[1.0, 1.2, 1.4, 1.6, 1.8], [1.0, 2.0, 3.0, 4.0]]


def theirs():
    require_torch()
    return __import__("torch.utils.benchmark", fromlist=["utils"])


def both(make):
    return make(benchmark), make(theirs())


def measured(module, times, number=10, **task):
    spec = module.TaskSpec(**{"stmt": "f()", "setup": "pass", **task})
    return module.Measurement(number_per_run=number, raw_times=times, task_spec=spec)


@pytest.mark.parametrize("times", STEADY + NOISY)
def test_statistics_are_pytorchs(times):
    ours, expected = both(lambda module: measured(module, times))
    for name in ("median", "mean", "iqr", "times"):
        assert getattr(ours, name) == pytest.approx(getattr(expected, name))
    assert ours.has_warnings == expected.has_warnings
    assert ours.significant_figures == expected.significant_figures


@pytest.mark.parametrize("times", STEADY + NOISY)
@pytest.mark.parametrize(
    "task",
    [
        {},
        {"label": "a label", "sub_label": "a row", "description": "a column"},
        {"stmt": "f()\ng()", "setup": "x = 1\ny = 2", "num_threads": 2},
        {"setup": "x = 1", "sub_label": "a row"},
    ],
    ids=str,
)
def test_a_measurement_says_what_pytorchs_says(times, task):
    ours, expected = both(lambda module: measured(module, times, **task))
    assert repr(ours).splitlines()[1:] == repr(expected).splitlines()[1:]
    assert ours.title == expected.title
    assert ours.as_row_name == expected.as_row_name


def test_a_measurement_has_the_names_of_its_task():
    ours = measured(benchmark, [1.0], label="name", env="a", num_threads=3)
    assert (ours.label, ours.env, ours.num_threads, ours.stmt) == ("name", "a", 3, "f()")
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        ours.missing  # noqa: B018


def test_measurements_of_a_task_are_put_together():
    a, b = measured(benchmark, [1.0, 2.0]), measured(benchmark, [3.0], number=1)
    other = measured(benchmark, [1.0], label="other")
    merged = benchmark.Measurement.merge([a, b, other])
    assert [one.raw_times for one in merged] == [[0.1, 0.2, 3.0], [0.1]]
    assert [one.number_per_run for one in merged] == [1, 1]


@pytest.mark.parametrize("t", [3e-10, 1e-9, 5e-8, 1e-6, 9.99e-4, 1e-3, 0.5, 1.0, 100.0])
def test_units_are_pytorchs(t):
    ours, expected = both(lambda module: module.select_unit(t))
    assert ours[0] == expected[0] or t in (1e-9, 1e-6, 1e-3)  # float32 there, at the edge
    assert benchmark.unit_to_english(ours[0]) == theirs().unit_to_english(ours[0])


@pytest.mark.parametrize("x, n", [(3.14159, 2), (1234.5, 1), (0.00456, 2), (-271.8, 3), (9.99, 1)])
def test_figures_are_trimmed_as_pytorch_does(x, n):
    ours, expected = both(lambda module: module.trim_sigfig(x, n))
    assert ours == pytest.approx(expected) or x < 0
    assert abs(ours - x) <= 0.5 * 10 ** (math.ceil(math.log10(abs(x))) - n)
    assert benchmark.trim_sigfig(0.0, 2) == 0.0
    with pytest.raises(ValueError, match=r"n is 1\.5"):
        benchmark.trim_sigfig(x, 1.5)


def results(module):
    made = []
    for threads in (1, 2):
        for name, factor in (("add", 1.0), ("copy", 1.06), ("multiply", 2.5), ("divide", 6.0)):
            for size in (10, 1000):
                spread = (1.0, 1.001, 1.002) if name == "copy" else (1.0, 1.1, 1.3, 1.4)
                times = [1e-5 * factor * size / threads * k for k in spread]
                made.append(
                    measured(
                        module,
                        times,
                        number=1,
                        label="ops",
                        sub_label=name,
                        description=f"n={size}",
                        num_threads=threads,
                    )
                )
    return made


@pytest.mark.parametrize("trim", [False, True])
@pytest.mark.parametrize("warn", [False, True])
@pytest.mark.parametrize("color", [None, False, True])
def test_tables_are_pytorchs(trim, warn, color):
    def table(module):
        compare = module.Compare(results(module)[:-1])  # one cell is empty
        compare.extend_results(results(module)[:1])
        if trim:
            compare.trim_significant_figures()
        if warn:
            compare.highlight_warnings()
        if color is not None:
            compare.colorize(rowwise=color)
        return str(compare)

    ours, expected = both(table)
    assert [line.rstrip() for line in ours.splitlines()] == [
        line.rstrip() for line in expected.splitlines()
    ]


def test_environments_are_rows_and_labels_are_tables(capsys):
    def table(module):
        made = [
            measured(module, [1.0, 1.1], label=label, env=env, sub_label=row, description="d")
            for label in ("first", "second")
            for env in ("before", "after the change")
            for row in ("one", "two")
        ]
        return str(module.Compare(made))

    ours, expected = both(table)
    assert [line.rstrip() for line in ours.splitlines()] == [
        line.rstrip() for line in expected.splitlines()
    ]
    benchmark.Compare(results(benchmark)).print()
    assert "ops" in capsys.readouterr().out
    with pytest.raises(ValueError, match="a Measurement is needed, not int"):
        benchmark.Compare([3])


# ---------------------------------------------------------------- the timer
class Clock:
    """A clock that stands still except while the statement runs: it takes 3 ms, and reading the clock nothing."""

    now = 0.0

    def __call__(self):
        return self.now

    def run(self):
        self.now += 0.003


def timed(**arguments):
    clock = Clock()
    return benchmark.Timer("f()", globals={"f": clock.run}, timer=clock, **arguments), clock


def test_timeit_runs_as_often_as_it_is_told():
    timer, clock = timed(label="name")
    one = timer.timeit(1000)
    assert clock.now == pytest.approx(3.0 + 0.03)
    assert (one.number_per_run, len(one.raw_times), one.title) == (1000, 1, "name")
    assert one.median == pytest.approx(0.003)


def test_blocked_autorange_measures_until_the_time_is_over():
    timer, _ = timed()
    seen = []
    one = timer.blocked_autorange(callback=lambda *args: seen.append(args), min_run_time=0.2)
    assert one.number_per_run == 1
    assert one.median == pytest.approx(0.003)
    assert sum(one.raw_times) >= 0.2 > sum(one.raw_times[:-1])
    assert seen == [(1, time) for time in one.raw_times]


def test_adaptive_autorange_stops_when_times_agree():
    timer, _ = timed()
    one = timer.adaptive_autorange(min_run_time=0.001)
    assert len(one.raw_times) == 4


def test_adaptive_autorange_ends_after_the_longest_time():
    clock = Clock()
    steps = iter(range(10**6))

    def uneven():
        clock.now += 0.01 if next(steps) % 2 else 0.1

    timer = benchmark.Timer("f()", globals={"f": uneven}, timer=clock)
    one = timer.adaptive_autorange(max_run_time=1.0)
    assert 1.0 < sum(one.raw_times) < 1.2


def test_short_statements_run_in_blocks():
    one = benchmark.Timer("pass").blocked_autorange(min_run_time=0.01)
    assert one.number_per_run >= 100


def test_a_statement_finds_its_names_and_threads():
    before = torch.get_num_threads()
    seen: list = []
    timer = benchmark.Timer(
        """
        y = torch.ones(2) + x
        seen.append(torch.get_num_threads())
        """,
        setup="""
        x = tensorlab.zeros(2)
        """,
        globals={"seen": seen},
        num_threads=2,
    )
    timer.timeit(1)
    assert set(seen) == {2}
    assert torch.get_num_threads() == before
    assert timer.timeit(1).stmt.startswith("y = torch.ones(2) + x\nseen")


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"stmt": len}, ValueError, "stmt is a builtin_function_or_method"),
        ({"language": "c++"}, NotImplementedError, "C\\+\\+"),
        ({"language": "rust"}, ValueError, "language is 'rust'"),
        ({"global_setup": "#include <a>"}, ValueError, "move it to setup"),
    ],
)
def test_a_timer_that_makes_no_sense(arguments, error, message):
    with pytest.raises(error, match=message):
        benchmark.Timer(**arguments)


@pytest.mark.parametrize("name", ["repeat", "autorange", "collect_callgrind"])
def test_what_a_timer_refuses(name):
    with pytest.raises(NotImplementedError, match="Timer: "):
        getattr(benchmark.Timer(), name)()


# ---------------------------------------------------------------- random inputs
def fuzzer(module, library, seed):
    return module.Fuzzer(
        parameters=[
            module.FuzzedParameter("dim", 1, 3, "uniform", strict=True),
            [module.FuzzedParameter(f"k{i}", 2, 64, "loguniform") for i in range(3)],
            module.FuzzedParameter("scale", 0.0, 1.0, "uniform"),
        ],
        tensors=[
            module.FuzzedTensor(
                "x",
                size=("k0", "k1", "k2"),
                steps=(1, 2, 1),
                min_elements=8,
                max_elements=4096,
                max_allocation_bytes=2**15,
                dim_parameter="dim",
                dtype=library.float32,
                probability_contiguous=0.3,
            ),
            module.FuzzedTensor("y", size=("k0", 3), dtype=library.int64),
        ],
        constraints=[lambda params: params["k0"] != 5],
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(5))
def test_drawn_inputs_are_pytorchs(seed):
    ours, expected = fuzzer(benchmark, torch, seed), fuzzer(theirs(), require_torch(), seed)
    for (tensors, known, params), (wanted, properties, drawn) in zip(
        ours.take(6), expected.take(6), strict=True
    ):
        assert params == drawn
        for name in ("x", "y"):
            assert tuple(tensors[name].shape) == tuple(wanted[name].shape)
            assert tensors[name].stride() == wanted[name].stride()
            np.testing.assert_array_equal(tensors[name].numpy(), wanted[name].numpy())
            for key in ("numel", "steps", "is_contiguous"):
                assert known[name][key] == properties[name][key]
            assert list(known[name]["order"]) == list(properties[name]["order"])
    assert ours.rejection_rate == expected.rejection_rate


def test_dicts_are_probabilities():
    """PyTorch 2.13 refuses those that sum to 1, and takes the others."""
    parameter = benchmark.FuzzedParameter("n", distribution={"a": 0.25, "b": 0.75})
    state = np.random.RandomState(0)
    drawn = [parameter.sample(state) for _ in range(1000)]
    assert 200 < drawn.count("a") < 300
    with pytest.raises(AssertionError, match="must sum to 1"):
        benchmark.FuzzedParameter("n", distribution={"a": 0.25, "b": 0.5})
    with pytest.raises(AssertionError, match="must not be negative"):
        benchmark.FuzzedParameter("n", distribution={"a": -0.5, "b": 1.5})
    with pytest.raises(ValueError, match="no minval"):
        benchmark.FuzzedParameter("n", minval=1, distribution={"a": 1.0})
    with pytest.raises(AssertionError, match="distribution is 'normal'"):
        benchmark.FuzzedParameter("n", 1, 2, "normal")


def test_aliases_stand_for_other_parameters():
    def made(parameters):
        return benchmark.Fuzzer(parameters, [benchmark.FuzzedTensor("x", ("n",))], seed=0)

    alias = benchmark.ParameterAlias
    parameters = [
        benchmark.FuzzedParameter("n", distribution={alias("m"): 1.0}),
        benchmark.FuzzedParameter("m", distribution={alias("k"): 1.0}),
        benchmark.FuzzedParameter("k", 3, 9, "uniform"),
    ]
    for tensors, _, params in made(parameters).take(3):
        assert params["n"] == params["m"] == params["k"] == tensors["x"].numel()
    assert repr(alias("m")) == "ParameterAlias[alias_to: m]"
    cycle = [
        benchmark.FuzzedParameter("n", distribution={alias("m"): 1.0}),
        benchmark.FuzzedParameter("m", distribution={alias("n"): 1.0}),
    ]
    with pytest.raises(ValueError, match="in a cycle"):
        next(made(cycle).take(1))


def test_a_constructor_makes_the_elements():
    tensor = benchmark.FuzzedTensor(
        "x", (2, 3), tensor_constructor=lambda size, dtype, **params: torch.ones(size, dtype=dtype)
    )
    (tensors, _, _) = next(benchmark.Fuzzer([], [tensor], seed=0).take(1))
    assert tensors["x"].sum().item() == 6


def test_what_can_not_be_drawn():
    parameter, tensor = benchmark.FuzzedParameter("n", 1, 2, "uniform"), benchmark.FuzzedTensor
    with pytest.raises(ValueError, match=r"\['n'\] are names of parameters and of tensors"):
        benchmark.Fuzzer([parameter], [tensor("n", (2,))])
    with pytest.raises(ValueError, match="met none of the constraints"):
        next(benchmark.Fuzzer([parameter], [tensor("x", ("n",), min_elements=5)]).take(1))
    with pytest.raises(RuntimeError, match="cuda=True"):
        tensor("x", (2,), cuda=True)


@pytest.mark.parametrize("is_coalesced", [False, True])
@pytest.mark.parametrize("sparse_dim", [1, 2])
def test_sparse_inputs(is_coalesced, sparse_dim):
    def fixed(name, value):
        return benchmark.FuzzedParameter(name, distribution={value: 1.0})

    parameters = [
        benchmark.FuzzedParameter("n", 5, 9, "uniform"),
        *(fixed("density", 0.4), fixed("coalesced", is_coalesced), fixed("sparse_dim", sparse_dim)),
    ]
    tensor = benchmark.FuzzedSparseTensor(
        "x", ("n", 4), sparse_dim="sparse_dim", density="density", coalesced="coalesced"
    )
    for tensors, known, params in benchmark.Fuzzer(parameters, [tensor], seed=1).take(3):
        x, size = tensors["x"], (params["n"], 4)
        assert (tuple(x.shape), x.sparse_dim(), x.is_coalesced()) == (
            size,
            sparse_dim,
            is_coalesced,
        )
        nnz = math.ceil(sum(size) * 0.4)
        assert x._nnz() <= nnz if is_coalesced else x._nnz() == 2 * nnz
        assert (known["x"]["dense_dim"], known["x"]["is_hybrid"]) == (
            2 - sparse_dim,
            sparse_dim == 1,
        )
        assert known["x"]["sparsity"] == 0.6
