"""`whet.while_loop`, where PyTorch has it."""
from whet import while_loop

__all__ = ["while_loop"]
