"""Exercises of chapter 42, allocators and devices."""

import random
import threading

from tensorlab.learn import Exercise, Wrong, expect, require

IMPORTS = """
import queue
import threading
from collections import OrderedDict
"""


class WhoWaits(Exercise):
    """Who waits?

    `x` is on a device with a queue, `stream` and `event` belong to it, and the queue is busy. Does the *program* wait
    in each line until the queue has got so far? Write True or False.
    """

    kind = "warm-up"
    idea = "A device with a queue"
    stub = """
        waits = {
            "y = x * 2": None,
            "y.shape": None,
            "y.cpu()": None,
            "y.sum().item()": None,
            "y.to('cpu', non_blocking=True)": None,
            "stream.record_event(event)": None,
            "stream.wait_event(event)": None,
            "event.synchronize()": None,
            "if y.sum() > 0: pass": None,
        }
    """
    hints = [
        "The program waits where it needs a number, or where it asks to wait. Shapes are known without numbers.",
        "`wait_event` is said to a stream. Who waits then?",
    ]
    solution = """
        waits = {
            "y = x * 2": False,
            "y.shape": False,
            "y.cpu()": True,
            "y.sum().item()": True,
            "y.to('cpu', non_blocking=True)": False,
            "stream.record_event(event)": False,
            "stream.wait_event(event)": False,
            "event.synchronize()": True,
            "if y.sum() > 0: pass": True,
        }
    """
    reason = """
        `cpu`, `item` and `if` need numbers. `wait_event` puts the waiting into the stream: its next kernel waits, the
        program goes on. `synchronize` is the one that stops the program.
    """
    wrong = [
        Wrong(
            """
            waits = {"y = x * 2": False, "y.shape": False, "y.cpu()": True, "y.sum().item()": True,
                     "y.to('cpu', non_blocking=True)": False, "stream.record_event(event)": False,
                     "stream.wait_event(event)": True, "event.synchronize()": True,
                     "if y.sum() > 0: pass": True}
            """,
            says="the stream waits",
            why="The waiting is put into the queue like everything else.",
        ),
        Wrong(
            """
            waits = {"y = x * 2": False, "y.shape": False, "y.cpu()": True, "y.sum().item()": True,
                     "y.to('cpu', non_blocking=True)": False, "stream.record_event(event)": False,
                     "stream.wait_event(event)": False, "event.synchronize()": True,
                     "if y.sum() > 0: pass": False}
            """,
            says="Python has to know",
            why="An `if` turns the tensor into a bool, which needs its value.",
        ),
    ]

    def check(waits):
        truth = {
            "y = x * 2": False,
            "y.shape": False,
            "y.cpu()": True,
            "y.sum().item()": True,
            "y.to('cpu', non_blocking=True)": False,
            "stream.record_event(event)": False,
            "stream.wait_event(event)": False,
            "event.synchronize()": True,
            "if y.sum() > 0: pass": True,
        }
        require(
            isinstance(waits, dict) and waits.keys() == truth.keys(),
            f"`waits` must be a dict with the keys {', '.join(truth)}.",
        )
        require(
            waits["stream.wait_event(event)"] is not True,
            "Look at wait_event: the stream waits. Does the program?",
        )
        require(
            waits["if y.sum() > 0: pass"] is not False,
            "Look at the if: Python has to know which way to go.",
        )
        expect(waits, truth, "who waits")


