"""What functions, methods and properties return where it is no Tensor.

Keys are as in `vocabulary.py`: `Class.method` or `function`, with the module in front where the
name is not enough.
"""

METHODS_HIDDEN = frozenset(
    """
    UninitializedTensorMixin.shape
    Array.T Array.mT Array.size Optimizer.kind hypers numbers states elements start before after
    counts first_differs scalars prepare shown unpassed keyword_only dims ndims function
    cls_to_become
    call_super_init dump_patches permutations batch check_worker_number_rationality saved_inputs
    saved_outputs release save save_inputs save_outputs attrs edges inputs outlines nout op outputs
    post_hooks pre_hooks released seq trace_ versions Node.trace Node.__init__ Traced.fn
    Traced.strict Traced.verify hooks take_ Generator.take Generator.go_back shared layout.__init__
    memory_format.__init__ qscheme.__init__
    dtype.__init__ dtype.has_gradients dtype.code dtype.short dtype.letter dtype.category dtype.np
    GradientEdge.node GradientEdge.edge GradientEdge.ownership_token Variable.__init__
        Function.__init__ linalg.trace_
    PackedSequence.__init__ share_memory_
    has_uninitialized_params becoming is_better scale_lr Traced.__init__ Traced.dynamic
    Traced.rewrites set_extra_state_""".split()
)

_STATE = "dict[str, Any]"
_MANY = "tuple[Tensor, ...]"
_TENSOR = "Tensor"


def _each(result, names):
    return dict.fromkeys(names.split(), result)


