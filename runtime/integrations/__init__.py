"""Makes tensors known to packages that ask which framework they are of: `einops` so far.

No such package is imported for it. What it needs is registered when the user imports it, by modules
that are imported no earlier: they know whet as any program does, and whet does not know them.
"""
import importlib
import sys

from .import_hook import after_import


def register():
    """Register with each package when it is imported, or now if it is there."""
    after_import("einops._backends", _register_backend)
    after_import("einops.layers", _add_layers)


def _register_backend(_module):
    """Define the class by which `einops` finds its operations on tensors."""
    importlib.import_module(".einops_backend", __name__)


def _add_layers(package):
    """Add `einops.layers.whet` beside the layers for other frameworks."""
    layers = importlib.import_module(".einops_layers", __name__)
    package.whet = sys.modules["einops.layers.whet"] = layers
