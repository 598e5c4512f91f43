"""`whet.scan`, where PyTorch has it."""
from whet import scan

__all__ = ["scan"]
