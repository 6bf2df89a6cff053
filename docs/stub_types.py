"""The types of the stubs: what each argument accepts and each function returns, where the signature does not say.

A function with the name of an op takes and returns what the op's schema says. Other arguments have the same meaning
wherever they have the same name, so one table of names does for almost all; the few functions that differ, and
results other than a tensor, follow in tables of their own.  What takes several forms
(overloads, generic classes) is written out in docs/stub_overrides.pyi.
"""

from tensorlab._core.dispatch.op import REGISTRY

from tensorlab import return_types

# Names of arguments under the type that they accept.  `| None` is added where the default is None.
# Fourier transforms of one, of two and of any number of dimensions.
FOURIER = [
    f"{kind}{n}"
    for kind in ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
    for n in ("", "2", "n")
]
# Losses that take PyTorch's older names for the reduction, and those of three tensors.
TRIPLETS = [
    *("TripletMarginLoss", "TripletMarginWithDistanceLoss"),
    *("triplet_margin_loss", "triplet_margin_with_distance_loss"),
]
LOSSES = [
    *("MSELoss", "L1Loss", "SmoothL1Loss", "KLDivLoss", "PoissonNLLLoss", "NLLLoss", "BCELoss"),
    *("CrossEntropyLoss", "BCEWithLogitsLoss", "MarginRankingLoss", "HingeEmbeddingLoss"),
    *("SoftMarginLoss", "CosineEmbeddingLoss", "MultiMarginLoss", "MultiLabelMarginLoss"),
    *("MultiLabelSoftMarginLoss", "mse_loss", "l1_loss", "smooth_l1_loss", "kl_div"),
    *("poisson_nll_loss", "nll_loss", "cross_entropy", "binary_cross_entropy"),
    *("binary_cross_entropy_with_logits", "margin_ranking_loss", "hinge_embedding_loss"),
    *("soft_margin_loss", "cosine_embedding_loss", "multi_margin_loss"),
    *("multilabel_margin_loss", "multilabel_soft_margin_loss", *TRIPLETS[::2]),
]
# Transforms of images: those that compute new pixels from old ones, and those that give back what they were given, an
# image or a tensor.
RESIZED = ["Resize", "resize", "RandomResizedCrop", "resized_crop", "RandomRotation", "rotate"]
TRANSFORMS = [
    *(
        "CenterCrop",
        "ColorJitter",
        "Grayscale",
        "Pad",
        "RandomApply",
        "RandomCrop",
        "RandomErasing",
    ),
    *("RandomGrayscale", "RandomHorizontalFlip", "RandomResizedCrop", "RandomRotation"),
    *("RandomVerticalFlip", "Resize"),
]
ARGUMENTS = {
    "Tensor": """input real imag
        mat mat1 mat2 vec vec1 vec2 batch1 batch2 tensor tensor1 tensor2 mask source src index target
        sorter weight weights running_mean running_var pos_weight x x1 x2 query key attn_mask elements prepend append
        values b src tgt memory src_mask tgt_mask memory_mask key_padding_mask src_key_padding_mask
        tgt_key_padding_mask memory_key_padding_mask out_proj_weight
        q_proj_weight k_proj_weight v_proj_weight static_k static_v b_ih b_hh w_ih w_hh input1 input2
        input_ target_ logits log_probs linear_weight linear_bias offsets per_sample_weights embeddings
        _weight A B""",
    "Tensor | None": "batch_sizes permutation _random_samples",
    "Tensor | tuple[Tensor, Tensor]": "hidden hx",
    "tuple[int, int, int]": "expected_hidden_size",
    "Tensor | float": "other y exponent value end late test_elements q",
    "Tensor | float | None": "min max",
    "Tensor | Sequence[Tensor]": "out",
    "Sequence[Tensor]": "indices",
    "int": """dim0 dim1 dim2 axis0 axis1 diagonal offset start_dim end_dim start length chunks n storage_offset
        in_features out_features in_channels out_channels groups num_embeddings embedding_dim padding_idx num_features
        num_channels num_groups num_parameters ignore_index r divisor_override last_epoch step_size T_max total_iters
        patience cooldown num_workers count seed precision edgeitems linewidth num_threads
        upscale_factor downscale_factor embed_dim embed_dim_to_check num_heads kdim vdim d_model nhead num_layers sz
        num_encoder_layers num_decoder_layers dim_feedforward input_size hidden_size num_chunks proj_size n_classes
        in1_features in2_features num_classes blank top left height width num_output_channels max_size
        window_length M""",
    "float | Sequence[float]": "brightness saturation hue degrees",
    "tuple[float, float]": "betas ratio",
    "Tensor | Sequence[int]": "input_lengths target_lengths",
    "float": """eps momentum gamma factor start_factor from_ to max_norm clip_value val nan posinf neginf fill_value
        scale threshold correction min_val dropout_p norm_type brightness_factor contrast_factor saturation_factor
        hue_factor angle""",
    "float | Sequence[float] | None": "output_ratio scale_factor",
    "bool": """add_zero_attn requires_grad copy retain_graph affine track_running_stats drop_last mode
        scale_grad_by_freq sparse""",
    "bool | None": """src_is_causal tgt_is_causal foreach fused capturable differentiable align_corners
        recompute_scale_factor size_average""",
    "str": "rounding_mode indexing reduce side nonlinearity name padding_mode url filename",
    "str | None": "md5",
    "str | PathLike[str]": "root fpath from_path to_path download_root extract_root",
    "str | Sequence[str]": "extensions",
    "dtype": "dtype d type1 type2",
    "_Device": "device",
    "layout": "layout",
    "memory_format": "memory_format",
    "Generator": "generator",
    "int | Sequence[int]": """indices_or_sections shapes size sizes dims order shape kernel_size stride dilation
        output_padding output_size normalized_shape unflattened_size destination""",
    "int | Sequence[int] | str": "padding",
    "Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]": "params",
    "Tensor | Iterable[Tensor]": "parameters",
    "Sequence[Tensor] | Tensor": "tensors inputs",
    "Sequence[int]": "cutoffs",
    "Optimizer": "optimizer",
    # under a Callable, mypy can't tell what a list holds to which a lambda appends
    "Any": "hook",
    "Callable[..., Any]": "func function transform target_transform loader is_valid_file",
    "Mapping[str, Any]": "state_dict",
    "object | None": "process_group",
    "Module": "module encoder_layer decoder_layer custom_encoder custom_decoder",
    "dict[str, Any]": "group param_group defaults",
}
# "function.argument", where that argument means something else in that function.
ARGUMENTS_OF = {
    "Adafactor.d": "float",
    **dict.fromkeys(["can_cast.from_", "can_cast.to"], "dtype"),
    **dict.fromkeys(
        [f"{name}.{one}" for name in ("normalize", "Normalize") for one in ("mean", "std")],
        "Sequence[float]",
    ),
    **dict.fromkeys([f"erase.{one}" for one in "ijhw"], "int"),
    **dict.fromkeys([f"{name}.interpolation" for name in RESIZED], "InterpolationMode | int"),
    **dict.fromkeys([f"{name}.center" for name in ("RandomRotation", "rotate")], "Sequence[int]"),
    **dict.fromkeys(
        [f"{name}.contrast" for name in ("ColorJitter", "get_params")], "float | Sequence[float]"
    ),
    "Lambda.lambd": "Callable[[Any], Any]",
    **dict.fromkeys(
        [f"{name}.scale" for name in ("RandomErasing", "RandomResizedCrop")], "tuple[float, float]"
    ),
    **dict.fromkeys(["ToPILImage.mode", "to_pil_image.mode"], "str"),
    "erase.v": "Tensor",
    "weight_norm.dim": "int | None",
    "set_submodule.target": "str",
    **dict.fromkeys(
        [f"register_full_backward_{kind}.prepend" for kind in ("hook", "pre_hook")]
        + [
            f"register_{of}state_dict_{when}_hook.prepend"
            for of in ("", "load_")
            for when in ("pre", "post")
        ],
        "bool",
    ),
    **dict.fromkeys(
        ["Adadelta.lr", "Adagrad.lr", "Adam.lr", "AdamW.lr", "SGD.lr"], "float | Tensor"
    ),
    **dict.fromkeys([f"Sequential.__{name}__.times" for name in ("mul", "rmul", "imul")], "int"),
    **dict.fromkeys(
        [f"ParameterList.{name}.index" for name in ("__getitem__", "__setitem__")], "int"
    ),
    **dict.fromkeys(
        [f"ParameterList.{name}.values" for name in ("__init__", "__iadd__", "extend")],
        "Iterable[Tensor]",
    ),
    **dict.fromkeys(
        [
            f"ParameterDict.{name}.key"
            for name in ("__getitem__", "__setitem__", "__delitem__", "get", "pop", "setdefault")
        ],
        "str",
    ),
    **dict.fromkeys(
        [f"ParameterDict.{name}.default" for name in ("get", "setdefault", "fromkeys")], "Tensor"
    ),
    **dict.fromkeys(
        [f"ParameterDict.{name}.other" for name in ("__or__", "__ror__", "__ior__")],
        "ParameterDict | Mapping[str, Tensor]",
    ),
    **dict.fromkeys(
        [f"ParameterDict.{name}.parameters" for name in ("__init__", "update")],
        "ParameterDict | Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]",
    ),
    "ParameterDict.fromkeys.keys": "Iterable[str]",
    **dict.fromkeys(
        [
            f"{name}.activation"
            for name in ("Transformer", "TransformerEncoderLayer", "TransformerDecoderLayer")
        ],
        "str | Callable[[Tensor], Tensor]",
    ),
    **dict.fromkeys([f"Transformer{name}.norm" for name in ("Encoder", "Decoder")], "Module"),
    **{f"max_unpool{n}d.indices": "Tensor" for n in (1, 2, 3)},
    "TransformerEncoder.is_causal": "bool | None",
    "MultiheadAttention.value": "Tensor",
    "multi_head_attention_forward.value": "Tensor",
    "multi_head_attention_forward.in_proj_weight": "Tensor | None",
    "multi_head_attention_forward.in_proj_bias": "Tensor | None",
    "multi_head_attention_forward.bias_k": "Tensor | None",
    "multi_head_attention_forward.bias_v": "Tensor | None",
    "multi_head_attention_forward.out_proj_bias": "Tensor | None",
    "DataParallel.device_ids": "Sequence[_Device]",
    "DataParallel.output_device": "_Device",
    "cov.fweights": "Tensor | None",
    "cov.aweights": "Tensor | None",
    "cov.correction": "int",
    "cross.other": "Tensor",
    "dist.other": "Tensor",
    "renorm.p": "float",
    "renorm.maxnorm": "float",
    "renorm_.p": "float",
    "renorm_.maxnorm": "float",
    "vander.N": "int | None",
    "Hardtanh.min_value": "float | None",
    "Hardtanh.max_value": "float | None",
    "apply_.callable": "Callable[[Any], Any]",
    "map_.other": "Tensor",
    "map_.callable": "Callable[[Any, Any], Any]",
    "map2_.y": "Tensor",
    "map2_.callable": "Callable[[Any, Any, Any], Any]",
    "gradient.spacing": "float | Sequence[Tensor | float] | None",
    "result_type.tensor": "Tensor | float",
    "nonzero_static.size": "int",
    "range.start": "float",
    "range.end": "float",
    "arange.*bounds": "float",
    "arange.start": "float",
    "arange.end": "float",
    "arange.step": "float",
    "linspace.start": "Tensor | float",
    "logspace.start": "Tensor | float",
    "slice_scatter.end": "int",
    "slice_scatter.step": "int",
    "randint.*bounds": "int | Sequence[int]",
    "randint_like.*bounds": "int",
    "randint_like.low": "int",
    "bernoulli.p": "Tensor | float",
    "bernoulli_.p": "Tensor | float",
    "block_diag.*tensors": "Tensor",
    "norm.p": "float | str",
    "normal.mean": "Tensor | float",
    "normal.std": "Tensor | float",
    "select_scatter.index": "int",
    "movedim.source": "int | Sequence[int]",
    "moveaxis.source": "int | Sequence[int]",
    "take_along_dim.indices": "Tensor",
    "unravel_index.indices": "Tensor",
    "split.split_size_or_sections": "int | Sequence[int]",
    **dict.fromkeys(
        [f"{name}.split_sizes" for name in ("split_with_sizes", "split_with_sizes_copy")]
        + ["unsafe_split_with_sizes.split_sizes", "Tensor.unsafe_split_with_sizes.split_sizes"],
        "Sequence[int]",
    ),
    **dict.fromkeys(
        [f"{name}.split_size" for name in ("split_copy", "unsafe_split", "Tensor.unsafe_split")],
        "int",
    ),
    **dict.fromkeys(["unfold_copy.dimension", "unfold_copy.size", "unfold_copy.step"], "int"),
    **dict.fromkeys([f"{name}.p" for name in ("mvlgamma", "mvlgamma_", "multigammaln")], "int"),
    "multigammaln.a": "Tensor",
    "histogramdd.bins": "int | Sequence[int] | Sequence[Tensor]",
    "histogramdd.range": "Sequence[float] | None",
    "general_cosine.a": "Sequence[float]",
    "exponential.center": "float",
    **dict.fromkeys(["normalize.ord", "norm.ord"], "float"),
    **dict.fromkeys(["var.unbiased", "std.unbiased"], "bool"),
    **dict.fromkeys(["logaddexp.input_mask", "logaddexp.other_mask"], "Tensor"),
    **dict.fromkeys(["SobolEngine.dimension", "draw_base2.m"], "int"),
    **dict.fromkeys(["make_tensor.low", "make_tensor.high"], "float"),
    "index_put.indices": "Sequence[Tensor | None]",
    "index_put_.indices": "Sequence[Tensor | None]",
    "pad.pad": "Sequence[int]",
    "pad.mode": "str",
    "forward.log_input": "Tensor",
    "lerp.weight": "Tensor | float",
    "lerp_.weight": "Tensor | float",
    "pow.input": "Tensor | float",
    "bucketize.input": "Tensor | float",
    "backward.gradient": "Tensor",
    "backward.tensors": "Tensor | Sequence[Tensor]",
    "ReduceLROnPlateau.mode": "str",
    "embedding_bag.mode": "str",
    "EmbeddingBag.mode": "str",
    "from_pretrained.mode": "str",
    "matmul.other": "Tensor",
    "inner.other": "Tensor",
    "vdot.other": "Tensor",
    "allclose.other": "Tensor",
    "__getitem__.index": "Any",
    "__setitem__.index": "Any",
    "__delitem__.index": "Any",
    "__getitem__.key": "int | slice",
    "__eq__.other": "object",
    "__array__.dtype": "Any",
    "scatter.src": "Tensor | float",
    "scatter_.src": "Tensor | float",
    "gradcheck.inputs": "Any",
    "gradgradcheck.inputs": "Any",
    "set_float32_matmul_precision.precision": "str",
    "set_deterministic_debug_mode.debug_mode": "int | str",
    "random_.*bounds": "int | None",
    "__matmul__.y": "Tensor",
    "__rmatmul__.y": "Tensor",
    "__eq__.y": "Any",
    "__ne__.y": "Any",
    "repeat_interleave.repeats": "Tensor | int",
    **{
        f"schedule.{name}": "int"
        for name in ("wait", "warmup", "active", "repeat", "skip_first", "skip_first_wait")
    },
    **dict.fromkeys(
        [
            *("key_averages.group_by_stack_n", "Timer.num_threads", "timeit.number"),
            *("Fuzzer.seed", "take.n", "trim_sigfig.n"),
        ],
        "int",
    ),
    **dict.fromkeys(
        [
            f"{name}.path"
            for name in ("export_chrome_trace", "export_stacks", "export_memory_timeline")
        ],
        "str | PathLike[str]",
    ),
    **dict.fromkeys(
        ["key_averages.group_by_input_shape", "key_averages.group_by_overload_name"], "bool"
    ),
    "profile.activities": "Iterable[ProfilerActivity | dict[ProfilerActivity, list[str]]]",
    "profile.schedule": "Callable[[int], ProfilerAction]",
    "profile.on_trace_ready": "Callable[[profile], Any]",
    **dict.fromkeys(
        [f"profile.{name}" for name in ("acc_events", "enabled", "record_shapes", "with_stack")],
        "bool",
    ),
    **dict.fromkeys(["record_function.name", "record_function.args"], "str"),
    "tensorboard_trace_handler.dir_name": "str | PathLike[str]",
    "tensorboard_trace_handler.worker_name": "str | None",
    **{f"Timer.{name}": "str | None" for name in ("label", "sub_label", "description", "env")},
    "Timer.globals": "dict[str, Any] | None",
    "Timer.timer": "Callable[[], float]",
    **dict.fromkeys(
        ["blocked_autorange.callback", "adaptive_autorange.callback"],
        "Callable[[int, float], Any] | None",
    ),
    **dict.fromkeys(["adaptive_autorange.max_run_time", "select_unit.t", "trim_sigfig.x"], "float"),
    **dict.fromkeys(["Compare.results", "extend_results.results"], "Sequence[Measurement]"),
    "merge.measurements": "Iterable[Measurement]",
    "set_torch_threads.n": "int",
    "unit_to_english.u": "str",
    "tensordot.dims": "int | Sequence[Sequence[int]]",
    "register_parameter.param": "Parameter | None",
    "register_buffer.tensor": "Tensor | None",
    "add_module.module": "Module | None",
    "kaiming_normal_.mode": "str",
    "kaiming_uniform_.mode": "str",
    "kaiming_normal_.a": "float",
    "kaiming_uniform_.a": "float",
    "uniform_.a": "float",
    "uniform_.b": "float",
    "trunc_normal_.a": "float",
    "trunc_normal_.b": "float",
    "RNNBase.mode": "str",
    "RNNCellBase.bias": "bool",
    "LambdaLR.lr_lambda": "Callable[[int], float] | Sequence[Callable[[int], float]]",
    "MultiStepLR.milestones": "Sequence[int]",
    "SequentialLR.milestones": "Sequence[int]",
    "SequentialLR.schedulers": "Sequence[LRScheduler]",
    **dict.fromkeys(
        [
            "OneCycleLR.max_lr",
            "OneCycleLR.base_momentum",
            "OneCycleLR.max_momentum",
            "CyclicLR.base_lr",
            "CyclicLR.max_lr",
            "CyclicLR.base_momentum",
            "CyclicLR.max_momentum",
            "SWALR.swa_lr",
        ],
        "float | Sequence[float]",
    ),
    **dict.fromkeys(
        ["OneCycleLR.total_steps", "OneCycleLR.epochs", "OneCycleLR.steps_per_epoch"], "int | None"
    ),
    **dict.fromkeys(["CyclicLR.step_size_up", "CosineAnnealingWarmRestarts.T_0"], "int"),
    **dict.fromkeys(["CosineAnnealingWarmRestarts.T_mult", "SWALR.anneal_epochs"], "int"),
    "CosineAnnealingWarmRestarts.epoch": "float | None",
    "CyclicLR.step_size_down": "int | None",
    "CyclicLR.mode": "str",
    "CyclicLR.scale_fn": "Callable[[float], float] | None",
    "scale_fn.x": "float",
    "MultiplicativeLR.lr_lambda": "Callable[[int], float] | Sequence[Callable[[int], float]]",
    "ChainedScheduler.schedulers": "Sequence[LRScheduler]",
    "ChainedScheduler.optimizer": "Optimizer | None",
    "AveragedModel.model": "Module",
    "update_parameters.model": "Module",
    "update_bn.model": "Module",
    "update_bn.loader": "Iterable[Any]",
    "AveragedModel.avg_fn": "Callable[[Tensor, Tensor, Tensor], Tensor]",
    "AveragedModel.multi_avg_fn": "Callable[[Sequence[Tensor], Sequence[Tensor], Tensor], None]",
    **dict.fromkeys([f"{name}.reduce" for name in LOSSES], "bool | None"),
    **dict.fromkeys(
        [f"{name}.{one}" for name in TRIPLETS for one in ("anchor", "positive", "negative")],
        "Tensor",
    ),
    **dict.fromkeys(
        [f"{name}.distance_function" for name in TRIPLETS],
        "Callable[[Tensor, Tensor], Tensor] | None",
    ),
    **dict.fromkeys(["GaussianNLLLoss.var", "gaussian_nll_loss.var"], "Tensor | float"),
    **dict.fromkeys(["CTCLoss.targets", "ctc_loss.targets"], "Tensor"),
    **dict.fromkeys(["LinearCrossEntropyLoss.options", "linear_cross_entropy.options"], "None"),
    "LinearCrossEntropyLoss.out_features": "Sequence[int]",
    **dict.fromkeys(
        [f"{name}.mode" for name in ("Upsample", "interpolate", "upsample", "grid_sample")], "str"
    ),
    **dict.fromkeys(
        [
            f"{name}.grid"
            for name in ("grid_sample", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
        ]
        + ["affine_grid.theta", "affine_grid_generator.theta", "embedding.indices"],
        "Tensor",
    ),
    **dict.fromkeys(
        ["affine_grid.size", "affine_grid_generator.size", "constant_pad_nd.pad"], "Sequence[int]"
    ),
    **dict.fromkeys(
        [
            f"{kind}_norm.{one}"
            for kind in ("batch", "instance")
            for one in ("weight", "bias", "running_mean", "running_var")
        ],
        "Tensor | None",
    ),
    **dict.fromkeys(
        [
            f"native_{kind}_norm.{one}"
            for kind in ("batch", "group", "layer")
            for one in ("weight", "bias", "running_mean", "running_var")
        ],
        "Tensor | None",
    ),
    **dict.fromkeys([f"native_group_norm.{one}" for one in ("N", "C", "HxW", "group")], "int"),
    "native_batch_norm.training": "bool",
    **dict.fromkeys(["segment_reduce.data", "_segment_reduce.data"], "Tensor"),
    **dict.fromkeys(
        [f"segment_reduce.{one}" for one in ("lengths", "indices", "offsets")], "Tensor | None"
    ),
    "segment_reduce.axis": "int",
    "spawn.nprocs": "int",
    "spawn.timeout": "float",
    **dict.fromkeys(["fftfreq.d", "rfftfreq.d"], "float"),
    **dict.fromkeys([f"{one}.norm" for one in FOURIER], "str"),
    **dict.fromkeys(
        [f"{one}.{name}" for one in FOURIER if one[-1] in "2n" for name in ("s", "dim")],
        "int | Sequence[int]",
    ),
    **dict.fromkeys(["fftshift.dim", "ifftshift.dim"], "int | Sequence[int]"),
    **dict.fromkeys(
        ["full.fill_value", "full_like.fill_value", "new_full.fill_value"], "float | complex"
    ),
    **dict.fromkeys(
        ["sparse_coo_tensor.indices", "sparse_coo_tensor.values"], "Tensor | Sequence[Any]"
    ),
    "segment_reduce.initial": "float | None",
    "empty_permuted.physical_layout": "Sequence[int]",
    "ReduceLROnPlateau.min_lr": "float | Sequence[float]",
    **dict.fromkeys(["cond.p", "matrix_norm.ord"], "float | str"),
    **dict.fromkeys([f"{one}.ind" for one in ("tensorinv",)], "int"),
    **dict.fromkeys(["qr.mode", "svd.driver", "svdvals.driver", "lstsq.driver"], "str"),
    **dict.fromkeys(["vecdot.y", "spdiags.diagonals"], "Tensor"),
    **dict.fromkeys(
        [
            f"{one}.{name}"
            for one in ("lstsq", "pinv", "matrix_rank")
            for name in ("rcond", "atol", "rtol", "tol")
        ],
        "Tensor | float",
    ),
}
# Functions whose `dim` may be several dimensions; that of the others is one.
SEVERAL_DIMS = """all any sum nansum mean nanmean amax amin std var std_mean var_mean logsumexp norm count_nonzero
    squeeze squeeze_ aminmax vector_norm matrix_norm"""
# Names of functions and properties under the type that they return, where it is not a tensor.
RESULTS = {
    "None": """backward set_default_dtype empty_cache reset_peak_memory_stats set_cache_limit retain_grad __setitem__
        __delitem__ __exit__ set_printoptions set_num_threads set_num_interop_threads set_default_device
        set_default_tensor_type set_deterministic_debug_mode set_float32_matmul_precision set_rng_state
        set_warn_always use_deterministic_algorithms register_parameter register_buffer add_module register_module
        reset_parameters reset_running_stats load_state_dict zero_grad add_param_group update_group clear
        check_forward_args check_hidden_size check_input flatten_parameters
        vector_to_parameters clip_grad_value_ set_state register_scale initialize_parameters set_submodule
        set_extra_state materialize update_bn update_parameters check_files download""",
    "bool": """allclose equal is_complex is_conj is_contiguous is_cuda is_cpu is_mps is_xpu is_distributed
        is_floating_point is_grad_enabled is_inference is_inference_mode_enabled is_neg is_nonzero is_pinned
        is_same_size is_set_to is_shared is_signed is_storage is_leaf is_meta is_sparse is_quantized requires_grad
        retains_grad __bool__ __contains__ can_cast is_foreign set_flush_denormal are_deterministic_algorithms_enabled
        is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled is_multithreading_enabled check_integrity
        in_cooldown has_uninitialized_params""",
    "int": """numel nelement dim ndimension element_size data_ptr storage_offset get_device __len__ __index__ __int__
        __hash__ itemsize nbytes ndim output_nr initial_seed get_num_threads get_num_interop_threads
        get_deterministic_debug_mode seed live_tensors get_image_num_channels""",
    "float": "__float__ calculate_gain scale_fn",
    "Tensor": " ".join([*FOURIER, "fftfreq rfftfreq fftshift ifftshift"]),
    "complex": "__complex__",
    "str": "__repr__ typename extra_repr get_float32_matmul_precision name __str__ raw_folder folder file",
    "Size": "shape broadcast_shapes",
    "dtype": "dtype get_default_dtype result_type promote_types to_real to_complex",
    "device": "device get_default_device",
    "layout": "layout",
    "tuple[Tensor, ...]": """chunk tensor_split hsplit vsplit dsplit broadcast_tensors meshgrid unravel_index gradient
        split_copy split_with_sizes_copy unbind_copy unsafe_chunk unsafe_split unsafe_split_with_sizes""",
    "tuple[Tensor, Tensor]": """std_mean var_mean frexp gru rnn_tanh rnn_relu lstm_cell
        max_pool1d_with_indices max_pool2d_with_indices
        max_pool3d_with_indices adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices
        adaptive_max_pool3d_with_indices fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices""",
    "tuple[Tensor, Tensor, Tensor]": """lstm native_batch_norm native_group_norm native_layer_norm
        _native_batch_norm_legit""",
    "tuple[int, int, int]": "get_expected_hidden_size get_expected_cell_size",
    "list[list[Parameter]]": "all_weights",
    "tuple[int, ...]": "dim_order",
    "tuple[int, int]": "__dlpack_device__",
    "Iterator[Tensor]": "__iter__",
    "Generator": "manual_seed clone_state",
    "UntypedStorage": "untyped_storage",
    "Any": """tolist numpy __array__ __array_namespace__ __array_ufunc__ __array_wrap__ __dlpack__ to_dlpack
        __torch_function__ __tensor_function__""",
    "RemovableHandle": """register_hook register_prehook register_post_accumulate_grad_hook register_backward_hook
        register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook
        register_load_state_dict_pre_hook register_state_dict_post_hook register_state_dict_pre_hook""",
    "Callable[[Tensor, Tensor, Any], Tensor]": "get_ema_avg_fn get_swa_avg_fn",
    "Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]": """get_ema_multi_avg_fn
        get_swa_multi_avg_fn""",
    "return_types.mode": "mode",
    "return_types.aminmax": "aminmax",
    "list[float]": "get_lr get_last_lr",
    "list[int]": "get_dimensions get_image_size",
    "dict[str, int]": "memory_stats class_to_idx",
    "dict[str, Any]": "state_dict get_printoptions metadata",
    "tuple[tuple[Any, int], ...]": "next_functions",
}
# The same for methods that differ from others of their name.
RESULTS_OF = {
    "kineto_available": "bool",
    "schedule": "Callable[[int], ProfilerAction]",
    "supported_activities": "set[ProfilerActivity]",
    "tensorboard_trace_handler": "Callable[[profile], None]",
    **dict.fromkeys(["profile.__enter__", "record_function.__enter__"], "Self"),
    **dict.fromkeys(["profile.table", "EventList.table", "unit_to_english"], "str"),
    **dict.fromkeys([f"profile.{name}" for name in ("start", "step", "stop")], "None"),
    **dict.fromkeys(
        [f"profile.export_{name}" for name in ("chrome_trace", "stacks", "memory_timeline")], "None"
    ),
    **dict.fromkeys(
        [f"Timer.{name}" for name in ("timeit", "blocked_autorange", "adaptive_autorange")],
        "Measurement",
    ),
    "merge": "list[Measurement]",
    "select_unit": "tuple[str, float]",
    "trim_sigfig": "float",
    **dict.fromkeys([f"Sequential.__{name}__" for name in ("mul", "rmul", "imul")], "Sequential"),
    **dict.fromkeys(
        [f"{name}.__reversed__" for name in ("Sequential", "ModuleList")], "Iterator[Module]"
    ),
    **dict.fromkeys([f"ParameterList.{name}" for name in ("__iadd__", "append", "extend")], "Self"),
    **dict.fromkeys([f"Embedding{bag}.from_pretrained" for bag in ("", "Bag")], "Self"),
    "ParameterList.__getitem__": "Tensor",
    "remove_weight_norm": "Module",
    "Tensor.share_memory_": "Tensor",
    **dict.fromkeys(
        ["clip_grad_norm", "get_total_norm", "parameters_to_vector", "get_rng_state"], "Tensor"
    ),
    **dict.fromkeys([f"fuse_{of}_bn_eval" for of in ("conv", "linear")], "Module"),
    **dict.fromkeys(
        [f"fuse_{of}_bn_weights" for of in ("conv", "linear")], "tuple[Parameter, Parameter]"
    ),
    **dict.fromkeys(["remove_spectral_norm", "convert_conv3d_weight_memory_format"], "Module"),
    "clip_grads_with_norm_": "None",
    "pad_sequence": "Tensor",
    "histogramdd": "return_types.histogramdd",
    "SobolEngine.draw_base2": "Tensor",
    **dict.fromkeys(["SobolEngine.reset", "SobolEngine.fast_forward"], "Self"),
    **dict.fromkeys(["pack_padded_sequence", "pack_sequence"], "PackedSequence"),
    "pad_packed_sequence": "tuple[Tensor, Tensor]",
    "unpad_sequence": "list[Tensor]",
    "unpack_sequence": "list[Tensor]",
    **dict.fromkeys(["assert_close", "RemovableHandle.remove"], "None"),
    **dict.fromkeys(
        ["RemovableHandle.__enter__", "saved_tensors_hooks.__enter__", "Backward.__enter__"], "Self"
    ),
    **dict.fromkeys(["checkpoint", "checkpoint_sequential"], "Any"),
    "get_autocast_dtype": "dtype",
    **dict.fromkeys(
        ["is_autocast_enabled", "is_anomaly_enabled", "is_anomaly_check_nan_enabled"], "bool"
    ),
    **dict.fromkeys(
        [f"Uninitialized{kind}.share_memory_" for kind in ("Parameter", "Buffer")], "Self"
    ),
    **dict.fromkeys(
        [f"ParameterDict.{name}" for name in ("__or__", "__ror__", "__ior__", "copy", "fromkeys")],
        "ParameterDict",
    ),
    **dict.fromkeys(
        [f"ParameterDict.{name}" for name in ("__getitem__", "pop", "setdefault")], "Tensor"
    ),
    "ParameterDict.get": "Tensor | None",
    "ParameterDict.keys": "Iterable[str]",
    "ParameterDict.values": "list[Tensor]",
    "ParameterDict.items": "list[tuple[str, Tensor]]",
    "ParameterDict.popitem": "tuple[str, Tensor]",
    "ParameterDict.update": "None",
    "ParameterDict.__reversed__": "Iterator[str]",
    "AdaptiveLogSoftmaxWithLoss.forward": "_ASMoutput",
    "AdaptiveLogSoftmaxWithLoss.log_prob": "Tensor",
    "AdaptiveLogSoftmaxWithLoss.predict": "Tensor",
    "MultiheadAttention.forward": "tuple[Tensor, Tensor | None]",
    "RNNBase.permute_hidden": "Tensor | tuple[Tensor, Tensor]",
    "LSTM.permute_hidden": "tuple[Tensor, Tensor]",
    "LSTMCell.forward": "tuple[Tensor, Tensor]",
    "multi_head_attention_forward": "tuple[Tensor, Tensor | None]",
    "generate_square_subsequent_mask": "Tensor",
    **dict.fromkeys(
        [f"check_sparse_tensor_invariants.{name}" for name in ("enable", "disable")], "None"
    ),
    "check_sparse_tensor_invariants.is_enabled": "bool",
    "as_sparse_gradcheck": "Callable[..., Any]",
    **dict.fromkeys(["TorchDispatchMode.__enter__", "FakeTensorMode.__enter__"], "Self"),
    "UntypedStorage.check_memory": "None",
    "UntypedStorage.check_writable": "None",
    "UntypedStorage.clone": "Self",
    "UntypedStorage.copy_": "Self",
    "UntypedStorage.resize_": "Self",
    "UntypedStorage.size": "int",
    "UntypedStorage.tolist": "list[int]",
    "Generator.get_state": "Tensor",
    **dict.fromkeys(["to_tensor", "pil_to_tensor"], "Tensor"),
    **dict.fromkeys([f"{name}.forward" for name in TRANSFORMS], "Any"),
    **dict.fromkeys(["ToTensor.__call__", "PILToTensor.__call__"], "Tensor"),
}


def by_name(table):
    """Turn {type: "name name"} around: {name: type}."""
    return {name: kind for kind, names in table.items() for name in names.split()}


ARGUMENT_TYPES = by_name(ARGUMENTS)
RESULT_TYPES = by_name(RESULTS)


# The words of schemas whose type is the whole truth. For a Tensor or a Scalar many functions take the other, too, so
# there the names come first.
WORDS = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
    "Device": "_Device",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
    "Generator": "Generator",
}


