"""Which ops autocast casts the arguments of, and to what: PyTorch's lists for the cpu.

Products gain most from a smaller type and lose least, as they sum in float32: they get LOWER.
Where a difference is squared, a logarithm taken or a matrix factorised, eight bits of mantissa
are too few: FLOAT32. Ops that join tensors need one type, the widest among them: WIDEST. All
others compute in the type of their arguments, promoted as ever.

An op that PyTorch lists may be a function over several ops here. If the cast of each of them
would give something else, it casts by itself, in its first line (`in_float32`, `in_lower` in
autocast.pyx).

Source: aten/src/ATen/autocast_mode.h of PyTorch 2.13, the lists AT_FORALL_LOWER_PRECISION_FP,
AT_FORALL_FP32 and AT_FORALL_PROMOTE for the cpu; tests/test_autocast.py compares op by op.
"""

from tensorlab._core.dispatch.facets import Facet

LOWER, FLOAT32, WIDEST = "lower", "float32", "widest"

_NAMES = {
    LOWER: """
        mm bmm matmul addmm baddbmm linear
        conv recurrent_layer
    """,
    FLOAT32: """
        nll_loss cross_entropy mse_loss huber_loss
        binary_cross_entropy binary_cross_entropy_of_probabilities
        binary_cross_entropy_with_logits avg_pool3d max_pool3d adaptive_avg_pool3d
        adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d prod trace
        view_as_complex _cdist_forward _fft_c2c _fft_r2c _fft_c2r linalg_lu_factor_ex
        linalg_lu_solve _linalg_solve_ex linalg_inv_ex linalg_cholesky_ex cholesky_solve
        _linalg_eigh _linalg_svd linalg_eig lstsq_fit geqrf linalg_householder_product ormqr
        linalg_qr
    """,
    WIDEST: "cat stack index_copy",
}
_RULES = {name: rule for rule, names in _NAMES.items() for name in names.split()}

# An op of a program has what `library.register_autocast` was told: (device type, dtype).
autocast_rule = Facet("autocast", lambda op: _RULES.get(op.name))