RESULTS = {
    "enter_dual_level": "Any",
    "exit_dual_level": "None",
    "make_dual": "Tensor",
    "unpack_dual": "UnpackedDualTensor",
    "Function.jvp": "Any",
    "Function.vjp": "Any",
    "summary": "Any",
    "ConstraintRegistry.register": "Any",
    "lobpcg": "tuple[Tensor, Tensor]",
    "Future.wait": "Any",
    "Future.value": "Any",
    "Future.then": "Future",
    "collect_all": "Future",
    "wait_all": "list[Any]",
    "untyped": "UntypedStorage",
    "bytes": "Any",
    # whole numbers, truth values, text, nothing
    **_each(
        "bool",
        """done is_dynamo_compiling is_exporting is_in_onnx_export
        is_deterministic_algorithms_warn_only_enabled allclose equal is_complex is_conj
        is_floating_point is_grad_enabled is_anomaly_enabled is_anomaly_check_nan_enabled
        is_inference is_inference_mode_enabled is_neg is_nonzero
        is_set_to is_coalesced is_warn_always_enabled is_same_size is_signed is_tensor
        is_storage can_cast
        are_deterministic_algorithms_enabled
        is_contiguous is_pinned is_shared is_autocast_enabled is_autocast_available
        is_autocast_cpu_enabled
        is_autocast_cache_enabled isdtype
        is_available is_bf16_supported is_initialized is_compiling is_scripting is_tracing is_lazy
        set_flush_denormal
        is_parametrized is_pruned gradcheck gradgradcheck is_dependent is_enabled is_better""",
    ),
    **_each(
        "int",
        """nbytes TypedStorage.size UntypedStorage.size numel
        nelement dim ndimension sparse_dim dense_dim data_ptr const_data_ptr element_size
        get_device storage_offset get_num_threads get_num_interop_threads
        get_deterministic_debug_mode
        initial_seed seed current_device current_device_idx current_device_index device_count
        Size.numel""",
    ),
    **_each(
        "None",
        """clear_autocast_cache set_result set_exception add_done_callback
        cudagraph_mark_step_begin set_num_threads
        set_num_interop_threads set_deterministic_debug_mode
        set_printoptions set_default_dtype set_default_device use_deterministic_algorithms
        set_float32_matmul_precision set_rng_state save manual_seed_all set_device set_device_idx
        set_device_index synchronize
        set_rng_state_all set_default_tensor_type
        empty_cache assert_close assert_allclose backward
        retain_grad reset_parameters reset_running_stats
        flatten_parameters add_param_group zero_grad load_state_dict set_epoch update_parameters
        update_bn clip_grad_value_ clip_grads_with_norm_ vector_to_parameters add_module
        register_buffer register_module register_parameter set_submodule remove clear update
        unscale_ set_default_validate_args reset remove_parametrizations_ set_extra_state
        Tensor.backward initialize_parameters ModuleDict.update ParameterDict.update
        transfer_parametrizations_and_params Function.__init__ save_for_backward mark_dirty
        share_memory""",
    ),
    **_each("str", """typename Module.show extra_repr get_float32_matmul_precision
        get_device_name Node.name"""),
    **_each(
        "dtype",
        "get_default_dtype promote_types result_type get_autocast_dtype "
        "get_autocast_cpu_dtype get_autocast_gpu_dtype to_real to_complex",
    ),
    **_each("device", "get_default_device"),
    **_each("Size", "broadcast_shapes forward_shape inverse_shape"),
    **_each(
        "Any",
        """load scan while_loop cond get_device_properties default_collate default_convert closure
        get_extra_state checkpoint_sequential functional_call data_parallel Function.apply
        Function.forward Function.backward storage untyped_storage apply get_worker_info support
        custom_fwd custom_bwd disable data_parallel pop popitem get setdefault ParameterDict.get cat
        __array_namespace_info__ Tensor.tolist tolist to_dlpack set_extra_state GradScaler.step
        scale Tensor.eig Tensor.lstsq Tensor.solve Tensor.symeig reinforce
        Module.get_extra_state right_inverse jacobian hessian""",
    ),
    "linalg.cond": _TENSOR,
    "Tensor.item": "float | int | bool",
    "Tensor.type": "Any",
    "Tensor.numpy": "np.ndarray[Any, np.dtype[Any]]",
    "Tensor.as_subclass": "S",
    "Tensor.dim_order": "tuple[int, ...]",
    "manual_seed": "Generator",
    "rearrange": "Tensor",
    "debug_unwrap": "Tensor",
    "functionalize": "Callable[..., Any]",
    "factory_kwargs": "dict[str, Any]",
    "argument_validation": "Callable[..., Any]",
    "runtime_validation": "Callable[..., Any]",
    "runtime_validation_disabled": "AbstractContextManager[None]",
    "functional_datapipe": "Callable[..., Any]",
    "non_deterministic": "Any",
    "as_str": "str",
    "list_gpu_processes": "str",
    "host_memory_stats": "dict[str, int]",
    "host_memory_stats_as_nested_dict": "dict[str, Any]",
    "get_per_process_memory_fraction": "float",
    "raw_iterator": "Iterator[Any]",
    "cuda.manual_seed": "None",
    **_each(
        "None", """reset_peak_host_memory_stats reset_accumulated_host_memory_stats
        set_per_process_memory_fraction
        empty_host_cache assert_int_or_pair set_module swap_tensors add_input register_function
        register_datapipe_as_function
        init set_stream reset_max_memory_allocated reset_max_memory_cached
        reset_peak_memory_stats
        Stream.wait_event Stream.wait_stream Event.record Event.wait"""),
    **_each("bool", "can_device_access_peer Stream.query Event.query"),
    **_each(
        "int", """clock_rate device_memory_used memory_usage power_draw temperature utilization
        max_memory_allocated max_memory_reserved memory_allocated memory_reserved
        max_memory_cached memory_cached seed_all"""),
    **_each("Stream", "current_stream default_stream"),
    "Stream.record_event": "Event", "Event.elapsed_time": "float",
    "get_stream_from_external": "Stream", "thread_safe_generator": "Generator | None",
    **_each("Self", """TypedStorage.clone TypedStorage.copy_ TypedStorage.fill_ UntypedStorage.clone
        UntypedStorage.copy_ UntypedStorage.fill_ TypedStorage.cpu UntypedStorage.cpu
        TypedStorage.from_buffer UntypedStorage.from_buffer UntypedStorage.from_file"""),
    **_each("TypedStorage", " ".join(
        f"{kind}Storage.{name}" for kind in ("Typed", "Untyped")
        for name in ("double", "float", "half", "bfloat16", "long", "int", "short", "char", "byte",
                     "bool", "complex_double", "complex_float"))),
    "query": "bool", "qscheme": "Any", "quantize_per_tensor": "Any", "dequantize": "Any",
    "get_allocator_backend": "str", "memory_stats_as_nested_dict": "dict[str, Any]",
    "is_tf32_supported": "bool", "reset_accumulated_memory_stats": "None",
    "q_scale": "float", "q_zero_point": "int", "q_per_channel_axis": "int",
    "byteswap": "None",
    "TypedStorage.type": "Any", "storage_type": "Any", "set_warn_always": "None",
    "sym_fresh_size": "int", "sym_sqrt": "float", "record_event": "Any",
    "wait_event": "None", "wait_stream": "None",
    "get_device_capability": "tuple[int, int]", "mem_get_info": "tuple[int, int]",
    "get_memory_info": "tuple[int, int]",
    "memory_stats": "dict[str, int]",
    "Generator.manual_seed": "Generator",
    "Generator.get_state": _TENSOR,
    "Generator.set_state": "Self",
    "Generator.clone_state": "Generator",
    "get_rng_state": _TENSOR,
    "Tensor.register_hook": "RemovableHandle",
    "Tensor.register_post_accumulate_grad_hook": "RemovableHandle",
    "current_accelerator": "device | None",
    # several tensors
    **_each(
        _MANY,
        """chunk dsplit hsplit vsplit split split_with_sizes tensor_split unbind unsafe_chunk
        unstack broadcast_tensors unsafe_split unsafe_split_with_sizes split_copy
        split_with_sizes_copy unbind_copy meshgrid gradient broadcast_arrays argwhere_tuple
        unravel_index array_api.nonzero""",
    ),
    **{
        f"{pool}{n}d_with_indices": "tuple[Tensor, Tensor]"
        for pool in ("max_pool", "adaptive_max_pool") for n in (1, 2, 3)},
    **_each(
        _TENSOR,
        """bartlett blackman cosine exponential gaussian general_cosine general_hamming hamming
        hann kaiser nuttall""",
    ),
    "multi_head_attention_forward": "tuple[Tensor, Tensor | None]",
    **_each("tuple[Tensor, Tensor]", """std_mean var_mean lu_factor_ lstm_cell"""),
    **_each("tuple[Tensor, Tensor, Tensor]", """svd_lowrank pca_lowrank lu_unpack
        native_batch_norm native_group_norm native_layer_norm"""),
    "aminmax": "aminmax",
    "cummax": "cummax",
    "cummin": "cummin",
    "frexp": "frexp",
    "geqrf": "geqrf",
    "histogram": "histogram",
    "histogramdd": "histogramdd",
    "kthvalue": "kthvalue",
    "mode": "mode",
    "qr": "qr",
    **dict.fromkeys(("linalg.qr", "array_api.linalg.qr"), "linalg_qr"),
    "slogdet": "slogdet",
    **dict.fromkeys(("linalg.slogdet", "array_api.linalg.slogdet"), "linalg_slogdet"),
    "sort": "sort",
    "array_api.sort": _TENSOR,
    "svd": "svd",
    "linalg.svd": "linalg_svd",
    "array_api.linalg.svd": "linalg_svd",
    "topk": "topk",
    "triangular_solve": "triangular_solve",
    "unique_all": "unique_all",
    "unique_counts": "unique_counts",
    "unique_inverse": "unique_inverse",
    "cholesky_ex": "linalg_cholesky_ex",
    "eig": "linalg_eig",
    "eigh": "linalg_eigh",
    "inv_ex": "linalg_inv_ex",
    "lstsq": "linalg_lstsq",
    "ldl_factor": "linalg_ldl_factor",
    "ldl_factor_ex": "linalg_ldl_factor_ex",
    "lu_factor": "linalg_lu_factor",
    "lu_factor_ex": "linalg_lu_factor_ex",
    "solve_ex": "linalg_solve_ex",
    "array_api.linalg.eigh": "linalg_eigh",
    "array_api.take": _TENSOR,
    "array_api.isdtype": "bool", "array_api.finfo": "Any", "array_api.iinfo": "Any",
    "array_api.linalg.trace": _TENSOR,
    # networks
    "calculate_gain": "float",
    "clip_grad_norm": _TENSOR,
    "clip_grad_norm_": _TENSOR,
    "get_rng_state_all": "list[Tensor]",
    "detach_variable": "tuple[Any, ...]",
    "check_backward_validity": "None",
    "set_checkpoint_early_stop": "AbstractContextManager[None]",
    "noop_context_fn": "tuple[AbstractContextManager[None], AbstractContextManager[None]]",
    "memory_summary": "str", "ipc_collect": "None", "is_current_stream_capturing": "bool",
    "get_total_norm": _TENSOR, "get_device_module": "Any",
    "max_pool1d_with_indices": "tuple[Tensor, Tensor]",
    "nn.parallel.scatter": "Any", "nn.parallel.gather": "Any", "scatter_kwargs": "Any",
    "replicate": "list[Module]", "parallel_apply": "list[Any]",
    "parameters_to_vector": _TENSOR,
    "LSTMCell.forward": "tuple[Tensor, Tensor]",
    "Module.forward": "Any",
    "MultiheadAttention.forward": "tuple[Tensor, Tensor | None]",
    "AdaptiveLogSoftmaxWithLoss.forward": "Any",
    "run_once": "Any", "benchmark": "Any",
    **_each("Any", "DataParallel.forward DistributedDataParallel.forward"),
    **_each("AbstractContextManager[None]",
            "DistributedDataParallel.join DistributedDataParallel.no_sync"),
    "Sequential.forward": _TENSOR,
    "AveragedModel.forward": "Any",
    "ParametrizationList.forward": _TENSOR,
    **_each(
        "Self",
        """Module.apply Module.bfloat16 Module.float Module.double Module.half Module.cpu
        Module.cuda Module.to Module.to_empty Module.train Module.eval Module.type
        Module.requires_grad_ Module.share_memory ModuleList.append ModuleList.extend
        Sequential.append Sequential.extend Sequential.insert ParameterList.append
        ParameterList.extend from_pretrained ParameterDict.copy PackedSequence.to PackedSequence.cpu
        PackedSequence.cuda PackedSequence.double PackedSequence.float expand with_cache""",
    ),
    "ModuleList.insert": "None",
    "ModuleList.pop": "Module",
    "Sequential.pop": "Module",
    "ModuleDict.pop": "Module",
    "Module.buffers": "Iterator[Tensor]",
    "Module.parameters": "Iterator[Parameter]",
    "Module.children": "Iterator[Module]",
    "Module.modules": "Iterator[Module]",
    "Module.named_buffers": "Iterator[tuple[str, Tensor]]",
    "Module.named_parameters": "Iterator[tuple[str, Parameter]]",
    "Module.named_children": "Iterator[tuple[str, Module]]",
    "Module.named_modules": "Iterator[tuple[str, Module]]",
    "Module.get_submodule": "Module",
    "Module.get_parameter": "Parameter",
    "Module.get_buffer": _TENSOR,
    "Module.load_state_dict": "Any",
    "state_dict": _STATE,
    "ModuleDict.items": "Iterable[tuple[str, Module]]",
    "ModuleDict.keys": "Iterable[str]",
    "ModuleDict.values": "Iterable[Module]",
    "ParameterDict.items": "Iterable[tuple[str, Any]]",
    "ParameterDict.keys": "Iterable[str]",
    "ParameterDict.values": "Iterable[Any]",
    "ParameterDict.fromkeys": "ParameterDict",
    "ParameterDict.pop": "Any",
    "ParameterDict.get": "Any",
    "materialize": "None",
    "generate_square_subsequent_mask": _TENSOR,
    **_each(
        "RemovableHandle",
        """register_forward_hook register_forward_pre_hook register_full_backward_hook
        register_full_backward_pre_hook register_load_state_dict_post_hook
        register_load_state_dict_pre_hook register_state_dict_post_hook register_state_dict_pre_hook
        register_step_post_hook register_step_pre_hook register_hook register_prehook
        register_backward_hook""",
    ),
    "fuse_conv_bn_eval": "Module",
    "fuse_linear_bn_eval": "Module",
    "fuse_conv_bn_weights": "tuple[Parameter, Parameter]",
    "fuse_linear_bn_weights": "tuple[Parameter, Parameter]",
    "invert_permutation": "Tensor | None",
    "pack_padded_sequence": "PackedSequence",
    "pack_sequence": "PackedSequence",
    "pad_packed_sequence": "tuple[Tensor, Tensor]",
    "pad_sequence": _TENSOR,
    "unpack_sequence": "list[Tensor]",
    "unpad_sequence": "list[Tensor]",
    "cached": "AbstractContextManager[None]",
    **_each(
        "Module",
        """register_parametrization remove_parametrizations custom_from_mask identity
        convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format
        l1_unstructured ln_structured random_structured random_unstructured remove""",
    ),
    "RemovableHandle.remove": "None",
    "global_unstructured": "None",
    "compute_mask": "Tensor",
    "apply_mask": "Tensor", "add_pruning_method": "None",
    "prune": "Tensor",
    "type_before_parametrizations": "type[Module]",
    **_each("M", "weight_norm spectral_norm remove_weight_norm remove_spectral_norm orthogonal"),
    "nn.init.orthogonal": "Tensor",
    "predict": _TENSOR,
    "log_prob": _TENSOR,
    "AdaptiveLogSoftmaxWithLoss.log_prob": _TENSOR,
    # optimizers
    "Optimizer.step": "Any",
    "LBFGS.step": "Any",
    "LRScheduler.step": "None",
    "step": "None",
    "get_lr": "list[float]",
    "get_last_lr": "list[float]",
    "scale_fn": "float",
    **_each("float", "get_scale get_growth_factor get_backoff_factor"),
    "get_growth_interval": "int",
    **_each("None", "set_growth_factor set_backoff_factor set_growth_interval"),
    "GradScaler.unscale_": "None",
    "GradScaler.scale": "Any",
    **_each(
        "Callable[..., Any]",
        "get_ema_avg_fn get_ema_multi_avg_fn get_swa_avg_fn get_swa_multi_avg_fn",
    ),
    # data
    "random_split": "list[Subset[S]]",
    # autograd, func
    "get_gradient_edge": "GradientEdge",
    "increment_version": "None",
    "disable_saved_tensors_hooks": "AbstractContextManager[None]",
    "allow_mutation_on_saved_tensors": "AbstractContextManager[Any]",
    "register_multi_grad_hook": "RemovableHandle",
    **_each("tuple[Any, Any]", "hvp vhp autograd.functional.vjp autograd.functional.jvp"),
    "func.batch": "Callable[..., list[R]]",
    "func.cell": "Callable[P, R]",
    "func.grad": "Callable[..., Any]",
    "func.grad_and_value": "Callable[..., Any]",
    "func.hessian": "Callable[..., Any]",
    "jacfwd": "Callable[..., Any]",
    "jacrev": "Callable[..., Any]",
    "func.jvp": "Any",
    "linearize": "tuple[Any, Callable[..., Any]]",
    "func.vjp": "Any",
    "vmap": "Callable[..., R]",
    **_each("Module", "convert_sync_batchnorm replace_all_batch_norm_modules_"),
    "skip_init": "M",
    "stack_module_state": "tuple[dict[str, Tensor], dict[str, Tensor]]",
    "checkpoint": "R",
    # distributions
    **_each(
        _TENSOR,
        """cdf icdf entropy enumerate_support log_abs_det_jacobian perplexity rsample sample
        sample_n kl_divergence make_tensor check scale_tril log_cdf log_survival_function
        clamp_probs logits_to_probs probs_to_logits tril_matrix_to_vec vec_to_tril_matrix
        array_api.linalg.matrix_norm""",
    ),
    "broadcast_all": "tuple[Tensor, ...]",
    "register_kl": "Callable[[F], F]",
    "allow_in_graph": "Any",
    "assume_constant_result": "Any",
    "sym_int": "int",
    "sym_not": "bool",
    "sym_ite": "Any",
    **_each("float", "sym_float sym_max sym_min sym_sum"),
    # jit
    "Traced.explain": "Any",
    "Traced.show": "str",
}

