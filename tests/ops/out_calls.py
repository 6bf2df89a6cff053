"""Every public function that takes out=, with calls of it: what test_out.py runs.

A call is written as its arguments; the names stand for the tensors of `inputs`.
"""

UNARY = {  # by the input that fits them
    "x": """abs absolute asinh atan arcsinh arctan ceil cos cosh deg2rad angle exp exp2 expm1 erf erfc fix floor frac
        i0 isneginf isposinf lgamma digamma logical_not nan_to_num neg negative rad2deg reciprocal
        round sgn sigmoid sign signbit sin sinc sinh square tan tanh trunc msort frexp hardshrink aminmax""",
    "u": """acos asin arccos arcsin atanh arctanh erfinv log log10 log1p log2 logit rsqrt sqrt""",
    "u + 1": "acosh arccosh",
}
BINARY = {
    "x, y": """add arctan2 atan2 clamp_max clamp_min copysign div divide eq floor_divide fmax fmin fmod ge greater
        greater_equal gt heaviside hypot le less less_equal lt logaddexp logaddexp2 logical_and logical_or logical_xor
        maximum minimum mul multiply ne nextafter not_equal remainder sub subtract true_divide""",
    "u, u": "float_power igamma igammac pow xlogy",
    "i, j": """bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift gcd lcm""",
}
SEQUENCES = "cat column_stack concat concatenate dstack hstack row_stack stack vstack"
VIEWS = {  # copies of views
    "alias_copy": ["x"],
    "as_strided_copy": ["x, (2, 2), (4, 1), 1"],
    "detach_copy": ["x"],
    "diagonal_copy": ["x, 1"],
    "expand_copy": ["z, (3, 4)"],
    "permute_copy": ["x, (1, 0)"],
    "select_copy": ["x, 1, 2"],
    "slice_copy": ["x, 1, 0, 4, 2"],
    "squeeze_copy": ["x[:1]", "x[:1], 0"],
    "t_copy": ["x"],
    "transpose_copy": ["x, 0, 1"],
    "unfold_copy": ["x, 1, 2, 1"],
    "unsqueeze_copy": ["x, 1"],
    "view_copy": ["x, (4, 3)"],
}
OTHERS = {
    **VIEWS,
    "add": ["x, y, alpha=2", "i, 1.5", "x, z"],
    "addbmm": ["m, xb, yb"],
    "addcdiv": ["x, y, u"],
    "addcmul": ["x, y, u"],
    "addmm": ["m, x, yt"],
    "addmv": ["v, x, w"],
    "addr": ["x, v, w"],
    "argsort": ["x, dim=1, stable=True"],
    "all": ["b", "b, 1", "x", "x, 0", "q, 1"],
    "amax": ["x, 1", "x"],
    "amin": ["x, (0, 1), True"],
    "aminmax": ["x, dim=1"],
    "any": ["b", "b, 1", "x, 0", "q, 1"],
    "arange": ["6", "1., 4."],
    "argmax": ["x", "x, 1"],
    "argmin": ["x, 0, True"],
    "baddbmm": ["mb, xb, yb"],
    "bitwise_not": ["i"],
    "bmm": ["xb, yb"],
    "bucketize": ["x, s", "x, s, out_int32=True"],
    "cat": ["[x, y], 1"],
    "clamp": ["x, -0.5, 0.5", "x, y, y + 1"],
    "clip": ["x, max=0.5"],
    "cross": ["m, m.t(), 1", "m, m.cos()"],
    "cummax": ["x, 1"],
    "cummin": ["x, 0"],
    "cumprod": ["x, 1"],
    "cumsum": ["x, 1", "i, 0", "x, 1, dtype=float64"],
    "diag": ["v", "x"],
    "diff": ["x", "x, 2, 0"],
    "div": ["x, y, rounding_mode='floor'", "i, j"],
    "dot": ["v, v"],
    "eye": ["3", "3, 4"],
    "full": ["(2, 3), 1.5"],
    "gather": ["x, 1, k"],
    "ger": ["v, w"],
    "hardshrink": ["x, 0.3"],
    "histc": ["x, 5"],
    "histogram": ["x, 5", "x, s"],
    "index_add": ["x, 0, n, y"],
    "index_copy": ["x, 0, n, y"],
    "index_reduce": ["x, 0, n, y, 'amax'"],
    "index_select": ["x, 0, n"],
    "inner": ["x, y"],
    "isin": ["x, y"],
    "kron": ["x, y"],
    "kthvalue": ["x, 2, 1"],
    "ldexp": ["x, y"],
    "lerp": ["x, y, 0.3", "x, y, u"],
    "linspace": ["0, 1, 5"],
    "log_softmax": ["x, 1"],
    "logcumsumexp": ["x, 1"],
    "logspace": ["0, 1, 5"],
    "logsumexp": ["x, 1"],
    "masked_select": ["x, b"],
    "matmul": ["x, yt", "xb, yb", "x, w", "v, x"],
    "max": ["x", "x, 1", "x, y"],
    "mean": ["x", "x, 1"],
    "median": ["x, 1"],
    "min": ["x", "x, 0, True", "x, y"],
    "mm": ["x, yt"],
    "mode": ["x, 1"],
    "mv": ["x, w"],
    "nanmean": ["x, 1"],
    "nanmedian": ["x, 1"],
    "nanquantile": ["x, 0.5", "x, 0.5, 1"],
    "nansum": ["x", "x, 1"],
    "narrow_copy": ["x, 1, 1, 2"],
    "nonzero": ["x"],
    "nonzero_static": ["x, size=2"],
    "norm": ["x", "x, 2, 1"],
    "ones": ["2, 3"],
    "outer": ["v, w"],
    "mvlgamma": ["u + 2, 2"],
    "polygamma": ["1, u"],
    "pow": ["x, 2", "2, x"],
    "prod": ["x, 1", "i, 0", "x, 1, dtype=float64"],
    "quantile": ["x, 0.5", "x, 0.5, 1"],
    "range": ["0, 4", "1, 7, 2"],
    "renorm": ["x, 2, 0, 1", "x, 1, 1, 0.5"],
    "scatter": ["x, 1, k, y", "x, 1, k, 2.0", "x, 1, k, y, reduce='add'"],
    "scatter_add": ["x, 1, k, y"],
    "scatter_reduce": ["x, 1, k, y, 'sum'"],
    "searchsorted": ["s, x"],
    "slice_scatter": ["x, y[1:2], 0, 1, 2"],
    "softmax": ["x, 1", "i, 1, dtype=float64"],
    "sort": ["x", "x, 0"],
    "std": ["x", "x, 1"],
    "sub": ["x, y, alpha=2"],
    "sum": ["x, None", "x, 1", "i, 1", "x, 1, dtype=float64"],
    "take": ["x, k"],
    "take_along_dim": ["x, k, 1"],
    "tensordot": ["x, y, 2", "x, yt, 1"],
    "threshold": ["x, 0.1, 2."],
    "topk": ["x, 2"],
    "tril": ["x"],
    "triu": ["x, 1"],
    "var": ["x, 1", "x"],
    "vdot": ["v, v"],
    "where": ["b, x, y"],
    "zeros": ["2, 3"],
}