class FindRaces(Exercise):
    """Find the races

    `actions` is a list. `("run", stream, reads, writes)` puts a kernel into a stream; `reads` and `writes` are sets of
    names of blocks. `("wait", stream, other)` lets a stream wait for everything that is in `other` at that moment.
    Write `races(actions)`: the positions in the list of the kernels that may run too early. A kernel may read or write
    a block only after the kernel that wrote it last, and may write it only after all kernels that have read it since.
    After a race, go on as if the kernel had run at the right time.
    """

    kind = "implement"
    idea = "Worked trace"
    stub = """
        def races(actions):
            return []
    """
    hints = [
        "Give each stream a dict: how many kernels of each stream it knows to be done before its next one. A wait "
        "takes the larger number for each stream; `other`'s own number counts as well.",
        "For each block, note the last write (stream, number), and for each stream the number of its last read since "
        "then. Kernel n of stream s is done before the next one of stream t if `clock[t].get(s, 0) >= n`, and always "
        "if s is t.",
    ]
    solution = """
        def races(actions):
            clock, writes, reads, found = {}, {}, {}, []
            for place, action in enumerate(actions):
                kind, stream, *rest = action
                own = clock.setdefault(stream, {})
                if kind == "wait":
                    for other, number in clock.setdefault(rest[0], {}).items():
                        own[other] = max(own.get(other, 0), number)
                    continue
                read, written = rest

                def knows(other, number):
                    return other == stream or own.get(other, 0) >= number

                needed = [writes[one] for one in read | written if one in writes]
                needed += [last for one in written for last in reads.get(one, {}).items()]
                if not all(knows(*last) for last in needed):
                    found.append(place)
                own[stream] = own.get(stream, 0) + 1
                for one in read:
                    reads.setdefault(one, {})[stream] = own[stream]
                for one in written:
                    writes[one], reads[one] = (stream, own[stream]), {}
            return found
    """
    reason = """
        One number per stream is enough, because a stream does its work in order: a stream that has waited for kernel 5
        has waited for 1 to 4 as well. A wait takes over *all* numbers of the other stream, and so an order can go
        through a third stream.
    """
    wrong = [
        Wrong(
            """
            def races(actions):
                writes, waited, found = {}, set(), []
                for place, (kind, stream, *rest) in enumerate(actions):
                    if kind == "wait":
                        waited.add((stream, rest[0]))
                        continue
                    read, written = rest
                    for one in read | written:
                        other = writes.get(one, stream)
                        if other != stream and (stream, other) not in waited:
                            found.append(place)
                            break
                    for one in written:
                        writes[one] = stream
                return found
            """,
            says="a wait covers what was in the other stream at that moment",
            why="A wait from before the write says nothing about it.",
        ),
        Wrong(
            """
            def races(actions):
                clock, writes, found = {}, {}, []
                for place, (kind, stream, *rest) in enumerate(actions):
                    own = clock.setdefault(stream, {})
                    if kind == "wait":
                        other = rest[0]
                        own[other] = clock.setdefault(other, {}).get(other, 0)
                        continue
                    read, written = rest
                    last = [writes[one] for one in read | written if one in writes]
                    if any(other != stream and own.get(other, 0) < number for other, number in last):
                        found.append(place)
                    own[stream] = own.get(stream, 0) + 1
                    for one in written:
                        writes[one] = stream, own[stream]
                return found
            """,
            says="through a third stream, or a write after a read",
            why="If 2 waits for 1 and 1 has waited for 0, then 2 has waited for 0. And a write must wait for readers.",
        ),
    ]

    def check(races):
        plain = [("run", 0, set(), {"x"}), ("run", 1, {"x"}, {"y"})]
        expect(races(list(plain)), [1], "a read in another stream, without a wait")
        early = [("wait", 1, 0), *plain]
        require(
            races(list(early)) == [2],
            "A wait that comes before the write: a wait covers what was in the other stream at that moment.",
        )
        expect(races([plain[0], ("wait", 1, 0), plain[1]]), [], "the same with a wait in between")
        chain = [
            plain[0],
            ("wait", 1, 0),
            ("run", 1, set(), {"z"}),
            ("wait", 2, 1),
            ("run", 2, {"x"}, set()),
        ]
        behind = [("run", 0, {"x"}, set()), ("run", 1, set(), {"x"})]
        require(
            races(list(chain)) == [] and races(list(behind)) == [1],
            "Look at an order that goes through a third stream, or a write after a read.",
        )
        for _ in range(150):
            actions = some_actions()
            expect(races(list(actions)), true_races(actions), f"the races in {actions}")


