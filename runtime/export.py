"""`whet.export`, which is called, and has PyTorch's names for it: see `jit/export_module.py`."""
import importlib
import sys

sys.modules[__name__] = importlib.import_module(".jit.export_module", __package__)
