"""Make many small mutants of the source and see which of them the tests notice.

    python tools/mutants.py --seed 0 --number 500 --jobs 2
    python tools/mutants.py --families pooling engine --number 60
    python tools/mutants.py --at tensorlab/ops/pooling/maximum.pyx:108      all mutants of a line

mutation.py says what a mutant is. Work happens in a copy of the checkout, which must be built in place (`make build`):

1. a few files of each family are chosen, and mutants in each; all of them are built in at once, behind switches;
2. the tests run once with all switches off, which tells which test passes which switch;
3. each mutant is switched on for the tests that pass its switch, the most special ones first, until one of them fails.

A failing test, a dead process and one that takes far too long all kill a mutant. Load on the machine must not: a
test has to fail twice, and mutants that took too long are tried again at the end, one at a time, with more patience.
Those that survive are printed, and all results are written to build/mutants/results.tsv. A survivor wants a test, or,
where it changes nothing that a program can see, a reason in tools/harmless_mutants.toml; such mutants are not made
again.
"""

import argparse
import collections
import json
import os
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from pathlib import Path

from mutants_build import Builder
from mutation import find_mutants
from planted_bugs import COPIED, ROOT, copy_tree

HARMLESS = ROOT / "tools" / "harmless_mutants.toml"
RESULTS = ROOT / "build" / "mutants"
SWITCHES = 1 << 16  # as many as tl_mutants.h has