def some_actions():
    streams, blocks = range(3), "pqr"
    actions = []
    for _ in range(random.randrange(4, 15)):
        if random.random() < 0.4:
            actions.append(("wait", *random.sample(streams, 2)))
            continue
        read = {one for one in blocks if random.random() < 0.3}
        written = {one for one in blocks if random.random() < 0.3}
        actions.append(("run", random.choice(streams), read, written))
    return actions


def true_races(actions):
    """By the order itself: which kernels are before which, as a set of pairs."""
    before, found = {}, []  # place: all places before it
    last = {}  # stream: what is before its next kernel
    for place, (kind, stream, *rest) in enumerate(actions):
        known = last.setdefault(stream, set())
        if kind == "wait":
            known |= last.setdefault(rest[0], set())
            continue
        read, written = rest
        before[place] = set(known)
        for one in read | written:
            earlier = [k for k in before if k < place and one in actions[k][3]]
            since = earlier[-1] if earlier else -1
            needed = earlier[-1:]
            if one in written:
                needed = needed + [k for k in before if since < k < place and one in actions[k][2]]
            if any(k not in known for k in needed):
                found.append(place)
                break
        known.add(place)
    return found


class YourQueue(Exercise):
    """A queue of your own

    Write a class `Stream`. `put(function)` returns at once, and a thread calls the functions one after the other, in
    order. `synchronize()` returns when all functions that were put before it are done. If a function raises, the
    others still run, and the next `synchronize()` raises the first error, once. `close()` ends the thread when all are
    done.
    """

    kind = "implement"
    idea = "A device with a queue"
    beside = "the check holds the queue's thread back with events of its own"
    stub = """
        class Stream:
            def put(self, function):
                function()

            def synchronize(self):
                pass

            def close(self):
                pass
    """
    hints = [
        "`queue.SimpleQueue` is made for that: `put` never waits, and `get` waits until there is something. The thread "
        "is an endless loop of `get` and a call.",
        "To synchronize, put a function that sets a `threading.Event`, and wait for that event. To close, put None.",
    ]
    solution = """
        class Stream:
            def __init__(self):
                self.work, self.error = queue.SimpleQueue(), None
                self.thread = threading.Thread(target=self.run, daemon=True)
                self.thread.start()

            def run(self):
                while (function := self.work.get()) is not None:
                    try:
                        function()
                    except Exception as error:
                        self.error = self.error or error

            def put(self, function):
                self.work.put(function)

            def synchronize(self):
                done = threading.Event()
                self.work.put(done.set)
                done.wait()
                error, self.error = self.error, None
                if error is not None:
                    raise error

            def close(self):
                self.work.put(None)
                self.thread.join()
    """
    reason = """
        An event is a function in the queue that says "I'm here". Synchronising is an event for which the program waits.
        Errors come late, just like results. That's why an error of a graphics card often names the wrong line.
    """
    wrong = [
        Wrong(
            """
            class Stream:
                def put(self, function):
                    function()

                def synchronize(self):
                    pass

                def close(self):
                    pass
            """,
            says="put has waited",
            why="Here the program does the work itself.",
        ),
        Wrong(
            """
            class Stream:
                def __init__(self):
                    self.threads = []

                def put(self, function):
                    self.threads.append(threading.Thread(target=function, daemon=True))
                    self.threads[-1].start()

                def synchronize(self):
                    for thread in self.threads:
                        thread.join()

                def close(self):
                    self.synchronize()
            """,
            says="before an earlier one",
            why="A thread for each function keeps no order.",
        ),
        Wrong(
            """
            class Stream:
                def __init__(self):
                    self.work = queue.SimpleQueue()
                    self.thread = threading.Thread(target=self.run, daemon=True)
                    self.thread.start()

                def run(self):
                    while (function := self.work.get()) is not None:
                        try:
                            function()
                        except Exception:
                            pass

                def put(self, function):
                    self.work.put(function)

                def synchronize(self):
                    done = threading.Event()
                    self.work.put(done.set)
                    done.wait()

                def close(self):
                    self.work.put(None)
                    self.thread.join()
            """,
            says="was lost",
            why="The error ends in the thread, and the program goes on with missing results.",
        ),
    ]

    def check(Stream):
        stream, gate, order = Stream(), threading.Event(), []

        def held():
            gate.wait(2)
            order.append("held")

        watch = threading.Thread(
            target=lambda: (stream.put(held), stream.put(lambda: order.append(1)))
        )
        watch.start()
        watch.join(1)
        require(
            not watch.is_alive(),
            "put has waited until the function was done. It must return at once.",
        )
        require(order == [], "A function ran before an earlier one in the queue was done.")
        gate.set()
        stream.synchronize()
        expect(order, ["held", 1], "what has run when synchronize returns")
        order.clear()
        for k in range(50):
            stream.put(lambda k=k: order.append(k))
        stream.synchronize()
        expect(order, list(range(50)), "the order of fifty functions")
        check_errors(stream, order)
        stream.close()


