"""Functions that make functions: `whet.func`.

Input: a function of tensors. Output: one that computes gradients, products with Jacobians, or
many examples at once. `batch.py` runs equal calls of a program together: `deferred_ops.py` notes
them, `batch_scheduler.py` groups them.
"""
from .batch import batch
from .cell import cell
from .forward import jvp, linearize
from .functionalize import debug_unwrap, functionalize
from .jacobians import hessian, jacfwd, jacrev
from .modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from .rearrange import rearrange
from .reverse import grad, grad_and_value, vjp
from .vmap import vmap

__all__ = [
    "batch",
    "cell",
    "debug_unwrap",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
