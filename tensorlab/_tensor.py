"""class Tensor: the list of everything a tensor can do, grouped as the documentation groups it.

The functions live with their ops; here each is given a name, and nothing more. `TensorBase` (in _core) holds the data.
The list is long and stays whole, a line for each name, because it is read and searched as one; and bases to share it
among would show in `Tensor.__mro__`.
"""

from typing import Any

from tensorlab import _missing
from tensorlab._core import layout_fields
from tensorlab._core.dispatch import dispatch_hooks, overrides, subclass
from tensorlab._core.dispatch.numpy_aliases import accept_numpy_names
from tensorlab._core.engine import autograd_fields
from tensorlab._core.interop import arrays, dlpack, exchange
from tensorlab._core.tensor import TensorBase, set_tensor_class
from tensorlab._core.tensor_pool import keep_tensors
from tensorlab.ops import (
    complex_numbers,
    constructors,
    copying,
    creation,
    dimensions,
    element_functions,
    extrema,
    histograms,
    lazy_clone,
    tensor_info,
    filling,
    norms,
    order_statistics,
    pickling,
    products,
    quantiles,
    random,
    random_factories,
    rearranging,
    reductions,
    reshaping,
    resizing,
    scans,
    sharing,
    slicing,
    softmax,
    sorted_values,
    sorting,
    splitting,
    statistics,
    strided,
    subclasses,
    triangles,
    uniques,
)
from tensorlab.ops.indexing import (
    advanced,
    gather,
    getitem,
    masked,
    nonzero as nonzero_ops,
    parts,
    index_along_dim,
)
from tensorlab.ops.indexing import scatter_reduce as reducing
from tensorlab.ops.linalg import (
    affine,
    composed,
    einsum,
    matrices,
)
from tensorlab.ops.pointwise import (
    arithmetic,
    bounds,
    comparison,
    division,
    elementary,
    hyperbolic,
    logic,
    piecewise,
    powers,
    rectifiers,
    rounding,
    selection,
    signs,
    special,
    trigonometry,
    weighted_sums,
)
from tensorlab._on_demand import ModuleOnDemand
from tensorlab.printing import tensor_format, tensor_repr

# methods that few programs use, and the modules that have them
bessel = ModuleOnDemand("tensorlab.ops.pointwise.bessel")
cholesky_ops = ModuleOnDemand("tensorlab.ops.linalg.cholesky")
copied_views = ModuleOnDemand("tensorlab.ops.copied_views")
incomplete_gamma = ModuleOnDemand("tensorlab.ops.pointwise.incomplete_gamma")
multivariate_gamma = ModuleOnDemand("tensorlab.ops.multivariate_gamma")
older_names = ModuleOnDemand("tensorlab.ops.linalg.older_names")
orthogonal = ModuleOnDemand("tensorlab.ops.linalg.orthogonal")
pseudo_inverse = ModuleOnDemand("tensorlab.ops.linalg.pseudo_inverse")
short_time_fourier = ModuleOnDemand("tensorlab.ops.short_time_fourier")
solving = ModuleOnDemand("tensorlab.ops.linalg.solving")
sparse_methods = ModuleOnDemand("tensorlab.ops.sparse.methods")


