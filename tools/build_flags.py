"""How tensorlab's modules are compiled: directives of Cython, flags, and which module gets which.

setup.py and its tests read them here; tools/build_compiler.py asks which the C compiler knows.
"""

LIBRARY = "tensorlab._compiled"

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": True,  # of Python's lists and tuples: C arrays and pointers have no checks anyway
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "binding": True,  # plain builtins do not bind, so they could not be methods of Tensor
    "embedsignature": True,
    "embedsignature.format": "python",
}
DEBUG_DIRECTIVES = {
    "nonecheck": True,
    "initializedcheck": True,
}

# GCC vectorises float loops with the first two; nan, inf and -0 keep their meaning, unlike under
# -ffast-math.  Without contraction eager kernels and generated code agree to the last bit.
# Cython's C gives hundreds of warnings, for instance where x != x asks for NaN. They say nothing
# to someone who installs tensorlab; `make debug` shows the others.
# Products of complex numbers are four products of real ones, as in PyTorch; C's own rules look
# for infinities in what has come out as nan, one number after the other.
# Calls into libpython otherwise go through a stub each: without those a small call takes 6 % less.
# GCC's second search for what is computed twice (gcse) makes 146 workloads slower rather than
# faster: without it they take 0.98 of the time, some loops half of it, and gcc 0.93.
# Each function has a section of its own, so that the linker can sort them (LINK_FLAGS).
FLAGS = [
    *["-O3", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"],
    *["-fno-plt", "-g0", "-w", "-fcx-fortran-rules", "-fno-gcse"],
    "-ffunction-sections",
]
# Python is built with -fwrapv, which would hide signed overflow from the sanitizer.
DEBUG_FLAGS = [
    *["-O0", "-g", "-fno-wrapv", "-ffp-contract=off", "-fno-omit-frame-pointer"],
    "-fsanitize=address,undefined",
    "-DCYTHON_USE_FREELISTS=0",  # objects that wait for their next use look alive to the sanitizer
    # Errors since GCC 14, which older compilers only warn of among much that means nothing.
    *["-Werror=incompatible-pointer-types", "-Werror=int-conversion", "-Wno-tautological-compare"],
]
WIDE_VECTORS = "-mprefer-vector-width=512"
NARROW_VECTORS = "-mprefer-vector-width=256"  # for WAITING_FOR_MEMORY

# By name, what Cython writes into every module lies together: an import, which runs that and
# little else, reads half of the library, and takes 4 MB less.
LINK_FLAGS = ["-Wl,--sort-section=name"]

# What is no loop is built with -O1 and those parts of -O2 that calls of ops gain from (small
# functions inside of their callers, errors apart from what is usual).  Calls are as fast as with
# -O2, and gcc takes two thirds of the time.
SHORT_CODE = [
    *["-O1", "-finline-small-functions", "-findirect-inlining", "-fpartial-inlining"],
    *["-freorder-blocks-algorithm=stc", "-freorder-functions", "-foptimize-sibling-calls"],
    *["-fstrict-aliasing", "-ftree-switch-conversion", "-fhoist-adjacent-loads"],
    *["-fisolate-erroneous-paths-dereference", "-fpeephole2"],
    *["-falign-functions", "-falign-jumps", "-falign-labels", "-falign-loops"],
]

# A wheel has three builds of the loops and may have 12 MB.  So it has no symbols and no tables for
# unwinding, the shortest code where calls are rare, loops without what lengthens code and seldom
# pays, and short loops for old processors.  Functions that came out equal are kept once, where the
# linker can tell (gold).
WHEEL_FLAGS = ["-fno-asynchronous-unwind-tables", "-fdata-sections"]
WHEEL_LINK_FLAGS = ["-s", "-fuse-ld=gold", "-Wl,--icf=safe", "-Wl,--gc-sections"]
WHEEL_CODE = ["-O2"]
SHORTEST_CODE = ["-Os"]
SHORT_LOOPS = [
    *["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"],
    *["-funswitch-loops", "-fversion-loops-for-strides", "-fsplit-loops"],
]
FAST_LOOPS = [
    *["-fno-ipa-cp-clone", "-fno-peel-loops", "-fno-split-paths"],
    *["-fno-gcse-after-reload", "-fno-tree-partial-pre"],
    *["--param=max-inline-insns-auto=15", "--param=early-inlining-insns=6"],
    *["--param=inline-min-speedup=30"],
    *["--param=max-completely-peeled-insns=100", "--param=max-completely-peel-times=8"],
]
# What tensorlab/_compiled.c asks of the processor, and the modules worth a build for each.
CAPABILITIES = {
    "avx2": ["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"],
    "avx512": [
        *["-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2"],
        *["-mavx512f", "-mavx512bw", "-mavx512cd", "-mavx512dq", "-mavx512vl"],
        WIDE_VECTORS,
    ],
}
HOT_MODULES = (
    "tensorlab._core.loops.conversion",
    "tensorlab._core.loops.iterator",
    "tensorlab.ops.batch_norm",
    "tensorlab.ops.convolution_loops",
    "tensorlab.ops.copying",
    "tensorlab.ops.direct_convolution",
    "tensorlab.ops.extrema",
    "tensorlab.ops.indexing.embedding",
    "tensorlab.ops.indexing.embedding_bag",
    "tensorlab.ops.indexing.index_along_dim",
    "tensorlab.ops.indexing.index_iterator",
    "tensorlab.ops.indexing.nonzero",
    "tensorlab.ops.indexing.scatter_gather",
    "tensorlab.ops.indexing.scatter_reduce",
    "tensorlab.ops.dim_iterator",
    "tensorlab.ops.linalg.distances",
    "tensorlab.ops.linalg.packed_products",
    "tensorlab.ops.linalg.product_loops",
    "tensorlab.ops.linalg.small_matrices",
    "tensorlab.ops.linalg.small_reflections",
    "tensorlab.ops.sparse.products",
    "tensorlab.ops.losses",
    "tensorlab.ops.normalization",
    "tensorlab.ops.norms",
    "tensorlab.ops.optim_steps",
    "tensorlab.ops.order_statistics",
    "tensorlab.ops.indirect_convolution",
    "tensorlab.ops.winograd",
    "tensorlab.ops.winograd_weight",
    "tensorlab.ops.panel_convolution",
    "tensorlab.ops.im2col",
    "tensorlab.ops.pointwise",
    "tensorlab.ops.pointwise_losses",
    "tensorlab.ops.products",
    "tensorlab.ops.reduction_iterator",
    "tensorlab.ops.recurrent.gates",
    "tensorlab.ops.recurrent.panels",
    "tensorlab.ops.reductions",
    "tensorlab.ops.scans",
    "tensorlab.ops.softmax",
    "tensorlab.ops.sorting",
    "tensorlab.ops.statistics",
)
# Measured for 85 ops on Zen 4: these loops take at least 0.95 of the time that they take without
# the capability, or they call SciPy once an element.
NO_FASTER = {
    "avx2": (
        "tensorlab.ops.indexing.embedding",
        "tensorlab.ops.indexing.index_along_dim",
        "tensorlab.ops.pointwise.implicit_gradients",
        "tensorlab.ops.pointwise.incomplete_gamma",
        "tensorlab.ops.pointwise.probabilities",
        "tensorlab.ops.pointwise.scipy_functions",
        "tensorlab.ops.sorting",
    ),
    "avx512": (
        "tensorlab.ops.batch_norm",
        "tensorlab.ops.indexing.embedding",
        "tensorlab.ops.indexing.index_along_dim",
        "tensorlab.ops.indexing.nonzero",
        "tensorlab.ops.indexing.scatter_gather",
        "tensorlab.ops.norms",
        "tensorlab.ops.optim_steps",
        "tensorlab.ops.order_statistics",
        "tensorlab.ops.pointwise.arithmetic",
        "tensorlab.ops.pointwise.bounds",
        "tensorlab.ops.pointwise.common",
        "tensorlab.ops.pointwise.comparison",
        "tensorlab.ops.pointwise.implicit_gradients",
        "tensorlab.ops.pointwise.incomplete_gamma",
        "tensorlab.ops.pointwise.logic",
        "tensorlab.ops.pointwise.piecewise",
        "tensorlab.ops.pointwise.polynomials",
        "tensorlab.ops.pointwise.probabilities",
        "tensorlab.ops.pointwise.rectifiers",
        "tensorlab.ops.pointwise.rounding",
        "tensorlab.ops.pointwise.scipy_functions",
        "tensorlab.ops.pointwise.selection",
        "tensorlab.ops.pointwise.signs",
        "tensorlab.ops.pointwise.weighted_sums",
        "tensorlab.ops.scans",
        "tensorlab.ops.sorting",
        "tensorlab.ops.sparse.products",
    ),
}
# Loops that load, calculate little and store.  NumPy's arrays begin 16 bytes after a cache line, so
# that each load of 64 bytes takes two lines: with vectors of 256 bits, sums of 4 MB take 0.93 to
# 0.96 of the time, of rows of 4000 bytes 0.85 to 0.95.  What fits in the cache takes as long as
# before; only clamp would take 1.3 times as long.
WAITING_FOR_MEMORY = (
    "tensorlab.ops.pointwise.arithmetic",
    "tensorlab.ops.pointwise.common",
    "tensorlab.ops.pointwise.comparison",
    "tensorlab.ops.pointwise.logic",
    "tensorlab.ops.pointwise.rectifiers",
    "tensorlab.ops.pointwise.rounding",
    "tensorlab.ops.pointwise.selection",
    "tensorlab.ops.pointwise.signs",
    "tensorlab.ops.pointwise.weighted_sums",
)
# Loops, too, but not worth builds of their own.
MORE_LOOPS = (
    "tensorlab._core.distributions",
    "tensorlab._core.random",
    "tensorlab._core.rejection",
    "tensorlab.compiler.blocks",
    "tensorlab.ops.attention",
    "tensorlab.ops.complex_numbers",
    "tensorlab.ops.folding",
    "tensorlab.ops.linalg.blas",
    "tensorlab.ops.pooling",
    "tensorlab.ops.random_factories",
    "tensorlab.ops.ranges",
    "tensorlab.ops.recurrent.layer",
    "tensorlab.ops.searching",
    "tensorlab.ops.strided",
    "tensorlab.ops.triangles",
    "tensorlab.ops.uniques",
)
# What takes long however it is called: short code will do.
SELDOM_CALLED = (
    "tensorlab._core.dispatch.numpy_aliases",
    "tensorlab._core.graph.anomaly",
    "tensorlab._core.interop.dlpack",
    "tensorlab._core.profiling",
    "tensorlab._core.state.devices",
    "tensorlab.compiler.capture.aliasing",
    "tensorlab.compiler.joint",
    "tensorlab.distributed",
    "tensorlab.ops.fourier",
    "tensorlab.ops.histograms",
    "tensorlab.ops.linalg.cholesky",
    "tensorlab.ops.linalg.determinants",
    "tensorlab.ops.linalg.eigenvalues",
    "tensorlab.ops.linalg.indefinite",
    "tensorlab.ops.linalg.lapack_library",
    "tensorlab.ops.linalg.least_squares",
    "tensorlab.ops.linalg.lu",
    "tensorlab.ops.linalg.matrix_exponential",
    "tensorlab.ops.linalg.nuclear",
    "tensorlab.ops.linalg.orthogonal",
    "tensorlab.ops.linalg.pseudo_inverse",
    "tensorlab.ops.linalg.solving",
    "tensorlab.ops.linalg.spectral",
    "tensorlab.ops.linalg.triangular",
    "tensorlab.ops.sampling",
    "tensorlab.ops.sparse.methods",
)


def library_for(capability):
    return f"{LIBRARY}_{capability}"


def builds_of(name, flags, facts):
    """Return [(library, flags)]: the libraries that a module is compiled for, and how."""
    more = {kind: [*flags, *added] for kind, added in facts["more_flags"].items()}
    if is_in(name, MORE_LOOPS):
        return [(LIBRARY, more["loops"])]
    if not is_in(name, HOT_MODULES):
        return [(LIBRARY, more["seldom" if is_in(name, SELDOM_CALLED) else "other"])]
    faster = [one for one in facts["variants"] if name not in NO_FASTER[one]]
    newer = [(library_for(one), [*more["loops"], *CAPABILITIES[one]]) for one in faster]
    narrow = [NARROW_VECTORS] if WIDE_VECTORS in flags and name in WAITING_FOR_MEMORY else []
    return [(LIBRARY, [*more["old" if newer else "loops"], *narrow]), *newer]


def is_in(name, places):
    """Is a module one of these, or in one of these packages?"""
    return f"{name}.".startswith(tuple(f"{place}." for place in places))
