# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, Iterable
from whet.nn.module import Module
from whet.tensor import Tensor


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module: """Prune by a mask of one's own."""
def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: Callable[..., Any] = ..., importance_scores: Any = None, **kwargs: Any) -> None: """Prune the least of several (module, name) pairs, taken together."""
def identity(module: Module, name: str) -> Module: """Prune nothing (but add the mask)."""
def is_pruned(module: Module) -> bool: """Is any parameter of the module, or of one below it, pruned?"""
def l1_unstructured(module: Module, name: str, amount: int | float, importance_scores: Tensor | None = None) -> Module: """Prune the elements of least magnitude."""
def ln_structured(module: Module, name: str, amount: int | float, n: float | str, dim: int, importance_scores: Tensor | None = None) -> Module: """Prune the channels along `dim` of least n-norm."""
def random_structured(module: Module, name: str, amount: int | float, dim: int) -> Module: """Prune whole channels along `dim` at random."""
def random_unstructured(module: Module, name: str, amount: int | float) -> Module: """Prune elements at random."""
def remove(module: Module, name: str) -> Module: """Make the pruning permanent: the parameter is again an ordinary one, with zeros in it."""

class BasePruningMethod:
    """A way to prune."""
    PRUNING_TYPE: str
    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any: """Prune the parameter `name` of a module. Returns the method."""
    def apply_mask(self, module: Module) -> Tensor: """The module's parameter with what is pruned set to 0."""
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor: """The mask for a tensor, of which `default_mask` is the mask so far."""
    dim: int
    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor: """A tensor with what is pruned set to 0."""
    def remove(self, module: Module) -> Module: """Let the parameter be an ordinary one, with zeros in it. The hook stays."""

class CustomFromMask(BasePruningMethod):
    """Prunes by a mask of one's own."""
    own: Any
    def __init__(self, mask: Tensor) -> None: ...
    PRUNING_TYPE: str
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor: """The mask for a tensor, of which `default_mask` is the mask so far."""

class Identity(BasePruningMethod):
    """Prunes nothing (but adds the mask)."""
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor: """The mask for a tensor, of which `default_mask` is the mask so far."""

class PruningContainer(BasePruningMethod):
    def __init__(self, *methods: BasePruningMethod) -> None: ...
    def add_pruning_method(self, method: BasePruningMethod) -> None: """Add a method, which prunes the same parameter."""
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor: """The mask of the latest method, on top of one."""

class RandomStructured(BasePruningMethod):
    """Prunes whole channels along `dim`, at random."""
    amount: int | float
    dim: int
    def __init__(self, amount: int | float, dim: int = -1) -> None: ...
    PRUNING_TYPE: str
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor: """The mask for a tensor, of which `default_mask` is the mask so far."""

class RandomUnstructured(BasePruningMethod):
    """Prunes entries at random."""
    amount: int | float
    def __init__(self, amount: int | float) -> None: ...
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor: """The mask for a tensor, of which `default_mask` is the mask so far."""

class L1Unstructured(RandomUnstructured):
    """Prunes the entries of least magnitude."""

class LnStructured(RandomStructured):
    """Prunes the channels along `dim` of least n-norm."""
    n: float | str
    def __init__(self, amount: int | float, n: float | str, dim: int = -1) -> None: ...
