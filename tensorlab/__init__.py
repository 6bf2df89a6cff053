"""tensorlab: the PyTorch that one person can read."""

import math as _math
import os as _os
import sys as _sys

from tensorlab import _finder as _finder  # the first: it finds what is compiled
from tensorlab import version
from tensorlab import (
    amp,
    autograd,
    backends,
    functional,
    multiprocessing,
    nn,
)
from tensorlab._core.dispatch.operands import result_type
from tensorlab._core.dtypes import DTYPES as _DTYPES
from tensorlab._core.dtypes import (
    dtype,
    finfo,
    get_default_dtype,
    iinfo,
    promote_types,
    set_default_dtype,
)
from tensorlab._core.engine.autograd_fields import detach, detach_
from tensorlab._core.interop.arrays import from_numpy, set_array_namespace as _set_array_namespace
from tensorlab._core.interop.dlpack import asarray, from_dlpack, to_dlpack
from tensorlab._core.interop.exchange import as_tensor, frombuffer, tensor
from tensorlab._core.storage import (
    Storage as UntypedStorage,
)
from tensorlab._core.storage import (
    empty_cache,
    memory_stats,
    reset_peak_memory_stats,
    set_cache_limit,
)
from tensorlab._core.tensor import Size, live_tensors
from tensorlab.amp.autocast_mode import (
    autocast,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from tensorlab.amp.older_names import (
    get_autocast_cpu_dtype,
    get_autocast_gpu_dtype,
    is_autocast_cpu_enabled,
    set_autocast_cpu_dtype,
    set_autocast_cpu_enabled,
    set_autocast_gpu_dtype,
)
from tensorlab.autograd.anomaly_mode import is_anomaly_check_nan_enabled, is_anomaly_enabled
from tensorlab.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from tensorlab.printing import get_printoptions, set_printoptions
from tensorlab._core.device import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
    jagged,
)
from tensorlab.ops.copying import clone
from tensorlab.ops.creation import (
    empty,
    empty_like,
    empty_strided,
    full,
    full_like,
    ones,
    ones_like,
    scalar_tensor,
    zeros,
    zeros_like,
)
from tensorlab.ops.filling import fill, fill_, zero_
from tensorlab.ops.tensor_info import (
    can_cast,
    get_device_index as get_device,
    is_complex,
    is_floating_point,
    is_inference,
    is_nonzero,
    is_same_size,
    is_signed,
    is_storage,
    is_tensor,
    numel,
)
from tensorlab.ops.complex_numbers import (
    _neg_view,
    angle,
    complex_of as complex,
    conj,
    conj_physical,
    conj_physical_,
    imag,
    is_conj,
    is_neg,
    isreal,
    polar,
    real,
    resolve_conj,
    resolve_neg,
    sgn,
)
from tensorlab.ops.complex_views import view_as_complex, view_as_real
from tensorlab.ops.extrema import amax, amin, aminmax, argmax, argmin, max, min
from tensorlab.ops.composite import (
    bilinear,
    conv_tbc,
    cosine_similarity,
    pairwise_distance,
    pdist,
)
from tensorlab.ops.convolution import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from tensorlab.ops.indexing.advanced import index_put, index_put_
from tensorlab.ops.indexing.gather import gather, scatter, scatter_add, take_along_dim
from tensorlab.ops.indexing.masked import masked_scatter, masked_select
from tensorlab.ops.indexing.nonzero import argwhere, nonzero
from tensorlab.ops.indexing.parts import (
    as_strided_scatter,
    diagonal_scatter,
    narrow_copy,
    nonzero_static,
    put,
    select_scatter,
    slice_scatter,
    unravel_index,
)
from tensorlab.ops.indexing.index_along_dim import (
    index_add,
    index_copy,
    index_fill,
    index_select,
    take,
)
from tensorlab.ops.indexing.scatter_reduce import index_reduce, scatter_reduce
from tensorlab.ops.linalg.affine import (
    addbmm,
    addmm,
    addmv,
    addmv_,
    addr,
    baddbmm,
    inner,
    outer,
    vdot,
)
from tensorlab.ops.linalg.affine import outer as ger
from tensorlab.ops.linalg.composed import cdist, corrcoef, cov, cross, dist, renorm, vander
from tensorlab.ops.linalg.einsum import einsum, kron, tensordot
from tensorlab.ops.linalg.matrices import bmm, dot, matmul, mm, mv
from tensorlab.ops.linalg.matrices import mm as dsmm
from tensorlab.ops.linalg.matrices import mm as spmm
from tensorlab.ops.normalization import rms_norm
from tensorlab.ops.norms import norm
from tensorlab.ops.numbered_modes import (
    affine_grid_generator,
    batch_norm,
    binary_cross_entropy_with_logits,
    constant_pad_nd,
    cosine_embedding_loss,
    ctc_loss,
    embedding,
    grid_sampler,
    grid_sampler_2d,
    grid_sampler_3d,
    group_norm,
    hinge_embedding_loss,
    instance_norm,
    kl_div,
    layer_norm,
    margin_ranking_loss,
    poisson_nll_loss,
    triplet_margin_loss,
)
from tensorlab.ops.order_statistics import kthvalue, median, nanmedian, topk
from tensorlab.ops.pointwise.arithmetic import (
    add,
    mul,
    multiply,
    neg,
    neg_,
    negative,
    negative_,
    positive,
    rsub,
    sub,
    subtract,
)
from tensorlab.ops.pointwise.bounds import (
    clamp,
    clamp_,
    clamp_max,
    clamp_max_,
    clamp_min,
    clamp_min_,
    clip,
    clip_,
    fmax,
    fmin,
    maximum,
    minimum,
)
from tensorlab.ops.pointwise.comparison import (
    allclose,
    eq,
    equal,
    ge,
    greater,
    greater_equal,
    gt,
    isclose,
    isfinite,
    isinf,
    isnan,
    isneginf,
    isposinf,
    le,
    less,
    less_equal,
    lt,
    ne,
    not_equal,
)
from tensorlab.ops.pointwise.division import (
    div,
    divide,
    floor_divide,
    fmod,
    reciprocal,
    reciprocal_,
    remainder,
    true_divide,
)
from tensorlab.ops.pointwise.elementary import (
    exp,
    exp2,
    exp2_,
    exp_,
    expm1,
    expm1_,
    log,
    log10,
    log10_,
    log1p,
    log1p_,
    log2,
    log2_,
    log_,
    logaddexp,
    logaddexp2,
    logit,
    logit_,
    sigmoid,
    sigmoid_,
    tanh,
    tanh_,
)
from tensorlab.ops.pointwise.hyperbolic import (
    acosh,
    acosh_,
    arccosh,
    arccosh_,
    arcsinh,
    arcsinh_,
    arctanh,
    arctanh_,
    asinh,
    asinh_,
    atanh,
    atanh_,
    cosh,
    cosh_,
    sinh,
    sinh_,
)
from tensorlab.ops.pointwise.logic import (
    bitwise_and,
    bitwise_left_shift,
    bitwise_not,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
)
from tensorlab.ops.pointwise.piecewise import hardshrink, threshold, threshold_
from tensorlab.ops.pointwise.powers import (
    float_power,
    pow,
    rsqrt,
    rsqrt_,
    sqrt,
    sqrt_,
    square,
    square_,
)
from tensorlab.ops.random_activations import rrelu, rrelu_
from tensorlab.ops.pointwise.rectifiers import celu, celu_, prelu, relu, relu_, selu, selu_
from tensorlab.ops.pointwise.rounding import (
    ceil,
    ceil_,
    fix,
    fix_,
    floor,
    floor_,
    frac,
    frac_,
    nan_to_num,
    nan_to_num_,
    round,
    round_,
    trunc,
    trunc_,
)
from tensorlab.ops.pointwise.selection import masked_fill, where
from tensorlab.ops.pointwise.signs import (
    abs,
    abs_,
    absolute,
    copysign,
    frexp,
    gcd,
    gcd_,
    heaviside,
    lcm,
    lcm_,
    ldexp,
    ldexp_,
    nextafter,
    sign,
    signbit,
)
from tensorlab.ops.pointwise.special import (
    digamma,
    erf,
    erf_,
    erfc,
    erfc_,
    erfinv,
    lgamma,
    polygamma,
    xlogy,
    xlogy_,
)
from tensorlab.ops.pointwise.trigonometry import (
    acos,
    acos_,
    arccos,
    arccos_,
    arcsin,
    arcsin_,
    arctan,
    arctan2,
    arctan_,
    asin,
    asin_,
    atan,
    atan2,
    atan_,
    cos,
    cos_,
    deg2rad,
    deg2rad_,
    hypot,
    rad2deg,
    rad2deg_,
    sin,
    sin_,
    sinc,
    sinc_,
    tan,
    tan_,
)
from tensorlab.ops.pointwise.weighted_sums import addcdiv, addcmul, lerp
from tensorlab.ops.products import all, any, prod
from tensorlab.ops.recurrent.functions import (
    gru,
    gru_cell,
    lstm,
    lstm_cell,
    rnn_relu,
    rnn_relu_cell,
    rnn_tanh,
    rnn_tanh_cell,
)
from tensorlab.ops.reductions import count_nonzero, mean, nanmean, nansum, sum
from tensorlab.ops.dimensions import (
    adjoint,
    broadcast_to,
    movedim,
    permute,
    squeeze,
    swapaxes,
    swapdims,
    t,
    transpose,
    unsqueeze,
)
from tensorlab.ops.dimensions import movedim as moveaxis
from tensorlab.ops.joining import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    cat,
    column_stack,
    dstack,
    hstack,
    stack,
    vstack,
)
from tensorlab.ops.joining import cat as concat
from tensorlab.ops.joining import cat as concatenate
from tensorlab.ops.joining import vstack as row_stack
from tensorlab.ops.pooling.adaptive import adaptive_avg_pool1d
from tensorlab.ops.pooling.adaptive import (
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d,
)
from tensorlab.ops.pooling.average import avg_pool1d
from tensorlab.ops.pooling.maximum import (
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool3d,
)
from tensorlab.ops.reshaping import flatten, ravel, reshape, unflatten
from tensorlab.ops.scans import cummax, cummin, cumprod, cumsum, diff, logcumsumexp
from tensorlab.ops.shuffles import channel_shuffle, pixel_shuffle, pixel_unshuffle
from tensorlab.ops.shuffles import channel_shuffle as native_channel_shuffle
from tensorlab.ops.slicing import diagonal, narrow, select
from tensorlab.ops.softmax import log_softmax, softmax
from tensorlab.ops.sorted_values import msort
from tensorlab.ops.sorting import argsort, sort
from tensorlab.ops.splitting import (
    chunk,
    dsplit,
    hsplit,
    split,
    split_with_sizes,
    tensor_split,
    unbind,
    vsplit,
)
from tensorlab.ops.meshgrid import (
    broadcast_shapes,
    broadcast_tensors,
    cartesian_prod,
    combinations,
    meshgrid,
)
from tensorlab._core.random import Generator
from tensorlab.ops.dropout import (
    alpha_dropout,
    alpha_dropout_,
    dropout,
    dropout_,
    feature_alpha_dropout,
    feature_alpha_dropout_,
    feature_dropout,
    feature_dropout_,
)
from tensorlab.ops.random import bernoulli
from tensorlab.ops.random_factories import (
    multinomial,
    normal,
    rand,
    rand_like,
    randint,
    randint_like,
    randn,
    randn_like,
    randperm,
)
from tensorlab.random import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)
from tensorlab.typed_tensors import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from tensorlab.ops.histograms import bincount, histc, histogram
from tensorlab.ops.integrals import cumulative_trapezoid, gradient, trapezoid, trapz
from tensorlab.ops.quantiles import mode, nanquantile, quantile
from tensorlab.ops.searching import bucketize, isin, searchsorted
from tensorlab.ops.inclusive_range import range
from tensorlab.ops.ranges import arange, eye, linspace, logspace
from tensorlab.ops.rearranging import (
    flip,
    fliplr,
    flipud,
    repeat_interleave,
    roll,
    rot90,
    tile,
)
from tensorlab.ops.resizing import resize_as_
from tensorlab.ops.statistics import logsumexp, std, std_mean, var, var_mean
from tensorlab.ops.strided import as_strided, as_strided_
from tensorlab.ops.triangles import (
    block_diag,
    diag,
    diag_embed,
    diagflat,
    trace,
    tril,
    tril_indices,
    triu,
    triu_indices,
)
from tensorlab.ops.uniques import unique, unique_consecutive
from tensorlab.settings import (
    are_deterministic_algorithms_enabled,
    get_default_device,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    get_num_interop_threads,
    is_deterministic_algorithms_warn_only_enabled,
    is_warn_always_enabled,
    set_default_device,
    set_default_tensor_type,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    set_flush_denormal,
    set_num_interop_threads,
    set_warn_always,
    typename,
    use_deterministic_algorithms,
)
from tensorlab.threads import get_num_threads, set_num_threads
from tensorlab._on_demand import on_demand as _on_demand
from tensorlab._tensor import Tensor
from tensorlab import overrides
from tensorlab._core.dispatch.numpy_aliases import accept_numpy_names as _accept_numpy_names
from tensorlab.overrides import DisableTorchFunction, DisableTorchFunctionSubclass
from tensorlab import __config__

