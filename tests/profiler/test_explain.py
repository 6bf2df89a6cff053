"""explain: what it finds in programs with a planted fault."""

import time

import pytest

import tensorlab as torch
from tensorlab.profiler import profile


def explained(program, **options):
    program()
    with profile(record_shapes=True, with_stack=True, profile_memory=True, **options) as prof:
        program()
    return prof.explain()


def test_the_ops_that_take_most_are_named():
    x = torch.ones(400, 400)

    def program():
        for _ in range(3):
            x @ x
        x[0] + 1

    found = explained(program)
    name, time, count = found.top_ops[0]
    assert (name, count) == ("aten::mm", 3)
    assert 0 < time <= found.wall_time
    share = f"{time / found.wall_time:.0%}"
    assert f"Most of the time in ops was spent in aten::mm ({share}, 3 calls)" in str(found)
    assert len(found.top_ops) <= 5


def test_small_ops_are_counted():
    x = torch.ones(3)

    def program():
        for _ in range(500):
            x + 1

    found = explained(program)
    assert found.small_calls > 400
    assert found.small_time + found.outside_time > found.wall_time / 2
    assert "overhead of small ops" in str(found)


def test_waiting_for_the_loader_is_found():
    class Slow(torch.utils.data.Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            time.sleep(0.01)
            return i

    def program():
        for batch in torch.utils.data.DataLoader(Slow()):
            batch + 1

    found = explained(program)
    assert found.loader_batches == 4  # the last one finds the end
    assert found.loader_time > 0.9 * found.wall_time
    assert "The loader is a bottleneck" in str(found)
    assert "for 4 batches" in str(found)


def test_without_a_loader_nothing_was_waited_for():
    assert "No DataLoader was used." in str(explained(lambda: torch.ones(2)))


def test_copies_into_another_layout_are_found():
    x = torch.ones(100, 100)

    def program():
        x.T.contiguous()
        x.T.reshape(-1)
        x.clone()
        x.contiguous()

    (copies,) = explained(program).copies
    assert copies.number == 2
    assert copies.line.startswith(__file__)
    text = str(explained(program))
    assert "2 copies into row-major order" in text
    assert f", most of them at {__file__}(" in text
    with profile(record_shapes=True) as prof:
        program()
    assert prof.explain().copies[0].line is None
    assert "most of them" not in str(prof.explain())


def test_conversions_there_and_back_are_found():
    x = torch.ones(100, 100)

    def program():
        x.double().float()
        x.half().sum()  # used in between
        x.long().float()  # rounds

    (copies,) = explained(program).copies
    assert (copies.kind, copies.number) == ("conversions to another dtype and back", 2)


@pytest.mark.parametrize("between", ["exp", "add"])
def test_a_conversion_whose_result_is_used_is_none(between):
    x = torch.ones(100, 100)

    def program():
        y = x.double()
        z = y.exp() if between == "exp" else y + 1
        return z.float()

    found = explained(program)
    assert found.copies == []
    assert "No copy was found" in str(found)


def test_the_line_of_the_peak_is_found():
    def program():
        small = torch.ones(10)
        large = torch.ones(100_000)
        del large
        return small

    found = explained(program)
    line = program.__code__.co_firstlineno + 2
    assert found.peak_line == f"{__file__}:{line}"
    assert found.peak_bytes >= 400_000
    assert f"the line that reached it was {__file__}:{line}" in str(found)


def test_what_was_not_recorded_is_said():
    with profile() as prof:
        torch.ones(2)
    text = str(prof.explain())
    assert "With record_shapes=True" in text
    assert "With profile_memory=True" in text
    assert prof.explain()._repr_html_().startswith("<ul><li>The profile took")


def test_a_profile_of_nothing():
    with profile() as prof:
        pass
    assert "No op ran." in str(prof.explain())
