"""`whet.cond`, where PyTorch has it."""
from whet import cond

__all__ = ["cond"]
