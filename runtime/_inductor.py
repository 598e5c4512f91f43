"""What programs ask of PyTorch's code generator by its inner name, `whet._inductor`: its settings,
which change nothing here."""
import sys

from .compiler_settings import Settings

config = sys.modules[f"{__name__}.config"] = Settings(
    f"{__name__}.config", coordinate_descent_tuning=False, epilogue_fusion=True, max_autotune=False,
    fx_graph_cache=True, debug=False, fallback_random=False, conv_1x1_as_mm=False,
    force_fuse_int_mm_with_mul=False, use_mixed_mm=True, cpp_wrapper=False)