OPS = ["tests/ops"]
GRAPH = [
    "tests/autograd",
    "tests/core",
    "tests/test_overrides.py",
    *["tests/ops/test_views.py", "tests/ops/test_gradients.py", "tests/ops/test_node_names.py"],
    "tests/ops/test_leaked_memory.py",
]
# family: the files it is in (below tensorlab/), and the tests that are about it.
FAMILIES = {
    "pointwise": ("ops/pointwise/*.pyx ops/pointwise/common.pxd ops/pointwise_losses.pyx "
                  "_core/loops/scalar_functions.h _core/loops/tl_math.pxd _core/loops/c_math.pxd",
                  [*OPS, "tests/core/test_tl_math.py"]),
    "reductions": ("ops/reductions.p[xy][dx] ops/reduction_iterator.pyx ops/extrema.pyx ops/statistics.pyx "
                   "ops/products.pyx ops/norms.pyx ops/order_statistics.pyx ops/quantiles.py ops/integrals.py "
                   "ops/histograms.pyx ops/inner_loops.pxd ops/moments.pxd", OPS),
    "scans": ("ops/scans.pyx ops/dim_iterator.pyx", [*OPS, "tests/core/test_scarce_memory.py"]),
    "sorting": ("ops/sorting.pyx ops/sorted_values.pyx ops/searching.pyx ops/uniques.pyx", OPS),
    "indexing": ("ops/indexing/[aem]*.pyx ops/indexing/getitem.pyx ops/indexing/subscripts.pyx "
                 "ops/indexing/index_iterator.p[xy][dx] ops/indexing/index_along_dim.pyx ops/indexing/nonzero.pyx "
                 "ops/indexing/parts.py",
                 [*OPS, "tests/core/test_corners.py"]),
    "scatter": ("ops/indexing/gather.pyx ops/indexing/scatter*.pyx", OPS),
    "shape": ("ops/reshaping.pyx ops/dimensions.pyx ops/slicing.pyx ops/splitting.pyx ops/joining.pyx "
              "ops/rearranging.pyx ops/strided.pyx ops/triangles.pyx ops/resizing.pyx ops/copying.pyx ops/meshgrid.py "
              "ops/composite.py ops/shuffles.py ops/padding.py ops/lazy_clone.pyx ops/tensor_info.pyx "
              "ops/memory_formats.p[xy][dx] ops/dimensions.pxd _core/layout.p[xy][dx] _core/layout_fields.pyx",
              [*OPS, "tests/core/test_layout.py", "tests/test_types.py"]),
    "convolution": ("ops/convolution.pyx ops/convolution_loops.pyx ops/direct_convolution.pyx ops/im2col.pyx "
                    "ops/folding.pyx ops/indirect_convolution.pyx ops/panel_convolution.pyx"
                    " ops/winograd*.pyx", OPS),
    "pooling": ("ops/pooling/*.pyx ops/pooling/composed.py", OPS),
    "fx": ("fx/*.py fx/passes/*.py fx/passes/infra/*.py fx/experimental/*.py viz/program.py", ["tests/fx"]),
    "numbered_modes": ("ops/numbered_modes.py", ["tests/test_second_names.py"]),
    "inner_functions": ("ops/inner_functions.py", ["tests/ops/test_inner_functions.py"]),
    "resampling": ("ops/resampling.py ops/grids.py", ["tests/nn/test_upsampling.py", "tests/nn/test_grids.py"]),
    "normalization": ("ops/normalization.pyx ops/batch_norm.pyx", [*OPS, "tests/nn"]),
    "losses": ("ops/softmax.pyx ops/losses.pyx ops/margin_losses.py ops/composed_losses.py ops/ctc.py "
               "ops/reductions_of_losses.py", [*OPS, "tests/nn"]),
    "attention": ("ops/multi_head_attention.py ops/attention.pyx ops/attention_formula.py "
                  "ops/scaled_dot_product.pyx", [*OPS, "tests/nn"]),
    "recurrent": ("ops/recurrent/*.p[xy]*",
                  ["tests/nn/test_recurrent.py", *OPS]),
    "linalg": ("ops/linalg/*.p[xy]* _core/loops/vectors.pxd", OPS),
    "complex": ("ops/complex_*.pyx ops/fourier.pyx ops/short_time_fourier.py fft.py _core/dispatch/lazy_bits.pyx",
                [*OPS, "tests/optim/test_complex_parameters.py"]),
    "samples": ("ops/multivariate_gamma.py ops/pointwise/scipy_functions.pxd ops/windows.py ops/sampling.pyx "
                "ops/histogram_of_points.py ops/made_tensors.py ops/foreach.py ops/copied_views.py "
                "_core/rejection.pyx masked.py quasirandom.py signal/windows.py",
                [*OPS, "tests/test_masked.py", "tests/test_quasirandom.py", "tests/test_signal.py",
                 "tests/ops/test_histogramdd.py", "tests/test_make_tensor.py"]),
    "sparse": ("ops/sparse/*.pyx sparse/*.py nested/*.py", ["tests/sparse", "tests/nested"]),
    "lowering": ("compiler/lowering/*.py compiler/toolchain.py compiler/disk_cache.py _core/loops/scalar.py",
                 ["tests/compiler", "tests/core/test_scalar.py"]),
    "random": ("ops/random.pyx ops/random_factories.pyx ops/dropout.pyx ops/random_activations.py "
               "_core/random.p[xy][dx] _core/distributions.pyx",
               [*OPS, "tests/core/test_random.py", "tests/compiler/test_second_order.py"]),
    "creation": ("ops/creation.pyx ops/constructors.pyx ops/factories.p[xy][dx] ops/ranges.pyx ops/filling.pyx "
                 "ops/inclusive_range.py ops/element_functions.py _core/interop/exchange.pyx "
                 "_core/loops/conversion.pyx "
                 "_core/dtypes.p[xy][dx]", [*OPS, "tests/core", "tests/test_types.py", "tests/test_forms.py"]),
    "loops": ("_core/loops/iterator.p[xy][dx] _core/loops/loop_nest.pxd _core/dispatch/operands.p[xy][dx] "
              "_core/dispatch/out_argument.pyx _core/dispatch/kernels.p[xy][dx] "
              "_core/loops/parallel.pyx _core/dispatch/dispatch.p[xy][dx] _core/dispatch/op.pyx "
              "_core/dispatch/schema.py _core/dispatch/facets.py _core/dispatch/layers.pyx "
              "_core/dispatch/recorder.py _core/dispatch/pointwise.p[xy][dx]",
              [*OPS, "tests/core"]),
    "extension": ("_core/dispatch/overloads.py _core/dispatch/overload_call.pyx _core/dispatch/dispatch_hooks.pyx "
                  "library/*.py utils/_pytree.py utils/_python_dispatch.py utils/cython_extension.py "
                  "utils/flop_counter.py _subclasses/*.py _dispatch_trace.py",
                  ["tests/library", "tests/utils/test_pytree.py", "tests/utils/test_python_dispatch.py",
                   "tests/utils/test_cython_extension.py", "tests/utils/test_flop_counter.py",
                   "tests/test_fake_tensors.py", "tests/test_dispatch_trace.py", "tests/fx/test_pytree.py"]),
    "amp": ("amp/*.py _core/dispatch/autocast.p[xy][dx] _core/dispatch/autocast_rules.py",
            ["tests/test_autocast.py", "tests/test_grad_scaler.py", "tests/test_amp.py",
             "tests/compiler/capture/test_settings.py"]),
    # What runs in processes of its own (MPI, launcher, server) isn't reached by a switch in this one.
    "distributed": ("distributed/[a-z]*.py distributed/backends/threads.py distributed/algorithms/*.py "
                    "distributed/algorithms/*/*.py distributed/checkpoint/*.py distributed/fsdp/*.py "
                    "distributed/nn/*.py distributed/optim/*.py distributed/pipelining/*.py "
                    "distributed/tensor/*.py distributed/tensor/parallel/*.py nn/parallel/*.py "
                    "futures.py",
                    ["tests/distributed/test_checkpoint.py", "tests/distributed/test_collectives.py",
                     "tests/distributed/test_device_mesh.py", "tests/distributed/test_functional.py",
                     "tests/distributed/test_messages.py", "tests/distributed/test_optimizers.py",
                     "tests/distributed/test_pipelining.py", "tests/distributed/test_pitfalls.py",
                     "tests/distributed/test_process_groups.py", "tests/distributed/test_simulate.py",
                     "tests/distributed/tensor", "tests/distributed/fsdp/test_fully_shard.py",
                     "tests/distributed/fsdp/test_fully_sharded_data_parallel.py",
                     "tests/nn/parallel/test_distributed.py", "tests/test_futures.py"]),
    "devices": ("_streams.py accelerator.py cpu/*.py utils/backend_registration.py viz/memory.py "
                "viz/timeline.py",
                ["tests/test_lab_device.py", "tests/test_memory_history.py", "tests/test_devices.py",
                 "tests/core/test_devices.py"]),
    "engine": ("_core/engine/engine.pyx _core/engine/graph_task.pyx _core/engine/backward.pyx "
               "_core/graph/accumulate_grad.pyx "
               "autograd/grad_mode.py autograd/functional.py autograd/calls.py autograd/check.py autograd/gradcheck.py "
               "autograd/mismatch.py autograd/numerical.py autograd/backward_rules.py", GRAPH),
    "graph": ("_core/graph/graph.p[xy][dx] _core/engine/autograd_fields.pyx _core/graph/anomaly.pyx _core/hooks.py "
              "_core/dispatch/subclass.pyx "
              "ops/subclasses.pyx autograd/anomaly_mode.py autograd/function.py autograd/custom_calls.py "
              "autograd/graph.py autograd/variable.py "
              "_core/graph/inplace.pyx _core/dispatch/recording.pyx _core/graph/saved.pyx "
              "_core/engine/node_hooks.pyx _core/state/warning.py "
              "_core/engine/function.pyx _core/state/modes.pyx _core/tensor*.p[xy][dx] _core/storage.pyx", GRAPH),
    "func": ("func/*.py func/*/*.py autograd/forward_ad.py _core/dispatch/levels.pyx "
             "_core/dispatch/level_calls.pyx "
             "_core/dispatch/capture.pyx autograd/forward_rules.py",
             ["tests/func", "tests/autograd/test_forward_ad.py"]),
    "optim": ("ops/optim_steps.pyx optim/*.py optim/lr_scheduler/*.py", ["tests/optim"]),
    "nn": ("nn/*.py nn/utils/*.py nn/modules/*.py nn/attention/*.py",
           ["tests/nn", "tests/test_missing.py", "tests/ops/test_pooling.py"]),
    "exchange": ("_core/interop/arrays.pyx _core/interop/dlpack.pyx _core/dispatch/numpy_aliases.pyx _core/device.py "
                 "_core/state/devices.pyx "
                 "ops/pickling.py utils/dlpack.py",
                 ["tests/interop", "tests/core", "tests/ops/test_pickling.py", "tests/test_devices.py"]),
    "overrides": ("_core/dispatch/overrides.pyx overrides.py array_api/adapters.py",
                  ["tests/test_overrides.py", "tests/test_array_api.py", "tests/core"]),
    "serialization": ("serialization/*.py hub.py", ["tests/serialization", "tests/test_hub.py"]),
    "sharing": ("multiprocessing/*.py ops/sharing.pyx _core/interop/memory_file.py",
                ["tests/multiprocessing", "tests/utils/data/test_workers.py"]),
    "passes": ("compiler/cannot_compile.py compiler/joint/*.py compiler/passes/*.py",
               ["tests/compiler/joint", "tests/compiler/passes"]),
    "compile": ("compiler/[abelmopr]*.py compiler/frontend.py compiler/tree.py compiler/*.pyx", ["tests/compiler"]),
    "capture": ("compiler/capture/*.py compiler/capture/*.pyx _core/state/settings_number.pyx",
                ["tests/compiler/capture"]),
    "profiler": ("profiler/*.py autograd/profiler*.py utils/benchmark/*.py utils/bottleneck.py _core/profiling.pyx "
                 "_core/dispatch/profiler_layer.pyx",
                 ["tests/profiler", "tests/utils/test_benchmark.py", "tests/utils/test_bottleneck.py"]),
    "data": ("utils/data/*.py utils/checkpoint.py utils/recomputing.py", ["tests/utils", "tests/test_missing.py"]),
}  # fmt: skip
PER_FILE = 12  # mutants share the build of their file


