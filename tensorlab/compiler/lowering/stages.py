"""Stages: costly functions that need each other's results are computed one after the other, for a block of elements.

A processor works on several elements at once as long as their instructions fit into its window. Nine tanh, each of the
one before, are more than that: one loop of them took 2.4 times as long as nine loops of one. So where a costly function
needs the result of another one, the loop is divided. A stage goes through a block, which stays in the L1 cache, and
arrays keep what later stages need.

    for each block:                     for (i = start; i < stop; i++) {      for each element
        stage 0                             const float x0 = p0[i];
                                            const float tanh_1 = tl_tanhf(x0);
                                            kept_tanh_1[i - start] = tanh_1;
        stage 1, ...                        const float tanh_1 = kept_tanh_1[i - start];
"""

import re

from tensorlab.compiler.lowering.loop_ir import Declare, Kept, Load, Store

__all__ = ["WORDS", "divide", "waits"]

WORDS = re.compile(r"\b[A-Za-z_]\w*")  # not the x1 of 0x1.8p-3


def divide(statements, costly, block):
    """Divide the body of an innermost loop over i, which begins at `start`.

    Parameters
    ----------
    statements : list of Declare, Assign and Store
    costly : set of names, of the variables that are made by costly functions
    block : int, the elements of a block at most

    Returns
    -------
    list of lists of statements, and the declarations of the arrays between them. There is one stage, and
    no array, if no costly function needs the result of another one
    """
    places = places_of(statements, costly)
    stages = [[] for _ in range(max(places, default=0) + 1)]
    made, home, arrays = {}, {}, {}
    present = set()  # (name, stage)
    for one, stage in zip(statements, places, strict=True):
        for name in names_in(one):
            if name in made and (name, stage) not in present:
                present.add((name, stage))
                again = made[name]
                if is_computed(again, made):  # else it is loaded again
                    if name not in arrays:
                        kind = again.kind.removeprefix("const ")
                        arrays[name] = Declare(kind, f"kept_{name}[{block}]", "")
                        stages[home[name]].append(Store(f"kept_{name}[i - start]", name))
                    again = Declare(again.kind, name, f"kept_{name}[i - start]")
                stages[stage].append(again)
        stages[stage].append(one)
        if isinstance(one, Declare):
            made[one.name], home[one.name] = one, stage
            present.add((one.name, stage))
    return stages, list(arrays.values())


def waits(statements, costly):
    """Whether a costly function needs the result of another one."""
    computed = [one for one in statements if not isinstance(one, Load | Kept)]
    return any(places_of(computed, costly))


def names_in(statement):
    return WORDS.findall(statement.value)


def is_computed(declaration, made):
    return any(name in made for name in names_in(declaration))


def places_of(statements, costly):
    """The stage of each statement: how many costly functions in a row come before it."""
    places, home, ready = [], {}, {}
    for one in statements:
        # a store takes a value where it is made, a computation waits for the stage after it
        known = home if isinstance(one, Store) else ready
        needed = [known[name] for name in names_in(one) if name in known]
        places.append(max(needed, default=0))
        if isinstance(one, Declare):
            home[one.name] = places[-1]
            ready[one.name] = places[-1] + (one.name in costly)
    last = max((home[name] for name in home if name in costly), default=0)
    # cheap ops at the end need no stage of their own
    return [min(stage, last) for stage in places]
