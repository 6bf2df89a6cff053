"""Run the cells of the book's pages, several pages at once, in the order in which they are read.

What they put out is kept (docs/_ext/executed_pages.py says where), so a page runs again only when something
changed that it depends on.  A cell that measures time (docs/measuring_cells.py) runs alone: no other page's cell and no
preview that is written meanwhile takes part of the processor from it.
"""

import asyncio
import contextlib
import os
import signal
import sys
import threading
from pathlib import Path

from myst_nb.core.read import read_myst_markdown_notebook
from myst_parser.config.main import MdParserConfig
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs/_ext"))

from executed_pages import CONFIG, is_executed, key_of, store, text_of  # noqa: E402
from measuring_cells import measuring_cells  # noqa: E402


class ExecutionFailed(Exception):
    """A cell failed; the message says which, and why."""


class Cores:
    """Lets cells run side by side, and a cell that measures alone."""

    def __init__(self):
        self.running = self.waiting = 0
        self.is_measuring = False
        self.changed = asyncio.Condition()
        self.background = None  # a process in a group of its own, which stands still meanwhile

    @contextlib.asynccontextmanager
    async def shared(self):
        async with self.changed:
            await self.changed.wait_for(lambda: not self.is_measuring and not self.waiting)
            self.running += 1
        try:
            yield
        finally:
            async with self.changed:
                self.running -= 1
                self.changed.notify_all()

    @contextlib.asynccontextmanager
    async def alone(self):
        async with self.changed:
            self.waiting += 1
            try:
                await self.changed.wait_for(lambda: not self.is_measuring and not self.running)
            finally:
                self.waiting -= 1
            self.is_measuring = True
        stopped = self.background
        send(stopped, "SIGSTOP")
        try:
            yield
        finally:
            send(stopped, "SIGCONT")
            async with self.changed:
                self.is_measuring = False
                self.changed.notify_all()


def send(process, name):
    """Send a signal to a process and those it started, where the system has that signal."""
    if process is not None and process.poll() is None and hasattr(signal, name):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, getattr(signal, name))


class PageClient(NotebookClient):
    """Runs the cells of a page, with regard to other pages that run."""

    def __init__(self, page, cores):
        self.page, self.cores, self.position = page, cores, None
        self.notebook = read_page(page)
        folder = (ROOT / page).parent
        self.measuring = measuring_cells(
            [cell.source if cell.cell_type == "code" else "" for cell in self.notebook.cells],
            folder,
        )
        super().__init__(
            self.notebook,
            timeout=CONFIG["execute"]["timeout"],
            resources={"metadata": {"path": str(folder)}},
            extra_arguments=["--log-level=40"],  # no line for each kernel about how it is talked to
        )

    async def async_start_new_kernel(self, **options):
        # whether a cell says that the compiler takes its time depends on the load of the machine
        options["env"] = {**os.environ, "TENSORLAB_PROGRESS": "0"}
        async with self.cores.shared():
            await super().async_start_new_kernel(**options)

    async def async_start_new_kernel_client(self):
        async with self.cores.shared():
            return await super().async_start_new_kernel_client()

    async def async_execute_cell(self, cell, cell_index, **options):
        if cell.cell_type != "code":
            return cell
        self.position = cell_index
        place = self.cores.alone() if cell_index in self.measuring else self.cores.shared()
        async with place:
            cell = await super().async_execute_cell(cell, cell_index, **options)
        complaint = "".join(o.text for o in cell.outputs if o.get("name") == "stderr")
        if complaint and CONFIG["execute"]["stderr_output"] == "error":
            raise ExecutionFailed(f"it wrote to stderr:\n{complaint}")
        return cell

    def place(self):
        """Say which cell it is that runs."""
        if self.position is None:
            return f"{self.page}.md"
        cells = [i for i, cell in enumerate(self.notebook.cells) if cell.cell_type == "code"]
        line = self.notebook.metadata.source_map[self.position]
        return f"{self.page}.md:{line}: cell {cells.index(self.position) + 1} of {len(cells)}"


def read_page(page):
    """Return the cells of a page as Sphinx will read them."""
    extensions = set(CONFIG["parse"]["myst_enable_extensions"])
    return read_myst_markdown_notebook(
        text_of(page),
        MdParserConfig(enable_extensions=extensions),
        add_source_map=True,
        path=ROOT / f"{page}.md",
    )


class Execution:
    """Runs pages in a thread of its own, in order and `at_once` at a time; those that ran already are skipped.

    The thread keeps Ctrl-C for the caller: nbclient would take it in the main thread.  Leaving the
    `with` block ends what runs, and waits until its processes are gone.
    """

    def __init__(self, pages, progress, at_once=2):
        self.pages, self.progress, self.at_once = pages, progress, at_once
        self.done = threading.Condition()
        self.executed, self.problems, self.clients = set(), [], set()
        self.has_ended = self.is_stopping = False
        self.cores = self.loop = self.task = None
        self.thread = threading.Thread(target=self.run)
        self.started = threading.Event()

    def __enter__(self):
        self.thread.start()
        self.started.wait()
        return self

    def __exit__(self, *error):
        self.is_stopping = True
        for client in list(self.clients):
            client.shutdown_kernel = "immediate"
        if self.task is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended by itself
                self.loop.call_soon_threadsafe(self.task.cancel)
        self.thread.join()

    def wait_for(self, pages):
        """Return when these pages have run; ExecutionFailed if they never will, because a cell failed."""
        with self.done:
            self.done.wait_for(lambda: self.executed.issuperset(pages) or self.has_ended)
            if not self.executed.issuperset(pages):
                raise ExecutionFailed("\n".join(self.problems))

    # ------------------------------------------------------------ in the thread
    def run(self):
        try:
            asyncio.run(self.run_all())
        except asyncio.CancelledError:
            pass
        except Exception as error:  # such as a kernel that does not start
            self.problems.append(f"cells could not be run: {error!r}")
        finally:
            self.started.set()
            with self.done:
                self.has_ended = True
                self.done.notify_all()

    async def run_all(self):
        self.loop, self.task = asyncio.get_running_loop(), asyncio.current_task()
        self.cores = Cores()
        self.started.set()
        pages = iter(self.pages)
        await asyncio.gather(*(self.work(pages) for _ in range(self.at_once)))

    async def work(self, pages):
        """Run one page after the other; after the first one that fails, no other begins."""
        for page in pages:
            if self.problems or self.is_stopping:
                return
            if is_executed(page) or await self.execute(page):
                with self.done:
                    self.executed.add(page)
                    self.done.notify_all()

    async def execute(self, page):
        """Run the cells of a page, and keep what they put out; return whether all went well."""
        self.progress.begins(page)
        key, client = key_of(page), PageClient(page, self.cores)
        self.clients.add(client)
        try:
            await client.async_execute()
        except (
            CellControlSignal,
            ExecutionFailed,
            RuntimeError,
        ) as error:  # the last: no kernel, or a dead one
            if not self.is_stopping:  # nbclient says of a cancelled task that its kernel died
                self.problems.append(f"{client.place()}: {error}")
            return False
        finally:
            self.clients.discard(client)
        self.progress.ends(page)
        if key == key_of(page):  # else it was edited meanwhile, and runs again when it is read
            store(page, key, client.nb)
        return True