class Tensor(TensorBase):
    """A multi-dimensional array of one dtype, whose history autograd can follow.

    Examples
    --------
    >>> import tensorlab
    >>> x = tensorlab.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    >>> x.shape, x.dtype, x.device
    (tensorlab.Size([2, 2]), tensorlab.float32, device(type='cpu'))
    >>> (x @ x.T).sum().backward()
    >>> x.grad
    tensor([[ 8., 12.],
            [ 8., 12.]])
    """

    __new__ = staticmethod(constructors.new_of_class)  # kernels do not go through it

    # layout
    size = layout_fields.size
    stride = layout_fields.stride
    storage_offset = layout_fields.storage_offset
    numel = nelement = layout_fields.numel
    dim = ndimension = layout_fields.dim
    element_size = layout_fields.element_size
    is_floating_point = layout_fields.is_floating_point
    is_signed = layout_fields.is_signed
    is_complex = layout_fields.is_complex
    is_inference = layout_fields.is_inference

    # values in and out
    item = exchange.item
    tolist = exchange.tolist
    __bool__ = exchange.as_bool
    __int__ = exchange.as_int
    __float__ = exchange.as_float
    __complex__ = exchange.as_complex
    __index__ = exchange.as_index
    data_ptr = exchange.data_ptr
    untyped_storage = exchange.untyped_storage
    numpy = arrays.numpy
    __array__ = arrays.__array__
    __array_wrap__ = arrays.__array_wrap__
    __array_priority__ = 1000
    __array_ufunc__ = arrays.__array_ufunc__
    __array_namespace__ = arrays.__array_namespace__
    __dlpack__ = dlpack.dlpack
    __dlpack_device__ = dlpack.dlpack_device
    __repr__ = overrides.overridable(tensor_repr)
    __format__ = overrides.overridable(tensor_format)

    # subclasses
    _make_subclass = staticmethod(subclass.make_subclass)
    _make_wrapper_subclass = staticmethod(constructors.make_wrapper)
    as_subclass = subclasses.as_subclass
    __tensor_function__: Any = classmethod(subclasses.default_tensor_function)
    __torch_function__ = __tensor_function__

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        overrides.register_subclass(cls)
        dispatch_hooks.register_hook_of_class(cls)

    # autograd
    requires_grad = property(
        autograd_fields.get_requires_grad,
        autograd_fields.set_requires_grad,
        autograd_fields.keep_requires_grad,
    )
    requires_grad_ = autograd_fields.requires_grad_
    is_leaf = property(autograd_fields.get_is_leaf)
    grad_fn = property(autograd_fields.get_grad_fn)
    grad = property(autograd_fields.get_grad, autograd_fields.set_grad, autograd_fields.del_grad)
    backward = autograd_fields.backward
    retain_grad = autograd_fields.retain_grad
    retains_grad = property(autograd_fields.get_retains_grad)
    register_hook = autograd_fields.register_hook
    register_post_accumulate_grad_hook = autograd_fields.register_post_accumulate_grad_hook
    detach = autograd_fields.detach
    detach_ = autograd_fields.detach_
    data = property(autograd_fields.get_data, autograd_fields.set_data, autograd_fields.keep_data)
    _base = property(autograd_fields.get_base)
    _is_view = autograd_fields.is_view

    # copies and casts
    clone = copying.clone
    _lazy_clone = lazy_clone._lazy_clone
    _is_lazy_clone = lazy_clone._is_lazy_clone
    _storage_address = lazy_clone._storage_address
    contiguous = copying.contiguous
    is_contiguous = copying.is_contiguous
    copy_ = copying.copy_
    fill_ = filling.fill_
    zero_ = filling.zero_
    to = copying.to
    type = copying.get_type
    type_as = copying.type_as
    float = copying.to_float
    double = copying.to_double
    chalf = copying.to_chalf
    cfloat = copying.to_cfloat
    cdouble = copying.to_cdouble
    half = copying.to_half
    bfloat16 = copying.to_bfloat16
    long = copying.to_long
    int = copying.to_int
    short = copying.to_short
    char = copying.to_char
    byte = copying.to_byte
    bool = copying.to_bool
    cpu = copying.cpu
    to_device = copying.to_device
    device = property(copying.get_device)

    # of what kind and where: answers for programs that run on many devices
    cuda = tensor_info.cuda
    xpu = tensor_info.xpu
    get_device = tensor_info.get_device_index
    layout = property(tensor_info.get_layout)
    is_cpu = property(tensor_info.is_cpu)
    is_cuda = is_hpu = is_mkldnn = is_mps = is_mtia = is_xla = is_xpu = property(tensor_info.no)
    is_nested = is_quantized = is_sparse = is_sparse_csr = property(tensor_info.no)
    is_distributed = tensor_info.no
    is_pinned = tensor_info.is_pinned
    pin_memory = tensor_info.pin_memory
    record_stream = tensor_info.record_stream
    is_nonzero = tensor_info.is_nonzero
    is_same_size = tensor_info.is_same_size
    is_set_to = tensor_info.is_set_to
    dim_order = tensor_info.dim_order
    name = property(tensor_info.get_name)

    # complex numbers
    real = property(complex_numbers.real, complex_numbers.set_real)
    imag = property(complex_numbers.imag, complex_numbers.set_imag)
    isreal = complex_numbers.isreal
    conj = complex_numbers.conj
    conj_physical = complex_numbers.conj_physical
    conj_physical_ = complex_numbers.conj_physical_
    resolve_conj = complex_numbers.resolve_conj
    resolve_neg = complex_numbers.resolve_neg
    is_conj = complex_numbers.is_conj
    is_neg = complex_numbers.is_neg
    _neg_view = complex_numbers._neg_view
    angle = complex_numbers.angle

    # new tensors of the same dtype
    new_empty = creation.new_empty
    new_zeros = creation.new_zeros
    new_ones = creation.new_ones
    new_full = creation.new_full
    new_empty_strided = creation.new_empty_strided
    new_tensor = constructors.new_tensor
    new = constructors.new

    # views: other shapes
    view = reshaping.view
    view_as = reshaping.view_as
    reshape = reshaping.reshape
    reshape_as = reshaping.reshape_as
    flatten = reshaping.flatten
    ravel = reshaping.ravel
    unflatten = reshaping.unflatten
    as_strided = strided.as_strided
    as_strided_ = strided.as_strided_

    # views: dimensions
    permute = dimensions.permute
    transpose = dimensions.transpose
    transpose_ = swapaxes_ = swapdims_ = dimensions.transpose_
    swapaxes = dimensions.swapaxes
    swapdims = dimensions.swapdims
    t = dimensions.t
    t_ = dimensions.t_
    T = property(dimensions.reversed_dims)
    H = property(dimensions.get_h)
    mT = property(dimensions.matrix_transpose)
    mH = property(dimensions.adjoint)
    adjoint = dimensions.adjoint
    movedim = moveaxis = dimensions.movedim
    squeeze = dimensions.squeeze
    squeeze_ = dimensions.squeeze_
    unsqueeze = dimensions.unsqueeze
    unsqueeze_ = dimensions.unsqueeze_
    expand = dimensions.expand
    expand_as = dimensions.expand_as
    broadcast_to = dimensions.broadcast_to

    # views: parts
    select = slicing.select
    narrow = slicing.narrow
    diagonal = slicing.diagonal
    unfold = slicing.unfold
    unsafe_chunk = copied_views.unsafe_chunk
    unsafe_split = copied_views.unsafe_split
    unsafe_split_with_sizes = copied_views.unsafe_split_with_sizes
    split = splitting.split
    split_with_sizes = splitting.split_with_sizes
    chunk = splitting.chunk
    tensor_split = splitting.tensor_split
    hsplit = splitting.hsplit
    vsplit = splitting.vsplit
    dsplit = splitting.dsplit
    unbind = splitting.unbind

    # rearranged copies
    flip = rearranging.flip
    fliplr = rearranging.fliplr
    flipud = rearranging.flipud
    roll = rearranging.roll
    rot90 = rearranging.rot90
    repeat = rearranging.repeat
    tile = rearranging.tile
    repeat_interleave = rearranging.repeat_interleave
    tril = triangles.tril
    tril_ = triangles.tril_
    triu = triangles.triu
    triu_ = triangles.triu_
    diag = triangles.diag
    trace = triangles.trace
    diag_embed = triangles.diag_embed
    diagflat = triangles.diagflat

    # functions of your own
    apply_ = overrides.overridable(element_functions.apply_)
    map_ = overrides.overridable(element_functions.map_)
    map2_ = overrides.overridable(element_functions.map2_)

    # random fills
    uniform_ = random.uniform_
    normal_ = random.normal_
    log_normal_ = random.log_normal_
    cauchy_ = random.cauchy_
    exponential_ = random.exponential_
    geometric_ = random.geometric_
    bernoulli_ = random.bernoulli_
    bernoulli = random.bernoulli
    random_ = random.random_
    multinomial = random_factories.multinomial

    # pickles and copies
    __reduce_ex__ = overrides.overridable(pickling.reduce_tensor)
    __setstate__ = pickling.set_attributes
    __deepcopy__ = overrides.overridable(pickling.deepcopy_tensor)

    # other memory
    resize_ = resizing.resize_
    resize_as_ = resizing.resize_as_
    set_ = resizing.set_
    share_memory_ = sharing.share_memory_
    is_shared = sharing.is_shared

    # arithmetic
    add = arithmetic.add
    add_ = arithmetic.add_
    sub = arithmetic.sub
    sub_ = arithmetic.sub_
    mul = arithmetic.mul
    mul_ = arithmetic.mul_
    neg = arithmetic.neg
    neg_ = arithmetic.neg_
    abs = signs.abs
    abs_ = signs.abs_
    sign = signs.sign
    sign_ = signs.sign_
    sgn = complex_numbers.sgn
    sgn_ = complex_numbers.sgn_
    addcmul = weighted_sums.addcmul
    addcmul_ = weighted_sums.addcmul_
    addcdiv = weighted_sums.addcdiv
    addcdiv_ = weighted_sums.addcdiv_
    lerp = weighted_sums.lerp
    lerp_ = weighted_sums.lerp_
    absolute = signs.absolute
    absolute_ = signs.absolute_
    multiply = arithmetic.multiply
    multiply_ = arithmetic.multiply_
    negative = arithmetic.negative
    negative_ = arithmetic.negative_
    subtract = arithmetic.subtract
    subtract_ = arithmetic.subtract_
    positive = arithmetic.positive
    __add__ = __radd__ = arithmetic.add_operator
    __iadd__ = arithmetic.add_operator_
    __sub__ = arithmetic.sub_operator
    __rsub__ = arithmetic.sub_reflected
    __isub__ = arithmetic.sub_operator_
    __mul__ = __rmul__ = arithmetic.mul_operator
    __imul__ = arithmetic.mul_operator_
    __neg__ = arithmetic.neg
    __pos__ = arithmetic.positive
    __abs__ = signs.abs

    # elementary functions
    exp = elementary.exp
    exp_ = elementary.exp_
    exp2 = elementary.exp2
    exp2_ = elementary.exp2_
    expm1 = elementary.expm1
    expm1_ = elementary.expm1_
    log = elementary.log
    log_ = elementary.log_
    log2 = elementary.log2
    log2_ = elementary.log2_
    log10 = elementary.log10
    log10_ = elementary.log10_
    log1p = elementary.log1p
    log1p_ = elementary.log1p_
    sigmoid = elementary.sigmoid
    sigmoid_ = elementary.sigmoid_
    logit = elementary.logit
    logit_ = elementary.logit_
    tanh = elementary.tanh
    tanh_ = elementary.tanh_
    logaddexp = elementary.logaddexp
    logaddexp2 = elementary.logaddexp2
    sin = trigonometry.sin
    sin_ = trigonometry.sin_
    cos = trigonometry.cos
    cos_ = trigonometry.cos_
    tan = trigonometry.tan
    tan_ = trigonometry.tan_
    asin = trigonometry.asin
    asin_ = trigonometry.asin_
    acos = trigonometry.acos
    acos_ = trigonometry.acos_
    atan = trigonometry.atan
    atan_ = trigonometry.atan_
    sinh = hyperbolic.sinh
    sinh_ = hyperbolic.sinh_
    cosh = hyperbolic.cosh
    cosh_ = hyperbolic.cosh_
    asinh = hyperbolic.asinh
    asinh_ = hyperbolic.asinh_
    acosh = hyperbolic.acosh
    acosh_ = hyperbolic.acosh_
    atanh = hyperbolic.atanh
    atanh_ = hyperbolic.atanh_
    sinc = trigonometry.sinc
    sinc_ = trigonometry.sinc_
    deg2rad = trigonometry.deg2rad
    deg2rad_ = trigonometry.deg2rad_
    rad2deg = trigonometry.rad2deg
    rad2deg_ = trigonometry.rad2deg_
    arcsin = trigonometry.arcsin
    arcsin_ = trigonometry.arcsin_
    arccos = trigonometry.arccos
    arccos_ = trigonometry.arccos_
    arctan = trigonometry.arctan
    arctan_ = trigonometry.arctan_
    arcsinh = hyperbolic.arcsinh
    arcsinh_ = hyperbolic.arcsinh_
    arccosh = hyperbolic.arccosh
    arccosh_ = hyperbolic.arccosh_
    arctanh = hyperbolic.arctanh
    arctanh_ = hyperbolic.arctanh_
    atan2 = trigonometry.atan2
    atan2_ = trigonometry.atan2_
    arctan2 = trigonometry.arctan2
    arctan2_ = trigonometry.arctan2_
    hypot = trigonometry.hypot
    hypot_ = trigonometry.hypot_

    # reductions
    sum = reductions.sum
    sum_to_size = reductions.sum_to_size
    mean = reductions.mean
    nansum = reductions.nansum
    nanmean = reductions.nanmean
    count_nonzero = reductions.count_nonzero

    # division
    div = division.div
    div_ = division.div_
    divide = division.divide
    divide_ = division.divide_
    true_divide = division.true_divide
    true_divide_ = division.true_divide_
    floor_divide = division.floor_divide
    floor_divide_ = division.floor_divide_
    remainder = division.remainder
    remainder_ = division.remainder_
    fmod = division.fmod
    fmod_ = division.fmod_
    reciprocal = division.reciprocal
    reciprocal_ = division.reciprocal_
    __truediv__ = __div__ = division.div_operator
    __rtruediv__ = __rdiv__ = division.div_reflected
    __itruediv__ = __idiv__ = division.div_operator_
    __floordiv__ = division.floor_divide_operator
    __rfloordiv__ = division.floor_divide_reflected
    __ifloordiv__ = division.floor_divide_operator_
    __mod__ = division.remainder_operator
    __rmod__ = division.remainder_reflected
    __imod__ = division.remainder_operator_

    # powers
    pow = powers.pow
    pow_ = powers.pow_
    float_power = powers.float_power
    float_power_ = powers.float_power_
    square = powers.square
    square_ = powers.square_
    sqrt = powers.sqrt
    sqrt_ = powers.sqrt_
    rsqrt = powers.rsqrt
    rsqrt_ = powers.rsqrt_
    __pow__ = powers.pow_operator
    __rpow__ = powers.pow_reflected
    __ipow__ = powers.pow_operator_

    # products and truth
    prod = products.prod
    any = products.any
    all = products.all

    # extremes
    amax = extrema.amax
    amin = extrema.amin
    aminmax = extrema.aminmax
    max = extrema.max
    min = extrema.min
    argmax = extrema.argmax
    argmin = extrema.argmin

    # softmax
    log_softmax = softmax.log_softmax
    softmax = softmax.softmax  # last: the name is the module's until here

    # indexing
    __getitem__ = getitem.getitem
    __setitem__ = getitem.setitem
    __delitem__ = getitem.delitem
    __iter__ = getitem.iterate
    __contains__ = getitem.contains
    index_put = advanced.index_put
    index_put_ = advanced.index_put_
    scatter = gather.scatter
    scatter_ = gather.scatter_
    scatter_add = gather.scatter_add
    scatter_add_ = gather.scatter_add_
    scatter_reduce = reducing.scatter_reduce
    scatter_reduce_ = reducing.scatter_reduce_
    index_reduce = reducing.index_reduce
    index_reduce_ = reducing.index_reduce_
    take_along_dim = gather.take_along_dim
    gather = gather.gather
    index_select = index_along_dim.index_select
    index_add = index_along_dim.index_add
    index_add_ = index_along_dim.index_add_
    index_copy = index_along_dim.index_copy
    index_copy_ = index_along_dim.index_copy_
    index_fill = index_along_dim.index_fill
    index_fill_ = index_along_dim.index_fill_
    take = index_along_dim.take
    put = parts.put
    put_ = parts.put_
    select_scatter = parts.select_scatter
    slice_scatter = parts.slice_scatter
    diagonal_scatter = parts.diagonal_scatter
    as_strided_scatter = parts.as_strided_scatter
    narrow_copy = parts.narrow_copy
    nonzero_static = parts.nonzero_static
    __reversed__ = parts.reverse
    masked_select = masked.masked_select
    masked_scatter = masked.masked_scatter
    masked_scatter_ = masked.masked_scatter_
    nonzero = nonzero_ops.nonzero
    argwhere = nonzero_ops.argwhere

    # products of matrices
    matmul = matrices.matmul
    mm = matrices.mm
    bmm = matrices.bmm
    mv = matrices.mv
    dot = matrices.dot
    addmm = affine.addmm
    addmm_ = affine.addmm_
    baddbmm = affine.baddbmm
    baddbmm_ = affine.baddbmm_
    addbmm = affine.addbmm
    addbmm_ = affine.addbmm_
    addmv = affine.addmv
    addmv_ = affine.addmv_
    addr = affine.addr
    addr_ = affine.addr_
    outer = ger = affine.outer
    inner = affine.inner
    vdot = affine.vdot
    kron = einsum.kron
    cross = composed.cross
    dist = composed.dist
    renorm = composed.renorm
    renorm_ = composed.renorm_
    cov = composed.cov
    corrcoef = composed.corrcoef
    fill_diagonal_ = composed.fill_diagonal_
    det = older_names.det
    logdet = older_names.logdet
    slogdet = older_names.slogdet
    inverse = solving.inverse
    pinverse = pseudo_inverse.pinverse
    matrix_power = older_names.matrix_power
    matrix_exp = older_names.matrix_exp
    cholesky = older_names.cholesky
    cholesky_solve = cholesky_ops.cholesky_solve
    cholesky_inverse = cholesky_ops.cholesky_inverse
    lu = older_names.lu
    lu_solve = older_names.lu_solve
    triangular_solve = older_names.triangular_solve
    qr = older_names.qr
    geqrf = orthogonal.geqrf
    orgqr = orthogonal.orgqr
    ormqr = orthogonal.ormqr
    svd = older_names.svd
    eig = older_names.eig
    symeig = older_names.symeig
    lstsq = older_names.lstsq
    solve = older_names.solve
    __matmul__ = matrices.matmul_operator
    __rmatmul__ = matrices.matmul_reflected

    # rounding and bounds
    floor = rounding.floor
    floor_ = rounding.floor_
    ceil = rounding.ceil
    ceil_ = rounding.ceil_
    trunc = rounding.trunc
    trunc_ = rounding.trunc_
    fix = rounding.fix
    fix_ = rounding.fix_
    round = rounding.round
    round_ = rounding.round_
    frac = rounding.frac
    frac_ = rounding.frac_
    nan_to_num = rounding.nan_to_num
    nan_to_num_ = rounding.nan_to_num_
    clamp = bounds.clamp
    clamp_ = bounds.clamp_
    clip = bounds.clip
    clip_ = bounds.clip_
    clamp_min = bounds.clamp_min
    clamp_min_ = bounds.clamp_min_
    clamp_max = bounds.clamp_max
    clamp_max_ = bounds.clamp_max_
    maximum = bounds.maximum
    minimum = bounds.minimum
    fmax = bounds.fmax
    fmin = bounds.fmin

    # comparison
    eq = comparison.eq
    eq_ = comparison.eq_
    ne = comparison.ne
    ne_ = comparison.ne_
    lt = comparison.lt
    lt_ = comparison.lt_
    le = comparison.le
    le_ = comparison.le_
    gt = comparison.gt
    gt_ = comparison.gt_
    ge = comparison.ge
    ge_ = comparison.ge_
    not_equal = comparison.not_equal
    not_equal_ = comparison.not_equal_
    less = comparison.less
    less_ = comparison.less_
    less_equal = comparison.less_equal
    less_equal_ = comparison.less_equal_
    greater = comparison.greater
    greater_ = comparison.greater_
    greater_equal = comparison.greater_equal
    greater_equal_ = comparison.greater_equal_
    isnan = comparison.isnan
    isinf = comparison.isinf
    isfinite = comparison.isfinite
    isposinf = comparison.isposinf
    isneginf = comparison.isneginf
    isclose = comparison.isclose
    allclose = comparison.allclose
    equal = comparison.equal
    __eq__ = comparison.eq_operator
    __ne__ = comparison.ne_operator
    __lt__ = comparison.lt_operator
    __le__ = comparison.le_operator
    __gt__ = comparison.gt_operator
    __ge__ = comparison.ge_operator

    # logic and bits
    logical_not = logic.logical_not
    logical_not_ = logic.logical_not_
    logical_and = logic.logical_and
    logical_and_ = logic.logical_and_
    logical_or = logic.logical_or
    logical_or_ = logic.logical_or_
    logical_xor = logic.logical_xor
    logical_xor_ = logic.logical_xor_
    bitwise_not = logic.bitwise_not
    bitwise_not_ = logic.bitwise_not_
    bitwise_and = logic.bitwise_and
    bitwise_and_ = logic.bitwise_and_
    bitwise_or = logic.bitwise_or
    bitwise_or_ = logic.bitwise_or_
    bitwise_xor = logic.bitwise_xor
    bitwise_xor_ = logic.bitwise_xor_
    bitwise_left_shift = logic.bitwise_left_shift
    bitwise_left_shift_ = logic.bitwise_left_shift_
    bitwise_right_shift = logic.bitwise_right_shift
    bitwise_right_shift_ = logic.bitwise_right_shift_
    __invert__ = logic.bitwise_not_operator
    __and__ = __rand__ = logic.bitwise_and_operator
    __iand__ = logic.bitwise_and_operator_
    __or__ = __ror__ = logic.bitwise_or_operator
    __ior__ = logic.bitwise_or_operator_
    __xor__ = __rxor__ = logic.bitwise_xor_operator
    __ixor__ = logic.bitwise_xor_operator_
    __lshift__ = logic.bitwise_left_shift_operator
    __rlshift__ = logic.bitwise_left_shift_reflected
    __ilshift__ = logic.bitwise_left_shift_operator_
    __rshift__ = logic.bitwise_right_shift_operator
    __rrshift__ = logic.bitwise_right_shift_reflected
    __irshift__ = logic.bitwise_right_shift_operator_

    # selection
    where = selection.where_method
    masked_fill = selection.masked_fill
    masked_fill_ = selection.masked_fill_

    # scans
    cumsum = scans.cumsum
    logcumsumexp = scans.logcumsumexp
    cumsum_ = scans.cumsum_
    cumprod = scans.cumprod
    cumprod_ = scans.cumprod_
    cummax = scans.cummax
    cummin = scans.cummin
    diff = scans.diff

    # sorting
    sort = sorting.sort
    argsort = sorting.argsort
    msort = sorted_values.msort

    # order statistics
    topk = order_statistics.topk
    kthvalue = order_statistics.kthvalue
    median = order_statistics.median
    nanmedian = order_statistics.nanmedian
    quantile = quantiles.quantile
    nanquantile = quantiles.nanquantile
    mode = quantiles.mode
    bincount = histograms.bincount
    histc = histograms.histc
    histogram = histograms.histogram

    # activations
    relu = rectifiers.relu
    relu_ = rectifiers.relu_
    prelu = rectifiers.prelu
    hardshrink = piecewise.hardshrink

    # Fourier transforms
    stft = short_time_fourier.stft
    istft = short_time_fourier.istft

    # statistics
    var = statistics.var
    std = statistics.std
    norm = norms.norm
    logsumexp = statistics.logsumexp

    # uniques
    unique = uniques.unique
    unique_consecutive = uniques.unique_consecutive

    # sparse layouts
    to_sparse = sparse_methods.to_sparse
    to_sparse_coo = sparse_methods.to_sparse_coo
    to_sparse_csr = sparse_methods.to_sparse_csr
    to_sparse_csc = sparse_methods.to_sparse_csc
    to_sparse_bsr = sparse_methods.to_sparse_bsr
    to_sparse_bsc = sparse_methods.to_sparse_bsc
    to_dense = sparse_methods.to_dense
    sparse_mask = sparse_methods.sparse_mask
    sparse_dim = sparse_methods.sparse_dim
    dense_dim = sparse_methods.dense_dim
    coalesce = sparse_methods.coalesce
    is_coalesced = sparse_methods.is_coalesced
    indices = sparse_methods.indices
    values = sparse_methods.values
    crow_indices = sparse_methods.crow_indices
    col_indices = sparse_methods.col_indices
    ccol_indices = sparse_methods.ccol_indices
    row_indices = sparse_methods.row_indices
    _nnz = sparse_methods.held_count
    _indices = sparse_methods.raw_indices
    _values = sparse_methods.raw_values

    # special functions
    erf = special.erf
    erf_ = special.erf_
    erfc = special.erfc
    erfc_ = special.erfc_
    erfinv = special.erfinv
    erfinv_ = special.erfinv_
    lgamma = special.lgamma
    lgamma_ = special.lgamma_
    digamma = special.digamma
    digamma_ = special.digamma_
    i0 = bessel.i0
    i0_ = bessel.i0_
    igamma = incomplete_gamma.igamma
    igamma_ = incomplete_gamma.igamma_
    igammac = incomplete_gamma.igammac
    igammac_ = incomplete_gamma.igammac_
    mvlgamma = multivariate_gamma.mvlgamma
    mvlgamma_ = multivariate_gamma.mvlgamma_
    xlogy = special.xlogy
    xlogy_ = special.xlogy_
    polygamma = special.polygamma_method
    polygamma_ = special.polygamma_

    # signs and parts of numbers
    copysign = signs.copysign
    copysign_ = signs.copysign_
    heaviside = signs.heaviside
    heaviside_ = signs.heaviside_
    nextafter = signs.nextafter
    nextafter_ = signs.nextafter_
    gcd = signs.gcd
    gcd_ = signs.gcd_
    lcm = signs.lcm
    lcm_ = signs.lcm_
    ldexp = signs.ldexp
    ldexp_ = signs.ldexp_
    signbit = signs.signbit
    frexp = signs.frexp

    __hash__ = object.__hash__

    def _repr_html_(self):
        from tensorlab import _display

        return _display.tensor(self)

    def __dir__(self):
        return [name for name in super().__dir__() if not _missing.is_missing(self, name)]


set_tensor_class(Tensor)
keep_tensors(Tensor)
_missing.explain_missing_attributes(
    Tensor,
    "Tensor",
    """const_data_ptr dequantize grad_dtype hash_tensor index int_repr ipu is_ipu
    is_maia is_vulkan module_load mtia q_per_channel_axis q_per_channel_scales
    q_per_channel_zero_points q_scale q_zero_point qscheme reinforce resize resize_as
    resize_as_sparse_ slice_inverse smm sparse_resize_ sparse_resize_and_clear_ sspaddmm
    storage storage_type to_mkldnn to_padded_tensor volatile""",
)
accept_numpy_names(vars(Tensor).values())
