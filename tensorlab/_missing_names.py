"""Every public name of PyTorch 2.13 that is not here: when it comes, or what to use instead.

`_missing` reads this file when it needs it for an error, which most programs never do. In the
tables, names stand under the package that they belong to, which is "" for the top. An entry means
that name and everything that is in it; with a star, every name that begins so.
"""

import functools

ONE_DEVICE = "there is one device, the CPU; leave the call out"
NO_STREAMS = "the CPU runs one op after the other; leave streams and events out"
NO_CUDA_MEMORY = (
    "there is no memory but the CPU's; tensorlab.memory_stats() says how much of it tensors hold"
)
TORCHSCRIPT = (
    "it is a part of TorchScript's compiler; tensorlab.compile records what Python does instead"
)
INTERNAL = "it is an inner part of PyTorch that no program needs to call; leave it out"
VENDOR = "it calls the library of one vendor; call the function without the prefix"
NO_TYPED_STORAGE = "a storage holds bytes without a type; use x.untyped_storage()"
SPARSE = "use @ and the functions of tensorlab.sparse, or compute with to_dense()"
DATAPIPES = "datapipes are left out; write a Dataset or an IterableDataset"
FX_TOOLS = "the passes that are here are in tensorlab.fx.passes; write others with fx.Interpreter"
HOOKS_BELOW_AUTOGRAD = "no hook sees ops below autograd; checkpoint the parts to run again"
RANDOM_NUMBERS_REPEAT = "there is one device, and its random numbers always repeat"
PLAIN_SIZES = "sizes are plain ints here, also under compile; use Python's operators and math"
OPTIMIZERS = [
    "adadelta",
    "adagrad",
    "adam",
    "adamax",
    "adamw",
    "asgd",
    "nadam",
    "radam",
    "rmsprop",
    "rprop",
    "sgd",
]