def check_errors(stream, order):
    def fails(text):
        raise KeyError(text)

    order.clear()
    stream.put(lambda: fails("first"))
    stream.put(lambda: fails("second"))
    stream.put(lambda: order.append("after"))
    try:
        stream.synchronize()
    except KeyError as error:
        expect(error.args, ("first",), "the error that synchronize raises")
    else:
        require(False, "A function raised an error, and it was lost. synchronize must raise it.")
    expect(order, ["after"], "what runs after a function that raised")
    stream.synchronize()  # the error was raised once


class YourCache(Exercise):
    """A caching allocator

    `system` has `take(nbytes)`, which returns a block, and `give(block)`, which takes it back. Both are slow. Write a
    class `Cache(system, limit)` with the same two methods. Requests are rounded up to a multiple of 512 bytes, and
    `system` is only asked for such sizes. A freed block is kept, and the next request of its rounded size gets it, the
    one that was freed last first. All kept blocks together have at most `limit` bytes: if a freed block makes them
    more, the ones that were freed first go back to the system. `block.nbytes` is the size of a block.
    """

    kind = "extend"
    idea = "What the allocator keeps"
    stub = """
        class Cache:
            def __init__(self, system, limit):
                self.system = system

            def take(self, nbytes):
                return self.system.take(nbytes)

            def give(self, block):
                self.system.give(block)
    """
    hints = [
        "Keep the freed blocks in one list, in the order in which they were freed. `take` looks through it from the "
        "end.",
        "`-(-nbytes // 512) * 512` rounds up. In `give`, append first, then give the first ones back while the sum is "
        "above the limit; a single block that is larger than the limit goes back at once, too.",
    ]
    solution = """
        class Cache:
            def __init__(self, system, limit):
                self.system, self.limit, self.kept = system, limit, []

            def take(self, nbytes):
                size = -(-nbytes // 512) * 512
                for k in range(len(self.kept) - 1, -1, -1):
                    if self.kept[k].nbytes == size:
                        return self.kept.pop(k)
                return self.system.take(size)

            def give(self, block):
                self.kept.append(block)
                while sum(one.nbytes for one in self.kept) > self.limit:
                    self.system.give(self.kept.pop(0))
    """
    reason = """
        The block that was freed last is the one that is most likely still in the processor's cache. The one that was
        freed first is the one that hasn't been asked for in the longest time. A real allocator has a list for each
        size instead of a search.
    """
    wrong = [
        Wrong(
            """
            class Cache:
                def __init__(self, system, limit):
                    self.system, self.kept = system, []

                def take(self, nbytes):
                    size = -(-nbytes // 512) * 512
                    for block in reversed(self.kept):
                        if block.nbytes == size:
                            self.kept.remove(block)
                            return block
                    return self.system.take(size)

                def give(self, block):
                    self.kept.append(block)
            """,
            says="the limit is",
            why="Without a limit, the cache ends up with everything that was ever needed at once.",
        ),
        Wrong(
            """
            class Cache:
                def __init__(self, system, limit):
                    self.system, self.limit, self.kept = system, limit, []

                def take(self, nbytes):
                    for block in reversed(self.kept):
                        if block.nbytes >= nbytes:
                            self.kept.remove(block)
                            return block
                    return self.system.take(-(-nbytes // 512) * 512)

                def give(self, block):
                    self.kept.append(block)
                    while sum(one.nbytes for one in self.kept) > self.limit:
                        self.system.give(self.kept.pop(0))
            """,
            says="a larger block",
            why="A request of 512 bytes may take a block of a megabyte, which the next large request then lacks.",
        ),
        Wrong(
            """
            class Cache:
                def __init__(self, system, limit):
                    self.system, self.limit, self.kept = system, limit, []

                def take(self, nbytes):
                    for block in reversed(self.kept):
                        if block.nbytes == nbytes:
                            self.kept.remove(block)
                            return block
                    return self.system.take(nbytes)

                def give(self, block):
                    self.kept.append(block)
                    while sum(one.nbytes for one in self.kept) > self.limit:
                        self.system.give(self.kept.pop(0))
            """,
            says="multiple of 512",
            why="Without rounding, sizes hardly ever meet.",
        ),
    ]

    def check(Cache):
        for _ in range(20):
            check_cache(Cache, random.randrange(1, 12) * 1024)


