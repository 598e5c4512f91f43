# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any
from whet.nn.containers import ModuleList
from whet.nn.module import Module
from whet.tensor import Tensor
from whet.types import Scalar


def cached() -> AbstractContextManager[None]: """Compute each parametrised tensor once inside of this block."""
def is_parametrized(module: Module, tensor_name: str | None = None) -> bool: """Has the module a parametrization (of that tensor)?"""
def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False) -> Module: """From now on `module.tensor_name` is what `parametrization` makes of the tensor that is there now."""
def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module: """Make the tensor an ordinary one again: with its parametrised value, or with the original one."""
def transfer_parametrizations_and_params(from_module: Module, to_module: Module, tensor_name: str | None = None) -> None: """Copy the parametrizations, and the tensors they start from, to another module."""
def type_before_parametrizations(module: Module) -> type[Module]: """The module's class without its parametrizations."""

class ParametrizationList(ModuleList):
    unsafe: bool
    is_tensor: Any
    ntensors: Any
    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None: ...
    def forward(self) -> Tensor: ...
    @property
    def originals(self) -> Any: """The tensors the first parametrization gets."""
    def right_inverse(self, value: Scalar) -> Any: """Set the originals so that the parametrised tensor is `value`."""
    def __call__(self) -> Tensor: ...