# ---------------------------------------------------------------- choosing
def read_harmless(path=HARMLESS):
    """{(file, line): set of changes, or None where every change of the line is meant}."""
    harmless = {}
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("harmless", []):
        key = entry["file"], entry["line"]
        if "changes" not in entry:
            harmless[key] = None
        elif harmless.get(key, ()) is not None:
            harmless.setdefault(key, set()).update(entry["changes"])
    return harmless


def is_harmless(mutant, harmless):
    changes = harmless.get((mutant.file, mutant.source), ())
    return changes is None or mutant.diff() in changes


def files_of(family):
    return sorted({
        path.relative_to(ROOT).as_posix()
        for pattern in FAMILIES[family][0].split()
        for path in (ROOT / "tensorlab").glob(pattern)
        if path.name != "__init__.py"
    })  # fmt: skip


def shuffled_mutants(file, rng, harmless):
    """All mutants of a file; a line, an operator and a change are drawn in turn, so none of them prevails."""
    by_line = collections.defaultdict(lambda: collections.defaultdict(list))
    for mutant in find_mutants((ROOT / file).read_text(encoding="utf-8"), file):
        if not is_harmless(mutant, harmless):
            by_line[mutant.line][mutant.operator].append(mutant)
    lines = list(by_line.values())
    drawn = []
    while lines:
        rng.shuffle(lines)
        for operators in lines:
            operator = rng.choice(sorted(operators))
            drawn.append(operators[operator].pop(rng.randrange(len(operators[operator]))))
            if not operators[operator]:
                del operators[operator]
        lines = [operators for operators in lines if operators]
    return drawn