def op_of(where):
    """Return the signature of the op that a function or a method of a tensor has the name of, or None."""
    class_name, _, name = where.rpartition(".")
    op = REGISTRY.get(name) or REGISTRY.get(name.removesuffix("_"))
    return op.signature if op is not None and class_name in ("", "Tensor") else None


def schema_type(name, where):
    """Return the type that the schema of an op gives to an argument, or None."""
    signature = op_of(where)
    kinds = {one.name: one.type for one in signature.parameters} if signature else {}
    kind = kinds.get(name)
    if kind is None or kind.word not in WORDS:
        return "Sequence[Tensor]" if kind and str(kind) == "Tensor[]" else None
    word = WORDS[kind.word]
    return f"{word} | Sequence[{word}]" if kind.is_list else word


def argument_type(name, where, default=None, by_name=True):
    """Return the type that argument `name` accepts in `where`, such as "sum" or "Linear.__init__".

    Parameters
    ----------
    name : str; with a star in front for an argument that takes all the rest
    where : str
    default : the constant in the signature, or None if it has none
    by_name : bool, False for functions whose arguments don't have the usual meaning of their names
    """
    plain = name.lstrip("*")
    for place in (where, where.rpartition(".")[2], where.partition(".")[0]):
        if f"{place}.{name}" in ARGUMENTS_OF:
            return ARGUMENTS_OF[f"{place}.{name}"]
    if not by_name:
        return type_of_default(default)
    if (kind := schema_type(name, where)) is not None:
        return kind
    if plain in ("x", "y") and where.rpartition(".")[2].startswith("__"):
        return "Tensor | float"  # operators
    if plain == "dim":
        return "int | Sequence[int]" if where.rpartition(".")[2] in SEVERAL_DIMS.split() else "int"
    if plain == "tensors" and name.startswith("*"):
        return "Tensor | Sequence[Tensor]"
    if plain == "bias" and not isinstance(default, bool):
        return "Tensor"  # of a layer it says whether there is one, of a function it is the tensor
    return ARGUMENT_TYPES.get(plain) or type_of_default(default)


def type_of_default(default):
    """Return the type of an argument that only its default tells; an int may stand for any number."""
    if isinstance(default, bool):
        return "bool"
    if isinstance(default, (int, float)):
        return "float"
    return "str" if isinstance(default, str) else "Any"


def result_type(where, otherwise, by_name=True):
    """Return the type of what a function, a method or a property returns: "sum", "Tensor.sum", "Tensor.shape"."""
    name = where.rpartition(".")[2]
    by_name = by_name or name.startswith("__")  # __len__ means the same everywhere
    found = RESULTS_OF.get(where) or (RESULT_TYPES.get(name) if by_name else None)
    if found is None and (signature := op_of(where)) is not None:
        if len(signature.results) > 1 and name in return_types.__all__:
            return f"return_types.{name}"
        if signature.results[0][1].is_list and not name.endswith("_"):
            return "tuple[Tensor, ...]"
    return found or otherwise
