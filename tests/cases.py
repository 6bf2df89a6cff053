"""One test of many cases: they all run, and the test says which of them failed, and how.

A test of pytest takes two milliseconds before it does anything, mostly to report itself from
process to process. There are tens of thousands of samples in each of their dtypes and layouts,
so the cases of an op are one test:

    @each_case({"add": {"positive": (2, 3, 5), "negative": (2, -3, -1)}, "sub": {...}})
    def test_a_sum_is_right(x, y, total):
        assert x + y == total

A case begins with fresh seeds, as a test does; what fixtures do is done once for all of them.
All cases may be skipped, where PyTorch is missing; one among others may not, as no one would
see it: leave it out of the cases.
"""

import functools

import pytest

from tests.seeds import seed_everything

FAILURES = (Exception, pytest.fail.Exception, pytest.skip.Exception)


def run_cases(test, cases):
    """Run a test for each case, {its name: the arguments}; the first failure tells of all."""
    failures = {}
    for name, arguments in cases.items():
        seed_everything()
        try:
            test(*arguments)
        except FAILURES as error:
            failures[name] = error
    if not failures:
        return
    first = next(iter(failures.values()))
    skipped = [one for one in failures.values() if isinstance(one, pytest.skip.Exception)]
    if len(skipped) == len(cases):
        raise first
    if skipped:
        first = AssertionError("some cases are skipped, and others are not")
    first.add_note(f"{len(failures)} of {len(cases)} cases fail, of which this is the first:")
    for name, error in failures.items():
        line = next(iter(str(error).strip().splitlines()), "")
        first.add_note(f"  {name}: {type(error).__name__}: {line}")
    raise first


def each_case(groups):
    """Make one test of each group, {its id: {a case's name: the arguments}}."""

    def decorate(test):
        def of_group(cases):
            run_cases(test, cases)

        functools.update_wrapper(of_group, test)
        del of_group.__wrapped__  # pytest would take the parameters of the test for its own
        parameters = [pytest.param(cases, id=name) for name, cases in groups.items()]
        return pytest.mark.parametrize("cases", parameters)(of_group)

    return decorate


def by_day(values, every):
    """The values as parameters: one of `every` is tried by day, and all of them by night."""
    return [
        pytest.param(value, marks=[pytest.mark.nightly] if number % every else [])
        for number, value in enumerate(values)
    ]
