"""spawn: run a function in several processes, and end them all when one fails."""

import multiprocessing
import os
import signal
import sys
import threading
import time

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

MOST = 10_000  # processes; more is a mistake that would take the machine down
PATIENCE = 30  # seconds between SIGTERM and SIGKILL, unless join is told
ATTEMPTS = 10  # to interrupt a process whose parent is gone


class ProcessException(Exception):
    """One of the processes of `spawn` failed.

    Attributes
    ----------
    error_index : int, its number, from 0
    error_pid : int
    """

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """A process of `spawn` raised; the text holds its traceback."""


class ProcessExitedException(ProcessException):
    """A process of `spawn` was killed, or exited with a code that is not 0.

    Attributes
    ----------
    exit_code : int, negative for a signal
    signal_name : str such as "SIGKILL", or None
    """

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name

    def __reduce__(self):
        return type(self), (*super().__reduce__()[1], self.exit_code, self.signal_name)


class ProcessContext:
    """The running processes of `spawn`.

    Attributes
    ----------
    processes : list of multiprocessing.Process
    """

    def __init__(self, processes, connections):
        self.processes = processes
        self.running = {process.sentinel: number for number, process in enumerate(processes)}
        self.reporting = {connection: number for number, connection in enumerate(connections)}
        self.traces = {}  # number of a process: the traceback that it sent

    def pids(self):
        """Return the process numbers that the system gave."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Wait until a process ends; return whether all of them have ended.

        Parameters
        ----------
        timeout : float, seconds to wait at most; without limit if not given
        grace_period : float, seconds that the others have to end by themselves after one has failed, and again after
            SIGTERM, before they are killed; none, and then 30, if not given

        Raises
        ------
        ProcessRaisedException, ProcessExitedException
            If a process failed. All others have ended then.
        """
        for number in self.wait_for_an_end(timeout):
            self.processes[number].join()
            if self.processes[number].exitcode != 0:
                self.end_all(grace_period)
                raise self.error_of(number)
        return not self.running

    def wait_for_an_end(self, timeout):
        """Return the numbers of processes that have ended. Tracebacks are read meanwhile: a long one fills its pipe."""
        from multiprocessing.connection import wait

        end = None if timeout is None else time.monotonic() + timeout
        ended = []
        while self.running and not ended:
            left = None if end is None else max(0, end - time.monotonic())
            ready = wait([*self.reporting, *self.running], left)
            for connection in set(ready) & set(self.reporting):
                number = self.reporting.pop(connection)
                try:
                    self.traces[number] = connection.recv()
                except EOFError:
                    pass  # it had nothing to report
            ended = [self.running.pop(sentinel) for sentinel in ready if sentinel in self.running]
            if not ready:
                break
        return ended

    def end_all(self, grace_period):
        if grace_period is not None:
            join_all(self.processes, grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        join_all(self.processes, PATIENCE if grace_period is None else grace_period)
        for process in self.processes:
            process.kill()
            process.join()
        self.running.clear()

    def error_of(self, number):
        pid, code = self.processes[number].pid, self.processes[number].exitcode
        if number in self.traces:
            text = f"\n\n-- Process {number} terminated with the following error:\n{self.traces[number]}"
            return ProcessRaisedException(text, number, pid)
        if code >= 0:
            text = f"process {number} terminated with exit code {code}"
            return ProcessExitedException(text, number, pid, code)
        name = signal_name(-code)
        text = f"process {number} terminated with signal {name}"
        return ProcessExitedException(text, number, pid, code, name)


def signal_name(number):
    try:
        return signal.Signals(number).name
    except ValueError:  # most real-time signals have none
        return f"<Unknown signal {number}>"


class SpawnContext(ProcessContext):
    """The older name of ProcessContext."""


def join_all(processes, seconds):
    """Wait until all have ended, or for so many seconds."""
    end = time.monotonic() + seconds
    for process in processes:
        process.join(max(0, end - time.monotonic()))


def run(fn, number, args, connection):
    """Call the function; the whole life of a process. A traceback is sent back."""
    interrupted = threading.Event()

    def interrupt(*given):
        interrupted.set()
        signal.default_int_handler(*given)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    else:
        interrupted.set()  # what the program does with the signal is its own affair
    threading.Thread(target=end_with_parent, args=(interrupted,), daemon=True).start()
    try:
        fn(number, *args)
    except KeyboardInterrupt:
        pass  # Ctrl-C reaches all processes, and the first one reports it
    except Exception:
        import traceback

        connection.send(traceback.format_exc())
        sys.exit(1)


def end_with_parent(interrupted):
    """Interrupt this process when the one that started it is gone.

    A signal that comes just before a call that waits is not noticed until that call is over, so it's sent until
    it has been. It's SIGTERM if SIGINT is ignored, as in what a shell runs in the background.
    """
    multiprocessing.parent_process().join()
    is_ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    for _ in range(ATTEMPTS):
        os.kill(os.getpid(), signal.SIGTERM if is_ignored else signal.SIGINT)
        if interrupted.wait(1):
            return


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Start processes that call `fn(number, *args)`, with the numbers 0 to nprocs - 1.

    Parameters
    ----------
    fn : function; unless the start method is "fork", one at the top level of a module
    args : tuple; tensors in it are shared with the processes
    nprocs : int
    join : bool, whether to wait until all have ended; else a ProcessContext is returned
    daemon : bool, whether the processes end with this one
    start_method : "spawn", "fork" or "forkserver"

    Raises
    ------
    ProcessRaisedException, ProcessExitedException
        If one of them fails; the others are ended.
    TypeError, ValueError
        If `fn` can't be called, `args` is not a tuple, or there are to be more processes than a system runs.
    """
    if not callable(fn) or not isinstance(args, (tuple, list)):
        raise TypeError(
            f"start_processes: fn and args are {fn!r} and {args!r}; expected a function and a tuple of its arguments, "
            "as in spawn(train, args=(model,))"
        )
    if not 0 <= nprocs <= MOST:
        raise ValueError(
            f"start_processes: nprocs is {nprocs!r}; expected a number from 0 to {MOST}"
        )
    context = multiprocessing.get_context(start_method)
    processes, connections = [], []
    try:
        for number in range(nprocs):
            ours, theirs = context.Pipe(duplex=False)
            connections.append(ours)
            process = context.Process(target=run, args=(fn, number, args, theirs), daemon=daemon)
            process.start()
            theirs.close()
            processes.append(process)
    except BaseException:
        ProcessContext(processes, ()).end_all(None)
        raise
    running = ProcessContext(processes, connections)
    if not join:
        return running
    while not running.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Run `fn(number, *args)` in several new processes: `start_processes` with the method "spawn".

    `fn` has to be at the top level of a module, and a program that calls this guards it with `if __name__ ==
    "__main__":`, because each process imports that module.

    Examples
    --------
    >>> spawn(train, args=(model.share_memory(),), nprocs=4)  # doctest: +SKIP
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)
