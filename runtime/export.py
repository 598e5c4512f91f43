"""`whet.export`, which is called, and has PyTorch's names for it: see `jit/called_export.py`."""
import importlib
import sys

sys.modules[__name__] = importlib.import_module(".jit.called_export", __package__)
