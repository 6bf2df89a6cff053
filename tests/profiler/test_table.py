"""Tables and sums, compared with those that PyTorch's classes make of the same events."""

import pytest

import tensorlab as torch
from tensorlab.profiler import profile, record_function
from tensorlab.profiler.averages import EventList, FunctionEventAvg
from tensorlab.profiler.events import FunctionEvent
from tests.oracle import require_torch


def program():
    x = torch.ones(30, 20, requires_grad=True)
    for size in (3, 4):
        with record_function(
            "a name that is much too long for the column that it is to be shown in"
        ):
            (x @ torch.ones(20, size)).relu().sum().backward()


@pytest.fixture(params=[False, True], ids=["stack", "flops"])
def with_flops(request):
    return request.param


@pytest.fixture
def events(with_flops):
    with profile(
        record_shapes=True, profile_memory=True, with_stack=not with_flops, with_flops=with_flops
    ) as prof:
        program()
    return prof.events()


def theirs(events, with_flops=False):
    """The same events as PyTorch's objects. Its tables put flops and lines of source into each other's columns, so they
    have one of both."""
    util = require_torch().autograd.profiler_util
    made = [
        util.FunctionEvent(
            event.id,
            event.name,
            event.thread,
            event.time_range.start,
            event.time_range.end,
            overload_name="",
            fwd_thread=event.fwd_thread or 0,
            input_shapes=event.input_shapes or [],
            stack=event.stack or [],
            cpu_memory_usage=event.cpu_memory_usage,
            flops=event.flops,
            trace_name=event.trace_name,
            is_user_annotation=event.is_user_annotation,
        )
        for event in events
    ]
    found = util.EventList(made, profile_memory=True, with_flops=with_flops)
    found._populate_cpu_children()
    found._tree_built = True
    return found


def lines_of(table):
    return [line for line in table.splitlines() if not line.startswith("Wall time")]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sort_by": "count"},
        {"sort_by": "self_cpu_time_total", "row_limit": 3},
        {"sort_by": "cpu_time_total", "row_limit": -1, "time_unit": "ms"},
        {"sort_by": "self_cpu_memory_usage", "header": "A header"},
        {"sort_by": "cuda_time_total", "max_name_column_width": 20},
        {"max_name_column_width": None, "max_shapes_column_width": 10, "time_unit": "s"},
        {"top_level_events_only": True, "time_unit": "us"},
        {"max_shapes_column_width": None, "max_src_column_width": 30},
    ],
    ids=str,
)
@pytest.mark.parametrize("shapes", [False, True])
@pytest.mark.parametrize("depth", [0, 2])
def test_tables_of_sums_are_pytorchs(events, with_flops, options, shapes, depth):
    depth = 0 if with_flops else depth
    ours = events.key_averages(shapes, depth).table(**options)
    expected = theirs(events, with_flops).key_averages(shapes, depth).table(**options)
    assert lines_of(ours) == expected.splitlines()


@pytest.mark.parametrize(
    "options", [{}, {"sort_by": "cpu_time"}, {"top_level_events_only": True}], ids=str
)
def test_tables_of_events_are_pytorchs(events, with_flops, options):
    assert events.table(**options) == theirs(events, with_flops).table(**options)
    assert str(events) == events.table()


def test_sums_are_pytorchs(events):
    rows = zip(
        [*events.key_averages(), events.total_average()],
        [*theirs(events).key_averages(), theirs(events).total_average()],
        strict=True,
    )
    for our, their in rows:
        for name in (
            *(
                "key",
                "count",
                "cpu_time_total",
                "self_cpu_time_total",
                "cpu_time",
                "cpu_memory_usage",
            ),
            *("self_cpu_memory_usage", "flops", "cpu_time_str", "cpu_time_total_str"),
        ):
            found, wanted = getattr(our, name), getattr(their, name)
            assert found == wanted or found == pytest.approx(wanted), name
    assert repr(events.key_averages()[0]) == repr(theirs(events).key_averages()[0])


def test_columns_are_there_if_there_is_something_to_show():
    with profile() as prof:
        program()
    head = prof.key_averages().table().splitlines()[1].split("  ")
    titles = [one.strip() for one in head if one.strip()]
    assert titles == [
        *(
            "Name",
            "Self CPU %",
            "Self CPU",
            "CPU total %",
            "CPU total",
            "CPU time avg",
            "# of Calls",
        )
    ]


def test_the_wall_time_stands_below_the_sums():
    with profile() as prof:
        program()
    last = prof.key_averages().table().splitlines()[-1]
    assert last.startswith("Wall time: ")
    assert last.endswith("are in no row")
    assert not prof.events().table().splitlines()[-1].startswith("Wall time")


def test_groups_by_overload(events):
    rows = events.key_averages(group_by_overload_name=True)
    assert {row.overload_name for row in rows if row.key == "aten::sum"} == {"dim_IntList"}
    assert "Overload Name" in rows.table()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"sort_by": "time"}, "sort_by is 'time'"),
        ({"sort_by": "key"}, "sort_by is 'key'"),
        ({"time_unit": "h"}, "time_unit is 'h'"),
    ],
)
def test_options_that_make_no_sense(events, options, message):
    with pytest.raises((ValueError, AttributeError), match=message):
        events.key_averages().table(**options)


def test_sums_take_only_events_with_the_same_key():
    one, other = FunctionEvent(1, "a", 1, 0.0, 2.0), FunctionEvent(2, "b", 1, 2.0, 3.0)
    total = FunctionEventAvg().add(one).add(one)
    assert (total.count, total.cpu_time_total, total.cpu_time) == (2, 4.0, 2.0)
    with pytest.raises(ValueError, match="the key is 'b', not 'a'"):
        total.add(other)
    with pytest.raises(TypeError, match="an event is needed, not int"):
        total.add(3)
    assert EventList([one, other]).total_average().cpu_time_total == 3.0
    assert EventList([one, other]).self_cpu_time_total == 3.0


@pytest.mark.parametrize(
    "microseconds, text",
    [(0, "0.000us"), (999.9994, "999.999us"), (1500, "1.500ms"), (2.5e6, "2.500s")],
)
def test_times_have_units(microseconds, text):
    assert FunctionEvent(1, "a", 1, 0.0, microseconds).cpu_time_str == text
