"""When each action of a pipeline would run, and how long ranks have nothing to do: the bubble."""


def lay_out(orders, *, forward=1.0, backward=2.0, transfer=0.0) -> list:
    """Return when each rank runs each of its actions.

    Parameters
    ----------
    orders : list of lists of Action, one for each rank
    forward, backward : float, how long an action takes, in any unit
    transfer : float, how long a result is on its way to another rank

    Returns
    -------
    list of (rank, action, start, end)

    Raises
    ------
    ValueError
        If the orders wait for each other forever.
    """
    last = max(action.stage for order in orders for action in order)
    home = {action.stage: rank for rank, order in enumerate(orders) for action in order}
    ends: dict = {}  # action: when it ends
    entries = []
    free = [0.0] * len(orders)
    queues = [list(order) for order in orders]
    while any(queues):
        progressed = False
        for rank, queue in enumerate(queues):
            while queue:
                action = queue[0]
                needed = before(action, last)
                if needed is not None and needed not in ends:
                    break
                ready = 0.0
                if needed is not None:
                    ready = ends[needed] + transfer * (home[needed[1]] != rank)
                start = max(free[rank], ready)
                end = start + (forward if action.kind == "F" else backward)
                ends[tuple(action)], free[rank] = end, end
                entries.append((rank, action, start, end))
                queue.pop(0)
                progressed = True
        if not progressed:
            stuck = [str(queue[0]) for queue in queues if queue]
            raise ValueError(f"the orders wait for each other: {', '.join(stuck)}")
    return entries


def before(action, last):
    """Return the action on another stage that one needs the result of, or None."""
    if action.kind == "F":
        return ("F", action.stage - 1, action.microbatch) if action.stage else None
    if action.stage == last:
        return "F", action.stage, action.microbatch
    return "B", action.stage + 1, action.microbatch


def bubble(entries) -> float:
    """Return the share of all ranks' time in which they have nothing to do.

    Examples
    --------
    >>> from tensorlab.distributed.pipelining import orders
    >>> four = [orders.gpipe(rank, 4, 8) for rank in range(4)]
    >>> round(bubble(lay_out(four)), 3)  # (ranks - 1) / (microbatches + ranks - 1)
    0.273
    """
    ranks = len({rank for rank, *_ in entries})
    whole = max(end for *_, end in entries) * ranks
    return 1 - sum(end - start for _, _, start, end in entries) / whole