(bool, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128) = _DTYPES[:12]
(uint16, uint32, uint64, *_FLOAT8, complex32) = _DTYPES[12:]
(float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu) = _FLOAT8
short, int, long, half, float, double = int16, int32, int64, float16, float32, float64
chalf, cfloat, cdouble = complex32, complex64, complex128
pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None

_accept_numpy_names([*globals().values(), *vars(nn.functional).values()])

# Packages of names that are planned.
_PLANNED_PACKAGES = (
    "ao",
    "export",
    "jit",
    "onnx",
)
# Packages that are imported when a program asks for them, as it may not need them; and names
# that stand in them.
_ON_DEMAND = (
    *_PLANNED_PACKAGES,
    "accelerator",
    "array_api",
    "compiler",
    "cpu",
    "cuda",
    "datasets",
    "distributed",
    "distributions",
    "fft",
    "func",
    "futures",
    "fx",
    "hub",
    "library",
    "linalg",
    "masked",
    "mps",
    "nested",
    "optim",
    "profiler",
    "quasirandom",
    "serialization",
    "signal",
    "sparse",
    "special",
    "testing",
    "utils",
    "viz",
    "xpu",
)
_HOMES = {
    name: module
    for module, names in {
        "_streams": "Event Stream",
        "compiler": "compile",
        "func": "vmap",
        "ops.copied_views": """
            alias_copy as_strided_copy detach_copy diagonal_copy expand_copy permute_copy
            select_copy slice_copy split_copy split_with_sizes_copy squeeze_copy t_copy
            transpose_copy unbind_copy unfold_copy unsafe_chunk unsafe_split
            unsafe_split_with_sizes unsqueeze_copy view_as_complex_copy view_as_real_copy view_copy
        """,
        "ops.histogram_of_points": "histogramdd",
        "ops.inner_functions": """
            _chunk_cat _native_batch_norm_legit _segment_reduce _unsafe_masked_index
            _unsafe_masked_index_put_accumulate empty_permuted native_batch_norm native_group_norm
            native_layer_norm segment_reduce
        """,
        "ops.linalg.cholesky": "cholesky_inverse cholesky_solve",
        "ops.linalg.low_rank": "lobpcg pca_lowrank svd_lowrank",
        "ops.linalg.matrix_functions": "chain_matmul",
        "ops.linalg.older_names": """
            cholesky det frobenius_norm logdet lstsq lu lu_solve matrix_exp matrix_power
            nuclear_norm qr slogdet svd triangular_solve
        """,
        "ops.linalg.orthogonal": "geqrf orgqr ormqr",
        "ops.linalg.pseudo_inverse": "pinverse",
        "ops.linalg.lu": "lu_unpack",
        "ops.linalg.solving": "inverse",
        "ops.multivariate_gamma": "mvlgamma",
        "ops.pointwise.bessel": "i0 i0_",
        "ops.pointwise.implicit_gradients": "_dirichlet_grad _standard_gamma_grad",
        "ops.pointwise.incomplete_gamma": "igamma igammac",
        "ops.sampling": "_sample_dirichlet _standard_gamma binomial poisson",
        "ops.short_time_fourier": "istft stft",
        "ops.windows": """
            bartlett_window blackman_window hamming_window hann_window kaiser_window
        """,
        "serialization": "load save",
        "sparse.creation": """
            sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor
            sparse_csc_tensor sparse_csr_tensor
        """,
        "utils.backend_registration": "get_device_module",
    }.items()
    for name in names.split()
}

# Everything above that is not private: the names, and the packages that users reach as tensorlab.nn and so on.
__all__ = sorted([name for name in globals() if not name.startswith("_")] + [*_ON_DEMAND, *_HOMES])
__version__ = version.__version__

torch = _sys.modules[__name__]  # `from torch import torch` is found in programs

__getattr__, __dir__ = _on_demand(__name__, _ON_DEMAND, _HOMES, {"_foreach_": "ops.foreach"})
_set_array_namespace(lambda: __getattr__("array_api"))

if "IPython" in _sys.modules:
    from tensorlab import _notebook

    _notebook.watch(_sys.modules["IPython"].get_ipython())

if "dispatch" in _os.environ.get("TENSORLAB_LOGS", "").split(","):
    from tensorlab.overrides import trace_dispatch as _trace_dispatch

    _trace_dispatch().__enter__()