def choose(families, number, seed, harmless):
    """(mutants by file, further ones by file): as many from each family, from as few files as give it enough."""
    rng = random.Random(seed)
    chosen, spare, missing = {}, {}, 0
    for i, family in enumerate(families):
        wanted = number // len(families) + (i < number % len(families)) + missing
        files = files_of(family)
        rng.shuffle(files)
        files = files[: max(1, -(-wanted // PER_FILE))]
        drawn = {file: shuffled_mutants(file, rng, harmless) for file in files}
        files.sort(key=lambda file: len(drawn[file]))  # what short files lack, longer ones give
        for left, file in zip(range(len(files), 0, -1), files, strict=True):
            take = min(-(-wanted // left), len(drawn[file]))
            chosen[file], spare[file] = drawn[file][:take], drawn[file][take : 4 * take + 20]
            wanted -= take
        missing = wanted
    return {file: some for file, some in chosen.items() if some}, spare


def mutants_at(place, harmless):
    """All mutants of a line, or of a file."""
    file, _, line = place.partition(":")
    every = find_mutants((ROOT / file).read_text(encoding="utf-8"), file)
    return {
        file: [
            one
            for one in every
            if (not line or one.line == int(line)) and not is_harmless(one, harmless)
        ]
    }


# ---------------------------------------------------------------- running tests
class Pytest:
    """A pytest that has collected the tests and runs those that it is asked to; see mutants_plugin.py."""

    def __init__(self, folder, tests, mutant=-1):
        self.folder, self.tests, self.mutant = folder, tests, mutant
        self.start()

    def start(self):
        folder = self.folder
        with tempfile.NamedTemporaryFile(dir=folder, prefix="switches-", delete=False) as file:
            file.write(self.mutant.to_bytes(4, sys.byteorder, signed=True) + bytes(SWITCHES))
        ours, theirs = os.pipe(), os.pipe()
        environment = {
            **os.environ,
            "PYTHONPATH": f"{folder}{os.pathsep}{folder / 'tools'}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TL_MUTANTS": file.name,
            "TL_MUTANTS_REQUESTS": str(ours[0]),
            "TL_MUTANTS_ANSWERS": str(theirs[1]),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2"),
        }
        self.log = Path(f"{file.name}.log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "pytest",
                    "-q",
                    "-p",
                    "mutants_plugin",
                    "-p",
                    "no:cacheprovider",
                    *self.tests,
                ],
                cwd=folder,
                env=environment,
                pass_fds=(ours[0], theirs[1]),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        os.close(ours[0]), os.close(theirs[1])
        self.requests, self.answers = os.fdopen(ours[1], "w"), os.fdopen(theirs[0])
        first = self.answers.readline()
        self.started = bool(first)
        facts = json.loads(first) if first else {"items": [], "at_import": []}
        self.items, self.at_import = facts["items"], set(facts["at_import"])
        self.places = {item: place for place, item in enumerate(self.items)}

    def run(self, mutant, items, seconds, record=False):
        """What the run says, line by line."""
        self.requests.write(
            json.dumps({"mutant": mutant, "items": items, "seconds": seconds, "record": record})
            + "\n"
        )
        self.requests.flush()
        while line := self.answers.readline():
            answer = json.loads(line)
            yield answer
            if "end" in answer:
                return
        if mutant < 0:
            sys.exit(f"pytest went away; see {self.log}")
        self.close()  # some mutants kill more than their own process
        self.start()
        yield {"mutant": mutant, "why": "ends pytest", "end": True}

    def close(self):
        self.requests.close()
        self.answers.close()
        self.process.wait()


def over(servers, work, tasks):
    """Call work(server, task) for all tasks, on all servers at the same time."""
    waiting, troubles = queue.SimpleQueue(), []
    for task in tasks:
        waiting.put(task)

    def keep_busy(server):
        try:
            while not troubles:
                work(server, waiting.get_nowait())
        except queue.Empty:
            pass
        except BaseException as trouble:
            troubles.append(trouble)

    threads = [threading.Thread(target=keep_busy, args=(server,)) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if troubles:
        raise troubles[0]


class Coverage:
    """Which test passes which switch, and how long it takes."""

    def __init__(self, servers):
        items = servers[0].items
        self.items, self.seconds, self.failing = items, {}, []
        self.tests_of, self.passed = collections.defaultdict(list), {}
        chunks = []
        for i, item in enumerate(items):  # a file's tests stay together, but not more than some
            same = chunks and items[chunks[-1][-1]].partition("::")[0] == item.partition("::")[0]
            if not same or len(chunks[-1]) == 300:
                chunks.append([])
            chunks[-1].append(i)
        self.done, self.total = 0, len(chunks)
        over(servers, self.measure, chunks)

    def measure(self, server, chunk):
        for answer in server.run(-1, chunk, 3600, record=True):
            if "item" in answer:
                i = answer["item"]
                if not answer["ok"]:
                    self.failing.append(self.items[i])
                    continue
                self.seconds[i], self.passed[i] = answer["seconds"], len(answer["seen"])
                for number in answer["seen"]:
                    self.tests_of[number].append(i)
            elif answer["why"]:
                print(
                    f"without a mutant, {self.items[chunk[0]]} or one that follows {answer['why']}",
                    flush=True,
                )
        self.done += 1
        if self.done % 10 == 0:
            print(f"  {self.done} of {self.total} groups of tests", flush=True)


def family_of(file):
    return next((family for family in FAMILIES if file in files_of(family)), "other")


def is_named_after(file, item):
    """Is a test in the file that the source file, or its folder, has given its name?"""
    path, test = Path(file), Path(item.partition("::")[0])
    return test.stem in (f"test_{path.stem}", f"test_{path.parent.name}")


class Run:
    """Switches mutants on, one after the other, and keeps what came of it."""

    patience = 20  # seconds that a run may take beyond eight times what its tests took
    too_long = ("hangs", "dies with signal 9")  # what load on the machine can bring about as well

    def __init__(self, folder, tests, mutants, coverage, budget):
        self.folder, self.tests, self.mutants, self.coverage, self.budget = (
            folder,
            tests,
            mutants,
            coverage,
            budget,
        )
        self.places = {item: place for place, item in enumerate(coverage.items)}
        self.kills = collections.Counter()
        self.results = {}

    def order(self, number):
        """The tests of a mutant: first those that killed others of its file, namesakes, its family's, quick ones."""
        mutant, coverage = self.mutants[number], self.coverage
        about = tuple(FAMILIES.get(family_of(mutant.file), ("", [""]))[1])
        tests = sorted(
            coverage.tests_of[number],
            key=lambda i: (
                -self.kills[mutant.file, i],
                not is_named_after(mutant.file, coverage.items[i]),
                not coverage.items[i].startswith(about),
                coverage.passed[i] * (0.02 + coverage.seconds[i]),
            ),
        )
        return self.affordable(tests)

    def affordable(self, tests):
        """As many of the tests, from the first, as the budget allows."""
        chosen, seconds = [], 0.0
        for i in tests:
            seconds += self.coverage.seconds[i]
            if seconds > self.budget:
                break
            chosen.append(i)
        return chosen

    def judge(self, server, number, leniency=1):
        """Find a test that notices, in steps: the likeliest one, a few tests, then all that pass the switch."""
        tests, begin = self.order(number), time.monotonic()
        killer, why = None, None
        for some in (tests[:1], tests[1:20], tests[20:]):
            if not why:
                killer, why = self.ask(server, number, some, leniency)
        if not why and number in server.at_import:
            killer, why = self.start_anew(number, tests, leniency)
        self.results[number] = killer, why, len(tests), time.monotonic() - begin
        if killer is not None:
            self.kills[self.mutants[number].file, self.places[killer]] += 1
        self.tell(number)

    def judge_again(self, server):
        """Try those that took too long once more, while nothing else of this run is busy."""
        for number, (_, why, _, _) in sorted(self.results.items()):
            if why in self.too_long:
                self.judge(server, number, leniency=3)

    def control(self, server, number):
        """Run some tests as for a mutant, but with none switched on: if one fails now, later failures prove nothing."""
        some = random.Random(number).sample(
            sorted(self.coverage.seconds), min(30, len(self.coverage.seconds))
        )
        killer, why = self.ask_once(server, -1, some, 300)
        if why:
            sys.exit(f"without a mutant a test {why}: {killer}")

    def ask(self, server, number, tests, leniency=1):
        """(test, how it notices): the first test that fails twice, or at which the process dies or takes too long."""
        while tests:
            expected = sum(self.coverage.seconds[i] for i in tests)
            seconds = leniency * (self.patience + 8 * expected)
            killer, why = self.ask_once(server, number, tests, seconds)
            if why != "failed":
                return killer, why
            at = self.places[killer]
            if self.ask_once(server, number, [at], seconds)[1]:
                return killer, why
            tests = tests[tests.index(at) + 1 :]  # something else made it fail
        return None, None

    def ask_once(self, server, number, tests, seconds):
        """(the last test that began, how the run ended), or (None, None) if all of them pass."""
        begun = None
        asked = [server.places[self.coverage.items[i]] for i in tests]
        for answer in server.run(number, asked, seconds):
            begun = answer.get("begun", begun)
        return (begun, answer["why"]) if answer["why"] else (None, None)

    def start_anew(self, number, tests, leniency):
        """What ran when the package was imported needs a process of its own; the family's quickest tests come first."""
        items, file = self.coverage.items, self.mutants[number].file
        _, about = FAMILIES.get(family_of(file), ("", self.tests))
        about = about if set(about) <= set(self.tests) else self.tests
        server = Pytest(self.folder, about, mutant=number)
        try:
            if server.places.keys() != {item for item in items if item.startswith(tuple(about))}:
                return None, "collecting the tests fails"
            others = sorted(
                self.coverage.seconds,
                key=lambda i: (-self.kills[file, i], self.coverage.seconds[i]),
            )
            some = self.affordable([i for i in [*tests, *others] if items[i] in server.places])
            return self.ask(server, number, some, leniency)
        finally:
            server.close()

    def tell(self, number):
        mutant, (killer, why, tests, seconds) = self.mutants[number], self.results[number]
        verdict = (
            f"killed ({why}{': ' + killer if killer else ''})" if why else f"SURVIVED {tests} tests"
        )
        print(
            f"{len(self.results)}/{len(self.mutants)}  {mutant.file}:{mutant.line}  {verdict}  [{seconds:.1f} s]",
            flush=True,
        )
        if not why:
            print(
                f"      {mutant.operator}: {mutant.diff()}\n      in: {mutant.source}", flush=True
            )


# ---------------------------------------------------------------- reporting
def write_results(run, refused, path):
    rows = ["family\tfile\tline\toperator\tchange\tsource\tresult\tkiller"]
    for number, mutant in sorted(run.mutants.items()):
        killer, why, _, _ = run.results[number]
        facts = (
            family_of(mutant.file),
            mutant.file,
            mutant.line,
            mutant.operator,
            mutant.diff(),
            mutant.source,
        )
        rows.append("\t".join(map(str, (*facts, why or "survived", killer or ""))))
    for mutant in refused:
        facts = (
            family_of(mutant.file),
            mutant.file,
            mutant.line,
            mutant.operator,
            mutant.diff(),
            mutant.source,
        )
        rows.append("\t".join(map(str, (*facts, "does not compile", ""))))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def print_table(run):
    made, killed = collections.Counter(), collections.Counter()
    for number, mutant in run.mutants.items():
        made[family_of(mutant.file)] += 1
        killed[family_of(mutant.file)] += bool(run.results[number][1])
    print(f"\n{'family':<16}{'mutants':>8}{'killed':>8}{'score':>8}")
    for family in sorted(made):
        print(
            f"{family:<16}{made[family]:>8}{killed[family]:>8}{killed[family] / made[family]:>8.0%}"
        )
    print(
        f"{'all':<16}{made.total():>8}{killed.total():>8}{killed.total() / max(1, made.total()):>8.1%}"
    )
    return killed.total(), made.total()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument(
        "--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES), metavar="FAMILY"
    )
    parser.add_argument(
        "--at", nargs="*", metavar="FILE[:LINE]", help="all mutants there, in place of random ones"
    )
    parser.add_argument(
        "--tests", nargs="*", help="the tests to run, in place of those of the families"
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--budget", type=float, default=90, help="seconds of tests that one mutant may survive (90)"
    )
    parser.add_argument(
        "--score", type=float, default=95, help="exit with 1 below this percentage (95)"
    )
    arguments = parser.parse_args()
    harmless = read_harmless()
    if arguments.at:
        chosen, spare = {}, {}
        for place in arguments.at:
            for file, some in mutants_at(place, harmless).items():
                chosen.setdefault(file, []).extend(some)
    else:
        chosen, spare = choose(arguments.families, arguments.number, arguments.seed, harmless)
    families = {family_of(file) for file in chosen}
    tests = arguments.tests or sorted(
        {test for family in families for test in FAMILIES.get(family, ("", ["tests"]))[1]}
    )
    RESULTS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        killed, made = test_mutants(Path(name), chosen, spare, tests, arguments)
    return 1 if 100 * killed < arguments.score * made else 0


def test_mutants(folder, chosen, spare, tests, arguments):
    """Build, measure, switch on, report."""
    begin = time.monotonic()

    def step(text):
        print(f"[{time.monotonic() - begin:.0f} s] {text}", flush=True)

    step(f"{sum(map(len, chosen.values()))} mutants in {len(chosen)} files; copying and building")
    copy_tree(folder, [name for name in COPIED if name != "build"])
    numbers = iter(range(SWITCHES))
    numbered = {file: {next(numbers): one for one in some} for file, some in chosen.items()}
    refused = Builder(folder, arguments.jobs).build(numbered, spare)
    mutants = {number: one for some in numbered.values() for number, one in some.items()}
    step(
        f"{len(mutants)} built, {len(refused)} did not compile; running {' '.join(tests)} with all switches off"
    )
    servers = []
    over(
        range(arguments.jobs),
        lambda _, __: servers.append(Pytest(folder, tests)),
        range(arguments.jobs),
    )
    if not all(server.started for server in servers):
        sys.exit(servers[0].log.read_text()[-3000:])
    coverage = Coverage(servers)
    for item in coverage.failing:
        print(f"fails without a mutant, so it is left out: {item}")
    run = Run(folder, tests, mutants, coverage, arguments.budget)
    over(servers, run.control, range(10))
    step(f"{len(coverage.seconds)} tests; switching mutants on")
    over(servers, run.judge, sorted(mutants, key=lambda n: (mutants[n].file, n)))
    run.judge_again(servers[0])
    for server in servers:
        server.close()
    write_results(run, refused, RESULTS / "results.tsv")
    killed, made = print_table(run)
    slow = sum(why in run.too_long for _, why, _, _ in run.results.values())
    step(
        f"seed {arguments.seed}; {made - killed} survivors; {slow} kills took too long, twice; "
        f"{RESULTS / 'results.tsv'}"
    )
    return killed, made


if __name__ == "__main__":
    sys.exit(main())
