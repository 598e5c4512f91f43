# Written by `python -m stubs` from the live modules and stubs/vocabulary.py. Do not edit.
from typing import Any, Callable, ParamSpec, TypeVar
from whet.dtypes import dtype as _dtype, dtype
from whet.optim.optimizer import Optimizer
from whet.types import Device

F = TypeVar("F", bound=Callable[..., Any])

def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str = 'cuda') -> Any: """For the `backward` of an autograd Function: it casts as its forward did."""
def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str = 'cuda', cast_inputs: dtype | None = None) -> Any: ...
def is_autocast_available(device_type: str) -> bool: """Can `autocast` be used for a kind of device?"""

class GradScaler:
    def __init__(self, device: Device = 'cuda', init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None: ...
    def get_backoff_factor(self) -> float: """By what the scale shrinks after an overflow."""
    def get_growth_factor(self) -> float: """By what the scale grows."""
    def get_growth_interval(self) -> int: """After how many steps without an overflow the scale grows."""
    def get_scale(self) -> float: """The scale as a number."""
    def is_enabled(self) -> bool: """Does it do anything?"""
    def load_state_dict(self, state_dict: dict[str, Any]) -> None: """Go on from a checkpoint."""
    def scale(self, outputs: Any) -> Any: """The tensor (or each of them), times the scale."""
    def set_backoff_factor(self, new_factor: float) -> None: """Let the scale shrink by another factor."""
    def set_growth_factor(self, new_factor: float) -> None: """Let the scale grow by another factor."""
    def set_growth_interval(self, new_interval: int) -> None: """Let the scale grow after another number of steps."""
    def state_dict(self) -> dict[str, Any]: """What a checkpoint keeps."""
    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any: """`optimizer.step()`, unless a gradient is infinite or NaN."""
    def unscale_(self, optimizer: Optimizer) -> None: ...
    def update(self, new_scale: float | None = None) -> None: """After the steps of an iteration: adapt the scale."""

class autocast:
    """Inside, matrix products, convolutions and `prelu` are made in `dtype` (bfloat16)."""
    def __init__(self, device_type: str = 'cpu', dtype: _dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None) -> None: ...
    @property
    def device_type(self) -> str: ...
    @property
    def dtype(self) -> _dtype: ...
    @property
    def enabled(self) -> bool: ...
    def __call__(self, fn: F) -> F: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exc: object) -> None: ...
