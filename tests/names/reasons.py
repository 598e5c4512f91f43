"""The words of the page: why a name is not here, and how one differs beyond its signature."""

PACKED = "no quantised types of less than a byte"
SCRIPT = "Python code is traced, not parsed: `whet.jit.trace`"
REMOVED = "an error in PyTorch, too: it was removed"
PROTOCOL = "a part of how PyTorch's own functions ask `__torch_function__`"
FLASH = "attention has one implementation here"
SEMI = "no kernels for sparse patterns of two in four"
NVPROF = "profilers that NVIDIA and Intel gave up, or parts of PyTorch's own"
GRAPHS = "launches of a device are replayed by traces (`whet.jit.trace`), not by CUDA graphs"
ALLOCATOR = "the allocator cannot be exchanged"
LIBRARY = "an operator has one function for each kind of devices: `whet.library.register_kernel`"
COUNTED = "memory is told by `whet.cuda.memory_stats`, `memory_summary`"
INTERNAL = "a part of PyTorch's own inside"

# A name, or the beginning of names with a star behind it.
NOT_HERE: dict[str, str] = {
    "torch.FatalError": INTERNAL,
    "torch.JITException": SCRIPT,
    "torch.quint4x2": PACKED, "torch.quint2x4": PACKED,
    "torch.Tensor.chalf": "no complex numbers of half precision",
    "torch.Tensor.grad_dtype": "a gradient has the type of its tensor",
    "torch.Tensor.index": "`x[...]`",
    "torch.Tensor.to_mkldnn": "layouts of one library",
    "torch.nn.functional.scaled_*": "products of float8 matrices have no kernel",
    "torch.nn.attention.*": FLASH,
    "torch.optim.swap_in_optimizer_params_and_state": INTERNAL,
    "torch.autograd.graph.*": "of kernels on other streams, and of one compiler",
    "torch.autograd.NestedIOFunction": REMOVED,
    "torch.autograd.enforce_grad_layout_policy": "gradients have the layout of their tensor",
    "torch.autograd.profiler.EnforceUnique": INTERNAL,
    "torch.autograd.profiler.*": NVPROF,
    "torch.sparse.as_sparse_gradcheck": "`gradcheck` takes dense tensors",
    "torch.sparse.*": SEMI,
    "torch.cuda.graph_pool_handle": GRAPHS,
    "torch.cuda.make_graphed*": GRAPHS,
    "torch.cuda.amp.amp_definitely_not_available": INTERNAL,
    "torch.cuda.GreenContext": "a device is not divided",
    "torch.utils.checkpoint.*": INTERNAL,
    "torch.utils.hooks.*": INTERNAL,
    "torch.utils.cmake_prefix_path": "there is nothing to build with",
    "torch.overrides.*": PROTOCOL,
    "torch.profiler.ExecutionTraceObserver": NVPROF,
}
BUILT = "of how PyTorch was built: devices are reached by their driver"
for _name in ("cudart", "cudaStatus", "check_error", "current_blas_handle", "current_solver_handle",
              "get_gencode_flags", "get_arch_list",
              "DeferredCudaCallError"):
    NOT_HERE[f"torch.cuda.{_name}"] = BUILT
for _name in ("CUDAPluggableAllocator", "change_current_allocator",
              "MemPool", "use_mem_pool", "caching_allocator_alloc", "caching_allocator_delete",
              "caching_allocator_disabled", "caching_allocator_enable"):
    NOT_HERE[f"torch.cuda.{_name}"] = ALLOCATOR
NOT_HERE["torch.cuda.memory_snapshot"] = COUNTED
for _name in ("get_sync_debug_mode", "set_sync_debug_mode"):
    NOT_HERE[f"torch.cuda.{_name}"] = "nothing tells when a program waits for a device"
NOT_HERE["torch.cuda.default_generators"] = "`whet.cuda.manual_seed`, `whet.cuda.get_rng_state`"
for _name in ("get_ctx", "get_kernel", "fallthrough_kernel", "register_torch_dispatch"):
    NOT_HERE[f"torch.library.{_name}"] = LIBRARY
NOT_HERE["torch.utils.get_cpp_backtrace"] = INTERNAL
for _name in ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"):
    NOT_HERE[f"torch.utils.{_name}"] = "devices cannot be added from outside"

OUT_DTYPE = "no `out_dtype`, which PyTorch has on CUDA devices alone"

# "" is said of a name whose signature differs in how it is written alone.
DIFFERS: dict[str, str] = {
    "torch.TypedStorage": "",            # a parameter with an underscore
    "torch.addmm": OUT_DTYPE, "torch.baddbmm": OUT_DTYPE, "torch.bmm": OUT_DTYPE,
    "torch.mm": OUT_DTYPE, "torch.Tensor.bmm": OUT_DTYPE, "torch.sparse.addmm": OUT_DTYPE,
    "torch.sparse.mm": OUT_DTYPE,
    "torch.dequantize": "",              # the documentation has two names for its one parameter
    "torch.expand_copy": "",             # `implicit` is for PyTorch's own transforms
    "torch.save": "",                    # a parameter with an underscore
    "torch.set_num_threads": "", "torch.set_num_interop_threads": "",
    "torch.histogramdd": "",             # the documentation shows an `out` that it refuses
    "torch.sort": "",                    # `reverse` is of lists in TorchScript
    "torch.distributions.Distribution": "",
    "torch.nn.attention.flex_attention.BlockMask": "no order of blocks for backward kernels",
    "torch.nn.attention.flex_attention.create_block_mask":
        "no order of blocks for backward kernels",
    "torch.autograd.profiler.FunctionEvent": "made by profilers alone",
    "torch.autograd.profiler.profile": "no arguments of one backend",
    "torch.profiler.profile": "no arguments of one backend",
    "torch.profiler.tensorboard_trace_handler": "no `use_python_export`: it is always Python's",
    "torch.lobpcg": "both methods are the robust one; `ortho_*` parameters are not used",
    "torch.nested.narrow": "jagged is what it gives where no layout is given",
}
