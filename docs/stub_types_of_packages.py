"""The types of the stubs of packages in which names of arguments mean something of their own.

In `distributed` a tensor is what a collective sends and `group` who takes part, whichever function it is; so here a
name, or "function.name" where one differs, has one type for each function of the package. stub_types.py has the others.
"""

from tensorlab import return_types


def by_name(table):
    """Turn {type: "name name"} around: {name: type}."""
    return {name: kind for kind, names in table.items() for name in names.split()}


# {package: {name of an argument, or "function.argument": its type}}; `| None` is added where the default is None.
ARGUMENTS_IN = {
    "tensorlab.distributed": by_name(
        {
            "Tensor": "tensor output_tensor input_tensor output input local_tensor buffer",
            "list[Tensor]": """tensor_list gather_list scatter_list input_list output_tensor_list
                input_tensor_list tensors""",
            "list[list[Tensor]]": "output_tensor_lists",
            "Sequence[int]": "output_split_sizes input_split_sizes ranks",
            "ProcessGroup": "group process_group parent_pg",
            "list[Any]": """object_list object_gather_list scatter_object_output_list
                scatter_object_input_list""",
            "int": """src dst group_src group_dst peer group_peer group_rank global_rank rank world_size tag
                src_data_rank group_size fallback_rank port n_microbatches stage_index num_stages
                sequence_dim period warmup_steps thread_count noise_level amount""",
            "Sequence[Sequence[int]]": "ranks_per_subgroup_list split_ranks",
            "list[P2POp]": "p2p_op_list",
            "Store": "store",
            "str": """backend init_method group_name group_desc device_type host_name prefix key reduce_op
                header method_name""",
            "str | PathLike[str]": """checkpoint_id path file_name dcp_checkpoint_dir
                torch_save_path""",
            "timedelta": "timeout",
            "_Device": "device device_id",
            "DeviceMesh": "mesh device_mesh",
            "tuple[int, ...]": "mesh_shape",
            "str | tuple[str, ...]": "mesh_dim_names",
            "int | str": "mesh_dim",
            "Sequence[Placement]": "placements",
            "Module": "module model submodule stage_module",
            "dict[str, Any]": "state_dict model_state_dict optim_state_dict mb_kwargs split_spec",
            "Optimizer": "optim",
            "Optimizer | Iterable[Optimizer]": "optimizers",
            "StateDictOptions": "options",
            "MixedPrecisionPolicy": "mp_policy",
            "OffloadPolicy": "offload_policy",
            "_dtype": "dtype",
            "_layout": "layout",
            "tuple[Any, ...]": "mb_args args",
            "GradBucket": "bucket",
        }
    )
    | {
        "DeviceMesh.__init__.mesh": "Any",  # a tensor, or nested lists of ranks
        "from_group.group": "ProcessGroup | Sequence[ProcessGroup]",
        "from_group.mesh": "Any",
        "Shard.__init__.dim": "int",
        "Placement.is_shard.dim": "int",
        # gradients, which are None to a checker
        "all_reduce.tensor": "Any",
        "broadcast.tensor": "Any",
        "reduce.tensor": "Any",
        "GradBucket.__init__.bucket": "Any",
        "fully_shard.module": "Module | Sequence[Module]",
        "full.size": "int | Sequence[int]",
        "full.fill_value": "float",
        "TCPStore.__init__.timeout": "timedelta | float",
        "spawn.timeout": "float",
        "spawn.nprocs": "int",
        "Schedule1F1B.__init__.stage": "PipelineStage",
        "ScheduleGPipe.__init__.stage": "PipelineStage",
    },
}
# {package: {function, or "class.method": the type of what it returns}}. A collective returns a Work with `async_op`,
# else None, and a stub that said so would ask each program for the case that it hasn't; so it says nothing.
RESULTS_IN = {
    "tensorlab.distributed": by_name(
        {
            "None": """init_process_group destroy_process_group all_gather_object broadcast_object_list
                gather_object scatter_object_list send send_object_list monitored_barrier set_debug_level
                set_debug_level_from_env dcp_to_torch_save torch_save_to_dcp set_optimizer_state_dict
                register_fsdp_forward_method share_comm_ctx register_ddp_comm_hook visualize_sharding
                Store.set Store.wait Store.set_timeout Store.multi_set GradBucket.set_buffer
                FSDPModule.reshard FSDPModule.set_requires_gradient_sync
                FSDPModule.set_requires_all_reduce""",
            "int": """recv recv_object_list get_rank get_world_size get_global_rank get_group_rank
                get_node_local_rank ProcessGroup.rank ProcessGroup.size Store.add Store.num_keys
                Store.queue_len Store.append GradBucket.index DeviceMesh.get_local_rank DeviceMesh.get_rank
                DeviceMesh.size CommDebugMode.get_total_counts TCPStore.port""",
            "str": """get_backend get_backend_config get_default_backend_for_device ProcessGroup.name
                TCPStore.host FileStore.path CommDebugMode.generate_comm_debug_tracing_table""",
            "bytes": "Store.get Store.compare_set Store.queue_pop",
            "list[bytes]": "Store.multi_get",
            "list[str]": "Store.list_keys",
            "bool": """is_initialized Work.is_completed Work.is_success Work.wait Store.check
                Store.delete_key Store.has_extended_api GradBucket.is_last Placement.is_shard
                Placement.is_replicate Placement.is_partial""",
            "DebugLevel": "get_debug_level",
            "list[int]": "get_process_group_ranks",
            "list[int] | None": "DeviceMesh.get_coordinate",
            "Work": "isend irecv",
            "list[Work]": "batch_isend_irecv",
            "list[ProcessGroup]": "DeviceMesh.get_all_groups",
            "ProcessGroup": "DeviceMesh.get_group",
            "tuple[ProcessGroup, list[ProcessGroup]]": "new_subgroups new_subgroups_by_enumeration",
            "DeviceMesh": """init_device_mesh DeviceMesh.__getitem__ from_group
                DTensor.device_mesh""",
            "tuple[Placement, ...]": "DTensor.placements",
            "Tensor": """GradBucket.buffer DTensor.to_local DTensor.full_tensor""",
            "list[Tensor]": "GradBucket.gradients GradBucket.parameters",
            "DTensor": """from_local DTensor.redistribute distribute_tensor zeros ones empty
                full rand randn""",
            "Module": "distribute_module",
            "Any": "fully_shard",  # the module with the methods of FSDPModule
            "dict[str, Any]": "get_model_state_dict get_optimizer_state_dict",
            "tuple[dict[str, Any], dict[str, Any]]": "get_state_dict",
            "dict[Any, int]": "CommDebugMode.get_comm_counts",
            "Self": "CommDebugMode.__enter__ DeviceMesh.__enter__",
        }
    ),
    "tensorlab.distributed.nn": by_name(
        {
            "Tensor": "all_reduce all_to_all_single broadcast reduce reduce_scatter scatter",
            "tuple[Tensor, ...]": "all_gather all_to_all gather",
        }
    ),
    "tensorlab.linalg": {
        name: f"return_types.{name_of_type}"
        for name_of_type in return_types.__all__
        if (name := name_of_type.removeprefix("linalg_")) != name_of_type
    },
}


def of_package(table, function, where):
    """Return what the table of the package around a function says of `where`, or None.

    Parameters
    ----------
    table : ARGUMENTS_IN or RESULTS_IN
    function : what has a `__module__`
    where : str, "function", "class.method", or either with ".argument"; for an argument its name alone does, too
    """
    home = getattr(function, "__module__", None) or ""
    names = [where, where.rpartition(".")[2]] if table is ARGUMENTS_IN else [where]
    while home:
        for name in names:
            if (kind := table.get(home, {}).get(name)) is not None:
                return kind
        home = home.rpartition(".")[0]
    return None