# What is planned: (chapter, or "" if none is named; what to do until then; package; names).
PLANNED = [
    (
        "23-higher-order",
        "write a loop, or dimensions that broadcast",
        "func",
        "rearrange",
    ),
    (
        "38-dispatcher",
        "register nothing; the tables of ops are in tensorlab._core.dispatch",
        "",
        "DispatchKey DispatchKeySet ExcludeDispatchKeyGuard",
    ),
    (
        "40-custom-ops",
        "ops declare themselves; see tensorlab.library",
        "",
        "OperatorInfo Tag parse_schema",
    ),
    (
        "41-subclasses-and-modes",
        "define __torch_function__ in a class over Tensor",
        "overrides",
        "enable_reentrant_dispatch get_testing_overrides redispatch_function",
    ),
    (
        "42-allocators-and-devices",
        "leave it out; the CPU runs one op after the other",
        "",
        "cuda.Event cuda.Stream cuda.stream",
    ),
    (
        "43-profiling",
        "measure with time.perf_counter or cProfile",
        "",
        """autograd.profiler_legacy BenchmarkConfig BenchmarkExecutionStats ThroughputBenchmark
        utils.ThroughputBenchmark utils.throughput_benchmark utils.module_tracker profiler.itt
        profiler.python_tracer monitor""",
    ),
    (
        "45-quantization",
        "round by hand with torch.round and clamp",
        "",
        """nn.quantized nn.intrinsic nn.qat nn.quantizable quantization quantize_per_tensor*
        quantize_per_channel quint8 quint4x2 quint2x4 qint* qscheme q_per_channel_* q_scale
        q_zero_point int_repr dequantize empty_quantized choose_qparams_optimized
        fake_quantize_* fused_moving_avg_obs_fake_quant quantized_* backends.quantized""",
    ),
    (
        "45-quantization",
        "round by hand with torch.round and clamp",
        "ao.quantization",
        """AffineQuantizedObserverBase Granularity MappingType MatchAllNode ObserverOrFakeQuantize
        Pattern PerAxis PerBlock PerGroup PerRow PerTensor PerToken QConfigAny QConfigDynamic
        RecordingObserver ReuseInputObserver TorchAODType UniformQuantizationObserverBase
        ZeroPointDomain convert_dynamic_jit convert_jit default_* fuse_* fused_* get_*
        load_observer_state_dict no_observer_set
        per_channel_weight_observer_range_neg_127_to_127 prepare_dynamic_jit prepare_jit
        qconfig_equals quantize_dynamic_jit quantize_jit script_qconfig script_qconfig_dict
        weight_observer_range_neg_127_to_127 backend_config fake_quantize fuser_method_mappings
        fx qconfig_mapping quant_type quantization_mappings stubs utils""",
    ),
    (
        "45-quantization",
        "round by hand with torch.round and clamp",
        "Tensor",
        """dequantize int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
        q_scale q_zero_point qscheme""",
    ),
    (
        "47-capture-and-guards",
        "read tensorlab.compiler.explain",
        "",
        "_dynamo compiler.config",
    ),
    (
        "48-fusion-and-codegen",
        "read the C that compile writes: TENSORLAB_LOGS=code",
        "",
        "_inductor",
    ),
    (
        "50-script-and-trace",
        "use tensorlab.fx or tensorlab.compile",
        "jit",
        """annotations frontend generate_bytecode mobile quantized supported_ops
        unsupported_tensor_ops""",
    ),
    (
        "51-export-and-onnx",
        "save a state_dict, and the class beside it",
        "",
        """utils.tensorboard.SummaryWriter.add_onnx_graph onnx.operators onnx.symbolic_*
        onnx.testing onnx.verification""",
    ),
    (
        "51-export-and-onnx",
        "save a state_dict, and the class beside it",
        "export",
        """custom_obj custom_ops decomp_utils dynamic_shapes experimental exported_program
        graph_signature passes pt2_archive""",
    ),
    (
        "52-collectives",
        "train in one process, as under `if not torch.distributed.is_initialized()`",
        "",
        "Future FutureType fork wait",
    ),
    (
        "",
        "keep the mask in a tensor of its own, and give it to the functions of tensorlab.masked",
        "masked",
        "MaskedTensor as_masked_tensor is_masked_tensor maskedtensor masked_tensor",
    ),
    (
        "",
        SPARSE,
        "",
        "hsmm hspmm resize_as_sparse_ saddmm smm sspaddmm",
    ),
    (
        "",
        SPARSE,
        "sparse",
        """SparseSemiStructuredTensorCUSPARSELT SparseSemiStructuredTensorCUTLASS solve
        semi_structured""",
    ),
    (
        "",
        SPARSE,
        "Tensor",
        "resize_as_sparse_ smm sparse_resize_ sparse_resize_and_clear_ sspaddmm to_padded_tensor",
    ),
]

