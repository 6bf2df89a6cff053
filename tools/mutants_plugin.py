"""A pytest plugin that collects once and then runs chosen tests, again and again, each time with a mutant switched on.

tools/mutants.py starts pytest with `-p mutants_plugin` and speaks with it over two pipes, in lines of JSON. A request
is answered by one line for each test that begins, until one fails, and by a last one:

    {"mutant": 17, "items": [4, 9], "seconds": 30, "record": false}
    {"begun": "tests/ops/test_views.py::test_x"}
    {"mutant": 17, "why": "failed", "end": true}

A forked child runs the tests, so a mutant can leave nothing behind. It shares work out among threads of its own, as
long as collecting the tests has started none. `record` asks for a line for each test: its outcome, how long it took,
and which switches it passed. These stand in a file that every process of the run maps: first the number of the mutant
that is on, then one byte for each switch.
"""

import json
import os
import resource
import signal
import time

import pytest
import tl_mutants

SURVIVED, FAILED = 90, 91  # exit statuses that no mutant comes upon by chance
OUTCOMES = {SURVIVED: None, FAILED: "failed"}
GIGABYTE = 1 << 30
ROOM = (
    6 * GIGABYTE
)  # what a mutant may add to the memory of its process; some want to allocate everything


class Server:
    """Answers requests until the pipe is closed."""

    def __init__(self, session):
        self.session = session
        self.requests = os.fdopen(int(os.environ["TL_MUTANTS_REQUESTS"]), "r")
        self.answers = os.fdopen(int(os.environ["TL_MUTANTS_ANSWERS"]), "w")
        self.failed = False

    def say(self, **facts):
        self.answers.write(json.dumps(facts) + "\n")
        self.answers.flush()

    def serve(self):
        self.say(items=[item.nodeid for item in self.session.items], at_import=tl_mutants.seen())
        for line in self.requests:
            self.answer(json.loads(line))

    def answer(self, request):
        """Run what is asked for in a child, and report a child that fails, dies or is too slow."""
        self.answers.flush()
        tl_mutants.enable_interception(request["mutant"])
        child = os.fork()
        if child == 0:
            self.be_the_child(request)
        status = self.wait(child, request["seconds"])
        tl_mutants.enable_interception(-1)
        if status is None:
            self.say(mutant=request["mutant"], why="hangs", end=True)
        elif os.WIFSIGNALED(status):
            self.say(
                mutant=request["mutant"], why=f"dies with signal {os.WTERMSIG(status)}", end=True
            )
        else:
            why = OUTCOMES.get(os.WEXITSTATUS(status), "ends the process")
            self.say(mutant=request["mutant"], why=why, end=True)

    @staticmethod
    def wait(child, seconds):
        """The status of the child, or None: it took too long and was killed, with what it had started."""
        limit = time.monotonic() + seconds
        pause = 0.002
        while time.monotonic() < limit:
            pid, status = os.waitpid(child, os.WNOHANG)
            if pid:
                return status
            time.sleep(pause)
            pause = min(0.05, pause * 1.2)
        try:
            os.killpg(child, signal.SIGKILL)
        except ProcessLookupError:  # it has not become a group yet
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return None

    def be_the_child(self, request):
        """Run the tests and leave; nothing of pytest's ending must run twice."""
        status = 1
        try:
            os.setpgid(0, 0)
            with open("/proc/self/statm") as file:
                used = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, resource.RLIM_INFINITY))
            resource.setrlimit(
                resource.RLIMIT_FSIZE, (ROOM, resource.RLIM_INFINITY)
            )  # in memory, too
            status = self.run(request)
        finally:
            self.answers.flush()
            os._exit(status)

    def run(self, request):
        items = [self.session.items[i] for i in request["items"]]
        for i, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
            if request["record"]:
                tl_mutants.forget()
            else:
                self.say(begun=item.nodeid)
            self.failed = False
            begin = time.perf_counter()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if request["record"]:
                passed = tl_mutants.seen()
                seconds = time.perf_counter() - begin
                self.say(item=request["items"][i], ok=not self.failed, seconds=seconds, seen=passed)
            elif self.failed:
                return FAILED
        return SURVIVED


SERVER = None


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    global SERVER
    SERVER = Server(session)
    SERVER.serve()
    return True


def pytest_runtest_logreport(report):
    if SERVER is not None and report.failed:
        SERVER.failed = True
