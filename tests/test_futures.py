"""Values that are still to come."""

import threading

import pytest

from tensorlab import futures


def test_a_future_gives_its_value_to_all_who_wait():
    future = futures.Future()
    seen = []
    future.add_done_callback(lambda done: seen.append(done.value()))
    chained = future.then(lambda done: done.value() + 1).then(lambda done: done.value() * 2)
    assert not future.done()
    with pytest.raises(RuntimeError, match="has not come yet"):
        future.value()
    threading.Timer(0.01, future.set_result, (4,)).start()
    assert chained.wait() == 10
    assert seen == [4]
    future.add_done_callback(lambda done: seen.append("late"))
    assert seen == [4, "late"]


def test_an_error_takes_the_place_of_the_value():
    future = futures.Future()
    after = future.then(lambda done: done.value())
    future.set_exception(KeyError("lost"))
    for one in (future, after):
        with pytest.raises(KeyError, match="lost"):
            one.wait()
    with pytest.raises(RuntimeError, match="no second one"):
        future.set_result(1)
    with pytest.raises(AssertionError, match="not an Exception"):
        futures.Future().set_exception("text")


def test_several_are_waited_for_together():
    first, second = futures.Future(), futures.Future()
    both = futures.collect_all([first, second])
    second.set_result(2)
    assert not both.done()
    first.set_result(1)
    assert both.wait() == [first, second]
    assert futures.wait_all([first, second]) == [1, 2]
    assert futures.collect_all([]).wait() == []
