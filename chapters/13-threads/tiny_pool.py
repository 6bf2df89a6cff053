"""How a pool of threads cuts work into pieces, and who takes which."""

import threading


def threads_for(work, grain, wanted):
    """Return how many threads `work` elements are worth if each should get at least `grain`."""
    return max(1, min(work // grain, wanted))


def boundary(count, n, i):
    """Return where piece i of n begins; in a long row at a multiple of 64."""
    whole, rest = divmod(count, n)
    at = whole * i + min(i, rest)
    return at if whole < 4096 or i == n else at - at % 64


def order(me, threads):
    """Return whose pieces thread `me` takes: its own first, then those of the next."""
    return [(me + k) % threads for k in range(threads)]


def share_out(body, count, threads, pieces=4):
    """Call body(begin, end) for ranges that together are 0 to count, in several threads."""
    n, taken, lock = threads * pieces, [0] * threads, threading.Lock()

    def take(owner):
        with lock:  # one processor instruction in the library
            taken[owner] += 1
            return taken[owner] - 1

    def work(me):
        for owner in order(me, threads):
            while (i := take(owner)) < pieces:
                piece = owner * pieces + i
                body(boundary(count, n, piece), boundary(count, n, piece + 1))

    helpers = [threading.Thread(target=work, args=(me,)) for me in range(1, threads)]
    for helper in helpers:
        helper.start()
    work(0)
    for helper in helpers:
        helper.join()


def timeline(costs, arrivals):
    """Return (thread, piece, begin, end) of each piece, if threads arrive at these times.

    costs : list of lists, the time of each thread's pieces
    arrivals : list, when each thread is ready to begin
    """
    clocks, taken, pieces = list(arrivals), [0] * len(costs), len(costs[0])
    done = []
    while sum(taken) < len(costs) * pieces:
        me = clocks.index(min(clocks))
        owner = next(one for one in order(me, len(costs)) if taken[one] < pieces)
        piece = taken[owner]
        taken[owner] += 1
        begin, clocks[me] = clocks[me], clocks[me] + costs[owner][piece]
        done.append((me, owner * pieces + piece, begin, clocks[me]))
    return done
