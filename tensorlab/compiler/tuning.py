"""Which of several programs for one recording is the fastest: they are measured on the tensors of the recorded call.

Mode "max-autotune" has two: in one, softmax and the norms are the kernels of their ops; in the other
they are decomposed, and fused with what stands around them.
"""

import time

from .program import Differentiable, make_program, ones_of

__all__ = ["make_fastest"]

ROUNDS = 7
SECONDS = 0.002  # at least, that the calls of a round take


def make_fastest(trace, variants, inputs):
    """Return the program of a trace that is the fastest with one of these Settings.

    Parameters
    ----------
    trace : Trace
    variants : list of Settings
    inputs : list of Tensors, those of the recorded call; None if they are no longer what they
        were: then nothing is measured, and the first one it is
    """
    if len(variants) == 1 or inputs is None:
        return make_program(trace, variants[0], inputs)
    programs = [make_program(trace, one, inputs) for one in variants]
    calls = [call_of(program, inputs) for program in programs]
    count = max(1, round(SECONDS / max(seconds_for(calls[0], 1), 1e-9)))
    # in turns, so that load on the machine disturbs all of them
    rounds = [[seconds_for(call, count) for call in calls] for _ in range(ROUNDS)]
    best = [min(times) for times in zip(*rounds, strict=True)]
    return programs[best.index(min(best))]


def call_of(program, inputs):
    """A function that does what a replay does, with backward if there is one."""
    if not isinstance(program, Differentiable):
        return lambda: program.compute(inputs)
    plans = program.plans
    tangents = ones_of(plans.likes)

    def call():
        saved = plans.forward.run(inputs)[plans.results :]
        plans.backward.run([*saved, *tangents])

    return call


def seconds_for(call, count):
    begin = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - begin
