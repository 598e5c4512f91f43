"""Whether gradients are recorded, by the module's name in PyTorch."""
from .modes import enable_grad, inference_mode, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]


class set_multithreading_enabled:
    """May a backward use several threads? It runs on the one that calls it, whatever this says; its
    kernels use all of them. As a statement or a context."""

    def __init__(self, mode):
        self.mode = bool(mode)

    def __enter__(self):
        """Nothing changes."""

    def __exit__(self, *exc):
        """Nothing changes."""
