# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from typing import Any, Callable
from whet.tensor import Tensor
from whet.autograd.function import Function as Function
from whet.autograd.variable import Variable as Variable
from whet.autograd.modes import detect_anomaly as detect_anomaly
from whet.autograd.modes import enable_grad as enable_grad
from whet.autograd.modes import inference_mode as inference_mode
from whet.autograd.modes import no_grad as no_grad
from whet.autograd.modes import saved_tensors_hooks as saved_tensors_hooks
from whet.autograd.modes import set_detect_anomaly as set_detect_anomaly
from whet.autograd.modes import set_grad_enabled as set_grad_enabled
from whet.autograd import forward_ad as forward_ad
from whet.autograd import functional as functional
from whet.autograd import graph as graph


def backward(tensors: Tensor | Sequence[Tensor], grad_tensors: Tensor | Sequence[Tensor | None] | None = None, retain_graph: bool | None = None, create_graph: bool = False, grad_variables: Tensor | Sequence[Tensor | None] | None = None, inputs: Tensor | Sequence[Tensor] | None = None) -> None: """Accumulate the gradients of the tensors into the leaves' `.grad` (only of `inputs`, where given)."""
def grad(outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor], grad_outputs: Tensor | Sequence[Tensor | None] | None = None, retain_graph: bool | None = None, create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple[Tensor, ...]: """The gradients of the sum of the outputs with respect to each input, as a tuple."""
def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-06, atol: float = 1e-05, rtol: float = 0.001, raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False, check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None) -> bool: ...
def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-06, atol: float = 1e-05, rtol: float = 0.001, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False) -> bool: """Are the second derivatives those that finite differences of the first give?"""
