"""The ops that are left after `decompose`: primitive ones, which kernels are made of, and calls.

`PRIMITIVES` says for each kind what code generation can do with it. `CALLS` are the kernels of the
library, with the reason why they aren't made of primitive ops. Every op of the registry that writes
to nothing is in one of the two, or is taken apart by exact_forms.py or formulas.py (some of these
stay calls for the shapes or types that their formula leaves out), or `GONE` after all passes.
"""

PRIMITIVES = {
    # one element of the result from one of each operand; the expressions are those of the eager loops
    "arithmetic": "add sub mul div neg abs add_scaled sub_scaled addcmul lerp",
    "comparison": "eq ne lt le gt ge",
    "logic": "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not "
    "bitwise_left_shift bitwise_right_shift",
    "selection": "where maximum minimum fmax fmin clamp clamp_min clamp_max",
    "rounding": "floor ceil trunc round div_floor div_trunc remainder fmod",
    "signs": "sign signbit copysign",
    "functions": "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt pow pow_of_number sin cos tan asin acos "
    "atan atan2 sinh cosh tanh asinh acosh atanh erf erfc sigmoid",
    "activations": "relu elu elu_slope gelu gelu_backward gelu_tanh gelu_tanh_backward hardsigmoid "
    "hardswish hardswish_backward log_sigmoid log_sigmoid_backward mish mish_backward silu_backward "
    "softplus softplus_backward",
    # the loops of a reduction
    "reductions": "sum amax amin prod all any",
    # no loop at all: index arithmetic
    "views": "view permute expand squeeze unsqueeze select slice diagonal unfold as_strided detach "
    "view_dtype",
    "copies": "clone to_copy reshape",
    "numbers": "full zeros ones arange",
}

CALLS = {
    "products: BLAS": "mm bmm mv vm dot matmul addmm baddbmm linear",
    "convolutions, and the windows that they take": "conv conv_input conv_weight im2col col2im",
    "pooling": "max_pool2d max_pool3d avg_pool2d avg_pool3d avg_pool_backward adaptive_avg_pool2d "
    "adaptive_avg_pool3d adaptive_avg_pool_backward adaptive_max_pool2d adaptive_max_pool3d "
    "fractional_max_pool2d fractional_max_pool3d",
    "one pass over memory already, with more state than a row": "cross_entropy cross_entropy_backward "
    "nll_loss nll_loss_backward batch_norm batch_norm_backward batch_norm_backward_weight attention "
    "attention_backward recurrent_layer recurrent_layer_backward binary_cross_entropy logsumexp",
    "places that indices name": "index index_put index_add index_copy index_fill index_select "
    "index_backward index_select_backward gather gather_backward scatter scatter_add scatter_reduce "
    "scatter_value take masked_scatter masked_scatter_backward masked_select embedding embedding_backward "
    "embedding_bag embedding_bag_backward embedding_bag_largest embedding_bag_weights_backward "
    "embedding_uses one_hot wrap_index check_divisors searchsorted nonzero nonzero_numpy repeat_interleave",
    "a part of a tensor written": "view_scatter view_backward getitem_backward restride copy fill",
    "order": "sort stable_sort sorted_values topk kthvalue median median_dim nanmedian nanmedian_dim "
    "runs max_dim min_dim argmax argmin",
    "factors of matrices, by LAPACK": "nuclear_norm polar_factor polar_factor_backward",
    "scans": "cumsum cumsum_from_end cumprod cumprod_backward cummax cummin logcumsumexp",
    "rearrangement": "cat stack flip roll rot90 repeat tril triu diag_embed block_diag trace",
    "other numbers": "eye linspace logspace tril_indices triu_indices tensor empty empty_strided",
    "functions that are rare, or that call libm": "angle digamma erfinv exponent gcd heaviside hypot i0 i1 "
    "isclose lcm ldexp lgamma logaddexp logaddexp2 logit mantissa nan_to_num ndtr nextafter polygamma "
    "round_decimals sinc xlogy huber_loss mse_loss_backward binary_cross_entropy_with_logits "
    "binary_cross_entropy_of_probabilities",
    "draws: they keep their order": "bernoulli bernoulli_of bernoulli_tensor cauchy exponential geometric "
    "log_normal multinomial normal normal_means normal_numbers normal_pairs normal_stds rand rand_like "
    "randint randint_like randn randn_like random randperm uniform",
    "what a tensor is": "as_subclass make_subclass to_integers",
}


# What constant folding and simplification replace in any graph, and code generation needn't know.
GONE = {
    "numbers by now": "zeros_like ones_like full_like zero new_zeros new_ones new_full",
    "copies and memory that nothing is done with": "empty_like new_empty new_empty_strided lazy_clone",
    "several views: each is made alone": "split split_with_sizes unbind",
}


def names(table):
    """All names of a table."""
    return frozenset(name for text in table.values() for name in text.split())
