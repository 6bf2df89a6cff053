"""Timer: a statement, run often enough to know how long it takes."""

import enum
import importlib
import statistics
import textwrap
import timeit

from tensorlab.utils.benchmark.measurement import Measurement, TaskSpec, set_torch_threads

__all__ = ["Language", "Timer", "timer"]

timer = timeit.default_timer  # there is no device that works on by itself
LEAST = 1e-9  # seconds that a run takes at least, as clocks say 0 of short ones
MOST_RUNS = 2**31 - 1
ENOUGH = 3  # runs that say how far times differ


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


class Timer:
    """Measures a statement.

    Unlike `timeit.Timer` it runs the statement before it measures, uses a fixed number of
    threads, and keeps the times of many runs, whose median is less disturbed by what else the
    machine does than their mean.

    Parameters
    ----------
    stmt, setup : str, Python; the setup runs once before the statement
    global_setup : taken for PyTorch's sake; it is for statements in C++
    timer : function without arguments, seconds
    globals : dict, names that the statement uses; `torch` and `tensorlab` are there
    label, sub_label, description, env : str, what `Compare` calls the table, the row, the
        column, and a kind of run
    num_threads : int, threads of ops meanwhile
    language : Language.PYTHON, or "python"

    Raises
    ------
    ValueError
        If the statement is no text, or the language unknown.
    NotImplementedError
        For a statement in C++.

    Examples
    --------
    >>> import tensorlab
    >>> timer = Timer("x + 1", globals={"x": tensorlab.ones(3)}, label="add")
    >>> timer.timeit(10).title
    'add'
    """

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language=Language.PYTHON,
    ):
        if not isinstance(stmt, str):
            raise ValueError(
                f"Timer: stmt is a {type(stmt).__name__}; it must be a str. Give the function in "
                "globals: Timer('f()', globals={'f': f})"
            )
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError("Timer: statements in C++ aren't compiled; write Python")
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Timer: language is {language!r}; it must be Language.PYTHON")
        if global_setup:
            raise ValueError("Timer: global_setup is for C++; move it to setup")
        tensorlab = importlib.import_module("tensorlab")
        names = {"torch": tensorlab, "tensorlab": tensorlab, **(globals or {})}
        stmt, setup = unindented(stmt), unindented(setup)
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _seconds(self, number):
        return max(self._timer.timeit(number), LEAST)

    def _measured(self, number, times):
        return Measurement(number_per_run=number, raw_times=times, task_spec=self._task_spec)

    def timeit(self, number=1000000):
        """Run the statement `number` times, after some runs that don't count, and return a Measurement of one run."""
        if number < 0:
            raise ValueError(f"Timer.timeit: number is {number}; it must be 1 or more")
        with set_torch_threads(self._task_spec.num_threads):
            self._seconds(max(int(number // 100), 2))
            return self._measured(number, [self._seconds(number)])

    def repeat(self, repeat=-1, number=-1):
        """Refused: `blocked_autorange` repeats."""
        raise NotImplementedError("Timer: see blocked_autorange, which repeats as often as needed")

    def autorange(self, callback=None):
        """Refused: `blocked_autorange` finds how often."""
        raise NotImplementedError("Timer: see blocked_autorange, which finds how often to run")

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Measure blocks of runs until they have taken `min_run_time` seconds.

        A block is so long that reading the clock is less than a ten-thousandth of it.

        Parameters
        ----------
        callback : function(number, seconds), called after each block
        min_run_time : float, seconds

        Returns
        -------
        Measurement
        """
        return self._measured_until(lambda one: True, min_run_time, None, callback, min_run_time)

    def adaptive_autorange(
        self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None
    ):
        """Measure blocks of runs until their times differ little.

        Parameters
        ----------
        threshold : float, what part of the median the interquartile range may be
        min_run_time, max_run_time : float, seconds in all
        callback : function(number, seconds), called after each block

        Returns
        -------
        Measurement
        """

        def is_enough(one):
            return len(one.raw_times) > ENOUGH and one.meets_confidence(threshold)

        return self._measured_until(is_enough, min_run_time, max_run_time, callback, 0.05)

    def _measured_until(self, is_enough, least, most, callback, block_time):
        """Measure blocks until `is_enough(measurement)`, and for `least` to `most` seconds."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._block_size(block_time)
            one, total = self._measured(number, []), 0.0
            while total < least or not is_enough(one):
                seconds = self._seconds(number)
                one.raw_times.append(seconds)
                total += seconds
                if callback is not None:
                    callback(number, seconds)
                if most is not None and total > most:
                    break
        return one

    def _block_size(self, block_time):
        """How many runs make a block in which the clock does not count."""
        overhead = statistics.median(self._seconds(0) for _ in range(5))
        number = 1
        while number * 10 <= MOST_RUNS:
            seconds = self._seconds(number)
            is_long = overhead / seconds <= 1e-4 and seconds >= block_time / 1000
            if is_long or seconds > block_time:
                break
            number *= 10
        return number

    def collect_callgrind(
        self, number=100, *, repeats=None, collect_baseline=True, retain_out_file=False
    ):
        """Refused: it needs Valgrind and a program that it can start."""
        raise NotImplementedError(
            "Timer: instructions aren't counted; run the program under `perf stat -e instructions:u`, or "
            "`valgrind --tool=callgrind`"
        )


def unindented(code):
    """A text with code, moved to the left, without an empty line at its start."""
    return textwrap.dedent(code).removeprefix("\n").rstrip()