# What belongs to nothing that is planned: (what to do without; package; names).
LEFT_OUT = [
    (
        "groups of ranks are made by init_process_group and new_group, and need no options",
        "distributed",
        """AllToAllOptions AllreduceCoalescedOptions AllreduceOptions BackendConfig BarrierOptions
        BroadcastOptions BuiltinCommHookType GatherOptions GroupName Logger ProcessGroupGloo
        ReduceOptions ReduceScatterOptions Reducer ScatterOptions get_pg_count record_comm
        shrink_group register_rendezvous_handler remote_device supports_complex argparse_util
        autograd c10d_logger collective_utils config constants debug distributed_c10d
        launcher logging_handlers utils breakpoint""",
    ),
    (
        "the last calls are in group.WORLD.transport.recorder, and every error shows them",
        "distributed",
        "flight_recorder.*",
    ),
    (
        "give --max-restarts to tensorlab.distributed.run, which starts all ranks anew",
        "distributed",
        "elastic",
    ),
    (
        "ranks call collectives here, and no functions of each other; use send and recv",
        "distributed",
        "rpc nn.Function nn.RemoteModule nn.api nn.jit optim.DistributedOptimizer optim.as_functional_optim "
        "optim.optimizer optim.utils",
    ),
    (
        "use the hooks in default_hooks and powerSGD_hook",
        "distributed.algorithms.ddp_comm_hooks",
        "ddp_zero_hook mixed_precision_hooks quantization_hooks optimizer_overlap_hooks",
    ),
    (
        "use averagers.PeriodicModelAverager",
        "distributed.algorithms.model_averaging",
        "hierarchical_model_averager utils",
    ),
    (
        "save and load plan by themselves; give a folder, or FileSystemWriter and FileSystemReader",
        "distributed.checkpoint",
        """DefaultLoadPlanner DefaultSavePlanner HuggingFaceStorageReader HuggingFaceStorageWriter
        LoadPlan LoadPlanner QuantizedHuggingFaceStorageReader ReadItem SavePlan SavePlanner
        StorageReader StorageWriter WriteItem default_planner filesystem.FileSystem
        filesystem.FileSystemBase filesystem.SerializationFormat
        format_utils.BroadcastingTorchSaveReader format_utils.DynamicMetaLoadPlanner hf_storage
        metadata.MetadataIndex metadata.StorageMeta metadata.TensorProperties planner
        planner_helpers quantized_hf_storage staging state_dict_saver.AsyncCheckpointerType
        state_dict_saver.AsyncSaveResponse storage utils""",
    ),
    (
        "use save and load, with distributed.checkpoint.state_dict for optimizers",
        "distributed.checkpoint",
        """load_sharded_optimizer_state_dict load_state_dict save_state_dict optimizer
        state_dict_loader.load_state_dict state_dict_saver.save_state_dict stateful.StatefulT""",
    ),
    (
        "annotate with dict",
        "distributed.checkpoint.state_dict",
        "DictValueType FQNS_T ListDictValueType OptimizerStateType PrimitiveType ValueType",
    ),
    (
        "use Schedule1F1B, or ScheduleInterleaved1F1B, whose bubble is smaller",
        "distributed.pipelining",
        """ScheduleDualPipeV ScheduleInterleavedZeroBubble ScheduleZBVZeroBubble
        schedules.ScheduleDualPipeV schedules.ScheduleInterleavedZeroBubble
        schedules.ScheduleZBVZeroBubble stage.build_stage""",
    ),
    (
        "threads share the work of each op on the CPU; call the module",
        "nn.parallel",
        """data_parallel.data_parallel gather parallel_apply replicate scatter comm
        scatter_gather""",
    ),
    (
        "extensions are written in Cython; use tensorlab.utils.cython_extension",
        "utils.cpp_extension",
        "SyclExtension check_compiler_is_gcc check_compiler_ok_for_platform "
        "get_compiler_abi_compatibility_and_version get_cxx_compiler get_default_build_root "
        "include_paths is_ninja_available library_paths remove_extension_h_precompiler_headers "
        "verify_ninja_availability",
    ),
    (
        "an op's schema is ops.aten.add.Tensor._schema",
        "",
        "FunctionSchema",
    ),
    (
        "there are no Triton kernels; use custom_op, or write the op in Cython",
        "library",
        "triton_op wrap_triton",
    ),
    (
        "a call has no dispatch keys that it could fall through; leave the kernel out",
        "library",
        "fallthrough_kernel",
    ),
    (
        "it is for traces of other tools and devices; record with tensorlab.profiler.profile",
        "autograd.profiler",
        "EnforceUnique KinetoStepTracker MemRecordsAcc load_nvprof parse_nvprof_trace",
    ),
    (
        "no device has kernels of its own here; see FunctionEvent",
        "autograd.profiler_util",
        "EventMetadata Kernel MemRecordsAcc StringTable",
    ),
    (
        "instructions aren't counted; run the program under `perf stat` or Valgrind",
        "utils.benchmark",
        "CallgrindStats CopyIfCallgrind FunctionCount FunctionCounts",
    ),
    (
        "the names of its modules are in tensorlab.utils.benchmark itself",
        "utils.benchmark",
        "utils",
    ),
    (
        "make a Fuzzer with the parameters and tensors that your op takes",
        "utils.benchmark",
        "examples op_fuzzers",
    ),
    (
        "its functions are in tensorlab.accelerator",
        "accelerator",
        "memory",
    ),
    (
        "that is PyTorch's compiled half; here every name is a public one",
        "",
        "_C",
    ),
    (
        "no type has fewer than 8 bits; the smallest floating types are float8_e4m3fn and its siblings",
        "",
        "float4*",
    ),
    (
        "no type has fewer than 8 bits; use uint8 and shift",
        "",
        """bit bits* int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7""",
    ),
    (
        NO_TYPED_STORAGE,
        "",
        """BoolStorage ByteStorage CharStorage DoubleStorage FloatStorage IntStorage LongStorage
        ShortStorage TypedStorage HalfStorage BFloat16Storage ComplexDoubleStorage
        ComplexFloatStorage QInt8Storage QInt32Storage QUInt8Storage storage""",
    ),
    (
        NO_TYPED_STORAGE,
        "cuda",
        """BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage
        ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage LongStorage
        ShortStorage""",
    ),
    (
        NO_TYPED_STORAGE,
        "Tensor",
        "storage storage_type",
    ),
    (
        TORCHSCRIPT,
        "",
        """AggregationType AliasDb AnyType Argument ArgumentSpec AwaitType Block BoolType CallStack
        Capsule ClassType Code CompilationUnit CompleteArgumentSpec ComplexType
        ConcreteModuleType ConcreteModuleTypeBuilder DeepCopyMemoTable
        DeserializationStorageContext DeviceObjType DictType EnumType ErrorReport ExecutionPlan
        FatalError FileCheck FloatType Gradient Graph GraphExecutorState IODescriptor
        InferredType IntType InterfaceType JITException ListType LiteScriptModule LockingLogger
        Node NoneType NoopLogger NumberType OptionalType PyObjectType PyTorchFileReader
        PyTorchFileWriter RRefType ScriptClass ScriptClassFunction ScriptDict ScriptDictIterator
        ScriptDictKeyIterator ScriptFunction ScriptList ScriptListIterator ScriptMethod
        ScriptModule ScriptModuleSerializer ScriptObject ScriptObjectProperty
        SerializationStorageContext StaticModule StreamObjType StringType SymBoolType SymIntType
        TensorType TracingState TupleType Type UnionType Use Value AVG SUM import_ir_module
        import_ir_module_from_buffer merge_type_from_type_comment parse_ir parse_type_comment
        unify_type_list testing.FileCheck package utils.jit utils.bundled_inputs
        utils.mobile_optimizer utils.model_dump utils.show_pickle nativert
        utils.tensorboard.RecordWriter utils.tensorboard.summary""",
    ),
    (
        PLAIN_SIZES,
        "",
        "SymBool SymFloat SymInt sym_*",
    ),
    (
        INTERNAL,
        "",
        """AcceleratorError OutOfMemoryError init_num_threads set_anomaly_enabled
        thread_safe_generator random.thread_safe_generator hash_tensor
        slice_inverse norm_except_dim native_norm embedding_renorm_ batch_norm_backward_*
        batch_norm_elemt batch_norm_gather_* batch_norm_stats batch_norm_update_stats contrib
        numa signal.windows.windows torch_version types utils.backcompat
        utils.collect_env utils.cpp_backtrace utils.get_cpp_backtrace utils.debug_log
        utils.deterministic utils.file_baton utils.hipify utils.mkldnn utils.serialization
        utils.set_module utils.viz utils.weak has_lapack has_mkl
        has_openmp has_spectral is_vulkan_available from_file
        autograd.NestedIOFunction autograd.enforce_grad_layout_policy
        autograd.variable.VariableMeta""",
    ),
    (
        "modules are swapped by assigning to their attributes",
        "",
        "utils.swap_tensors optim.swap_in_optimizer_params_and_state",
    ),
    (
        "download the file, and give its path to tensorlab.load",
        "",
        """utils.model_zoo hub.download_url_to_file hub.load_state_dict_from_url hub.get_dir
        hub.set_dir""",
    ),
    (
        "there is no version for it; leave the question out",
        "version",
        "rocm",
    ),
    (
        "the classes of containers are in tensorlab.nn",
        "",
        "BufferDict ModuleDict ParameterDict",
    ),
    (
        "the class is tensorlab.amp.GradScaler",
        "",
        "GradScaler",
    ),
    (
        "an inner function of layers; call the one of nn.functional",
        "",
        "native_*",
    ),
    (
        "call the function without _copy in its name, and then clone()",
        "",
        """ccol_indices_copy col_indices_copy crow_indices_copy indices_copy row_indices_copy
        values_copy""",
    ),
    (
        "call conv1d, conv2d or conv3d",
        "",
        "convolution",
    ),
    (
        "call nn.functional.embedding_bag",
        "",
        "embedding_bag",
    ),
    (
        "write a Python `if`; compile guards on what it read",
        "",
        "cond",
    ),
    (
        VENDOR,
        "",
        "cudnn_* miopen_* mkldnn_* fbgemm_*",
    ),
    (
        "the launcher is a command; call tensorlab.distributed.run.main with its arguments",
        "",
        """distributed.run.DefaultLogsSpecs distributed.run.LaunchConfig distributed.run.LogsSpecs
        distributed.run.Std distributed.run.check_env distributed.run.config_from_args
        distributed.run.determine_local_world_size distributed.run.elastic_launch
        distributed.run.env distributed.run.get_args_parser distributed.run.get_logger
        distributed.run.get_rdzv_endpoint distributed.run.get_use_env distributed.run.macros
        distributed.run.parse_args distributed.run.parse_min_max_nnodes distributed.run.record
        distributed.run.run_script_path distributed.launch.get_args_parser
        distributed.launch.launch distributed.launch.parse_args distributed.launch.run""",
    ),
    (
        "it's a part of GradScaler's state in PyTorch; here there is nothing like it to be named",
        "distributed.fsdp.sharded_grad_scaler",
        "OptState",
    ),
    (
        "fully_shard and FullyShardedDataParallel work with tensor parallel as they are",
        "distributed.tensor.parallel",
        "fsdp",
    ),
    (
        "give the module the style SequenceParallel, whose inputs are parts already",
        "distributed.tensor.parallel",
        "input_reshard",
    ),
    (
        "call scaled_dot_product_attention on DTensors that are cut by batches or heads",
        "distributed.tensor.experimental",
        "context_parallel",
    ),
    (
        "compute with parts in a function, and make it one of DTensors by local_map",
        "distributed.tensor.experimental",
        "register_sharding",
    ),
    (
        "call init_process_group, which meets the other ranks",
        "",
        """distributed.rendezvous.register_rendezvous_handler
        distributed.rendezvous.rendezvous""",
    ),
    (
        "there is one process; ask tensorlab.distributed.is_initialized()",
        "",
        "is_distributed",
    ),
    (
        ONE_DEVICE,
        "",
        """get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_ipu_enabled
        is_autocast_xla_enabled set_autocast_ipu_dtype set_autocast_ipu_enabled
        set_autocast_xla_dtype set_autocast_xla_enabled""",
    ),
    (
        "its names are in tensorlab.amp",
        "",
        """amp.autocast_mode.autocast_decorator amp.autocast_mode.custom_bwd
        amp.autocast_mode.custom_fwd amp.grad_scaler.OptState cpu.amp.autocast_mode
        cpu.amp.grad_scaler cuda.amp.autocast_mode cuda.amp.grad_scaler cuda.amp.common
        cuda.amp.amp_definitely_not_available""",
    ),
    (
        ONE_DEVICE,
        "Tensor",
        "ipu is_ipu is_maia is_vulkan mtia to_mkldnn",
    ),
    (
        "index with brackets: x[i]",
        "Tensor",
        "index",
    ),
    (
        "call reshape, or resize_ to change the tensor itself",
        "Tensor",
        "resize resize_as",
    ),
    (
        "use requires_grad, and no_grad around what needs no graph",
        "Tensor",
        "volatile",
    ),
    (
        "use the log of a probability: (-log_prob * reward).backward()",
        "Tensor",
        "reinforce",
    ),
    (
        "call data_ptr",
        "Tensor",
        "const_data_ptr",
    ),
    (
        "a gradient has the type of its tensor",
        "Tensor",
        "grad_dtype",
    ),
    (
        INTERNAL,
        "Tensor",
        "hash_tensor module_load slice_inverse",
    ),
    (
        ONE_DEVICE,
        "nn.Module",
        "ipu mtia xpu",
    ),
    (
        ONE_DEVICE,
        "",
        """mtia backends.cudnn.rnn backends.cusparselt backends.kleidiai backends.miopen
        backends.nnpack backends.opt_einsum backends.python_native backends.xeon
        backends.xnnpack backends.mkl.verbose nn.attention.experimental nn.attention.varlen""",
    ),
    (
        ONE_DEVICE,
        "backends.cuda",
        """SDPAParams allow_fp16_bf16_reduction_math_sdp blas_workspace_size can_use_* cuBLASModule
        cuFFT* cublas_workspace_size cublaslt_workspace_size cufft_plan_cache
        fp16_bf16_reduction_math_sdp_allowed is_ck_sdpa_available preferred_*""",
    ),
    (
        ONE_DEVICE,
        "backends.mps",
        "get_core_count get_name is_macos13_or_newer is_macos_or_newer",
    ),
    (
        NO_STREAMS,
        "accelerator",
        "Graph graphs",
    ),
    (
        ONE_DEVICE,
        "accelerator",
        "get_device_capability",
    ),
    (
        NO_CUDA_MEMORY,
        "accelerator",
        "empty_host_cache get_memory_info",
    ),
    (
        NO_STREAMS,
        "cpu",
        "Event",
    ),
    (
        ONE_DEVICE,
        "cpu",
        "is_initialized set_device",
    ),
    (
        NO_STREAMS,
        "cuda",
        """CUDAGraph ExternalStream StreamContext current_stream default_stream
        get_stream_from_external graph graph_pool_handle graphs is_current_stream_capturing
        make_graphed_callables set_stream streams""",
    ),
    (
        NO_CUDA_MEMORY,
        "cuda",
        """CUDAPluggableAllocator MemPool caching_allocator_* change_current_allocator
        device_memory_used get_allocator_backend get_per_process_memory_fraction host_memory_*
        max_memory_cached memory* reset_* set_per_process_memory_fraction use_mem_pool""",
    ),
    (
        ONE_DEVICE,
        "cuda",
        """CudaError DeferredCudaCallError GreenContext can_device_access_peer check_error
        clock_rate comm cudaStatus cudart current_blas_handle current_solver_handle
        default_generators device device_of gds get_gencode_flags get_sync_debug_mode
        green_contexts has_half has_magma initial_seed jiterator list_gpu_processes nccl nvtx
        power_draw profiler random set_rng_state set_sync_debug_mode sparse temperature tunable
        utilization""",
    ),
    (
        NO_STREAMS,
        "mps",
        "Event event",
    ),
    (
        ONE_DEVICE,
        "mps",
        """compile_shader current_allocated_memory driver_allocated_memory get_rng_state
        load_metallib profiler recommended_max_memory set_per_process_memory_fraction
        set_rng_state""",
    ),
    (
        NO_STREAMS,
        "xpu",
        """Event Stream StreamContext XPUGraph current_stream default_stream
        get_stream_from_external graph graph_pool_handle graphs is_current_stream_capturing
        make_graphed_callables set_stream stream streams""",
    ),
    (
        NO_CUDA_MEMORY,
        "xpu",
        """MemPool XPUPluggableAllocator change_current_allocator device_memory_used
        get_per_process_memory_fraction max_memory_* mem_get_info memory* reset_*
        set_per_process_memory_fraction use_mem_pool""",
    ),
    (
        ONE_DEVICE,
        "xpu",
        """can_device_access_peer clock_rate current_device default_generators device device_of
        get_arch_list get_device_* get_gencode_flags get_rng_state get_rng_state_all init
        initial_seed is_bf16_supported is_initialized is_tf32_supported power_draw random seed
        seed_all set_device set_rng_state set_rng_state_all temperature utilization""",
    ),
    (
        "the class is autograd.Function; a metaclass makes no difference here",
        "autograd.function",
        "FunctionMeta NestedIOFunction",
    ),
    (
        INTERNAL,
        "autograd.grad_mode",
        "enforce_grad_layout_policy",
    ),
    (
        "call autograd.functional.jacobian",
        "autograd.gradcheck",
        """get_analytical_jacobian get_numerical_jacobian get_numerical_jacobian_wrt_specific_input""",
    ),
    (
        NO_STREAMS,
        "autograd.graph",
        """set_override_stale_capture_stream set_warn_on_accumulate_grad_stream_mismatch""",
    ),
    (
        "checkpoint the parts to run again",
        "autograd.graph",
        "region_activation_memory_budget",
    ),
    (
        "attention is computed in one way on the CPU; see nn.attention.sdpa_kernel",
        "nn.attention",
        """activate_flash_attention_impl current_flash_attention_impl list_flash_attention_impls
        register_flash_attention_impl restore_flash_attention_impl""",
    ),
    (
        "give a mask to nn.functional.scaled_dot_product_attention",
        "",
        "nn.attention.flex_attention",
    ),
    (
        "options of linear_cross_entropy are keywords of the loss",
        "",
        """nn.LinearCrossEntropyOptions nn.modules.LinearCrossEntropyOptions
        nn.modules.linear_cross_entropy*""",
    ),
    (
        "give device= and dtype= to the layer",
        "nn",
        "factory_kwargs",
    ),
    (
        INTERNAL,
        "",
        "nn.backends nn.common_types nn.cpp",
    ),
    (
        "call matmul for each group",
        "nn.functional",
        "grouped_mm scaled_grouped_mm",
    ),
    (
        "there are no types of 8 bits; call matmul on float16 or bfloat16",
        "nn.functional",
        "ScalingType SwizzleType scaled_mm",
    ),
    (
        "it is in tensorlab.overrides",
        "nn.functional",
        "handle_torch_function has_torch_function*",
    ),
    (
        INTERNAL,
        "nn.functional",
        "BroadcastingList* assert_int_or_pair boolean_dispatch",
    ),
    (
        "call tensorlab.channel_shuffle",
        "nn.functional",
        "native_channel_shuffle",
    ),
    (
        "the class is tensorlab.Tensor",
        "",
        "nn.functional.Tensor fft.Tensor",
    ),
    (
        "use nn.UninitializedParameter or UninitializedBuffer",
        "nn.parameter",
        "UninitializedTensorMixin",
    ),
    (
        "the function of nn.utils is what programs call",
        "nn.utils.spectral_norm",
        "SpectralNorm*",
    ),
    (
        "compile runs without it; leave it out",
        "compiler",
        """cudagraph_mark_step_begin get_default_backend keep_portable_guards_unsafe
        keep_tensor_guards_unsafe load_cache_artifacts load_compiled_function
        nested_compile_region save_cache_artifacts set_default_backend
        set_enable_guard_collectives skip_* substitute_in_graph wrap_numpy""",
    ),
    (
        FX_TOOLS,
        "fx",
        "annotate config operator_schemas tensor_type traceback",
    ),
    (
        FX_TOOLS,
        "fx.experimental",
        """accelerator_partitioner const_fold debug dynamic_spec graph_gradual_typechecker
        merge_matmul meta_tracer migrate_gradual_types normalize partitioner_utils proxy_tensor
        recording refinement_types rewriter schema_type_annotation sym_node symbolic_shapes
        unification unify_refinements validator""",
    ),
    (
        FX_TOOLS,
        "fx.experimental.optimization",
        """MklSubgraph UnionFind extract_subgraph gen_mkl_autotuner matches_module_pattern
        modules_to_mkldnn optimize_for_inference replace_node_module reset_modules
        use_mkl_length""",
    ),
    (
        FX_TOOLS,
        "fx.graph_module",
        "reduce_graph_module reduce_package_graph_module",
    ),
    (
        FX_TOOLS,
        "fx.proxy",
        "MetaProxy",
    ),
    (
        FX_TOOLS,
        "fx.passes",
        """annotate_getitem_nodes backends dialect fake_tensor_prop graph_manipulation
        graph_transform_observer net_min_base operator_support param_fetch pass_manager
        regional_inductor regional_inductor_invoke_subgraph reinplace runtime_assert split_utils
        splitter_base tests tools_common utils infra.partitioner
        infra.pass_manager.pass_result_wrapper
        infra.pass_manager.this_before_that_pass_constraint split_module.split_module_simple""",
    ),
    (
        "tensorlab.load and save do it for every file; leave it out",
        "serialization",
        """LoadEndianness SourceChangeWarning StorageType check_module_version_greater_or_equal
        default_restore_location get_* location_tag mkdtemp normalize_storage_type
        register_package set_* skip_data storage_to_tensor_type validate_cuda_device
        validate_hpu_device""",
    ),
    (
        DATAPIPES,
        "utils.data",
        """DFIterDataPipe DataChunk IterDataPipe MapDataPipe argument_validation
        backward_compatibility datapipes functional_datapipe graph graph_settings
        guaranteed_datapipes_determinism non_deterministic runtime_validation
        runtime_validation_disabled""",
    ),
    (
        "import it from tensorlab.utils.data",
        "utils.data.dataloader",
        "get_worker_info",
    ),
    (
        "call register_full_backward_hook",
        "utils.hooks",
        "BackwardHook warn_if_has_hooks",
    ),
    (
        "a queue sends tensors by itself; leave it out",
        "multiprocessing",
        "pool queue reductions.*",
    ),
    (
        "take the fields by their place in the tuple",
        "return_types",
        """all_return_types aminmax_out cummax_out cummin_out frexp* geqrf* histogram_out
        kthvalue_out linalg_* lu_unpack* max_out median_out min_out mode_out
        nanmedian_out pytree_register_structseq qr* slogdet* sort_out svd* topk_out
        triangular_solve*""",
    ),
    (
        HOOKS_BELOW_AUTOGRAD,
        "utils.checkpoint",
        """CheckpointPolicy SAC_IGNORED_OPS SelectiveCheckpointContext create_selective*""",
    ),
    (
        RANDOM_NUMBERS_REPEAT,
        "utils.checkpoint",
        "DefaultDeviceType get_device_states set_device_states",
    ),
    *(
        ("it is what the class does inside; use the class", f"optim.{name}", name)
        for name in OPTIMIZERS
    ),
]


@functools.cache
def by_dotted_name():
    """Return {dotted name: what an error says of it}."""
    found = {}
    for chapter, until, package, names in PLANNED:
        number, _, title = chapter.partition("-")
        when = f"planned with chapter {number}, {title}" if chapter else "still to come"
        for name in names.split():
            found[f"{package}.{name}".lstrip(".")] = f" yet; it is {when}. Until then, {until}"
    for reason, package, names in LEFT_OUT:
        for name in names.split():
            found[f"{package}.{name}".lstrip(".")] = f": {reason}"
    return found