ATTRIBUTES = {
    "UnpackedDualTensor.tangent": "Tensor | None",
    **_each(
        _TENSOR,
        """mean mode variance stddev logits probs loc scale temperature covariance_matrix
        precision_matrix scale_tril concentration concentration0 concentration1 rate df Tensor.H
        Tensor.T Tensor.mH Tensor.mT Tensor.data Tensor.real Tensor.imag""",
    ),
    **_each(
        "int",
        """Tensor.ndim Tensor.itemsize Tensor.nbytes Tensor.output_nr device_index dtype.itemsize
        AnyStream.device_type Stream.stream_id Event.event_id ExternalStream.stream_id
        ExternalStream.cuda_stream ExternalStream.priority
        sign RandomSampler.num_samples Stream.device_index Stream.cuda_stream Stream.priority
        Event.device_index Event.cuda_event RemovableHandle.id GradientEdge.output_nr iinfo.bits
        finfo.bits iinfo.min iinfo.max last_epoch event_dim CatTransform.length""",
    ),
    "dtype.kind": "str",
    **_each(
        "bool",
        """TypedStorage.is_cuda UntypedStorage.is_cuda TypedStorage.is_sparse
        UntypedStorage.is_sparse Tensor.is_cpu Tensor.is_cuda
        Tensor.is_meta Tensor.requires_grad Tensor.is_leaf
        Tensor.volatile Tensor.retains_grad has_rsample has_enumerate_support bijective
        dtype.is_complex
        dtype.is_floating_point dtype.is_signed autocast.enabled in_cooldown check_nan
        PackedSequence.is_cuda Module.training set_grad_enabled.mode inference_mode.mode
        set_detect_anomaly.mode is_discrete""",
    ),
    **_each("str", "device.type dtype.name autocast.device_type finfo.dtype iinfo.dtype Dim.name"),
    **_each("Constraint", "support domain codomain base_constraint"),
    **_each(
        "float",
        "finfo.eps finfo.max finfo.min finfo.tiny finfo.smallest_normal finfo.resolution e pi "
        "inf nan",
    ),
    **_each(
        "Size",
        "Tensor.shape batch_shape event_shape UninitializedParameter.shape "
        "UninitializedBuffer.shape param_shape",
    ),
    **_each("dtype", "Tensor.dtype autocast.dtype"),
    **_each("device", """Tensor.device Generator.device Stream.device AnyStream.device
        ExternalStream.device
        TypedStorage.device"""),
    "stream.stream": "Stream | None", "Event.device": "device | None",
    **_each("MemoryFormat", "contiguous_format preserve_format channels_last channels_last_3d"),
    "strided": "Layout",
    "Tensor.layout": "Layout",
    "Tensor.grad": "Tensor | None",
    "Tensor.grad_fn": "Node | None",
    "Tensor.name": "str | None",
    "device.index": "int | None",
    "Node.next_functions": "tuple[tuple[Node | None, int], ...]",
    "Node.metadata": _STATE,
    "Traced.graph": "Any",
    "Traced.recorded": "Any",
    "inv": "Transform",
    "originals": "Any",
    "all_weights": "list[list[Parameter]]",
    "weight": "Parameter",
    "default_generator": "Generator",
    "Optimizer.param_groups": "list[dict[str, Any]]",
    "Optimizer.state": "dict[Any, Any]",
    "LRScheduler.optimizer": "Optimizer",
    "ChainedScheduler.optimizer": "Optimizer",
    "base_lrs": "list[float]",
    "linalg_lstsq.rank": _TENSOR,
    "all_return_types": "list[type[Any]]",
    "histogram.hist": _TENSOR,
    "histogramdd.bin_edges": "tuple[Tensor, ...]",
    "GradientEdge.node": "Node",
    "has_rsample": "bool",
    "identity_transform": "Transform",
    "arg_constraints": "dict[str, Constraint]",
    "mixture_distribution": "Categorical",
    "component_distribution": "Distribution",
    "parts": "list[Transform]",
    "Dim.min": "int",
    "Dim.max": "int | None",
    "array_api.newaxis": "None",
    **_each("Constraint", """constraints.boolean dependent constraints.dependent"""),
    **{
        f"{layer}.bias": "Parameter | None"
        for layer in (
            "Linear",
            "Conv1d",
            "Conv2d",
            "Conv3d",
            "ConvTranspose1d",
            "ConvTranspose2d",
            "ConvTranspose3d",
            "LayerNorm",
            "GroupNorm",
            "BatchNorm1d",
            "BatchNorm2d",
            "BatchNorm3d",
            "InstanceNorm1d",
            "InstanceNorm2d",
            "InstanceNorm3d",
        )
    },
}