class Block:
    def __init__(self, nbytes):
        self.nbytes = nbytes


class System:
    """Gives blocks, and notes which are out."""

    def __init__(self):
        self.out = []

    def take(self, nbytes):
        require(
            nbytes % 512 == 0,
            f"The system was asked for {nbytes} bytes; that's no multiple of 512.",
        )
        self.out.append(Block(nbytes))
        return self.out[-1]

    def give(self, block):
        require(
            any(block is one for one in self.out), "A block was given back to the system twice."
        )
        self.out = [one for one in self.out if one is not block]


def check_cache(Cache, limit):
    system = System()
    cache = Cache(system, limit)
    used, kept = [], []  # as they should be
    for _ in range(60):
        if used and random.random() < 0.5:
            block = used.pop(random.randrange(len(used)))
            cache.give(block)
            kept.append(block)
            while sum(one.nbytes for one in kept) > limit:
                kept.pop(0)
            held = sum(one.nbytes for one in system.out) - sum(one.nbytes for one in used)
            expected = sum(one.nbytes for one in kept)
            require(held <= limit, f"The cache keeps {held} bytes, and the limit is {limit}.")
            require(
                all(any(one is other for other in system.out) for one in kept),
                "A block went back to the system too early: only if the kept blocks have too many bytes, "
                "and those that were freed first go first.",
            )
            expect(held, expected, "the bytes that the cache keeps")
            continue
        nbytes = random.choice([1, 300, 512, 513, 900, 1500, 2048])
        size = -(-nbytes // 512) * 512
        wanted = next((one for one in reversed(kept) if one.nbytes == size), None)
        block = cache.take(nbytes)
        require(
            block.nbytes <= size,
            f"For {nbytes} bytes came a larger block, of {block.nbytes}; it must have {size}.",
        )
        expect(block.nbytes, size, f"the size of the block for {nbytes} bytes")
        require(
            wanted is None or block is wanted,
            "A kept block of that size must be used, the one that was freed last first.",
        )
        require(
            not any(block is one for one in used),
            "A block was given to a second owner while it was in use.",
        )
        if wanted is not None:
            kept = [one for one in kept if one is not wanted]
        used.append(block)
