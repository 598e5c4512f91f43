"""whet: an eager tensor framework that sharpens itself.

    import whet
    x = whet.randn(3, 4, requires_grad=True)
    (x.exp().sum(dim=1) ** 2).mean().backward()
    x.grad
"""
__version__ = "0.1.0"

from . import dtypes as _dtypes
from .dtypes import (
    bfloat16,
    bits1x8,
    bits2x4,
    bits4x2,
    bits8,
    bits16,
    can_cast,
    complex32,
    complex64,
    complex128,
    dtype,
    finfo,
    float4_e2m1fn_x2,
    float8_e4m3fn,
    float8_e4m3fnuz,
    float8_e5m2,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int1,
    int2,
    int3,
    int4,
    int5,
    int6,
    int7,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    qint8,
    qint32,
    quint8,
    set_default_dtype,
    uint1,
    uint2,
    uint3,
    uint4,
    uint5,
    uint6,
    uint7,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .dtypes import bool_ as bool  # noqa: A004

half, float, double, short, int, long = float16, float32, float64, int16, int32, int64
chalf, cfloat, cdouble = complex32, complex64, complex128
bit = uint1
from . import autograd, ops
from .autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .devices import device, get_default_device, set_default_device
from .layouts import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    jagged,
    layout,
    memory_format,
    per_channel_affine,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    preserve_format,
    qscheme,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .ops import argument_guards as _argument_guards
from .ops import surface as _surface
from .tensor import Size, Tensor

globals().update(_argument_guards.guarded(
    {k: v for k, v in _surface.FUNCTIONS.items() if not k.startswith("_")}, __name__))
from math import e, inf, nan, pi

from . import integrations as _integrations
from .lazy_names import lazy_names as _lazy_names

newaxis = None
_integrations.register()

_LAZY = {"nn": "nn", "onnx": "onnx", "optim": "optim", "utils": "utils",
         "memory": "cpu.memory", "linalg": "linalg", "fft": "fft", "special": "special",
         "signal": "signal", "array_api": "array_api", "jit": "jit", "random": "random",
         "cuda": "cuda", "backends": "backends", "func": "func", "accelerator": "accelerator",
         "amp": "amp", "distributions": "distributions", "quantize": "jit.quantize",
         "testing": "testing", "compiler": "compiler", "library": "library", "masked": "masked",
         "types": "types", "return_types": "return_types", "distributed": "distributed",
         "profiler": "profiler", "models": "models", "datasets": "datasets", "train": "train",
         "version": "version", "hub": "hub", "futures": "futures",
         "storage": "ops.storage", "serialization": "serialization", "_dynamo": "_dynamo",
         "_C": "_C", "__config__": "__config__", "sparse": "sparse",
         "nested": "nested", "quantised": "quantised",
         "xpu": "absent_devices", "mps": "absent_devices", "fx": "fx",
         "functional": "functional",
         "overrides": "overrides", "export": "export", "_inductor": "_inductor",
         "_subclasses": "_subclasses", "_utils": "_utils", "__future__": "__future__",
         "quasirandom": "quasirandom"}
_FROM = {"save": "serialization", "load": "serialization", "summary": "model_summary",
         **dict.fromkeys(("set_num_threads", "get_num_threads", "set_num_interop_threads",
                          "get_num_interop_threads", "set_flush_denormal"), "cpu.thread_pool"),
         "set_printoptions": "formatting", "vmap": "func", "compile": "compiler",
         "lobpcg": "eigenpairs", "thread_safe_generator": "random",
         **dict.fromkeys(("has_lapack", "has_mkl", "has_openmp", "has_spectral"), "backends"),
         **dict.fromkeys(("set_warn_always", "is_warn_always_enabled"), "autograd.modes"),
         "DisableTorchFunction": "function_protocol",
         "DisableTorchFunctionSubclass": "function_protocol",
         "autocast": "amp", "Future": "futures",
         **dict.fromkeys(("Stream", "Event", "AcceleratorError"), "streams"),
         "OutOfMemoryError": "cuda", "_weight_norm": "ops.module_parts",
         "get_device_module": "accelerator", "_segment_reduce": "ops.segments",
         **dict.fromkeys(("_convert_indices_from_coo_to_csr", "_convert_indices_from_csr_to_coo"),
                         "ops.compressed_indices"),
         **dict.fromkeys(("_standard_gamma", "_sample_dirichlet"), "distributions.sampling"),
         **dict.fromkeys(("UntypedStorage", "TypedStorage"), "ops.storage"),
         **dict.fromkeys(("lstm", "gru", "rnn_tanh", "rnn_relu", "lstm_cell", "gru_cell",
                          "rnn_tanh_cell", "rnn_relu_cell"), "nn.recurrences"),
         **dict.fromkeys(("SymBool", "SymFloat", "SymInt", "sym_float", "sym_fresh_size", "sym_int",
                          "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"),
                         "symbolic_types"),
         **dict.fromkeys(("_assert", "_assert_async", "_check", "_check_index", "_check_is_size",
                          "_check_not_implemented", "_check_tensor_all", "_check_tensor_all_with",
                          "_check_type", "_check_value", "_check_with"), "compiler"),
         "GradScaler": "amp", "typename": "legacy_tensor_types",
         "set_default_tensor_type": "legacy_tensor_types",
         "is_anomaly_enabled": "autograd.modes", "is_anomaly_check_nan_enabled": "autograd.modes",
         **dict.fromkeys(("is_autocast_enabled", "is_autocast_cpu_enabled", "get_autocast_dtype",
                          "is_autocast_cache_enabled", "clear_autocast_cache",
                          "get_autocast_cpu_dtype", "get_autocast_gpu_dtype"), "amp"),
         **dict.fromkeys(("sparse_coo_tensor", "sparse_compressed_tensor", "sparse_csr_tensor",
                          "sparse_csc_tensor", "sparse_bsr_tensor", "sparse_bsc_tensor"),
                         "sparse.make"),
         **dict.fromkeys(("astype", "isdtype", "bitwise_invert", "vecdot", "expand_dims", "repeat",
                          "cumulative_sum", "cumulative_prod", "__array_api_version__",
                          "__array_namespace_info__"), "array_api")}


def _named_by_rule(name):
    """What is named by a rule: there is one for each type, or for each function."""
    import importlib
    if name == "torch":
        # libraries say `torch.torch.Tensor`, since PyTorch's module has its own name
        return importlib.import_module(__name__)
    if name.startswith("_foreach_"):
        from .ops.foreach import function
        return function(name)
    if name.endswith(("Tensor", "Storage")):
        from . import legacy_tensor_types
        from .ops.storage_kinds import STORAGES
        return {**legacy_tensor_types.TYPES, **STORAGES}.get(name)
    return None


__getattr__, __dir__ = _lazy_names(__name__, _LAZY, _FROM, _named_by_rule)