# Of matrices; `m @ m.t() + 2 * eye` is symmetric and positive definite, and far from singular.
DEFINITE = "(m @ m.t() + 2 * T.eye(3))"
MATRICES = {
    "chain_matmul": ["x, yt, m"],
    "lu_unpack": [f"*T.linalg.lu_factor({DEFINITE})"],
    "qr": ["m"],
    "svd": ["m"],
    "frobenius_norm": ["x, (0, 1)"],
    "inverse": [DEFINITE],
    "lu_solve": [f"x, *T.linalg.lu_factor({DEFINITE})"],
    "matrix_power": ["m, 3"],
    "slogdet": [DEFINITE],
    "triangular_solve": [f"x, {DEFINITE}"],
}

NO_OUT_THERE = "PyTorch's function has no out="
COLUMNS = "LAPACK's results lie by columns in new memory; out= is tried with the samples"
STRICTER = (
    "with out= and a gradient PyTorch records nothing and says nothing; out= is tried elsewhere"
)
ELSEWHERE = {
    **dict.fromkeys(("_sample_dirichlet", "_standard_gamma", "binomial", "poisson"), NO_OUT_THERE),
    **dict.fromkeys(("cholesky", "cholesky_inverse", "cholesky_solve"), COLUMNS),
    **dict.fromkeys(("geqrf", "lu", "orgqr", "ormqr"), COLUMNS),
    **dict.fromkeys(("conj_physical", "nuclear_norm"), STRICTER),
    **dict.fromkeys(("view_as_complex_copy", "view_as_real_copy"), STRICTER),
    **dict.fromkeys(("dsmm", "spmm"), "other names of mm"),
    **dict.fromkeys(
        ("_chunk_cat", "native_batch_norm", "_native_batch_norm_legit"), "see test_inner_functions"
    ),
    **dict.fromkeys(("complex", "polar"), "the comparison is of real numbers; see samples_complex"),
}

NETWORKS = {  # functions of nn.functional
    "nn.functional.avg_pool2d": ["xb, 2", "xb, (1, 2), 1"],
    "nn.functional.avg_pool3d": ["xb[None], (1, 2, 2)"],
    "nn.functional.gelu": ["x", "x, approximate='tanh'"],
    "nn.functional.linear": ["x, y", "x, y, v", "x, w"],
    "nn.functional.logsigmoid": ["x"],
    "nn.functional.softplus": ["x", "x, 2, 0.5"],
    "nn.functional.softshrink": ["x", "x, 0.3"],
}

RANDOM = {  # calls whose values are not compared
    "bernoulli": ["u"],
    "empty": ["3, 4"],
    "multinomial": ["u, 2", "u, 1"],
    "normal": ["x, u", "0., 1., (3, 4)"],
    "rand": ["3, 4"],
    "randint": ["5, (3, 4)"],
    "randn": ["3, 4"],
    "randperm": ["6"],
}


def all_calls():
    """{name of a function: [arguments]}"""
    calls = {name: [] for name in OTHERS}
    for table in (UNARY, BINARY):
        for arguments, names in table.items():
            for name in names.split():
                calls.setdefault(name, []).append(arguments)
    for name in SEQUENCES.split():
        calls.setdefault(name, []).append("[x, y]")
    for table in (OTHERS, MATRICES):
        for name, several in table.items():
            calls[name] = calls.get(name, []) + several
    return calls
