"""`whet.backends`: what PyTorch's libraries are switched with.

None of these libraries is used here. Programs ask whether they are there (no), and may set their
options: an option is remembered, and changes nothing, as in a PyTorch without the library. But
`allow_tf32` is what it says (`tf32.py`).
"""
import contextlib
import sys
import types
from functools import partial

from . import declared_for_tracing, tf32
from .cpu.device_functions import get_cpu_capability

# what PyTorch says of how it was built: matrices are factored and transformed, by no library of its
has_lapack = has_spectral = True
has_mkl = has_openmp = False


def _option(what):
    """`allow_tf32` of products or convolutions."""
    return property(lambda self: tf32.is_allowed(what), lambda self, may: tf32.allow(what, may))


class _Convolutions(types.ModuleType):
    """Options of cuDNN."""
    allow_tf32 = _option(tf32.CONVOLUTIONS)


@contextlib.contextmanager
def _flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False,
           allow_tf32=None, fp32_precision="none"):
    """Inside, the options of cuDNN are these; of `allow_tf32` only where it is given."""
    options = {"enabled": enabled, "benchmark": benchmark, "benchmark_limit": benchmark_limit,
               "deterministic": deterministic,
               "allow_tf32": cudnn.allow_tf32 if allow_tf32 is None else allow_tf32}
    before = {name: getattr(cudnn, name) for name in options}
    try:
        for name, option in options.items():
            setattr(cudnn, name, option)
        yield
    finally:
        for name, option in before.items():
            setattr(cudnn, name, option)


class _Products(types.SimpleNamespace):
    """Options of products of matrices."""
    allow_tf32 = _option(tf32.PRODUCTS)

    @property
    def fp32_precision(self):
        """May products of float32 be rounded to TF32? "tf32" or "ieee"."""
        return "tf32" if self.allow_tf32 else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, precision):
        if precision not in ("tf32", "ieee", "none"):
            raise RuntimeError(f"Invalid fp32 precision: {precision}")
        self.allow_tf32 = precision == "tf32"


@declared_for_tracing.goes_by_no_size
def _is_absent():
    """`is_available()`, `is_built()`: is there such a library?"""
    return False


def _library(name, kind=types.ModuleType, **options):
    """A module of its own, so that `import whet.backends.cudnn as cudnn` works."""
    module = kind(f"{__name__}.{name}", f"Options of {name}, which is not used.")
    module.is_available = module.is_built = _is_absent
    module.__dict__.update(options)
    sys.modules[module.__name__] = module
    return module


__path__: list = []                     # lets the libraries be imported as submodules
cudnn = _library("cudnn", _Convolutions, enabled=True, benchmark=False, deterministic=False,
                 benchmark_limit=10, version=lambda: None, flags=_flags)
# which kernels of attention a program allows: there is one, whatever they say
_allowed = dict.fromkeys(("flash", "math", "mem_efficient", "cudnn"), True)


def _sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """Inside, PyTorch takes one of these kernels of attention. Here all of them are the same."""
    return contextlib.nullcontext()


def _preferred(what):
    """Which library is preferred: a name that is remembered, and changes nothing."""
    def preferred(backend=None):
        if backend is not None:
            _preferences[what] = str(backend).lower()
        return _preferences[what]
    return preferred


_preferences = {"linalg": "default", "blas": "default"}
cuda = _library(
    "cuda", sdp_kernel=_sdp_kernel, is_flash_attention_available=_is_absent,
    preferred_linalg_library=_preferred("linalg"), preferred_blas_library=_preferred("blas"),
    **{f"can_use_{name}_attention": lambda params, debug=False: False
       for name in ("flash", "efficient", "cudnn")},
    **{f"enable_{name}_sdp": partial(_allowed.__setitem__, name) for name in _allowed},
    **{f"{name}_sdp_enabled": partial(_allowed.get, name) for name in _allowed},
    matmul=_Products(allow_fp16_reduced_precision_reduction=True,
                     allow_bf16_reduced_precision_reduction=True))
mps, mkl, mkldnn, openmp, xpu, nnpack, cusparselt = (
    _library(_name) for _name in ("mps", "mkl", "mkldnn", "openmp", "xpu", "nnpack", "cusparselt"))
opt_einsum = _library("opt_einsum", enabled=False, strategy=None, get_opt_einsum=lambda: None)
quantized = _library("quantized", engine="none", supported_engines=["none"])


cpu = _library("cpu", get_cpu_capability=get_cpu_capability)
# may layers take a short cut? It is remembered: there is none
_fastpath = {"enabled": True}
mha = _library("mha", get_fastpath_enabled=lambda: _fastpath["enabled"],
               set_fastpath_enabled=partial(_fastpath.__setitem__, "enabled"))
