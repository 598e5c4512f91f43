"""The types of parameters, by their names: one word means one thing everywhere.

A parameter's type is looked up in this order: `exceptions.EXACT` (also with the module in front),
bool where the default is one, `NAMED`, the type of the default. One that has none of these is an
error. `| None` is added where the default is None. Numbers are `float` where PyTorch wants one: a
checker takes whole numbers there too.
"""
_BY_TYPE = {
    "Tensor": """
        tangent A B L LD LU LU_data LU_pivots M _random_samples _weight abs anchor angle append
        attn_mask aweights b batch1 batch2 bias bn_b bn_rm bn_rv bn_w boundaries condition conv_w
        cov_diag cov_factor covariance_matrix fweights grid hx imag importance_scores index input
        input1 input2 key_padding_mask linear_w log_probs mask mat mat1 mat2 memory
        memory_key_padding_mask memory_mask negative new_state offsets original out
        scales zero_points var
        per_sample_weights permutation pivots pos_weight positive precision_matrix prepend query
        real scale_tril self sorted_sequence sorter source src src_key_padding_mask src_mask target
        targets tau tensor tensor1 tensor2 tgt tgt_key_padding_mask tgt_mask theta total_norm vec
        t1 t2 vec1 linear_bias linear_weight vec2 weight weights window x x1 x2 y mat_a mat_b offs
        out_proj_weight b_hh b_ih w_hh w_ih""",
    "Tensor | None": """
        bias_k bias_v in_proj_bias in_proj_weight k_proj_weight out_proj_bias q_proj_weight
        static_k static_v v_proj_weight""",
    "Scalar": "other value exponent values fill_value",
    "Number": "alpha beta lambd base start stop step end s",
    "float": """
        center a atol backoff_factor beta2_decay clip_value correction d dampening decay delta
        div_value dropout dropout_p dx eps eta_min fraction gain gamma growth_factor init_scale
        initial_accumulator_value label_smoothing layer_norm_eps lower lr lr_decay margin max_norm
        max_val max_value maxnorm mean median min_val min_value momentum momentum_decay nan
        output_scale
        negative_slope neginf new_factor new_scale norm_type p padding_value posinf power rcond rho
        rtol sigma sparsity std t0 threshold timeout tolerance_change tolerance_grad upper
        weight_decay""",
    "int": """
        new_interval stream_ptr
        N T_0 T_max axis0 axis1 batch_size bins chunk_size chunks col count d_model decimals
        diagonal dim0 dense_dim dim1 dim2 dimension sparse_dim divisor_override downscale_factor
        embed_dim embedding_dim end_dim epoch epochs groups hidden_size hop_length ignore_index
        in1_features in2_features in_channels in_features input_size k kdim length m max_eval
        max_iter n n_classes n_cols n_fft n_rows nhead niter num num_channels num_chunks num_classes
        num_embeddings num_features num_groups num_heads num_layers num_parameters num_replicas
        num_samples num_workers offset out_channels out_features padding_idx quant_max quant_min
        axes_lengths
        prefetch_factor proj_size q rank reinterpreted_batch_ndims row seed segments start_dim
        output_zero_point
        step_size step_size_down step_size_up steps steps_per_epoch sz total_iters total_length
        total_steps interpolation_mode upscale_factor vdim win_length window_length
        embed_dim_to_check split_size""",
    "bool": """
        align_corners align_to_window abbreviated cache_enabled copy descending drop_last enable
        foreach fused
        is_causal isolate_recompiles keepdims masked_grad onesided recompute_scale_factor reduce
        retain_graph
        reduce_range
        return_complex shared shuffle add_zero_attn size_average src_is_causal tgt_is_causal
        unbiased use_reentrant validate_args batch_first bidirectional has_biases train
        transposed""",
    "str": """
        mod path pattern function_name arg_name message
        adjust_lr_fn anneal_strategy approximate compute_mode device_type driver equation
        filename indexing interpolation line_search_fn name nonlinearity padding_mode precision
        prefix reason rounding_mode strategy tensor_name""",
    "Dims": "dim dims axis axes destination",
    "Shape": """
        batch_shape cutoffs event_shape in_shape milestones out_shape physical_layout sample_shape
        shape size sizes split_sizes stride unflattened_size""",
    "Ints": """
        dilation indices_or_sections kernel_size output_padding output_size padding repeats
        repetitions shift split_size_or_sections""",
    "float | Sequence[float]": "scale_factor output_ratio base_lr max_lr",
    "dtype": "out_dtype dtype type1 type2 to from_",
    "Device": "device output_device peer_device target_device",
    "Sequence[Device]": "devices target_gpus",
    "Event": "event end_event",
    "Layout": "layout",
    "MemoryFormat": "memory_format",
    "Generator": "generator",
    "Tensor | Sequence[Tensor]": "inputs",
    "Sequence[Tensor]": "tensors arrays sequences",
    "Iterable[Tensor]": "parameters",
    "Iterable[Module]": "models modules",
    "Callable[..., M]": "module_cls",
    "Callable[..., Any]": """
        avg_fn body_fn bwd callable closure combine_fn cond_fn context_fn distance_function false_fn
        f fn func function fwd hook multi_avg_fn pruning_method true_fn""",
    "Module": """
        root bn conv custom_decoder custom_encoder decoder_layer encoder_layer from_module linear
        model module to_module""",
    "Optimizer": "optimizer",
    "Tensor | float": """
        concentration concentration0 concentration1 df df1 df2 high loc logits low probs rate scale
        temperature total_count zero_point""",
    "tuple[float, float, float]": "ns_coefficients",
    "tuple[float, float]": "betas etas lims step_sizes",
    "Distribution": "component_distribution distribution base_distribution",
    "Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]": "params",
    "Any": """
        arg items
        process_group ctx level actual args arrays_and_dtypes batch buffer data default expected
        ext_tensor in_dims init key kwargs kwargs_tup multiprocessing_context ndarray network obj
        operands options out_dims outputs parameter_and_buffer_dicts parameters_and_buffers primals
        shapes_spec state tangents v volatile xs stream""",
}
NAMED = {name: kind for kind, names in _BY_TYPE.items() for name in names.split()}
