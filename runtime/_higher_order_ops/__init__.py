"""Control flow as functions, by the names of PyTorch's inner package, where programs find them."""
from .associative_scan import associative_scan
from .cond import cond
from .scan import scan
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "scan", "while_loop"]
